"""recoup beside pulearn and QuaPy, on rows whose truth is known.

    .venv-peers/bin/python -m tools.speed.peers    (make bench sets this environment up)

Positives are N(2, 1) and negatives N(0, 1) unless a case says otherwise, and the score is the true
posterior. Truth is that of the population. With 400,000 rows chance moves areas under PR curves by
up to about 0.007 (standard deviation 0.0035 over 20 seeds), so a larger gap is bias. Both libraries
are told the true shares. The text shown under a case is the text that is run.

After that come shares of positives to be found, tests of labels at random, quantifiers that take
unlabeled rows as negative, what a wrapped classifier returns, and times.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
import sklearn.metrics
from scipy import integrate, stats
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

import recoup
from recoup import metrics

N = 400_000
AUC = float(stats.norm.cdf(2 / np.sqrt(2)))
REPEATS = 3
SAMPLES = 20
RESAMPLES = 50
QUANTIFIERS = ("CC", "PCC", "ACC", "PACC", "EMQ", "HDy", "DyS", "KDEyML")

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
        return float(pi * tpr / (pi * tpr + (1 - pi) * fpr) * stats.norm.pdf(x - 2))

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
            return float(true / (true + false))

        area += rise * integrate.quad(precision, 1e-12, 1)[0]
    return float(area)


def all_cases() -> list[Case]:
    import pulearn.metrics

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
    import pulearn.metrics

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
    import pulearn.metrics

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


def example_cases() -> list[Case]:
    """The bundled example: mails of which some of the spam is flagged."""
    example = recoup.load_example()
    y_true, scores = example.y_true, example.scores["score_boosting"]
    rows = {
        "s": example.s,
        "scores": scores,
        "y_pred": (scores >= 0.02).astype(int),
        "alpha": example.alpha,
        "pi": float(y_true.mean()),
    }
    truth = sklearn.metrics
    names = {"precision": "precision", "recall": "recall", "F1": "f1"}
    cases = [
        Case(
            "bundled example, AUC",
            rows,
            (float(truth.roc_auc_score(y_true, scores)),),
            ("metrics.roc_auc(s, scores, alpha=alpha)",),
            ("pulearn.metrics.pu_roc_auc_score(s, scores, pi=pi)",),
        )
    ]
    cases += [
        Case(
            f"bundled example, {name} at 0.02",
            rows,
            (float(getattr(truth, f"{key}_score")(y_true, rows["y_pred"])),),
            (f"metrics.{key}(s, y_pred, alpha=alpha)",),
            (f"pulearn.metrics.pu_{key}_score(s, y_pred{'' if key == 'recall' else ', pi=pi'})",),
        )
        for name, key in names.items()
    ]
    return cases


def prior_rows() -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray, float]]:
    """Features, scores, labels and the true share of positives in all rows."""
    example = recoup.load_example()
    columns = np.column_stack(list(example.scores.values()))
    found = {
        "bundled example": (columns, columns[:, 0], example.s, float(example.y_true.mean())),
    }
    for pi, frequency in ((0.3, 0.5), (0.3, 0.1), (0.05, 0.5), (0.9, 0.05)):
        rows = single_sample(20, 20_000, pi, frequency)
        name = f"pi {pi}, label frequency {frequency}"
        found[name] = (logit(rows["scores"]), rows["scores"], rows["s"], pi)
    return found


def logit(scores: np.ndarray) -> np.ndarray:
    return np.asarray(np.log(scores / (1 - scores)).reshape(-1, 1))


def print_priors() -> None:
    """Estimate the share of positives among all rows: recoup's default, and those of pulearn."""
    import pulearn

    print("\nShare of positives among all rows, nobody is told; in brackets time over recoup's")
    heads = ("recoup", "histogram match", "smoothing=0", "SCAR EM")
    print(f"  {'':<30}{'truth':>7}{''.join(f'{head:>17}' for head in heads)}")
    for name, (X, scores, s, pi) in prior_rows().items():
        calls: list[Callable[[], Any]] = [
            partial(recoup.priors.estimate, s, scores),
            partial(pulearn.HistogramMatchPriorEstimator().estimate, X, s),
            partial(pulearn.HistogramMatchPriorEstimator(smoothing=0).estimate, X, s),
            partial(pulearn.ScarEMPriorEstimator().estimate, X, s),
        ]
        ours, *theirs = [call() for call in calls]
        values = [ours.pi.value, *(found.pi for found in theirs)]
        spent = np.min([[seconds(call) for call in calls] for _ in range(REPEATS)], axis=0)
        ratios = spent / spent[0]
        cells = [f"{value:.3f} ({ratio:.2g})" for value, ratio in zip(values, ratios, strict=True)]
        ended = pulearn.ScarEMPriorEstimator().estimate(X, s).metadata["converged"]
        cells[-1] += "" if ended else " *"
        print(f"  {name:<30}{pi:>7.3f}{''.join(f'{cell:>17}' for cell in cells)}")
    print("  * not converged, which its metadata say; there is no warning")
    X, _, s, pi = prior_rows()["pi 0.3, label frequency 0.1"]
    starts = {
        start: pulearn.ScarEMPriorEstimator(init_prior=start).estimate(X, s).pi
        for start in (0.1, 0.5, 0.8)
    }
    shown = ", ".join(f"{value:.3f} from {start}" for start, value in starts.items())
    print(f"  SCAR EM by where it starts (init_prior), truth {pi}: {shown}")


