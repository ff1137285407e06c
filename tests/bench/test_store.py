"""The store keeps every run whole, tells what is wrong in one line, and merges."""

import base64
import contextlib
import csv
import itertools
import json
import os
import re
import sqlite3
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest

from recoup.bench import Job, Store, merge
from recoup.bench.exported import export
from recoup.bench.job import FORMAT
from recoup.bench.ranking import rank_learners
from recoup.bench.record import COUNTS, columns, number_columns, storable
from recoup.bench.result_array import OLD_NAMES
from recoup.exceptions import InvalidInputError, RecoupWarning
from recoup.report.leaderboard import write_site

JOB = Job("iris", "single-sample", "scar", 0.5, 0.0, "nnpu", {"epochs": 5}, 2, "honest")
CONTRACT = [
    "run",
    "dataset",
    "scheme",
    "mechanism",
    "label_frequency",
    "noise",
    "learner",
    "key",
    "params",
    "preset",
    "family",
    "seed",
    "protocol",
    "alpha",
    "status",
    "reason",
    "code",
    "accuracy",
    "balanced_accuracy",
    "precision",
    "recall",
    "f1",
    "matthews_corrcoef",
    "macro_f1",
    "roc_auc",
    "average_precision",
    "aul",
    "recovered_accuracy",
    "recovered_balanced_accuracy",
    "recovered_precision",
    "recovered_recall",
    "recovered_f1",
    "recovered_matthews_corrcoef",
    "recovered_macro_f1",
    "recovered_roc_auc",
    "recovered_average_precision",
    "recovered_aul",
    "alpha_true",
    "alpha_used",
    "alpha_estimate",
    "seconds",
    "seconds_per_epoch",
    "epochs",
    "best_epoch",
    "peak_memory",
    "peak_gpu_memory",
    "n_labeled",
    "n_unlabeled",
    "n_test",
    "device",
    "finished",
]


def done(**row):
    more = {"curves": [{"epoch": 1.0, "loss": 0.5}], "seeds": {"fit": 3}}
    row = {"family": "risk", "accuracy": 0.9, "n_test": 30, "device": "cpu"} | row
    return {"status": "done", "reason": None, "row": row, "details": more, "elapsed": 1.5}


def filled(path, results):
    store = Store(path)
    with store.writing():
        for job, found in results:
            store.write(job, found)
    return store


@pytest.fixture
def store(tmp_path):
    seeds = [(replace(JOB, seed=seed), done(accuracy=seed / 10)) for seed in (3, 1, 2)]
    failed = {"status": "failed", "reason": "it broke", "row": {"family": "risk"}}
    return filled(tmp_path / "runs.sqlite", [*seeds, (replace(JOB, key="pusb"), failed)])


def test_rows_have_every_key_and_are_sorted(store):
    rows = store.rows()
    assert list(columns()) == CONTRACT
    assert all(list(row) == CONTRACT for row in rows)
    assert [(row["key"], row["seed"]) for row in rows] == [
        *(("nnpu", seed) for seed in (1, 2, 3)),
        ("pusb", 2),
    ]
    first, last = rows[0], rows[-1]
    assert first["learner"] == "nnpu (epochs=5)"
    assert first["params"] == {"epochs": 5}
    assert (first["accuracy"], first["precision"], first["n_test"]) == (0.1, None, 30)
    assert (last["status"], last["reason"], last["family"]) == ("failed", "it broke", "risk")
    assert first["finished"].endswith("+00:00")
    assert repr(store) == "Store(runs.sqlite: 3 done, 1 failed)"


def test_details_are_kept(store):
    job = replace(JOB, seed=1)
    found = store.details(job.run)
    assert found["definition"] == job.definition
    assert found["curves"] == [{"epoch": 1.0, "loss": 0.5}]
    assert found["versions"] == {}
    with pytest.raises(InvalidInputError, match=r"needs a run of runs\.sqlite"):
        store.details("nothing")


def test_a_run_written_again_replaces_the_one_before(store):
    with store.writing():
        store.write(replace(JOB, key="pusb"), done())
    assert store.counts() == {"done": 4, "failed": 0, "skipped": 0}
    assert store.seconds()[0][1] == 1.5


def test_the_resting_store_is_one_plain_file(store):
    names = {path.name for path in store.path.parent.iterdir()}
    assert names == {"runs.sqlite", "runs.sqlite.lock"}


