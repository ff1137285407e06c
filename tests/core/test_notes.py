"""Notes are texts that carry a code, through copies, JSON and everything that adds words."""

import copy
import json
import pickle

import numpy as np
import pytest

import recoup
from recoup._core.notes import CODES, Note
from recoup._core.results import to_plain


def test_a_note_is_a_text_with_a_code():
    note = Note("few-rows", "Only 3 rows.")
    assert note == "Only 3 rows."
    assert note.about("a").code == "few-rows"
    assert to_plain({"notes": [note]}) == {"notes": [{"code": "few-rows", "text": "Only 3 rows."}]}


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda note: pickle.loads(pickle.dumps(note))]
)
def test_copies_keep_the_code(again):
    note = again(Note("edge", "At the end."))
    assert (note, note.code) == ("At the end.", "edge")


def test_unknown_codes_are_refused():
    with pytest.raises(KeyError, match="fewrows"):
        Note("fewrows", "Only 3 rows.")


def test_codes_reach_programs():
    s = np.repeat([1, 0], [15, 305])
    scores = np.linspace(1, -1, 320)
    with pytest.warns(recoup.RecoupWarning):
        found = recoup.evaluate(s, scores, alpha=0.6, n_boot=0)
    codes = {note["code"] for note in json.loads(json.dumps(found.to_dict()))["notes"]}
    assert {"infeasible-prior", "few-rows", "chosen-threshold"} <= codes <= set(CODES)
    s = np.repeat([1, 0], [20, 300])
    both = recoup.compare(s, {"a": scores, "b": scores**3}, alpha="elkan-noto", n_boot=0)
    assert {note.code for note in both.notes} >= {"shared-prior", "few-rows"}
    estimate = recoup.priors.estimate(s, scores, method="elkan-noto")
    assert {note["code"] for note in estimate.to_dict()["warnings"]} >= {"few-rows"}


def test_the_light_reads_codes_not_words(monkeypatch):
    from recoup.report.page.light import light_reasons

    s = np.repeat([1, 0], [200, 800])
    scores = np.linspace(1, -1, 1000)
    with pytest.warns(recoup.RecoupWarning):
        found = recoup.evaluate(s, scores, alpha=0.6, n_boot=0, threshold=0.5)
    assert "out-of-range" in {note.code for note in found.notes}
    other = tuple(Note(note.code, "Other words.") for note in found.notes)
    object.__setattr__(found, "notes", other)
    about = next(reason for reason in light_reasons(found) if reason["code"] == "clipping")
    assert about["level"] == "red"
