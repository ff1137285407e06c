"""Jain, White and Radivojac 2017: AUC and AUC-PR recovered from labeled and unlabeled rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from papers.experiment import Experiment, Page, Rows, Run, datasets_at_hand
from papers.jain2017.measured import WAYS, Measured
from papers.jain2017.page import make_page
from recoup._core.checks import FloatArray
from recoup._core.random import named_rng
from recoup.exceptions import InvalidInputError

KEY = "jain2017"
BETAS = (1.0, 0.95, 0.75)
N_HIDDEN = 5
MOST_UNLABELED = 10_000
# The conversion divides by beta - alpha; estimates that leave nothing between them get this.
LEAST_GAP = 1e-3


@dataclass(frozen=True)
class Problem:
    """Which rows of a dataset are positive, and how many get a label.

    Without classes the task is the dataset's own; ``negative`` leaves out all other classes.
    """

    title: str
    n_labeled: int
    task: str | None = None
    positive: tuple[str, ...] = ()
    negative: tuple[str, ...] = ()


PROBLEMS: Mapping[str, Problem] = {
    "bank": Problem("Bank", 1000, positive=("yes",)),
    "concrete": Problem("Concrete", 100, task="zeiberg2020"),
    "gas_drift_8of10": Problem("Gas", 1000, positive=("Ethanol",), negative=("Acetone",)),
    "housing": Problem("Housing", 100, task="zeiberg2020"),
    "landsat": Problem("Landsat", 1000, positive=("1",)),
    "mushroom": Problem("Mushroom", 1000, positive=("p",)),
    "page_blocks": Problem("Page-blocks", 100, positive=("2", "3", "4", "5")),
    "pendigits": Problem("Pendigits", 1000, task="even"),
    "pima": Problem("Pima", 100, positive=("pos",)),
    "shuttle": Problem("Shuttle", 1000, positive=("High",)),
    "spambase": Problem("Spambase", 1000, positive=("1",)),
    "wine_quality": Problem("Wine", 1000, task="zeiberg2020"),
    "breast_cancer": Problem("Breast cancer (trial)", 100),
    "diabetes": Problem("Diabetes (trial)", 100),
}
TRIAL = ("breast_cancer", "diabetes")
PAPER = tuple(name for name in PROBLEMS if name not in TRIAL)


class Extent(NamedTuple):
    """How much of the experiment a size stands for."""

    datasets: tuple[str, ...]
    repetitions: int
    batch: int
    members: int


SIZES: Mapping[str, Extent] = {
    "tiny": Extent(TRIAL, 2, 2, 10),
    "quick": Extent(PAPER, 4, 4, 100),
    "full": Extent(PAPER, 50, 10, 100),
}


def runs(size: str) -> list[Run]:
    """Return the truth of each dataset, then its repetitions."""
    extent = SIZES[size]
    present, _ = datasets_at_hand(extent.datasets, KEY)
    found = []
    for name in present:
        shared = {"dataset": name, "members": extent.members}
        found.append(Run(f"{name}-supervised", {"kind": "supervised", **shared}))
        for beta in BETAS:
            for first in range(0, extent.repetitions, extent.batch):
                batch = list(range(first, min(first + extent.batch, extent.repetitions)))
                settings = {"kind": "pu", **shared, "beta": beta, "repetitions": batch}
                found.append(Run(f"{name}-beta{beta:g}-from{first}", settings))
    return found


def measure(run: Run) -> Rows:
    """Measure the performance of one classifier that knows classes, or of several that do not."""
    settings = run.settings
    if settings["kind"] == "supervised":
        return _supervised(settings["dataset"], settings["members"])
    return [
        row
        for repetition in settings["repetitions"]
        for row in _repetition(
            settings["dataset"], settings["beta"], repetition, settings["members"]
        )
    ]


@lru_cache(maxsize=1)
def features_and_classes(name: str) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return the rows of a problem, as numbers."""
    from recoup.data import load, preprocess

    problem = PROBLEMS[name]
    if not problem.positive:
        dataset = load(name, task=problem.task)
    else:
        dataset = load(name, positive=problem.positive)
    if problem.negative:
        others = load(name, positive=problem.negative)
        dataset = dataset.take((dataset.y_true == 1) | (others.y_true == 1))
    (numbers,) = preprocess(dataset)
    return numbers.X, numbers.y_true


