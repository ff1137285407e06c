"""Count how easily somebody new finds their way in recoup's code, as a Markdown table.

    python -m tools.house                  this tree
    python -m tools.house ../older-tree    another checkout, whatever its modules are called
    python -m tools.house --names          also list the names that exist twice

A *jump* is a call from a function of one module of recoup to a function of another, counted once
however often it is made; in brackets, the pairs of modules with such calls and the modules in all.
Code of other packages in between is looked through. Calls are followed the second time that
something is done in a process, so that imports are no part of them. Names that
exist twice are those of functions and classes at the top level of modules. A parameter is explained
if the docstring of its own class has an entry for it. The wheel is built by pip. The size of the
dependencies is that of the files of all packages that a plain install brings, in this environment.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import tokenize
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

MODULE = "tools.house"
ROOT = Path(__file__).parents[1]
IMPORTS = 7
SECONDS = 300


class Source(NamedTuple):
    """A module as it is written."""

    name: str
    text: str
    tree: ast.Module


# What the text of the modules says.


def sources(root: Path) -> list[Source]:
    """Read all modules of the package in a checkout."""
    folder = root / "src" / "recoup"
    if not folder.is_dir():
        raise SystemExit(f"house needs a checkout of recoup. There is no {folder}.")
    found = []
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = path.read_text("utf-8")
        found.append(Source(name, text, ast.parse(text)))
    return found


def docstring_lines(tree: ast.Module) -> int:
    """Count lines of docstrings."""
    total = 0
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if node.body and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            total += (first.end_lineno or first.lineno) - first.lineno + 1
    return total


def comment_lines(text: str) -> int:
    """Count lines that hold a comment, orders to linters left out."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    orders = re.compile(r"#\s*(noqa|type: ignore|fmt:|pragma)")
    comments = (token for token in tokens if token.type == tokenize.COMMENT)
    return len({token.start[0] for token in comments if not orders.match(token.string)})


def repeated_names(modules: list[Source]) -> dict[str, list[str]]:
    """Return names of functions and classes that more than one module defines."""
    places: dict[str, set[str]] = defaultdict(set)
    for module in modules:
        for node in module.tree.body:
            # Every package looks its own names up by functions of these names.
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("__"):
                places[node.name].add(module.name)
    return {name: sorted(found) for name, found in sorted(places.items()) if len(found) > 1}


def repeated_modules(modules: list[Source]) -> dict[str, list[str]]:
    """Return last parts of names that more than one module has."""
    places: dict[str, list[str]] = defaultdict(list)
    for module in modules:
        places[module.name.rpartition(".")[2]].append(module.name)
    return {name: found for name, found in sorted(places.items()) if len(found) > 1}


# What happens when the code runs: in a process of its own, with the recoup of the checkout.


def jumps_of(call: Callable[[], object]) -> dict[str, int]:
    """Count what a call goes through: pairs of functions of different modules, and modules."""
    call()
    jumps: set[tuple[tuple[str, str], tuple[str, str]]] = set()
    modules: set[str] = set()

    def follow(frame: FrameType, event: str, _: object) -> None:
        if event != "call":
            return
        callee = _owner(frame)
        if callee is None:
            return
        modules.add(callee[0])
        back = frame.f_back
        while back is not None and (caller := _owner(back)) is None:
            back = back.f_back
        if back is not None and caller is not None and caller[0] != callee[0]:
            jumps.add((caller, callee))

    sys.setprofile(follow)
    try:
        call()
    finally:
        sys.setprofile(None)
    pairs = {(caller[0], callee[0]) for caller, callee in jumps}
    return {"jumps": len(jumps), "pairs": len(pairs), "modules": len(modules)}


def _owner(frame: FrameType) -> tuple[str, str] | None:
    name = frame.f_globals.get("__name__", "")
    is_ours = isinstance(name, str) and name.partition(".")[0] == "recoup"
    return (name, frame.f_code.co_qualname) if is_ours else None


def _scored_rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    s = np.repeat([1, 0], [60, 240])
    return s, rng.normal(size=len(s)) + s


def evaluate_arrays() -> object:
    """Evaluate scores in memory, alpha given."""
    import recoup

    return recoup.evaluate(*_scored_rows(), alpha=0.2, n_boot=20, random_state=0)


def fit_nnpu() -> object:
    """Fit the best known network learner to a few rows, for two epochs."""
    from recoup.learners import NNPU

    s, x = _scored_rows()
    learner = NNPU(alpha=0.2, epochs=2, progress=False, random_state=0)
    return learner.fit(np.column_stack([x, x**2]).astype(np.float32), s)


