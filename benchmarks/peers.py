"""recoup beside pulearn, on rows whose true performance is known exactly.

    .venv-peers/bin/python benchmarks/peers.py    (make bench sets this environment up)

Positives are N(2, 1) and negatives N(0, 1) unless a case says otherwise, and the score is the true
posterior. Truth is that of the population. With 400,000 rows chance moves areas under PR curves by
up to about 0.007 (standard deviation 0.0035 over 20 seeds), so a larger gap is bias. Both libraries
are told the true shares. The text shown under a case is the text that is run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pulearn.metrics
from pulearn import __version__ as pulearn_version
from scipy import integrate, stats

import recoup
from recoup import metrics

N = 400_000
AUC = float(stats.norm.cdf(2 / np.sqrt(2)))
REPEATS = 3

Rows = dict[str, Any]


@dataclass
class Case:
    """Rows, and calls of both libraries that should give the truth."""

    name: str
    rows: Rows
    truth: tuple[float, ...]
    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    remark: str = ""


def posterior(x: np.ndarray, pi: float, separation: float) -> np.ndarray:
    odds = pi / (1 - pi) * np.exp(separation * x - separation**2 / 2)
    return odds / (1 + odds)


def single_sample(
    seed: int, n: int, pi: float, label_frequency: float, separation: float = 2.0
) -> Rows:
    """One sample in which each positive is labeled with the same probability."""
    rng = np.random.default_rng(seed)
    y_true = rng.random(n) < pi
    x = rng.normal(size=n) + separation * y_true
    return {
        "s": (y_true & (rng.random(n) < label_frequency)).astype(int),
        "scores": posterior(x, pi, separation),
        "y_true": y_true,
        "pi": pi,
        "alpha": pi * (1 - label_frequency) / (1 - pi * label_frequency),
    }


def case_control(seed: int, pi: float, n_unlabeled: int, n_labeled: int, beta: float = 1.0) -> Rows:
    """Labeled rows drawn apart from the unlabeled ones, which are the population."""
    rng = np.random.default_rng(seed)
    positive = np.concatenate([rng.random(n_labeled) < beta, rng.random(n_unlabeled) < pi])
    x = rng.normal(size=len(positive)) + 2 * positive
    return {
        "s": np.repeat([1, 0], [n_labeled, n_unlabeled]),
        "scores": posterior(x, pi, 2.0),
        "pi": pi,
        "alpha": pi,
        "beta": beta,
    }


# Truth in the population, written without recoup.


def cut_of(threshold: np.ndarray | float, pi: float, separation: float = 2.0) -> Any:
    """Where the posterior reaches a threshold."""
    return separation / 2 + np.log(threshold / (1 - threshold) * (1 - pi) / pi) / separation


def rates_at_half(pi: float) -> tuple[float, float]:
    cut = cut_of(0.5, pi)
    return float(stats.norm.sf(cut - 2)), float(stats.norm.sf(cut))


def true_average_precision(pi: float) -> float:
    def precision_times_density(x: float) -> float:
        tpr, fpr = stats.norm.sf(x - 2), stats.norm.sf(x)
        return pi * tpr / (pi * tpr + (1 - pi) * fpr) * stats.norm.pdf(x - 2)

    return float(integrate.quad(precision_times_density, -8, 10)[0])


def true_pr_area_rounded(pi: float, separation: float) -> float:
    """Area under the PR curve of posteriors rounded to tenths.

    Rows of equal score can only be told apart by chance, so between two points of the curve true
    and false positives grow in step.
    """
    cuts = cut_of(np.arange(0.95, 0, -0.1), pi, separation)
    tpr = np.concatenate([[0], stats.norm.sf(cuts - separation), [1]])
    fpr = np.concatenate([[0], stats.norm.sf(cuts), [1]])
    area = 0.0
    for i in range(len(tpr) - 1):
        rise, run = tpr[i + 1] - tpr[i], fpr[i + 1] - fpr[i]

        def precision(share: float, i: int = i, rise: float = rise, run: float = run) -> float:
            true, false = pi * (tpr[i] + share * rise), (1 - pi) * (fpr[i] + share * run)
            return true / (true + false)

        area += rise * integrate.quad(precision, 1e-12, 1)[0]
    return float(area)


def all_cases() -> list[Case]:
    tpr, fpr = rates_at_half(0.3)
    precision = 0.3 * tpr / (0.3 * tpr + 0.7 * fpr)
    f1 = 2 * precision * tpr / (precision + tpr)
    our_auc = "metrics.roc_auc(s, scores, alpha=alpha)"
    their_auc = "pulearn.metrics.pu_roc_auc_score(s, scores, pi=pi)"
    our_area = "metrics.pr_auc(s, scores, alpha=alpha)"
    their_area = "pulearn.metrics.pu_precision_recall_curve(s, scores, pi=pi).corrected_ap"
    cases = []

    for seed, pi, label_frequency in ((0, 0.5, 0.8), (1, 0.3, 0.5)):
        rows = single_sample(seed, N, pi, label_frequency)
        right = pulearn.metrics.pu_roc_auc_score(rows["s"], rows["scores"], pi=rows["alpha"])
        cases.append(
            Case(
                f"AUC, single sample, pi {pi}, label frequency {label_frequency}",
                rows,
                (AUC,),
                (our_auc,),
                (their_auc,),
                f"Ranking labeled against unlabeled rows needs alpha ({rows['alpha']:.3f}), and "
                f"pulearn documents its argument as pi. Given alpha as pi, it returns {right:.3f}.",
            )
        )
    cases.append(
        Case(
            "precision and F1, case-control, pi 0.3, half as many labeled as unlabeled",
            case_control(2, 0.3, N * 2 // 3, N // 3),
            (precision, f1),
            (
                "metrics.precision(s, scores >= 0.5, alpha=alpha, scheme='case-control')",
                "metrics.f1(s, scores >= 0.5, alpha=alpha, scheme='case-control')",
            ),
            (
                "pulearn.metrics.pu_precision_score(s, scores, pi=pi)",
                "pulearn.metrics.pu_f1_score(s, scores, pi=pi)",
            ),
            "pulearn takes the rate of positive predictions over labeled and unlabeled rows alike.",
        )
    )
    cases.append(
        Case(
            "average precision, then AUL, single sample, pi 0.3, label frequency 0.5",
            single_sample(3, N, 0.3, 0.5),
            (true_average_precision(0.3), 0.3 / 2 + 0.7 * AUC),
            ("metrics.average_precision(s, scores, alpha=alpha)", "metrics.aul(s, scores)"),
            ("pulearn.metrics.pu_average_precision_score(s, scores, pi=pi)",),
            "pulearn's one function is named for the first and documented as the second.",
        )
    )
    perfect = single_sample(4, N, 0.3, 0.5)
    cases.append(
        Case(
            "area under PR, perfect scores of 0 and 1",
            perfect | {"scores": perfect["y_true"].astype(float)},
            (1.0,),
            (our_area,),
            (their_area,),
            "pulearn leaves out the area from recall 0 to the first point.",
        )
    )
    cases.append(
        Case(
            "area under PR, constant scores",
            perfect | {"scores": np.full(N, 0.5)},
            (0.3,),
            (our_area,),
            (their_area,),
            "The same.",
        )
    )
    for seed, separation in ((5, 2.0), (6, 5.0)):
        rows = single_sample(seed, N, 0.3, 0.5, separation)
        cases.append(
            Case(
                f"area under PR, scores rounded to one decimal, positives N({separation:g}, 1)",
                rows | {"scores": rows["scores"].round(1)},
                (true_pr_area_rounded(0.3, separation),),
                (our_area,),
                (their_area,),
                "The same, and the order of tied scores is left to chance.",
            )
        )
    cases.append(
        Case(
            "area of the corrected ROC curve, then AUC, single sample, pi 0.3, label frequency 0.8",
            single_sample(7, N, 0.3, 0.8)
            | {"area": lambda curve: float(np.trapezoid(curve.tpr, curve.fpr))},
            (AUC, AUC),
            ("area(metrics.roc_curve(s, scores, alpha=alpha))", our_auc),
            (
                "area(pulearn.metrics.pu_roc_curve(s, scores, pi=pi))",
                "pulearn.metrics.pu_roc_curve(s, scores, pi=pi).corrected_auc",
            ),
            "pulearn corrects the area but not the curve.",
        )
    )
    noise = single_sample(8, N, 0.3, 0.5)
    cases.append(
        Case(
            "specificity, uniform random scores, threshold 0.5",
            noise | {"scores": np.random.default_rng(9).random(N)},
            (0.5,),
            ("metrics.specificity(s, scores >= 0.5, alpha=alpha)",),
            ("pulearn.metrics.pu_specificity_score(s, scores)",),
            "pulearn asks for calibrated scores, and has no other way to specificity.",
        )
    )
    cases.append(
        Case(
            "recall, then AUC, case-control, alpha 0.3, beta 0.8",
            case_control(10, 0.3, N // 2, N // 2, beta=0.8),
            (tpr, AUC),
            (
                "metrics.recall(s, scores >= 0.5, alpha=alpha, beta=beta, scheme='case-control')",
                "metrics.roc_auc(s, scores, alpha=alpha, beta=beta)",
            ),
            ("pulearn.metrics.pu_recall_score(s, scores)", their_auc),
            "pulearn has no argument for labels that may be wrong.",
        )
    )
    tied = single_sample(11, N, 0.3, 0.5)
    labeled = np.flatnonzero(tied["s"] == 1)
    tied["scores"] = np.full(N, 0.1)
    tied["scores"][labeled] = np.where(np.arange(len(labeled)) < len(labeled) // 2, 0.5, 0.9)
    cases.append(
        Case(
            "recall at threshold 0.5, asked twice, half of the labeled scores exactly 0.5",
            tied,
            (1.0, 1.0),
            (
                "metrics.recall(s, scores >= 0.5, alpha=0.0)",
                "recoup.evaluate(s, scores, alpha=0.0, n_boot=0).at(0.5)['recall'].recovered",
            ),
            (
                "pulearn.metrics.pu_recall_score(s, scores, threshold=0.5)",
                "pulearn.metrics.detect_degenerate_predictor(s, scores, threshold=0.5)"
                ".stats['labeled_recall']",
            ),
            "Truth is 1 for score >= threshold. pulearn uses > in one place and >= in the other.",
        )
    )
    return cases


def values_of(calls: tuple[str, ...], rows: Rows) -> tuple[list[float], bool]:
    """Run calls on the rows of a case; return what they give, and whether they warned."""
    names = {"np": np, "recoup": recoup, "metrics": metrics, "pulearn": pulearn} | rows
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        values = [float(eval(call, names)) for call in calls]
    return values, bool(caught)


def print_case(case: Case) -> None:
    ours, we_warn = values_of(case.ours, case.rows)
    theirs, they_warn = values_of(case.theirs, case.rows)

    def line(name: str, values: Any, ending: str = "") -> None:
        print(f"  {name:<10}{'  '.join(f'{value:6.3f}' for value in values)}{ending}")

    print(f"\n{case.name}")
    line("truth", case.truth)
    line("recoup", ours, "  (warns)" if we_warn else "")
    line("pulearn", theirs, "  (warns)" if they_warn else "")
    for call in (*case.ours, *case.theirs):
        print(f"    {call}")
    if case.remark:
        print(f"    {case.remark}")


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def import_seconds(module: str) -> float:
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE)
    return float(done.stdout)


def print_speed(n: int) -> None:
    rows = single_sample(12, n, 0.3, 0.5)
    s, scores, pi, alpha = (rows[name] for name in ("s", "scores", "pi", "alpha"))
    y_pred = (scores >= 0.5).astype(int)
    theirs = pulearn.metrics
    pairs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "AUC": (
            lambda: metrics.roc_auc(s, scores, alpha=alpha),
            lambda: theirs.pu_roc_auc_score(s, scores, pi=pi),
        ),
        "F1": (
            lambda: metrics.f1(s, y_pred, alpha=alpha),
            lambda: theirs.pu_f1_score(s, y_pred, pi=pi),
        ),
        "PR curve": (
            lambda: metrics.pr_curve(s, scores, alpha=alpha),
            lambda: theirs.pu_precision_recall_curve(s, scores, pi=pi),
        ),
    }
    print(f"\nTime on {n:,} rows, best of {REPEATS} taken in turns")
    print(f"  {'':<10}{'recoup':>10}{'pulearn':>10}{'ratio':>8}")
    metrics.roc_auc([1, 0], [0.6, 0.4], alpha=0.0)  # imports are not part of the time
    for name, pair in pairs.items():
        print(f"timing {name}", file=sys.stderr, flush=True)
        rounds = [[seconds(call) for call in pair] for _ in range(REPEATS)]
        ours, other = np.min(rounds, axis=0)
        print(f"  {name:<10}{ours:>8.3f} s{other:>8.3f} s{ours / other:>8.3f}")
    rounds = [[import_seconds(f"{name}.metrics") for name in ("recoup", "pulearn")] for _ in "123"]
    ours, other = np.min(rounds, axis=0)
    print(f"  {'import':<10}{ours:>8.3f} s{other:>8.3f} s{ours / other:>8.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows to time (1,000,000)")
    options = parser.parse_args()
    print(f"recoup {recoup.__version__} and pulearn {pulearn_version}, {N:,} rows a case")
    for case in all_cases():
        print_case(case)
    print_speed(options.rows)


if __name__ == "__main__":
    main()
