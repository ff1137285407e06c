"""Do audits hold, whatever the labels are, and how many checks do they save? On real data.

Each repetition labels some positives of a real population in one of several ways, estimates alpha
from the labels as a user would, chooses the threshold that flags as many rows as there seem to be
positives, plans an audit in two waves, answers it from the true classes, and compares what it says
with the truth of the whole population. Beside it stands an audit of as many rows that are drawn
blindly from the unlabeled ones. Scores are those of boosted trees that learned labeled against
unlabeled rows of the other half of the set, labeled in the same way.

``make study-audits`` packs, runs, and writes docs/audits.md. Packing needs the folder of the
datasets; running needs the packed file alone. A cell that is in the output file with as many
repetitions is not run again.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.preprocessing import StandardScaler

from recoup import evaluate
from recoup._core.files import write_file
from recoup.audit import plan
from recoup.audit.checked import CheckedRows, chances, hidden_mass
from recoup.audit.estimating import audited_estimates, drawn_cases
from recoup.audit.labels import labels_verdict
from recoup.audit.population import JudgedRows
from recoup.evaluation.audited import from_labels
from recoup.metrics.spec import METRICS as SPECS
from recoup.priors import estimate
from recoup.scores.table import ScoreTable

# Remedies were chosen on the first list; the second was looked at once.
TRAINING: dict[str, dict[str, Any]] = {
    "casp": {},
    "wine_quality": {},
    "epileptic_seizure": {},
    "parkinsons_telemonitoring": {},
    "pendigits_8": {"positive": "8"},
    "hapt_features": {},
    "page_blocks_3": {"positive": ["3", "4", "5"]},
    "batteryless_s2": {},
}
STUDY: dict[str, dict[str, Any]] = {
    "adult": {},
    "bank": {},
    "spambase": {},
    "connect4": {},
    "covertype_sample": {},
    "diabetes130": {},
    "landsat": {},
    "anuran": {},
    "wilt": {},
    "letter_A": {"positive": "A"},
    "thyroid_ann_1": {"positive": "1"},
    "gas_drift_8of10": {},
}
LABELS = ("random", "favor x5", "favor x27", "kinds")
BUDGETS = (50, 100, 200, 400)
VERDICT_BUDGET = 200
FEWEST_LABELS = 20
FIGURES = (
    *("truth", "audited", "audited_lower", "audited_upper", "combined", "lower", "upper"),
    *("from_labels", "blind", "planned_first", "planned_last"),
)
METRICS = ("alpha", "precision", "recall", "f1", "roc_auc", "average_precision")
ROWS = 10_000
LABEL_FREQUENCY = 0.3
KIND_RATES = (0.05, 0.15, 0.4, 0.6)

Floats = NDArray[np.float64]


def boosting() -> Any:
    return HistGradientBoostingClassifier(max_iter=60, early_stopping=False, random_state=0)


def label_chances(y: Any, clarity: Any, kind: Any, labels: str) -> Floats:
    """Chance of a label for every row, 0 for negatives; .3 of the positives on average."""
    found = np.zeros(len(y))
    if labels == "random":
        found[y] = LABEL_FREQUENCY
    elif labels == "kinds":
        rates = np.array(KIND_RATES)[kind[y]]
        found[y] = rates * LABEL_FREQUENCY / rates.mean()
    else:
        odds = float(labels.removeprefix("favor x"))
        rank = np.argsort(np.argsort(clarity[y])) / max(y.sum() - 1, 1)
        low, high = -30.0, 30.0
        for _ in range(60):
            middle = (low + high) / 2
            logits = middle + np.log(odds) / 0.9 * (rank - 0.5)
            share = np.mean(1 / (1 + np.exp(-logits)))
            low, high = (middle, high) if share < LABEL_FREQUENCY else (low, middle)
        found[y] = 1 / (1 + np.exp(-middle - np.log(odds) / 0.9 * (rank - 0.5)))
    return np.minimum(found, 1.0)


def pack(path: Path) -> None:
    """Write every population: classes, and scores and chances of a label for each mechanism."""
    from recoup.data import Preprocessor, load

    arrays: dict[str, Any] = {}
    for name, task in (TRAINING | STUDY).items():
        data = load(name if not task else name.rsplit("_", 1)[0], **task)
        rows = np.random.default_rng(0).permutation(len(data))[:ROWS]
        data = data.take(np.sort(rows))
        data = Preprocessor(max_levels=10).fit(data).transform(data)
        X, y = np.asarray(data.X, np.float32), np.asarray(data.y_true) == 1
        half = np.random.default_rng(1).random(len(y)) < 0.5
        clarity = np.empty(len(y))
        clarity[half] = cross_val_predict(
            boosting(), X[half], y[half], cv=5, method="predict_proba"
        )[:, 1]
        clarity[~half] = boosting().fit(X[half], y[half]).predict_proba(X[~half])[:, 1]
        scaled = StandardScaler().fit_transform(X)
        kind = KMeans(len(KIND_RATES), n_init=3, random_state=0).fit(scaled[y]).predict(scaled)
        arrays[f"{name} y"] = y[~half]
        for labels in LABELS:
            chance = np.empty(len(y))
            for part in (half, ~half):
                chance[part] = label_chances(y[part], clarity[part], kind[part], labels)
            s = np.random.default_rng(2).random(len(y)) < chance
            scores = boosting().fit(X[half], s[half]).predict_proba(X[~half])[:, 1]
            arrays |= {f"{name} {labels} scores": scores, f"{name} {labels} chance": chance[~half]}
        auc = roc_auc_score(y[~half], scores)
        print(f"{name}: {(~half).sum()} rows, {y.mean():.3f} positive, AUC {auc:.3f}", flush=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **arrays)


def truth(y: Any, s: Any, scores: Floats, threshold: float) -> dict[str, float]:
    """Every number, from the true classes of all rows."""
    above = scores >= threshold
    tp = float((above & y).sum())
    return {
        "alpha": float(y[s == 0].mean()),
        "precision": tp / above.sum(),
        "recall": tp / y.sum(),
        "f1": 2 * tp / (above.sum() + y.sum()),
        "roc_auc": float(roc_auc_score(y, scores)),
        "average_precision": float(average_precision_score(y, scores)),
    }


def by_themselves(
    table: ScoreTable, rows: Any, y: Any, scores: Floats, n: int, threshold: float
) -> dict[str, float]:
    """What rows drawn blindly say by themselves: each stands for as many others."""
    judged = JudgedRows.of(table, "single-sample", threshold)
    checked = CheckedRows(
        judged.cells(scores[rows]),
        y[rows].astype(float),
        np.full(len(rows), len(rows) / n),
        np.zeros(1, np.intp),
        np.array([]),
    )
    lumps = np.zeros(len(judged.scores))
    np.add.at(lumps, checked.cells, checked.truth / checked.probability)
    values = judged.values([SPECS[key] for key in METRICS[1:]], judged.positives(lumps)[None])
    return {"alpha": float(y[rows].mean())} | {key: float(v[0]) for key, v in values.items()}


def one_repetition(
    y: Any, scores: Floats, chance: Floats, seed: int, budgets: tuple[int, ...]
) -> dict[str, Any]:
    """Return, for each budget, one row of FIGURES for every metric, and the verdict's p-value."""
    rng = np.random.default_rng(seed)
    s = (rng.random(len(y)) < chance).astype(int)
    if s.sum() < FEWEST_LABELS:  # alpha cannot be estimated from fewer
        return {}
    table = ScoreTable.from_arrays(s, scores)
    prior = estimate(table)
    alpha = float(np.clip(prior.alpha, 0.001, 0.999))
    wanted = int(np.clip(round(s.sum() + alpha * (s == 0).sum()), 1, len(scores)))
    threshold = float(np.sort(scores)[-wanted])
    true = truth(y, s, scores, threshold)
    alone = from_labels(evaluate(table, alpha=prior, threshold=threshold, n_boot=0))
    unlabeled = np.flatnonzero(s == 0)
    judged = JudgedRows.of(table, "single-sample", threshold)
    found: dict[str, Any] = {}
    for budget in budgets:
        made = plan(s, scores, threshold=threshold, alpha=alpha, budget=budget, random_state=seed)
        first = made.expected
        audit = made.answers(made.rows, y[made.rows].astype(int))
        made = audit.next()
        audit = made.answers(made.rows, y[made.rows].astype(int))
        checked = audit.checked(s, scores, judged, "study")
        numbers = audited_estimates(
            judged,
            hidden_mass(judged, chances(judged, alpha, checked), checked),
            checked,
            drawn_cases(judged, checked, 1.0, seed),
            [SPECS[key] for key in METRICS[1:]],
            beta=1.0,
            confidence=0.95,
            from_labels=alone,
        )
        blind = rng.choice(unlabeled, min(budget, len(unlabeled)), replace=False)
        plain = by_themselves(table, blind, y, scores, len(unlabeled), threshold)
        rows = []
        for key in METRICS:
            one = numbers[key]
            audited = one.audited, one.audited_lower, one.audited_upper
            both = one.combined, one.lower, one.upper, one.from_labels
            rows.append([true[key], *audited, *both, plain[key], first[key], made.expected[key]])
        found[str(budget)] = np.round(rows, 6).tolist()
        if budget == VERDICT_BUDGET:
            verdict = labels_verdict(judged, checked, 0.95, np.random.default_rng(seed))
            found["verdict"] = [verdict.code, verdict.p_value]
    return found


