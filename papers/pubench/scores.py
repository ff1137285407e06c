"""``python -m papers.pubench.scores STORE FILE``: the scores behind Figure 12, from a store.

A table of results has no scores of single runs. This takes those of LBE on ADNI and of PAN on
Spambase out of the store that the table was made of.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from papers.pubench.published import ADNI, SPAM, TITLES
from papers.pubench.study import CONVENTIONAL
from recoup._core.checks import brief
from recoup._core.files import write_file
from recoup.bench import Store
from recoup.exceptions import InvalidInputError

SHOWN = {"lbe": ADNI, "pan": SPAM}


def scores_of(store: Store) -> dict[str, Any]:
    """Return the distributions of the first seed of each, by the paper's protocol."""
    found: dict[str, Any] = {}
    for row in sorted(store.rows(), key=lambda row: int(row["seed"])):
        learner = row["key"]
        setting = (row["dataset"], row["protocol"], row["mechanism"], row["label_frequency"])
        wanted = (SHOWN.get(learner), "pubench", "scar", CONVENTIONAL)
        if learner not in found and row["status"] == "done" and setting == wanted:
            found[learner] = store.details(row["run"])["distributions"]
    return found


def main(arguments: Sequence[str]) -> None:
    """Write the file, and say what is missing from it."""
    if len(arguments) != 2:
        raise InvalidInputError(
            f"scores needs two names: the store, and the JSON file to write. Got {len(arguments)}."
        )
    store = Store(arguments[0])
    found = scores_of(store)
    if not found:
        needed = " or ".join(f"{TITLES[name]} on {data}" for name, data in SHOWN.items())
        raise InvalidInputError(
            f"scores needs a finished run of {needed} by the protocol pubench. "
            f"{brief(str(store.path), 200)} has none. Run the plan pubench-conventional first."
        )
    write_file(Path(arguments[1]), (json.dumps(found, allow_nan=False) + "\n").encode())


if __name__ == "__main__":
    main(sys.argv[1:])
