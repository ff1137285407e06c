"""Every rule about PU-Bench can hold, fail and be left open; missing runs leave it open."""

import numpy as np
import pytest

from made_up_runs import found, made_up_rows, of_family, shift, spread_out, verdict
from papers.pubench.bias import bias
from papers.pubench.cost import cost
from papers.pubench.effectiveness import effectiveness
from papers.pubench.failures import failures
from papers.pubench.finding import heard
from papers.pubench.labels import labels
from papers.pubench.published import (
    ADNI,
    CIFAR,
    DATASETS,
    MNIST,
    NEWS,
    PU_METHODS,
    SPAM,
    family,
)
from papers.pubench.study import BIASED, FEW, LABEL_RATIOS, MANY, method_of, study_of

RISK, DISAMBIGUATION, GENERATIVE = map(family, ("risk", "disambiguation", "generative"))
NOISY = 0.2


def is_left_open(finding, level, **given):
    """Say whether noise is too much in one draw of it or another."""
    return any(
        verdict(finding, level, **given | {"noise": noise, "draw": draw}) == "cannot be told"
        for draw in range(4)
        for noise in (0.02, NOISY)
    )


def by_dataset(method, dataset, *_):
    """Another method leads on each dataset, and is far behind on the others."""
    leader = ("lbe", "p3mix-e", "vpu", "lagam", "dist-pu", "pan", "nnpu", "pulda")
    return 0.9 if method == leader[DATASETS.index(dataset)] else 0.7


def only(metric, value, *datasets):
    """Return a shift of one metric, on some datasets or on all."""
    return lambda dataset, _, c, name: (
        value if name == metric and (not datasets or dataset in datasets) else 0.0
    )


SWING = shift(
    vpu=lambda dataset, _, c, name: (
        {ADNI: 0.1, CIFAR: -0.1}.get(dataset, 0.0) if name == "recall" else 0.0
    )
)
LEAN = shift(vpu=only("recall", 0.1))
# Words of a finding, levels for which it holds, and levels for which it does not.
EFFECTIVENESS = [
    ("wins everywhere", by_dataset, spread_out(["vpu"])),
    ("often have the best", spread_out(["vpu"]), spread_out(["p3mix-e"])),
    (
        "more balanced",
        of_family(risk=only("recall", 0.1)),
        of_family(disambiguation=only("recall", 0.1)),
    ),
    ("most consistent", spread_out(["dist-pu", "nnpu"]), spread_out(RISK[1:])),
    (
        "if not the best",
        spread_out(["vpu", "p3mix-e", "p3mix-c"]),
        spread_out(["nnpu", *DISAMBIGUATION]),
    ),
    ("often beats newer", spread_out(["nnpu"]), spread_out(PU_METHODS[1:])),
    (
        "balanced profile on all",
        shift(others=only("recall", 0.1), nnpu=0.0),
        shift(nnpu=only("recall", 0.1)),
    ),
    ("VPU swings", SWING, LEAN),
    ("simple images", spread_out(["lbe"]), spread_out(["nnpu"])),
    ("supervised classifier", shift(lbe=0.1), shift(lbe=-0.1)),
    (
        "variants lead",
        spread_out(["p3mix-c", "p3mix-e"]),
        spread_out(["self-pu", *DISAMBIGUATION[3:]]),
    ),
    ("P3Mix-E has more", shift(p3mix_e=only("recall", 0.1)), shift(p3mix_c=only("recall", 0.1))),
    (
        "P3Mix-C has more",
        shift(p3mix_c=only("precision", 0.1)),
        shift(p3mix_e=only("precision", 0.1)),
    ),
    ("strong on 20News", spread_out(["robust-pu"]), spread_out(RISK)),
    ("strong on Spambase", spread_out(["lagam"]), spread_out(RISK)),
    ("clearly trails", shift(holistic_pu=-0.1), shift(holistic_pu=0.1)),
    ("lag behind", of_family(generative=-0.1), of_family(generative=0.1)),
    ("rarely among", of_family(generative=-0.1), of_family(generative=0.1)),
    ("are jagged", of_family(generative=only("recall", 0.1)), of_family(risk=only("recall", 0.1))),
    (
        "do passably",
        shift(pan=lambda dataset, *_: -0.1 * (dataset != NEWS)),
        shift(pan=lambda dataset, *_: -0.1 * (dataset == NEWS)),
    ),
    ("the weakest", shift(vae_pu=-0.1), shift(vae_pu=0.1)),
]


