"""Small datasets that come with scikit-learn: they need no file and no network."""

from __future__ import annotations

import numpy as np

from recoup._core.optional import require
from recoup.data.entry import Entry, Raw, Task

LICENCE = "as distributed with scikit-learn (BSD-3-Clause)"
EVEN = ("0", "2", "4", "6", "8")

ENTRIES = (
    Entry(
        "breast_cancer",
        "Breast cancer Wisconsin (diagnostic)",
        "table",
        569,
        30,
        {"malignant": 212, "benign": 357},
        (Task("malignant-vs-rest", ("malignant",), published=False),),
        "Street, Wolberg, Mangasarian (1993), UCI",
        LICENCE,
        "Shapes of cell nuclei in images of breast tissue.",
    ),
    Entry(
        "digits",
        "Optical recognition of handwritten digits",
        "table",
        1797,
        64,
        dict(zip("0123456789", (178, 182, 177, 183, 181, 182, 181, 179, 174, 180), strict=True)),
        (Task("even", EVEN, published=False, note="even against odd digits"),),
        "Alpaydin, Kaynak (1998), UCI",
        LICENCE,
        "8 x 8 pixels with values from 0 to 16, one column each. The UCI test part.",
    ),
    Entry(
        "wine",
        "Wine recognition",
        "table",
        178,
        13,
        {"class_0": 59, "class_1": 71, "class_2": 48},
        (Task("class_1-vs-rest", ("class_1",), published=False),),
        "Aeberhard, Forina (1991), UCI",
        LICENCE,
        "Chemical analysis of wines from three growers.",
    ),
    Entry(
        "iris",
        "Iris",
        "table",
        150,
        4,
        {"setosa": 50, "versicolor": 50, "virginica": 50},
        (Task("virginica-vs-rest", ("virginica",), published=False),),
        "Fisher (1936), UCI",
        LICENCE,
        "Sizes of petals and sepals. Setosa is separable, the other two overlap.",
    ),
    Entry(
        "diabetes",
        "Diabetes progression",
        "table",
        442,
        10,
        None,
        (Task("above-mean", rule="> mean", published=False),),
        "Efron, Hastie, Johnstone, Tibshirani (2004)",
        LICENCE,
        "Ten baseline variables, centred and scaled at the source, and progression a year later.",
    ),
)


def read(entry: Entry) -> Raw:
    """Take a dataset out of scikit-learn."""
    datasets = require("sklearn.datasets", purpose=f"load({entry.name!r})", install="scikit-learn")
    bunch = getattr(datasets, f"load_{entry.name}")()
    target = bunch.target
    if entry.classes is not None:
        target = np.asarray(bunch.target_names).astype(str)[target]
    names = tuple(str(name).replace(" ", "_") for name in bunch.feature_names)
    return Raw(np.asarray(bunch.data, dtype=np.float64), target, names)
