"""Metrics by group: one group is evaluate, many learn from each other, the truth is held."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import norm
from sklearn.metrics import precision_score, recall_score, roc_auc_score

import recoup
from recoup import Draws, GroupedEvaluation, Interval, evaluate, evaluate_by
from recoup.audit import Audit
from recoup.evaluation import GroupContrast, GroupEstimate
from recoup.exceptions import InvalidInputError
from recoup.scores import GroupedTable

EVIL = "<b onmouseover=alert(1)>|`x`\n$y_2$</script>"
PI, FREQUENCY, SEPARATION = np.array([0.15, 0.4]), np.array([0.5, 0.15]), 2.0


def drawn(n=20_000, seed=0, names=("m", "f")):
    """Two groups with other shares of positives, labeled at other rates."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, n)
    y = rng.random(n) < PI[group]
    s = (y & (rng.random(n) < FREQUENCY[group])).astype(int)
    scores = expit(rng.normal(SEPARATION * y - 1.0))
    return s, scores, np.array(names)[group], y


def alphas(names=("m", "f")):
    labeled = PI * FREQUENCY
    return dict(zip(names, ((PI - labeled) / (1 - labeled)).tolist(), strict=True))


@pytest.fixture(scope="module")
def rows():
    return drawn()


@pytest.fixture(scope="module")
def known(rows):
    s, scores, group, _ = rows
    return evaluate_by(s, scores, groups=group, alpha=alphas(), threshold=0.5)


@pytest.fixture(scope="module")
def estimated(rows):
    s, scores, group, _ = rows
    return evaluate_by(s, scores, groups={"sex": group}, threshold=0.5)


@pytest.mark.parametrize("alpha", [0.2, "estimate", Draws([0.1, 0.2, 0.3]), Interval(0.1, 0.3)])
@pytest.mark.parametrize("scheme", ["single-sample", "case-control"])
def test_one_group_is_evaluate_to_the_digit(rows, alpha, scheme):
    s, scores, _, _ = rows
    options = {"alpha": alpha, "scheme": scheme, "random_state": 3}
    one = evaluate(s[:4000], scores[:4000], beta=1.0, **options)
    found = evaluate_by(s[:4000], scores[:4000], groups=["all"] * 4000, **options)
    assert found.threshold == one.threshold
    assert found["alpha"]["all"].recovered == one.alpha
    for key in found:
        if key == "alpha":
            continue
        mine, theirs = found[key]["all"], one[key]
        for name in ("pu", "recovered", "lower", "upper"):
            assert getattr(mine, name) == getattr(theirs, name), (key, name)
            assert getattr(found[key].total, name) == getattr(theirs, name)
        assert mine.own == 1
    with pytest.raises(InvalidInputError, match="at least two"):
        found.gap("precision")


def test_large_groups_speak_for_themselves(known, rows):
    s, scores, group, _ = rows
    for name, alpha in alphas().items():
        inside = group == name
        alone = evaluate(s[inside], scores[inside], alpha=alpha, beta=1.0, threshold=0.5)
        for key in ("precision", "recall", "specificity", "roc_auc", "accuracy"):
            mine, theirs = known[key][name], alone[key]
            assert mine.recovered == pytest.approx(theirs.recovered, abs=0.012)
            width = theirs.upper - theirs.lower
            assert 0.4 * width < mine.upper - mine.lower < 1.15 * width
            assert mine.pu == pytest.approx(theirs.pu, abs=1e-3)
        assert known["alpha"][name].recovered == alpha


def test_the_total_is_that_of_all_rows(known, rows):
    _, scores, _, y = rows
    total = known["roc_auc"].total
    assert total.lower < roc_auc_score(y, scores) < total.upper
    for key, score in (("precision", precision_score), ("recall", recall_score)):
        assert known[key].total.lower < score(y, scores >= 0.5) < known[key].total.upper


