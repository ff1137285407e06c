"""What a parameter may be: declared once, beside the parameters, and checked and worded here."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np

from recoup._core.checks import brief, check_scheme, did_you_mean
from recoup._core.random import check_random_state
from recoup.exceptions import InvalidInputError


@dataclass(frozen=True, kw_only=True)
class Constraint(ABC):
    """What the values of a parameter have in common. ``a | b`` allows what either allows.

    Parameters
    ----------
    why : str
        The reason of the rule, for the error.
    hint : str
        What to do, as a sentence that ends the error.
    """

    why: str = ""
    hint: str = ""

    @property
    @abstractmethod
    def rule(self) -> str:
        """What a value has to be, to follow "needs epochs to be"."""

    @abstractmethod
    def allows(self, value: Any) -> bool:
        """Say whether a value is one of those."""

    def check(self, value: Any, name: str, caller: str) -> None:
        """Refuse a value with an error that says who asks, for what, and what arrived."""
        if self.allows(value):
            return
        # A reason goes with the rule, what to do goes last.
        why = f": {self.why}" if self.why else ""
        guess = did_you_mean(value, self.words) if isinstance(value, str) else ""
        hint = f" {self.hint}" if self.hint else ""
        raise InvalidInputError(
            f"{caller} needs {name} to be {self.rule}{why}. Got {_shown(value)}.{guess}{hint}"
        )

    @property
    def words(self) -> tuple[str, ...]:
        """The words among the values."""
        return ()

    @property
    def parts(self) -> tuple[Constraint, ...]:
        """What it is made of, if of more than one."""
        return (self,)

    def __or__(self, other: Constraint) -> Constraint:
        """Allow what either of two constraints allows."""
        why, hint = self.why or other.why, self.hint or other.hint
        return Either((*self.parts, *other.parts), why=why, hint=hint)


Constraints: TypeAlias = Mapping[str, Constraint]


@dataclass(frozen=True)
class WholeNumber(Constraint):
    """A whole number, from ``least`` to ``most``, other than ``but``."""

    least: int | None = 1
    most: int | None = None
    but: int | None = None

    @property
    def rule(self) -> str:
        """What a value has to be."""
        return f"a whole number{self.bounds}"

    @property
    def bounds(self) -> str:
        """The limits, in words."""
        if self.most is not None:
            return f" from {self.least} to {self.most}"
        limit = "" if self.least is None else f" of at least {self.least}"
        return limit if self.but is None else f"{limit} other than {self.but}"

    @property
    def plural(self) -> str:
        """What several values have to be."""
        return f"whole numbers{self.bounds}"

    def allows(self, value: Any) -> bool:
        """Say whether a value is such a number."""
        if not isinstance(value, Integral) or _is_flag(value) or value == self.but:
            return False
        number = int(value)
        return (self.least is None or number >= self.least) and (
            self.most is None or number <= self.most
        )


@dataclass(frozen=True)
class Number(Constraint):
    """A finite number, above one limit or from it on, and below another or up to it."""

    above: float | None = None
    least: float | None = None
    below: float | None = None
    most: float | None = None

    @property
    def rule(self) -> str:
        """What a value has to be."""
        return f"a number{self.bounds}"

    @property
    def bounds(self) -> str:
        """The limits, in words."""
        said = {
            "above": self.above,
            "of at least": self.least,
            "below": self.below,
            "at most": self.most,
        }
        limits = [f"{words} {limit:g}" for words, limit in said.items() if limit is not None]
        return f" {' and '.join(limits)}" if limits else ""

    @property
    def plural(self) -> str:
        """What several values have to be."""
        return f"numbers{self.bounds}"

    def allows(self, value: Any) -> bool:
        """Say whether a value is such a number."""
        if not isinstance(value, Real) or _is_flag(value) or not math.isfinite(value):
            return False
        number = float(value)
        return (
            (self.above is None or number > self.above)
            and (self.least is None or number >= self.least)
            and (self.below is None or number < self.below)
            and (self.most is None or number <= self.most)
        )


@dataclass(frozen=True, init=False)
class Words(Constraint):
    """One of some words."""

    known: tuple[str, ...]

    def __init__(self, *known: str, why: str = "", hint: str = "") -> None:
        """Take the words one by one, since ``get_args`` of a type gives them so."""
        object.__setattr__(self, "known", known)
        object.__setattr__(self, "why", why)
        object.__setattr__(self, "hint", hint)

    @property
    def rule(self) -> str:
        """What a value has to be."""
        listed = ", ".join(map(repr, self.known))
        return f"one of {listed}" if len(self.known) > 1 else listed

    @property
    def words(self) -> tuple[str, ...]:
        """The words among the values."""
        return self.known

    def allows(self, value: Any) -> bool:
        """Say whether a value is one of the words."""
        return isinstance(value, str) and value in self.known


@dataclass(frozen=True)
class Flag(Constraint):
    """True or False."""

    @property
    def rule(self) -> str:
        """What a value has to be."""
        return "True or False"

    def allows(self, value: Any) -> bool:
        """Say whether a value is True or False."""
        return _is_flag(value)


@dataclass(frozen=True)
class Nothing(Constraint):
    """None, where it has a meaning."""

    @property
    def rule(self) -> str:
        """What a value has to be."""
        return "None"

    def allows(self, value: Any) -> bool:
        """Say whether a value is None."""
        return value is None


@dataclass(frozen=True)
class Several(Constraint):
    """A list of numbers: at least one, or as many as ``length``; ``rising`` if need be."""

    of: Number | WholeNumber
    length: int | None = None
    rising: bool = False

    @property
    def rule(self) -> str:
        """What a value has to be."""
        count = "a list of " if self.length is None else f"{_COUNTS[self.length]} "
        return f"{count}{self.of.plural}{', in rising order' if self.rising else ''}"

    def allows(self, value: Any) -> bool:
        """Say whether a value is such a list."""
        if isinstance(value, np.ndarray):
            value = list(value) if value.ndim == 1 else None
        if not isinstance(value, Sequence) or isinstance(value, str) or len(value) == 0:
            return False
        if self.length not in (None, len(value)) or not all(map(self.of.allows, value)):
            return False
        return not self.rising or all(low < high for low, high in pairwise(value))


@dataclass(frozen=True)
class Function(Constraint):
    """A function; ``which`` says of what, or what it does."""

    which: str

    @property
    def rule(self) -> str:
        """What a value has to be."""
        return f"a function {self.which}"

    def allows(self, value: Any) -> bool:
        """Say whether a value can be called."""
        return callable(value)


@dataclass(frozen=True)
class Classifier(Constraint):
    """An object to fit, as in scikit-learn, with one of some methods to ask it by."""

    answers: tuple[str, ...] = ("predict_proba",)

    @property
    def rule(self) -> str:
        """What a value has to be."""
        return (
            f"a classifier with fit, get_params and {' or '.join(self.answers)}, as in scikit-learn"
        )

    def allows(self, value: Any) -> bool:
        """Say whether a value has the methods, and is no class."""
        if isinstance(value, type) or not (hasattr(value, "fit") and hasattr(value, "get_params")):
            return False
        return any(hasattr(value, name) for name in self.answers)


@dataclass(frozen=True)
class Instance(Constraint):
    """An object of some class, which errors call ``called``."""

    kind: type | tuple[type, ...]
    called: str

    @property
    def rule(self) -> str:
        """What a value has to be."""
        return self.called

    def allows(self, value: Any) -> bool:
        """Say whether a value is of the class."""
        return isinstance(value, self.kind)


@dataclass(frozen=True)
class Checked(Constraint):
    """What a function of a value and a caller lets pass: it has an error of its own."""

    by: Callable[[Any, str], Any]

    @property
    def rule(self) -> str:
        """What a value has to be."""
        return f"what {self.by.__name__} allows"

    def allows(self, value: Any) -> bool:
        """Say whether the function lets a value pass."""
        try:
            self.by(value, "")
        except InvalidInputError:
            return False
        return True

    def check(self, value: Any, name: str, caller: str) -> None:
        """Refuse a value in the function's words."""
        self.by(value, caller)


