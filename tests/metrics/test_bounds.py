from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from recoup.exceptions import InvalidInputError
from recoup.metrics.bounds import (
    area_bounds,
    bounded,
    bounds_at,
    bounds_from_table,
    contingency_bounds,
    metric_bounds,
    pr_bounds,
    rank_band,
    roc_bounds,
)
from recoup.metrics.spec import POINT_METRICS
from recoup.scores.table import ScoreTable

# Claesen et al. 2015, Figure 1: ranking B E D G H A F C I, of which B, D, A, C are labeled.
S = [1, 0, 1, 0, 0, 1, 0, 1, 0]
SCORES = [9, 8, 7, 6, 5, 4, 3, 2, 1]
CDF = np.array([0.25, 0.25, 0.5, 0.5, 0.5, 0.75, 0.75, 1, 1])
MADE_UP_BAND = (CDF - 0.15, CDF + 0.15)
BANDS = ("binomial", "bootstrap", "dkw")
AREAS = {spec.key: spec.formula for spec in bounded("area")}


def cells(tables):
    return np.column_stack([tables.tp, tables.fp, tables.fn, tables.tn])


def true_cells(y_true, scores):
    """Contingency table at every distinct score, by counting."""
    y_true, scores = np.asarray(y_true), np.asarray(scores)
    rows = []
    for cut in np.unique(scores)[::-1]:
        y_pred = scores >= cut
        rows.append([np.sum((y_true == y) & (y_pred == p)) for y, p in ((1, 1), (0, 1))])
    tp, fp = np.array(rows).T
    return np.column_stack([tp, fp, y_true.sum() - tp, (y_true == 0).sum() - fp])


def simulated(rng, n_labeled=60, n_unlabeled=400, alpha=0.3, n_negative=0, decimals=6):
    """Rows whose labels are a random sample of the positives and of the negatives."""
    n_hidden = round(alpha * n_unlabeled)
    y_true = np.repeat([1, 0], [n_labeled + n_hidden, n_unlabeled - n_hidden + n_negative])
    scores = (rng.normal(size=len(y_true)) + 1.5 * y_true).round(decimals)
    s = np.zeros(len(y_true), int)
    s[:n_labeled] = 1
    s[len(s) - n_negative :] = -1
    return s, scores, y_true


@st.composite
def rows(draw, with_negatives=True):
    """Small tied rankings with labels."""
    values = [1, 0, -1] if with_negatives else [1, 0]
    s = draw(st.lists(st.sampled_from(values), min_size=2, max_size=30))
    assume(1 in s and 0 in s)
    scores = draw(st.lists(st.integers(0, 8), min_size=len(s), max_size=len(s)))
    return s, scores


alphas = st.floats(0.0, 0.99)


def test_rank_distribution_of_the_paper():
    assert rank_band(S, SCORES, alpha=0.6).cdf.tolist() == CDF.tolist()


def test_tables_of_the_worked_example():
    # Three hidden positives among five unlabeled rows, band F +- 0.15.
    bounds = contingency_bounds(S, SCORES, alpha=0.6, band=MADE_UP_BAND)
    assert cells(bounds.upper).tolist() == [
        [1, 0, 6, 2],
        [2, 0, 5, 2],
        [3, 0, 4, 2],
        [4, 0, 3, 2],
        [4, 1, 3, 1],
        [6, 0, 1, 2],
        [6, 1, 1, 1],
        [7, 1, 0, 1],
        [7, 2, 0, 0],
    ]
    assert cells(bounds.lower).tolist() == [
        [1, 0, 6, 2],
        [1, 1, 6, 1],
        [3, 0, 4, 2],
        [3, 1, 4, 1],
        [3, 2, 4, 0],
        [4, 2, 3, 0],
        [5, 2, 2, 0],
        [6, 2, 1, 0],
        [7, 2, 0, 0],
    ]
    assert bounds.threshold.tolist() == SCORES


