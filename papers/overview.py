"""One page about all papers: what came out as published, what did not, and what follows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

from papers.experiment import Verdict, markdown_table
from papers.reproduction import CLAIM_COLUMNS, PAGE, VERDICTS
from recoup._core.checks import brief
from recoup._core.files import write_file
from recoup.exceptions import InvalidInputError

INTRO = """\
recoup does what these papers describe, so their experiments should come out again. Each was
repeated from one command on real data, and each claim has a verdict by a rule that its page
states. Rules of claims that the papers make only in words or pictures are ours, and some were
settled after a first, smaller run had shown how noisy the figures are.

*Not reproduced* does not mean wrong: often the estimators are better now than when the paper was
written, or the paper does not say enough to repeat it. The reason stands beside each."""


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
    found = {name.parent.name: _read(name) for name in sorted(root.glob(f"*/{VERDICTS}"))}
    if not found:
        raise InvalidInputError(
            f"write_overview needs a folder with repeated experiments. {brief(str(root), 200)} "
            f"holds none. Run python -m papers PAPER --out {brief(str(root), 200)}/PAPER first."
        )
    links = {key: f"{root.name}/{key}/{PAGE}" for key in found}
    if target.parent.resolve() != root.parent.resolve():
        links = {key: str((root / key / PAGE).resolve()) for key in found}
    parts = ["# Do the papers hold?", INTRO, _counts(found, links)]
    for key, one in found.items():
        parts += [f"## {one['title']}", one["citation"], one["lesson"]]
        parts += _exceptions(one, links[key])
    parts += ["## How to repeat this", _how(found)]
    return write_file(target, ("\n\n".join(part for part in parts if part) + "\n").encode())


def _read(path: Path) -> dict[str, Any]:
    try:
        kept = json.loads(path.read_bytes())
        return {name: kept[name] for name in ("title", "citation", "lesson", "size", "claims")}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidInputError(
            f"write_overview cannot read {brief(str(path), 200)}. Run python -m papers "
            f"{path.parent.name} again: it writes that file anew."
        ) from error


def _count(one: dict[str, Any], verdict: str) -> int:
    return sum(claim["verdict"] == verdict for claim in one["claims"])


def _counts(found: dict[str, dict[str, Any]], links: dict[str, str]) -> str:
    verdicts = get_args(Verdict)
    rows = [
        [f"[{one['title']}]({links[key]})", *(str(_count(one, verdict)) for verdict in verdicts)]
        for key, one in found.items()
    ]
    totals = [str(sum(_count(one, verdict) for one in found.values())) for verdict in verdicts]
    return markdown_table(["Paper", *verdicts], [*rows, ["All claims", *totals]])


def _exceptions(one: dict[str, Any], link: str) -> list[str]:
    """Tell what did not come out; what did is on the paper's own page."""
    missed = [claim for claim in one["claims"] if claim["verdict"] != "reproduced"]
    held = len(one["claims"]) - len(missed)
    text = f"{held} of {len(one['claims'])} claims came out as published ([all of them]({link}))."
    if not missed:
        return [text]
    names = ("text", "published", "ours", "verdict", "reason")
    rows = [[claim[name] for name in names] for claim in missed]
    return [f"{text} The others:", markdown_table(CLAIM_COLUMNS, rows)]


def _how(found: dict[str, dict[str, Any]]) -> str:
    commands = "\n".join(
        f"python -m papers {key}{'' if one['size'] == 'quick' else ' --' + one['size']}"
        for key, one in found.items()
    )
    return (
        f"```console\n{commands}\n```\n\nEach goes on where it was stopped, takes `--jobs`, and "
        f"writes its page, its figures and all that was measured. `--quick` takes some minutes on "
        f"two cores; the datasets are read from the folder that `RECOUP_DATA` names."
    )
