"""The scored table that recoup carries, for quick starts and tests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.files import writing
from recoup._core.optional import require

FOLDER = Path(__file__).with_name("examples")


@dataclass(frozen=True, repr=False)
class Example:
    """Scored rows with labels as a user has them, and the truth beside.

    Attributes
    ----------
    s : ndarray of shape (n,)
        1 labeled positive, 0 unlabeled.
    scores : dict of str to ndarray of shape (n,)
        One array per classifier; higher is more positive.
    y_true : ndarray of shape (n,)
        1 positive, 0 negative. No score was trained on it.
    description : str
        What the rows are.
    path : Path
        The Parquet file they came from.
    """

    s: NDArray[np.int64]
    scores: dict[str, NDArray[np.float64]]
    y_true: NDArray[np.int64]
    description: str
    path: Path

    def __repr__(self) -> str:
        """Show the sizes."""
        return (
            f"Example({self.path.stem}, n={self.s.sum():,}+{(self.s == 0).sum():,}, "
            f"scores={list(self.scores)}, alpha={self.alpha:.4f})"
        )

    @property
    def alpha(self) -> float:
        """True share of positives among the unlabeled rows."""
        return float(self.y_true[self.s == 0].mean())


def load_example() -> Example:
    """Load 4,601 e-mails, scored by two classifiers that only knew some of the spam.

    Returns
    -------
    Example

    Examples
    --------
    >>> load_example()
    Example(spambase_scores, n=521+4,080, scores=['score_boosting', 'score_logistic'], alpha=0.3167)
    """
    parquet = require("pyarrow.parquet", purpose="load_example()", install="pyarrow")
    path = FOLDER / "spambase_scores.parquet"
    table = parquet.read_table(path)

    def column(name: str) -> NDArray[Any]:
        values: NDArray[Any] = table[name].to_numpy()
        return values

    return Example(
        s=column("flagged"),
        scores={name: column(name) for name in ("score_boosting", "score_logistic")},
        y_true=column("is_spam"),
        description=(
            "4,601 e-mails from Spambase. 521 of the 1,813 spam mails carry a flag; the others "
            "are unlabeled like the clean ones."
        ),
        path=path,
    )


def write_raw_example(path: str | Path, n_rows: int = 4000, seed: int = 0) -> NDArray[np.int64]:
    """Write a raw table as CSV: bank clients, of whom some who subscribed are marked with yes.

    The rows are a random sample of Bank marketing by Moro, Cortez and Rita (2014), under CC BY 4.0.
    Words and numbers are as there; of those who subscribed, two in five have ``yes`` in the column
    ``subscribed``, drawn at random, and all other cells of that column are empty.

    Parameters
    ----------
    path : str or Path
        Where to write.
    n_rows : int, default=4000
        How many clients, at most 45,211.
    seed : int, default=0
        Draws the rows and the marks.

    Returns
    -------
    ndarray of shape (n_rows,)
        1 for those who subscribed, 0 for the others: what the file does not say.
    """
    arrow = require("pyarrow", purpose="write_raw_example()", install="pyarrow")
    csv = require("pyarrow.csv", purpose="write_raw_example()", install="pyarrow")
    parquet = require("pyarrow.parquet", purpose="write_raw_example()", install="pyarrow")
    whole = parquet.read_table(FOLDER.parent / "tables" / "bank.parquet")
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(whole.num_rows, n_rows, replace=False))
    table = whole.take(arrow.array(rows))
    y_true = np.array([cell == "yes" for cell in table["target"].to_pylist()], np.int64)
    marked = (y_true == 1) & (rng.random(n_rows) < 0.4)
    columns = {
        "client": [f"C{row:05d}" for row in rows],
        **{name: table[name] for name in table.column_names if name != "target"},
        "subscribed": ["yes" if one else "" for one in marked],
    }
    with writing(Path(path)) as (draft,):
        csv.write_csv(arrow.table(columns), draft)
    return y_true
