"""Every module of papers and tools can be imported, and every script says what it takes."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(path for room in ("papers", "tools") for path in (ROOT / room).rglob("*.py"))


def name_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = [name_of(path) for path in FILES]
SCRIPTS = [name_of(path) for path in FILES if "ArgumentParser" in path.read_text()]


def test_modules_are_found():
    assert len(MODULES) > 40
    assert {"papers.__main__", "papers.aul.experiment", "tools.house"} <= set(MODULES)
    assert {"tools.house", "tools.speed.peers", "tools.studies.intervals"} <= set(SCRIPTS)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_can_be_imported(name):
    assert import_module(name).__doc__


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_says_what_it_takes(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        import_module(name).main()
    assert ended.value.code == 0
    assert "usage: " in capsys.readouterr().out


@pytest.mark.parametrize("name", ["papers", "tools.studies.intervals"])
def test_a_script_runs_by_the_name_of_its_module(name):
    ran = subprocess.run(
        [sys.executable, "-m", name, "--help"], cwd=ROOT, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert "--help" in ran.stdout


@pytest.mark.parametrize("path", FILES, ids=MODULES)
def test_no_script_looks_for_itself_among_files(path):
    """Children are started by the name of a module, which holds wherever the file lies."""
    lists = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.List)]
    commands = [ast.unparse(node) for node in lists if "sys.executable" in ast.unparse(node)]
    assert not [command for command in commands if "__file__" in command]
