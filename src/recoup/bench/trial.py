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
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup._core.optional import require
from recoup._core.results import to_plain
from recoup._core.version import installed_version
from recoup.bench.checkpoints import keeping
from recoup.bench.job import KNOWN, OWN, RELEASED, Job, Protocol, takes_alpha
from recoup.bench.measure import (
    distributions,
    estimated_alpha,
    recovered_metrics,
    true_metrics,
)
from recoup.bench.trial_data import Rows, cell_alpha, draw_folds, draw_rows
from recoup.exceptions import InvalidInputError
from recoup.learners import PULearner, make
from recoup.metrics.spec import POINT_METRICS

if TYPE_CHECKING:
    from recoup.learners._training.moments import Moment


def measure_trial(
    definition: Mapping[str, Any], device: str = "cpu", checkpoints: str | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Do a run and return what is kept of it.

    Parameters
    ----------
    definition : mapping
        Of a :class:`Job`.
    device : {"cpu", "cuda"}, default="cpu"
        Where networks are trained.
    checkpoints : str, optional
        A folder to keep the best weights of networks in, by the name of the run.

    Returns
    -------
    row : dict
        Columns of the store.
    details : dict
        What else is kept; under ``"also"`` other runs that the same training answers, each with
        its ``definition``, ``row`` and ``details``.
    """
    with warnings.catch_warnings():
        # What a learner warns of is for people who fit one model, not thousands.
        warnings.simplefilter("ignore")
        return _measured(Job.of(definition), device, checkpoints)


def _measured(
    job: Job, device: str, checkpoints: str | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    if job.has_own_labels:
        return _crossfitted(job, device)
    rows = draw_rows(job)
    learner, more = _ready(job, rows, device)
    if learner.tags.backend == "torch":
        require("torch", purpose=job.key, install="'recoup[torch]'")
    warm_up(learner.tags.backend, device)
    flat = learner.tags.backend != "torch"
    X, X_test = (part.reshape(len(part), -1) if flat else part for part in (rows.X, rows.X_test))
    trace = Trace(rows, None if checkpoints is None else keeping(checkpoints, job.training))
    with PeakMemory(device) as peak:
        if job.is_watched:
            more["watch"] = lambda moment: trace.note(moment, peak)
        started = time.perf_counter()
        learner.fit(X, rows.s, **more)
        seconds = time.perf_counter() - started - trace.seconds
    test = _answers(learner, X_test)
    train, _ = _answers(learner, X)
    alpha, estimate = _alphas(job, learner, rows, test[0])
    # Who goes by no alpha is judged with what a user would have.
    known = {KNOWN: rows.alpha, RELEASED: rows.released_alpha}.get(job.alpha, estimate)
    judged_with = known if alpha is None else alpha
    history = [dict(epoch) for epoch in getattr(learner, "history_", [])]
    shared = {
        "alpha_true": rows.alpha,
        "alpha_used": alpha,
        "alpha_estimate": estimate,
        "seconds": seconds,
        "seconds_per_epoch": _mean([epoch.get("seconds") for epoch in history]),
        "epochs": len(history) or None,
        "peak_memory": peak.main,
        "peak_gpu_memory": peak.gpu,
        "n_labeled": int(rows.s.sum()),
        "n_unlabeled": int((rows.s == 0).sum()),
        "n_test": len(test[0]),
        "device": peak.device if learner.tags.backend == "torch" else "cpu",
        "family": learner.tags.family,
    }

    def row_of(answers: Answers, best_epoch: Any) -> dict[str, Any]:
        recovered = _recovered(rows, answers, judged_with)
        measured = true_metrics(rows.classes.test, *answers)
        return shared | {"best_epoch": best_epoch} | recovered | measured

    own = row_of(test, getattr(learner, "best_epoch_", None))
    trace.measure(history)
    classes = rows.classes
    spread = distributions(
        test[0],
        classes.test,
        train,
        rows.s,
        classes.train,
        rows.propensity,
        _chances(learner, X),
        discriminator=_discriminated(learner, X),
    )
    details = {
        "versions": versions(),
        "hardware": hardware(device),
        "seeds": job.seeds,
        "curves": history,
        "distributions": spread,
    }
    if job.protocol == "pubench" or not job.is_watched:
        return to_plain(own), to_plain(details)
    # One training answers both protocols: what it kept itself, and what classes would have kept.
    best, answers = trace.best() or (own["best_epoch"], test)
    found: dict[Protocol, tuple[dict[str, Any], dict[str, Any]]] = {
        "honest": (own, details),
        "oracle": (row_of(answers, best), {**details, "distributions": {}}),
    }
    row, kept = found.pop(job.protocol)
    also = [
        {"definition": replace(job, protocol=other).definition, "row": its, "details": more_of}
        for other, (its, more_of) in found.items()
    ]
    return to_plain(row), to_plain({**kept, "also": also})


def _crossfitted(job: Job, device: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Judge a learner where true classes are not known: on rows it did not see, fold by fold.

    One alpha judges all learners of a cell, or one with too large an alpha would seem to win.
    """
    judged_with = cell_alpha(job)
    recovered, alphas, seconds, epochs, history = [], [], [], [], []
    n_labeled = n_rows = 0
    with PeakMemory(device) as peak:
        for rows in draw_folds(job):
            learner, more = _ready(job, rows, device)
            if learner.tags.backend == "torch":
                require("torch", purpose=job.key, install="'recoup[torch]'")
            warm_up(learner.tags.backend, device)
            started = time.perf_counter()
            learner.fit(rows.X, rows.s, **more)
            seconds.append(time.perf_counter() - started)
            recovered.append(_recovered(rows, _answers(learner, rows.X_test), judged_with))
            alphas.append(getattr(learner, "alpha_", None))
            history = [dict(epoch) for epoch in getattr(learner, "history_", [])]
            epochs.append(len(history) or None)
            assert rows.s_sample is not None
            n_labeled, n_rows = n_labeled + int(rows.s_sample.sum()), n_rows + len(rows.s_sample)
    row = {
        "alpha_used": _mean(alphas),
        "alpha_estimate": judged_with,
        "seconds": _mean(list(seconds)),
        "epochs": epochs[0],
        "peak_memory": peak.main,
        "peak_gpu_memory": peak.gpu,
        "n_labeled": n_labeled,
        "n_unlabeled": n_rows - n_labeled,
        "n_test": n_rows,
        "device": peak.device if learner.tags.backend == "torch" else "cpu",
        "family": learner.tags.family,
    } | {name: _mean([fold[name] for fold in recovered]) for name in recovered[0]}
    details = {
        "versions": versions(),
        "hardware": hardware(device),
        "seeds": job.seeds,
        "curves": history,
        "distributions": {},
    }
    return to_plain(row), to_plain(details)


Answers: TypeAlias = tuple[FloatArray, NDArray[np.int_] | None]


class Trace:
    """What a network said of some rows after each epoch; their classes are looked at afterwards."""

    def __init__(self, rows: Rows, keep: Callable[[Moment], None] | None = None) -> None:
        self._rows, self._keep = rows, keep
        self._choose: list[FloatArray] = []
        self._test: list[FloatArray] = []
        self._selectable: list[bool] = []
        self.seconds = 0.0

    def note(self, moment: Moment, peak: PeakMemory) -> None:
        """Keep what the network says now, and the memory that its last epoch took."""
        started = time.perf_counter()
        moment.measured.update(peak.lap())
        self._choose.append(moment.decisions(self._rows.X_choose).astype(np.float32))
        self._test.append(moment.decisions(self._rows.X_test).astype(np.float32))
        self._selectable.append(moment.selectable)
        if self._keep is not None:
            self._keep(moment)
        peak.forget()
        self.seconds += time.perf_counter() - started

    def measure(self, history: list[dict[str, Any]]) -> None:
        """Add what classes say of each epoch to its entry."""
        if not self._test:
            return
        parts = {
            "choose": (self._choose, self._rows.classes.choose),
            "test": (self._test, self._rows.classes.test),
        }
        for name, (decisions, classes) in parts.items():
            accuracy, macro = _traced(np.stack(decisions) > 0, np.asarray(classes) == 1)
            for epoch, one, other in zip(history, accuracy, macro, strict=True):
                epoch[f"{name}_accuracy"], epoch[f"{name}_macro_f1"] = float(one), float(other)

    def best(self) -> tuple[int, Answers] | None:
        """Return the epoch that classes of a hundredth of the rows choose, and its answers."""
        places = np.flatnonzero(self._selectable)
        if not len(places):
            return None
        chosen = np.stack([self._choose[place] for place in places]) > 0
        _, macro = _traced(chosen, np.asarray(self._rows.classes.choose) == 1)
        place = int(places[np.argmax(macro)])
        decisions = self._test[place].astype(float)
        return place + 1, (decisions, (decisions > 0).astype(int))


def _traced(
    predicted: NDArray[np.bool_], positive: NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray]:
    """Return accuracy and macro-F1 of each row of predictions."""
    tpr, fpr = predicted[:, positive].mean(axis=1), predicted[:, ~positive].mean(axis=1)
    pi = float(positive.mean())
    return POINT_METRICS["accuracy"].from_rates(tpr, fpr, pi), np.nan_to_num(
        POINT_METRICS["macro_f1"].from_rates(tpr, fpr, pi)
    )


@cache
def warm_up(backend: str, device: str) -> None:
    """Fit something small, once in a process: the first fit waits for imports and for a GPU."""
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(64, 2)), np.repeat([1, 0], 32)
    if backend == "torch":
        settings: dict[str, Any] = {"alpha": 0.5, "epochs": 1, "device": device, "progress": False}
        make("nnpu", random_state=0, **settings).fit(X, s)
    else:
        make("naive", random_state=0).fit(X, s)


