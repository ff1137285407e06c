"""Train the network of DistCurve on simulated mixtures and write the file that is shipped.

    python -m tools.training.dist_curve --out src/recoup/priors/weights/dist_curve.npz

With numba installed this takes about three minutes on one core, else about half an hour; the
simulated numbers are the same. The same machine writes the same file again; other machines may
round sums of products differently.

Each simulated set has a law of the positives and one of the negatives, a share
alpha of positives among its unlabeled rows, and numbers of rows. What the network learns is

    kappa = alpha + (1 - alpha) * inf(negatives' density / positives' density),

the share that can be known from data. With --target paper it learns alpha, as in the paper,
although the same data can then stand for different answers. Errors are printed for families of
laws that are kept out of training.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy import stats

from recoup._core.random import named_rng
from recoup.priors._solvers.network import Network, read_network, save_network
from recoup.priors.dist_curve import MAX_ROWS, distance_curve, network_inputs, remove_nearest
from recoup.scores.table import ScoreTable

SEED = 2020
BATCH, RATE, DECAY = 256, 2e-3, np.float32(1e-5)
RUNS = 10
WIDTHS = (64, 64)
LEAST_UNLABELED, LEAST_LABELED = 50, 20
TIED = 0.15
EXTREME = np.geomspace(1e-7, 0.01, 8)
DISTANCE_BINS = 12
PAIRS_PER_FAMILY = 600


@dataclass(frozen=True)
class Law:
    """A mixture of scipy's distributions."""

    parts: tuple[Any, ...]
    weights: tuple[float, ...] = (1.0,)

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        counts = rng.multinomial(size, self.weights)
        return np.concatenate(
            [part.rvs(n, random_state=rng) for part, n in zip(self.parts, counts, strict=True)]
        )

    def density(self, x: np.ndarray) -> np.ndarray:
        parts = zip(self.parts, self.weights, strict=True)
        return np.asarray(sum(weight * part.pdf(x) for part, weight in parts))

    def quantiles(self, levels: np.ndarray) -> np.ndarray:
        return np.concatenate([part.ppf(levels) for part in self.parts])


@dataclass(frozen=True)
class Pair:
    """Laws of positives and negatives, with the least ratio of their densities."""

    positive: Law
    negative: Law
    least_ratio: float
    distance: float


def paired(positive: Law, negative: Law) -> Pair:
    """Compute the least ratio and the normalised distance 2 TV / (1 + TV) on a fine grid."""
    levels = np.concatenate([EXTREME, np.linspace(0.02, 0.98, 25), 1 - EXTREME[::-1]])
    ends = np.concatenate([positive.quantiles(levels), negative.quantiles(levels)])
    ends = np.unique(ends[np.isfinite(ends)])
    x = np.interp(np.arange(0, len(ends) - 1, 0.1), np.arange(len(ends)), ends)
    p, n = positive.density(x), negative.density(x)
    some = np.isfinite(p) & np.isfinite(n) & (p > 1e-30)
    x, p, n = x[some], p[some], n[some]
    least, gap = float(np.min(n / p)), np.abs(p - n)
    variation = min(0.5 * float(np.sum(np.diff(x) * (gap[1:] + gap[:-1]) / 2)), 1.0)
    return Pair(positive, negative, min(least, 1.0), 2 * variation / (1 + variation))


def two_betas(rng: np.random.Generator) -> tuple[Law, Law]:
    if rng.random() < 0.5:
        a0 = rng.uniform(2, 100)
        b0 = a0 * rng.uniform(1, 10)
        a1, b1 = (v * (1 + rng.beta(0.5, 0.5)) for v in (a0, b0))
    else:
        b0, b1 = rng.uniform(20, 600, 2)
        a0 = rng.uniform(2, 1000)
        a1 = rng.uniform(a0, a0 + 998)
    return Law((stats.beta(a1, b1),)), Law((stats.beta(a0, b0),))


def shape_betas(rng: np.random.Generator) -> tuple[Law, Law]:
    """Betas of any shape, such as probabilities that a classifier gives."""
    a1, b1, a0, b0 = np.exp(rng.uniform(np.log(0.3), np.log(8), 4))
    return Law((stats.beta(a1, b1),)), Law((stats.beta(a0, b0),))


