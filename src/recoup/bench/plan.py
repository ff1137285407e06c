"""Plans: what to compare, as short YAML files."""

from __future__ import annotations

import inspect
import itertools
import math
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeAlias

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from recoup._core.checks import brief, did_you_mean
from recoup.bench.job import (
    KNOWN,
    NOT_A_METHOD,
    OWN,
    OWN_LABELS,
    RELEASED,
    Design,
    Job,
    Protocol,
    takes_alpha,
)
from recoup.exceptions import InvalidInputError

CALLER = "A plan"
# More would take longer to list than anybody wants to wait, and be a slip of the pen.
MOST_SETTINGS, MOST_RUNS = 10_000, 1_000_000
# What every run sets by itself.
SETTLED = ("random_state", "scheme", "progress", "device", "warm_start", "n_jobs")
YES = ("yes", "Yes", "YES", "true", "True", "TRUE", "1")
SIZES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
SPANS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds_of(span: Any) -> float:
    """Read a span of time such as 90, ``90s``, ``1.5m``, ``2h`` or ``1d`` as seconds.

    Examples
    --------
    >>> seconds_of("2h"), seconds_of(90)
    (7200.0, 90.0)
    """
    return _amount(span, SPANS, "a span of time such as 90s, 30m or 2h")


def bytes_of(size: Any) -> int:
    """Read an amount of memory such as ``500MB`` or ``2 GB``.

    Examples
    --------
    >>> bytes_of("1.5GB"), bytes_of("2GiB")
    (1500000000, 2147483648)
    """
    text, units = size, SIZES
    if isinstance(size, str):
        text = size.strip()
        if text.lower().endswith("ib"):
            units = {unit: 1024**place for place, unit in enumerate(SIZES)}
        text = re.sub(r"(?i)i?b$", "", text)
    return int(_amount(text, units, "an amount of memory such as 500MB or 2GB", size))


def _amount(value: Any, units: Mapping[str, float], what: str, shown: Any = None) -> float:
    match = re.fullmatch(r"\s*([0-9.]+(?:e[0-9]+)?)\s*([a-zA-Z]?)\s*", str(value))
    try:
        found = float(match[1]) * units[match[2].lower()] if match else math.nan
    except (KeyError, ValueError):
        found = math.nan
    if not (found > 0 and math.isfinite(found)) or isinstance(value, bool):
        raise InvalidInputError(f"Needs {what}. Got {brief(value if shown is None else shown)!r}.")
    return found


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [value]


def _unique(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(values))


Share: TypeAlias = Annotated[float, Field(gt=0, le=1)]
Noise: TypeAlias = Annotated[float, Field(ge=0, lt=1)]
Seed: TypeAlias = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Several = BeforeValidator(_as_list)