def test_a_second_writer_is_refused_until_the_first_is_gone(store):
    second = Store(store.path).writing()
    refused = pytest.raises(InvalidInputError, match="Another process writes to")
    with store.writing(), refused, second:
        pass
    with Store(store.path).writing():
        pass


def test_reading_goes_on_while_another_writes(store):
    with store.writing():
        store.write(replace(JOB, seed=9), done())
        assert Store(store.path).counts()["done"] == 4


def test_writing_needs_the_lock(store):
    with pytest.raises(InvalidInputError, match="within"):
        store.write(JOB, done())


def test_a_full_disk_leaves_the_store_whole(store):
    large = done()
    large["details"] = {"curves": [{"epoch": i, "loss": hash(str(i))} for i in range(30_000)]}
    with store.writing():
        # SQLite gives the same error for a file that may not grow as for a disk that is full.
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(InvalidInputError, match="the disk is full"):
            store.write_all([(replace(JOB, seed=seed), large) for seed in (11, 12)])
    assert store.counts()["done"] == 3
    with sqlite3.connect(store.path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


def test_a_read_only_store_says_so(store, monkeypatch):
    def read_only(mode):
        return sqlite3.connect(f"{store.path.resolve().as_uri()}?mode=ro", uri=True)

    monkeypatch.setattr(store, "_connect", read_only)
    refused = pytest.raises(InvalidInputError, match=r"Cannot write .*runs.sqlite: it is read-only")
    with refused, store.writing():
        pass
    assert Store(store.path).counts()["done"] == 3


def test_files_of_others_are_refused(tmp_path):
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()
    for use in (Store(other).rows, Store(other).writing().__enter__):
        with pytest.raises(InvalidInputError, match="no store of recoup"):
            use()
    text = tmp_path / "text.sqlite"
    text.write_text("not a database at all" * 100)
    with pytest.raises(InvalidInputError, match="no store of recoup"):
        Store(text).rows()
    with (
        pytest.raises(InvalidInputError, match="there is no folder"),
        Store(tmp_path / "none" / "runs.sqlite").writing(),
    ):
        pass


def test_a_store_of_a_later_recoup_is_refused(store):
    with sqlite3.connect(store.path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(InvalidInputError, match="Update recoup"):
        Store(store.path).rows()


def test_a_store_that_is_not_there_is_empty(tmp_path):
    store = Store(tmp_path / "none.sqlite")
    assert store.rows() == []
    assert not store.path.exists()
    assert repr(store) == "Store(none.sqlite: empty)"
    store.path.touch()  # killed at the very start
    assert store.rows() == []
    with store.writing():
        store.write(JOB, done())
    assert store.counts()["done"] == 1


def test_merging_keeps_what_agrees_once(store, tmp_path):
    other = filled(
        tmp_path / "other.sqlite",
        [(replace(JOB, seed=1), done(accuracy=0.1)), (replace(JOB, key="pusb"), done())],
    )
    both = merge([store.path, other.path], tmp_path / "both.sqlite")
    assert both.counts() == {"done": 4, "failed": 0, "skipped": 0}
    assert both.details(replace(JOB, seed=1).run)["seeds"] == {"fit": 3}
    again = merge([other.path, store.path], tmp_path / "again.sqlite")
    assert [{**row, "finished": 0} for row in again.rows()] == [
        {**row, "finished": 0} for row in both.rows()
    ]
    assert len(again.seconds()) == 4


def test_merging_takes_no_offence_at_last_digits_and_at_runs_without_a_result(tmp_path):
    failed, skipped = (
        {"status": status, "reason": status, "row": {}} for status in ("failed", "skipped")
    )
    one = [(JOB, done(accuracy=0.9)), (replace(JOB, key="pusb"), skipped)]
    two = [(JOB, done(accuracy=0.9000000000000002)), (replace(JOB, key="pusb"), failed)]
    paths = [
        filled(tmp_path / f"{len(found)}{n}.sqlite", found).path
        for n, found in enumerate((one, two))
    ]
    for n, order in enumerate((paths, paths[::-1])):
        both = merge(order, tmp_path / f"both{n}.sqlite")
        assert both.counts() == {"done": 1, "failed": 1, "skipped": 0}


def test_merging_names_what_contradicts(store, tmp_path):
    other = filled(tmp_path / "other.sqlite", [(replace(JOB, seed=1), done(accuracy=0.7))])
    out = tmp_path / "both.sqlite"
    with pytest.raises(InvalidInputError) as caught:
        merge([store.path, other.path], out)
    message = str(caught.value)
    assert replace(JOB, seed=1).run in message
    assert "nnpu (epochs=5) on iris" in message
    assert "accuracy is 0.1 in" in message
    assert "and 0.7 in" in message
    assert not out.exists()
    for sources, target in ([store.path, "none.sqlite"], out), ([other.path], store.path):
        with pytest.raises(InvalidInputError, match=r"There is no|which exists"):
            merge(sources, target)


def test_runs_of_an_earlier_format_are_left_out(store, monkeypatch):
    monkeypatch.setattr("recoup.bench.job.FORMAT", FORMAT + 1)
    monkeypatch.setattr("recoup.bench.store.FORMAT", FORMAT + 1)
    with store.writing():
        store.write(replace(JOB, seed=1), done(accuracy=0.4))
    assert [row["accuracy"] for row in store.rows()] == [0.4]


def test_a_link_leads_to_the_same_lock(store, tmp_path):
    link = tmp_path / "link.sqlite"
    link.symlink_to(store.path)
    with store.writing(), pytest.raises(InvalidInputError, match="Another process writes"):
        Store(link)._lock()


@pytest.mark.parametrize("name", ["", ".", "/"])
def test_a_folder_is_no_store(name):
    with pytest.raises(InvalidInputError, match="it is a folder"), Store(name).writing():
        pass


def test_no_spreadsheet_takes_a_reason_for_a_formula(store, tmp_path):
    rows = [row | {"reason": "=HYPERLINK(1)"} for row in store.rows()]
    with export(rows, tmp_path / "runs.csv").open() as stream:
        assert {row["reason"] for row in csv.DictReader(stream)} == {"'=HYPERLINK(1)"}


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_export_holds_every_row(store, tmp_path, suffix):
    path = export(store.rows(), tmp_path / f"runs.{suffix}")
    if suffix == "parquet":
        table = pyarrow.parquet.read_table(path)
        kinds = {field.name: str(field.type) for field in table.schema}
        assert {kinds[name] for name in number_columns()} == {"double"}
        assert {kinds[name] for name in COUNTS} == {"int64"}
        found = table.to_pylist()
    else:
        with path.open() as stream:
            found = list(csv.DictReader(stream))
    assert list(found[0]) == CONTRACT
    assert [float(row["accuracy"]) for row in found[:3]] == [0.1, 0.2, 0.3]
    assert found[0]["params"] == '{"epochs":5}'
    with pytest.raises(InvalidInputError, match=r"ends in .parquet or .csv"):
        export(store.rows(), tmp_path / "runs.txt")


OLD_RECOVERED = ["accuracy", "precision", "recall", "f1", "auc", "ap", "mcc", "balanced_accuracy"]
OLD_METRICS = [*OLD_RECOVERED, "macro_f1", "aul"]
OLD_LAYOUT = f"""
    CREATE TABLE runs (run TEXT PRIMARY KEY, definition TEXT NOT NULL, status TEXT NOT NULL,
    reason TEXT, family TEXT, {", ".join(f"{name} REAL" for name in OLD_METRICS)},
    {", ".join(f"recovered_{name} REAL" for name in OLD_RECOVERED)},
    alpha_true REAL, alpha_used REAL, alpha_estimate REAL, seconds REAL, seconds_per_epoch REAL,
    elapsed REAL, epochs INTEGER, best_epoch INTEGER, peak_memory INTEGER, peak_gpu_memory INTEGER,
    n_labeled INTEGER, n_unlabeled INTEGER, n_test INTEGER, device TEXT, finished TEXT NOT NULL,
    details BLOB)
"""


def old_store(path, seeds=(1, 2, 3)):
    """A file as it was before metrics had one name everywhere."""
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA application_id = 0x7265636F")
        connection.execute("PRAGMA user_version = 1")
        connection.execute(OLD_LAYOUT)
        for seed, key in itertools.product(seeds, ("nnpu", "upu")):
            job = replace(JOB, seed=seed, key=key)
            record = {
                "run": job.run,
                "definition": json.dumps(job.definition),
                "status": "done",
                "family": "risk",
                "accuracy": 0.9,
                "auc": 0.8 + seed / 100,
                "ap": 0.7,
                "mcc": 0.6,
                "recovered_auc": 0.81,
                "recovered_ap": 0.71,
                "recovered_mcc": 0.61,
                "finished": "2026-01-01T00:00:00+00:00",
            }
            marks = ", ".join("?" * len(record))
            connection.execute(
                f"INSERT INTO runs ({', '.join(record)}) VALUES ({marks})", tuple(record.values())
            )
    return Store(path)


OLD_VALUES = {
    "roc_auc": 0.81,
    "average_precision": 0.7,
    "matthews_corrcoef": 0.6,
    "recovered_roc_auc": 0.81,
    "recovered_average_precision": 0.71,
    "recovered_matthews_corrcoef": 0.61,
    "recovered_macro_f1": None,
}


def test_a_store_with_the_names_of_before_is_read(tmp_path):
    store = old_store(tmp_path / "old.sqlite")
    before = store.path.read_bytes()
    first = store.rows()[0]
    assert list(first) == CONTRACT
    assert {name: first[name] for name in OLD_VALUES} == OLD_VALUES
    assert store.path.read_bytes() == before


def test_a_store_with_the_names_of_before_is_written_on(tmp_path):
    store = old_store(tmp_path / "old.sqlite")
    before = store.rows()
    with store.writing():
        assert store.rows() == before
        store.write(replace(JOB, seed=9), done(roc_auc=0.5, recovered_macro_f1=0.4))
    assert [row for row in store.rows() if row["seed"] != 9] == before
    new = next(row for row in store.rows() if row["seed"] == 9)
    assert (new["roc_auc"], new["recovered_macro_f1"]) == (0.5, 0.4)


def test_stores_with_old_and_new_names_merge(tmp_path):
    old = old_store(tmp_path / "old.sqlite")
    again = (replace(JOB, seed=1), done(roc_auc=0.81, average_precision=0.7, macro_f1=0.3))
    other = (replace(JOB, seed=9), done(roc_auc=0.5))
    new = filled(tmp_path / "new.sqlite", [again, other])
    merged = merge([old.path, new.path], tmp_path / "all.sqlite").rows()
    assert {row["seed"]: row["roc_auc"] for row in merged if row["key"] == "nnpu"} == {
        1: 0.81,
        2: pytest.approx(0.82),
        3: pytest.approx(0.83),
        9: 0.5,
    }
    wrong = filled(tmp_path / "wrong.sqlite", [(replace(JOB, seed=1), done(roc_auc=0.4))])
    with pytest.raises(InvalidInputError, match="roc_auc is"):
        merge([old.path, wrong.path], tmp_path / "no.sqlite")


def test_codes_of_reasons_are_kept(tmp_path):
    job = replace(JOB, key="naive", params={}, protocol="oracle")
    store = filled(
        tmp_path / "new.sqlite",
        [
            (job, {"status": "skipped", "reason": job.skip_reason(), "row": {}}),
            (replace(job, seed=9), {"status": "failed", "reason": "It broke.", "row": {}}),
        ],
    )
    kept = merge([store.path], tmp_path / "all.sqlite")
    for rows in (store.rows(), kept.rows()):
        assert [(row["status"], row["code"]) for row in rows] == [
            ("skipped", "selects-nothing"),
            ("failed", None),
        ]


def test_a_reason_without_a_code_gets_the_one_it_has_now(tmp_path):
    store = old_store(tmp_path / "old.sqlite")
    said = "The learner selects no weights: its honest run is the same."
    with contextlib.closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute("UPDATE runs SET status = 'skipped', reason = ?", (said,))
    before = [row["code"] for row in store.rows()]
    assert before == ["selects-nothing"] * 6
    with store.writing():
        assert [row["code"] for row in store.rows()] == before


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_tables_exported_with_the_names_of_before_are_ranked_and_shown(tmp_path, suffix):
    rows = old_store(tmp_path / "old.sqlite").rows()
    path = export(rows, tmp_path / f"runs.{suffix}")
    table = pyarrow.csv.read_csv(path) if suffix == "csv" else pyarrow.parquet.read_table(path)
    back = {new: old for old, new in OLD_NAMES.items()}
    old_rows = table.rename_columns([back.get(name, name) for name in table.column_names])
    old_rows = old_rows.to_pylist()
    assert "auc" in old_rows[0]
    for metric in ("auc", "roc_auc"):
        found = rank_learners(old_rows, metric, baseline=None, n_boot=10)
        assert found.metric == "roc_auc"
        assert {item.learner for item in found.results} == {"nnpu (epochs=5)", "upu (epochs=5)"}
        assert found.results[0].mean == pytest.approx(0.82)
    for row in old_rows:
        row["params"] = json.loads(row["params"])
    page = write_site(old_rows, lambda run: None, tmp_path / "site").read_text()
    island = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])
    packed = island["numbers"]["roc_auc"]
    values = np.frombuffer(base64.b64decode(packed["data"]), "<f8")
    assert values.tolist() == [row["auc"] for row in old_rows]


