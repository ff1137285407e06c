"""recoup prior, recoup list priors, and the commands that estimate alpha by themselves."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import recoup
from commands import EXAMPLE, QUICK, assert_one_line, ramp, run, run_process, write_csv
from recoup._core.registry import registered
from recoup.priors import estimate

BBE = ["--prior-method", "bbe"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def rows(folder):
    """A file with two features, a constant word and a column that no classifier can take."""
    rng = np.random.default_rng(0)
    y = rng.random(900) < 0.5
    s = (y & (rng.random(900) < 0.5)).astype(int)
    x1, x2 = rng.normal(3.0 * y), rng.normal(size=900)
    kind = np.where(x1 > 0, "up", "down")
    name = [f"row {number}" for number in range(900)]
    write_csv(folder / "rows.csv", s=s, x1=x1, x2=x2, kind=kind, name=name)
    return "rows.csv", s, y


def prior(path, *args, label="flagged", score="score_boosting", method="bbe"):
    scores = [] if score is None else ["--score", score]
    return run("prior", path, "--label", label, *scores, "--method", method, *args)


def test_prior_prints_a_table_anyone_can_read():
    result = prior(EXAMPLE)
    assert (result.exit_code, result.stderr) == (0, "")
    example = recoup.load_example()
    found = estimate(example.s, example.scores["score_boosting"], method="bbe")
    text = " ".join(result.stdout.split())
    low, high = found.interval
    assert f"positives among unlabeled rows {found.alpha:.4f}" in text
    assert f"95% interval {low:.4f} to {high:.4f}" in text
    assert f"positives without a label {found.hidden.value:,.0f}" in text
    hidden, pi = found.hidden, found.pi
    assert f"95% interval {hidden.low:,.0f} to {hidden.high:,.0f}" in text
    assert f"positives among both {pi.value:.4f} 95% interval {pi.low:.4f} to {pi.high:.4f}" in text
    assert f"the scores alone allow 0 to {found.identified[1]:.2g}" in text
    assert found.scores_allow in text
    assert f"AUC_pu labeled row scores higher than unlabeled {found.auc_pu:.4f}" in text
    assert f"label_frequency positives that carry a label {found.label_frequency:.4f}" in text
    assert "n_labeled rows 521 n_unlabeled rows 4,080" in text
    assert "Method: bbe, from given scores." in text


def test_prior_json_is_json_alone_and_equals_the_library(folder):
    options = ["--confidence", 0.8, "--seed", 7]
    result = prior(EXAMPLE, *options, "--json", "--plot", "p.svg")
    example = recoup.load_example()
    direct = estimate(
        example.s,
        example.scores["score_boosting"],
        method="bbe",
        random_state=7,
        confidence=0.8,
    )
    assert result.stderr == ""
    found, expected = json.loads(result.stdout), direct.to_dict()
    assert {"alpha", "interval", "beta", "method", "members", "warnings"} <= set(found)
    del found["seconds"], expected["seconds"]
    assert found == expected
    assert (folder / "p.svg").read_bytes().startswith(b"<?xml")


def test_prior_by_default_asks_several_methods():
    result = prior(EXAMPLE, method="auto")
    assert (result.exit_code, result.stderr) == (0, "")
    text = " ".join(result.stdout.split())
    assert "alpha by this method alone" in text
    assert "Method: auto" in text


@pytest.mark.parametrize("method", ["auto", "bbe", "noisy-pu"])
@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ([], {}),
        (["--beta", "estimate"], {"beta": "estimate"}),
        (["--confidence", 0.8, "--seed", 7], {"confidence": 0.8, "random_state": 7}),
    ],
)
def test_prior_and_evaluate_find_the_same_alpha(method, options, settings, folder):
    rng = np.random.default_rng(3)
    n_wrong = 40  # labels of negatives, which only --beta estimate allows for
    true = np.r_[np.ones(400), np.zeros(n_wrong), np.ones(500), np.zeros(1500)]
    s = np.r_[np.ones(400 + n_wrong), np.zeros(2000)].astype(int)
    scores = 1 / (1 + np.exp(-rng.normal(3 * true - 1.5)))
    path = write_csv(folder / "rows.csv", s=s, p=scores)
    shared = ["--label", "s", "--score", "p", "--json", *options]
    alone = run("prior", path, *shared, "--method", method)
    more = ["--prior-method", method, "--n-boot", 0, "--threshold", 0.3]
    within = run("evaluate", path, *shared, *more)
    found, used = json.loads(alone.stdout), json.loads(within.stdout)
    assert used["alpha"] == found["alpha"]
    del found["seconds"]
    assert used["prior"] == found
    direct = estimate(s, scores, method=method, **settings)
    assert (direct.alpha, list(direct.interval)) == (found["alpha"], found["interval"])


def test_prior_from_features(rows):
    path, s, y = rows
    result = prior(path, "--json", label="s", score=None)
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["transform"] != "given scores"
    assert found["alpha"] == pytest.approx(y[s == 0].mean(), abs=0.1)
    text = " ".join(prior(path, label="s", score=None).stdout.split())
    assert "Note: Read from: x1, x2, kind." in text
    assert "Note: These columns were not looked at: name has 900 different words" in text
    chosen = prior(path, "--features", "x1", "--json", label="s", score=None)
    assert json.loads(chosen.stdout)["alpha"] == pytest.approx(y[s == 0].mean(), abs=0.1)


def test_prior_estimates_beta(rows):
    result = run("prior", rows[0], "--label", "s", "--score", "x1", "--beta", "estimate", "--json")
    assert result.exit_code == 0, result.stderr
    assert 0.8 < json.loads(result.stdout)["beta"] <= 1


def test_prior_takes_weights(folder):
    s, score = ramp(1500, 200)
    path = write_csv(folder / "w.csv", flagged=s, p=score, w=np.ones(len(s)))
    plain, weighted = (
        json.loads(prior(path, *more, "--json", score="p").stdout)
        for more in ([], ["--weight", "w"])
    )
    assert plain["alpha"] == weighted["alpha"]


def test_warnings_are_printed(folder):
    s, score = ramp()
    path = write_csv(folder / "few.csv", flagged=s, p=score)
    text = " ".join(prior(path, score="p").stdout.split())
    assert "Note: Only 60 labeled rows" in text


BAD = {
    "label missing": (["--label", "z", "--score", "p"], "no column 'z'"),
    "no such score": (["--label", "flagged", "--score", "q"], "no column 'q'"),
    "no such method": (["--label", "flagged", "--score", "p", "--method", "bbee"], "Did you mean"),
    "beta above 1": (
        ["--label", "flagged", "--score", "p", "--beta", 2],
        "beta, the share of true",
    ),
    "beta with one method": (
        ["--label", "flagged", "--score", "p", "--method", "bbe", "--beta", 0.9],
        "beta=0.9 is known",
    ),
    "beta as text": (["--label", "flagged", "--score", "p", "--beta", "few"], "--beta"),
    "confidence": (["--label", "flagged", "--score", "p", "--confidence", 95], "confidence"),
    "both": (["--label", "flagged", "--score", "p", "--features", "p"], "not both"),
    "weight alone": (["--label", "flagged", "--weight", "p"], "beside --score"),
    "label as feature": (["--label", "flagged", "--features", "flagged"], "column of --label"),
    "no such feature": (["--label", "flagged", "--features", "q"], "no column 'q'"),
    "no label": (["--score", "p"], "--label"),
    "labels that are none": (["--label", "p"], "labels to be 1"),
    "labels that are text": (["--label", "word"], "Got 'high'"),
    "scores as text": (["--label", "flagged", "--score", "word"], "Got 'high'"),
    "plot type": (["--label", "flagged", "--score", "p", "--plot", "p.txt"], ".png"),
    "plot folder": (["--label", "flagged", "--score", "p", "--plot", "no/p.png"], "no folder"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_ends_in_one_line(case, folder):
    s, score = ramp()
    write_csv(folder / "scores.csv", flagged=s, p=score, word=["high"] * len(s))
    before = sorted(folder.rglob("*"))
    options, text = BAD[case]
    assert_one_line(run("prior", "scores.csv", *options), text, folder, before)


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"flagged": [1, 0, 0], "p": [3, 2, 1]}, "20 labeled"),
        ({"flagged": [0] * 100, "p": range(100)}, "0 labeled"),
        ({"flagged": [1] * 100, "p": range(100)}, "0 unlabeled"),
        ({"flagged": [1] * 30 + [0] * 100, "p": [0.5] * 130}, "for all rows"),
        ({"flagged": [1] * 30 + [0] * 100, "p": ["nan"] * 130}, "finite"),
        ({"flagged": [], "p": []}, "row"),
    ],
)
def test_rows_that_allow_no_estimate(columns, text, folder):
    write_csv(folder / "scores.csv", **columns)
    before = sorted(folder.rglob("*"))
    for command in (["prior"], ["evaluate"]):
        result = run(*command, "scores.csv", "--label", "flagged", "--score", "p")
        assert_one_line(result, text, folder, before)


def test_rows_without_usable_features(folder):
    names = [f"row {number}" for number in range(200)]
    pq.write_table(pa.table({"s": [1, 0] * 100, "name": names}), folder / "x.parquet")
    before = sorted(folder.rglob("*"))
    result = run("prior", "x.parquet", "--label", "s")
    assert_one_line(result, "200 different words", folder, before)
    assert_one_line(run("prior", "gone.csv", "--label", "s"), "no such file", folder, before)


def test_evaluate_estimates_alpha_unless_it_is_given(folder):
    shared = ["evaluate", EXAMPLE, "--label", "flagged", "--score", "score_boosting", *QUICK]
    result = run(*shared, "--report", "r.html")
    assert (result.exit_code, result.stderr) == (0, "")
    text = " ".join(result.stdout.split())
    assert "(estimated, auto)" in text
    page = (folder / "r.html").read_text()
    assert "How alpha was estimated" in page
    assert "--alpha " not in page
    found, asked = (
        json.loads(run(*shared, "--json", *more).stdout) for more in ([], ["--alpha", "estimate"])
    )
    assert found == asked
    assert found["prior"]["method"] == "auto"
    assert found["alpha_interval"] == found["prior"]["interval"]


def test_evaluate_takes_a_method_and_says_so_in_the_report(folder):
    shared = ["evaluate", EXAMPLE, "--label", "flagged", "--score", "score_boosting", *QUICK]
    result = run(*shared, *BBE, "--report", "r.html", "--json")
    found = json.loads(result.stdout)
    example = recoup.load_example()
    direct = recoup.evaluate(example.s, example.scores["score_boosting"], alpha="bbe", n_boot=200)
    expected = direct.to_dict()
    # The command of the next step names the file, and a call the arguments.
    assert found["next_step"].pop("command") != expected["next_step"].pop("command")
    assert found.pop("light")["level"] == "amber"
    assert found == json.loads(json.dumps(expected))
    assert "--prior-method bbe" in (folder / "r.html").read_text()


def test_compare_estimates_one_alpha_for_all_models():
    models = ["--score", "score_logistic", "--score", "score_boosting"]
    shared = ["compare", EXAMPLE, "--label", "flagged", *models, *QUICK, *BBE]
    result = run(*shared)
    assert (result.exit_code, result.stderr) == (0, "")
    text = " ".join(result.stdout.split())
    assert "(estimated, bbe) is the same for all models" in text
    assert "the scores of 'score_boosting'" in text
    found = json.loads(run(*shared, "--json").stdout)
    assert {one["alpha"] for one in found["models"].values()} == {found["prior"]["alpha"]}


def test_list_priors():
    text = run("list", "priors").stdout
    found = {row["key"]: row for row in json.loads(run("list", "priors", "--json").stdout)}
    assert set(found) == set(registered("priors"))
    for key, row in found.items():
        assert key in text
        assert {"reads", "assumes", "cost", "finds_beta", "selection", "source"} <= set(row)
    assert found["bbe"]["source"] in text


def test_listing_priors_pulls_in_no_torch():
    code = (
        "import sys; from recoup.cli import app; app(['list', 'priors'], standalone_mode=False);"
        "print([name for name in ('torch', 'numba', 'matplotlib') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]"


def test_prior_as_a_process(folder):
    done = run_process(
        *("prior", EXAMPLE, "--label", "flagged", "--score", "score_boosting"),
        *("--method", "bbe", "--json"),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["method"] == "bbe"


@pytest.fixture
def selected(folder):
    """A file whose labels favor clear positives, and the share of positives without a label."""
    rng = np.random.default_rng(0)
    y = rng.random(3000) < 0.3
    x1, x2 = rng.normal(2.0 * y), rng.normal(2.0 * y)
    clear = (y & (rng.random(3000) < 0.6 * (x1 > 2))).astype(int)
    random = (y & (rng.random(3000) < 0.3)).astype(int)
    write_csv(folder / "rows.csv", clear=clear, random=random, x1=x1, x2=x2, sum=x1 + x2)
    return "rows.csv", {"clear": y[clear == 0].mean(), "random": y[random == 0].mean()}


@pytest.mark.parametrize(
    "source", [["--score", "sum"], ["--features", "x1", "--features", "x2"]], ids=["score", "rows"]
)
def test_scar_tells_selected_labels_from_random_ones(source, selected, folder):
    path, alphas = selected
    shared = [*source, "--plot", "p.png"]
    clear = run("scar", path, "--label", "clear", "--alpha", alphas["clear"], *shared)
    assert (clear.exit_code, clear.stderr) == (0, "")
    text = " ".join(clear.stdout.split())
    assert "The labels are no random sample of the positives" in text
    assert (folder / "p.png").read_bytes().startswith(b"\x89PNG")
    found = run("scar", path, "--label", "random", "--alpha", alphas["random"], *shared, "--json")
    plain = json.loads(found.stdout)
    assert plain["p_value"] > 0.05
    random = run("scar", path, "--label", "random", "--alpha", alphas["random"], *shared)
    assert "Nothing speaks against labels at random" in " ".join(random.stdout.split())


def test_scar_takes_a_range_of_alpha(selected):
    path, alphas = selected
    low, high = alphas["clear"] - 0.02, alphas["clear"] + 0.02
    shared = ["scar", path, "--label", "clear", "--score", "sum", "--json"]
    by_range = json.loads(run(*shared, "--alpha-interval", low, high).stdout)
    by_number = json.loads(run(*shared, "--alpha", low, "--seed", 0).stdout)
    assert by_range.pop("alpha_range") == pytest.approx([low, high])
    assert by_number.pop("alpha_range") is None
    assert by_range == by_number


def test_scar_says_which_alpha_was_given_and_which_was_tested(selected):
    path, _ = selected
    shared = ["scar", path, "--label", "random", "--score", "sum", "--n-resamples", 19]
    by_range = " ".join(run(*shared, "--alpha-interval", 0.15, 0.35).stdout.split())
    assert "unlabeled rows, as tested 0.1500" in by_range
    assert "what was given for it 0.1500 to 0.3500" in by_range
    assert "Alpha was given as 0.15 to 0.35. The test was made with 0.15, the lowest" in by_range
    by_number = " ".join(run(*shared, "--alpha", 0.15).stdout.split())
    assert "alpha_range" not in by_number
    assert "The test was made with the alpha that was given, 0.15." in by_number
    estimated = " ".join(run(*shared).stdout.split())
    assert "what was estimated for it" in estimated
    assert "Alpha was estimated as" in estimated


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--label", "z"], "no column 'z'"),
        (["--label", "clear", "--score", "z"], "no column 'z'"),
        (["--label", "clear", "--score", "x1", "--features", "x2"], "not both"),
        (["--label", "clear", "--features", "clear"], "column of --label"),
        (["--label", "clear", "--alpha", 0.1, "--alpha-interval", 0.1, 0.2], "not both"),
        (["--label", "clear", "--score", "x1", "--alpha", 2], "alpha in [0, 1]"),
        (["--label", "clear", "--score", "x1", "--n-resamples", 3], "n_resamples"),
        (["--label", "x1", "--score", "x2"], "labels to be 1"),
        (["--label", "clear", "--plot", "p.txt"], ".png"),
    ],
)
def test_scar_refuses_in_one_line(options, text, selected, folder):
    before = sorted(folder.rglob("*"))
    assert_one_line(run("scar", selected[0], *options), text, folder, before)
