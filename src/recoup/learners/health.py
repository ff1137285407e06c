"""Whether a fit has failed, as far as labeled and unlabeled rows can show it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recoup.learners.cut import HonestScores, Source, few_or_more_folds
from recoup.priors._solvers.transform import (
    CLASSIFIERS,
    SURE,
    auc_error,
    clearly_better,
    placements,
)

HealthCode: TypeAlias = Literal[
    "ok",
    "ranks-backwards",
    "calls-all-positive",
    "calls-none-positive",
    "worse-than-reference",
    "cannot-tell",
]

# Of the positives, or of the negatives: who calls fewer so has not found them.
FEWEST_CALLED = 0.1
# The same on rows that a network was trained on: it knows those by heart, and calls fewer new ones.
FEWEST_CALLED_TRAINING = 0.5
# In AUC against the true classes: how much better a simple classifier must be at least.
FAR_BELOW = 0.1
# An AUC from which on nothing can be that much better.
BEST_MATTERS = 1 - FAR_BELOW
# Labeled rows below which an error of the AUC cannot be estimated.
FEWEST_LABELED = 4
# Labeled rows below which rows that a model was trained on show nothing.
FEWEST_TRAINED = 20
# What a quick reference is fitted on at most: rows, and features for boosting.
MOST_ROWS, MOST_FEATURES = 3000, 100

SENTENCES = {
    "ok": "nothing is wrong as far as labels can show",
    "ranks-backwards": "unlabeled rows rank above labeled ones",
    "calls-all-positive": "nearly all rows are called positive",
    "calls-none-positive": "far too few rows are called positive",
    "worse-than-reference": "a simple classifier tells labeled rows apart far better",
    "cannot-tell": "labels are too few, or too much like the other rows, to show that the scores "
    "rank better than chance",
}


@dataclass(frozen=True)
class Health:
    """What the guard found after a fit.

    Attributes
    ----------
    code : str
        ``"ok"``, ``"ranks-backwards"``, ``"calls-all-positive"``, ``"calls-none-positive"``,
        ``"worse-than-reference"``, or ``"cannot-tell"`` where labels show neither a failure nor
        that the scores rank better than chance.
    source : {"cross-fitted", "out-of-bag", "held-out", "training"}
        What the model knows of the rows that ``auc_pu`` and ``recall`` are about.
    n_labeled : int
        How many of these are labeled.
    n_unlabeled : int
        How many are not.
    called : float
        Share of the unlabeled rows that is called positive.
    expected : float or None
        The share that should be, alpha; None where it is not known.
    recall : float
        Share of the labeled rows that is called positive.
    auc_pu : float
        P(a labeled row scores higher than an unlabeled one).
    reference_auc_pu : float or None
        The same for the better of a logistic regression and boosting on the same rows; None where
        the learner is good enough to do without, or has no such reference.
    retries : tuple of str
        What was tried after the first fit had failed, in this order.
    remarks : tuple of str
        What else is worth knowing, which is no failure.
    """

    code: HealthCode
    source: Source
    n_labeled: int
    n_unlabeled: int
    called: float
    expected: float | None
    recall: float
    auc_pu: float
    reference_auc_pu: float | None = None
    retries: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is known to be wrong."""
        return self.code in ("ok", "cannot-tell")

    @property
    def text(self) -> str:
        """What was found, in words."""
        numbers = [f"{self.called:.1%} of the unlabeled rows called positive"]
        if self.expected is not None:
            numbers[0] += f" where {self.expected:.1%} should be"
        numbers += [f"recall {self.recall:.2f} and AUC {self.auc_pu:.2f} of labeled rows"]
        if self.reference_auc_pu is not None:
            numbers += [f"AUC {self.reference_auc_pu:.2f} of a simple classifier"]
        tried = f" Tried: {', '.join(self.retries)}." if self.retries else ""
        return f"{SENTENCES[self.code]} ({'; '.join(numbers)}; {self.source} rows).{tried}"

    def warning(self, caller: str) -> str:
        """Return what to tell who has called for the fit.

        Parameters
        ----------
        caller : str
            The function that was called.

        Returns
        -------
        str
        """
        if self.ok:
            return (
                f"{caller} cannot tell whether it worked: {self.text} Take the scores for a guess "
                f"until there are more labels, or check some of the highest rows by hand."
            )
        return (
            f"{caller} has failed: {self.text} Do not use these scores before you know why. Look "
            f"at health_, try another learner, or check alpha and the labels."
        )

    def after(self, retries: tuple[str, ...]) -> Health:
        """Return the same with what was tried before.

        Parameters
        ----------
        retries : tuple of str
            What was tried, in this order.

        Returns
        -------
        Health
        """
        return replace(self, retries=retries)


