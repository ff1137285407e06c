"""Write the runs of a benchmark as pages that need no network."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby, product
from pathlib import Path
from typing import Any

import numpy as np

import recoup
from recoup._core.checks import brief
from recoup._core.files import FORMULA, no_formula, write_file
from recoup._core.results import to_plain
from recoup.bench.job import OWN_LABELS, is_lent
from recoup.bench.measure import recovered_name
from recoup.bench.plots import PROFILE
from recoup.bench.ranking import ROUGH_BELOW, Standing, rank_learners
from recoup.bench.record import measured_columns
from recoup.bench.result_array import REFERENCE, renamed
from recoup.exceptions import InvalidInputError
from recoup.learners.reported import reported_accuracies
from recoup.metrics.spec import benched_specs
from recoup.report.page.payload import as_island, pack
from recoup.report.page.render import (
    NAME_IN_TITLE,
    NAME_SHOWN,
    ROOM,
    environment,
    script_hash,
)

Row = Mapping[str, Any]

SCRIPTS = (
    *("shared/words.js", "shared/charts.js"),
    *("leaderboard/runs.js", "leaderboard/figures.js", "leaderboard/charts.js"),
    *("leaderboard/tables.js", "leaderboard/views.js", "leaderboard/run.js"),
    "leaderboard/leaderboard.js",
)
SETTING = ("scheme", "mechanism", "label_frequency", "noise")
# What a reader filters by, or reads as words.
WORDS = ("dataset", *SETTING, "learner", "family", "seed", "protocol", "status", "reason")
NUMERIC_WORDS = ("label_frequency", "noise", "seed")
FAMILIES = ("risk", "disambiguation", "generative", "classical", "ranking")
AT_RANDOM = ("scar", "s1")
# From the one that a user could follow on, with what true classes had to do with its runs.
PROTOCOLS = (
    ("honest", "weights and settings were chosen without true classes, as users have to."),
    ("pubench", "training went by the true classes of a hundredth of the rows, as PU-Bench does."),
    ("oracle", "weights were chosen by true classes, which nobody has who needs such a learner."),
)
INFORMED_PROTOCOL = "oracle"
# What PU-Bench's table was made with; its figures stand beside runs made alike.
PUBLISHED_FOR = {
    "scheme": ("case-control", "case-control-overlap"),
    "mechanism": AT_RANDOM,
    "label_frequency": ("0.1",),
    "noise": ("0", "none"),
    "metric": ("accuracy", "f1"),
}
# Tests are at this level, and ranges of ranks leave as much out.
LEVEL = 0.05
RUN_ID = re.compile("[0-9a-f]+")
# Names the files of a site that recoup wrote, and only those are ever replaced or removed.
MARKER = "recoup-site.json"
OWN_FILE = re.compile(r"index\.html|runs\.csv|runs/[0-9a-f]+\.js")
RUNS_PER_SHARD = 32
LONGEST_REASON = 2000
# Redraws of the seeds for a range of ranks, in each of up to hundreds of settings and metrics.
REDRAWS = 500


def write_site(
    rows: Iterable[Row],
    details: Callable[[str], Mapping[str, Any] | None],
    out: str | Path,
    *,
    published: Mapping[str, Mapping[str, float]] | None = None,
    baseline: str = "nnpu",
    title: str = "Leaderboard",
) -> Path:
    """Write a folder of pages about the runs of a benchmark.

    ``index.html`` holds everything but the curves and distributions of single runs, which it loads
    from ``runs/`` when they are asked for; ``runs.csv`` has every number. The same rows give the
    same files.

    Parameters
    ----------
    rows : iterable of mapping
        One per run, as ``recoup.bench.Store(path).rows()`` returns them.
    details : callable
        What ``recoup.bench.Store(path).details`` says of a run, by its id. Asked for runs that
        are done; None where nothing more is known.
    out : str or Path
        Folder to write to: a new one, an empty one, or one with a site that was written before,
        which is replaced. ``recoup-site.json`` lists the files of a site; no other file is touched.
    published : mapping of str to mapping of str to float, optional
        Percentages by learner key and dataset to show beside those of the runs. By default Table 1
        of PU-Bench.
    baseline : str, default="nnpu"
        Learner that others are tested against, by its shown name or else by its key.
    title : str, default="Leaderboard"
        Heading of the page.

    Returns
    -------
    Path
        Of ``index.html``.

    See Also
    --------
    recoup.bench.ranking.rank_learners : Makes the tests and ranks.
    """
    kept = renamed(rows)
    if not kept:
        raise InvalidInputError(
            "write_site needs at least one run: there is nothing to show. Got none. "
            "Run a plan first with recoup bench run."
        )
    for row in kept:
        if not RUN_ID.fullmatch(str(row["run"])):
            raise InvalidInputError(
                f"write_site needs runs named by hexadecimal digits: they name files. "
                f"Got {brief(str(row['run']))!r}. Take rows from recoup.bench.Store(path).rows()."
            )
    folder = Path(out)
    former = _former_files(folder)
    digits = _shard_digits(len(kept))
    base = _baseline(kept, baseline)
    known = reported_accuracies() if published is None else published
    data = _page_data(kept, base, known) | {"digits": digits}
    shards = _shards(kept, details, digits)
    files = sorted({"index.html", "runs.csv", *shards})
    _refuse_strangers(folder, files, former)
    _made(folder / "runs")
    # Whatever happens next, what is in the folder by then is known to be ours.
    _write_marker(folder, sorted({*former, *files}))
    for name, content in shards.items():
        write_file(folder / name, content)
    for name in former - set(files):
        (folder / name).unlink(missing_ok=True)
    write_file(folder / "runs.csv", _as_csv(kept).encode("utf-8", "replace"))
    scripts = {name: (ROOM / name).read_text("utf-8") for name in SCRIPTS}
    page = (
        environment()
        .get_template("leaderboard/leaderboard.html.j2")
        .render(
            title=title,
            facts=_facts(kept),
            version=recoup.__version__,
            scripts=scripts,
            hashes=[script_hash(text) for text in scripts.values()],
            island=as_island(data),
        )
    )
    written = write_file(folder / "index.html", page.encode("utf-8", "xmlcharrefreplace"))
    _write_marker(folder, files)
    return written


def _former_files(folder: Path) -> set[str]:
    """Return the files of the site that a folder holds; refuse a folder of somebody else."""
    if not folder.is_dir() or not any(folder.iterdir()):
        return set()
    try:
        listed = json.loads((folder / MARKER).read_bytes())["files"]
        return {name for name in listed if OWN_FILE.fullmatch(name)}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidInputError(
            f"write_site replaces what is in its folder, and {brief(str(folder), 200)} holds files "
            f"that are not known to be a site of recoup: it has no {MARKER} that lists them. "
            f"Nothing was touched. Choose a new or an empty folder."
        ) from error


def _refuse_strangers(folder: Path, files: Iterable[str], former: set[str]) -> None:
    """Refuse to overwrite files that came into the folder of a site by other hands."""
    for name in files:
        if name not in former and (folder / name).exists():
            raise InvalidInputError(
                f"write_site would overwrite {brief(str(folder / name), 200)}, which recoup did "
                f"not write. Nothing was touched. Choose a new or an empty folder."
            )


def _write_marker(folder: Path, files: Sequence[str]) -> None:
    text = json.dumps({"written_by": "recoup bench report", "files": list(files)}, indent=1)
    write_file(folder / MARKER, f"{text}\n".encode())


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(
            f"Cannot write {brief(str(folder), 200)}: {error.strerror or error}. "
            f"Choose another folder."
        ) from error
    return folder


def _baseline(rows: Sequence[Row], wanted: str) -> str | None:
    """Return the shown name of the baseline, or of its only variant there is."""
    names = {str(row["learner"]) for row in rows}
    if wanted in names:
        return wanted
    variants = sorted({str(row["learner"]) for row in rows if row.get("key") == wanted})
    return variants[0] if variants else None


def _page_data(
    rows: Sequence[Row], baseline: str | None, published: Mapping[str, Mapping[str, float]]
) -> dict[str, Any]:
    """Turn rows into columns: codes of levels, and numbers."""
    texts = {name: [_text(row, name) for row in rows] for name in WORDS}
    families = dict(zip(texts["learner"], texts["family"], strict=True))
    levels = {name: _levels(name, found, families) for name, found in texts.items()}
    codes = {}
    for name, found in texts.items():
        place = {level: code for code, level in enumerate(levels[name])}
        codes[name] = pack(np.array([place[text] for text in found]))
    return {
        "count": len(rows),
        "ids": [row["run"] for row in rows],
        "levels": levels,
        "codes": codes,
        "numbers": {
            name: pack(np.array([_number(row.get(name)) for row in rows]))
            for name in measured_columns()
        },
        "metrics": _metrics(rows),
        "profile": PROFILE,
        "baseline": baseline,
        "published": _published(rows, published),
        "published_for": PUBLISHED_FOR,
        "lent": [place for place, row in enumerate(rows) if is_lent(row)],
        "setting": SETTING,
        "protocols": PROTOCOLS,
        "informed_protocol": INFORMED_PROTOCOL,
        "numeric": NUMERIC_WORDS,
        "reference": REFERENCE,
        "level": LEVEL,
        "formula": FORMULA,
        "name_shown": NAME_SHOWN,
        "name_in_title": NAME_IN_TITLE,
        "standings": _standings(rows, baseline, levels),
    }


def _metrics(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Name the metrics to choose from: recovered ones where runs have no others."""
    done = [row for row in rows if row["status"] == "done"]
    true = [row for row in done if any(row.get(spec.key) is not None for spec in benched_specs())]
    shown = {
        spec.key: (spec.short, spec.higher_is_better)
        for spec in benched_specs()
        if true or not done
    }
    if len(true) < len(done):
        shown |= {
            recovered_name(spec): (f"{spec.short}, recovered", spec.higher_is_better)
            # A ranking alone, which some learners give, has an AUC.
            for spec in sorted(benched_specs(), key=lambda spec: spec.key != "roc_auc")
        }
    return [
        {"key": key, "label": label, "higher_is_better": better}
        for key, (label, better) in shown.items()
    ]


