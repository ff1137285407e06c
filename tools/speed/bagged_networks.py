"""How fast are a hundred bagged networks trained together, next to as many trained one by one?

    python -m tools.speed.bagged_networks             a minute or two
    python -m tools.speed.bagged_networks --fits 20   a longer look at the reference

Both sides train networks of seven hidden units on the same bags of 11,000 rows, as in Ramola et al.
(2019): 1,000 labeled, 10,000 unlabeled. With RECOUP_DATA set, the rows are those of Covertype and a
positive is the commonest kind of forest; without it, they are simulated.

The reference is scikit-learn's MLPClassifier, with Adam on mini-batches and its other defaults, in
two ways. The first, by hand, holds out the same rows as BaggedNetworks and stops by the same rule:
the lowest loss on them, with 25 epochs of patience. The second is its own ``early_stopping``, with
as much patience, which holds out a quarter of the draws and watches accuracy. Only some of the
hundred fits are made, one after the other on one core; their mean time is multiplied. Areas are out
of bag and compare as many members of each.

Resilient back-propagation sees all rows at once. On the simulated rows, clusters in dense features,
mini-batches generalize better, and a few of our networks miss the target of the area.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
from rich.console import Console
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from papers.bagged_networks import BaggedNetworks, _Draw
from tools.speed.evaluation import Report, say

N_MEMBERS, N_HIDDEN, PATIENCE, MAX_EPOCHS = 100, 7, 25, 5000
N_LABELED, N_UNLABELED = 1_000, 10_000
ROUNDS = 3
SEED = 0


def covertype(path: Path) -> tuple[np.ndarray, np.ndarray]:
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path)
    names = [name for name in table.column_names if name != "target" and name[:5] != "meta_"]
    X = np.column_stack([table[name].to_numpy() for name in names]).astype(float)
    return X, table["target"].to_numpy().astype(int) == 2


def simulated() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import make_classification

    X, y = make_classification(30_000, 50, n_informative=15, n_clusters_per_class=4, random_state=1)
    return X, y == 1


def pu_rows(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Label some positives and put some of all other rows beside them: X, s, y_true."""
    rng = np.random.default_rng(SEED)
    labeled = rng.permutation(np.flatnonzero(y))[:N_LABELED]
    others = rng.permutation(np.setdiff1d(np.arange(len(y)), labeled))[:N_UNLABELED]
    rows = np.concatenate([labeled, others])
    s = np.repeat([1, 0], [N_LABELED, N_UNLABELED])
    varying = X[rows].std(axis=0) > 0
    return X[rows][:, varying], s, y[rows].astype(int)


class OutOfBag:
    """Mean probabilities of rows among the members that did not have them in their bags."""

    def __init__(self, n_rows: int) -> None:
        self.sums, self.counts = np.zeros(n_rows), np.zeros(n_rows)

    def add(self, outside: np.ndarray, probabilities: np.ndarray) -> None:
        self.sums[outside] += probabilities
        self.counts[outside] += 1

    def scores(self) -> np.ndarray:
        return self.sums / np.maximum(self.counts, 1)


def network(member: int, **settings: object) -> MLPClassifier:
    return MLPClassifier((N_HIDDEN,), activation="tanh", random_state=member, **settings)


def fit_by_hand(Z: np.ndarray, s: np.ndarray, bag: np.ndarray, member: int) -> np.ndarray:
    """Train on the same rows as a member of ours, and stop by the same rule."""
    drawn = np.repeat(np.arange(len(s)), np.maximum(bag, 0))
    rows, labels, held, weights = Z[drawn], s[drawn], bag < 0, -bag[bag < 0].astype(float)
    held_rows, held_labels = Z[held], s[held]
    model = network(member)
    lowest, best_epoch, best = np.inf, 0, None
    for epoch in range(MAX_EPOCHS):
        model.partial_fit(rows, labels, classes=[0, 1])
        p = model.predict_proba(held_rows)[:, 1]
        loss = log_loss(held_labels, p, sample_weight=weights)
        if loss < lowest:
            lowest, best_epoch = loss, epoch
            best = [part.copy() for part in (*model.coefs_, *model.intercepts_)]
        elif epoch - best_epoch >= PATIENCE:
            break
    assert best is not None
    model.coefs_, model.intercepts_ = best[:2], best[2:]
    return np.asarray(model.predict_proba(Z[bag == 0])[:, 1])


