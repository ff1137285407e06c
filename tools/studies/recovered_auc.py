"""How close does recovered AUC come to the truth when alpha is estimated, not known?

The protocol of the AUL paper (section 4, Table 1), on those of its datasets that are at hand: a
classifier is scored on rows of known class, a tenth, a fifth or two fifths of the positives get
labels at random, and AUC recovered from labels alone is compared with AUC on the true classes.

Three classifiers are evaluated. "published": boosted trees that learned the true classes from
features blurred by noise, as much as brings AUC to the published one. "true": boosted trees on the
features as they are. "pu": a classifier that learned the PU labels, as it is in practice. All
scores are out of fold. Alpha is estimated from the scores of the evaluated classifier, or from the
features.

    python -m tools.studies.recovered_auc --repetitions 20 --write docs/recovered-auc.md

Scores and results are files under build/recovered_auc, so that an interrupted run goes on where
it stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from papers.aul.experiment import LARGEST_ALPHA, blurred_scores, draw_labels, true_auc
from papers.aul.published import ESTIMATORS, FREQUENCIES, PUBLISHED, published_error
from recoup import evaluate
from recoup._core.files import write_file
from recoup._core.registry import registered
from recoup.exceptions import InvalidInputError
from recoup.metrics import aul
from recoup.priors import Auto, estimate
from recoup.priors._solvers.views import ScoredViews, score_views_anew
from tools.studies.auto_study import preferred
from tools.studies.prior_tasks import FOLDER, STUDY, features, pack, score, stream, write

STORE = FOLDER.with_name("recovered_auc")
PROTOCOLS = ("published", "true", "pu")
SINGLE = ("km1", "km2", "dist-curve", "dedpul", "bbe", "share-net")
METHODS = ("known alpha", "auto", "auto, features", "auto-1", "pulscar", *SINGLE)
# Only where a classifier of PU labels is at hand: they take long, or need its scores.
SLOW = ("auto, features", "km1", "km2")
N_BOOT = 500
GOAL = 0.0308
NAMES = [name for name in PUBLISHED if name in STUDY]


def dataset(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return features and true classes of as many rows as were published."""
    X, classes = features(name, STUDY[name])
    rows = stream("recovered auc", name).permutation(len(classes))[: PUBLISHED[name].n_rows]
    return X[rows], (classes[rows] == 1).astype(int)


def label(y: np.ndarray, name: str, frequency: float, repetition: int) -> np.ndarray:
    """Label a random share of the positives."""
    return draw_labels(y, frequency, stream("recovered auc", name, frequency, repetition))


def store_models(name: str) -> str:
    """Score a dataset by the two classifiers that know the true classes."""
    path = STORE / "scores" / f"{name}.npz"
    if not path.exists():
        pack(name, STUDY[name])
        X, y = dataset(name)
        published = blurred_scores(X, y, PUBLISHED[name].auc, stream("blur", name))
        write(path, true=score(X, y, "boosting", 0), published=published)
    return f"models of {name}"


def pu_path(name: str, frequency: float, repetition: int) -> Path:
    """Where the scores of a classifier of PU labels are kept."""
    return STORE / "scores" / f"{name}-{frequency}-{repetition}.npz"


def store_pu_model(name: str, frequency: float, repetition: int) -> str:
    """Score a dataset by classifiers of its PU labels, as recoup.priors does."""
    path = pu_path(name, frequency, repetition)
    if not path.exists():
        X, y = dataset(name)
        s = label(y, name, frequency, repetition)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            times = score_views_anew(X, s, repetition, "recovered_auc")
            write(path, s=s, views=np.array([one.scores for one in times]))
    return f"PU model of {name}, {frequency}, {repetition}"


def recovered(s: np.ndarray, scores: np.ndarray, alpha: float) -> dict[str, Any]:
    """Recover AUC with an estimate of alpha that has no interval."""
    found = evaluate(s, scores, alpha=min(alpha, LARGEST_ALPHA), n_boot=0)["roc_auc"]
    return {"alpha": alpha, "auc": found.recovered}


