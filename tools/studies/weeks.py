"""How numbers of weeks and alarms hold while labels are still coming, against known truth.

``python -m tools.studies.weeks run`` simulates a year of scored rows whose positives get labels
late, at random, and not all, in worlds that stay as they are, have waves, models that grow blind,
and other traffic. It holds :func:`recoup.monitor` against the truth of every week, beside counting
week by week and calibrated scores (CBPE). ``write`` makes the page. Settings were chosen with seeds
below 10,000; rules stand in ``weeks_page.py``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from sklearn.isotonic import IsotonicRegression

from recoup._core.files import write_file
from recoup.audit import plan as plan_audit
from recoup.monitoring import monitor
from recoup.monitoring.alarms import watch
from recoup.monitoring.counts import PeriodCounts
from recoup.monitoring.delays import delay_distribution, mean_shares
from recoup.monitoring.smoothing import Known

WEEKS, CHANGE = 52, 40
THRESHOLD = 2.0
# Log standard deviation of what is known of the label frequency, as after an audit.
KNOWN_TO = 0.07
WORLDS = ("steady", "wave", "decay", "new kind", "traffic")
DELAYS = ("exponential 2", "exponential 6", "two humps")
FREQUENCIES = (0.3, 0.6)
LEVEL = 0.95
CLEAN_WEEKS = 13
LATE = 8
CHECKS = 400


@dataclass(frozen=True)
class Cell:
    """A kind of world.

    Attributes
    ----------
    world : str
        What changes: one of ``WORLDS``, or ``"restless"``.
    delay : str
        How long labels take.
    frequency : float
        Share of the positives that ever get a label.
    rows : int
        Rows a week, on average.
    pi : float
        Share of positives.
    known : str
        How the label frequency is known: ``"given"``, ``"audit"`` or ``"labels"``.
    """

    world: str
    delay: str
    frequency: float
    rows: int = 3000
    pi: float = 0.06
    known: str = "given"


@dataclass(frozen=True, eq=False)
class World:
    """Rows of some weeks; times are in weeks."""

    time: Any
    week: Any
    y_true: Any
    scores: Any
    ever: Any
    taken: Any

    def labeled(self, now: float) -> Any:
        """Return who has a label by a moment."""
        return self.ever & (self.time + self.taken <= now)

    def until(self, now: float) -> World:
        """Return the rows that have happened by a moment."""
        here = self.time < now
        return World(*(column[here] for column in vars(self).values()))


def simulate(cell: Cell, rng: np.random.Generator, weeks: int, change: int) -> World:
    """Draw rows; nothing is normal, and nothing changes by what the model is made of."""
    every = np.arange(weeks)
    after = every >= change
    pi = np.full(weeks, cell.pi)
    rows = np.full(weeks, float(cell.rows))
    down, unseen, side = np.zeros(weeks), np.zeros(weeks), np.full(weeks, 0.12)
    if cell.world == "wave":
        hump = 1.5 * np.exp(-0.5 * ((every - change) / 3) ** 2)
        pi = pi * (1 + hump + 0.6 * np.exp(-0.5 * ((every - 14) / 2.5) ** 2))
    elif cell.world == "decay":
        down[after] = 0.75
    elif cell.world == "new kind":
        unseen[after] = 0.3
    elif cell.world == "traffic":
        side[after] = 0.3
        rows[after] *= 1.2
    elif cell.world == "restless":
        pi = pi * np.exp(_wander(rng, weeks, 0.1))
        side = side * np.exp(_wander(rng, weeks, 0.1))
    week = np.repeat(every, rng.poisson(rows))
    n = len(week)
    y = rng.random(n) < pi[week]
    kind = rng.random(n)
    clear = np.where(kind < 0.6, rng.normal(2.9, 0.9, n), rng.gumbel(1.4, 0.9, n))
    others = np.where(kind < side[week], rng.normal(1.1, 0.8, n), rng.logistic(-0.6, 0.5, n))
    seen = rng.random(n) >= unseen[week]
    scores = np.where(y & seen, clear - down[week], others)
    return World(
        week + rng.random(n),
        week,
        y,
        scores,
        y & (rng.random(n) < cell.frequency),
        _draw_delays(cell.delay, rng, n),
    )


def _wander(rng: np.random.Generator, weeks: int, size: float) -> Any:
    steps = rng.normal(0, size * np.sqrt(1 - 0.6**2), weeks)
    found = np.empty(weeks)
    found[0] = rng.normal(0, size)
    for place in range(1, weeks):
        found[place] = 0.6 * found[place - 1] + steps[place]
    return found


def _draw_delays(kind: str, rng: np.random.Generator, n: int) -> Any:
    if kind == "two humps":  # alerts within days, letters after two months
        return np.where(rng.random(n) < 0.35, rng.exponential(0.5, n), rng.gamma(6, 1.4, n))
    return rng.exponential(float(kind.split()[1]), n)


def truth_of(world: World, weeks: int) -> dict[str, Any]:
    """Count what is true of each week."""
    above = world.scores >= THRESHOLD
    found, flagged, positive, rows = (
        np.bincount(world.week[mask], minlength=weeks).astype(float)
        for mask in (above & world.y_true, above, world.y_true, np.ones(len(above), bool))
    )
    return {"pi": positive / rows, "precision": found / flagged, "recall": found / positive}


def weeks_of(cell: Cell, seed: int, place: float) -> dict[str, Any]:
    """Estimate all weeks of one world in every way, and hold them against the truth.

    What is known of the label frequency is off by the quantile at ``place`` of its error, so that
    few worlds have errors of all sizes.
    """
    rng = np.random.default_rng(seed)
    world = simulate(cell, rng, WEEKS, CHANGE)
    labeled = world.labeled(WEEKS)
    frame = _frame(world, labeled)
    options: dict[str, Any] = {}
    share = cell.frequency
    if cell.known == "given":
        off = KNOWN_TO * NormalDist().inv_cdf(place)
        share = min(cell.frequency * float(np.exp(off)), 0.99)
        reach = np.exp(1.96 * KNOWN_TO)
        options["label_frequency"] = (share / reach, min(share * reach, 1.0))
    elif cell.known == "audit":
        options["audit"] = _checked(world, labeled, seed)
    started = time.perf_counter()
    found = monitor(
        frame, "score", "label", "time", labeled_at="labeled_at", every=1, now=float(WEEKS),
        threshold=THRESHOLD, **options,
    )  # fmt: skip
    seconds = time.perf_counter() - started
    truth = truth_of(world, WEEKS)
    stored: dict[str, Any] = {"seconds": seconds, "share": found.label_frequency.value}
    for key, true in truth.items():
        values = found[key]
        stored[key] = {
            "error": (values.value - true).tolist(),
            "held": ((values.lower <= true) & (true <= values.upper)).tolist(),
            "width": (values.upper - values.lower).tolist(),
        }
    others = {
        "naive": _counted(world, labeled, np.ones(WEEKS) * found.label_frequency.value),
        "week by week": _counted(world, labeled, found.label_frequency.value * found.arrived),
        "CBPE": _calibrated(world),
    }
    for name, guessed in others.items():
        stored[name] = (guessed - truth["precision"]).tolist()
    return stored


def _frame(world: World, labeled: Any) -> Any:
    import pyarrow as pa

    at = np.where(labeled, world.time + world.taken, np.nan)
    columns = {"score": world.scores, "label": labeled.astype(int), "time": world.time}
    return pa.table(columns | {"labeled_at": pa.array(at, from_pandas=True)})


def _checked(world: World, labeled: Any, seed: int) -> Any:
    plan = plan_audit(
        labeled.astype(int), world.scores, threshold=THRESHOLD, budget=CHECKS, n_waves=1,
        random_state=seed,
    )  # fmt: skip
    return plan.answers(plan.rows, world.y_true[plan.rows].astype(int))


def _counted(world: World, labeled: Any, chance: Any) -> Any:
    """Divide the labels among flagged rows by the chance to have one, week by week."""
    above = world.scores >= THRESHOLD
    labels = np.bincount(world.week[above & labeled], minlength=WEEKS)
    flagged = np.bincount(world.week[above], minlength=WEEKS)
    found = np.divide(labels, chance * flagged, out=np.full(WEEKS, np.nan), where=chance > 0)
    return np.where(labels > 0, np.minimum(found, 1.0), np.nan)


def _calibrated(world: World) -> Any:
    """Average calibrated scores of flagged rows, calibrated by true classes of some first weeks.

    The idea of NannyML's CBPE, which needs a reference whose classes are all known.
    """
    first = world.week < CLEAN_WEEKS
    curve = IsotonicRegression(out_of_bounds="clip")
    curve.fit(world.scores[first], world.y_true[first])
    above = world.scores >= THRESHOLD
    chance = curve.predict(world.scores[above])
    flagged = np.bincount(world.week[above], minlength=WEEKS)
    return np.bincount(world.week[above], chance, minlength=WEEKS) / flagged


def looks(
    cell: Cell, seed: int, place: float, moments: range, change: int
) -> Iterator[tuple[int, Any, Any]]:
    """Watch a world at some moments, with what is known then."""
    rng = np.random.default_rng(seed)
    whole = simulate(cell, rng, moments[-1], change)
    off = KNOWN_TO * NormalDist().inv_cdf(place)
    share = min(cell.frequency * float(np.exp(off)), 0.99)
    for now in moments:
        world = whole.until(now)
        labeled = world.labeled(now)
        age = now - world.time
        delays = delay_distribution(world.taken[labeled], age[labeled])
        known = Known(share, KNOWN_TO, *mean_shares(delays, age, world.week, now))
        every = np.ones(len(labeled), bool)
        counts = PeriodCounts.of(world.scores, labeled, every, world.week, now, THRESHOLD)
        yield now, watch(counts, known, 52.0, 0.05), (world, labeled)


def false_alarms(cell: Cell, seed: int, place: float) -> list[str]:
    """Look every week of a year in which nothing happens; return the causes of alarms."""
    causes: set[str] = set()
    for _, seen, _ in looks(cell, seed, place, range(30, 82), 10**6):
        causes |= set(seen.causes)
    return sorted(causes)


def detection(cell: Cell, seed: int, place: float) -> dict[str, Any]:
    """Look at each of six weeks after a change; return when its cause was named, if it was."""
    found: dict[str, Any] = {"first": None, "other": False}
    for now, seen, (world, labeled) in looks(
        cell, seed, place, range(CHANGE + 1, CHANGE + 7), CHANGE
    ):
        if now == CHANGE + 3:
            since = labeled & (world.week >= CHANGE)
            before = labeled & (world.week < CHANGE)
            found["labels"] = int(since.sum())
            found["best"] = _knowing_all(world, since, before)
        wanted = {"wave": "share", "traffic": "traffic"}.get(cell.world, "recall")
        if wanted in seen.causes and found["first"] is None:
            found["first"] = now - CHANGE
        found["other"] |= bool(set(seen.causes) - {wanted})
    return found


def _knowing_all(world: World, since: Any, before: Any) -> bool:
    """Test the recall of labels since a change whose date is known, at the level of one week."""
    from scipy.stats import binom

    above = world.scores >= THRESHOLD
    rate = above[before].mean()
    return bool(binom.cdf(above[since].sum(), since.sum(), rate) <= 0.05 / 52)


def cells_of(part: str) -> list[Cell]:
    """List the cells of a part of the study."""
    if part == "weeks":
        grid = [Cell(w, d, c) for w in WORLDS for d in DELAYS for c in FREQUENCIES]
        rare = [Cell(w, "exponential 6", 0.6, 10_000, 0.015) for w in WORLDS]
        return grid + rare
    if part == "unknown":
        return [
            Cell(w, "exponential 6", 0.6, known=known)
            for known in ("audit", "labels")
            for w in WORLDS
        ]
    if part == "false":
        return [Cell(w, d, 0.6, 2000) for w in ("steady", "restless") for d in DELAYS]
    changes = [
        Cell(w, d, c, rows)
        for w in ("decay", "new kind")
        for rows in (2000, 5000)
        for d in DELAYS
        for c in FREQUENCIES
    ]
    more = [Cell(w, d, 0.6, 5000) for w in ("wave", "traffic") for d in DELAYS]
    return changes + more


# What is done for each cell, for how many seeds, from which on.
PARTS: dict[str, tuple[Any, int, int]] = {
    "weeks": (weeks_of, 20, 100_000),
    "found": (detection, 10, 600_000),
    "false": (false_alarms, 16, 700_000),
    "unknown": (weeks_of, 5, 800_000),
}


def run(parts: list[str], out: Path, first_seed: int | None, times: float) -> None:
    """Simulate, and keep what was found in a file after each cell."""
    stored: dict[str, Any] = json.loads(out.read_text()) if out.exists() else {}
    for part in parts:
        function, n_seeds, first = PARTS[part]
        first = first if first_seed is None else first_seed
        n_seeds = max(int(n_seeds * times), 1)
        for place, cell in enumerate(cells_of(part)):
            key = json.dumps({"part": part, **vars(cell), "seeds": n_seeds, "from": first})
            if key in stored:
                continue
            started = time.perf_counter()
            seed = first + 1000 * place
            stored[key] = [
                function(cell, seed + one, (one + 0.5) / n_seeds) for one in range(n_seeds)
            ]
            write_file(out, json.dumps(stored).encode())
            took = time.perf_counter() - started
            print(f"{part}: {replace(cell)} in {took:.0f} s", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("run", "write"):
        command = commands.add_parser(name)
        command.add_argument("--found", type=Path, default=Path("build/weeks.json"))
        if name == "run":
            command.add_argument("--parts", nargs="*", default=list(PARTS))
            command.add_argument("--first-seed", type=int, help="by default one for each part")
            command.add_argument("--times", type=float, default=1.0, help="as many simulations")
        else:
            command.add_argument("page", type=Path)
    chosen = parser.parse_args()
    if chosen.command == "run":
        chosen.found.parent.mkdir(parents=True, exist_ok=True)
        run(chosen.parts, chosen.found, chosen.first_seed, chosen.times)
        return
    from tools.studies.weeks_page import page

    write_file(chosen.page, page(json.loads(chosen.found.read_text())).encode())


if __name__ == "__main__":
    main()
