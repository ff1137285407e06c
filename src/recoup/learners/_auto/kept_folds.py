"""Scores of finished folds in a folder, so that a fit that was stopped goes on where it was."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup._core.files import make_folder, write_file
from recoup._core.version import installed_version

FORMAT = 1
NAME_LENGTH = 20


class KeptFolds:
    """A folder for the fits of one set of rows with one set of parameters.

    Its name is a hash of both, so that other rows or parameters never meet these scores, and one
    folder serves many fits. Files are written whole or not at all.

    Parameters
    ----------
    folder : str or Path
        Where such folders are.
    X, s : ndarray
        The rows and labels of the fit.
    settings : mapping
        What else decides the scores, in words and numbers.
    """

    def __init__(
        self,
        folder: str | Path,
        X: FloatArray,
        s: NDArray[np.int_],
        settings: Mapping[str, Any],
    ) -> None:
        facts = {**settings, "shape": list(X.shape), "format": FORMAT}
        content = hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode())
        for array in (X, s):
            content.update(np.ascontiguousarray(array).view(np.uint8).reshape(-1).data)
        parent = make_folder(folder, "AutoPU.fit cannot keep finished folds in")
        self.folder = parent / f"auto-pu-{content.hexdigest()[:NAME_LENGTH]}"
        self.folder.mkdir(exist_ok=True)
        about = {**facts, "recoup": installed_version(), "hash": content.hexdigest()}
        text = json.dumps(about, indent=1, sort_keys=True, default=str) + "\n"
        write_file(self.folder / "fit.json", text.encode())

    def read(self, key: str, fold: int, n: int) -> tuple[FloatArray, float] | None:
        """Return the scores of a fold and the seconds they took; None where there are none."""
        try:
            content = io.BytesIO(self._path(key, fold).read_bytes())
            with np.load(content, allow_pickle=False) as kept:
                scores, seconds = np.asarray(kept["scores"], float), float(kept["seconds"])
        # Whatever is raised over a file that was cut short or made by something else.
        except Exception:
            return None
        return (scores, seconds) if scores.shape == (n,) and np.isfinite(scores).all() else None

    def write(self, key: str, fold: int, scores: FloatArray, seconds: float) -> None:
        """Keep the scores of a fold."""
        content = io.BytesIO()
        np.savez(content, scores=scores, seconds=np.array(seconds))
        write_file(self._path(key, fold), content.getvalue())

    def _path(self, key: str, fold: int) -> Path:
        return self.folder / f"{key}-{fold}.npz"
