"""Promises on the command line: what is asked for, and how it is printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from recoup.cli._output import make_table, plain, print_notes
from recoup.exceptions import InvalidInputError

if TYPE_CHECKING:
    from rich.console import Console

    from recoup.evaluation.promises import Promise
    from recoup.evaluation.top_rows import TopRows

Promises = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="Find a threshold that keeps this: precision=0.9, recall=0.8, or cost=1:20 for what a "
        "false positive and a false negative cost. May be given several times: all hold at once, "
        "with the chance --confidence.",
    ),
]
Queue = Annotated[
    int | None,
    typer.Option(min=1, help="Flag at most so many rows; and how good the rows at the top are."),
]
Maximise = Annotated[
    str | None,
    typer.Option(
        metavar="METRIC",
        help="What to make best among thresholds that keep the promise. By default recall.",
    ),
]
COMMAND = "evaluate"


def read_promises(
    promises: list[str] | None, queue: int | None, maximise: str | None
) -> dict[str, Any]:
    """Take promises as arguments of :meth:`recoup.evaluation.Evaluation.certify`.

    Parameters
    ----------
    promises : list of str or None
        As typed, such as ``"precision=0.9"``.
    queue : int or None
        The most rows to flag.
    maximise : str or None
        Key of a metric.

    Returns
    -------
    dict
        Empty where nothing was asked for.
    """
    from recoup.metrics.demands import aim_of, demands_of

    asked: dict[str, Any] = {}
    for text in promises or []:
        name, _, value = text.partition("=")
        if name not in ("precision", "recall", "cost") or not value:
            raise InvalidInputError(
                f"{COMMAND} needs --promise as precision=0.9, recall=0.8 or cost=1:20. Got {text}."
            )
        if name in asked:
            raise InvalidInputError(
                f"{COMMAND} needs every --promise once. Got {name} twice. Drop one."
            )
        asked[name] = _costs(value) if name == "cost" else _number(value, text)
    demands = demands_of(asked.get("precision"), asked.get("recall"), asked.get("cost"), COMMAND)
    if maximise is not None:
        if not asked and queue is None:
            raise InvalidInputError(
                f"{COMMAND} needs --maximise only beside --promise or --queue. Add one, or drop it."
            )
        aim_of(maximise, demands, COMMAND)
        asked["maximise"] = maximise
    return asked if queue is None else asked | {"queue": queue}


def _costs(value: str) -> dict[str, float]:
    ends = value.split(":")
    if len(ends) != 2:
        raise InvalidInputError(
            f"{COMMAND} needs --promise cost as two numbers, what a false positive and a false "
            f"negative cost. Got cost={value}. Write cost=1:20."
        )
    return {"fp": _number(ends[0], f"cost={value}"), "fn": _number(ends[1], f"cost={value}")}


def _number(value: str, text: str) -> float:
    try:
        return float(value)
    except ValueError as error:
        raise InvalidInputError(
            f"{COMMAND} needs --promise with a number. Got {text}. Write precision=0.9."
        ) from error


def promise_as_json(promise: Promise | None, top: TopRows | None) -> dict[str, Any]:
    """Return what is printed as plain values, by name; empty where nothing was asked for."""
    found = {"promise": promise, "top": top}
    return {name: one.to_dict() for name, one in found.items() if one is not None}


def print_promise(
    console: Console, promise: Promise | None, top: TopRows | None, plan: str | None
) -> None:
    """Print what is promised, and how good the rows at the top are.

    Parameters
    ----------
    console : Console
        Where to print.
    promise : Promise or None
        What certify returned.
    top : TopRows or None
        What at_top returned.
    plan : str or None
        Command that chooses rows to check, where that would help.
    """
    from recoup._core.text import show_number, show_percent, show_range

    if promise is None:
        return
    console.print(plain("Promise", "bold"))
    console.print(plain(promise.sentence()))
    if promise.metrics:
        columns = ["At this threshold", "Recovered", f"{show_percent(promise.confidence)} interval"]
        table = make_table(columns, columns[1:])
        for one in promise.metrics:
            table.add_row(one.label, show_number(one.value), show_range(one.lower, one.upper))
        console.print(table)
    if top is not None:
        console.print(plain(top.sentence()))
    print_notes(console, promise.notes)
    if plan is not None:
        console.print(plain(f"Rows to check: {plan}"))
