import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.naive_bayes import GaussianNB

from recoup.exceptions import InvalidInputError
from recoup.scores import PUStratifiedKFold
from recoup.scores.folds import _deal, _numbered, _row_hashes

KINDS = (1, 0, -1)


def folds_of(splitter, X, s, groups=None):
    """Return the fold that tests each row, after checking that each is tested once."""
    folds = np.full(len(s), -1)
    for number, (train, test) in enumerate(splitter.split(X, s, groups)):
        assert (folds[test] == -1).all()
        folds[test] = number
        assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(len(s)))
    assert (folds >= 0).all()
    return folds


def folds_if_possible(splitter, X, s, groups=None):
    try:
        return folds_of(splitter, X, s, groups)
    except InvalidInputError as error:
        if "distinct groups" in str(error):
            return None
        raise


def same_partition(first, second):
    return np.array_equal(_numbered(np.asarray(first)), _numbered(np.asarray(second)))


def counts_by_fold(folds, s, kind, n_splits):
    return np.bincount(folds[np.asarray(s) == kind], minlength=n_splits)


@st.composite
def labels(draw, n_splits):
    s = [1, 0] * n_splits + draw(st.lists(st.sampled_from(KINDS), max_size=60))
    return np.array(draw(st.permutations(s)))


@st.composite
def problems(draw):
    n_splits = draw(st.integers(2, 6))
    return n_splits, draw(labels(n_splits)), draw(st.integers(0, 2**32 - 1))


@given(problems(), st.booleans())
def test_every_fold_gets_its_share_of_each_kind(problem, shuffle):
    n_splits, s, seed = problem
    X = np.random.default_rng(seed).random((len(s), 2))
    splitter = PUStratifiedKFold(n_splits, shuffle=shuffle, random_state=seed if shuffle else None)
    folds = folds_of(splitter, X, s)
    for kind in KINDS:
        assert np.ptp(counts_by_fold(folds, s, kind, n_splits)) <= 1
    # Rows left over from one kind go where those of the others did not.
    assert np.ptp(np.bincount(folds, minlength=n_splits)) <= 1


@given(problems(), st.data())
def test_copies_and_groups_share_a_fold(problem, data):
    """Copies, groups, and chains of both; every fold still gets labeled and unlabeled rows."""
    n_splits, s, seed = problem
    n_rows = len(s)
    X = np.array(data.draw(st.lists(st.integers(0, 60), min_size=n_rows, max_size=n_rows)))
    groups = data.draw(
        st.none() | st.lists(st.sampled_from("abcdefghijklmnop"), min_size=n_rows, max_size=n_rows)
    )
    splitter = PUStratifiedKFold(n_splits, random_state=seed)
    folds = folds_if_possible(splitter, X[:, None], s, groups)
    if folds is None:
        return
    for values in (X, groups):
        if values is not None:
            pairs = {(value, fold) for value, fold in zip(values, folds, strict=True)}
            assert len(pairs) == len(set(values))
    for kind in (1, 0):
        assert counts_by_fold(folds, s, kind, n_splits).min() >= 1


def test_chains_of_copies_and_groups_are_followed_to_the_end():
    """0-1 are copies, 1-2 a group, 2-3 copies; rows 4 to 7 are on their own."""
    X = [[1.0], [1.0], [2.0], [2.0], [3.0], [4.0], [5.0], [6.0]]
    groups = ["a", "b", "b", "c", "d", "e", "f", "g"]
    s = [1, 0, 0, 0, 1, 0, 0, 1]
    for seed in range(20):
        folds = folds_of(PUStratifiedKFold(2, random_state=seed), X, s, groups)
        assert len(set(folds[:4])) == 1
        assert counts_by_fold(folds, s, 0, 2).min() > 0


def test_rows_of_a_large_group_are_made_up_for_by_the_others():
    s = np.array(([1] + [0] * 4) * 100)
    groups = np.where(np.arange(500) < 80, -1, np.arange(500))
    folds = folds_of(PUStratifiedKFold(5, random_state=0), None, s, groups)
    assert counts_by_fold(folds, s, 1, 5).tolist() == [20] * 5
    assert counts_by_fold(folds, s, 0, 5).tolist() == [80] * 5
    assert np.bincount(folds[groups == -1]).max() == 80


