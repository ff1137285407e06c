"""The estimate of alpha that rows are learned from and metrics are recovered with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from recoup._core.random import RandomState, as_seed
from recoup.priors.auto import estimate
from recoup.priors.results import PriorEstimate

IF_RANDOM, ANY_LABELS = "if random", "any labels"


def usable_estimate(
    s: ArrayLike,
    X: Any,
    *,
    method: str = "auto",
    labels_are: str = "unknown",
    random_state: RandomState = 0,
) -> PriorEstimate:
    """Estimate the one alpha that a learner is told and that metrics are recovered with.

    :func:`recoup.priors.estimate` allows for every way in which labels may have come about. Where
    features do not tell which, its alpha is the middle of what came out in other data, with biased
    labels mostly: far too large where labels are random and positives are few. Here it is then
    halfway between that and alpha for random labels: whichever is right, half of the difference
    is lost. Where features speak against random labels, or somebody says that they are biased,
    alpha is that for biased ones, unless it is more than metrics can be recovered with; then it is
    that for random ones. The interval goes on allowing for both.

    Parameters
    ----------
    s : array-like of shape (n,)
        1 labeled positive, 0 unlabeled. Known negatives (-1) are left out.
    X : array-like, sparse matrix or data frame with n rows
        Features.
    method : str, default="auto"
        The combination that measures best, or the key of one estimator.
    labels_are : {"unknown", "random", "biased"}, default="unknown"
        How labels came about.
    random_state : int, Generator, RandomState or None, default=0
        Seed of everything random.

    Returns
    -------
    PriorEstimate
        ``labels.text`` says what was taken, and why; ``members`` has what was not.
    """
    seed = as_seed(random_state, "estimate")
    options: dict[str, Any] = {"X": X, "method": method, "random_state": seed}
    found = estimate(s, labels_are=labels_are, **options)
    if found.labels is None or IF_RANDOM not in found.members:
        return found
    if found.labels.code == "cannot-tell" and labels_are == "unknown":
        return _halfway(found)
    plain = estimate(s, labels_are="random", **options)
    most = plain.upper_limit if plain.identified is None else plain.identified[1]
    return found if found.alpha <= most else _within_reach(plain, found, most)


def _halfway(found: PriorEstimate) -> PriorEstimate:
    """Move alpha, and leave the interval where it is, but for its reaching as far as alpha."""
    assert found.labels is not None
    random = found.members[IF_RANDOM]
    alpha = (random + found.alpha) / 2
    interval = found.interval
    if interval is not None:
        interval = min(interval[0], alpha), max(interval[1], alpha)
    text = (
        f"{found.labels.text} Alpha, {alpha:.2g}, stands halfway between {random:.2g} for random "
        f"labels and {found.alpha:.2g} with an allowance for biased ones. Say how labels came "
        f"about (labels_are) if you know it."
    )
    return replace(
        found,
        alpha=alpha,
        interval=interval,
        members=dict(found.members) | {ANY_LABELS: found.alpha},
        labels=replace(found.labels, text=text),
    )


def _within_reach(plain: PriorEstimate, found: PriorEstimate, most: float) -> PriorEstimate:
    """Return alpha for random labels, with what the features say of them."""
    assert found.labels is not None
    text = (
        f"{found.labels.text.split(' Alpha allows')[0]} Alpha would then be {found.alpha:.2f}, "
        f"more than the {most:.2f} from which metrics can be recovered; the numbers here take "
        f"labels as random. Check rows by hand before you rely on them."
    )
    members = dict(plain.members) | {ANY_LABELS: found.alpha}
    labels = replace(found.labels, text=text)
    return replace(plain, members=members, labels=labels)
