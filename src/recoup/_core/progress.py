"""One line on stderr that says how far a job is: never two at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from multiprocessing import current_process
from threading import Timer
from typing import Any

from recoup._core.text import show_seconds

SECONDS_OF_SILENCE = 2.0
# Set by whoever wants no line, or shows one of another kind.
PROGRESS_SHOWN: ContextVar[bool] = ContextVar("PROGRESS_SHOWN", default=False)


@dataclass
class Progress:
    """How far a job is. Calling it says that one more part is done.

    Attributes
    ----------
    bar : rich.progress.Progress or None
        What shows it; None if nothing does.
    task : int
        Its line there.
    """

    bar: Any = None
    task: Any = None

    def __call__(self) -> None:
        """Say that one more part is done."""
        if self.bar is not None:
            self.bar.advance(self.task)

    def update(self, done: int, total: int, state: str) -> None:
        """Say how many parts are done, and in words of one's own how far that is."""
        if self.bar is not None:
            self.bar.update(self.task, completed=done, total=total, state=state)


SILENT = Progress()
# The line of this process, while one is open.
_open: Progress = SILENT


@contextmanager
def progress_bar(
    total: int | None, message: str, progress: bool | None = None
) -> Iterator[Progress]:
    """Show how far a job is: at once if asked to, else after a while and on a terminal only.

    Inside another one, no second line is shown: parts of a job whose own number of parts is not
    known are told on its line, and others not at all.

    Parameters
    ----------
    total : int or None
        Of how many parts the job consists, if that is known.
    message : str
        What goes on.
    progress : bool, optional
        True for a line at once and anywhere, False for none.
    """
    global _open
    if progress is None and PROGRESS_SHOWN.get():
        progress = False
    # The processes of a pool share the terminal of the one that shows how far they are.
    if progress is False or current_process().name != "MainProcess":
        yield SILENT
        return
    if _open is not SILENT:
        with _told_on(_open, total, message) as told:
            yield told
        return
    bar = _bar(anywhere=bool(progress))
    if bar is None:
        yield SILENT
        return
    task = bar.add_task(message, total=total, state="")
    timer = Timer(0 if progress else SECONDS_OF_SILENCE, bar.start)
    timer.daemon = True
    timer.start()
    _open = Progress(bar, task)
    try:
        yield _open
    finally:
        _open = SILENT
        if not progress:
            timer.cancel()
        timer.join()
        bar.stop()


@contextmanager
def _told_on(line: Progress, total: int | None, message: str) -> Iterator[Progress]:
    """Take over a line for a while, unless it tells the parts of another job."""
    outer = line.bar.tasks[0]
    if total is None or outer.total is not None:
        yield SILENT
        return
    before = outer.description
    line.bar.reset(line.task, total=total, description=message)
    try:
        yield line
    finally:
        # None would leave the total as it is.
        line.bar.reset(line.task, description=before)
        outer.total = None


def print_above(text: Any) -> None:
    """Print to stderr, above the line if there is one."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False) if _open is SILENT else _open.bar.console
    console.print(text)


def _bar(*, anywhere: bool) -> Any:
    try:
        from rich import progress
        from rich.console import Console
        from rich.text import Text
    except ImportError:  # the work does not need a bar
        return None
    console = Console(stderr=True, highlight=False)
    if not (anywhere or console.is_terminal):
        return None

    class HowFar(progress.ProgressColumn):
        """How many parts are done, and when the rest will be."""

        def render(self, task: Any) -> Any:
            return Text(how_far(task.completed, task.total, task.elapsed, task.fields))

    return progress.Progress(
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        HowFar(),
        console=console,
    )


def how_far(done: float, total: float | None, elapsed: float | None, fields: Any) -> str:
    """Write how many parts are done, and how long the rest will take at this pace.

    Examples
    --------
    >>> how_far(0, None, 8.0, {}), how_far(0, 20, 8.0, {}), how_far(5, 20, 8.0, {})
    ('8 s', '0 of 20', '5 of 20, about 24 s left')
    """
    if fields.get("state"):
        return str(fields["state"])
    if total is None:
        return show_seconds(elapsed or 0.0)
    parts = f"{done:,.0f} of {total:,.0f}"
    if not done or elapsed is None or done >= total:
        return parts
    return f"{parts}, about {show_seconds(elapsed / done * (total - done))} left"
