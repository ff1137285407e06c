"""LabelSelection: what features tell about which positives get a label."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from recoup._core.checks import FloatArray
from recoup._core.results import html_table, make_frame, to_plain
from recoup._core.text import show_number, show_p

if TYPE_CHECKING:
    import pandas as pd

LabelCode: TypeAlias = Literal["random", "kinds", "tilt", "cannot-tell"]
UNCHECKED = (
    "Whether labels are a random sample of the positives cannot be checked from these data; an "
    "audit of about 120 rows would tell."
)


@dataclass(frozen=True)
class Kind:
    """A group of labeled rows that are alike, and the hidden positives that are like them.

    Attributes
    ----------
    n_labeled : int
        Labeled rows of this kind.
    alpha : float
        Share of the unlabeled rows that are positives of this kind.
    label_frequency : float
        Share of the positives of this kind that are labeled.
    low : float
        Lower limit of that share, at 95%.
    high : float
        Upper limit of that share, at 95%.
    """

    n_labeled: int
    alpha: float
    label_frequency: float
    low: float
    high: float


@dataclass(frozen=True, eq=False, repr=False)
class LabelSelection:
    """What features tell about which positives get a label.

    Attributes
    ----------
    code : {"random", "kinds", "tilt", "cannot-tell"}
        ``"kinds"``: kinds of positives are labeled at different rates. ``"tilt"``: labels favor
        positives by how positive they look. ``"cannot-tell"``: nothing was found, which is no
        evidence that labels are random. ``"random"`` is never concluded from labels and features,
        for no data without checked rows can show it; somebody has said so.
    p_value : float
        The share of real problems with random labels that look as little random, judged by
        trees that had not seen their datasets. NaN where nobody looked.
    kinds : tuple of Kind
        The kinds that were looked at, also where they do not differ; empty if one was found.
    text : str
        The finding in plain words.
    tilt_p_value : float
        The same for labels that favor clear or doubtful positives.
    propensity : ndarray of shape (n,) or None
        P(labeled | positive, x) of each row, from the rates of the kinds; for
        ``evaluate(propensity=)``. None unless kinds were found.
    """

    code: LabelCode
    p_value: float
    kinds: tuple[Kind, ...] = ()
    text: str = ""
    tilt_p_value: float = math.nan
    propensity: FloatArray | None = field(default=None)

    def __repr__(self) -> str:
        """Show the finding on one line."""
        rates = ", ".join(f"{kind.label_frequency:.2f}" for kind in self.kinds)
        shown = f", label frequencies {rates}" if rates else ""
        return f"LabelSelection({self.code!r}, p={self.p_value:.3g}{shown})"

    def __str__(self) -> str:
        """Say it in sentences."""
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return plain values.

        Returns
        -------
        dict
            By name of the attribute; the propensities are left out.
        """
        plain: dict[str, Any] = to_plain(
            {
                "code": self.code,
                "p_value": self.p_value,
                "kinds": [asdict(kind) for kind in self.kinds],
                "tilt_p_value": self.tilt_p_value,
                "text": self.text,
            }
        )
        return plain

    def to_frame(self) -> pd.DataFrame:
        """Return one row per kind.

        Returns
        -------
        pandas.DataFrame
            With columns n_labeled, alpha, label_frequency, low and high.
        """
        names = ("n_labeled", "alpha", "label_frequency", "low", "high")
        return make_frame({name: [getattr(kind, name) for kind in self.kinds] for name in names})

    def _repr_html_(self) -> str:
        columns = {
            "labeled rows": [f"{kind.n_labeled:,}" for kind in self.kinds],
            "alpha of this kind": [show_number(kind.alpha) for kind in self.kinds],
            "share labeled": [show_number(kind.label_frequency) for kind in self.kinds],
        }
        return html_table(columns, f"{self.text} (p {show_p(self.p_value)})")
