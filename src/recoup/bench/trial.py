"""Do one run: draw its rows, fit its learner, and measure what came out."""

from __future__ import annotations

import ctypes
import gc
import inspect
import os
import platform
import sys
import time
import warnings
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup._core.optional import require
from recoup._core.results import to_plain
from recoup._core.version import installed_version
from recoup.bench.job import KNOWN, Job, takes_alpha
from recoup.bench.measure import (
    distributions,
    estimated_alpha,
    recovered_metrics,
    true_metrics,
)
from recoup.bench.trial_data import Rows, draw_rows
from recoup.exceptions import InvalidInputError
from recoup.learners import PULearner, make


def measure_trial(
    definition: Mapping[str, Any], device: str = "cpu"
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Do a run and return what is kept of it.

    Parameters
    ----------
    definition : mapping
        Of a :class:`Job`.
    device : {"cpu", "cuda"}, default="cpu"
        Where networks are trained.

    Returns
    -------
    row : dict
        Columns of the store.
    details : dict
        What else is kept.
    """
    with warnings.catch_warnings():
        # What a learner warns of is for people who fit one model, not thousands.
        warnings.simplefilter("ignore")
        return _measured(Job.of(definition), device)


def _measured(job: Job, device: str) -> tuple[dict[str, Any], dict[str, Any]]:
    rows = draw_rows(job)
    learner, more = _ready(job, rows, device)
    if learner.tags.backend == "torch":
        require("torch", purpose=job.key, install="'recoup[torch]'")
    warm_up(learner.tags.backend, device)
    flat = learner.tags.backend != "torch"
    X, X_held, X_test = (
        part.reshape(len(part), -1) if flat else part for part in (rows.X, rows.X_held, rows.X_test)
    )
    with PeakMemory(device) as peak:
        started = time.perf_counter()
        learner.fit(X, rows.s, **more)
        seconds = time.perf_counter() - started
        held, held_predicted = _answers(learner, X_held)
        test, test_predicted = _answers(learner, X_test)
        train, _ = _answers(learner, X)
    alpha, estimate = _alphas(job, learner, rows, held)
    recovered = recovered_metrics(
        rows.s_held, held, held_predicted, alpha=alpha, beta=rows.beta, design=rows.design
    )
    history = [dict(epoch) for epoch in getattr(learner, "history_", [])]
    row = {
        **recovered,
        "alpha_true": rows.alpha,
        "alpha_used": alpha,
        "alpha_estimate": estimate,
        "seconds": seconds,
        "seconds_per_epoch": _mean([epoch.get("seconds") for epoch in history]),
        "epochs": len(history) or None,
        "best_epoch": getattr(learner, "best_epoch_", None),
        "peak_memory": peak.main,
        "peak_gpu_memory": peak.gpu,
        "n_labeled": int(rows.s.sum()),
        "n_unlabeled": int((rows.s == 0).sum()),
        "n_test": len(test),
        "device": peak.device if learner.tags.backend == "torch" else "cpu",
        "family": learner.tags.family,
        **true_metrics(rows.classes.test, test, test_predicted),
    }
    classes = rows.classes
    spread = distributions(
        test, classes.test, train, rows.s, classes.train, rows.propensity, _chances(learner, X)
    )
    details = {
        "versions": versions(),
        "hardware": hardware(device),
        "seeds": job.seeds,
        "curves": history,
        "distributions": spread,
    }
    return to_plain(row), to_plain(details)


@cache
def warm_up(backend: str, device: str) -> None:
    """Fit something small, once in a process: the first fit waits for imports and for a GPU."""
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(64, 2)), np.repeat([1, 0], 32)
    if backend == "torch":
        settings = {"alpha": 0.5, "epochs": 1, "device": device, "progress": False}
        make("nnpu", random_state=0, **settings).fit(X, s)
    else:
        make("naive", random_state=0).fit(X, s)


def _ready(job: Job, rows: Rows, device: str) -> tuple[PULearner, dict[str, Any]]:
    """Build the learner, and what its fit gets beside rows and labels."""
    learner = make(job.key)
    known = learner.get_params(deep=False)
    settled = {
        "scheme": rows.design,
        "progress": False,
        "device": device,
        "random_state": job.seeds["fit"],
    }
    given = dict(job.params)
    if "alpha" not in given and takes_alpha(job.key):
        given["alpha"] = KNOWN
    if given.get("alpha") == KNOWN:
        given["alpha"] = rows.alpha
    learner.set_params(**{name: value for name, value in settled.items() if name in known})
    learner.set_params(**given)
    takes = inspect.signature(learner.fit).parameters
    more: dict[str, Any] = {}
    if learner.tags.requires_true_labels:
        more["y_true"] = rows.classes.train
    if job.protocol == "oracle":
        if "oracle" in takes:
            more["oracle"] = (rows.X_choose, rows.classes.choose)
        if "propensity" in takes and not {"alpha", "propensity"} & set(job.params):
            more["propensity"] = rows.propensity
    return learner, more


def _answers(learner: PULearner, X: NDArray[Any]) -> tuple[FloatArray, NDArray[np.int_] | None]:
    """Score rows and call them positive or not, by the learner's own threshold if it has one."""
    scores = np.asarray(learner.decision_function(X), float)
    if not np.isfinite(scores).all():
        n = int((~np.isfinite(scores)).sum())
        raise ArithmeticError(f"{n:,} of {len(scores):,} scores are no finite numbers.")
    if type(learner).predict is PULearner.predict:
        return scores, (scores > 0).astype(int)
    try:
        return scores, np.asarray(learner.predict(X))
    except InvalidInputError:  # a ranking that was not told where the positives end
        return scores, None


def _chances(learner: PULearner, X: NDArray[Any]) -> FloatArray | None:
    """Return the chances of training rows to be labeled that the learner went by, if it does."""
    chances = getattr(learner, "propensity_", None)
    if chances is None and callable(getattr(type(learner), "propensity", None)):
        chances = learner.propensity(X)
    return None if chances is None else np.asarray(chances, float)


def _alphas(
    job: Job, learner: PULearner, rows: Rows, held: FloatArray
) -> tuple[float | None, float | None]:
    """Return the alpha that the learner went by, and an estimate of it.

    A learner that goes by none has its metrics recovered with the alpha that others were given.
    The estimate is the learner's own where it made one, else one from held-out scores.
    """
    own = getattr(learner, "alpha_", None)
    prior = getattr(learner, "prior_", None)
    made = learner.tags.estimates_alpha and "alpha" not in job.params
    estimate = own if prior is not None or made else estimated_alpha(rows.s_held, held)
    return rows.alpha if own is None else float(own), estimate


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


class PeakMemory:
    """Measures the most memory that something takes, beyond what this process had before."""

    main: int | None = None
    gpu: int | None = None
    device = "cpu"

    def __init__(self, device: str) -> None:
        self._cuda, self._before, self._before_gpu = None, 0, 0
        if device != "cpu":
            import torch

            self._cuda = torch.cuda
            self.device = torch.cuda.get_device_name()

    def __enter__(self) -> PeakMemory:
        """Count from here."""
        gc.collect()
        with suppress(OSError, AttributeError):
            # What runs before left free would be taken again without being counted.
            ctypes.CDLL(None).malloc_trim(0)
        with suppress(OSError):
            # Only where Linux lets a process forget its highest mark; else that of all runs so far.
            Path("/proc/self/clear_refs").write_text("5")
        self._before = _highest_mark() or 0
        if self._cuda is not None:
            self._cuda.empty_cache()
            self._cuda.reset_peak_memory_stats()
            self._before_gpu = int(self._cuda.memory_allocated())
        return self

    def __exit__(self, *_: object) -> None:
        """Note the most so far."""
        most = _highest_mark()
        self.main = None if most is None else most - self._before
        if self._cuda is not None:
            self.gpu = int(self._cuda.max_memory_allocated()) - self._before_gpu


def _highest_mark() -> int | None:
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    with suppress(ImportError):
        import resource

        mark = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return int(mark) if sys.platform == "darwin" else int(mark) * 1024
    return None


@cache
def versions() -> dict[str, str]:
    """Return the versions of what computed a run."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version(), "recoup": installed_version()}
    for name in ("numpy", "scipy", "scikit-learn", "torch", "numba"):
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


@cache
def hardware(device: str) -> dict[str, Any]:
    """Return what computed a run."""
    found: dict[str, Any] = {
        "machine": platform.machine(),
        "system": platform.system(),
        "processor": _processor(),
        "cores": os.cpu_count(),
    }
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        found["memory"] = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if device != "cpu":
        import torch

        found["gpu"] = torch.cuda.get_device_name()
    return found


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()
