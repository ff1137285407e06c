"""The command line as users meet it: good runs, and every bad input in one line."""

import html
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import recoup
from commands import EXAMPLE, QUICK, assert_one_line, ramp, run, run_process, write_csv
from recoup.cli._light import with_light
from recoup.exceptions import ClippedEstimateWarning
from recoup.metrics.spec import AREA_METRICS, POINT_METRICS
from recoup.report.page.models import about_pair
from recoup.scores import ScoreTable


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working folder, so that anything written shows."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def scores(folder):
    s, score = ramp()
    return write_csv(folder / "scores.csv", flagged=s, p=score, q=score[::-1])


def evaluate(path, *args, score="p", label="flagged"):
    return run("evaluate", path, "--score", score, "--label", label, *QUICK, *args)


def option_of(name):
    return f"--{name.replace('_', '-')}"


def test_evaluate_prints_table_and_plain_sentences():
    result = evaluate(EXAMPLE, "--alpha", "0.3167", "--threshold", "f1", score="score_boosting")
    assert result.exit_code == 0
    assert result.stderr == ""
    text = " ".join(result.stdout.split())
    assert "Metric PU value Recovered 95% interval" in text
    assert "AUC 0.817 0.963" in text
    assert "of 100 positives the model finds about 91" in text
    assert "Counting unlabeled rows as negative would have said 24." in text
    assert "It beats chance" in text
    assert "The scores allow alpha up to 0.419" in text
    assert "Note: The threshold 0.02063 was chosen on these rows" in text


def test_json_is_json_alone_and_equals_the_library(folder):
    result = evaluate(
        EXAMPLE, "--alpha", "0.3", "--json", "--report", "r.html", score="score_boosting"
    )
    example = recoup.load_example()
    direct = recoup.evaluate(example.s, example.scores["score_boosting"], alpha=0.3, n_boot=200)
    assert result.stderr == ""
    found, expected = json.loads(result.stdout), with_light(direct)
    # What to type next is for a shell here.
    assert found["next_step"].pop("command").startswith("recoup audit plan ")
    del expected["next_step"]["command"]
    assert found == expected
    assert {"alpha", "beta", "scheme", "n_labeled", "n_unlabeled", "metrics"} <= set(found)
    assert {"pu", "recovered", "lower", "upper"} <= set(found["metrics"]["roc_auc"])
    assert (folder / "r.html").exists()


def test_every_option_of_evaluate_reaches_the_library(scores):
    s, score = ramp()
    given = {"beta": 0.9, "scheme": "case-control", "threshold": 0.3, "confidence": 0.8}
    given["labels_are"] = "biased"
    options = [word for key, value in given.items() for word in (option_of(key), value)]
    result = evaluate(scores, "--alpha-interval", 0.1, 0.2, *options, "--seed", 7, "--json")
    direct = recoup.evaluate(s, score, alpha=(0.1, 0.2), n_boot=200, random_state=7, **given)
    found, expected = json.loads(result.stdout), with_light(direct)
    # There is no plan for case-control data on the command line.
    assert found["next_step"].pop("command") == ""
    del expected["next_step"]["command"]
    assert found == expected


def test_weights_equal_repeated_rows(folder):
    s, score = ramp()
    weights = np.where(np.arange(len(s)) % 3 == 0, 2, 1)
    once = write_csv(folder / "once.csv", flagged=s, p=score, w=weights)
    repeated = write_csv(folder / "more.csv", flagged=s.repeat(weights), p=score.repeat(weights))
    values = [
        json.loads(evaluate(path, "--alpha", 0.1, "--json", *more).stdout)["metrics"]["f1"]
        for path, more in ((once, ["--weight", "w"]), (repeated, []))
    ]
    assert values[0]["raw"] == pytest.approx(values[1]["raw"], abs=1e-12)
    assert values[0]["pu"] == pytest.approx(values[1]["pu"], abs=1e-12)


def test_compare_names_the_better_model(folder):
    result = run(
        *("compare", EXAMPLE, "--score", "score_boosting", "--score", "score_logistic"),
        *("--label", "flagged", "--alpha", 0.3167, "--plot", "c.png", *QUICK),
    )
    assert result.exit_code == 0, result.stderr
    text = " ".join(result.stdout.split())
    assert "score_boosting 0.817 0.963" in text
    assert "score_boosting minus score_logistic is +0.016" in text
    assert "score_boosting has the best AUC" in text
    assert (folder / "c.png").read_bytes().startswith(b"\x89PNG")


