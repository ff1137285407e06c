"""Every result shows itself in a notebook: a table that is safe and sound, and a picture."""

import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("agg")
import matplotlib.pyplot as plt
from playwright.sync_api import sync_playwright
from sklearn.naive_bayes import GaussianNB

import recoup
from papers import Claim, Effect, Experiment, Page, Run, reproduce
from recoup._core.results import MOST_ROWS, html_facts, html_table
from recoup._core.text import DASH, show_number, show_range
from recoup.data import PUDataset
from recoup.metrics import bounds
from recoup.priors import PriorEstimate, scar_test
from recoup.scores import crossfit

HOSTILE = "</table><script>alert(1)</script> \"'&amp; \ud800"
LONG = "n" * 10_000


@cache
def example():
    return recoup.load_example()


@cache
def boosting():
    return example().scores["score_boosting"]


@cache
def evaluation():
    return recoup.evaluate(example().s, boosting(), alpha=example().alpha, n_boot=100)


@cache
def audited():
    """An evaluation with rows that were checked."""
    plan = recoup.audit.plan(example().s, boosting(), threshold=0.02, budget=60, n_waves=1)
    audit = plan.answers(plan.rows, example().y_true[plan.rows])
    return recoup.evaluate(example().s, boosting(), audit=audit, n_boot=0)


@cache
def estimate():
    return recoup.priors.estimate(example().s, boosting())


@cache
def unsure():
    """An evaluation without intervals, of few rows."""
    s = np.repeat([1, 0], [30, 170])
    scores = np.random.default_rng(0).normal(s)
    return recoup.evaluate(s, scores, propensity=np.full(200, 0.5), n_boot=0)


@cache
def comparison():
    rng = np.random.default_rng(0)
    s, scores = example().s, boosting()
    models = {
        HOSTILE: scores,
        LONG: example().scores["score_logistic"],
        "noise": rng.random(len(s)),
    }
    models |= {f"copy {i}": scores + rng.normal(0, 0.02 * i, len(s)) for i in range(6)}
    return recoup.compare(s, models, alpha=(0.2, 0.4), n_boot=0)


@cache
def scar():
    return scar_test(boosting()[::4], example().s[::4], example().alpha, 39, None)


def dataset(**options):
    X = np.c_[boosting(), example().scores["score_logistic"]]
    return PUDataset(X, example().s, **options)


@cache
def reproduction(folder):
    def summarize(rows, size):
        ours, off = str(rows[0]["x"]), Effect(10.0, 9.0, 11.0, "squares")
        common = {"setting": "here", "rule": "equal"}
        bad = {"effect": off, "verdict": "does not hold", "cause": "chance", "reason": LONG}
        good = {"effect": None, "verdict": "holds"}
        claims = (
            Claim(text=HOSTILE[:-1], published="14", ours=ours, **common, **bad),
            Claim(text="It is nice", published="yes", ours="yes", **common, **good),
        )
        return Page("Nothing.", (), claims, {})

    paper = Experiment(
        key="squares",
        title="On squares",
        citation="Nobody (2020).",
        runs=lambda size: [Run("only", {"x": 2})],
        measure=lambda run: [{"x": run.settings["x"] ** 2}],
        summarize=summarize,
    )
    return reproduce(paper, "tiny", jobs=1, out=folder)


