"""Findings: what the paper says, the rule that decides, and how both protocols are heard."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from papers.experiment import Claim, Effect, Verdict
from papers.pubench.study import Missing, Study, View

NOISE = "seeds leave it open"
LACKING = "runs are missing"


class Judgement(NamedTuple):
    """What a rule says of the runs of one view.

    Attributes
    ----------
    effect : Effect or None
        The number that decides; None where runs are missing.
    verdict : str
        What follows.
    ours : str
        More figures, or the number again.
    note : str
        What to bear in mind.
    """

    effect: Effect | None
    verdict: Verdict
    ours: str = ""
    note: str = ""


@dataclass(frozen=True)
class Finding:
    """Something the paper found, with the rule that decides about it.

    Attributes
    ----------
    text : str
        What the paper says, in our words.
    setting : str
        Where: datasets, labels, and the section or figure.
    rule : str
        What must come out, and what is drawn again for the interval.
    published : str
        The same number from the paper's own tables where they have it.
    cause : str
        Key of what is behind it if it fails, shared by findings with one root.
    judge : callable
        Applies the rule to a view.
    beyond : bool, default=True
        Whether the honest protocol is asked as well.
    reads_f1 : bool, default=False
        Whether it depends on which F1 is meant.
    note : str
        What to bear in mind whatever comes out.
    """

    text: str
    setting: str
    rule: str
    published: str
    cause: str
    judge: Callable[[View], Judgement]
    beyond: bool = True
    reads_f1: bool = False
    note: str = ""


def heard(finding: Finding, view: View) -> Judgement:
    """Apply a rule; where runs are missing, nothing can be told."""
    try:
        return finding.judge(view)
    except Missing as missing:
        return Judgement(None, "cannot be told", note=f"Missing: {missing}.")


def claim_of(finding: Finding, study: Study) -> Claim:
    """Judge a finding by the paper's protocol, then ask the honest one whether it holds beyond."""
    found = heard(finding, study.paper)
    verdict = found.verdict
    reasons = [found.note, finding.note]
    if finding.reads_f1 and found.effect is not None:
        other = heard(finding, study.paper.with_f1("f1"))
        if other.verdict != verdict:
            reasons.append(_told("With F1 of the positive class in place of macro-F1", other))
    if finding.beyond:
        asked = [(view, heard(finding, view)) for view in study.beyond]
        if verdict == "holds" and any(one.verdict == "does not hold" for _, one in asked):
            verdict = "holds in the paper's setting"
        reasons += [_told(f"By {view.name}", one) for view, one in asked if one.effect is not None]
    return Claim(
        text=finding.text,
        setting=finding.setting,
        rule=finding.rule,
        published=finding.published,
        ours=found.ours or (found.effect.text if found.effect else "no result"),
        effect=found.effect,
        verdict=verdict,
        cause=_cause(finding, found, verdict),
        reason=" ".join(reason for reason in reasons if reason),
    )


def _told(where: str, found: Judgement) -> str:
    number = f", {found.effect.text}" if found.effect else ""
    return f"{where}: {found.verdict}{number}."


def _cause(finding: Finding, found: Judgement, verdict: Verdict) -> str:
    if verdict == "holds":
        return ""
    if verdict == "cannot be told":
        return NOISE if found.effect else LACKING
    return finding.cause
