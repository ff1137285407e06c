"""Training and scoring from files: fit, score, evaluate."""

import json
import re
import subprocess

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from recoup import learners
from recoup._core.registry import registered
from recoup.cli import app
from recoup.cli.fit import _made

FAST = ["--set", "epochs=8", "--set", "learning_rate=0.005", "--set", "batch_size=64"]
NETWORK = ["--learner", "nnpu", *FAST]


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result


def rows(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    amount = rng.normal(3.0 * y)
    amount[rng.random(n) < 0.05] = np.nan
    return pd.DataFrame(
        {
            "id": [f"row {i}" for i in range(n)],
            "amount": amount,
            "country": np.where(rng.random(n) < 0.3 + 0.4 * y, "here", "there"),
            "flag": (y & (rng.random(n) < 0.5)).astype(int),
        }
    ), y


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("fit")
    for name, seed in (("train", 0), ("new", 1)):
        frame, y = rows(900, seed)
        frame.to_parquet(place / f"{name}.parquet")
        frame.to_csv(place / f"{name}.csv", index=False)
        np.save(place / f"{name}.npy", y)
    run(
        *("fit", place / "train.parquet", "--label", "flag", "--out", place / "model"),
        *("--alpha", "0.25", "--scores", place / "oof.parquet", *NETWORK),
    )
    return place


def test_fit_score_evaluate(folder):
    run("score", folder / "model", folder / "new.parquet", "--out", folder / "scored.parquet")
    scored = pd.read_parquet(folder / "scored.parquet")
    assert list(scored.columns) == ["id", "amount", "country", "flag", "score"]
    y = np.load(folder / "new.npy")
    assert np.mean((scored["score"] > 0.5) == y) > 0.85
    command = ("evaluate", folder / "scored.parquet", "--score", "score", "--label", "flag")
    found = json.loads(run(*command, "--alpha", "0.25", "--n-boot", "50", "--json").stdout)
    assert found["metrics"]["roc_auc"]["recovered"] > 0.9


def test_scores_of_training_rows_are_out_of_fold(folder):
    scores = pd.read_parquet(folder / "oof.parquet")
    run("score", folder / "model", folder / "train.parquet", "--out", folder / "again.parquet")
    again = pd.read_parquet(folder / "again.parquet")
    assert list(scores.columns) == list(again.columns)
    assert not np.allclose(scores["score"], again["score"])
    y = np.load(folder / "train.npy")
    values = scores["score"].to_numpy()
    assert np.mean(np.subtract.outer(values[y], values[~y]) > 0) > 0.9


def test_csv_gives_the_same_scores(folder):
    run("score", folder / "model", folder / "new.parquet", "--out", folder / "a.parquet")
    run("score", folder / "model", folder / "new.csv", "--out", folder / "b.csv")
    first, second = pd.read_parquet(folder / "a.parquet"), pd.read_csv(folder / "b.csv")
    assert np.allclose(first["score"], second["score"], atol=1e-12)
    assert list(second["id"]) == list(first["id"])


def test_it_ends_with_its_quality_on_rows_that_it_did_not_see(folder):
    command = ("fit", folder / "train.parquet", "--label", "flag", "--alpha", "0.25")
    learner = ("--learner", "weighted", "--out", folder / "weighted")
    said = " ".join(run(*command, *learner).stdout.split())
    assert re.search(r"On rows held out, recovered: AUC 0\.\d+ \(0\.\d+ to [01]\.\d+\)", said)
    assert "of them called positive." in said
    crossfitted = run(*command, *learner, "--scores", folder / "weighted.csv").stdout
    assert "On rows of other folds, recovered: AUC" in " ".join(crossfitted.split())
    assert "recovered" not in run(*command, *learner, "--no-quality").stdout


def test_quality_is_known_where_few_held_out_rows_have_a_label(folder):
    frame = pd.read_parquet(folder / "train.parquet")
    labeled = frame.index[frame["flag"] == 1]
    frame.loc[labeled[40:], "flag"] = 0
    frame.to_parquet(folder / "few.parquet")
    learner = ("--learner", "bagging-pu", "--set", "n_estimators=5", "--out", folder / "few")
    command = ("fit", folder / "few.parquet", "--label", "flag", *learner, "--json")
    measured = json.loads(run(*command).stdout)["quality"]
    low, high = measured["AUC interval"]
    # Eight labels are held out; alpha comes from all rows, and what is not known of it counts.
    assert 0.5 < low < measured["AUC"] <= high <= 1
    assert high - low > 0.1


def test_words_and_gaps_that_were_not_seen_are_no_obstacle(folder):
    frame, _ = rows(50, 2)
    frame.loc[:4, "country"] = "elsewhere"
    frame["amount"] = np.nan
    frame.drop(columns="flag").to_parquet(folder / "odd.parquet")
    run("score", folder / "model", folder / "odd.parquet", "--out", folder / "odd-scored.csv")
    assert np.isfinite(pd.read_csv(folder / "odd-scored.csv")["score"]).all()


def test_json_says_what_was_done(folder):
    command = ("fit", folder / "train.csv", "--label", "flag", "--out", folder / "second", *NETWORK)
    found = json.loads(run(*command, "--alpha", "0.25", "--features", "amount", "--json").stdout)
    assert found["columns"] == ["amount"]
    assert found["alpha"] == 0.25
    assert found["epochs"] == 8
    measured = found["quality"]
    low, high = measured["AUC interval"]
    assert 0.7 < low < measured["AUC"] < high <= 1
    assert measured["measured on"] == "held out"
    assert 0.2 < measured["called positive"] < 0.6
    model = learners.load(folder / "second")
    assert model.get_params()["batch_size"] == 64
    assert model.n_features_in_ == 2  # the amount, and whether it is missing
    scored = ("score", folder / "second", folder / "new.csv", "--out", folder / "c.csv", "--json")
    assert json.loads(run(*scored).stdout)["rows"] == 900


@pytest.mark.parametrize("key", ["puet", "vpu"])
def test_other_learners(folder, key):
    settings = ["--set", "n_estimators=10"] if key == "puet" else FAST
    more = ["--alpha", "0.25"] if key == "puet" else []
    out = folder / key
    command = ("fit", folder / "train.parquet", "--label", "flag", "--learner", key, "--out", out)
    run(*command, *more, *settings)
    run("score", out, folder / "new.parquet", "--out", folder / f"{key}.parquet", "--column", "p")
    scored = pd.read_parquet(folder / f"{key}.parquet")
    assert np.mean((scored["p"] > 0.5) == np.load(folder / "new.npy")) > 0.8


def test_by_default_learners_are_tried_and_the_result_is_judged_on_other_rows(folder):
    few = ("--set", 'candidates=["logistic", "extra-trees"]', "--set", "n_folds=2")
    oof, out = folder / "auto.parquet", folder / "auto"
    command = ("fit", folder / "train.parquet", "--label", "flag", "--alpha", "0.25", "--out", out)
    found = json.loads(run(*command, *few, "--scores", oof, "--json").stdout)
    assert found["learner"] == "auto-pu"
    assert 0.9 < found["quality"]["AUC"] <= 1
    assert found["quality"]["measured on"] == "cross-fitted"
    scores = pd.read_parquet(oof)["score"]
    assert np.allclose(scores, learners.load(out).oof_probabilities_)


# Beside epochs and batches: as little as a fit can do.
QUICK = {
    "auto-pu": ['candidates=["logistic"]', "n_folds=2"],
    "bagging-pu": ["n_estimators=3"],
    "cgenpu": ["hidden_units=8", "least_steps=1"],
    "dist-pu": ["warm_up_epochs=1"],
    "holistic-pu": ["epochs=2", "trend_epochs=2"],
    "lagam": ["warm_up_epochs=1", "clusters=2"],
    "lbe": ["pretraining_steps=2", "steps_per_round=1"],
    "mpe-pu": ["warm_up_epochs=1", "alpha=0.25"],
    "pu-auc": ["n_basis=10", "n_folds=2"],
    "pu-aul": ["n_basis=10", "n_folds=2"],
    "puet": ["n_estimators=3"],
    "pul-cpbf": ["fence_epochs=1"],
    "pulda": ["warm_up_epochs=1"],
    "robust-pu": ["passes=1", "warm_up_epochs=1"],
    "vae-pu": ["hidden_units=8", "least_steps=1"],
}
LEARNERS = {
    key: cls.tags
    for key, cls in registered("learners").items()
    if not cls.tags.requires_true_labels
}


@pytest.mark.parametrize("key", LEARNERS)
@pytest.mark.filterwarnings("ignore::recoup.exceptions.RecoupWarning")
def test_every_learner_scores_in_a_file_as_it_did_in_memory(key, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    y = rng.random(220) < 0.4
    X = rng.normal(size=(220, 2)) + 2 * y[:, None]
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame["flag"] = (y & (rng.random(220) < 0.5)).astype(int)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    fitted = []
    save = learners.save

    def watched(model, folder):
        fitted.append(model)
        return save(model, folder)

    monkeypatch.setattr(learners, "save", watched)
    settings = ["epochs=1", "batch_size=64"] if LEARNERS[key].backend == "torch" else []
    given = [part for text in settings + QUICK.get(key, []) for part in ("--set", text)]
    if LEARNERS[key].needs_alpha or key == "propensity-weighted":
        given += ["--alpha", "0.25"]
    out = tmp_path / "model"
    command = ("fit", tmp_path / "rows.csv", "--label", "flag", "--learner", key, "--out", out)
    run(*command, *given)
    run("score", out, tmp_path / "rows.csv", "--out", tmp_path / "scored.parquet")
    model, rows = fitted[0], pd.read_csv(tmp_path / "rows.csv")[["a", "b"]].to_numpy()
    ranks = not hasattr(model, "predict_proba")
    expected = model.decision_function(rows) if ranks else model.predict_proba(rows)[:, 1]
    scored = pd.read_parquet(tmp_path / "scored.parquet")["score"]
    np.testing.assert_allclose(scored, expected, rtol=1e-12)
    assert scored.nunique() > 1


def test_a_folder_with_other_types_ends_in_one_line(folder, tmp_path):
    import skops.io

    run("fit", folder / "train.csv", "--label", "flag", "--learner", "naive", "--out", tmp_path)
    harm = {"fitted": {"classifier_": subprocess.Popen}, "parameters": {}}
    (tmp_path / "learner.skops").write_bytes(skops.io.dumps(harm))
    result = run("score", tmp_path, folder / "new.csv", "--out", tmp_path / "x.csv", code=2)
    assert "does not trust subprocess.Popen" in " ".join(result.stderr.split())
    assert not (tmp_path / "x.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--learner", "nnpuu"), "Did you mean 'nnpu'?"),
        (("--learner", "pn"), "needs the true class of each row"),
        (("--learner", "vpu", "--alpha", "0.2"), "needs no --alpha for 'vpu'"),
        (("--alpha", "lots"), "--alpha to be a share"),
        (("--alpha", "1.5"), "alpha"),
        (("--set", "epochs"), "--set NAME=VALUE"),
        (("--set", "epoch=3"), "It has: "),
        (("--learner", "nnpu", "--set", "epochs=many"), "epochs to be a whole number"),
        (("--features", "flag"), "column of --label"),
        (("--features", "id"), "different words"),
        (("--features", "nothing"), "no column 'nothing'"),
        (("--scores", "x.txt"), "--scores needs a name that ends in"),
        (("--scheme", "both"), "scheme"),
    ],
)
def test_wrong_input_gets_one_line(folder, arguments, message):
    command = ("fit", folder / "train.parquet", "--label", "flag", "--out", folder / "never")
    result = run(*command, *arguments, code=2)
    assert message in result.stderr.replace("\n", " ")
    assert "Traceback" not in result.output
    assert not (folder / "never").exists()


