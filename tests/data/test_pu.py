import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from recoup.data.pu import PUDataset, PUTruth, take_rows
from recoup.exceptions import InvalidInputError

S = [1, 0, 1, 0, 0, 0]
Y = [1, 1, 0, 0, 0, 1]


def containers():
    X = np.arange(12.0).reshape(6, 2)
    frame = pd.DataFrame(X, columns=["a", "b"], index=list("uvwxyz"))
    return {
        "array": X,
        "images": X.reshape(6, 1, 2, 1),
        "csr": sparse.csr_array(X),
        "csc": sparse.csc_matrix(X),
        "coo": sparse.coo_array(X),
        "pandas": frame,
        "polars": pl.DataFrame({"a": X[:, 0], "b": X[:, 1]}),
        "pyarrow": pa.table({"a": X[:, 0], "b": X[:, 1]}),
        "texts": np.array([f"text {number}" for number in range(6)]),
        "series": pd.Series([f"text {number}" for number in range(6)]),
    }


def plain(X):
    """Any container as an array of shape (rows, cells)."""
    if sparse.issparse(X):
        X = X.toarray()
    elif isinstance(X, pa.Table):
        X = X.to_pandas()
    return np.asarray(X).reshape(X.shape[0], -1)


def test_truth_is_counted_in_the_rows():
    data = PUDataset(np.zeros((6, 1)), S, y_true=Y)
    assert data.truth == PUTruth(
        alpha=0.5,
        beta=0.5,
        pi=0.5,
        label_frequency=1 / 3,
        n_labeled=2,
        n_unlabeled=4,
        overlapping=False,
    )
    skewed = PUDataset(np.zeros((5, 1)), [1, 1, 0, 0, 0], y_true=[1, 1, 1, 0, 0])
    assert (skewed.truth.alpha, skewed.truth.pi) == (1 / 3, 0.6)
    control = PUDataset(
        np.zeros((5, 1)), [1, 1, 0, 0, 0], y_true=[1, 1, 1, 0, 0], scheme="case-control"
    )
    assert control.truth.pi == control.truth.alpha == 1 / 3


def test_copies_count_once_in_the_label_frequency():
    data = PUDataset(
        np.zeros((5, 1)),
        [1, 0, 0, 0, 0],
        y_true=[1, 1, 1, 1, 0],
        row_id=["a", "a", "b", "c", "d"],
        scheme="case-control",
    )
    assert data.truth.overlapping
    assert data.truth.label_frequency == 1 / 3
    assert repr(data) == (
        "PUDataset(n=1+4, features=1, scheme='case-control', alpha=0.750, beta=1.000, overlapping)"
    )


def test_known_negatives_belong_to_a_single_sample():
    data = PUDataset(np.zeros((4, 1)), [1, 0, 0, -1], y_true=[1, 1, 0, 0])
    assert (data.truth.alpha, data.truth.pi) == (0.5, 0.5)
    assert (data.truth.n_labeled, data.truth.n_unlabeled, len(data)) == (1, 2, 4)


def test_truth_may_be_unknown_or_given():
    assert PUDataset(np.zeros((6, 1)), S).truth is None
    known = PUTruth(0.1, 1.0, 0.2, 0.5, 2, 4, False)
    assert PUDataset(np.zeros((6, 1)), S, truth=known).truth is known


@pytest.mark.parametrize("kind", containers())
def test_rows_keep_their_type(kind):
    X = containers()[kind]
    rows = np.array([4, 0, 0])
    taken = take_rows(X, rows)
    assert type(taken) is type(X)
    np.testing.assert_array_equal(plain(taken), plain(X)[rows])
    data = PUDataset(X, S, y_true=Y, propensity=np.linspace(0.1, 0.6, 6))
    train, test = data.split(0.5)
    assert type(train.X) is type(test.X) is type(X)
    np.testing.assert_array_equal(plain(test.X), plain(X)[test.row_id])
    np.testing.assert_array_equal(test.y_true, np.array(Y)[test.row_id])
    np.testing.assert_array_equal(test.propensity, data.propensity[test.row_id])
    frame = data.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns[:4].tolist() == ["row_id", "s", "y_true", "propensity"]
    assert frame["s"].tolist() == S
    np.testing.assert_array_equal(frame.iloc[:, 4:].to_numpy(), plain(X))
    names = ["a", "b"] if kind in ("pandas", "polars", "pyarrow") else None
    assert frame.columns[4:].tolist() == (names or [f"x{i}" for i in range(plain(X).shape[1])])


