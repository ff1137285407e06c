"""CutClassifier: a classifier of the user's, with a threshold chosen by scores of other folds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import check_cv, cross_val_predict
from sklearn.utils.validation import check_is_fitted

from recoup._core.checks import FloatArray, Scheme, brief
from recoup._core.prior import estimation_method
from recoup.exceptions import InvalidInputError
from recoup.learners.around_classifiers import WrappingClassifier
from recoup.learners.given_alpha import estimated_prior
from recoup.learners.given_rows import labels_by_name
from recoup.metrics.area import aul
from recoup.metrics.scorer import checked_metric
from recoup.priors.results import PriorEstimate
from recoup.scores.folds import PUStratifiedKFold


class CutClassifier(WrappingClassifier):
    """Base of classifiers whose threshold is chosen by scores of models that have not seen the row.

    A subclass chooses ``threshold_`` and keeps ``prior_``, the estimate of alpha if there is one.
    """

    wrapped_parameter: ClassVar[str] = "estimator"

    estimator: Any
    alpha: Any
    beta: Any
    scheme: Scheme
    cv: Any
    n_jobs: int | None
    random_state: Any
    threshold_: float
    prior_: PriorEstimate | None

    def predict(self, X: Any) -> NDArray[np.int_]:
        """Predict 1 for rows with a score at or above the threshold, 0 for the others.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame with n rows
            What the classifier takes.

        Returns
        -------
        ndarray of shape (n,)
            1 positive, 0 negative.
        """
        labels: NDArray[np.int_] = (self._scores(X) >= self.threshold_).astype(int)
        return labels

    def score(
        self,
        X: Any,
        s: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        y: ArrayLike | None = None,
    ) -> float:
        """Return the area under the lift curve (AUL), for which no prior is needed.

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
        settings = self._shares() | {"scheme": self.scheme}
        _, settings = checked_metric("aul", settings, f"{type(self).__name__}.score")
        return aul(s, self._scores(X), sample_weight=sample_weight, **settings)

    def _scores(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        return _positive_column(getattr(self.estimator_, self.response_method_)(X))

    def _shares(self) -> dict[str, Any]:
        """Return alpha and beta as they were given or estimated."""
        if self.prior_ is not None:
            return {"alpha": self.prior_.alpha, "beta": self.prior_.beta}
        return {"alpha": self.alpha, "beta": self.beta}

    def _out_of_fold(self, X: Any, s: NDArray[np.int_], caller: str) -> FloatArray:
        """Score every row by a model that was fitted on the other folds."""
        self.response_method_ = _response_method(self.estimator, caller)
        answers = cross_val_predict(
            clone(self.estimator),
            X,
            (s == 1).astype(int),
            cv=self._splits(X, s),
            method=self.response_method_,
            n_jobs=self.n_jobs,
        )
        return _positive_column(answers)

    def _estimated(self, s: ArrayLike, scores: FloatArray, caller: str) -> PriorEstimate | None:
        method = estimation_method(self.alpha, self.beta, caller)
        if method is None:
            return None
        return estimated_prior(s, scores, method, self.beta, self.random_state, caller)

    def _splits(self, X: Any, s: ArrayLike) -> Iterable[Any]:
        """Split by s rather than by the classifier's target, which hides known negatives."""
        if isinstance(self.cv, int | np.integer):
            folds: Any = PUStratifiedKFold(int(self.cv), random_state=self.random_state)
        else:
            folds = check_cv(self.cv, s, classifier=True)
        return list(folds.split(X, s))


def check_is_audit(audit: Any, caller: str) -> None:
    """Require an audit, or none."""
    if audit is not None and not hasattr(audit, "best_threshold"):
        raise InvalidInputError(
            f"{caller} needs audit to be a recoup.audit.Audit. Got {brief(type(audit).__name__)}. "
            f"Pass plan.answers(rows, truth), or Audit.uniform(rows, truth)."
        )


def _response_method(estimator: Any, caller: str) -> str:
    for method in ("predict_proba", "decision_function"):
        if hasattr(estimator, method):
            return method
    raise InvalidInputError(
        f"{caller} needs a classifier with predict_proba or decision_function: without scores "
        f"there is no threshold to tune. Got {type(estimator).__name__}."
    )


def _positive_column(answers: Any) -> FloatArray:
    scores: FloatArray = np.asarray(answers, float)
    return scores[:, -1] if scores.ndim == 2 else scores