class Part(BaseModel):
    """Of a plan; unknown keys are refused."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")


class Limits(Part):
    """What a run may take before it is ended and recorded as failed.

    Parameters
    ----------
    time : float, default=3600.0
        Seconds; in a plan also ``30m`` or ``2h``.
    memory : int, optional
        Bytes of main memory; in a plan also ``2GB``. By default an equal share of what there is.
    """

    time: Annotated[float, BeforeValidator(seconds_of)] = 3600.0
    memory: Annotated[int, BeforeValidator(bytes_of)] | None = None


class LearnerSpec(Part):
    """A learner, what differs from its defaults, and values to try in all combinations.

    Parameters
    ----------
    key : str
        Name of the learner, as in ``recoup list learners``.
    preset : str, optional
        Named settings of the learner, such as ``paper``; ``params`` come on top of them.
    params : dict, default={}
        Parameters by name. ``alpha: known`` stands for the share that the simulation counted.
    grid : dict, default={}
        Lists of values by parameter; each combination is a learner of its own.
    """

    key: str
    preset: str | None = None
    params: dict[str, Any] = Field(default_factory=dict)
    grid: dict[str, list[Any]] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _from_key(cls, value: Any) -> Any:
        return {"key": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _check_names(self) -> LearnerSpec:
        from recoup._core.registry import registered

        known = registered("learners")
        if self.key not in known:
            raise InvalidInputError(
                f"{CALLER} knows no learner {brief(self.key)!r}.{did_you_mean(self.key, known)} "
                f"recoup list learners shows them."
            )
        takes = set(inspect.signature(known[self.key]).parameters)
        for name in (*self.params, *self.grid):
            if name in SETTLED and name in takes:
                raise InvalidInputError(
                    f"{CALLER} cannot set {name!r} of {self.key}: every run sets it. Drop it."
                )
            if name not in takes:
                raise InvalidInputError(
                    f"{CALLER} sets {brief(name)!r}, which {self.key} does not have."
                    f"{did_you_mean(name, takes)}"
                )
        both = sorted(set(self.params) & set(self.grid))
        if both:
            raise InvalidInputError(
                f"{CALLER} gives {both[0]!r} of {self.key} under params and under grid. Drop one."
            )
        empty = [name for name, values in self.grid.items() if not values]
        if empty:
            raise InvalidInputError(
                f"{CALLER} needs values for {empty[0]!r} of {self.key} under grid. Got none."
            )
        n_settings = math.prod(len(values) for values in self.grid.values())
        if n_settings > MOST_SETTINGS:
            raise InvalidInputError(
                f"{CALLER} takes {MOST_SETTINGS:,} combinations of the values under grid at most. "
                f"Got {n_settings:,} of {self.key}. Try fewer values."
            )
        _check_plain(self.params | self.grid, self.key)
        for settings in self.settings():
            _check_values(self.key, self.preset, settings)
        return self

    def settings(self) -> Iterator[dict[str, Any]]:
        """Return the parameters of each combination."""
        for values in itertools.product(*self.grid.values()):
            yield self.params | dict(zip(self.grid, values, strict=True))


class FileSpec(Part):
    """A file of one's own in place of a named dataset.

    Parameters
    ----------
    file : str
        A CSV, Parquet or JSON lines file; in a plan relative to the plan.
    label : str, optional
        The column that says which rows are labeled positive, where true classes are not known.
        Learners are then cross-fitted, and judged by recovered metrics.
    y : str, optional
        The column of true classes, some of whose positives get a label, as in a named dataset.
    positive : str, number or list, optional
        Which values of that column are positive, such as ``yes``. By default 1 and true.
    features : list of str, default=()
        The columns to learn from. By default all that tell something.
    """

    file: str
    label: str | None = None
    y: str | None = None
    positive: tuple[str, ...] = ()
    features: tuple[str, ...] = ()

    @field_validator("positive", "features", mode="before")
    @classmethod
    def _as_words(cls, value: Any) -> Any:
        # YAML reads yes without quotes as true.
        return YES if value is True else tuple(map(str, _as_list(value)))

    @model_validator(mode="after")
    def _check_columns(self) -> FileSpec:
        if (self.label is None) == (self.y is None):
            raise InvalidInputError(
                f"{CALLER} needs for the file {brief(self.file, 100)!r} either label, the column "
                f"that says which rows are labeled, or y, that of true classes. Got "
                f"{'neither' if self.label is None else 'both'}."
            )
        self.described()
        return self

    @property
    def name(self) -> str:
        """The name of the file, which the dataset goes by."""
        return Path(self.file).name

    def described(self) -> dict[str, Any]:
        """Return the file as a job has it."""
        from recoup.bench.own_file import described

        return described(self.file, self.label, self.y, list(self.positive), list(self.features))


class Plan(Part):
    """What to compare: all combinations of the parts below.

    Where a tuple is asked for, one value will do.

    Parameters
    ----------
    name : str, default="plan"
        What the plan is called.
    about : str, default=""
        What it is for.
    datasets : tuple of str or FileSpec
        Names of ``recoup list datasets``, or ``name/task``; or own files as mappings with
        ``file``, ``label`` or ``y``, and ``positive``.
    schemes : tuple of str, default=("single-sample",)
        ``single-sample``, ``case-control``, or ``case-control-overlap``, in which labeled rows
        come again among the unlabeled ones, as in PU-Bench.
    mechanisms : tuple of str, default=("scar",)
        Which positives get a label: ``scar`` (or ``s1``), ``s2``, ``s3``, ``s4``.
    label_frequencies : tuple of float, default=(0.1,)
        Shares of the positives with a label.
    noise : tuple of float, default=(0.0,)
        Shares of the labels that are wrong.
    learners : tuple of LearnerSpec
        The learners to compare: their keys, or mappings with ``key``, ``params`` and ``grid``.
    seeds : tuple of int, default=(0,)
        One repetition for each; rows and labels differ between them.
    protocols : tuple of str, default=("honest",)
        ``honest`` selects weights without classes, ``oracle`` those of the same training that are
        best by classes, ``pubench`` trains as PU-Bench does: see :class:`Job`.
    alpha : str, default="known"
        What learners get that need the share of hidden positives: ``known`` is the share that the
        simulation counted, ``released`` what PU-Bench's code takes for it, ``own`` leaves it to
        the learner, and ``estimate`` or the key of a prior estimator has it estimated.
    limits : Limits, optional
        What each run may take. By default an hour, and an equal share of the memory of the machine,
        or of what a container or SLURM job may take.

    Examples
    --------
    >>> plan = Plan(datasets=["iris", "wine"], learners=["naive", "weighted"], seeds=[1, 2, 3])
    >>> plan
    Plan(12 runs: 2 datasets, 2 learners, 3 seeds)
    >>> [job.learner for job in plan.jobs()][:2]
    ['naive', 'weighted']
    """

    name: Annotated[str, Field(pattern=r"^\w[\w .-]*$")] = "plan"
    about: str = ""
    datasets: Annotated[tuple[str | FileSpec, ...], Several, Field(min_length=1)]
    schemes: Annotated[tuple[Design, ...], Several, Field(min_length=1)] = ("single-sample",)
    mechanisms: Annotated[tuple[str, ...], Several, Field(min_length=1)] = ("scar",)
    label_frequencies: Annotated[tuple[Share, ...], Several, Field(min_length=1)] = (0.1,)
    noise: Annotated[tuple[Noise, ...], Several, Field(min_length=1)] = (0.0,)
    learners: Annotated[tuple[LearnerSpec, ...], Several, Field(min_length=1)]
    seeds: Annotated[tuple[Seed, ...], Several, Field(min_length=1)] = (0,)
    protocols: Annotated[tuple[Protocol, ...], Several, Field(min_length=1)] = ("honest",)
    alpha: str = KNOWN
    limits: Limits = Limits()

    def __repr__(self) -> str:
        """Show how much there is to do."""
        parts = []
        for word in ("datasets", "schemes", "mechanisms", "label_frequencies", "noise"):
            n = len(getattr(self, word))
            parts += [f"{n} {word}"] if n > 1 or word == "datasets" else []
        parts += [f"{sum(1 for spec in self.learners for _ in spec.settings())} learners"]
        parts += [f"{len(self.seeds)} seeds"]
        parts += [f"{len(self.protocols)} protocols"] if len(self.protocols) > 1 else []
        text = ", ".join(part[:-1] if part.startswith("1 ") else part for part in parts)
        return f"Plan({len(self.jobs()):,} runs: {text})"

    def __str__(self) -> str:
        """Show the same when printed."""
        return repr(self)

    def jobs(self) -> list[Job]:
        """Return the runs, those that share their rows one after the other.

        Returns
        -------
        list of Job
        """
        learners = [
            (spec.key, self._with_alpha(spec.key, params), spec.preset)
            for spec in self.learners
            for params in spec.settings()
        ]
        alpha = self.alpha if self.alpha in NOT_A_METHOD else KNOWN
        found = [
            Job(
                *(name, scheme, mechanism, frequency, noise, key, params, seed, protocol),
                *("estimate" if mechanism == OWN_LABELS and alpha != OWN else alpha, preset, file),
            )
            for seed in self.seeds
            for name, file, cells in self._cells()
            for scheme, mechanism, frequency, noise in cells
            for key, params, preset in learners
            for protocol in self.protocols
        ]
        return list({job.run: job for job in found}.values())

    def _cells(self) -> Iterator[tuple[str, dict[str, Any] | None, list[Any]]]:
        """Return each dataset, its file if it is one, and how its labels come about."""
        drawn = (self.mechanisms, self.label_frequencies, self.noise)
        for dataset in self.datasets:
            if isinstance(dataset, str):
                yield dataset, None, list(itertools.product(self.schemes, *drawn))
                continue
            ways = itertools.product(self.schemes, *drawn)
            if dataset.label is not None:
                ways = itertools.product(self.schemes, [OWN_LABELS], [0.0], [0.0])
            yield dataset.name, dataset.described(), list(ways)

    @model_validator(mode="after")
    def _check_number(self) -> Plan:
        sizes = (self.datasets, self.schemes, self.mechanisms, self.label_frequencies, self.noise)
        n_learners = sum(1 for spec in self.learners for _ in spec.settings())
        each = (*sizes, self.seeds, self.protocols)
        n_runs = math.prod([len(values) for values in each]) * n_learners
        if n_runs > MOST_RUNS:
            raise InvalidInputError(
                f"{CALLER} takes {MOST_RUNS:,} runs at most. Got {n_runs:,}. Make several of it."
            )
        return self

    @model_validator(mode="after")
    def _check_files(self) -> Plan:
        own = [dataset for dataset in self.datasets if isinstance(dataset, FileSpec)]
        names = [one.name for one in own]
        twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
        if twice is not None:
            raise InvalidInputError(
                f"{CALLER} needs files with different names. Got {brief(twice)!r} twice."
            )
        labeled = next((one.name for one in own if one.label is not None), None)
        if labeled is None:
            return self
        wrong = ""
        if self.protocols != ("honest",):
            wrong = f"the protocol honest alone. Got {', '.join(self.protocols)}"
        elif "case-control-overlap" in self.schemes:
            wrong = "the scheme single-sample or case-control. Got case-control-overlap"
        elif any(
            KNOWN in (spec.params.get("alpha"), *spec.grid.get("alpha", ()))
            for spec in self.learners
        ):
            wrong = "learners whose alpha is a number or estimated. Got alpha: known"
        if wrong:
            raise InvalidInputError(
                f"{CALLER} with labels from a file ({brief(labeled)!r}), whose true classes nobody "
                f"knows, needs {wrong}. Change that, or name a column of true classes with y."
            )
        return self

    def _with_alpha(self, key: str, params: dict[str, Any]) -> dict[str, Any]:
        """Name the way to estimate alpha where a learner has a use for it."""
        if self.alpha in NOT_A_METHOD or "alpha" in params or not takes_alpha(key):
            return params
        return params | {"alpha": self.alpha}

    @field_validator("datasets", mode="before")
    @classmethod
    def _one_or_several(cls, value: Any) -> Any:
        """Read mappings as files, and let them say themselves what they lack."""
        return tuple(
            FileSpec(**one)
            if isinstance(one, dict) and all(isinstance(k, str) for k in one)
            else one
            for one in _as_list(value)
        )

    @field_validator("datasets")
    @classmethod
    def _check_datasets(cls, names: tuple[str | FileSpec, ...]) -> tuple[str | FileSpec, ...]:
        from recoup.data import tasks
        from recoup.data.catalog import find_entry
        from recoup.data.readers import KINDS

        found: list[str | FileSpec] = []
        for name in names:
            if isinstance(name, FileSpec):
                found.append(name)
                continue
            if Path(name).suffix.lower() in KINDS:
                raise InvalidInputError(
                    f"{CALLER} needs columns to read {brief(name)!r} by. Write it as "
                    f"{{file: {name}, label: COLUMN}}, or with y: COLUMN for true classes, and "
                    f"positive: VALUE where they are words."
                )
            dataset, _, task = name.partition("/")
            find_entry(dataset, CALLER)
            known = [one.name for one in tasks(dataset)]
            # A name without a task stands for the first one, so both spellings are one run.
            found.append(dataset if known[:1] == [task] else name)
            if task and task not in known:
                raise InvalidInputError(
                    f"{CALLER} needs a task of {dataset!r} after the slash. Got {brief(task)!r}."
                    f"{did_you_mean(task, known)} Its tasks are {brief(known, 200)}."
                )
        return _unique(tuple(found))

    @field_validator("mechanisms")
    @classmethod
    def _check_mechanisms(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        from recoup.simulation import MECHANISMS

        for name in names:
            if name not in MECHANISMS:
                raise InvalidInputError(
                    f"{CALLER} knows no mechanism {brief(name)!r}."
                    f"{did_you_mean(name.lower(), MECHANISMS)} It knows: {', '.join(MECHANISMS)}."
                )
        # "s1" and "scar" are the same: with both names every run would be done twice.
        return _unique(tuple("scar" if name == "s1" else name for name in names))

    @field_validator("alpha")
    @classmethod
    def _check_alpha(cls, alpha: str) -> str:
        from recoup._core.prior import estimation_method
        from recoup._core.registry import registered

        words = (*NOT_A_METHOD, "estimate", *registered("priors"))
        if alpha not in words:
            raise InvalidInputError(
                f"{CALLER} knows no alpha {brief(alpha)!r}.{did_you_mean(str(alpha), words)} "
                f"Choose one of: {', '.join(words)}."
            )
        if alpha not in NOT_A_METHOD:
            estimation_method(alpha, 1.0, CALLER)
        return alpha


def shipped_plans() -> dict[str, str]:
    """Return the names of the plans that come with recoup, and what each is for.

    Returns
    -------
    dict of str to str
    """
    folder = files("recoup.bench").joinpath("plans")
    names = sorted(path.name for path in folder.iterdir() if path.name.endswith(".yaml"))
    return {
        name.removesuffix(".yaml"): str(
            _loaded(folder.joinpath(name).read_text("utf-8"), name)["about"]
        )
        for name in names
    }


def read_plan(source: str | Path) -> Plan:
    """Read a plan: a YAML file, or the name of one that comes with recoup.

    Parameters
    ----------
    source : str or path
        Path of the file, or one of the names of :func:`shipped_plans`.

    Returns
    -------
    Plan

    Examples
    --------
    >>> read_plan("smoke").protocols
    ('honest', 'oracle')
    """
    path = Path(source)
    shipped = files("recoup.bench").joinpath("plans", f"{source}.yaml")
    named = re.fullmatch(r"[\w-]+", str(source)) is not None
    if path.is_file():
        # Names of plans are restricted, those of files are not: other characters become dashes.
        name = re.sub(r"[^\w .-]+|^\W+", "-", path.stem).lstrip(" .-") or "plan"
        where = brief(str(source), 200)
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInputError(f"Cannot read the plan {where}: {error}.") from error
    elif named and shipped.is_file():
        name, where, text = str(source), str(source), shipped.read_text("utf-8")
    else:
        known = shipped_plans()
        raise InvalidInputError(
            f"There is no plan {brief(str(source), 200)!r}: neither a file, nor one that comes "
            f"with recoup.{did_you_mean(str(source), known)} Those are: {', '.join(known)}."
        )
    found = _loaded(text, where)
    if path.is_file():
        found = found | {"datasets": _beside(path, found.get("datasets"))}
    try:
        return Plan(
            **({"name": name} | {key: one for key, one in found.items() if one is not None})
        )
    except InvalidInputError as error:
        raise InvalidInputError(f"{where}: {error}") from error
    except ValidationError as error:
        raise InvalidInputError(f"{where}: {_first_problem(error)}") from error


def _beside(plan: Path, datasets: Any) -> Any:
    """Look for own files beside the plan that names them."""
    return datasets and [
        one | {"file": str(plan.parent / one["file"])}
        if isinstance(one, dict) and isinstance(one.get("file"), str)
        else one
        for one in _as_list(datasets)
    ]


MERGE = "tag:yaml.org,2002:merge"
# A few lines of aliases of aliases can stand for more values than fit into memory.
MOST_VALUES = 100_000
TOO_MUCH = f"aliases (*name) make more than {MOST_VALUES:,} values of it, or name themselves"


def _n_values(value: Any, known: dict[int, float]) -> float:
    """Count values, those of aliases as often as they are named; infinite if one holds itself."""
    if not isinstance(value, dict | list):
        return 1
    if id(value) not in known:
        known[id(value)] = math.inf
        parts = value.values() if isinstance(value, dict) else value
        known[id(value)] = 1 + sum(_n_values(part, known) for part in parts)
    return known[id(value)]


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # yaml has no types
    """Reads 1e-3 as a number, and refuses a key that comes twice, or too much of anything."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._flat: set[int] = set()

    def flatten_mapping(self, node: Any) -> None:
        """Take in what ``<<`` names, unless a key would silently replace another."""
        if id(node) in self._flat:
            return
        self._flat.add(id(node))
        named = [key for key, _ in node.value if key.tag != MERGE]
        keys = [self.construct_object(key, deep=True) for key in named]
        twice = next((key for place, key in enumerate(keys) if key in keys[:place]), None)
        problem = None if twice is None else f"the key {twice!r} comes twice"
        super().flatten_mapping(node)
        if len(node.value) > MOST_VALUES:
            problem = TOO_MUCH
        if problem is not None:
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)


