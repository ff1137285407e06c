r"""Labels that favor some scores: the counts that fair labels would have given, and their luck.

A tilt is the odds of a label of the highest-scoring hidden positive over those of the lowest: above
1 labels favor high scores, below 1 low ones, at 1 none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from recoup._core.checks import FloatArray, Scheme
from recoup._core.prior import Prior
from recoup.metrics.area import area_under_roc, auc_pu
from recoup.metrics.curves import monotone_rates, recovered_roc
from recoup.metrics.measure import measure
from recoup.metrics.rates import Mixture
from recoup.metrics.spec import MetricSpec, evaluated_specs
from recoup.scores.table import ScoreTable

if TYPE_CHECKING:
    from recoup.evaluation.results import Evaluation

CALLER = "selection_sensitivity"
N_REPLICATES = 400
BINS = 512
# The fewest labeled rows that an estimator of alpha takes.
FEWEST_ROWS = 20
# Alpha is kept so far below 1: metrics of the negatives divide by their share.
MARGIN = 0.005
# Most that the distance to a limit is corrected by, either way.
MOST_SCALE = 3.0

Distances = dict[str, tuple[float, float]]


def hidden_share(labeled: FloatArray, tilt: float) -> FloatArray:
    """Share of the hidden positives up to each score, ascending, along the last axis."""
    heads = np.cumsum(labeled, axis=-1)
    # H of selection_sensitivity; log1p, because tilt - 1 may be small.
    share: FloatArray = np.log1p((tilt - 1) * heads / heads[..., -1:]) / np.log(tilt)
    return share


def hidden_counts(labeled: FloatArray, tilt: float) -> FloatArray:
    """Scores of the hidden positives, as many as there are labeled rows."""
    if tilt == 1:
        return labeled
    total = labeled.sum(axis=-1, keepdims=True)
    counts: FloatArray = total * np.diff(hidden_share(labeled, tilt), prepend=0.0, axis=-1)
    return counts


def fair_counts(
    labeled: FloatArray, unlabeled: FloatArray, alpha: Any, scheme: Scheme, tilt: float
) -> tuple[FloatArray, FloatArray]:
    """Return what labels at random would have given, along the last axis; one alpha per row."""
    hidden = hidden_counts(labeled, tilt)
    if scheme == "case-control":
        return hidden, unlabeled
    # All positives are a mixture of labeled and hidden ones. Giving both groups that same
    # distribution moves counts between them; the total at each score stays.
    n_labeled = labeled.sum(axis=-1, keepdims=True)
    n_hidden = alpha * unlabeled.sum(axis=-1, keepdims=True)
    moved = (labeled - hidden) * (n_hidden / (n_labeled + n_hidden))
    return labeled - moved, unlabeled + moved


def fair_table(table: ScoreTable, mixture: Mixture, tilt: float) -> ScoreTable:
    """Return the table that labels at random would have given, if labels have this tilt."""
    if tilt == 1:
        return table
    labeled, unlabeled = fair_counts(
        table.labeled.astype(float), table.unlabeled, mixture.alpha, mixture.scheme, tilt
    )
    return replace(table, labeled=labeled, unlabeled=unlabeled)


def hidden_table(counts: ScoreTable, tilt: float) -> ScoreTable:
    """Return counts whose labeled rows are weighted to follow the hidden positives."""
    labeled = counts.labeled.astype(float)
    hidden = hidden_counts(labeled, tilt)
    weight = np.divide(hidden, labeled, out=np.zeros_like(hidden), where=labeled > 0)
    squares = weight**2 * counts.squares_of("labeled")
    # Weights must not take away the last rows that an estimator needs.
    fewest = min(FEWEST_ROWS, counts.effective_sizes[0])
    squares *= min(1.0, counts.n_labeled**2 / (fewest * squares.sum()))
    others = [counts.squares_of(group) for group in ("unlabeled", "negative")]
    return replace(counts, labeled=hidden, squares=(squares, *others))


@dataclass(frozen=True, eq=False)
class AtTilt:
    """Every metric at one tilt, by key: value, lower and upper limit; and the alpha in use."""

    alpha: float
    values: dict[str, float]
    lower: dict[str, float]
    upper: dict[str, float]


class TiltedEvaluation:
    """An evaluation under the tilts that its labels may have.

    Parameters
    ----------
    evaluation : Evaluation
        What :func:`recoup.evaluate` returned, with beta = 1.
    """

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        self._at_random: Distances = {}

    def at(self, tilt: float, keys: Iterable[str] | None = None) -> AtTilt:
        """Recover the metrics of these keys, by default all, at one tilt."""
        evaluation = self.evaluation
        wanted = list(evaluation.metrics if keys is None else keys)
        if tilt == 1:
            found = {key: evaluation[key] for key in wanted}
            return AtTilt(
                evaluation.alpha,
                {key: one.recovered for key, one in found.items()},
                {key: one.lower for key, one in found.items()},
                {key: one.upper for key, one in found.items()},
            )
        prior = self.prior(tilt)
        mixture = evaluation.given.mixture(evaluation.table, prior.alpha)
        fair = fair_table(evaluation.table, mixture, tilt)
        measured = measure(fair, mixture, recovered_roc(fair, mixture), evaluation.threshold)
        distances = self._distances(tilt, prior, wanted)
        values, lower, upper = {}, {}, {}
        for spec in self._specs(wanted):
            # What choosing the threshold added is taken off here as in the evaluation itself.
            extra = evaluation[spec.key].optimism
            raw, value = (one - extra for one in measured[spec.key])
            value = spec.clip(value)
            below, above = distances[spec.key]
            values[spec.key] = value
            lower[spec.key] = min(spec.clip(raw - below), value)
            upper[spec.key] = max(spec.clip(raw + above), value)
        return AtTilt(prior.alpha, values, lower, upper)

    def prior(self, tilt: float) -> Prior:
        """Alpha at a tilt: estimated again where it was estimated from these scores."""
        prior = self.evaluation.prior
        if tilt == 1 or not self.estimates_alpha:
            return prior
        from recoup.priors import estimate

        found = estimate(
            hidden_table(self.evaluation.given.counts, tilt),
            method=prior.estimate.method,
            beta=1.0,
            confidence=self.evaluation.confidence,
        )
        return Prior.of(replace(found, alpha=min(found.alpha, 1 - MARGIN)), 1.0, CALLER)

    @cached_property
    def estimates_alpha(self) -> bool:
        """Whether alpha was estimated from the very scores of the evaluation."""
        estimate = self.evaluation.prior.estimate
        if getattr(estimate, "transform", None) != "given scores":
            return False
        from recoup.priors._solvers.resample import counts_only

        rows = counts_only(self.evaluation.given.counts)
        return (estimate.n_labeled, estimate.n_unlabeled) == (
            rows.n_labeled,
            rows.n_unlabeled,
        ) and abs(estimate.auc_pu - auc_pu(rows)) < 1e-9

    def _specs(self, keys: list[str]) -> list[MetricSpec]:
        known = evaluated_specs(probabilities=self.evaluation.table.holds_probabilities)
        return [spec for spec in known if spec.key in keys]

    def _distances(self, tilt: float, prior: Prior, keys: list[str]) -> Distances:
        """Distances from each metric down and up to its limits.

        Those of the replicates, corrected by what turns them into the interval of the evaluation
        where labels are at random.
        """
        drawn = self._spread(tilt, prior, keys)
        missing = [key for key in keys if key not in self._at_random]
        self._at_random |= self._spread(1.0, self.evaluation.prior, missing)
        found = {}
        for spec in self._specs(keys):
            estimate = self.evaluation[spec.key]
            center = estimate.raw - estimate.optimism
            ends = (center - estimate.lower, estimate.upper - center)
            if _is_of_valid_curve(spec):
                # Near labels at random the limits are those of the evaluation, and soon those of
                # the replicates alone.
                fade = min(tilt, 1 / tilt) ** 2
                both = zip(drawn[spec.key], ends, self._at_random[spec.key], strict=True)
                below, above = (far + fade * (end - near) for far, end, near in both)
                found[spec.key] = below, above
                continue
            cut = (estimate.lower <= spec.low, estimate.upper >= spec.high)
            scaled = []
            for distance, end, clipped, reference in zip(
                drawn[spec.key], ends, cut, self._at_random[spec.key], strict=True
            ):
                scale = np.nan if np.isnan(end) else 1.0
                # A limit that was cut off at the end of the range says nothing about distances.
                if not clipped and end > 0 and reference > 0:
                    scale = float(np.clip(end / reference, 1 / MOST_SCALE, MOST_SCALE))
                scaled.append(distance * scale)
            found[spec.key] = scaled[0], scaled[1]
        return found

    def _spread(self, tilt: float, prior: Prior, keys: list[str]) -> Distances:
        """Distances from the median of the replicates down and up to their percentiles."""
        tail = (1 - self.evaluation.confidence) / 2
        rng = np.random.default_rng(0)
        alphas = [prior.sample(N_REPLICATES, rng)[0]]
        if prior.interval is not None:
            # Nothing says where in an interval alpha lies: the farthest limits count.
            alphas += list(prior.interval)
        found: Distances = {}
        sets = [self._replicates(tilt, alpha, keys) for alpha in alphas]
        for key in keys:
            values = np.array([one[key] for one in sets])
            some = ~np.isnan(values).all(axis=1)
            if not some.any():
                found[key] = np.nan, np.nan
                continue
            low, middle, high = np.nanquantile(values[some], [tail, 0.5, 1 - tail], axis=1)
            found[key] = float(middle[0] - low.min()), float(high.max() - middle[0])
        return found

    @cached_property
    def _coarse(self) -> ScoreTable:
        return self.evaluation.table.thin(BINS, (self.evaluation.threshold,))

    @cached_property
    def _drawn(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Labeled and unlabeled rows of each replicate by score, and the known share of the latter.

        Every count is a Poisson number of its own, so that the sizes of the groups vary as those
        of a single sample do. Metrics of the case-control scheme do not see the sizes.
        """
        coarse, given = self._coarse, self.evaluation.given
        rng = np.random.default_rng(0)
        mass, squares = coarse.labeled.astype(float), coarse.squares_of("labeled")
        share = _drawn_share(mass, squares, rng)
        share[~(share * mass).any(axis=1)] = 1.0
        if given.by_propensity:
            # A labeled row stands for itself among all rows and for 1/propensity positives.
            counts = given.counts
            places = np.searchsorted(coarse.scores, counts.scores, side="right") - 1
            themselves, own_squares = (
                np.bincount(places, column, minlength=len(mass))
                for column in (counts.labeled, counts.squares_of("labeled"))
            )
            others = np.maximum(coarse.unlabeled - themselves, 0.0)
            other_squares = np.maximum(coarse.squares_of("unlabeled") - own_squares, 0.0)
            drawn = _drawn_share(others, other_squares, rng) * others + share * themselves
            return share * mass, drawn, np.zeros((N_REPLICATES, 1))
        known = np.zeros(len(mass)) if coarse.known is None else coarse.known.astype(float)
        others = coarse.unlabeled - known
        other_squares = coarse.squares_of("unlabeled") - coarse.known_squares
        drawn_known = _drawn_share(known, coarse.known_squares, rng) * known
        unlabeled = _drawn_share(others, other_squares, rng) * others + drawn_known
        n_known = drawn_known.sum(axis=1, keepdims=True)
        return share * mass, unlabeled, n_known / unlabeled.sum(axis=1, keepdims=True)

    def _replicates(self, tilt: float, alpha: Any, keys: list[str]) -> dict[str, FloatArray]:
        """Every replicate's raw metrics, for one alpha or one per replicate."""
        labeled, unlabeled, known = self._drawn
        scheme = self.evaluation.mixture.scheme
        share = np.reshape(alpha, (-1, 1)) * (1 - known)
        if self.evaluation.given.by_propensity:
            share = labeled.sum(axis=1, keepdims=True) / unlabeled.sum(axis=1, keepdims=True)
            share = np.clip(share, 0.0, 1 - MARGIN)
        labeled, unlabeled = fair_counts(labeled, unlabeled, share, scheme, tilt)
        n_labeled, n_unlabeled = labeled.sum(axis=1), unlabeled.sum(axis=1)
        shares = share[:, 0]
        pi = shares
        if scheme == "single-sample":
            pi = (n_labeled + shares * n_unlabeled) / (n_labeled + n_unlabeled)
        mixture = Mixture(shares, 1.0, pi, scheme)
        tpr_pu, fpr_pu = _heads(labeled), _heads(unlabeled)
        tpr, fpr = mixture.by_row().true_rates(tpr_pu, fpr_pu)
        coarse, wanted = self._coarse, self._specs(keys)
        place = len(coarse.scores) - int(np.searchsorted(coarse.scores, self.evaluation.threshold))
        valid: tuple[FloatArray, FloatArray] | None = None
        found = {}
        for spec in wanted:
            if spec.kind == "point":
                values = spec.formula(tpr[:, place], fpr[:, place], pi)
            elif spec.kind == "proper":
                if_positive, if_negative = (loss[::-1] for loss in spec.formula(coarse.centers))
                positives, negatives = np.diff(tpr) @ if_positive, np.diff(fpr) @ if_negative
                values = pi * positives + (1 - pi) * negatives
            elif spec.from_auc_pu is not None:
                values = spec.from_auc_pu(area_under_roc(tpr_pu, fpr_pu), mixture)
            elif spec.raw_curve:
                values = spec.along(tpr, fpr, pi)
            else:
                if valid is None:
                    valid = _valid(tpr, coarse), _valid(fpr, coarse)
                values = spec.along(*valid, pi)
            found[spec.key] = np.asarray(values, float)
        return found


