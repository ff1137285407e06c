import math
import pickle
import subprocess
import sys
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from estimator_checks import each_check, passes_unless_expected
from learners.plain_trees import PlainTree, SplitMix
from learners.toy import SCHEMES, toy_accuracy, toy_rows
from recoup.exceptions import InvalidInputError, MissingDependencyError
from recoup.learners._training import trees as _trees
from recoup.learners._training.trees import LOGISTIC, QUADRATIC, compiled, draw_cut, node_risk
from recoup.learners.puet import PUET as AlphaCut
from recoup.priors import PriorEstimate

# As published: the trees decide by majority.
PUET = partial(AlphaCut, threshold="own", guard="off")


def test_by_default_as_many_rows_are_called_positive_as_alpha_says():
    X, s, alpha, X_test, y_test = toy_rows(0, "single-sample")
    cut, majority = (make(alpha, n_estimators=30, random_state=0) for make in (AlphaCut, PUET))
    called = [np.mean(model.fit(X, s).predict(X_test)) for model in (cut, majority)]
    assert abs(called[0] - y_test.mean()) < 0.03
    assert cut.health_.source == "cross-fitted"
    # The cut moves no probability.
    np.testing.assert_array_equal(cut.predict_proba(X_test), majority.predict_proba(X_test))


N_LABELED, N_UNLABELED, PI = 10, 40, 0.4
LOSSES = {"quadratic": QUADRATIC, "logistic": LOGISTIC}


def risk_of(p, u, loss="quadratic", risk="nnpu"):
    """Risk of a node with p of 10 labeled and u of 40 unlabeled rows."""
    return node_risk(PI * p / N_LABELED, u / N_UNLABELED, risk == "nnpu", LOSSES[loss])


def few_rows(seed, n=90):
    """Rows with few and with many distinct values, and some features that never change."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.5
    X = rng.normal(size=(n, 9)) + np.outer(y, [1.5, 1, *[0] * 7])
    X[:, 2:4] = X[:, 2:4].round()
    X[:, 4] = X[:, 0] > 1
    X[:, 5] = 3.0
    X[:, 6] = X[0, 6]
    return X, (y & (rng.random(n) < 0.4)).astype(int)


def trees_of(learner):
    """Return the nodes of every tree as tuples."""
    parts = ("features", "thresholds", "rights", "shares", "votes")
    nodes = list(zip(*(getattr(learner, f"node_{part}_").tolist() for part in parts), strict=True))
    return [nodes[first:end] for first, end in pairwise(learner.tree_roots_)]


def seeds_of(random_state, n_trees):
    """Return the seeds of a forest's trees, which come after the one for an estimate of alpha."""
    rng = np.random.default_rng(random_state)
    rng.integers(2**31)
    return rng.integers(2**64, size=n_trees, dtype=np.uint64)


