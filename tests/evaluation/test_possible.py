"""What is left open: an alpha that was estimated, and labels that nobody checked."""

import numpy as np
import pytest

import recoup
from recoup.evaluation.possible import open_shares


@pytest.fixture(scope="module")
def example():
    return recoup.load_example()


def opened(example, **options):
    result = recoup.evaluate(example.s, example.scores["score_boosting"], n_boot=0, **options)
    return open_shares(result.given), result["recall"]


def test_labels_are_open_until_beta_is_given(example):
    assert opened(example, alpha=0.3)[0] == (False, True)
    assert opened(example, alpha=0.3, beta=1.0)[0] == (False, False)


def test_an_estimate_that_takes_labels_as_right_leaves_them_open(example):
    shares, recall = opened(example, alpha="estimate")
    assert shares == (True, True)
    # Wrong labels pull recall down, so that it could be higher.
    assert recall.possible_upper > recall.upper
    assert opened(example, alpha="estimate", beta=1.0)[0] == (True, False)


def test_draws_of_beta_say_what_is_known_about_labels(example):
    rng = np.random.default_rng(0)
    draws = recoup.Draws(rng.beta(30, 70, 100), rng.uniform(0.9, 1.0, 100))
    assert opened(example, alpha=draws)[0] == (False, False)
