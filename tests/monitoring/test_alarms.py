"""Alarms: e-values that are some, causes that are told apart, and silence if nothing happens."""

import math
from dataclasses import replace

import numpy as np
import pytest

from monitoring.payments import counted
from recoup.monitoring.alarms import PARTS, WINDOW, Watch, watch
from recoup.monitoring.drift import Reference, _NumberOfLabels, _Spread, evidence_of_change
from recoup.monitoring.smoothing import Known

YEAR = 52.0


def known(counts, arrived=None, error=0.0):
    full = np.ones(counts.n_periods) if arrived is None else arrived
    return Known(0.6, error, full, np.zeros(counts.n_periods))


def watched(**options):
    counts = counted(weeks=40, rows=1200, **options)
    return watch(counts, known(counts), YEAR, 0.05)


def test_without_a_change_the_ratio_is_at_most_one_on_average():
    rng = np.random.default_rng(0)
    before = np.array([[0.5, 0.3, 0.2]])
    changed = np.array([[0.4, 0.3, 0.3]])
    for learned_from, high in ((1e12, 1.05), (300.0, 1.0)):
        ratios = []
        for _ in range(4000):
            rows = rng.multinomial(60, before[0])[None].astype(float)
            found = _Spread(rows, before, learned_from, slice(0, 0)).ratios(changed)
            ratios.append(math.exp(found[0, 0]))
        assert 0.5 < np.mean(ratios) <= high


def test_periods_that_vary_by_themselves_are_believed_less():
    rng = np.random.default_rng(1)
    before, changed = np.tile([0.6, 0.4], (60, 1)), np.tile([0.5, 0.5], (60, 1))
    same = rng.multinomial(400, [0.6, 0.4], 60).astype(float)
    shares = np.clip(rng.normal(0.6, 0.08, 60), 0.05, 0.95)
    restless = np.array([rng.multinomial(400, [p, 1 - p]) for p in shares], float)
    quiet, loud = (
        _Spread(rows, before, 1e12, slice(0, 47)).ratios(changed)[0, -1] / raw
        for rows in (same, restless)
        if (raw := (rows[-1] * np.log(changed[-1] / before[-1])).sum())
    )
    assert quiet > 0.7
    assert loud < 0.35


def test_what_wanders_by_itself_is_believed_less_than_what_does_not():
    rng = np.random.default_rng(2)
    wandering = np.cumsum(rng.normal(0, 0.05, 40))
    wandering = 0.6 + wandering - wandering.mean()
    rows = np.array([rng.multinomial(300, [p, 1 - p]) for p in wandering], float)
    before, changed = np.tile([0.6, 0.4], (40, 1)), np.tile([0.5, 0.5], (40, 1))
    ratios = [
        np.abs(_Spread(rows, before, 1e12, slice(0, 27), wanders=one).ratios(changed)[0, -1])
        for one in (True, False)
    ]
    assert ratios[0] < 0.8 * ratios[1]


def test_what_is_not_known_of_delays_weakens_the_number_of_labels():
    counts = counted(weeks=30, rows=800)
    sure = known(counts)
    unsure = Known(0.6, 0.0, sure.arrived, np.full(30, 0.05))
    before = slice(0, 17)
    ratios = []
    for one in (sure, unsure):
        chance = np.full((30, counts.n_bins), 0.6)
        reference = Reference.of(counts, one, before)
        found = _NumberOfLabels(counts, chance, one, reference, before).ratios(2.0)
        ratios.append(found[0, -1])
    assert ratios[0] < ratios[1] < 0


@pytest.mark.parametrize(
    ("cause", "options"),
    [
        ("recall", {"change": 34, "shift": 0.8}),
        ("share", {"change": 36, "times": 1.8}),
        ("traffic", {"change": 36, "others": 0.4}),
    ],
)
def test_causes_are_told_apart(cause, options):
    found = watched(**options)
    assert found.causes == (cause,)
    assert abs(found.since[cause] - options["change"]) <= 1


def test_a_wave_like_earlier_waves_is_not_taken_for_other_traffic():
    # More positives fit better, and are nothing unusual here.
    found = Watch(
        {"recall": -2.0, "share": 3.0, "traffic": 30.0},
        {"recall": 0, "share": 0, "traffic": 0},
        {"recall": 7.6, "share": 8.3, "traffic": 8.3},
        {"recall": 1.0, "share": 90.0, "traffic": 60.0},
    )
    assert found.causes == ()
    assert replace(found, fit=found.fit | {"traffic": 95.0}).causes == ("traffic",)
    both = replace(found, log_evidence={"recall": 50.0, "share": 60.0, "traffic": 30.0})
    assert both.causes == ("share", "recall")


def test_fewer_positives_are_no_blinder_model():
    assert "recall" not in watched(change=32, times=0.4).causes


def test_nothing_happens():
    for seed in range(12):
        assert watched(seed=seed).causes == ()


def test_the_chance_of_a_false_alarm_is_shared_out_once():
    needed = watched().needed
    assert sum(YEAR / math.exp(value) for value in needed.values()) == pytest.approx(0.05)
    assert sum(PARTS.values()) == 1


def test_too_few_periods_or_labels_give_no_answer():
    short = counted(weeks=WINDOW + 7)
    assert watch(short, known(short), YEAR, 0.05).log_evidence == {}
    few = counted(weeks=40, rows=30, pi=0.05)
    assert watch(few, known(few), YEAR, 0.05).causes == ()


def test_the_reference_is_what_it_was():
    counts = counted(weeks=40, rows=4000)
    found = Reference.of(counts, known(counts), slice(0, 40))
    assert found.pi == pytest.approx(0.1, rel=0.05)
    assert found.positives.sum() == pytest.approx(1)
    assert found.positives[counts.above].sum() == pytest.approx(0.758, abs=0.02)
    assert found.negatives[counts.above].sum() == pytest.approx(0.0668, abs=0.008)


def test_every_change_is_weighed_for_every_period():
    counts = counted(weeks=30)
    reference = Reference.of(counts, known(counts), slice(0, 17))
    for found in evidence_of_change(counts, known(counts), reference, slice(0, 17)):
        assert found.ratios.shape[1] == 30
        assert np.isfinite(found.ratios).all()
