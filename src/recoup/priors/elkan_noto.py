"""Elkan-Noto: alpha from how surely a calibrated classifier takes a positive for a labeled row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias, get_args

import numpy as np

from recoup._core.checks import FloatArray
from recoup._core.constraints import Constraints, Nothing, Number, Words
from recoup._core.notes import Note
from recoup.exceptions import InvalidInputError
from recoup.priors.base import Finding, PriorTags, ScorePriorEstimator
from recoup.priors.conversions import (
    alpha_from_label_frequency,
    alpha_from_pooled,
    density_ratio,
    label_frequency,
)
from recoup.priors.results import PriorCurve
from recoup.scores.table import ScoreTable

Rule: TypeAlias = Literal["e1", "e2", "e3", "ratio"]
Calibration: TypeAlias = Literal["isotonic", "platt"]
Form: TypeAlias = Literal["alternative", "main"]

# Beyond this range of e1, e2 and e3 the classes overlap too much to call them estimates of one c.
WIDE_SPREAD = 0.15
# Probabilities of exactly 0 or 1 have no logit.
EDGE = 1e-12


@dataclass(kw_only=True, eq=False, repr=False)
class ElkanNotoPrior(ScorePriorEstimator):
    r"""Share :math:`c` of the positives that are labeled, read from calibrated probabilities.

    Where only positives are found, :math:`\tau(x) = P(s = 1 \mid x)` equals :math:`c`. Over all
    rows, labeled and unlabeled together,

    .. math::

       e_1 = \operatorname{mean}_{L} \tau, \qquad
       e_2 = \frac{\sum_{L} \tau}{\sum_{L \cup U} \tau}, \qquad
       e_3 = \max \tau, \qquad
       \alpha = \frac{n_l}{n_u} \, \frac{1 - c}{c}

    Parameters
    ----------
    rule : {"e1", "e2", "e3", "ratio"}, default="e3"
        How c is found. e1 and e2 need classes that do not overlap, else alpha comes out too high;
        e3 only needs a region without negatives. ``"ratio"`` skips c: alpha is the mean of
        :math:`\tau` over the unlabeled rows divided by that over the labeled ones, after both
        groups were reweighted to equal sizes (named EN by Garg et al. 2021).
    percentile : float, default=80.0
        Which percentile of :math:`\tau` among labeled rows e3 takes; 100 is the maximum over all
        rows, as published. The maximum is the noisiest value of all: on nine real datasets alpha
        was off by 0.21 with it on average, by 0.06 with the 95th percentile, by 0.04 with the
        80th. Percentiles among all rows, as in other code, miss positives that are rare.
    calibrate : {"isotonic", "platt"} or None, default="isotonic"
        How scores become probabilities. None: they are calibrated P(s=1 | x) of all rows
        together already. If the classifier used class weights they are not; undo these first.
    form : {"alternative", "main"}, default="alternative"
        ``"main"`` adds up the probability of being positive over the unlabeled rows, in place
        of the formula for alpha above. With calibrated scores both agree.
    transform : {"auto", "logistic", "boosting", "forest"}, classifier or None, default="auto"
        How ``fit`` turns features into scores. Every row is scored by a classifier that was
        fitted on other rows. ``"auto"`` takes logistic regression, or boosted trees if they tell
        labeled from unlabeled rows significantly better. None: X is one column of scores.
        ``fit_scores`` does not use it.
    interval : {"subsample", "bootstrap", "refit"} or None, default="subsample"
        How the interval around alpha is made. ``"subsample"`` draws fewer rows without
        replacement and scales the spread down; ``"bootstrap"`` draws as many rows with
        replacement. Both keep the scores. ``"refit"`` draws rows and fits the classifier anew, so
        that its variation is covered too. None: no interval.
    n_draws : int, default=200
        How many times rows are drawn for the interval. More draws make it steadier and slower.
    confidence : float, default=0.95
        Level of the interval, between 0 and 1.
    random_state : int, Generator, RandomState or None, default=0
        Seed of everything random. The same number gives the same estimate.

    Attributes
    ----------
    estimate_ : PriorEstimate
        The result: alpha, its interval, and reasons to doubt it.
    alpha_ : float
        The estimated share of positives among the unlabeled rows.

    Notes
    -----
    Both calibrations make :math:`\sum \tau = n_l`, and then e1 and e2 are the same number.
    ``estimate_.members`` holds alpha by all rules; their spread shows how much the classes overlap.

    References
    ----------
    Elkan and Noto, "Learning classifiers from only positive and unlabeled data", KDD 2008,
    Section 2 (e1, e2, e3), Section 3 (weights of the main form).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> s = np.repeat([1, 0], [1000, 4000])
    >>> positive = (s == 1) | (rng.random(5000) < 0.3)
    >>> found = ElkanNotoPrior(interval=None).fit_scores(s, rng.normal(4.0 * positive)).estimate_
    >>> round(found.alpha, 2)
    0.3
    """

    tags: ClassVar[PriorTags] = PriorTags(
        key="elkan-noto",
        reads="scores",
        assumes="calibrated scores; a region without negatives (e1, e2: no overlap at all)",
        cost="n log n",
        source="Elkan and Noto 2008",
    )
    constraints: ClassVar[Constraints] = {
        "rule": Words(*get_args(Rule)),
        "percentile": Number(above=0, most=100, hint="Pass 100 for the maximum."),
        "calibrate": Words(*get_args(Calibration)) | Nothing(),
        "form": Words(*get_args(Form)),
    }

    rule: Rule = "e3"
    percentile: float = 80.0
    calibrate: Calibration | None = "isotonic"
    form: Form = "alternative"

    def _solve(self, table: ScoreTable, rng: np.random.Generator) -> Finding:
        self._check_scores(table)
        tau = self._calibrated(table)
        frequencies = frequencies_by_rule(tau, table, self.percentile)
        alphas = {rule: self._alpha(c, tau, table) for rule, c in frequencies.items()}
        alphas["ratio"] = _ratio_of_means(tau, table)
        chosen = alphas[self.rule]
        warnings = []
        spread = [alphas[rule] for rule in frequencies]
        if max(spread) - min(spread) > WIDE_SPREAD:
            listed = ", ".join(f"{rule} {alphas[rule]:.3f}" for rule in frequencies)
            warnings.append(
                Note(
                    "disagreement",
                    f"The rules disagree ({listed}): the classes overlap or the scores are not "
                    f"calibrated. e1 and e2 are then too high.",
                )
            )
        quantiles = np.linspace(0.0, 1.0, 201)
        curve = PriorCurve(
            x=quantiles,
            lines={
                "labeled": _weighted_quantiles(tau, table.labeled, quantiles),
                "unlabeled": _weighted_quantiles(tau, table.unlabeled, quantiles),
            },
            x_label="share of rows with a lower probability",
            y_label="P(labeled | x)",
            marker=self.percentile / 100 if self.rule == "e3" else float("nan"),
            level=float(label_frequency(chosen, table.n_labeled, table.n_unlabeled)),
        )
        return Finding(chosen, curve=curve, warnings=tuple(warnings), members=alphas)

    def _check_scores(self, table: ScoreTable) -> None:
        if self.calibrate is None and not table.holds_probabilities:
            low, high = table.score_range
            raise InvalidInputError(
                f"ElkanNotoPrior(calibrate=None) needs scores between 0 and 1: they are taken as "
                f"P(s=1 | x). Got {low:g} to {high:g}. Use calibrate='isotonic'."
            )

    def _calibrated(self, table: ScoreTable) -> FloatArray:
        """P(labeled | score) in the pooled sample, for each score of the table."""
        if self.calibrate == "isotonic":
            from sklearn.isotonic import isotonic_regression

            totals = (table.labeled + table.unlabeled).astype(float)
            rising: FloatArray = isotonic_regression(table.labeled / totals, sample_weight=totals)
            return rising
        if self.calibrate == "platt":
            return _platt(table)
        return table.centers

    def _alpha(self, c: float, tau: FloatArray, table: ScoreTable) -> float:
        n_l, n_u = table.n_labeled, table.n_unlabeled
        if self.form == "alternative":
            return float(alpha_from_label_frequency(c, n_l, n_u))
        # Weight of an unlabeled row, Section 3: tau / (1 - tau) * (1 - c) / c. A tau of exactly 1
        # says that no such row is unlabeled; the cap keeps the weight finite.
        odds = np.minimum(tau, 1 - EDGE) / np.maximum(1 - tau, EDGE)
        positives = n_l + float(table.unlabeled @ odds) * (1 - c) / c
        return float(alpha_from_pooled(positives / (n_l + n_u), n_l, n_u))


def frequencies_by_rule(tau: FloatArray, table: ScoreTable, percentile: float) -> dict[str, float]:
    """Return c by the three rules of Elkan and Noto."""
    on_labeled = float(table.labeled @ tau)
    on_all = on_labeled + float(table.unlabeled @ tau)
    if on_labeled <= 0:
        raise InvalidInputError(
            "ElkanNotoPrior needs probabilities above 0 for some labeled rows. Got 0 for all of "
            "them. Use calibrate='isotonic'."
        )
    top = float(tau.max())
    if percentile < 100:
        top = float(_weighted_quantiles(tau, table.labeled, np.array([percentile / 100]))[0])
    return {"e1": on_labeled / table.n_labeled, "e2": on_labeled / on_all, "e3": top}


def _ratio_of_means(tau: FloatArray, table: ScoreTable) -> float:
    """Mean over U divided by mean over L of what a classifier of equally large groups would say."""
    # r / (1 + r), with the ratio r of the densities, is P(labeled | x) if both groups weigh alike.
    ratio = density_ratio(np.clip(tau, 0.0, 1 - EDGE), table.n_labeled, table.n_unlabeled)
    balanced = ratio / (1 + ratio)
    on_labeled = float(table.labeled @ balanced) / table.n_labeled
    return float(table.unlabeled @ balanced) / table.n_unlabeled / on_labeled


def _weighted_quantiles(tau: FloatArray, counts: FloatArray, quantiles: FloatArray) -> FloatArray:
    """Quantiles of tau, where each value stands for so many rows."""
    order = np.argsort(tau, kind="stable")
    heads = np.cumsum(counts[order])
    places = np.searchsorted(heads, quantiles * heads[-1], side="left")
    # At quantile 0 the first rows may not belong to this group.
    first = int(np.searchsorted(heads, 1))
    values: FloatArray = tau[order][np.clip(places, first, len(tau) - 1)]
    return values


def _platt(table: ScoreTable) -> FloatArray:
    """Fit a sigmoid of the score, or of its logit where all scores are probabilities.

    The targets are those of Platt 1999, a little inside (0, 1), so that groups that do not overlap
    have a best fit too.
    """
    from scipy.optimize import minimize
    from scipy.special import expit, logit

    values = table.centers
    if table.holds_probabilities:
        values = logit(np.clip(values, EDGE, 1 - EDGE))
    totals = (table.labeled + table.unlabeled).astype(float)
    n_l, n_u = table.n_labeled, table.n_unlabeled
    center = np.average(values, weights=totals)
    scale = np.sqrt(np.average((values - center) ** 2, weights=totals)) or 1.0
    z = (values - center) / scale
    # Targets (n + 1) / (n + 2) and 1 / (n + 2): with 1 and 0 the slope would grow without limit
    # where the groups do not overlap.
    hits = table.labeled * ((n_l + 1) / (n_l + 2)) + table.unlabeled * (1 / (n_u + 2))

    def loss(line: FloatArray) -> tuple[float, FloatArray]:
        t = line[0] * z + line[1]
        # log(1 + exp(t)) overflows for large t, logaddexp does not.
        value = float(totals @ np.logaddexp(0.0, t) - hits @ t) / (n_l + n_u)
        residual = (totals * expit(t) - hits) / (n_l + n_u)
        return value, np.array([residual @ z, residual.sum()])

    start = np.array([1.0, np.log(n_l / n_u)])
    best = minimize(loss, start, jac=True, method="BFGS").x
    fitted: FloatArray = expit(best[0] * z + best[1])
    return fitted
