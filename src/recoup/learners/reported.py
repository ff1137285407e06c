"""What others report for the learners: Table 1 of PU-Bench."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files


@cache
def reported_accuracies() -> dict[str, dict[str, float]]:
    """Return PU-Bench's figures in percent, by learner and dataset.

    Case-control data, a tenth of the positives labeled at random, means over ten seeds, weights
    selected with true labels. The table calls them accuracies. On datasets whose classes differ in
    size they fit F1 better: of the runs of the same code whose F1 is known for Connect-4, none can
    have the accuracy in the table, whatever its errors are. P3Mix has two entries, ``"p3mix-e"``
    and ``"p3mix-c"``.

    References
    ----------
    PU-Bench, 2026, Table 1.
    """
    return _column("accuracy")


@cache
def reported_spreads() -> dict[str, dict[str, float]]:
    """Return what stands after each of PU-Bench's figures, in percent, by learner and dataset.

    The table does not say what it is; read as a standard deviation over ten seeds, it does not fit
    the tests that the same paper reports.

    References
    ----------
    PU-Bench, 2026, Tables 1 and D.6.
    """
    return _column("spread")


def _column(name: str) -> dict[str, dict[str, float]]:
    text = files("recoup.learners").joinpath("pubench_table1.csv").read_text("utf-8")
    found: dict[str, dict[str, float]] = {}
    for row in csv.DictReader(text.splitlines()):
        found.setdefault(row["learner"], {})[row["dataset"]] = float(row[name])
    return found