def _text(row: Row, name: str) -> str:
    value = row.get(name)
    if name == "label_frequency" and row.get("mechanism") == OWN_LABELS:
        return "unknown"
    if name in ("label_frequency", "noise"):
        return "none" if value is None else f"{float(value):.12g}"
    if name == "family" and not value:
        return "other"
    text = "" if value is None else str(value)
    return text[:LONGEST_REASON] if name == "reason" else text


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _levels(name: str, found: Sequence[str], families: Mapping[str, str]) -> list[str]:
    """Sort the levels of a column as a reader looks for them."""

    def family_order(family: str) -> tuple[int, str]:
        if family == REFERENCE:
            return len(FAMILIES) + 1, family
        return FAMILIES.index(family) if family in FAMILIES else len(FAMILIES), family

    def order(level: str) -> Any:
        if name in NUMERIC_WORDS:
            return _sorted_as_number(level)
        if name == "family":
            return family_order(level)
        if name == "learner":
            return *family_order(families[level]), level
        if name == "mechanism":
            return level not in AT_RANDOM, level
        return level

    return sorted(set(found), key=order)


def _sorted_as_number(level: str) -> tuple[int, float, str]:
    try:
        return 0, float(level), level
    except ValueError:
        return 1, 0.0, level


def _published(
    rows: Sequence[Row], published: Mapping[str, Mapping[str, float]]
) -> dict[str, dict[str, float]]:
    """Find the published figures of each learner; P3Mix has some for each mode."""
    found = {}
    for row in rows:
        key, mode = row.get("key"), (row.get("params") or {}).get("mode", "e")
        figures = published.get(str(key)) or published.get(f"{key}-{mode}")
        if figures:
            found[str(row["learner"])] = dict(figures)
    return found


