"""Row counts of PU-Bench's splits, as its Tables B.2 and D.1 print them."""

import numpy as np
import pytest

from recoup.data import load, preprocess, pubench_split
from recoup.exceptions import InvalidInputError

# PU-Bench (2026), Table B.2: training positives and negatives, validation rows, test positives
# and negatives. The Alzheimer images are left out: their test part is drawn without strata there.
PUBLISHED = {
    "newsgroups20_minilm": (6_326, 4_874, 114, 4_254, 3_278),
    "imdb_minilm": (12_375, 12_375, 250, 12_500, 12_500),
    "mnist": (29_197, 30_203, 600, 4_926, 5_074),
    "fashion_mnist": (29_700, 29_700, 600, 5_000, 5_000),
    "connect4": (35_222, 18_282, 541, 8_895, 4_617),
    "spambase": (1_435, 2_208, 37, 363, 558),
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[] if n == "spambase" else pytest.mark.data) for n in PUBLISHED],
)
def test_counts_are_the_published_ones(name, load_real):
    dataset = load_real(name, "pubench")
    for seed in (2, 42):
        train, validation, test = pubench_split(dataset, seed)
        found = (
            *(int(train.y_true.sum()), int((train.y_true == 0).sum()), len(validation)),
            *(int(test.y_true.sum()), int((test.y_true == 0).sum())),
        )
        assert found == PUBLISHED[name]
        rows = np.concatenate([train.row_id, validation.row_id, test.row_id])
        np.testing.assert_array_equal(np.sort(rows), np.arange(len(dataset)))
        if dataset.split is not None:
            assert set(test.split) == {"test"}
            assert set(train.split) == set(validation.split) == {"train"}


def test_the_seed_decides_the_rows(load_real):
    spambase = load_real("spambase")
    one, same, other = (pubench_split(spambase, seed) for seed in (2, 2, 25))
    for first, second in zip(one, same, strict=True):
        np.testing.assert_array_equal(first.row_id, second.row_id)
    assert not np.array_equal(one.test.row_id, other.test.row_id)


@pytest.mark.data
def test_boards_become_126_columns(load_real):
    parts = preprocess(*pubench_split(load_real("connect4"), seed=2), recipe="pubench")
    for part in parts:
        assert part.X.shape[1] == 126
        assert (part.X.sum(axis=1) == 42).all()


def test_spambase_is_standardised_on_its_training_rows(load_real):
    train, _, test = preprocess(*pubench_split(load_real("spambase"), seed=2), recipe="pubench")
    assert train.X.shape[1] == 57
    np.testing.assert_allclose(train.X.mean(axis=0), 0, atol=1e-10)
    np.testing.assert_allclose(train.X.std(axis=0), 1)
    assert abs(test.X.mean(axis=0)).max() > 1e-3


@pytest.mark.data
def test_half_a_dataset_cannot_be_split(data_folder, environment):
    environment.setenv("RECOUP_DATA", str(data_folder))
    with pytest.raises(InvalidInputError, match="both parts of the official split of 'pendigits'"):
        pubench_split(load("pendigits", split="train"), seed=0)


def test_too_few_rows_are_refused():
    with pytest.raises(InvalidInputError, match="enough rows of both classes"):
        pubench_split(load("iris", positive="versicolor").take(slice(0, 60)), seed=0)