def test_wrong_models_and_rows_get_one_line(folder, tmp_path):
    frame, _ = rows(20, 3)
    frame.drop(columns="amount").to_parquet(tmp_path / "less.parquet")
    frame.assign(amount="much").to_parquet(tmp_path / "words.parquet")
    frame.assign(score=1.0).to_parquet(tmp_path / "twice.parquet")
    out = ("--out", tmp_path / "out.parquet")
    for model, file, message in (
        (folder, folder / "new.parquet", "cannot read a learner"),
        (folder / "model", tmp_path / "none.parquet", "no such file"),
        (folder / "model", tmp_path / "less.parquet", "no column 'amount'"),
        (folder / "model", tmp_path / "words.parquet", "needs finite numbers in the column"),
        (folder / "model", tmp_path / "twice.parquet", "has a column 'score' already"),
    ):
        result = run("score", model, file, *out, code=2)
        assert message in result.stderr.replace("\n", " ")
    (tmp_path / "half").mkdir()
    for name in ("learner.json", "learner.safetensors"):
        (tmp_path / "half" / name).write_bytes((folder / "model" / name).read_bytes())
    result = run("score", tmp_path / "half", folder / "new.parquet", *out, code=2)
    assert "cannot read columns.json" in result.stderr.replace("\n", " ")
    assert not (tmp_path / "out.parquet").exists()


