"""NoisyPU and AlphaMaxNoisy: alpha and beta together, when some labels are wrong."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from recoup._core.checks import FloatArray, brief
from recoup._core.constraints import Constraints, Flag, Instance, Nothing, Number
from recoup._core.notes import Note
from recoup.exceptions import InvalidInputError
from recoup.priors._solvers.resample import exchanged
from recoup.priors.alphamax import AlphaMax
from recoup.priors.base import Finding, PriorTags, ScorePriorEstimator, plausible
from recoup.priors.bbe import BBE
from recoup.priors.conversions import unmixed_shares
from recoup.priors.results import PriorCurve, PriorEstimate
from recoup.scores.table import ScoreTable

# Drawn rows that cannot be told apart say nothing; all rows that cannot are refused.
ALMOST_ONE = 1 - 1e-6
ON_SCORES = Instance(
    ScorePriorEstimator,
    "an estimator of alpha alone, from scores",
    why="it is run on the same scores with exchanged roles",
    hint="Pass an object such as recoup.priors.BBE().",
)


@dataclass(kw_only=True, eq=False, repr=False)
class _BothDirections(ScorePriorEstimator):
    """Base of estimators of alpha and beta by two runs, the second with exchanged roles."""

    @abstractmethod
    def _directions(self) -> tuple[ScorePriorEstimator, ScorePriorEstimator]:
        """Estimators for the two runs."""

    def _solve(self, table: ScoreTable, rng: np.random.Generator) -> Finding:
        first, second = self._directions()
        there, back = first._solve(table, rng), second._solve(exchanged(table), rng)
        kappa_1, kappa_2 = (float(np.clip(run.alpha, 0.0, 1.0)) for run in (there, back))
        alpha, beta = unmixed_shares(min(kappa_1, ALMOST_ONE), min(kappa_2, ALMOST_ONE))
        return Finding(
            alpha,
            beta,
            curve=_joined(there.curve, back.curve),
            converged=there.converged and back.converged,
            warnings=there.warnings
            + tuple(note.about("With roles exchanged") for note in back.warnings),
            kappa_1=kappa_1,
            kappa_2=kappa_2,
        )

    def _estimated(
        self,
        table: ScoreTable,
        transform: str,
        refits: Callable[[int], ScoreTable] | None,
        started: float,
    ) -> PriorEstimate:
        finding = self._solve(table, self._rng("point"))
        if finding.kappa_1 * finding.kappa_2 >= 1:
            raise InvalidInputError(
                f"{self._name} needs labeled and unlabeled rows that differ. Got kappa_1 = "
                f"kappa_2 = 1: each sample could be all of the other, so that alpha and beta can "
                f"be anything. Use scores that tell the two apart."
            )
        draws = None
        if self.interval is not None:
            draws = self._draws(table, finding, refits)
        finding, draws = self._decided(table, finding, draws)
        sizes = (int(table.n_labeled), int(table.n_unlabeled))
        return self._concluded(finding, draws, sizes, table, transform, started)

    def _decided(
        self, table: ScoreTable, finding: Finding, draws: FloatArray | None
    ) -> tuple[Finding, FloatArray | None]:
        """Choose between what was found and labels that are all right."""
        return finding, draws


@dataclass(kw_only=True, eq=False, repr=False)
class NoisyPU(_BothDirections):
    r"""Alpha and beta by any estimator, run a second time with labeled and unlabeled exchanged.

    The first run finds how much of the unlabeled rows may be distributed as the labeled ones,
    :math:`\kappa_1 = \alpha / \beta`; the second how much of the labeled rows as the unlabeled
    ones, :math:`\kappa_2 = (1 - \beta) / (1 - \alpha)`. Hence

    .. math::

        \alpha = \frac{\kappa_1 (1 - \kappa_2)}{1 - \kappa_1 \kappa_2}, \qquad
        \beta = \frac{1 - \kappa_2}{1 - \kappa_1 \kappa_2}

    Where the classes overlap, every estimator finds some :math:`\kappa_2` in clean labels too. So
    labels count as wrong only if its lower confidence limit exceeds a tolerance; otherwise beta
    is 1 and alpha is :math:`\kappa_1`.

    Parameters
    ----------
    estimator : PriorEstimator, optional
        The estimator to run. It must read scores and find alpha alone. By default
        :class:`recoup.priors.BBE`. Its own ``transform``, ``interval`` and ``random_state`` are
        not used; those given here are.
    transform : {"auto", "logistic", "boosting", "forest"}, classifier or None, default="auto"
        How ``fit`` turns features into scores. Every row is scored by a classifier that was
        fitted on other rows. ``"auto"`` takes logistic regression, or boosted trees if they tell
        labeled from unlabeled rows significantly better. None: X is one column of scores.
        ``fit_scores`` does not use it.
    interval : {"subsample", "bootstrap", "refit"} or None, default="subsample"
        How the interval around alpha is made. ``"subsample"`` draws fewer rows without
        replacement and scales the spread down; ``"bootstrap"`` draws as many rows with
        replacement. Both keep the scores. ``"refit"`` draws rows and fits the classifier anew, so
        that its variation is covered too. None: no interval.
    n_draws : int, default=200
        How many times rows are drawn for the interval. More draws make it steadier and slower.
    confidence : float, default=0.95
        Level of the interval, between 0 and 1.
    random_state : int, Generator, RandomState or None, default=0
        Seed of everything random. The same number gives the same estimate.
    second : PriorEstimator, optional
        The estimator to run with exchanged roles. By default the same one.
    tolerance : float, default=0.05
        Labels count as right as long as the lower limit of :math:`\kappa_2` is not above this
        share. Raise it where the classes overlap much.
    always : bool, default=False
        True: beta is what the formula gives, and ``tolerance`` is not used. False: beta is 1
        unless the limit exceeds ``tolerance``.

    Attributes
    ----------
    estimate_ : PriorEstimate
        The result: alpha, its interval, and reasons to doubt it.
    alpha_ : float
        The estimated share of positives among the unlabeled rows.

    References
    ----------
    Jain, White and Radivojac, "Estimating the class prior and posterior from noisy positives and
    unlabeled data", NIPS 2016, arXiv:1606.08561.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> s = np.repeat([1, 0], [1000, 4000])
    >>> positive = rng.random(5000) < np.where(s == 1, 0.8, 0.3)
    >>> scores = rng.normal(np.where(positive, 4.0, 0.0))
    >>> found = NoisyPU(n_draws=50).fit_scores(s, scores).estimate_
    >>> round(found.alpha, 2), round(found.beta, 2)
    (0.3, 0.78)
    """

    tags: ClassVar[PriorTags] = PriorTags(
        key="noisy-pu",
        reads="scores",
        assumes="neither class holds a share that is distributed as the other",
        cost="that of its estimator, twice",
        source="Jain et al. 2016",
        finds_beta=True,
        wraps=True,
    )
    constraints: ClassVar[Constraints] = {
        "estimator": ON_SCORES | Nothing(),
        "second": ON_SCORES | Nothing(),
        "tolerance": Number(least=0, below=1, why="it is a share of the labeled rows"),
        "always": Flag(),
    }

    estimator: Any = field(default=None, kw_only=False)
    second: Any = None
    tolerance: float = 0.05
    always: bool = False

    def _check_options(self) -> None:
        super()._check_options()
        for name in ("estimator", "second"):
            inner = getattr(self, name)
            if inner is None:
                continue
            if inner.tags.finds_beta:
                raise InvalidInputError(
                    f"NoisyPU needs {name} to estimate alpha alone, from scores: it is run on "
                    f"the same scores with exchanged roles. Got {brief(inner)}. "
                    f"Pass an object such as recoup.priors.BBE()."
                )
            inner._check_options()

    def _directions(self) -> tuple[ScorePriorEstimator, ScorePriorEstimator]:
        first = clone(self.estimator) if self.estimator is not None else BBE()
        return first, clone(self.second) if self.second is not None else first

    def _decided(
        self, table: ScoreTable, finding: Finding, draws: FloatArray | None
    ) -> tuple[Finding, FloatArray | None]:
        if self.always:
            return finding, draws
        pairs = draws
        if pairs is None:
            # The answer must not depend on whether an interval is asked for.
            pairs = (
                clone(self)
                .set_params(interval="subsample", random_state=self._seed)
                ._draws(table, finding, None)
            )
        alpha, beta = pairs.T
        # kappa_2 of each draw, from its alpha and beta.
        limit = float(np.quantile((1 - beta) / (1 - alpha), 1 - self.confidence))
        told = f"At least {limit:.3f} of the labeled rows look like unlabeled ones"
        if limit > self.tolerance:
            warning = Note(
                "wrong-labels",
                f"{told}, more than the tolerance of {self.tolerance:g}: labels count as partly "
                f"wrong. Overlap of the classes has the same effect: if they are known to be "
                f"right, run the estimator alone.",
            )
            return replace(finding, warnings=(*finding.warnings, warning)), draws
        warning = Note(
            "right-labels",
            f"{told}, not more than the tolerance of {self.tolerance:g}: all labels count as "
            f"right (beta = 1).",
        )
        clean = replace(
            finding, alpha=finding.kappa_1, beta=1.0, warnings=(*finding.warnings, warning)
        )
        if draws is None:
            return clean, None
        # With right labels alpha is kappa_1 = alpha / beta of the draws.
        return clean, plausible(np.column_stack([alpha / beta, np.ones(len(draws))]), both=True)


@dataclass(kw_only=True, eq=False, repr=False)
class AlphaMaxNoisy(_BothDirections):
    r"""AlphaMax in both directions: alpha and beta as in the paper that introduced them.

    From :math:`\kappa_1 = \alpha / \beta` and, with labeled and unlabeled rows exchanged,
    :math:`\kappa_2 = (1 - \beta) / (1 - \alpha)`:

    .. math::

        \alpha = \frac{\kappa_1 (1 - \kappa_2)}{1 - \kappa_1 \kappa_2}, \qquad
        \beta = \frac{1 - \kappa_2}{1 - \kappa_1 \kappa_2}

    Unlike :class:`NoisyPU`, it finds beta always, so that clean labels come out as slightly wrong
    where the classes overlap.

    Parameters
    ----------
    mirror : bool, default=False
        Whether the shares that are tried lie closer together near 1 as well as near 0. Without
        it neither kappa exceeds 0.89; with it the elbow is less stable.
    transform : {"auto", "logistic", "boosting", "forest"}, classifier or None, default="auto"
        How ``fit`` turns features into scores. Every row is scored by a classifier that was
        fitted on other rows. ``"auto"`` takes logistic regression, or boosted trees if they tell
        labeled from unlabeled rows significantly better. None: X is one column of scores.
        ``fit_scores`` does not use it.
    interval : {"subsample", "bootstrap", "refit"} or None, default="subsample"
        How the interval around alpha is made. ``"subsample"`` draws fewer rows without
        replacement and scales the spread down; ``"bootstrap"`` draws as many rows with
        replacement. Both keep the scores. ``"refit"`` draws rows and fits the classifier anew, so
        that its variation is covered too. None: no interval.
    n_draws : int, default=200
        How many times rows are drawn for the interval. More draws make it steadier and slower.
    confidence : float, default=0.95
        Level of the interval, between 0 and 1.
    random_state : int, Generator, RandomState or None, default=0
        Seed of everything random. The same number gives the same estimate.

    Attributes
    ----------
    estimate_ : PriorEstimate
        The result: alpha, its interval, and reasons to doubt it.
    alpha_ : float
        The estimated share of positives among the unlabeled rows.

    References
    ----------
    Jain, White and Radivojac, "Estimating the class prior and posterior from noisy positives and
    unlabeled data", NIPS 2016, arXiv:1606.08561.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> s = np.repeat([1, 0], [1000, 4000])
    >>> positive = rng.random(5000) < np.where(s == 1, 0.8, 0.3)
    >>> scores = rng.normal(np.where(positive, 4.0, 0.0))
    >>> found = AlphaMaxNoisy(n_draws=20).fit_scores(s, scores).estimate_
    >>> round(found.alpha, 2), round(found.beta, 2)
    (0.3, 0.8)
    """

    tags: ClassVar[PriorTags] = PriorTags(
        key="alphamax-noisy",
        reads="scores",
        assumes="neither class holds a share that is distributed as the other",
        cost="n log n",
        source="Jain et al. 2016",
        finds_beta=True,
    )
    constraints: ClassVar[Constraints] = {"mirror": Flag()}

    mirror: bool = False

    def _directions(self) -> tuple[ScorePriorEstimator, ScorePriorEstimator]:
        both = AlphaMax(mirror=self.mirror)
        return both, both


def _joined(there: PriorCurve | None, back: PriorCurve | None) -> PriorCurve | None:
    """Add the main line of the second run, where both run over the same values."""
    if there is None or back is None or not np.array_equal(there.x, back.x):
        return there
    name, line = next(iter(back.lines.items()))
    return replace(
        there,
        lines={**there.lines, f"{name}, roles exchanged": line},
        x_label="share of one sample that may be distributed as the other",
    )
