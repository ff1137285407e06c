from itertools import combinations

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.datasets import load_breast_cancer

from papers import Run, reproduce
from papers.aul import experiment as paper
from papers.aul import published
from papers.aul.claims import claims
from papers.aul.measured import Found, times_aul
from papers.aul.page import summarize
from recoup.exceptions import InvalidInputError
from recoup.metrics import aul

AT_HAND = [name for name in published.PUBLISHED if name not in ("airfoil", "waveform")]


def test_table_1_has_the_printed_means():
    means = {"km1": 0.0676, "km2": 0.0753, "dist-curve": 0.0616, "aul": 0.0096}
    for method, mean in means.items():
        assert published.published_error(method) == pytest.approx(mean, abs=5e-5)
    by_frequency = [published.published_error("aul", at=at) for at in range(3)]
    assert by_frequency == pytest.approx([0.0140, 0.0090, 0.0058], abs=5e-5)
    for said in published.PUBLISHED.values():
        assert said.lift == pytest.approx(said.pi / 2 + (1 - said.pi) * said.auc, abs=1.5e-3)


def test_the_best_estimator_of_a_dataset_is_read_from_table_1():
    best = {name: published.best_published(name) for name in ("abalone", "anuran", "spambase")}
    assert best == {"abalone": "km2", "anuran": "km1", "spambase": "dist-curve"}


def test_example_is_exact():
    rows = paper.EXPERIMENT.measure(Run("example", {"part": "example"}))
    found = {row["quantity"]: row["value"] for row in rows}
    expected = {"AUC": 0.74, "AUC_pu": 49 / 75, "AUL": 0.62, "AUL_pu": 0.615, "labelings": 252}
    expected |= {"mean": 0.62, "variance": 0.00791388889, "variance, Theorem 1": 0.00791388889}
    assert found == pytest.approx(expected, abs=1e-11)


def test_variance_of_theorem_1_is_that_over_all_labelings_with_ties():
    rng = np.random.default_rng(0)
    y = np.repeat([1, 0], [7, 12])
    scores = rng.integers(6, size=19).astype(float)
    found = []
    for chosen in combinations(range(7), 3):
        s = np.zeros(19, int)
        s[list(chosen)] = 1
        found.append(aul(s, scores))
    variance, error = paper.expected_aul_error(y, scores, 3)
    assert variance == pytest.approx(np.var(found), rel=1e-12)
    assert error == pytest.approx(np.sqrt(2 * np.var(found) / np.pi), rel=1e-12)


def test_labels_are_an_exact_share_of_the_positives():
    y = np.random.default_rng(0).integers(2, size=500)
    drawn = [paper.draw_labels(y, 0.2, np.random.default_rng(seed)) for seed in (0, 0, 1)]
    assert all(s.sum() == round(0.2 * y.sum()) for s in drawn)
    assert all((y[s == 1] == 1).all() for s in drawn)
    assert (drawn[0] == drawn[1]).all()
    assert (drawn[0] != drawn[2]).any()


def test_noise_brings_auc_to_the_wanted_value():
    X, y = load_breast_cancer(return_X_y=True)
    scores = paper.blurred_scores(X, y, 0.8, np.random.default_rng(0), 5)
    assert paper.true_auc(y, scores) == pytest.approx(0.8, abs=0.03)


def row(part, dataset, at, method, quantity, value, repetition=0):
    frequency, n_rows = (0.0, at) if part == "cost" else (at, 1000)
    return {
        "part": part,
        "dataset": dataset,
        "label_frequency": frequency,
        "n_rows": n_rows,
        "repetition": repetition,
        "method": method,
        "quantity": quantity,
        "value": value,
    }


