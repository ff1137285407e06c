"""The page of the study of the guard: which fits failed, which of them said so, and the default."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from recoup._core.files import write_file
from tools.studies.learner_guard import (
    BASELINE,
    CLASSICAL,
    DEFAULT,
    JUDGED,
    LABEL_FREQUENCY,
    LEARNERS,
    N_TEST,
    N_TRAIN,
    PREVALENCES,
    SEEDS,
    TRAINING,
)
from tools.studies.many_cores import Rows
from tools.studies.tables import CHOOSING

RESULTS = Path("docs/learner-guard.parquet")
LEAST_GAIN = -0.02
UNSURE = "sound, cannot tell"
ABOUT = """# Fits that fail, measured

After each fit, the [guard](learners.md#when-a-fit-fails) asks whether it is of any use. Here true
classes say whether it was right: {n_tables} tables, {shares} of the rows positive,
{n_train:,} rows to learn from and {n_test:,} others to judge by (fewer where a table has fewer).
{labeled:.0%} of the positives have a label, at random, three at least; alpha is known; learners
around a classifier are around boosting. A fit has *failed* if its AUC on the other rows is below
one half, or if it calls all of them positive, or none.

The rules of the guard were chosen on other tables: {training}. Of the {n_tables} here, {choosing}
are among those that the candidates of AutoPU were chosen on. What counts as failed, and the goals
below, were written down before the run. A warning that labels *cannot tell* is about what is not
known: it is right about failed fits and about sound ones.

Of a first run with 2% of the rows positive, eleven fits of 270 had failed in silence, all with 12
labels or fewer: three of AutoPU, which called nobody, and eight of others. The code `cannot-tell`,
and what AutoPU does where its models would call next to nothing, came of that. With 2% all of these
fits were made again, on the same rows: that shows a repair, not an untouched test. Fits with more
positives are those of the first run.

**{done:,} of {total:,} fits are done**; `python -m tools.studies.learner_guard run` goes on with
the next one, `add` and `write docs/learner-guard.md` make this page. Raw results are in
`learner-guard.parquet`.
"""


def read_results() -> Rows:
    """Return the committed results."""
    import pandas as pd

    rows: Rows = pd.read_parquet(RESULTS).to_dict("records")
    return [{key: value for key, value in row.items() if not pd.isna(value)} for row in rows]


def add(found: dict[str, Rows]) -> None:
    """Put results into the committed ones; what is there already stays."""
    import pandas as pd

    rows = [row for rows in found.values() for row in rows]
    known = read_results() if RESULTS.exists() else []
    frame = pd.DataFrame([*known, *rows])
    frame = frame.drop_duplicates(["table", "prevalence", "seed", "learner"])
    for name in ("auc", "accuracy", "called", "seconds"):
        frame[name] = frame[name].astype("float32")
    for name in ("n", "n_labeled", "seed"):
        frame[name] = frame[name].astype("int32")
    for name in ("warned", "retries"):
        frame[name] = frame[name].astype("float32")
    frame.sort_values(["learner", "prevalence", "table", "seed"]).to_parquet(RESULTS, index=False)


def failed(row: dict[str, Any]) -> bool:
    """Whether a fit is of no use, by the true classes of the test rows."""
    return bool(row["auc"] < 0.5 or row["called"] in (0.0, 1.0))


def counts_of(rows: Rows) -> dict[str, int]:
    """Count fits by what became of them."""
    fits = [row for row in rows if not row.get("error")]
    bad = [row for row in fits if failed(row)]
    alarms = [row for row in fits if row.get("warned") and not failed(row)]
    unsure = [row for row in alarms if row.get("code") == "cannot-tell"]
    return {
        "fits": len(fits),
        "refused": len(rows) - len(fits),
        "failed, warned": sum(bool(row.get("warned")) for row in bad),
        "failed, silent": sum(not row.get("warned") for row in bad),
        "sound, warned": len(alarms) - len(unsure),
        UNSURE: len(unsure),
    }


def learners_table(rows: Rows) -> str:
    """Write what became of the fits of each learner, the silent failures first."""
    names = [name for name in LEARNERS if name != BASELINE and of(rows, learner=name)]
    lines = [
        "| learner | fits | refused | failed, warned | failed, silent | sound, warned | "
        "sound, cannot tell | s |"
    ]
    lines.append("| --- |" + " ---: |" * 7)
    for name in sorted(
        names, key=lambda name: -counts_of(of(rows, learner=name))["failed, silent"]
    ):
        some = of(rows, learner=name)
        values = list(counts_of(some).values())
        seconds = np.mean([row["seconds"] for row in some])
        lines.append(f"| `{name}` | {' | '.join(map(str, values))} | {seconds:.1f} |")
    return "\n".join(lines)


def shares_table(rows: Rows) -> str:
    """Write what became of the fits by share of positives."""
    lines = [
        "| positives | fits | refused | failed, warned | failed, silent | sound, warned | "
        "sound, cannot tell |"
    ]
    lines.append("| ---: |" + " ---: |" * 6)
    others = [row for row in rows if row["learner"] != BASELINE]
    for share in PREVALENCES:
        values = counts_of(of(others, prevalence=share)).values()
        lines.append(f"| {share:.0%} | {' | '.join(map(str, values))} |")
    return "\n".join(lines)


def of(rows: Rows, **wanted: Any) -> Rows:
    """Return the rows with these values."""
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def silent_list(rows: Rows) -> str:
    """Name the fits that failed without a word."""
    bad = [
        row
        for row in rows
        if row["learner"] != BASELINE
        and not row.get("error")
        and failed(row)
        and not row.get("warned")
    ]
    if not bad:
        return "None."
    lines = ["| learner | table | positives | seed | labels | AUC | called |"]
    lines.append("| --- | --- |" + " ---: |" * 5)
    for row in sorted(bad, key=lambda row: (row["learner"], row["auc"]))[:40]:
        lines.append(
            f"| `{row['learner']}` | {row['table']} | {row['prevalence']:.0%} | "
            f"{row['seed']:.0f} | {row['n_labeled']:.0f} | {row['auc']:.2f} | {row['called']:.1%} |"
        )
    if len(bad) > 40:
        lines.append(f"\nThe first 40 of {len(bad)}.")
    return "\n".join(lines)


def gaps(rows: Rows) -> dict[tuple[str, float], list[float]]:
    """By how much the default is ahead of boosting by AUC, seed by seed, in each cell."""
    auc: dict[tuple[str, float, int], dict[str, float]] = {}
    for row in rows:
        if row["learner"] in (DEFAULT, BASELINE) and not row.get("error"):
            key = (row["table"], row["prevalence"], row["seed"])
            auc.setdefault(key, {})[row["learner"]] = row["auc"]
    found: dict[tuple[str, float], list[float]] = {}
    for (table, share, _), both in auc.items():
        if len(both) == 2:
            found.setdefault((table, share), []).append(both[DEFAULT] - both[BASELINE])
    return found


def default_part(rows: Rows) -> str:
    """Write how the default compares with boosting."""
    found = gaps(rows)
    means = {cell: float(np.mean(values)) for cell, values in found.items()}
    worse = sorted((cell for cell in means if means[cell] < LEAST_GAIN), key=lambda c: means[c])
    lines = ["| positives | cells | AUC of AutoPU | of boosting | difference | lowest cell |"]
    lines.append("| ---: |" + " ---: |" * 5)
    for share in PREVALENCES:
        some = {cell: value for cell, value in means.items() if cell[1] == share}
        if not some:
            continue
        averages = [
            float(np.mean([row["auc"] for row in of(rows, learner=key, prevalence=share)]))
            for key in (DEFAULT, BASELINE)
        ]
        lowest = min(some, key=lambda cell: some[cell])
        lines.append(
            f"| {share:.0%} | {len(some)} | {averages[0]:.3f} | {averages[1]:.3f} | "
            f"{np.mean(list(some.values())):+.3f} | {lowest[0]}, {some[lowest]:+.3f} |"
        )
    missed = "".join(
        f"\n- {table}, {share:.0%} positive: {means[table, share]:+.3f} over "
        f"{len(found[table, share])} seeds (standard error {spread_of(found[table, share])})"
        for table, share in worse
    )
    verdict = f"{len(worse)} of {len(means)} cells are worse than that" + (":" if worse else ".")
    return "\n".join(lines) + f"\n\n{verdict}\n{missed}\n"


def spread_of(values: list[float]) -> str:
    """Write the standard error of a mean."""
    if len(values) < 2:
        return "not known"
    return f"{np.std(values, ddof=1) / len(values) ** 0.5:.3f}"


def goals(rows: Rows) -> str:
    """Say which goals hold."""
    others = [row for row in rows if row["learner"] != BASELINE]
    parts: dict[str, Callable[[str], bool]] = {
        "AutoPU, the default": lambda name: name == DEFAULT,
        "the other learners without a network": lambda name: name in CLASSICAL,
        "networks": lambda name: name not in (DEFAULT, *CLASSICAL),
    }
    lines = []
    for title, belongs in parts.items():
        counts = counts_of([row for row in others if belongs(row["learner"])])
        bad = counts["failed, warned"] + counts["failed, silent"]
        lines.append(
            f"- No fit fails without a warning, {title}: **{counts['failed, silent']} of "
            f"{counts['fits']:,} fits failed in silence**, {bad} failed in all; "
            f"{counts['sound, warned']} that did not fail warned, and {counts[UNSURE]} said that "
            f"labels cannot tell."
        )
    means = [float(np.mean(values)) for values in gaps(rows).values()]
    worse = sum(mean < LEAST_GAIN for mean in means)
    lines.append(
        f"- The AUC of AutoPU is at most 0.02 below that of boosting in each cell, mean over "
        f"seeds: **{len(means) - worse} of {len(means)} cells**."
    )
    return "\n".join(lines)


def write(page: Path) -> None:
    """Write the page."""
    rows = read_results()
    choosing = [name for name in JUDGED if name in CHOOSING]
    about = ABOUT.format(
        n_tables=len(JUDGED),
        shares=", ".join(f"{share:.0%}" for share in PREVALENCES[:-1])
        + f" or {PREVALENCES[-1]:.0%}",
        n_train=N_TRAIN,
        n_test=N_TEST,
        labeled=LABEL_FREQUENCY,
        training=", ".join(TRAINING),
        choosing=", ".join(choosing),
        done=len(rows),
        total=len(LEARNERS) * len(JUDGED) * len(PREVALENCES) * len(SEEDS),
    )
    text = (
        f"{about}\n## What was asked, and what came out\n\n{goals(rows)}\n"
        f"\n## By learner\n\nSeconds of a CPU, for a fit with all that the guard does.\n\n"
        f"{learners_table(rows)}\n"
        f"\n## By share of positives\n\n{shares_table(rows)}\n"
        f"\n## Failed without a warning\n\n{silent_list(rows)}\n"
        f"\n## The default against boosting\n\n{default_part(rows)}"
    )
    write_file(page, text.encode())
