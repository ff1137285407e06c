"""Experiments of the papers behind recoup, repeated: one module per paper.

A module holds one ``EXPERIMENT``, and its name is the paper's key.
"""

from papers._experiment import (
    Claim,
    Experiment,
    Page,
    Reproduction,
    Run,
    datasets_at_hand,
    markdown_table,
    papers,
    reproduce,
)
from papers._overview import write_overview

__all__ = [
    "Claim",
    "Experiment",
    "Page",
    "Reproduction",
    "Run",
    "datasets_at_hand",
    "markdown_table",
    "papers",
    "reproduce",
    "write_overview",
]
