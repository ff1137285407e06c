"""One verdict: the light of the page, wherever its sliders stand, is that of Python there."""

import json

import numpy as np
import pytest

import recoup
from random_tables import random_position, random_rows, silently
from recoup.exceptions import InfeasiblePriorWarning
from recoup.report import Report
from recoup.report.page.light import facts_of, light_of
from recoup.report.page.payload import as_island, page_data
from recoup.report.page.phrases import LEVELS, LIGHTS, LIMITS, PHRASES, RULES, TITLE_FIGURES
from recoup.report.page.render import ROOM
from recoup.report.page.script import page_script

WORDS = {
    "phrases": PHRASES,
    "limits": LIMITS,
    "lights": LIGHTS,
    "levels": LEVELS,
    "rules": [vars(rule) for rule in RULES],
}
N_TABLES, N_POSITIONS = 16, 4


@pytest.fixture(scope="module")
def page(open_page_once, tmp_path_factory):
    scripts = [(ROOM / "shared/words.js").read_text("utf-8"), page_script()]
    scripts.append((ROOM / "page/verdict.js").read_text("utf-8"))
    tags = "".join(f"<script>{text}</script>" for text in scripts)
    path = tmp_path_factory.mktemp("light") / "page.html"
    path.write_text(f'<!doctype html><meta charset="utf-8"><title>t</title>{tags}', "utf-8")
    return open_page_once(path)


def lights_on_page(page, evaluation, positions):
    """What the page says of an evaluation at other positions."""
    data = json.loads(as_island(page_data({"": evaluation})))["models"][0]
    return page.evaluate(
        """([data, positions, made, figures, words]) => {
            const model = Recoup.read(data);
            return positions.map((wanted) =>
                Verdict.light(model, Recoup.recover(model, wanted), made, figures, words));
        }""",
        [data, positions, light_of(evaluation), list(TITLE_FIGURES), WORDS],
    )


def as_set(light):
    return {(reason["code"], reason["level"], reason["text"]) for reason in light["reasons"]}


def check(found, expected, about):
    theirs = light_of(expected)
    assert as_set(found) == as_set(theirs), about
    assert (found["level"], found["word"]) == (theirs["level"], theirs["word"]), about


