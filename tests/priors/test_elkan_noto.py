from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from recoup.exceptions import InvalidInputError
from recoup.priors.elkan_noto import ElkanNotoPrior
from recoup.scores.table import ScoreTable


def gaussian_scores(rng, n_labeled, n_unlabeled, alpha, separation=4.0):
    s = np.repeat([1, 0], [n_labeled, n_unlabeled])
    positive = (s == 1) | (rng.random(len(s)) < alpha)
    return s, rng.normal(separation * positive)


def true_tau(scores, n_labeled, n_unlabeled, alpha, separation=4.0):
    """P(s=1 | score) of gaussian_scores."""
    ratio = np.exp(separation * scores - separation**2 / 2)
    return n_labeled * ratio / (n_labeled * ratio + n_unlabeled * (alpha * ratio + 1 - alpha))


def test_rules_by_hand():
    s = np.repeat([1, 0], [20, 60])
    tau = np.concatenate([np.full(15, 0.5), np.full(5, 0.2), np.full(10, 0.5), np.full(50, 0.1)])
    found = ElkanNotoPrior(calibrate=None, interval=None).fit_scores(s, tau).estimate_
    frequencies = {"e1": 8.5 / 20, "e2": 8.5 / 18.5, "e3": 0.5}
    for rule, c in frequencies.items():
        assert found.members[rule] == pytest.approx(20 / 60 * (1 - c) / c)
    assert found.alpha == found.members["e3"]
    assert found.label_frequency == pytest.approx(0.5)
    # Balanced odds are 3 times those of the pooled rows.
    balanced = {0.5: 3 / 4, 0.2: 0.75 / 1.75, 0.1: (1 / 3) / (4 / 3)}
    on_labeled = (15 * balanced[0.5] + 5 * balanced[0.2]) / 20
    on_unlabeled = (10 * balanced[0.5] + 50 * balanced[0.1]) / 60
    assert found.members["ratio"] == pytest.approx(on_unlabeled / on_labeled)


def test_main_form_by_hand():
    s = np.repeat([1, 0], [20, 60])
    tau = np.concatenate([np.full(20, 0.5), np.full(10, 0.5), np.full(50, 0.1)])
    estimator = ElkanNotoPrior(calibrate=None, form="main", rule="e1", interval=None)
    # c = 0.5: an unlabeled row is positive with the odds tau / (1 - tau).
    assert estimator.fit_scores(s, tau).alpha_ == pytest.approx((10 + 50 / 9) / 60)


def test_both_forms_agree_on_calibrated_scores():
    s, scores = gaussian_scores(np.random.default_rng(0), 1000, 4000, 0.4, separation=2.0)
    main, alternative = (
        ElkanNotoPrior(form=form, interval=None).fit_scores(s, scores).estimate_.members
        for form in ("main", "alternative")
    )
    # But for labeled rows above the highest unlabeled one.
    assert main == pytest.approx(alternative, abs=0.01)


@pytest.mark.parametrize("rule", ["e1", "e2", "e3", "ratio"])
def test_rule_chooses_among_members(rule):
    s, scores = gaussian_scores(np.random.default_rng(0), 300, 900, 0.4, separation=2.0)
    found = ElkanNotoPrior(rule=rule, interval=None).fit_scores(s, scores).estimate_
    assert list(found.members) == ["e1", "e2", "e3", "ratio"]
    assert found.alpha == found.members[rule]


def test_percentile_among_labeled_rows_and_maximum_among_all():
    rng = np.random.default_rng(0)
    s = np.repeat([1, 0], [100, 400])
    tau = rng.uniform(0.1, 0.8, 500)
    tau[-1] = 0.9
    for percentile, c in ((100, 0.9), (50, np.sort(tau[:100])[49]), (80, np.sort(tau[:100])[79])):
        estimator = ElkanNotoPrior(calibrate=None, percentile=percentile, interval=None)
        assert estimator.fit_scores(s, tau).estimate_.members["e3"] == pytest.approx(
            0.25 * (1 - c) / c
        )


