"""The page about groups of rows: a forest plot, a chooser, and a table."""

from recoup.report.groups.render import GroupReport
from recoup.report.groups.summarize import gap_sentences, summarize_groups

__all__ = ["GroupReport", "gap_sentences", "summarize_groups"]
