"""How labels came about, in a word, and how far they may favor some scores."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

from recoup._core.checks import brief
from recoup.exceptions import InvalidInputError

LabelsAre: TypeAlias = Literal["random", "biased", "unknown"]

# How many times the odds of a label may differ between the positives with the highest and the
# lowest scores: where nobody has said how labels came about, and where somebody has said that they
# are no random sample.
UNKNOWN_ODDS, BIASED_ODDS = 5.0, 20.0
# The odds that recovered metrics are shown for, unless others are asked for.
STRENGTHS = (1.0, 1.5, 2.0, 3.0, UNKNOWN_ODDS)
SAID: dict[LabelsAre, str] = {
    "random": "Labels are said to be a random sample of the positives.",
    "biased": "Labels are said not to be a random sample of the positives.",
    "unknown": "Nobody has said how labels came about.",
}


def check_labels_are(labels_are: Any, caller: str) -> LabelsAre:
    """Require a known word for how labels came about."""
    if labels_are not in get_args(LabelsAre):
        raise InvalidInputError(
            f"{caller} needs labels_are to be 'random', 'biased' or 'unknown'. Got "
            f"{brief(labels_are)!r}. Pass 'random' if the labeled rows are a random sample of the "
            f"positives, 'biased' if they are not."
        )
    found: LabelsAre = labels_are
    return found


def odds_left_open(labels_are: LabelsAre) -> float:
    """How many times the odds of a label may differ along the scores, after what is known.

    Parameters
    ----------
    labels_are : {"random", "biased", "unknown"}
        How labels came about.

    Returns
    -------
    float
        1 for labels that are a random sample.

    Examples
    --------
    >>> [odds_left_open(word) for word in ("random", "unknown", "biased")]
    [1.0, 5.0, 20.0]
    """
    return {"random": 1.0, "unknown": UNKNOWN_ODDS, "biased": BIASED_ODDS}[labels_are]


def tilts_up_to(odds: float) -> tuple[float, ...]:
    """Return the tilts at the ends of what is possible: above 1 labels favor high scores.

    With a large one the usual ones count too: where alpha changes with the odds, a metric may turn
    around in between.

    Parameters
    ----------
    odds : float
        How many times the odds of a label may differ along the scores.

    Returns
    -------
    tuple of float
        Empty for labels that are a random sample.

    Examples
    --------
    >>> tilts_up_to(5.0), tilts_up_to(1.0)
    ((5.0, 0.2), ())
    """
    strengths = sorted({odds, min(odds, UNKNOWN_ODDS)} - {1.0})
    return tuple(tilt for strength in strengths for tilt in (strength, 1 / strength))
