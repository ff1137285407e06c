"""Run a paper's experiment, go on where it was stopped, and write what came out as a page."""

from __future__ import annotations

import json
import os
import re
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from recoup._core.checks import brief, did_you_mean
from recoup._core.progress import PROGRESS_SHOWN, progress_bar
from recoup._core.results import html_table, make_frame, to_plain
from recoup.exceptions import InvalidInputError, RecoupWarning

if TYPE_CHECKING:
    import pandas as pd

Size: TypeAlias = Literal["tiny", "quick", "full"]
Verdict: TypeAlias = Literal["reproduced", "not reproduced", "cannot be tested"]
Rows: TypeAlias = list[dict[str, Any]]

RESULTS = "results.parquet"
PAGE = "index.md"
VERDICTS = "verdicts.json"
# The one public module that is no paper.
NETWORKS = "bagged_networks"
CLAIM_COLUMNS = ("What the paper says", "Published", "Ours", "Verdict", "Why")


@dataclass(frozen=True)
class Run:
    """One piece of work, kept on disk once it is done.

    Attributes
    ----------
    name : str
        Unlike all other names of the paper and size; letters, digits, dots, dashes, underscores.
    settings : dict
        Plain values, as JSON knows them: all that the work depends on beside the data.
    """

    name: str
    settings: dict[str, Any]


@dataclass(frozen=True)
class Claim:
    """Something a paper says, and whether it came out the same here.

    Attributes
    ----------
    text : str
        What the paper says, in our words.
    published, ours : str
        The figures, side by side.
    verdict : {"reproduced", "not reproduced", "cannot be tested"}
        What the comparison says.
    reason : str
        Why it was not reproduced or cannot be tested, or what to bear in mind.
    """

    text: str
    published: str
    ours: str
    verdict: Verdict
    reason: str = ""


@dataclass(frozen=True)
class Page:
    """What a paper's experiment came to.

    Attributes
    ----------
    intro : str
        Markdown: what was done, and how it differs from the paper.
    tables : tuple of (heading, Markdown table)
        Our figures beside the published ones; see :func:`markdown_table`.
    claims : tuple of Claim
        What was compared.
    figures : mapping of str to matplotlib Figure
        By the name of the file that each becomes, without ``.png``.
    """

    intro: str
    tables: tuple[tuple[str, str], ...]
    claims: tuple[Claim, ...]
    figures: Mapping[str, Any]


