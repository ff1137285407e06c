"""LBE: both steps, that they explain the labels better, and what the small-loss rule is for."""

import pickle

import numpy as np
import pytest
import torch

from learners.batches import Column, batch_of, columns, rows_of
from learners.toy import SCHEMES, SETTINGS, assert_close_to_the_best, assert_same_bits, toy_rows
from recoup import learners
from recoup.exceptions import InvalidInputError, RecoupWarning
from recoup.learners import lbe
from recoup.learners._training import stages
from recoup.learners._training.stages import Batch
from recoup.learners.lbe import LBE

TOY = {
    name: SETTINGS[name]
    for name in ("network", "learning_rate", "weight_decay", "validation_fraction", "standardize")
}


def logit(*values):
    p = torch.tensor(values, dtype=torch.float64)
    return torch.log(p) - torch.log1p(-p)


H, ETA = logit(0.6, 0.9, 0.2, 0.7), logit(0.3, 0.5, 0.1, 0.25)
LABELED = torch.tensor([False, False, False, True])


def test_posterior():
    found = lbe.posterior(H, ETA, LABELED).tolist()
    assert found == pytest.approx([0.512195, 0.818182, 0.183673, 1], abs=1e-6)


def test_losses():
    weights = lbe.posterior(H, ETA, LABELED)
    of_classes = lbe.class_losses(H, weights)
    expected = [0.708613, 0.504856, 0.477769, 0.356675]
    assert of_classes.tolist() == pytest.approx(expected, abs=1e-6)
    assert of_classes.mean().item() == pytest.approx(0.511978, abs=1e-6)
    smallest = torch.topk(of_classes, 3, largest=False).values.mean().item()
    assert smallest == pytest.approx(0.446433, abs=1e-6)
    of_labels = lbe.propensity_losses(ETA, LABELED, weights)
    expected = [0.182687, 0.567120, 0.019352, 1.386294]
    assert of_labels.tolist() == pytest.approx(expected, abs=1e-6)
    assert of_labels.mean().item() == pytest.approx(0.538863, abs=1e-6)


def test_log_likelihood_and_pretraining():
    found = lbe.observed_log_likelihood(H, ETA, LABELED).sum().item()
    assert found == pytest.approx(-2.559460, abs=1e-6)
    assert lbe.balanced_loss(H, LABELED, 0.25).item() == pytest.approx(0.282003, abs=1e-6)
    far = torch.tensor([60.0, -200.0])
    assert lbe.observed_log_likelihood(far, far, torch.tensor([False, True])).isfinite().all()


def test_steps_of_large_images_have_fewer_rows(monkeypatch):
    X, s, alpha, *_ = toy_rows(0, "single-sample")
    sizes = []

    def counting(shape):
        network = torch.nn.Linear(*shape, 1)
        network.register_forward_pre_hook(
            lambda layer, given: sizes.append(len(given[0])) if layer.training else None
        )
        return network

    settings = {"network": counting, "alpha": alpha, "epochs": 2, "guard": "off", "random_state": 0}
    LBE(**settings).fit(X, s)
    usual = max(sizes)
    sizes.clear()
    monkeypatch.setattr(stages, "VALUES_AT_ONCE", 16 * X.shape[1])
    LBE(**settings).fit(X, s)
    assert max(sizes) == 16 < usual


def test_rounds_on_all_rows_never_explain_the_labels_worse():
    torch.manual_seed(0)
    X = torch.randn(200, 3, dtype=torch.float64)
    labeled = (X[:, 0] > 0.3) & (torch.rand(200) < 0.4)
    classifier, propensity = (torch.nn.Linear(3, 1).double() for _ in range(2))
    steps = torch.optim.SGD([*classifier.parameters(), *propensity.parameters()], lr=0.05)
    path = []
    for _ in range(60):
        h, eta = classifier(X)[:, 0], propensity(X)[:, 0]
        path.append(lbe.observed_log_likelihood(h, eta, labeled).mean().item())
        weights = lbe.posterior(h, eta, labeled).detach()
        loss = lbe.class_losses(h, weights).mean()
        loss = loss + lbe.propensity_losses(eta, labeled, weights).mean()
        steps.zero_grad()
        loss.backward()
        steps.step()
    assert np.diff(path).min() > -1e-6
    assert path[-1] > path[0] + 0.01


@pytest.mark.parametrize("scheme", SCHEMES)
def test_toy_rows(scheme):
    assert_close_to_the_best(lambda: LBE(**TOY | {"validation_fraction": 0.2}), scheme)


def labeled_at_random(seed, frequency=0.25, n=3300):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    X = rng.normal(size=(n, 10))
    X[:, 0] += np.where(y, 1.2, -1.2)
    return X, (y & (rng.random(n) < frequency)).astype(int), y


def test_propensity_is_found_where_labels_are_random():
    X, s, y = labeled_at_random(0)
    learner = LBE(**TOY | {"validation_fraction": 0.2}, random_state=0).fit(X, s)
    assert 0.2 < learner.propensity(X[y]).mean() < 0.36
    assert learner.implied_alpha_ == pytest.approx(y[s == 0].mean(), abs=0.1)


def test_without_the_small_loss_rule_the_split_drifts():
    X, s, y = labeled_at_random(0)
    plain = LBE(**TOY, pretraining_steps=100, subset=1.0, kept=1.0, random_state=0).fit(X, s)
    ruled = LBE(**TOY, pretraining_steps=100, random_state=0).fit(X, s)
    assert plain.propensity(X[y]).mean() > ruled.propensity(X[y]).mean() + 0.1
    assert np.mean(plain.predict(X) == y) < np.mean(ruled.predict(X) == y) - 0.05


