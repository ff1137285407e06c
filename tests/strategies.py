"""Data that several tests draw."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

unit = st.floats(0.0, 1.0)


@st.composite
def pu_rows(draw, max_rows: int = 60, negatives: bool = False, levels: int | None = None):
    """Labels and scores with at least one labeled and one unlabeled row."""
    n = draw(st.integers(2, max_rows))
    choices = [1, 0, -1] if negatives else [1, 0]
    s = draw(st.lists(st.sampled_from(choices), min_size=n, max_size=n))
    s[0], s[1] = 1, 0
    numbers = (
        st.integers(0, levels - 1).map(float)
        if levels
        else st.floats(-1e6, 1e6, allow_subnormal=False)
    )
    scores = draw(st.lists(numbers, min_size=n, max_size=n))
    return np.array(s), np.array(scores)


def gaussian_rows(rng, n, pi, label_frequency, separation=2.0):
    """Single-sample SCAR rows whose score is the true posterior: s, scores, y_true."""
    y_true = (rng.random(n) < pi).astype(int)
    x = rng.normal(size=n) + separation * y_true
    s = y_true * (rng.random(n) < label_frequency)
    odds = pi / (1 - pi) * np.exp(separation * x - separation**2 / 2)
    return s, odds / (1 + odds), y_true
