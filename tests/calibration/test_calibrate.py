import numpy as np
import pytest

import recoup
from calibration.known_chances import ALPHA, FREQUENCY, PI, chance, hidden, rows
from recoup import Draws, Interval, ScoreTable, calibrate
from recoup.audit import Audit
from recoup.exceptions import InvalidInputError
from recoup.scores import CrossfitScores

GRID = np.linspace(-1.5, 3.5, 21)


@pytest.fixture(scope="module")
def found():
    s, x, _ = rows()
    return calibrate(s, x, alpha=ALPHA)


def test_chances_are_those_of_the_closed_form(found):
    assert found.transform(GRID) == pytest.approx(chance(GRID), abs=0.04)
    assert found.transform(GRID, among="unlabeled") == pytest.approx(hidden(GRID), abs=0.04)
    # The raw share of labels is far away.
    assert np.abs(FREQUENCY * chance(GRID) - chance(GRID)).max() > 0.5


def test_few_labels_give_a_smooth_curve_that_is_near_too():
    s, x, _ = rows(n=2000, frequency=0.05)
    assert s.sum() < 50
    few = calibrate(s, x, alpha=PI * 0.95 / (1 - PI * 0.05))
    assert few.transform(GRID) == pytest.approx(chance(GRID), abs=0.15)


def test_chances_rise_and_limits_hold_them(found):
    for names in (
        ("lower", "probability", "upper"),
        ("unlabeled_lower", "unlabeled", "unlabeled_upper"),
    ):
        low, center, high = (getattr(found, name) for name in names)
        assert all((np.diff(curve) >= 0).all() for curve in (low, center, high))
        assert (low >= 0).all()
        assert (low <= center).all()
        assert (center <= high).all()
        assert (high <= 1).all()
    assert (found.unlabeled <= found.probability).all()
    assert (np.diff(found.scores) > 0).all()


def test_means_are_the_shares_of_positives():
    s, x, _ = rows(n=5000)
    found = calibrate(s, x, alpha=ALPHA)
    assert found.transform(x[s == 0], among="unlabeled").mean() == pytest.approx(ALPHA, abs=0.01)
    assert found.transform(x).mean() == pytest.approx(PI, abs=0.02)


def test_only_the_order_of_scores_counts():
    s, x, _ = rows(n=3000)
    plain = calibrate(s, x, alpha=ALPHA).transform(x)
    # Few distinct scores, so that every one of them is a knot.
    s, x = s[:200], x[:200]
    plain = calibrate(s, x, alpha=ALPHA)
    moved = calibrate(s, np.exp(5 * x), alpha=ALPHA)
    np.testing.assert_allclose(moved.transform(np.exp(5 * x)), plain.transform(x), atol=1e-9)


def test_arrays_tables_and_crossfitted_scores_are_the_same():
    s, x, _ = rows(n=500)
    one = calibrate(s, x, alpha=ALPHA).to_dict()
    assert calibrate(ScoreTable.from_arrays(s, x), alpha=ALPHA).to_dict() == one
    crossfitted = CrossfitScores(s, x, np.zeros((1, len(s)), int), "", "", 0.8)
    assert calibrate(crossfitted, alpha=ALPHA).to_dict() == one
    shuffled = np.random.default_rng(1).permutation(len(s))
    assert calibrate(s[shuffled], x[shuffled], alpha=ALPHA).to_dict() == one


def test_case_control_is_about_the_unlabeled_rows():
    s, x, _ = rows(n=2000)
    both = [calibrate(s, x, alpha=ALPHA, scheme=one) for one in ("single-sample", "case-control")]
    np.testing.assert_allclose(both[1].probability, both[0].unlabeled)
    np.testing.assert_allclose(both[1].unlabeled, both[0].unlabeled)


def test_wrong_labels_are_allowed_for():
    s, x, y = rows()
    rng = np.random.default_rng(1)
    wrong = ~y & (rng.random(len(y)) < 0.04)
    s = np.where(wrong, 1, s)
    beta, alpha = float(y[s == 1].mean()), float(y[s == 0].mean())
    assert beta < 0.85
    found = calibrate(s, x, alpha=alpha, beta=beta)
    assert found.transform(GRID) == pytest.approx(chance(GRID), abs=0.06)
    blind = calibrate(s, x, alpha=alpha)
    low = np.linspace(-0.5, 0.5, 5)
    errors = [np.abs(one.transform(low) - chance(low)).mean() for one in (found, blind)]
    assert errors[0] < 0.5 * errors[1]


