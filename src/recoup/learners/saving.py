"""Keep fitted learners in a folder: numbers as safetensors, the rest as JSON, never a pickle."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from recoup._core import registry as _registry
from recoup._core.alpha import Draws, Interval
from recoup._core.checks import brief
from recoup._core.optional import require
from recoup._core.version import installed_version
from recoup.exceptions import InvalidInputError
from recoup.learners.base import PULearner
from recoup.priors.results import PriorEstimate

FACTS, NUMBERS = "learner.json", "learner.safetensors"
FORMAT = 1
# What scikit-learn's fitted attributes look like; parts of a network follow a slash.
FITTED = re.compile(r"[a-z]\w*_(/.+)?")
PLAIN = (bool, int, float, str, type(None))


def save(learner: PULearner, folder: str | Path) -> Path:
    """Write a fitted learner to a folder that :func:`load` reads.

    Parameters
    ----------
    learner : PULearner
        A fitted learner. What cannot be written as numbers and words, such as a function that
        builds a network of your own, is left out and must be passed to :func:`load` again.
    folder : str or Path
        Where to write. The folder is made if need be; a learner in it is replaced.

    Returns
    -------
    Path
        The folder.
    """
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(learner)
    target = Path(folder)
    arrays: dict[str, Any] = {}
    fitted: dict[str, Any] = {}
    for name, value in vars(learner).items():
        if not name.endswith("_") or name.startswith("_"):
            continue
        if hasattr(value, "state_dict"):
            weights = value.state_dict()
            arrays |= {f"{name}/{part}": _array(tensor) for part, tensor in weights.items()}
        elif isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biuf":
            arrays[name] = np.array(value)
        else:
            fitted[name] = _plain(value, f"{type(learner).__name__}.{name}")
    given = {name: _given(value, learner) for name, value in learner.get_params(False).items()}
    facts = {
        "format": FORMAT,
        "recoup": installed_version(),
        "learner": learner.tags.key,
        "parameters": {name: value for name, value in given.items() if value is not _UNSAID},
        "left_out": [name for name, value in given.items() if value is _UNSAID],
        "fitted": fitted,
    }
    return _write(target, facts, arrays)


def load(folder: str | Path, **parameters: Any) -> PULearner:
    """Read a learner that :func:`save` wrote.

    Nothing in the folder is run: a folder from somebody else can be wrong, but not harmful.

    Parameters
    ----------
    folder : str or Path
        Where ``learner.json`` and ``learner.safetensors`` are.
    **parameters
        Parameters of the learner in place of the saved ones, such as ``device``, or ``network``
        if it was a function of your own.

    Returns
    -------
    PULearner
        Fitted, as it was saved.
    """
    from safetensors import SafetensorError

    numpy_files: Any = require(
        "safetensors.numpy", purpose="learners.load", install="'recoup[torch]'"
    )
    source = Path(folder)
    try:
        facts = json.loads((source / FACTS).read_bytes())
        arrays = numpy_files.load_file(source / NUMBERS)
        key, known = facts["learner"], dict(facts["parameters"])
        fitted, left_out = dict(facts["fitted"]), list(facts["left_out"])
        strange = [name for name in (*fitted, *arrays) if not FITTED.fullmatch(name)]
        if strange:
            raise ValueError(strange[0])
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise InvalidInputError(
            f"learners.load cannot read a learner from {brief(str(source), 200)}: it needs whole "
            f"files {FACTS} and {NUMBERS}, as recoup writes them. ({type(error).__name__})"
        ) from error
    missing = sorted(set(left_out) - set(parameters))
    if missing:
        raise InvalidInputError(
            f"learners.load needs {', '.join(missing)}, which {brief(str(source), 200)} could not "
            f"hold. Pass what the learner was made with."
        )
    learner: PULearner = _registry.make("learners", key, "learners.load", **(known | parameters))
    for name, value in fitted.items():
        setattr(learner, name, _restored(value))
    parts: dict[str, dict[str, Any]] = {}
    for name, values in arrays.items():
        owner, _, part = name.partition("/")
        if part:
            parts.setdefault(owner, {})[part] = values
        else:
            setattr(learner, name, values if values.ndim else values[()])
    for owner, weights in parts.items():
        setattr(learner, owner, _network(learner, owner, weights, source))
    return learner


_UNSAID = object()


def _given(value: Any, learner: PULearner) -> Any:
    """Return a parameter as JSON knows it; an estimate as the number it gave."""
    if isinstance(value, PriorEstimate):
        return value.alpha
    if isinstance(value, Interval | Draws):
        return learner.alpha_
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, tuple | list) and all(isinstance(part, PLAIN) for part in value):
        return list(value)
    # A generator has moved on since; a number could be kept.
    return None if value is learner.random_state else _UNSAID


def _plain(value: Any, name: str) -> Any:
    """Write what was fitted in words that :func:`_restored` understands."""
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, PriorEstimate):
        return {"kind": "prior", "alpha": value.alpha, "beta": value.beta, "method": value.method}
    if isinstance(value, tuple):
        return {"kind": "tuple", "items": [_plain(part, name) for part in value]}
    if isinstance(value, list):
        return [_plain(part, name) for part in value]
    if isinstance(value, np.ndarray) and value.dtype.kind in "OUS":
        return {"kind": "names", "items": [str(part) for part in value]}
    if isinstance(value, dict) and all(isinstance(part, str) for part in value):
        return {"kind": "dict", "items": {key: _plain(part, name) for key, part in value.items()}}
    raise InvalidInputError(
        f"learners.save cannot keep {name}, a {type(value).__name__}, without a pickle. Keep the "
        f"learner by other means, such as skops or joblib."
    )


def _restored(value: Any) -> Any:
    if isinstance(value, list):
        return [_restored(part) for part in value]
    if not isinstance(value, dict):
        return value
    kind = value.get("kind")
    if kind == "prior":
        return PriorEstimate(alpha=value["alpha"], beta=value["beta"], method=value["method"])
    if kind == "names":
        return np.array(value["items"], dtype=object)
    if kind == "dict":
        return {key: _restored(part) for key, part in value["items"].items()}
    return tuple(_restored(part) for part in value["items"])


def _array(tensor: Any) -> Any:
    return np.ascontiguousarray(tensor.detach().cpu().numpy())


def _network(learner: Any, name: str, weights: dict[str, Any], source: Path) -> Any:
    """Build the network anew and fill it with the saved weights."""
    import torch

    network = learner._new_part(name, "learners.load")
    try:
        network.load_state_dict({name: torch.as_tensor(part) for name, part in weights.items()})
    except RuntimeError as error:
        raise InvalidInputError(
            f"learners.load finds weights in {brief(str(source), 200)} that do not fit the "
            f"network. Pass the network that the learner was made with."
        ) from error
    return network.eval()


def _write(target: Path, facts: dict[str, Any], arrays: dict[str, Any]) -> Path:
    numpy_files: Any = require(
        "safetensors.numpy", purpose="learners.save", install="'recoup[torch]'"
    )
    from recoup._core.files import check_writable, writing

    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(
            f"learners.save cannot write to {brief(str(target), 200)}: {error.strerror}."
        ) from error
    with writing(*(check_writable(target / name) for name in (NUMBERS, FACTS))) as (first, second):
        first.write_bytes(numpy_files.save(arrays))
        second.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return target