def _scores(X: FloatArray, s: NDArray[Any], members: int, seed: int) -> FloatArray:
    from papers.bagged_networks import BaggedNetworks

    networks = BaggedNetworks(N_HIDDEN, n_members=members, random_state=seed)
    return networks.fit(X, s).oob_scores_


def _seed(*names: str | int) -> int:
    return int(named_rng(0, KEY, *names).integers(2**31))


def _supervised(name: str, members: int) -> Rows:
    X, y = features_and_classes(name)
    n_labeled = PROBLEMS[name].n_labeled
    scores = _scores(X, y, members, _seed(name, "supervised"))
    rows = []
    for beta in BETAS:
        alpha = (int(y.sum()) - round(beta * n_labeled)) / (len(y) - n_labeled)
        shared = {"dataset": name, "beta": beta, "repetition": -1, "method": "supervised"}
        for metric, value in _true_areas(y, scores, alpha).items():
            rows.append({**shared, "metric": metric, "value": value, "own": value, "alpha": alpha})
        at_all = _true_areas(y, scores, float(y.mean()))["auc_pr"]
        rows.append(
            {**shared, "metric": "auc_pr_all", "value": at_all, "own": at_all, "alpha": alpha}
        )
    return rows


def _true_areas(y: NDArray[Any], scores: FloatArray, prior: float) -> dict[str, float]:
    """Return AUC, and AUC-PR where positives have the given share, from true classes."""
    from recoup.metrics import roc_curve
    from recoup.metrics.area import area_under_pr, area_under_roc

    curve = roc_curve(y, scores, alpha=0.0)
    return {
        "auc": float(area_under_roc(curve.tpr, curve.fpr)),
        "auc_pr": float(area_under_pr(curve.tpr, curve.fpr, prior)),
    }


def _repetition(name: str, beta: float, repetition: int, members: int) -> Rows:
    from recoup.simulation import simulate

    X, y = features_and_classes(name)
    n_labeled = PROBLEMS[name].n_labeled
    seed = _seed(name, f"{beta:g}", repetition)
    data = simulate(
        X,
        y,
        n_labeled=n_labeled,
        beta=beta,
        n_unlabeled=min(MOST_UNLABELED, len(y) - n_labeled),
        random_state=seed,
    )
    assert data.truth is not None
    scores = _scores(np.asarray(data.X), data.s, members, seed)
    own = _true_areas(np.asarray(data.y_true).astype(int), scores, data.truth.alpha)
    shares = {"R": (data.truth.alpha, data.truth.beta), **_estimates(data.s, scores, seed)}
    rows = []
    for metric, method, value in _recovered(data.s, scores, shares):
        used = shares.get(method[-1], (np.nan, np.nan))
        rows.append(
            {
                "dataset": name,
                "beta": beta,
                "repetition": repetition,
                "method": method,
                "metric": metric,
                "value": value,
                "own": own[metric],
                "alpha": data.truth.alpha,
                "alpha_used": used[0],
                "beta_used": used[1],
            }
        )
    return rows


def _estimates(s: NDArray[Any], scores: FloatArray, seed: int) -> dict[str, tuple[float, float]]:
    from recoup.priors import AlphaMaxNoisy, Auto

    found = {}
    estimators = {
        "E": AlphaMaxNoisy(interval=None, random_state=seed),
        "A": Auto(beta="estimate", interval=None, random_state=seed),
    }
    for letter, estimator in estimators.items():
        try:
            estimate = estimator.fit_scores(s, scores).estimate_
        except InvalidInputError:  # labeled and unlabeled rows look alike: no answer
            found[letter] = (np.nan, np.nan)
            continue
        beta = max(estimate.beta, LEAST_GAP)
        found[letter] = (min(estimate.alpha, beta - LEAST_GAP), beta)
    return found


