import inspect
import pickle
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from estimator_checks import each_check, passes_unless_expected
from recoup import metrics
from recoup.exceptions import InvalidInputError
from recoup.learners import PUAUC, PUAUL, TunedThreshold
from recoup.learners import pu_auc as module
from recoup.learners._training import bases
from recoup.priors import PriorEstimate, estimate
from recoup.scores.table import ScoreTable

L = np.array([[2.0, 0.0], [1.0, 1.0]])
U = np.array([[0.0, 0.0], [1.0, -1.0], [-1.0, 0.0], [2.0, 1.0]])
A = np.vstack([L, U])
RIDGE = 0.1
BOTH = pytest.mark.parametrize("cls", [PUAUL, PUAUC])


def linear(rows):
    """Moments of rows that are their own features."""
    return module.moments(rows, module.LinearBasis(np.eye(rows.shape[1])))


def pair_loss(w, first, second, *, self_pairs=True):
    """Mean squared loss over all pairs, one by one."""
    losses = [
        (1 - w @ (x - z)) ** 2
        for i, x in enumerate(first)
        for j, z in enumerate(second)
        if self_pairs or i != j
    ]
    return np.mean(losses)


def cosine(first, second):
    return first @ second / np.linalg.norm(first) / np.linalg.norm(second)


@pytest.fixture(scope="module")
def cancer():
    X, benign = load_breast_cancer(return_X_y=True)
    y = 1 - benign
    s = np.where(np.random.default_rng(0).random(len(y)) < 0.7, 0, y)
    return SimpleNamespace(X=X, y=y, s=s, alpha=float(y[s == 0].mean()))


@pytest.fixture(scope="module")
def fitted(cancer):
    return PUAUL(cancer.alpha, random_state=0).fit(cancer.X, cancer.s)


def test_metric_of_the_twenty_point_example():
    # The worked example of the paper on AUL.
    scores = np.array(
        [
            *(0.92, 0.82, 0.73, 0.66, 0.60, 0.58, 0.54, 0.50, 0.45, 0.43),
            *(0.41, 0.39, 0.38, 0.36, 0.35, 0.30, 0.25, 0.20, 0.15, 0.10),
        ]
    )
    y = np.array([1, 1, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1, 0, 0])
    s = np.array([1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0])
    assert roc_auc_score(y, scores) == pytest.approx(0.740)
    auc_pu = metrics.area.auc_pu(ScoreTable.from_arrays(s, scores))
    assert auc_pu == pytest.approx(0.653333, abs=1e-6)
    assert module.aul_pu(y == 1, scores[:, None])[0] == pytest.approx(0.620)
    assert module.aul_pu(s == 1, scores[:, None])[0] == pytest.approx(0.615)
    assert 5 / 40 + 15 / 20 * auc_pu == pytest.approx(0.615)
    assert metrics.aul(s, scores) == pytest.approx(0.615)


def test_areas_count_ties_half_and_agree_with_the_metric():
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 4, (60, 5)).astype(float)
    s = rng.integers(0, 2, 60)
    found = module.aul_pu(s == 1, scores)
    assert found == pytest.approx([metrics.aul(s, column) for column in scores.T], abs=1e-12)
    assert module.aul_pu(s == 1, np.zeros((60, 1)))[0] == 0.5


def test_aul_of_six_points():
    matrix, target = module.aul_system(linear(L), linear(U))
    assert linear(L).mean == pytest.approx([1.5, 0.5])
    assert linear(A).mean == pytest.approx([0.833333, 0.166667], abs=1e-6)
    expected = [[1.833333, 0.166667], [0.166667, 0.833333]]
    np.testing.assert_allclose(matrix, expected, atol=1e-6)
    w = module.ridge_solutions(matrix, target, [RIDGE])[:, 0]
    assert w == pytest.approx([0.318949, 0.300188], abs=1e-6)
    value = 1 - 2 * w @ target + w @ matrix @ w + RIDGE * w @ w
    assert value == pytest.approx(0.687305, abs=1e-6)
    assert value == pytest.approx(pair_loss(w, L, A) + RIDGE * w @ w, abs=1e-12)


