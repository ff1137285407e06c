"""PE: partial matching by the Pearson divergence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from recoup._core.checks import FloatArray
from recoup._core.constraints import Constraints, Nothing, Number, WholeNumber
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
from recoup.priors.conversions import alpha_from_pooled, pooled_prior
from recoup.priors.results import PriorCurve

WIDTHS = np.linspace(0.2, 5.0, 10)
PENALTIES = np.logspace(-3, 1, 9)


# What None does, for errors.
CHOSEN = "Pass None to choose it by cross-validation."


@dataclass(kw_only=True, eq=False, repr=False)
class PE(FeaturePriorEstimator):
    r"""Multiple of the labeled density that is nearest to the density of all rows.

    The ratio of the labeled density to that of all rows is fitted by least squares with Gaussians
    around labeled rows, and the prior of all rows that minimizes the Pearson divergence follows:

    .. math::

        a = (H + \lambda I)^{-1} h, \qquad
        \pi = \frac{1}{2 a^\top h - a^\top H a}

    with :math:`h` the mean of the Gaussians over labeled rows and :math:`H` that of their products
    over all rows. Where negatives overlap with positives it is too high, however many rows there
    are: it is made for classes that can be told apart.

    Parameters
    ----------
    n_basis : int, default=100
        How many Gaussians describe the ratio of densities, at most. Each is put on a labeled
        row that is drawn at random.
    width : float, optional
        Width of the Gaussians, in median distances between rows. By default it is chosen by
        5-fold cross-validation.
    penalty : float, optional
        Ridge penalty :math:`\lambda`. By default it is chosen by 5-fold cross-validation.
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
    width_ : float
        The width that was used. The draws behind the interval keep it.
    penalty_ : float
        The penalty that was used. The draws behind the interval keep it.

    References
    ----------
    du Plessis, M. C. and Sugiyama, M. (2014). Class prior estimation from positive and unlabeled
    data. IEICE Transactions on Information and Systems E97-D, 1358-1362.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> s = np.repeat([1, 0], [500, 2000])
    >>> positive = np.arange(2500) < 1100  # all labeled rows and 30% of the others
    >>> scores = rng.normal(np.where(positive, 4, 0))
    >>> round(PE(interval=None).fit_scores(s, scores).alpha_, 1)
    0.3
    """

    tags: ClassVar[PriorTags] = PriorTags(
        key="pe",
        reads="features",
        assumes="positives and negatives hardly overlap",
        cost="n",
        source="du Plessis and Sugiyama 2014",
    )
    constraints: ClassVar[Constraints] = {
        "n_basis": WholeNumber(why="it is the number of Gaussians"),
        "width": Number(above=0, hint=CHOSEN) | Nothing(),
        "penalty": Number(above=0, hint=CHOSEN) | Nothing(),
    }

    n_basis: int = 100
    width: float | None = None
    penalty: float | None = None
    n_draws: int = 50

    width_: float = field(init=False)
    penalty_: float = field(init=False)

    def _solve(self, X: FloatArray, s: NDArray[np.int_], rng: np.random.Generator) -> Finding:
        X = standardized(X)
        n_labeled, n_unlabeled = int((s == 1).sum()), int((s == 0).sum())
        centers = chosen_centers(X, s == 1, self.n_basis, rng)
        distance = median_distance(X, rng)
        widths = WIDTHS if self.width is None else np.array([self.width])
        penalties = PENALTIES if self.penalty is None else np.array([self.penalty])
        choose = len(widths) * len(penalties) > 1
        folds = fold_numbers(s, rng) if choose else np.zeros(len(s), np.intp)
        h, H, sizes = fold_moments(X, s, folds, centers, widths * distance)
        labeled_share = n_labeled / len(s)
        at = (0, 0)
        if choose:
            losses = [
                held_out_losses(h[i], H[i], sizes, labeled_share, penalties)
                for i in range(len(widths))
            ]
            best = np.unravel_index(int(np.argmin(losses)), (len(widths), len(penalties)))
            at = (int(best[0]), int(best[1]))
        self.width_, self.penalty_ = float(widths[at[0]]), float(penalties[at[1]])

        means, products = mixed_moments(h[at[0]], H[at[0]], sizes, labeled_share)
        match = matching(means, products, self.penalty_)
        alpha = alpha_from_pooled(1 / match, n_labeled, n_unlabeled)
        alphas = np.linspace(0.0, 1.0, 201)
        pooled = pooled_prior(alphas, n_labeled, n_unlabeled)
        curve = PriorCurve(
            x=alphas,
            lines={"divergence": pooled**2 * match / 2 - pooled + 0.5},
            x_label="share of positives among unlabeled rows",
            y_label="Pearson divergence",
            marker=float(alpha),
        )
        return Finding(float(alpha), curve=curve)

    def _draws(self, X: FloatArray, s: NDArray[np.int_], finding: Finding) -> FloatArray:
        settled = clone(self).set_params(width=self.width_, penalty=self.penalty_)
        return super(PE, settled)._draws(X, s, finding)


def fold_moments(
    X: FloatArray,
    s: NDArray[np.int_],
    folds: NDArray[np.intp],
    centers: FloatArray,
    widths: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Add up the basis functions over labeled rows, and their products over both kinds.

    Returns
    -------
    h : ndarray of shape (n_widths, n_folds, n_basis)
        Sums over labeled rows.
    H : ndarray of shape (n_widths, 2, n_folds, n_basis, n_basis)
        Sums of products over unlabeled, then labeled rows.
    sizes : ndarray of shape (2, n_folds)
        Rows that were added.
    """
    n_folds, n_basis = int(folds.max()) + 1, len(centers)
    h = np.zeros((len(widths), n_folds, n_basis))
    H = np.zeros((len(widths), 2, n_folds, n_basis, n_basis))
    sizes = np.zeros((2, n_folds))
    for kind in (0, 1):
        for fold in range(n_folds):
            members = np.flatnonzero((s == kind) & (folds == fold))
            sizes[kind, fold] = len(members)
            for rows in chunks(len(members)):
                squares = squared_distances(X[members[rows]], centers)
                for number, width in enumerate(widths):
                    phi = np.exp(squares / (-2 * width**2))
                    H[number, kind, fold] += phi.T @ phi
                    if kind == 1:
                        h[number, fold] += phi.sum(axis=0)
    return h, H, sizes


