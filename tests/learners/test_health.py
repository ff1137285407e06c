import warnings
from typing import ClassVar

import numpy as np
import pytest

from learners.toy import toy_rows
from recoup import learners
from recoup.exceptions import LearnerWarning, RecoupWarning
from recoup.learners import Health, LearnerTags, PULearner
from recoup.learners._training.mending import other_ways
from recoup.learners.cut import HonestScores
from recoup.learners.health import diagnosed, needs_reference, quick_reference


@pytest.fixture(autouse=True)
def one_fit():
    """Here networks are fitted again."""


def small_network(shape):
    from torch import nn

    return nn.Linear(shape[0], 1)


class Given(PULearner):
    """Scores rows by their first feature, turned and moved."""

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="given", family="none", cost="n", source="nowhere", needs_alpha=True
    )

    def __init__(self, alpha=0.3, *, factor=1.0, border=0.0, guard="retry", random_state=None):
        self.alpha = alpha
        self.factor = factor
        self.border = border
        self.guard = guard
        self.random_state = random_state

    def _fit(self, X, s, rng):
        self.fitted_ = True

    def _decide(self, X):
        return self.factor * (X[:, 0] - self.border)


def rows(n=600, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    X = rng.normal(size=(n, 3)) + 3 * y[:, None]
    s = (y & (rng.random(n) < 0.3)).astype(int)
    return X, s, float(y[s == 0].mean())


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"border": 1.5}, "ok"),
        ({"factor": -1.0, "border": 1.5}, "ranks-backwards"),
        ({"border": -9.0}, "calls-all-positive"),
        ({"border": 9.0}, "calls-none-positive"),
    ],
)
def test_what_is_wrong_has_a_code_and_a_warning(settings, code):
    X, s, alpha = rows()
    learner = Given(alpha, **settings)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learner.fit(X, s)
    assert learner.health_.code == code
    assert learner.health_.ok is (code == "ok")
    assert learner.health_.expected == alpha
    assert [one.message.code for one in caught] == ([] if code == "ok" else [code])
    for one in caught:
        assert issubclass(one.category, LearnerWarning)
        assert issubclass(one.category, RecoupWarning)
        assert "Given.fit has failed" in str(one.message)
        assert one.filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Given(alpha, **settings, guard="off").fit(X, s).health_ is None


def test_a_far_better_simple_classifier_is_noticed():
    rng = np.random.default_rng(0)
    s = np.repeat([1, 0], [60, 540])
    good = HonestScores(s, 2.0 * s + rng.normal(size=600), "held-out")
    poor = HonestScores(s, 0.3 * s + rng.normal(size=600), "held-out")
    assert diagnosed(poor, poor, None, good).code == "worse-than-reference"
    assert diagnosed(good, good, None, poor).code == "ok"
    assert needs_reference(poor, 0.2)
    assert not needs_reference(good, 0.2)
    found = diagnosed(poor, poor, None, good)
    assert found.reference_auc_pu == good.auc_pu
    assert f"AUC {good.auc_pu:.2f} of a simple classifier" in found.text


def test_it_says_where_labels_cannot_tell():
    rng = np.random.default_rng(3)
    few, many = (np.repeat([1, 0], [n, 500]) for n in (12, 300))
    noise = {len(s): rng.normal(size=len(s)) for s in (few, many)}

    def code(s, shift, source):
        scores = noise[len(s)] + shift * s
        # Some are called positive: that is not what is asked here.
        called = HonestScores(s, scores - np.quantile(scores, 0.7) + 1e-9, source)
        return diagnosed(called, called, 0.3)

    found = code(few, 0.6, "held-out")
    assert (found.code, found.ok) == ("cannot-tell", True)
    assert "Given.fit cannot tell whether it worked" in found.warning("Given.fit")
    assert "too few" in found.warning("Given.fit")
    assert code(many, 0.5, "held-out").code == "ok"
    assert code(few, 3.0, "cross-fitted").code == "ok"
    # Three labels show nothing, and no more do twelve that a model was trained on.
    assert code(np.repeat([1, 0], [3, 509]), 9.0, "held-out").code == "cannot-tell"
    assert code(few, 9.0, "training").code == "cannot-tell"
    assert code(many, 0.5, "training").code == "ok"


