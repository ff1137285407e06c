"""The report page in a real browser: what readers see, move, sort and print."""

import json
import re
import time
from pathlib import Path

import axe_core_python
import numpy as np
import pytest
from typer.testing import CliRunner

import recoup
from recoup._core.text import show_number, show_range
from recoup.cli import app
from recoup.report import Report
from recoup.report.page.render import SCRIPTS
from recoup.report.page.verdict import headline, verdict

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
ENDLESS = "x" * 10_000
AXE = Path(axe_core_python.__file__).with_name("axe.min.js")
PAGE_CM = 21.0 - 2 * 1.5


@pytest.fixture(scope="module")
def example():
    return recoup.load_example()


@pytest.fixture(scope="module")
def evaluation(example):
    scores = example.scores["score_boosting"]
    return recoup.evaluate(example.s, scores, alpha=example.alpha, threshold="f1", n_boot=200)


@pytest.fixture(scope="module")
def report(evaluation, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    return Report(evaluation, "Spam filter", truth={"roc_auc": 0.96}).write(path)


@pytest.fixture(scope="module")
def scored():
    """Three models, two of them with hostile names, that scored the same rows."""
    rng = np.random.default_rng(3)
    s = (np.arange(1500) < 300).astype(int)
    strengths = {"plain": 1.0, HOSTILE: 1.8, ENDLESS: 1.4}
    columns = {name: rng.normal(strength * s) for name, strength in strengths.items()}
    columns["plain"] = 1 / (1 + np.exp(-columns["plain"]))
    return s, columns


@pytest.fixture(scope="module")
def comparison(scored):
    s, columns = scored
    return recoup.compare(s, columns, alpha="estimate", n_boot=50)


@pytest.fixture(scope="module")
def versus(comparison, tmp_path_factory):
    path = tmp_path_factory.mktemp("versus") / "versus.html"
    return Report(comparison, HOSTILE + ENDLESS).write(path)


def settled(page):
    """Wait until the page has drawn everything."""
    page.wait_for_selector("html[data-state=ready]")
    return page


@pytest.fixture(scope="module")
def untouched(open_page_once, report):
    """The page as it is at first, opened once for all tests that only read it."""
    return settled(open_page_once(report))


def texts_of(page):
    return page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('[data-key]')]"
        ".map((cell) => [cell.dataset.key, cell.textContent]))"
    )


def type_into(page, box, value):
    page.fill(box, str(value))
    return settled(page)


def assert_shows(page, result):
    """Demand that the page shows every value, interval and headline figure of an evaluation."""
    texts = texts_of(page)
    for key, item in result.metrics.items():
        assert texts[f"metric.{key}.pu"] == show_number(item.pu), key
        assert texts[f"metric.{key}.recovered"] == show_number(item.recovered), key
        assert texts[f"metric.{key}.interval"] == show_range(item.lower, item.upper), key
    said = verdict(result)
    for figure in said["figures"]:
        assert texts[f"tile.{figure['key']}.possible"] == figure["could_be"]
    for name, part in (("value", "count"), ("interval", "between"), ("possible", "could_be")):
        assert texts[f"tile.hidden.{name}"] == said["hidden"][part]
    queue = result.at(result.threshold).queue
    shown = page.locator("#headline p").all_text_contents()
    assert shown == headline(result.metrics, queue)


def test_at_first_every_number_is_pythons(untouched, evaluation):
    assert_shows(untouched, evaluation)
    texts = texts_of(untouched)
    for key, item in evaluation.metrics.items():
        bounds = show_range(item.bound_lower, item.bound_upper)
        assert texts[f"metric.{key}.possible"] == bounds
    assert texts["metric.roc_auc.truth"] == "0.960"


def test_scripts_change_no_number_of_the_static_page(open_page, report, versus):
    for path in (report, versus):
        before = texts_of(open_page(path, java_script_enabled=False))
        after = texts_of(settled(open_page(path)))
        assert len(before) > 80
        assert before.pop("cost.now") == ""
        assert float(after.pop("cost.now")) > 0
        assert after == before


def test_page_without_scripts_says_what_is_missing(open_page, report):
    page = open_page(report, java_script_enabled=False)
    assert page.get_by_text("Scripts do not run here").is_visible()
    assert not page.locator("#controls").is_visible()
    assert page.locator("#metrics").is_visible()
    assert page.locator("th button").count() == 0