# At the other cuts the head or tail has no room for the share, and Eq. 11 leaves no freedom.
@pytest.mark.parametrize(("cut", "head"), [(1, 1), (2, 1), (3, 2), (4, 3), (5, 3)])
def test_derivative_of_the_false_positive_rate(cut, head):
    # The last form of Eq. 15 and 20 lost a factor 1/|U|. Weights keep counts from being rounded,
    # and the case-control scheme counts the unlabeled rows alone.
    share = CDF - 0.1

    def fpr(alpha):
        return contingency_bounds(
            S,
            SCORES,
            alpha=alpha,
            band=(share, share),
            scheme="case-control",
            sample_weight=np.full(9, 2.0),
        ).upper.fpr[cut]

    alpha, step = 0.3, 1e-6
    slope = (fpr(alpha + step) - fpr(alpha - step)) / (2 * step)
    assert slope == pytest.approx((head / 5 - share[cut]) / (1 - alpha) ** 2, abs=1e-4)


def test_binomial_band_is_clopper_pearson():
    from scipy.stats import binomtest

    band = rank_band(S, SCORES, alpha=0.6, latent_noise=False)
    exact = [binomtest(int(4 * share), 4).proportion_ci(method="exact") for share in CDF]
    assert band.lower == pytest.approx([interval.low for interval in exact])
    assert band.upper == pytest.approx([interval.high for interval in exact])


def test_bootstrap_band_is_what_resampling_approaches():
    rng = np.random.default_rng(0)
    s, scores, _ = simulated(rng, n_labeled=200, n_unlabeled=20)
    band = rank_band(s, scores, alpha=0.3, band="bootstrap", latent_noise=False)
    labeled = scores[s == 1]
    resampled = rng.choice(labeled, (2000, len(labeled)))
    for cut in (40, 100, 160):
        shares = (resampled >= band.threshold[cut]).mean(axis=1)
        low, high = np.quantile(shares, [0.025, 0.975])
        assert (band.lower[cut], band.upper[cut]) == pytest.approx((low, high), abs=0.015)


def test_dkw_band_has_one_width():
    band = rank_band(S, SCORES, alpha=0.6, band="dkw", confidence=0.5)
    epsilon = np.sqrt(np.log(2 / 0.5) / 2 * (1 / 4 + 1 / 3))
    assert band.lower == pytest.approx(np.clip(CDF - epsilon, 0, 1))
    assert band.upper == pytest.approx(np.clip(CDF + epsilon, 0, 1))


@pytest.mark.parametrize("kind", BANDS)
def test_latent_noise_vanishes_with_many_hidden_positives(kind):
    s = S + [0] * 2_000_000
    scores = SCORES + [0] * 2_000_000
    with_noise = rank_band(s, scores, alpha=0.5, band=kind)
    without = rank_band(s, scores, alpha=0.5, band=kind, latent_noise=False)
    assert with_noise.lower == pytest.approx(without.lower, abs=1e-4)
    assert with_noise.upper == pytest.approx(without.upper, abs=1e-4)


@given(data=rows(), alpha=alphas, kind=st.sampled_from(BANDS), noise=st.booleans())
def test_bands_are_ordered_and_never_fall(data, alpha, kind, noise):
    band = rank_band(*data, alpha=alpha, band=kind, latent_noise=noise)
    for edge in (band.lower, band.upper):
        assert ((edge >= 0) & (edge <= 1)).all()
        assert (np.diff(edge) >= -1e-12).all()
    assert (band.lower <= band.upper).all()
    if kind != "bootstrap":
        assert (band.lower <= band.cdf).all()
        assert (band.cdf <= band.upper).all()


def test_weights_that_are_all_equal_leave_the_band_alone():
    plain = rank_band(S, SCORES, alpha=0.6)
    weighted = rank_band(S, SCORES, alpha=0.6, sample_weight=np.full(9, 3.0))
    assert weighted.lower == pytest.approx(plain.lower)
    assert weighted.upper == pytest.approx(plain.upper)


