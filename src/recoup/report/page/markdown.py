"""The words and tables of a page as Markdown, for wikis, tickets and mails."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from recoup._core.text import show_count, show_number, show_percent, show_range

# Signs that would start markup in a line of text or in a cell.
MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~&!])")
LEVEL_WORDS = {"red": "against", "amber": "care", "green": "for", "note": "note"}


def as_markdown(page: dict[str, Any]) -> str:
    """Write a report.

    Parameters
    ----------
    page : dict
        What :meth:`recoup.report.Report.to_dict` returned.

    Returns
    -------
    str
    """
    lines = [f"# {escaped(page['title'])}", ""]
    versus = page["comparison"]
    if versus is not None:
        lines += [escaped(versus["leader"]), "", *_list(versus["sentences"]), ""]
    lines += _promised(page.get("promise"))
    for model in page["models"]:
        level = "##"
        if versus is not None:
            lines += [f"## {escaped(model['name'])}", ""]
            level = "###"
        lines += _of_model(model["summary"], level)
    lines += ["## How to get these numbers again", "", _code(page["call"]), ""]
    lines += [escaped(page["made_with"]), ""]
    return "\n".join(lines)


def escaped(text: str) -> str:
    r"""Write a text so that nothing in it is markup.

    Examples
    --------
    >>> print(escaped("<b>a|b</b> [x](y)"))
    \<b\>a\|b\</b\> \[x\](y)
    """
    return MARKUP.sub(r"\\\1", " ".join(str(text).split()))


def _of_model(summary: dict[str, Any], level: str) -> list[str]:
    verdict, light = summary["verdict"], summary["verdict"]["light"]
    step = summary["next_step"]
    found = [*map(escaped, verdict["headline"]), "", f"**Next step:** {escaped(step['text'])}", ""]
    found += [_code(step["command"]), ""] if step["command"] else []
    about = "Reliability of the labels alone" if summary["audit"]["made"] else "Reliability"
    found += [f"{level} {about}: {light['word']}", ""]
    reasons = [f"{LEVEL_WORDS[one['level']]}: {one['text']}" for one in light["reasons"]]
    found += [*_list(reasons), "", f"{level} What would change our mind", ""]
    found += [*_list(verdict["doubts"]), "", *_checked(summary, level)]
    found += [f"{level} The numbers{', from the labels alone' * summary['audit']['made']}", ""]
    found += [*_table(*_numbers(summary)), "", *_list(summary["sentences"]), ""]
    if summary["notes"]:
        found += [f"{level} Notes", "", *_list(summary["notes"]), ""]
    return found


def _promised(promise: dict[str, Any] | None) -> list[str]:
    """Write the threshold that keeps a promise, or why there is none."""
    if promise is None:
        return []
    found = [f"## {escaped(promise['heading'])}", "", escaped(promise["sentence"]), ""]
    if promise["rows"]:
        rows = [[row["label"], row["value"], row["limits"]] for row in promise["rows"]]
        found += [*_table(["At this threshold", "Recovered", promise["interval"]], rows), ""]
    return [*found, *_list(promise["notes"]), ""]


def _checked(summary: dict[str, Any], level: str) -> list[str]:
    """Write what checked rows tell, or would tell."""
    audit = summary["audit"]
    if not audit["sentences"]:
        return []
    found = [f"{level} Checked by hand", "", *_list(audit["sentences"]), ""]
    if not audit["made"]:
        offer = audit["offer"]
        heads = ["Rows", *(figure["label"] for figure in offer["figures"])]
        rows = [["unchecked, as now", *(figure["now"] for figure in offer["figures"])]]
        for choice in offer["choices"]:
            pairs = zip(choice["half"], choice["at_most"], strict=True)
            cells = [half if half == most else f"{half}, up to {most}" for half, most in pairs]
            rows.append([show_count(choice["checks"]), *cells])
        return [*found, *_table(heads, rows), "", _code(offer["call"]), ""]
    labels = audit["labels"]
    found += [text + "\n" for text in (escaped(labels["odds"]), escaped(labels["advice"])) if text]
    heads = ["Metric", "Both", audit["kind"], "Audited", "Its limits", "Labels alone", "Its limits"]
    rows = [
        [
            row["label"],
            show_number(row["combined"]),
            show_range(row["lower"], row["upper"]),
            show_number(row["audited"]),
            show_range(row["audited_lower"], row["audited_upper"]),
            show_number(row["from_labels"]),
            show_range(row["labels_lower"], row["labels_upper"]),
        ]
        for row in audit["metrics"]
    ]
    return [*found, *_table(heads, rows), ""]


def _numbers(summary: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    interval = f"{show_percent(summary['confidence'])} interval"
    rows = [
        [
            metric["label"],
            show_number(metric["pu"]),
            show_number(metric["recovered"]),
            show_range(metric["lower"], metric["upper"]),
        ]
        for group in summary["groups"]
        for metric in group["metrics"]
    ]
    return ["Metric", "As counted", "Recovered", interval], rows


def _list(texts: Iterable[str]) -> list[str]:
    return [f"- {escaped(text)}" for text in texts]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Align numbers to the right."""
    lines = [[*map(escaped, heads)], ["---", *["---:"] * (len(heads) - 1)]]
    lines += [[*map(escaped, row)] for row in rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def _code(text: str) -> str:
    """Indent by four: no sign in the text can end such a block."""
    return f"    {' '.join(text.split())}"