def recovered_with_limits(s: np.ndarray, scores: np.ndarray, alpha: Any) -> dict[str, Any]:
    """Recover AUC and its interval; alpha is a word or an estimate with its uncertainty."""
    try:
        found = evaluate(s, scores, alpha=alpha, n_boot=N_BOOT)
    except InvalidInputError:
        # evaluate declines where alpha may be 1; the AUC of the largest alpha is still an answer.
        point = alpha if not isinstance(alpha, str) else estimate(s, scores, beta=1.0)
        return recovered(s, scores, point.alpha)
    auc = found["roc_auc"]
    return {"alpha": found.alpha, "auc": auc.recovered, "low": auc.lower, "high": auc.upper}


def one_method(
    method: str, y: np.ndarray, s: np.ndarray, scores: np.ndarray, views: tuple[ScoredViews, ...]
) -> dict[str, Any]:
    """Recover AUC in one way."""
    if method == "known alpha":
        return recovered(s, scores, float(y[s == 0].mean()))
    if method == "auto":
        return recovered_with_limits(s, scores, "estimate")
    if method == "auto, features":
        # As estimate(s, X=X) does it, but for the search for kinds of positives.
        assert views
        return recovered_with_limits(s, scores, Auto(beta=1.0).fit_views(*views))
    if method == "auto-1":
        return recovered_with_limits(s, scores, estimate(s, scores, method="auto-1", beta=1.0))
    alpha = registered("priors")[method](interval=None).fit_scores(s, scores).alpha_
    return recovered(s, scores, alpha)


def facts(y: np.ndarray, s: np.ndarray, scores: np.ndarray) -> dict[str, Any]:
    """What is true of a repetition, however AUC is recovered."""
    return {
        "alpha": float(y[s == 0].mean()),
        "auc": true_auc(y, scores),
        "auc_pu": true_auc(s, scores),
        "aul_error": abs(aul(s, scores) - aul(y, scores)),
        "methods": {},
    }


def result_path(protocol: str, name: str, frequency: float) -> Path:
    """Where the results of a cell are kept."""
    return STORE / protocol / f"{name}-{frequency}.json"


def store_cell(
    protocol: str,
    name: str,
    frequency: float,
    repetitions: int,
    pu_repetitions: int,
    among: tuple[str, ...],
) -> str:
    """Run what a cell still lacks."""
    path = result_path(protocol, name, frequency)
    done: list[dict[str, Any]] = json.loads(path.read_text()) if path.exists() else []
    _, y = dataset(name)
    with np.load(STORE / "scores" / f"{name}.npz") as stored:
        models = dict(stored)
    for repetition in range(pu_repetitions if protocol == "pu" else repetitions):
        s = label(y, name, frequency, repetition)
        views: tuple[ScoredViews, ...] = ()
        wanted = [method for method in among if method not in SLOW]
        if repetition < pu_repetitions:
            wanted = list(among)
            with np.load(pu_path(name, frequency, repetition)) as stored:
                views = tuple(ScoredViews(s, one) for one in stored["views"])
            models["pu"] = preferred(views[0])
        scores = models[protocol]
        if repetition == len(done):
            done.append(facts(y, s, scores))
        found = done[repetition]["methods"]
        missing = [method for method in wanted if method not in found]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found |= {method: one_method(method, y, s, scores, views) for method in missing}
        if missing:
            store(path, done)
    return f"{protocol}, {name}, {frequency}"