@pytest.mark.parametrize("seed", range(N_TABLES))
def test_the_light_is_pythons_wherever_the_sliders_stand(page, seed):
    rng = np.random.default_rng([3, seed])
    s, scores, options = random_rows(rng)
    options["n_boot"] = 0
    options["labels_are"] = ("unknown", "biased", "random")[(seed + seed // 3) % 3]
    # Labels that nobody has checked, and an alpha that is a range, stay so at other thresholds.
    alpha = [0.05, (0.02, 0.2), 0.3, rng.beta(10, 60, 200)][seed % 4]
    prior = {"alpha": alpha} | ({} if seed % 3 else {"beta": 1.0})
    if "propensity" in options:
        prior = {}
    made = silently(recoup.evaluate, s, scores, **prior, **options)
    positions, expected = [], []
    for _ in range(N_POSITIONS):
        wanted = random_position(rng, scores)
        if rng.random() < 0.3 or "propensity" in options:
            wanted |= {"alpha": made.alpha, "beta": made.beta}
            supposed = prior
        else:
            supposed = {name: wanted[name] for name in ("alpha", "beta")}
            if wanted["beta"] == made.beta and "beta" not in prior:
                del supposed["beta"]
        cut = {"threshold": wanted["threshold"]}
        positions.append(wanted)
        expected.append(silently(recoup.evaluate, s, scores, **supposed, **cut, **options))
    found = lights_on_page(page, made, positions)
    for ours, theirs, wanted in zip(found, expected, positions, strict=True):
        check(ours, theirs, wanted)


def test_the_random_tables_show_every_reason():
    found = set()
    for seed in range(N_TABLES):
        rng = np.random.default_rng([3, seed])
        s, scores, options = random_rows(rng)
        if "propensity" in options:
            continue
        for _ in range(2 * N_POSITIONS):
            wanted = random_position(rng, scores)
            if rng.random() < 0.5:
                del wanted["beta"]
            wanted["labels_are"] = "biased" if seed % 2 else "unknown"
            made = silently(recoup.evaluate, s, scores, n_boot=0, **wanted, **options)
            found |= {(one["code"], one["level"]) for one in light_of(made)["reasons"]}
    assert {(rule.code, rule.level) for rule in RULES if rule.level} <= found


def test_an_estimate_counts_until_alpha_is_supposed(page):
    example = recoup.load_example()
    scores = example.scores["score_boosting"]
    made = recoup.evaluate(example.s, scores, alpha="estimate", n_boot=0)
    moved = silently(recoup.evaluate, example.s, scores, alpha="estimate", threshold=0.05, n_boot=0)
    cut = made.threshold
    supposed = silently(recoup.evaluate, example.s, scores, alpha=0.1, threshold=cut, n_boot=0)
    found = lights_on_page(page, made, [{"threshold": 0.05}, {"alpha": 0.1}])
    check(found[0], moved, "another threshold")
    check(found[1], supposed, "another alpha")
    assert "ways to estimate alpha" in str(found[0]) or "Estimate of alpha" in str(found[0])
    assert PHRASES["alpha_given"] in str(found[1])


def impossible():
    """Rows whose precision cannot be recovered with a large alpha: it comes out above one."""
    rng = np.random.default_rng(0)
    s = (np.arange(6000) < 1000).astype(int)
    scores = 1 / (1 + np.exp(-rng.normal(1.5 * s - 1)))
    return s, scores


def test_a_slider_at_an_impossible_alpha_turns_the_light_red(open_page, tmp_path):
    s, scores = impossible()
    made = recoup.evaluate(s, scores, alpha=0.02, beta=1.0, n_boot=0)
    there = silently(recoup.evaluate, s, scores, alpha=0.6, beta=1.0, threshold=0.8, n_boot=0)
    assert there["precision"].raw > 1.2
    shown = open_page(
        Report(made, "Title").write(tmp_path / "page.html"),
        fragment="#alpha=0.6&beta=1&threshold=0.8",
    )
    shown.wait_for_selector("html[data-state=ready]")
    assert shown.locator("#light.red").count() == 1
    codes = shown.locator("#light li").evaluate_all(
        "(items) => items.map((item) => [item.dataset.code, item.className])"
    )
    expected = light_of(there)["reasons"]
    assert codes == [[reason["code"], reason["level"]] for reason in expected]
    assert "sampling error does not explain that" in shown.text_content("#light")
    interval = shown.text_content("[data-key='tile.precision.interval']")
    assert interval != "100% to 100%"


def test_what_nobody_checked_is_a_reason_for_care():
    s, scores = impossible()
    given = {"alpha": 0.02, "n_boot": 0, "labels_are": "random"}
    taken, checked = (
        recoup.evaluate(s, scores, **given),
        recoup.evaluate(s, scores, beta=1, **given),
    )
    codes = [{one["code"] for one in light_of(result)["reasons"]} for result in (taken, checked)]
    assert "open" in codes[0]
    assert "open" not in codes[1]
    text = next(one["text"] for one in light_of(taken)["reasons"] if one["code"] == "open")
    assert "up to a tenth of the labels is wrong" in text
    assert "Looking at some labeled rows by hand" in text


def test_a_stretch_that_nobody_sees_is_not_named():
    s, scores = impossible()
    assert "stretch" not in {
        one["code"] for one in light_of(recoup.evaluate(s, scores, alpha=0.02, n_boot=0))["reasons"]
    }
    with pytest.warns(InfeasiblePriorWarning):
        evaluation = recoup.evaluate(s, scores, alpha=0.25, n_boot=0)
    stretched = light_of(evaluation)["reasons"]
    assert "make intervals 1.3 times as wide" in str(stretched)


def test_a_chosen_threshold_is_named_with_what_was_taken_off():
    example = recoup.load_example()
    options = {"alpha": example.alpha, "threshold": "f1"}
    scores = example.scores["score_boosting"]
    made = recoup.evaluate(example.s, scores, n_boot=100, **options)
    (text,) = [one["text"] for one in light_of(made)["reasons"] if one["code"] == "chosen"]
    assert f"Precision by {made['precision'].optimism:.3f}" in text
    plain = recoup.evaluate(example.s, scores, n_boot=0, **options)
    (text,) = [one["text"] for one in light_of(plain)["reasons"] if one["code"] == "chosen"]
    assert "slightly too good" in text


def test_rules_compare_facts_and_fill_phrases():
    s, scores = impossible()
    facts = facts_of(recoup.evaluate(s, scores, alpha=0.02, n_boot=0))
    for rule in RULES:
        assert {rule.larger, rule.than} - {""} <= set(facts)
        assert rule.level in (*LEVELS, "")
        assert bool(rule.level) == bool(rule.phrase)
        if rule.phrase:
            PHRASES[rule.phrase].format(**facts["words"])
