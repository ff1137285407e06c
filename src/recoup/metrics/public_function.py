"""The public function of a metric: its name, its parameters and its words, from a formula."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recoup.metrics.spec import MetricSpec

_SHARED = """alpha : float, optional
    Share of positives among the unlabeled rows. Not needed with ``propensity``{unless}.
beta : float, default=1.0
    Share of true positives among the labeled rows; 1.0 if every label is right.
scheme : {{"single-sample", "case-control"}}, default="single-sample"
    Whether performance is about all rows, or about the unlabeled rows alone.
sample_weight : array-like of shape (n,), optional
    Row weights.
propensity : array-like of shape (n,), optional
    P(labeled | positive, x) of each row, for labels that are not a random sample of the
    positives. Takes the place of alpha.
{more}
Returns
-------
float
    Not clipped: a value outside the metric's range says that alpha or beta is wrong.
"""
PARAMETERS = """

Parameters
----------
s : array-like of shape (n,)
    1 labeled positive, 0 unlabeled, -1 known negative.
{answers} : array-like of shape (n,)
    {about}
"""
_METHOD = """method : {"indirect", "direct"}, default="indirect"
    ``"indirect"`` is the area under the recovered curve, which Jain et al. (2017) found more
    accurate. ``"direct"`` applies a formula to the observed area (AUC_pu); it can leave the
    range.
"""


def public_function(compute: Any, spec: MetricSpec, answers: str, about: str) -> Any:
    """Give a function of rows the name, the parameters and the words of its formula.

    What the formula takes beside rates is explained in a section *Parameters* of its docstring.
    """
    formula = spec.formula
    # Formulas that are defined within a function have deeper docstrings than others.
    doc = inspect.cleandoc(formula.__doc__ or "")
    text, mark, examples = doc.partition("\n\nExamples\n")
    text, _, own = text.partition("\n\nParameters\n----------\n")
    two_ways = spec.from_auc_pu is not None and spec.needs_alpha
    words = PARAMETERS.format(answers=answers, about=about)
    words += _SHARED.format(
        unless="" if spec.needs_alpha else ", or where every label is right",
        more=(_METHOD if two_ways else "") + (own and f"{own.rstrip()}\n"),
    )
    compute.__doc__ = text.rstrip() + words + mark[1:] + examples
    compute.__signature__ = _signature(answers, spec, two_ways)
    compute.__name__ = compute.__qualname__ = formula.__name__
    compute.__module__ = formula.__module__
    compute.spec = spec
    return compute


def _signature(answers: str, spec: MetricSpec, two_ways: bool) -> inspect.Signature:
    """Name every parameter of a metric, those of its formula in place of ``**params``."""
    positional, named = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    row_values = {"annotation": "ArrayLike | None", "default": None}
    found = [
        inspect.Parameter("s", positional, annotation="ArrayLike"),
        inspect.Parameter(answers, positional, annotation="ArrayLike"),
        inspect.Parameter("alpha", named, annotation="float | None", default=None),
        inspect.Parameter("beta", named, annotation="float", default=1.0),
        inspect.Parameter("scheme", named, annotation="Scheme", default="single-sample"),
        *(inspect.Parameter(name, named, **row_values) for name in ("sample_weight", "propensity")),
    ]
    if two_ways:
        found.append(inspect.Parameter("method", named, annotation="str", default="indirect"))
    formula = inspect.signature(spec.formula).parameters
    found += [formula[name].replace(kind=named) for name in spec.params]
    return inspect.Signature(found, return_annotation="float")
