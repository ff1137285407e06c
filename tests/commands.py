"""Run commands of recoup in tests, and look at what they print."""

import subprocess
import sys
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

import recoup
from recoup.cli import app

EXAMPLE = str(recoup.load_example().path)
QUICK = ["--n-boot", "200"]


def run(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


def run_process(*args, **options):
    command = [sys.executable, "-m", "recoup.cli", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **options)


def ramp(n=400, n_labeled=60, seed=0):
    """Labels and scores that any command can work with."""
    rng = np.random.default_rng(seed)
    s = (np.arange(n) < n_labeled).astype(int)
    return s, rng.normal(0.8 * s)


def write_csv(path, **columns):
    lines = [",".join('"' + name.replace('"', '""') + '"' for name in columns)]
    lines += [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    Path(path).write_text("\n".join(lines) + "\n")
    return path


def assert_one_line(result, text, folder, before):
    assert result.exit_code == 2, (result.stdout, result.exception)
    assert result.stdout == ""
    assert result.stderr.startswith("recoup: ")
    assert result.stderr.count("\n") == 1
    assert result.stderr.endswith("\n")
    assert len(result.stderr) < 1000
    assert "Traceback" not in result.stderr
    assert text in result.stderr
    assert sorted(folder.rglob("*")) == before
