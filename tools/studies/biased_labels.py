"""How alpha fares where labels are no random sample: kinds of positives, tilts, hidden kinds.

``python -m tools.studies.biased_labels`` makes PU data from classes of real datasets, hides labels
in seven ways at three label frequencies, and holds three estimates against the truth: ``auto``
from features if it is told that labels are random, ``auto`` if nothing is said, and ``pulsnar``.
Every finished problem is a file under ``build/priors/biased``, so that an interrupted run goes on
where it stopped; problems come in an order in which a part of them is fair to all datasets.
"""

from __future__ import annotations

import argparse
import json
import pickle
import sys
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from recoup._core.files import write_file, writing
from recoup.exceptions import InvalidInputError
from recoup.priors import PULSNAR, Auto, PriorEstimate
from recoup.priors._solvers.views import ScoredViews, score_views_anew
from recoup.priors.biased_labels import read, with_labels
from recoup.priors.label_readings import Readings
from tools.studies.prior_tasks import FOLDER, features, pack, stream

FREQUENCIES = (0.05, 0.2, 0.5)
MECHANISMS = ("random", "kinds x2", "kinds x6", "tilt x5", "tilt x27", "hidden kind", "low scores")
N_POSITIVE, N_NEGATIVE = 1200, 1800
# False alarms need more problems than errors do.
N_SEEDS = {"random": 2}
SEED = 0
KEYS = ("dataset", "mechanism", "frequency", "seed")
# What Auto draws its folds by where nobody says otherwise.
SEED = 0
METHODS = ("auto if random", "auto", "pulsnar")

# Judged on these. The classes that are positive, as kinds; all others are negative. Written down
# before anything was run on them.
STUDY: dict[str, tuple[tuple[int, ...], ...]] = {
    "anuran": ((0,), (1,), (2,)),
    "letter": ((0,), (1,), (2,), (4,), (5,)),
    "landsat": ((0,), (1,), (3,), (4,)),
    "page_blocks": ((1,), (2,), (3,), (4,)),
    "pendigits": ((0,), (2,), (4,), (6,), (8,)),
    "mnist": ((0,), (2,), (4,), (6,), (8,)),
    "newsgroups20_minilm": ((0,), (1, 2, 3, 4, 5), (6,), (7, 8, 9, 10)),
    "wine_quality": ((3,), (4,), (5, 6)),
    "fashion_mnist": ((0,), (2,), (4,), (6,), (8,)),
    "cifar10": ((0,), (1,), (8,), (9,)),
}


@dataclass(frozen=True)
class Biased:
    """PU data of known truth, whose labels came about in a known way."""

    dataset: str
    mechanism: str
    frequency: float
    seed: int
    X: np.ndarray
    s: np.ndarray
    y: np.ndarray
    kind: np.ndarray

    @property
    def alpha(self) -> float:
        return float(self.y[self.s == 0].mean())

    @property
    def name(self) -> str:
        return f"{self.dataset}-{self.mechanism}-{self.frequency}-{self.seed}".replace(" ", "_")


def problem(dataset: str, mechanism: str, frequency: float, seed: int) -> Biased | None:
    """One problem; None where fewer than 20 labels would be given."""
    X, classes = features(dataset, None)
    rng = stream("biased", dataset, seed)
    groups = STUDY[dataset]
    kind = np.full(len(classes), -1)
    for number, members in enumerate(groups):
        kind[np.isin(classes, members)] = number
    rows = [rng.permutation(np.flatnonzero(side)) for side in (kind >= 0, kind < 0)]
    n_negative = min(len(rows[1]), N_NEGATIVE)
    n_positive = min(len(rows[0]), N_POSITIVE, 2 * n_negative)
    chosen = np.concatenate([rows[0][:n_positive], rows[1][:n_negative]])
    X, kind = X[chosen], kind[chosen]
    y = kind >= 0
    chance = np.zeros(len(y))
    chance[y] = scaled(_weights(X, y, kind, mechanism, rng), frequency)
    s = (rng.random(len(y)) < chance).astype(int)
    if s.sum() < 20:
        return None
    return Biased(dataset, mechanism, frequency, seed, X, s, y, kind)


