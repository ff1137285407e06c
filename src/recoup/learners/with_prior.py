"""WithPrior: any classifier, with an estimate of how many positives hide in its training rows."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from recoup._core.checks import brief
from recoup._core.prior import estimation_method
from recoup._core.random import as_generator
from recoup.exceptions import InvalidInputError
from recoup.learners.around_classifiers import WrappingClassifier
from recoup.learners.given_alpha import estimated_prior
from recoup.learners.given_rows import checked_labels, labels_by_name
from recoup.metrics.area import aul
from recoup.priors._solvers.transform import honest_scores
from recoup.priors.results import PriorEstimate
from recoup.scores.crossfit import CrossfitScores, crossfit


class WithPrior(WrappingClassifier):
    """A classifier that also estimates, from its training rows alone, how many positives hide.

    The rows are scored out of fold, the share of positives among the unlabeled ones is estimated
    from the scores, and the classifier is then fitted on all rows. In a cross-validation each fold
    so gets an estimate that its test rows have no part in: ``make_scorer(..., alpha="estimate")``
    reads it.

    Parameters
    ----------
    classifier : classifier
        Any classifier with ``predict_proba`` or ``decision_function``. A clone is fitted on 1 for
        labeled rows and 0 for all others.
    method : str or prior estimator, default="auto"
        How alpha is estimated: as in :func:`recoup.priors.estimate`, or an estimator of
        :mod:`recoup.priors`. In a large grid search a single one without an interval, such as
        ``BBE(interval=None)``, saves time.
    scored_by : {"auto", "logistic", "boosting", "forest"}, classifier or None, default="auto"
        What scores the rows for the estimate, whatever the classifier is, so that all candidates
        of a search get the same alpha in a fold (see Notes). ``"auto"`` takes logistic regression,
        or boosted trees if they tell labeled from unlabeled rows significantly better or rows have
        missing values. If X is nothing for them (texts, columns of words), pass a pipeline that
        takes it. None takes the classifier itself.
    beta : float or "estimate", default=1.0
        Share of true positives among the labeled rows, for methods given by their name; 1.0 says
        that every label is right.
    cv : int, splitter or iterable of (train, test), default=3
        How rows are split to score each with a model that has not seen it, as in
        :func:`recoup.scores.crossfit`.
    n_jobs : int or None, default=None
        Folds fitted at the same time, as in scikit-learn.
    random_state : int, Generator, RandomState or None, default=0
        Seed of all that is random. It deals rows to folds and seeds the estimate. With None the
        candidates of a search get estimates that differ by chance.

    Attributes
    ----------
    classifier_ : classifier
        Fitted on all rows.
    prior_ : PriorEstimate
        What was found about the training rows.
    alpha_ : float
        Share of positives among their unlabeled rows.
    beta_ : float
        Share of positives among their labeled rows.
    classes_ : ndarray of shape (2,)
        The classes, always 0 and 1.
    n_features_in_ : int
        Number of features of the training rows; missing where the classifier does not keep it.
    feature_names_in_ : ndarray of str
        Names of the features; missing where X has no column names.

    Notes
    -----
    Known negatives (``s == -1``) are 0 to the classifier and left out of the estimate.

    Scores of a poor classifier hide the border between positives and negatives, so that alpha
    seems higher than it is; and the higher alpha, the better the recovered metrics. With an alpha
    of its own (``scored_by=None``) a poor candidate wins a search by its own error. With one alpha
    for all the order by ``"roc_auc"`` in a fold is that of the AUC between labeled and unlabeled
    rows, whatever alpha is; the order by ``"brier"``, ``"f1"`` and most others depends on alpha.

    Measured by ``tools/studies/with_prior.py`` in 54 searches among 8 classifiers, with 1,500 rows
    of spambase, landsat or pendigits and labels at random: by recovered AUC, searches with one
    alpha for all picked the truly best classifier in 52% and lost 0.004 of true AUC on average, as
    plain AUC on the labels did; with an alpha for each, 39% and 0.029. By recovered Brier score,
    one alpha for all picked the truly best in 76% and lost 0.005, an alpha for each 78% and 0.009,
    and the plain Brier score on the labels 24% and 0.041.

    If ``scored_by`` is a name, and ``method`` a name or an estimator of recoup, the estimate is
    kept and used again for the same rows and settings: a search makes it once per fold and process,
    not once per candidate.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from recoup.metrics import make_scorer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> s = np.where(np.random.default_rng(0).random(len(y)) < 0.5, 0, y)
    >>> search = GridSearchCV(
    ...     WithPrior(DecisionTreeClassifier(random_state=0), method="bbe", random_state=0),
    ...     {"classifier__max_depth": [1, 3]},
    ...     scoring=make_scorer("roc_auc", alpha="estimate"),
    ...     cv=3,
    ... )
    >>> search.fit(X, s).best_params_
    {'classifier__max_depth': 3}
    """

    wrapped_parameter: ClassVar[str] = "classifier"

    def __init__(
        self,
        classifier: Any,
        method: Any = "auto",
        *,
        scored_by: Any = "auto",
        beta: float | str = 1.0,
        cv: int | Any = 3,
        n_jobs: int | None = None,
        random_state: int | np.random.Generator | np.random.RandomState | None = 0,
    ) -> None:
        self.classifier = classifier
        self.method = method
        self.scored_by = scored_by
        self.beta = beta
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, s: ArrayLike | None = None, *, y: ArrayLike | None = None) -> WithPrior:
        """Estimate alpha from out-of-fold scores, then fit the classifier on all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame with n rows
            What the classifier takes.
        s : array-like of shape (n,), optional
            1 labeled positive, 0 unlabeled, -1 known negative.
        y : array-like of shape (n,), optional
            Another name for s, by which tools of scikit-learn pass it.

        Returns
        -------
        WithPrior
            Itself.
        """
        caller = "WithPrior.fit"
        method = self._checked_method(caller)
        s = checked_labels(labels_by_name(s, y, self), caller)
        self.prior_: PriorEstimate = self._estimated(X, s, method, caller)
        self.alpha_, self.beta_ = self.prior_.alpha, self.prior_.beta
        self._fit_wrapped(X, s)
        return self

    def predict(self, X: Any) -> NDArray[np.int_]:
        """Return what the classifier predicts: for most, whether a row looks labeled.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame with n rows
            What the classifier takes.

        Returns
        -------
        ndarray of shape (n,)
            1 positive, 0 negative.
        """
        check_is_fitted(self)
        labels: NDArray[np.int_] = self.classifier_.predict(X)
        return labels

    def score(
        self,
        X: Any,
        s: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        y: ArrayLike | None = None,
    ) -> float:
        """Return the area under the lift curve (AUL), for which clean labels need no prior.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame with n rows
            Rows that were not trained on.
        s : array-like of shape (n,), optional
            1 labeled positive, 0 unlabeled, -1 known negative.
        sample_weight : array-like of shape (n,), optional
            How much each row counts. By default all count alike.
        y : array-like of shape (n,), optional
            Another name for s.

        Returns
        -------
        float
            From 0 to 1; 1/2 for scores that say nothing.
        """
        check_is_fitted(self)
        s = labels_by_name(s, y, self, "score")
        if hasattr(self.classifier_, "predict_proba"):
            scores = self.predict_proba(X)[:, 1]
        else:
            scores = self.decision_function(X)
        # Where every label is right none is needed, whatever the estimate is worth.
        alpha = self.alpha_ if self.beta_ < 1 else None
        return aul(s, scores, alpha=alpha, beta=self.beta_, sample_weight=sample_weight)

    def _estimated(self, X: Any, s: NDArray[Any], method: Any, caller: str) -> PriorEstimate:
        rng = as_generator(self.random_state, caller)
        # Both seeds are drawn before anything else, so that they are the same for any classifier.
        seeds = [int(rng.integers(2**31)) for _ in range(2)]

        def make() -> PriorEstimate:
            found = self._scored(X, s, seeds[0], caller)
            return estimated_prior(found.s, found.scores, method, self.beta, seeds[1], caller)

        settings = (method, self.scored_by, self.beta, self.cv)
        # None of scored_by is the classifier, which is not among the settings.
        if self.scored_by is None or not all(map(_is_settled, settings)):
            return make()
        return _kept_estimate(joblib.hash((X, s, *settings, *seeds)), make)

    def _scored(self, X: Any, s: NDArray[Any], seed: int, caller: str) -> CrossfitScores:
        if not isinstance(self.scored_by, str):
            scorer = self.classifier if self.scored_by is None else self.scored_by
            return crossfit(
                scorer, X, s, cv=self.cv, n_jobs=self.n_jobs, random_state=seed, progress=False
            )
        missing = self.scored_by == "auto" and _has_missing(X)
        try:
            return honest_scores(
                X,
                s,
                "boosting" if missing else self.scored_by,
                seed,
                caller,
                parameter="scored_by",
                cv=self.cv,
                n_jobs=self.n_jobs,
            )
        except InvalidInputError as error:
            if isinstance(error.__cause__, TypeError):  # as scikit-learn answers to odd objects
                raise TypeError(str(error)) from error
            raise

    def _checked_method(self, caller: str) -> Any:
        """Refuse a method that is none before anything is fitted."""
        if hasattr(self.method, "fit_scores"):
            return self.method
        if not isinstance(self.method, str):
            raise InvalidInputError(
                f"{caller} needs method to be 'auto', the key of a prior estimator, or one of "
                f"them. Got {brief(self.method)}."
            )
        return estimation_method(self.method, self.beta, caller)


# Estimates by the content of what they were made from; the oldest goes first.
_KEPT: dict[str, PriorEstimate] = {}
N_KEPT = 64


def _is_settled(value: Any) -> bool:
    """Say whether a setting gives the same estimate whenever its content is the same.

    Names and numbers do, and recoup's own estimators of alpha that hold nothing else. Another
    object may be of a class that was written anew since, which its content does not show.
    """
    if isinstance(value, str | Real):
        return True
    if not type(value).__module__.startswith("recoup.priors."):
        return False
    params = value.get_params(deep=False)
    seeded = params.pop("random_state", 0) is not None
    return seeded and all(value is None or _is_settled(value) for value in params.values())


def _kept_estimate(key: str, make: Callable[[], PriorEstimate]) -> PriorEstimate:
    """Return the estimate of this key, made now if it is not kept."""
    found = _KEPT.get(key)
    if found is None:
        found = _KEPT[key] = make()
        while len(_KEPT) > N_KEPT:
            # Another thread may have taken the oldest already.
            _KEPT.pop(next(iter(_KEPT)), None)
    return found


def _has_missing(X: Any) -> bool:
    """Say whether rows of numbers lack some."""
    if hasattr(X, "tocsr"):
        return False
    values = np.asarray(X)
    return values.dtype.kind == "f" and bool(np.isnan(values).any())
