"""The leaderboard in a real browser: filters, tables, downloads and hostile names."""

import csv
import io
import json
import time
from pathlib import Path

import axe_core_python
import numpy as np
import pytest

from leaderboard_pages import (
    CONVENTIONAL,
    DASH,
    DATASETS,
    EVIL,
    FAMILIES,
    FORMULA,
    IMAGE,
    METRICS,
    VIEWS,
    board_rows,
    choose,
    csv_of,
    details,
    download,
    go,
    heads_of,
    lose,
    make_row,
    matching,
    settled,
    shown,
    summary,
    table_of,
)
from recoup.bench.job import SELECTS_NOTHING
from recoup.bench.ranking import rank_learners
from recoup.exceptions import InvalidInputError
from recoup.learners.reported import reported_accuracies
from recoup.report.leaderboard.site import SCRIPTS, write_site

AXE = Path(axe_core_python.__file__).with_name("axe.min.js")


def test_results_are_the_means_of_the_rows(show, rows):
    page = show("results", protocol="oracle", metric="f1")
    heads = heads_of(page, "results")
    assert heads[:2] == ["Learner", "F1"]
    found = table_of(page, "results")
    groups = {
        (row["learner"], row["dataset"], row["mechanism"]): matching(
            rows,
            protocol="oracle",
            learner=row["learner"],
            dataset=row["dataset"],
            mechanism=row["mechanism"],
        )
        for row in matching(rows, protocol="oracle", status="done")
    }
    assert len(found) == len(groups)
    for cells in found:
        named = dict(zip(heads, cells, strict=True))
        group = groups[named["Learner"], named["Dataset"], named["Mechanism"]]
        mean, std, n = summary(group, "f1")
        assert named["F1"] == shown(mean, std)
        assert named["AUC"] == f"{100 * summary(group, 'roc_auc')[0]:.2f}"
        assert named["Runs"] == (str(n) if n == 3 else f"{n} of 3")


def test_the_head_tells_what_all_runs_have_in_common(open_page, site, rows):
    facts = open_page(site).text_content(".facts")
    done = len(matching(rows, status="done"))
    assert facts.startswith(f"{len(rows)} runs: {done} done, ")
    assert "6 learners, 3 datasets, 3 seeds. All with scheme case-control, noise 0." in facts
    assert facts.endswith("Last finished 2026-03-01.")


def test_filters_choose_rows_and_stay_in_the_address(show, rows, site, open_page):
    page = show("results")
    assert f"{len(rows)} runs" in page.text_content("#count")
    choose(page, "dataset", IMAGE)
    choose(page, "mechanism", "s2")
    choose(page, "label_frequency", "0.5")
    choose(page, "family", "risk")
    found = table_of(page, "results")
    assert sorted(cells[0] for cells in found) == ["nnpu", "upu"]
    choose(page, "metric", "recall")
    assert heads_of(page, "results")[1] == "Recall"
    again = settled(open_page(site, fragment=page.evaluate("location.hash")))
    assert table_of(again, "results") == table_of(page, "results")
    assert again.input_value("#filter-dataset") == IMAGE
    page.click("#show-all")
    settled(page)
    assert f"{len(rows)} runs" in page.text_content("#count")


def test_unknown_words_in_the_address_are_passed_over(show, rows):
    page = show("nonsense", dataset="nowhere", metric="<b>", sort="-nothing", rows="x")
    assert page.text_content("#view-title") == "Who wins"
    page = show("results", dataset="nowhere", metric="<b>", sort="-nothing", rows="x")
    assert f"{len(rows)} runs" in page.text_content("#count")


def test_a_choice_without_runs_says_so(show):
    page = show("board", mechanism="s2", label_frequency="0.02")
    assert "No run matches these filters" in page.text_content("#view")
    page.click("#show-all")
    assert len(table_of(settled(page), "board")) == len(FAMILIES)


def test_going_back_in_the_browser_restores_the_view(show):
    page = show("results")
    page.click("#views a[data-view=board]")
    page.wait_for_selector("#board")
    page.go_back()
    page.wait_for_selector("#results")
    assert page.get_attribute("#views a[aria-current]", "data-view") == "results"


