"""Where models are cut to be compared: one threshold, equal queues, equal recall, or their own.

A cut that is looked up in the rows moves with them. What a row adds to a metric is then less what
it adds to the quantity that is held equal, times the slope of the one along the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np

from recoup._core.checks import FloatArray, brief
from recoup._core.notes import Note
from recoup.exceptions import InvalidInputError
from recoup.metrics.influence import (
    Influence,
    influence_of,
    point_effects,
    rate_slopes,
    standard_error,
)
from recoup.metrics.point import positive_rate, recall
from recoup.metrics.rates import Mixture
from recoup.metrics.spec import MetricSpec, metric_spec, specs
from recoup.scores.table import ScoreTable

# Fewer labeled rows beside the cut would not tell how steep a curve is there.
ENOUGH_LABELED = 30
# Beyond this many standard errors a tied score holds the cut where it is.
FIRM = 2.0
# Queues or recalls that differ by more than this share are told apart in a note.
UNEQUAL = 0.05


@dataclass(frozen=True)
class Cut:
    """What the models of a comparison have in common where scores become predictions.

    Attributes
    ----------
    kind : {"threshold", "queue", "recall", "best"}
        One threshold for all, the same number of flagged rows, the same recall, or the threshold
        that is best for each model by some metric.
    value : float or str
        The threshold, the number of rows, the recall, or the key of the metric.
    """

    kind: Literal["threshold", "queue", "recall", "best"]
    value: float | str

    def __str__(self) -> str:
        """Say it as a person would."""
        if self.kind == "best":
            return f"the best threshold of each model by {self.value}"
        if self.kind == "queue":
            return f"queue {self.value:,.0f} rows"
        return f"{self.kind} {self.value:.4g}"

    @property
    def argument(self) -> dict[str, float | str]:
        """The argument of :func:`recoup.compare` that asks for it."""
        return {"threshold" if self.kind == "best" else self.kind: self.value}

    @property
    def held(self) -> Callable[..., Any] | None:
        """The rate that is held equal; None where every model's threshold is given."""
        return {"queue": positive_rate, "recall": recall.from_rates}.get(self.kind)

    def target(self, table: ScoreTable, mixture: Mixture) -> float:
        """Where the rate that is held equal should be."""
        share = 1 / mixture.rows(table).sum() if self.kind == "queue" else 1.0
        return float(self.value) * float(share)


def read_cut(threshold: Any, queue: Any, recall: Any) -> Cut | None:
    """Check where models are to be compared; None where that was left open.

    Parameters
    ----------
    threshold : float, str or None
        One threshold, or the metric that each model's own is best for.
    queue : float or None
        How many rows, or which share of them, each model flags.
    recall : float or None
        Which share of the positives each model finds.

    Returns
    -------
    Cut or None
        A share of the rows is not yet turned into their number.
    """
    given = {"threshold": threshold, "queue": queue, "recall": recall}
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise InvalidInputError(
            f"compare needs models to be compared at one of threshold, queue and recall. "
            f"Got {' and '.join(named)}. Drop all but one."
        )
    if not named:
        return None
    if isinstance(threshold, str):
        if metric_spec(threshold, "compare").kind != "point":
            raise InvalidInputError(
                f"compare needs a metric of one threshold to choose thresholds by. Got "
                f"{threshold!r}, which is not. Choose among: "
                f"{', '.join(one.key for one in specs('point'))}."
            )
        return Cut("best", threshold)
    (name,) = named
    value = given[name]
    number = isinstance(value, Real) and not isinstance(value, bool) and np.isfinite(float(value))
    if name == "threshold" and not number:
        raise InvalidInputError(
            f"compare needs a finite threshold, or the name of a metric to maximise. "
            f"Got {brief(value)}."
        )
    if name == "queue" and not (number and value > 0):
        raise InvalidInputError(
            f"compare needs queue to be a number of rows, or a share of them below 1. "
            f"Got {brief(value)}. Pass 500 for 500 rows, 0.1 for a tenth of the rows."
        )
    if name == "recall" and not (number and 0 < value < 1):
        raise InvalidInputError(
            f"compare needs recall between 0 and 1: the share of the positives that each model "
            f"finds. Got {brief(value)}. Pass 0.8 for 80%."
        )
    return Cut(name, float(value))  # type: ignore[arg-type]


