"""Small dense networks, trained from simulations and shipped as files of plain arrays."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recoup._core.checks import FloatArray
from recoup.exceptions import InvalidInputError

VERSION = 1
ACTIVATIONS = ("relu", "silu")


@dataclass(frozen=True, eq=False)
class Network:
    """Several dense networks of one shape, whose outputs are averaged.

    Attributes
    ----------
    weights : tuple of ndarray of shape (n_members, n_in, n_out)
        One array per layer.
    biases : tuple of ndarray of shape (n_members, n_out)
        One array per layer.
    mean, scale : ndarray of shape (n_features,)
        Features are standardised by ``(features - mean) / scale``.
    activation : {"relu", "silu"}
        What follows every layer but the last, which is linear.
    meta : dict
        What the file says about its training.
    """

    weights: tuple[FloatArray, ...]
    biases: tuple[FloatArray, ...]
    mean: FloatArray
    scale: FloatArray
    activation: str = "relu"
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, features: ArrayLike) -> FloatArray:
        """Return the average output of the members, of shape (n_rows, n_outputs)."""
        average: FloatArray = self.members(features).mean(axis=0)
        return average

    def members(self, features: ArrayLike) -> FloatArray:
        """Return the output of each member, of shape (n_members, n_rows, n_outputs)."""
        inputs = np.asarray(features, np.float64)
        if inputs.ndim != 2 or inputs.shape[1] != len(self.mean):
            raise InvalidInputError(
                f"Network needs features of shape (n, {len(self.mean)}), as it was trained. "
                f"Got shape {inputs.shape}."
            )
        hidden = ((inputs - self.mean) / self.scale)[None]
        last = len(self.weights) - 1
        for number, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            hidden = hidden @ weight + bias[:, None, :]
            if number < last:
                hidden = _activated(hidden, self.activation)
        return hidden


@cache
def load_network(name: str) -> Network:
    """Return one of the networks that travel with the package, by the name of its file."""
    with as_file(files("recoup.priors") / "weights" / f"{name}.npz") as path:
        return read_network(path)


def read_network(path: str | Path) -> Network:
    """Read a network and refuse a file whose numbers are not those that were saved."""
    arrays, meta = read_arrays(path)
    depth = sum(key.startswith("W") for key in arrays)
    return Network(
        weights=tuple(arrays[f"W{layer}"].astype(np.float64) for layer in range(depth)),
        biases=tuple(arrays[f"b{layer}"].astype(np.float64) for layer in range(depth)),
        mean=arrays["mean"].astype(np.float64),
        scale=arrays["scale"].astype(np.float64),
        activation=str(arrays["activation"]),
        meta=meta,
    )


def read_arrays(path: str | Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Read arrays and what is said about them; refuse numbers that are not those saved."""
    try:
        # Opened here: np.load does not close a file that it finds to be cut.
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as stored:
            arrays = {key: stored[key] for key in stored.files}
        version, checksum = int(arrays["version"]), str(arrays.pop("checksum"))
    except Exception as error:  # zipfile, zlib, numpy and KeyError each say it in their own way
        if isinstance(error, FileNotFoundError):
            raise InvalidInputError(
                f"read_network found no file {Path(path).name}. Reinstall recoup, or train the "
                f"network again with the script in tools/training."
            ) from error
        raise _damaged(path, "it cannot be read as a file of arrays") from error
    if version != VERSION:
        raise InvalidInputError(
            f"read_network reads networks of version {VERSION}. Got version {version} in "
            f"{Path(path).name}. Install the recoup that this file belongs to."
        )
    if _checksum(arrays) != checksum:
        raise _damaged(path, "its checksum differs from the one stored with it")
    return arrays, json.loads(str(arrays["meta"]))


