"""The paper's figures from our runs: profiles, cost, label ratio, biased labels, two failures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from papers.pubench.cost import SHOWN
from papers.pubench.published import DATASET_TITLES, DATASETS, KINDS, METHODS, PN, TITLES, family
from papers.pubench.study import CONVENTIONAL, FEW, LABEL_RATIOS, MANY, Condition, View
from recoup._core.checks import FloatArray
from recoup.bench.plots import (
    PROFILE,
    label_frequency_display,
    mechanism_display,
    trade_off_display,
)
from recoup.bench.result_array import label_of
from recoup.plot.curves import BLUE, CYCLE, GREEN, GREY, ORANGE, dress, show_legend

FAMILIES = {
    "risk": "risk estimators",
    "disambiguation": "disambiguation",
    "generative": "generative",
}
FEWEST_RATIOS = 4
METRICS = tuple("macro_f1" if name == "f1" else name for name in PROFILE)
MARKERS = ("o", "v", "^", "s", "D")


def draw_all(view: View) -> dict[str, Any]:
    """Draw every figure that there are results for, by the name of its file."""
    drawn: dict[str, Any] = {}
    numbers = {"images": "figures_3_10", "text vectors": "figure_9", "tables": "figure_11"}
    for kind, datasets in KINDS.items():
        drawn[f"{numbers[kind]}_profiles"] = _profiles(view, datasets)
    drawn["figure_4_cost"] = _cost(view)
    drawn["figures_5_13_label_ratio"] = _label_ratio(view)
    drawn["figures_6_14_16_bias"] = _bias(view)
    drawn["figure_12_failures"] = _failures(view.distributions)
    return {name: figure for name, figure in drawn.items() if figure is not None}


def rows_of(view: View, keep: Callable[[str, str, str, float], bool]) -> list[dict[str, Any]]:
    """Return rows of a view, with learners called as the paper calls them."""
    return [
        {**row, "learner": TITLES[place[0]], "mechanism": place[2], "label_frequency": place[3]}
        for place, cell in view.runs.items()
        if keep(*place)
        for row in cell.values()
    ]


def _figure(width: float, height: float) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _profiles(view: View, datasets: Sequence[str]) -> Any:
    """Five metrics of every method on a line: its length is what a radar chart hides."""
    shown = [name for name in datasets if _has(view, name, METRICS[0])]
    if not shown:
        return None
    figure = _figure(3.4 + 3.4 * len(shown), 6.6)
    axes = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
    methods = [*METHODS, PN]
    for ax, dataset in zip(axes, shown, strict=True):
        for height, method in enumerate(reversed(methods)):
            means = [_mean(view, method, dataset, name) for name in METRICS]
            if np.isfinite(means).any():
                ax.plot(
                    [np.nanmin(means), np.nanmax(means)], [height] * 2, color=GREY, linewidth=1.2
                )
            for place, value in enumerate(means):
                ax.plot(value, height, MARKERS[place], color=CYCLE[place], markersize=5)
        for border in (len(family("generative")), len(methods) - len(family("risk")) - 1):
            ax.axhline(border + 0.5, color=GREY, linewidth=0.6, linestyle=":")
        ax.set_title(DATASET_TITLES[dataset], loc="left")
        dress(ax, "value on test rows", "")
    axes[0].set_yticks(range(len(methods)), [TITLES[name] for name in reversed(methods)])
    for place, name in enumerate(METRICS):
        axes[0].plot([], [], MARKERS[place], color=CYCLE[place], label=label_of(name))
    figure.legend(frameon=False, ncols=len(METRICS), loc="outside upper center")
    return figure


def _has(view: View, dataset: str, metric: str) -> bool:
    return any(view.values(name, dataset, Condition(metric)) for name in METHODS)


def _mean(view: View, method: str, dataset: str, metric: str) -> float:
    values = view.values(method, dataset, Condition(metric))
    return float(np.mean(list(values.values()))) if values else float("nan")


def _cost(view: View) -> Any:
    """F1 over seconds of training; the size of a point is its memory."""
    one_device = view.on_one_device()
    shown = [name for name in SHOWN if _has(one_device, name, "seconds")]
    if not shown:
        return None
    # Points carry numbers, which must mean the same in all panels.
    common = [
        method
        for method in METHODS
        if all(one_device.values(method, name, Condition("seconds")) for name in shown)
    ]
    if not common:
        return None
    figure = _figure(4.6 * len(shown), 5.4)
    axes = figure.subplots(1, len(shown), squeeze=False)[0]
    names: dict[str, Any] = {}
    for ax, dataset in zip(axes, shown, strict=True):
        rows = rows_of(
            one_device,
            lambda method, where, mechanism, c, here=dataset: (  # type: ignore[misc]
                method in common and (where, mechanism, c) == (here, "scar", CONVENTIONAL)
            ),
        )
        on_gpu = any(row.get("peak_gpu_memory") is not None for row in rows)
        memory = "peak_gpu_memory" if on_gpu else "peak_memory"
        trade_off_display(rows, dataset, view.f1, protocol=rows[0]["protocol"], memory=memory).plot(
            ax
        )
        handles, labels = ax.get_legend_handles_labels()
        names |= dict(zip(labels, handles, strict=True))
        ax.get_legend().remove()
        ax.set_title(f"{DATASET_TITLES[dataset]}, {rows[0]['device']}", loc="left")
        ax.set_ylabel(label_of(view.f1))
    legend = figure.legend(
        names.values(), names.keys(), frameon=False, ncols=6, loc="outside lower center"
    )
    for handle in legend.legend_handles:
        handle.set_sizes([40.0])
    return figure


def _label_ratio(view: View) -> Any:
    """F1 over the label ratio: a row for each dataset, a column for each family."""
    metric = Condition("f1")
    shown = [
        dataset
        for dataset in DATASETS
        if sum(
            any(view.values(name, dataset, metric._replace(c=c)) for name in METHODS)
            for c in LABEL_RATIOS
        )
        >= FEWEST_RATIOS
    ]
    if not shown:
        return None
    figure = _figure(15, 4.6 * len(shown))
    grid = figure.subplots(len(shown), len(FAMILIES), squeeze=False, sharey="row")
    for line, dataset in zip(grid, shown, strict=True):
        rows = rows_of(
            view,
            lambda method, where, mechanism, c, here=dataset: (  # type: ignore[misc]
                method != PN and (where, mechanism) == (here, "scar") and c in LABEL_RATIOS
            ),
        )
        present = {row["learner"] for row in rows}
        for ax, (name, title) in zip(line, FAMILIES.items(), strict=True):
            learners = [TITLES[method] for method in family(name) if TITLES[method] in present]
            if not learners:
                ax.set_axis_off()
                continue
            label_frequency_display(
                rows, dataset, view.f1, protocol=rows[0]["protocol"], learners=learners
            ).plot(ax)
            ax.set_ylabel(f"{label_of(view.f1)}, {DATASET_TITLES[dataset]}")
            ax.set_xlabel(f"share of the positives with a label; {title}")
    return figure


def _bias(view: View) -> Any:
    """F1 under each mechanism: bars for few labels, marks for many."""
    shown = []
    for dataset in DATASETS:
        rows = rows_of(
            view,
            lambda method, where, _, c, here=dataset: (  # type: ignore[misc]
                method != PN and where == here and c in (FEW, MANY)
            ),
        )
        has = {
            c: len({row["mechanism"] for row in rows if row["label_frequency"] == c})
            for c in (FEW, MANY)
        }
        if has[FEW] > 1:
            shown.append((dataset, rows, MANY if has[MANY] > 1 else None))
    if not shown:
        return None
    figure = _figure(13, 4.8 * len(shown))
    axes = figure.subplots(len(shown), 1, squeeze=False)[:, 0]
    for ax, (dataset, rows, many) in zip(axes, shown, strict=True):
        mechanism_display(
            rows, dataset, view.f1, few=FEW, many=many, protocol=rows[0]["protocol"]
        ).plot(ax)
        ax.set_ylabel(f"{label_of(view.f1)}, {DATASET_TITLES[dataset]}")
    return figure


GROUPS = {"labeled": BLUE, "hidden": GREEN, "negative": ORANGE, "positive": GREEN}
WORDS = {
    "labeled": "labeled positives",
    "hidden": "hidden positives",
    "negative": "negatives",
    "positive": "positives",
}


def _failures(distributions: Mapping[str, Any]) -> Any:
    """Scores of LBE on ADNI and of PAN on Spambase; bands are where quartile ranges overlap."""
    panels = [
        ("lbe", "LBE on ADNI, training rows", "train", ("labeled", "hidden", "negative"), "edges"),
        ("lbe", "LBE on ADNI, test rows", "test", ("positive", "negative"), "edges"),
        ("lbe", "its propensities", "chance", ("labeled", "hidden"), "chance_edges"),
        (
            "pan",
            "PAN on Spambase, training rows",
            "train",
            ("labeled", "hidden", "negative"),
            "edges",
        ),
        ("pan", "PAN on Spambase, test rows", "test", ("positive", "negative"), "edges"),
        (
            "pan",
            "its discriminator",
            "discriminator",
            ("labeled", "hidden", "negative"),
            "discriminator_edges",
        ),
    ]
    panels = [panel for panel in panels if distributions.get(panel[0])]
    if not panels:
        return None
    n_rows = len(panels) // 3
    figure = _figure(13, 3.5 * n_rows)
    for ax, (learner, title, prefix, groups, edges) in zip(
        figure.subplots(n_rows, 3).ravel(), panels, strict=True
    ):
        found = distributions.get(learner) or {}
        if edges not in found or not all(f"{prefix}_{group}" in found for group in groups):
            ax.set_axis_off()
            continue
        _draw_groups(ax, found, prefix, groups, np.asarray(found[edges], float))
        ax.set_title(title, loc="left")
        dress(ax, "score" if edges == "edges" else "chance", "density")
        if prefix in ("train", "test"):
            # Where the learner begins to call rows positive.
            ax.axvline(0.0, color="black", linewidth=0.8, linestyle=":")
        if prefix == "train":
            show_legend(ax, "upper left")
    return figure


def _draw_groups(
    ax: Any, found: Mapping[str, Any], prefix: str, groups: Sequence[str], edges: FloatArray
) -> None:
    widths = np.diff(edges)
    for group in groups:
        counts = np.asarray(found[f"{prefix}_{group}"], float)
        if counts.sum():
            density = counts / counts.sum() / widths
            ax.stairs(density, edges, color=GROUPS[group], linewidth=1.6, label=WORDS[group])
    quartiles = found.get("quartiles", {})
    pair = ("labeled", "hidden") if prefix == "chance" else (groups[-2], groups[-1])
    ranges = [quartiles.get(f"{prefix}_{group}") for group in pair]
    if all(ranges):
        low, high = max(part[0] for part in ranges), min(part[2] for part in ranges)
        if high > low:
            ax.axvspan(low, high, color=GREY, alpha=0.25, linewidth=0)
