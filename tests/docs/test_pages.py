"""All code on the pages runs.

Blocks with ``>>>`` are doctests, which pytest collects from the pages themselves. Here the rest is
run: commands, scripts and configuration.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from doctest import DocTestParser
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy.special import expit

from recoup import learners, load_example
from recoup.bench import Plan
from recoup.cli import app

ROOT = Path(__file__).resolve().parents[2]
# make reproduce writes this page, with commands that take hours.
WRITTEN_BY_COMMANDS = {"papers.md"}
PAGES = sorted(
    path for path in (ROOT / "docs").glob("*.md") if path.name not in WRITTEN_BY_COMMANDS
)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
NOT_RUN = {
    "pip install recoup": "needs a package index",
    "make .venv-peers/.installed": "installs other packages, from an index",
    ".venv-peers/bin/python -m tools.speed.peers": "takes minutes, and those packages",
    "recoup audit next mails.parquet to_check.csv --score score_boosting --label flagged "
    "--out second.csv": "needs answers of people",
    "recoup audit evaluate mails.parquet to_check.csv second.csv --score score_boosting --label "
    "flagged --report page.html": "needs answers of people",
    "recoup audit evaluate recoup-run/scores.parquet recoup-run/to_check.csv": "needs answers of "
    "people",
    "recoup bench run smoke": "takes minutes",
    "recoup bench report smoke.sqlite --out site": "needs that run",
    "recoup bench run pubench-conventional --gpu --limit 8h": "needs a GPU, and a night",
    "recoup bench run plan.yaml --scheduler tcp://head:8786": "needs a cluster",
    "recoup bench run plan.yaml --scheduler tls://head:8786": "needs a cluster with certificates",
    "dask scheduler --port 8786": "serves until it is stopped",
    "dask worker tcp://head:8786 --nthreads 8": "works until it is stopped",
    "dask worker tcp://head:8786 --nthreads 4 --resources GPU=4": "works until it is stopped",
}
# Scripts that test_plugs.py runs, with stand-ins for packages that recoup does not need.
RUN_ELSEWHERE = {"plugs.md"}
LANGUAGES = {"console", "pycon", "python", "toml", "yaml", "text"}  # text is output


def blocks(page: Path, language: str) -> list[str]:
    return [body for found, body in FENCE.findall(page.read_text()) if found == language]


def steps(block: str) -> list[tuple[str, str]]:
    """Split a block into commands, each with the output that is shown below it."""
    parts = re.split(r"^\$ ", block, flags=re.M)[1:]
    return [tuple(part.split("\n", 1)) for part in parts]


def write_tables_of_readers() -> None:
    """Write the raw tables that pages take from their readers."""
    rng = np.random.default_rng(0)
    y = rng.random(200) < 0.4
    marked = y & (rng.random(200) < 0.6)
    amount = rng.normal(100.0 + 80.0 * y, 30.0).round(2)
    payment = [f"P{row:03d}" for row in range(200)]
    flagged = np.where(marked, "yes", "")
    pd.DataFrame({"payment": payment, "amount": amount, "flagged": flagged}).to_csv(
        "payments.csv", index=False
    )
    fine = ~y & (rng.random(200) < 0.1)
    outcome = np.where(marked, "fraud", np.where(fine, "checked, fine", ""))
    pd.DataFrame({"amount": amount, "outcome": outcome}).to_csv("claims.csv", index=False)


def write_groups() -> None:
    """Write scored rows of two countries, as the page of groups has them."""
    rng = np.random.default_rng(0)
    y = rng.random(2000) < 0.3
    columns = {
        "p": expit(rng.normal(2.0 * y - 1.0)),
        "flagged": (y & (rng.random(2000) < 0.4)).astype(int),
        "country": np.where(rng.random(2000) < 0.5, "DE", "FR"),
        "sex": np.where(rng.random(2000) < 0.5, "f", "m"),
    }
    pd.DataFrame(columns).to_parquet("scores.parquet")


CONSOLE = [
    pytest.param(page, block, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, block in enumerate(blocks(page, "console"))
]


@pytest.mark.parametrize(("page", "block"), CONSOLE)
def test_commands_print_what_the_page_shows(page, block, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "88")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    shutil.copy(load_example().path, "mails.parquet")
    # As little as the learner can do: what it finds has tests of its own.
    few = partial(learners.AutoPU, candidates=["logistic", "boosting"], n_folds=2)
    monkeypatch.setattr(learners, "AutoPU", few)
    if page.stem in ("run", "tutorial"):
        write_tables_of_readers()
    if page.stem == "groups":
        write_groups()
    if page.stem == "weeks":  # its first example writes the file of its commands
        (first, *_) = blocks(page, "pycon")
        exec("".join(one.source for one in DocTestParser().get_examples(first)), {})
    for plan in blocks(page, "yaml")[:1]:
        Path("plan.yaml").write_text(plan)
    assert steps(block), "a console block starts each command with $"
    for command, shown in steps(block):
        if command in NOT_RUN:
            continue
        words = shlex.split(command, comments=True)
        if words[0] == "recoup":
            code = 0
            with contextlib.suppress(SystemExit):
                code = app(words[1:], standalone_mode=False) or 0
            printed = capsys.readouterr().out
        else:
            done = subprocess.run(
                ["bash", "-c", command], capture_output=True, text=True, check=False
            )
            code, printed = done.returncode, done.stdout
        assert code == 0, command
        if not shown.strip():
            continue
        # Lines may break elsewhere; "..." stands for any of them.
        wanted = [" ".join(part.split()) for part in re.split(r"^\.\.\.$", shown, flags=re.M)]
        pattern = ".*".join(map(re.escape, wanted))
        assert re.fullmatch(pattern, " ".join(printed.split())), f"{command} printed\n{printed}"


def test_nothing_is_left_out_that_is_not_there():
    shown = {command for page in PAGES for block in blocks(page, "console")
             for command, _ in steps(block)}  # fmt: skip
    assert set(NOT_RUN) <= shown


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_of_code_is_one_that_is_run(page):
    for language, body in FENCE.findall(page.read_text()):
        assert language in LANGUAGES, f"{page.name}: {language}"
        if language == "pycon":
            assert body.startswith(">>> "), f"{page.name}: {body[:60]}"
            assert body.endswith("\n\n"), f"{page.name}: doctest needs an empty line before ```"
        if language == "python":
            script = re.fullmatch(r"--8<--\nexamples/\w+\.py\n--8<--\n", body)
            elsewhere = "SparkSession" in body or page.name in RUN_ELSEWHERE
            assert script is not None or elsewhere, f"{page.name}: {body[:60]}"
        if language == "toml":
            assert tomllib.loads(body)
        if language == "yaml":
            assert Plan(**yaml.safe_load(body)).jobs()


def test_spark_script_prints_the_auc(tmp_path):
    (script,) = blocks(ROOT / "docs" / "big-data.md", "python")
    shutil.copy(load_example().path, tmp_path / "mails.parquet")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",  # starts sooner
    }
    options = " ".join(f"--conf {name}={value}" for name, value in settings.items())
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=os.environ | {"PYSPARK_SUBMIT_ARGS": f"--master local[1] {options} pyspark-shell"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Estimate(roc_auc: pu 0.8165, recovered 0.965")
