"""Options that several commands share, and what can be checked before a file is read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recoup._core.alpha import Interval
from recoup._core.checks import brief, check_alpha_beta, check_scheme
from recoup.exceptions import InvalidInputError

FileArgument = Annotated[
    str,
    typer.Argument(metavar="FILE", help="CSV, Parquet or JSON lines file, or a pattern in quotes."),
]
Label = Annotated[
    str,
    typer.Option(
        help="Column with 1 labeled positive, 0 unlabeled, -1 known negative; or yes and no, "
        "or yes and nothing."
    ),
]
Positive = Annotated[
    list[str] | None,
    typer.Option(
        metavar="VALUE",
        help="Value of --label in labeled positives; repeat for more. All others are then "
        "unlabeled. Not needed for 1 and 0, yes and no, true and false, or one and nothing.",
    ),
]
Negative = Annotated[
    list[str] | None,
    typer.Option(metavar="VALUE", help="Value of --label in known negatives; repeat for more."),
]
Alpha = Annotated[
    str | None,
    typer.Option(
        metavar="SHARE|estimate",
        help="Share of positives among the unlabeled rows, such as 0.2. By default it is "
        "estimated from the scores.",
    ),
]
AlphaInterval = Annotated[
    tuple[float, float] | None,
    typer.Option(metavar="LOW HIGH", help="The same, if only a range is known."),
]
PriorMethod = Annotated[
    str | None,
    typer.Option(
        metavar="KEY", help="How to estimate alpha: auto, or a key of recoup list priors."
    ),
]
Beta = Annotated[
    str | None,
    typer.Option(
        metavar="SHARE|estimate",
        help="Share of true positives among the labeled rows; 1 says that all labels were checked "
        "and are right.",
    ),
]
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
        help="Rows with this score or more are flagged; or the metric to make best. By default 0.5 "
        "for probabilities of being positive, an even chance for those of having a label, else "
        "youden.",
    ),
]
By = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Evaluate each group of rows with the same value of this column; repeat for more "
        "columns. Empty cells are a group of their own.",
    ),
]
Weight = Annotated[str | None, typer.Option(help="Column with row weights.")]
HowScored = Annotated[
    str,
    typer.Option(
        "--scored",
        help="once: by a model that no row has trained; crossfit: by models that the other rows "
        "have trained, which makes intervals wider.",
    ),
]
CheckedFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--checked",
        metavar="CHECKED",
        help="File of rows that recoup audit plan chose and somebody checked; repeat for more "
        "rounds, the first one first.",
    ),
]
CheckedId = Annotated[
    str | None,
    typer.Option("--id", help="Column that names the rows, as recoup audit plan had it."),
]
CheckedTruth = Annotated[
    str, typer.Option("--truth", help="Column of the checked files with the answers.")
]
LabelsAre = Annotated[
    str,
    typer.Option(
        "--labels-are",
        metavar="random|biased|unknown",
        help="How labels came about. random: labeled rows are a random sample of the positives; "
        "biased: they are not, as where people look at the clearest cases; unknown: what is "
        "possible includes labels that favor some scores.",
    ),
]
Confidence = Annotated[float, typer.Option(help="Level of the intervals.")]
NBoot = Annotated[
    int,
    typer.Option(min=0, help="Permutations and replicates, for chance and for chosen thresholds."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Seed = Annotated[int, typer.Option(min=0, help="Of the random numbers.")]
Features = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="What to look at; repeat for more. By default all numbers, and text with few "
        "different words.",
    ),
]
PlotPath = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the figure (.png, .svg or .pdf).")
]
ReportPath = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write a report (.html, .md or .json).")
]


def check_prior(
    alpha: str | None,
    interval: tuple[float, float] | None,
    method: str | None,
    beta: str | None,
    scheme: str,
    command: str,
) -> tuple[float | str | Interval, float | str | None]:
    """Return alpha, its range or how to estimate it, and beta, if they go with the rest."""
    from recoup._core.prior import Prior, estimation_method

    if alpha is not None and interval is not None:
        raise InvalidInputError(f"{command} takes --alpha or --alpha-interval, not both. Drop one.")
    given: float | str | Interval = "estimate"
    if interval is not None:
        given = as_interval(interval, command)
    elif alpha is not None:
        given = as_share(alpha, "--alpha", command)
    if method is not None:
        if given != "estimate":
            raise InvalidInputError(
                f"{command} needs --prior-method only to estimate alpha, and alpha was given. "
                f"Drop one."
            )
        given = method
    share = None if beta is None else as_share(beta, "--beta", command)
    check_scheme(scheme, command)
    if estimation_method(given, share, command) is None:
        Prior.of(given, 1.0 if share is None else share, command)
    return given, share


def as_interval(ends: tuple[float, float], command: str) -> Interval:
    """Take two numbers, in any order, as a range of alpha."""
    check_alpha_beta(ends, 1.0, command)
    return Interval(*sorted(ends))


def as_share(text: str, option: str, command: str) -> float | str:
    """Take a number as a share, and the word estimate as what it says."""
    if text == "estimate":
        return text
    try:
        return float(text)
    except ValueError as error:
        raise InvalidInputError(
            f"{command} needs {option} to be a share such as 0.2, or estimate. Got {brief(text)}."
        ) from error


def about_work(work: str, alpha: object) -> str:
    """Say what goes on while a command runs."""
    return f"Estimating alpha, then {work.lower()}" if isinstance(alpha, str) else work


def as_threshold(text: str | None) -> float | str | None:
    """Take a number as a threshold, and anything else as the name of a metric."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return text
