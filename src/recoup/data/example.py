"""The scored table that recoup carries, for quick starts and tests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