@settings(deadline=None, max_examples=60)
@given(
    s=st.lists(st.sampled_from([1, 0, 0, -1]), min_size=3, max_size=10),
    alpha=alphas,
    width=st.floats(0, 0.5),
    data=st.data(),
)
def test_head_counts_solve_equations_8_and_9(s, alpha, width, data):
    """Enumerate every way to place the hidden positives."""
    assume(1 in s and 0 in s)
    scores = data.draw(st.lists(st.integers(0, 5), min_size=len(s), max_size=len(s)))
    table = ScoreTable.from_arrays(s, scores)
    lower = np.clip(table.heads("labeled") - width, 0, 1)
    upper = np.clip(table.heads("labeled") + width, 0, 1)
    bounds = contingency_bounds(s, scores, alpha=alpha, band=(lower, upper))
    s, scores = np.asarray(s), np.asarray(scores)
    unlabeled = np.flatnonzero(s == 0)
    n_star = int(np.floor(alpha * len(unlabeled) + 0.5 + 1e-9))
    for cut, threshold in enumerate(bounds.threshold):
        head = scores >= threshold
        known = np.sum(head & (s == 1))
        counts = {int(head[list(chosen)].sum()) for chosen in combinations(unlabeled, n_star)}
        above = [c for c in counts if c >= upper[cut] * n_star - 1e-9]
        below = [c for c in counts if c <= lower[cut] * n_star + 1e-9]
        assert bounds.upper.tp[cut] - known == (min(above) if above else max(counts))
        assert bounds.lower.tp[cut] - known == (max(below) if below else min(counts))


@given(
    data=rows(),
    alpha=alphas,
    kind=st.sampled_from(BANDS),
    reverse=st.sampled_from([False, True, "tighter"]),
    scheme=st.sampled_from(["single-sample", "case-control"]),
)
def test_cells_are_counts_that_add_up(data, alpha, kind, reverse, scheme):
    s, scores = np.array(data[0]), np.array(data[1])
    assume(reverse is not True or -1 in s)
    bounds = contingency_bounds(s, scores, alpha=alpha, band=kind, reverse=reverse, scheme=scheme)
    counted = np.ones(len(s), bool) if scheme == "single-sample" else s == 0
    heads = [np.sum(counted & (scores >= cut)) for cut in bounds.threshold]
    for tables in (bounds.lower, bounds.upper):
        assert cells(tables).dtype.kind == "i"
        assert cells(tables).min() >= 0
        assert (tables.tp + tables.fp == heads).all()
        assert (cells(tables).sum(axis=1) == counted.sum()).all()
        assert len(set(tables.tp + tables.fn)) == 1
    assert (bounds.lower.tp <= bounds.upper.tp).all()


@given(data=rows(), kind=st.sampled_from(BANDS))
def test_no_hidden_positives_means_the_naive_table(data, kind):
    s, scores = data
    expected = true_cells(np.array(s) == 1, scores)
    bounds = contingency_bounds(s, scores, alpha=0.0, band=kind)
    assert cells(bounds.lower).tolist() == cells(bounds.upper).tolist() == expected.tolist()


@pytest.mark.parametrize("alpha", [0.1 * 3, 0.3, 1 - 0.7, 0.9 / 3])
def test_dust_in_alpha_moves_no_count(alpha):
    bounds = contingency_bounds([1] + [0] * 10, range(11), alpha=alpha)
    assert (bounds.upper.tp + bounds.upper.fn == 1 + 3).all()
    exact = contingency_bounds([1] + [0] * 10, range(11), alpha=0.3)
    assert bounds.to_dict() == exact.to_dict()


@pytest.mark.parametrize("share", [0.1 * 3, 0.3, 1 - 0.7, 0.9 / 3])
def test_dust_in_the_band_moves_no_count(share):
    # Ten hidden positives, three of them at or above the middle score.
    s, scores = [1] * 5 + [0] * 20, [2] * 5 + [1] * 10 + [0] * 10
    edge = np.array([share, share, 1.0])
    bounds = contingency_bounds(s, scores, alpha=0.5, band=(edge, edge))
    assert bounds.lower.tp[1] == bounds.upper.tp[1] == 5 + 3


