"""The same Evaluation, digit for digit, whatever engine holds the rows."""

from __future__ import annotations

import duckdb
import numpy as np
import polars as pl
import pytest

from recoup import evaluate
from recoup.scores import ScoreTable


@pytest.mark.parametrize("distinct", ["few", "many"])
def test_one_evaluation_from_all_engines(spark, distinct, tmp_path):
    rng = np.random.default_rng(0)
    n = 30_000
    y = rng.random(n) < 0.3
    s = (y & (rng.random(n) < 0.3)).astype(int)
    scores = 1 / (1 + np.exp(-(rng.normal(size=n) + 2 * y - 1)))
    if distinct == "few":
        scores = np.round(scores, 3)
    frame = pl.DataFrame({"s": s, "p": scores})
    frame.write_parquet(tmp_path / "rows.parquet")
    expected = evaluate(s, scores, alpha=0.2, n_boot=200)
    assert expected.table.thinned == (distinct == "many")
    tables = {
        "polars": ScoreTable.from_frame(frame, label="s", score="p"),
        "duckdb": ScoreTable.from_frame(duckdb.sql("SELECT * FROM frame"), label="s", score="p"),
        "spark": ScoreTable.from_frame(
            spark.read.parquet(str(tmp_path / "rows.parquet")), label="s", score="p"
        ),
        "file": ScoreTable.from_file(tmp_path / "rows.parquet", label="s", score="p"),
    }
    for name, table in tables.items():
        found = evaluate(table, alpha=0.2, n_boot=200)
        assert found.to_dict() == expected.to_dict(), name
        np.testing.assert_array_equal(found.roc.tpr, expected.roc.tpr)
        np.testing.assert_array_equal(found.roc_band.lower, expected.roc_band.lower)