@pytest.mark.parametrize(("words", "holds", "fails"), EFFECTIVENESS)
def test_rules_of_effectiveness_have_three_answers(words, holds, fails):
    finding = found(effectiveness, words)
    assert verdict(finding, holds) == "holds"
    assert verdict(finding, fails) == "does not hold"
    assert is_left_open(finding, shift(), seeds=(1, 2))
    assert verdict(finding, holds, datasets=()) == "cannot be told"


@pytest.mark.parametrize(
    ("words", "wide", "narrow"),
    [
        ("vary more over seeds", RISK, DISAMBIGUATION),
        (
            "Robust-PU varies little",
            tuple(n for n in DISAMBIGUATION if n != "robust-pu"),
            ("robust-pu",),
        ),
        ("least stable", ("vae-pu",), tuple(n for n in PU_METHODS if n != "vae-pu")),
    ],
)
def test_rules_of_spreads_have_three_answers(words, wide, narrow):
    finding = found(effectiveness, words)

    def spread(large):
        rng = np.random.default_rng(0)

        def change(row):
            method = method_of(row)
            size = 0.05 if method in large else 0.001
            return {"accuracy": 0.8 + size * rng.normal()}

        return change

    assert verdict(finding, shift(), change=spread(wide)) == "holds"
    assert verdict(finding, shift(), change=spread(narrow)) == "does not hold"
    assert verdict(finding, shift(), seeds=(1, 2)) == "cannot be told"
    assert verdict(finding, shift(), seeds=(1,)) == "cannot be told"


@pytest.mark.parametrize(
    ("words", "holds", "fails"),
    [
        ("LBE collapses", shift(lbe=-0.2), shift()),
        ("PAN fails", shift(pan=-0.4), shift()),
        ("very high recall", shift(pan=only("precision", -0.4)), shift()),
    ],
)
def test_rules_of_failures_have_three_answers(words, holds, fails):
    finding = found(failures, words)
    assert verdict(finding, holds) == "holds"
    assert verdict(finding, fails) == "does not hold"
    assert is_left_open(finding, holds, seeds=(1, 2))
    assert verdict(finding, holds, seeds=(1,)) == "cannot be told"


@pytest.mark.parametrize(
    ("words", "learner", "groups"),
    [
        (
            "much the same scores",
            "lbe",
            ("train_hidden", "train_negative", "test_positive", "test_negative"),
        ),
        ("propensities", "lbe", ("chance_labeled", "chance_hidden")),
    ],
)
def test_overlaps_of_one_run_are_told_where_they_are_large_or_small(words, learner, groups):
    finding = found(failures, words)

    def said(gap):
        quartiles = {name: [gap * k, gap * k + 0.5, gap * k + 1] for k, name in enumerate(groups)}
        return verdict(finding, shift(), datasets=(), scores={learner: {"quartiles": quartiles}})

    assert said(0.0) == "holds"
    assert said(2.0) == "does not hold"
    assert said(0.7) == "cannot be told"
    assert verdict(finding, shift(), datasets=(), scores={learner: {}}) == "cannot be told"


def test_the_discriminator_is_read_by_its_medians():
    finding = found(failures, "discriminator")

    def said(negative):
        names = ("negative", "labeled", "hidden")
        middles = dict(zip(names, (negative, 0.4, 0.5), strict=True))
        quartiles = {f"discriminator_{name}": [0, value, 1] for name, value in middles.items()}
        return verdict(finding, shift(), datasets=(), scores={"pan": {"quartiles": quartiles}})

    assert [said(value) for value in (0.7, 0.3, 0.51)] == [
        "holds",
        "does not hold",
        "cannot be told",
    ]


def costs(column, usual, **by_method):
    rng = np.random.default_rng(0)

    def change(row):
        method = method_of(row)
        if row[column] is None:
            return {}
        value = by_method.get(method.replace("-", "_"), usual)
        return {column: value * np.exp(0.01 * rng.normal())}

    return change


SLOW = {"pul_cpbf": 9.0, "holistic_pu": 9.0, "vae_pu": 9.0}
MODERATE = {"dist_pu": 3.0, "vpu": 3.0, "p3mix_e": 3.0, "p3mix_c": 3.0}
HEAVY = {"p3mix_e": 9e8, "pul_cpbf": 9e8}


