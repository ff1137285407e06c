"""Claims as people read them: a table, one by one, and counted by what lies behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, get_args

from papers.experiment import Claim, Effect, Verdict, markdown_table

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
COLUMNS = {
    "text": "What the paper says",
    "setting": "Setting",
    "rule": "Rule",
    "published": "Published",
    "ours": "Ours",
    "effect": "Effect (95% interval)",
    "verdict": "Verdict",
    "cause": "Cause",
    "reason": "Why",
}
# Long cells make a table unreadable: these stand below it, claim by claim.
SHORT = ("text", "setting", "effect", "verdict", "cause")
LONG = ("setting", "rule", "published", "ours", "effect")


def to_dict(claim: Claim) -> dict[str, Any]:
    """Return a claim as JSON knows it.

    Examples
    --------
    >>> claim = Claim("It holds.", "here", "it must", "1", "1", Effect(1, 1, 1, "times"), "holds")
    >>> from_dict(to_dict(claim)) == claim
    True
    """
    return asdict(claim)


def from_dict(kept: Mapping[str, Any]) -> Claim:
    """Return the claim that :func:`to_dict` wrote."""
    effect = kept["effect"]
    return Claim(**{**kept, "effect": None if effect is None else Effect(**effect)})


def changed(rule: str, *, old: str, says: str, why: str) -> str:
    """Return a rule that was changed after results were known, with what the old one says.

    Parameters
    ----------
    rule : str
        The rule as it is now.
    old : str
        What it was.
    says : str
        The verdict, or more, by the old rule.
    why : str
        What was wrong with it.

    Examples
    --------
    >>> changed("Above 1.", old="above 0", says="holds", why="noise is above 0 too")
    'Above 1. Changed after results were known, because noise is above 0 too; the old rule, above 0, says: holds.'
    """  # noqa: E501
    return (
        f"{rule} Changed after results were known, because {why}; the old rule, {old}, says: "
        f"{says}."
    )


def cell(claim: Claim, name: str) -> str:
    """Return one field of a claim as text; empty where no number decides."""
    value = getattr(claim, name)
    if name == "effect":
        return "" if value is None else str(value.text)
    return str(value)


def claim_table(claims: Iterable[Claim], *, in_full: bool = False) -> str:
    """Return what claims say, where, the effect, the verdict and its cause, as a table.

    Parameters
    ----------
    claims : iterable of Claim
        What is shown.
    in_full : bool, default=False
        With the rule and the reason: for pages that do not show claims one by one.

    Returns
    -------
    str
        In Markdown.
    """
    names = (*SHORT[:2], "rule", *SHORT[2:], "reason") if in_full else SHORT
    rows = [[cell(claim, name) for name in names] for claim in claims]
    return markdown_table([COLUMNS[name] for name in names], rows)


def claims_in_full(claims: Sequence[Claim]) -> str:
    """Return claims one by one, with the rule and both figures; ours once if it is the effect."""
    parts = []
    for number, claim in enumerate(claims, 1):
        texts = {name: " ".join(cell(claim, name).split()) for name in LONG}
        if texts["ours"] == texts["effect"]:
            del texts["ours"]
        lines = [f"- {COLUMNS[name]}: {text}" for name, text in texts.items() if text]
        why = f" {' '.join(claim.reason.split())}" if claim.reason else ""
        cause = f" ({claim.cause})" if claim.cause else ""
        parts.append(f"**{number}. {' '.join(claim.text.split())}**")
        parts.append("\n".join([*lines, f"- **{claim.verdict}**{cause}.{why}"]))
    return "\n\n".join(parts)


def verdict_counts(claims: Iterable[Claim]) -> dict[Verdict, int]:
    """Return how many claims have each verdict."""
    found = Counter(claim.verdict for claim in claims)
    return {verdict: found[verdict] for verdict in VERDICTS}


def cause_table(claims: Mapping[str, Sequence[Claim]]) -> str:
    """Count claims by root cause, over one paper or several.

    Parameters
    ----------
    claims : mapping of str to sequence of Claim
        By the name of the paper as it is shown. With more than one, a column tells which papers a
        cause touches.

    Returns
    -------
    str
        A Markdown table, the cause of most claims first; empty if every claim holds plainly.
    """
    touched: dict[str, list[tuple[str, Claim]]] = {}
    for paper, some in claims.items():
        for claim in some:
            if claim.cause:
                touched.setdefault(claim.cause, []).append((paper, claim))
    if not touched:
        return ""
    rows = []
    for cause, found in sorted(touched.items(), key=lambda item: (-len(item[1]), item[0])):
        counts = verdict_counts(claim for _, claim in found)
        papers = ", ".join(dict.fromkeys(paper for paper, _ in found))
        rows.append(
            [
                cause,
                *([papers] if len(claims) > 1 else []),
                str(len(found)),
                *(str(counts[verdict]) for verdict in VERDICTS),
            ]
        )
    columns = ["Cause", *(["Papers"] if len(claims) > 1 else []), "Claims", *VERDICTS]
    return markdown_table(columns, rows)


def verdict_sentence(claims: Sequence[Claim]) -> str:
    """Say in a sentence how many claims have each verdict, and how many causes stand behind them.

    Examples
    --------
    >>> one = Claim("It holds.", "here", "it must", "1", "1", None, "holds")
    >>> two = Claim("It falls.", "here", "it must", "1", "2", None, "does not hold", "gravity")
    >>> verdict_sentence([one, two, two])
    '1 of 3 claims holds, 2 do not hold. The 2 that are limited or fail have 1 cause.'
    """
    counts = verdict_counts(claims)
    verbs = {
        "holds": ("holds", "hold"),
        "holds in the paper's setting": (
            "holds in the paper's setting alone",
            "hold in the paper's setting alone",
        ),
        "does not hold": ("does not hold", "do not hold"),
        "cannot be told": ("cannot be told", "cannot be told"),
    }
    said = [
        f"{n} {verbs[verdict][n != 1]}" for verdict, n in counts.items() if n or verdict == "holds"
    ]
    first, *rest = said
    n, word = first.split(" ", 1)
    text = ", ".join([f"{n} of {len(claims)} claims {word}", *rest]) + "."
    caused = [claim for claim in claims if claim.cause]
    if caused:
        n_causes = len({claim.cause for claim in caused})
        are = "are" if len(caused) != 1 else "is"
        fail = "fail have" if len(caused) != 1 else "fails has"
        plural = "" if n_causes == 1 else "s"
        text += f" The {len(caused)} that {are} limited or {fail} {n_causes} cause{plural}."
    return text