def test_isotonic_calibration_is_that_of_the_rows():
    rng = np.random.default_rng(0)
    s, scores = gaussian_scores(rng, 300, 900, 0.4, separation=1.0)
    scores = scores.round(1)
    tau = IsotonicRegression().fit(scores, s).predict(scores)
    by_rows = ElkanNotoPrior(calibrate=None, interval=None).fit_scores(s, tau).estimate_
    by_table = ElkanNotoPrior(interval=None).fit_scores(s, scores).estimate_
    assert by_table.members == pytest.approx(by_rows.members)
    # Calibrated on the same rows, tau sums to the number of labels.
    assert by_table.members["e1"] == pytest.approx(by_table.members["e2"])


def test_platt_calibration_is_logistic_regression():
    rng = np.random.default_rng(0)
    s, scores = gaussian_scores(rng, 3000, 9000, 0.4, separation=1.0)
    model = LogisticRegression(C=1e9, tol=1e-8).fit(scores[:, None], s)
    tau = model.predict_proba(scores[:, None])[:, 1]
    expected = ElkanNotoPrior(calibrate=None, interval=None).fit_scores(s, tau).estimate_.members
    found = ElkanNotoPrior(calibrate="platt", interval=None).fit_scores(s, scores).estimate_.members
    assert found == pytest.approx(expected, abs=2e-3)
    # Probabilities are fitted by their logit, so that a sigmoid of the score gives the same.
    mapped = ElkanNotoPrior(calibrate="platt", interval=None).fit_scores(s, expit(scores)).estimate_
    assert mapped.members == pytest.approx(found, abs=1e-4)


def test_platt_calibration_of_separated_rows():
    s = np.repeat([1, 0], [50, 100])
    found = ElkanNotoPrior(calibrate="platt", interval=None).fit_scores(s, s + 5.0).estimate_
    assert found.alpha == pytest.approx(0, abs=0.02)


@pytest.mark.parametrize("calibrate", ["isotonic", None])
@pytest.mark.parametrize("alpha", [0.25, 0.5, 0.75])
def test_well_separated_gaussians(alpha, calibrate):
    s, scores = gaussian_scores(np.random.default_rng(0), 2000, 4000, alpha)
    if calibrate is None:
        scores = true_tau(scores, 2000, 4000, alpha)
    found = ElkanNotoPrior(calibrate=calibrate, n_draws=50).fit_scores(s, scores).estimate_
    assert found.alpha == pytest.approx(alpha, abs=0.05)
    assert found.members["e1"] == pytest.approx(alpha, abs=0.05)
    assert not found.warnings


# A share of 400 rows has a standard error of up to 0.025, more if only some of them count.
@pytest.mark.parametrize(("n_labeled", "tolerance"), [(400, 0.07), (20_000, 0.03)])
@pytest.mark.parametrize("alpha", [0.05, 0.9])
def test_label_rate_does_not_leak(alpha, n_labeled, tolerance):
    alphas = [
        ElkanNotoPrior(interval=None)
        .fit_scores(*gaussian_scores(np.random.default_rng(seed), n_labeled, 20_000, alpha))
        .alpha_
        for seed in range(8)
    ]
    assert np.mean(alphas) == pytest.approx(alpha, abs=tolerance)


def test_overlap_lifts_e1_more_than_e3_and_warns():
    s, scores = gaussian_scores(np.random.default_rng(0), 2000, 6000, 0.2, separation=1.5)
    found = ElkanNotoPrior(interval=None).fit_scores(s, scores).estimate_
    assert found.members["e1"] > 0.4
    assert abs(found.members["e3"] - 0.2) < 0.15
    assert any("The rules disagree" in warning for warning in found.warnings)


def test_maximum_of_an_isotonic_fit_is_noise():
    s, scores = gaussian_scores(np.random.default_rng(0), 2000, 4000, 0.75)
    assert ElkanNotoPrior(percentile=100, interval=None).fit_scores(s, scores).alpha_ < 0.6