def in_rows(cut: Cut | None, table: ScoreTable, mixture: Mixture) -> Cut:
    """Turn a share of the rows into their number; by default as many as there are positives."""
    rows = float(mixture.rows(table).sum())
    if cut is None:
        return Cut("queue", float(mixture.pi) * rows)
    if cut.kind != "queue":
        return cut
    value = float(cut.value)
    if value >= max(rows, 1.0):
        raise InvalidInputError(
            f"compare needs a queue shorter than all {rows:,.6g} rows that are judged. "
            f"Got {value:,.6g}. Pass fewer rows, or a share such as 0.1."
        )
    return Cut("queue", value * rows if value < 1 else value)


def nearest_cut(cut: Cut, table: ScoreTable, mixture: Mixture) -> tuple[float, float, bool]:
    """Find the threshold at which a model comes nearest to what is held equal.

    Parameters
    ----------
    cut : Cut
        What is held equal.
    table : ScoreTable
        The counted rows of the model.
    mixture : Mixture
        Shares of positives that belong to the table.

    Returns
    -------
    threshold : float
    reached : float
        The number of rows, or the recall, at it.
    moves : bool
        Whether other rows would move the threshold. Where many rows share the score there, they
        would not.
    """
    assert cut.held is not None
    along = _along(cut.held, table, mixture)
    target = cut.target(table, mixture)
    # At least the highest score is flagged.
    place = 1 + int(np.argmin(np.abs(along[1:] - target)))
    threshold, reached = float(table.scores[::-1][place - 1]), float(along[place])
    below, above = along[along < reached - 1e-12], along[along > reached + 1e-12]
    room = [np.inf]
    room += [target - (reached + below.max()) / 2] if len(below) else []
    room += [(reached + above.min()) / 2 - target] if len(above) else []
    error = standard_error(table, _influence(cut.held, table, mixture, threshold))
    scale = float(cut.value) / target
    return threshold, reached * scale, bool(min(room) <= FIRM * error)


def point_influences(
    wanted: list[MetricSpec],
    table: ScoreTable,
    mixture: Mixture,
    threshold: float,
    held: Callable[..., Any] | None,
) -> dict[str, Influence | None]:
    """How much rows move threshold metrics, the threshold itself included if it moves.

    Parameters
    ----------
    wanted : list of MetricSpec
        Metrics of one threshold.
    table : ScoreTable
        The counted rows.
    mixture : Mixture
        Shares of positives that belong to the table.
    threshold : float
        Where scores become predictions.
    held : callable or None
        The rate, from ``(tpr, fpr, pi)``, that the threshold was looked up for in these rows; None
        for a threshold that stays.

    Returns
    -------
    dict of str to Influence or None
        By key of the metric. None for one that is the same at every such threshold; for all of
        them where these rows do not tell how the rate grows as the threshold falls.
    """
    alone = {spec.key: _influence(spec.formula, table, mixture, threshold) for spec in wanted}
    if held is None:
        return dict(alone)
    found: dict[str, Influence | None] = {}
    anchor = _influence(held, table, mixture, threshold)
    rates = _rates(table, threshold)
    rise = _rise(table, mixture, threshold)
    held_rise = float(np.dot(rate_slopes(held, rates, mixture), rise))
    if held_rise <= 0:
        return dict.fromkeys(alone)
    for spec in wanted:
        own = alone[spec.key]
        slope = float(np.dot(rate_slopes(spec.formula, rates, mixture), rise) / held_rise)
        whole = Influence(
            labeled=own.labeled - slope * anchor.labeled,
            unlabeled=own.unlabeled - slope * anchor.unlabeled,
            share=own.share - slope * anchor.share,
            known=own.known - slope * anchor.known,
        )
        constant = standard_error(table, whole) < 1e-4 * standard_error(table, own)
        found[spec.key] = None if constant else whole
    return found