# What must not hide the other runs, or be lost in silence


@pytest.mark.parametrize(
    "change",
    [
        "definition = '{'",
        "definition = 'null'",
        "definition = json_set(definition, '$.file', 3)",
        "definition = x'00ff'",
        "definition = replace(definition, 'iris', 'wine')",
        "definition = CAST(x'7b22ff' AS TEXT)",
        "status = 'dnne'",
        "accuracy = 'high'",
        "epochs = 2.5",
        "best_epoch = x'00'",
    ],
)
def test_a_damaged_run_hides_no_other(store, change):
    run = replace(JOB, seed=2).run
    with contextlib.closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute(f"UPDATE runs SET {change} WHERE run = ?", (run,))
    assert [row["seed"] for row in store.rows() if row["key"] == "nnpu"] == [1, 3]
    assert store.left_out() == {"damaged": 1}
    assert store.damaged() == [run]
    assert len(store.seconds()) >= 2
    with store.writing():
        assert store.drop(store.damaged()) == 1
    assert store.left_out() == {}


def test_damaged_pages_hide_no_others(tmp_path):
    jobs = [replace(JOB, seed=seed) for seed in range(200)]
    store = filled(tmp_path / "runs.sqlite", [(job, done()) for job in jobs])
    content = bytearray(store.path.read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle : middle + 4096] = b"\x99" * 4096
    store.path.write_bytes(content)
    rows = store.rows()
    assert 150 < len(rows) < 200
    assert store.left_out() == {"damaged": 200 - len(rows)}
    saved = merge([store.path], tmp_path / "saved.sqlite")
    assert saved.rows() == rows
    with sqlite3.connect(saved.path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


def test_a_file_that_was_damaged_anywhere_ends_in_one_line_or_is_read(tmp_path):
    jobs = [replace(JOB, seed=seed) for seed in range(40)]
    store = filled(tmp_path / "runs.sqlite", [(job, done()) for job in jobs])
    whole, rng, outcomes = store.path.read_bytes(), np.random.default_rng(0), Counter()
    for _ in range(60):
        content = bytearray(whole)
        if rng.random() < 0.2:
            content = content[: rng.integers(1, len(content))]
        else:
            for place in rng.integers(len(content), size=rng.integers(1, 20)):
                content[place] = rng.integers(256)
        store.path.write_bytes(content)
        said = said_of(store)
        assert "\n" not in said
        outcomes[said[:20] if said else "read"] += 1
    assert outcomes["read"] > 10
    assert sum(outcomes.values()) == 60


def said_of(store):
    """Read all there is of a store, and return what is said if it cannot be read."""
    try:
        assert len(store.rows()) + sum(store.left_out().values()) <= 41
        store.seconds()
        store.damaged()
        for run in store.statuses():
            store.details(run)
    except InvalidInputError as error:
        return str(error)
    return ""


def test_with_a_reader_the_file_itself_holds_every_run(store, tmp_path):
    with contextlib.closing(sqlite3.connect(store.path)) as reader:
        reader.execute("SELECT COUNT(*) FROM runs").fetchall()
        with store.writing():
            store.write(replace(JOB, seed=9), done())
        assert store.unsettled() is None
        copy = tmp_path / "copy.sqlite"
        copy.write_bytes(store.path.read_bytes())
        assert Store(copy).counts()["done"] == 4


def test_what_a_reader_keeps_out_of_the_file_is_told(store, tmp_path, monkeypatch):
    monkeypatch.setattr("recoup.bench.store.LAST_SECONDS", 0.1)
    with contextlib.closing(sqlite3.connect(store.path, isolation_level=None)) as reader:
        with store.writing():
            pass
        reader.execute("PRAGMA journal_mode = WAL")
        reader.execute("BEGIN")
        reader.execute("SELECT COUNT(*) FROM runs").fetchall()
        with pytest.warns(RecoupWarning, match="copy both files"), store.writing():
            store.write(replace(JOB, seed=9), done())
        assert "runs.sqlite-wal beside the store" in store.unsettled()
        assert store.counts()["done"] == 4
    with store.writing():
        pass
    assert store.unsettled() is None


def test_a_copy_of_a_new_store_says_what_it_lacks(tmp_path):
    store, copy = Store(tmp_path / "runs.sqlite"), Store(tmp_path / "copy.sqlite")
    with store.writing():
        store._connection.execute("PRAGMA wal_autocheckpoint = 0")
        store._checked = np.inf
        store.write(JOB, done())
        copy.path.write_bytes(store.path.read_bytes())
        assert copy.rows() == []
        with pytest.raises(InvalidInputError, match=r"holds none that it can use.*ends in -wal"):
            merge([copy.path], tmp_path / "all.sqlite")
    assert not (tmp_path / "all.sqlite").exists()


def test_a_merge_that_fails_leaves_nothing_in_the_way(store, tmp_path, monkeypatch):
    def full(self, records):
        raise self._cannot("write", sqlite3.OperationalError("database or disk is full"))

    out = tmp_path / "all.sqlite"
    before = {path.name for path in tmp_path.iterdir()}
    with monkeypatch.context() as patched:
        patched.setattr(Store, "_insert", full)
        with pytest.raises(InvalidInputError, match=r"all\.sqlite: .* run the same command again"):
            merge([store.path], out)
    assert {path.name for path in tmp_path.iterdir()} == before
    assert merge([store.path], out).counts() == store.counts()


def test_merging_loses_no_run_of_another_version(store, tmp_path, monkeypatch):
    before = set(store.statuses())
    monkeypatch.setattr("recoup.bench.job.FORMAT", FORMAT + 1)
    monkeypatch.setattr("recoup.bench.store.FORMAT", FORMAT + 1)
    assert store.rows() == []
    assert store.left_out() == {"of another version of recoup": 4}
    assert set(merge([store.path], tmp_path / "all.sqlite").statuses()) == before


def test_writing_ends_when_the_file_is_gone_or_has_another_name(store, tmp_path):
    elsewhere, job = tmp_path / "elsewhere.sqlite", replace(JOB, seed=9)
    with store.writing():
        store.path.rename(elsewhere)
        with pytest.raises(InvalidInputError, match="removed or replaced"):
            store.write(job, done())
        elsewhere.rename(store.path)
    with store.writing():
        os.link(store.path, elsewhere)
        with pytest.raises(InvalidInputError, match=r"2 names \(hard links\)"):
            store.write(job, done())
    for path in (elsewhere, store.path):
        with pytest.raises(InvalidInputError, match="hard links"), Store(path).writing():
            pass
    assert store.counts()["done"] == 3


def test_a_lock_that_was_removed_is_taken_again_or_ends_one_writer(store):
    lock = store.path.with_name("runs.sqlite.lock")
    with store.writing():
        lock.unlink()
        store.write(replace(JOB, seed=9), done())
        with pytest.raises(InvalidInputError, match="Another process"), Store(store.path).writing():
            pass
        lock.unlink()
        taken = Store(store.path)._lock()
        with pytest.raises(InvalidInputError, match="Another process"):
            store.write(replace(JOB, seed=10), done())
        os.close(taken)
    assert store.counts()["done"] == 4


@pytest.mark.parametrize("value", [[1], "last", 10**30, 2.5, b"x", 1j])
def test_what_cannot_be_kept_counts_as_failed(value, tmp_path):
    found = storable(JOB, done(best_epoch=value) | {"details": {}})
    assert found["status"] == "failed"
    assert "best_epoch to be a" in found["reason"]
    store = filled(tmp_path / "runs.sqlite", [(JOB, found)])
    assert store.rows()[0]["reason"] == found["reason"]
    assert storable(JOB, done(best_epoch=np.int64(3), accuracy=float("nan")))["status"] == "done"


def test_words_that_are_no_utf8_are_kept_readable(tmp_path):
    failed = {"status": "failed", "reason": "no /home/jos\udce9", "row": {}}
    store = filled(tmp_path / "runs.sqlite", [(JOB, failed)])
    assert store.rows()[0]["reason"] == "no /home/jos\\udce9"
    export([store.rows()[0] | {"learner": "\ud800"}], tmp_path / "runs.parquet")
