"""Audits beside two public packages: the same populations, knowledge and number of checked rows.

Alpha is compared with glide-py, which estimates means; F1 with activeeval, which estimates measures
of classifiers by importance sampling. All know the labeled rows, the scores, and for each unlabeled
row the same chance of being positive, which follows from the labels and an alpha estimated from
them. recoup checks rows in two waves that serve six metrics at once, and beside that for the number
in question alone, as the others do.

    python -m tools.studies.audits pack --to build/audits/sets.npz
    python -m tools.studies.audit_peers --data build/audits/sets.npz --out build/audits/peers.json

Packages that cannot be imported are left out. glide-py needs Python 3.12. activeeval was written
for NumPy 1: where its hierarchical pool cannot be built, the way "adaptive tree" is left out. Its
formula of the variance multiplies a column by a row, so that intervals are much too wide: they are
shown as it gives them. Repetitions that are in the output file are not run again.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from recoup import evaluate
from recoup._core.files import write_file
from recoup.audit import plan
from recoup.audit.planning import METRICS
from recoup.audit.posterior import posterior
from recoup.priors import PriorEstimate, estimate
from recoup.scores.table import ScoreTable
from tools.studies.audits import FEWEST_LABELS, Floats, truth

SETS = ("bank", "landsat", "wilt", "letter_A", "spambase")
LABELS = ("random", "favor x27")
BUDGET = 200
NORMAL = 1.96
# No row is held for certain before it is checked; the plan of recoup has the first of the two too.
FLOORS = (0.02, 0.002)
# The slowest ways run in the first repetitions only.
SLOW_REPETITIONS = 50
TREE_DEPTH, ROUND = 5, 50
MOST_DRAWS = 20_000
OWN = ("recoup audited", "recoup combined", "recoup for this alone")
# Value, lower and upper limit, number of checked rows.
Said = list[float]


@dataclass(frozen=True, eq=False)
class Case:
    """What everybody is given in one repetition, and the truth that answers.

    Attributes
    ----------
    y : ndarray of bool
        The true classes, seen by those who check alone.
    s : ndarray of int
        1 labeled, 0 unlabeled.
    scores : ndarray
        Scores of all rows.
    prior : PriorEstimate
        Alpha, estimated from the labels.
    p : ndarray
        Chance of every row to be positive, as far as the labels tell; 1 for labeled rows.
    threshold : float
        Where scores become predictions.
    seed : int
        Seed of the draws.
    """

    y: Any
    s: Any
    scores: Floats
    prior: PriorEstimate
    p: Floats
    threshold: float
    seed: int

    @classmethod
    def of(cls, y: Any, scores: Floats, chance: Floats, seed: int) -> Case | None:
        """Label some positives; None where these are too few to estimate alpha."""
        rng = np.random.default_rng(seed)
        s = (rng.random(len(y)) < chance).astype(int)
        if s.sum() < FEWEST_LABELS:
            return None
        table = ScoreTable.from_arrays(s, scores)
        prior = estimate(table)
        alpha = float(np.clip(prior.alpha, 0.001, 0.999))
        wanted = int(np.clip(round(s.sum() + alpha * (s == 0).sum()), 1, len(scores)))
        p = posterior(table, alpha)[np.searchsorted(table.scores, scores)]
        threshold = float(np.sort(scores)[-wanted])
        return cls(y, s, scores, prior, np.where(s == 1, 1.0, p), threshold, seed)

    @property
    def unlabeled(self) -> Any:
        """Positions of the unlabeled rows."""
        return np.flatnonzero(self.s == 0)

    def chances(self, floor: float) -> Floats:
        """Chances of the unlabeled rows, none of them certain."""
        found: Floats = np.clip(self.p[self.unlabeled], floor, 1 - floor)
        return found


def recoup_says(case: Case) -> dict[str, dict[str, Said]]:
    """Plan, answer both waves, evaluate: by the checked rows alone, and with the labels."""
    said = {}
    found, n = _audited(case, METRICS)
    for key in ("alpha", "f1"):
        one = found[key]
        said[key] = {
            "recoup audited": [one.audited, one.audited_lower, one.audited_upper, n],
            "recoup combined": [one.combined, one.lower, one.upper, n],
        }
        if case.seed < SLOW_REPETITIONS:
            alone, n_alone = _audited(case, (key,))
            said[key]["recoup for this alone"] = [
                *(alone[key].audited, alone[key].audited_lower, alone[key].audited_upper),
                n_alone,
            ]
    return said


def _audited(case: Case, metrics: tuple[str, ...]) -> tuple[Any, int]:
    made = plan(
        *(case.s, case.scores),
        threshold=case.threshold,
        alpha=float(np.clip(case.prior.alpha, 0.001, 0.999)),
        budget=BUDGET,
        metrics=metrics,
        random_state=case.seed,
    )
    n = made.n_rows
    audit = made.answers(made.rows, case.y[made.rows].astype(int))
    made = audit.next()
    audit = made.answers(made.rows, case.y[made.rows].astype(int))
    found = evaluate(
        *(case.s, case.scores),
        alpha=case.prior,
        threshold=case.threshold,
        audit=audit,
        n_boot=0,
    )
    return found.audit, n + made.n_rows


def glide_says(case: Case) -> dict[str, Said]:
    """Alpha by the pairs of sampler and estimator of glide-py; its proxy is the chance."""
    samplers, estimators = import_module("glide.samplers"), import_module("glide.estimators")
    y = case.y[case.unlabeled].astype(float)
    proxy = case.p[case.unlabeled]
    seed = case.seed

    def answered(drawn: Any) -> Floats:
        return np.where(drawn == 1, y, np.nan)

    uniform = answered(samplers.UniformSampler().sample(len(y), BUDGET, random_seed=seed))

    def stratified() -> Any:
        # Neyman allocation goes by the spread of the proxy inside strata. That of a chance says
        # little about the spread of the classes there: verdicts drawn from it say it. Chances are
        # equal in whole strata, which the estimator refuses: ties are broken by the score.
        chances = case.chances(FLOORS[0])
        rank = np.argsort(np.argsort(case.scores[case.unlabeled], kind="stable"))
        verdicts = (np.random.default_rng(seed).random(len(y)) < chances).astype(float)
        for n_strata in (10, 8, 6, 5, 4, 3, 2):
            groups = rank * n_strata // len(y)
            try:
                drawn = samplers.StratifiedSampler().sample(
                    verdicts, groups, BUDGET, random_seed=seed
                )
                return estimators.StratifiedPPIMeanEstimator().estimate(
                    answered(drawn), chances + 1e-6 * rank / len(y), groups
                )
            except ValueError:  # a stratum with too few draws, or with equal verdicts
                continue
        raise ValueError("no number of strata is accepted")

    def active(floor: float) -> Any:
        p = case.chances(floor)
        pi, drawn = samplers.ActiveSampler().sample(np.sqrt(p * (1 - p)), BUDGET, random_seed=seed)
        return estimators.ASIMeanEstimator().estimate(answered(drawn), proxy, pi)

    ways: dict[str, Callable[[], Any]] = {
        "glide uniform": lambda: estimators.ClassicalMeanEstimator().estimate(uniform),
        "glide PPI++": lambda: estimators.PPIMeanEstimator().estimate(uniform, proxy),
        "glide stratified": stratified,
        **{f"glide active {floor}": partial(active, floor) for floor in FLOORS},
    }
    said = {}
    for name, way in ways.items():
        try:
            found = way()
        except ValueError:  # such as: all checked rows are negative
            said[name] = [np.nan] * 4
            continue
        limits = found.confidence_interval
        n = getattr(found, "n_true", None) or found.n
        said[name] = [found.mean, limits.lower_bound, limits.upper_bound, int(n)]
    return said


def activeeval_says(case: Case) -> dict[str, Said]:
    """F1 of all rows by activeeval: over all rows, and over the unlabeled with the others added.

    Its static proposal takes the answers for as certain as the chances, or for doubtful; the
    adaptive one learns from every round of answers in a tree of strata of the score.
    """
    measures, pools = import_module("activeeval.measures"), import_module("activeeval.pools")
    proposals = import_module("activeeval.proposals")
    predicted = (case.scores >= case.threshold).astype(int)
    rows, labeled = case.unlabeled, case.s == 1
    sure = float(predicted[labeled].sum()), float((1 + predicted[labeled]).sum()) / 2

    class WithLabeled(measures.FMeasure):  # type: ignore[misc, name-defined]
        """F1 of all rows from the risk over the unlabeled ones: the labeled are positive."""

        added = np.array(sure) / len(rows)

        def g(self, risk: Any) -> Any:
            return super().g(risk + self.added)

        def jacobian_g(self, risk: Any) -> Any:
            return super().jacobian_g(risk + self.added)

    chances = case.p.copy()
    chances[rows] = case.chances(FLOORS[0])
    every = np.arange(len(case.y))
    all_rows, unlabeled = measures.FMeasure(predicted), WithLabeled(predicted[rows])
    said = {}
    for name, those, measure, deterministic in (
        ("static, all rows", every, all_rows, True),
        ("static", rows, unlabeled, True),
        ("static, doubtful", rows, unlabeled, False),
    ):
        pool = pools.Pool(n_instances=len(those))
        proposal = proposals.StaticVarMin(
            *(pool, measure, np.c_[1 - chances, chances][those]),
            deterministic=deterministic,
            random_state=case.seed,
        )
        said[f"activeeval {name}"] = _asked(case, (pool, measure, proposal), those, BUDGET)
    if case.seed < SLOW_REPETITIONS:
        try:
            pool = _tree(pools.HierarchicalStratifiedPool, case.scores[rows])
        except TypeError:  # the check that fails under NumPy 2
            return said
        prior = np.c_[1 - chances, chances][rows]
        oracle = proposals.HierarchicalDeterministicOE(
            pool, np.array([0, 1]), prior=prior, prior_strength=pool.n_blocks
        )
        proposal = proposals.AdaptiveVarMin(pool, unlabeled, oracle, random_state=case.seed)
        said["activeeval adaptive tree"] = _asked(case, (pool, unlabeled, proposal), rows, ROUND)
    return said


def _tree(make: Any, scores: Floats) -> Any:
    logits = np.log(scores / (1 - scores))
    try:
        return make(logits, TREE_DEPTH, 2, bins="csf", bins_hist="fd")
    except ValueError:  # a histogram with fewer bins than strata
        return make(logits, TREE_DEPTH, 2, bins="csf", bins_hist=4 * 2**TREE_DEPTH)


def _asked(case: Case, parts: tuple[Any, Any, Any], rows: Any, at_once: int) -> Said:
    """Ask until as many different unlabeled rows are checked: known answers cost nothing."""
    pool, measure, proposal = parts
    evaluator = import_module("activeeval").Evaluator(pool, measure, proposal)
    known = set(np.flatnonzero(case.s[rows] == 1).tolist())
    n_known, n_draws = len(known), 0
    while len(known) - n_known < BUDGET and n_draws < MOST_DRAWS:
        goal = min(len(known) + at_once, n_known + BUDGET)
        ids: list[int] = []
        weights: list[float] = []
        while len(known) < goal and n_draws < MOST_DRAWS:
            for row, weight in zip(*evaluator.query(at_once), strict=True):
                ids.append(int(row))
                weights.append(float(weight))
                known.add(int(row))
                n_draws += 1
                if len(known) == goal:
                    break
        evaluator.update(ids, case.y[rows][ids].astype(int), weights)
    again = import_module("activeeval.estimators").AISEstimatorWithVariance(measure)
    for one in evaluator.sample_history:
        again.update(one.instance_id, one.label, one.weight)
    value = float(np.squeeze(again.get()))
    error = float(np.sqrt(np.maximum(np.squeeze(again.get_var(proposal)), 0)))
    return [value, value - NORMAL * error, value + NORMAL * error, len(known) - n_known]


def one_repetition(y: Any, scores: Floats, chance: Floats, seed: int) -> dict[str, Any]:
    """Return the truth and what every way says, by number and way."""
    case = Case.of(y, scores, chance, seed)
    if case is None:
        return {}
    true = truth(case.y, case.s, case.scores, case.threshold)
    said = recoup_says(case)
    if find_spec("glide"):
        said["alpha"] |= glide_says(case)
    if find_spec("activeeval"):
        said["f1"] |= activeeval_says(case)
    return {key: {"truth": true[key], **ways} for key, ways in said.items()}


def summary(repetitions: list[dict[str, Any]], key: str) -> dict[str, dict[str, Any]]:
    """Root mean squared error, its ratio to that of recoup, coverage, checks, by way.

    Ratios are over the repetitions that both have; that to the audited value, with all six metrics
    in view, has 90% limits of a paired bootstrap.
    """
    done = [one[key] for one in repetitions if one]
    true = np.array([one["truth"] for one in done])
    ways = {name: None for one in done for name in one if name != "truth"}
    said = {
        name: np.array([one.get(name, [np.nan] * 4) for one in done], dtype=float) for name in ways
    }
    squares = {name: (values[:, 0] - true) ** 2 for name, values in said.items()}
    found = {}
    for name, values in said.items():
        there = np.isfinite(values[:, 0])
        mine, other = squares[OWN[0]][there], squares[name][there]
        drawn = np.random.default_rng(0).integers(0, len(mine), (2000, len(mine)))
        limits = np.quantile(np.sqrt(other[drawn].mean(1) / mine[drawn].mean(1)), [0.05, 0.95])
        covers = (values[there, 1] <= true[there]) & (true[there] <= values[there, 2])
        ratios = {}
        for base in OWN:
            both = there & np.isfinite(squares[base])
            ratios[base] = float(np.sqrt(squares[name][both].mean() / squares[base][both].mean()))
        found[name] = {
            "rmse": float(np.sqrt(other.mean())),
            "ratios": ratios,
            "limits": limits.tolist(),
            "coverage": float(covers.mean()),
            "checked": float(values[there, 3].mean()),
            "repetitions": int(there.sum()),
        }
    return found


def show(found: dict[str, Any]) -> None:
    """Print the cells, and in how many of them recoup errs at most as much as each way."""
    for key, package in (("alpha", "glide"), ("f1", "activeeval")):
        ratios: dict[tuple[str, str], list[float]] = {}
        for cell, summaries in found.items():
            print(f"\n{key}, {cell}")
            for name, one in summaries["summary"][key].items():
                print(
                    f"  {name:<29} RMSE {one['rmse']:.4f}  ratio {one['ratios'][OWN[0]]:.2f} "
                    f"({one['limits'][0]:.2f} to {one['limits'][1]:.2f})  covers "
                    f"{one['coverage']:.3f}  {one['checked']:.0f} rows, {one['repetitions']} runs"
                )
            peers = {n: o for n, o in summaries["summary"][key].items() if n.startswith(package)}
            for base in OWN if peers else ():
                for name, one in peers.items():
                    ratios.setdefault((base, name), []).append(one["ratios"][base])
                least = min(one["ratios"][base] for one in peers.values())
                ratios.setdefault((base, f"{package}, the best in each cell"), []).append(least)
        print()
        for (base, name), of_cells in ratios.items():
            wins, middle = sum(r >= 1 for r in of_cells), np.exp(np.mean(np.log(of_cells)))
            print(
                f"{key}: {base:<21} errs at most as much in {wins} of {len(of_cells)} cells as "
                f"{name}, whose error is {middle:.2f} times as large (geometric mean)"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--repetitions", type=int, default=200)
    options = parser.parse_args()
    arrays = np.load(options.data)
    done = json.loads(options.out.read_text()) if options.out.exists() else {}
    for name, labels in itertools.product(options.sets, LABELS):
        runs = done.get(f"{name}|{labels}", {}).get("runs", [])
        y = arrays[f"{name} y"]
        scores, chance = (arrays[f"{name} {labels} {what}"] for what in ("scores", "chance"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for seed in range(len(runs), options.repetitions):
                runs.append(one_repetition(y, scores, chance, seed))
        sums = {key: summary(runs, key) for key in ("alpha", "f1")}
        done[f"{name}|{labels}"] = {"summary": sums, "runs": runs}
        options.out.parent.mkdir(parents=True, exist_ok=True)
        write_file(options.out, json.dumps(done).encode())
        print(f"{name}|{labels} done", file=sys.stderr, flush=True)
    show(done)


if __name__ == "__main__":
    main()