def run_trial() -> object:
    """Plan one run of a benchmark, do it in this process, and write it to a store."""
    from recoup.bench import Plan, Store

    asked = {"datasets": ["iris"], "learners": ["naive"], "seeds": [1]}
    job = Plan.model_validate(asked).jobs()[0]
    found = _execute()(job.definition)
    if found["status"] != "done":
        raise RuntimeError(found["reason"])
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "runs.sqlite")
        with store.writing():
            store.write(job, found)
        return store.rows()


def _execute() -> Callable[[Any], Any]:
    """Return what does a run, which has had three names."""
    from functools import partial
    from importlib import import_module

    try:
        measure = import_module("recoup.bench.trial").measure_trial
        return partial(import_module("recoup.bench.worker").execute, measure)
    except (ImportError, AttributeError):
        pass
    try:
        execute: Callable[[Any], Any] = import_module("recoup.bench.trial").execute
    except ImportError:
        execute = import_module("recoup.bench.execute").execute
    return execute


def write_report() -> object:
    """Write the page about an evaluation that is there already."""
    with tempfile.TemporaryDirectory() as folder:
        return _evaluated().report(Path(folder) / "page.html")


def _evaluated() -> Any:
    kept = _evaluated.__dict__
    if "found" not in kept:
        kept["found"] = evaluate_arrays()
    return kept["found"]


CALLS: dict[str, Callable[[], object]] = {
    "`evaluate` (arrays, alpha given)": evaluate_arrays,
    "`NNPU.fit`": fit_nnpu,
    "one bench run": run_trial,
    "writing a report": write_report,
}


def public_classes() -> Iterator[type]:
    """Yield the classes that users may make, once each."""
    import inspect
    import pkgutil
    from importlib import import_module

    import recoup

    for info in pkgutil.walk_packages(recoup.__path__, "recoup."):
        if any(part.startswith("_") for part in info.name.split(".")):
            continue
        module = import_module(info.name)
        for name, value in sorted(vars(module).items()):
            is_own = inspect.isclass(value) and value.__module__ == info.name
            if is_own and not name.startswith("_") and not issubclass(value, BaseException):
                yield value


def explained(cls: type) -> tuple[int, int]:
    """Count parameters of a class that its own docstring explains, and all of them."""
    import inspect

    try:
        parameters = inspect.signature(cls).parameters.values()
    except (TypeError, ValueError):
        return 0, 0
    skipped = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    names = [one.name for one in parameters if one.kind not in skipped]
    text = inspect.cleandoc(cls.__dict__.get("__doc__") or "")
    # An entry has a type behind a colon, or its description indented below.
    entry = r"^([\w*]+(?:, [\w*]+)*)(?: ?:|$(?=\n {4}\S))"
    entries = re.findall(entry, text, flags=re.MULTILINE)
    known = {name.strip("*") for entry in entries for name in entry.split(", ")}
    return sum(name in known for name in names), len(names)


def explained_by_room() -> dict[str, list[int]]:
    """Return parameters explained and all, then classes explained and all, by kind of class."""
    counts = {kind: [0, 0, 0, 0] for kind in ("learners", "priors", "all public classes")}
    for cls in public_classes():
        had, of = explained(cls)
        if not of:
            continue
        kinds = ["all public classes"]
        room = cls.__module__.split(".")[1]
        if room in counts and getattr(getattr(cls, "tags", None), "key", None):
            kinds.append(room)
        for kind in kinds:
            for place, more in enumerate((had, of, had == of, 1)):
                counts[kind][place] += more
    return counts


def in_checkout(root: Path, *arguments: str) -> Any:
    """Ask a process that imports the recoup of a checkout."""
    ran = subprocess.run(
        [sys.executable, "-m", MODULE, "--inside", *arguments],
        cwd=ROOT,
        env=_environment(root),
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    if ran.returncode:
        last = (ran.stderr.strip().splitlines() or ["no reason given"])[-1]
        print(f"{' '.join(arguments)}: {last}", file=sys.stderr)
        return None
    return json.loads(ran.stdout.splitlines()[-1])


def _environment(root: Path) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(root.resolve() / "src"), "OMP_NUM_THREADS": "1"}


def inside(question: str) -> object:
    """Answer in the process that imports the recoup of a checkout."""
    import recoup

    wanted = os.environ["PYTHONPATH"]
    if Path(recoup.__file__).parents[1] != Path(wanted):
        raise SystemExit(f"recoup comes from {recoup.__file__}, not from {wanted}.")
    return explained_by_room() if question == "parameters" else jumps_of(CALLS[question])


# What users have to wait and make room for.


