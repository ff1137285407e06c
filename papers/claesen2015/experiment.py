r"""Claesen et al. 2015: bounds on ROC and PR curves from positive and unlabeled rows.

The paper gives no scores for its simulations. Here scores of negatives are N(0, 1) and those of
positives N(1, 1), whose ROC curve is an arc (AUROC 76.0%), wherever it asks for no special shape:
one of the three settings in the code that its authors released later.

Two facts about its Figure 4 are worked out in :mod:`papers.claesen2015.order`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from papers.claesen2015 import page
from papers.claesen2015.order import highest_auc
from papers.claesen2015.published import FIGURE_4
from papers.experiment import Experiment, Rows, Run
from recoup._core.checks import FloatArray
from recoup._core.random import named_rng
from recoup.metrics.bounds import ContingencyTables, band_around, bounds_from_table
from recoup.metrics.spec import metric_spec
from recoup.scores.table import ScoreTable

KEY = "claesen2015"
DATASET = "covertype_sample"
SEED = 2015

SIZES: dict[str, dict[str, Any]] = {
    "tiny": {
        "repetitions": 3,
        "chunk": 3,
        "scale": 0.05,
        "ranking": 8,
        "pairs": 4,
        "draws": 3,
        "table_draws": 2,
        "known": (0.1, 0.8),
        "rounds": 20,
    },
    "quick": {
        "repetitions": 50,
        "chunk": 10,
        "scale": 1.0,
        "ranking": 16,
        "pairs": 200,
        "draws": 100,
        "table_draws": 10,
        "known": (0.05, 0.1, 0.2, 0.4, 0.8),
        "rounds": 100,
    },
    "full": {
        "repetitions": 200,
        "chunk": 20,
        "scale": 1.0,
        "ranking": 22,
        "pairs": 1000,
        "draws": 300,
        "table_draws": 100,
        "known": (0.05, 0.1, 0.2, 0.4, 0.6, 0.8),
        "rounds": 300,
    },
}
N_LABELED = (50, 100, 200, 500, 1000, 2000, 5000)
N_UNLABELED = (2_000, 10_000)
KNOWN_NEGATIVES = (0.0, 0.2, 0.4, 0.6, 0.8)
GUESSES = (0.0, 0.15, 0.3, 0.45)
FACTORS = {"under": 0.8, "exact": 1.0, "over": 1.2}

# The paper's band is made of pointwise bootstrap quantiles, for the distribution behind the
# labels; the others are what recoup offers beside it.
PUBLISHED: dict[str, Any] = {"band": "bootstrap", "latent_noise": False}
BANDS: dict[str, dict[str, Any]] = {
    "published": PUBLISHED,
    "bootstrap": {"band": "bootstrap", "latent_noise": True},
    "binomial": {"band": "binomial", "latent_noise": True},
    "dkw as published": {"band": "dkw", "latent_noise": False},
    "dkw": {"band": "dkw", "latent_noise": True},
}
# Shares of all positives above the cuts at which bands for one cut are judged.
LEVELS = np.concatenate([[0.02], np.linspace(0.05, 0.95, 19), [0.98]])


def runs(size: str) -> list[Run]:
    """List the runs of the figures, of the tables, and of the lemma."""
    chosen = SIZES[size]
    scale = chosen["scale"]
    found = []
    settings = [(n, 100_000) for n in N_LABELED] + [(1000, n) for n in N_UNLABELED]
    for n_labeled, n_unlabeled in settings:
        if scale * n_labeled < 10:
            continue
        common = {
            "kind": "labels",
            "n_labeled": round(scale * n_labeled),
            "n_unlabeled": round(scale * n_unlabeled),
            "alpha": 0.2,
        }
        for name, part in _chunks(chosen):
            found.append(Run(f"labels-{n_labeled}-{n_unlabeled}-{name}", common | part))
    common = {"kind": "alpha", "n_labeled": round(2000 * scale), "alpha": 0.3}
    common["n_unlabeled"] = round(100_000 * scale)
    found += [Run(f"alpha-{name}", common | part) for name, part in _chunks(chosen)]
    found.append(Run("lemma", {"kind": "lemma", "largest": chosen["ranking"]}))
    found.append(Run("order", {"kind": "order", "pairs": chosen["pairs"]}))
    for known_positives in chosen["known"]:
        cell = {"kind": "table", "known_positives": known_positives}
        cell |= {"n_positives": round(2000 * scale), "n_negatives": round(10_000 * scale)}
        found.append(Run(f"table-{known_positives}", cell | {"draws": chosen["table_draws"]}))
    if _at_hand():
        cell = {"kind": "covertype", "draws": chosen["draws"], "rounds": chosen["rounds"]}
        found.append(Run("covertype", cell | {"n_per_class": round(10_000 * scale)}))
    return found


def _chunks(chosen: dict[str, Any]) -> Iterator[tuple[str, dict[str, int]]]:
    for first in range(0, chosen["repetitions"], chosen["chunk"]):
        last = min(first + chosen["chunk"], chosen["repetitions"])
        yield f"{first}", {"first": first, "last": last}


def _at_hand() -> bool:
    from recoup.data import list_datasets

    ready = ("bundled", "found")
    return any(row.name == DATASET and row.available in ready for row in list_datasets())


def measure(run: Run) -> Rows:
    """Do one run."""
    settings = dict(run.settings)
    rows: Rows = MEASURES[settings.pop("kind")](**settings)
    return rows


def measure_labels(
    *, n_labeled: int, n_unlabeled: int, alpha: float, first: int, last: int
) -> Rows:
    """Bound simulated rankings with every band, and see whether the truth is inside (Figure 2)."""
    rows: Rows = []
    for repetition in range(first, last):
        rng = named_rng(SEED, KEY, "labels", n_labeled, n_unlabeled, repetition)
        y_true, s, scores = drawn(rng, n_labeled, n_unlabeled, alpha)
        table, truth = ScoreTable.from_arrays(s, scores), true_tables(y_true, scores)
        cuts = np.searchsorted(truth.tpr, LEVELS)
        for name, options in BANDS.items():
            bounds = bounds_from_table(table, alpha=alpha, **options)
            held = (bounds.lower.tp <= truth.tp) & (truth.tp <= bounds.upper.tp)
            rows.append(
                {
                    "kind": "labels",
                    "n_labeled": n_labeled,
                    "n_unlabeled": n_unlabeled,
                    "repetition": repetition,
                    "band": name,
                    "truth": area(truth),
                    "lower": area(bounds.lower),
                    "upper": area(bounds.upper),
                    "all_cuts": bool(held.all()),
                    "inner_cuts": bool(held[cuts[0] : cuts[-1] + 1].all()),
                    "cuts": float(held[cuts].mean()),
                }
            )
    return rows


def measure_alpha(*, n_labeled: int, n_unlabeled: int, alpha: float, first: int, last: int) -> Rows:
    """Give the bounds a wrong alpha, and an interval that holds the right one (Figure 3)."""
    rows: Rows = []
    for repetition in range(first, last):
        rng = named_rng(SEED, KEY, "alpha", repetition)
        y_true, s, scores = drawn(rng, n_labeled, n_unlabeled, alpha)
        table, truth = ScoreTable.from_arrays(s, scores), true_tables(y_true, scores)
        right = point_tables(table, alpha)
        # Lemma 4 speaks of cuts at which the ranking is better than random.
        better = right.tpr > right.fpr
        interval = (0.8 * alpha, 1.2 * alpha)
        settings: dict[str, Any] = {f"{guess:g}": guess for guess in GUESSES}
        for name, guess in (settings | {"interval": interval, "interval dkw": interval}).items():
            # Section 6.1 presumes a band that holds at every rank; the published one does not.
            options = BANDS["dkw"] if name == "interval dkw" else PUBLISHED
            bounds = bounds_from_table(table, alpha=guess, **options)
            row: dict[str, Any] = {
                "kind": "alpha",
                "repetition": repetition,
                "guess": name,
                "truth": area(truth),
                "lower": area(bounds.lower),
                "upper": area(bounds.upper),
                "above": share_above(bounds.upper, truth),
                "below": share_above(truth, bounds.lower),
            }
            if not isinstance(guess, tuple):
                fpr, exact = point_tables(table, guess).fpr[better], right.fpr[better]
                # Whole hidden positives make rates jump by one row.
                slack = 2 / (n_unlabeled * (1 - max(guess, alpha)))
                wrong = fpr < exact - slack if guess < alpha else fpr > exact + slack
                row |= {"n_cuts": int(better.sum()), "wrong_cuts": int(wrong.sum())}
            rows.append(row)
            if repetition == 0:
                rows += _points("alpha-point", name, bounds.lower, bounds.upper)
        if repetition == 0:
            rows += _points("alpha-point", "truth", truth, truth)
    return rows


def measure_lemma(*, largest: int) -> Rows:
    """Check Lemma 4 on every ranking up to a size, with every pair of sets it speaks of."""
    counts = {"better": 0, "worse": 0, "better_wrong": 0, "worse_wrong": 0}
    for size in range(3, largest + 1):
        more, fewer, head_more, head_fewer, rank = (
            grid.ravel().astype(np.int32)
            for grid in np.meshgrid(*[np.arange(1, size)] * 2, *[np.arange(size + 1)] * 3)
        )
        kept = (more > fewer) & (head_more * fewer == head_fewer * more)
        for members, head in ((more, head_more), (fewer, head_fewer)):
            kept &= (head <= np.minimum(members, rank)) & (members - head <= size - rank)
        more, fewer, rank = more[kept], fewer[kept], rank[kept]
        head_more, head_fewer = head_more[kept], head_fewer[kept]
        # Fractions compared by cross-multiplication: no rounding.
        false_more, false_fewer = rank - head_more, rank - head_fewer
        change = false_more * (size - fewer) - false_fewer * (size - more)
        gap = false_fewer * fewer - head_fewer * (size - fewer)
        counts["better"] += int((gap < 0).sum())
        counts["worse"] += int((gap > 0).sum())
        counts["better_wrong"] += int(((gap < 0) & (change >= 0)).sum())
        counts["worse_wrong"] += int(((gap > 0) & (change <= 0)).sum())
    return [{"kind": "lemma", "largest": largest, **counts}]


def measure_order(*, pairs: int) -> Rows:
    """Look for models whose order depends on alpha (Figure 4), and check the derivative."""
    n_labeled, n_unlabeled, alpha = 5000, 45_000, 0.1
    rows: Rows = []
    for model, spread in (("model 1", 0.5), ("model 2", spread_of_second_model())):
        target = FIGURE_4[0.0][model]
        scores = shaped(n_labeled, n_unlabeled, auc=target, spread=spread)
        table = ScoreTable.from_arrays(np.arange(len(scores)) < n_labeled, scores)
        head, unlabeled = table.heads("labeled"), table.heads("unlabeled")
        # Counts beyond these are so small as to be noise in any real ranking.
        seen = (unlabeled > 0.001) & (unlabeled < 0.999) & (head > 0) & (head < 1)
        x, y = unlabeled[seen], head[seen]
        highest = float(min((x / y).min(), ((1 - x) / (1 - y)).min()))
        for guess in (0.0, alpha):
            tables = point_tables(table, guess)
            row = {"kind": "order", "model": model, "spread": spread, "alpha": guess}
            rows.append(row | {"roc_auc": area(tables), "alpha_upper": highest})
            rows += _points("order-point", f"{model} {guess:g}", tables, tables)
    # The largest AUROC that is still printed as the published one.
    ceiling = highest_auc(FIGURE_4[0.0]["model 1"] + 0.0005, alpha)
    rows.append({"kind": "ceiling", "roc_auc": ceiling})
    rows.append(_derivative(n_labeled, n_unlabeled))
    return rows + _random_pairs(pairs)


def _derivative(n_labeled: int, n_unlabeled: int) -> dict[str, Any]:
    """Slope of the false positive rate in alpha at one cut, and both forms of Eq. 20."""
    scores = shaped(n_labeled, n_unlabeled, auc=0.76, spread=1.0)
    table = ScoreTable.from_arrays(np.arange(len(scores)) < n_labeled, scores)
    cut, alpha, step = len(scores) // 4, 0.05, 0.02
    high, low = (point_tables(table, alpha + sign * step).fpr[cut] for sign in (1, -1))
    share, head = table.heads("labeled")[cut], table.heads("unlabeled")[cut] * n_unlabeled
    return {
        "kind": "derivative",
        "measured": float((high - low) / (2 * step)),
        "printed": float((head - share * n_unlabeled) / (1 - alpha) ** 2),
        "corrected": float((head / n_unlabeled - share) / (1 - alpha) ** 2),
    }


def _random_pairs(pairs: int) -> Rows:
    """Compare crossing models at all alpha that their rankings allow."""
    n_labeled, n_unlabeled, alpha = 2000, 20_000, 0.3
    rng = named_rng(SEED, KEY, "pairs")
    rows: Rows = []
    for pair in range(pairs):
        spreads = np.exp(rng.uniform(0.3, 1.0, size=2) * [1, -1])
        areas = rng.uniform(0.65, 0.9, size=2)
        values: dict[str, list[list[float]]] = {"roc_auc": [], "pr_auc": []}
        for spread, auc in zip(spreads, areas, strict=True):
            scores = shaped(n_labeled, n_unlabeled, auc=auc, spread=spread, alpha=alpha)
            table = ScoreTable.from_arrays(np.arange(len(scores)) < n_labeled, scores).thin(2000)
            tables = [point_tables(table, guess) for guess in np.linspace(0, alpha, 7)]
            for name, found in values.items():
                found.append([area(one, name) for one in tables])
        row: dict[str, Any] = {"kind": "pair", "pair": pair}
        for name, (one, other) in values.items():
            gap = np.subtract(one, other)
            # Differences below this are the rounding of hidden positives to whole rows.
            row[f"{name}_flips"] = bool(gap.max() > 5e-4 and gap.min() < -5e-4)
        rows.append(row)
    return rows


def measure_table(
    *, known_positives: float, n_positives: int, n_negatives: int, draws: int
) -> Rows:
    """Bound AUROC with known negatives, from either class of labels (Tables 1 and 2)."""
    rows: Rows = []
    n_labeled = round(known_positives * n_positives)
    for known_negatives, draw in product(KNOWN_NEGATIVES, range(draws)):
        rng = named_rng(SEED, KEY, "table", draw)
        n_known = round(known_negatives * n_negatives)
        n_unlabeled = n_positives + n_negatives - n_labeled - n_known
        alpha = (n_positives - n_labeled) / n_unlabeled
        y_true, s, scores = drawn(rng, n_labeled, n_unlabeled, alpha, n_known)
        table, truth = ScoreTable.from_arrays(s, scores), true_tables(y_true, scores)
        for guess, factor in FACTORS.items():
            for reverse in (False, True)[: 2 if n_known else 1]:
                form: dict[str, Any] = {"alpha": factor * alpha, "reverse": reverse}
                bounds = bounds_from_table(table, **form, **PUBLISHED)
                row = {
                    "kind": "table",
                    "known_positives": known_positives,
                    "known_negatives": known_negatives,
                    "n_known_positives": n_labeled,
                    "n_known_negatives": n_known,
                    "draw": draw,
                    "guess": guess,
                    "based_on": bounds.based_on,
                    "truth": area(truth),
                    "lower": area(bounds.lower),
                    "upper": area(bounds.upper),
                }
                if guess == "exact":
                    wider = bounds_from_table(table, **form, **BANDS["bootstrap"])
                    held = area(wider.lower) <= area(truth) <= area(wider.upper)
                    row["held_with_noise"] = held
                rows.append(row)
    return rows


def measure_covertype(*, draws: int, rounds: int, n_per_class: int) -> Rows:
    """Bound the curves of a model trained on PU labels, on real rows of known class (Figure 5)."""
    y_true, scores = covertype_scores(n_per_class, rounds)
    truth = true_tables(y_true, scores)
    positives = np.flatnonzero(y_true)
    rows: Rows = []
    for draw in range(draws):
        s = np.zeros(len(y_true), int)
        rng = named_rng(SEED, KEY, "covertype", draw)
        s[rng.choice(positives, n_per_class // 20, replace=False)] = 1
        alpha = float(y_true[s == 0].mean())
        table = ScoreTable.from_arrays(s, scores)
        hidden = true_tables(y_true[s == 0], scores[s == 0])
        rest = np.searchsorted(-np.unique(scores[s == 0])[::-1], -table.scores[::-1], "right")
        share = np.append(0.0, hidden.tpr)[rest]
        head, n_known = table.heads("labeled"), float(s.sum())
        lower, upper = band_around(head, n_known, np.inf, band="bootstrap", confidence=0.95)
        common = {"kind": "covertype", "draw": draw, "alpha": alpha}
        held = (lower <= share) & (share <= upper)
        inner = held[(share >= LEVELS[0]) & (share <= LEVELS[-1])]
        settings: dict[str, Any] = {
            "zero": 0.0,
            "exact": alpha,
            "interval": (0.8 * alpha, 1.2 * alpha),
        }
        for name, guess in settings.items():
            bounds = bounds_from_table(table, alpha=guess, **PUBLISHED)
            row: dict[str, Any] = common | {"guess": name, "band_all": bool(held.all())}
            row |= {"band_inner": bool(inner.all()), "ranks_held": float(inner.mean())}
            row |= {
                "above": share_above(bounds.upper, truth),
                "below": share_above(truth, bounds.lower),
            }
            for metric in ("roc_auc", "pr_auc"):
                row |= {f"{metric}_{side}": area(getattr(bounds, side), metric)
                        for side in ("lower", "upper")}  # fmt: skip
                row[f"{metric}_truth"] = area(truth, metric)
            if name == "exact":
                row |= _precision_widths(bounds.lower, bounds.upper)
            rows.append(row)
            if draw == 0:
                rows += _points("covertype-point", name, bounds.lower, bounds.upper)
        if draw == 0:
            rows += _points("covertype-point", "truth", truth, truth)
            at = _spread_out(len(share))
            rows += [
                {"kind": "covertype-cdf", "rank": int(i), "hidden": float(share[i]),
                 "lower": float(lower[i]), "upper": float(upper[i])}
                for i in at
            ]  # fmt: skip
    return rows


def _precision_widths(lower: ContingencyTables, upper: ContingencyTables) -> dict[str, float]:
    """Distance between the bounds on precision, where recall is low and where it is high."""
    widths = {}
    for name, recall in (("width_at_10", 0.1), ("width_at_90", 0.9)):
        edges = [
            float(np.interp(recall, tables.tpr, tables.tp / (tables.tp + tables.fp)))
            for tables in (lower, upper)
        ]
        widths[name] = edges[1] - edges[0]
    return widths


def covertype_scores(n_per_class: int, rounds: int) -> tuple[NDArray[np.int64], FloatArray]:
    """Train on PU labels; return classes and scores of as many held-out rows of each class."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    from recoup.data import load

    dataset = load(DATASET)
    order = named_rng(SEED, KEY, "covertype", "split").permutation(len(dataset))
    test = np.concatenate([order[dataset.y_true[order] == label][:n_per_class] for label in (0, 1)])
    train = order[~np.isin(order, test)][:n_per_class]
    # Half of the training positives carry a label; the others hide among the negatives.
    hidden = named_rng(SEED, KEY, "covertype", "labels").random(len(train)) < 0.5
    s = dataset.y_true[train] * hidden
    model = HistGradientBoostingClassifier(max_iter=rounds, random_state=0)
    model.fit(dataset.X[train], s)
    return dataset.y_true[test], model.decision_function(dataset.X[test])


