"""PULSNAR: PULSCAR for each group of labeled rows, for labels that favor some groups."""

from __future__ import annotations

import warnings as python_warnings
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup._core.constraints import Classifier, Constraints, WholeNumber
from recoup._core.notes import Note
from recoup.priors._solvers.transform import SCORES, honest_scores, named_or
from recoup.priors.base import (
    MIN_LABELED,
    FeaturePriorEstimator,
    Finding,
    PriorTags,
    checked_table,
)
from recoup.priors.pulscar import matched_densities
from recoup.priors.results import PriorCurve

# Groups are sought in the features that matter most, at most so many.
MAX_FEATURES = 10


@dataclass(kw_only=True, eq=False, repr=False)
class PULSNAR(FeaturePriorEstimator):
    r"""Sum of the shares that each group of labeled rows has among the unlabeled rows.

    Labels that favor one kind of positives over another may still be a random sample within each
    kind. Labeled rows are divided into groups, each is compared with all unlabeled rows by
    :class:`recoup.priors.PULSCAR`, and the shares are added:

    .. math:: \alpha = \sum_k \alpha_k

    Parameters
    ----------
    max_groups : int, default=10
        How many groups of labeled rows are tried, at most. The number is taken whose Gaussian
        mixture has the lowest BIC, among those that leave at least 20 labeled rows in each group.
    transform : {"auto", "logistic", "boosting", "forest"} or classifier, default="auto"
        What scores the rows of one group and the unlabeled rows; every row is scored by a
        classifier that was fitted on other rows. ``"auto"`` takes logistic regression, or boosted
        trees if they tell labeled from unlabeled rows significantly better.
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
    groups_ : ndarray of shape (n_labeled,)
        Group of each labeled row, in their order.

    Notes
    -----
    Features are standardized and multiplied by their importance in a random forest that tells
    labeled from unlabeled rows, so that groups differ in what matters. Groups whose positives
    overlap are counted twice there, and alpha is then too high. From scores alone
    (:meth:`fit_scores`) no groups can be seen, and PULSCAR is what remains. No interval is made
    unless asked for, since every draw fits all classifiers anew.

    References
    ----------
    Kumar, P. and Lambert, C. G. (2023). Positive unlabeled learning selected not at random
    (PULSNAR). arXiv:2303.08269. Section 3.2, algorithm 2.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> centers = np.array([[5.0, 0.0], [0.0, 5.0], [0.0, 0.0]])  # two kinds of positives
    >>> labeled = rng.normal(np.repeat(centers[:2], [450, 50], axis=0))
    >>> unlabeled = rng.normal(np.repeat(centers, [150, 450, 1400], axis=0))
    >>> X, s = np.concatenate([labeled, unlabeled]), np.repeat([1, 0], [500, 2000])
    >>> found = PULSNAR(transform="logistic").fit(X, s)
    >>> round(found.alpha_, 1), len(set(found.groups_))
    (0.3, 2)
    """

    tags: ClassVar[PriorTags] = PriorTags(
        key="pulsnar",
        reads="features",
        assumes="labels are at random within groups that features tell apart",
        cost="n log n and some classifiers per group",
        source="Kumar and Lambert 2023",
        selection="SAR",
    )
    constraints: ClassVar[Constraints] = {
        "transform": named_or(
            Classifier(
                SCORES,
                why="each group of labeled rows needs one",
                hint="Leave it at 'auto', or pass scores to PULSCAR.",
            )
        ),
        "max_groups": WholeNumber(),
    }

    max_groups: int = 10
    interval: str | None = None
    n_draws: int = 20

    groups_: NDArray[np.int_] = field(init=False)

    def _solve(self, X: FloatArray, s: NDArray[np.int_], rng: np.random.Generator) -> Finding:
        labeled, unlabeled = X[s == 1], X[s == 0]
        seed = int(rng.integers(2**31))
        if X.shape[1] == 1:
            self.groups_ = np.zeros(len(labeled), int)
            found = matched_densities(checked_table(s, X[:, 0], self._name))
            warning = Note(
                "no-groups",
                "One column shows no groups of labeled rows: this is PULSCAR, for labels that "
                "are at random. Pass features to fit.",
            )
            return Finding(
                found.alpha,
                curve=found.curve,
                converged=found.converged,
                warnings=(*found.warnings, warning),
            )
        scaled = X - X.mean(axis=0)
        spread = X.std(axis=0)
        scaled /= np.where(spread > 0, spread, 1.0)
        self.groups_ = _grouped(scaled, s, self.max_groups, seed)
        members: dict[str, float] = {}
        findings = []
        for group in range(self.groups_.max() + 1):
            rows = np.concatenate([labeled[self.groups_ == group], unlabeled])
            labels = np.repeat([1, 0], [len(rows) - len(unlabeled), len(unlabeled)])
            scored = honest_scores(rows, labels, self.transform, seed, self._name)
            finding = matched_densities(checked_table(scored.s, scored.scores, self._name))
            findings.append(finding)
            members[f"group {group + 1} ({labels.sum():,} labeled)"] = float(
                np.clip(finding.alpha, 0.0, 1.0)
            )
        warnings = tuple(
            warning.about(name)
            for name, finding in zip(members, findings, strict=True)
            for warning in finding.warnings
        )
        heads = np.cumsum(list(members.values()))
        curve = PriorCurve(
            x=np.arange(1.0, len(heads) + 1),
            lines={"sum of shares": heads, "share of the group": np.array([*members.values()])},
            x_label="group of labeled rows",
            y_label="share of the unlabeled rows",
            marker=float(len(heads)),
        )
        return Finding(
            float(heads[-1]),
            curve=curve,
            converged=all(finding.converged for finding in findings),
            warnings=warnings,
            members=members,
        )

    def _draws(self, X: FloatArray, s: NDArray[np.int_], finding: Finding) -> FloatArray:
        of_all_rows = self.groups_
        draws = super()._draws(X, s, finding)
        self.groups_ = of_all_rows
        return draws


def _grouped(
    scaled: FloatArray, s: NDArray[np.int_], max_groups: int, seed: int
) -> NDArray[np.int_]:
    """Divide labeled rows by the Gaussian mixture with the lowest BIC whose groups are not tiny."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    forest = RandomForestClassifier(100, min_samples_leaf=5, n_jobs=1, random_state=seed)
    importance = forest.fit(scaled, s).feature_importances_
    chosen = np.argsort(-importance, kind="stable")[:MAX_FEATURES]
    chosen = chosen[importance[chosen] > 0]
    if not len(chosen):
        return np.zeros(int((s == 1).sum()), int)
    rows = scaled[s == 1][:, chosen] * (importance[chosen] / importance[chosen].max())
    best, lowest = np.zeros(len(rows), int), np.inf
    for number in range(1, min(max_groups, len(rows) // MIN_LABELED) + 1):
        mixture = GaussianMixture(number, n_init=3, reg_covar=1e-4, random_state=seed)
        with python_warnings.catch_warnings():
            python_warnings.simplefilter("ignore", ConvergenceWarning)
            groups = mixture.fit_predict(rows)
        bic = float(mixture.bic(rows))
        sizes = np.bincount(groups, minlength=number)
        if bic < lowest and sizes.min() >= MIN_LABELED:
            best, lowest = groups, bic
    return best
