"""The local-level model: its derivatives, its matrices, and what it may learn."""

import numpy as np
import pytest

from monitoring.payments import counted
from recoup.monitoring.smoothing import N_STATES, Arrow, ExpectedRows, Known, smooth


@pytest.fixture(scope="module")
def counts():
    return counted(weeks=12, rows=500)


@pytest.fixture
def states(counts):
    rng = np.random.default_rng(0)
    states = 0.2 * rng.normal(size=(counts.n_periods, N_STATES))
    shared = np.append(0.3 * rng.normal(size=2 * counts.n_bins), np.log(0.5))
    return states, shared


def test_slopes_are_derivatives(counts, states):
    own, shared = states
    labeled, unlabeled = ExpectedRows.of(counts, own, shared).slopes(counts)
    step = 1e-6
    for place in range(N_STATES + len(shared)):
        more, less = ([own.copy(), shared.copy()] for _ in "12")
        for moved, sign in ((more, 1), (less, -1)):
            if place < N_STATES:
                moved[0][:, place] += sign * step
            else:
                moved[1][place - N_STATES] += sign * step
        up, down = ExpectedRows.of(counts, *more), ExpectedRows.of(counts, *less)
        for name, slopes in (("labeled", labeled), ("unlabeled", unlabeled)):
            numeric = (getattr(up, name) - getattr(down, name)) / (2 * step)
            np.testing.assert_allclose(slopes[:, :, place], numeric, atol=2e-5)


def test_cells_add_up_to_the_rows(counts, states):
    cells = ExpectedRows.of(counts, *states)
    total = (cells.labeled + cells.unlabeled).sum(axis=1)
    np.testing.assert_allclose(total, counts.n_rows)


@pytest.fixture
def arrow():
    rng = np.random.default_rng(1)
    n_periods, n_shared = 4, 3
    blocks = rng.normal(size=(n_periods, N_STATES, N_STATES))
    blocks = blocks @ blocks.transpose(0, 2, 1) + 12 * np.eye(N_STATES)
    beside = rng.uniform(0.5, 2, size=(n_periods - 1, N_STATES))
    border = rng.normal(size=(n_periods, N_STATES, n_shared))
    return Arrow(blocks, beside, border, 40 * np.eye(n_shared))


def dense(arrow):
    n_periods, size = len(arrow.blocks), len(arrow.blocks) * N_STATES
    whole = np.zeros((size + len(arrow.corner),) * 2)
    for period in range(n_periods):
        own = slice(period * N_STATES, (period + 1) * N_STATES)
        whole[own, own] = arrow.blocks[period]
        whole[own, size:] = arrow.border[period]
        whole[size:, own] = arrow.border[period].T
        if period < n_periods - 1:
            after = slice(own.stop, own.stop + N_STATES)
            whole[own, after] = whole[after, own] = -np.diag(arrow.beside[period])
    whole[size:, size:] = arrow.corner
    return whole


def test_an_arrow_is_its_dense_matrix(arrow):
    whole = dense(arrow)
    size = len(arrow.blocks) * N_STATES
    rng = np.random.default_rng(2)
    right = rng.normal(size=len(whole))
    states, shared = arrow.solve(right[:size].reshape(-1, N_STATES), right[size:])
    np.testing.assert_allclose(np.append(states.ravel(), shared), np.linalg.solve(whole, right))
    assert arrow.log_determinant == pytest.approx(np.linalg.slogdet(whole)[1])
    inverse = np.linalg.inv(whole)
    for period, block in enumerate(arrow.blocks_of_inverse()):
        own = np.append(np.arange(N_STATES) + period * N_STATES, np.arange(size, len(whole)))
        np.testing.assert_allclose(block, inverse[np.ix_(own, own)], atol=1e-12)


def test_what_is_known_beforehand_keeps_its_error(arrow):
    before, after = (np.linalg.inv(dense(one)) for one in (arrow, arrow.with_last_known(0.3)))
    assert after[-1, -1] == pytest.approx(0.09)

    def given_the_last(covariance):
        across = np.outer(covariance[:-1, -1], covariance[:-1, -1])
        return covariance[:-1, :-1] - across / covariance[-1, -1]

    np.testing.assert_allclose(given_the_last(after), given_the_last(before), atol=1e-12)
    slopes = [covariance[:-1, -1] / covariance[-1, -1] for covariance in (before, after)]
    np.testing.assert_allclose(*slopes)


def test_rows_do_not_move_the_label_frequency(counts):
    full = np.ones(counts.n_periods)
    for frequency in (0.4, 0.8):
        found = smooth(counts, Known(frequency, 0.1, full, 0 * full))
        assert np.exp(found.shared[-1]) == pytest.approx(frequency, rel=1e-3)
        covariance = found.covariance[0][-1, -1]
        assert np.sqrt(covariance) == pytest.approx(0.1, rel=1e-6)


def test_periods_that_are_alike_share_what_they_know(counts):
    full = np.ones(counts.n_periods)
    found = smooth(counts, Known(0.6, 0.0, full, 0 * full))
    share = found.cells.share[:, 0]
    raw = counts.n_labeled / (0.6 * counts.n_rows)
    assert share.std() < 0.5 * raw.std()
    assert share.mean() == pytest.approx(
        counts.n_labeled.sum() / 0.6 / counts.n_rows.sum(), rel=0.02
    )
