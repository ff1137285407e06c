"""The page of the study of tables: what each method reaches, where, and what was missed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from recoup._core.files import write_file
from recoup._core.text import DASH
from tools.studies.many_cores import Rows
from tools.studies.tables import (
    BY_TURNS,
    CEILING,
    CHOOSING,
    EVERY,
    LIKELIER,
    N_REPLICATES,
    N_TEST,
    N_TRAIN,
    PUICL_PROTOCOLS,
    PUICL_SETS,
    REFERENCE,
    RESULTS,
    SLOW,
    TABLES,
    Cell,
    cells,
)

PUICL_RESULTS = RESULTS.with_name("puicl-protocol.parquet")
# Written down before the first cell was run.
GOALS = {"known": 4.0, "estimated": 3.0}
LEAST_AUC_GAIN = -0.02
PUICL_GOAL = 0.885
# The mean over these sets of what PUICL's repository has, for its second protocol.
PUICL_PUBLISHED = {
    **{"abalone": 0.860, "adult": 0.800, "letter, C and U": 0.995, "mushroom": 0.982},
    **{"spambase": 0.846, "breast_cancer": 0.976, "wine_quality": 0.647},
}
# With fewer cells nothing is said about a goal but the number.
ENOUGH = 20
CANNOT_BE = "cannot be"
ABOUT = """# Which learner for a table, measured

Tables with known classes, of which learners see labels of a few positives alone: {n_train:,} rows
to learn from, {n_test:,} others to be judged by, fewer where a table has fewer. The share of
positives is as it is, one in ten or one in fifty; 2, 10 or 30 % of the positives have a label;
labels are a random sample of the positives, or favor clear ones (weights of the tenth power of
their probability), or one kind (one of two clusters five times as much as the other). Alpha is
known, or estimated from the same rows by `recoup.priors.estimate`, once for all methods.

*{reference}* is what a practitioner would write: boosting of labeled against unlabeled rows, and
the quantile of its cross-fitted scores that leaves as many rows above as alpha says. It is told the
same alpha as all others. *{ceiling}* has the true classes of the training rows.

The tables were named before any learner ran on them: {tables}. Candidates of AutoPU, their weights
and all settings were chosen on others: {choosing}.

Some methods ran in all cells. Networks and further variants, *by turns*, ran in two cells of
{in_round} each, the slowest in one of {slow_round}; they have tables of their own, in which they
are compared cell by cell.

**{done} of {total} cells are done** ({skipped} more cannot be: too few labels or positives). They
are run in an order of which any beginning spreads over tables and conditions: by turns a cell with
labels at random and the share of positives as it is, and one of all.
`python -m tools.studies.tables run` goes on with the next one, `add` and `write
docs/which-table-learner.md` make this page. The raw results are in `which-table-learner.parquet`.
Intervals are at 95 %, over tables.
"""
COMMENT = """## How to read this

- Accuracy where one row in ten or in fifty is positive is highest for who calls no row positive.
  There, AUC and F1 say more.
- An alpha that is far off spoils every cut, the one of boosting too, and leaves the ranking as it
  is: with few labels look at the interval of the estimate first.
- [Learners with alpha known](learners-known-alpha.md) has networks with ten seeds on some of these
  tables, with all their rows.
- `auto-pu` cuts so that as many rows are called positive as alpha says, whatever the classes look
  like. Where classes overlap much, calling fewer is more often right, and finds fewer of the
  positives: *auto-pu, p > 1/2* is the same model, with the rows that `predict_proba` puts above one
  half. `puet` calls fewer, too.
