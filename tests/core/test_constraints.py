"""What a parameter may be is declared once, and refused in one line."""

import math
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from recoup._core.constraints import (
    N_JOBS,
    RANDOM_STATE,
    SCHEME,
    Anything,
    Classifier,
    Flag,
    Function,
    Instance,
    Nothing,
    Number,
    Several,
    WholeNumber,
    Words,
    check_parameters,
    check_values,
    constraints_of,
)
from recoup.exceptions import InvalidInputError


@pytest.mark.parametrize("value", [0, 1.5, True, np.True_, "3", None, math.nan])
def test_counts_that_are_none(value):
    with pytest.raises(InvalidInputError, match=r"^f needs n to be a whole number of at least 1\."):
        WholeNumber().check(value, "n", "f")


def test_counts_that_are():
    assert WholeNumber().allows(1)
    assert WholeNumber().allows(np.int64(7))
    assert WholeNumber(0).allows(0)
    assert (WholeNumber() | Nothing()).allows(None)
    assert [n for n in range(-1, 5) if WholeNumber(1, 3).allows(n)] == [1, 2, 3]
    assert [n for n in range(-2, 2) if N_JOBS.allows(n)] == [-2, -1, 1]
    assert N_JOBS.rule == "a whole number other than 0, or None"
    assert WholeNumber(1, 3).rule == "a whole number from 1 to 3"


@pytest.mark.parametrize(
    ("bounds", "inside", "outside", "rule"),
    [
        ({"least": 0}, (0, 7.5), (-1e-9, math.inf), "of at least 0"),
        ({"above": 0}, (1e-9, np.float32(2)), (0, -1), "above 0"),
        ({"least": 0, "below": 1}, (0, 0.99), (1, 2), "of at least 0 and below 1"),
        ({"least": 0.5, "most": 1}, (0.5, 1), (0.4, 1.1), "of at least 0.5 and at most 1"),
    ],
)
def test_numbers(bounds, inside, outside, rule):
    number = Number(**bounds)
    assert all(map(number.allows, inside))
    for value in (*outside, True, "1", None, math.nan):
        with pytest.raises(InvalidInputError, match=rf"^f needs x to be a number {rule}\. Got"):
            number.check(value, "x", "f")


def test_words():
    Words("a", "b").check("a", "how", "f")
    with pytest.raises(InvalidInputError, match=r"^f needs how to be one of 'a', 'b'\. Got 'c'\.$"):
        Words("a", "b").check("c", "how", "f")
    with pytest.raises(InvalidInputError, match=r"Got 'ridgid'\. Did you mean 'rigid'\?$"):
        (Words("rigid", "soft") | Nothing()).check("ridgid", "how", "f")
    assert not Words("a").allows(np.array(["a", "b"]))


def test_lists_of_numbers():
    pair = Several(Number(above=0, most=1), 2)
    assert pair.rule == "two numbers above 0 and at most 1"
    assert pair.allows((0.5, 1))
    assert pair.allows(np.array([0.5, 1.0]))
    for strange in ((0.5,), (0.5, 1.5), "ab", 0.5, None, np.ones((2, 2)), [0.5, 0.5, 0.5]):
        assert not pair.allows(strange)
    rising = Several(Number(above=0), rising=True)
    assert rising.rule == "a list of numbers above 0, in rising order"
    assert [rising.allows(case) for case in ([1, 2], [2, 1], [1, 1], [])] == [1, 0, 0, 0]
    assert Several(WholeNumber(None)).rule == "a list of whole numbers"


def test_objects():
    assert Classifier().allows(LogisticRegression())
    assert not Classifier().allows(LinearSVC())
    assert Classifier(("predict_proba", "decision_function")).allows(LinearSVC())
    assert not Classifier().allows(LogisticRegression)
    assert Function("of X").allows(len)
    assert not Function("of X").allows(3)
    assert Instance(str, "a name").allows("cpu")
    assert [Flag().allows(case) for case in (True, np.False_, 0, None)] == [1, 1, 0, 0]
    assert Anything().allows(object())


def test_rules_with_a_wording_of_their_own():
    for case, strange in ((SCHEME, "cohort"), (RANDOM_STATE, 0.5), (RANDOM_STATE, True)):
        assert not case.allows(strange)
        with pytest.raises(InvalidInputError, match=r"^f needs \w+ to be .* Got"):
            case.check(strange, "x", "f")
    for seed in (None, 0, np.int64(3), np.random.default_rng(0), np.random.RandomState(0)):
        assert RANDOM_STATE.allows(seed)


def test_reasons_and_hints_frame_what_arrived():
    share = Number(above=0, below=1, why="it is a share", hint="Pass 0.1 for 10%.") | Nothing()
    with pytest.raises(InvalidInputError) as refused:
        share.check(10, "part", "f")
    assert str(refused.value) == (
        "f needs part to be a number above 0 and below 1, or None: it is a share. Got 10. "
        "Pass 0.1 for 10%."
    )


class Base(BaseEstimator):
    constraints: ClassVar = {"n": WholeNumber(), "how": Words("a", "b")}

    def __init__(self, n=1, how="a"):
        self.n = n
        self.how = how


class Derived(Base):
    constraints: ClassVar = {"n": WholeNumber(5), "share": Number(least=0)}

    def __init__(self, n=5, how="a", share=0.5, free=None):
        super().__init__(n, how)
        self.share = share
        self.free = free


def test_classes_inherit_and_extend():
    assert set(constraints_of(Derived)) == {"n", "how", "share"}
    check_parameters(Base(2), "f")
    check_parameters(Derived(free=object()), "f")
    with pytest.raises(InvalidInputError, match=r"n to be a whole number of at least 5. Got 2"):
        check_parameters(Derived(2), "f")
    with pytest.raises(InvalidInputError, match=r"how to be one of 'a', 'b'. Got 3"):
        check_parameters(Derived(how=3), "f")
    with pytest.raises(InvalidInputError, match=r"share to be a number of at least 0. Got -1"):
        check_values(constraints_of(Derived), {"share": -1, "unknown": 3}, "f")
