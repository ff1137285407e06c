"""How the scores of a run are counted, and where their middle halves lie."""

import numpy as np
import pytest

from recoup.bench.measure import distributions


@pytest.fixture
def scored():
    rng = np.random.default_rng(3)
    y_test, y_train = (rng.random(n) < 0.4 for n in (300, 900))
    s = (y_train & (rng.random(900) < 0.3)).astype(int)
    test, train = rng.normal(2.0 * y_test), rng.normal(2.0 * y_train)
    return {
        "test": test,
        "test_classes": y_test.astype(int),
        "train": train,
        "s": s,
        "train_classes": y_train.astype(int),
        "propensity": np.full(900, 0.3),
    }


def test_quartiles_are_those_of_each_group(scored):
    found = distributions(**scored)["quartiles"]
    labeled, positive = scored["s"] == 1, scored["train_classes"] == 1
    groups = {
        "test_positive": scored["test"][scored["test_classes"] == 1],
        "test_negative": scored["test"][scored["test_classes"] == 0],
        "train_labeled": scored["train"][labeled],
        "train_hidden": scored["train"][positive & ~labeled],
        "train_negative": scored["train"][~positive & ~labeled],
    }
    assert found.keys() == groups.keys()
    for name, values in groups.items():
        first, median, third = found[name]
        assert median == np.median(values)
        for quartile, share in ((first, 0.25), (third, 0.75)):
            assert np.mean(values <= quartile) == pytest.approx(share, abs=1 / len(values))


def test_what_a_discriminator_says_is_counted_between_zero_and_one(scored):
    said = np.where(scored["s"] == 1, 0.9, 0.2)
    said[:3] = (0.0, 1.0, 0.5)
    found = distributions(**scored, discriminator=said)
    assert found["discriminator_edges"] == pytest.approx(np.linspace(0, 1, 41))
    names = [f"discriminator_{group}" for group in ("labeled", "hidden", "negative")]
    assert [len(found[name]) for name in names] == [40, 40, 40]
    assert sum(sum(found[name]) for name in names) == 900
    hidden = (scored["s"] == 0) & (scored["train_classes"] == 1)
    counted, _ = np.histogram(said[hidden], np.linspace(0, 1, 41))
    assert found["discriminator_hidden"] == counted.tolist()
    assert found["quartiles"]["discriminator_hidden"] == [0.2, 0.2, 0.2]
    assert not any("discriminator" in name for name in distributions(**scored))


def test_quartiles_of_estimated_chances(scored):
    chances = np.linspace(0, 1, 900)
    found = distributions(**scored, estimated=chances)
    labeled = scored["s"] == 1
    assert found["quartiles"]["chance_labeled"][1] == np.median(chances[labeled])
    assert "chance_negative" not in found


def test_a_group_without_rows_has_no_quartiles(scored):
    scored["s"] = np.zeros(900, int)
    found = distributions(**scored)
    assert sum(found["train_labeled"]) == 0
    assert "train_labeled" not in found["quartiles"]
    assert "train_hidden" in found["quartiles"]
