"""What PU-Bench prints: its methods, its datasets, Table 1 and Table D.6."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from recoup._core.checks import FloatArray
from recoup.learners.reported import reported_accuracies, reported_spreads


class Method(NamedTuple):
    """A method of the paper.

    Attributes
    ----------
    title : str
        As the paper writes it.
    family : str
        As recoup calls it.
    """

    title: str
    family: str


METHODS = {
    "nnpu": Method("nnPU", "risk"),
    "pusb": Method("PUSB", "risk"),
    "vpu": Method("VPU", "risk"),
    "mpe-pu": Method("MPE-PU", "risk"),
    "lbe": Method("LBE-PU", "risk"),
    "puet": Method("PUET", "risk"),
    "dist-pu": Method("Dist-PU", "risk"),
    "pulda": Method("PULDA", "risk"),
    "self-pu": Method("Self-PU", "disambiguation"),
    "p3mix-e": Method("P3Mix-E", "disambiguation"),
    "p3mix-c": Method("P3Mix-C", "disambiguation"),
    "robust-pu": Method("Robust-PU", "disambiguation"),
    "holistic-pu": Method("Holistic-PU", "disambiguation"),
    "lagam": Method("LaGAM-PU", "disambiguation"),
    "pul-cpbf": Method("PUL-CPBF", "disambiguation"),
    "vae-pu": Method("VAE-PU", "generative"),
    "pan": Method("PAN", "generative"),
    "cgenpu": Method("CGenPU", "generative"),
}
PN = "pn"
PU_METHODS = tuple(METHODS)
TITLES = {name: method.title for name, method in METHODS.items()} | {PN: "PN"}

IMDB, NEWS, MNIST, FASHION, CIFAR, ADNI, CONNECT4, SPAM = DATASETS = (
    *("imdb_minilm", "newsgroups20_minilm", "mnist", "fashion_mnist"),
    *("cifar10_20k_5k", "alzheimer_mri", "connect4", "spambase"),
)
DATASET_TITLES = dict(
    zip(
        DATASETS,
        *[("IMDb", "20News", "MNIST", "F-MNIST", "CIFAR-10", "ADNI", "Connect-4", "Spambase")],
        strict=True,
    )
)
KINDS = {
    "text vectors": (IMDB, NEWS),
    "images": (MNIST, FASHION, CIFAR, ADNI),
    "tables": (CONNECT4, SPAM),
}
# All of CIFAR-10 in the paper, half of it at hand.
_PRINTED = {CIFAR: "cifar10"}
SEEDS = 10
"""Of the paper's tests."""
SPAM_NEGATIVES = 558 / 921
"""Share of negatives among Spambase's test rows: what calling every row negative gets right."""


def family(name: str) -> tuple[str, ...]:
    """Return the methods of a family, in the order of Table 1."""
    return tuple(key for key, method in METHODS.items() if method.family == name)


def table_1(
    methods: tuple[str, ...] = PU_METHODS, datasets: tuple[str, ...] = DATASETS
) -> FloatArray:
    """Return Table 1's accuracies in percent: a row for each dataset, a column for each method."""
    found = reported_accuracies()
    return np.array(
        [[found[one][_PRINTED.get(data, data)] for one in methods] for data in datasets]
    )


def table_1_spreads(
    methods: tuple[str, ...] = PU_METHODS, datasets: tuple[str, ...] = DATASETS
) -> FloatArray:
    """Return what Table 1 prints after each accuracy, arranged as by :func:`table_1`."""
    found = reported_spreads()
    return np.array(
        [[found[one][_PRINTED.get(data, data)] for one in methods] for data in datasets]
    )


@cache
def table_d6() -> dict[tuple[str, str], float]:
    """Return Table D.6's corrected p-values by method and dataset; nnPU has none."""
    back = {printed: data for data, printed in _PRINTED.items()}
    text = Path(__file__).with_name("table_d6.csv").read_text("utf-8")
    return {
        (row["learner"], back.get(row["dataset"], row["dataset"])): float(row["p_adjusted"])
        for row in csv.DictReader(text.splitlines())
    }


def possible_p_values(
    n_tests: int = len(PU_METHODS) - 1,
) -> dict[tuple[str, str], tuple[float, float]]:
    """Return between which limits each p-value of Table D.6 must lie if Table 1 is right.

    With the printed spreads as standard deviations over ten seeds, that of paired differences lies
    between their difference and their sum, which bounds the test's p-value. Holm's correction
    leaves it as it is or raises it by at most the number of tests.
    """
    from scipy.stats import t

    means, spreads = table_1(), table_1_spreads()
    # Two decimals are printed.
    slack = 0.01
    found = {}
    for k, method in enumerate(PU_METHODS):
        if method == "nnpu":
            continue
        for d, data in enumerate(DATASETS):
            apart = abs(means[d, k] - means[d, 0])
            least = max(abs(spreads[d, k] - spreads[d, 0]) - slack, 1e-9)
            most = spreads[d, k] + spreads[d, 0] + slack
            steep = (apart + slack) / least, max(apart - slack, 0.0) / most
            low, high = (2 * t.sf(ratio * np.sqrt(SEEDS), SEEDS - 1) for ratio in steep)
            found[method, data] = (float(low), min(1.0, float(high) * n_tests))
    return found
