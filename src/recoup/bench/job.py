"""What is run: one learner on one simulated dataset, known by the hash of all that defines it."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, Literal, TypeAlias

from recoup._core.checks import Scheme
from recoup._core.notes import Note
from recoup._core.random import named_rng

Protocol: TypeAlias = Literal["honest", "oracle", "pubench"]
Design: TypeAlias = Literal["single-sample", "case-control", "case-control-overlap"]

# Part of every hash. Raise it when the same definition would give other numbers than before, as
# after a change of how rows are split, drawn, held out or measured: runs of another format are
# then done anew. Versions of packages are kept beside each run and are no part of it, or an update
# of one of them would throw away every store.
FORMAT = 2
# Why an oracle run is skipped that its honest one can stand in for.
SELECTS_NOTHING = Note(
    "selects-nothing", "The learner selects no weights: its honest run is the same."
)

# Of the sentences that were once all there was to tell a reason by, those that mattered.
_CODES_BEFORE = {"The learner selects no weights: its honest run is the same.": "selects-nothing"}

KNOWN = "known"
"""As the alpha of learners that need one: the share that the simulation counted."""

OWN = "own"
"""As the alpha: what a learner does by default, which is to estimate it where it needs one."""

RELEASED = "released"
"""As the alpha of learners that need one: what PU-Bench's code hands out, which is the share of
positives among labeled and unlabeled rows together."""

OWN_LABELS = "own"
"""As the mechanism: labels are those of the file, and nobody knows how they came about."""

NOT_A_METHOD = (KNOWN, OWN, RELEASED)
"""Words for alpha that name no way to estimate it."""


@dataclass(frozen=True)
class Job:
    """One run to be done.

    Attributes
    ----------
    dataset : str
        A dataset, or ``dataset/task``.
    scheme : {"single-sample", "case-control", "case-control-overlap"}
        How rows are drawn. In the last, labeled rows come again among the unlabeled ones.
    mechanism : str
        Which positives get a label.
    label_frequency : float
        Share of the positives with a label.
    noise : float
        Share of the labels that are wrong.
    key : str
        The learner.
    params : mapping
        What differs from its defaults, as plain values.
    seed : int
        Seed of all that is random, together with the names above.
    protocol : {"honest", "oracle", "pubench"}
        How weights are selected. ``honest``: by a fifth of the rows, held out, without classes.
        ``oracle``: of the same training, those that a hundredth of the rows with their classes
        would have kept. ``pubench``: no row is held out, and training itself goes by that
        hundredth, with the settings of PU-Bench's code.
    alpha : str, default="known"
        What learners that need the share of hidden positives get: ``known``, ``released`` or
        ``own``.
    preset : str, optional
        Named settings of the learner, which its ``params`` come on top of.
    file : mapping, optional
        An own file with ``path``, ``digest`` of its content and its columns, in place of a named
        dataset. With a column of labels the mechanism is ``own`` and the label frequency 0, since
        nobody knows it.

    Examples
    --------
    >>> job = Job("iris", "single-sample", "scar", 0.5, 0.0, "nnpu", {"epochs": 5}, 2, "honest")
    >>> job.learner, job.run
    ('nnpu (epochs=5)', '475e96a7e03f6a7b')
    >>> Job.of(job.definition) == job
    True
    """

    dataset: str
    scheme: Design
    mechanism: str
    label_frequency: float
    noise: float
    key: str
    params: Mapping[str, Any] = field(hash=False)
    seed: int
    protocol: Protocol
    alpha: str = KNOWN
    preset: str | None = None
    file: Mapping[str, Any] | None = field(default=None, hash=False)

    @classmethod
    def of(cls, definition: Mapping[str, Any]) -> Job:
        """Read a job from its definition.

        Parameters
        ----------
        definition : mapping
            What :attr:`definition` gives.

        Returns
        -------
        Job
        """
        named = {name: definition[name] for name in definition if name not in ("format", "learner")}
        return cls(**named, **definition["learner"])

    @property
    def definition(self) -> dict[str, Any]:
        """All that decides what comes out, as plain values."""
        own = {} if self.file is None else {"file": dict(self.file)}
        return own | {
            "format": FORMAT,
            "dataset": self.dataset,
            "scheme": self.scheme,
            "mechanism": self.mechanism,
            "label_frequency": self.label_frequency,
            "noise": self.noise,
            "learner": {"key": self.key, "params": dict(self.params), "preset": self.preset},
            "seed": self.seed,
            "protocol": self.protocol,
            "alpha": self.alpha,
        }

    @cached_property
    def run(self) -> str:
        """The first 16 digits of the hash of the definition."""
        return hashed(self.definition)

    @property
    def learner(self) -> str:
        """The learner's key, its preset, and what differs from these."""
        return shown_learner(self.key, self.params, self.preset)

    @property
    def used_preset(self) -> str | None:
        """The preset that the learner is made with: in PU-Bench's protocol, that of its code."""
        from recoup._core.registry import registered

        if self.preset is not None or self.protocol != "pubench":
            return self.preset
        # Variants of a method may have settings of their own.
        names = (f"pubench-{self.params.get('mode')}", "pubench")
        known = registered("learners")[self.key].presets
        return next((name for name in names if name in known), None)

    @property
    def is_watched(self) -> bool:
        """Whether the learner tells what its network says after each epoch."""
        from recoup._core.registry import registered

        cls = registered("learners").get(self.key)
        return cls is not None and "watch" in inspect.signature(cls.fit).parameters

    @cached_property
    def training(self) -> str:
        """What runs that one training answers have in common."""
        if self.protocol == "oracle" and self.is_watched:
            return replace(self, protocol="honest").run
        return self.run

    @property
    def design(self) -> Scheme:
        """The scheme as learners and metrics know it."""
        return "single-sample" if self.scheme == "single-sample" else "case-control"

    @property
    def seeds(self) -> dict[str, int]:
        """Seeds by what they are for.

        Rows are split the same way for all that happens to a dataset, and labeled the same way for
        all learners: neither seed knows the learner. The seed of a fit does not know the protocol.
        """
        drawn = (self.scheme, self.mechanism, repr(self.label_frequency), repr(self.noise))
        learner = (self.key, canonical(dict(self.params)), self.preset or "")
        names: dict[str, tuple[str, ...]] = {
            "split": (self.dataset,),
            "labels": (self.dataset, *drawn),
            "fit": (self.dataset, *drawn, *learner),
        }
        return {
            purpose: int(named_rng(self.seed, "bench", purpose, *path).integers(2**31))
            for purpose, path in names.items()
        }

    @property
    def has_own_labels(self) -> bool:
        """Whether labels are those of a file, and true classes are not known."""
        return self.mechanism == OWN_LABELS

    @property
    def known(self) -> dict[str, Any]:
        """Columns of the store that are known before the run is done."""
        from recoup._core.registry import registered

        cls = registered("learners").get(self.key)
        return {} if cls is None else {"family": cls.tags.family}

    def skip_reason(self) -> Note | None:
        """Say why the learner cannot do this, if it cannot and no data are needed to know.

        Returns
        -------
        Note or None
        """
        return _skip_reason(
            self.key, frozenset(self.params), self.design, self.protocol, self.has_own_labels
        )


