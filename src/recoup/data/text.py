"""Datasets of text, as sentence embeddings: what they are, how they are read and fetched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from recoup._core.optional import require
from recoup.data.entry import Entry, Raw, Source, Task, match_classes, part_names
from recoup.data.files import cache_folder

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
WIDTH = 384

ENTRIES = (
    Entry(
        "newsgroups20_minilm",
        "20 Newsgroups, sentence embeddings",
        "text",
        18_846,
        WIDTH,
        {
            "alt.atheism": 799,
            "comp.graphics": 973,
            "comp.os.ms-windows.misc": 985,
            "comp.sys.ibm.pc.hardware": 982,
            "comp.sys.mac.hardware": 963,
            "comp.windows.x": 988,
            "misc.forsale": 975,
            "rec.autos": 990,
            "rec.motorcycles": 996,
            "rec.sport.baseball": 994,
            "rec.sport.hockey": 999,
            "sci.crypt": 991,
            "sci.electronics": 984,
            "sci.med": 990,
            "sci.space": 987,
            "soc.religion.christian": 997,
            "talk.politics.guns": 910,
            "talk.politics.mideast": 940,
            "talk.politics.misc": 775,
            "talk.religion.misc": 628,
        },
        (Task("pubench", ("alt.*", "comp.*", "misc.*", "rec.*")),),
        "Lang (1995); the version split by date",
        "texts: none stated, public Usenet posts; model: Apache-2.0",
        "Whole messages with headers, first 256 word pieces, through all-MiniLM-L6-v2. Senders and "
        "organisations in the headers make the task easier than the text alone.",
        file="newsgroups20_minilm.npz",
        digest="33695b9731d22107bea8792558807320d41ec93485259493de0e520cae220c7c",
        parts=(11_314, 7_532),
        source=Source("scikit-learn", "fetch_20newsgroups"),
    ),
    Entry(
        "imdb_minilm",
        "IMDb reviews, sentence embeddings",
        "text",
        50_000,
        WIDTH,
        {"0": 25_000, "1": 25_000},
        (Task("pubench", ("1",), note="positive reviews"),),
        "Maas, Daly, Pham, Huang, Ng, Potts (2011)",
        "texts: none stated, cite the paper; model: Apache-2.0",
        "First 256 word pieces through all-MiniLM-L6-v2. meta_rating, the number of stars, gives "
        "the class away.",
        file="imdb_minilm.npz",
        digest="c3981c338cd2b22dbdbdc607f5ca316c3f921daed3493d389db4ba640aee4d55",
        parts=(25_000, 25_000),
        source=Source("huggingface", "stanfordnlp/imdb", columns=("text", "label")),
    ),
)


def read(entry: Entry, path: Path) -> Raw:
    """Read embeddings; they are stored in half precision."""
    # Opened here, since numpy leaves a damaged archive open.
    with path.open("rb") as stream, np.load(stream) as arrays:
        classes = arrays["classes"] if "classes" in arrays else np.array([*(entry.classes or ())])
        return Raw(
            arrays["X"].astype(np.float32),
            classes.astype(str)[arrays["y"]],
            tuple(f"embedding_{i}" for i in range(entry.features)),
            split=arrays["split"].astype(str),
            meta={"meta_rating": arrays["rating"]} if "rating" in arrays else {},
        )


def fetch(entry: Entry, source: Source, path: Path) -> None:
    """Fetch the texts from their public source and embed them, which takes a while."""
    # Asked for first: without it, the download would be in vain.
    encoder = require(
        "sentence_transformers",
        purpose=f"Fetching {entry.name!r}",
        install="sentence-transformers",
    )
    texts: list[str] = []
    labels: list[Any] = []
    sizes = []
    for part in ("train", "test"):
        some, theirs = texts_of(entry, source, part)
        texts += some
        labels += theirs
        sizes.append(len(some))
    names = match_classes(entry, np.array(labels))
    classes, y = np.unique(names, return_inverse=True)
    vectors = encoder.SentenceTransformer(MODEL).encode(texts, normalize_embeddings=True)
    with path.open("wb") as stream:
        np.savez_compressed(
            stream,
            X=np.asarray(vectors, dtype=np.float16),
            y=y.astype(np.uint8),
            classes=classes,
            split=part_names((sizes[0], sizes[1])),
        )


def texts_of(entry: Entry, source: Source, part: str) -> tuple[list[str], list[Any]]:
    """Fetch the texts of one part, and their classes."""
    purpose = f"Fetching {entry.name!r}"
    if source.client == "scikit-learn":
        datasets = require("sklearn.datasets", purpose=purpose, install="scikit-learn")
        bunch = getattr(datasets, source.name)(
            subset=part, shuffle=False, data_home=str(cache_folder() / "scikit-learn")
        )
        return list(bunch.data), [bunch.target_names[code] for code in bunch.target]
    datasets = require("datasets", purpose=purpose, install="datasets")
    table = datasets.load_dataset(source.name, split=part)
    text, label = source.columns
    return list(table[text]), list(table[label])
