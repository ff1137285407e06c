"""LBE: a classifier and a network for who gets a label, fitted in turns."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from recoup._core.checks import FloatArray
from recoup._core.constraints import Constraints, Flag, Nothing, Number, WholeNumber
from recoup.exceptions import RecoupWarning
from recoup.learners._training.loop import Select, TorchPULearner
from recoup.learners._training.networks import scores_of
from recoup.learners._training.stages import Batch, Stage, TrainingRows, trained_at_once
from recoup.learners.base import LearnerTags, Presets

if TYPE_CHECKING:
    from torch import Tensor, nn

# Labels that a step shall see at least, on average.
FEWEST_LABELS = 5
# A mean propensity above this means that it has taken over what the classifier should explain.
DEGENERATE = 0.9
# Steps of pretraining between two looks at held-out rows.
LOOK_EVERY = 25
# Steps of pretraining at most, and where no held-out row says when it is enough.
MOST_STEPS, BLIND_STEPS = 4000, 100


def posterior(h: Tensor, eta: Tensor, labeled: Tensor) -> Tensor:
    r"""Return the chance that rows are positive, :math:`h(1-\eta)/(h(1-\eta)+1-h)` if unlabeled.

    Parameters
    ----------
    h, eta : Tensor
        Logits of being positive, and of getting a label if so.
    labeled : Tensor of bool
        Rows with a label, which are positive.
    """
    import torch
    from torch.nn.functional import logsigmoid

    return torch.where(labeled, 1.0, (h + logsigmoid(-eta)).sigmoid())


def class_losses(h: Tensor, weights: Tensor) -> Tensor:
    """Cross-entropy of each row against its chance to be positive."""
    from torch.nn.functional import binary_cross_entropy_with_logits

    return binary_cross_entropy_with_logits(h, weights, reduction="none")


def propensity_losses(eta: Tensor, labeled: Tensor, weights: Tensor) -> Tensor:
    """Cross-entropy of each row's label, as far as the row is positive."""
    from torch.nn.functional import binary_cross_entropy_with_logits

    labels = labeled.to(eta.dtype)
    return weights * binary_cross_entropy_with_logits(eta, labels, reduction="none")


def balanced_loss(scores: Tensor, labeled: Tensor, share: float) -> Tensor:
    """Cross-entropy of labels, with equal weight for labeled and unlabeled rows together."""
    import torch
    from torch.nn.functional import softplus

    return torch.where(labeled, (1 - share) * softplus(-scores), share * softplus(scores)).mean()


def observed_log_likelihood(h: Tensor, eta: Tensor, labeled: Tensor) -> Tensor:
    """Logarithm of the chance of each row's label, or of its having none."""
    import torch
    from torch.nn.functional import logsigmoid

    chance = logsigmoid(h) + logsigmoid(eta)
    # The chance of no label must not become zero.
    return torch.where(labeled, chance, (-chance.clamp(max=-1e-7).expm1()).log())