class TestRisks:
    """The values of a split that was worked out by hand."""

    @pytest.mark.parametrize(
        ("p", "u", "quadratic", "logistic"),
        [
            (10, 40, 0.96, 0.673012),
            (8, 12, 0.0, 0.0),
            (2, 28, 0.283429, 0.248768),
            (3, 0, 0.0, 0.0),
            (0, 5, 0.0, 0.0),
            (9, 10, 0.0, 0.0),
        ],
    )
    def test_nnpu(self, p, u, quadratic, logistic):
        assert risk_of(p, u) == pytest.approx(quadratic, abs=1e-6)
        assert risk_of(p, u, "logistic") == pytest.approx(logistic, abs=1e-6)

    def test_upu(self):
        assert risk_of(8, 12, risk="upu") == pytest.approx(-0.085333, abs=1e-6)
        assert risk_of(9, 10, risk="upu") == pytest.approx(-0.6336)
        assert risk_of(3, 0, risk="upu") == -math.inf
        assert risk_of(8, 12, "logistic", "upu") == -math.inf
        assert risk_of(2, 28, "logistic", "upu") == risk_of(2, 28, "logistic")
        assert risk_of(0, 5, risk="upu") == 0

    @pytest.mark.parametrize(
        ("loss", "reduction"), [("quadratic", 0.676571), ("logistic", 0.424244)]
    )
    def test_reduction(self, loss, reduction):
        found = risk_of(10, 40, loss) - risk_of(8, 12, loss) - risk_of(2, 28, loss)
        assert found == pytest.approx(reduction, abs=1e-6)

    @pytest.mark.parametrize("counts", [(10, 40), (8, 12), (2, 28), (9, 10), (1, 3), (0, 5)])
    def test_is_the_least_over_all_predictions(self, counts):
        positive, total = PI * counts[0] / N_LABELED, counts[1] / N_UNLABELED
        negative = total - positive
        v = np.linspace(-20, 20, 400_001)
        unbiased = positive * (1 - v) ** 2 + negative * (1 + v) ** 2
        clipped = positive * (1 - v) ** 2 + max(negative, 0) * (1 + v) ** 2
        assert risk_of(*counts, risk="upu") == pytest.approx(unbiased.min(), abs=1e-6)
        assert risk_of(*counts) == pytest.approx(clipped.min(), abs=1e-6)
        logistic = positive * np.log1p(np.exp(-v)) + max(negative, 0) * np.log1p(np.exp(v))
        assert risk_of(*counts, "logistic") == pytest.approx(logistic.min(), abs=1e-6)

    @pytest.mark.parametrize(
        ("loss", "reduction"), [("quadratic", 0.676571), ("logistic", 0.424244)]
    )
    def test_of_a_tree_with_that_one_split(self, loss, reduction):
        x = np.repeat([0.0, 1.0, 0.0, 1.0], [8, 2, 12, 28])[:, None]
        s = np.repeat([1, 0], [N_LABELED, N_UNLABELED])
        learner = PUET(PI, scheme="case-control", loss=loss, n_estimators=3, random_state=0)
        learner.fit(x, s)
        assert learner.feature_importances_ == pytest.approx([reduction], abs=1e-6)
        assert learner.pi_ == PI
        np.testing.assert_allclose(
            learner.predict_proba([[0.0], [1.0]])[:, 1], [1, 0.114286], atol=1e-6
        )
        np.testing.assert_array_equal(learner.predict([[0.0], [1.0]]), [1, 0])

    def test_a_leaf_without_unlabeled_rows_is_positive(self):
        x = np.repeat([0.0, 1.0, 1.0], [3, 7, 40])[:, None]
        s = np.repeat([1, 0], [10, 40])
        learner = PUET(PI, scheme="case-control", n_estimators=1, random_state=0).fit(x, s)
        np.testing.assert_allclose(learner.predict_proba([[0.0]]), [[0, 1]])
        assert learner.predict([[0.0]]) == [1]


