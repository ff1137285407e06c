"""The count behind a ScoreTable as one SQL statement, for engines that recoup does not talk to."""

from __future__ import annotations

from collections.abc import Sequence

from recoup._core.checks import brief
from recoup._core.optional import require
from recoup.exceptions import InvalidInputError
from recoup.scores.counting import GROUPS, MAX_DECIMALS

# How these engines quote a name. What they are sent is what tests compare with from_frame.
QUOTES = {"duckdb": '"', "spark": "`"}
# Larger numbers have no fraction, and Spark cannot take the floor of NaN or infinity.
WHOLE = "4503599627370496"


def counting_statement(
    table: str | Sequence[str],
    label: str,
    score: str,
    sample_weight: str | None,
    decimals: int | None,
    dialect: str,
) -> str:
    """Write the statement that counts a table by score.

    Parameters
    ----------
    table : str or sequence of str
        Name of the table; dots part its schema from it. A sequence of names may hold dots.
    label, score : str
        Columns of the labels (1, 0 and -1) and of the scores.
    sample_weight : str or None
        Column of the row weights.
    decimals : int or None
        Round scores to so many decimals, halves up.
    dialect : str
        ``"duckdb"``, ``"spark"``, or another one that sqlglot knows.

    Returns
    -------
    str
    """
    names = table.split(".") if isinstance(table, str) else list(table)
    columns = [label, score] if sample_weight is None else [label, score, sample_weight]
    for name in (*names, *columns):
        if not isinstance(name, str) or not name or "\0" in name:
            raise InvalidInputError(
                f"ScoreTable.sql needs names of a table and of columns that are not empty. "
                f"Got {brief(name)!r}."
            )
    if not names:
        raise InvalidInputError("ScoreTable.sql needs the name of a table. Got none.")
    if decimals is not None and not 0 <= decimals <= MAX_DECIMALS:
        raise InvalidInputError(
            f"ScoreTable.sql needs decimals between 0 and {MAX_DECIMALS}. Got {brief(decimals)}."
        )
    if dialect in QUOTES:
        return _statement(names, label, score, sample_weight, decimals, QUOTES[dialect])
    plain = _statement(names, label, score, sample_weight, decimals, QUOTES["duckdb"])
    return _translated(plain, dialect)


def _statement(
    names: Sequence[str],
    label: str,
    score: str,
    sample_weight: str | None,
    decimals: int | None,
    quote: str,
) -> str:
    def quoted(name: str) -> str:
        return quote + name.replace(quote, 2 * quote) + quote

    def total(condition: str, value: str) -> str:
        zero = "0" if value == "1" else "CAST(0 AS DOUBLE)"
        return f"SUM(CASE WHEN {condition} THEN {value} ELSE {zero} END)"

    value = f"CAST({quoted(score)} AS DOUBLE)"
    rounded = value
    if decimals is not None:
        power = f"CAST({10**decimals} AS DOUBLE)"
        scaled = f"({value} * {power} + CAST(0.5 AS DOUBLE))"
        rounded = (
            f"CASE WHEN ABS{scaled} < {WHOLE} THEN CAST(FLOOR{scaled} AS DOUBLE) "
            f"ELSE {scaled} END / {power}"
        )
    # As a decimal number, so that a label of .6 is not taken for 1.
    inner = [f"CAST({quoted(label)} AS DOUBLE) AS label_value", f"{rounded} AS score"]
    counted, sums = "1", []
    if sample_weight is not None:
        inner.append(f"CAST({quoted(sample_weight)} AS DOUBLE) AS weight")
        counted = "weight"
    sums += [f"{total(f'label_value = {n}', counted)} AS {name}" for name, n in GROUPS.items()]
    if sample_weight is not None:
        sums += [
            f"{total(f'label_value = {n}', 'weight * weight')} AS {name}_squares"
            for name, n in GROUPS.items()
        ]
        # Some engines sort NaN above infinity, so both comparisons are needed to catch it.
        usable = "weight >= 0 AND weight <= 1.7976931348623157e308"
        sums.append(f"{total(usable, '1')} AS usable_rows")
    sums += [f"{total('label_value IN (1, 0, -1)', '1')} AS known_rows", "COUNT(*) AS all_rows"]
    listed = ",\n  ".join(["score", *sums])
    selected = ",\n    ".join(inner)
    source = ".".join(quoted(name) for name in names)
    rows = f"(\n  SELECT\n    {selected}\n  FROM {source}\n)"
    return f"SELECT\n  {listed}\nFROM {rows} AS scored\nGROUP BY score"


def _translated(statement: str, dialect: str) -> str:
    sqlglot = require(
        "sqlglot", purpose=f"ScoreTable.sql for {brief(dialect)!r}", install="sqlglot"
    )
    try:
        # Names stay quoted, so that an engine that folds letters finds them as they are.
        found: list[str] = sqlglot.transpile(
            statement, read="duckdb", write=dialect, identify=False, pretty=True
        )
    except ValueError as error:
        raise InvalidInputError(
            f"ScoreTable.sql needs dialect to be 'duckdb', 'spark', or one that sqlglot knows, "
            f"such as 'snowflake', 'bigquery' or 'postgres'. Got {brief(dialect)!r}."
        ) from error
    return found[0]
