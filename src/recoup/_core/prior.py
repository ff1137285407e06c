"""What is known about alpha and beta: a number, an interval, draws, or an estimate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from recoup._core.alpha import Draws, Interval, check_beta_alone
from recoup._core.checks import FloatArray, as_floats, brief, check_alpha_beta, did_you_mean
from recoup._core.notes import Note
from recoup._core.registry import registered
from recoup._core.text import show_digits
from recoup.exceptions import InvalidInputError

# Words for alpha that leave the choice of the estimator open.
ANY_METHOD = ("estimate", "auto")


@dataclass(frozen=True, eq=False)
class Prior:
    """Alpha and beta with their uncertainty, in the one form that evaluation uses.

    ``estimate`` is the prior estimate they come from, if they do, and ``asked`` the words for
    alpha and beta that asked for it. ``confidence`` is the level at which draws become a range.
    """

    alpha: float
    beta: float
    interval: tuple[float, float] | None = None
    alpha_draws: FloatArray | None = None
    beta_draws: FloatArray | None = None
    estimate: Any = None
    asked: tuple[str, float | str] | None = None
    confidence: float = 0.95

    @classmethod
    def of(cls, alpha: Any, beta: Any, caller: str, confidence: float = 0.95) -> Prior:
        """Read alpha as a number, an interval, draws, or a prior estimate.

        Two plain numbers are an interval, more are draws.
        """
        return replace(cls._read(alpha, beta, caller), confidence=float(confidence))

    @classmethod
    def _read(cls, alpha: Any, beta: Any, caller: str) -> Prior:
        if isinstance(alpha, Interval | Draws):
            return cls._from_stated(alpha, beta, caller)
        if hasattr(alpha, "alpha") and not hasattr(alpha, "columns"):
            return cls._from_estimate(alpha, beta, caller)
        if alpha is None or isinstance(alpha, str):
            raise InvalidInputError(
                f"{caller} needs alpha, the share of positives among the unlabeled rows, as a "
                f"number, an interval (low, high) or draws. Got {brief(alpha)}. "
                f"Pass alpha='estimate' to have it estimated from the scores, or alpha=0.0 to "
                f"take every unlabeled row as negative."
            )
        check_alpha_beta(alpha, beta, caller)
        values, betas = as_floats(alpha, "alpha", caller), as_floats(beta, "beta", caller)
        if betas.ndim and betas.shape != values.shape:
            raise InvalidInputError(
                f"{caller} needs draws of beta paired with draws of alpha. Got {betas.size} and "
                f"{values.size} of them. Pass one number for beta, or as many draws as for alpha."
            )
        if values.ndim == 0:
            return cls(float(values), float(betas))
        values = values.ravel()
        if len(values) == 2 and betas.ndim == 0:
            return cls._from_stated(Interval(*sorted(values.tolist())), beta, caller)
        if betas.ndim:
            return cls._from_stated(Draws(values, betas.ravel()), 1.0, caller)
        return cls._from_stated(Draws(values), beta, caller)

    @classmethod
    def _from_stated(cls, stated: Interval | Draws, beta: Any, caller: str) -> Prior:
        check_beta_alone(stated, beta, caller)
        if isinstance(stated, Interval):
            limits = (stated.low, stated.high)
            check_alpha_beta(limits, beta, caller)
            return cls(stated.center, float(beta), interval=limits)
        betas = beta if stated.beta is None else stated.beta
        check_alpha_beta(stated.alpha, betas, caller)
        return cls(
            float(np.median(stated.alpha)),
            float(np.median(betas)),
            alpha_draws=stated.alpha,
            beta_draws=stated.beta,
        )

    @classmethod
    def _from_estimate(cls, estimate: Any, given_beta: Any, caller: str) -> Prior:
        beta = getattr(estimate, "beta", given_beta)
        if np.ndim(given_beta) or given_beta not in (1.0, beta):
            raise InvalidInputError(
                f"{caller} got an estimate with beta={brief(beta)} and beta={brief(given_beta)} "
                f"beside it. Leave beta out, or pass the estimate's alpha as a number."
            )
        check_alpha_beta(estimate.alpha, beta, caller)
        center, beta = float(estimate.alpha), float(beta)
        # Any object with an alpha will do; only a PriorEstimate has more to say.
        source = estimate if hasattr(estimate, "to_dict") else None
        draws = getattr(estimate, "draws", None)
        if draws is not None and len(draws):
            pairs = as_floats(draws, "draws", caller).reshape(len(draws), -1)
            betas = pairs[:, 1] if pairs.shape[1] > 1 else None
            check_alpha_beta(pairs[:, 0], beta if betas is None else betas, caller)
            return cls(center, beta, None, pairs[:, 0], betas, source)
        interval = getattr(estimate, "interval", None)
        if interval is None:
            return cls(center, beta, estimate=source)
        check_alpha_beta(interval, beta, caller)
        low, high = sorted(float(end) for end in interval)
        return cls(center, beta, interval=(low, high), estimate=source)

    @property
    def range(self) -> tuple[float, float]:
        """Where alpha may lie: the interval, the middle of the draws, or one point."""
        if self.interval is not None:
            return self.interval
        if self.alpha_draws is not None:
            tail = (1 - self.confidence) / 2
            low, high = np.quantile(self.alpha_draws, [tail, 1 - tail])
            return min(float(low), self.alpha), max(float(high), self.alpha)
        return self.alpha, self.alpha

    @property
    def knows_beta(self) -> bool:
        """Whether an estimate or draws say how many labels are right, rather than take all so."""
        if self.beta_draws is not None and np.ptp(self.beta_draws) > 0:
            return True
        return self.beta != 1

    @property
    def stated(self) -> tuple[float, float] | None:
        """The interval that was given or estimated, if any was."""
        if self.estimate is None or self.alpha_draws is None:
            return self.interval
        if self.estimate.confidence == self.confidence and self.estimate.interval is not None:
            limits: tuple[float, float] = self.estimate.interval
            return limits
        return self.range

    def described(self) -> dict[str, Any] | None:
        """Return what an estimate says of itself, but for the time it took; None without one."""
        if self.estimate is None:
            return None
        return {key: value for key, value in self.estimate.to_dict().items() if key != "seconds"}

    def corners(self) -> list[float]:
        """Values of alpha to take the worst of: nothing says where in an interval it lies."""
        if self.interval is None:
            return [self.alpha]
        return [float(alpha) for alpha in np.linspace(*self.interval, 3)]

    def some_draws(self, size: int) -> tuple[Any, Any]:
        """Return at most so many pairs of alpha and beta, evenly taken from the draws."""
        if self.alpha_draws is None:
            return self.alpha, self.beta
        count = len(self.alpha_draws)
        # Draws may come in order: steps over all of them take each part alike.
        chosen = np.unique(np.linspace(0, count - 1, min(size, count)).round().astype(int))
        beta = self.beta if self.beta_draws is None else self.beta_draws[chosen]
        return self.alpha_draws[chosen], beta

    def sample(self, size: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Draw pairs of alpha and beta."""
        if self.alpha_draws is None:
            return self.alpha, self.beta
        chosen = rng.integers(len(self.alpha_draws), size=size)
        beta = self.beta if self.beta_draws is None else self.beta_draws[chosen]
        return self.alpha_draws[chosen], beta

    def __str__(self) -> str:
        """Say it as a person would."""
        if self.estimate is not None:
            limits = "" if self.stated is None else _brackets(*self.stated, 3)
            return f"{show_digits(self.alpha)}{limits} (estimated, {self.estimate.method})"
        if self.interval is not None:
            return " to ".join(show_digits(end, 4) for end in self.interval)
        if self.alpha_draws is not None:
            return f"{show_digits(self.alpha, 4)}{_brackets(*self.range, 4)}"
        return show_digits(self.alpha, 4)