def _drawn_share(mass: FloatArray, squares: FloatArray, rng: np.random.Generator) -> FloatArray:
    """How often each replicate draws the rows at each score, on average 1."""
    # A sum of weights, each drawn a Poisson number of times, has mean sum(w) and variance
    # sum(w^2). One Poisson variable with mean (sum w)^2 / sum w^2, scaled, has the same two.
    effective = np.divide(mass**2, squares, out=np.zeros(len(mass)), where=squares > 0)
    drawn = rng.poisson(effective, size=(N_REPLICATES, len(mass)))
    share: FloatArray = drawn / np.where(effective > 0, effective, 1.0)
    return share


def _heads(counts: FloatArray) -> FloatArray:
    """Shares at or above each score from the highest down, with a 0 before them."""
    heads = np.zeros((len(counts), counts.shape[1] + 1))
    np.cumsum(counts[:, ::-1], axis=1, out=heads[:, 1:])
    return heads / heads[:, -1:]


def _valid(rates: FloatArray, table: ScoreTable) -> FloatArray:
    weights = np.append(0.0, (table.labeled + table.unlabeled)[::-1])
    return monotone_rates(rates, weights)


def _is_of_valid_curve(spec: MetricSpec) -> bool:
    """Whether the evaluation's limits may lie around the valid curve's area, far from the raw one.

    They then say nothing about how far replicates of the raw one should reach.
    """
    return spec.kind == "area" and spec.from_auc_pu is None
