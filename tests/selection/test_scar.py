"""The test of labels at random: level, power, and what it refuses."""

from __future__ import annotations

import copy
import json
import pickle

import matplotlib as mpl
import numpy as np
import pytest
from scipy import sparse
from scipy.special import ndtri
from sklearn.linear_model import LogisticRegression

from recoup._core.random import named_rng
from recoup.exceptions import InvalidInputError
from recoup.priors.results import PriorEstimate
from recoup.scores.folds import PUStratifiedKFold
from recoup.scores.table import ScoreTable
from recoup.selection.scar import forward_scores, scar_test
from recoup.selection.simulated_labels import (
    _excess,
    _labels_at_random,
    _posterior,
    grouped,
)

mpl.use("Agg")


def rows(n=2000, prior=0.4, distance=2.0, seed=0):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < prior
    X = rng.normal(size=(n, 3))
    X[:, 0] += distance * positive
    return X, positive, rng


def labeled_at_random(frequency=0.3, **options):
    X, positive, rng = rows(**options)
    s = positive & (rng.random(len(positive)) < frequency)
    return X, s, positive[~s].mean()


def labeled_if_clear(frequency=0.3, **options):
    """Only positives in the upper half of the first feature get labels."""
    X, positive, rng = rows(**options)
    clear = positive & (X[:, 0] > np.median(X[positive, 0]))
    s = clear & (rng.random(len(clear)) < 2 * frequency)
    return X, s, positive[~s].mean()


@pytest.mark.parametrize(
    ("distance", "prior", "frequency"), [(1.5, 0.5, 0.3), (3.0, 0.3, 0.3), (4.0, 0.5, 0.7)]
)
def test_level(distance, prior, frequency):
    """With 100 runs at 10%, fewer than 2 or more than 19 have a chance below 0.4%."""
    p_values = []
    for seed in range(100):
        X, s, alpha = labeled_at_random(
            frequency, n=1200, distance=distance, prior=prior, seed=seed
        )
        p_values.append(scar_test(X[:, 0], s, alpha, 59, None, seed).p_value)
    rejected = np.array(p_values) <= 0.1
    assert 2 <= rejected.sum() <= 19
    assert 0.35 < np.mean(p_values) < 0.75


@pytest.mark.parametrize("classifier", ["auto", "logistic", LogisticRegression()])
def test_favored_positives_are_seen(classifier):
    X, s, alpha = labeled_if_clear()
    found = scar_test(X, s, alpha, 99, classifier)
    assert found.p_value == 0.01
    assert found.statistic > found.null.max()
    assert found.labeled_top > found.expected_top
    assert found.warnings == ()
    assert found.method.endswith("alpha given")


def test_random_labels_with_another_alpha_are_not_random():
    """More hidden positives than there are would have left more labels elsewhere."""
    X, s, alpha = labeled_at_random(n=4000, distance=4.0)
    assert scar_test(X, s, alpha, 99, "logistic").p_value > 0.05
    assert scar_test(X, s, min(2 * alpha, 0.95), 99, "logistic").p_value == 0.01


def test_estimated_alpha_leaves_no_power_and_says_so():
    X, s, alpha = labeled_if_clear(n=1500)
    found = scar_test(X[:, 0], s, None, 39, None)
    assert found.p_value > 0.05
    assert "estimated from the labels" in found.warnings[0]
    assert found.method == "given scores, alpha estimated"
    assert found.compatible_alpha < alpha
    assert f"if more than {found.compatible_alpha:.0%} of the unlabeled" in found.warnings[0]


def test_no_excess_is_no_evidence():
    """Negatives among the highest scores put the whole null below 0."""
    rng = np.random.default_rng(0)
    positive = np.arange(2000) < 800
    scores = rng.normal(np.where(positive, 1.0, 0.0))
    scores[rng.choice(np.flatnonzero(~positive), 200, replace=False)] = rng.normal(4, 1, 200)
    s = positive & (rng.random(2000) < 0.8)
    found = scar_test(scores, s, positive[~s].mean(), 99, None)
    assert found.statistic < 0
    assert found.null.max() < 0
    assert found.p_value == 1
    assert found.warnings == ()


def test_p_values_of_other_alphas():
    X, s, alpha = labeled_if_clear(n=1500)
    found = scar_test(X[:, 0], s, alpha, 59, None)
    alphas = [alpha / 4, alpha, 0.9]
    again = [scar_test(X[:, 0], s, value, 59, None).p_value for value in alphas]
    np.testing.assert_array_equal(found.p_values(alphas), again)
    np.testing.assert_array_equal(found.p_values(alpha), [found.p_value])
    for wrong in (0.0, 1.0, 1.5, [0.2, np.nan]):
        with pytest.raises(InvalidInputError, match="alpha"):
            found.p_values(wrong)


