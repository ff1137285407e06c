"""What is tried: one case of each kind from a seed, and what it must never do."""

from __future__ import annotations

import json
import math
import random
import shutil
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from recoup.exceptions import RecoupError
from tools.fuzz.files import (
    damaged,
    damaged_folder,
    odd_table,
    other_field,
    plain_rows,
    written,
)

LONGEST_LINE = 1500
COLUMNS = ("s", "p", "x", "w", "S", "missing", "")
SHARES = ("0.3", "0", "1", "-0.1", "nan", "inf", "1e-300", "abc", "estimate", "0.999999")
WHOLE = ("0", "1", "7", "-1", "1e3", "99", "x")
WORDS = ("yes", "no", "auto", "f1", "0.5", "random", "biased", "bbe", "best", "\u00e9", "--", "-")
OPTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "evaluate": {
        **{"--score": COLUMNS, "--label": COLUMNS, "--alpha": SHARES, "--beta": SHARES},
        **{"--threshold": WORDS + SHARES, "--weight": COLUMNS, "--confidence": SHARES},
        **{"--scheme": WORDS, "--labels-are": WORDS, "--positive": WORDS, "--seed": WHOLE},
    },
    "compare": {
        **{"--score": COLUMNS, "--label": COLUMNS, "--alpha": SHARES, "--queue": SHARES + WHOLE},
        **{"--recall": SHARES, "--metric": WORDS, "--weight": COLUMNS},
    },
    "prior": {
        **{"--score": COLUMNS, "--label": COLUMNS, "--beta": SHARES, "--confidence": SHARES},
        **{"--method": ("bbe", "elkan-noto", "dedpul", "km1", "nothing"), "--seed": WHOLE},
    },
    "scar": {
        **{"--score": COLUMNS, "--label": COLUMNS, "--alpha": SHARES, "--n-resamples": WHOLE},
    },
    "fit": {
        **{"--label": COLUMNS, "--learner": ("naive", "weighted", "elkan-noto", "x")},
        **{"--alpha": SHARES, "--weight": COLUMNS, "--features": COLUMNS, "--seed": WHOLE},
        "--set": ("threshold=alpha", "guard=no", "guard=off", "alpha=.3", "x=1", "classifier=1"),
    },
    "simulate": {
        **{"--label": COLUMNS, "--label-frequency": SHARES, "--mechanism": ("scar", "s2", "x")},
        **{"--noise": SHARES, "--seed": WHOLE, "--features": COLUMNS},
    },
}
USUAL = {
    "evaluate": ("--score", "p", "--label", "s", "--alpha", "0.3", "--n-boot", "0"),
    "compare": ("--score", "p", "--score", "x", "--label", "s", "--alpha", "0.3", "--n-boot", "0"),
    "fit": ("--label", "s", "--learner", "naive", "--no-quality", "--out", "model"),
    "prior": ("--score", "p", "--label", "s", "--method", "bbe"),
    "scar": ("--score", "p", "--label", "s", "--alpha", "0.3", "--n-resamples", "9"),
    "simulate": ("--label", "s", "--label-frequency", "0.5", "--out", "made.csv"),
}
PLAN = {
    "about": "Two classifiers on two tables.",
    "datasets": ["iris", "wine"],
    "label_frequencies": [0.5],
    "learners": ["naive", {"key": "weighted", "params": {"alpha": "known"}, "grid": {}}],
    "seeds": [1, 2],
    "limits": {"time": "30s", "memory": "1GB"},
}


class Broken(Exception):
    """What a case must never do was done."""


def command_line(rng: random.Random, folder: Path) -> str:
    """Give a command odd files and odd options: it answers, or says in one line why not."""
    command = rng.choice(sorted(OPTIONS))
    options = list(USUAL[command])
    for _ in range(rng.choice([0, 0, 1, 2])):
        name = rng.choice(sorted(OPTIONS[command]))
        value = rng.choice(OPTIONS[command][name])
        if name in options and rng.random() < 0.8:
            options[options.index(name) + 1] = value
        else:
            options += [name, value]
    table = odd_table(rng, folder / "table.csv")
    arguments = [command, str(table), *options]
    if rng.random() < 0.5 and command != "simulate":
        arguments.append("--json")
    run_quietly(arguments, folder)
    return " ".join(arguments)


