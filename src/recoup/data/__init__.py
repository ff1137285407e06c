"""What comes in: PU data, named datasets with their truth, toy mixtures, and an example."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recoup.data.catalog import DatasetRow, list_datasets, load, tasks
    from recoup.data.container import PUDataset, PUTruth
    from recoup.data.dataset import Dataset
    from recoup.data.entry import Task
    from recoup.data.example import Example, load_example
    from recoup.data.preprocessing import Preprocessor, preprocess
    from recoup.data.pubench import PUBenchSplit, pubench_split
    from recoup.data.toy import ToyMixture, two_gaussians, two_ramps, two_uniforms

__all__ = [
    "Dataset",
    "DatasetRow",
    "Example",
    "PUBenchSplit",
    "PUDataset",
    "PUTruth",
    "Preprocessor",
    "Task",
    "ToyMixture",
    "list_datasets",
    "load",
    "load_example",
    "preprocess",
    "pubench_split",
    "tasks",
    "two_gaussians",
    "two_ramps",
    "two_uniforms",
]

_HOMES = {
    "Dataset": "dataset",
    "DatasetRow": "catalog",
    "Example": "example",
    "PUBenchSplit": "pubench",
    "PUDataset": "container",
    "PUTruth": "container",
    "Preprocessor": "preprocessing",
    "Task": "entry",
    "ToyMixture": "toy",
    "list_datasets": "catalog",
    "load": "catalog",
    "load_example": "example",
    "preprocess": "preprocessing",
    "pubench_split": "pubench",
    "tasks": "catalog",
    "two_gaussians": "toy",
    "two_ramps": "toy",
    "two_uniforms": "toy",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'recoup.data' has no attribute {name!r}")
    value = getattr(import_module(f"recoup.data.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List what is here, imported or not."""
    return sorted({*globals(), *__all__})