@pytest.mark.parametrize(("alpha", "expected"), [(0.25, 3), (0.25 - 1e-17, 3), (0.2499, 2)])
def test_hidden_positives_are_rounded_half_up(alpha, expected):
    bounds = contingency_bounds([1] + [0] * 10, range(11), alpha=alpha, scheme="case-control")
    assert bounds.upper.tp[-1] == expected


def test_weights_are_not_rounded():
    bounds = contingency_bounds(
        S, SCORES, alpha=0.5, band=MADE_UP_BAND, sample_weight=np.full(9, 0.5)
    )
    assert cells(bounds.upper).sum(axis=1) == pytest.approx(np.full(9, 4.5))
    assert bounds.upper.tp[-1] == pytest.approx(2 + 0.5 * 2.5)


def test_unit_weights_count_rows():
    plain = contingency_bounds(S, SCORES, alpha=0.5)
    weighted = contingency_bounds(S, SCORES, alpha=0.5, sample_weight=np.ones(9))
    assert cells(weighted.upper).tolist() == cells(plain.upper).tolist()


def test_table_and_rows_agree():
    table = ScoreTable.from_arrays(S, SCORES)
    from_table = bounds_from_table(table, alpha=0.6, band="dkw")
    from_rows = contingency_bounds(S, SCORES, alpha=0.6, band="dkw")
    assert from_table.to_dict() == from_rows.to_dict()


@pytest.mark.parametrize("decimals", [6, 0])
@pytest.mark.parametrize("scheme", ["single-sample", "case-control"])
def test_simultaneous_bounds_hold_the_true_tables(decimals, scheme):
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(200):
        s, scores, y_true = simulated(rng, decimals=decimals)
        bounds = contingency_bounds(s, scores, alpha=0.3, band="dkw", scheme=scheme)
        counted = np.ones(len(s), bool) if scheme == "single-sample" else s == 0
        truth = [np.sum(y_true * counted * (scores >= cut)) for cut in bounds.threshold]
        held += ((bounds.lower.tp <= truth) & (truth <= bounds.upper.tp)).all()
    # Three standard errors below 95%.
    assert held / 200 > 0.904


@pytest.mark.parametrize("reverse", [False, True, "tighter"])
def test_pointwise_bounds_hold_the_true_tables(reverse):
    rng = np.random.default_rng(2)
    shares = []
    for _ in range(200):
        s, scores, y_true = simulated(rng, n_negative=80)
        bounds = contingency_bounds(s, scores, alpha=0.3, reverse=reverse)
        truth = true_cells(y_true, scores)[:, 0]
        shares.append(np.mean((bounds.lower.tp <= truth) & (truth <= bounds.upper.tp)))
    assert np.mean(shares) > 0.93


def test_published_band_misses_the_noise_of_hidden_positives():
    rng = np.random.default_rng(3)
    shares = {True: [], False: []}
    for _ in range(100):
        s, scores, y_true = simulated(rng, n_labeled=200, n_unlabeled=500, alpha=0.1)
        truth = true_cells(y_true, scores)[:, 0]
        for noise, held in shares.items():
            bounds = contingency_bounds(s, scores, alpha=0.1, latent_noise=noise)
            held.append(np.mean((bounds.lower.tp <= truth) & (truth <= bounds.upper.tp)))
    assert np.mean(shares[True]) > 0.95
    assert np.mean(shares[False]) < 0.9


@pytest.mark.parametrize("name", AREAS)
def test_areas_and_metrics_hold_the_truth(name):
    rng = np.random.default_rng(4)
    s, scores, y_true = simulated(rng, decimals=2)
    tp, fp, fn, tn = true_cells(y_true, scores).T
    tpr, fpr, pi = np.append(0, tp / (tp + fn)), np.append(0, fp / (fp + tn)), y_true.mean()
    lower, upper = area_bounds(name, s, scores, alpha=0.3)
    assert lower < AREAS[name](tpr, fpr, pi) < upper
    for key, metric in POINT_METRICS.items():
        bounds = metric_bounds(key, s, scores, alpha=0.3, band="dkw")
        truth = metric.from_rates(tpr, fpr, pi)
        known = ~np.isnan(truth)
        assert (bounds.lower[known] <= truth[known] + 1e-12).all()
        assert (truth[known] <= bounds.upper[known] + 1e-12).all()


