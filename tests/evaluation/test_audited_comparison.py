"""compare with checked rows: exact if all are checked, paired, and true whatever the labels are."""

import json

import numpy as np
import pytest
from sklearn import metrics as sk

import recoup
from recoup.audit import Audit
from recoup.exceptions import InvalidInputError
from tests.audit.checked_rows import blindly, planned, two_models

KEYS = ("roc_auc", "average_precision", "precision", "recall", "f1")
OPTIONS = {"alpha": 0.08, "threshold": 0.5, "n_boot": 0}


def true_values(y, scores):
    flagged = scores >= 0.5
    return {
        "roc_auc": sk.roc_auc_score(y, scores),
        "average_precision": sk.average_precision_score(y, scores),
        "precision": sk.precision_score(y, flagged),
        "recall": sk.recall_score(y, flagged),
        "f1": sk.f1_score(y, flagged),
    }


@pytest.fixture(scope="module")
def rows():
    return two_models()


@pytest.fixture(scope="module")
def audit(rows):
    s, scores, y = rows
    return planned(s, scores["a"], y)


@pytest.fixture(scope="module")
def found(rows, audit):
    s, scores, _ = rows
    return recoup.compare(s, scores, audit=audit, **OPTIONS)


@pytest.mark.parametrize("how", ["planned on a", "planned on neither", "uniform"])
def test_all_rows_checked_give_the_true_differences(how):
    s, scores, y = two_models(n=400)
    n = int((s == 0).sum())
    if how == "uniform":
        audit = blindly(s, y, n)
    else:
        by = scores["a"] if how == "planned on a" else scores["a"] + scores["b"]
        audit = planned(s, by, y, budget=n)
    comparison = recoup.compare(s, scores, audit=audit, **OPTIONS)
    assert comparison.audit.drawn_by == ("a" if how == "planned on a" else None)
    one, two = (true_values(y, values) for values in scores.values())
    for key in KEYS:
        item = comparison.audit.difference("a", "b", key)
        truth = one[key] - two[key]
        assert item.difference == pytest.approx(truth, abs=1e-12), key
        # Limits come from scores that are joined into some 256 cells.
        assert (item.lower, item.upper) == pytest.approx((truth, truth), abs=1e-3), key
        assert comparison.audit.models["b"][key].audited == pytest.approx(two[key], abs=1e-12)


def test_the_planned_model_is_judged_as_evaluate_judges_it(rows, audit, found):
    s, scores, _ = rows
    alone = recoup.evaluate(s, scores["a"], audit=audit, **OPTIONS).audit
    assert found.audit.drawn_by == "a"
    assert found.audit.models["a"].to_dict() == alone.to_dict()
    assert found.evaluations["a"].audit is found.audit.models["a"]
    assert found.audit.labels == alone.labels


def test_pairing_narrows_differences(found):
    for key in ("roc_auc", "precision", "recall"):
        one, two = (found.audit.models[name][key] for name in ("a", "b"))
        alone = [model.audited_upper - model.audited_lower for model in (one, two)]
        item = found.audit.difference("a", "b", key)
        assert item.difference == pytest.approx(one.audited - two.audited, abs=1e-12)
        assert item.upper - item.lower < 0.95 * np.hypot(*alone), key


def test_equal_models_do_not_differ(rows, audit):
    s, scores, _ = rows
    same = recoup.compare(s, {"a": scores["a"], "copy": 0.5 * scores["a"]}, audit=audit, alpha=0.08)
    for key in ("roc_auc", "precision"):
        item = same.audit.difference("a", "copy", key)
        assert (item.difference, item.lower, item.upper) == pytest.approx((0, 0, 0), abs=1e-9)
        assert item.p_value == 1


def test_differences_hold_the_truth_though_labels_are_biased():
    held = dict.fromkeys(KEYS, 0)
    for seed in range(24):
        s, scores, y = two_models(n=1000, seed=seed)
        audit = planned(s, scores["a"], y, random_state=seed)
        comparison = recoup.compare(s, scores, audit=audit, **OPTIONS)
        one, two = (true_values(y, values) for values in scores.values())
        for key in KEYS:
            item = comparison.audit.difference("a", "b", key)
            held[key] += item.lower <= one[key] - two[key] <= item.upper
    # Of intervals that hold in 95%, fewer than 19 of 24 do in less than 1 of 200 such tests.
    assert min(held.values()) >= 19, held


