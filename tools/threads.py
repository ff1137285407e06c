"""Fit learners with one thread of BLAS, and with two, and see whether the same comes out.

    python -m tools.threads                   every learner of recoup list learners
    python -m tools.threads pul-cpbf vae-pu   these alone

Each fit is one in a process of its own, on the same made-up rows, and short. Compared are the bytes
of the scores of all rows. The exit code is 1 if any differ.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

MODULE = "tools.threads"
VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
SECONDS = 600
# So many rows that products of matrices are shared out among threads.
N_ROWS, N_FEATURES, N_LABELED = 600, 20, 150
EPOCHS = 2
SHORT: dict[str, Any] = {
    "epochs": EPOCHS,
    "warm_up_epochs": 2,
    "fence_epochs": 2,
    "trend_epochs": 2,
    "passes": 1,
}
SHORT |= {
    "pretraining_steps": 20,
    "n_estimators": 10,
    "n_basis": 60,
    "candidates": ("logistic", "puet"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("keys", nargs="*", help="learners; by default all")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="numbers to compare")
    parser.add_argument("--fit", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.fit is not None:
        print(digest_of(asked.fit))
        return
    differing = different_learners(asked.keys or all_keys(), asked.threads)
    sys.exit(f"Other scores with other threads: {', '.join(differing)}." if differing else 0)


def all_keys() -> list[str]:
    from recoup._core.registry import registered

    return list(registered("learners"))


def different_learners(keys: Sequence[str], threads: Sequence[int]) -> list[str]:
    """Fit each learner with each number of threads, and return those whose scores differ."""
    found = []
    for key in keys:
        digests = [digest_with(key, number) for number in threads]
        same = len(set(digests)) == 1
        print(
            f"{key:20s} {'same' if same else 'differs'}  {' '.join(one[:12] for one in digests)}",
            flush=True,
        )
        found += [] if same else [key]
    return found


def digest_with(key: str, threads: int) -> str:
    """Fit a learner in a process with so many threads; return the digest of its scores."""
    environment = os.environ | dict.fromkeys(VARIABLES, str(threads))
    ran = subprocess.run(
        [sys.executable, "-m", MODULE, "--fit", key],
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    if ran.returncode:
        raise SystemExit(f"{key} with {threads} threads: {ran.stderr.strip()[-500:]}")
    return ran.stdout.split()[-1]


def digest_of(key: str) -> str:
    """Fit a learner here."""
    import warnings

    from recoup import learners

    warnings.simplefilter("ignore")
    learner = learners.make(key)
    known = learner.get_params(deep=False)
    chosen: dict[str, Any] = {name: value for name, value in SHORT.items() if name in known}
    if "guard" in known:
        chosen["guard"] = "off"
    if "alpha" in known:
        chosen["alpha"] = 0.3
    if "propensity_features" in known:
        chosen["propensity_features"] = [0]
    learner.set_params(random_state=0, **chosen)
    X, s, y_true = rows()
    extra = {"y_true": y_true} if key in ("oracle", "pn") else {}
    learner.fit(X, s, **extra)
    return hashlib.sha256(np.ascontiguousarray(learner.decision_function(X)).tobytes()).hexdigest()


def rows() -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Make rows of two classes that overlap, of which some positives are labeled."""
    rng = np.random.default_rng(0)
    y_true = (np.arange(N_ROWS) < N_LABELED) | (rng.random(N_ROWS) < 0.3)
    X = rng.normal(size=(N_ROWS, N_FEATURES)) + 0.5 * y_true[:, None]
    return X, (np.arange(N_ROWS) < N_LABELED).astype(int), y_true.astype(int)


if __name__ == "__main__":
    main()
