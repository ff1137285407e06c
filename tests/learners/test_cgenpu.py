"""CGenPU: its losses, whose weights a turn changes, and two moons."""

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
import torch
from sklearn.datasets import make_moons

from learners.batches import Column, batch_of, columns
from learners.toy import assert_same_bits, small_network
from recoup import learners
from recoup.exceptions import InvalidInputError, RecoupWarning
from recoup.learners import cgenpu
from recoup.learners._training.stages import TrainingRows
from recoup.learners.cgenpu import CGenPU

QUICK = {"network": small_network, "hidden_units": 16, "least_steps": 4, "epochs": 1}
QUICK |= {"alpha": None, "batch_size": 128}

LUMPS = QUICK | {"hidden_units": 32, "learning_rate": 1e-3, "batch_size": 64}
LUMPS |= {"epochs": 15, "least_steps": 20, "alpha": 0.45}
# So few steps may decide nothing.
pytestmark = pytest.mark.filterwarnings("ignore:CGenPU.fit takes every unlabeled row")


def chances(*values):
    return torch.tensor(values, dtype=torch.float64)


def test_losses_of_the_classifier_and_the_generator():
    labeled, positive, negative = chances(0.9, 0.6), chances(0.7, 0.8), chances(0.3, 0.1)
    assert cgenpu.anchor(labeled).item() == pytest.approx(0.308093, abs=1e-6)
    assert cgenpu.divergence(labeled, positive).item() == pytest.approx(0.026787, abs=1e-6)
    opposite = cgenpu.divergence(positive, 1 - negative).item()
    assert opposite == pytest.approx(-0.047113, abs=1e-6)
    both = cgenpu.pairing(labeled, positive, negative)
    assert both.item() == pytest.approx(-0.020326, abs=1e-6)
    assert (cgenpu.anchor(labeled) + both).item() == pytest.approx(0.287767, abs=1e-6)


def test_losses_of_the_discriminator():
    parts = [chances(0.8, 0.7), chances(0.6, 0.9), chances(0.3, 0.2), chances(0.4, 0.1)]
    logits = [torch.logit(part) for part in parts]
    assert cgenpu.telling_loss(*logits).item() == pytest.approx(0.598002, abs=1e-6)
    assert cgenpu.noticing_loss(*logits[2:]).item() == pytest.approx(3.016143, abs=1e-6)


def test_half_a_divergence_can_be_negative_and_the_whole_cannot():
    p, q = chances(0.2), chances(0.9)
    assert cgenpu.divergence(p, q).item() == pytest.approx(0.2 * np.log(0.2 / 0.9), abs=1e-12)
    assert cgenpu.divergence(p, q, "bernoulli").item() == pytest.approx(
        0.2 * np.log(0.2 / 0.9) + 0.8 * np.log(0.8 / 0.1), abs=1e-12
    )
    for kind in ("pointwise", "bernoulli"):
        edges = cgenpu.divergence(chances(0, 1, 0, 1), chances(0, 0, 1, 1), kind)
        assert edges.isfinite()
        assert cgenpu.divergence(q, q, kind).item() == 0


def rows(n=(40, 200), seed=0):
    rng = np.random.default_rng(seed)
    s = np.repeat([1, 0], n)
    positive = np.arange(len(s)) < n[0] + n[1] // 2
    return rng.normal(size=(len(s), 3)) + 2 * positive[:, None], s


def weights_of(learner):
    return {name: copy.deepcopy(net.state_dict()) for name, net in learner._networks().items()}


def test_each_turn_changes_its_own_networks():
    seen = []

    class Watcher(CGenPU):
        def _judging_loss(self, batch):
            seen.append(weights_of(self))
            return super()._judging_loss(batch)

        def _making_loss(self, batch):
            seen.append(weights_of(self))
            return super()._making_loss(batch)

    Watcher(**QUICK, validation_fraction=0, random_state=0).fit(*rows())
    changed = [
        {
            name
            for name, then in before.items()
            if any(not torch.equal(then[part], after[name][part]) for part in then)
        }
        for before, after in pairwise(seen)
    ]
    assert changed[::2] == [{"network_", "discriminator_"}] * 4
    assert changed[1::2] == [{"generator_"}] * 3


