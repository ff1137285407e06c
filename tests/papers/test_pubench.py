"""PU-Bench's findings: every rule can hold, fail and be left open; missing runs never crash."""

import numpy as np
import pytest

from made_up_runs import (
    SEEDS,
    found,
    made_up_row,
    made_up_rows,
    of_family,
    shift,
    spread_out,
    verdict,
)
from papers.experiment import Effect
from papers.pubench.claims import claims_on, findings
from papers.pubench.cost import cost
from papers.pubench.effectiveness import effectiveness
from papers.pubench.finding import LACKING, NOISE, claim_of
from papers.pubench.intervals import above, all_of, below, difference, over_seeds, over_units
from papers.pubench.published import (
    ADNI,
    DATASETS,
    KINDS,
    MNIST,
    NEWS,
    PN,
    PU_METHODS,
    SPAM,
    family,
    possible_p_values,
    table_1,
    table_1_spreads,
    table_d6,
)
from papers.pubench.significance import significance
from papers.pubench.study import LABEL_RATIOS, Condition, Missing, study_of

RISK, DISAMBIGUATION, GENERATIVE = map(family, ("risk", "disambiguation", "generative"))
NOISY = 0.2


def test_tests_against_nnpu_need_five_seeds():
    gains = found(significance, "gain significantly")
    five = {"seeds": (1, 2, 3, 4, 5)}
    ahead = spread_out(["vpu", "p3mix-c", "dist-pu", "nnpu"])
    assert verdict(gains, ahead, **five) == "holds"
    assert verdict(gains, spread_out(["nnpu"]), **five) == "does not hold"
    assert verdict(gains, ahead) == "cannot be told"
    losses = found(significance, "more often significantly worse")
    assert verdict(losses, shift(self_pu=-0.1), **five) == "holds"
    assert verdict(losses, shift(self_pu=0.1), **five) == "does not hold"
    assert verdict(losses, shift(), noise=NOISY, **five) == "cannot be told"


def test_signs_are_held_against_table_1():
    finding = found(significance, "have the sign")
    table = dict(zip(PU_METHODS, (table_1() / 100).T, strict=True))

    def as_printed(method, dataset, *_):
        return 0.9 if method == PN else float(table[method][DATASETS.index(dataset)])

    def mirrored(method, dataset, *_):
        return 1.0 - as_printed(method, dataset)

    assert verdict(finding, as_printed) == "holds"
    assert verdict(finding, mirrored) == "does not hold"
    assert verdict(finding, shift(), noise=NOISY, seeds=(1, 2)) == "cannot be told"


def test_table_d6_cannot_come_from_table_1():
    claim = claim_of(found(significance, "p-values are those"), study_of([]))
    assert claim.verdict == "does not hold"
    assert claim.effect.value == 62
    risk = [place for place in possible_p_values() if place[0] in RISK]
    assert len(risk) == 56
    # Identical means, and the p-value is not 1.
    assert table_d6()["lbe", ADNI] == 0.069
    assert possible_p_values()["lbe", ADNI][0] > 0.9


def test_published_tables_are_those_of_the_paper():
    assert table_1().shape == table_1_spreads().shape == (8, 18)
    assert table_1(("lbe",), (MNIST,)) == 97.23
    assert table_1_spreads(("pulda",), (NEWS,)) == 0.03
    assert table_1(("pan",), (SPAM,)) == 38.71
    assert table_d6()["lagam", SPAM] == 5.3e-5
    assert len(table_d6()) == 136
    assert sum(len(names) for names in KINDS.values()) == len(DATASETS)


def test_honest_runs_that_contradict_limit_a_finding():
    finding = found(effectiveness, "lag behind")
    paper = made_up_rows(of_family(generative=-0.1))
    other = made_up_rows(
        of_family(generative=0.1), protocol="honest", scheme="single-sample", alpha="own"
    )
    claim = claim_of(finding, study_of([*paper, *other]))
    assert claim.verdict == "holds in the paper's setting"
    assert "single-sample data: does not hold" in claim.reason
    assert claim.cause == finding.cause
    assert claim_of(finding, study_of(paper)).cause == ""
    reverse = claim_of(
        finding,
        study_of(
            [
                {**row, "protocol": "honest", "scheme": "case-control", "alpha": "own"}
                for row in paper
            ]
        ),
    )
    assert reverse.verdict == "cannot be told"
    assert reverse.cause == LACKING


def test_another_f1_that_decides_otherwise_is_told():
    finding = found(cost, "do not repay")
    rows = made_up_rows(shift(pul_cpbf=-0.1, holistic_pu=-0.1, vae_pu=-0.1))
    for row in rows:
        row["f1"] = 1 - row["f1"]
    claim = claim_of(finding, study_of(rows))
    assert claim.verdict == "holds"
    assert "F1 of the positive class in place of macro-F1: does not hold" in claim.reason


