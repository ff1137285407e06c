"""Measure how often the bounds on contingency tables hold the true tables of a dataset.

    python -m tools.studies.bounds --datasets 300

Labels are a random sample of the positives, and alpha is the true share of positives among the
unlabeled rows. At a given cut and alpha, true positives decide the whole contingency table, so
bounds hold the true ROC point exactly if they hold the number of true positives. The
Dvoretzky-Kiefer-Wolfowitz band promises this for all cuts of a dataset together; the others for
one cut at a time, here at scores above which 2% to 98% of all positives lie.

"+" widens the band by the noise of the hidden positives; "-" is the band as published.
"""

import argparse
import itertools

import numpy as np
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.stats import norm

from recoup.metrics.bounds import BandKind, bounds_from_table
from recoup.scores.table import ScoreTable

SEED = 2015
LEVELS = np.concatenate([[0.02], np.linspace(0.05, 0.95, 19), [0.98]])
GRID = {
    "labeled": (50, 200),
    "unlabeled": (500, 5000),
    "alpha": (0.1, 0.4),
    "separation": (1.0, 2.5),
    "ties": (False, True),
}
KINDS: tuple[BandKind, ...] = ("dkw", "binomial", "bootstrap")
BANDS = list(itertools.product(KINDS, (True, False)))


def simulate(
    rng: np.random.Generator, cell: dict[str, float]
) -> tuple[ScoreTable, np.ndarray, float]:
    """Draw rows; return their score table, true positives at each cut, and the true alpha."""
    n_labeled, n_unlabeled = int(cell["labeled"]), int(cell["unlabeled"])
    n_hidden = round(cell["alpha"] * n_unlabeled)
    scores = rng.normal(size=n_labeled + n_unlabeled)
    scores[: n_labeled + n_hidden] += cell["separation"]
    if cell["ties"]:
        scores = (2 * scores).round() / 2
    s = np.arange(len(scores)) < n_labeled
    y_true = np.arange(len(scores)) < n_labeled + n_hidden
    truth = ScoreTable.from_arrays(y_true, scores)
    return ScoreTable.from_arrays(s, scores), np.cumsum(truth.labeled[::-1]), n_hidden / n_unlabeled


def hits_of_cell(rng: np.random.Generator, cell: dict[str, float], datasets: int) -> list[float]:
    """Share of datasets held: DKW at all cuts, then average and worst cut of the others."""
    thresholds = cell["separation"] - norm.ppf(LEVELS)
    at_cuts = {band: np.zeros(len(LEVELS)) for band in BANDS}
    at_all = dict.fromkeys(BANDS, 0)
    for _ in range(datasets):
        table, true_positives, alpha = simulate(rng, cell)
        cuts = len(table.scores) - np.searchsorted(table.scores, thresholds, side="left")
        for kind, noise in BANDS:
            bounds = bounds_from_table(table, alpha=alpha, band=kind, latent_noise=noise)
            held = (bounds.lower.tp <= true_positives) & (true_positives <= bounds.upper.tp)
            at_all[kind, noise] += int(held.all())
            # A threshold above every score catches nothing, which is no merit of the bounds.
            at_cuts[kind, noise] += held[np.maximum(cuts, 1) - 1]
    shares: list[float] = []
    for kind, noise in BANDS:
        if kind == "dkw":
            shares.append(at_all[kind, noise] / datasets)
        else:
            share = at_cuts[kind, noise] / datasets
            shares += [float(share.mean()), float(share.min())]
    return shares


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--datasets", type=int, default=300, help="simulated datasets per cell")
    datasets = parser.parse_args().datasets

    title = f"Share (%) of {datasets} datasets in which 95% bounds hold the true contingency tables"
    report = Table(title=title, box=box.SIMPLE, padding=(0, 1, 0, 0))
    for name in GRID:
        report.add_column(name, justify="right", no_wrap=True)
    for kind, noise in BANDS:
        sign = "-+"[noise]
        endings = ("all cuts",) if kind == "dkw" else ("mean", "worst")
        for ending in endings:
            report.add_column(f"{kind}{sign}\n{ending}", justify="right", no_wrap=True)

    rng = np.random.default_rng(SEED)
    cells = [dict(zip(GRID, values, strict=True)) for values in itertools.product(*GRID.values())]
    rows = []
    for cell in track(cells, "Simulating", console=Console(stderr=True)):
        rows.append(hits_of_cell(rng, cell, datasets))
        settings = [str(x).lower() if isinstance(x, bool) else f"{x:g}" for x in cell.values()]
        report.add_row(*settings, *(f"{100 * share:.1f}" for share in rows[-1]))
    report.add_section()
    for name, row in (("mean", np.mean(rows, axis=0)), ("lowest", np.min(rows, axis=0))):
        report.add_row(name, "", "", "", "", *(f"{100 * share:.1f}" for share in row))
    Console(width=160).print(report)


if __name__ == "__main__":
    main()
