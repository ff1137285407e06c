import itertools

import numpy as np
import pytest

from recoup._core.random import as_generator, as_seed, named_rng
from recoup.exceptions import InvalidInputError


def first(*arguments):
    return named_rng(*arguments).integers(2**63)


def test_streams_keep_their_numbers():
    assert named_rng(0, "simulate", "labels").integers(100, size=3).tolist() == [25, 23, 26]
    assert first(7, "split") == first(np.int64(7), "split")


def test_seeds_and_names_with_their_borders_make_the_stream():
    keys = [
        (0,),
        (1,),
        (-1,),
        (2**80,),
        (0, "a"),
        (0, "b"),
        (0, "ab"),
        (0, "a", "b"),
        (0, "b", "a"),
        (0, 1),
        (0, "1"),
        (0, "a,b"),
        (0, '", "'),
    ]
    values = [first(*key) for key in keys]
    assert len(set(values)) == len(keys)


def test_streams_are_unrelated():
    n = 20_000
    draws = [named_rng(0, "test", number).random(n) for number in range(6)]
    for one, other in itertools.combinations(draws, 2):
        assert abs(np.corrcoef(one, other)[0, 1]) < 4.5 / np.sqrt(n)


@pytest.mark.parametrize("seed", [None, 0.5, "0", True])
def test_only_whole_numbers_are_seeds(seed):
    with pytest.raises(InvalidInputError, match="whole number"):
        named_rng(seed)


def test_seeds_of_all_kinds():
    assert as_seed(7, "f") == 7
    assert as_seed(np.int64(-7), "f") == -7
    assert as_seed(np.random.default_rng(3), "f") == np.random.default_rng(3).integers(2**31)
    assert as_seed(np.random.RandomState(3), "f") == as_seed(np.random.RandomState(3), "f")
    assert as_seed(None, "f") != as_seed(None, "f")


def test_generators_of_all_kinds():
    rng = np.random.default_rng(3)
    assert as_generator(rng, "f") is rng
    assert as_generator(3, "f").random() == np.random.default_rng(3).random()
    with pytest.raises(InvalidInputError, match=r"f needs random_state to be .* at least 0\. Got"):
        as_generator(-1, "f")
    for strange in ("0", 0.5, True, [3]):
        with pytest.raises(InvalidInputError, match="f needs random_state to be a whole number"):
            as_generator(strange, "f")
