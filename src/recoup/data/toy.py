"""Toy mixtures whose densities, posteriors and best possible scores have closed forms."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Integral
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recoup._core.checks import FloatArray, brief
from recoup._core.random import RandomState, as_seed, named_rng
from recoup.exceptions import InvalidInputError

Kind = TypeVar("Kind", bound="ToyMixture")


@dataclass(frozen=True, kw_only=True)
class ToyMixture(ABC):
    """A mixture of positives (share ``pi``) and negatives, known exactly.

    Subclasses say how rows are drawn and what the two classes look like. In all of them a higher
    first coordinate never makes a row less likely to be positive.

    Parameters
    ----------
    pi : float
        Chance of a row to be positive.
    dim : int, default=1
        Number of coordinates.
    """

    pi: float
    dim: int = 1

    def density(self, X: ArrayLike, y: int | None = None) -> FloatArray:
        """Return the density of the mixture at each row, or of one class alone.

        Parameters
        ----------
        X : array-like of shape (n, dim)
            Rows.
        y : {0, 1}, optional
            Which class. By default both, mixed.

        Returns
        -------
        ndarray of shape (n,)
        """
        negative, positive = self._class_densities(_as_rows(X, self.dim))
        if y is not None:
            return positive if y == 1 else negative
        mixed: FloatArray = self.pi * positive + (1 - self.pi) * negative
        return mixed

    def posterior(self, X: ArrayLike) -> FloatArray:
        """Return P(y=1|x) of each row; NaN where neither class has any density.

        Parameters
        ----------
        X : array-like of shape (n, dim)
            Rows.

        Returns
        -------
        ndarray of shape (n,)
        """
        negative, positive = self._class_densities(_as_rows(X, self.dim))
        mixed = self.pi * positive + (1 - self.pi) * negative
        unknown = np.full(len(mixed), np.nan)
        chance: FloatArray = np.divide(self.pi * positive, mixed, out=unknown, where=mixed > 0)
        return chance

    @property
    @abstractmethod
    def bayes_accuracy(self) -> float:
        """Accuracy of the best classifier: positive where the posterior exceeds 1/2."""

    @property
    @abstractmethod
    def auc(self) -> float:
        """Area under the ROC curve of the posterior, which no score exceeds."""

    @abstractmethod
    def _class_densities(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the densities of negatives and of positives at each row."""

    @abstractmethod
    def _draw(self, y_true: NDArray[np.int64], rng: np.random.Generator) -> FloatArray:
        """Draw one row for each class."""


