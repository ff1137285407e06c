"""Labeled files in, PU files out: what is kept, what is hidden, and what is refused."""

import csv
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

from recoup.cli import app
from recoup.data import fetch, list_datasets
from recoup.simulation import simulate as simulate_arrays

N_ROWS, N_POSITIVES = 569, 212
OUTPUTS = ("--out", "pu.csv", "--truth", "truth.csv")


def run(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


def simulate(file, *args, label="diagnosis", positive="malignant", outputs=OUTPUTS):
    return run("simulate", file, "--label", label, "--positive", positive, *outputs, *args)


def simulated(*args, **options):
    """What a good run prints as JSON."""
    result = simulate(*args, "--json", **options)
    assert (result.exit_code, result.stderr) == (0, ""), (result.stderr, result.exception)
    return json.loads(result.stdout)


def read(path):
    """Columns by name, read by neither of the engines that wrote them where that is possible."""
    if Path(path).suffix == ".parquet":
        return pq.read_table(path).to_pydict()
    return pa_csv.read_csv(path).to_pydict()


def read_cells(path):
    with open(path, newline="") as stream:
        return list(csv.reader(stream))


@pytest.fixture(scope="module")
def breast(tmp_path_factory):
    """Breast cancer with named classes, as pandas writes it: frame, CSV and Parquet."""
    bunch = load_breast_cancer(as_frame=True)
    frame = bunch.data
    frame.insert(7, "diagnosis", bunch.target_names[bunch.target])
    folder = tmp_path_factory.mktemp("breast")
    frame.to_csv(folder / "breast.csv", index=False)
    frame.to_parquet(folder / "breast.parquet")
    return folder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working folder, so that anything written shows."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def spambase():
    return fetch.BUNDLED / "spambase.parquet"


@pytest.mark.parametrize("mechanism", ["scar", "s2"])
@pytest.mark.parametrize("truth", ["truth.csv", "truth.parquet"])
@pytest.mark.parametrize("out", ["pu.csv", "pu.parquet"])
@pytest.mark.parametrize("source", ["breast.csv", "breast.parquet"])
def test_rows_come_back_whole_and_the_truth_beside_them(
    source, out, truth, mechanism, breast, folder
):
    outputs = ("--out", out, "--truth", truth)
    options = ("--label-frequency", 0.3, "--mechanism", mechanism)
    found = simulated(breast / source, *options, outputs=outputs)
    rows, pu, known = read(breast / source), read(out), read(truth)
    assert list(known) == ["row_id", "y_true", "propensity"]
    assert known["row_id"] == list(range(N_ROWS))
    classes = rows.pop("diagnosis")
    assert [classes[row] == "malignant" for row in known["row_id"]] == [
        y == 1 for y in known["y_true"]
    ]
    s = np.array(pu.pop("s"))
    assert pu == rows
    assert list(pu) == list(rows)
    assert s.sum() == math.floor(0.3 * N_POSITIVES) == found["n_labeled"]
    assert all(y == 1 for y, label in zip(known["y_true"], s, strict=True) if label)
    assert sorted(path.name for path in folder.iterdir()) == sorted([out, truth])


def test_file_and_arrays_give_the_same_simulation(breast, folder):
    X, y = load_breast_cancer(return_X_y=True)
    options = {"n_labeled": 80, "mechanism": "s3", "variant": "pubench", "beta": 0.9}
    words = [word for key, value in options.items() for word in (f"--{key}", value)]
    words = [str(word).replace("_", "-") for word in words]
    shared = ("--scheme", "case-control", "--n-unlabeled", 150, "--prior-shift", 0.25, "--seed", 5)
    found = simulated(breast / "breast.parquet", *words, *shared)
    data = simulate_arrays(
        X,
        1 - y,
        scheme="case-control",
        n_unlabeled=150,
        prior_shift=0.25,
        random_state=5,
        **options,
    )
    known = read("truth.csv")
    assert known["row_id"] == data.row_id.tolist()
    assert known["y_true"] == data.y_true.tolist()
    np.testing.assert_allclose(known["propensity"], data.propensity, rtol=1e-6)
    assert read("pu.csv")["s"] == data.s.tolist()
    assert {key: found[key] for key in vars(data.truth)} == vars(data.truth)
    assert len(found["features"]) == 30


def test_single_sample_counts(breast, folder):
    found = simulated(breast / "breast.csv", "--n-labeled", 100, "--beta", 0.9)
    assert (found["n_labeled"], found["n_labeled_positive"]) == (100, 90)
    assert (found["n_unlabeled"], found["n_unlabeled_positive"]) == (469, N_POSITIVES - 90)
    assert found["alpha"] == pytest.approx((N_POSITIVES - 90) / 469)
    assert found["beta"] == pytest.approx(0.9)
    assert found["pi"] == pytest.approx(N_POSITIVES / N_ROWS)
    assert found["label_frequency"] == pytest.approx(90 / N_POSITIVES)
    known, s = read("truth.csv"), np.array(read("pu.csv")["s"])
    y = np.array(known["y_true"])
    assert [y[s == 1].sum(), y[s == 0].sum()] == [90, N_POSITIVES - 90]


def test_overlapping_case_control_counts(breast, folder):
    options = ("--scheme", "case-control", "--overlap", "--label-frequency", 0.25)
    found = simulated(breast / "breast.parquet", *options)
    assert (found["n_labeled"], found["n_unlabeled"]) == (N_POSITIVES // 4, N_ROWS)
    assert found["alpha"] == found["pi"] == pytest.approx(N_POSITIVES / N_ROWS)
    assert found["overlapping"]
    ids, s = np.array(read("truth.csv")["row_id"]), np.array(read("pu.csv")["s"])
    assert ids[s == 0].tolist() == list(range(N_ROWS))
    assert set(ids[s == 1]) <= set(ids[s == 0])
    rows, pu = read(breast / "breast.parquet"), read("pu.csv")
    assert pu["mean area"] == [rows["mean area"][row] for row in ids]
    text = simulate(breast / "breast.parquet", *options).stdout
    assert "Labeled rows come again among the unlabeled ones." in text


def test_disjoint_case_control_counts(breast, folder):
    options = ("--scheme", "case-control", "--n-labeled", 60, "--n-unlabeled", 200)
    found = simulated(breast / "breast.csv", *options)
    assert (found["n_labeled"], found["n_unlabeled"]) == (60, 200)
    assert found["n_unlabeled_positive"] == round(200 * N_POSITIVES / N_ROWS)
    ids = read("truth.csv")["row_id"]
    assert len(set(ids)) == 260
    assert read("pu.csv")["s"] == [1] * 60 + [0] * 200


def test_prior_shift_is_reached_by_dropping_rows_of_one_class(breast, folder):
    found = simulated(breast / "breast.csv", "--n-labeled", 52, "--prior-shift", 0.1)
    n_negatives = N_ROWS - N_POSITIVES
    assert found["n_unlabeled"] - found["n_unlabeled_positive"] == n_negatives
    assert found["n_unlabeled_positive"] == round(n_negatives * 0.1 / 0.9)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("source", ["breast.csv", "breast.parquet"])
def test_pu_file_holds_no_trace_of_the_class(source, suffix, breast, folder):
    if source.endswith("parquet"):
        assert b"diagnosis" in pq.read_schema(breast / source).metadata[b"pandas"]
    out = folder / f"pu.{suffix}"
    simulated(
        *(breast / source, "--label-frequency", 0.5, "--mechanism", "s4"),
        outputs=("--out", out, "--truth", "truth.parquet"),
    )
    content = out.read_bytes()
    for word in (b"diagnosis", b"malignant", b"benign", b"y_true", b"propensity", b"row_id"):
        assert word not in content
    assert len(read(out)) == 31


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_seed_decides_every_byte(suffix, breast, folder):
    contents = []
    for seed in (4, 4, 5):
        outputs = ("--out", f"pu.{suffix}", "--truth", f"truth.{suffix}")
        options = ("--label-frequency", 0.3, "--mechanism", "s2", "--seed", seed)
        simulated(breast / "breast.csv", *options, outputs=outputs)
        contents.append([Path(path).read_bytes() for path in outputs[1::2]])
    assert contents[0] == contents[1]
    assert contents[0][0] != contents[2][0]


def test_several_classes_may_be_positive(folder):
    table = pa.table({"x": range(12), "kind": pa.array([1, 2, 3] * 4, pa.int8())})
    pq.write_table(table, "kinds.parquet")
    found = simulated(
        "kinds.parquet", "--positive", "3.0", "--n-labeled", 2, label="kind", positive="1"
    )
    assert found["pi"] == pytest.approx(8 / 12)
    assert read("truth.csv")["y_true"] == [1, 0, 1] * 4


@pytest.mark.parametrize(
    ("classes", "positive"),
    [
        (pa.array([True, False, False]), "true"),
        (pa.array([True, False, False]), "1"),
        (pa.array(["yes", "no", "no"]).dictionary_encode(), "yes"),
        (pa.array([1.5, -1, -1], pa.float32()), "1.50"),
        (pa.array([-1, 1, 1]), "-1"),
        (pa.array(["007", "7", "7"]), "007"),
    ],
)
def test_classes_of_any_type(classes, positive, folder):
    pq.write_table(pa.table({"s": classes, "x": [1, 2, 3]}), "rows.parquet")
    simulated("rows.parquet", "--n-labeled", 1, label="s", positive=positive)
    assert read("truth.csv")["y_true"] == [1, 0, 0]
    assert read("pu.csv") == {"x": [1, 2, 3], "s": [1, 0, 0]}


ODD = [
    ["Id", "id", 'the "note", quoted', "code", "amount", "count", "flag", "class", ""],
    ["a", "1", "two\nlines", "007", "1.50", "12", "true", "pos", "x"],
    ["b", "2", "", "010", "1e3", "", "FALSE", "neg", "y"],
    ["c", "3", "é, ü", "123", "-.5", "-7", "true", "neg", " z "],
    ["d", "", "'; --", "12345678901234567890", "", "0", "false", "pos", "x"],
]


@pytest.fixture
def odd(folder):
    with open("odd.csv", "w", newline="") as stream:
        csv.writer(stream).writerows(ODD)
    return folder / "odd.csv"


def test_csv_cells_stay_as_they_were_written(odd):
    simulated(odd, "--n-labeled", 1, label="class", positive="pos")
    cells = [row[:7] + row[8:] for row in ODD]
    found = read_cells("pu.csv")
    assert [row[:-1] for row in found] == cells
    assert found[0][-1] == "s"
    assert sorted(row[-1] for row in found[1:]) == ["0", "0", "0", "1"]


def test_csv_columns_of_numbers_become_numbers_in_parquet(odd):
    outputs = ("--out", "pu.parquet", "--truth", "truth.parquet")
    simulated(odd, "--n-labeled", 1, label="class", positive="pos", outputs=outputs)
    table = pq.read_table("pu.parquet")
    types = {name: str(table.schema.field(name).type) for name in ("amount", "count", "flag", "id")}
    assert types == {"amount": "double", "count": "int64", "flag": "bool", "id": "int64"}
    found = table.to_pydict()
    assert found["amount"] == [1.5, 1000.0, -0.5, None]
    assert found["flag"] == [True, False, True, False]
    assert found["code"] == [row[3] for row in ODD[1:]]


def test_parquet_types_survive(folder):
    names = ["a", "b", "c", "d", "e", "y"]
    arrays = [
        pa.array([1, None, 3, 4], pa.uint8()),
        pa.array(["x", "y", None, "x"]).dictionary_encode(),
        pa.array([0, 1, 2, 3], pa.timestamp("ms", "Europe/Berlin")),
        pa.array([[1], [], None, [2, 3]]),
        pa.array(["1.10", "2.20", "3.30", "4.40"]).cast(pa.decimal128(5, 2)),
        pa.array([1, 0, 1, 0], pa.int8()),
    ]
    table = pa.table(arrays, names=names)
    pq.write_table(table, "typed.parquet")
    outputs = ("--out", "pu.parquet", "--truth", "truth.parquet")
    simulated("typed.parquet", "--n-labeled", 1, label="y", positive="1", outputs=outputs)
    found = pq.read_table("pu.parquet")
    assert found.drop_columns("s").equals(table.drop_columns("y"))
    simulated("typed.parquet", "--n-labeled", 1, label="y", positive="1")
    first, *_ = read_cells("pu.csv")[1:]
    assert first[:5] == ["1", "x", "1970-01-01 00:00:00+00", "[1]", "1.10"]


def test_parquet_of_several_row_groups(folder):
    parts = [pa.array([word] * 3).dictionary_encode() for word in ("x", "y")]
    schema = pa.schema({"word": parts[0].type, "y": pa.int64()})
    with pq.ParquetWriter("parts.parquet", schema) as writer:
        for part in parts:
            writer.write_table(pa.table({"word": part, "y": [1, 0, 1]}, schema=schema))
    for out in ("pu.parquet", "pu.csv"):
        outputs = ("--out", out, "--truth", "truth.csv")
        options = ("--n-labeled", 1, "--scheme", "case-control", "--mechanism", "s2", "--overlap")
        simulated("parts.parquet", *options, label="y", positive="1", outputs=outputs)
        assert read(out)["word"][1:] == list("xxxyyy")


def test_labels_follow_the_chosen_features(spambase, folder):
    """Mails with many capitals look like spam; s2 labels those, s3 the others."""
    rows = pq.read_table(spambase)
    capitals = np.array(rows["capitalLong"])
    medians = {}
    for mechanism in ("s2", "s3"):
        options = ("--n-labeled", 300, "--mechanism", mechanism, "--features", "capitalLong")
        found = simulated(spambase, *options, label="target", positive="1")
        assert found["features"] == ["capitalLong"]
        s = np.array(read("pu.csv")["s"])
        medians[mechanism] = np.median(capitals[s == 1])
    spam = np.median(capitals[np.array(rows["target"]) == 1])
    assert medians["s3"] < spam < medians["s2"]


def test_words_are_one_hot_and_missing_cells_no_obstacle(folder):
    rng = np.random.default_rng(0)
    y = rng.random(400) < 0.4
    color = np.where(rng.random(400) < 0.5, np.where(y, "red", "blue"), "red")
    height = np.where(rng.random(400) < 0.1, np.nan, rng.normal(size=400))
    table = pa.table(
        {
            "color": color,
            "height": pa.array(height, from_pandas=True),
            "name": [f"n{row}" for row in range(400)],
            "seen": pa.array(range(400), pa.timestamp("s")),
            "y": y,
        }
    )
    pq.write_table(table, "rows.parquet")
    shared = {"label": "y", "positive": "true"}
    found = simulated("rows.parquet", "--n-labeled", 20, "--mechanism", "s3", **shared)
    assert found["features"] == ["color", "height", "seen"]
    assert "name has 400 different words" in found["notes"][0]
    result = simulate("rows.parquet", "--n-labeled", 20, "--mechanism", "s3", **shared)
    assert "Note: These columns had no say" in result.stdout
    options = ("--mechanism", "s4", "--features", "color", "--n-labeled", 20)
    simulated("rows.parquet", *options, **shared)
    known = read("truth.csv")
    assert {color for color, e in zip(color, known["propensity"], strict=True) if e > 0} == {"red"}


def test_features_without_use_are_said(breast, folder):
    found = simulated(breast / "breast.csv", "--n-labeled", 9, "--features", "mean area")
    assert found["features"] == []
    assert found["notes"] == ["--features changed nothing: scar looks at none."]


def test_simulated_rows_evaluate_to_the_truth(spambase, folder):
    outputs = ("--out", "pu.parquet", "--truth", "truth.parquet")
    options = ("--label-frequency", 0.4, "--seed", 1)
    found = simulated(spambase, *options, label="target", positive="1", outputs=outputs)
    table = pq.read_table("pu.parquet")
    X = np.column_stack([table[name] for name in table.column_names if name != "s"])
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    # The file is sorted by class: folds in its order would differ in their share of spam.
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    fit = {"cv": folds, "method": "predict_proba"}
    scores = cross_val_predict(model, X, np.array(table["s"]), **fit)[:, 1]
    pq.write_table(table.append_column("p", pa.array(scores)), "scored.parquet")
    truth = np.array(pq.read_table("truth.parquet")["y_true"])
    result = run(
        *("evaluate", "scored.parquet", "--score", "p", "--label", "s", "--n-boot", 200),
        *("--alpha", found["alpha"], "--json"),
    )
    auc = json.loads(result.stdout)["metrics"]["roc_auc"]
    true_auc = roc_auc_score(truth, scores)
    assert auc["lower"] <= true_auc <= auc["upper"]
    assert auc["recovered"] == pytest.approx(true_auc, abs=0.02)
    assert auc["pu"] < true_auc - 0.05
    assert "Rows of one class lie together" in found["notes"][0]


def test_process_needs_no_pandas(breast, folder):
    (folder / "pandas.py").write_text("raise ImportError('not here')\n")
    command = [sys.executable, "-m", "recoup.cli", "simulate", str(breast / "breast.csv")]
    command += ["--label", "diagnosis", "--positive", "malignant", *OUTPUTS]
    command += ["--label-frequency", "0.2", "--mechanism", "s2"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"PYTHONPATH": str(folder)},
    )
    assert (done.returncode, done.stderr) == (0, "")
    text = " ".join(done.stdout.split())
    assert "breast.csv as single-sample PU data, s2" in text
    assert f"alpha positives among unlabeled rows {(212 - 42) / (569 - 42):.4f}" in text
    assert "n_labeled rows, 42 of them positive 42" in text
    assert "Wrote pu.csv Wrote truth.csv" in text


def test_list_datasets_shows_the_catalog():
    rows = list_datasets()
    assert json.loads(run("list", "datasets", "--json").stdout) == json.loads(
        json.dumps([row._asdict() for row in rows])
    )
    result = run("list", "datasets")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = [line.split() for line in result.stdout.splitlines() if line.strip()]
    assert lines[0] == ["Name", "Title", "Kind", "Rows", "Features", "Tasks", "Available"]
    assert [line[0] for line in lines[2:]] == [row.name for row in rows]
    spambase = next(line for line in lines if line[0] == "spambase")
    assert spambase[1:5] == ["Spambase", "table", "4,601", "57"]


def assert_one_line(result, text, folder, before):
    assert result.exit_code == 2, (result.stdout, result.exception)
    assert result.stdout == ""
    assert result.stderr.startswith("recoup: ")
    assert result.stderr.count("\n") == 1
    assert result.stderr.endswith("\n")
    assert len(result.stderr) < 1000
    assert text in result.stderr
    assert {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def contents(folder):
    return {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}


GOOD = {"--label": "y", "--positive": "b", "--out": "o.csv", "--truth": "t.csv", "--n-labeled": 2}

# Name of the case: options that differ from GOOD (None for none), what the line must say.
BAD = {
    "no such label": ({"--label": "yy"}, "no column 'yy' in rows.csv. Did you mean 'y'?"),
    "no such feature": ({"--features": "x2", "--mechanism": "s2"}, "no column 'x2'"),
    "no such feature, unused": ({"--features": "x2"}, "no column 'x2'"),
    "the class as feature": ({"--features": "y"}, "it is the true class"),
    "no such class": ({"--positive": "bb"}, "no class 'bb' in column 'y' of rows.csv. Did you"),
    "number as class": ({"--positive": "1"}, "no class '1' in column 'y'"),
    "no class given": ({"--positive": None}, "--positive"),
    "no label given": ({"--label": None}, "--label"),
    "no out": ({"--out": None}, "--out"),
    "no truth": ({"--truth": None}, "--truth"),
    "neither": ({"--n-labeled": None}, "neither"),
    "both": ({"--label-frequency": 0.5}, "both"),
    "too few": ({"--n-labeled": None, "--label-frequency": 0.01}, "0 true labels for 10 positives"),
    "zero": ({"--n-labeled": None, "--label-frequency": 0}, "above 0 and at most 1"),
    "percent": ({"--n-labeled": None, "--label-frequency": 30}, "above 0 and at most 1"),
    "no labels": ({"--n-labeled": 0}, "at least 1"),
    "more than positives": ({"--n-labeled": 11}, "11 true labels for 10 positives"),
    "mechanism": ({"--mechanism": "scra"}, "no mechanism 'scra'. Did you mean 'scar'?"),
    "variant": ({"--variant": "pubensh"}, "Got 'pubensh'. Did you mean 'pubench'?"),
    "scheme": ({"--scheme": "casecontrol"}, "'case-control'"),
    "beta": ({"--beta": 1.5}, "beta to be a number above 0 and at most 1"),
    "prior shift": ({"--prior-shift": 1}, "prior_shift to be a number of at least 0 and below 1"),
    "unlabeled": ({"--n-unlabeled": 500}, "500 unlabeled rows"),
    "overlap alone": ({"--overlap": ""}, "case-control"),
    "seed": ({"--seed": -1}, "--seed"),
    "out is input": ({"--out": "rows.csv"}, "--out rows.csv would overwrite the labeled rows"),
    "truth is input": ({"--truth": "./rows.csv"}, "would overwrite the labeled rows"),
    "out links to input": ({"--out": "link.csv"}, "would overwrite the labeled rows"),
    "out is truth": ({"--out": "./t.csv"}, "two files"),
    "out type": ({"--out": "o.xlsx"}, ".csv or .parquet"),
    "truth type": ({"--truth": "t"}, ".csv or .parquet"),
    "out folder": ({"--out": "no/o.csv"}, "no folder no"),
    "truth folder": ({"--truth": "no/t.csv"}, "no folder no"),
    "words as features": ({"--features": "name", "--mechanism": "s2"}, "name has 20 different"),
    "infinite features": ({"--features": "far", "--mechanism": "s2"}, "far holds infinite values"),
}


@pytest.fixture
def rows(folder):
    columns = {
        "x": range(20),
        "name": [f"n{row}" for row in range(20)],
        "far": [*range(19), "inf"],
        "y": ["a", "b"] * 10,
    }
    with open("rows.csv", "w", newline="") as stream:
        csv.writer(stream).writerows([columns, *zip(*columns.values(), strict=True)])
    Path("link.csv").symlink_to("rows.csv")
    return "rows.csv"


def words(options):
    given = {name: value for name, value in options.items() if value is not None}
    return [word for pair in given.items() for word in pair if word != ""]


@pytest.mark.parametrize("case", BAD)
def test_bad_options_end_in_one_line_and_write_nothing(case, rows, folder):
    options, text = BAD[case]
    before = contents(folder)
    assert_one_line(run("simulate", rows, *words(GOOD | options)), text, folder, before)


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("gone.csv", None, "Cannot find gone.csv: no such file"),
        (".", None, "no such file"),
        ("x" * 5000 + ".csv", None, ""),
        ("book.xlsx", b"PK", ".parquet, .csv and .tsv"),
        ("garbage.parquet", b"garbage " * 100, "Cannot read garbage.parquet"),
        ("empty.csv", b"", "the file is empty"),
        ("header.csv", b"x,y\n", "needs rows"),
        ("bytes.csv", bytes(range(256)) * 9, "recoup: "),
        ("ragged.csv", b"x,y\n" + b"1,b\n" * 9 + b"1,2,3\n" + b"0,a\n" * 9, "recoup: "),
        ("unlabeled.csv", b"x,y\n1,b\n2,\n3,a\n", "1 rows without one in column 'y'"),
        ("one.csv", b"x,y\n1,b\n2,b\n3,b\n", "both classes"),
        ("taken.csv", b"s,y\n1,b\n2,b\n3,a\n", "a column 's'"),
        ("twice.csv", b"x,x,y\n1,1,b\n2,2,b\n3,3,a\n", "several columns 'x'"),
    ],
)
def test_bad_files_end_in_one_line_and_write_nothing(name, content, text, folder):
    if content is not None:
        (folder / name).write_bytes(content)
    before = contents(folder)
    assert_one_line(run("simulate", name, *words(GOOD)), text, folder, before)


