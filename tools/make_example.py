"""Make the scored table that recoup carries as its example.

    python -m tools.make_example

Labels are hidden from Spambase at random (single sample, SCAR) and two classifiers are trained on
what is left, never on the truth. Each row is scored by a model that saw neither it nor its copies.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.base import ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from recoup.data import load

SEED = 1999
LABEL_FREQUENCY = 0.3
EXAMPLE = Path(__file__).parents[1] / "src/recoup/data/examples/spambase_scores.parquet"


def spambase() -> tuple[np.ndarray, np.ndarray]:
    """Read features and true labels, in an order that does not give the class away."""
    mails = load("spambase")
    order = np.random.default_rng(SEED).permutation(len(mails))
    return mails.X[order], mails.y_true[order]


def hide_labels(y_true: np.ndarray) -> np.ndarray:
    """Keep each positive label with the same probability, whatever the row looks like."""
    kept = np.random.default_rng(SEED + 1).random(len(y_true)) < LABEL_FREQUENCY
    return np.where(kept, y_true, 0)


def out_of_fold_scores(model: ClassifierMixin, X: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Score every row by a model trained on the other folds; copies of a row share a fold."""
    _, copies = np.unique(X, axis=0, return_inverse=True)
    folds = StratifiedGroupKFold(n_splits=5, shuffle=True, random_state=SEED)
    proba = cross_val_predict(model, X, s, groups=copies, cv=folds, method="predict_proba")
    scores: np.ndarray = proba[:, 1].round(6)
    return scores


def main() -> None:
    X, y_true = spambase()
    s = hide_labels(y_true)
    models = {
        "score_boosting": HistGradientBoostingClassifier(random_state=SEED),
        "score_logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    }
    scores = {name: out_of_fold_scores(model, X, s) for name, model in models.items()}
    table = pa.table({**scores, "flagged": s, "is_spam": y_true})
    pq.write_table(table, EXAMPLE, compression="zstd")

    print(f"{EXAMPLE.name}: {len(s)} rows, {s.sum()} labeled, {EXAMPLE.stat().st_size} bytes")
    print(f"alpha (spam among unlabeled rows): {y_true[s == 0].mean():.4f}")
    for name, score in scores.items():
        auc, auc_pu = roc_auc_score(y_true, score), roc_auc_score(s, score)
        print(f"{name}: AUC {auc:.4f} against is_spam, {auc_pu:.4f} against flagged")


if __name__ == "__main__":
    main()