def print_coverage() -> None:
    """Count how often 95% intervals hold the share that the rows really have."""
    import pulearn

    print(f"\n95% intervals that hold the true share, of {SAMPLES} samples of 5,000 rows")
    for pi, frequency in ((0.3, 0.5), (0.3, 0.1)):
        held = {"recoup": 0, "histogram match": 0}
        for seed in range(SAMPLES):
            rows = single_sample(100 + seed, 5000, pi, frequency)
            s, hidden = rows["s"], rows["y_true"] & (rows["s"] == 0)
            interval = recoup.priors.estimate(s, rows["scores"], beta=None).interval
            assert interval is not None
            low, high = interval
            held["recoup"] += low <= hidden.sum() / (s == 0).sum() <= high
            found = pulearn.HistogramMatchPriorEstimator().bootstrap(
                logit(rows["scores"]), s, n_resamples=RESAMPLES, random_state=seed
            )
            theirs = found.confidence_interval
            held["histogram match"] += theirs.lower <= rows["y_true"].mean() <= theirs.upper
        shown = ", ".join(f"{name} {count}" for name, count in held.items())
        print(f"  pi {pi}, label frequency {frequency}: {shown}")


def labels(rng: np.random.Generator, pi: float, favored: str) -> tuple[np.ndarray, Any, float]:
    """Two features, the first of which tells the classes apart; labels; alpha."""
    y_true = rng.random(4000) < pi
    X = rng.normal(size=(4000, 2))
    X[:, 0] += 2 * y_true
    strength = {"nobody": 0 * X[:, 0], "other feature": X[:, 1], "high scores": X[:, 0] - 2}
    strength["low scores"] = -strength["high scores"]
    s = (y_true & (rng.random(4000) < 1 / (1 + np.exp(-3 * strength[favored])))).astype(int)
    return X, s, float(y_true[s == 0].mean())


