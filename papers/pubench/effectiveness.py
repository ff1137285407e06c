"""Findings of section 4.1: who is best where, who is steady, who is balanced."""

from __future__ import annotations

import numpy as np

from papers.pubench.finding import Finding
from papers.pubench.intervals import above, below
from papers.pubench.measures import (
    CONVENTIONAL,
    DATASETS_DRAWN,
    DISAMBIGUATION,
    FIVE,
    GENERATIVE,
    HALF,
    ORDER,
    PRECISION_RECALL,
    PROFILE,
    RISK,
    SEEDS_DRAWN,
    SPREAD,
    THIRD,
    above_pn,
    beaten,
    by_chance,
    c_less_e,
    e_less_c,
    from_table_1,
    imbalance_less_median,
    is_above,
    is_below,
    last_place,
    less_others,
    place_on,
    printed_spread,
    raggedness,
    rest,
    share_led,
    share_led_by,
    top_two,
    vision_less_text,
    vpu_swings,
    within,
)
from papers.pubench.published import (
    ADNI,
    CIFAR,
    FASHION,
    IMDB,
    MNIST,
    NEWS,
    PN,
    PU_METHODS,
    SPAM,
    table_1,
)
from papers.pubench.rules import POINTS, seeded, spread_ratio
from papers.pubench.study import Condition


def effectiveness() -> tuple[Finding, ...]:
    """Return the findings, with rules that were written before any run."""
    return (*_families(), *_single_methods(), *_generative())


def _families() -> list[Finding]:
    everywhere = f"All datasets, {CONVENTIONAL} (4.1, Table 1)"
    return [
        Finding(
            "No single method wins everywhere: the best one depends on the kind of data.",
            everywhere,
            "The method that has the highest mean accuracy on most datasets has it on at most half "
            f"of them. {SEEDS_DRAWN}",
            from_table_1(share_led, "{:.0f}% of the datasets"),
            ORDER,
            seeded(share_led, is_below(50.1), "% of the datasets", limits=(0, 100)),
        ),
        Finding(
            "Risk estimators often have the best result on a dataset.",
            everywhere,
            "The share of datasets on which a risk estimator has the highest mean accuracy is "
            f"above their share of the methods, 8 of 18. {SEEDS_DRAWN}",
            from_table_1(share_led_by(RISK), "{:.0f}% of the datasets"),
            ORDER,
            seeded(
                share_led_by(RISK),
                by_chance(RISK, "above"),
                "% of the datasets",
                limits=(0, 100),
            ),
        ),
        Finding(
            "Risk estimators vary more over seeds than disambiguation methods.",
            everywhere,
            "The ratio of geometric mean standard deviations of accuracy over seeds, risk over "
            f"disambiguation, is above 1. {DATASETS_DRAWN}",
            printed_spread(RISK, DISAMBIGUATION),
            SPREAD,
            spread_ratio(
                lambda sample: [k for k, name in enumerate(sample.methods) if name in RISK],
                lambda sample: [
                    k for k, name in enumerate(sample.methods) if name in DISAMBIGUATION
                ],
                lambda effect: above(effect, 1),
                pool=(*RISK, *DISAMBIGUATION),
            ),
        ),
        Finding(
            "Profiles of disambiguation methods over five metrics are more balanced than those of "
            "risk estimators.",
            f"All datasets, {CONVENTIONAL} (4.1, Figures 3, 9 to 11)",
            "The distance of the highest from the lowest of accuracy, precision, recall, macro-F1 "
            "and AUC, averaged over methods and datasets, is smaller than for risk estimators. "
            f"{SEEDS_DRAWN}",
            "figure only",
            PROFILE,
            seeded(
                raggedness(DISAMBIGUATION, RISK),
                is_below(0),
                POINTS,
                conditions=FIVE,
                pool=(*RISK, *DISAMBIGUATION),
            ),
        ),
        Finding(
            "nnPU and Dist-PU are the most consistent risk estimators.",
            everywhere,
            "Ordered by how many points they lie behind the best method of each dataset on "
            f"average, both are among the first three of the eight. {SEEDS_DRAWN}",
            from_table_1(
                last_place(("nnpu", "dist-pu")), "place {:.0f} of 8 for the later one", RISK
            ),
            ORDER,
            seeded(
                last_place(("nnpu", "dist-pu")),
                is_below(3.5),
                "of {n}: the later one's place",
                needed=("nnpu", "dist-pu"),
                pool=RISK,
                limits=(2, 8),
            ),
        ),
        Finding(
            "VPU and the P3Mix variants are strong on most kinds of data, if not the best.",
            everywhere,
            "Ordered by how many points they lie behind the best method of each dataset on "
            f"average, all three are in the first half of the methods. {SEEDS_DRAWN}",
            from_table_1(
                last_place(("vpu", "p3mix-e", "p3mix-c")), "place {:.0f} of 18 for the last one"
            ),
            ORDER,
            seeded(
                last_place(("vpu", "p3mix-e", "p3mix-c")),
                within(HALF),
                "of {n}: the last one's place",
                needed=("vpu", "p3mix-e", "p3mix-c"),
                limits=(3, 18),
            ),
        ),
    ]


