"""``recoup fit`` with a column of weights and known negatives among the labels."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from recoup.cli import app


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.4).astype(int)
    labels = np.where(rng.random(300) < 0.4, y, 0)
    labels[:30] = np.where(y[:30] == 0, -1, labels[:30])
    frame = pd.DataFrame({"a": rng.normal(size=300) + y, "b": rng.normal(size=300)})
    frame = frame.assign(flagged=labels, counts=np.where(np.arange(300) % 2, 1.0, 6.0))
    frame.to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path / "rows.csv", int((labels == -1).sum())


def fitted(path, *more, code=0):
    out = ("--out", path.parent / "model", "--learner", "naive", "--alpha", "0.3")
    arguments = ["fit", path, "--label", "flagged", *out, *more]
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    assert result.exit_code == code, result.output
    return result


def test_known_negatives_are_among_the_facts_and_weights_are_no_feature(table):
    path, n_negatives = table
    facts = json.loads(fitted(path, "--weight", "counts", "--json").stdout)
    assert facts["known negatives"] == n_negatives > 0
    assert facts["columns"] == ["a", "b"]


def test_what_cannot_go_with_weights_is_one_line(table):
    path, _ = table
    scores = ("--scores", path.parent / "scored.csv")
    assert "--weight" in fitted(path, "--weight", "counts", *scores, code=2).output
    assert "counted" in fitted(path, "--weight", "counted", code=2).output
