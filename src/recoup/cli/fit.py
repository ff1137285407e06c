"""``recoup fit`` and ``recoup score``: train a learner on a file, and score other rows with it."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recoup._core.checks import brief
from recoup.cli._options import (
    AsJson,
    Features,
    FileArgument,
    Label,
    LabelsAre,
    Negative,
    Positive,
    SchemeOption,
    Seed,
    Weight,
    as_share,
)
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
from recoup.cli._tables import TABLES
from recoup.exceptions import InvalidInputError

if TYPE_CHECKING:
    from recoup._core.constraints import Constraint
    from recoup.data import ColumnEncoder
    from recoup.priors import PriorEstimate

COLUMNS = "columns.json"


def fit(
    file: FileArgument,
    label: Label,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder to keep the learner in.")],
    positive: Positive = None,
    negative: Negative = None,
    learner: Annotated[
        str, typer.Option(metavar="KEY", help="A key of recoup list learners.")
    ] = "auto-pu",
    features: Features = None,
    weight: Weight = None,
    alpha: Annotated[
        str,
        typer.Option(
            metavar="SHARE|estimate",
            help="Share of positives among the unlabeled rows, for learners that use it.",
        ),
    ] = "estimate",
    labels_are: LabelsAre = "unknown",
    scheme: SchemeOption = "single-sample",
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Another parameter of the learner; repeat for more."
        ),
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also write the rows with scores of learners that were not trained on them "
            "(.parquet or .csv), ready for recoup evaluate: five more fits, none for auto-pu.",
        ),
    ] = None,
    quality: Annotated[
        bool,
        typer.Option(
            help="Also say how good it is on rows that it did not see: one more fit, without a "
            "fifth of the rows, or none for auto-pu and beside --scores."
        ),
    ] = True,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Train a learner on labeled and unlabeled rows, and keep it in a folder."""
    from recoup._core.files import check_folder, check_own_folder
    from recoup.learners.saving import FACTS, FILES
    from recoup.selection.how_labeled import check_labels_are

    check_labels_are(labels_are, "fit")
    check_output(scores, TABLES, "--scores", file, "the rows")
    check_folder(out, "fit cannot write to")
    check_own_folder(out, (COLUMNS, *FILES), FACTS)
    model = _made(learner, alpha, scheme, setting or [], seed)
    from recoup.cli._features import (
        check_features,
        learned_columns,
        notes_on_columns,
        read_labels,
        used_columns,
    )
    from recoup.cli._quality import held_out_quality, notes_on_fit, quality_sentence
    from recoup.data.readers import read_table
    from recoup.learners import save

    check_features(label, features or [], "fit")
    source = read_table(file)
    s = read_labels(source, label, "fit", positive, negative)
    weights = None
    if weight is not None:
        weights, quality = _weights(source, weight, scores), False
        features = features or [name for name in source.columns if name not in (label, weight)]
    encoder = learned_columns(source, label, features or [], "fit", "Pass rows with features.", s)
    X = encoder.transform(source)
    notes = notes_on_columns(encoder, "These columns were not looked at")
    if isinstance(getattr(model, "alpha", None), str):
        with progress(f"Estimating how many positives hide in {Path(file).name}", as_json):
            prior = _estimated(model.alpha, X, s, weights, labels_are, seed)
        model.set_params(alpha=prior)
    with progress(f"Training {learner} on {Path(file).name}", as_json):
        model.fit(X, s, **({} if weights is None else {"sample_weight": weights}))
        save(model, out)
        keep_columns(out, encoder)
        written = [out]
        out_of_fold = getattr(model, "oof_probabilities_", None)
        if scores is not None:
            out_of_fold = _out_of_fold(model, X, s, seed)
            _write_scores(source, out_of_fold, scores, "score")
            written.append(scores)
    measured = {}
    if quality:
        with progress(f"Measuring {learner} on held-out rows", as_json):
            measured = held_out_quality(model, X, s, scheme, seed, out_of_fold)
    notes = [*notes_on_fit(model, "fit"), *notes]
    facts = _facts(model, learner, s, used_columns(encoder))
    labels = getattr(model.prior_, "labels", None)
    if labels is not None:
        facts["labels"] = labels.text
    if as_json:
        print_json(facts | {"quality": measured, "out": str(out), "notes": notes})
        return
    console = stdout()
    table = make_table(("Fact", "Value"), ("Value",), f"{learner} trained on {Path(file).name}")
    said = facts.pop("labels", "")
    for name, value in facts.items():
        shown = brief(", ".join(map(str, value)), 60) if isinstance(value, list) else value
        table.add_row(name, plain(f"{shown:,}" if isinstance(shown, int) else f"{shown}"))
    console.print(table)
    if measured:
        console.print(plain(quality_sentence(measured)))
    if said:
        console.print(plain("Labels:", "bold"), plain(said))
    print_notes(console, notes)
    print_written(console, written)