def _ready(job: Job, rows: Rows, device: str) -> tuple[PULearner, dict[str, Any]]:
    """Build the learner, and what its fit gets beside rows and labels."""
    learner = make(job.key, preset=job.used_preset)
    known = learner.get_params(deep=False)
    settled = {
        "scheme": rows.design,
        "progress": False,
        "device": device,
        "random_state": job.seeds["fit"],
    }
    given = dict(job.params)
    said = type(learner).presets.get(job.used_preset or "", {})
    if not {"alpha"} & {*given, *said} and takes_alpha(job.key) and job.alpha != OWN:
        given["alpha"] = job.alpha
    if given.get("alpha") == KNOWN:
        given["alpha"] = rows.alpha
    elif given.get("alpha") == RELEASED:
        given["alpha"] = rows.released_alpha
    elif given.get("alpha", known.get("alpha")) == "estimate":
        # The same for all learners of a cell, and estimated once.
        given["alpha"] = cell_alpha(job)
    settled_for_all = {name: value for name, value in settled.items() if name in known}
    learner.set_params(**settled_for_all)
    learner.set_params(**given)
    takes = inspect.signature(learner.fit).parameters
    more: dict[str, Any] = {}
    if learner.tags.requires_true_labels:
        more["y_true"] = rows.classes.train
    if job.protocol == "pubench" and "oracle" in takes:
        more["oracle"] = (rows.X_choose, rows.classes.choose)
        if "support" in takes:
            # Rows of both classes, as its paper has them.
            more["support"] = more["oracle"]
    unsaid = not {"alpha", "propensity"} & set(job.params)
    if job.protocol == "oracle" and "propensity" in takes and unsaid:
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


