"""``recoup simulate``: a labeled file in, a PU file out, and the truth apart from it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recoup._core.checks import brief, did_you_mean
from recoup.cli._options import AsJson, Seed
from recoup.cli._output import (
    check_output,
    make_table,
    plain,
    print_json,
    print_notes,
    print_written,
    progress,
    stdout,
)
from recoup.exceptions import InvalidInputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.console import Console

    from recoup.data.pu import PUDataset
    from recoup.data.readers import SourceTable

LABELS = "s"


def simulate(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="CSV, Parquet or JSON lines file whose classes are known, or a pattern in quotes.",
        ),
    ],
    label: Annotated[str, typer.Option(help="Column with the true class.")],
    positive: Annotated[
        list[str], typer.Option(metavar="VALUE", help="A positive class; repeat for more.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help="PU file to write (.csv, .parquet), without the true class."
        ),
    ],
    truth: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="Truth about its rows, in the same order: row_id, y_true, propensity.",
        ),
    ],
    label_frequency: Annotated[
        float | None, typer.Option(help="Share of the positives that keep their label.")
    ] = None,
    n_labeled: Annotated[int | None, typer.Option(help="Or the number of labels.")] = None,
    scheme: Annotated[
        str,
        typer.Option(
            help="single-sample: rows without a label are the unlabeled ones; case-control: these "
            "are a sample of the population."
        ),
    ] = "single-sample",
    mechanism: Annotated[
        str,
        typer.Option(
            help="Which positives get labels: scar (or s1) any alike, s2 clear ones, s3 doubtful "
            "ones, s4 the clearest."
        ),
    ] = "scar",
    variant: Annotated[
        str, typer.Option(help="Of the mechanism: paper, pubench or accept-reject.")
    ] = "paper",
    beta: Annotated[float, typer.Option(help="Share of true positives among the labels.")] = 1.0,
    prior_shift: Annotated[
        float | None, typer.Option(help="Wanted share of positives among the unlabeled rows.")
    ] = None,
    overlap: Annotated[
        bool, typer.Option("--overlap", help="In case-control data, labeled rows come twice.")
    ] = False,
    n_unlabeled: Annotated[int | None, typer.Option(help="Keep so many unlabeled rows.")] = None,
    features: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="What s2 to s4 look at; repeat for more. By default all numbers, and text with "
            "few different words.",
        ),
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Hide labels of a labeled file, so that methods can be tried where the truth is known."""
    from recoup.cli._tables import TABLES, write_together
    from recoup.data.readers import read_table
    from recoup.simulation import simulate as run

    for path, option in ((out, "--out"), (truth, "--truth")):
        check_output(path, TABLES, option, file, "the labeled rows")
    if out.resolve() == truth.resolve():
        raise InvalidInputError(
            "simulate needs --out and --truth to be two files: the truth must not come with the "
            "PU rows. Choose another name for one."
        )
    with progress(f"Hiding labels of {Path(file).name}", as_json):
        source = read_table(file)
        y_true = _true_classes(source, label, positive)
        if LABELS in source.columns and label != LABELS:
            raise InvalidInputError(
                f"simulate writes labels to a column {LABELS!r}, and {brief(file, 200)} has one "
                f"already. Rename or drop it."
            )
        X, used, notes = _features(source, label, features or [], mechanism)
        if _is_sorted(y_true):
            notes.append(
                "Rows of one class lie together in the file, and still do: their order gives the "
                "class away. Shuffle the file first, or shuffle whenever you split."
            )
        data = run(
            X,
            y_true,
            scheme=scheme,  # type: ignore[arg-type]
            label_frequency=label_frequency,
            n_labeled=n_labeled,
            mechanism=mechanism,
            variant=variant,  # type: ignore[arg-type]
            beta=beta,
            prior_shift=prior_shift,
            overlap=overlap,
            n_unlabeled=n_unlabeled,
            random_state=seed,
        )
        write_together({truth: _truth_table(data), out: _pu_table(data, source, label, out)})
    result = _summary(data)
    if as_json:
        options = {"mechanism": mechanism, "variant": variant, "features": used, "seed": seed}
        files = {"out": str(out), "truth": str(truth)}
        print_json({"scheme": scheme, **options, **result, "notes": notes, **files})
        return
    console = stdout()
    _print_summary(console, result, f"{Path(file).name} as {scheme} PU data, {mechanism}")
    print_notes(console, notes)
    print_written(console, [out, truth])


