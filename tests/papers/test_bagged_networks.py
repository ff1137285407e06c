import pickle
import sys
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from threadpoolctl import threadpool_limits

from estimator_checks import each_check, passes_unless_expected
from papers import bagged_networks as module
from papers.bagged_networks import BaggedNetworks
from recoup import metrics
from recoup.exceptions import InvalidInputError, MissingDependencyError
from recoup.learners import TunedThreshold
from recoup.scores import PUStratifiedKFold, crossfit

PROGRAMS = [module._Numpy] + ([module._Torch] if find_spec("torch") else [])


def hide(y, share, seed=0):
    """Take the labels of a share of the positives away."""
    return np.where(np.random.default_rng(seed).random(len(y)) < share, 0, y)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return SimpleNamespace(X=X, y=y, s=hide(y, 0.6))


@pytest.fixture(scope="module")
def fitted(cancer):
    return BaggedNetworks(n_members=30, random_state=0).fit(cancer.X, cancer.s)


def bags_of(model, X, s):
    """Draw the bags of a fitted model again."""
    labeled = np.asarray(s) == 1
    draw = module._Draw.from_rows(np.asarray(X, float), labeled, model.validation_fraction, "test")
    seeds = np.random.default_rng(model.random_state).spawn(model.n_members)
    return np.stack([draw.bag(seed) for seed in seeds])