CONSTANT = {"s": [1] * 40 + [0] * 160, "scores": [0.5] * 200, "alpha": 0.1}
RESULTS = {
    "evaluation": evaluation,
    "evaluation, alpha estimated": lambda: recoup.evaluate(
        example().s, boosting(), alpha=estimate(), n_boot=0
    ),
    "evaluation without intervals": unsure,
    "evaluation with an audit": audited,
    "estimates by an audit": lambda: audited().audit,
    "evaluation of one score": lambda: recoup.evaluate(**CONSTANT, n_boot=0),
    "estimate": lambda: evaluation()["roc_auc"],
    "estimate without interval": lambda: unsure()["roc_auc"],
    "operating point": lambda: evaluation().at(0.3),
    "operating point without rows": lambda: evaluation().at(2.0),
    "prior of several methods": estimate,
    "prior of one method": lambda: recoup.priors.estimate(example().s, boosting(), method="bbe"),
    "prior without anything": lambda: PriorEstimate(
        0.2, method=HOSTILE, warnings=(HOSTILE, LONG), converged=False, members={HOSTILE: 0.1}
    ),
    "comparison": comparison,
    "comparison by a metric without differences": lambda: recoup.compare(
        example().s, example().scores, alpha=0.3, n_boot=0, metric="pr_auc"
    ),
    "sensitivity": lambda: evaluation().sensitivity(),
    "sensitivity over a range": lambda: next(iter(comparison().evaluations.values())).sensitivity(
        [0.1]
    ),
    "selection sensitivity": lambda: evaluation().selection_sensitivity(),
    "tipping point": lambda: evaluation().selection_sensitivity([2.0]).tipping("f1", at_least=0.5),
    "scar test": scar,
    "scar test with doubts": lambda: replace(scar(), method=LONG, warnings=(HOSTILE,)),
    "roc curve": lambda: evaluation().roc,
    "roc curve of one score": lambda: recoup.metrics.roc_curve(**CONSTANT),
    "pr curve": lambda: evaluation().pr,
    "lift curve": lambda: evaluation().lift_curve,
    "metric curve": lambda: evaluation().metric_curve("f1"),
    "calibration curve": lambda: evaluation().calibration,
    "roc bounds": lambda: bounds.roc_bounds(example().s, boosting(), alpha=0.3),
    "contingency bounds": lambda: bounds.contingency_bounds(example().s, boosting(), alpha=0.3),
    "dataset": dataset,
    "dataset with its truth": lambda: dataset(
        y_true=example().y_true, name=HOSTILE, propensity=np.full(len(example().s), 0.3)
    ),
    "dataset without positives": lambda: dataset(y_true=np.zeros(len(example().s)), name=LONG),
    "images": lambda: PUDataset(np.zeros((4, 8, 8)), [1, 0, 0, -1]),
    "crossfit scores": lambda: crossfit(GaussianNB(), dataset().X, example().s),
}
PICTURES = [
    name
    for name in RESULTS
    if not name.startswith(("estimate", "operating", "dataset", "images", "crossfit", "roc bounds"))
    and name not in ("contingency bounds", "tipping point")
]


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reproduction")


class Table(HTMLParser):
    """Reads a table, and complains of tags that do not match."""

    VOID = ("br", "img", "meta")

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.rows, self.texts = [], [], [], []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1] == "style":
            return
        self.texts.append(data)
        if self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data

    @property
    def text(self):
        return " ".join(self.texts)


def check(html):
    """Demand what holds for every table, and return it read."""
    table = Table(html)
    assert set(table.tags) <= {"div", "style", "table", "caption", "span", "tr", "th", "td"} | {
        "ul",
        "li",
    }
    assert not re.search(r"\bnan\b|\bNone\b|\binf\b|\bnp\.", table.text)
    assert "n" * 2000 not in html
    assert len(html) < 40_000
    html.encode()
    # Text has the color of the notebook, whether that is light or dark.
    assert re.findall(r"(?<![-\w])color:[^;}]*", html) == ["color:inherit"] * html.count("<style>")
    return table


@pytest.mark.parametrize("name", RESULTS)
def test_results_have_a_table(name):
    table = check(RESULTS[name]()._repr_html_())
    assert len(table.rows) >= 2
    assert all(cell for row in table.rows for cell in row)


def test_a_reproduction_has_a_table(folder):
    table = check(reproduction(folder)._repr_html_())
    assert HOSTILE[:-1] in [row[0] for row in table.rows]


def test_an_evaluation_tells_all():
    result = evaluation()
    table = check(result._repr_html_())
    assert table.rows[0] == ["metric", "PU", "recovered", "interval", "bounds"]
    assert [row[0] for row in table.rows[1:]] == [item.label for item in result.metrics.values()]
    auc = result["roc_auc"]
    ends = (f"{low:.3f} to {high:.3f}" for low, high in (
        (auc.lower, auc.upper), (auc.bound_lower, auc.bound_upper)
    ))  # fmt: skip
    assert table.rows[1] == ["AUC", f"{auc.pu:.3f}", f"{auc.recovered:.3f}", *ends]
    assert "alpha 0.3167; 521 labeled, 4,080 unlabeled rows" in table.text
    assert "at 95%" in table.text
    assert result.notes
    for note in result.notes:
        assert note in table.texts