def diagnosed(
    honest: HonestScores,
    everything: HonestScores,
    alpha: float | None,
    reference: HonestScores | None = None,
) -> Health:
    """Say whether decisions, which are above zero for positives, are of any use.

    Parameters
    ----------
    honest : HonestScores
        Decisions for rows that the model has not seen, if there are such rows.
    everything : HonestScores
        Decisions for all rows; they say how many are called positive.
    alpha : float or None
        Share of positives among the unlabeled rows, if it is known.
    reference : HonestScores, optional
        Of simple classifiers, for the rows of ``honest``.

    Returns
    -------
    Health
    """
    called = float(np.mean(everything.scores[everything.s == 0] > 0))
    has_labels = bool((honest.s == 1).any())
    labeled = (honest if has_labels else everything).scores[
        (honest if has_labels else everything).s == 1
    ]
    least, most = 0.0, 1.0
    if alpha is not None:
        by_heart = honest.source == "training"
        least = alpha * (FEWEST_CALLED_TRAINING if by_heart else FEWEST_CALLED)
        most = 1 - FEWEST_CALLED * (1 - alpha)
    ranked = honest if honest.has_both else everything
    code: HealthCode = "ok"
    if _ranks_backwards(ranked) or (everything.has_both and everything.auc_pu < 0.5):
        code = "ranks-backwards"
    elif called >= most and (alpha is None or alpha < 1):
        code = "calls-all-positive"
    elif called <= least and (alpha is None or alpha > 0):
        code = "calls-none-positive"
    elif reference is not None and _far_below(ranked, reference, alpha or 0.0):
        code = "worse-than-reference"
    elif not _shows_a_ranking(ranked):
        code = "cannot-tell"
    return Health(
        code=code,
        source=ranked.source,
        n_labeled=int((ranked.s == 1).sum()),
        n_unlabeled=int((ranked.s == 0).sum()),
        called=called,
        expected=alpha,
        recall=float(np.mean(labeled > 0)),
        auc_pu=ranked.auc_pu,
        reference_auc_pu=None if reference is None else reference.auc_pu,
    )


def _ranks_backwards(found: HonestScores) -> bool:
    """Whether the AUC is below one half by more than chance, or at all on rows of the training."""
    if found.auc_pu >= 0.5:
        return False
    if found.source == "training" or (found.s == 1).sum() < FEWEST_LABELED:
        return True
    return found.auc_pu + SURE * _error(found) < 0.5


def _shows_a_ranking(found: HonestScores) -> bool:
    """Whether the AUC is above one half by more than chance, as far as so few labels can show."""
    n_labeled = int((found.s == 1).sum())
    if found.source == "training":
        return n_labeled >= FEWEST_TRAINED
    return n_labeled >= FEWEST_LABELED and found.auc_pu - SURE * _error(found) > 0.5


def _error(found: HonestScores) -> float:
    return auc_error(found.s, placements(found))


def _far_below(found: HonestScores, reference: HonestScores, alpha: float) -> bool:
    gap = reference.auc_pu - found.auc_pu
    return gap > FAR_BELOW * (1 - alpha) and clearly_better(reference, found)


def needs_reference(found: HonestScores, alpha: float | None) -> bool:
    """Whether a simple classifier could be far better at all."""
    return 0.5 + (found.auc_pu - 0.5) / (1 - min(alpha or 0.0, 0.99)) < BEST_MATTERS


def quick_reference(
    X: NDArray[Any], s: NDArray[np.int_], held: NDArray[np.bool_]
) -> HonestScores | None:
    """Score held-out rows, or where there are none all rows, by simple classifiers.

    The one that tells labeled rows apart better is returned; None if neither can be fitted.
    """
    flat = X.reshape(len(X), -1)
    rng = np.random.default_rng(0)
    if held.any():
        splits = [(np.flatnonzero(~held), np.flatnonzero(held))]
    else:
        splits = few_or_more_folds(flat, s, rng)
        if not splits:
            return None
    names = ("logistic", "boosting") if flat.shape[1] <= MOST_FEATURES else ("logistic",)
    tests = np.concatenate([test for _, test in splits])
    found = []
    for name in names:
        parts = []
        for train, test in splits:
            rows = _some(train, s, rng)
            model = CLASSIFIERS[name]().fit(flat[rows], s[rows])
            parts.append(model.predict_proba(flat[test])[:, 1])
        source: Source = "held-out" if held.any() else "cross-fitted"
        order = np.argsort(tests)
        found.append(HonestScores(s[tests][order], np.concatenate(parts)[order], source))
    return max(found, key=lambda one: one.auc_pu)


def _some(rows: NDArray[np.intp], s: NDArray[np.int_], rng: np.random.Generator) -> Any:
    """Choose rows at random, not too many, half of them labeled where there are so many."""
    if len(rows) <= MOST_ROWS:
        return rows
    labeled, others = rows[s[rows] == 1], rows[s[rows] == 0]
    n_labeled = min(len(labeled), max(MOST_ROWS // 2, MOST_ROWS - len(others)))
    n_others = min(len(others), MOST_ROWS - n_labeled)
    chosen = (rng.choice(labeled, n_labeled, replace=False), rng.choice(others, n_others, False))
    return np.sort(np.concatenate(chosen))
