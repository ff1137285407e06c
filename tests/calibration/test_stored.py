import json

import numpy as np
import pytest

from calibration.known_chances import ALPHA, rows
from recoup import Calibration, calibrate
from recoup.calibration.stored import _digest
from recoup.exceptions import InvalidInputError


@pytest.fixture
def kept(tmp_path):
    s, x, _ = rows(n=600, frequency=0.1)
    found = calibrate(s, x / 3, alpha=(ALPHA - 0.1, ALPHA + 0.1))
    return found, found.save(tmp_path / "calibration.json")


def test_what_was_written_is_read_to_the_last_digit(kept):
    found, path = kept
    again = Calibration.read(path)
    assert again.to_dict() == found.to_dict()
    assert [note.code for note in again.notes] == [note.code for note in found.notes]
    new = np.random.default_rng(1).normal(size=1000)
    for among in ("all", "unlabeled"):
        assert np.array_equal(again.transform(new, among=among), found.transform(new, among=among))
        assert np.array_equal(again.limits(new, among=among), found.limits(new, among=among))


def changed(path, digest=True, **values):
    facts = json.loads(path.read_text()) | values
    facts.pop("digest")
    facts["digest"] = _digest(facts) if digest else "0"
    path.write_text(json.dumps(facts))
    return path


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda path: path.write_text(path.read_text()[:500]), "cut off or changed"),
        (lambda path: path.write_bytes(b"\x00\xff"), "cut off or changed"),
        (lambda path: path.write_text("[1, 2]"), "is no calibration"),
        (lambda path: path.write_text('{"version": 1}'), "is no calibration"),
        (lambda path: changed(path, version=99), "another version of recoup"),
        (lambda path: changed(path, digest=False), "cut off or changed"),
        (lambda path: changed(path, alpha=0.2, digest=False), "cut off or changed"),
        # Whoever writes the digest too is stopped by what does not hold.
        (lambda path: changed(path, alpha=7), "cut off or changed"),
        (lambda path: changed(path, scheme="other"), "cut off or changed"),
        (lambda path: changed(path, lower="x"), "cut off or changed"),
        (lambda path: changed(path, lower=[0.1, 0.2]), "cut off or changed"),
        (lambda path: changed(path, extra=1), "cut off or changed"),
        (lambda path: changed(path, notes=[3]), "cut off or changed"),
        (lambda path: path.unlink(), "Cannot read"),
    ],
)
def test_damage_is_one_line(kept, damage, said):
    _, path = kept
    damage(path)
    with pytest.raises(InvalidInputError, match=said) as error:
        Calibration.read(path)
    assert "\n" not in str(error.value)


def test_curves_that_fall_are_damage(kept):
    found, path = kept
    for name, values in (
        ("probability", found.probability[::-1]),
        ("scores", np.zeros(len(found.scores))),
        ("upper", found.upper + 1),
    ):
        changed(path, **{name: values.tolist()})
        with pytest.raises(InvalidInputError, match="cut off or changed"):
            Calibration.read(path)
        found.save(path)


def test_other_names_are_refused(kept, tmp_path):
    found, _ = kept
    with pytest.raises(InvalidInputError, match="needs a name that ends in"):
        found.save(tmp_path / "calibration.csv")
    with pytest.raises(InvalidInputError, match="there is no folder"):
        found.save(tmp_path / "none" / "calibration.json")
