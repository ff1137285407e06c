"""Alpha depends neither on the unit of a feature nor on a single stray cell of one."""

import numpy as np
import pytest

from recoup._core.registry import registered
from recoup.data import load
from recoup.priors._solvers.column_scale import steady_columns

FEATURES = [key for key, cls in registered("priors").items() if cls.tags.reads == "features"]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    y = np.arange(500) < 240
    X = rng.normal(size=(500, 3))
    X[y, :2] += 2.0
    return X, (np.arange(500) < 110).astype(int)


def with_cell(X, row, value):
    spoiled = X.copy()
    spoiled[row, 0] = value
    return spoiled


@pytest.mark.parametrize("key", [*FEATURES, "auto"])
def test_units_and_strays_hardly_move_alpha(rows, key):
    X, s = rows
    found = [
        registered("priors")[key](interval=None).fit(changed, s).alpha_
        for changed in (X, X * 1e-15, with_cell(X, -1, -999.0), with_cell(X, 0, 1e200))
    ]
    assert found[1] == pytest.approx(found[0], abs=1e-9)
    # The cell itself counts, and copies of a row are dealt to folds by it.
    assert found[2:] == pytest.approx([found[0]] * 2, abs=0.04)


@pytest.mark.parametrize("name", ["breast_cancer", "digits", "wine_quality", "spambase"])
def test_real_tables_stay_as_they_are(name):
    X = load(name).X
    assert steady_columns(X) is X


def test_what_is_brought_in_and_what_stays():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3))
    X[5, 0], X[7, 1] = 1e6, np.nan
    found = steady_columns(X)
    assert 3 < found[5, 0] < 10
    X[5, 0] = found[5, 0]
    assert np.array_equal(found, X, equal_nan=True)
    many = X.copy()
    many[:10, 2] = -999.0  # no single rows any more
    assert steady_columns(many) is many
    assert steady_columns("words") == "words"
