"""Repeat a paper's experiment with the runner of benchmarks, and write what came out as a page."""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from papers.claims import (
    COLUMNS,
    cause_table,
    cell,
    claim_table,
    claims_in_full,
    to_dict,
    verdict_counts,
    verdict_sentence,
)
from papers.experiment import Experiment, Page, Rows, Run, Size, experiment
from recoup._core.checks import brief
from recoup._core.files import check_own_folder, make_folder, write_file
from recoup._core.progress import PROGRESS_SHOWN
from recoup._core.results import html_table, make_frame, to_plain
from recoup.bench import Store
from recoup.bench.cluster import n_cores
from recoup.bench.job import hashed
from recoup.bench.runner import Work, run_work
from recoup.exceptions import InvalidInputError, RecoupWarning

if TYPE_CHECKING:
    import pandas as pd

CANNOT_WRITE = "reproduce cannot write to the folder"
STORE = "runs.sqlite"
RESULTS = "results.parquet"
PAGE = "index.md"
VERDICTS = "verdicts.json"
# Key of what a file of results says about itself.
ABOUT = "papers"
# Tells a paper's runs from trials of learners, whose format is a number.
FORMAT = "paper"


@dataclass(frozen=True)
class PaperRun:
    """A run of an experiment as the runner of benchmarks takes it.

    Attributes
    ----------
    experiment : Experiment
        The paper's.
    settings : Run
        What is done.
    """

    experiment: Experiment
    settings: Run

    @property
    def definition(self) -> dict[str, Any]:
        """What a kept run must agree with to be taken for this one."""
        import recoup

        return {
            "format": FORMAT,
            "paper": self.experiment.key,
            "run": self.settings.name,
            "version": recoup.__version__,
            "revision": self.experiment.revision,
            "settings": self.settings.settings,
        }

    @cached_property
    def run(self) -> str:
        """The hash of the definition."""
        return hashed(self.definition)

    @property
    def known(self) -> dict[str, Any]:
        """Nothing: only learners have columns of their own."""
        return {}

    def skip_reason(self) -> str | None:
        """Say nothing: whether data are at hand was looked up when runs were listed."""
        return None


@dataclass(frozen=True, eq=False, repr=False)
class Reproduction:
    """A paper's experiment, repeated.

    Attributes
    ----------
    experiment : Experiment
        What was repeated.
    size : str
        How much of it.
    folder : Path
        Where the page, its figures, ``results.parquet``, ``verdicts.json`` and the store of
        finished runs are.
    rows : list of dict
        What was measured.
    page : Page
        What it came to.
    n_runs, n_new : int
        Runs in all, and those that were not in the store already.
    seconds : float
        What all runs took, one after the other.
    version : str
        Of recoup, when the runs were done.
    """

    experiment: Experiment
    size: str
    folder: Path
    rows: Rows = field(repr=False)
    page: Page = field(repr=False)
    n_runs: int
    n_new: int
    seconds: float
    version: str

    @property
    def path(self) -> Path:
        """The page."""
        return self.folder / PAGE

    def __repr__(self) -> str:
        """Show how many claims hold."""
        count = verdict_counts(self.page.claims)
        held = ", ".join(f"{n} {verdict}" for verdict, n in count.items() if n)
        return f"Reproduction({self.experiment.key}, {self.size}, {held or 'no claims'})"

    def to_frame(self) -> pd.DataFrame:
        """Return one row per claim."""
        return make_frame({name: list(cells) for name, cells in self._claims().items()})

    def to_dict(self) -> dict[str, Any]:
        """Return the claims and where everything is, as plain values."""
        return {
            "key": self.experiment.key,
            "size": self.size,
            "folder": str(self.folder),
            "n_runs": self.n_runs,
            "n_new": self.n_new,
            "seconds": round(self.seconds, 3),
            "claims": [to_plain(to_dict(claim)) for claim in self.page.claims],
        }

    def _repr_html_(self) -> str:
        return html_table(self._claims(), repr(self))

    def _claims(self) -> dict[str, list[str]]:
        return {
            column: [cell(claim, name) for claim in self.page.claims]
            for name, column in COLUMNS.items()
        }


