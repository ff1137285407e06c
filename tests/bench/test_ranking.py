"""Comparing learners from rows of a store, with all that is missing said openly."""

import json
import math
import time
from dataclasses import FrozenInstanceError
from itertools import product

import numpy as np
import pytest
from scipy import stats

from recoup._core.multiplicity import holm
from recoup.bench.hypothesis_tests import critical_difference, friedman, ranks_of
from recoup.bench.job import SELECTS_NOTHING
from recoup.bench.ranking import rank_learners
from recoup.bench.result_array import Cell
from recoup.exceptions import InvalidInputError

LEVELS = {"nnpu": 0.80, "upu": 0.74, "dist-pu": 0.84, "vpu": 0.80, "pn": 0.95}
DATASETS = ("adult", "mushroom", "spambase", "wine")


def row(dataset, learner, seed, accuracy, **more):
    return {
        "run": f"{dataset}-{learner}-{seed}",
        "dataset": dataset,
        "scheme": "case-control",
        "mechanism": "scar",
        "label_frequency": 0.1,
        "noise": 0.0,
        "learner": learner,
        "key": learner,
        "family": "reference" if learner == "pn" else "risk",
        "seed": seed,
        "protocol": "honest",
        "status": "done",
        "reason": None,
        "accuracy": accuracy,
    } | more


def study(datasets=DATASETS, learners=LEVELS, n_seeds=5, spread=0.01, seed=0):
    rng = np.random.default_rng(seed)
    return [
        row(dataset, learner, number, LEVELS[learner] + spread * rng.normal())
        for dataset, learner, number in product(datasets, learners, range(n_seeds))
    ]


def values_of(rows, learner, dataset):
    return np.array([one["accuracy"] for one in rows
                     if one["learner"] == learner and one["dataset"] == dataset])  # fmt: skip


def test_means_deviations_and_t_tests_are_those_of_the_rows():
    rows = study()
    standing = rank_learners(rows)
    assert len(standing.results) == len(DATASETS) * len(LEVELS)
    for dataset in DATASETS:
        here = {item.learner: item for item in standing.results if item.cell.dataset == dataset}
        p_values = {}
        for learner, item in here.items():
            values = values_of(rows, learner, dataset)
            assert (item.n, item.mean) == (5, pytest.approx(values.mean()))
            assert item.std == pytest.approx(values.std(ddof=1))
            if learner not in ("nnpu", "pn"):
                wanted = stats.ttest_rel(values, values_of(rows, "nnpu", dataset))
                assert (item.t, item.p_value) == pytest.approx((wanted.statistic, wanted.pvalue))
                p_values[learner] = item.p_value
        adjusted = dict(zip(p_values, holm(list(p_values.values())), strict=True))
        for learner, p in adjusted.items():
            assert here[learner].p_adjusted == pytest.approx(p)
        assert here["nnpu"].verdict == ""
        assert here["dist-pu"].verdict == "better"
        assert here["upu"].verdict == "worse"


def test_learners_that_take_true_classes_are_shown_and_never_ranked():
    standing = rank_learners(study())
    assert "pn" not in {item.learner for item in standing.ranks}
    assert [item.learner for item in standing.left_out] == ["pn"]
    shown = next(item for item in standing.results if item.learner == "pn")
    assert shown.mean > 0.9
    # PU-Bench corrects for the PU methods, not for PN.
    assert math.isnan(shown.p_value)
    assert "pn" not in {item.learner for item in standing.against}


def test_ranks_and_friedman_are_those_of_the_means():
    rows = study()
    standing = rank_learners(rows)
    ranked = ["dist-pu", "nnpu", "upu", "vpu"]
    means = np.array([[values_of(rows, name, data).mean() for name in ranked] for data in DATASETS])
    wanted = friedman(ranks_of(means))
    assert standing.friedman == wanted
    assert standing.n_blocks == 4
    assert standing.critical_difference == pytest.approx(critical_difference(4, 4))
    by_name = {item.learner: item for item in standing.ranks}
    for k, name in enumerate(ranked):
        assert by_name[name].rank == pytest.approx(ranks_of(means).mean(axis=0)[k])
        assert by_name[name].mean == pytest.approx(means[:, k].mean())
        assert by_name[name].lower <= by_name[name].rank <= by_name[name].upper
    assert [item.rank for item in standing.ranks] == sorted(item.rank for item in standing.ranks)
    assert sum(item.first for item in standing.ranks) == pytest.approx(1)
    assert by_name["dist-pu"].first == 1


