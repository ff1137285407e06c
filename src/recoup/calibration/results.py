"""Calibration: from any score to the chance that a row is positive, with limits."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from recoup._core.checks import FloatArray, Scheme, as_numbers, brief
from recoup._core.notes import Note
from recoup._core.results import html_table, make_frame, to_plain
from recoup._core.text import show_number, show_percent, show_range
from recoup.exceptions import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

Among: TypeAlias = Literal["all", "unlabeled"]
CURVES = (
    *("scores", "probability", "lower", "upper"),
    *("unlabeled", "unlabeled_lower", "unlabeled_upper"),
)


@dataclass(frozen=True, repr=False, eq=False)
class Calibration:
    """Chances of being positive at some scores, read between them for any other score.

    There are two chances for a score. A row that nobody has had a chance to label yet is positive
    with that of *all* rows; one that could have been labeled, and was not, with that of
    *unlabeled* rows, which is smaller.

    Attributes
    ----------
    scores : ndarray of shape (n_knots,)
        Ascending; below the first and above the last one chances stay what they are there.
    probability : ndarray of shape (n_knots,)
        Chance that a row of the population is positive. It never falls.
    lower : ndarray of shape (n_knots,)
        Lower pointwise limits.
    upper : ndarray of shape (n_knots,)
        Upper pointwise limits.
    unlabeled : ndarray of shape (n_knots,)
        Chance that a row is positive which is known to carry no label.
    unlabeled_lower : ndarray of shape (n_knots,)
        Lower pointwise limits.
    unlabeled_upper : ndarray of shape (n_knots,)
        Upper pointwise limits.
    alpha : float
        Share of positives among the unlabeled rows that the chances stand on.
    alpha_lower : float
        Least alpha that the limits allow for.
    alpha_upper : float
        Largest alpha that they allow for.
    alpha_from : str
        ``"given"``, or the method of the estimate.
    beta : float
        Share of right labels.
    scheme : {"single-sample", "case-control"}
        Whether the population is all rows, or the unlabeled rows alone.
    confidence : float
        Level of the limits.
    n_labeled : float
        Labeled rows, or their summed weight.
    n_unlabeled : float
        Unlabeled rows, or their summed weight.
    n_checked : int
        Rows that somebody checked.
    notes : tuple of Note
        What to beware of.
    """

    scores: FloatArray
    probability: FloatArray
    lower: FloatArray
    upper: FloatArray
    unlabeled: FloatArray
    unlabeled_lower: FloatArray
    unlabeled_upper: FloatArray
    alpha: float
    alpha_lower: float
    alpha_upper: float
    alpha_from: str
    beta: float
    scheme: Scheme
    confidence: float
    n_labeled: float
    n_unlabeled: float
    n_checked: int = 0
    notes: tuple[Note, ...] = ()

    def __repr__(self) -> str:
        """Show the range of chances and what they stand on."""
        low, high = show_number(self.probability[0]), show_number(self.probability[-1])
        checked = f", {self.n_checked:,} rows checked" if self.n_checked else ""
        return (
            f"Calibration(probability {low} to {high} for scores {self.scores[0]:.4g} to "
            f"{self.scores[-1]:.4g}, alpha={show_number(self.alpha)} ({self.alpha_from}), "
            f"n={self.n_labeled:,.6g}+{self.n_unlabeled:,.6g}{checked})"
        )

    def transform(self, scores: ArrayLike, *, among: Among = "all") -> FloatArray:
        """Return the chance of being positive for each score.

        Parameters
        ----------
        scores : array-like of shape (n,)
            By the same model; they need not have been seen before.
        among : {"all", "unlabeled"}, default="all"
            Whether a row may carry a label, as new rows may, or is known to carry none.

        Returns
        -------
        ndarray of shape (n,)
            In [0, 1], rising with the score.
        """
        values, among = self._asked(scores, among, "Calibration.transform")
        return self._read(values, "probability" if among == "all" else "unlabeled")

    def limits(self, scores: ArrayLike, *, among: Among = "all") -> tuple[FloatArray, FloatArray]:
        """Return the pointwise confidence limits of the chances.

        Parameters
        ----------
        scores : array-like of shape (n,)
            By the same model.
        among : {"all", "unlabeled"}, default="all"
            As for :meth:`transform`.

        Returns
        -------
        lower, upper : ndarray of shape (n,)
            They include what is not known of alpha.
        """
        values, among = self._asked(scores, among, "Calibration.limits")
        prefix = "" if among == "all" else "unlabeled_"
        return self._read(values, f"{prefix}lower"), self._read(values, f"{prefix}upper")

    def share_outside(self, scores: ArrayLike) -> float:
        """Return the share of scores below the lowest or above the highest one that was seen.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Of rows that are to be calibrated.

        Returns
        -------
        float
            A large share says that the rows, or the model, are others than before.
        """
        values, _ = self._asked(scores, "all", "Calibration.share_outside")
        outside = (values < self.scores[0]) | (values > self.scores[-1])
        return float(outside.mean()) if len(values) else 0.0

    def save(self, path: str | Path) -> Path:
        """Write the calibration as JSON, whole or not at all.

        Parameters
        ----------
        path : str or Path
            Where to; the name ends in ``.json``.

        Returns
        -------
        Path
        """
        from recoup.calibration.stored import write_calibration

        return write_calibration(self, path)

    @classmethod
    def read(cls, path: str | Path) -> Calibration:
        """Read what :meth:`save` wrote; all numbers are the same to the last digit.

        Parameters
        ----------
        path : str or Path
            The file.

        Returns
        -------
        Calibration
        """
        from recoup.calibration.stored import read_calibration

        return read_calibration(path)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per score that is remembered.

        Returns
        -------
        pandas.DataFrame
            With columns score, probability, lower, upper, and those of unlabeled rows.
        """
        names = {name: name.removesuffix("s") if name == "scores" else name for name in CURVES}
        return make_frame({names[name]: getattr(self, name) for name in CURVES})

    def to_dict(self) -> dict[str, Any]:
        """Return plain values.

        Returns
        -------
        dict
            By name of the attribute.
        """
        plain: dict[str, Any] = to_plain({f.name: getattr(self, f.name) for f in fields(self)})
        return plain

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw the chance of being positive along the scores, with its limits.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.
        **style
            Passed on to matplotlib's ``plot``, such as ``color``.

        Returns
        -------
        ProbabilityDisplay
            With ``ax_``, ``figure_`` and ``line_``.
        """
        from recoup.plot.probabilities import ProbabilityDisplay

        display = ProbabilityDisplay(
            scores=self.scores, probability=self.probability, lower=self.lower, upper=self.upper
        )
        return display.plot(ax=ax, **style)

    def _repr_html_(self) -> str:
        chosen = np.unique(np.linspace(0, len(self.scores) - 1, 11).round().astype(int))
        level = show_percent(self.confidence)
        columns = {
            "score": [f"{self.scores[i]:.4g}" for i in chosen],
            "probability": [show_number(self.probability[i]) for i in chosen],
            f"{level} limits": [show_range(self.lower[i], self.upper[i]) for i in chosen],
            "of unlabeled rows": [show_number(self.unlabeled[i]) for i in chosen],
        }
        caption = f"Chance of being positive, with alpha {show_number(self.alpha)}"
        return html_table(columns, caption, self.notes)

    def _asked(self, scores: Any, among: Any, caller: str) -> tuple[FloatArray, Among]:
        """Check what chances are asked for."""
        if among not in get_args(Among):
            raise InvalidInputError(
                f"{caller} needs among to be 'all' (a row that may carry a label) or 'unlabeled' "
                f"(one that is known to carry none). Got {brief(among)!r}."
            )
        values = as_numbers(scores, "scores", caller)
        if not np.isfinite(values).all():
            strange = values[~np.isfinite(values)][0]
            raise InvalidInputError(
                f"{caller} needs every score to be a finite number. Got {strange:g}. Drop or "
                f"impute those rows first."
            )
        return values, among

    def _read(self, values: FloatArray, curve: str) -> FloatArray:
        found: FloatArray = np.interp(values, self.scores, getattr(self, curve))
        return found