def test_the_total_is_right_where_the_pooled_table_is_not():
    # The same model in both groups, but its scores rise with the share of positives: labels of the
    # group that is labeled more often then pull the pooled table up.
    rng = np.random.default_rng(1)
    group = rng.integers(0, 2, 60_000)
    y = rng.random(60_000) < PI[group]
    s = (y & (rng.random(60_000) < np.array([0.05, 0.6])[group])).astype(int)
    scores = rng.normal(1.5 * y + 1.5 * group)
    labeled = PI * np.array([0.05, 0.6])
    alpha = dict(enumerate(((PI - labeled) / (1 - labeled)).tolist()))
    found = evaluate_by(s, scores, groups=group, alpha=alpha, threshold=1.5)
    truth = roc_auc_score(y, scores)
    assert found["roc_auc"].total.lower < truth < found["roc_auc"].total.upper
    assert not found.pooled["roc_auc"].lower < truth < found.pooled["roc_auc"].upper
    assert "labeled-unevenly" in {note.code for note in found.notes}


def test_estimated_alphas_hold_the_truth_and_say_where_they_come_from(estimated, rows):
    _, scores, group, y = rows
    for name, alpha in alphas().items():
        one = estimated["alpha"][name]
        assert one.lower < alpha < one.upper
        assert 0 < one.own <= 1
        precision = estimated["precision"][name]
        inside = (group == name) & (scores >= 0.5)
        assert precision.lower < y[inside].mean() < precision.upper
    assert estimated.pooled.prior_estimate is not None
    assert estimated.spread > 1


def test_a_group_with_few_labels_never_ends_the_call():
    s, scores, group, _ = drawn(4000, seed=2)
    group = group.astype(object)
    group[:40] = None
    group[40:60] = "no labels"
    s[40:60] = 0
    group[60:63] = "labels alone"
    s[60:63] = 1
    found = evaluate_by(s, scores, groups=group, threshold=0.5)
    assert len(found) == 5
    assert found["precision"]["no labels"].own < 0.5
    assert found["recall"]["no labels"].own == 0
    assert found["alpha"]["no labels"].own == 0
    assert found["recall"][None].own < 0.8
    assert "small-groups" in {note.code for note in found.notes}
    frame = found.to_frame()
    assert len(frame) == 5 * len(found.metrics)
    for key in ("precision", "recall", "alpha", "roc_auc"):
        assert np.isfinite(found[key].recovered).all()
        assert (found[key].lower <= found[key].recovered).all()
        assert (found[key].recovered <= found[key].upper).all()


@pytest.mark.slow
def test_intervals_of_small_groups_hold_the_truth():
    """Twelve groups of 5 to 60 labels with recalls of their own; alpha is known."""
    rng = np.random.default_rng(7)
    held, widths = {"recall": [], "precision": [], "roc_auc": []}, []
    for number in range(40):
        pi = expit(rng.normal(-1.5, 0.5, 12))
        separation = 2.0 + rng.normal(0, 0.25, 12)
        group = np.repeat(np.arange(12), rng.integers(60, 800, 12))
        y = rng.random(len(group)) < pi[group]
        s = (y & (rng.random(len(group)) < 0.4)).astype(int)
        scores = rng.normal(separation[group] * y)
        alpha = 0.6 * pi / (1 - 0.4 * pi)
        found = evaluate_by(
            s,
            scores,
            groups=group,
            alpha=dict(enumerate(alpha.tolist())),
            threshold=1.2,
            n_draws=400,
            random_state=number,
        )
        recall = norm.sf(1.2 - separation)
        truth = {
            "recall": recall,
            "precision": pi * recall / (pi * recall + (1 - pi) * norm.sf(1.2)),
            "roc_auc": norm.cdf(separation / np.sqrt(2)),
        }
        for key, values in truth.items():
            one = found[key]
            held[key] += ((one.lower <= values) & (values <= one.upper)).tolist()
        widths.append(np.mean(found["recall"].upper - found["recall"].lower))
    for key, values in held.items():
        assert 0.91 <= np.mean(values) <= 0.985, key
    assert np.mean(widths) < 0.35


