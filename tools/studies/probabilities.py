"""How near do chances from labels and alpha come to those that true classes give?

``make study-probabilities`` hides labels by the toss of a coin in the 14 datasets of the study,
at three shares of positives and three label frequencies, and scores rows by cross-fitted
classifiers. Chances are learned from labels and alpha, known and estimated, and held against true
classes of rows never seen, beside isotonic regression on the true classes of all rows. Then
limits are held against known chances, in simulations and on scores of the real datasets. What was
chosen, was chosen on other datasets (``choose``). Finished problems are kept under
``build/priors/probabilities``, so that an interrupted run goes on where it stopped.

    python -m tools.studies.probability_tasks score --kind study training
    python -m tools.studies.probabilities choose
    python -m tools.studies.probabilities run --write docs/probabilities-study.md
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from recoup._core.files import write_file
from tools.studies.prior_tasks import stream
from tools.studies.probability_tasks import STORE, Case, cases

N_BINS = 10
# From a problem and alpha to chances of its new rows.
Method = Callable[[Case, Any], np.ndarray]


def brier(chances: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean((chances - y) ** 2))


def calibration_error(chances: np.ndarray, y: np.ndarray) -> float:
    """Mean distance of mean chance and share of positives in bins of equally many rows."""
    order = np.argsort(chances, kind="stable")
    parts = np.array_split(order, N_BINS)
    gaps = [abs(chances[part].mean() - y[part].mean()) * len(part) for part in parts]
    return float(sum(gaps) / len(y))


def by_recoup(case: Case, alpha: Any) -> np.ndarray:
    from recoup import calibrate

    return calibrate(case.s, case.scores, alpha=alpha).transform(case.new_scores)


def by_isotonic_labels(case: Case, alpha: Any) -> np.ndarray:
    """Isotonic regression of the labels, over the share of the positives that is labeled."""
    return np.minimum(_isotonic(case, case.s) / _frequency(case, alpha), 1.0)


def by_logistic_labels(case: Case, alpha: Any) -> np.ndarray:
    """Logistic regression of the labels on the logit of the score (Platt), likewise."""
    from scipy.special import logit
    from sklearn.linear_model import LogisticRegression

    def column(scores: np.ndarray) -> np.ndarray:
        return np.asarray(logit(np.clip(scores, 1e-6, 1 - 1e-6)))[:, None]

    model = LogisticRegression(C=1e6).fit(column(case.scores), case.s)
    share = model.predict_proba(column(case.new_scores))[:, 1]
    return np.asarray(np.minimum(share / _frequency(case, alpha), 1.0))


def by_raw_labels(case: Case, alpha: Any) -> np.ndarray:
    """Isotonic regression of the labels, as if they were classes."""
    return _isotonic(case, case.s)


def by_true_classes(case: Case, alpha: Any) -> np.ndarray:
    """Isotonic regression of the true classes of all rows: what everything is held against."""
    return _isotonic(case, case.y)


def by_few_classes(case: Case, alpha: Any) -> np.ndarray:
    """Isotonic regression of true classes of as many random rows as have a label."""
    rng = stream("few classes", case.dataset, case.pi, case.frequency)
    chosen = rng.permutation(len(case.s))[: int(case.s.sum())]
    return _isotonic(case, case.y, chosen)


def _isotonic(case: Case, target: np.ndarray, rows: Any = slice(None)) -> np.ndarray:
    from sklearn.isotonic import IsotonicRegression

    model = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
    model.fit(case.scores[rows], target[rows].astype(float))
    return np.asarray(model.predict(case.new_scores))


def _frequency(case: Case, alpha: Any) -> float:
    from recoup.priors.conversions import label_frequency

    n_labeled = int(case.s.sum())
    share = float(getattr(alpha, "alpha", alpha))
    return float(label_frequency(share, n_labeled, len(case.s) - n_labeled))


METHODS: dict[str, Method] = {
    "recoup.calibrate": by_recoup,
    "isotonic on labels / c": by_isotonic_labels,
    "logistic on labels / c": by_logistic_labels,
    "isotonic on labels as classes": by_raw_labels,
    "true classes of as many rows": by_few_classes,
}


def judged(case: Case, alpha: Any) -> dict[str, tuple[float, float]]:
    """Brier score and calibration error of each method, on rows never seen."""
    found = {}
    for name, method in (METHODS | {"true classes": by_true_classes}).items():
        chances = method(case, alpha)
        found[name] = brier(chances, case.new_y), calibration_error(chances, case.new_y)
    return found


def run_case(case: Case) -> dict[str, Any]:
    """Judge all methods with alpha known and estimated; a finished problem is read again."""
    path = STORE / "judged" / f"{case.dataset}-{case.pi}-{case.frequency}.json"
    if path.exists():
        kept: dict[str, Any] = json.loads(path.read_text())
        return kept

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = _estimate(case)
        facts = {
            "dataset": case.dataset,
            "pi": case.pi,
            "frequency": case.frequency,
            "labels": int(case.s.sum()),
            "alpha": case.alpha,
            "estimate": None if found is None else found.alpha,
            "known": judged(case, case.alpha),
            "estimated": None if found is None else judged(case, found),
        }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, json.dumps(facts).encode())
    return facts


def _estimate(case: Case) -> Any:
    """Estimate alpha from scores; None where there are too few labels for it."""
    from recoup.exceptions import InvalidInputError
    from recoup.priors import estimate
    from recoup.scores import ScoreTable

    try:
        return estimate(ScoreTable.from_arrays(case.s, case.scores), labels_are="random")
    except InvalidInputError:
        return None


def run_all() -> list[dict[str, Any]]:
    found = []
    for case in cases("study"):
        found.append(run_case(case))
        print(f"{case.dataset} {case.pi} {case.frequency}", file=sys.stderr, flush=True)
    return found


def choose() -> None:
    """Compare forms of the curve on the datasets of training, where alpha is known."""
    from recoup.calibration import curve

    given = cases("training")
    chosen = curve.N_PIECES, curve.SLOPE, curve.SLOPE_SPREAD
    forms: dict[str, Method] = {
        "true classes": by_true_classes,
        **{name: METHODS[name] for name in METHODS if name != "recoup.calibrate"},
    }
    for pieces, slope, spread in ((16, 1.5, 0.8), (24, 1.5, 0.8), (24, 1.2, 0.4), (24, 1.5, 3.0)):

        def spline(case: Case, alpha: Any, form: Any = (pieces, slope, spread)) -> Any:
            curve.N_PIECES, curve.SLOPE, curve.SLOPE_SPREAD = form
            return by_recoup(case, alpha)

        forms[f"spline of {pieces}, slope {slope} +- {spread}"] = spline
    base = np.array([_pair(by_true_classes, case) for case in given])
    print(f"{len(given)} problems of datasets that are not in the study: Brier, ECE over truth's")
    for name, method in forms.items():
        found = np.array([_pair(method, case) for case in given])
        geometric = np.exp(np.mean(np.log(found / base), axis=0))
        print(f"{name:32} {geometric[0]:.3f} {geometric[1]:.3f}")
    curve.N_PIECES, curve.SLOPE, curve.SLOPE_SPREAD = chosen


def _pair(method: Method, case: Case) -> tuple[float, float]:
    chances = method(case, case.alpha)
    return brier(chances, case.new_y), calibration_error(chances, case.new_y)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stage", choices=["choose", "run"])
    parser.add_argument("--write", type=Path, help="where to write the page")
    parser.add_argument("--simulations", type=int, default=20, help="for each cell of coverage")
    chosen = parser.parse_args()
    if chosen.stage == "choose":
        choose()
        return
    from tools.studies.probabilities_page import page
    from tools.studies.probability_limits import coverage

    found = run_all()
    text = page(found, coverage(chosen.simulations))
    if chosen.write is None:
        print(text)
    else:
        write_file(chosen.write, text.encode())


if __name__ == "__main__":
    main()