def test_cells_won_and_lost():
    standing = rank_learners(study())
    against = {item.learner: item for item in standing.against}
    assert (against["dist-pu"].wins, against["dist-pu"].losses) == (4, 0)
    assert (against["dist-pu"].better, against["dist-pu"].worse) == (4, 0)
    assert (against["upu"].worse, against["upu"].better) == (4, 0)
    assert against["vpu"].same == 4
    assert against["dist-pu"].n_blocks == 4
    # All four differences have one sign: 2 of 16 ways.
    assert against["dist-pu"].p_value == pytest.approx(2 / 16)
    adjusted = holm([item.p_value for item in standing.against])
    assert [item.p_adjusted for item in standing.against] == pytest.approx(adjusted)
    pair = next(item for item in standing.pairs if {item.first, item.second} == {"dist-pu", "upu"})
    assert (pair.wins, pair.ties, pair.losses) == (4, 0, 0)
    assert pair.p_value == pytest.approx(2 / 16)
    assert len(standing.pairs) == 6


def test_costs_are_better_when_lower():
    seconds = {"nnpu": 10.0, "upu": 5.0, "vpu": 20.0}
    rows = [
        row(dataset, learner, seed, 0.8, seconds=cost + seed * (1 + cost / 100))
        for dataset, (learner, cost), seed in product(DATASETS, seconds.items(), range(3))
    ]
    standing = rank_learners(rows, "seconds")
    assert [item.learner for item in standing.ranks] == ["upu", "nnpu", "vpu"]
    verdicts = {item.learner: item.verdict for item in standing.results}
    assert verdicts == {"nnpu": "", "upu": "better", "vpu": "worse"}
    against = {item.learner: item for item in standing.against}
    assert (against["upu"].wins, against["upu"].better) == (4, 4)
    assert against["upu"].difference < 0
    assert [item.learner for item in standing.against] == ["upu", "vpu"]
    for pair in standing.pairs:
        quicker = seconds[pair.first] < seconds[pair.second]
        assert (pair.wins, pair.losses) == ((4, 0) if quicker else (0, 4))


def test_every_missing_result_is_named():
    rows = study()
    lost = [one for one in rows if one["learner"] == "vpu" and one["dataset"] == "wine"]
    rows.remove(lost[0])
    lost[1].update(status="failed", reason="MemoryError: 2 GB", accuracy=None)
    lost[2].update(status="skipped", reason="needs images", accuracy=None)
    lost[3].update(accuracy=float("nan"))
    standing = rank_learners(rows)
    found = {(gap.learner, gap.cell.dataset, gap.seeds, gap.reason) for gap in standing.gaps}
    assert found == {
        ("vpu", "wine", (0,), "not run"),
        ("vpu", "wine", (1,), "failed: MemoryError: 2 GB"),
        ("vpu", "wine", (2,), "skipped: needs images"),
        ("vpu", "wine", (3,), "done, without a finite value of accuracy"),
    }
    assert any(note.startswith("4 of 100 results are missing") for note in standing.notes)
    # The cell is ranked by the one seed that all have.
    assert standing.n_blocks == 4
    assert "Cells rest on 1 to 5 shared seeds." in standing.notes
    item = next(item for item in standing.pairs if {item.first, item.second} == {"upu", "vpu"})
    assert item.wins + item.ties + item.losses == 4


