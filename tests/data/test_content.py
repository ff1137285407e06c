"""Datasets are known by their values: other packing is accepted, another value is refused."""

import hashlib
import io
import json
import os
import struct
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sklearn.datasets
from PIL import Image

from recoup.data import catalog, decoding, fetch, load
from recoup.data.catalog import entries
from recoup.data.content import content_digest
from recoup.data.decoding import READERS
from recoup.data.entry import Raw
from recoup.exceptions import InvalidInputError

TABLES = fetch.BUNDLED
DATA = os.environ.get("RECOUP_DATA")  # taken once: tests change it


@pytest.fixture
def mine(environment, tmp_path):
    """A folder of the user's, and what loading from it says when it refuses."""
    folder = tmp_path / "mine"
    folder.mkdir()
    environment.setenv("RECOUP_DATA", str(folder))
    return folder


def refusal(name):
    with pytest.raises(InvalidInputError) as caught:
        load(name)
    message = str(caught.value)
    assert "\n" not in message
    return message


def table(name):
    return pq.read_table(TABLES / f"{name}.parquet")


# Tables


def snappy(rows, path):
    pq.write_table(rows, path, compression="snappy", row_group_size=500, use_dictionary=False)


def from_pandas(rows, path):
    rows.to_pandas().to_parquet(path, compression="gzip")


def from_polars(rows, path):
    pl.from_arrow(rows).write_parquet(path, compression="lz4")


def with_categories(rows, path):
    frame = rows.to_pandas()
    words = [name for name in frame.columns if not pd.api.types.is_numeric_dtype(frame[name])]
    frame.astype(dict.fromkeys(words, "category")).to_parquet(path)


def wider(rows, path):
    kinds = {pa.int8(): pa.int64(), pa.int16(): pa.float64(), pa.string(): pa.large_string()}
    fields = [field.with_type(kinds.get(field.type, field.type)) for field in rows.schema]
    pq.write_table(rows.cast(pa.schema(fields)), path)


@pytest.mark.parametrize("rebuild", [snappy, from_pandas, from_polars, with_categories, wider])
@pytest.mark.parametrize("name", ["mushroom", "bank", "thyroid_ann", "abalone"])
def test_tables_packed_in_another_way_are_accepted(name, rebuild, mine):
    path = mine / f"{name}.parquet"
    rebuild(table(name), path)
    assert path.read_bytes() != (TABLES / path.name).read_bytes()
    rebuilt = load(name)
    own = decoding.read_tabular(entries()[name], TABLES / path.name)
    if isinstance(rebuilt.X, pd.DataFrame):
        assert rebuilt.X.equals(own.X)
    else:
        np.testing.assert_array_equal(rebuilt.X, own.X)


def changed(frame, column, value):
    frame.loc[7, column] = value
    return frame


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: changed(frame, "length", frame["length"][7] + 1e-9),
        lambda frame: changed(frame, "sex", "M" if frame["sex"][7] != "M" else "F"),
        lambda frame: changed(frame, "target", frame["target"][7] + 1),
        lambda frame: frame.iloc[::-1],
        lambda frame: frame.iloc[1:],
        lambda frame: frame.rename(columns={"length": "long"}),
        lambda frame: frame[[*frame.columns[1::-1], *frame.columns[2:]]],
        lambda frame: frame.assign(split="train"),
        lambda frame: frame.assign(meta_x=0),
    ],
    ids=["number", "category", "target", "order", "row", "name", "columns", "split", "meta"],
)
def test_a_table_with_one_change_is_refused(change, mine):
    frame = table("abalone").to_pandas()
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), mine / "abalone.parquet")
    load("abalone")
    other = pa.Table.from_pandas(change(frame), preserve_index=False)
    pq.write_table(other, mine / "abalone.parquet")
    message = refusal("abalone")
    for part in (
        "load needs abalone.parquet",
        entries()["abalone"].digest[:12],
        "Replace the file",
    ):
        assert part in message
    found = content_digest(decoding.read_tabular(entries()["abalone"], mine / "abalone.parquet"))
    assert f"digest {found[:12]}..." in message


