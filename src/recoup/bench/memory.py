"""How much main memory runs may take: of the machine, the container or the job."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath

# A run gets this share of main memory at most, divided by the runs at the same time.
USABLE_MEMORY = 0.9
MEGABYTE = 2**20
# Where Linux tells a process which groups it is in, and what these may take.
OWN_GROUPS, GROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def share_of_memory(n_runs: int) -> int | None:
    """Return the bytes that each of some runs may take, if anything tells how many there are.

    Parameters
    ----------
    n_runs : int
        Runs at the same time.

    Returns
    -------
    int or None
    """
    limits = [
        *_of_machine(),
        *_of_container(OWN_GROUPS, GROUPS),
        *_of_job(os.environ),
        *_of_process(),
    ]
    return int(USABLE_MEMORY * min(limits) / n_runs) if limits else None


def _of_machine() -> Iterator[int]:
    if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _of_container(own_groups: Path, groups: Path) -> Iterator[int]:
    """Read what the control groups of this process allow, in the first or second version.

    Groups lie in each other, and the tightest holds. Inside a container, its own group may be
    shown as the root, whatever its path is outside.
    """
    try:
        lines = own_groups.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root, name = groups, "memory.max"
        elif "memory" in controllers.split(","):
            root, name = groups / "memory", "memory.limit_in_bytes"
        else:
            continue
        own = PurePosixPath(path.lstrip("/"))
        for group in dict.fromkeys((own, *own.parents, PurePosixPath())):
            # Without a limit there is no file, or "max" in it, or more than any machine has.
            with suppress(OSError, ValueError):
                yield int((root / group / name).read_text())


def _of_job(environment: Mapping[str, str]) -> Iterator[int]:
    """Read what SLURM gave to the job on this machine; it counts megabytes, and 0 is all."""
    per_node = _number(environment.get("SLURM_MEM_PER_NODE"))
    if per_node:
        yield per_node * MEGABYTE
    per_cpu = _number(environment.get("SLURM_MEM_PER_CPU"))
    cpus = _number(environment.get("SLURM_CPUS_ON_NODE"))
    if per_cpu and cpus:
        yield per_cpu * cpus * MEGABYTE


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isdecimal() else 0


def _of_process() -> Iterator[int]:
    with suppress(ImportError):
        import resource

        allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
        if allowed != resource.RLIM_INFINITY:
            yield allowed
