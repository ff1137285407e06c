"""What an audit gives to estimates of alpha, tests of labels, thresholds and calibration."""

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

import recoup
from recoup.audit import Audit, plan
from recoup.audit.labels import _fewest_right
from recoup.exceptions import InvalidInputError
from recoup.learners import TunedThreshold
from recoup.priors import estimate
from recoup.scores import ScoreTable, crossfit
from recoup.selection import scar_test
from tests.audit.checked_rows import blindly, planned, two_models

S, SCORES, Y = two_models()
AUDIT = planned(S, SCORES["a"], Y)
ALPHA = Y[S == 0].mean()


class TestAlpha:
    def test_it_comes_from_the_answers(self):
        found = estimate(S, SCORES["a"], audit=AUDIT)
        assert found.method == "audit"
        assert found.interval[0] < ALPHA < found.interval[1]
        assert len(found.members) == 2
        assert min(found.members.values()) <= found.alpha <= max(found.members.values())
        blind = estimate(S, SCORES["a"])
        assert blind.interval[1] < ALPHA  # biased labels: sure, and wrong
        assert {note.code for note in found.warnings} == {"labels-biased"}
        assert "120 checked rows" in found.transform

    def test_it_is_what_evaluate_says_of_alpha(self):
        found = estimate(S, SCORES["a"], audit=AUDIT)
        evaluation = recoup.evaluate(S, SCORES["a"], audit=AUDIT, n_boot=0)
        assert found.members["audited"] == pytest.approx(evaluation.audit.alpha.audited, abs=0.01)
        again = recoup.evaluate(S, SCORES["a"], alpha=found, threshold=0.5, n_boot=0)
        assert again.alpha == found.alpha
        assert again.prior_estimate is found
        tilted = again.selection_sensitivity()
        assert set(tilted.alphas) == {found.alpha}

    @pytest.mark.parametrize("how", ["plan", "other scores", "uniform"])
    def test_all_rows_checked_give_the_true_share(self, how):
        n = int((S == 0).sum())
        audit = blindly(S, Y, n) if how == "uniform" else planned(S, SCORES["a"], Y, budget=n)
        scores = SCORES["b" if how == "other scores" else "a"]
        found = estimate(S, scores, audit=audit)
        assert found.alpha == pytest.approx(ALPHA, abs=1e-12)
        assert found.interval == pytest.approx((ALPHA, ALPHA), abs=1e-12)

    def test_a_table_will_do_beside_a_plan(self):
        table = ScoreTable.from_arrays(S, SCORES["a"])
        one, two = estimate(table, audit=AUDIT), estimate(S, SCORES["a"], audit=AUDIT)
        assert (one.alpha, one.interval) == (two.alpha, two.interval)

    def test_rows_from_the_top_give_bounds(self):
        order = np.argsort(-np.where(S == 0, SCORES["a"], -1), kind="stable")
        found = estimate(S, SCORES["a"], audit=Audit.top(40, Y[order[:40]]))
        assert found.interval_method == "bounds"
        assert found.draws is None
        assert found.interval[0] <= ALPHA <= found.interval[1]