def _standings(
    rows: Sequence[Row], baseline: str | None, levels: Mapping[str, list[str]]
) -> list[dict[str, Any]]:
    """Test and rank the learners of each setting and protocol, by each metric."""

    def setting(row: Row) -> tuple[str, ...]:
        return tuple(_text(row, name) for name in SETTING)

    found = []
    for chosen, group in groupby(sorted(rows, key=setting), key=setting):
        here = list(group)
        for protocol, shown in product(levels["protocol"], _metrics(rows)):
            metric = shown["key"]
            own = [row for row in here if row["protocol"] == protocol]
            if not any(row.get(metric) is not None or is_lent(row) for row in own):
                continue
            base = baseline if any(row["learner"] == baseline for row in own) else None
            standing = rank_learners(
                here, metric, protocol=protocol, baseline=base, level=LEVEL, n_boot=REDRAWS
            )
            entry = {"protocol": protocol, "metric": metric} | dict(
                zip(SETTING, chosen, strict=True)
            )
            found.append(entry | _compact(standing, levels))
    return found


def _compact(standing: Standing, levels: Mapping[str, list[str]]) -> dict[str, Any]:
    """Keep of a standing what the page shows, with learners and datasets by their places."""
    learner = {name: place for place, name in enumerate(levels["learner"])}
    dataset = {name: place for place, name in enumerate(levels["dataset"])}
    rank = {item.learner: _short(item.rank) for item in standing.ranks}
    families = {item.learner: item.family for item in standing.results}
    tested = [item for item in standing.results if item.verdict]
    compact: dict[str, Any] = to_plain(
        {
            "tests": [
                [
                    learner[item.learner],
                    dataset[item.cell.dataset],
                    _short(item.p_adjusted),
                    {"better": 1, "worse": -1}.get(item.verdict, 0),
                ]
                for item in tested
            ],
            "ranks": [
                [learner[item.learner], *map(_short, (item.rank, item.lower, item.upper))]
                for item in standing.ranks
            ],
            "tally": [
                [learner[item.learner], item.wins, item.ties, item.losses]
                for item in standing.against
            ],
            "difference": _short(standing.critical_difference),
            "joined": [
                [min(rank[name] for name in group), max(rank[name] for name in group)]
                for group in standing.cliques
            ],
            "friedman": standing.friedman and _short(standing.friedman.p_value),
            "blocks": standing.n_blocks,
            "notes": _notes(standing),
            "left_out": [
                [learner[item.learner], item.reason]
                for item in standing.left_out
                if families.get(item.learner) != REFERENCE
            ],
        }
    )
    return compact


