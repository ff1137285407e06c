"""The training loop that all networks share."""

import json
import pickle

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from sklearn.base import clone
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

from recoup import learners
from recoup.exceptions import InvalidInputError
from recoup.learners import NNPU, PUSB, UPU, VPU
from recoup.learners._training import stages
from recoup.learners._training.networks import NETWORKS, network_for
from recoup.learners._training.places import places_of

QUICK = {"alpha": 0.3, "epochs": 3, "guard": "off", "random_state": 0}


def small(shape):
    return nn.Sequential(nn.Linear(shape[0], 8), nn.ReLU(), nn.Linear(8, 1))


def rows(n=600, seed=0, shift=2.0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.5).astype(int)
    X = rng.normal(size=(n, 3))
    X[:, 0] += shift * y
    return X, (y * (rng.random(n) < 0.4)).astype(int), y


@pytest.fixture(scope="module")
def fitted():
    X, s, _ = rows()
    return NNPU(network=small, **QUICK).fit(X, s), X, s


def test_the_same_seed_gives_the_same_bits(fitted):
    learner, X, s = fitted
    again = clone(learner).fit(X, s)
    assert np.array_equal(again.decision_function(X), learner.decision_function(X))
    other = clone(learner).set_params(random_state=1).fit(X, s)
    assert not np.array_equal(other.decision_function(X), learner.decision_function(X))


def test_a_fit_leaves_random_numbers_of_others_alone():
    X, s, _ = rows()
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    NNPU(network=small, **QUICK).fit(X, s)
    assert torch.equal(torch.rand(3), expected)


def test_data_frames_and_single_precision(fitted):
    import pandas as pd
    import polars as pl

    learner, X, s = fitted
    names = ["a", "b", "c"]
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        found = clone(learner).fit(frame, s)
        assert list(found.feature_names_in_) == names
        assert np.array_equal(found.decision_function(frame), learner.decision_function(X))
    single = clone(learner).fit(X.astype(np.float32), s)
    assert np.allclose(single.decision_function(X), learner.decision_function(X), atol=1e-3)


def test_works_in_a_pipeline_and_a_grid_search():
    X, s, _ = rows(300)
    pipeline = make_pipeline(StandardScaler(), NNPU(network=small, **QUICK))
    search = GridSearchCV(pipeline, {"nnpu__learning_rate": [1e-4, 1e-2]}, cv=2).fit(X, s)
    assert search.best_params_ == {"nnpu__learning_rate": 1e-2}


def test_probabilities_follow_decisions(fitted):
    learner, X, _ = fitted
    decisions, chances = learner.decision_function(X), learner.predict_proba(X)
    assert np.allclose(chances[:, 1], 1 / (1 + np.exp(-decisions)))
    assert np.array_equal(learner.predict(X), (decisions > 0).astype(int))


@pytest.mark.parametrize("scheme", ["single-sample", "case-control"])
def test_the_population_is_that_of_the_scheme(scheme):
    X, s, _ = rows()
    learner = UPU(network=small, scheme=scheme, **QUICK).fit(X, s)
    expected = 0.3 if scheme == "case-control" else (s.sum() + 0.3 * (s == 0).sum()) / len(s)
    assert learner.pi_ == pytest.approx(expected)


def test_kept_weights_are_the_best_on_held_out_rows():
    X, s, _ = rows()
    learner = NNPU(network=small, **QUICK | {"epochs": 12, "learning_rate": 0.05}).fit(X, s)
    selection = [epoch["selection"] for epoch in learner.history_]
    assert learner.best_epoch_ == np.argmax(selection) + 1
    stopped = clone(learner).set_params(patience=2, epochs=60).fit(X, s)
    assert len(stopped.history_) < 60
    assert len(stopped.history_) == stopped.best_epoch_ + 2


def test_without_held_out_rows_the_last_weights_stay():
    X, s, _ = rows()
    for change in ({"validation_fraction": 0.0}, {"validation_fraction": 0.01}):
        learner = NNPU(network=small, **QUICK, **change).fit(X, s)
        assert "selection" not in learner.history_[0]
        assert learner.best_epoch_ == 3


def test_copies_of_a_row_are_held_out_together():
    X, s, _ = rows(300)
    twins = np.vstack([X, X[s == 1]]), np.append(s, np.zeros(int(s.sum()), int))
    learner = NNPU(network=small, **QUICK)
    learner.shape_ = (3,)
    held = learner._held_out(*twins, np.random.default_rng(0))
    places = np.flatnonzero(s == 1)
    assert np.array_equal(held[places], held[300:])
    assert held[:300].any()


