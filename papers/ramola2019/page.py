"""What came of the experiment of Ramola, Jain, Radivojac (2019), beside the published figures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from papers.experiment import Claim, Page, Rows, markdown_table
from papers.ramola2019.experiment import (
    BETAS,
    DATASETS,
    MEMBERS,
    METRICS,
    TRIAL,
    gaussian_metric,
    highest,
)
from recoup._core.checks import FloatArray

NAMES = dict(zip(METRICS, ("accuracy", "balanced accuracy", "F", "MCC"), strict=True))
METHODS = {
    "PU": "not corrected",
    "CR": "true alpha and beta",
    "CE alphamax": "both by AlphaMax",
    "CE auto": "both by auto",
}
# Figure 1: highest value and its threshold, of the true and of the uncorrected measure.
PUBLISHED = {
    ("accuracy", "true"): ("0.86", "0.42"),
    ("accuracy", "PU"): ("0.90", "5"),
    ("balanced_accuracy", "true"): ("0.84", "0"),
    ("balanced_accuracy", "PU"): ("0.67", "0"),
    ("f1", "true"): ("0.77", "0.19"),
    ("f1", "PU"): ("0.30", "0.50"),
    ("matthews_corrcoef", "true"): ("0.66", "0.29"),
    ("matthews_corrcoef", "PU"): ("0.22", "0.29"),
}
HALF_A_DIGIT = 0.005
NEAR_PERFECT = 0.01
MUCH_SMALLER = 0.5


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
            ("By dataset", _dataset_table(measured, datasets)),
        ),
        claims=(*_study_claims(study), *_error_claims(measured, datasets)),
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


def _errors_of(
    rows: Rows,
    metric: str,
    method: str,
    beta: float | None = None,
    curve: str = "formula",
    datasets: Iterable[str] | None = None,
    kind: str = "error",
) -> FloatArray:
    kept = None if datasets is None else set(datasets)
    return np.array(
        [
            row[kind]
            for row in rows
            if row["metric"] == metric
            and row["method"] == method
            and row["curve"] == curve
            and (beta is None or row["beta"] == beta)
            and (kept is None or row["dataset"] in kept)
        ],
        float,
    )


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


def _cells(measured: Rows, metric: str, beta: float, curve: str) -> list[str]:
    cells = []
    for method in METHODS:
        errors = _errors_of(measured, metric, method, beta, curve)
        if not len(errors):
            cells.append("-")
            continue
        low, middle, high = np.quantile(errors, [0.25, 0.5, 0.75])
        cells.append(f"{middle:+.3f} ({low:+.3f}, {high:+.3f})")
    return cells


def _dataset_table(measured: Rows, datasets: list[str]) -> str:
    seen = _seen_by_auto()
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


def _seen_by_auto() -> set[str]:
    from recoup.priors._solvers.network import load_network

    return set(load_network("auto").meta["groups"])


def _study_claims(study: Rows) -> list[Claim]:
    found = {(row["metric"], row["method"]): (row["best"], row["at"]) for row in study}
    same = all(
        abs(ours - float(printed)) <= HALF_A_DIGIT
        for key, pair in PUBLISHED.items()
        for ours, printed in zip(found[key], pair, strict=True)
    )
    gap = max(
        abs(found[metric, "CR"][part] - found[metric, "true"][part])
        for metric in METRICS
        for part in (0, 1)
    )
    apart = {metric: abs(found[metric, "true"][1] - found[metric, "PU"][1]) for metric in METRICS}
    as_said = (
        max(apart["balanced_accuracy"], apart["matthews_corrcoef"]) < 1e-4
        and min(apart["accuracy"], apart["f1"]) > 0.01
    )

    def side_by_side(setting: str) -> str:
        return ", ".join(f"{NAMES[m]} {found[m, setting][0]:.4f}" for m in METRICS)

    return [
        Claim(
            "Two Gaussians, Figure 1: highest values and their thresholds, true and uncorrected",
            "true 0.86, 0.84, 0.77, 0.66; uncorrected 0.90, 0.67, 0.30, 0.22",
            f"true: {side_by_side('true')}; uncorrected: {side_by_side('PU')}",
            _verdict(same),
            "All sixteen printed figures agree." if same else "See the table.",
        ),
        Claim(
            "The corrections give the true values back",
            "exact",
            f"largest difference of highest values or thresholds {gap:.1e}",
            _verdict(gap < 1e-4),
        ),
        Claim(
            "Balanced accuracy and MCC are highest at the same threshold before and after "
            "correction, accuracy and F are not",
            "0 and 0, 0.29 and 0.29; 0.42 and 5, 0.19 and 0.50",
            ", ".join(f"{NAMES[metric]} {gap:.4f} apart" for metric, gap in apart.items()),
            _verdict(as_said),
        ),
    ]


def _error_claims(measured: Rows, datasets: list[str]) -> list[Claim]:
    def medians(
        method: str, absolute: bool = False, kind: str = "error"
    ) -> dict[tuple[str, float], float]:
        found = {}
        for metric in METRICS:
            for beta in BETAS:
                errors = _errors_of(measured, metric, method, beta, kind=kind)
                if len(errors):
                    found[metric, beta] = float(np.median(np.abs(errors) if absolute else errors))
        return found

    observed, corrected, estimated = (medians(m) for m in ("PU", "CR", "CE alphamax"))
    sizes, estimated_sizes = (medians(m, absolute=True) for m in ("PU", "CE alphamax"))
    signs = all((value > 0) == (metric == "accuracy") for (metric, _), value in observed.items())
    grown = {m: sizes[m, BETAS[-1]] - sizes[m, BETAS[0]] for m in METRICS}
    shrunk = [NAMES[metric] for metric, more in grown.items() if more <= 0]
    fixed = max(map(abs, medians("CR", kind="fixed_error").values()))
    worst = max(corrected, key=lambda key: abs(corrected[key]))
    better = [key for key, size in estimated_sizes.items() if size <= MUCH_SMALLER * sizes[key]]
    above = [key for key, value in estimated.items() if value > 0]
    middle = float(np.median(list(estimated.values()))) if estimated else float("nan")
    return [
        Claim(
            "Uncorrected balanced accuracy, F and MCC are too low, accuracy is too high",
            "Figure 2, without numbers",
            "median errors over beta: "
            + ", ".join(
                f"{NAMES[m]} {min(_of(observed, m)):+.3f} to {max(_of(observed, m)):+.3f}"
                for m in METRICS
            ),
            _verdict(signs),
        ),
        Claim(
            "Errors of uncorrected measures generally grow with noise among the labels",
            "Figure 2, without numbers; we ask for three measures of four",
            "median absolute error, from beta 1 to 0.7: "
            + ", ".join(
                f"{NAMES[m]} {sizes[m, BETAS[0]]:.3f} to {sizes[m, BETAS[-1]]:.3f}" for m in METRICS
            ),
            _verdict(len(shrunk) <= 1),
            f"Not for {', '.join(shrunk)}." if shrunk else "",
        ),
        Claim(
            "With the true alpha and beta the recovery is near perfect",
            "Figure 2, without numbers; we ask for medians within 0.01 of zero",
            f"largest median error {corrected[worst]:+.4f} ({NAMES[worst[0]]}, beta "
            f"{worst[1]:g}); {sum(abs(v) <= NEAR_PERFECT for v in corrected.values())} of "
            f"{len(corrected)} within 0.01",
            _verdict(abs(corrected[worst]) <= NEAR_PERFECT),
            f"The highest of many noisy values is too high, even if none is on average: at the "
            f"threshold that is truly best, no median error exceeds {fixed:.4f}.",
        ),
        Claim(
            "With alpha and beta estimated by AlphaMax, errors are much smaller than without "
            "correction",
            "Figure 2, without numbers; we ask for half, at most",
            f"half or less of the median absolute error in {len(better)} of "
            f"{len(estimated_sizes)} boxes",
            _verdict(bool(estimated_sizes) and len(better) == len(estimated_sizes)),
        ),
        Claim(
            "Estimated alpha and beta generally make the corrected measures slightly too high",
            "Figure 2, without numbers",
            f"median error above zero in {len(above)} of {len(estimated)} boxes; middle one "
            f"{middle:+.3f}",
            _verdict(bool(estimated) and len(above) > len(estimated) / 2),
        ),
        _auto_claim(measured, datasets),
        Claim(
            "The spread of errors in Figure 2",
            "boxes in a picture",
            "see the table of quartiles",
            "cannot be tested",
            "The paper prints no numbers for its boxes.",
        ),
    ]


def _auto_claim(measured: Rows, datasets: list[str]) -> Claim:
    text = "Better estimates of alpha and beta than plain AlphaMax's should recover more"
    new = [name for name in datasets if name not in _seen_by_auto()]
    if not new:
        return Claim(
            text,
            "expected, not shown",
            "-",
            "cannot be tested",
            "All datasets at hand are among those that auto was trained on.",
        )

    def typical(method: str, names: list[str]) -> float:
        errors = [_errors_of(measured, metric, method, datasets=names) for metric in METRICS]
        return float(np.median(np.abs(np.concatenate(errors))))

    plain, combined = (typical(method, new) for method in ("CE alphamax", "CE auto"))
    everywhere = [typical(method, datasets) for method in ("CE alphamax", "CE auto")]
    return Claim(
        text,
        "expected, not shown",
        f"median absolute error {combined:.3f} by auto, {plain:.3f} by AlphaMax, on {len(new)} "
        f"datasets that auto has never seen; {everywhere[1]:.3f} and {everywhere[0]:.3f} on all",
        _verdict(combined < plain),
        f"Judged on {', '.join(new)} alone: auto was trained on rows of the others.",
    )


def _of(medians: dict[tuple[str, float], float], metric: str) -> list[float]:
    return [value for (name, _), value in medians.items() if name == metric]


def _verdict(holds: bool) -> Any:
    return "reproduced" if holds else "not reproduced"


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
            boxes = [_errors_of(measured, metric, method, beta) for beta in BETAS]
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