def as_published(names=AT_HAND, pi=0.01):
    """Rows of an experiment that comes out as the paper says.

    With few positives the scales of AUL and AUC are alike; pi=None takes those of the datasets.
    """
    rows = paper.EXPERIMENT.measure(Run("example", {"part": "example"}))
    tail = {"exceeded": 0.01, "printed": 0.02, "printed, any": 0.03, "chebyshev": 0.2}
    tail |= {"epsilon": 0.1, "draws": 1000.0, "chebyshev, any": 0.3}
    rows += [row("tail", "normal", 0.1, "epsilon 0.1", *fact) for fact in tail.items()]
    # Errors of mean 0 and variance 1 whose mean absolute value is nearly a normal one's.
    normal = norm.ppf((np.arange(200) + 0.5) / 200)
    normal /= np.sqrt(np.mean(normal**2))
    for name in names:
        said = published.PUBLISHED[name]
        for at, frequency in enumerate(published.FREQUENCIES):
            cell = ("table", name, frequency)
            deviation = said.errors["aul"][at] * np.sqrt(np.pi / 2)
            facts = {"AUC": said.auc, "AUL": said.lift, "pi": pi or said.pi}
            facts |= {"variance": deviation**2, "expected": said.errors["aul"][at]}
            rows += [row(*cell, "truth", *fact) for fact in facts.items()]
            rows += [row(*cell, "aul", "error", value) for value in deviation * normal]
            for method in ("km1", "km2", "dist-curve", "auto", "known"):
                size = said.errors.get(method, said.errors["dist-curve"])[at]
                for sign in (-0.9, 1.1) * 3:
                    rows.append(row(*cell, method, "error", sign * size))
                    rows.append(row(*cell, method, "error by curve", sign * size / 2))
                    rows.append(row(*cell, method, "alpha error", sign * size / 4))
        cell = ("training", name, 0.1)
        rows.append(row(*cell, "pu-auc", "alpha error", 0.1))
        best = 0.88 if name == "concrete" else 0.81
        for method, auc in (("pu-auc", 0.8), ("pu-auc, alpha known", 0.8), ("pu-aul", best)):
            rows += [row(*cell, method, "AUC", auc), row(*cell, method, "seconds", 1.0)]
    seconds = {1000: {"km1": 4, "km2": 4, "dist-curve": 2}, 8000: {"km1": 2000, "km2": 1900}}
    seconds[8000] |= {"dist-curve": 16, "aul": 0.01}
    for n, methods in seconds.items():
        rows += [row("cost", "mushroom", n, m, "seconds", s) for m, s in methods.items()]
    return rows


def verdicts(rows):
    return {claim.text: claim.verdict for claim in claims(rows)}


def test_figures_as_published_all_hold():
    found = verdicts(as_published())
    assert len(found) == 15
    assert set(found.values()) == {"holds"}


def test_what_hangs_on_the_scale_holds_in_the_papers_setting():
    found = {
        claim.text: claim
        for claim in claims(as_published(pi=None))
        if claim.verdict == "holds in the paper's setting"
    }
    assert [text[:8] for text in found] == ["In every"]
    assert all(claim.cause == "AUL has a shorter scale than AUC" for claim in found.values())


def test_errors_on_one_scale_are_divided_by_the_share_of_negatives():
    found = Found(as_published(["concrete"], pi=0.75))
    own, one = (times_aul(found, "known", one_scale=scale) for scale in (False, True))
    assert own.value == pytest.approx(4 * one.value)


def test_the_printed_tail_bound_is_broken_and_chebyshevs_is_not():
    rows = paper.EXPERIMENT.measure(Run("tail", {"part": "tail", "draws": 2000}))
    tails = Found(rows).tails()
    assert [tail["draws"] for tail in tails] == [252] * 4 + [2000] * 5
    for tail in tails:
        assert tail["chebyshev"] == pytest.approx(tail["printed"] / tail["epsilon"])
        assert tail["exceeded"] <= tail["chebyshev"] <= tail["chebyshev, any"]
    assert tails[5]["exceeded"] > 5 * tails[5]["printed"]
    # 1/4 in place of the variance, Eq. after Theorem 1.
    any_classifier = (1 - 0.1) / (4 * 200 * 0.02) * 2000 / 1999
    assert tails[5]["printed, any"] == pytest.approx(any_classifier)
    example = published.example()
    lifts = []
    for chosen in combinations(np.flatnonzero(example[1]), 5):
        s = np.zeros(20, int)
        s[list(chosen)] = 1
        lifts.append(aul(s, example[0]))
    off = np.abs(np.array(lifts) - 0.62) >= 0.1 - 1e-12
    assert tails[1]["exceeded"] == pytest.approx(off.mean())


