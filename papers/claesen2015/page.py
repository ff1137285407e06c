"""Claims, tables and figures of Claesen et al. 2015."""

from __future__ import annotations

from papers.claesen2015.claims import DRAWN, claims
from papers.claesen2015.figures import figures
from papers.claesen2015.measured import (
    by_kind_of,
    cells_of,
    inside,
    mean,
    of_figure_2,
    percent,
    tighter,
    values_of,
    where,
    width,
)
from papers.claesen2015.order import corrected_auc
from papers.claesen2015.published import FIGURE_4
from papers.experiment import Page, Rows, markdown_table

INTRO = """
The paper's simulated scores are not given: ours are N(0, 1) for negatives and N(1, 1) for
positives, one of three settings in the code that the authors released (claesenm/semisup-metrics on
GitHub, of which no line is used here). "As published" means the band that the paper uses: pointwise
bootstrap quantiles of the rank distribution of the labeled positives, without the noise of the
hidden ones. Figures 2, 3, 5 and both tables are drawings in the paper, so that only what they show
can be compared; Figure 4 comes with figures.
"""
COVERTYPE = """
Figure 5 is made with 10,000 + 10,000 rows of a sample of Covertype that no model has seen, not
20,000 + 20,000, with 5% of the positives labeled, and with gradient boosted trees trained on PU
labels instead of the authors' ensemble of support vector machines. Its true areas are known, since
the authors released the scores: they stand beside ours.
"""
NO_COVERTYPE = """
Figure 5 was left out: the dataset covertype_sample is not at hand (RECOUP_DATA names no folder
that holds it).
"""


def summarize(rows: Rows, size: str) -> Page:
    """Set what was measured beside what the paper says."""
    by_kind = by_kind_of(rows)
    real = "covertype" in by_kind
    tables = [
        ("How often 95% bounds hold the truth", _coverage_table(by_kind["labels"])),
        ("Figure 2: width of the bounds on AUROC", _width_table(by_kind["labels"])),
        ("Figure 3: bounds on AUROC with a wrong alpha", _alpha_table(by_kind["alpha"])),
        ("Figure 4: AUROC (%) of two models", _order_table(by_kind)),
        ("Table 1: bounds on AUROC (%) from known positives", _known_table(by_kind, False)),
        ("Table 2: bounds on AUROC (%), the tighter of both", _known_table(by_kind, True)),
    ]
    return Page(
        intro=INTRO + (COVERTYPE if real else NO_COVERTYPE) + _scale_note(by_kind, size),
        tables=tuple(tables),
        claims=claims(rows),
        figures=figures(by_kind),
    )


def _scale_note(by_kind: dict[str, Rows], size: str) -> str:
    if size != "tiny":
        return ""
    largest = max(row["n_unlabeled"] for row in by_kind["labels"])
    return f"\nThis is a trial with at most {largest:,} unlabeled rows: its figures mean little.\n"


def _coverage_table(rows: Rows) -> str:
    columns = ("Unlabeled", "Labeled", "Band", "AUROC", "One cut", "All cuts", "Inner cuts")
    lines = []
    for unlabeled, labeled in cells_of(rows):
        for band in dict.fromkeys(row["band"] for row in rows):
            cell = where(rows, n_unlabeled=unlabeled, n_labeled=labeled, band=band)
            shares = [inside(cell), *(mean(cell, x) for x in ("cuts", "all_cuts", "inner_cuts"))]
            lines.append([f"{unlabeled:,}", f"{labeled:,}", band, *map(percent, shares)])
    return markdown_table(columns, lines)


def _width_table(rows: Rows) -> str:
    lines = [
        [
            f"{n:,}",
            *(percent(mean(some, name), 2) for name in ("truth", "lower", "upper")),
            f"{100 * width(some):.2f}",
            DRAWN,
        ]
        for n, some in of_figure_2(rows)
    ]
    return markdown_table(("Labeled", "True", "Lower", "Upper", "Width", "Published"), lines)


def _alpha_table(rows: Rows) -> str:
    lines = [
        [
            name.replace("interval", "0.24 to 0.36").replace("dkw", "(dkw band)"),
            *(percent(mean(where(rows, guess=name), x), 2) for x in ("truth", "lower", "upper")),
            percent(inside(where(rows, guess=name))),
        ]
        for name in dict.fromkeys(row["guess"] for row in rows)
    ]
    return markdown_table(("Stated alpha (true 0.3)", "True", "Lower", "Upper", "Held"), lines)


def _order_table(by_kind: dict[str, Rows]) -> str:
    lines = []
    for row in by_kind["order"]:
        alpha, model = row["alpha"], row["model"]
        other = {"model 1": "model 2", "model 2": "model 1"}[model]
        lines.append(
            [
                f"{alpha:g}",
                model,
                f"{100 * FIGURE_4[alpha][model]:.1f}",
                f"{100 * FIGURE_4[alpha][other]:.1f}" if alpha else "",
                f"{100 * corrected_auc(FIGURE_4[0.0][model], alpha):.1f}",
                f"{100 * row['roc_auc']:.1f}",
                f"{row['alpha_upper']:.3f}",
            ]
        )
    columns = ("Alpha", "Model", "Published", "If swapped", "By the formula, any ranking")
    return markdown_table((*columns, "Ours, clipped", "Largest alpha allowed"), lines)


def _known_table(by_kind: dict[str, Rows], either: bool) -> str:
    rows = by_kind["table"]
    lines = []
    for p in values_of(rows, "known_positives"):
        for n in values_of(rows, "known_negatives"):
            cells = []
            for guess in ("under", "exact", "over"):
                cell = {"known_positives": p, "known_negatives": n, "guess": guess}
                some = where(rows, based_on="positives", **cell)
                mark = ""
                if either:
                    form, some = tighter(rows, **cell)
                    mark = " (n)" if form == "negatives" else ""
                low, high = (100 * mean(some, side) for side in ("lower", "upper"))
                cells.append(f"{low:.1f} to {high:.1f}{mark}")
            truth = 100 * mean(some, "truth")
            lines.append([percent(p), percent(n), *cells, f"{truth:.1f}", DRAWN])
    last = "True" if not either else "True; (n): from known negatives"
    columns = ("Known positives", "Known negatives", "0.8 alpha", "Alpha", "1.2 alpha", last)
    return markdown_table((*columns, "Published"), lines)
