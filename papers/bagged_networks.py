"""BaggedNetworks: the classifier of the papers on recovered performance, trained as one program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_info, threadpool_limits

from recoup._core.checks import FloatArray, brief, check_same_length
from recoup._core.constraints import (
    RANDOM_STATE,
    Constraints,
    Number,
    WholeNumber,
    check_parameters,
)
from recoup._core.optional import require
from recoup._core.random import as_generator
from recoup.exceptions import InvalidInputError
from recoup.learners.given_rows import checked_labels, labels_by_name
from recoup.metrics.area import aul
from recoup.scores.folds import bundle_rows

Backend: TypeAlias = Literal["numpy", "torch", "auto"]
Single: TypeAlias = NDArray[np.float32]
Bags: TypeAlias = NDArray[np.int8]
Answer = TypeVar("Answer")

# Riedmiller and Braun 1993, but for the first step: their 0.1, in all weights at once, takes
# networks with hundreds of inputs past the best place in two epochs.
STEP_FIRST, STEP_LEAST, STEP_MOST = 0.01, 1e-6, 50.0
STEP_UP, STEP_DOWN = 1.2, 0.5

CHUNK_CELLS = 2**17  # half a megabyte, which stays in the cache
TORCH_CELLS = 2**26


class BaggedNetworks(ClassifierMixin, BaseEstimator):
    """Bagged two-layer networks trained by resilient back-propagation.

    The classifier with which Jain et al. (2017, five hidden units) and Ramola et al. (2019, seven)
    told labeled from unlabeled rows. Its out-of-bag scores are honest for every row after one
    fit, which is what the recovery of performance and the estimation of priors start from.

    Each member draws its bag with replacement, keeps a quarter of it to watch the loss, and stops
    when that has not improved for some epochs; the weights with the lowest held-out loss stay.

    Parameters
    ----------
    n_hidden : int, default=7
        Hidden units (tanh) of each member; the output is logistic.
    n_members : int, default=100
        Networks in the ensemble.
    max_epochs : int, default=5000
        Passes over the rows after which a member stops in any case.
    validation_fraction : float, default=0.25
        Share of each bag that is held out to decide when to stop.
    patience : int, default=25
        Epochs without a new lowest held-out loss after which a member stops. The papers leave it
        open; the code released with AlphaMax by the same group has 25.
    backend : {"numpy", "torch", "auto"}, default="numpy"
        What computes losses and gradients. ``"auto"`` takes torch where it is installed and
        finds a GPU, and numpy elsewhere.
    random_state : int, Generator, RandomState or None, default=None
        Decides bags and first weights. An integer makes every fit the same.

    Attributes
    ----------
    oob_scores_ : ndarray of shape (n,)
        For each row of ``fit``, the mean probability among members whose bag it was not in. Rows
        that were in every bag get the mean of the others.
    oob_counts_ : ndarray of shape (n,)
        The number of those members.
    loss_curve_ : ndarray of shape (n_epochs, n_members)
        Held-out cross-entropy, NaN after a member has stopped.
    n_epochs_ : ndarray of shape (n_members,)
        Epochs until each member stopped.
    hidden_weights_ : ndarray of shape (n_members, n_hidden, n_features + 1)
        The last column is the bias.
    output_weights_ : ndarray of shape (n_members, n_hidden + 1)
        The last column is the bias.
    scaler_ : StandardScaler
        Fitted on all rows.
    classes_ : ndarray
        ``array([0, 1])``.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    *Bags.* The papers bag as Breiman (1996) does, with plain bootstrap samples rather than
    balanced ones. So does this class, with two refinements. Labeled and other rows are drawn
    apart, each as often as there are of them: the expected bag is the same, and no bag is left
    without labels. And copies of a row come into a bag, and are held out, together: an unlabeled
    copy of a labeled row would otherwise be scored by members that learned its label.

    *Training* is iRPROP- (Igel and Hüsken 2000) on the cross-entropy of all rows: a step grows by
    1.2 while its derivative keeps its sign and halves when the sign turns, and after a turn the
    weight rests for an epoch. The steps lie between 1e-6 and 50 and begin at 0.01.

    *Speed.* Bags are weights of rows rather than copies of them, so that one product of the data
    with the weights of many members serves them all; members that have stopped leave it. Blocks
    of members run on as many threads as the BLAS library may use (``OMP_NUM_THREADS`` or
    ``threadpoolctl`` limit it), with the same result for any number. Beyond the standardized
    rows in single precision, training takes one or two bytes a row and member.

    Known negatives (``s == -1``) are 0 to the networks, like unlabeled rows.

    ``predict`` cuts at a probability of one half of being labeled, which few hidden positives
    reach; wrap the class in :class:`recoup.learners.TunedThreshold` to choose a better place.

    References
    ----------
    S. Jain, M. White, P. Radivojac. Recovering true classifier performance in positive-unlabeled
    learning. AAAI 2017, "Experiments and results".

    R. Ramola, S. Jain, P. Radivojac. Estimating classification accuracy in positive-unlabeled
    learning: characterization and correction strategies. PSB 2019, Section 3.3.

    M. Riedmiller, H. Braun. A direct adaptive method for faster backpropagation learning: the
    RPROP algorithm. ICNN 1993.

    C. Igel, M. Hüsken. Improving the Rprop learning algorithm. NC 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.metrics import roc_auc_score
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> s = np.where(np.random.default_rng(0).random(len(y)) < 0.5, 0, y)
    >>> model = BaggedNetworks(n_members=20, random_state=0).fit(X, s)
    >>> round(roc_auc_score(y, model.oob_scores_), 2)
    0.99
    """

    constraints: ClassVar[Constraints] = {
        "n_hidden": WholeNumber(),
        "n_members": WholeNumber(),
        "max_epochs": WholeNumber(),
        "validation_fraction": Number(
            above=0, below=1, why="a part of each bag trains, the rest decides when to stop"
        ),
        "patience": WholeNumber(),
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        n_hidden: int = 7,
        *,
        n_members: int = 100,
        max_epochs: int = 5000,
        validation_fraction: float = 0.25,
        patience: int = 25,
        backend: Backend = "numpy",
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.n_members = n_members
        self.max_epochs = max_epochs
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.backend = backend
        self.random_state = random_state

    def fit(
        self, X: Any, s: ArrayLike | None = None, *, y: ArrayLike | None = None
    ) -> BaggedNetworks:
        """Train all members and score each row by those that have not seen it.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Numbers, without gaps.
        s : array-like of shape (n,), optional
            1 labeled positive, 0 unlabeled, -1 known negative.
        y : array-like of shape (n,), optional
            Another name for s.

        Returns
        -------
        BaggedNetworks
            Itself.
        """
        caller = "BaggedNetworks.fit"
        check_parameters(self, caller)
        labels = checked_labels(labels_by_name(s, y, self), caller)
        X = validate_data(self, X, dtype=np.float64)
        check_same_length(X, labels, "X and s", caller)
        labeled = labels == 1
        draw = _Draw.from_rows(X, labeled, self.validation_fraction, caller)
        self.classes_ = np.array([0, 1])
        self.scaler_ = StandardScaler().fit(X)
        rows = self._standardized(X)

        seeds = as_generator(self.random_state).spawn(self.n_members)
        program = _program(self.backend, caller)(rows, labeled)
        log_odds = float(np.log(labeled.mean() / (1 - labeled.mean())))

        def train(members: slice) -> _Trained:
            bags = np.stack([draw.bag(rng) for rng in seeds[members]])
            weights = _first_weights(seeds[members], self.n_hidden, rows.shape[1], log_odds)
            return _train(program, bags, weights, self.max_epochs, self.patience)

        blocks = _blocks(self.n_members, self.n_hidden, program)
        trained = _over_blocks(train, blocks, program)
        self.hidden_weights_ = np.concatenate([block.best.hidden for block in trained])
        self.output_weights_ = np.concatenate([block.best.output for block in trained])
        self.n_epochs_ = np.concatenate([block.n_epochs for block in trained])
        self.loss_curve_ = np.full((self.n_epochs_.max(), self.n_members), np.nan)
        for members, block in zip(blocks, trained, strict=True):
            self.loss_curve_[: len(block.curve), members] = block.curve

        self.oob_counts_ = np.sum([block.oob_counts for block in trained], axis=0)
        seen = self.oob_counts_ > 0
        means = np.sum([block.oob_sums for block in trained], axis=0)[seen] / self.oob_counts_[seen]
        self.oob_scores_ = np.full(len(rows), means.mean() if len(means) else labeled.mean())
        self.oob_scores_[seen] = means
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the members' mean probability of being labeled, in the second column.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n, 2)
        """
        check_is_fitted(self)
        rows = self._standardized(validate_data(self, X, dtype=np.float64, reset=False))
        # In single precision the last digits of a score depend on the rows beside it.
        program = _Numpy(rows.astype(np.float64), np.zeros(len(rows), bool))

        def add_up(members: slice) -> FloatArray:
            both: tuple[Any, Any] = (self.hidden_weights_[members], self.output_weights_[members])
            return program.sum_probabilities(_Weights(*(part.astype(np.float64) for part in both)))

        n_members, n_hidden, _ = self.hidden_weights_.shape
        blocks = _blocks(n_members, n_hidden, program)
        positive = np.sum(_over_blocks(add_up, blocks, program), axis=0) / n_members
        return np.column_stack([1 - positive, positive])

    def decision_function(self, X: Any) -> FloatArray:
        """Return the log-odds of the mean probability.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n,)
        """
        log_odds: FloatArray = logit(np.clip(self.predict_proba(X)[:, 1], 1e-300, 1 - 1e-16))
        return log_odds

    def predict(self, X: Any) -> NDArray[np.int_]:
        """Predict 1 where being labeled is more likely than not, 0 elsewhere.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n,)
        """
        return (self.predict_proba(X)[:, 1] > 0.5).astype(int)

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
        X : array-like of shape (n, n_features)
        s : array-like of shape (n,), optional
            1 labeled positive, 0 unlabeled, -1 known negative.
        sample_weight : array-like of shape (n,), optional
            Row weights.
        y : array-like of shape (n,), optional
            Another name for s.

        Returns
        -------
        float
        """
        s = labels_by_name(s, y, self, "score")
        return aul(s, self.predict_proba(X)[:, 1], sample_weight=sample_weight)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that there are two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _standardized(self, X: FloatArray) -> Single:
        """Standardize rows in single precision, with a column of ones for the biases."""
        rows = np.ones((X.shape[0], X.shape[1] + 1), np.float32)
        # Values far from all that was seen would become infinite in single precision.
        rows[:, :-1] = np.clip(self.scaler_.transform(X), -1e6, 1e6)
        return rows


class _Draw(NamedTuple):
    """Draws bags in which copies of a row stay together."""

    copies: NDArray[np.intp]
    strata: tuple[NDArray[np.intp], NDArray[np.intp]]
    validation_fraction: float

    @classmethod
    def from_rows(
        cls, X: FloatArray, labeled: NDArray[np.bool_], validation_fraction: float, caller: str
    ) -> _Draw:
        copies = bundle_rows(X, None, len(X), caller)
        has_label = np.bincount(copies, labeled) > 0
        strata = np.flatnonzero(has_label), np.flatnonzero(~has_label)
        if min(map(len, strata)) < 2:
            raise InvalidInputError(
                f"{caller} needs two different labeled and two different unlabeled rows: one of "
                f"each trains and one decides when to stop. Got {len(strata[0]):,} and "
                f"{len(strata[1]):,} in {len(X):,} samples, copies of a row counted once."
            )
        return cls(copies, strata, validation_fraction)

    def bag(self, rng: np.random.Generator) -> Bags:
        """Count how often a bag holds each row; held-out rows have negative counts."""
        counts = np.zeros(sum(map(len, self.strata)), np.int8)
        for stratum in self.strata:
            distinct: NDArray[np.intp] = np.empty(0, np.intp)
            while len(distinct) < 2:  # a second round is needed with a handful of rows only
                times = np.bincount(rng.integers(len(stratum), size=len(stratum)))
                distinct = np.flatnonzero(times)
            counts[stratum[distinct]] = np.minimum(times[distinct], np.iinfo(np.int8).max)
            n_held = int(np.clip(self.validation_fraction * len(distinct), 1, len(distinct) - 1))
            counts[stratum[rng.permutation(distinct)[:n_held]]] *= -1
        return counts[self.copies]


class _Weights(NamedTuple):
    """A number for each connection of several networks: its weight, its derivative or its step."""

    hidden: Single  # members, hidden units, inputs and bias
    output: Single  # members, hidden units and bias

    def filled(self, value: float) -> _Weights:
        return _Weights(np.full_like(self.hidden, value), np.full_like(self.output, value))

    def of(self, members: NDArray[Any]) -> _Weights:
        return _Weights(self.hidden[members], self.output[members])


class _Trained(NamedTuple):
    best: _Weights
    n_epochs: NDArray[np.intp]
    curve: FloatArray
    oob_sums: FloatArray
    oob_counts: NDArray[np.intp]


class _Program(Protocol):
    """Runs all rows through several networks at once."""

    block_units: int
    threaded: bool

    def place(self, bags: Bags) -> Any:
        """Bring bags to where the rows are."""

    def losses_and_slopes(self, weights: _Weights, bags: Any) -> tuple[FloatArray, _Weights]:
        """Return the summed held-out loss of each member, and derivatives of the training loss."""

    def sum_probabilities(self, weights: _Weights, bags: Any = None) -> FloatArray:
        """Add up the probabilities of each row over all members, or those without it in a bag."""


def _first_weights(
    seeds: list[np.random.Generator], n_hidden: int, n_inputs: int, log_odds: float
) -> _Weights:
    """Draw weights too small to saturate a unit, with the odds of a label as the output's bias.

    Many inputs would otherwise learn those odds before the bias has got there, and keep them.
    """
    hidden = [rng.uniform(-1, 1, (n_hidden, n_inputs)) / np.sqrt(n_inputs) for rng in seeds]
    output = [rng.uniform(-1, 1, n_hidden + 1) / np.sqrt(n_hidden) for rng in seeds]
    weights = _Weights(np.array(hidden, np.float32), np.array(output, np.float32))
    weights.output[:, -1] = log_odds
    return weights


def _train(
    program: _Program, bags: Bags, weights: _Weights, max_epochs: int, patience: int
) -> _Trained:
    """Train members until each has stopped, then score the rows outside their bags."""
    n_members = len(bags)
    members, placed = np.arange(n_members), program.place(bags)
    active, slopes, steps = placed, weights.filled(0.0), weights.filled(STEP_FIRST)
    best, lowest = weights.of(members), np.full(n_members, np.inf)
    best_epoch, n_epochs = np.zeros(n_members, int), np.zeros(n_members, int)
    n_held, curve = -np.minimum(bags, 0).sum(axis=1, dtype=int), []
    for epoch in range(max_epochs):
        sums, new_slopes = program.losses_and_slopes(weights, active)
        losses = sums / n_held[members]
        curve.append(np.full(n_members, np.nan))
        curve[-1][members] = losses
        n_epochs[members] += 1

        lower = losses < lowest[members]
        improved = members[lower]
        lowest[improved], best_epoch[improved] = losses[lower], epoch
        for kept, current in zip(best, weights, strict=True):
            kept[improved] = current[lower]

        going = epoch - best_epoch[members] < patience
        if not going.any():
            break
        if not going.all():
            members, active = members[going], active[going]
            weights, new_slopes = weights.of(going), new_slopes.of(going)
            slopes, steps = slopes.of(going), steps.of(going)
        for arrays in zip(weights, new_slopes, slopes, steps, strict=True):
            _rprop(*arrays)

    sums = program.sum_probabilities(best, placed)
    return _Trained(best, n_epochs, np.array(curve), sums, np.sum(bags == 0, axis=0))


def _rprop(weights: Single, new_slopes: Single, slopes: Single, steps: Single) -> None:
    """Move weights by a step of iRPROP-; weights, slopes and steps change in place."""
    turns = np.sign(new_slopes) * np.sign(slopes)
    steps *= np.where(turns > 0, STEP_UP, np.where(turns < 0, STEP_DOWN, 1.0))
    np.clip(steps, STEP_LEAST, STEP_MOST, out=steps)
    np.copyto(slopes, new_slopes)
    slopes[turns < 0] = 0
    weights -= np.sign(slopes) * steps


class _Numpy:
    """On the CPU, with a single matrix product for all hidden units of a block of members.

    Members come first and rows last in every array, so that all operations run along rows.
    """

    block_units = 100
    threaded = True

    def __init__(self, rows: Single | FloatArray, labeled: NDArray[np.bool_]) -> None:
        self.rows = rows
        self.signs = np.where(labeled, -1, 1).astype(rows.dtype)

    def place(self, bags: Bags) -> Bags:
        return bags

    def losses_and_slopes(self, weights: _Weights, bags: Bags) -> tuple[FloatArray, _Weights]:
        losses, slopes = np.zeros(len(bags)), weights.filled(0.0)
        for chunk, hidden, logits in self._forward(weights):
            rows, signs, bag = self.rows[chunk], self.signs[chunk], bags[:, chunk]
            logits *= signs
            odds = np.exp(np.clip(logits, -80, 80, out=logits), out=logits)
            ones = odds + 1
            # log(1 + odds) is the loss of a row, its odds being those against its own label.
            losses -= np.minimum(np.log(ones) * bag, 0).sum(axis=1)
            odds /= ones
            odds *= signs
            errors = np.multiply(odds, np.maximum(bag, 0), out=odds)

            slopes.output[:, :-1] += np.matmul(hidden, errors[:, :, None])[:, :, 0]
            slopes.output[:, -1] += errors.sum(axis=1)
            hidden *= hidden
            np.subtract(1, hidden, out=hidden)
            hidden *= errors[:, None, :]
            slopes.hidden[...] += (hidden.reshape(-1, len(rows)) @ rows).reshape(
                slopes.hidden.shape
            )
        slopes.hidden[...] *= weights.output[:, :-1, None]
        return losses, slopes

    def sum_probabilities(self, weights: _Weights, bags: Bags | None = None) -> FloatArray:
        sums = np.empty(len(self.rows))
        for chunk, _, logits in self._forward(weights):
            probabilities = expit(logits)
            if bags is not None:
                probabilities *= bags[:, chunk] == 0
            sums[chunk] = probabilities.sum(axis=0, dtype=float)
        return sums

    def _forward(self, weights: _Weights) -> Iterator[tuple[slice, Any, Any]]:
        """Yield the hidden units and the log-odds of one chunk of rows after the other."""
        n_members, n_hidden, n_inputs = weights.hidden.shape
        units = weights.hidden.reshape(-1, n_inputs)
        step = max(CHUNK_CELLS // len(units), 64)
        memory = np.empty(len(units) * min(step, len(self.rows)), self.rows.dtype)
        for start in range(0, len(self.rows), step):
            rows = self.rows[start : start + step]
            products = memory[: len(units) * len(rows)].reshape(len(units), len(rows))
            np.tanh(np.matmul(units, rows.T, out=products), out=products)
            hidden = products.reshape(n_members, n_hidden, len(rows))
            logits = np.matmul(weights.output[:, None, :-1], hidden)[:, 0]
            logits += weights.output[:, -1:]
            yield slice(start, start + len(rows)), hidden, logits


class _Torch:
    """On the GPU if there is one, all members at once."""

    block_units = 2**20
    threaded = False

    def __init__(self, rows: Single, labeled: NDArray[np.bool_]) -> None:
        self.torch = _import_torch()
        self.device = "cuda" if self.torch.cuda.is_available() else "cpu"
        self.rows = self.place(rows)
        self.signs = self.place(np.where(labeled, -1, 1).astype(rows.dtype))

    def place(self, array: NDArray[Any]) -> Any:
        return self.torch.from_numpy(array).to(self.device)

    def losses_and_slopes(self, weights: _Weights, bags: Any) -> tuple[FloatArray, _Weights]:
        losses: Any = 0
        output_slopes: Any = 0
        hidden_slopes: Any = 0
        for chunk, hidden, logits in self._forward(weights):
            rows, signs, bag = self.rows[chunk], self.signs[chunk], bags[:, chunk]
            against = logits * signs
            losses -= (self.torch.nn.functional.softplus(against) * bag).clamp(max=0).sum(dim=1)
            errors = against.sigmoid() * signs * bag.clamp(min=0)
            into_output = (hidden @ errors[:, :, None])[:, :, 0]
            output_slopes += self.torch.hstack([into_output, errors.sum(dim=1, keepdim=True)])
            hidden_slopes += ((1 - hidden * hidden) * errors[:, None, :]) @ rows
        slopes = _Weights(hidden_slopes.cpu().numpy(), output_slopes.cpu().numpy())
        slopes.hidden[...] *= weights.output[:, :-1, None]
        return losses.cpu().numpy().astype(float), slopes

    def sum_probabilities(self, weights: _Weights, bags: Any = None) -> FloatArray:
        sums = [
            (logits.sigmoid() * (bags[:, chunk] == 0)).sum(dim=0, dtype=self.torch.float64)
            for chunk, _, logits in self._forward(weights)
        ]
        total: FloatArray = self.torch.cat(sums).cpu().numpy()
        return total

    def _forward(self, weights: _Weights) -> Iterator[tuple[slice, Any, Any]]:
        n_members, n_hidden, n_inputs = weights.hidden.shape
        units, output = self.place(weights.hidden.reshape(-1, n_inputs)), self.place(weights.output)
        step = max(TORCH_CELLS // len(units), 64)
        for start in range(0, len(self.rows), step):
            chunk = slice(start, start + step)
            hidden = (units @ self.rows[chunk].T).tanh().view(n_members, n_hidden, -1)
            yield chunk, hidden, (output[:, None, :-1] @ hidden)[:, 0] + output[:, -1:]


def _import_torch() -> Any:
    return require("torch", purpose="BaggedNetworks(backend='torch')", install="'recoup[torch]'")


def _program(backend: str, caller: str) -> Callable[[Single, NDArray[np.bool_]], _Program]:
    if backend not in get_args(Backend):
        raise InvalidInputError(
            f"{caller} needs backend to be 'numpy', 'torch' or 'auto'. Got {brief(backend)}."
        )
    if backend == "auto":
        has_gpu = find_spec("torch") is not None and _import_torch().cuda.is_available()
        return _Torch if has_gpu else _Numpy
    return _Torch if backend == "torch" else _Numpy


def _blocks(n_members: int, n_hidden: int, program: _Program) -> list[slice]:
    """Split members into blocks that fit the program, however many threads there are."""
    n_blocks = -(-n_members * n_hidden // program.block_units)
    edges = np.linspace(0, n_members, min(n_blocks, n_members) + 1).astype(int).tolist()
    return [slice(start, stop) for start, stop in pairwise(edges)]


def _over_blocks(
    work: Callable[[slice], Answer], blocks: list[slice], program: _Program
) -> list[Answer]:
    """Run each block on a thread of its own, in place of the threads of the BLAS library.

    Those help with the products alone, and wait for one another thousands of times a second.
    """
    if not program.threaded:
        return [work(block) for block in blocks]
    pools = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    n_threads = min(max(pools, default=1), len(blocks))
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(n_threads) as executor:
        return list(executor.map(work, blocks))
