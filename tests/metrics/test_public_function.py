"""The public function of a metric says what it takes."""

from __future__ import annotations

import inspect

import pytest

from recoup import metrics
from recoup.metrics.spec import forget_metric, point_metric

SHARED = ["alpha", "beta", "scheme", "sample_weight", "propensity"]


@pytest.mark.parametrize(
    ("function", "own"),
    [
        (metrics.f1, []),
        (metrics.fbeta, ["b"]),
        (metrics.expected_cost, ["fp_cost", "fn_cost"]),
        (metrics.roc_auc, ["method"]),
        (metrics.partial_roc_auc, ["max_fpr", "standardize"]),
        (metrics.aul, []),
        (metrics.log_loss, []),
    ],
)
def test_signatures_name_every_parameter(function, own):
    found = inspect.signature(function).parameters
    answers = "y_pred" if function.spec.kind == "point" else "scores"
    assert list(found) == ["s", answers, *SHARED, *own]
    assert {found[name].kind for name in [*SHARED, *own]} == {inspect.Parameter.KEYWORD_ONLY}
    for name in own:
        assert f"\n{name} : " in function.__doc__


def test_parameters_of_a_new_formula_are_explained_after_the_shared_ones():
    @point_metric("weighted_recall", "Weighted recall")
    def weighted_recall(tpr, fpr, pi, weight=0.5):
        """Recover recall, weighted.

        Parameters
        ----------
        weight : float, default=0.5
            How much it counts.
        """
        return weight * tpr

    try:
        assert list(inspect.signature(weighted_recall).parameters)[-1] == "weight"
        assert inspect.signature(weighted_recall).parameters["weight"].default == 0.5
        assert weighted_recall.__doc__.count("Parameters") == 1
        assert weighted_recall.__doc__.index("propensity :") < weighted_recall.__doc__.index(
            "weight : float, default=0.5\n    How much it counts.\n\nReturns"
        )
        s, y_pred = [1, 1, 0, 0], [1, 0, 1, 0]
        assert weighted_recall(s, y_pred, alpha=0.0, weight=2.0) == 1.0
    finally:
        forget_metric("weighted_recall")
