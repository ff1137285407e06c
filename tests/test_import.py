"""What importing recoup may and may not pull in; modules are counted, not seconds."""

import subprocess
import sys

import pytest

import recoup

HEAVY = (
    *("duckdb", "jinja2", "matplotlib", "narwhals", "pandas", "polars", "pyarrow"),
    *("pyspark", "scipy", "sklearn", "torch"),
)


def loaded_by(statement):
    """Modules in memory after a statement, in a fresh interpreter."""
    code = f"import sys; {statement}; print(*sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "statement",
    ["import recoup", "import recoup.cli", "import recoup; dir(recoup); recoup.InvalidInputError"],
)
def test_importing_pulls_in_nothing_heavy(statement):
    assert not loaded_by(statement) & set(HEAVY)


def test_importing_the_package_pulls_in_no_numpy():
    assert "numpy" not in loaded_by("import recoup")


def test_evaluating_arrays_pulls_in_neither_engines_nor_pictures():
    code = "import recoup; recoup.evaluate([1, 0] * 50, list(range(100)), alpha=0.1, n_boot=10)"
    found = loaded_by(code)
    assert not found & {"duckdb", "matplotlib", "narwhals", "pandas", "pyarrow", "sklearn"}


def test_a_page_for_a_given_alpha_pulls_in_no_estimator():
    code = (
        "import recoup, recoup.report; found = recoup.evaluate([1, 0] * 50, list(range(100)), "
        "alpha=0.1, n_boot=10); recoup.report.Report(found, 'Page').to_html()"
    )
    found = loaded_by(code)
    assert "jinja2" in found
    assert not found & {"duckdb", "matplotlib", "pandas", "pyarrow", "sklearn", "torch"}
    assert not [name for name in found if name.startswith("recoup.priors")]


def test_every_public_name_arrives():
    for name in recoup.__all__:
        assert getattr(recoup, name) is not None
        assert name in dir(recoup)


def test_functions_are_not_hidden_by_modules_of_the_same_subject():
    import recoup.evaluation

    assert callable(recoup.evaluate)
    assert callable(recoup.compare)
    assert recoup.evaluate is recoup.evaluation.evaluate
    assert recoup.compare is recoup.evaluation.compare


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'evaluat'"):
        recoup.evaluat  # noqa: B018
