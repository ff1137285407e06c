"""Metrics that a user brings, followed everywhere: the recipe of CONTRIBUTING.md, as it is said."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import recoup
from commands import EXAMPLE, QUICK, run
from leaderboard_pages import heads_of, settled, table_of
from recoup._core.text import show_number, show_range
from recoup.bench import Plan, Store
from recoup.bench.exported import export
from recoup.bench.trial import measure_trial
from recoup.bench.worker import execute
from recoup.cli._light import with_light
from recoup.metrics import make_scorer, point_metric
from recoup.metrics.bounds import bounds_at, metric_bounds
from recoup.metrics.spec import METRICS, forget_metric
from recoup.report import Report
from recoup.report.leaderboard import write_site

RECIPE = Path(__file__).parents[2] / "CONTRIBUTING.md"
AS_GIVEN = "for alpha as given: the sliders do not move it"
MODELS = ("score_boosting", "score_logistic")
OTHER_ALPHA = 0.2


@pytest.fixture(scope="module", autouse=True)
def own():
    """Register the metrics of the recipe: one of a threshold and one of a ranking."""
    code = re.search("### A metric\n.*?```python\n(.*?)```", RECIPE.read_text(), re.DOTALL)[1]
    names = {"__name__": "recipe"}
    exec(code, names)
    yield names
    forget_metric("gmean")
    forget_metric("ks")


@pytest.fixture(scope="module")
def example():
    return recoup.load_example()


def evaluated(example, alpha, **options):
    options = {"threshold": 0.4, "n_boot": 200} | options
    return recoup.evaluate(example.s, example.scores["score_boosting"], alpha=alpha, **options)


@pytest.fixture(scope="module")
def evaluation(example):
    return evaluated(example, example.alpha)


@pytest.fixture(scope="module")
def comparison(example):
    columns = {name: example.scores[name] for name in MODELS}
    return recoup.compare(
        example.s, columns, alpha=example.alpha, metric="gmean", threshold=0.4, n_boot=100
    )


def test_evaluate_recovers_both_with_intervals(example, evaluation):
    y_pred = example.scores["score_boosting"] >= 0.4
    truth = {}
    classes = example.y_true == 1
    truth["gmean"] = np.sqrt(y_pred[classes].mean() * (1 - y_pred[~classes].mean()))
    order = np.argsort(-example.scores["score_boosting"])
    rates = [np.cumsum(side[order]) / side.sum() for side in (classes, ~classes)]
    truth["ks"] = np.max(rates[0] - rates[1])
    for key, value in truth.items():
        item = evaluation[key]
        assert item.lower < item.recovered < item.upper
        assert item.lower < value < item.upper
        assert abs(item.recovered - value) < abs(item.pu - value)
    assert evaluation.to_frame().set_index("metric").loc["ks", "recovered"] == pytest.approx(
        evaluation["ks"].recovered
    )
    assert evaluation.at(0.4)["gmean"].recovered == evaluation["gmean"].recovered
    assert evaluation.metric_curve("gmean").best_value >= evaluation["gmean"].recovered - 0.01


def test_functions_of_rows_give_the_same(example, evaluation, own):
    scores = example.scores["score_boosting"]
    for key, answers in (("gmean", scores >= 0.4), ("ks", scores)):
        value = own[key](example.s, answers, alpha=example.alpha)
        assert value == pytest.approx(evaluation[key].recovered, abs=1e-12)
    assert "alpha : float" in own["ks"].__doc__


def test_a_metric_more_moves_no_number_of_another(example):
    draws = np.random.default_rng(0).beta(30, 70, size=200)
    columns = {name: example.scores[name] for name in MODELS}
    options = {"alpha": draws, "threshold": 0.4, "n_boot": 30}
    with_both = recoup.compare(example.s, columns, **options).to_dict()
    kept = {key: METRICS.pop(key) for key in ("gmean", "ks")}
    without = recoup.compare(example.s, columns, **options).to_dict()
    METRICS.update(kept)
    for name in MODELS:
        found = with_both["models"][name]["metrics"]
        assert {key: found[key] for key in found if key not in kept} == without["models"][name][
            "metrics"
        ]
    others = [item for item in with_both["differences"] if item["metric"] not in kept]
    assert others == without["differences"]


def test_bounds_hold_the_point_metric(example, evaluation):
    scores = example.scores["score_boosting"]
    item = evaluation["gmean"]
    assert item.bound_lower <= item.recovered <= item.bound_upper
    assert np.isnan(evaluation["ks"].bound_lower)
    table = evaluation.given.counts
    assert bounds_at(table, 0.4, example.alpha)["gmean"] == (item.bound_lower, item.bound_upper)
    found = metric_bounds("gmean", example.s, scores, alpha=example.alpha)
    assert (found.lower <= found.upper + 1e-12).all()


def test_compare_ranks_by_the_point_metric_and_knows_both(comparison):
    assert comparison.metric == "gmean"
    assert comparison.ranking[0] == "score_boosting"
    gap = comparison.difference(*MODELS)
    values = [comparison.evaluations[name]["gmean"].recovered for name in MODELS]
    assert gap.difference == pytest.approx(values[0] - values[1])
    assert gap.lower < gap.difference < gap.upper
    assert {win.metric for win in comparison.wins} >= {"gmean", "ks"}
    # Without an influence function there is no paired difference.
    assert "ks" not in {item.metric for item in comparison.differences}


@pytest.mark.parametrize("metric", ["gmean", "ks"])
def test_commands_know_both(example, metric):
    where = ["--label", "flagged", "--alpha", str(example.alpha), "--threshold", "0.4", *QUICK]
    one = run("evaluate", EXAMPLE, "--score", MODELS[0], *where, "--json")
    assert one.exit_code == 0, one.stderr
    printed, expected = json.loads(one.stdout), with_light(evaluated(example, example.alpha))
    # The command of the next step names the file, and a call the arguments.
    assert printed["next_step"].pop("command") != expected["next_step"].pop("command")
    assert printed == expected
    assert json.loads(one.stdout)["metrics"][metric]["label"] == METRICS[metric].label
    columns = [word for name in MODELS for word in ("--score", name)]
    both = run("compare", EXAMPLE, *columns, "--metric", metric, *where, "--json")
    assert both.exit_code == 0, both.stderr
    assert json.loads(both.stdout)["metric"] == metric
    assert metric in json.loads(both.stdout)["models"][MODELS[1]]["metrics"]
    listed = {row["key"]: row for row in json.loads(run("list", "metrics", "--json").stdout)}
    assert listed[metric]["label"] == METRICS[metric].label
    assert metric in run("list", "metrics").stdout


def test_scorers_know_both():
    rng = np.random.default_rng(0)
    y = rng.random(600) < 0.4
    X = rng.normal(size=(600, 2)) + y[:, None]
    s = (y & (rng.random(600) < 0.5)).astype(int)
    model = LogisticRegression().fit(X, s)
    alpha = float(y[s == 0].mean())
    for key in ("gmean", "ks"):
        assert 0.2 < make_scorer(key, alpha=alpha)(model, X, s) < 1


def metric_row(page, key):
    row = page.locator(f"#metrics tr[data-metric={key}]")
    cells = {
        name: page.locator(f"[data-key='metric.{key}.{name}']").text_content()
        for name in ("pu", "recovered", "interval", "possible")
    }
    return row.locator("th").text_content(), cells


def test_the_page_moves_the_point_metric_and_marks_the_area(
    open_page, example, evaluation, tmp_path
):
    page = settled(open_page(Report(evaluation, "Own metrics").write(tmp_path / "own.html")))
    for key in ("gmean", "ks"):
        head, cells = metric_row(page, key)
        item = evaluation[key]
        assert head.startswith(METRICS[key].label)
        assert (AS_GIVEN in head) == (key == "ks")
        assert cells["pu"] == show_number(item.pu)
        assert cells["recovered"] == show_number(item.recovered)
        assert cells["interval"] == show_range(item.lower, item.upper)
        assert cells["possible"] == show_range(item.bound_lower, item.bound_upper)
    before = metric_row(page, "ks")
    page.fill("#alpha-box", str(OTHER_ALPHA))
    settled(page)
    moved = evaluated(example, OTHER_ALPHA, n_boot=0)
    _, cells = metric_row(page, "gmean")
    assert moved["gmean"].recovered != pytest.approx(evaluation["gmean"].recovered, abs=1e-3)
    assert cells["recovered"] == show_number(moved["gmean"].recovered)
    assert cells["interval"] == show_range(moved["gmean"].lower, moved["gmean"].upper)
    # What Python found for another alpha would be something else.
    assert moved["ks"].recovered != pytest.approx(evaluation["ks"].recovered, abs=1e-3)
    after = metric_row(page, "ks")
    assert after[1] == before[1] | {"possible": after[1]["possible"]}
    assert AS_GIVEN in after[0]


def test_the_page_of_several_models_marks_what_stays(open_page, comparison, tmp_path):
    page = settled(open_page(comparison.report(tmp_path / "two.html")))
    assert "Geometric mean" in heads_of(page, "model-table")
    page.fill("#beta-box", "0.95")
    page.fill("#alpha-box", "0.1")
    settled(page)
    row = page.locator("tr[data-wins=ks]")
    assert "for beta as given" in row.locator("th").text_content()
    assert "score_boosting" in row.locator(".words").text_content()
    assert page.locator("html").get_attribute("data-state") == "ready"


def test_a_formula_that_cannot_be_translated_is_marked(open_page, example, tmp_path):
    @point_metric("branches", "Branches")
    def branches(tpr, fpr, pi):
        """Recover recall if it is the better one, else specificity."""
        return np.asarray([tpr, 1 - fpr], float).max(axis=0)

    try:
        found = evaluated(example, example.alpha, n_boot=0)
        page = settled(open_page(Report(found, "Branches").write(tmp_path / "page.html")))
        page.fill("#alpha-box", str(OTHER_ALPHA))
        settled(page)
        head, cells = metric_row(page, "branches")
        assert AS_GIVEN in head
        assert cells["recovered"] == show_number(found["branches"].recovered)
        recall = evaluated(example, OTHER_ALPHA, n_boot=0)["recall"]
        assert metric_row(page, "recall")[1]["recovered"] == show_number(recall.recovered)
    finally:
        forget_metric("branches")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Runs of a plan with both metrics."""
    plan = Plan(
        datasets=["iris"], label_frequencies=[0.5], learners=["naive", "elkan-noto"], seeds=[1, 2]
    )
    kept = Store(tmp_path_factory.mktemp("store") / "runs.sqlite")
    with kept.writing():
        for job in plan.jobs():
            kept.write(job, execute(measure_trial, job.definition))
    return kept


