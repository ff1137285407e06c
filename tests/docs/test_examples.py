"""The scripts of the gallery run, and print what the gallery shows."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
GALLERY = (ROOT / "docs" / "gallery.md").read_text()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_script_prints_what_the_gallery_shows(script, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script))
    shown = ROOT / "examples" / "output" / f"{script.stem}.txt"
    assert capsys.readouterr().out == shown.read_text()


def test_gallery_shows_every_script_with_its_output():
    assert len(SCRIPTS) >= 6
    for script in SCRIPTS:
        assert f"\n--8<--\nexamples/{script.name}\n--8<--\n" in GALLERY
        assert f"\n--8<--\nexamples/output/{script.stem}.txt\n--8<--\n" in GALLERY
    outputs = {path.stem for path in (ROOT / "examples" / "output").iterdir()}
    assert outputs == {script.stem for script in SCRIPTS}