@pytest.mark.parametrize(
    ("self_pairs", "expected", "solution", "objective"),
    [
        (True, [[3.166667, 0.833333], [0.833333, 1.166667]], [0.329138, 0.309777], 0.354631),
        (False, [[3, 1], [1, 1]], [0.331950, 0.304288], 0.354541),
    ],
)
def test_auc_of_six_points(self_pairs, expected, solution, objective):
    theta = 0.25
    matrix, target = module.auc_system(linear(L), linear(U), theta, self_pairs=self_pairs)
    np.testing.assert_allclose(matrix, expected, atol=1e-6)
    w = module.ridge_solutions(matrix, target, [RIDGE])[:, 0]
    assert w == pytest.approx(solution, abs=1e-6)
    by_hand = pair_loss(w, L, U) - theta * pair_loss(w, L, L, self_pairs=self_pairs)
    by_hand = by_hand / (1 - theta) + RIDGE * w @ w
    assert by_hand == pytest.approx(objective, abs=1e-6)
    assert 1 - 2 * w @ target + w @ matrix @ w + RIDGE * w @ w == pytest.approx(by_hand, abs=1e-12)


def test_kernel_of_five_points():
    basis = module.GaussianBasis(np.array([[0.0], [2.0]]), 1.0)
    labeled, unlabeled = np.array([[1.0], [2.0]]), np.array([[-1.0], [0.0], [2.5]])
    parts = module.moments(labeled, basis), module.moments(unlabeled, basis)
    assert parts[0].mean == pytest.approx([0.370933, 0.803265], abs=1e-6)
    assert (parts[0] + parts[1]).mean == pytest.approx([0.478467, 0.527094], abs=1e-6)
    w = module.ridge_solutions(*module.aul_system(*parts), [RIDGE])
    assert w[:, 0] == pytest.approx([0.185390, 0.841938], abs=1e-6)
    scores = module.weighted_sums(np.vstack([labeled, unlabeled]), basis, w)
    expected = [0.623106, 0.867028, 0.121798, 0.299334, 0.751153]
    assert scores[:, 0] == pytest.approx(expected, abs=1e-6)
    labels = np.array([True, True, False, False, False])
    assert module.aul_pu(labels, scores)[0] == pytest.approx(0.7)


def test_pairs_with_all_rows_are_those_within_and_across():
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(20, 3))
    basis = module.GaussianBasis(centers, 1.5)
    labeled, unlabeled = rng.normal(1, 1, (12, 3)), rng.normal(0, 1, (50, 3))
    parts = module.moments(labeled, basis), module.moments(unlabeled, basis)
    within, across = module.pair_matrix(parts[0], parts[0]), module.pair_matrix(*parts)
    matrix, target = module.aul_system(*parts)
    np.testing.assert_allclose(matrix, 12 / 62 * within + 50 / 62 * across, atol=1e-14)
    np.testing.assert_allclose(target, 50 / 62 * (parts[0].mean - parts[1].mean), atol=1e-14)
    assert np.linalg.eigvalsh(matrix).min() > -1e-14


def test_weights_in_the_population():
    alpha = 0.4
    rng = np.random.default_rng(0)
    spread_p, spread_n = np.array([[1.0, 0.6], [0.6, 2.0]]), np.array([[2.5, -0.8], [-0.8, 0.7]])
    shift = np.array([1.0, 0.5])
    positive = rng.multivariate_normal(shift, spread_p, 200_000)
    negative = rng.multivariate_normal([0, 0], spread_n, 300_000)
    labeled, unlabeled = positive[:100_000], np.vstack([positive[100_000:], negative])
    w = np.linalg.solve(*module.aul_system(linear(labeled), linear(unlabeled)))
    # The scatter between the classes, which the matrix holds too, only rescales w.
    penalized = 2 * alpha * spread_p + (1 - alpha) * (spread_p + spread_n)
    assert cosine(w, np.linalg.solve(penalized, shift)) > 0.9999
    assert cosine(w, np.linalg.solve(spread_p + spread_n, shift)) < 0.999