def two_normals(rng: np.random.Generator) -> tuple[Law, Law]:
    scale = 1.0 if rng.random() < 0.5 else np.exp(rng.uniform(-0.7, 0.7))
    return Law((stats.norm(rng.uniform(0.2, 5), 1),)), Law((stats.norm(0, scale),))


def two_laplaces(rng: np.random.Generator) -> tuple[Law, Law]:
    scale = 1.0 if rng.random() < 0.5 else np.exp(rng.uniform(-0.7, 0.7))
    return Law((stats.laplace(rng.uniform(0.2, 8), 1),)), Law((stats.laplace(0, scale),))


def two_skew_normals(rng: np.random.Generator) -> tuple[Law, Law]:
    skew = rng.uniform(-8, 8, 2)
    scale = np.exp(rng.uniform(-0.7, 0.7))
    positive = stats.skewnorm(skew[0], rng.uniform(0.2, 5), 1)
    return Law((positive,)), Law((stats.skewnorm(skew[1], 0, scale),))


def mixed_negatives(rng: np.random.Generator) -> tuple[Law, Law]:
    """Some of the negatives look much like the positives."""
    near, far = np.sort(rng.uniform(0.2, 5, 2))
    share = rng.uniform(0.05, 0.95)
    scales = np.exp(rng.uniform(-0.5, 0.5, 2))
    parts = tuple(stats.norm(-at, scale) for at, scale in zip((near, far), scales, strict=True))
    return Law((stats.norm(0, 1),)), Law(parts, (share, 1 - share))


def mixed_positives(rng: np.random.Generator) -> tuple[Law, Law]:
    """Some of the positives look much like the negatives."""
    near, far = np.sort(rng.uniform(0.2, 5, 2))
    share = rng.uniform(0.05, 0.95)
    scales = np.exp(rng.uniform(-0.5, 0.5, 2))
    parts = tuple(stats.norm(at, scale) for at, scale in zip((near, far), scales, strict=True))
    return Law(parts, (share, 1 - share)), Law((stats.norm(0, 1),))


def two_gammas(rng: np.random.Generator) -> tuple[Law, Law]:
    shapes = np.exp(rng.uniform(np.log(0.7), np.log(20), 2))
    lower, upper = np.sort(shapes)
    return Law((stats.gamma(upper),)), Law((stats.gamma(lower),))


def two_students(rng: np.random.Generator) -> tuple[Law, Law]:
    freedom = rng.uniform(2, 8)
    return Law((stats.t(freedom, rng.uniform(0.2, 8)),)), Law((stats.t(freedom),))


def two_gumbels(rng: np.random.Generator) -> tuple[Law, Law]:
    scale = np.exp(rng.uniform(-0.3, 0.3))
    return Law((stats.gumbel_r(rng.uniform(0.3, 6), 1),)), Law((stats.gumbel_r(0, scale),))


def two_ramps(rng: np.random.Generator) -> tuple[Law, Law]:
    """Triangles that overlap in part, so that some scores are reached by one kind only."""
    shift = rng.uniform(0.05, 1.0)
    tops = rng.uniform(0, 1, 2)
    return Law((stats.triang(tops[0], shift, 1),)), Law((stats.triang(tops[1], 0, 1),))


def two_logistics(rng: np.random.Generator) -> tuple[Law, Law]:
    scale = np.exp(rng.uniform(-0.5, 0.5))
    return Law((stats.logistic(rng.uniform(0.3, 8), 1),)), Law((stats.logistic(0, scale),))


Family = Callable[[np.random.Generator], tuple[Law, Law]]
TRAINING: tuple[Family, ...] = (
    two_betas, shape_betas, two_normals, two_laplaces, two_skew_normals, mixed_negatives,
    mixed_positives,
)  # fmt: skip
# Options were chosen on this one and on real datasets; nothing was chosen on those kept out.
CHOICE: tuple[Family, ...] = (two_logistics,)
HELD_OUT: tuple[Family, ...] = (two_gammas, two_students, two_gumbels, two_ramps)


