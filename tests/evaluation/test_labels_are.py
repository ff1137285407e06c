"""How labels came about decides what is possible, and never moves an interval."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.metrics import roc_auc_score

import recoup
from random_tables import silently
from recoup.evaluation.possible import saying, tilted_alpha_upper, tilted_limits
from recoup.selection.how_labeled import BIASED_ODDS, UNKNOWN_ODDS

FIGURES = ("recall", "precision", "roc_auc")


def labeled_with_odds(rng, odds, n=4000, share=0.3, labeling=0.4, separation=1.5):
    """Rows whose odds of a label change with the rank among the positives."""
    positive = rng.random(n) < share
    scores = rng.normal(separation * positive)
    rank = np.argsort(np.argsort(scores[positive])) / positive.sum()
    label_odds = labeling / (1 - labeling) * odds ** (rank - 0.5)
    s = np.zeros(n, int)
    drawn = rng.random(positive.sum()) < label_odds / (1 + label_odds)
    s[np.flatnonzero(positive)[drawn]] = 1
    return s, scores, positive


@pytest.fixture(scope="module")
def rows():
    s, scores, _ = labeled_with_odds(np.random.default_rng(0), 1.0)
    return s, 1 / (1 + np.exp(1 - scores))


def evaluated(rows, word="unknown", **options):
    given = {"alpha": 0.2, "beta": 1.0, "n_boot": 0, "labels_are": word} | options
    return recoup.evaluate(*rows, **given)


WAYS = [
    {},
    {"beta": None},
    {"alpha": (0.15, 0.2)},
    {"alpha": "bbe"},
    {"alpha": "bbe", "beta": None},
    {"scheme": "case-control"},
    {"threshold": "f1", "n_boot": 50},
]


@pytest.mark.parametrize("options", WAYS)
def test_a_word_moves_nothing_but_what_is_possible(rows, options):
    random, unknown, biased = (
        evaluated(rows, word, **options) for word in ("random", "unknown", "biased")
    )
    for one, other in ((random, unknown), (unknown, biased)):
        for key, item in other.metrics.items():
            least, most = one[key].possible_lower, one[key].possible_upper
            kept = replace(item, possible_lower=least, possible_upper=most)
            assert repr(vars(kept)) == repr(vars(one[key])), key
            assert item.possible_lower <= least, key
            assert item.possible_upper >= most, key
        assert one.notes == other.notes
        for part in ("count", "lower", "upper"):
            assert getattr(one.hidden, part) == getattr(other.hidden, part)
    if options.get("scheme") != "case-control":
        # Recall follows the labeled rows, whatever alpha is.
        assert biased["recall"].possible_lower < unknown["recall"].possible_lower
        assert unknown["recall"].possible_lower < random["recall"].lower


def test_the_word_is_kept_and_shown(rows):
    unknown, random = evaluated(rows), evaluated(rows, "random")
    assert (unknown.labels_are, unknown.how_labeled, unknown.label_odds) == (
        *("unknown", "unknown"),
        UNKNOWN_ODDS,
    )
    assert random.label_odds == 1
    assert evaluated(rows, "biased").label_odds == BIASED_ODDS
    plain = json.loads(json.dumps(random.to_dict()))
    assert (plain["labels_are"], plain["how_labeled"], plain["label_odds"]) == ("random",) * 2 + (
        1,
    )
    assert "labels_are='random'" in repr(random)
    assert "labels_are" not in repr(unknown)
    assert "random sample of the positives" in random._repr_html_()
    assert "Nobody has said how labels came about" in unknown._repr_html_()


def test_what_is_said_later_is_as_if_it_had_been_said_at_once(rows):
    for options in ({}, {"alpha": "bbe", "beta": None}):
        said = saying(evaluated(rows, "biased", **options), "random")
        at_once = evaluated(rows, "random", **options)
        assert said.to_frame().equals(at_once.to_frame())
        assert said.hidden == at_once.hidden
        again = saying(said, "biased")
        assert again.to_frame().equals(evaluated(rows, "biased", **options).to_frame())


def test_comparisons_pass_the_word_on(rows):
    s, scores = rows
    rng = np.random.default_rng(0)
    models = {"one": scores, "other": np.clip(scores + rng.normal(0, 0.1, len(s)), 0, 1)}
    found = recoup.compare(s, models, alpha=0.2, labels_are="biased", n_boot=0)
    assert found.labels_are == found.to_dict()["labels_are"] == "biased"
    assert {one.label_odds for one in found.evaluations.values()} == {BIASED_ODDS}
    assert "labels_are='biased'" in repr(found)
    assert "not to be a random sample" in found._repr_html_()
    assert recoup.compare(s, models, alpha=0.2, n_boot=0).labels_are == "unknown"


def test_values_within_are_those_of_the_sensitivity(rows):
    """The range reaches from the intervals at one end of the odds to those at the other."""
    for scheme in ("single-sample", "case-control"):
        found = evaluated(rows, scheme=scheme)
        at_ends = found.selection_sensitivity((UNKNOWN_ODDS,))
        for key, item in found.metrics.items():
            low, high = at_ends.range(key)
            assert item.possible_lower <= low + 1e-12, key
            assert item.possible_upper >= high - 1e-12, key


def test_limits_are_near_those_of_rows_drawn_again(rows):
    """Taking fair counts as seen makes limits that differ from drawn ones by a third at most."""
    found = evaluated(rows)
    for odds, favored in ((UNKNOWN_ODDS, "high"), (1 / UNKNOWN_ODDS, "low")):
        drawn = found.selection_sensitivity((UNKNOWN_ODDS,), favored)
        limits = tilted_limits(found, found.alpha, odds)
        for key in FIGURES:
            width = drawn.upper[key][0] - drawn.lower[key][0]
            low, high = limits[key]
            assert high - low == pytest.approx(width, rel=1 / 3), (odds, key)


def test_the_most_that_scores_allow_grows_where_labels_favor_high_scores(rows):
    found = evaluated(rows, alpha="bbe")
    at_random = found.feasibility.alpha_upper
    assert tilted_alpha_upper(found, 1 + 1e-9) == pytest.approx(at_random, abs=1e-6)
    assert tilted_alpha_upper(found, 5.0) > at_random > tilted_alpha_upper(found, 0.2)
    most = tilted_alpha_upper(found, 5.0) * found.n_unlabeled
    assert found.hidden.possible_upper == pytest.approx(most)


def test_wrong_labels_and_propensities_leave_no_odds_open(rows):
    s, scores = rows
    noisy = evaluated(rows, beta=0.95)
    assert noisy.label_odds == 1
    assert noisy["recall"].possible_lower == noisy["recall"].lower
    given = recoup.evaluate(s, scores, propensity=np.full(len(s), 0.4), n_boot=0)
    assert given.label_odds == 1
    assert given["recall"].possible_lower == given["recall"].lower


def test_without_hidden_positives_labels_of_a_single_sample_favor_nothing(rows):
    found = evaluated(rows, alpha=0.0)
    for item in found.metrics.values():
        assert (item.possible_lower, item.possible_upper) == (item.lower, item.upper)


def test_a_missing_interval_has_no_possible_range():
    s, scores = np.repeat([1, 0], [1, 40]), np.arange(41.0)
    found = recoup.evaluate(s, scores, alpha=0.1, threshold=100.0, n_boot=0)
    for item in found.metrics.values():
        assert np.isnan(item.possible_lower) == np.isnan(item.lower), item.key


@pytest.mark.parametrize("alpha", ["given", "estimate"])
@pytest.mark.parametrize("odds", ["within", UNKNOWN_ODDS])
def test_the_truth_lies_in_what_is_possible(alpha, odds):
    """Labels with odds up to those stated: recall, precision and AUC are within the range.

    Measured on 150 tables each: in all of them with odds drawn between a fifth and five, in 98.7%
    at five. If 95% are, fewer than the bound are found once in 10,000 times.
    """
    rng = np.random.default_rng(1)
    n_tables = 40
    bound = binom.ppf(1e-4, n_tables, 0.95)
    held, by_interval = dict.fromkeys(FIGURES, 0), dict.fromkeys(FIGURES, 0)
    for _ in range(n_tables):
        drawn = np.exp(rng.uniform(-1, 1) * np.log(UNKNOWN_ODDS)) if odds == "within" else odds
        s, scores, positive = labeled_with_odds(rng, drawn)
        share = positive[s == 0].mean() if alpha == "given" else alpha
        options = {"alpha": share, "beta": 1.0, "threshold": 0.8, "n_boot": 0}
        found = silently(recoup.evaluate, s, scores, **options)
        truth = {
            "recall": (scores[positive] >= 0.8).mean(),
            "precision": positive[scores >= 0.8].mean(),
            "roc_auc": roc_auc_score(positive, scores),
        }
        for key, value in truth.items():
            item = found[key]
            held[key] += item.possible_lower <= value <= item.possible_upper
            by_interval[key] += item.lower <= value <= item.upper
    assert min(held.values()) >= bound, held
    # The interval of labels at random does not hold it, or the range would be of no use.
    assert by_interval["recall"] < n_tables / 2, by_interval
