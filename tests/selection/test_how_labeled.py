"""How labels came about, in a word."""

import pytest

import recoup
from recoup.exceptions import InvalidInputError
from recoup.selection.how_labeled import (
    BIASED_ODDS,
    STRENGTHS,
    UNKNOWN_ODDS,
    check_labels_are,
    odds_left_open,
)


def test_odds_are_those_of_the_sensitivity():
    assert odds_left_open("random") == 1 < UNKNOWN_ODDS < BIASED_ODDS
    assert odds_left_open("unknown") == UNKNOWN_ODDS == max(STRENGTHS)
    assert odds_left_open("biased") == BIASED_ODDS


@pytest.mark.parametrize("word", ["Random", "", None, True, 1.0])
def test_other_words_are_refused(word):
    with pytest.raises(
        InvalidInputError, match=r"labels_are to be 'random', 'biased' or 'unknown'"
    ):
        check_labels_are(word, "evaluate")


def test_evaluate_compare_and_reports_refuse_other_words():
    s, scores = [1, 0] * 50, list(range(100))
    with pytest.raises(InvalidInputError, match="evaluate needs labels_are"):
        recoup.evaluate(s, scores, alpha=0.1, labels_are="maybe")
    with pytest.raises(InvalidInputError, match="compare needs labels_are"):
        recoup.compare(s, {"a": scores, "b": scores[::-1]}, alpha=0.1, labels_are="maybe")
    found = recoup.evaluate(s, scores, alpha=0.1, n_boot=0)
    with pytest.raises(InvalidInputError, match="Report needs labels_are"):
        recoup.report.Report(found, "Page", labels_are="maybe")