def _weights(
    X: np.ndarray, y: np.ndarray, kind: np.ndarray, mechanism: str, rng: np.random.Generator
) -> np.ndarray:
    """Relative rates of a label for each positive."""
    kinds = kind[y]
    numbers = rng.permutation(np.unique(kinds))
    if mechanism == "random":
        return np.ones(len(kinds))
    if mechanism.startswith("kinds"):
        ratio = float(mechanism.rpartition("x")[2])
        rates = dict(zip(numbers.tolist(), np.geomspace(1, 1 / ratio, len(numbers)), strict=True))
        return np.array([rates[k] for k in kinds.tolist()])
    if mechanism == "hidden kind":
        sizes = np.bincount(kinds)
        # Neither the largest kind nor one too small to matter.
        order = [k for k in numbers.tolist() if 0.05 < sizes[k] / sizes.sum() < 0.6] or [numbers[0]]
        return np.where(kinds == order[0], 0.0, 1.0)
    odds = {"tilt x5": 5.0, "tilt x27": 27.0, "low scores": 1 / 5}[mechanism]
    logit = true_logits(X, y, int(rng.integers(2**31)))[y]
    low, high = np.quantile(logit, [0.05, 0.95])
    place = np.clip((logit - low) / max(high - low, 1e-9), -0.5, 1.5)
    weights: np.ndarray = np.exp(np.log(odds) * place)
    return weights