def import_seconds(root: Path) -> tuple[float, float]:
    """Return what `import recoup` takes in a fresh process: of the clock and of the processor."""
    code = (
        "import time; a, b = time.perf_counter(), time.process_time(); import recoup; "
        "print(time.perf_counter() - a, time.process_time() - b)"
    )
    command = [sys.executable, "-c", code]
    said = [subprocess.check_output(command, env=_environment(root)) for _ in range(IMPORTS)]
    clock, processor = zip(*(map(float, line.split()) for line in said), strict=True)
    return statistics.median(clock), statistics.median(processor)


def wheel_bytes(root: Path) -> int | None:
    """Build a wheel and return its size; None where it cannot be built."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["--no-deps", "--quiet", "--disable-pip-version-check", "--wheel-dir", folder]
        ran = subprocess.run(
            [sys.executable, "-m", "pip", "wheel", *options, str(root)],
            capture_output=True,
            text=True,
        )
        wheels = list(Path(folder).glob("*.whl"))
        if not wheels:
            last = (ran.stderr.strip().splitlines() or ["no reason given"])[-1]
            print(f"pip wheel: {last}", file=sys.stderr)
            return None
        return wheels[0].stat().st_size


def dependency_bytes(root: Path) -> tuple[int, int, list[str]]:
    """Return the size and number of packages that a plain install brings, and those not here."""
    from importlib.metadata import PackageNotFoundError, distribution

    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    waiting = [Requirement(text) for text in project["dependencies"]]
    seen: set[str] = set()
    missing: list[str] = []
    total = 0
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if name in seen or (wanted.marker and not wanted.marker.evaluate({"extra": ""})):
            continue
        seen.add(name)
        try:
            found = distribution(name)
        except PackageNotFoundError:
            missing.append(name)
            continue
        paths = (Path(str(found.locate_file(file))) for file in found.files or ())
        total += sum(path.stat().st_size for path in paths if path.is_file())
        waiting += [Requirement(text) for text in found.requires or ()]
    return total, len(seen), sorted(missing)


# The table.


def rows_about(root: Path) -> Iterator[tuple[str, str]]:
    """Yield what is counted, and the figure."""
    modules = sources(root)
    sizes = [len(module.text.splitlines()) for module in modules]
    total = sum(sizes)
    yield "modules", f"{len(modules)}"
    yield "lines of Python", f"{total:,}"
    yield "lines per module, median", f"{statistics.median(sizes):.0f}"
    yield "lines per module, 90th percentile", f"{np.percentile(sizes, 90):.0f}"
    for name in CALLS:
        found = in_checkout(root, name)
        shown = "{jumps} ({pairs} pairs of {modules} modules)".format_map(found) if found else "-"
        yield f"jumps between modules, {name}", shown
    names = repeated_names(modules)
    private = sum(name.startswith("_") for name in names)
    yield "names defined in two or more modules", f"{len(names)} ({private} private)"
    yield "names of two or more modules", f"{len(repeated_modules(modules))}"
    parameters = in_checkout(root, "parameters") or {}
    for kind, (had, of, complete, classes) in parameters.items():
        yield f"parameters explained, {kind}", f"{had} of {of}; {complete} of {classes} complete"
    documented = sum(docstring_lines(module.tree) for module in modules)
    commented = sum(comment_lines(module.text) for module in modules)
    yield "docstrings, share of lines", f"{documented / total:.1%}"
    yield "comments, share of lines", f"{commented / total:.1%}"
    wheel = wheel_bytes(root)
    yield "wheel", "-" if wheel is None else f"{wheel / 1e6:.2f} MB"
    clock, processor = (1000 * seconds for seconds in import_seconds(root))
    yield "`import recoup`, median", f"{clock:.0f} ms ({processor:.0f} ms of the processor)"
    size, n_packages, missing = dependency_bytes(root)
    lacking = f", without {', '.join(missing)}" if missing else ""
    yield "dependencies, installed", f"{size / 1e6:.0f} MB ({n_packages} packages{lacking})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tree", nargs="?", type=Path, default=ROOT, help="a checkout of recoup")
    parser.add_argument("--names", action="store_true", help="list names that exist twice")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.inside:
        print(json.dumps(inside(asked.inside)))
        return
    print("| | |\n| --- | --- |")
    for what, figure in rows_about(asked.tree):
        print(f"| {what} | {figure} |", flush=True)
    if asked.names:
        modules = sources(asked.tree)
        for name, places in (repeated_names(modules) | repeated_modules(modules)).items():
            print(f"- `{name}`: {', '.join(places)}")


if __name__ == "__main__":
    main()