def test_compare_json_equals_the_library():
    names = ["score_logistic", "score_boosting"]
    columns = [word for name in names for word in ("--score", name)]
    more = ["--label", "flagged", "--alpha", 0.3, "--metric", "f1", "--threshold", 0.1]
    result = run("compare", EXAMPLE, *columns, *more, *QUICK, "--json")
    example = recoup.load_example()
    direct = recoup.compare(
        example.s,
        {name: example.scores[name] for name in names},
        alpha=0.3,
        metric="f1",
        threshold=0.1,
        n_boot=200,
    )
    assert_same_comparison(result, direct)


def assert_same_comparison(result, direct):
    models = {name: with_light(one) for name, one in direct.evaluations.items()}
    expected = direct.to_dict() | {"models": models}
    assert json.loads(result.stdout) == json.loads(json.dumps(expected))


@pytest.mark.parametrize("word", ["random", "biased", "unknown"])
def test_commands_say_how_far_labels_can_be_relied_on(folder, word):
    given = ("--alpha", 0.3167, "--beta", 1, "--threshold", 0.02, "--labels-are", word)
    result = evaluate(EXAMPLE, *given, "--report", "r.html", score="score_boosting")
    text = " ".join(result.stdout.split())
    expected = {
        "random": "Reliability: good (green). The labeled rows are said to be a random sample",
        "biased": "Reliability: do not rely on this (red). The labeled rows are said not to be",
        "unknown": "Reliability: use with care (amber). Nobody has said how labels came about. "
        "What the numbers could be includes labels that favor high or low scores, with odds up to "
        "5 times as high at one end as at the other. Rows checked by hand tell, about 120 to "
        "begin with (recoup audit plan). If the labeled rows are a random sample of the positives, "
        'say so: labels_are="random", or --labels-are random.',
    }
    assert expected[word] in text
    odds = {"random": "", "biased": "odds of up to 20", "unknown": "odds of up to 5"}[word]
    assert ("Possible: what the value may be if labels favor high or low scores with" in text) == (
        bool(odds)
    )
    assert odds in text
    assert f"--labels-are {word}" in (folder / "r.html").read_text()
    light = json.loads(evaluate(EXAMPLE, *given, "--json", score="score_boosting").stdout)["light"]
    levels = {"random": "green", "biased": "red", "unknown": "amber"}
    assert light["level"] == levels[word]
    assert {"code", "level", "text"} <= set(light["reasons"][0])
    both = ("--score", "score_boosting", "--score", "score_logistic", "--label", "flagged")
    compared = run("compare", EXAMPLE, *both, *given[:4], *given[6:], *QUICK)
    assert "Reliability of score_boosting: " in " ".join(compared.stdout.split())


def test_another_word_for_labels_is_refused_in_one_line(scores):
    for command in ("evaluate", "compare"):
        both = ("--score", "p", "--score", "q") if command == "compare" else ("--score", "p")
        result = run(command, scores, *both, "--label", "flagged", "--labels-are", "fair")
        assert result.exit_code == 2
        assert "needs labels_are to be 'random', 'biased' or 'unknown'" in result.stderr


def test_compare_three_models_corrects_for_many_comparisons(scores):
    s, score = ramp()
    path = write_csv(Path("three.csv"), flagged=s, p=score, q=score[::-1], r=-score)
    result = run(
        *("compare", path, "--score", "p", "--score", "q", "--score", "r", "--label", "flagged"),
        *("--alpha", 0.1, "--threshold", 0, *QUICK),
    )
    assert result.exit_code == 0, result.stderr
    text = " ".join(result.stdout.split())
    assert "p is better than r" in text
    assert "after correction for 3 comparisons" in text


