"""What classifiers that wrap one of the user's have in common."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from recoup._core.checks import FloatArray, brief
from recoup._core.constraints import SCHEME, Classifier, Constraints
from recoup.exceptions import InvalidInputError
from recoup.learners._training.row_weights import counted
from recoup.learners.base import PULearner
from recoup.learners.calibration import label_knots, label_logits
from recoup.learners.cut import HonestScores, few_or_more_folds
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


def classifier_may_come_first(init: Method) -> Method:
    """Let a constructor take a classifier by place, though another parameter comes first."""

    @wraps(init)
    def taking(self: Any, *given: Any, **named: Any) -> None:
        first = given[0] if len(given) == 1 else None
        if hasattr(first, "fit") or (isinstance(first, str) and first in CLASSIFIERS):
            if "classifier" in named:
                raise TypeError(f"{type(self).__name__} got two classifiers: by place and by name.")
            init(self, **named, classifier=first)
        else:
            init(self, *given, **named)

    return cast(Method, taking)


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

    def _probabilities(self, X: Any) -> FloatArray:
        chances = self._chances(X)
        return np.column_stack([1 - chances, chances])

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


class RescalingLearner(ClassifierLearner):
    """Base of learners that turn a classifier's chances to be labeled into those to be positive.

    That needs chances that hold. Few classifiers give such, boosting the least, so they are mended
    by isotonic regression of the labels on logits of models that were fitted on other rows, unless
    ``probabilities="own"`` takes them as they are, as published.
    """

    classifier_: Any
    label_knots_: FloatArray | None
    _unseen_odds: FloatArray | None
    _calibrates_inside: ClassVar[bool] = True

    def _fit_odds(
        self,
        fit: Callable[[NDArray[np.intp]], Any],
        X: Any,
        s: NDArray[np.int_],
        rng: np.random.Generator,
        *,
        among: NDArray[np.intp],
        expanded: tuple[NDArray[np.intp], NDArray[np.int_], FloatArray] | None = None,
    ) -> None:
        """Fit the classifier to rows at some places, and what mends its logits.

        Parameters
        ----------
        fit : callable
            Takes places of rows, returns a classifier that is fitted to these.
        X : array-like
            All rows.
        s : ndarray of shape (n,)
            1 labeled, 0 unlabeled, -1 known negative.
        rng : Generator
            Deals rows to folds.
        among : ndarray of int
            The places to fit to.
        expanded : tuple of ndarray, optional
            What the logits are about, where that is not s: places, targets and weights.
        """
        self.classifier_ = fit(among)
        self.label_knots_, self._unseen_odds = None, None
        if not self._mends():
            return
        splits = few_or_more_folds(_safe_indexing(X, among), s[among], rng)
        if not splits:
            return
        odds = np.full(len(s), np.nan)
        for train, test in splits:
            model = fit(among[train])
            odds[among[test]] = logits(model, _safe_indexing(X, among[test]))
        if expanded is None:
            self.label_knots_ = label_knots(odds[among], (s[among] == 1).astype(int))
        else:
            places, target, weights = expanded
            self.label_knots_ = label_knots(odds[places], target, weights)
        self._unseen_odds = odds

    def _mends(self) -> bool:
        return self.probabilities == "calibrated" and self._gives_chances()

    def _odds(self, X: Any) -> FloatArray:
        """Return logits of the class that the classifier was fitted to find."""
        return self._mended_odds(logits(self.classifier_, X))

    def _mended_odds(self, odds: FloatArray) -> FloatArray:
        if getattr(self, "label_knots_", None) is None:
            return odds
        assert self.label_knots_ is not None
        return label_logits(self.label_knots_, odds)

    def _decided(self, odds: FloatArray) -> FloatArray:
        """Return decisions from logits."""
        raise NotImplementedError

    def _own_honest_scores(self, s: NDArray[np.int_]) -> HonestScores | None:
        odds = self._unseen_odds
        del self._unseen_odds
        if odds is None:
            return None
        known = np.isfinite(odds)
        return HonestScores(s[known], self._decided(self._mended_odds(odds[known])), "cross-fitted")


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
    """Fit a clone to some rows, which may be named twice, with weights if there are any.

    ``target`` and ``weights`` are of the rows that are named, in their order.
    """
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


def class_weights(
    target: NDArray[np.int_], ratio: float, weights: FloatArray | None = None
) -> FloatArray:
    """Weigh rows so that those of class 1 together count ``ratio`` times as much as the others.

    The weights are 1 on average, so that a penalty of the classifier means the same for any ratio;
    or those of the rows on average, which within a class keep their ratios.
    """
    n_first, n_others, _ = counted(target, weights)
    n = n_first + n_others
    on_first = n * ratio / (1 + ratio) / n_first
    found = np.where(target == 1, on_first, n / (1 + ratio) / (n - n_first))
    return found if weights is None else found * weights


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