def test_tables_sort_by_mouse_and_keyboard(show):
    page = show("results", dataset="mnist", protocol="honest", mechanism="scar")

    def column(number):
        return [cells[number] for cells in table_of(page, "results")[:-informed]]

    # Learners that were given true classes stand at the end, however the others are sorted.
    informed = page.locator("#results .informed").count()
    heads = heads_of(page, "results")
    family = heads.index("Family")
    last = [cells[family] for cells in table_of(page, "results")[-informed:]]
    assert set(last) == {"reference"}
    assert "reference" not in column(family)
    values = [float(text.split()[0]) for text in column(1)]
    assert values == sorted(values, reverse=True)
    frequency = heads.index("c")
    head = page.locator("#results thead th").nth(frequency)
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert column(frequency) == sorted(column(frequency), key=float, reverse=True)
    head.locator("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert column(frequency) == sorted(column(frequency), key=float)
    assert "sort=label_frequency" in page.evaluate("location.hash")
    page.locator("#results thead button").first.click()
    assert column(0) == sorted(column(0), key=str.lower)


def test_single_runs_hold_the_numbers_of_the_rows(show, rows):
    page = show(
        "results", rows="runs", dataset="spambase", mechanism="s2", metric="matthews_corrcoef"
    )
    heads = heads_of(page, "runs")
    by_run = {row["run"]: row for row in rows}
    found = table_of(page, "runs")
    assert len(found) == len(matching(rows, dataset="spambase", mechanism="s2", status="done"))
    for cells in found:
        named = dict(zip(heads, cells, strict=True))
        row = by_run[named["Run"]]
        assert named["Learner"] == row["learner"]
        assert named["MCC"] == f"{100 * row['matthews_corrcoef']:.2f}"
        assert named["Seed"] == str(row["seed"])
    exact = csv_of(page, page.locator(".tool", has_text="CSV"))
    for line in exact:
        assert float(line["matthews_corrcoef"]) == by_run[line["run"]]["matthews_corrcoef"]
        assert float(line["seconds"]) == by_run[line["run"]]["seconds"]


def test_the_download_of_results_has_every_digit(show, rows):
    page = show("results", mechanism="scar", label_frequency="0.5")
    name, text = download(page, page.locator(".tool", has_text="CSV"))
    assert name == "results.csv"
    lines = list(csv.DictReader(io.StringIO(text)))
    assert {line["learner"] for line in lines} == {*FAMILIES} - {FORMULA} | {f"'{FORMULA}"}
    for line in lines:
        own = matching(
            rows,
            learner=line["learner"].removeprefix("'"),
            dataset=line["dataset"],
            mechanism="scar",
            label_frequency=0.5,
        )
        mean, std, n = summary(own, "accuracy")
        assert float(line["accuracy_mean"]) == pytest.approx(mean, rel=1e-14)
        assert float(line["accuracy_std"]) == pytest.approx(std, rel=1e-12)
        assert int(line["accuracy_runs"]) == n


def test_the_board_marks_best_second_and_significance(show, rows):
    page = show("board", **CONVENTIONAL)
    standing = rank_learners(board_rows(rows), "accuracy", baseline="nnpu")
    heads = heads_of(page, "board")
    assert heads[1:-1] == sorted(DATASETS)
    cells = {
        (line.locator("th .name").text_content(), dataset): line.locator("td").nth(place)
        for line in page.locator("#board tbody tr").all()
        for place, dataset in enumerate(sorted(DATASETS))
    }
    marks = set()
    for item in standing.results:
        cell = cells[item.learner, item.cell.dataset]
        text = cell.text_content()
        assert text.startswith(f"{100 * item.mean:.2f}")
        assert f"{100 * item.std:.2f}" in text
        assert cell.locator(".mark-better").count() == (item.verdict == "better")
        assert cell.locator(".mark-worse").count() == (item.verdict == "worse")
        marks.add(item.verdict)
    assert {"better", "same"} <= marks
    for dataset in DATASETS:
        rivals = [
            item
            for item in standing.results
            if item.cell.dataset == dataset and item.family != "reference"
        ]
        first, second = sorted(rivals, key=lambda item: -item.mean)[:2]
        assert cells[first.learner, dataset].locator(".best").count() == 1
        assert cells[second.learner, dataset].locator(".second").count() == 1
        assert cells["pn", dataset].locator(".best, .second").count() == 0
    ranks = {item.learner: item.rank for item in standing.ranks}
    for cells in table_of(page, "board"):
        name = next(name for name in FAMILIES if cells[0].startswith(name))
        assert cells[-1] == (f"{ranks[name]:.2f}" if name in ranks else DASH)


def test_the_board_shows_what_is_missing_and_why(show):
    page = show("board", **CONVENTIONAL)
    absent = page.locator("#board .absent")
    assert absent.count() == 1
    assert absent.text_content() == "failed"
    assert "MemoryError" in absent.get_attribute("title")
    assert page.locator("#board .under", has_text="2 of 3 seeds").count() == 1
    page.click("#reasons summary")
    reasons = page.locator("#reasons li").all_text_contents()
    assert len(reasons) == 2
    assert any(f"{FORMULA} on {IMAGE}: failed 3 times." in text for text in reasons)
    assert any("upu is not for spambase" in text for text in reasons)


def test_published_figures_stand_beside_ours_in_their_setting_only(show):
    page = show("board", **CONVENTIONAL)
    published = reported_accuracies()
    text = page.text_content("#board")
    assert f"PU-Bench {published['nnpu']['mnist']:.2f}" in text
    assert f"PU-Bench {published['p3mix-c']['spambase']:.2f}" in text
    choose(page, "label_frequency", "0.5")
    assert "PU-Bench" not in page.text_content("#board")
    assert "c = 0.1 only" in page.text_content("#board-legend")


def test_an_honest_run_stands_in_for_a_learner_that_chooses_no_weights(show, rows, tmp_path):
    own = [dict(row) for row in rows]
    for row in matching(own, learner="upu", protocol="oracle"):
        lose(row, "skipped", SELECTS_NOTHING)
    page = show(
        "board", write_site(own, details, tmp_path), **CONVENTIONAL | {"protocol": "oracle"}
    )
    item = next(
        item
        for item in rank_learners(own, "accuracy", protocol="oracle").results
        if (item.learner, item.cell.dataset) == ("upu", "mnist") and item.cell.mechanism == "scar"
    )
    line = next(cells for cells in table_of(page, "board") if cells[0].startswith("upu"))
    cell = line[1 + sorted(DATASETS).index("mnist")]
    assert shown(item.mean, item.std) in cell.replace(", best", "").replace(", second", "")
    assert "as honest" in cell
    # The honest run with one seed was skipped too.
    reasons = page.locator("#reasons li").all_text_contents()
    assert [text for text in reasons if "upu" in text] == [
        f"upu on spambase: skipped. {SELECTS_NOTHING}"
    ]


def test_no_other_skipped_run_is_replaced_by_an_honest_one(show, rows, tmp_path):
    own = [dict(row) for row in rows]
    for row in matching(own, learner="upu", protocol="oracle"):
        lose(row, "skipped", "upu needs rows of both classes")
    site = write_site(own, details, tmp_path)
    page = show("board", site, **CONVENTIONAL | {"protocol": "oracle"})
    line = next(cells for cells in table_of(page, "board") if cells[0].startswith("upu"))
    assert not any("as honest" in cell for cell in line)


def test_figures_that_a_caller_publishes_are_shown(show, rows, tmp_path):
    path = write_site(rows, details, tmp_path, published={"upu": {"mnist": 12.34}})
    page = show("board", path, **CONVENTIONAL)
    assert page.text_content("#board").count("PU-Bench 12.34") == 1
    assert page.text_content("#board").count("PU-Bench") == 1


def test_the_download_of_the_board_has_tests_and_published_figures(show, rows):
    page = show("board", **CONVENTIONAL)
    lines = {line["learner"]: line for line in csv_of(page, page.locator(".tool", has_text="CSV"))}
    for item in rank_learners(board_rows(rows), "accuracy", baseline="nnpu").results:
        line = lines.get(item.learner) or lines[f"'{item.learner}"]
        name = item.cell.dataset
        assert float(line[f"{name} mean"]) == pytest.approx(item.mean, rel=1e-14)
        if np.isfinite(item.p_adjusted):
            assert float(line[f"{name} p_adjusted"]) == pytest.approx(item.p_adjusted, rel=1e-4)
    assert float(lines["nnpu"]["mnist pubench"]) == pytest.approx(0.9485)


def test_missing_runs_are_listed_with_their_reasons(show, rows):
    page = show("missing")
    lost = [row for row in rows if row["status"] != "done"]
    assert len(table_of(page, "missing-runs")) == len(lost)
    causes = {cells[3]: int(cells[1]) for cells in table_of(page, "causes")}
    assert causes == {
        reason: len(matching(lost, reason=reason)) for reason in {row["reason"] for row in lost}
    }
    choose(page, "dataset", "spambase")
    assert {cells[0] for cells in table_of(page, "missing-runs")} == {"upu"}
    choose(page, "family", "reference")
    assert "Every run of this choice finished" in page.text_content("#view")


def test_hostile_names_stay_text(browser, site):
    page = browser.new_page()
    dialogs = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.goto(site.as_uri())
    for view in VIEWS:
        go(page, view)
        for summary_of in page.locator("#view summary").all():
            summary_of.click()
        assert page.text_content("h1") == f"Board {EVIL}"
        assert page.locator("#view script, #view img, h1 script").count() == 0
        assert page.locator("body script").count() == len(SCRIPTS) + 1
        words = page.text_content("#view") + page.locator("#view").inner_html()
        assert EVIL in words or "alert(1)&lt;" in words or view == "missing"
    assert dialogs == []
    page.close()


def test_a_script_that_was_changed_does_not_run(browser, site, tmp_path):
    changed = tmp_path / "index.html"
    changed.write_text(site.read_text().replace("const ROWS_SHOWN = 200", "const ROWS_SHOWN = 201"))
    page = browser.new_page()
    page.goto(changed.as_uri())
    assert page.evaluate("document.documentElement.dataset.state") is None
    assert page.locator("#static-note").is_visible()
    page.close()


@pytest.mark.parametrize("dark", [False, True])
def test_no_serious_barriers(browser, site, dark):
    # axe comes as a script of its own, which the page's policy would rightly refuse.
    context = browser.new_context(bypass_csp=True, color_scheme="dark" if dark else "light")
    page = context.new_page()
    page.goto(site.as_uri())
    page.add_script_tag(content=AXE.read_text())
    # Only colors differ in the dark.
    rules = {"runOnly": ["color-contrast"]} if dark else {}
    for view in VIEWS:
        # Every cell of a table takes axe its time.
        go(page, view, "&dataset=spambase&family=risk&mechanism=s2")
        for summary_of in page.locator("#view summary").all()[:2]:
            summary_of.click()
        found = page.evaluate("(rules) => axe.run(document, rules)", rules)
        assert len(found["passes"]) >= (1 if dark else 15)
        serious = [
            (view, one["id"], [node["html"][:200] for node in one["nodes"]])
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
        ]
        assert serious == []
    context.close()


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_is_wider_than_the_screen(show, width):
    page = show("results", width=width)
    for view in VIEWS:
        go(page, view)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view
        for region in page.locator(".scroll").all():
            assert region.get_attribute("tabindex") == "0"
            assert len(region.get_attribute("aria-label")) > 3
        for figure in page.locator("figure").all():
            box = figure.bounding_box()
            svg = figure.locator(".drawing > svg").bounding_box()
            assert box["x"] + box["width"] <= width
            assert svg["x"] + svg["width"] <= box["x"] + box["width"]


def test_filters_work_by_keyboard_and_keep_the_focus(show):
    page = show("results")
    page.focus("#filter-family")
    page.keyboard.press("ArrowDown")
    settled(page)
    assert page.input_value("#filter-family") == "risk"
    assert page.evaluate("document.activeElement.id") == "filter-family"
    page.focus("#rows-runs")
    page.keyboard.press("Space")
    page.wait_for_selector("#runs")
    assert page.evaluate("document.activeElement.id") == "rows-runs"
    assert page.get_attribute("#rows-runs", "aria-pressed") == "true"


def test_on_a_phone_filters_are_folded_but_told(show):
    page = show("board", width=360, **CONVENTIONAL)
    assert not page.locator("#filter-metric").is_visible()
    assert "scar" in page.text_content("#filter-summary")
    page.click("#filter-summary")
    assert page.locator("#filter-metric").is_visible()


def test_without_scripts_the_page_points_to_the_table(open_page, site, rows):
    page = open_page(site, java_script_enabled=False)
    assert page.get_by_text("Scripts do not run here").is_visible()
    assert not page.locator("#filters").is_visible()
    assert (site.parent / page.get_attribute("#static-note a", "href")).exists()
    with (site.parent / "runs.csv").open(newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert len(lines) == len(rows)
    for line, row in zip(lines, rows, strict=True):
        assert line["run"] == row["run"]
        assert line["learner"].lstrip("'") == row["learner"]
        assert line["f1"] == ("" if row["f1"] is None else repr(row["f1"]))
        assert json.loads(line["params"]) == row["params"]


def test_the_same_rows_give_the_same_files(rows, site, tmp_path):
    again = write_site(iter(rows), details, tmp_path / "new" / "folder", title=f"Board {EVIL}")
    assert again.read_bytes() == site.read_bytes()
    for path in (site.parent / "runs").iterdir():
        assert (again.parent / "runs" / path.name).read_bytes() == path.read_bytes()


def test_an_older_site_leaves_nothing_behind(rows, tmp_path):
    write_site(rows, details, tmp_path)
    (tmp_path / "runs" / "notes.txt").write_text("mine")
    write_site(rows[:1], details, tmp_path)
    names = {path.name for path in (tmp_path / "runs").iterdir()}
    assert names == {f"{rows[0]['run'][0]}.js", "notes.txt"}


def everything_in(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", ["runs/ab.js", "index.html", "runs.csv", "recoup-site.json", "x"])
def test_a_folder_of_somebody_else_is_left_alone(rows, tmp_path, name):
    theirs = tmp_path / name
    theirs.parent.mkdir(exist_ok=True)
    theirs.write_text("mine")
    before = everything_in(tmp_path)
    with pytest.raises(InvalidInputError, match="Nothing was touched"):
        write_site(rows, details, tmp_path)
    assert everything_in(tmp_path) == before


def test_files_that_others_put_into_a_site_are_left_alone(rows, tmp_path):
    write_site(rows[:1], details, tmp_path)
    theirs = tmp_path / "runs" / "abcdef.js"
    theirs.write_text("mine")
    write_site(rows[:1], details, tmp_path)
    assert theirs.read_text() == "mine"
    taken = next(row for row in rows if row["run"][0] != rows[0]["run"][0])
    (tmp_path / "runs" / f"{taken['run'][0]}.js").write_text("mine")
    before = everything_in(tmp_path)
    with pytest.raises(InvalidInputError, match="which recoup did not write"):
        write_site([rows[0], taken], details, tmp_path)
    assert everything_in(tmp_path) == before


def test_a_list_of_files_cannot_point_outside_the_site(rows, tmp_path):
    outside = tmp_path / "outside.txt"
    outside.write_text("mine")
    site = tmp_path / "site"
    write_site(rows[:1], details, site)
    listed = ["../outside.txt", str(outside), "runs/../../outside.txt"]
    (site / "recoup-site.json").write_text(json.dumps({"files": ["index.html", *listed]}))
    for path in (site / "runs").iterdir():
        path.unlink()
    (site / "runs.csv").unlink()
    write_site(rows[:1], details, site)
    assert outside.read_text() == "mine"


def odd_stores(rows):
    """Stores that lack something that pages are made of."""
    lost = [dict(row) for row in rows[:30]]
    for row in lost:
        lose(row, "failed", "it broke")
    bare = [dict(row) for row in board_rows(rows)]
    for row in bare:
        row |= dict.fromkeys(
            ("alpha_estimate", "seconds", "peak_memory", "family", "finished", "noise")
        )
        row |= {f"recovered_{key}": None for key in METRICS}
        row |= {"roc_auc": None, "matthews_corrcoef": -0.2}
    return {
        "one run": rows[:1],
        "all failed": lost,
        "no baseline": [row for row in rows if row["key"] != "nnpu"],
        "little known": bare,
        "one seed": matching(rows, seed=2),
        "oracle only": matching(rows, protocol="oracle"),
    }


@pytest.mark.parametrize(
    "name", ["one run", "all failed", "no baseline", "little known", "one seed", "oracle only"]
)
def test_any_store_has_its_pages(show, rows, tmp_path, name):
    path = write_site(odd_stores(rows)[name], lambda run: None, tmp_path)
    page = show("results", path, width=700)
    for view in VIEWS:
        if view == "run" and name != "all failed":
            continue
        text = go(page, view).inner_text("main")
        for word in ("NaN", "undefined", "null", "Infinity"):
            assert word not in text, (view, word)


def test_a_variant_of_the_baseline_takes_its_place(show, rows, tmp_path):
    renamed = [
        row | {"learner": "nnpu (epochs=5)"} if row["key"] == "nnpu" else row for row in rows
    ]
    page = show("board", write_site(renamed, details, tmp_path), **CONVENTIONAL)
    assert "than nnpu (epochs=5)" in page.text_content("#board-legend")


def test_endless_names_are_shortened(show, rows, tmp_path):
    renamed = [
        row | {"learner": row["learner"] * 200, "dataset": row["dataset"] + "d" * 5000}
        for row in rows
    ]
    for row in renamed:
        row["reason"] = row["reason"] and row["reason"] * 1000
    own = matching(renamed, mechanism="scar", protocol="honest", seed=2)
    path = write_site(own, details, tmp_path, title="t" * 9000)
    page = show("results", path, width=400)
    for view in VIEWS:
        go(page, view)
        assert page.evaluate("document.documentElement.scrollWidth") <= 400, view
        names = page.locator(".name").all_text_contents()
        assert max(map(len, names), default=0) <= 60


def test_write_site_refuses_what_it_cannot_show(rows, tmp_path):
    with pytest.raises(InvalidInputError, match="needs at least one run"):
        write_site([], details, tmp_path)
    with pytest.raises(InvalidInputError, match="hexadecimal"):
        write_site([rows[0] | {"run": "../../outside"}], details, tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInputError, match="Cannot write"):
        write_site(rows, details, tmp_path / "file")


@pytest.mark.slow
def test_five_thousand_runs_stay_a_small_and_quick_page(open_page, tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        make_row(
            rng,
            dataset=f"set {dataset}",
            mechanism="scar",
            label_frequency=frequency,
            learner=f"learner {learner}",
            seed=seed,
            protocol="honest",
        )
        for frequency in (0.01, 0.1, 0.3, 0.5, 0.9)
        for dataset in range(5)
        for learner in range(20)
        for seed in range(10)
    ]
    path = write_site(rows, details, tmp_path, baseline="learner 0")
    assert path.stat().st_size < 3_000_000
    assert max(part.stat().st_size for part in (tmp_path / "runs").iterdir()) < 300_000
    start = time.perf_counter()
    page = settled(open_page(path, fragment="#view=results"))
    assert time.perf_counter() - start < 5
    assert "5,000 runs, 5,000 done" in page.text_content("#count")
    for view in VIEWS:
        start = time.perf_counter()
        go(page, view)
        assert time.perf_counter() - start < 3, view
    mean = summary(matching(rows, learner="learner 3", dataset="set 2", label_frequency=0.3), "f1")
    page = settled(open_page(path, fragment="#view=results&dataset=set+2&label_frequency=0.3"))
    lines = csv_of(page, page.locator(".tool", has_text="CSV"))
    found = next(line for line in lines if line["learner"] == "learner 3")
    assert float(found["f1_mean"]) == pytest.approx(mean[0], rel=1e-14)
