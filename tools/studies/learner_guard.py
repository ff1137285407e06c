"""Does a fit that has failed say so, and does the default rank as boosting does?

    python -m tools.studies.packed_tables                                  once, from RECOUP_DATA
    python -m tools.studies.learner_guard run --jobs 16 --limit 240        goes on where it stopped
    python -m tools.studies.learner_guard add build/learner_guard/found.jsonl
    python -m tools.studies.learner_guard write docs/learner-guard.md

Of each table 2,000 training rows and 2,000 test rows are drawn, fewer where it has fewer, with a
given share of positives in both. Labels: single sample, three of ten positives, at random; alpha is
given as it is. What the guard, the cut and the calibration do was chosen on the tables
``TRAINING``; ``JUDGED`` has none of them.

Written down before the run. A fit has failed if its AUC on the test rows is below one half by their
true classes, or if it gives all of them one class; no fit may fail without a ``LearnerWarning``. In
each cell, a table with a share of positives, the AUC of AutoPU, mean over seeds, is to be at most
0.02 below that of boosting on labeled against unlabeled rows.

``run`` needs numpy, scipy, scikit-learn and torch alone. Fits are in an order of which any
beginning spreads over tables, shares and learners; AutoPU and boosting are finished first.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from recoup._core.random import named_rng
from tools.studies.many_cores import Piece, finished, spread, work_through
from tools.studies.packed_tables import (
    NAMES,
    PACKED,
    TWO_LETTERS,
    PackedTable,
    read_table,
    table_of,
)

FOUND = Path("build/learner_guard/found.jsonl")
TRAINING = ("wilt", "thyroid_ann", "shuttle", "letter", "hapt_features", "gas_drift_8of10")
JUDGED = tuple(name for name in NAMES if name != TWO_LETTERS)
PREVALENCES = (0.02, 0.1, 0.3, 0.6)
SEEDS = (1, 2, 3, 4, 5)
N_TRAIN, N_TEST, LABEL_FREQUENCY = 2000, 2000, 0.3
FEWEST_LABELS, FEWEST_TESTED = 3, 4
DEFAULT, BASELINE = "auto-pu", "boosting"
# Learners around a classifier, which is boosting as a user would take it.
WRAPPERS = ("naive", "weighted", "elkan-noto", "bagging-pu", "two-step")
CLASSICAL = (*WRAPPERS, "puet", "pu-auc", "pu-aul", "sar-em")
NETWORKS = (
    *("nnpu", "upu", "pusb", "vpu", "mpe-pu", "dist-pu", "pulda", "lbe"),
    *("p3mix", "robust-pu", "holistic-pu", "lagam", "pul-cpbf"),
)
# They take a minute and more.
SLOW = ("self-pu", "vae-pu", "pan", "cgenpu")
LEARNERS = (DEFAULT, BASELINE, *CLASSICAL, *NETWORKS, *SLOW)


def rows_of(table: PackedTable, prevalence: float, name: str, seed: int) -> dict[str, Any]:
    """Return PU training rows and test rows with a share of positives."""
    rng = named_rng(seed, "learner guard", name, str(prevalence))
    kinds = [rng.permutation(np.flatnonzero(table.y == kind)) for kind in (0, 1)]
    # Smaller samples where there are too few rows of one class.
    most = [len(kinds[0]) / (1 - prevalence), len(kinds[1]) / prevalence]
    factor = min(1.0, *(each / (N_TRAIN + N_TEST) for each in most))
    parts = []
    for n in (int(N_TRAIN * factor), int(N_TEST * factor)):
        n_positive = max(round(prevalence * n), FEWEST_TESTED)
        taken = (n - n_positive, n_positive)
        parts.append(np.concatenate([kinds[kind][: taken[kind]] for kind in (0, 1)]))
        kinds = [kinds[kind][taken[kind] :] for kind in (0, 1)]
    train, test = (rng.permutation(part) for part in parts)
    positive = np.flatnonzero(table.y[train] == 1)
    s = np.zeros(len(train), int)
    n_labeled = max(round(LABEL_FREQUENCY * len(positive)), FEWEST_LABELS)
    s[rng.choice(positive, n_labeled, replace=False)] = 1
    X, X_test = table.rows(train, test)
    alpha = float(table.y[train][s == 0].mean())
    return {"X": X, "s": s, "alpha": alpha, "X_test": X_test, "y_test": table.y[test]}


def run_one(
    name: str, prevalence: float, seed: int, learner: str, path: str
) -> list[dict[str, Any]]:
    """Fit one learner and measure it on rows it has not seen."""
    table = read_table(name, path) if name in NAMES else table_of(name)
    rows = rows_of(table, prevalence, name, seed)
    about = {"table": name, "prevalence": prevalence, "seed": seed, "learner": learner}
    about |= {"n_labeled": int(rows["s"].sum()), "n": len(rows["s"])}
    started = time.process_time()
    try:
        found = fitted(learner, rows, seed)
    # What a learner refuses is a result: it is kept, and counted.
    except Exception as error:
        found = {"error": f"{type(error).__name__}: {error}"[:200]}
    return [about | {"error": ""} | found | {"seconds": time.process_time() - started}]


def fitted(key: str, rows: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return what a learner reaches on the test rows, and whether it warned."""
    from sklearn.metrics import roc_auc_score

    from recoup import learners
    from recoup.exceptions import LearnerWarning
    from recoup.priors._solvers.transform import CLASSIFIERS

    more: dict[str, Any] = {}
    if key == BASELINE:
        model = CLASSIFIERS["boosting"]().set_params(random_state=seed)
        scores = model.fit(rows["X"], rows["s"]).predict_proba(rows["X_test"])[:, 1]
        predicted = (scores > 0.5).astype(int)
    else:
        settings: dict[str, Any] = {"alpha": rows["alpha"], "progress": False}
        if key in WRAPPERS:
            settings["classifier"] = "boosting"
        learner = learners.make(key, random_state=seed)
        known = learner.get_params(deep=False)
        learner.set_params(**{name: value for name, value in settings.items() if name in known})
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            learner.fit(rows["X"], rows["s"])
        scores = learner.decision_function(rows["X_test"])
        predicted = learner.predict(rows["X_test"])
        warned = any(issubclass(one.category, LearnerWarning) for one in caught)
        health = learner.health_
        assert health is not None
        more = {"warned": warned, "code": health.code, "retries": len(health.retries)}
    classes = rows["y_test"]
    return more | {
        "auc": float(roc_auc_score(classes, scores)),
        "accuracy": float(np.mean(predicted == classes)),
        "called": float(predicted.mean()),
    }


