"""Which learner for a table? Known classes, hidden labels, and what a practitioner would write.

    python -m tools.studies.packed_tables                                  once, from RECOUP_DATA
    python -m tools.studies.tables run --jobs 16 --limit 300               goes on where it stopped
    python -m tools.studies.tables add build/tables/found.jsonl            to the committed results
    python -m tools.studies.tables write docs/which-table-learner.md

``run`` needs numpy, scipy, scikit-learn and torch alone, and writes every finished cell at once.
Cells are in an order of which any beginning spreads over tables, shares of positives, label
frequencies and ways in which labels come about. Some methods run in every cell; the networks and
other variants by turns, two in each.
The tables of ``CHOOSING`` are those that the candidates of AutoPU, their weights and settings were
chosen on; none of them is among ``TABLES``, which were named before any learner ran on them.
"""

from __future__ import annotations

import argparse
import itertools
import time
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from recoup._core.random import named_rng
from recoup.exceptions import InvalidInputError
from tools.studies.many_cores import Piece, finished, spread, work_through
from tools.studies.packed_tables import PACKED, TWO_LETTERS, read_table

FOUND = Path("build/tables/found.jsonl")
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
REFERENCE = "boosting + cut"
CEILING = "boosting, true classes"
# AutoPU again, with the class that its probabilities put first.
LIKELIER = "auto-pu, p > 1/2"
# With the cut where as many rows are above as alpha says, by scores of unseen rows.
CUT = " + cut"
NETWORKS = (
    *("nnpu", "upu", "pusb", "mpe-pu", "dist-pu", "pulda", "lbe", "p3mix", "robust-pu"),
    *("holistic-pu", "lagam", "pul-cpbf"),
)
# They take a minute and more.
SLOW_NETWORKS = ("self-pu", "vae-pu", "pan", "cgenpu")
SLOW = tuple(key + CUT for key in SLOW_NETWORKS)
BY_TURNS = (
    *(key + CUT for key in (*NETWORKS, "puet", "weighted, boosting")),
    # Nobody tells these alpha: they go by their own cut.
    *("vpu", "two-step, boosting", "sar-em", "pu-auc"),
)
# Of these, two in each cell, and one slow one in each eighth.
A_TURN, SLOW_TURN = 2, 8
# Sets that PUICL publishes figures of and that are at hand, and its two protocols: labeled
# positives, and positives and negatives among the unlabeled rows.
PUICL_SETS = (
    *("abalone", "adult", TWO_LETTERS, "mushroom", "spambase", "breast_cancer", "wine_quality"),
)
PUICL_PROTOCOLS = {"200, 400 + 100": (200, 400, 100), "240, 60 + 15": (240, 60, 15)}
N_REPLICATES = 6


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


