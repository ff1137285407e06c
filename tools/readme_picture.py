"""Draw docs/naive-recovered-true.png: what the bundled example shows, in one picture."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from sklearn import metrics as sk

import recoup

mpl.use("Agg")
import matplotlib.pyplot as plt

METRICS = ("precision", "f1", "accuracy", "average_precision", "roc_auc")


def main() -> None:
    example = recoup.load_example()
    scores = example.scores["score_boosting"]
    evaluation = recoup.evaluate(example.s, scores, alpha=example.alpha, threshold="f1")
    y_pred = scores >= evaluation.threshold
    truth = {
        "precision": sk.precision_score(example.y_true, y_pred),
        "f1": sk.f1_score(example.y_true, y_pred),
        "accuracy": sk.accuracy_score(example.y_true, y_pred),
        "average_precision": sk.average_precision_score(example.y_true, scores),
        "roc_auc": sk.roc_auc_score(example.y_true, scores),
    }
    figure, ax = plt.subplots(figsize=(8, 3.2), layout="constrained")
    for place, key in enumerate(METRICS):
        found = evaluation[key]
        ax.plot([found.pu, found.recovered], [place, place], color="0.8", zorder=0)
        ax.barh(place, found.upper - found.lower, 0.22, found.lower, color="#0072B2", alpha=0.35)
        ax.plot(found.pu, place, "s", color="#D55E00", markersize=8)
        ax.plot(found.recovered, place, "o", color="#0072B2", markersize=8)
        ax.plot(truth[key], place, "|", color="black", markersize=20, markeredgewidth=2.5)
    ax.plot([], [], "s", color="#D55E00", label="naive: unlabeled = negative")
    ax.plot([], [], "o", color="#0072B2", label="recovered, with 95% interval")
    ax.plot([], [], "|", color="black", markersize=14, markeredgewidth=2.5, label="truth")
    ax.set_yticks(range(len(METRICS)), [evaluation[key].label for key in METRICS])
    ax.set_xlim(0, 1.02)
    ax.set_title("The same spam filter, judged three ways", loc="left", weight="bold")
    ax.grid(axis="x", alpha=0.3)
    ax.spines[["top", "right", "left"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    path = Path(__file__).parents[1] / "docs" / "naive-recovered-true.png"
    figure.savefig(path, dpi=110)
    print(f"Wrote {path.name}")


if __name__ == "__main__":
    main()
