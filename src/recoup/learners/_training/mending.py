"""What to try where the fit of a network has failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from recoup.exceptions import InvalidInputError
from recoup.learners.cut import HonestScores, share_cut
from recoup.learners.health import Health, diagnosed

if TYPE_CHECKING:
    from recoup.learners._training.loop import TorchPULearner

# How much longer the last fit goes on.
LONGER = 3
TRIVIAL = ("calls-all-positive", "calls-none-positive")


def other_ways(learner: TorchPULearner) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what to change for another fit, and its name."""
    known = learner.get_params(deep=False)
    bounded = known.get("loss") in ("sigmoid", "squared")
    if bounded:
        # Where positives are rare the sigmoid loss is flat once all rows are called negative.
        yield "another seed and the logistic loss", {"loss": "logistic"}
    else:
        yield "another seed", {}
    longer = {
        name: LONGER * int(known[name]) for name in ("epochs", "warm_up_epochs") if known.get(name)
    }
    yield (
        "a longer fit" + (" with the logistic loss" if bounded else ""),
        longer | ({"loss": "logistic"} if bounded else {}),
    )


def mended(
    learner: TorchPULearner,
    X: Any,
    s: NDArray[np.int_],
    rng: np.random.Generator,
    per_row: Mapping[str, NDArray[Any] | None],
    health: Health,
) -> Health:
    """Fit twins in other ways; leave the learner with the best of the fits, and say how it is.

    Where all of them rank well and still call all rows or none, the cut is set where alpha says.
    """
    tried: list[str] = []
    alpha = learner.alpha_
    best, fitted = health, _fitted(learner)
    for name, changes in other_ways(learner):
        tried.append(name)
        twin = clone(learner).set_params(**changes)
        twin.set_params(random_state=int(rng.integers(2**31)), guard="off")
        if alpha is not None:
            twin.set_params(alpha=alpha)
        try:
            with twin._during_fit(None, None):
                twin._fit_rows(X, s, **per_row)
                found = twin._examined(X, s, None)
        except InvalidInputError:
            continue
        if found.ok or (not best.ok and found.auc_pu > best.auc_pu):
            best, fitted = found, _fitted(twin)
        if found.ok:
            break
    for name, value in fitted.items():
        setattr(learner, name, value)
    if best.code in TRIVIAL and learner.threshold == "own" and alpha is not None:
        tried.append("the cut at alpha")
        everything = HonestScores(s, learner._decide(X), "training")
        learner.cut_ = share_cut(everything, alpha, learner.scheme)
        cut = HonestScores(s, everything.scores - learner.cut_, "training")
        best = diagnosed(cut, cut, alpha)
    return best.after(tuple(tried))


def _fitted(learner: TorchPULearner) -> dict[str, Any]:
    """Return what a fit has found, but what concerns the rows alone."""
    kept = ("n_features_in_", "feature_names_in_", "prior_", "health_")
    return {
        name: value
        for name, value in vars(learner).items()
        if name.endswith("_") and not name.startswith("_") and name not in kept
    }
