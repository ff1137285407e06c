"""Every parameter of every registered class has a constraint, and is held to it before a fit."""

import inspect
import math

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from recoup._core.constraints import (
    Anything,
    Either,
    Number,
    Several,
    WholeNumber,
    Words,
    constraints_of,
)
from recoup._core.registry import registered
from recoup.exceptions import InvalidInputError

ROOMS = ("learners", "priors")
CLASSES = [(room, key) for room in ROOMS for key in registered(room)]
PARAMETERS = [
    (room, key, name)
    for room, key in CLASSES
    for name in inspect.signature(registered(room)[key]).parameters
]


def rows():
    rng = np.random.default_rng(0)
    s = np.repeat([1, 0], [40, 120])
    return rng.normal(size=(160, 2)) + s[:, None], s


def outside(constraint):
    """Make values that a constraint excludes: near its limits, and of no use to anyone."""
    strange = [object(), LinearRegression, math.nan, "no such word", -7.5, b"bytes", [[]], {}]
    for part in constraint.parts:
        if isinstance(part, WholeNumber):
            limits = (part.least, part.most, part.but)
            strange += [
                limit + step for limit in limits if limit is not None for step in (-1, 1, 0)
            ]
        if isinstance(part, Number):
            limits = [value for value in (part.above, part.least, part.below, part.most) if value]
            strange += [limit + step for limit in (0, *limits) for step in (-0.01, 0, 0.01)]
        if isinstance(part, Several):
            strange += [(), (0.5,), (-1, -1), ("a", "b"), (2, 1)]
        if isinstance(part, Words):
            strange += [f"{part.known[0]} "]
    return [value for value in strange if not constraint.allows(value)]


@pytest.mark.parametrize(("room", "key"), CLASSES)
def test_every_parameter_has_a_constraint(room, key):
    cls = registered(room)[key]
    declared = constraints_of(cls)
    parameters = inspect.signature(cls).parameters
    assert set(parameters) <= set(declared)
    # What is free is what depends on the rows, and nothing does as yet.
    assert not [name for name in parameters if isinstance(declared[name], Anything)]
    for name, parameter in parameters.items():
        assert declared[name].allows(parameter.default), name


@pytest.mark.parametrize(("room", "key"), CLASSES)
def test_no_constraint_is_of_a_parameter_that_nobody_has(room, key):
    for base in registered(room)[key].__mro__:
        taken = {
            name
            for cls in registered(room).values()
            if issubclass(cls, base)
            for name in inspect.signature(cls).parameters
        }
        assert set(vars(base).get("constraints", {})) <= taken


@pytest.mark.parametrize(("room", "key", "name"), PARAMETERS)
def test_values_outside_are_refused_in_one_line(room, key, name):
    cls = registered(room)[key]
    constraint = constraints_of(cls)[name]
    values = outside(constraint)
    assert len(values) >= 4
    X, s = rows()
    truth = {"y_true": s} if getattr(cls.tags, "requires_true_labels", False) else {}
    for value in values:
        model = cls(**{name: value})
        with pytest.raises(InvalidInputError) as refused:
            model.fit(X, s, **truth)
        message = str(refused.value)
        assert message.startswith(cls.__name__), message
        assert name in message, message
        assert "Got " in message or "knows no way" in message, message
        assert "\n" not in message
        assert len(message) < 500
        assert not hasattr(model, "classes_")
        assert not hasattr(model, "estimate_")


def test_unions_are_flat():
    for room, key in CLASSES:
        for constraint in constraints_of(registered(room)[key]).values():
            assert not any(isinstance(part, Either) for part in constraint.parts)
