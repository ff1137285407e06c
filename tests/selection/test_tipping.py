"""From which strength of selection on a decision no longer stands."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import recoup
from recoup.exceptions import InvalidInputError
from recoup.selection.tipping import first_strength


@pytest.fixture(scope="module")
def tilted():
    example = recoup.load_example()
    evaluation = recoup.evaluate(
        example.s, example.scores["score_boosting"], alpha=0.32, threshold=0.02, n_boot=0
    )
    return evaluation.selection_sensitivity([1.0, 2.0])


@pytest.mark.parametrize("flip", [1.001, 1.3, 4.0, 19.9])
def test_first_strength_finds_where_the_answer_changes(flip):
    assert first_strength(lambda strength: strength >= flip, 20.0) == pytest.approx(flip, rel=0.01)
    assert first_strength(lambda strength: strength >= flip, 1.0005) == math.inf


def test_the_answer_changes_at_the_tipping_point(tilted):
    found = tilted.tipping("precision", at_least=0.8)
    assert found.favored == found.limit_favored == "high"
    assert 1 < found.limit_strength < found.strength < 20
    around = [found.strength / 1.011, found.strength, found.limit_strength]
    again = tilted.evaluation.selection_sensitivity([*around, found.limit_strength / 1.011], "high")
    assert again.values["precision"][0] >= 0.8 > again.values["precision"][1]
    assert again.lower["precision"][3] >= 0.8 > again.lower["precision"][2]


def test_costs_have_an_upper_goal(tilted):
    found = tilted.tipping("brier", at_most=0.3)
    again = tilted.evaluation.selection_sensitivity([found.strength, found.limit_strength], "high")
    assert again.values["brier"][0] > 0.3
    assert again.upper["brier"][1] > 0.3 >= again.values["brier"][1]
    assert "at most 0.3" in str(found)


def test_the_other_direction_does_not_hurt(tilted):
    found = tilted.tipping("precision", at_least=0.8, direction="low")
    assert (found.strength, found.limit_strength) == (math.inf, math.inf)
    assert found.favored == "none"
    assert found.sentence().endswith("that it is at least 0.8 at all odds up to 20.")
    assert found.to_dict()["strength"] is None


def test_the_maximum_ends_the_search(tilted):
    assert tilted.tipping("precision", at_least=0.8, maximum=3.0).strength == math.inf
    found = tilted.tipping("precision", at_least=0.8, maximum=3.0)
    assert found.limit_strength < 3
    assert found.sentence().endswith("The value itself is at least 0.8 at all odds up to 3.")


def test_goals_that_are_missed_at_once(tilted):
    found = tilted.tipping("precision", at_least=0.9)
    assert (found.strength, found.limit_strength, found.favored) == (1.0, 1.0, "none")
    assert "not at least 0.9 to begin with" in str(found)
    unsure = tilted.tipping("precision", at_least=0.84)
    assert unsure.limit_strength == 1 < unsure.strength
    assert "Even then the rows do not show that it is at least 0.84" in str(unsure)


def test_without_an_interval_only_the_value_answers():
    rng = np.random.default_rng(0)
    positive = rng.random(2000) < 0.4
    s = (positive & (rng.random(2000) < 0.5)).astype(int)
    scores = rng.normal(1.5 * positive)
    evaluation = recoup.evaluate(s, scores, propensity=np.full(2000, 0.5), threshold=0.8, n_boot=0)
    none = {"lower": math.nan, "upper": math.nan}
    bare = {key: replace(item, **none) for key, item in evaluation.metrics.items()}
    evaluation = replace(evaluation, metrics=bare)
    found = evaluation.selection_sensitivity([1.0]).tipping("recall", at_least=0.7)
    assert math.isnan(found.limit_strength)
    assert 1 < found.strength < 20
    assert "rows" not in str(found)


def test_result_shows_itself(tilted):
    found = tilted.tipping("precision", at_least=0.8)
    assert repr(found).startswith("TippingPoint(precision >= 0.8: strength 3.91 (high), limit 1.6")
    assert json.loads(json.dumps(found.to_dict()))["goal"] == 0.8
    assert found.to_frame()["favored"].tolist() == ["high"]
    assert "times, for high scores" in found._repr_html_()
    assert "Where the odds of a label differ 3.9 times or more in favor of high scores" in str(
        found
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "needs at_least or at_most, one of them.*neither"),
        ({"at_least": 0.5, "at_most": 0.6}, "Got both"),
        ({"at_least": "high"}, "needs at_least to be a number"),
        ({"at_most": math.nan}, "needs at_most to be a number"),
        ({"at_least": 0.5, "maximum": 1}, "needs a maximum above 1"),
        ({"at_least": 0.5, "direction": "up"}, "needs direction"),
    ],
)
def test_bad_questions(tilted, arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        tilted.tipping("precision", **arguments)
    with pytest.raises(InvalidInputError, match="tipping knows"):
        tilted.tipping("nonsense", at_least=0.5)
