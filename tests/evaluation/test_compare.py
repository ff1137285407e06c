"""compare: paired differences, and for which alpha each model wins."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn import metrics as sk

from recoup import Interval, compare, evaluate
from recoup.exceptions import InvalidInputError
from tools.studies.compare_level import draw, p_values


def two_models(rng, n, pi=0.3, label_frequency=0.3):
    y = rng.random(n) < pi
    s = (y & (rng.random(n) < label_frequency)).astype(int)
    noise = rng.normal(size=n)
    a = 2 * y + noise
    b = 1.5 * y + 0.7 * noise + 0.71 * rng.normal(size=n)
    return s, y, a, b


@pytest.fixture(scope="module")
def found():
    s, y, a, b = two_models(np.random.default_rng(0), 8000)
    alpha = y[s == 0].mean()
    return s, y, a, b, compare(s, {"a": a, "b": b}, alpha=alpha, threshold=1.0, n_boot=50)


def test_differences(found):
    _, y, a, b, comparison = found
    truth = {
        "roc_auc": sk.roc_auc_score(y, a) - sk.roc_auc_score(y, b),
        "average_precision": sk.average_precision_score(y, a) - sk.average_precision_score(y, b),
        "accuracy": sk.accuracy_score(y, a >= 1) - sk.accuracy_score(y, b >= 1),
        "f1": sk.f1_score(y, a >= 1) - sk.f1_score(y, b >= 1),
    }
    for key, value in truth.items():
        item = comparison.difference("a", "b", key)
        assert item.lower <= value <= item.upper, item
        mirrored = comparison.difference("b", "a", key)
        assert mirrored.difference == -item.difference
        assert (mirrored.lower, mirrored.upper) == (-item.upper, -item.lower)
    assert comparison.ranking == ["a", "b"]


def test_pairing_helps(found):
    s, _, a, _, comparison = found
    alone = evaluate(s, a, alpha=comparison.evaluations["a"].alpha, threshold=1.0, n_boot=0)
    item = comparison.difference("a", "b")
    separate = np.sqrt(2) * (alone["roc_auc"].upper - alone["roc_auc"].lower)
    assert item.upper - item.lower < 0.8 * separate


def test_a_model_against_itself():
    s, y, a, _ = two_models(np.random.default_rng(1), 3000)
    same = compare(s, {"a": a, "copy": 3 * a}, alpha=y[s == 0].mean(), n_boot=20)
    for key in ("roc_auc", "f1"):
        item = same.difference("a", "copy", key)
        assert item.difference == pytest.approx(0.0)
        assert item.upper - item.lower == pytest.approx(0.0, abs=1e-9)
        assert item.p_value == 1.0


@pytest.mark.parametrize("at", ["threshold", "queue", "recall"])
def test_equal_models_are_rarely_told_apart_and_unequal_ones_often(at):
    """Up to three standard errors of so few simulations."""
    keys = ["roc_auc", "brier", "accuracy", "f1", "precision"]

    def simulated(n, gap):
        found = [p_values((1500, 0.3, 0.4, at), seed, gap) for seed in range(n)]
        return np.array([[one[key] for key in keys] for one in found])

    equal = simulated(120, 0.0)
    assert ((equal < 0.05).mean(axis=0) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 120)).all()
    assert (np.abs(equal.mean(axis=0) - 0.5) <= 3 * np.sqrt(1 / 12 / 120)).all()
    power = (simulated(15, 0.8) < 0.05).mean(axis=0)
    assert (power[:4] >= 0.8).all()
    # At one threshold the worse model flags fewer rows, which costs it little precision.
    assert power[4] >= (0.25 if at == "threshold" else 0.8)


@pytest.mark.parametrize("at", ["queue", "recall"])
def test_the_study_of_the_level_does_what_compare_does(at):
    cell = (1500, 0.3, 0.4, at)
    s, scores = draw(cell, 3, 0.2)
    given = {"recall": 0.8} if at == "recall" else {}
    found = compare(s, scores, alpha=0.3 * 0.6 / (1 - 0.3 * 0.4), n_boot=0, **given)
    expected = {item.metric: item.p_value for item in found.differences}
    assert p_values(cell, 3, 0.2) == pytest.approx(expected, nan_ok=True)


def test_uncertain_alpha_widens_differences(found):
    s, _, a, b, comparison = found
    alpha = comparison.evaluations["a"].alpha
    sharp = comparison.difference("a", "b", "accuracy")
    for wide_alpha in ((alpha - 0.08, alpha + 0.08), np.linspace(alpha - 0.1, alpha + 0.1, 300)):
        wide = compare(s, {"a": a, "b": b}, alpha=wide_alpha, threshold=1.0, n_boot=0)
        item = wide.difference("a", "b", "precision")
        known = comparison.difference("a", "b", "precision")
        assert item.upper - item.lower > known.upper - known.lower
        assert 0 <= item.p_value <= 1
    assert sharp.p_value < 0.05


def test_draws_of_alpha_and_beta_stay_pairs(found):
    """The area depends on beta - alpha alone: draws that share this gap are as good as one."""
    s, _, a, b, _ = found
    shift = np.random.default_rng(0).permutation(np.linspace(-0.05, 0.05, 300))
    options = {"threshold": 1.0, "n_boot": 0}
    known = compare(s, {"a": a, "b": b}, alpha=0.2, beta=0.9, **options)
    drawn = compare(s, {"a": a, "b": b}, alpha=0.2 + shift, beta=0.9 + shift, **options)
    sharp, item = (one.difference("a", "b", "roc_auc") for one in (known, drawn))
    assert item.difference == pytest.approx(sharp.difference, rel=1e-3)
    assert item.upper - item.lower == pytest.approx(sharp.upper - sharp.lower, rel=0.03)


def test_an_interval_of_alpha_is_as_doubtful_as_its_worst_alpha():
    s, y, a, b = two_models(np.random.default_rng(5), 1500)
    alpha = y[s == 0].mean()
    ends = (alpha - 0.1, alpha + 0.1)

    def p_value(known):
        found = compare(s, {"a": a, "b": b}, alpha=known, threshold=1.0, n_boot=0)
        return found.difference("a", "b", "accuracy").p_value

    alone = [p_value(end) for end in ends]
    assert min(alone) < 0.5 * max(alone)
    assert p_value(Interval(*ends)) >= max(alone) * (1 - 1e-9)


def test_alpha_is_read_off_the_scores_that_know_most():
    s, _, a, _ = two_models(np.random.default_rng(0), 3000)
    noise = np.random.default_rng(1).normal(size=len(a))
    models = {"poor": a + 3 * noise, "good": a}
    found = compare(s, models, alpha="bbe", threshold=1.0, n_boot=0)
    assert any("the scores of 'good'" in note for note in found.notes)


def test_the_better_model_can_depend_on_alpha():
    """A cautious and a generous rule: few positives favour one, many the other."""
    rng = np.random.default_rng(3)
    n = 20_000
    y = rng.random(n) < 0.4
    s = (y & (rng.random(n) < 0.2)).astype(int)
    x = rng.normal(size=n) + 1.5 * y
    models = {"cautious": (x >= 1.6).astype(float), "generous": (x >= 0.4).astype(float)}
    comparison = compare(s, models, alpha=0.35, threshold=0.5, n_boot=0)
    ranges = [item for item in comparison.wins if item.metric == "accuracy"]
    assert [item.model for item in ranges] == ["cautious", "generous"]
    assert ranges[0].alpha_low == 0.0
    assert ranges[0].alpha_high == ranges[1].alpha_low
    switch = ranges[0].alpha_high
    for alpha, winner in ((switch - 0.03, "cautious"), (switch + 0.03, "generous")):
        values = {
            name: evaluate(s, scores, alpha=alpha, n_boot=0)["accuracy"].recovered
            for name, scores in models.items()
        }
        assert max(values, key=values.get) == winner


def test_several_models_and_holm(found):
    s, _, a, b, _ = found
    three = compare(s, {"a": a, "b": b, "c": a + b}, alpha=0.2, threshold=1.0, n_boot=0)
    items = [item for item in three.differences if item.metric == "roc_auc"]
    assert len(items) == 3
    for item in items:
        assert item.p_adjusted >= item.p_value
    smallest = min(items, key=lambda item: item.p_value)
    assert smallest.p_adjusted == pytest.approx(min(1.0, 3 * smallest.p_value))


def test_output(found):
    comparison = found[-1]
    plain = json.loads(json.dumps(comparison.to_dict(), allow_nan=False))
    assert plain["ranking"] == ["a", "b"]
    assert plain["at"] == {"kind": "threshold", "value": 1.0, "words": "threshold 1"}
    assert set(plain["models"]) == {"a", "b"}
    frame = comparison.to_frame()
    assert {"metric", "first", "second", "difference", "lower", "upper"} <= set(frame.columns)
    assert repr(comparison).startswith("Comparison(roc_auc: a 0.9")
    assert "a - b" in comparison._repr_html_()


BOTH = {"a": [1, 2, 3, 4], "b": [1, 2, 3, 5]}


@pytest.mark.parametrize(
    ("scores", "options", "words"),
    [
        ({"a": [1, 2, 3, 4]}, {}, "at least two"),
        ({"a": [1, 2, 3, 4], "b": [1, 2, 3]}, {}, "'b'.* 4 and 3"),
        ({"a": [1, 2, 3, 4], "b": [1, 2, 3, 5]}, {"metric": "auc"}, "no metric 'auc'"),
        ({"a": [1, 2, 3, 4], "b": [1, 2, 3, 5]}, {"metric": "brier"}, r"scores in \[0, 1\]"),
        (BOTH, {"queue": 2, "recall": 0.5}, "Got queue and recall. Drop all but one"),
        (BOTH, {"queue": 0}, "number of rows, or a share"),
        (BOTH, {"queue": True}, "number of rows, or a share"),
        (BOTH, {"queue": 4}, "shorter than all 4 rows"),
        (BOTH, {"recall": 1.0}, "recall between 0 and 1"),
        (BOTH, {"threshold": np.inf}, "finite threshold"),
        (BOTH, {"threshold": "roc_auc"}, "'roc_auc', which is not"),
        (BOTH, {"threshold": "f"}, "no metric 'f'"),
        (BOTH, {"alpha": None}, "compare needs alpha"),
        (BOTH, {"propensity": [0.5] * 4}, "compare takes alpha or propensity"),
    ],
)
def test_bad_input(scores, options, words):
    with pytest.raises(InvalidInputError, match=words):
        compare([1, 0, 1, 0], scores, **({"alpha": 0.1, "n_boot": 0} | options))


def test_certain_and_undefined_differences():
    rng = np.random.default_rng(0)
    y = rng.random(3000) < 0.3
    s = (y & (rng.random(3000) < 0.4)).astype(int)
    perfect, constant = np.where(s == 1, 0.9, 0.1), np.full(3000, 0.1)
    models = {"constant": constant, "perfect": perfect}
    for alpha in (0.0, np.linspace(0.0, 1e-3, 50)):
        found = compare(s, models, alpha=alpha, threshold=0.5, metric="precision", n_boot=0)
        assert found.difference("perfect", "constant", "recall").p_value == 0.0
        assert np.isnan(found.difference("perfect", "constant", "precision").p_value)
        assert found.ranking == ["perfect", "constant"]
        copies = compare(s, {"a": perfect, "b": perfect}, alpha=alpha, threshold=0.5, n_boot=0)
        assert copies.difference("a", "b").p_value == 1.0


def test_known_negatives_are_rows_like_any_other():
    s, y, a, b = two_models(np.random.default_rng(2), 20_000)
    s[~y & (np.random.default_rng(3).random(20_000) < 0.5)] = -1
    found = compare(s, {"a": a, "b": b}, alpha=y[s == 0].mean(), threshold=1.0, n_boot=0)
    item = found.difference("a", "b", "accuracy")
    truth = sk.accuracy_score(y, a >= 1) - sk.accuracy_score(y, b >= 1)
    assert item.lower <= truth <= item.upper
    assert item.p_value < 0.05


def test_models_flag_as_many_rows_as_there_are_positives():
    s, y, a, b = two_models(np.random.default_rng(0), 4000)
    alpha = y[s == 0].mean()
    found = compare(s, {"a": a, "b": np.exp(b)}, alpha=alpha, n_boot=0)
    assert found.at.kind == "queue"
    assert found.at.value == pytest.approx(y.sum())
    for name, scores in (("a", a), ("b", np.exp(b))):
        assert (scores >= found.evaluations[name].threshold).sum() == pytest.approx(y.sum(), abs=1)
    # Where as many rows are flagged, recall and precision are one thing told in two ways.
    ratios = {
        item.difference / (item.upper - item.lower)
        for item in (found.difference("a", "b", key) for key in ("recall", "precision", "accuracy"))
    }
    assert max(ratios) == pytest.approx(min(ratios), rel=0.02)


@pytest.mark.parametrize(("queue", "rows"), [(300, 300), (0.1, 400)])
def test_a_queue_is_a_number_or_a_share_of_the_rows(queue, rows):
    s, _, a, b = two_models(np.random.default_rng(0), 4000)
    found = compare(s, {"a": a, "b": b}, alpha=0.2, queue=queue, n_boot=0)
    assert str(found.at) == f"queue {rows} rows"
    assert [(x >= found.evaluations[k].threshold).sum() for k, x in (("a", a), ("b", b))] == [
        rows,
        rows,
    ]
    control = compare(s, {"a": a, "b": b}, alpha=0.2, scheme="case-control", queue=300, n_boot=0)
    assert (a[s == 0] >= control.evaluations["a"].threshold).sum() == 300


def test_at_equal_recall_the_recall_itself_is_not_tested():
    s, _, a, b = two_models(np.random.default_rng(0), 4000)
    found = compare(s, {"a": a, "b": b}, alpha=0.2, recall=0.8, n_boot=0)
    for one in found.evaluations.values():
        assert one["recall"].recovered == pytest.approx(0.8, abs=0.005)
    held = found.difference("a", "b", "recall")
    assert np.isnan([held.lower, held.upper, held.p_value, held.p_adjusted]).all()
    assert found.difference("a", "b", "precision").p_value < 0.01
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["at"]["words"] == "recall 0.8"


def test_models_with_thresholds_of_their_own_are_not_tested_there():
    s, _, a, b = two_models(np.random.default_rng(0), 4000)
    found = compare(s, {"a": a, "b": b}, alpha=0.2, threshold="f1", n_boot=20)
    assert "own-cuts" in {note.code for note in found.notes}
    assert str(found.at) == "the best threshold of each model by f1"
    item = found.difference("a", "b", "f1")
    values = [found.evaluations[name]["f1"].recovered for name in ("a", "b")]
    assert item.difference == pytest.approx(values[0] - values[1])
    assert np.isnan([item.lower, item.upper, item.p_value, item.p_adjusted]).all()
    assert found.difference("a", "b", "roc_auc").p_value < 0.05
    assert [item.metric for item in found.differences] == [
        key for key in found.evaluations["a"] if key not in ("pr_auc", "brier", "log_loss")
    ]


def test_ties_may_not_let_models_be_cut_alike():
    s, _, a, b = two_models(np.random.default_rng(0), 4000)
    models = {"a": np.round(a), "b": b}
    found = compare(s, models, alpha=0.2, queue=700, n_boot=0)
    note = next(note for note in found.notes if note.code == "unequal-cuts")
    assert "queue 700 rows" in note
    assert "b 700" in note
    known = found.evaluations["a"].threshold
    assert known == np.round(known)
    fine = compare(s, {"a": np.round(a, 2), "b": b}, alpha=0.2, queue=700, n_boot=0)
    assert "unequal-cuts" not in {note.code for note in fine.notes}


def test_weights_and_propensities_reach_evaluations_and_differences():
    s, y, a, b = two_models(np.random.default_rng(4), 6000)
    weight = np.random.default_rng(5).uniform(0.2, 2.0, size=len(s))
    weight[:50] = 0.0
    alpha = y[s == 0].mean()
    weighted = compare(s, {"a": a, "b": b}, alpha=alpha, sample_weight=weight, n_boot=0)
    alone = evaluate(
        s,
        a,
        alpha=alpha,
        sample_weight=weight,
        threshold=weighted.evaluations["a"].threshold,
        n_boot=0,
    )
    assert weighted.evaluations["a"]["f1"] == alone["f1"]
    flagged = weight[a >= weighted.evaluations["a"].threshold].sum()
    assert flagged == pytest.approx(weighted.at.value, rel=0.005)
    same = compare(s, {"a": a, "b": b}, alpha=alpha, sample_weight=np.full(len(s), 3.0), n_boot=0)
    plain = compare(s, {"a": a, "b": b}, alpha=alpha, n_boot=0)
    biased = compare(s, {"a": a, "b": b}, propensity=np.full(len(s), 0.3), n_boot=0)
    for key in ("roc_auc", "average_precision", "f1"):
        one, other = plain.difference("a", "b", key), same.difference("a", "b", key)
        assert (other.difference, other.lower, other.upper) == pytest.approx(
            (one.difference, one.lower, one.upper)
        )
        item = biased.difference("a", "b", key)
        # Equal propensities say the same as an alpha, which then comes from the rows.
        assert item.difference == pytest.approx(one.difference, abs=0.02)
        assert item.upper - item.lower == pytest.approx(one.upper - one.lower, rel=0.15)


def test_single_precision_scores_keep_their_queue():
    s, _, a, b = two_models(np.random.default_rng(0), 3000)
    models = {"a": a.astype(np.float32), "b": b.astype(np.float32)}
    found = compare(s, models, alpha=0.2, queue=500, n_boot=0)
    assert [(x >= found.evaluations[k].threshold).sum() for k, x in models.items()] == [500, 500]


def test_rows_that_trained_the_models_say_less():
    rng = np.random.default_rng(0)
    y = rng.random(1500) < 0.3
    s = (y & (rng.random(1500) < 0.4)).astype(int)
    scores = {"a": rng.normal(1.5 * y), "b": rng.normal(1.3 * y)}
    once, fitted = (
        compare(s, scores, alpha=0.2, n_boot=0, scored=how) for how in (None, "crossfit")
    )
    for metric in ("roc_auc", "precision"):
        one, other = (found.difference("a", "b", metric) for found in (once, fitted))
        assert one.difference == other.difference
        assert other.upper - other.lower == pytest.approx(np.sqrt(2) * (one.upper - one.lower))
        assert other.p_value > one.p_value
    auc = [found.evaluations["a"]["roc_auc"].lower for found in (once, fitted)]
    assert auc[1] < auc[0]
    with pytest.raises(InvalidInputError, match="compare needs scored"):
        compare(s, scores, alpha=0.2, scored="often")
