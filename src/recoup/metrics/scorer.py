"""Recovered metrics as scikit-learn scorers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recoup._core.alpha import Draws, Interval
from recoup._core.checks import Scheme, as_array, brief, check_alpha_beta, check_scheme
from recoup._core.prior import Prior
from recoup.exceptions import InvalidInputError
from recoup.metrics.spec import AREA_METRICS, METRICS, POINT_METRICS, metric_spec, specs

FROM_THE_MODEL = "estimate"
RESPONSE_METHODS: dict[str, str | tuple[str, ...]] = {
    "point": "predict",
    "area": ("decision_function", "predict_proba"),
    "proper": "predict_proba",
}


def make_scorer(
    name: str,
    *,
    alpha: Any = None,
    beta: float | str = 1.0,
    scheme: Scheme = "single-sample",
    **params: Any,
) -> Callable[..., float]:
    """Make a scikit-learn scorer that judges a classifier by PU labels alone.

    Pass it as ``scoring`` to ``cross_val_score`` or ``GridSearchCV``, with ``s`` in the place of
    ``y``. Higher is always better, as scikit-learn wants: scores of losses (``"brier"``,
    ``"log_loss"``, ``"expected_cost"``) are negated, and at most 0 where the loss is not. The
    scorer shows this as ``greater_is_better=False``.

    Parameters
    ----------
    name : str
        Any metric of this module: ``"f1"``, ``"roc_auc"``, ``"aul"``, ``"brier"``, ... Losses have
        a second name that says what comes back, as in scikit-learn: ``"neg_brier"``.
    alpha : float, prior estimate or "estimate", optional
        Share of positives among the unlabeled rows, or a result with that number as its
        attribute ``alpha``. ``"estimate"`` takes what the fitted model has estimated from its
        training rows, and the beta that belongs to it: wrap the classifier in
        :class:`recoup.learners.WithPrior`. Only ``"aul"`` does without alpha.
    beta : float, default=1.0
        Share of true positives among the labeled rows.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        Whether performance is about all rows, or about the unlabeled rows alone.
    **params
        Settings of the metric itself, such as ``b=2.0`` for ``"fbeta"``.

    Returns
    -------
    callable
        Called as ``scorer(estimator, X, s)``. Metrics of one threshold use ``predict``, metrics
        of a ranking ``decision_function`` or ``predict_proba``, and metrics of probabilities
        ``predict_proba``. Where ``s`` holds known negatives (-1), a classifier learns three
        classes: scores are those of class 1, and predictions of -1 count as 0.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from recoup.scores import PUStratifiedKFold
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> hidden = np.random.default_rng(0).random(len(y)) < 0.5
    >>> s = np.where(hidden, 0, y)
    >>> scorer = make_scorer("roc_auc", alpha=y[s == 0].mean())
    >>> folds = PUStratifiedKFold(5, random_state=0)
    >>> float(cross_val_score(GaussianNB(), X, s, scoring=scorer, cv=folds).mean())
    0.98
    >>> loss = make_scorer("neg_brier", alpha=y[s == 0].mean())
    >>> bool(cross_val_score(GaussianNB(), X, s, scoring=loss, cv=folds).mean() < 0)
    True
    >>> make_scorer("neg_brier", alpha="estimate")
    make_scorer(brier, greater_is_better=False, alpha=estimate, beta=estimate, scheme=single-sample)
    """
    from sklearn.metrics import make_scorer as make_sklearn_scorer

    name = _without_neg(name)
    if isinstance(alpha, str) and alpha == FROM_THE_MODEL:
        return _scorer_by_model(name, beta, scheme, params)
    settings = {"alpha": alpha, "beta": beta, "scheme": scheme} | params
    _, settings = checked_metric(name, settings, "make_scorer")
    spec = metric_spec(name, "make_scorer")
    scorer: Callable[..., float] = make_sklearn_scorer(
        _recovered,
        response_method=RESPONSE_METHODS[spec.kind],
        greater_is_better=spec.higher_is_better,
        metric=name,
        **settings,
    )
    return scorer


def _without_neg(name: str) -> str:
    """Return the key of the metric behind a name such as neg_brier."""
    key = name.removeprefix("neg_") if isinstance(name, str) else name
    if key == name or key not in METRICS:
        return name
    if METRICS[key].higher_is_better:
        raise InvalidInputError(
            f"make_scorer negates losses alone, so that higher is better. Got {name!r}, which is "
            f"higher for worse classifiers. Pass {key!r}."
        )
    return key


def _scorer_by_model(name: str, beta: Any, scheme: Scheme, params: dict[str, Any]) -> _ByModel:
    if isinstance(beta, str) and beta == FROM_THE_MODEL:
        beta = 1.0
    if isinstance(beta, str) or np.ndim(beta) or beta != 1:
        raise InvalidInputError(
            f"make_scorer takes beta from the model too where alpha='estimate'. Got "
            f"beta={brief(beta)}. Leave it out, or pass alpha as a number."
        )
    # Settings that can never work fail with any alpha, so with this one too.
    checked_metric(name, {"alpha": 0.0, "beta": 1.0, "scheme": scheme} | params, "make_scorer")
    return _ByModel(name, scheme, params)


@dataclass(frozen=True)
class _ByModel:
    """A scorer that reads alpha and beta off each fitted model."""

    metric: str
    scheme: Scheme
    params: dict[str, Any]

    def __repr__(self) -> str:
        """Show it as scikit-learn shows its own scorers."""
        sign = "" if METRICS[self.metric].higher_is_better else "greater_is_better=False, "
        settings = {"alpha": FROM_THE_MODEL, "beta": FROM_THE_MODEL, "scheme": self.scheme}
        shown = ", ".join(f"{key}={value}" for key, value in (settings | self.params).items())
        return f"make_scorer({self.metric}, {sign}{shown})"

    def __call__(self, estimator: Any, X: Any, s: ArrayLike, **row_values: Any) -> float:
        alpha, beta = _prior_of(estimator)
        scorer = make_scorer(self.metric, alpha=alpha, beta=beta, scheme=self.scheme, **self.params)
        return scorer(estimator, X, s, **row_values)


def _prior_of(model: Any) -> tuple[float, float]:
    """Return the alpha and beta that a fitted model, or the one inside it, has estimated."""
    inner = model
    while inner is not None:
        prior = getattr(inner, "prior_", None)
        if prior is not None:
            return float(prior.alpha), float(prior.beta)
        # scikit-learn's own models, such as RidgeCV, call a penalty alpha_.
        if hasattr(inner, "alpha_") and not type(inner).__module__.startswith("sklearn."):
            return float(inner.alpha_), float(getattr(inner, "beta_", 1.0))
        if hasattr(inner, "best_estimator_"):
            inner = inner.best_estimator_
        else:
            inner = inner.steps[-1][1] if hasattr(inner, "steps") else None
    raise InvalidInputError(
        f"A scorer with alpha='estimate' needs a model that has estimated alpha from its training "
        f"rows. Got {type(model).__name__}, which has not. Wrap the classifier: "
        f"recoup.learners.WithPrior(classifier)."
    )


def _recovered(s: ArrayLike, answers: ArrayLike, *, metric: str, **settings: Any) -> float:
    """Judge what a classifier says of class 1, which is the last one in ``classes_``."""
    answers = as_array(answers, "answers", metric)
    if answers.ndim == 2:
        answers = answers[:, -1]
    if metric in POINT_METRICS:
        answers = np.where(answers == -1, 0, answers)
    return (POINT_METRICS | AREA_METRICS)[metric](s, answers, **settings)


def checked_metric(
    name: str, settings: dict[str, Any], caller: str
) -> tuple[Callable[..., float], dict[str, Any]]:
    """Look a metric up and refuse settings under which it could never work.

    A grid search turns errors of its scorer into missing scores, so they must surface before.
    """
    spec = metric_spec(name, caller)
    metric: Callable[..., float] = (POINT_METRICS | AREA_METRICS)[name]
    alpha, beta = settings["alpha"], settings["beta"]
    if isinstance(alpha, Interval | Draws):
        prior = Prior.of(alpha, beta, caller)
        alpha, beta = prior.alpha, prior.beta
    for share, value in (("alpha", alpha), ("beta", beta)):
        if np.ndim(value):
            raise InvalidInputError(
                f"{caller} needs {share} to be one number. Got {brief(value)}. Intervals and draws "
                f"are for recoup.evaluate."
            )
    if hasattr(alpha, "alpha"):
        alpha = _estimated_alpha(alpha, beta, caller)
    check_scheme(settings["scheme"], caller)
    if alpha is not None:
        check_alpha_beta(alpha, beta, caller)
        alpha = float(alpha)
    elif spec.needs_alpha or beta < 1:
        free = " and ".join(repr(one.key) for one in specs() if not one.needs_alpha)
        raise InvalidInputError(
            f"{caller} needs alpha, the share of positives among the unlabeled rows, for the "
            f"metric {name!r}. Got none. Pass a known or estimated share; {free} needs none where "
            f"every label is right."
        )
    settings = settings | {"alpha": alpha, "beta": float(beta)}
    per_row = sorted({"sample_weight", "propensity"} & set(settings))
    if per_row:
        raise InvalidInputError(
            f"{caller} takes settings that hold for every row. Got {per_row[0]}, which has one "
            f"value per row and could not follow the rows into the folds."
        )
    try:
        # Rates of one half whatever alpha is: only wrong settings can fail here.
        metric([1, 1, 0, 0], [1, 0, 1, 0], **settings)
    except (InvalidInputError, TypeError) as error:
        own = {key: value for key, value in settings.items() if key not in _SHARED}
        raise InvalidInputError(
            f"{caller} cannot use the metric {name!r} with the settings {own}: {error}"
        ) from error
    return metric, settings


_SHARED = ("alpha", "beta", "scheme")


def _estimated_alpha(estimate: Any, beta: float, caller: str) -> Any:
    estimated_beta = getattr(estimate, "beta", None)
    if estimated_beta is not None and estimated_beta != beta:
        raise InvalidInputError(
            f"{caller} needs alpha and beta that belong together. Got an estimate with "
            f"beta={estimated_beta:g} as alpha, beside beta={beta:g}. Pass beta={estimated_beta:g} "
            f"too, or the estimate's attribute alpha alone."
        )
    return estimate.alpha