def test_pu_auc_finds_the_supervised_weights_in_the_population():
    alpha = 0.4
    rng = np.random.default_rng(1)
    spread_p, spread_n = np.array([[1.0, 0.6], [0.6, 2.0]]), np.array([[2.5, -0.8], [-0.8, 0.7]])
    shift = np.array([1.0, 0.5])
    labeled = rng.multivariate_normal(shift, spread_p, 200_000)
    hidden = rng.multivariate_normal(shift, spread_p, 120_000)
    negative = rng.multivariate_normal([0, 0], spread_n, 180_000)
    unlabeled = np.vstack([hidden, negative])
    matrix, target = module.auc_system(linear(labeled), linear(unlabeled), alpha, self_pairs=False)
    np.testing.assert_allclose(
        matrix, module.pair_matrix(linear(labeled), linear(negative)), atol=0.05
    )
    exact = np.linalg.solve(spread_p + spread_n, shift)
    assert cosine(np.linalg.solve(matrix, target), exact) > 0.9999


def test_every_ridge_is_solved_and_negative_eigenvalues_are_cut_off():
    rng = np.random.default_rng(0)
    half = rng.normal(size=(6, 6))
    sound, target, ridges = half @ half.T, rng.normal(size=6), [0.01, 0.1, 3.0]
    found = module.ridge_solutions(sound, target, ridges)
    for ridge, solution in zip(ridges, found.T, strict=True):
        np.testing.assert_allclose(
            solution, np.linalg.solve(sound + ridge * np.eye(6), target), rtol=1e-9
        )
    found = module.ridge_solutions(np.diag([2.0, -0.099]), np.ones(2), [0.1])[:, 0]
    assert found == pytest.approx([1 / 2.1, 1 / 0.1])


def test_blocks_add_up_to_the_whole(monkeypatch):
    rng = np.random.default_rng(0)
    rows, basis = rng.normal(size=(103, 4)), module.GaussianBasis(rng.normal(size=(7, 4)), 2.0)
    squares = ((rows[:, None] - basis.centers) ** 2).sum(axis=2)
    features = np.exp(-squares / 8)
    np.testing.assert_allclose(basis.features(rows), features, rtol=1e-12)
    monkeypatch.setattr(bases, "BLOCK_CELLS", 70)
    found = module.moments(rows, basis)
    np.testing.assert_allclose(found.outer, features.T @ features, rtol=1e-12)
    np.testing.assert_allclose(found.total, features.sum(axis=0), rtol=1e-12)
    weights = rng.normal(size=(7, 2))
    np.testing.assert_allclose(
        module.weighted_sums(rows, basis, weights), features @ weights, atol=1e-12
    )


def test_features_of_many_rows_are_never_held_together():
    n = 60_000
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    s = (rng.random(n) < 0.1).astype(int)
    model = PUAUL(n_basis=200, widths=[1.0], ridges=[0.1, 1.0], n_folds=2, random_state=0)
    tracemalloc.start()
    model.fit(X, s)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * 200 * 8 / 2


def test_candidates():
    areas = np.array([[0.1, 0.2, 0.5, 0.2, 0.9], [0.9, 0.2, 0.4, 0.3, 0.1]])
    assert module.best_candidate(areas, n_outer=1) == (0, 2)
    assert module.best_candidate(areas, n_outer=0) == (0, 4)
    areas[0, 2] = 0.0
    areas[1, 3] = 0.6  # the last inner one: the outer one beyond it counts, the other does not
    assert module.best_candidate(areas, n_outer=1) == (0, 4)
    areas[0, 1] = 0.7
    assert module.best_candidate(areas, n_outer=1) == (1, 0)


def test_equal_candidates_give_the_smoothest():
    assert module.best_candidate(np.full((3, 4), 0.5), n_outer=0) == (2, 3)
    areas = np.array([[0.5, 0.7, 0.7], [0.7, 0.7, 0.5]])
    assert module.best_candidate(areas, n_outer=0) == (0, 2)
    areas[1, 0] += 1e-15
    assert module.best_candidate(areas, n_outer=0) == (0, 2)


