"""What the learners share."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, Literal, Self, TypeAlias, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from recoup._core.checks import (
    FloatArray,
    Scheme,
    check_same_length,
    check_unmasked,
)
from recoup._core.constraints import (
    RANDOM_STATE,
    Checked,
    Constraints,
    Number,
    Words,
    check_parameters,
)
from recoup._core.random import as_generator
from recoup.exceptions import InvalidInputError, LearnerWarning
from recoup.learners.cut import RULES, HonestScores, crossfitted, f1_cut, share_cut
from recoup.learners.given_alpha import check_learned_alpha, known_alpha
from recoup.learners.given_rows import (
    checked_labels,
    labels_by_name,
    relative_weights,
    warn_of_plain_alpha,
    warn_of_unused,
)
from recoup.learners.health import Health, diagnosed
from recoup.metrics.area import aul
from recoup.priors.results import PriorEstimate

Presets: TypeAlias = Mapping[str, Mapping[str, Any]]
Probabilities = Literal["own", "calibrated"]
Guard = Literal["retry", "warn", "off"]
Method = TypeVar("Method", bound=Callable[..., Any])


def _with_chances(method: Method) -> Method:
    """Offer a method where the learner has probabilities."""

    def offered(self: PULearner) -> bool:
        return self._calibrates() or self._gives_chances()

    with_chances: Method = available_if(offered)(method)
    return with_chances


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
    takes_weight : bool, default=False
        Whether ``fit`` takes a ``sample_weight`` that differs between rows. Others refuse it.
    uses_negatives : bool, default=False
        Whether ``fit`` learns from known negatives. Others leave them out, with a warning.
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
    takes_weight: bool = False
    uses_negatives: bool = False
    requires_true_labels: bool = False
    effort: float = 0.1


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
    cut_ : float
        What is subtracted from the scores of the method itself, to make zero the border.
    calibration_ : ndarray of shape (2, n_knots) or None
        Scores, and the probabilities there; None where they are those of the method itself.
    health_ : Health or None
        What the guard has found; None where it is off.
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
        "threshold": Words(*RULES) | Number(),
        "probabilities": Words(*get_args(Probabilities)),
        "guard": Words(*get_args(Guard)),
        "random_state": RANDOM_STATE,
    }
    # Settings that belong together, by name, for learners.make(key, preset=name).
    presets: ClassVar[Presets] = {}
    # A learner whose constructor does not have these goes by its own cut.
    threshold: str | float = "own"
    probabilities: Probabilities = "own"
    guard: Guard = "retry"
    random_state: Any
    alpha_: float | None
    prior_: PriorEstimate | None
    cut_: float
    calibration_: FloatArray | None
    health_: Health | None

    def fit(
        self,
        X: Any,
        s: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        y: ArrayLike | None = None,
    ) -> Self:
        """Learn from labeled and unlabeled rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            Numbers, without gaps.
        s : array-like of shape (n,), optional
            1 labeled positive, 0 unlabeled, -1 known negative. Learners without a use for known
            negatives (``tags.uses_negatives``) leave them out, with a warning.
        sample_weight : array-like of shape (n,), optional
            How much each row counts, zero or more: a row that counts 2 is like two rows, one that
            counts 0 is left out. What a row counts is taken relative to the median of those above
            zero, so that equal weights change nothing.
        y : array-like of shape (n,), optional
            Another name for s, by which tools of scikit-learn pass it. No true classes.

        Returns
        -------
        PULearner
            Itself.
        """
        return self._fit_rows(X, labels_by_name(s, y, self), sample_weight=sample_weight)

    def _fit_rows(
        self, X: Any, s: Any, *, sample_weight: Any = None, **per_row: NDArray[Any] | None
    ) -> Self:
        """Check the rows, settle alpha, and hand all to ``_fit``, with what else rows carry.

        Rows that count nothing are left out here, as are known negatives that have no use.
        """
        caller = f"{type(self).__name__}.fit"
        self._require_packages()
        self._check_settings(caller)
        labels = checked_labels(s, caller)
        X = self._checked_rows(X, reset=True)
        check_same_length(np.empty(_num_samples(X)), labels, "X and s", caller)
        if sample_weight is not None:
            per_row["sample_weight"] = relative_weights(
                sample_weight, labels, caller, may_differ=self.tags.takes_weight
            )
        for name, values in per_row.items():
            if values is not None:
                check_same_length(values, labels, f"{name} and s", caller)
        weights = per_row.get("sample_weight")
        used = np.ones(len(labels), bool) if weights is None else weights > 0
        if not self.tags.uses_negatives:
            warn_of_unused(int(np.sum(used & (labels < 0))), caller)
            used &= labels >= 0
        if not used.all():
            X, labels = _safe_indexing(X, np.flatnonzero(used)), labels[used]
            per_row = {
                name: None if values is None else values[used] for name, values in per_row.items()
            }
            weights = per_row.get("sample_weight")
        if weights is None or np.all(weights == 1):
            per_row.pop("sample_weight", None)
        rng = as_generator(self.random_state, caller)
        # Drawn in any case, so that the rest of a fit is the same for any way to know alpha.
        prior_seed = int(rng.integers(2**31))
        self.alpha_, self.prior_ = self._known_alpha(X, labels, prior_seed, caller)
        if self.prior_ is not None and isinstance(getattr(self, "alpha", None), str):
            warn_of_plain_alpha(per_row.get("sample_weight"), caller)
        self.classes_ = np.array([0, 1])
        self._fit(X, labels, rng, **per_row)
        self._settle(X, labels, rng, per_row, caller)
        return self

    def _settle(
        self,
        X: Any,
        s: NDArray[np.int_],
        rng: np.random.Generator,
        per_row: Mapping[str, NDArray[Any] | None],
        caller: str,
    ) -> None:
        """Set the cut and the probabilities that the parameters ask for, and look what came out."""
        offered = self._set_cut(X, s, rng, per_row, caller)
        self.health_ = None
        if self.guard == "off":
            return
        health = self._examined(X, s, offered)
        if self.guard == "retry" and not health.ok:
            health = self._mended(X, s, rng, per_row, health)
        self.health_ = health = replace(health, remarks=self._remarks())
        if health.code != "ok":
            warnings.warn(LearnerWarning(health.warning(caller), health.code), stacklevel=4)

    def _set_cut(
        self,
        X: Any,
        s: NDArray[np.int_],
        rng: np.random.Generator,
        per_row: Mapping[str, NDArray[Any] | None],
        caller: str,
    ) -> HonestScores | None:
        """Set ``cut_`` and ``calibration_``; return scores of unseen rows if it took such."""
        rule, calibrates = self.threshold, self._calibrates()
        self.cut_, self.calibration_ = 0.0, None
        if not isinstance(rule, str):
            self.cut_, rule = float(rule), "own"
        if rule == "own" and not calibrates:
            return self._own_honest_scores(s)
        if self.alpha_ is None:
            given = "probabilities='calibrated'" if calibrates else f"threshold={rule!r}"
            raise InvalidInputError(
                f"{caller} needs alpha, the share of positives among the unlabeled rows, for "
                f"{given}. Got a learner that does not know it. Pass alpha where it has such a "
                f"parameter, or a number as threshold."
            )
        scheme = self._counted_scheme
        honest = self._own_honest_scores(s)
        if honest is None or ((calibrates or rule == "f1") and not honest.has_both):
            honest = self._honest_scores(X, s, rng, per_row)
        if calibrates:
            from recoup.learners.calibration import pu_knots

            self.calibration_ = pu_knots(honest, self.alpha_, scheme)
        if rule != "own":
            find = share_cut if rule == "alpha" else f1_cut
            self.cut_ = find(honest, self.alpha_, scheme)
        return honest

    def _remarks(self) -> tuple[str, ...]:
        """Return what users should know of a fit that need not have failed."""
        return ()

    def _own_honest_scores(self, s: NDArray[np.int_]) -> HonestScores | None:
        """Return scores of unseen rows that the fit has left behind, if it has.

        They are values of ``_decide``. Unlabeled rows alone will do.
        """
        return None

    def _honest_scores(
        self,
        X: Any,
        s: NDArray[np.int_],
        rng: np.random.Generator,
        per_row: Mapping[str, NDArray[Any] | None],
    ) -> HonestScores:
        """Score training rows, or some of them, as if they were new."""
        return crossfitted(self, X, s, rng, per_row)

    def _examined(self, X: Any, s: NDArray[np.int_], offered: HonestScores | None) -> Health:
        """Say whether the fit has failed."""
        everything = HonestScores(s, self._decide(X) - self.cut_, "training")
        if offered is None:
            return diagnosed(everything, everything, self.alpha_)
        honest = HonestScores(offered.s, offered.scores - self.cut_, offered.source)
        return diagnosed(honest, honest if honest.has_both else everything, self.alpha_)

    def _mended(
        self,
        X: Any,
        s: NDArray[np.int_],
        rng: np.random.Generator,
        per_row: Mapping[str, NDArray[Any] | None],
        health: Health,
    ) -> Health:
        """Try to fit again, if that can help, and return what came of it."""
        return health

    @property
    def _counted_scheme(self) -> Scheme:
        """Say which rows are the population; without a word on it, the unlabeled ones."""
        scheme: Scheme = getattr(self, "scheme", "case-control")
        return scheme

    def _twin(self, seed: int) -> PULearner:
        """Return an unfitted copy that gives plain scores, with alpha as it is known by now."""
        twin: PULearner = clone(self)
        wanted: dict[str, Any] = {"threshold": "own", "guard": "off", "random_state": seed}
        if self.alpha_ is not None:
            wanted["alpha"] = self.alpha_
        known = twin.get_params(deep=False)
        twin.set_params(**{name: value for name, value in wanted.items() if name in known})
        if not self._calibrates_inside and "probabilities" in known:
            twin.set_params(probabilities="own")
        return twin

    # Whether calibrated probabilities are a matter of ``_fit``.
    _calibrates_inside: ClassVar[bool] = False

    def _calibrates(self) -> bool:
        return self.probabilities == "calibrated" and not self._calibrates_inside

    def _gives_chances(self) -> bool:
        """Whether the learner has probabilities of its own."""
        return type(self)._probabilities is not PULearner._probabilities

    def _probabilities(self, X: Any) -> FloatArray:
        """Return the learner's own probabilities of both classes, for checked rows."""
        raise NotImplementedError

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
        return self._decide(self._checked_rows(X, reset=False)) - getattr(self, "cut_", 0.0)

    @_with_chances
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the chances of each row to be negative and to be positive.

        They do not depend on ``threshold``. Those that are the learner's own are probabilities
        only as far as its loss makes them; ``probabilities="calibrated"`` fits them to the labels.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            The rows to score, with the features of the training rows.

        Returns
        -------
        ndarray of shape (n, 2)
            Negative and positive.
        """
        check_is_fitted(self)
        rows = self._checked_rows(X, reset=False)
        if getattr(self, "calibration_", None) is None:
            return self._probabilities(rows)
        from recoup.learners.calibration import probability

        assert self.calibration_ is not None
        chances = probability(self.calibration_, self._decide(rows))
        return np.column_stack([1 - chances, chances])

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

    def score(
        self,
        X: Any,
        s: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        y: ArrayLike | None = None,
    ) -> float:
        """Return the area under the lift curve (AUL), for which no prior is needed.

        Accuracy against s, the usual score of a classifier, would prefer the model that finds no
        hidden positive.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            Rows that were not trained on, with the features of the training rows.
        s : array-like of shape (n,), optional
            1 labeled positive, 0 unlabeled, -1 known negative.
        sample_weight : array-like of shape (n,), optional
            How much each row counts. By default all count alike.
        y : array-like of shape (n,), optional
            Another name for s.

        Returns
        -------
        float
            From 0 to 1; 1/2 for scores that say nothing.
        """
        s = labels_by_name(s, y, self, "score")
        return aul(s, self.decision_function(X), sample_weight=sample_weight)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that there are two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    @abstractmethod
    def _fit(self, X: Any, s: NDArray[np.int_], rng: np.random.Generator) -> None:
        """Learn from checked rows, with 1 for labeled and 0 for unlabeled ones.

        A learner with ``takes_weight`` among its tags gets ``sample_weight`` by name where rows
        do not count alike, all above zero; one with ``uses_negatives`` gets -1 for known
        negatives; one whose own ``fit`` hands ``_fit_rows`` more values per row gets these.
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
        """Refuse what was read from a file if scoring would go astray by it."""
        found = vars(self)
        cut = found.get("cut_", 0.0)
        sound = isinstance(cut, Real) and math.isfinite(cut)
        for name in ("calibration_", "label_knots_"):
            sound = sound and (found.get(name) is None or _are_knots(found[name]))
        if not sound:
            raise InvalidInputError(
                f"{caller} finds a cut or a calibration that cannot be: the file is damaged or "
                f"made up. Fit and save the learner again."
            )

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
        if isinstance(alpha, str) and (s < 0).any():
            X, s = _safe_indexing(X, np.flatnonzero(s >= 0)), s[s >= 0]
        return known_alpha(alpha, X, s, seed, caller)


def _are_knots(value: Any) -> bool:
    """Whether something gives numbers at rising scores."""
    return (
        isinstance(value, np.ndarray)
        and value.dtype.kind == "f"
        and value.ndim == 2
        and len(value) == 2
        and value.shape[1] > 0
        and bool(np.isfinite(value).all() and (np.diff(value) >= 0).all())
    )