def run(
    data: Path, out: Path, names: list[str], repetitions: int, budgets: tuple[int, ...]
) -> None:
    """Run all cells that are not done yet; each is written as soon as it is."""
    arrays = np.load(data)
    done = json.loads(out.read_text()) if out.exists() else {}
    for name, labels in itertools.product(names, LABELS):
        key = f"{name}|{labels}"
        if len(done.get(key, [])) >= repetitions:
            continue
        y = arrays[f"{name} y"]
        scores, chance = (arrays[f"{name} {labels} {what}"] for what in ("scores", "chance"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            done[key] = [
                one_repetition(y, scores, chance, seed, budgets) for seed in range(repetitions)
            ]
        out.parent.mkdir(parents=True, exist_ok=True)
        write_file(out, json.dumps(done).encode())
        print(f"{key} done", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    packing = commands.add_parser("pack")
    packing.add_argument("--to", type=Path, required=True)
    running = commands.add_parser("run")
    running.add_argument("--data", type=Path, required=True)
    running.add_argument("--out", type=Path, required=True)
    running.add_argument("--sets", nargs="*", default=list(STUDY))
    running.add_argument("--repetitions", type=int, default=300)
    running.add_argument("--budgets", type=int, nargs="*", default=list(BUDGETS))
    options = parser.parse_args()
    if options.command == "pack":
        pack(options.to)
    else:
        run(options.data, options.out, options.sets, options.repetitions, tuple(options.budgets))


if __name__ == "__main__":
    main()
