"""Formulas written down: run on an :class:`Expression`, a formula says what it computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

Operand: TypeAlias = "Expression | float | int | bool"


class UnknownOperation(TypeError):
    """A formula does something that cannot be written down."""


class Expression(NDArrayOperatorsMixin):
    """A number that is not known yet: arithmetic on it is kept, not done.

    Parameters
    ----------
    operation : str
        Name of a variable if there are no operands, else what is done with them: the name of a
        numpy function such as ``"add"``, ``"sqrt"`` or ``"where"``, or ``"ratio"``.
    operands : tuple
        Expressions and plain numbers.

    Examples
    --------
    >>> tpr, fpr = Expression("tpr"), Expression("fpr")
    >>> np.sqrt(tpr * (1 - fpr))
    sqrt(multiply(tpr, subtract(1, fpr)))
    """

    def __init__(self, operation: str, operands: Sequence[Operand] = ()) -> None:
        self.operation, self.operands = operation, tuple(_checked(one) for one in operands)

    def __repr__(self) -> str:
        """Write the expression as calls."""
        inside = ", ".join(map(repr, self.operands))
        return f"{self.operation}({inside})" if self.operands else self.operation

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Note a function of numpy that works on single numbers."""
        if method != "__call__" or options:
            raise UnknownOperation(f"numpy.{ufunc.__name__} with options or as {method}")
        return Expression(ufunc.__name__, inputs)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any
    ) -> Any:
        """Note the few other functions that work number by number."""
        if function.__name__ not in ("where", "clip") or kwargs or len(args) != 3:
            raise UnknownOperation(f"numpy.{function.__name__}")
        return Expression(function.__name__, args)

    def __bool__(self) -> bool:
        """Refuse to choose a branch: which one depends on the number."""
        raise UnknownOperation("a branch that depends on a number; numpy.where can be written down")

    def __float__(self) -> float:
        """Refuse to be a number."""
        raise UnknownOperation("a conversion to a plain number")


def written(formula: Callable[..., Any], *names: str, **values: Any) -> Any:
    """Run a formula on variables, and return its expression or tuple of expressions.

    Returns None where the formula does what cannot be written down.

    Examples
    --------
    >>> written(lambda tpr, fpr: (1 + tpr - fpr) / 2, "tpr", "fpr")
    divide(subtract(add(1, tpr), fpr), 2)
    >>> written(lambda tpr: max(tpr, 0.5), "tpr") is None
    True
    """
    try:
        found = formula(*(Expression(name) for name in names), **values)
        parts = found if isinstance(found, tuple) else (found,)
        checked = tuple(_checked(part) for part in parts)
    except (TypeError, ValueError, AttributeError):
        return None
    return checked if isinstance(found, tuple) else checked[0]


def _checked(operand: Any) -> Operand:
    if isinstance(operand, np.generic) or (isinstance(operand, np.ndarray) and operand.ndim == 0):
        operand = operand.item()
    if isinstance(operand, Expression | float | int):
        return operand
    raise UnknownOperation(f"a value of type {type(operand).__name__}")
