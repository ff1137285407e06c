"""A bounded part of make fuzz, and whether it would notice."""

import copy
import random

import pytest

from tools.fuzz import cases
from tools.fuzz.__main__ import fuzzed
from tools.fuzz.files import damaged, other_field


def test_odd_files_and_options_end_in_an_answer_or_in_one_line():
    assert fuzzed(seed=1, cases=90, seconds=60) == []


def breaks(rng, folder):
    raise ValueError("no\nluck")


def test_what_goes_wrong_is_told_with_its_number(capsys):
    found = fuzzed(seed=4, cases=3, seconds=9, kinds=(breaks, cases.added_tables))
    assert found == [
        "--seed 4 --only 0 (breaks): ValueError: no luck",
        "--seed 4 --only 2 (breaks): ValueError: no luck",
    ]
    assert "3 cases (2 breaks, 1 added_tables), 2 problems." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("code", "out", "err"),
    [
        (2, "", "recoup: one\nand two\n"),
        (2, "half an answer", "recoup: no.\n"),
        (3, "", ""),
        (0, '{"alpha": NaN}', ""),
    ],
)
def test_commands_that_say_it_otherwise_are_noticed(monkeypatch, tmp_path, code, out, err):
    class Ran:
        exit_code, stdout, stderr, exception = code, out, err, None

    monkeypatch.setattr("typer.testing.CliRunner.invoke", lambda *_: Ran)
    with pytest.raises(cases.Broken):
        cases.run_quietly(["evaluate", "--json"], tmp_path)


def test_the_same_seed_makes_the_same_damage():
    plan = {"a": [1, {"b": 2}], "c": "d"}
    made = {repr(other_field(copy.deepcopy(plan), random.Random(7))) for _ in range(3)}
    assert len(made) == 1
    assert len({damaged(b"0123456789" * 9, random.Random(7)) for _ in range(3)}) == 1
    assert len({damaged(b"0123456789" * 9, random.Random(seed)) for seed in range(20)}) > 10
