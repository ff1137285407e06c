"""Which learner for a table? Known classes, hidden labels, and what a practitioner would write.

    python -m tools.studies.tables run                       goes on where it stopped
    python -m tools.studies.tables write docs/which-table-learner.md

Every finished cell is a file under ``build/tables``; those of the committed results count as
finished. Cells are in an order of which any beginning
spreads over tables, shares of positives, label frequencies and ways in which labels come about.
The tables of ``CHOOSING`` are those that the candidates of AutoPU, their weights and settings were
chosen on; none of them is among ``TABLES``, which were named before any learner ran on them.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
import warnings
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from recoup._core.files import write_file
from recoup.exceptions import InvalidInputError

FOLDER = Path("build/tables")
RESULTS = Path("docs/which-table-learner.parquet")
TABLES = (
    *("spambase", "mushroom", "adult", "bank", "connect4", "pendigits", "page_blocks"),
    *("wine_quality", "landsat", "anuran", "abalone", "concrete"),
    *("epileptic_seizure", "batteryless_s2", "breast_cancer"),
)
CHOOSING = (
    *("letter", "shuttle", "hapt_features", "gas_drift_8of10", "splice", "thyroid_ann", "wilt"),
    *("pima", "transfusion", "housing", "parkinsons_telemonitoring", "casp", "covertype_sample"),
    *("hiv1_protease", "diabetes130", "batteryless_s1"),
)
PREVALENCES = (None, 0.1, 0.02)
FREQUENCIES = (0.1, 0.3, 0.02)
MECHANISMS = ("random", "clear ones", "one kind")
ALPHAS = ("known", "estimated")
N_TRAIN, N_TEST, FEWEST_LABELS = 2000, 2000, 8
MOST_LEVELS = 30
REFERENCE = "boosting + cut"
CEILING = "boosting, true classes"


@dataclass(frozen=True)
class Cell:
    """A table, how its labels came about, and what is known of alpha."""

    table: str
    prevalence: float | None
    frequency: float
    mechanism: str
    alpha: str
    seed: int

    @property
    def name(self) -> str:
        return "-".join(str(part).replace(" ", "_") for part in asdict(self).values())


@dataclass(frozen=True)
class Task:
    """Rows of a cell: what learners see, and what they are judged by."""

    X: Any
    s: np.ndarray
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray

    @property
    def pi(self) -> float:
        return float(self.y.mean())

    @property
    def alpha(self) -> float:
        return float(self.y[self.s == 0].mean())


def cells(n_seeds: int = 2) -> list[Cell]:
    """Return the cells in the order in which they are run.

    By turns: a cell with the share of positives as it is and labels at random, and one of all. Each
    round goes through the tables once; levels move on from table to table and from round to round.
    """
    order = np.random.default_rng(0).permutation(len(TABLES))
    plain, wide = [], []
    for seed, turn in itertools.product(range(n_seeds), range(4)):
        for place, number in enumerate(order):
            frequency = FREQUENCIES[(place + turn // 2) % 2]
            alpha = ALPHAS[(place // 2 + turn) % 2]
            plain.append(Cell(TABLES[number], None, frequency, "random", alpha, seed))
    for seed, turn in itertools.product(range(n_seeds), range(54)):
        for place, number in enumerate(order):
            first, second, third = turn % 3, turn // 3 % 3, turn // 9 % 3
            prevalence = PREVALENCES[(place + first + 1) % 3]
            frequency = FREQUENCIES[(place // 3 + second + 1) % 3]
            mechanism = MECHANISMS[(place + place // 3 + third + 1) % 3]
            alpha = ALPHAS[(place + turn // 27) % 2]
            cell = Cell(TABLES[number], prevalence, frequency, mechanism, alpha, seed)
            if (prevalence, mechanism) != (None, "random"):
                wide.append(cell)
    mixed = [cell for pair in itertools.zip_longest(plain, wide) for cell in pair if cell]
    return list(dict.fromkeys(mixed))


def make_task(cell: Cell) -> Task | None:
    """Draw the rows of a cell; None where the table cannot have such rows."""
    from recoup.data import load, preprocess

    words = f"{cell.table} {cell.prevalence} {cell.frequency} {cell.mechanism} {cell.seed}"
    rng = np.random.default_rng(zlib.crc32(words.encode()))
    data = load(cell.table)
    y, pi = data.y_true, cell.prevalence or float(data.y_true.mean())
    if pi > y.mean() + 1e-9:
        return None
    positive, negative = (rng.permutation(np.flatnonzero(y == kind)) for kind in (1, 0))
    most = min(N_TRAIN + N_TEST, len(negative) / (1 - pi), len(positive) / pi)
    n_positive = round(most * pi)
    chosen = rng.permutation(
        np.concatenate([positive[:n_positive], negative[: int(most) - n_positive]])
    )
    n_train = len(chosen) * N_TRAIN // (N_TRAIN + N_TEST)
    parts = data.take(chosen[:n_train]), data.take(chosen[n_train:])
    train, test = preprocess(*parts, max_levels=MOST_LEVELS)
    X, y_train = np.asarray(train.X, float), train.y_true
    n_labels = round(cell.frequency * y_train.sum())
    if n_labels < FEWEST_LABELS or n_labels >= y_train.sum():
        return None
    return Task(
        X,
        labels_of(X, y_train, n_labels, cell.mechanism, rng),
        y_train,
        np.asarray(test.X, float),
        test.y_true,
    )


def labels_of(
    X: np.ndarray, y: np.ndarray, n_labels: int, mechanism: str, rng: np.random.Generator
) -> np.ndarray:
    """Give labels to some positives: any alike, clear ones rather, or one kind rather.

    Clear ones have weights of the tenth power of their probability by logistic regression with true
    classes, and no less than a hundredth of the largest; of two clusters, one has five times the
    weight of the other.
    """
    from sklearn.cluster import KMeans
    from sklearn.linear_model import LogisticRegression

    rows = np.flatnonzero(y == 1)
    weights = np.ones(len(rows))
    if mechanism == "clear ones":
        model = LogisticRegression(max_iter=300).fit(X, y)
        weights = np.maximum(model.predict_proba(X[rows])[:, 1] ** 10, 1e-2)
    if mechanism == "one kind":
        kinds = KMeans(2, n_init=1, random_state=0).fit_predict(X[rows])
        weights = np.where(kinds == 0, 5.0, 1.0)
    s = np.zeros(len(y), int)
    s[rng.choice(rows, n_labels, replace=False, p=weights / weights.sum())] = 1
    return s


Answer = tuple[np.ndarray, np.ndarray, "np.ndarray | None"]


def answers(task: Task, alpha: float, seed: int) -> dict[str, Callable[[], Answer]]:
    """Return what each method says of the test rows: scores, classes and probabilities."""
    from recoup import learners

    def boosting(max_iter: int = 100, learning_rate: float = 0.05) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(
            learning_rate=learning_rate, max_iter=max_iter, min_samples_leaf=10, random_state=seed
        )

    def fitted(model: Any, labels: np.ndarray = task.s) -> Answer:
        model.fit(task.X, labels)
        chances = None
        if hasattr(model, "predict_proba"):
            chances = model.predict_proba(task.X_test)[:, 1]
        decide = getattr(model, "decision_function", None)
        scores = chances if decide is None else decide(task.X_test)
        return np.asarray(scores), model.predict(task.X_test), chances

    def with_cut() -> Answer:
        from recoup.scores import crossfit

        held_out = crossfit(boosting(), task.X, task.s, random_state=seed, progress=False).scores
        share = (alpha * (task.s == 0).sum() + task.s.sum()) / len(task.s)
        model = boosting().fit(task.X, task.s)
        scores = model.predict_proba(task.X_test)[:, 1]
        return scores, (scores > np.quantile(held_out, 1 - share)).astype(int), scores

    told: dict[str, Any] = {"alpha": alpha, "random_state": seed, "guard": "off"}
    quiet: dict[str, Any] = {"random_state": seed, "guard": "off"}
    bag: dict[str, Any] = {"classifier": boosting(40, 0.1), "n_estimators": 20}
    return {
        "auto-pu": lambda: fitted(learners.AutoPU(**told)),
        "puet": lambda: fitted(learners.PUET(**told)),
        "pu-aul": lambda: fitted(learners.PUAUL(**told)),
        "bagging-pu, boosting": lambda: fitted(learners.BaggingPU(**told, **bag)),
        REFERENCE: with_cut,
        "elkan-noto, boosting": lambda: fitted(learners.ElkanNoto(classifier=boosting(), **quiet)),
        "naive, boosting": lambda: fitted(learners.Naive(classifier=boosting(), **quiet)),
        "weighted, boosting": lambda: fitted(learners.Weighted(classifier=boosting(), **told)),
        CEILING: lambda: fitted(boosting(), task.y),
    }


def judged(task: Task, answer: Answer) -> dict[str, float | None]:
    """Hold answers against the true classes of the test rows."""
    from sklearn.metrics import f1_score, roc_auc_score

    scores, called, chances = answer
    brier = None if chances is None else float(np.mean((chances - task.y_test) ** 2))
    return {
        "accuracy": float(np.mean(called == task.y_test)),
        "auc": float(roc_auc_score(task.y_test, scores)),
        "f1": float(f1_score(task.y_test, called, zero_division=0)),
        "brier": brier,
        "called": float(np.mean(called)),
    }


def run_cell(cell: Cell) -> list[dict[str, Any]]:
    """Return a row for each method; none where the table cannot have such rows."""
    task = make_task(cell)
    if task is None:
        return []
    alpha = task.alpha
    if cell.alpha == "estimated":
        from recoup.priors import estimate

        try:
            alpha = estimate(task.s, X=task.X, random_state=cell.seed, beta=1.0).alpha
        except InvalidInputError:
            # Too few labels for an estimate: nobody has an alpha to go by.
            return []
    rows = []
    for method, say in answers(task, alpha, cell.seed).items():
        started = time.process_time()
        facts: dict[str, Any] = {"method": method, "error": ""}
        try:
            facts |= judged(task, say())
        # What a method cannot do is a result: it is kept, and shown.
        except Exception as error:
            facts["error"] = f"{type(error).__name__}: {error}"[:200]
        facts["seconds"] = time.process_time() - started
        about = {"n": len(task.s), "n_labeled": int(task.s.sum()), "pi": task.pi}
        rows.append(asdict(cell) | about | {"true_alpha": task.alpha, "told": alpha} | facts)
    return rows


def restore() -> None:
    """Take cells that were done elsewhere from the committed results."""
    import pandas as pd

    if not RESULTS.exists():
        return
    found: dict[str, list[dict[str, Any]]] = {}
    for row in pd.read_parquet(RESULTS).to_dict("records"):
        known = {str(name): value for name, value in row.items() if not pd.isna(value)}
        plain = {name: getattr(value, "item", lambda v=value: v)() for name, value in known.items()}
        plain.setdefault("prevalence", None)
        cell = Cell(**{name: plain[name] for name in Cell.__dataclass_fields__})
        found.setdefault(cell.name, []).append(plain)
    for name, rows in found.items():
        if not (FOLDER / f"{name}.json").exists():
            write_file(FOLDER / f"{name}.json", json.dumps(rows).encode())


def run(last: int | None) -> None:
    """Run what has not been run, and say so."""
    warnings.simplefilter("ignore")
    FOLDER.mkdir(parents=True, exist_ok=True)
    restore()
    for number, cell in enumerate(cells()[:last]):
        path = FOLDER / f"{cell.name}.json"
        if path.exists():
            continue
        rows = run_cell(cell)
        write_file(path, json.dumps(rows).encode())
        best = {row["method"]: round(row.get("accuracy") or 0.0, 3) for row in rows}
        print(number, cell.name, best, flush=True)


def main() -> None:
    """Run the study, or write its page."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("--last", type=int, default=None)
    commands.add_parser("write").add_argument("page", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "run":
        run(arguments.last)
        return
    from tools.studies.tables_page import write

    write(arguments.page)


if __name__ == "__main__":
    main()
