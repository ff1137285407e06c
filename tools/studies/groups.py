"""Do the intervals of groups hold what they claim? Coverage and width of evaluate_by.

Groups differ in size, in how many positives they have, and in how many of these are labeled. Scores
mean the same in all of them (a model that knows the group), or positives and negatives score the
same in all of them (a model that does not), or groups differ in how well the model tells them
apart. The truth is known exactly: it is that of the population which a group is drawn from. Alpha
is known, or estimated as users do. The last part cuts real rows, Adult by sex, with half of the
positives of one sex labeled and every seventh of the other, by scores from other folds.

    python -m tools.studies.groups run --out build/groups.json
    python -m tools.studies.groups write build/groups.json docs/groups-study.md
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, logit
from scipy.stats import norm

from recoup import evaluate, evaluate_by
from recoup._core.files import write_file
from recoup.exceptions import RecoupError, RecoupWarning
from recoup.metrics.spec import POINT_METRICS

# Seeds of what is reported; everything was chosen on seeds from 5,000 up.
SEED = 0
KEYS = ("alpha", "precision", "recall", "specificity", "f1", "accuracy", "roc_auc")
# Rows of the tables: labels of a group.
SIZES = ((0, 4), (5, 19), (20, 99), (100, 10**9))
GOAL = (0.93, 0.97)
WIDTH_GOAL = 0.6
# A table with fewer labels allows no estimate, by groups or without.
FEWEST_LABELS = 40
# Evaluating every group by itself takes most of the time: that is done in some data sets.
ALONE_EVERY = 6


@dataclass(frozen=True)
class Cell:
    """One setting: how groups are made and what is known.

    Parameters
    ----------
    kind : {"same meaning", "same classes", "other models"}
        What groups have in common.
    n_groups : int
        How many there are.
    alpha : {"known", "estimated"}
        Whether alpha of each group is given.
    simulations : int
        How many data sets are drawn.
    """

    kind: str
    n_groups: int
    alpha: str
    simulations: int

    @property
    def name(self) -> str:
        """The cell in words."""
        return f"{self.kind}, {self.n_groups} groups, alpha {self.alpha}"


CELLS = (
    *(Cell(kind, 12, "known", 100) for kind in ("same meaning", "same classes", "other models")),
    Cell("same meaning", 2, "known", 200),
    *(Cell(kind, 12, "estimated", 36) for kind in ("same meaning", "same classes", "other models")),
    Cell("other models", 2, "estimated", 60),
    Cell("other models", 100, "estimated", 7),
)


@dataclass(frozen=True)
class Population:
    """Groups as they are made: the share of positives, the separation and the score of each.

    Parameters
    ----------
    pi : ndarray of shape (n_groups,)
        Shares of positives.
    separation : ndarray of shape (n_groups,)
        Distance of positives from negatives, in standard deviations.
    offset : ndarray of shape (n_groups,)
        What is added to the score of each group, on the logit scale.
    frequency : ndarray of shape (n_groups,)
        Share of the positives that gets a label.
    rows : ndarray of int of shape (n_groups,)
        Rows of each group.
    slope : float
        Of the score, on the logit scale.
    """

    pi: np.ndarray
    separation: np.ndarray
    offset: np.ndarray
    frequency: np.ndarray
    rows: np.ndarray
    slope: float

    @classmethod
    def drawn(cls, cell: Cell, rng: np.random.Generator) -> Population:
        """Draw groups: few are large."""
        n = cell.n_groups
        level = logit(rng.choice([0.03, 0.1, 0.3]))
        pi = expit(level + rng.normal(0, 0.6, n))
        distance = rng.uniform(1.5, 2.5)
        differ = 0.25 if cell.kind == "other models" else 0.0
        separation = np.maximum(distance + rng.normal(0, differ, n), 0.5)
        known = logit(pi) if cell.kind != "same classes" else np.full(n, level)
        offset = known - distance**2 / 2
        if differ:
            offset = offset + rng.normal(0, 0.3, n)
        frequency = rng.uniform(0.15, 0.6, n)
        labels = np.exp(rng.normal(np.log(40), 1.3, n))
        rows = np.maximum((labels / (pi * frequency)).astype(int), 60)
        return cls(pi, separation, offset, frequency, np.minimum(rows, 60_000), distance)

    def sample(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw rows: labels, scores, groups."""
        group = np.repeat(np.arange(len(self.pi)), self.rows)
        positive = rng.random(len(group)) < self.pi[group]
        s = (positive & (rng.random(len(group)) < self.frequency[group])).astype(int)
        x = rng.standard_normal(len(group)) + positive * self.separation[group]
        return s, expit(self.slope * x + self.offset[group]), group

    @property
    def alpha(self) -> np.ndarray:
        """Share of positives among the unlabeled rows of each group."""
        labeled = self.pi * self.frequency
        return np.asarray((self.pi - labeled) / (1 - labeled))

    def truth(self, threshold: float) -> tuple[dict[str, np.ndarray], dict[str, float]]:
        """True values of each group, and of all rows together."""
        cut = (logit(threshold) - self.offset) / self.slope
        tpr, fpr = norm.sf(cut - self.separation), norm.sf(cut)
        found = {key: POINT_METRICS[key].from_rates(tpr, fpr, self.pi) for key in KEYS[1:-1]}
        found |= {"alpha": self.alpha, "roc_auc": norm.cdf(self.separation / np.sqrt(2))}
        positives, negatives = self.rows * self.pi, self.rows * (1 - self.pi)
        pi = positives.sum() / self.rows.sum()
        rates = np.average(tpr, weights=positives), np.average(fpr, weights=negatives)
        total = {key: float(POINT_METRICS[key].from_rates(*rates, pi)) for key in KEYS[1:-1]}
        # A positive of one group against a negative of another, on the logit scale of the score.
        ahead = (self.slope * self.separation + self.offset)[:, None] - self.offset
        pairs = norm.cdf(ahead / (self.slope * np.sqrt(2)))
        total["roc_auc"] = float(
            positives @ pairs @ negatives / (positives.sum() * negatives.sum())
        )
        unlabeled = self.rows * (1 - self.pi * self.frequency)
        total["alpha"] = float(np.average(self.alpha, weights=unlabeled))
        return found, total