def test_rows_on_which_models_part_stay_open_though_no_positive_was_found_there(rows):
    s, scores, y = rows
    parted = (scores["a"] >= 0.5) != (scores["b"] >= 0.5)
    answers = np.where(parted, 0, y)
    found = recoup.compare(s, scores, audit=planned(s, scores["a"], answers), **OPTIONS)
    item = found.audit.difference("a", "b", "recall")
    # With none of n positive, the exact 95% limit by halves is about 1 - 0.05 ** (1 / n).
    hidden = found.audit.models["a"].hidden.audited
    n = int(np.sum(parted[planned(s, scores["a"], answers).rows]))
    most = (1 - 0.05 ** (1 / n)) * np.sum(parted & (s == 0)) / (hidden + s.sum())
    assert item.upper - item.lower > most
    assert item.p_value > 0.05


def test_the_order_of_models_changes_nothing_but_signs(rows, found, audit):
    s, scores, _ = rows
    turned = recoup.compare(s, {"b": scores["b"], "a": scores["a"]}, audit=audit, **OPTIONS)
    one, two = (both.audit.difference("a", "b", "recall") for both in (found, turned))
    assert (two.lower, two.upper) == pytest.approx((one.lower, one.upper), abs=1e-12)
    assert two.p_value == one.p_value


def test_missing_answers_widen_a_difference(rows):
    s, scores, y = rows
    holes = y.astype(float)
    open_ones = (scores["a"] >= 0.5) & (scores["b"] < 0.5) & (s == 0)
    holes[np.flatnonzero(open_ones)[::2]] = np.nan
    whole, holed = (
        recoup.compare(
            s, scores, audit=planned(s, scores["a"], answers), **OPTIONS
        ).audit.difference("a", "b", "recall")
        for answers in (y, holes)
    )
    assert holed.upper - holed.lower > whole.upper - whole.lower


def test_the_result_shows_itself(found):
    audit = found.audit
    assert repr(audit).startswith("AuditedComparison(120 checked, roc_auc: a 0.")
    frame = audit.to_frame()
    assert set(frame["metric"]) == set(audit.models["a"])
    plain = json.loads(json.dumps(found.to_dict()))["audit"]
    assert plain["models"].keys() == {"a", "b"}
    assert plain["drawn_by"] == "a"
    assert "rows checked by hand" in found._repr_html_()
    mirrored = audit.difference("b", "a")
    assert mirrored.difference == -audit.difference("a", "b").difference
    with pytest.raises(KeyError, match="beauty"):
        audit.difference("a", "b", "beauty")


def test_alpha_may_be_left_out(rows, audit):
    s, scores, _ = rows
    comparison = recoup.compare(s, scores, audit=audit, n_boot=0)
    assert comparison.prior_estimate is not None
    assert comparison.audit.n_checked == 120


def test_without_an_audit_there_is_none(rows):
    s, scores, _ = rows
    comparison = recoup.compare(s, scores, **OPTIONS)
    assert comparison.audit is None
    assert comparison.to_dict()["audit"] is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"audit": "mine"}, "recoup.audit.Audit"),
        ({"sample_weight": np.ones(1500)}, "sample_weight"),
        ({"audit": Audit.top(5, [1, 1, 0, 1, 0])}, "which rows are the top"),
        ({"audit": Audit.uniform([1, 5000], [0, 1])}, "row 5000"),
        ({"s": "turned"}, "planned for"),
    ],
)
def test_what_cannot_work_is_refused_in_words(rows, audit, change, words):
    s, scores, _ = rows
    options = OPTIONS | {"audit": audit} | change
    if options.pop("s", None):
        s, scores = s[::-1], {name: values[::-1] for name, values in scores.items()}
    with pytest.raises(InvalidInputError) as caught:
        recoup.compare(s, scores, **options)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