@cache
def _skip_reason(
    key: str, changed: frozenset[str], design: Scheme, protocol: Protocol, own_labels: bool
) -> Note | None:
    from recoup._core.registry import registered

    cls = registered("learners").get(key)
    if cls is None:
        return Note("not-installed", f"No learner {key!r} is installed here.")
    if own_labels and cls.tags.requires_true_labels:
        return Note("no-classes", f"{key} needs true classes, which the file does not have.")
    if design not in cls.tags.schemes:
        schemes = " and ".join(cls.tags.schemes)
        return Note("other-scheme", f"{key} is made for {schemes} data.")
    takes = inspect.signature(cls.fit).parameters
    needs_propensity = "propensity" in takes and not {"alpha", "propensity"} & changed
    if protocol == "honest" and needs_propensity:
        return Note(
            "true-propensities",
            f"{key} needs the true propensities, which nobody has; give it alpha, or take the "
            f"protocol oracle.",
        )
    if protocol == "pubench" and needs_propensity:
        return Note("not-in-pubench", f"{key} needs propensities, which PU-Bench does not give.")
    if protocol == "oracle" and "watch" not in takes and not needs_propensity:
        return SELECTS_NOTHING
    return None


def reason_code(row: Mapping[str, Any]) -> str | None:
    """Return the code of the reason in a row, also where reasons had none when it was written."""
    return row.get("code") or _CODES_BEFORE.get(row.get("reason") or "")


def is_lent(row: Mapping[str, Any]) -> bool:
    """Say whether a run was skipped that its honest one stands in for."""
    return row["status"] == "skipped" and reason_code(row) == SELECTS_NOTHING.code


def canonical(value: Any) -> str:
    """Write plain values as JSON in the one way that a hash needs."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def hashed(definition: Mapping[str, Any]) -> str:
    """Return the name of a run: the first 16 digits of the hash of all that defines it.

    An own file counts by its content, so that it may lie elsewhere the next time.
    """
    if definition.get("file"):
        definition = {**definition, "file": same_content(definition["file"])}
    return hashlib.sha256(canonical(definition).encode()).hexdigest()[:16]


def same_content(file: Mapping[str, Any]) -> dict[str, Any]:
    """Return what names an own file in the hash of a run: its content and columns, not its place.

    Parameters
    ----------
    file : mapping
        Of a definition.

    Returns
    -------
    dict
    """
    return {name: value for name, value in file.items() if name != "path"}


def shown_learner(key: str, params: Mapping[str, Any], preset: str | None = None) -> str:
    """Name a learner as people read it."""
    changed = [f"{name}={value}" for name, value in sorted(params.items())]
    told = ", ".join([preset, *changed] if preset else changed)
    return f"{key} ({told})" if told else key


def takes_alpha(key: str) -> bool:
    """Say whether a learner is told alpha: not if it was published as one that needs none."""
    from recoup._core.registry import registered

    cls = registered("learners")[key]
    default = inspect.signature(cls).parameters.get("alpha")
    if default is None or cls.tags.prior_free:
        return False
    return bool(cls.tags.needs_alpha or default.default is not None)
