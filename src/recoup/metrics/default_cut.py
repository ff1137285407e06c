"""Where scores become predictions if nobody says where."""

from __future__ import annotations

import numpy as np

from recoup._core.checks import FloatArray
from recoup._core.notes import Note
from recoup._core.text import show_digits
from recoup.metrics.rates import Mixture
from recoup.scores.table import ScoreTable

HALF = 0.5
# Standard errors by which the mean score must miss the share of positives.
CLEARLY = 3.0


def default_cut(table: ScoreTable, mixture: Mixture | None) -> tuple[float | None, Note | None]:
    """Choose the threshold for scores that come without one.

    Scores in [0, 1] are cut at 0.5, unless they are chances of having a label rather than chances
    of being positive: then they are cut where a row is as likely positive as not.

    Parameters
    ----------
    table : ScoreTable
        The counted rows, known negatives folded in.
    mixture : Mixture or None
        The shares of positives that belong to the table. None where propensities differ between
        rows: no one threshold is an even chance then.

    Returns
    -------
    cut : float or None
        The threshold. None leaves the choice to a criterion such as Youden's J, where scores are
        no probabilities or none of them reaches the threshold.
    note : Note or None
        What the reader must know about that choice.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> chance = rng.beta(0.3, 0.7, size=20_000)
    >>> s = (rng.random(20_000) < 0.2 * chance).astype(int)
    >>> alpha = np.mean(chance * 0.8) / np.mean(1 - 0.2 * chance)
    >>> table = ScoreTable.from_arrays(s, 0.2 * chance)
    >>> cut, note = default_cut(table, Mixture.of(table, alpha, 1.0, "single-sample"))
    >>> round(cut, 2), note.code
    (0.1, 'labeled-probability')
    >>> table = ScoreTable.from_arrays(s, chance)
    >>> default_cut(table, Mixture.of(table, alpha, 1.0, "single-sample"))
    (0.5, None)
    """
    if not table.holds_probabilities:
        return None, None
    if mixture is None or not estimates_labels(table, mixture):
        return HALF, None
    exact = float(chance_of_label(np.array(HALF), table, mixture))
    cut = exact
    if table.thinned and cut <= table.scores[-1]:
        # Only at the edge of a bin are the selected rows those of the full table.
        cut = float(table.scores[np.searchsorted(table.scores, cut)])
    what = (
        f"The scores look like chances of having a label, not of being positive: their mean is "
        f"{show_digits(_mean(table, _all_rows(table)))}, where "
        f"{show_digits(_labeled_share(table))} of the rows are labeled and "
        f"{show_digits(float(mixture.pi))} are positive. "
    )
    if cut > table.scores[-1]:
        return None, Note(
            "labeled-probability",
            f"{what}A row is as likely positive as not at {show_digits(exact)}, which no score "
            f"reaches, so that the threshold was chosen in another way. Pass a threshold to set "
            f"your own.",
        )
    if not np.any((table.scores >= min(cut, HALF)) & (table.scores < max(cut, HALF))):
        return HALF, None
    return cut, Note(
        "labeled-probability",
        f"{what}Predictions are made at {show_digits(cut)}, where a row is as likely positive "
        f"as not. Pass threshold=0.5 to cut there instead.",
    )


def estimates_labels(table: ScoreTable, mixture: Mixture) -> bool:
    """Say whether scores in [0, 1] are chances of having a label, not of being positive.

    Their mean must differ from the share of positives by more than sampling error, and be twice as
    near to the share of labeled rows, in log odds; and the labels must not be less likely under the
    first reading than under the second.

    Parameters
    ----------
    table : ScoreTable
        The counted rows, known negatives folded in. All scores lie in [0, 1].
    mixture : Mixture
        The shares of positives that belong to the table.

    Returns
    -------
    bool
    """
    pi, judged = float(mixture.pi), mixture.rows(table)
    if len(table.scores) == 1 or not 0 < pi < 1:
        return False
    mean = _mean(table, judged)
    spread = np.sqrt(
        judged @ (table.centers - mean) ** 2 / judged.sum() / sum(table.effective_sizes)
    )
    from_labels = _log_odds(_mean(table, _all_rows(table))) - _log_odds(_labeled_share(table))
    from_positives = _log_odds(mean) - _log_odds(pi)
    if abs(mean - pi) < CLEARLY * spread or 2 * abs(from_labels) > abs(from_positives):
        return False
    # A chance of 0 or 1 is never meant to the last digit.
    least = 0.5 / table.n_rows
    readings = table.centers, chance_of_label(table.centers, table, mixture)
    first, second = (np.clip(reading, least, 1 - least) for reading in readings)
    gain = table.labeled @ np.log(first / second)
    gain += table.unlabeled @ np.log((1 - first) / (1 - second))
    return bool(gain > 0)


def chance_of_label(chance: FloatArray, table: ScoreTable, mixture: Mixture) -> FloatArray:
    r"""Turn chances of being positive into chances of having a label, for labels at random.

    With :math:`f` the share of labeled rows and :math:`r` the ratio of the densities of labeled
    and of unlabeled rows, the chance of a label is :math:`q = fr / (fr + 1 - f)`, and positives
    have the density :math:`((1-\alpha) r - (1-\beta)) / (\beta-\alpha)` times that of the
    unlabeled rows. The chance of being positive is that density times :math:`\pi`, over
    :math:`fr + 1 - f` in a single sample and over 1 among the unlabeled rows.

    Parameters
    ----------
    chance : ndarray
        Chances of being positive, in the population that is judged.
    table : ScoreTable
        The counted rows.
    mixture : Mixture
        The shares of positives that belong to the table.

    Returns
    -------
    ndarray
        Chances of having a label in all rows of the table.
    """
    alpha, beta, pi = (float(part) for part in (mixture.alpha, mixture.beta, mixture.pi))
    share = _labeled_share(table)
    excess = chance * (beta - alpha) / pi
    if mixture.scheme == "case-control":
        ratio = share * (excess + 1 - beta) / (1 - alpha)
        return np.asarray(ratio / (ratio + 1 - share))
    slope = (1 - alpha) / share + (1 - beta) / (1 - share)
    return np.asarray((excess + (1 - beta) / (1 - share)) / slope)


def _labeled_share(table: ScoreTable) -> float:
    return float(table.n_labeled / (table.n_labeled + table.n_unlabeled))


def _all_rows(table: ScoreTable) -> FloatArray:
    rows: FloatArray = table.labeled + table.unlabeled.astype(float)
    return rows


def _mean(table: ScoreTable, rows: FloatArray) -> float:
    return float(rows @ table.centers / rows.sum())


def _log_odds(share: float) -> float:
    share = min(max(share, 1e-12), 1 - 1e-12)
    return float(np.log(share / (1 - share)))