def logits_by_hand(model, X):
    """Run rows through every member, one at a time and in double precision."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    Z = np.column_stack([Z, np.ones(len(Z))])
    pairs = zip(model.hidden_weights_, model.output_weights_, strict=True)
    return np.stack([np.tanh(Z @ hidden.T) @ output[:-1] + output[-1] for hidden, output in pairs])


def small_problem(seed=0, n_rows=23, n_members=3, n_hidden=4, n_inputs=3):
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.normal(size=(n_rows, n_inputs)), np.ones(n_rows)])
    weights = module._Weights(
        rng.normal(size=(n_members, n_hidden, n_inputs + 1)),
        rng.normal(size=(n_members, n_hidden + 1)),
    )
    bags = rng.integers(-3, 4, (n_members, n_rows)).astype(np.int8)
    return rows, rng.random(n_rows) < 0.4, weights, bags


def loss_by_hand(rows, labeled, hidden, output, counts):
    """Cross-entropy of one member, with counts of rows as weights."""
    p = expit(np.tanh(rows @ hidden.T) @ output[:-1] + output[-1])
    return -np.sum(counts * np.log(np.where(labeled, p, 1 - p)))


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("cells", [1, 2**17])
def test_slopes_are_those_of_finite_differences(program, cells, monkeypatch):
    monkeypatch.setattr(module, "CHUNK_CELLS", cells)
    monkeypatch.setattr(module, "TORCH_CELLS", cells)
    rows, labeled, weights, bags = small_problem(n_rows=150)
    running = program(rows, labeled)
    losses, slopes = running.losses_and_slopes(weights, running.place(bags))
    for member, counts in enumerate(bags):
        hidden, output = weights.hidden[member], weights.output[member]
        held_out = loss_by_hand(rows, labeled, hidden, output, np.maximum(-counts, 0))
        assert losses[member] == pytest.approx(held_out, rel=1e-9)
        for values, found in ((hidden, slopes.hidden[member]), (output, slopes.output[member])):
            for place in np.ndindex(values.shape):
                ends = []
                for move in (1e-5, -1e-5):
                    values[place] += move
                    counted = np.maximum(counts, 0)
                    ends.append(loss_by_hand(rows, labeled, hidden, output, counted))
                    values[place] -= move
                expected = (ends[0] - ends[1]) / 2e-5
                assert found[place] == pytest.approx(expected, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("program", PROGRAMS)
def test_single_precision_is_enough_for_slopes(program):
    rows, labeled, weights, bags = small_problem(n_rows=2000)
    exact = module._Numpy(rows, labeled).losses_and_slopes(weights, bags)
    single = module._Weights(weights.hidden.astype("f4"), weights.output.astype("f4"))
    running = program(rows.astype("f4"), labeled)
    losses, slopes = running.losses_and_slopes(single, running.place(bags))
    np.testing.assert_allclose(losses, exact[0], rtol=1e-5)
    for found, expected in zip(slopes, exact[1], strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max())


def test_hopeless_rows_have_finite_losses():
    rows, labeled, weights, bags = small_problem()
    weights.output[:] *= 1e4
    losses, slopes = module._Numpy(rows.astype("f4"), labeled).losses_and_slopes(
        module._Weights(weights.hidden.astype("f4"), weights.output.astype("f4")), bags
    )
    assert np.isfinite(losses).all()
    assert np.isfinite(slopes.hidden).all()


def test_steps_of_rprop():
    """Grow by 1.2 while the sign stays, halve and rest when it turns, go on at that size."""
    weights, slopes, steps = np.zeros(1), np.zeros(1), np.full(1, 0.01)
    expected = [
        # new slope, step, weight, slope that is remembered
        (5.0, 0.01, -0.01, 5.0),
        (0.1, 0.012, -0.022, 0.1),
        (3.0, 0.0144, -0.0364, 3.0),
        (-2.0, 0.0072, -0.0364, 0.0),
        (-2.0, 0.0072, -0.0292, -2.0),
        (-2.0, 0.00864, -0.02056, -2.0),
        (0.0, 0.00864, -0.02056, 0.0),
    ]
    for slope, step, weight, remembered in expected:
        module._rprop(weights, np.array([slope]), slopes, steps)
        assert (steps[0], weights[0], slopes[0]) == pytest.approx((step, weight, remembered))


def test_steps_have_limits():
    steps = np.array([49.0, 1.5e-6])
    module._rprop(np.zeros(2), np.ones(2), np.array([1.0, -1.0]), steps)
    assert steps.tolist() == [50.0, 1e-6]


def test_the_best_weights_are_kept(cancer, fitted):
    logits = logits_by_hand(fitted, cancer.X)
    losses = np.logaddexp(0, np.where(cancer.s == 1, -logits, logits))
    held = np.maximum(-bags_of(fitted, cancer.X, cancer.s), 0)
    at_the_end = (losses * held).sum(axis=1) / held.sum(axis=1)
    np.testing.assert_allclose(at_the_end, np.nanmin(fitted.loss_curve_, axis=0), rtol=1e-4)


def test_members_stop_when_patience_is_over(fitted):
    best = np.nanargmin(fitted.loss_curve_, axis=0)
    np.testing.assert_array_equal(fitted.n_epochs_, best + fitted.patience + 1)
    np.testing.assert_array_equal(np.isfinite(fitted.loss_curve_).sum(axis=0), fitted.n_epochs_)
    assert len(fitted.loss_curve_) == fitted.n_epochs_.max()
    assert len(set(fitted.n_epochs_.tolist())) > 3


def test_max_epochs_ends_it_in_any_case(cancer):
    model = BaggedNetworks(n_members=3, max_epochs=4, random_state=0).fit(cancer.X, cancer.s)
    assert model.n_epochs_.tolist() == [4, 4, 4]
    assert model.loss_curve_.shape == (4, 3)
    one = BaggedNetworks(n_members=3, max_epochs=1, random_state=0).fit(cancer.X, cancer.s)
    assert np.array_equal(one.loss_curve_, model.loss_curve_[:1])


def test_members_that_stop_do_not_touch_the_others():
    rows, labeled, weights, bags = small_problem(n_rows=60, n_members=6)
    program = module._Numpy(rows, labeled)
    together = module._train(program, bags, weights.of(np.arange(6)), 200, 5)
    assert len(set(together.n_epochs.tolist())) > 1
    for member in range(6):
        one = np.array([member])
        alone = module._train(program, bags[one], weights.of(one), 200, 5)
        assert alone.n_epochs[0] == together.n_epochs[member]
        for found, expected in zip(alone.best, together.best, strict=True):
            np.testing.assert_allclose(found[0], expected[member], rtol=1e-6, atol=1e-9)


def test_bags_are_bootstrap_samples_with_a_quarter_held_out(cancer, fitted):
    bags = bags_of(fitted, cancer.X, cancer.s)
    for labeled in (True, False):
        part = bags[:, (cancer.s == 1) == labeled]
        np.testing.assert_array_equal(np.abs(part).sum(axis=1), part.shape[1])
        drawn, held = (part != 0).sum(axis=1), (part < 0).sum(axis=1)
        np.testing.assert_array_equal(held, drawn // 4)
    assert np.mean(bags == 0) == pytest.approx(np.exp(-1), abs=0.01)


def test_copies_of_a_row_share_their_fate():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    s = np.arange(100) % 2
    X, s = np.vstack([X, X[s == 1]]), np.append(s, np.zeros(50, int))
    model = BaggedNetworks(n_members=20, max_epochs=3, random_state=0).fit(X, s)
    bags = bags_of(model, X, s)
    np.testing.assert_array_equal(bags[:, 100:], bags[:, 1:100:2])
    # Single precision: the last digits of a score depend on where a row stands among the others.
    np.testing.assert_allclose(model.oob_scores_[100:], model.oob_scores_[1:100:2], rtol=1e-6)


def test_an_unlabeled_copy_of_a_labeled_row_is_not_recognized():
    """Labels without any pattern: members that saw a copy would know the other."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 60))
    s = (np.arange(300) < 60).astype(int)
    X, s = np.vstack([X, X[:60]]), np.append(s, np.zeros(60, int))
    model = BaggedNetworks(n_members=30, random_state=0).fit(X, s)
    copies = np.arange(60, 360) >= 300
    assert roc_auc_score(copies, model.predict_proba(X)[60:, 1]) > 0.7
    assert roc_auc_score(copies, model.oob_scores_[60:]) < 0.6


