"""What the report says, and the page as text."""

import base64
import hashlib
import html
import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import recoup
from recoup._core.files import write_file
from recoup._core.text import whole_percent
from recoup.exceptions import ClippedEstimateWarning, InfeasiblePriorWarning, InvalidInputError
from recoup.report import Report, summarize
from recoup.report.page.models import about_leader, summarize_comparison
from recoup.report.page.render import FIGURES, shorten
from recoup.report.page.verdict import headline, of_ten, verdict
from recoup.scores.crossfit import CrossfitScores

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def evaluation():
    example = recoup.load_example()
    scores = example.scores["score_boosting"]
    return recoup.evaluate(example.s, scores, alpha=example.alpha, threshold="f1", n_boot=200)


def simulated(n=600, n_labeled=100, shift=1.0, **options):
    rng = np.random.default_rng(0)
    s = (np.arange(n) < n_labeled).astype(int)
    return recoup.evaluate(s, rng.normal(shift * s), **({"alpha": 0.1, "n_boot": 100} | options))


def test_summary_is_ready_for_json(evaluation):
    summary = summarize(evaluation, truth={"roc_auc": 0.96})
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert {"sentences", "settings", "groups", "points", "notes"} <= set(summary)


def test_sentences_say_the_numbers(evaluation):
    text = " ".join(summarize(evaluation)["sentences"])
    assert "521 rows are labeled positive and 4,080 are unlabeled." in text
    assert "about 1,292 (1,234 to 1,350) of the unlabeled rows are positive" in text
    recall, precision = evaluation["recall"], evaluation["precision"]
    for item in (recall, precision):
        numbers = (100 * value for value in (item.recovered, item.lower, item.upper))
        assert f"about {next(numbers):.0f}" in text
        assert "({:.0f} to {:.0f})".format(*numbers) in text
    assert f"would have said {100 * precision.pu:.0f}." in text


def test_sentences_for_ranges_noisy_labels_and_known_negatives():
    rng = np.random.default_rng(0)
    s = np.repeat([1, 0, -1], [100, 400, 50])
    result = recoup.evaluate(s, rng.normal(s == 1), alpha=(0.1, 0.2), beta=0.9, n_boot=50)
    text = " ".join(summarize(result)["sentences"])
    assert "100 rows are labeled positive (90% of them rightly)" in text
    assert "50 are known negatives" in text
    hidden = result.hidden
    counts = f"about 60 ({hidden.lower:.0f} to {hidden.upper:.0f})"
    assert hidden.lower < 40 < 80 < hidden.upper
    assert f"With alpha 0.1 to 0.2, {counts} of the unlabeled rows are positive." in text


def test_sentences_when_nothing_is_flagged_and_nothing_was_shuffled():
    text = " ".join(summarize(simulated(threshold=100.0, n_boot=0))["sentences"])
    assert "At threshold 100 the model flags no row." in text
    assert "chance" not in text
    assert "nan" not in text


@pytest.mark.parametrize("scheme", ["single-sample", "case-control"])
def test_missing_precision_is_no_proof_that_nothing_is_flagged(scheme):
    result = simulated(threshold=0.0, scheme=scheme)
    object.__setattr__(result.metrics["precision"], "recovered", np.nan)
    text = " ".join(summarize(result)["sentences"])
    assert "flags no" not in text
    assert "of 100 positives the model finds" in text
    assert "cannot be recovered there" in text
    assert "nan" not in text


def test_only_unlabeled_rows_are_judged_in_case_control():
    s = np.repeat([1, 0], [100, 400])
    scores = np.where(s == 1, 2.0, np.random.default_rng(0).random(500))
    result = recoup.evaluate(s, scores, alpha=0.0, scheme="case-control", threshold=1.5, n_boot=0)
    text = " ".join(summarize(result)["sentences"])
    assert "At threshold 1.5 the model flags no unlabeled row." in text


