"""PenL1: the prior at which a penalized L1 distance between two densities is least."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup._core.constraints import Constraints, Number, WholeNumber
from recoup._core.notes import Note
from recoup.priors._solvers.gaussians import (
    N_FOLDS,
    chosen_centers,
    chunks,
    fold_numbers,
    median_distance,
    squared_distances,
    standardized,
)
from recoup.priors.base import FeaturePriorEstimator, Finding, PriorTags
from recoup.priors.results import PriorCurve

WIDTHS = np.logspace(-2, 1, 10)
# Validation is linear in 1 / penalty, so that it never prefers a value between these.
MIN_PENALTY, MAX_PENALTY = 1e-3, 10.0
ALPHAS = np.arange(0.01, 1.0, 0.01)
# How far above the first estimate the width is chosen that the second one uses.
REACH = 0.3
# Basis functions with less mass than this on labeled rows never limit alpha.
MIN_MASS = 1e-9


@dataclass(kw_only=True, eq=False, repr=False)
class PenL1(FeaturePriorEstimator):
    r"""Largest prior whose multiple of the labeled rows the unlabeled ones can explain.

    Where alpha times the labeled density exceeds the unlabeled one, some Gaussian
    :math:`\varphi_l` around an unlabeled row has :math:`b_l > 0`, and that is penalized:

    .. math::

        J(\alpha) = \frac{1}{\lambda} \sum_l \max(0, b_l)^2 - \alpha + 1, \qquad
        b_l = \alpha\, \bar\varphi_l^{\,labeled} - \bar\varphi_l^{\,unlabeled}

    Parameters
    ----------
    n_basis : int, default=300
        How many Gaussians the densities are compared by, at most. Each is put on an unlabeled
        row that is drawn at random.
    penalty : float, default=0.001
        The :math:`\lambda` of the final minimum. A smaller one lets the noise of a single
        Gaussian decide, a larger one overestimates, most so with many features.
    transform : {"auto", "logistic", "boosting", "forest"}, classifier or None, default="auto"
        Not used: this estimator reads the features themselves. It is here so that all estimators
        take the same parameters.
    interval : {"subsample", "bootstrap", "refit"} or None, default="subsample"
        How the interval around alpha is made. ``"subsample"`` draws fewer rows without
        replacement and scales the spread down; ``"bootstrap"`` and ``"refit"`` draw as many rows
        with replacement. Every draw runs the whole method. None: no interval.
    n_draws : int, default=50
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

    Notes
    -----
    Columns are standardized. Width and penalty are chosen by 5-fold cross-validation for each
    alpha of a grid, as published. A different width at each alpha makes :math:`J` ragged, though:
    the least value only tells where to look. The width that does best on the 0.3 above it is then
    used for all alpha, and the minimum of :math:`J`, piecewise quadratic and convex, is exact.
    Many features make all distances alike; scores of a classifier do far better then.

    References
    ----------
    du Plessis, M. C., Niu, G. and Sugiyama, M. (2017). Class-prior estimation for learning from
    positive and unlabeled data. Machine Learning 106, 463-492. arXiv:1611.01586.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> s = np.repeat([1, 0], [500, 2000])
    >>> positive = np.arange(2500) < 1100  # all labeled rows and 30% of the others
    >>> scores = rng.normal(np.where(positive, 4, 0))
    >>> round(PenL1(interval=None).fit_scores(s, scores).alpha_, 1)
    0.3
    """

    tags: ClassVar[PriorTags] = PriorTags(
        key="pen-l1",
        reads="features",
        assumes="almost only positives are found where labeled rows are densest",
        cost="n",
        source="du Plessis, Niu and Sugiyama 2017",
    )
    constraints: ClassVar[Constraints] = {
        "n_basis": WholeNumber(why="it is the number of Gaussians"),
        "penalty": Number(above=0),
    }

    n_basis: int = 300
    penalty: float = 1e-3
    n_draws: int = 50

    def _solve(self, X: FloatArray, s: NDArray[np.int_], rng: np.random.Generator) -> Finding:
        sums, sizes = fold_sums(standardized(X), s, self.n_basis, rng)
        totals, counts = sums.sum(axis=2), sizes.sum(axis=1)
        on_unlabeled, on_labeled = totals[:, 0] / counts[0], totals[:, 1] / counts[1]
        gains = held_out_gains(sums, sizes)
        penalties = np.array(
            [
                _positive_squares(labeled, unlabeled)
                for labeled, unlabeled in zip(on_labeled, on_unlabeled, strict=True)
            ]
        )
        best = np.argmax(gains, axis=0)
        each = np.arange(len(ALPHAS))
        scale = np.where(gains[best, each] > 0, MIN_PENALTY, MAX_PENALTY)
        published = penalties[best, each] / scale - ALPHAS + 1
        first = float(ALPHAS[np.argmin(published)])

        near = (first - 1e-9 <= ALPHAS) & (first + REACH >= ALPHAS)
        gain_near = np.maximum(gains[:, near], 0.0).sum(axis=1)
        width = int(np.argmax(gain_near))
        alpha = first
        warnings: tuple[Note, ...] = ()
        if gain_near[width] > 0:
            alpha = exact_minimum(on_labeled[width], on_unlabeled[width], self.penalty)
        else:
            warnings = (Note("edge", "No prior is too large for the unlabeled rows to explain."),)
        curve = PriorCurve(
            x=ALPHAS,
            lines={
                "one width": penalties[width] / self.penalty - ALPHAS + 1,
                "a width for each prior": published,
            },
            x_label="share of positives among unlabeled rows",
            y_label="penalized L1 distance",
            marker=alpha,
        )
        return Finding(alpha, curve=curve, converged=not warnings, warnings=warnings)


def fold_sums(
    X: FloatArray, s: NDArray[np.int_], n_basis: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Add up the basis functions over the rows of each fold.

    Returns
    -------
    sums : ndarray of shape (n_widths, 2, n_folds, n_basis)
        Over unlabeled, then labeled rows.
    sizes : ndarray of shape (2, n_folds)
        Rows that were added.
    """
    centers = chosen_centers(X, s == 0, n_basis, rng)
    widths = WIDTHS * median_distance(X, rng)
    groups = s * N_FOLDS + fold_numbers(s, rng)
    member = (np.arange(2 * N_FOLDS)[:, None] == groups).astype(float)
    sums = np.zeros((len(widths), 2 * N_FOLDS, len(centers)))
    for rows in chunks(len(X)):
        squares = squared_distances(X[rows], centers)
        for number, width in enumerate(widths):
            sums[number] += member[:, rows] @ np.exp(squares / (-2 * width**2))
    return sums.reshape(len(widths), 2, N_FOLDS, -1), member.sum(axis=1).reshape(2, N_FOLDS)