def make_task(cell: Cell, path: str | Path = PACKED) -> Task | None:
    """Draw the rows of a cell; None where the table cannot have such rows."""
    words = f"{cell.table} {cell.prevalence} {cell.frequency} {cell.mechanism} {cell.seed}"
    rng = np.random.default_rng(zlib.crc32(words.encode()))
    table = read_table(cell.table, path)
    y, pi = table.y, cell.prevalence or float(table.y.mean())
    if pi > y.mean() + 1e-9:
        return None
    positive, negative = (rng.permutation(np.flatnonzero(y == kind)) for kind in (1, 0))
    most = min(N_TRAIN + N_TEST, len(negative) / (1 - pi), len(positive) / pi)
    n_positive = round(most * pi)
    chosen = rng.permutation(
        np.concatenate([positive[:n_positive], negative[: int(most) - n_positive]])
    )
    n_train = len(chosen) * N_TRAIN // (N_TRAIN + N_TEST)
    first, second = chosen[:n_train], chosen[n_train:]
    n_labels = round(cell.frequency * y[first].sum())
    if n_labels < FEWEST_LABELS or n_labels >= y[first].sum():
        return None
    X, X_test = table.rows(first, second)
    s = labels_of(X, y[first], n_labels, cell.mechanism, rng)
    return Task(X, s, y[first], X_test, y[second])


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

    def learner(key: str, **settings: Any) -> Answer:
        model = learners.make(key)
        known = model.get_params(deep=False)
        told = {"alpha": alpha, "random_state": seed, "guard": "off", "progress": False}
        told = {name: value for name, value in told.items() if name in known}
        return fitted(model.set_params(**told | settings))

    around: dict[str, Any] = {"classifier": boosting()}
    bag: dict[str, Any] = {"classifier": boosting(40, 0.1), "n_estimators": 20}
    cut: dict[str, Any] = {"threshold": "alpha"}
    found: dict[str, Callable[[], Answer]] = {
        "auto-pu": lambda: learner("auto-pu"),
        "puet": lambda: learner("puet"),
        "pu-aul": lambda: learner("pu-aul"),
        "bagging-pu, boosting": lambda: learner("bagging-pu", **bag),
        REFERENCE: with_cut,
        "elkan-noto, boosting": lambda: learner("elkan-noto", **around),
        "naive, boosting": lambda: learner("naive", alpha=None, **around),
        "weighted, boosting": lambda: learner("weighted", **around),
        CEILING: lambda: fitted(boosting(), task.y),
        "puet + cut": lambda: learner("puet", **cut),
        "weighted, boosting + cut": lambda: learner("weighted", **around, **cut),
        "vpu": lambda: learner("vpu"),
        "two-step, boosting": lambda: learner("two-step", **around),
        "sar-em": lambda: learner("sar-em"),
        "pu-auc": lambda: learner("pu-auc"),
    }
    networks = (*NETWORKS, *SLOW_NETWORKS)
    return found | {key + CUT: (lambda key=key: learner(key, **cut)) for key in networks}


