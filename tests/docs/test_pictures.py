"""The pictures on the pages are those that the script draws."""

from __future__ import annotations

import runpy
from pathlib import Path

import matplotlib.image as mpimg
import numpy as np
import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
MOST_BYTES = 60_000


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    runpy.run_path(str(DOCS / "make_pictures.py"))["main"](folder)
    return folder


def test_pictures_are_up_to_date(drawn):
    names = sorted(path.name for path in drawn.glob("*.png"))
    assert names == sorted(path.name for path in (DOCS / "pictures").glob("*.png"))
    for name in names:
        new, old = (mpimg.imread(folder / name) for folder in (drawn, DOCS / "pictures"))
        assert new.shape == old.shape, name
        # Letters may be drawn a little differently elsewhere; curves may not move.
        assert np.abs(new - old).mean() < 0.01, f"{name}: run python docs/make_pictures.py"


def test_pictures_are_small_and_used():
    pages = "".join(page.read_text() for page in DOCS.glob("*.md"))
    for path in (DOCS / "pictures").glob("*.png"):
        assert path.stat().st_size < MOST_BYTES, path.name
        assert f"(pictures/{path.name})" in pages, path.name