class TestAgainstPlainTrees:
    """Trees equal, number by number, those of a program that takes the words literally."""

    @pytest.mark.parametrize("scheme", SCHEMES)
    @pytest.mark.parametrize("risk", ["nnpu", "upu"])
    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize(
        "limits",
        [
            {},
            {"max_depth": 3, "max_features": 9},
            {"min_samples_leaf": 7, "max_candidates": 4, "max_features": 1},
        ],
        ids=["unlimited", "shallow", "large leaves"],
    )
    def test_equal(self, scheme, risk, loss, limits):
        X, s = few_rows(seed=0)
        settings = {"scheme": scheme, "risk": risk, "loss": loss, **limits}
        learner = PUET(0.3, n_estimators=4, random_state=5, **settings).fit(X, s)
        settings = {"max_features": 3} | settings
        plain = [PlainTree(X, s, seed, pi=learner.pi_, **settings) for seed in seeds_of(5, 4)]
        assert trees_of(learner) == [tree.nodes for tree in plain]
        reductions = np.mean([tree.reductions for tree in plain], axis=0)
        np.testing.assert_array_equal(learner.feature_importances_, reductions)
        if not limits:
            assert min(len(tree.nodes) for tree in plain) > 20

    @pytest.mark.parametrize("seed", range(6))
    def test_equal_on_other_rows_and_in_single_precision(self, seed):
        X, s = few_rows(seed, n=200)
        X = X.astype(np.float32)
        learner = PUET(0.3, n_estimators=2, random_state=seed).fit(X, s)
        plain = [
            PlainTree(X, s, tree_seed, pi=learner.pi_, max_features=3)
            for tree_seed in seeds_of(seed, 2)
        ]
        assert trees_of(learner) == [tree.nodes for tree in plain]

    def test_rows_get_the_mean_of_their_leaves(self):
        X, s = few_rows(seed=1)
        learner = PUET(0.3, n_estimators=7, max_depth=4, random_state=0).fit(X, s)
        new, _ = few_rows(seed=2)
        leaves = np.array([[leaf_of(nodes, row) for nodes in trees_of(learner)] for row in new])
        share, vote = leaves[..., 0].mean(axis=1), leaves[..., 1].mean(axis=1)
        held = np.where(vote > 0.5, np.maximum(share, 0.5), np.minimum(share, 0.5))
        np.testing.assert_allclose(learner.predict_proba(new)[:, 1], held, atol=1e-12)
        np.testing.assert_array_equal(learner.predict(new), vote > 0.5)
        assert np.any((share > 0.5) != (vote > 0.5))

    def test_a_tie_of_votes_is_negative(self):
        X, s = few_rows(seed=1)
        learner = PUET(0.3, n_estimators=2, max_depth=3, random_state=0).fit(X, s)
        votes = np.array([[leaf_of(nodes, row)[1] for nodes in trees_of(learner)] for row in X])
        tied = votes.sum(axis=1) == 1
        assert tied.any()
        assert not learner.predict(X[tied]).any()


def leaf_of(nodes, row):
    """Return share and vote of the leaf that a row falls into."""
    place = 0
    while nodes[place][0] >= 0:
        feature, threshold, right = nodes[place][:3]
        place = place + 1 if row[feature] <= threshold else right
    return nodes[place][3:]


class TestDraws:
    def test_numbers_are_those_of_the_published_generator(self):
        """First outputs for seed 1234567, as in Vigna's reference program."""
        random, expected = SplitMix(1234567), [6457827717110365317, 3203168211198807973]
        assert [random.uniform() for _ in range(2)] == [(z >> 11) / 2**53 for z in expected]

    def test_every_feature_that_varies_is_as_likely(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(40, 6))
        X[:, [1, 4]] = 0.0
        s = np.arange(40) % 4 == 0
        learner = PUET(0.3, n_estimators=4000, max_features=1, max_depth=1, random_state=0).fit(
            X, s
        )
        first = learner.node_features_[learner.tree_roots_[:-1]]
        counts = np.bincount(first, minlength=6)
        assert counts[[1, 4]].tolist() == [0, 0]
        # Five standard deviations of a binomial count with chance 1/4.
        assert np.abs(counts[[0, 2, 3, 5]] - 1000).max() < 5 * math.sqrt(4000 * 3 / 16)

    def test_cuts_are_uniform_between_the_outer_values(self):
        x = np.array([0.0, 1.0, 5.0, 9.0, 10.0])[:, None]
        learner = PUET(0.3, n_estimators=4000, max_depth=1, random_state=0).fit(x, [1, 0, 0, 0, 0])
        cuts = np.sort(learner.node_thresholds_[learner.tree_roots_[:-1]])
        assert cuts[0] >= 0.4
        assert cuts[-1] <= 9.6
        uniform = np.linspace(0.4, 9.6, len(cuts))
        # Kolmogorov's bound at a chance of one in a million.
        assert np.abs(cuts - uniform).max() / 9.2 < 2.7 / math.sqrt(4000)

    @pytest.mark.parametrize("along", [0.0, 0.3, 0.5, 1 - 2**-53])
    @pytest.mark.parametrize(
        "values",
        [
            (1.0, np.nextafter(1.0, 2), 1.0, np.nextafter(1.0, 2)),
            (-1.7e308, 0.0, 0.0, 1.7e308),
            (-5e-324, 0.0, 0.0, 5e-324),
            (0.1, 0.3, 0.1, 0.3),
        ],
    )
    def test_both_children_get_rows(self, values, along):
        assert values[0] <= draw_cut(along, *values) < values[3]

    def test_a_vote_between_equal_masses_is_drawn(self):
        x, s = np.zeros((30, 1)), np.repeat([1, 0], [10, 20])
        learner = PUET(0.5, scheme="case-control", n_estimators=2000, random_state=0).fit(x, s)
        assert np.all(learner.node_shares_ == 0.5)
        assert abs(learner.node_votes_.mean() - 0.5) < 5 * 0.5 / math.sqrt(2000)

    def test_trees_stay_when_more_are_asked_for(self):
        X, s = few_rows(seed=0)
        few, more = (PUET(0.3, n_estimators=n, random_state=0).fit(X, s) for n in (3, 5))
        assert trees_of(more)[:3] == trees_of(few)


