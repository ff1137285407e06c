"""Calibration by an audit: the share of positives in bins of the score."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup.audit.checked import CheckedRows, parts_of
from recoup.audit.limits import Drawn
from recoup.audit.population import JudgedRows
from recoup.metrics.curve_results import CalibrationCurve
from recoup.metrics.curves import calibration_from
from recoup.metrics.intervals import spread

N_BINS = 10


def audited_calibration(
    population: JudgedRows,
    checked: CheckedRows,
    positives: FloatArray,
    cases: list[Drawn],
    confidence: float,
) -> CalibrationCurve | None:
    """Estimate the share of positives in bins of the score.

    Bins are made of the parts that rows were drawn from, as whole ones: what lies where within a
    part, few answers cannot tell. They hold about as many checked rows each.

    Parameters
    ----------
    population : JudgedRows
        Rows by score.
    checked : CheckedRows
        The answers.
    positives : ndarray of shape (n_scores,)
        Estimated positives at each score.
    cases : list of Drawn
        Answers drawn again, for each way to fill in those that are missing.
    confidence : float
        Level of the limits.

    Returns
    -------
    CalibrationCurve or None
        None where scores are no probabilities.
    """
    low_score, high_score = (
        end(population.scores[place], population.centers[place])
        for end, place in ((min, 0), (max, -1))
    )
    if low_score < 0 or high_score > 1:
        return None
    starts = _bins(population, checked)
    rows = np.add.reduceat(population.rows, starts)
    filled = rows > 0
    inside = np.maximum(rows, 1.0)
    ends: list[tuple[FloatArray, FloatArray]] = []
    for case in cases:
        at = np.searchsorted(case.population.scores, population.scores[starts])
        shares = np.add.reduceat(case.positives, at, axis=1) / inside
        if checked.certain:
            ends.append((shares.min(axis=0), shares.max(axis=0)))
        else:
            ends.append(spread(shares, confidence))
    low, high = np.min([one for one, _ in ends], axis=0), np.max([one for _, one in ends], axis=0)
    return calibration_from(
        population.scores[starts][filled],
        (np.add.reduceat(population.rows * population.centers, starts) / inside)[filled],
        (np.add.reduceat(positives, starts) / inside)[filled],
        (np.clip(low, 0.0, 1.0)[filled], np.clip(high, 0.0, 1.0)[filled]),
        rows[filled],
        confidence,
    )


def _bins(population: JudgedRows, checked: CheckedRows) -> NDArray[np.intp]:
    """Return the first cell of each bin."""
    parts = parts_of(population, checked)
    parts = parts[parts < len(population.scores)]
    part = np.searchsorted(parts, checked.cells, side="right") - 1
    n = np.bincount(part, minlength=len(parts))
    wanted = n.sum() / N_BINS
    starts, have = [0], 0
    for start, inside in zip(parts[1:], n[:-1], strict=True):
        have += int(inside)
        if have >= wanted and len(checked.cells) > 0:
            starts.append(int(start))
            have = 0
    # What is left over at the top is too little for a bin of its own.
    if len(starts) > 1 and have + int(n[-1]) < wanted / 2:
        starts.pop()
    return np.array(starts, np.intp)
