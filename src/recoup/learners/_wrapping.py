"""What classifiers that wrap one of the user's have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from recoup._checks import FloatArray

Method = TypeVar("Method", bound=Callable[..., Any])


def _delegated(method: Method) -> Method:
    """Offer a method where the classifier has it too."""

    def offered(self: WrappingClassifier) -> bool:
        return hasattr(self._wrapped(), method.__name__)

    delegated: Method = available_if(offered)(method)
    return delegated


class WrappingClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Base of classifiers that fit the user's on labels, and hand on what it says.

    A subclass names the parameter that holds the user's classifier; once fitted, the clone has
    that name with an underscore.
    """

    wrapped_parameter: ClassVar[str]

    def _wrapped(self) -> Any:
        """Return the fitted classifier, or the user's where nothing is fitted yet."""
        name = self.wrapped_parameter
        return getattr(self, f"{name}_", getattr(self, name))

    def _fit_wrapped(self, X: Any, s: NDArray[Any]) -> None:
        """Fit a clone on 1 for labeled rows and 0 for all others."""
        name = self.wrapped_parameter
        fitted = clone(getattr(self, name)).fit(X, (s == 1).astype(int))
        setattr(self, f"{name}_", fitted)
        self.classes_ = np.array([0, 1])
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))

    @_delegated
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the classifier's own probabilities.

        They are of a row being labeled, unless the classifier is a PU learner.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame with n rows

        Returns
        -------
        ndarray of shape (n, 2)
        """
        check_is_fitted(self)
        probabilities: FloatArray = self._wrapped().predict_proba(X)
        return probabilities

    @_delegated
    def decision_function(self, X: Any) -> FloatArray:
        """Return the classifier's own decision function.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame with n rows

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self)
        decisions: FloatArray = self._wrapped().decision_function(X)
        return decisions

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what the wrapped classifier takes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags = get_tags(getattr(self, self.wrapped_parameter)).input_tags
        return tags