def score(
    model: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Folder that recoup fit wrote, or model of recoup run."),
    ],
    file: FileArgument,
    out: Annotated[
        Path,
        typer.Option(metavar="FILE", help="The rows with their scores (.parquet or .csv)."),
    ],
    column: Annotated[str, typer.Option(help="Name of the column of scores.")] = "score",
    as_json: AsJson = False,
) -> None:
    """Score rows by a learner that recoup fit has trained, the higher the more positive."""
    check_output(out, TABLES, "--out", file, "the rows")
    from recoup.data.readers import read_table
    from recoup.learners import load

    learner, encoder = load(model), _kept_columns(model)
    source = read_table(file)
    X = encoder.transform(source)
    with progress(f"Scoring {Path(file).name}", as_json):
        values = _scores_of(learner, X)
        _write_scores(source, values, out, column)
    facts = {"rows": len(values)}
    # A ranking alone, such as that of pu-aul without alpha, does not say where positives end.
    with suppress(InvalidInputError):
        facts["called positive"] = int(learner.predict(X).sum())
    if as_json:
        print_json({"out": str(out), "column": column} | facts)
        return
    console = stdout()
    called = f", {facts['called positive']:,} called positive" if len(facts) > 1 else ""
    console.print(plain(f"{facts['rows']:,} rows scored{called}."))
    print_written(console, [out])


def _made(key: str, alpha: str, scheme: str, settings: list[str], seed: int) -> Any:
    """Build the learner that was asked for, or say what does not fit it."""
    from recoup import learners
    from recoup._core.constraints import Anything, constraints_of

    model = learners.make(key, random_state=seed)
    if model.tags.requires_true_labels:
        raise InvalidInputError(
            f"fit cannot train {key!r}: it needs the true class of each row, which PU data lack."
        )
    given: dict[str, Any] = {"scheme": scheme}
    wanted = as_share(alpha, "--alpha", "fit")
    if model.tags.needs_alpha or wanted != "estimate":
        given["alpha"] = wanted
    parameters = model.get_params()
    if "alpha" in given and "alpha" not in parameters:
        raise InvalidInputError(f"fit needs no --alpha for {key!r}. Drop it.")
    model.set_params(**{name: value for name, value in given.items() if name in parameters})
    rules = constraints_of(type(model))
    for text in settings:
        name, found, value = text.partition("=")
        if not found or name not in parameters:
            names = ", ".join(sorted(set(parameters) - {"alpha", "scheme", "random_state"}))
            raise InvalidInputError(
                f"fit needs --set NAME=VALUE with a parameter of {key!r}. Got {brief(text)!r}. "
                f"It has: {names}."
            )
        model.set_params(**{name: _value(value, rules.get(name, Anything()))})
    # Before the rows are read, which may take long.
    model._check_settings("fit --set")
    return model


FLAGS = dict.fromkeys(("true", "yes", "on"), True) | dict.fromkeys(("false", "no", "off"), False)


