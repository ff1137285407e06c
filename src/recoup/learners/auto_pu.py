"""AutoPU: several learners for tables, cross-fitted, combined and calibrated."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from recoup._core.checks import FloatArray, Scheme
from recoup._core.constraints import (
    N_JOBS,
    SCHEME,
    Checked,
    Constraints,
    Flag,
    Instance,
    Nothing,
    WholeNumber,
)
from recoup._core.progress import Progress, progress_bar
from recoup._core.random import named_rng
from recoup.exceptions import InvalidInputError
from recoup.learners._auto.calibration import chance_curve
from recoup.learners._auto.candidates import (
    Candidate,
    FittedCandidate,
    chosen_candidates,
    fit_candidate,
)
from recoup.learners._auto.combining import (
    Placements,
    optimism_of_weights,
    placements_of,
    rank_curve,
    weights_from,
)
from recoup.learners._auto.kept_folds import KeptFolds
from recoup.learners._auto.raw_rows import as_numbers_of, learn_numbers, raw_names
from recoup.learners._auto.report import (
    AutoReport,
    CandidateReport,
    interval_of,
    lift_area,
    recovered_area,
)
from recoup.learners._training.population import Population
from recoup.learners.base import Guard, LearnerTags, Probabilities, PULearner
from recoup.learners.cut import HonestScores, f1_cut, share_cut
from recoup.learners.given_rows import checked_labels
from recoup.scores.folds import PUStratifiedKFold

FEWEST_FOLDS = 2
ALL_ROWS = -1
# Where labels are fewer, it is looked whether the models of all rows call a tenth at least of what
# those of the folds call.
FEW_LABELS, HARDLY_ANY = 30, 0.1


class AutoPU(PULearner):
    r"""Try several learners, combine their rankings, cut at alpha and calibrate.

    Every candidate scores every row by models that were fitted on other folds. Candidates that
    rank clearly worse than the best are left out; the others are averaged by rank, with weights
    that are fixed shares as far as the labels do not tell the candidates apart. The share of rows
    called positive is the share of positives that alpha implies. Nothing is chosen by true classes.

    Parameters
    ----------
    alpha : float, PriorEstimate or str, default="estimate"
        Share of positives among the unlabeled rows: a number, a result of :mod:`recoup.priors`, or
        a word that has it estimated before training, ``"estimate"`` or the key of an estimator such
        as ``"bbe"``.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        How the rows were collected. ``"single-sample"``: all rows are one sample of the population,
        and some of its positives have a label. ``"case-control"``: the unlabeled rows are the
        sample, and the labeled ones were collected apart.
    candidates : "auto" or sequence of str, default="auto"
        What is tried. ``"auto"``: ``"puet"``, ``"pu-aul"`` and ``"bagging-pu"`` around boosting,
        and ``"logistic"``, ``"boosting"`` and ``"extra-trees"`` on labeled against unlabeled rows,
        which count a quarter. A sequence may also name the key of any learner, such as
        ``["auto", "nnpu"]``; one with a network cannot be saved as a part of this one.
    n_folds : int, default=5
        Folds of the cross-fit. Fewer are taken where there are fewer different labeled rows.
    checkpoint : str, Path or None, default=None
        Folder in which the scores of finished folds are kept, so that a fit that was stopped goes
        on. They are found again by a hash of rows and parameters. None keeps nothing.
    n_jobs : int or None, default=None
        Fits at the same time, as in scikit-learn. The result does not depend on it.
    progress : bool or None, default=None
        Whether to show on stderr how far the fit is. None does so on a terminal, after two seconds.
    threshold : {"own", "alpha", "f1"} or float, default="own"
        Where a row counts as positive. ``"own"`` is the cut of the method itself; ``"alpha"`` calls
        as many rows of the population positive as alpha says; ``"f1"`` takes the best F1 as
        recovered with alpha; a number is a score of the method itself. ``"alpha"`` and ``"f1"`` are
        read off rows that the model has not seen: those that a network holds out, out-of-bag
        scores, or else those of five more fits. Where there are none, training rows have to do.
    probabilities : {"own", "calibrated"}, default="own"
        What ``predict_proba`` gives: probabilities of the method itself, which may be no more than
        a logistic function of the score, or those that a smooth rising curve of the labels over the
        scores gives, turned by alpha into chances to be positive. The scores are those of the same
        unseen rows.
    guard : {"retry", "warn", "off"}, default="retry"
        What happens if a fit has failed: it ranks the wrong way round, calls all rows or none
        positive, or is far worse than a simple classifier. ``"warn"`` gives a ``LearnerWarning``;
        ``"retry"`` has a network fitted again before, differently; ``"off"`` does not look.
    random_state : int, Generator, RandomState or None, default=None
        Seed of all that is random. An integer makes every fit the same.

    Attributes
    ----------
    oof_scores_ : ndarray of shape (n,)
        Combined score of each training row, between 0 and 1, by models of other folds. Rows above
        ``threshold_`` are called positive. Known negatives have scores too.
    oof_probabilities_ : ndarray of shape (n,)
        Chance of each training row to be positive, from its combined score.
    oof_folds_ : ndarray of shape (n,)
        The fold in which each training row was scored; -1 for rows that were left out.
    threshold_ : float
        The border between the classes among combined scores, whatever ``threshold`` asks for. Its
        own cut, like ``"alpha"``, calls as many rows of the population positive as alpha says.
    weights_ : dict of str to float
        Weight of each candidate in the combination; 0 for those left out.
    report_ : AutoReport
        What was tried, how well it ranks on rows that its models had not seen, and how good the
        combination is.
    models_ : list of FittedCandidate
        The candidates with a weight, fitted on all rows (on some, where there are very many).
    rank_curves_ : list of RankCurve
        From scores of each of these to the share of training rows with a lower one.
    chance_curve_ : ChanceCurve
        From combined scores to probabilities.
    encoding_ : dict or None
        How the columns of a table that held more than numbers became numbers, as
        :meth:`recoup.data.ColumnEncoder.to_dict` says it; None for numbers.
    numbers_ : tuple of int
        How many numbers a row has, those of encoded columns counted. Arrays of such rows are scored
        too, as the encoder gives them.
    medians_ : ndarray of shape (n_numbers,)
        What stands in for missing values.
    gaps_ : ndarray of int
        Columns with missing values in the training rows; each gets a column that says where.
    alpha_ : float or None
        Share of positives among the unlabeled rows, as given or estimated; None without either.
    prior_ : PriorEstimate or None
        The estimate that ``alpha_`` comes from; None where it was a number.
    cut_ : float
        What is subtracted from the scores of the method itself, to make zero the border.
    calibration_ : ndarray of shape (2, n_knots) or None
        Scores, and the probabilities there; None where they are those of the method itself.
    health_ : Health or None
        What the guard has found; None where it is off.
    classes_ : ndarray of shape (2,)
        The classes, always 0 and 1.
    n_features_in_ : int
        Number of features of the training rows.
    feature_names_in_ : ndarray of str
        Names of the features; missing where X has no column names.

    Notes
    -----
    A new row is scored by each candidate that was fitted on all rows. Its score becomes the share
    of training rows that have a lower cross-fitted score from the same candidate, straight between
    these and rising beyond them. The score of the method itself is the weighted mean of these
    ranks: a row that no candidate puts lower than another one is not put lower. The decision
    function is that less ``threshold_``.

    Probabilities rise with the combined score and have the right mean: the share of labels, divided
    by that of the positives that are labeled, along the curve of :func:`recoup.calibrate`. They
    rest on labels being a random sample of the positives. Rows above one half are rather positive
    than not: where classes overlap, they are fewer than alpha says.

    The weight of a candidate falls with its gap to the best one in units of twice the gap's
    standard error, from cross-fitted areas between labeled and unlabeled rows. So weights are the
    shares where labels are few, and the same candidates are best by this area as by the recovered
    AUC.

    Tables with words, dates or flags (pandas, Polars, Arrow, columns by name) are encoded by a
    :class:`recoup.data.ColumnEncoder`; what it leaves out, such as columns that name rows or give
    the labels away, is left out here. Arrays and frames of numbers are taken as they are.

    Known negatives teach the candidates that have a use for them, and are negatives to the
    classifiers; weights, cut and probabilities come from the other rows.

    All parts run on a plain install, and give the same numbers with and without the optional
    packages. PUET is grown with numpy.

    References
    ----------
    DeLong, DeLong and Clarke-Pearson, "Comparing the areas under two or more correlated receiver
    operating characteristic curves", Biometrics 44, 1988, for gaps between areas. Efron,
    "Estimating the error rate of a prediction rule", JASA 78, 1983, for the price of choosing. The
    candidates name theirs.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> s = np.where(np.random.default_rng(0).random(len(y)) < 0.7, 0, y)
    >>> some = ["extra-trees", "puet"]
    >>> model = AutoPU(alpha=0.53, candidates=some, n_folds=2, random_state=0).fit(X, s)
    >>> round(float(np.mean(model.predict(X) == y)), 1)
    0.9
    >>> sorted(model.weights_)
    ['extra-trees', 'puet']
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="auto-pu",
        family="combination",
        cost="some fits per fold",
        effort=2.0,
        source="recoup",
        needs_alpha=True,
        uses_negatives=True,
    )
    constraints: ClassVar[Constraints] = {
        "scheme": SCHEME,
        "candidates": Checked(chosen_candidates),
        "n_folds": WholeNumber(FEWEST_FOLDS),
        "checkpoint": Instance((str, Path), "a folder, as a str or a Path") | Nothing(),
        "n_jobs": N_JOBS,
        "progress": Flag() | Nothing(),
    }
    alpha_: float
    numbers_: tuple[int, ...]
    oof_folds_: NDArray[np.int_]

    def __init__(
        self,
        alpha: Any = "estimate",
        *,
        scheme: Scheme = "single-sample",
        candidates: str | Sequence[str] = "auto",
        n_folds: int = 5,
        checkpoint: str | Path | None = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        threshold: str | float = "own",
        probabilities: Probabilities = "own",
        guard: Guard = "retry",
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> None:
        self.alpha = alpha
        self.scheme = scheme
        self.candidates = candidates
        self.n_folds = n_folds
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.progress = progress
        self.threshold = threshold
        self.probabilities = probabilities
        self.guard = guard
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that rows may have gaps."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _fit_rows(self, X: Any, s: Any, **per_row: Any) -> Self:
        self.encoding_ = None
        names = raw_names(X)
        if names is None:
            super()._fit_rows(X, s, **per_row)
        else:
            encoding, numbers = learn_numbers(X, checked_labels(s, "AutoPU.fit"))
            super()._fit_rows(numbers, s, **per_row)
            self.encoding_ = encoding
            self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, object)
        return self

    def _fit(self, X: FloatArray, s: NDArray[np.int_], rng: np.random.Generator) -> None:
        started = time.monotonic()
        seed = int(rng.integers(2**31))
        tried = chosen_candidates(self.candidates, "AutoPU.fit")
        folds = self._folds(X, s, seed)
        self.oof_folds_ = np.empty(len(s), int)
        for fold, (_, test) in enumerate(folds):
            self.oof_folds_[test] = fold
        total = (len(folds) + 1) * len(tried)
        with progress_bar(total, "Fitting AutoPU", self.progress) as advance:
            scores, seconds = self._cross_fit(tried, X, s, folds, seed, advance)
            used, labeled = s >= 0, s[s >= 0] == 1
            curves = [rank_curve(one) for one in scores]
            ranks = np.array([curve(one) for curve, one in zip(curves, scores, strict=True)])
            placements = placements_of(labeled, ranks[:, used])
            shares = np.array([one.share for one in tried])
            weights = weights_from(placements.areas, placements.covariance, shares)
            kept = np.flatnonzero(weights > 0)
            self.models_ = self._refit([tried[k] for k in kept], X, s, seed, seconds, advance)
        self.rank_curves_ = [curves[k] for k in kept]
        self.weights_ = {one.key: float(weight) for one, weight in zip(tried, weights, strict=True)}
        self.oof_scores_ = np.asarray(weights @ ranks)
        honest = self._own_honest_scores(s)
        self.chance_curve_ = chance_curve(honest, self.alpha_, self.scheme)
        self.oof_probabilities_ = self.chance_curve_(self.oof_scores_)
        pi = Population(self.alpha_, int(labeled.sum()), int((~labeled).sum()), self.scheme).pi
        self.threshold_ = self._border(X, s)
        optimism = optimism_of_weights(
            labeled, ranks[:, used], placements, shares, named_rng(seed, "auto-pu", "optimism")
        )
        self.report_ = self._reported(
            honest, placements, seconds, optimism, pi, len(folds), started
        )

    def _probabilities(self, X: FloatArray) -> FloatArray:
        positive = self.chance_curve_(self._decide(X))
        return np.column_stack([1 - positive, positive])

    def _decide(self, X: FloatArray) -> FloatArray:
        combined = np.zeros(len(X))
        for fitted, curve in zip(self.models_, self.rank_curves_, strict=True):
            combined += self.weights_[fitted.key] * curve(fitted.scores(X))
        return combined

    def _own_honest_scores(self, s: NDArray[np.int_]) -> HonestScores:
        used = s >= 0
        return HonestScores(s[used], self.oof_scores_[used], "cross-fitted")

    def _border(self, X: FloatArray, s: NDArray[np.int_]) -> float:
        if not isinstance(self.threshold, str):
            return float(self.threshold)
        honest = self._own_honest_scores(s)
        if self.threshold == "f1":
            return f1_cut(honest, self.alpha_, self.scheme)
        cut = share_cut(honest, self.alpha_, self.scheme)
        if (s == 1).sum() >= FEW_LABELS:
            return cut
        # With few labels the models of the folds may differ so much from those of all rows that
        # these would call next to nothing: then their own scores of the same rows say where to cut.
        own = HonestScores(s, self._decide(X), "training")
        called = [float(np.mean(one.scores[one.s == 0] > cut)) for one in (own, honest)]
        if called[0] >= HARDLY_ANY * called[1]:
            return cut
        return share_cut(own, self.alpha_, self.scheme)

    def _set_cut(
        self,
        X: Any,
        s: NDArray[np.int_],
        rng: np.random.Generator,
        per_row: Mapping[str, NDArray[Any] | None],
        caller: str,
    ) -> HonestScores:
        self.cut_, self.calibration_ = self.threshold_, None
        return self._own_honest_scores(s)

    # The probabilities of the method itself are calibrated.
    _calibrates_inside: ClassVar[bool] = True

    def _folds(
        self, X: FloatArray, s: NDArray[np.int_], seed: int
    ) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Deal rows to folds: as many as asked for, or as many as labeled rows allow."""
        n_folds = max(FEWEST_FOLDS, min(int(self.n_folds), int((s == 1).sum())))
        while True:
            try:
                return list(PUStratifiedKFold(n_folds, random_state=seed).split(X, s))
            except InvalidInputError:
                if n_folds == FEWEST_FOLDS:
                    raise
                n_folds -= 1

    def _cross_fit(
        self,
        tried: Sequence[Candidate],
        X: FloatArray,
        s: NDArray[np.int_],
        folds: list[tuple[NDArray[np.intp], NDArray[np.intp]]],
        seed: int,
        advance: Progress,
    ) -> tuple[FloatArray, FloatArray]:
        """Return scores of each candidate for each row by other folds' models, and seconds."""
        from joblib import Parallel, delayed

        store = self._store(X, s, seed, len(folds))
        jobs = [
            delayed(_score_fold)(
                one, X, s, train, test, self.alpha_, self.scheme, seed, fold, store
            )
            for fold, (train, test) in enumerate(folds)
            for one in tried
        ]
        scores, seconds = np.empty((len(tried), len(s))), np.zeros(len(tried))
        places = [(fold, number) for fold in range(len(folds)) for number in range(len(tried))]
        found = Parallel(n_jobs=self.n_jobs, return_as="generator")(jobs)
        for (fold, number), (answers, took) in zip(places, found, strict=True):
            scores[number, folds[fold][1]] = answers
            seconds[number] += took
            advance()
        return scores, seconds

    def _refit(
        self,
        kept: Sequence[Candidate],
        X: FloatArray,
        s: NDArray[np.int_],
        seed: int,
        seconds: FloatArray,
        advance: Progress,
    ) -> list[FittedCandidate]:
        """Fit the candidates that have a weight to all rows."""
        from joblib import Parallel, delayed

        keys = [one.key for one in chosen_candidates(self.candidates, "AutoPU.fit")]
        jobs = [
            delayed(_timed_fit)(
                one, X, s, self.alpha_, self.scheme, int((s == 1).sum()), seed, ALL_ROWS
            )
            for one in kept
        ]
        models = []
        for model, took in Parallel(n_jobs=self.n_jobs, return_as="generator")(jobs):
            models.append(model)
            seconds[keys.index(model.key)] += took
            advance()
        return models

    def _store(
        self, X: FloatArray, s: NDArray[np.int_], seed: int, n_folds: int
    ) -> KeptFolds | None:
        if self.checkpoint is None:
            return None
        settings = {
            "alpha": self.alpha_,
            "scheme": self.scheme,
            "seed": seed,
            "n_folds": n_folds,
        }
        return KeptFolds(self.checkpoint, X, s, settings)

    def _reported(
        self,
        honest: HonestScores,
        placements: Placements,
        seconds: FloatArray,
        optimism: float,
        pi: float,
        n_folds: int,
        started: float,
    ) -> AutoReport:
        alpha, labeled = self.alpha_, honest.s == 1
        rows = []
        errors = np.sqrt(np.diag(placements.covariance))
        for number, (key, weight) in enumerate(self.weights_.items()):
            area = float(placements.areas[number])
            auc = recovered_area(area, alpha)
            limits = interval_of(area, float(errors[number]), alpha)
            aul = lift_area(auc, pi)
            rows.append(CandidateReport(key, auc, *limits, aul, weight, float(seconds[number])))
        whole = placements_of(labeled, honest.scores[None])
        area = float(whole.areas[0]) - optimism
        auc = recovered_area(area, alpha)
        low, high = interval_of(area, float(whole.covariance[0, 0] ** 0.5), alpha)
        return AutoReport(
            candidates=tuple(sorted(rows, key=lambda row: (-row.weight, -row.auc))),
            auc=auc,
            auc_low=low,
            auc_high=high,
            optimism=optimism / (1 - alpha),
            aul=lift_area(auc, pi),
            alpha=alpha,
            pi=pi,
            called=float(np.mean(honest.population(self.scheme) > self.threshold_)),
            n_folds=n_folds,
            n_labeled=int(labeled.sum()),
            n_unlabeled=int((~labeled).sum()),
            seconds=time.monotonic() - started,
        )

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        """Check features, and fill gaps with the medians of the training rows."""
        self._check_unmasked(X, reset)
        if not reset and self.encoding_ is not None:
            given = isinstance(X, np.ndarray) and X.shape[1:] == self.numbers_
            rows = np.asarray(X, float) if given else as_numbers_of(self.encoding_, X)
        else:
            rows = validate_data(
                self, X, dtype=np.float64, reset=reset, ensure_all_finite="allow-nan"
            )
        missing = np.isnan(rows)
        if reset:
            self.gaps_ = np.flatnonzero(missing.any(axis=0))
            self.medians_, self.numbers_ = np.zeros(rows.shape[1]), rows.shape[1:]
            for column in range(rows.shape[1]):
                known = rows[~missing[:, column], column]
                self.medians_[column] = np.median(known) if len(known) else 0.0
        if missing.any():
            rows = np.where(missing, self.medians_, rows)
        if len(self.gaps_):
            rows = np.hstack([rows, missing[:, self.gaps_]])
        return rows

    def _check_restored(self, caller: str) -> None:
        super()._check_restored(caller)
        check_is_fitted(self)
        for fitted in self.models_:
            if isinstance(fitted.model, PULearner):
                fitted.model._check_restored(caller)


def _score_fold(
    candidate: Candidate,
    X: FloatArray,
    s: NDArray[np.int_],
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    alpha: float,
    scheme: Scheme,
    seed: int,
    fold: int,
    store: KeptFolds | None,
) -> tuple[FloatArray, float]:
    """Fit a candidate to the other folds and score a fold, unless that has been kept."""
    known = None if store is None else store.read(candidate.key, fold, len(test))
    if known is not None:
        return known
    n_labels = int((s == 1).sum())
    fitted, seconds = _timed_fit(candidate, X[train], s[train], alpha, scheme, n_labels, seed, fold)
    scores = fitted.scores(X[test])
    if store is not None:
        store.write(candidate.key, fold, scores, seconds)
    return scores, seconds


def _timed_fit(
    candidate: Candidate,
    X: FloatArray,
    s: NDArray[np.int_],
    alpha: float,
    scheme: Scheme,
    n_labels: int,
    seed: int,
    fold: int,
) -> tuple[FittedCandidate, float]:
    started = time.monotonic()
    rng = named_rng(seed, "auto-pu", candidate.key, fold)
    fitted = fit_candidate(candidate, X, s, alpha, scheme, n_labels, rng)
    return fitted, time.monotonic() - started
