"""TopRows: how good the rows with the highest scores are, as many as somebody can handle."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from recoup._core.constraints import WholeNumber
from recoup._core.results import html_table, make_frame, to_plain
from recoup._core.text import show_count, show_digits, show_number, show_range
from recoup.exceptions import InvalidInputError
from recoup.metrics.spec import metric_spec

if TYPE_CHECKING:
    import pandas as pd

    from recoup.evaluation.results import Evaluation

CALLER = "Evaluation.at_top"
KEYS = ("precision", "recall")


@dataclass(frozen=True)
class TopMetric:
    """Precision or recall of the rows with the highest scores.

    Attributes
    ----------
    key : str
        Name of the metric in code.
    label : str
        Name of the metric for people.
    value : float
        The recovered value; of tied rows, those that are taken are a random choice.
    lower : float
        Lower limit of its confidence interval.
    upper : float
        Upper limit of its confidence interval.
    tie_lower : float
        The value if the worst of the tied rows were taken; the value itself without ties.
    tie_upper : float
        The value if the best of them were taken.
    """

    key: str
    label: str
    value: float
    lower: float
    upper: float
    tie_lower: float
    tie_upper: float

    def __repr__(self) -> str:
        """Show the value with its interval."""
        return f"TopMetric({self.key}: {self.value:.4g} [{self.lower:.4g}, {self.upper:.4g}])"


@dataclass(frozen=True, repr=False)
class TopRows:
    """The rows with the highest scores, as many as somebody can handle.

    Made by :meth:`Evaluation.at_top`. ``top["precision"]`` is a :class:`TopMetric`.

    Attributes
    ----------
    k : int
        How many rows.
    threshold : float
        Score of the last of them.
    above : float
        Rows with a higher score: they are among them for certain.
    tied : float
        Rows with this score; some of them are taken where they are more than there is room for.
    metrics : dict of str to TopMetric
        Precision and recall.
    confidence : float
        Level of the intervals.
    """

    k: int
    threshold: float
    above: float
    tied: float
    metrics: dict[str, TopMetric]
    confidence: float

    def __getitem__(self, key: str) -> TopMetric:
        """Look a metric up by its key."""
        if key not in self.metrics:
            raise KeyError(f"TopRows has no {key!r}. It has {', '.join(self.metrics)}.")
        return self.metrics[key]

    @property
    def cuts_ties(self) -> bool:
        """Whether only some of the rows with the last score are taken."""
        return self.above + self.tied > self.k

    def __repr__(self) -> str:
        """Show both metrics with their intervals."""
        shown = ", ".join(
            f"{key}={one.value:.3g} [{one.lower:.3g}, {one.upper:.3g}]"
            for key, one in self.metrics.items()
        )
        return f"TopRows({self.k:,}: {shown})"

    def sentence(self) -> str:
        """Say for people how good these rows are.

        Returns
        -------
        str
            One or two sentences.
        """
        parts = [
            f"{one.label} {show_number(one.value)} ({show_range(one.lower, one.upper)})"
            for one in self.metrics.values()
        ]
        said = f"Of the {show_count(self.k)} rows with the highest scores: {', '.join(parts)}."
        if not self.cuts_ties:
            return said
        ends = [
            f"{one.label} {show_range(one.tie_lower, one.tie_upper)}"
            for one in self.metrics.values()
        ]
        return (
            f"{said} {show_count(self.tied)} rows share the score "
            f"{show_digits(self.threshold, 4)}, of which {show_count(self.k - self.above)} are "
            f"taken: by which ones, {', '.join(ends)}."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per metric.

        Returns
        -------
        pandas.DataFrame
            With the attributes of :class:`TopMetric` as columns.
        """
        rows = [asdict(one) for one in self.metrics.values()]
        return make_frame({name: [row[name] for row in rows] for name in rows[0]})

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON.

        Returns
        -------
        dict
            By name of the attribute, with the sentence.
        """
        plain: dict[str, Any] = to_plain(asdict(self) | {"sentence": self.sentence()})
        return plain

    def _repr_html_(self) -> str:
        columns = {
            "metric": [one.label for one in self.metrics.values()],
            "recovered": [show_number(one.value) for one in self.metrics.values()],
            "interval": [show_range(one.lower, one.upper) for one in self.metrics.values()],
        }
        if self.cuts_ties:
            columns["by tied rows"] = [
                show_range(one.tie_lower, one.tie_upper) for one in self.metrics.values()
            ]
        return html_table(columns, self.sentence())


def rows_at_top(evaluation: Evaluation, k: Any) -> TopRows:
    """Judge the rows with the highest scores; see :meth:`Evaluation.at_top`.

    Parameters
    ----------
    evaluation : Evaluation
        Whose rows are judged.
    k : int
        How many rows.

    Returns
    -------
    TopRows
    """
    WholeNumber(least=1).check(k, "k", CALLER)
    table = evaluation.given.exact
    rows = evaluation.mixture.rows(table)[::-1]
    heads = np.cumsum(rows)
    if k > heads[-1] * (1 + 1e-12):
        raise InvalidInputError(
            f"{CALLER} needs no more rows than are judged. Got {k:,} of {heads[-1]:,.0f}."
        )
    place = int(np.searchsorted(heads, k * (1 - 1e-12), side="left"))
    above, tied = float(heads[place] - rows[place]), float(rows[place])
    threshold = float(table.scores[::-1][place])
    share = (k - above) / tied
    # Rows above the ties alone, and with all of them. Where none lies above, they have nothing.
    cuts = [float(np.nextafter(threshold, np.inf)), threshold]
    limits = _values_at(evaluation, cuts)
    total = evaluation.pi * heads[-1]
    if evaluation.audit is not None:
        total = evaluation.audit.hidden.audited + (
            evaluation.audit.beta * evaluation.n_labeled
            if evaluation.scheme == "single-sample"
            else 0.0
        )
    # Positives among the flagged rows, from precision and from recall: value, lower, upper.
    scale = {"precision": (above, above + tied), "recall": (1.0, 1.0)}
    size = {"precision": float(k), "recall": 1.0}
    found = {}
    for key in KEYS:
        spec, pair = metric_spec(key, CALLER), limits[key]
        ends = [
            sum(
                weight * of * (one[i] if weight * of else 0.0)
                for weight, of, one in zip((1 - share, share), scale[key], pair, strict=True)
            )
            / size[key]
            for i in range(3)
        ]
        value, low, high = (spec.clip(float(end)) for end in ends)
        found[key] = TopMetric(key, spec.label, value, low, high, value, value)
    if above + tied > k:
        found = _with_ties(found, limits, k, above, tied, total)
    return TopRows(int(k), threshold, above, tied, found, evaluation.confidence)


def _values_at(
    evaluation: Evaluation, cuts: list[float]
) -> dict[str, list[tuple[float, float, float]]]:
    """Return value, lower and upper limit of each metric at each threshold."""
    if evaluation.audit is None:
        points = [evaluation.at(cut) for cut in cuts]
        return {
            key: [(one[key].recovered, one[key].lower, one[key].upper) for one in points]
            for key in KEYS
        }
    from recoup.evaluation.certify import by_answers

    found: dict[str, list[tuple[float, float, float]]] = {key: [] for key in KEYS}
    for cut in cuts:
        judge = by_answers(evaluation, np.array([cut]))
        for key in KEYS:
            formula = metric_spec(key, CALLER).formula
            if not len(judge.thresholds):
                found[key].append((0.0, 0.0, 0.0))
                continue
            low, high = judge.interval(formula, 0, evaluation.confidence)
            found[key].append((float(judge.values(formula)[0]), low, high))
    return found


def _with_ties(
    found: dict[str, TopMetric],
    limits: dict[str, list[tuple[float, float, float]]],
    k: int,
    above: float,
    tied: float,
    total: float,
) -> dict[str, TopMetric]:
    """Add what the worst and the best choice among tied rows would give."""
    sure = above * limits["precision"][0][0] if above else 0.0
    more = max((above + tied) * limits["precision"][1][0] - sure, 0.0)
    room = k - above
    ends = sure + max(room - (tied - more), 0.0), sure + min(room, more)
    per = {"precision": float(k), "recall": total}
    return {
        key: replace(
            one,
            tie_lower=min(ends[0] / per[key], one.value),
            tie_upper=max(ends[1] / per[key], one.value),
        )
        for key, one in found.items()
    }
