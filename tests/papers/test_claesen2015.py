from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from papers import reproduce
from papers.claesen2015 import experiment as paper
from papers.claesen2015 import page
from papers.claesen2015.claims import claims as claims_of
from papers.claesen2015.measured import mean, tighter, where, width
from papers.claesen2015.order import corrected_auc, figure_4_gap, highest_auc
from recoup._core.random import named_rng
from recoup.metrics.bounds import bounds_from_table
from recoup.scores.table import ScoreTable


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paper, "_at_hand", lambda: False)
        return reproduce("claesen2015", "tiny", jobs=1, out=tmp_path_factory.mktemp("tiny"))


def test_tiny_page_has_every_claim_table_and_figure(tiny):
    claims = tiny.page.claims
    assert len(claims) == 23
    assert len(tiny.page.tables) == 6
    assert {path.stem for path in tiny.folder.glob("*.png")} == set(tiny.page.figures)
    assert "figure4-order" in tiny.page.figures
    absent = [claim for claim in claims if claim.verdict == "cannot be told"]
    assert len(absent) == 4
    assert all("Covertype" in claim.text for claim in absent)
    assert "Figure 5 was left out" in tiny.path.read_text()


def verdict(rows, words):
    return next(claim.verdict for claim in claims_of(rows) if words in claim.text)


def changed(rows, kind, **values):
    return [row | values if row["kind"] == kind else row for row in rows]


@pytest.mark.parametrize(
    ("words", "kind", "bad"),
    [
        ("Lemma 4", "lemma", {"worse_wrong": 1}),
        ("Taking all unlabeled", "alpha", {"upper": 1.0}),
        ("the tighter the bounds on AUROC", "labels", {"lower": 0.5, "upper": 0.6}),
        ("hold the true AUROC", "labels", {"lower": 0.1, "upper": 0.2}),
        ("Known positives tighten", "table", {"lower": 0.1, "upper": 0.2}),
    ],
)
def test_verdicts_turn_with_the_figures(tiny, words, kind, bad):
    assert verdict(tiny.rows, words) == "holds"
    assert verdict(changed(tiny.rows, kind, **bad), words) == "does not hold"


def test_bounds_on_the_area_may_hold_in_the_papers_setting_alone(tiny):
    largest = max(row["n_unlabeled"] for row in tiny.rows if row["kind"] == "labels")
    rows = [
        row | {"lower": 0.1, "upper": 0.2}
        if row["kind"] == "labels" and row["n_unlabeled"] < largest
        else row
        for row in tiny.rows
    ]
    (claim,) = (claim for claim in claims_of(rows) if claim.text.startswith("Bounds from a 95%"))
    assert claim.verdict == "holds in the paper's setting"
    assert claim.cause == "noise of the hidden positives"
    assert "says: does not hold" in claim.rule


def test_figure_4_is_explained_by_a_swapped_row(tiny):
    (claim,) = (claim for claim in claims_of(tiny.rows) if "change places" in claim.text)
    assert claim.verdict == "does not hold"
    assert "swapped, both models are off by the same (-0.3 and -0.3 points)" in claim.reason
    assert "as printed by +0.5 and -1.1" in claim.reason
    # Printed: 75.5, so at least 75.45.
    (row,) = (row for row in tiny.rows if row["kind"] == "ceiling")
    assert claim.effect.value == pytest.approx(100 * row["roc_auc"] - 75.45, abs=1e-3)
    assert claim.effect.value < 0
    gap = figure_4_gap()
    assert gap.value == pytest.approx(100 * (0.725 - 0.732) / 0.9)
    assert gap.upper < 0


def test_verdicts_that_speak_against_the_paper_could_have_been_otherwise(tiny):
    for words, kind, good in (
        ("change places in AUROC", "ceiling", {"roc_auc": 0.755}),
        ("the order of their AUROC", "pair", {"roc_auc_flips": True}),
        ("slope of FPR", "derivative", {"measured": -18325.76}),
        ("the whole true curve", "labels", {"inner_cuts": True}),
    ):
        assert verdict(tiny.rows, words) == "does not hold"
        assert verdict(changed(tiny.rows, kind, **good), words) == "holds"


