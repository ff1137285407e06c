"""How well do the learners do on real data with alpha known, chosen honestly and by classes?

    python -m tools.studies.learners pack                      once, from RECOUP_DATA
    python -m tools.studies.learners run --jobs 2              goes on where it stopped
    python -m tools.studies.learners write docs/learners-known-alpha.md

A tenth of the training positives carry a label, chosen at random; the share of hidden positives is
given as it is. In the case-control design labeled and unlabeled rows are disjoint samples. Test
rows are the official ones, or a fifth of all rows, stratified, by the seed. *Honest*: a fifth of
the labeled and of the unlabeled rows is held out to choose the weights by, without classes.
*Oracle*: of the same training, the weights that are best on a hundredth of the rows with their
classes, which is how PU-Bench chooses. Learners around a scikit-learn classifier choose nothing,
and take its logistic regression.

``pack`` writes arrays that ``run`` needs nothing but numpy, scikit-learn and torch for, so that it
runs on a bare machine with a GPU.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np

from recoup._core.checks import Scheme

# The other five of PU-Bench, 2, 25, 42, 52 and 99, were looked at while settings were chosen.
SEEDS = (103, 250, 666, 777, 2026)
SCHEMES: tuple[Scheme, ...] = ("case-control", "single-sample")
DATASETS = ("spambase", "mushroom", "connect4", "mnist", "newsgroups20_minilm", "imdb_minilm")
NETWORKS = (
    *("upu", "nnpu", "pusb", "vpu", "mpe-pu", "dist-pu", "pulda", "lbe"),
    *("self-pu", "p3mix", "p3mix, c", "robust-pu", "holistic-pu", "lagam", "pul-cpbf"),
    *("vae-pu", "pan", "cgenpu"),
)
CLASSICAL = ("naive", "weighted", "elkan-noto", "bagging-pu", "two-step")
LABEL_FREQUENCY = 0.1
ABOUT = """\
Figures are in percent: mean ± standard deviation over seeds, lowest (number of seeds). The last
column is PU-Bench's Table 1, which it calls accuracy; where one class is larger it fits F1 better
than accuracy (see `recoup.learners.reported`), so compare it with both. `naive` takes unlabeled
rows for negatives, `pn` knows all classes. `python -m tools.studies.learners` makes this page.
Networks were trained with the seeds 103, 250, 666, 777 and 2026, which had no part in choosing
their settings; the others, which choose nothing, with 2, 25, 42, 52 and 99. All ran on one H200,
several at a time, but for Spambase and Mushroom with `self-pu` and what follows it, which ran on a
CPU; these have one to four seeds in the single-sample design. `lagam` makes its support set from
PU rows (its paper has one with true labels).

Choosing without classes costs next to nothing: over the {n} fits of all networks but `pn` it is
{cost:.2f} points below the choice by classes in the mean, at most {worst:.1f} in one of the
settings below ({where}), and in {ahead} of {settings} it is ahead: a hundredth of the rows says
less about a network, even with classes, than a fifth of them without.