def test_incomplete_blocks_are_left_out_of_ranks_and_said():
    rows = [one for one in study() if not (one["learner"] == "vpu" and one["dataset"] == "wine")]
    standing = rank_learners(rows, min_coverage=0.7)
    assert standing.n_blocks == 3
    assert {cell.dataset for cell in standing.complete_cells} == set(DATASETS) - {"wine"}
    assert any("3 of 4 cells" in note for note in standing.notes)
    assert repr(standing).endswith("3 of 4 datasets)")
    # Two learners need only each other: the baseline test keeps the fourth dataset.
    blocks = {item.learner: item.n_blocks for item in standing.against}
    assert blocks == {"dist-pu": 4, "upu": 4, "vpu": 3}
    others = [one for one in rows if one["dataset"] != "wine"]
    same_without = rank_learners(others, min_coverage=0.7)
    assert standing.friedman == same_without.friedman
    assert standing.ranks == same_without.ranks


def test_a_learner_that_misses_too_much_is_named_and_takes_nothing_from_others():
    rows = study()
    for one in rows:
        if one["learner"] == "vpu" and one["dataset"] != "wine":
            one.update(status="skipped", reason="made for images", accuracy=None)
    standing = rank_learners(rows)
    left = {item.learner: item.reason for item in standing.left_out}
    assert "5 of 20 runs" in left["vpu"]
    assert "15 times" in left["vpu"]
    assert "made for images" in left["vpu"]
    assert standing.n_blocks == 4
    assert "vpu" in {item.learner for item in standing.results}
    everybody = rank_learners(rows, min_coverage=0.0)
    assert everybody.n_blocks == 1
    assert "vpu" in {item.learner for item in everybody.ranks}


def test_a_learner_without_any_result_is_left_out_whatever_is_asked():
    rows = study()
    for one in rows:
        if one["learner"] == "vpu":
            one.update(status="failed", reason="no", accuracy=None)
    standing = rank_learners(rows, min_coverage=0.0)
    assert "vpu" in {item.learner for item in standing.left_out}
    assert standing.n_blocks == 4


def test_nothing_but_failures_is_an_answer():
    rows = [one | {"status": "failed", "reason": "no", "accuracy": None} for one in study()]
    standing = rank_learners(rows)
    assert standing.results == standing.ranks == standing.pairs == standing.against == ()
    assert standing.friedman is None
    assert math.isnan(standing.critical_difference)
    assert len(standing.left_out) == 5
    json.dumps(standing.to_dict(), allow_nan=False)
    assert "nobody ranked" in repr(standing)
    assert standing._repr_html_()
    with pytest.raises(InvalidInputError, match="at least one ranked learner"):
        standing.plot()


def test_one_seed_has_no_tests_within_cells_and_no_intervals():
    standing = rank_learners(study(n_seeds=1))
    assert all(math.isnan(item.std) for item in standing.results)
    assert all(math.isnan(item.p_adjusted) for item in standing.results)
    assert {item.verdict for item in standing.results} == {""}
    assert all(math.isnan(item.lower) and math.isnan(item.first) for item in standing.ranks)
    assert any("one seed per cell" in note for note in standing.notes)
    assert standing.friedman is not None
    json.dumps(standing.to_dict(), allow_nan=False)
    assert standing._repr_html_()


def test_identical_learners_are_tied_everywhere():
    rows = study(learners=("nnpu",))
    rows += [one | {"learner": "twin"} for one in rows]
    standing = rank_learners(rows)
    assert [item.rank for item in standing.ranks] == [1.5, 1.5]
    assert [(item.lower, item.upper, item.first) for item in standing.ranks] == [
        (1.5, 1.5, 0.5)
    ] * 2
    assert (standing.friedman.chi2, standing.friedman.p_value) == (0.0, 1.0)
    (twin,) = standing.against
    assert (twin.wins, twin.ties, twin.losses, twin.p_value) == (0, 4, 0, 1.0)
    assert (twin.better, twin.same, twin.worse) == (0, 4, 0)
    assert standing.cliques == (("nnpu", "twin"),)
    assert all(item.t == 0 for item in standing.results if item.learner == "twin")


def test_a_difference_that_never_varies():
    rows = study(learners=("nnpu",), spread=0.0)
    rows += [one | {"learner": "more", "accuracy": one["accuracy"] + 0.1} for one in rows]
    item = next(item for item in rank_learners(rows).results if item.learner == "more")
    assert (item.std, item.t, item.p_value, item.verdict) == (0.0, math.inf, 0.0, "better")


