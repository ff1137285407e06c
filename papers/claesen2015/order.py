"""How the area under a ROC curve moves with alpha, for every ranking."""

from __future__ import annotations

import numpy as np

from papers.claesen2015.published import FIGURE_4, ROUNDING
from papers.experiment import Effect


def corrected_auc(auc_pu: float, alpha: float) -> float:
    r"""AUROC that goes with an alpha, for every ranking that allows that alpha.

    While no table is clipped, the false positive rate at a cut is
    :math:`(x - \alpha y)/(1-\alpha)` for the shares x of unlabeled and y of labeled rows above
    it. The area is therefore

    .. math:: \frac{AUC_{pu} - \alpha/2}{1 - \alpha}

    whatever the shape of the curve: it orders models as :math:`AUC_{pu}` does. Precision at a
    cut, :math:`(n_l + \alpha|U|) y` over the number of rows above it, grows by the same factor for
    all models, and so does the area under the PR curve.

    Examples
    --------
    >>> corrected_auc(0.725, 0.1), corrected_auc(0.732, 0.1)
    (0.75, 0.757778)
    """
    return (auc_pu - alpha / 2) / (1 - alpha)


def highest_auc(auc_pu: float, alpha: float) -> float:
    r"""Bound the AUROC at alpha of any ranking, clipped or not, for alpha up to 1/3.

    Only clipping at the bottom of the ranking raises the area above :func:`corrected_auc`. If a
    share w of the labeled rows lies where tables are clipped, it adds at most
    :math:`\alpha w^2 / (2(1-\alpha))`. Those rows lie below nearly all unlabeled ones, so that
    the others must lie high for the same :math:`AUC_{pu}`. From the w with
    :math:`(1-\alpha)w - \alpha w^2/2 = 1 - AUC_{pu} - \alpha/2` on they lie so high that clipping
    at the top takes more than is gained.

    Examples
    --------
    >>> highest_auc(0.7255, 0.1)
    0.754112
    """
    rest = 1 - auc_pu - alpha / 2
    root = np.sqrt(max((1 - alpha) ** 2 - 2 * alpha * rest, 0.0))
    clipped = np.clip((1 - alpha - root) / alpha, 0.0, 1.0)
    return corrected_auc(auc_pu, alpha) + float(alpha * clipped**2 / (2 * (1 - alpha)))


def figure_4_gap() -> Effect:
    """Model 1 less model 2 at alpha 0.1, from the areas printed for alpha 0."""
    one, two = (corrected_auc(FIGURE_4[0.0][f"model {n}"], 0.1) for n in (1, 2))
    room = 2 * ROUNDING / 0.9
    gap = one - two
    return Effect(100 * gap, 100 * (gap - room), 100 * (gap + room), "points at alpha 0.1")