def turns_of(number: int) -> tuple[str, ...]:
    """Return the methods of a cell that go by turns."""
    a_round = len(BY_TURNS) // A_TURN
    order = named_rng(0, "methods by turns", number // a_round).permutation(len(BY_TURNS))
    first = A_TURN * (number % a_round)
    found = tuple(BY_TURNS[place] for place in order[first : first + A_TURN])
    # Not a fixed place in the round: places go with conditions.
    late = int(named_rng(0, "slow methods", number // SLOW_TURN).integers(SLOW_TURN))
    if number % SLOW_TURN == late:
        found += (SLOW[number // SLOW_TURN % len(SLOW)],)
    return found


EVERY = (
    *("auto-pu", "puet", "pu-aul", "bagging-pu, boosting", REFERENCE),
    *("elkan-noto, boosting", "naive, boosting", "weighted, boosting", CEILING),
)


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


def likelier(task: Task, answer: Answer) -> dict[str, float | None]:
    """Judge an answer by the class that its probabilities put first, not by its cut."""
    scores, _, chances = answer
    assert chances is not None
    return judged(task, (scores, (chances > 0.5).astype(int), chances))


def run_cell(cell: Cell, methods: tuple[str, ...], path: str) -> list[dict[str, Any]]:
    """Return a row for each method; none where the table cannot have such rows."""
    task = make_task(cell, path)
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
    say = answers(task, alpha, cell.seed)
    for method in methods:
        started = time.process_time()
        found: list[dict[str, Any]] = [{"method": method, "error": ""}]
        try:
            answer = say[method]()
            found[0] |= judged(task, answer)
            if method == "auto-pu":
                found.append({"method": LIKELIER, "error": ""} | likelier(task, answer))
        # What a method cannot do is a result: it is kept, and shown.
        except Exception as error:
            found[0]["error"] = f"{type(error).__name__}: {error}"[:200]
        about = {"n": len(task.s), "n_labeled": int(task.s.sum()), "pi": task.pi}
        about |= {"true_alpha": task.alpha, "told": alpha}
        seconds = {"seconds": time.process_time() - started}
        rows += [asdict(cell) | about | facts | seconds for facts in found]
    return rows


def run_puicl(name: str, protocol: str, replicate: int, path: str) -> list[dict[str, Any]]:
    """Rank the unlabeled rows that were also learned from, as PUICL does.

    Either class is the positive one by turns. Sets that are too small have fewer rows of all kinds.
    """
    from sklearn.metrics import roc_auc_score

    from recoup import learners
    from recoup.priors import estimate
    from recoup.priors._solvers.transform import CLASSIFIERS
    from recoup.scores import crossfit

    table = read_table(name, path)
    rng = named_rng(0, "puicl", name, protocol, replicate)
    kind = 1 - replicate % 2
    positive, negative = (
        rng.permutation(np.flatnonzero((table.y == kind) == wanted)) for wanted in (True, False)
    )
    n_labeled, n_positive, n_negative = PUICL_PROTOCOLS[protocol]
    factor = min(1.0, len(positive) / (n_labeled + n_positive), len(negative) / n_negative)
    sizes = [int(factor * size) for size in (n_labeled, n_positive, n_negative)]
    chosen = np.concatenate([positive[: sizes[0] + sizes[1]], negative[: sizes[2]]])
    s = np.arange(len(chosen)) < sizes[0]
    y = table.y[chosen] == kind
    order = rng.permutation(len(chosen))
    chosen, s, y = chosen[order], s[order].astype(int), y[order]
    X, _ = table.rows(chosen, chosen)
    alpha = estimate(s, X=X, random_state=replicate, beta=1.0).alpha
    told: dict[str, Any] = {"alpha": alpha, "random_state": replicate, "guard": "off"}
    auto = learners.AutoPU(**told).fit(X, s)
    trees = learners.PUET(**told).fit(X, s)
    boosting = CLASSIFIERS["boosting"]()
    scores = {
        "auto-pu": auto.oof_scores_,
        "auto-pu, fitted rows": auto.decision_function(X),
        "puet": trees.decision_function(X),
        "boosting": crossfit(boosting, X, s, random_state=replicate, progress=False).scores,
    }
    about = {"table": name, "protocol": protocol, "seed": replicate, "told": alpha}
    about |= {"n": len(s), "n_labeled": int(s.sum()), "true_alpha": float(y[s == 0].mean())}
    return [
        about | {"method": method, "auc": float(roc_auc_score(y[s == 0], found[s == 0]))}
        for method, found in scores.items()
    ]


def pieces(path: Path) -> list[Piece]:
    """Return all that there is to run, the most telling first."""
    own = [Piece(cell.name, run_cell, (cell, EVERY, str(path))) for cell in cells()]
    by_turns = [
        Piece(f"{cell.name}, {method}", run_cell, (cell, (method,), str(path)))
        for number, cell in enumerate(cells())
        for method in turns_of(number)
    ]
    puicl = [
        Piece(f"puicl, {name}, {protocol}, {replicate}", run_puicl, arguments)
        for replicate in range(N_REPLICATES)
        for protocol in PUICL_PROTOCOLS
        for name in PUICL_SETS
        for arguments in [(name, protocol, replicate, str(path))]
    ]
    return spread((1.0, own), (1.0, by_turns), (8.0, puicl))


def main() -> None:
    """Run the study, keep its results, or write its page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_Raw)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("--data", type=Path, default=PACKED)
    running.add_argument("--out", type=Path, default=FOUND)
    running.add_argument("--jobs", type=int, default=1)
    running.add_argument("--limit", type=float, default=float("inf"), help="seconds")
    commands.add_parser("add").add_argument("found", type=Path)
    commands.add_parser("write").add_argument("page", type=Path)
    asked = parser.parse_args()
    if asked.command == "run":
        work_through(pieces(asked.data), asked.out, jobs=asked.jobs, limit=asked.limit)
        return
    from tools.studies.tables_page import add, write

    if asked.command == "add":
        add(finished(asked.found))
    else:
        write(asked.page)


_Raw = argparse.RawDescriptionHelpFormatter

if __name__ == "__main__":
    main()
