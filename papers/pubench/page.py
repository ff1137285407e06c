"""The page of PU-Bench: what ran, how it differs from the paper, verdicts, tables and figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from papers.experiment import Page, Rows
from papers.pubench.claims import claims_on
from papers.pubench.figures import draw_all
from papers.pubench.published import DATASET_TITLES, DATASETS, PU_METHODS
from papers.pubench.study import Condition, Study, study_of
from papers.pubench.tables import (
    accuracy_table,
    cost_table,
    p_value_table,
    reason_table,
    run_table,
)
from recoup._core.checks import brief
from recoup.exceptions import InvalidInputError

DISTRIBUTIONS = "distributions.json"


def read_distributions(folder: Path) -> dict[str, Any]:
    """Return the scores of single runs that lie beside the results; empty without the file."""
    path = folder / DISTRIBUTIONS
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_bytes())
        if not isinstance(found, dict):
            raise TypeError(type(found).__name__)
    except (OSError, ValueError, TypeError) as error:
        raise InvalidInputError(
            f"The page of PU-Bench needs {brief(str(path), 200)} to be a JSON object with the keys "
            f"lbe and pan. It cannot be read: {brief(str(error), 200)}. Export it again, or remove "
            f"it to do without Figure 12."
        ) from error
    return found


def page_of(rows: Rows, distributions: Mapping[str, Any] | None = None) -> Page:
    """Make the page from rows of the benchmark's store."""
    study = study_of(rows, distributions)
    reasons = reason_table(rows)
    tables = [
        ("Table 1: accuracy", f"{TABLE_1}\n\n{accuracy_table(study.paper)}"),
        ("Table D.6: differences from nnPU", f"{TABLE_D6}\n\n{p_value_table(study.paper)}"),
        ("Figure 4: cost", f"{COST}\n\n{cost_table(study.paper)}"),
        ("What ran", run_table(rows)),
    ]
    if reasons:
        tables.append(("Runs without a result", reasons))
    return Page(_intro(study), tuple(tables), claims_on(study), draw_all(study.paper))


TABLE_1 = """\
Means ± standard deviations over seeds in percent; in parentheses Table 1's figure and how far ours
lies above it. † marks a method that calls all test rows one class, with every seed.

On Connect-4 Table 1 fits F1 of the positive class better than accuracy: to call all its rows
positive has an accuracy of 65.8 and an F1 of 79.4, and 79.39 (VAE-PU) and 79.42 (CGenPU) are what
the table prints. Robust-PU equals nnPU to two decimals on four of the eight datasets there."""
TABLE_D6 = """\
p-values of paired t-tests against nnPU with Holm's correction on each dataset, with the sign of the
difference; bold below 0.05. In parentheses those of Table D.6. Ours rest on few seeds, as the intro
says, theirs on ten."""
COST = """\
Means over seeds, of the device that most methods ran on: a dash stands for runs elsewhere, or for
what a method does not have."""


def _intro(study: Study) -> str:
    counts = [
        len(study.paper.values(method, dataset, Condition("accuracy")))
        for method in PU_METHODS
        for dataset in DATASETS
    ]
    seeds = sorted({count for count in counts if count})
    told = (
        f"{seeds[0]} to {seeds[-1]} seeds" if len(seeds) > 1 else f"{seeds[0]} seeds" if seeds else
        "no seeds yet"
    )  # fmt: skip
    whole = sum(count > 0 for count in counts)
    lacking = [
        DATASET_TITLES[dataset]
        for dataset in DATASETS
        if not any(study.paper.values(m, dataset, Condition("accuracy")) for m in PU_METHODS)
    ]
    absent = f" No results yet on {', '.join(lacking)}." if lacking else ""
    variants = (
        f"\n- Other learners, or other settings, also ran; no finding is about them: "
        f"{', '.join(f'`{name}`' for name in study.variants)}."
        if study.variants
        else ""
    )
    return f"""
Eighteen learners and a supervised one on eight datasets, made by `recoup bench run` from plans that
come with recoup. {whole} of {len(PU_METHODS) * len(DATASETS)} cells of Table 1 have results, with
{told} (the paper: 10).{absent} The [leaderboard](../../leaderboard/index.html) shows every run;
[Which learner when](../../which-learner.md) says what follows for users.

Each finding has a rule that was committed before any of these runs was made, and a number with a
95% interval: where the interval leaves both open, nothing is told. Which methods count where some
lack seeds was settled while runs were coming in, by somebody who had not seen them; a rule that was
changed later says so. *Holds* is judged by the paper's own protocol (`pubench`): labeled rows
come again among the unlabeled ones, a hundredth of the rows with their classes chooses the weights
by macro-F1, and alpha is what the released code hands out. Where the honest protocol contradicts it
(no classes, alpha as each method has it in practice), the finding holds in the paper's setting
only.

Where this differs from the paper:

- CIFAR-10 has 20,000 training and 5,000 test images here, not 50,000 and 10,000.
- F1 is macro-F1, as the paper's text says; its released code computes F1 of the positive class.
  Where that one would decide otherwise, the reason says so.
- Learners follow their own papers and PU-Bench's training settings, not the released code, in which
  several methods are not the named one. A model that calls all rows one class is not cut anew.
- ADNI is split by image as in the paper, so that images of one patient are on both sides.
- Times and memory are those of recoup on the devices named below.
- On a GPU, networks for CIFAR-10 and ADNI round what they multiply to bfloat16; in runs that
  finished before 2026-11-19 (column `finished`) they did not, and took half as long again.
- Figures 3 and 9 to 11 are lines and not radar charts: the area of a radar chart depends on the
  order of its spokes, and eighteen polygons cover each other. The length of a line is the distance
  between a method's best and worst metric.{variants}
"""