@pytest.mark.parametrize("calibrate", ["isotonic", "platt"])
def test_row_order_and_monotone_maps(calibrate):
    rng = np.random.default_rng(1)
    s, scores = gaussian_scores(rng, 200, 900, 0.4)
    shuffled = rng.permutation(len(s))
    # Platt's sigmoid is the same for any straight map, an isotonic fit for any rising one.
    mapped = scores**3 if calibrate == "isotonic" else 3 * scores + 8
    estimator = ElkanNotoPrior(calibrate=calibrate, n_draws=20)
    plain = estimator.fit_scores(s, scores).estimate_
    again = estimator.fit_scores(s[shuffled], mapped[shuffled]).estimate_
    assert again.alpha == pytest.approx(plain.alpha, abs=1e-4)
    assert again.interval == pytest.approx(plain.interval, abs=1e-4)


def test_curve_shows_sorted_probabilities():
    s, scores = gaussian_scores(np.random.default_rng(2), 500, 2000, 0.4)
    found = ElkanNotoPrior(interval=None).fit_scores(s, scores).estimate_
    labeled, unlabeled = found.curve.lines.values()
    assert (np.diff(labeled) >= 0).all()
    assert (labeled >= unlabeled).all()
    assert labeled[found.curve.x == found.curve.marker] == pytest.approx(found.curve.level)
    assert found.curve.level == pytest.approx(found.label_frequency)


def test_draws_with_a_single_score():
    # Small draws of such rows often hold one value only.
    s = np.repeat([1, 0], [200, 2000])
    scores = np.zeros(2200)
    scores[[0, 1, 200]] = 1.0
    for calibrate in ("isotonic", "platt"):
        found = ElkanNotoPrior(calibrate=calibrate, n_draws=20).fit_scores(s, scores).estimate_
        assert np.isfinite(found.draws).all()


def test_probabilities_are_required_without_calibration():
    s, scores = gaussian_scores(np.random.default_rng(0), 100, 100, 0.5)
    with pytest.raises(
        InvalidInputError, match=r"^ElkanNotoPrior\(calibrate=None\).*Got -"
    ) as raised:
        ElkanNotoPrior(calibrate=None).fit_scores(s, scores)
    assert "\n" not in str(raised.value)


def test_probabilities_of_zero_for_all_labeled_rows():
    s = np.repeat([1, 0], [50, 100])
    with pytest.raises(InvalidInputError, match="Got 0 for all of them"):
        ElkanNotoPrior(calibrate=None).fit_scores(s, 1.0 - s)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "e4"}, "rule to be one of 'e1', 'e2', 'e3', 'ratio'. Got 'e4'"),
        ({"calibrate": "sigmoid"}, "calibrate to be one of"),
        ({"form": "third"}, "form to be one of"),
        ({"percentile": 0}, "percentile to be a number above 0 and at most 100"),
        ({"percentile": 101}, "percentile to be a number above 0 and at most 100"),
    ],
)
def test_wrong_parameters(options, message):
    s, scores = gaussian_scores(np.random.default_rng(0), 100, 100, 0.5)
    with pytest.raises(InvalidInputError, match=message):
        ElkanNotoPrior(**options).fit_scores(s, scores)


@pytest.mark.parametrize(
    ("s", "scores", "message"),
    [
        (np.repeat([1, 0], [19, 100]), np.arange(119.0), "at least 20 labeled"),
        (np.repeat([1, 0], [50, 100]), np.ones(150), "rows that differ"),
        (np.repeat([1, 0], [50, 100]), np.append(np.arange(149.0), np.nan), "finite"),
        (np.ones(100, int), np.arange(100.0), "ElkanNotoPrior"),
    ],
)
def test_rows_that_cannot_work(s, scores, message):
    with pytest.raises(InvalidInputError, match=message):
        ElkanNotoPrior().fit_scores(s, scores)


def test_thinned_tables_give_nearly_the_same():
    table = ScoreTable.from_arrays(*gaussian_scores(np.random.default_rng(0), 5000, 20_000, 0.3))
    whole, thin = (
        ElkanNotoPrior(interval=None).fit_scores(each).alpha_ for each in (table, table.thin(1000))
    )
    assert thin == pytest.approx(whole, abs=0.01)
