"""PU-Bench's study: its runs are made by the benchmark, and judged here."""

from __future__ import annotations

from pathlib import Path

from papers.experiment import Experiment, Page, Rows
from papers.pubench.page import page_of, read_distributions
from recoup.bench.exported import read_export


def read(results: Path) -> tuple[Rows, Page]:
    """Return the rows of an exported store, and the page that follows from them."""
    rows = read_export(results)
    return rows, page_of(rows, read_distributions(results.parent))


EXPERIMENT = Experiment(
    key="pubench",
    title="Which of PU-Bench's findings hold?",
    citation='Chen, Zhang, Zhang, Li, Wang and Wang, "PU-Bench: a unified benchmark for rigorous '
    'and reproducible PU learning", 2026.',
    runs=lambda size: [],
    measure=lambda run: [],
    summarize=lambda rows, size: page_of(rows),
    lesson="Do not pick a method by its place in one table. Of the paper's 136 printed p-values 62 "
    "cannot belong to its accuracies, if what follows ± are standard deviations over ten paired "
    "seeds, and some sentences are not what its own Table 1 shows: there risk estimators spread "
    "0.85 times as much as disambiguation methods, not more, nnPU and Dist-PU are not the two most "
    "consistent (the later one is 5th of 8), and LBE on ADNI is half a point below the median of "
    "its family. A sentence about a place or a few points needs an interval: the verdicts have "
    "them. What runs without true classes show is on the page about which learner when.",
    read=read,
    made_by="""\
for plan in pubench-conventional pubench-label-ratio pubench-selection-bias \\
    honest-conventional honest-label-ratio honest-selection-bias; do
    recoup bench run $plan --store runs.sqlite
done
recoup bench export runs.sqlite --out docs/papers/pubench/results.parquet
python -m papers.pubench.scores runs.sqlite docs/papers/pubench/distributions.json""",
)
