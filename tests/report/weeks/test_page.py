"""The page of weeks in a real browser: what it shows, at any width, whatever names say."""

from dataclasses import replace
from pathlib import Path

import axe_core_python
import pytest

from monitoring.payments import made_up
from recoup import monitor
from recoup._core.text import show_number, show_range
from recoup.report.weeks.page import SCRIPTS, weeks_page, write_weeks

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
AXE = Path(axe_core_python.__file__).with_name("axe.min.js")
FIGURES = ("precision", "recall", "pi", "roc_auc", "arrived")


def followed(**options):
    world = made_up(6, rows=900, **options)
    return monitor(
        world.frame, "p", "chargeback", "paid_at", labeled_at="reported_at",
        label_frequency=(0.55, 0.65), threshold=1.5,
    )  # fmt: skip


@pytest.fixture(scope="module")
def found():
    return followed(weeks=40, change=34, shift=0.9)


@pytest.fixture(scope="module")
def path(found, tmp_path_factory):
    return write_weeks(found, tmp_path_factory.mktemp("weeks") / "weeks.html", "Card payments")


def settled(page):
    page.wait_for_selector("html[data-state=ready]")
    return page


def test_alarms_and_the_latest_settled_week_come_first(open_page, path, found):
    page = settled(open_page(path))
    assert page.locator("h1").inner_text() == "Card payments"
    (alarm,) = found.alarms
    card = page.locator(".light.red")
    assert card.locator("h3").inner_text().endswith(f"since {alarm.since}")
    assert card.locator("p").inner_text() == alarm.text
    latest = int((found.arrived >= 0.5).nonzero()[0][-1])
    assert found.periods[latest] in page.locator(".headline").inner_text()


def test_every_metric_has_a_line_a_band_and_the_alarm(open_page, path, found):
    page = settled(open_page(path))
    assert not page.locator("#static-note").is_visible()
    for name in FIGURES:
        figure = page.locator(f"#figure-{name}")
        assert figure.locator("svg path.line").count() >= 1
        described = figure.locator("svg desc").first.text_content()
        assert found.periods[-1] in described
        if name != "arrived":
            assert figure.locator("svg path.band").count() == 1
            assert found.alarms[0].since in figure.locator(".legend").inner_text()


def test_the_table_has_every_number_without_scripts(open_page, path, found):
    page = open_page(path, java_script_enabled=False)
    assert page.locator("#static-note").is_visible()
    rows = page.locator("#weeks tbody tr")
    assert rows.count() == len(found.periods)
    first = rows.first.inner_text()
    values = found["precision"]
    assert first.startswith(found.periods[-1])
    assert show_number(values.value[-1]) in first
    assert show_range(values.lower[-1], values.upper[-1]) in first


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_sticks_out(open_page, path, width):
    page = settled(open_page(path, width=width))
    assert page.evaluate("document.documentElement.scrollWidth") == width
    for name in FIGURES:
        box = page.locator(f"#figure-{name} .drawing > svg").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width


def test_names_stay_names(open_page, found, tmp_path):
    strange = replace(found, periods=(HOSTILE, *found.periods[1:]), now=HOSTILE, every=HOSTILE)
    page = settled(open_page(write_weeks(strange, tmp_path / "strange.html", HOSTILE)))
    assert page.locator("h1").inner_text() == HOSTILE
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == len(SCRIPTS) + 1


def test_a_quiet_year_and_a_short_one_say_so(found):
    quiet = weeks_page(replace(found, alarms=()))
    assert "Nothing has changed that chance does not explain" in quiet
    assert "a chance of at most 5%" in quiet
    short = weeks_page(replace(found, alarms=(), evidence={}))
    assert "There are too few weeks" in short
    assert weeks_page(found) == weeks_page(found)


@pytest.mark.parametrize("dark", [False, True])
def test_no_serious_barriers(browser, path, dark):
    # axe comes as a script of its own, which the page's policy would rightly refuse.
    context = browser.new_context(bypass_csp=True, color_scheme="dark" if dark else "light")
    page = context.new_page()
    page.goto(path.as_uri())
    settled(page)
    page.add_script_tag(content=AXE.read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    context.close()
    assert len(found["passes"]) > 15
    assert [
        (one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found["violations"]
    ] == []
