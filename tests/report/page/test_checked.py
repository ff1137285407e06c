"""What a page says of rows checked by hand, before an audit and after one."""

import re
from functools import cache
from pathlib import Path

import axe_core_python
import numpy as np
import pytest
from scipy.stats import rankdata

import recoup
from recoup._core.text import show_number, show_range, show_share, show_share_range
from recoup.audit import Audit
from recoup.audit.planning import expected_half_widths
from recoup.report import Report, summarize
from recoup.report.page.light import light_of
from recoup.report.page.offered import offer_of

AXE = Path(axe_core_python.__file__).with_name("axe.min.js")
HOSTILE = (
    "recoup audit plan '</code></script><script>alert(1)</script><img src=x onerror=alert(1)>'"
)
FIGURES = ("recall", "precision", "roc_auc")


@pytest.fixture(scope="module")
def example():
    return recoup.load_example()


def favoring_clear(example, odds):
    """As many labels as the example has, on spam that scores high."""
    rng = np.random.default_rng(0)
    spam = np.flatnonzero(example.y_true == 1)
    rank = rankdata(example.scores["score_boosting"][spam]) / len(spam)
    weight = odds**rank
    s = np.zeros_like(example.s)
    s[rng.choice(spam, int(example.s.sum()), replace=False, p=weight / weight.sum())] = 1
    return s


def audited(example, s, budget=120):
    scores = example.scores["score_boosting"]
    plan = recoup.audit.plan(s, scores, threshold=0.02, budget=budget, n_waves=1)
    audit = plan.answers(plan.rows, example.y_true[plan.rows])
    return recoup.evaluate(s, scores, audit=audit, n_boot=50)


@pytest.fixture(scope="module")
def made(example):
    """Evaluations before and after an audit, by what they show."""
    scores, s = example.scores["score_boosting"], example.s
    high = np.flatnonzero(s == 0)[np.argsort(-scores[s == 0], kind="stable")][:100]
    top = Audit.top(100, example.y_true[high])
    return {
        "before": recoup.evaluate(s, scores, alpha="estimate", threshold=0.02, n_boot=50),
        "random": audited(example, s),
        "biased": audited(example, favoring_clear(example, 27.0)),
        "top": recoup.evaluate(s, scores, audit=top, threshold=0.02, n_boot=50),
    }


@pytest.fixture(scope="module")
def pages(made, tmp_path_factory):
    folder = tmp_path_factory.mktemp("checked")
    return {
        name: Report(one, name, plan_command=HOSTILE if name == "before" else None).write(
            folder / f"{name}.html"
        )
        for name, one in made.items()
    }


def settled(page):
    page.wait_for_selector("html[data-state=ready]")
    return page


@pytest.fixture(scope="module")
def shown(open_page_once, pages):
    """The page of a name, opened once for all tests that only read it."""
    return cache(lambda name: settled(open_page_once(pages[name])))


def texts_of(page):
    return page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('[data-key]')]"
        ".map((cell) => [cell.dataset.key, cell.textContent]))"
    )


def cells_of(page, table):
    rows = page.locator(f"{table} tbody tr").all()
    return [
        [" ".join(text.split()) for text in row.locator("th, td").all_text_contents()]
        for row in rows
    ]


def test_the_offer_is_what_a_plan_expects(made, shown):
    evaluation = made["before"]
    offer = offer_of(evaluation)
    assert [one["checks"] for one in offer["choices"]] == [50, 120, 200, 400]
    rows = cells_of(shown("before"), "#choices")
    ends = [
        (one.possible_lower, one.possible_upper) for one in map(evaluation.__getitem__, FIGURES)
    ]
    assert rows[0][1:] == [*(show_share_range(*one) for one in ends[:2]), show_range(*ends[2])]
    for row in rows[1:]:
        options = {
            "alpha": evaluation.alpha,
            "threshold": 0.02,
            "scheme": "single-sample",
            "budget": int(row[0]),
            "metrics": FIGURES,
            "confidence": 0.95,
        }
        plain = expected_half_widths(evaluation.table, **options)
        worst = [
            expected_half_widths(evaluation.table, **options, odds=odds) for odds in (5.0, 0.2)
        ]
        for key, text, unit in zip(FIGURES, row[1:], (100, 100, 1), strict=True):
            shown = [float(part) for part in re.findall(r"±([0-9.]+)", text)]
            assert shown[0] == pytest.approx(unit * plain[key], rel=0.06)
            most = max(plain[key], *(case[key] for case in worst))
            assert shown[-1] == pytest.approx(unit * most, rel=0.06)


def test_the_offer_says_what_checking_buys(made):
    first = summarize(made["before"])["audit"]["sentences"][0]
    assert re.fullmatch(
        r"Check 120 unlabeled rows by hand: recall goes from 82% to 100% to ±[0-9.]+ points, "
        r"precision from 21% to 100% to ±[0-9.]+ points, AUC from 0.8\d\d to 1.000 to ±0.0\d+.",
        first,
    )


