"""Are promises kept? How often a certified threshold breaks its promise, and what it costs.

Positives are N(d, 1) and negatives N(0, 1), so that the truth of every threshold is known. Data
come about as users' data do: the number of labeled rows is a matter of chance; alpha is known,
drawn around a noisy estimate, somewhere in an interval, or estimated from the same rows; scores may
be tied, positives rare, labels few; or labels favor clear positives, and somebody checks rows that
a plan has drawn; or a classifier is fitted and cut by CertifiedThreshold. What is tested is what
``Evaluation.certify`` calls.

Rule, written before the runs: a promise at 95% is broken in at most 5% of 2,000 simulations plus
two standard errors, which is 5.97%. How often a threshold is found, and how much of the recall of
the best threshold that keeps the promise it has, is reported beside: to refuse always breaks no
promise either.

    python -m tools.studies.promises --families known,ties --out build/promises.json
    python -m tools.studies.promises --write docs/promises-study.md
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, logit
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

from recoup import Draws, Interval
from recoup._core.files import write_file
from recoup._core.prior import Prior
from recoup.audit import Audit, plan
from recoup.audit.audited_prior import placed
from recoup.audit.by_answers import ByAnswers
from recoup.metrics.demands import Demand
from recoup.metrics.learn_then_test import ByLabels
from recoup.priors import estimate
from tools.studies.audits import label_chances
from tools.studies.intervals import World
from tools.studies.promise_page import write_page

SEED = 23
LEVEL = 0.05
LABEL_FREQUENCY = 0.3
ROWS_CHECKED_IN = 5_000  # rows of a simulation with checked rows
FEWEST_FLAGGED = 20  # the best threshold flags at least as many

# Whether a threshold was found, whether it breaks the promise, its recall (its precision, where a
# recall was promised), and that of the best threshold that keeps it.
Outcome = tuple[bool, bool, float, float]


@dataclass(frozen=True)
class Cell:
    """One setting.

    Attributes
    ----------
    family : str
        What is varied.
    name : str
        The setting in words.
    simulate : callable
        Makes one data set and certifies a threshold on it.
    settings : dict
        What it is called with.
    """

    family: str
    name: str
    simulate: Callable[..., Outcome]
    settings: dict[str, Any]


def outcome(world: World, demand: Demand, thresholds: Any, kept: Any) -> Outcome:
    """Judge the lowest kept threshold of a precision, or the highest of a recall."""
    tpr, fpr = (rate[::-1][:-1] for rate in world.curve())
    precision = world.pi * tpr / (world.pi * tpr + (1 - world.pi) * fpr)
    of_precision = demand.kind == "precision"
    reached, other = (precision, tpr) if of_precision else (tpr, precision)
    good, places = np.flatnonzero(reached >= demand.goal), np.flatnonzero(kept)
    which = 0 if of_precision else -1
    best = float(other[good[which]]) if len(good) else 0.0
    if not len(places):
        return False, False, 0.0, best
    at = int(np.searchsorted(world.scores, thresholds[places[-1 - which]]))
    return True, bool(reached[at] < demand.goal - 1e-9), float(other[at]), best


def by_labels(
    rng: np.random.Generator, world: World, labels: int, demand: Demand, alpha: str
) -> Outcome:
    """Labels are a random sample; alpha is known, noisy, in an interval, or estimated."""
    table = world.table(*world.draw(rng, labels, False))
    if alpha == "known":
        prior = Prior.of(world.alpha, 1.0, "study")
    elif alpha == "interval":
        # The truth lies at the end that makes the promise hardest to keep.
        prior = Prior.of(Interval(world.alpha, 1.2 * world.alpha), 1.0, "study")
    elif alpha == "draws":
        center = rng.normal(world.alpha, 0.1 * world.alpha)
        draws = np.clip(rng.normal(center, 0.1 * world.alpha, size=1000), 0.0, 0.95)
        prior = Prior.of(Draws(draws), 1.0, "study")
    else:
        found = estimate(table, random_state=int(rng.integers(2**31)))
        prior = Prior.of(found, 1.0, "study")
    judge = ByLabels(table, prior, "single-sample")
    return outcome(world, demand, judge.thresholds, judge.kept(demand, LEVEL))


@dataclass(frozen=True)
class CheckedData:
    """Rows whose labels favor clear positives, and the truth about them."""

    y: np.ndarray
    s: np.ndarray
    scores: np.ndarray
    alpha: float

    @classmethod
    def draw(
        cls, rng: np.random.Generator, pi: float, separation: float, odds: float
    ) -> CheckedData:
        """Draw them; alpha is off by a fifth, as an estimate from such labels would be, or more."""
        y = rng.random(ROWS_CHECKED_IN) < pi
        x = np.round(rng.normal(y * separation, 1.0), 3)
        scores = expit(separation * x - separation**2 / 2 + logit(pi))
        chance = label_chances(y, scores, None, f"favor x{odds:g}")
        s = (y & (rng.random(len(y)) < chance)).astype(int)
        alpha = max(float(y[s == 0].mean() * rng.lognormal(0.0, 0.2)), 1e-3)
        return cls(y, s, scores, min(alpha, 0.9))

    def best(self, goal: float) -> float:
        """Return the recall of the best threshold that keeps a precision."""
        order = np.argsort(-self.scores, kind="stable")
        found = np.cumsum(self.y[order])
        precision = found / np.arange(1, len(found) + 1)
        good = np.flatnonzero(precision[FEWEST_FLAGGED:] >= goal)
        return float(found[FEWEST_FLAGGED + good[-1]] / found[-1]) if len(good) else 0.0

    def expected_cut(self, goal: float) -> float:
        """Return the lowest threshold that keeps a precision, as far as the labels tell."""
        order = np.argsort(-self.scores, kind="stable")
        total = self.s.sum() + self.alpha * (self.s == 0).sum()
        found = total * np.cumsum(self.s[order]) / self.s.sum()
        precision = found / np.arange(1, len(found) + 1)
        good = np.flatnonzero(precision[FEWEST_FLAGGED:] >= goal)
        return float(self.scores[order[FEWEST_FLAGGED + (good[-1] if len(good) else 0)]])

    def judged(self, threshold: float, goal: float) -> Outcome:
        """Hold a threshold against the truth of these rows."""
        flagged = self.scores >= threshold
        broken = not flagged.any() or self.y[flagged].mean() < goal
        return True, bool(broken), float(self.y[flagged].sum() / self.y.sum()), self.best(goal)


def by_answers(
    rng: np.random.Generator, pi: float, separation: float, odds: float, goal: float, budget: int
) -> Outcome:
    """Labels favor clear positives; rows are checked that a plan for this promise has drawn."""
    return checked_by_plan(rng, CheckedData.draw(rng, pi, separation, odds), goal, budget)


def checked_by_plan(
    rng: np.random.Generator, data: CheckedData, goal: float, budget: int
) -> Outcome:
    """Check rows that a plan for a precision has drawn, and certify by the answers."""
    made = plan(
        data.s,
        data.scores,
        threshold=data.expected_cut(goal),
        budget=budget,
        n_waves=1,
        alpha=data.alpha,
        metrics=("precision",),
        random_state=int(rng.integers(2**31)),
    )
    audit: Audit = made.answers(made.rows, data.y[made.rows])
    _, population, checked = placed(audit, data.s, data.scores, "single-sample", "study")
    judge = ByAnswers(population, checked, data.alpha, 1.0, int(rng.integers(2**31)))
    kept = judge.kept(Demand("precision", goal), LEVEL)
    if not kept.any():
        return False, False, 0.0, data.best(goal)
    return data.judged(float(judge.thresholds[np.flatnonzero(kept)[-1]]), goal)


def by_classifier(rng: np.random.Generator, pi: float, labels: int, goal: float) -> Outcome:
    """A classifier is fitted, and cut by scores of models that have not seen the rows."""
    from recoup.learners import CertifiedThreshold

    n, shift = round(labels / (pi * LABEL_FREQUENCY)), np.array([2.5, 1.5])
    y = rng.random(n) < pi
    X = rng.normal(size=(n, 2)) + y[:, None] * shift
    s = (y & (rng.random(n) < LABEL_FREQUENCY)).astype(int)
    alpha = pi * (1 - LABEL_FREQUENCY) / (1 - pi * LABEL_FREQUENCY)
    model = CertifiedThreshold(
        LogisticRegression(), precision=goal, alpha=alpha, random_state=int(rng.integers(2**31))
    ).fit(X, s)
    size = float(np.hypot(*shift))
    # The best threshold along the best direction, in closed form up to a grid.
    cuts = np.linspace(-4.0, 4.0 + size, 2000)
    tpr, fpr = norm.sf(cuts, size), norm.sf(cuts)
    best = tpr[pi * tpr >= goal * (pi * tpr + (1 - pi) * fpr)].max(initial=0.0)
    if not np.isfinite(model.threshold_):
        return False, False, 0.0, float(best)
    # Of a linear model the truth is known, too.
    weights, bias = model.estimator_.coef_[0], model.estimator_.intercept_[0]
    along = (weights @ shift) / np.linalg.norm(weights)
    cut = (logit(model.threshold_) - bias) / np.linalg.norm(weights)
    tpr, fpr = norm.sf(cut, along), norm.sf(cut)
    precision = pi * tpr / (pi * tpr + (1 - pi) * fpr)
    return True, bool(precision < goal), float(tpr), float(best)


def cells() -> Iterator[Cell]:
    """All settings, family by family."""
    for family, alpha, labels, pi, d, kind, goal in (
        ("known", "known", 300, 0.2, 3.0, "precision", 0.8),
        ("known", "known", 2000, 0.2, 3.0, "precision", 0.9),
        ("known", "known", 300, 0.02, 3.5, "precision", 0.7),
        ("known", "known", 300, 0.001, 4.0, "precision", 0.5),
        ("recall", "known", 300, 0.02, 3.5, "recall", 0.9),
        ("50 labels", "known", 50, 0.2, 4.0, "precision", 0.8),
        ("50 labels", "known", 50, 0.02, 3.5, "precision", 0.5),
        ("50 labels", "known", 50, 0.2, 3.0, "recall", 0.8),
        ("noisy alpha", "draws", 300, 0.2, 3.0, "precision", 0.7),
        ("interval", "interval", 300, 0.2, 3.0, "precision", 0.7),
        ("estimated alpha", "estimated", 300, 0.2, 3.0, "precision", 0.6),
    ):
        name = f"pi {pi:g}, {labels} labels, d {d:g}, {kind} {goal:g}"
        demand = Demand(kind, goal)  # type: ignore[arg-type]
        yield Cell(
            family,
            name,
            by_labels,
            {
                "world": World(pi, LABEL_FREQUENCY, d),
                "labels": labels,
                "demand": demand,
                "alpha": alpha,
            },
        )
    for pi, d, goal in ((0.2, 3.0, 0.8), (0.02, 3.5, 0.6)):
        yield Cell(
            "ties",
            f"16 scores, pi {pi:g}, 300 labels, d {d:g}, precision {goal:g}",
            by_labels,
            {
                "world": World(pi, LABEL_FREQUENCY, d, ties=True),
                "labels": 300,
                "demand": Demand("precision", goal),
                "alpha": "known",
            },
        )
    for pi, d, odds, goal, budget in ((0.2, 2.5, 27.0, 0.8, 100), (0.03, 3.0, 27.0, 0.6, 100)):
        yield Cell(
            "audit",
            f"pi {pi:g}, odds x{odds:g}, {budget} checks, d {d:g}, precision {goal:g}",
            by_answers,
            {"pi": pi, "separation": d, "odds": odds, "goal": goal, "budget": budget},
        )
    for pi, labels, goal in ((0.2, 300, 0.8), (0.05, 100, 0.5)):
        yield Cell(
            "fitted classifier",
            f"logistic regression, pi {pi:g}, {labels} labels, precision {goal:g}",
            by_classifier,
            {"pi": pi, "labels": labels, "goal": goal},
        )


def more_cells() -> Iterator[Cell]:
    """Settings added later, after all others, so that the numbers of those stay theirs."""
    world = World(0.2, 0.7, 3.0)
    yield Cell(
        "estimated alpha",
        "pi 0.2, 70% of the positives labeled, 300 labels, d 3, precision 0.7",
        by_labels,
        {"world": world, "labels": 300, "demand": Demand("precision", 0.7), "alpha": "estimated"},
    )
    for pi, d, recall in ((0.2, 3.0, 0.95), (0.02, 3.5, 0.9)):
        tied = World(pi, LABEL_FREQUENCY, d, ties=True)
        goal = round(just_broken(tied, recall), 3)
        yield Cell(
            "ties",
            f"16 scores, pi {pi:g}, 300 labels, d {d:g}, precision {goal:g}, just missed by one",
            by_labels,
            {
                "world": tied,
                "labels": 300,
                "demand": Demand("precision", goal),
                "alpha": "known",
            },
        )


def just_broken(world: World, recall: float) -> float:
    """Return a precision that a tied score with about this recall just misses."""
    tpr, fpr = (rate[::-1][:-1] for rate in world.curve())
    precision = world.pi * tpr / (world.pi * tpr + (1 - world.pi) * fpr)
    at = int(np.argmin(np.abs(tpr - recall)))
    return float(precision[at]) + 0.005


def measured(cell: Cell, number: int, simulations: int) -> dict[str, Any]:
    """Run one setting."""
    found = []
    for repetition in range(simulations):
        rng = np.random.default_rng([SEED, number, repetition])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(cell.simulate(rng, **cell.settings))
    return {"family": cell.family, "cell": cell.name} | summary_of(found)


def summary_of(outcomes: list[Outcome]) -> dict[str, Any]:
    """Return how often promises are broken and thresholds found, and what they reach."""
    was_found, broken, other, best = np.array(outcomes, float).T
    return {
        "simulations": len(outcomes),
        "broken": float(broken.mean()),
        "found": float(was_found.mean()),
        "other": float(other.mean()),
        "other_if_found": float(other[was_found > 0].mean()) if was_found.any() else None,
        "best": float(best.mean()),
    }


def allowed(simulations: int) -> float:
    """The largest share of broken promises that the rule lets pass."""
    return LEVEL + 2 * float(np.sqrt(LEVEL * (1 - LEVEL) / simulations))


def main() -> None:
    """Run what is asked for, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=2000)
    parser.add_argument("--families", help="comma-separated; all by default")
    parser.add_argument("--out", type=Path, default=Path("build/promises.json"))
    parser.add_argument("--peers", type=Path, default=Path("build/promise_peers.json"))
    parser.add_argument("--write", type=Path, help="page to write from what was measured")
    options = parser.parse_args()
    results = json.loads(options.out.read_text()) if options.out.exists() else []
    done = {(one["family"], one["cell"], one["simulations"]) for one in results}
    wanted = options.families.split(",") if options.families else None
    for number, cell in enumerate((*cells(), *more_cells())):
        if wanted is not None and cell.family not in wanted:
            continue
        if (cell.family, cell.name, options.simulations) in done:
            continue
        results.append(measured(cell, number, options.simulations))
        print(json.dumps(results[-1]), flush=True)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        write_file(options.out, json.dumps(results, indent=1).encode())
    if options.write is not None:
        peers = json.loads(options.peers.read_text()) if options.peers.exists() else []
        write_file(options.write, write_page(results, peers, allowed).encode())


if __name__ == "__main__":
    main()
