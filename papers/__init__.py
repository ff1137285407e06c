"""Experiments of the papers behind recoup, repeated: one folder per paper.

The name of a folder is the paper's key; its ``experiment.py`` holds one ``EXPERIMENT``.
"""

from papers.experiment import (
    Claim,
    Effect,
    Experiment,
    Page,
    Run,
    datasets_at_hand,
    markdown_table,
    papers,
)
from papers.overview import write_overview
from papers.remaking import remake
from papers.reproduction import Reproduction, reproduce

__all__ = [
    "Claim",
    "Effect",
    "Experiment",
    "Page",
    "Reproduction",
    "Run",
    "datasets_at_hand",
    "markdown_table",
    "papers",
    "remake",
    "reproduce",
    "write_overview",
]