def held_out_gains(sums: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return the sum over l of max(0, b_l of training folds) * b_l of the fold left out.

    Returns
    -------
    ndarray of shape (n_widths, n_alphas)
        The mean over folds.
    """
    n = sizes[:, :, None]
    test = sums / n
    train = (sums.sum(axis=2, keepdims=True) - sums) / (n.sum(axis=1, keepdims=True) - n)
    alphas = ALPHAS[:, None, None]
    gains = [
        np.einsum(
            "afl,afl->a",
            np.maximum(alphas * train[width, 1] - train[width, 0], 0.0),
            alphas * test[width, 1] - test[width, 0],
        )
        for width in range(len(sums))
    ]
    return np.array(gains) / N_FOLDS


def _positive_squares(on_labeled: FloatArray, on_unlabeled: FloatArray) -> FloatArray:
    b = ALPHAS[:, None] * on_labeled - on_unlabeled
    found: FloatArray = np.sum(np.maximum(b, 0.0) ** 2, axis=1)
    return found


def exact_minimum(on_labeled: FloatArray, on_unlabeled: FloatArray, penalty: float) -> float:
    """Return the alpha at which J is least, from the means of the basis functions.

    One b after the other becomes positive as alpha grows. Between two of these points J is a
    parabola, and its lowest point is the minimum if it lies between them.
    """
    # dJ/dalpha = (2 / penalty) sum m (alpha m - u) - 1 = 0 over the Gaussians with b > 0.
    some = on_labeled > MIN_MASS
    m, u = on_labeled[some], on_unlabeled[some]
    starts = u / m
    order = np.argsort(starts)
    m, u, starts = m[order], u[order], starts[order]
    lowest = (penalty / 2 + np.cumsum(m * u)) / np.cumsum(m * m)
    ends = np.append(starts[1:], np.inf)
    return float(lowest[np.argmax(lowest <= ends)])
