"""What comes in: PU data, named datasets with their truth, toy mixtures, and an example."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recoup._core.lazy import names_from

if TYPE_CHECKING:
    from recoup.data.building import build
    from recoup.data.catalog import DatasetRow, list_datasets, load, tasks
    from recoup.data.column_encoder import ColumnEncoder
    from recoup.data.dataset import Dataset
    from recoup.data.encoded_column import EncodedColumn
    from recoup.data.entry import Task
    from recoup.data.example import Example, load_example, write_raw_example
    from recoup.data.label_coding import as_pu_labels
    from recoup.data.preprocessing import Preprocessor, preprocess
    from recoup.data.pu import PUDataset, PUTruth
    from recoup.data.pubench import PUBenchSplit, pubench_split
    from recoup.data.toy import ToyMixture, two_gaussians, two_ramps, two_uniforms

__all__ = [
    "ColumnEncoder",
    "Dataset",
    "DatasetRow",
    "EncodedColumn",
    "Example",
    "PUBenchSplit",
    "PUDataset",
    "PUTruth",
    "Preprocessor",
    "Task",
    "ToyMixture",
    "as_pu_labels",
    "build",
    "list_datasets",
    "load",
    "load_example",
    "preprocess",
    "pubench_split",
    "tasks",
    "two_gaussians",
    "two_ramps",
    "two_uniforms",
    "write_raw_example",
]

__getattr__, __dir__ = names_from(
    __name__,
    {
        "ColumnEncoder": "column_encoder",
        "Dataset": "dataset",
        "DatasetRow": "catalog",
        "EncodedColumn": "encoded_column",
        "Example": "example",
        "PUBenchSplit": "pubench",
        "PUDataset": "pu",
        "PUTruth": "pu",
        "Preprocessor": "preprocessing",
        "Task": "entry",
        "ToyMixture": "toy",
        "as_pu_labels": "label_coding",
        "build": "building",
        "list_datasets": "catalog",
        "load": "catalog",
        "load_example": "example",
        "preprocess": "preprocessing",
        "pubench_split": "pubench",
        "tasks": "catalog",
        "two_gaussians": "toy",
        "two_ramps": "toy",
        "two_uniforms": "toy",
        "write_raw_example": "example",
    },
)
