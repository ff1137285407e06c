"""Alpha that is estimated instead of given, in evaluate and compare."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

import recoup
from recoup import ScoreTable, compare, evaluate
from recoup._core.prior import Prior, estimation_method
from recoup.exceptions import InvalidInputError
from recoup.priors import BBE, PriorEstimate, estimate
from recoup.report import Report, summarize


@pytest.fixture(scope="module")
def rows():
    """Labels, scores and hidden classes of positives that reach scores no negative has."""
    rng = np.random.default_rng(0)
    y = rng.random(8000) < 0.4
    s = (y & (rng.random(8000) < 0.3)).astype(int)
    scores = 1 / (1 + np.exp(-rng.normal(3.0 * y - 1.5)))
    return SimpleNamespace(s=s, scores=scores, y=y, alpha=float(y[s == 0].mean()))


@pytest.fixture(scope="module")
def evaluation(rows):
    return evaluate(rows.s, rows.scores, alpha="bbe", n_boot=200)


def test_the_estimate_is_kept_and_is_that_of_the_library(rows, evaluation):
    found = evaluation.prior_estimate
    direct = estimate(rows.s, rows.scores, method="bbe", random_state=0, beta=1.0)
    assert isinstance(found, PriorEstimate)
    assert (found.method, found.alpha, found.interval) == ("bbe", direct.alpha, direct.interval)
    assert evaluation.alpha == found.alpha
    assert evaluation.beta == found.beta
    assert evaluation.alpha == pytest.approx(rows.alpha, abs=0.05)
    assert evaluate(rows.s, rows.scores, alpha=0.2, n_boot=0).prior_estimate is None


@pytest.mark.parametrize("word", ["estimate", "auto"])
def test_by_default_several_methods_have_a_say(word, rows):
    found = evaluate(rows.s, rows.scores, alpha=word, n_boot=0)
    assert found.prior_estimate.method == "auto"
    assert len(found.prior_estimate.members) > 1
    assert found.alpha == pytest.approx(rows.alpha, abs=0.06)


def test_beta_can_be_estimated_too(rows):
    rng = np.random.default_rng(1)
    s = np.where(~rows.y & (rng.random(len(rows.y)) < 0.02), 1, rows.s)
    found = evaluate(s, rows.scores, alpha="alphamax-noisy", beta="estimate", n_boot=0)
    assert found.beta == found.prior_estimate.beta
    assert found.beta == pytest.approx(rows.y[s == 1].mean(), abs=0.05)


def test_its_uncertainty_widens_the_intervals(rows, evaluation):
    known = evaluate(rows.s, rows.scores, alpha=evaluation.alpha, n_boot=200)
    assert evaluation["roc_auc"].recovered == known["roc_auc"].recovered
    for key in ("roc_auc", "precision", "f1"):
        wide, narrow = (one[key].upper - one[key].lower for one in (evaluation, known))
        assert wide > 1.1 * narrow, key


def test_it_is_the_same_as_passing_the_estimate(rows, evaluation):
    given = estimate(rows.s, rows.scores, method="bbe", beta=1.0)
    again = evaluate(rows.s, rows.scores, alpha=given, n_boot=200)
    first, second = (one.to_dict() for one in (evaluation, again))
    assert first == second


def test_tables_weights_and_generators(rows, evaluation):
    table = ScoreTable.from_arrays(rows.s, rows.scores)
    assert evaluate(table, alpha="bbe", n_boot=0).alpha == evaluation.alpha
    ones = evaluate(rows.s, rows.scores, alpha="bbe", n_boot=0, sample_weight=np.ones(8000))
    assert ones.alpha == evaluation.alpha
    weights = np.where(rows.y & (rows.s == 0), 2.0, 1.0)
    weighted = evaluate(rows.s, rows.scores, alpha="bbe", n_boot=0, sample_weight=weights)
    share = weights[rows.y & (rows.s == 0)].sum() / weights[rows.s == 0].sum()
    assert weighted.alpha == pytest.approx(share, abs=0.06)
    seeds = [np.random.default_rng(3), np.random.default_rng(3), None]
    found = [
        evaluate(rows.s, rows.scores, alpha="bbe", n_boot=0, random_state=seed) for seed in seeds
    ]
    assert found[0].prior_estimate.interval == found[1].prior_estimate.interval
    assert found[2].alpha == evaluation.alpha


def test_known_negatives_have_no_part_in_the_estimate(rows):
    s = rows.s.copy()
    s[np.flatnonzero(~rows.y)[:2000]] = -1
    found = evaluate(s, rows.scores, alpha="bbe", n_boot=0)
    without = evaluate(s[s >= 0], rows.scores[s >= 0], alpha="bbe", n_boot=0)
    assert found.alpha == without.alpha
    assert found.alpha == pytest.approx(rows.y[s == 0].mean(), abs=0.06)


def test_warnings_of_the_estimate_join_the_notes(rows):
    few = np.r_[np.flatnonzero(rows.s == 1)[:60], np.flatnonzero(rows.s == 0)[:600]]
    found = evaluate(rows.s[few], rows.scores[few], alpha="bbe", n_boot=0)
    assert found.prior_estimate.warnings
    for warning in found.prior_estimate.warnings:
        assert f"Estimate of alpha: {warning}" in found.notes


def test_what_is_printed_says_so(evaluation):
    low, high = evaluation.prior_estimate.interval
    shown = f"{evaluation.alpha:.3g} [{low:.3g}, {high:.3g}] (estimated, bbe)"
    assert str(evaluation.prior) == shown
    assert f"alpha={shown}" in repr(evaluation)
    assert shown in evaluation._repr_html_()
    plain = json.loads(json.dumps(evaluation.to_dict()))
    assert plain["prior"]["method"] == "bbe"
    assert plain["prior"]["interval"] == plain["alpha_interval"] == [low, high]
    assert {"members", "warnings"} <= set(plain["prior"])
    sensitivity = evaluation.sensitivity()
    assert sensitivity.alpha_interval == (low, high)


def test_given_alpha_prints_as_before(rows):
    found = evaluate(rows.s, rows.scores, alpha=(0.2, 0.3), n_boot=0)
    assert str(found.prior) == "0.2 to 0.3"
    assert found.to_dict()["prior"] is None
    assert found.to_dict()["alpha_interval"] == [0.2, 0.3]
    assert str(Prior.of(np.linspace(0.1, 0.3, 101), 1.0, "test")) == "0.2 [0.105, 0.295]"


def test_the_range_of_draws_obeys_the_confidence():
    draws = np.linspace(0.1, 0.3, 1001)
    for level in (0.5, 0.95):
        prior = Prior.of(draws, 1.0, "test", level)
        assert prior.range == pytest.approx((0.2 - level / 10, 0.2 + level / 10))
    assert str(prior) == "0.2 [0.105, 0.295]"
    assert Prior.of((0.1, 0.3), 1.0, "test", 0.5).range == (0.1, 0.3)


def test_confidence_reaches_all_about_alpha(rows):
    draws = np.random.default_rng(0).beta(40, 120, 2000)
    found = [
        evaluate(rows.s, rows.scores, alpha=alpha, confidence=level, n_boot=0)
        for level in (0.5, 0.95)
        for alpha in (draws, estimate(rows.s, rows.scores, method="bbe"), "bbe")
    ]
    for narrow, wide in zip(found[:3], found[3:], strict=True):
        assert wide.prior.range[0] < narrow.prior.range[0]
        assert narrow.prior.range[1] < wide.prior.range[1]
        assert narrow["recall"].bound_lower > wide["recall"].bound_lower
    given, asked = found[1].to_dict(), found[2].to_dict()
    assert given["alpha_interval"] == pytest.approx(asked["alpha_interval"])
    assert str(found[1].prior) == str(found[2].prior)


def test_bounds_take_draws_at_their_confidence(rows):
    table = ScoreTable.from_arrays(rows.s, rows.scores)
    draws = recoup.Draws(np.linspace(0.2, 0.4, 1001))
    by_draws, by_ends = (
        recoup.metrics.bounds.bounds_at(table, 0.5, alpha, confidence=0.5)
        for alpha in (draws, (0.25, 0.35))
    )
    assert by_draws["recall"] == pytest.approx(by_ends["recall"])


def test_the_report_tells_how_alpha_came_about(rows, evaluation):
    summary = summarize(evaluation)
    assert "(estimated, bbe)" in summary["sentences"][0]
    assert "alpha was estimated" in summary["assumption"]
    assert summary["prior"]["facts"]["Method"] == "bbe"
    page = Report(evaluation, "Title").to_html()
    assert "How alpha was estimated" in page
    assert "alpha='bbe', scheme" in page.replace("&#39;", "'")
    assert 'id="figure-prior"' in page
    given = Report(evaluate(rows.s, rows.scores, alpha=0.2, n_boot=0), "Title").to_html()
    assert "How alpha was estimated" not in given
    assert 'id="figure-prior"' not in given


def test_the_report_lists_members_and_warnings(rows):
    made = PriorEstimate(
        alpha=0.3,
        interval=(0.2, 0.4),
        draws=np.linspace(0.2, 0.4, 50),
        method="<mine>",
        converged=False,
        warnings=("Mind <this>.",),
        members={"one": 0.25, "two": 0.35},
        n_labeled=10,
        n_unlabeled=20,
    )
    found = evaluate(rows.s, rows.scores, alpha=made, n_boot=0)
    page = Report(found, "Title").to_html()
    assert "<this>" not in page
    assert "Mind &lt;this&gt;." in page
    assert "fell back" in page
    assert "0.350" in page
    assert "evaluate(s, scores, alpha=estimate, scheme=" in page


def test_models_share_the_alpha_of_the_most_informative_scores(rows):
    noisy = rows.scores + 0.3 * np.random.default_rng(0).normal(size=len(rows.s))
    found = compare(rows.s, {"noisy": noisy, "good": rows.scores}, alpha="bbe", n_boot=50)
    expected = evaluate(rows.s, rows.scores, alpha="bbe", n_boot=0)
    assert {one.alpha for one in found.evaluations.values()} == {expected.alpha}
    assert evaluate(rows.s, noisy, alpha="bbe", n_boot=0).alpha > expected.alpha
    assert found.prior_estimate.method == "bbe"
    assert found.to_dict()["prior"]["alpha"] == expected.alpha
    assert "comes from the scores of 'good'" in found.notes[0]
    swapped = compare(rows.s, {"good": rows.scores, "noisy": noisy}, alpha="bbe", n_boot=50)
    assert swapped.prior_estimate.alpha == expected.alpha


def test_doubts_about_alpha_are_said_once(rows):
    few = np.r_[np.flatnonzero(rows.s == 1)[:60], np.flatnonzero(rows.s == 0)[:900]]
    models = {"a": rows.scores[few], "b": rows.scores[few] ** 2 - 0.01 * rows.y[few]}
    found = compare(rows.s[few], models, alpha="bbe", n_boot=0)
    about = [note for note in found.notes if "Only 60 labeled rows" in note]
    assert about == [f"Estimate of alpha: {found.prior_estimate.warnings[0]}"]


def test_compare_with_a_known_alpha_has_no_prior(rows):
    models = {"a": rows.scores, "b": rows.scores**2}
    found = compare(rows.s, models, alpha=0.2, threshold=0.5, n_boot=0)
    assert found.prior_estimate is None
    assert found.to_dict()["prior"] is None


@pytest.mark.parametrize("function", [evaluate, compare])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"alpha": "estimat"}, "Did you mean 'estimate'"),
        ({"alpha": "bbee"}, "Did you mean 'bbe'"),
        ({"alpha": "?"}, "one of: estimate, "),
        ({"alpha": 0.2, "beta": "estimate"}, "Pass alpha='estimate' too"),
        ({"alpha": "bbe", "beta": "guess"}, "one number or 'estimate'"),
        ({"alpha": "bbe", "beta": [0.9, 0.8]}, "one number or 'estimate'"),
        ({"alpha": None}, "Pass alpha='estimate'"),
        ({"alpha": "bbe", "confidence": "0.9"}, "confidence between 0 and 1"),
    ],
)
def test_wrong_words_are_explained(function, given, message, rows):
    scores = rows.scores if function is evaluate else {"a": rows.scores, "b": -rows.scores}
    with pytest.raises(InvalidInputError, match=message) as error:
        function(rows.s, scores, **given)
    assert "\n" not in str(error.value)


def test_rows_that_allow_no_estimate_are_explained(rows):
    with pytest.raises(InvalidInputError, match=r"evaluate cannot estimate alpha: .* 20 labeled"):
        evaluate([1, 0] * 10, list(range(20)), alpha="bbe")
    with pytest.raises(InvalidInputError, match=r"evaluate cannot estimate alpha.*for all rows"):
        evaluate(rows.s, np.full(len(rows.s), 0.5), alpha="estimate")
    with pytest.raises(InvalidInputError, match="not both"):
        evaluate(rows.s, rows.scores, alpha="estimate", propensity=np.full(len(rows.s), 0.5))


def test_useless_scores_are_explained(monkeypatch, rows):
    certain = PriorEstimate(alpha=1.0, method="bbe", auc_pu=0.5)
    monkeypatch.setattr("recoup.priors.estimate", lambda *args, **options: certain)
    with pytest.raises(InvalidInputError, match="every unlabeled row may be positive"):
        evaluate(rows.s, rows.scores, alpha="bbe")


def test_methods_are_read_from_words_only():
    assert estimation_method("estimate", 1.0, "test") == "auto"
    assert estimation_method("bbe", "estimate", "test") == "bbe"
    assert estimation_method(0.2, 0.9, "test") is None
    assert estimation_method(BBE, 0.9, "test") is None


def test_the_room_is_open():
    assert recoup.priors.estimate is estimate
