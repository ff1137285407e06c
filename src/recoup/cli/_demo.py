"""The parts of ``recoup demo`` that check rows by hand, and that start from a raw table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
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


def run_raw_example(console: Console, out: Path) -> None:
    """Write a raw table, go from it to an answer, and hold that against the truth.

    Parameters
    ----------
    console : Console
        Where to print.
    out : Path
        The folder of the table and of the results.
    """
    import json

    import numpy as np

    from recoup.cli.run import run
    from recoup.data import write_raw_example
    from recoup.data.readers import read_columns

    raw, results = out / "bank.csv", out / "bank"
    y_true = write_raw_example(raw)
    console.print()
    console.print(
        plain(
            f"From a raw table to an answer: recoup run {raw} --label subscribed --id client "
            f"--labels-are random --out {results}",
            "bold",
        )
    )
    console.print(
        plain(
            f"{len(y_true):,} bank clients as they were (Moro, Cortez and Rita 2014, CC BY 4.0). "
            f"Two in five of those who subscribed are marked with yes, nobody else. The others are "
            f"to be found."
        )
    )
    run(
        str(raw),
        "subscribed",
        id_column="client",
        labels_are="random",
        out=results,
    )
    summary = json.loads((results / "summary.json").read_bytes())
    columns = read_columns(results / "scores.parquet", ["label", "probability"])
    chances, s = columns["probability"], columns["label"]
    called = chances >= summary["threshold"]
    ranks = np.argsort(np.argsort(chances)) + 1.0
    n_positive = int(y_true.sum())
    above = ranks[y_true == 1].sum() - n_positive * (n_positive + 1) / 2
    auc = above / (n_positive * (len(y_true) - n_positive))
    console.print(
        plain(
            f"The demo knows the truth: {int(y_true[s == 0].sum()):,} hidden positives; the "
            f"positive row comes first {100 * auc:.0f} times in 100; of 100 rows called positive, "
            f"{100 * y_true[called].mean():.0f} are; of 100 positives, "
            f"{100 * called[y_true == 1].mean():.0f} are found."
        )
    )
