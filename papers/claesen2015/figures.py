"""Figures 2 to 5 and the drawn tables of Claesen et al. 2015."""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.experiment import Rows
from recoup._core.checks import FloatArray
from recoup.plot.curves import BLUE, CYCLE, GREEN, GREY, ORANGE, dress, show_legend, unit_square


def figures(by_kind: dict[str, Rows]) -> dict[str, Any]:
    """Draw what was measured as the paper draws it."""
    drawn = {
        "figure2-labels": _labels(by_kind["labels"]),
        "figure3-alpha": _alpha(by_kind["alpha-point"]),
        "figure4-order": _order(by_kind["order-point"]),
    }
    if "covertype" in by_kind:
        drawn["figure5-covertype"] = _covertype(
            by_kind["covertype-cdf"], by_kind["covertype-point"]
        )
    drawn["tables"] = _tables(by_kind["table"])
    return drawn


def _axes(rows: int, columns: int, width: float, height: float, **options: Any) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def _column(rows: Rows, name: str) -> FloatArray:
    return np.array([row[name] for row in rows], float)


def _of(rows: Rows, **wanted: Any) -> Rows:
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def _labels(rows: Rows) -> Any:
    largest = max(row["n_unlabeled"] for row in rows)
    shown = _of(rows, n_unlabeled=largest, band="published")
    counts = sorted({row["n_labeled"] for row in shown})
    figure, axes = _axes(1, 1, 6.0, 4.0)
    ax = axes[0, 0]
    for side, color in (("lower", ORANGE), ("upper", BLUE)):
        values = [_column(_of(shown, n_labeled=n), side) for n in counts]
        middle = [value.mean() for value in values]
        ax.plot(counts, middle, "o-", color=color, label=f"{side.capitalize()} bound, mean")
        spread = np.array([np.quantile(value, [0.025, 0.975]) for value in values]).T
        ax.fill_between(counts, *spread, color=color, alpha=0.2, linewidth=0)
    truth = _column(shown, "truth").mean()
    ax.axhline(truth, color=GREY, linestyle="--", label="True AUROC")
    ax.set_xscale("log")
    ax.set_title(f"Bounds as published, {largest:,} unlabeled rows")
    dress(ax, "Known positives", "AUROC")
    show_legend(ax, "upper right")
    return figure


def _band(ax: Any, rows: Rows, x: str, y: str, color: str, label: str) -> None:
    """Fill the area between a lower and an upper curve."""
    outline = [
        np.concatenate([_column(rows, f"lower_{name}"), _column(rows, f"upper_{name}")[::-1]])
        for name in (x, y)
    ]
    ax.fill(*outline, color=color, alpha=0.35, linewidth=0.8, label=label)


def _alpha(points: Rows) -> Any:
    figure, axes = _axes(1, 1, 5.5, 5.2)
    ax = axes[0, 0]
    names = dict.fromkeys(row["guess"] for row in points)
    singles = [name for name in names if name != "truth" and "interval" not in name]
    for name, color in zip(singles, CYCLE, strict=False):
        label = f"Stated alpha {name}"
        _band(ax, _of(points, guess=name), "fpr", "tpr", color, label)
    truth = _of(points, guess="truth")
    ax.plot(
        _column(truth, "lower_fpr"),
        _column(truth, "lower_tpr"),
        color="black",
        linestyle="--",
        label="True curve (alpha 0.3)",
    )
    unit_square(ax)
    ax.set_aspect("equal")
    dress(ax, "FPR", "TPR")
    show_legend(ax, "lower right")
    return figure


def _order(points: Rows) -> Any:
    figure, axes = _axes(1, 2, 9.0, 4.6)
    for ax, alpha in zip(axes[0], ("0", "0.1"), strict=True):
        for model, color in (("model 1", BLUE), ("model 2", ORANGE)):
            some = _of(points, guess=f"{model} {alpha}")
            x, y = (np.append(0, _column(some, f"lower_{name}")) for name in ("fpr", "tpr"))
            ax.plot(x, y, color=color, label=model.capitalize())
        ax.set_title(f"Stated alpha {alpha}")
        unit_square(ax)
        ax.set_aspect("equal")
        dress(ax, "FPR", "TPR")
        show_legend(ax, "lower right")
    return figure


def _covertype(cdf: Rows, points: Rows) -> Any:
    figure, axes = _axes(1, 3, 13.0, 4.4)
    ax = axes[0, 0]
    rank = _column(cdf, "rank")
    band = (_column(cdf, side) for side in ("lower", "upper"))
    ax.fill_between(rank, *band, color=BLUE, alpha=0.35, linewidth=0, label="95% band")
    ax.plot(rank, _column(cdf, "hidden"), color="black", linewidth=1, label="Hidden positives")
    dress(ax, "Rank", "Rank CDF")
    show_legend(ax, "lower right")
    for ax, (x, y), names in zip(
        axes[0, 1:],
        (("fpr", "tpr"), ("tpr", "precision")),
        (("FPR", "TPR"), ("Recall", "Precision")),
        strict=True,
    ):
        for guess, color, label in (
            ("interval", GREEN, "0.8 to 1.2 alpha"),
            ("exact", BLUE, "Right alpha"),
        ):
            _band(ax, _of(points, guess=guess), x, y, color, label)
        for guess, style, label in (("zero", ":", "Alpha 0"), ("truth", "-", "True curve")):
            some = _of(points, guess=guess)
            xy = (_column(some, f"lower_{name}") for name in (x, y))
            ax.plot(*xy, color="black", linestyle=style, label=label)
        unit_square(ax)
        dress(ax, *names)
        show_legend(ax, "lower right" if x == "fpr" else "lower left")
    return figure


def _tables(rows: Rows) -> Any:
    """Draw both tables as the paper does: three intervals in each cell, by the stated alpha."""
    positives = sorted({row["known_positives"] for row in rows})
    negatives = sorted({row["known_negatives"] for row in rows})
    size = {"width": 1.0 + 1.5 * len(negatives), "height": 1.0 + 1.1 * len(positives)}
    figure, axes = _axes(len(positives), len(negatives), **size, sharex=True, sharey=True)
    for i, p in enumerate(positives):
        for j, n in enumerate(negatives):
            ax = axes[i, j]
            cell = _of(rows, known_positives=p, known_negatives=n)
            for place, guess in enumerate(("under", "exact", "over")):
                for form, color, shift in (("positives", BLUE, -0.12), ("negatives", ORANGE, 0.12)):
                    some = _of(cell, guess=guess, based_on=form)
                    if some:
                        ends = [100 * _column(some, side).mean() for side in ("lower", "upper")]
                        label = f"From known {form}" if (place, i, j) == (0, 0, 1) else None
                        x = [place + shift] * 2
                        ax.plot(x, ends, color=color, linewidth=5, alpha=0.7, label=label)
            ax.axhline(100 * _column(cell, "truth").mean(), color=GREY, linestyle="--", linewidth=1)
            ax.set_xlim(-0.6, 2.6)
            ax.set_xticks([0, 1, 2], ["0.8", "1", "1.2"])
            if i == 0:
                ax.set_title(f"{100 * n:.0f}% negatives", fontsize="small")
            if j == 0:
                ax.set_ylabel(f"{100 * p:.0f}% positives\nAUROC (%)", fontsize="small")
    figure.supxlabel("Stated alpha, as a multiple of the true one", fontsize="small")
    figure.legend(loc="outside upper center", ncols=2, frameon=False, fontsize="small")
    return figure