def test_validation_is_what_refitting_by_hand_gives(cancer):
    model = PUAUC(0.3, widths=[0.5, 1.0], ridges=[0.1, 1.0], n_folds=3, random_state=5)
    model.fit(cancer.X, cancer.s)
    rows = (cancer.X - cancer.X.mean(axis=0)) / cancer.X.std(axis=0)
    rng = np.random.default_rng(5)
    rng.integers(2**31)
    bases = model._bases(rows, rng)
    folds = module.PUStratifiedKFold(3, random_state=rng)
    splits = list(folds.split(rows, cancer.s))
    for row, basis in enumerate(bases):
        for column, ridge in enumerate([0.1, 1.0]):
            areas = []
            for train, test in splits:
                features, labels = basis.features(rows[train]), cancer.s[train]
                labeled, unlabeled = features[labels == 1], features[labels == 0]
                across = np.cov(labeled.T, bias=True) + np.cov(unlabeled.T, bias=True)
                gap = labeled.mean(axis=0) - unlabeled.mean(axis=0)
                across += np.outer(gap, gap)
                matrix = (across - 0.3 * 2 * np.cov(labeled.T)) / 0.7
                values, vectors = np.linalg.eigh(matrix)
                inverse = vectors / (np.maximum(values, 0) + ridge) @ vectors.T
                scores = basis.features(rows[test]) @ inverse @ gap / 0.7
                areas.append(metrics.aul(cancer.s[test], scores))
            assert model.validation_aul_[row, column] == pytest.approx(np.mean(areas), abs=1e-9)


def test_median_distance():
    rng = np.random.default_rng(0)
    assert module.median_distance(np.array([[0.0], [3.0]]), rng) == 3.0
    copies = np.vstack([np.zeros((50, 2)), [[3.0, 4.0]]])
    assert module.median_distance(copies, rng) == 5.0
    assert module.median_distance(np.zeros((9, 2)), rng) == 1.0


def test_breast_cancer():
    # 400 training rows with 14 labels: 0.946 +- 0.034 over ten splits in a check of our own.
    X, benign = load_breast_cancer(return_X_y=True)
    y = 1 - benign
    areas = {PUAUL: [], PUAUC: []}
    for seed in range(3):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(y))
        train, test = order[:400], order[400:]
        labeled = rng.choice(train[y[train] == 1], 14, replace=False)
        s = np.isin(train, labeled).astype(int)
        alpha = y[train][s == 0].mean()
        for cls, found in areas.items():
            model = cls(alpha, random_state=seed).fit(X[train], s)
            found.append(roc_auc_score(y[test], model.decision_function(X[test])))
    for found in areas.values():
        # Three splits have a standard error of 0.02 to 0.03.
        assert np.mean(found) == pytest.approx(0.945, abs=0.05)


def test_the_truth_has_no_way_in(cancer):
    names = ["self", "X", "s", "sample_weight", "y"]
    assert list(inspect.signature(PUAUL.fit).parameters) == names
    # By the name y tools of scikit-learn pass the labels, so both at once are refused.
    with pytest.raises(InvalidInputError, match="takes the labels once"):
        PUAUL().fit(cancer.X, cancer.s, y=cancer.y)
    # With labels at random among the rows there is nothing to find.
    s = np.random.default_rng(0).permutation(cancer.s)
    scores = PUAUL(random_state=0).fit(cancer.X[::2], s[::2]).decision_function(cancer.X[1::2])
    assert roc_auc_score(s[1::2], scores) == pytest.approx(0.5, abs=0.12)


def test_the_ranking_does_not_depend_on_alpha(cancer, fitted):
    plain = PUAUL(random_state=0).fit(cancer.X, cancer.s)
    np.testing.assert_allclose(
        plain.decision_function(cancer.X),
        fitted.decision_function(cancer.X) + fitted.threshold_,
        atol=1e-12,
    )
    assert plain.alpha_ is None
    assert plain.prior_ is None
    assert plain.threshold_ == 0.0


@BOTH
def test_predictions_cut_off_a_share_alpha_of_the_unlabeled_rows(cancer, cls):
    unlabeled = cancer.X[cancer.s == 0]
    for alpha in (0.0, 0.1, 0.5):
        model = cls(alpha, n_basis=50, random_state=0).fit(cancer.X, cancer.s)
        predicted = model.predict(unlabeled)
        assert predicted.mean() == pytest.approx(alpha, abs=1.5 / len(unlabeled))


