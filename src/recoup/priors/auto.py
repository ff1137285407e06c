"""estimate: one call for the share of hidden positives, by a combination or by one method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recoup._core.checks import FloatArray, brief
from recoup._core.constraints import Checked, Constraints
from recoup._core.notes import Note
from recoup._core.prior import check_known_beta
from recoup._core.random import RandomState, as_seed
from recoup._core.registry import make
from recoup._core.relative_limits import MANY_TIMES
from recoup._core.text import show_digits
from recoup.exceptions import InvalidInputError
from recoup.metrics.area import auc_pu
from recoup.priors._solvers.network import load_network
from recoup.priors._solvers.resample import exchanged
from recoup.priors.base import (
    DRAWING_ROWS,
    Finding,
    PriorTags,
    ScorePriorEstimator,
    interval_by,
    plausible,
)
from recoup.priors.bbe import BBE
from recoup.priors.biased_labels import with_labels
from recoup.priors.conversions import unmixed_shares
from recoup.priors.dedpul import DEDPUL
from recoup.priors.dist_curve import DistCurve
from recoup.priors.elkan_noto import ElkanNotoPrior
from recoup.priors.pulscar import PULSCAR
from recoup.priors.results import PriorEstimate
from recoup.priors.roc_slope import ROCSlope
from recoup.priors.share_net import QUANTILES as SHARE_LEVELS
from recoup.priors.share_net import draws_between, share_quantiles
from recoup.scores.table import ScoreTable

QUANTILES = (0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975)
MIDDLE = QUANTILES.index(0.5)
MEMBERS = ("share-net", "dist-curve", "bbe", "dedpul", "pulscar", "roc-slope", "elkan-noto")
# Which of ShareNet's quantiles the combination looks at.
SEEN = (0, 2, 4, 6, 8)
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
class Auto(ScorePriorEstimator):
    """Weigh seven estimators of different families by how they err on real data.

    On real data published estimators err in opposite directions, and by how much can be told from
    their answers, the sizes of the samples and how well the scores separate them. A small network
    was trained on real problems with known shares to give the quantiles of alpha and beta; it is
    judged on datasets that it has never seen (``make study-priors``).

    From features, :meth:`fit` also looks for kinds of positives that are labeled at different
    rates and for labels that favor clear positives, and allows for what it finds
    (``estimate_.labels``). From scores, nothing of the kind can be seen.

    Parameters
    ----------
    beta : float, "estimate" or None, default=None
        What is known about the labels. A number is the share of true positives among them; pass
        1.0 if every label is right. With ``"estimate"`` beta is estimated beside alpha. With None
        alpha is the same as with ``"estimate"``, but the beta of the result is 1.0 unless there
        are clear signs of wrong labels.
    transform : {"auto", "logistic", "boosting", "forest"}, classifier or None, default="auto"
        How ``fit`` turns features into scores. Every row is scored by a classifier that was
        fitted on other rows. ``"auto"`` takes logistic regression, or boosted trees if they tell
        labeled from unlabeled rows significantly better. None: X is one column of scores.
        ``fit_scores`` does not use it.
    interval : {"learned", "subsample", "bootstrap", "refit"} or None, default="learned"
        How the interval around alpha is made. ``"learned"`` takes the quantiles that the network
        gives: they cover the luck of the draw and how wrong the estimators were on real data.
        The others draw rows and cover the luck of the draw alone: ``"subsample"`` fewer rows
        without replacement, ``"bootstrap"`` as many with replacement, ``"refit"`` with the
        classifier fitted anew. None: no interval.
    n_draws : int, default=500
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

    Examples
    --------
    >>> from recoup import load_example
    >>> example = load_example()
    >>> found = Auto(beta=1.0).fit_scores(example.s, example.scores["score_boosting"]).estimate_
    >>> found.interval[0] < example.alpha < found.interval[1]
    True
    """

    tags: ClassVar[PriorTags] = PriorTags(
        key="auto",
        reads="scores",
        assumes="data like the real ones it was trained on",
        cost="n log n",
        source="this package",
        finds_beta=True,
        takes_beta=True,
    )
    constraints: ClassVar[Constraints] = {
        "interval": interval_by("learned", *DRAWING_ROWS),
        "beta": Checked(_check_beta),
    }

    beta: float | str | None = None
    interval: str | None = "learned"
    n_draws: int = 500

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
            self.estimate_ = with_labels(self.estimate_, X, s, self._rng("labels"))
        return self

    def _solve(self, table: ScoreTable, rng: np.random.Generator) -> Finding:
        found = evidence(table, rng)
        known = isinstance(self.beta, Real)
        blind_alphas, blind_betas = combine(found.inputs, labels_known=False)
        noisy = bool(blind_betas[QUANTILES.index(0.9)] < CLEAN_BETA)
        alphas, betas = blind_alphas, blind_betas
        if known and self.beta == 1:
            alphas, betas = combine(found.inputs, labels_known=True)[0], np.ones_like(betas)
        elif known:
            share = float(self.beta)  # type: ignore[arg-type]
            # The network was trained for labels that are all right and for labels about which
            # nothing is known. Scores determine kappa = alpha / beta; a known beta gives alpha.
            kappas = np.minimum(blind_alphas / max(blind_betas[MIDDLE], 0.01), 1.0)
            alphas, betas = kappas * share, np.full_like(betas, share)
        elif self.beta is None and not noisy:
            betas = np.ones_like(betas)
        warnings = []
        values = np.array(list(found.members.values()))
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
            members=dict(found.members),
            kappa_1=float(found.kappas[0][4]),
            kappa_2=float(found.kappas[1][4]),
            draws=plausible(
                joint_draws((alphas, betas), found.kappas, self.n_draws, self._rng("pairs")),
                both=True,
            ),
        )


def _is_wide_alpha(low: float, high: float, labeled: float, widest: float) -> bool:
    """Say whether a range of alpha is wide, or leaves open how many rows are positive at all."""
    rows = [labeled + (1 - labeled) * end for end in (low, high)]
    return bool(high - low > widest or rows[1] > MANY_TIMES * rows[0])


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the combination knows about a table.

    ``kappas`` are ShareNet's quantiles of both kappas, ``inputs`` what the network is asked.
    """

    members: Mapping[str, float]
    kappas: tuple[FloatArray, FloatArray]
    inputs: FloatArray