"""


def add(found: dict[str, Rows]) -> None:
    """Put results into the committed ones; what is there already stays."""
    import pandas as pd

    known = {cell.name: cell for cell in cells()}
    rows, others = [], []
    for name, some in found.items():
        if name.startswith("puicl"):
            others += some
        elif some:
            rows += some
        elif name in known:
            cell = vars(known[name])
            rows.append(cell | {"method": "", "error": CANNOT_BE})
    keys = [*Cell.__dataclass_fields__, "method"]
    for path, fresh, by in (
        (RESULTS, rows, keys),
        (PUICL_RESULTS, others, ["table", "protocol", "seed", "method"]),
    ):
        frame = pd.DataFrame(fresh)
        if path.exists():
            frame = pd.concat([pd.read_parquet(path), frame])
        frame = frame.drop_duplicates(by).sort_values(by)
        for name in frame.columns:
            if frame[name].dtype.kind == "f" and name not in ("prevalence", "frequency"):
                frame[name] = frame[name].astype("float32")
        frame.to_parquet(path, index=False)


def read_rows(path: Path) -> Rows:
    """Return committed rows, without what is missing in them."""
    import pandas as pd

    if not path.exists():
        return []
    rows: Rows = pd.read_parquet(path).to_dict("records")
    return [
        {"prevalence": None} | {key: value for key, value in row.items() if not pd.isna(value)}
        for row in rows
    ]


def read_results() -> tuple[Rows, int, int]:
    """Return the rows of all finished cells, and how many cells are done and cannot be."""
    rows = read_rows(RESULTS)
    empty = {key_of(row) for row in rows if row["error"] == CANNOT_BE}
    rows = [row for row in rows if row["error"] != CANNOT_BE]
    done = {key_of(row) for row in rows if row["method"] == REFERENCE}
    return rows, len(done), len(empty)


def key_of(row: dict[str, Any]) -> Cell:
    """Return the cell that a row is of."""
    return Cell(**{name: row[name] for name in Cell.__dataclass_fields__})


def gains(rows: list[dict[str, Any]], method: str, than: str, metric: str) -> dict[Cell, float]:
    """Return by how much a method is ahead of another in each cell where both have an answer."""
    values = {
        name: {
            key_of(row): row[metric]
            for row in rows
            if row["method"] == name and row.get(metric) is not None
        }
        for name in (method, than)
    }
    return {
        cell: value - values[than][cell]
        for cell, value in values[method].items()
        if cell in values[than]
    }


def mean_and_limits(values: dict[Cell, float]) -> str:
    """Write a mean in points, with the interval over tables."""
    if not values:
        return DASH
    by_table: dict[str, list[float]] = {}
    for cell, value in values.items():
        by_table.setdefault(cell.table, []).append(value)
    mean = 100 * float(np.mean(list(values.values())))
    means = [float(np.mean(part)) for part in by_table.values()]
    if len(means) < 3:
        return f"{mean:+.1f}"
    rng = np.random.default_rng(0)
    draws = 100 * rng.choice(means, (2000, len(means))).mean(axis=1)
    low, high = np.quantile(draws, [0.025, 0.975])
    return f"{mean:+.1f} ({low:+.1f} to {high:+.1f})"


def average(rows: list[dict[str, Any]], method: str, metric: str) -> float | None:
    """Return the mean of a metric over cells."""
    values = [
        row[metric] for row in rows if row["method"] == method and row.get(metric) is not None
    ]
    return float(np.mean(values)) if values else None


def table_of(rows: list[dict[str, Any]]) -> str:
    """Write what all methods reach on these rows, the best accuracy first."""
    counts = {name: sum(row["method"] == name for row in rows) for name in (*EVERY, LIKELIER)}
    methods = sorted(
        # Means over other cells cannot stand in one column.
        (name for name, count in counts.items() if 0 < count == counts[REFERENCE]),
        key=lambda name: -(average(rows, name, "accuracy") or 0),
    )
    head = ["method", "accuracy", "against boosting + cut", "AUC", "F1", "Brier", "CPU s"]
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    for method in methods:
        parts = [average(rows, method, name) for name in ("accuracy", "auc", "f1", "brier")]
        ahead = mean_and_limits(gains(rows, method, REFERENCE, "accuracy"))
        shown = [DASH if part is None else f"{100 * part:.1f}" for part in parts[:3]]
        brier = DASH if parts[3] is None else f"{parts[3]:.3f}"
        seconds = f"{average(rows, method, 'seconds') or 0:.1f}"
        lines.append([f"`{method}`", shown[0], ahead, *shown[1:], brier, seconds])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def best_single(rows: list[dict[str, Any]]) -> dict[Cell, float]:
    """By how much AutoPU is ahead of the learner that turned out best on average."""
    single = ("puet", "pu-aul", "bagging-pu, boosting")
    best = max(single, key=lambda name: average(rows, name, "accuracy") or 0.0)
    return gains(rows, "auto-pu", best, "accuracy")


def turns_table(rows: list[dict[str, Any]]) -> str:
    """Write how the methods that go by turns compare in the cells that they ran in."""
    head = ["method", "cells", "accuracy against boosting + cut", "against auto-pu"]
    head += ["AUC against auto-pu", "F1 against auto-pu", "CPU s"]
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    found = []
    for method in (*BY_TURNS, *SLOW, LIKELIER):
        ahead = gains(rows, method, "auto-pu", "accuracy")
        if not ahead:
            continue
        parts = [
            mean_and_limits(gains(rows, method, than, metric))
            for than, metric in (
                (REFERENCE, "accuracy"),
                ("auto-pu", "accuracy"),
                ("auto-pu", "auc"),
                ("auto-pu", "f1"),
            )
        ]
        seconds = f"{average(rows, method, 'seconds') or 0:.1f}"
        line = [f"`{method}`", str(len(ahead)), *parts, seconds]
        found.append((float(np.mean(list(ahead.values()))), line))
    lines += [line for _, line in sorted(found, key=lambda one: -one[0])]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def puicl_part(rows: list[dict[str, Any]]) -> str:
    """Write what is reached in the protocol of PUICL, where that has published figures."""
    if not rows:
        return ""
    methods = list(dict.fromkeys(row["method"] for row in rows))
    parts = [PUICL_ABOUT.format(replicates=N_REPLICATES, n_sets=len(PUICL_SETS))]
    for number, (protocol, (labeled, positive, negative)) in enumerate(PUICL_PROTOCOLS.items()):
        some = [row for row in rows if row["protocol"] == protocol]
        if not some:
            continue
        published = PUICL_PUBLISHED if number else {}
        head = ["table", *(f"`{name}`" for name in methods), *["PUICL"] * bool(published), "runs"]
        lines = [head, ["---", *["---:"] * (len(head) - 1)]]
        means: dict[str, list[float]] = {}
        for table in (name for name in PUICL_SETS if any(row["table"] == name for row in some)):
            own = [row for row in some if row["table"] == table]
            values = [
                float(np.mean([row["auc"] for row in own if row["method"] == name]))
                for name in methods
            ]
            values += [published[table]] if published else []
            for name, value in zip(head[1:], values, strict=False):
                means.setdefault(name, []).append(value)
            runs = str(sum(row["method"] == methods[0] for row in own))
            lines.append([table, *(f"{value:.3f}" for value in values), runs])
        shown = [f"**{np.mean(values):.3f}**" for values in means.values()]
        lines.append(["mean", *shown, ""])
        parts.append(
            f"{labeled} labeled positives, {positive} positives and {negative} negatives without a "
            f"label:\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines)
        )
    first = [row["auc"] for row in rows if row["method"] == "auto-pu"]
    goal = [
        row["auc"]
        for row in rows
        if row["method"] == "auto-pu" and row["protocol"] == next(iter(PUICL_PROTOCOLS))
    ]
    if first and goal:
        verdict = "held" if np.mean(goal) >= PUICL_GOAL else "missed"
        parts.append(
            f"The goal was a mean AUC of {PUICL_GOAL} in the first protocol, on eight sets: "
            f"{verdict} on the {len(PUICL_SETS)} at hand."
        )
    return "\n\n".join(parts) + "\n"


PUICL_ABOUT = """## In the protocol of PUICL

