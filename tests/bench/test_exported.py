"""Rows come back from an exported table as a store returns them."""

import pyarrow as pa
import pyarrow.parquet
import pytest

from recoup.bench import Job, Store
from recoup.bench.exported import export, is_export, read_export
from recoup.exceptions import InvalidInputError


def test_rows_come_back_as_they_were(tmp_path):
    store = Store(tmp_path / "runs.sqlite")
    job = Job("iris", "single-sample", "scar", 0.5, 0.0, "p3mix", {"mode": "c"}, 2, "honest")
    with store.writing():
        store.write(job, {"status": "done", "row": {"accuracy": 0.9, "epochs": 3}, "details": {}})
    path = export(store.rows(), tmp_path / "runs.parquet")
    assert is_export(path)
    assert not is_export(store.path)
    assert read_export(path) == store.rows()


def test_columns_of_an_earlier_recoup_are_known(tmp_path):
    row = {"run": "00", "dataset": "iris", "scheme": "single-sample", "mechanism": "scar"}
    row |= {"label_frequency": 0.1, "noise": 0.0, "learner": "naive", "key": "naive", "seed": 1}
    row |= {"protocol": "honest", "status": "done", "auc": 0.7}
    path = tmp_path / "old.parquet"
    pyarrow.parquet.write_table(pa.Table.from_pylist([row]), path)
    (found,) = read_export(path)
    assert found["roc_auc"] == 0.7
    assert found["params"] == {}
    assert found["macro_f1"] is None


def test_other_tables_are_refused(tmp_path):
    path = tmp_path / "other.parquet"
    pyarrow.parquet.write_table(pa.table({"x": [1]}), path)
    with pytest.raises(InvalidInputError, match="no column 'run'"):
        read_export(path)
    with pytest.raises(InvalidInputError, match="cannot be read"):
        read_export(tmp_path / "none.parquet")
