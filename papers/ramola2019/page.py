"""What came of the experiment of Ramola, Jain, Radivojac (2019), beside the published figures."""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.experiment import Page, Rows, markdown_table
from papers.ramola2019.claims import (
    METHODS,
    NAMES,
    PUBLISHED,
    error_claims,
    errors_of,
    seen_by_auto,
    study_claims,
)
from papers.ramola2019.experiment import (
    BETAS,
    CORRECTED,
    DATASETS,
    MEMBERS,
    METRICS,
    TRIAL,
    gaussian_metric,
    highest,
)


def make_page(rows: Rows, size: str) -> Page:
    """Hold the figures against the paper's."""
    study = [row for row in rows if "best" in row]
    measured = [row for row in rows if "curve" in row]
    failed = [row for row in rows if row.get("failed")]
    datasets = list(dict.fromkeys(row["dataset"] for row in measured))
    return Page(
        intro=_intro(measured, failed, datasets, size),
        tables=(
            ("Figure 1: two Gaussians, in closed form", _study_table(study)),
            ("Figure 2: errors, median and quartiles", _error_table(measured)),
            ("The same on curves that never fall, as recoup draws them", _valid_table(measured)),
            ("The highest value with its optimism taken off", _corrected_table(measured)),
            ("By dataset", _dataset_table(measured, datasets)),
        ),
        claims=(*study_claims(study), *error_claims(measured, datasets)),
        figures={"figure_1": _draw_study(), "figure_2": _draw_errors(measured)},
    )


def _intro(measured: Rows, failed: Rows, datasets: list[str], size: str) -> str:
    wanted = TRIAL if size == "tiny" else DATASETS
    missing = [name for name in wanted if name not in datasets]
    repetitions = len({row["repetition"] for row in measured})
    parts = [
        "The paper asks what becomes of accuracy, balanced accuracy, the F-measure and the "
        "Matthews correlation when unlabeled rows count as negative, and corrects all four by "
        "alpha, the share of positives among the unlabeled rows, and beta, that among the labeled "
        "ones.",
        f"Here: {len(datasets)} datasets (the paper: 14), {repetitions} repetitions (50), four "
        f"values of beta, {MEMBERS[size]} bagged networks with 7 hidden units, out-of-bag scores, "
        "10 unlabeled rows for each labeled one. As in the paper, each estimate is maximized over "
        "thresholds and compared with the true value at the threshold it chose.",
        "Positive classes are our choice, as the paper does not name them; Covertype is a sample "
        "of 29,646 rows, and the features of the smartphone data are our own. The number of "
        "unlabeled rows is the largest of 10,000, 5,000, 2,000 and 1,000 that a dataset has rows "
        "for, with at most half of its positives labeled.",
    ]
    if size == "tiny":
        parts.append("This is a trial on a small dataset that the paper does not use.")
    if missing:
        parts.append(f"Left out, because their files are not at hand: {', '.join(missing)}.")
    if failed:
        parts.append(
            f"In {len(failed)} cases an estimator could not tell labeled from unlabeled rows; "
            "these are in no figure below."
        )
    return "\n\n".join(parts)


def _study_table(study: Rows) -> str:
    lines = []
    for row in study:
        printed = PUBLISHED.get((row["metric"], row["method"]), ("", ""))
        lines.append(
            (
                NAMES[row["metric"]],
                row["method"],
                f"{row['best']:.6f}",
                printed[0],
                f"{row['at'] + 0.0:.4f}",
                printed[1],
            )
        )
    columns = ("Measure", "", "Highest", "published", "at threshold", "published")
    return markdown_table(columns, lines)


def _error_table(measured: Rows) -> str:
    return markdown_table(
        ("Measure", "beta", *(f"{name}: {text}" for name, text in METHODS.items())),
        (
            (NAMES[metric], f"{beta:g}", *_cells(measured, metric, beta, "formula"))
            for metric in METRICS
            for beta in BETAS
        ),
    )


def _valid_table(measured: Rows) -> str:
    corrected = [method for method in METHODS if method != "PU"]
    return markdown_table(
        ("Measure", "beta", *corrected),
        (
            (NAMES[metric], f"{beta:g}", *_cells(measured, metric, beta, "valid")[1:])
            for metric in METRICS
            for beta in BETAS
        ),
    )


