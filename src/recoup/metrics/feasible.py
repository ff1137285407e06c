"""How much of each sample the other one may hold, by two score curves with sampling error."""

from __future__ import annotations

import numpy as np

from recoup.scores.table import ScoreTable


def feasible_kappas(table: ScoreTable, confidence: float) -> tuple[float, float]:
    """Limits on how much of the unlabeled rows may be distributed as the labeled, and vice versa.

    For every set of scores, the share of the unlabeled rows in it is at least alpha/beta times the
    share of the labeled rows in it; and the share of the labeled rows is at least
    (1-beta)/(1-alpha) times the share of the unlabeled ones. Heads and tails of the ranking are
    such sets; Dvoretzky-Kiefer-Wolfowitz bands on both curves make the comparison safe against
    small counts. No region free of negatives is assumed.

    Parameters
    ----------
    table : ScoreTable
        Counts of labeled and unlabeled rows at each score.
    confidence : float
        Level of the bands, which hold for both limits together.

    Returns
    -------
    kappa_1, kappa_2 : float
        The most that alpha/beta and (1-beta)/(1-alpha) can be.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> s = np.repeat([1, 0], [1000, 4000])
    >>> positive = rng.random(5000) < np.where(s == 1, 1.0, 0.2)
    >>> table = ScoreTable.from_arrays(s, rng.normal(3.0 * positive))
    >>> [round(limit, 2) for limit in feasible_kappas(table, 0.95)]
    [0.28, 0.1]
    """
    spread = np.log(4 / (1 - confidence)) / 2
    slack_l, slack_u = (np.sqrt(spread / size) for size in table.effective_sizes)
    labeled, unlabeled = table.heads("labeled"), table.heads("unlabeled")
    ends = [(labeled, unlabeled), (1 - labeled, 1 - unlabeled)]
    first = min(_least_ratio(u + slack_u, p - slack_l) for p, u in ends)
    second = min(_least_ratio(p + slack_l, u - slack_u) for p, u in ends)
    return first, second


def _least_ratio(top: np.ndarray, bottom: np.ndarray) -> float:
    usable = bottom > 0
    return float(np.min(top[usable] / bottom[usable], initial=1.0))
