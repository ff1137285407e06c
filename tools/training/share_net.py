"""Train the network of ``recoup.priors.ShareNet`` on simulated mixtures.

``python -m tools.training.share_net --out src/recoup/priors/weights/share_net.npz`` draws a new
batch of problems for every step, on a GPU if there is one (about three minutes on an H200; the
same steps take hours without). The error on families that training never sees is printed.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from recoup.priors._solvers.network import save_network
from recoup.priors.share_net import (
    LABELED_RANGE,
    LEVELS,
    QUANTILES,
    UNLABELED_RANGE,
    summary,
)
from recoup.scores import ScoreTable

GRID = 1024
TRAINING_FAMILIES = ("gaussian", "laplace", "logistic", "gumbel")
HELD_OUT_FAMILIES = ("student", "triangle")


def uniform(size: tuple[int, ...], low: float, high: float, device: torch.device) -> Tensor:
    return low + (high - low) * torch.rand(size, device=device)


def log_shape(z: Tensor, family: Tensor) -> Tensor:
    """Log density, up to a constant, of the family of each problem."""
    shapes = [
        -(z**2) / 2,
        -z.abs() * math.sqrt(2),
        -2 * torch.nn.functional.softplus(1.8 * z) + 1.8 * z,
        -z - torch.exp(-z.clamp(min=-30)),
        -2.0 * torch.log1p(z**2 / 3),
        torch.log((1 - z.abs() / 2.5).clamp(min=1e-12)),
    ]
    return torch.stack(shapes).gather(0, family[None].expand(1, *z.shape))[0]


def class_density(n: int, center: Tensor, families: list[int], device: torch.device) -> Tensor:
    """Mixtures of up to three components around a center, on the grid."""
    x = torch.linspace(-10, 10, GRID, device=device)
    parts = 3
    spread = uniform((n, 1), 0, 2.5, device) * (torch.rand((n, 1), device=device) < 0.6)
    means = center[:, None] + spread * torch.randn((n, parts), device=device)
    scales = torch.exp(uniform((n, parts), math.log(0.25), math.log(2.5), device))
    weights = torch.rand((n, parts), device=device) ** 3 + 1e-6
    alone = torch.rand((n, 1), device=device) < 0.4
    weights = torch.where(alone, torch.tensor([1.0, 0, 0], device=device), weights)
    weights = weights / weights.sum(1, keepdim=True)
    table = torch.tensor(families, device=device)
    family = table[torch.randint(len(families), (n,), device=device)]
    mirrored = torch.where(torch.rand((n, 1), device=device) < 0.5, -1.0, 1.0)
    density = torch.zeros((n, GRID), device=device)
    for part in range(parts):
        z = mirrored * (x - means[:, part, None]) / scales[:, part, None]
        shape = log_shape(z, family[:, None].expand_as(z))
        mass = torch.softmax(shape, dim=1)
        density += weights[:, part, None] * mass
    return density


def simulate(n: int, families: list[int], device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Return counts of labeled and unlabeled rows, highest score first, and kappa."""
    distance = uniform((n,), 0.2, 7.0, device)
    positive = class_density(n, distance / 2, families, device)
    negative = class_density(n, -distance / 2, families, device)
    # Real classes share some rows that no classifier can tell apart.
    shared = torch.rand((n, 1), device=device) ** 3 * 0.4
    shared = shared * (torch.rand((n, 1), device=device) < 0.5)
    negative = (1 - shared) * negative + shared * positive
    likewise = torch.rand((n, 1), device=device) ** 3 * 0.4
    likewise = likewise * (torch.rand((n, 1), device=device) < 0.3)
    positive = (1 - likewise) * positive + likewise * negative

    small = torch.exp(uniform((n, 1), math.log(0.003), 0.0, device))
    alpha = torch.where(
        torch.rand((n, 1), device=device) < 0.6, uniform((n, 1), 0.0, 0.97, device), small
    )
    beta = torch.where(
        torch.rand((n, 1), device=device) < 0.6,
        torch.ones((n, 1), device=device),
        alpha + (1 - alpha) * torch.rand((n, 1), device=device).sqrt(),
    )
    unlabeled = alpha * positive + (1 - alpha) * negative
    labeled = beta * positive + (1 - beta) * negative

    # An able classifier ranks by the ratio of the densities; others by what they happen to see.
    ratio = labeled / (labeled + unlabeled)
    blur = torch.exp(uniform((n, 1), math.log(0.003), math.log(0.3), device))
    blur = blur * (torch.rand((n, 1), device=device) < 0.5)
    order = (ratio + blur * torch.randn((n, GRID), device=device)).argsort(1, descending=True)
    straight = torch.arange(GRID - 1, -1, -1, device=device).expand(n, GRID)
    order = torch.where(torch.rand((n, 1), device=device) < 0.5, order, straight)
    labeled, unlabeled = labeled.gather(1, order), unlabeled.gather(1, order)
    # Trees and rounding give few different scores.
    blocks = torch.exp(uniform((n, 1), math.log(4), math.log(GRID), device))
    blocks = torch.where(torch.rand((n, 1), device=device) < 0.3, blocks, float(GRID))
    place = (torch.arange(GRID, device=device) * blocks / GRID).floor().long()
    labeled, unlabeled = (
        torch.zeros_like(mass).scatter_add_(1, place, mass) for mass in (labeled, unlabeled)
    )
    swap = torch.rand((n, 1), device=device) < 0.25
    labeled, unlabeled = (
        torch.where(swap, unlabeled.flip(1), labeled),
        torch.where(swap, labeled.flip(1), unlabeled),
    )
    # Where fewer than one in 100,000 labeled rows would lie, no sample shows anything.
    seen = labeled > 1e-5
    kappa = torch.where(seen, unlabeled / labeled.clamp(min=1e-12), torch.inf).amin(1).clamp(0, 1)

    low, high = (math.log(end) for end in LABELED_RANGE)
    n_labeled = torch.exp(uniform((n, 1), low, high, device))
    low, high = (math.log(end) for end in UNLABELED_RANGE)
    n_unlabeled = torch.exp(uniform((n, 1), low, high, device))
    return torch.poisson(n_labeled * labeled), torch.poisson(n_unlabeled * unlabeled), kappa


