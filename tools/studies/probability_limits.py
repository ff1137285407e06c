"""How often limits of chances hold the chance itself, where that is known.

Rows are simulated: scores of several shapes, and real scores of the study's datasets, whose
classes are drawn anew from a curve that rises as their true classes do. A pointwise limit at 95%
should hold the chance of 95 of 100 rows, on average over rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import beta as beta_distribution
from scipy.stats import norm

from tools.studies.prior_tasks import stream
from tools.studies.probability_tasks import Case, cases

# Shares of positives, label frequencies, and rows.
SETTINGS = ((0.05, 0.3, 3000), (0.2, 0.1, 3000), (0.2, 0.5, 3000), (0.5, 0.3, 1000))
ERROR_OF_ALPHA = 0.03
N_CHECKED = 200
# Over how much of the logit of the rank the steps of real curves are smoothed.
SMOOTHED = 0.4
TILTS = (1.0, 5.0, 27.0)
Ratio = Callable[[np.ndarray], np.ndarray]


def normal(distance: float) -> tuple[Any, Ratio]:
    def draw(y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rng.normal(distance * y)

    return draw, lambda x: np.exp(distance * x - distance**2 / 2)


def bounded() -> tuple[Any, Ratio]:
    def draw(y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.where(y, rng.beta(4, 2, len(y)), rng.beta(1, 4, len(y)))

    one, zero = beta_distribution(4, 2), beta_distribution(1, 4)
    return draw, lambda x: np.asarray(one.pdf(x) / np.maximum(zero.pdf(x), 1e-300))


def two_kinds() -> tuple[Any, Ratio]:
    """Three of ten positives look like negatives."""

    def draw(y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rng.normal(3.0 * (y & (rng.random(len(y)) < 0.7)))

    return draw, lambda x: 0.7 * norm.pdf(x - 3) / norm.pdf(x) + 0.3


def rounded() -> tuple[Any, Ratio]:
    """Scores with one decimal, which ties most rows."""
    draw, _ = normal(2.0)

    def ratio(x: np.ndarray) -> np.ndarray:
        one, zero = (norm.cdf(x + 0.25 - m) - norm.cdf(x - 0.25 - m) for m in (2.0, 0.0))
        return np.asarray(one / np.maximum(zero, 1e-300))

    return lambda y, rng: np.round(2 * draw(y, rng)) / 2, ratio


SHAPES = {
    "normal, 1 apart": normal(1.0),
    "normal, 2 apart": normal(2.0),
    "normal, 3.5 apart": normal(3.5),
    "beta": bounded(),
    "two kinds of positives": two_kinds(),
    "rounded": rounded(),
}


def hold(found: Any, scores: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Share of rows whose chance lies within the limits, and their mean width."""
    lower, upper = found.limits(scores)
    inside = (lower <= truth + 1e-9) & (truth <= upper + 1e-9)
    return float(inside.mean()), float(np.mean(upper - lower))


def simulated(shape: str, pi: float, c: float, n: int, number: int) -> tuple[Any, ...]:
    rng = stream("limits", shape, pi, c, n, number)
    draw, ratio = SHAPES[shape]
    y = rng.random(n) < pi
    x = draw(y, rng)
    s = (y & (rng.random(n) < c)).astype(int)
    odds = pi / (1 - pi) * ratio(x)
    alpha = pi * (1 - c) / (1 - pi * c)
    return rng, s, y, x, odds / (1 + odds), alpha


def known_and_unsure(simulations: int) -> list[dict[str, Any]]:
    """Cover chances with alpha known, and with an estimate that errs by 0.03."""
    from recoup import Draws, calibrate

    found = []
    for shape in SHAPES:
        for pi, c, n in SETTINGS:
            known, unsure = [], []
            for number in range(simulations):
                rng, s, _, x, truth, alpha = simulated(shape, pi, c, n, number)
                if s.sum() < 5:
                    continue
                known.append(hold(calibrate(s, x, alpha=alpha), x, truth))
                center = np.clip(rng.normal(alpha, ERROR_OF_ALPHA), 0.005, 0.99)
                draws = np.clip(rng.normal(center, ERROR_OF_ALPHA, 200), 0.002, 0.99)
                unsure.append(hold(calibrate(s, x, alpha=Draws(draws)), x, truth))
            row: dict[str, Any] = {"shape": shape, "pi": pi, "frequency": c, "rows": n}
            for name, pairs in {"known": known, "unsure": unsure}.items():
                row[name], row[f"{name} width"] = np.mean(pairs, axis=0).tolist()
            found.append(row)
    return found