def test_a_benchmark_measures_both(store, tmp_path):
    rows = store.rows()
    assert [row["status"] for row in rows] == ["done"] * 4
    for row in rows:
        specificity = 2 * row["balanced_accuracy"] - row["recall"]
        assert row["gmean"] == pytest.approx(np.sqrt(row["recall"] * specificity))
        assert 0.5 < row["ks"] <= 1
        assert 0 <= row["recovered_gmean"] <= 1
        assert 0 <= row["recovered_ks"] <= 1
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(export(rows, tmp_path / "runs.parquet"))
    assert table.column("gmean").to_pylist() == [row["gmean"] for row in rows]


def test_the_leaderboard_shows_both(store, open_page, tmp_path):
    path = write_site(store.rows(), store.details, tmp_path)
    page = settled(open_page(path, fragment="#view=results&rows=runs&metric=gmean"))
    heads = heads_of(page, "runs")
    by_run = {row["run"]: row for row in store.rows()}
    assert heads[1] == "Geometric mean"
    for cells in table_of(page, "runs"):
        named = dict(zip(heads, cells, strict=True))
        for key in ("gmean", "ks"):
            assert named[METRICS[key].label] == f"{100 * by_run[named['Run']][key]:.2f}"
    page = settled(open_page(path, fragment="#view=recovered&metric=ks"))
    assert "Kolmogorov-Smirnov: recovered against true" in page.text_content("#view")


def test_a_store_from_before_the_metric_takes_it_up(store, tmp_path):
    gmean = METRICS.pop("gmean")
    job = Plan(datasets=["iris"], label_frequencies=[0.5], learners=["naive"], seeds=[1]).jobs()[0]
    kept = Store(tmp_path / "runs.sqlite")
    with kept.writing():
        kept.write(job, execute(measure_trial, job.definition))
    assert "gmean" not in kept.rows()[0]
    METRICS["gmean"] = gmean
    assert kept.rows()[0]["gmean"] is None
    other = Plan(datasets=["iris"], label_frequencies=[0.5], learners=["naive"], seeds=[2]).jobs()
    with kept.writing():
        kept.write(other[0], execute(measure_trial, other[0].definition))
    assert {row["seed"]: row["gmean"] is None for row in kept.rows()} == {1: True, 2: False}