def test_compatible_alpha_is_where_rejection_begins():
    X, s, _ = labeled_if_clear(n=1500)
    found = scar_test(X[:, 0], s, 0.3, 59, None)
    limit = found.compatible_alpha
    last, first = found.p_values([limit, limit + 0.01])
    assert last > 0.05 >= first
    # It belongs to the scores, not to the alpha that was tested.
    assert scar_test(X[:, 0], s, 0.1, 59, None).compatible_alpha == limit
    assert copy.deepcopy(found).compatible_alpha == limit
    assert pickle.loads(pickle.dumps(found)).compatible_alpha == limit


def test_compatible_alpha_bounds_the_truth_if_labels_are_random():
    """A 95% limit: of 20 runs, more than 4 below the truth have a chance below 0.3%."""
    limits, truths = [], []
    for seed in range(20):
        X, s, alpha = labeled_at_random(n=1200, distance=4.0, seed=seed)
        limits.append(scar_test(X[:, 0], s, alpha, 39, None, seed).compatible_alpha)
        truths.append(alpha)
    below = np.array(limits) + 0.01 < truths
    assert below.sum() <= 4
    # With separable classes it is close, too.
    assert np.median(np.array(limits) - truths) < 0.1


def test_compatible_alpha_at_its_ends():
    labeled = np.arange(4000) < 2000
    at_the_bottom = scar_test(np.arange(4000.0), labeled, 0.2, 39, None)
    assert at_the_bottom.compatible_alpha == 1
    all_above = scar_test(-np.arange(4000.0), labeled, 0.2, 39, None)
    assert all_above.compatible_alpha == 0


def test_lowest_plausible_alpha_is_used():
    X, s, alpha = labeled_if_clear()
    interval = scar_test(X[:, 0], s, (alpha / 2, alpha), 39, None)
    draws = np.linspace(alpha / 2, alpha, 500)
    estimate = PriorEstimate(alpha=alpha, interval=(alpha / 2, alpha))
    assert interval.alpha == pytest.approx(alpha / 2)
    assert interval.alpha_range == pytest.approx((alpha / 2, alpha))
    assert scar_test(X[:, 0], s, estimate, 39, None).alpha == pytest.approx(alpha / 2)
    assert scar_test(X[:, 0], s, draws, 39, None).alpha == pytest.approx(np.quantile(draws, 0.025))


def test_labels_at_random_have_the_stated_law():
    """Totals are kept, and every group has its share of labels on average."""
    group_rows = np.array([100, 200, 400])
    posterior = np.array([0.9, 0.5, 0.1])
    n_positive, n_labeled = 230, 70
    rng = np.random.default_rng(0)
    drawn = _labels_at_random(group_rows, posterior, n_labeled, np.full(20_000, n_positive), rng)
    assert (drawn.sum(axis=1) == n_labeled).all()
    expected = group_rows * posterior * n_labeled / n_positive
    np.testing.assert_allclose(drawn.mean(axis=0), expected, rtol=0.01)
    assert (drawn <= group_rows).all()


def test_posterior_is_recovered():
    group_rows = np.full(60, 5000)
    rank = -ndtri((np.arange(60) + 0.5) / 60)
    truth = 1 / (1 + np.exp(-(1 + 2 * rank)))
    labeled = np.random.default_rng(0).binomial(group_rows, 0.4 * truth)
    found = _posterior(group_rows, labeled, 0.4)
    np.testing.assert_allclose(found, truth, atol=0.02)
    assert (found <= 1).all()


def test_excess_against_the_formula():
    group_rows, labeled = np.array([10, 30, 60]), np.array([5, 9, 6])
    found = _excess(group_rows, labeled, 0.25)
    assert found[0] == -np.inf  # fewer than 20 rows
    assert found[1] == pytest.approx((14 - 10) / np.sqrt(40 * 0.25 * 0.75))
    assert found[2] == pytest.approx((20 - 25) / np.sqrt(100 * 0.25 * 0.75))


def test_groups_keep_rows_and_ties_together():
    rng = np.random.default_rng(0)
    s, scores = rng.integers(0, 2, 3000), np.round(rng.random(3000), 2)
    table = ScoreTable.from_arrays(s, scores)
    group_rows, labeled = grouped(table)
    assert group_rows.sum() == 3000
    assert labeled.sum() == s.sum()
    assert (labeled <= group_rows).all()
    above = np.cumsum((table.labeled + table.unlabeled)[::-1])
    assert np.isin(np.cumsum(group_rows), above).all()


def test_folds_are_scored_by_those_before_them():
    X, s, _ = labeled_at_random(n=600)
    target = s.astype(int)
    found = forward_scores(LogisticRegression(), X, target, 0)
    assert set(found.fold[0]) == {1, 2, 3, 4}
    assert len(found.scores) == pytest.approx(480, abs=3)
    dealt = PUStratifiedKFold(5, random_state=named_rng(0, "scar_test", "folds"))
    (_, first), (_, second), *_ = dealt.split(X, target)
    model = LogisticRegression().fit(X[first], target[first])
    tested = np.setdiff1d(np.arange(600), first)
    of_second = np.isin(tested, second)
    np.testing.assert_allclose(found.scores[of_second], model.predict_proba(X[second])[:, 1])