def drawn(
    rng: np.random.Generator, n_labeled: int, n_unlabeled: int, alpha: float, n_known: int = 0
) -> tuple[NDArray[np.bool_], NDArray[np.int64], FloatArray]:
    """Draw rows with the stated share of hidden positives; return classes, labels and scores."""
    n_positive = n_labeled + round(alpha * n_unlabeled)
    row = np.arange(n_labeled + n_unlabeled + n_known)
    y_true = row < n_positive
    s = np.where(row < n_labeled, 1, np.where(row >= len(row) - n_known, -1, 0))
    return y_true, s, rng.normal(size=len(row)) + y_true


def true_tables(y_true: NDArray[Any], scores: FloatArray) -> ContingencyTables:
    """Contingency tables of rows whose classes are known."""
    table = ScoreTable.from_arrays(np.asarray(y_true).astype(int), scores)
    tp, fp = np.cumsum(table.labeled[::-1]), np.cumsum(table.unlabeled[::-1])
    return ContingencyTables(tp, fp, tp[-1] - tp, fp[-1] - fp)


def point_tables(table: ScoreTable, alpha: float) -> ContingencyTables:
    """Tables for hidden positives that are distributed just like the labeled ones."""
    share = table.heads("labeled")
    return bounds_from_table(table, alpha=alpha, band=(share, share)).upper


