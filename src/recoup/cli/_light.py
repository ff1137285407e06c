"""The light of an evaluation, in the terminal and in JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recoup.cli._output import plain

if TYPE_CHECKING:
    from rich.console import Console

    from recoup.evaluation import Evaluation, NextStep


def with_light(evaluation: Evaluation) -> dict[str, Any]:
    """Return the evaluation as plain values, with ``light``: its level, word and reasons."""
    from recoup._core.results import to_plain
    from recoup.report.page.light import light_of

    light: dict[str, Any] = to_plain(light_of(evaluation))
    return evaluation.to_dict() | {"light": light}


def print_light(console: Console, light: dict[str, Any], name: str | None = None) -> None:
    """Say how far to rely on the numbers, and what the labels have to do with it.

    Parameters
    ----------
    console : Console
        Where to print.
    light : dict
        From :func:`recoup.report.page.light.light_of`.
    name : str, optional
        The model that it is about, where there are several.
    """
    about = "" if name is None else f" of {name}"
    console.print(plain(f"Reliability{about}: {light['word']} ({light['level']})."))
    for reason in light["reasons"]:
        if reason["code"] == "selection":
            console.print(plain(reason["text"]))


def print_step(console: Console, step: NextStep, name: str | None = None) -> None:
    """Say what to do next, and what to type for it.

    Parameters
    ----------
    console : Console
        Where to print.
    step : NextStep
        From :attr:`recoup.evaluation.Evaluation.next_step`.
    name : str, optional
        The model that it is about, where there are several.
    """
    about = "" if name is None else f" for {name}"
    console.print(plain(f"Next step{about}: {step.text}", "bold"))
    if step.command:
        console.print(plain(f"  {step.command}"), soft_wrap=True)