def store(path: Path, done: list[dict[str, Any]]) -> None:
    """Write a cell by rename, so that a file is whole or absent."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, json.dumps(done).encode())


def forget(methods: list[str]) -> None:
    """Drop the results of some methods, so that they are run anew."""
    for protocol in PROTOCOLS:
        for path in (STORE / protocol).glob("*.json"):
            done = json.loads(path.read_text())
            for method in methods:
                for repetition in done:
                    repetition["methods"].pop(method, None)
            store(path, done)


def run(stage: str, jobs: int, task: Callable[..., str], cells: Iterable[tuple[Any, ...]]) -> None:
    """Run a stage, with a line per task on stderr."""
    from joblib import Parallel, delayed

    todo = [delayed(task)(*cell) for cell in cells]
    started = time.perf_counter()
    for done, said in enumerate(Parallel(n_jobs=jobs, return_as="generator_unordered")(todo), 1):
        left = (time.perf_counter() - started) / done * (len(todo) - done)
        line = f"{stage}: {done} of {len(todo)} ({said}), {left:.0f} s left"
        print(line, file=sys.stderr, flush=True)


Cell = tuple[str, float, list[dict[str, Any]]]


def load_cells(protocol: str, names: Iterable[str]) -> list[Cell]:
    """Return the finished cells of a protocol."""
    paths = [(n, f, result_path(protocol, n, f)) for n in names for f in FREQUENCIES]
    return [(n, f, json.loads(path.read_text())) for n, f, path in paths if path.exists()]


def errors(cell: Cell, method: str, key: str) -> np.ndarray:
    """Errors of alpha or of AUC in a cell, one per repetition that has the method."""
    having = [r for r in cell[2] if method in r["methods"]]
    return np.array([r["methods"][method][key] - r[key] for r in having])


def covered(cell: Cell, method: str) -> np.ndarray:
    """Whether the interval of AUC holds the truth, per repetition that has one."""
    having = [r for r in cell[2] if "low" in r["methods"].get(method, {})]
    found = [
        r["methods"][method]["low"] <= r["auc"] <= r["methods"][method]["high"] for r in having
    ]
    return np.array(found, float)


def widths(cell: Cell, method: str) -> np.ndarray:
    """Widths of the intervals of AUC."""
    found = [r["methods"].get(method, {}) for r in cell[2]]
    return np.array([m["high"] - m["low"] for m in found if "low" in m])


def mean(values: Iterable[np.ndarray]) -> float:
    """Mean over cells of the means within them."""
    means = [float(v.mean()) for v in values if len(v)]
    return float(np.mean(means)) if means else float("nan")


def shown(value: float, form: str) -> str:
    """Format a number, or nothing."""
    return "" if np.isnan(value) else format(value, form)


def markdown(lines: list[list[str]]) -> str:
    """Join cells; the first line is the head, and numbers go to the right."""
    rule = ["---", *["---:"] * (len(lines[0]) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in [lines[0], rule, *lines[1:]])


def summary(cells: list[Cell]) -> str:
    """One line per way to get alpha, all cells weighing the same."""
    head = ["alpha from", "error of AUC", "bias", "error of alpha", "bias", "coverage", "width"]
    lines = [[*head, "runs"]]
    for name in METHODS:
        if not any(name in r["methods"] for _, _, done in cells for r in done):
            continue
        auc, alpha = ([errors(cell, name, key) for cell in cells] for key in ("auc", "alpha"))
        lines.append(
            [
                name,
                shown(mean(map(np.abs, auc)), ".4f"),
                shown(mean(auc), "+.4f"),
                shown(mean(map(np.abs, alpha)), ".4f"),
                shown(mean(alpha), "+.4f"),
                shown(mean(covered(cell, name) for cell in cells), ".1%"),
                shown(mean(widths(cell, name) for cell in cells), ".3f"),
                f"{sum(map(len, auc))}",
            ]
        )
    return markdown(lines)


def by_cell(cells: list[Cell]) -> str:
    """One line per dataset and label frequency, beside the published errors."""
    head = ["dataset", "labeled", "AUC", "AUC_pu", "alpha", "known", "auto", "alpha bias"]
    head += ["covered", "features", "alpha bias", "covered", *SINGLE]
    lines = [[*head, "KM1", "KM2", "Distance"]]
    for cell in cells:
        name, frequency, done = cell
        line = [name, f"{frequency:g}"]
        line += [f"{np.mean([r[key] for r in done]):.3f}" for key in ("auc", "auc_pu", "alpha")]
        line.append(shown(mean([np.abs(errors(cell, "known alpha", "auc"))]), ".3f"))
        for method in ("auto", "auto, features"):
            line += [
                shown(mean([np.abs(errors(cell, method, "auc"))]), ".3f"),
                shown(mean([errors(cell, method, "alpha")]), "+.3f"),
                shown(mean([covered(cell, method)]), ".0%"),
            ]
        line += [shown(mean([np.abs(errors(cell, key, "auc"))]), ".3f") for key in SINGLE]
        said, at = PUBLISHED[name], FREQUENCIES.index(frequency)
        line += [f"{said.errors[method][at]:.3f}" for method in ESTIMATORS]
        lines.append(line)
    return markdown(lines)


def published_means(names: list[str]) -> str:
    """Published errors over all nine datasets, and over those at hand."""
    methods = {"km1": "KM1", "km2": "KM2", "dist-curve": "Distance", "aul": "AUL"}
    lines = [["published mean error", *methods.values()]]
    for title, among in (("nine datasets", PUBLISHED), (f"the {len(names)} at hand", names)):
        lines.append([title, *(f"{published_error(method, among):.4f}" for method in methods)])
    return markdown(lines)


TITLES = {
    "published": """## Classifier of the published AUC