def test_a_table_of_columns_that_somebody_else_wrote_is_kept(folder, tmp_path):
    theirs = tmp_path / "columns.json"
    theirs.write_text("mine")
    result = run("fit", folder / "train.parquet", "--label", "flag", "--out", tmp_path, code=2)
    assert "columns.json would be overwritten" in " ".join(result.output.split())
    assert [path.name for path in tmp_path.iterdir()] == ["columns.json"]
    assert theirs.read_text() == "mine"


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("taken/deeper", "is not a folder"),
        ("theirs", "learner.skops would be overwritten"),
    ],
)
def test_a_folder_that_cannot_be_written_is_refused_before_training(
    out, message, folder, tmp_path, monkeypatch
):
    monkeypatch.setattr("recoup.learners.base.PULearner.fit", None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("")
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "learner.skops").write_bytes(b"x")
    result = run("fit", folder / "train.csv", "--label", "flag", "--out", out, code=2)
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(("word", "value"), [("no", False), ("Off", False), ("true", True)])
def test_flags_are_read_as_people_write_them(word, value):
    made = _made("nnpu", "0.2", "single-sample", [f"standardize={word}"], 0)
    assert made.standardize is value


def test_what_is_no_flag_is_refused_before_rows_are_read(tmp_path):
    command = ("fit", "none.csv", "--label", "flag", "--out", tmp_path / "m", "--alpha", "0.2")
    result = run(*command, "--learner", "nnpu", "--set", "standardize=maybe", code=2)
    assert "needs standardize to be True or False. Got 'maybe'" in result.stderr