def test_no_weight_of_the_judges_gets_a_gradient_from_the_generators_turn():
    class Watcher(CGenPU):
        def _making_loss(self, batch):
            for network in (self.network_, self.discriminator_):
                network.zero_grad(set_to_none=True)
            super()._making_loss(batch).backward()
            given = {
                name: any(weight.grad is not None for weight in network.parameters())
                for name, network in self._networks().items()
            }
            assert given == {"network_": False, "generator_": True, "discriminator_": False}
            return super()._making_loss(batch)

    Watcher(**QUICK, random_state=0).fit(*rows())


@pytest.mark.parametrize("n", [(5, 200), (150, 200)])
def test_as_many_labeled_rows_as_unlabeled_ones(n):
    sizes = set()

    class Watcher(CGenPU):
        def _judging_loss(self, batch):
            sizes.add((len(batch.labeled), len(batch.population)))
            assert batch.labeled_rows.max() < n[0] <= batch.population_rows.min()
            return super()._judging_loss(batch)

    for scheme in ("single-sample", "case-control"):
        learner = Watcher(**QUICK, scheme=scheme, validation_fraction=0, random_state=0)
        learner.fit(*rows(n))
    assert sizes == {(128, 128)}


def test_probabilities_come_near_both_ends():
    X, s = rows()
    learner = CGenPU(**QUICK, compress=False, random_state=0).fit(X, s)
    far = learner.predict_proba(np.vstack([100 * X, -100 * X]))[:, 1]
    assert far.min() < 0.01
    assert far.max() > 0.99


def moons(seed, n_labeled=150):
    X, y = make_moons(1000, noise=0.1, random_state=seed)
    s = np.zeros(len(y), int)
    s[np.random.default_rng(seed).choice(np.flatnonzero(y), n_labeled, replace=False)] = 1
    return X, s, y


def three_layers(shape):
    from torch import nn

    widths = (shape[0], 128, 128, 128)
    layers = [
        part
        for place in range(3)
        for part in (nn.Linear(widths[place], widths[place + 1]), nn.ReLU())
    ]
    return nn.Sequential(*layers, nn.Linear(128, 1))


def test_two_moons():
    X, s, y = moons(0)
    params = {"network": three_layers, "hidden_units": 64, "learning_rate": 5e-4, "batch_size": 64}
    params |= {"standardize": False, "epochs": 15, "least_steps": 100, "alpha": None}
    learner = CGenPU(**params, random_state=0).fit(X, s)
    unlabeled = s == 0
    assert np.mean(learner.predict(X[unlabeled]) == y[unlabeled]) > 0.95
    assert learner.implied_alpha_ == pytest.approx(y[unlabeled].mean(), abs=0.05)