def test_differences_ratios_and_gaps(known):
    one, other = known["precision"]["f"], known["precision"]["m"]
    found = known.difference("precision", "f", "m")
    assert isinstance(found, GroupContrast)
    assert found.value == pytest.approx(one.recovered - other.recovered)
    assert found.lower < found.value < found.upper
    back = known.difference("precision", "m", "f")
    assert (back.value, back.lower, back.upper) == pytest.approx(
        (-found.value, -found.upper, -found.lower)
    )
    ratio = known.ratio("precision", "f", "m")
    assert ratio.value == pytest.approx(one.recovered / other.recovered)
    assert 1 < ratio.lower < ratio.value < ratio.upper
    gap = known.gap("precision")
    assert gap.value == pytest.approx(abs(found.value))
    assert (gap.first, gap.second) == ("f", "m")
    assert 0 < gap.lower < gap.value < gap.upper
    # With two groups there is one pair, and nothing to pay for looking.
    assert gap.upper - gap.lower == pytest.approx(found.upper - found.lower, rel=0.1)
    odds = known.equalized_odds()
    assert odds.value == max(known.gap("recall").value, known.gap("specificity").value)


def test_simultaneous_limits_are_wider_and_those_of_one_group_as_wide():
    s, scores, _, _ = drawn(6000, seed=3)
    group = np.random.default_rng(0).integers(0, 30, 6000)
    found = evaluate_by(s, scores, groups=group, alpha=0.2, threshold=0.5)
    metric = found["precision"]
    lower, upper = metric.simultaneous()
    ratio = (upper - lower) / (metric.upper - metric.lower)
    assert (ratio >= 1).all()
    assert 1.2 < np.median(ratio) < 2.2
    frame = found.to_frame(simultaneous=True)
    assert frame[frame["metric"] == "precision"]["lower"].tolist() == lower.tolist()
    # Groups at random: they differ by no more than chance.
    assert found.gap("precision").lower == 0


def test_the_worst_groups_lead(known, estimated):
    worst = known.worst("precision", k=1)
    assert [one.name for one in worst] == ["m"]
    assert isinstance(worst[0], GroupEstimate)
    assert len(estimated.worst("recall", 5)) == 2
    for k in (0, 1.5, True):
        with pytest.raises(InvalidInputError, match="k to be a whole number"):
            known.worst("precision", k)
    with pytest.raises(InvalidInputError, match="more is better or worse"):
        known.worst("alpha")


def test_an_interval_of_alpha_is_taken_at_its_worst(rows):
    s, scores, group, _ = rows
    wide = evaluate_by(s, scores, groups=group, alpha=Interval(0.05, 0.2), threshold=0.5)
    for alpha in (0.05, 0.2):
        one = evaluate_by(s, scores, groups=group, alpha=alpha, threshold=0.5)
        assert (wide["precision"].lower <= one["precision"].lower + 0.005).all()
        assert (wide["precision"].upper >= one["precision"].upper - 0.005).all()
    assert wide.gap("precision").upper > one.gap("precision").upper


def test_draws_of_alpha_move_all_groups_together(rows):
    s, scores, group, _ = rows
    draws = Draws(np.random.default_rng(0).uniform(0.05, 0.15, 400))
    found = evaluate_by(s, scores, groups=group, alpha=draws, threshold=0.5)
    drawn = found["alpha"].draws[0]
    assert np.array_equal(drawn[:, 0], drawn[:, 1])
    exact = evaluate_by(s, scores, groups=group, alpha=0.1, threshold=0.5)
    widths = [
        np.ptp([one.lower, one.upper], axis=0) for one in (found["precision"], exact["precision"])
    ]
    assert (widths[0] > widths[1]).all()


