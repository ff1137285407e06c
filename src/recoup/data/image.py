"""Datasets of images: what they are, how their files are decoded, how they are fetched."""

from __future__ import annotations

import io
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.optional import require
from recoup.data.entry import Entry, Raw, Source, Task, match_classes, part_names
from recoup.data.files import cache_folder

DIGITS = tuple("0123456789")

ENTRIES = (
    Entry(
        "mnist",
        "MNIST",
        "image",
        70_000,
        784,
        dict(
            zip(DIGITS, (6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958), strict=True)
        ),
        (Task("pubench", ("0", "2", "4", "6", "8"), note="even digits"),),
        "LeCun, Bottou, Bengio, Haffner (1998)",
        "CC BY-SA 3.0 (as stated by its distributors)",
        "Handwritten digits, 28 x 28 grey.",
        file="mnist.npz",
        digest="c02b0ee7cafd73d5ac4ff8ff50f29f8b7772ef24c30ea7102446be521b8ab935",
        parts=(60_000, 10_000),
        source=Source("openml", "mnist_784", 554, same_rows=True),
    ),
    Entry(
        "fashion_mnist",
        "Fashion-MNIST",
        "image",
        70_000,
        784,
        dict.fromkeys(DIGITS, 7000),
        (Task("pubench", ("0", "2", "3", "4", "6"), note="clothes for the upper body"),),
        "Xiao, Rasul, Vollgraf (2017)",
        "MIT",
        "Clothes, shoes and bags, 28 x 28 grey. 0 T-shirt, 1 trouser, 2 pullover, 3 dress, "
        "4 coat, 5 sandal, 6 shirt, 7 sneaker, 8 bag, 9 ankle boot.",
        file="fashion_mnist.npz",
        digest="a67725cc5d411423096c8d1d3a0600000e4797f1a909cb9696b05bbf9ef3926d",
        parts=(60_000, 10_000),
        source=Source("huggingface", "zalando-datasets/fashion_mnist", same_rows=True),
    ),
    Entry(
        "cifar10_20k_5k",
        "CIFAR-10, subset",
        "image",
        25_000,
        3072,
        dict.fromkeys(DIGITS, 2500),
        (Task("pubench", ("0", "1", "8", "9"), note="vehicles; PU-Bench uses all 60,000 images"),),
        "Krizhevsky (2009)",
        "no licence text; free for research with citation",
        "The first 2,000 training and 500 test images of each class, 3 x 32 x 32. 0 airplane, "
        "1 automobile, 2 bird, 3 cat, 4 deer, 5 dog, 6 frog, 7 horse, 8 ship, 9 truck. "
        "meta_index is the row in the original training or test part.",
        file="cifar10_20k_5k.npz",
        digest="4f4c73ba23801da19d28bc4cfe7deb7566e9055e2b3d50bd7ec33ad8d51ad166",
        parts=(20_000, 5_000),
        source=Source("huggingface", "uoft-cs/cifar10", columns=("img", "label")),
    ),
    Entry(
        "alzheimer_mri",
        "Alzheimer MRI (ADNI in PU-Bench)",
        "image",
        6400,
        16_384,
        {
            "NonDemented": 3200,
            "VeryMildDemented": 2240,
            "ModerateDemented": 64,
            "MildDemented": 896,
        },
        (Task("pubench", ("NonDemented",)),),
        "Jack et al. (2008) for ADNI; Kumar, Shastri (2022) for the slices",
        "not stated; best kept to research",
        "Preprocessed slices, 128 x 128 grey, without an official split. Slices of one patient "
        "may fall on both sides of any split, which flatters every model.",
        file="alzheimer_mri.npz",
        digest="bc6cc14aac3b6c78e92b2bd90f14e7131fb261f78a272857dcdf8b6c324c6846",
        source=Source("huggingface", "Falah/Alzheimer_MRI"),
    ),
)


def read(entry: Entry, path: Path) -> Raw:
    """Decode a file of images, stored plainly, as differences, or as JPEG files in a row."""
    # Opened here, since numpy leaves a damaged archive open.
    with path.open("rb") as stream, np.load(stream) as arrays:
        encoded = None
        if "residual" in arrays:
            X = decode_differences(arrays["residual"])
        elif "jpeg" in arrays:
            encoded = (arrays["jpeg"], arrays["offsets"].astype(np.int64))
            X = decode_jpeg(*encoded)
        else:
            X = arrays["X"]
        classes = arrays["classes"] if "classes" in arrays else np.array([*(entry.classes or ())])
        return Raw(
            X,
            classes.astype(str)[arrays["y"]],
            split=arrays["split"].astype(str) if "split" in arrays else None,
            meta={"meta_index": arrays["index"]} if "index" in arrays else {},
            encoded=encoded,
        )