def test_one_learner_and_one_dataset_are_answers_too():
    alone = rank_learners(study(learners=("nnpu",)))
    assert alone.friedman is None
    assert [item.rank for item in alone.ranks] == [1.0]
    assert alone.pairs == alone.against == ()
    single = rank_learners(study(datasets=("wine",)))
    assert single.friedman is None
    assert any("need two of them. There are 1" in note for note in single.notes)
    assert all(math.isnan(item.p_nemenyi) for item in single.pairs)
    assert [item.p_value for item in single.pairs] == [1.0] * 6


def test_cells_of_one_dataset_count_once_unless_asked():
    rows = [
        one | {"label_frequency": c, "accuracy": one["accuracy"] + c / 10}
        for c in (0.05, 0.1, 0.5)
        for one in study(seed=int(100 * c))
    ]
    once, each = rank_learners(rows), rank_learners(rows, block="cell")
    assert (once.n_blocks, each.n_blocks) == (4, 12)
    assert len(once.complete_cells) == len(each.complete_cells) == 12
    assert any("not independent" in note for note in each.notes)
    assert not any("not independent" in note for note in once.notes)
    first = next(item for item in once.ranks if item.learner == "nnpu")
    means = [item.mean for item in once.results if item.learner == "nnpu"]
    assert first.mean == pytest.approx(np.mean(means))
    assert {(item.wins + item.ties + item.losses) for item in once.pairs} == {12}


def test_protocols_are_kept_apart():
    rows = study()
    rows += [one | {"protocol": "oracle", "accuracy": one["accuracy"] + 0.02} for one in rows]
    honest, oracle = rank_learners(rows), rank_learners(rows, protocol="oracle")
    for one, other in zip(honest.results, oracle.results, strict=True):
        assert other.mean == pytest.approx(one.mean + 0.02)


def test_an_honest_result_stands_in_where_the_protocol_makes_no_difference():
    rows = study()
    for one in list(rows):
        chooses = one["learner"] != "vpu"
        lost = {"status": "skipped", "reason": SELECTS_NOTHING, "accuracy": None}
        more = {} if chooses else lost
        rows.append(one | {"protocol": "oracle"} | more)
    oracle = rank_learners(rows, protocol="oracle")
    assert oracle.gaps == ()
    assert oracle.to_dict()["results"] == rank_learners(rows).to_dict()["results"]
    assert any(
        note.startswith("20 results are those of the honest protocol") for note in oracle.notes
    )
    for one in rows:
        if one["protocol"] == "oracle" and one["learner"] == "vpu":
            one.update(reason="vpu needs rows of both classes")
    assert "vpu" in {item.learner for item in rank_learners(rows, protocol="oracle").left_out}


def test_what_nobody_has_a_result_for_is_held_against_nobody():
    rows = study()
    absent = [one | {"dataset": "far away"} for one in rows if one["dataset"] == rows[0]["dataset"]]
    for one in absent:
        one.update(status="skipped", reason="not at hand", accuracy=None)
    found = rank_learners(rows + absent + [one | {"dataset": "farther"} for one in absent])
    assert found.left_out == rank_learners(rows).left_out
    assert found.ranks == rank_learners(rows).ranks
    assert {gap.reason for gap in found.gaps} >= {"skipped: not at hand"}


def test_the_order_of_rows_makes_no_difference():
    rows = study()
    shuffled = [rows[place] for place in np.random.default_rng(0).permutation(len(rows))]
    assert rank_learners(rows).to_dict() == rank_learners(shuffled).to_dict()
    assert rank_learners(rows).to_dict() == rank_learners(iter(rows)).to_dict()


def test_another_learner_changes_no_result_of_a_cell():
    few = rank_learners(study(), baseline=None)
    more = study()
    more += [one | {"learner": "new", "accuracy": 0.1} for one in more if one["learner"] == "upu"]
    kept = [item for item in rank_learners(more, baseline=None).results if item.learner != "new"]
    assert [(item.mean, item.std) for item in few.results] == [
        (item.mean, item.std) for item in kept
    ]


