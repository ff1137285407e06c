"""Numbers that findings about Table 1 and the profiles are decided by, and limits on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from papers.experiment import Effect, Verdict
from papers.pubench.finding import Judgement
from papers.pubench.intervals import above, all_of, below, over_seeds
from papers.pubench.published import (
    ADNI,
    CIFAR,
    DATASETS,
    NEWS,
    PN,
    PU_METHODS,
    SPAM_NEGATIVES,
    family,
    table_1_spreads,
)
from papers.pubench.rules import (
    POINTS,
    Decide,
    Measure,
    places,
    printed,
    shortfalls,
    worst_place,
)
from papers.pubench.study import Condition, Sample, View
from recoup._core.checks import FloatArray

RISK, DISAMBIGUATION, GENERATIVE = map(family, ("risk", "disambiguation", "generative"))
ORDER, SPREAD, PROFILE = "order of methods", "spread over seeds", "shape of profiles"
CONVENTIONAL = "case-control, labels at random, c = 0.1"
SEEDS_DRAWN = "Seeds are drawn again within each dataset."
DATASETS_DRAWN = "The interval is over datasets."
PRECISION_RECALL = (Condition("precision"), Condition("recall"))
FIVE = tuple(Condition(name) for name in ("accuracy", "precision", "recall", "macro_f1", "roc_auc"))
THIRD, HALF = 1 / 3, 1 / 2


def within(share: float) -> Decide:
    """Hold a place in the first so many of all methods that have results."""

    def decide(effect: Effect, sample: Sample) -> Verdict:
        return below(effect, np.floor(share * len(sample.methods)) + 0.5)

    return decide


def is_above(limit: float) -> Decide:
    """Hold a number above a limit."""
    return lambda effect, _: above(effect, limit)


def is_below(limit: float) -> Decide:
    """Hold a number below a limit."""
    return lambda effect, _: below(effect, limit)


def share_led(sample: Sample, means: FloatArray) -> float:
    """Share of datasets that the method which leads most often leads, in percent."""
    leaders = means[:, 0].argmax(axis=1)
    return 100 * float(np.bincount(leaders).max()) / len(leaders)


def share_led_by(methods: Sequence[str]) -> Measure:
    """Percent of the datasets that one of these methods leads."""

    def measure(sample: Sample, means: FloatArray) -> float:
        leaders = means[:, 0].argmax(axis=1)
        chosen = sample.at(*(name for name in methods if name in sample.methods))
        return 100 * float(np.isin(leaders, chosen).mean())

    return measure


def top_two(methods: Sequence[str]) -> Measure:
    """Percent of the first two places of all datasets that these methods take."""

    def measure(sample: Sample, means: FloatArray) -> float:
        leaders = np.argsort(-means[:, 0], axis=1)[:, :2]
        chosen = sample.at(*(name for name in methods if name in sample.methods))
        return 100 * float(np.isin(leaders, chosen).mean())

    return measure


def by_chance(methods: Sequence[str], side: str) -> Decide:
    """Compare a share with that of the methods themselves."""

    def decide(effect: Effect, sample: Sample) -> Verdict:
        chance = 100 * sum(name in methods for name in sample.methods) / len(sample.methods)
        return above(effect, chance) if side == "above" else below(effect, chance)

    return decide


def last_place(chosen: Sequence[str]) -> Measure:
    """Last place that the chosen methods take by their mean shortfall."""
    return lambda sample, means: worst_place(sample, means[:, 0], chosen)


def place_on(chosen: str) -> Measure:
    """Place of a method by mean accuracy."""

    def measure(sample: Sample, means: FloatArray) -> float:
        return float(places(means[:, 0].mean(axis=0))[sample.at(chosen)[0]])

    return measure


def less_others(chosen: Sequence[str], how: str = "mean") -> Measure:
    """Mean accuracy of some methods less the mean, median, best or worst of the others."""

    def measure(sample: Sample, means: FloatArray) -> float:
        mine = sample.at(*(name for name in chosen if name in sample.methods))
        others = [place for place in range(len(sample.methods)) if place not in mine]
        overall = means[:, 0].mean(axis=0)
        if how == "median on each":
            apart = means[:, 0, mine].mean(axis=1) - np.median(means[:, 0, others], axis=1)
            return 100 * float(apart.mean())
        if how == "best on each":
            apart = means[:, 0, mine].mean(axis=1) - means[:, 0, others].max(axis=1)
            return 100 * float(apart.mean())
        rest = overall[others].min() if how == "lowest" else overall[others].mean()
        return 100 * float(overall[mine].mean() - rest)

    return measure


def beaten(chosen: str) -> Measure:
    """Share of all other methods and datasets where the chosen one has the higher mean."""

    def measure(sample: Sample, means: FloatArray) -> float:
        mine, others = sample.at(chosen), sample.others(chosen)
        return 100 * float((means[:, 0, mine] > means[:, 0, others]).mean())

    return measure


def imbalance(means: FloatArray) -> FloatArray:
    """Distance of precision and recall in points, datasets by methods."""
    apart: FloatArray = 100 * np.abs(means[:, 0] - means[:, 1])
    return apart


def imbalance_less_median(chosen: str) -> Measure:
    """Imbalance of a method less the median of the others', averaged over datasets."""

    def measure(sample: Sample, means: FloatArray) -> float:
        apart = imbalance(means)
        mine, others = sample.at(chosen), sample.others(chosen)
        return float((apart[:, mine[0]] - np.median(apart[:, others], axis=1)).mean())

    return measure


