"""How labels came about decides whether the light may be green."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import recoup
from recoup.audit import Audit
from recoup.evaluation.possible import saying
from recoup.report import Report
from recoup.report.page.light import light_of
from recoup.selection.how_labeled import BIASED_ODDS, UNKNOWN_ODDS

WORDS = ("random", "biased", "unknown")
VERDICTS = ("none", "cannot-tell", "random", "favor-high", "favor-low")


@pytest.fixture(scope="module")
def rows():
    """Labels at random, of rows that nothing else speaks against."""
    rng = np.random.default_rng(0)
    positive = rng.random(6000) < 0.25
    s = (positive & (rng.random(6000) < 0.4)).astype(int)
    scores = 1 / (1 + np.exp(-rng.normal(3.0 * positive - 1.5)))
    return s, scores, positive


@pytest.fixture(scope="module")
def made(rows):
    s, scores, positive = rows
    alpha = float(positive[s == 0].mean())
    options = {"alpha": alpha, "beta": 1.0, "threshold": 0.5, "n_boot": 0}
    plain = recoup.evaluate(s, scores, **options)
    checked = np.random.default_rng(1).choice(np.flatnonzero(s == 0), 400, replace=False)
    audit = Audit.uniform(checked, positive[checked])
    return plain, recoup.evaluate(s, scores, audit=audit, **options)


def with_verdict(made, word, verdict):
    """The evaluation with that word of the user and that verdict of an audit."""
    plain, audited = made
    if verdict == "none":
        return saying(plain, word)
    labels = replace(audited.audit.labels, code=verdict)
    return saying(replace(audited, audit=replace(audited.audit, labels=labels)), word)


# What the user says, what an audit found: how labels count, the odds in the range, the light.
UNSAID = ("unknown", UNKNOWN_ODDS, {"amber"})
SAID_BIASED = ("biased", BIASED_ODDS, {"amber", "red"})
FOUND_RANDOM = ("random", 1.0, {"green"})
FOUND_BIASED = ("biased", BIASED_ODDS, {"red"})
TABLE = {
    ("random", "none"): FOUND_RANDOM,
    ("random", "cannot-tell"): FOUND_RANDOM,
    ("biased", "none"): SAID_BIASED,
    ("biased", "cannot-tell"): SAID_BIASED,
    ("unknown", "none"): UNSAID,
    ("unknown", "cannot-tell"): UNSAID,
    **{(word, "random"): FOUND_RANDOM for word in WORDS},
    **{(word, f"favor-{side}"): FOUND_BIASED for word in WORDS for side in ("high", "low")},
}


@pytest.mark.parametrize("verdict", VERDICTS)
@pytest.mark.parametrize("word", WORDS)
def test_the_light_follows_the_table(made, word, verdict):
    found = with_verdict(made, word, verdict)
    how, odds, levels = TABLE[word, verdict]
    assert (found.how_labeled, found.label_odds) == (how, odds)
    light = light_of(found)
    assert light["level"] in levels, light
    (reason,) = [one for one in light["reasons"] if one["code"] == "selection"]
    assert reason["text"]
    widened = found["recall"].possible_lower < found["recall"].lower - 0.01
    assert widened == (odds > 1)


def test_the_audit_of_these_labels_finds_them_random(made):
    # Not only where a test says so.
    assert made[1].audit.labels.code == "random"
    assert light_of(made[1])["level"] == "green"


def test_reasons_say_what_the_range_includes_and_what_would_settle_it(made):
    def reason(word):
        found = light_of(with_verdict(made, word, "none"))["reasons"]
        return next(one for one in found if one["code"] == "selection")

    unknown, biased, random = reason("unknown"), reason("biased"), reason("random")
    assert "odds up to 5 times" in unknown["text"]
    assert "tell, about 120 to begin with (recoup audit plan)" in unknown["text"]
    assert 'labels_are="random"' in unknown["text"]
    assert "numbers from labels alone do not hold" in biased["text"]
    assert "odds up to 20 times" in biased["text"]
    assert "propensity=" in biased["text"]
    assert random["level"] == "note"
    assert "said to be a random sample" in random["text"]


def test_bias_that_hardly_moves_the_numbers_is_amber(rows):
    s, scores, positive = rows
    perfect = np.where(positive, 0.8, 0.2) + 0.1 * scores
    alpha = float(positive[s == 0].mean())
    found = recoup.evaluate(s, perfect, alpha=alpha, beta=1.0, threshold=0.55, labels_are="biased")
    assert light_of(found)["level"] == "amber"


def test_wrong_labels_are_amber_too_and_the_reason_says_what_is_missing(rows):
    s, scores, _ = rows
    given = {"alpha": 0.15, "beta": 0.98, "threshold": 0.5, "n_boot": 0}
    unknown = recoup.evaluate(s, scores, **given)
    light = light_of(unknown)
    assert light["level"] == "amber"
    assert "does not include labels that favor some scores" in str(light["reasons"])
    assert light_of(saying(unknown, "biased"))["level"] == "red"


def test_propensities_answer_the_question(rows):
    s, scores, _ = rows
    for word in WORDS:
        found = recoup.evaluate(
            s, scores, propensity=np.full(len(s), 0.4), threshold=0.5, labels_are=word, n_boot=0
        )
        light = light_of(found)
        assert light["level"] == "green", light
        assert "The numbers hold if the propensities do" in str(light["reasons"])


@pytest.mark.parametrize("alpha", ["true", 0.08, "estimate"])
def test_labels_that_favor_high_scores_are_never_green_unless_called_random(alpha):
    levels = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        positive = rng.random(4000) < 0.25
        scores = 1 / (1 + np.exp(-rng.normal(3.0 * positive - 1.5)))
        rank = np.argsort(np.argsort(scores[positive])) / positive.sum()
        odds = 5.0 ** (rank - 0.5)
        s = np.zeros(4000, int)
        s[np.flatnonzero(positive)[rng.random(positive.sum()) < odds / (1 + odds)]] = 1
        share = positive[s == 0].mean() if alpha == "true" else alpha
        given = {"alpha": share, "beta": 1.0, "threshold": 0.5, "n_boot": 0}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = recoup.evaluate(s, scores, **given)
        assert light_of(found)["level"] != "green", seed
        levels.append(light_of(saying(found, "random"))["level"])
    if alpha == 0.08:
        # The word is what keeps them from it: nothing else speaks against an alpha too low.
        assert "green" in levels


def test_a_report_can_be_told_how_labels_came_about(made):
    plain, _ = made
    said = Report(plain, "Title", labels_are="random")
    assert "Reliability: <strong>good</strong>" in said.to_html()
    assert "labels_are=&#39;random&#39;" in said.to_html()
    assert "Reliability: <strong>use with care</strong>" in Report(plain, "Title").to_html()
    assert plain.labels_are == "unknown"
    s = (np.arange(900) < 200).astype(int)
    rng = np.random.default_rng(0)
    models = {"a": rng.normal(s), "b": rng.normal(2 * s)}
    compared = recoup.compare(s, models, alpha=0.1, n_boot=0)
    page = Report(compared, "Title", labels_are="biased").to_html()
    assert "labels_are=&#39;biased&#39;" in page
    assert "said not to be a random sample" in page