def test_predictions_are_good_where_alpha_is(cancer, fitted):
    assert np.mean(fitted.predict(cancer.X) == cancer.y) > 0.93


def test_predict_without_alpha_says_what_to_do(cancer):
    model = PUAUL(random_state=0).fit(cancer.X, cancer.s)
    with pytest.raises(InvalidInputError, match=r"PUAUL\(alpha='estimate'\)") as caught:
        model.predict(cancer.X)
    assert "\n" not in str(caught.value)


def test_alpha_is_estimated(cancer):
    model = PUAUC(random_state=0).fit(cancer.X, cancer.s)
    assert isinstance(model.prior_, PriorEstimate)
    assert model.prior_.method == "auto"
    assert model.alpha_ == model.prior_.alpha
    # Nothing says that labels are random, so that alpha is what may be expected of any labels.
    low, high = model.prior_.interval
    assert low < cancer.alpha < high < low + 0.4
    random = estimate(cancer.s, X=cancer.X, labels_are="random", beta=1.0, random_state=0)
    told = PUAUC(random, n_basis=50, random_state=0).fit(cancer.X, cancer.s)
    assert told.alpha_ == pytest.approx(cancer.alpha, abs=0.1)
    again = PUAUC(model.prior_, random_state=0).fit(cancer.X, cancer.s)
    np.testing.assert_array_equal(
        again.decision_function(cancer.X), model.decision_function(cancer.X)
    )
    assert clone(again).alpha.alpha == model.alpha_


def test_too_few_rows_for_an_estimate(cancer):
    rows = np.r_[np.flatnonzero(cancer.s == 1)[:8], np.flatnonzero(cancer.s == 0)[:60]]
    with pytest.raises(InvalidInputError, match=r"cannot estimate alpha: .*as a number"):
        PUAUC().fit(cancer.X[rows], cancer.s[rows])
    PUAUC(0.3).fit(cancer.X[rows], cancer.s[rows])


def test_kernel_is_linear_for_many_features():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = rng.normal(size=(300, 1200))
    X[:, :40] += y[:, None]
    s = np.where(rng.random(300) < 0.5, 0, y)
    model = PUAUL(random_state=0).fit(X[:200], s[:200])
    assert isinstance(model.basis_, module.LinearBasis)
    assert model.width_ is None
    assert model.coef_.shape == (200,)
    assert roc_auc_score(y[200:], model.decision_function(X[200:])) > 0.85
    assert isinstance(PUAUL().fit(X[:, :9], s).basis_, module.GaussianBasis)


def test_the_span_of_the_rows_is_enough():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1100))
    s = np.repeat([1, 0], 30)
    model = PUAUL(ridges=[1.0], random_state=0).fit(X, s)
    rows = (X - X.mean(axis=0)) / X.std(axis=0)
    w = module.ridge_solutions(*module.aul_system(linear(rows[:30]), linear(rows[30:])), [1.0])
    np.testing.assert_allclose(model.decision_function(X), rows @ w[:, 0], atol=1e-9)


def test_a_single_candidate_needs_no_folds():
    X, s = np.array([[0.0], [1.0], [2.0]]), [1, 0, 0]
    model = PUAUL(widths=[1.0], ridges=[0.1]).fit(X, s)
    assert np.isnan(model.validation_aul_).all()
    assert model.ridge_ == 0.1
    assert np.argmax(model.decision_function(X)) == 0
    with pytest.raises(InvalidInputError, match=r"two different labeled .* Got 1 and 2 in 3"):
        PUAUL().fit(X, s)


def test_copies_of_labeled_rows_among_the_unlabeled_ones(cancer):
    X = np.vstack([cancer.X[cancer.s == 1], cancer.X])
    s = np.repeat([1, 0], [int(cancer.s.sum()), len(cancer.s)])
    model = PUAUL(random_state=0).fit(X, s)
    assert roc_auc_score(cancer.y, model.decision_function(cancer.X)) > 0.95


