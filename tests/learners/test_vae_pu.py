"""VAEPU: its bounds and its risk, who learns from what, and labels that depend on features."""

import math
import pickle

import numpy as np
import pytest
import torch

from learners.batches import Column, batch_of, column
from learners.toy import SCHEMES, SETTINGS, assert_close_to_the_best
from recoup import learners
from recoup.exceptions import InvalidInputError
from recoup.learners import vae_pu
from recoup.learners._training.generators import frozen
from recoup.learners._training.risks import pu_risks
from recoup.learners.vae_pu import MAKING, VAEPU, Mixture, Normal

TOY = {name: SETTINGS[name] for name in ("network", "standardize")}
TOY |= {"validation_fraction": 0, "hidden_units": 32, "least_steps": 10}
TOY |= {"learning_rate": 2e-3, "epochs": 45}
QUICK = TOY | {"epochs": 6, "least_steps": 2, "hidden_units": 8, "alpha": 0.4, "random_state": 0}


def numbers(*values):
    return torch.tensor(values, dtype=torch.float64)


def test_risk():
    shares = (0.05, 0.45, 0.95)
    parts = [numbers(2, 1), numbers(0.5, -0.5), numbers(-1, 0, 1)]
    assert vae_pu.virtual_risk(*parts, shares).item() == pytest.approx(0.484704, abs=1e-6)
    below = vae_pu.virtual_risk(parts[0], numbers(4, 4), numbers(-3, -3), shares).item()
    assert below == pytest.approx(0.396852, abs=1e-6)


def test_risk_with_labeled_rows_for_virtual_ones_is_that_of_nnpu():
    labeled, unlabeled = torch.randn(20).double(), torch.randn(50).double()
    positive, negative = pu_risks(labeled, unlabeled, 0.3, "sigmoid")
    expected = positive + negative if negative >= 0 else -negative
    found = vae_pu.virtual_risk(labeled, labeled, unlabeled, (0, 0.3, 1))
    assert found.item() == pytest.approx(expected.item(), abs=1e-12)


def test_bounds_of_the_codes():
    mixture = Mixture(numbers([-1], [2]), numbers([0.5], [1]), numbers(0.6, 0.4))
    gamma = vae_pu.responsibilities(numbers([1.2]), mixture)
    assert gamma[0, 1].item() == pytest.approx(0.977422, abs=1e-6)
    found = Normal(numbers([1.0]), numbers([math.log(0.25)]))
    expected = -0.699019 - 0.193147 - 0.799228
    assert vae_pu.class_bound(found, gamma, mixture).item() == pytest.approx(expected, abs=2e-6)
    sure = vae_pu.class_bound(found, numbers([0, 1]), mixture).item()
    assert sure == pytest.approx(-0.818147 + math.log(0.4), abs=1e-6)
    of_observation = Normal(numbers([0.3]), numbers([math.log(0.8)]))
    assert vae_pu.observation_bound(of_observation).item() == pytest.approx(-0.056572, abs=1e-6)


@pytest.mark.parametrize("dimensions", [1, 10, 100])
def test_the_prior_is_counted_once(dimensions):
    means = torch.zeros(2, dimensions)
    mixture = Mixture(means, torch.ones_like(means), torch.tensor([0.6, 0.4]))
    gamma = vae_pu.responsibilities(torch.randn(3, dimensions), mixture)
    assert gamma[:, 1].tolist() == pytest.approx([0.4] * 3, abs=1e-6)


def test_virtual_codes_borrow_from_the_nearest_unlabeled_row():
    of_class = torch.arange(5.0)[:, None]
    of_observation = torch.tensor([[0.0, 0], [5, 5], [4, 5], [1, 0], [9, 9]])
    codes = vae_pu.virtual_codes(of_class, of_observation, n_labeled=2)
    assert codes.tolist() == [[0, 1, 0], [1, 4, 5]]


def test_codes_have_bounded_variances():
    found = Normal.of(torch.tensor([[1.0, 50], [2, -50]]))
    assert found.log_variance.flatten().tolist() == [10, -10]
    assert found.draw().isfinite().all()


def rows(n=(30, 120), seed=0):
    rng = np.random.default_rng(seed)
    s = np.repeat([1, 0], n)
    positive = np.arange(len(s)) < n[0] + n[1] * 2 // 5
    return rng.normal(size=(len(s), 4)) + 2 * positive[:, None], s


def gradients(loss, learner):
    """Return how much each network would move by a loss."""
    for network in learner._networks().values():
        network.zero_grad(set_to_none=True)
    loss.backward()
    return {
        name: sum(0 if w.grad is None else w.grad.abs().sum().item() for w in network.parameters())
        for name, network in learner._networks().items()
    }


