"""GroupReport: an evaluation by groups as a single HTML file that works offline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import recoup
from recoup._core.text import show_count, show_number, show_range, show_share
from recoup.evaluation import GroupedEvaluation
from recoup.report.groups.summarize import summarize_groups
from recoup.report.page.payload import as_island
from recoup.report.page.render import COMMAND_SHOWN, ROOM, environment, script_hash, shorten
from recoup.report.written import WrittenPage

SCRIPTS = ("shared/words.js", "shared/charts.js", "groups/groups.js")
# Groups in the table of the page; the script and the other kinds of file have all of them.
MOST_LISTED = 1000


@dataclass(frozen=True)
class GroupReport(WrittenPage):
    """An evaluation by groups as a page with a forest plot and a chooser of the group.

    The page loads nothing, and needs no network. Without scripts it still has the table.

    Parameters
    ----------
    evaluation : GroupedEvaluation
        What :func:`recoup.evaluate_by` returned.
    title : str
        Heading of the page.
    command : str, optional
        The command that made the evaluation.
    """

    evaluation: GroupedEvaluation
    title: str
    command: str | None = None

    def to_html(self) -> str:
        """Return the page as text. The same evaluation gives the same page.

        Returns
        -------
        str
        """
        summary = self.to_dict()
        scripts = {name: (ROOM / name).read_text("utf-8") for name in SCRIPTS}
        page: str = (
            environment()
            .get_template("groups/groups.html.j2")
            .render(
                title=self.title,
                summary=summary,
                lines=list(_lines(summary)),
                total=_total(summary),
                left_out=max(len(summary["names"]) - MOST_LISTED, 0),
                command=self.command and shorten(self.command, COMMAND_SHOWN),
                version=recoup.__version__,
                scripts=scripts,
                hashes=[script_hash(text) for text in scripts.values()],
                island=as_island(summary),
            )
        )
        return page

    def to_dict(self) -> dict[str, Any]:
        """Return all that the page says as plain values, ready for JSON.

        Returns
        -------
        dict
            See :func:`recoup.report.groups.summarize_groups`; also ``title``, ``call`` and
            ``made_with``.
        """
        return summarize_groups(self.evaluation) | {
            "title": self.title,
            "call": self.command,
            "made_with": f"Made with recoup {recoup.__version__}.",
        }

    def to_markdown(self) -> str:
        """Return the words and the table of the page as Markdown.

        Returns
        -------
        str
        """
        summary = self.to_dict()
        labels = [metric["label"] for metric in _headline(summary)]
        heads = ["Group", "Labeled", "Unlabeled", *labels, "Own rows"]
        lines = [
            f"# {_cell(self.title)}",
            "",
            *(line for sentence in summary["sentences"] for line in (_cell(sentence), "")),
            f"| {' | '.join(heads)} |",
            f"| {' | '.join(['---', *['---:'] * (len(heads) - 1)])} |",
        ]
        rows = [*_lines(summary, len(summary["names"])), _total(summary)]
        for line in rows:
            cells = [line["name"], line["labeled"], line["unlabeled"]]
            cells += [f"{value} ({ends})" for value, ends in line["values"]]
            lines.append(f"| {' | '.join(_cell(cell) for cell in [*cells, line['own']])} |")
        lines += ["", *(f"- {_cell(note)}" for note in summary["notes"])]
        if self.command:
            lines += ["", f"Made by `{_cell(self.command)}`."]
        return "\n".join([*lines, "", summary["made_with"], ""])


def _headline(summary: dict[str, Any]) -> list[dict[str, Any]]:
    shown = ("precision", "recall", "roc_auc")
    by_key = {metric["key"]: metric for metric in summary["metrics"]}
    return [by_key[key] for key in shown]


def _lines(summary: dict[str, Any], most: int = MOST_LISTED) -> list[dict[str, Any]]:
    """Write one line of the table per group."""
    metrics = _headline(summary)
    rows = summary["rows"]
    return [
        {
            "name": name,
            "labeled": show_count(rows["labeled"][place]),
            "unlabeled": show_count(rows["unlabeled"][place]),
            "values": [
                (
                    show_number(metric["recovered"][place]),
                    show_range(metric["lower"][place], metric["upper"][place]),
                )
                for metric in metrics
            ],
            "own": show_share(metrics[0]["own"][place]),
        }
        for place, name in enumerate(summary["names"][:most])
    ]


def _total(summary: dict[str, Any]) -> dict[str, Any]:
    rows = summary["rows"]
    return {
        "name": "all together",
        "labeled": show_count(sum(rows["labeled"])),
        "unlabeled": show_count(sum(rows["unlabeled"])),
        "values": [
            (
                show_number(metric["total"]["recovered"]),
                show_range(metric["total"]["lower"], metric["total"]["upper"]),
            )
            for metric in _headline(summary)
        ],
        "own": "",
    }


def _cell(text: str) -> str:
    """Keep a text on its line and in its cell, and what looks like markup from being any."""
    flat = " ".join(str(text).split())
    for letter in "\\`*_[]<>|#":
        flat = flat.replace(letter, f"\\{letter}")
    return flat