def decode_differences(residual: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Rebuild colour images from differences along rows and columns, modulo 256.

    The three planes are green, red minus green and blue minus green.
    """
    rows = np.cumsum(residual, axis=2, dtype=np.uint8)
    green, red, blue = np.cumsum(rows, axis=3, dtype=np.uint8)
    return np.stack([red + green, green, blue + green], axis=1)


def decode_jpeg(stream: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Decode grey JPEG files that lie one after the other."""
    pillow = require("PIL.Image", purpose="load() of JPEG images", install="pillow")
    starts = offsets.tolist()
    return np.stack(
        [
            np.asarray(pillow.open(io.BytesIO(stream[start:stop].tobytes())).convert("L"))
            for start, stop in pairwise(starts)
        ]
    )


def fetch(entry: Entry, source: Source, path: Path) -> None:
    """Fetch images from the public source and write them plainly."""
    if source.client == "openml":
        X, labels, sizes = from_openml(entry, source)
    else:
        X, labels, sizes = from_hugging_face(entry, source)
    arrays: dict[str, Any] = {"split": part_names(sizes)} if entry.parts else {}
    if entry.parts and sizes != entry.parts:
        # The catalog holds the first images of each class, in the order of the full set.
        parts = (slice(0, sizes[0]), slice(sizes[0], None))
        keep = [
            first_of_each_class(labels[part], wanted)
            for part, wanted in zip(parts, entry.parts, strict=True)
        ]
        chosen = np.concatenate([keep[0], keep[1] + sizes[0]])
        X, labels = X[chosen], labels[chosen]
        arrays = {"split": part_names(entry.parts), "index": np.concatenate(keep).astype(np.int32)}
    names = match_classes(entry, labels)
    position = {name: code for code, name in enumerate(entry.classes or ())}
    y = np.array([position[name] for name in names.tolist()], dtype=np.uint8)
    with path.open("wb") as stream:
        np.savez_compressed(stream, X=X, y=y, classes=np.array([*position]), **arrays)


def first_of_each_class(labels: NDArray[Any], wanted: int) -> NDArray[np.int64]:
    """Return the rows of the first ``wanted`` images, the same number from each class."""
    classes = np.unique(labels)
    rows = [np.flatnonzero(labels == c)[: wanted // len(classes)] for c in classes]
    return np.sort(np.concatenate(rows))


def from_openml(
    entry: Entry, source: Source
) -> tuple[NDArray[np.uint8], NDArray[Any], tuple[int, int]]:
    """Fetch images that OpenML lays out as one column per pixel, training part first."""
    purpose = f"Fetching {entry.name!r}"
    require("pandas", purpose=purpose, install="pandas")
    datasets = require("sklearn.datasets", purpose=purpose, install="scikit-learn")
    bunch = datasets.fetch_openml(
        data_id=source.id, as_frame=False, data_home=str(cache_folder() / "scikit-learn")
    )
    side = round(entry.features**0.5)
    X = np.asarray(bunch.data, dtype=np.uint8).reshape(-1, side, side)
    n_train = entry.parts[0] if entry.parts else len(X)
    return X, np.asarray(bunch.target), (n_train, len(X) - n_train)


def from_hugging_face(
    entry: Entry, source: Source
) -> tuple[NDArray[np.uint8], NDArray[Any], tuple[int, int]]:
    """Fetch images that come as a training and a test part."""
    datasets = require("datasets", purpose=f"Fetching {entry.name!r}", install="datasets pillow")
    both = datasets.load_dataset(source.name)
    image, label = source.columns
    mode = "RGB" if entry.features % 3 == 0 else "L"
    pictures = [
        np.asarray(picture.convert(mode), dtype=np.uint8)
        for part in ("train", "test")
        for picture in both[part][image]
    ]
    X = np.stack(pictures)
    if mode == "RGB":
        X = X.transpose(0, 3, 1, 2)
    labels = np.concatenate([np.asarray(both[part][label]) for part in ("train", "test")])
    return X, labels, (len(both["train"][label]), len(both["test"][label]))