def test_compare_tells_an_undefined_metric(scores):
    s, score = ramp()
    path = write_csv(Path("low.csv"), flagged=s, p=score, q=score - 100)
    result = run(
        *("compare", path, "--score", "p", "--score", "q", "--label", "flagged"),
        *("--alpha", 0.1, "--threshold", 0, "--metric", "precision", *QUICK),
    )
    assert result.exit_code == 0, result.stderr
    text = " ".join(result.stdout.split())
    assert "Precision is undefined for q: p and q cannot be compared by it." in text
    assert "not shown to differ" not in text
    assert "nan" not in text


def test_compare_tells_an_undefined_test():
    s, score = ramp()
    comparison = recoup.compare(s, {"p": score, "q": -score}, alpha=0.1, threshold=0, n_boot=50)
    pair = replace(comparison.difference("p", "q"), p_value=np.nan)
    assert about_pair(pair, 1, comparison) == "Whether p and q differ is undefined here."


def test_compare_writes_a_report_with_its_command(scores):
    options = ["--alpha-interval", 0.05, 0.2, "--metric", "f1", "--threshold", "f1", *QUICK]
    command = ["compare", scores, "--score", "p", "--score", "q", "--label", "flagged", *options]
    result = run(*command, "--report", "r.html")
    assert result.exit_code == 0, result.stderr
    assert "Wrote r.html" in result.stdout
    page = html.unescape(Path("r.html").read_text())
    shown = re.search("<pre><code>recoup (.*?)</code></pre>", page).group(1)
    again = [json.loads(run(*words, "--json").stdout) for words in (command, shlex.split(shown))]
    assert again[0] == again[1]
    assert "2 models in scores.csv" in page
    best = max(again[0]["models"].items(), key=lambda item: item[1]["metrics"]["f1"]["recovered"])
    assert f"{best[0]} has the best F1" in page


@pytest.mark.parametrize("name", ["evaluate", "compare"])
def test_reports_are_refused_before_any_work(name, scores, folder):
    more = ["--score", "q"] if name == "compare" else []
    for target, problem in (("r.txt", ".html or .htm"), ("no/r.html", "no folder no")):
        result = run(
            name, scores, "--score", "p", *more, "--label", "flagged", "--alpha", 0.1,
            "--report", target,
        )  # fmt: skip
        assert result.exit_code == 2
        assert problem in result.stderr
    assert [path.name for path in folder.iterdir()] == ["scores.csv"]


def test_truth_of_the_demo_is_what_scikit_learn_says():
    from sklearn import metrics

    example = recoup.load_example()
    score = example.scores["score_boosting"]
    known = recoup.evaluate(example.y_true, score, alpha=0.0, threshold=0.02, n_boot=0)
    y_pred = score >= 0.02
    assert known["roc_auc"].recovered == pytest.approx(metrics.roc_auc_score(example.y_true, score))
    for key, function in (
        ("precision", metrics.precision_score),
        ("recall", metrics.recall_score),
        ("f1", metrics.f1_score),
        ("matthews_corrcoef", metrics.matthews_corrcoef),
    ):
        assert known[key].recovered == pytest.approx(function(example.y_true, y_pred)), key


def test_list_metrics_names_all():
    result = run("list", "metrics")
    example = recoup.load_example()
    for key in recoup.evaluate(example.s, example.scores["score_boosting"], alpha=0.3, n_boot=0):
        assert key in result.stdout


def test_list_metrics_as_json():
    found = {row["key"]: row for row in json.loads(run("list", "metrics", "--json").stdout)}
    assert set(found) == {*POINT_METRICS, *AREA_METRICS}
    assert found["log_loss"]["high"] is None
    assert found["brier"]["higher_is_better"] is False
    assert all(row["label"] and row["kind"] for row in found.values())


def test_list_metrics_says_what_evaluate_leaves_out():
    example = recoup.load_example()
    score = example.scores["score_boosting"]
    given = set(recoup.evaluate(example.s, score, alpha=0.3, n_boot=0))
    assert {*POINT_METRICS, *AREA_METRICS} - given == {"fbeta"}
    text = " ".join(run("list", "metrics", "--help").stdout.split())
    assert "List the metrics that can be recovered; evaluate gives all of them but fbeta." in text


def test_version():
    assert run("--version").stdout == f"recoup {recoup.__version__}\n"


def test_no_labels_above_chance_is_said(folder):
    rng = np.random.default_rng(3)
    path = write_csv(folder / "noise.csv", flagged=ramp()[0], p=rng.normal(size=400))
    text = " ".join(evaluate(path, "--alpha", 0.1).stdout.split())
    assert "It is not shown to beat chance" in text


