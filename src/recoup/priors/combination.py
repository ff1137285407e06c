"""What the combinations of estimators share: the answer of a network, and doubts about it."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recoup._core.checks import FloatArray
from recoup._core.constraints import Checked, Constraints, Words
from recoup._core.notes import Note
from recoup._core.prior import check_known_beta
from recoup._core.relative_limits import MANY_TIMES
from recoup._core.text import show_digits
from recoup.priors.base import (
    DRAWING_ROWS,
    Finding,
    ScorePriorEstimator,
    interval_by,
    plausible,
)
from recoup.priors.biased_labels import with_labels
from recoup.priors.combining import MIDDLE, QUANTILES
from recoup.priors.conversions import unmixed_shares
from recoup.priors.evidence import Reading, evidence
from recoup.priors.share_net import QUANTILES as SHARE_LEVELS
from recoup.priors.share_net import draws_between
from recoup.scores.table import ScoreTable

# How far errors in both directions go together. Where the true kappas lie among ShareNet's draws
# of them, as normal scores, correlates by 0.28 (150 problems of 13 datasets of the study) and 0.22
# (150 of normal classes) around the mean, by 0.46 and 0.40 around zero: it errs on both kappas
# alike, and such an error belongs to the uncertainty.
SHARED_ERROR = 0.4
WIDE_RANGE = 0.15
WIDE_INTERVAL = 0.5
CLEAN_BETA = 0.95


def _check_beta(beta: Any, caller: str) -> None:
    check_known_beta("auto", beta, caller)


@dataclass(kw_only=True, eq=False, repr=False)
class Combination(ScorePriorEstimator):
    """Base of the combinations: estimators whose answers a trained network weighs.

    A combination writes one method, ``_combined``, from evidence to quantiles of alpha and beta.

    Parameters
    ----------
    beta : float, "estimate" or None, default=None
        What is known about the labels: a share of right ones, nothing, or that clear signs of
        wrong labels are to be heeded.
    labels_are : {"unknown", "random", "biased"}, default="unknown"
        How labels came about. :meth:`fit` allows for labels that favor some positives, unless
        they are said to be a random sample. From scores it changes nothing.
    transform : {"auto", "logistic", "boosting", "forest"}, classifier or None, default="auto"
        How ``fit`` turns features into scores.
    interval : {"learned", "subsample", "bootstrap", "refit"} or None, default="learned"
        How the interval around alpha is made.
    n_draws : int, default=500
        How many times rows are drawn for the interval. More draws make it steadier and slower.
    confidence : float, default=0.95
        Level of the interval, between 0 and 1.
    random_state : int, Generator, RandomState or None, default=0
        Seed of everything random. The same number gives the same estimate.
    """

    constraints: ClassVar[Constraints] = {
        "interval": interval_by("learned", *DRAWING_ROWS),
        "beta": Checked(_check_beta),
        "labels_are": Words("unknown", "random", "biased"),
    }

    beta: float | str | None = None
    labels_are: str = "unknown"
    interval: str | None = "learned"
    n_draws: int = 500

    @abstractmethod
    def _combined(self, reading: Reading, labels_known: bool) -> tuple[FloatArray, FloatArray]:
        """Return quantiles of alpha and of beta for the evidence of one or more tables."""

    def fit(self, X: Any, s: ArrayLike) -> Self:
        """Score the rows of X by cross-fitting, estimate from the scores, and look for kinds.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame with n rows
            Features; or, with ``transform=None``, one column of scores.
        s : array-like of shape (n,)
            1 labeled positive, 0 unlabeled. Known negatives (-1) are left out.

        Returns
        -------
        self : Auto
            Fitted: the result is in ``estimate_``.
        """
        super().fit(X, s)
        if self.transform is not None:
            rng = self._rng("labels")
            self.estimate_ = with_labels(self.estimate_, X, s, rng, self.labels_are)
        return self

    def _solve(self, table: ScoreTable, rng: np.random.Generator) -> Finding:
        return self._answer(table, Reading((evidence(table, rng),)))

    def _answer(self, table: ScoreTable, reading: Reading) -> Finding:
        """Turn evidence into a finding; what is told of single estimators is of the first."""
        first = reading.tables[0]
        known = isinstance(self.beta, Real)
        blind_alphas, blind_betas = self._combined(reading, False)
        noisy = bool(blind_betas[QUANTILES.index(0.9)] < CLEAN_BETA)
        alphas, betas = blind_alphas, blind_betas
        if known and self.beta == 1:
            alphas, betas = self._combined(reading, True)[0], np.ones_like(betas)
        elif known:
            share = float(self.beta)  # type: ignore[arg-type]
            # The network was trained for labels that are all right and for labels about which
            # nothing is known. Scores determine kappa = alpha / beta; a known beta gives alpha.
            kappas = np.minimum(blind_alphas / max(blind_betas[MIDDLE], 0.01), 1.0)
            alphas, betas = kappas * share, np.full_like(betas, share)
        elif self.beta is None and not noisy:
            betas = np.ones_like(betas)
        warnings = []
        values = np.array(list(first.members.values()))
        # Where positives are rare, alphas that differ little may still differ many times.
        labeled = table.n_labeled / (table.n_labeled + table.n_unlabeled)
        shown = show_digits(values.min(), 2), show_digits(values.max(), 2)
        if _is_wide_alpha(values.min(), values.max(), labeled, WIDE_RANGE):
            warnings.append(
                Note(
                    "disagreement",
                    f"The estimators disagree, from {shown[0]} to {shown[1]}: the "
                    f"classes overlap, or labels are not a random sample of the positives.",
                )
            )
        if _is_wide_alpha(alphas[0], alphas[-1], labeled, WIDE_INTERVAL):
            ends = show_digits(alphas[0], 2), show_digits(alphas[-1], 2)
            warnings.append(
                Note(
                    "undetermined",
                    f"These scores hardly determine alpha: anything from {ends[0]} to "
                    f"{ends[1]} fits. Use a better classifier, or knowledge from elsewhere.",
                )
            )
        if noisy and not (known and self.beta != 1):
            remedy = "Check them, or pass beta='estimate'." if known else "Check them."
            warnings.append(
                Note(
                    "wrong-labels",
                    f"Some labels look wrong: beta is about {blind_betas[MIDDLE]:.2f}. {remedy}",
                )
            )
        return Finding(
            float(alphas[MIDDLE]),
            float(betas[MIDDLE]),
            warnings=tuple(warnings),
            members=dict(first.members),
            kappa_1=float(first.kappas[0][4]),
            kappa_2=float(first.kappas[1][4]),
            draws=plausible(
                joint_draws((alphas, betas), first.kappas, self.n_draws, self._rng("pairs")),
                both=True,
            ),
        )


def _is_wide_alpha(low: float, high: float, labeled: float, widest: float) -> bool:
    """Say whether a range of alpha is wide, or leaves open how many rows are positive at all."""
    rows = [labeled + (1 - labeled) * end for end in (low, high)]
    return bool(high - low > widest or rows[1] > MANY_TIMES * rows[0])


def joint_draws(
    quantiles: tuple[FloatArray, FloatArray],
    kappas: tuple[FloatArray, FloatArray],
    n_draws: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Draw alpha and beta as pairs: each as its quantiles say, together as the kappas bind them.

    The network knows each of them alone. Which alpha goes with which beta is read from draws of
    both kappas, turned into shares: a kappa_1 that is too high raises both, a kappa_2 that is too
    high lowers both, and what is wrong with both kappas drives alpha and beta apart.

    Parameters
    ----------
    quantiles : tuple of two ndarrays of shape (7,)
        Quantiles of alpha and of beta, at ``QUANTILES``.
    kappas : tuple of two ndarrays of shape (9,)
        ShareNet's quantiles of kappa_1 and kappa_2.
    n_draws : int
        How many pairs to draw.
    rng : numpy.random.Generator
        Where they come from.

    Returns
    -------
    ndarray of shape (n_draws, 2)
    """
    normal = rng.standard_normal((2, n_draws))
    normal[1] = SHARED_ERROR * normal[0] + np.sqrt(1 - SHARED_ERROR**2) * normal[1]
    drawn = [
        draws_between(values, SHARE_LEVELS, n_draws)[_ranks(order)]
        for values, order in zip(kappas, normal, strict=True)
    ]
    like_alpha, like_beta = unmixed_shares(*drawn)
    alphas, betas = (draws_between(values, QUANTILES, n_draws, 1.0) for values in quantiles)
    # Pairs come in the order of alpha: a beta that is known then moves no number.
    order = np.argsort(like_alpha, kind="stable")
    return np.column_stack([alphas, betas[_ranks(like_beta)[order]]])


def _ranks(values: FloatArray) -> NDArray[np.intp]:
    return np.argsort(np.argsort(values, kind="stable"), kind="stable")
