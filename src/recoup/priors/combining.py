"""How trained networks turn evidence into quantiles of alpha and beta.

There are two. The one for a table of scores says by how much alpha differs from ShareNet's median.
The one for several views of the same rows gives weights for the answers of the members, what to
add to the weighted mean, and the distances between quantiles. Of either, several were trained and
are averaged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from recoup._core.checks import FloatArray
from recoup.priors._solvers.network import load_network
from recoup.priors.evidence import CENTER, FIRST_MEMBER, MEMBERS, Evidence, unstretched

QUANTILES = (0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975)
MIDDLE = QUANTILES.index(0.5)
N_MEMBERS = len(MEMBERS)
# Weights of the members, what to add to alpha, beta, and the gaps between both kinds of quantiles.
N_OUTPUTS = N_MEMBERS + 2 + 2 * (len(QUANTILES) - 1)
# How far below the least member of one table, and of several views, answers may lie, and from
# where on that grows no more: on left-out tasks alpha is as often above the floor as below it.
SLACK, LARGE = (0.8, 0.4), 0.5
# Units of the outputs, so that those of a fresh network are sensible.
OFFSET_UNIT, BETA_UNIT, GAP_UNIT = 0.2, 0.3, 0.08


def inputs_of_views(found: Sequence[Evidence], relation: FloatArray) -> FloatArray:
    """Return what the network for views is asked: the average in full, and of each the gist."""
    average, *views = found
    parts = [average.inputs, average.sizes, average.limits]
    for view in views:
        parts += [view.inputs[member_columns()], view.limits, view.inputs[-4:-2]]
    return np.concatenate([*parts, relation])


def member_columns() -> slice:
    """Where the answers of the members stand among the inputs."""
    return slice(FIRST_MEMBER, FIRST_MEMBER + N_MEMBERS)


def decoded(outputs: FloatArray, members: FloatArray) -> FloatArray:
    """Turn outputs into quantiles on the stretched scale.

    Parameters
    ----------
    outputs : ndarray of shape (n, N_OUTPUTS)
        What a network says.
    members : ndarray of shape (n, N_MEMBERS)
        Answers of the members, stretched.

    Returns
    -------
    ndarray of shape (n, 2, len(QUANTILES))
        Of alpha and of beta.
    """
    gates, offset, beta, gaps = np.split(outputs, [N_MEMBERS, N_MEMBERS + 1, N_MEMBERS + 2], axis=1)
    weights = np.exp(gates - gates.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    alpha = (weights * members).sum(axis=1, keepdims=True) + OFFSET_UNIT * offset
    beta = 1 - BETA_UNIT * _softplus(beta - 2)
    steps = GAP_UNIT * _softplus(gaps - 1).reshape(len(outputs), 2, -1)
    below = -np.cumsum(steps[:, :, :MIDDLE], axis=2)[:, :, ::-1]
    above = np.cumsum(steps[:, :, MIDDLE:], axis=2)
    centers = np.stack([alpha, beta], axis=1)
    found: FloatArray = centers + np.concatenate([below, np.zeros_like(centers), above], axis=2)
    return found


def calibrated(quantiles: FloatArray, n_labeled: float, by_size: Mapping[str, Any]) -> FloatArray:
    """Draw quantiles apart or together around the median, by the number of labels."""
    factor = np.interp(np.log(n_labeled), by_size["log_labeled"], by_size["factor"])
    middle = quantiles[..., MIDDLE, None]
    found: FloatArray = middle + factor * (quantiles - middle)
    return found


def near_members(quantiles: FloatArray, members: FloatArray, slack: float) -> FloatArray:
    """Keep the median where members leave room for it.

    Where classes overlap every member finds too much, and networks rightly go below all of them.
    Where the least of them is small, overlap is small too, and an answer far below is an error of
    the network: of left-out tasks whose least member was below 0.15 and was undercut, alpha was
    in fact above it in half.

    Parameters
    ----------
    quantiles : ndarray of shape (len(QUANTILES),)
        Of alpha / beta.
    members : ndarray of shape (n,)
        All answers that were read.
    slack : float
        By which multiple of the least member the answer may be below it, relative to it.

    Returns
    -------
    ndarray of shape (len(QUANTILES),)
    """
    least, most = float(members.min()), float(members.max())
    floor = least * (1 - slack * min(least, LARGE))
    middle = np.clip(quantiles[MIDDLE], floor, most)
    below, above = quantiles[:MIDDLE], quantiles[MIDDLE + 1 :]
    return np.concatenate([np.minimum(below, middle), [middle], np.maximum(above, middle)])


def weigh_scores(inputs: FloatArray, *, labels_known: bool) -> tuple[FloatArray, FloatArray]:
    """Return quantiles of alpha and of beta for the inputs of some evidence."""
    asked = np.append(inputs, float(labels_known))
    answers = load_network("auto_scores")(asked[None])[0].reshape(2, len(QUANTILES))
    # The network says by how much alpha differs from the median of ShareNet (quantile 4 of 9), on
    # the scale of `stretched`; sin^2 is its inverse. Quantiles of a network may cross: sort them.
    alphas = answers[0] + inputs[CENTER]
    squeezed = np.sort(np.sin(np.pi / 2 * np.clip([alphas, answers[1]], 0.0, 1.0)) ** 2, axis=1)
    return squeezed[0], squeezed[1]


def weigh_views(
    inputs: FloatArray, members: FloatArray, n_labeled: float, *, labels_known: bool
) -> tuple[FloatArray, FloatArray]:
    """Return quantiles of alpha and of beta for several views of the same rows.

    Parameters
    ----------
    inputs : ndarray
        What :func:`inputs_of_views` returns.
    members : ndarray of shape (N_MEMBERS,)
        What the members said about the average, stretched.
    n_labeled : float
        Number of labeled rows.
    labels_known : bool
        Whether every label is known to be right.

    Returns
    -------
    ndarray, ndarray
        Each of shape (len(QUANTILES),).
    """
    network = load_network("auto_views")
    asked = np.append(inputs, float(labels_known))[None]
    each = [decoded(outputs, members[None])[0] for outputs in network.members(asked)]
    answers = np.mean(each, axis=0)
    answers[0] = calibrated(answers[0], n_labeled, network.meta["calibration"])
    alphas, betas = unstretched(answers)
    return alphas, betas


def _softplus(values: FloatArray) -> FloatArray:
    return np.logaddexp(0.0, values)
