"""PropensityWeighted: labeled rows stand for the positives like them that got no label."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.utils import _safe_indexing

from recoup._core.checks import FloatArray, as_numbers, brief
from recoup._core.constraints import Constraints, Function, Instance, Nothing, Number, WholeNumber
from recoup.exceptions import InvalidInputError
from recoup.learners._training.row_weights import counted
from recoup.learners.around_classifiers import (
    ClassifierLearner,
    classifier_may_come_first,
    fitted_clone,
    logits,
)
from recoup.learners.base import Guard, LearnerTags, Probabilities
from recoup.learners.given_rows import labels_by_name
from recoup.priors.conversions import label_frequency


class PropensityWeighted(ClassifierLearner):
    r"""Weigh labeled rows by one over their chance to get a label.

    Where the propensity :math:`e(x) = P(s=1 \mid y=1, x)` is known, a labeled row stands for
    1/e positives, of which all but itself sit among the unlabeled rows and count there as
    negatives; so it counts 1/e times as positive, and 1 - 1/e times as negative, which is below
    zero:

    .. math:: R = \frac{1}{n} \Big[ \sum_{L} \frac{1}{e} \ell(f)
              + \Big(1 - \frac{1}{e}\Big) \ell(-f) + \sum_{U} \ell(-f) \Big]

    Its expectation is the risk with all classes known.

    Parameters
    ----------
    propensity : int, str, callable, float or None, default=None
        Where e comes from, if not from ``fit(..., propensity=...)``: the place or name of a column
        of X, which the classifier then does not see; what turns X into one value per row; or a
        number above 0, below 1, the same for all rows. None looks at ``alpha``.
    alpha : float, PriorEstimate, str or None, default=None
        Share of positives among the unlabeled rows: a number, a result of :mod:`recoup.priors`, or
        a word that has it estimated before training, ``"estimate"`` or the key of an estimator such
        as ``"bbe"``. It gives the one e that all positives share if labels are a random sample of
        them, where no propensity is given.
    classifier : {"logistic", "auto", "boosting", "forest"} or classifier, default="logistic"
        A classifier as in scikit-learn, or the name of one. ``"auto"`` takes boosting where it
        tells the labels clearly better than logistic regression. It needs ``predict_proba`` and
        must take ``sample_weight``, also below zero. For logistic regression the risk stays convex,
        and boosting copes; forests refuse such weights, and liblinear and support vector machines
        answer them with nonsense.
    threshold : {"own", "alpha", "f1"} or float, default="own"
        Where a row counts as positive. ``"own"`` is the cut of the method itself; ``"alpha"`` calls
        as many rows of the population positive as alpha says; ``"f1"`` takes the best F1 as
        recovered with alpha; a number is a score of the method itself. ``"alpha"`` and ``"f1"`` are
        read off rows that the model has not seen: those that a network holds out, out-of-bag
        scores, or else those of five more fits. Where there are none, training rows have to do.
    probabilities : {"own", "calibrated"}, default="own"
        What ``predict_proba`` gives: probabilities of the method itself, which may be no more than
        a logistic function of the score, or those that a smooth rising curve of the labels over the
        scores gives, turned by alpha into chances to be positive. The scores are those of the same
        unseen rows.
    guard : {"retry", "warn", "off"}, default="retry"
        What happens if a fit has failed: it ranks the wrong way round, calls all rows or none
        positive, or is far worse than a simple classifier. ``"warn"`` gives a ``LearnerWarning``;
        ``"retry"`` has a network fitted again before, differently; ``"off"`` does not look.
    random_state : int, Generator, RandomState or None, default=None
        Seed of all that is random. Also seeds the classifier, unless it has a seed of its own.

    Attributes
    ----------
    classifier_ : classifier
        Fitted with the weights.
    propensity_ : ndarray of shape (n,)
        The e of the training rows.
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

    References
    ----------
    Bekker, Robberechts and Davis, "Beyond the selected completely at random assumption for
    learning from positive and unlabeled data", ECML PKDD 2019.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 2))
    >>> y = rng.random(3000) < 1 / (1 + np.exp(-4 * X[:, 0]))
    >>> e = 1 / (1 + np.exp(1 - X[:, 1]))
    >>> s = (y & (rng.random(3000) < e)).astype(int)
    >>> model = PropensityWeighted().fit(X, s, propensity=e)
    >>> round(float(np.mean(model.predict(X) == y)), 1)
    0.9
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="propensity-weighted",
        family="classical",
        cost="one fit",
        source="Bekker et al. 2019",
        schemes=("single-sample",),
        selection="SAR",
        takes_weight=True,
        uses_negatives=True,
    )
    constraints: ClassVar[Constraints] = {
        "propensity": Instance(str, "the name of a column of X")
        | WholeNumber(None)
        | Function("of X")
        | Number(above=0, below=1)
        | Nothing(hint="A whole number is the place of a column. Pass values per row to fit."),
    }

    @classifier_may_come_first
    def __init__(
        self,
        propensity: int | str | float | Callable[[Any], ArrayLike] | None = None,
        *,
        alpha: Any = None,
        classifier: Any = "logistic",
        threshold: str | float = "own",
        probabilities: Probabilities = "own",
        guard: Guard = "retry",
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> None:
        self.propensity = propensity
        self.alpha = alpha
        self.classifier = classifier
        self.threshold = threshold
        self.probabilities = probabilities
        self.guard = guard
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        s: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
        y: ArrayLike | None = None,
    ) -> Self:
        """Learn from labeled and unlabeled rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n, n_features)
            What the classifier takes.
        s : array-like of shape (n,), optional
            1 labeled positive, 0 unlabeled, -1 known negative.
        sample_weight : array-like of shape (n,), optional
            How much each row counts, as in the other learners.
        propensity : array-like of shape (n,), optional
            The e of each row; those of rows without a label may be missing. It goes before the
            constructor's parameter of the same name.
        y : array-like of shape (n,), optional
            Another name for s, by which tools of scikit-learn pass it.

        Returns
        -------
        PropensityWeighted
            Itself.
        """
        caller = "PropensityWeighted.fit"
        given = None if propensity is None else as_numbers(propensity, "propensity", caller)
        labels = labels_by_name(s, y, self)
        return self._fit_rows(X, labels, sample_weight=sample_weight, propensity=given)

    def _fit(
        self,
        X: Any,
        s: NDArray[np.int_],
        rng: np.random.Generator,
        propensity: FloatArray | None = None,
        sample_weight: FloatArray | None = None,
    ) -> None:
        labeled = np.flatnonzero(s == 1)
        self.propensity_ = self._known(X, s, propensity, sample_weight)
        inverse = 1 / self.propensity_[labeled]
        features = self._features(X)
        rows = np.concatenate([labeled, np.arange(len(s))])
        target = np.repeat([1, 0], [len(labeled), len(s)])
        weights = np.ones(len(rows))
        weights[: len(labeled)] = inverse
        weights[len(labeled) + labeled] = 1 - inverse
        if sample_weight is not None:
            weights = weights * sample_weight[rows]
        classifier = self._chosen(features, (s == 1).astype(int), rng)
        caller = "PropensityWeighted.fit"
        try:
            self.classifier_ = fitted_clone(
                classifier, features, target, rng, rows=rows, weights=weights, caller=caller
            )
        except InvalidInputError:
            raise
        except ValueError as error:
            if "negative" not in str(error).lower():
                raise
            reason = brief(str(error).splitlines()[0].rstrip("."), 200)
            raise InvalidInputError(
                f"{caller} needs a classifier that takes weights below zero: labeled rows are "
                f"taken out of the negatives by them. Got from {type(classifier).__name__}: "
                f"{reason}. Pass a logistic regression or boosting."
            ) from error

    def _decide(self, X: Any) -> FloatArray:
        return logits(self.classifier_, self._features(X))

    def _chances(self, X: Any) -> FloatArray:
        chances: FloatArray = expit(self._decide(X))
        return chances

    def _known(
        self,
        X: Any,
        s: NDArray[np.int_],
        given: FloatArray | None,
        weights: FloatArray | None,
    ) -> FloatArray:
        """Return e of all rows, from where it was given."""
        caller = "PropensityWeighted.fit"
        place = self._place()
        if given is not None:
            values = given
        elif place is not None:
            column = _safe_indexing(X, [place], axis=1)
            column = column.toarray() if hasattr(column, "tocsr") else column
            values = as_numbers(column, "propensity", caller)
        elif callable(self.propensity):
            values = as_numbers(self.propensity(X), "propensity", caller)
        elif self.propensity is not None:
            values = np.full(len(s), float(self.propensity))
        elif self.alpha_ is not None:
            counts = counted(s, weights)
            frequency = label_frequency(self.alpha_, counts.labeled, counts.unlabeled)
            values = np.full(len(s), float(frequency))
        else:
            raise InvalidInputError(
                f"{caller} needs the chance of each labeled row to get its label. Got neither "
                f"propensity nor alpha. Pass fit(X, s, propensity=...), or alpha where labels are "
                f"a random sample of the positives."
            )
        if len(values) != len(s):
            raise InvalidInputError(
                f"{caller} needs one propensity per row. Got {len(values):,} for {len(s):,} rows."
            )
        bad = ~((values > 0) & (values <= 1)) & (s == 1)
        if bad.any():
            raise InvalidInputError(
                f"{caller} needs propensities of labeled rows above 0 and up to 1: they got "
                f"their label by this chance. Got {values[bad][0]:g}. Pass P(s=1 | y=1, x)."
            )
        return values

    def _place(self) -> int | None:
        """Return which column holds e, if one does."""
        choice = self.propensity
        if isinstance(choice, str):
            names = getattr(self, "feature_names_in_", np.array([], object)).tolist()
            if choice not in names:
                raise InvalidInputError(
                    f"PropensityWeighted needs propensity to name a column of X. Got "
                    f"{brief(choice)!r}, which is none of its names. Pass a data frame that has it."
                )
            return int(names.index(choice))
        if not isinstance(choice, Integral):
            return None
        if not -self.n_features_in_ <= choice < self.n_features_in_:
            raise InvalidInputError(
                f"PropensityWeighted needs propensity to be the place of a column of X, which has "
                f"{self.n_features_in_}. Got {brief(choice)}. Pass values per row to fit."
            )
        return int(choice) % self.n_features_in_

    def _features(self, X: Any) -> Any:
        """Leave out the column that holds e, if one does."""
        place = self._place()
        if place is None:
            return X
        others = [number for number in range(self.n_features_in_) if number != place]
        return _safe_indexing(X, others, axis=1)