def true_logits(X: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    """How positive each row looks to a classifier that has learned the true classes of others."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import QuantileTransformer

    model = make_pipeline(
        QuantileTransformer(n_quantiles=50, output_distribution="normal", random_state=seed),
        LogisticRegression(C=0.1, max_iter=300),
    )
    found: np.ndarray = np.asarray(
        cross_val_predict(model, X, y, cv=3, method="decision_function"), float
    )
    return found


def scaled(weights: np.ndarray, frequency: float) -> np.ndarray:
    """Chances proportional to the weights, at most .98, whose mean is the label frequency."""
    low, high = 0.0, 1e9
    for _ in range(200):
        middle = (low + high) / 2 if low else min(1.0, high / 2)
        if np.minimum(weights * middle, 0.98).mean() < frequency:
            low = middle
        else:
            high = middle
        if high / max(low, 1e-12) < 1 + 1e-9:
            break
    return np.asarray(np.minimum(weights * high, 0.98))


# Positive kinds and negatives of the two problems that pulsnar is held against its former self by.
ANCHORS = {"anuran": ((0, 1, 2), (3,)), "letter": ((0, 1, 2, 4, 5), (3,))}
ANCHOR_ALPHAS = (0.2, 0.4)


def anchor(dataset: str, alpha: float, seed: int) -> Biased:
    """Kinds labeled at rates that differ sixfold, with a fixed share of hidden positives."""
    X, classes = features(dataset, None)
    rng = stream("anchor", dataset, alpha, seed)
    kind = np.full(len(classes), -1)
    for number, member in enumerate(ANCHORS[dataset][0]):
        kind[classes == member] = number
    order = rng.permutation(len(ANCHORS[dataset][0]))
    rates = dict(zip(order.tolist(), np.geomspace(1, 1 / 6, len(order)), strict=True))
    positive = rng.permutation(np.flatnonzero(kind >= 0))
    negative = rng.permutation(np.flatnonzero(np.isin(classes, ANCHORS[dataset][1])))
    chance = scaled(np.array([rates[k] for k in kind[positive].tolist()]), 0.3)
    marked = rng.random(len(positive)) < chance
    labeled, hidden = positive[marked], positive[~marked]
    n_negative = min(len(negative), int(len(hidden) * (1 - alpha) / alpha))
    n_hidden = int(n_negative * alpha / (1 - alpha))
    rows = np.concatenate([labeled, hidden[:n_hidden], negative[:n_negative]])
    s = np.repeat([1, 0], [len(labeled), n_hidden + n_negative])
    mechanism = f"anchor {alpha}"
    return Biased(dataset, mechanism, 0.3, seed, X[rows], s, kind[rows] >= 0, kind[rows])


def summary(found: PriorEstimate, seconds: float) -> dict[str, Any]:
    """What the tables need of an estimate."""
    low, high = found.interval or (None, None)
    plain: dict[str, Any] = {"alpha": found.alpha, "low": low, "high": high, "seconds": seconds}
    if found.labels is not None:
        plain |= {"code": found.labels.code, "p": found.labels.p_value}
        plain |= {"n_kinds": len(found.labels.kinds), "tilt_p": found.labels.tilt_p_value}
    return plain


def asked(task: Biased) -> dict[str, dict[str, Any]]:
    """What pulsnar says; on the anchors by two ways to score groups."""
    ways = {"pulsnar": "auto"}
    if task.mechanism.startswith("anchor"):
        ways["pulsnar, boosted trees"] = "boosting"
    found = {}
    for name, transform in ways.items():
        started = time.perf_counter()
        fitted = PULSNAR(transform=transform).fit(task.X, task.s).estimate_
        found[name] = summary(fitted, time.perf_counter() - started)
    return found


@dataclass(frozen=True)
class Seen:
    """What auto sees in a problem before it weighs anything: that takes nearly all its time."""

    task: Biased
    views: tuple[ScoredViews, ...]
    readings: Readings
    seconds: tuple[float, float]


def seen(task: Biased) -> Seen:
    """Score the rows and read the labels, as ``Auto.fit`` does."""
    started = time.perf_counter()
    views = score_views_anew(task.X, task.s, SEED, "biased_labels")
    passed = time.perf_counter() - started
    readings = read(task.X, task.s, stream("labels", task.name))
    seconds = passed, time.perf_counter() - started - passed
    # Datasets are packed in no more than single precision.
    return Seen(replace(task, X=task.X.astype(np.float32)), views, readings, seconds)


def answers(look: Seen) -> dict[str, dict[str, Any]]:
    """What auto makes of what it saw, told that labels are random and told nothing."""
    task, started = look.task, time.perf_counter()
    plain = Auto(beta=1.0, labels_are="random", random_state=SEED).fit_views(*look.views)
    passed = [look.seconds[0] + time.perf_counter() - started]
    # What fit does if nothing is said: the same, and then this.
    found = with_labels(plain, task.X, task.s, stream("ways"), readings=look.readings)
    passed.append(sum(look.seconds) + time.perf_counter() - started)
    return {"auto if random": summary(plain, passed[0]), "auto": summary(found, passed[1])}


def tasks() -> list[tuple[str, str, float, int]]:
    """List dataset, mechanism, label frequency and seed of every problem.

    Each round has one of every dataset, with labels that came about in different ways.
    """
    cells = [
        (mechanism, frequency, seed)
        for mechanism in MECHANISMS
        for frequency in FREQUENCIES
        for seed in range(N_SEEDS.get(mechanism, 1))
    ]
    order = stream("order").permutation(len(cells)).tolist()
    return [
        (name, *cells[order[(number + place) % len(cells)]])
        for number in range(len(cells))
        for place, name in enumerate(STUDY)
    ]


def file_of(kind: str, name: str, mechanism: str, frequency: float, seed: int) -> Path:
    """Where the results of a problem are."""
    file = f"{name}-{mechanism}-{frequency}-{seed}.json".replace(" ", "_")
    return FOLDER / "biased" / kind / file


def made(name: str, mechanism: str, frequency: float, seed: int) -> Biased | None:
    """Cut a problem; None where it would have too few labels."""
    pack(name, None)
    if mechanism.startswith("anchor"):
        return anchor(name, float(mechanism.split()[1]), seed)
    return problem(name, mechanism, frequency, seed)


def run(kind: str, todo: list[tuple[str, str, float, int]]) -> None:
    """Run the problems that no file has yet."""
    for done, key in enumerate(todo, 1):
        path = file_of(kind, *key)
        if path.exists():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        stored: dict[str, Any] = dict(zip(KEYS, key, strict=True)) | {"methods": {}}
        task = made(*key)
        if task is not None:
            stored |= {"alpha": task.alpha, "n_labeled": int(task.s.sum()), "n": len(task.s)}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    if kind == "study":
                        with writing(path.with_suffix(".seen")) as (draft,):
                            draft.write_bytes(pickle.dumps(seen(task)))
                    stored["methods"] = asked(task)
                except InvalidInputError as error:
                    stored["error"] = str(error)
        write_file(path, json.dumps(stored).encode())
        print(f"{done} of {len(todo)}: {path.stem}", file=sys.stderr, flush=True)


def ask(todo: list[tuple[str, str, float, int]]) -> None:
    """Ask auto about every problem that was looked at, anew: its networks may have changed."""
    for key in todo:
        path = file_of("study", *key)
        look = path.with_suffix(".seen")
        if not path.exists() or not look.exists():  # not reached, or too few labels
            continue
        stored = json.loads(path.read_text())
        if "error" in stored:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            stored["methods"] |= answers(pickle.loads(look.read_bytes()))
        write_file(path, json.dumps(stored).encode())


def load_results(kind: str) -> list[dict[str, Any]]:
    """Return all finished problems that could be made."""
    paths = sorted((FOLDER / "biased" / kind).glob("*.json"))
    found = [json.loads(path.read_text()) for path in paths]
    return [result for result in found if result["methods"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="*")
    parser.add_argument("--write", type=Path)
    parser.add_argument("--only-tables", action="store_true", help="of what was looked at so far")
    parser.add_argument("--part", type=int, help="which of the parts this run does, and no more")
    parser.add_argument("--parts", type=int, default=1, help="how many runs share the work")
    chosen = parser.parse_args()
    todo = [task for task in tasks() if task[0] in (chosen.datasets or [task[0]])]
    if chosen.part is not None:
        run("study", todo[chosen.part :: chosen.parts])
        return
    if not chosen.only_tables:
        run("study", todo)
        run(
            "anchors",
            [
                (name, f"anchor {alpha}", 0.3, seed)
                for name in ANCHORS
                for alpha in ANCHOR_ALPHAS
                for seed in range(3)
            ],
        )
    ask(todo)
    from tools.studies.biased_labels_page import page

    results = load_results("study")
    text = page(results, load_results("anchors"))
    if chosen.write:
        chosen.write.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
