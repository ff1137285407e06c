"""What recovered metrics would be if labels favored positives with high or with low scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from recoup._core.checks import FloatArray, as_floats, brief
from recoup._core.results import html_table, make_frame, to_plain
from recoup._core.text import show_number, show_percent, show_range
from recoup.exceptions import InvalidInputError
from recoup.metrics.spec import metric_spec
from recoup.selection.how_labeled import BIASED_ODDS, STRENGTHS
from recoup.selection.tilt import CALLER, TiltedEvaluation
from recoup.selection.tipping import TippingPoint, tipping_point

if TYPE_CHECKING:
    import pandas as pd

    from recoup.evaluation.results import Evaluation
    from recoup.plot.scar import SelectionDisplay

Direction: TypeAlias = Literal["high", "low", "both"]

SHOWN = ("roc_auc", "recall", "precision", "f1")


@dataclass(frozen=True, repr=False, eq=False)
class SelectionSensitivity:
    """Recovered metrics over strengths of selection.

    Attributes
    ----------
    strengths : ndarray of shape (n,)
        How many times the odds of a label differ between the positives with the highest and the
        lowest scores; 1 is labeling at random.
    favored : tuple of str of length n
        ``"high"`` or ``"low"``: which scores labels favor. A strength of 1 favors ``"none"``.
    values : dict of str to ndarray of shape (n,)
        Every recovered metric.
    lower : dict of str to ndarray of shape (n,)
        Lower limit of each metric's confidence interval, if the strength is the true one; NaN
        where the evaluation has no interval.
    upper : dict of str to ndarray of shape (n,)
        Upper limit of each metric's confidence interval.
    alphas : ndarray of shape (n,)
        Share of positives among the unlabeled rows at each strength: estimated again where it was
        estimated from the scores, else the same throughout.
    evaluation : Evaluation
        The evaluation that this is about.
    """

    strengths: FloatArray
    favored: tuple[str, ...]
    values: dict[str, FloatArray]
    lower: dict[str, FloatArray]
    upper: dict[str, FloatArray]
    alphas: FloatArray
    evaluation: Evaluation

    def __repr__(self) -> str:
        """Show the range."""
        return (
            f"SelectionSensitivity({len(self.values)} metrics, strengths up to "
            f"{self.strengths.max():.3g}, roc_auc {self.range('roc_auc')[0]:.4g} to "
            f"{self.range('roc_auc')[1]:.4g})"
        )

    @property
    def alpha(self) -> float:
        """Share of positives among the unlabeled rows in the evaluation."""
        return self.evaluation.alpha

    def range(self, metric: str) -> tuple[float, float]:
        """Return the lowest and highest value of a metric over all strengths.

        Parameters
        ----------
        metric : str
            Key of the metric.

        Returns
        -------
        low, high : float
        """
        found = self.values[self._checked(metric, "range")]
        return float(np.nanmin(found)), float(np.nanmax(found))

    def tipping(
        self,
        metric: str,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        direction: Direction = "both",
        maximum: float = BIASED_ODDS,
    ) -> TippingPoint:
        """Return the strength of selection from which on a decision no longer stands.

        Parameters
        ----------
        metric : str
            Key of the metric that the decision rests on.
        at_least : float, optional
            The decision stands while the metric is at least this.
        at_most : float, optional
            The decision stands while the metric is at most this, for a cost. Pass one of the two.
        direction : {"both", "high", "low"}, default="both"
            Which scores labels may favor.
        maximum : float, default=20
            The strongest selection to look at, above 1.

        Returns
        -------
        TippingPoint
            For the value of the metric, and for the limit of its interval.

        Notes
        -----
        Strengths are tried in steps of about one and a half times from 1 to the maximum, and the
        first step over which the answer changes is halved until its ends differ by less than 1%.
        A metric that crosses the goal and comes back within one step is not seen to cross it.
        """
        caller = "SelectionSensitivity.tipping"
        self._checked(metric, "tipping")
        return tipping_point(
            TiltedEvaluation(self.evaluation),
            metric,
            at_least,
            at_most,
            _ways(direction, caller),
            maximum,
            caller,
        )

    def _checked(self, metric: str, method: str) -> str:
        if metric not in self.values:
            metric_spec(metric, f"SelectionSensitivity.{method}")
            raise InvalidInputError(
                f"SelectionSensitivity.{method} knows the metrics of the evaluation only. Got "
                f"{brief(metric)!r}. It has: {', '.join(self.values)}."
            )
        return metric

    def to_frame(self) -> pd.DataFrame:
        """Return one row per strength and direction.

        Returns
        -------
        pandas.DataFrame
            With columns strength, favored and alpha, and for each metric one with its key, one
            with ``_lower`` and one with ``_upper`` after it.
        """
        return make_frame(self._columns())

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists.

        Returns
        -------
        dict
            By name of the column of :meth:`to_frame`.
        """
        plain: dict[str, Any] = to_plain(self._columns())
        return plain

    def _columns(self) -> dict[str, Any]:
        columns: dict[str, Any] = {
            "strength": self.strengths,
            "favored": list(self.favored),
            "alpha": self.alphas,
        }
        for key, values in self.values.items():
            columns |= {
                key: values,
                f"{key}_lower": self.lower[key],
                f"{key}_upper": self.upper[key],
            }
        return columns

    def plot(self, ax: Any = None, metrics: Sequence[str] = SHOWN) -> SelectionDisplay:
        """Draw metrics and their intervals over the strength, low scores favored on the left.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.
        metrics : sequence of str, default=("roc_auc", "recall", "precision", "f1")
            Keys of the metrics to draw.

        Returns
        -------
        SelectionDisplay
        """
        from recoup.plot.scar import SelectionDisplay

        signs = np.array([-1.0 if favored == "low" else 1.0 for favored in self.favored])
        places = signs * np.log(self.strengths)
        order = np.argsort(places)

        def named(columns: dict[str, FloatArray]) -> dict[str, FloatArray]:
            return {metric_spec(key, "plot").label: columns[key][order] for key in metrics}

        return SelectionDisplay(
            places=places[order],
            strengths=self.strengths[order],
            values=named(self.values),
            lower=named(self.lower),
            upper=named(self.upper),
        ).plot(ax)

    def _repr_html_(self) -> str:
        columns = {
            "odds of a label differ": [f"{strength:g} times" for strength in self.strengths],
            "favored scores": list(self.favored),
        }
        at_alpha = f", at alpha {show_number(self.alpha)}"
        if np.ptp(self.alphas):
            columns["alpha"] = [show_number(alpha) for alpha in self.alphas]
            at_alpha = ", with alpha estimated anew for each"
        for key in SHOWN:
            label = metric_spec(key, "SelectionSensitivity").label
            columns[label] = [show_number(value) for value in self.values[key]]
            columns[f"{label}, {show_percent(self.evaluation.confidence)} interval"] = [
                show_range(*ends) for ends in zip(self.lower[key], self.upper[key], strict=True)
            ]
        return html_table(
            columns, f"Recovered metrics if labels favored high or low scores{at_alpha}"
        )


