"""How long the trials of a plan will take, by those that a store has."""

from __future__ import annotations

from collections.abc import Sequence

from recoup.bench.job import Job
from recoup.bench.store import Store


class Expected:
    """How long runs take, by those that are finished.

    A run takes what runs of its learner on its dataset took on average; or else of its learner; or
    else what others took, by the effort of their learners.
    """

    def __init__(self, store: Store) -> None:
        from recoup._core.registry import registered

        self._efforts = {key: cls.tags.effort for key, cls in registered("learners").items()}
        taken: dict[tuple[str, ...], list[float]] = {}
        for job, seconds in store.seconds():
            for path in ((job.key, job.dataset), (job.key,)):
                taken.setdefault(path, []).append(seconds)
            # A store may know learners that are not installed here.
            if job.key in self._efforts:
                taken.setdefault((), []).append(seconds / self._efforts[job.key])
        self._means = {path: sum(values) / len(values) for path, values in taken.items()}

    def seconds(self, job: Job) -> float:
        """Say what a run will take; in units of its own while nothing is finished."""
        for path in ((job.key, job.dataset), (job.key,)):
            if path in self._means:
                return self._means[path]
        return float(self._means.get((), 1.0) * self._efforts[job.key])

    def all_seconds(self, jobs: Sequence[Job], workers: int) -> float | None:
        """Say what runs will take together; None where nothing is known."""
        if not self._means:
            return None
        trainings = {job.training: job for job in jobs}
        return sum(map(self.seconds, trainings.values())) / max(workers, 1)