def _single_methods() -> list[Finding]:
    everywhere = f"All datasets, {CONVENTIONAL} (4.1, Table 1)"
    simple = (MNIST, FASHION)
    recall_sets = (ADNI, IMDB, MNIST, FASHION, CIFAR)
    return [
        Finding(
            "nnPU, the oldest, often beats newer methods.",
            everywhere,
            "Of all pairs of another method and a dataset, nnPU has the higher mean accuracy in "
            f"more than half. {SEEDS_DRAWN}",
            from_table_1(beaten("nnpu"), "{:.0f}% of the pairs"),
            ORDER,
            seeded(
                beaten("nnpu"), is_above(50), "% of the pairs", needed=("nnpu",), limits=(0, 100)
            ),
        ),
        Finding(
            "nnPU keeps a balanced profile on all kinds of data.",
            f"All datasets, {CONVENTIONAL} (4.1, Figures 3, 9 to 11)",
            "The distance between its precision and recall, less the median method's on the same "
            f"dataset, is below 0 on average. {SEEDS_DRAWN}",
            "figure only",
            PROFILE,
            seeded(
                imbalance_less_median("nnpu"),
                is_below(0),
                POINTS,
                conditions=PRECISION_RECALL,
                needed=("nnpu",),
            ),
        ),
        Finding(
            "VPU swings: it leans to recall on ADNI and to precision on CIFAR-10.",
            f"ADNI and CIFAR-10, {CONVENTIONAL} (4.1, Figures 3 and 10)",
            "Recall less precision is above 0 on ADNI and below 0 on CIFAR-10. Seeds are drawn "
            "again on each.",
            "figure only",
            PROFILE,
            vpu_swings,
        ),
        Finding(
            "LBE is the best PU method on simple images.",
            f"MNIST and F-MNIST, {CONVENTIONAL} (4.1, Table 1)",
            "Its mean accuracy less that of the best other method, averaged over both, is above 0. "
            f"{SEEDS_DRAWN}",
            from_table_1(
                less_others(("lbe",), "best on each"), "{:+.2f} points", PU_METHODS, *simple
            ),
            ORDER,
            seeded(
                less_others(("lbe",), "best on each"),
                is_above(0),
                POINTS,
                datasets=simple,
                needed=("lbe",),
                least=2,
            ),
        ),
        Finding(
            "LBE beats the supervised classifier on MNIST.",
            f"MNIST, {CONVENTIONAL} (4.1, Table 1)",
            "Its accuracy less that of PN is above 0. Seeds are drawn again.",
            f"{float(np.diff(table_1((PN, 'lbe'), (MNIST,)))[0, 0]):+.2f} points (Table 1)",
            ORDER,
            seeded(
                above_pn,
                is_above(0),
                POINTS,
                datasets=(MNIST,),
                needed=("lbe", PN),
                pool=(),
                least=1,
            ),
        ),
        Finding(
            "P3Mix's two variants lead the disambiguation methods.",
            everywhere,
            "Ordered by how many points they lie behind the family's best of each dataset on "
            f"average, both are among the first three of the seven. {SEEDS_DRAWN}",
            from_table_1(
                last_place(("p3mix-e", "p3mix-c")),
                "place {:.0f} of 7 for the later one",
                DISAMBIGUATION,
            ),
            ORDER,
            seeded(
                last_place(("p3mix-e", "p3mix-c")),
                is_below(3.5),
                "of {n}: the later one's place",
                needed=("p3mix-e", "p3mix-c"),
                pool=DISAMBIGUATION,
                limits=(2, 7),
            ),
        ),
        Finding(
            "P3Mix-E has more recall than P3Mix-C.",
            f"ADNI, IMDb and vision, {CONVENTIONAL} (4.1)",
            "Recall of E less that of C, averaged over the five datasets, is above 0. "
            f"{SEEDS_DRAWN}",
            "figure only",
            PROFILE,
            seeded(
                e_less_c,
                is_above(0),
                POINTS,
                conditions=(Condition("recall"),),
                datasets=recall_sets,
                needed=("p3mix-e", "p3mix-c"),
                pool=(),
            ),
        ),
        Finding(
            "P3Mix-C has more precision than P3Mix-E.",
            f"All datasets, {CONVENTIONAL} (4.1)",
            f"Precision of C less that of E, averaged over datasets, is above 0. {SEEDS_DRAWN}",
            "figure only",
            PROFILE,
            seeded(
                c_less_e,
                is_above(0),
                POINTS,
                conditions=(Condition("precision"),),
                needed=("p3mix-e", "p3mix-c"),
                pool=(),
            ),
        ),
        Finding(
            "Robust-PU varies little over seeds.",
            everywhere,
            "Its standard deviation over seeds, divided by the geometric mean of the other "
            f"disambiguation methods', is below 1. {DATASETS_DRAWN}",
            printed_spread(("robust-pu",), rest("robust-pu", pool=DISAMBIGUATION)),
            SPREAD,
            spread_ratio(
                lambda sample: sample.at("robust-pu"),
                lambda sample: sample.others("robust-pu"),
                lambda effect: below(effect, 1),
                needed=("robust-pu",),
                pool=DISAMBIGUATION,
            ),
        ),
        Finding(
            "Robust-PU is strong on 20News.",
            f"20News, {CONVENTIONAL} (4.1, Table 1)",
            "Its place by mean accuracy is in the first third of the methods. Seeds are drawn "
            "again.",
            from_table_1(place_on("robust-pu"), "place {:g} of 18", PU_METHODS, NEWS),
            ORDER,
            seeded(
                place_on("robust-pu"),
                within(THIRD),
                "of {n}: its place",
                datasets=(NEWS,),
                needed=("robust-pu",),
                least=1,
                limits=(1, 18),
            ),
        ),
        Finding(
            "LaGAM is strong on Spambase.",
            f"Spambase, {CONVENTIONAL} (4.1, Table 1)",
            "Its place by mean accuracy is in the first third of the methods. Seeds are drawn "
            "again.",
            from_table_1(place_on("lagam"), "place {:g} of 18", PU_METHODS, SPAM),
            ORDER,
            seeded(
                place_on("lagam"),
                within(THIRD),
                "of {n}: its place",
                datasets=(SPAM,),
                needed=("lagam",),
                least=1,
                limits=(1, 18),
            ),
        ),
        Finding(
            "Holistic-PU clearly trails its family.",
            everywhere,
            "Its accuracy less the median of the other disambiguation methods on the same dataset "
            f"is below -2 points on average. {SEEDS_DRAWN}",
            from_table_1(
                less_others(("holistic-pu",), "median on each"),
                "{:+.1f} points",
                DISAMBIGUATION,
            ),
            ORDER,
            seeded(
                less_others(("holistic-pu",), "median on each"),
                is_below(-2),
                POINTS,
                needed=("holistic-pu",),
                pool=DISAMBIGUATION,
            ),
        ),
    ]


