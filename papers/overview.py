"""One page about all papers: what holds, what does not, why, and what follows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from papers.claims import (
    VERDICTS,
    cause_table,
    claim_table,
    from_dict,
    verdict_counts,
    verdict_sentence,
)
from papers.experiment import Claim, markdown_table
from papers.reproduction import PAGE
from papers.reproduction import VERDICTS as VERDICT_FILE
from recoup._core.checks import brief
from recoup._core.files import write_file
from recoup.exceptions import InvalidInputError

INTRO = """\
recoup does what these papers describe, so their experiments should come out again. Each was
repeated from one command on real data. A claim is what a paper says, in our words, with the setting
it was looked at in, a rule, and the effect that decides, with a 95% interval. Its verdict is one of
four:

- **holds**: by its rule;
- **holds in the paper's setting**: by its rule there, but not where it was looked at beyond that;
  the rule says where;
- **does not hold**: by its rule. That does not mean that the paper is wrong: often the estimators
  are better now than when it was written;
- **cannot be told**: the paper does not say enough, the data are not at hand, or our runs do not
  suffice.

Claims of PU-Bench are decided by intervals: where the interval has the limit of the rule in it, a
claim cannot be told. Those of the other papers are decided by the value, with the interval shown
beside it, unless their rule speaks of the interval; where a value decides that its interval leaves
open, the reason says so.

Rules of claims that the papers make only in words or pictures are ours. Some were settled after a
first, smaller run had shown how noisy the figures are, and some were changed after all results were
known: these say so, and what the old rule says."""
CAUSES = """\
Claims are not independent: several may fail for one reason. So they are counted by their root cause
too."""
# Reasons why a claim waits for more runs: nothing about the paper or its methods lies behind them.
WAITING = ("runs are missing", "seeds leave it open")


@dataclass(frozen=True)
class _Paper:
    """What a folder keeps of a repeated experiment."""

    title: str
    citation: str
    lesson: str
    size: str
    claims: tuple[Claim, ...]


def write_overview(folder: str | Path, path: str | Path) -> Path:
    """Write one page about the papers whose experiments were repeated in a folder.

    Parameters
    ----------
    folder : path
        With one folder per paper, as :func:`papers.reproduce` leaves them.
    path : path
        The Markdown file to write, in or beside the folder's parent so that its links hold.

    Returns
    -------
    Path
    """
    root, target = Path(folder), Path(path)
    found = {name.parent.name: _read(name) for name in sorted(root.glob(f"*/{VERDICT_FILE}"))}
    if not found:
        raise InvalidInputError(
            f"write_overview needs a folder with repeated experiments. {brief(str(root), 200)} "
            f"holds none. Run python -m papers PAPER --out {brief(str(root), 200)}/PAPER first."
        )
    links = {key: f"{root.name}/{key}/{PAGE}" for key in found}
    if target.parent.resolve() != root.parent.resolve():
        links = {key: str((root / key / PAGE).resolve()) for key in found}
    parts = ["# Do the papers hold?", INTRO, _counts(found, links)]
    causes = cause_table(
        {
            f"[{key}]({links[key]})": [c for c in one.claims if c.cause not in WAITING]
            for key, one in found.items()
        }
    )
    waiting = _waiting([claim for one in found.values() for claim in one.claims])
    parts += ["## What lies behind", CAUSES] if causes or waiting else []
    parts += [causes, waiting]
    for key, one in found.items():
        parts += [f"## {one.title}", one.citation, one.lesson]
        parts += _exceptions(one, links[key])
    parts += ["## How to repeat this", _how(found)]
    return write_file(target, ("\n\n".join(part for part in parts if part) + "\n").encode())


def _read(path: Path) -> _Paper:
    try:
        kept = json.loads(path.read_bytes())
        about = {name: kept[name] for name in ("title", "citation", "lesson", "size")}
        return _Paper(**about, claims=tuple(map(from_dict, kept["claims"])))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidInputError(
            f"write_overview cannot read {brief(str(path), 200)}. Run python -m papers "
            f"{path.parent.name} again: it writes that file anew."
        ) from error


def _counts(found: dict[str, _Paper], links: dict[str, str]) -> str:
    def line(name: str, claims: tuple[Claim, ...]) -> list[str]:
        counts = verdict_counts(claims)
        causes = len({claim.cause for claim in claims if claim.cause})
        return [name, *(str(counts[verdict]) for verdict in VERDICTS), str(causes)]

    rows = [line(f"[{one.title}]({links[key]})", one.claims) for key, one in found.items()]
    every = tuple(claim for one in found.values() for claim in one.claims)
    columns = ["Paper", *VERDICTS, "causes behind all but the first"]
    return markdown_table(columns, [*rows, line("All claims", every)])


def _waiting(claims: list[Claim]) -> str:
    """Say how many claims wait for more runs; nothing if none does."""
    counts = {cause: sum(claim.cause == cause for claim in claims) for cause in WAITING}
    named = [f"{cause} ({n})" for cause, n in counts.items() if n]
    n = sum(counts.values())
    if not n:
        return ""
    return (
        f"{n} more {'claim' if n == 1 else 'claims'} cannot be told yet, and no cause of the "
        f"paper's or its methods' lies behind that: {', '.join(named)}."
    )


def _exceptions(one: _Paper, link: str) -> list[str]:
    """Tell what does not hold plainly; what does is on the paper's own page."""
    missed = [claim for claim in one.claims if claim.verdict != "holds"]
    text = f"{verdict_sentence(one.claims)} [All of them]({link})."
    if not missed:
        return [text]
    return [f"{text} Those that do not hold plainly:", claim_table(missed, in_full=True)]


def _how(found: dict[str, _Paper]) -> str:
    commands = "\n".join(
        f"python -m papers {key}{'' if one.size == 'quick' else ' --' + one.size}"
        for key, one in found.items()
    )
    return (
        f"```console\n{commands}\n```\n\nEach goes on where it was stopped, takes `--jobs`, and "
        f"writes its page, its figures and all that was measured. `--quick` takes some minutes on "
        f"two cores; the datasets are read from the folder that `RECOUP_DATA` names. "
        f"`--from results.parquet` makes a page from what was measured before."
    )
