"""One bar on stderr that says how far a job is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Timer
from typing import Any

SECONDS_OF_SILENCE = 2.0
# Set by whoever shows progress already: two displays on one line overwrite each other.
PROGRESS_SHOWN: ContextVar[bool] = ContextVar("PROGRESS_SHOWN", default=False)


@contextmanager
def progress_bar(total: int, message: str, progress: bool | None) -> Iterator[Callable[[], None]]:
    """Show how far a job is: at once if asked to, else after a while and on a terminal only."""
    if progress is None and PROGRESS_SHOWN.get():
        progress = False
    bar = None if progress is False else _bar(anywhere=bool(progress))
    if bar is None:
        yield lambda: None
        return
    task = bar.add_task(message, total=total)
    timer = Timer(0 if progress else SECONDS_OF_SILENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda: bar.advance(task)
    finally:
        if not progress:
            timer.cancel()
        timer.join()
        bar.stop()


def _bar(*, anywhere: bool) -> Any:
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:  # the work does not need a bar
        return None
    console = Console(stderr=True)
    return Progress(console=console) if anywhere or console.is_terminal else None