# YAML 1.1 takes 1e-3 for a word, since it has no point.
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?[0-9][0-9_]*(\.[0-9_]*)?[eE][-+]?[0-9]+$"),
    list("-+0123456789"),
)


def _loaded(text: str, where: str) -> dict[str, Any]:
    try:
        found = yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        line = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise InvalidInputError(f"{where} is no YAML{line}: {error.problem}.") from error
    except (yaml.YAMLError, ValueError) as error:
        raise InvalidInputError(f"{where} is no YAML: {brief(str(error), 200)}.") from error
    except RecursionError as error:
        raise InvalidInputError(f"{where} cannot be read: it is nested too deeply.") from error
    if _n_values(found, {}) > MOST_VALUES:
        raise InvalidInputError(f"{where} cannot be read: {TOO_MUCH}. Write the values out.")
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        raise InvalidInputError(
            f"{where} needs to be YAML with keys such as datasets and learners. "
            f"Got {type(found).__name__}."
        )
    return found


def _first_problem(error: ValidationError) -> str:
    """Put what pydantic found into one line; for an unknown key, name the nearest one."""
    # A key that is missing may only be spelled wrong, so unknown ones come first.
    first = min(error.errors(), key=lambda found: found["type"] != "extra_forbidden")
    place = ".".join(str(part) for part in first["loc"])
    more = f" ({error.error_count() - 1} more.)" if error.error_count() > 1 else ""
    if first["type"] == "extra_forbidden":
        name, inside = str(first["loc"][-1]), first["loc"][:-1]
        part = str(inside[0]) if inside else ""
        models: dict[str, type[Part]] = {
            "learners": LearnerSpec,
            "limits": Limits,
            "datasets": FileSpec,
        }
        model = models.get(part, Plan)
        known = list(model.model_fields)
        near = get_close_matches(name, known, 1, 0.4)
        guess = f" Did you mean {near[0]!r}?" if near else ""
        where = f" under {inside[0]}" if inside else ""
        listed = ", ".join(known)
        return f"{CALLER} has no key {brief(name)!r}{where}.{guess} It knows: {listed}.{more}"
    if first["type"] == "missing":
        return f"{CALLER} needs the key {place!r}. Got none.{more}"
    reason = first["msg"].removeprefix("Value error, ").rstrip(".")
    if isinstance(first.get("ctx", {}).get("error"), InvalidInputError):
        return f"{reason}.{more}"
    return f"{CALLER} cannot use {place}: {reason}. Got {brief(first['input'])!r}.{more}"


def _check_values(key: str, preset: str | None, params: dict[str, Any]) -> None:
    """Refuse parameters that a learner would refuse in each of its runs."""
    from recoup.learners import make

    words = {("alpha", KNOWN), ("alpha", RELEASED)}
    given = {
        name: value
        for name, value in params.items()
        if not (isinstance(value, str) and (name, value) in words)
    }
    make(key, preset=preset, **given)._check_settings(f"{CALLER} with {key}")


def _check_plain(values: Any, key: str) -> None:
    """Refuse what a store could not write down, such as dates."""
    if isinstance(values, dict):
        for name, value in values.items():
            if not isinstance(name, str):
                raise InvalidInputError(
                    f"{CALLER} needs words as names. Got {brief(name)} of {key}."
                )
            _check_plain(value, key)
    elif isinstance(values, list):
        for value in values:
            _check_plain(value, key)
    elif not (values is None or isinstance(values, bool | int | str)) and not (
        isinstance(values, float) and math.isfinite(values)
    ):
        raise InvalidInputError(
            f"{CALLER} needs parameters of {key} as numbers, words or lists. Got {brief(values)}."
        )
