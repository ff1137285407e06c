"""The page of the AUL paper: claims, tables and figures from what was measured."""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.aul.claims import claims
from papers.aul.measured import Found, gains_of, mean, times_aul
from papers.aul.published import (
    ESTIMATORS,
    FREQUENCIES,
    METHODS,
    PUBLISHED,
    TIMED,
    TRAINING_SHARE,
    best_published,
    example,
    published_error,
)
from papers.experiment import Page, Rows, markdown_table

# How far a figure may be from the published one, as a share of it.
TOLERANCE = 0.2
# Errors of single settings are not compared on fewer repetitions.
FEWEST_REPETITIONS = 5


def _shown(value: float, form: str = ".4f") -> str:
    return "" if np.isnan(value) else format(value, form)


def _table_1(found: Found) -> str:
    columns = ["Dataset", "n", "pi", "Labeled", "AUC", "AUL", *METHODS.values(), "Theorem 1"]
    lines = []
    for name, frequency in found.cells:
        said, at = PUBLISHED[name], FREQUENCIES.index(frequency)
        fact = {q: found.one("table", name, frequency, "truth", q) for q in ("pi", "AUC", "AUL")}
        line = [
            said.title,
            f"{found.n_rows[name]:,} ({said.n_rows:,})",
            f"{fact['pi']:.3f} ({said.pi:.3f})",
        ]
        line += [f"{frequency:g}", f"{fact['AUC']:.3f} ({said.auc:.3f})"]
        line.append(f"{fact['AUL']:.3f} ({said.lift:.3f})")
        for method in METHODS:
            ours = _shown(mean(np.abs(found.of("table", name, frequency, method, "error"))))
            beside = f" ({said.errors[method][at]:.3f})" if method in said.errors else ""
            line.append(ours + beside)
        line.append(_shown(found.one("table", name, frequency, "truth", "expected")))
        lines.append(line)
    return markdown_table(columns, lines)


def _means(found: Found) -> str:
    columns = ["Method", "Error", "Published, same datasets", "Published, all nine"]
    columns += ["Times AUL", "Published", "Times AUL / (1 - pi)"]
    columns += ["By curve", "Error of alpha", "Repetitions"]
    lift, said_lift = found.error("aul"), published_error("aul", found.datasets)
    lines = []
    for method, title in METHODS.items():
        line = [
            title,
            _shown(found.error(method)),
            "",
            "",
            _shown(found.error(method) / lift, ".1f"),
        ]
        line.append("")
        if method in ESTIMATORS or method == "aul":
            same, nine = published_error(method, found.datasets), published_error(method)
            line[2], line[3], line[5] = f"{same:.4f}", f"{nine:.4f}", f"{same / said_lift:.1f}"
        on_one_scale = f"{times_aul(found, method, one_scale=True).value:.2f}"
        line.append("" if method == "aul" else on_one_scale)
        line += [_shown(found.error(method, by=by)) for by in ("error by curve", "alpha error")]
        lines.append([*line, str(found.repetitions([method]))])
    return markdown_table(columns, lines)


def _tail_table(found: Found) -> str:
    columns = ["Labelings", "epsilon", "Off by epsilon or more", "Var / epsilon, as printed"]
    columns += ["for any classifier", "Var / epsilon^2", "for any classifier"]
    names = ("exceeded", "printed", "printed, any", "chebyshev", "chebyshev, any")
    return markdown_table(
        columns,
        [
            [
                f"{tail['draws']:,.0f}",
                f"{tail['epsilon']:g}",
                *(f"{tail[name]:.4f}" for name in names),
            ]
            for tail in found.tails()
        ],
    )


def _cost_table(found: Found) -> str:
    published = {1000: {"km1": "4", "km2": "4"}, 8000: {"km1": "2,000", "km2": "2,000"}}
    published[8000]["dist-curve"] = "16"
    lines = []
    for method in (*ESTIMATORS, "auto", "aul"):
        line = [METHODS[method]]
        for n in found.timed:
            said = published.get(n, {}).get(method)
            seconds = _shown(found.one("cost", TIMED, n, method, "seconds"), ".3g")
            line.append(f"{seconds} ({said})" if said else seconds)
        lines.append(line)
    return markdown_table(["Method", *(f"{n:,} rows" for n in found.timed)], lines)


def _training_table(found: Found) -> str:
    methods = ("pu-auc", "pu-auc, alpha known", "pu-aul")
    columns = ["Dataset", "Alpha from", "Error of alpha", "PU_AUC", "PU_AUC, alpha known", "PU_AUL"]
    columns += ["Gain", "Seconds PU_AUC", "Seconds PU_AUL", "Repetitions"]
    lines = []
    for name, gain in gains_of(found).items():
        cell = ("training", name, FREQUENCIES[0])
        alphas = found.of(*cell, "pu-auc", "alpha error")
        line = [PUBLISHED[name].title, METHODS[best_published(name)]]
        line.append(_shown(mean(np.abs(alphas)), ".3f"))
        line += [_shown(found.one(*cell, method, "AUC"), ".3f") for method in methods]
        line.append(_shown(gain, "+.1%"))
        line += [_shown(found.one(*cell, m, "seconds"), ".1f") for m in ("pu-auc", "pu-aul")]
        lines.append([*line, str(len(alphas))])
    return markdown_table(columns, lines)