def test_same_run_same_rows():
    run = next(run for run in paper.runs("tiny") if run.settings["kind"] == "alpha")
    assert paper.measure(run) == paper.measure(run)


def test_runs_grow_with_the_size():
    counts = [
        sum(run.settings.get("last", 0) - run.settings.get("first", 0) for run in paper.runs(size))
        for size in ("tiny", "quick", "full")
    ]
    assert counts[0] < counts[1] < counts[2]
    repetitions = {
        (run.settings["first"], run.settings["last"])
        for run in paper.runs("full")
        if run.name.startswith("labels-50-")
    }
    assert sorted(repetitions) == [(first, first + 20) for first in range(0, 200, 20)]


def test_drawn_rows_are_what_was_asked_for():
    y_true, s, scores = paper.drawn(np.random.default_rng(0), 100, 1000, 0.3, n_known=50)
    assert len(scores) == 1150
    assert ((s == 1).sum(), (s == 0).sum(), (s == -1).sum()) == (100, 1000, 50)
    assert y_true[s == 1].all()
    assert not y_true[s == -1].any()
    assert y_true[s == 0].mean() == pytest.approx(0.3)
    tables = paper.true_tables(y_true, scores)
    assert paper.area(tables) == pytest.approx(roc_auc_score(y_true, scores))


@pytest.mark.parametrize("spread", [0.5, 0.8, 1.5])
def test_areas_of_unclipped_tables_follow_from_those_at_alpha_zero(spread):
    scores = paper.shaped(1000, 20_000, auc=0.8, spread=spread, alpha=0.3)
    table = ScoreTable.from_arrays(np.arange(len(scores)) < 1000, scores)
    auc_pu = paper.area(paper.point_tables(table, 0.0))
    for alpha in (0.05, 0.15, 0.29):
        tables = paper.point_tables(table, alpha)
        assert paper.area(tables) == pytest.approx(corrected_auc(auc_pu, alpha), abs=3e-4)
        factor = (1000 + 20_000 * alpha) / 1000
        precision = factor * paper.area(paper.point_tables(table, 0.0), "pr_auc")
        assert paper.area(tables, "pr_auc") == pytest.approx(precision, rel=5e-3)


def ranking_near_the_ceiling(auc_pu, alpha, n_labeled=1000, n_unlabeled=9000):
    """Labeled rows as high as alpha allows, but for some below all unlabeled rows."""
    # w + alpha (1 - w)^2 / 2 = 1 - auc_pu
    low = np.roots([alpha / 2, 1 - alpha, alpha / 2 - (1 - auc_pu)]).max()
    n_low = round(low * n_labeled)
    unlabeled = np.arange(n_unlabeled) / n_unlabeled
    high = alpha * (np.arange(n_labeled - n_low) + 0.5) / n_labeled
    return -np.concatenate([high, np.full(n_low, 2.0), unlabeled])


@pytest.mark.parametrize("auc_pu", [0.6, 0.725, 0.85])
def test_no_ranking_rises_above_the_ceiling(auc_pu):
    alpha, s = 0.1, np.arange(10_000) < 1000
    rng = np.random.default_rng(0)
    gaps = []
    for ranking in range(30):
        scores = ranking_near_the_ceiling(auc_pu, alpha)
        if ranking:
            moved = rng.random(len(scores)) < rng.uniform(0, 0.5)
            scores = scores + moved * rng.normal(scale=rng.uniform(0.01, 1.0), size=len(scores))
        table = ScoreTable.from_arrays(s, scores)
        before = paper.area(paper.point_tables(table, 0.0))
        gaps.append(highest_auc(before, alpha) - paper.area(paper.point_tables(table, alpha)))
    # Whole rows: one hidden positive in 900.
    assert min(gaps) > -1e-3
    assert gaps[0] < 2e-3


def test_models_of_figure_4():
    rows = paper.measure_order(pairs=1)
    found = {(row["model"], row["alpha"]): row for row in rows if row["kind"] == "order"}
    printed = {key: f"{100 * row['roc_auc']:.1f}" for key, row in found.items()}
    assert printed["model 1", 0.0] == "72.5"
    assert printed["model 2", 0.0] == "73.2"
    assert printed["model 2", 0.1] == "74.7"
    assert printed["model 1", 0.1] == "75.0"
    assert found["model 1", 0.0]["alpha_upper"] > 0.1 > found["model 2", 0.0]["alpha_upper"]
    ceiling = next(row["roc_auc"] for row in rows if row["kind"] == "ceiling")
    assert 0.750 < ceiling < 0.7545