@pytest.mark.parametrize("n_boot", [0, 100])
def test_sentences_with_propensities(n_boot):
    rng = np.random.default_rng(0)
    positive = rng.random(3000) < 0.4
    propensity = np.where(rng.random(3000) < 0.5, 0.3, 0.6)
    s = (positive & (rng.random(3000) < propensity)).astype(int)
    result = recoup.evaluate(s, rng.normal(2.0 * positive), propensity=propensity, n_boot=n_boot)
    summary = summarize(result)
    hidden = np.sum(s / propensity) - s.sum()
    told = " ".join(summary["sentences"])
    assert f"The propensities imply alpha {hidden / np.sum(s == 0):.4g}" in told
    ends = f"({result.hidden.lower:,.0f} to {result.hidden.upper:,.0f})"
    assert f"about {hidden:,.0f} {ends} of the unlabeled rows are positive" in told
    assert summary["settings"]["The numbers are about"] == "all rows (single-sample)"
    page = Report(result, "Title").to_html()
    assert "random sample of all" not in page
    assert "if the propensities are right, the interval" in page
    assert "unlabeled rows alone" not in page


def test_sentences_never_round_up_to_certainty():
    result = simulated(shift=0.0)
    auc = result.metrics["roc_auc"]
    object.__setattr__(auc, "recovered", 0.9993)
    text = " ".join(summarize(result)["sentences"])
    assert "more than 99 times in 100" in text


def test_points_hold_the_used_threshold(evaluation):
    points = summarize(evaluation)["points"]
    used = [point for point in points if point["used"]]
    assert [point["threshold"] for point in used] == [evaluation.threshold]
    assert used[0]["precision"]["recovered"] == pytest.approx(evaluation["precision"].recovered)
    queues = [point["queue"] for point in points]
    assert queues == sorted(queues)


def test_the_same_evaluation_gives_the_same_page(evaluation):
    pages = {Report(evaluation, "Title").to_html() for _ in range(2)}
    assert len(pages) == 1


def test_page_names_nothing_outside_itself(evaluation):
    page = Report(evaluation, "Title", truth={"roc_auc": 0.96}, command="recoup demo").to_html()
    markup = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    links = re.findall(r'(?:src|href|url)\s*[=(]\s*["\']?([^"\')\s>]+)', markup)
    assert all(link.startswith(("#", "data:")) for link in links)
    assert "@import" not in page
    names = re.findall(r'\bid="([^"]+)"', markup)
    assert len(names) == len(set(names))
    named = re.findall(r'(?:for|aria-labelledby|aria-describedby)="([^"]+)"', markup)
    assert set(named) <= set(names)


def test_only_the_scripts_of_the_page_may_run(evaluation):
    page = Report(evaluation, "Title").to_html()
    allowed = re.search(r"script-src ([^;\"]*)", html.unescape(page)).group(1).split()
    scripts = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    found = [hashlib.sha256(text.encode()).digest() for text in scripts]
    assert allowed == [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in found]
    assert page.count("<script") == len(scripts) + 1


def test_page_without_truth_has_no_such_column(evaluation):
    assert ">Truth<" not in Report(evaluation, "Title").to_html()
    assert ">Truth<" in Report(evaluation, "Title", truth={"roc_auc": 0.96}).to_html()


def test_page_of_an_evaluation_without_intervals():
    page = Report(simulated(n_boot=0), "Title").to_html()
    assert ">nan" not in page
    assert "None" not in page


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"alpha": 0.1}, "alpha=0.1, scheme='single-sample'"),
        ({"alpha": 0.1, "beta": 1.0}, "alpha=0.1, beta=1.0, scheme='single-sample'"),
        ({"alpha": (0.05, 0.2), "scheme": "case-control"}, "alpha=(0.05, 0.2)"),
        ({"alpha": "draws"}, "alpha=draws, scheme"),
        ({"alpha": "draws", "beta": "beta_draws"}, "alpha=draws, beta=beta_draws"),
        ({"alpha": "estimate"}, "alpha=estimate, scheme"),
        ({"alpha": 0.1, "sample_weight": "sample_weight"}, "sample_weight=sample_weight"),
        ({"propensity": "propensity"}, "evaluate(s, scores, propensity=propensity, threshold"),
    ],
)
def test_the_call_on_the_page_gives_the_same_numbers(given, shown):
    rng = np.random.default_rng(0)
    s = (np.arange(600) < 100).astype(int)
    names = {
        "recoup": recoup,
        "s": s,
        "scores": rng.normal(s),
        "draws": rng.uniform(0.05, 0.2, 50),
        "beta_draws": rng.uniform(0.9, 1.0, 50),
        "estimate": SimpleNamespace(alpha=0.1, beta=0.95, interval=(0.05, 0.3)),
        "sample_weight": rng.uniform(0.5, 2.0, 600),
        "propensity": rng.uniform(0.3, 0.9, 600),
    }
    arguments = {
        key: names.get(value, value) if isinstance(value, str) else value
        for key, value in given.items()
    }
    result = recoup.evaluate(s, names["scores"], threshold=0.5, n_boot=50, **arguments)
    page = html.unescape(Report(result, "Title").to_html())
    call = re.search("<pre><code>(.*?)</code></pre>", page).group(1)
    assert shown in call
    assert eval(call, names).to_dict() == result.to_dict()
    used = ["s", "scores", *(str(value) for value in given.values() if value in list(names))]
    assert f"Here {', '.join(used[:-1])} and {used[-1]} must be the same" in page
    assert "the default, random_state=0, unless another was given" in page


