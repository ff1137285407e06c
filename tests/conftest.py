"""Settings of all tests."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine is no reason for a property to fail.
current = settings.get_profile(settings.get_current_profile_name())
settings.register_profile("patient", parent=current, deadline=None)
settings.load_profile("patient")

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def data_folder():
    folder = Path(os.environ.get("RECOUP_DATA") or BESIDE)
    if not (folder / "MANIFEST.json").is_file():
        pytest.fail(
            f"These tests read real datasets, and {folder} holds none (no MANIFEST.json). "
            f"Let RECOUP_DATA name the folder that does.",
            pytrace=False,
        )
    return folder