@pytest.mark.parametrize(
    ("words", "changes", "factor", "shift"),
    [
        ("over all ways to label", {"quantity": "AUL_pu"}, 1.0, 1e-5),
        ("over all ways to label", {"quantity": "mean"}, 1.0, 1e-5),
        ("Theorem 1", {"method": "aul", "quantity": "error"}, 1.2, 0.0),
        ("Theorem 1", {"method": "aul", "quantity": "error"}, 1.0, 0.002),
        ("frequency 0.1", {"method": "aul", "label_frequency": 0.1}, 0.75, 0.0),
        ("frequency 0.2", {"method": "aul", "label_frequency": 0.2}, 1.25, 0.0),
        ("frequency 0.4", {"method": "aul", "label_frequency": 0.4}, 1.25, 0.0),
        ("In every setting", {"method": "km2", "dataset": "landsat"}, 0.5, 0.0),
        ("is a sixth", {"method": "dist-curve", "quantity": "error"}, 0.5, 0.0),
        ("mean closest to 0", {"method": "km1", "dataset": "landsat"}, 0.1, 0.0),
        ("the narrower", {"method": "aul", "label_frequency": 0.4}, 4.0, 0.0),
        ("Var / epsilon", {"part": "tail", "quantity": "exceeded"}, 1.0, 0.02),
        ("kernel estimators", {"part": "cost", "n_rows": 8000}, 0.1, 0.0),
        ("kernel estimators", {"part": "cost", "method": "dist-curve"}, 200.0, 0.0),
        ("next to nothing", {"part": "cost", "method": "aul"}, 1.0, 1.0),
        ("on most datasets", {"method": "pu-aul", "quantity": "AUC"}, 0.95, 0.0),
        ("2.5% of AUC", {"method": "pu-aul", "quantity": "AUC"}, 1.05, 0.0),
        ("On Concrete", {"method": "pu-aul", "dataset": "concrete"}, 0.96, 0.0),
    ],
)
def test_every_verdict_turns_with_its_figures(words, changes, factor, shift):
    rows = [
        line | {"value": line["value"] * factor + shift}
        if all(line[key] == value for key, value in changes.items())
        else line
        for line in as_published()
    ]
    (verdict,) = (verdict for text, verdict in verdicts(rows).items() if words in text)
    assert verdict == "does not hold"


def trained(gains, name="concrete"):
    """Rows with these gains in place of one."""
    cell = ("training", name, 0.1)
    rows = [
        line
        for line in as_published()
        if not (line["part"] == "training" and line["dataset"] == name)
    ]
    for repetition, gain in enumerate(gains):
        for method, auc in (("pu-auc", 0.8), ("pu-auc, alpha known", 0.8), ("pu-aul", None)):
            value = auc or 0.8 * (1 + gain)
            rows.append(row(*cell, method, "AUC", value, repetition))
            rows.append(row(*cell, method, "seconds", 1.0, repetition))
        rows.append(row(*cell, "pu-auc", "alpha error", 0.1, repetition))
    return rows


def test_a_noisy_gain_cannot_be_told_from_the_published_one():
    (claim,) = (c for c in claims(trained([-0.1, 0.2] * 5)) if "On Concrete" in c.text)
    assert (claim.verdict, claim.cause) == ("cannot be told", "too few repetitions to tell")
    assert claim.effect.lower < 0 < 10 < claim.effect.upper
    assert claim.rule.endswith("(one before it, within a factor of two: holds).")


def test_a_gain_whose_interval_meets_the_band_cannot_be_told():
    gains = [0.06 + 0.03 * (-1) ** at for at in range(10)]
    (claim,) = (c for c in claims(trained(gains)) if "On Concrete" in c.text)
    assert claim.effect.upper < 10
    assert claim.effect.upper > 8
    assert claim.verdict == "cannot be told"


def test_a_gain_apart_from_the_band_does_not_hold():
    gains = [0.05 + 0.001 * (-1) ** at for at in range(10)]
    (claim,) = (c for c in claims(trained(gains)) if "On Concrete" in c.text)
    assert (claim.verdict, claim.cause) == ("does not hold", "the paper does not say how")


def test_a_gain_that_is_noise_is_no_gain():
    rows = trained([-0.1, 0.11] * 5)
    for name in AT_HAND:
        if name not in ("concrete", "abalone", "anuran", "landsat"):
            drawn = trained([-0.1, 0.11] * 5, name)
            rows = [r for r in rows if (r["part"], r["dataset"]) != ("training", name)]
            rows += [r for r in drawn if (r["part"], r["dataset"]) == ("training", name)]
    (claim,) = (c for c in claims(rows) if "on most datasets" in c.text)
    assert claim.ours == "better on 3 of 7, worse on 0, undecided on 4"
    assert claim.verdict == "does not hold"
    assert "says: holds, 7 of 7" in claim.rule


