"""The page about groups in a real browser: chooser, picture, hostile names, no barriers."""

from pathlib import Path

import axe_core_python
import numpy as np
import pytest
from scipy.special import expit

from recoup import evaluate_by
from recoup.report import GroupReport
from recoup.report.groups.render import MOST_LISTED

AXE = Path(axe_core_python.__file__).with_name("axe.min.js")
EVIL = "</script><img src=x onerror=alert(1)>|`$x$"


def made(names, n=4000, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, len(names), n)
    y = rng.random(n) < 0.3
    s = (y & (rng.random(n) < 0.4)).astype(int)
    scores = expit(rng.normal(2.0 * y - 1))
    named = np.array(names, object)[group]
    return evaluate_by(s, scores, groups={"team": named}, alpha=0.2, threshold=0.5)


@pytest.fixture(scope="module")
def found():
    return made(["north", EVIL, None, "south"])


@pytest.fixture(scope="module")
def report(found, tmp_path_factory):
    path = tmp_path_factory.mktemp("groups") / "groups.html"
    return GroupReport(found, f"Alerts {EVIL}", command="recoup evaluate x.csv").write(path)


def lines(page):
    return page.locator("#chosen-table tbody tr").all_inner_texts()


def test_the_page_opens_on_the_worst_group_and_follows_the_choosers(open_page, report, found):
    page = open_page(report)
    worst = found.worst("precision", 1)[0]
    assert page.locator("#metric option:checked").inner_text() == "Precision"
    assert page.locator("#chosen-title").inner_text().split() == worst.name.split()
    assert page.locator("#figure-groups .drawing svg circle.point").count() == 4 + 1
    page.select_option("#group", label="south")
    assert page.locator("#chosen-title").inner_text() == "south"
    recall = next(line for line in lines(page) if line.startswith("Recall"))
    one = found["recall"]["south"]
    assert f"{one.recovered:.3f}" in recall
    assert f"{one.lower:.3f} to {one.upper:.3f}" in recall
    chosen = page.locator("#table tr.chosen th").all_inner_texts()
    assert chosen == ["south"]
    page.select_option("#metric", label="Recall")
    assert page.locator("#figure-title").inner_text() == "Recall of each group"
    rows = f"{one.n_labeled:,.0f} labeled and {one.n_unlabeled:,.0f} unlabeled rows."
    assert page.locator("#chosen-rows").inner_text() == rows


def test_without_scripts_the_table_remains(open_page, report):
    page = open_page(report, java_script_enabled=False)
    assert page.locator("#choosing").is_hidden()
    assert page.locator("#table tbody tr").count() == 5
    assert "all together" in page.locator("#table").inner_text()


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_fits_and_has_no_barriers(browser, report, width, dark):
    context = browser.new_context(
        bypass_csp=True,
        viewport={"width": width, "height": 900},
        color_scheme="dark" if dark else "light",
    )
    context.set_offline(True)
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.add_script_tag(content=AXE.read_text())
    result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    context.close()
    assert len(result["passes"]) > 20
    serious = [one for one in result["violations"] if one["impact"] in ("serious", "critical")]
    assert serious == []


def test_names_do_no_harm_anywhere(report, found):
    text = report.read_text()
    assert "<img src=x" not in text
    assert GroupReport(found, "t").to_html() == GroupReport(found, "t").to_html()
    markdown = GroupReport(found, EVIL).to_markdown()
    assert "<img" not in markdown.replace("\\<img", "")
    table = [line for line in markdown.split("\n") if line.startswith("| ")]
    assert len({line.replace("\\|", "").count("|") for line in table}) == 1
    assert GroupReport(found, "t")._repr_html_().startswith("<iframe")


def test_many_groups_are_drawn_at_their_ends(open_page, tmp_path):
    found = made([f"team {i:03}" for i in range(120)], n=12_000)
    page = open_page(GroupReport(found, "Many").write(tmp_path / "many.html"))
    assert "40 of 120 groups" in page.locator("#figure-caption").inner_text()
    assert page.locator("#group option").count() == 120
    page.select_option("#group", label="team 050")
    drawn = page.locator("#figure-groups svg text").all_text_contents()
    assert "team 050" in drawn
    assert page.locator("#table tbody tr").count() == 121
    assert MOST_LISTED >= 1000


def test_one_group_has_a_page_too(tmp_path):
    found = made(["all"])
    summary = GroupReport(found, "One").to_dict()
    assert len(summary["sentences"]) == 1
    assert GroupReport(found, "One").write(tmp_path / "one.html").exists()
