"""The page's formulas against Python's, in a real browser."""

import base64
import copy
import json
import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import recoup
from random_tables import random_position, random_rows, silently
from recoup._core.results import to_plain
from recoup.evaluation import Estimate
from recoup.metrics.bounds import pr_bounds, roc_bounds
from recoup.metrics.curves import monotone_rate, recovered_roc
from recoup.metrics.expression import written
from recoup.metrics.measure import measure
from recoup.metrics.point import ratio
from recoup.metrics.rates import Mixture
from recoup.metrics.spec import METRICS, POINT_METRICS, specs
from recoup.report.page.payload import as_island, pack, page_data
from recoup.report.page.script import (
    formulas_script,
    function,
    in_script,
    is_fixed,
    page_script,
)

CURVES = {
    "roc": {"fpr": "fpr", "tpr": "tpr", "raw_fpr": "rawFpr", "raw_tpr": "rawTpr"},
    "pr": {"recall": "recall", "precision": "precision"},
    "lift_curve": {"positive_rate": "positiveRate", "tpr": "tpr"},
    "calibration": {
        "threshold": "threshold",
        "mean_score": "meanScore",
        "positive_share": "positiveShare",
        "raw_positive_share": "rawPositiveShare",
        "rows": "rows",
    },
}
# Arrays travel as bytes: one by one, their numbers would take most of the time.
HELPERS = """
const data = JSON.parse(document.getElementById("data").textContent);
const models = Object.fromEntries(data.models.map((one) => [one.name, Recoup.read(one)]));
function bytes(values) {
  const raw = new Uint8Array(Float64Array.from(values).buffer);
  let text = "";
  for (let i = 0; i < raw.length; i += 8192) {
    text += String.fromCharCode(...raw.subarray(i, i + 8192));
  }
  return { bytes: btoa(text) };
}
function portable(value) {
  if (ArrayBuffer.isView(value) || (Array.isArray(value) && typeof value[0] === "number")) {
    return bytes(value);
  }
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value).filter(([, item]) => typeof item !== "function");
  return Object.fromEntries(entries.map(([key, item]) => [key, portable(item)]));
}
"""


