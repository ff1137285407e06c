"""Write docs/learners-study.md from the committed runs of ``honest-conventional``.

    python -m tools.studies.learner_page docs/papers/pubench/results.parquet docs/learners-study.md

Learners have what they would have with a user's rows: no classes, and alpha as each gets it in
practice. ``python -m tools.studies.pubench`` makes the runs.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from papers.experiment import markdown_table
from recoup._core.files import write_file
from recoup.bench import read_plan
from recoup.bench.exported import read_export
from recoup.learners.reported import reported_accuracies

PLAN = "honest-conventional"
ABOUT = """\
A tenth of the training positives carry a label, chosen at random. Learners have what you would
have: *honest* ones choose their weights by a fifth of the rows, held out, without classes, and
estimate alpha if they need one. *Oracle* is the same training, with the weights that a hundredth of
the rows and their classes would choose. `pn` knows all classes, `naive` takes unlabeled rows for
negatives, and learners around a scikit-learn classifier take its logistic regression and choose
nothing. In the case-control design labeled and unlabeled rows are disjoint samples. None of the
seeds had a part in choosing settings.

Figures are in percent: mean ± standard deviation over seeds, lowest (number of seeds). *Alpha* is
by how much the alpha that a learner went by was off on average. The last column is PU-Bench's Table
1, by another protocol, which it calls accuracy. With alpha known the learners were measured
[before](learners-known-alpha.md). [Which learner when](which-learner.md) ranks them.

`python -m tools.studies.learner_page docs/papers/pubench/results.parquet docs/learners-study.md`
makes this page. Seconds are those of a fit, without the estimate of alpha."""


def cell(rows: list[dict[str, Any]], name: str) -> str:
    """Write a metric in percent: mean, standard deviation, lowest, and the number of seeds."""
    values = np.array([100 * row[name] for row in rows if row[name] is not None])
    if not len(values):
        return "-"
    if len(values) == 1:
        return f"{values[0]:.1f} (1)"
    return f"{values.mean():.1f} ± {values.std(ddof=1):.1f}, {values.min():.1f} ({len(values)})"


def alpha_off(rows: list[dict[str, Any]]) -> str:
    """Write how far the alpha that was used lay from the true one, on average."""
    known = [row for row in rows if row["alpha_used"] is not None]
    errors = [abs(row["alpha_used"] - row["alpha_true"]) for row in known]
    return f"{np.mean(errors):.3f}" if errors and max(errors) > 0 else "-"


def published(learner: str, dataset: str) -> str:
    name = {"p3mix (mode=e)": "p3mix-e", "p3mix (mode=c)": "p3mix-c"}.get(learner, learner)
    said = reported_accuracies().get(name, {}).get(dataset)
    return "-" if said is None else f"{said:.2f}"


def table(runs: Callable[[str, str], list[dict[str, Any]]], learners: list[str]) -> str:
    """Lay out one dataset in one design, the most accurate learner first."""
    columns = (
        "Learner",
        "Accuracy",
        "F1",
        "AUC",
        "Accuracy, oracle",
        "Alpha",
        "Seconds",
        "PU-Bench",
    )
    lines = []
    for learner in learners:
        honest = runs(learner, "honest")
        if not honest:
            continue
        accuracies = [row["accuracy"] for row in honest if row["accuracy"] is not None]
        seconds = f"{np.median([row['seconds'] for row in honest]):.2g}"
        metrics = [cell(honest, name) for name in ("accuracy", "f1", "roc_auc")]
        beside = [cell(runs(learner, "oracle"), "accuracy"), alpha_off(honest), seconds]
        said = published(learner, honest[0]["dataset"])
        lines.append(
            (-np.mean(accuracies) if accuracies else 0.0, [learner, *metrics, *beside, said])
        )
    return markdown_table(columns, [line for _, line in sorted(lines)])


def page(found: list[dict[str, Any]]) -> str:
    """Return the whole page."""
    plan = read_plan(PLAN)
    wanted = {job.run for job in plan.jobs()}
    rows = [row for row in found if row["run"] in wanted and row["status"] == "done"]
    kept: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        kept[row["dataset"], row["scheme"], row["learner"], row["protocol"]].append(row)
    learners = list(dict.fromkeys(job.learner for job in plan.jobs()))
    datasets = list(dict.fromkeys(job.dataset for job in plan.jobs()))
    have = [name for name in datasets if any(row["dataset"] == name for row in rows)]
    lacking = [name for name in datasets if name not in have]
    parts = ["# Learners on real data, measured", ABOUT]
    if lacking:
        parts.append(f"Not run yet: {', '.join(lacking)}.")
    for dataset in have:
        for scheme in plan.schemes:
            # The two names are bound now: the table asks for rows at once.
            text = table(lambda one, by: kept[dataset, scheme, one, by], learners)  # noqa: B023
            parts += [f"## {dataset}, {scheme}", text]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("page", type=Path)
    asked = parser.parse_args()
    write_file(asked.page, page(read_export(asked.results)).encode())


if __name__ == "__main__":
    main()