def simulate(cell: Cell, seed: int) -> Iterator[dict[str, Any]]:
    """Draw one data set and judge every group: one record per group and metric, and the total."""
    rng = np.random.default_rng([seed, *cell.name.encode()])
    s = np.zeros(1, int)
    while s.sum() < FEWEST_LABELS:
        population = Population.drawn(cell, rng)
        s, scores, group = population.sample(rng)
    threshold = float(np.quantile(scores, 1 - 1.2 * np.mean(population.pi[group])))
    truth, total = population.truth(threshold)
    known = dict(enumerate(population.alpha.tolist()))
    alpha = known if cell.alpha == "known" else "estimate"
    found = evaluate_by(
        s, scores, groups=group, alpha=alpha, threshold=threshold, random_state=seed
    )
    for place in range(cell.n_groups):
        inside = group == place
        alone = {}
        if seed % ALONE_EVERY == 0:
            alone = _alone(s[inside], scores[inside], threshold, known[place], cell.alpha)
        labels = int(s[inside].sum())
        for key in KEYS:
            one = found[key].at(place)
            if cell.alpha == "known" and key == "alpha":
                continue
            width = alone.get(key, np.nan)
            yield {
                "cell": cell.name,
                "labels": labels,
                "key": key,
                "held": one.lower - 1e-9 <= truth[key][place] <= one.upper + 1e-9,
                "width": one.upper - one.lower,
                "alone": width,
                "error": one.recovered - truth[key][place],
            }
    for key in KEYS:
        if cell.alpha == "known" and key == "alpha":
            continue
        together, pooled = found[key].total, found.pooled.metrics.get(key)
        yield {
            "cell": cell.name,
            "labels": -1,
            "key": key,
            "held": together.lower - 1e-9 <= total[key] <= together.upper + 1e-9,
            "width": together.upper - together.lower,
            "alone": np.nan,
            "error": together.recovered - total[key],
            "pooled": None if pooled is None else bool(pooled.lower <= total[key] <= pooled.upper),
        }
        if key != "alpha":
            lower, upper = found[key].simultaneous()
            gap = found[key].gap()
            true_gap = truth[key].max() - truth[key].min()
            yield {
                "cell": cell.name,
                "labels": -2,
                "key": key,
                "held": bool(np.all((lower - 1e-9 <= truth[key]) & (truth[key] <= upper + 1e-9))),
                "gap": bool(gap.lower - 1e-9 <= true_gap <= gap.upper + 1e-9),
            }