def mixed_moments(
    h: FloatArray, H: FloatArray, sizes: FloatArray, labeled_share: float
) -> tuple[FloatArray, FloatArray]:
    """Return h and H of some folds together."""
    means = h.sum(axis=0) / sizes[1].sum()
    products = (
        labeled_share * H[1].sum(axis=0) / sizes[1].sum()
        + (1 - labeled_share) * H[0].sum(axis=0) / sizes[0].sum()
    )
    return means, products


def held_out_losses(
    h: FloatArray, H: FloatArray, sizes: FloatArray, labeled_share: float, penalties: FloatArray
) -> FloatArray:
    """Return a'Ha/2 - a'h on the folds left out, for each penalty.

    One eigendecomposition of H serves all penalties.
    """
    losses = np.zeros(len(penalties))
    every = np.arange(N_FOLDS)
    for fold in every:
        rest = every != fold
        means, products = mixed_moments(h[rest], H[:, rest], sizes[:, rest], labeled_share)
        values, vectors = np.linalg.eigh(products)
        turned = vectors.T @ means
        # Rounding leaves eigenvalues of a singular H slightly below zero.
        a = vectors @ (turned[:, None] / (np.maximum(values, 0.0)[:, None] + penalties))
        means, products = mixed_moments(h[~rest], H[:, ~rest], sizes[:, ~rest], labeled_share)
        losses += np.einsum("ip,ij,jp->p", a, products, a, optimize=True) / 2 - a.T @ means
    return losses / N_FOLDS


def matching(means: FloatArray, products: FloatArray, penalty: float) -> float:
    """Return 2a'h - a'Ha, one over the prior of all rows."""
    # Without a penalty this is a'h; with one, a'h alone would be biased to first order.
    a = np.linalg.solve(products + penalty * np.eye(len(means)), means)
    return float(2 * a @ means - a @ products @ a)
