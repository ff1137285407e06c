"""Scores of any classifier for rows that it has not been fitted on, and whose labels come later."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import as_floats
from recoup._core.random import named_rng
from recoup.scores.crossfit import CrossfitScores, _auc_pu, _checked_method, _name, seeded
from recoup.scores.folds import PUStratifiedKFold

N_FOLDS = 5


def forward_scores(classifier: Any, X: Any, target: NDArray[np.int_], seed: int) -> CrossfitScores:
    """Score each fold by a model that was fitted on the folds before it; the first has no scores.

    In cross-fitting, the labels of each fold help to rank the rows of the others. If a model looks
    at near rows, two labeled neighbors in different folds then lift each other to the top, and the
    number of labels there varies up to twice as much as with labels at random. If folds are only
    ranked by earlier ones, this cannot happen.

    Parameters
    ----------
    classifier : classifier or Pipeline
        As in scikit-learn; it is cloned.
    X : array-like, sparse matrix or data frame with n rows
        Features.
    target : ndarray of shape (n,)
        1 labeled, 0 unlabeled.
    seed : int
        Deals rows to folds, and seeds the classifier.

    Returns
    -------
    CrossfitScores
        Of the rows of all folds but the first.
    """
    from sklearn.utils import _safe_indexing

    rng = named_rng(seed, "scar_test", "folds")
    folds = [test for _, test in PUStratifiedKFold(N_FOLDS, random_state=rng).split(X, target)]
    source = _checked_method("auto", classifier, None)
    scores = np.full(len(target), np.nan)
    fold = np.full(len(target), -1)
    for number in range(1, len(folds)):
        earlier, later = np.concatenate(folds[:number]), folds[number]
        model = seeded(classifier, rng)
        model.fit(_safe_indexing(X, earlier), target[earlier])
        answers = as_floats(getattr(model, source)(_safe_indexing(X, later)), source, "scar_test")
        scores[later] = answers[:, 1] if answers.ndim == 2 else answers
        fold[later] = number
    tested = fold > 0
    s, scores = target[tested], scores[tested]
    return CrossfitScores(
        s, scores, fold[None, tested], _name(classifier), source, _auc_pu(s, scores)
    )