@dataclass(frozen=True)
class Either(Constraint):
    """What one of some constraints allows."""

    options: tuple[Constraint, ...]

    @property
    def parts(self) -> tuple[Constraint, ...]:
        """What it is made of."""
        return self.options

    @property
    def rule(self) -> str:
        """What a value has to be."""
        *most, last = (option.rule for option in self.options)
        return f"{', '.join(most)}, or {last}"

    @property
    def words(self) -> tuple[str, ...]:
        """The words among the values."""
        return tuple(word for option in self.options for word in option.words)

    def allows(self, value: Any) -> bool:
        """Say whether one of them allows a value."""
        return any(option.allows(value) for option in self.options)


@dataclass(frozen=True)
class Anything(Constraint):
    """Whatever there is: what it means depends on the rows."""

    @property
    def rule(self) -> str:
        """What a value has to be."""
        return "anything"

    def allows(self, value: Any) -> bool:
        """Say yes."""
        return True


SCHEME = Checked(check_scheme)
RANDOM_STATE = Checked(check_random_state)
N_JOBS = WholeNumber(None, but=0, hint="Pass -1 for one thread per core.") | Nothing()

_COUNTS = {2: "two"}


def constraints_of(cls: type) -> dict[str, Constraint]:
    """Return the constraints of a class and of those that it inherits from, by parameter."""
    found: dict[str, Constraint] = {}
    for base in reversed(cls.__mro__):
        found |= vars(base).get("constraints", {})
    return found


def check_parameters(estimator: Any, caller: str) -> None:
    """Check the parameters of an estimator against the constraints that its class declares."""
    declared = constraints_of(type(estimator))
    check_values(declared, estimator.get_params(deep=False), caller)


def check_values(constraints: Constraints, values: Mapping[str, Any], caller: str) -> None:
    """Check values by name; those without a constraint pass."""
    for name, value in values.items():
        if name in constraints:
            constraints[name].check(value, name, caller)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def _shown(value: Any) -> str:
    return repr(brief(value)) if isinstance(value, str) else brief(value)