def test_out_of_bag_scores_are_those_of_members_without_the_row(cancer, fitted):
    outside = bags_of(fitted, cancer.X, cancer.s) == 0
    np.testing.assert_array_equal(fitted.oob_counts_, outside.sum(axis=0))
    p = expit(logits_by_hand(fitted, cancer.X))
    expected = (p * outside).sum(axis=0) / outside.sum(axis=0)
    assert outside.any(axis=0).all()
    np.testing.assert_allclose(fitted.oob_scores_, expected, atol=1e-5)
    np.testing.assert_allclose(fitted.predict_proba(cancer.X)[:, 1], p.mean(axis=0), atol=1e-5)


def test_rows_in_every_bag_get_the_mean_score(cancer):
    model = BaggedNetworks(n_members=2, random_state=0).fit(cancer.X, cancer.s)
    never = model.oob_counts_ == 0
    assert never.sum() > 100
    assert set(model.oob_scores_[never]) == {model.oob_scores_[~never].mean()}


def test_four_rows_are_enough():
    model = BaggedNetworks(n_members=5, random_state=0).fit(
        [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    )
    assert np.isfinite(model.oob_scores_).all()
    assert np.isfinite(model.loss_curve_[0]).all()


@pytest.mark.parametrize("name", ["cancer", "digits"])
def test_it_ranks_rows_as_well_as_bagged_networks_of_scikit_learn(name):
    """Out of bag, on average over draws of labels, with as many members and units."""
    X, y = (load_breast_cancer if name == "cancer" else load_digits)(return_X_y=True)
    y = y if name == "cancer" else (y >= 5).astype(int)
    network = MLPClassifier((7,), "tanh", early_stopping=True, validation_fraction=0.25)
    rivals = {
        "ours": BaggedNetworks(n_members=15),
        "theirs": BaggingClassifier(make_pipeline(StandardScaler(), network), 15),
    }
    areas = {}
    for rival, model in rivals.items():
        found = [crossfit(model, X, hide(y, 0.5, seed), method="oob") for seed in range(2)]
        areas[rival] = np.mean([(each.auc_pu, roc_auc_score(y, each.scores)) for each in found], 0)
    assert (areas["ours"] > areas["theirs"] - 0.01).all()
    assert areas["ours"][1] > (0.98 if name == "cancer" else 0.93)


def test_a_seed_makes_fits_the_same(cancer, fitted):
    again = clone(fitted).fit(cancer.X, cancer.s)
    np.testing.assert_array_equal(again.oob_scores_, fitted.oob_scores_)
    np.testing.assert_array_equal(again.hidden_weights_, fitted.hidden_weights_)
    other = clone(fitted).set_params(random_state=1).fit(cancer.X, cancer.s)
    assert not np.array_equal(other.oob_scores_, fitted.oob_scores_)
    fresh = [clone(other).set_params(random_state=None, n_members=2) for _ in range(2)]
    first, second = (model.fit(cancer.X, cancer.s).oob_scores_ for model in fresh)
    assert not np.array_equal(first, second)


def test_the_number_of_threads_changes_nothing(cancer, fitted):
    assert len(module._blocks(30, 7, module._Numpy)) > 2
    for n_threads in (1, 3):
        with threadpool_limits(n_threads, user_api="blas"):
            again = clone(fitted).fit(cancer.X, cancer.s)
            np.testing.assert_array_equal(again.oob_scores_, fitted.oob_scores_)
            p = again.predict_proba(cancer.X)
        np.testing.assert_array_equal(p, fitted.predict_proba(cancer.X))


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_generators_move_on(make, cancer):
    model = BaggedNetworks(n_members=2, max_epochs=3, random_state=make(0))
    first, second = (model.fit(cancer.X, cancer.s).oob_scores_ for _ in range(2))
    assert not np.array_equal(first, second)


def test_members_are_the_same_in_a_larger_ensemble(cancer, fitted):
    few = clone(fitted).set_params(n_members=5)
    np.testing.assert_array_equal(
        bags_of(few, cancer.X, cancer.s), bags_of(fitted, cancer.X, cancer.s)[:5]
    )


def test_predictions_agree_with_one_another(cancer, fitted):
    p = fitted.predict_proba(cancer.X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_allclose(expit(fitted.decision_function(cancer.X)), p[:, 1])
    np.testing.assert_array_equal(fitted.predict(cancer.X), p[:, 1] > 0.5)
    assert fitted.classes_.tolist() == [0, 1]
    assert fitted.n_features_in_ == 30


def test_many_rows_go_through_in_chunks(cancer, fitted, monkeypatch):
    whole = fitted.predict_proba(cancer.X)
    monkeypatch.setattr(module, "CHUNK_CELLS", 1)
    np.testing.assert_allclose(fitted.predict_proba(cancer.X), whole, atol=1e-6)


def test_known_negatives_are_zero_to_the_networks(cancer, fitted):
    s = cancer.s.copy()
    s[np.flatnonzero(cancer.y == 0)[::2]] = -1
    again = clone(fitted).fit(cancer.X, s)
    np.testing.assert_array_equal(again.oob_scores_, fitted.oob_scores_)


def test_score_is_aul(cancer, fitted):
    scores = fitted.predict_proba(cancer.X)[:, 1]
    assert fitted.score(cancer.X, cancer.s) == pytest.approx(metrics.aul(cancer.s, scores))
    weights = np.linspace(1, 2, len(scores))
    expected = metrics.aul(cancer.s, scores, sample_weight=weights)
    assert fitted.score(cancer.X, cancer.s, sample_weight=weights) == pytest.approx(expected)


def test_scales_and_shifts_of_features_do_not_matter(cancer, fitted):
    moved = clone(fitted).fit(cancer.X * 2.0**20 + 8.0, cancer.s)
    difference = np.abs(moved.oob_scores_ - fitted.oob_scores_)
    assert np.mean(difference) < 0.01


def test_odd_columns_and_far_values_are_harmless(cancer):
    X = np.column_stack([cancer.X[:, :3], np.full(len(cancer.X), 7.0)])
    model = BaggedNetworks(n_members=3, max_epochs=20, random_state=0).fit(X, cancer.s)
    assert np.isfinite(model.oob_scores_).all()
    far = model.predict_proba([[1e300, -1e300, 1e300, 0.0], [0.0, 0.0, 0.0, -1e300]])
    assert np.isfinite(far).all()


def test_it_survives_clone_and_pickle(cancer, fitted):
    assert not hasattr(clone(fitted), "oob_scores_")
    back = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(back.predict_proba(cancer.X), fitted.predict_proba(cancer.X))


def test_it_works_in_pipelines_and_searches(cancer):
    model = BaggedNetworks(n_members=5, random_state=0)
    pipeline = make_pipeline(MinMaxScaler(), model)
    search = GridSearchCV(
        pipeline, {"baggednetworks__n_hidden": [1, 5]}, cv=PUStratifiedKFold(2, random_state=0)
    ).fit(cancer.X, cancer.s)
    assert search.best_score_ > 0.6
    tuned = TunedThreshold(model, alpha=cancer.y[cancer.s == 0].mean(), cv=2, random_state=0)
    assert np.mean(tuned.fit(cancer.X, cancer.s).predict(cancer.X) == cancer.y) > 0.9


def test_column_names_are_kept(cancer):
    frame = pd.DataFrame(cancer.X).add_prefix("x")
    model = BaggedNetworks(n_members=2, max_epochs=2).fit(frame, pd.Series(cancer.s))
    assert model.feature_names_in_.tolist() == frame.columns.tolist()


def test_torch_is_asked_for_politely(cancer, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingDependencyError, match=r"backend='torch'.*recoup\[torch\]"):
        BaggedNetworks(backend="torch").fit(cancer.X, cancer.s)
    assert module._program("auto", "test") is module._Numpy


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_train_the_same_networks(program):
    rows, labeled, weights, bags = small_problem(n_rows=80, n_members=5)
    expected = module._train(module._Numpy(rows, labeled), bags, weights.of(np.arange(5)), 60, 5)
    found = module._train(program(rows, labeled), bags, weights.of(np.arange(5)), 60, 5)
    np.testing.assert_allclose(found.curve, expected.curve, rtol=1e-6)
    np.testing.assert_allclose(found.oob_sums, expected.oob_sums, rtol=1e-6)
    np.testing.assert_array_equal(found.oob_counts, expected.oob_counts)


@each_check(BaggedNetworks(n_members=10, max_epochs=60, random_state=0))
def test_scikit_learn_checks(estimator, check):
    passes_unless_expected(estimator, check)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_hidden": 0}, "n_hidden to be a whole number of at least 1. Got 0"),
        ({"n_members": 2.5}, "n_members to be a whole number"),
        ({"max_epochs": None}, "max_epochs to be a whole number"),
        ({"patience": 0}, "patience"),
        ({"validation_fraction": 1.0}, "a number above 0 and below 1"),
        ({"backend": "jax"}, "'numpy', 'torch' or 'auto'. Got jax"),
    ],
)
def test_wrong_settings_are_explained(settings, message, cancer):
    with pytest.raises(InvalidInputError, match=f"BaggedNetworks.fit needs .*{message}"):
        BaggedNetworks(**settings).fit(cancer.X, cancer.s)


@pytest.mark.parametrize(
    ("X", "s", "message"),
    [
        (np.arange(4.0)[:, None], [1, 1, 1, 1], "labeled and unlabeled rows"),
        (np.arange(4.0)[:, None], [1, 0, 2, 0], "Got 2 in 1 of 4 rows"),
        (np.arange(4.0)[:, None], [1, 1, 0], "X and s.*4 and 3"),
        (np.arange(4.0)[:, None], [1, 0, 0, 0], "two different labeled.*Got 1 and 3"),
        ([[1.0], [1.0], [2.0], [3.0]], [1, 1, 0, 0], "Got 1 and 2 in 4"),
    ],
)
def test_rows_that_cannot_work_are_explained(X, s, message):
    with pytest.raises(InvalidInputError, match=message):
        BaggedNetworks().fit(X, s)


def test_it_must_be_fitted_first(cancer):
    with pytest.raises(NotFittedError):
        BaggedNetworks().predict(cancer.X)
