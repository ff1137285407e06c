"""Settings are checked in one place, and refused in one line."""

import math
from types import SimpleNamespace

import pytest

from recoup.exceptions import InvalidInputError
from recoup.learners._training.settings import check_counts, check_numbers, check_words


@pytest.mark.parametrize("value", [0, 1.5, True, "3", None, math.nan])
def test_counts_that_are_none(value):
    with pytest.raises(InvalidInputError, match=r"^f needs n to be a whole number of at least 1\."):
        check_counts(SimpleNamespace(n=value), "f", "n")


def test_counts_that_are():
    check_counts(SimpleNamespace(n=1, m=0), "f", "n")
    check_counts(SimpleNamespace(n=1, m=0), "f", "n", "m", least=0)
    check_counts(SimpleNamespace(n=None), "f", "n", optional=True)


@pytest.mark.parametrize(
    ("bounds", "inside", "outside", "rule"),
    [
        ({}, (0, 7.5), (-1e-9, math.inf), "of at least 0"),
        ({"above": 0}, (1e-9,), (0, -1), "above 0"),
        ({"below": 1}, (0, 0.99), (1, 2), "of at least 0 and below 1"),
        ({"least": 0.5, "most": 1}, (0.5, 1), (0.4, 1.1), "of at least 0.5 and at most 1"),
        ({"above": 0, "most": math.inf}, (5,), (0,), "above 0 and at most inf"),
    ],
)
def test_numbers(bounds, inside, outside, rule):
    for value in inside:
        check_numbers(SimpleNamespace(x=value), "f", "x", **bounds)
    for value in (*outside, True, "1", None, math.nan):
        with pytest.raises(InvalidInputError, match=rf"^f needs x to be a number {rule}\. Got"):
            check_numbers(SimpleNamespace(x=value), "f", "x", **bounds)
    check_numbers(SimpleNamespace(x=None), "f", "x", **bounds, optional=True)


def test_words():
    check_words(SimpleNamespace(how="a"), "f", how=("a", "b"))
    with pytest.raises(InvalidInputError, match=r"^f needs how to be one of 'a', 'b'\. Got 'c'\.$"):
        check_words(SimpleNamespace(how="c"), "f", how=("a", "b"))