@settings(deadline=None, max_examples=40)
@given(s=st.lists(st.sampled_from([1, 0, 0, -1]), min_size=3, max_size=9), data=st.data())
def test_areas_hold_for_every_placement_within_the_band(s, data):
    assume(1 in s and s.count(0) >= 2)
    scores = data.draw(st.lists(st.integers(0, 5), min_size=len(s), max_size=len(s)))
    table = ScoreTable.from_arrays(s, scores)
    band = (table.heads("labeled") - 0.3, table.heads("labeled") + 0.3)
    alpha = 1 / s.count(0)
    bounds = contingency_bounds(s, scores, alpha=alpha, band=band)
    limits = {key: area_bounds(key, s, scores, alpha=alpha, band=band) for key in AREAS}
    s = np.array(s)
    for hidden in np.flatnonzero(s == 0):
        y_true = s == 1
        y_true[hidden] = True
        tp, fp, fn, tn = true_cells(y_true, scores).T
        if ((bounds.lower.tp <= tp) & (tp <= bounds.upper.tp)).all():
            curve = np.append(0, tp / (tp + fn)), np.append(0, fp / (fp + tn)), y_true.mean()
            for key in ("roc_auc", "pr_auc"):
                assert limits[key][0] - 1e-9 <= AREAS[key](*curve) <= limits[key][1] + 1e-9


def test_reversed_form_flips_labels_and_ranking():
    s, scores, _ = simulated(np.random.default_rng(5), n_labeled=9, n_unlabeled=40, n_negative=30)
    backward = contingency_bounds(s, scores, alpha=0.3, reverse=True)
    flipped = contingency_bounds(-s, -scores, alpha=0.7)
    assert backward.based_on == "negatives"
    # The flipped cut above a score is the tail below it; the last one has no tail.
    for side in ("lower", "upper"):
        tp, fp, fn, tn = cells(getattr(backward, side))[:-1].T
        mirrored = cells(getattr(flipped, side))[::-1][1:]
        assert np.column_stack([tn, fn, fp, tp]).tolist() == mirrored.tolist()


def test_tighter_takes_the_narrower_area():
    rng = np.random.default_rng(6)
    few = simulated(rng, n_labeled=5, n_negative=300)[:2]
    many = simulated(rng, n_labeled=300, n_negative=5)[:2]
    for (s, scores), winner in ((few, "negatives"), (many, "positives")):
        chosen = contingency_bounds(s, scores, alpha=0.3, reverse="tighter")
        assert chosen.based_on == winner
        widths = {}
        for reverse in (False, True, "tighter"):
            lower, upper = area_bounds("roc_auc", s, scores, alpha=0.3, reverse=reverse)
            widths[reverse] = upper - lower
        assert widths["tighter"] == min(widths.values())


def test_tighter_without_negatives_uses_positives():
    assert contingency_bounds(S, SCORES, alpha=0.6, reverse="tighter").based_on == "positives"


def test_interval_takes_one_end_for_each_bound():
    s, scores, _ = simulated(np.random.default_rng(7), n_negative=40)
    for reverse, ends in ((False, (0.2, 0.4)), (True, (0.4, 0.2))):
        whole = contingency_bounds(s, scores, alpha=(0.2, 0.4), reverse=reverse)
        at_lower = contingency_bounds(s, scores, alpha=ends[0], reverse=reverse)
        at_upper = contingency_bounds(s, scores, alpha=ends[1], reverse=reverse)
        assert cells(whole.lower).tolist() == cells(at_lower.lower).tolist()
        assert cells(whole.upper).tolist() == cells(at_upper.upper).tolist()


