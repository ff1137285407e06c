"""A tilt between labeled and hidden positives, where the form of the class lets it be seen."""

from __future__ import annotations

import numpy as np
import pytest

from recoup.priors import Auto
from recoup.priors._solvers.groups import unit_columns
from recoup.priors.biased_labels import _tilted
from recoup.priors.tilted_labels import LEVEL, Tilt, find_tilt


def normal_classes(theta, seed, n=3000):
    """Two normal classes, whose positives get labels in proportion to exp(theta x)."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    X = rng.normal(size=(n, 2))
    X[:, 0] += 2.5 * y
    weights = np.exp(theta * X[:, 0])
    s = (y & (rng.random(n) < np.minimum(0.1 * weights / weights[y].mean(), 1))).astype(int)
    return unit_columns(X), s, y


def test_a_tilt_is_found_where_the_form_is_right():
    for seed in range(2):
        X, s, y = normal_classes(0.6, seed, 6000)
        found = find_tilt(X, s, X[:, 0], np.random.default_rng(seed))
        assert found.fits
        assert found.p_value <= LEVEL
        assert found.strength > 0.2
        # Labels were taken out of the unlabeled rows, most of them at the clear end.
        assert abs(found.alpha - y[s == 0].mean()) < 0.1


def test_random_labels_show_no_tilt():
    # Of 20 tests at 1%, more than 2 find one by chance in 0.1% of all runs; seeds are fixed.
    found = []
    for seed in range(20):
        X, s, _ = normal_classes(0.0, seed, 1000)
        tilt = find_tilt(X, s, X[:, 0], np.random.default_rng(seed))
        found.append(tilt.fits and tilt.p_value <= LEVEL)
    assert sum(found) <= 2


def test_a_form_that_is_wrong_says_nothing():
    rng = np.random.default_rng(0)
    y = rng.random(3000) < 0.4
    X = unit_columns(rng.normal(size=(3000, 2)) * np.where(y, 4.0, 1.0)[:, None])
    s = (y & (rng.random(3000) < 0.3)).astype(int)
    # Positives surround the negatives: no index of the columns tells them apart.
    found = find_tilt(X, s, (X**2).sum(axis=1), rng)
    assert not found.fits


@pytest.mark.parametrize(("strength", "word"), [(0.5, "clear"), (-0.5, "doubtful")])
def test_a_tilt_moves_alpha_and_widens_the_interval(strength, word):
    rng = np.random.default_rng(0)
    s = np.repeat([1, 0], [300, 1200])
    scores = rng.normal(np.where(np.arange(1500) < 600, 3.0, 0.0))
    plain = Auto(beta=1.0).fit_scores(s, scores).estimate_
    found = _tilted(plain, Tilt(strength, plain.alpha + 0.2, 0.01, True))
    assert found.alpha == found.members["tilt"] == pytest.approx(plain.alpha + 0.2)
    assert found.interval[0] <= plain.interval[0] + 0.02
    assert found.interval[1] > plain.interval[1]
    assert f"favor {word} positives" in found.labels.text
    assert found.labels.code == found.warnings[-1].code == "tilt"
