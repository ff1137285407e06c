"""Rows scored by two models, whose labels may favor high scores, and audits of them."""

import numpy as np

from recoup.audit import Audit, plan


def two_models(n=1500, seed=0, tilt=1.5, share=0.2):
    """Labels, the scores of two models, and the truth."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    x = rng.normal(2.0 * y - 1.0)
    other = 0.6 * x + rng.normal(0.4 * (2 * y - 1), 0.8)
    chance = 1 / (1 + np.exp(-(x - 1.5) * tilt)) if tilt else 0.3
    s = (y * (rng.random(n) < chance)).astype(int)
    return s, {"a": 1 / (1 + np.exp(-x)), "b": 1 / (1 + np.exp(-other))}, y


def planned(s, scores, y, **options):
    """Answer all rows of one wave."""
    options = {"threshold": 0.5, "alpha": 0.1, "budget": 120, "n_waves": 1} | options
    made = plan(s, scores, **options)
    return made.answers(made.rows, y[made.rows])


def blindly(s, y, n, seed=0):
    """Draw unlabeled rows, each with the same chance, and answer them."""
    rows = np.random.default_rng(seed).choice(np.flatnonzero(s == 0), n, replace=False)
    return Audit.uniform(rows, y[rows])