def test_lemma_is_checked_on_all_cases():
    cases = 0
    for size in range(3, 6):
        for rank, more, fewer in product(range(size + 1), range(1, size), range(1, size)):
            for head_more, head_fewer in product(range(more + 1), range(fewer + 1)):
                fits = all(
                    head <= rank and members - head <= size - rank
                    for members, head in ((more, head_more), (fewer, head_fewer))
                )
                share = Fraction(head_fewer, fewer)
                if more <= fewer or share != Fraction(head_more, more) or not fits:
                    continue
                cases += share != Fraction(rank - head_fewer, size - fewer)
    (row,) = paper.measure_lemma(largest=5)
    assert row["better"] + row["worse"] == cases > 0
    assert row["better_wrong"] == row["worse_wrong"] == 0


def test_share_above_counts_where_a_curve_is_not_lower():
    y_true = np.repeat([1, 0], 500)
    good, bad = (np.random.default_rng(0).normal(y_true * gap) for gap in (2.0, 0.5))
    upper, lower = paper.true_tables(y_true, good), paper.true_tables(y_true, bad)
    assert paper.share_above(upper, lower) == 1
    assert paper.share_above(lower, upper) < 0.1
    assert paper.share_above(lower, lower) == 1


def test_labels_runs_measure_coverage_and_width():
    rows = []
    for n_labeled in (50, 800):
        rows += paper.measure_labels(
            n_labeled=n_labeled, n_unlabeled=4000, alpha=0.2, first=0, last=15
        )
    widths = {n: width(where(rows, n_labeled=n, band="published")) for n in (50, 800)}
    assert widths[800] < widths[50] / 2.5
    wide, narrow = (where(rows, band=name) for name in ("dkw", "published"))
    assert mean(wide, "all_cuts") > 0.9 > mean(narrow, "all_cuts")


def test_known_negatives_runs_use_either_class():
    rows = paper.measure_table(known_positives=0.1, n_positives=400, n_negatives=2000, draws=2)
    assert {row["based_on"] for row in rows} == {"positives", "negatives"}
    assert not where(rows, known_negatives=0.0, based_on="negatives")
    cell = {"known_negatives": 0.8, "guess": "exact"}
    form, some = tighter(rows, **cell)
    assert form == "negatives"
    assert width(some) < width(where(rows, based_on="positives", **cell))
    y_true, s, scores = paper.drawn(
        named_rng(paper.SEED, paper.KEY, "table", 0), 40, 2360, 360 / 2360
    )
    bounds = bounds_from_table(
        ScoreTable.from_arrays(s, scores), alpha=360 / 2360, **paper.PUBLISHED
    )
    first = where(rows, known_negatives=0.0, guess="exact", draw=0)[0]
    assert first["lower"] == pytest.approx(paper.area(bounds.lower))
    assert first["truth"] == pytest.approx(roc_auc_score(y_true, scores))


def test_covertype_runs_and_claims(monkeypatch, tiny):
    def scores(n_per_class, rounds):
        y_true = np.repeat([0, 1], n_per_class)
        # Rounded: the scores of ensembles are tied.
        return y_true, np.random.default_rng(0).normal(1.5 * y_true).round(2)

    monkeypatch.setattr(paper, "covertype_scores", scores)
    rows = paper.measure_covertype(draws=8, rounds=1, n_per_class=2000)
    exact = where(where(rows, kind="covertype"), guess="exact")
    assert len(exact) == 8
    assert exact[0]["alpha"] == pytest.approx(1900 / 3900)
    assert mean(exact, "ranks_held") > 0.8
    found = page.summarize(tiny.rows + rows, "tiny")
    assert "figure5-covertype" in found.figures
    claims = [claim for claim in found.claims if "Covertype" in claim.text]
    assert [claim.verdict for claim in claims[2:]] == ["holds"] * 2
    assert all(claim.verdict != "cannot be told" for claim in claims)
