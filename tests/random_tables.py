"""Small random tables of every kind, for tests that hold the page against Python."""

import warnings

import numpy as np

import recoup


def silently(function, *args, **options):
    """Call without the warnings that impossible values of alpha bring."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", recoup.exceptions.RecoupWarning)
        return function(*args, **options)


def random_rows(rng):
    """Labels, scores and options of a small random table of any kind."""
    n = int(rng.integers(40, 400))
    kind = str(rng.choice(["plain", "weighted", "known", "weighted known", "case-control", "e"]))
    positive = rng.random(n) < rng.uniform(0.2, 0.6)
    s = (positive & (rng.random(n) < rng.uniform(0.2, 0.8))).astype(int)
    s[:4] = 1, 1, 0, 0
    scores = rng.normal(rng.uniform(0, 3) * positive)
    scores = np.round(1 / (1 + np.exp(-scores)), int(rng.integers(1, 5)))
    options = {"scheme": "case-control" if kind == "case-control" else "single-sample"}
    if "known" in kind:
        s = np.where((s == 0) & ~positive & (rng.random(n) < 0.4), -1, s)
    if "weighted" in kind:
        options["sample_weight"] = rng.exponential(size=n) * np.exp(rng.uniform(-1, 1) * scores)
    if kind == "e":
        # So many that labels stand for fewer positives than there are rows.
        options["propensity"] = np.clip(rng.uniform(s.mean() + 0.1, 1.2, n), 0.0, 1.0)
    return s, scores, options


def random_position(rng, scores):
    """Any alpha, beta and threshold that sliders reach: some of them impossible."""
    beta = float(rng.choice([1.0, rng.uniform(0.2, 1.0)]))
    alpha = float(rng.uniform(0, rng.choice([0.3, 1.0]) * (beta - 0.01)))
    cut = float(rng.choice([rng.choice(scores), rng.random()]))
    return {"alpha": alpha, "beta": beta, "threshold": cut}
