"""From a raw table to an answer in one command."""

import json
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from commands import assert_one_line, run
from recoup import learners
from recoup.cli import run as command

N = 400


def raw(n=N, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.35
    flagged = y & (rng.random(n) < 0.5)
    spent = rng.normal(2.0 * y)
    days = rng.integers(0, 700, n)
    frame = pd.DataFrame(
        {
            "client": [f"C{k:05d}" for k in range(n)],
            "spent": [f"{value:.2f}".replace(".", ",") for value in spent],
            "country": rng.choice(["fr", "de", "it"], n),
            "visits": np.where(rng.random(n) < 0.1, np.nan, rng.poisson(3 + 4 * y)),
            "opened": (np.datetime64("2023-01-01") + days).astype(str),
            "case_worker": np.where(flagged, "somebody", ""),
            "flagged": np.where(flagged, "yes", ""),
        }
    )
    return frame, y


@pytest.fixture(autouse=True)
def quick_learner(monkeypatch):
    """As little as the learner can do: what it finds has tests of its own."""
    few = partial(learners.AutoPU, candidates=["logistic", "boosting"], n_folds=2)
    monkeypatch.setattr(learners, "AutoPU", few)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("run")
    frame, y = raw()
    frame.to_csv(place / "raw.csv", index=False)
    np.save(place / "y.npy", y)
    with pytest.MonkeyPatch.context() as patch:
        few = partial(learners.AutoPU, candidates=["logistic", "boosting"], n_folds=2)
        patch.setattr(learners, "AutoPU", few)
        result = run(*words(place))
    assert result.exit_code == 0, result.output
    (place / "stdout.txt").write_text(result.stdout)
    return place


def words(place, *more):
    chosen = ("--label", "flagged", "--id", "client", "--time", "opened", "--out", place / "out")
    return ("run", place / "raw.csv", *chosen, *more)


def test_what_is_found_agrees_with_the_truth(folder):
    y = np.load(folder / "y.npy")
    frame, _ = raw()
    scores = pd.read_parquet(folder / "out" / "scores.parquet")
    assert list(scores.columns) == ["id", "label", "score", "probability", "fold"]
    assert (scores["id"] == frame["client"]).all()
    assert (scores["label"] == (frame["flagged"] == "yes")).all()
    assert set(scores["fold"]) == {0, 1}
    chance = scores["probability"].to_numpy()
    assert np.mean(np.subtract.outer(chance[y], chance[~y]) > 0) > 0.9
    summary = json.loads((folder / "out" / "summary.json").read_text())
    auc = summary["metrics"]["roc_auc"]
    assert auc["low"] <= np.mean(np.subtract.outer(chance[y], chance[~y]) > 0) <= auc["high"]
    hidden = summary["hidden_positives"]
    assert hidden["low"] <= (y & (scores["label"] == 0)).sum() <= hidden["high"]
    roles = {column["name"]: column["role"] for column in summary["columns"]}
    assert roles == {
        "client": "id",
        "spent": "number",
        "country": "category",
        "visits": "number",
        "opened": "date",
        "case_worker": "leak",
    }


def test_files_fit_together(folder):
    out = folder / "out"
    scores = pd.read_parquet(out / "scores.parquet").set_index("id")
    suspects = pd.read_csv(out / "suspects.csv")
    limits = suspects[["lower", "probability", "upper"]].to_numpy()
    assert (np.diff(limits, axis=1) >= 0).all()
    assert (limits[:, 1] >= 0).all()
    assert (limits[:, 1] <= 1).all()
    assert suspects["probability"].is_monotonic_decreasing
    assert list(suspects["rank"]) == list(range(1, len(suspects) + 1))
    assert suspects["why"].str.contains("rows nearest in score are labeled").all()
    assert (scores.loc[suspects["id"], "label"] == 0).all()
    summary = json.loads((out / "summary.json").read_text())
    unlabeled = scores[scores["label"] == 0]
    called = (unlabeled["probability"] >= summary["threshold"]).sum()
    assert summary["called_positive"] == called
    assert len(suspects) == max(called, 100)
    assert "<html" in (out / "report.html").read_text()
    checks = pd.read_csv(out / "to_check.csv")
    assert len(checks) == 120
    assert "--budget 120" in (out / "report.html").read_text()
    truth = dict(zip(raw()[0]["client"], np.load(folder / "y.npy"), strict=True))
    checks["answer"] = ["yes" if truth[one] else "no" for one in checks["id"]]
    checks.to_csv(folder / "checked.csv", index=False)
    (folder / "checked.plan.json").write_bytes((out / "to_check.plan.json").read_bytes())
    audit = run("audit", "evaluate", out / "scores.parquet", folder / "checked.csv", "--json")
    assert audit.exit_code == 0, audit.output
    assert json.loads(audit.stdout)["audit"]["n_checked"] == 120


def test_what_is_printed_says_what_to_do_next(folder):
    text = " ".join((folder / "stdout.txt").read_text().split())
    for part in ("Hidden positives:", "Ranking:", "Threshold:", "Trust:", "Next: look at the 120"):
        assert part in text
    assert "Labels read as: yes: labeled positive" in text
    assert "case_worker is filled for labeled rows alone" in text
    assert "spent: read with a decimal comma" in text
    assert "recoup audit evaluate" in text


def test_the_model_scores_new_raw_rows(folder):
    frame, y = raw(seed=1)
    frame.drop(columns=["flagged", "case_worker"]).to_csv(folder / "new.csv", index=False)
    model = folder / "out" / "model"
    done = run("score", model, folder / "new.csv", "--out", folder / "scored.csv")
    assert done.exit_code == 0, done.output
    scored = pd.read_csv(folder / "scored.csv")["score"].to_numpy()
    assert np.mean(np.subtract.outer(scored[y], scored[~y]) > 0) > 0.9


def test_the_same_run_is_not_done_twice(folder):
    before = (folder / "out" / "summary.json").stat().st_mtime_ns
    again = run(*words(folder, "--json"))
    assert json.loads(again.stdout)["rows"] == N
    assert (folder / "out" / "summary.json").stat().st_mtime_ns == before
    assert "This run was done before" in run(*words(folder)).stdout


def test_a_stopped_run_goes_on_and_another_one_starts_anew(folder, monkeypatch):
    from recoup.learners import auto_pu

    (folder / "raw2.csv").write_bytes((folder / "raw.csv").read_bytes())
    arguments = ("run", folder / "raw2.csv", "--label", "flagged", "--out", folder / "stopped")
    # Said both times: alpha, with which the AUC is recovered, goes by it.
    arguments += ("--labels-are", "random")
    fits = []
    fit = auto_pu.fit_candidate

    def watched(candidate, *rest):
        fits.append(candidate.key)
        if len(fits) == 3:
            raise KeyboardInterrupt
        return fit(candidate, *rest)

    monkeypatch.setattr(auto_pu, "fit_candidate", watched)
    assert run(*arguments).exit_code == 130
    assert not (folder / "stopped" / "summary.json").exists()
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert "Going on where the last run stopped" in result.stderr
    # Two of four fits of the folds were kept; the third came again, and so did the two last ones.
    assert len(fits) == 3 + 4
    first = json.loads((folder / "stopped" / "summary.json").read_text())
    assert not (folder / "stopped" / "finished-folds").exists()
    other = run(*arguments, "--queue", 30)
    assert "another table or with other options" in " ".join(other.stderr.split())
    second = json.loads((folder / "stopped" / "summary.json").read_text())
    assert second["called_positive"] == 30
    assert second["metrics"]["roc_auc"]["value"] == first["metrics"]["roc_auc"]["value"]


def changed(**columns):
    return lambda frame: frame.assign(**columns)


WRONG = {
    "no label column": ([], ["--label", "flaged"], "Did you mean 'flagged'?"),
    "no positive label": ([changed(flagged="")], [], "Got no labeled positive row"),
    "three labels": (
        [changed(flagged=lambda f: np.resize(["yes", "no", "maybe"], len(f)))],
        [],
        "'maybe' in 133 of 400 rows",
    ),
    "labels that can mean two things": (
        [changed(flagged=lambda f: np.resize(["yes", "no", ""], len(f)))],
        [],
        "--negative no",
    ),
    "all labeled": ([changed(flagged="yes")], [], "Got no unlabeled row"),
    "wrong positive": ([], ["--positive", "true"], "no row with the positive label 'true'"),
    "all columns constant": (
        [lambda f: f[["flagged"]].assign(a=1, b="x")],
        [],
        "a holds 1 alone; b holds x alone",
    ),
    "every row its own category": (
        [lambda f: f[["flagged", "client"]]],
        [],
        "client has 400 different words",
    ),
    "mixed types": (
        [lambda f: f[["flagged"]].assign(a=[f"{k}" if k % 2 else f"w{k}" for k in range(len(f))])],
        [],
        "a has 400 different words",
    ),
    "no rows": ([lambda f: f.iloc[:0]], [], "needs rows"),
    "few labels": (
        [changed(flagged=lambda f: np.where(np.arange(len(f)) < 5, "yes", ""))],
        [],
        "Got 5 and 395. Label more rows, or say which share",
    ),
    "two labels and alpha": (
        [changed(flagged=lambda f: np.where(np.arange(len(f)) < 2, "yes", ""))],
        ["--alpha", "0.1"],
        "Got 2 and 398. Label more rows.",
    ),
    "labels alone": ([lambda f: f[["flagged"]]], [], "Got none in raw.csv."),
    "queue": ([], ["--queue", "401"], "--queue to be at most"),
    "threshold": ([], ["--threshold", "f11"], "Did you mean 'f1'"),
    "threshold of no one threshold": ([], ["--threshold", "roc_auc"], "metric of one threshold"),
    "threshold above one": ([], ["--threshold", "80"], "a probability between 0 and 1"),
    "ids twice": ([changed(client="same")], ["--id", "client"], "name each row once"),
    "time is a word": ([], ["--time", "country"], "--time to be dates or numbers"),
    "drop": ([], ["--drop", "nothing"], "no column 'nothing'"),
    "label as id": ([], ["--id", "flagged"], "it is the column of --label"),
    "both": ([], ["--queue", "3", "--threshold", "0.5"], "--threshold or --queue"),
    "alpha": ([], ["--alpha", "2"], "--alpha to be a share"),
    "labels are": ([], ["--labels-are", "good"], "labels_are"),
    "out": ([], ["--out", "raw.csv"], "not a folder"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_ends_in_one_line(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    changes, options, message = WRONG[case]
    frame = raw()[0]
    for change in changes:
        frame = change(frame)
    frame.to_csv("raw.csv", index=False)
    before = sorted(tmp_path.rglob("*"))
    label = [] if "--label" in options else ["--label", "flagged"]
    result = run("run", "raw.csv", *label, *options)
    assert_one_line(result, message, tmp_path, before)


def test_files_of_others_are_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    raw()[0].to_csv("raw.csv", index=False)
    (tmp_path / "recoup-run").mkdir()
    mine = tmp_path / "recoup-run" / command.REPORT
    mine.write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    result = run("run", "raw.csv", "--label", "flagged")
    assert_one_line(result, "report.html would be overwritten", tmp_path, before)
    assert mine.read_text() == "mine"


def test_the_demo_holds_a_raw_table_against_the_truth(tmp_path):
    from recoup.cli._demo import run_raw_example
    from recoup.cli._output import stdout

    console = stdout()
    with console.capture() as caught:
        run_raw_example(console, tmp_path)
    text = " ".join(caught.get().split())
    assert "CC BY 4.0" in text
    assert "The demo knows the truth: 272 hidden positives" in text
    assert (tmp_path / "bank" / "report.html").exists()


def test_what_is_said_of_the_labels_decides_how_alpha_is_estimated(monkeypatch, tmp_path):
    from recoup.cli._run_results import found_in

    class Asked(Exception):
        pass

    def estimate(s, X, *, labels_are, **options):
        raise Asked(labels_are)

    monkeypatch.setattr("recoup.priors.usable.usable_estimate", estimate)
    table = SimpleNamespace(X=np.zeros((2, 1)), s=np.array([0, 1]))
    for word in ("random", "biased", "unknown"):
        with pytest.raises(Asked, match=word):
            found_in(table, {"labels_are": word}, tmp_path, 0)
