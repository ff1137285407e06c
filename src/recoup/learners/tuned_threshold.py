"""TunedThreshold: choose the threshold of any classifier by a metric recovered from PU data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recoup._core.checks import FloatArray, Scheme
from recoup._core.prior import Prior, estimation_method
from recoup.learners.cut_classifier import CutClassifier, check_is_audit
from recoup.learners.given_rows import checked_labels, labels_by_name
from recoup.metrics.chosen_threshold import N_REPLICATES, optimism_of_best
from recoup.metrics.curve_results import MetricCurve
from recoup.metrics.curves import metric_along, recovered_roc
from recoup.metrics.rates import prepare
from recoup.metrics.resample import bootstrap
from recoup.metrics.scorer import checked_metric


class TunedThreshold(CutClassifier):
    """Choose the threshold of a classifier by a metric recovered from PU data.

    A classifier that learned labeled against unlabeled rows gives hidden positives low scores,
    so that 0.5 is the wrong place to cut. This wrapper scores every row with a model that has
    not seen it, recovers the metric at every threshold from ``s`` alone, and keeps the best one.

    Parameters
    ----------
    estimator : classifier
        Any classifier with ``predict_proba`` or ``decision_function``. A clone is fitted on 1 for
        labeled rows and 0 for all others.
    metric : str, default="f1"
        Any metric of one threshold: ``"f1"``, ``"fbeta"``, ``"accuracy"``, ``"youden"``,
        ``"matthews_corrcoef"``, ``"expected_cost"``, ... Costs are minimized.
    alpha : float, PriorEstimate, str or None, default=None
        Share of positives among the unlabeled rows: a number, a result of :mod:`recoup.priors`, or
        a word that has it estimated before training, ``"estimate"`` or the key of an estimator such
        as ``"bbe"``. It is estimated from the out-of-fold scores. Most metrics need it; for them
        None is an error, unless there is an audit: then alpha only sharpens what the answers say.
    beta : float or "estimate", default=1.0
        Share of true positives among the labeled rows; 1.0 says that every label is right.
        ``"estimate"`` goes with an alpha that is estimated too.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        How the rows were collected. ``"single-sample"``: all rows are one sample of the population,
        and some of its positives have a label. ``"case-control"``: the unlabeled rows are the
        sample, and the labeled ones were collected apart. It decides which rows performance is
        about.
    metric_params : dict or None, default=None
        Settings of the metric, such as ``{"b": 2.0}`` for ``"fbeta"`` or ``{"fp_cost": 1.0,
        "fn_cost": 10.0}`` for ``"expected_cost"``. None leaves them as they are.
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
        Rows with ``score >= threshold_`` are predicted positive. Infinite where it is best to
        predict no row positive.
    best_score_ : float
        The recovered metric at the threshold, less what choosing the best of many thresholds adds
        to it on average (Efron 1983, by 200 bootstrap replicates). ``curve_.best_value`` is the
        value before that. With an audit, what so few answers add: the answers are drawn again
        1,000 times, and each draw's value at its own best threshold is set against the mean of
        all draws there. It is then about these rows, and equals the true value if all of them
        were checked.
    prior_ : PriorEstimate or None
        The estimate of alpha and beta; None where they were given. With an audit, the one that
        comes from the answers.
    curve_ : MetricCurve
        The recovered metric at every threshold.
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
    Known negatives (``s == -1``) are 0 to the classifier, like unlabeled rows; the folds and the
    metric know them for what they are.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.metrics import f1_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> hidden = np.random.default_rng(0).random(len(y)) < 0.5
    >>> s = np.where(hidden, 0, y)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> tuned = TunedThreshold(model, alpha=y[s == 0].mean(), random_state=0).fit(X, s)
    >>> f1_score(y, model.fit(X, s).predict(X)), f1_score(y, tuned.predict(X))
    (0.73, 0.96)
    """

    def __init__(
        self,
        estimator: Any,
        *,
        metric: str = "f1",
        alpha: Any = None,
        beta: float | str = 1.0,
        scheme: Scheme = "single-sample",
        metric_params: dict[str, float] | None = None,
        cv: int | Any = 5,
        n_jobs: int | None = None,
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.metric = metric
        self.alpha = alpha
        self.beta = beta
        self.scheme = scheme
        self.metric_params = metric_params
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
    ) -> TunedThreshold:
        """Choose the threshold from out-of-fold scores, then fit the classifier on all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame with n rows
            What the classifier takes.
        s : array-like of shape (n,), optional
            1 labeled positive, 0 unlabeled, -1 known negative.
        audit : Audit, optional
            Rows of X that somebody checked (:mod:`recoup.audit`), by their positions. They may
            have been drawn by other scores, or blindly. The metric at every threshold then comes
            from the answers, whatever the labels are, and alpha may be left out.
        y : array-like of shape (n,), optional
            Another name for s, by which tools of scikit-learn pass it.

        Returns
        -------
        TunedThreshold
            Itself.
        """
        caller = "TunedThreshold.fit"
        check_is_audit(audit, caller)
        settings = self._checked_settings(caller, audit)
        s = checked_labels(labels_by_name(s, y, self), caller)
        scores = self._out_of_fold(X, s, caller)
        self.prior_ = self._estimated(s, scores, caller)
        if audit is not None:
            self.curve_, optimism = self._audited(s, scores, audit, caller)
        else:
            if self.prior_ is not None:
                settings |= {"alpha": self.prior_.alpha, "beta": self.prior_.beta}
            self.curve_ = self._recover(s, scores, settings, caller)
            optimism = self._optimism(s, scores, settings, caller)
        self.threshold_ = self.curve_.best_threshold
        self.best_score_ = self.curve_.best_value - optimism

        self._fit_wrapped(X, s)
        return self

    def _checked_settings(self, caller: str, audit: Any = None) -> dict[str, Any]:
        settings: dict[str, Any] = {"alpha": self.alpha, "beta": self.beta, "scheme": self.scheme}
        estimated = estimation_method(self.alpha, self.beta, caller) is not None
        if estimated or (audit is not None and self.alpha is None):
            # Any alpha will do to find settings that can never work.
            settings |= {"alpha": 0.0, "beta": 1.0}
        _, settings = checked_metric(self.metric, settings | (self.metric_params or {}), caller)
        self._recover([1, 0], [1.0, 0.0], settings, caller)  # refuses areas before any fit
        return settings

    def _audited(
        self, s: NDArray[np.int_], scores: FloatArray, audit: Any, caller: str
    ) -> tuple[MetricCurve, float]:
        """Return the metric at every threshold by the answers, and the optimism of the best."""
        known = (
            self.prior_
            if self.prior_ is not None
            else Prior.of(0.5 if self.alpha is None else self.alpha, self.beta, caller)
        )
        found: tuple[MetricCurve, float] = audit.best_threshold(
            s,
            scores,
            self.metric,
            metric_params=self.metric_params,
            alpha=None if self.alpha is None else known.alpha,
            beta=known.beta,
            scheme=self.scheme,
            caller=caller,
        )
        self.prior_ = audit.prior_estimate(s, scores, self.prior_, beta=known.beta, caller=caller)
        return found

    def _recover(
        self, s: ArrayLike, scores: ArrayLike, settings: dict[str, Any], caller: str
    ) -> MetricCurve:
        shared = {name: settings[name] for name in ("alpha", "beta", "scheme")}
        roc = recovered_roc(*prepare(s, scores, caller=caller, **shared))
        return metric_along(roc, self.metric, caller, **(self.metric_params or {}))

    def _optimism(
        self, s: ArrayLike, scores: FloatArray, settings: dict[str, Any], caller: str
    ) -> float:
        shared = {name: settings[name] for name in ("alpha", "beta", "scheme")}
        table, _ = prepare(s, scores, caller=caller, **shared)
        # Always the same numbers: a mean over replicates, which no fold should depend on.
        replicates = bootstrap(table, N_REPLICATES, np.random.default_rng(0))
        return optimism_of_best(replicates, **shared, metric=self.metric, params=self.metric_params)