def test_same_seed_same_answer():
    X, s, alpha = labeled_at_random(n=600)
    first, second = (scar_test(X, s, alpha, 39, "logistic", 3) for _ in range(2))
    np.testing.assert_array_equal(first.null, second.null)
    assert first.to_dict() == second.to_dict()
    assert not np.array_equal(first.null, scar_test(X, s, alpha, 39, "logistic", 4).null)


def test_known_negatives_and_sparse_features():
    X, s, alpha = labeled_at_random(n=800)
    more = np.concatenate([X, np.full((30, 3), -1.0)])
    labels = np.append(s.astype(int), np.full(30, -1))
    plain = scar_test(X, s, alpha, 39, "logistic")
    with_negatives = scar_test(more, labels, alpha, 39, "logistic")
    assert (plain.n_labeled, plain.n_unlabeled) == (
        with_negatives.n_labeled,
        with_negatives.n_unlabeled,
    )
    assert 0 < scar_test(sparse.csr_matrix(X), s, alpha, 39).p_value <= 1


def test_doubts_are_said():
    rng = np.random.default_rng(0)
    s = np.repeat([1, 0], [30, 600])
    found = scar_test(rng.random(630), s, 0.2, 39, None)
    assert any("Only 30 labeled rows" in warning for warning in found.warnings)
    assert any("hardly tell" in warning for warning in found.warnings)


def test_result_says_which_alpha_it_is_about():
    X, s, _ = labeled_at_random(n=600)
    given = scar_test(X[:, 0], s, (0.125, 0.375), 19, None)
    assert "alpha=0.125 (lowest of 0.125 to 0.375), compatible" in repr(given)
    assert "0.125 (lowest of 0.125 to 0.375)" in given._repr_html_()
    assert "given as 0.125 to 0.375. The test was made with 0.125, the lowest" in given.about_alpha
    assert given.to_dict()["alpha_range"] == [0.125, 0.375]
    frame = given.to_frame()
    assert frame[["alpha", "alpha_low", "alpha_high"]].to_numpy().tolist() == [
        [0.125] * 2 + [0.375]
    ]
    display = given.plot()
    assert "alpha 0.125 (lowest of 0.125 to 0.375)" in display.ax_.get_title()
    mpl.pyplot.close(display.figure_)
    number = scar_test(X[:, 0], s, 0.125, 19, None)
    assert number.alpha_range is None
    assert number.about_alpha == "The test was made with the alpha that was given, 0.125."
    assert number.to_frame()[["alpha_low", "alpha_high"]].to_numpy().tolist() == [[0.125, 0.125]]
    estimated = scar_test(X[:, 0], s, None, 19, None)
    assert estimated.alpha == estimated.alpha_range[0] < estimated.alpha_range[1]
    assert estimated.about_alpha.startswith("Alpha was estimated as")


def test_result_shows_itself():
    X, s, alpha = labeled_at_random(n=600)
    found = scar_test(X[:, 0], s, alpha, 39, None)
    assert repr(found).startswith("ScarTest(p=")
    assert "\n" not in repr(found)
    assert "<table>" in found._repr_html_()
    assert len(json.loads(json.dumps(found.to_dict()))["null"]) == 39
    assert found.to_frame()["p_value"].tolist() == [found.p_value]
    display = found.plot()
    assert display.line_.get_xdata()[0] == found.statistic
    limit = f"{found.compatible_alpha:.2f}"
    assert limit in display.ax_.get_title()
    assert f"up to alpha={limit}" in repr(found)
    assert limit in found._repr_html_()
    assert found.to_dict()["compatible_alpha"] == found.compatible_alpha
    mpl.pyplot.close(display.figure_)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"alpha": 0.0}, "leaves positives and negatives"),
        ({"alpha": 1.5}, "alpha in"),
        ({"alpha": "much"}, "needs alpha"),
        ({"n_resamples": 5}, "needs n_resamples"),
        ({"n_resamples": 99.5}, "needs n_resamples"),
        ({"classifier": "logistics"}, "Did you mean 'logistic'"),
        ({"random_state": "x"}, "random_state"),
        ({"s": np.zeros(300, int)}, "at least 20 labeled"),
        ({"s": np.repeat([1, 0], [10, 290])}, "at least 20 labeled"),
        ({"s": np.repeat([1, 0], [270, 30])}, "50 unlabeled"),
        ({"s": np.repeat([1, 0], [100, 199])}, "X and s"),
        ({"X": np.zeros(300), "classifier": None}, "rows that differ"),
        ({"X": np.full(300, np.nan), "classifier": None}, "finite"),
        ({"s": np.full(300, 2)}, "labels to be"),
    ],
)
def test_bad_input(changes, message):
    rng = np.random.default_rng(0)
    options = {
        "X": rng.normal(size=(300, 2)),
        "s": np.repeat([1, 0], [100, 200]),
        "alpha": 0.3,
        "n_resamples": 19,
        "classifier": "logistic",
    }
    with pytest.raises(InvalidInputError, match=message) as caught:
        scar_test(**(options | changes))
    assert "\n" not in str(caught.value)
