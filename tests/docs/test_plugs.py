"""The few lines of the page about other tools, against the calls that these tools make."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from recoup.metrics import roc_auc

PAGE = Path(__file__).parents[2] / "docs" / "plugs.md"


def block(title):
    """Return the code below a heading."""
    section = PAGE.read_text("utf-8").split(f"## {title}\n")[1]
    return re.search(r"```python\n(.*?)```", section, re.DOTALL)[1]


def rows(n=2000):
    rng = np.random.default_rng(0)
    y = rng.random(n) < 0.3
    s = (y & (rng.random(n) < 0.4)).astype(int)
    return s, rng.normal(2.0 * y - 1)


def test_mlflow(monkeypatch):
    s, x = rows()
    frame = pd.DataFrame({"flagged": s, "p": x})

    def make_metric(*, eval_fn, greater_is_better, name=None):
        # MLflow passes by name what the function asks for, and takes its name for the metric.
        assert set(inspect.signature(eval_fn).parameters) <= {"predictions", "targets", "metrics"}
        return SimpleNamespace(name=name or eval_fn.__name__, eval_fn=eval_fn)

    def evaluate(data, targets, predictions, extra_metrics):
        return {
            one.name: one.eval_fn(predictions=data[predictions], targets=data[targets])
            for one in extra_metrics
        }

    mlflow = ModuleType("mlflow")
    mlflow.models = SimpleNamespace(make_metric=make_metric, evaluate=evaluate)
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    names = {"frame": frame}
    *lines, last = block("MLflow").strip().splitlines()
    exec("\n".join(lines), names)
    found = eval(last, names)
    assert found == {"recovered_auc": pytest.approx(roc_auc(s, x, alpha=0.2))}


def test_skore(monkeypatch):
    s, x = rows()
    added = {}

    class EstimatorReport:
        def __init__(self, estimator, *, X_train, y_train, X_test, y_test):
            self.metrics = SimpleNamespace(
                # skore asks scorers of scikit-learn as callables: (estimator, X, y_true) -> float.
                add=lambda metric, *, name: added.update({name: metric(estimator, X_test, y_test)}),
                summarize=lambda: None,
            )

    skore = ModuleType("skore")
    skore.EstimatorReport = EstimatorReport
    monkeypatch.setitem(sys.modules, "skore", skore)
    X = x[:, None]
    model = LogisticRegression().fit(X[:1000], s[:1000])
    names = {"model": model, "X": X[:1000], "s": s[:1000], "X_test": X[1000:], "s_test": s[1000:]}
    exec(block("skore"), names)
    expected = roc_auc(s[1000:], model.decision_function(X[1000:]), alpha=0.2)
    assert added == {"recovered_auc": pytest.approx(expected)}
