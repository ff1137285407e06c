"""PriorEstimate: how many positives hide among the unlabeled rows, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from recoup._core.checks import FloatArray
from recoup._core.notes import Note
from recoup._core.results import html_facts, html_table, make_frame, to_plain
from recoup._core.text import DASH, show_number, show_percent, show_range
from recoup.priors.conversions import label_frequency, pooled_prior
from recoup.priors.labels import LabelSelection

if TYPE_CHECKING:
    import pandas as pd

    from recoup.plot import PriorDisplay


@dataclass(frozen=True, eq=False)
class PriorCurve:
    """The picture that an estimator reads its answer from.

    Attributes
    ----------
    x : ndarray of shape (n,)
        What the curves run over.
    lines : dict of str to ndarray of shape (n,)
        Named curves; the first is the main one.
    x_label, y_label : str
        What the axes show.
    marker : float
        Where on x the estimate is read off.
    level : float, optional
        Height of a threshold that the method compares with.
    """

    x: FloatArray
    lines: Mapping[str, FloatArray]
    x_label: str
    y_label: str
    marker: float = math.nan
    level: float | None = None


@dataclass(frozen=True)
class Derived:
    """A number that follows from alpha and beta, with its interval.

    Attributes
    ----------
    value : float
        The number.
    low, high : float
        Its interval, at the confidence of the estimate; nan where the estimate has none.
    """

    value: float
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True)
class Finding:
    """What an estimator's own file returns; the base turns it into a PriorEstimate.

    Parameters
    ----------
    alpha : float
        The estimate before clipping to [0, 1].
    beta : float, default=1.0
        Share of true positives among the labels, from estimators that find it.
    curve : PriorCurve, optional
        The curve that alpha was read from.
    converged : bool, default=True
        False when the method failed and alpha is a fallback.
    warnings : tuple of Note, default=()
        Reasons to doubt the estimate, as sentences.
    upper_limit : float, default=nan
        One-sided limit that alpha stays below, where the method proves one.
    kappa_1 : float, default=nan
        Largest share of the unlabeled rows that may be distributed as the labeled ones.
    kappa_2 : float, default=nan
        Largest share of the labeled rows that may be distributed as the unlabeled ones.
    members : dict of str to float, optional
        Other estimates that the method computes on its way, by name.
    draws : ndarray, optional
        Plausible values of alpha, or of alpha and beta together, from a method that needs no
        drawn rows to know how sure it is.
    """

    alpha: float
    beta: float = 1.0
    curve: PriorCurve | None = None
    converged: bool = True
    warnings: tuple[Note, ...] = ()
    upper_limit: float = math.nan
    kappa_1: float = math.nan
    kappa_2: float = math.nan
    members: dict[str, float] | None = None
    draws: FloatArray | None = None


@dataclass(frozen=True, eq=False, repr=False)
class PriorEstimate:
    """What an estimator found; ``evaluate``, ``compare`` and the metrics take it as ``alpha``.

    Attributes
    ----------
    alpha : float
        Share of positives among the unlabeled rows.
    beta : float
        Share of true positives among the labeled rows; 1.0 unless it was estimated.
    interval : (float, float) or None
        Where alpha lies, at ``confidence``.
    draws : ndarray of shape (n,) or (n, 2), optional
        Plausible values of alpha, or of alpha and beta together.
    method : str
        Key of the estimator.
    converged : bool
        False when the method failed and alpha is a fallback, or when its answer is ambiguous.
    warnings : tuple of Note
        Reasons to doubt the estimate.
    curve : PriorCurve, optional
        What :meth:`plot` draws.
    members : dict of str to float
        What each member of a combination found.
    n_labeled : int
        Number of labeled rows.
    n_unlabeled : int
        Number of unlabeled rows.
    kappa_1 : float
        Largest share of the unlabeled rows that may be distributed as the labeled ones; nan where
        the method does not estimate it.
    kappa_2 : float
        Largest share of the labeled rows that may be distributed as the unlabeled ones; nan where
        the method does not estimate it.
    upper_limit : float
        One-sided limit that alpha stays below at ``confidence``, where a method proves one.
    identified : (float, float) or None
        Where alpha lies by the scores alone, at ``confidence``: from 0 to the largest share that
        leaves enough unlabeled rows at all scores. Any estimate inside it adds the assumption
        that some scores are reached by positives alone. None without scores, or where labels
        may favor some positives.
    auc_pu : float
        Area under the ROC curve of labeled against unlabeled rows: how well the scores tell
        them apart.
    transform : str
        Where the scores come from: the name of a classifier, "given scores", or "features".
    interval_method : str or None
        How the interval was made, and so which sources of error it covers.
    confidence : float
        Level of the interval.
    seconds : float
        Time that the estimate took.
    labels : LabelSelection or None
        What the features tell about which positives get a label. None without features, and for
        estimators that do not look.
    """

    alpha: float
    beta: float = 1.0
    interval: tuple[float, float] | None = None
    draws: FloatArray | None = None
    method: str = ""
    converged: bool = True
    warnings: tuple[Note, ...] = ()
    curve: PriorCurve | None = None
    members: Mapping[str, float] = field(default_factory=dict)
    n_labeled: int = 0
    n_unlabeled: int = 0
    kappa_1: float = math.nan
    kappa_2: float = math.nan
    upper_limit: float = math.nan
    identified: tuple[float, float] | None = None
    auc_pu: float = math.nan
    transform: str = "given scores"
    interval_method: str | None = None
    confidence: float = 0.95
    seconds: float = 0.0
    labels: LabelSelection | None = None

    def __post_init__(self) -> None:
        """Let estimators of other packages say their warnings as plain texts."""
        object.__setattr__(self, "warnings", Note.each(self.warnings))

    @property
    def beta_interval(self) -> tuple[float, float] | None:
        """Where beta lies, at ``confidence``; None where it was not estimated."""
        if self.draws is None or self.draws.ndim == 1 or not np.ptp(self.draws[:, 1]):
            return None
        low, high = np.quantile(self.draws[:, 1], self._tails)
        return min(float(low), self.beta), max(float(high), self.beta)

    @property
    def hidden(self) -> Derived:
        """How many of the unlabeled rows are positive."""
        low, high = self.interval if self.interval is not None else (math.nan, math.nan)
        n = self.n_unlabeled
        return Derived(self.alpha * n, low * n, high * n)

    @property
    def pi(self) -> Derived:
        """Share of positives in the population, where all rows are one sample of it.

        The share of rows with a label is then luck too, and is part of the interval. Where
        labeled and unlabeled rows were sampled apart, it is alpha. NaN if no rows were counted.
        """
        n_labeled, n_unlabeled = self.n_labeled, self.n_unlabeled
        if not n_labeled + n_unlabeled:
            return Derived(math.nan)
        value = pooled_prior(self.alpha, n_labeled, n_unlabeled, self.beta)
        if self.interval is None:
            return Derived(value)
        ends = pooled_prior(np.array(self.interval), n_labeled, n_unlabeled, self.beta)
        if self.draws is not None and self.draws.ndim == 2:
            alphas, betas = self.draws.T
            ends = np.quantile(pooled_prior(alphas, n_labeled, n_unlabeled, betas), self._tails)
        # Both sources of error are independent: their squares add up, on either side.
        n = n_labeled + n_unlabeled
        luck = (self.beta - self.alpha) * math.sqrt(n_labeled * n_unlabeled / n**3)
        reach = luck * NormalDist().inv_cdf(self._tails[1])
        low, high = (
            math.hypot(max(float(gap), 0.0), reach) for gap in (value - ends[0], ends[1] - value)
        )
        return Derived(value, max(value - low, 0.0), min(value + high, 1.0))

    @property
    def label_frequency(self) -> float:
        """Share of the positives that are labeled; NaN if no rows were counted."""
        if not self.n_labeled + self.n_unlabeled:
            return math.nan
        return float(label_frequency(self.alpha, self.n_labeled, self.n_unlabeled, self.beta))

    @property
    def _tails(self) -> tuple[float, float]:
        return (1 - self.confidence) / 2, (1 + self.confidence) / 2

    @property
    def scores_allow(self) -> str:
        """What the scores say of alpha without any assumption, as a sentence; "" without scores."""
        if self.identified is None:
            return ""
        return (
            f"The scores alone allow any alpha from {show_range(*self.identified, '.2g')}. Every "
            f"estimate adds the assumption that some scores are reached by positives alone."
        )

    def __repr__(self) -> str:
        """Show the answer on one line."""
        limits = "" if self.interval is None else " [{:.3f}, {:.3f}]".format(*self.interval)
        allowed = ""
        if self.identified is not None:
            allowed = f", scores allow {show_range(*self.identified, '.2g')}"
        return (
            f"PriorEstimate(alpha={self.alpha:.3f}{limits}, beta={self.beta:.3f}, "
            f"method={self.method!r}, n={self.n_labeled}+{self.n_unlabeled}{allowed})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, texts and lists.

        Returns
        -------
        dict
            By name of the attribute or property; the curve and the draws are left out, and
            ``labels`` where nobody looked.
        """
        names = (
            "alpha", "interval", "identified", "beta", "beta_interval", "pi", "hidden", "method",
            "members", "warnings", "converged", "label_frequency", "kappa_1", "kappa_2",
            "upper_limit", "auc_pu", "transform", "interval_method", "confidence", "n_labeled",
            "n_unlabeled", "seconds",
        )  # fmt: skip
        found = {name: getattr(self, name) for name in names}
        found |= {name: vars(found[name]) for name in ("pi", "hidden")}
        plain: dict[str, Any] = to_plain(found)
        if self.labels is not None:
            plain["labels"] = self.labels.to_dict()
        return plain

    def to_frame(self) -> pd.DataFrame:
        """Return one row for the estimate and one for each member.

        Returns
        -------
        pandas.DataFrame
            With columns method, alpha, beta, low and high; the last two are the interval.
        """
        low, high = self.interval if self.interval is not None else (math.nan, math.nan)
        n_members = len(self.members)
        return make_frame(
            {
                "method": [self.method, *self.members],
                "alpha": [self.alpha, *self.members.values()],
                "beta": [self.beta] + [math.nan] * n_members,
                "low": [low] + [math.nan] * n_members,
                "high": [high] + [math.nan] * n_members,
            }
        )

    def plot(self, ax: Any = None) -> PriorDisplay:
        """Draw what the estimate was read from, and what the members of a combination found.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.

        Returns
        -------
        PriorDisplay
        """
        from recoup.plot import PriorDisplay

        curve = self.curve
        shown: dict[str, Any] = {} if curve is None else {
            "x": curve.x, "lines": dict(curve.lines), "x_label": curve.x_label,
            "y_label": curve.y_label, "marker": curve.marker, "level": curve.level,
        }  # fmt: skip
        return PriorDisplay(
            alpha=self.alpha,
            interval=self.interval,
            members=dict(self.members),
            name=self.method,
            **shown,
        ).plot(ax)

    def _repr_html_(self) -> str:
        low, high = self.interval or (math.nan, math.nan)
        facts = {
            "alpha: positives among unlabeled rows": show_number(self.alpha),
            f"{show_percent(self.confidence)} interval": show_range(low, high),
        }
        if self.identified is not None:
            facts["the scores alone allow"] = show_range(*self.identified)
        if self.n_labeled and self.n_unlabeled:
            hidden, pi = self.hidden, self.pi
            facts |= {
                "hidden positives": f"{hidden.value:,.0f}",
                "their interval": show_range(hidden.low, hidden.high, ",.0f"),
                "pi: positives among all rows": show_number(pi.value),
                "interval of pi": show_range(pi.low, pi.high),
                "share of the positives that is labeled": show_number(self.label_frequency),
            }
        facts |= {
            "beta: positives among labeled rows": show_number(self.beta),
            "interval of beta": show_range(*(self.beta_interval or (math.nan, math.nan))),
            "largest alpha that the method allows": show_number(self.upper_limit),
            "read off": self.transform,
        }
        doubts = [] if self.converged else ["The method did not converge."]
        page = html_facts(
            {name: fact for name, fact in facts.items() if fact != DASH},
            f"Estimate by {self.method or 'an unnamed method'}, from {self.n_labeled:,} labeled "
            f"and {self.n_unlabeled:,} unlabeled rows",
            [
                *doubts,
                *self.warnings,
                *([self.scores_allow] if self.scores_allow else []),
                *([self.labels.text] if self.labels is not None else []),
            ],
        )
        if not self.members:
            return page
        ends = min(self.members.values()), max(self.members.values())
        columns = {
            "method": list(self.members),
            "alpha": [show_number(value) for value in self.members.values()],
        }
        return page + html_table(columns, f"What its members found: {show_range(*ends)}")
