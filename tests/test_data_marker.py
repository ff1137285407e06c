"""Tests that need large datasets: skipped by name without them, never with them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TESTS = """
import pytest

@pytest.mark.data
@pytest.mark.parametrize("name", ["mnist", "casp"])
def test_large(name, data_folder):
    assert data_folder.is_dir()

@pytest.mark.data
def test_skips_itself(data_folder):
    {body}

def test_small():
    pass

def test_gpu():
    pytest.skip("no GPU")
"""


@pytest.fixture
def suite(tmp_path):
    """Run a small suite under the settings of this one."""
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    data: needs datasets\n")
    folder = tmp_path / "datasets"
    folder.mkdir()

    def run(*args, data=None, body="pass", manifest=True):
        (tmp_path / "test_some.py").write_text(TESTS.format(body=body))
        if manifest:
            (folder / "MANIFEST.json").write_text("{}")
        environment = {k: v for k, v in os.environ.items() if k != "RECOUP_DATA"}
        environment |= {"RECOUP_DATA": str(folder)} if data else {}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *args]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
        )
        return done.returncode, done.stdout

    return run


@pytest.mark.parametrize("processes", ["0", "1"])
def test_without_the_folder_they_are_skipped_counted_and_listed(suite, processes):
    code, out = suite("-n", processes)
    assert code == 0, out
    assert "1 passed, 4 skipped" in out
    line = next(line for line in out.splitlines() if "RECOUP_DATA names" in line)
    assert line.startswith("3 tests need the datasets that RECOUP_DATA names and were skipped: ")
    assert "test_some.py::test_large (2)" in line
    assert "test_some.py::test_skips_itself" in line
    assert "test_gpu" not in line


def test_with_the_folder_they_run(suite):
    code, out = suite("-n", "0", data=True)
    assert code == 0, out
    assert "4 passed, 1 skipped" in out
    assert "RECOUP_DATA" not in out


@pytest.mark.parametrize("processes", ["0", "1"])
def test_with_the_folder_none_may_skip(suite, processes):
    code, out = suite("-n", processes, data=True, body='pytest.skip("not today")')
    assert code == 1, out
    assert "1 test needs the datasets that RECOUP_DATA names and was skipped, which fails" in out


def test_a_folder_without_datasets_fails(suite):
    code, out = suite("-n", "0", data=True, manifest=False)
    assert code == 1, out
    assert "RECOUP_DATA must name the folder of the datasets" in out


@pytest.fixture
def ci(tmp_path):
    """Run .ci/run in a checkout of its own, and return what make would see."""
    checkout = tmp_path / "checkout"
    (checkout / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci" / "run", checkout / ".ci")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "make").write_text('#!/bin/sh\necho "make $* with ${RECOUP_DATA:-nothing}"\n')
    (programs / "make").chmod(0o755)

    def run(**more):
        kept = {name: value for name, value in os.environ.items() if name != "RECOUP_DATA"}
        path = f"{programs}{os.pathsep}{kept['PATH']}"
        done = subprocess.run(
            [checkout / ".ci" / "run"],
            env=kept | {"PATH": path} | more,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()[-1]

    return run


def test_ci_finds_datasets_beside_the_checkout(ci, tmp_path):
    assert ci().endswith("with nothing")
    other = tmp_path / "a" / "data"
    other.mkdir(parents=True)
    (other / "MANIFEST.json").write_text('{"name": "something else"}')
    assert ci().endswith("with nothing")
    folder = tmp_path / "b" / "data"
    folder.mkdir(parents=True)
    (folder / "MANIFEST.json").write_text('{"file": "spambase.parquet"}')
    assert ci().endswith(f"with {folder}")
    assert ci(RECOUP_DATA="/chosen").endswith("with /chosen")
