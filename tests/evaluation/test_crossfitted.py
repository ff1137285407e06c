from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import TimeSeriesSplit

from recoup import evaluate
from recoup.audit import Audit
from recoup.evaluation.crossfitted import LARGEST, factor, widening
from recoup.exceptions import InvalidInputError
from recoup.metrics.rates import Mixture
from recoup.metrics.spec import evaluated_specs
from recoup.scores import crossfit
from recoup.scores.crossfit import CrossfitScores

PARTS = 5


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(0)
    y = rng.random(600) < 0.4
    X = rng.normal(size=(600, 8)) + y[:, None] * 0.4
    s = np.where(y & (rng.random(600) < 0.5), 1, 0)
    s[rng.choice(np.flatnonzero(~y), 20, replace=False)] = -1
    return crossfit(LogisticRegression(), X, s, halves=True)


def test_halves_that_agree_ask_for_nothing_and_halves_that_do_not_for_twice_the_variance():
    rng = np.random.default_rng(0)
    one, other = (tuple(rng.normal(size=(2, 40_000))) for _ in range(2))
    assert factor(one, one) == 1.0
    assert factor(one, other) == pytest.approx(LARGEST, abs=0.01)
    assert factor(one, tuple(-values for values in one)) == LARGEST
    nothing = np.zeros(5), np.zeros(5)
    assert factor(nothing, nothing) == LARGEST


def test_the_factor_is_that_of_spearman_and_brown():
    rng = np.random.default_rng(0)
    ability, *errors = rng.normal(size=(3, 2, 200_000))
    one, other = (tuple(ability + 2 * error) for error in errors)
    # The variance of what is shared is 1, of chance 4 with half of the rows and 2 with all.
    assert factor(one, other) == pytest.approx(np.sqrt(1 + 2 / 3), abs=0.01)
    assert factor(one, other, 0.5) == pytest.approx(np.sqrt(1 + 1 / 3), abs=0.01)


@pytest.mark.parametrize("scheme", ["single-sample", "case-control"])
def test_every_metric_of_an_evaluation_gets_a_factor(found, scheme):
    known = {"alpha": 0.25, "scheme": scheme, "n_boot": 0}
    plain = evaluate(found.s, found.scores, **known)
    factors = widening(found, plain.mixture, plain.threshold, scheme)
    assert set(factors) == set(plain.metrics)
    assert all(1 < value < LARGEST for value in factors.values())
    assert factors["pr_auc"] == factors["average_precision"]
    wide = evaluate(found, **known)
    for key, item in wide.metrics.items():
        before = plain[key]
        assert item.recovered == before.recovered
        assert item.lower <= before.lower
        assert item.upper >= before.upper
    auc, before = wide["roc_auc"], plain["roc_auc"]
    assert before.raw - auc.lower == pytest.approx(factors["roc_auc"] * (before.raw - before.lower))
    point, flat = wide.at(wide.threshold)["recall"], plain.at(plain.threshold)["recall"]
    assert point.lower == wide["recall"].lower < flat.lower
    assert (wide.roc_band.lower <= plain.roc_band.lower + 1e-12).all()
    widest = evaluate(found.s, found.scores, scored="crossfit", **known)
    assert widest["roc_auc"].lower < auc.lower
    assert wide["roc_auc"].possible_lower <= auc.lower


def test_a_way_of_scoring_that_is_not_known_is_refused(found):
    with pytest.raises(InvalidInputError, match="'once' or 'crossfit'"):
        evaluate(found.s, found.scores, alpha=0.25, scored="twice")


def test_without_halves_intervals_are_the_widest(found):
    plain = evaluate(found.s, found.scores, alpha=0.25, n_boot=0)
    factors = widening(
        replace(found, half_scores=None), plain.mixture, plain.threshold, "single-sample"
    )
    assert set(factors.values()) == {LARGEST}


