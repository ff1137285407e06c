"""Made-up rows of PU-Bench's study: levels by method that a test can change."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from papers.pubench.finding import Finding, heard
from papers.pubench.published import DATASETS, METHODS, PN, PU_METHODS
from papers.pubench.study import study_of
from recoup.bench.record import columns

GPU = "made-up GPU"
SEEDS = (2, 25, 42)


def made_up_row(method: str, **given: Any) -> dict[str, Any]:
    """Return a row of a store with every column; what is not given is empty."""
    key, _, mode = method.partition("-") if method.startswith("p3mix") else (method, "", "")
    family = "reference" if method == PN else METHODS[method].family
    params = {"mode": mode} if mode else {}
    usual = {
        "run": "0" * 16,
        "learner": f"p3mix (mode={mode})" if mode else key,
        "key": key,
        "params": params,
        "family": family,
        "scheme": "case-control-overlap",
        "mechanism": "scar",
        "label_frequency": 0.1,
        "noise": 0.0,
        "protocol": "pubench",
        "alpha": "released",
        "status": "done",
        "seconds": 4.0,
        "seconds_per_epoch": None if key == "puet" else 0.1,
        "peak_memory": 5e8,
        "peak_gpu_memory": None if key == "puet" else 3e8,
        "device": "cpu" if key == "puet" else GPU,
    }
    return dict.fromkeys(columns()) | usual | given


def made_up_rows(
    level: Callable[[str, str, str, float, str], float],
    *,
    methods: Iterable[str] = (*METHODS, PN),
    datasets: Iterable[str] = DATASETS,
    mechanisms: Iterable[str] = ("scar",),
    ratios: Iterable[float] = (0.1,),
    seeds: Iterable[int] = SEEDS,
    noise: float = 0.002,
    draw: int = 0,
    **given: Any,
) -> list[dict[str, Any]]:
    """Return rows whose metrics lie around a level.

    ``level`` takes method, dataset, mechanism, label ratio and metric.
    """
    rng = np.random.default_rng(draw)
    metrics = ("accuracy", "precision", "recall", "f1", "macro_f1", "roc_auc")
    return [
        made_up_row(
            method,
            dataset=dataset,
            mechanism=mechanism,
            label_frequency=ratio,
            seed=seed,
            **{
                name: float(level(method, dataset, mechanism, ratio, name) + noise * rng.normal())
                for name in metrics
            },
            **given,
        )
        for dataset in datasets
        for mechanism in mechanisms
        for ratio in ratios
        for method in methods
        for seed in seeds
    ]


def shift(**by_method: Any) -> Callable[..., float]:
    """Return a level of 0.8, moved for some methods; ``others`` moves the rest."""

    def level(method: str, dataset: str, mechanism: str, c: float, metric: str) -> float:
        names = {name.replace("_", "-"): value for name, value in by_method.items()}
        value = names.get(method, by_method.get("others", 0.0))
        return 0.8 + (value(dataset, mechanism, c, metric) if callable(value) else value)

    return level


def of_family(
    risk: Any = 0.0, disambiguation: Any = 0.0, generative: Any = 0.0
) -> Callable[..., float]:
    """Return a level of 0.8, moved for each family."""
    by_family = {"risk": risk, "disambiguation": disambiguation, "generative": generative}

    def level(method: str, dataset: str, mechanism: str, c: float, metric: str) -> float:
        if method == PN:
            return 0.9
        value = by_family[METHODS[method].family]
        return 0.8 + (value(dataset, mechanism, c, metric) if callable(value) else value)

    return level


def spread_out(order: Iterable[str]) -> Callable[..., float]:
    """Return levels that fall by a point from method to method, first of all in the order."""
    first = list(order)
    rest = [name for name in PU_METHODS if name not in first]
    places = {name: place for place, name in enumerate([*first, *rest])}
    return lambda method, *_: 0.95 if method == PN else 0.9 - 0.01 * places[method]


def found(section: Callable[[], Iterable[Finding]], words: str) -> Finding:
    """Return the finding whose text holds some words."""
    (one,) = [finding for finding in section() if words in finding.text]
    return one


def verdict(
    finding: Finding,
    level: Callable[..., float],
    *,
    noise: float = 0.001,
    scores: Any = None,
    change: Any = None,
    **given: Any,
) -> str:
    """Say what a rule says of made-up rows; ``change`` returns columns to change in a row."""
    rows = made_up_rows(level, noise=noise, **given)
    for row in rows:
        row.update(change(row) if change else {})
    return heard(finding, study_of(rows, scores).paper).verdict