def run_quietly(arguments: list[str], folder: Path) -> None:
    """Run a command here, and look at what it says."""
    import os

    from typer.testing import CliRunner

    from recoup.cli import app

    before = Path.cwd()
    os.chdir(folder)
    try:
        ran = CliRunner().invoke(app, arguments)
    finally:
        os.chdir(before)
    if ran.exception is not None and not isinstance(ran.exception, SystemExit):
        error = ran.exception
        raise Broken(f"{type(error).__name__}: {error}") from error
    if ran.exit_code not in (0, 1, 2):
        raise Broken(f"exit code {ran.exit_code}")
    if ran.exit_code == 2:
        one_line = ran.stderr.count("\n") == 1 and ran.stderr.startswith("recoup: ")
        if not one_line or ran.stdout or len(ran.stderr) > LONGEST_LINE:
            raise Broken(f"no single line: {ran.stderr[:300]!r}, stdout {ran.stdout[:100]!r}")
    elif "--json" in arguments:
        json.loads(ran.stdout, parse_constant=_no_number)


def _no_number(word: str) -> None:
    raise Broken(f"JSON with {word}")


def python_call(rng: random.Random, folder: Path) -> str:
    """Give functions odd arrays: they answer with shares, or refuse by an error of recoup."""
    import recoup
    from recoup.priors import estimate
    from recoup.scores.table import ScoreTable
    from recoup.selection import scar_test

    n = rng.choice([0, 1, 2, 30, 200])
    draw = np.random.default_rng(rng.randrange(2**32))
    s: Any = (draw.random(n) < 0.4).astype(rng.choice([int, float, bool, object]))
    scores: Any = draw.normal(size=n) * 10.0 ** rng.choice([-300, -15, 0, 0, 0, 15, 200, 307])
    if n and rng.random() < 0.5:
        scores[rng.randrange(n)] = rng.choice([math.nan, math.inf, -999, 1e308, 0.0])
    if n and rng.random() < 0.3:
        s[rng.randrange(n)] = rng.choice([-1, 2, 1, 0])
    if rng.random() < 0.2:
        scores = rng.choice([scores[:-1], scores[:, None], scores.astype(str), list(scores), None])
    alpha: Any = rng.choice([0.3, 0.3, 0.0, 1.0, -1, math.nan, None, "0.3", (0.1, 0.5), [], True])
    call = rng.choice(["evaluate", "estimate", "table", "scar"])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", recoup.exceptions.RecoupWarning)
            if call == "evaluate":
                json.dumps(recoup.evaluate(s, scores, alpha=alpha, n_boot=0).to_dict())
            elif call == "estimate":
                method = rng.choice(["bbe", "dedpul", "elkan-noto", "roc-slope"])
                share = estimate(s, scores, method=method).alpha
                if not 0 <= share <= 1:
                    raise Broken(f"alpha {share}")
            elif call == "scar":
                scar_test(scores, s, alpha=alpha, classifier=None, n_resamples=9)
            else:
                a_table = ScoreTable.from_arrays(s, scores)
                if (a_table + a_table).n_labeled != 2 * a_table.n_labeled:
                    raise Broken("counts do not add up")
    except RecoupError as error:
        checked_sentence(error)
    return f"{call}, {n} rows, alpha={alpha!r}"


def checked_sentence(error: Exception) -> None:
    """Require an error to be one line."""
    if "\n" in str(error) or len(str(error)) > LONGEST_LINE or not str(error):
        raise Broken(f"no single line: {str(error)[:300]!r}") from error


@cache
def saved_learners(folder: Path) -> tuple[Path, ...]:
    """Fit and save a learner of each way to be kept."""
    from recoup import learners

    X = np.random.default_rng(0).normal(size=(120, 3)) + (np.arange(120) < 60)[:, None]
    s = (np.arange(120) < 30).astype(int)
    settings: dict[str, dict[str, Any]] = {
        "puet": {"n_estimators": 5, "alpha": 0.3},
        "naive": {},
        "pu-aul": {"n_basis": 10},
        "bagging-pu": {"n_estimators": 3},
    }
    made = [learners.make(key, random_state=0, **given) for key, given in settings.items()]
    return tuple(
        learners.save(one.fit(X, s), folder / f"saved-{place}") for place, one in enumerate(made)
    )


