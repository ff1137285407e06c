"""The pages about a benchmark."""

from recoup.report.leaderboard.site import write_site

__all__ = ["write_site"]
