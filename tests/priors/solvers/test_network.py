from __future__ import annotations

import zipfile
from itertools import pairwise

import numpy as np
import pytest

from recoup.exceptions import InvalidInputError
from recoup.priors._solvers.network import load_network, read_network, save_network

RNG = np.random.default_rng(0)


def layers(*widths, members=None):
    lead = () if members is None else (members,)
    pairs = list(pairwise(widths))
    weights = [RNG.normal(size=(*lead, a, b)).astype(np.float32) for a, b in pairs]
    biases = [RNG.normal(size=(*lead, b)).astype(np.float32) for _, b in pairs]
    return weights, biases


def saved(path, weights, biases, activation="relu", **meta):
    width = weights[0].shape[-2]
    mean, scale = RNG.normal(size=width), RNG.uniform(0.5, 2, size=width)
    save_network(path, weights, biases, mean, scale, activation, meta)
    return mean, scale


@pytest.mark.parametrize("activation", ["relu", "silu"])
def test_output_equals_the_formula(tmp_path, activation):
    weights, biases = layers(3, 5, 4, 2)
    mean, scale = saved(tmp_path / "n.npz", weights, biases, activation)
    network = read_network(tmp_path / "n.npz")
    x = RNG.normal(size=(7, 3))
    expected = np.empty((7, 2))
    for i, row in enumerate(x):
        h = (row - mean) / scale
        for number, (w, b) in enumerate(zip(weights, biases, strict=True)):
            h = np.array([h @ w[:, j].astype(float) + b[j] for j in range(w.shape[1])])
            if number < 2:
                h = np.where(h > 0, h, 0) if activation == "relu" else h / (1 + np.exp(-h))
        expected[i] = h
    found = network(x)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_members_are_averaged(tmp_path):
    weights, biases = layers(4, 6, 1, members=3)
    mean, scale = saved(tmp_path / "all.npz", weights, biases)
    x = RNG.normal(size=(9, 4))
    singles = []
    for member in range(3):
        path = tmp_path / f"{member}.npz"
        save_network(
            path, [w[member] for w in weights], [b[member] for b in biases], mean, scale, "relu", {}
        )
        singles.append(read_network(path)(x))
    network = read_network(tmp_path / "all.npz")
    np.testing.assert_allclose(network.members(x), singles, rtol=1e-12)
    np.testing.assert_allclose(network(x), np.mean(singles, axis=0), rtol=1e-12)


def test_silu_of_very_negative_inputs_is_zero_without_a_warning(tmp_path):
    one = [np.ones((1, 1)), np.ones((1, 1))]
    save_network(tmp_path / "n.npz", one, [np.zeros(1)] * 2, [0.0], [1.0], "silu", {})
    assert read_network(tmp_path / "n.npz")([[-1e6]])[0, 0] == pytest.approx(0.0, abs=1e-12)


def test_meta_and_bytes_come_back_the_same(tmp_path):
    weights, biases = layers(3, 4, 1)
    for name in ("a", "b"):
        path = tmp_path / f"{name}.npz"
        save_network(path, weights, biases, np.zeros(3), np.ones(3), "relu", {"seed": 7})
    assert read_network(tmp_path / "a.npz").meta == {"seed": 7}
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


@pytest.mark.parametrize("changed", ["W0", "b1", "mean", "scale", "activation", "meta"])
def test_changed_numbers_are_refused(tmp_path, changed):
    weights, biases = layers(3, 4, 1)
    saved(tmp_path / "n.npz", weights, biases)
    with np.load(tmp_path / "n.npz") as stored:
        arrays = dict(stored)
    if arrays[changed].dtype.kind == "f":
        arrays[changed] = np.nextafter(arrays[changed], arrays[changed].dtype.type(np.inf))
    else:
        arrays[changed] = np.array({"activation": "silu", "meta": '{"seed": 1}'}[changed])
    np.savez_compressed(tmp_path / "n.npz", **arrays)
    with pytest.raises(InvalidInputError, match=r"refuses n\.npz: its checksum differs"):
        read_network(tmp_path / "n.npz")


@pytest.mark.parametrize("damage", ["flipped", "cut", "text", "other arrays"])
def test_damaged_files_are_refused(tmp_path, damage):
    weights, biases = layers(30, 40, 1)
    path = tmp_path / "n.npz"
    saved(path, weights, biases)
    content = bytearray(path.read_bytes())
    if damage == "flipped":
        with zipfile.ZipFile(path) as archive:
            start = archive.getinfo("W0.npy").header_offset
        content[start + 500] ^= 255
    elif damage == "cut":
        content = content[: len(content) // 2]
    elif damage == "text":
        content = bytearray(b"not an archive")
    path.write_bytes(content)
    if damage == "other arrays":
        np.savez(path, something=np.ones(3))
    with pytest.raises(InvalidInputError, match=r"refuses n\.npz"):
        read_network(path)


def test_pickled_objects_are_not_run(tmp_path):
    weights, biases = layers(3, 1)
    saved(tmp_path / "n.npz", weights, biases)
    with np.load(tmp_path / "n.npz") as stored:
        arrays = dict(stored)
    arrays["W0"] = np.array([{"a": 1}], dtype=object)
    np.savez_compressed(tmp_path / "n.npz", **arrays)
    with pytest.raises(InvalidInputError, match="cannot be read"):
        read_network(tmp_path / "n.npz")


def test_other_versions_are_refused(tmp_path):
    weights, biases = layers(3, 1)
    saved(tmp_path / "n.npz", weights, biases)
    with np.load(tmp_path / "n.npz") as stored:
        arrays = dict(stored)
    arrays["version"] = np.array(99)
    np.savez_compressed(tmp_path / "n.npz", **arrays)
    with pytest.raises(InvalidInputError, match="Got version 99"):
        read_network(tmp_path / "n.npz")


def test_missing_files_are_named():
    with pytest.raises(InvalidInputError, match=r"found no file no_such_network\.npz"):
        load_network("no_such_network")


def test_features_of_another_width_are_refused(tmp_path):
    weights, biases = layers(3, 1)
    saved(tmp_path / "n.npz", weights, biases)
    network = read_network(tmp_path / "n.npz")
    for shape in [(3,), (2, 4)]:
        with pytest.raises(InvalidInputError, match=r"shape \(n, 3\)"):
            network(np.zeros(shape))


def test_saving_checks_activation_and_shapes(tmp_path):
    weights, biases = layers(3, 4, 1)
    with pytest.raises(InvalidInputError, match="activation"):
        save_network(tmp_path / "n.npz", weights, biases, np.zeros(3), np.ones(3), "tanh", {})
    with pytest.raises(InvalidInputError, match="shapes"):
        save_network(tmp_path / "n.npz", weights, biases, np.zeros(4), np.ones(4), "relu", {})
    with pytest.raises(InvalidInputError, match="shapes"):
        save_network(tmp_path / "n.npz", weights, biases[::-1], np.zeros(3), np.ones(3), "relu", {})
