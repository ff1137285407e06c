"""The number of threads does not change what comes out."""

from tools.threads import different_learners


def test_scores_are_the_same_with_one_thread_and_two():
    # Its products of matrices are those that threads share out first.
    assert different_learners(["pul-cpbf"], [1, 2]) == []
