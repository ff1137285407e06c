"""Runs share the memory of the machine, or what a container or a job allows if that is less."""

import pytest

from recoup.bench import memory
from recoup.bench.memory import share_of_memory

GIGABYTE = 2**30


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine of 64 GiB without limits; returns what writes a control group's."""
    monkeypatch.setattr(memory, "_of_machine", lambda: [64 * GIGABYTE])
    monkeypatch.setattr(memory, "_of_process", lambda: [])
    for name in ("SLURM_MEM_PER_NODE", "SLURM_MEM_PER_CPU", "SLURM_CPUS_ON_NODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(memory, "OWN_GROUPS", tmp_path / "own")
    monkeypatch.setattr(memory, "GROUPS", tmp_path / "groups")

    def write(own, files):
        (tmp_path / "own").write_text(own)
        for path, text in files.items():
            file = tmp_path / "groups" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)

    return write


def gigabytes():
    return share_of_memory(1) / (0.9 * GIGABYTE)


def test_without_limits_it_is_the_machine(machine):
    assert gigabytes() == pytest.approx(64)
    assert share_of_memory(8) == pytest.approx(0.9 * 8 * GIGABYTE, abs=1)


@pytest.mark.parametrize(
    ("own", "files", "expected"),
    [
        ("0::/\n", {"memory.max": "max\n"}, 64),
        ("0::/\n", {"memory.max": f"{2 * GIGABYTE}\n"}, 2),
        ("0::/a/b\n", {"a/b/memory.max": "max", "a/memory.max": str(3 * GIGABYTE)}, 3),
        ("0::/a/b\n", {"a/b/memory.max": str(GIGABYTE), "a/memory.max": str(3 * GIGABYTE)}, 1),
        # Inside a container its own group is shown as the root.
        ("0::/docker/0123\n", {"memory.max": str(4 * GIGABYTE)}, 4),
        ("5:memory:/job\n0::/\n", {"memory/job/memory.limit_in_bytes": str(5 * GIGABYTE)}, 5),
        ("5:cpu,memory:/x\n", {"memory/memory.limit_in_bytes": str(6 * GIGABYTE)}, 6),
        ("5:memory:/\n", {"memory/memory.limit_in_bytes": "9223372036854771712"}, 64),
        ("3:cpu:/job\n", {"memory/job/memory.limit_in_bytes": str(GIGABYTE)}, 64),
        ("0::/a:b\n", {"a:b/memory.max": str(7 * GIGABYTE)}, 7),
    ],
)
def test_control_groups_of_both_versions_are_read(machine, own, files, expected):
    machine(own, files)
    assert gigabytes() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"SLURM_MEM_PER_NODE": "2048"}, 2),
        ({"SLURM_MEM_PER_CPU": "512", "SLURM_CPUS_ON_NODE": "8"}, 4),
        ({"SLURM_MEM_PER_CPU": "512"}, 64),
        ({"SLURM_MEM_PER_NODE": "0"}, 64),
        ({"SLURM_MEM_PER_NODE": "lots"}, 64),
    ],
)
def test_a_job_of_slurm_has_what_it_asked_for(machine, monkeypatch, given, expected):
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert gigabytes() == pytest.approx(expected)


def test_a_limit_of_the_process_counts(machine, monkeypatch):
    monkeypatch.setattr(memory, "_of_process", lambda: [GIGABYTE])
    assert gigabytes() == pytest.approx(1)


def test_nothing_is_said_where_nothing_is_known(machine, monkeypatch):
    monkeypatch.setattr(memory, "_of_machine", lambda: [])
    assert share_of_memory(2) is None