@pytest.mark.parametrize("keep_residual", [False, True])
def test_who_learns_from_what(keep_residual):
    found = {}

    class Watcher(VAEPU):
        def _deciding_loss(self, batch):
            decided = super()._deciding_loss
            found["deciding"] = gradients(decided(batch), self)
            found["telling"] = gradients(self._telling_loss(batch), self)
            found["guided"] = gradients(self._guided_loss(batch), self)
            _, virtual = self._made(batch)
            found["adversary"] = gradients(-self.discriminator_(virtual).mean(), self)
            return decided(batch)

    Watcher(**QUICK, keep_residual=keep_residual).fit(*rows())
    moved = {turn: {name for name, size in parts.items() if size} for turn, parts in found.items()}
    assert moved["deciding"] == {"network_"}
    assert moved["telling"] == {"discriminator_"}
    assert moved["guided"] == set(MAKING)
    assert moved["adversary"] >= {"decoder_", "class_encoder_", "observation_encoder_"}


def test_stages_and_when_weights_may_be_kept():
    learner = VAEPU(**QUICK | {"epochs": 900})
    assert learner._lengths() == [100, 200, 200, 100, 100, 200]
    assert learner.set_params(epochs=2)._lengths() == [1] * 6
    # Nothing that was measured before the classifier was trained can be the best.
    X, s = rows()
    kept = VAEPU(**QUICK | {"epochs": 18, "validation_fraction": 0.2}).fit(X, s)
    judged = [record["epoch"] for record in kept.history_ if "selection" in record]
    assert judged == [7, 8, 9, 10, 13, 14, 15, 16, 17, 18]
    assert kept.best_epoch_ in judged


@pytest.mark.parametrize("scheme", SCHEMES)
def test_shares_of_all_rows(scheme):
    class Watcher(VAEPU):
        def _deciding_loss(self, batch):
            assert batch.population_rows.min() >= 30
            expected = torch.tensor([30 / 150, 0.4 * 120 / 150, 120 / 150])
            assert torch.allclose(self._memory["shares"], expected)
            pi = float(expected[:2].sum())
            assert torch.allclose(self._mixture.weights, torch.tensor([1 - pi, pi]))
            return super()._deciding_loss(batch)

    Watcher(**QUICK, scheme=scheme).fit(*rows())


def test_mixture_has_the_labeled_rows_on_its_positive_side():
    class Watcher(VAEPU):
        def _conclude(self, rows):
            self._fit_mixture(rows)
            likely = self._mixture.log_densities(self._codes(rows, rows.labeled))
            share = (likely[:, 1] > likely[:, 0]).float().mean().item()
            assert share == pytest.approx(self.clear_share_, abs=1e-6)
            assert self._mixture.variances.min() >= 1e-6

    for seed in range(3):
        learner = Watcher(**QUICK | {"random_state": seed}).fit(*rows())
        assert 0.5 <= learner.clear_share_ <= 1


@pytest.mark.parametrize("scheme", SCHEMES)
def test_toy_rows(scheme):
    assert_close_to_the_best(lambda: VAEPU(**TOY), scheme, seeds=(0,))


def test_what_the_code_loses_of_a_labeled_row():
    learner = VAEPU(**QUICK).fit(*rows())
    labeled, own, virtual = torch.tensor([[5.0]]), torch.tensor([[4.0]]), torch.tensor([[1.0]])
    assert learner._finished(labeled, own, virtual).item() == 2
    assert learner.set_params(keep_residual=False)._finished(labeled, own, virtual).item() == 1
    # Images stay within bounds.
    learner.low_, learner.high_ = 0.0, 4.0
    half = torch.zeros(1, 1)
    assert learner._finished(labeled, half, half).item() == 2
    assert learner.set_params(keep_residual=True)._finished(labeled, half, half).item() == 4


def test_virtual_images_are_as_sharp_as_real_ones():
    # No code of two numbers holds a picture of noise, so what is decoded is smooth.
    rng = np.random.default_rng(0)
    s = np.repeat([1, 0], [30, 90])
    X = rng.random((120, 1, 16, 16)).astype(np.float32)
    contrasts = {}

    class Watcher(VAEPU):
        def _deciding_loss(self, batch):
            contrasts[self.keep_residual] = self._virtual(batch).std().item()
            return super()._deciding_loss(batch)

    params = QUICK | {"network": "mlp", "class_dimensions": 1, "observation_dimensions": 1}
    for keep_residual in (True, False):
        Watcher(**params, keep_residual=keep_residual).fit(X, s)
    assert contrasts[True] == pytest.approx(X.std(), rel=0.1)
    assert contrasts[False] < X.std() / 2