def evidence(table: ScoreTable, rng: np.random.Generator) -> Evidence:
    """Ask all members, in both directions where that tells about wrong labels."""
    reverse = exchanged(table)
    forward, backward = share_quantiles(table), share_quantiles(reverse)
    rules = ElkanNotoPrior(interval=None)._solve(table, rng)
    rule_values = rules.members or {}
    members = {
        "share-net": float(forward[4]),
        "dist-curve": DistCurve()._solve(table, rng).alpha,
        "bbe": BBE()._solve(table, rng).alpha,
        "dedpul": DEDPUL()._solve(table, rng).alpha,
        "pulscar": PULSCAR()._solve(table, rng).alpha,
        "roc-slope": ROCSlope()._solve(table, rng).alpha,
        "elkan-noto": rules.alpha,
    }
    members = {key: float(np.clip(value, 0.0, 1.0)) for key, value in members.items()}
    other_way = [estimator._solve(reverse, rng).alpha for estimator in (BBE(), ROCSlope())]
    auc = auc_pu(table)
    shares = [
        *forward[list(SEEN)],
        *backward[list(SEEN)],
        *members.values(),
        rule_values.get("e1", rules.alpha),
        *other_way,
    ]
    inputs = np.concatenate(
        [
            stretched(np.clip(shares, 0.0, 1.0)),
            [
                auc,
                np.log(max(auc - 0.5, 0.01)),
                np.log(np.clip(table.n_labeled, 40, 5_000)),
                np.log(np.clip(table.n_unlabeled, 300, 20_000)),
            ],
        ]
    )
    return Evidence(members, (forward, backward), inputs)


def combine(inputs: FloatArray, *, labels_known: bool) -> tuple[FloatArray, FloatArray]:
    """Return quantiles of alpha and of beta for what :func:`evidence` found."""
    asked = np.append(inputs, float(labels_known))
    answers = load_network("auto")(asked[None])[0].reshape(2, len(QUANTILES))
    # The network says by how much alpha differs from the median of ShareNet (quantile 4 of 9), on
    # the scale of `stretched`; sin^2 is its inverse. Quantiles of a network may cross: sort them.
    alphas = answers[0] + inputs[SEEN.index(4)]
    squeezed = np.sort(np.sin(np.pi / 2 * np.clip([alphas, answers[1]], 0.0, 1.0)) ** 2, axis=1)
    return squeezed[0], squeezed[1]


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


