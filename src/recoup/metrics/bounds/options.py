"""Options of the bounds: what they mean, and whether they make sense."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from recoup._core.alpha import Draws, Interval
from recoup._core.checks import Scheme, as_floats, brief, check_alpha_beta, check_scheme
from recoup._core.prior import Prior
from recoup.exceptions import InvalidInputError
from recoup.scores.table import ScoreTable

BandKind: TypeAlias = Literal["binomial", "bootstrap", "dkw"]
Band: TypeAlias = BandKind | tuple[ArrayLike, ArrayLike]
Alpha: TypeAlias = float | tuple[float, float] | Interval | Draws
Reverse: TypeAlias = bool | Literal["tighter"]


@dataclass(frozen=True)
class Options:
    """Checked options, shared by every function that bounds something.

    Parameters
    ----------
    caller : str
        Who was called, for error messages.
    alphas : (float, float)
        Ends of the interval of alpha; twice the same for one number.
    band, confidence, latent_noise, reverse, scheme
        As for :func:`contingency_bounds`.
    """

    caller: str
    alphas: tuple[float, float]
    band: Band
    confidence: float
    latent_noise: bool
    reverse: Reverse
    scheme: Scheme

    @classmethod
    def check(
        cls,
        caller: str,
        *,
        alpha: Alpha,
        band: Band = "binomial",
        confidence: float = 0.95,
        latent_noise: bool = True,
        reverse: Reverse = False,
        scheme: Scheme = "single-sample",
    ) -> Options:
        """Refuse what makes no sense, naming the caller."""
        if isinstance(confidence, bool) or not (
            isinstance(confidence, int | float | np.number) and 0 < confidence < 1
        ):
            raise InvalidInputError(
                f"{caller} needs confidence between 0 and 1, both excluded. Got "
                f"{brief(confidence)}. Pass a share such as 0.95, not a percentage."
            )
        if isinstance(alpha, Interval | Draws) or hasattr(alpha, "alpha"):
            alpha = Prior.of(alpha, 1.0, caller, confidence).range
        check_alpha_beta(alpha, 1.0, caller)
        ends = np.atleast_1d(as_floats(alpha, "alpha", caller))
        if ends.ndim > 1 or len(ends) > 2 or ends[0] > ends[-1]:
            raise InvalidInputError(
                f"{caller} needs alpha to be one share or an interval (low, high). "
                f"Got {brief(alpha)}. Pass for example alpha=(0.1, 0.2)."
            )
        _check_band(band, caller)
        if not (isinstance(reverse, bool) or reverse == "tighter"):
            raise InvalidInputError(
                f"{caller} needs reverse to be False (bounds from the labeled positives), True "
                f"(from the known negatives) or 'tighter' (the narrower of both). "
                f"Got {brief(reverse)}."
            )
        if reverse == "tighter" and not isinstance(band, str):
            raise InvalidInputError(
                f"{caller} cannot take reverse='tighter' with a band given as arrays: a band is "
                f"either about the positives or about the negatives. Pass reverse=False or True."
            )
        check_scheme(scheme, caller)
        interval = (float(ends[0]), float(ends[-1]))
        return cls(caller, interval, band, confidence, latent_noise, reverse, scheme)


def prepare(
    caller: str,
    s: ArrayLike,
    scores: ArrayLike,
    alpha: Alpha,
    *,
    band: Band,
    confidence: float,
    latent_noise: bool,
    reverse: Reverse,
    scheme: Scheme,
    sample_weight: ArrayLike | None,
) -> tuple[ScoreTable, Options]:
    """Count the rows and check the options."""
    checked = Options.check(
        caller,
        alpha=alpha,
        band=band,
        confidence=confidence,
        latent_noise=latent_noise,
        reverse=reverse,
        scheme=scheme,
    )
    return ScoreTable._count(s, scores, sample_weight, None, (), caller), checked


def _check_band(band: Any, caller: str) -> None:
    kinds = get_args(BandKind)
    known = band in kinds if isinstance(band, str) else _is_pair(band)
    if not known:
        raise InvalidInputError(
            f"{caller} needs band to be {', '.join(map(repr, kinds))} or a pair of arrays "
            f"(lower, upper). Got {brief(band)}."
        )


def _is_pair(band: Any) -> bool:
    return isinstance(band, tuple | list | np.ndarray) and len(band) == 2
