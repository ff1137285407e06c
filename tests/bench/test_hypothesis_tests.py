"""Tests of learners against published worked examples, closed forms and other code."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from recoup._core.multiplicity import holm
from recoup.bench.hypothesis_tests import (
    bootstrap_ranks,
    cliques,
    critical_difference,
    friedman,
    nemenyi_p_values,
    paired_t,
    rank_intervals,
    ranks_of,
    signed_ranks,
)

# Demsar 2006 (JMLR 7:1-30), table 6: AUC of C4.5, C4.5+m, C4.5+cf and C4.5+m+cf on 14 datasets.
# In the last but one row the table ranks two learners 2 and 3 that it prints as 0.975.
DEMSAR_AUC = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.97501, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)
# The same paper, table 5(a): critical values for 2 to 10 classifiers. Three entries (2.343, 2.949
# and 2.459) differ from the studentized range by a unit of the last digit.
DEMSAR_Q = {
    0.05: (1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164),
    0.10: (1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920),
}


def test_average_ranks_of_demsar():
    found = ranks_of(DEMSAR_AUC).mean(axis=0)
    assert found == pytest.approx((3.143, 2.000, 2.893, 1.964), abs=5e-4)


def test_friedman_of_demsar():
    found = friedman(ranks_of(DEMSAR_AUC))
    assert (found.n_blocks, found.n_learners) == (14, 4)
    assert found.chi2 == pytest.approx(9.28, abs=0.005)
    assert found.f == pytest.approx(3.69, abs=0.005)
    # The paper rejects at 0.05: F(3, 39) has the critical value 2.85.
    assert stats.f.isf(0.05, 3, 39) == pytest.approx(2.85, abs=0.005)
    assert found.p_value == pytest.approx(float(stats.f.sf(found.f, 3, 39)))
    assert found.p_value < 0.05


def test_critical_differences_and_groups_of_demsar():
    names = ("C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf")
    ranks = ranks_of(DEMSAR_AUC).mean(axis=0)
    assert critical_difference(4, 14, 0.05) == pytest.approx(1.25, abs=0.005)
    assert critical_difference(4, 14, 0.10) == pytest.approx(1.12, abs=0.005)
    # Section 3.2.2: nothing is significant at 0.05; at 0.10 C4.5 is worse than the two with m,
    # and C4.5+cf may belong to either group.
    groups = cliques(ranks, critical_difference(4, 14, 0.10))
    assert [tuple(names[member] for member in group) for group in groups] == [
        ("C4.5+m+cf", "C4.5+m", "C4.5+cf"),
        ("C4.5+cf", "C4.5"),
    ]
    assert [len(group) for group in cliques(ranks, critical_difference(4, 14, 0.05))] == [4]


@pytest.mark.parametrize("level", DEMSAR_Q)
def test_studentized_range_of_demsar(level):
    for k, printed in enumerate(DEMSAR_Q[level], start=2):
        q = critical_difference(k, 1, level) / math.sqrt(k * (k + 1) / 6)
        assert q == pytest.approx(printed, abs=0.0011)


def test_holm_of_demsar():
    # Section 3.2.2: the others against C4.5, z = (3.143 - R) / 0.488, p = 0.016, 0.019 and 0.607;
    # Holm compares them with 0.017, 0.025 and 0.05, and rejects the first two.
    ranks = ranks_of(DEMSAR_AUC).mean(axis=0)
    z = (ranks[0] - ranks[[3, 1, 2]]) / math.sqrt(4 * 5 / (6 * 14))
    p_values = 2 * stats.norm.sf(z)
    assert p_values == pytest.approx((0.016, 0.019, 0.607), abs=0.0015)
    adjusted = holm(p_values)
    assert adjusted == pytest.approx(
        (3 * p_values[0], max(3 * p_values[0], 2 * p_values[1]), p_values[2])
    )
    assert (adjusted <= 0.05).tolist() == [True, True, False]


def test_wilcoxon_of_demsar():
    # Table 2: C4.5 against C4.5+m, R+ = 93, R- = 12; significant at 0.05, the critical value of
    # the smaller sum being 21.
    found = signed_ranks(DEMSAR_AUC[:, 1] - DEMSAR_AUC[:, 0])
    assert (found.positive, found.negative, found.n) == (93, 12, 14)
    assert found.p_value < 0.05


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
def test_wilcoxon_counts_all_signs(differences):
    """With ties and zeros, the p-value is the share of sign flips at least as extreme."""
    d = np.array(differences, float)
    found = signed_ranks(d)
    ranks = stats.rankdata(np.abs(d))[d != 0]
    if not len(ranks):
        assert found.p_value == 1.0
        return
    flips = np.array(list(itertools.product((-1, 1), repeat=len(ranks)))) @ ranks
    observed = np.sign(d[d != 0]) @ ranks
    assert found.p_value == pytest.approx(np.mean(np.abs(flips) >= abs(observed) - 1e-9))
    assert found.positive + found.negative == pytest.approx(len(d) * (len(d) + 1) / 2)


@pytest.mark.parametrize("n", [5, 20, 50, 160])
def test_wilcoxon_is_scipys_where_there_are_no_ties(n):
    d = np.random.default_rng(n).normal(0.3, 1, n)
    assert signed_ranks(d).p_value == pytest.approx(stats.wilcoxon(d, mode="exact").pvalue)


def test_wilcoxon_of_many_is_close_to_the_exact_one():
    d = np.random.default_rng(0).normal(0.15, 1, 250)
    assert signed_ranks(d).p_value == pytest.approx(
        stats.wilcoxon(d, mode="exact").pvalue, rel=0.05
    )


def test_holm_leaves_out_tests_that_were_not_made():
    assert holm([0.04, np.nan, 0.01])[[0, 2]] == pytest.approx((0.04, 0.02))
    assert np.isnan(holm([0.04, np.nan, 0.01])[1])
    assert holm([]).shape == (0,)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_pubenchs_formula(p_values):
    """Appendix D.2.2: min(1, max over k <= j of (m - k + 1) p_(k))."""
    m = len(p_values)
    order = np.argsort(p_values, kind="stable")
    adjusted = holm(p_values)
    for j in range(m):
        wanted = min(1.0, max((m - k) * p_values[order[k]] for k in range(j + 1)))
        assert adjusted[order[j]] == pytest.approx(wanted)


def test_t_test_is_scipys():
    rng = np.random.default_rng(0)
    d = rng.normal(0.5, 1, (3, 4, 10))
    t, p_value = paired_t(d)
    wanted = stats.ttest_1samp(d, 0, axis=-1)
    assert t == pytest.approx(wanted.statistic)
    assert p_value == pytest.approx(wanted.pvalue)


def test_t_test_passes_over_seeds_that_are_missing():
    d = np.array([0.3, np.nan, 0.1, 0.5, np.nan])
    t, p_value = paired_t(d)
    wanted = stats.ttest_1samp([0.3, 0.1, 0.5], 0)
    assert (float(t), float(p_value)) == pytest.approx((wanted.statistic, wanted.pvalue))


def test_t_test_where_differences_do_not_vary():
    d = np.array([[0.0] * 3, [0.1] * 3, [-0.1] * 3, [0.1, np.nan, np.nan], [np.nan] * 3])
    t, p_value = paired_t(d)
    assert t.tolist()[:3] == [0.0, math.inf, -math.inf]
    assert p_value.tolist()[:3] == [1.0, 0.0, 0.0]
    assert np.isnan(t[3:]).all()
    assert np.isnan(p_value[3:]).all()


def test_rounding_makes_no_difference():
    # 0.1 + 0.2 is not 0.3 to a computer.
    assert ranks_of([0.1 + 0.2, 0.3]).tolist() == [1.5, 1.5]
    assert paired_t([0.1 + 0.2 - 0.3, 0.0])[1] == 1.0
    assert paired_t([0.3, 0.1 + 0.2, 0.3])[0] == math.inf


def test_ranks_of_costs_start_at_the_lowest():
    assert ranks_of([3.0, 1.0, 2.0], higher_is_better=False).tolist() == [3, 1, 2]


def test_friedman_of_learners_that_agree():
    found = friedman(ranks_of(np.ones((5, 3))))
    assert (found.chi2, found.f, found.p_value) == (0.0, 0.0, 1.0)


def test_friedman_of_blocks_that_agree():
    """The chance that 4 random orders of 3 are the same as the first is 1 / 6^4."""
    found = friedman(np.tile([1.0, 2.0, 3.0], (5, 1)))
    assert found.chi2 == pytest.approx(5 * 2)
    assert found.f == math.inf
    assert found.p_value == pytest.approx(6.0**-4)


def test_friedman_is_scipys_where_there_are_no_ties():
    values = np.random.default_rng(0).normal(size=(9, 5))
    found = friedman(ranks_of(values))
    wanted = stats.friedmanchisquare(*values.T)
    assert (found.chi2, found.chi2_p_value) == pytest.approx((wanted.statistic, wanted.pvalue))


def test_friedman_holds_its_level():
    rng = np.random.default_rng(0)
    p_values = [friedman(ranks_of(rng.normal(size=(8, 5)))).p_value for _ in range(2000)]
    assert np.mean(np.array(p_values) <= 0.05) == pytest.approx(0.05, abs=0.02)


def test_nemenyi_p_values_agree_with_the_critical_difference():
    ranks = np.array([1.0, 1.0 + critical_difference(4, 14), 3.5, 4.0])
    found = nemenyi_p_values(ranks, 14)
    assert found[0, 1] == pytest.approx(0.05, abs=1e-6)
    assert np.allclose(found, found.T)
    assert np.diag(found) == pytest.approx(np.ones(4))


def test_cliques_are_the_largest_groups():
    ranks = [1.0, 2.0, 3.0, 9.0]
    assert cliques(ranks, 1.5) == ((0, 1), (1, 2))
    assert cliques(ranks, 2.5) == ((0, 1, 2),)
    assert cliques(ranks, 0.5) == ()
    # Demsar: those that differ by at least the critical difference are told apart.
    assert cliques([1.0, 2.0], 1.0) == ()
    assert cliques([1.0], 1.0) == ()
    assert cliques([2.0, 2.0, 2.0], 0.1) == ((0, 1, 2),)


@given(
    st.lists(st.floats(1, 9), min_size=1, max_size=12),
    st.floats(0.1, 5),
)
@settings(deadline=None)
def test_two_are_in_one_clique_where_they_are_near(ranks, distance):
    groups = [set(group) for group in cliques(ranks, distance)]
    for i, j in itertools.combinations(range(len(ranks)), 2):
        if abs(abs(ranks[i] - ranks[j]) - distance) > 1e-6:
            assert any({i, j} <= group for group in groups) == (abs(ranks[i] - ranks[j]) < distance)
    assert not any(one < other for one, other in itertools.permutations(groups, 2))


def drawn(values, datasets, **settings):
    options = {"by_dataset": True, "higher_is_better": True, "n_boot": 500} | settings
    return bootstrap_ranks(
        np.asarray(values, float), np.asarray(datasets), rng=np.random.default_rng(0), **options
    )


def test_redrawn_ranks_of_identical_learners_are_tied():
    values = np.repeat(np.random.default_rng(0).normal(size=(4, 1, 5)), 3, axis=1)
    assert np.all(drawn(values, [0, 0, 1, 1]) == 2.0)


def test_redrawn_ranks_of_learners_far_apart_do_not_move():
    values = np.random.default_rng(0).normal(size=(4, 3, 5)) + np.array([20, 10, 0])[:, None]
    assert np.all(drawn(values, [0, 1, 2, 3]) == [1, 2, 3])
    assert np.all(drawn(values, [0, 1, 2, 3], higher_is_better=False) == [3, 2, 1])


def test_one_seed_gives_the_same_ranks_each_time():
    values = np.random.default_rng(0).normal(size=(4, 3, 1))
    draws = drawn(values, [0, 1, 2, 3])
    assert np.all(draws == ranks_of(values[:, :, 0]).mean(axis=0))
    lower, upper = rank_intervals(draws[0], draws, 0, 0.95)
    assert np.isnan([*lower, *upper]).all()


@pytest.mark.parametrize("n_seeds", [2, 3, 5])
def test_redrawn_means_scatter_like_means_of_as_many_new_seeds(n_seeds):
    """Learners that never vary are a ruler: the rank among them says where a mean was drawn."""
    seeds = np.random.default_rng(n_seeds).normal(size=n_seeds)
    ruler = np.linspace(-5, 5, 501)
    values = np.vstack([seeds, np.repeat(ruler[:, None], n_seeds, axis=1)])[None]
    means = ruler[-1] - 0.02 * (drawn(values, [0], n_boot=4000)[:, 0] - 1)
    assert means.mean() == pytest.approx(seeds.mean(), abs=0.03)
    assert means.var() == pytest.approx(seeds.var(ddof=1) / n_seeds, rel=0.1)


def test_seeds_are_drawn_together_within_a_dataset():
    """Two cells of one dataset that are copies rank alike in every draw; of two they do not."""
    one = np.random.default_rng(0).normal(size=(1, 4, 6))
    values = np.concatenate([one, one])
    together = drawn(values, [0, 0], by_dataset=False)
    assert np.all(together * 2 % 2 == 0)
    assert not np.all(drawn(values, [0, 1], by_dataset=False) * 2 % 2 == 0)


def test_cells_may_lack_seeds():
    values = np.random.default_rng(0).normal(size=(2, 3, 4))
    values[0, :, 1:] = np.nan
    draws = drawn(values, [0, 0], by_dataset=False)
    assert np.isfinite(draws).all()
    assert draws.sum(axis=1) == pytest.approx(np.full(500, 6.0))


def test_a_cell_keeps_its_ranks_in_draws_without_its_only_seed():
    values = np.repeat(np.array([3.0, 2.0, 1.0])[None, :, None], 5, axis=2).repeat(2, axis=0)
    values[0, :, 1:] = np.nan
    assert np.all(drawn(values, [0, 0], by_dataset=False) == [1, 2, 3])


def test_intervals_reach_from_the_rank_itself_to_where_draws_have_moved():
    """Draws that all lie nearer to the middle show how far the rank may be off."""
    mean_ranks, draws = np.array([1.0, 2.0, 3.0]), np.tile([1.4, 2.0, 2.6], (50, 1))
    lower, upper = rank_intervals(mean_ranks, draws, 1000, 0.95)
    assert upper[0] == pytest.approx(1.0 + 1.96 * 0.4, abs=0.01)
    assert lower[2] == pytest.approx(3.0 - 1.96 * 0.4, abs=0.01)
    assert (lower[1], upper[1]) == (2.0, 2.0)


@pytest.mark.parametrize("n_seeds", [3, 10])
def test_intervals_of_ranks_hold_the_rank_to_expect(n_seeds):
    rng = np.random.default_rng(n_seeds)
    hits = []
    for _ in range(60):
        true = 0.7 * rng.normal(size=(1, 6)) + 0.7 * rng.normal(size=(8, 6))
        shared = rng.normal(size=(8, 1, n_seeds))
        values = true[:, :, None] + shared + rng.normal(size=(8, 6, n_seeds))
        others = true + rng.normal(size=(1000, 8, 6)) / math.sqrt(n_seeds)
        expected = ranks_of(others).mean(axis=(0, 1))
        draws = bootstrap_ranks(
            values, np.arange(8), by_dataset=True, higher_is_better=True, n_boot=300, rng=rng
        )
        mean_ranks = ranks_of(values.mean(axis=2)).mean(axis=0)
        lower, upper = rank_intervals(mean_ranks, draws, 8 * (n_seeds - 1), 0.95)
        hits.append(np.mean((lower <= expected) & (expected <= upper)))
    assert 0.92 <= np.mean(hits) <= 0.995
