"""Draw the pictures of the pages, from the bundled example, toy data and the measured study.

``python docs/make_pictures.py`` writes them to docs/pictures, or to the folder that it is given.
"""

from __future__ import annotations

import os
import re
import runpy
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

import recoup
from recoup.metrics.spec import metric_spec

mpl.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).resolve().parent
EXAMPLES = ("hidden_spam", "compare_models")
RIGHT, WRONG, QUIET = "#0072B2", "#D55E00", "0.75"
THRESHOLD = 0.02
GROUPS = {
    "need no alpha": ("recall", "lift", "aul"),
    "order is safe": (
        "roc_auc",
        "balanced_accuracy",
        "matthews_corrcoef",
        "precision",
        "average_precision",
    ),
    "order may change": ("accuracy", "f1", "specificity", "brier"),
}


def main(out: Path) -> None:
    """Draw all pictures into a folder."""
    plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "font.size": 10})
    out.mkdir(parents=True, exist_ok=True)
    drawn = (two_mixtures, three_groups, over_alpha, known_how_well, overlap, measured)
    for draw in (*drawn, one_sample_or_two):
        figure = draw()
        figure.savefig(out / f"{draw.__name__.replace('_', '-')}.png", dpi=85)
        plt.close(figure)
    plt.rcParams.update(plt.rcParamsDefault)
    for name in EXAMPLES:
        example_picture(name, out)


def two_mixtures() -> Any:
    """Scores of labeled and of unlabeled mails, and what the unlabeled ones are made of."""
    example = recoup.load_example()
    scores = example.scores["score_boosting"]
    logits = np.log(scores / (1 - scores))
    edges = np.linspace(logits.min(), logits.max(), 40)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained", sharex=True)
    axes[0].hist(logits[example.s == 1], edges, color=RIGHT)
    axes[0].set_title("labeled: spam", loc="left")
    hidden = (example.s == 0) & (example.y_true == 1)
    clean = example.y_true == 0
    axes[1].hist(
        [logits[hidden], logits[clean]],
        edges,
        stacked=True,
        color=[RIGHT, QUIET],
        label=["hidden spam, 1,292", "good mail, 2,788"],
    )
    axes[1].set_title("unlabeled: both, and you cannot see which", loc="left")
    axes[1].legend(frameon=False)
    for ax in axes:
        ax.set_xlabel("score, as log odds")
        ax.set_ylabel("mails")
    return figure


def three_groups() -> Any:
    """Naive, recovered and true value of each metric, by what it takes to get it."""
    example = recoup.load_example()
    scores = example.scores["score_boosting"]
    found = recoup.evaluate(example.s, scores, alpha=example.alpha, threshold=THRESHOLD)
    truth = recoup.evaluate(example.y_true, scores, alpha=0.0, threshold=THRESHOLD, n_boot=0)
    figure, axes = plt.subplots(
        len(GROUPS),
        1,
        figsize=(8, 5),
        layout="constrained",
        height_ratios=[len(keys) for keys in GROUPS.values()],
        sharex=True,
    )
    for ax, (title, keys) in zip(axes, GROUPS.items(), strict=True):
        for place, key in enumerate(reversed(keys)):
            # Lift is not a share; a third of it fits on the same axis.
            scale = 1 / 3 if key == "lift" else 1.0
            one = found[key]
            ax.plot([one.pu * scale, one.recovered * scale], [place] * 2, color=QUIET, zorder=0)
            ax.barh(
                place,
                (one.upper - one.lower) * scale,
                0.3,
                one.lower * scale,
                color=RIGHT,
                alpha=0.3,
            )
            ax.plot(one.pu * scale, place, "s", color=WRONG)
            ax.plot(one.recovered * scale, place, "o", color=RIGHT)
            ax.plot(truth[key].recovered * scale, place, "|k", markersize=16, markeredgewidth=2)
        names = [metric_spec(key, "picture").label for key in reversed(keys)]
        names = ["Lift / 3" if name == "Lift" else name for name in names]
        ax.set_yticks(range(len(keys)), names)
        ax.set_ylim(-0.6, len(keys) - 0.4)
        ax.set_ylabel(title, fontweight="bold")
        ax.set_xlim(0, 1.02)
        ax.grid(axis="x", alpha=0.3)
    axes[0].plot([], [], "s", color=WRONG, label="naive")
    axes[0].plot([], [], "o", color=RIGHT, label="recovered, 95% interval")
    axes[0].plot([], [], "|k", markersize=12, markeredgewidth=2, label="truth")
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    return figure