@given(
    st.integers(1, 40),
    st.lists(st.integers(0, 4), min_size=3, max_size=3).filter(any),
    st.lists(st.lists(st.integers(0, 30), min_size=3, max_size=3), min_size=2, max_size=6),
)
def test_dealing_at_once_is_dealing_one_by_one(n_bundles, rows, filled):
    rows, filled = np.array(rows), np.array(filled)
    totals = filled.sum(axis=0) + n_bundles * rows + 1
    shares = np.zeros(len(filled), int)
    for _ in range(n_bundles):
        now = filled + shares[:, None] * rows
        added = np.round(((now + rows) / totals) ** 2 - (now / totals) ** 2, 12).sum(axis=1)
        bare = [now[:, kind] == 0 for kind in (0, 1) if rows[kind] and not filled[:, kind].all()]
        if bare:
            added -= 1e6 * bare[0]
        shares[np.argmin(added)] += 1
    dealt = _deal(n_bundles, rows, filled, totals)

    def imbalance(shares):
        return (((filled + shares[:, None] * rows) / totals) ** 2).sum()

    assert dealt.sum() == n_bundles
    assert imbalance(dealt) == pytest.approx(imbalance(shares), rel=1e-9)


@given(problems())
@settings(max_examples=30)
def test_folds_depend_on_the_seed_alone(problem):
    n_splits, s, seed = problem
    X = np.random.default_rng(seed).integers(0, 100, (len(s), 2))
    first = folds_if_possible(PUStratifiedKFold(n_splits, random_state=seed), X, s)
    if first is None:
        return
    assert np.array_equal(first, folds_of(PUStratifiedKFold(n_splits, random_state=seed), X, s))
    as_text = np.array([[f"v{value}" for value in row] for row in X], object)
    splitter = PUStratifiedKFold(n_splits, random_state=seed)
    assert np.array_equal(first, folds_of(splitter, as_text, s))


def test_seeds_matter_and_none_shuffles_anew():
    s = np.arange(200) % 2
    seeded = [folds_of(PUStratifiedKFold(random_state=seed), None, s) for seed in (0, 1)]
    fresh = [folds_of(PUStratifiedKFold(), None, s) for _ in range(2)]
    for first, second in (seeded, fresh):
        assert not np.array_equal(first, second)


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_generators_move_on(make):
    s = np.arange(200) % 2
    splitter, twin = (PUStratifiedKFold(random_state=make(0)) for _ in range(2))
    first, second = folds_of(splitter, None, s), folds_of(splitter, None, s)
    assert not np.array_equal(first, second)
    assert np.array_equal(first, folds_of(twin, None, s))


