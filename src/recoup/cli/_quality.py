"""How good a learner is that recoup fit has trained, on rows that it did not see."""

from __future__ import annotations

from typing import Any

import numpy as np

from recoup._core.text import show_percent, show_range
from recoup.exceptions import InvalidInputError

HELD_OUT = 5


def held_out_quality(
    model: Any, X: Any, s: Any, scheme: Any, seed: int, out_of_fold: Any = None
) -> dict[str, Any]:
    """Measure a learner on held-out rows: its AUC with an interval, and what it calls positive.

    Parameters
    ----------
    model : PULearner
        The trained learner; a copy of it is trained without the rows that are held out.
    X, s : ndarray
        The rows, and their labels.
    scheme : {"single-sample", "case-control"}
        How rows were drawn.
    seed : int
        Chooses the rows that are held out.
    out_of_fold : ndarray of shape (n,), optional
        Scores of learners that had not seen their rows: no further fit is needed then.

    Returns
    -------
    dict
        Facts by name, ready for JSON; why there are none under ``"held-out quality"``.
    """
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold

    from recoup.evaluation import evaluate

    facts: dict[str, Any] = {}
    rows: tuple[Any, ...]
    try:
        if out_of_fold is None:
            folds = StratifiedKFold(HELD_OUT, shuffle=True, random_state=seed)
            kept, left_out = next(iter(folds.split(X, s)))
            judge = clone(model)
            judge.fit(X[kept], s[kept])
            rows, how = (s[left_out], _scores(judge, X[left_out])), "held out"
            called = _called(judge, X[left_out])
        else:
            rows, how, called = (s, out_of_fold), "cross-fitted", None
        auc = evaluate(
            *rows,
            alpha=_alpha(model, X, s, rows[0], seed),
            scheme=scheme,
            scored="once" if out_of_fold is None else "crossfit",
        )["roc_auc"]
        facts |= {
            "measured on": how,
            "AUC": float(auc.recovered),
            "AUC interval": [float(auc.lower), float(auc.upper)],
        }
        if called is not None:
            facts["called positive"] = called
    except (InvalidInputError, ValueError) as error:
        facts["held-out quality"] = f"not known: {error}"
    return facts


def notes_on_fit(model: Any, caller: str) -> list[str]:
    """Say what the guard found wrong with a fit, and what else is worth knowing of it.

    Parameters
    ----------
    model : PULearner
        The trained learner.
    caller : str
        What the reader ran.

    Returns
    -------
    list of str
    """
    health = model.health_
    if health is None:
        return []
    wrong = [] if health.code == "ok" else [health.warning(caller)]
    return [*wrong, *health.remarks]


def quality_sentence(facts: dict[str, Any]) -> str:
    """Say how good a learner is.

    Parameters
    ----------
    facts : dict
        What :func:`held_out_quality` returned.

    Returns
    -------
    str
    """
    if "AUC" not in facts:
        return f"Held-out quality {facts['held-out quality']}"
    on = "rows held out" if facts["measured on"] == "held out" else "rows of other folds"
    said = f"On {on}, recovered: AUC {facts['AUC']:.3f} ({show_range(*facts['AUC interval'])})"
    if "called positive" in facts:
        said += f"; {show_percent(round(facts['called positive'], 3))} of them called positive"
    return f"{said}."


def _alpha(model: Any, X: Any, s: Any, judged: Any, seed: int) -> Any:
    """Return what is known of alpha, its uncertainty included; from all rows if few are judged."""
    from recoup.priors.base import MIN_LABELED, MIN_UNLABELED
    from recoup.priors.usable import usable_estimate

    for known in (getattr(model, "prior_", None), getattr(model, "alpha_", None)):
        if known is not None:
            return known
    if (judged == 1).sum() >= MIN_LABELED and (judged == 0).sum() >= MIN_UNLABELED:
        return "estimate"
    return usable_estimate(s, X, random_state=seed)


def _scores(model: Any, X: Any) -> Any:
    return model.decision_function(X)


def _called(model: Any, X: Any) -> float | None:
    try:
        return float(np.mean(model.predict(X)))
    except InvalidInputError:  # a ranking that was not told where positives end
        return None
