"""estimate and the combination behind it."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from recoup import evaluate
from recoup.exceptions import InvalidInputError
from recoup.priors import Auto, PriorEstimate, estimate
from recoup.priors._solvers import views as views_module
from recoup.priors._solvers.network import load_network
from recoup.priors._solvers.views import (
    MOST_TIMES,
    ScoredViews,
    score_views,
    score_views_anew,
)
from recoup.priors.combination import joint_draws
from recoup.priors.combining import (
    MIDDLE,
    N_OUTPUTS,
    QUANTILES,
    calibrated,
    inputs_of_views,
    member_columns,
    near_members,
    weigh_scores,
    weigh_views,
)
from recoup.priors.evidence import MEMBERS, Reading, evidence, related, stretched
from recoup.scores import ScoreTable


def mixture(alpha, gap=4.0, beta=1.0, sizes=(500, 3000), seed=0):
    rng = np.random.default_rng(seed)
    s = np.repeat([1, 0], sizes)
    positive = rng.random(len(s)) < np.where(s == 1, beta, alpha)
    return s, rng.normal(gap * positive)


def has(found, text):
    return any(text in warning for warning in found.warnings)


class TestArguments:
    def test_scores_or_features_and_not_both(self):
        s, scores = mixture(0.3, sizes=(100, 400))
        table = ScoreTable.from_arrays(s, scores)
        for given in (
            {"s": s},
            {"s": s, "scores": scores, "X": scores[:, None]},
            {"s": table, "X": scores[:, None]},
        ):
            with pytest.raises(InvalidInputError, match="scores or X beside s, one of them"):
                estimate(**given)
        with pytest.raises(InvalidInputError, match="ScoreTable and scores beside it"):
            estimate(table, scores)

    def test_a_table_is_as_good_as_its_rows(self):
        s, scores = mixture(0.3)
        found, from_table = estimate(s, scores), estimate(ScoreTable.from_arrays(s, scores))
        assert (found.alpha, found.interval) == (from_table.alpha, from_table.interval)

    def test_columns_of_data_frames(self):
        s, scores = mixture(0.3, sizes=(100, 400))
        expected = estimate(s, scores).alpha
        assert estimate(pd.Series(s), pd.Series(scores)).alpha == expected
        assert estimate(s.tolist(), scores.tolist()).alpha == expected

    @pytest.mark.parametrize("method", ["bbe", "share-net", "km2", "tice", "noisy-pu"])
    def test_methods_by_key(self, method):
        found = estimate(*mixture(0.3, sizes=(150, 700)), method=method)
        assert isinstance(found, PriorEstimate)
        assert found.method == method
        assert found.alpha == pytest.approx(0.3, abs=0.1)

    @pytest.mark.parametrize(("method", "near"), [("bbbe", "bbe"), ("dist_curve", "dist-curve")])
    def test_unknown_methods_get_a_suggestion(self, method, near):
        with pytest.raises(InvalidInputError, match=f"Did you mean '{near}'"):
            estimate(*mixture(0.3), method=method)

    @pytest.mark.parametrize("method", [None, 3, ["bbe"], ""])
    def test_methods_that_are_none(self, method):
        with pytest.raises(InvalidInputError, match="estimate knows no"):
            estimate(*mixture(0.3), method=method)

    def test_features(self):
        rng = np.random.default_rng(0)
        y = rng.random(1500) < 0.5
        s = (y & (rng.random(1500) < 0.5)).astype(int)
        X = rng.normal(2.5 * y[:, None], 1.0, (1500, 2))
        found = estimate(s, X=X, transform="logistic")
        assert found.alpha == pytest.approx(y[s == 0].mean(), abs=0.06)
        assert "LogisticRegression" in found.transform
        by_trees = estimate(s, X=X, method="tice", transform="logistic")
        assert by_trees.transform == "features"

    def test_features_are_read_through_several_classifiers(self):
        rng = np.random.default_rng(0)
        y = rng.random(1200) < 0.5
        s = (y & (rng.random(1200) < 0.4)).astype(int)
        X = rng.normal(2.0 * y[:, None], 1.0, (1200, 3))
        model = Auto(beta=1.0)
        found = model.fit(X, s).estimate_
        assert found.alpha == pytest.approx(y[s == 0].mean(), abs=0.08)
        assert "extra trees" in found.transform
        assert tuple(found.members)[: len(MEMBERS)] == MEMBERS
        views = score_views(X, s, model._seed, "test")
        plain = model.fit_views(views)
        # Known negatives take no part, wherever they rank.
        more = ScoredViews(
            np.append(s, [-1] * 90), np.column_stack([views.scores, np.ones((3, 90))])
        )
        assert (plain.n_labeled, plain.n_unlabeled) == (s.sum(), (s == 0).sum())
        with_negatives = model.fit_views(more)
        assert with_negatives.alpha == pytest.approx(plain.alpha, abs=1e-9)
        drawn = Auto(interval="bootstrap", n_draws=3).fit_views(views)
        assert drawn.draws.shape == (3, 2)
        # Sparse columns go to one classifier, as before.
        sparse = Auto(beta=1.0).fit(csr_matrix(X), s).estimate_
        assert "LogisticRegression" in sparse.transform

    def test_rows_are_dealt_to_folds_several_times(self, monkeypatch):
        rng = np.random.default_rng(1)
        y = rng.random(900) < 0.5
        s = (y & (rng.random(900) < 0.4)).astype(int)
        X = rng.normal(1.5 * y[:, None], 1.0, (900, 3))
        model = Auto(beta=1.0, labels_are="random")
        found = model.fit(X, s).estimate_
        times = score_views_anew(X, s, model._seed, "test")
        assert len(times) == MOST_TIMES
        assert np.array_equal(times[0].scores, score_views(X, s, model._seed, "test").scores)
        assert len({one.scores.tobytes() for one in times}) == MOST_TIMES
        each = [model.fit_views(one) for one in times]
        assert np.ptp([one.alpha for one in each]) > 0.01
        # Nearly: members draw anew each time.
        assert found.alpha == pytest.approx(np.mean([one.alpha for one in each]), abs=0.003)
        lows, highs = zip(*(one.interval for one in each), strict=True)
        assert found.interval == pytest.approx((np.mean(lows), np.mean(highs)), abs=0.02)
        # Of many rows each is scored once.
        monkeypatch.setattr(views_module, "ROWS_IN_ALL", len(s))
        assert len(score_views_anew(X, s, 0, "test")) == 1

    def test_the_former_combination_is_at_hand(self):
        s, scores = mixture(0.3, gap=2.5)
        found = estimate(s, scores, method="auto-1")
        assert found.method == "auto-1"
        # What releases before said about these rows.
        assert found.alpha == pytest.approx(0.2975221575, abs=1e-6)

    def test_options_reach_the_estimator(self):
        s, scores = mixture(0.3, gap=2.5)
        narrow, wide = (estimate(s, scores, confidence=level).interval for level in (0.5, 0.9))
        assert wide[0] < narrow[0] < narrow[1] < wide[1]
        draws = [estimate(s, scores, method="bbe", random_state=seed).draws for seed in (0, 0, 1)]
        assert np.array_equal(draws[0], draws[1])
        assert not np.array_equal(draws[0], draws[2])
        with pytest.raises(InvalidInputError, match="random_state to be a whole number"):
            estimate(s, scores, random_state="one")

    def test_known_negatives_are_left_out(self):
        s, scores = mixture(0.3)
        expected = estimate(s, scores)
        more = np.append(s, np.full(500, -1)), np.append(scores, np.full(500, -1.0))
        found = estimate(*more)
        assert (found.alpha, found.n_unlabeled) == (expected.alpha, 3000)

    @pytest.mark.parametrize(
        ("change", "text"),
        [
            (lambda s, x: (s[::40], x[::40]), "at least 20 labeled"),
            (lambda s, x: (s, np.ones(len(s))), "rows that differ"),
            (lambda s, x: (s, np.where(x > 3, np.nan, x)), "finite number"),
            (lambda s, x: (s, np.where(x > 3, np.inf, x)), "finite number"),
            (lambda s, x: (np.ones(len(s)), x), "labeled and unlabeled rows"),
            (lambda s, x: (np.zeros(len(s)), x), "labeled and unlabeled rows"),
            (lambda s, x: (s + 1, x), "labels to be 1"),
            (lambda s, x: (s, x[:-1]), "one value per row"),
            (lambda s, x: (s, np.column_stack([x, x])), "one value per row"),
            (lambda s, x: (s, np.where(x > 3, "high", "low")), "numbers"),
        ],
    )
    def test_bad_rows(self, change, text):
        with pytest.raises(InvalidInputError, match=text) as refused:
            estimate(*change(*mixture(0.3)))
        assert "\n" not in str(refused.value)


class TestBeta:
    @pytest.mark.parametrize("beta", [None, 1.0, 0.9, "estimate"])
    def test_draws_are_pairs_in_order(self, beta):
        found = estimate(*mixture(0.3), beta=beta)
        assert found.draws.shape == (500, 2)
        alphas, betas = found.draws.T
        assert (alphas >= 0).all()
        assert (alphas < betas).all()
        assert (betas <= 1).all()
        if isinstance(beta, float):
            assert found.beta == beta
            assert set(betas) == {beta}

    def test_pairs_keep_the_learned_quantiles_of_each(self):
        s, scores = mixture(0.25, beta=0.8)
        found = Auto(beta="estimate", n_draws=4000)
        table = ScoreTable.from_arrays(s, scores)
        drawn = found.fit_scores(table).estimate_.draws
        learned = found._combined(Reading((evidence(table, found._rng("point")),)), False)
        inner = slice(1, -1)
        for column, quantiles in zip(drawn.T, learned, strict=True):
            levels = np.quantile(column, QUANTILES[inner])
            np.testing.assert_allclose(levels, quantiles[inner], atol=0.002)

    def test_pairs_are_drawn_together_and_not_sorted(self):
        drawn = estimate(*mixture(0.2, gap=2.0, beta=0.85), beta="estimate").draws
        assert abs(np.corrcoef(drawn.T)[0, 1]) < 0.5
        # Where one sample holds much of the other, whatever raises one share raises both.
        low, high = np.linspace(0.55, 0.65, 9), np.linspace(0.5, 0.6, 9)
        shares = np.linspace(0.35, 0.5, 7), np.linspace(0.6, 0.75, 7)
        bound = joint_draws(shares, (low, high), 2000, np.random.default_rng(0))
        assert np.corrcoef(bound.T)[0, 1] > 0.3

    def test_intervals_of_metrics_hold_where_both_are_estimated(self):
        """Sorted draws of both held accuracy in 6 to 46% of such samples."""
        held = 0
        for seed in range(25):
            rng = np.random.default_rng(seed)
            s = np.repeat([1, 0], [1000, 4000])
            y = rng.random(5000) < np.where(s == 1, 0.85, 0.2)
            found = evaluate(
                s,
                rng.normal(2.0 * y),
                alpha="estimate",
                beta="estimate",
                threshold=1.0,
                n_boot=0,
            )
            # Normal classes, cut in the middle: both are found with the same chance.
            held += found["accuracy"].lower <= 0.8413 <= found["accuracy"].upper
        assert held >= 21

    def test_clean_labels_are_seen_as_such(self):
        s, scores = mixture(0.3)
        assert estimate(s, scores, beta=None).beta == 1.0
        assert set(estimate(s, scores, beta=None).draws[:, 1]) == {1.0}
        assert estimate(s, scores, beta="estimate").beta > 0.9

    def test_wrong_labels_are_detected(self):
        s, scores = mixture(0.25, beta=0.8, sizes=(1000, 5000))
        for beta in (None, "estimate"):
            found = estimate(s, scores, beta=beta)
            assert found.beta == pytest.approx(0.8, abs=0.12)
            assert found.alpha == pytest.approx(0.25, abs=0.08)
            assert has(found, "Some labels look wrong")
            assert not has(found, "beta='estimate'")
        for taken in (estimate(s, scores, beta=1.0), estimate(s, scores)):
            assert taken.beta == 1.0
            assert has(taken, "pass beta='estimate'")

    @pytest.mark.parametrize("beta", [0.9, 0.8, 0.6])
    def test_known_noise_is_allowed_for(self, beta):
        errors = []
        for seed in range(4):
            s, scores = mixture(0.25, beta=beta, sizes=(1000, 5000), seed=seed)
            found = estimate(s, scores, beta=beta)
            assert found.beta == beta
            assert not has(found, "labels look wrong")
            errors.append(abs(found.alpha - 0.25))
        assert np.mean(errors) < 0.04

    @pytest.mark.parametrize("beta", [0, -0.1, 1.1, 2, np.nan, "few", "1.0", [0.8, 0.9]])
    @pytest.mark.parametrize("method", ["auto", "bbe", "noisy-pu"])
    def test_shares_that_are_none(self, beta, method):
        with pytest.raises(InvalidInputError, match="beta, the share of true positives") as refused:
            estimate(*mixture(0.3), beta=beta, method=method)
        assert "\n" not in str(refused.value)
        with pytest.raises(InvalidInputError, match="beta, the share of true positives"):
            Auto(beta=beta).fit_scores(*mixture(0.3))

    @pytest.mark.parametrize(
        ("method", "reason"), [("bbe", "takes every label"), ("noisy-pu", "finds beta itself")]
    )
    def test_known_noise_with_a_method_that_cannot_use_it(self, method, reason):
        s, scores = mixture(0.3)
        for call in (
            lambda: estimate(s, scores, method=method, beta=0.9),
            lambda: evaluate(s, scores, alpha=method, beta=0.9),
        ):
            with pytest.raises(InvalidInputError, match=f"beta=0.9 is known: .*{reason}") as no:
                call()
            assert "\n" not in str(no.value)
            assert str(no.value).count("estimate alpha") == 1

    def test_a_single_method_finds_beta_in_both_directions(self):
        s, scores = mixture(0.25, beta=0.8, sizes=(1000, 5000))
        found = estimate(s, scores, method="bbe", beta="estimate")
        assert found.method == "noisy-pu"
        assert found.beta == pytest.approx(0.8, abs=0.05)
        with pytest.raises(InvalidInputError, match="cannot estimate beta by 'km2'"):
            estimate(s, scores, method="km2", beta="estimate")


class TestAnswers:
    @pytest.mark.parametrize("alpha", [0.05, 0.25, 0.5, 0.75])
    def test_gaussians_far_apart(self, alpha):
        found = estimate(*mixture(alpha))
        assert found.alpha == pytest.approx(alpha, abs=0.05)
        assert found.interval[0] < found.alpha < found.interval[1]
        assert tuple(found.members) == MEMBERS
        assert found.warnings == ()

    def test_intervals_hold_the_truth(self):
        held = 0
        for seed in range(20):
            low, high = estimate(*mixture(0.3, gap=2.5, seed=seed)).interval
            held += low <= 0.3 <= high
        assert held >= 16

    def test_row_order_does_not_matter(self):
        s, scores = mixture(0.3, gap=2.5)
        order = np.random.default_rng(1).permutation(len(s))
        found, shuffled = estimate(s, scores), estimate(s[order], scores[order])
        assert (found.alpha, found.interval) == (shuffled.alpha, shuffled.interval)

    def test_increasing_maps_hardly_matter(self):
        # Some members look at the values of scores, so that this does not hold exactly.
        s, scores = mixture(0.3, gap=2.5)
        expected = estimate(s, scores).alpha
        for values in (1 / (1 + np.exp(-scores)), np.exp(scores), np.round(scores, 1)):
            assert estimate(s, values).alpha == pytest.approx(expected, abs=0.02)

    def test_interval_can_be_drawn_instead(self):
        s, scores = mixture(0.3, sizes=(150, 600))
        learned = Auto().fit_scores(s, scores).estimate_
        drawn = Auto(interval="subsample", n_draws=5).fit_scores(s, scores).estimate_
        alone = Auto(interval=None).fit_scores(s, scores).estimate_
        assert learned.alpha == drawn.alpha == alone.alpha
        assert drawn.draws.shape == (5, 2)
        assert learned.interval_method == "learned"
        assert (alone.interval, alone.interval_method) == (None, None)

    def test_evaluate_counts_weights(self):
        s, scores = mixture(0.3)
        plain = evaluate(s, scores, alpha="estimate", n_boot=0).prior_estimate
        equal = evaluate(
            s, scores, alpha="estimate", n_boot=0, sample_weight=np.full(len(s), 2.0)
        ).prior_estimate
        assert equal.alpha == pytest.approx(plain.alpha, abs=1e-9)
        # Positives count double: 0.6 of 1.3 then.
        weight = np.where(scores > 2, 2.0, 1.0)
        heavy = evaluate(s, scores, alpha="estimate", n_boot=0, sample_weight=weight)
        assert heavy.prior_estimate.alpha == pytest.approx(0.6 / 1.3, abs=0.06)
        assert heavy.prior_estimate.n_unlabeled < 3000


class TestWarnings:
    def test_none_for_clean_labels_and_classes_far_apart(self):
        for seed in range(5):
            assert estimate(*mixture(0.3, seed=seed)).warnings == ()

    def test_scores_that_tell_nothing(self):
        found = estimate(*mixture(0.3, gap=0.3))
        assert has(found, "hardly tell labeled from unlabeled rows (AUC 0.5")
        assert has(found, "These scores hardly determine alpha")
        assert found.interval[1] - found.interval[0] > 0.5

    def test_members_that_disagree(self):
        found = estimate(*mixture(0.3, gap=0.8, sizes=(100, 500)))
        values = list(found.members.values())
        assert np.ptp(values) > 0.15
        assert has(found, f"disagree, from {min(values):.2f} to {max(values):.2f}")

    def test_few_rows(self):
        found = estimate(*mixture(0.3, sizes=(50, 400)))
        assert has(found, "Only 50 labeled rows")
        assert has(found, "Only 400 unlabeled rows")


class TestCombination:
    def test_networks_fit_the_evidence(self):
        s, scores = mixture(0.3)
        found = evidence(ScoreTable.from_arrays(s, scores), np.random.default_rng(0))
        views = np.array([scores, np.exp(scores), -np.cos(scores)])
        asked = inputs_of_views([found] * 4, related(s, views))
        for name, inputs, n_out in (
            ("auto_scores", found.inputs, 2 * len(QUANTILES)),
            ("auto_views", asked, N_OUTPUTS),
        ):
            network = load_network(name)
            assert len(network.mean) == len(inputs) + 1
            assert network.biases[-1].shape[1] == n_out
            assert np.isfinite(inputs).all()

    def test_quantiles_are_shares_in_order(self):
        rng = np.random.default_rng(0)
        s, scores = mixture(0.3)
        found = evidence(ScoreTable.from_arrays(s, scores), rng)
        views = inputs_of_views([found] * 4, related(s, np.array([scores] * 3)))
        members = found.inputs[member_columns()]
        for scale in (0.0, 1.0, 10.0):
            noise = rng.normal(0, scale, len(views))
            for known in (True, False):
                answers = [
                    *weigh_scores(found.inputs + noise[: len(found.inputs)], labels_known=known),
                    *weigh_views(views + noise, members, 500, labels_known=known),
                ]
                for values in answers:
                    assert values.shape == (len(QUANTILES),)
                    assert (np.diff(values) >= 0).all()
                    assert 0 <= values[0] <= values[-1] <= 1

    def test_how_views_hang_together(self):
        s = np.repeat([1, 0], [500, 4000])
        rng = np.random.default_rng(0)
        y = np.concatenate([np.ones(500, bool), rng.random(4000) < 0.3])
        views = rng.normal(2.0 * y, size=(3, len(s)))
        found = related(s, views)
        # The mixture alone makes views agree: errors of these do not hang together.
        assert found[0] > 0.25
        assert abs(found[1]) < 0.15
        np.testing.assert_allclose(related(s, np.exp(views)), found)
        assert np.isfinite(related(s, np.zeros((3, len(s))))).all()

    def test_calibration_draws_quantiles_apart_around_the_median(self):
        by_size = {"log_labeled": [np.log(50), np.log(500)], "factor": [2.0, 1.0]}
        quantiles = np.linspace(0.2, 0.8, 7)
        wide = calibrated(quantiles, 20, by_size)
        np.testing.assert_allclose(wide, np.linspace(-0.1, 1.1, 7))
        np.testing.assert_allclose(calibrated(quantiles, 5000, by_size), quantiles)

    def test_answers_stay_near_the_members(self):
        """A network once said 0.018 where its members said 0.03 to 0.13."""
        members = np.array([0.03, 0.08, 0.13])
        low = np.linspace(0.001, 0.04, 7)
        moved = near_members(low, members, 0.4)
        assert moved[MIDDLE] == pytest.approx(0.03, rel=0.02)
        np.testing.assert_array_equal(moved[:MIDDLE], low[:MIDDLE])
        assert (np.diff(moved) >= 0).all()
        # Where members find much, classes overlap, and less is plausible.
        assert near_members(np.full(7, 0.1), np.array([0.6, 0.9]), 0.4)[MIDDLE] == 0.48
        assert near_members(np.full(7, 0.95), np.array([0.6, 0.9]), 0.4)[MIDDLE] == 0.9

    def test_evidence_survives_extreme_tables(self):
        s = np.repeat([1, 0], [30, 100])
        for scores in (
            np.repeat([1.0, 0.0], [30, 100]),
            np.repeat([0.0, 1.0], [30, 100]),
            np.arange(130) % 2 * 1.0,
        ):
            found = evidence(ScoreTable.from_arrays(s, scores), np.random.default_rng(0))
            assert np.isfinite(found.inputs).all()
            result = estimate(s, scores)
            assert 0 <= result.alpha <= 1

    def test_stretched_shares(self):
        np.testing.assert_allclose(stretched(np.array([0.0, 0.5, 1.0])), [0.0, 0.5, 1.0])
        shares = np.linspace(0, 1, 11)
        np.testing.assert_allclose(np.sin(np.pi / 2 * stretched(shares)) ** 2, shares, atol=1e-12)


def test_a_rare_class_is_undetermined_by_ratio():
    """Limits that lie close together leave a small share open if one is many times the other."""
    from recoup.priors.combination import WIDE_INTERVAL, _is_wide_alpha

    assert _is_wide_alpha(0.01, 0.06, 0.005, WIDE_INTERVAL)
    assert not _is_wide_alpha(0.04, 0.06, 0.005, WIDE_INTERVAL)
    # Where as many rows are labeled, hidden ones are a small part of the positives.
    assert not _is_wide_alpha(0.01, 0.06, 0.05, WIDE_INTERVAL)
    assert _is_wide_alpha(0.2, 0.71, 0.3, WIDE_INTERVAL)
    rng = np.random.default_rng(0)
    s = np.repeat([1, 0], [120, 20_000])
    positive = np.append(np.ones(120, bool), rng.random(20_000) < 0.03)
    found = Auto(beta=1.0).fit_scores(s, rng.normal(1.2 * positive)).estimate_
    low, high = found.interval
    assert high - low < WIDE_INTERVAL
    wide = _is_wide_alpha(low, high, 120 / 20_120, WIDE_INTERVAL)
    assert ("undetermined" in {note.code for note in found.warnings}) is wide
    assert wide
