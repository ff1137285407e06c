"""Numbers that learners can take, learned from training rows alone."""

from dataclasses import replace

import numpy as np
import pytest

from recoup.data import Preprocessor, load, preprocess
from recoup.exceptions import InvalidInputError


def test_preprocessing_learns_from_training_rows_alone(load_real):
    abalone = load_real("abalone")
    train, test = abalone.take(slice(0, 3000)), abalone.take(slice(3000, None))
    moved = replace(test, X=test.X.assign(length=1000.0))
    (alone,) = preprocess(train)
    fitted, _, other = preprocess(train, test, moved)
    np.testing.assert_array_equal(alone.X, fitted.X)
    numbers = fitted.X[:, 3:]
    np.testing.assert_allclose(numbers.mean(axis=0), 0, atol=1e-10)
    np.testing.assert_allclose(numbers.std(axis=0), 1)
    assert fitted.feature_names[:4] == ("sex=F", "sex=I", "sex=M", "length")
    assert set(np.unique(fitted.X[:, :3])) == {0.0, 1.0}
    expected = (1000 - train.X["length"].mean()) / train.X["length"].std(ddof=0)
    np.testing.assert_allclose(other.X[:, 3], expected)
    assert (other.categorical, len(other)) == ((), 1177)


def test_levels_unseen_in_training_become_zeros_or_other(load_real):
    mushroom = load_real("mushroom")
    known = np.flatnonzero(mushroom.X["stalk-root"] != "?")
    unknown = np.flatnonzero(mushroom.X["stalk-root"] == "?")
    train, test = preprocess(mushroom.take(known), mushroom.take(unknown))
    root = [i for i, name in enumerate(train.feature_names) if name.startswith("stalk-root=")]
    assert len(root) == 4
    assert not test.X[:, root].any()
    both = Preprocessor(max_levels=2).fit(mushroom).transform(mushroom)
    names = [name for name in both.feature_names if name.startswith("stalk-root=")]
    assert names == ["stalk-root=?", "stalk-root=b", "stalk-root=(other)"]
    columns = [both.feature_names.index(name) for name in names]
    assert (both.X[:, columns].sum(axis=1) == 1).all()


@pytest.mark.data
def test_numbers_that_are_categories(load_real):
    (batteryless,) = preprocess(load_real("batteryless_s1"))
    assert {f"antenna_id={i}" for i in (1, 2, 3, 4)} < set(batteryless.feature_names)


def test_categories_of_zeros_and_ones(load_real):
    (thyroid,) = preprocess(load_real("thyroid_ann"))
    assert thyroid.X.shape[1] == 21  # columns of zeros and ones stay single


@pytest.mark.data
@pytest.mark.parametrize(("name", "width"), [("hiv1_protease", 160), ("splice", 287)])
def test_one_hot_width_is_the_published_one(name, width, load_real):
    """Zeiberg et al. (2020), Table 2, print these numbers of columns."""
    (encoded,) = preprocess(load_real(name))
    assert encoded.X.shape[1] == width


@pytest.mark.data
def test_pubench_recipe(load_real):
    digits = load_real("mnist").take(range(100))
    (centred,), (unit,) = preprocess(digits, recipe="pubench"), preprocess(digits)
    assert centred.X.dtype == unit.X.dtype == np.float32
    np.testing.assert_allclose(centred.X, (digits.X / 255 - 0.5) / 0.5, atol=1e-6)
    assert (unit.X.min(), unit.X.max()) == (0.0, 1.0)
    colour = replace(digits, X=np.full((100, 3, 4, 4), 255, dtype=np.uint8))
    assert preprocess(colour, recipe="pubench")[0].X.min() == 1.0
    vectors = load_real("newsgroups20_minilm").take(range(50))
    (unit_length,) = preprocess(vectors, recipe="pubench")
    np.testing.assert_allclose(np.linalg.norm(unit_length.X, axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(preprocess(vectors)[0].X, vectors.X)


def test_preprocessing_refuses_what_it_was_not_fitted_on():
    iris, wine = load("iris"), load("wine")
    with pytest.raises(InvalidInputError, match="the columns it was fitted on"):
        preprocess(iris, wine)
    with pytest.raises(InvalidInputError, match="a call of fit first"):
        Preprocessor().transform(iris)
    with pytest.raises(InvalidInputError, match=r"'default' or 'pubench'\. Got 'best'"):
        preprocess(iris, recipe="best")
    with pytest.raises(InvalidInputError, match="at least 1"):
        preprocess(iris, max_levels=0)
    with pytest.raises(InvalidInputError, match="at least one row"):
        preprocess(iris.take([]))


def test_a_constant_column_stays_finite():
    iris = load("iris")
    (scaled,) = preprocess(replace(iris, X=np.ones_like(iris.X)))
    assert (scaled.X == 0).all()
