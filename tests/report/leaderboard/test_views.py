"""The pictures of the leaderboard in a real browser, and the numbers behind them."""

import shutil
import statistics
from xml.etree import ElementTree

import numpy as np
import pytest

from leaderboard_pages import (
    CONVENTIONAL,
    DASH,
    EVIL,
    FAMILIES,
    IMAGE,
    METRICS,
    board_rows,
    choose,
    details,
    download,
    figure_csv,
    go,
    matching,
    settled,
    summary,
    table_of,
)
from recoup.bench.ranking import rank_learners


def test_the_page_opens_on_who_wins_without_those_who_know_the_classes(open_page, site, rows):
    page = settled(open_page(site))
    assert page.get_attribute("#views a[aria-current]", "data-view") == "ranks"
    assert page.input_value("#filter-protocol") == "honest"
    assert "without true classes" in page.text_content("#protocol")
    first = table_of(page, "standing")[0]
    winner = page.text_content("#winner")
    assert winner.startswith(f"{first[0]} comes first by Accuracy")
    assert f"mean rank {first[1]} ({first[2]})" in winner
    reference = {row["learner"] for row in rows if row["family"] == "reference"}
    assert reference
    assert not reference & {cells[0] for cells in table_of(page, "standing")}
    said = page.text_content("#reference")
    assert all(f"{name} " in said for name in reference)


def test_ranks_are_those_of_the_comparison(show, rows):
    page = show("ranks", **CONVENTIONAL)
    standing = rank_learners(board_rows(rows), "accuracy", baseline="nnpu", n_boot=500)
    lines = {line["learner"].lstrip("'"): line for line in figure_csv(page)}
    assert set(lines) == {item.learner for item in standing.ranks}
    for item in standing.ranks:
        line = lines[item.learner]
        assert float(line["mean_rank"]) == pytest.approx(item.rank, rel=1e-4)
        assert float(line["lower"]) == pytest.approx(item.lower, rel=1e-4)
    shown = {cells[0]: cells[3] for cells in table_of(page, "standing")}
    for name, line in lines.items():
        mean, _, _ = summary(
            [row for row in board_rows(rows) if row["learner"] == name], "accuracy"
        )
        assert float(line["mean"]) == pytest.approx(100 * mean, rel=1e-12)
        assert shown[name] == f"{100 * mean:.1f}"
    for item in standing.against:
        if item.learner in lines:
            counts = [int(lines[item.learner][name]) for name in ("wins", "ties", "losses")]
            assert counts == [item.wins, item.ties, item.losses]
    texts = page.locator("#figure-ranks svg text").all_text_contents()
    rank = next(item.rank for item in standing.ranks if item.learner == "nnpu")
    assert {f"nnpu {rank:.2f}", f"{rank:.2f} nnpu"} & set(texts)
    assert f"CD {standing.critical_difference:.2f}" in texts
    assert page.locator("#figure-ranks .joined").count() == len(standing.cliques)
    assert [cells[0] for cells in table_of(page, "standing")] == [
        item.learner for item in standing.ranks
    ]


@pytest.mark.parametrize("width", [360, 1200])
def test_rank_bars_join_learners_of_a_clique(show, width):
    page = show("ranks", width=width, **CONVENTIONAL)
    svg = page.locator("#figure-ranks .drawing svg").bounding_box()
    for bar in page.locator("#figure-ranks .joined").all():
        box = bar.bounding_box()
        assert max(box["width"], box["height"]) > 20
        assert box["x"] >= svg["x"]
        assert box["x"] + box["width"] <= svg["x"] + svg["width"] + 1


def test_curves_over_the_label_frequency(show, rows):
    page = show("ratio", dataset="mnist", metric="roc_auc")
    figures = page.locator("figure")
    assert figures.count() == len(set(FAMILIES.values()))
    lines = [line for place in range(figures.count()) for line in figure_csv(page, place)]
    assert len(lines) == len(FAMILIES) * 3
    for line in lines:
        own = matching(
            rows,
            learner=line["learner"].lstrip("'"),
            dataset="mnist",
            mechanism="scar",
            label_frequency=line["label_frequency"],
            protocol="honest",
        )
        mean, std, n = summary(own, "roc_auc")
        assert float(line["mean"]) == pytest.approx(mean, rel=1e-14)
        assert float(line["std"]) == pytest.approx(std, rel=1e-12)
        assert int(line["runs"]) == n
    assert figures.first.locator(".legend li").all_text_contents() == ["nnpu", "upu"]


