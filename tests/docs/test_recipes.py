"""The recipes of CONTRIBUTING.md, followed word by word: its code is taken from the page itself."""

import importlib
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import yaml
from pyarrow import parquet

from commands import EXAMPLE, run
from recoup import data, evaluate, learners, load_example, priors
from recoup._core.registry import registered
from recoup.bench import Plan, Store, read_plan
from recoup.bench.ranking import rank_learners
from recoup.bench.runner import run_work, trials
from recoup.data import catalog
from recoup.exceptions import InvalidInputError

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PACKAGE = "### A learner or an estimator in a package of your own"
RECIPES = {
    "learners": ("### A learner", "nearest_mean", "NearestMean"),
    "priors": ("### A prior estimator", "top_share", "TopShare"),
}


def block(heading, language, number=0):
    """Return a block of code of a section, the first one unless told otherwise."""
    section = re.search(rf"^{re.escape(heading)}\n(.*?)(?=^##|\Z)", PAGE, re.DOTALL | re.MULTILINE)
    return re.findall(rf"```{language}\n(.*?)```", section[1], re.DOTALL)[number]


def test_the_page_names_every_room_and_only_what_there_is():
    section = re.search(r"^## Where things live\n(.*?)^## ", PAGE, re.DOTALL | re.MULTILINE)[1]
    rooms = {path.parent.name for path in (ROOT / "src/recoup").glob("*/__init__.py")}
    assert rooms <= set(re.findall(r"`(\w+)`", section))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = " ".join(re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)).split()
    assert set(re.findall(r"`make ([\w-]+)`", PAGE)) <= set(targets)
    # Of recipes, only what the reader is to write need not be there.
    written = {"tests/learners/test_nearest_mean.py", "tests/priors/test_top_share.py"}
    folders = (ROOT, ROOT / "src/recoup", ROOT / "tests")
    for path in set(re.findall(r"`([\w./]+/[\w./]+)`", PAGE)) - written:
        assert any((folder / path).exists() for folder in folders), path


def forget_modules(*names):
    for name in [*sys.modules]:
        if name.startswith(names):
            del sys.modules[name]
    registered.cache_clear()


@pytest.fixture
def in_the_tree(tmp_path, monkeypatch):
    """Put the files of the recipes where they belong, as if the folders of recoup had them."""
    registered.cache_clear()
    names = []
    for room, (heading, module, _) in RECIPES.items():
        folder = tmp_path / room
        folder.mkdir()
        (folder / f"{module}.py").write_text(block(heading, "python"), encoding="utf-8")
        package = importlib.import_module(f"recoup.{room}")
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
        names.append(f"recoup.{room}.{module}")
    yield
    forget_modules(*names)


@pytest.fixture
def in_a_package(tmp_path, monkeypatch):
    """Write the files into another package, and install it: a folder with its metadata."""
    registered.cache_clear()
    package = tmp_path / "my_methods"
    package.mkdir()
    (package / "__init__.py").touch()
    for heading, module, _ in RECIPES.values():
        (package / f"{module}.py").write_text(block(heading, "python"), encoding="utf-8")
    metadata = tmp_path / "my_methods-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: my-methods\nVersion: 1.0\n")
    groups = tomllib.loads(block(PACKAGE, "toml"))["project"]["entry-points"]
    lines = [
        line
        for group, points in groups.items()
        for line in (f"[{group}]", *(f"{key} = {target}" for key, target in points.items()))
    ]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    forget_modules("my_methods")


def listed(what):
    found = run("list", what, "--json")
    assert found.exit_code == 0, found.stderr
    return json.loads(found.stdout)


@pytest.mark.parametrize("room", RECIPES)
def test_a_file_is_all_that_the_registry_needs(in_the_tree, room):
    _, module, name = RECIPES[room]
    key = module.replace("_", "-")
    cls = registered(room)[key]
    assert (cls.__name__, cls.__module__) == (name, f"recoup.{room}.{module}")
    assert key in [row["key"] for row in listed(room)]
    assert key in run("list", room).stdout