More than two points below PU-Bench by accuracy and by F1: `nnpu` (2.2) and `pusb` (2.8) on IMDb,
and `pul-cpbf` on Connect-4 (5.6). Sentence vectors have unit length, and PU-Bench leaves them so;
here each feature is standardized. With `standardize=False` nnPU rises there from 75.4 to 76.0 (two
other seeds) and PUSB from 75.0 to 76.8 (one), while nnPU on 20 Newsgroups falls from 87.0 to 86.2
(one), so the default stays. PU-Bench's PUL-CPBF was trained with a share of each true class as its
target, and no honest figure for it is known.\
"""
STORE = Path(os.environ.get("RECOUP_STUDY", "build/priors")).parent / "learners"
# Learners with other settings than their own.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "p3mix, c": ("p3mix", {"mode": "c"}),
    "lbe, no alpha": ("lbe", {"alpha": None}),
    "pulda, smooth": ("pulda", {"distance": "softplus"}),
}


def pack(names: Sequence[str]) -> None:
    """Write each dataset as arrays: features, classes, and which rows are for testing."""
    from recoup.data import load, preprocess

    STORE.mkdir(parents=True, exist_ok=True)
    for name in names:
        dataset = load(name)
        X = dataset.X
        if not (isinstance(X, np.ndarray) and X.dtype.kind in "fiu"):
            (ready,) = preprocess(dataset)
            X = ready.X
        test = np.zeros(len(X), bool) if dataset.split is None else dataset.split == "test"
        X = np.asarray(X)
        if name == "mnist":
            X = X.reshape(len(X), 1, 28, 28)
            X = np.round(X * 255 if X.max() <= 1 else X).astype(np.uint8)
        elif set(np.unique(X[:100])) <= {0.0, 1.0}:
            X = X.astype(np.uint8)
        else:
            X = X.astype(np.float16 if len(X) > 10_000 else np.float32)
        np.savez_compressed(STORE / f"{name}.npz", X=X, y=dataset.y_true.astype(np.int8), test=test)
        print(name, X.shape, X.dtype, f"{dataset.y_true.mean():.3f}", int(test.sum()))


def jobs_of(asked: argparse.Namespace) -> list[dict[str, Any]]:
    """List what is to be run, one entry per fit."""
    found = []
    # The last ones are those that a limit of time would cut off.
    parts = (asked.schemes, asked.seeds, asked.datasets, asked.learners)
    for scheme, seed, dataset, key in itertools.product(*parts):
        small = dataset in ("spambase", "mushroom")
        if small or key not in CLASSICAL or key == "naive":
            job = {"dataset": dataset, "learner": key, "scheme": scheme, "seed": seed}
            found.append(job)
    return found


def rows_of(dataset: str, scheme: Scheme, seed: int) -> dict[str, Any]:
    """Return training rows with PU labels, rows to choose by with classes, and test rows."""
    from sklearn.model_selection import train_test_split

    from recoup.simulation import simulate

    with np.load(STORE / f"{dataset}.npz") as kept:
        X, y, test = kept["X"], kept["y"].astype(int), kept["test"]
    X = (X / np.float32(127.5) - 1) if dataset == "mnist" else X.astype(np.float32)
    if test.any():
        rest, held = np.flatnonzero(~test), np.flatnonzero(test)
    else:
        everything = np.arange(len(y))
        rest, held = train_test_split(everything, test_size=0.2, stratify=y, random_state=seed)
    train, choose = train_test_split(rest, test_size=0.01, stratify=y[rest], random_state=seed)
    numbers = np.arange(len(train))[:, None]
    made = simulate(
        numbers, y[train], scheme=scheme, label_frequency=LABEL_FREQUENCY, random_state=seed
    )
    assert made.truth is not None
    places = train[np.asarray(made.X).ravel().astype(int)]
    return {
        "X": X[places],
        "s": made.s,
        "y": made.y_true,
        "alpha": made.truth.alpha,
        "oracle": (X[choose], y[choose]),
        "X_test": X[held],
        "y_test": y[held],
    }


def let_truth_choose(learner: Any, rows: dict[str, Any]) -> dict[str, Any]:
    """Make a learner note what it says of the test rows when it is best by true classes.

    Its training and its own choice stay as they are, so that the two choices differ in nothing
    else. The decisions are in the mapping that is returned, once the learner is fitted.
    """
    own, kept = learner._judge, {"reached": -np.inf, "decisions": None}

    def judge(training: Any, caller: str) -> Any:
        honest = own(training, caller)
        oracle = learner._oracle_judge(rows["oracle"], training, caller)
        X_test = learner._tensor(rows["X_test"], training.X.device)

        def judged() -> float:
            reached = oracle()
            if reached > kept["reached"]:
                decisions = learner._scores(X_test) - learner._offset(training)
                kept.update(reached=reached, decisions=decisions.double().cpu().numpy())
            return float(honest())

        return judged

    learner._judge = judge
    return kept


def measures(decisions: np.ndarray, classes: np.ndarray) -> dict[str, float]:
    from sklearn.metrics import f1_score, roc_auc_score

    predicted = (decisions > 0).astype(int)
    return {
        "accuracy": float(np.mean(predicted == classes)),
        "f1": float(f1_score(classes, predicted)),
        "auc": float(roc_auc_score(classes, decisions)),
        "flagged": float(predicted.mean()),
    }


def run_one(job: dict[str, Any]) -> dict[str, Any]:
    """Fit one learner and measure it on rows it has not seen."""
    from recoup import learners

    rows = rows_of(job["dataset"], job["scheme"], job["seed"])
    key, changed = VARIANTS.get(job["learner"], (job["learner"], {}))
    learner = learners.make(key, random_state=job["seed"])
    settings: dict[str, Any] = {"scheme": job["scheme"], "progress": False}
    if key not in CLASSICAL or key == "weighted":
        settings["alpha"] = rows["alpha"]
    settings |= changed
    known = learner.get_params()
    learner.set_params(**{name: value for name, value in settings.items() if name in known})
    more: dict[str, Any] = {}
    kept: dict[str, Any] = {}
    if learner.tags.requires_true_labels:
        more["y_true"] = rows["y"]
    elif learner.tags.backend == "torch":
        kept = let_truth_choose(learner, rows)
    flat = learner.tags.backend != "torch"
    X, X_test = (
        part.reshape(len(part), -1) if flat else part for part in (rows["X"], rows["X_test"])
    )
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner.fit(X, rows["s"], **more)
    seconds = time.perf_counter() - started
    by_truth = kept.get("decisions")
    return job | {
        "honest": measures(learner.decision_function(X_test), rows["y_test"]),
        "oracle": None if by_truth is None else measures(by_truth, rows["y_test"]),
        "share": float(rows["y_test"].mean()),
        "seconds": seconds,
        "epochs": len(getattr(learner, "history_", [])),
        "best_epoch": getattr(learner, "best_epoch_", 0),
    }


def name_of(job: dict[str, Any]) -> str:
    return "|".join(str(job[part]) for part in ("dataset", "learner", "scheme", "seed"))


def done(store: Path) -> dict[str, dict[str, Any]]:
    path = store / "results.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    found = [json.loads(line) for line in lines if line.endswith("}")]
    return {name_of(one): one for one in found}


def attempt(job: dict[str, Any], until: float) -> dict[str, Any] | None:
    """Run a job, unless time is up; a failure is a result too."""
    if time.time() > until:
        return None
    try:
        return run_one(job)
    except Exception as error:
        return job | {"error": f"{type(error).__name__}: {error}"[:300]}


def run(store: Path, asked: argparse.Namespace) -> None:
    """Run what is missing, and write each result down at once."""
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context

    store.mkdir(parents=True, exist_ok=True)
    finished = {name for name, one in done(store).items() if "error" not in one}
    left = [job for job in jobs_of(asked) if name_of(job) not in finished]
    until = time.time() + asked.limit
    print(f"{len(left)} of {len(jobs_of(asked))} fits to do", flush=True)
    with (
        ProcessPoolExecutor(asked.jobs, mp_context=get_context("spawn")) as pool,
        (store / "results.jsonl").open("a") as out,
    ):
        waiting = [pool.submit(attempt, job, until) for job in left]
        for future in as_completed(waiting):
            result = future.result()
            if result is None:
                continue
            out.write(json.dumps(result) + "\n")
            out.flush()
            about = result.get("error") or (
                f"{result['honest']['accuracy']:.3f} in {result['seconds']:.0f} s"
            )
            print(name_of(result), about, flush=True)


def cell(rows: list[dict[str, Any]], protocol: str, measure: str) -> str:
    """Write a measure in percent: mean, standard deviation, lowest, and the number of seeds."""
    values = 100 * np.array([row[protocol][measure] for row in rows if row[protocol] is not None])
    if not len(values):
        return "-"
    spread = f" ± {values.std(ddof=1):.1f}, lowest {values.min():.1f}" if len(values) > 1 else ""
    return f"{values.mean():.1f}{spread} ({len(values)})"


def means_of(results: list[dict[str, Any]], protocol: str) -> dict[tuple[str, ...], float]:
    """Return the mean accuracy over seeds in percent, by learner, dataset and scheme."""
    kept: dict[tuple[str, ...], list[float]] = {}
    for row in results:
        if row[protocol] is not None:
            place = tuple(row[part] for part in ("learner", "dataset", "scheme"))
            kept.setdefault(place, []).append(100 * row[protocol]["accuracy"])
    return {place: float(np.mean(values)) for place, values in kept.items()}


def about(results: list[dict[str, Any]]) -> str:
    """Say how the figures came about, and what choosing honestly costs."""
    both = [row for row in results if row["oracle"] is not None and row["learner"] in NETWORKS]
    lost = {}
    for place in itertools.product(DATASETS, SCHEMES):
        here = [row for row in both if (row["dataset"], row["scheme"]) == place]
        if here:
            lost[place] = np.mean([r["oracle"]["accuracy"] - r["honest"]["accuracy"] for r in here])
    worst = max(lost, key=lambda place: lost[place])
    cost = np.mean([row["oracle"]["accuracy"] - row["honest"]["accuracy"] for row in both])
    text = ABOUT.format(
        n=len(both),
        cost=100 * cost,
        worst=100 * lost[worst],
        where=", ".join(worst),
        ahead=sum(value < 0 for value in lost.values()),
        settings=len(lost),
    )
    return "\n\n".join(fill(part, 100) for part in text.split("\n\n"))


def overview(results: list[dict[str, Any]]) -> str:
    """Lay the honest accuracies of all learners side by side, the best mean first."""
    means = means_of(results, "honest")
    everywhere = DATASETS[:5]
    lines = [
        f"| Learner | {' | '.join(DATASETS)} | Mean of the first five |",
        f"| --- |{' --- |' * (len(DATASETS) + 1)}",
    ]
    rows = []
    for key in {place[0] for place in means}:
        row = [means.get((key, dataset, "case-control")) for dataset in DATASETS]
        first = [value for value in row[: len(everywhere)] if value is not None]
        if len(first) == len(everywhere):
            rows.append((float(np.mean(first)), key, row))
    for mean, key, row in sorted(rows, reverse=True):
        cells = " | ".join("-" if value is None else f"{value:.1f}" for value in row)
        lines.append(f"| {key} | {cells} | {mean:.1f} |")
    return "\n".join(lines)


def write(found: list[dict[str, Any]], page: Path | None) -> None:
    """Write a table per dataset, our two protocols beside the published figures."""
    from recoup.learners.reported import reported_accuracies

    results = [row for row in found if "error" not in row]
    parts = [
        "# Learners with alpha known, measured",
        __doc__.split("\n\n")[2].strip(),
        about(results),
    ]
    parts += ["## All learners, accuracy, case-control", overview(results)]
    order = dict.fromkeys((*NETWORKS, *VARIANTS, "puet", *CLASSICAL, "pn"))
    columns = [(protocol, kind) for protocol in ("honest", "oracle") for kind in ("accuracy", "f1")]
    for dataset, scheme in itertools.product(DATASETS, SCHEMES):
        here = [row for row in results if (row["dataset"], row["scheme"]) == (dataset, scheme)]
        if not here:
            continue
        lines = [
            "| Learner | Accuracy | F1 | Accuracy, oracle | F1, oracle | PU-Bench |",
            "| --- | --- | --- | --- | --- | --- |",
        ]
        for key in order:
            mine = [row for row in here if row["learner"] == key]
            if not mine:
                continue
            cells = [cell(mine, protocol, kind) for protocol, kind in columns]
            name = {"p3mix": "p3mix-e", "p3mix, c": "p3mix-c"}.get(key, key)
            said = reported_accuracies().get(name, {}).get(dataset)
            shown = said if scheme == "case-control" and said is not None else "-"
            lines.append(f"| {' | '.join((key, *cells))} | {shown} |")
        parts += [f"## {dataset}, {scheme}", "\n".join(lines)]
    failed = [f"- {name_of(row)}: {row['error']}" for row in found if "error" in row]
    if failed:
        parts += ["## Failed", "\n".join(failed)]
    text = "\n\n".join(parts) + "\n"
    if page is None:
        print(text)
    else:
        page.write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("pack", "run", "write"))
    parser.add_argument("page", nargs="?", type=Path)
    parser.add_argument("--store", type=Path, default=STORE, help="where results are kept")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--limit", type=float, default=float("inf"), help="seconds to start fits for"
    )
    parser.add_argument("--datasets", nargs="+", default=DATASETS)
    parser.add_argument(
        "--learners", nargs="+", default=(*NETWORKS, *VARIANTS, "puet", *CLASSICAL, "pn")
    )
    parser.add_argument("--schemes", nargs="+", default=SCHEMES)
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    asked = parser.parse_args()
    if asked.what == "pack":
        pack(asked.datasets)
    elif asked.what == "run":
        run(asked.store, asked)
    else:
        write(list(done(asked.store).values()), asked.page)


if __name__ == "__main__":
    main()