@pytest.mark.parametrize(
    ("words", "holds", "fails"),
    [
        (
            "are the quickest",
            costs("seconds_per_epoch", 2.0, nnpu=1.0, pusb=1.0),
            costs("seconds_per_epoch", 1.0, nnpu=3.0),
        ),
        (
            "moderately more",
            costs("seconds_per_epoch", 1.0, **MODERATE, **SLOW),
            costs("seconds_per_epoch", 1.0, nnpu=9.0, pusb=9.0),
        ),
        (
            "are the slowest",
            costs("seconds_per_epoch", 1.0, **SLOW),
            costs("seconds_per_epoch", 9.0, vae_pu=1.0),
        ),
        ("less than 1 GB", costs("peak_gpu_memory", 3e8), costs("peak_gpu_memory", 3e9)),
        (
            "most memory",
            costs("peak_gpu_memory", 3e8, vae_pu=7e9),
            costs("peak_gpu_memory", 3e8, vae_pu=1e8),
        ),
        (
            "more memory than",
            costs("peak_gpu_memory", 3e8, **HEAVY),
            costs("peak_gpu_memory", 3e9, **HEAVY),
        ),
    ],
)
def test_rules_of_cost_have_three_answers(words, holds, fails):
    finding = found(cost, words)
    assert verdict(finding, shift(), change=holds) == "holds"
    assert verdict(finding, shift(), change=fails) == "does not hold"
    on_cpu = {"peak_gpu_memory": None, "seconds_per_epoch": None}
    assert verdict(finding, shift(), change=lambda row: on_cpu) == "cannot be told"


def test_cost_of_other_devices_does_not_count():
    finding = found(cost, "are the quickest")
    quick = costs("seconds_per_epoch", 2.0, nnpu=1.0, pusb=1.0)

    def elsewhere(row):
        slower = {"seconds_per_epoch": 0.001, "device": "another GPU"}
        return slower if row["key"] == "lagam" else quick(row)

    assert verdict(finding, shift(), change=elsewhere) == "holds"


def test_trade_offs_need_both_f1_and_time():
    finding = found(cost, "short training")
    quick = costs("seconds", 4.0, vpu=1.0, self_pu=1.0, dist_pu=1.0)
    better = spread_out(["vpu", "self-pu", "dist-pu"])
    assert verdict(finding, better, change=quick) == "holds"
    assert (
        verdict(finding, spread_out([*GENERATIVE, *DISAMBIGUATION[1:], "nnpu"]), change=quick)
        == "does not hold"
    )
    worse = found(cost, "do not repay")
    assert verdict(worse, shift(pul_cpbf=-0.1, holistic_pu=-0.1, vae_pu=-0.1)) == "holds"
    assert verdict(worse, shift(pul_cpbf=0.1, holistic_pu=0.1, vae_pu=0.1)) == "does not hold"


def rising(early, late):
    """Return a shift that grows up to a tenth of the labels, and after it."""
    return lambda _, __, c, name: early * min(c, 0.1) / 0.1 + late * max(c - 0.1, 0.0)


def jumping(size, until=1.0):
    def by(_, __, c, name):
        return size * (-1) ** LABEL_RATIOS.index(c) if c <= until else 0.0

    return by


def with_labels(level, noise=0.001):
    return {
        "level": level,
        "ratios": LABEL_RATIOS,
        "datasets": (MNIST, CIFAR, NEWS),
        "seeds": (2,),
        "noise": noise,
    }