def _draw_figure_1(figure: Any) -> None:
    from recoup.metrics import lift_curve, roc_curve
    from recoup.plot.curves import BLUE, ORANGE, dress

    scores, y, s = example()
    left, right = figure.subplots(1, 2)
    for labels, color, name in ((y, BLUE, "true classes"), (s, ORANGE, "labels only")):
        # Taken as negative, as in the paper: what is drawn is not corrected.
        roc = roc_curve(labels, scores, alpha=0.0)
        lift = lift_curve(labels, scores, alpha=0.0)
        left.plot(roc.fpr, roc.tpr, color=color, label=name)
        right.plot(lift.positive_rate, lift.tpr, color=color, label=name)
    dress(left, "false positive rate", "true positive rate")
    dress(right, "share of rows taken", "true positive rate")
    left.set_title("ROC")
    right.set_title("lift")
    right.legend(frameon=False)


def _draw_figure_2(figure: Any, found: Found) -> None:
    from recoup.plot.curves import CYCLE, GREY, dress

    n = len(found.datasets)
    panels = figure.subplots(-(-n // 4), min(n, 4), squeeze=False, sharey=True).ravel()
    methods = ("aul", *ESTIMATORS, "auto")
    for panel in panels[n:]:
        panel.set_visible(False)
    for panel, name in zip(panels, found.datasets, strict=False):
        values = [found.pooled(name, method) for method in methods]
        drawn = panel.boxplot(
            values,
            whis=(0, 100),
            widths=0.6,
            showmeans=True,
            patch_artist=True,
            meanprops={"marker": "D", "markersize": 4, "mfc": "black", "mec": "black"},
            medianprops={"color": "black"},
        )
        for box, color in zip(drawn["boxes"], CYCLE, strict=False):
            box.set_facecolor(color)
        panel.axhline(0.0, color=GREY, linewidth=0.8)
        panel.set_xticks(range(1, len(methods) + 1), [METHODS[m] for m in methods], rotation=60)
        panel.set_title(PUBLISHED[name].title)
        dress(panel, "", "")
    panels[0].set_ylabel("error of AUL or AUC")


def _draw_figure_3(figure: Any, found: Found) -> None:
    from recoup.plot.curves import BLUE, ORANGE, SKY, dress

    ax = figure.subplots()
    places = np.arange(len(found.datasets))
    shown = (
        ("pu-auc", ORANGE, "PU_AUC"),
        ("pu-auc, alpha known", SKY, "PU_AUC, alpha known"),
        ("pu-aul", BLUE, "PU_AUL"),
    )
    for shift, (method, color, name) in zip((-0.27, 0.0, 0.27), shown, strict=True):
        heights = [
            found.one("training", dataset, FREQUENCIES[0], method, "AUC")
            for dataset in found.datasets
        ]
        ax.bar(places + shift, heights, 0.25, color=color, label=name)
    ax.set_xticks(places, [PUBLISHED[name].title for name in found.datasets])
    ax.set_ylim(0.4, 1.0)
    dress(ax, "", "AUC on rows held out")
    figure.legend(frameon=False, ncols=3, loc="outside upper center")


def _intro(found: Found) -> str:
    absent = [said.title for name, said in PUBLISHED.items() if name not in found.datasets]
    left_out = f"Left out, not at hand or not asked for: {', '.join(absent)}." if absent else ""
    return f"""
A classifier is scored on rows of known class, a tenth, a fifth or two fifths of the positives get
labels at random, and AUL, and AUC recovered from the labels, are compared with those on the true
classes. Figures in parentheses are the published ones. {left_out}

Where the paper is silent or this differs:

- The classifier: boosted histogram trees (the paper's are LightGBM) that learned the true classes
  from features blurred by noise, as much as brings AUC near the published one, scored out of fold.
- KM1 and KM2 read the features; DistCurve and auto the out-of-fold scores of a classifier of the
  labels. All are recoup's own: KM with a factor of low rank, DistCurve with a network of its own.
  Auto was trained on other datasets than these.
- AUC is recovered by the direct conversion, as in the paper, and clipped to [0, 1]. *By curve* is
  the area under the recovered curve, which recoup.evaluate reports.
- Errors of AUL and of AUC are on different scales: AUL changes by 1 - pi where AUC changes by 1.
  *On one scale* means that errors of AUL are divided by 1 - pi.
- Times are means over repetitions of processor time, measured apart from the rest.
- *Theorem 1* is the mean absolute error of AUL that follows from its variance.
- The tables say how many repetitions each method got (the paper: 50).
- PU_AUC and PU_AUL learn from {TRAINING_SHARE:.0%} of the rows and are judged on the others; the
  paper does not say on which rows. Times include the estimation of alpha.
- The rules about Figure 3 were changed when 20 repetitions of the full size were known; the other
  30 were run after that.
"""


def summarize(rows: Rows, size: str) -> Page:
    """Make the page from what was measured."""
    from matplotlib.figure import Figure

    found = Found(rows)
    figures = {
        "figure_1": Figure(figsize=(9, 4), layout="constrained"),
        "figure_2": Figure(figsize=(12, 7), layout="constrained"),
        "figure_3": Figure(figsize=(9, 4), layout="constrained"),
    }
    _draw_figure_1(figures["figure_1"])
    _draw_figure_2(figures["figure_2"], found)
    _draw_figure_3(figures["figure_3"], found)
    tables = [("Table 1: mean absolute errors", _table_1(found)), ("Their means", _means(found))]
    if found.tails():
        tables.append(("The tail bound of section 3", _tail_table(found)))
    if found.timed:
        tables.append(("Seconds on Mushroom", _cost_table(found)))
    tables.append(("Figure 3: AUC after training", _training_table(found)))
    return Page(_intro(found), tuple(tables), claims(rows), figures)
