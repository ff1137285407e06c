"""Files are written whole or not at all, several of them together or none."""

from pathlib import Path

import pytest

from recoup._core.files import write_file, writing
from recoup.exceptions import InvalidInputError


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def write_new(*paths, failure=None):
    with writing(*paths) as drafts:
        for draft in drafts:
            draft.write_text("new")
        if failure is not None:
            raise failure


def test_drafts_lie_beside_their_files_and_take_their_place(tmp_path):
    (tmp_path / "a").write_text("old")
    with writing(tmp_path / "a", tmp_path / "b") as drafts:
        for draft, text in zip(drafts, "12", strict=True):
            assert draft.parent == tmp_path
            draft.write_text(text)
        assert (tmp_path / "a").read_text() == "old"
        assert not (tmp_path / "b").exists()
    assert contents(tmp_path) == {"a": "1", "b": "2"}


@pytest.mark.parametrize(
    ("failure", "seen"),
    [
        (KeyboardInterrupt(), KeyboardInterrupt),
        (ValueError("mine"), ValueError),
        (OSError(28, "full"), InvalidInputError),
    ],
)
@pytest.mark.parametrize("names", ["a", "ab"])
def test_a_failure_inside_leaves_the_files_as_they_were(failure, seen, names, tmp_path):
    (tmp_path / "a").write_text("old")
    with pytest.raises(seen):
        write_new(*(tmp_path / name for name in names), failure=failure)
    assert contents(tmp_path) == {"a": "old"}


def test_errors_that_are_not_named_stay_what_they_are(tmp_path):
    with pytest.raises(OSError, match="no answer"), writing(tmp_path / "a", failures=()):
        raise OSError("no answer")


@pytest.mark.parametrize("broken", [1, 2, 3])
def test_a_rename_that_fails_is_undone(broken, tmp_path, monkeypatch):
    """Three renames replace one file and make another."""
    (tmp_path / "a").write_text("old")
    rename, calls = Path.replace, []

    def sometimes(self, target):
        calls.append(target)
        if len(calls) == broken:
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", sometimes)
    with pytest.raises(InvalidInputError, match=r"Cannot write .*a and .*b: No space left on"):
        write_new(tmp_path / "a", tmp_path / "b")
    assert contents(tmp_path) == {"a": "old"}


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "below" / "real")
    assert write_file(tmp_path / "link", b"new") == tmp_path / "link"
    assert (tmp_path / "link").is_symlink()
    assert contents(tmp_path / "below") == {"real": "new"}


@pytest.mark.parametrize("name", ["missing/file", "."])
def test_what_cannot_become_a_file_is_refused(name, tmp_path):
    with pytest.raises(InvalidInputError, match="Cannot write"):
        write_file(tmp_path / name, b"")
    assert contents(tmp_path) == {}