def test_scores_that_are_no_probabilities_have_no_proper_metric(found):
    odds = replace(found, scores=10 * found.scores, half_scores=10 * found.half_scores)
    mixture = Mixture(0.25, 1.0, 0.4, "single-sample")
    keys = {spec.key for spec in evaluated_specs(probabilities=False)}
    assert set(widening(odds, mixture, 3.0, "single-sample")) == keys


def test_the_widened_variance_is_the_true_one():
    """Means as directions in 20 dimensions: all that the models learn is known exactly."""
    rng = np.random.default_rng(0)
    n, shift = 300, np.zeros(20)
    shift[0] = 1.0
    s = np.arange(n) % 3 == 0
    fold = np.arange(n) // 3 % PARTS
    half = np.arange(n) // (3 * PARTS) % 2
    errors, plain, times = [], [], []
    mixture = Mixture(0.0, 1.0, 1 / 3, "single-sample")
    for _ in range(250):
        X = rng.normal(size=(n, 20)) + s[:, None] * shift
        scores, halves, true = np.zeros(n), np.zeros((2, n)), []
        for part in range(PARTS):
            test = fold == part

            def direction(rows, X=X):
                return X[rows & s].mean(0) - X[rows & ~s].mean(0)

            w = direction(~test)
            true.append(norm.cdf(w @ shift / np.linalg.norm(w) / np.sqrt(2)))
            # Scores of different folds are made comparable: their scale is not what is tested.
            scores[test] = X[test] @ w / np.linalg.norm(w)
            for side in range(2):
                w = direction(~test & (half == side))
                halves[side, test] = X[test] @ w / np.linalg.norm(w)
        found = CrossfitScores(s.astype(int), scores, fold[None], "", "", 0.0, halves)
        above = (scores[s][:, None] > scores[~s]).astype(float)
        errors.append(above.mean() - np.mean(true))
        plain.append(above.mean(1).var(ddof=1) / s.sum() + above.mean(0).var(ddof=1) / (~s).sum())
        times.append(widening(found, mixture, 0.0, "single-sample")["roc_auc"] ** 2)
    ratio = np.mean(np.square(errors)) / np.mean(plain)
    assert np.mean(times) == pytest.approx(ratio, rel=0.15)
    assert np.mean(times) > 1.2


@pytest.fixture(scope="module")
def forward():
    rng = np.random.default_rng(1)
    y = rng.random(900) < 0.4
    X = rng.normal(size=(900, 4)) + y[:, None] * 0.7
    s = np.where(y & (rng.random(900) < 0.5), 1, 0)
    return crossfit(LogisticRegression(), X, s, cv=TimeSeriesSplit(5), halves=True)


def test_rows_that_only_train_are_not_judged(forward):
    found = evaluate(forward, alpha=0.25, n_boot=0)
    kept = forward.scored
    by_hand = evaluate(forward.s[kept], forward.scores[kept], alpha=0.25, n_boot=0)
    assert found.n_labeled + found.n_unlabeled == kept.sum() == 750
    for key in ("roc_auc", "precision", "recall"):
        assert found[key].recovered == by_hand[key].recovered
    # Models were fitted, and intervals are wider for it.
    assert found["roc_auc"].upper - found["roc_auc"].lower > (
        by_hand["roc_auc"].upper - by_hand["roc_auc"].lower
    )


def test_weights_of_rows_that_only_train_are_left_out(forward):
    weight = np.where(forward.scored, 2.0, 100.0)
    found = evaluate(forward, alpha=0.25, n_boot=0, sample_weight=weight)
    assert found["roc_auc"].recovered == pytest.approx(
        evaluate(forward, alpha=0.25, n_boot=0)["roc_auc"].recovered
    )
    assert found.n_labeled + found.n_unlabeled == 1500


def test_positions_are_refused_where_rows_are_left_out(forward):
    with pytest.raises(InvalidInputError, match="of_scored_rows"):
        evaluate(forward, audit=Audit.uniform([1, 2], [1, 0]))