def simulated(n=4000, seed=0, share=0.3, labeling=0.4, wrong=0.0, separation=2.0):
    """Labels and probabilities; some labels may be wrong."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < share
    s = (positive & (rng.random(n) < labeling)).astype(int)
    s[~positive & (rng.random(n) < wrong)] = 1
    logits = rng.normal(separation * positive - separation / 2)
    return s, 1 / (1 + np.exp(-logits)), rng


class Case:
    """An evaluation on the page, and how Python answers for other alpha, beta and threshold."""

    def __init__(self, s, scores=None, *, alpha=0.2, beta=1.0, n_boot=0, **options):
        self.arguments, self.options = (s, scores), options
        self.prior = {"alpha": alpha, "beta": beta}
        self.evaluation = silently(
            recoup.evaluate, s, scores, alpha=alpha, beta=beta, n_boot=n_boot, **options
        )

    def positions(self):
        """Other alpha, beta and threshold, and other thresholds alone."""
        scores = self.evaluation.table.scores
        span = scores[-1] - scores[0]
        cuts = [
            scores[len(scores) // 2],
            float(np.quantile(scores, 0.9)),
            scores[0],
            scores[-1],
            scores[0] - span,
            np.nextafter(scores[-1], np.inf),
            0.7,
        ]
        pairs = [(0.0, 1.0), (0.05, 0.9), (0.2, 1.0), (0.3, 0.7), (0.62, 0.97), (0.11, 0.12)]
        moved = [
            {"alpha": alpha, "beta": beta, "threshold": float(cut)}
            for (alpha, beta), cut in product(pairs, cuts)
        ][::3]
        own = {"alpha": self.evaluation.alpha, "beta": self.evaluation.beta}
        return [*moved, *(own | {"threshold": float(cut)} for cut in cuts[:2])]

    def at(self, *, alpha, beta, threshold):
        s, scores = self.arguments
        if self.evaluation.table.thinned:
            # The page has these bins; Python would choose others for another threshold.
            s, scores = self.evaluation.table, None
        supposed = {"alpha": alpha, "beta": beta}
        if (alpha, beta) == (self.evaluation.alpha, self.evaluation.beta):
            # Nothing was supposed: what is not known about alpha and beta still counts.
            supposed = self.prior
        elif beta == self.evaluation.beta:
            supposed["beta"] = self.prior["beta"]
        options = self.options | supposed | {"threshold": threshold}
        return silently(recoup.evaluate, s, scores, n_boot=0, **options)


class PropensityCase(Case):
    """Labels with propensities, from which alpha follows; another alpha only moves the mixture."""

    def __init__(self, s, scores, propensity):
        self.arguments, self.options = (s, scores), {"propensity": propensity}
        self.evaluation = silently(
            recoup.evaluate, s, scores, n_boot=100, threshold=0.4, propensity=propensity
        )

    def positions(self):
        alphas = (0.0, 0.1, self.evaluation.alpha, 0.4, 0.8)
        return [
            {"alpha": alpha, "beta": 1.0, "threshold": cut}
            for alpha, cut in product(alphas, (0.1, 0.5, 0.93))
        ]

    def at(self, *, alpha, beta, threshold):
        found = silently(
            recoup.evaluate, *self.arguments, n_boot=0, threshold=threshold, **self.options
        )
        if alpha == found.alpha:
            return found
        # Another alpha contradicts the propensities, so that Python has no intervals for it.
        table, mixture = found.table, found.given.mixture(found.table, alpha)
        roc = recovered_roc(table, mixture)
        metrics = {
            key: Estimate.make(key, found[key].pu, raw, (np.nan, np.nan), value)
            for key, (raw, value) in measure(table, mixture, roc, threshold).items()
        }
        exceeded = bool(alpha > found.feasibility.alpha_upper)
        return replace(
            found,
            alpha=alpha,
            pi=mixture.pi,
            mixture=mixture,
            roc=roc,
            metrics=metrics,
            feasibility=replace(found.feasibility, exceeded=exceeded),
        )


def make_cases():
    s, scores, rng = simulated()
    known = np.where((s == 0) & (scores < 0.4) & (rng.random(len(s)) < 0.3), -1, s)
    weights = rng.exponential(size=len(s)) * (rng.random(len(s)) < 0.9)
    noisy = simulated(wrong=0.05, seed=1)[:2]
    few = simulated(n=60, seed=2)[:2]
    propensity = np.clip(0.2 + 0.6 * scores, 0.05, 1.0)
    biased = (rng.random(len(s)) < 0.3 * scores).astype(int)
    many = simulated(n=1_200_000, seed=3, separation=3.0)[:2]
    logits = np.log(scores / (1 - scores))
    return {
        "single-sample": Case(s, scores, n_boot=60),
        "case-control": Case(s, scores, scheme="case-control", alpha=(0.1, 0.25)),
        "known negatives": Case(known, scores),
        "known negatives, case-control": Case(known, scores, scheme="case-control"),
        "noisy labels": Case(*noisy, beta=0.85, confidence=0.8),
        "weights": Case(s, scores, sample_weight=weights),
        "weights, known negatives": Case(known, logits, sample_weight=weights + 0.1),
        "outside [0, 1]": Case(s, 40 * logits - 7),
        # In single precision 0.7 is a little less than it is in double.
        "single precision": Case(s, np.round(scores, 1).astype(np.float32), threshold=0.1),
        "ties": Case(s, np.round(scores, 1)),
        "two scores": Case(s, (scores > 0.6).astype(float)),
        "one score": Case(s, np.full(len(s), 0.3)),
        "few rows": Case(*few, alpha=0.5),
        "worse than random": Case(s, 1 - scores),
        "perfect": Case(s, np.where(s == 1, 0.9, 0.1)),
        "one label": Case(np.arange(40) == 7, np.linspace(0, 1, 40)),
        "labels not checked": Case(s, scores, beta=None),
        "scores from other folds": Case(known, scores, scored="crossfit"),
        "draws": Case(s, scores, alpha=rng.beta(20, 80, 300), beta=rng.uniform(0.9, 1.0, 300)),
        "estimate": Case(s, scores, alpha="dedpul", beta=None),
        "weights, range": Case(s, scores, sample_weight=weights, alpha=(0.1, 0.3), beta=None),
        "propensities": PropensityCase(biased, scores, propensity),
        "more than a million rows": Case(*many, alpha=0.15),
    }


@pytest.fixture(scope="module")
def cases():
    return make_cases()


@pytest.fixture(scope="module")
def page(cases, open_page_once, tmp_path_factory):
    evaluations = {name: case.evaluation for name, case in cases.items()}
    return opened(
        open_page_once, tmp_path_factory.mktemp("page"), as_island(page_data(evaluations))
    )


def opened(open_page, folder, island):
    path = folder / "page.html"
    path.write_text(
        f'<!doctype html><meta charset="utf-8"><title>t</title>'
        f'<script type="application/json" id="data">{island}</script>'
        f"<script>{page_script()}</script><script>{HELPERS}</script>",
        encoding="utf-8",
    )
    return open_page(path)


def recovered(page, name, positions):
    """What the page recovers, with its arrays as numpy's."""
    found = page.evaluate(
        """([name, positions]) =>
            positions.map((wanted) => portable(Recoup.recover(models[name], wanted)))""",
        [name, positions],
    )
    return as_arrays(found)