@dataclass(frozen=True)
class Experiment:
    """How to repeat what a paper reports.

    Attributes
    ----------
    key : str
        The name of the module that holds it.
    title, citation : str
        Of the paper.
    lesson : str
        What someone who uses its methods should take from how it came out, in a few sentences.
    runs : callable
        Takes a size, ``"tiny"``, ``"quick"`` or ``"full"``, and returns the runs.
    measure : callable
        Takes a run and returns tidy rows of plain values. The same run gives the same rows. A
        number that is not finite comes back as None.
    summarize : callable
        Takes the rows of all runs, in the order of the runs, and the size; returns the page.
    revision : int
        Raise it when ``measure`` changes: runs of another revision are done again.
    """

    key: str
    title: str
    citation: str
    runs: Callable[[str], list[Run]]
    measure: Callable[[Run], Rows]
    summarize: Callable[[Rows, str], Page]
    lesson: str = ""
    revision: int = 1


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
        Where the page, its figures, ``results.parquet``, ``verdicts.json`` and the finished runs
        are.
    rows : list of dict
        What was measured.
    page : Page
        What it came to.
    n_runs, n_new : int
        Runs in all, and those that were not on disk already.
    seconds : float
        What all runs took, one after the other.
    """

    experiment: Experiment
    size: str
    folder: Path
    rows: Rows = field(repr=False)
    page: Page = field(repr=False)
    n_runs: int
    n_new: int
    seconds: float

    @property
    def path(self) -> Path:
        """The page."""
        return self.folder / PAGE

    def __repr__(self) -> str:
        """Show how many claims hold."""
        count = dict.fromkeys(get_args(Verdict), 0)
        for claim in self.page.claims:
            count[claim.verdict] += 1
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
            "claims": [to_plain(vars(claim)) for claim in self.page.claims],
        }

    def _repr_html_(self) -> str:
        return html_table(self._claims(), repr(self))

    def _claims(self) -> dict[str, list[str]]:
        names = ("text", "published", "ours", "verdict", "reason")
        return {
            column: [getattr(claim, name) for claim in self.page.claims]
            for column, name in zip(CLAIM_COLUMNS, names, strict=True)
        }


def papers() -> list[str]:
    """Return the keys of the papers whose experiments can be repeated."""
    import pkgutil

    import papers

    found = (info.name for info in pkgutil.iter_modules(papers.__path__))
    return sorted(name for name in found if not name.startswith("_") and name != NETWORKS)


def experiment(key: str) -> Experiment:
    """Return the experiment of a paper."""
    from importlib import import_module

    known = papers()
    if key not in known:
        raise InvalidInputError(
            f"reproduce needs the key of a paper. Got {brief(key)!r}."
            f"{did_you_mean(str(key), known)} Choose one of: {', '.join(known)}."
        )
    found: Experiment = import_module(f"papers.{key}").EXPERIMENT
    return found


def reproduce(
    key: str | Experiment,
    size: Size = "quick",
    *,
    jobs: int | None = None,
    out: str | Path | None = None,
    progress: bool | None = None,
) -> Reproduction:
    """Repeat a paper's experiment, and write its figures beside the published ones.

    Each finished run is a file, so that a stopped experiment goes on where it was when it is
    started again with the same folder.

    Parameters
    ----------
    key : str
        A paper; :func:`papers.papers` lists them. Or an experiment of your own.
    size : {"tiny", "quick", "full"}, default="quick"
        A trial of seconds, some minutes on two cores, or all of it.
    jobs : int, optional
        Runs at the same time; by default one per core. The results do not depend on it.
    out : path, optional
        Folder to write to, made if need be; by default ``recoup-reproduce/KEY``.
    progress : bool, optional
        Show a bar on stderr. By default on a terminal only, after two seconds.

    Returns
    -------
    Reproduction

    Examples
    --------
    >>> from papers import papers
    >>> "ramola2019" in papers()
    True
    """
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
    from recoup._core.files import check_own_folder

    folder = Path("recoup-reproduce") / chosen.key if out is None else Path(out)
    check_own_folder(folder, (PAGE,), VERDICTS)
    runs = _checked_runs(chosen, size)
    store = _writable(folder / "runs" / size)
    paths = [store / f"{run.name}.json" for run in runs]
    missing = [
        (run, path)
        for run, path in zip(runs, paths, strict=True)
        if _finished(chosen, run, path) is None
    ]
    _run_missing(chosen, missing, jobs, progress)

    rows: Rows = []
    tagged: Rows = []
    seconds = 0.0
    for run, path in zip(runs, paths, strict=True):
        kept = _finished(chosen, run, path)
        if kept is None:
            raise InvalidInputError(
                f"reproduce cannot read {brief(str(path), 200)} that it has just written. Does "
                f"something else write to that folder?"
            )
        rows += kept["rows"]
        tagged += [{"run": run.name, **row} for row in kept["rows"]]
        seconds += kept["seconds"]
    page = chosen.summarize(rows, size)
    result = Reproduction(chosen, size, folder, rows, page, len(runs), len(missing), seconds)
    _write_results(tagged, folder / RESULTS)
    _write_verdicts(result)
    _write_page(result)
    return result


def datasets_at_hand(names: Iterable[str], key: str) -> tuple[list[str], list[str]]:
    """Tell the datasets that can be read here from those that cannot, in the given order.

    Data that would have to be fetched count as absent: an experiment does not wait for a network.
    """
    from recoup.data import list_datasets

    wanted = list(names)
    ready = {row.name for row in list_datasets() if row.available in ("bundled", "found")}
    present = [name for name in wanted if name in ready]
    if not present:
        folder = os.environ.get("RECOUP_DATA")
        raise InvalidInputError(
            f"reproduce {key} needs at least one of the datasets {brief(', '.join(wanted), 200)}. "
            f"None comes with recoup, is in the folder that RECOUP_DATA names "
            f"({brief(folder, 200) if folder else 'not set'}), or is in the cache. Let RECOUP_DATA "
            f"name the folder with their files; recoup list datasets shows what is found."
        )
    return present, [name for name in wanted if name not in ready]


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write formatted cells as a Markdown table; bars in them are escaped."""

    def line(cells: Sequence[str]) -> str:
        flat = (" ".join(str(cell).split()).replace("|", r"\|") for cell in cells)
        return f"| {' | '.join(flat)} |"

    return "\n".join([line(columns), line(["---"] * len(columns)), *(line(row) for row in rows)])


def _checked_runs(chosen: Experiment, size: str) -> list[Run]:
    runs = chosen.runs(size)
    names = [run.name for run in runs]
    bad = [name for name in names if not re.fullmatch(r"[A-Za-z0-9._-]+", name)]
    if bad or len(set(names)) < len(names):
        raise InvalidInputError(
            f"reproduce needs runs with names of their own, of letters, digits, dots, dashes and "
            f"underscores: each becomes a file. Got {brief(bad or sorted(names), 200)}."
        )
    return runs