def over_alpha() -> Any:
    """Metrics for every alpha, up to what the scores allow."""
    example = recoup.load_example()
    evaluation = recoup.evaluate(
        example.s,
        example.scores["score_boosting"],
        alpha="estimate",
        threshold=THRESHOLD,
        n_boot=0,
    )
    figure, ax = plt.subplots(figsize=(7.5, 4.8), layout="constrained")
    evaluation.sensitivity().plot(ax, metrics=("recall", "roc_auc", "accuracy", "f1", "precision"))
    return figure


def known_how_well() -> Any:
    """Interval of precision when alpha is a number, a range, or estimated; and its bounds."""
    example = recoup.load_example()
    ways = {
        "alpha = 0.317, the truth": example.alpha,
        "alpha from 0.30 to 0.34": (0.30, 0.34),
        "alpha from 0.20 to 0.40": (0.20, 0.40),
        "alpha estimated": "estimate",
    }
    figure, ax = plt.subplots(figsize=(7, 2.8), layout="constrained")
    for place, alpha in enumerate(reversed(ways.values())):
        one = recoup.evaluate(
            example.s, example.scores["score_boosting"], alpha=alpha, threshold=THRESHOLD
        )["precision"]
        ax.barh(place + 0.12, one.upper - one.lower, 0.2, one.lower, color=RIGHT, alpha=0.5)
        ax.plot([one.bound_lower, one.bound_upper], [place - 0.15] * 2, color="black", linewidth=2)
        ax.plot(one.recovered, place + 0.12, "o", color=RIGHT)
        ax.plot(one.pu, place, "s", color=WRONG)
    flagged = example.scores["score_boosting"] >= THRESHOLD
    ax.axvline(example.y_true[flagged].mean(), color="0.3", linestyle=":", label="truth")
    ax.plot([], [], "o-", color=RIGHT, label="recovered, interval")
    ax.plot([], [], "k-", label="bounds")
    ax.plot([], [], "s", color=WRONG, label="naive")
    ax.set_yticks(range(len(ways)), list(reversed(ways)))
    ax.set_xlim(0.2, 1.01)
    ax.set_xlabel("precision")
    figure.legend(loc="outside lower center", ncols=4, frameon=False)
    return figure


def overlap() -> Any:
    """Draw the largest share that may be positive, with and without scores of positives alone."""
    x = np.linspace(-4, 8, 600)
    alpha = 0.3

    def bell(center: float) -> Any:
        return np.exp(-((x - center) ** 2) / 2) / np.sqrt(2 * np.pi)

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained", sharey=True)
    # On the right every positive has twins among the negatives.
    cases = {
        "some scores hold positives alone": bell(0.0),
        "every positive looks like some negatives": 0.75 * bell(0.0) + 0.25 * bell(4.0),
    }
    for ax, (title, negative) in zip(axes, cases.items(), strict=True):
        positive = bell(4.0)
        unlabeled = alpha * positive + (1 - alpha) * negative
        share = float((unlabeled / positive)[positive > 1e-6].min())
        ax.fill_between(x, unlabeled, color=QUIET, label="unlabeled")
        ax.plot(x, alpha * positive, color=RIGHT, label=f"hidden positives, {alpha:.2f}")
        ax.plot(x, share * positive, "--", color=WRONG, label=f"most that could hide, {share:.2f}")
        ax.set_title(title, loc="left")
        ax.set_xlabel("score")
        ax.set_yticks([])
        ax.set_ylim(0, 0.36)
        ax.legend(frameon=False, loc="upper right", fontsize=9)
    return figure