def area(tables: ContingencyTables, name: str = "roc_auc") -> float:
    """Area under the curve of the tables."""
    return float(metric_spec(name, KEY).formula(*tables.rates()))


def share_above(upper: ContingencyTables, lower: ContingencyTables) -> float:
    """Share of false positive rates at which one ROC curve does not lie below the other."""
    places = np.linspace(0.01, 0.99, 99)
    # Rates of bounds may step back; what a bound says about a rate is then its outermost point.
    tpr, fpr, _ = upper.rates()
    high = np.interp(places, np.minimum.accumulate(fpr[::-1])[::-1], tpr)
    tpr, fpr, _ = lower.rates()
    low = np.interp(places, np.maximum.accumulate(fpr), tpr)
    return float((high >= low - 1e-9).mean())


def shaped(
    n_labeled: int, n_unlabeled: int, *, auc: float, spread: float, alpha: float = 0.0
) -> FloatArray:
    """Scores at evenly spaced quantiles: labeled rows, hidden positives, then negatives.

    Negatives are N(0, 1); positives have the given spread and the mean that makes the area
    between both the given one.
    """
    from scipy.stats import norm

    n_hidden = round(alpha * n_unlabeled)
    mean = norm.ppf(auc) * np.hypot(1.0, spread)
    sizes = (n_labeled, n_hidden, n_unlabeled - n_hidden)
    places = [norm.ppf((np.arange(size) + 0.5) / size) for size in sizes if size]
    return np.concatenate([*(mean + spread * place for place in places[:-1]), places[-1]])


