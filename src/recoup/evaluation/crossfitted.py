"""How much wider intervals must be where rows were scored by models fitted on the other rows.

Rows of one fold test a model that was fitted on the rows of the others, and these in turn test
models that were fitted on the first. What row i teaches the model that scores row j is, to first
order, what row j teaches the model that scores row i: the influence of rows on each other's scores
is symmetric, be it a kernel, an inverse Hessian or the leaves of a tree. So the same chance pair
of rows moves a metric twice.

Let V be the variance of a metric that counts rows as independent, and E the part of it that comes
from what models learned by chance, which other training rows would not have taught them. The
pairs of rows that make up E come twice, so that the true variance is V + E, and at most 2 V.

E is measured by two models for each fold, fitted on the halves of its training rows. Let c be the
correlation of the influence of rows on the metric of one model with that of the other. A model
fitted on all training rows learned the share (1 - c)/(1 + c) by chance: that is the formula of
Spearman and Brown (1910) for the reliability of a test of twice the length.

The intervals are about the models as they were fitted: a new row, scored by the model of a random
fold. ``tools/studies/crossfitted.py`` measures their coverage.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray, Scheme
from recoup.metrics.intervals import CROSSFITTED
from recoup.metrics.rates import Mixture
from recoup.metrics.spec import MetricSpec, evaluated_specs
from recoup.scores.crossfit import CrossfitScores
from recoup.scores.table import ScoreTable

# Influence values of the labeled rows and of the unlabeled rows.
RowInfluence: TypeAlias = tuple[FloatArray, FloatArray]

# What was learned by chance is a part of the whole, so that the variance at most doubles.
LARGEST = CROSSFITTED

# Where influence jumps at a threshold, only what is linear in the chance is made of pairs of rows.
# Let t be the standard deviation of what a model learns by chance about a row, and scores lie
# evenly around the threshold. Two models fitted on halves differ by the variance t * sqrt(2 / pi);
# the linear part for all training rows is t / (2 * sqrt(pi)), where one half of the former
# difference would be taken for it.
LINEAR_PART_OF_STEPS = float(np.sqrt(0.5))


def widening(
    found: CrossfitScores, mixture: Mixture, threshold: float, scheme: Scheme
) -> dict[str, float]:
    """Return how many times wider the interval of each metric is than for independent rows.

    Parameters
    ----------
    found : CrossfitScores
        Scores from other folds. Without ``half_scores`` nothing tells how much models have learned
        by chance, and every metric gets the largest factor.
    mixture : Mixture
        Shares of positives in the two groups of rows and in the population.
    threshold : float
        Where scores become predictions.
    scheme : {"single-sample", "case-control"}
        Whether known negatives count among the rows.

    Returns
    -------
    dict of str to float
        From 1 to the square root of 2, by key of the metric. A metric without influence values
        takes the factor of the metric whose limits it shares, or the largest one of its kind.
    """
    specs = evaluated_specs(probabilities=found.table().holds_probabilities)
    if found.half_scores is None:
        return {spec.key: LARGEST for spec in specs}
    with_influence = [spec for spec in specs if spec.row_effects is not None]

    def influences(scores: FloatArray) -> dict[str, RowInfluence]:
        return _row_influences(found.s, scores, with_influence, mixture, threshold, scheme)

    one, other = map(influences, found.half_scores)
    factors = {}
    for spec in with_influence:
        part = LINEAR_PART_OF_STEPS if spec.kind == "point" else 1.0
        factors[spec.key] = factor(one[spec.key], other[spec.key], part)
    for spec in specs:
        if spec.key not in factors:
            alike = [factors[one.key] for one in with_influence if one.kind == spec.kind]
            factors[spec.key] = factors.get(spec.limits_of or "", max(alike, default=LARGEST))
    return factors


def factor(one: RowInfluence, other: RowInfluence, part: float = 1.0) -> float:
    """Return how many times wider an interval must be than one for independent rows.

    Parameters
    ----------
    one, other : tuple of ndarray
        Influence of each labeled and of each unlabeled row on a metric, less their mean, with the
        scores of models that were fitted on one half of the training rows and on the other.
    part : float, default=1.0
        How much of what was learned by chance is made of pairs of rows.

    Returns
    -------
    float
        From 1 to the square root of 2.
    """

    def product(first: RowInfluence, second: RowInfluence) -> float:
        """Covariance of two estimates with these influence values."""
        groups = zip(first, second, strict=True)
        return float(sum(np.dot(a, b) / len(a) ** 2 for a, b in groups))

    size = np.sqrt(product(one, one) * product(other, other))
    correlation = max(product(one, other) / size, 0.0) if size > 0 else 0.0
    return float(np.sqrt(1 + part * (1 - correlation) / (1 + correlation)))


def _row_influences(
    s: NDArray[np.int_],
    scores: FloatArray,
    specs: list[MetricSpec],
    mixture: Mixture,
    threshold: float,
    scheme: Scheme,
) -> dict[str, RowInfluence]:
    """Return the influence of each row on each metric, less the mean over its group."""
    table = ScoreTable.from_arrays(s, scores).whole("evaluate").with_negatives_folded_in(scheme)
    groups = s == 1, s == 0 if scheme == "case-control" else s != 1
    last = len(table.scores) - 1
    # Influence values start at the highest score.
    places = [last - np.searchsorted(table.scores, scores[rows]) for rows in groups]
    found = {}
    for spec in specs:
        assert spec.row_effects is not None
        by_score = spec.row_effects(table, mixture, threshold)
        labeled, others = (values[place] for values, place in zip(by_score, places, strict=True))
        found[spec.key] = labeled - labeled.mean(), others - others.mean()
    return found