def test_bars_and_lines_over_mechanisms(show, rows):
    page = show("bias", dataset="mnist", metric="f1")
    assert page.input_value("#choose-bars") == "0.1"
    assert page.input_value("#choose-lines") == "0.5"
    risk = page.locator("figure").first
    assert risk.locator("rect.bar").count() == 4
    assert risk.locator("path.line").count() == 2
    for line in figure_csv(page):
        own = matching(
            rows,
            learner=line["learner"],
            dataset="mnist",
            protocol="honest",
            mechanism=line["mechanism"],
            label_frequency=line["label_frequency"],
        )
        assert float(line["mean"]) == pytest.approx(summary(own, "f1")[0], rel=1e-14)
    page.select_option("#choose-lines", "0.1")
    settled(page)
    assert page.locator("figure").first.locator("path.line").count() == 0
    assert "lines=0.1" in page.evaluate("location.hash")


def test_bars_are_as_long_as_their_values(show, rows):
    page = show("bias", dataset="mnist", metric="f1", lines="0.1")
    heights = [
        bar.bounding_box()["height"]
        for bar in page.locator("figure").first.locator("rect.bar").all()
    ]
    values = [
        summary(
            matching(
                rows,
                learner=learner,
                mechanism=mechanism,
                label_frequency=0.1,
                dataset="mnist",
                protocol="honest",
            ),
            "f1",
        )[0]
        for mechanism in ("scar", "s2")
        for learner in ("nnpu", "upu")
    ]
    ratios = np.array(heights) / np.array(values)
    assert np.ptp(ratios) / ratios.mean() < 0.02


def test_radars_show_five_metrics_of_a_dataset(show, rows):
    page = show("radar", dataset="spambase", **CONVENTIONAL)
    assert page.locator("figure").count() == len(set(FAMILIES.values()))
    texts = page.locator("figure").first.locator("svg text.axis").all_text_contents()
    assert texts == ["Accuracy", "Precision", "Recall", "F1", "AUC"]
    for line in figure_csv(page):
        own = matching(rows, learner=line["learner"], dataset="spambase", **CONVENTIONAL)
        for metric in ("accuracy", "roc_auc"):
            mean = summary(own, metric)[0]
            assert float(line[f"{metric}_mean"]) == pytest.approx(mean, rel=1e-14)


def test_costs_are_those_of_the_rows(show, rows):
    page = show("cost", dataset="mnist", metric="f1", **CONVENTIONAL)
    assert page.locator("figure").count() == 1
    lines = figure_csv(page)
    assert (
        len(lines)
        == len(FAMILIES)
        == page.locator("figure .point").count() - len(page.locator("figure .legend li").all())
    )
    for line in lines:
        own = matching(rows, learner=line["learner"].lstrip("'"), dataset="mnist", **CONVENTIONAL)
        for name, metric in (("f1_mean", "f1"), ("seconds", "seconds"), ("peak_memory",) * 2):
            assert float(line[name]) == pytest.approx(summary(own, metric)[0], rel=1e-12)


def test_recovered_numbers_lie_against_true_ones(show, rows):
    page = show("recovered", metric="matthews_corrcoef", family="risk")
    done = matching(rows, family="risk", status="done")
    by_run = {row["run"]: row for row in done}
    lines = figure_csv(page)
    assert {line["run"] for line in lines} == set(by_run)
    for line in lines:
        row = by_run[line["run"]]
        assert float(line["matthews_corrcoef"]) == row["matthews_corrcoef"]
        assert float(line["recovered_matthews_corrcoef"]) == row["recovered_matthews_corrcoef"]
    gap = 100 * statistics.fmean(
        row["recovered_matthews_corrcoef"] - row["matthews_corrcoef"] for row in done
    )
    assert f"mean difference is {gap:.2f} points" in page.text_content("#figure-recovered")
    assert page.locator("#figure-recovered .tiny").count() == len(done)
    alphas = figure_csv(page, 1)
    assert float(alphas[0]["alpha_estimate"]) == by_run[alphas[0]["run"]]["alpha_estimate"]
    assert page.locator("#filter-metric option").count() == len(METRICS)