def as_arrays(value):
    if isinstance(value, list):
        return [as_arrays(item) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"bytes"}:
        return np.frombuffer(base64.b64decode(value["bytes"]), "<f8")
    return {key: as_arrays(item) for key, item in value.items()}


def assert_same(ours, theirs, about, tolerance=1e-9):
    """Equal, and missing in the same places."""
    ours, theirs = (
        np.array([np.nan if value is None else value for value in np.atleast_1d(side)], float)
        for side in (ours, theirs)
    )
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance, equal_nan=True, err_msg=about)


def check(found, expected, about):
    assert_same(found["pi"], expected.pi, f"{about}: pi")
    assert list(found["metrics"]) == list(expected.metrics)
    for key, item in expected.to_dict()["metrics"].items():
        ours = found["metrics"][key]
        for part in ("pu", "raw", "recovered"):
            assert_same(ours[part], item[part], f"{about}: {key} {part}")
        parts = ["lower", "upper"]
        if key in POINT_METRICS or METRICS[key].from_auc_pu is not None:
            parts += ["possible_lower", "possible_upper"]
        for part in parts:
            # Slopes of weighted tables are differences over small steps, which round.
            assert_same(ours[part], item[part], f"{about}: {key} {part}", 1e-7)
    for curve, columns in CURVES.items():
        theirs = getattr(expected, curve)
        ours = found[curve.removesuffix("_curve")]
        if theirs is None:
            assert ours is None
            continue
        for name, column in columns.items():
            assert_same(ours[column], getattr(theirs, name), f"{about}: {curve} {name}")
    assert_same(found["roc"]["threshold"][1:], expected.roc.threshold[1:], f"{about}: thresholds")
    if expected.calibration is not None:
        assert_same(found["calibration"]["rawEce"], expected.calibration.raw_ece, f"{about}: ece")
    point = expected.at(expected.threshold)
    assert_same(found["queue"], point.queue, f"{about}: queue")
    assert_same(found["positiveRate"], point.positive_rate, f"{about}: positive rate")
    if not (expected.given.by_propensity and expected.prior.alpha != expected.alpha):
        for part in ("count", "lower", "upper", "possible_lower", "possible_upper"):
            theirs = getattr(expected.hidden, part)
            assert_same(found["hidden"][part], theirs, f"{about}: hidden {part}", 1e-6)
    limits = expected.feasibility
    assert found["feasible"] is not limits.exceeded, about
    assert_same(found["alphaUpper"], limits.alpha_upper, f"{about}: alpha_upper")
    assert_same(found["betaLower"], limits.beta_lower, f"{about}: beta_lower")
    cells = found["confusion"]
    assert min(cells.values()) >= 0, about
    assert_same(sum(cells.values()), 1.0, about)
    assert_same(cells["tp"] + cells["fn"], expected.pi, about)
    assert_same(cells["tp"], expected.pi * expected["recall"].recovered, about)
    assert_same(cells["tn"], (1 - expected.pi) * expected["specificity"].recovered, about)