def test_a_command_needs_no_more_words(evaluation):
    page = Report(evaluation, "Title", command="recoup demo").to_html()
    assert "<pre><code>recoup demo</code></pre>" in page
    assert "random_state" not in page


def test_hostile_names_are_escaped(evaluation):
    page = Report(evaluation, HOSTILE, command=HOSTILE).to_html()
    assert HOSTILE not in page
    assert page.count("&lt;img src=x onerror=alert(1)&gt;") == 4
    shown = Report(evaluation, HOSTILE)._repr_html_()
    assert HOSTILE not in shown


def test_files_are_whole_or_absent(tmp_path, monkeypatch, evaluation):
    target = tmp_path / "r.html"
    target.write_text("before")

    def fail(self, other):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", fail)
        with pytest.raises(InvalidInputError, match="No space left"):
            Report(evaluation, "Title").write(target)
    assert target.read_text() == "before"
    assert list(tmp_path.iterdir()) == [target]
    assert Report(evaluation, "Title").write(target) == target
    assert target.read_text().startswith("<!DOCTYPE html>")


def test_files_get_the_usual_permissions(tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("")
    assert write_file(tmp_path / "file", b"").stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.0, "none of 10"),
        (0.049, "fewer than 1 of 10"),
        (0.05, "about 1 of 10"),
        (0.25, "about 3 of 10"),
        (0.949, "about 9 of 10"),
        (0.999, "more than 9 of 10"),
        (1.0, "all 10"),
    ],
)
def test_shares_as_counts_out_of_ten(share, words):
    assert of_ten(share) == words


def test_headline_says_what_is_found_and_how_naive_counting_misleads(evaluation):
    found, right, naive = verdict(evaluation)["headline"]
    recall, precision = evaluation["recall"], evaluation["precision"]
    share = ", between ".join(
        (
            f"{100 * recall.recovered:.0f}%",
            f"{100 * recall.lower:.0f}% and {100 * recall.upper:.0f}%",
        )
    )
    assert f"finds about 9 of 10 positives ({share})" in found
    assert f"({100 * precision.recovered:.0f}%, between {100 * precision.lower:.0f}% and" in right
    gap = whole_percent(precision.recovered) - whole_percent(precision.pu)
    assert f"would have said {100 * precision.pu:.0f}%, {gap} points too low." in naive


def test_headline_without_intervals_or_flagged_rows():
    result = simulated(n_boot=0)
    object.__setattr__(result.metrics["recall"], "lower", np.nan)
    assert "between" not in headline(result.metrics, 10)[0]
    assert headline(result.metrics, 0) == [
        "At this threshold the model flags nothing. Choose a lower one."
    ]
    object.__setattr__(result.metrics["precision"], "recovered", np.nan)
    assert "cannot be recovered" in headline(result.metrics, 10)[1]
    assert verdict(simulated(threshold=100.0, n_boot=0))["headline"] == headline(
        {"recall": None, "precision": None}, 0
    )


def light_of(result):
    light = verdict(result)["light"]
    texts = dict.fromkeys(("red", "amber", "green", "note"), "")
    for reason in light["reasons"]:
        texts[reason["level"]] += reason["text"] + " "
    return light["level"], texts