Boosted trees that learned the true classes from features blurred by noise, as much as brings AUC
to the published one.""",
    "true": """## Classifier that learned the true classes

Boosted trees on the features as they are.""",
    "pu": """## Classifier that learned the PU labels

What is at hand in practice: logistic regression, or boosted trees if they tell labeled rows apart
significantly better. *Features* reads a third classifier too, and the average.""",
}


def page(names: list[str]) -> str:
    """All tables, as a page of the documentation."""
    parts = [
        f"""# Recovered AUC with estimated alpha, measured

The protocol of the AUL paper (section 4, Table 1), on those of its datasets that are at hand: a
classifier is scored on rows of known class, a tenth, a fifth or two fifths of the positives get
labels at random, and AUC recovered from the labels is compared with AUC on the true classes. All
scores are out of fold. Made by `tools/studies/recovered_auc.py`.

*Error* is the mean absolute error, *coverage* how often the 95% interval of AUC, which includes
the uncertainty of alpha, holds the truth; every dataset and label frequency weighs the same.
*auto* reads the scores of the evaluated classifier, *features* the features, single estimators
the scores. The goal is {GOAL}: half of the best published mean.

{published_means(names)}"""
    ]
    for protocol in PROTOCOLS:
        cells = load_cells(protocol, names)
        if cells:
            lift = mean(np.array([r["aul_error"] for r in done]) for _, _, done in cells)
            parts += [TITLES[protocol], summary(cells)]
            parts.append(f"Mean error of AUL, which needs no alpha: {lift:.4f}.")
            parts.append(by_cell(cells))
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument(
        "--pu-repetitions",
        type=int,
        default=5,
        help="of these, how many get a classifier of PU labels and slow estimators",
    )
    parser.add_argument("--datasets", nargs="*", choices=NAMES, default=NAMES)
    parser.add_argument("--again", nargs="*", choices=METHODS, default=[], help="run these anew")
    parser.add_argument("--without", nargs="*", choices=METHODS, default=[], help="leave these out")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--write", type=Path)
    parser.add_argument("--only-tables", action="store_true")
    chosen = parser.parse_args()
    names, few = chosen.datasets, min(chosen.pu_repetitions, chosen.repetitions)
    forget(chosen.again)
    if not chosen.only_tables:
        run("models", chosen.jobs, store_models, [(name,) for name in names])
        cells = [(name, frequency) for name in names for frequency in FREQUENCIES]
        pu_models = [(*cell, repetition) for repetition in range(few) for cell in cells]
        run("PU models", chosen.jobs, store_pu_model, pu_models)
        among = tuple(method for method in METHODS if method not in chosen.without)
        rest = (chosen.repetitions, few, among)
        todo = [(kind, *cell, *rest) for kind in PROTOCOLS for cell in cells]
        run("recovery", chosen.jobs, store_cell, todo)
    text = page(names)
    if chosen.write:
        chosen.write.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