class TestLabels:
    def test_biased_labels_are_seen_without_alpha(self):
        found = scar_test(SCORES["a"], S, audit=AUDIT)
        assert found.p_value < 0.01
        assert found.statistic > 0
        assert found.verdict.code == "favor-high"
        assert "needs no alpha" in found.about_alpha
        assert "by checked rows" in repr(found)
        verdict = recoup.evaluate(S, SCORES["a"], alpha=0.1, audit=AUDIT, n_boot=0).audit.labels
        assert found.verdict.odds == pytest.approx(verdict.odds)
        assert json.loads(json.dumps(found.to_dict()))["verdict"]["code"] == "favor-high"
        assert len(found.to_frame()) == 1
        assert "hidden positives found" in found._repr_html_()

    def test_the_p_value_is_that_of_the_draws(self):
        found = scar_test(SCORES["a"], S, audit=AUDIT)
        beyond = np.count_nonzero(np.abs(found.null) >= abs(found.statistic) - 1e-9)
        assert found.p_value == pytest.approx((1 + beyond) / (len(found.null) + 1))

    def test_labels_at_random_are_rarely_rejected(self):
        rejected = 0
        for seed in range(30):
            s, scores, y = two_models(n=800, seed=seed, tilt=0.0, share=0.3)
            rejected += scar_test(scores["a"], s, audit=blindly(s, y, 100, seed)).p_value < 0.05
        # With 5% false alarms, six or more of thirty come up in less than 1 of 200 such tests.
        assert rejected <= 5

    def test_without_an_audit_there_is_no_verdict(self):
        found = scar_test(SCORES["a"], S, alpha=0.1, classifier=None)
        assert found.verdict is None
        assert found.to_dict()["verdict"] is None

    def test_right_labels_have_an_exact_interval(self):
        truth = Y.copy()
        labeled = np.flatnonzero(S == 1)
        truth[labeled[:10]] = 0
        made = plan(S, SCORES["a"], threshold=0.5, alpha=0.1, budget=60, include_labeled=40)
        found = recoup.evaluate(
            S, SCORES["a"], alpha=0.1, n_boot=0, audit=made.answers(made.rows, truth[made.rows])
        ).audit
        right = found.right_labels
        wrong = int((truth[made.rows[S[made.rows] == 1]] == 0).sum())
        assert (right.n_checked, right.n_right) == (40, 40 - wrong)
        assert wrong > 0
        assert right.p_value == 0
        assert right.lower <= truth[labeled].mean() <= right.upper
        assert right.share == found.beta == 1 - wrong / 40
        assert found.to_dict()["right_labels"]["n_checked"] == 40
        assert right.text in found._repr_html_()

    def test_the_interval_of_right_labels_against_all_samples(self):
        # Of 6 labels and 3 checked, one in 20 ways draws the three right ones of three: 5%.
        assert [_fewest_right(6, 3, found, 0.025) for found in range(4)] == [0, 1, 2, 3]
        # All 6 right of 6 checked leave nothing open; 30 of 30 among 1,000 leave some.
        assert _fewest_right(6, 6, 6, 0.025) == 6
        assert 870 < _fewest_right(1000, 30, 30, 0.025) < 900

    def test_no_label_checked_gives_no_verdict(self):
        evaluation = recoup.evaluate(S, SCORES["a"], alpha=0.1, n_boot=0, audit=AUDIT)
        assert evaluation.audit.right_labels is None
        assert evaluation.audit.to_dict()["right_labels"] is None


class TestThreshold:
    X = np.column_stack([SCORES["a"], SCORES["b"]])

    def model(self, **options):
        return TunedThreshold(LogisticRegression(), cv=3, random_state=0, **options)

    def test_all_rows_checked_give_the_truly_best_threshold(self):
        audit = blindly(S, Y, int((S == 0).sum()))
        tuned = self.model().fit(self.X, S, audit=audit)
        scores = crossfit(LogisticRegression(), self.X, S, cv=3, random_state=0).scores
        best = max(f1_score(Y, scores >= cut) for cut in np.unique(scores))
        assert tuned.curve_.best_value == pytest.approx(best, abs=1e-12)
        assert tuned.best_score_ == pytest.approx(best, abs=1e-9)
        assert f1_score(Y, scores >= tuned.threshold_) == pytest.approx(best, abs=1e-12)
        assert tuned.prior_.alpha == pytest.approx(ALPHA, abs=1e-12)

    def test_few_answers_beat_biased_labels(self):
        by_labels = self.model(alpha="estimate").fit(self.X, S)
        tuned = self.model().fit(self.X, S, audit=AUDIT)
        one, two = (f1_score(Y, model.predict(self.X)) for model in (by_labels, tuned))
        assert two > one
        assert tuned.best_score_ < tuned.curve_.best_value
        assert tuned.prior_.method == "audit"
        assert 0 < tuned.score(self.X, S) < 1

    def test_a_rough_alpha_and_costs(self):
        cost = {"fp_cost": 1.0, "fn_cost": 5.0}
        tuned = self.model(alpha=0.1, metric="expected_cost", metric_params=cost)
        tuned.fit(self.X, S, audit=AUDIT)
        assert tuned.best_score_ > tuned.curve_.best_value  # a chosen cost is too low

    def test_without_either_alpha_is_asked_for(self):
        with pytest.raises(InvalidInputError, match="alpha"):
            self.model().fit(self.X, S)


