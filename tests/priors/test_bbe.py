from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoup.exceptions import InvalidInputError
from recoup.priors.bbe import BBE


def gaussian_scores(rng, n_labeled, n_unlabeled, alpha, separation=4.0):
    s = np.repeat([1, 0], [n_labeled, n_unlabeled])
    positive = (s == 1) | (rng.random(len(s)) < alpha)
    return s, rng.normal(separation * positive)


def alpha_by_definition(s, scores, delta=0.1, gamma=0.01):
    best = (np.inf, None)
    n_l, n_u = (s == 1).sum(), (s == 0).sum()
    noise = np.sqrt(np.log(4 / delta) / (2 * n_u)) + np.sqrt(np.log(4 / delta) / (2 * n_l))
    for threshold in np.unique(scores):
        q_p, q_u = ((scores[s == kind] >= threshold).mean() for kind in (1, 0))
        if q_p > 0:
            best = min(best, (q_u / q_p + (1 + gamma) * noise / q_p, q_u / q_p))
    return best[1]


@given(
    levels=st.integers(2, 300),
    shift=st.integers(0, 40),
    delta=st.floats(0.01, 0.9),
    gamma=st.floats(0, 1),
)
def test_definition(levels, shift, delta, gamma):
    rng = np.random.default_rng(levels)
    s = np.repeat([1, 0], [40, 90])
    scores = rng.integers(0, levels, 130) + shift * s
    if len(np.unique(scores)) == 1:
        return
    found = BBE(interval=None, delta=delta, gamma=gamma).fit_scores(s, scores).estimate_
    assert found.alpha == pytest.approx(min(1.0, alpha_by_definition(s, scores, delta, gamma)))


@pytest.mark.parametrize("alpha", [0.25, 0.5, 0.75])
def test_well_separated_gaussians(alpha):
    s, scores = gaussian_scores(np.random.default_rng(0), 1000, 4000, alpha)
    found = BBE().fit_scores(s, scores).estimate_
    assert found.alpha == pytest.approx(alpha, abs=0.05)
    assert found.interval[0] <= alpha <= found.interval[1]


# A share of 400 rows has a standard error of up to 0.025, more if only some of them count.
@pytest.mark.parametrize(("n_labeled", "tolerance"), [(400, 0.05), (20_000, 0.02)])
@pytest.mark.parametrize("alpha", [0.05, 0.9])
def test_label_rate_does_not_leak(alpha, n_labeled, tolerance):
    alphas = [
        BBE(interval=None)
        .fit_scores(*gaussian_scores(np.random.default_rng(seed), n_labeled, 20_000, alpha))
        .alpha_
        for seed in range(8)
    ]
    assert np.mean(alphas) == pytest.approx(alpha, abs=tolerance)


def test_no_positives_among_the_unlabeled():
    s = np.repeat([1, 0], [100, 200])
    found = BBE(interval=None).fit_scores(s, s.astype(float)).estimate_
    assert found.alpha == 0
    assert 0 < found.upper_limit < 1


def test_only_the_order_of_scores_matters():
    rng = np.random.default_rng(1)
    s, scores = gaussian_scores(rng, 200, 900, 0.4)
    plain = BBE(n_draws=20).fit_scores(s, scores).estimate_
    for mapped in (np.exp(scores), scores**3, np.argsort(np.argsort(scores))):
        shuffled = rng.permutation(len(s))
        again = BBE(n_draws=20).fit_scores(s[shuffled], mapped[shuffled]).estimate_
        assert (again.alpha, again.upper_limit) == (plain.alpha, plain.upper_limit)
        assert again.interval == plain.interval


@pytest.mark.parametrize("confidence", [0.5, 0.9])
def test_upper_limit_covers(confidence):
    # Separated classes, so that what can be learned is alpha itself.
    covered = []
    for seed in range(200):
        s, scores = gaussian_scores(np.random.default_rng(seed), 100, 400, 0.5, separation=8.0)
        found = BBE(interval=None, confidence=confidence).fit_scores(s, scores).estimate_
        covered.append(found.upper_limit >= 0.5)
    assert np.mean(covered) >= confidence


def test_upper_limit_rises_with_confidence_alone():
    s, scores = gaussian_scores(np.random.default_rng(0), 1000, 4000, 0.3)
    found = [
        BBE(interval=None, confidence=level).fit_scores(s, scores).estimate_
        for level in (0.5, 0.9, 0.99)
    ]
    limits = [each.upper_limit for each in found]
    assert limits == sorted(limits)
    assert len(set(limits)) == 3
    assert len({each.alpha for each in found}) == 1


def test_overlap_raises_the_estimate_but_not_above_the_limit():
    s, scores = gaussian_scores(np.random.default_rng(0), 3000, 3000, 0.3, separation=1.0)
    found = BBE(interval=None).fit_scores(s, scores).estimate_
    assert 0.35 < found.alpha < found.upper_limit


def test_curve_shows_the_estimate_at_its_marker():
    s, scores = gaussian_scores(np.random.default_rng(2), 3000, 9000, 0.4)
    found = BBE(interval=None).fit_scores(s, scores).estimate_
    ratio, above, below = found.curve.lines.values()
    at = np.flatnonzero(found.curve.x == found.curve.marker)
    assert found.alpha in ratio[at]
    assert above.argmin() in at
    assert (below < ratio).all()
    assert len(ratio) <= 1001


@pytest.mark.parametrize("options", [{"delta": 0.0}, {"delta": 1.0}, {"gamma": -0.1}])
def test_wrong_parameters(options):
    s, scores = gaussian_scores(np.random.default_rng(0), 100, 100, 0.5)
    with pytest.raises(InvalidInputError, match=rf"^BBE needs {next(iter(options))} .*Got"):
        BBE(**options).fit_scores(s, scores)


@pytest.mark.parametrize(
    ("s", "scores", "message"),
    [
        (np.repeat([1, 0], [19, 100]), np.arange(119.0), "at least 20 labeled"),
        (np.repeat([1, 0], [50, 100]), np.ones(150), "rows that differ"),
        (np.repeat([1, 0], [50, 100]), np.append(np.arange(149.0), np.nan), "finite"),
        (np.ones(100, int), np.arange(100.0), "BBE"),
    ],
)
def test_rows_that_cannot_work(s, scores, message):
    with pytest.raises(InvalidInputError, match=message):
        BBE().fit_scores(s, scores)
