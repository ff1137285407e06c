"""Files that no one would write on purpose, and some that many do, from a seed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROWS = 60
# Cells that tables of real people hold, and should not.
ODD_CELLS = (
    *("", " ", "NA", "nan", "NaN", "null", "inf", "-inf", "1e300", "-999", "1e-320", "0x10"),
    *(
        "1,5",
        "1.234,5",
        "+3",
        "--",
        "#DIV/0!",
        "yes",
        "True",
        "2024-01-01",
        "=1+1",
        "\u00e9",
        "\u202e",
    ),
    *("0", "1", "-1", "2", "1.0", "0.5", "1e400", "9" * 40, "a" * 3000, '"', "'", "\\", "\x00"),
)
ODD_NAMES = ("", " s", "S", "p", "s", "__row__", "a.b", "a;b", "select", "\u540d", "x" * 300, '"')
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 10**30, 1e308, float("nan"), "", "x", "9" * 50),
    *([], {}, [[]], {"kind": "tuple"}, {"kind": "dict", "items": 3}, [1] * 5),
)


def plain_rows(rng: random.Random, n_rows: int = ROWS) -> list[list[str]]:
    """Return a header and rows with a label, a probability, a number and a word."""
    rows = [["s", "p", "x", "w"]]
    for place in range(n_rows):
        labeled = place < n_rows // 2
        chance = rng.betavariate(4, 2) if labeled else rng.betavariate(2, 3)
        rows.append(
            [str(int(labeled)), f"{chance:.5f}", f"{rng.gauss(labeled, 1):.5f}", rng.choice("abc")]
        )
    return rows


def written(rows: list[list[str]], comma: str = ",", end: str = "\n") -> str:
    """Write rows as CSV."""
    quoted = (
        [
            '"' + cell.replace('"', '""') + '"' if any(c in cell for c in '",\n;\r') else cell
            for cell in row
        ]
        for row in rows
    )
    return end.join(comma.join(row) for row in quoted) + end


def odd_table(rng: random.Random, path: Path) -> Path:
    """Write a table that is odd in one to three ways."""
    rows = plain_rows(rng, rng.choice([0, 1, 3, ROWS, ROWS, ROWS]))
    encoding, comma, end = "utf-8", ",", "\n"
    for _ in range(rng.randint(1, 3)):
        way = rng.randrange(10)
        if way < 4 and len(rows) > 1:
            for row in rng.sample(rows[1:], min(len(rows) - 1, rng.choice([1, 1, 5, ROWS]))):
                row[rng.randrange(len(row))] = rng.choice(ODD_CELLS)
        elif way == 4:
            rows[0][rng.randrange(4)] = rng.choice(ODD_NAMES)
        elif way == 5:
            encoding = rng.choice(["utf-8-sig", "utf-16", "latin-1", "cp1252", "utf-8"])
        elif way == 6:
            comma = rng.choice([";", "\t", "|", ","])
        elif way == 7:
            end = rng.choice(["\r\n", "\r", "\n"])
        elif way == 8:
            rows[rng.randrange(len(rows))].append("more")
        else:
            rng.choice(rows)[-1] = 'first line\nsecond, "line"'
    content = written(rows, comma, end).encode(encoding, "replace")
    path.write_bytes(damaged(content, rng) if rng.random() < 0.15 else content)
    return path


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Change, cut out or put in some bytes."""
    changed = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 8])):
        place, end = sorted(rng.randrange(len(changed) + 1) for _ in "12")
        way = rng.random()
        if way < 0.6:
            changed[place : place + 1] = bytes([rng.randrange(256)])
        elif way < 0.8:
            del changed[place : min(end, place + 50)]
        else:
            changed[place:place] = rng.randbytes(rng.randrange(30))
    return bytes(changed)


def other_field(content: Any, rng: random.Random) -> Any:
    """Change or drop one field of what JSON or YAML holds, at any depth."""
    places: list[tuple[Any, Any]] = []

    def look(value: Any) -> None:
        fields = value.items() if isinstance(value, dict) else enumerate(value)
        for name, part in list(fields):
            places.append((value, name))
            if isinstance(part, dict | list):
                look(part)

    look(content)
    if not places:
        return rng.choice(ODD_VALUES)
    owner, name = rng.choice(places)
    if rng.random() < 0.2:
        del owner[name]
    else:
        owner[name] = rng.choice(ODD_VALUES)
    return content


def damaged_folder(folder: Path, rng: random.Random, sign: Callable[[Path], None]) -> None:
    """Damage a file of a saved learner; ``sign`` makes its digests fit, as a stranger would."""
    file = rng.choice(sorted(folder.iterdir()))
    if file.suffix == ".json" and rng.random() < 0.7:
        file.write_text(json.dumps(other_field(json.loads(file.read_text()), rng)))
    else:
        file.write_bytes(damaged(file.read_bytes(), rng))
    if rng.random() < 0.7:
        sign(folder)
