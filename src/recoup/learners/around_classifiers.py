"""What classifiers that wrap one of the user's have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from recoup._core.checks import FloatArray, brief
from recoup._core.constraints import SCHEME, Classifier, Constraints
from recoup.exceptions import InvalidInputError
from recoup.learners.base import PULearner
from recoup.priors._solvers.transform import (
    CLASSIFIERS,
    N_FOLDS,
    best_scores,
    named_or,
    sparse_logistic,
)
from recoup.scores.crossfit import CrossfitScores, crossfit, seeded

Method = TypeVar("Method", bound=Callable[..., Any])


def _delegated(method: Method) -> Method:
    """Offer a method where the classifier has it too."""

    def offered(self: WrappingClassifier) -> bool:
        return hasattr(self._wrapped(), method.__name__)

    delegated: Method = available_if(offered)(method)
    return delegated


def _with_chances(method: Method) -> Method:
    """Offer a method where the learner has probabilities."""

    def offered(self: ClassifierLearner) -> bool:
        return self._gives_chances()

    with_chances: Method = available_if(offered)(method)
    return with_chances


class WrappingClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Base of classifiers that fit the user's on labels, and hand on what it says.

    A subclass names the parameter that holds the user's classifier; once fitted, the clone has
    that name with an underscore.
    """

    wrapped_parameter: ClassVar[str]

    def _wrapped(self) -> Any:
        """Return the fitted classifier, or the user's where nothing is fitted yet."""
        name = self.wrapped_parameter
        return getattr(self, f"{name}_", getattr(self, name))

    def _fit_wrapped(self, X: Any, s: NDArray[Any]) -> None:
        """Fit a clone on 1 for labeled rows and 0 for all others."""
        name = self.wrapped_parameter
        fitted = clone(getattr(self, name)).fit(X, (s == 1).astype(int))
        setattr(self, f"{name}_", fitted)
        self.classes_ = np.array([0, 1])
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))

    @_delegated
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the classifier's own probabilities.

        They are of a row being labeled, unless the classifier is a PU learner.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame with n rows
            What the classifier takes.

        Returns
        -------
        ndarray of shape (n, 2)
            Negative, or not labeled, and positive, or labeled.
        """
        check_is_fitted(self)
        probabilities: FloatArray = self._wrapped().predict_proba(X)
        return probabilities

    @_delegated
    def decision_function(self, X: Any) -> FloatArray:
        """Return the classifier's own decision function.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame with n rows
            What the classifier takes.

        Returns
        -------
        ndarray of shape (n,)
            The higher, the likelier positive.
        """
        check_is_fitted(self)
        decisions: FloatArray = self._wrapped().decision_function(X)
        return decisions

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what the wrapped classifier takes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags = get_tags(getattr(self, self.wrapped_parameter)).input_tags
        return tags


class ClassifierLearner(PULearner):
    """Base of PU learners around any classifier, which a parameter ``classifier`` holds or names.

    What rows may hold is up to the classifier: words, gaps, sparse columns. A subclass has
    ``_chances`` besides ``_fit`` and ``_decide``, where a probability makes sense for it.
    """

    classifier: Any
    constraints: ClassVar[Constraints] = {
        "classifier": named_or(Classifier()),
        "scheme": SCHEME,
    }

    @_with_chances
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the chances of each row to be negative and to be positive.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n, n_features)
            The rows to score, with the features of the training rows.

        Returns
        -------
        ndarray of shape (n, 2)
            Negative and positive.
        """
        check_is_fitted(self)
        chances = self._chances(self._checked_rows(X, reset=False))
        return np.column_stack([1 - chances, chances])

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what the classifier takes."""
        tags = super().__sklearn_tags__()
        if isinstance(self.classifier, str):
            tags.input_tags.sparse = True
        else:
            tags.input_tags = get_tags(self.classifier).input_tags
        return tags

    def _gives_chances(self) -> bool:
        return isinstance(self.classifier, str) or hasattr(self.classifier, "predict_proba")

    def _chances(self, X: Any) -> FloatArray:
        """Return P(y=1 | x) of checked rows."""
        raise NotImplementedError

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        self._check_unmasked(X, reset)
        rows = X if hasattr(X, "shape") else np.asarray(X)
        if hasattr(rows, "tocsr"):
            rows = rows.tocsr()  # of other forms some have no rows to choose from
        # One axis will do for texts; of numbers, scikit-learn says what is wrong.
        one_number_each = len(rows.shape) == 1 and getattr(rows.dtype, "kind", "") in "fiub"
        return validate_data(self, rows, reset=reset, skip_check_array=not one_number_each)

    def _chosen(self, X: Any, s: NDArray[np.int_], rng: np.random.Generator) -> Any:
        """Return the user's classifier, or the one that its name stands for with such rows."""
        seed = int(rng.integers(2**31))
        if not isinstance(self.classifier, str):
            return self.classifier
        if hasattr(X, "tocsr") and self.classifier in ("auto", "logistic"):
            return sparse_logistic()
        if self.classifier != "auto":
            return CLASSIFIERS[self.classifier]()
        tried = []

        def scored(candidate: Any, X: Any, s: Any, seed: int) -> CrossfitScores:
            tried.append((candidate, crossfit(candidate, X, s, cv=N_FOLDS, random_state=seed)))
            return tried[-1][1]

        best = best_scores(X, s, "auto", seed, scored)
        return next(candidate for candidate, found in tried if found is best)


def fitted_clone(
    classifier: Any,
    X: Any,
    target: NDArray[np.int_],
    rng: np.random.Generator,
    *,
    rows: NDArray[np.intp] | None = None,
    weights: FloatArray | None = None,
    caller: str = "",
) -> Any:
    """Fit a clone to some rows, which may be named twice, with weights if there are any."""
    model = seeded(classifier, rng)
    chosen = X if rows is None else _safe_indexing(X, rows)
    if weights is None:
        return model.fit(chosen, target)
    step, last = model.steps[-1] if hasattr(model, "steps") else (None, model)
    if not has_fit_parameter(last, "sample_weight"):
        raise InvalidInputError(
            f"{caller} needs a classifier whose fit takes sample_weight: its rows do not count "
            f"alike. Got {brief(classifier)}. Pass a logistic regression, a forest or boosting."
        )
    name = "sample_weight" if step is None else f"{step}__sample_weight"
    return model.fit(chosen, target, **{name: weights})


def class_weights(target: NDArray[np.int_], ratio: float) -> FloatArray:
    """Weigh rows so that those of class 1 together count ``ratio`` times as much as the others.

    The weights are 1 on average, so that a penalty of the classifier means the same for any ratio.
    """
    n, n_first = len(target), int(target.sum())
    on_first = n * ratio / (1 + ratio) / n_first
    return np.where(target == 1, on_first, n / (1 + ratio) / (n - n_first))


def logits(model: Any, X: Any) -> FloatArray:
    """Return the logarithm of the odds of class 1."""
    chances = np.asarray(model.predict_proba(X), float)
    # Taken from both columns: 1 - p has lost what p near 1 leaves.
    logs = np.log(np.maximum(chances, np.finfo(float).tiny))
    odds: FloatArray = logs[:, 1] - logs[:, 0]
    return odds


def margins(model: Any, X: Any) -> FloatArray:
    """Return scores above zero where class 1 is the likelier: logits, or a decision function."""
    if hasattr(model, "predict_proba"):
        return logits(model, X)
    return np.asarray(model.decision_function(X), float)
