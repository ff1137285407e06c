"""Write docs/promises-study.md from what the studies of promises found.

python -m tools.studies.promises --out build/promises.json
python -m tools.studies.promise_peers --out build/promise_peers.json
python -m tools.studies.promises --write docs/promises-study.md
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any

from recoup._core.text import DASH

FAMILIES = {
    "known": "Alpha known",
    "recall": "Recall promised, alpha known",
    "50 labels": "50 labels, alpha known",
    "ties": "Tied scores, alpha known",
    "noisy alpha": "Alpha drawn around a noisy estimate (error of a tenth)",
    "interval": "Alpha in an interval, the truth at its worse end",
    "estimated alpha": "Alpha estimated from the same rows, labels at random",
    "audit": "Labels that favor clear positives, rows checked by plan",
    "fitted classifier": "A fitted classifier, cut by CertifiedThreshold",
}

_HEAD = """
# Promises, measured

A promise at 95% may be broken in one of twenty cases. How often it was, in simulations that draw
data as users have them: `make study-promises` repeats them, and `tools/studies/promises.py` says
how data are made. Positives are N(d, 1) and negatives N(0, 1), pi is the share of positives, and
three tenths of them have a label where nothing else is said; the number of rows follows.

A promise that is always refused is never broken. So the tables say how often a threshold was found,
and how much recall it has (precision, where recall was promised): on average, with 0 for a refusal,
and where one was found, beside the best threshold that really keeps the promise.
"""
_WHY = """
Where alpha is estimated, its interval decides. With seven tenths of the positives labeled, most of
them are known whatever alpha is, and a precision can be promised. With three tenths the interval
leaves too much open, and nearly every promise of a precision is refused. A recall needs no alpha.
Checked rows need neither alpha nor labels at random.

Where walks along the thresholds start was chosen by how often a threshold was found, in
simulations with other seeds, some of them in settings of this page: the level does not depend on
it, the shares that were found do a little. For checked rows it was chosen after a first run, in
which promises were broken in 0.3 and 0.8% and found in 60 and 99%. The settings with tied scores
that just miss the promise, and with seven tenths of the positives labeled, were added after the
others had been seen.

A fitted classifier is judged by models that have scored each other's rows. Intervals are widened by
the square root of 2 for that, which is more than is needed here, and costs recall.
"""
_PEERS = """
## Beside MAPIE

`BinaryClassificationController` of MAPIE 1.6 is made for rows with true classes. It is given as
many checked rows as recoup, drawn from all rows alike; labeled rows among them come for nothing
(`tools/studies/promise_peers.py`, {n} simulations a setting). recoup knows which rows have a label,
though labels favor clear positives (odds x27), and checks rows that a plan for the promise draws.
"""


def write_page(
    results: list[dict[str, Any]], peers: list[dict[str, Any]], allowed: Callable[[int], float]
) -> str:
    """Write the page.

    Parameters
    ----------
    results : list of dict
        What :mod:`tools.studies.promises` measured.
    peers : list of dict
        What :mod:`tools.studies.promise_peers` measured.
    allowed : callable
        The largest share of broken promises that the rule lets pass, by number of simulations.

    Returns
    -------
    str
    """
    held = [one["broken"] <= allowed(one["simulations"]) for one in results]
    most = max(one["broken"] for one in results)
    limit = allowed(results[0]["simulations"])
    lines = [
        _HEAD.strip(),
        "",
        f"The rule, written before the runs: broken in at most {100 * limit:.1f}% of "
        f"{results[0]['simulations']:,} simulations, which is 5% and two standard errors. "
        f"{sum(held)} of {len(held)} settings keep it; the most that was seen is "
        f"{100 * most:.1f}%.",
        "",
    ]
    for family, group in groupby(_in_order(results), key=lambda one: one["family"]):
        lines += [
            f"## {FAMILIES[family]}",
            "",
            "| setting | broken % | found % | recall or precision | where found | best |",
            "| --- | ---: | ---: | ---: | ---: | ---: |",
        ]
        for one in group:
            mark = "" if one["broken"] <= allowed(one["simulations"]) else " (misses)"
            found = one["other_if_found"]
            lines.append(
                f"| {one['cell']} | {100 * one['broken']:.2f}{mark} | {100 * one['found']:.1f} | "
                f"{one['other']:.3f} | {DASH if found is None else f'{found:.3f}'} | "
                f"{one['best']:.3f} |"
            )
        lines.append("")
    lines += [_WHY.strip(), ""]
    if peers:
        lines += _beside(peers)
    return "\n".join(lines)


def _beside(peers: list[dict[str, Any]]) -> list[str]:
    lines = [
        _PEERS.strip().format(n=peers[0]["simulations"]),
        "",
        "| setting | checks | way | broken % | found % | recall | best |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {one['cell']} | {one['checks']} | {one['way']} | {100 * one['broken']:.1f} | "
        f"{100 * one['found']:.1f} | {one['other']:.3f} | {one['best']:.3f} |"
        for one in peers
    ]
    return [*lines, ""]


def _in_order(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    order = list(FAMILIES)
    return sorted(results, key=lambda one: order.index(one["family"]))
