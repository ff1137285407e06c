"""The verdict on the labels: whether they are a random sample of the positives."""

from __future__ import annotations

import numpy as np

from recoup._core.checks import FloatArray
from recoup._core.text import show_digits
from recoup.audit.checked import CheckedRows
from recoup.audit.population import JudgedRows
from recoup.audit.results import LabelsCode, LabelsVerdict

N_DRAWS = 2000
LEVEL = 0.05
# Odds within which labels count as random enough to say so.
NEAR = 3.0
# Largest odds that are looked at, as a logarithm over the whole range of ranks.
FARTHEST = 8.0


def labels_verdict(
    population: JudgedRows, checked: CheckedRows, confidence: float, rng: np.random.Generator
) -> LabelsVerdict:
    """Compare the scores of hidden positives that were found with those of the labeled ones.

    If labels are a random sample of the positives, a positive that was seen at all was seen by a
    check, and not by its label, with odds that change along the scores as the chance of a check
    does, and by nothing else. The p-value comes from draws under just that, within cells of the
    score; no variance is estimated.

    Parameters
    ----------
    population : JudgedRows
        Rows by score.
    checked : CheckedRows
        The answers, none missing.
    confidence : float
        Level of the interval of the odds.
    rng : Generator
        Source of randomness.

    Returns
    -------
    LabelsVerdict
    """
    if checked.certain:
        text = "Rows from the top alone cannot tell whether labels favor some scores."
        return LabelsVerdict("cannot-tell", np.nan, 0.0, np.inf, np.nan, text)
    positive = checked.truth > 0
    labeled = population.labeled
    if not positive.any() or labeled.sum() < 2:
        return LabelsVerdict(
            "cannot-tell", np.nan, 0.0, np.inf, np.nan, "No hidden positive was found to compare."
        )
    heads = np.cumsum(labeled)
    rank = (heads - labeled / 2) / heads[-1]
    # Cells in which somebody was labeled, and rows that were found: each a kind of positive seen.
    cells = np.flatnonzero(labeled > 0)
    if len(cells) > 200:
        cuts = np.unique(np.searchsorted(heads, heads[-1] * np.arange(1, 101) / 100))
        group = np.searchsorted(cuts, np.arange(len(labeled)), side="left")
        group = np.minimum(group, len(cuts) - 1)
        seen = np.bincount(group, labeled).astype(float)
        middle = np.bincount(group, labeled * rank) / np.maximum(seen, 1e-9)
    else:
        seen, middle = labeled[cells], rank[cells]
    chance = np.interp(
        middle,
        *_rising(rank[checked.cells], checked.probability),
    )
    x = np.append(middle, rank[checked.cells][positive]) - 0.5
    n = np.append(seen, np.ones(positive.sum()))
    k = np.append(np.zeros(len(seen)), np.ones(positive.sum()))
    offset = np.log(np.append(chance, checked.probability[positive]))
    level = _intercept(offset, n, k.sum())
    center = _expit(level + offset)
    statistic = float(x @ (k - n * center))
    drawn = rng.binomial(n.astype(np.int64), center, size=(N_DRAWS, len(n)))
    spread = x - np.sum(n * center * (1 - center) * x) / np.sum(n * center * (1 - center))
    simulated = (drawn - n * center) @ spread
    statistic = float(spread @ (k - n * center))
    extreme = np.sum(np.abs(simulated) >= abs(statistic) - 1e-12)
    p_value = float((1 + extreme) / (N_DRAWS + 1))
    slopes = np.linspace(-FARTHEST, FARTHEST, 161)
    likelihood = np.array([_profile(slope, x, offset, n, k) for slope in slopes])
    best = int(np.argmax(likelihood))
    from scipy.special import chdtri

    inside = slopes[likelihood >= likelihood[best] - chdtri(1, 1 - confidence) / 2]
    # A slope of found against labeled is the reverse of what labels favor; .9 of all ranks.
    odds, low, high = (float(np.exp(-0.9 * s)) for s in (slopes[best], inside.max(), inside.min()))
    high = np.inf if inside.min() == slopes[0] else high
    low = 0.0 if inside.max() == slopes[-1] else low
    code: LabelsCode = "cannot-tell"
    if p_value < LEVEL:
        code = "favor-high" if odds > 1 else "favor-low"
    elif low >= 1 / NEAR and high <= NEAR:
        code = "random"
    return LabelsVerdict(code, odds, low, high, p_value, _text(code, odds, int(positive.sum())))


def _text(code: LabelsCode, odds: float, found: int) -> str:
    seen = f"{found} hidden positive{'s' if found != 1 else ''} found"
    if code == "cannot-tell":
        return f"Too little to tell whether labels favor some scores ({seen})."
    if code == "random":
        return f"Labels look like a random sample of the positives ({seen})."
    which, times = ("high", odds) if code == "favor-high" else ("low", 1 / odds)
    return (
        f"Labels favor positives with {which} scores, by about {show_digits(times, 2)} times the "
        f"odds ({seen}): numbers from labels alone are off."
    )


def _rising(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean chance of a check at each distinct rank, as points to interpolate."""
    at, index = np.unique(x, return_inverse=True)
    return at, np.bincount(index, y) / np.bincount(index)


def _expit(x: FloatArray) -> FloatArray:
    from scipy.special import expit

    found: FloatArray = expit(x)
    return found


def _intercept(offset: FloatArray, n: FloatArray, total: float) -> float:
    """Level at which as many are expected as were found."""
    low, high = -50.0, 50.0
    for _ in range(60):
        middle = (low + high) / 2
        below = np.sum(n * _expit(middle + offset)) < total
        low, high = (middle, high) if below else (low, middle)
    return (low + high) / 2


def _profile(
    slope: float, x: FloatArray, offset: FloatArray, n: FloatArray, k: FloatArray
) -> float:
    line = offset + slope * x
    fitted = np.clip(_expit(_intercept(line, n, k.sum()) + line), 1e-12, 1 - 1e-12)
    return float(np.sum(k * np.log(fitted) + (n - k) * np.log1p(-fitted)))