def save_arrays(
    path: str | Path, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]
) -> None:
    """Write arrays that :func:`read_arrays` reads; the same arrays give the same file.

    Parameters
    ----------
    path : str or Path
        Where the ``.npz`` file goes.
    arrays : dict of str to ndarray
        The arrays, by name.
    meta : dict
        About the training; must be plain JSON.
    """
    stored: dict[str, NDArray[Any]] = {
        "version": np.array(VERSION, np.int64),
        "meta": np.array(json.dumps(dict(meta), sort_keys=True)),
        **arrays,
    }
    np.savez_compressed(path, checksum=np.array(_checksum(stored)), **stored)  # type: ignore[arg-type]


def save_network(
    path: str | Path,
    weights: Sequence[ArrayLike],
    biases: Sequence[ArrayLike],
    mean: ArrayLike,
    scale: ArrayLike,
    activation: str,
    meta: Mapping[str, Any],
) -> None:
    """Write a network that :func:`read_network` reads; the same arrays give the same file.

    Parameters
    ----------
    path : str or Path
        Where the ``.npz`` file goes.
    weights : sequence of arrays of shape (n_in, n_out) or (n_members, n_in, n_out)
        One per layer. Kept in single precision: half the size, and the error is far below that
        of any estimate.
    biases : sequence of arrays of shape (n_out,) or (n_members, n_out)
        One per layer.
    mean, scale : arrays of shape (n_features,)
        What features are standardised with.
    activation : {"relu", "silu"}
        What follows every layer but the last.
    meta : dict
        About the training; must be plain JSON.
    """
    if activation not in ACTIVATIONS:
        raise InvalidInputError(
            f"save_network needs activation to be one of {', '.join(ACTIVATIONS)}. "
            f"Got {activation!r}."
        )
    arrays: dict[str, NDArray[Any]] = {
        "activation": np.array(activation),
        "mean": np.asarray(mean, np.float64),
        "scale": np.asarray(scale, np.float64),
    }
    for layer, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        stored_weight, stored_bias = np.asarray(weight, "<f4"), np.asarray(bias, "<f4")
        if stored_weight.ndim == 2:
            stored_weight, stored_bias = stored_weight[None], stored_bias[None]
        arrays[f"W{layer}"], arrays[f"b{layer}"] = stored_weight, stored_bias
    _check_shapes(arrays)
    save_arrays(path, arrays, meta)


def _activated(hidden: FloatArray, activation: str) -> FloatArray:
    if activation == "relu":
        return np.maximum(hidden, 0.0)
    # Clipped where the exponential would overflow; the value there is zero to double precision.
    silu: FloatArray = hidden / (1.0 + np.exp(-np.maximum(hidden, -700.0)))
    return silu


def _checksum(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Hash names, types, shapes and bytes, in the order of the names."""
    found = hashlib.sha256()
    for key in sorted(arrays):
        array = np.ascontiguousarray(arrays[key])
        found.update(f"{key} {array.dtype.str} {arrays[key].shape}\n".encode())
        found.update(array.tobytes())
    return found.hexdigest()


def _check_shapes(arrays: Mapping[str, NDArray[Any]]) -> None:
    width = len(arrays["mean"])
    depth = sum(key.startswith("W") for key in arrays)
    members = len(arrays["W0"])
    fits = arrays["scale"].shape == arrays["mean"].shape
    for layer in range(depth):
        weight, bias = arrays[f"W{layer}"], arrays[f"b{layer}"]
        out = weight.shape[-1]
        fits &= weight.shape == (members, width, out) and bias.shape == (members, out)
        width = out
    if not fits:
        shapes = {key: array.shape for key, array in arrays.items() if array.ndim}
        raise InvalidInputError(
            f"save_network needs layers whose shapes follow from each other. Got {shapes}."
        )


def _damaged(path: str | Path, reason: str) -> InvalidInputError:
    return InvalidInputError(
        f"read_network refuses {Path(path).name}: {reason}, so estimates from it would be wrong. "
        f"Reinstall recoup, or train the network again with the script in tools/training."
    )