def _generative() -> list[Finding]:
    everywhere = f"All datasets, {CONVENTIONAL} (4.1, Table 1)"
    compared = (NEWS, CIFAR, ADNI)
    others = (*RISK, *DISAMBIGUATION)
    return [
        Finding(
            "Generative methods lag behind the other two families.",
            everywhere,
            f"Their mean accuracy less that of the others is below 0. {SEEDS_DRAWN}",
            from_table_1(less_others(GENERATIVE), "{:+.1f} points"),
            ORDER,
            seeded(less_others(GENERATIVE), is_below(0), POINTS, needed=GENERATIVE),
        ),
        Finding(
            "Generative methods are rarely among the best two.",
            everywhere,
            "They take fewer of the two first places of each dataset than their share of the "
            f"methods, 3 of 18. {SEEDS_DRAWN}",
            from_table_1(top_two(GENERATIVE), "{:.0f}% of the places"),
            ORDER,
            seeded(
                top_two(GENERATIVE),
                by_chance(GENERATIVE, "below"),
                "% of the places",
                needed=GENERATIVE,
                limits=(0, 100),
            ),
        ),
        Finding(
            "Profiles of generative methods over five metrics are jagged.",
            f"All datasets, {CONVENTIONAL} (4.1, Figure 11)",
            "The distance of the highest from the lowest of five metrics, averaged over methods "
            f"and datasets, is larger than for the other families. {SEEDS_DRAWN}",
            "figure only",
            PROFILE,
            seeded(
                raggedness(GENERATIVE, others),
                is_above(0),
                POINTS,
                conditions=FIVE,
                needed=GENERATIVE,
            ),
        ),
        Finding(
            "PAN and CGenPU do passably on text and fail on CIFAR-10 and ADNI.",
            f"20News, CIFAR-10 and ADNI, {CONVENTIONAL} (4.1, Table 1)",
            "The points by which they lie behind the best method are more on the two image sets "
            f"than on 20News. {SEEDS_DRAWN}",
            from_table_1(vision_less_text, "{:+.1f} points", PU_METHODS, *compared),
            ORDER,
            seeded(
                vision_less_text,
                is_above(0),
                POINTS,
                datasets=compared,
                needed=("pan", "cgenpu"),
                least=3,
            ),
        ),
        Finding(
            "VAE-PU is the weakest method.",
            everywhere,
            "Its accuracy, averaged over datasets, less the lowest of the other methods' is "
            f"below 0. {SEEDS_DRAWN}",
            from_table_1(less_others(("vae-pu",), "lowest"), "{:+.1f} points"),
            ORDER,
            seeded(less_others(("vae-pu",), "lowest"), is_below(0), POINTS, needed=("vae-pu",)),
        ),
        Finding(
            "VAE-PU is the least stable method.",
            everywhere,
            "Its standard deviation over seeds, divided by the geometric mean of the others', is "
            f"above 1. {DATASETS_DRAWN}",
            printed_spread(("vae-pu",), rest("vae-pu")),
            SPREAD,
            spread_ratio(
                lambda sample: sample.at("vae-pu"),
                lambda sample: sample.others("vae-pu"),
                lambda effect: above(effect, 1),
                needed=("vae-pu",),
            ),
        ),
    ]
