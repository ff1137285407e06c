"""Settings of all tests, and what those share that read real datasets."""

import gc
import os
import shutil
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
import typer.testing
from hypothesis import settings

# A busy machine is no reason for a property to fail.
current = settings.get_profile(settings.get_current_profile_name())
settings.register_profile("patient", parent=current, deadline=None)
settings.load_profile("patient")

# Made once: making all commands takes longer than most of them.
typer.testing._get_command = cache(typer.main.get_command)

# Taken once: tests change the variable.
DATA = os.environ.get("RECOUP_DATA")
NEEDS_DATA = ("needs", "data")
CHROMIUM_FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """What is collected stays to the end: each search for garbage in it takes half a second."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_unconfigure(config):
    """Let go of it at the end: some packages print what is left then."""
    gc.unfreeze()


@pytest.fixture(autouse=True)
def one_fit(monkeypatch):
    """Networks that fail are not fitted again: most tests look at a short fit as it is."""
    again = "recoup.learners._training.loop.mended"
    monkeypatch.setattr(again, lambda learner, X, s, rng, per_row, health: health)


@pytest.fixture(scope="session")
def data_folder():
    """The folder with all datasets, for tests that are marked with data."""
    folder = Path(DATA or "")
    if not DATA or not (folder / "MANIFEST.json").is_file():
        pytest.fail(
            f"RECOUP_DATA must name the folder of the datasets, with their MANIFEST.json, for "
            f"tests marked with data, and only for those. Got {DATA!r}.",
            pytrace=False,
        )
    return folder


@pytest.fixture(scope="session")
def browser():
    """Chromium, started once for all tests of the session."""
    found = [path for name in ("chromium", "chromium-browser") if (path := shutil.which(name))]
    if not found:
        pytest.fail(
            "These tests open pages in a real browser, and no chromium is on the PATH. "
            "Install it (Debian: apt-get install chromium).",
            pytrace=False,
        )
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found[0], args=list(CHROMIUM_FLAGS))
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def spark():
    """Spark on this machine."""
    if shutil.which("java") is None:
        pytest.fail("Spark needs Java 17 or newer on PATH, and there is none: run 'make system'.")
    from pyspark.sql import SparkSession

    session = (
        # Few rows: what it compiles for each query takes longer than the query.
        SparkSession.builder.master("local[1]")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture
def no_tables(monkeypatch, tmp_path):
    """Recoup as if it carried no tables of its own."""
    monkeypatch.setattr("recoup.data.fetch.BUNDLED", tmp_path / "no tables")


# Tests marked with data run where RECOUP_DATA is set; where it is not, they are skipped and named.


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    if item.get_closest_marker("data") is None:
        return
    item.user_properties.append(NEEDS_DATA)
    if not DATA:
        pytest.skip("RECOUP_DATA is unset: it names the folder of the datasets this test needs")


def skipped_for_data(config):
    """Names of skipped tests that need data; None in a worker, which sees only its own."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return None
    reports = reporter.stats.get("skipped", [])
    # User properties reach the main process as lists or tuples, depending on who sends them.
    return [r.nodeid for r in reports if list(NEEDS_DATA) in map(list, r.user_properties)]


def pytest_sessionfinish(session):
    if DATA and skipped_for_data(session.config) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config):
    names = skipped_for_data(config)
    if not names:
        return
    counts = Counter(name.partition("[")[0] for name in names)
    listed = ", ".join(f"{name} ({n})" if n > 1 else name for name, n in counts.items())
    verb = "needs" if len(names) == 1 else "need"
    ending = ", which fails this run: the variable is set" if DATA else ""
    terminalreporter.section("datasets")
    terminalreporter.write_line(
        f"{len(names)} test{'s' * (len(names) > 1)} {verb} the datasets that RECOUP_DATA names and "
        f"{'was' if len(names) == 1 else 'were'} skipped{ending}: {listed}"
    )