def selection_sensitivity(
    evaluation: Evaluation,
    strengths: ArrayLike = STRENGTHS,
    direction: Direction = "both",
) -> SelectionSensitivity:
    r"""Recover every metric again for labels that favor some scores over others.

    Recovered metrics take the labeled rows as a random sample of the positives. Here the odds
    that a positive is labeled change with its score instead: with r its rank among the positives
    without a label (0 lowest, 1 highest) they are proportional to :math:`\Gamma^r` where high
    scores are favored, to :math:`\Gamma^{-r}` where low ones are. The hidden positives are then
    distributed as the labeled ones with weights :math:`\Gamma^{\mp r}`. With G and H the
    distribution functions of the scores of labeled and of hidden positives,

    .. math:: H = \frac{\log(1 + (\Gamma^{\pm 1} - 1) G)}{\log \Gamma^{\pm 1}}

    Parameters
    ----------
    evaluation : Evaluation
        What :func:`recoup.evaluate` returned, with beta = 1.
    strengths : array-like, default=(1, 1.5, 2, 3, 5)
        Values of :math:`\Gamma`, at least 1. At 1 all metrics are those of the evaluation.
    direction : {"both", "high", "low"}, default="both"
        Which scores labels favor.

    Returns
    -------
    SelectionSensitivity

    Notes
    -----
    An alpha that was estimated from these scores is estimated again at every strength, by the same
    method and from labeled rows weighted to be distributed as the hidden positives are; this takes
    as long as so many estimates. Any other alpha stays as it is.

    Intervals are those of the metrics if the strength were known to be this one: at 1 the
    evaluation's own, elsewhere as far from the value as rows drawn again and again say, times what
    the evaluation's distances at 1 are in those of the drawn rows.

    In a single sample all positives are judged, and those with a label keep their scores; in the
    case-control scheme those of the unlabeled rows are. For an evaluation with propensities, the
    strength is that of errors in them.

    Examples
    --------
    >>> import numpy as np
    >>> from recoup import evaluate
    >>> rng = np.random.default_rng(0)
    >>> positive = rng.random(5000) < 0.3
    >>> s = (positive & (rng.random(5000) < 0.4)).astype(int)
    >>> scores = rng.normal(2.0 * positive)
    >>> found = selection_sensitivity(evaluate(s, scores, alpha=0.2, n_boot=0), (1, 2))
    >>> found
    SelectionSensitivity(17 metrics, strengths up to 2, roc_auc 0.8983 to 0.9438)
    """
    gammas = _checked_strengths(strengths)
    if evaluation.beta != 1:
        raise InvalidInputError(
            f"{CALLER} needs labels that are all right (beta=1): which of the labeled rows were "
            f"favored as positives is not known otherwise. Got beta={evaluation.beta:g}."
        )
    ways = _ways(direction, CALLER)
    cases: list[tuple[float, str]] = []
    for gamma in gammas:
        cases += [(float(gamma), way) for way in ways] if gamma > 1 else [(1.0, "none")]
    tilted = TiltedEvaluation(evaluation)
    found = [tilted.at(1 / gamma if way == "low" else gamma) for gamma, way in cases]

    def stacked(part: str) -> dict[str, FloatArray]:
        columns = [getattr(one, part) for one in found]
        return {key: np.array([column[key] for column in columns]) for key in columns[0]}

    return SelectionSensitivity(
        np.array([gamma for gamma, _ in cases]),
        tuple(way for _, way in cases),
        stacked("values"),
        stacked("lower"),
        stacked("upper"),
        np.array([one.alpha for one in found]),
        evaluation,
    )


def _ways(direction: str, caller: str) -> tuple[str, ...]:
    if direction not in get_args(Direction):
        raise InvalidInputError(
            f"{caller} needs direction to be 'high', 'low' or 'both'. Got {brief(direction)}."
        )
    return ("high", "low") if direction == "both" else (direction,)


def _checked_strengths(strengths: ArrayLike) -> FloatArray:
    gammas = np.atleast_1d(as_floats(strengths, "strengths", CALLER))
    if gammas.ndim != 1 or not len(gammas) or not (np.isfinite(gammas) & (gammas >= 1)).all():
        raise InvalidInputError(
            f"{CALLER} needs strengths of at least 1: how many times the odds of a label differ. "
            f"Got {brief(strengths)}. Pass 1 for labels at random, and direction='low' for labels "
            f"that favor low scores."
        )
    return gammas