def stretched(share: Any) -> FloatArray:
    """Map a share to a scale on which errors near 0 and 1 count as much as elsewhere."""
    scaled: FloatArray = 2 / np.pi * np.arcsin(np.sqrt(share))
    return scaled


def estimate(
    s: ArrayLike | ScoreTable,
    scores: ArrayLike | None = None,
    X: Any = None,
    method: str = "auto",
    random_state: RandomState = 0,
    *,
    beta: float | str | None = 1.0,
    confidence: float = 0.95,
    transform: Any = "auto",
    audit: Any = None,
) -> PriorEstimate:
    """Estimate how many positives hide among the unlabeled rows.

    Parameters
    ----------
    s : array-like of shape (n,) or ScoreTable
        1 labeled positive, 0 unlabeled. Known negatives (-1) are left out.
    scores : array-like of shape (n,), optional
        Scores of rows that the classifier was not fitted on; higher is more positive.
    X : array-like, sparse matrix or data frame with n rows, optional
        Features, instead of scores: a classifier is then fitted and scored out of fold.
    method : str, default="auto"
        The combination that measures best, or the key of one estimator (``recoup list priors``).
    random_state : int, Generator, RandomState or None, default=0
        Seed of everything random.
    beta : float, "estimate" or None, default=1.0
        What is known about the labels: the share of true positives among them (1.0: every label
        is right, as :func:`recoup.evaluate` takes it), ``"estimate"`` to have it estimated too, or
        None to take labels as right unless there are clear signs against it. ``"auto"`` warns of
        such signs in any case.
    confidence : float, default=0.95
        Level of the interval.
    transform : {"auto", "logistic", "boosting", "forest"} or classifier, default="auto"
        How features become scores.
    audit : Audit, optional
        Rows that somebody checked (:func:`recoup.audit.plan`), beside scores. Alpha and its
        interval then come from the answers and hold whatever the labels are; what the labels say
        moves alpha by no more than the error of the answers. The method of the result is
        ``"audit"``, and ``members`` has both numbers.

    Returns
    -------
    PriorEstimate

    Examples
    --------
    >>> from recoup import load_example
    >>> example = load_example()
    >>> found = estimate(example.s, example.scores["score_boosting"])
    >>> found.method, list(found.members)
    ('auto', ['share-net', 'dist-curve', 'bbe', 'dedpul', 'pulscar', 'roc-slope', 'elkan-noto'])
    >>> estimate(example.s, example.scores["score_boosting"], method="bbe").method
    'bbe'
    """
    if (X is None) == (scores is None and not isinstance(s, ScoreTable)):
        raise InvalidInputError(
            "estimate needs scores or X beside s, one of them. "
            f"Got {'neither' if X is None else 'both'}."
        )
    if audit is not None:
        _check_audit(audit, X)
        # One seed for both parts.
        random_state = as_seed(random_state, "estimate")
    options: dict[str, Any] = {"random_state": random_state, "confidence": confidence}
    estimator = make("priors", method, "estimate", **options)
    check_known_beta(method, beta, "estimate")
    if estimator.tags.takes_beta:
        estimator.set_params(beta=beta)
    elif beta == "estimate" and not estimator.tags.finds_beta:
        from recoup.priors.noisy import NoisyPU

        estimator = NoisyPU(estimator, always=True, **options)
    found: PriorEstimate
    if X is not None:
        found = estimator.set_params(transform=transform).fit(X, s).estimate_
    else:
        found = estimator.fit_scores(s, scores).estimate_
    if audit is None:
        return found
    combined: PriorEstimate = audit.prior_estimate(
        s,
        scores,
        found,
        beta=found.beta,
        confidence=confidence,
        random_state=random_state,
        caller="estimate",
    )
    return combined


def _check_audit(audit: Any, X: Any) -> None:
    if not hasattr(audit, "prior_estimate"):
        raise InvalidInputError(
            f"estimate needs audit to be a recoup.audit.Audit. Got {brief(type(audit).__name__)}. "
            f"Pass plan.answers(rows, truth), or Audit.uniform(rows, truth)."
        )
    if X is not None:
        raise InvalidInputError(
            "estimate takes an audit beside scores, which say where the checked rows lie. Got X. "
            "Pass scores, such as those of recoup.scores.crossfit."
        )
