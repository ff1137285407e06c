"""All findings of the paper, and what our runs say of them."""

from __future__ import annotations

from papers.experiment import Claim
from papers.pubench.bias import bias
from papers.pubench.cost import cost
from papers.pubench.effectiveness import effectiveness
from papers.pubench.failures import failures
from papers.pubench.finding import Finding, claim_of
from papers.pubench.labels import labels
from papers.pubench.significance import significance
from papers.pubench.study import Study

SECTIONS = {
    "4.1 Effectiveness": effectiveness,
    "D.2.3 Failures": failures,
    "4.2 Cost": cost,
    "5.1 Label ratio": labels,
    "5.2 Biased labels": bias,
    "D.2.2 Significance": significance,
}


def findings() -> tuple[Finding, ...]:
    """Return the findings in the order of the paper."""
    return tuple(finding for section in SECTIONS.values() for finding in section())


def claims_on(study: Study) -> tuple[Claim, ...]:
    """Judge all findings."""
    return tuple(claim_of(finding, study) for finding in findings())
