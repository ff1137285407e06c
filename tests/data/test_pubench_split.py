"""Row counts of PU-Bench's splits, as its Tables B.2 and D.1 print them."""

from dataclasses import replace

import numpy as np
import pytest

from pubench_counts import NEED_NO_FILE, SUBSET, TABLE_D1, all_of_cifar10
from recoup.data import load, preprocess, pubench_split
from recoup.exceptions import InvalidInputError
from recoup.simulation import simulate

SEEDS = (2, 25, 42, 52, 99, 103, 250, 666, 777, 2026)  # those of PU-Bench


def counts_of(dataset, seed):
    """Split and label as a run of the benchmark does, and count."""
    train, validation, test = pubench_split(dataset, seed)
    data = simulate(
        np.arange(len(train))[:, None],
        train.y_true,
        scheme="case-control",
        overlap=True,
        label_frequency=0.1,
        random_state=seed,
    )
    unlabeled = data.y_true[data.s == 0]
    assert data.y_true[data.s == 1].all()
    return (
        *(int(data.s.sum()), int(unlabeled.sum()), int((unlabeled == 0).sum()), len(validation)),
        *(int(test.y_true.sum()), int((test.y_true == 0).sum())),
    )


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in NEED_NO_FILE else pytest.mark.data)
        for name in TABLE_D1 | SUBSET
    ],
)
def test_counts_are_the_published_ones_for_every_seed(name, load_real):
    dataset = all_of_cifar10() if name == "cifar10" else load_real(name, "pubench")
    # Counts and rows depend on classes and parts alone, and the features are large.
    light = replace(dataset, X=np.zeros((len(dataset), 1)))
    for seed in SEEDS:
        assert counts_of(light, seed) == (TABLE_D1 | SUBSET)[name]
    train, validation, test = pubench_split(light, SEEDS[0])
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
def test_the_seed_decides_the_rows_where_the_counts_are_printed(load_real):
    images = load_real("alzheimer_mri")
    light = replace(images, X=np.zeros((len(images), 1)))
    one, same, other = (pubench_split(light, seed).test.row_id for seed in (2, 2, 25))
    np.testing.assert_array_equal(one, same)
    # Two draws of a fifth share a fifth of their rows: 256 of 1,280, give or take 13.
    assert 200 < len(np.intersect1d(one, other)) < 312


@pytest.mark.data
def test_printed_counts_hold_for_all_rows_of_their_task_alone(load_real):
    images = load_real("alzheimer_mri")
    light = replace(images, X=np.zeros((len(images), 1)))
    half = pubench_split(light.take(slice(0, None, 2)), seed=2).test
    assert (len(half), int(half.y_true.sum())) == (640, 320)
    other = pubench_split(replace(light, task="NonDemented-vs-rest"), seed=2).test
    assert (len(other), int(other.y_true.sum())) == (1_280, 640)


@pytest.mark.data
def test_half_a_dataset_cannot_be_split(data_folder, environment):
    environment.setenv("RECOUP_DATA", str(data_folder))
    with pytest.raises(InvalidInputError, match="both parts of the official split of 'pendigits'"):
        pubench_split(load("pendigits", split="train"), seed=0)


def test_too_few_rows_are_refused():
    with pytest.raises(InvalidInputError, match="enough rows of both classes"):
        pubench_split(load("iris", positive="versicolor").take(slice(0, 60)), seed=0)


# What learners get, by the recipe of the benchmark


def prepared(dataset, rows=600):
    """Return some rows of a dataset before and after, fitted on the first half of them."""
    some = dataset.take(np.linspace(0, len(dataset) - 1, rows).astype(int))
    train, test = some.take(slice(0, rows // 2)), some.take(slice(rows // 2, None))
    ready = preprocess(train, test, recipe="pubench")
    return some.X, np.concatenate([part.X for part in ready])


@pytest.mark.data
@pytest.mark.parametrize("name", ["newsgroups20_minilm", "imdb_minilm"])
def test_sentence_vectors_are_given_as_they_are_with_unit_length(name, load_real):
    before, after = prepared(load_real(name))
    np.testing.assert_allclose(np.linalg.norm(after, axis=1), 1, atol=1e-6)
    # They have unit length but for the rounding of the file: nothing is centred or scaled.
    np.testing.assert_allclose(after, before, atol=2e-4)


@pytest.mark.data
@pytest.mark.parametrize("name", ["mnist", "fashion_mnist", "alzheimer_mri"])
def test_grey_images_are_centred_at_half(name, load_real):
    before, after = prepared(load_real(name))
    assert (after.dtype, after.shape) == (np.float32, before.shape)
    np.testing.assert_allclose(after, (before / 255 - 0.5) / 0.5, atol=1e-6)
    assert (after.min(), after.max()) == (-1.0, 1.0)


@pytest.mark.data
def test_colour_images_are_divided_by_255_alone(load_real):
    before, after = prepared(load_real("cifar10_20k_5k"))
    assert (after.dtype, after.shape) == (np.float32, (600, 3, 32, 32))
    np.testing.assert_allclose(after, before / 255, atol=1e-6)
    assert (after.min(), after.max()) == (0.0, 1.0)


@pytest.mark.data
def test_boards_become_126_columns_of_zeros_and_ones(load_real):
    parts = preprocess(*pubench_split(load_real("connect4"), seed=2), recipe="pubench")
    for part in parts:
        assert part.X.shape[1] == 126
        assert set(np.unique(part.X)) == {0.0, 1.0}
        assert (part.X.sum(axis=1) == 42).all()


def test_spambase_is_standardised_on_its_training_rows(load_real):
    train, _, test = preprocess(*pubench_split(load_real("spambase"), seed=2), recipe="pubench")
    assert train.X.shape[1] == 57
    np.testing.assert_allclose(train.X.mean(axis=0), 0, atol=1e-10)
    np.testing.assert_allclose(train.X.std(axis=0), 1)
    assert abs(test.X.mean(axis=0)).max() > 1e-3
