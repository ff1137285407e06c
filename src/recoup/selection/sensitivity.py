"""What recovered metrics would be if labels favored positives with high or with low scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recoup._core.checks import FloatArray, as_floats, brief
from recoup._core.results import html_table, make_frame, to_plain
from recoup._core.text import show_number
from recoup.exceptions import InvalidInputError
from recoup.metrics.curves import recovered_roc
from recoup.metrics.measure import measure
from recoup.metrics.rates import Mixture
from recoup.metrics.spec import metric_spec
from recoup.scores.table import ScoreTable

if TYPE_CHECKING:
    import pandas as pd

    from recoup.evaluation.results import Evaluation
    from recoup.plot.scar import SelectionDisplay

Direction: TypeAlias = Literal["high", "low", "both"]

STRENGTHS = (1.0, 1.5, 2.0, 3.0, 5.0)
SHOWN = ("roc_auc", "recall", "precision", "f1")
CALLER = "selection_sensitivity"


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
    alpha : float
        Share of positives among the unlabeled rows, the same throughout.
    """

    strengths: FloatArray
    favored: tuple[str, ...]
    values: dict[str, FloatArray]
    alpha: float

    def __repr__(self) -> str:
        """Show the range."""
        return (
            f"SelectionSensitivity({len(self.values)} metrics, strengths up to "
            f"{self.strengths.max():.3g}, roc_auc {self.range('roc_auc')[0]:.4g} to "
            f"{self.range('roc_auc')[1]:.4g})"
        )

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
        if metric not in self.values:
            metric_spec(metric, "SelectionSensitivity.range")
            raise InvalidInputError(
                f"SelectionSensitivity.range knows the metrics of the evaluation only. Got "
                f"{brief(metric)!r}. It has: {', '.join(self.values)}."
            )
        found = self.values[metric]
        return float(np.nanmin(found)), float(np.nanmax(found))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per strength and direction.

        Returns
        -------
        pandas.DataFrame
            With columns strength and favored, and one for each metric.
        """
        return make_frame({"strength": self.strengths, "favored": list(self.favored)} | self.values)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists.

        Returns
        -------
        dict
            With alpha, strength, favored, and the key of each metric.
        """
        plain: dict[str, Any] = to_plain(
            {"alpha": self.alpha, "strength": self.strengths, "favored": self.favored} | self.values
        )
        return plain

    def plot(self, ax: Any = None, metrics: Sequence[str] = SHOWN) -> SelectionDisplay:
        """Draw metrics over the strength of selection, low scores favored on the left.

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
        return SelectionDisplay(
            places=places[order],
            strengths=self.strengths[order],
            values={metric_spec(key, "plot").label: self.values[key][order] for key in metrics},
        ).plot(ax)

    def _repr_html_(self) -> str:
        columns = {
            "odds of a label differ": [f"{strength:g} times" for strength in self.strengths],
            "favored scores": list(self.favored),
        }
        for key in SHOWN:
            label = metric_spec(key, "SelectionSensitivity").label
            columns[label] = [show_number(value) for value in self.values[key]]
        return html_table(
            columns,
            f"Recovered metrics if labels favored high or low scores, at alpha "
            f"{show_number(self.alpha)}",
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
    Alpha stays as it is: it must be known from elsewhere, since estimators of alpha assume labels
    at random too. In a single sample all positives are judged, and those with a label keep their
    scores; in the case-control scheme those of the unlabeled rows are. For an evaluation with
    propensities, the strength is that of errors in them.

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
    gammas = _checked(strengths, direction)
    if evaluation.beta != 1:
        raise InvalidInputError(
            f"{CALLER} needs labels that are all right (beta=1): which of the labeled rows were "
            f"favored as positives is not known otherwise. Got beta={evaluation.beta:g}."
        )
    ways = ("high", "low") if direction == "both" else (direction,)
    cases: list[tuple[float, str]] = []
    for gamma in gammas:
        cases += [(float(gamma), way) for way in ways] if gamma > 1 else [(1.0, "none")]
    table, mixture = evaluation.table, evaluation.mixture
    found = []
    for gamma, way in cases:
        fair = table
        if way != "none":
            fair = _fair_table(table, mixture, gamma if way == "high" else 1 / gamma)
        roc = recovered_roc(fair, mixture)
        found.append(measure(fair, mixture, roc, evaluation.threshold))
    return SelectionSensitivity(
        np.array([gamma for gamma, _ in cases]),
        tuple(way for _, way in cases),
        {key: np.array([one[key][1] for one in found]) for key in found[0]},
        evaluation.alpha,
    )


def _checked(strengths: ArrayLike, direction: str) -> FloatArray:
    if direction not in get_args(Direction):
        raise InvalidInputError(
            f"{CALLER} needs direction to be 'high', 'low' or 'both'. Got {brief(direction)}."
        )
    gammas = np.atleast_1d(as_floats(strengths, "strengths", CALLER))
    if gammas.ndim != 1 or not len(gammas) or not (np.isfinite(gammas) & (gammas >= 1)).all():
        raise InvalidInputError(
            f"{CALLER} needs strengths of at least 1: how many times the odds of a label differ. "
            f"Got {brief(strengths)}. Pass 1 for labels at random, and direction='low' for labels "
            f"that favor low scores."
        )
    return gammas


def _fair_table(table: ScoreTable, mixture: Mixture, gamma: float) -> ScoreTable:
    """Return the counts that labels at random would have given, if labels have this tilt."""
    labeled = table.labeled.astype(float)
    # The hidden positives at each score, scaled to as many as there are labeled ones.
    hidden = table.n_labeled * np.diff(_hidden_share(labeled, gamma), prepend=0.0)
    unlabeled: NDArray[Any] = table.unlabeled
    if mixture.scheme == "single-sample":
        # All positives are a mixture of labeled and hidden ones. Giving both groups that same
        # distribution moves counts between them; the total at each score stays.
        n_hidden = mixture.alpha * table.n_unlabeled
        moved = (labeled - hidden) * (n_hidden / (table.n_labeled + n_hidden))
        return replace(table, labeled=labeled - moved, unlabeled=unlabeled + moved)
    return replace(table, labeled=hidden)


def _hidden_share(labeled: FloatArray, gamma: float) -> FloatArray:
    """Share of the hidden positives up to each score, ascending."""
    heads = np.cumsum(labeled)
    # The formula of H above; log1p, because gamma - 1 may be small.
    share: FloatArray = np.log1p((gamma - 1) * heads / heads[-1]) / np.log(gamma)
    return share
