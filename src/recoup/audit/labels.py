"""The verdict on the labels: whether they are a random sample of the positives, and right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recoup._core.checks import FloatArray
from recoup._core.text import show_digits
from recoup.audit.checked import CheckedRows
from recoup.audit.population import JudgedRows
from recoup.audit.results import LabelsCode, LabelsVerdict, RightLabels

N_DRAWS = 2000
LEVEL = 0.05
# Odds within which labels count as random enough to say so.
NEAR = 3.0
# Largest odds that are looked at, as a logarithm over the whole range of ranks.
FARTHEST = 8.0


@dataclass(frozen=True, eq=False)
class LabelsTest:
    """The verdict on the labels, and what it was read from.

    Attributes
    ----------
    verdict : LabelsVerdict
        Whether labels are a random sample of the positives.
    statistic : float
        How far the labeled positives lie above the hidden ones that were found, beyond what the
        chances of a check explain, in standard errors; NaN where no hidden positive was found.
    null : ndarray of shape (n_draws,)
        The same for labels at random.
    n_found : int
        Hidden positives that were found.
    """

    verdict: LabelsVerdict
    statistic: float
    null: FloatArray
    n_found: int


def labels_verdict(
    population: JudgedRows, checked: CheckedRows, confidence: float, rng: np.random.Generator
) -> LabelsVerdict:
    """Say whether labels are a random sample of the positives, as :func:`labels_test` finds."""
    return labels_test(population, checked, confidence, rng).verdict


def labels_test(
    population: JudgedRows, checked: CheckedRows, confidence: float, rng: np.random.Generator
) -> LabelsTest:
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
    LabelsTest
    """
    if checked.certain:
        text = "Rows from the top alone cannot tell whether labels favor some scores."
        verdict = LabelsVerdict("cannot-tell", np.nan, 0.0, np.inf, np.nan, text)
        return LabelsTest(verdict, np.nan, np.array([]), int(np.sum(checked.truth > 0)))
    positive = checked.truth > 0
    labeled = population.labeled
    if not positive.any() or labeled.sum() < 2:
        nothing = "No hidden positive was found to compare."
        verdict = LabelsVerdict("cannot-tell", np.nan, 0.0, np.inf, np.nan, nothing)
        return LabelsTest(verdict, np.nan, np.array([]), int(positive.sum()))
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
    center = _expit(_intercepts(offset[None], n, k.sum())[0] + offset)
    drawn = rng.binomial(n.astype(np.int64), center, size=(N_DRAWS, len(n)))
    spread = x - np.sum(n * center * (1 - center) * x) / np.sum(n * center * (1 - center))
    simulated = (drawn - n * center) @ spread
    statistic = float(spread @ (k - n * center))
    extreme = np.sum(np.abs(simulated) >= abs(statistic) - 1e-12)
    p_value = float((1 + extreme) / (N_DRAWS + 1))
    slopes = np.linspace(-FARTHEST, FARTHEST, 161)
    likelihood = _profile(slopes, x, offset, n, k)
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
    found = int(positive.sum())
    verdict = LabelsVerdict(code, odds, low, high, p_value, _text(code, odds, found))
    # Found positives that lie low mean labels that lie high.
    scale = max(float(simulated.std()), 1e-300)
    return LabelsTest(verdict, -statistic / scale, -simulated / scale, found)


def right_labels(
    population: JudgedRows, checked: CheckedRows, confidence: float
) -> RightLabels | None:
    """Say which share of the labels is right, from labeled rows that were drawn blindly.

    The interval is exact: it holds the shares among all labeled rows with which finding so few
    right labels, or so many, is not rarer than half of one minus the confidence.

    Parameters
    ----------
    population : JudgedRows
        Rows by score.
    checked : CheckedRows
        The answers.
    confidence : float
        Level of the interval.

    Returns
    -------
    RightLabels or None
        None where no labeled row has an answer.
    """
    known = checked.labeled[~np.isnan(checked.labeled)]
    if not len(known):
        return None
    n, right, total = len(checked.labeled), int(known.sum()), round(float(population.labeled.sum()))
    tail = (1 - confidence) / 2
    low = _fewest_right(total, n, right, tail)
    # The most right labels leave the fewest wrong ones.
    high = total - _fewest_right(total, n, len(known) - right, tail)
    wrong = len(known) - right
    text = (
        f"Of {len(known)} labels that were checked, {wrong} {'is' if wrong == 1 else 'are'} wrong: "
        f"{show_digits(100 * low / total, 3)} to {show_digits(100 * high / total, 3)} of 100 are "
        f"right."
    )
    return RightLabels(
        right / len(known), low / total, high / total, float(wrong == 0), len(known), right, text
    )


def _fewest_right(total: int, n: int, found: int, tail: float) -> int:
    """Return the fewest of all, with which finding so many among n is not too rare."""
    from scipy.stats import hypergeom

    low, high = found, total - (n - found)
    while low < high:
        middle = (low + high) // 2
        rare = hypergeom.sf(found - 1, total, middle, n) <= tail
        low, high = (middle + 1, high) if rare else (low, middle)
    return low


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


def _intercepts(offsets: FloatArray, n: FloatArray, total: float) -> FloatArray:
    """Level of each row of offsets at which as many are expected as were found."""
    low, high = np.full(len(offsets), -50.0), np.full(len(offsets), 50.0)
    for _ in range(45):
        middle = (low + high) / 2
        below = _expit(middle[:, None] + offsets) @ n < total
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    found: FloatArray = (low + high) / 2
    return found


def _profile(
    slopes: FloatArray, x: FloatArray, offset: FloatArray, n: FloatArray, k: FloatArray
) -> FloatArray:
    """Log likelihood of each slope, at the level that fits it best."""
    lines = offset + slopes[:, None] * x
    fitted = _expit(_intercepts(lines, n, k.sum())[:, None] + lines)
    fitted = np.clip(fitted, 1e-12, 1 - 1e-12)
    found: FloatArray = np.log(fitted) @ k + np.log1p(-fitted) @ (n - k)
    return found
