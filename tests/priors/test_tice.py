from __future__ import annotations

import numpy as np
import pytest
from numpy.random import default_rng

from recoup.exceptions import InvalidInputError
from recoup.priors.tice import TIcE, _best_split, _coded, _Node


def labels(rng, n_labeled, n_unlabeled, alpha):
    s = np.repeat([1, 0], [n_labeled, n_unlabeled])
    return s, (s == 1) | (rng.random(len(s)) < alpha)


def point(X, s, **options):
    return TIcE(interval=None, **options).fit(X, s).estimate_


def in_quadrants(rng, positive):
    """Positives in one quarter of the unit square, negatives in the other three."""
    corner = np.where(positive, 3, rng.integers(0, 3, len(positive)))
    return rng.random((len(positive), 2)) / 2 + np.column_stack([corner % 2, corner // 2]) / 2


@pytest.mark.parametrize("share_of_positives", [0.5, 0.04])
def test_pure_binary_feature_converges(share_of_positives):
    errors = []
    for n in (2000, 100_000):
        rng = default_rng(0)
        s, positive = labels(rng, n // 4, n, 0.25)
        pure = positive & (rng.random(len(s)) < share_of_positives)
        noise = rng.normal(size=(len(s), 2))
        found = point(np.column_stack([noise, pure]), s)
        true_frequency = (n // 4) / positive.sum()
        errors.append(abs(found.label_frequency - true_frequency))
    assert errors[1] < errors[0]
    # Two standard errors of the label share among the pure rows, and noise of the same size.
    assert errors[1] < 4 * np.sqrt(0.25 / (share_of_positives * 50_000))


def test_two_cuts_are_found():
    rng = default_rng(0)
    s, positive = labels(rng, 2000, 6000, 0.3)
    X = np.column_stack([in_quadrants(rng, positive), rng.normal(size=(8000, 3))])
    deep, shallow = point(X, s, n_cuts=3), point(X, s, n_cuts=3, max_splits=1)
    assert deep.alpha == pytest.approx(0.3, abs=0.05)
    assert shallow.alpha > 0.5


@pytest.mark.parametrize("alpha", [0.25, 0.5, 0.75])
def test_well_separated_gaussians(alpha):
    rng = default_rng(0)
    s, positive = labels(rng, 2000, 6000, alpha)
    scores = rng.normal(4.0 * positive)
    assert TIcE(interval=None).fit_scores(s, scores).alpha_ == pytest.approx(alpha, abs=0.05)


# With 400 labeled rows the best of many nodes is several standard errors off.
@pytest.mark.parametrize(("n_labeled", "tolerance"), [(400, 0.15), (20_000, 0.05)])
@pytest.mark.parametrize("alpha", [0.05, 0.9])
def test_label_rate_does_not_leak(alpha, n_labeled, tolerance):
    alphas = []
    for seed in range(8):
        rng = default_rng(seed)
        s, positive = labels(rng, n_labeled, 20_000, alpha)
        alphas.append(TIcE(interval=None).fit_scores(s, rng.normal(4.0 * positive)).alpha_)
    assert np.mean(alphas) == pytest.approx(alpha, abs=tolerance)


def test_rare_positives_in_the_tail_of_a_feature():
    rng = default_rng(0)
    s, positive = labels(rng, 200, 20_000, 0.01)
    found = point(rng.normal(5.0 * positive)[:, None], s)
    assert found.alpha == pytest.approx(0.01, abs=0.01)


def test_published_settings_are_more_cautious():
    rng = default_rng(0)
    s, positive = labels(rng, 1000, 4000, 0.3)
    X = rng.normal(4.0 * positive)[:, None]
    published = point(X, s, delta=None, k=5, n_folds=5, n_cuts=3)
    assert published.alpha > point(X, s).alpha
    assert published.alpha < 0.5


def test_noise_certifies_nothing():
    rng = default_rng(0)
    s, _ = labels(rng, 500, 1500, 0.5)
    found = point(rng.normal(size=(2000, 3)), s, delta=None)
    assert not found.converged
    assert found.alpha == pytest.approx(1, abs=0.02)
    assert any("fallback" in warning for warning in found.warnings)


def test_only_the_order_of_values_matters():
    rng = default_rng(0)
    s, positive = labels(rng, 500, 1500, 0.4)
    X = rng.normal(size=(2000, 3)) + 3.0 * positive[:, None]
    far = X.copy()
    far[X.argmax(axis=0), np.arange(3)] = 1e9
    assert point(np.exp(X), s).alpha == point(X, s).alpha == point(far, s).alpha


def test_same_seed_same_estimate():
    rng = default_rng(0)
    s, positive = labels(rng, 200, 800, 0.4)
    X = rng.normal(3.0 * positive)[:, None]
    first, again, other = (
        TIcE(random_state=seed, n_draws=5).fit(X, s).estimate_ for seed in (0, 0, 1)
    )
    assert (first.alpha, first.interval) == (again.alpha, again.interval)
    assert first.alpha != other.alpha


def test_interval_holds_the_estimate():
    rng = default_rng(0)
    s, positive = labels(rng, 1000, 4000, 0.3)
    found = TIcE(n_draws=20).fit(rng.normal(4.0 * positive)[:, None], s).estimate_
    low, high = found.interval
    assert 0.1 < low <= found.alpha <= high < 0.5
    assert low < high


def test_trees_are_grown_on_a_fold_and_judged_by_the_others():
    rng = default_rng(0)
    s, positive = labels(rng, 300, 700, 0.4)
    codes = _coded(in_quadrants(rng, positive), 3)
    in_fold = np.arange(1000) % 5 == 0
    tree = TIcE()._grow(codes, s == 1, in_fold, 0.5)
    assert tree.sizes[0] == 800
    assert tree.start == pytest.approx((s[~in_fold] == 1).mean())
    # The first split parts the 800 rows, its parts come next.
    assert np.cumsum(tree.sizes[1:])[:4].tolist()[-1] == 800
    assert tree.best == pytest.approx(max(tree.start, tree.bounds[1:].max()))
    assert len(tree.sizes) > 5


def test_parts_of_a_feature():
    column = default_rng(0).normal(size=1000)
    sizes = np.bincount(_coded(column[:, None], 40)[:, 0])
    assert len(sizes) == 41
    assert sizes.sum() == 1000
    assert sizes[3:-3].max() <= 29  # 36 even cuts part 1000 rows into 27s
    assert sizes[-1] <= 5
    few = np.repeat([5.0, 7.0, 9.0], [1, 998, 1])
    assert np.array_equal(_coded(few[:, None], 40)[:, 0], np.repeat([0, 1, 2], [1, 998, 1]))


def test_best_split_by_counting():
    rng = default_rng(1)
    codes = rng.integers(0, 4, (60, 3)).astype(np.int16)
    codes[:, 1] = 2  # useless
    labeled = rng.random(60) < np.where(codes[:, 2] == 3, 0.9, 0.1)
    richest = [
        max(
            (labeled & (codes[:, f] == part)).sum() / ((codes[:, f] == part).sum() + 5)
            for part in range(4)
        )
        for f in (0, 2)
    ]
    everything = np.arange(60)
    feature, others = _best_split(codes, labeled, _Node(everything, everything, np.arange(3)), 4, 5)
    assert feature == (0, 2)[int(np.argmax(richest))] == 2
    assert others.tolist() == [0]
    same = everything[codes[:, 0] == codes[0, 0]]
    assert _best_split(codes, labeled, _Node(same, same, np.array([0, 1])), 4, 5)[0] is None
    assert _best_split(codes, labeled, _Node(same, same, np.arange(0)), 4, 5)[0] is None


def test_curve_shows_the_best_node():
    rng = default_rng(0)
    s, positive = labels(rng, 1000, 4000, 0.3)
    found = point(rng.normal(size=(5000, 4)) + 2.0 * positive[:, None], s)
    shares, bounds = found.curve.lines.values()
    assert (np.diff(shares) <= 0).all()
    assert (np.diff(bounds) <= 0).all()
    assert bounds[found.curve.x == found.curve.marker].max() == bounds.max()
    assert found.curve.level == pytest.approx(found.label_frequency)


def test_a_million_scores():
    rng = default_rng(0)
    s, positive = labels(rng, 100_000, 900_000, 0.3)
    found = TIcE(n_draws=5).fit_scores(s, rng.normal(4.0 * positive)).estimate_
    assert found.alpha == pytest.approx(0.3, abs=0.06)
    assert found.seconds < 5


@pytest.mark.parametrize(
    "options",
    [{"delta": 0}, {"delta": 1.5}, {"k": -1}, {"n_folds": 1}, {"n_cuts": 0}, {"max_splits": 0}],
)
def test_wrong_parameters(options):
    s, positive = labels(default_rng(0), 50, 100, 0.5)
    ((name, value),) = options.items()
    with pytest.raises(InvalidInputError, match=rf"^TIcE needs {name} to be .* Got {value}"):
        point(positive[:, None] + 0.0, s, **options)


@pytest.mark.parametrize(
    ("X", "s", "message"),
    [
        (np.arange(119.0)[:, None], np.repeat([1, 0], [19, 100]), "at least 20 labeled"),
        (np.arange(130.0)[:, None], np.repeat([1, 0], [90, 40]), "50 unlabeled"),
        (np.ones((150, 2)), np.repeat([1, 0], [50, 100]), "rows that differ"),
        (np.full((150, 1), np.nan), np.repeat([1, 0], [50, 100]), "finite numbers"),
        (np.full((150, 1), "word"), np.repeat([1, 0], [50, 100]), "finite numbers"),
        (np.arange(150.0)[:, None], np.zeros(150, int), "TIcE"),
    ],
)
def test_rows_that_cannot_work(X, s, message):
    with pytest.raises(InvalidInputError, match=message):
        TIcE().fit(X, s)