def reproduce(
    key: str | Experiment,
    size: Size = "quick",
    *,
    jobs: int | None = None,
    out: str | Path | None = None,
    watch: Callable[[Counter[str], int], None] | None = None,
) -> Reproduction:
    """Repeat a paper's experiment, and write its figures beside the published ones.

    Each finished run is kept at once, so that a stopped experiment goes on where it was when it is
    started again with the same folder. A run that fails stops no other; once all others are done
    an error says which failed, and they are tried again the next time. An experiment whose runs a
    benchmark made is judged from the results in its folder, whatever the size.

    Parameters
    ----------
    key : str
        A paper; :func:`papers.papers` lists them. Or an experiment of your own.
    size : {"tiny", "quick", "full"}, default="quick"
        A trial of seconds, some minutes on two cores, or all of it.
    jobs : int, optional
        Runs at the same time, each in a process of its own; by default one per core. One means one
        after the other in this process. The results do not depend on it.
    out : path, optional
        Folder to write to, made if need be; by default ``recoup-reproduce/KEY``.
    watch : callable, optional
        Called with counts of runs by what became of them, and the number of all, whenever they
        change.

    Returns
    -------
    Reproduction

    Examples
    --------
    >>> from papers import papers
    >>> "ramola2019" in papers()
    True
    """
    import recoup

    chosen = key if isinstance(key, Experiment) else experiment(key)
    if size not in get_args(Size):
        raise InvalidInputError(
            f"reproduce needs size to be one of {', '.join(map(repr, get_args(Size)))}. "
            f"Got {brief(size)!r}."
        )
    if jobs is not None and jobs < 1:
        raise InvalidInputError(
            f"reproduce needs jobs to be a whole number of at least 1. Got {brief(jobs)}."
        )
    folder = Path("recoup-reproduce") / chosen.key if out is None else Path(out)
    if chosen.read is not None:
        from papers.recorded import judge_recorded

        return judge_recorded(chosen, folder / RESULTS, folder)
    check_own_folder(folder, (PAGE,), VERDICTS)
    runs = [PaperRun(chosen, run) for run in _checked_runs(chosen, size)]
    make_folder(folder, CANNOT_WRITE)
    store = Store(folder / STORE)
    n_jobs = jobs or n_cores()
    outcome = run_work(
        Work(f"reproduce {chosen.key}", runs, partial(_measured, chosen.measure)),
        store.path,
        workers=n_jobs,
        here=n_jobs == 1,
        retry_failed=True,
        watch=watch,
    )
    seconds = store.elapsed()
    missing = [run for run in runs if run.run not in seconds]
    if missing:
        reasons = store.reasons("failed") | store.reasons("skipped")
        why = "; ".join(f"{run.settings.name}: {reasons[run.run]}" for run in missing[:3])
        raise InvalidInputError(
            f"reproduce {chosen.key} could not do {len(missing)} of {len(runs)} runs. "
            f"{brief(why, 500)} What was finished is kept: the same command does the rest."
        )
    found = [(run.settings.name, store.details(run.run)["rows"]) for run in runs]
    rows = [row for _, some in found for row in some]
    page = chosen.summarize(rows, size)
    total = sum(seconds[run.run] for run in runs)
    result = Reproduction(
        chosen, size, folder, rows, page, len(runs), outcome.done, total, recoup.__version__
    )
    write_results(result, [{"run": name, **row} for name, some in found for row in some])
    write_page(result)
    return result


