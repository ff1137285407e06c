"""What all prior estimators share: intervals, sizes, transforms, the choice of a classifier."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from recoup.exceptions import InvalidInputError
from recoup.priors import BBE, KM2, PriorTags, TIcE
from recoup.priors._solvers.resample import counts_only, exchanged, resample, rows, subsample
from recoup.priors._solvers.transform import clearly_better, honest_scores
from recoup.priors.base import (
    FeaturePriorEstimator,
    Finding,
    ScorePriorEstimator,
    _shrink,
    checked_table,
    plausible,
    subsample_sizes,
)
from recoup.scores import ScoreTable
from recoup.scores.crossfit import CrossfitScores

TAGS = {"assumes": "nothing", "cost": "n", "source": "nowhere"}


@dataclass(kw_only=True, eq=False, repr=False)
class MeanScore(ScorePriorEstimator):
    """The mean score of the unlabeled rows: an estimate whose standard error is known."""

    tags: ClassVar[PriorTags] = PriorTags(key="mean-score", reads="scores", **TAGS)
    shift: float = 0.0

    def _solve(self, table, rng):
        return Finding(float(np.average(table.centers, weights=table.unlabeled)) + self.shift)


@dataclass(kw_only=True, eq=False, repr=False)
class MeanFeature(FeaturePriorEstimator):
    """The mean of the first column of the unlabeled rows."""

    tags: ClassVar[PriorTags] = PriorTags(key="mean-feature", reads="features", **TAGS)

    def _solve(self, X, s, rng):
        return Finding(float(X[s == 0, 0].mean()))


def sample(seed=0, sizes=(200, 2000)):
    rng = np.random.default_rng(seed)
    s = np.repeat([1, 0], sizes)
    return s, rng.uniform(0.2, 0.4, len(s))


def features(seed=0, n=900):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.5
    s = (y & (rng.random(n) < 0.5)).astype(int)
    return rng.normal(2.0 * y[:, None], 1.0, (n, 3)), s


class TestIntervals:
    @pytest.mark.parametrize("interval", ["subsample", "bootstrap"])
    def test_width_is_that_of_the_standard_error(self, interval):
        s, scores = sample(sizes=(2000, 2000))
        found = MeanScore(interval=interval, n_draws=400).fit_scores(s, scores).estimate_
        expected = 2 * 1.96 * scores[s == 0].std() / math.sqrt(2000)
        width = found.interval[1] - found.interval[0]
        assert width == pytest.approx(expected, rel=0.25)
        assert found.interval_method == interval
        assert found.draws.shape == (400,)

    @pytest.mark.parametrize("interval", ["subsample", "bootstrap"])
    def test_features_give_the_same_width(self, interval):
        s, scores = sample(sizes=(2000, 2000))
        found = MeanFeature(interval=interval, n_draws=400).fit(scores[:, None], s).estimate_
        expected = 2 * 1.96 * scores[s == 0].std() / math.sqrt(2000)
        assert found.interval[1] - found.interval[0] == pytest.approx(expected, rel=0.25)

    @pytest.mark.parametrize("interval", ["subsample", "bootstrap", "refit"])
    def test_same_seed_same_interval_and_another_seed_another(self, interval):
        X, s = features()
        one, same, other = (
            BBE(interval=interval, n_draws=4, transform="logistic", random_state=seed)
            .fit(X, s)
            .estimate_.draws
            for seed in (0, 0, 1)
        )
        np.testing.assert_array_equal(one, same)
        assert not np.array_equal(one, other)

    def test_more_draws_keep_the_first(self):
        s, scores = sample()
        few, many = (MeanScore(n_draws=n).fit_scores(s, scores).estimate_.draws for n in (5, 9))
        np.testing.assert_array_equal(few, many[:5])

    def test_higher_confidence_is_wider(self):
        s, scores = sample()
        low, high = (
            MeanScore(confidence=level).fit_scores(s, scores).estimate_.interval
            for level in (0.5, 0.99)
        )
        assert high[0] < low[0] < low[1] < high[1]

    def test_refit_needs_features(self):
        s, scores = sample()
        for estimator in (MeanScore(interval="refit"), MeanFeature(interval="refit")):
            with pytest.raises(InvalidInputError, match="cannot refit the classifier"):
                estimator.fit_scores(s, scores)

    def test_refit_of_features_is_a_bootstrap(self):
        X, s = features()
        refit, bootstrap = (
            MeanFeature(interval=interval, n_draws=5).fit(np.abs(X) / 9, s).estimate_
            for interval in ("refit", "bootstrap")
        )
        np.testing.assert_array_equal(refit.draws, bootstrap.draws)
        assert refit.interval_method == "refit"

    @pytest.mark.parametrize("estimator", [BBE, TIcE, KM2])
    @pytest.mark.parametrize("interval", ["learned", "jackknife", 3, ["subsample"]])
    def test_unknown_intervals_are_refused(self, estimator, interval):
        with pytest.raises(InvalidInputError, match=r"'subsample'.* or None"):
            estimator(interval=interval).fit_scores(*sample())

    @pytest.mark.parametrize("n_draws", [0, -1, 2.5, "many", None])
    @pytest.mark.parametrize("estimator", [MeanScore, MeanFeature])
    def test_draws_must_be_a_number_of_them(self, estimator, n_draws):
        with pytest.raises(InvalidInputError, match="n_draws to be a whole number of at least 1"):
            estimator(n_draws=n_draws).fit_scores(*sample())

    @pytest.mark.parametrize("confidence", [0, 1, 95, math.nan, "high", None])
    def test_confidence_must_be_a_level(self, confidence):
        with pytest.raises(InvalidInputError, match="confidence to be a number above 0 and"):
            MeanScore(confidence=confidence).fit_scores(*sample())

    def test_options_are_refused_before_anything_is_fitted(self):
        class Never:
            def fit(self, X, y):
                raise AssertionError

        X, s = features()
        with pytest.raises(InvalidInputError, match="confidence"):
            MeanScore(transform=Never(), confidence=7).fit(X, s)
        with pytest.raises(InvalidInputError, match="confidence"):
            MeanFeature(confidence=7).fit("no table at all", s)

    def test_clipping_is_told(self):
        s, scores = sample()
        found = MeanScore(shift=1.0).fit_scores(s, scores).estimate_
        assert found.alpha == 1.0
        assert any("was clipped to 1" in text for text in found.warnings)

    def test_plausible_draws(self):
        pairs = np.array([[-0.2, 0.9], [0.8, 0.5], [1.3, 1.4]])
        both = plausible(pairs, both=True)
        np.testing.assert_allclose(both, [[0.0, 0.9], [0.495, 0.5], [0.995, 1.0]])
        np.testing.assert_allclose(plausible(pairs, both=False), [0.0, 0.8, 0.995])


class TestSizes:
    def test_subsample_sizes(self):
        assert subsample_sizes(50, 80) == (50, 80)
        assert subsample_sizes(150, 500) == (100, 100)
        assert subsample_sizes(1000, 100_000) == (int(1000**0.7), int(100_000**0.7))

    def test_shrink_undoes_the_size_of_a_draw(self):
        # Draws of a small share f of all rows vary sqrt(1 / f) times as much.
        assert _shrink((100, 100), 10_000, 10_000) == pytest.approx(
            math.sqrt(0.01 / 0.99), rel=1e-9
        )
        assert _shrink((100, 100), 1000, 10_000) == pytest.approx(math.sqrt(0.1 / 0.9), rel=1e-9)
        # All rows drawn do not vary at all: the ratio is capped, not infinite.
        assert _shrink((50, 80), 50, 80) == pytest.approx(2.0)

    @pytest.mark.parametrize("sizes", [(19, 500), (500, 49)])
    def test_too_few_rows(self, sizes):
        s, scores = sample(sizes=sizes)
        for estimator in (MeanScore(), MeanFeature()):
            for given in ((s, scores), (ScoreTable.from_arrays(s, scores),)):
                with pytest.raises(InvalidInputError, match="at least 20 labeled and 50 unlabeled"):
                    estimator.fit_scores(*given)
        with pytest.raises(InvalidInputError, match="at least 20 labeled and 50 unlabeled"):
            MeanScore().fit(scores[:, None], s)

    def test_few_rows_are_told(self):
        found = MeanScore(n_draws=3).fit_scores(*sample(sizes=(60, 300))).estimate_
        assert found.warnings[:2] == (
            "Only 60 labeled rows: the estimate is rough below 100.",
            "Only 300 unlabeled rows: the estimate is rough below 1000.",
        )

    def test_known_negatives_are_not_counted(self):
        X, s = features()
        marked = s.copy()
        marked[np.flatnonzero(s == 0)[:100]] = -1
        for estimator in (MeanScore(n_draws=3, transform="logistic"), MeanFeature(n_draws=3)):
            found = estimator.fit(np.abs(X) / 9, marked).estimate_
            assert (found.n_labeled, found.n_unlabeled) == (s.sum(), (s == 0).sum() - 100)
        refit = MeanScore(n_draws=2, transform="logistic", interval="refit").fit(X, marked)
        assert refit.estimate_.n_unlabeled == (s == 0).sum() - 100

    def test_constant_scores(self):
        s, _ = sample()
        for estimator in (MeanScore(), MeanFeature()):
            with pytest.raises(InvalidInputError, match=r"Got 0.5 for all rows"):
                estimator.fit_scores(s, np.full(len(s), 0.5))

    def test_a_table_and_scores(self):
        s, scores = sample()
        with pytest.raises(InvalidInputError, match="ScoreTable and scores beside it"):
            checked_table(ScoreTable.from_arrays(s, scores), scores, "test")


class TestDrawnTables:
    def table(self):
        rng = np.random.default_rng(0)
        s = np.repeat([1, 0, -1], [60, 300, 40])
        return s, rng.integers(0, 20, len(s)) / 20

    def test_counts_only_drops_known_negatives(self):
        s, scores = self.table()
        found = counts_only(ScoreTable.from_arrays(s, scores))
        expected = ScoreTable.from_arrays(s[s >= 0], scores[s >= 0])
        np.testing.assert_array_equal(found.labeled, expected.labeled)
        np.testing.assert_array_equal(found.unlabeled, expected.unlabeled)
        assert found.n_negative == 0

    def test_counts_only_keeps_the_information_of_weighted_rows(self):
        s, scores = sample(sizes=(400, 2000))
        weight = np.random.default_rng(1).uniform(0.2, 3.0, len(s))
        table = ScoreTable.from_arrays(s, scores, sample_weight=weight)
        found = counts_only(table)
        assert found.labeled.dtype.kind == "i"
        for kind, total in ((1, found.n_labeled), (0, found.n_unlabeled)):
            inside = weight[s == kind]
            # Kish: as many equal rows as give the same variance of a mean.
            assert total == pytest.approx(inside.sum() ** 2 / (inside**2).sum(), abs=1)
        means = [np.average(one.centers, weights=one.unlabeled) for one in (table, found)]
        assert means[0] == pytest.approx(means[1], abs=1e-3)

    def test_equal_weights_change_nothing(self):
        s, scores = sample()
        plain = MeanScore(interval=None).fit_scores(s, scores).estimate_
        table = ScoreTable.from_arrays(s, scores, sample_weight=np.full(len(s), 2.0))
        weighted = MeanScore(interval=None).fit_scores(table).estimate_
        assert weighted.alpha == pytest.approx(plain.alpha, abs=1e-12)
        assert (weighted.n_labeled, weighted.n_unlabeled) == (200, 2000)

    def test_subsample_draws_without_replacement(self):
        s, scores = self.table()
        table = counts_only(ScoreTable.from_arrays(s, scores))
        drawn = subsample(table, (30, 100), np.random.default_rng(0))
        assert (drawn.n_labeled, drawn.n_unlabeled) == (30, 100)
        at = np.searchsorted(table.scores, drawn.scores)
        assert (drawn.labeled <= table.labeled[at]).all()
        assert (drawn.unlabeled <= table.unlabeled[at]).all()
        all_rows = subsample(table, (60, 300), np.random.default_rng(0))
        np.testing.assert_array_equal(all_rows.unlabeled, table.unlabeled)

    def test_resample_keeps_the_sizes(self):
        s, scores = self.table()
        table = counts_only(ScoreTable.from_arrays(s, scores))
        drawn = resample(table, np.random.default_rng(0))
        assert (drawn.n_labeled, drawn.n_unlabeled) == (60, 300)
        assert not np.array_equal(drawn.unlabeled, table.unlabeled)

    def test_exchanging_twice_changes_nothing(self):
        s, scores = self.table()
        table = counts_only(ScoreTable.from_arrays(s, scores))
        twice = exchanged(exchanged(table))
        np.testing.assert_allclose(twice.scores, table.scores)
        np.testing.assert_array_equal(twice.labeled, table.labeled)
        on_labeled, on_unlabeled = rows(exchanged(table))
        np.testing.assert_allclose(on_labeled, np.sort(1 - scores[s == 0]))
        np.testing.assert_allclose(on_unlabeled, np.sort(1 - scores[s == 1]))


class TestTransform:
    @pytest.mark.parametrize("transform", ["logistic", "boosting", "forest"])
    def test_choices(self, transform):
        X, s = features(n=300)
        found = honest_scores(X, s, transform, 0, "test")
        assert found.auc_pu > 0.6

    def test_same_seed_same_scores(self):
        X, s = features(n=300)
        one, same, other = (
            honest_scores(X, s, "logistic", seed, "test").scores for seed in (0, 0, 1)
        )
        np.testing.assert_array_equal(one, same)
        assert not np.array_equal(one, other)

    def test_a_classifier_of_ones_own(self):
        X, s = features(n=300)
        model = LogisticRegression(C=0.5)
        found = BBE(transform=model, n_draws=3).fit(X, s).estimate_
        assert found.transform == "LogisticRegression"
        assert not hasattr(model, "coef_")

    def test_auto_stays_simple_where_that_suffices(self):
        X, s = features()
        assert "LogisticRegression" in honest_scores(X, s, "auto", 0, "test").estimator_name

    def test_auto_goes_further_where_it_helps(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(1500, 2))
        s = ((X[:, 0] * X[:, 1] > 0.3) & (rng.random(1500) < 0.6)).astype(int)
        found = honest_scores(X, s, "auto", 0, "test")
        assert found.estimator_name == "HistGradientBoostingClassifier"

    def test_sparse_rows(self):
        X, s = features(n=400)
        sparse = csr_matrix(np.where(np.abs(X) > 0.5, X, 0.0))
        found = honest_scores(sparse, s, "auto", 0, "test")
        assert found.estimator_name.endswith("LogisticRegression")
        assert found.auc_pu > 0.6
        assert 0 < BBE(n_draws=3).fit(sparse, s).alpha_ < 1
        refit = BBE(n_draws=2, interval="refit").fit(sparse, s).estimate_
        assert refit.draws.shape == (2,)

    def test_none_takes_the_column_as_it_is(self):
        s, scores = sample()
        direct = MeanScore(n_draws=3).fit_scores(s, scores).estimate_
        for column in (scores, scores[:, None]):
            found = MeanScore(n_draws=3, transform=None).fit(column, s).estimate_
            assert (found.alpha, found.transform) == (direct.alpha, "given scores")
        with pytest.raises(InvalidInputError, match="one value per row"):
            MeanScore(transform=None).fit(np.column_stack([scores, scores]), s)

    def test_unknown_choice(self):
        X, s = features(n=300)
        with pytest.raises(InvalidInputError, match="Did you mean 'logistic'"):
            BBE(transform="logisitc").fit(X, s)
        with pytest.raises(InvalidInputError, match="a classifier with fit"):
            BBE(transform=3).fit(X, s)

    @pytest.mark.parametrize("estimator", [BBE, MeanFeature])
    @pytest.mark.parametrize("fault", ["missing", "words", "one dimension"])
    def test_rows_that_no_classifier_takes(self, estimator, fault):
        X, s = features(n=300)
        if fault == "missing":
            X[3, 1] = np.nan
        elif fault == "words":
            X = X.astype(object)
            X[:, 0] = "word"
        else:
            X = X[:, 0]
        with pytest.raises(InvalidInputError, match="impute missing values") as refused:
            estimator().fit(X, s)
        assert "\n" not in str(refused.value)

    def test_missing_values_for_a_classifier_that_takes_them(self):
        X, s = features(n=300)
        X[3, 1] = np.nan
        assert 0 < BBE(transform="boosting", n_draws=3).fit(X, s).alpha_ < 1

    def test_rows_that_are_all_copies(self):
        X, s = features(n=300)
        with pytest.raises(InvalidInputError, match=r"5 different labeled rows.* Got 1\."):
            BBE().fit(np.ones_like(X), s)

    def test_rows_and_labels_of_different_length(self):
        X, s = features(n=300)
        with pytest.raises(InvalidInputError, match=r"BBE needs X and s .* Got 299 and 300"):
            BBE().fit(X[:-1], s)

    def scored(self, s, scores):
        auc = np.mean(
            (scores[s == 1][:, None] > scores[s == 0])
            + 0.5 * (scores[s == 1][:, None] == scores[s == 0])
        )
        return CrossfitScores(s, scores, np.zeros((1, len(s)), int), "x", "y", float(auc))

    def test_clearly_better_is_delongs_test(self):
        rng = np.random.default_rng(0)
        s = np.repeat([1, 0], [150, 400])
        signal = rng.normal(1.0 * s)
        for noise in (0.05, 0.3, 0.6, 1.0, 2.0):
            rich = self.scored(s, signal)
            simple = self.scored(s, signal + rng.normal(0, noise, len(s)))
            # DeLong, DeLong and Clarke-Pearson 1988, from the matrix of comparisons itself.
            kernels = [
                (one.scores[s == 1][:, None] > one.scores[s == 0]) * 1.0 for one in (rich, simple)
            ]
            difference = kernels[0] - kernels[1]
            variance = difference.mean(axis=1).var(ddof=1) / 150
            variance += difference.mean(axis=0).var(ddof=1) / 400
            expected = difference.mean() > 1.645 * math.sqrt(variance)
            assert clearly_better(rich, simple) == expected
            assert not clearly_better(simple, rich)

    def test_equal_scores_are_not_better(self):
        s, scores = sample()
        same = self.scored(s, scores)
        assert not clearly_better(same, same)


class TestScikitLearn:
    def test_pipeline(self):
        X, s = features(n=300)
        pipeline = make_pipeline(StandardScaler(), BBE(n_draws=3, transform="logistic")).fit(X, s)
        assert 0 < pipeline[-1].alpha_ < 1

    def test_fitted_or_not(self):
        estimator = BBE(n_draws=3)
        with pytest.raises(NotFittedError):
            check_is_fitted(estimator)
        assert not hasattr(estimator, "alpha_")
        check_is_fitted(estimator.fit_scores(*sample()))

    def test_parameters_show(self):
        assert repr(BBE(gamma=0.02)) == "BBE(gamma=0.02)"
        assert "BBE" in BBE()._repr_html_()
        with pytest.raises(ValueError, match="Invalid parameter 'gama'"):
            BBE().set_params(gama=1)
