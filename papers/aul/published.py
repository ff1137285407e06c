"""What the AUL paper reports: Table 1, the 20 examples of Figure 1, and what it compares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray

Labels = NDArray[np.int_]

FREQUENCIES = (0.1, 0.2, 0.4)
# "a dataset with 8,000 instances and 117 features": Mushroom, one column per category.
TIMED = "mushroom"
# Of rows to learn from in Figure 3.
TRAINING_SHARE = 0.7
ESTIMATORS = {"km1": "KM1", "km2": "KM2", "dist-curve": "DistCurve"}
METHODS = {**ESTIMATORS, "auto": "auto", "known": "alpha known", "aul": "AUL"}

# Key, name, rows, pi, AUC, AUL; then the mean absolute errors with KM1, KM2, Distance and of AUL
# at each label frequency.
_TABLE_1 = """
abalone     Abalone   4177 .498 .807 .654  .065 .035 .037 .014  .043 .043 .031 .008  .027 .054 .034 .005
airfoil     Airfoil   1503 .483 .845 .678  .110 .088 .093 .019  .087 .048 .064 .012  .057 .026 .041 .009
anuran      Anuran    4000 .614 .887 .649  .058 .070 .073 .011  .054 .040 .065 .007  .055 .024 .026 .004
concrete    Concrete  1030 .472 .875 .698  .091 .113 .100 .022  .096 .066 .061 .016  .105 .041 .083 .009
landsat     Landsat   4435 .242 .756 .694  .018 .018 .049 .015  .014 .012 .030 .011  .010 .008 .010 .007
mushroom    Mushroom  4000 .518 .942 .713  .028 .066 .042 .011  .021 .028 .030 .006  .027 .018 .026 .004
page_blocks Pageblock 4000 .898 .891 .540  .177 .300 .201 .011  .110 .249 .183 .008  .111 .159 .163 .005
spambase    Spambase  4601 .394 .841 .706  .111 .068 .037 .014  .084 .106 .018 .008  .056 .131 .008 .005
waveform    Waveform  4000 .329 .926 .785  .074 .073 .105 .009  .073 .074 .025 .005  .064 .074 .028 .004
"""  # noqa: E501


@dataclass(frozen=True)
class Published:
    """What Table 1 says of a dataset; errors at label frequencies 0.1, 0.2 and 0.4."""

    title: str
    n_rows: int
    pi: float
    auc: float
    lift: float
    errors: Mapping[str, tuple[float, ...]]

    @classmethod
    def read(cls, line: str) -> tuple[str, Published]:
        """Read a line of the table."""
        key, title, n_rows, *figures = line.split()
        pi, auc, lift, *errors = map(float, figures)
        by_method = {
            method: tuple(errors[column::4])
            for column, method in enumerate(("km1", "km2", "dist-curve", "aul"))
        }
        return key, cls(title, int(n_rows), pi, auc, lift, by_method)


PUBLISHED = dict(map(Published.read, _TABLE_1.strip().splitlines()))

# Figure 1a.
_EXAMPLE = """
.92 .82 .73 .66 .60 .58 .54 .50 .45 .43 .41 .39 .38 .36 .35 .30 .25 .20 .15 .10
1   1   0   1   1   1   1   0   0   0   1   0   1   1   0   0   0   1   0   0
1   0   0   1   0   0   1   0   0   0   1   0   0   0   0   0   0   1   0   0
"""
EXAMPLE_FIGURES = {"AUC": 0.740, "AUC_pu": 0.653333, "AUL": 0.620, "AUL_pu": 0.615}


def published_error(method: str, names: Iterable[str] = PUBLISHED, at: int | None = None) -> float:
    """Mean of published errors over datasets, at one label frequency or at all."""
    chosen = slice(None) if at is None else slice(at, at + 1)
    return float(np.mean([PUBLISHED[name].errors[method][chosen] for name in names]))


def example() -> tuple[FloatArray, Labels, Labels]:
    """Return scores, true classes and labels of Figure 1a."""
    scores, y, s = (np.array(line.split(), float) for line in _EXAMPLE.strip().splitlines())
    return scores, y.astype(int), s.astype(int)


def best_published(name: str) -> str:
    """Return the estimator that did best on a dataset at label frequency 0.1, by Table 1."""
    return min(ESTIMATORS, key=lambda method: PUBLISHED[name].errors[method][0])