def test_lists_become_arrays():
    data = PUDataset([[0.0], [1.0]], [1, 0])
    assert isinstance(data.X, np.ndarray)
    assert data.to_frame().columns.tolist() == ["row_id", "s", "x0"]


@given(
    n_labeled=st.integers(2, 60),
    n_unlabeled=st.integers(2, 60),
    n_negative=st.integers(0, 20),
    test_size=st.floats(0.05, 0.95),
    seed=st.integers(0, 5),
)
def test_split_gives_each_kind_its_share(n_labeled, n_unlabeled, n_negative, test_size, seed):
    s = np.repeat([1, 0, -1], [n_labeled, n_unlabeled, n_negative])
    data = PUDataset(np.zeros((len(s), 1)), s)
    train, test = data.split(test_size, random_state=seed)
    for kind, n in ((1, n_labeled), (0, n_unlabeled)):
        assert (test.s == kind).sum() == min(max(round(test_size * n), 1), n - 1)
    assert (test.s == -1).sum() == round(test_size * n_negative)
    together = np.concatenate([train.row_id, test.row_id])
    np.testing.assert_array_equal(np.sort(together), np.arange(len(s)))
    assert (np.diff(train.row_id) > 0).all()


@given(n_twins=st.integers(4, 40), n_single=st.integers(0, 60), seed=st.integers(0, 5))
def test_split_keeps_copies_together(n_twins, n_single, seed):
    row_id = np.concatenate([np.arange(n_twins), np.arange(n_twins + n_single)])
    s = np.repeat([1, 0], [n_twins, n_twins + n_single])
    data = PUDataset(row_id[:, None], s, row_id=row_id, scheme="case-control")
    train, test = data.split(0.25, random_state=seed)
    assert not set(train.row_id) & set(test.row_id)
    assert (test.s == 1).sum() == round(0.25 * n_twins)
    wanted = round(0.25 * (n_twins + n_single))
    # Twins of the labeled rows fix the unlabeled count where there are no others to choose.
    assert abs((test.s == 0).sum() - wanted) <= (0 if n_single >= 4 else 3)


def test_split_counts_its_own_truth_and_is_repeatable():
    rng = np.random.default_rng(0)
    y_true = (rng.random(500) < 0.5).astype(int)
    data = PUDataset(np.zeros((500, 1)), y_true * (rng.random(500) < 0.4), y_true=y_true, name="d")
    _, test = data.split(0.2, random_state=1)
    assert test.truth.alpha == test.y_true[test.s == 0].mean()
    assert (test.name, test.truth.n_labeled) == ("d", round(0.2 * data.truth.n_labeled))
    again = data.split(0.2, random_state=1)[1]
    np.testing.assert_array_equal(test.row_id, again.row_id)
    assert (test.row_id != data.split(0.2, random_state=2)[1].row_id).any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"s": [1, 0, 2]}, "labels to be 1.*Got 2"),
        ({"s": [0, 0, 0]}, "0 labeled and 3 unlabeled"),
        ({"s": [1, 0]}, r"same rows. Got X of shape \(3, 1\) and 2 labels"),
        ({"X": {"a": 1}}, "Got X of dict"),
        ({"y_true": [1, 0, 2]}, "y_true to be 1.*Got 2 in 1 of 3 rows"),
        ({"y_true": ["spam", "ham", "ham"]}, "y_true to be numbers. Got spam"),
        ({"y_true": [1, 0]}, "s and y_true.*Got 3 and 2"),
        ({"row_id": [1, 2]}, "s and row_id"),
        ({"propensity": [0.1, 0.2, 1.2]}, "propensity in .*Got 1.2"),
        ({"propensity": [0.1, 0.2]}, "s and propensity"),
        ({"scheme": "both"}, "scheme to be 'single-sample'.*Got both"),
    ],
)
def test_wrong_input_is_explained(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        PUDataset(**{"X": np.zeros((3, 1)), "s": [1, 0, 0], **arguments})


def test_wrong_splits_are_explained():
    data = PUDataset(np.zeros((6, 1)), S)
    with pytest.raises(InvalidInputError, match=r"0 < test_size < 1.*Got 20"):
        data.split(20)
    with pytest.raises(InvalidInputError, match="random_state"):
        data.split(0.5, random_state="one")
    lonely = PUDataset(np.zeros((6, 1)), [1, 0, 0, 0, 0, 0])
    with pytest.raises(InvalidInputError, match=r"for both parts.*Got 1 labeled and 5 unlabeled"):
        lonely.split(0.5)
    clash = PUDataset(pd.DataFrame({"s": range(6)}), S)
    with pytest.raises(InvalidInputError, match="column 's'"):
        clash.to_frame()