@BOTH
def test_same_seed_same_scores(cancer, cls):
    first, second = (
        cls(0.2, n_basis=50, random_state=3).fit(cancer.X, cancer.s).decision_function(cancer.X)
        for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)
    other = cls(0.2, n_basis=50, random_state=4).fit(cancer.X, cancer.s).decision_function(cancer.X)
    assert not np.array_equal(first, other)


def test_scale_of_features_does_not_matter(cancer, fitted):
    model = PUAUL(cancer.alpha, random_state=0).fit(cancer.X * 1024, cancer.s)
    np.testing.assert_allclose(
        model.decision_function(cancer.X * 1024), fitted.decision_function(cancer.X), rtol=1e-6
    )


def test_frames(cancer, fitted):
    names = [f"f{i}" for i in range(cancer.X.shape[1])]
    expected = fitted.decision_function(cancer.X)
    for frame in (pd.DataFrame(cancer.X, columns=names), pl.DataFrame(cancer.X, schema=names)):
        model = PUAUL(cancer.alpha, random_state=0).fit(frame, cancer.s)
        assert list(model.feature_names_in_) == names
        np.testing.assert_allclose(model.decision_function(frame), expected, atol=1e-10)


def test_sparse_rows_are_refused_in_one_line(cancer, fitted):
    for refuse in (
        lambda: PUAUL(kernel="gaussian").fit(csr_matrix(cancer.X), cancer.s),
        lambda: fitted.decision_function(csr_matrix(cancer.X)),
    ):
        with pytest.raises((TypeError, InvalidInputError), match="toarray") as caught:
            refuse()
        assert "\n" not in str(caught.value)


def test_in_pipelines_searches_and_wrappers(cancer):
    pipe = make_pipeline(MinMaxScaler(), PUAUL(widths=[1.0], random_state=0))
    search = GridSearchCV(pipe, {"puaul__n_basis": [2, 50]}, cv=3).fit(cancer.X, cancer.s)
    assert search.best_params_ == {"puaul__n_basis": 50}
    assert search.score(cancer.X, cancer.s) == pytest.approx(
        metrics.aul(cancer.s, search.decision_function(cancer.X))
    )
    scores = cross_val_predict(pipe, cancer.X, cancer.s, cv=3, method="decision_function")
    assert roc_auc_score(cancer.y, scores) > 0.95
    tuned = TunedThreshold(PUAUL(random_state=0), metric="f1", alpha=cancer.alpha, random_state=0)
    assert np.mean(tuned.fit(cancer.X, cancer.s).predict(cancer.X) == cancer.y) > 0.9


def test_there_are_no_probabilities(fitted):
    assert not hasattr(fitted, "predict_proba")


def test_pickle(cancer, fitted):
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(
        again.decision_function(cancer.X), fitted.decision_function(cancer.X)
    )


def test_not_fitted(cancer):
    with pytest.raises(NotFittedError):
        PUAUL().predict(cancer.X)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kernel": "cubic"}, "kernel to be one of 'gaussian', 'linear', 'auto'. Got 'cubic'"),
        ({"n_basis": 0}, "n_basis to be a whole number of at least 1, or 'auto'. Got 0"),
        ({"n_basis": "many"}, "Got 'many'"),
        ({"n_folds": 1}, "n_folds to be a whole number of at least 2. Got 1"),
        ({"widths": []}, r"widths to be a list of numbers above 0: .* Got \[\]"),
        ({"widths": 1.0}, "Got 1.0"),
        ({"ridges": [0.0]}, r"ridges .* Got \[0.0\]"),
        ({"ridges": ["a"]}, r"ridges .* Got \['a'\]"),
    ],
)
def test_settings_that_cannot_work(cancer, settings, message):
    with pytest.raises(InvalidInputError, match=f"PUAUL.fit needs {message}|{message}") as caught:
        PUAUL(**settings).fit(cancer.X, cancer.s)
    assert "\n" not in str(caught.value)


@each_check(PUAUL(alpha=0.1, n_basis=50))
def test_scikit_learn_checks_aul(estimator, check):
    passes_unless_expected(estimator, check)


@each_check(PUAUC(alpha=0.1, n_basis=50))
def test_scikit_learn_checks_auc(estimator, check):
    passes_unless_expected(estimator, check)
