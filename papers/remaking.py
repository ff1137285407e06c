"""Make a paper's page again from what was measured, without measuring anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from papers.experiment import Experiment, Rows, experiment
from papers.reproduction import (
    ABOUT,
    CANNOT_WRITE,
    PAGE,
    VERDICTS,
    Reproduction,
    write_again,
)
from recoup._core.checks import brief
from recoup._core.files import check_own_folder, make_folder
from recoup.exceptions import InvalidInputError


def remake(
    key: str | Experiment, results: str | Path, *, out: str | Path | None = None
) -> Reproduction:
    """Judge and show the rows of a finished experiment again.

    For maintainers: a rule, a sentence or a figure changes, and what was measured stays.

    Parameters
    ----------
    key : str
        A paper; :func:`papers.papers` lists them. Or an experiment of your own.
    results : path
        The file ``results.parquet`` that :func:`papers.reproduce` wrote.
    out : path, optional
        Folder to write to, made if need be; by default the one that holds the file.

    Returns
    -------
    Reproduction
        With no new runs. In another folder the file of results is copied, else left alone.
    """
    chosen = key if isinstance(key, Experiment) else experiment(key)
    if chosen.read is not None:
        from papers.recorded import judge_recorded

        return judge_recorded(chosen, Path(results), Path(results).parent if out is None else out)
    about, rows = _read(Path(results), chosen.key)
    folder = Path(results).parent if out is None else Path(out)
    check_own_folder(folder, (PAGE,), VERDICTS)
    make_folder(folder, CANNOT_WRITE)
    n_runs = len({row.pop("run") for row in rows})
    page = chosen.summarize(rows, about["size"])
    result = Reproduction(
        chosen,
        about["size"],
        folder,
        rows,
        page,
        n_runs,
        0,
        float(about["seconds"]),
        about["version"],
    )
    write_again(result, Path(results))
    return result


def _read(path: Path, key: str) -> tuple[dict[str, Any], Rows]:
    """Return what a file says about itself, and its rows without the cells that they lack."""
    import pyarrow as pa
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.read_table(path)
        about = json.loads((table.schema.metadata or {})[ABOUT.encode()])
        known = {name: about[name] for name in ("paper", "size", "seconds", "version")}
    except (OSError, pa.ArrowInvalid, KeyError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"reproduce --from needs the results.parquet that python -m papers {key} writes. "
            f"{brief(str(path), 200)} cannot be read, or does not say of which size it is. Run "
            f"python -m papers {key} to have one."
        ) from error
    if known["paper"] != key:
        raise InvalidInputError(
            f"reproduce --from needs results of {key}. {brief(str(path), 200)} holds those of "
            f"{brief(known['paper'])}. Name that paper, or another file."
        )
    rows = [
        {name: value for name, value in row.items() if value is not None}
        for row in table.to_pylist()
    ]
    return known, rows
