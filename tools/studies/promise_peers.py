"""Promises beside MAPIE: the same rows, and as many of them checked.

MAPIE's BinaryClassificationController knows true classes alone: rows are drawn from all rows, each
with the same chance, until as many unlabeled ones are checked as recoup checks; labeled rows among
them come for nothing. It is given thresholds at 100 quantiles of the scores, from the strictest
down, and two of its ways to keep the level: that of Holm, its default, and walks from 8 starts.
recoup checks the rows that a plan for the promise draws, and knows which of the others have a
label.

    python -m tools.studies.promise_peers --out build/promise_peers.json

It runs where mapie is installed, beside recoup. ``python -m tools.studies.promises --write`` puts
what it measured on the page.
"""

from __future__ import annotations

import argparse
import json
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from recoup._core.files import write_file
from tools.studies.promises import (
    LEVEL,
    SEED,
    CheckedData,
    Outcome,
    checked_by_plan,
    summary_of,
)

WAYS = ("Holm", "fixed sequence")
N_THRESHOLDS, N_STARTS = 100, 8
# Share of positives, separation, promised precision, checks.
SETTINGS = (
    *((0.2, 2.5, 0.8, 100), (0.2, 2.5, 0.8, 400)),
    *((0.03, 3.0, 0.6, 100), (0.03, 3.0, 0.6, 400)),
)
ODDS = 27.0


def by_mapie(data: CheckedData, rows: np.ndarray, goal: float, way: str) -> Outcome:
    """Let MAPIE choose the threshold from the true classes of some rows."""
    mapie: Any = import_module("mapie.risk_control")
    method = "bonferroni_holm"
    if way == "fixed sequence":
        method = mapie.FWERFixedSequenceTesting(n_starts=N_STARTS)
    thresholds = np.unique(np.quantile(data.scores, np.linspace(0.0, 0.999, N_THRESHOLDS)))[::-1]

    def probabilities(X: Any) -> np.ndarray:
        scores = np.asarray(X, float)[:, 0]
        return np.column_stack([1 - scores, scores])

    controller = mapie.BinaryClassificationController(
        probabilities,
        "precision",
        goal,
        confidence_level=1 - LEVEL,
        best_predict_param_choice="recall",
        list_predict_params=thresholds,
        fwer_method=method,
    )
    controller.calibrate(data.scores[rows, None], data.y[rows].astype(int))
    best = controller.best_predict_param
    if best is None:
        return False, False, 0.0, data.best(goal)
    return data.judged(float(np.ravel(best)[0]), goal)


def rows_until(rng: np.random.Generator, data: CheckedData, budget: int) -> np.ndarray:
    """Draw rows blindly until so many unlabeled ones are among them."""
    order = rng.permutation(len(data.y))
    unlabeled = np.cumsum(data.s[order] == 0)
    return np.sort(order[: int(np.searchsorted(unlabeled, budget)) + 1])


def main() -> None:
    """Run all settings."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--out", type=Path, default=Path("build/promise_peers.json"))
    options = parser.parse_args()
    results = []
    for number, (pi, separation, goal, budget) in enumerate(SETTINGS):
        found: dict[str, list[Outcome]] = {}
        for way in ("recoup", *WAYS):
            found[way] = []
        for repetition in range(options.simulations):
            # Numbers that the study itself does not use.
            rng = np.random.default_rng([SEED, 100 + number, repetition])
            data = CheckedData.draw(rng, pi, separation, ODDS)
            rows = rows_until(rng, data, budget)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found["recoup"].append(checked_by_plan(rng, data, goal, budget))
                for way in WAYS:
                    found[way].append(by_mapie(data, rows, goal, way))
        name = f"pi {pi:g}, d {separation:g}, precision {goal:g}"
        for way, outcomes in found.items():
            shown = way if way == "recoup" else f"MAPIE, {way}"
            about = {"cell": name, "checks": budget, "way": shown}
            results.append(about | summary_of(outcomes))
            print(json.dumps(results[-1]), flush=True)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        write_file(options.out, json.dumps(results, indent=1).encode())


if __name__ == "__main__":
    main()
