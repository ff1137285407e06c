"""Numbers of periods: their slopes, and that they are those of the rows where all is known."""

import numpy as np
import pytest
from sklearn.metrics import precision_score, recall_score, roc_auc_score

from monitoring.payments import START, THRESHOLD, made_up
from recoup import monitor
from recoup.monitoring.estimating import METRICS, _interval, _metrics


def test_slopes_are_what_one_more_positive_does():
    rng = np.random.default_rng(0)
    positive, negative = rng.uniform(1, 9, (3, 6)), rng.uniform(5, 50, (3, 6))
    above, within = np.arange(6) >= 4, rng.uniform(0.4, 0.8, 6)
    step = 1e-6
    found = _metrics(positive, negative, above, within)
    assert list(found) == list(METRICS)
    for one in range(6):
        moved = step * (np.arange(6) == one)
        up = _metrics(positive + moved, negative - moved, above, within)
        for key, (value, slope) in found.items():
            np.testing.assert_allclose(slope[:, one], (up[key][0] - value) / step, atol=1e-5)


def test_where_every_positive_has_its_label_numbers_are_those_of_scikit_learn():
    world = made_up(1, weeks=12, frequency=1.0, delay=0.0)
    found = monitor(
        world.frame, "p", "chargeback", "paid_at", label_frequency=1.0, threshold=THRESHOLD
    )
    scores = world.frame["p"].to_numpy()
    assert found.periods[0] == str(START.date())
    for week in range(12):
        here = world.week == week
        y, above = world.y[here], scores[here] >= THRESHOLD
        # A hidden positive is never quite ruled out.
        assert found["precision"].value[week] == pytest.approx(precision_score(y, above), abs=3e-3)
        assert found["recall"].value[week] == pytest.approx(recall_score(y, above), abs=3e-3)
        assert found["pi"].value[week] == pytest.approx(y.mean(), abs=1e-3)
        # Within a bin, all weeks share one order.
        assert found["roc_auc"].value[week] == pytest.approx(
            roc_auc_score(y, scores[here]), abs=0.02
        )


def test_intervals_stay_within_their_range_and_hold_their_value():
    value = np.array([0.0, 1.0, 0.001, 0.5, np.nan, 0.97])
    error = np.array([0.0, 0.0, 0.01, 0.1, 0.1, 0.01])
    found = _interval(value, error, 2.0)
    np.testing.assert_array_equal(found.lower[:3], [0.0, 1.0, 0.0])
    np.testing.assert_allclose(found.upper[:3], [0.0, 1.0, 0.021])
    # Around one half log odds are straight, towards an end they bend inwards.
    np.testing.assert_allclose([found.lower[3], found.upper[3]], [0.31, 0.69], atol=0.002)
    assert found.upper[5] - 0.97 < 0.97 - found.lower[5]
    assert np.isnan([found.lower[4], found.upper[4]]).all()