def test_turned_scores_are_said(folder):
    s, score = ramp()
    path = write_csv(folder / "turned.csv", flagged=s, p=-score)
    text = " ".join(evaluate(path, "--alpha", 0.1).stdout.split())
    assert "It ranks positives below negatives" in text


def test_alpha_beyond_the_scores_is_said_once_and_not_as_python_warning(folder):
    s, score = ramp(4000, 1000)
    path = write_csv(folder / "high.csv", flagged=s, p=score + 4 * s)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        result = evaluate(path, "--alpha", 0.9)
    assert result.exit_code == 0
    assert result.stderr == ""
    text = " ".join(result.stdout.split())
    assert "Do not trust these numbers" in text
    assert ClippedEstimateWarning.__name__ not in text


def test_names_with_markup_and_quotes_stay_text(folder):
    s, score = ramp()
    name = '[bold red]"p"[/] \x1b[31m'
    path = folder / "[x].parquet"
    pq.write_table(pa.table({'la"bel': s, name: score}), folder / "odd.parquet")
    (folder / "odd.parquet").rename(path)
    link = folder / "plain.parquet"
    link.symlink_to(path)
    result = evaluate(link, "--alpha", 0.1, "--report", "r.html", score=name, label='la"bel')
    assert result.exit_code == 0, result.stderr
    assert '[bold red]"p"[/]' in result.stdout
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_plot_formats(scores, suffix):
    assert evaluate(scores, "--alpha", 0.1, "--plot", f"plot.{suffix}").exit_code == 0
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix]
    assert Path(f"plot.{suffix}").read_bytes().startswith(start)


def test_outputs_replace_files_and_keep_links(scores, folder):
    (folder / "old.html").write_text("old")
    (folder / "link.html").symlink_to(folder / "old.html")
    assert evaluate(scores, "--alpha", 0.1, "--report", "link.html").exit_code == 0
    assert (folder / "link.html").is_symlink()
    assert "<!DOCTYPE html>" in (folder / "old.html").read_text()
    assert sorted(path.name for path in folder.iterdir()) == ["link.html", "old.html", "scores.csv"]


def bad_rows(**changes):
    def make(path):
        s, score = ramp()
        columns = {"flagged": s.astype(object), "p": score.astype(object)}
        for name, (place, value) in changes.items():
            columns[name][place] = value
        write_csv(path, **columns)

    return make


def all_equal(value):
    def make(path):
        s, score = ramp()
        write_csv(path, flagged=[value] * len(s), p=score)

    return make


good = bad_rows()

