"""Options that several commands share, and what can be checked before a file is read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recoup._checks import check_scheme
from recoup.exceptions import InvalidInputError

FileArgument = Annotated[
    str, typer.Argument(metavar="FILE", help="CSV or Parquet file, or a pattern in quotes.")
]
Label = Annotated[
    str,
    typer.Option(help="Column with 1 labeled positive, 0 unlabeled, -1 known negative."),
]
Alpha = Annotated[
    float | None, typer.Option(help="Share of positives among the unlabeled rows, such as 0.2.")
]
AlphaInterval = Annotated[
    tuple[float, float] | None,
    typer.Option(metavar="LOW HIGH", help="The same, if only a range is known."),
]
Beta = Annotated[float, typer.Option(help="Share of true positives among the labeled rows.")]
SchemeOption = Annotated[
    str,
    typer.Option(
        help="single-sample: the numbers are about all rows; case-control: about the unlabeled."
    ),
]
Threshold = Annotated[
    str | None,
    typer.Option(
        metavar="T|METRIC",
        help="Rows with this score or more are flagged; or the metric to maximise. By default 0.5 "
        "for probabilities, else youden.",
    ),
]
Confidence = Annotated[float, typer.Option(help="Level of the intervals.")]
NBoot = Annotated[int, typer.Option(min=0, help="Bootstrap replicates.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Seed = Annotated[int, typer.Option(min=0, help="Of the random numbers.")]
PlotPath = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the figure (.png, .svg or .pdf).")
]


def check_prior(
    alpha: float | None,
    interval: tuple[float, float] | None,
    beta: float,
    scheme: str,
    command: str,
) -> float | tuple[float, float]:
    """Return alpha or its range, if one was given and goes with the rest."""
    from recoup._prior import Prior

    if alpha is not None and interval is not None:
        raise InvalidInputError(f"{command} takes --alpha or --alpha-interval, not both. Drop one.")
    given = alpha if alpha is not None else interval
    if given is None:
        raise InvalidInputError(
            f"{command} needs --alpha, the share of positives among the unlabeled rows: this "
            f"version cannot estimate it. Pass --alpha 0.2, or --alpha-interval 0.1 0.3 if only a "
            f"range is known."
        )
    check_scheme(scheme, command)
    Prior.of(given, beta, command)
    return given


def as_threshold(text: str | None) -> float | str | None:
    """Take a number as a threshold, and anything else as the name of a metric."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return text
