"""The slider of odds: the page's numbers are those of selection_sensitivity in Python."""

from pathlib import Path

import axe_core_python
import numpy as np
import pytest

import recoup
from random_tables import silently
from recoup._core.text import show_number
from recoup.metrics.curves import recovered_roc
from recoup.report import Report
from recoup.report.page.payload import page_data
from recoup.report.page.script import page_script
from recoup.selection.how_labeled import BIASED_ODDS
from recoup.selection.tilt import fair_table

AXE = Path(axe_core_python.__file__).with_name("axe.min.js")
ODDS = (20.0, 5.0, 1.3, 0.6, 0.05)
DASH = "\N{EN DASH}"


def simulated(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.3
    s = (positive & (rng.random(n) < 0.4)).astype(int)
    return s, 1 / (1 + np.exp(-rng.normal(2.0 * positive - 1))), rng


def evaluations():
    s, scores, rng = simulated()
    known = np.where((s == 0) & (scores < 0.4) & (rng.random(len(s)) < 0.3), -1, s)
    weights = rng.exponential(size=len(s)) * (rng.random(len(s)) < 0.9)
    propensity = np.clip(0.2 + 0.6 * scores, 0.05, 1.0)
    many = simulated(1_100_000, seed=3)[:2]
    given = {"alpha": 0.2, "n_boot": 0, "threshold": 0.4}
    cases = {
        "single-sample": (s, scores, given),
        "labels not checked, range": (s, scores, given | {"alpha": (0.1, 0.25)}),
        "case-control": (s, scores, given | {"scheme": "case-control"}),
        "known negatives": (known, scores, given),
        "weights": (s, scores, given | {"sample_weight": weights}),
        "ties": (s, np.round(scores, 1), given),
        "no probabilities": (s, 40 * np.log(scores / (1 - scores)), given | {"threshold": 3.0}),
        "propensities": (s, scores, {"propensity": propensity, "n_boot": 0, "threshold": 0.4}),
        "more than a million rows": (*many, given),
    }
    return {
        name: silently(recoup.evaluate, labels, values, **options)
        for name, (labels, values, options) in cases.items()
    }


@pytest.fixture(scope="module")
def made():
    return evaluations()


@pytest.fixture(scope="module")
def page(open_page_once, tmp_path_factory):
    tags = f"<script>{page_script()}</script>"
    path = tmp_path_factory.mktemp("odds") / "page.html"
    path.write_text(f'<!doctype html><meta charset="utf-8"><title>t</title>{tags}', "utf-8")
    return open_page_once(path)


def recovered(page, evaluation, positions):
    """Metrics and the curve that the page finds at other positions."""
    return page.evaluate(
        """([data, positions]) => {
            const model = Recoup.read(data);
            return positions.map((wanted) => {
                const { metrics, roc, open, alphaUpper } = Recoup.recover(model, wanted);
                return { metrics, tpr: [...roc.tpr], fpr: [...roc.fpr], open, alphaUpper };
            });
        }""",
        [page_data({"": evaluation})["models"][0], positions],
    )


def number(value):
    return np.nan if value is None else value


NAMES = [
    *("single-sample", "labels not checked, range", "case-control", "known negatives", "weights"),
    *("ties", "no probabilities", "propensities", "more than a million rows"),
]


@pytest.mark.parametrize("name", NAMES)
def test_values_at_other_odds_are_pythons(page, made, name):
    evaluation = made[name]
    found = recovered(page, evaluation, [{"odds": odds} for odds in ODDS])
    for ours, odds in zip(found, ODDS, strict=True):
        strength, favored = max(odds, 1 / odds), "high" if odds > 1 else "low"
        theirs = silently(evaluation.selection_sensitivity, (strength,), favored)
        for key, values in theirs.values.items():
            shown = number(ours["metrics"][key]["recovered"])
            np.testing.assert_allclose(shown, values[0], atol=1e-6, err_msg=f"{key} at {odds}")
            # Python draws rows for these; the page has none.
            assert ours["metrics"][key]["lower"] is None, key
        mixture = evaluation.mixture
        curve = recovered_roc(fair_table(evaluation.table, mixture, odds), mixture)
        np.testing.assert_allclose(ours["tpr"], curve.tpr, atol=1e-6)
        np.testing.assert_allclose(ours["fpr"], curve.fpr, atol=1e-6)
        assert ours["open"]["odds"] == 1


def test_odds_go_with_another_alpha_and_threshold(page, made):
    evaluation = made["single-sample"]
    positions = [
        {"alpha": alpha, "threshold": cut, "odds": odds}
        for alpha, cut, odds in ((0.05, 0.2, 3.0), (0.3, 0.7, 0.4), (0.0, 0.5, 8.0))
    ]
    s, scores, _ = simulated()
    for ours, wanted in zip(recovered(page, evaluation, positions), positions, strict=True):
        given = {"alpha": wanted["alpha"], "threshold": wanted["threshold"], "n_boot": 0}
        there = silently(recoup.evaluate, s, scores, **given)
        odds = wanted["odds"]
        theirs = silently(
            there.selection_sensitivity, (max(odds, 1 / odds),), "high" if odds > 1 else "low"
        )
        for key, values in theirs.values.items():
            shown = number(ours["metrics"][key]["recovered"])
            np.testing.assert_allclose(shown, values[0], atol=1e-6, err_msg=f"{key} {wanted}")


def test_wrong_labels_take_the_odds_away(page, made):
    evaluation = made["single-sample"]
    one, other = recovered(
        page, evaluation, [{"beta": 0.9, "odds": 5.0}, {"beta": 0.9, "odds": 1.0}]
    )
    assert one == other
    assert one["metrics"]["recall"]["lower"] is not None


def test_metrics_over_alpha_follow_the_odds(page, made):
    evaluation, alphas = made["single-sample"], [0.05, 0.15, 0.3]
    ours = page.evaluate(
        """([data, alphas]) => {
            const found = Recoup.sensitivity(Recoup.read(data), alphas, { odds: 3 });
            return Object.fromEntries(Object.entries(found).map(([key, one]) => [key, [...one]]));
        }""",
        [page_data({"": evaluation})["models"][0], alphas],
    )
    s, scores, _ = simulated()
    for i, alpha in enumerate(alphas):
        there = silently(
            recoup.evaluate, s, scores, alpha=alpha, threshold=evaluation.threshold, n_boot=0
        )
        theirs = silently(there.selection_sensitivity, (3.0,), "high")
        for key, values in theirs.values.items():
            np.testing.assert_allclose(ours[key][i], values[0], atol=1e-6, err_msg=key)


def test_what_was_made_knows_how_much_is_left_open(page, made):
    for name, odds in (("single-sample", 5.0), ("propensities", 1.0)):
        (found,) = recovered(page, made[name], [{"threshold": 0.6}])
        assert found["open"]["odds"] == odds, name


# The whole page.


@pytest.fixture(scope="module")
def report(made, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "page.html"
    return Report(made["single-sample"], "Odds").write(path)


def settled(page):
    page.wait_for_selector("html[data-state=ready]")
    return page


def shown(page, key):
    return page.text_content(f"[data-key='{key}']")


def test_the_slider_moves_by_keyboard_and_shows_pythons_numbers(open_page, made, report):
    page = settled(open_page(report))
    before = page.inner_text("main").replace(page.inner_text("#live"), "")
    assert page.get_attribute("#odds", "aria-valuetext") == "labels that are a random sample"
    page.focus("#odds")
    page.keyboard.press("End")
    settled(page)
    assert float(page.input_value("#odds-box")) == BIASED_ODDS
    page.keyboard.press("ArrowLeft")
    settled(page)
    odds = BIASED_ODDS ** (19 / 20)
    assert float(page.input_value("#odds-box")) == pytest.approx(odds, abs=0.005)
    said = "labels that favor high scores, with odds of 17.2"
    assert page.get_attribute("#odds", "aria-valuetext") == said
    theirs = silently(made["single-sample"].selection_sensitivity, (odds,), "high")
    for key in theirs.values:
        assert shown(page, f"metric.{key}.recovered") == show_number(theirs.values[key][0]), key
        assert shown(page, f"metric.{key}.interval") == DASH
    assert said in page.text_content("#assumed")
    assert "selection_sensitivity has them" in page.text_content("#assumed")
    assert said in page.text_content("#live")
    assert page.locator("#figure-roc .band").count() == 0
    assert page.locator("#light.green").count() == 0
    assert f"odds={odds}" in page.get_attribute("#link", "href")
    page.keyboard.press("Home")
    settled(page)
    assert float(page.input_value("#odds-box")) == 1 / BIASED_ODDS
    assert "favor low scores, with odds of 20" in page.text_content("#assumed")
    page.click("#reset")
    settled(page)
    assert page.inner_text("main").replace(page.inner_text("#live"), "") == before


def test_odds_are_typed_kept_in_the_address_and_given_up_for_wrong_labels(open_page, report):
    page = settled(open_page(report, fragment="#odds=0.2"))
    assert page.input_value("#odds-box") == "0.2"
    page.fill("#odds-box", "500")
    settled(page)
    assert f"odds={BIASED_ODDS:g}" in page.get_attribute("#link", "href")
    page.fill("#odds-box", "-3")
    settled(page)
    assert f"odds={BIASED_ODDS:g}" in page.get_attribute("#link", "href")
    page.fill("#beta-box", "0.9")
    settled(page)
    assert "odds=1" in page.get_attribute("#link", "href").split("&")
    assert page.locator("#odds").is_disabled()
    assert page.locator("#odds-box").is_disabled()
    assert shown(page, "metric.recall.interval") != DASH


@pytest.mark.parametrize("width", [390, 1280])
def test_the_slider_fits_and_has_no_barriers(browser, report, width):
    context = browser.new_context(bypass_csp=True, viewport={"width": width, "height": 900})
    context.set_offline(True)
    page = context.new_page()
    page.goto(report.as_uri() + "#odds=3")
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for name in ("#odds", "#odds-box"):
        box = page.locator(name).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    page.add_script_tag(content=AXE.read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    context.close()
    assert len(found["passes"]) > 20
    serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
    assert serious == []


def test_a_comparison_follows_the_odds(open_page, tmp_path):
    rng = np.random.default_rng(3)
    s = (np.arange(1500) < 300).astype(int)
    models = {f"model {i}": rng.normal((0.6 + 0.5 * i) * s) for i in range(3)}
    compared = recoup.compare(s, models, alpha=0.1, n_boot=0)
    page = settled(open_page(compared.report(tmp_path / "page.html"), fragment="#odds=4"))
    for place, one in enumerate(compared.evaluations.values()):
        theirs = silently(one.selection_sensitivity, (4.0,), "high").values["roc_auc"][0]
        assert shown(page, f"model.{place}.roc_auc") == show_number(theirs)
        page.select_option("#model", str(place))
        settled(page)
        assert page.input_value("#odds-box") == "4"
        assert shown(page, "metric.roc_auc.recovered") == show_number(theirs)