def test_images():
    rng = np.random.default_rng(0)
    s = np.repeat([1, 0], [30, 90])
    X = rng.random((120, 1, 16, 16)) / 2
    X[: 30 + 36, :, :8] += 0.5
    learner = VAEPU(**QUICK | {"network": "mlp", "class_dimensions": 3}).fit(2 * X - 1, s)
    assert learner.low_ == pytest.approx(-1, abs=0.01)
    assert learner.high_ == pytest.approx(1, abs=0.01)
    kinds = {type(module).__name__ for module in learner.decoder_}
    assert {"Upsample", "Conv2d"} <= kinds
    assert np.isfinite(learner.decision_function(X)).all()


def test_all_networks_survive_pickle_and_save(tmp_path):
    X, s = rows()
    learner = VAEPU(**QUICK | {"network": "mlp"}).fit(X, s)
    loaded = learners.load(learners.save(learner, tmp_path))
    for again in (loaded, pickle.loads(pickle.dumps(learner))):
        assert np.array_equal(again.decision_function(X), learner.decision_function(X))
        for name, network in learner._networks().items():
            states = network.state_dict(), again._networks()[name].state_dict()
            assert all(torch.equal(states[0][part], states[1][part]) for part in states[0])
    assert (loaded.low_, loaded.high_) == (None, None)


def test_same_seed_same_bits():
    X, s = rows()
    found = [VAEPU(**QUICK).fit(X, s).decision_function(X) for _ in range(2)]
    assert np.array_equal(*found)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"class_dimensions": 0}, "class_dimensions to be a whole number of at least 1. Got 0"),
        ({"hidden_units": 1.5}, "hidden_units to be a whole number of at least 1. Got 1.5"),
        ({"least_steps": True}, "least_steps to be a whole number of at least 1. Got True"),
        ({"adversarial_weight": -1}, "adversarial_weight to be a number of at least 0. Got -1"),
        ({"keep_residual": "yes"}, "keep_residual to be True or False. Got 'yes'"),
        ({"positive_weight": "1"}, "positive_weight to be a number of at least 0. Got '1'"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    with pytest.raises(InvalidInputError, match=f"^VAEPU.fit needs {message}"):
        VAEPU(**wrong).fit(np.zeros((4, 2)), [1, 1, 0, 0])


def test_virtual_rows_stand_for_the_hidden_positives():
    learner = VAEPU()
    learner._memory = {"shares": torch.tensor([0.05, 0.45, 0.95])}
    learner._virtual = lambda batch: column(0.5, -0.5)
    batch = batch_of(column(2, 1), column(-1, 0, 1))
    assert learner._deciding_loss(batch).item() == pytest.approx(0.484704, abs=1e-6)


def test_the_adversary_tells_virtual_rows_from_unlabeled_ones():
    learner = VAEPU(adversarial_weight=0.3)
    learner.discriminator_ = Column()
    learner._virtual = lambda batch: column(0.5, -0.5)
    found = learner._telling_loss(batch_of(column(2, 1), column(-1, 0, 1))).item()
    virtual = np.log1p(np.exp([0.5, -0.5])).mean()
    unlabeled = np.log1p(np.exp([1.0, 0.0, -1.0])).mean()
    assert found == pytest.approx(0.3 * (virtual + unlabeled), abs=1e-6)


def test_the_generator_is_told_by_the_bounds_the_adversary_and_the_classifier(monkeypatch):
    found = {}

    class Watcher(VAEPU):
        def _made_by_seed(self, batch, **settings):
            torch.manual_seed(0)
            return self.set_params(**settings)._made(batch)

        def _deciding_loss(self, batch):
            if found:
                return super()._deciding_loss(batch)
            plain, virtual = self._made_by_seed(batch, adversarial_weight=0.0)
            noticed, again = self._made_by_seed(batch, adversarial_weight=2.0)
            assert torch.equal(virtual, again)
            with torch.no_grad(), frozen(self.discriminator_, self.network_):
                told = torch.nn.functional.softplus(-self.discriminator_(virtual)).mean()
                doubt = (-self.network_(virtual)).sigmoid().mean()
            found["adversary"] = (noticed - plain - 2 * told).item()
            torch.manual_seed(0)
            guided = self.set_params(positive_weight=3.0)._guided_loss(batch)
            found["classifier"] = (guided - noticed - 3 * doubt).item()
            for name in ("class_bound", "observation_bound"):
                with monkeypatch.context() as patch:
                    bound = getattr(vae_pu, name)
                    patch.setattr(vae_pu, name, lambda *codes, bound=bound: bound(*codes) + 5)
                    raised, _ = self._made_by_seed(batch)
                found[name] = (raised - noticed + 5).item()
            return super()._deciding_loss(batch)

    Watcher(**QUICK).fit(*rows())
    assert len(found) == 4
    assert max(map(abs, found.values())) < 1e-4, found