NAMES = [
    "single-sample", "case-control", "known negatives", "known negatives, case-control",
    "noisy labels", "weights", "weights, known negatives", "outside [0, 1]", "single precision",
    "ties", "two scores", "one score", "few rows", "worse than random", "perfect", "one label",
    "labels not checked", "scores from other folds", "draws", "estimate", "weights, range",
    "propensities", "more than a million rows",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_page_recovers_what_python_does(name, cases, page):
    case = cases[name]
    positions = case.positions()
    assert len(positions) >= 10
    for found, position in zip(recovered(page, name, positions), positions, strict=True):
        check(found, case.at(**position), f"{name} at {position}")


def test_one_threshold_alone_gives_the_same_numbers(cases, page):
    for name in ("single-sample", "noisy labels", "propensities"):
        position = cases[name].positions()[4]
        found = page.evaluate(
            "([name, wanted]) => Recoup.at(models[name], wanted)", [name, position]
        )
        metrics = recovered(page, name, [position])[0]["metrics"]
        assert found == {key: item for key, item in metrics.items() if key in POINT_METRICS}


def test_random_tables(page):
    rng = np.random.default_rng(11)
    bases, positions, expected = {}, [], []
    for round_ in range(60):
        s, scores, options = random_rows(rng)
        wanted = random_position(rng, scores)
        options["n_boot"] = 0
        if "propensity" in options:
            # Alpha follows from them.
            wanted = {"threshold": wanted["threshold"]}
            base = silently(recoup.evaluate, s, scores, **options)
        else:
            base = silently(recoup.evaluate, s, scores, alpha=0.01, beta=1.0, **options)
        theirs = silently(recoup.evaluate, s, scores, **wanted, **options)
        bases[str(round_)] = base
        positions.append(wanted)
        expected.append((theirs, f"round {round_}: {wanted} {list(options)}"))
    found = page.evaluate(
        """([data, positions]) => data.models.map(
            (model, i) => portable(Recoup.recover(Recoup.read(model), positions[i])))""",
        [page_data(bases), positions],
    )
    for ours, (theirs, about) in zip(as_arrays(found), expected, strict=True):
        check(ours, theirs, about)


def test_rates_are_made_monotone_as_scipy_does(page):
    rng = np.random.default_rng(5)
    for size in (1, 2, 5, 300, 3000):
        raw = np.append(0.0, np.cumsum(rng.normal(0.01, 0.2, size)) / size)
        raw[rng.integers(size + 1)] -= 1.0
        weights = np.append(1e-9, rng.choice([0.0, 1.0, 7.0, 1e6], size))
        ours = page.evaluate(
            "([raw, weights]) => portable(Recoup.monotoneRate(raw, weights))",
            [raw.tolist(), weights.tolist()],
        )
        assert_same(as_arrays(ours), monotone_rate(raw, weights), f"{size} rates")


@pytest.mark.parametrize(
    "name", ["single-sample", "known negatives", "propensities", "noisy labels"]
)
def test_metrics_over_alpha(name, cases, page):
    sensitivity = cases[name].evaluation.sensitivity(np.linspace(0.0, 0.8, 7))
    ours = page.evaluate(
        "([name, alphas]) => portable(Recoup.sensitivity(models[name], alphas))",
        [name, sensitivity.alphas.tolist()],
    )
    assert list(ours) == list(sensitivity.values)
    for key, values in as_arrays(ours).items():
        assert_same(values, sensitivity.values[key], f"{name}: {key}")


def test_metrics_along_thresholds_and_their_best(cases, page):
    case = cases["noisy labels"]
    position = {"alpha": 0.1, "beta": 0.9, "threshold": 0.5}
    expected = case.at(**position)
    costs = {"fp_cost": 2.0, "fn_cost": 7.5}
    in_page = {"fpCost": 2.0, "fnCost": 7.5}
    for key in set(expected.metrics) & set(POINT_METRICS):
        theirs = expected.metric_curve(key, **(costs if key == "expected_cost" else {}))
        values, best = page.evaluate(
            """([position, key, costs]) => {
                const found = Recoup.recover(models["noisy labels"], position);
                return [portable(found.along(key, costs)), found.best(key, costs)];
            }""",
            [position, key, in_page],
        )
        assert_same(as_arrays(values), theirs.values, key)
        assert_same(best["value"], theirs.best_value, key)
        assert best["threshold"] == theirs.best_threshold
    cost = page.evaluate(
        "(position) => Recoup.cost(Recoup.recover(models['noisy labels'], position), 2, 7.5)",
        position,
    )
    rates = expected["recall"].recovered, 1 - expected["specificity"].recovered
    theirs = POINT_METRICS["expected_cost"].from_rates(*rates, expected.pi, **costs)
    assert_same(cost, 1000 * theirs, "cost")


def called(page, group, key, arguments):
    """Call a translated formula for many arguments."""
    found = page.evaluate(
        "([group, key, all]) => all.map((one) => portable(Formulas[group][key](...one)))",
        [group, key, arguments],
    )
    return as_arrays(found)


@pytest.mark.parametrize("key", POINT_METRICS)
def test_formulas_of_rates_are_translated(page, key):
    rng = np.random.default_rng(7)
    rates = [*rng.uniform(-0.3, 1.3, (200, 3)), *rng.choice([0.0, 0.5, 1.0], (100, 3))]
    spec = METRICS[key]
    usual = called(page, "point", key, [list(map(float, one)) for one in rates])
    with np.errstate(invalid="ignore"):
        assert_same(usual, [float(spec.formula(*one)) for one in rates], key)
        given = {name: float(rng.uniform(0.2, 5)) for name in spec.params}
        in_page = {in_script(name): value for name, value in given.items()}
        found = called(page, "point", key, [[*map(float, one), in_page] for one in rates])
        assert_same(found, [float(spec.formula(*one, **given)) for one in rates], key)


def test_losses_and_formulas_of_auc_are_translated(page):
    rng = np.random.default_rng(8)
    shares = [0.0, 1.0, 1e-20, *rng.random(100)]
    proper = list(specs("proper"))
    direct = [spec for spec in specs("area") if spec.from_auc_pu is not None]
    assert len(proper) == len(direct) == 2
    for spec in proper:
        found = called(page, "proper", spec.key, [[float(p)] for p in shares])
        theirs = np.transpose(spec.formula(np.array(shares)))
        np.testing.assert_allclose(found, theirs, rtol=1e-12, err_msg=spec.key)
    for spec in direct:
        given = [
            (float(auc), float(alpha), float(alpha + 0.3), float(pi))
            for auc, alpha, pi in rng.uniform(0, 0.7, (50, 3))
        ]
        theirs = [
            spec.from_auc_pu(auc, Mixture(alpha, beta, pi, "single-sample"))
            for auc, alpha, beta, pi in given
        ]
        assert_same(called(page, "fromAucPu", spec.key, given), theirs, spec.key)


def test_the_page_computes_every_metric_of_recoup_again():
    assert not [key for key in METRICS if is_fixed(key)]


def test_formulas_in_the_page_follow_a_change_of_python(monkeypatch):
    monkeypatch.setitem(
        METRICS, "recall", replace_spec(METRICS["recall"], lambda tpr, fpr, pi: tpr * pi)
    )
    assert '"recall": (tpr, fpr, pi) => (tpr * pi),' in formulas_script()


def replace_spec(spec, formula):
    """Give a spec another formula; made anew, its key would be taken."""
    changed = copy.copy(spec)
    object.__setattr__(changed, "formula", formula)
    return changed


@pytest.mark.parametrize(
    ("formula", "translated"),
    [
        (lambda tpr, fpr, pi: np.where(tpr > fpr, tpr, -fpr), "((tpr > fpr) ? tpr : (-fpr))"),
        (lambda tpr, fpr, pi: np.minimum(tpr, 0.5) ** -2, "(Math.min(tpr, 0.5) ** (-2))"),
        (lambda tpr, fpr, pi: ratio(tpr, pi), "ratio(tpr, pi, NaN)"),
        (lambda tpr, fpr, pi: np.float64(2) * abs(tpr), "(2.0 * Math.abs(tpr))"),
        (lambda tpr, fpr, pi: 0.5, "0.5"),
        (lambda tpr, fpr, pi: tpr if tpr > fpr else fpr, None),
        (lambda tpr, fpr, pi: float(tpr), None),
        (lambda tpr, fpr, pi: math.sqrt(tpr), None),
        (lambda tpr, fpr, pi: np.arctan2(tpr, fpr), None),
        (lambda tpr, fpr, pi: np.divide(tpr, fpr, where=True), None),
        (lambda tpr, fpr, pi: np.max([tpr, fpr]), None),
        (lambda tpr, fpr, pi: "no number", None),
    ],
)
def test_what_can_be_translated_is_and_the_rest_is_refused(formula, translated):
    found = function("tpr, fpr, pi", written(formula, "tpr", "fpr", "pi"))
    assert found == (translated and f"(tpr, fpr, pi) => {translated}")


def test_curve_with_unlabeled_rows_as_negative(cases, page):
    for name in ("single-sample", "known negatives, case-control", "propensities"):
        ours = as_arrays(page.evaluate("(name) => portable(Recoup.naiveRoc(models[name]))", name))
        theirs = cases[name].evaluation.roc_pu
        assert_same(ours["fpr"], theirs.fpr, name)
        assert_same(ours["tpr"], theirs.tpr, name)


def test_densities_unmix_the_two_histograms(cases, page):
    wanted = {"alpha": 0.2, "beta": 0.95, "threshold": 0.5}
    for name in ("single-sample", "known negatives", "outside [0, 1]", "more than a million rows"):
        table = cases[name].evaluation.table
        densities = recovered(page, name, [wanted])[0]["densities"]
        edges = densities["edges"]
        inside = np.clip(table.centers, edges[0], edges[-1])
        width = edges[1] - edges[0]
        shares = []
        for group in ("labeled", "unlabeled"):
            counts = getattr(table, group)
            # Numpy decides otherwise about scores within rounding of an edge.
            theirs = np.histogram(inside, edges, weights=counts)[0] / counts.sum() / width
            np.testing.assert_allclose(densities[group], theirs, atol=0.003 / width, err_msg=name)
            assert_same(densities[group].sum() * width, 1.0, name)
            shares.append(densities[group])
        mixture = Mixture.of(table, 0.2, 0.95, "single-sample")
        for group, values in zip(
            ("positive", "negative"), mixture.true_rates(*shares), strict=True
        ):
            assert_same(densities[group], np.maximum(values, 0.0), f"{name}: {group}")


def test_sliders_stay_where_numbers_can_be_recovered(cases, page):
    for name, case in cases.items():
        evaluation = case.evaluation
        limits = page.evaluate("(name) => Recoup.limits(models[name])", name)
        assert limits["alpha"][0] == 0 <= evaluation.alpha <= limits["alpha"][1] + 1e-12, name
        assert limits["beta"][0] - 1e-12 <= evaluation.beta <= limits["beta"][1] == 1, name
        assert limits["threshold"][0] <= evaluation.threshold <= limits["threshold"][1], name
        ends = [
            {"alpha": limits["alpha"][1]},
            {"beta": limits["beta"][0]},
            {"threshold": limits["threshold"][0]},
            {"threshold": limits["threshold"][1]},
        ]
        values = page.evaluate(
            "([name, ends]) => ends.map((one) => Recoup.at(models[name], one).recall.recovered)",
            [name, ends],
        )
        assert all(0 <= value <= 1 for value in values), name
        assert page.evaluate("(name) => Recoup.isOwn(models[name], {})", name)
        assert not page.evaluate("(name) => Recoup.isOwn(models[name], {alpha: 1e-3})", name)


def test_page_refuses_what_python_refuses(page):
    for wanted in ({"alpha": 0.5, "beta": 0.5}, {"alpha": -0.1}, {"beta": 1.1}):
        said = page.evaluate(
            """(wanted) => {
                try {
                    Recoup.recover(models["single-sample"], wanted);
                } catch (error) {
                    return error.message;
                }
            }""",
            wanted,
        )
        assert "0 <= alpha < beta <= 1" in said


def test_page_holds_every_number_of_the_evaluation(cases):
    example = recoup.load_example()
    estimated = recoup.evaluate(example.s, example.scores["score_boosting"], alpha="bbe", n_boot=50)
    evaluations = {name: case.evaluation for name, case in cases.items()} | {"bbe": estimated}
    data = json.loads(as_island(page_data(evaluations)))
    for model, (name, evaluation) in zip(data["models"], evaluations.items(), strict=True):
        assert model["name"] == name
        assert model["evaluation"] == evaluation.to_dict()
        assert list(model["specs"]) == list(evaluation.metrics)
        for curve in ("roc", "pr", "lift"):
            whole = evaluation.band(curve, simultaneous=True)
            both = {"whole_lower": whole.lower, "whole_upper": whole.upper}
            shown = model["bands"][curve]
            assert shown == to_plain(vars(evaluation.band(curve)) | both)
        if evaluation.calibration is not None:
            assert model["calibration"] == evaluation.calibration.to_dict()
        assert (model["bounds"] is None) is (evaluation.beta < 1 or evaluation.given.by_propensity)
    curve = estimated.prior_estimate.curve
    shown = data["models"][-1]["prior_curve"]
    assert shown["x_label"] == curve.x_label
    assert shown["x"][0] == curve.x[0]
    assert list(shown["lines"]) == list(curve.lines)
    assert {len(line) for line in shown["lines"].values()} == {len(shown["x"])}


def test_bounds_are_those_of_the_rows(cases):
    s, scores = cases["few rows"].arguments
    evaluation = cases["few rows"].evaluation
    shown = page_data({"few": evaluation})["models"][0]["bounds"]
    roc = roc_bounds(s, scores, alpha=evaluation.alpha)
    pr = pr_bounds(s, scores, alpha=evaluation.alpha)
    for side in ("lower", "upper"):
        for name in ("fpr", "tpr"):
            assert_same(shown["roc"][f"{side}_{name}"], getattr(roc, f"{side}_{name}"), name)
        for name in ("recall", "precision"):
            assert_same(shown["pr"][f"{side}_{name}"], getattr(pr, f"{side}_{name}"), name)
    long = page_data({"long": cases["more than a million rows"].evaluation})["models"][0]["bounds"]
    assert len(long["roc"]["lower_fpr"]) < 300


def test_arrays_come_through_whole(page):
    rng = np.random.default_rng(0)
    arrays = {
        "Uint8Array": np.array([0, 255]),
        "Uint16Array": np.array([0.0, 65535.0]),
        "Uint32Array": np.array([0, 2**32 - 1]),
        "Float32Array": rng.normal(size=100).astype(np.float32),
        "Float64Array": np.append(rng.normal(size=30_000), [-0.0, 5e-324, 1.7e308, 2.0**53]),
    }
    for kind, values in arrays.items():
        packed = pack(values)
        assert packed["type"] == kind
        ours = as_arrays(page.evaluate("(packed) => portable(Recoup.unpack(packed))", packed))
        assert ours.tobytes() == values.astype(float).tobytes()


def test_names_cannot_leave_the_data(cases, open_page, tmp_path):
    names = [
        "</script><script>alert(1)</script>",
        "<!--<script>",
        ']]> & \u2028\u2029 "quoted" \\ back \N{GRINNING FACE}',
        "__proto__",
    ]
    island = as_island(page_data(dict.fromkeys(names, cases["few rows"].evaluation)))
    assert not set("<>&\u2028\u2029") & set(island)
    page = opened(open_page, tmp_path, island)
    assert page.evaluate("data.models.map((model) => model.name)") == names
    assert page.evaluate("document.scripts.length") == 3


def test_many_models_are_thinned_to_fit(cases, open_page, tmp_path):
    evaluation = cases["more than a million rows"].evaluation
    one, many = page_data({"a": evaluation}), page_data({str(i): evaluation for i in range(30)})
    assert len(as_island(one)) < 1_000_000
    assert len(as_island(many)) < 6_000_000
    assert not one["models"][0]["coarser"]
    assert all(model["coarser"] for model in many["models"])
    page = opened(open_page, tmp_path, as_island({"models": many["models"][:1]}))
    # Where the evaluation was made, its own numbers are shown.
    found = recovered(page, "0", [{"alpha": evaluation.alpha + 1e-9}])[0]
    for key, item in evaluation.metrics.items():
        exact = key in POINT_METRICS
        difference = abs(found["metrics"][key]["recovered"] - item.recovered)
        assert difference < (1e-7 if exact else 1e-3), key


def test_same_evaluations_give_the_same_data(cases):
    evaluations = {"a": cases["ties"].evaluation, "b": cases["single-sample"].evaluation}
    assert as_island(page_data(evaluations)) == as_island(page_data(evaluations))