class TestLearning:
    @pytest.mark.parametrize("scheme", SCHEMES)
    def test_toy_rows(self, scheme):
        found = [toy_accuracy(PUET(n_estimators=50), seed, scheme) for seed in range(3)]
        assert min(found) >= 0.84
        assert max(found) <= 0.90

    def test_logistic_loss(self):
        learner = PUET(n_estimators=50, loss="logistic")
        assert 0.84 <= toy_accuracy(learner, 0, "case-control") <= 0.90

    def test_unbiased_risk_needs_shallow_trees(self):
        deep, shallow = (
            toy_accuracy(PUET(n_estimators=50, risk="upu", max_depth=depth), 0, "case-control")
            for depth in (None, 8)
        )
        assert deep < 0.70
        assert shallow > 0.80

    @pytest.mark.parametrize("loss", LOSSES)
    def test_importances_find_the_informative_feature(self, loss):
        X, s, alpha, _, _ = toy_rows(0, "case-control")
        learner = PUET(alpha, scheme="case-control", loss=loss, n_estimators=50, random_state=0)
        importances = learner.fit(X, s).feature_importances_
        assert importances[0] > 3 * importances[1:].max()

    @pytest.mark.parametrize("max_depth", [1, 4, None])
    def test_importances_add_up_to_the_reduction_from_root_to_leaves(self, max_depth):
        X, s, alpha, _, _ = toy_rows(0, "case-control")
        learner = PUET(
            alpha, scheme="case-control", n_estimators=3, max_depth=max_depth, random_state=0
        ).fit(X, s)
        in_leaves = []
        for nodes in trees_of(learner):
            leaves = {}
            for row, label in zip(X, s, strict=True):
                counts = leaves.setdefault(place_of(nodes, row), [0, 0])
                counts[label] += 1
            masses = [(alpha * p / s.sum(), u / (s == 0).sum()) for u, p in leaves.values()]
            in_leaves.append(sum(node_risk(*mass, True, QUADRATIC) for mass in masses))
        reduced = 4 * alpha * (1 - alpha) - np.mean(in_leaves)
        assert learner.feature_importances_.sum() == pytest.approx(reduced)

    def test_probabilities_rank_positives(self):
        X, s, alpha, X_test, y_test = toy_rows(0, "single-sample")
        learner = PUET(alpha, random_state=0).fit(X, s)
        assert roc_auc_score(y_test, learner.predict_proba(X_test)[:, 1]) > 0.92

    def test_alpha_can_be_estimated(self):
        X, s, alpha, _, _ = toy_rows(0, "single-sample")
        learner = PUET(n_estimators=5, random_state=0).fit(X, s)
        assert isinstance(learner.prior_, PriorEstimate)
        assert learner.alpha_ == learner.prior_.alpha
        assert abs(learner.alpha_ - alpha) < 0.1

    def test_population_is_what_the_scheme_says(self):
        X, s = few_rows(seed=0)
        single = PUET(0.2, n_estimators=1, random_state=0).fit(X, s)
        assert single.pi_ == pytest.approx((s.sum() + 0.2 * (s == 0).sum()) / len(s))
        assert PUET(0.2, scheme="case-control", n_estimators=1).fit(X, s).pi_ == 0.2

    def test_deep_chains_need_no_recursion(self):
        """Powers of two part one row at a time, far beyond Python's recursion limit."""
        x = np.ldexp(1.0, np.arange(-1000, 1000))[:, None]
        s = np.arange(2000) % 2
        learner = PUET(0.4, scheme="case-control", n_estimators=1, random_state=0).fit(x, s)
        assert len(learner.node_features_) > 500


