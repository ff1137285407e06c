"""What AutoPU tries, and how each of them is fitted and asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray, Scheme, brief, did_you_mean
from recoup.exceptions import InvalidInputError
from recoup.learners.base import PULearner

# Share of the rows of a fit that labeled ones may take where there are more rows than a limit.
MOST_LABELED = 0.5
# Rows whose scores say how widely the scores of a model spread.
SPREAD_ROWS = 2000
# Classifiers that take unlabeled rows for negatives rank well where labels are many or classes
# clear. Elsewhere they are more alike than the others, and together they would outweigh them.
FOR_LABELS = 0.25
# Unlabeled rows in a bag, at least: with a dozen there is nothing to split.
LEAST_DRAWN = 100


@dataclass(frozen=True)
class Fitting:
    """What a candidate is told about the rows before it is built.

    Attributes
    ----------
    alpha : float
        Share of positives among the unlabeled rows.
    scheme : {"single-sample", "case-control"}
        How the rows were collected.
    n_labeled, n : int
        Labeled rows of this fit, and all rows of it.
    drawn_per_label : float
        Unlabeled rows in a bag for each labeled one: the same in every fold, so that scores of
        different folds mean the same.
    seed : int
        Seed of all that is random.
    """

    alpha: float
    scheme: Scheme
    n_labeled: int
    n: int
    drawn_per_label: float
    seed: int


@dataclass(frozen=True)
class Candidate:
    """A learner or classifier that may be a part of the combination.

    Parameters
    ----------
    key : str
        Its name.
    build : callable
        Makes it, not fitted, from a :class:`Fitting`.
    most_rows : int or None, default=None
        Fitted on no more rows than these. More of them take longer and hardly rank better.
    share : float, default=1.0
        What it counts for, relative to the others, where labels do not tell them apart.
    """

    key: str
    build: Callable[[Fitting], Any]
    most_rows: int | None = None
    share: float = 1.0


@dataclass(frozen=True)
class FittedCandidate:
    """A model, with what brings its scores to a scale that other fits of it share.

    Attributes
    ----------
    key : str
        Name of the candidate.
    model : object
        The fitted learner or classifier.
    center, spread : float
        What is taken from a decision function, and what it is divided by; 0 and 1 where there are
        probabilities.
    """

    key: str
    model: Any
    center: float
    spread: float

    def scores(self, X: Any) -> FloatArray:
        """Return a score for each row, the higher the more positive."""
        scaled: FloatArray = (_raw_scores(self.model, X) - self.center) / self.spread
        return scaled


def chosen_candidates(names: str | Sequence[str], caller: str) -> tuple[Candidate, ...]:
    """Return the candidates of these names; ``"auto"`` stands for those tried by default."""
    given = [names] if isinstance(names, str) else names
    if not isinstance(given, Sequence) or not all(isinstance(name, str) for name in given):
        raise InvalidInputError(
            f"{caller} needs candidates to be 'auto', or a list of names. Got {brief(names)}. "
            f"Pass ['logistic', 'puet'], for example."
        )
    keys: list[str] = []
    for name in given:
        keys += DEFAULT if name == "auto" else [name]
    if not keys:
        raise InvalidInputError(
            f"{caller} needs at least one candidate. Got candidates={brief(names)}. Pass 'auto'."
        )
    return tuple(_candidate(key, caller) for key in dict.fromkeys(keys))


def fit_candidate(
    candidate: Candidate,
    X: FloatArray,
    s: NDArray[np.int_],
    alpha: float,
    scheme: Scheme,
    n_labels: int,
    rng: np.random.Generator,
) -> FittedCandidate:
    """Fit a candidate to labeled and unlabeled rows, or to some of them where they are many.

    ``n_labels`` are the labels of the whole fit, of which a fold has a part.
    """
    rows = rows_within(s, candidate.most_rows, rng)
    if len(rows) < len(s):
        X, s = X[rows], s[rows]
    ratio = max(1.0, LEAST_DRAWN / n_labels)
    n_labeled, seed = int((s == 1).sum()), int(rng.integers(2**31))
    model = candidate.build(Fitting(alpha, scheme, n_labeled, len(s), ratio, seed))
    _fit(model, X, s)
    if hasattr(model, "predict_proba"):
        return FittedCandidate(candidate.key, model, 0.0, 1.0)
    unlabeled = np.flatnonzero(s == 0)[:SPREAD_ROWS]
    scores = _raw_scores(model, X[unlabeled])
    spread = float(np.std(scores))
    return FittedCandidate(
        candidate.key, model, float(np.median(scores)), spread if spread > 0 else 1.0
    )


def rows_within(
    s: NDArray[np.int_], most: int | None, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Return all rows, or as many as a fit may have: labeled ones first, others at random.

    A sample of the unlabeled rows has their share of positives, so that alpha stays right.
    """
    if most is None or len(s) <= most:
        return np.arange(len(s))
    labeled, unlabeled = np.flatnonzero(s == 1), np.flatnonzero(s != 1)
    n_labeled = min(len(labeled), int(most * MOST_LABELED))
    parts = (
        rng.choice(labeled, n_labeled, replace=False),
        rng.choice(unlabeled, min(len(unlabeled), most - n_labeled), replace=False),
    )
    return np.sort(np.concatenate(parts))


