"""Train the combination behind ``recoup.priors.estimate`` on real problems with known shares.

``python -m tools.training.auto --out src/recoup/priors/weights/auto.npz`` takes the scored
training problems of ``tools/studies/prior_tasks.py``, mixes each anew with other shares and sizes,
adds simulated ones, asks all members about each, and trains a small network to give quantiles of
alpha and beta. Its error on datasets left out of the training is printed first.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from recoup.exceptions import InvalidInputError
from recoup.priors._solvers.network import save_network
from recoup.priors.auto import MEMBERS, MIDDLE, QUANTILES, SEEN, evidence, stretched
from recoup.priors.base import checked_table
from tools.studies.prior_tasks import FOLDER, Problem, problems, stream, write

REMIXES = 6
SIMULATED = 3000
SIMULATED_WEIGHT = 5.0  # as much as that many datasets
FOLDS = 7


def random_shares(rng: np.random.Generator) -> tuple[float, float]:
    """Draw alpha and beta; labels are clean in half of the problems."""
    small = float(np.exp(rng.uniform(np.log(0.01), np.log(0.3))))
    alpha = float(rng.uniform(0.02, 0.92)) if rng.random() < 0.7 else small
    noisy = rng.random() < 0.5 and alpha < 0.85
    return alpha, float(rng.uniform(max(alpha + 0.1, 0.6), 1.0)) if noisy else 1.0


def log_uniform(rng: np.random.Generator, low: float, high: float) -> int:
    return int(np.exp(rng.uniform(np.log(low), np.log(max(high, low + 1)))))


def remixed(problem: Problem, rng: np.random.Generator) -> Any:
    """Take rows of a scored problem in other numbers; None where there are too few."""
    y, s = problem.y, problem.s
    hidden, other = np.flatnonzero((s == 0) & y), np.flatnonzero((s == 0) & ~y)
    right, wrong = np.flatnonzero((s == 1) & y), np.flatnonzero((s == 1) & ~y)
    alpha, beta = random_shares(rng)
    most = min(len(hidden) / alpha, len(other) / (1 - alpha))
    if most < 301 or len(right) < 41:
        return None
    n_unlabeled = log_uniform(rng, 300, most)
    n_positive = min(round(alpha * n_unlabeled), len(hidden))
    n_negative = min(n_unlabeled - n_positive, len(other))
    n_right = log_uniform(rng, 40, len(right))
    n_wrong = round(n_right * (1 - beta) / beta)
    negatives = rng.permutation(other)
    pool = wrong if len(wrong) >= n_wrong else negatives[n_negative:]
    if len(pool) < n_wrong:
        n_wrong = 0
    labeled = np.concatenate([rng.choice(right, n_right, False), rng.choice(pool, n_wrong, False)])
    unlabeled = np.concatenate([rng.choice(hidden, n_positive, False), negatives[:n_negative]])
    rows = np.concatenate([labeled, unlabeled])
    return np.repeat([1, 0], [len(labeled), len(unlabeled)]), y[rows], problem.scores[rows]


def simulated(number: int) -> tuple[Any, Any, Any]:
    """Two classes of a random family, ranked as they should be."""
    rng = stream("simulated", number)
    alpha, beta = random_shares(rng)
    n_labeled, n_unlabeled = log_uniform(rng, 40, 5000), log_uniform(rng, 300, 20_000)
    y = np.concatenate([rng.random(n_labeled) < beta, rng.random(n_unlabeled) < alpha])
    s = np.repeat([1, 0], [n_labeled, n_unlabeled])
    distance, spread = rng.uniform(1.5, 6.0), np.exp(rng.uniform(-0.4, 0.0))
    noise = [rng.normal, rng.laplace, rng.logistic][number % 3](size=len(s))
    return s, y, np.where(y, distance + spread * noise, noise)


def describe(group: str, case: Any) -> dict[str, Any] | None:
    """Ask all members about one problem."""
    if case is None:
        return None
    s, y, scores = case
    try:
        table = checked_table(s, scores, "train_auto")
    except InvalidInputError:
        return None
    alpha, beta = float(y[s == 0].mean()), float(y[s == 1].mean())
    if beta - alpha < 0.05:
        return None
    found = evidence(table, np.random.default_rng(0))
    return {
        "group": group,
        "alpha": alpha,
        "beta": beta,
        "inputs": found.inputs,
        "members": np.array(list(found.members.values())),
    }


def describe_all(problem: Problem) -> list[dict[str, Any] | None]:
    rng = stream("remix", problem.name)
    cases = [(problem.s, problem.y, problem.scores)]
    cases += [remixed(problem, rng) for _ in range(REMIXES)]
    return [describe(problem.dataset, case) for case in cases]


def gather(jobs: int) -> dict[str, np.ndarray]:
    """Return the rows to learn from; they are kept, since asking the members takes minutes."""
    path = FOLDER / "auto_rows.npz"
    if not path.exists():
        from joblib import Parallel, delayed

        tasks = [delayed(describe_all)(problem) for problem in problems("training")]
        rows = [row for rows in Parallel(n_jobs=jobs)(tasks) for row in rows]
        made = [delayed(describe)("simulated", simulated(number)) for number in range(SIMULATED)]
        rows += Parallel(n_jobs=jobs)(made)
        kept = [row for row in rows if row is not None]
        write(path, **{key: np.array([row[key] for row in kept]) for key in kept[0]})
    with np.load(path) as stored:
        return dict(stored)


def group_weights(rows: dict[str, np.ndarray]) -> np.ndarray:
    """Datasets count by how small an error can be had on them, however many problems they gave.

    Otherwise the few on which nobody can tell alpha would decide what is said about the others.
    """
    groups, clean = rows["group"], rows["beta"] == 1
    names, place, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    error = np.abs(rows["members"][:, MEMBERS.index("share-net")] - rows["alpha"])
    hard = np.array([error[(groups == name) & clean].mean() for name in names])
    importance = 1 / np.maximum(hard, 0.02)
    made = names == "simulated"
    if made.any():
        importance[made] = SIMULATED_WEIGHT * importance[~made].mean()
    weights = importance[place] / sizes[place]
    return np.asarray(weights / weights.mean())


def network(n_in: int, width: int) -> torch.nn.Sequential:
    return torch.nn.Sequential(
        torch.nn.Linear(n_in, width),
        torch.nn.SiLU(),
        torch.nn.Linear(width, width),
        torch.nn.SiLU(),
        torch.nn.Linear(width, 2 * len(QUANTILES)),
    )


def learnable(rows: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs, targets and weights; clean problems come twice, once with that fact told."""
    clean = rows["beta"] == 1
    inputs = np.column_stack([rows["inputs"], np.zeros(len(clean))])
    told = np.column_stack([rows["inputs"], np.ones(len(clean))])[clean]
    share = rows["inputs"][:, SEEN.index(4)]
    targets = np.column_stack([stretched(rows["alpha"]) - share, stretched(rows["beta"])])
    weights = group_weights(rows)
    return (
        np.concatenate([inputs, told]),
        np.concatenate([targets, targets[clean]]),
        np.concatenate([weights, weights[clean]]),
    )