def place_of(nodes, row):
    place = 0
    while nodes[place][0] >= 0:
        feature, threshold, right = nodes[place][:3]
        place = place + 1 if row[feature] <= threshold else right
    return place


class TestSameNumbers:
    @pytest.mark.parametrize("n_jobs", [2, 5, -1])
    def test_for_any_number_of_threads(self, n_jobs, monkeypatch):
        X, s, alpha, X_test, _ = toy_rows(0, "single-sample")
        monkeypatch.setattr(_trees, "ROWS_AT_ONCE", 777)
        one, many = (
            PUET(alpha, n_estimators=11, n_jobs=jobs, random_state=3).fit(X, s)
            for jobs in (None, n_jobs)
        )
        assert trees_of(one) == trees_of(many)
        np.testing.assert_array_equal(one.feature_importances_, many.feature_importances_)
        monkeypatch.setattr(_trees, "ROWS_AT_ONCE", 4096)
        expected = one.predict_proba(X_test)
        np.testing.assert_array_equal(expected, many.predict_proba(X_test))

    def test_for_any_frame_and_layout(self):
        X, s = few_rows(seed=0)
        expected = PUET(0.3, n_estimators=5, random_state=0).fit(X, s).decision_function(X)
        names = [f"x{number}" for number in range(X.shape[1])]
        locked = X.copy()
        locked.flags.writeable = False
        for rows in (
            pd.DataFrame(X, columns=names),
            pl.DataFrame(X, schema=names),
            np.asfortranarray(X),
            np.repeat(X, 2, axis=0)[::2],
            locked,
        ):
            learner = PUET(0.3, n_estimators=5, random_state=0).fit(rows, s)
            np.testing.assert_array_equal(learner.decision_function(rows), expected)
            assert list(getattr(learner, "feature_names_in_", names)) == names

    def test_numbers_of_half_the_length_stay_so(self, monkeypatch):
        X, s = few_rows(seed=0)
        asked = []
        monkeypatch.setattr(_trees, "compiled", lambda *key: asked.append(key) or compiled(*key))
        learner = PUET(0.3, n_estimators=5, random_state=0).fit(X.astype(np.float32), s)
        single = learner.predict_proba(X.astype(np.float32))
        assert asked == [("grow", "float32"), ("ask", "float32")]
        np.testing.assert_array_equal(
            learner.predict_proba(X.astype(np.float32).astype(float)), single
        )

    def test_after_pickling(self):
        X, s = few_rows(seed=0)
        learner = PUET(0.3, n_estimators=5, random_state=0).fit(X, s)
        copy = pickle.loads(pickle.dumps(learner))
        np.testing.assert_array_equal(copy.predict_proba(X), learner.predict_proba(X))
        fitted = {name: value for name, value in vars(learner).items() if name.endswith("_")}
        plain = (np.ndarray, float, int, type(None))
        assert all(isinstance(value, plain) for value in fitted.values())