# Name of the case: how to make the file, what to add to the command, what the line must say.
BAD = {
    "alpha at beta": (good, ["--alpha", 0.6, "--beta", 0.6], "0 <= alpha < beta <= 1"),
    "alpha above 1": (good, ["--alpha", 1.5], "alpha in [0, 1]"),
    "alpha below 0": (good, ["--alpha", -0.1], "alpha in [0, 1]"),
    "alpha not a number": (good, ["--alpha", "nan"], "alpha in [0, 1]"),
    "alpha as text": (good, ["--alpha", "many"], "--alpha"),
    "beta above 1": (good, ["--alpha", 0.1, "--beta", 2], "beta in [0, 1]"),
    "interval outside": (good, ["--alpha-interval", 0.5, 1.5], "alpha in [0, 1]"),
    "interval with one end": (good, ["--alpha-interval", 0.5], "--alpha-interval"),
    "alpha twice": (good, ["--alpha", 0.1, "--alpha-interval", 0.1, 0.2], "not both"),
    "alpha as a mistyped word": (good, ["--alpha", "estimat"], "--alpha to be a share"),
    "no such prior method": (good, ["--prior-method", "bbee"], "Did you mean 'bbe'?"),
    "prior method beside alpha": (good, ["--alpha", 0.1, "--prior-method", "bbe"], "Drop one"),
    "beta as text": (good, ["--alpha", 0.1, "--beta", "few"], "--beta to be a share"),
    "beta alone estimated": (good, ["--alpha", 0.1, "--beta", "estimate"], "alpha='estimate'"),
    "too few rows for an estimate": (
        lambda path: write_csv(path, flagged=[1, 0, 0], p=[3, 2, 1]),
        ["--prior-method", "bbe"],
        "cannot estimate alpha",
    ),
    "bad scheme": (good, ["--alpha", 0.1, "--scheme", "both"], "single-sample"),
    "bad metric": (good, ["--alpha", 0.1, "--threshold", "f2"], "no metric 'f2'"),
    "area as threshold": (
        good,
        ["--alpha", 0.1, "--threshold", "roc_auc"],
        "metric of one threshold",
    ),
    "infinite threshold": (good, ["--alpha", 0.1, "--threshold", "inf"], "finite threshold"),
    "threshold nan": (good, ["--alpha", 0.1, "--threshold", "nan"], "finite threshold"),
    "confidence": (good, ["--alpha", 0.1, "--confidence", 95], "confidence between 0 and 1"),
    "negative n-boot": (good, ["--alpha", 0.1, "--n-boot", -1], "--n-boot"),
    "negative seed": (good, ["--alpha", 0.1, "--seed", -1], "--seed"),
    "unknown option": (good, ["--alfa", 0.1], "--alfa"),
    "label 2": (bad_rows(flagged=(7, 2)), ["--alpha", 0.1], "Got 2"),
    "label text": (bad_rows(flagged=(7, "maybe")), ["--alpha", 0.1], "Got 'maybe'"),
    "label missing": (bad_rows(flagged=(7, "")), ["--alpha", 0.1], "labels to be 1"),
    "no labeled": (all_equal(0), ["--alpha", 0.1], "0 labeled"),
    "no unlabeled": (all_equal(1), ["--alpha", 0.1], "0 unlabeled"),
    "score nan": (bad_rows(p=(7, "nan")), ["--alpha", 0.1], "finite number"),
    "score missing": (bad_rows(p=(7, "")), ["--alpha", 0.1], "finite number"),
    "score inf": (bad_rows(p=(7, "-inf")), ["--alpha", 0.1], "finite number"),
    "score text": (bad_rows(p=(7, "high")), ["--alpha", 0.1], "Got 'high'"),
    "a million digits": (bad_rows(p=(7, "9" * 1_000_000)), ["--alpha", 0.1], "finite number"),
    "a million letters": (bad_rows(p=(7, "x" * 1_000_000)), ["--alpha", 0.1], "1,000,000"),
    "no such weight": (good, ["--alpha", 0.1, "--weight", "flaged"], "Did you mean 'flagged'?"),
    "negative weight": (good, ["--alpha", 0.1, "--weight", "p"], "not negative"),
    "empty file": (lambda path: path.write_text(""), ["--alpha", 0.1], "empty"),
    "header alone": (lambda path: path.write_text("flagged,p\n"), ["--alpha", 0.1], "row"),
    "bytes": (lambda path: path.write_bytes(bytes(range(256)) * 9), ["--alpha", 0.1], "recoup: "),
    "plot folder": (good, ["--alpha", 0.1, "--plot", "no/plot.png"], "no folder no"),
    "plot type": (good, ["--alpha", 0.1, "--plot", "plot.docx"], ".png"),
    "report folder": (good, ["--alpha", 0.1, "--report", "no/r.html"], "no folder no"),
    "report type": (good, ["--alpha", 0.1, "--report", "scores.csv"], ".html"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_ends_in_one_line_and_writes_nothing(case, folder):
    make, options, text = BAD[case]
    make(folder / "scores.csv")
    before = sorted(folder.rglob("*"))
    outputs = [] if "--report" in options or "--plot" in options else ["--report", "r.html"]
    result = run(
        *("evaluate", "scores.csv", "--score", "p", "--label", "flagged", *options, *outputs)
    )
    assert_one_line(result, text, folder, before)


@pytest.mark.parametrize(
    "case", [name for name, (make, *_) in BAD.items() if make is not good or "alpha" in name]
)
def test_compare_refuses_the_same_rows(case, folder):
    make, options, text = BAD[case]
    make(folder / "scores.csv")
    before = sorted(folder.rglob("*"))
    result = run(
        *("compare", "scores.csv", "--score", "p", "--score", "flagged", "--label", "flagged"),
        *(*options, "--plot", "c.png"),
    )
    if case in ("score nan", "score missing", "score inf", "a million digits"):
        text = "finite"
    if case.startswith("label"):
        text = "recoup: "
    assert_one_line(result, text, folder, before)


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["--score", "pp", "--label", "flagged"], "no column 'pp'"),
        (["--score", "P", "--label", "flagged"], "no column 'P'"),
        (["--score", "p", "--label", "flaged"], "Did you mean 'flagged'?"),
        (["--score", '"; drop', "--label", "flagged"], "no column"),
        (["--score", "p\n[red]", "--label", "flagged"], "no column"),
        (["--label", "flagged"], "--score"),
        (["--score", "p"], "--label"),
    ],
)
def test_missing_columns(args, text, scores, folder):
    before = sorted(folder.rglob("*"))
    assert_one_line(run("evaluate", scores, *args, "--alpha", 0.1), text, folder, before)


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("gone.csv", None, "no such file"),
        ("gone-*.parquet", None, "no such file"),
        ("garbage.parquet", b"garbage " * 100, "Cannot read"),
        ("cut.parquet", Path(EXAMPLE).read_bytes()[:5000], "Cannot read"),
        ("book.xlsx", b"PK", "parquet, .csv and .tsv"),
        (".", None, "no such file"),
        ("x" * 5000 + ".csv", None, ""),
    ],
)
@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_unreadable_files(command, name, content, text, folder):
    if content is not None:
        (folder / name).write_bytes(content)
    before = sorted(folder.rglob("*"))
    result = run(command, name, "--score", "p", "--score", "q", "--label", "s", "--alpha", 0.1)
    assert_one_line(result, text, folder, before)