@pytest.mark.parametrize(
    ("alpha", "words"),
    [
        ({"m": 0.1}, "an alpha for every group. Got none for 1 of 2: f."),
        ({"m": 0.1, "f": 0.1, "x": 0.1}, "a group that there is"),
        ({"m": "estimate", "f": 0.1}, "to be a number"),
        ({"m": 1.2, "f": 0.1}, "alpha in [0, 1]"),
        (7, "alpha in [0, 1]"),
        ("bbee", "knows no way 'bbee'"),
    ],
)
def test_alphas_that_cannot_be(rows, alpha, words):
    s, scores, group, _ = rows
    with pytest.raises(InvalidInputError) as caught:
        evaluate_by(s, scores, groups=group, alpha=alpha)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "Got no groups"),
        ({"groups": ["a"] * 3}, "one value per row"),
        ({"groups": "sex"}, "a column of values"),
        ({"groups": [1, 2], "n_draws": 3}, "n_draws to be a whole number from 100"),
    ],
)
def test_calls_that_cannot_be(rows, options, words):
    s, scores, _, _ = rows
    with pytest.raises(InvalidInputError, match=words):
        evaluate_by(s, scores, **options)
    with pytest.raises(InvalidInputError, match="Got no scores"):
        evaluate_by(s, groups=s)


def test_another_method_of_estimating_alpha(rows):
    s, scores, group, _ = rows
    found = evaluate_by(s[:3000], scores[:3000], groups=group[:3000], alpha="elkan-noto")
    assert found.pooled.prior_estimate.method == "elkan-noto"
    assert (found["alpha"].own > 0).all()


def test_tables_arrays_and_frames_say_the_same(rows):
    s, scores, group, _ = rows
    frame = pd.DataFrame({"s": s, "p": scores, "sex": group})[:3000]
    one = evaluate_by(frame.s, frame.p, groups=frame[["sex"]], alpha=0.2, threshold=0.5)
    table = GroupedTable.from_frame(frame, label="s", score="p", by=["sex"])
    other = evaluate_by(table, alpha=0.2, threshold=0.5)
    assert one.to_dict() == other.to_dict()
    with pytest.raises(InvalidInputError, match="takes a GroupedTable alone"):
        evaluate_by(table, scores)


def test_the_seed_decides(rows):
    s, scores, group, _ = rows
    options = {"groups": group[:2000], "alpha": 0.2, "threshold": 0.5}
    made = [
        evaluate_by(s[:2000], scores[:2000], **options, random_state=seed)["recall"].lower
        for seed in (1, 1, 2)
    ]
    assert np.array_equal(made[0], made[1])
    assert not np.array_equal(made[0], made[2])


def test_known_negatives_count(rows):
    s, scores, group, y = rows
    rng = np.random.default_rng(5)
    s = s[:12_000].copy()
    y = y[: len(s)]
    checked = (s == 0) & ~y & (rng.random(len(s)) < 0.3)
    s[checked] = -1
    alpha = {name: y[(s == 0) & (group[: len(s)] == name)].mean() for name in ("m", "f")}
    for scheme in ("single-sample", "case-control"):
        found = evaluate_by(
            s, scores[: len(s)], groups=group[: len(s)], alpha=alpha, scheme=scheme, threshold=0.5
        )
        for name in ("m", "f"):
            inside = group[: len(s)] == name
            alone = evaluate(
                *(s[inside], scores[: len(s)][inside]),
                alpha=alpha[name],
                beta=1.0,
                scheme=scheme,
                threshold=0.5,
            )
            for key in ("precision", "specificity", "roc_auc"):
                assert found[key][name].recovered == pytest.approx(alone[key].recovered, abs=0.02)


def test_scores_from_other_folds_widen_intervals(rows):
    s, scores, group, _ = rows
    options = {"groups": group, "alpha": alphas(), "threshold": 0.5}
    once = evaluate_by(s, scores, **options)["recall"]
    folds = evaluate_by(s, scores, **options, scored="crossfit")["recall"]
    ratio = (folds.upper - folds.lower) / (once.upper - once.lower)
    assert ratio == pytest.approx(np.sqrt(2), rel=0.02)