def test_nothing_is_offered_where_no_audit_can_be_planned(example):
    scores = example.scores["score_boosting"]
    weights = np.linspace(0.5, 2.0, len(scores))
    weighted = recoup.evaluate(example.s, scores, alpha=0.3, sample_weight=weights, n_boot=0)
    chances = np.full(len(scores), 0.3)
    by_chance = recoup.evaluate(example.s, scores, propensity=chances, n_boot=0)
    few = np.append(np.flatnonzero(example.s == 1), np.flatnonzero(example.s == 0)[:5])
    hardly = recoup.evaluate(example.s[few], scores[few], alpha=0.3, n_boot=0)
    assert offer_of(hardly) is None
    for evaluation in (weighted, by_chance):
        assert summarize(evaluation)["audit"]["offer"] is None
        assert 'id="checked"' not in Report(evaluation, "t").to_html()


def test_the_command_can_be_copied_from_a_file(open_page, pages):
    page = settled(open_page(pages["before"]))
    assert page.text_content("#plan-call") == HOSTILE
    assert page.locator("img").count() == 0
    page.click("#copy-call")
    assert page.text_content("#copied") == "Copied."
    page.evaluate("document.querySelector('main').append(document.createElement('textarea'))")
    page.focus("textarea")
    page.keyboard.press("Control+V")
    assert page.input_value("textarea") == HOSTILE