def reached(along: Tensor, other: Tensor, goals: Tensor) -> Tensor:
    after = torch.searchsorted(along[:, 1:].contiguous(), goals - 1e-9) + 1
    after = after.clamp(max=along.shape[1] - 1)
    before_along, before_other = along.gather(1, after - 1), other.gather(1, after - 1)
    width = along.gather(1, after) - before_along
    inside = (goals - before_along) / width.clamp(min=1e-12)
    return before_other + inside * (other.gather(1, after) - before_other)


def summaries(labeled: Tensor, unlabeled: Tensor) -> Tensor:
    """Do what ``recoup.priors.share_net.summary`` does, for many problems at once."""
    zero = torch.zeros((len(labeled), 1), device=labeled.device, dtype=torch.float64)
    both = [torch.cat([zero, counts.double().cumsum(1)], 1) for counts in (labeled, unlabeled)]
    levels = torch.tensor(LEVELS, device=labeled.device)
    widths = torch.diff(levels, prepend=levels.new_zeros(1))
    parts = []
    for from_top in (True, False):
        ends = both if from_top else [(c[:, -1:] - c).flip(1) for c in both]
        for along, other in (ends, ends[::-1]):
            total = other[:, -1:]
            found = reached(along, other, levels * along[:, -1:])
            parts.append(torch.log((found + 0.5) / (total + 1)) - torch.log(levels))
            steps = torch.diff(found, dim=1, prepend=torch.zeros_like(found[:, :1]))
            parts.append(torch.log((steps + 0.5) / (widths * total + 0.5)))
    sizes = [
        torch.log(both[0][:, -1:].clamp(*LABELED_RANGE)),
        torch.log(both[1][:, -1:].clamp(*UNLABELED_RANGE)),
    ]
    return torch.cat([*parts, *sizes], 1).float()


def batch(n: int, families: list[int], device: torch.device) -> tuple[Tensor, Tensor]:
    labeled, unlabeled, kappa = simulate(n, families, device)
    enough = (labeled.sum(1) >= 20) & (unlabeled.sum(1) >= 50)
    return summaries(labeled[enough], unlabeled[enough]), kappa[enough]


