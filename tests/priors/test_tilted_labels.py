"""A tilt between labeled and hidden positives, where the form of the class lets it be seen."""

from __future__ import annotations

import numpy as np

from recoup.priors._solvers.groups import unit_columns
from recoup.priors.tilted_labels import find_tilt


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
        X, s, y = normal_classes(0.6, seed, 4000)
        found = find_tilt(X, s)
        # Labels were taken out of the unlabeled rows, most of them at the clear end.
        assert abs(found.alpha - y[s == 0].mean()) < 0.15
        assert found.strength > 0.2
        assert found.gain > 2


def test_random_labels_gain_little_by_a_tilt():
    # Twice the gain is about chi-square with one degree of freedom: 6.6 is passed in 1% of all.
    gains = [find_tilt(*normal_classes(0.0, seed, 1000)[:2]).gain for seed in range(10)]
    assert sum(gain > 6.6 for gain in gains) <= 1
