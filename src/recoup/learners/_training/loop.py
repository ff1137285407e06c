"""The one training loop: rows on the device, two streams of batches, stopping, saving."""

from __future__ import annotations

import copy
import math
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import validate_data

from recoup._core.checks import FloatArray, Scheme, brief
from recoup._core.constraints import (
    SCHEME,
    Constraints,
    Flag,
    Function,
    Instance,
    Nothing,
    Number,
    WholeNumber,
    Words,
)
from recoup._core.optional import require
from recoup._core.progress import progress_bar
from recoup.exceptions import InvalidInputError
from recoup.learners._training.devices import (
    fast_products,
    one_order_of_sums,
    own_randomness,
    usable_device,
)
from recoup.learners._training.mending import mended
from recoup.learners._training.moments import Moment, Watch
from recoup.learners._training.networks import NETWORKS, Factory, network_for, scores_of
from recoup.learners._training.places import auc_of_parts, places_of, share_threshold
from recoup.learners._training.risks import pnu_risk, pu_risks
from recoup.learners._training.row_weights import counted, mean_and_spread, some_weights
from recoup.learners._training.stages import (
    Epoch,
    Stage,
    TrainingRows,
    in_parts,
    layout_of,
    scored_at_once,
)
from recoup.learners.base import Guard, Probabilities, PULearner
from recoup.learners.cut import HonestScores
from recoup.learners.health import Health, diagnosed, needs_reference, quick_reference
from recoup.metrics.point import macro_f1
from recoup.scores.folds import PUStratifiedKFold

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch
    from torch import Tensor, nn

Select = Literal["auto", "accuracy", "auc", "loss"]

FEWEST_HELD_OUT = 4
# Epochs without a gain after which a stage that judges itself ends.
STALLED = 5


