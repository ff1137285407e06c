"""Intervals of rare classes are wide by their ratio."""

from __future__ import annotations

import numpy as np
import pytest

from recoup import evaluate
from recoup._core.relative_limits import is_wide
from recoup.report.page.light import light_reasons


@pytest.mark.parametrize(
    ("low", "high", "wide"),
    [
        (0.40, 0.75, True),
        (0.45, 0.55, False),
        (0.001, 0.2, True),
        (0.009, 0.012, False),
        (0.0, 0.004, True),
        (0.0, 0.0, False),
        (np.nan, np.nan, False),
    ],
)
def test_wide_by_width_or_by_ratio(low, high, wide):
    assert is_wide(low, high, 0.3) is wide


def test_the_light_tells_of_rare_classes():
    """Precision near 0.02 from few rows: its interval is narrow, and leaves all open."""
    rng = np.random.default_rng(0)
    s = np.repeat([1, 0], [60, 20_000])
    scores = np.concatenate([rng.normal(1.0, 1.0, 60), rng.normal(size=20_000)])
    found = evaluate(s, scores, alpha=(0.002, 0.02), threshold=1.0, n_boot=0)
    precision = found["precision"]
    assert precision.upper - precision.lower < 0.3
    assert precision.upper > 3 * precision.lower
    text = next(one["text"] for one in light_reasons(found) if one["code"] == "width")
    assert "Precision (0.0" in text
