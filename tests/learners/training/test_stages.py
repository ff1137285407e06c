"""What a stage of the training loop may ask for."""

import copy

import numpy as np
import pytest
import torch

from learners.toy import small_network
from recoup.learners._training.loop import TorchPULearner
from recoup.learners._training.stages import Epoch, Snapshot, Stage, Turn, in_turns
from recoup.learners.nnpu import NNPU
from recoup.learners.pulda import PULDA


def fit(stage, scheme="case-control", n=(20, 60), **params):
    """Train for one epoch and return the batches that the loss saw."""
    seen = []

    def loss(batch):
        seen.append(batch)
        return torch.cat(batch.scores()).square().mean()

    class Watcher(NNPU):
        def _stages(self):
            return [Stage(loss, 1, 1e-3, 0.0, **stage)]

    rng = np.random.default_rng(0)
    s = np.repeat([1, 0], n)
    params = {"alpha": 0.3, "batch_size": 16, "scheme": scheme, "device": "cpu"} | params
    params = {"least_steps": 1, "guard": "off"} | params
    params |= {"network": small_network, "validation_fraction": 0, "random_state": 0}
    Watcher(**params).fit(rng.normal(size=(len(s), 3)), s)
    return seen


def test_places_are_dealt_in_turns():
    dealt = in_turns(np.random.default_rng(0), n=10, steps=5, batch=6)
    assert dealt.shape == (5, 6)
    for turn in dealt.reshape(3, 10):
        assert sorted(turn) == list(range(10))
    assert in_turns(np.random.default_rng(0), n=10, steps=5, batch=0).shape == (5, 0)


@pytest.mark.parametrize("scheme", ["case-control", "single-sample"])
def test_one_urn_for_all_rows(scheme):
    seen = fit({"pooled": True, "batch_size": 20}, scheme)
    rows = torch.cat([batch.population_rows for batch in seen])
    assert sorted(rows.tolist()) == list(range(80))
    assert [len(batch.labeled) for batch in seen] == [0] * 4


def test_two_streams_keep_to_the_scheme():
    population = torch.cat([batch.population_rows for batch in fit({})])
    assert population.min() == 20
    assert torch.cat([batch.labeled_rows for batch in fit({})]).max() == 19


@pytest.mark.parametrize("scheme", ["case-control", "single-sample"])
def test_unlabeled_rows_alone(scheme):
    rows = torch.cat([batch.population_rows for batch in fit({"unlabeled": True}, scheme)])
    assert rows.min() == 20
    assert len(rows) == 60 // 16 * 16


def test_labeled_rows_are_repeated_where_a_stage_wants_more():
    for batch in fit({"labeled_batch": 50}):
        counts = torch.bincount(batch.labeled_rows, minlength=20)
        assert len(batch.labeled) == 50
        assert counts.min() >= 2
        assert counts.max() <= 4


def test_number_of_steps():
    assert len(fit({})) == 60 // 16
    assert len(fit({"steps": 9})) == 9
    assert len(fit({"steps": 2, "batch_size": 1000})[0].population) == 60


def test_order_of_a_batch():
    for batch in fit({"reordered": True}, labeled_batch=5):
        assert sorted(batch.draws["order"].tolist()) == list(range(5 + 16))


def test_memory_is_put_back_in_place():
    memory = {"mean": torch.tensor([1.0, 2.0])}
    network = torch.nn.Linear(2, 1)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.1)
    weight = network.weight.detach().clone()
    kept, place = Snapshot(network, [optimizer], memory), memory["mean"].data_ptr()
    network(memory["mean"]).backward()
    optimizer.step()
    memory["mean"].add_(5)
    assert not torch.equal(network.weight, weight)
    kept.restore()
    assert memory["mean"].tolist() == [1, 2]
    assert memory["mean"].data_ptr() == place
    assert torch.equal(network.weight, weight)
    assert all(part.eq(0).all() for state in optimizer.state.values() for part in state.values())