def test_checked_rows_decide_where_they_lie():
    s, scores, group, y = drawn(3000, seed=8)
    hidden = np.flatnonzero((s == 0) & (group == "f"))
    unlabeled = np.flatnonzero(s == 0)
    some = np.random.default_rng(0).choice(unlabeled, 400, replace=False)
    found = evaluate_by(
        s, scores, groups=group, alpha=0.05, threshold=0.5, audit=Audit.uniform(some, y[some])
    )
    alone = evaluate_by(s, scores, groups=group, alpha=0.05, threshold=0.5)
    for name in ("m", "f"):
        inside = (group == name) & (scores >= 0.5)
        truth = y[inside].mean()
        one = found["precision"][name]
        assert one.n_checked == np.isin(some, np.flatnonzero(group == name)).sum()
        assert one.lower - 0.02 < truth < one.upper + 0.02
        # The alpha that was given is wrong, and only the checks know.
        assert abs(one.recovered - truth) < abs(alone["precision"][name].recovered - truth)
    assert set(found.audits) == {("m",), ("f",)}
    assert found["alpha"]["f"].recovered == pytest.approx(y[hidden].mean(), abs=0.12)


def test_with_all_rows_checked_every_group_has_its_true_values():
    s, scores, group, y = drawn(1500, seed=9)
    unlabeled = np.flatnonzero(s == 0)
    audit = Audit.drawn(unlabeled, y[unlabeled], np.ones(len(unlabeled)))
    found = evaluate_by(s, scores, groups=group, alpha=0.1, threshold=0.5, audit=audit)
    for name, one in found.audits.items():
        inside = group == name[0]
        truth = precision_score(y[inside], scores[inside] >= 0.5)
        assert one.metrics["precision"].audited == pytest.approx(truth, abs=1e-9)
        auc = roc_auc_score(y[inside], scores[inside])
        assert one.metrics["roc_auc"].audited == pytest.approx(auc, abs=1e-9)


def test_groups_without_checks_say_so():
    s, scores, group, y = drawn(3000, seed=10)
    some = np.flatnonzero((s == 0) & (group == "f"))[:200]
    found = evaluate_by(
        *(s, scores),
        groups=group,
        alpha=0.1,
        threshold=0.5,
        audit=Audit.drawn(some, y[some], np.full(200, 0.2)),
    )
    assert set(found.audits) == {("f",)}
    assert found["precision"]["m"].n_checked == 0
    assert "audit-elsewhere" in {note.code for note in found.notes}


def test_results_show_themselves_and_names_do_no_harm():
    s, scores, group, _ = drawn(3000, seed=11, names=(EVIL, "f"))
    found = evaluate_by(s, scores, groups={EVIL: group}, alpha=0.2, threshold=0.5)
    assert isinstance(found, GroupedEvaluation)
    assert repr(found).startswith("GroupedEvaluation(2 groups by ")
    for page in (found._repr_html_(), found["precision"]._repr_html_()):
        assert "<b onmouseover" not in page
        assert "&lt;b onmouseover" in page
    assert found["precision"][EVIL].name == EVIL
    as_dict = found.to_dict()
    assert as_dict["groups"] == [[EVIL], ["f"]]
    assert [one["name"] for one in as_dict["metrics"]["recall"]["groups"]] == [EVIL, "f"]
    with pytest.raises(InvalidInputError, match="a group that there is") as caught:
        found.difference("recall", "x", "f")
    assert len(str(caught.value)) < 700
    with pytest.raises(KeyError, match="Did you mean 'precision'"):
        found["precison"]
    with pytest.raises(InvalidInputError, match="Did you mean 'recall'"):
        found.gap("recal")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        display = found.plot("precision")
    assert display.ax_.get_xlabel() == "Precision"
    assert len(display.ax_.get_yticklabels()) == 2


def test_it_is_at_the_front_door():
    assert recoup.evaluate_by is evaluate_by
    assert {"evaluate_by", "GroupedEvaluation"} <= set(recoup.__all__)
