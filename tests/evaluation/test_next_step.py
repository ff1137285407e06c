"""What to do next: the first thing that there is a reason for."""

import json
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from typer.testing import CliRunner

import recoup
from recoup.cli import app
from recoup.evaluation import NextStep, evaluate
from recoup.evaluation.next_step import PLANNED, StepCode
from recoup.report import Report


def rows(n=20_000, label_frequency=0.4, shift=1.5, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    s = (y & (rng.random(n) < label_frequency)).astype(int)
    return s, 1 / (1 + np.exp(-rng.normal(shift * (2 * y - 1)))), y


def step(s, scores, **options):
    given = {"alpha": 0.2, "beta": 1.0, "labels_are": "random", "n_boot": 100} | options
    return evaluate(s, scores, **given).next_step


CASES = {
    "turn-scores": lambda s, p, y: step(s, 1 - p),
    "score-new-rows": lambda s, p, y: step(s, np.where(s == 1, 0.9 + p / 10, p / 2), alpha=0.05),
    "estimate-alpha": lambda s, p, y: step(s, p, alpha=0.6),
    "label-more": lambda s, p, y: step(s[s.cumsum() < 15], p[s.cumsum() < 15]),
    "improve-model": lambda s, p, y: step(s, np.random.default_rng(1).random(len(s)), alpha=0.0),
    "check-rows": lambda s, p, y: step(s, p, labels_are="unknown"),
    "give-propensity": lambda s, p, y: step(
        s, p, labels_are="biased", sample_weight=np.linspace(1, 2, len(s))
    ),
    "say-labels": lambda s, p, y: step(
        s, p, labels_are="unknown", sample_weight=np.linspace(1, 2, len(s))
    ),
    "check-labels": lambda s, p, y: step(s, p, beta=None),
    "lower-threshold": lambda s, p, y: step(s, p, threshold=1.5),
    "use-threshold": lambda s, p, y: step(s, p),
}


@pytest.mark.filterwarnings("ignore::recoup.exceptions.RecoupWarning")
@pytest.mark.parametrize("code", CASES)
def test_each_step_is_said_where_it_is_due(code):
    found = CASES[code](*rows())
    assert found.code == code, found
    assert found.text.endswith(".")
    assert "\n" not in found.text


def test_every_code_has_a_case():
    assert {*CASES, "check-more-rows"} == set(get_args(StepCode))


def test_biased_labels_are_checked_before_anything_is_used():
    s, scores, _ = rows()
    found = step(s, scores, labels_are="biased")
    assert found.code == "check-rows"
    assert "favor some positives" in found.text
    assert found.command == (
        'recoup.audit.plan(s, scores, threshold=0.5, budget=120).to_csv("to_check.csv")'
    )


def test_numbers_of_the_step_are_those_of_the_evaluation():
    s, scores, y = rows()
    alpha = y[s == 0].mean()
    found = evaluate(s, scores, alpha=alpha, beta=1.0, labels_are="random")
    precision = found["precision"]
    text = found.next_step.text
    assert f"flags {100 * precision.recovered:.0f}% (" in text
    assert f"{100 * precision.lower:.0f}% to {100 * precision.upper:.0f}%" in text
    few = evaluate(s[:1500], scores[:1500], alpha=recoup.Interval(0.05, 0.5), beta=1.0)
    random = replace(few, given=replace(few.given, labels_are="random"))
    assert random.next_step.code in PLANNED
    assert "is known as" in random.next_step.text


def test_after_an_audit_its_answers_decide():
    s, scores, y = rows(4000)
    plan = recoup.audit.plan(s, scores, threshold=0.5, budget=150, random_state=0)
    answers = y[plan.rows].astype(int)
    audited = evaluate(s, scores, audit=plan.answers(plan.rows, answers), beta=1.0)
    assert audited.next_step.code in ("use-threshold", "check-more-rows")
    few = recoup.audit.plan(s, scores, threshold=0.5, budget=12, random_state=0)
    wide = evaluate(s, scores, audit=few.answers(few.rows, y[few.rows].astype(int)), beta=1.0)
    assert wide.next_step.code == "check-more-rows"
    assert "by the rows checked so far" in wide.next_step.text


def test_it_is_a_result_like_others():
    found = NextStep("say-labels", "Say <b>how</b>.", "recoup")
    assert str(found) == "Say <b>how</b>."
    assert found.to_dict() == {"code": "say-labels", "text": "Say <b>how</b>.", "command": "recoup"}
    assert list(found.to_frame().columns) == ["code", "text", "command"]
    assert "<b>" not in found._repr_html_()


def test_the_report_says_it_as_page_markdown_and_data():
    s, scores, _ = rows(3000)
    evaluation = evaluate(s, scores, alpha=0.2)
    report = Report(evaluation, "Fraud", plan_command="recoup audit plan rows.csv")
    said = evaluation.next_step
    assert said.code == "check-rows"
    (model,) = report.to_dict()["models"]
    assert model["summary"]["next_step"] == said.to_dict() | {
        "command": "recoup audit plan rows.csv"
    }
    assert evaluation.to_dict()["next_step"] == said.to_dict()
    assert "**Next step:** Check 120 unlabeled rows by hand" in report.to_markdown()
    page = report.to_html()
    assert '<p class="next-step" id="next-step" data-code="check-rows">' in page
    assert "<code>recoup audit plan rows.csv</code>" in page


def test_the_command_line_says_it_with_a_command_for_the_shell(tmp_path):
    s, scores, _ = rows(3000)
    path = tmp_path / "rows.csv"
    path.write_text("label,p\n" + "\n".join(f"{a},{b:.5f}" for a, b in zip(s, scores, strict=True)))
    words = ["evaluate", str(path), "--score", "p", "--label", "label", "--alpha", "0.2"]
    shown = CliRunner().invoke(app, words)
    assert shown.exit_code == 0
    assert "Next step: Check 120 unlabeled rows by hand" in shown.stdout
    found = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)["next_step"]
    assert found["code"] == "check-rows"
    assert found["command"].startswith(f"recoup audit plan {path} --score p --label label")
    words += ["--labels-are", "random"]
    found = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)["next_step"]
    assert found["code"] == "check-labels"
    assert found["command"] == (
        f"recoup evaluate {path} --score p --label label --alpha 0.2 --beta 1.0 --labels-are random"
    )