@pytest.mark.parametrize("room", RECIPES)
def test_the_files_are_written_as_recoup_is(room):
    heading, module, _ = RECIPES[room]
    ruff = Path(sys.executable).with_name("ruff")
    named = ["--stdin-filename", f"src/recoup/{room}/{module}.py", "-"]
    for command in (["check", "--no-cache", *named], ["format", "--check", "--no-cache", *named]):
        found = subprocess.run(
            [ruff, *command],
            input=block(heading, "python"),
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert found.returncode == 0, found.stdout + found.stderr


def test_a_package_of_ones_own_is_found_and_keeps_the_promises(in_a_package):
    for room, (_, module, name) in RECIPES.items():
        cls = registered(room)[module.replace("_", "-")]
        assert (cls.__name__, cls.__module__) == (name, f"my_methods.{module}")
    exec(block(PACKAGE, "python"), {"__name__": "recipe"})


def test_the_learner_trains(in_a_package):
    rng = np.random.default_rng(0)
    y = rng.random(600) < 0.4
    s = (y & (rng.random(600) < 0.5)).astype(int)
    X = rng.normal(size=(600, 2)) + 2.5 * y[:, None]
    model = learners.make("nearest-mean", alpha=y[s == 0].mean()).fit(X, s)
    assert np.mean(model.predict(X) == y) > 0.9
    np.testing.assert_allclose(model.negative_, X[~y].mean(axis=0), atol=0.3)


def test_the_estimator_estimates_everywhere(in_a_package):
    example = load_example()
    scores = example.scores["score_boosting"]
    found = priors.estimate(example.s, scores, method="top-share", random_state=0)
    assert found.interval[0] < example.alpha < found.interval[1]
    where = ["--label", "flagged", "--score", "score_boosting", "--method", "top-share", "--json"]
    shown = run("prior", EXAMPLE, *where)
    assert shown.exit_code == 0, shown.stderr
    assert json.loads(shown.stdout)["alpha"] == pytest.approx(found.alpha)
    with pytest.raises(InvalidInputError, match=r"TopShare needs share to be .* Got 2"):
        registered("priors")["top-share"](share=2).fit_scores(example.s, scores)
    evaluation = evaluate(example.s, scores, alpha="top-share", threshold=0.4, n_boot=0)
    assert evaluation.alpha == pytest.approx(found.alpha)


def finished(plan, path):
    """Do the runs of a plan one after the other, in this process."""
    store = Store(path)
    run_work(trials(plan, store), path, here=True)
    rows = store.rows()
    assert {row["status"] for row in rows} == {"done"}, [row["reason"] for row in rows]
    return rows


def test_the_learner_runs_in_a_benchmark(in_a_package, tmp_path):
    plan = Plan(
        datasets=["breast_cancer"],
        label_frequencies=[0.5],
        learners=[{"key": "nearest-mean", "params": {"alpha": "known"}}, "naive"],
        seeds=[1],
    )
    accuracy = {
        row["learner"].split()[0]: row["accuracy"] for row in finished(plan, tmp_path / "runs")
    }
    assert accuracy["nearest-mean"] > max(0.85, accuracy["naive"])


@pytest.fixture
def ponds(tmp_path, monkeypatch):
    """Follow the recipe for a dataset, up to the digest."""
    row = np.arange(340)
    depth = row % 17
    columns = {
        "depth": depth,
        "shade": row % 5 / 5,
        "age": row % 23,
        "target": np.where(depth > 9, "frogs", "none"),
    }
    parquet.write_table(pa.table(columns), tmp_path / "ponds.parquet")
    written = tmp_path / "catalog.toml"
    text = catalog.CATALOG.read_text(encoding="utf-8")
    written.write_text(f"{text}\n{block('### A dataset', 'toml')}", encoding="utf-8")
    monkeypatch.setattr(catalog, "CATALOG", written)
    monkeypatch.setenv("RECOUP_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    catalog.entries.cache_clear()
    yield columns
    catalog.entries.cache_clear()


def test_a_dataset_is_a_file_and_a_table_of_the_catalog(ponds, tmp_path, capsys):
    exec(block("### A dataset", "python"), {"__name__": "recipe"})
    assert capsys.readouterr().out.strip() == catalog.entries()["ponds"].digest
    row = {row["name"]: row for row in listed("datasets")}["ponds"]
    assert (row["rows"], row["features"], row["available"]) == (340, 3, "found")
    found = data.load("ponds")
    assert (found.y_true == (ponds["target"] == "frogs")).all()
    np.testing.assert_array_equal(found.X[:, 0], ponds["depth"])
    plan = Plan(datasets=["ponds"], label_frequencies=[0.5], learners=["naive"], seeds=[1])
    assert finished(plan, tmp_path / "runs")[0]["dataset"] == "ponds"


def test_a_plan_is_a_file(tmp_path, monkeypatch):
    text = block("### A plan", "yaml")
    path = tmp_path / "plans" / "flowers.yaml"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    shown = run("bench", "plan", path, "--json")
    assert shown.exit_code == 0, shown.stderr
    plan = read_plan(path)
    assert len(plan.jobs()) == 2 * 2 * 3
    standing = rank_learners(finished(plan, tmp_path / "runs"), baseline="naive")
    assert standing.n_blocks == 2
    assert len(standing.ranks) == 3
    # Where the plans of recoup are, it has a name.
    monkeypatch.setattr("recoup.bench.plan.files", lambda package: tmp_path)
    about = yaml.safe_load(text)["about"]
    assert listed("plans") == [{"name": "flowers", "runs": 12, "about": about}]
    assert read_plan("flowers") == plan