def spread_of_second_model() -> float:
    """Spread of the positives with which model 2 of Figure 4 has its published areas."""
    from scipy.optimize import brentq

    def excess(spread: float) -> float:
        scores = shaped(5000, 45_000, auc=FIGURE_4[0.0]["model 2"], spread=spread)
        table = ScoreTable.from_arrays(np.arange(50_000) < 5000, scores)
        return area(point_tables(table, 0.1)) - FIGURE_4[0.1]["model 2"]

    return float(brentq(excess, 1.5, 4.0, xtol=1e-3))


def _points(kind: str, name: str, lower: ContingencyTables, upper: ContingencyTables) -> Rows:
    """Take some points of two curves, for a figure."""
    rows: Rows = []
    for i in _spread_out(len(lower.tp)):
        row: dict[str, Any] = {"kind": kind, "guess": name}
        for side, tables in (("lower", lower), ("upper", upper)):
            tp, fp = float(tables.tp[i]), float(tables.fp[i])
            row |= {
                f"{side}_tpr": float(tables.tpr[i]),
                f"{side}_fpr": float(tables.fpr[i]),
                f"{side}_precision": tp / (tp + fp),
            }
        rows.append(row)
    return rows


def _spread_out(n: int) -> NDArray[np.intp]:
    """Cuts for a figure: evenly spaced, and denser at the top of the ranking."""
    places = np.append(np.linspace(0, n - 1, 150), np.geomspace(1, n, 50) - 1)
    return np.unique(places.astype(np.intp))


MEASURES: dict[str, Any] = {
    "labels": measure_labels,
    "alpha": measure_alpha,
    "lemma": measure_lemma,
    "order": measure_order,
    "table": measure_table,
    "covertype": measure_covertype,
}

EXPERIMENT = Experiment(
    key=KEY,
    title="Assessing binary classifiers using only positive and unlabeled data",
    citation=(
        "Claesen, Davis, De Smet, De Moor (2015), Assessing binary classifiers using only "
        "positive and unlabeled data, arXiv:1504.06837."
    ),
    runs=runs,
    measure=measure,
    summarize=page.summarize,
    lesson="Bounds from the ranks of the labeled rows shrink with the square root of their "
    "number, and knowing negatives helps only if there are many. As published they hold "
    "the truth less often than they say where many positives are labeled, since the hidden ones "
    "are a sample too, and hardly ever along the whole curve; recoup's bounds have that noise in "
    "them, with a binomial band for single cuts and a Dvoretzky-Kiefer-Wolfowitz band for the "
    "whole curve. With a bootstrap band, below some 200 labels, single cuts are held too seldom "
    "even so. While alpha is one that the scores allow, it does not change which of two models "
    "has the larger AUC.",
)