def _fit(model: Any, X: FloatArray, s: NDArray[np.int_]) -> None:
    """Fit a model; known negatives go to those that have a use for them."""
    if not isinstance(model, PULearner):
        model.fit(X, (s == 1).astype(int))
    elif model.tags.uses_negatives or not (s < 0).any():
        model.fit(X, s)
    else:
        model.fit(X[s >= 0], s[s >= 0])


def _raw_scores(model: Any, X: Any) -> FloatArray:
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X), float)[:, 1]
    return np.asarray(model.decision_function(X), float)


def _candidate(key: str, caller: str) -> Candidate:
    if key in KNOWN:
        return KNOWN[key]
    from recoup._core.registry import registered

    learners = registered("learners")
    usable = sorted(
        name
        for name, cls in learners.items()
        if name != "auto-pu" and not cls.tags.requires_true_labels
    )
    if key not in usable:
        names = (*KNOWN, *usable)
        raise InvalidInputError(
            f"{caller} needs candidates that exist. Got {brief(key)!r}.{did_you_mean(key, names)} "
            f"Choose among {', '.join(KNOWN)} and the keys of recoup list learners."
        )
    return Candidate(key, partial(_registered, key))


def _registered(key: str, settings: Fitting) -> Any:
    from recoup._core.registry import make

    model = make("learners", key, "AutoPU.fit", random_state=settings.seed)
    known = model.get_params(deep=False)
    told = {"alpha": settings.alpha, "scheme": settings.scheme, "guard": "off"}
    # AutoPU cuts by itself; the cut of a candidate would only cost more fits.
    told |= {"threshold": "own"}
    return model.set_params(**{name: value for name, value in told.items() if name in known})


def _boosting(settings: Fitting) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        learning_rate=0.05, max_iter=100, min_samples_leaf=10, random_state=settings.seed
    )


def _extra_trees(settings: Fitting) -> Any:
    from sklearn.ensemble import ExtraTreesClassifier

    return ExtraTreesClassifier(100, min_samples_leaf=5, random_state=settings.seed)


def _logistic(settings: Fitting) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def _bagging(settings: Fitting) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    from recoup.learners.bagging import BaggingPU

    boosting = HistGradientBoostingClassifier(
        learning_rate=0.1,
        max_iter=40,
        min_samples_leaf=5 if settings.drawn_per_label > 1 else 10,
    )
    return BaggingPU(
        classifier=boosting,
        n_estimators=12,
        n_drawn=round(settings.drawn_per_label * settings.n_labeled),
        guard="off",
        random_state=settings.seed,
    )


def _pu_aul(settings: Fitting) -> Any:
    from recoup.learners.pu_auc import PUAUL

    widths = (0.25, 0.5, 1.0, 2.0)
    return PUAUL(n_folds=3, widths=widths, guard="off", random_state=settings.seed)


def _puet(settings: Fitting) -> Any:
    from recoup.learners.puet import PUET

    # Without positives among the unlabeled rows there would be no population to speak of.
    return PUET(
        max(settings.alpha, 1e-3),
        scheme=settings.scheme,
        n_estimators=100 if settings.n <= 5000 else 50,
        engine="numpy",
        threshold="own",
        guard="off",
        random_state=settings.seed,
    )


KNOWN = {
    candidate.key: candidate
    for candidate in (
        Candidate("logistic", _logistic, 50_000, FOR_LABELS),
        Candidate("boosting", _boosting, 50_000, FOR_LABELS),
        Candidate("extra-trees", _extra_trees, 20_000, FOR_LABELS),
        Candidate("puet", _puet, 10_000),
        Candidate("pu-aul", _pu_aul, 10_000),
        Candidate("bagging-pu", _bagging, 20_000),
    )
}
DEFAULT = ("logistic", "boosting", "extra-trees", "puet", "pu-aul", "bagging-pu")
