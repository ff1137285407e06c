"""make chaos notices what is lost, changed, or said in more than one line."""

import logging
import random
import shutil
import sys

import pytest

from recoup.bench import Store
from recoup.bench.cluster import _quiet_logs
from recoup.bench.job import Job
from tools.chaos.arena import Arena, Lost, differences


@pytest.fixture
def arena(tmp_path):
    before = list(sys.path)
    yield Arena(tmp_path, random.Random(0))
    sys.path[:] = before


def write(path, seeds, accuracy=0.9):
    store = Store(path)
    with store.writing():
        for seed in seeds:
            job = Job("iris", "single-sample", "scar", 0.5, 0.0, "naive", {}, seed, "honest")
            store.write(job, {"status": "done", "row": {"accuracy": accuracy}, "details": {}})


def test_a_run_that_is_gone_or_another_is_noticed(arena):
    write(arena.storm, [1, 2, 3])
    arena.check_kept()
    assert len(arena.kept) == 3
    shutil.copy(arena.storm, arena.calm)
    assert differences(arena.calm, arena.storm) == []
    write(arena.storm, [2], accuracy=0.8)
    assert len(differences(arena.calm, arena.storm)) == 1
    with pytest.raises(Lost, match="1 finished runs are gone or changed"):
        arena.check_kept()
    arena.storm.unlink()
    with pytest.raises(Lost, match="3 finished runs are gone"):
        arena.check_kept()


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("raise ValueError('no')", "a traceback"),
        ("import sys; sys.exit('recoup: no luck.')", "code 1"),
        ("import sys; print('recoup: a\\nrecoup: b', file=sys.stderr); sys.exit(2)", "not one"),
    ],
)
def test_a_command_that_says_it_otherwise_is_noticed(arena, code, words):
    (arena.folder / "plugin" / "speaker.py").write_text(code)
    with pytest.raises(Lost, match=words):
        arena.start(module="speaker").refused("no luck")


def test_dask_is_quiet_while_its_cluster_is_used_and_as_before_afterwards(caplog):
    logger = logging.getLogger("distributed.made.up")
    logger.setLevel(logging.INFO)
    with _quiet_logs():
        logger.critical("a traceback")
    logger.info("as before")
    assert [record.message for record in caplog.records] == ["as before"]
