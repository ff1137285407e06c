"""The page on Jain, White and Radivojac 2017: tables and figures like the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from papers.experiment import Page, markdown_table
from papers.jain2017.claims import claims_on
from papers.jain2017.measured import (
    EXAMPLE_CLASSES,
    EXAMPLE_LABELS,
    EXAMPLE_SCORES,
    GAPS,
    LABELS,
    METHODS,
    PUBLISHED_P,
    WAYS,
    Measured,
    Target,
    contest,
)
from recoup._core.checks import FloatArray

COLOURS = {
    "PU": "#d1495b",
    "IR": "#edae49",
    "DR": "#66a182",
    "IE": "#2e86ab",
    "DE": "#7b5ea7",
    "IA": "#8d99ae",
    "DA": "#4a4e69",
}

INTRO = """
Ensembles of a hundred networks with five hidden units learn to tell labeled from unlabeled rows;
AUC and AUC-PR are recovered from their out-of-bag scores. The first letter of a method is **D** for
the direct conversion (Eq. 4) or **I** for the area under the recovered curve (Eq. 1 to 3). The
second tells where alpha and beta come from: **R** they are the true ones, **E** AlphaMax estimates
them in both directions, as published, **A** recoup's combination does (`beta="estimate"`). **PU**
is not corrected. AUC above 1 counts as 1, as in the paper.

As in the paper, *error* is the difference from an ensemble that learned the true classes. That is
another classifier than the one whose performance is recovered, so that some of the error is not
the correction's; where the truth is that of the *same scores*, it says so.

Where this differs from the paper:

- The paper names none of its twelve datasets. These are the twelve that its authors used for class
  priors at the time. Positive classes are our choice, such that alpha stays below the smallest
  beta, 0.75. Gas is Ethanol against Acetone, from eight of its ten batches.
- Recovered precision is about the unlabeled rows (Eq. 3), so AUC-PR of the true classes is taken
  at the share of positives among those. The paper does not say at which share it took it.
- The algorithm of the indirect recovery is in a supplement that is not at hand. Here both rates
  are made monotone by weighted isotonic regression and cut to [0, 1]. As that did not reproduce
  the comparison with the direct conversion, three other ways were tried; all are in a table below.
