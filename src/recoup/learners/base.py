"""What the learners share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import _safe_indexing, check_array, column_or_1d
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from recoup._core.alpha import Draws, Interval
from recoup._core.checks import (
    FloatArray,
    Scheme,
    brief,
    check_alpha_beta,
    check_same_length,
    check_unmasked,
    label_masks,
)
from recoup._core.constraints import RANDOM_STATE, Checked, Constraints, check_parameters
from recoup._core.prior import Prior, estimation_method
from recoup._core.random import as_generator
from recoup.exceptions import InvalidInputError
from recoup.metrics.area import aul
from recoup.priors.results import PriorEstimate

Presets: TypeAlias = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class LearnerTags:
    """What users choose a learner by.

    Parameters
    ----------
    key : str
        Its name in ``learners.make(...)``, plans and tables.
    family : str
        The idea it shares with others, such as ``"ranking"`` or ``"risk"``.
    cost : str
        How time grows with the number n of rows.
    source : str
        Where it was published.
    needs_alpha : bool, default=False
        Whether it cannot be fitted without the share of positives among the unlabeled rows.
    estimates_alpha : bool, default=False
        Whether it finds that share itself on the way.
    prior_free : bool, default=False
        Whether it was published as one that is not told that share: benchmarks do not tell it.
    schemes : tuple of str, default=("single-sample", "case-control")
        The designs that its theory covers.
    selection : {"SCAR", "SAR"}, default="SCAR"
        Whether labels must be a random sample of the positives.
    backend : {"numpy", "torch"}, default="numpy"
        What computes it.
    requires_true_labels : bool, default=False
        Whether ``fit`` needs ``y_true``: a reference for simulations, never ranked with the others.
    effort : float, default=0.1
        How long a fit takes, roughly, if one of ``pn`` takes 1. Benchmarks start long fits first,
        and guess times from it.
    """

    key: str
    family: str
    cost: str
    source: str
    needs_alpha: bool = False
    estimates_alpha: bool = False
    prior_free: bool = False
    schemes: tuple[Scheme, ...] = ("single-sample", "case-control")
    selection: Literal["SCAR", "SAR"] = "SCAR"
    backend: Literal["numpy", "torch"] = "numpy"
    requires_true_labels: bool = False
    effort: float = 0.1


def check_learned_alpha(alpha: Any, caller: str) -> None:
    """Refuse what a learner could not take alpha from; None is left to those that need none."""
    if alpha is None:
        return
    if isinstance(alpha, str):
        estimation_method(alpha, 1.0, caller)
    elif isinstance(alpha, PriorEstimate):
        if alpha.beta < 1:
            raise InvalidInputError(
                f"{caller} takes every label as right. Got a prior estimate with "
                f"beta={alpha.beta:.3g}. Estimate alpha with beta=1.0, or pass it as a number."
            )
        check_alpha_beta(alpha.alpha, 1.0, caller)
    elif isinstance(alpha, Interval | Draws):
        if Prior.of(alpha, 1.0, caller).beta < 1:
            raise InvalidInputError(
                f"{caller} takes every label as right. Got {alpha!r}. Pass draws of alpha alone."
            )
    elif isinstance(alpha, Real) and not isinstance(alpha, bool):
        check_alpha_beta(alpha, 1.0, caller)
    else:
        raise _unusable_alpha(alpha, caller)


def _unusable_alpha(alpha: Any, caller: str) -> InvalidInputError:
    return InvalidInputError(
        f"{caller} needs alpha, the share of positives among the unlabeled rows, as a number, an "
        f"Interval, Draws or a prior estimate. Got {brief(alpha)}. Pass 'estimate' to have it "
        f"estimated."
    )


class PULearner(ClassifierMixin, BaseEstimator):
    """Base of the learners that have tags: they see features and s, and never a true class.

    To add a learner, write a subclass with ``tags``, a constructor that stores its parameters
    without changing them (``random_state`` the last of them, ``alpha`` one of them if it needs
    one), and two methods: ``_fit``, which may read ``alpha_``, and ``_decide``.

    Attributes
    ----------
    alpha_ : float or None
        Share of positives among the unlabeled rows, as given or estimated; None without either.
    prior_ : PriorEstimate or None
        The estimate that ``alpha_`` comes from; None where it was a number.
    classes_ : ndarray of shape (2,)
        The classes, always 0 and 1.
    n_features_in_ : int
        Number of features of the training rows.
    feature_names_in_ : ndarray of str
        Names of the features; missing where X has no column names.
    """

    tags: ClassVar[LearnerTags]
    # What each parameter may be; those of a subclass come on top.
    constraints: ClassVar[Constraints] = {
        "alpha": Checked(check_learned_alpha),
        "random_state": RANDOM_STATE,
    }
    # Settings that belong together, by name, for learners.make(key, preset=name).
    presets: ClassVar[Presets] = {}
    random_state: Any
    alpha_: float | None
    prior_: PriorEstimate | None

    def fit(self, X: Any, s: ArrayLike) -> Self:
        """Learn from labeled and unlabeled rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            Numbers, without gaps.
        s : array-like of shape (n,)
            1 labeled positive, 0 unlabeled. Known negatives (-1) are left out.

        Returns
        -------
        PULearner
            Itself.
        """
        return self._fit_rows(X, s)

    def _fit_rows(self, X: Any, s: Any, **per_row: NDArray[Any] | None) -> Self:
        """Check the rows, settle alpha, and hand all to ``_fit``, with what else rows carry."""
        caller = f"{type(self).__name__}.fit"
        self._require_packages()
        self._check_settings(caller)
        labels = checked_labels(s, caller)
        X = self._checked_rows(X, reset=True)
        check_same_length(np.empty(_num_samples(X)), labels, "X and s", caller)
        for name, values in per_row.items():
            if values is not None:
                check_same_length(values, labels, f"{name} and s", caller)
        used = labels >= 0
        if not used.all():
            X, labels = _safe_indexing(X, np.flatnonzero(used)), labels[used]
            per_row = {
                name: None if values is None else values[used] for name, values in per_row.items()
            }
        rng = as_generator(self.random_state, caller)
        # Drawn in any case, so that the rest of a fit is the same for any way to know alpha.
        prior_seed = int(rng.integers(2**31))
        self.alpha_, self.prior_ = self._known_alpha(X, labels, prior_seed, caller)
        self.classes_ = np.array([0, 1])
        self._fit(X, labels, rng, **per_row)
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Return a score for each row, the higher the more likely positive.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            The rows to score, with the features of the training rows.

        Returns
        -------
        ndarray of shape (n,)
            Above zero where a row is taken for positive.
        """
        check_is_fitted(self)
        return self._decide(self._checked_rows(X, reset=False))

    def predict(self, X: Any) -> NDArray[np.int_]:
        """Predict 1 where the decision function is above zero, 0 elsewhere.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            The rows to classify, with the features of the training rows.

        Returns
        -------
        ndarray of shape (n,)
            1 positive, 0 negative.
        """
        return (self.decision_function(X) > 0).astype(int)

    def score(self, X: Any, s: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the area under the lift curve (AUL), for which no prior is needed.

        Accuracy against s, the usual score of a classifier, would prefer the model that finds no
        hidden positive.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            Rows that were not trained on, with the features of the training rows.
        s : array-like of shape (n,)
            1 labeled positive, 0 unlabeled, -1 known negative.
        sample_weight : array-like of shape (n,), optional
            How much each row counts. By default all count alike.

        Returns
        -------
        float
            From 0 to 1; 1/2 for scores that say nothing.
        """
        return aul(s, self.decision_function(X), sample_weight=sample_weight)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that there are two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    @abstractmethod
    def _fit(self, X: Any, s: NDArray[np.int_], rng: np.random.Generator) -> None:
        """Learn from checked rows, with 1 for labeled and 0 for unlabeled ones.

        A learner whose own ``fit`` hands ``_fit_rows`` more values per row gets them by name.
        """

    @abstractmethod
    def _decide(self, X: Any) -> FloatArray:
        """Score checked rows; above zero means positive, where that is known."""

    def _require_packages(self) -> None:
        """Say which package is missing, before any row is read."""

    def _check_settings(self, caller: str) -> None:
        """Refuse parameters that can never work, before any row is read.

        A subclass adds what its parameters must be together.
        """
        check_parameters(self, caller)

    def _check_restored(self, caller: str) -> None:
        """Refuse what was read from a file if compiled code would follow it astray."""

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        """Check features, and remember (``reset``) or compare their number and names."""
        self._check_unmasked(X, reset)
        return validate_data(self, X, dtype=np.float64, reset=reset)

    def _check_unmasked(self, X: Any, reset: bool) -> None:
        check_unmasked(X, "X", f"{type(self).__name__}.{'fit' if reset else 'predict'}")

    def _known_alpha(
        self, X: Any, s: NDArray[np.int_], seed: int, caller: str
    ) -> tuple[float | None, PriorEstimate | None]:
        alpha = getattr(self, "alpha", None)
        if alpha is None and not self.tags.needs_alpha:
            return None, None
        return known_alpha(alpha, X, s, seed, caller)


def known_alpha(
    alpha: Any, X: Any, s: NDArray[np.int_], seed: int, caller: str
) -> tuple[float, PriorEstimate | None]:
    """Return alpha as a number, and the estimate that it comes from, if it does.

    A word has it estimated, from scores of the training rows by models that have not seen them.
    """
    found = alpha
    check_learned_alpha(alpha, caller)
    if isinstance(alpha, str):
        from recoup.priors import estimate

        method = estimation_method(alpha, 1.0, caller)
        try:
            found = estimate(s, X=X, method=str(method), random_state=seed, beta=1.0)
        except InvalidInputError as error:
            raise InvalidInputError(
                f"{caller} cannot estimate alpha: {error} Or pass alpha as a number."
            ) from error
    if isinstance(found, PriorEstimate):
        check_learned_alpha(found, caller)
        return found.alpha, found
    if alpha is None:
        raise _unusable_alpha(alpha, caller)
    return Prior.of(alpha, 1.0, caller).alpha, None


def checked_labels(s: Any, caller: str) -> NDArray[Any]:
    """Check s, in the words by which scikit-learn knows a classifier that fails gracefully."""
    if s is None:
        raise InvalidInputError(
            f"{caller} requires y to be passed, but the target y is None. Pass s, with 1 for "
            f"labeled and 0 for unlabeled rows."
        )
    s = column_or_1d(check_array(s, ensure_2d=False, dtype=None, input_name="s"), warn=True)
    try:
        labeled, unlabeled, _ = label_masks(s, caller)
    except InvalidInputError as error:
        kind = type_of_target(s)
        if kind == "binary":
            raise
        raise InvalidInputError(
            f"{error} Only binary classification is supported. The type of the target is {kind}."
        ) from error
    if not (labeled.any() and unlabeled.any()):
        raise InvalidInputError(
            f"{caller} needs labeled and unlabeled rows: nothing can be learned from one class. "
            f"Got {labeled.sum():,} labeled and {unlabeled.sum():,} unlabeled rows."
        )
    return np.select([labeled, unlabeled], [1, 0], -1)


def estimated_prior(
    s: ArrayLike, scores: ArrayLike, method: Any, beta: Any, random_state: Any, caller: str
) -> PriorEstimate:
    """Estimate alpha, and beta if asked to, from scores of rows that no model was fitted on.

    ``method`` is the key of an estimator, ``"auto"``, or an estimator.
    """
    from recoup.priors import estimate

    try:
        if hasattr(method, "fit_scores"):
            found: PriorEstimate = clone(method).fit_scores(s, scores).estimate_
        else:
            seed = int(as_generator(random_state, caller).integers(2**31))
            found = estimate(s, scores, method=method, random_state=seed, beta=beta)
    except InvalidInputError as error:
        raise InvalidInputError(f"{caller} cannot estimate alpha: {error}") from error
    return found