def _true_classes(source: SourceTable, label: str, positive: list[str]) -> NDArray[np.bool_]:
    """Return which rows are of a positive class, given as words."""
    import numpy as np
    import pyarrow as pa

    where = f"column {brief(label)!r} of {brief(source.name, 200)}"
    column = source.typed(label)
    try:
        coded = column.combine_chunks().dictionary_encode()
    except pa.ArrowException as error:
        raise InvalidInputError(
            f"simulate needs classes in {where}. Got {brief(str(column.type))}."
        ) from error
    classes = coded.dictionary.to_pylist()
    codes = coded.indices.fill_null(len(classes)).to_numpy(zero_copy_only=False)
    n_missing = int(np.array([*(value != value for value in classes), True])[codes].sum())
    if n_missing:
        raise InvalidInputError(
            f"simulate needs a class in every row. Got {n_missing:,} rows without one in {where}. "
            f"Drop them first."
        )
    if not classes:
        raise InvalidInputError(f"simulate needs rows. Got none in {brief(source.name, 200)}.")
    chosen = np.zeros(len(classes), bool)
    for word in positive:
        alike = np.array([_is_class(value, word) for value in classes])
        if not alike.any():
            known = [str(value) for value in classes]
            raise InvalidInputError(
                f"There is no class {brief(word)!r} in {where}.{did_you_mean(word, known)} "
                f"It has: {brief(', '.join(known), 200)}."
            )
        chosen |= alike
    y_true: NDArray[np.bool_] = chosen[codes]
    return y_true


def _is_sorted(y_true: NDArray[np.bool_]) -> bool:
    """Say whether classes change far less often from row to row than they would by chance."""
    share = y_true.mean()
    by_chance = 2 * share * (1 - share) * (len(y_true) - 1)
    return bool((y_true[1:] != y_true[:-1]).sum() < by_chance / 10)


def _is_class(value: Any, word: str) -> bool:
    """Say whether a word from the command line means this value."""
    if isinstance(value, bool):
        return word.lower() in (("true", "1") if value else ("false", "0"))
    if str(value) == word:
        return True
    for number in (int, float):
        try:
            return not isinstance(value, str) and bool(number(word) == value)
        except ValueError:
            continue
    return False


def _features(
    source: SourceTable, label: str, chosen: list[str], mechanism: str
) -> tuple[Any, list[str], list[str]]:
    """Return what the mechanism looks at, the columns it comes from, and notes."""
    import numpy as np

    from recoup.cli._features import learned_columns, notes_on_columns, used_columns
    from recoup.simulation import MECHANISMS

    if label in chosen:
        raise InvalidInputError(
            f"simulate cannot take {brief(label)!r} for --features: it is the true class."
        )
    if mechanism in MECHANISMS and MECHANISMS[mechanism].uses_posterior:
        instead = "Pass --mechanism scar, which needs none."
        encoder = learned_columns(source, label, chosen, "simulate", instead)
        notes = notes_on_columns(encoder, "These columns had no say in which rows got a label")
        return encoder.transform(source), used_columns(encoder), notes
    for name in chosen:
        source.typed(name)
    notes = [f"--features changed nothing: {mechanism} looks at none."] if chosen else []
    return np.empty((len(source.columns[label]), 0)), [], notes


def _truth_table(data: PUDataset) -> Any:
    import pyarrow as pa

    columns = {"row_id": data.row_id, "y_true": data.y_true, "propensity": data.propensity}
    return pa.table(columns)


def _pu_table(data: PUDataset, source: SourceTable, label: str, out: Path) -> Any:
    """Return the chosen rows as they were, without their class."""
    import pyarrow as pa

    # Not a copy of the table: what wrote a file may have noted the class in its metadata.
    columns = {
        name: column.take(data.row_id)
        for name, column in source.columns_for(out).items()
        if name != label
    }
    return pa.table({**columns, LABELS: data.s})


def _summary(data: PUDataset) -> dict[str, Any]:
    """Return what came out, counted in the rows that were written."""
    found = data.y_true == 1
    return {
        **vars(data.truth),
        "n_labeled_positive": int((found & (data.s == 1)).sum()),
        "n_unlabeled_positive": int((found & (data.s == 0)).sum()),
    }


def _print_summary(console: Console, result: dict[str, Any], title: str) -> None:
    table = make_table(("Truth", "Meaning", "Value"), ("Value",), title)
    for key, meaning in (
        ("alpha", "positives among unlabeled rows"),
        ("beta", "positives among labeled rows"),
        ("pi", "positives where performance is judged"),
        ("label_frequency", "positives that carry a label"),
    ):
        table.add_row(key, meaning, f"{result[key]:.4f}")
    table.add_section()
    for group in ("labeled", "unlabeled"):
        n_positive = result[f"n_{group}_positive"]
        table.add_row(
            f"n_{group}", f"rows, {n_positive:,} of them positive", f"{result[f'n_{group}']:,}"
        )
    console.print(table)
    if result["overlapping"]:
        console.print(plain("Labeled rows come again among the unlabeled ones."))
