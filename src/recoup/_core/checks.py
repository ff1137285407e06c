"""Check what users pass, once, with messages that name the value, the rule and the remedy."""

from __future__ import annotations

import difflib
import numbers
import re
from collections.abc import Iterable
from contextlib import suppress
from decimal import Decimal
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from recoup.exceptions import InvalidInputError

FloatArray: TypeAlias = NDArray[np.float64]
Scheme: TypeAlias = Literal["single-sample", "case-control"]

# From here on, neighboring whole numbers share a float.
SHARED_FLOATS = 2**53


def brief(value: object, limit: int = 40) -> str:
    """Show a value in a message without letting a huge one flood the terminal."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text):,} characters)"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Suggest the known name that is spelled most alike, as a sentence to append, if any is."""
    near = difflib.get_close_matches(name, list(known), 1)
    return f" Did you mean {brief(near[0])!r}?" if near else ""


def check_scheme(scheme: str, caller: str) -> Scheme:
    """Return the scheme if it is one of the two that exist."""
    if scheme not in get_args(Scheme):
        raise InvalidInputError(
            f"{caller} needs scheme to be 'single-sample' (labeled and unlabeled rows are one "
            f"sample) or 'case-control' (the unlabeled rows alone are the population). "
            f"Got {brief(scheme)}."
        )
    return scheme  # type: ignore[return-value]


def check_alpha_beta(alpha: Any, beta: Any, caller: str) -> None:
    """Require 0 <= alpha < beta <= 1, for numbers or arrays of draws."""
    alpha_array, beta_array = as_floats(alpha, "alpha", caller), as_floats(beta, "beta", caller)
    if alpha_array.size == 0 or beta_array.size == 0:
        raise InvalidInputError(f"{caller} needs at least one value of alpha and beta. Got none.")
    for name, values in (("alpha", alpha_array), ("beta", beta_array)):
        bad = ~((values >= 0) & (values <= 1))
        if bad.any():
            raise InvalidInputError(
                f"{caller} needs {name} in [0, 1]: it is a share of rows. "
                f"Got {name}={values[bad].flat[0]:g}. "
                f"Pass a share such as 0.2, not a percentage or a count."
            )
    alpha_array, beta_array = np.broadcast_arrays(alpha_array, beta_array)
    bad = alpha_array >= beta_array
    if bad.any():
        raise InvalidInputError(
            f"{caller} needs 0 <= alpha < beta <= 1: labeled rows must be richer in positives "
            f"than unlabeled rows. Got alpha={alpha_array[bad].flat[0]:g}, "
            f"beta={beta_array[bad].flat[0]:g}. Pass a smaller alpha, or beta=1.0 if every label "
            f"is right."
        )