@pytest.mark.parametrize("scheme", SCHEMES)
def test_alpha_sets_the_threshold(scheme):
    X, s, alpha, *_ = toy_rows(0, scheme)
    params = TOY | {"epochs": 1, "pretraining_steps": 5, "random_state": 0, "scheme": scheme}
    free, known = LBE(**params).fit(X, s), LBE(**params, alpha=alpha).fit(X, s)
    assert free.offset_ == 0
    population = X if scheme == "single-sample" else X[s == 0]
    assert known.predict(population).mean() == pytest.approx(known.pi_, abs=1e-3)
    shift = free.decision_function(X) - known.decision_function(X)
    assert shift == pytest.approx(np.full(len(X), known.offset_), abs=1e-5)


def test_rounds_keep_the_split_that_they_find():
    q = torch.tensor([0.02, 0.09, 0.4], dtype=torch.float64)
    for w in (0.1, 0.4, 0.9):
        h, eta = q + (1 - q) * w, q / (q + (1 - q) * w)
        assert torch.allclose(h * eta, q)
        again = lbe.posterior(h.logit(), eta.logit(), torch.zeros(3, dtype=bool))
        assert torch.allclose(again, torch.full_like(q, w))
    # Where pretraining leaves both networks the same.
    b = torch.tensor([0.3, 0.67, 0.99], dtype=torch.float64).logit()
    start = lbe.posterior(b, b, torch.zeros(3, dtype=bool))
    assert torch.allclose(start, b.sigmoid() / (1 + b.sigmoid()))
    assert (start < 0.5).all()


def test_few_labels_get_larger_steps():
    X, s, _ = labeled_at_random(0, n=400)
    s[np.flatnonzero(s)[20:]] = 0
    learner = LBE(**TOY, random_state=0)
    sizes = []
    original = learner._step
    learner._step = lambda batch: sizes.append(len(batch.population)) or original(batch)
    learner.set_params(epochs=1, steps_per_round=3).fit(X, s)
    assert sizes == [100] * 3


def test_labels_taken_for_all_there_is_are_noticed():
    X, s, _ = labeled_at_random(0, n=400)
    biases = iter([-2.0, 5.0])

    def certain_of_labels(shape):
        network = torch.nn.Linear(shape[0], 1)
        torch.nn.init.constant_(network.bias, next(biases))
        return network

    learner = LBE(network=certain_of_labels, pretraining_steps=0, epochs=1, steps_per_round=1)
    with pytest.warns(RecoupWarning, match="took the labels for all there is"):
        learner.fit(X, s)


def test_both_networks_survive_pickle_and_save(tmp_path):
    X, s, _ = labeled_at_random(0, n=400)
    learner = LBE(epochs=1, pretraining_steps=20, network="mlp", random_state=0).fit(X, s)
    again = pickle.loads(pickle.dumps(learner))
    assert np.array_equal(again.propensity(X), learner.propensity(X))
    assert not np.array_equal(learner.propensity(X), learner.predict_proba(X)[:, 1])
    loaded = learners.load(learners.save(learner, tmp_path))
    assert np.array_equal(loaded.propensity(X), learner.propensity(X))
    assert np.array_equal(loaded.decision_function(X), learner.decision_function(X))


def test_same_seed_same_bits():
    assert_same_bits(lambda: LBE(**TOY))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"subset": 0}, "needs subset to be a number above 0 and at most 1. Got 0"),
        ({"kept": 1.5}, "needs kept to be a number above 0 and at most 1. Got 1.5"),
        ({"steps_per_round": 0}, "needs steps_per_round to be a whole number of at least 1. Got 0"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    with pytest.raises(InvalidInputError, match=f"^LBE.fit {message}"):
        LBE(**wrong).fit(np.zeros((4, 2)), [1, 1, 0, 0])


def test_labeled_rows_are_kept_however_badly_they_fit():
    # Each row has one number, so that labeled ones, with -6, look like clear negatives.
    X = torch.cat([torch.full((5, 1), -6.0), torch.linspace(-1, 1, 45)[:, None]])
    learner = LBE(kept=0.5)
    learner.network_ = torch.nn.Linear(1, 1, bias=False)
    learner.propensity_network_ = torch.nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        learner.network_.weight.fill_(1.0)
    labeled = torch.arange(50) < 5
    learner._memory = {
        "labeled": labeled,
        "posterior": torch.where(labeled, 1.0, X[:, 0].sigmoid()),
    }
    seen = []
    learner.network_.register_forward_hook(lambda module, rows, out: seen.append(rows[0]))
    rows = torch.arange(50)
    learner._step(Batch(X, rows[:0], rows, {}, learner.network_))
    trained_on = seen[1]
    assert len(trained_on) == 25
    assert (trained_on == -6).sum() == 5


def test_a_step_fits_both_networks_to_what_the_other_said():
    batch = batch_of(columns(H[3:], ETA[3:]), columns(H[:3], ETA[:3]))
    learner = LBE(kept=1.0)
    learner.network_, learner.propensity_network_ = batch.network, Column(1)
    learner._rows = rows_of(batch)
    learner._memory = {
        "labeled": learner._rows.has_label,
        "posterior": torch.full((4,), 0.5, dtype=torch.float64),
    }
    learner._look(0)
    chances = learner._memory["posterior"].tolist()
    assert chances == pytest.approx([1, 0.512195, 0.818182, 0.183673], abs=1e-6)
    # A step draws labeled and other rows from one urn.
    pooled = Batch(batch.rows, torch.arange(0), torch.arange(4), {}, batch.network)
    assert learner._step(pooled).item() == pytest.approx(0.511978 + 0.538863, abs=1e-6)