def lumps(seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(600) < 0.5
    X = rng.normal(size=(600, 2)) * 0.4 + np.where(y, 1.5, -1.5)[:, None]
    return X, (y & (rng.random(600) < 0.2)).astype(int), y


def test_two_lumps():
    X, s, y = lumps()
    learner = CGenPU(**LUMPS, random_state=0).fit(X, s)
    assert np.mean(learner.predict(X) == y) > 0.9
    assert learner.history_[learner.best_epoch_ - 1]["selection"] > 0.9


def test_far_values_are_brought_nearer_in_order():
    X, s = rows()
    X[:, 0] = np.exp(2 * X[:, 0])
    learner = CGenPU(**QUICK, random_state=0).fit(X, s)
    found = learner._tensor(X, torch.device("cpu")).numpy()
    plain = learner.set_params(compress=False)._tensor(X, torch.device("cpu")).numpy()
    assert found == pytest.approx(np.sign(plain) * np.log1p(np.abs(plain)), abs=1e-6)
    assert np.abs(found).max() < np.abs(plain).max() / 2
    as_it_is = CGenPU(**QUICK, standardize=False, random_state=0).fit(X, s)
    assert as_it_is._tensor(X, torch.device("cpu")).numpy() == pytest.approx(X, rel=1e-6)


def test_what_alpha_is_for():
    X, s = rows()
    plain = QUICK | {"validation_fraction": 0, "prior_weight": 0}
    free, cut = (CGenPU(**plain | {"alpha": a}, random_state=0).fit(X, s) for a in (None, 0.3))
    assert free.offset_ == 0
    assert np.allclose(free.decision_function(X), cut.decision_function(X) + cut.offset_)
    assert cut.predict(X).mean() == pytest.approx((40 + 0.3 * 200) / 240, abs=1e-3)
    aligned = CGenPU(**plain | {"alpha": 0.3, "prior_weight": 1}, random_state=0).fit(X, s)
    assert aligned.implied_alpha_ != cut.implied_alpha_
    asked, known = (
        CGenPU(**QUICK | {"alpha": alpha}, select=select, random_state=0).fit(X, s)
        for alpha, select in ((None, "auc"), (0.5, "auto"))
    )
    # Without alpha there is nothing to choose by, so no row is held out.
    unchosen = CGenPU(**QUICK, random_state=0).fit(X, s)
    assert np.array_equal(unchosen.decision_function(X), free.decision_function(X))
    assert "selection" not in unchosen.history_[0]
    assert asked.history_[0]["selection"] != known.history_[0]["selection"]


def test_unlabeled_rows_keep_alpha_where_the_generator_fails():
    class Failing(CGenPU):
        """Its negatives are beyond the positives, so all real rows look positive beside them."""

        def _made(self, n):
            centers = torch.tensor([0.6, 6.0]).repeat_interleave(n)
            return torch.randn(2 * n, 2) / 4 + centers[:, None]

        def _making_loss(self, batch):
            return 0 * sum(weight.sum() for weight in self.generator_.parameters())

    X, s, y = lumps()
    params = LUMPS | {"learning_rate": 5e-3, "validation_fraction": 0, "random_state": 0}
    assert Failing(**params, prior_weight=0).fit(X, s).implied_alpha_ > 0.8
    held = Failing(**params).fit(X, s)
    assert held.implied_alpha_ == pytest.approx(0.45, abs=0.1)
    assert np.mean(held.predict(X) == y) > 0.9


def test_made_rows_are_remembered_until_newer_ones_take_their_place():
    learner = CGenPU(remembered_rows=5)
    kept = torch.tensor([[1.0, 2, 3, 4, 5], [-1.0, -2, -3, -4, -5]])[:, :, None]
    learner._memory = {"made": kept, "places": torch.arange(5)}
    for first in (10.0, 20.0):
        made = torch.tensor([first, first + 1, -first, -first - 1])[:, None]
        drawn = learner._remembered(made)
        assert drawn.shape == made.shape
        assert (drawn[:2] > 0).all()
        assert torch.equal(drawn[:2], -drawn[2:])
    assert kept[0, :, 0].tolist() == [10, 11, 20, 21, 5]
    learner._remembered(torch.tensor([30.0, 31, -30, -31])[:, None])
    assert kept[0, :, 0].tolist() == [31, 11, 20, 21, 30]
    assert learner.set_params(remembered_rows=None)._remembered(made) is made


def test_steps_of_an_epoch():
    learner = CGenPU(batch_size=10, least_steps=4, most_steps=7)
    empty = torch.empty(0, dtype=torch.long)
    for n, steps in ((20, 4), (50, 5), (200, 7)):
        found = TrainingRows(torch.zeros(n, 1), empty, torch.arange(n), empty, empty)
        assert learner._steps(found) == steps


def test_a_fit_that_finds_one_class_says_so():
    X, s = rows()
    learner = CGenPU(**QUICK | {"least_steps": 1}, standardize=False, random_state=0)
    with pytest.warns(RecoupWarning, match="takes every unlabeled row for (posi|nega)tive"):
        learner.fit(X + 1e3, s)


def test_images():
    rng = np.random.default_rng(0)
    s = np.repeat([1, 0], [30, 90])
    X = rng.random((120, 1, 16, 16)) / 2
    X[: 30 + 45, :, :8] += 0.5
    learner = CGenPU(**QUICK | {"network": "mlp", "least_steps": 2}, random_state=0).fit(X, s)
    made = learner._made(3)
    assert made.shape == (6, 1, 16, 16)
    assert made.min() >= 0
    assert made.max() <= 1


def test_all_networks_survive_pickle_and_save(tmp_path):
    X, s = rows()
    learner = CGenPU(**QUICK | {"network": "mlp"}, random_state=0).fit(X, s)
    loaded = learners.load(learners.save(learner, tmp_path))
    for again in (loaded, pickle.loads(pickle.dumps(learner))):
        assert np.array_equal(again.decision_function(X), learner.decision_function(X))
        for name, network in learner._networks().items():
            states = network.state_dict(), again._networks()[name].state_dict()
            assert all(torch.equal(states[0][part], states[1][part]) for part in states[0])


def test_same_seed_same_bits():
    assert_same_bits(lambda: CGenPU(**QUICK))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"auxiliary_weight": -1}, "auxiliary_weight to be a number of at least 0. Got -1"),
        ({"prior_weight": -1}, "prior_weight to be a number of at least 0. Got -1"),
        (
            {"remembered_rows": 0},
            "remembered_rows to be a whole number of at least 1, or None",
        ),
        ({"most_steps": 0}, "most_steps to be a whole number of at least 1. Got 0"),
        ({"noise_dimensions": 0}, "noise_dimensions to be a whole number of at least 1, or None"),
        ({"divergence": "kl"}, "divergence to be one of 'pointwise', 'bernoulli'. Got 'kl'"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    with pytest.raises(InvalidInputError, match=f"^CGenPU.fit needs {message}"):
        CGenPU(**wrong).fit(np.zeros((4, 2)), [1, 1, 0, 0])


def judges(**settings):
    """Return a learner whose A reads the first feature and whose D the second, and a batch.

    Its generator makes always the same two positives and two negatives.
    """
    learner = CGenPU(remembered_rows=None, **settings)
    learner.alpha_ = None
    learner.network_, learner.discriminator_ = Column(0), Column(1)
    learner.generator_ = torch.nn.Identity()
    parts = [
        columns(chances(*a).logit(), chances(*d).logit())
        for a, d in (
            ((0.9, 0.6), (0.8, 0.7)),  # labeled
            ((0.3, 0.5), (0.6, 0.9)),  # unlabeled
            ((0.7, 0.8), (0.3, 0.2)),  # made positives
            ((0.3, 0.1), (0.4, 0.1)),  # made negatives
        )
    ]
    learner._made = lambda n: torch.cat(parts[2:])
    return learner, batch_of(parts[0], parts[1], learner.network_)


def test_the_judges_learn_from_labeled_and_from_made_rows():
    learner, batch = judges(prior_weight=2.0)
    plain = 0.598002 + 0.287767
    assert learner._judging_loss(batch).item() == pytest.approx(plain, abs=1e-6)
    learner.alpha_ = 0.25
    expected = plain + 2 * (0.4 - 0.25)
    assert learner._judging_loss(batch).item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("weight", [0.0, 1.5])
def test_the_generator_deceives_one_judge_and_follows_the_other(weight):
    learner, batch = judges(auxiliary_weight=weight)
    expected = 3.016143 + weight * -0.020326
    assert learner._making_loss(batch).item() == pytest.approx(expected, abs=1e-6)
