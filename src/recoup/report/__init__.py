"""Pages people read: one evaluation as a single HTML file that works offline."""

from recoup.report.render import Report
from recoup.report.summarize import summarize

__all__ = ["Report", "summarize"]