def test_page_names_what_was_left_out_and_what_cannot_be_tested():
    rows = [line for line in as_published(["concrete", "landsat"]) if line["part"] != "cost"]
    page = summarize(rows, "quick")
    assert "Airfoil" in page.intro
    assert "Landsat" not in page.intro
    absent = [claim for claim in page.claims if claim.verdict == "cannot be told"]
    assert [claim.reason for claim in absent] == ["Mushroom is not at hand."] * 2
    assert "Seconds on Mushroom" not in dict(page.tables)


def test_single_settings_are_not_judged_by_few_repetitions():
    rows = as_published()
    first = next(line for line in rows if line["method"] == "km1" and line["quantity"] == "error")
    rows.remove(first)
    rows.remove(first)
    found = {text: verdict for text, verdict in verdicts(rows).items() if verdict != "holds"}
    assert len(found) == 2
    assert set(found.values()) == {"cannot be told"}


def test_errors_are_compared_on_the_datasets_at_hand():
    (claim,) = (
        claim for claim in claims(as_published(["concrete"])) if "frequency 0.1" in claim.text
    )
    assert claim.published == "0.0140 (0.0220 on the datasets at hand)"
    assert claim.verdict == "holds"


def test_datasets_that_are_not_at_hand_are_left_out(tmp_path, monkeypatch, no_tables):
    monkeypatch.setenv("RECOUP_DATA", str(tmp_path))
    monkeypatch.setenv("RECOUP_CACHE", str(tmp_path / "cache"))
    with pytest.raises(InvalidInputError, match=r"reproduce aul needs .*abalone.*RECOUP_DATA"):
        paper.EXPERIMENT.runs("quick")
    (tmp_path / "concrete.parquet").touch()
    names = {run.name for run in paper.EXPERIMENT.runs("quick")}
    tables = {f"table-concrete-{frequency}" for frequency in published.FREQUENCIES}
    assert names == {"example", "tail", "training-concrete", *tables}


def test_full_size_has_the_published_repetitions(tmp_path, monkeypatch):
    for name in AT_HAND:
        (tmp_path / f"{name}.parquet").touch()
    monkeypatch.setenv("RECOUP_DATA", str(tmp_path))
    runs = paper.EXPERIMENT.runs("full")
    tables = [run.settings for run in runs if run.settings["part"] == "table"]
    assert {settings["dataset"] for settings in tables} == set(AT_HAND)
    assert {(settings["repetitions"], settings["scored"]) for settings in tables} == {(50, 50)}
    for settings in tables:
        assert settings["n_rows"] == published.PUBLISHED[settings["dataset"]].n_rows


def test_tiny_runs_from_data_to_page(tmp_path):
    found = reproduce("aul", "tiny", jobs=1, out=tmp_path)
    text = found.path.read_text()
    assert len(found.page.claims) == 15
    assert "## The tail bound of section 3" in text
    assert all((tmp_path / f"figure_{number}.png").is_file() for number in (1, 2, 3))
    assert "Concrete" in text
    errors = {
        (line["label_frequency"], line["method"]): abs(line["value"])
        for line in found.rows
        if line["part"] == "table" and line["quantity"] == "error" and line["repetition"] == 0
    }
    assert len(errors) == 3 * len(published.METHODS)
    assert max(errors.values()) < 0.5
    alphas = [
        line["value"]
        for line in found.rows
        if line["quantity"] == "alpha error" and line["method"] == "known"
    ]
    assert alphas == [0.0] * 60
    ranked = [line["value"] for line in found.rows if line["quantity"] == "AUC"][-3:]
    assert min(ranked) > 0.6


def test_the_same_run_gives_the_same_rows():
    runs = {run.name: run for run in paper.EXPERIMENT.runs("tiny")}
    settings = runs["table-concrete-0.2"].settings | {"repetitions": 3, "kernel": 0}
    first = paper.EXPERIMENT.measure(Run("table", settings))
    paper._dataset.cache_clear()
    paper._evaluated.cache_clear()
    assert paper.EXPERIMENT.measure(Run("table", settings)) == first