@pytest.mark.parametrize("reverse", [False, True, "tighter"])
def test_interval_bounds_hold_those_of_every_alpha_inside(reverse):
    s, scores, _ = simulated(np.random.default_rng(8), n_negative=40)
    table = ScoreTable.from_arrays(s, scores)
    based_on = bounds_from_table(table, alpha=(0.2, 0.4), reverse=reverse).based_on
    whole = bounds_at(table, 0.8, (0.2, 0.4), reverse=reverse)
    for alpha in np.linspace(0.2, 0.4, 14):
        inside = bounds_at(table, 0.8, alpha, reverse=based_on == "negatives")
        for key, (lower, upper) in inside.items():
            # Whole rows and the alphas between those tried leave a little play.
            assert whole[key][0] - 0.02 <= lower
            assert upper <= whole[key][1] + 0.02


def test_roc_bounds_follow_from_the_tables():
    bounds = roc_bounds(S, SCORES, alpha=0.6, band=MADE_UP_BAND)
    assert bounds.threshold.tolist() == [np.inf, *SCORES]
    assert bounds.upper_tpr == pytest.approx(np.array([0, 1, 2, 3, 4, 4, 6, 6, 7, 7]) / 7)
    assert bounds.upper_fpr == pytest.approx(np.array([0, 0, 0, 0, 0, 1, 0, 1, 1, 2]) / 2)
    assert bounds.lower_tpr == pytest.approx(np.array([0, 1, 1, 3, 3, 3, 4, 5, 6, 7]) / 7)
    assert bounds.lower_fpr == pytest.approx(np.array([0, 0, 1, 0, 1, 2, 2, 2, 2, 2]) / 2)
    limits = area_bounds("roc_auc", S, SCORES, alpha=0.6, band=MADE_UP_BAND)
    assert (bounds.auc_lower, bounds.auc_upper) == limits
    assert len(bounds.to_frame()) == 10
    assert bounds.to_dict()["auc_lower"] == bounds.auc_lower
    assert repr(bounds) == "RocBounds(10 thresholds)"


def test_pr_bounds_follow_from_the_tables():
    bounds = pr_bounds(S, SCORES, alpha=0.6, band=MADE_UP_BAND)
    assert bounds.upper_precision[1:] == pytest.approx(
        np.array([1, 2, 3, 4, 4, 6, 6, 7, 7]) / np.arange(1, 10)
    )
    assert bounds.lower_recall == pytest.approx(np.array([0, 1, 1, 3, 3, 3, 4, 5, 6, 7]) / 7)
    assert bounds.lower_precision[0] == bounds.lower_precision[1]
    limits = area_bounds("pr_auc", S, SCORES, alpha=0.6, band=MADE_UP_BAND)
    assert (bounds.auc_lower, bounds.auc_upper) == limits


@given(data=rows(), alpha=alphas, key=st.sampled_from(sorted(POINT_METRICS)))
def test_metric_bounds_are_ordered(data, alpha, key):
    bounds = metric_bounds(key, *data, alpha=alpha)
    known = ~np.isnan(bounds.lower)
    assert (bounds.lower[known] <= bounds.upper[known]).all()


def test_costs_are_ordered_and_take_parameters():
    bounds = metric_bounds(
        "expected_cost", S, SCORES, alpha=0.6, band=MADE_UP_BAND, params={"fn_cost": 10.0}
    )
    # Rank 2: (2, 0, 5, 2) at best and (1, 1, 6, 1) at worst.
    assert (bounds.lower[2], bounds.upper[2]) == pytest.approx((50 / 9, 61 / 9))


@pytest.mark.parametrize("cut", range(9))
def test_bounds_at_agree_with_whole_curves(cut):
    table = ScoreTable.from_arrays(S, SCORES)
    bounds = bounds_at(table, SCORES[cut], 0.6, params={"fbeta": {"b": 2.0}}, band="dkw")
    assert set(bounds) == set(POINT_METRICS) | set(AREAS)
    for key in POINT_METRICS:
        params = {"b": 2.0} if key == "fbeta" else {}
        curve = metric_bounds(key, S, SCORES, alpha=0.6, band="dkw", params=params)
        expected = (curve.lower[cut + 1], curve.upper[cut + 1])
        assert bounds[key] == pytest.approx(expected, nan_ok=True)
    for key in AREAS:
        assert bounds[key] == area_bounds(key, S, SCORES, alpha=0.6, band="dkw")


