"""Confidence bands on where in the ranking the hidden rows of a class lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recoup._core.checks import FloatArray, as_numbers
from recoup.exceptions import InvalidInputError
from recoup.metrics.bounds.options import BandKind, Options
from recoup.metrics.curve_results import Curve
from recoup.metrics.intervals import exact_share, normal_quantile
from recoup.scores.table import ScoreTable


@dataclass(frozen=True, repr=False, eq=False)
class RankBand(Curve):
    """Share of the labeled positives at or above each score, and a band for the hidden ones.

    Attributes
    ----------
    threshold : ndarray of shape (n_scores,)
        Distinct scores, descending.
    cdf : ndarray of shape (n_scores,)
        Share of the labeled positives at or above each score.
    lower : ndarray of shape (n_scores,)
        Least share of the hidden positives at or above each score.
    upper : ndarray of shape (n_scores,)
        Largest share of the hidden positives at or above each score.
    """

    threshold: FloatArray
    cdf: FloatArray
    lower: FloatArray
    upper: FloatArray


def rank_band(
    s: ArrayLike,
    scores: ArrayLike,
    *,
    alpha: float,
    band: BandKind = "binomial",
    confidence: float = 0.95,
    latent_noise: bool = True,
    sample_weight: ArrayLike | None = None,
) -> RankBand:
    """Share of the labeled positives at or above each score, with a band for the hidden ones.

    Parameters
    ----------
    s : array-like of shape (n,)
        1 labeled positive, 0 unlabeled, -1 known negative. Labels must be right (``beta = 1``) and
        the labeled rows a random sample of the positives.
    scores : array-like of shape (n,)
        Higher is more positive.
    alpha : float
        Share of positives among the unlabeled rows.
    band : {"binomial", "bootstrap", "dkw"}, default="binomial"
        Exact binomial (Clopper-Pearson) or bootstrap quantiles, both for one cut at a time; or
        Dvoretzky-Kiefer-Wolfowitz, for all cuts together.
    confidence : float, default=0.95
        How often the band shall hold.
    latent_noise : bool, default=True
        Whether to widen the band by the sampling noise of the hidden positives. False is the
        paper's band, about the distribution that they come from.
    sample_weight : array-like of shape (n,), optional
        Row weights.

    Returns
    -------
    RankBand
        With ``threshold`` (descending; tied rows share one), ``cdf``, ``lower`` and ``upper``.

    Examples
    --------
    >>> s, scores = [1, 0, 1, 0, 0, 1, 0, 1, 0], [9, 8, 7, 6, 5, 4, 3, 2, 1]
    >>> result = rank_band(s, scores, alpha=0.6, latent_noise=False)
    >>> result.cdf[:3], result.lower[:3].round(3), result.upper[:3].round(3)
    (array([0.25, 0.25, 0.5 ]), array([0.006, 0.006, 0.068]), array([0.806, 0.806, 0.932]))
    """
    options = Options.check(
        "rank_band", alpha=alpha, band=band, confidence=confidence, latent_noise=latent_noise
    )
    table = ScoreTable._count(s, scores, sample_weight, None, (), "rank_band")
    lower, upper = band_of(table, "labeled", options.alphas[0], options)
    return RankBand(table.scores[::-1], table.heads("labeled"), lower, upper)


def band_of(
    table: ScoreTable, group: str, hidden_share: float, options: Options
) -> tuple[FloatArray, FloatArray]:
    """Band for the hidden rows of the class whose known rows are a group of the table."""
    if not isinstance(options.band, str):
        return _given_band(options.band, len(table.scores), options.caller)
    # Weighted rows carry the information of fewer plain ones (Kish).
    known, unlabeled = (
        getattr(table, f"n_{name}") ** 2 / table.squares_of(name).sum()
        for name in (group, "unlabeled")
    )
    # Without latent noise the band is for the distribution, as of infinitely many hidden rows.
    hidden = hidden_share * unlabeled if options.latent_noise else np.inf
    share = table.heads(group)
    return band_around(share, known, hidden, band=options.band, confidence=options.confidence)


def band_around(
    share: FloatArray, n_known: float, n_hidden: float, *, band: BandKind, confidence: float
) -> tuple[FloatArray, FloatArray]:
    """Band for the share of hidden rows that goes with each share of known ones.

    Parameters
    ----------
    share : ndarray
        Shares of the known rows at or above some scores.
    n_known : float
        Number of known rows.
    n_hidden : float
        Number of hidden rows. Infinity gives the band for the distribution that both come from.
    band : {"binomial", "bootstrap", "dkw"}
        As for :func:`contingency_bounds`.
    confidence : float
        How often the band shall hold.

    Returns
    -------
    lower, upper : ndarray
        Limits of the share of the hidden rows, in [0, 1].
    """
    if n_hidden < 1:
        return np.zeros_like(share), np.ones_like(share)
    # Variances of two independent samples add up: F(1-F)/n_known + F(1-F)/n_hidden.
    n = 1 / (1 / n_known + 1 / n_hidden)
    tail = (1 - confidence) / 2
    if band == "dkw":
        # The inequality for one sample holds for two of nearly all sizes (Wei and Dudley 2012).
        epsilon = np.sqrt(np.log(1 / tail) / (2 * n))
        return np.clip(share - epsilon, 0.0, 1.0), np.clip(share + epsilon, 0.0, 1.0)
    distinct, position = np.unique(np.clip(share, 0.0, 1.0), return_inverse=True)
    if band == "bootstrap":
        # Of n resampled rows, Binomial(n, share) lie at or above a score: its quantiles are what
        # the paper's 2,000 random resamples approach.
        from scipy.stats import binom

        size = max(round(n), 1)
        lower = np.asarray(binom.ppf(tail, size, distinct) / size)
        upper = np.asarray(binom.ppf(1 - tail, size, distinct) / size)
    else:
        # Of sizes that are not whole as in Korn and Graubard (1998).
        lower, upper = exact_share(distinct, n, normal_quantile(confidence))
    return lower[position], upper[position]


def _given_band(band: Any, n_scores: int, caller: str) -> tuple[FloatArray, FloatArray]:
    lower, upper = (as_numbers(edge, "each edge of band", caller) for edge in band)
    for edge in (lower, upper):
        if len(edge) != n_scores:
            raise InvalidInputError(
                f"{caller} needs a band with one lower and one upper value per distinct score, "
                f"from the highest score down. Got {len(edge):,} values for {n_scores:,} scores."
            )
    # Negated, so that values that are not numbers are refused as well.
    crossed = ~(lower <= upper)
    if crossed.any():
        at = int(np.argmax(crossed))
        raise InvalidInputError(
            f"{caller} needs the lower edge of band at or below the upper one. Got {lower[at]:g} "
            f"and {upper[at]:g} at position {at}. Pass band=(lower, upper)."
        )
    return np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)