def make_pairs(family: Family, count: int, rng: np.random.Generator) -> list[Pair]:
    """Draw pairs until every bin of the distance between the laws holds its part."""
    room = np.full(DISTANCE_BINS, -(-count // DISTANCE_BINS))
    pairs: list[Pair] = []
    for _ in range(4 * count):
        pair = paired(*family(rng))
        # Laws that nearly coincide tell nothing: the lowest distances are left out.
        place = min(math.floor((pair.distance - 0.1) / 0.9 * DISTANCE_BINS), DISTANCE_BINS - 1)
        if place >= 0 and room[place] > 0:
            room[place] -= 1
            pairs.append(pair)
        if len(pairs) == count:
            break
    return pairs


@dataclass(frozen=True)
class SimulatedSet:
    """One simulated set of scores and what is to be found."""

    table: ScoreTable
    alpha: float
    kappa: float


def simulate(pair: Pair, rng: np.random.Generator) -> SimulatedSet:
    """Draw labeled and unlabeled scores from a pair of laws."""
    n_unlabeled = int(np.exp(rng.uniform(np.log(LEAST_UNLABELED), np.log(MAX_ROWS))))
    n_labeled = int(np.exp(rng.uniform(np.log(LEAST_LABELED), np.log(MAX_ROWS))))
    alpha = rng.uniform(0.01, 0.99)
    if rng.random() < 0.5:
        alpha = float(np.exp(rng.uniform(np.log(0.003), np.log(0.99))))
    n_hidden = rng.binomial(n_unlabeled, alpha)
    x = np.concatenate(
        [
            pair.positive.sample(rng, n_labeled + n_hidden),
            pair.negative.sample(rng, n_unlabeled - n_hidden),
        ]
    )
    if rng.random() < 0.5:
        # The best possible score; classifiers come close to it.
        p, n = (np.clip(law.density(x), 1e-300, 1e300) for law in (pair.positive, pair.negative))
        x = np.log(p) - np.log(n)
    if rng.random() < TIED:
        levels = np.exp(rng.uniform(np.log(20), np.log(1000)))
        x = np.round((x - x.min()) / np.ptp(x) * levels)
    s = np.repeat([1, 0], [n_labeled, n_unlabeled])
    kappa = alpha + (1 - alpha) * pair.least_ratio
    return SimulatedSet(ScoreTable.from_arrays(s, x), alpha, kappa)


@cache
def compiled_removal() -> Callable[..., None] | None:
    try:
        from numba import njit
    except ImportError:
        return None
    compiled: Callable[..., None] = njit(remove_nearest)
    return compiled


def make_sets(
    families: tuple[Family, ...], count: int, name: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return inputs of the network, alpha, kappa and the number of the family for each set."""
    removal = compiled_removal()
    inputs, alphas, kappas, numbers = [], [], [], []
    for number, family in enumerate(families):
        rng = named_rng(SEED, "dist-curve", name, family.__name__)
        share = -(-count // len(families))
        pairs = make_pairs(family, min(share, PAIRS_PER_FAMILY), rng)
        for turn in track(range(share), description=f"{name} {family.__name__}"):
            found = simulate(pairs[turn % len(pairs)], rng)
            curve = distance_curve(found.table, RUNS, rng, removal)
            inputs.append(network_inputs(curve, found.table))
            alphas.append(found.alpha)
            kappas.append(found.kappa)
            numbers.append(number)
    return np.array(inputs), np.array(alphas), np.array(kappas), np.array(numbers)


def train(
    inputs: np.ndarray, target: np.ndarray, widths: tuple[int, ...], members: int, epochs: int
) -> Network:
    """Fit several networks at once by Adam on the absolute error of their sigmoid outputs."""
    rng = named_rng(SEED, "dist-curve", "network")
    mean, scale = inputs.mean(axis=0), inputs.std(axis=0) + 1e-3
    x = ((inputs - mean) / scale).astype(np.float32)
    y = target.astype(np.float32)
    sizes = (x.shape[1], *widths, 1)
    params: list[np.ndarray] = []
    for n_in, n_out in pairwise(sizes):
        spread = np.sqrt(2 / n_in)
        params.append((spread * rng.standard_normal((members, n_in, n_out))).astype(np.float32))
        params.append(np.zeros((members, 1, n_out), np.float32))
    first = [np.zeros_like(param) for param in params]
    second = [np.zeros_like(param) for param in params]
    n_batches = len(x) // BATCH
    step, n_steps = 0, epochs * n_batches
    for _ in track(range(epochs), description="training"):
        orders = np.stack([rng.permutation(len(x)) for _ in range(members)])
        for batch in np.split(orders[:, : n_batches * BATCH], n_batches, axis=1):
            step += 1
            gradients = _gradients(params, x[batch], y[batch])
            rate = np.float32(RATE * 0.5 * (1 + np.cos(np.pi * step / n_steps)))
            correction = np.float32(np.sqrt(1 - 0.999**step) / (1 - 0.9**step))
            for place, gradient in enumerate(gradients):
                if place % 2 == 0:
                    gradient = gradient + DECAY * params[place]
                first[place] += np.float32(0.1) * (gradient - first[place])
                second[place] += np.float32(0.001) * (gradient**2 - second[place])
                moved = first[place] / (np.sqrt(second[place]) + np.float32(1e-8))
                params[place] -= rate * correction * moved
    return Network(
        weights=tuple(w.astype(float) for w in params[::2]),
        biases=tuple(b[:, 0].astype(float) for b in params[1::2]),
        mean=mean,
        scale=scale,
        activation="relu",
    )


def _gradients(params: list[np.ndarray], x: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    layers = [x]
    for weight, bias in zip(params[:-2:2], params[1:-2:2], strict=True):
        layers.append(np.maximum(layers[-1] @ weight + bias, 0))
    output = 1 / (1 + np.exp(-(layers[-1] @ params[-2] + params[-1])[..., 0]))
    # Errors count relative to the spread of a share, so that small ones are learned too.
    weight_of = 1 / np.sqrt(y * (1 - y) + np.float32(0.02))
    back = (np.sign(output - y) * weight_of * output * (1 - output) / y.shape[1])[..., None]
    found: list[np.ndarray] = []
    for place in range(len(layers) - 1, -1, -1):
        found.append(back.sum(axis=1, keepdims=True))
        found.append(layers[place].transpose(0, 2, 1) @ back)
        if place:
            back = (back @ params[2 * place].transpose(0, 2, 1)) * (layers[place] > 0)
    return found[::-1]


def predicted(network: Network, inputs: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-network(inputs)[:, 0]))


def report(
    network: Network, families: tuple[Family, ...], sets: tuple[np.ndarray, ...], title: str
) -> dict[str, float]:
    """Print mean absolute errors by family, and in all."""
    inputs, alphas, kappas, numbers = sets
    found = predicted(network, inputs)
    enough = (inputs[:, -2] > np.log(500)) & (inputs[:, -1] > np.log(100))
    near = kappas - alphas < 0.02
    small = kappas < 0.1
    shown = Table("family", "sets", "all", "bias", "500+100 rows", "kappa = alpha", "kappa < 0.1")
    shown.title = f"{title}: mean absolute error of kappa"
    rows = [(family.__name__, numbers == i) for i, family in enumerate(families)]
    errors = {}
    for name, chosen in [*rows, ("all", np.full(len(found), True))]:
        error = np.abs(found - kappas)
        cells = [error[chosen].mean(), (found - kappas)[chosen].mean()]
        cells += [error[chosen & part].mean() for part in (enough, enough & near, enough & small)]
        shown.add_row(name, f"{chosen.sum()}", *(f"{cell:.4f}" for cell in cells))
        errors[name] = round(float(cells[0]), 4)
    Console().print(shown)
    return errors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", type=int, default=42_000)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--members", type=int, default=4)
    parser.add_argument("--target", choices=["kappa", "paper"], default="kappa")
    options = parser.parse_args()

    inputs, alphas, kappas, _ = make_sets(TRAINING, options.sets, "training")
    target = kappas if options.target == "kappa" else alphas
    network = train(inputs, target, WIDTHS, options.members, options.epochs)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    about = {
        "made_by": "tools/training/dist_curve.py",
        "seed": SEED,
        "sets": options.sets,
        "epochs": options.epochs,
        "target": options.target,
        "families": [family.__name__ for family in TRAINING],
    }
    save_network(
        options.out,
        network.weights,
        network.biases,
        network.mean,
        network.scale,
        network.activation,
        about,
    )
    saved = read_network(options.out)
    report(saved, CHOICE, make_sets(CHOICE, 1000, "choice"), "Family for choices")
    report(saved, HELD_OUT, make_sets(HELD_OUT, 4000, "held out"), "Families kept out")
    print(f"{options.out}: {options.out.stat().st_size / 1024:.0f} KB")


if __name__ == "__main__":
    main()
