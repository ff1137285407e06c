"""The specs of the metrics: what they promise holds for each of them."""

from dataclasses import replace

import numpy as np
import pytest
import sklearn.metrics

from recoup.exceptions import InvalidInputError
from recoup.metrics import area_metric, point_metric
from recoup.metrics.bounds import bounded
from recoup.metrics.curves import recovered_roc
from recoup.metrics.measure import measure, raw_value
from recoup.metrics.rates import Mixture
from recoup.metrics.spec import (
    AREA_METRICS,
    METRICS,
    POINT_METRICS,
    evaluated_specs,
    forget_metric,
    metric_spec,
    specs,
)
from recoup.scores.table import ScoreTable


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    y = (rng.random(400) < 0.4).astype(int)
    return y, np.clip(rng.normal(0.35 + 0.3 * y, 0.2), 0.01, 0.99)


@pytest.mark.parametrize("key", [spec.key for spec in specs() if spec.sklearn])
def test_with_all_labels_scikit_learn_says_the_same(key, rows):
    y, scores = rows
    spec = METRICS[key]
    name, options = spec.sklearn
    answers = (scores > 0.5).astype(int) if spec.kind == "point" else scores
    expected = getattr(sklearn.metrics, name)(y, answers, **options)
    found = (POINT_METRICS | AREA_METRICS)[key](y, answers, alpha=0.0)
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("key", [spec.key for spec in evaluated_specs() if spec.row_effects])
@pytest.mark.parametrize("group", [0, 1])
def test_influence_is_what_a_row_does_to_the_raw_value(key, group, rows):
    """A little mass moved from one score to another moves the value as the influence says."""
    y, scores = rows
    spec = METRICS[key]
    table = ScoreTable.from_arrays(y, np.round(scores, 1))
    # An area at the edge is that of the valid curve: rates that need no smoothing show its slope.
    shares = (0.0, 1.0) if spec.at_edge else (0.2, 0.95)
    mixture = Mixture.of(table, *shares, "single-sample")
    threshold = 0.5
    influence = spec.row_effects(table, mixture, threshold)[group][::-1]
    counts = ("labeled", "unlabeled")[group]

    def value(step):
        moved = getattr(table, counts).astype(float)
        total = moved.sum()
        moved[7] += step * total
        moved[2] -= step * total
        other = replace(table, **{counts: moved})
        if spec.kind != "point":
            return raw_value(spec, other, mixture)
        return measure(other, mixture, recovered_roc(other, mixture), threshold)[key][0]

    slope = (value(1e-6) - value(-1e-6)) / 2e-6
    assert slope == pytest.approx(influence[7] - influence[2], rel=1e-4, abs=1e-6)


def test_every_metric_stands_in_one_list():
    assert set(METRICS) == {*POINT_METRICS, *AREA_METRICS}
    assert [spec.key for spec in specs()] == sorted(
        METRICS, key=lambda key: ("area", "point", "proper").index(METRICS[key].kind)
    )
    assert {spec.key for spec in bounded("area")} < {spec.key for spec in specs("area")}
    for key, spec in METRICS.items():
        assert (spec.key, spec.low < spec.high) == (key, True)
        assert spec.described()["label"] == spec.label


def test_parameters_are_read_off_the_formula():
    assert METRICS["fbeta"].params == {"b": 1.0}
    assert METRICS["partial_roc_auc"].params == {"max_fpr": 0.1, "standardize": True}
    assert METRICS["recall"].params == {}


@pytest.mark.parametrize("key", ["F 1", "Gini", "1st", ""])
def test_a_key_must_name_a_column(key):
    with pytest.raises(InvalidInputError, match="small letters"):
        point_metric(key, "Wrong")(lambda tpr, fpr, pi: tpr)
    assert key not in METRICS


def test_a_key_is_taken_once():
    with pytest.raises(InvalidInputError, match="already"):
        area_metric("f1", "Another F1")(lambda tpr, fpr, pi: 0.5)
    assert METRICS["f1"].kind == "point"


def test_parameters_need_defaults_where_nobody_gives_them():
    def weighted(tpr, fpr, pi, weight):
        return weight * tpr

    with pytest.raises(InvalidInputError, match="need defaults"):
        point_metric("weighted", "Weighted")(weighted)
    metric = point_metric("weighted", "Weighted", in_evaluate=False, in_bench=False)(weighted)
    assert metric([1, 1, 0, 0], [1, 0, 0, 0], alpha=0.0, weight=3.0) == 1.5
    forget_metric("weighted")


def test_direct_is_for_areas_that_follow_from_pairs():
    s, scores = [1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1]
    with pytest.raises(InvalidInputError, match="pr_auc needs method 'indirect'"):
        AREA_METRICS["pr_auc"](s, scores, alpha=0.1, method="direct")


def test_unknown_metrics_are_named_with_the_nearest():
    with pytest.raises(InvalidInputError, match="roc_auc"):
        metric_spec("roc_acu", "test")