def test_known_negatives_are_no_rows_without_a_label():
    s, x, y = rows(n=6000)
    told = ~y & (np.random.default_rng(2).random(len(y)) < 0.5)
    with_negatives = np.where(told, -1, s)
    alpha = float(y[with_negatives == 0].mean())
    found = calibrate(with_negatives, x, alpha=alpha)
    alone = calibrate(s[~told], x[~told], alpha=alpha)
    np.testing.assert_allclose(
        found.transform(GRID, among="unlabeled"),
        alone.transform(GRID, among="unlabeled"),
        atol=0.01,
    )
    # All rows are the population, the known negatives among them.
    assert found.transform(x).mean() == pytest.approx(PI, abs=0.02)
    assert found.transform(GRID) == pytest.approx(chance(GRID), abs=0.08)


def test_a_weight_of_two_is_the_row_twice():
    s, x, _ = rows(n=8000)
    weights = np.random.default_rng(0).integers(1, 3, len(s))
    weighted = calibrate(s, x, alpha=ALPHA, sample_weight=weights)
    twice = calibrate(np.repeat(s, weights), np.repeat(x, weights), alpha=ALPHA)
    assert np.abs(weighted.transform(GRID) - twice.transform(GRID)).max() < 0.04
    # So few rows that each score is a knot.
    s, x = s[:200], x[:200]
    threes = calibrate(s, x, alpha=ALPHA, sample_weight=np.full(len(s), 3.0))
    alone = calibrate(s, x, alpha=ALPHA)
    for one in ("probability", "lower", "upper"):
        np.testing.assert_allclose(getattr(threes, one), getattr(alone, one), atol=1e-9)


def test_limits_hold_the_truth_as_often_as_they_say():
    held = []
    for seed in range(25):
        s, x, _ = rows(n=1500, seed=seed)
        lower, upper = calibrate(s, x, alpha=ALPHA).limits(x)
        held.append(np.mean((lower <= chance(x)) & (chance(x) <= upper)))
    assert np.mean(held) > 0.9


def test_what_is_not_known_of_alpha_makes_limits_wider():
    s, x, _ = rows(n=3000)
    known = calibrate(s, x, alpha=ALPHA)
    ends = Interval(ALPHA - 0.05, ALPHA + 0.05)
    among = calibrate(s, x, alpha=ends)
    rng = np.random.default_rng(0)
    drawn = calibrate(s, x, alpha=Draws(rng.normal(ALPHA, 0.04, 300)))
    for wider in (among, drawn):
        assert (wider.upper - wider.lower).mean() > 1.2 * (known.upper - known.lower).mean()
    for alpha in (ends.low, ends.high):
        one = calibrate(s, x, alpha=alpha)
        assert (among.lower <= one.lower + 1e-9).all()
        assert (among.upper >= one.upper - 1e-9).all()
    assert (among.alpha_lower, among.alpha_upper) == (ends.low, ends.high)


def test_alpha_is_estimated_by_default():
    mails = recoup.load_example()
    found = calibrate(mails.s, mails.scores["score_boosting"])
    assert found.alpha_from == "auto"
    assert found.alpha == pytest.approx(mails.alpha, abs=0.05)
    assert found.alpha_lower < found.alpha < found.alpha_upper


@pytest.mark.parametrize("alpha", [0.0, 1e-9, 0.999])
def test_extreme_alphas_give_chances(alpha):
    s, x, _ = rows(n=500)
    found = calibrate(s, x, alpha=alpha)
    assert np.isfinite(found.probability).all()
    if alpha < 0.5:  # no hidden positives: only labeled rows are positive
        assert found.unlabeled.max() < 1e-3
        assert found.transform(x).mean() == pytest.approx(s.mean(), abs=0.03)


