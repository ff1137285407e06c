"""Signs that the scores themselves are wrong: they know the labels, or run the wrong way."""

from __future__ import annotations

import numpy as np

from recoup._core.notes import Note
from recoup._core.prior import Prior
from recoup._core.text import show_percent
from recoup.metrics.area import auc_pu
from recoup.metrics.rates import Mixture
from recoup.scores.table import ScoreTable

# Unlabeled rows for each labeled one among the high scores, as a share of those that alpha calls
# for. Honest scores of fifteen datasets had 0.9 and more, those of trees for their own training
# rows 0.27 and less.
MISSING = 1 / 3
# The same per labeled row, where alpha is not known: honest scores had 0.6 and more with 60% of
# the positives labeled.
PURE = 0.4
NEARLY_PERFECT = 0.97
# How many times the odds of a label, as the scores say them, must be exceeded.
SURPRISE = 2.0
# Standard errors.
CLEARLY = 3.0


def warning_signs(
    table: ScoreTable, mixture: Mixture, prior: Prior, *, by_propensity: bool = False
) -> list[Note]:
    """Say what looks wrong with the scores as such.

    Parameters
    ----------
    table : ScoreTable
        The counted rows, known negatives folded in.
    mixture : Mixture
        The shares of positives that belong to the table.
    prior : Prior
        Alpha and beta as they were given or estimated.
    by_propensity : bool, default=False
        Whether the table counts labeled rows as unlabeled too, so that leaks do not show.

    Returns
    -------
    list of Note
        With the codes ``"inverted"`` and ``"leak"``; usually none.
    """
    found = [inverted_note(table)]
    if not by_propensity:
        found.append(leak_note(table, mixture, prior))
    return [note for note in found if note is not None]


def inverted_note(table: ScoreTable) -> Note | None:
    """Say that labeled rows score lower than unlabeled ones, where chance does not explain it.

    Parameters
    ----------
    table : ScoreTable
        The counted rows.

    Returns
    -------
    Note or None
    """
    labeled, unlabeled = table.effective_sizes
    area = auc_pu(table)
    # Of the area under equal distributions.
    error = np.sqrt((labeled + unlabeled + 1) / (12 * labeled * unlabeled))
    if not area < 0.5 - CLEARLY * error:
        return None
    return Note(
        "inverted",
        f"Labeled rows score lower than unlabeled ones (AUC {area:.3f} of labeled against "
        f"unlabeled rows, 0.5 is chance): the ranking looks upside down. Pass -scores, or 1 - "
        f"scores for probabilities, or check which value of the label means labeled.",
    )


def leak_note(table: ScoreTable, mixture: Mixture, prior: Prior) -> Note | None:
    r"""Say that the scores know the labels, as those of training rows do.

    Under labels at random, hidden positives score like labeled ones: for a share
    :math:`\alpha/\beta` of the labeled rows above any score, at least that share of the unlabeled
    rows lies there. What is looked at is the upper half of the labeled rows.

    - Where alpha is known, too few unlabeled rows there speak of a leak.
    - Where it is not, there must be hardly any, and the ranking nearly perfect; or the scores,
      being chances of a label, must promise far fewer labels than there are, as a model does that
      holds back on rows it has learned by heart.

    Parameters
    ----------
    table : ScoreTable
        The counted rows, known negatives folded in.
    mixture : Mixture
        The shares of positives that belong to the table.
    prior : Prior
        Alpha and beta as they were given or estimated.

    Returns
    -------
    Note or None
    """
    from scipy.special import chdtri

    place = np.searchsorted(table.heads("labeled"), 0.5)
    top = slice(len(table.scores) - 1 - int(place), None)
    labeled, unlabeled = float(table.labeled[top].sum()), float(table.unlabeled[top].sum())
    if not labeled:
        return None
    # The upper limit of a Poisson count; weighted rows count as many as carry the same information.
    scale = table.n_unlabeled / table.effective_sizes[1]
    at_most = scale * float(chdtri(2 * (unlabeled / scale + 1), 0.025)) / 2
    lowest = prior.range[0]
    known = lowest > 0 and prior.estimate is None
    share = mixture.alpha / prior.alpha if prior.alpha else 1.0
    expected = lowest * share / prior.beta * table.n_unlabeled * labeled / table.n_labeled
    clause = ""
    if known:
        if at_most > min(MISSING * expected, labeled):
            return None
        needed = show_percent(round(expected / (expected + labeled), 2))
        clause = f", where alpha={lowest:.3g} calls for {needed} or more"
    elif at_most > PURE * labeled:
        return None
    else:
        area = auc_pu(table)
        surprise = 0.0
        rows = table.labeled + table.unlabeled.astype(float)
        # Whether the scores add up to the labels, as chances of a label do.
        if table.holds_probabilities and 0.8 < rows @ table.centers / table.n_labeled < 1.25:
            mean = min(float(rows[top] @ table.centers[top] / rows[top].sum()), 1 - 1e-9)
            surprise = labeled / at_most * (1 - mean) / mean
            clause = f", and their mean score is {mean:.2g}"
        if area < NEARLY_PERFECT and surprise < SURPRISE:
            return None
    seen = show_percent(round(unlabeled / (labeled + unlabeled), 3))
    return Note(
        "leak",
        f"The scores seem to know the labels: of the rows that score like the upper half of the "
        f"labeled ones, {seen} are unlabeled{clause}. So it looks if a model scores the rows that "
        f"it was trained on, or if a column was filled in because of the label. Score rows out of "
        f"fold (recoup.scores.crossfit), and leave out columns that nobody could know before the "
        f"label. It can also be that labels went to the clearest positives"
        f"{', or that alpha is too large' if known else ', or that hardly any are hidden'}.",
    )