def raggedness(first: Sequence[str], second: Sequence[str]) -> Measure:
    """Distance of the highest from the lowest of five metrics: first family less second."""

    def measure(sample: Sample, means: FloatArray) -> float:
        width = 100 * (means.max(axis=1) - means.min(axis=1)).mean(axis=0)
        mine, other = (
            sample.at(*(name for name in names if name in sample.methods))
            for names in (first, second)
        )
        return float(width[mine].mean() - width[other].mean())

    return measure


def vpu_swings(view: View) -> Judgement:
    """VPU leans to recall on ADNI and to precision on CIFAR-10."""
    sample = view.sample(PRECISION_RECALL, (ADNI, CIFAR), needed=("vpu",), pool=(), least=2)

    def lean(place: int) -> Effect:
        block = sample.values[place]
        return over_seeds(
            [block], lambda means: 100 * float(means[0, 1, 0] - means[0, 0, 0]), POINTS
        )

    leans = [lean(place) for place in range(2)]
    effect = over_seeds(
        sample.values,
        lambda means: 100 * float((means[0, 1] - means[0, 0] - means[1, 1] + means[1, 0])[0]),
        POINTS,
    )
    verdict = all_of(above(leans[0], 0), below(leans[1], 0))
    ours = f"recall less precision: ADNI {leans[0].text}, CIFAR-10 {leans[1].text}"
    return Judgement(effect, verdict, ours)


def e_less_c(sample: Sample, means: FloatArray) -> float:
    """Return the only condition of P3Mix-E less that of P3Mix-C, in points."""
    e, c = sample.at("p3mix-e", "p3mix-c")
    return 100 * float((means[:, 0, e] - means[:, 0, c]).mean())


def c_less_e(sample: Sample, means: FloatArray) -> float:
    """Return the only condition of P3Mix-C less that of P3Mix-E, in points."""
    return -e_less_c(sample, means)


def above_pn(sample: Sample, means: FloatArray) -> float:
    """Return the accuracy of LBE less that of PN, in points."""
    mine, pn = sample.at("lbe", PN)
    return 100 * float(means[0, 0, mine] - means[0, 0, pn])


def vision_less_text(sample: Sample, means: FloatArray) -> float:
    """Shortfall of PAN and CGenPU on CIFAR-10 and ADNI less that on 20News."""
    behind = shortfalls(means[:, 0])[:, sample.at("pan", "cgenpu")].mean(axis=1)
    text = sample.datasets.index(NEWS)
    return float(np.delete(behind, text).mean() - behind[text])


def less_constant(sample: Sample, means: FloatArray) -> float:
    """Return the accuracy of PAN less that of calling every row negative, in points."""
    return 100 * float(means[0, 0, sample.at("pan")[0]] - SPAM_NEGATIVES)


def recall_less_precision(sample: Sample, means: FloatArray) -> float:
    """Return recall less precision of the only method, in points."""
    return 100 * float(means[0, 1, 0] - means[0, 0, 0])


def printed_spread(methods: Sequence[str], rest: Sequence[str]) -> str:
    """Ratio of geometric mean spreads in Table 1."""
    logs = np.log(np.maximum(table_1_spreads(), 0.01)).mean(axis=0)
    mine, other = ([PU_METHODS.index(name) for name in some] for some in (methods, rest))
    return f"{np.exp(logs[mine].mean() - logs[other].mean()):.2f} times (Table 1)"


def rest(*chosen: str, pool: Sequence[str] = PU_METHODS) -> tuple[str, ...]:
    """Return all methods of a pool but the chosen ones."""
    return tuple(name for name in pool if name not in chosen)


def from_table_1(
    measure: Measure, form: str, methods: tuple[str, ...] = PU_METHODS, *datasets: str
) -> str:
    """Write the number that a measure gives for Table 1."""
    return form.format(measure(*printed(methods, datasets or DATASETS))) + " (Table 1)"