def test_bounds_at_thresholds_outside_and_between_scores():
    table = ScoreTable.from_arrays(S, SCORES)
    assert bounds_at(table, 100.0, 0.6)["recall"] == (0.0, 0.0)
    assert np.isnan(bounds_at(table, 100.0, 0.6)["precision"]).all()
    assert bounds_at(table, -1.0, 0.6)["recall"] == (1.0, 1.0)
    assert bounds_at(table, 3.5, 0.6) == bounds_at(table, 4.0, 0.6)


def test_nothing_to_recall_is_not_a_number():
    bounds = bounds_at(ScoreTable.from_arrays(S, SCORES), 5.0, 0.0, scheme="case-control")
    assert np.isnan(bounds["recall"]).all()
    assert np.isnan(bounds["roc_auc"]).all()


def test_tables_print_and_convert():
    bounds = contingency_bounds(S, SCORES, alpha=0.6, band=MADE_UP_BAND)
    frame = bounds.to_frame()
    assert frame["upper_tp"].tolist() == bounds.upper.tp.tolist()
    assert bounds.to_dict()["lower_fn"] == bounds.lower.fn.tolist()
    assert repr(bounds) == "ContingencyBounds(9 thresholds)"
    assert repr(bounds.lower) == "ContingencyTables(9 thresholds)"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 1.2}, r"contingency_bounds needs alpha in \[0, 1\].*Got alpha=1.2"),
        ({"alpha": 1.0}, "alpha < beta"),
        ({"alpha": "many"}, "numbers.*many"),
        ({"alpha": (0.4, 0.2)}, r"interval \(low, high\).*\(0.4, 0.2\)"),
        ({"alpha": (0.1, 0.2, 0.3)}, "interval"),
        ({"alpha": 0.3, "confidence": 95}, "confidence between 0 and 1.*95"),
        ({"alpha": 0.3, "confidence": True}, "confidence"),
        ({"alpha": 0.3, "band": "jackknife"}, "'binomial', 'bootstrap', 'dkw'.*jackknife"),
        ({"alpha": 0.3, "band": 0.1}, "pair of arrays"),
        ({"alpha": 0.3, "band": ([0.1], [0.2])}, "1 values for 9 scores"),
        ({"alpha": 0.3, "band": MADE_UP_BAND[::-1]}, "lower edge.*0.4 and 0.1 at position 0"),
        ({"alpha": 0.3, "band": (CDF * np.nan, CDF)}, "lower edge.*nan"),
        ({"alpha": 0.3, "reverse": "both"}, "reverse to be False.*both"),
        ({"alpha": 0.3, "reverse": True}, r"known negatives \(label -1\).*none in 9 rows"),
        ({"alpha": 0.3, "reverse": "tighter", "band": MADE_UP_BAND}, "given as arrays"),
        ({"alpha": 0.3, "scheme": "both"}, "scheme"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(InvalidInputError, match=message):
        contingency_bounds(S, SCORES, **options)


def test_bad_metrics_are_named():
    with pytest.raises(InvalidInputError, match=r"Got 'roc_auc'.*area_bounds"):
        metric_bounds("roc_auc", S, SCORES, alpha=0.3)
    with pytest.raises(InvalidInputError, match="Did you mean 'recall'"):
        metric_bounds("recal", S, SCORES, alpha=0.3)
    with pytest.raises(InvalidInputError, match="Got f1"):
        area_bounds("f1", S, SCORES, alpha=0.3)


def test_rows_are_checked():
    with pytest.raises(InvalidInputError, match="0 labeled"):
        contingency_bounds([0, 0], [1, 2], alpha=0.3)
    with pytest.raises(InvalidInputError, match="roc_bounds needs alpha"):
        roc_bounds(S, SCORES, alpha=-1)
