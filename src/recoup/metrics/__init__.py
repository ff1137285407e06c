"""What the observed numbers really mean: metrics recovered from positive-unlabeled rows.

Every metric takes ``s`` (1 labeled positive, 0 unlabeled, -1 known negative) where scikit-learn's
takes ``y_true``, and the share of positives among the unlabeled rows as ``alpha``.
"""

from recoup.metrics import bounds
from recoup.metrics.area import (
    aul,
    average_precision,
    brier,
    log_loss,
    partial_roc_auc,
    pr_auc,
    roc_auc,
)
from recoup.metrics.curves import (
    calibration_curve,
    lift_curve,
    metric_curve,
    pr_curve,
    roc_curve,
)
from recoup.metrics.point import (
    accuracy,
    balanced_accuracy,
    expected_cost,
    f1,
    fbeta,
    lift,
    macro_f1,
    matthews_corrcoef,
    npv,
    precision,
    recall,
    specificity,
    youden,
)
from recoup.metrics.rates import observed_rates, true_rates
from recoup.metrics.scorer import make_scorer
from recoup.metrics.spec import MetricSpec, area_metric, point_metric, proper_metric

__all__ = [
    "MetricSpec",
    "accuracy",
    "area_metric",
    "aul",
    "average_precision",
    "balanced_accuracy",
    "bounds",
    "brier",
    "calibration_curve",
    "expected_cost",
    "f1",
    "fbeta",
    "lift",
    "lift_curve",
    "log_loss",
    "macro_f1",
    "make_scorer",
    "matthews_corrcoef",
    "metric_curve",
    "npv",
    "observed_rates",
    "partial_roc_auc",
    "point_metric",
    "pr_auc",
    "pr_curve",
    "precision",
    "proper_metric",
    "recall",
    "roc_auc",
    "roc_curve",
    "specificity",
    "true_rates",
    "youden",
]
