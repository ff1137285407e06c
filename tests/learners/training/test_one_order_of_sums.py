"""Networks for vectors add up in one thread; tests/tools/test_threads.py holds what that brings."""

import pytest
import torch
from threadpoolctl import threadpool_info

from recoup.learners._training.devices import one_order_of_sums

CPU = torch.device("cpu")


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def test_vectors_have_one_thread_and_images_keep_theirs(threads):
    threads(2)
    with one_order_of_sums(CPU, (1, 28, 28)):
        assert torch.get_num_threads() == 2
    with one_order_of_sums(CPU, (20,)):
        assert torch.get_num_threads() == 1
        assert {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"} == {1}
    assert torch.get_num_threads() == 2