def test_without_a_baseline_nothing_is_tested_against_it():
    standing = rank_learners(study(), baseline=None)
    assert standing.against == ()
    assert {item.verdict for item in standing.results} == {""}
    assert standing.friedman is not None


def test_frames_have_a_row_for_each_thing():
    standing = rank_learners(study()[:-1])
    sizes = {part: len(standing.to_frame(part)) for part in
             ("results", "ranks", "baseline", "pairs", "gaps")}  # fmt: skip
    assert sizes == {"results": 20, "ranks": 4, "baseline": 3, "pairs": 6, "gaps": 1}
    frame = standing.to_frame()
    assert list(frame.columns[:6]) == [*Cell.__dataclass_fields__, "learner"]
    assert frame["mean"].tolist() == [item.mean for item in standing.results]
    with pytest.raises(InvalidInputError, match="Did you mean 'ranks'"):
        standing.to_frame("rank")


def test_results_cannot_be_changed_and_are_plain_in_json():
    standing = rank_learners(study())
    with pytest.raises(FrozenInstanceError):
        standing.metric = "f1"
    found = json.loads(json.dumps(standing.to_dict(), allow_nan=False))
    assert found["ranks"][0]["learner"] == standing.ranks[0].learner
    assert found["results"][0]["dataset"] == "adult"
    assert found["friedman"]["chi2"] == pytest.approx(standing.friedman.chi2)


def test_names_are_escaped_on_pages():
    rows = study()
    for one in rows:
        if one["learner"] == "vpu":
            one["learner"] = "<script>alert(1)</script>"
            one["reason"] = "<b>"
    rows[3].update(status="failed", reason="<img src=x>", accuracy=None)
    page = rank_learners(rows)._repr_html_()
    assert "<script>alert" not in page
    assert "<img" not in page
    assert "&lt;script&gt;" in page


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"metric": "acuracy"}, "Did you mean 'accuracy'"),
        ({"protocol": "orakel"}, "protocols found: honest"),
        ({"baseline": "nnppu"}, "Did you mean 'nnpu'"),
        ({"block": "seed"}, "block to be 'dataset'"),
        ({"level": 5}, "level between 0 and 1"),
        ({"min_coverage": -1}, "min_coverage between 0 and 1"),
        ({"n_boot": 0}, "n_boot of at least 1"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(change, says):
    with pytest.raises(InvalidInputError, match=says) as caught:
        rank_learners(study(), **change)
    assert "\n" not in str(caught.value)
    assert "Got" in str(caught.value)


def test_rows_that_are_no_rows_of_a_store_are_refused():
    with pytest.raises(InvalidInputError, match="one without 'protocol'"):
        rank_learners([{"accuracy": 1.0}])
    with pytest.raises(InvalidInputError, match="Got 0 rows"):
        rank_learners([])
    with pytest.raises(InvalidInputError, match="Got two for nnpu, adult"):
        rank_learners(study() + study(seed=1))


def test_a_whole_benchmark_takes_seconds():
    """As many results as PU-Bench's grid has with ten seeds: 28,800."""
    rng = np.random.default_rng(0)
    learners = ["nnpu", *(f"learner-{k}" for k in range(17))]
    rows = [
        row(f"data-{d}", name, seed, float(rng.random()), label_frequency=c / 20)
        for d, c, name, seed in product(range(8), range(1, 21), learners, range(10))
    ]
    started = time.perf_counter()
    standing = rank_learners(rows)
    assert time.perf_counter() - started < 20
    assert len(standing.results) == 8 * 20 * 18
    # There is nothing to be found.
    assert standing.friedman.p_value > 0.01


def test_a_learner_with_two_kinds_of_alpha_counts_as_two():
    known, own = (
        [one | {"alpha": alpha, "accuracy": one["accuracy"] - lost} for one in study()]
        for alpha, lost in (("known", 0.0), ("own", 0.05))
    )
    standing = rank_learners([*known, *own], baseline="nnpu, alpha known")
    names = {item.learner for item in standing.ranks}
    assert {"nnpu, alpha known", "nnpu, alpha own"} <= names
    assert {item.learner for item in rank_learners(own).ranks} == set(LEVELS) - {"pn"}
