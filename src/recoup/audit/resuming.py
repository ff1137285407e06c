"""Go on with an audit from the files that it wrote."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup.audit.drawing import ScoredRows
from recoup.audit.files import data_facts, read_written_plan, rows_digest
from recoup.audit.plans import AuditPlan, PlanBasis
from recoup.audit.posterior import posterior
from recoup.audit.strata import Strata
from recoup.exceptions import InvalidInputError
from recoup.scores.table import DEFAULT_BINS

if TYPE_CHECKING:
    from recoup.audit.answers import Audit


class OtherRowsError(InvalidInputError):
    """Checked files belong to other rows or scores."""


def resumed(rows: ScoredRows, files: Sequence[Path], truth: str = "answer") -> Audit:
    """Take the answers of all waves so far.

    Rows are counted and drawn once more, which says whether they are those of the plan. What was
    decided is read from the files beside the answers, and not decided anew.

    Parameters
    ----------
    rows : ScoredRows
        The rows that the audit was planned for.
    files : sequence of Path
        Files of checked rows, the first wave first.
    truth : str, default="answer"
        Column with the answers.

    Returns
    -------
    Audit
    """
    basis, audit, follows = None, None, None
    for path in files:
        facts = read_written_plan(path)
        if basis is None:
            basis = _basis(rows, facts, path)
        if facts["data"] != data_facts(basis.table):
            raise _other_file_error(path)
        wave = 1 if audit is None else int(audit.wave.max()) + 1
        if facts["follows"] != follows or facts["wave"] != wave:
            raise InvalidInputError(
                f"{path} is not the round that follows from the files before it. Name all files of "
                f"checked rows, the first round first."
            )
        audit = _wave(basis, facts, audit, path).answers(path, truth=truth)
        follows = facts["checks"]
    assert audit is not None
    return audit


def _basis(rows: ScoredRows, facts: dict[str, Any], path: Path) -> PlanBasis:
    keep = tuple(facts["keep"])
    table = rows.count(keep).thin(DEFAULT_BINS, keep)
    if facts["data"] != data_facts(table):
        raise _other_file_error(path)
    strata = Strata(_floats(facts["edges"], -np.inf), np.array(facts["n_rows"], np.int64))
    most, seed, alpha = facts["candidates"], facts["seed"], facts["alpha"]
    candidates = rows.draw(strata, np.minimum(strata.n_rows, most), seed)
    n_labeled, after = facts["include_labeled"], len(candidates.drawn.rows)
    return PlanBasis(
        table,
        keep,
        posterior(table, alpha),
        alpha,
        facts["beta"],
        facts["scheme"],
        tuple(facts["metrics"]),
        strata,
        candidates,
        rows.draw_labeled(table, n_labeled, seed + 1, after),
        n_labeled,
        facts["confidence"],
        seed,
        facts["n_waves"],
        rows.positions,
        most,
        rows.columns,
    )


def _wave(basis: PlanBasis, facts: dict[str, Any], before: Audit | None, path: Path) -> AuditPlan:
    """Make the plan of a wave again from what its file remembers."""
    total = np.array(facts["counts"], np.int64)
    done = np.zeros_like(total)
    if before is not None:
        assert before.plan is not None
        done = before.plan.counts
    fits = (done <= total).all() and (total <= basis.candidates.counts).all()
    picked: NDArray[np.int64] = np.zeros(0, np.int64)
    if fits:
        picked = basis.candidates.between(done, total)
        picked = np.append(picked, basis.labeled.rows if before is None else picked[:0])
    by_id = dict(zip(map(str, basis.ids_of(picked).tolist()), picked.tolist(), strict=True))
    ids = [str(one) for one in facts["ids"]]
    if sorted(ids) != sorted(by_id):
        raise _other_file_error(path)
    rows = np.array([by_id[one] for one in ids], np.int64)
    made = AuditPlan(
        rows,
        basis.ids_of(rows),
        facts["threshold"],
        facts["budget"],
        facts["wave"],
        total,
        _by_metric(facts["expected"]),
        _by_metric(facts["expected_biased"]),
        basis,
        before,
    )
    if rows_digest(made.ids, made.scores_of(rows)[0]) != facts["checks"]:
        raise _other_file_error(path)
    return made


def _floats(values: Sequence[float | None], missing: float) -> FloatArray:
    return np.array([missing if one is None else one for one in values], float)


def _by_metric(values: dict[str, float | None]) -> dict[str, float]:
    return {key: np.nan if value is None else value for key, value in values.items()}


def _other_file_error(path: Path) -> OtherRowsError:
    return OtherRowsError(
        f"{path} was planned for another file: labels, scores or ids differ. Name the file that "
        f"recoup audit plan had, with the same --score, --label and --id."
    )
