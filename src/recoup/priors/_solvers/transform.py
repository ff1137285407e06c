"""One score per row that keeps the class prior: out-of-fold P(labeled | x) of the best classifier.

If a score is an increasing function of P(s=1 | x), the share of positives that can be read from
scores is the one that can be read from the features (Jain et al. 2016); any other score can only
raise it. Scores must come from models that have not seen the row: otherwise labeled rows rise and
the estimate falls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recoup._core.checks import FloatArray, brief, label_masks
from recoup._core.constraints import Classifier, Constraint, Nothing, Words
from recoup.exceptions import InvalidInputError
from recoup.metrics.influence import auc_effects
from recoup.priors._solvers.column_scale import steady_columns
from recoup.scores.crossfit import CrossfitScores, crossfit
from recoup.scores.folds import bundle_rows
from recoup.scores.table import ScoreTable

# One-sided 5%: how sure the gain must be before a more complex classifier is preferred.
SURE = 1.645
N_FOLDS = 5


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def sparse_logistic() -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler

    return make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=1000))


def _boosting() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(learning_rate=0.05, max_iter=100, min_samples_leaf=10)


def _forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(200, min_samples_leaf=5, n_jobs=1)


CLASSIFIERS = {"logistic": _logistic, "boosting": _boosting, "forest": _forest}
# What a classifier may be asked by, where scores will do.
SCORES = ("predict_proba", "decision_function")


def named_or(classifier: Classifier) -> Constraint:
    """Allow the name of a classifier too."""
    return Words("auto", *CLASSIFIERS) | classifier


# Of features to scores. None: they are scores.
TRANSFORM = named_or(Classifier(SCORES)) | Nothing()


def honest_scores(
    X: Any,
    s: ArrayLike,
    transform: Any,
    seed: int,
    caller: str,
    *,
    parameter: str = "transform",
    cv: Any = N_FOLDS,
    n_jobs: int | None = None,
) -> CrossfitScores:
    """Score every row by classifiers that were fitted on other rows.

    ``"auto"`` goes from the simplest classifier to the more complex one, and takes that only if
    it tells labeled from unlabeled rows apart significantly better. ``parameter`` is the caller's
    word for ``transform``.
    """
    classifier = named_classifier(transform, parameter, caller)
    if isinstance(transform, str):
        X = steady_columns(X)

    def scored(classifier: Any, X: Any, s: ArrayLike, seed: int) -> CrossfitScores:
        return crossfit(classifier, X, s, cv=cv, n_jobs=n_jobs, random_state=seed)

    with explained_failures(X, s, cv, caller, parameter):
        return best_scores(X, s, classifier, seed, scored)


@contextmanager
def explained_failures(
    X: Any, s: ArrayLike, cv: Any, caller: str, parameter: str
) -> Iterator[None]:
    """Say in the caller's words what is wrong with rows that no classifier can be fitted to."""
    try:
        yield
    except InvalidInputError as error:
        labeled = label_masks(s, caller)[0]
        different = len(np.unique(bundle_rows(X, None, len(labeled), caller)[labeled]))
        if not isinstance(cv, int) or different >= cv:
            raise
        raise InvalidInputError(
            f"{caller} needs at least {cv} different labeled rows in X: each is scored by a "
            f"classifier that has seen no copy of it. Got {different:,}. Pass more columns, or "
            f"scores instead of X."
        ) from error
    except (TypeError, ValueError) as error:
        reason = str(error).splitlines()[0].rstrip(".:")
        raise InvalidInputError(
            f"{caller} cannot fit a classifier to X. Got: {brief(reason, 200)}. Encode words and "
            f"impute missing values first, or pass a classifier that takes X for {parameter}."
        ) from error


def named_classifier(choice: Any, parameter: str, caller: str) -> Any:
    """Build the classifier that a name stands for; "auto" and classifiers stay as they are."""
    if not isinstance(choice, str) or choice == "auto":
        return choice
    TRANSFORM.check(choice, parameter, caller)
    return CLASSIFIERS[choice]()


def best_scores(
    X: Any, s: ArrayLike, classifier: Any, seed: int, score: Callable[..., CrossfitScores]
) -> CrossfitScores:
    """Score the rows by a classifier, or for "auto" by the one that the rule above prefers."""
    if not isinstance(classifier, str):
        return score(classifier, X, s, seed)
    if hasattr(X, "tocsr"):
        return score(sparse_logistic(), X, s, seed)
    simple, rich = (score(make(), X, s, seed) for make in (_logistic, _boosting))
    return rich if clearly_better(rich, simple) else simple


class LabelsAndScores(Protocol):
    """Rows with labels and scores."""

    @property
    def s(self) -> NDArray[np.int_]: ...

    @property
    def scores(self) -> FloatArray: ...

    @property
    def auc_pu(self) -> float: ...


def clearly_better(rich: LabelsAndScores, simple: LabelsAndScores) -> bool:
    """Compare two AUC on the same rows by DeLong's test."""
    gain = rich.auc_pu - simple.auc_pu
    if gain <= 0:
        return False
    return gain > SURE * auc_error(rich.s, placements(rich) - placements(simple))


def auc_error(s: NDArray[np.int_], placed: FloatArray) -> float:
    """Return the standard error of an AUC, or of a difference of two, from placements of rows."""
    parts = [placed[s == kind] for kind in (1, 0)]
    return math.sqrt(sum(float(part.var(ddof=1)) / len(part) for part in parts))


def placements(found: LabelsAndScores) -> FloatArray:
    """Return for each row the share of the other sample that it is ranked right against."""
    table = ScoreTable.from_arrays(found.s, found.scores).whole("ScoreTable")
    labeled, unlabeled = (values[::-1] for values in auc_effects(table))
    at = np.searchsorted(table.scores, found.scores)
    return np.where(found.s == 1, labeled[at], unlabeled[at])