def test_what_is_not_known_is_a_dash():
    nobody = {row[0]: row for row in check(evaluation().at(2.0)._repr_html_()).rows}
    assert nobody["Precision"][2] == DASH
    assert nobody["Recall"][2] == "0.000"


def test_an_estimate_tells_how_many_are_hidden():
    found = estimate()
    table = check(found._repr_html_())
    facts = {row[0]: row[1] for row in table.rows if len(row) == 2}
    low, high = found.interval
    assert facts["alpha: positives among unlabeled rows"] == f"{found.alpha:.3f}"
    assert facts["95% interval"] == f"{low:.3f} to {high:.3f}"
    assert facts["hidden positives"] == f"{found.hidden.value:,.0f}"
    ends = f"{low * found.n_unlabeled:,.0f} to {high * found.n_unlabeled:,.0f}"
    assert facts["their interval"] == ends
    pi = found.pi
    assert facts["pi: positives among all rows"] == f"{pi.value:.3f}"
    assert facts["interval of pi"] == f"{pi.low:.3f} to {pi.high:.3f}"
    top = found.identified[1]
    assert facts["the scores alone allow"] == f"0.000 to {top:.3f}"
    assert found.scores_allow in table.texts
    for method, alpha in found.members.items():
        assert facts[method] == f"{alpha:.3f}"
    doubtful = check(RESULTS["prior without anything"]()._repr_html_())
    assert "The method did not converge." in doubtful.texts
    assert "hidden positives" not in doubtful.text


def test_a_comparison_ranks_and_sets_apart():
    result = comparison()
    table = check(result._repr_html_())
    shown = [row[0] for row in table.rows]
    heads = [shown.index(head) for head in ("model", "models", "alpha")]
    models, pairs, wins = (
        table.rows[start + 1 : end]
        for start, end in zip(heads, [*heads[1:], len(shown)], strict=True)
    )
    assert len(models) == len(result.ranking) == 9
    values = [float(row[2]) for row in models]
    assert values == sorted(values, reverse=True)
    assert len(pairs) == MOST_ROWS
    assert "30 of 36 pairs" in table.text
    best = result.difference(*result.ranking[:2])
    assert pairs[0][1:] == [
        f"{best.difference:+.4f}",
        f"{best.lower:+.4f} to {best.upper:+.4f}",
        f"{best.p_adjusted:.3f}",
    ]
    assert "< 0.001" in [row[3] for row in pairs]
    ranges = [item for item in result.wins if item.metric == "roc_auc"]
    assert [row[0] for row in wins] == [
        f"{item.alpha_low:.3f} to {item.alpha_high:.3f}" for item in ranges
    ]
    assert any("(10,000 characters): " in text for text in table.texts)


def test_curves_show_where_they_pass():
    curve = evaluation().roc
    table = check(curve._repr_html_())
    assert table.rows[0] == ["FPR", "TPR (recall)", "threshold"]
    assert len(table.rows) < 15
    for row in table.rows[1:]:
        fpr, tpr = map(float, row[:2])
        near = np.maximum(np.abs(curve.fpr - fpr), np.abs(curve.tpr - tpr)) < 6e-4
        assert row[2] in map(show_number, curve.threshold[near])
    best = evaluation().metric_curve("f1")
    assert f"best value {best.best_value:.3f}" in check(best._repr_html_()).text
    bins = check(evaluation().calibration._repr_html_())
    assert sum(int(row[5]) for row in bins.rows[1:]) == 4601


def test_long_tables_are_cut():
    table = check(html_table({"a": [str(i) for i in range(999)]}, "many"))
    assert len(table.rows) == MOST_ROWS + 1
    assert "The first 30 of 999 rows" in table.text


