"""PULSNAR: PULSCAR for each group of labeled rows, for labels that favor some groups."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup._core.constraints import Classifier, Constraints, WholeNumber
from recoup._core.notes import Note
from recoup.priors._solvers.groups import (
    group_chances,
    group_tables,
    labeled_groups,
    unit_columns,
)
from recoup.priors._solvers.transform import SCORES, honest_scores, named_or
from recoup.priors.base import (
    DRAWING_ROWS,
    FeaturePriorEstimator,
    Finding,
    PriorTags,
    checked_table,
    interval_by,
    plausible,
)
from recoup.priors.pulscar import matched_densities
from recoup.priors.results import PriorCurve
from recoup.priors.share_net import QUANTILES, draws_between, share_quantiles
from recoup.scores.table import ScoreTable


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
        What scores the rows of a group and the unlabeled rows; every row is scored by models that
        were fitted on other rows. ``"auto"`` fits one forest of extremely randomized trees for all
        groups, and scores every row by the trees that have not seen it. Anything else is fitted
        for each group anew, on folds.
    interval : {"network", "subsample", "bootstrap", "refit"} or None, default="network"
        How the interval around alpha is made. ``"network"`` adds up the quantiles that
        :class:`recoup.priors.ShareNet` gives for each group, as if the errors of all groups went
        the same way. ``"subsample"`` draws fewer rows without replacement and scales the spread
        down; ``"bootstrap"`` and ``"refit"`` draw as many rows with replacement. Every draw runs
        the whole method. None: no interval.
    n_draws : int, default=100
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
    Features are standardized and multiplied by their importance in a forest that tells labeled
    from unlabeled rows, so that groups differ in what matters. Groups whose positives overlap are
    counted twice there, and alpha is then too high. From scores alone (:meth:`fit_scores`) no
    groups can be seen, and PULSCAR is what remains.

    The published method fits boosted trees for each group. One forest for all groups takes a sixth
    of the time, and errs as much on average (12 problems with kinds labeled at rates that differ
    sixfold). Where rows have copies among the others, the trees that have not seen a row may have
    seen its copy.

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
        "interval": interval_by("network", *DRAWING_ROWS),
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
    interval: str | None = "network"
    n_draws: int = 100

    groups_: NDArray[np.int_] = field(init=False)

    def _solve(self, X: FloatArray, s: NDArray[np.int_], rng: np.random.Generator) -> Finding:
        seed = int(rng.integers(2**31))
        if X.shape[1] == 1:
            self.groups_ = np.zeros(int((s == 1).sum()), int)
            table = checked_table(s, X[:, 0], self._name)
            found = matched_densities(table)
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
                draws=self._summed([table]),
            )
        scaled = unit_columns(X)
        self.groups_ = labeled_groups(scaled, s, self.max_groups, seed)
        tables = self._tables(X, scaled, s, seed)
        findings = [matched_densities(table) for table in tables]
        members = {
            f"group {group + 1} ({table.n_labeled:,.0f} labeled)": float(
                np.clip(finding.alpha, 0.0, 1.0)
            )
            for group, (table, finding) in enumerate(zip(tables, findings, strict=True))
        }
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
            draws=self._summed(tables),
        )

    def _tables(
        self, X: FloatArray, scaled: FloatArray, s: NDArray[np.int_], seed: int
    ) -> list[ScoreTable]:
        """Score the rows of each group and all unlabeled rows by models of other rows."""
        if isinstance(self.transform, str) and self.transform == "auto":
            chances = group_chances(scaled, s, self.groups_, seed)
            return [
                checked_table(table, None, self._name)
                for table in group_tables(chances, s, self.groups_)
            ]
        labeled, unlabeled = X[s == 1], X[s == 0]
        tables = []
        for group in range(self.groups_.max() + 1):
            rows = np.concatenate([labeled[self.groups_ == group], unlabeled])
            labels = np.repeat([1, 0], [len(rows) - len(unlabeled), len(unlabeled)])
            scored = honest_scores(rows, labels, self.transform, seed, self._name)
            tables.append(checked_table(scored.s, scored.scores, self._name))
        return tables

    def _summed(self, tables: list[ScoreTable]) -> FloatArray:
        """Add up what each group may have, the low draws of all and the high draws of all."""
        draws = [draws_between(share_quantiles(t), QUANTILES, self.n_draws) for t in tables]
        summed: FloatArray = np.sum(draws, axis=0)
        return plausible(np.column_stack([summed, np.ones(len(summed))]), both=False)

    def _draws(self, X: FloatArray, s: NDArray[np.int_], finding: Finding) -> FloatArray:
        if self.interval not in DRAWING_ROWS and finding.draws is not None:
            return finding.draws
        of_all_rows = self.groups_
        draws = super()._draws(X, s, finding)
        self.groups_ = of_all_rows
        return draws