def _value(text: str, rule: Constraint) -> Any:
    """Read a number, true, false or null as what it is, and anything else as a word.

    Where the parameter is a flag, the ways in which people and YAML write one are read, too.
    """
    from recoup._core.constraints import Flag, Nothing

    if any(isinstance(part, Flag) for part in rule.parts) and text.lower() in FLAGS:
        return FLAGS[text.lower()]
    if any(isinstance(part, Nothing) for part in rule.parts) and text.lower() in ("none", "null"):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _facts(model: Any, key: str, s: Any, names: list[str]) -> dict[str, Any]:
    from recoup._core.checks import label_masks

    labeled, unlabeled, negative = label_masks(s, "fit")
    facts: dict[str, Any] = {
        "learner": key,
        "labeled rows": int(labeled.sum()),
        "unlabeled rows": int(unlabeled.sum()),
    }
    if negative is not None and negative.any():
        use = "known negatives" if model.tags.uses_negatives else "known negatives, left out"
        facts[use] = int(negative.sum())
    facts["columns"] = names
    if model.alpha_ is not None:
        facts["alpha"] = round(float(model.alpha_), 4)
    prior = model.prior_
    if prior is not None and prior.interval is not None:
        facts["interval of alpha"] = [round(float(end), 4) for end in prior.interval]
    if model.health_ is not None:
        facts["health"] = model.health_.code
    if hasattr(model, "best_epoch_"):
        facts |= {"epochs": len(model.history_), "kept epoch": int(model.best_epoch_)}
    return facts


def _estimated(
    method: str, X: Any, s: Any, weights: Any, labels_are: str, seed: int
) -> PriorEstimate:
    """Estimate alpha as ``recoup run`` does, from the rows that count."""
    from recoup.learners.given_alpha import alpha_from_features
    from recoup.learners.given_rows import warn_of_plain_alpha

    if weights is not None:
        used = weights > 0
        X, s = X[used], s[used]
        if len(set(weights[used].tolist())) > 1:
            warn_of_plain_alpha(weights, "fit")
    return alpha_from_features(method, X, s, seed, "fit", labels_are)


def _weights(source: Any, column: str, scores: Path | None) -> Any:
    """Return what rows count, from a column."""
    import numpy as np

    from recoup.data.readers import check_names

    check_names(list(source.columns), [column], source.name)
    if scores is not None:
        raise InvalidInputError(
            f"fit writes no --scores with --weight {brief(column)!r}: learners of other rows would "
            f"count all rows alike. Drop one of them, or score other rows with recoup score."
        )
    try:
        return np.asarray(source.columns[column], float)  # numbers, or text that says them
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"fit needs numbers in the column {brief(column)!r} of --weight. Got: "
            f"{brief(str(error), 100)}. Name another column."
        ) from error


def _scores_of(model: Any, X: Any) -> Any:
    """Return probabilities where the learner has them, and decisions elsewhere."""
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)[:, 1]
    return model.decision_function(X)


def _out_of_fold(model: Any, X: Any, s: Any, seed: int) -> Any:
    from recoup.scores import crossfit

    if hasattr(model, "oof_probabilities_"):
        return model.oof_probabilities_
    return crossfit(model, X, s, random_state=seed).scores


def _write_scores(source: Any, scores: Any, out: Path, column: str) -> None:
    import pyarrow as pa

    from recoup.cli._tables import write_together

    if column in source.columns:
        raise InvalidInputError(
            f"The file has a column {brief(column)!r} already. Name another one with --column, or "
            f"rename it."
        )
    write_together({out: pa.table({**source.columns_for(out), column: pa.array(scores)})})


def keep_columns(folder: Path, encoder: ColumnEncoder) -> None:
    """Write beside a learner how columns become numbers."""
    from recoup._core.files import write_file

    content = json.dumps(encoder.to_dict(), indent=1) + "\n"
    write_file(folder / COLUMNS, content.encode())


def _kept_columns(folder: Path) -> ColumnEncoder:
    from recoup.data import ColumnEncoder

    try:
        return ColumnEncoder.from_dict(json.loads((folder / COLUMNS).read_bytes()))
    except (OSError, ValueError, InvalidInputError) as error:
        raise InvalidInputError(
            f"score cannot read {COLUMNS} in {brief(str(folder), 200)}, which says how columns "
            f"become numbers. Name a folder that recoup fit or recoup run wrote."
        ) from error