def test_text_gets_the_same_folds_in_every_process():
    """Python hashes texts differently in each process."""
    code = (
        "from recoup.scores import PUStratifiedKFold as K\n"
        "X = [c * 3 for c in 'abcdefghijklmnopaabb']\n"
        "print([test.tolist() for _, test in K(3, random_state=0).split(X, [1, 0] * 10)])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(outputs) == 1


NUMBERS = np.array([[1, 2], [2, 1], [1, 2], [-1, 0], [-2, 0], [0, 3], [2, 1]])
COPIES = [0, 1, 0, 2, 3, 4, 1]
TEXTS = np.array([["a", "bc"], ["ab", "c"], ["a", "bc"], ["", "x"], ["x", ""], ["y", "y"]])
TEXT_COPIES = [0, 1, 0, 2, 3, 4]


@pytest.mark.parametrize(
    "X",
    [
        NUMBERS,
        NUMBERS.astype(np.int8),
        NUMBERS.astype(np.float16),
        NUMBERS.astype(np.float32),
        NUMBERS.astype(float),
        NUMBERS.astype(np.longdouble),
        NUMBERS.astype(complex),
        NUMBERS.astype(object),
        NUMBERS.astype(str),
        NUMBERS.astype("S2"),
        NUMBERS.astype("datetime64[s]"),
        NUMBERS.astype(np.uint64),
        np.asfortranarray(NUMBERS),
        np.repeat(NUMBERS, 2, axis=0)[::2],
        np.tile(NUMBERS[:, :, None], (1, 1, 3)),
        NUMBERS.tolist(),
        [tuple(row) for row in NUMBERS.tolist()],
        pd.DataFrame(NUMBERS, columns=["a", "b"]),
        pd.DataFrame(NUMBERS, columns=["a", "b"]).astype({"a": "Int64", "b": "category"}),
        pl.DataFrame(NUMBERS, schema=["a", "b"]),
        pl.DataFrame(NUMBERS, schema=["a", "b"]).to_arrow(),
        sparse.csr_array(NUMBERS),
        sparse.csc_matrix(NUMBERS),
        sparse.coo_array(NUMBERS.astype(float)),
        sparse.lil_matrix(NUMBERS),
        [list(range(int(row @ [7, 3] + 20))) for row in NUMBERS],
    ],
    ids=lambda X: f"{type(X).__module__}.{type(X).__name__}-{getattr(X, 'dtype', '')}",
)
def test_equal_rows_of_numbers_are_found(X):
    assert same_partition(_row_hashes(X), COPIES)


@pytest.mark.parametrize(
    "X",
    [
        TEXTS,
        TEXTS.astype(object),
        TEXTS.astype("S4"),
        TEXTS.tolist(),
        [f"{first}|{second}" for first, second in TEXTS],
        pd.DataFrame(TEXTS),
        pd.DataFrame(TEXTS).astype({0: "category"}),
        pl.DataFrame(TEXTS, schema=["a", "b"]),
        pl.DataFrame(TEXTS, schema=["a", "b"]).cast(pl.Categorical),
        pd.Series([f"{first}|{second}" for first, second in TEXTS]),
        pl.Series([f"{first}|{second}" for first, second in TEXTS]),
    ],
    ids=lambda X: f"{type(X).__module__}.{type(X).__name__}-{getattr(X, 'dtype', '')}",
)
def test_equal_rows_of_text_are_found(X):
    assert same_partition(_row_hashes(X), TEXT_COPIES)


@given(
    st.lists(
        st.tuples(
            st.floats(width=32, allow_nan=False) | st.just(-0.0),
            st.integers(-(2**53), 2**53) | st.sampled_from([-2, -1, 0, 1]),
        ),
        min_size=1,
        max_size=30,
    ),
    st.data(),
)
def test_hashes_are_equal_where_rows_are(rows, data):
    """Against a dictionary of rows, with some rows repeated."""
    rows += data.draw(st.lists(st.sampled_from(rows), max_size=10))
    numbers: dict[tuple[float, int], int] = {}
    expected = [numbers.setdefault(row, len(numbers)) for row in rows]
    floats, integers = (np.array(column) for column in zip(*rows, strict=True))
    for X in (
        np.column_stack([floats, integers.astype(float)]),
        sparse.csr_array(np.column_stack([floats, integers.astype(float)])),
        pl.DataFrame({"f": floats, "i": integers}),
        pd.DataFrame({"f": floats, "i": integers, "t": [str(value) for value in integers]}),
    ):
        assert same_partition(_row_hashes(X), expected)


def test_missing_values_and_signed_zeros_do_not_tell_copies_apart():
    other_nan = np.array([0x7FF8000000000001], np.uint64).view(float)[0]
    assert np.isnan(other_nan)
    X = np.array([[np.nan, 0.0], [other_nan, -0.0], [1.0, np.nan], [np.nan, 1.0]])
    assert same_partition(_row_hashes(X), [0, 0, 1, 2])
    mixed = np.array([[float("nan"), None], [np.nan, None], ["nan", None], [None, None]], object)
    assert same_partition(_row_hashes(mixed), [0, 0, 1, 2])
    frame = pd.DataFrame({"a": pd.array([1, None, None, 1], "Int64"), "b": ["x", None, None, "y"]})
    assert same_partition(_row_hashes(frame), [0, 1, 1, 2])
    assert same_partition(_row_hashes(pl.from_pandas(frame)), [0, 1, 1, 2])


def test_stored_zeros_and_split_entries_do_not_tell_sparse_copies_apart():
    """Rows 0, 1 and 2 are all (0, 5): plain, with a stored zero, and as 2 + 3."""
    data, columns = [5.0, 0.0, 5.0, 2.0, 3.0], [1, 0, 1, 1, 1]
    X = sparse.csr_array((data, columns, [0, 1, 3, 5, 5]), shape=(4, 2))
    assert same_partition(_row_hashes(X), [0, 0, 0, 1])
    assert X.nnz == 5  # the caller's matrix is left as it was


def test_long_arrays_in_cells_are_compared_in_full():
    cells = np.empty(3, object)
    for row, value in enumerate((0.0, 0.0, 1e-9)):
        cells[row] = np.zeros(5000)
        cells[row][2500] = value
    assert same_partition(_row_hashes(cells), [0, 0, 1])


def test_many_rows_in_blocks_hash_as_in_one(monkeypatch):
    X = np.random.default_rng(0).random((1000, 3))
    whole = _row_hashes(X)
    monkeypatch.setattr("recoup.scores.folds.BLOCK_BYTES", 100)
    assert np.array_equal(_row_hashes(X), whole)
    assert len(np.unique(whole)) == 1000


@pytest.fixture(scope="module")
def digits():
    X, digit = load_digits(return_X_y=True)
    hidden = np.random.default_rng(0).random(len(digit)) < 0.5
    return X, np.where(hidden, 0, (digit % 2 == 0).astype(int))


def test_it_works_in_scikit_learn(digits):
    X, s = digits
    splitter = PUStratifiedKFold(3, random_state=0)
    scores = cross_val_predict(GaussianNB(), X, s, cv=splitter, method="predict_proba")
    assert scores.shape == (len(s), 2)
    search = GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1e-2]}, cv=splitter).fit(X, s)
    assert search.n_splits_ == splitter.get_n_splits() == 3
    for twin in (clone(search).cv, pickle.loads(pickle.dumps(splitter))):
        assert np.array_equal(folds_of(twin, X, s), folds_of(splitter, X, s))


