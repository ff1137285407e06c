"""Which alpha and beta the scores allow."""

import numpy as np
import pytest

from recoup import evaluate


def rows(seed=0, n=4000):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    s = (y & (rng.random(n) < 0.5)).astype(int)
    return s, y, rng.normal(2.5 * y)


def test_scores_upside_down_allow_the_same():
    """Any set of scores can show that alpha is too high, low ones as well as high ones."""
    s, y, scores = rows()
    alpha = y[s == 0].mean()
    found, reversed_ = (
        evaluate(s, sign * scores, alpha=alpha, threshold=0.0, n_boot=0).feasibility
        for sign in (1, -1)
    )
    assert found.alpha_upper < 0.5
    assert reversed_.alpha_upper == pytest.approx(found.alpha_upper)
    assert reversed_.beta_lower == pytest.approx(found.beta_lower)


def test_equal_propensities_allow_what_the_same_rows_do():
    """With propensities every row is counted twice; the limit is one for the unlabeled rows."""
    s, y, scores = rows()
    plain = evaluate(s, scores, alpha=y[s == 0].mean(), threshold=1.0, n_boot=0)
    weighted = evaluate(
        s, scores, propensity=np.full(len(s), s.sum() / y.sum()), threshold=1.0, n_boot=0
    )
    assert weighted.alpha == pytest.approx(plain.alpha)
    assert weighted.feasibility.alpha_upper == pytest.approx(
        plain.feasibility.alpha_upper, abs=0.03
    )
    assert not weighted.feasibility.exceeded