def test_nothing_of_a_fit_stays_but_its_result():
    rng = np.random.default_rng(0)
    s = np.repeat([1, 0], [40, 80])
    X = rng.normal(size=(120, 3))
    learner = PULDA(network=small_network, alpha=0.3, epochs=1, warm_up_epochs=1, random_state=0)
    learner.fit(X, s)
    assert not {"_memory", "_rows", "_oracle"} & vars(learner).keys()
    assert isinstance(learner, TorchPULearner)


def test_turns_change_only_their_own_networks():
    calls = []

    class Two(NNPU):
        def _prepare(self, rows):
            self.other_ = torch.nn.Linear(3, 1, bias=False)
            self.begun = {name: copy.deepcopy(net) for name, net in self._networks().items()}

        def _networks(self):
            return {"network_": self.network_, "other_": self.other_}

        def _stages(self):
            def both(batch):
                calls.append("loss")
                return self.other_(batch.population).mean() + torch.cat(batch.scores()).mean()

            second = Turn(both, 1e-2, 0.0, networks=("other_",))
            return [
                Stage(both, 1, 0.0, 0.0, further=(second,), after_step=lambda: calls.append("end"))
            ]

    s = np.repeat([1, 0], [20, 64])
    rows = np.random.default_rng(0).normal(size=(84, 3))
    params = {"alpha": 0.3, "batch_size": 32, "scheme": "case-control", "device": "cpu"}
    params |= {"least_steps": 1, "guard": "off"}
    learner = Two(network=small_network, validation_fraction=0, random_state=0, **params)
    learner.fit(rows, s)
    assert calls == ["loss", "loss", "end"] * 2
    # The first turn reaches all, at a rate of zero; the second one its own network alone.
    same = {
        name: all(
            torch.equal(now, then)
            for now, then in zip(net.parameters(), learner.begun[name].parameters(), strict=True)
        )
        for name, net in learner._networks().items()
    }
    assert same == {"network_": True, "other_": False}


def test_what_is_called_around_an_epoch_comes_before_weights_are_judged():
    calls = []

    class Watcher(NNPU):
        def _stages(self):
            return [
                Stage(
                    self._loss,
                    2,
                    1e-3,
                    0.0,
                    steps=1,
                    before_epoch=lambda epoch: calls.append(("before", epoch)),
                    after_epoch=lambda epoch: calls.append(("after", self.network_.training)),
                )
            ]

        def _loss(self, batch):
            calls.append("step")
            return super()._loss(batch)

        def _held_out_loss(self, labeled, population):
            calls.append("judged")
            return super()._held_out_loss(labeled, population)

    s = np.repeat([1, 0], [20, 60])
    rows = np.random.default_rng(0).normal(size=(80, 3))
    Watcher(
        network=small_network, alpha=0.3, device="cpu", least_steps=1, guard="off", random_state=0
    ).fit(rows, s)
    around = [("before", 0), "step", ("after", False), "judged"]
    assert calls == [*around, ("before", 1), *around[1:]]


@pytest.mark.parametrize(("renewed", "steps"), [(False, 6), (True, 3)])
def test_optimizer_may_be_renewed_in_each_epoch(monkeypatch, renewed, steps):
    made = []

    class Noted(Epoch):
        def __init__(self, *args):
            super().__init__(*args)
            made.append(self)

    class Watcher(NNPU):
        def _stages(self):
            return [Stage(self._loss, 2, 1e-3, 0.0, steps=3, renewed=renewed)]

    monkeypatch.setattr("recoup.learners._training.loop.Epoch", Noted)
    s = np.repeat([1, 0], [20, 60])
    params = {"network": small_network, "validation_fraction": 0, "random_state": 0}
    Watcher(alpha=0.3, batch_size=16, device="cpu", **params).fit(
        np.random.default_rng(0).normal(size=(80, 3)), s
    )
    states = made[0].optimizers[0].state.values()
    assert {float(state["step"]) for state in states} == {steps}