def one_sample_or_two() -> Any:
    """Draw what is labeled and what is not, with the same rows in each design."""
    rng = np.random.default_rng(0)
    y = np.repeat([1, 0], [400, 600])
    X = rng.normal(size=(len(y), 2)) + y[:, None]
    designs: dict[str, dict[str, Any]] = {
        "single-sample: labels are taken from the rows, and both together are the population": {
            "scheme": "single-sample"
        },
        "case-control: labeled rows were collected apart, the unlabeled ones are the population": {
            "scheme": "case-control"
        },
        "case-control with overlap, as in PU-Bench: labeled rows come again among the unlabeled": {
            "scheme": "case-control",
            "overlap": True,
        },
    }
    figure, axes = plt.subplots(3, 1, figsize=(8.5, 5), layout="constrained", sharex=True)
    for ax, (title, design) in zip(axes, designs.items(), strict=True):
        pu = recoup.simulate(X, y, label_frequency=0.5, random_state=0, **design)
        labeled = int((pu.s == 1).sum())
        hidden = int(((pu.s == 0) & (pu.y_true == 1)).sum())
        negative = int(((pu.s == 0) & (pu.y_true == 0)).sum())
        ax.barh(1, labeled, color=RIGHT)
        ax.barh(0, hidden, color=RIGHT, alpha=0.4, label="positive, and nobody can see it")
        ax.barh(0, negative, left=hidden, color=QUIET, label="negative")
        edges = (-0.5, 1.5) if pu.scheme == "single-sample" else (-0.5, 0.5)
        ax.axhspan(*edges, color=WRONG, alpha=0.08, linewidth=0)
        ax.text(labeled + 8, 1, f"{labeled} rows, all positive", va="center")
        ax.text(
            hidden + negative + 8, 0, f"alpha = {hidden / (hidden + negative):.2f}", va="center"
        )
        ax.set_yticks([0, 1], ["unlabeled", "labeled"])
        ax.set_title(title, loc="left", fontsize=10)
    axes[-1].set_xlabel("rows, from 400 positives and 600 negatives, half of the positives labeled")
    axes[-1].set_xlim(0, 1200)
    handles, names = axes[0].get_legend_handles_labels()
    handles.append(plt.Rectangle((0, 0), 1, 1, color=WRONG, alpha=0.15))
    figure.legend(
        handles,
        [*names, "the population"],
        loc="outside lower center",
        ncols=3,
        frameon=False,
    )
    return figure


def measured() -> Any:
    """Mean error of every estimator on real data, as the study's page has it."""
    text = (HERE / "priors-study.md").read_text()
    tables = {
        kind: study_errors(text, f"## Real data, {kind} labels") for kind in ("clean", "noisy")
    }
    names = [name for name in tables["clean"] if name in tables["noisy"]][::-1]
    figure, ax = plt.subplots(figsize=(7, 5.2), layout="constrained")
    for place, name in enumerate(names):
        clean, noisy = (tables[kind][name] for kind in ("clean", "noisy"))
        ax.plot([clean, noisy], [place] * 2, color=QUIET, zorder=0)
        ax.plot(clean, place, "o", color=RIGHT)
        ax.plot(noisy, place, "D", color=WRONG)
    ax.plot([], [], "o", color=RIGHT, label="clean labels")
    ax.plot([], [], "D", color=WRONG, label="10% or 25% of the labels are wrong")
    ax.set_yticks(range(len(names)), names)
    ax.set_xlim(left=0)
    ax.set_xlabel("mean absolute error of alpha, 14 real datasets")
    ax.grid(axis="x", alpha=0.3)
    ax.legend(frameon=False, loc="upper right")
    return figure


def study_errors(text: str, heading: str) -> dict[str, float]:
    """Read the mean errors from one table of the study's page."""
    section = text[text.index(heading) :]
    section = section[: section.index("\n## ", 1)]
    rows = re.findall(r"^\| `([^`]+)` \| ([0-9.]+) \|", section, re.M)
    return {name: float(error) for name, error in rows}


def example_picture(name: str, out: Path) -> None:
    """Run an example of the gallery and keep the picture that it draws."""
    before, folder = Path.cwd(), out.resolve()
    with tempfile.TemporaryDirectory() as own:
        os.chdir(own)
        try:
            runpy.run_path(str(HERE.parent / "examples" / f"{name}.py"))
            (folder / f"{name}.png").write_bytes(Path(f"{name}.png").read_bytes())
        finally:
            os.chdir(before)
            plt.close("all")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "pictures")
