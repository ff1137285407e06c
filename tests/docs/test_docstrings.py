"""Docstrings in reStructuredText become Markdown that shows the same."""

from __future__ import annotations

import runpy
from pathlib import Path

import griffe
import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def as_markdown():
    return runpy.run_path(str(DOCS / "rst_docstrings.py"))["as_markdown"]


def test_shared_descriptions_are_repeated_for_each_parameter(as_markdown):
    text = (
        "Sum.\n\nParameters\n----------\na, b : float\n    Two\n    shares.\nc : int\n    Size.\n"
    )
    wanted = text.replace(
        "a, b : float\n    Two\n    shares.\n",
        "a : float\n    Two\n    shares.\nb : float\n    Two\n    shares.\n",
    )
    assert as_markdown(text) == wanted
    outside = "References\n----------\nSmith, Jones\n    2001.\n"
    assert as_markdown(outside) == outside


def test_formulas_are_drawn_and_labeled(as_markdown):
    block = as_markdown("Text\n\n.. math::\n\n    a \\le\n    b\n\nMore :math:`\\alpha`.")
    assert block.count("<svg") == 2
    assert 'aria-label="a \\le b"' in block
    assert block.endswith("</svg>.")
    assert "More" in block


def test_a_formula_that_cannot_be_drawn_is_shown_as_written(as_markdown):
    assert as_markdown(":math:`\\nosuchthing{x}`") == "<code>\\nosuchthing{x}</code>"


def test_metrics_are_shown_as_functions_of_rows():
    extension = runpy.run_path(str(DOCS / "rst_docstrings.py"))["RstDocstrings"]()
    module = griffe.load(
        "recoup.metrics.area",
        extensions=griffe.Extensions(extension),
        search_paths=[str(DOCS.parent / "src")],
    )
    names = [one.name for one in module["roc_auc"].parameters]
    assert names[:3] == ["s", "scores", "alpha"]
    assert "method" in names
    assert "Share of positives among the unlabeled rows" in module["roc_auc"].docstring.value