def test_every_picture_has_a_name_and_facts(untouched):
    figures = untouched.locator("figure:visible")
    assert figures.count() == 8
    for figure in figures.all():
        svg = figure.locator(".drawing > svg")
        assert svg.locator("path.line").count() >= 1
        assert len(svg.locator("title").text_content()) > 3
        assert re.search(r"\d|Densities", svg.locator("desc").text_content())
        assert figure.locator(".legend li").count() >= 2


def test_alpha_moves_by_keyboard(open_page, example, evaluation, report):
    page = settled(open_page(report))
    page.focus("#alpha")
    for _ in range(8):
        page.keyboard.press("ArrowLeft")
    settled(page)
    alpha = float(page.input_value("#alpha"))
    assert alpha == pytest.approx(evaluation.alpha - 0.04, abs=0.004)
    assert page.get_attribute("#alpha", "aria-valuetext") == f"{alpha:.3g}"
    result = recoup.evaluate(
        example.s,
        example.scores["score_boosting"],
        alpha=alpha,
        threshold=evaluation.threshold,
        n_boot=0,
    )
    assert_shows(page, result)
    said = page.text_content("#live")
    assert f"alpha {alpha:.3g}" in said
    assert f"AUC {result['roc_auc'].recovered:.3f}" in said
    assert "alpha" in page.text_content("#assumed")
    assert page.locator("#assumed").is_visible()
    point = page.evaluate("JSON.parse(document.getElementById('data').textContent)")
    for i, shown in enumerate(point["page"]["summaries"][0]["points"]):
        there = result.at(shown["threshold"])["precision"]
        assert texts_of(page)[f"point.{i}.precision"] == show_number(there.recovered)
        limits = show_range(there.lower, there.upper)
        assert texts_of(page)[f"point.{i}.precision.interval"] == limits


def test_numbers_are_typed_and_reset_brings_all_back(open_page, example, evaluation, report):
    page = settled(open_page(report))
    before = texts_of(page), page.text_content("#light"), page.text_content("#headline")
    type_into(page, "#beta-box", 0.97)
    type_into(page, "#threshold-box", 0.05)
    type_into(page, "#alpha-box", 0.25)
    result = recoup.evaluate(
        example.s, example.scores["score_boosting"], alpha=0.25, beta=0.97, threshold=0.05, n_boot=0
    )
    assert_shows(page, result)
    assert page.locator("#bands-note").is_visible()
    assert page.locator("#figure-roc .band").count() == 0
    type_into(page, "#alpha-box", 0.6)
    assert page.locator("#light.red").count() == 1
    assert "do not fit the scores" in page.text_content("#light")
    page.click("#reset")
    settled(page)
    assert (texts_of(page), page.text_content("#light"), page.text_content("#headline")) == before
    assert not page.locator("#assumed").is_visible()
    assert page.locator("#figure-roc path.band").count() == 1


def test_bands_of_the_whole_curve_can_be_chosen(open_page, evaluation, report):
    page = settled(open_page(report))
    drawn = "document.querySelector('#figure-roc path.band').getAttribute('d')"
    pointwise = page.evaluate(drawn)
    page.check("#whole-bands")
    settled(page)
    assert page.evaluate(drawn) != pointwise
    assert "95% band of the whole curve" in page.text_content("#figure-roc .legend")
    page.uncheck("#whole-bands")
    settled(page)
    assert page.evaluate(drawn) == pointwise
    type_into(page, "#alpha-box", 0.2)
    assert not page.locator("#whole-bands").is_visible()


def test_impossible_numbers_stop_at_the_limit(open_page, report):
    page = settled(open_page(report))
    type_into(page, "#alpha-box", 7)
    assert "alpha 0.99, beta 1" in page.text_content("#live")
    type_into(page, "#alpha-box", -1)
    assert "alpha 0, beta 1" in page.text_content("#live")
    type_into(page, "#beta-box", "")
    type_into(page, "#beta-box", 0)
    assert "alpha 0, beta 0.01" in page.text_content("#live")
    page.focus("#reset")
    assert page.input_value("#beta-box") == "0.01"


def test_threshold_slider_flags_a_share_of_the_rows(open_page, evaluation, report):
    page = settled(open_page(report))
    page.focus("#threshold")
    page.keyboard.press("Home")
    page.keyboard.press("PageUp")
    settled(page)
    link = page.get_attribute("#link", "href")
    point = evaluation.at(float(re.search("threshold=([^&]+)", link).group(1)))
    assert 0.09 < point.positive_rate < 0.11
    shown = texts_of(page)["metric.precision.recovered"]
    assert shown == show_number(point["precision"].recovered)
    assert f"flags {100 * point.positive_rate:.1f}% of the rows" in page.text_content(
        "#threshold-about"
    )


