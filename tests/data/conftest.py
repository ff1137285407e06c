"""The real datasets, each read at most once per process."""

import json
from functools import cache

import pytest

from recoup.data import load, tasks


@pytest.fixture(scope="session")
def manifest(data_folder):
    """What the folder says about its files, as the independent source to compare with."""
    entries = json.loads((data_folder / "MANIFEST.json").read_text())["datasets"]
    return {entry["name"]: entry for entry in entries}


@pytest.fixture
def environment(monkeypatch, tmp_path):
    """No data folder and an empty cache."""
    monkeypatch.delenv("RECOUP_DATA", raising=False)
    monkeypatch.setenv("RECOUP_CACHE", str(tmp_path / "cache"))
    return monkeypatch


@pytest.fixture(scope="session")
def load_real(data_folder):
    """Load from the data folder, and keep what was loaded."""

    @cache
    def load_once(name, task):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("RECOUP_DATA", str(data_folder))
            return load(name, task=task)

    return lambda name, task=None: load_once(name, task or tasks(name)[0].name)
