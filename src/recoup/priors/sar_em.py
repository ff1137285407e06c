"""SAR-EM: classifier and propensity fitted together, for labels that favor some positives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray, brief
from recoup._core.constraints import Classifier, Constraints, Nothing, Number, Several, WholeNumber
from recoup._core.notes import Note
from recoup.exceptions import InvalidInputError
from recoup.priors.base import FeaturePriorEstimator, Finding, PriorTags
from recoup.priors.conversions import alpha_from_pooled
from recoup.priors.results import PriorCurve

# Probabilities are kept this far from 0 and 1, so that logarithms and odds stay finite.
EDGE = 1e-9
# Iterations over which the slope of the propensities is taken.
WINDOW = 10

PROPENSITY_FEATURES = Several(WholeNumber(None), why="they are numbers of columns of X") | Nothing()


@dataclass(kw_only=True, eq=False, repr=False)
class SAREMPrior(FeaturePriorEstimator):
    r"""Classifier and propensity that make the labels most likely, by expectation maximisation.

    With :math:`h(x) = P(y=1 \mid x)` and the propensity :math:`e(x) = P(s=1 \mid y=1, x)`, a row
    is labeled with probability :math:`h(x) e(x)`. In turn, unlabeled rows get their chance to be
    positive,

    .. math:: q = \frac{h (1 - e)}{1 - h e},

    and both models are fitted with these weights: h on all rows as positive with weight q and as
    negative with 1 - q, e on s with weight q.

    Parameters
    ----------
    propensity_features : sequence of int, optional
        Numbers of the columns of X that decide which positives get a label. By default all; h
        and e are then interchangeable in the likelihood, and only the start of the iteration
        tells them apart.
    classifier : classifier, optional
        Model of h. Any with ``sample_weight`` in ``fit`` and ``predict_proba``. By default
        logistic regression on standardized features.
    propensity_model : classifier, optional
        Model of e, with the same two methods. By default logistic regression on standardized
        features.
    max_iter : int, default=500
        How many iterations are run, at most.
    tol : float, default=1e-4
        The iteration stops when two things hold over the last ten steps: the propensities of
        unlabeled rows moved by less than this per step, on average, and the log-likelihood per
        row grew by less than this in all.
    transform : {"auto", "logistic", "boosting", "forest"}, classifier or None, default="auto"
        Not used: this estimator reads the features themselves. It is here so that all estimators
        take the same parameters.
    interval : {"subsample", "bootstrap", "refit"} or None, default=None
        How the interval around alpha is made. ``"subsample"`` draws fewer rows without
        replacement and scales the spread down; ``"bootstrap"`` and ``"refit"`` draw as many rows
        with replacement. Every draw runs the whole method. None: no interval.
    n_draws : int, default=20
        How many times rows are drawn for the interval. More draws make it steadier and slower.
    confidence : float, default=0.95
        Level of the interval, between 0 and 1.
    random_state : int, Generator, RandomState or None, default=0
        Seed of everything random. The same number gives the same estimate.

    Attributes
    ----------
    estimate_ : PriorEstimate
        The result: alpha, its interval, and reasons to doubt it.
    alpha_ : float
        The estimated share of positives among the unlabeled rows.
    propensity_ : ndarray of shape (n,)
        e(x) of the labeled and unlabeled rows, in their order.
    posterior_ : ndarray of shape (n,)
        h(x) of the same rows.

    Notes
    -----
    Alpha is identified by the shape of the two models alone: if h or e is not logistic in the
    features, the estimate is off and nothing in the data tells. Choose ``propensity_features``
    by what is known about how labels came about. No interval is made unless asked for, since
    every draw runs the iteration anew.

    References
    ----------
    Bekker, J., Robberechts, P. and Davis, J. (2019). Beyond the selected completely at random
    assumption for learning from positive and unlabeled data. ECML PKDD. Section 4.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4000, 2))
    >>> positive = rng.random(4000) < 1 / (1 + np.exp(-3 * X[:, 0]))
    >>> s = positive & (rng.random(4000) < 1 / (1 + np.exp(1 - X[:, 1])))
    >>> found = SAREMPrior(propensity_features=[1]).fit(X, s)
    >>> round(found.alpha_, 1), round(float(positive[~s].mean()), 1)
    (0.4, 0.4)
    """

    tags: ClassVar[PriorTags] = PriorTags(
        key="sar-em",
        reads="features",
        assumes="posterior and propensity are of the chosen (logistic) form, on known features",
        cost="n per iteration",
        source="Bekker et al. 2019",
        selection="SAR",
    )
    constraints: ClassVar[Constraints] = {
        "propensity_features": PROPENSITY_FEATURES,
        "classifier": Classifier() | Nothing(),
        "propensity_model": Classifier() | Nothing(),
        "max_iter": WholeNumber(),
        "tol": Number(above=0),
    }

    propensity_features: Sequence[int] | None = None
    classifier: Any = None
    propensity_model: Any = None
    max_iter: int = 500
    tol: float = 1e-4
    interval: str | None = None
    n_draws: int = 20

    propensity_: FloatArray = field(init=False)
    posterior_: FloatArray = field(init=False)

    def _solve(self, X: FloatArray, s: NDArray[np.int_], rng: np.random.Generator) -> Finding:
        chosen = propensity_columns(X, self.propensity_features, self._name)
        found = fit_both(
            X,
            chosen,
            s,
            classifier=self.classifier,
            propensity_model=self.propensity_model,
            max_iter=self.max_iter,
            tol=self.tol,
            rng=rng,
        )
        h, e, trace = found.posterior, found.propensity, found.trace
        labeled, n = s == 1, len(s)
        self.propensity_, self.posterior_ = e, h

        n_labeled, n_unlabeled = int(labeled.sum()), int(n - labeled.sum())
        warnings = []
        if not found.converged:
            warnings.append(Note("not-converged", found.doubt))
        if self.propensity_features is None and X.shape[1] > 1:
            warnings.append(
                Note(
                    "same-features",
                    "Classifier and propensity look at the same features, so that the labels alone "
                    "cannot tell one from the other. Name the columns that labeling depends on in "
                    "propensity_features.",
                )
            )
        curve = PriorCurve(
            x=np.arange(len(trace), dtype=float),
            lines={"log-likelihood": np.array(trace) / n},
            x_label="iteration",
            y_label="log-likelihood per row",
            marker=float(len(trace) - 1),
        )
        weighted = float((1 / e[labeled]).sum() / n)
        return Finding(
            float(alpha_from_pooled(h.mean(), n_labeled, n_unlabeled)),
            curve=curve,
            converged=found.converged,
            warnings=tuple(warnings),
            members={
                "inverse propensity": float(alpha_from_pooled(weighted, n_labeled, n_unlabeled))
            },
        )

    def _draws(self, X: FloatArray, s: NDArray[np.int_], finding: Finding) -> FloatArray:
        of_all_rows = self.propensity_, self.posterior_
        draws = super()._draws(X, s, finding)
        self.propensity_, self.posterior_ = of_all_rows
        return draws


class FittedBoth(NamedTuple):
    """Classifier and propensity after the last iteration.

    Parameters
    ----------
    posterior_model : model
        The fitted model of h, for other rows.
    propensity_model : model
        The fitted model of e, for other rows.
    posterior : ndarray of shape (n,)
        h of the rows.
    propensity : ndarray of shape (n,)
        e of the rows.
    trace : list of float
        Log-likelihood at the start and after each iteration.
    slope : float
        How far the propensities of unlabeled rows moved in the last iteration, on average.
    converged : bool
        False if ``max_iter`` ended the iteration.
    """

    posterior_model: _Model
    propensity_model: _Model
    posterior: FloatArray
    propensity: FloatArray
    trace: list[float]
    slope: float
    converged: bool

    @property
    def doubt(self) -> str:
        """What to say where the iteration was stopped before its end."""
        return (
            f"Not converged after {len(self.trace) - 1} iterations: propensities still move by "
            f"{self.slope:.1e} per iteration. Raise max_iter."
        )


def fit_both(
    X: FloatArray,
    chosen: FloatArray,
    s: NDArray[np.int_],
    *,
    classifier: Any,
    propensity_model: Any,
    max_iter: int,
    tol: float,
    rng: np.random.Generator,
    weights: FloatArray | None = None,
) -> FittedBoth:
    """Fit h on X and e on the chosen columns in turn, until neither moves any more.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Features of the posterior h.
    chosen : ndarray of shape (n, k)
        Features of the propensity e.
    s : ndarray of shape (n,)
        1 labeled, 0 unlabeled, -1 known negative.
    classifier, propensity_model : classifier or None
        Models of h and e. None: logistic regression.
    max_iter : int
        How many iterations are run, at most.
    tol : float
        When to stop, as in :class:`SAREMPrior`.
    rng : Generator
        Source of the seeds of models that have a ``random_state``.
    weights : ndarray of shape (n,), optional
        How much each row counts; by default all count alike.

    Returns
    -------
    FittedBoth
    """
    posterior_of = _model(classifier, X, rng)
    propensity_of = _model(propensity_model, chosen, rng)
    labeled, negative = s == 1, s == -1
    counts = np.ones(len(s)) if weights is None else weights
    n, share = counts.sum(), np.average(labeled, weights=weights)
    target = labeled.astype(float)

    def positive(unlabeled: FloatArray) -> FloatArray:
        # Where the class is known there is nothing to expect.
        return np.select([labeled, negative], [1.0, 0.0], unlabeled)

    # Start as published: unlabeled rows taken as negatives, both groups of equal weight.
    h = posterior_of.fit(target, counts * np.where(labeled, 1 - share, share))
    e = propensity_of.fit(target, counts * positive(h))
    trace, slopes, converged = [_log_likelihood(h, e, s, counts)], [], False
    while not converged and len(trace) <= max_iter:
        # Expectation: P(y=1 | s=0, x). The denominator is at least 2 * EDGE, both being clipped.
        q = positive(h * (1 - e) / (1 - h * e))
        before = e
        e = propensity_of.fit(target, counts * q)
        h = posterior_of.fit(q, counts)
        trace.append(_log_likelihood(h, e, s, counts))
        slopes.append(float(np.abs(e - before)[s == 0].mean()))
        if len(slopes) >= WINDOW:
            gain = (trace[-1] - trace[-1 - WINDOW]) / n
            converged = bool(np.mean(slopes[-WINDOW:]) < tol and gain < tol)
    return FittedBoth(posterior_of, propensity_of, h, e, trace, slopes[-1], converged)


def propensity_columns(X: FloatArray, features: Sequence[int] | None, caller: str) -> FloatArray:
    """Return the columns that decide which positives get a label.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Features.
    features : sequence of int or None
        Numbers of columns; negative ones count from the end. None: all.
    caller : str
        Who asks, for the error message.

    Returns
    -------
    ndarray of shape (n, k)
    """
    if features is None:
        return X
    places = np.asarray(features)
    usable = places.ndim == 1 and places.dtype.kind in "iu" and len(places) > 0
    if not usable or (places >= X.shape[1]).any() or (places < -X.shape[1]).any():
        raise InvalidInputError(
            f"{caller} needs propensity_features to be numbers of columns of X, which has "
            f"{X.shape[1]}. Got {brief(features)}."
        )
    return X[:, places]


def _log_likelihood(h: FloatArray, e: FloatArray, s: NDArray[np.int_], counts: FloatArray) -> float:
    chance = h * e
    each = np.log(np.select([s == 1, s == -1], [chance, 1 - h], 1 - chance))
    return float((counts * each).sum())


class _Model(Protocol):
    """Fits soft targets with weights; returns the probabilities of its rows, or of others."""

    def fit(self, target: FloatArray, weight: FloatArray) -> FloatArray: ...

    def probabilities(self, X: FloatArray) -> FloatArray: ...

    def forget_rows(self) -> None: ...


def _model(classifier: Any, X: FloatArray, rng: np.random.Generator) -> _Model:
    if classifier is None:
        return _Logistic(X)
    return _Wrapped(classifier, X, int(rng.integers(2**31)))


class _Logistic:
    """Logistic regression that goes on from its last coefficients.

    The penalty is that of scikit-learn's default, half the squared norm of the coefficients.
    """

    def __init__(self, X: FloatArray) -> None:
        spread = X.std(axis=0)
        self.center, self.scale = X.mean(axis=0), np.where(spread > 0, spread, 1.0)
        self.design = self._designed(X)
        # The intercept is not penalized; 1e-8 keeps the system solvable if all targets agree.
        self.penalty = np.append(1e-8, np.ones(X.shape[1]))
        self.coefficients = np.zeros(self.design.shape[1])

    def fit(self, target: FloatArray, weight: FloatArray) -> FloatArray:
        """Maximise the penalised likelihood by Newton steps, halved where they overshoot."""
        from scipy.special import expit

        loss = self._loss(self.coefficients, target, weight)
        for _ in range(25):
            p = expit(self.design @ self.coefficients)
            slope = self.design.T @ (weight * (target - p)) - self.penalty * self.coefficients
            bend = (self.design * (weight * p * (1 - p))[:, None]).T @ self.design
            step = np.linalg.solve(bend + np.diag(self.penalty), slope)
            for _ in range(20):
                trial = self.coefficients + step
                found = self._loss(trial, target, weight)
                if found <= loss:
                    break
                step = step / 2
            else:
                break
            self.coefficients, gain, loss = trial, loss - found, found
            if gain < 1e-9 * (1 + abs(loss)):
                break
        return self._clipped(self.design)

    def probabilities(self, X: FloatArray) -> FloatArray:
        """Return those of any rows, by the last coefficients."""
        return self._clipped(self._designed(X))

    def forget_rows(self) -> None:
        """Let go of the rows; what was fitted stays."""
        del self.design

    def _designed(self, X: FloatArray) -> FloatArray:
        return np.column_stack([np.ones(len(X)), (X - self.center) / self.scale])

    def _clipped(self, design: FloatArray) -> FloatArray:
        from scipy.special import expit

        return np.clip(expit(design @ self.coefficients), EDGE, 1 - EDGE)

    def _loss(self, coefficients: FloatArray, target: FloatArray, weight: FloatArray) -> float:
        margin = self.design @ coefficients
        each = np.logaddexp(0.0, margin) - target * margin
        return float(weight @ each + 0.5 * (self.penalty * coefficients**2).sum())


class _Wrapped:
    """Any classifier that takes weights; rows count once as positive and once as negative."""

    def __init__(self, classifier: Any, X: FloatArray, seed: int) -> None:
        self.classifier, self.X, self.seed = classifier, X, seed

    def fit(self, target: FloatArray, weight: FloatArray) -> FloatArray:
        """Fit a clone; its seed stays the same, so that iterations differ by their weights."""
        from sklearn.base import clone

        model = clone(self.classifier)
        if "random_state" in model.get_params() and model.get_params()["random_state"] is None:
            model.set_params(random_state=self.seed)
        rows = np.concatenate([self.X, self.X])
        classes = np.repeat([1, 0], len(self.X))
        weights = np.concatenate([weight * target, weight * (1 - target)])
        some = weights > 0
        self.fitted = model.fit(rows[some], classes[some], sample_weight=weights[some])
        return self.probabilities(self.X)

    def probabilities(self, X: FloatArray) -> FloatArray:
        """Return those of any rows, by the last clone."""
        p: FloatArray = np.asarray(self.fitted.predict_proba(X)[:, 1], float)
        clipped: FloatArray = np.clip(p, EDGE, 1 - EDGE)
        return clipped

    def forget_rows(self) -> None:
        """Let go of the rows; what was fitted stays."""
        del self.X
