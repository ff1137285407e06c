"""Pages people read: an evaluation as a single HTML file that works offline."""

from recoup.report.groups import GroupReport
from recoup.report.page.render import Report
from recoup.report.page.summarize import summarize

__all__ = ["GroupReport", "Report", "summarize"]