@pytest.mark.parametrize(
    ("words", "holds", "fails"),
    [
        ("rise fast", shift(others=rising(0.1, 0.0)), shift(others=rising(0.0, 0.1))),
        ("near their peak", shift(), shift(others=rising(0.0, 0.2))),
        (
            "erratic",
            of_family(generative=jumping(0.05)),
            of_family(risk=jumping(0.05), disambiguation=jumping(0.05)),
        ),
        (
            "gain little",
            of_family(rising(0.0, 0.1), rising(0.0, 0.1)),
            of_family(generative=rising(0.0, 0.1)),
        ),
        ("compete on images", shift(vae_pu=0.1, cgenpu=0.1), shift(vae_pu=-0.1, cgenpu=-0.1)),
        ("especially effective", shift(vpu=0.1, p3mix_e=0.1, p3mix_c=0.1), shift(vpu=-0.1)),
        ("gains late", shift(lbe=rising(0.0, 0.2)), shift(lbe=rising(0.0, -0.2))),
        (
            "vary strongly",
            shift(pul_cpbf=jumping(0.05, 0.1), holistic_pu=jumping(0.05, 0.1)),
            shift(pul_cpbf=0.0, holistic_pu=0.0, others=jumping(0.05)),
        ),
        ("stays where it is", shift(), shift(vae_pu=rising(0.1, 0.1))),
    ],
)
def test_rules_of_label_ratios_have_three_answers(words, holds, fails):
    finding = found(labels, words)
    assert verdict(finding, **with_labels(holds)) == "holds"
    assert verdict(finding, **with_labels(fails)) == "does not hold"
    if "stays" not in words and "peak" not in words:
        assert is_left_open(finding, **with_labels(shift()))
    few = with_labels(holds) | {"ratios": (0.1,)}
    assert verdict(finding, **few) == "cannot be told"


def biased(cost_few, cost_many=None):
    """Return a shift under biased labels, by how many labels there are."""
    many = cost_few if cost_many is None else cost_many
    return lambda _, mechanism, c, name: (
        0.0 if mechanism == "scar" else -(cost_few if c == FEW else many)
    )


def with_bias(level, noise=0.001, **more):
    return {
        "level": level,
        "mechanisms": ("scar", *BIASED),
        "ratios": (FEW, MANY),
        "datasets": (CIFAR, SPAM),
        "seeds": (2, 25),
        "noise": noise,
    } | more


AWARE = {"pusb": biased(0.01), "lbe": biased(0.01), "others": biased(0.1)}
UNAWARE = {"pusb": biased(0.1), "lbe": biased(0.1), "others": biased(0.01)}


@pytest.mark.parametrize(
    ("words", "holds", "fails"),
    [
        (
            "are at the top",
            spread_out(["vpu", "dist-pu", "p3mix-c"]),
            spread_out(["nnpu", *DISAMBIGUATION]),
        ),
        ("all methods but VAE-PU lose", shift(others=biased(0.1)), shift(others=biased(-0.1))),
        ("lose less than other risk", shift(**AWARE), shift(**UNAWARE)),
        ("no risk estimator collapses", shift(others=biased(0.05)), shift(vpu=biased(0.4))),
        (
            "more robust",
            of_family(biased(0.01), biased(0.1), biased(0.1)),
            of_family(biased(0.1), biased(0.01), biased(0.01)),
        ),
        ("more accurate with few biased", shift(vae_pu=biased(-0.1)), shift(vae_pu=biased(0.1))),
        (
            "cost less than with few",
            shift(others=biased(0.1, 0.01)),
            shift(others=biased(0.01, 0.1)),
        ),
        ("still cost something", shift(others=biased(0.1)), shift(others=biased(-0.1))),
        ("VPU beats", shift(vpu=0.1), shift(vpu=-0.1)),
        ("rather than VPU", shift(pusb=0.1, lbe=0.1), shift(pusb=-0.1, lbe=-0.1)),
    ],
)
def test_rules_of_bias_have_three_answers(words, holds, fails):
    finding = found(bias, words)
    assert verdict(finding, **with_bias(holds)) == "holds"
    assert verdict(finding, **with_bias(fails)) == "does not hold"
    if "collapses" not in words:
        assert is_left_open(finding, **with_bias(shift()))
    alone = with_bias(holds, seeds=(2,))
    assert verdict(finding, **alone) == "cannot be told"


def test_with_one_seed_datasets_are_drawn_again():
    finding = found(bias, "still cost something")
    three = with_bias(shift(others=biased(0.1)), datasets=(CIFAR, SPAM, NEWS), seeds=(2,))
    assert verdict(finding, **three) == "holds"


def test_one_seed_on_two_datasets_tells_nothing():
    finding = found(bias, "more accurate with few biased")
    alone = made_up_rows(**with_bias(shift(vae_pu=biased(-0.1)), seeds=(2,)))
    usual = made_up_rows(shift(), datasets=(CIFAR, SPAM), noise=0.001)
    assert heard(finding, study_of([*alone, *usual]).paper).verdict == "cannot be told"