def test_numbers_stand_to_the_right_and_words_to_the_left():
    columns = {
        "word": ["a", "1"],
        "number": ["-1.5", DASH],
        "range": ["0.1 to 0.2", "< 0.001"],
        "tiny": ["1.2e-05", "∞"],
    }
    html = html_table(columns, "")
    assert re.findall(r"<th( class=\"number\")?>", html) == ["", *[' class="number"'] * 3]
    assert 'class="number"' not in html_facts({"alpha": "0.5"}, "")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0.000"),
        (-0.25, "-0.250"),
        (1e6, "1,000,000"),
        (None, DASH),
        (np.nan, DASH),
        (-np.inf, "-∞"),
    ],
)
def test_numbers_as_text(value, shown):
    assert show_number(value) == shown


def test_half_an_interval_is_none():
    assert show_range(0.1, np.nan) == DASH
    assert show_range(0.1, 0.25) == "0.100 to 0.250"


@pytest.mark.parametrize("name", PICTURES)
def test_results_have_a_picture(name):
    display = RESULTS[name]().plot()
    figure = display.figure_
    figure.draw_without_rendering()
    for ax in figure.axes:
        assert ax.get_xlabel()
        assert ax.get_ylabel()
        legend = ax.get_legend()
        shown = [text.get_text() for text in legend.get_texts()]
        assert shown
        assert len(set(shown)) == len(shown)
        # What is drawn has room: a long name must not squeeze the curves.
        assert ax.get_window_extent().width > 0.3 * figure.bbox.width
        assert figure.bbox.padded(2).contains(*legend.get_window_extent().p0)
        assert figure.bbox.padded(2).contains(*legend.get_window_extent().p1)


def test_results_draw_on_given_axes():
    for name in PICTURES:
        if name.startswith("evaluation"):
            continue
        ax = mpl.figure.Figure().subplots()
        assert RESULTS[name]().plot(ax).ax_ is ax


def test_two_curves_share_a_picture():
    ax = evaluation().roc.plot(label="one").ax_
    evaluation().roc_pu.plot(ax, label="other", color="k")
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert sorted(shown) == ["Chance", "one", "other"]


def test_many_models_leave_room_for_curves():
    ax = comparison().plot().ax_
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "3 more" in shown
    assert max(map(len, shown)) <= 51


def opened(path):
    """Open a page in a browser, light and dark; return what it complained of, and its measures."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next((place for place in map(shutil.which, names) if place), None)
    if found is None:
        pytest.fail("Notebooks are tested in a real browser: install chromium (make system).")
    problems, measures = [], {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            page = browser.new_page(color_scheme=scheme, viewport={"width": 700, "height": 900})
            page.on("console", lambda said: problems.append(said.text))
            page.on("pageerror", lambda error: problems.append(str(error)))
            page.on("dialog", lambda dialog: problems.append(dialog.message))
            page.goto(Path(path).as_uri())
            measures[scheme] = page.evaluate(
                """() => ({
                    width: document.documentElement.scrollWidth,
                    tables: document.querySelectorAll("table").length,
                    scripts: document.querySelectorAll("script").length,
                    colors: [...new Set([...document.querySelectorAll("td, th, caption, li")]
                        .map(one => getComputedStyle(one).color))],
                    body: getComputedStyle(document.body).color,
                })"""
            )
        browser.close()
    return problems, measures


def test_a_browser_shows_them_all(tmp_path, folder):
    tables = [make()._repr_html_() for make in RESULTS.values()]
    tables.append(reproduction(folder)._repr_html_())
    page = tmp_path / "notebook.html"
    style = "<style>:root{color-scheme:light dark}</style>"
    page.write_text(
        f"<!DOCTYPE html><meta charset='utf-8'><title>All</title>{style}{''.join(tables)}"
    )
    # Another test may have a browser open, and Playwright allows one of them per thread.
    with ThreadPoolExecutor(1) as pool:
        problems, measures = pool.submit(opened, page).result()
    assert problems == []
    for found in measures.values():
        assert found["width"] <= 700
        assert found["tables"] >= len(tables)
        assert found["scripts"] == 0
        assert found["colors"] == [found["body"]]
    assert measures["light"]["body"] != measures["dark"]["body"]