def _measured(
    measure: Callable[[Run], Rows], definition: Mapping[str, Any], device: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Do a run; its rows are details to the store."""
    # One display is enough: those of classifiers would overwrite it.
    shown = PROGRESS_SHOWN.set(True)
    try:
        with warnings.catch_warnings():
            # Clipped and infeasible values are part of what is measured.
            warnings.simplefilter("ignore", RecoupWarning)
            rows = measure(Run(definition["run"], dict(definition["settings"])))
    finally:
        PROGRESS_SHOWN.reset(shown)
    return {}, {"rows": to_plain(rows)}


def _checked_runs(chosen: Experiment, size: str) -> list[Run]:
    runs = chosen.runs(size)
    names = [run.name for run in runs]
    bad = [name for name in names if not re.fullmatch(r"[A-Za-z0-9._-]+", name)]
    if bad or len(set(names)) < len(names):
        raise InvalidInputError(
            f"reproduce needs runs with names of their own, of letters, digits, dots, dashes and "
            f"underscores. Got {brief(bad or sorted(names), 200)}."
        )
    return runs


def write_results(result: Reproduction, rows: Rows) -> None:
    """Write what was measured, with the name of its run in each row.

    Size, seconds and version go into the file too, so that a page can be made from it alone.

    Parameters
    ----------
    result : Reproduction
        Whose folder it goes to.
    rows : list of dict
        The measured rows, each with the column ``run``.
    """
    import io

    import pyarrow as pa
    import pyarrow.parquet

    about = {
        "paper": result.experiment.key,
        "size": result.size,
        "seconds": round(result.seconds, 3),
        "version": result.version,
    }
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = pa.table({name: [row.get(name) for row in rows] for name in names})
    table = table.replace_schema_metadata({ABOUT: json.dumps(about)})
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(table, buffer, compression="zstd")
    write_file(result.folder / RESULTS, buffer.getvalue())


def write_again(result: Reproduction, results: Path) -> None:
    """Write a page from a file of results, which is copied if it lies in another folder."""
    if result.folder.resolve() != results.parent.resolve():
        write_file(result.folder / RESULTS, results.read_bytes())
    write_page(result)


def write_page(result: Reproduction) -> None:
    """Write the page, its figures and the verdicts.

    Parameters
    ----------
    result : Reproduction
        What is told, and the folder it goes to.
    """
    _write_verdicts(result)
    _write_figures(result)
    chosen, page = result.experiment, result.page
    causes = cause_table({chosen.title: page.claims})
    parts = [
        f"# {chosen.title}",
        chosen.citation,
        *([f"**What follows.** {chosen.lesson}"] if chosen.lesson else []),
        page.intro.strip(),
        "## Verdicts",
        verdict_sentence(page.claims),
        claim_table(page.claims),
        *(["## Causes", causes] if causes else []),
        "## Claims one by one",
        claims_in_full(page.claims),
        *(part for heading, table in page.tables for part in (f"## {heading}", table)),
        *(["## Figures"] if page.figures else []),
        *(f"![{name}]({name}.png)" for name in page.figures),
        "## How this page was made",
        *_how_made(result),
    ]
    write_file(result.folder / PAGE, ("\n\n".join(parts) + "\n").encode())


def _how_made(result: Reproduction) -> list[str]:
    chosen = result.experiment
    again = f"python -m papers {chosen.key} --from {RESULTS}"
    facts = f"{result.n_runs:,} runs, {result.seconds:,.0f} s of computing."
    if chosen.read is not None:
        return [
            f"{facts} All that was measured is in `{RESULTS}`; `{again}` makes the page from it "
            f"(recoup {result.version}). The runs themselves are made by:",
            f"```console\n{chosen.made_by}\n```",
        ]
    size = "" if result.size == "quick" else f" --{result.size}"
    return [
        f"`python -m papers {chosen.key}{size}`, recoup {result.version}, {facts} All that was "
        f"measured is in `{RESULTS}`; `{again}` makes the page from it without measuring again."
    ]


def _write_verdicts(result: Reproduction) -> None:
    chosen, found = result.experiment, result.to_dict()
    about = {name: getattr(chosen, name) for name in ("title", "citation", "lesson")}
    kept = about | {name: found[name] for name in ("size", "n_runs", "claims")}
    text = json.dumps(kept, indent=1, ensure_ascii=False, allow_nan=False)
    write_file(result.folder / VERDICTS, (text + "\n").encode())


def _write_figures(result: Reproduction) -> None:
    import io

    for name, figure in result.page.figures.items():
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=120)
        write_file(result.folder / f"{name}.png", buffer.getvalue())