def _discriminated(learner: PULearner, X: NDArray[Any]) -> FloatArray | None:
    """Return what a learner's discriminator says of training rows, if it has one."""
    scored = getattr(learner, "discriminator_scores", None)
    return None if scored is None else np.asarray(scored(X), float)


def _recovered(rows: Rows, answers: Answers, alpha: float | None) -> dict[str, float | None]:
    """Recover metrics from test rows with simulated labels, which cost the learner nothing."""
    scores, predicted = answers
    if rows.sample is None or rows.s_sample is None:
        alpha, sample, s = None, np.empty(0, int), np.empty(0, int)
    else:
        sample, s = rows.sample, rows.s_sample
    return recovered_metrics(
        s,
        scores[sample],
        None if predicted is None else predicted[sample],
        alpha=alpha,
        beta=rows.beta,
        design=rows.design,
    )


def _alphas(
    job: Job, learner: PULearner, rows: Rows, test: FloatArray
) -> tuple[float | None, float | None]:
    """Return the alpha that the learner went by, None if by none, and an estimate of it.

    The estimate is the learner's own where it made one, else one from scores of labeled test rows.
    """
    own = getattr(learner, "alpha_", None)
    prior = getattr(learner, "prior_", None)
    asked = job.params.get("alpha", job.alpha if takes_alpha(job.key) else None)
    made = asked in (OWN, "estimate") or (learner.tags.estimates_alpha and asked is None)
    estimate = own
    if prior is None and not made:
        estimate = None
        if rows.s_sample is not None:
            estimate = estimated_alpha(rows.s_sample, test[rows.sample])
    return None if own is None else float(own), estimate


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
        _forget_highest_mark()
        self._before = _highest_mark() or 0
        if self._cuda is not None:
            self._cuda.empty_cache()
            self._cuda.reset_peak_memory_stats()
            self._before_gpu = int(self._cuda.memory_allocated())
        return self

    def lap(self) -> dict[str, int | None]:
        """Return the most since the last lap, and count anew from here."""
        main, gpu = self._most()
        self.forget()
        return {"memory": main, "gpu_memory": gpu}

    def forget(self) -> None:
        """Count anew from here, and leave out what was taken since the last lap."""
        _forget_highest_mark()
        if self._cuda is not None:
            self._cuda.reset_peak_memory_stats()

    def __exit__(self, *_: object) -> None:
        """Note the most so far."""
        self._most()

    def _most(self) -> tuple[int | None, int | None]:
        mark, gpu = _highest_mark(), None
        main = None if mark is None else mark - self._before
        if self._cuda is not None:
            gpu = int(self._cuda.max_memory_allocated()) - self._before_gpu
        self.main = max((part for part in (self.main, main) if part is not None), default=None)
        self.gpu = max((part for part in (self.gpu, gpu) if part is not None), default=None)
        return main, gpu


def _forget_highest_mark() -> None:
    with suppress(OSError):
        # Only where Linux lets a process forget its highest mark; else that of all runs so far.
        Path("/proc/self/clear_refs").write_text("5")


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
