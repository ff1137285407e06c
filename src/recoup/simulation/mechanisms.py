"""Which positives get a label: mechanisms by name, and how each one draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recoup._core.checks import FloatArray, as_numbers, brief, check_same_length, did_you_mean
from recoup.exceptions import InvalidInputError

Mask: TypeAlias = NDArray[np.bool_]
Propensity: TypeAlias = Callable[[Any, FloatArray], ArrayLike]
Variant: TypeAlias = Literal["paper", "pubench", "accept-reject"]
LogWeights: TypeAlias = Callable[[FloatArray, Mask, float, bool], FloatArray]

CALLER = "simulate"
TINY = float(np.finfo(float).tiny)
MECHANISMS: dict[str, Mechanism] = {}


@dataclass(frozen=True)
class Mechanism:
    """How positives compete for labels.

    Parameters
    ----------
    log_weights : callable
        Function of (posterior, candidates, k, pubench): the log weight of each row.
    k : float
        The usual exponent of the weights.
    uses_posterior : bool
        Whether the weights depend on the posterior.
    takes_top : bool
        Whether the rows with the largest weights get the labels, without a draw.
    """

    log_weights: LogWeights
    k: float
    uses_posterior: bool
    takes_top: bool


def named_mechanism(
    *keys: str, k: float = 1.0, uses_posterior: bool = True, takes_top: bool = False
) -> Callable[[LogWeights], LogWeights]:
    """Register log weights, a function of (posterior, candidates, k, pubench), under some keys.

    Parameters
    ----------
    *keys : str
        Names of the mechanism.
    k : float, default=1.0
        The usual exponent of the weights.
    uses_posterior : bool, default=True
        Whether the weights depend on the posterior.
    takes_top : bool, default=False
        Whether the rows with the largest weights get the labels, without a draw.

    Returns
    -------
    callable
        Decorator of the function.
    """

    def decorate(function: LogWeights) -> LogWeights:
        MECHANISMS.update(dict.fromkeys(keys, Mechanism(function, k, uses_posterior, takes_top)))
        return function

    return decorate


@named_mechanism("scar", "s1", uses_posterior=False)
def _any_alike(p: FloatArray, candidates: Mask, k: float, pubench: bool) -> FloatArray:
    """Labeling favors nobody: labels are selected completely at random."""
    return np.zeros(len(p))


@named_mechanism("s2", k=10)
def _clear_ones(p: FloatArray, candidates: Mask, k: float, pubench: bool) -> FloatArray:
    """Labeling favors positives that look positive."""
    # Logarithms, because p**10 of an unlikely positive underflows to zero.
    weights: FloatArray = k * np.log(np.maximum(p, TINY))
    if pubench:
        # The released code gives a tenth of the mass to all positives alike; the paper does not.
        shares = np.exp(weights - weights[candidates].max())
        shares /= shares[candidates].sum()
        weights = np.log(0.9 * shares + 0.1 / candidates.sum())
    return weights


@named_mechanism("s3", k=10)
def _doubtful_ones(p: FloatArray, candidates: Mask, k: float, pubench: bool) -> FloatArray:
    """Labeling favors positives that could be negatives."""
    # With k = 10 the released code's weights differ by a factor of 165 at most, (2.5 / 1.5)**10;
    # those of the paper have no such limit.
    weights: FloatArray = k * np.log(np.maximum((2.5 if pubench else 1.0) - p, TINY))
    return weights


@named_mechanism("s4", k=20, takes_top=True)
def _clearest_ones(p: FloatArray, candidates: Mask, k: float, pubench: bool) -> FloatArray:
    """Only the positives that look most positive get a label."""
    weights: FloatArray = k * np.log(np.maximum(p, TINY))
    return weights


@dataclass(frozen=True)
class Rule:
    """A mechanism with its variant and exponent settled.

    Parameters
    ----------
    weigh : callable
        Function of (X, posterior, candidates): log weights, or propensities if ``way`` is
        ``"stated"``.
    way : {"race", "top", "scaled", "stated"}
        How weights become labels: drawn one by one, the largest ones, or independently with
        propensities that are scaled to the wanted number or stated.
    uses_posterior : bool, default=True
        Whether the weights depend on the posterior.
    """

    weigh: Callable[[Any, FloatArray, Mask], FloatArray]
    way: Literal["race", "top", "scaled", "stated"]
    uses_posterior: bool = True

    @property
    def fair(self) -> bool:
        """Whether labels are a simple random sample of the candidates."""
        return self.way == "race" and not self.uses_posterior

    @property
    def independent(self) -> bool:
        """Whether each candidate gets its label regardless of the others."""
        return self.way in ("scaled", "stated")


def as_rule(mechanism: str | Propensity, variant: Variant, k: float | None) -> Rule:
    """Settle what draws the labels, or say what is wrong with it."""
    if callable(mechanism):
        propensity = mechanism

        def stated(X: Any, p: FloatArray, candidates: Mask) -> FloatArray:
            e = as_numbers(propensity(X, p), "the propensity", CALLER)
            check_same_length(candidates, e, "y_true and the propensity", CALLER)
            bad = ~((e > 0) & (e <= 1))
            if bad.any():
                raise InvalidInputError(
                    f"{CALLER} needs a mechanism that returns propensities in (0, 1]: each is the "
                    f"chance that a positive gets its label. Got {e[bad][0]:g}."
                )
            return e

        return Rule(stated, "stated")
    if mechanism not in MECHANISMS:
        guess = did_you_mean(str(mechanism).lower(), MECHANISMS)
        raise InvalidInputError(
            f"{CALLER} knows no mechanism {brief(mechanism)!r}.{guess} "
            f"It knows: {', '.join(MECHANISMS)}."
        )
    kind = MECHANISMS[mechanism]
    exponent = kind.k if k is None else float(k)

    def weigh(X: Any, p: FloatArray, candidates: Mask) -> FloatArray:
        return kind.log_weights(p, candidates, exponent, variant == "pubench")

    way: Literal["race", "top", "scaled"] = "top" if kind.takes_top else "race"
    return Rule(weigh, "scaled" if variant == "accept-reject" else way, kind.uses_posterior)


def posterior_of(X: Any, y: Mask, posterior: Any) -> FloatArray:
    """Return P(y=1|x) of every row: given, or from a classifier that learns the true classes."""
    if posterior is not None and not hasattr(posterior, "fit"):
        p = as_numbers(posterior, "posterior", CALLER)
        check_same_length(y, p, "y_true and posterior", CALLER)
        bad = ~((p >= 0) & (p <= 1))
        if bad.any():
            raise InvalidInputError(
                f"{CALLER} needs posterior in [0, 1]: it is a probability. Got {p[bad][0]:g}."
            )
        return p
    from sklearn.base import clone
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if posterior is not None:
        classifier = clone(posterior)
    else:
        X = X.reshape(len(X), -1) if isinstance(X, np.ndarray) else X
        scaler = StandardScaler(with_mean=not hasattr(X, "tocsr"))
        classifier = make_pipeline(scaler, LogisticRegression(max_iter=1000))
    try:
        classifier.fit(X, y.astype(np.int64))
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{CALLER} could not fit the posterior on X and y_true: {brief(str(error), 200)} Pass "
            f"posterior, as an array or as a classifier that takes X."
        ) from error
    return np.asarray(classifier.predict_proba(X)[:, 1], float)


def lowest(among: Mask, n: int, *keys: FloatArray) -> Mask:
    """Choose the n rows with the lowest keys, later keys breaking ties."""
    rows = np.flatnonzero(among)
    chosen = np.zeros(len(among), bool)
    chosen[rows[np.lexsort([key[rows] for key in reversed(keys)])[:n]]] = True
    return chosen


def draw_labels(
    rule: Rule, X: Any, p: FloatArray, candidates: Mask, n: int, draw: FloatArray
) -> tuple[FloatArray, Mask]:
    """Give n candidates a label; return the chance of every row with its features, and who won."""
    weights = rule.weigh(X, p, candidates)
    if rule.way == "top":
        chosen = lowest(candidates, n, -weights, draw)
        # Rows tied with the last one chosen all had the same chance.
        bar = weights[chosen].min()
        tied = candidates & (weights == bar)
        share = (chosen & tied).sum() / tied.sum()
        return np.select([weights > bar, weights == bar], [1.0, share], 0.0), chosen
    if rule.way == "race":
        # Drawing one by one without replacement with weights w is the same as taking the first n
        # of exponential arrival times with rates w. Their logarithms are compared: a uniform draw
        # of exactly 0 gives -inf, which is first, as it should be.
        with np.errstate(divide="ignore"):
            chosen = lowest(candidates, n, np.log(-np.log1p(-draw)) - weights)
        return _calibrated(_arrived, weights, candidates, n), chosen
    e = weights if rule.way == "stated" else _calibrated(_capped, weights, candidates, n)
    chosen = candidates & (draw < e)
    if not chosen.any():
        raise InvalidInputError(
            f"{CALLER} labels rows independently here, and none of {int(candidates.sum()):,} "
            f"positives got a label. Ask for more labels or larger propensities."
        )
    return e, chosen


def _arrived(logs: FloatArray) -> FloatArray:
    """Chance to arrive before time 1, given the logarithm of the rate."""
    # expm1 keeps digits of small chances; exp(50) is certainty, and exp(710) would overflow.
    chance: FloatArray = -np.expm1(-np.exp(np.minimum(logs, 50.0)))
    return np.maximum(chance, TINY)


def _capped(logs: FloatArray) -> FloatArray:
    chance: FloatArray = np.exp(np.minimum(logs, 0.0))
    return np.maximum(chance, TINY)


def _calibrated(
    chance: Callable[[FloatArray], FloatArray], weights: FloatArray, candidates: Mask, n: int
) -> FloatArray:
    """Scale the weights so that the chances of the candidates sum to n."""
    from scipy.optimize import brentq

    logs = weights[candidates]
    # At the lower end even the largest chance is below n / len(logs); at the upper end even the
    # smallest is 1 to double precision. The sum grows with the scale, so there is one root.
    scale = brentq(
        lambda scale: chance(scale + logs).sum() - n,
        math.log(n / len(logs)) - logs.max() - 1,
        4 - logs.min(),
        xtol=1e-13,
        maxiter=500,
    )
    return chance(scale + weights)