def test_one_score_has_one_chance():
    s = np.repeat([1, 0], [30, 70])
    found = calibrate(s, np.ones(100), alpha=0.2)
    assert found.transform([0.0, 1.0, 2.0]) == pytest.approx([0.44] * 3, abs=1e-3)


def test_an_impossible_alpha_is_said():
    s, x, _ = rows(n=4000)
    codes = [note.code for note in calibrate(s, x, alpha=0.9).notes]
    assert "infeasible-prior" in codes
    assert calibrate(s, x, alpha=ALPHA).notes == ()
    few = calibrate(s[:100], x[:100], alpha=ALPHA)
    assert [note.code for note in few.notes] == ["few-rows"]


def test_answers_mend_what_biased_labels_bend():
    _, x, y = rows(n=4000)
    rng = np.random.default_rng(3)
    place = np.argsort(np.argsort(x)) / len(x)
    s = (y & (rng.random(len(y)) < 0.7 * 20 ** (place - 1))).astype(int)
    alpha = float(y[s == 0].mean())
    unlabeled = np.flatnonzero(s == 0)
    drawn = rng.choice(unlabeled, 500, replace=False)
    audit = Audit.uniform(drawn, y[drawn])
    alone, mended = calibrate(s, x, alpha=alpha), calibrate(s, x, alpha=alpha, audit=audit)
    error = [np.sqrt(np.mean((one.transform(x) - chance(x)) ** 2)) for one in (alone, mended)]
    assert error[0] > 0.05
    assert error[1] < 0.7 * error[0]
    assert mended.n_checked == 500


def test_answers_that_agree_leave_chances_as_they_are():
    s, x, y = rows(n=4000)
    drawn = np.random.default_rng(4).choice(np.flatnonzero(s == 0), 200, replace=False)
    audit = Audit.uniform(drawn, y[drawn])
    alone, checked = calibrate(s, x, alpha=ALPHA), calibrate(s, x, alpha=ALPHA, audit=audit)
    assert np.abs(alone.transform(GRID) - checked.transform(GRID)).max() < 0.07


def test_what_cannot_be_calibrated_is_refused():
    s, x, _ = rows(n=300)
    with pytest.raises(InvalidInputError, match="calibrate needs scores beside the labels"):
        calibrate(s)
    with pytest.raises(InvalidInputError, match="takes a ScoreTable alone"):
        calibrate(ScoreTable.from_arrays(s, x), x, alpha=0.2)
    with pytest.raises(InvalidInputError, match="confidence between 0 and 1"):
        calibrate(s, x, alpha=0.2, confidence=95)
    with pytest.raises(InvalidInputError, match="labeled and unlabeled rows"):
        calibrate(np.zeros(300, int), x, alpha=0.2)
    with pytest.raises(InvalidInputError, match="audit to be a recoup"):
        calibrate(s, x, alpha=0.2, audit="checked.csv")
    audit = Audit.uniform(np.flatnonzero(s == 0)[:5], [0, 1, 0, 0, 0])
    with pytest.raises(InvalidInputError, match="rows that count alike"):
        calibrate(s, x, alpha=0.2, audit=audit, sample_weight=np.ones(300))
    with pytest.raises(InvalidInputError, match="rows that were drawn"):
        calibrate(s, x, alpha=0.2, audit=Audit.top(3, [1, 1, 0]))
    with pytest.raises(InvalidInputError, match="calibrate cannot estimate alpha"):
        calibrate(np.arange(300) < 5, x)
    found = calibrate(s, x, alpha=0.2)
    with pytest.raises(InvalidInputError, match="among to be 'all'"):
        found.transform(x, among="labeled")
    with pytest.raises(InvalidInputError, match="to be a finite number"):
        found.limits([0.1, np.nan])


def test_results_show_themselves(found):
    assert repr(found).startswith("Calibration(probability ")
    assert len(found.to_frame()) == len(found.scores)
    assert "Chance of being positive" in found._repr_html_()
    display = found.plot()
    np.testing.assert_allclose(display.line_.get_ydata(), found.probability)
    assert found.share_outside([-100.0, 0.0, 0.1, 100.0]) == 0.5
    _, x, _ = rows()
    assert found.share_outside(x) == 0
