"""What the pages say about numbers, held against the code and the measured study."""

from __future__ import annotations

import json
import re
import runpy
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from recoup import evaluate, load_example
from recoup._core.registry import registered
from recoup.audit import plan
from recoup.learners.reported import reported_accuracies

DOCS = Path(__file__).resolve().parents[2] / "docs"
ALPHAS = np.linspace(0.02, 0.5, 9)
NO_ALPHA = ("recall", "lift", "aul")
SAFE_ORDER = (
    "roc_auc",
    "balanced_accuracy",
    "youden",
    "matthews_corrcoef",
    "precision",
    "npv",
    "average_precision",
)
LIMITED = "holds in the paper's setting"
UNSAFE_ORDER = ("accuracy", "f1", "specificity", "expected_cost", "brier", "log_loss", "macro_f1")


@pytest.fixture(scope="module")
def raw_values() -> dict[str, np.ndarray]:
    """Raw metrics of ten models over alpha, of shape (models, alphas)."""
    rng = np.random.default_rng(0)
    positive = rng.random(4000) < 0.4
    s = (positive & (rng.random(4000) < 0.3)).astype(int)
    models = []
    for _ in range(10):
        strength, bias = rng.uniform(0.3, 1.5), rng.normal(scale=0.1)
        slope = rng.uniform(0.5, 2.0)
        scores = 1 / (1 + np.exp(-slope * (rng.normal(strength * positive) + bias)))
        found = [
            evaluate(s, scores, alpha=alpha, threshold=0.5, n_boot=0).metrics for alpha in ALPHAS
        ]
        models.append({key: [one[key].raw for one in found] for key in found[0]})
    return {key: np.array([model[key] for model in models]) for key in models[0]}


@pytest.mark.filterwarnings("ignore::recoup.exceptions.RecoupWarning")
def test_trust_page_sorts_metrics_rightly(raw_values):
    for key in NO_ALPHA:
        np.testing.assert_allclose(raw_values[key], raw_values[key][:, :1] * np.ones(len(ALPHAS)))
    for key in SAFE_ORDER:
        orders = raw_values[key].argsort(axis=0)
        assert (orders == orders[:, :1]).all(), key
    for key in UNSAFE_ORDER:
        orders = raw_values[key].argsort(axis=0)
        assert (orders != orders[:, :1]).any(), key


@pytest.mark.filterwarnings("ignore::recoup.exceptions.RecoupWarning")
def test_readme_quotes_the_audit():
    """The sentence above the code says the numbers that the code gives."""
    example = load_example()
    s, scores = example.s, example.scores["score_boosting"]
    made = plan(s, scores, threshold=0.02, budget=120, n_waves=1)
    found = evaluate(s, scores, audit=made.answers(made.rows, example.y_true[made.rows]))
    known = evaluate(example.y_true, scores, alpha=0.0, threshold=0.02, n_boot=0)
    alone, checked = found["precision"], found.audit["precision"]
    ends = [alone.lower, alone.upper, checked.lower, checked.upper, known["precision"].recovered]
    low, high, least, most, truth = (f"{100 * end:.0f}" for end in ends)
    text = " ".join((DOCS.parent / "README.md").read_text().split())
    assert f"Precision was {low} to {high} from the labels alone" in text
    assert f"120 checked mails make it {least} to {most}" in text
    assert f"The truth is {truth}." in text
    assert found.audit.labels.code == "random"


def test_readme_counts_the_verdicts():
    """The papers that it counts are those whose verdicts are committed."""
    verdicts = {
        path.parent.name: Counter(
            claim["verdict"] for claim in json.loads(path.read_text())["claims"]
        )
        for path in DOCS.glob("papers/*/verdicts.json")
    }
    last = verdicts.pop("pubench")
    four = sum(verdicts.values(), Counter())
    text = " ".join((DOCS.parent / "README.md").read_text().split())
    assert f"{four['holds']} of their {four.total()} claims hold" in text
    assert f"hold, {four[LIMITED]} in the paper's setting alone" in text
    assert f"{last.total()} findings" in text
    assert f"{last['holds']} hold, {last['does not hold']} do not" in text
    assert f"and {last['cannot be told']} wait" in text
    assert last[LIMITED] == 0


def test_trust_page_names_these_metrics():
    text = (DOCS / "trust.md").read_text()
    rows = {
        kind: re.search(rf"^\| {kind} \| ([^|]+) \|", text, re.M)[1].split(", ")
        for kind in ("need no alpha", "order is safe", "order may change")
    }
    lengths = [len(keys) for keys in (NO_ALPHA, SAFE_ORDER, UNSAFE_ORDER)]
    assert [len(names) for names in rows.values()] == lengths


def test_priors_page_quotes_the_study():
    errors_of = runpy.run_path(str(DOCS / "make_pictures.py"))["study_errors"]
    study = (DOCS / "priors-study.md").read_text()
    clean, noisy = (errors_of(study, f"## Real data, {kind} labels") for kind in ("clean", "noisy"))
    assert round(noisy["auto"], 2) == 0.06
    assert round(min(error for key, error in noisy.items() if key != "auto"), 2) == 0.10
    assert round(clean["auto, labels known clean"], 2) == 0.05
    for key in ("dist-curve", "share-net", "pulscar"):
        assert round(clean[key], 2) == 0.05
    assert round(clean["pulsnar"], 2) == 0.10
    by_features = ("km1", "km2", "tice", "pen-l1", "pe", "sar-em")
    assert clean["pulsnar"] < min(clean[key] for key in by_features)
    section = study[study.index("## Real data, all problems") :]
    section = section[: section.index("\n## ", 1)]
    covered = {
        key: float(share)
        for key, share in re.findall(r"^\| `([^`]+)` \|[^|]+\|[^|]+\| ([0-9.]+)% \|", section, re.M)
    }
    assert round(covered.pop("auto")) == 97
    assert round(covered.pop("share-net")) == 93
    assert max(covered.values()) < 66.5
    few, many = (
        float(re.search(rf"^\| +{count} labeled \| ([0-9.]+)", study, re.M)[1])
        for count in ("100", "1,000")
    )
    assert (round(few, 2), round(many, 2)) == (0.07, 0.03)


def test_comparison_page_counts_what_recoup_has():
    text = (DOCS / "comparison.md").read_text()
    learners = [cls.tags for cls in registered("learners").values()]
    references = sum(tags.requires_true_labels for tags in learners)
    assert references == 2
    shown = f"| classifiers for PU data | {len(learners) - references}, and two references"
    assert shown in text
    methods = len(set(registered("priors")) - {"auto", "auto-1"})
    assert f"| estimates the share of positives | {methods} methods, and a combination" in text
    published = set(reported_accuracies()) - {"pn"}
    assert len(published) == 18
    known = {"p3mix" if key.startswith("p3mix") else key for key in published}
    assert known <= set(registered("learners"))