def print_scar() -> None:
    """Ask both whether labels can be at random, where they are and where they are not."""
    import pulearn

    from recoup.selection import scar_test

    print(f"\nLabels at random doubted, of {SAMPLES} samples of 4,000 rows")
    print(f"  {'whom labels favor':<28}{'recoup, p <= 0.05':>20}{'pulearn flags':>16}{'time':>8}")
    cases = [(0.3, "nobody"), (0.05, "nobody")]
    cases += [(0.3, favored) for favored in ("high scores", "other feature", "low scores")]
    for pi, favored in cases:
        counts, times = [0, 0], [0.0, 0.0]
        for seed in range(SAMPLES):
            X, s, alpha = labels(np.random.default_rng(seed), pi, favored)
            start = time.perf_counter()
            counts[0] += scar_test(X, s, alpha).p_value <= 0.05
            middle = time.perf_counter()
            chances = cross_val_predict(LogisticRegression(), X, s, method="predict_proba")[:, 1]
            found = pulearn.scar_sanity_check(
                s, s_proba=chances, X=X, random_state=0, warn_on_violation=False
            )
            counts[1] += bool(found.warnings)
            times[0] += middle - start
            times[1] += time.perf_counter() - middle
        name, ratio = f"{favored}, pi {pi}", times[1] / times[0]
        print(f"  {name:<28}{counts[0]:>20}{counts[1]:>16}{ratio:>8.2f}")
    print("  time: pulearn's over recoup's")


def print_quantifiers() -> None:
    """QuaPy on the bundled example: with true labels for half the rows, and without any."""
    from quapy.method import aggregative as quantifiers

    example = recoup.load_example()
    X = np.column_stack(list(example.scores.values()))
    train = np.random.default_rng(0).random(len(X)) < 0.5
    test = ~train & (example.s == 0)
    truth = example.y_true[test].mean()
    rows = test | (train & (example.s == 1))
    found = recoup.priors.estimate(example.s[rows], X[rows, 0], beta=None)
    print("\nShare of spam among the unlabeled mails of one half, learned from the other half")
    print(f"  {'truth':<10}{truth:>8.3f}")
    print(f"  {'recoup':<10}{found.alpha:>8.3f}  from the flagged mails of the other half")
    print(f"  {'QuaPy':<10}{'true classes':>14}{'flag = class':>14}")
    for name in QUANTIFIERS:
        shares = []
        for target in (example.y_true, example.s):
            quantifier = getattr(quantifiers, name)(LogisticRegression(max_iter=1000))
            shares.append(quantifier.fit(X[train], target[train]).predict(X[test])[1])
        print(f"  {name:<10}{shares[0]:>14.3f}{shares[1]:>14.3f}")


def print_wrapped() -> None:
    """What pulearn's wrappers of a classifier return, and do to it."""
    import pulearn

    rows = single_sample(30, 5000, 0.3, 0.3)
    X, s = logit(rows["scores"]), rows["s"]
    mine = LogisticRegression()
    found = pulearn.ElkanotoPuClassifier(mine, random_state=0).fit(X, s).predict_proba(X)
    print("\npulearn's wrappers, 5,000 rows, pi 0.3, label frequency 0.3")
    print(f"  ElkanotoPuClassifier.predict_proba: up to {found[:, 1].max():.2f}, documented so")
    print(f"    each row sums to {found.sum(axis=1).mean():.2f}")
    print(f"    the classifier it was given is fitted itself: {hasattr(mine, 'coef_')}")
    weighted = pulearn.WeightedElkanotoPuClassifier(
        LogisticRegression(), labeled=int(s.sum()), unlabeled=int((s == 0).sum()), random_state=0
    ).fit(X, s)
    together, alone = weighted.predict_proba(X)[0, 1], weighted.predict_proba(X[:1])[0, 1]
    print("  WeightedElkanotoPuClassifier.predict_proba of the first row:")
    print(f"    {together:.3f} among all rows, {alone:.3f} alone")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows to time (1,000,000)")
    options = parser.parse_args()
    others = f"pulearn {version('pulearn')}, QuaPy {version('quapy')}"
    print(f"recoup {recoup.__version__}, {others}; {N:,} rows a case")
    for case in [*all_cases(), *example_cases()]:
        print_case(case)
    for section in (print_priors, print_coverage, print_scar, print_quantifiers, print_wrapped):
        print(section.__name__.removeprefix("print_"), file=sys.stderr, flush=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of scikit-learn, about settings of both libraries
            section()
    print_speed(options.rows)


if __name__ == "__main__":
    main()
