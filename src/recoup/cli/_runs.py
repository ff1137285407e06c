"""How commands that do many runs show how far they are, and how they are stopped."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from recoup.cli._output import plain, printable

Watch = Callable[[Counter[str], int], None]

SECONDS_BETWEEN_LINES = 30.0


@contextmanager
def stoppable(store: Path) -> Iterator[None]:
    """End in order when asked to, and say where finished runs are kept."""
    # Asked to end, by a cluster say, a command ends as in an interrupt.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        say(f"Stopped. What was finished is kept in {store}: the same command goes on from there.")
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def shown_span(seconds: float) -> str:
    """Write a span of time for people.

    Examples
    --------
    >>> shown_span(42), shown_span(130), shown_span(8000), shown_span(400_000)
    ('42 s', '2 min', '2 h 13 min', '4 days 15 h')
    """
    minutes, hours = seconds / 60, seconds / 3600
    if seconds < 100:
        return f"{seconds:.0f} s"
    if hours < 1.5:
        return f"{minutes:.0f} min"
    if hours < 48:
        return f"{int(hours)} h {int(minutes) % 60} min"
    return f"{int(hours // 24)} days {int(hours) % 24} h"


def say(text: str) -> None:
    """Print a line for people, beside what is printed for programs."""
    from rich.console import Console

    Console(stderr=True, highlight=False).print(plain(text))


@contextmanager
def shown_progress(name: str) -> Iterator[Watch]:
    """Show how far the runs are: a line that moves on a terminal, else one from time to time."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    began = time.monotonic()
    if not console.is_terminal:
        spoke = began

        def tell(counts: Counter[str], total: int) -> None:
            nonlocal spoke
            if time.monotonic() - spoke > SECONDS_BETWEEN_LINES:
                spoke = time.monotonic()
                console.print(plain(_state(counts, total, spoke - began)))

        yield tell
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[state]}", markup=False),
        console=console,
    )
    with bar:
        task = bar.add_task(printable(name), total=None, state="")

        def move(counts: Counter[str], total: int) -> None:
            state = _state(counts, total, time.monotonic() - began)
            bar.update(task, total=total, completed=sum(counts.values()), state=state)

        yield move


def _state(counts: Counter[str], total: int, seconds: float) -> str:
    """Say how many runs came to what, how fast, and when the rest will be done."""
    left = total - sum(counts.values())
    parts = [f"{counts[word]:,} {word}" for word in ("done", "cached", "failed", "skipped")]
    if counts["done"] and seconds > 0:
        rate = counts["done"] / seconds
        parts.append(f"{rate:.1f} runs/s" if rate >= 1 else f"{60 * rate:.1f} runs/min")
        parts.append(f"about {shown_span(left / rate)} left")
    return ", ".join(parts)
