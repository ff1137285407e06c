"""Pages people read: one evaluation as a single HTML file that works offline."""

from recoup.report.page.render import Report
from recoup.report.page.summarize import summarize

__all__ = ["Report", "summarize"]