def test_the_python_call_makes_the_plan(example, made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call = offer_of(made["before"])["call"]
    names = {"recoup": recoup, "s": example.s, "scores": example.scores["score_boosting"]}
    eval(call, names)
    # Of two rounds the file holds the first.
    assert len((tmp_path / "to_check.csv").read_text().splitlines()) == 1 + 60


@pytest.mark.parametrize("name", ["random", "biased"])
def test_every_metric_stands_in_the_table_and_in_the_picture(made, shown, name):
    audit, evaluation = made[name].audit, made[name]
    page = shown(name)
    rows = cells_of(page, "#audited")
    expected = [audit.alpha, *audit.metrics.values()]
    assert len(rows) == len(expected) > 15
    for row, one in zip(rows, expected, strict=True):
        assert row[1] == f"{show_number(one.combined)} {show_range(one.lower, one.upper)}"
        ends = show_range(one.audited_lower, one.audited_upper)
        assert row[2] == f"{show_number(one.audited)} {ends}"
        if one.key != "alpha":
            item = evaluation[one.key]
            ends = show_range(item.lower, item.upper)
            assert row[3] == f"{show_number(item.recovered)} {ends}"
    figure = page.locator("#figure-audited")
    drawn = figure.locator("svg").first.locator("g.grid ~ text").count()
    assert figure.locator("svg").first.locator("circle").count() == 3 * drawn > 30
    assert figure.locator(".legend li").all_text_contents() == ["labels alone", "audited", "both"]
    for picture in ("roc", "pr"):
        legend = page.locator(f"#figure-{picture} .legend li").all_text_contents()
        assert {"audited", "95% band, audited", "threshold of the audit"} <= set(legend)


def test_tiles_and_headline_show_what_was_checked(made, shown):
    for name in ("random", "biased"):
        audit = made[name].audit
        page = shown(name)
        for key in ("recall", "precision"):
            tile = page.locator(f"[data-tile={key}]").inner_text()
            assert tile.startswith(show_share(audit[key].combined))
            assert show_share_range(audit[key].lower, audit[key].upper) in tile
            assert f"{key} at threshold 0.02; by 120 checked rows" in tile
        said = page.inner_text("#headline")
        assert show_share(audit["precision"].combined) in said
        assert "rest on 120 rows that were checked by hand" in said
        assert texts_of(page)["tile.precision.value"] == show_share(
            made[name]["precision"].recovered
        )


def test_sliders_move_the_labels_and_not_the_audit(made, open_page, pages):
    page = settled(open_page(pages["biased"]))
    stays = (
        "#headline",
        "#audited",
        "#labels-verdict",
        "[data-tile=precision]",
        "[data-tile=hidden]",
    )
    curve = "document.querySelector('#figure-roc path[style*=\"c2\"].line').getAttribute('d')"
    cases = "[...document.querySelectorAll('[data-cases]')].map((it) => it.textContent).join()"

    def seen():
        return [page.inner_text(one) for one in stays], page.evaluate(curve), page.evaluate(cases)

    before, texts = seen(), texts_of(page)
    page.fill("#alpha-box", "0.12")
    settled(page)
    page.fill("#threshold-box", "0.3")
    settled(page)
    assert seen() == before
    moved = texts_of(page)
    assert moved["tile.precision.value"] != texts["tile.precision.value"]
    assert moved["cases.tp"] != texts["cases.tp"]
    assert "What was audited does not move." in page.inner_text("#assumed")
    assert page.locator("#light.red").count() == 1
    assert "Go by the audited numbers." in page.inner_text("#light")
    page.click("#reset")
    settled(page)
    assert texts_of(page) == texts


def test_the_verdict_on_the_labels_decides_the_light(made, shown):
    levels = {"random": "green", "biased": "red", "top": "amber"}
    for name, level in levels.items():
        light = light_of(made[name])
        reasons = [one for one in light["reasons"] if one["code"] == "selection"]
        assert [one["level"] for one in reasons] == [level]
        assert light["level"] == level
        page = shown(name)
        assert page.locator(f"#labels-verdict.{level}").count() == 1
        assert made[name].audit.labels.text in page.inner_text("#labels-verdict")
        assert page.inner_text("#light h3").startswith("Reliability of the labels alone")
    page = shown("biased")
    odds = re.search(r"has ([0-9.]+) times the odds", page.inner_text("#labels-odds"))
    assert float(odds[1]) == pytest.approx(made["biased"].audit.labels.odds, rel=0.05)


def test_rows_from_the_top_are_shown_as_bounds(made, shown):
    audit = made["top"].audit
    page = shown("top")
    ends = show_share_range(audit["precision"].lower, audit["precision"].upper)
    tile = page.inner_text("[data-tile=precision]")
    assert tile.startswith(ends)
    assert "all that 100 checked rows from the top allow" in tile
    assert "audited" not in page.locator("#figure-roc .legend li").all_text_contents()
    assert page.locator("[data-cases]").count() == 0
    assert "rest on" not in page.inner_text("#headline")


@pytest.mark.parametrize("name", ["before", "random", "biased", "top"])
def test_scripts_change_no_word_of_the_static_page(open_page, pages, shown, name):
    parts = "section[aria-labelledby=checked] p, section[aria-labelledby=checked] td, .tile p"
    read = f"[...document.querySelectorAll({parts!r})].map((it) => it.textContent.trim())"
    before = open_page(pages[name], java_script_enabled=False).locator(parts).all_text_contents()
    after = shown(name).evaluate(read)
    assert after == [text.strip() for text in before]
    assert not any(re.search("NaN|undefined|null|None", text) for text in after)


@pytest.mark.parametrize(("width", "dark"), [(390, True), (1280, False)])
@pytest.mark.parametrize("name", ["before", "random", "biased", "top"])
def test_pages_fit_and_have_no_serious_barriers(browser, pages, name, width, dark):
    # axe comes as a script of its own, which the page's policy would rightly refuse.
    context = browser.new_context(
        bypass_csp=True,
        color_scheme="dark" if dark else "light",
        viewport={"width": width, "height": 900},
    )
    page = context.new_page()
    page.goto(pages[name].as_uri())
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.add_script_tag(content=AXE.read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    context.close()
    serious = [
        (one["id"], [node["html"][:200] for node in one["nodes"]])
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]
    assert serious == []


def test_the_summary_is_ready_for_json(made):
    import json

    for name, evaluation in made.items():
        audit = json.loads(json.dumps(summarize(evaluation), allow_nan=False))["audit"]
        assert audit["made"] == (name != "before")
        if audit["made"]:
            assert {one["key"] for one in audit["metrics"]} == {"alpha", *evaluation.audit.metrics}
            assert any("checked by hand" in text for text in summarize(evaluation)["sentences"])


@pytest.mark.parametrize("name", ["before", "random", "biased", "top"])
def test_markdown_and_json_say_what_the_page_says(made, tmp_path, name):
    import json

    evaluation = made[name]
    report = Report(evaluation, "A <b>title</b> | with signs", plan_command=HOSTILE)
    page = json.loads(report.write(tmp_path / "page.json").read_text())
    summary = page["models"][0]["summary"]
    text = report.write(tmp_path / "page.md").read_text()
    assert r"# A \<b\>title\</b\> \| with signs" in text
    assert not re.search(r"(?<!\\)<", text.replace(f"    {HOSTILE}", ""))
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    if name == "before":
        assert summary["audit"]["offer"]["call"] == HOSTILE
        assert f"    {HOSTILE}" in text
        choices = [[choice["checks"], *choice["half"]] for choice in page_choices(summary)]
        for checks, *half in choices:
            (line,) = [row for row in rows if row.startswith(f"| {checks} |")]
            assert all(part in line for part in half)
    else:
        assert "Reliability of the labels alone" in text
        assert evaluation.audit.labels.text in text
        for one in evaluation.audit.metrics.values():
            assert any(
                f"| {show_number(one.combined)} | {show_range(one.lower, one.upper)} |" in row
                for row in rows
            )


def page_choices(summary):
    return summary["audit"]["offer"]["choices"]


def test_a_comparison_as_markdown_names_every_model(example):
    found = recoup.compare(
        example.s,
        {"<i>a|b": example.scores["score_boosting"], "plain": example.scores["score_logistic"]},
        alpha=0.3,
        n_boot=0,
    )
    text = Report(found, "Two").to_markdown()
    assert "\n## \\<i\\>a\\|b\n" in text
    assert "\n## plain\n" in text
    assert "has the best AUC" in text