def _corrected_table(measured: Rows) -> str:
    lines = []
    for metric in METRICS:
        for beta in BETAS:
            cells = []
            for curve in ("formula", "valid", CORRECTED):
                errors = errors_of(measured, metric, "CR", beta, curve)
                cells += (
                    [f"{np.median(errors):+.4f}", f"{errors.mean():+.4f}"]
                    if len(errors)
                    else ["-", "-"]
                )
            lines.append((NAMES[metric], f"{beta:g}", *cells))
    columns = ["Measure", "beta"]
    for name in ("as in the paper", "curve that never falls", "optimism taken off"):
        columns += [f"{name}: median", "mean"]
    return (
        "Errors with the true alpha and beta. The paper reports the highest value over thresholds, "
        "which is too high on average, since it is the best of many noisy ones. "
        "`Evaluation.best` takes off what the choice adds, as bootstrap replicates show it.\n\n"
        + markdown_table(columns, lines)
    )


def _cells(measured: Rows, metric: str, beta: float, curve: str) -> list[str]:
    cells = []
    for method in METHODS:
        errors = errors_of(measured, metric, method, beta, curve)
        if not len(errors):
            cells.append("-")
            continue
        low, middle, high = np.quantile(errors, [0.25, 0.5, 0.75])
        cells.append(f"{middle:+.3f} ({low:+.3f}, {high:+.3f})")
    return cells


def _dataset_table(measured: Rows, datasets: list[str]) -> str:
    seen = seen_by_auto()
    lines = []
    for name in datasets:
        rows = [row for row in measured if row["dataset"] == name and row["curve"] == "formula"]
        alphas = [row["true_alpha"] for row in rows]
        sizes = [
            float(np.median(np.abs([row["error"] for row in rows if row["method"] == method])))
            if any(row["method"] == method for row in rows)
            else float("nan")
            for method in METHODS
        ]
        lines.append(
            (
                name,
                rows[0]["task"],
                f"{rows[0]['n_unlabeled']:,}",
                f"{min(alphas):.3f} to {max(alphas):.3f}",
                *(f"{size:.3f}" for size in sizes),
                "yes" if name in seen else "no",
            )
        )
    return (
        "Median absolute error over measures, values of beta and repetitions. The last column "
        "says whether auto was trained on rows of that dataset, and so knows what it is asked.\n\n"
        + markdown_table(
            ("Dataset", "Task", "Unlabeled", "alpha", *METHODS, "Seen by auto"),
            lines,
        )
    )


def _draw_study() -> Any:
    from matplotlib.figure import Figure

    from recoup.plot.curves import BLUE, ORANGE, dress

    figure = Figure(figsize=(9, 7), layout="constrained")
    thresholds = np.linspace(-5, 5, 501)
    for ax, metric in zip(figure.subplots(2, 2).flat, METRICS, strict=True):
        for setting, color, style in (("true", BLUE, "-"), ("PU", ORANGE, "--")):
            value = gaussian_metric(metric, setting)
            best, at = highest(value)
            name = "true" if setting == "true" else "unlabeled as negative"
            ax.plot(thresholds, value(thresholds), style, color=color, label=name)
            ax.plot([at], [best], "o", color=color)
            ax.axvline(at, color=color, linewidth=0.6, linestyle=style)
        dress(ax, "threshold", NAMES[metric])
    figure.axes[0].legend(loc="lower right", frameon=False)
    return figure


def _draw_errors(measured: Rows) -> Any:
    from matplotlib.figure import Figure

    from recoup.plot.curves import CYCLE, GREY, dress

    figure = Figure(figsize=(11, 8), layout="constrained")
    width = 0.8 / len(METHODS)
    for ax, metric in zip(figure.subplots(2, 2).flat, METRICS, strict=True):
        ax.axhline(0, color=GREY, linewidth=0.8)
        for number, (method, color) in enumerate(zip(METHODS, CYCLE, strict=False)):
            boxes = [errors_of(measured, metric, method, beta) for beta in BETAS]
            places = np.arange(len(BETAS)) + (number - (len(METHODS) - 1) / 2) * width
            drawn = ax.boxplot(
                boxes,
                positions=places,
                widths=0.8 * width,
                patch_artist=True,
                flierprops={"marker": ".", "markersize": 2, "markeredgecolor": color},
                medianprops={"color": "black"},
                manage_ticks=False,
            )
            for box in drawn["boxes"]:
                box.set(facecolor=color, alpha=0.6)
            ax.plot([], [], "s", color=color, alpha=0.6, label=f"{method}: {METHODS[method]}")
        ax.set_xticks(np.arange(len(BETAS)), [f"{beta:g}" for beta in BETAS])
        dress(ax, "beta", f"error of {NAMES[metric]}")
    handles, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=len(METHODS), frameon=False)
    return figure