def test_alpha_is_that_of_recoup_run_and_depends_on_how_labels_came_about(folder):
    from recoup.cli._run_table import RunTable
    from recoup.priors.usable import usable_estimate

    path = folder / "train.csv"
    rows = RunTable.read(str(path), "flag", None, None, None, None, [], [])
    command = ("fit", path, "--label", "flag", "--learner", "weighted", "--out", folder / "alpha")
    found = {}
    for word in ("unknown", "random"):
        said = () if word == "unknown" else ("--labels-are", word)
        found[word] = json.loads(run(*command, *said, "--no-quality", "--json").stdout)
        expected = usable_estimate(rows.s, rows.X, labels_are=word)
        assert found[word]["alpha"] == round(expected.alpha, 4)
        assert found[word]["interval of alpha"] == [round(end, 4) for end in expected.interval]
        assert found[word]["labels"] == expected.labels.text
    assert "stands halfway between" in found["unknown"]["labels"]
    assert found["unknown"]["alpha"] != found["random"]["alpha"]
    assert "--labels-are" not in run(*command, "--alpha", "0.3", "--no-quality").output
    assert "'random', 'biased' or 'unknown'" in run(*command, "--labels-are", "so", code=2).output


def test_what_was_done_about_labels_is_said(folder):
    command = ("fit", folder / "train.csv", "--label", "flag", "--learner", "weighted")
    said = " ".join(run(*command, "--out", folder / "alpha", "--no-quality").stdout.split())
    assert re.search(r"interval of alpha 0\.\d+, 0\.\d+", said)
    assert re.search(r"Labels: .*stands halfway between", said)


def test_an_alpha_is_estimated_from_the_rows_that_count(tmp_path):
    frame, _ = rows(900, 3)
    frame["counts"] = np.where(np.arange(900) < 700, 1.0, 0.0)
    frame.to_csv(tmp_path / "all.csv", index=False)
    frame[:700].drop(columns="counts").to_csv(tmp_path / "some.csv", index=False)
    columns = ("--features", "amount", "--features", "country", "--learner", "weighted")
    options = ("--out", tmp_path / "model", "--no-quality", "--json")
    alphas = []
    for name, weight in (("all", ("--weight", "counts")), ("some", ())):
        found = run("fit", tmp_path / f"{name}.csv", "--label", "flag", *columns, *weight, *options)
        alphas.append(json.loads(found.stdout)["alpha"])
    assert alphas[0] == pytest.approx(alphas[1], abs=0.02)
    few = ("--label", "flag", *columns, "--weight", "counts", *options)
    frame["counts"] = np.where((frame["flag"] == 1) & (np.arange(900) > 50), 0.0, 1.0)
    frame.to_csv(tmp_path / "few.csv", index=False)
    output = run("fit", tmp_path / "few.csv", *few, code=2).output
    assert "fit cannot estimate alpha" in output
    assert "pass alpha as a number" in " ".join(output.split())


def test_what_the_guard_found_is_printed(folder, tmp_path):
    few = pd.read_csv(folder / "train.csv")
    few.loc[few.index[few["flag"] == 1][9:], "flag"] = 0
    few.to_csv(tmp_path / "few.csv", index=False)
    asked = ("--label", "flag", "--alpha", "0.4", *NETWORK)
    told = run("fit", tmp_path / "few.csv", *asked, "--out", tmp_path / "few")
    assert "Note: fit cannot tell whether it worked: labels are too few" in _in_a_line(told.output)
    known = json.loads(
        run("fit", tmp_path / "few.csv", *asked, "--out", tmp_path / "json", "--json").stdout
    )
    assert known["health"] == "cannot-tell"
    assert known["notes"][0].startswith("fit cannot tell")
    # Calls nobody positive: that is a failure.
    never = ("--set", "threshold=1e6", "--set", "guard=warn")
    told = run("fit", folder / "train.csv", *asked, *never, "--out", tmp_path / "never")
    assert "Note: fit has failed: far too few rows are called positive" in _in_a_line(told.output)
    sound = run("fit", folder / "train.csv", *asked, "--out", tmp_path / "sound", "--json")
    assert json.loads(sound.stdout)["health"] == "ok"
    assert "fit has failed" not in sound.output


def _in_a_line(text):
    return " ".join(text.split())
