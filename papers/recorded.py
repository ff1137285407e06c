"""Judge an experiment whose runs were made by ``recoup bench``, from the table of its results."""

from __future__ import annotations

from pathlib import Path

from papers.experiment import Experiment
from papers.reproduction import CANNOT_WRITE, PAGE, VERDICTS, Reproduction, write_again
from recoup._core.checks import brief
from recoup._core.files import check_own_folder, make_folder
from recoup.exceptions import InvalidInputError


def judge_recorded(chosen: Experiment, results: Path, out: str | Path) -> Reproduction:
    """Read the results of a benchmark, judge them, and write the page.

    Parameters
    ----------
    chosen : Experiment
        One with ``read``.
    results : Path
        The file of results.
    out : path
        Folder to write to, made if need be; if the file lies elsewhere it is copied there.

    Returns
    -------
    Reproduction
        With no new runs; its size is always ``"full"``.
    """
    import recoup

    assert chosen.read is not None
    if not results.is_file():
        raise InvalidInputError(
            f"reproduce {chosen.key} judges runs of a benchmark, and needs what they came to. "
            f"There is no file {brief(str(results), 200)}. Make it with:\n{chosen.made_by}"
        )
    folder = Path(out)
    check_own_folder(folder, (PAGE,), VERDICTS)
    rows, page = chosen.read(results)
    make_folder(folder, CANNOT_WRITE)
    done = [row for row in rows if row["status"] == "done"]
    seconds = sum(row.get("seconds") or 0.0 for row in done)
    result = Reproduction(
        chosen, "full", folder, rows, page, len(done), 0, seconds, recoup.__version__
    )
    write_again(result, results)
    return result
