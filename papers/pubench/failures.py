"""Findings of appendix D.2.3: LBE on ADNI and PAN on Spambase."""

from __future__ import annotations

import numpy as np

from papers.effects import exact
from papers.experiment import Effect, Verdict
from papers.pubench.finding import Finding, Judgement
from papers.pubench.measures import (
    CONVENTIONAL,
    ORDER,
    PRECISION_RECALL,
    PROFILE,
    RISK,
    from_table_1,
    is_above,
    is_below,
    less_constant,
    less_others,
    recall_less_precision,
)
from papers.pubench.published import ADNI, SPAM, SPAM_NEGATIVES, TITLES
from papers.pubench.rules import POINTS, seeded
from papers.pubench.study import Missing, View


def _overlap(view: View, learner: str, first: str, second: str) -> float:
    """Return how much of the narrower range between quartiles two groups share."""
    quartiles = view.distributions.get(learner, {}).get("quartiles", {})
    if first not in quartiles or second not in quartiles:
        raise Missing(f"scores of a {TITLES[learner]} run ({first}, {second})")
    (low, _, high), (lower, _, upper) = quartiles[first], quartiles[second]
    narrower = min(high - low, upper - lower)
    common = min(high, upper) - max(low, lower)
    if narrower <= 0:
        return float(common >= 0)
    return float(np.clip(common / narrower, 0, 1))


def _lbe_overlap(view: View) -> Judgement:
    pairs = (("train_hidden", "train_negative"), ("test_positive", "test_negative"))
    train, test = (100 * _overlap(view, "lbe", *pair) for pair in pairs)
    effect = exact(round(min(train, test), 1), "% of the narrower range, one run")
    return Judgement(effect, _one_run(effect), f"training rows {train:.0f}%, test rows {test:.0f}%")


def _propensity_overlap(view: View) -> Judgement:
    share = 100 * _overlap(view, "lbe", "chance_labeled", "chance_hidden")
    effect = exact(round(share, 1), "% of the narrower range, one run")
    return Judgement(effect, _one_run(effect))


def _one_run(effect: Effect) -> Verdict:
    if effect.value >= 50:
        return "holds"
    return "does not hold" if effect.value <= 10 else "cannot be told"


def _pan_discriminator(view: View) -> Judgement:
    quartiles = view.distributions.get("pan", {}).get("quartiles", {})
    names = [f"discriminator_{name}" for name in ("negative", "labeled", "hidden")]
    if any(name not in quartiles for name in names):
        raise Missing("scores of PAN's discriminator on Spambase")
    negative, labeled, hidden = (quartiles[name][1] for name in names)
    effect = exact(
        round(negative - max(labeled, hidden), 3), "of the discriminator's score, one run"
    )
    verdict: Verdict = "cannot be told"
    if abs(effect.value) > 0.02:
        verdict = "holds" if effect.value > 0 else "does not hold"
    ours = f"medians: negatives {negative:.2f}, labeled {labeled:.2f}, hidden {hidden:.2f}"
    return Judgement(effect, verdict, ours)


def failures() -> tuple[Finding, ...]:
    """Return the findings, with rules that were written before any run."""
    figure = "(D.2.3, Figure 12)"
    of_one = "One run: at least half holds, at most a tenth does not, between them it is left open."
    return (
        Finding(
            "LBE collapses on ADNI.",
            f"ADNI, {CONVENTIONAL} (4.1, D.2.3)",
            "Its accuracy less the median of the other risk estimators is below -5 points. Seeds "
            "are drawn again.",
            from_table_1(less_others(("lbe",), "median on each"), "{:+.2f} points", RISK, ADNI),
            ORDER,
            seeded(
                less_others(("lbe",), "median on each"),
                is_below(-5),
                POINTS,
                datasets=(ADNI,),
                needed=("lbe",),
                pool=RISK,
                least=1,
            ),
        ),
        Finding(
            "On ADNI, LBE gives hidden positives and negatives much the same scores.",
            f"ADNI, {CONVENTIONAL} {figure}",
            "The ranges from first to third quartile overlap by at least half of the narrower one, "
            f"on training rows and on test rows. {of_one}",
            "figure only",
            PROFILE,
            _lbe_overlap,
            beyond=False,
        ),
        Finding(
            "On ADNI, LBE's propensities of labeled and of hidden positives overlap.",
            f"ADNI, {CONVENTIONAL} {figure}",
            "The ranges from first to third quartile overlap by at least half of the narrower one. "
            f"{of_one}",
            "figure only",
            PROFILE,
            _propensity_overlap,
            beyond=False,
            note="The paper takes this overlap for a departure from labels at random. It is what "
            "labels at random give: then both groups are draws from the same positives.",
        ),
        Finding(
            "PAN fails on Spambase.",
            f"Spambase, {CONVENTIONAL} (4.1, Table 1)",
            "Its accuracy lies below that of calling every row negative, "
            f"{100 * SPAM_NEGATIVES:.1f}%. Seeds are drawn again.",
            from_table_1(less_constant, "{:+.1f} points", ("pan",), SPAM),
            ORDER,
            seeded(
                less_constant,
                is_below(0),
                POINTS,
                datasets=(SPAM,),
                needed=("pan",),
                pool=(),
                least=1,
            ),
        ),
        Finding(
            "PAN on Spambase has very high recall and moderate precision.",
            f"Spambase, {CONVENTIONAL} {figure}",
            "Recall less precision is above 20 points. Seeds are drawn again.",
            "figure only",
            PROFILE,
            seeded(
                recall_less_precision,
                is_above(20),
                POINTS,
                conditions=PRECISION_RECALL,
                datasets=(SPAM,),
                needed=("pan",),
                pool=(),
                least=1,
            ),
        ),
        Finding(
            "PAN's discriminator scores negatives higher than labeled and hidden positives.",
            f"Spambase, {CONVENTIONAL} {figure}",
            "Its median over negatives lies above the medians over both groups of positives by "
            "more than 0.02; below both by as much, it does not hold. One run.",
            "figure only",
            PROFILE,
            _pan_discriminator,
            beyond=False,
        ),
    )