def test_groups_reach_it_through_scikit_learn(digits):
    X, s = digits
    groups = np.arange(len(s)) // 100
    tested = []

    class Spy(GaussianNB):
        def predict(self, X):
            tested.append(set(X[:, 0].tolist()))
            return super().predict(X)

    numbered = np.column_stack([np.arange(len(s)), X])
    splitter = PUStratifiedKFold(3, random_state=0)
    cross_val_predict(Spy(), numbered, s, groups=groups, cv=splitter)
    for rows in tested:
        whole = np.isin(np.arange(len(s)) // 100, [row // 100 for row in rows])
        assert len(rows) == whole.sum()


def test_a_labeled_copy_does_not_betray_an_unlabeled_one(digits):
    """Half the labeled rows come again, unlabeled: nearest neighbours know them by heart."""
    X, s = digits
    again = np.flatnonzero(s)[::2]
    X, s = np.vstack([X, X[again]]), np.append(s, np.zeros(len(again), int))
    for _, test in PUStratifiedKFold(5, random_state=0).split(X, s):
        inside = np.isin(np.append(np.arange(len(X) - len(again)), again), test)
        originals = inside[again]
        copies = np.isin(np.arange(len(X) - len(again), len(X)), test)
        assert np.array_equal(originals, copies)
        assert originals.any()


def test_boolean_labels_and_frames_of_labels():
    X = np.arange(12.0)
    s = np.arange(12) % 3 == 0
    expected = folds_of(PUStratifiedKFold(3, random_state=0), X, s)
    for same in (s.astype(int), pd.Series(s), pl.Series(s.astype(float)), s.tolist()):
        assert np.array_equal(folds_of(PUStratifiedKFold(3, random_state=0), X, same), expected)


def test_without_shuffling_rows_stay_in_order():
    folds = folds_of(PUStratifiedKFold(2, shuffle=False), None, [1, 1, 1, 1, 0, 0, 0, 0])
    assert folds.tolist() == [0, 0, 1, 1, 0, 0, 1, 1]


def test_its_representation_shows_the_settings():
    text = "PUStratifiedKFold(3, shuffle=True, random_state=0)"
    assert repr(PUStratifiedKFold(3, random_state=0)) == text


@pytest.mark.parametrize(
    ("X", "s", "groups", "message"),
    [
        (None, [1, 1, 0, 0, 0], None, "labeled rows in each of the 3 folds.*2 labeled"),
        (None, [1, 1, 1, 0, 0, -1], None, "unlabeled rows in each of the 3 folds.*2 unlabeled"),
        (np.zeros((8, 1)), [1, 0] * 4, None, "4 labeled rows in 1 distinct groups"),
        (None, [1, 0] * 4, [1, 1, 1, 1, 2, 2, 2, 2], "in 2 distinct groups"),
        (None, [0, 0, 0, 0], None, "labeled and unlabeled rows"),
        (None, [1, 2, 0], None, "1 .labeled positive., 0"),
        (np.zeros((5, 1)), [1, 0, 0], None, "X and s.*5 and 3"),
        (None, [1, 0, 0], ["a", "b"], "groups and s.*2 and 3"),
        (pl.LazyFrame({"a": [1, 2, 3]}), [1, 0, 0], None, "Collect a lazy frame"),
    ],
)
def test_what_cannot_be_split_is_explained(X, s, groups, message):
    with pytest.raises(InvalidInputError, match=message):
        next(PUStratifiedKFold(3).split(X, s, groups))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_splits": 1}, "at least 2.*Got 1"),
        ({"n_splits": 2.5}, "whole number"),
        ({"shuffle": False, "random_state": 0}, "only to shuffle"),
    ],
)
def test_wrong_settings_are_explained(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        PUStratifiedKFold(**arguments)
