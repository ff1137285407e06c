"""What PU-Bench prints about its rows, and all of CIFAR-10 without its images."""

import numpy as np

from recoup.data import Dataset

# PU-Bench (2026), Tables B.2 and D.1: labeled rows at a label frequency of 0.1, training positives
# and negatives, validation rows, test positives and negatives.
TABLE_D1 = {
    "newsgroups20_minilm": (632, 6_326, 4_874, 114, 4_254, 3_278),
    "imdb_minilm": (1_237, 12_375, 12_375, 250, 12_500, 12_500),
    "mnist": (2_919, 29_197, 30_203, 600, 4_926, 5_074),
    "fashion_mnist": (2_970, 29_700, 29_700, 600, 5_000, 5_000),
    "cifar10": (1_980, 19_800, 29_700, 500, 4_000, 6_000),
    "alzheimer_mri": (255, 2_552, 2_516, 52, 622, 658),
    "connect4": (3_522, 35_222, 18_282, 541, 8_895, 4_617),
    "spambase": (143, 1_435, 2_208, 37, 363, 558),
}
# Two fifths of the training part of CIFAR-10 and half of its test part, by the same rules.
SUBSET = {"cifar10_20k_5k": (792, 7_920, 11_880, 200, 2_000, 3_000)}
NEED_NO_FILE = ("cifar10", "spambase")


def all_of_cifar10():
    """Classes of all images, without the images: counts depend on the classes alone."""
    classes = np.tile(np.arange(10), 6_000)
    return Dataset(
        X=np.zeros((60_000, 1)),
        y_true=np.isin(classes, (0, 1, 8, 9)).astype(np.int64),
        name="cifar10",
        task="pubench",
        kind="table",
        feature_names=("nothing",),
        categorical=(),
        split=np.repeat(["train", "test"], (50_000, 10_000)),
        groups=None,
        meta={},
        row_id=np.arange(60_000),
        citation="",
        licence="",
        description="",
    )