def _writable(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(13, "it is read-only")
    except OSError as error:
        raise InvalidInputError(
            f"reproduce cannot write to the folder {brief(str(folder), 200)}: "
            f"{error.strerror or error}. Choose another folder."
        ) from error
    return folder


def _stamp(chosen: Experiment, run: Run) -> dict[str, Any]:
    """Return what a kept run must agree with to be taken for this one."""
    import recoup

    return {
        "paper": chosen.key,
        "run": run.name,
        "version": recoup.__version__,
        "revision": chosen.revision,
        "settings": json.loads(json.dumps(run.settings)),
    }


def _finished(chosen: Experiment, run: Run, path: Path) -> dict[str, Any] | None:
    """Return what a run left on disk, unless there is nothing, half a file, or another run's."""
    try:
        kept = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(kept, dict) or not {"rows", "seconds"} <= set(kept):
        return None
    stamp = _stamp(chosen, run)
    return kept if {name: kept.get(name) for name in stamp} == stamp else None


def _run_missing(
    chosen: Experiment, missing: list[tuple[Run, Path]], jobs: int | None, progress: bool | None
) -> None:
    from joblib import Parallel, cpu_count, delayed

    n_jobs = min(jobs or cpu_count(), len(missing)) or 1
    work = (delayed(_do)(chosen.measure, run, _stamp(chosen, run), path) for run, path in missing)
    with progress_bar(len(missing), f"Repeating {chosen.key}", progress) as advance:
        for _ in Parallel(n_jobs=n_jobs, return_as="generator_unordered")(work):
            advance()


def _do(measure: Callable[[Run], Rows], run: Run, stamp: dict[str, Any], path: Path) -> None:
    """Measure, and keep what came out where the next start finds it."""
    from recoup._core.files import write_file

    start = time.perf_counter()
    # One bar is enough: those of classifiers would overwrite it.
    shown = PROGRESS_SHOWN.set(True)
    try:
        with warnings.catch_warnings():
            # Clipped and infeasible values are part of what is measured.
            warnings.simplefilter("ignore", RecoupWarning)
            rows = to_plain(measure(run))
    finally:
        PROGRESS_SHOWN.reset(shown)
    kept = {"seconds": time.perf_counter() - start, "rows": rows}
    write_file(path, json.dumps(stamp | kept, allow_nan=False).encode())


def _write_results(rows: Rows, path: Path) -> None:
    import io

    import pyarrow as pa
    import pyarrow.parquet

    from recoup._core.files import write_file

    names = list(dict.fromkeys(name for row in rows for name in row))
    table = pa.table({name: [row.get(name) for row in rows] for name in names})
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(table, buffer, compression="zstd")
    write_file(path, buffer.getvalue())


def _write_verdicts(result: Reproduction) -> None:
    from recoup._core.files import write_file

    chosen, found = result.experiment, result.to_dict()
    about = {name: getattr(chosen, name) for name in ("title", "citation", "lesson")}
    kept = about | {name: found[name] for name in ("size", "n_runs", "claims")}
    text = json.dumps(kept, indent=1, ensure_ascii=False, allow_nan=False)
    write_file(result.folder / VERDICTS, (text + "\n").encode())


def _write_page(result: Reproduction) -> None:
    import io

    import recoup
    from recoup._core.files import write_file

    chosen, page = result.experiment, result.page
    for name, figure in page.figures.items():
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=120)
        write_file(result.folder / f"{name}.png", buffer.getvalue())
    claims = zip(*result._claims().values(), strict=True)
    size = "" if result.size == "quick" else f" --{result.size}"
    parts = [
        f"# {chosen.title}",
        chosen.citation,
        *([f"**What follows.** {chosen.lesson}"] if chosen.lesson else []),
        page.intro.strip(),
        "## Verdicts",
        markdown_table(CLAIM_COLUMNS, claims),
        *(part for heading, table in page.tables for part in (f"## {heading}", table)),
        *(["## Figures"] if page.figures else []),
        *(f"![{name}]({name}.png)" for name in page.figures),
        "## How this page was made",
        f"`recoup reproduce {chosen.key}{size}`, recoup {recoup.__version__}, {result.n_runs} "
        f"runs, {result.seconds:,.0f} s of computing. All that was measured is in `{RESULTS}`.",
    ]
    write_file(result.folder / PAGE, ("\n\n".join(parts) + "\n").encode())