def unsigned(folder: Path) -> None:
    """Take the digests off, as a folder from a stranger may lack them."""
    file = folder / "learner.json"
    try:
        facts = json.loads(file.read_text())
        facts.pop("digests", None)
    except (ValueError, AttributeError):
        return
    file.write_text(json.dumps(facts))


def learner_folder(rng: random.Random, folder: Path) -> str:
    """Load damaged folders of learners: they are refused, or score rows."""
    from recoup import learners

    source = rng.choice(saved_learners(folder))
    copy = folder / "copied"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(source, copy)
    damaged_folder(copy, rng, unsigned)
    try:
        found: Any = learners.load(copy)
        found.decision_function(np.zeros((5, found.n_features_in_)))
    except (RecoupError, ImportError) as error:
        checked_sentence(error)
    return source.name


@cache
def made_store(folder: Path) -> Path:
    """Write a store of a few runs."""
    from recoup.bench import Store
    from recoup.bench.job import Job

    store = Store(folder / "whole.sqlite")
    with store.writing():
        for seed in range(40):
            job = Job("iris", "single-sample", "scar", 0.5, 0.0, "naive", {}, seed, "honest")
            store.write(job, {"status": "done", "row": {"accuracy": 0.9}, "details": {"a": [1]}})
    return store.path


def store_file(rng: random.Random, folder: Path) -> str:
    """Read, export and mend damaged stores: each run is read, or counted, or the file refused."""
    from recoup.bench import Store, merge

    path, out = folder / "damaged.sqlite", folder / "mended.sqlite"
    for file in folder.glob("damaged.sqlite*"):
        file.unlink()
    out.unlink(missing_ok=True)
    path.write_bytes(damaged(made_store(folder).read_bytes(), rng))
    for look in (
        lambda: (Store(path).rows(), Store(path).left_out(), repr(Store(path))),
        lambda: Store(path).damaged(),
        lambda: merge([path], out),
    ):
        try:
            look()
        except RecoupError as error:
            checked_sentence(error)
    run_quietly(["bench", "export", str(path), "--out", str(folder / "t.csv"), "--json"], folder)
    return "store"


def plan_file(rng: random.Random, folder: Path) -> str:
    """Read damaged plans: they are understood, or refused in one line."""
    import yaml

    path = folder / "plan.yaml"
    plan = other_field(json.loads(json.dumps(PLAN)), rng)
    text: str = yaml.safe_dump(plan, allow_unicode=True)
    if rng.random() < 0.4:
        path.write_bytes(damaged(text.encode(), rng))
    else:
        path.write_text(text)
    run_quietly(["bench", "plan", str(path), "--json"], folder)
    return text


def added_tables(rng: random.Random, folder: Path) -> str:
    """Split rows anyhow: the tables of the parts add up to that of all, digit for digit."""
    from recoup.scores.table import ScoreTable

    rows = plain_rows(rng)[1:]
    s, p = (np.array([float(row[place]) for row in rows]) for place in (0, 1))
    part = np.array([rng.randrange(4) for _ in rows])
    tables = [ScoreTable.from_arrays(s[part == one], p[part == one]) for one in set(part.tolist())]
    total = tables[0]
    for table in tables[1:]:
        total = total + table
    whole = ScoreTable.from_arrays(s, p)
    for name in ("scores", "labeled", "unlabeled"):
        if not np.array_equal(getattr(total, name), getattr(whole, name)):
            raise Broken(f"{name} of the parts do not add up")
    file = folder / "parts.csv"
    file.write_text(written([["s", "p"], *([row[0], row[1]] for row in rows)]))
    if not np.array_equal(ScoreTable.from_file(file, label="s", score="p").labeled, whole.labeled):
        raise Broken("the file counts otherwise")
    return f"{len(tables)} parts"


Case = Callable[[random.Random, Path], str]
KINDS: tuple[Case, ...] = (
    *(command_line, command_line, command_line, python_call, python_call),
    *(learner_folder, store_file, plan_file, added_tables),
)
