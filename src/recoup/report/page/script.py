"""The page's formulas: those of the metrics, translated from Python, and what works with them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from recoup.metrics.expression import Expression, written
from recoup.metrics.point import LEAST
from recoup.metrics.rates import Mixture
from recoup.metrics.spec import METRICS, MetricSpec, specs

# What works with the formulas, each using the names of those before it.
COMPUTING = ("values.js", "intervals.js", "areas.js", "tilt.js", "uncertainty.js", "formulas.js")
# What numpy calls them, and how a script writes them.
OPERATORS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "power": "**",
    "greater": ">",
    "greater_equal": ">=",
    "less": "<",
    "less_equal": "<=",
    "equal": "===",
    "not_equal": "!==",
    "logical_and": "&&",
    "logical_or": "||",
}
CALLS = {
    "absolute": "Math.abs",
    "cbrt": "Math.cbrt",
    "cos": "Math.cos",
    "exp": "Math.exp",
    "expm1": "Math.expm1",
    "fabs": "Math.abs",
    "hypot": "Math.hypot",
    "isnan": "Number.isNaN",
    "log": "Math.log",
    "log10": "Math.log10",
    "log1p": "Math.log1p",
    "log2": "Math.log2",
    "maximum": "Math.max",
    "minimum": "Math.min",
    "ratio": "ratio",
    "sign": "Math.sign",
    "sin": "Math.sin",
    "sqrt": "Math.sqrt",
    "tanh": "Math.tanh",
}
FORMS = {
    "clip": "Math.min(Math.max({0}, {1}), {2})",
    "logical_not": "!{0}",
    "negative": "(-{0})",
    "positive": "{0}",
    "reciprocal": "(1 / {0})",
    "square": "({0} ** 2)",
    "where": "({0} ? {1} : {2})",
}
FRAME = """// Formulas of the metrics, translated from those of recoup.metrics.
const Formulas = (() => {{
  "use strict";
  const ratio = (numerator, denominator, empty) =>
    denominator > {least!r} ? numerator / denominator : empty;
  const point = {{{point}}};
  const proper = {{{proper}}};
  const fromAucPu = {{{direct}}};
  return {{ point, proper, fromAucPu }};
}})();
"""


def page_script() -> str:
    """Return the script that computes every number of a page again: it touches no document."""
    parts = [Path(__file__).with_name(name).read_text("utf-8") for name in COMPUTING]
    return "".join([formulas_script(), *parts])


def formulas_script() -> str:
    """Translate the formulas of all metrics that can be translated."""
    point = [(spec, point_function(spec)) for spec in specs("point")]
    proper = [(spec, proper_function(spec)) for spec in specs("proper")]
    direct = [(spec, direct_function(spec)) for spec in specs("area")]
    return FRAME.format(
        least=LEAST, point=_entries(point), proper=_entries(proper), direct=_entries(direct)
    )


def is_fixed(key: str) -> bool:
    """Say whether a page shows a metric only as Python computed it, for it has no formula of it."""
    spec = METRICS[key]
    if spec.kind == "point":
        return point_function(spec) is None
    if spec.kind == "proper":
        return proper_function(spec) is None
    if not spec.needs_alpha and direct_function(spec) is not None:
        return False
    return spec.script is None


def point_function(spec: MetricSpec) -> str | None:
    """Write the formula of true rates as a function; its parameters come as one object."""
    names = {
        name: in_script(name)
        for name, value in spec.params.items()
        if isinstance(value, float | int) and not isinstance(value, bool)
    }
    variables: dict[str, Any] = {name: Expression(shown) for name, shown in names.items()}
    found = written(spec.formula, "tpr", "fpr", "pi", **variables)
    arguments = "tpr, fpr, pi"
    if names:
        usual = ", ".join(f"{shown} = {spec.params[name]!r}" for name, shown in names.items())
        arguments += f", {{ {usual} }} = {{}}"
    return function(arguments, found)


def proper_function(spec: MetricSpec) -> str | None:
    """Write both losses of a probability as a function that returns the pair."""
    return function("p", written(spec.formula, "p"))


def direct_function(spec: MetricSpec) -> str | None:
    """Write the formula of AUC_pu as a function."""
    formula = spec.from_auc_pu
    if formula is None:
        return None

    def of_shares(auc: Any, alpha: Any, beta: Any, pi: Any) -> Any:
        return formula(auc, Mixture(alpha, beta, pi, "single-sample"))

    return function("auc, alpha, beta, pi", written(of_shares, "auc", "alpha", "beta", "pi"))


def in_script(name: str) -> str:
    """Name a parameter as scripts do.

    Examples
    --------
    >>> in_script("fp_cost")
    'fpCost'
    """
    return re.sub("_(.)", lambda match: match[1].upper(), name)


def function(arguments: str, found: Any) -> str | None:
    """Write expressions as an arrow function, or None where one cannot be written.

    What is used more than once is computed once.

    Examples
    --------
    >>> tpr, fpr = Expression("tpr"), Expression("fpr")
    >>> function("tpr, fpr", (1 + tpr) / 2 - fpr)
    '(tpr, fpr) => (((1 + tpr) / 2) - fpr)'
    >>> gap = tpr - fpr
    >>> function("tpr, fpr", gap * gap)
    '(tpr, fpr) => { const t0 = (tpr - fpr); return (t0 * t0); }'
    """
    if found is None:
        return None
    parts = found if isinstance(found, tuple) else (found,)
    try:
        consts, texts = _written(parts)
    except KeyError:
        return None
    value = f"[{', '.join(texts)}]" if isinstance(found, tuple) else texts[0]
    if not consts:
        return f"({arguments}) => {value}"
    lines = " ".join(f"const {name} = {text};" for name, text in consts)
    return f"({arguments}) => {{ {lines} return {value}; }}"


def _written(parts: Sequence[Any]) -> tuple[list[tuple[str, str]], list[str]]:
    """Write expressions, and before them the constants for what they share."""
    uses = Counter(id(one) for part in parts for one in _used(part, set()))
    names: dict[int, str] = {}
    consts: list[tuple[str, str]] = []

    def write(one: Any) -> str:
        if not isinstance(one, Expression):
            return _number(one)
        if not one.operands:
            return one.operation
        if id(one) in names:
            return names[id(one)]
        text = _operation(one.operation, [write(operand) for operand in one.operands])
        if uses[id(one)] < 2:
            return text
        names[id(one)] = f"t{len(consts)}"
        consts.append((names[id(one)], text))
        return names[id(one)]

    texts = [write(part) for part in parts]
    return consts, texts


def _used(one: Any, seen: set[int]) -> Iterator[Expression]:
    """Give an expression, and what it is made of as often as it is named there."""
    if isinstance(one, Expression):
        yield one
        if id(one) not in seen:
            seen.add(id(one))
            for operand in one.operands:
                yield from _used(operand, seen)


def _operation(name: str, operands: list[str]) -> str:
    if name in OPERATORS:
        return f"({operands[0]} {OPERATORS[name]} {operands[1]})"
    if name in CALLS:
        return f"{CALLS[name]}({', '.join(operands)})"
    return FORMS[name].format(*operands)


def _number(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and (value != value or value in (float("inf"), -float("inf"))):
        return "NaN" if value != value else "Infinity" if value > 0 else "(-Infinity)"
    return repr(value) if value >= 0 else f"({value!r})"


def _entries(functions: Sequence[tuple[MetricSpec, str | None]]) -> str:
    found = [f"\n    {json.dumps(spec.key)}: {text}," for spec, text in functions if text]
    return "".join([*found, "\n  "]) if found else ""