def _notes(standing: Standing) -> list[str]:
    """Say what the ranks of one setting rest on, where each cell is a dataset."""
    n, ranked = standing.n_blocks, len(standing.ranks)
    notes = []
    if 0 < n < len(standing.cells):
        notes.append(
            f"Ranks are over the {n} of {len(standing.cells)} datasets on which all {ranked} "
            f"ranked learners have results with the same seeds."
        )
    if n == 1:
        notes.append("Tests over datasets need at least two of them.")
    elif 1 < n < ROUGH_BELOW:
        notes.append(f"With {n} datasets only large differences can be told.")
    return notes


def _short(value: float) -> float:
    """Keep the digits that a reader can use."""
    return float(f"{value:.5g}")


def _facts(rows: Sequence[Row]) -> str:
    """Say in a few sentences what the site is about, and what all its runs have in common."""
    states = Counter(str(row["status"]) for row in rows)
    counts = ", ".join(f"{n:,} {state}" for state, n in states.most_common())
    sizes = []
    for name in ("learner", "dataset", "seed"):
        n = len({row[name] for row in rows})
        sizes.append(f"{n:,} {name}{'s' if n > 1 else ''}")
    sentences = [f"{len(rows):,} runs: {counts}", ", ".join(sizes)]
    common = [
        f"{name.replace('_', ' ')} {found.pop()}"
        for name in (*SETTING, "protocol")
        if len(found := {_text(row, name) for row in rows}) == 1
    ]
    if common:
        sentences.append(f"All with {', '.join(common)}")
    last = max((str(row["finished"]) for row in rows if row.get("finished")), default="")
    if last:
        sentences.append(f"Last finished {last[:10]}")
    return f"{'. '.join(sentences)}."


def _shard_digits(count: int) -> int:
    """Choose how many digits of a run's id name the file that holds its details."""
    return max(1, math.ceil(math.log(max(count, 1) / RUNS_PER_SHARD, 16)))


def _shards(
    rows: Sequence[Row], details: Callable[[str], Mapping[str, Any] | None], digits: int
) -> dict[str, bytes]:
    """Return files about single runs, a few runs in each, as calls that hand them to the page."""
    done = sorted(str(row["run"]) for row in rows if row["status"] == "done")
    files = {}
    for name, group in groupby(done, key=lambda run: run[:digits]):
        found = {run: _plain_details(more) for run in group if (more := details(run)) is not None}
        if found:
            files[f"runs/{name}.js"] = f"recoupRuns({as_island(found)});\n".encode("ascii")
    return files


def _plain_details(details: Mapping[str, Any]) -> dict[str, Any]:
    """Keep what the page draws, curves by column and with the digits that single precision has."""
    epochs = details.get("curves") or []
    names = dict.fromkeys(name for epoch in epochs for name in epoch)
    curves = {
        name: [_single(epoch.get(name)) for epoch in epochs]
        for name in names
        if any(isinstance(epoch.get(name), int | float) for epoch in epochs)
    }
    words = ("definition", "versions", "hardware", "seeds")
    plain: dict[str, Any] = to_plain(
        {name: details.get(name) for name in words}
        | {"curves": curves, "distributions": details.get("distributions")}
    )
    return plain


def _single(value: Any) -> float | None:
    return float(f"{value:.7g}") if isinstance(value, int | float) else None


def _as_csv(rows: Sequence[Row]) -> str:
    stream = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.writer(stream)
    writer.writerow(names)
    writer.writerows([_csv_cell(row.get(name)) for name in names] for row in rows)
    return stream.getvalue()


def _csv_cell(value: Any) -> Any:
    if isinstance(value, Mapping):
        return json.dumps(to_plain(dict(value)))
    return no_formula(value)