def test_a_fit_that_nobody_can_judge_warns_and_is_not_repeated():
    X, s, alpha = rows(n=200)
    s[np.flatnonzero(s == 1)[12:]] = 0
    learner = Given(alpha, border=1.5)
    with pytest.warns(LearnerWarning, match="cannot tell whether it worked") as caught:
        learner.fit(X, s)
    assert caught[0].message.code == learner.health_.code == "cannot-tell"
    assert learner.health_.ok
    assert learner.health_.retries == ()


def test_chance_is_no_failure():
    rng = np.random.default_rng(1)
    codes = []
    for _ in range(200):
        s = np.repeat([1, 0], [20, 200])
        found = HonestScores(s, rng.normal(size=220), "held-out")
        codes.append(diagnosed(found, HonestScores(s, found.scores + s, "training"), None).code)
    # One-sided 5% each, of scores that say nothing at all.
    assert codes.count("ranks-backwards") < 22
    assert codes.count("ok") < 22
    assert set(codes) == {"ok", "ranks-backwards", "cannot-tell"}


def test_the_reference_has_not_seen_the_rows():
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(300, 4)), np.repeat([1, 0], [60, 240])
    for held in (np.arange(300) % 3 == 0, np.zeros(300, bool)):
        found = quick_reference(X, s, held)
        assert 0.35 < found.auc_pu < 0.7  # labels at random: nothing can be told of new rows
        assert len(found.s) == (held.sum() or 300)
    assert quick_reference(X[59:], s[59:], np.zeros(241, bool)) is None


def test_a_network_is_fitted_again_differently():
    X, s, alpha, *_ = toy_rows(0, "single-sample")
    s[np.flatnonzero(s == 1)[12:]] = 0  # few labels, none held out
    # Steps so long that nothing is learned of the sigmoid loss, which is flat there.
    lost = {"epochs": 2, "learning_rate": 1e-6, "network": small_network, "random_state": 3}
    plain = learners.make("nnpu", alpha=alpha, guard="warn", **lost)
    with pytest.warns(LearnerWarning, match=r"NNPU\.fit has failed"):
        plain.fit(X, s)
    assert plain.health_.retries == ()
    again = learners.make("nnpu", alpha=alpha, **lost)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LearnerWarning)
        again.fit(X, s)
    assert again.health_.retries[0] == "another seed and the logistic loss"
    assert again.get_params() == learners.make("nnpu", alpha=alpha, **lost).get_params()
    assert again.health_.auc_pu >= plain.health_.auc_pu
    assert not any(name.startswith("_") for name in set(vars(again)) - set(vars(plain)))


def test_what_is_tried():
    nnpu = dict(other_ways(learners.NNPU(epochs=5)))
    assert list(nnpu.values()) == [{"loss": "logistic"}, {"epochs": 15, "loss": "logistic"}]
    dist_pu = dict(other_ways(learners.DistPU(epochs=5, warm_up_epochs=4)))
    assert list(dist_pu.values()) == [{}, {"epochs": 15, "warm_up_epochs": 12}]


def test_rows_of_the_training_must_be_called_more_often():
    scores = np.repeat([1.0, -1.0], [3, 97])
    s = np.zeros(100, int)
    s[[0, 50]] = 1
    for source, code in (("training", "calls-none-positive"), ("cross-fitted", "cannot-tell")):
        found = HonestScores(s, scores, source)
        assert diagnosed(found, found, 0.1).code == code


def test_presets_look_on():
    assert learners.make("nnpu", preset="pubench").guard == "warn"
    assert learners.make("nnpu", preset="paper", guard="off").guard == "off"
    assert learners.make("nnpu").guard == "retry"


def test_health_says_it_in_words():
    health = Health(
        code="calls-none-positive",
        source="held-out",
        n_labeled=10,
        n_unlabeled=90,
        called=0.0,
        expected=0.02,
        recall=0.1,
        auc_pu=0.8,
    )
    assert health.after(("another seed",)).text == (
        "far too few rows are called positive (0.0% of the unlabeled rows called positive where "
        "2.0% should be; recall 0.10 and AUC 0.80 of labeled rows; held-out rows). "
        "Tried: another seed."
    )
