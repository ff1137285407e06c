"""usable_estimate: the one alpha that learners are told and that metrics are recovered with."""

from dataclasses import replace

import numpy as np
import pytest

from recoup.priors import PriorEstimate, estimate, usable
from recoup.priors.labels import LabelSelection
from recoup.priors.usable import usable_estimate

TEXT = "Positives come in 2 kinds. Alpha allows for the kinds that were found."


def found(code, alpha, random=0.2, most=0.5):
    """What ``estimate`` says where the features were looked at."""
    return PriorEstimate(
        alpha=alpha,
        interval=(0.15, 0.6),
        draws=np.linspace(0.15, 0.6, 5),
        members={"if random": random},
        identified=(0.0, most) if code == "cannot-tell" else None,
        labels=LabelSelection(code, 0.3, text=TEXT),
    )


def plain(random=0.2, most=0.5):
    said = LabelSelection("random", float("nan"), text="Said to be random.")
    return PriorEstimate(
        alpha=random, interval=(0.1, 0.3), identified=(0.0, most), members={"bbe": 0.2}, labels=said
    )


@pytest.fixture
def usable_of(monkeypatch):
    """Ask for an alpha where ``estimate`` finds this one."""

    def ask(first, labels_are="unknown", random=None):
        asked = []

        def answer(s, *, labels_are, **options):
            asked.append((labels_are, options["random_state"]))
            return first if len(asked) == 1 else random

        monkeypatch.setattr(usable, "estimate", answer)
        return usable_estimate(np.array([0, 1]), np.zeros((2, 1)), labels_are=labels_are), asked

    return ask


def test_alpha_is_halfway_where_features_cannot_tell(usable_of):
    before = found("cannot-tell", 0.42)
    alpha, asked = usable_of(before)
    assert alpha.alpha == pytest.approx(0.31)
    assert alpha.interval == before.interval
    assert alpha.draws is before.draws
    assert alpha.members == {"if random": 0.2, "any labels": 0.42}
    assert alpha.labels.text.startswith(TEXT)
    assert "0.31, stands halfway between 0.2 for random labels and 0.42" in alpha.labels.text
    assert len(asked) == 1


@pytest.mark.parametrize(("random", "limits"), [(0.0, (0.1, 0.6)), (0.99, (0.15, 0.745))])
def test_the_interval_reaches_as_far_as_alpha(usable_of, random, limits):
    alpha, _ = usable_of(found("cannot-tell", 0.2 if random == 0 else 0.5, random))
    assert alpha.interval == pytest.approx(limits)


@pytest.mark.parametrize("code", ["kinds", "tilt", "cannot-tell"])
def test_alpha_for_biased_labels_is_taken_where_something_speaks_for_them(usable_of, code):
    said = "biased" if code == "cannot-tell" else "unknown"
    before = found(code, 0.42)
    alpha, asked = usable_of(before, said, plain())
    assert alpha is before
    # The second one is asked how much scores of random labels allow, about the same rows.
    assert [word for word, _ in asked] == [said, "random"]
    assert asked[0][1] == asked[1][1]


@pytest.mark.parametrize("code", ["kinds", "tilt"])
def test_no_alpha_is_more_than_metrics_can_be_recovered_with(usable_of, code):
    alpha, _ = usable_of(found(code, 0.97), random=plain())
    assert (alpha.alpha, alpha.interval) == (0.2, (0.1, 0.3))
    assert alpha.members["any labels"] == 0.97
    assert alpha.labels.code == code
    assert alpha.labels.text.startswith("Positives come in 2 kinds. Alpha would then be 0.97")
    assert "more than the 0.50 from which metrics can be recovered" in alpha.labels.text


def test_an_upper_limit_will_do_where_there_are_no_scores(usable_of):
    proven = replace(plain(), identified=None, upper_limit=0.4)
    assert usable_of(found("kinds", 0.42), random=proven)[0].alpha == 0.2


def test_nothing_changes_where_nobody_looked_or_labels_are_random(usable_of):
    for before in (plain(), replace(plain(), labels=None)):
        assert usable_of(before)[0] is before


def test_random_labels_of_a_rare_kind_do_not_give_twice_their_share():
    rng = np.random.default_rng(0)
    y = rng.random(3000) < 0.15
    X = rng.normal(1.3 * y[:, None] * (np.arange(6) < 3), size=(3000, 6))
    s = (y & (rng.random(3000) < 0.2)).astype(int)
    truth = float(y[s == 0].mean())
    before, after = estimate(s, X=X), usable_estimate(s, X)
    random = usable_estimate(s, X, labels_are="random")
    assert after.labels.code == "cannot-tell"
    assert random.alpha == before.members["if random"]
    assert after.alpha == pytest.approx((random.alpha + before.alpha) / 2)
    assert abs(after.alpha - truth) < abs(before.alpha - truth)
    assert after.interval[0] < truth < after.interval[1]
