"""Rows whose chance of being positive is known in closed form."""

import numpy as np

PI, FREQUENCY = 0.3, 0.4
# Of a row that carries no label, and among those.
ALPHA = PI * (1 - FREQUENCY) / (1 - PI * FREQUENCY)


def chance(x, pi=PI, distance=2.0):
    """P(y=1 | x) for positives from N(distance, 1) and negatives from N(0, 1)."""
    odds = pi / (1 - pi) * np.exp(distance * x - distance**2 / 2)
    return odds / (1 + odds)


def hidden(x, pi=PI, frequency=FREQUENCY):
    """P(y=1 | x, no label)."""
    p = chance(x, pi)
    return p * (1 - frequency) / (1 - p * frequency)


def rows(n=20_000, seed=0, frequency=FREQUENCY, pi=PI):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < pi
    x = rng.normal(2.0 * y)
    return (y & (rng.random(n) < frequency)).astype(int), x, y
