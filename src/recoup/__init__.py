"""recoup: how good a classifier really is when most labels are missing.

Positive-unlabeled data hold some rows that are known to be positive and many that are unknown.
Taking the unknown ones as negative makes every metric wrong. recoup corrects them, and says how
sure the corrected ones are. Its parts follow the path of the data:

1. :mod:`recoup.data` brings rows in; ``load_example()`` has some at hand. ``simulate`` hides
   labels on purpose, where the truth is known.
2. :mod:`recoup.learners` turn features and labels into scores.
3. :mod:`recoup.scores` counts them: a ``ScoreTable`` comes from arrays, frames or files.
4. :mod:`recoup.priors` estimates how many positives hide among the unlabeled rows.
5. :mod:`recoup.metrics` corrects the observed numbers, one function per metric.
6. ``evaluate`` recovers all metrics and curves of one model, with intervals and bounds.
7. ``calibrate`` turns scores into chances of being positive, ``suspects`` lists hidden positives.
8. :mod:`recoup.audit` plans which rows to check by hand, and what they tell.
9. ``compare`` sets several models side by side, on the same rows, and ``monitor`` the weeks of
   one, while labels are still coming.
10. :mod:`recoup.report` and :mod:`recoup.plot` show the result, and ``recoup`` on the command
    line does all of it with files.

Labels are always called ``s``: 1 labeled positive, 0 unlabeled, -1 known negative. ``alpha`` is
the share of positives among the unlabeled rows, ``beta`` among the labeled ones.

>>> import recoup
>>> example = recoup.load_example()
>>> scores = example.scores["score_boosting"]
>>> recoup.evaluate(example.s, scores, alpha=example.alpha)["roc_auc"]
Estimate(roc_auc: pu 0.816, recovered 0.963 [0.942, 0.983])
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from recoup._core.moved import answer_to_old_names

if TYPE_CHECKING:
    from recoup import (
        audit,
        bench,
        calibration,
        data,
        learners,
        metrics,
        monitoring,
        plot,
        priors,
        report,
        scores,
        selection,
        simulation,
    )
    from recoup._core.alpha import Draws, Interval
    from recoup.calibration.calibrate import calibrate
    from recoup.calibration.results import Calibration
    from recoup.calibration.suspect_list import Suspects
    from recoup.calibration.suspects import suspects
    from recoup.data import load_example
    from recoup.evaluation.compare import compare
    from recoup.evaluation.comparison import Comparison
    from recoup.evaluation.estimates import Estimate
    from recoup.evaluation.evaluate import evaluate
    from recoup.evaluation.evaluate_by import evaluate_by
    from recoup.evaluation.grouped_evaluation import GroupedEvaluation
    from recoup.evaluation.results import Evaluation
    from recoup.exceptions import InvalidInputError, RecoupError, RecoupWarning
    from recoup.monitoring.monitor import monitor
    from recoup.monitoring.results import Monitoring
    from recoup.report import Report
    from recoup.scores import ScoreTable
    from recoup.simulation import simulate

    __version__: str

__all__ = [
    "Calibration",
    "Comparison",
    "Draws",
    "Estimate",
    "Evaluation",
    "GroupedEvaluation",
    "Interval",
    "InvalidInputError",
    "Monitoring",
    "RecoupError",
    "RecoupWarning",
    "Report",
    "ScoreTable",
    "Suspects",
    "__version__",
    "audit",
    "bench",
    "calibrate",
    "calibration",
    "compare",
    "data",
    "evaluate",
    "evaluate_by",
    "learners",
    "load_example",
    "metrics",
    "monitor",
    "monitoring",
    "plot",
    "priors",
    "report",
    "scores",
    "selection",
    "simulate",
    "simulation",
    "suspects",
]

_ROOMS = (
    *("audit", "bench", "calibration", "data", "learners", "metrics", "monitoring", "plot"),
    *("priors", "report", "scores", "selection", "simulation"),
)
_HOMES = {
    "Calibration": "calibration",
    "Comparison": "evaluation",
    "Draws": "_core.alpha",
    "Estimate": "evaluation",
    "Evaluation": "evaluation",
    "GroupedEvaluation": "evaluation",
    "Interval": "_core.alpha",
    "InvalidInputError": "exceptions",
    "Monitoring": "monitoring.results",
    "RecoupError": "exceptions",
    "RecoupWarning": "exceptions",
    "Report": "report",
    "ScoreTable": "scores",
    "Suspects": "calibration",
    "calibrate": "calibration",
    "compare": "evaluation.compare",
    "evaluate": "evaluation.evaluate",
    "evaluate_by": "evaluation.evaluate_by",
    "load_example": "data",
    "monitor": "monitoring.monitor",
    "simulate": "simulation",
    "suspects": "calibration",
}

answer_to_old_names()


def __getattr__(name: str) -> Any:
    """Import a name when it is first asked for, so that ``import recoup`` stays quick."""
    if name == "__version__":
        from recoup._core.version import installed_version

        value: Any = installed_version()
    elif name in _ROOMS:
        value = import_module(f"recoup.{name}")
    elif name in _HOMES:
        value = getattr(import_module(f"recoup.{_HOMES[name]}"), name)
    else:
        raise AttributeError(f"module 'recoup' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List what is here, imported or not."""
    return sorted({*globals(), *__all__})
