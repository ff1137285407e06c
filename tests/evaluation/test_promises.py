"""Evaluation.certify and Evaluation.at_top, by labels and by checked rows."""

import json

import numpy as np
import pytest

import recoup
from recoup._core.prior import Prior
from recoup.audit import Audit, plan
from recoup.audit.by_answers import ByAnswers
from recoup.evaluation.audited import judged_rows
from recoup.exceptions import InvalidInputError
from recoup.metrics.demands import Demand
from recoup.metrics.learn_then_test import ByLabels
from recoup.report import Report


def rows(seed=0, n=6000, pi=0.2, d=3.0, tilt=0.0):
    """Labels, scores in [0, 1] and the truth; labels may favor high scores."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < pi
    x = rng.normal(d * y)
    chance = 0.3 if not tilt else 1 / (1 + np.exp(-tilt * (x - d - 0.5)))
    s = (y & (rng.random(n) < chance)).astype(int)
    return s, 1 / (1 + np.exp(-(x - d / 2))), y.astype(int)


S, SCORES, Y = rows()
ALPHA = Y[S == 0].mean()


def evaluated(**options):
    settings = {"alpha": ALPHA, "beta": 1.0, "threshold": 0.5, "n_boot": 0} | options
    return recoup.evaluate(S, SCORES, **settings)


EVALUATION = evaluated(labels_are="random")


def precision_at(threshold, scores=SCORES, y=Y):
    return y[scores >= threshold].mean()


class TestByLabels:
    def test_the_threshold_is_that_of_the_walk(self):
        promise = EVALUATION.certify(precision=0.8)
        judge = ByLabels(EVALUATION.given.exact, Prior.of(ALPHA, 1.0, "test"), "single-sample")
        kept = judge.kept(Demand("precision", 0.8), 0.05)
        assert promise.threshold == judge.thresholds[np.flatnonzero(kept)[-1]]
        assert promise.code == "kept"
        assert promise.rests_on == "labels"
        assert bool(promise)
        assert promise.queue == (promise.threshold <= SCORES).sum()
        assert precision_at(promise.threshold) >= 0.8
        assert 0 < promise.pledges[0].p_value <= 0.05

    def test_metrics_are_those_of_the_evaluation_there(self):
        promise = EVALUATION.certify(precision=0.8)
        point = EVALUATION.at(promise.threshold)
        for key in ("precision", "recall"):
            assert promise[key].value == pytest.approx(point[key].recovered)
            assert promise[key].lower == pytest.approx(point[key].lower)
            assert promise[key].upper == pytest.approx(point[key].upper)
        with pytest.raises(KeyError, match="has no 'f1'"):
            promise["f1"]

    def test_a_surer_promise_is_stricter(self):
        cuts = [EVALUATION.certify(precision=0.8, confidence=c).threshold for c in (0.8, 0.95)]
        assert cuts[0] < cuts[1]

    def test_all_that_is_asked_for_holds_at_once(self):
        promise = EVALUATION.certify(precision=0.75, recall=0.7, queue=1200)
        assert {one.key for one in promise.pledges} == {"precision", "recall", "queue"}
        assert promise.queue <= 1200
        assert precision_at(promise.threshold) >= 0.75
        assert Y[promise.threshold <= SCORES].sum() >= 0.7 * Y.sum()

    def test_a_recall_alone_is_kept_at_the_most_precise_threshold(self):
        promise = EVALUATION.certify(recall=0.9)
        assert Y[promise.threshold <= SCORES].sum() >= 0.9 * Y.sum()
        assert (
            promise["precision"].value
            > EVALUATION.at(promise.threshold - 0.1)["precision"].recovered
        )

    def test_a_queue_needs_no_test(self):
        promise = EVALUATION.certify(queue=500)
        assert promise.queue == 500
        assert promise.pledges[0].p_value == 0
        assert promise.notes == ()
        assert "chance" not in promise.sentence()

    def test_costs(self):
        promise = EVALUATION.certify(cost={"fp": 1, "fn": 20})
        assert promise["cost"].lower > 0
        flagged = promise.threshold <= SCORES
        cost = (flagged & (Y == 0)).sum() + 20 * (~flagged & (Y == 1)).sum()
        assert cost < min(20 * Y.sum(), (Y == 0).sum())

    def test_another_metric_may_be_made_best(self):
        promise = EVALUATION.certify(precision=0.6, maximise="f1")
        assert promise["f1"].value >= promise["precision"].value * promise["recall"].value
        assert promise.threshold > EVALUATION.certify(precision=0.6).threshold

    def test_without_a_threshold_there_is_a_reason_and_a_remedy(self):
        promise = EVALUATION.certify(precision=0.97)
        assert promise.code == "few-labels"
        assert not promise
        assert promise.threshold is None
        assert promise.sentence().startswith("No threshold: precision of at least 0.97")
        assert "\n" not in promise.sentence()
        assert promise.notes[0].code == "no-threshold"
        assert promise.audit_arguments == {
            "threshold": promise.candidate,
            "metrics": ("precision",),
        }
        reachable = promise.pledges[0].reachable
        assert EVALUATION.certify(precision=reachable - 0.002)
        assert not EVALUATION.certify(precision=reachable + 0.01)

    def test_reasons(self):
        s, scores, y = rows(d=1.0)
        weak = recoup.evaluate(s, scores, alpha=y[s == 0].mean(), beta=1.0, n_boot=0)
        assert weak.certify(precision=0.6, recall=0.9).code == "apart"
        assert weak.certify(precision=0.999).code in ("weak-model", "few-labels")
        assert weak.certify(recall=0.5, precision=0.999, queue=5).code != "kept"
        assert EVALUATION.certify(precision=0.8, queue=2).code == "small-queue"
        assert EVALUATION.certify(precision=0.99, recall=0.99).code == "apart"

    def test_what_the_promise_rests_on_is_said(self):
        assert "as was said" in EVALUATION.certify(precision=0.8).notes[0]
        unknown = evaluated().certify(precision=0.8)
        assert unknown.threshold == EVALUATION.certify(precision=0.8).threshold
        assert unknown.notes[0].code == "promise-labels"
        assert "nobody has said" in unknown.notes[0]
        assert "odds of up to 5" in unknown.notes[0]

    def test_labels_known_to_be_biased_promise_nothing(self):
        promise = evaluated(labels_are="biased").certify(precision=0.5)
        assert promise.code == "labels-biased"
        assert promise.threshold is None
        assert promise.candidate is not None
        # A queue is counted, whatever the labels are.
        assert evaluated(labels_are="biased").certify(queue=500)

    def test_cross_fitted_scores_are_promised_less(self):
        strict = evaluated(scored="crossfit", labels_are="random").certify(precision=0.7)
        assert strict.threshold > EVALUATION.certify(precision=0.7).threshold

    def test_propensities(self):
        found = recoup.evaluate(S, SCORES, propensity=np.full(len(S), 0.3), n_boot=0)
        promise = found.certify(precision=0.7)
        assert promise.rests_on == "propensity"
        assert precision_at(promise.threshold) >= 0.7

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({}, "needs something to promise"),
            ({"precision": 1.2}, "needs precision to be a number above 0 and below 1"),
            ({"queue": 0}, "needs queue to be a number of at least 1"),
            ({"precision": 0.8, "confidence": 95}, "needs confidence to be a number"),
            ({"precision": 0.8, "maximise": "auc"}, "needs maximise to be a metric"),
        ],
    )
    def test_bad_wishes(self, given, message):
        with pytest.raises(InvalidInputError, match=f"Evaluation.certify {message}"):
            EVALUATION.certify(**given)

    def test_results_can_be_kept(self):
        for promise in (
            EVALUATION.certify(precision=0.8, queue=900),
            EVALUATION.certify(recall=1 - 1e-6),
        ):
            plain = json.loads(json.dumps(promise.to_dict()))
            assert plain["sentence"] == promise.sentence() == str(promise)
            assert plain["code"] == promise.code
            assert len(promise.to_frame()) == len(promise.metrics)
            assert promise.pledges[0].asked in promise._repr_html_()
            assert "Promise(" in repr(promise)


class TestByAnswers:
    S, SCORES, Y = rows(seed=4, d=2.0, tilt=0.5)

    def audited(self, budget=150, **options):
        made = plan(
            self.S, self.SCORES, threshold=0.7, budget=budget, n_waves=1, alpha=0.12,
            metrics=("precision",),
        )  # fmt: skip
        audit = made.answers(made.rows, self.Y[made.rows])
        return recoup.evaluate(self.S, self.SCORES, alpha=0.12, beta=1.0, n_boot=0, audit=audit)

    def test_biased_labels_do_not_matter(self):
        by_labels = recoup.evaluate(self.S, self.SCORES, alpha=0.12, beta=1.0, n_boot=0)
        # Labels that favor high scores promise what is not kept.
        naive = by_labels.certify(precision=0.8)
        assert precision_at(naive.threshold, self.SCORES, self.Y) < 0.77
        promise = self.audited().certify(precision=0.8)
        assert promise.rests_on == "audit"
        assert promise.notes[0].code == "promise-audit"
        assert precision_at(promise.threshold, self.SCORES, self.Y) >= 0.8
        assert promise["recall"].value > 0.3

    def test_values_are_those_of_the_audited_evaluation_there(self):
        found = self.audited()
        promise = found.certify(precision=0.8)
        audit_at = recoup.evaluate(
            self.S, self.SCORES, alpha=0.12, beta=1.0, n_boot=0, threshold=promise.threshold,
            audit=self.remade(),
        ).audit  # fmt: skip
        assert promise["precision"].value == pytest.approx(audit_at["precision"].audited, abs=1e-3)
        assert promise["precision"].lower == pytest.approx(audit_at["precision"].lower, abs=0.02)

    def remade(self):
        made = plan(
            self.S, self.SCORES, threshold=0.7, budget=150, n_waves=1, alpha=0.12,
            metrics=("precision",),
        )  # fmt: skip
        return made.answers(made.rows, self.Y[made.rows])

    def test_all_rows_checked_tell_the_truth(self):
        s, scores, y = rows(seed=4, n=1500, tilt=2.0)
        left = np.flatnonzero(s == 0)
        found = recoup.evaluate(
            s, scores, alpha=0.05, beta=1.0, n_boot=0, audit=Audit.uniform(left, y[left])
        )
        promise = found.certify(precision=0.9)
        at = precision_at(promise.threshold, scores, y)
        # The next threshold that is looked at flags a few percent more.
        assert 0.9 <= at < 0.95
        assert promise["precision"].value == pytest.approx(at)
        assert promise["precision"].lower == pytest.approx(at)
        assert promise.pledges[0].p_value < 0.001

    def test_missing_answers_may_be_either(self):
        made = plan(
            self.S, self.SCORES, threshold=0.7, budget=150, n_waves=1, alpha=0.12,
            metrics=("precision",),
        )  # fmt: skip
        found = recoup.evaluate(self.S, self.SCORES, alpha=0.12, n_boot=0, threshold=0.7)
        _, population = judged_rows(found)
        demand, p_values = Demand("precision", 0.8), []
        for missing in (0, 30):
            truth = self.Y[made.rows].astype(float)
            truth[:missing] = np.nan
            checked = made.answers(made.rows, truth).checked(
                self.S, self.SCORES, population, "test"
            )
            judge = ByAnswers(population, checked, 0.12, 1.0, 0)
            p_values.append(judge.p_value(demand, 10))
            # As surely as if all of them were negative.
            worst = ByAnswers(population, checked.filled(0.0), 0.12, 1.0, 0)
            assert p_values[-1] == worst.p_value(demand, 10)
        assert p_values[0] < 0.05 < p_values[1]

    def test_a_queue_by_answers(self):
        promise = self.audited().certify(queue=321)
        assert promise.queue == 321
        assert promise["precision"].lower < promise["precision"].value

    def test_promises_are_kept(self):
        broken = found = 0
        for seed in range(30):
            s, scores, y = rows(seed=seed, n=2000, tilt=2.0)
            made = plan(
                s, scores, threshold=0.7, budget=80, n_waves=1, alpha=0.06, metrics=("precision",)
            )
            audit = made.answers(made.rows, y[made.rows])
            judge = audit.promise_judge(s, scores, alpha=0.06)
            kept = judge.kept(Demand("precision", 0.85), 0.05)
            if kept.any():
                found += 1
                broken += precision_at(judge.thresholds[np.flatnonzero(kept)[-1]], scores, y) < 0.85
        # With 5% broken, five or more of thirty come up in 1 of 60 such tests.
        assert broken < 5
        assert found > 20


class TestTop:
    def test_without_ties_it_is_the_threshold_of_the_queue(self):
        top = EVALUATION.at_top(500)
        promise = EVALUATION.certify(queue=500)
        assert top.threshold == promise.threshold
        for key in ("precision", "recall"):
            assert top[key].value == pytest.approx(promise[key].value)
            assert top[key].lower == pytest.approx(promise[key].lower)
            assert top[key].tie_lower == top[key].tie_upper == top[key].value
        assert not top.cuts_ties
        assert top["precision"].lower <= Y[np.argsort(-SCORES)[:500]].mean() <= 1

    def test_ties_are_counted_by_hand(self):
        # All labeled: nothing is hidden, so that every number can be counted.
        s = np.array([1] * 6 + [0] * 2 + [1] * 2 + [0] * 4 + [0] * 86)
        scores = np.array([0.9] * 8 + [0.5] * 6 + [0.1] * 86)
        evaluation = recoup.evaluate(s, scores, alpha=0.0, beta=1.0, n_boot=0, threshold=0.5)
        top = evaluation.at_top(11)
        assert (top.threshold, top.above, top.tied) == (0.5, 8, 6)
        # Three of six tied rows, of which two are positive: one on average, none or two.
        assert top["precision"].value == pytest.approx(7 / 11)
        assert top["precision"].tie_lower == pytest.approx(6 / 11)
        assert top["precision"].tie_upper == pytest.approx(8 / 11)
        assert top["recall"].value == pytest.approx(7 / 8)
        assert top["recall"].tie_lower == pytest.approx(6 / 8)
        assert top["recall"].tie_upper == pytest.approx(1.0)
        assert "6 rows share the score 0.5, of which 3 are taken" in top.sentence()
        # Five of six: one positive at least.
        assert evaluation.at_top(13)["precision"].tie_lower == pytest.approx(7 / 13)

    def test_by_answers(self):
        left = np.flatnonzero(S == 0)
        found = recoup.evaluate(
            S, SCORES, alpha=ALPHA, beta=1.0, n_boot=0, audit=Audit.uniform(left, Y[left])
        )
        top = found.at_top(700)
        order = np.argsort(-SCORES)[:700]
        assert top["precision"].value == pytest.approx(Y[order].mean())
        assert top["recall"].value == pytest.approx(Y[order].sum() / Y.sum())

    @pytest.mark.parametrize(("k", "message"), [(0, "whole number"), (10**6, "no more rows than")])
    def test_bad_numbers(self, k, message):
        with pytest.raises(InvalidInputError, match=message):
            EVALUATION.at_top(k)

    def test_results_can_be_kept(self):
        top = EVALUATION.at_top(500)
        assert json.loads(json.dumps(top.to_dict()))["metrics"]["recall"]["value"] == pytest.approx(
            top["recall"].value
        )
        assert list(top.to_frame()["key"]) == ["precision", "recall"]
        assert "TopRows(500" in repr(top)
        assert "500 rows" in top._repr_html_()
        with pytest.raises(KeyError, match="has no 'f1'"):
            top["f1"]


def test_reports_show_the_promise(tmp_path):
    promise = EVALUATION.certify(precision=0.8, queue=900)
    page = Report(EVALUATION, "<Model>", promise=promise)
    assert promise.sentence() in page.to_html()
    assert 'id="promised"' in page.to_html()
    assert "## A threshold that keeps the promise" in page.to_markdown()
    assert json.loads(page.write(tmp_path / "r.json").read_text())["promise"]["code"] == "kept"
    assert 'id="promised"' not in Report(EVALUATION, "Model").to_html()
    refused = Report(EVALUATION, "Model", promise=EVALUATION.certify(precision=0.97))
    assert "No threshold to promise" in refused.to_html()
