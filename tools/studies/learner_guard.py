"""Does a fit that has failed say so, and where do the learners cut?

    python -m tools.studies.learner_guard run --datasets training    goes on where it stopped
    python -m tools.studies.learner_guard run --datasets judged
    python -m tools.studies.learner_guard show

Of each dataset 2,000 training rows and 1,000 test rows are drawn, with a given share of positives
in both. Labels: single sample, three of ten positives, at random; alpha is given as it is. What the
guard, the cut and the calibration do was chosen on the datasets ``TRAINING``; ``JUDGED`` were named
before and looked at once. A fit has failed if its AUC on the test rows is below one half by their
true classes, or if it gives all of them one class.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import time
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

STORE = Path(os.environ.get("RECOUP_STUDY", "build/priors")).parent / "learner_guard"
TRAINING = ("wilt", "thyroid_ann", "shuttle", "letter", "hapt_features", "gas_drift_8of10")
JUDGED = ("landsat", "page_blocks", "pendigits", "anuran", "spambase", "bank")
PREVALENCES = (0.02, 0.1, 0.3, 0.6)
N_TRAIN, N_TEST, LABEL_FREQUENCY = 2000, 1000, 0.3
# Learners around a classifier, which is boosting as a user would take it.
WRAPPERS = ("naive", "weighted", "elkan-noto", "bagging-pu", "two-step")
CLASSICAL = (*WRAPPERS, "puet", "pu-auc", "pu-aul")
NETWORKS = (
    *("nnpu", "upu", "pusb", "vpu", "mpe-pu", "dist-pu", "pulda", "lbe"),
    *("self-pu", "p3mix", "robust-pu", "holistic-pu", "lagam", "pul-cpbf"),
    *("vae-pu", "pan", "cgenpu"),
)
BASELINE = "boosting"
# Names of learners with other settings than their own.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"{key}, own": (key, {"probabilities": "own"}) for key in WRAPPERS},
    **{f"{key}, logistic": (key, {"classifier": "logistic"}) for key in WRAPPERS},
    **{
        f"{key}, logistic own": (key, {"classifier": "logistic", "probabilities": "own"})
        for key in WRAPPERS
    },
    **{f"{key}, alpha": (key, {"threshold": "alpha"}) for key in (*CLASSICAL, *NETWORKS)},
    **{f"{key}, f1": (key, {"threshold": "f1"}) for key in (*CLASSICAL, *NETWORKS)},
    **{
        f"{key}, calibrated": (key, {"probabilities": "calibrated"})
        for key in ("bagging-pu", "puet", *NETWORKS)
    },
    "puet, own cut": ("puet", {"threshold": "own"}),
}


def rows_of(dataset: str, prevalence: float, seed: int) -> dict[str, Any]:
    """Return PU training rows and test rows with a share of positives."""
    from recoup.data import load, preprocess

    found = load(dataset)
    X = found.X
    if not (isinstance(X, np.ndarray) and X.dtype.kind in "fiu"):
        (ready,) = preprocess(found)
        X = ready.X
    X, y = np.asarray(X, float), np.asarray(found.y_true).astype(int)
    rng = np.random.default_rng([seed, round(1000 * prevalence)])
    kinds = [rng.permutation(np.flatnonzero(y == kind)) for kind in (0, 1)]
    # Smaller samples where there are too few rows of one class.
    most = [len(kinds[0]) / (1 - prevalence), len(kinds[1]) / prevalence]
    factor = min(1.0, *(each / (N_TRAIN + N_TEST) for each in most))
    parts = []
    for n in (int(N_TRAIN * factor), int(N_TEST * factor)):
        n_positive = max(round(prevalence * n), 4)
        taken = (n - n_positive, n_positive)
        parts.append(np.concatenate([kinds[kind][: taken[kind]] for kind in (0, 1)]))
        kinds = [kinds[kind][taken[kind] :] for kind in (0, 1)]
    train, test = (rng.permutation(part) for part in parts)
    positive = np.flatnonzero(y[train] == 1)
    s = np.zeros(len(train), int)
    n_labeled = max(round(LABEL_FREQUENCY * len(positive)), 3)
    s[rng.choice(positive, n_labeled, replace=False)] = 1
    return {
        "X": X[train],
        "s": s,
        "alpha": float(y[train][s == 0].mean()),
        "X_test": X[test],
        "y_test": y[test],
    }


def run_one(job: dict[str, Any]) -> dict[str, Any]:
    """Fit one learner and measure it on rows it has not seen."""
    from sklearn.metrics import roc_auc_score

    from recoup import learners
    from recoup.exceptions import LearnerWarning
    from recoup.priors._solvers.transform import CLASSIFIERS

    rows = rows_of(job["dataset"], job["prevalence"], job["seed"])
    classes = rows["y_test"]
    started = time.perf_counter()
    more: dict[str, Any] = {}
    if job["learner"] == BASELINE:
        model = CLASSIFIERS["boosting"]().set_params(random_state=job["seed"])
        model.fit(rows["X"], rows["s"])
        scores = model.predict_proba(rows["X_test"])[:, 1]
        predicted = (scores > 0.5).astype(int)
    else:
        key, changed = VARIANTS.get(job["learner"], (job["learner"], {}))
        settings = {"alpha": rows["alpha"], "progress": False} | changed
        if key in WRAPPERS:
            settings = {"classifier": "boosting"} | settings
        learner = learners.make(key, random_state=job["seed"])
        known = learner.get_params()
        learner.set_params(**{name: value for name, value in settings.items() if name in known})
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            learner.fit(rows["X"], rows["s"])
        scores = learner.decision_function(rows["X_test"])
        predicted = learner.predict(rows["X_test"])
        more["warned"] = any(issubclass(one.category, LearnerWarning) for one in caught)
        health = learner.health_
        assert health is not None
        more |= {"code": health.code, "retries": list(health.retries), "text": health.text}
        if hasattr(learner, "predict_proba"):
            chances = learner.predict_proba(rows["X_test"])[:, 1]
            more["brier"] = float(np.mean((chances - classes) ** 2))
    return (
        job
        | {
            "auc": float(roc_auc_score(classes, scores)),
            "accuracy": float(np.mean(predicted == classes)),
            "called": float(predicted.mean()),
            "share": float(classes.mean()),
            "seconds": time.perf_counter() - started,
        }
        | more
    )


def name_of(job: dict[str, Any]) -> str:
    return "|".join(str(job[part]) for part in ("dataset", "learner", "prevalence", "seed"))


def done() -> dict[str, dict[str, Any]]:
    """Return the results so far, by name."""
    path = STORE / "results.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    found = [json.loads(line) for line in lines if line.endswith("}")]
    return {name_of(one): one for one in found if "error" not in one}


def run(asked: argparse.Namespace) -> None:
    """Run what is missing, and write each result down at once."""
    STORE.mkdir(parents=True, exist_ok=True)
    groups = {
        "training": TRAINING,
        "judged": JUDGED,
        "classical": (BASELINE, *CLASSICAL),
        "networks": NETWORKS,
    }
    datasets, keys = (
        [name for each in chosen for name in groups.get(each, (each,))]
        for chosen in (asked.datasets, asked.learners)
    )
    finished, until = done(), time.time() + asked.limit
    cells = itertools.product(asked.seeds, asked.prevalences, datasets, keys)
    for seed, prevalence, dataset, learner in cells:
        job = {"dataset": dataset, "learner": learner, "prevalence": prevalence, "seed": seed}
        if name_of(job) in finished or time.time() > until:
            continue
        try:
            result = run_one(job)
        except Exception as error:
            result = job | {"error": f"{type(error).__name__}: {error}"[:300]}
        with (STORE / "results.jsonl").open("a") as out:
            out.write(json.dumps(result) + "\n")
        print(json.dumps(result), flush=True)


def failed(one: dict[str, Any]) -> bool:
    """Whether a fit is of no use, by the true classes of the test rows."""
    return bool(one["auc"] < 0.5 or one["called"] in (0.0, 1.0))


def tables(datasets: tuple[str, ...]) -> list[str]:
    """Return a table of learners by prevalence: AUC, share called, failures and warnings."""
    cells: dict[tuple[str, float], list[dict[str, Any]]] = defaultdict(list)
    for one in done().values():
        if one["dataset"] in datasets:
            cells[one["learner"], one["prevalence"]].append(one)
    lines = [
        "| learner | positives | fits | AUC, mean (lowest) | accuracy | called | Brier |"
        " failed, warned | failed, silent | sound, warned | s |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (learner, prevalence), found in sorted(cells.items()):
        auc = [one["auc"] for one in found]
        briers = [one["brier"] for one in found if "brier" in one]
        brier = f"{np.mean(briers):.3f}" if briers else "-"
        warned = [(failed(one), one.get("warned", False)) for one in found]
        counts = [sum(pair == kind for pair in warned) for kind in _KINDS]
        means = [np.mean([one[name] for one in found]) for name in ("accuracy", "called")]
        shown = [f"{value:.3f}" for value in means]
        seconds = f"{np.mean([one['seconds'] for one in found]):.1f}"
        lines.append(
            f"| {learner} | {prevalence:g} | {len(found)} | {np.mean(auc):.3f} ({min(auc):.3f}) | "
            f"{' | '.join(shown)} | {brier} | {' | '.join(map(str, counts))} | {seconds} |"
        )
    return lines


_KINDS = ((True, True), (True, False), (False, True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_Raw)
    parser.add_argument("action", choices=("run", "show"))
    parser.add_argument("--datasets", nargs="+", default=["training"])
    parser.add_argument("--learners", nargs="+", default=["classical"])
    parser.add_argument("--prevalences", nargs="+", type=float, default=list(PREVALENCES))
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--limit", type=float, default=float("inf"), help="seconds")
    asked = parser.parse_args()
    if asked.action == "run":
        run(asked)
        return
    for title, datasets in (("Training", TRAINING), ("Judged", JUDGED)):
        print(f"## {title}: {', '.join(datasets)}\n", *tables(datasets), "", sep="\n")


_Raw = argparse.RawDescriptionHelpFormatter

if __name__ == "__main__":
    main()
