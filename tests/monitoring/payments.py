"""Made-up payments whose chargebacks come late, with what is true of them."""

from types import SimpleNamespace

import numpy as np
import pandas as pd

from recoup.monitoring.counts import PeriodCounts

START = pd.Timestamp("2026-01-05")  # a Monday
THRESHOLD = 1.5


def made_up(
    seed=0,
    *,
    weeks=40,
    rows=900,
    pi=0.1,
    frequency=0.6,
    delay=14.0,
    change=None,
    shift=0.0,
    times=1.0,
    others=0.0,
    blocked=None,
):
    """Rows of some weeks as a frame, and arrays of what is true.

    From week ``change`` on, positives score lower by ``shift``, there are ``times`` as many, and
    negatives score higher by ``others``. Rows that score at least ``blocked`` get no label, but for
    a fifth that is let through.
    """
    rng = np.random.default_rng(seed)
    n = weeks * rows
    day = np.sort(rng.uniform(0, 7 * weeks, n))
    week = (day // 7).astype(int)
    after = week >= (weeks if change is None else change)
    y = rng.random(n) < pi * np.where(after, times, 1.0)
    score = rng.normal(size=n) + np.where(y, 2.2 - shift * after, others * after)
    allowed = np.ones(n, bool) if blocked is None else (score < blocked) | (rng.random(n) < 0.2)
    taken = rng.exponential(delay, n) if delay else np.zeros(n)
    ever = y & (rng.random(n) < frequency) & allowed
    told = ever & (day + taken <= 7 * weeks)
    paid = START + pd.to_timedelta(day, "D")
    frame = pd.DataFrame(
        {
            "p": score,
            "chargeback": told.astype(int),
            "paid_at": paid,
            "reported_at": (paid + pd.to_timedelta(taken, "D")).where(told),
            "allowed": allowed,
        }
    )
    return SimpleNamespace(
        frame=frame, y=y, week=week, weeks=weeks, day=day, taken=taken, told=told, ever=ever,
        end=START + pd.Timedelta(7 * weeks, "D"),
    )  # fmt: skip


def truth(world, threshold=THRESHOLD):
    """Share of positives, precision and recall of each week."""
    above = world.frame["p"].to_numpy() >= threshold

    def count(mask):
        return np.bincount(world.week[mask], minlength=world.weeks)

    found, flagged, positive = count(above & world.y), count(above), count(world.y)
    return {
        "pi": positive / count(np.ones(len(above), bool)),
        "precision": found / flagged,
        "recall": found / positive,
    }


def counted(seed=0, threshold=THRESHOLD, **options):
    """The same, counted by week and score, when all labels have come."""
    world = made_up(seed, delay=0.0, **options)
    every = np.ones(len(world.y), bool)
    scores = world.frame["p"].to_numpy()
    return PeriodCounts.of(scores, world.told, every, world.week, world.weeks, threshold)
