"""CertifiedThreshold: cut any classifier where a promise is kept, as surely as was asked for."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recoup._core.checks import FloatArray, Scheme, check_scheme
from recoup._core.prior import Prior, estimation_method
from recoup.exceptions import InvalidInputError, LearnerWarning
from recoup.learners.cut_classifier import CutClassifier, check_is_audit
from recoup.learners.given_rows import checked_labels, labels_by_name
from recoup.metrics.demands import SHARE, aim_of, demands_of
from recoup.metrics.intervals import CROSSFITTED
from recoup.metrics.learn_then_test import ByLabels, Judge, best_place
from recoup.metrics.rates import prepare
from recoup.metrics.spec import metric_spec


class CertifiedThreshold(CutClassifier):
    """Cut a classifier where a promise is kept, such as "at least 90% of the flagged are positive".

    Every row is scored by a model that has not seen it. Thresholds are then tested one after the
    other (learn, then test), so that the chance that the promise holds is what was asked for,
    though the threshold is chosen on the same rows. Where no threshold is shown to keep the
    promise, no row is predicted positive, and a warning says so.

    Parameters
    ----------
    estimator : classifier
        Any classifier with ``predict_proba`` or ``decision_function``. A clone is fitted on 1 for
        labeled rows and 0 for all others.
    precision : float or None, default=None
        At least this share of the rows that are predicted positive is positive.
    recall : float or None, default=None
        At least this share of the positives is predicted positive.
    cost : dict or None, default=None
        What a false positive and a false negative cost, such as ``{"fp": 1, "fn": 20}``: to follow
        the predictions costs less than to take all rows as negative, or all as positive.
    maximise : str or None, default=None
        Key of the metric that is made best among the thresholds that keep the promise. By default
        what is saved where ``cost`` is given, precision where recall alone is promised, and else
        recall.
    confidence : float, default=0.95
        Chance that the threshold keeps the promise, at least.
    alpha : float, Interval, Draws, PriorEstimate, str or None, default=None
        Share of positives among the unlabeled rows: a number, a result of :mod:`recoup.priors`, or
        a word that has it estimated before training, ``"estimate"`` or the key of an estimator such
        as ``"bbe"``. It is estimated from the out-of-fold scores. An interval or draws say how
        uncertain a known one is; whatever is uncertain is part of the test. None is an error,
        unless there is an audit: then alpha only says where to look.
    beta : float or "estimate", default=1.0
        Share of true positives among the labeled rows; 1.0 says that every label is right.
        ``"estimate"`` goes with an alpha that is estimated too.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        How the rows were collected. ``"single-sample"``: all rows are one sample of the population,
        and some of its positives have a label. ``"case-control"``: the unlabeled rows are the
        sample, and the labeled ones were collected apart. It decides which rows performance is
        about.
    cv : int, splitter or iterable of (train, test), default=5
        How rows are split to score each with a model that has not seen it. An integer is the number
        of folds of a :class:`recoup.scores.PUStratifiedKFold`.
    n_jobs : int or None, default=None
        Folds fitted at the same time, as in scikit-learn.
    random_state : int, Generator, RandomState or None, default=None
        Seed of all that is random. It deals rows to folds where ``cv`` is an integer, and seeds an
        estimate.

    Attributes
    ----------
    estimator_ : classifier
        Fitted on all rows.
    threshold_ : float
        Rows with ``score >= threshold_`` are predicted positive. Infinite where no threshold is
        shown to keep the promise.
    expected_ : dict of str to float
        Recovered precision and recall at the threshold; empty where there is none.
    p_values_ : dict of str to float
        For each thing that was promised, how often rows would look as well if it were just broken
        at the threshold; empty where there is none.
    prior_ : PriorEstimate or None
        The estimate of alpha and beta; None where they were given, or not needed.
    response_method_ : str
        Where scores come from: ``"predict_proba"``, or ``"decision_function"`` for want of it.
    classes_ : ndarray of shape (2,)
        The classes, always 0 and 1.
    n_features_in_ : int
        Number of features of the training rows; missing where the classifier does not keep it.
    feature_names_in_ : ndarray of str
        Names of the features; missing where X has no column names.

    Notes
    -----
    The promise rests on labels that are a random sample of the positives, unless rows were checked
    (``audit``). It is about the models that scored the rows; the one that is fitted on all rows in
    the end has seen a few more, and is cut at the same score. Rows that models score for each other
    are not independent: intervals are wider by the square root of 2, which is as much as that can
    matter.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> s = np.where(np.random.default_rng(0).random(len(y)) < 0.5, 0, y)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> alpha = y[s == 0].mean()
    >>> cut = CertifiedThreshold(model, precision=0.8, alpha=alpha, random_state=0).fit(X, s)
    >>> flagged = cut.predict(X) == 1
    >>> bool(y[flagged].mean() >= 0.8), bool(y[flagged].sum() > 0.8 * y.sum())
    (True, True)
    """

    def __init__(
        self,
        estimator: Any,
        *,
        precision: float | None = None,
        recall: float | None = None,
        cost: Mapping[str, float] | None = None,
        maximise: str | None = None,
        confidence: float = 0.95,
        alpha: Any = None,
        beta: float | str = 1.0,
        scheme: Scheme = "single-sample",
        cv: int | Any = 5,
        n_jobs: int | None = None,
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.precision = precision
        self.recall = recall
        self.cost = cost
        self.maximise = maximise
        self.confidence = confidence
        self.alpha = alpha
        self.beta = beta
        self.scheme = scheme
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        s: ArrayLike | None = None,
        audit: Any = None,
        *,
        y: ArrayLike | None = None,
    ) -> CertifiedThreshold:
        """Find the threshold by out-of-fold scores, then fit the classifier on all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame with n rows
            What the classifier takes.
        s : array-like of shape (n,), optional
            1 labeled positive, 0 unlabeled, -1 known negative.
        audit : Audit, optional
            Rows of X that somebody checked (:mod:`recoup.audit`), by their positions. They may
            have been drawn by other scores, or blindly. The promise then holds whatever the labels
            are, and alpha may be left out.
        y : array-like of shape (n,), optional
            Another name for s, by which tools of scikit-learn pass it.

        Returns
        -------
        CertifiedThreshold
            Itself.
        """
        caller = "CertifiedThreshold.fit"
        check_is_audit(audit, caller)
        check_scheme(self.scheme, caller)
        SHARE.check(self.confidence, "confidence", caller)
        demands = demands_of(self.precision, self.recall, self.cost, caller)
        if not demands:
            raise InvalidInputError(
                f"{caller} needs something to promise. Got precision=None, recall=None and "
                f"cost=None. Pass precision=0.9, say."
            )
        aim = aim_of(self.maximise, demands, caller)
        if audit is None or self.alpha is not None:
            self._check_alpha(caller)
        s = checked_labels(labels_by_name(s, y, self), caller)
        scores = self._out_of_fold(X, s, caller)
        self.prior_ = self._estimated(s, scores, caller)
        judge = self._judge(s, scores, audit, caller)
        level = (1 - self.confidence) / len(demands)
        kept = np.all([judge.kept(one, level) for one in demands], axis=0)
        self.threshold_, self.expected_, self.p_values_ = np.inf, {}, {}
        if kept.any():
            place = best_place(judge, kept, aim)
            self.threshold_ = float(judge.thresholds[place])
            for key in ("precision", "recall"):
                spec = metric_spec(key, caller)
                self.expected_[key] = spec.clip(float(judge.values(spec.formula)[place]))
            self.p_values_ = {one.kind: judge.p_value(one, place) for one in demands}
        else:
            asked = ", ".join(
                one.kind if one.kind == "cost" else f"{one.kind} {one.goal:g}" for one in demands
            )
            warnings.warn(
                LearnerWarning(
                    f"{caller} found no threshold that is shown to keep the promise ({asked}, at "
                    f"confidence {self.confidence:g}), so that no row is predicted positive. More "
                    f"labels, rows checked by hand (audit) or a lower promise would help.",
                    "no-threshold",
                ),
                stacklevel=2,
            )
        self._fit_wrapped(X, s)
        return self

    def _check_alpha(self, caller: str) -> None:
        """Refuse an alpha that can never work, before any fit."""
        if estimation_method(self.alpha, self.beta, caller) is None:
            Prior.of(self.alpha, self.beta, caller)

    def _shares(self) -> dict[str, Any]:
        shares = super()._shares()
        if self.prior_ is None and self.alpha is not None:
            # An interval or draws stand for the number in their middle.
            prior = Prior.of(self.alpha, self.beta, "CertifiedThreshold.score")
            shares = {"alpha": prior.alpha, "beta": prior.beta}
        return shares

    def _judge(self, s: NDArray[np.int_], scores: FloatArray, audit: Any, caller: str) -> Judge:
        """Return what says which thresholds keep a promise."""
        known = None
        if self.prior_ is not None or self.alpha is not None:
            known = Prior.of(
                self.alpha if self.prior_ is None else self.prior_,
                1.0 if isinstance(self.beta, str) else self.beta,
                caller,
                self.confidence,
            )
        if audit is not None:
            judge: Judge = audit.promise_judge(
                s,
                scores,
                alpha=None if known is None else known.alpha,
                beta=1.0 if known is None else known.beta,
                scheme=self.scheme,
                caller=caller,
            )
            return judge
        assert known is not None
        table, _ = prepare(
            s, scores, caller=caller, alpha=known.alpha, beta=known.beta, scheme=self.scheme
        )
        return ByLabels(table, known, self.scheme, CROSSFITTED)