@pytest.mark.parametrize("select", ["accuracy", "auc", "loss"])
def test_selection_rules(select):
    X, s, _ = rows()
    learner = NNPU(network=small, select=select, **QUICK).fit(X, s)
    assert np.isfinite([epoch["selection"] for epoch in learner.history_]).all()


def test_recovered_accuracy_is_unbiased():
    # Of a single sample with pi 0.4 and a quarter of the positives labeled: true positive rate
    # 0.7 and true negative rate 0.9 make an accuracy of 0.82, whatever the labels.
    n = 100_000
    y = np.arange(n) < 0.4 * n
    s = (y & (np.arange(n) % 4 == 0)).astype(int)
    flagged = np.where(y, (np.arange(n) // 4) % 10 < 7, (np.arange(n) // 4) % 10 < 1)
    X = np.where(flagged, 1.0, -1.0)[:, None]
    learner = NNPU(alpha=0.3 / 0.9, network=lambda shape: nn.Identity(), standardize=False)
    learner.alpha_, learner.shape_ = learner.alpha, (1,)
    learner.pi_ = learner._population_share(s)
    learner.center_, learner.spread_ = np.float32(0), np.float32(1)
    learner.network_ = nn.Identity()
    device = torch.device("cpu")

    from recoup.learners._training.stages import TrainingRows

    places = places_of(s, np.ones(n, bool), "single-sample", device)
    judge = learner.set_params(select="accuracy")._judge(
        TrainingRows(learner._tensor(X, device), *places), "test"
    )
    assert learner.pi_ == pytest.approx(0.4)
    assert judge() == pytest.approx(0.82, abs=1e-4)


def test_an_oracle_selects_by_true_classes_and_only_by_name():
    X, s, _ = rows()
    learner = NNPU(network=small, **QUICK | {"epochs": 8, "learning_rate": 0.02})
    X_new, _, y_new = rows(seed=1)
    learner.fit(X, s, oracle=(X_new, y_new))
    reached = f1_score(y_new, learner.predict(X_new), average="macro")
    assert max(epoch["selection"] for epoch in learner.history_) == pytest.approx(reached)
    assert not hasattr(learner, "_oracle")
    with pytest.raises(InvalidInputError, match="rows and their classes"):
        learner.fit(X, s, oracle=(X_new, y_new[:-1]))


def test_warm_start_goes_on():
    X, s, _ = rows()
    whole = NNPU(network=small, warm_start=True, **QUICK).fit(X, s)
    first = whole.decision_function(X)
    second = whole.fit(X, s).decision_function(X)
    assert not np.array_equal(first, second)
    cold = clone(whole).set_params(warm_start=False).fit(X, s)
    assert np.array_equal(cold.decision_function(X), first)


def test_large_images_are_scored_fewer_at_a_time(monkeypatch):
    X, s, _ = rows()
    learner = NNPU(network=small, **QUICK).fit(X, s)
    whole = learner.decision_function(X)
    sizes = []
    monkeypatch.setattr(stages, "VALUES_AT_ONCE", 7 * X.shape[1])
    kept = learner._scores

    def counted(part, *others, **named):
        sizes.append(len(part))
        return kept(part, *others, **named)

    monkeypatch.setattr(learner, "_scores", counted)
    assert learner.decision_function(X) == pytest.approx(whole, abs=1e-5)
    assert max(sizes) == 7
    monkeypatch.undo()
    assert stages.scored_at_once(np.empty((0, 1, 128, 128))) == 1024
    assert stages.scored_at_once(np.empty((0, 1, 28, 28))) == stages.SCORED_AT_ONCE


def test_networks_take_their_rows():
    shapes = {"mlp": (7,), "lenet": (1, 28, 28), "cifar-cnn": (3, 32, 32), "mri-cnn": (1, 64, 64)}
    assert set(shapes) == set(NETWORKS)
    for name, shape in shapes.items():
        made, chosen = (network_for(shape, wanted, "test").eval() for wanted in (name, None))
        assert made(torch.zeros(2, *shape)).shape == (2, 1)
        assert [type(part) for part in made] == [type(part) for part in chosen]


def test_images():
    rng = np.random.default_rng(0)
    s = (np.arange(80) < 25).astype(int)
    X = rng.normal(size=(80, 1, 28, 28)).astype(np.float32) + s[:, None, None, None]
    learner = NNPU(**QUICK).fit(X, s)
    assert learner.decision_function(X).shape == (80,)
    with pytest.raises(InvalidInputError, match=r"shape that it was fitted on, \(1, 28, 28\)"):
        learner.decision_function(X[..., :-1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epochs": 0}, "epochs to be a whole number of at least 1. Got 0"),
        ({"batch_size": 2.5}, "batch_size"),
        ({"learning_rate": -1.0}, "learning_rate"),
        (
            {"validation_fraction": 0.7},
            "validation_fraction to be a number of at least 0 and at most 0.5. Got 0.7",
        ),
        ({"select": "f1"}, "select to be one of"),
        ({"optimizer": "lbfgs"}, "optimizer to be one of"),
        ({"scheme": "both"}, "scheme"),
        ({"network": "mpl"}, r"network to be one of .* Got 'mpl'. Did you mean 'mlp'\?"),
        ({"network": "lenet"}, "channels, height and width"),
        ({"network": 7}, "function that takes the shape"),
        ({"device": "cuda:77"}, "cannot compute on the device 'cuda:77'"),
        ({"device": "abacus"}, "cannot compute on the device 'abacus'"),
        ({"learning_rate": 1e12, "standardize": False}, "lost its way"),
        ({"loss": "hinge"}, "loss to be one of"),
        ({"ascent_share": 2.0}, "ascent_share to be a number of at least 0 and at most 1"),
        ({"correction": "none"}, "correction"),
    ],
)
def test_settings_that_cannot_work(change, message):
    X, s, _ = rows(200)
    learner = NNPU(network=small, **QUICK).set_params(**change)
    if "learning_rate" in change and change["learning_rate"] > 1:
        learner.set_params(loss="squared")
    with pytest.raises(InvalidInputError, match=message) as caught:
        learner.fit(1e6 * X if "standardize" in change else X, s)
    assert "\n" not in str(caught.value)


def test_torch_that_is_missing_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"pip install 'recoup\[torch\]'"):
        NNPU(**QUICK).fit(*rows(100)[:2])


@pytest.mark.parametrize("key", ["nnpu", "pusb", "upu", "vpu"])
def test_saved_learners_answer_alike(key, tmp_path):
    X, s, _ = rows()
    learner = learners.make(key, epochs=2, random_state=0)
    if "alpha" in learner.get_params():
        learner.set_params(alpha=0.3)
    learner.fit(X, s)
    found = learners.load(learners.save(learner, tmp_path / "model"))
    assert type(found) is type(learner)
    assert found.get_params() == learner.get_params()
    for name in ("decision_function", "predict", "predict_proba"):
        assert np.array_equal(getattr(found, name)(X), getattr(learner, name)(X))
    copied = pickle.loads(pickle.dumps(learner))
    assert np.array_equal(copied.decision_function(X), learner.decision_function(X))


def test_a_network_of_ones_own_is_passed_again(fitted, tmp_path):
    learner, X, _ = fitted
    folder = learners.save(learner, tmp_path)
    with pytest.raises(InvalidInputError, match="needs network, which"):
        learners.load(folder)
    with pytest.raises(InvalidInputError, match="do not fit the network"):
        learners.load(folder, network="mlp")
    found = learners.load(folder, network=small)
    assert np.array_equal(found.predict(X), learner.predict(X))


@pytest.mark.parametrize("harm", ["absent", "half", "no json", "strange name", "unknown learner"])
def test_folders_that_hold_no_learner(harm, fitted, tmp_path):
    folder = learners.save(fitted[0], tmp_path)
    numbers, facts = tmp_path / "learner.safetensors", tmp_path / "learner.json"
    if harm == "absent":
        numbers.unlink()
    elif harm == "half":
        numbers.write_bytes(numbers.read_bytes()[:50])
    elif harm == "no json":
        facts.write_text("{")
    elif harm == "strange name":
        save_file(load_file(numbers) | {"fit": np.zeros(1)}, numbers)
    else:
        facts.write_text(json.dumps(json.loads(facts.read_text()) | {"learner": "nnpuu"}))
    message = "knows no 'nnpuu'" if harm == "unknown learner" else "cannot read a learner"
    with pytest.raises(InvalidInputError, match=message):
        learners.load(folder, network=small)


def test_only_what_was_fitted_is_saved(tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        learners.save(VPU(), tmp_path)
    assert not list(tmp_path.iterdir())


def test_share_above_the_threshold_is_that_of_the_prior():
    X, s, _ = rows()
    learner = PUSB(network=small, scheme="case-control", **QUICK).fit(X, s)
    held = learner._held_out(X, s, np.random.default_rng(0))
    share = np.mean(learner.predict(X[s == 0]))
    assert held.any()
    assert share == pytest.approx(0.3, abs=0.05)