@dataclass(frozen=True, kw_only=True)
class TwoGaussians(ToyMixture):
    """Unit normal clouds that differ in the mean of the first coordinate.

    Parameters
    ----------
    separation : float
        Distance of the two means.
    pi : float
        Chance of a row to be positive.
    dim : int, default=1
        Number of coordinates.
    """

    separation: float

    def posterior(self, X: ArrayLike) -> FloatArray:
        """Return P(y=1|x) of each row, also where both densities are too small for a float.

        Parameters
        ----------
        X : array-like of shape (n, dim)
            Rows.

        Returns
        -------
        ndarray of shape (n,)
        """
        from scipy.special import expit, logit

        odds: FloatArray = logit(self.pi) + self.separation * _as_rows(X, self.dim)[:, 0]
        chance: FloatArray = expit(odds)
        return chance

    @property
    def bayes_accuracy(self) -> float:
        """Accuracy of the cut at ``-logit(pi) / separation``."""
        cut = math.log((1 - self.pi) / self.pi) / self.separation
        half = self.separation / 2
        return self.pi * _normal_cdf(half - cut) + (1 - self.pi) * _normal_cdf(half + cut)

    @property
    def auc(self) -> float:
        """Chance that the difference of two rows has the right sign."""
        return _normal_cdf(self.separation / math.sqrt(2))

    def _class_densities(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        noise = np.sum(X[:, 1:] ** 2, axis=1) + self.dim * math.log(2 * math.pi)
        half = self.separation / 2
        negative, positive = (
            np.exp(-((X[:, 0] - center) ** 2 + noise) / 2) for center in (-half, half)
        )
        return negative, positive

    def _draw(self, y_true: NDArray[np.int64], rng: np.random.Generator) -> FloatArray:
        X = rng.standard_normal((len(y_true), self.dim))
        X[:, 0] += (y_true - 0.5) * self.separation
        return X


@dataclass(frozen=True, kw_only=True)
class TwoRamps(ToyMixture):
    """Mirrored power laws on [0, 1]: positives rise as ``x**(power - 1)``, negatives fall.

    Parameters
    ----------
    power : float
        Exponent of the distribution function; above 1.
    pi : float
        Chance of a row to be positive.
    dim : int, default=1
        Number of coordinates; always 1 here.
    """

    power: float

    @property
    def bayes_accuracy(self) -> float:
        """Accuracy of the cut where both weighted densities meet."""
        cut = 1 / (1 + (self.pi / (1 - self.pi)) ** (1 / (self.power - 1)))
        lost: float = self.pi * cut**self.power + (1 - self.pi) * (1 - cut) ** self.power
        return 1 - lost

    @property
    def auc(self) -> float:
        """One minus ``gamma(power + 1)**2 / gamma(2*power + 1)``; 5/6 for triangles."""
        return 1 - math.exp(2 * math.lgamma(self.power + 1) - math.lgamma(2 * self.power + 1))

    def _class_densities(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        x = X[:, 0]
        inside = (x >= 0) & (x <= 1)
        falling, rising = (
            np.where(inside, self.power * np.clip(side, 0, 1) ** (self.power - 1), 0.0)
            for side in (1 - x, x)
        )
        return falling, rising

    def _draw(self, y_true: NDArray[np.int64], rng: np.random.Generator) -> FloatArray:
        side = rng.random(len(y_true)) ** (1 / self.power)
        return np.where(y_true == 1, side, 1 - side)[:, None]


@dataclass(frozen=True, kw_only=True)
class TwoUniforms(ToyMixture):
    """Negatives uniform on [0, 1], positives on [1 - overlap, 2 - overlap].

    Parameters
    ----------
    overlap : float
        Share of either class that lies where the other does.
    pi : float
        Chance of a row to be positive.
    dim : int, default=1
        Number of coordinates; always 1 here.
    """

    overlap: float

    @property
    def bayes_accuracy(self) -> float:
        """Only rows of the rarer class in the overlap are lost."""
        return 1 - self.overlap * min(self.pi, 1 - self.pi)

    @property
    def auc(self) -> float:
        """Pairs within the overlap are a toss-up."""
        return 1 - self.overlap**2 / 2

    def _class_densities(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        x, start = X[:, 0], 1 - self.overlap
        negative = (x >= 0) & (x <= 1)
        positive = (x >= start) & (x <= start + 1)
        return negative.astype(float), positive.astype(float)

    def _draw(self, y_true: NDArray[np.int64], rng: np.random.Generator) -> FloatArray:
        return (rng.random(len(y_true)) + (1 - self.overlap) * y_true)[:, None]


def two_gaussians(
    n: int,
    *,
    pi: float = 0.4,
    separation: float = 2.4,
    dim: int = 10,
    random_state: RandomState = 0,
) -> tuple[FloatArray, NDArray[np.int64], TwoGaussians]:
    """Draw rows from two normal clouds that differ in the first coordinate.

    No region is free of negatives, however pure it gets far out: estimates of alpha that look
    for one are too high.

    Parameters
    ----------
    n : int
        Number of rows.
    pi : float, default=0.4
        Chance of a row to be positive.
    separation : float, default=2.4
        Distance of the two means.
    dim : int, default=10
        Number of coordinates; all but the first are noise.
    random_state : int, Generator, RandomState or None, default=0
        The same number gives the same rows.

    Returns
    -------
    X : ndarray of shape (n, dim)
    y_true : ndarray of shape (n,)
    truth : TwoGaussians

    Examples
    --------
    >>> X, y_true, truth = two_gaussians(1000)
    >>> truth.bayes_accuracy, truth.auc
    (0.88819, 0.95516)
    >>> truth.posterior(np.zeros((1, 10)))  # midway, where the features tell nothing
    array([0.4])
    """
    caller = "two_gaussians"
    _check_pi(pi, caller)
    if not (separation > 0 and math.isfinite(separation)) or dim < 1:
        raise InvalidInputError(
            f"{caller} needs separation > 0 and dim >= 1. Got separation={brief(separation)}, "
            f"dim={brief(dim)}."
        )
    return _rows(TwoGaussians(pi=pi, dim=dim, separation=separation), n, random_state, caller)


def two_ramps(
    n: int, *, pi: float = 0.4, power: float = 2.0, random_state: RandomState = 0
) -> tuple[FloatArray, NDArray[np.int64], TwoRamps]:
    """Draw rows from two mirrored power laws on [0, 1], triangles by default.

    Each class has one point where the other has no density, so that alpha can be learned, but no
    region.

    Parameters
    ----------
    n : int
        Number of rows.
    pi : float, default=0.4
        Chance of a row to be positive.
    power : float, default=2.0
        Above 1. Positives have density ``power * x**(power - 1)``, negatives the same in 1 - x.
    random_state : int, Generator, RandomState or None, default=0
        The same number gives the same rows.

    Returns
    -------
    X : ndarray of shape (n, 1)
    y_true : ndarray of shape (n,)
    truth : TwoRamps

    Examples
    --------
    >>> X, y_true, truth = two_ramps(1000)
    >>> truth.bayes_accuracy, truth.auc
    (0.76, 0.83333)
    >>> truth.posterior([0.0, 0.6, 1.0])
    array([0. , 0.5, 1. ])
    """
    caller = "two_ramps"
    _check_pi(pi, caller)
    if not (power > 1 and math.isfinite(power)):
        raise InvalidInputError(
            f"{caller} needs power > 1: the classes are the same at 1. Got {brief(power)}."
        )
    return _rows(TwoRamps(pi=pi, power=power), n, random_state, caller)


def two_uniforms(
    n: int, *, pi: float = 0.4, overlap: float = 0.5, random_state: RandomState = 0
) -> tuple[FloatArray, NDArray[np.int64], TwoUniforms]:
    """Draw rows from two uniform densities that overlap.

    Each class has a region to itself, unless ``overlap`` is 1. The posterior takes three values.

    Parameters
    ----------
    n : int
        Number of rows.
    pi : float, default=0.4
        Chance of a row to be positive.
    overlap : float, default=0.5
        Share of either class that lies where the other does, from 0 (apart) to 1 (the same).
    random_state : int, Generator, RandomState or None, default=0
        The same number gives the same rows.

    Returns
    -------
    X : ndarray of shape (n, 1)
    y_true : ndarray of shape (n,)
    truth : TwoUniforms

    Examples
    --------
    >>> X, y_true, truth = two_uniforms(1000)
    >>> truth.bayes_accuracy, truth.auc
    (0.8, 0.875)
    >>> truth.posterior([0.2, 0.8, 1.2])
    array([0. , 0.4, 1. ])
    """
    caller = "two_uniforms"
    _check_pi(pi, caller)
    if not 0 <= overlap <= 1:
        raise InvalidInputError(
            f"{caller} needs 0 <= overlap <= 1: it is a share of either class. "
            f"Got {brief(overlap)}."
        )
    return _rows(TwoUniforms(pi=pi, overlap=overlap), n, random_state, caller)


def _rows(
    truth: Kind, n: int, random_state: RandomState, caller: str
) -> tuple[FloatArray, NDArray[np.int64], Kind]:
    seed = as_seed(random_state, caller)
    if not (isinstance(n, Integral) and n >= 1):
        raise InvalidInputError(f"{caller} needs n, a whole number of rows. Got {brief(n)}.")
    draws = named_rng(seed, "toy", "classes").random(n)
    y_true = (draws < truth.pi).astype(np.int64)
    return truth._draw(y_true, named_rng(seed, "toy", "features")), y_true, truth


def _as_rows(X: ArrayLike, dim: int) -> FloatArray:
    """Take one number per row as rows of a single coordinate."""
    rows = np.asarray(X, float)
    rows = rows[:, None] if rows.ndim == 1 and dim == 1 else rows
    if rows.ndim != 2 or rows.shape[1] != dim:
        raise InvalidInputError(
            f"A toy mixture of dimension {dim} needs X of shape (n, {dim}). Got {rows.shape}."
        )
    return rows


def _normal_cdf(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


def _check_pi(pi: float, caller: str) -> None:
    if not 0 < pi < 1:
        raise InvalidInputError(
            f"{caller} needs 0 < pi < 1: it is the chance of a row to be positive. Got {brief(pi)}."
        )
