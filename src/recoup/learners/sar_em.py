"""SAREM: a classifier learned together with the chances of positives to get a label."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup._core.constraints import Classifier, Constraints, Nothing, Number, WholeNumber
from recoup.exceptions import RecoupWarning
from recoup.learners._training.row_weights import counted, some_weights
from recoup.learners.base import Guard, LearnerTags, Probabilities, PULearner
from recoup.priors.conversions import alpha_from_pooled
from recoup.priors.sar_em import PROPENSITY_FEATURES, fit_both, propensity_columns


class SAREM(PULearner):
    r"""Classifier and propensity that make the labels most likely, by expectation maximisation.

    A row is labeled with probability :math:`h(x) e(x)`, with :math:`h(x) = P(y=1 \mid x)` and
    the propensity :math:`e(x) = P(s=1 \mid y=1, x)`. The iteration is that of
    :class:`recoup.priors.SAREMPrior`; here h is kept for new rows.

    Parameters
    ----------
    propensity_features : sequence of int or None, default=None
        Columns of X that decide which positives get a label. None takes all; h and e are then
        interchangeable in the likelihood, and what tells them apart is only the start of the
        iteration. Name them if you know them.
    classifier : classifier or None, default=None
        What learns h: any with ``sample_weight`` in ``fit`` and ``predict_proba``. None takes
        logistic regression on standardized features.
    propensity_model : classifier or None, default=None
        What learns e, under the same conditions. None takes logistic regression on standardized
        features.
    max_iter : int, default=500
        Iterations at most. A warning says where they were too few.
    tol : float, default=1e-4
        When to stop, as in :class:`recoup.priors.SAREMPrior`. Smaller values take longer.
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
        Seed of all that is random. It seeds classifiers that have no seed of their own.

    Attributes
    ----------
    posterior_model_ : fitted model
        What h was learned with: the classifier, on the rows as it needs them.
    propensity_ : ndarray of shape (n,)
        The e(x) of the training rows.
    alpha_ : float
        Share of positives among the unlabeled rows that follows from h.
    prior_ : None
        No other estimate is made.
    n_iter_ : int
        Iterations until the end.
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

    Warns
    -----
    RecoupWarning
        If ``max_iter`` ended the iteration.

    References
    ----------
    Bekker, Robberechts and Davis, "Beyond the selected completely at random assumption for
    learning from positive and unlabeled data", ECML PKDD 2019, Section 4.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = rng.random(2000) < 1 / (1 + np.exp(-4 * X[:, 0]))
    >>> s = (y & (rng.random(2000) < 1 / (1 + np.exp(1 - X[:, 1])))).astype(int)
    >>> model = SAREM(propensity_features=[1]).fit(X, s)
    >>> round(float(np.mean(model.predict(X) == y)), 1)
    0.9
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="sar-em",
        family="classical",
        cost="n per iteration",
        source="Bekker et al. 2019",
        estimates_alpha=True,
        schemes=("single-sample",),
        selection="SAR",
        takes_weight=True,
        uses_negatives=True,
    )
    constraints: ClassVar[Constraints] = {
        "propensity_features": PROPENSITY_FEATURES,
        "classifier": Classifier() | Nothing(),
        "propensity_model": Classifier() | Nothing(),
        "max_iter": WholeNumber(),
        "tol": Number(above=0),
    }

    def __init__(
        self,
        propensity_features: Sequence[int] | None = None,
        *,
        classifier: Any = None,
        propensity_model: Any = None,
        max_iter: int = 500,
        tol: float = 1e-4,
        threshold: str | float = "own",
        probabilities: Probabilities = "own",
        guard: Guard = "retry",
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> None:
        self.propensity_features = propensity_features
        self.classifier = classifier
        self.propensity_model = propensity_model
        self.max_iter = max_iter
        self.tol = tol
        self.threshold = threshold
        self.probabilities = probabilities
        self.guard = guard
        self.random_state = random_state

    def _probabilities(self, X: FloatArray) -> FloatArray:
        from scipy.special import expit

        decisions = self._decide(X)
        return np.column_stack([expit(-decisions), expit(decisions)])

    def _fit(
        self,
        X: FloatArray,
        s: NDArray[np.int_],
        rng: np.random.Generator,
        sample_weight: FloatArray | None = None,
    ) -> None:
        chosen = propensity_columns(X, self.propensity_features, "SAREM.fit")
        found = fit_both(
            X,
            chosen,
            s,
            classifier=self.classifier,
            propensity_model=self.propensity_model,
            max_iter=self.max_iter,
            tol=self.tol,
            rng=rng,
            weights=sample_weight,
        )
        if not found.converged:
            warnings.warn(f"SAREM: {found.doubt}", RecoupWarning, stacklevel=4)
        found.posterior_model.forget_rows()
        self.posterior_model_ = found.posterior_model
        self.propensity_, self.n_iter_ = found.propensity, len(found.trace) - 1
        sample, counts = s >= 0, counted(s, sample_weight)
        pooled = np.average(found.posterior[sample], weights=some_weights(sample_weight, sample))
        alpha = alpha_from_pooled(pooled, counts.labeled, counts.unlabeled)
        self.alpha_ = float(np.clip(alpha, 0.0, 1.0))

    def _decide(self, X: FloatArray) -> FloatArray:
        chances = self.posterior_model_.probabilities(X)
        decisions: FloatArray = np.log(chances) - np.log1p(-chances)
        return decisions
