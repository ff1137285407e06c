"""Labels that are no random sample, as far as the features show it."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest

import recoup
from recoup.exceptions import InvalidInputError
from recoup.priors import PULSNAR, Auto, estimate
from recoup.priors._solvers.groups import group_chances, unit_columns
from recoup.priors._solvers.leaves import clustered, grown, merged
from recoup.priors._solvers.like_problems import (
    from_forest,
    load_problems,
    read_problems,
    save_problems,
    weighted_quantiles,
)
from recoup.priors.biased_labels import (
    LEVEL,
    QUANTILES,
    WAYS,
    _as_scores_allow,
    biased_alone,
    judge,
    with_labels,
)
from recoup.priors.kinds import Kinds, each_kind, find_kinds, propensities
from recoup.priors.label_readings import evened, joint_share, question, read_labels, shares_of
from recoup.priors.share_net import QUANTILES as SHARE_QUANTILES

LEVELS = np.array(SHARE_QUANTILES)
FAST = {"transform": "logistic"}


def two_kinds(rates, seed=0, n_each=400, n_negative=1200, n_columns=4):
    """Two kinds of positives around points on the axes, labeled at these rates."""
    rng = np.random.default_rng(seed)
    kind = np.repeat([0, 1, 2], [n_each, n_each, n_negative])
    centers = np.zeros((3, n_columns))
    centers[0, 0], centers[1, 1] = 5.0, 5.0
    X = rng.normal(centers[kind])
    s = (rng.random(len(kind)) < np.array([*rates, 0.0])[kind]).astype(int)
    return X, s, kind


def made_kinds(shares, sizes, n_unlabeled=1000, spread=0.01):
    """Kinds whose shares are known up to a small spread."""
    shares = np.asarray(shares, float)
    quantiles = shares[:, None] * (1 + spread * (LEVELS - 0.5))
    chances = np.full((int(sum(sizes)) + n_unlabeled, 1 + len(sizes)), 0.5)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    return Kinds(groups, chances, np.asarray(sizes, float), n_unlabeled, quantiles)


def test_different_rates_are_flagged_and_alpha_allows_for_them():
    for seed in range(2):
        X, s, kind = two_kinds((0.6, 0.1), seed)
        truth = (kind[s == 0] < 2).mean()
        found = estimate(s, X=X, random_state=seed, **FAST)
        assert found.labels.code == "kinds"
        assert found.labels.p_value <= LEVEL
        # With labels as random it is less than a third of what it should be.
        assert abs(found.alpha - truth) < 0.4 * abs(found.members["if random"] - truth)
        assert found.interval[0] < truth < found.interval[1]
        assert {"kinds", "if random"} <= set(found.members)
        assert found.members["if random"] < truth
        assert "kinds" in [note.code for note in found.warnings]
        assert found.identified is None
        rates = [each.label_frequency for each in found.labels.kinds]
        assert max(rates) == pytest.approx(0.6, abs=0.15)
        assert min(rates) == pytest.approx(0.1, abs=0.06)


def test_labels_of_clear_positives_are_no_random_sample():
    rng = np.random.default_rng(0)
    y = rng.random(3000) < 0.4
    X = rng.normal(size=(3000, 4)) + 2.0 * y[:, None] * np.array([1, 1, 0, 0])
    chance = np.exp(1.2 * (X[:, 0] + X[:, 1] - 6))
    s = (y & (rng.random(3000) < np.minimum(chance, 1))).astype(int)
    truth = y[s == 0].mean()
    found = estimate(s, X=X, **FAST)
    random = estimate(s, X=X, labels_are="random", **FAST)
    assert random.alpha < 0.5 * truth
    assert found.labels.code == "tilt"
    assert "favor clear positives" in found.labels.text
    assert abs(found.alpha - truth) < abs(random.alpha - truth)
    assert found.interval[1] > random.interval[1]


def test_what_is_said_about_labels_counts():
    X, s, _ = two_kinds((0.6, 0.1))
    found = {
        word: estimate(s, X=X, labels_are=word, **FAST) for word in ("random", "unknown", "biased")
    }
    assert found["random"].labels.code == "random"
    assert found["random"].alpha == found["unknown"].members["if random"]
    assert found["biased"].alpha != found["unknown"].alpha
    assert "kinds" not in found["random"].members
    with pytest.raises(InvalidInputError, match="labels_are"):
        estimate(s, X=X, labels_are="fair")
    with pytest.raises(InvalidInputError, match="labels_are"):
        Auto(labels_are="fair").fit(X, s)


def test_alpha_does_not_depend_on_how_the_interval_is_made():
    X, s, _ = two_kinds((0.6, 0.1), n_each=150, n_negative=400)
    plain = Auto(beta=1.0, interval=None).fit_scores(s, X[:, 0] + X[:, 1]).estimate_
    drawn = Auto(beta=1.0).fit_scores(s, X[:, 0] + X[:, 1]).estimate_
    rngs = [np.random.default_rng(0) for _ in range(2)]
    without, within = (
        with_labels(each, X, s, rng) for each, rng in zip((plain, drawn), rngs, strict=True)
    )
    assert without.alpha == within.alpha
    assert without.interval is None
    assert within.interval[0] < within.alpha < within.interval[1]


def test_nothing_found_is_no_evidence_of_random_labels():
    X, s, kind = two_kinds((0.3, 0.3))
    found = estimate(s, X=X, **FAST)
    assert found.labels.code == "cannot-tell"
    assert found.labels.p_value > LEVEL
    assert "no evidence of random labels" in found.labels.text
    assert "cannot be checked from these data; an audit of about 120 rows would" in str(
        found.labels
    )
    assert found.labels.propensity is None
    assert abs(found.alpha - (kind[s == 0] < 2).mean()) < 0.06


def test_alpha_stays_within_what_scores_allow_where_nothing_speaks_against_random_labels():
    X, s, _ = two_kinds((0.3, 0.3), n_each=150, n_negative=400)
    found = estimate(s, X=X, **FAST)
    assert found.labels.code == "cannot-tell"
    most = found.identified[1]
    assert found.alpha <= max(most, found.members["if random"])
    above = replace(found, alpha=0.9, interval=(0.8, 0.95))
    kept = _as_scores_allow(above, 0.2)
    assert (kept.alpha, kept.interval) == (most, (most, 0.95))
    # An estimate for random labels that is above is left to itself.
    assert _as_scores_allow(above, 0.85).alpha == 0.85
    unknown = replace(above, identified=None)
    assert _as_scores_allow(unknown, 0.2) is unknown


def test_few_labels_allow_for_much():
    X, s, kind = two_kinds((0.1, 0.05), n_each=300)
    s[np.random.default_rng(0).permutation(np.flatnonzero(s))[25:]] = 0
    found = estimate(s, X=X, **FAST)
    assert found.labels.code == "cannot-tell"
    low, high = found.interval
    assert low < (kind[s == 0] < 2).mean() < high
    assert high - low > 0.15


def test_constant_and_strange_columns():
    X, s, _ = two_kinds((0.6, 0.1))
    with_constant = np.column_stack([X, np.full(len(X), 7.0)])
    assert estimate(s, X=with_constant, **FAST).labels.code == "kinds"
    plain = Auto(beta=1.0).fit_scores(s, X[:, 0] + X[:, 1]).estimate_
    rng = np.random.default_rng(0)
    for rows in (np.full_like(X, 3.0), np.array([["a"]] * len(X)), X * np.nan):
        found = with_labels(plain, rows, s, rng)
        assert found.labels.code == "cannot-tell"
        assert found.alpha == plain.alpha


def test_scores_alone_change_nothing():
    X, s, _ = two_kinds((0.6, 0.1))
    scores = X[:, 0] + X[:, 1]
    by_scores, by_column = (
        estimate(s, scores),
        estimate(s, X=scores[:, None], transform=None),
    )
    assert by_scores.labels is by_column.labels is None
    assert "labels" not in by_scores.to_dict()
    assert by_scores.alpha == by_column.alpha


def test_wrong_labels_are_not_looked_into():
    X, s, _ = two_kinds((0.6, 0.1))
    found = estimate(s, X=X, beta=0.9, **FAST)
    assert found.beta == 0.9
    assert found.labels.code == "cannot-tell"


def test_known_negatives_are_left_out():
    X, s, kind = two_kinds((0.6, 0.1))
    s[np.flatnonzero(kind == 2)[:50]] = -1
    found = estimate(s, X=X, **FAST)
    assert found.labels.code == "kinds"
    assert len(found.labels.propensity) == len(s)


def test_propensities_stand_in_for_alpha():
    X, s, kind = two_kinds((0.6, 0.1), n_each=500)
    scores = 1 / (1 + np.exp(5 - X[:, 0] - X[:, 1]))
    truth = float((scores[kind < 2] >= 0.5).mean())
    found = estimate(s, X=X, **FAST)
    evaluation = recoup.evaluate(s, scores, propensity=found.labels.propensity)
    # Rates are scaled to add up to the alpha of the estimate, which goes most of the way from the
    # one for random labels to the truth.
    assert evaluation.alpha == pytest.approx(found.alpha, abs=0.02)
    hidden = (kind[s == 0] < 2).mean()
    assert abs(evaluation.alpha - hidden) < 0.4 * abs(found.members["if random"] - hidden)
    assert evaluation["recall"].recovered == pytest.approx(truth, abs=0.05)
    # Each kind gets its own rate.
    means = [found.labels.propensity[(kind == k) & (s == 1)].mean() for k in (0, 1)]
    assert means[0] > 3 * means[1]


def test_kinds_are_scaled_to_the_alpha_of_all():
    # Looked at alone, overlapping kinds would add up to 0.4.
    kinds = made_kinds([0.1, 0.3], [100, 100])
    for alpha in (0.2, 0.4):
        each = each_kind(kinds, alpha)
        assert sum(kind.alpha for kind in each) == pytest.approx(alpha)
        assert each[0].label_frequency > each[1].label_frequency
    assert [kind.label_frequency for kind in each] == pytest.approx([0.5, 0.25], rel=1e-3)


def test_propensity_of_a_row_of_one_kind_is_the_rate_of_that_kind():
    kinds = made_kinds([0.1, 0.3], [100, 100])
    chances = np.array([[0.2, 0.8, 0.0], [0.2, 0.0, 0.8], [0.0, 0.5, 0.5]])
    kinds = Kinds(kinds.groups, chances, kinds.sizes, kinds.n_unlabeled, kinds.shares)
    found = propensities(kinds, 0.4)
    np.testing.assert_allclose(found[:2], [0.5, 0.25], rtol=1e-4)
    # As many labeled rows of both kinds stand for 2 and 4 positives each.
    assert found[2] == pytest.approx(1 / 3, rel=1e-4)


def test_finding_as_table_and_text():
    X, s, _ = two_kinds((0.6, 0.1))
    labels = estimate(s, X=X, **FAST).labels
    frame = labels.to_frame()
    assert list(frame["n_labeled"]) == [each.n_labeled for each in labels.kinds]
    assert frame["n_labeled"].sum() == s.sum()
    assert labels.to_dict()["code"] == "kinds"
    assert repr(labels).startswith("LabelSelection('kinds', p=0.0")
    assert "share labeled" in labels._repr_html_()


def test_kinds_that_do_not_overlap_add_up_and_joint_shares_count_none_twice():
    X, s, kind = two_kinds((0.3, 0.3))
    truth = (kind[s == 0] < 2).mean()
    found = find_kinds(unit_columns(X), s, 0)
    assert found.mixture.alphas.sum() == pytest.approx(truth, abs=0.06)
    # The same kind twice: alone each has all of the share.
    half = np.arange(int(s.sum())) % 2
    whole = found.whole
    chances = np.column_stack([whole.chances[:, 0], *[whole.chances[:, 1] / 2] * 2])
    shares = np.repeat(whole.shares, 2, axis=0)
    doubled = Kinds(half, chances, np.bincount(half).astype(float), whole.n_unlabeled, shares)
    once, twice = (float(shares_of(joint_share(each, s, 0))) for each in (whole, doubled))
    assert doubled.alphas.sum() > 1.8 * truth
    assert twice == pytest.approx(once, abs=0.08)


def test_chances_come_from_trees_that_have_not_seen_the_row():
    # Labels that features tell nothing about: trees that had seen them would rank them first.
    rng = np.random.default_rng(0)
    s = (rng.random(600) < 0.3).astype(int)
    X = rng.normal(size=(600, 3))
    alone = np.zeros(s.sum(), int)
    for chances in (group_chances(X, s, alone, 0), grown(X, s, alone, 0).chances(alone)):
        assert abs(chances[s == 1, 1].mean() - chances[s == 0, 1].mean()) < 0.06
        np.testing.assert_allclose(chances.sum(axis=1), 1.0)


def test_one_forest_tells_coarse_and_fine_groups():
    X, s, kind = two_kinds((0.4, 0.4))
    fine = clustered(X[s == 1], 8, 10, 0)
    forest = grown(X, s, fine, 0)
    coarse = merged(X[s == 1], fine, 2)
    assert np.bincount(fine).min() >= 10
    assert len(np.unique(coarse)) == 2
    # Two clusters far apart are what is left after merging.
    assert len({(a, b) for a, b in zip(coarse.tolist(), kind[s == 1].tolist(), strict=True)}) == 2
    parts, sums = forest.chances(fine), forest.chances(coarse)
    for group in range(2):
        inside = np.unique(fine[coarse == group])
        np.testing.assert_allclose(parts[:, 1 + inside].sum(axis=1), sums[:, 1 + group])


def test_problems_that_are_alike_say_what_alpha_may_be():
    X, s, _ = two_kinds((0.6, 0.1), n_each=150, n_negative=400)
    readings = read_labels(unit_columns(X), s, 0)
    again = read_labels(unit_columns(X), s, 0)
    np.testing.assert_array_equal(readings.values, again.values)
    assert np.isfinite(readings.values).all()
    problems = load_problems("biased_labels")
    random = float(evened(0.2))
    inputs = question(random, readings.values).inputs
    assert problems.feature.max() < len(inputs)
    likeness = problems.likeness(inputs)
    assert likeness.min() >= 0
    assert likeness.sum() == pytest.approx(1)
    verdict = judge(random, readings.values, known_biased=False)
    assert list(verdict.ways) == list(WAYS)
    assert sum(verdict.ways.values()) == pytest.approx(1)
    assert len(verdict.quantiles) == len(QUANTILES)
    assert (np.diff(verdict.quantiles) >= 0).all()
    assert (
        1 / (1 + len(load_problems("label_ways").meta["biased_if_random"])) <= verdict.p_value <= 1
    )
    # Labels that are said to be biased leave out what is known of random ones.
    told = biased_alone(problems, likeness)
    assert told.sum() == pytest.approx(1)
    assert (told[problems.way == 0] == 0).all()


def test_no_dataset_of_the_study_was_learned_from():
    from tools.studies.biased_labels import STUDY as BIASED
    from tools.studies.prior_tasks import STUDY as RANDOM

    learned = set(load_problems("biased_labels").meta["datasets"])
    assert len(learned) > 10
    assert not learned & {*BIASED, *RANDOM}


def test_a_file_of_problems_comes_back_as_it_was(tmp_path):
    from sklearn.ensemble import ExtraTreesRegressor

    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(60, 3)).astype(np.float32).astype(float)
    truth, way = inputs[:, 0] + 0.1 * rng.normal(size=60), np.arange(60) % 3
    forest = ExtraTreesRegressor(20, min_samples_leaf=4, random_state=0).fit(inputs, truth)
    made = from_forest(forest, inputs, truth, way, np.ones(60), {"about": "nothing"})
    for name in ("one.npz", "two.npz"):
        save_problems(tmp_path / name, made)
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    read = read_problems(tmp_path / "one.npz")
    assert read.meta == {"about": "nothing"}
    # A problem is like itself, and like those that share its leaves, as the forest has them.
    leaves = forest.apply(inputs)
    for row in (0, 7):
        found = read.likeness(inputs[row])
        same = leaves == leaves[row]
        expected = (same / same.sum(axis=0)).mean(axis=1)
        np.testing.assert_allclose(found, expected, atol=1e-9)
    middle = weighted_quantiles(read.truth, found, (0.5,))[0]
    assert middle == pytest.approx(truth[7], abs=0.6)
    with pytest.raises(InvalidInputError, match="problems and trees"):
        read_problems(files("recoup.priors") / "weights" / "share_net.npz")
    cut = (tmp_path / "one.npz").read_bytes()[:-100]
    (tmp_path / "cut.npz").write_bytes(cut)
    with pytest.raises(InvalidInputError, match="cannot be read"):
        read_problems(tmp_path / "cut.npz")


def test_pulsnar_takes_its_interval_from_the_groups():
    X, s, kind = two_kinds((0.6, 0.1))
    found = PULSNAR().fit(X, s).estimate_
    low, high = found.interval
    assert found.interval_method == "network"
    assert low < (kind[s == 0] < 2).mean() < high
