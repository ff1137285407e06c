"""What is known about alpha and beta: a number, an interval, or draws from an estimate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from recoup._checks import FloatArray, brief, check_alpha_beta
from recoup.exceptions import InvalidInputError


@dataclass(frozen=True, eq=False)
class Prior:
    """Alpha and beta with their uncertainty, in the one form that evaluation uses."""

    alpha: float
    beta: float
    interval: tuple[float, float] | None = None
    alpha_draws: FloatArray | None = None
    beta_draws: FloatArray | None = None

    @classmethod
    def of(cls, alpha: Any, beta: Any, caller: str) -> Prior:
        """Read alpha as a number, an interval (two numbers), draws, or a prior estimate."""
        if hasattr(alpha, "alpha") and not hasattr(alpha, "columns"):
            return cls._from_estimate(alpha, beta, caller)
        if alpha is None or isinstance(alpha, str):
            raise InvalidInputError(
                f"{caller} needs alpha, the share of positives among the unlabeled rows, as a "
                f"number, an interval (low, high) or draws. Got {brief(alpha)}. "
                f"Pass alpha=0.0 to take every unlabeled row as negative."
            )
        check_alpha_beta(alpha, beta, caller)
        values, betas = np.asarray(alpha, float), np.asarray(beta, float)
        if betas.ndim and betas.shape != values.shape:
            raise InvalidInputError(
                f"{caller} needs draws of beta paired with draws of alpha. Got {betas.size} and "
                f"{values.size} of them. Pass one number for beta, or as many draws as for alpha."
            )
        if values.ndim == 0:
            return cls(float(values), float(betas))
        values = values.ravel()
        if len(values) == 2 and betas.ndim == 0:
            low, high = sorted(values.tolist())
            return cls((low + high) / 2, float(betas), interval=(low, high))
        return cls(
            float(np.median(values)),
            float(np.median(betas)),
            alpha_draws=values,
            beta_draws=betas.ravel() if betas.ndim else None,
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
        draws = getattr(estimate, "draws", None)
        if draws is not None and len(draws):
            pairs = np.asarray(draws, float).reshape(len(draws), -1)
            betas = pairs[:, 1] if pairs.shape[1] > 1 else None
            check_alpha_beta(pairs[:, 0], beta if betas is None else betas, caller)
            return cls(center, beta, alpha_draws=pairs[:, 0], beta_draws=betas)
        interval = getattr(estimate, "interval", None)
        if interval is None:
            return cls(center, beta)
        check_alpha_beta(interval, beta, caller)
        low, high = sorted(float(end) for end in interval)
        return cls(center, beta, interval=(low, high))

    @property
    def range(self) -> tuple[float, float]:
        """Where alpha may lie: the interval, the middle 95% of the draws, or one point."""
        if self.interval is not None:
            return self.interval
        if self.alpha_draws is not None:
            low, high = np.quantile(self.alpha_draws, [0.025, 0.975])
            return float(low), float(high)
        return self.alpha, self.alpha

    def sample(self, size: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Draw pairs of alpha and beta."""
        if self.alpha_draws is None:
            return self.alpha, self.beta
        chosen = rng.integers(len(self.alpha_draws), size=size)
        beta = self.beta if self.beta_draws is None else self.beta_draws[chosen]
        return self.alpha_draws[chosen], beta

    def __str__(self) -> str:
        """Say it as a person would."""
        if self.interval is not None:
            return f"{self.interval[0]:.4g} to {self.interval[1]:.4g}"
        if self.alpha_draws is not None:
            low, high = self.range
            return f"{self.alpha:.4g} [{low:.4g}, {high:.4g}]"
        return f"{self.alpha:.4g}"
