"""Pictures straight from the rows of a store: what a learner's figures depend on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from recoup._core.checks import FloatArray, brief, did_you_mean
from recoup.bench.result_array import Cell, ResultArray, average, label_of, over_seeds, result_array
from recoup.exceptions import InvalidInputError
from recoup.plot.bench import (
    LabelFrequencyDisplay,
    MechanismDisplay,
    RadarDisplay,
    TradeOffDisplay,
)

PROFILE = ("accuracy", "precision", "recall", "f1", "roc_auc")

Row = Mapping[str, Any]


def label_frequency_display(
    rows: Iterable[Row],
    dataset: str,
    metric: str = "accuracy",
    *,
    protocol: str = "honest",
    learners: Sequence[str] | None = None,
) -> LabelFrequencyDisplay:
    """Show a metric over the share of positives with a label, one standard deviation around it.

    Parameters
    ----------
    rows : iterable of mapping
        Of a store. They may differ in label frequency, learner and seed; select one scheme and
        one mechanism.
    dataset : str
        Of which dataset.
    metric : str, default="accuracy"
        A column of the rows.
    protocol : str, default="honest"
        How weights were chosen.
    learners : sequence of str, optional
        Which to show; by default all.

    Returns
    -------
    LabelFrequencyDisplay
        To be drawn with ``plot()``.
    """
    caller = "label_frequency_display"
    grid = _grid(rows, dataset, metric, protocol, learners, caller)
    _one_of_each(grid.cells, ("scheme", "mechanism", "noise"), caller)
    mean, std = over_seeds(grid.values)
    return LabelFrequencyDisplay(
        label_frequencies=np.array([cell.label_frequency for cell in grid.cells]),
        values={name: mean[:, k] for k, name in enumerate(grid.learners)},
        lower={name: mean[:, k] - std[:, k] for k, name in enumerate(grid.learners)},
        upper={name: mean[:, k] + std[:, k] for k, name in enumerate(grid.learners)},
        name=label_of(metric),
    )


def mechanism_display(
    rows: Iterable[Row],
    dataset: str,
    metric: str = "f1",
    *,
    few: float,
    many: float | None = None,
    protocol: str = "honest",
    learners: Sequence[str] | None = None,
) -> MechanismDisplay:
    """Show a metric under each labeling mechanism, for few and for many labels.

    Parameters
    ----------
    rows : iterable of mapping
        Of a store, of one scheme.
    dataset : str
        Of which dataset.
    metric : str, default="f1"
        A column of the rows.
    few, many : float
        Label frequencies of the bars and, if there are any, of the marks.
    protocol, learners
        As for :func:`label_frequency_display`.

    Returns
    -------
    MechanismDisplay
    """
    from recoup._core.registry import registered

    caller = "mechanism_display"
    kept = list(rows)
    grid = _grid(kept, dataset, metric, protocol, learners, caller)
    _one_of_each(grid.cells, ("scheme", "noise"), caller)
    mechanisms = list(dict.fromkeys(cell.mechanism for cell in grid.cells))
    # Labels at random come first, and the others after them by name.
    mechanisms.sort(key=lambda name: (name != "scar", name))
    mean, std = over_seeds(grid.values)

    def at(frequency: float, values: FloatArray) -> FloatArray:
        found = np.full((len(mechanisms), len(grid.learners)), np.nan)
        for place, cell in enumerate(grid.cells):
            if cell.label_frequency == frequency:
                found[mechanisms.index(cell.mechanism)] = values[place]
        if np.isnan(found).all():
            known = sorted({cell.label_frequency for cell in grid.cells})
            raise InvalidInputError(
                f"{caller} needs label frequencies that the rows have. Got {brief(frequency)}; "
                f"the rows of {dataset} have {brief(known, 200)}."
            )
        return found

    keys = {row["learner"]: row.get("key", row["learner"]) for row in kept}
    known = registered("learners")
    made_for_bias = [
        place
        for place, name in enumerate(grid.learners)
        if keys[name] in known and known[keys[name]].tags.selection == "SAR"
    ]
    return MechanismDisplay(
        names=grid.learners,
        mechanisms=mechanisms,
        bars=at(few, mean),
        errors=at(few, std) if np.isfinite(std).any() else None,
        marks=None if many is None else at(many, mean),
        bars_name=f"c = {few:g}",
        marks_name="" if many is None else f"c = {many:g}",
        shaded=made_for_bias,
        name=f"{label_of(metric)} on {dataset}",
    )


def trade_off_display(
    rows: Iterable[Row],
    dataset: str,
    metric: str = "f1",
    *,
    protocol: str = "honest",
    learners: Sequence[str] | None = None,
    memory: str = "peak_memory",
) -> TradeOffDisplay:
    """Show time and memory of each learner beside a metric, as means over the rows of a dataset.

    Parameters
    ----------
    rows : iterable of mapping
        Of a store.
    dataset : str
        Of which dataset.
    metric : str, default="f1"
        A column of the rows.
    protocol, learners
        As for :func:`label_frequency_display`.
    memory : {"peak_memory", "peak_gpu_memory"}
        Which memory sets the size of a point.

    Returns
    -------
    TradeOffDisplay
    """
    kept = list(rows)
    columns = {
        name: _grid(kept, dataset, name, protocol, learners, "trade_off_display")
        for name in (metric, "seconds", memory)
    }
    mean = {name: average(grid.values, axes=(0, 2)) for name, grid in columns.items()}
    return TradeOffDisplay(
        names=columns[metric].learners,
        seconds=mean["seconds"],
        values=mean[metric],
        memory=mean[memory],
        name=f"{label_of(metric)} on {dataset}",
    )


def radar_display(
    rows: Iterable[Row],
    dataset: str,
    metrics: Sequence[str] = PROFILE,
    *,
    protocol: str = "honest",
    learners: Sequence[str] | None = None,
    low: float = 0.0,
) -> RadarDisplay:
    """Show several metrics of each learner, as means over the rows of a dataset.

    Parameters
    ----------
    rows : iterable of mapping
        Of a store.
    dataset : str
        Of which dataset.
    metrics : sequence of str
        Columns of the rows; by default the five that PU-Bench shows.
    protocol, learners
        As for :func:`label_frequency_display`.
    low : float, default=0.0
        What the center stands for.

    Returns
    -------
    RadarDisplay
    """
    kept = list(rows)
    grids = [_grid(kept, dataset, name, protocol, learners, "radar_display") for name in metrics]
    means = np.array([average(grid.values, axes=(0, 2)) for grid in grids])
    return RadarDisplay(
        metrics=[label_of(name) for name in metrics],
        values={name: means[:, k] for k, name in enumerate(grids[0].learners)},
        low=low,
        name=dataset,
    )


def _grid(
    rows: Iterable[Row],
    dataset: str,
    metric: str,
    protocol: str,
    learners: Sequence[str] | None,
    caller: str,
) -> ResultArray:
    """Select a dataset and learners, and arrange them."""
    everything = list(rows)
    for what, wanted in (("dataset", [dataset]), ("learner", learners or [])):
        known = sorted({str(row.get(what)) for row in everything})
        for name in wanted:
            if name not in known:
                raise InvalidInputError(
                    f"{caller} needs a {what} that the rows have. Got {brief(name)!r}; they have "
                    f"{brief(', '.join(known), 200)}.{did_you_mean(name, known)}"
                )
    kept = [
        row
        for row in everything
        if row["dataset"] == dataset and (learners is None or row["learner"] in learners)
    ]
    return result_array(kept, metric, protocol, caller)


def _one_of_each(cells: Sequence[Cell], names: Sequence[str], caller: str) -> None:
    """Refuse to mix what a picture could not tell apart."""
    for name in names:
        found = sorted({str(getattr(cell, name)) for cell in cells})
        if len(found) > 1:
            raise InvalidInputError(
                f"{caller} needs rows of one {name}: it would mix what it cannot show apart. "
                f"Got {', '.join(found)}. Select [row for row in rows if row[{name!r}] == ...]."
            )