def _alone(
    s: np.ndarray, scores: np.ndarray, threshold: float, alpha: float, known: str
) -> dict[str, float]:
    """Widths of the intervals of a group that is evaluated by itself; none where that ends."""
    try:
        found = evaluate(
            s,
            scores,
            alpha=alpha if known == "known" else "estimate",
            beta=1.0,
            threshold=threshold,
            n_boot=0,
        )
    except RecoupError:
        return {}
    widths = {key: found[key].upper - found[key].lower for key in KEYS[1:]}
    low, high = found.prior.range
    return widths | {"alpha": high - low}


ADULT_RUNS, ADULT_ROWS = 15, 8_000
ADULT_LABELED = {"Male": 0.5, "Female": 0.15}


def adult(seed: int) -> Iterator[dict[str, Any]]:
    """Hide labels of Adult at a rate for each sex, score out of fold, and judge both sexes."""
    import pandas as pd
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from recoup.data import load
    from recoup.scores import crossfit

    whole = load("adult")
    rng = np.random.default_rng([seed, 7])
    rows = rng.choice(len(whole.y_true), ADULT_ROWS, replace=False)
    frame, y = whole.X.iloc[rows], whole.y_true[rows] == 1
    sex = frame["sex"].astype(str).to_numpy()
    s = (y & (rng.random(len(y)) < np.array([ADULT_LABELED[one] for one in sex]))).astype(int)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=100))
    columns = pd.get_dummies(frame, dtype=float).to_numpy()
    found = crossfit(model, columns, s, cv=3, random_state=seed)
    # Labels are rare: a chance of a label is not one of being positive.
    threshold = float(np.quantile(found.scores, 1 - y.mean()))
    alphas = {one: float(y[(s == 0) & (sex == one)].mean()) for one in ADULT_LABELED}
    for words, alpha in (("known", alphas), ("estimated", "estimate")):
        judged = evaluate_by(found, groups=sex, alpha=alpha, threshold=threshold, random_state=seed)
        pooled = evaluate(
            *(found,),
            alpha=float(y[s == 0].mean()) if words == "known" else "estimate",
            beta=1.0,
            threshold=threshold,
            n_boot=0,
        )
        for group in (None, *ADULT_LABELED):
            inside = np.ones(len(y), bool) if group is None else sex == group
            above = found.scores[inside] >= threshold
            truth = {
                "roc_auc": roc_auc_score(y[inside], found.scores[inside]),
                "precision": y[inside][above].mean(),
                "recall": above[y[inside]].mean(),
            }
            for key, value in truth.items():
                one = judged[key].total if group is None else judged[key][group]
                record = {
                    "cell": f"adult, alpha {words}",
                    "group": group or "all together",
                    "key": key,
                    "held": bool(one.lower <= value <= one.upper),
                    "width": one.upper - one.lower,
                }
                alone = pooled[key] if group is None else None
                if alone is not None:
                    record["pooled"] = bool(alone.lower <= value <= alone.upper)
                yield record