def _recovered(
    s: NDArray[Any], scores: FloatArray, shares: Mapping[str, tuple[float, float]]
) -> list[tuple[str, str, float]]:
    """Return metric, method and value; AUC as it comes out, even above 1."""
    from recoup.metrics import pr_auc, roc_auc, roc_curve
    from recoup.metrics.area import area_under_roc

    found = [
        ("auc", "PU", roc_auc(s, scores, alpha=0.0)),
        ("auc_pr", "PU", pr_auc(s, scores, alpha=0.0)),
    ]
    for letter, (alpha, beta) in shares.items():
        if np.isnan(alpha):
            found += [("auc", way + letter, np.nan) for way in WAYS]
            found.append(("auc_pr", f"I{letter}", np.nan))
            continue
        known: dict[str, Any] = {"alpha": alpha, "beta": beta}
        curve = roc_curve(s, scores, **known)
        areas = {
            "D": roc_auc(s, scores, method="direct", **known),
            "I": roc_auc(s, scores, method="indirect", **known),
            **other_areas(curve.raw_tpr, curve.raw_fpr),
        }
        found += [("auc", way + letter, areas[way]) for way in WAYS]
        found.append(("auc_pr", f"I{letter}", pr_auc(s, scores, scheme="case-control", **known)))
        if letter == "R":
            raw = float(area_under_roc(curve.raw_tpr, curve.raw_fpr))
            found.append(("auc", "raw", raw))
    return found


def other_areas(raw_tpr: FloatArray, raw_fpr: FloatArray) -> dict[str, float]:
    """Return areas under a recovered curve that is made valid otherwise than recoup does it.

    ``M`` lets both rates keep the highest value so far. ``U`` does so with the true positive rate,
    and gives the false positive rate the lowest value yet to come, which is the most favourable
    curve between the points. ``S`` sorts the points, cut to [0, 1], by false positive rate.
    """
    from recoup.metrics.area import area_under_roc

    tpr, fpr = np.clip(raw_tpr, 0.0, 1.0), np.clip(raw_fpr, 0.0, 1.0)
    highest_tpr, highest_fpr = np.maximum.accumulate(tpr), np.maximum.accumulate(fpr)
    lowest_fpr = np.minimum.accumulate(fpr[::-1])[::-1]
    order = np.argsort(fpr, kind="stable")
    return {
        "M": float(area_under_roc(highest_tpr, highest_fpr)),
        "U": float(area_under_roc(highest_tpr, lowest_fpr)),
        "S": float(area_under_roc(tpr[order], fpr[order])),
    }


def summarize(rows: Rows, size: str) -> Page:
    """Compare with what the paper says."""
    titles = {name: PROBLEMS[name].title for name in SIZES[size].datasets}
    return make_page(Measured(rows, BETAS), titles, trial=size == "tiny")


EXPERIMENT = Experiment(
    key=KEY,
    title="Recovering true classifier performance in positive-unlabeled learning",
    citation=(
        "S. Jain, M. White, P. Radivojac. Recovering true classifier performance in "
        "positive-unlabeled learning. AAAI 2017, arXiv:1702.00518."
    ),
    runs=runs,
    measure=measure,
    summarize=summarize,
    lesson="Recovered AUC is far closer to the truth than uncorrected AUC; with estimated alpha "
    "and beta, AUC-PR is so on most of these datasets, but not on all. What decides how close they "
    "come is how well beta - alpha is known. Whether AUC comes from the "
    "formula or from the curve hardly matters: which of them is better hangs on how the "
    "curve is made valid.",
)
