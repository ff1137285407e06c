"""PUET: extra trees that minimize a PU risk."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from recoup._core.checks import FloatArray, Scheme, brief
from recoup._core.constraints import (
    N_JOBS,
    SCHEME,
    Constraints,
    Nothing,
    Number,
    WholeNumber,
    Words,
)
from recoup._core.optional import require
from recoup.exceptions import InvalidInputError
from recoup.learners._training.level_trees import ask_by_levels, grow_by_levels
from recoup.learners._training.trees import (
    LOGISTIC,
    QUADRATIC,
    Forest,
    Growth,
    ask_forest,
    check_forest,
    grow_forest,
)
from recoup.learners.base import Guard, LearnerTags, Presets, Probabilities, PULearner

Risk = Literal["nnpu", "upu"]
Loss = Literal["quadratic", "logistic"]
Engine = Literal["numba", "numpy"]

# What a probability is at least where most trees say positive, and at most where they do not.
JUST_ABOVE_HALF, HALF = float(np.nextafter(0.5, 1.0)), 0.5


class PUET(PULearner):
    r"""Extremely randomized trees, split where the PU risk of the best predictions falls most.

    Of the positives a node holds the mass :math:`W_p = \pi p / n_p` and of the negatives
    :math:`W_n = u / n_u - W_p`, with p of the :math:`n_p` labeled rows and u of the :math:`n_u`
    rows of the population. The best prediction for all of its rows has the risk

    .. math:: \frac{4 W_p W_n}{W_p + W_n} \quad\text{or}\quad
              -W_p \log \frac{W_p}{W_p + W_n} - W_n \log \frac{W_n}{W_p + W_n}

    with quadratic or logistic loss. Each split is the best of a few random cuts, one in each of
    a few random features. A leaf votes positive where :math:`W_p > W_n`, and the trees decide by
    majority; a tie is negative. Few labels make that call too few rows positive, so that by default
    as many are called as alpha says.

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
    n_estimators : int, default=100
        Number of trees. More of them make scores steadier and take longer. This is the published
        value.
    risk : {"nnpu", "upu"}, default="nnpu"
        Whether :math:`W_n` below zero counts as zero, as published, or as it is.
    loss : {"quadratic", "logistic"}, default="quadratic"
        Which of the two risks above a node has. The first is the published default.
    max_features : int, float, "sqrt" or None, default="sqrt"
        Features that do not stay the same within a node to try there: a number, a share of all, the
        square root of their number, as published, or all. It is rounded up.
    max_candidates : int, default=1
        Random cuts to try in each of them. More make trees fit closer and differ less.
    max_depth : int or None, default=None
        Splits on the way to a leaf at most. None sets no limit, as published; set one for
        ``risk="upu"``.
    min_samples_leaf : int, default=1
        Nodes with no more rows than this are leaves. Raise it for smoother probabilities.
    engine : {"numba", "numpy"}, default="numba"
        What grows the trees and asks them. ``"numba"`` is compiled and needs an extra package.
        ``"numpy"`` grows all trees at once on any install; the trees differ by their random draws,
        and time by a factor of a few.
    n_jobs : int or None, default=None
        Threads that grow trees and score rows, -1 for one per core; None takes one. Results do not
        depend on it.
    threshold : {"own", "alpha", "f1"} or float, default="alpha"
        Where a row counts as positive. ``"own"`` is the cut of the method itself; ``"alpha"`` calls
        as many rows of the population positive as alpha says; ``"f1"`` takes the best F1 as
        recovered with alpha; a number is a score of the method itself. ``"alpha"`` and ``"f1"`` are
        read off rows that the model has not seen: those that a network holds out, out-of-bag
        scores, or else those of five more fits. Where there are none, training rows have to do.
        Published is ``"own"``, the majority of the trees, which calls too few rows positive.
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
        Seed of all that is random. An integer makes every fit the same, bit for bit.

    Attributes
    ----------
    feature_importances_ : ndarray of shape (n_features,)
        How much the splits on each feature reduce the risk, summed in each tree and averaged over
        trees. The sum over features is the risk of the root less the mean risk of all leaves.
    tree_roots_ : ndarray of shape (n_estimators + 1,)
        Where the nodes of each tree begin, and where the last ones end.
    node_features_ : ndarray of shape (n_nodes,)
        The feature of a node's split, or -1 in a leaf.
    node_thresholds_ : ndarray of shape (n_nodes,)
        The highest value that goes left, to the next node.
    node_rights_ : ndarray of shape (n_nodes,)
        The node for the others, counted from the root.
    node_shares_ : ndarray of shape (n_nodes,)
        The share of positives in a leaf.
    node_votes_ : ndarray of shape (n_nodes,)
        The vote of a leaf.
    alpha_ : float or None
        Share of positives among the unlabeled rows, as given or estimated; None without either.
    prior_ : PriorEstimate or None
        The estimate that ``alpha_`` comes from; None where it was a number.
    pi_ : float
        Share of positives in the population, which follows from ``alpha_`` and ``scheme``.
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
    ``predict_proba`` is the mean share of positives, between 0 and 1, in the leaves of a row. It
    stays on the side of one half that most trees vote for.

    With ``risk="upu"`` the more labeled rows a small node holds the further its risk falls below
    zero. Deep trees, above all those of the quadratic loss, then cut labeled rows off one by one
    and call almost all others negative: limit ``max_depth``. Splits whose risk is minus infinity
    are left out of ``feature_importances_``.

    By default the trees need numba (``pip install 'recoup[trees]'``), which compiles them in the
    first fit and, where it can write to a cache, only then; ``engine="numpy"`` does without.
    Features of type float32 are used as they are, others as float64.

    References
    ----------
    Wilton, Koay, Ko, Xu and Ye, "Positive-unlabeled learning using random forests via recursive
    greedy risk minimization", NeurIPS 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from recoup.learners.puet import PUET
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(2000) < 0.4
    >>> X = rng.normal(size=(2000, 3)) + np.outer(y, [3.0, 0.0, 0.0])
    >>> s = (y & (rng.random(2000) < 0.5)).astype(int)
    >>> learner = PUET(alpha=0.25, random_state=0).fit(X, s)
    >>> bool(np.mean(learner.predict(X) == y) > 0.85)
    True
    >>> int(learner.feature_importances_.argmax())
    0
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="puet",
        family="risk",
        cost="n log n per tree",
        effort=0.8,
        source="Wilton et al. 2022",
        needs_alpha=True,
    )
    presets: ClassVar[Presets] = {
        "pubench": {"n_estimators": 30, "max_depth": 30, "threshold": "own"},
    }
    constraints: ClassVar[Constraints] = {
        "scheme": SCHEME,
        "n_estimators": WholeNumber(),
        "risk": Words(*get_args(Risk)),
        "loss": Words(*get_args(Loss)),
        "max_features": WholeNumber() | Number(above=0, most=1) | Words("sqrt") | Nothing(),
        "max_candidates": WholeNumber(),
        "max_depth": WholeNumber() | Nothing(),
        "min_samples_leaf": WholeNumber(),
        "engine": Words(*get_args(Engine)),
        "n_jobs": N_JOBS,
    }
    alpha_: float

    def __init__(
        self,
        alpha: Any = "estimate",
        *,
        scheme: Scheme = "single-sample",
        n_estimators: int = 100,
        risk: Risk = "nnpu",
        loss: Loss = "quadratic",
        max_features: int | float | Literal["sqrt"] | None = "sqrt",
        max_candidates: int = 1,
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        engine: Engine = "numba",
        n_jobs: int | None = None,
        threshold: str | float = "alpha",
        probabilities: Probabilities = "own",
        guard: Guard = "retry",
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> None:
        self.alpha = alpha
        self.scheme = scheme
        self.n_estimators = n_estimators
        self.risk = risk
        self.loss = loss
        self.max_features = max_features
        self.max_candidates = max_candidates
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.engine = engine
        self.n_jobs = n_jobs
        self.threshold = threshold
        self.probabilities = probabilities
        self.guard = guard
        self.random_state = random_state

    def _probabilities(self, X: NDArray[Any]) -> FloatArray:
        positive = self._decide(X) + HALF
        return np.column_stack([1 - positive, positive])

    def _fit(self, X: NDArray[Any], s: NDArray[np.int_], rng: np.random.Generator) -> None:
        labeled = s == 1
        pooled = self.scheme == "single-sample"
        in_sample = float(np.where(labeled, 1.0, self.alpha_).mean())
        self.pi_ = in_sample if pooled else self.alpha_
        if self.pi_ <= 0:
            raise InvalidInputError(
                "PUET.fit needs alpha above 0 with scheme='case-control': without positives in "
                "the population every tree is a single leaf. Got alpha=0. Pass a larger one, or "
                "scheme='single-sample' if all rows are one sample."
            )
        growth = Growth(
            pi=self.pi_,
            pooled=pooled,
            clipped=self.risk == "nnpu",
            loss=QUADRATIC if self.loss == "quadratic" else LOGISTIC,
            max_features=self._n_features_to_try(X.shape[1]),
            max_candidates=self.max_candidates,
            max_depth=len(X) if self.max_depth is None else min(self.max_depth, len(X)),
            min_rows=min(self.min_samples_leaf, len(X)),
        )
        seeds = rng.integers(2**64, size=self.n_estimators, dtype=np.uint64)
        if self.engine == "numba":
            forest, self.feature_importances_ = grow_forest(X, labeled, seeds, growth, self.n_jobs)
        else:
            forest, self.feature_importances_ = grow_by_levels(X, labeled, seeds, growth)
        self.tree_roots_, self.node_features_, self.node_thresholds_ = forest[:3]
        self.node_rights_, self.node_shares_, self.node_votes_ = forest[3:]

    def _decide(self, X: NDArray[Any]) -> FloatArray:
        if self.engine == "numba":
            shares, votes = ask_forest(self._forest(), X, self.n_jobs)
        else:
            shares, votes = ask_by_levels(self._forest(), X)
        held = np.where(votes > HALF, np.maximum(shares, JUST_ABOVE_HALF), np.minimum(shares, HALF))
        decisions: FloatArray = held - HALF
        return decisions

    def _forest(self) -> Forest:
        return Forest(
            self.tree_roots_,
            self.node_features_,
            self.node_thresholds_,
            self.node_rights_,
            self.node_shares_,
            self.node_votes_,
        )

    def _check_restored(self, caller: str) -> None:
        super()._check_restored(caller)
        try:
            check_forest(self._forest(), self.n_features_in_)
        except (AttributeError, IndexError, TypeError, ValueError) as error:
            raise InvalidInputError(
                f"{caller} finds trees that lead nowhere: the file is damaged or made up. Fit and "
                f"save the learner again. ({brief(str(error), 80)})"
            ) from error

    def _n_features_to_try(self, n_features: int) -> int:
        if self.max_features is None:
            return n_features
        if self.max_features == "sqrt":
            return math.ceil(math.sqrt(n_features))
        if isinstance(self.max_features, Integral):
            return min(int(self.max_features), n_features)
        # 0.7 of 10 features is 7.000000000000001 of them.
        return math.ceil(round(float(self.max_features) * n_features, 9))

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        self._check_unmasked(X, reset)
        return validate_data(self, X, dtype=[np.float64, np.float32], reset=reset)

    def _require_packages(self) -> None:
        if self.engine == "numba":
            require("numba", purpose="PUET", install="'recoup[trees]'")