def run(out: Path, seed: int, share: float, cells: str) -> None:
    """Simulate all cells and write what was found."""
    records: list[dict[str, Any]] = []
    warnings.simplefilter("ignore", RecoupWarning)
    if cells in "adult":
        for number in range(max(round(ADULT_RUNS * share), 1)):
            records += adult(seed + number)
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(records, default=_plain))
    for cell in CELLS:
        if cells not in cell.name:
            continue
        start = time.perf_counter()
        n = max(round(cell.simulations * share), 1)
        for number in range(n):
            records += simulate(cell, seed + number)
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(records, default=_plain))
        seconds = time.perf_counter() - start
        print(f"{cell.name}: {n} data sets, {seconds:.0f} s", file=sys.stderr, flush=True)


def _plain(value: Any) -> Any:
    return value.item()


def summarize(records: list[dict[str, Any]]) -> str:
    """Write coverage, widths and errors as a table per cell."""
    lines = []
    for name in dict.fromkeys(one["cell"] for one in records):
        mine = [one for one in records if one["cell"] == name]
        if "adult" in name:
            lines += [*_adult_lines(name, mine), ""]
            continue
        lines += [f"### {name}", ""]
        heads = ["labels of the group", *KEYS]
        lines += [f"| {' | '.join(heads)} |", f"| {' | '.join(['---'] * len(heads))} |"]
        for low, high in SIZES:
            cells = _cells(mine, low, high)
            if cells:
                title = f"{low} and more" if high > 10**6 else f"{low} to {high}"
                lines.append(f"| {title} | {' | '.join(cells)} |")
        lines.append(f"| all together | {' | '.join(_cells(mine, -1, -1))} |")
        lines.append(f"| all groups at once | {' | '.join(_cells(mine, -2, -2))} |")
        lines.append(f"| largest gap | {' | '.join(_cells(mine, -2, -2, 'gap'))} |")
        lines.append("")
    return "\n".join(lines)


def _adult_lines(name: str, records: list[dict[str, Any]]) -> list[str]:
    """Write how often each interval held, and how often that of the pooled table did."""
    keys = ("roc_auc", "precision", "recall")
    lines = [f"### {name}", "", f"| | {' | '.join(keys)} |", "| --- | --- | --- | --- |"]
    for group in dict.fromkeys(one["group"] for one in records):
        for what in ("held", "pooled") if group == "all together" else ("held",):
            cells = []
            for key in keys:
                mine = [one for one in records if (one["group"], one["key"]) == (group, key)]
                held = sum(one[what] for one in mine)
                width = np.mean([one["width"] for one in mine])
                cells.append(
                    f"{held} of {len(mine)}" + (f" ({width:.2f})" if what == "held" else "")
                )
            title = group if what == "held" else "as one table"
            lines.append(f"| {title} | {' | '.join(cells)} |")
    return lines


def _cells(records: list[dict[str, Any]], low: int, high: int, what: str = "held") -> list[str]:
    by_key = defaultdict(list)
    for one in records:
        if low <= one["labels"] <= high:
            by_key[one["key"]].append(one)
    if not by_key:
        return []
    found = []
    for key in KEYS:
        mine = by_key[key]
        if not mine:
            found.append("")
            continue
        text = f"{100 * np.mean([one[what] for one in mine]):.1f}"
        ratios = [
            one["width"] / one["alone"] for one in mine if one.get("alone", 0) and one["alone"] > 0
        ]
        if ratios:
            text += f" ({np.median(ratios):.2f})"
        found.append(text)
    return found


