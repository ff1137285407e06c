"""Made-up rows of PU-Bench's study: levels by method that a test can change."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from papers.pubench.published import DATASETS, METHODS, PN
from recoup.bench.store import columns

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
    **given: Any,
) -> list[dict[str, Any]]:
    """Return rows whose metrics lie around a level.

    ``level`` takes method, dataset, mechanism, label ratio and metric.
    """
    rng = np.random.default_rng(0)
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
