"""Files of rows to check are written on a plain install."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from recoup.audit import plan, plans


def test_rows_to_check_are_written_without_pandas(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    s = (np.arange(300) < 60).astype(int)
    made = plan(s, rng.normal(s), threshold=0.5, budget=20, alpha=0.2)
    monkeypatch.setattr(plans, "make_frame", lambda columns: pytest.fail("needs pandas"))
    lines = made.to_csv(tmp_path / "a.csv").read_text().splitlines()
    assert lines == ["id,answer", *(f"{one}," for one in made.ids)]
    table = pq.read_table(made.to_parquet(tmp_path / "b.parquet"))
    assert table["id"].to_pylist() == made.ids.tolist()
    assert table["answer"].null_count == made.n_rows
