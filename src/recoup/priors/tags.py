"""PriorTags: what users choose an estimator by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class PriorTags:
    """What users choose an estimator by.

    Parameters
    ----------
    key : str
        Its name in ``estimate(method=...)``, ``recoup prior --method`` and tables.
    reads : {"scores", "features"}
        What ``fit`` looks at: honest scores of a classifier, or the features themselves.
    assumes : str
        What must hold, beside labels that are a random sample of the positives.
    cost : str
        How time grows with the number n of rows, after the classifier.
    source : str
        Where it was published.
    finds_beta : bool, default=False
        Whether it estimates beta too.
    takes_beta : bool, default=False
        Whether it has a parameter ``beta`` for what is known about it.
    selection : {"SCAR", "SAR"}, default="SCAR"
        What the labels may depend on. ``"SCAR"``: they must be a random sample of the positives.
        ``"SAR"``: they may favor some positives over others.
    wraps : bool, default=False
        Whether it needs another estimator to work with.
    """

    key: str
    reads: Literal["scores", "features"]
    assumes: str
    cost: str
    source: str
    finds_beta: bool = False
    takes_beta: bool = False
    selection: Literal["SCAR", "SAR"] = "SCAR"
    wraps: bool = False
