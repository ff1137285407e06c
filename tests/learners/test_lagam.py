"""LaGAM: the balanced loss, the step for trial, contrast, clusters, and labels that move."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from learners.batches import batch_of, columns
from learners.toy import SCHEMES, SETTINGS, assert_close_to_the_best, assert_same_bits, toy_rows
from recoup import learners
from recoup.exceptions import InvalidInputError
from recoup.learners._training.contrast import contrastive_losses, k_means, nearest
from recoup.learners._training.stages import Batch
from recoup.learners.lagam import (
    LaGAM,
    balanced_loss,
    label_gradient,
    label_momentum,
    support_loss,
    weight_gradient,
)

TOY = {
    name: SETTINGS[name]
    for name in ("network", "learning_rate", "weight_decay", "validation_fraction", "standardize")
}
TOY |= {"optimizer": "adam", "epochs": 15, "warm_up_epochs": 3, "clusters": 5}


def numbers(*values):
    return torch.tensor(values, dtype=torch.float64)


def test_balanced_loss():
    scores = numbers(0, 2, -1)
    assert balanced_loss(scores, numbers(1, 0, 0.3)).item() == pytest.approx(2.216375, abs=1e-6)
    assert balanced_loss(scores, numbers(1, 0, 0)).item() == pytest.approx(1.913242, abs=1e-6)


def test_a_class_without_rows_costs_nothing():
    loss = balanced_loss(numbers(0, 2).requires_grad_(), numbers(0, 0))
    assert loss.item() == pytest.approx((np.log(2) + np.log1p(np.exp(2))) / 2, abs=1e-6)
    assert balanced_loss(numbers(1e4, -1e4), numbers(0, 1)).item() == pytest.approx(
        -2 * np.log(1e-4), abs=1e-6
    )


def test_contrast():
    weak = torch.tensor([[1, 0], [0.6, 0.8]], dtype=torch.float64)
    strong = torch.tensor([[0.8, 0.6], [0, 1]], dtype=torch.float64)
    together, apart = torch.ones(2, 4, dtype=torch.bool), torch.zeros(2, 4, dtype=torch.bool)
    twins, group = contrastive_losses(weak, strong, together, 1.0)
    assert twins.item() == pytest.approx(0.957474, abs=1e-6)
    assert group.item() == pytest.approx(1.130807, abs=1e-6)
    twins, group = contrastive_losses(weak, strong, apart, 1.0)
    assert twins.item() == group.item() == pytest.approx(0.957474, abs=1e-6)
    twins, group = contrastive_losses(weak, strong, together, 0.07)
    assert twins.item() == pytest.approx(1.221856, abs=1e-6)
    assert group.item() == pytest.approx(3.698046, abs=1e-6)


def test_nearest_views():
    weak = torch.tensor([[1.0, 0.0], [0.6, 0.8]])
    strong = torch.tensor([[0.8, 0.6], [0.0, 1.0]])
    expected = [[True, False, True, False], [False, True, True, False]]
    assert nearest(weak, strong, 2).tolist() == expected
    assert nearest(weak, strong, 10).all()


FEATURES, LABELS = numbers(2, 1, -1.5)[:, None], numbers(1, 0, 0)
WEIGHT, SUPPORT, RATE = numbers(0.3), numbers(1.5, -1), 0.001


def test_the_step_for_trial():
    scores = FEATURES @ WEIGHT
    assert balanced_loss(scores, LABELS).item() == pytest.approx(1.111290, abs=1e-6)
    step = weight_gradient(FEATURES, scores, LABELS)
    assert step.item() == pytest.approx(-0.713487, abs=1e-6)
    tried = (WEIGHT - RATE * step).requires_grad_()
    loss = support_loss(SUPPORT[:1] * tried, SUPPORT[1:] * tried, 0.0)
    assert loss.item() == pytest.approx(1.046884, abs=1e-6)
    (outer,) = torch.autograd.grad(loss, tried)
    found = label_gradient(FEATURES, scores, LABELS, outer, RATE)
    expected = [[6.5392, 0], [2.9224, 2.8569], [-2.9224, 16.3934]]
    assert 1e4 * found.numpy() == pytest.approx(np.array(expected), abs=1e-4)
    assert (-found).argmax(1).tolist() == [1, 1, 0]


def test_the_gradient_is_that_of_the_whole_construction():
    torch.manual_seed(0)
    features, support = torch.randn(6, 4).double(), torch.randn(8, 4).double()
    weight, labels = torch.randn(4).double(), torch.rand(6).double()
    extra = torch.zeros(6, 2, dtype=torch.float64, requires_grad=True)
    moving = weight.clone().requires_grad_()
    scores = features @ moving
    losses = torch.stack([torch.nn.functional.softplus(sign * scores) for sign in (1, -1)], 1)
    weights = torch.stack([1 - labels, labels], 1) + extra
    inner = ((weights * losses).sum(0) / weights.sum(0)).sum()
    (step,) = torch.autograd.grad(inner, moving, create_graph=True)
    tried = moving - 0.1 * step
    outer = support_loss(support[:3] @ tried, support[3:] @ tried, 0.2)
    (expected,) = torch.autograd.grad(outer, extra)

    plain = features @ weight
    after = (weight - 0.1 * weight_gradient(features, plain, labels)).requires_grad_()
    loss = support_loss(support[:3] @ after, support[3:] @ after, 0.2)
    (slope,) = torch.autograd.grad(loss, after)
    found = label_gradient(features, plain, labels, slope, 0.1)
    assert found.numpy() == pytest.approx(expected.numpy(), abs=1e-10)


def test_support_without_classes_is_that_with_them_on_average():
    rng = np.random.default_rng(0)
    positives, negatives = rng.normal(1, 1, 40_000), rng.normal(-1, 1, 60_000)
    others = numbers(*positives[20_000:], *negatives[:40_000])
    known = support_loss(numbers(*positives), numbers(*negatives), 0.0).item()
    found = support_loss(numbers(*positives), others, 1 / 3).item()
    assert found == pytest.approx(known, abs=0.01)
    labels = numbers(*np.repeat([1.0, 0.0], [40_000, 60_000]))
    scores = numbers(*positives, *negatives)
    assert known == pytest.approx(balanced_loss(scores, labels).item(), abs=1e-9)


def test_the_negative_part_of_support_is_never_below_zero():
    found = support_loss(numbers(5, 5), numbers(-9, -9), 0.5).item()
    assert found == pytest.approx(np.log1p(np.exp(-5)), abs=1e-6)


def test_momentum_of_labels():
    found = [label_momentum(epoch, 400, 0.95, 0.8) for epoch in (20, 200, 399)]
    assert found == pytest.approx([0.9425, 0.875, 0.800375], abs=1e-9)
    label, updates = 0.0, 0
    while label < 0.5:
        label, updates = 0.9 * label + 0.1, updates + 1
    assert (updates, label) == (7, pytest.approx(0.521703, abs=1e-6))


def test_clusters():
    torch.manual_seed(0)
    truth = torch.arange(300) % 3
    points = torch.randn(300, 2) * 0.1 + torch.tensor([[0.0, 0], [3, 0], [0, 3]])[truth]
    found = k_means(points, 3)
    assert len(torch.unique(3 * truth + found)) == len(torch.unique(found)) == 3
    assert len(torch.unique(k_means(points[:4], 50))) == 4


@pytest.mark.parametrize("scheme", SCHEMES)
def test_toy_rows(scheme):
    assert_close_to_the_best(lambda: LaGAM(**TOY), scheme, seeds=(0,))


class Watched(LaGAM):
    """Shows its memory at the end of each fit."""

    def _conclude(self, rows):
        super()._conclude(rows)
        self.seen_ = {name: value.clone() for name, value in self._memory.items()}
        self.rows_, self.support_rows_ = rows, self._support


def test_labels_move_to_the_hidden_positives():
    X, s, alpha, *_ = toy_rows(0, "single-sample")
    learner = Watched(**TOY, contrast_weight=1.0, alpha=alpha, random_state=0).fit(X, s)
    labels, places = learner.seen_["labels"], learner.rows_.unlabeled
    n_hidden = round(alpha * (s == 0).sum())
    hidden = (places >= 300) & (places < 300 + n_hidden)
    # If every epoch began with the first labels, none could exceed 1 - 0.8.
    assert labels[places[hidden]].mean() > 0.45
    assert labels[places[hidden]].max() > 0.8
    assert labels[places[~hidden]].mean() < 0.2
    assert (labels[learner.rows_.labeled] == 1).all()
    assert learner.implied_alpha_ == pytest.approx(labels[places].mean().item())
    assert learner.seen_["cluster"].unique().tolist() == list(range(5))
    assert bool(learner.seen_["neighbors"])


def test_vectors_are_contrasted_only_if_asked():
    X, s, alpha, *_ = toy_rows(0, "case-control")
    quick = TOY | {"epochs": 1, "warm_up_epochs": 1}
    learner = Watched(**quick, alpha=alpha, random_state=0).fit(X, s)
    assert learner.seen_.keys() == {"labels", "momentum"}
    plain, weighed = (
        Watched(**quick, contrast_weight=weight, alpha=alpha, random_state=0).fit(X, s)
        for weight in (0.0, 2.0)
    )
    assert np.array_equal(plain.decision_function(X), learner.decision_function(X))
    assert weighed.seen_.keys() == {"labels", "momentum", "cluster", "neighbors"}
    assert weighed.history_[0]["loss"] > plain.history_[0]["loss"] + 2


def test_what_features_have_in_common_does_not_move_labels():
    X, s, alpha, *_ = toy_rows(0, "case-control")
    places, found = torch.arange(700), []
    draws = {"positives": torch.arange(60), "others": torch.arange(600)}
    for common in (0.0, 50.0):

        class Shifted(LaGAM):
            def _seen(self, X, common=common):
                # The last layer's bias takes off again what the features get.
                features, scores = super()._seen(X)
                return features + common, scores

            def _conclude(self, rows):
                self.moved_ = self._moved(
                    Batch(rows.X[:700], places[:300], places[300:], draws, self.network_),
                    *(part.detach() for part in self._seen(rows.X[:700])),
                    rows.has_label[:700].float(),
                )

        quick = TOY | {"epochs": 1, "warm_up_epochs": 1}
        learner = Shifted(**quick, alpha=alpha, scheme="case-control", random_state=0).fit(X, s)
        found.append(learner.moved_.numpy())
    # Rounding may turn a row over; without the mean taken off, most would be.
    assert np.mean(found[0] != found[1]) < 0.01
    assert 0 < np.mean(found[0][300:] > 0) < 1


def test_a_share_of_the_rows_that_it_has_not_seen_is_positive():
    X, s, alpha, *_ = toy_rows(0, "case-control")
    params = TOY | {"epochs": 2, "validation_fraction": 0.2}
    learner = Watched(**params, alpha=alpha, scheme="case-control", random_state=0).fit(X, s)
    held = X[learner.rows_.held_population.numpy()]
    unseen = np.concatenate([learner.support_rows_[1].numpy(), held])
    assert learner.offset_ != 0
    assert learner.predict(unseen).mean() == pytest.approx(alpha, abs=0.001)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_support_is_not_trained_on(scheme):
    X, s, alpha, *_ = toy_rows(0, scheme)
    seen = set()

    class Seeing(Watched):
        def _loss(self, batch, **options):
            seen.update(batch.labeled_rows.tolist(), batch.population_rows.tolist())
            return super()._loss(batch, **options)

    quick = TOY | {"epochs": 1, "warm_up_epochs": 1, "batch_size": 64}
    learner = Seeing(**quick, alpha=alpha, scheme=scheme, random_state=0).fit(X, s)
    positives, others = (part.numpy() for part in learner.support_rows_)
    assert learner.support_ == "set aside"
    assert len(positives) == 60
    assert len(others) == (660 if scheme == "single-sample" else 600)
    trained = {row.tobytes() for row in X[sorted(seen)].astype(np.float32)}
    aside = {row.tobytes() for row in np.concatenate([positives, others])}
    assert len(seen) > 2500
    assert not trained & aside


def test_few_labels_serve_twice():
    X, s, alpha, *_ = toy_rows(0, "case-control")
    X, s = X[285:1000], s[285:1000]
    quick = TOY | {"epochs": 1, "warm_up_epochs": 1}
    learner = Watched(**quick, alpha=alpha, scheme="case-control", random_state=0).fit(X, s)
    assert len(learner.support_rows_[0]) == len(learner.rows_.labeled) == 15


def test_support_that_is_given():
    X, s, alpha, X_test, y_test = toy_rows(0, "case-control")
    support = X_test[:500], y_test[:500]
    learner = Watched(**TOY, alpha=alpha, scheme="case-control", random_state=0)
    learner.fit(X, s, support=support)
    assert learner.support_ == "given"
    assert learner.offset_ == 0
    n_positive = y_test[:500].sum()
    assert [len(part) for part in learner.support_rows_] == [n_positive, 500 - n_positive]
    assert len(learner.rows_.labeled) == 300
    assert 0.84 <= np.mean(learner.predict(X_test[500:]) == y_test[500:]) <= 0.90
    for wrong in ((X_test[:5], [1, 0]), (X_test[:2], [1, 1]), (X_test[:3], [1, 0, 2])):
        with pytest.raises(InvalidInputError, match="needs support to be rows of both classes"):
            learner.fit(X, s, support=wrong)
    assert not [name for name in vars(learner) if name.startswith("_")]


def test_weights_of_the_warm_up_are_never_kept():
    X, s, alpha, *_ = toy_rows(0, "case-control")
    params = TOY | {"validation_fraction": 0.2, "epochs": 2, "warm_up_epochs": 2}
    learner = LaGAM(**params, alpha=alpha, random_state=0).fit(X, s)
    assert learner.best_epoch_ > 2
    assert ["selection" in epoch for epoch in learner.history_] == [False] * 2 + [True] * 2


def test_images_survive_pickle_and_save(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(240) < 120
    X = rng.normal(0, 0.1, size=(240, 1, 16, 16)).astype(np.float32)
    X[y, :, 4:12, 4:12] += 1
    s = (np.arange(240) < 60).astype(int)
    params = {"epochs": 12, "warm_up_epochs": 2, "batch_size": 32, "clusters": 3}
    learner = LaGAM(**params, alpha=1 / 3, random_state=0).fit(X, s)
    assert np.mean(learner.predict(X) == y) > 0.95
    scores = learner.decision_function(X)
    again = pickle.loads(pickle.dumps(learner))
    loaded = learners.load(learners.save(learner, tmp_path))
    # Convolutions round differently in another layout of the weights.
    assert again.decision_function(X) == pytest.approx(scores, abs=1e-4)
    assert loaded.decision_function(X) == pytest.approx(scores, abs=1e-4)


def test_same_seed_same_bits():
    assert_same_bits(lambda: LaGAM(**TOY, alpha="estimate"))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"warm_up_epochs": 0}, "needs warm_up_epochs to be a whole number of at least 1. Got 0"),
        ({"clusters": 0}, "needs clusters to be a whole number of at least 1. Got 0"),
        ({"neighbors": 2.5}, "needs neighbors to be a whole number of at least 1. Got 2.5"),
        ({"temperature": 0}, "needs temperature to be a number above 0. Got 0"),
        (
            {"support_fraction": 0.7},
            "needs support_fraction to be a number above 0",
        ),
        ({"contrast_weight": -1}, "needs contrast_weight to be a number of at least 0, or None"),
        ({"momentum": 0.9}, "needs momentum to be two numbers of at least 0 and at most 1"),
        ({"momentum": (0.9, 1.5)}, "needs momentum to be two numbers of at least 0 and at most 1"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    with pytest.raises(InvalidInputError, match=f"^LaGAM.fit {message}"):
        LaGAM(**wrong).fit(np.zeros((4, 2)), [1, 1, 0, 0])


def a_step(contrast):
    """Return a learner that reads scores off the first feature, and a batch to take a step with."""
    learner = LaGAM(temperature=0.5, neighbors=1)
    learner._views = SimpleNamespace(weak=lambda rows: rows, strong=lambda rows: rows.flip(1))
    learner._contrast, learner._projection = contrast, lambda features: features
    learner._seen = lambda rows: (rows, rows[:, 0])
    learner._memory = {
        "labels": numbers(1, 0.2, 0.4, 0.3),
        "cluster": torch.tensor([0, 0, 0, 1]),
        "neighbors": torch.tensor(False),
    }
    learner._moved = lambda batch, features, scores, labels: labels
    rows = columns([2.0, 1.0, -1.0, 0.5], [0.5, 1.0, 1.0, -2.0])
    draws = {"share": numbers(0.75)[0], "order": torch.tensor([3, 2, 0, 1])}
    return learner, batch_of(rows[:1], rows[1:], **draws)


def test_a_step_learns_soft_labels_of_rows_and_of_mixtures():
    learner, batch = a_step(contrast=0.0)
    labels, scores, order = learner._memory["labels"], batch.rows[:, 0], batch.draws["order"]
    mixed = 0.75 * scores + 0.25 * scores[order], 0.75 * labels + 0.25 * labels[order]
    expected = balanced_loss(scores, labels) + balanced_loss(*mixed)
    assert learner._loss(batch).item() == pytest.approx(expected.item(), abs=1e-9)
    moved = numbers(1, 0.9, 0.1, 0.8)
    learner._moved = lambda batch, features, scores, labels: moved
    expected = balanced_loss(scores, moved)
    expected = expected + balanced_loss(mixed[0], 0.75 * moved + 0.25 * moved[order])
    assert learner._loss(batch).item() == pytest.approx(expected.item(), abs=1e-9)
    assert learner._memory["labels"].tolist() == moved.tolist()
    # Labels that were not moved yet are the first ones, in the warm-up.
    learner._moved = None
    learner._warm_up_loss(batch)


def test_a_step_draws_rows_of_a_cluster_and_class_together():
    plain, weighed = a_step(contrast=0.0), a_step(contrast=2.0)
    rows = weighed[1].rows
    views = [torch.nn.functional.normalize(part) for part in (rows, rows.flip(1))]
    # The first two are alike in cluster and class, the third is of the other class.
    kind = torch.tensor([0, 0, 1, 2])
    partners = (kind[:, None] == kind).repeat(1, 2)
    twins, groups = (part.item() for part in contrastive_losses(*views, partners, 0.5))
    assert abs(groups - twins) > 0.01
    for warm_up, expected in ((False, twins + groups), (True, twins)):
        found, without = (
            learner._loss(batch, with_first_labels=warm_up).item()
            for learner, batch in (weighed, plain)
        )
        assert found - without == pytest.approx(2 * expected, abs=1e-6)