class TestCalibration:
    def test_all_rows_checked_give_the_true_shares(self):
        audit = blindly(S, Y, int((S == 0).sum()))
        found = recoup.evaluate(S, SCORES["a"], alpha=0.1, n_boot=0, audit=audit).audit.calibration
        bins = np.searchsorted(found.threshold, SCORES["a"], side="right") - 1
        bins = np.maximum(bins, 0)
        truth = np.bincount(bins, Y) / np.bincount(bins)
        assert found.positive_share == pytest.approx(truth, abs=1e-12)
        assert found.lower == pytest.approx(truth, abs=1e-12)
        assert found.rows.sum() == len(S)
        assert 5 <= len(found.rows) <= 12

    def test_shares_hold_the_truth(self):
        held = total = 0
        for seed in range(20):
            s, scores, y = two_models(n=1000, seed=seed)
            audit = planned(s, scores["a"], y, random_state=seed)
            found = recoup.evaluate(s, scores["a"], alpha=0.05, n_boot=0, audit=audit)
            curve = found.audit.calibration
            bins = np.maximum(np.searchsorted(curve.threshold, scores["a"], side="right") - 1, 0)
            truth = np.bincount(bins, y) / np.bincount(bins)
            held += int(np.sum((curve.lower <= truth) & (truth <= curve.upper)))
            total += len(truth)
        # Bins of one audit lean on each other: room for that beside the 95% that are meant.
        assert held / total > 0.88

    def test_scores_that_are_no_probabilities_have_none(self):
        audit = planned(S, 5 * SCORES["a"], Y, threshold=2.5)
        evaluation = recoup.evaluate(S, 5 * SCORES["a"], alpha=0.1, n_boot=0, audit=audit)
        assert evaluation.audit.calibration is None
        assert evaluation.audit.to_dict()["calibration"] is None


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: estimate(S, SCORES["a"], audit="mine"), "recoup.audit.Audit"),
        (lambda: estimate(S, X=SCORES["a"][:, None], audit=AUDIT), "Got X"),
        (lambda: estimate(S[::-1], SCORES["a"][::-1], audit=AUDIT), "planned for"),
        (lambda: estimate(ScoreTable.from_arrays(S[:900], SCORES["a"][:900]), audit=AUDIT), "plan"),
        (lambda: scar_test(SCORES["a"], S, audit="mine"), "recoup.audit.Audit"),
        (lambda: scar_test(SCORES["a"], S, alpha=0.1, audit=AUDIT), "not both"),
        (lambda: scar_test(SCORES["a"][:, None], S, audit=AUDIT), "one column of scores"),
        (
            lambda: scar_test(SCORES["a"], S, audit=Audit.uniform(AUDIT.rows, 0 * AUDIT.truth)),
            "hidden positives",
        ),
        (lambda: TestThreshold().model().fit(TestThreshold.X, S, audit="mine"), "Audit"),
        (
            lambda: TestThreshold().model().fit(TestThreshold.X, S, audit=Audit.top(2, [1, 0])),
            "drawn",
        ),
        (
            lambda: TestThreshold().model().fit(TestThreshold.X[:900], S[:900], audit=AUDIT),
            "planned for",
        ),
    ],
)
def test_what_cannot_work_is_refused_in_words(call, words):
    with pytest.raises(InvalidInputError) as caught:
        call()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
