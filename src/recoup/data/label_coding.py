"""What the values of a column of labels mean: labeled positive, unlabeled, known negative."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import TEXT_LABELS, as_array, brief, did_you_mean
from recoup.exceptions import InvalidInputError

# Words that mean what 1, 0 and -1 mean, and those that say that nobody knows.
WORDS = {
    **dict.fromkeys(("yes", "y", "t", "positive", "pos", "labeled", "labelled"), "positive"),
    **dict.fromkeys(("no", "n", "f"), "rest"),
    **dict.fromkeys(("negative", "neg"), "negative"),
    **dict.fromkeys(("unlabeled", "unlabelled", "unknown", "na", "n/a", "nan", "none"), "blank"),
    **dict.fromkeys(("null", "?", ""), "blank"),
}
NUMBERS = {1: "positive", 0: "rest", -1: "negative"}
MEANINGS = {1: "labeled positive", 0: "unlabeled", -1: "known negative"}
# More different values than this are no labels.
MOST_VALUES = 1000
SHOWN = 6


@dataclass(frozen=True)
class LabelCoding:
    """What each value of a column of labels means.

    Attributes
    ----------
    meaning : dict of str to int
        1, 0 or -1 by the value as text.
    blank : int
        What an empty cell means.
    counts : dict of str to int
        Rows of each value.
    n_blank : int
        Rows with an empty cell.
    """

    meaning: Mapping[str, int]
    blank: int
    counts: Mapping[str, int]
    n_blank: int

    @property
    def text(self) -> str:
        """Say what was read as what."""
        shown = [(word, self.meaning[word], n) for word, n in _by_count(self.counts)]
        shown += [("an empty cell", self.blank, self.n_blank)] * (self.n_blank > 0)
        parts = []
        for value, said in MEANINGS.items():
            found = [(word, n) for word, meaning, n in shown if meaning == value]
            if found:
                words = ", ".join(brief(word, 30) for word, _ in found[:SHOWN])
                words += f" and {len(found) - SHOWN:,} others" if len(found) > SHOWN else ""
                parts.append(f"{words}: {said} ({sum(n for _, n in found):,} rows)")
        return "; ".join(parts)


def coding_of(
    counts: Mapping[str, int],
    n_blank: int,
    caller: str,
    positive: str | Sequence[str] | None = None,
    negative: str | Sequence[str] | None = None,
) -> LabelCoding:
    """Say what each value means, where there is one way to read them.

    Parameters
    ----------
    counts : mapping of str to int
        Rows of each value, as text.
    n_blank : int
        Rows with an empty cell.
    caller : str
        Who asks, for errors.
    positive : str or sequence of str, optional
        Values of labeled positives; all others are then unlabeled.
    negative : str or sequence of str, optional
        Values of known negatives.

    Returns
    -------
    LabelCoding
    """
    counts = dict(counts)
    for word in [word for word in counts if not word.strip()]:
        n_blank += counts.pop(word)
    n_rows = sum(counts.values()) + n_blank
    known = dict.fromkeys(_chosen(negative, counts, "negative", caller), -1)
    if positive is not None:
        chosen = _chosen(positive, counts, "positive", caller)
        both = sorted(set(chosen) & set(known))
        if both:
            raise InvalidInputError(
                f"{caller} needs a value to be positive or negative. Got {brief(both[0])!r} as "
                f"both. Drop one."
            )
        meaning = dict.fromkeys(counts, 0) | known | dict.fromkeys(chosen, 1)
        return _checked(LabelCoding(meaning, 0, counts, n_blank), caller)
    kinds = {word: _kind(word) for word in counts if word not in known}
    strange = [word for word, kind in kinds.items() if kind is None]
    has_blank = n_blank > 0 or "blank" in kinds.values()
    rest = [word for word, kind in kinds.items() if kind == "rest"]
    if strange:
        n_bad = sum(counts[word] for word in strange)
        first = strange[0]
        got = first if _is_number(first) else repr(first)
        raise _unclear(f"{brief(got)} in {n_bad:,}", n_rows, counts, n_blank, caller)
    if rest and has_blank:
        n_bad = n_blank + sum(counts[word] for word, kind in kinds.items() if kind == "blank")
        raise _unclear(
            f"{brief(rest[0])} beside no value, which is in {n_bad:,}",
            n_rows,
            counts,
            n_blank,
            caller,
            f"Say which is unlabeled: --negative {rest[0]} (negative=) takes {brief(rest[0])!r} as "
            f"known negative; --positive (positive=) takes all other values as unlabeled.",
        )
    # If nothing else is there, what is called negative is what has no label.
    alone = not rest and not has_blank and not known
    values = {"positive": 1, "rest": 0, "blank": 0, "negative": 0 if alone else -1}
    meaning = {word: values[str(kind)] for word, kind in kinds.items()} | known
    return _checked(LabelCoding(meaning, 0, counts, n_blank), caller)


def usual_meaning(words: Iterable[str]) -> dict[str, int] | None:
    """Return 1, 0 or -1 by word, None if some word is written in another way.

    Parameters
    ----------
    words : iterable of str
        The different values of a column of labels.

    Returns
    -------
    dict of str to int or None
    """
    found: dict[str, int] = {}
    for word in words:
        number = _usual_number(word)
        if number is None:
            return None
        found[word] = number
    return found


def as_pu_labels(
    values: Any,
    *,
    positive: str | Sequence[str] | None = None,
    negative: str | Sequence[str] | None = None,
    caller: str = "as_pu_labels",
) -> NDArray[np.int64]:
    """Turn labels of any coding into 1 labeled positive, 0 unlabeled, -1 known negative.

    Read without being told: 1 and 0, true and false, yes and no; 1 and -1; any of these words for
    positive beside empty cells; positive, negative and unlabeled. Where values can be read in
    several ways, nothing is guessed.

    Parameters
    ----------
    values : array-like of shape (n,)
        Numbers, booleans, words; None, NaN and empty text where there is no label.
    positive : str or sequence of str, optional
        Values of labeled positives; all others, and empty cells, are then unlabeled.
    negative : str or sequence of str, optional
        Values of known negatives. With them, 0 and no beside empty cells can be told apart.
    caller : str, default="as_pu_labels"
        Who asks, for errors.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> as_pu_labels(["yes", "no", "no"])
    array([1, 0, 0])
    >>> as_pu_labels([1.0, None, None])
    array([1, 0, 0])
    >>> as_pu_labels(["fraud", "ok", None], positive="fraud", negative="ok")
    array([ 1, -1,  0])
    """
    return read_label_column(values, caller, positive, negative)[0]


def read_label_column(
    values: Any,
    caller: str,
    positive: str | Sequence[str] | None = None,
    negative: str | Sequence[str] | None = None,
) -> tuple[NDArray[np.int64], LabelCoding]:
    """Return labels, and what was read as what.

    Parameters
    ----------
    values : array-like or Arrow column of shape (n,)
        One value for each row.
    caller : str
        Who asks, for errors.
    positive, negative : str or sequence of str, optional
        Values of labeled positives and of known negatives.

    Returns
    -------
    s : ndarray of shape (n,)
    coding : LabelCoding
    """
    from recoup.data.encoded_column import Cells, as_arrow

    if isinstance(values, np.ndarray):
        values = as_array(values, "s", caller)
    cells = Cells.of(as_arrow(values))
    if isinstance(cells, str) or cells.kind == "date":
        what = cells if isinstance(cells, str) else "holds dates"
        raise InvalidInputError(
            f"{caller} needs labels to be 1 (labeled positive), 0 (unlabeled) or -1 (known "
            f"negative). The column {what}. Choose another column."
        )
    cells = cells.as_words()
    totals = np.bincount(cells.values + 1, minlength=len(cells.words) + 1)
    if not len(cells.values):
        raise InvalidInputError(f"{caller} needs rows. Got none.")
    counts = {word: int(n) for word, n in zip(cells.words, totals[1:], strict=True) if n}
    coding = coding_of(counts, int(totals[0]), caller, positive, negative)
    by_word = [coding.meaning.get(word, coding.blank) for word in cells.words]
    return np.array([*by_word, coding.blank], np.int64)[cells.values], coding


def _usual_number(word: str) -> int | None:
    return next((n for n, pattern in TEXT_LABELS.items() if re.search(pattern, word)), None)


def _kind(word: str) -> str | None:
    number = _usual_number(word)
    return WORDS.get(word.strip().lower()) if number is None else NUMBERS[number]


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _chosen(
    given: str | Sequence[str] | None, counts: Mapping[str, int], name: str, caller: str
) -> list[str]:
    """Return the values that are meant: as they are written, else whatever their case, or equal."""
    if given is None:
        return []
    found: list[str] = []
    for one in [given] if isinstance(given, str) or not isinstance(given, Sequence) else given:
        wanted = str(one).strip()
        alike = [word for word in counts if word.strip() == wanted]
        alike = alike or [word for word in counts if word.strip().lower() == wanted.lower()]
        if not alike and _is_number(wanted):
            alike = [w for w in counts if _is_number(w) and float(w) == float(wanted)]
        if not alike:
            raise InvalidInputError(
                f"{caller} finds no row with the {name} label {brief(wanted)!r}."
                f"{did_you_mean(wanted, list(counts)[:MOST_VALUES])} "
                f"The column has: {_listed_values(counts, 0)}."
            )
        found += alike
    return found


def _checked(coding: LabelCoding, caller: str) -> LabelCoding:
    found = {*(coding.meaning[word] for word in coding.counts)}
    found |= {coding.blank} if coding.n_blank else set()
    for value, what in ((1, "labeled positive"), (0, "unlabeled")):
        if value not in found:
            raise InvalidInputError(
                f"{caller} needs labeled and unlabeled rows. Got no {what} row; the column has: "
                f"{_listed_values(coding.counts, coding.n_blank)}. Name another column, or say "
                f"what its values mean (--positive, --negative)."
            )
    return coding


def _unclear(
    got: str,
    n_rows: int,
    counts: Mapping[str, int],
    n_blank: int,
    caller: str,
    remedy: str = "Say which value is positive: --positive VALUE (positive=); all others are then "
    "unlabeled, or known negatives with --negative VALUE (negative=).",
) -> InvalidInputError:
    return InvalidInputError(
        f"{caller} needs labels to be 1 (labeled positive), 0 (unlabeled) or -1 (known negative), "
        f"or yes and no, or yes and nothing. Got {got} of {n_rows:,} rows. The column has: "
        f"{_listed_values(counts, n_blank)}. {remedy}"
    )


def _by_count(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _listed_values(counts: Mapping[str, int], n_blank: int) -> str:
    ordered = _by_count(counts)
    shown = [f"{brief(word, 30)} ({n:,} rows)" for word, n in ordered[:SHOWN]]
    if n_blank:
        shown.append(f"nothing ({n_blank:,} rows)")
    if len(ordered) > SHOWN:
        shown.append(f"{len(ordered) - SHOWN:,} more values")
    return ", ".join(shown)