def test_a_good_evaluation_gets_a_green_light():
    example = recoup.load_example()
    # Somebody has checked the labels, and the threshold was given. They were drawn at random.
    options = {"alpha": example.alpha, "beta": 1.0, "threshold": 0.02, "labels_are": "random"}
    good = recoup.evaluate(example.s, example.scores["score_boosting"], n_boot=200, **options)
    level, texts = light_of(good)
    assert level == "green"
    assert not texts["red"] + texts["amber"]
    assert "0.317, is one that the scores allow (up to 0.419)" in texts["green"]
    assert "make intervals 1.5 times as wide" in texts["green"]
    assert "521 labeled and 4,080 unlabeled" in texts["green"]
    assert "recoup scar tests it" in texts["note"]


def test_labels_that_nobody_checked_ask_for_care(evaluation):
    level, texts = light_of(evaluation)
    assert level == "amber"
    precision = evaluation["precision"]
    possible = f"{precision.possible_lower:.3f} to {precision.possible_upper:.3f}"
    assert f"Precision could be {possible}" in texts["amber"]
    figures = {figure["key"]: figure for figure in verdict(evaluation)["figures"]}
    ends = f"{100 * precision.possible_lower:.0f}% to {100 * precision.possible_upper:.0f}%"
    told = (
        f"Could be {ends} if up to a tenth of the labels is wrong, or if labels favor high or low "
        f"scores with odds of up to 5."
    )
    assert figures["precision"]["could_be"] == told
    checked = simulated(beta=1.0, n_boot=0, labels_are="random")
    assert [figure["could_be"] for figure in verdict(checked)["figures"]] == [""] * 3


def test_hidden_positives_have_a_tile_of_their_own(evaluation):
    hidden = verdict(evaluation)["hidden"]
    assert hidden["count"] == "1,292"
    assert hidden["between"] == "between 1,234 and 1,350"
    assert hidden["could_be"] == ""
    example = recoup.load_example()
    scores = example.scores["score_boosting"]
    estimated = recoup.evaluate(example.s, scores, alpha="estimate", n_boot=0)
    most = f"{estimated.hidden.possible_upper:,.0f}"
    told = verdict(estimated)["hidden"]["could_be"]
    assert told == (
        f"Could be 0 to {most} if alpha is any that the scores allow, or if labels favor high or "
        f"low scores with odds of up to 5."
    )


def test_people_read_no_exponents():
    rng = np.random.default_rng(0)
    positive = rng.random(200_000) < 0.001
    s = (positive & (rng.random(200_000) < 0.95)).astype(int)
    scores = 1e-6 * np.exp(rng.normal(3.0 * positive))
    alpha = float(positive[s == 0].mean())
    assert alpha < 1e-4
    result = recoup.evaluate(s, scores, alpha=alpha, threshold=2e-5, n_boot=0)
    markup = re.sub(r"<(script|style).*?</\1>", "", Report(result, "T").to_html(), flags=re.S)
    text = re.sub(r"<pre>.*?</pre>|<[^>]*>", " ", markup, flags=re.S)
    assert not re.findall(r"\d[eE][-+]?\d+", text.replace(summarize(result)["digest"], ""))


def test_an_impossible_alpha_gets_a_red_light():
    with pytest.warns((InfeasiblePriorWarning, ClippedEstimateWarning)):
        result = simulated(n=60_000, n_labeled=10_000, alpha=0.8)
    level, texts = light_of(result)
    assert level == "red"
    assert "do not fit the scores" in texts["red"]
    assert f"alpha up to {result.feasibility.alpha_upper:.3g}" in texts["red"]
    assert "sampling error does not explain that" in texts["red"]


@pytest.mark.parametrize(
    ("given", "level", "words"),
    [
        ({"n_labeled": 8}, "red", "only 8 labeled"),
        ({"n_labeled": 15}, "amber", "only 15 labeled and 585 unlabeled rows"),
        ({"n": 140}, "amber", "only 100 labeled and 40 unlabeled rows"),
        ({"alpha": (0.0, 0.9)}, "amber", "up to 0.9, is more than the scores allow"),
        ({"shift": 0.0}, "amber", "not shown to be better than chance"),
        ({"shift": 0.0, "alpha": 0.75, "n_labeled": 300}, "amber", "similar shares"),
        ({"shift": 0.0, "alpha": 0.91}, "red", "about 11 times as wide"),
    ],
)
@pytest.mark.filterwarnings("ignore::recoup.exceptions.ClippedEstimateWarning")
def test_each_doubt_has_its_color(given, level, words):
    found, texts = light_of(simulated(**given))
    assert words in texts[level]
    assert found == ("red" if texts["red"] else "amber")