def test_text_scores_in_parquet(folder):
    table = pa.table({"s": [1, 0, 1, 0], "p": ["a", "b", "c", "d"], "q": [1.0, 2.0, 3.0, 4.0]})
    pq.write_table(table, folder / "text.parquet")
    before = sorted(folder.rglob("*"))
    for args in (
        ["evaluate", "text.parquet", "--score", "p"],
        ["compare", "text.parquet", "--score", "p", "--score", "q"],
    ):
        result = run(*args, "--label", "s", "--alpha", 0.1)
        assert_one_line(result, "numbers", folder, before)


def test_compare_needs_two_models_and_a_known_metric(scores, folder):
    before = sorted(folder.rglob("*"))
    shared = ["compare", scores, "--label", "flagged", "--alpha", 0.1]
    for more, text in (
        (["--score", "p"], "two or more"),
        (["--score", "p", "--score", "p"], "two or more"),
        (["--score", "p", "--score", "q", "--metric", "rocauc"], "Did you mean 'roc_auc'?"),
        (["--score", "p", "--score", "q", "--metric", "brier"], "[0, 1]"),
    ):
        assert_one_line(run(*shared, *more), text, folder, before)


def test_outputs_never_replace_the_scores_or_a_device(folder):
    s, score = ramp()
    pq.write_table(pa.table({"flagged": s, "p": score}), folder / "x.parquet")
    (folder / "same.html").symlink_to(folder / "x.parquet")
    (folder / "null.html").symlink_to("/dev/null")
    (folder / "folder.html").mkdir()
    before = sorted(folder.rglob("*"))
    for name, text in (
        ("same.html", "overwrite the scores"),
        ("null.html", "not a file"),
        ("folder.html", "not a file"),
    ):
        result = evaluate("x.parquet", "--alpha", 0.1, "--report", name)
        assert_one_line(result, text, folder, before)


def test_demo_refuses_a_file_as_folder(folder):
    (folder / "taken").write_text("")
    before = sorted(folder.rglob("*"))
    assert_one_line(run("demo", "--out", "taken"), "not a folder", folder, before)
    assert_one_line(run("demo", "--out", "taken/below"), "taken", folder, before)


