"""Where labeled and unlabeled rows come from, and how many of each class they hold."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from recoup._core.checks import FloatArray, Scheme, check_alpha_beta
from recoup._core.constraints import (
    RANDOM_STATE,
    SCHEME,
    Constraints,
    Flag,
    Nothing,
    Number,
    WholeNumber,
    Words,
    check_values,
)
from recoup._core.random import RandomState, as_seed, named_rng
from recoup.data.pu import PUDataset, PUTruth, as_classes, take_rows
from recoup.exceptions import InvalidInputError
from recoup.simulation.mechanisms import (
    CALLER,
    Mask,
    Propensity,
    Rule,
    Variant,
    as_rule,
    draw_labels,
    lowest,
    posterior_of,
)

Counts: TypeAlias = tuple[int, int]

EPSILON = float(np.finfo(float).eps)
CONSTRAINTS: Constraints = {
    "scheme": SCHEME,
    "label_frequency": Number(above=0, most=1, why="it is the share of positives with a label")
    | Nothing(),
    "n_labeled": WholeNumber() | Nothing(),
    "variant": Words(*get_args(Variant)),
    "k": Number(above=0, why="it is an exponent") | Nothing(),
    "beta": Number(above=0, most=1, why="it is the share of labels that are right"),
    "prior_shift": Number(
        least=0, below=1, why="it is the wanted share of positives among the unlabeled rows"
    )
    | Nothing(),
    "n_unlabeled": WholeNumber() | Nothing(),
    "overlap": Flag(),
    "random_state": RANDOM_STATE,
}


def simulate(
    X: Any,
    y_true: ArrayLike,
    *,
    scheme: Scheme = "single-sample",
    label_frequency: float | None = None,
    n_labeled: int | None = None,
    mechanism: str | Propensity = "scar",
    variant: Variant = "paper",
    posterior: Any = None,
    k: float | None = None,
    beta: float = 1.0,
    prior_shift: float | None = None,
    n_unlabeled: int | None = None,
    overlap: bool = False,
    random_state: RandomState = 0,
    name: str | None = None,
) -> PUDataset:
    r"""Hide the labels of most positives and all negatives.

    Parameters
    ----------
    X : array, sparse matrix or data frame with n rows
        Features.
    y_true : array-like of shape (n,)
        1 positive, 0 negative.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        In a single sample, all rows without a label are the unlabeled rows. In case-control data
        the unlabeled rows are a sample of the population, with its share of positives; labeled
        rows are drawn from the positives that are left.
    label_frequency : float, optional
        Makes ``floor(label_frequency * n_positives)`` labels. Give this or ``n_labeled``, and
        neither with a function as ``mechanism``.
    n_labeled : int, optional
        Number of labels.
    mechanism : {"scar", "s1", "s2", "s3", "s4"} or callable, default="scar"
        Which positives get labels, given the posterior p: ``"scar"`` (or ``"s1"``) any alike,
        ``"s2"`` clear ones with weights :math:`p^k`, ``"s3"`` doubtful ones with weights
        :math:`(1-p)^k`, ``"s4"`` those with the highest p. A function of X and p returns each
        row's propensity in (0, 1], and every positive gets its label independently.
    variant : {"paper", "pubench", "accept-reject"}, default="paper"
        ``"paper"`` is as above, with a fixed number of labels. ``"pubench"`` is as PU-Bench's
        first code: the weights of s2 are mixed 0.9 to 0.1 with equal ones, those of s3 are
        :math:`(2.5-p)^k`. With ``"accept-reject"`` every positive gets its label independently,
        with a propensity proportional to its weight (:math:`p^k` for s4, the rule of PUSB) but
        at most 1, and the number of labels is right on average.
    posterior : array-like of shape (n,) or classifier, optional
        The p of each row, or a classifier that is cloned and fitted on X and ``y_true``. By
        default logistic regression on standardized features.
    k : float, optional
        Exponent of the weights; 10 for s2 and s3, 20 for s4.
    beta : float, default=1.0
        Share of true positives among the labeled rows: ``round(beta * n_labeled)`` of them are
        positive, the others are random negatives.
    prior_shift : float, optional
        Wanted share of positives among the unlabeled rows, reached as nearly as whole rows allow
        by dropping rows of one class.
    n_unlabeled : int, optional
        Keep only so many unlabeled rows, drawn without changing their share of positives.
    overlap : bool, default=False
        Draw case-control data as PU-Bench does: all rows are unlabeled, and the labeled ones
        come a second time, with the same ``row_id``.
    random_state : int, Generator, RandomState or None, default=0
        The same number gives the same rows.
    name : str, optional
        What the rows are.

    Returns
    -------
    PUDataset
        With ``truth`` as realised in its rows, ``row_id`` the position in X, and ``propensity``.
        A single sample keeps the order of X; in case-control data labeled rows come first.

    Notes
    -----
    ``propensity`` is the chance that a positive of the returned rows, with these features,
    carries a label. Copies of a row count once, and rows that were dropped are allowed for.
    Labeled rows weighted by ``1 / propensity`` stand for all positives; weighted by
    ``1 / propensity - 1`` they stand for those without a label. The propensity is exact for scar,
    s4, accept-reject and functions. For a fixed number of labels with weights w it is
    :math:`1 - e^{-\tau w}`, with :math:`\tau` such that the values of all candidates sum to the
    number of labels; Rosén (1972) proved this for many rows.

    In case-control data without overlap, unlabeled rows are drawn before the labels, so that the
    mechanism does not change them. Under scar they take all positives that are not needed for
    labels. Other mechanisms need candidates to choose from: the unlabeled rows take only half of
    those positives. Pass ``n_unlabeled`` to compare mechanisms on the same unlabeled rows.

    With ``beta`` below 1 the labeled rows stay as many, so fewer positives get a label.

    References
    ----------
    PU-Bench (2026), appendices C.2 and C.3. Ramola, Jain, Radivojac (2019), section 3.3, and
    Jain, White, Radivojac (2017), for ``beta``. Kato, Teshima, Honda (2019), for s4. Rosén
    (1972), Asymptotic theory for successive sampling.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> data = simulate(X, y, label_frequency=0.2)
    >>> data
    PUDataset(n=71+498, features=30, scheme='single-sample', alpha=0.574, beta=1.000)
    >>> biased = simulate(X, y, label_frequency=0.2, mechanism="s3")
    >>> biased.truth == data.truth
    True
    >>> simulate(X, y, n_labeled=50, scheme="case-control", overlap=True, beta=0.9).truth
    PUTruth(alpha=0.627, beta=0.9, pi=0.627, label_frequency=0.126, n_labeled=50, ...)
    """
    options = {
        "scheme": scheme,
        "label_frequency": label_frequency,
        "n_labeled": n_labeled,
        "variant": variant,
        "k": k,
        "beta": beta,
        "prior_shift": prior_shift,
        "n_unlabeled": n_unlabeled,
        "overlap": overlap,
        "random_state": random_state,
    }
    check_values(CONSTRAINTS, options, CALLER)
    X = np.asarray(X) if isinstance(X, list | tuple) else X
    y = as_classes(y_true, CALLER) == 1
    _check_rows(X, y)
    _check_overlap(scheme, overlap)
    rule = as_rule(mechanism, variant, k)
    n_goal = _n_goal(label_frequency, n_labeled, y, beta, rule)
    seed = as_seed(random_state, CALLER)
    draw = {
        stream: named_rng(seed, "simulate", stream).random(len(y))
        for stream in ("labels", "noise", "unlabeled", "prior-shift")
    }

    disjoint = scheme == "case-control" and not overlap
    sample = np.zeros(len(y), bool)
    if disjoint:
        counts = _population_counts(y, n_goal, beta, rule, n_unlabeled, prior_shift)
        sample = _draw_classes(y, ~sample, counts, draw["unlabeled"])
    candidates = y & ~sample
    p = posterior_of(X, y, posterior) if rule.uses_posterior else np.ones(len(y))
    e, labeled = draw_labels(rule, X, p, candidates, _n_right(n_goal, beta), draw["labels"])
    n_true = int(labeled.sum())
    n_false = round(n_true * (1 / beta - 1)) if rule.independent else n_goal - n_true
    labeled |= _draw_noise(~y & ~sample, n_false, draw["noise"])
    if not disjoint:
        sample = np.ones(len(y), bool) if overlap else ~labeled
    unlabeled = sample
    available = _class_counts(y, sample)
    if sum(available) == 0:
        raise InvalidInputError(
            f"{CALLER} needs rows that stay unlabeled, but all {len(y):,} rows got a label. Ask "
            f"for fewer labels."
        )
    if n_unlabeled is None and prior_shift is not None:
        counts = _shifted(available, prior_shift)
        unlabeled = _draw_classes(y, sample, counts, draw["prior-shift"])
    elif n_unlabeled is not None and not disjoint:
        counts = _sized(n_unlabeled, available, available, prior_shift)
        unlabeled = _draw_classes(y, sample, counts, draw["unlabeled"])

    # e is the chance of a candidate to get a label. The returned rows hold every candidate that
    # got one, but only some of the others: a share of the positives was dropped, or drawn for the
    # unlabeled rows before. The propensity is the chance among the returned rows.
    n_others = int(candidates.sum()) if disjoint else available[0]
    rest = (unlabeled & y).sum() / max(n_others, 1) * (1.0 if disjoint else 1 - e)
    propensity = np.divide(e, e + rest, out=np.zeros(len(y)), where=e > 0)
    rows = np.concatenate([np.flatnonzero(labeled), np.flatnonzero(unlabeled)])
    s = np.repeat([1, 0], [labeled.sum(), unlabeled.sum()])
    if scheme == "single-sample":
        order = np.argsort(rows)
        rows, s = rows[order], s[order]
    truth = PUTruth.of(s, y[rows], rows, scheme)
    check_alpha_beta(truth.alpha, truth.beta, CALLER)
    return PUDataset(
        take_rows(X, rows),
        s,
        y_true=y[rows],
        row_id=rows,
        propensity=propensity[rows],
        name=name,
        scheme=scheme,
        truth=truth,
    )


def _n_goal(
    label_frequency: float | None, n_labeled: int | None, y: Mask, beta: float, rule: Rule
) -> int:
    """Return the wanted number of labels; 0 where stated propensities decide it."""
    given = (label_frequency is not None) + (n_labeled is not None)
    if rule.way == "stated":
        if given:
            raise InvalidInputError(
                f"{CALLER} takes neither label_frequency nor n_labeled where mechanism is a "
                f"function: its propensities say how many labels there are. Drop them."
            )
        return 0
    if given != 1:
        raise InvalidInputError(
            f"{CALLER} needs either label_frequency or n_labeled, to know how many positives "
            f"keep their label. Got {'both' if given else 'neither'}. Pass one of them."
        )
    n_positives = int(y.sum())
    if label_frequency is not None:
        # 0.29 * 100 is 28.999999999999996, and floor must not make 28 of it.
        n_goal = math.floor(label_frequency * n_positives * (1 + 4 * EPSILON))
    else:
        n_goal = int(n_labeled or 0)
    n_true = _n_right(n_goal, beta)
    if not 0 < n_true <= n_positives:
        raise InvalidInputError(
            f"{CALLER} needs at least one and at most all positives to get a label. Got "
            f"{n_true:,} true labels for {n_positives:,} positives, from "
            + (f"n_labeled={n_goal}" if n_labeled else f"label_frequency={label_frequency:g}")
            + f" and beta={beta:g}. Pass {'more' if n_true == 0 else 'fewer'}."
        )
    return n_goal


def _n_right(n_labels: int, beta: float) -> int:
    """Return how many of some labels are right."""
    return round(_decimal(beta) * n_labels)


def _decimal(share: float) -> Fraction:
    """Read a share as it was typed: 0.7 * 45 is 31.5, where floats give 31.499999999999996."""
    return Fraction(str(float(share)))


def _class_counts(y: Mask, among: Mask) -> Counts:
    """Count positives and negatives."""
    return int((among & y).sum()), int((among & ~y).sum())


def _population_counts(
    y: Mask,
    n_goal: int,
    beta: float,
    rule: Rule,
    n_unlabeled: int | None,
    prior_shift: float | None,
) -> Counts:
    """Return how many of each class go to the unlabeled rows before labels are given."""
    n_positives, n_negatives = everything = _class_counts(y, y | True)
    n_right = _n_right(n_goal, beta)
    available = n_positives - n_right, n_negatives - (n_goal - n_right)
    if n_unlabeled is None:
        # n_goal rather than n_right, so that beta does not change the unlabeled rows.
        share = max(n_positives - n_goal, 0) // (1 if rule.fair else 2)
        n_unlabeled = min(
            share * len(y) // n_positives, max(available[1], 0) * len(y) // n_negatives
        )
        prior_shift = None  # rows are dropped later
        if n_unlabeled < 1:
            raise InvalidInputError(
                f"{CALLER} needs rows that stay unlabeled. Got {n_goal:,} labels, and "
                f"{n_positives:,} positives for labeled and unlabeled rows together. Ask for fewer "
                f"labels, or pass overlap=True."
            )
    return _sized(n_unlabeled, everything, available, prior_shift)


def _sized(n_unlabeled: int, like: Counts, available: Counts, prior_shift: float | None) -> Counts:
    """Return counts that sum to n_unlabeled, with the share of positives of ``like`` or as told."""
    share = Fraction(like[0], sum(like)) if prior_shift is None else _decimal(prior_shift)
    n_positives = round(share * n_unlabeled)
    counts = n_positives, n_unlabeled - n_positives
    for kind, wanted, found in zip(("positives", "negatives"), counts, available, strict=True):
        if wanted > found:
            raise InvalidInputError(
                f"{CALLER} needs {wanted:,} {kind} for {n_unlabeled:,} unlabeled rows with a share "
                f"of {float(share):.4g} positives, and {max(found, 0):,} are at hand. Pass a "
                f"smaller n_unlabeled{'' if prior_shift is None else ' or another prior_shift'}."
            )
    return counts


def _shifted(counts: Counts, prior_shift: float) -> Counts:
    """Drop rows of one class until positives have the wanted share."""
    n_positives, n_negatives = counts
    share = _decimal(prior_shift)
    if share * (n_positives + n_negatives) > n_positives:
        n_negatives = round(n_positives * (1 - share) / share)
    else:
        n_positives = round(n_negatives * share / (1 - share))
    if n_negatives == 0 or (n_positives == 0) != (prior_shift == 0):
        raise InvalidInputError(
            f"{CALLER} cannot reach prior_shift={prior_shift:g} by dropping rows of one class from "
            f"{counts[0]:,} positive and {counts[1]:,} negative unlabeled rows. Pass a value "
            f"nearer to {counts[0] / sum(counts):.4g}, or use more rows."
        )
    return n_positives, n_negatives


def _draw_classes(y: Mask, among: Mask, counts: Counts, draw: FloatArray) -> Mask:
    return lowest(among & y, counts[0], draw) | lowest(among & ~y, counts[1], draw)


def _draw_noise(among: Mask, n: int, draw: FloatArray) -> Mask:
    if n > among.sum():
        raise InvalidInputError(
            f"{CALLER} needs {n:,} negatives to label wrongly, and {int(among.sum()):,} are at "
            f"hand. Pass a larger beta or fewer labels."
        )
    return lowest(among, n, draw)


def _check_rows(X: Any, y: Mask) -> None:
    if not getattr(X, "shape", ()) or X.shape[0] != len(y):
        raise InvalidInputError(
            f"{CALLER} needs X and y_true to have the same rows. Got {len(y):,} classes for X of "
            f"{f'shape {tuple(X.shape)}' if hasattr(X, 'shape') else type(X).__name__}."
        )
    if y.all() or not y.any():
        raise InvalidInputError(
            f"{CALLER} needs rows of both classes in y_true. Got {int(y.sum()):,} positive and "
            f"{int((~y).sum()):,} negative rows."
        )


def _check_overlap(scheme: Scheme, overlap: bool) -> None:
    if overlap and scheme != "case-control":
        raise InvalidInputError(
            f"{CALLER} can return labeled rows to the unlabeled ones only in case-control data. "
            f"Got overlap=True with scheme={scheme!r}. Pass scheme='case-control'."
        )