def check_unmasked(values: Any, name: str, caller: str) -> None:
    """Refuse masked values, whose masks numpy drops without a word."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        n_masked = np.count_nonzero(np.ma.getmaskarray(values))
        raise InvalidInputError(
            f"{caller} needs a value in every row of {name}. Got {n_masked:,} masked ones of "
            f"{values.size:,}. Drop these rows from all arrays, or fill them."
        )


def as_array(values: Any, name: str, caller: str) -> NDArray[Any]:
    """Turn input into an array, without copying where possible; masked values are refused."""
    check_unmasked(values, name, caller)
    return np.asarray(values)


def as_vector(values: Any, name: str, caller: str) -> NDArray[Any]:
    """Turn input into a one-dimensional array, without copying where possible."""
    array = as_array(values, name, caller)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        hint = " Pass predict_proba(X)[:, 1]." if array.ndim == 2 and array.shape[1] == 2 else ""
        raise InvalidInputError(
            f"{caller} needs {name} to have one value per row. Got shape {array.shape}.{hint}"
        )
    return array


def as_floats(values: Any, name: str, caller: str) -> FloatArray:
    """Turn input of any shape into floats, where each number has a float of its own.

    Text, dates and complex numbers are refused, and numbers that differ but would become equal.
    """
    array = as_array(values, name, caller)
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind in "iu" and size == 8 and array.size:
        for extreme in (int(array.max()), int(array.min())):
            if abs(extreme) >= SHARED_FLOATS:
                raise shared_floats_error(f"{caller} needs {name}", extreme)
    if kind in "iub" or (kind == "f" and size <= 8):
        return array.astype(np.float64, copy=False)
    strange = [value for value in array.flat if not _is_real(value)][:1] if kind != "f" else []
    try:
        # What is too large for a float becomes infinite, which those who ask refuse.
        with np.errstate(over="ignore"):
            floats = array.astype(np.float64) if not strange else None
    except (TypeError, ValueError, OverflowError):
        floats = None
    if floats is None:
        raise InvalidInputError(
            f"{caller} needs {name} to be numbers. Got {brief(str([*strange, *array.flat][0]))} "
            f"of type {array.dtype}. Convert the column to numbers first."
        )
    finite = np.isfinite(floats)
    # A set holds whole numbers, decimals and fractions by their exact value.
    distinct = len(set(array[finite].tolist()) if kind == "O" else np.unique(array[finite]))
    if distinct != len(np.unique(floats[finite])):
        longest = max(array[finite].tolist(), key=lambda value: len(str(value)))
        raise shared_floats_error(f"{caller} needs {name}", longest)
    return floats


def as_numbers(values: Any, name: str, caller: str) -> FloatArray:
    """Turn input into a one-dimensional float array; text and objects are refused."""
    return as_floats(as_vector(values, name, caller), name, caller)


def shared_floats_error(needs: str, example: object) -> InvalidInputError:
    """Build the error for numbers that differ, but are one and the same as floats."""
    return InvalidInputError(
        f"{needs} to hold numbers that floats tell apart: whole ones below 2**53, others with up "
        f"to 15 digits. Got {brief(str(example))}. Pass ranks or smaller numbers, or floats if "
        f"ties do not matter."
    )


def _is_real(value: object) -> bool:
    # Whoever asks refuses what is missing; a span of time counts as a whole number in NumPy.
    known = value is None or isinstance(value, numbers.Real | Decimal | np.bool_)
    return known and not isinstance(value, np.timedelta64)


def check_same_length(first: NDArray[Any], second: NDArray[Any], names: str, caller: str) -> None:
    """Require two vectors to describe the same rows."""
    if len(first) != len(second):
        raise InvalidInputError(
            f"{caller} needs {names} to have one value per row each. "
            f"Got {len(first):,} and {len(second):,}. Check that both come from the same rows."
        )


def unknown_labels_error(caller: str, found: object, n_bad: int, n_rows: int) -> InvalidInputError:
    """Build the error for labels outside {1, 0, -1}: one of them, how many, and of how many."""
    return InvalidInputError(
        f"{caller} needs labels to be 1 (labeled positive), 0 (unlabeled) or -1 (known negative). "
        f"Got {brief(found)} in {n_bad:,} of {n_rows:,} rows. "
        f"Map your labels to these values first."
    )


def label_masks(
    s: Any, caller: str
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_] | None]:
    """Split labels into masks of labeled, unlabeled and (if any) known-negative rows."""
    array = as_vector(s, "s", caller)
    if array.dtype.kind == "b":
        return array, ~array, None
    if array.dtype.kind in "cmM" and len(array):  # NumPy would cast them in silence
        raise unknown_labels_error(caller, str(array[0]), len(array), len(array))
    numbers = array if array.dtype.kind in "iuf" else _label_numbers(array)
    labeled, unlabeled = numbers == 1, numbers == 0
    if np.count_nonzero(labeled) + np.count_nonzero(unlabeled) == len(array):
        return labeled, unlabeled, None
    negative = numbers == -1
    strange = ~(labeled | unlabeled | negative)
    if strange.any():
        bad = array[strange].tolist()
        raise unknown_labels_error(caller, repr(bad[0]), len(bad), len(array))
    return labeled, unlabeled, negative


# How labels may be written as text: numbers, as programs write them, or true and false. Every
# engine that is asked by these patterns understands them alike.
_EXPONENT, _SPACE = "(?:[eE][+-]?0+)?", "[ \\t\\r\\n]*"
TEXT_LABELS = {
    number: f"^{_SPACE}(?:{text}){_SPACE}$"
    for number, text in {
        1: f"[+]?0*1(?:[.]0*)?{_EXPONENT}|[tT][rR][uU][eE]",
        0: f"[+-]?0+(?:[.]0*)?{_EXPONENT}|[fF][aA][lL][sS][eE]",
        -1: f"-0*1(?:[.]0*)?{_EXPONENT}",
    }.items()
}


def _label_numbers(array: NDArray[Any]) -> FloatArray:
    """Read labels that are text or objects; what is no label becomes NaN."""
    # Few values fill most columns of labels, so each is looked at once.
    known: dict[Any, float] = {}
    numbers = np.full(len(array), np.nan)
    for row, cell in enumerate(array.tolist()):
        if isinstance(cell, str | bytes):
            if cell not in known:
                known[cell] = _text_label(cell)
            numbers[row] = known[cell]
        elif _is_real(cell) and cell is not None:
            with suppress(OverflowError):
                numbers[row] = float(cell)
    return numbers


def _text_label(cell: str | bytes) -> float:
    text = cell if isinstance(cell, str) else cell.decode(errors="replace")
    found = (number for number, pattern in TEXT_LABELS.items() if re.search(pattern, text))
    return float(next(found, np.nan))


def check_some_rows(n_labeled: float, n_unlabeled: float, caller: str) -> None:
    """Require at least one labeled and one unlabeled row."""
    if n_labeled <= 0 or n_unlabeled <= 0:
        missing, value = ("labeled", 1) if n_labeled <= 0 else ("unlabeled", 0)
        raise InvalidInputError(
            f"{caller} needs labeled and unlabeled rows: performance is recovered from how they "
            f"differ. Got {n_labeled:,.0f} labeled and {n_unlabeled:,.0f} unlabeled rows. "
            f"Check that the label column marks {missing} rows with {value}."
        )
