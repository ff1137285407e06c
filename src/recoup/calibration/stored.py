"""Calibrations in JSON files: versioned, and checked when they are read."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recoup._core.checks import brief
from recoup._core.files import write_file
from recoup._core.notes import CODES, Note
from recoup.calibration.results import CURVES, Calibration
from recoup.exceptions import InvalidInputError

if TYPE_CHECKING:
    from recoup._core.checks import FloatArray

FORMAT, VERSION = "recoup calibration", 1
SHARES = ("alpha", "alpha_lower", "alpha_upper", "beta", "confidence")
SCHEMES = ("single-sample", "case-control")


def write_calibration(calibration: Calibration, path: str | Path) -> Path:
    """Write a calibration.

    Parameters
    ----------
    calibration : Calibration
        What to write.
    path : str or Path
        Where to.

    Returns
    -------
    Path
    """
    if Path(path).suffix.lower() != ".json":
        raise InvalidInputError(
            f"Calibration.save needs a name that ends in .json. Got {brief(str(path), 200)}."
        )
    facts = {"format": FORMAT, "version": VERSION} | calibration.to_dict()
    content = json.dumps(facts | {"digest": _digest(facts)}, indent=1, allow_nan=False) + "\n"
    return write_file(path, content.encode())


def read_calibration(path: str | Path) -> Calibration:
    """Read a calibration, and say in a line what is wrong with a damaged one.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    Calibration
    """
    name = brief(str(path), 200)
    try:
        facts = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise InvalidInputError(
            f"Cannot read {name}: {error.strerror or 'no such file'}."
        ) from error
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(_damaged(name)) from error
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise InvalidInputError(
            f"{name} is no calibration. Name a file that recoup calibrate or Calibration.save "
            f"wrote."
        )
    if facts.get("version") != VERSION:
        raise InvalidInputError(
            f"{name} was written by another version of recoup (format "
            f"{brief(facts.get('version'))}, this one reads {VERSION}). Calibrate again."
        )
    digest = facts.pop("digest", None)
    if digest != _digest(facts):
        raise InvalidInputError(_damaged(name))
    try:
        return _made(facts)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInputError(_damaged(name)) from error


def _damaged(name: str) -> str:
    return f"{name} was cut off or changed after it was written. Take the file as recoup wrote it."


def _digest(facts: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _made(facts: dict[str, Any]) -> Calibration:
    """Build the result; what does not hold is a ValueError."""
    given = {key: value for key, value in facts.items() if key not in ("format", "version")}
    curves: dict[str, Any] = {name: _curve(given.pop(name), name == "scores") for name in CURVES}
    sizes = {len(curve) for curve in curves.values()}
    shares = [float(given[name]) for name in SHARES]
    numbers = [float(given[name]) for name in ("n_labeled", "n_unlabeled", "n_checked")]
    if len(sizes) != 1 or not all(0 <= share <= 1 for share in shares):
        raise ValueError("shares")
    if given["scheme"] not in SCHEMES or not all(0 <= n < np.inf for n in numbers):
        raise ValueError("sizes")
    notes = given.pop("notes")
    told = tuple(Note(note["code"], str(note["text"])) for note in notes if note["code"] in CODES)
    return Calibration(**curves, **given, notes=told)


def _curve(values: Any, is_score: bool) -> FloatArray:
    """Return numbers that rise: scores strictly, chances inside [0, 1]."""
    curve = np.array(values, float)
    steps = np.diff(curve)
    fine = curve.ndim == 1 and len(curve) > 0 and np.isfinite(curve).all()
    fine = fine and bool((steps > 0).all() if is_score else (steps >= 0).all())
    if not fine or not (is_score or (curve[0] >= 0 and curve[-1] <= 1)):
        raise ValueError("curve")
    return curve