@dataclass(kw_only=True, eq=False, repr=False)
class LBE(TorchPULearner):
    r"""Learn who is positive and who gets a label, each from the other.

    A classifier :math:`h(x) = P(y=1 \mid x)` and a propensity :math:`\eta(x) = P(s=1 \mid y=1, x)`
    explain the labels together, :math:`P(s=1 \mid x) = h(x) \eta(x)`. Each round begins with the
    chance w that a row is positive, which is 1 for labeled rows and

    .. math:: w = \frac{h (1 - \eta)}{h (1 - \eta) + 1 - h}

    for the others. Then h is fitted to w, and :math:`\eta` to the labels, weighted by w. A step
    takes a random tenth of all rows, and h only 80 % of them: the labeled ones, and the others that
    it gets least wrong. Without that rule the split of the product between the two drifts away.

    Parameters
    ----------
    alpha : float, PriorEstimate, str or None, default=None
        Share of positives among the unlabeled rows: a number, a result of :mod:`recoup.priors`, or
        a word that has it estimated before training, ``"estimate"`` or the key of an estimator such
        as ``"bbe"``. Training does not need it. With it, the threshold is set such that this share
        of the unlabeled rows lies above; with None a row is positive where h exceeds one half.
    steps_per_round : int, default=20
        Steps of both networks between two looks at all rows.
    pretraining_steps : int or None, default=None
        Steps at the beginning in which both networks learn the labels. None ends them where
        held-out labels are told best, after 4,000 at most; where nothing is held out it takes the
        100 of the authors, which are too few for a small network, and enough for a large one to
        learn the labels by heart.
    subset : float, default=0.1
        Share of the rows in a step, as published; more where it would hold fewer than five labeled
        rows.
    kept : float, default=0.8
        Share of the rows of a step that the classifier is trained on, as published: the labeled
        ones first, then those that it gets least wrong. Labeled rows weigh as much among the kept
        rows as among all.
    keep_labeled : bool, default=True
        Whether labeled rows are among the kept ones in any case. The authors let the rule drop them
        as it does the others; see the notes.
    network : str, callable or None, default=None
        What is trained: ``"mlp"``, ``"lenet"``, ``"cifar-cnn"``, ``"mri-cnn"``, or a function that
        takes the shape of a row and returns a torch module with one output. None chooses by the
        shape: dense layers for vectors, convolutions for images.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        How the rows were collected. ``"single-sample"``: all rows are one sample of the population,
        and some of its positives have a label. ``"case-control"``: the unlabeled rows are the
        sample, and the labeled ones were collected apart.
    epochs : int, default=20
        Rounds: in each, the chances w are computed once and both networks are trained.
    batch_size : int, default=4096
        Most rows in a step, whatever ``subset`` says; of large images fewer, so that a step does
        not fill a GPU: 1,024 of 128 x 128.
    labeled_batch : int or None, default=None
        Labeled rows per step, taken in turns. None keeps their ratio to the population, with at
        least 16. It has no effect here: a step draws from all rows.
    least_steps : int, default=10
        Steps of an epoch where a pass over the rows of the population has fewer.
    learning_rate : float, default=5e-4
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
        learner. For this one that is the loss, that is, how well the product of h and :math:`\eta`
        explains the held-out labels.
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
    propensity_network_ : Module
        The network for :math:`\eta`.
    implied_alpha_ : float
        Mean of w over the unlabeled rows. Only the product :math:`h \eta` can be learned from
        labels, so take it for a hint.
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

    Notes
    -----
    Labels tell the product :math:`h \eta` alone. Where :math:`P(s=1 \mid x)` is q, a round leads
    to :math:`h = q + (1 - q) w` and :math:`\eta = q / (q + (1 - q) w)`, and so to the same w again:
    it keeps the split that it finds. That needs the labeled rows, which add q to h. The authors
    let the rule of the smallest losses drop them as well, and as they are the rows that fit worst,
    it does; then w shrinks, most where :math:`\eta` is large, until h is the opposite of it. On
    sentence vectors of IMDb the area under the ROC curve of h fell to 0.16 within four rounds, and
    stays at 0.84 if labeled rows are always kept, as here.

    References
    ----------
    Gong, Wang, Liu, Han, You, Yang and Tao, "Instance-dependent positive and unlabeled learning
    with labeling bias estimation", IEEE Transactions on Pattern Analysis and Machine Intelligence
    44(8), 2022.
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="lbe",
        family="risk",
        cost="n per round, and a tenth of it per step, for two networks",
        effort=0.4,
        source="Gong et al. 2022",
        prior_free=True,
        selection="SAR",
        backend="torch",
        takes_weight=True,
    )
    # PU-Bench's steps weigh labeled rows such that h is no chance any more; steps stay ours.
    presets: ClassVar[Presets] = {
        "paper": {"keep_labeled": False, "pretraining_steps": 100, "validation_fraction": 0.0},
        "pubench": {"patience": 5, "standardize": False},
    }
    constraints: ClassVar[Constraints] = {
        "steps_per_round": WholeNumber(),
        "pretraining_steps": WholeNumber(0) | Nothing(),
        "subset": Number(above=0, most=1),
        "kept": Number(above=0, most=1),
        "keep_labeled": Flag(),
    }
    cuts_by_share: ClassVar[bool] = True
    natural_select: ClassVar[Select] = "loss"

    alpha: Any = None
    epochs: int = 20
    batch_size: int = 4096
    learning_rate: float = 5e-4
    steps_per_round: int = 20
    pretraining_steps: int | None = None
    subset: float = 0.1
    kept: float = 0.8
    keep_labeled: bool = True

    propensity_network_: Any = field(init=False, repr=False)

    def propensity(self, X: Any) -> FloatArray:
        r"""Return the chance of each row to get a label if it is positive.

        Parameters
        ----------
        X : array-like or data frame of shape (n, ...)
            The rows to judge, of the shape of the training rows.

        Returns
        -------
        ndarray of shape (n,)
            The values of :math:`\eta`, from 0 to 1.
        """
        from scipy.special import expit

        check_is_fitted(self)
        outputs = self._outputs(self._checked_rows(X, reset=False), self.propensity_network_)
        chances: FloatArray = expit(outputs)
        return chances

    def _networks(self) -> dict[str, nn.Module]:
        return {"network_": self.network_, "propensity_network_": self.propensity_network_}

    def _prepare(self, rows: TrainingRows) -> None:
        import torch

        if not (self.warm_start and hasattr(self, "propensity_network_")):
            self.propensity_network_ = self._new_network("LBE.fit")
        self.propensity_network_.to(rows.X.device)
        self._memory["labeled"] = rows.has_label
        self._memory["posterior"] = torch.ones(len(rows.X), device=rows.X.device)

    def _stages(self) -> list[Stage]:
        n, n_labeled = len(self._rows.everything), len(self._rows.labeled)
        share = max(self.subset, min(1.0, FEWEST_LABELS / n_labeled))

        def stage(loss: Any, epochs: int, rows: int, steps: int, **options: Any) -> Stage:
            most = min(max(rows, 1), self.batch_size, trained_at_once(self.shape_))
            return Stage(
                loss,
                epochs,
                self.learning_rate,
                self.weight_decay,
                pooled=True,
                batch_size=most,
                steps=steps,
                **options,
            )

        rounds = stage(
            self._step, self.epochs, round(share * n), self.steps_per_round, before_epoch=self._look
        )
        n_steps = self.pretraining_steps
        if n_steps is None:
            n_steps = MOST_STEPS if len(self._rows.held_labeled) else BLIND_STEPS
        if n_steps == 0:
            return [rounds]

        def learn_labels(batch: Batch) -> Tensor:
            labeled = self._memory["labeled"][batch.population_rows]
            h, eta = self._both(batch.population)
            balance = n_labeled / n
            return balanced_loss(h, labeled, balance) + balanced_loss(eta, labeled, balance)

        looks, judge = 1, None
        if len(self._rows.held_labeled):
            # Labels learned by heart leave no hidden positive for the rounds to find.
            looks, judge = -(-n_steps // LOOK_EVERY), self._knows_labels
        steps = -(-n_steps // looks)
        first = stage(learn_labels, looks, n, steps, selectable=False, judge=judge)
        return [first, rounds]

    def _knows_labels(self) -> float:
        """Say how well both networks tell the labels of held-out rows."""
        places = self._held()
        labeled = self._rows.has_label[places]
        share = float(labeled.float().mean())
        h = self._scores(self._rows.X, places)
        eta = self._scores(self._rows.X, places, self.propensity_network_)
        return -float(balanced_loss(h, labeled, share) + balanced_loss(eta, labeled, share))

    def _held(self) -> Tensor:
        import torch

        held: Any = torch.cat([self._rows.held_labeled, self._rows.held_population])
        places: Tensor = held.unique()
        return places

    def _both(self, X: Tensor) -> tuple[Tensor, Tensor]:
        return scores_of(self.network_, X), scores_of(self.propensity_network_, X)

    def _look(self, epoch: int) -> None:
        """Say of every row how likely it is positive."""
        self._memory["posterior"].copy_(self._posterior(self._rows))

    def _posterior(self, rows: TrainingRows) -> Tensor:
        h = self._scores(rows.X)
        return posterior(h, self._scores(rows.X, network=self.propensity_network_), rows.has_label)

    def _step(self, batch: Batch) -> Tensor:
        """Return both losses in one: no weight is in both, so each gets its own gradient."""
        import torch

        weights = self._memory["posterior"][batch.population_rows]
        labeled = self._memory["labeled"][batch.population_rows]
        n_kept = max(math.floor(self.kept * len(weights)), 1)
        batch.network.eval()
        with torch.no_grad():
            losses = class_losses(scores_of(batch.network, batch.population), weights)
        batch.network.train()
        if self.keep_labeled:
            # Labeled rows are certain, however badly they fit: without them the classifier would
            # forget what the labels say, and end up as the opposite of the propensity.
            losses = torch.where(labeled, -1.0, losses)
        easy = torch.topk(losses, n_kept, largest=False).indices
        of_classes = class_losses(scores_of(batch.network, batch.population[easy]), weights[easy])
        if self.keep_labeled:
            # They weigh as much among the kept rows as they do among all.
            n_labeled = labeled.sum()
            share = (n_kept - n_labeled) / (len(weights) - n_labeled).clamp(min=1)
            of_classes = torch.where(labeled[easy], share.clamp(min=0), 1.0) * of_classes
        eta = scores_of(self.propensity_network_, batch.population)
        return of_classes.mean() + propensity_losses(eta, labeled, weights).mean()

    def _held_out_loss(self, labeled: Tensor, population: Tensor) -> Tensor:
        rows, places = self._rows, self._held()
        h = self._scores(rows.X, places)
        eta = self._scores(rows.X, places, self.propensity_network_)
        return -observed_log_likelihood(h, eta, rows.has_label[places]).mean()

    def _conclude(self, rows: TrainingRows) -> None:
        places = rows.everything
        unlabeled = places[~rows.has_label[places]]
        self.implied_alpha_ = float(self._posterior(rows)[unlabeled].mean())
        positives = self._scores(rows.X, places).sigmoid().mean()
        propensity = self._scores(rows.X, places, self.propensity_network_).sigmoid().mean()
        if propensity > DEGENERATE or positives < len(rows.labeled) / len(places):
            warnings.warn(
                f"LBE.fit took the labels for all there is: mean propensity {propensity:.2f}, mean "
                f"probability of a positive {positives:.2f}. Hidden positives will be missed; take "
                f"fewer epochs, a smaller network, or another learner.",
                RecoupWarning,
                stacklevel=2,
            )