def test_estimates_that_disagree_or_did_not_settle():
    example = recoup.load_example()
    scores = example.scores["score_boosting"]
    result = recoup.evaluate(example.s, scores, alpha="estimate", n_boot=0)
    assert "ways to estimate alpha agree" in light_of(result)[1]["green"]
    object.__setattr__(result.prior.estimate, "warnings", ("They disagree.",))
    assert "Estimate of alpha: They disagree." in light_of(result)[1]["amber"]
    object.__setattr__(result.prior.estimate, "converged", False)
    assert "did not settle" in light_of(result)[1]["red"]


def test_what_would_change_our_mind_is_computed(evaluation):
    flip, span, noisy, chosen = verdict(evaluation)["doubts"]
    alpha = float(re.search(r"Alpha below ([\d.]+) instead of 0.32", flip).group(1))
    example = recoup.load_example()
    options = {"threshold": evaluation.threshold, "n_boot": 0}

    def again(**given):
        scores = example.scores["score_boosting"]
        return recoup.evaluate(example.s, scores, **(options | {"alpha": evaluation.alpha} | given))

    assert again(alpha=alpha - 0.01)["precision"].recovered < 0.5
    assert again(alpha=alpha + 0.01)["precision"].recovered > 0.5
    low, high = map(float, re.search(r"from ([\d.]+) to ([\d.]+)\.$", span).groups())
    assert low == pytest.approx(evaluation["roc_auc"].pu, abs=1e-3)
    assert evaluation["roc_auc"].recovered < high
    with pytest.warns(ClippedEstimateWarning):
        doubted = again(beta=0.9)
    assert f"Precision {doubted['precision'].recovered:.3f}" in noisy
    low, high = evaluation.selection_sensitivity((2.0,)).range("roc_auc")
    assert f"AUC {low:.3f} to {high:.3f}" in chosen


def test_minds_change_otherwise_with_propensities_and_noisy_labels():
    rng = np.random.default_rng(0)
    positive = rng.random(3000) < 0.4
    s = (positive & (rng.random(3000) < 0.5)).astype(int)
    scores = rng.normal(2.0 * positive)
    given = recoup.evaluate(s, scores, propensity=np.full(3000, 0.5), n_boot=0)
    texts = " ".join(verdict(given)["doubts"])
    assert "Wrong propensities" in texts
    assert "Wrong labels" not in texts
    noisy = recoup.evaluate(s, scores, alpha=0.2, beta=0.95, n_boot=0)
    assert "odds" not in " ".join(verdict(noisy)["doubts"])
    with pytest.warns((InfeasiblePriorWarning, ClippedEstimateWarning)):
        tight = recoup.evaluate(s, scores, alpha=0.2, beta=0.22, n_boot=0)
    assert "nothing could be recovered" in " ".join(verdict(tight)["doubts"])


def test_digest_is_that_of_the_data():
    result = simulated()
    again = simulated(alpha=0.2, n_boot=0)
    assert summarize(result)["digest"] == summarize(again)["digest"]
    assert summarize(simulated(n=601))["digest"] != summarize(result)["digest"]
    counts = result.given.counts
    columns = (counts.scores, counts.labeled, counts.unlabeled, counts.negative)
    raw = b"".join(np.asarray(column, "<f8").tobytes() for column in columns)
    assert summarize(result)["digest"] == hashlib.sha256(raw).hexdigest()


def test_confusion_holds_a_thousand_cases():
    result = simulated(threshold=0.5)
    cases = summarize(result)["confusion"]
    assert sum(cases.values()) == pytest.approx(1000)
    assert cases["tp"] / (cases["tp"] + cases["fp"]) == pytest.approx(result["precision"].recovered)


def test_sources_name_the_papers_behind_the_numbers(evaluation):
    assert [text.split(":")[0] for text in summarize(evaluation)["sources"]] == [
        "AUC and balanced accuracy",
        "Accuracy, precision, recall, F and Matthews correlation",
        "Possible range",
    ]
    estimated = summarize(simulated(alpha="elkan-noto", n_boot=0))["sources"]
    assert "Estimate of alpha by elkan-noto: Elkan and Noto 2008." in estimated
    noisy = summarize(simulated(beta=0.9))["sources"]
    assert not any("Claesen" in text for text in noisy)