def pieces(asked: argparse.Namespace) -> list[Piece]:
    """Return all fits that are asked for, the most telling first."""
    cells = []
    for seed in asked.seeds:
        one_each = list(itertools.product(asked.prevalences, asked.tables))
        order = named_rng(seed, "learner guard", "order").permutation(len(one_each))
        cells += [(*one_each[number], seed) for number in order]

    def some(*keys: str) -> list[Piece]:
        # A cell has all learners after as many rounds; in each round it has another one.
        found = [
            (table, prevalence, seed, keys[(number + turn) % len(keys)])
            for turn in range(len(keys))
            for number, (prevalence, table, seed) in enumerate(cells)
        ]
        return [
            Piece(", ".join(map(str, arguments)), run_one, (*arguments, str(asked.data)))
            for arguments in found
            if arguments[-1] in asked.learners
        ]

    return spread(
        (40.0, some(DEFAULT)),
        (40.0, some(BASELINE)),
        (4.0, some(*CLASSICAL)),
        (1.0, some(*NETWORKS)),
        (0.1, some(*SLOW)),
    )


def main() -> None:
    """Run the study, keep its results, or write its page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_Raw)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("--data", type=Path, default=PACKED)
    running.add_argument("--out", type=Path, default=FOUND)
    running.add_argument("--tables", nargs="+", default=list(JUDGED))
    running.add_argument("--learners", nargs="+", default=list(LEARNERS))
    running.add_argument("--prevalences", nargs="+", type=float, default=list(PREVALENCES))
    running.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    running.add_argument("--jobs", type=int, default=1)
    running.add_argument("--limit", type=float, default=float("inf"), help="seconds")
    commands.add_parser("add").add_argument("found", type=Path)
    commands.add_parser("write").add_argument("page", type=Path)
    asked = parser.parse_args()
    if asked.command == "run":
        work_through(pieces(asked), asked.out, jobs=asked.jobs, limit=asked.limit)
        return
    from tools.studies.learner_guard_page import add, write

    if asked.command == "add":
        add(finished(asked.found))
    else:
        write(asked.page)


_Raw = argparse.RawDescriptionHelpFormatter

if __name__ == "__main__":
    main()
