"""Real datasets of the study and of training, and the study's PU problems, scored honestly.

``python -m tools.studies.prior_tasks pack`` turns the named datasets into plain arrays under
``build/priors``; ``... score`` hides labels in them and scores all rows by cross-fitting. Both
leave finished files alone, so that an interrupted run goes on where it stopped. The datasets of
the study are never among those that the combination of estimators is trained on.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from recoup._core.files import writing

FOLDER = Path(os.environ.get("RECOUP_STUDY", "build/priors"))
MAX_ROWS = 10_000
MAX_COLUMNS = 200
WIDE_COMPONENTS = 50

# Judged on these: all that the AUL paper used and that are at hand, and seven others.
STUDY = {
    "abalone": "aul",
    "anuran": "aul",
    "concrete": "aul",
    "landsat": "aul",
    "mushroom": "aul",
    "page_blocks": "aul",
    "spambase": "aul",
    "adult": "zeiberg2020",
    "bank": "zeiberg2020",
    "connect4": "pubench",
    "mnist": "pubench",
    "pendigits": "even",
    "wine_quality": "zeiberg2020",
    "newsgroups20_minilm": "pubench",
}
ALPHAS = (0.05, 0.25, 0.5, 0.75)
N_LABELED = (100, 1000)
BETAS = (1.0, 0.9, 0.75)

# Learned on these; None: a random half of the classes, anew for each problem.
TRAINING: dict[str, str | None] = {
    "batteryless_s1": None,
    "batteryless_s2": None,
    "breast_cancer": "malignant-vs-rest",
    "casp": "zeiberg2020",
    "covertype_sample": None,
    "diabetes130": "NO-vs-rest",
    "digits": None,
    "epileptic_seizure": None,
    "gas_drift_8of10": None,
    "hapt_features": None,
    "hiv1_protease": "zeiberg2020",
    "housing": "zeiberg2020",
    "imdb_minilm": "pubench",
    "letter": None,
    "parkinsons_telemonitoring": "zeiberg2020",
    "pima": "zeiberg2020",
    "shuttle": None,
    "splice": None,
    "thyroid_ann": "abnormal",
    "transfusion": "zeiberg2020",
    "wilt": "zeiberg2020",
}


@dataclass(frozen=True)
class Problem:
    """Rows of a dataset in two samples, and their scores."""

    name: str
    dataset: str
    classifier: str
    alpha: float
    beta: float
    seed: int
    rows: np.ndarray
    s: np.ndarray
    y: np.ndarray
    scores: np.ndarray

    @property
    def n_labeled(self) -> int:
        return int((self.s == 1).sum())


def stream(*names: Any) -> np.random.Generator:
    """Random numbers that belong to some names."""
    digest = hashlib.sha256(repr(names).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "big"))


def write(path: Path, **arrays: Any) -> None:
    """Write arrays by rename, so that a file is whole or absent."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing(path) as (draft,), draft.open("wb") as stream:
        np.savez_compressed(stream, **arrays)