@dataclass(kw_only=True, eq=False, repr=False)
class TorchPULearner(PULearner):
    """Base of the learners that train a network.

    Parameters
    ----------
    network : str, callable or None, default=None
        What is trained: ``"mlp"``, ``"lenet"``, ``"cifar-cnn"``, ``"mri-cnn"``, or a function that
        takes the shape of a row and returns a torch module with one output. None chooses by the
        shape: dense layers for vectors, convolutions for images.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        How the rows were collected. ``"single-sample"``: all rows are one sample of the population,
        and some of its positives have a label. ``"case-control"``: the unlabeled rows are the
        sample, and the labeled ones were collected apart.
    epochs : int, default=40
        Passes over the rows of the population, unless ``patience`` ends training before. Take more
        where the selection in ``history_`` still rises at the end.
    batch_size : int, default=256
        Rows of the population per step. Larger batches make steps less noisy, and fewer.
    labeled_batch : int or None, default=None
        Labeled rows per step, taken in turns. None keeps their ratio to the population, with at
        least 16.
    least_steps : int, default=10
        Steps of an epoch where a pass over the rows of the population has fewer.
    learning_rate : float, default=3e-4
        Step size of the optimizer. Lower it where the loss in ``history_`` jumps, raise it where
        the loss hardly moves.
    weight_decay : float, default=1e-4
        Penalty on large weights (L2). Raise it where labels are few and the network learns them by
        heart.
    optimizer : {"adam", "sgd"}, default="adam"
        Adam, or stochastic gradient descent with momentum 0.9.
    standardize : bool, default=True
        Bring each feature of vectors to mean 0 and variance 1. Images are left as they are.
    validation_fraction : float, default=0.2
        Share of the labeled and of the unlabeled rows that is held out to choose the weights that
        are kept. With 0, or where fewer than four labeled rows would be held out, all epochs are
        run and the last weights are kept.
    select : {"auto", "accuracy", "auc", "loss"}, default="auto"
        Which weights are kept, judged on the held-out rows: those with the best accuracy as
        recovered with alpha, with the largest area under the ROC curve of labeled against unlabeled
        rows, which needs no alpha, or with the lowest loss. ``"auto"`` is the choice of the
        learner.
    patience : int or None, default=None
        Epochs without improvement on the held-out rows after which training stops. None runs all
        epochs.
    warm_start : bool, default=False
        Go on from the weights of the last fit instead of new ones.
    device : str, default="auto"
        Where to compute, such as ``"cpu"`` or ``"cuda"``; ``"auto"`` takes a GPU if there is one.
    progress : bool or None, default=None
        Whether to show a bar on stderr. None does so on a terminal only, after two seconds.
    threshold : {"own", "alpha", "f1"} or float, default="own"
        Where a row counts as positive. ``"own"`` is the cut of the method itself; ``"alpha"`` calls
        as many rows of the population positive as alpha says; ``"f1"`` takes the best F1 as
        recovered with alpha; a number is a score of the method itself. ``"alpha"`` and ``"f1"`` are
        read off rows that the model has not seen: those that a network holds out, out-of-bag
        scores, or else those of five more fits. Where there are none, training rows have to do.
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
        Seed of all that is random. An integer makes every fit on a CPU the same, bit for bit.

    Attributes
    ----------
    network_ : Module
        The trained network, with the weights that were kept.
    alpha_ : float or None
        Share of positives among the unlabeled rows, as given or estimated; None without either.
    prior_ : PriorEstimate or None
        The estimate that ``alpha_`` comes from; None where it was a number.
    pi_ : float or None
        Share of positives in the population, which follows from ``alpha_`` and ``scheme``.
    offset_ : float
        What the network's output must exceed for a row to count as positive.
    history_ : list of dict
        What was measured in each epoch: its number, the mean loss, the seconds it took, and the
        selection where rows are held out.
    best_epoch_ : int
        The epoch, counted from 1, whose weights were kept.
    center_ : ndarray of shape (n_features,) or float
        What is subtracted from the features; see ``standardize``.
    spread_ : ndarray of shape (n_features,) or float
        What the features are divided by after that.
    shape_ : tuple of int
        Shape of one row.
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
    """

    network: str | Factory | None = None
    scheme: Scheme = "single-sample"
    epochs: int = 40
    batch_size: int = 256
    labeled_batch: int | None = None
    least_steps: int = 10
    learning_rate: float = 3e-4
    weight_decay: float = 1e-4
    optimizer: Literal["adam", "sgd"] = "adam"
    standardize: bool = True
    validation_fraction: float = 0.2
    select: Select = "auto"
    patience: int | None = None
    warm_start: bool = False
    device: str = "auto"
    progress: bool | None = None
    threshold: str | float = "own"
    probabilities: Probabilities = "own"
    guard: Guard = "retry"
    random_state: Any = None

    constraints: ClassVar[Constraints] = {
        "network": Words(*NETWORKS)
        | Function("that takes the shape of a row and returns a module")
        | Nothing(),
        "scheme": SCHEME,
        "epochs": WholeNumber(),
        "batch_size": WholeNumber(),
        "labeled_batch": WholeNumber() | Nothing(),
        "least_steps": WholeNumber(),
        "learning_rate": Number(above=0),
        "weight_decay": Number(least=0),
        "optimizer": Words("adam", "sgd"),
        "standardize": Flag(),
        "validation_fraction": Number(least=0, most=0.5),
        "select": Words(*get_args(Select)),
        "patience": WholeNumber() | Nothing(),
        "warm_start": Flag(),
        "device": Instance(str, "the name of a device, such as 'auto', 'cpu' or 'cuda'"),
        "progress": Flag() | Nothing(),
    }
    # What "auto" means for a learner.
    natural_select: ClassVar[Select] = "accuracy"
    # Whether as many rows of the population count as positive as there should be, where that is
    # known, whatever their scores are.
    cuts_by_share: ClassVar[bool] = False
    # Whether SGD looks ahead, and whether weights that are no matrix are spared its decay.
    nesterov: ClassVar[bool] = False
    spares_biases: ClassVar[bool] = False

    # During a fit: the rows, and tensors that a loss changes in place, such as pseudo-labels.
    _rows: TrainingRows = field(init=False, repr=False)
    _memory: dict[str, Tensor] = field(init=False, repr=False)
    _held_out_rows: NDArray[np.bool_] = field(init=False, repr=False)
    network_: Any = field(init=False, repr=False)
    pi_: float | None = field(init=False, repr=False)

    # What a learner's file holds.

    @abstractmethod
    def _stages(self) -> list[Stage]:
        """Say what is minimized, for how long."""

    def _set_aside(self, rows: TrainingRows, rng: np.random.Generator) -> TrainingRows:
        """Return the rows without those that are kept for a purpose of the learner's own."""
        return rows

    def _prepare(self, rows: TrainingRows) -> None:
        """Make what is remembered of each row; called once, before the first stage."""

    def _conclude(self, rows: TrainingRows) -> None:
        """Note what the kept weights say; called once, before the threshold is set."""

    def _networks(self) -> dict[str, nn.Module]:
        """Return what is trained, by the names of the attributes."""
        return {"network_": self.network_}

    def _find_offset(self, scores: Tensor) -> float:
        """Return what scores must exceed to be positive, from those of the population."""
        if self.pi_ is None or not self.cuts_by_share:
            return 0.0
        return share_threshold(scores, self.pi_)

    def _held_out_loss(self, labeled: Tensor, population: Tensor) -> Tensor:
        """Return the loss to select by, from scores of held-out rows.

        By default a smooth accuracy: that of hard decisions is too noisy where few labels are held
        out, other risks have no floor, and losses of training with guesses flatter themselves.
        """
        if self.pi_ is None:
            raise InvalidInputError(
                f"{type(self).__name__} has no loss to select by without alpha. Take select='auc'."
            )
        positive, negative = pu_risks(labeled, population, self.pi_, "sigmoid")
        return positive + negative

    # What all of them share.

    def fit(
        self,
        X: Any,
        s: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        oracle: tuple[Any, ArrayLike] | None = None,
        watch: Watch | None = None,
        y: ArrayLike | None = None,
    ) -> Self:
        """Learn from labeled and unlabeled rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n, ...)
            Numbers, without gaps: vectors, or images as (n, channels, height, width).
        s : array-like of shape (n,), optional
            1 labeled positive, 0 unlabeled, -1 known negative. Learners without a use for known
            negatives (``tags.uses_negatives``) leave them out, with a warning.
        sample_weight : array-like of shape (n,), optional
            How much each row counts, zero or more, as in the other learners: rows are drawn into
            batches, and held-out rows counted, in proportion to it. What a learner decides about
            single rows, such as which are easy, does not look at it.
        oracle : tuple of (X, y_true), optional
            Rows of known class to select the weights by, in place of held-out rows without: what
            benchmarks do to show how much that gains, and nobody can do in practice. Those with
            the best macro-F1 are kept.
        watch : callable, optional
            Called with a :class:`Moment` after each epoch.
        y : array-like of shape (n,), optional
            Another name for s, by which tools of scikit-learn pass it. No true classes.

        Returns
        -------
        TorchPULearner
            Itself.
        """
        with self._during_fit(oracle, watch):
            return super().fit(X, s, sample_weight=sample_weight, y=y)

    @contextmanager
    def _during_fit(
        self, oracle: tuple[Any, ArrayLike] | None, watch: Watch | None
    ) -> Iterator[None]:
        """Forget afterwards what only a fit needs."""
        known = set(vars(self))
        self._oracle, self._watch = oracle, watch
        self._rows_to_watch: dict[int, tuple[Any, Tensor]] = {}
        try:
            yield
        finally:
            for name in set(vars(self)) - known:
                if name.startswith("_"):
                    delattr(self, name)

    def _probabilities(self, X: Any) -> FloatArray:
        from scipy.special import expit

        decisions = self._decide(X)
        return np.column_stack([expit(-decisions), expit(decisions)])

    def _honest_scores(
        self,
        X: Any,
        s: NDArray[np.int_],
        rng: np.random.Generator,
        per_row: Mapping[str, NDArray[Any] | None],
    ) -> HonestScores:
        """Score the rows that were held out, or all rows where none were."""
        held = self._held_out_rows
        if not held.any():
            return HonestScores(s, self._decide(X), "training")
        return HonestScores(s[held], self._decide(X[held]), "held-out")

    def _examined(self, X: Any, s: NDArray[np.int_], offered: HonestScores | None) -> Health:
        """Say whether the fit has failed, also by what simple classifiers make of the rows."""
        decisions, held = self._decide(X) - self.cut_, self._held_out_rows
        everything = honest = HonestScores(s, decisions, "training")
        if held.any():
            honest = HonestScores(s[held], decisions[held], "held-out")
        reference = None
        if needs_reference(honest, self.alpha_):
            reference = quick_reference(X, s, held)
        return diagnosed(honest, everything, self.alpha_, reference)

    def _mended(
        self,
        X: Any,
        s: NDArray[np.int_],
        rng: np.random.Generator,
        per_row: Mapping[str, NDArray[Any] | None],
        health: Health,
    ) -> Health:
        """Fit again in other ways until one does not fail; keep the one that ranks best."""
        special = type(self).fit is not TorchPULearner.fit
        if special or self.warm_start or self._oracle is not None or self._watch is not None:
            return health
        return mended(self, X, s, rng, per_row, health)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that rows may have more than one axis."""
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Leave the device behind, so that a fit on a GPU can be read without one."""
        state: dict[str, Any] = dict(super().__getstate__())
        for name, value in state.items():
            if name.endswith("_") and hasattr(value, "state_dict"):
                state[name] = copy.deepcopy(value).cpu()
        return state

    def _require_packages(self) -> None:
        require("torch", purpose=type(self).__name__, install="'recoup[torch]'")

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        caller = f"{type(self).__name__}.{'fit' if reset else 'decision_function'}"
        self._check_unmasked(X, reset)
        rows = validate_data(
            self, X, dtype=[np.float32, np.float64], reset=reset, allow_nd=True, ensure_2d=True
        )
        shape = rows.shape[1:]
        if reset:
            self.shape_: tuple[int, ...] = shape
        elif shape != self.shape_:
            raise InvalidInputError(
                f"{caller} needs rows of the shape that it was fitted on, {self.shape_}. "
                f"Got {shape}."
            )
        return rows

    def _known_alpha(self, X: Any, s: Any, seed: int, caller: str) -> Any:
        return super()._known_alpha(X.reshape(len(X), -1), s, seed, caller)

    def _fit(
        self,
        X: Any,
        s: NDArray[np.int_],
        rng: np.random.Generator,
        sample_weight: FloatArray | None = None,
    ) -> None:
        caller = f"{type(self).__name__}.fit"
        device = usable_device(self.device, caller)
        self._weights = sample_weight
        self.pi_ = self._population_share(s)
        self._held_out_rows = held = self._held_out(X, s, rng)
        if not (self.warm_start and hasattr(self, "center_")):
            self.center_, self.spread_ = self._moments(X, held)
        with (
            own_randomness(int(rng.integers(2**63)), device),
            fast_products(device),
            one_order_of_sums(device, self.shape_),
        ):
            places = places_of(s, held, self.scheme, device, sample_weight)
            rows = TrainingRows(self._tensor(X, device), *places, sample_weight)
            if not (self.warm_start and hasattr(self, "network_")):
                self.network_ = self._new_network(caller)
            self.network_.to(device, memory_format=layout_of(rows.X))
            self._memory = {}
            self._rows = rows = self._set_aside(rows, rng)
            self._prepare(rows)
            judge = self._judge(rows, caller)
            self.history_: list[dict[str, float]] = []
            best: tuple[float, int, Any] = (-math.inf, 0, None)
            stages = self._stages()
            total = sum(stage.epochs for stage in stages)
            with progress_bar(total, f"Training {self.tags.key}", self.progress) as advance:
                for stage in stages:
                    best = self._run_stage(stage, rows, judge, rng, best, advance)
            if best[2] is not None:
                self._trained().load_state_dict(best[2])
            self.best_epoch_ = best[1] or len(self.history_)
            self._trained().eval()
            self._conclude(rows)
            self.offset_ = self._offset(rows)

    def _new_network(self, caller: str) -> nn.Module:
        return network_for(self.shape_, self.network, caller)

    def _new_part(self, name: str, caller: str) -> nn.Module:
        """Build one of the networks anew, by the name of its attribute."""
        return self._new_network(caller)

    def _trained(self) -> nn.Module:
        """Return all that is trained, as one module."""
        from torch import nn

        return nn.ModuleDict(self._networks())

    def _run_stage(
        self,
        stage: Stage,
        rows: TrainingRows,
        judge: Callable[[], float] | None,
        rng: np.random.Generator,
        best: tuple[float, int, Any],
        advance: Callable[[], None],
    ) -> tuple[float, int, Any]:
        """Train, and return the best weights so far with what they reached, and when."""
        epoch = Epoch(self, stage, rows)
        trained = self._trained()
        if stage.from_best and best[2] is not None:
            trained.load_state_dict(best[2])
        by_itself = stage.judge is not None
        leading: tuple[float, int, Any] = (-math.inf, 0, None) if by_itself else best
        judge = stage.judge or (judge if stage.selectable else None)
        patience = stage.patience or (STALLED if by_itself else self.patience)
        waited = 0
        for number in range(stage.epochs):
            started = time.perf_counter()
            if stage.before_epoch is not None:
                trained.eval()
                stage.before_epoch(number)
            trained.train()
            loss = epoch.run(rng, stage.schedule(number / stage.epochs))
            if stage.after_epoch is not None:
                trained.eval()
                stage.after_epoch(number)
            measured = {"epoch": len(self.history_) + 1.0, "loss": loss}
            if judge is not None:
                trained.eval()
                reached = judge()
                if not by_itself:
                    measured["selection"] = reached
                if reached > leading[0]:
                    leading = (reached, len(self.history_) + 1, copy.deepcopy(trained.state_dict()))
                    waited = 0
                else:
                    waited += 1
            measured["seconds"] = time.perf_counter() - started
            self.history_.append(measured)
            if self._watch is not None:
                trained.eval()
                selectable = stage.selectable and not by_itself
                kept = selectable and (judge is None or waited == 0)
                weights = partial(_on_cpu, trained)
                self._watch(Moment(measured, selectable, kept, self._decided_now, weights))
            advance()
            if patience is not None and waited >= patience:
                break
        if not by_itself:
            return leading
        if leading[2] is not None:
            trained.load_state_dict(leading[2])
        return best

    def _decide(self, X: Any) -> FloatArray:
        return self._outputs(X, self.network_) - self.offset_

    def _decided_now(self, X: Any) -> FloatArray:
        """Return the decision function of rows in the middle of a fit."""
        # The rows are held: once they were gone, others could have their id.
        kept = self._rows_to_watch.get(id(X))
        if kept is None:
            checked = self._checked_rows(X, reset=False)
            kept = self._rows_to_watch[id(X)] = (X, self._tensor(checked, self._rows.X.device))
        decisions: FloatArray = (self._scores(kept[1]) - self._offset(self._rows)).cpu().numpy()
        return decisions

    def _outputs(self, X: Any, network: nn.Module) -> FloatArray:
        """Return what a network makes of checked rows."""
        device = usable_device(self.device, f"{type(self).__name__}.decision_function")
        network.to(device)
        at_once = scored_at_once(X)
        starts = range(0, len(X), at_once)
        parts = [self._tensor(X[start : start + at_once], device) for start in starts]
        with one_order_of_sums(device, self.shape_):
            scores = [self._scores(part, network=network).double().cpu().numpy() for part in parts]
        return np.concatenate(scores)

    def _scores(
        self, X: Tensor, places: Tensor | None = None, network: nn.Module | None = None
    ) -> Tensor:
        """Score rows, or those at some places, in evaluation mode and some at a time."""
        import torch

        if places is None:
            places = torch.arange(len(X), device=X.device)
        network = self.network_ if network is None else network
        was_training = network.training
        network.eval()
        with torch.no_grad():
            scores = torch.cat([scores_of(network, part) for part in in_parts(X, places)])
        network.train(was_training)
        return scores

    def _offset(self, rows: TrainingRows) -> float:
        if type(self)._find_offset is TorchPULearner._find_offset and not self.cuts_by_share:
            return 0.0
        return self._find_offset(self._scores(rows.X, rows.as_often(rows.population)))

    def _population_share(self, s: NDArray[np.int_]) -> float | None:
        if self.alpha_ is None or self.scheme == "case-control":
            return self.alpha_
        counts = counted(s, getattr(self, "_weights", None))
        return float((counts.labeled + self.alpha_ * counts.unlabeled) / sum(counts))

    @property
    def _holds_out(self) -> bool:
        """Whether rows are held out: not where others select the weights."""
        return getattr(self, "_oracle", None) is None

    def _held_out(self, X: Any, s: NDArray[np.int_], rng: np.random.Generator) -> NDArray[np.bool_]:
        """Mark the rows to stop by; copies of a row are held out together or not at all."""
        held = np.zeros(len(s), bool)
        seed = int(rng.integers(2**31))
        if not self._holds_out:
            return held
        if self.validation_fraction * (s == 1).sum() < FEWEST_HELD_OUT:
            return held
        folds = PUStratifiedKFold(round(1 / self.validation_fraction), random_state=seed)
        _, test = next(iter(folds.split(X.reshape(len(X), -1), s)))
        held[test] = True
        return held

    def _moments(self, X: Any, held: NDArray[np.bool_]) -> tuple[Any, Any]:
        if not self.standardize or len(self.shape_) != 1:
            return np.float32(0), np.float32(1)
        return mean_and_spread(X[~held], some_weights(self._weights, ~held))

    def _tensor(self, X: Any, device: torch.device) -> Tensor:
        import torch

        rows = torch.tensor(np.asarray(X, np.float32), device=device)
        for part, change in ((self.center_, rows.sub_), (self.spread_, rows.div_)):
            change(torch.as_tensor(part, device=device))
        return rows.contiguous(memory_format=layout_of(rows))

    def _judge(self, rows: TrainingRows, caller: str) -> Callable[[], float] | None:
        """Return what says how good the present weights are, the higher the better."""
        oracle = getattr(self, "_oracle", None)
        if oracle is not None:
            return self._oracle_judge(oracle, rows, caller)
        if not len(rows.held_labeled):
            return None
        select = self.natural_select if self.select == "auto" else self.select
        if select == "accuracy" and self.pi_ is None:
            select = "auc"

        known = rows.share_of_known(self.pi_) if rows.n_held_negative else 0.0

        def judged() -> float:
            labeled = self._scores(rows.X, rows.held_labeled)
            population = self._scores(rows.X, rows.held_population)
            if select == "loss":
                loss = self._held_out_loss(labeled, population)
                if known:
                    assert self.pi_ is not None
                    negative = self._scores(rows.X, rows.held_negative)
                    loss = pnu_risk(loss, labeled, negative, self.pi_, known, "sigmoid")
                return -float(loss)
            if select == "auc":
                return auc_of_parts(labeled, population)
            offset = self._offset(rows)
            found, kept = (labeled > offset).float().mean(), (population <= offset).float().mean()
            assert self.pi_ is not None
            return float(2 * self.pi_ * found + kept) - self.pi_

        return judged

    def _tells_labels(self) -> float:
        """Say how well held-out labeled rows are told from unlabeled ones."""
        from torch.nn.functional import softplus

        rows = self._rows
        labeled = self._scores(rows.X, rows.held_labeled)
        others = self._scores(rows.X, rows.held_unlabeled)
        return -float(softplus(-labeled).mean() + softplus(others).mean())

    def _oracle_judge(
        self, oracle: tuple[Any, ArrayLike], rows: TrainingRows, caller: str
    ) -> Callable[[], float]:
        X = self._tensor(self._checked_rows(oracle[0], reset=False), rows.X.device)
        classes = np.asarray(oracle[1])
        if len(classes) != len(X) or not np.isin(classes, (0, 1)).all():
            raise InvalidInputError(
                f"{caller} needs oracle to be rows and their classes, 0 or 1. Got {len(X):,} "
                f"rows and {brief(oracle[1])}."
            )

        def judged() -> float:
            predicted = (self._scores(X) > self._offset(rows)).cpu().numpy()
            return float(macro_f1(classes, predicted.astype(int), alpha=0.0))

        return judged


def _on_cpu(trained: nn.Module) -> dict[str, Tensor]:
    """Copy weights to where nothing changes them."""
    return {name: part.detach().cpu().clone() for name, part in trained.state_dict().items()}