def test_costs_and_the_cheapest_threshold(open_page, evaluation, report):
    page = settled(open_page(report))
    type_into(page, "#cost-fp", 2)
    type_into(page, "#cost-fn", 9)
    cases = {name: float(value) for name, value in zip(
        ("tp", "fn", "fp", "tn"), page.locator(".matrix strong").all_text_contents(), strict=True
    )}  # fmt: skip
    assert sum(cases.values()) == pytest.approx(1000, abs=2)
    cost = float(texts_of(page)["cost.now"].replace(",", ""))
    assert cost == pytest.approx(2 * cases["fp"] + 9 * cases["fn"], abs=6)
    best = evaluation.metric_curve("expected_cost", fp_cost=2, fn_cost=9)
    assert f"Cheapest threshold: {best.best_threshold:.3g}" in page.text_content("#cheapest")
    page.click("#use-cheapest")
    settled(page)
    now = float(texts_of(page)["cost.now"].replace(",", ""))
    assert now == pytest.approx(1000 * best.best_value, rel=0.02)
    assert not page.locator("#use-cheapest").is_visible()


def test_the_address_sets_the_view(open_page, example, report):
    fragment = "#alpha=0.2&beta=0.98&threshold=0.1&fp=3&fn=4"
    page = settled(open_page(report, fragment=fragment))
    result = recoup.evaluate(
        example.s, example.scores["score_boosting"], alpha=0.2, beta=0.98, threshold=0.1, n_boot=0
    )
    assert_shows(page, result)
    assert page.input_value("#cost-fn") == "4"
    link = page.get_attribute("#link", "href")
    again = settled(open_page(report, fragment=link))
    assert texts_of(again) == texts_of(page)
    page.evaluate("location.hash = '#alpha=nonsense&threshold=&model=7&beta=<b>'")
    page.wait_for_selector("#assumed", state="hidden")