def test_one_run_with_its_distributions(show, rows):
    row = matching(rows, learner=EVIL, dataset=IMAGE, mechanism="s2", label_frequency=0.5)[1]
    page = show("run", run=row["run"])
    assert page.input_value("#filter-dataset") == IMAGE
    assert page.input_value("#filter-mechanism") == "s2"
    assert page.input_value("#choose-run") == row["run"]
    metrics = {cells[0]: cells[1:] for cells in table_of(page, "run-metrics")}
    assert metrics["F1"][:2] == [f"{100 * row['f1']:.2f}", f"{100 * row['recovered_f1']:.2f}"]
    assert metrics["AUL"][1:] == [DASH, DASH]
    titles = page.locator("figure h3").all_text_contents()
    assert titles == [
        "Scores of test rows",
        "Scores of training rows",
        "Chance of a label, as the learner has it",
        "Chance that a positive was labeled, by its score",
        "Losses by epoch",
        "Measures by epoch",
    ]
    kept = details(row["run"])
    test, train, chances, propensity, losses, _ = (figure_csv(page, place) for place in range(6))
    found = kept["distributions"]
    assert [int(line["test_positive"]) for line in test] == found["test_positive"]
    assert [float(line["from"]) for line in test] == found["edges"][:-1]
    assert [int(line["train_hidden"]) for line in train] == found["train_hidden"]
    assert [int(line["train_negative"]) for line in train] == found["train_negative"]
    assert [float(line["to"]) for line in chances] == [0.5, 1.0]
    assert [int(line["chance_hidden"]) for line in chances] == found["chance_hidden"]
    assert [line["propensity"] for line in propensity] == ["", "0.1", "0.2", "0.3"]
    assert [line["estimated"] for line in propensity] == ["", "0.2", "0.2", "0.4"]
    assert [float(line["loss"]) for line in losses] == [3.0, 1.5, 1.0, 0.75]
    page.locator("details", has_text="How this run was made").last.locator("summary").click()
    assert EVIL in page.locator("details.card").last.text_content()


def test_another_run_can_be_chosen(show, rows):
    page = show("run", **CONVENTIONAL, dataset="mnist")
    other = matching(rows, learner="upu", seed=42, dataset="mnist", **CONVENTIONAL)[0]
    page.focus("#choose-run")
    page.select_option("#choose-run", other["run"])
    settled(page)
    assert other["run"] in page.text_content("#run-facts")
    assert f"run={other['run']}" in page.evaluate("location.hash")
    assert page.evaluate("document.activeElement.id") == "choose-run"
    choose(page, "dataset", "spambase")
    assert "spambase" in page.text_content("#run-facts")


def test_a_page_without_its_files_says_what_it_lacks(browser, site, rows, tmp_path):
    alone = tmp_path / "index.html"
    shutil.copy(site, alone)
    page = browser.new_page()
    page.goto(f"{alone.as_uri()}#view=run")
    settled(page)
    assert "which is not beside this page" in page.text_content("#view")
    assert len(table_of(page, "run-metrics")) == len(METRICS)
    page.close()


@pytest.mark.parametrize("view", ["ratio", "bias", "radar", "cost", "ranks", "recovered", "run"])
def test_pictures_download_as_they_look(show, view):
    page = show(view, dataset="mnist", **(CONVENTIONAL if view in ("radar", "run") else {}))
    figure = page.locator("figure").first
    name, text = download(page, figure.locator(".tool", has_text="SVG"))
    assert name.endswith(".svg")
    assert "var(" not in text
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    words = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert figure.locator("h3").text_content() in words
    for item in figure.locator(".legend li").all_text_contents():
        assert item in words
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))
    drawn = figure.locator(".drawing > svg path, .drawing > svg rect").count()
    assert (
        len(list(root.iter("{http://www.w3.org/2000/svg}path")))
        + len(list(root.iter("{http://www.w3.org/2000/svg}rect")))
        >= drawn
    )


def test_numbers_of_a_picture_open_below_it(show, rows):
    page = show("radar", dataset="mnist", **CONVENTIONAL)
    figure = page.locator("figure").first
    assert figure.locator("table").count() == 0
    figure.locator("summary").focus()
    page.keyboard.press("Enter")
    figure.locator("table").wait_for()
    mean = summary(matching(rows, learner="nnpu", dataset="mnist", **CONVENTIONAL), "accuracy")[0]
    assert f"{mean:.5g}" in figure.locator("table").text_content()


def test_every_picture_has_a_name_and_facts(show):
    page = show("results")
    for view in ("ratio", "bias", "radar", "cost", "ranks", "recovered", "run"):
        go(page, view)
        assert page.locator("figure").count() > 0
        for svg in page.locator("figure .drawing > svg").all():
            assert svg.get_attribute("role") == "img"
            names = svg.get_attribute("aria-labelledby").split()
            texts = [page.locator(f"[id='{name}']").text_content() for name in names]
            assert len(texts) == 2
            assert all(len(text) > 5 for text in texts)