class TestInput:
    @pytest.mark.parametrize(
        ("setting", "message"),
        [
            ({"risk": "pn"}, r"risk to be one of 'nnpu', 'upu'\. Got 'pn'"),
            ({"loss": "hinge"}, r"loss to be one of 'quadratic', 'logistic'\. Got 'hinge'"),
            ({"scheme": "both"}, "scheme to be 'single-sample'"),
            ({"n_estimators": 0}, r"n_estimators to be a whole number of at least 1\. Got 0"),
            ({"n_estimators": 2.0}, "n_estimators to be a whole number"),
            ({"max_depth": 0}, "max_depth to be a whole number of at least 1"),
            ({"max_candidates": True}, "max_candidates to be a whole number"),
            ({"min_samples_leaf": None}, "min_samples_leaf to be a whole number"),
            ({"max_features": 0}, r"max_features to be .* Got 0"),
            ({"max_features": 1.5}, r"max_features to be .* Got 1.5"),
            ({"max_features": "log"}, r"max_features to be .* Got 'log'"),
            ({"max_features": True}, r"max_features to be .* Got True"),
            ({"n_jobs": 0}, r"n_jobs to be a whole number other than 0"),
            ({"alpha": 0, "scheme": "case-control"}, "alpha above 0"),
        ],
    )
    def test_settings(self, setting, message):
        X, s = few_rows(seed=0)
        with pytest.raises(InvalidInputError, match=message) as caught:
            PUET(**{"alpha": 0.3, **setting}).fit(X, s)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize(
        ("given", "n_tried"),
        [("sqrt", 3), (None, 9), (2, 2), (50, 9), (0.7, 7), (0.01, 1), (1.0, 9)],
    )
    def test_features_to_try(self, given, n_tried):
        assert PUET(max_features=given)._n_features_to_try(9) == n_tried

    def test_shares_of_features_are_not_rounded_up_by_noise(self):
        assert PUET(max_features=0.7)._n_features_to_try(10) == 7

    def test_rows_without_a_varying_feature(self):
        learner = PUET(0.3, n_estimators=2, random_state=0).fit(np.ones((20, 3)), [1, 0] * 10)
        assert len(learner.node_features_) == 2
        np.testing.assert_array_equal(learner.feature_importances_, 0)

    def test_no_labels_hidden(self):
        """With alpha 0 in a single sample the unlabeled rows are the negatives."""
        X, s = few_rows(seed=0)
        learner = PUET(0, n_estimators=20, random_state=0).fit(X, s)
        assert np.mean(learner.predict(X) == s) > 0.95

    def test_a_row_is_needed(self):
        X, s = few_rows(seed=0)
        learner = PUET(0.3, n_estimators=1, random_state=0).fit(X, s)
        with pytest.raises(ValueError, match="minimum of 1 is required"):
            learner.predict(X[:0])

    def test_without_numba(self, monkeypatch):
        X, s = few_rows(seed=0)
        monkeypatch.setitem(sys.modules, "numba", None)
        with pytest.raises(MissingDependencyError, match=r"PUET needs .*'numba'.*recoup\[trees\]"):
            PUET(0.3).fit(X, s)

    def test_numba_is_not_imported_before_a_fit(self):
        program = (
            "import sys; from recoup.learners.puet import PUET; PUET(); "
            "sys.exit('numba' in sys.modules)"
        )
        assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0

    def test_where_nothing_can_be_cached(self, monkeypatch):
        import numba

        njit = numba.njit

        def no_folder(*arguments, cache=False, **options):
            if cache:
                raise RuntimeError("cannot cache function: no locator available")
            return njit(*arguments, **options)

        monkeypatch.setattr(numba, "njit", no_folder)
        kernel = compiled.__wrapped__("ask", "float64")
        assert kernel.signatures


@each_check(PUET(alpha=0.2, n_estimators=10, random_state=0))
def test_scikit_learn_checks(estimator, check):
    passes_unless_expected(clone(estimator), check)
