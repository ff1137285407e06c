"""Names that users could import before the modules were sorted anew are still found."""

import subprocess
import sys
import warnings
from importlib import import_module

import pytest

from recoup._core.moved import MOVED

NAMES = {
    "recoup": "compare evaluate simulate load_example ScoreTable Comparison Evaluation Estimate",
    "recoup.comparison": "compare Comparison Difference WinRange",
    "recoup.evaluation": "evaluate Evaluation Estimate Band Baseline Feasibility OperatingPoint",
    "recoup.evaluation.results": "Evaluation Estimate Sensitivity",
    "recoup.evaluation.selection": "SelectionSensitivity selection_sensitivity",
    "recoup.data.container": "PUDataset PUTruth",
    "recoup.scores.split": "PUStratifiedKFold",
    "recoup.scores.table": "ScoreTable",
    "recoup.priors": "scar_test ScarTest estimate ElkanNoto SAREM Auto PriorEstimate",
    "recoup.bench": "Plan Store run_plan read_plan merge shipped_plans Outcome Job",
    "recoup.bench.compare": "compare",
    "recoup.bench.config": "Plan read_plan shipped_plans",
    "recoup.bench.grid": "Cell",
    "recoup.bench.jobs": "Job",
    "recoup.bench.pictures": "trade_off_display",
    "recoup.bench.run": "Outcome run_plan",
    "recoup.bench.significance": "friedman",
    "recoup.report": "Report summarize",
    "recoup.report.leaderboard": "write_site",
    "recoup.report.render": "Report",
    "recoup.learners": "NNPU ElkanNoto TunedThreshold WithPrior save load make",
    "recoup.testing": "check_learner check_prior_estimator",
}


@pytest.mark.parametrize("module", NAMES)
def test_old_names_are_found(module):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        found = import_module(module)
    for name in NAMES[module].split():
        assert callable(getattr(found, name)), name


def test_every_moved_module_says_where_it_is_now():
    code = "import sys, recoup; __import__(sys.argv[1])"
    for old, new in list(MOVED.items())[:2]:
        ran = subprocess.run([sys.executable, "-c", code, old], capture_output=True, text=True)
        assert ran.returncode == 0
        assert f"{old} is now called {new}" in ran.stderr
    assert set(MOVED) <= set(NAMES)


def test_moved_names_are_the_same_objects():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        from recoup.comparison import compare
    import recoup

    assert compare is recoup.compare


def test_estimators_that_shared_a_name_with_a_learner_answer_to_it():
    from recoup import learners, priors

    assert priors.ElkanNoto is priors.ElkanNotoPrior
    assert priors.SAREM is priors.SAREMPrior
    assert {"ElkanNoto", "SAREM"} <= set(dir(priors))
    assert not {"ElkanNoto", "SAREM"} & set(priors.__all__)
    shared = {name for name in priors.__all__ if hasattr(learners, name)}
    assert shared == set(), "a name of two things"


def test_a_room_and_its_old_place_answer_with_the_same_function():
    code = "import recoup; assert recoup.priors.scar_test is recoup.selection.scar_test"
    for lines in (code, code.replace("assert ", "import recoup.selection.scar; assert ")):
        subprocess.run([sys.executable, "-c", lines], check=True)