PAGE = """# Groups, measured

How often intervals of `recoup.evaluate_by` hold the truth, and how much narrower they are than
those of a group that is evaluated by itself. `make study-groups` makes this page.

Groups differ in size (a few labels to thousands), in how many positives they have (odds by a factor
of about two) and in how many of these are labeled (15 to 60 percent). *Same meaning*: a score
stands for the same share of positives in all groups. *Same classes*: positives and negatives score
the same in all groups. *Other models*: groups differ in how well, and where, the model parts them.
Figures are percentages of intervals at 95% that held the truth of the population that a group was
drawn from; in brackets the median of their width over that of `recoup.evaluate` on the group alone,
measured in every {every}th data set, where that is possible at all. *All groups at once*: how often
simultaneous limits held in all groups. *Largest gap*: how often its limits held the true one.

Goals, written before the runs: 93 to 97 from 5 labels up, where alpha is estimated at least 93;
widths at most 0.6.

{verdict}

The goal of widths is met by recall and AUC of groups with few labels, which learn most from the
others. Precision is mostly about how many rows of the group are flagged, and where alpha is
estimated about what its estimator may get wrong in all groups alike: neither becomes surer by other
groups. Where groups are alike, intervals of recall and AUC hold more often than they must.

The tables of Adult say how many of the intervals held, and how wide they were: {adult} rows, half
of the positives among men labeled and every seventh among women, scores by logistic regression on
the other folds. *As one table* is `recoup.evaluate` on all rows.

{tables}

Settings were chosen on data sets with other seeds. {sizes}
"""


def write(records: list[dict[str, Any]], path: Path) -> None:
    """Write the page."""
    simulated = [one for one in records if "labels" in one]
    cells = defaultdict(list)
    for one in simulated:
        if one["labels"] >= 5:
            cells[one["cell"], one["key"]].append(one["held"])
    shares = {key: np.mean(held) for key, held in cells.items()}
    known = [share for (cell, _), share in shares.items() if "known" in cell]
    estimated = [share for (cell, _), share in shares.items() if "estimated" in cell]
    inside = sum(GOAL[0] <= share <= GOAL[1] for share in known)
    ratios = [one["width"] / one["alone"] for one in simulated if one.get("alone", 0) > 0]
    few = [
        one["width"] / one["alone"]
        for one in simulated
        if one.get("alone", 0) > 0 and 5 <= one["labels"] < 20
    ]
    verdict = (
        f"With alpha known {inside} of {len(known)} figures (a metric in a setting, groups of 5 "
        f"labels and more) lie inside, {sum(share < GOAL[0] for share in known)} below and "
        f"{sum(share > GOAL[1] for share in known)} above; the lowest is {100 * min(known):.1f}. "
        f"With alpha estimated {sum(share >= GOAL[0] for share in estimated)} of "
        f"{len(estimated)} reach 93; the lowest is {100 * min(estimated):.1f}. The median width is "
        f"{np.median(ratios):.2f} of that of the group alone over all groups and metrics, and "
        f"{np.median(few):.2f} in groups of 5 to 19 labels."
    )
    counts: dict[str, int] = defaultdict(int)
    for one in simulated:
        counts[one["cell"]] += one["labels"] == -1 and one["key"] == "recall"
    sizes = f"Data sets: {', '.join(f'{name} {n}' for name, n in counts.items())}."
    text = PAGE.format(
        every=ALONE_EVERY,
        verdict=verdict,
        adult=f"{ADULT_ROWS:,}",
        tables=summarize(records).strip(),
        sizes=sizes,
    )
    write_file(path, text.encode())


def main(argv: list[str] | None = None) -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("--out", type=Path, default=Path("build/groups.json"))
    running.add_argument("--seed", type=int, default=SEED)
    running.add_argument("--share", type=float, default=1.0, help="Of the runs of each setting.")
    running.add_argument("--cells", default="", help="Part of the names of the settings to run.")
    writing = commands.add_parser("write")
    writing.add_argument("found", type=Path, nargs="+")
    writing.add_argument("page", type=Path)
    options = parser.parse_args(argv)
    if options.command == "run":
        run(options.out, options.seed, options.share, options.cells)
        return
    records = [one for path in options.found for one in json.loads(path.read_text())]
    write(records, options.page)


if __name__ == "__main__":
    main()
