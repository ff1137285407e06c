"""The real datasets, each read at most once per process."""

import json
import os
from functools import cache
from pathlib import Path

import pytest

from recoup.data import fetch, load, tasks

# Taken once: tests change both.
DATA = os.environ.get("RECOUP_DATA")
TABLES = fetch.BUNDLED


@pytest.fixture(scope="session")
def manifest(data_folder):
    """What the folder says about its files, as the independent source to compare with."""
    entries = json.loads((data_folder / "MANIFEST.json").read_text())["datasets"]
    return {entry["name"]: entry for entry in entries}


@pytest.fixture
def environment(monkeypatch, tmp_path):
    """No data folder, an empty cache, and no file to be had from afar."""

    def refuse(*args, **kwargs):
        raise ConnectionError("no answer")

    monkeypatch.delenv("RECOUP_DATA", raising=False)
    monkeypatch.setenv("RECOUP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("pooch.HTTPDownloader.__call__", refuse)
    monkeypatch.setattr("recoup.data.package.NPM", "no such command")
    return monkeypatch


@pytest.fixture(scope="session")
def load_real():
    """Load from the folder of all datasets, or what comes with recoup; keep what was loaded."""

    @cache
    def load_once(name, task):
        folder = Path(DATA or TABLES)
        found = [path.name for path in folder.glob(f"{name}.*")]
        assert found, f"No file of {name} in {folder}: mark the test with data, or add the file."
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("RECOUP_DATA", str(folder))
            return load(name, task=task)

    return lambda name, task=None: load_once(name, task or tasks(name)[0].name)
