"""Table 1 and Table D.6 beside our figures, what runs cost, and what ran."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from papers.experiment import markdown_table
from papers.pubench.cost import SHOWN
from papers.pubench.published import (
    DATASET_TITLES,
    DATASETS,
    METHODS,
    PN,
    PU_METHODS,
    TITLES,
    table_1,
    table_d6,
)
from papers.pubench.significance import LEVEL, corrected
from papers.pubench.study import Condition, Missing, View
from recoup._core.text import DASH, show_p
from recoup.bench.job import is_lent

LONGEST_REASON = 160
ONE_CLASS = "†"
"""Marks a method that calls all test rows one class, with every seed."""


def accuracy_table(view: View) -> str:
    """Write mean and standard deviation over seeds, Table 1's figure and the difference."""
    rows = []
    for method in (*METHODS, PN):
        cells = [TITLES[method]]
        for dataset in DATASETS:
            values = 100 * np.array(
                list(view.values(method, dataset, Condition("accuracy")).values())
            )
            published = float(table_1((method,), (dataset,))[0, 0])
            if not len(values):
                cells.append(f"{DASH} ({published:.1f})")
                continue
            spread = f" ± {values.std(ddof=1):.1f}" if len(values) > 1 else ""
            mean = values.mean()
            recalls = view.values(method, dataset, Condition("recall")).values()
            mark = ONE_CLASS if recalls and all(recall in (0.0, 1.0) for recall in recalls) else ""
            cells.append(f"{mean:.1f}{spread}{mark} ({published:.1f}, {mean - published:+.1f})")
        rows.append(cells)
    return markdown_table(["method", *DATASET_TITLES.values()], rows)


def p_value_table(view: View) -> str:
    """Write Holm's p-values against nnPU with the sign of the difference, and Table D.6's."""
    ours = {}
    for dataset in DATASETS:
        accuracy = Condition("accuracy")
        present = [name for name in PU_METHODS if view.values(name, dataset, accuracy)]
        try:
            sample = view.sample([accuracy], [dataset], needed=("nnpu",), pool=present, least=1)
        except Missing:
            continue
        if sample.values[0].shape[2] < 2:
            continue
        differences, p_values = corrected(sample)
        for place, method in enumerate(sample.methods):
            if np.isfinite(p_values[0, place]):
                ours[method, dataset] = (p_values[0, place], differences[0, place])
    printed = table_d6()
    rows = []
    for method in PU_METHODS[1:]:
        cells = [TITLES[method]]
        for dataset in DATASETS:
            p, apart = ours.get((method, dataset), (np.nan, 0.0))
            mark = "**" if p < LEVEL else ""
            sign = "+" if apart > 0 else "-" if apart < 0 else ""
            said = show_p(printed[method, dataset])
            cells.append(f"{mark}{sign}{show_p(p)}{mark} ({said})")
        rows.append(cells)
    return markdown_table(["method", *DATASET_TITLES.values()], rows)


def cost_table(view: View) -> str:
    """Write seconds per epoch, seconds of training and peak GPU memory of Figure 4's datasets."""
    one_device = view.on_one_device()
    parts = {
        "s per epoch": ("seconds_per_epoch", 1.0, "{:.3f}"),
        "s": ("seconds", 1.0, "{:.1f}"),
        "GB": ("peak_gpu_memory", 1e9, "{:.2f}"),
    }
    rows = []
    for method in METHODS:
        cells = [TITLES[method]]
        for dataset in SHOWN:
            for column, scale, form in parts.values():
                found = one_device.values(method, dataset, Condition(column)).values()
                cells.append(form.format(np.mean(list(found)) / scale) if found else DASH)
        rows.append(cells)
    names = [f"{DATASET_TITLES[dataset]}, {part}" for dataset in SHOWN for part in parts]
    return markdown_table(["method", *names], rows)


def run_table(rows: Iterable[Mapping[str, Any]]) -> str:
    """Count runs by protocol, design and what became of them."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((str(row["protocol"]), str(row["scheme"])), []).append(row)
    lines = []
    for (protocol, scheme), some in sorted(groups.items()):
        states = Counter(str(row["status"]) for row in some)
        done = [row for row in some if row["status"] == "done"]
        lines.append(
            [
                protocol,
                scheme,
                *(f"{states[state]:,}" for state in ("done", "failed", "skipped")),
                *(str(len({row[name] for row in done})) for name in ("dataset", "seed")),
                f"{sum(row.get('seconds') or 0 for row in done):,.0f}",
                ", ".join(sorted({str(row["device"]) for row in done if row.get("device")})),
            ]
        )
    columns = [
        "protocol",
        "design",
        "done",
        "failed",
        "skipped",
        "datasets",
        "seeds",
        "s",
        "device",
    ]
    return markdown_table(columns, lines)


def reason_table(rows: Iterable[Mapping[str, Any]]) -> str:
    """List why runs failed or were skipped; empty where none was."""
    reasons = Counter(
        (str(row["learner"]), str(row["status"]), str(row.get("reason") or "")[:LONGEST_REASON])
        for row in rows
        if row["status"] != "done" and not is_lent(row)
    )
    if not reasons:
        return ""
    lines = [[*names, str(count)] for names, count in sorted(reasons.items())]
    return markdown_table(["learner", "status", "reason", "runs"], lines)