def cut_notes(cut: Cut, reached: Mapping[str, float]) -> list[Note]:
    """Say what a reader must know about where the models were compared.

    Parameters
    ----------
    cut : Cut
        What the models have in common.
    reached : mapping of str to float
        The queue or the recall of each model, by its name.

    Returns
    -------
    list of Note
    """
    if cut.kind == "best":
        label = metric_spec(str(cut.value), "compare").label
        return [
            Note(
                "own-cuts",
                f"Each model has the threshold that is best for its {label} on these rows, so that "
                f"metrics at a threshold compare thresholds more than models: their differences "
                f"have no interval and no p-value. Compare at one queue, recall or threshold for "
                f"those.",
            )
        ]
    if reached and max(reached.values()) > (1 + UNEQUAL) * min(reached.values()):
        form = ",.0f" if cut.kind == "queue" else ".3f"
        shown = ", ".join(f"{name} {value:{form}}" for name, value in reached.items())
        return [
            Note(
                "unequal-cuts",
                f"Tied scores do not let every model be cut at {cut} ({shown}): differences at a "
                f"threshold are also those of the {cut.kind}.",
            )
        ]
    return []


def _influence(
    formula: Callable[..., Any], table: ScoreTable, mixture: Mixture, threshold: float
) -> Influence:
    rates = _rates(table, threshold)
    return influence_of(
        point_effects(formula, table, mixture, threshold),
        lambda moved: float(formula(*moved.true_rates(*rates), moved.pi)),
        table,
        mixture,
    )


def _rise(table: ScoreTable, mixture: Mixture, threshold: float) -> tuple[float, float]:
    """By how much the shares of labeled and unlabeled rows above a threshold grow at it.

    Both per unit of the share of the population above it. On the scale of normal quantiles the
    share of labeled rows is almost a straight line in that of the population (the ROC curve of two
    normal distributions is one), so that rows farther off can tell its slope, too.
    """
    from scipy.special import ndtr, ndtri

    sizes = table.effective_sizes
    on_labeled, on_unlabeled = rate_slopes(positive_rate, (0.5, 0.5), mixture)
    rate = _along(positive_rate, table, mixture)
    heads = np.append(0.0, table.heads("labeled"))
    place = _place(table, threshold)

    def quantile(share: Any, size: float) -> Any:
        return ndtri(np.clip(share, 0.5 / size, 1 - 0.5 / size))

    at, own = quantile(rate[place], sum(sizes)), quantile(heads[place], sizes[0])
    lowest, highest = quantile(np.array([0.0, 1.0]), sum(sizes))
    reach: float = sum(sizes) ** -0.2
    enough = min(ENOUGH_LABELED, sizes[0] / 2)
    while True:
        ends = np.clip([at - reach, at + reach], lowest, highest)
        above = np.interp(ndtr(ends), rate, heads)
        if (above[1] - above[0]) * sizes[0] >= enough or reach > highest - lowest:
            break
        reach *= 1.25
    slope = np.diff(quantile(above, sizes[0]))[0] / np.diff(ends)[0]
    labeled = float(slope * np.exp((at**2 - own**2) / 2))
    # What is flagged more is labeled or unlabeled: neither can be more than all of it.
    labeled = labeled if on_labeled <= 0 else min(labeled, 1 / on_labeled)
    return labeled, (1 - on_labeled * labeled) / on_unlabeled


def _along(formula: Callable[..., Any], table: ScoreTable, mixture: Mixture) -> FloatArray:
    """Return a rate at every score, highest first, after nothing flagged."""
    heads = (np.append(0.0, table.heads(group)) for group in ("labeled", "unlabeled"))
    return np.asarray(formula(*mixture.true_rates(*heads), mixture.pi), float)


def _place(table: ScoreTable, threshold: float) -> int:
    return len(table.scores) - int(np.searchsorted(table.scores, threshold, side="left"))


def _rates(table: ScoreTable, threshold: float) -> list[float]:
    place = _place(table, threshold)
    return [float(np.append(0.0, table.heads(group))[place]) for group in ("labeled", "unlabeled")]