def on_real_scores(simulations: int) -> list[dict[str, Any]]:
    """Cover chances of real scores, with classes drawn from what true classes say of them."""
    from recoup import calibrate

    found = []
    for case in cases("study"):
        if case.frequency != 0.3:
            continue
        truth = _rising_truth(case)
        pairs = []
        for number in range(simulations):
            rng = stream("real limits", case.dataset, case.pi, number)
            y = rng.random(len(truth)) < truth
            s = (y & (rng.random(len(truth)) < case.frequency)).astype(int)
            if s.sum() < 5:
                continue
            mean = float(truth.mean())
            alpha = mean * (1 - case.frequency) / (1 - mean * case.frequency)
            pairs.append(hold(calibrate(s, case.scores, alpha=alpha), case.scores, truth))
        inside, width = np.mean(pairs, axis=0).tolist()
        found.append({"dataset": case.dataset, "pi": case.pi, "known": inside, "width": width})
    return found


def _rising_truth(case: Case) -> np.ndarray:
    """Isotonic regression on true classes, its steps smoothed along the logit of the rank."""
    from scipy.special import logit
    from sklearn.isotonic import IsotonicRegression

    n = len(case.scores)
    place = logit((np.argsort(np.argsort(case.scores, kind="stable")) + 0.5) / n)
    steps = IsotonicRegression(y_min=0.5 / n, y_max=1 - 0.5 / n).fit(case.scores, case.y)
    grid = np.linspace(place.min(), place.max(), 200)
    near = np.exp(-(((grid[:, None] - place) / SMOOTHED) ** 2) / 2)
    curve = near @ steps.predict(case.scores) / near.sum(axis=1)
    return np.asarray(np.interp(place, grid, np.maximum.accumulate(curve)))


def audited(simulations: int) -> list[dict[str, Any]]:
    """Cover chances where labels favor high scores, with 200 rows checked."""
    from recoup import Interval, audit, calibrate

    found = []
    for tilt in TILTS:
        for shape in ("normal, 2 apart", "two kinds of positives"):
            before, after, gaps = [], [], []
            for number in range(simulations):
                pi, c, n = 0.2, 0.3, 3000
                rng, _, y, x, truth, _ = simulated(shape, pi, c, n, number)
                place = np.argsort(np.argsort(x)) / n
                chance = tilt ** (place - 1) if tilt > 1 else np.ones(n)
                s = (y & (rng.random(n) < c * chance / chance[y].mean())).astype(int)
                alpha = float(y[s == 0].mean())
                plan = audit.plan(s, x, budget=N_CHECKED, alpha=alpha, n_waves=1, random_state=0)
                answers = plan.answers(plan.rows, y[plan.rows])
                # What users know: alpha roughly.
                rough = Interval(max(alpha - 0.03, 0.001), alpha + 0.03)
                alone = calibrate(s, x, alpha=rough)
                mended = calibrate(s, x, alpha=rough, audit=answers)
                before.append(hold(alone, x, truth))
                after.append(hold(mended, x, truth))
                gaps.append(
                    [float(np.mean((one.transform(x) - truth) ** 2)) for one in (alone, mended)]
                )
            errors = np.sqrt(np.mean(gaps, axis=0))
            found.append(
                {
                    "tilt": tilt,
                    "shape": shape,
                    "before": float(np.mean(before, axis=0)[0]),
                    "after": float(np.mean(after, axis=0)[0]),
                    "error before": float(errors[0]),
                    "error after": float(errors[1]),
                    "width": float(np.mean(after, axis=0)[1]),
                }
            )
    return found


def coverage(simulations: int) -> dict[str, Any]:
    """Run all simulations."""
    return {
        "simulated": known_and_unsure(simulations),
        "real": on_real_scores(simulations),
        "audited": audited(simulations),
        "simulations": simulations,
    }