def train(
    inputs: np.ndarray, targets: np.ndarray, weights: np.ndarray, seed: int, epochs: int, width: int
) -> tuple[torch.nn.Sequential, np.ndarray, np.ndarray]:
    torch.manual_seed(seed)
    mean, scale = inputs.mean(0), inputs.std(0) + 1e-6
    x, y, w = (
        torch.tensor(values, dtype=torch.float32)
        for values in ((inputs - mean) / scale, targets, weights)
    )
    levels = torch.tensor(QUANTILES)
    model = network(x.shape[1], width)
    rule = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2)
    size = 256
    steps = epochs * (len(x) // size + 1)
    plan = torch.optim.lr_scheduler.OneCycleLR(rule, 6e-3, total_steps=steps)
    for _ in range(steps):
        chosen = torch.randint(len(x), (size,))
        # Noise on the inputs keeps the network from telling datasets apart by small digits.
        noisy = x[chosen] + 0.03 * torch.randn(size, x.shape[1])
        answers = model(noisy).view(size, 2, len(QUANTILES))
        gap: Tensor = y[chosen][:, :, None] - answers
        loss = torch.maximum(levels * gap, (levels - 1) * gap)
        loss = (w[chosen][:, None, None] * loss).mean()
        rule.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        rule.step()
        plan.step()
    return model.eval(), mean, scale


def ask(fitted: list[Any], inputs: np.ndarray) -> np.ndarray:
    """Quantiles of alpha and beta, of shape (n, 2, quantiles)."""
    total = 0.0
    for model, mean, scale in fitted:
        with torch.no_grad():
            x = torch.tensor((inputs - mean) / scale, dtype=torch.float32)
            total = total + model(x).numpy().reshape(len(x), 2, -1) / len(fitted)
    answers = np.asarray(total)
    answers[:, 0] += inputs[:, SEEN.index(4), None]
    return np.sort(np.sin(np.pi / 2 * np.clip(answers, 0, 1)) ** 2, axis=2)


def subset(rows: dict[str, np.ndarray], mask: np.ndarray) -> dict[str, np.ndarray]:
    return {key: values[mask] for key, values in rows.items()}


def leave_out(rows: dict[str, np.ndarray], epochs: int, width: int) -> None:
    """Print the error on datasets that were left out of the training."""
    names = np.unique(rows["group"])
    fold = dict(zip(stream("folds").permutation(names), np.arange(len(names)) % FOLDS, strict=True))
    fold["simulated"] = -1
    part = np.array([fold[name] for name in rows["group"]])
    found = np.zeros((2, len(part), 2, len(QUANTILES)))
    for number in range(FOLDS):
        fitted = [train(*learnable(subset(rows, part != number)), 0, epochs, width)]
        for told in (0, 1):
            asked = np.column_stack([rows["inputs"], np.full(len(part), float(told))])
            held = part == number
            found[told, held] = ask(fitted, asked[held])
    real = part >= 0
    clean = real & (rows["beta"] == 1)
    _, place, sizes = np.unique(rows["group"], return_inverse=True, return_counts=True)
    weights = 1 / sizes[place]
    cases = (("unknown labels, all", 0, real), ("unknown labels, clean", 0, clean))
    for name, told, mask in (*cases, ("labels known to be clean", 1, clean)):
        alpha, beta = found[told, :, 0], found[told, :, 1]
        error = alpha[:, MIDDLE] - rows["alpha"]
        inside = (alpha[:, 0] <= rows["alpha"]) & (rows["alpha"] <= alpha[:, -1])
        wrong = np.abs(beta[:, MIDDLE] - rows["beta"])

        def mean(values: np.ndarray, mask: np.ndarray = mask) -> float:
            return float(np.average(values[mask], weights=weights[mask]))

        members = [f"{mean(np.abs(values - rows['alpha'])):.4f}" for values in rows["members"].T]
        print(
            f"{name}: mean absolute error {mean(np.abs(error)):.4f}, bias {mean(error):+.4f}, "
            f"coverage {mean(inside):.3f}, width {mean(alpha[:, -1] - alpha[:, 0]):.3f}, "
            f"beta {mean(wrong):.4f}; members {' '.join(members)}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--members", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    rows = gather(chosen.jobs)
    print(f"{len(rows['alpha'])} problems", file=sys.stderr, flush=True)
    leave_out(rows, chosen.epochs, chosen.width)
    fitted = [
        train(*learnable(rows), seed, chosen.epochs, chosen.width) for seed in range(chosen.members)
    ]
    _, mean, scale = fitted[0]
    layers = [[layer for layer in model if hasattr(layer, "weight")] for model, *_ in fitted]
    weights, biases = [], []
    for parts in zip(*layers, strict=True):
        weights.append(np.stack([p.weight.detach().numpy().T for p in parts]))
        biases.append(np.stack([p.bias.detach().numpy() for p in parts]))
    groups = sorted(set(rows["group"].tolist()))
    meta = {"epochs": chosen.epochs, "problems": len(rows["alpha"]), "groups": groups}
    save_network(chosen.out, weights, biases, mean, scale, "silu", meta)


if __name__ == "__main__":
    main()