def _brackets(low: float, high: float, digits: int) -> str:
    return f" [{show_digits(low, digits)}, {show_digits(high, digits)}]"


def estimation_method(alpha: Any, beta: Any, caller: str) -> str | None:
    """Return the key of the method that alpha asks for, or None where alpha is given."""
    if not isinstance(alpha, str):
        if isinstance(beta, str):
            raise InvalidInputError(
                f"{caller} estimates beta together with alpha only. Got beta={brief(beta)!r} and "
                f"alpha={brief(alpha)}. Pass alpha='estimate' too, or a number for beta."
            )
        return None
    if alpha not in ANY_METHOD and alpha not in registered("priors"):
        known = ("estimate", *registered("priors"))
        raise InvalidInputError(
            f"{caller} knows no way {brief(alpha)!r} to estimate alpha."
            f"{did_you_mean(alpha, known)} Pass a number, or one of: {', '.join(known)}."
        )
    if np.ndim(beta) or (isinstance(beta, str) and beta != "estimate"):
        raise InvalidInputError(
            f"{caller} needs beta to be one number or 'estimate' where alpha is estimated. "
            f"Got {brief(beta)}."
        )
    method = "auto" if alpha in ANY_METHOD else str(alpha)
    check_known_beta(method, beta, caller)
    return method


def check_known_beta(method: str, beta: Any, caller: str) -> None:
    """Refuse what a method of estimating alpha cannot make of beta: a share, a word or None."""
    if beta is None:
        return
    tags = registered("priors")[method].tags
    if isinstance(beta, str) and beta == "estimate":
        if tags.finds_beta or tags.takes_beta or (tags.reads == "scores" and not tags.wraps):
            return
        raise InvalidInputError(
            f"{caller} cannot estimate beta by {method!r}, which takes every label as right. "
            f"Use the method 'auto' or 'noisy-pu', or pass a number for beta."
        )
    if not isinstance(beta, Real) or not 0 < float(beta) <= 1:
        shown = repr(beta) if isinstance(beta, str) else brief(beta)
        raise InvalidInputError(
            f"{caller} needs beta, the share of true positives among the labeled rows, to be a "
            f"number above 0 and up to 1, or 'estimate'. Got {shown}. Pass 1.0 if every label is "
            f"right."
        )
    if beta != 1 and not tags.takes_beta:
        reason = "finds beta itself" if tags.finds_beta else "takes every label as right"
        raise InvalidInputError(
            f"{caller} cannot estimate alpha by {method!r} where beta={brief(beta)} is known: "
            f"that method {reason}. Use the method 'auto', or leave beta out."
        )


def prior_notes(estimate: Any) -> list[Note]:
    """Say what speaks against an estimate, in sentences that name what they are about."""
    return [note.about("Estimate of alpha") for note in estimate.warnings]