- Copies of a row come into a bag together.
"""


def make_page(measured: Measured, titles: Mapping[str, str], *, trial: bool) -> Page:
    """Write what was measured beside what was published."""
    absent = [title for name, title in titles.items() if name not in measured.datasets]
    repetitions = len(measured.values("auc", "PU", measured.cells[0]))
    notes = [f"{len(measured.datasets)} datasets, {repetitions} repetitions (the paper: fifty)."]
    if trial:
        notes.append("A trial, with small ensembles on datasets that the paper does not use.")
    if absent:
        notes.append(f"Not at hand and left out: {', '.join(absent)}.")
    tables = [("Figure 1, unmixed rates with alpha 0.2 and beta 1", _example_table())]
    for letter, metric in (("a", "auc"), ("c", "auc_pr")):
        tables.append(
            (f"Figure 2({letter}): error of {LABELS[metric]}", _beta_table(measured, metric))
        )
    for letter, metric in (("b", "auc"), ("d", "auc_pr")):
        heading = (
            f"Figure 2({letter}): error of {LABELS[metric]} by AlphaMax's error of beta - alpha"
        )
        tables.append((heading, _gap_table(measured, metric)))
    tables.append(("Indirect nearer to the truth than direct", _contest_table(measured)))
    tables.append(("Mean AUC by dataset and beta", _cell_table(measured, titles)))
    by_beta = {
        metric: {
            f"beta {beta:g}": {name: measured.pooled(metric, name, beta) for name in names}
            for beta in measured.betas
        }
        for metric, names in METHODS.items()
    }
    by_gap = {
        metric: {
            gap: {name: measured.by_gap(metric, name, limits) for name in names}
            for gap, limits in GAPS.items()
        }
        for metric, names in METHODS.items()
    }
    return Page(
        intro=f"{INTRO}\n{' '.join(notes)}",
        tables=tuple(tables),
        claims=claims_on(measured),
        figures={
            "figure1": _draw_example(),
            "errors_by_beta": _draw_boxes(by_beta),
            "errors_by_gap": _draw_boxes(by_gap),
        },
    )


def _example_table() -> str:
    from recoup.metrics import roc_auc, roc_curve

    curve = roc_curve(EXAMPLE_LABELS, EXAMPLE_SCORES, alpha=0.2)
    direct = roc_auc(EXAMPLE_LABELS, EXAMPLE_SCORES, alpha=0.2, method="direct")
    rows = [
        (f"{score:g}", "yes" if label else "no", str(truth), f"{tpr:.4f}", f"{fpr:.4f}")
        for score, label, truth, tpr, fpr in zip(
            EXAMPLE_SCORES,
            EXAMPLE_LABELS,
            EXAMPLE_CLASSES,
            curve.raw_tpr[1:],
            curve.raw_fpr[1:],
            strict=True,
        )
    ]
    rows.append(("AUC by Eq. 4", "", "", f"{direct:.4g}", ""))
    return markdown_table(("score", "labeled", "class", "recovered TPR", "recovered FPR"), rows)


def _described(errors: FloatArray) -> list[str]:
    if not len(errors):
        return ["", "", "", "0"]
    low, middle, high = np.quantile(errors, (0.25, 0.5, 0.75))
    return [
        f"{middle:+.3f}",
        f"{low:+.3f} to {high:+.3f}",
        f"{np.abs(errors).mean():.4f}",
        f"{len(errors):,}",
    ]


def _beta_table(measured: Measured, metric: str) -> str:
    rows = []
    for beta in measured.betas:
        for name in METHODS[metric]:
            same = np.abs(measured.pooled(metric, name, beta, "own")).mean()
            described = _described(measured.pooled(metric, name, beta))
            rows.append((f"{beta:g}", name, *described, f"{same:.4f}"))
    columns = ("beta", "method", "median", "quartiles", "mean absolute", "repetitions")
    return markdown_table((*columns, "mean absolute, same scores"), rows)


def _gap_table(measured: Measured, metric: str) -> str:
    rows = [
        (gap, name, *_described(measured.by_gap(metric, name, limits)))
        for gap, limits in GAPS.items()
        for name in METHODS[metric]
    ]
    columns = ("error of beta - alpha", "method", "median", "quartiles", "mean absolute")
    return markdown_table((*columns, "repetitions"), rows)


def _contest_table(measured: Measured) -> str:
    sources = {"R": "true", "E": "AlphaMax", "A": "recoup"}
    targets: tuple[Target, ...] = ("supervised", "own")
    rows = [
        (
            source,
            text,
            PUBLISHED_P.get(letter, ""),
            *(str(contest(measured, letter, target, way)) for target in targets),
            f"{measured.cell_errors('auc', way + letter, 'own').mean():.4f}",
        )
        for letter, source in sources.items()
        for way, text in WAYS.items()
        if way != "D"
    ]
    columns = ("alpha and beta", "curve", "published", "against networks that know the classes")
    return markdown_table(
        (*columns, "against the same scores", "mean absolute error, same scores"), rows
    )


def _cell_table(measured: Measured, titles: Mapping[str, str]) -> str:
    names = METHODS["auc"]
    rows = []
    for cell in measured.cells:
        shares = [
            f"{np.nanmean(measured.column(column, 'auc', method, cell)):.3f}"
            for method, column in (
                ("DR", "alpha"),
                ("DE", "alpha_used"),
                ("DE", "beta_used"),
                ("DA", "alpha_used"),
                ("DA", "beta_used"),
            )
        ]
        truth = measured.column("value", "auc", "supervised", cell)[0]
        own = measured.column("own", "auc", "PU", cell).mean()
        means = [f"{np.nanmean(measured.values('auc', name, cell)):.3f}" for name in names]
        rows.append(
            (titles[cell[0]], f"{cell[1]:g}", *shares, f"{truth:.3f}", f"{own:.3f}", *means)
        )
    columns = ("dataset", "beta", "alpha", "alpha E", "beta E", "alpha A", "beta A")
    return markdown_table((*columns, "truth", "same scores", *names), rows)


def _draw_example() -> Any:
    """Draw both curves of Figure 1."""
    from matplotlib.figure import Figure

    from recoup.metrics import roc_auc, roc_curve

    figure = Figure(figsize=(7, 3.4), layout="constrained")
    kinds = {"labeled vs. unlabeled": EXAMPLE_LABELS, "positive vs. negative": EXAMPLE_CLASSES}
    for ax, (title, labels) in zip(figure.subplots(1, 2), kinds.items(), strict=True):
        curve = roc_curve(labels, EXAMPLE_SCORES, alpha=0.0)
        ax.fill_between(curve.fpr, curve.tpr, alpha=0.25)
        ax.plot(curve.fpr, curve.tpr, marker="o", clip_on=False)
        area = roc_auc(labels, EXAMPLE_SCORES, alpha=0.0)
        ax.set(xlim=(0, 1), ylim=(0, 1), title=f"{title}: {area:g}", aspect="equal")
        ax.set(xlabel="false positive rate", ylabel="true positive rate")
    return figure


def _draw_boxes(groups: Mapping[str, Mapping[str, Mapping[str, FloatArray]]]) -> Any:
    """Draw the errors of each metric: groups side by side, in each a box per method."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    figure = Figure(figsize=(11, 4.2), layout="constrained")
    for ax, (metric, by_group) in zip(figure.subplots(1, len(groups)), groups.items(), strict=True):
        names = METHODS[metric]
        boxes = [
            (place * (len(names) + 1) + i, name, errors)
            for place, by_method in enumerate(by_group.values())
            for i, (name, errors) in enumerate(by_method.items())
            if len(errors)
        ]
        drawn = ax.boxplot(
            [errors for _, _, errors in boxes],
            positions=[where for where, _, _ in boxes],
            widths=0.8,
            patch_artist=True,
            manage_ticks=False,
            flierprops={"marker": ".", "markersize": 3},
            medianprops={"color": "black"},
        )
        for patch, (_, name, _) in zip(drawn["boxes"], boxes, strict=True):
            patch.set_facecolor(COLOURS[name])
        middle = (len(names) - 1) / 2
        ax.set_xticks([place * (len(names) + 1) + middle for place in range(len(by_group))])
        ax.set_xticklabels(list(by_group))
        ax.axhline(0, color="grey", linewidth=0.8)
        ax.set(title=LABELS[metric], ylabel="recovered - true")
    patches = [Patch(facecolor=COLOURS[name], label=name) for name in METHODS["auc"]]
    figure.legend(handles=patches, loc="outside lower center", ncols=len(patches))
    return figure