def fit_by_itself(Z: np.ndarray, s: np.ndarray, bag: np.ndarray, member: int) -> np.ndarray:
    drawn = np.repeat(np.arange(len(s)), np.abs(bag))
    model = network(
        member,
        early_stopping=True,
        validation_fraction=0.25,
        n_iter_no_change=PATIENCE,
        max_iter=MAX_EPOCHS,
    )
    model.fit(Z[drawn], s[drawn])
    return np.asarray(model.predict_proba(Z[bag == 0])[:, 1])


def measure(X: np.ndarray, s: np.ndarray, y_true: np.ndarray, n_fits: int, source: str) -> Report:
    draw = _Draw.from_rows(X, s == 1, 0.25, "benchmark")
    seeds = np.random.default_rng(SEED).spawn(n_fits)
    bags = [draw.bag(rng) for rng in seeds]
    Z = StandardScaler().fit_transform(X)
    references = {"by hand": fit_by_hand, "early_stopping": fit_by_itself}
    out_of_bag = {name: OutOfBag(len(s)) for name in references}
    times: dict[str, list[float]] = {"ours": [], **{name: [] for name in references}}

    def train(n_members: int) -> BaggedNetworks:
        return BaggedNetworks(N_HIDDEN, n_members=n_members, random_state=SEED).fit(X, s)

    train(2)  # imports are not part of the time
    for turn in range(max(ROUNDS, n_fits)):  # in turns, since other load should strike all alike
        if turn < ROUNDS:
            say(f"{N_MEMBERS} networks together, {turn + 1} of {ROUNDS}")
            start = time.perf_counter()
            ours = train(N_MEMBERS)
            times["ours"].append(time.perf_counter() - start)
        if turn < n_fits:
            say(f"single networks, {turn + 1} of {n_fits}")
            for name, fit in references.items():
                start = time.perf_counter()
                with threadpool_limits(1):  # its products are too small for threads to help
                    p = fit(Z, s, bags[turn], turn)
                times[name].append(time.perf_counter() - start)
                out_of_bag[name].add(bags[turn] == 0, p)
    few = train(n_fits)

    report = Report()
    together = float(np.mean(times["ours"]))
    epochs = f"{ours.n_epochs_.mean():.0f} epochs a member"
    report.section(
        f"{N_MEMBERS} networks, {X.shape[0]:,} x {X.shape[1]} rows of {source}, {epochs}"
    )
    report.add("BaggedNetworks", f"{together:.2f} s", "", None, 60, value=together, target="< 60 s")
    report.section(
        f"the same / {N_MEMBERS} times the mean of {n_fits} single fits of MLPClassifier"
    )
    for name in references:
        apart = N_MEMBERS * float(np.mean(times[name]))
        report.add(
            f"{name}: {apart / together:.0f} times faster",
            f"{together:.2f} s",
            f"{apart:.0f} s",
            together / apart,
            1 / 20,
            target="<= 0.05",
        )
    seen = few.oob_counts_ > 0
    for label, kind in (("AUC", y_true), ("AUC_pu", s)):
        report.section(f"out-of-bag {label} of {n_fits} members on the same bags")
        ours_few = roc_auc_score(kind[seen], few.oob_scores_[seen])
        for name in references:
            theirs = roc_auc_score(kind[seen], out_of_bag[name].scores()[seen])
            report.add(
                name,
                f"{ours_few:.4f}",
                f"{theirs:.4f}",
                None,
                0.01,
                value=theirs - ours_few,
                target=">= theirs - 0.01",
            )
        report.add(f"all {N_MEMBERS}", f"{roc_auc_score(kind, ours.oob_scores_):.4f}", "", None)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--fits", type=int, default=5, help="single networks to train (5)")
    parser.add_argument("--simulated", action="store_true", help="even if RECOUP_DATA is set")
    options = parser.parse_args()
    path = Path(os.environ.get("RECOUP_DATA", "")) / "covertype_sample.parquet"
    real = path.is_file() and not options.simulated
    X, s, y_true = pu_rows(*(covertype(path) if real else simulated()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        report = measure(X, s, y_true, options.fits, "Covertype" if real else "simulated data")
    Console(width=130, highlight=False).print(report.table)


if __name__ == "__main__":
    main()
