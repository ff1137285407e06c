"""A few rows checked by hand, which make every number true whatever the labels are."""

from recoup.audit.answers import Audit
from recoup.audit.plan_from import plan_from
from recoup.audit.planning import plan
from recoup.audit.plans import AuditPlan
from recoup.audit.results import AuditedEstimate, AuditedEvaluation, LabelsVerdict, RightLabels

__all__ = [
    "Audit",
    "AuditPlan",
    "AuditedEstimate",
    "AuditedEvaluation",
    "LabelsVerdict",
    "RightLabels",
    "plan",
    "plan_from",
]