@pytest.mark.parametrize("keep", [slice(0, 40_000), slice(0, 0), slice(1000, None)])
def test_a_damaged_table_ends_in_one_line(keep, mine):
    content = (TABLES / "spambase.parquet").read_bytes()
    (mine / "spambase.parquet").write_bytes(content[keep])
    message = refusal("spambase")
    assert message.startswith("load cannot read ")
    assert "spambase.parquet: the file is damaged or holds something else" in message
    assert message.endswith("Replace the file.")


def test_a_table_without_its_target_ends_in_one_line(mine):
    pq.write_table(table("spambase").drop_columns(["target"]), mine / "spambase.parquet")
    assert "holds something else" in refusal("spambase")


def test_a_damaged_installation_is_named(environment, tmp_path):
    environment.setattr(fetch, "BUNDLED", tmp_path)
    (tmp_path / "spambase.parquet").write_text("half a file")
    assert refusal("spambase").endswith("Install recoup anew.")


# Archives of images and of text


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Write a small dataset in place of a catalogued one, and take its digest as the right one."""
    monkeypatch.setenv("RECOUP_DATA", str(tmp_path))

    def write(name, save=np.savez, **arrays):
        save(tmp_path / f"{name}.npz", **arrays)

    def adopt(name, **arrays):
        write(name, **arrays)
        entry = entries()[name]
        digest = content_digest(READERS[entry.kind](entry, tmp_path / entry.file))
        known = {**entries(), name: replace(entry, digest=digest)}
        monkeypatch.setattr("recoup.data.catalog.entries", lambda: known)

    return SimpleNamespace(adopt=adopt, write=write, folder=tmp_path)


def test_images_packed_in_another_way_are_accepted(small):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (4, 3, 32, 32), dtype=np.uint8)
    red, green, blue = X.transpose(1, 0, 2, 3)
    planes = np.stack([green, red - green, blue - green])
    residual = np.diff(planes, axis=3, prepend=np.uint8(0))
    residual = np.diff(residual, axis=2, prepend=np.uint8(0))
    rest = {"y": [6, 9, 0, 1], "split": ["train"] * 3 + ["test"], "index": [0, 1, 2, 0]}
    name = "cifar10_20k_5k"
    small.adopt(name, residual=residual, **rest)
    np.testing.assert_array_equal(load(name).X, X)
    narrow = {"y": np.array(rest["y"], dtype=np.uint8), "index": np.array([0, 1, 2, 0], np.int16)}
    small.write(name, np.savez_compressed, X=np.asfortranarray(X), **(rest | narrow))
    np.testing.assert_array_equal(load(name).X, X)
    X[3, 2, 31, 31] ^= 1
    small.write(name, X=X, **rest)
    assert "Got other values" in refusal(name)


def test_jpeg_images_are_known_by_their_bytes(small, monkeypatch):
    def encoded(value):
        buffer = io.BytesIO()
        Image.fromarray(np.full((128, 128), value, dtype=np.uint8)).save(buffer, format="JPEG")
        return np.frombuffer(buffer.getvalue(), dtype=np.uint8)

    streams = [encoded(10), encoded(200)]
    arrays = {"offsets": np.cumsum([0, *map(len, streams)]), "y": [0, 1]}
    small.adopt("alzheimer_mri", jpeg=np.concatenate(streams), **arrays)
    # A decoder that differs by a grey level changes nothing.
    plain = decoding.decode_jpeg
    monkeypatch.setattr(decoding, "decode_jpeg", lambda *encoded: plain(*encoded) + 1)
    assert len(load("alzheimer_mri")) == 2
    small.write("alzheimer_mri", jpeg=np.concatenate([encoded(10), encoded(201)]), **arrays)
    assert "Got other values" in refusal("alzheimer_mri")


def test_decoded_jpeg_images_have_a_digest_of_their_own(small, monkeypatch):
    X = np.arange(2 * 128 * 128, dtype=np.uint8).reshape(2, 128, 128)
    small.adopt("alzheimer_mri", X=X, y=[0, 1])
    known = entries()["alzheimer_mri"]
    plain = catalog.entries()["alzheimer_mri"].digest
    by_pixels = {"alzheimer_mri": replace(known, digest="0" * 64, pixels=plain)}
    monkeypatch.setattr(catalog, "entries", lambda: by_pixels)
    np.testing.assert_array_equal(load("alzheimer_mri").X, X)
    small.write("alzheimer_mri", X=X + 1, y=[0, 1])
    assert "Got other values" in refusal("alzheimer_mri")


# The images at hand, packed anew


def plain_arrays(name):
    """What a user keeps who decoded the file and saved the images."""
    entry = entries()[name]
    raw = READERS["image"](entry, Path(DATA) / entry.file)
    codes = {label: code for code, label in enumerate(entry.classes)}
    arrays = {"X": raw.X, "y": np.array([codes[label] for label in raw.target])}
    if raw.split is not None:
        arrays["split"] = raw.split
    return arrays | {key.removeprefix("meta_"): values for key, values in raw.meta.items()}


IMAGES = ("mnist", "fashion_mnist", "cifar10_20k_5k", "alzheimer_mri")


@pytest.mark.data
@pytest.mark.parametrize("name", IMAGES)
def test_images_at_hand_are_accepted_as_plain_arrays_and_refused_with_a_reason(name, mine):
    arrays = plain_arrays(name)
    path = mine / f"{name}.npz"
    np.savez(path, **arrays)
    np.testing.assert_array_equal(load(name).X, arrays["X"])
    last = arrays["X"].reshape(len(arrays["X"]), -1)[-1]
    last[7] ^= 1
    np.savez(path, **arrays)
    assert "so single values, names or the order differ. Replace the file." in refusal(name)
    last[7] ^= 1
    np.savez(path, **{key: values[:-1] for key, values in arrays.items()})
    rows = entries()[name].rows
    assert f"it has {rows - 1:,} rows, not {rows:,}. Replace the file." in refusal(name)


@pytest.mark.data
def test_the_archives_own_arrays_are_accepted_with_other_compression(mine):
    for name in IMAGES:
        with np.load(Path(DATA) / f"{name}.npz") as arrays:
            np.savez(mine / f"{name}.npz", **arrays)
        assert len(load(name)) == entries()[name].rows


@pytest.mark.data
def test_the_images_of_cifar_are_accepted_with_channels_last(mine):
    arrays = plain_arrays("cifar10_20k_5k")
    last = np.ascontiguousarray(arrays["X"].transpose(0, 2, 3, 1))
    np.savez(mine / "cifar10_20k_5k.npz", **(arrays | {"X": last}))
    np.testing.assert_array_equal(load("cifar10_20k_5k").X, arrays["X"])


LAYOUTS = {
    "cifar10_20k_5k": [
        lambda X: np.ascontiguousarray(X.transpose(0, 2, 3, 1)),
        lambda X: X.reshape(len(X), -1),
        lambda X: X.astype(np.float32),
    ],
    "mnist": [
        lambda X: X[:, None],
        lambda X: X[..., None],
        lambda X: X.reshape(len(X), -1),
        lambda X: X.astype(np.int64),
    ],
}


@pytest.mark.parametrize(
    ("name", "laid_out"), [(name, change) for name, some in LAYOUTS.items() for change in some]
)
def test_images_may_be_laid_out_in_any_usual_way(name, laid_out, small):
    shape = (3, 32, 32) if name == "cifar10_20k_5k" else (28, 28)
    X = np.random.default_rng(0).integers(0, 256, (2, *shape), dtype=np.uint8)
    rest = {"y": [6, 9], "split": ["train", "test"]}
    rest |= {"index": [0, 0]} if name == "cifar10_20k_5k" else {}
    small.adopt(name, X=X, **rest)
    small.write(name, X=laid_out(X), **rest)
    found = load(name).X
    np.testing.assert_array_equal(found, X)
    assert found.dtype == np.uint8


@pytest.mark.parametrize("change", [lambda X: X / 255, lambda X: X.astype(float) - 1])
def test_images_with_other_values_are_refused_in_any_layout(change, small):
    X = np.random.default_rng(0).integers(0, 256, (2, 28, 28), dtype=np.uint8)
    rest = {"y": [6, 9], "split": ["train", "test"]}
    small.adopt("mnist", X=X, **rest)
    small.write("mnist", X=change(X), **rest)
    assert "Got other values" in refusal("mnist")


# A dataset whose values nobody has seen here: size and classes are compared


def test_without_a_digest_size_and_classes_are_compared(mine, monkeypatch):
    rows = {"classes": {"1": 2, "2": 1}, "rows": 3, "features": 2}
    known = {"covertype": replace(entries()["covertype"], **rows)}
    monkeypatch.setattr(catalog, "entries", lambda: known)

    def write(**columns):
        pq.write_table(pa.table(columns), mine / "covertype.parquet")

    write(a=[1, 2, 3], b=[0, 1, 0], target=[1, 2, 1])
    assert load("covertype").y_true.tolist() == [0, 1, 0]
    write(a=[1, 2, 3], target=[1, 2, 1])
    assert "it has 1 features, not 2. Replace the file." in refusal("covertype")
    write(a=[1, 2, 3], b=[0, 1, 0], target=[1, 2, 2])
    assert "its classes are {'1': 1, '2': 2}, not {'1': 2, '2': 1}" in refusal("covertype")


def test_a_refusal_says_what_differs(mine):
    frame = table("abalone").to_pandas()

    def reason(changed, name="abalone"):
        path = mine / f"{name}.parquet"
        pq.write_table(pa.Table.from_pandas(changed, preserve_index=False), path)
        return refusal(name)

    assert "it has 4,176 rows, not 4,177" in reason(frame.iloc[1:])
    assert "it has 7 features, not 8" in reason(frame.drop(columns="length"))
    assert "it has a split" in reason(frame.assign(split="train"))
    assert "single values, names or the order differ" in reason(frame.iloc[::-1])
    mail = table("spambase").to_pandas()
    mail.loc[0, "target"] = 1 - mail["target"][0]
    assert "its classes are {'0': 278" in reason(mail, "spambase")


def test_a_refusal_says_that_parts_are_missing(monkeypatch):
    X, target = np.zeros((6, 2)), np.array(["a"] * 3 + ["b"] * 3)
    entry = replace(entries()["iris"], rows=6, features=2, classes={"a": 3, "b": 3}, parts=(4, 2))
    assert catalog._difference(entry, Raw(X, target)) == "it has no array or column split"
    assert catalog._difference(replace(entry, parts=None), Raw(X, target)) == ""
    split = np.repeat(["train", "test"], 3)
    found = catalog._difference(entry, Raw(X, target, split=split))
    assert found == "its training part has not 4 rows"


def test_vectors_and_ratings_are_compared(small):
    arrays = {
        "X": np.linspace(0, 1, 3 * 384, dtype=np.float16).reshape(3, 384),
        "y": [0, 1, 1],
        "split": ["train", "train", "test"],
        "rating": [2, 9, 10],
    }
    small.adopt("imdb_minilm", **arrays)
    small.write("imdb_minilm", **(arrays | {"X": arrays["X"].astype(np.float32)}))
    assert len(load("imdb_minilm")) == 3
    small.write("imdb_minilm", **(arrays | {"rating": [2, 9, 9]}))
    assert "Got other values" in refusal("imdb_minilm")


@pytest.mark.parametrize("damage", ["cut", "flipped", "text", "other arrays"])
def test_a_damaged_archive_ends_in_one_line(damage, small):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (50, 28, 28), dtype=np.uint8)
    rest = {"y": np.zeros(50, dtype=np.uint8), "split": ["train"] * 50}
    small.adopt("mnist", X=X, **rest)
    path = small.folder / "mnist.npz"
    content = bytearray(path.read_bytes())
    if damage == "cut":
        path.write_bytes(content[:-500])
    elif damage == "flipped":
        content[20_000] ^= 255
        path.write_bytes(content)
    elif damage == "text":
        path.write_text("a page that says 404")
    else:
        np.savez(path, images=X)
    message = refusal("mnist")
    assert message.startswith("load cannot read ")
    assert message.endswith("Replace the file.")


# What was fetched


@pytest.mark.data
def test_fetched_mnist_is_compared_with_the_catalog(data_folder, environment, load_real):
    known = load_real("mnist")
    with np.load(data_folder / "mnist.npz") as arrays:
        y = arrays["y"].astype(str)
    answer = SimpleNamespace(data=known.X.reshape(len(y), -1), target=y)
    environment.setattr(sklearn.datasets, "fetch_openml", lambda **_: answer)
    np.testing.assert_array_equal(load("mnist").X, known.X)
    cached = fetch.cache_folder() / "mnist.npz"
    with np.load(cached) as arrays:
        kept = dict(arrays)
    kept["X"][5, 14, 14] ^= 1
    np.savez(cached, **kept)
    message = refusal("mnist")
    assert "Got other values" in message
    assert message.endswith("Delete the file; load then fetches it again.")


def test_a_fetched_copy_in_another_order_is_taken_as_it_is(environment, no_tables):
    frame = table("abalone").to_pandas().iloc[::-1].reset_index(drop=True)
    answer = SimpleNamespace(data=frame.drop(columns="target"), target=frame["target"].astype(str))
    environment.setattr(sklearn.datasets, "fetch_openml", lambda **_: answer)
    assert load("abalone").y_true.sum() == 2081
    cached = fetch.cache_folder() / "abalone.parquet"
    cached.write_bytes(cached.read_bytes()[:-100])
    assert refusal("abalone").endswith("Delete the file; load then fetches it again.")


# The digest itself


def digest(X=((1.0, 2.0),), target=("a",), names=("p", "q"), **more):
    return content_digest(Raw(np.array(X), np.array(target), names, **more))


def test_what_the_digest_sees_and_what_not():
    assert digest() == digest(X=np.array([[1.0, 2.0]]).astype(">f8"))
    assert digest(X=[[0.0, 2.0]]) == digest(X=[[-0.0, 2.0]])
    assert digest(meta={"meta_a": np.array([1]), "meta_b": np.array(["x"])}) == digest(
        meta={"meta_b": np.array(["x"]), "meta_a": np.array([1], dtype=np.int8)}
    )
    different = [
        digest(),
        digest(X=[[2.0, 1.0]]),
        digest(X=[[1.0], [2.0]], names=("p",)),
        digest(target=("b",)),
        digest(names=("q", "p")),
        digest(names=("p, q",)),
        digest(split=np.array(["train"])),
        digest(meta={"meta_a": np.array([1])}),
        digest(meta={"meta_a": np.array(["1"])}),
        digest(target=("a", "bc")),
        digest(target=("ab", "c")),
    ]
    assert len(set(different)) == len(different)


def test_the_digest_by_hand():
    raw = Raw(
        np.array([[0.5, -1.0], [2.0, 3.0]]),
        np.array(["yes", "no"]),
        ("a", "b"),
        split=np.array(["train", "test"]),
        meta={"meta_day": np.array([3, 4])},
    )
    words = json.dumps(["features", "a", "b"])
    content = b"".join(
        [
            json.dumps([words, "<f8", [2, 2], []]).encode() + b"\n",
            struct.pack("<4d", 0.5, -1.0, 2.0, 3.0),
            json.dumps(["target", "text", [2], ["no", "yes"]]).encode() + b"\n",
            struct.pack("<2i", 1, 0),
            json.dumps(["split", "text", [2], ["test", "train"]]).encode() + b"\n",
            struct.pack("<2i", 1, 0),
            json.dumps(["meta_day", "<i8", [2], []]).encode() + b"\n",
            struct.pack("<2q", 3, 4),
        ]
    )
    assert content_digest(raw) == hashlib.sha256(content).hexdigest()
