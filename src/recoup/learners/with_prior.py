"""WithPrior: any classifier, with an estimate of how many positives hide in its training rows."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from recoup._core.checks import brief
from recoup._core.prior import estimation_method
from recoup._core.random import as_generator
from recoup.exceptions import InvalidInputError
from recoup.learners.around_classifiers import WrappingClassifier
from recoup.learners.base import checked_labels, estimated_prior
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
    scored_by : {"auto", "logistic", "boosting", "forest"}, classifier or None, default=None
        What scores the rows for the estimate. None takes the classifier itself. Name one to give
        all candidates of a grid search the same alpha in a fold (see Notes).
    beta : float or "estimate", default=1.0
        Share of true positives among the labeled rows, for methods given by their name; 1.0 says
        that every label is right.
    cv : int, splitter or iterable of (train, test), default=3
        How rows are split to score each with a model that has not seen it, as in
        :func:`recoup.scores.crossfit`.
    n_jobs : int or None, default=None
        Folds fitted at the same time, as in scikit-learn.
    random_state : int, Generator, RandomState or None, default=None
        Seed of all that is random. It deals rows to folds and seeds the estimate.

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
    seems higher than it is; and the higher alpha, the better the recovered metrics. Where the
    candidates of a search differ much, set ``scored_by``: one alpha for all keeps a poor one from
    winning by its own estimate.

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
        scored_by: Any = None,
        beta: float | str = 1.0,
        cv: int | Any = 3,
        n_jobs: int | None = None,
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> None:
        self.classifier = classifier
        self.method = method
        self.scored_by = scored_by
        self.beta = beta
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, s: ArrayLike) -> WithPrior:
        """Estimate alpha from out-of-fold scores, then fit the classifier on all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame with n rows
            What the classifier takes.
        s : array-like of shape (n,)
            1 labeled positive, 0 unlabeled, -1 known negative.

        Returns
        -------
        WithPrior
            Itself.
        """
        caller = "WithPrior.fit"
        method = self._checked_method(caller)
        s = checked_labels(s, caller)
        rng = as_generator(self.random_state, caller)
        found = self._scored(X, s, rng, caller)
        self.prior_: PriorEstimate = estimated_prior(
            found.s, found.scores, method, self.beta, rng, caller
        )
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

    def score(self, X: Any, s: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the area under the lift curve (AUL), for which clean labels need no prior.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame with n rows
            Rows that were not trained on.
        s : array-like of shape (n,)
            1 labeled positive, 0 unlabeled, -1 known negative.
        sample_weight : array-like of shape (n,), optional
            How much each row counts. By default all count alike.

        Returns
        -------
        float
            From 0 to 1; 1/2 for scores that say nothing.
        """
        check_is_fitted(self)
        if hasattr(self.classifier_, "predict_proba"):
            scores = self.predict_proba(X)[:, 1]
        else:
            scores = self.decision_function(X)
        # Where every label is right none is needed, whatever the estimate is worth.
        alpha = self.alpha_ if self.beta_ < 1 else None
        return aul(s, scores, alpha=alpha, beta=self.beta_, sample_weight=sample_weight)

    def _scored(
        self, X: Any, s: NDArray[Any], rng: np.random.Generator, caller: str
    ) -> CrossfitScores:
        scorer = self.classifier if self.scored_by is None else self.scored_by
        if isinstance(scorer, str):
            return honest_scores(X, s, scorer, int(rng.integers(2**31)), caller)
        return crossfit(
            scorer, X, s, cv=self.cv, n_jobs=self.n_jobs, random_state=rng, progress=False
        )

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