PUICL (Liu et al., 2026) is a transformer that learned to learn from labeled and unlabeled rows of
made-up tables. It ranks the unlabeled rows themselves, and so do the methods here: `auto-pu` by
scores from other folds (`oof_scores_`), *fitted rows* and `puet` by a model that was fitted to them
without their classes. Either class is positive by turns, alpha is estimated, {replicates} runs
each. Of the sets that PUICL names these {n_sets} are at hand; MAGIC, car evaluation, banknotes,
rice, credit card clients, Iranian churn and others are not. Ours differ in details: abalone is cut
at 10 rings where theirs is at 9, and categories have a column for each level. Its figures are those
of its repository for the second protocol; for the first one its paper's are 0.872 on average over
eight sets, and 0.870 for PUET."""


def verdicts(rows: list[dict[str, Any]]) -> str:
    """Say which goals hold on these rows."""
    lines = []
    random = [row for row in rows if row["mechanism"] == "random" and row["prevalence"] is None]
    for name, part in (("labels at random, share of positives as it is", random), ("all", rows)):
        for alpha, goal in GOALS.items():
            some = [row for row in part if row["alpha"] == alpha]
            ahead = gains(some, "auto-pu", REFERENCE, "accuracy")
            if not ahead:
                continue
            held = 100 * np.mean(list(ahead.values())) >= goal
            verdict = "held" if held else "missed"
            if len(ahead) < ENOUGH:
                verdict = f"{'above' if held else 'below'} so far, too few cells to say"
            single = best_single(some)
            lines.append(
                f"- {name}, alpha {alpha} ({len(ahead)} cells): {mean_and_limits(ahead)} points of "
                f"accuracy against boosting + cut (goal +{goal:.0f}: "
                f"{verdict}); {mean_and_limits(single)} against the single "
                f"learner that is best on average."
            )
    auc = gains(rows, "auto-pu", REFERENCE, "auc")
    worse = {cell: gap for cell, gap in auc.items() if gap < LEAST_AUC_GAIN}
    lines.append(
        f"- AUC at least that of boosting less 0.02 in every cell: {len(worse)} of {len(auc)} "
        f"cells are worse" + ("." if not worse else f", by up to {-min(worse.values()):.3f}: ")
    )
    if worse:
        shown = sorted(worse, key=lambda cell: worse[cell])[:8]
        lines[-1] += "; ".join(f"{cell.name} ({worse[cell]:+.3f})" for cell in shown) + "."
    return "\n".join(lines)


def sections(rows: list[dict[str, Any]]) -> str:
    """Write a table for each condition that has enough cells to say something."""
    conditions: dict[str, Callable[[dict[str, Any]], bool]] = {
        "Labels at random, share of positives as it is, alpha known": lambda row: (
            row["mechanism"] == "random" and row["prevalence"] is None and row["alpha"] == "known"
        ),
        "Labels at random, share of positives as it is, alpha estimated": lambda row: (
            row["mechanism"] == "random"
            and row["prevalence"] is None
            and row["alpha"] == "estimated"
        ),
        "One row in ten positive": lambda row: row["prevalence"] == 0.1,
        "One row in fifty positive": lambda row: row["prevalence"] == 0.02,
        "Labels favor clear positives": lambda row: row["mechanism"] == "clear ones",
        "Labels favor one kind": lambda row: row["mechanism"] == "one kind",
    }
    parts = []
    for title, belongs in conditions.items():
        some = [row for row in rows if belongs(row)]
        n_cells = len({key_of(row) for row in some})
        if n_cells:
            parts.append(f"## {title}\n\n{n_cells} cells.\n\n{table_of(some)}")
    return "\n\n".join(parts)


def write(page: Path) -> None:
    """Write the page."""
    rows, done, empty = read_results()
    text = ABOUT.format(
        n_train=N_TRAIN,
        n_test=N_TEST,
        reference=REFERENCE,
        ceiling=CEILING,
        tables=", ".join(TABLES),
        choosing=", ".join(CHOOSING),
        done=f"{done:,}",
        total=f"{len(cells()):,}",
        skipped=empty,
        in_round=len(BY_TURNS),
        slow_round=8 * len(SLOW),
    )
    failed = sorted({f"`{row['method']}`: {row['error']}" for row in rows if row["error"]})
    known, estimated = (
        [row for row in rows if row["alpha"] == alpha] for alpha in ("known", "estimated")
    )
    text += f"\n## What was asked, and what came out\n\n{verdicts(rows)}\n"
    text += f"\n## All cells\n\n{table_of(rows)}\n\n{sections(rows)}\n"
    text += f"\n## Networks and others, by turns, alpha known\n\n{turns_table(known)}\n"
    text += f"\n## Networks and others, by turns, alpha estimated\n\n{turns_table(estimated)}\n"
    text += f"\n{puicl_part(read_rows(PUICL_RESULTS))}"
    if failed:
        text += "\n## What failed\n\n" + "\n".join(f"- {line}" for line in failed) + "\n"
    text += f"\n{COMMENT}"
    write_file(page, text.encode())
