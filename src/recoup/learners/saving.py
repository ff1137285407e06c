"""Keep fitted learners in a folder, never as a pickle.

What words can say is JSON. Networks are numbers in a file of safetensors; what other learners have
fitted, such as a classifier of scikit-learn, is in a file of skops.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import warnings
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import version
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from recoup._core import registry as _registry
from recoup._core.alpha import Draws, Interval
from recoup._core.checks import brief
from recoup._core.files import check_writable, writing
from recoup._core.optional import require
from recoup._core.version import installed_version
from recoup.exceptions import InvalidInputError
from recoup.learners.base import PULearner
from recoup.learners.health import Health
from recoup.learners.object_file import packed_objects, unpacked
from recoup.priors.results import PriorEstimate

FACTS, NUMBERS, OBJECTS = "learner.json", "learner.safetensors", "learner.skops"
FILES = (NUMBERS, OBJECTS)
FORMAT = 2
# What scikit-learn's fitted attributes look like; parts of a network follow a slash.
FITTED = re.compile(r"[a-z]\w*_(/.+)?")
# A row with more numbers is not made only to try a learner.
MOST_TRIED = 10**7
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

    if not isinstance(learner, PULearner):
        raise InvalidInputError(
            f"learners.save keeps learners of recoup list learners. Got {type(learner).__name__}. "
            f"Save the learner inside it, or keep it by other means."
        )
    check_is_fitted(learner)
    arrays: dict[str, Any] = {}
    objects: dict[str, Any] = {}
    fitted: dict[str, Any] = {}
    for name, value in vars(learner).items():
        if not name.endswith("_") or name.startswith("_"):
            continue
        if hasattr(value, "state_dict"):
            weights = value.state_dict()
            arrays |= {f"{name}/{part}": _array(tensor) for part, tensor in weights.items()}
        elif isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biuf":
            arrays[name] = np.array(value)
        elif (said := _plain(value)) is _UNSAID:
            objects[name] = value
        else:
            fitted[name] = said
    parameters = learner.get_params(deep=False)
    given = {name: _given(value, learner) for name, value in parameters.items()}
    unsaid = [name for name, value in given.items() if value is _UNSAID]
    has_network = any("/" in name for name in arrays)
    models = [name for name in unsaid if hasattr(parameters[name], "get_params")]
    if has_network:
        models = []
    if has_network and objects:
        name, value = next(iter(objects.items()))
        raise InvalidInputError(
            f"learners.save cannot keep {type(learner).__name__}.{name}, a "
            f"{type(value).__name__}, beside a network. Keep the learner by other means."
        )
    facts = {
        "format": FORMAT,
        "versions": {
            "recoup": installed_version(),
            **{name: version(name) for name in ("numpy", "scikit-learn", "skops")},
        },
        "learner": learner.tags.key,
        "parameters": {name: value for name, value in given.items() if value is not _UNSAID},
        "left_out": [name for name in unsaid if name not in models],
        "fitted": fitted,
        "file": NUMBERS if has_network else OBJECTS,
    }
    if has_network:
        content = _safetensors("learners.save").save(arrays)
    else:
        content = packed_objects(
            {"fitted": arrays | objects, "parameters": {name: parameters[name] for name in models}}
        )
    return _write(Path(folder), facts | {"digests": _digests(facts, content)}, content)


def load(folder: str | Path, *, trusted: Collection[str] = (), **parameters: Any) -> PULearner:
    """Read a learner that :func:`save` wrote.

    Nothing in the folder is run: a folder from somebody else can be wrong, but not harmful. Only
    objects of recoup, and of those parts of scikit-learn that can do no harm, are built.

    Parameters
    ----------
    folder : str or Path
        With ``learner.json``, and ``learner.safetensors`` or ``learner.skops``.
    trusted : collection of str, default=()
        Full names of other types to build, such as that of a classifier of your own. They can do
        anything: name them only if you know who made the folder.
    **parameters
        Parameters of the learner in place of the saved ones, such as ``device``, or ``network``
        if it was a function of your own.

    Returns
    -------
    PULearner
        Fitted, as it was saved.
    """
    source = Path(folder)
    try:
        learner, facts, digest = _read(source, trusted, parameters)
        _try(learner)
    except (InvalidInputError, ImportError):
        raise
    # Whatever is raised over files that somebody else wrote; safetensors has an error of its own.
    except Exception as error:
        raise InvalidInputError(
            f"learners.load cannot read a learner from {brief(str(source), 200)}: it needs whole "
            f"files {FACTS} and {NUMBERS} or {OBJECTS}, as this version of recoup writes them. "
            f"({type(error).__name__})"
        ) from error
    # Folders that were saved before have none.
    if facts.get("digests", digest) != digest:
        raise InvalidInputError(
            f"learners.load finds that the files in {brief(str(source), 200)} are not what was "
            f"saved: they are damaged, or were changed or mixed since. Copy the folder again, or "
            f"fit and save the learner again."
        )
    return learner


def _read(
    source: Path, trusted: Collection[str], parameters: dict[str, Any]
) -> tuple[PULearner, dict[str, Any], dict[str, str]]:
    """Build what a folder describes; return its facts and the digests of its files, too."""
    facts = json.loads(_content(source / FACTS))
    if facts["format"] != FORMAT:
        raise ValueError("another format")
    key, known = facts["learner"], dict(facts["parameters"])
    fitted, left_out = dict(facts["fitted"]), [str(name) for name in facts["left_out"]]
    if facts["file"] == NUMBERS:
        content = _content(source / NUMBERS)
        kept = _safetensors("learners.load").load(content)
    else:
        content, where = _content(source / OBJECTS), brief(str(source / OBJECTS), 200)
        objects = unpacked(content, trusted, where)
        kept, known = dict(objects["fitted"]), known | objects["parameters"]
    strange = [name for name in (*fitted, *kept) if not FITTED.fullmatch(name)]
    if strange:
        raise ValueError(strange[0])
    restored = {name: _restored(value) for name, value in fitted.items()}
    missing = sorted(set(left_out) - set(parameters))
    if missing:
        raise InvalidInputError(
            f"learners.load needs {', '.join(missing)}, which {brief(str(source), 200)} could not "
            f"hold. Pass what the learner was made with."
        )
    try:
        learner: PULearner = _registry.make(
            "learners", key, "learners.load", **(known | parameters)
        )
    except TypeError as error:
        raise InvalidInputError(
            f"learners.load cannot build {brief(key)!r} from {brief(str(source), 200)}: "
            f"{brief(str(error), 120)}. Fit and save the learner again."
        ) from error
    learner._check_settings(f"learners.load of {brief(str(source), 200)}")
    for name, value in restored.items():
        setattr(learner, name, value)
    parts: dict[str, dict[str, Any]] = {}
    for name, values in kept.items():
        owner, _, part = name.partition("/")
        if part:
            parts.setdefault(owner, {})[part] = values
        else:
            plain = isinstance(values, np.ndarray) and not values.ndim
            setattr(learner, name, values[()] if plain else values)
    for owner, weights in parts.items():
        setattr(learner, owner, _network(learner, owner, weights, source))
    learner._check_restored(f"learners.load of {brief(str(source), 200)}")
    return learner, facts, _digests(facts, content)


def _digests(facts: Mapping[str, Any], content: bytes) -> dict[str, str]:
    """Return what tells the files from all others, so that no change of them goes unnoticed."""
    words = {name: value for name, value in facts.items() if name != "digests"}
    return {
        "words": hashlib.sha256(json.dumps(words, sort_keys=True).encode()).hexdigest(),
        "file": hashlib.sha256(content).hexdigest(),
    }


def _try(learner: Any) -> None:
    """Score a row, so that what does not fit together is found now and not by who uses it."""
    size = learner.n_features_in_
    if isinstance(size, bool) or not isinstance(size, Integral) or size < 1:
        raise ValueError("a number of features that is none")
    shape = getattr(learner, "shape_", (size,))
    if not 1 <= math.prod(shape) <= MOST_TRIED:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        row = np.zeros((1, *getattr(learner, "numbers_", shape)))
        answer = learner.decision_function(row)
        for name in ("predict", "predict_proba"):
            # A ranking alone does not say where positives end, and says so.
            with suppress(InvalidInputError):
                if hasattr(learner, name):
                    getattr(learner, name)(row)
    if np.shape(answer) != (1,):
        raise ValueError("other than one score for a row")


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


def _plain(value: Any) -> Any:
    """Write what was fitted in words that :func:`_restored` understands, if it has such words."""
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, PriorEstimate):
        return {"kind": "prior", "alpha": value.alpha, "beta": value.beta, "method": value.method}
    if isinstance(value, Health):
        return {"kind": "health", "items": asdict(value)}
    if isinstance(value, np.ndarray) and value.dtype.kind in "OUS":
        return {"kind": "names", "items": [str(part) for part in value]}
    if type(value) in (tuple, list):
        items = [_plain(part) for part in value]
        if any(part is _UNSAID for part in items):
            return _UNSAID
        return {"kind": "tuple", "items": items} if isinstance(value, tuple) else items
    if isinstance(value, dict) and all(isinstance(part, str) for part in value):
        parts = {key: _plain(part) for key, part in value.items()}
        if not any(part is _UNSAID for part in parts.values()):
            return {"kind": "dict", "items": parts}
    return _UNSAID


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
    if kind == "health":
        lists = {name: tuple(value["items"][name]) for name in ("retries", "remarks")}
        return Health(**value["items"] | lists)
    if kind == "dict":
        return {key: _restored(part) for key, part in value["items"].items()}
    return tuple(_restored(part) for part in value["items"])


def _array(tensor: Any) -> Any:
    return np.ascontiguousarray(tensor.detach().cpu().numpy())


def _safetensors(purpose: str) -> Any:
    return require("safetensors.numpy", purpose=purpose, install="'recoup[torch]'")


def _content(path: Path) -> bytes:
    # A device or a pipe would never end.
    if not path.is_file():
        raise FileNotFoundError(path.name)
    return path.read_bytes()


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


def _write(target: Path, facts: dict[str, Any], content: bytes) -> Path:
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(
            f"learners.save cannot write to {brief(str(target), 200)}: {error.strerror}."
        ) from error
    names = (facts["file"], FACTS)
    with writing(*(check_writable(target / name) for name in names)) as (first, second):
        first.write_bytes(content)
        second.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    # What another learner left there would only confuse.
    (target / (NUMBERS if facts["file"] == OBJECTS else OBJECTS)).unlink(missing_ok=True)
    return target