def pack(name: str, task: str | None) -> None:
    """Store a dataset as numbers and classes; for a task, the positive class is 1."""
    from recoup.data import load, preprocess, tasks

    path = _packed(name, task)
    if path.exists():
        return
    if task is not None:
        data = load(name, task=task)
        classes = np.asarray(data.y_true, int)
    else:
        data = load(name)
        keys = [task.name for task in tasks(name) if task.name.endswith("-vs-rest")]
        positives = [np.asarray(load(name, task=key).y_true) == 1 for key in keys]
        classes = np.zeros(len(positives[0]), int)
        for number, positive in enumerate(positives):
            classes[positive] = number
    rng = stream("pack", name)
    chosen = np.sort(rng.permutation(len(classes))[:MAX_ROWS])
    if task is not None and len(classes) > MAX_ROWS:
        # As many of each class as there are, up to half: every alpha needs enough of both.
        halves = [rng.permutation(np.flatnonzero(classes == k)) for k in (0, 1)]
        sizes = [min(len(half), MAX_ROWS // 2) for half in halves]
        chosen = np.sort(np.concatenate([h[:n] for h, n in zip(halves, sizes, strict=True)]))
    (data,) = preprocess(data.take(chosen))
    X = np.asarray(data.X, np.float32).reshape(len(chosen), -1)
    if X.shape[1] > MAX_COLUMNS:
        from sklearn.decomposition import PCA

        X = PCA(WIDE_COMPONENTS, random_state=0).fit_transform(X)
    dtype = np.float32 if X.shape[1] <= WIDE_COMPONENTS else np.float16
    write(path, X=X.astype(dtype), classes=classes[chosen].astype(np.int16))


def features(name: str, task: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Return features and classes of a packed dataset."""
    with np.load(_packed(name, task)) as stored:
        return stored["X"].astype(np.float64), stored["classes"]


def _packed(name: str, task: str | None) -> Path:
    # Studies share the folder: the classes of a task are not those of the dataset.
    return FOLDER / "datasets" / f"{name}-{task or 'classes'}.npz"


def hide_labels(
    positive: np.ndarray,
    alpha: float,
    beta: float,
    n_labeled: int,
    n_unlabeled: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Draw both samples with exact shares; return rows and labels, or None if rows run out."""
    groups = [rng.permutation(np.flatnonzero(positive == side)) for side in (True, False)]
    right = round(beta * n_labeled)
    labeled = (right, n_labeled - right)
    room = [len(group) - used for group, used in zip(groups, labeled, strict=True)]
    if min(room) < 0:
        return None
    most = min(room[0] / max(alpha, 1e-9), room[1] / max(1 - alpha, 1e-9), n_unlabeled)
    n_unlabeled = int(most)
    hidden = round(alpha * n_unlabeled)
    unlabeled = (hidden, n_unlabeled - hidden)
    if n_unlabeled < 300 or unlabeled[0] > room[0] or unlabeled[1] > room[1]:
        return None
    rows = [g[:n] for g, n in zip(groups, labeled, strict=True)]
    rows += [g[used : used + n] for g, used, n in zip(groups, labeled, unlabeled, strict=True)]
    s = np.repeat([1, 1, 0, 0], [len(part) for part in rows])
    return np.concatenate(rows), s


def score(X: np.ndarray, s: np.ndarray, classifier: str, seed: int) -> np.ndarray:
    """Score all rows out of fold."""
    import warnings

    from recoup.priors._solvers.transform import honest_scores

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return honest_scores(X, s, classifier, seed, "study").scores


def study_problem(
    name: str, alpha: float, beta: float, n_labeled: int, seed: int
) -> Problem | None:
    """One cell of the study; None where the dataset is too small or alpha is not below beta."""
    if alpha >= beta:
        return None
    X, classes = features(name, STUDY[name])
    rng = stream("study", name, alpha, beta, n_labeled, seed)
    found = hide_labels(classes == 1, alpha, beta, n_labeled, 4000, rng)
    if found is None:
        return None
    rows, s = found
    y = classes[rows] == 1
    scores = score(X[rows], s, "auto", seed)
    return Problem(
        f"{name}-{alpha}-{beta}-{n_labeled}-{seed}",
        name,
        "auto",
        float(y[s == 0].mean()),
        float(y[s == 1].mean()),
        seed,
        rows,
        s,
        y,
        scores,
    )


def save(path: Path, problems: list[Problem]) -> None:
    """Store problems in one file."""
    write(
        path,
        names=np.array([[p.name, p.dataset, p.classifier] for p in problems]),
        facts=np.array([[p.alpha, p.beta, p.seed] for p in problems]),
        sizes=np.array([len(p.s) for p in problems]),
        rows=np.concatenate([p.rows for p in problems]).astype(np.int16),
        s=np.concatenate([p.s for p in problems]).astype(bool),
        y=np.concatenate([p.y for p in problems]).astype(bool),
        scores=np.concatenate([p.scores for p in problems]).astype(np.float32),
    )


def problems(kind: str) -> list[Problem]:
    """Load all scored problems of a kind, such as "study"."""
    found = []
    for path in sorted((FOLDER / kind).glob("*.npz")):
        with np.load(path) as stored:
            data = dict(stored)
        ends = np.cumsum(data["sizes"])
        for number, (end, size) in enumerate(zip(ends, data["sizes"], strict=True)):
            part = slice(end - size, end)
            name, dataset, classifier = data["names"][number].tolist()
            alpha, beta, seed = data["facts"][number].tolist()
            found.append(
                Problem(
                    name,
                    dataset,
                    classifier,
                    alpha,
                    beta,
                    int(seed),
                    data["rows"][part].astype(np.intp),
                    data["s"][part].astype(np.int64),
                    data["y"][part],
                    data["scores"][part].astype(np.float64),
                )
            )
    return found


def score_all(seeds: int, jobs: int) -> None:
    """Make and score the problems of the study, dataset by dataset."""
    from joblib import Parallel, delayed

    for name in STUDY:
        path = FOLDER / "study" / f"{name}.npz"
        if path.exists():
            continue
        cells = [
            (alpha, beta, n, seed)
            for seed in range(seeds)
            for n in N_LABELED
            for beta in BETAS
            for alpha in ALPHAS
        ]
        tasks = [delayed(study_problem)(name, *cell) for cell in cells]
        found = [p for p in Parallel(n_jobs=jobs)(tasks) if p is not None]
        save(path, found)
        print(f"study: {name}, {len(found)} problems", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stage", choices=["pack", "score"])
    parser.add_argument("--kind", choices=["study", "training"], nargs="*")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    chosen = parser.parse_args()
    if chosen.stage == "score":
        if "training" in (chosen.kind or []):
            parser.error(
                "score makes problems of the study; tools.training.view_tasks makes others"
            )
        score_all(chosen.seeds, chosen.jobs)
        return
    for kind in chosen.kind or ["training", "study"]:
        for name, task in (STUDY if kind == "study" else TRAINING).items():
            pack(name, task)
            print(f"packed {name}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
