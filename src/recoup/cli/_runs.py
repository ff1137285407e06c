"""How commands that do many runs show how far they are, and how they are stopped."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from recoup._core.progress import print_above, progress_bar
from recoup._core.text import show_seconds
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


def say(text: str) -> None:
    """Print a line for people, beside what is printed for programs."""
    print_above(plain(text))


@contextmanager
def shown_progress(name: str, quiet: bool = False) -> Iterator[Watch]:
    """Show how far the runs are: a line that moves on a terminal, else one from time to time."""
    began = spoke = time.monotonic()
    with progress_bar(None, printable(name), False if quiet else None) as line:

        def tell(counts: Counter[str], total: int) -> None:
            nonlocal spoke
            now = time.monotonic()
            state = _state(counts, total, now - began)
            line.update(sum(counts.values()), total, state)
            if line.bar is None and now - spoke > SECONDS_BETWEEN_LINES:
                spoke = now
                say(state)

        yield tell


def _state(counts: Counter[str], total: int, seconds: float) -> str:
    """Say how many runs came to what, how fast, and when the rest will be done."""
    left = total - sum(counts.values())
    parts = [f"{counts[word]:,} {word}" for word in ("done", "cached", "failed", "skipped")]
    if counts["done"] and seconds > 0:
        rate = counts["done"] / seconds
        parts.append(f"{rate:.1f} runs/s" if rate >= 1 else f"{60 * rate:.1f} runs/min")
        parts.append(f"about {show_seconds(left / rate)} left")
    return ", ".join(parts)