def test_which_rows_count():
    usual = made_up_row("nnpu", dataset=SPAM, seed=2, accuracy=0.8)
    rows = [
        usual,
        {**usual, "params": {"epochs": 2}, "learner": "nnpu (epochs=2)", "accuracy": 0.1},
        {**usual, "preset": "pubench", "accuracy": 0.2},
        {**usual, "seed": 3, "status": "failed", "accuracy": None, "reason": "no luck"},
        {**usual, "seed": 4, "accuracy": float("nan")},
        {**usual, "seed": 5, "noise": 0.1},
        {**usual, "key": "naive", "learner": "naive"},
        {**usual, "mechanism": "s1", "seed": 6},
    ]
    study = study_of(rows)
    assert study.paper.values("nnpu", SPAM, Condition("accuracy")) == {2: 0.8, 6: 0.8}
    assert study.variants == ("nnpu (epochs=2)", "naive")
    own, known = (
        {**usual, "protocol": "honest", "scheme": "case-control", "alpha": alpha}
        for alpha in ("own", "known")
    )
    for order in ([own, known], [known, own]):
        (kept,) = study_of(order).beyond[0].runs.values()
        assert kept[2]["alpha"] == "own"


def test_a_method_that_lacks_results_is_left_out_and_named():
    finding = found(effectiveness, "lag behind")
    rows = [row for row in made_up_rows(of_family(generative=-0.1)) if row["key"] != "lagam"]
    claim = claim_of(finding, study_of(rows))
    assert claim.verdict == "holds"
    assert "Without LaGAM-PU" in claim.reason
    rows = [row for row in rows if row["key"] != "pan" or row["dataset"] in DATASETS[:3]]
    claim = claim_of(finding, study_of(rows))
    assert claim.verdict == "cannot be told"
    assert "PAN on F-MNIST" in claim.reason


def test_a_method_with_fewer_seeds_does_not_take_them_from_the_others():
    finding = found(effectiveness, "lag behind")
    rows = made_up_rows(of_family(generative=-0.1))
    few = [row for row in rows if row["key"] != "lagam" or row["seed"] == SEEDS[0]]
    claim = claim_of(finding, study_of(few))
    assert "Without LaGAM-PU" in claim.reason
    (whole,) = {
        block.shape[2]
        for block in study_of(few).paper.sample([Condition("accuracy")], DATASETS).values
    }
    assert whole == len(SEEDS)
    # A method that the finding is about decides which seeds count.
    few = [row for row in rows if row["key"] != "pan" or row["seed"] == SEEDS[0]]
    sample = study_of(few).paper.sample([Condition("accuracy")], DATASETS, needed=("pan",))
    assert {block.shape[2] for block in sample.values} == {1}
    assert sample.note == ""


def test_no_row_and_any_part_of_the_rows_are_judged():
    whole = [
        *made_up_rows(spread_out(["vpu"])),
        *made_up_rows(spread_out(["vpu"]), ratios=LABEL_RATIOS[:5], seeds=(2,)),
    ]
    rng = np.random.default_rng(0)
    for share in (0.0, 0.05, 0.5, 0.9):
        rows = [row for row in whole if rng.random() < share]
        claims = claims_on(study_of(rows))
        assert len(claims) == len(findings())
        assert all(
            claim.reason
            for claim in claims
            if claim.verdict == "cannot be told" and claim.cause != NOISE
        )


def test_every_finding_says_what_it_must():
    texts = [finding.text for finding in findings()]
    assert len(set(texts)) == len(texts) > 55
    for finding in findings():
        assert finding.text.endswith(".")
        assert finding.rule.endswith(".")
        assert finding.setting
        assert finding.published
        assert finding.cause


def test_intervals_hold_what_they_claim():
    rng = np.random.default_rng(1)
    held = {"seeds": 0, "units": 0, "difference": 0}
    n = 150
    for _ in range(n):
        blocks = [rng.normal(size=(1, 2, 3)) for _ in range(4)]
        found_ = over_seeds(
            blocks, lambda means: float((means[:, 0, 0] - means[:, 0, 1]).mean()), ""
        )
        held["seeds"] += found_.lower < 0 < found_.upper
        found_ = over_units(rng.normal(size=8), "")
        held["units"] += found_.lower < 0 < found_.upper
        found_ = difference([rng.normal(size=4)], [rng.normal(size=9)], "")
        held["difference"] += found_.lower < 0 < found_.upper
    assert all(0.9 < count / n < 0.99 for count in held.values()), held


def test_intervals_need_something_that_varies():
    with pytest.raises(Missing, match="one seed"):
        over_seeds([np.ones((1, 1, 1))], lambda means: float(means.mean()), "")
    with pytest.raises(Missing, match="three"):
        over_units([1.0, 2.0], "")
    with pytest.raises(Missing, match="one run"):
        difference([np.ones(1)], [np.ones(3)], "")
    assert difference([np.ones(2)], [np.ones(2)], "points") == Effect(0.0, 0.0, 0.0, "points")


def test_verdicts_follow_from_intervals():
    effect = Effect(1.0, 0.5, 1.5, "")
    assert [above(effect, limit) for limit in (0, 1, 2)] == [
        "holds",
        "cannot be told",
        "does not hold",
    ]
    assert [below(effect, limit) for limit in (0, 1, 2)] == [
        "does not hold",
        "cannot be told",
        "holds",
    ]
    assert all_of("holds", "cannot be told", "does not hold") == "does not hold"
    assert all_of("holds", "cannot be told") == "cannot be told"