def compared(n_models=3, **options):
    rng = np.random.default_rng(1)
    s = (np.arange(900) < 200).astype(int)
    scores = {f"model {i}": rng.normal((0.4 + 0.6 * i) * s) for i in range(n_models)}
    return recoup.compare(s, scores, **({"alpha": 0.1, "n_boot": 50} | options))


def test_summary_of_a_comparison_numbers_its_models():
    comparison = compared()
    summary = summarize_comparison(comparison)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert summary["ranking"] == [2, 1, 0]
    assert summary["columns"][0] == "roc_auc"
    assert [item["first"] for item in summary["differences"][:3]] == [0, 0, 1]
    assert summary["leader"].startswith("model 2 has the best AUC, ")
    assert "Its lead over model 1 is more than chance explains" in summary["leader"]
    assert summary["notes"] == []
    shared = summarize_comparison(compared(alpha="elkan-noto", n_boot=0))["notes"]
    assert shared == [note for note in shared if not note.startswith("model ")]
    assert "is the same for all models" in shared[0]


def test_leader_without_differences_or_with_a_small_lead():
    assert about_leader(compared(metric="pr_auc")).count(".") == 2
    comparison = compared(2)
    same = recoup.compare(
        (np.arange(900) < 200).astype(int),
        {"a": np.arange(900) % 7, "b": np.arange(900) % 11},
        alpha=0.1,
        n_boot=0,
    )
    assert "may be chance" in about_leader(same)
    assert "model 1" in about_leader(comparison, str)


def test_page_of_a_comparison_can_be_made_again():
    comparison = compared()
    page = html.unescape(Report(comparison, "Title").to_html())
    call = re.search("<pre><code>(.*?)</code></pre>", page).group(1)
    rng = np.random.default_rng(1)
    s = (np.arange(900) < 200).astype(int)
    scores = {f"model {i}": rng.normal((0.4 + 0.6 * i) * s) for i in range(3)}
    again = eval(call, {"recoup": recoup, "s": s, "scores": scores})
    assert "recoup.compare(s, scores, metric='roc_auc', alpha=0.1" in call
    assert again.ranking == comparison.ranking


def test_results_write_their_own_report(tmp_path, evaluation):
    path = evaluation.report(tmp_path / "one.html")
    assert path == tmp_path / "one.html"
    assert '<h1 title="How good is this model?">' in path.read_text()
    other = compared().report(str(tmp_path / "two.html"), title="Mine")
    assert '<h1 title="Mine">Mine</h1>' in other.read_text()


def test_long_names_are_cut():
    assert shorten("a" * 60) == "a" * 60
    assert shorten("a" * 61) == "a" * 59 + "\N{HORIZONTAL ELLIPSIS}"
    assert shorten(" a\n b ") == "a b"


def test_pictures_of_the_page(evaluation):
    page = Report(evaluation, "Title").to_html()
    found = re.findall(r'<figure id="figure-(\w+)">', page)
    assert found == ["offer", *(name for name in FIGURES if name not in ("prior", "members"))]
    estimated = Report(simulated(alpha="dedpul", n_boot=0), "Title").to_html()
    assert 'id="figure-calibration"' not in estimated
    assert 'id="figure-prior"' in estimated or 'id="figure-members"' in estimated


def test_the_call_says_that_rows_were_scored_by_other_folds():
    page = html.unescape(Report(simulated(scored="crossfit", n_boot=0), "Title").to_html())
    call = re.search("<pre><code>(.*?)</code></pre>", page).group(1)
    assert call.startswith("recoup.evaluate(s, scores, alpha=0.1")
    assert "scored='crossfit'" in call
    rng = np.random.default_rng(0)
    s = (np.arange(600) < 100).astype(int)
    place = np.arange(600)[None] % 5
    folds = CrossfitScores(s, rng.normal(s), place, "any", "predict_proba", auc_pu=0.8)
    result = recoup.evaluate(folds, alpha=0.1, n_boot=0)
    page = html.unescape(Report(result, "Title").to_html())
    assert "recoup.evaluate(crossfitted, alpha=0.1" in page
    assert "Here crossfitted must be the same as for this page" in page