def test_a_full_disk_leaves_nothing_behind(scores, folder, monkeypatch):
    def full(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    before = sorted(folder.rglob("*"))
    result = evaluate(scores, "--alpha", 0.1, "--report", "r.html")
    assert_one_line(result, "No space left on device", folder, before)


def test_unknown_commands_and_no_command():
    result = run("frobnicate")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert result.stderr.endswith("'frobnicate'. See recoup --help.\n")
    result = run("evaluat")
    assert result.stderr.endswith("Did you mean 'evaluate'? See recoup --help.\n")
    result = run()
    assert result.exit_code in (0, 2)
    assert "evaluate" in result.stdout + result.stderr


@pytest.fixture
def bare(folder):
    """An environment without a display and without pandas, which no command may need."""
    (folder / "pandas.py").write_text("raise ImportError('not here')\n")
    environment = {key: value for key, value in os.environ.items() if key != "DISPLAY"}
    return environment | {"PYTHONPATH": str(folder), "MPLBACKEND": "tkagg"}


def test_demo_holds_result_against_the_truth(bare, folder):
    done = run_process("demo", "--no-run", "--out", "deep/demo", env=bare, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    text = " ".join(done.stdout.split())
    assert "Metric PU value Recovered 95% interval Truth" in text
    assert "AUC 0.817 0.963 0.942 to 0.983 0.960" in text
    assert "The truth lies in" in text
    assert "Estimated from labels and scores alone it is 0." in text
    assert "the truth is 0.317." in text
    assert "Reliability: good (green)." in text
    assert "The flags were drawn at random among the spam" in text
    written = sorted(path.name for path in (folder / "deep/demo").iterdir())
    assert written == ["audited.html", "evaluation.png", "report.html"]


def test_demo_checks_rows_by_hand(folder):
    done = run("demo", "--no-run", "--out", "checked")
    assert done.exit_code == 0, done.stderr
    lines = {line.split()[0]: line for line in done.stdout.splitlines() if line.strip()}
    assert "the demo knows the truth of these rows" in " ".join(done.stdout.split())
    for name in ("Precision", "Recall", "AUC", "Alpha"):
        row = next(line for line in done.stdout.splitlines() if f"{name} " in line and "±" in line)
        *_, before, after = re.findall(r"[0-9.]+ to [0-9.]+", row)
        truth = float(row.split()[-1])
        for ends in (before, after):
            low, high = map(float, ends.split(" to "))
            assert low <= truth <= high
    assert lines["Labels"].startswith("Labels look like a random sample")
    assert "Checked by hand" in Path("checked/audited.html").read_text()


def test_a_report_may_be_markdown_or_json(scores):
    for name in ("r.md", "r.json"):
        done = evaluate(scores, "--alpha", 0.1, "--report", name)
        assert done.exit_code == 0, done.stderr
    call = f"recoup evaluate {scores} --score p --label flagged"
    assert f"\n    {call}" in Path("r.md").read_text()
    assert json.loads(Path("r.json").read_text())["call"].startswith(call)


def test_the_page_says_how_to_choose_rows_to_check(folder):
    page = folder / "page.html"
    options = ("--score", "score_boosting", "--label", "flagged", "--threshold", "0.02")
    done = run("evaluate", EXAMPLE, *options, "--alpha", 0.3, "--n-boot", 0, "--report", page)
    assert done.exit_code == 0, done.stderr
    command = re.search('<code id="plan-call">(.+?)</code>', page.read_text())[1]
    words = shlex.split(html.unescape(command))
    assert words[:3] == ["recoup", "audit", "plan"]
    planned = run(*words[1:])
    assert planned.exit_code == 0, planned.stderr
    assert len(Path("to_check.csv").read_text().splitlines()) == 1 + 120 // 2


def test_process_prints_json_alone(bare, folder):
    done = run_process(
        *("evaluate", EXAMPLE, "--score", "score_boosting", "--label", "flagged"),
        *("--alpha", 0.3, "--json"),
        env=bare,
        cwd=folder,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["alpha"] == 0.3


def test_process_fails_in_one_line(folder):
    done = run_process("evaluate", "gone.csv", "--score", "p", "--label", "s", "--alpha", 0.1)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("recoup: Cannot find gone.csv")
    assert done.stderr.count("\n") == 1


def test_process_shows_names_that_the_terminal_cannot(folder):
    s, score = ramp()
    pq.write_table(pa.table({"метка": s, "оценка": score}), folder / "x.parquet")
    done = run_process(
        *("evaluate", "x.parquet", "--score", "оценка", "--label", "метка", "--alpha", 0.1, *QUICK),
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        cwd=folder,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "in x.parquet" in done.stdout


def test_a_closed_pipe_is_no_error():
    command = f"{sys.executable} -m recoup.cli list metrics | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""


@pytest.fixture
def heeded_interrupt():
    # Shells start jobs in the background with this signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeded_interrupt")
def test_interrupt_ends_with_130(scores, folder, monkeypatch):
    def interrupted(*args, **options):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("recoup.evaluation.evaluate", interrupted)
    result = evaluate(scores, "--alpha", 0.1, "--report", "r.html")
    assert result.exit_code == 130
    assert "Traceback" not in result.output
    assert [path.name for path in folder.iterdir()] == ["scores.csv"]


def test_compare_takes_a_queue_and_weights(folder):
    s, score = ramp()
    weights = np.where(np.arange(len(s)) % 3 == 0, 2.0, 1.0)
    path = write_csv(folder / "both.csv", flagged=s, p=score, q=score[::-1], w=weights)
    both = ("compare", path, "--score", "p", "--score", "q", "--label", "flagged", "--alpha", 0.1)
    result = run(*both, "--queue", 0.3, "--weight", "w", "--json", *QUICK)
    direct = recoup.compare(
        s,
        {"p": score, "q": score[::-1]},
        alpha=0.1,
        queue=0.3,
        sample_weight=weights,
        n_boot=200,
    )
    assert_same_comparison(result, direct)
    twice = run(*both, "--queue", 10, "--recall", 0.5, *QUICK)
    assert twice.exit_code == 2
    assert "Got queue and recall" in " ".join(twice.stderr.split())
    told = run(*both, "--recall", 0.5, "--metric", "precision", *QUICK)
    assert "at recall 0.5" in " ".join(told.stdout.split())


class TestPromises:
    OPTIONS = ("--score", "p", "--label", "flagged", "--alpha", 0.1, "--beta", 1)

    def test_promise_queue_and_json(self, scores):
        done = run(
            *("evaluate", scores, *self.OPTIONS, "--n-boot", 0),
            *("--promise", "recall=0.5", "--promise", "cost=1:20", "--queue", 60, "--json"),
        )
        assert done.exit_code == 0
        found = json.loads(done.stdout)
        evaluation = recoup.evaluate(
            ScoreTable.from_file(scores, label="flagged", score="p"),
            alpha=0.1,
            beta=1.0,
            n_boot=0,
        )
        expected = evaluation.certify(recall=0.5, cost={"fp": 1, "fn": 20}, queue=60)
        assert found["promise"] == json.loads(json.dumps(expected.to_dict()))
        assert found["top"] == json.loads(json.dumps(evaluation.at_top(60).to_dict()))

    def test_said_on_the_terminal_and_in_reports(self, scores, folder):
        done = run(
            *("evaluate", scores, *self.OPTIONS, "--n-boot", 0, "--promise", "precision=0.999"),
            *("--report", folder / "r.md"),
        )
        said = " ".join(done.stdout.split())
        assert done.exit_code == 0
        assert "No threshold: precision of at least 0.999 cannot be promised at 95%." in said
        page = (folder / "r.md").read_text()
        assert "## No threshold to promise" in page
        assert "--promise precision=0.999" in page

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--promise", "precision"], "needs --promise as precision=0.9"),
            (["--promise", "auc=0.9"], "needs --promise as precision=0.9"),
            (["--promise", "precision=high"], "needs --promise with a number"),
            (["--promise", "precision=1.5"], "needs precision to be a number above 0 and below 1"),
            (["--promise", "cost=3"], "needs --promise cost as two numbers"),
            (["--promise", "recall=0.5", "--promise", "recall=0.6"], "Got recall twice"),
            (["--maximise", "f1"], "needs --maximise only beside --promise"),
            (["--promise", "recall=0.5", "--maximise", "auc"], "needs maximise to be a metric"),
            (["--queue", "100000"], "needs no more rows than are judged"),
        ],
    )
    def test_bad_promises_are_one_line(self, scores, folder, options, message):
        before = sorted(folder.rglob("*"))
        done = run("evaluate", scores, *self.OPTIONS, "--n-boot", 0, *options)
        assert_one_line(done, message, folder, before)