def test_tables_sort_by_mouse_and_keyboard(open_page, report):
    page = settled(open_page(report))

    def column(number):
        cells = page.locator(f"#metrics tbody tr > :nth-child({number})").all_text_contents()
        return cells

    head = page.locator("#metrics thead th").nth(2)
    assert head.get_attribute("aria-sort") == "none"
    head.locator("button").click()
    values = [float(text) for text in column(3)]
    assert values == sorted(values, reverse=True)
    assert head.get_attribute("aria-sort") == "descending"
    head.locator("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert [float(text) for text in column(3)] == sorted(values)
    type_into(page, "#alpha-box", 0.02)
    moved = [float(text) for text in column(3)]
    assert moved == sorted(moved) != sorted(values)
    page.locator("#metrics thead th button").first.click()
    page.locator("#metrics thead th button").first.click()
    names = column(1)
    assert names == sorted(names, key=str.lower)
    assert head.get_attribute("aria-sort") == "none"
    page.locator("#metrics thead th").nth(4).locator("button").click()
    assert column(5)[-1] == "\N{EN DASH}"


def test_another_model_can_be_chosen(open_page, comparison, versus):
    page = settled(open_page(versus))
    names = list(comparison.evaluations)
    for place in (0, 2):
        page.select_option("#model", str(place))
        settled(page)
        assert_shows(page, comparison.evaluations[names[place]])
        assert page.locator("#model-table tr.used").get_attribute("data-model") == str(place)
        visible = page.locator("#metrics tbody tr:visible").count()
        assert visible == len(comparison.evaluations[names[place]].metrics)
        assert page.locator("#figure-calibration").is_visible() == (place == 0)
    one = comparison.evaluations[names[2]]
    assert f"{one.threshold:.6g}" in page.text_content("#settings")


def test_models_side_by_side_follow_the_sliders(open_page, scored, comparison, versus):
    page = settled(open_page(versus))
    names = list(comparison.evaluations)
    assert page.locator("#difference-table tbody tr:visible").count() == 3
    page.select_option("#difference-metric", "f1")
    rows = page.locator("#difference-table tbody tr:visible")
    assert rows.locator("td").first.text_content() == "F1"
    type_into(page, "#alpha-box", 0.05)
    type_into(page, "#beta-box", 0.9)
    texts = texts_of(page)
    s, columns = scored
    moved = [
        recoup.evaluate(
            s,
            columns[name],
            alpha=0.05,
            beta=0.9,
            threshold=comparison.evaluations[name].threshold,
            n_boot=0,
        )
        for name in names
    ]
    for place, one in enumerate(moved):
        assert texts[f"model.{place}.roc_auc"] == show_number(one["roc_auc"].recovered)
    for number, item in enumerate(comparison.differences):
        values = [
            moved[names.index(name)][item.metric].recovered for name in (item.first, item.second)
        ]
        assert float(texts[f"difference.{number}"].replace("\N{EN DASH}", "nan")) == pytest.approx(
            values[0] - values[1], abs=6e-4, nan_ok=True
        )
        assert texts[f"difference.{number}.p"] == "\N{EN DASH}"
    page.select_option("#model", "0")
    shown = texts_of(settled(page))["metric.roc_auc.recovered"]
    assert shown == show_number(moved[0]["roc_auc"].recovered)
    page.click("#reset")
    texts = texts_of(settled(page))
    assert texts["difference.0"] == show_number(comparison.differences[0].difference, "+.3f")


@pytest.mark.filterwarnings("ignore::recoup.exceptions.ClippedEstimateWarning")
def test_wins_are_those_of_the_comparison_and_of_python_elsewhere(open_page, scored, versus):
    page = settled(open_page(versus))

    def words():
        return {
            row.get_attribute("data-wins"): row.locator(".words").text_content()
            for row in page.locator("[data-wins]").all()
        }

    before = words()
    type_into(page, "#beta-box", 0.9)
    s, columns = scored
    again = recoup.compare(s, columns, alpha=0.1, beta=0.9, n_boot=0)
    best = {win.metric: win.model for win in again.wins}
    for key, text in words().items():
        wins = [win for win in again.wins if win.metric == key]
        if len(wins) == 1:
            assert text.startswith(best[key][:20]), key
    page.click("#reset")
    settled(page)
    assert words() == before


@pytest.mark.parametrize("width", [360, 1280])
def test_hostile_and_endless_names_stay_text_and_fit(open_page, versus, width):
    page = settled(open_page(versus, width=width))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    boxes = page.evaluate(
        "[...document.querySelectorAll('main > *, figure, .card, .tile, h1, p, li, select')]"
        ".filter((it) => it.offsetParent && !it.closest('table'))"
        ".map((it) => it.getBoundingClientRect().right)"
    )
    assert max(boxes) <= width
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == len(SCRIPTS) + 1
    assert HOSTILE[:40] in page.text_content("h1")
    assert len(page.get_attribute("h1", "title")) <= 1000
    assert max(map(len, page.locator(".name").all_text_contents())) <= 60


@pytest.mark.parametrize("width", [360, 1280])
def test_wide_tables_scroll_by_themselves(open_page, report, width):
    page = settled(open_page(report, width=width))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for region in page.locator(".scroll").all():
        assert region.get_attribute("tabindex") == "0"
        assert len(region.get_attribute("aria-label")) > 3
        assert region.bounding_box()["width"] <= width


def test_command_line_keeps_hostile_columns_as_text(open_page, tmp_path):
    rng = np.random.default_rng(0)
    s = (np.arange(600) < 100).astype(int)
    rows = zip(rng.normal(s), s, strict=True)
    lines = [f'"{HOSTILE}",s', *(f"{score},{label}" for score, label in rows)]
    (tmp_path / "scores.csv").write_text("\n".join(lines))
    page = tmp_path / "report.html"
    command = ["evaluate", str(tmp_path / "scores.csv"), "--score", HOSTILE, "--label", "s"]
    options = ["--alpha", "0.1", "--n-boot", "0", "--report", str(page)]
    result = CliRunner().invoke(app, command + options)
    assert result.exit_code == 0, result.stderr
    shown = settled(open_page(page))
    assert shown.text_content("h1") == f"{HOSTILE} in scores.csv"
    assert shown.locator("img").count() == 0


def test_a_script_that_was_changed_does_not_run(browser, report, tmp_path):
    changed = tmp_path / "changed.html"
    changed.write_text(report.read_text().replace("const QUIET_MS = 80", "const QUIET_MS = 81"))
    page = browser.new_page()
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(changed.as_uri())
    assert any("Content Security Policy" in text for text in said)
    assert page.evaluate("document.documentElement.dataset.state") is None
    page.close()


@pytest.mark.parametrize("dark", [False, True])
def test_no_serious_barriers(browser, versus, dark):
    # axe comes as a script of its own, which the page's policy would rightly refuse.
    context = browser.new_context(bypass_csp=True, color_scheme="dark" if dark else "light")
    page = context.new_page()
    page.goto(versus.as_uri())
    settled(page)
    page.click("details summary")
    page.add_script_tag(content=AXE.read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    context.close()
    assert len(found["passes"]) > 20
    serious = [
        (one["id"], [node["html"][:200] for node in one["nodes"]])
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]
    assert serious == []


def test_print_view_cuts_no_picture(open_page, report, versus):
    for path in (report, versus):
        page = settled(open_page(path, width=int(PAGE_CM / 2.54 * 96)))
        page.emulate_media(media="print")
        for name in ("#controls", "#reset", "#link"):
            assert not page.locator(name).is_visible()
        room = page.evaluate("document.documentElement.clientWidth")
        for figure in page.locator("figure:visible").all():
            box = figure.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= room
            assert figure.evaluate("(it) => getComputedStyle(it).breakInside") == "avoid"
            svg = figure.locator(".drawing > svg").bounding_box()
            assert svg["x"] >= box["x"]
            assert svg["x"] + svg["width"] <= box["x"] + box["width"]
        assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
        assert page.pdf(format="A4").startswith(b"%PDF")


def test_light_and_dark_differ(open_page, report):
    from io import BytesIO

    from matplotlib.image import imread

    shares = {}
    for dark in (False, True):
        page = settled(open_page(report, dark=dark))
        image = imread(BytesIO(page.screenshot()))[..., :3]
        assert image.std() > 0.05
        shares[dark] = image.mean()
    assert shares[True] < 0.3
    assert shares[False] > 0.8


def variants():
    rng = np.random.default_rng(5)
    positive = rng.random(2000) < 0.4
    propensity = np.where(rng.random(2000) < 0.5, 0.3, 0.7)
    s = (positive & (rng.random(2000) < propensity)).astype(int)
    scores = rng.normal(1.5 * positive)
    negative = np.where((s == 0) & ~positive & (rng.random(2000) < 0.2), -1, s)
    return {
        "case-control": (s, scores, {"alpha": 0.2, "scheme": "case-control"}),
        "propensity": (s, scores, {"propensity": propensity}),
        "noisy": (s, scores, {"alpha": (0.1, 0.2), "beta": 0.9}),
        "known negatives": (negative, scores, {"alpha": 0.25}),
        "weights": (s, scores, {"alpha": 0.2, "sample_weight": rng.uniform(0.5, 2.0, 2000)}),
        "one score": (s, np.zeros(2000), {"alpha": 0.1}),
        "single precision": (s, scores.astype(np.float32), {"alpha": 0.2, "threshold": 0.7}),
        "alpha zero": (s, scores, {"alpha": 0.0}),
        "nothing flagged": (s, scores, {"alpha": 0.2, "threshold": 99.0}),
        "estimate": (s, scores, {"alpha": "dedpul"}),
    }


@pytest.mark.parametrize("name", variants())
def test_any_evaluation_has_its_page(open_page, tmp_path, name):
    s, scores, options = variants()[name]
    result = recoup.evaluate(s, scores, n_boot=30, **options)
    page = settled(open_page(result.report(tmp_path / "page.html"), width=700))
    assert_shows(page, result)
    text = page.inner_text("main")
    assert "NaN" not in text
    assert "undefined" not in text
    assert "null" not in text
    assert page.locator("#beta").is_disabled() == (name == "propensity")
    page.focus("#alpha")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    settled(page)
    assert page.locator("#assumed").is_visible()
    assert "NaN" not in page.inner_text("main")


def test_a_million_rows_stay_a_small_and_quick_page(open_page, tmp_path):
    rng = np.random.default_rng(0)
    positive = rng.random(1_000_000) < 0.3
    s = (positive & (rng.random(1_000_000) < 0.3)).astype(int)
    result = recoup.evaluate(s, rng.normal(2.0 * positive), alpha=0.23, n_boot=0)
    path = result.report(tmp_path / "million.html")
    assert path.stat().st_size < 8_000_000
    start = time.perf_counter()
    page = settled(open_page(path))
    assert time.perf_counter() - start < 5
    assert_shows(page, result)
    data = json.loads(page.text_content("#data"))
    assert data["models"][0]["evaluation"] == json.loads(json.dumps(result.to_dict()))
