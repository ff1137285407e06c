"""The part of ``recoup demo`` that checks rows by hand: before, plan, after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recoup.cli._output import make_table, plain

if TYPE_CHECKING:
    from rich.console import Console

    from recoup.audit import AuditPlan
    from recoup.data.example import Example
    from recoup.evaluation import Evaluation

CHECKS = 120
SHOWN = ("precision", "recall", "roc_auc")
TITLE = f"Spam filter, {CHECKS} mails checked by hand"


@dataclass(frozen=True)
class DemoAudit:
    """An audit of the example, answered by its truth.

    Attributes
    ----------
    plan : AuditPlan
        The rows that were chosen.
    evaluation : Evaluation
        From the labels, alpha estimated, and beside them by the answers.
    """

    plan: AuditPlan
    evaluation: Evaluation

    @classmethod
    def of(cls, example: Example, score: str, threshold: float) -> DemoAudit:
        """Plan, answer and evaluate.

        Parameters
        ----------
        example : Example
            Rows whose truth is known.
        score : str
            Name of the scores.
        threshold : float
            Where they become predictions.

        Returns
        -------
        DemoAudit
        """
        from recoup.audit import plan
        from recoup.evaluation import evaluate

        s, scores = example.s, example.scores[score]
        made = plan(s, scores, threshold=threshold, budget=CHECKS, n_waves=1)
        audit = made.answers(made.rows, example.y_true[made.rows])
        return cls(made, evaluate(s, scores, beta=1.0, audit=audit))

    def show(self, console: Console, truth: Mapping[str, float], alpha: float) -> None:
        """Print what was known before, what the plan promised, and what was known after.

        Parameters
        ----------
        console : Console
            Where to.
        truth : mapping of str to float
            True values by key of the metric.
        alpha : float
            The true alpha.
        """
        from recoup._core.text import show_number, show_range
        from recoup.metrics.spec import metric_spec

        audit = self.evaluation.audit
        assert audit is not None
        numbers = ["Labels alone", "Plan", "After the checks", "Truth"]
        title = f"{CHECKS} rows checked by hand; the demo knows the truth of these rows"
        table = make_table(["", *numbers], numbers, title)
        before = {
            key: (self.evaluation[key].lower, self.evaluation[key].upper) for key in SHOWN
        } | {"alpha": self.evaluation.prior.range}
        for key, ends in before.items():
            table.add_row(
                "Alpha" if key == "alpha" else metric_spec(key, "demo").label,
                show_range(*ends),
                f"\N{PLUS-MINUS SIGN}{show_number(self.plan.expected[key])}",
                show_range(audit[key].lower, audit[key].upper),
                show_number(alpha if key == "alpha" else truth[key]),
            )
        console.print(table)
        console.print(plain(audit.labels.text))