def test_missing_classes_of_floats_and_classes_that_are_lists(folder):
    for values, text in (
        (pa.array([1.0, 0.0, float("nan")]), "1 rows without one"),
        (pa.array([[1], [0], [0]]), "needs classes"),
    ):
        pq.write_table(pa.table({"x": [1, 2, 3], "y": values}), "rows.parquet")
        before = contents(folder)
        result = run("simulate", "rows.parquet", *words(GOOD | {"--positive": 1}))
        assert_one_line(result, text, folder, before)


def test_nothing_to_look_at(folder):
    Path("words.csv").write_text("name,y\n" + "".join(f"n{row},{row % 2}\n" for row in range(9)))
    before = contents(folder)
    options = words(GOOD | {"--positive": 1, "--mechanism": "s2"})
    result = run("simulate", "words.csv", *options)
    assert_one_line(result, "Got none in words.csv: name has 9 different words", folder, before)


@pytest.mark.parametrize("broken", [1, 2, 3, 4])
def test_both_files_are_written_or_none(broken, rows, folder, monkeypatch):
    """Four renames replace two files: each old one makes room, each new one takes it."""
    Path("o.csv").write_text("old rows")
    Path("t.csv").write_text("old truth")
    before = contents(folder)
    rename, calls = Path.replace, []

    def sometimes(self, target):
        calls.append(target)
        if len(calls) == broken:
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", sometimes)
    result = run("simulate", rows, *words(GOOD))
    assert_one_line(result, "Cannot write t.csv and o.csv: No space left", folder, before)


def test_new_files_vanish_with_a_failure_and_links_stay_links(rows, folder, monkeypatch):
    Path("real.csv").write_text("old rows")
    Path("o.csv").symlink_to("real.csv")
    before = contents(folder)
    with monkeypatch.context() as patch:
        patch.setattr("recoup.cli._tables._write_csv", _full_disk_on_second_call())
        result = run("simulate", rows, *words(GOOD))
        assert_one_line(result, "No space left", folder, before)
    assert run("simulate", rows, *words(GOOD)).exit_code == 0
    assert Path("o.csv").is_symlink()
    assert Path("real.csv").read_text().startswith("x,name,far,s\n")
    assert sorted(path.name for path in folder.iterdir()) == [
        *("link.csv", "o.csv", "real.csv", "rows.csv", "t.csv")
    ]


def _full_disk_on_second_call():
    calls = []

    def write(table, path):
        path.write_text("half a file")
        calls.append(path)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")

    return write