def check_summaries(device: torch.device) -> None:
    """The batched form must equal the one that the estimator uses."""
    labeled, unlabeled, _ = simulate(20, [0, 1], device)
    many = summaries(labeled, unlabeled).cpu().numpy()
    for row, (on_labeled, on_unlabeled) in enumerate(zip(labeled, unlabeled, strict=True)):
        counts = [c.cpu().numpy()[::-1].astype(int) for c in (on_labeled, on_unlabeled)]
        scores = np.repeat(np.tile(np.arange(GRID), 2), np.concatenate(counts))
        s = np.repeat([1, 0], [counts[0].sum(), counts[1].sum()])
        one = summary(ScoreTable.from_arrays(s, scores))
        np.testing.assert_allclose(many[row], one, atol=2e-4)


def network(n_in: int, width: int, n_out: int) -> torch.nn.Sequential:
    return torch.nn.Sequential(
        torch.nn.Linear(n_in, width),
        torch.nn.SiLU(),
        torch.nn.Linear(width, width),
        torch.nn.SiLU(),
        torch.nn.Linear(width, width),
        torch.nn.SiLU(),
        torch.nn.Linear(width, n_out),
    )


def pinball(answers: Tensor, kappa: Tensor) -> Tensor:
    """Quantile loss on the scale that stretches both ends."""
    target = 2 / math.pi * torch.asin(kappa.sqrt())
    levels = torch.tensor(QUANTILES, device=answers.device)
    gap = target[:, None] - answers
    return torch.maximum(levels * gap, (levels - 1) * gap).mean()


def train(
    steps: int, size: int, width: int, mean: Tensor, scale: Tensor, device: torch.device
) -> torch.nn.Sequential:
    families = list(range(len(TRAINING_FAMILIES)))
    model = network(len(mean), width, len(QUANTILES)).to(device)
    rule = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-4)
    plan = torch.optim.lr_scheduler.OneCycleLR(rule, 3e-3, total_steps=steps, pct_start=0.05)
    started, total = time.perf_counter(), 0.0
    for step in range(1, steps + 1):
        inputs, kappa = batch(size, families, device)
        loss = pinball(model((inputs - mean) / scale), kappa)
        rule.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        rule.step()
        plan.step()
        total += float(loss.detach()) if step % 20 == 0 else 0.0
        if step % 1000 == 0:
            print(f"step {step}: loss {total / 50:.5f}, {time.perf_counter() - started:.0f} s")
            total = 0.0
    return model.eval()


def judge(
    models: list[torch.nn.Sequential], mean: Tensor, scale: Tensor, device: torch.device
) -> None:
    for name, families in (
        ("families of the training", list(range(len(TRAINING_FAMILIES)))),
        ("families never seen", [4, 5]),
    ):
        inputs, kappa = batch(20_000, families, device)
        with torch.no_grad():
            answers = torch.stack([model((inputs - mean) / scale) for model in models]).mean(0)
        found = torch.sin(math.pi / 2 * answers.clamp(0, 1)) ** 2
        found = found.sort(1).values
        error = (found[:, 4] - kappa).abs()
        inside = ((kappa >= found[:, 0]) & (kappa <= found[:, -1])).float().mean()
        print(
            f"{name}: mean absolute error {error.mean():.4f}, median {error.median():.4f}, "
            f"bias {(found[:, 4] - kappa).mean():+.4f}, inside the middle 95%: {inside:.3f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=8_000)
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--width", type=int, default=96)
    parser.add_argument("--members", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(chosen.seed)
    check_summaries(device)
    inputs, _ = batch(min(20_000, 5 * chosen.batch), list(range(len(TRAINING_FAMILIES))), device)
    mean, scale = inputs.mean(0), inputs.std(0).clamp(min=1e-3)
    models = [
        train(chosen.steps, chosen.batch, chosen.width, mean, scale, device)
        for _ in range(chosen.members)
    ]
    judge(models, mean, scale, device)
    layers = [[layer for layer in model if hasattr(layer, "weight")] for model in models]
    weights, biases = [], []
    for parts in zip(*layers, strict=True):
        weights.append(np.stack([p.weight.detach().cpu().numpy().T for p in parts]))
        biases.append(np.stack([p.bias.detach().cpu().numpy() for p in parts]))
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    meta = {
        "steps": chosen.steps,
        "batch": chosen.batch,
        "seed": chosen.seed,
        "families": list(TRAINING_FAMILIES),
    }
    save_network(
        chosen.out,
        weights,
        biases,
        mean.cpu().numpy(),
        scale.cpu().numpy(),
        "silu",
        meta,
    )


if __name__ == "__main__":
    main()
