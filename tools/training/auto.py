"""Train the network behind ``recoup.priors.estimate`` from features, on tasks with known shares.

``python -m tools.training.auto --out src/recoup/priors/weights/auto_views.npz`` takes what the
members said about several views of the tasks (``tools/training/view_rows.py``) and trains small
networks to give quantiles of alpha and beta. Datasets are left out in turns first: their errors are
printed, beside those of the members and of the combination from the scores of the average, and set
how far quantiles are drawn apart. One thread and fixed seeds: the same rows give the same file,
byte for byte.

The network for one table of scores, ``auto_scores.npz``, is that of earlier releases. One trained
anew on these tasks was no better on left-out datasets, and worse where labels are wrong.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from recoup.priors._solvers.network import save_network
from recoup.priors._solvers.views import VIEWS
from recoup.priors.combining import (
    BETA_UNIT,
    GAP_UNIT,
    MIDDLE,
    N_MEMBERS,
    N_OUTPUTS,
    OFFSET_UNIT,
    QUANTILES,
    SLACK,
    calibrated,
    decoded,
    member_columns,
    near_members,
    weigh_scores,
)
from recoup.priors.evidence import MEMBERS, stretched, unstretched
from tools.studies.prior_tasks import stream
from tools.training.view_rows import load_rows

FOLDS = 5
# As much as that many datasets.
MADE_WEIGHTS = {"simulated": 6.0, "drawn": 6.0}
# Errors are judged, and quantiles calibrated, on tasks like those of users: labels are right, and
# not rarer than this.
LEAST_FREQUENCY = 0.04
LEVEL = 0.95
KNOTS = (40.0, 100.0, 250.0, 800.0)
BETA_SHARE = 0.3
# Chosen on datasets left out in turns.
EPOCHS, WIDTH, NOISE = 25, 24, 0.3


@dataclass(frozen=True, eq=False)
class Rows:
    """What a network learns from: one line per table, or per set of views."""

    inputs: np.ndarray
    members: np.ndarray
    alpha: np.ndarray
    beta: np.ndarray
    group: np.ndarray
    sizes: np.ndarray
    # The combination before is asked about these.
    former: np.ndarray
    # Of all tables that are read; those of ``members`` are of the first.
    all_members: np.ndarray

    def take(self, chosen: np.ndarray) -> Rows:
        return Rows(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))

    @property
    def clean(self) -> np.ndarray:
        return np.asarray(self.beta == 1)

    @property
    def frequency(self) -> np.ndarray:
        labeled = self.sizes[:, 0] * self.beta
        return np.asarray(labeled / (labeled + self.sizes[:, 1] * self.alpha))


def rows_of_views(stored: dict[str, np.ndarray]) -> Rows:
    """The average in full, and of each view the gist, as ``inputs_of_views`` has them."""
    found = stored["inputs"]
    columns = [found[:, 0], stored["extents"][:, 0], stored["limits"][:, 0]]
    for view in (1, 2, 3):
        columns += [found[:, view, member_columns()], stored["limits"][:, view]]
        columns.append(found[:, view, -4:-2])
    every = found[:, : 1 + len(VIEWS), member_columns()].reshape(len(found), -1)
    return _rows(stored, np.column_stack([*columns, stored["relation"]]), found[:, 0], every)


def _rows(
    stored: dict[str, np.ndarray], inputs: np.ndarray, former: np.ndarray, every: np.ndarray
) -> Rows:
    members = former[:, member_columns()]
    keys = ("alpha", "beta", "group", "sizes")
    alpha, beta, group, sizes = (stored[key] for key in keys)
    return Rows(inputs, members, alpha, beta, group, sizes, former, every)


def group_weights(rows: Rows) -> np.ndarray:
    """Datasets count by how small an error can be had on them, however many tasks they gave.

    Otherwise the few on which nobody can tell alpha would decide what is said about the others.
    """
    names, place, counts = np.unique(rows.group, return_inverse=True, return_counts=True)
    share = unstretched(rows.members[:, MEMBERS.index("share-net")])
    error = np.abs(share - rows.alpha)
    hard = np.array([error[place == number].mean() for number in range(len(names))])
    importance = 1 / np.maximum(hard, 0.02)
    real = ~np.isin(names, list(MADE_WEIGHTS))
    for name, weight in MADE_WEIGHTS.items():
        importance[names == name] = weight * importance[real].mean()
    weights = importance[place] / counts[place]
    return np.asarray(weights / weights.mean())


def quantiles_of(outputs: Tensor, members: Tensor) -> Tensor:
    """As ``decoded`` of recoup.priors, for learning."""
    softplus = torch.nn.functional.softplus
    gates, offset, beta, gaps = torch.split(
        outputs, [N_MEMBERS, 1, 1, N_OUTPUTS - N_MEMBERS - 2], 1
    )
    alpha = (torch.softmax(gates, 1) * members).sum(1, keepdim=True) + OFFSET_UNIT * offset
    beta = 1 - BETA_UNIT * softplus(beta - 2)
    steps = GAP_UNIT * softplus(gaps - 1).reshape(len(outputs), 2, -1)
    below = -torch.cumsum(steps[:, :, :MIDDLE], 2).flip(2)
    above = torch.cumsum(steps[:, :, MIDDLE:], 2)
    centers = torch.stack([alpha, beta], 1)
    return centers + torch.cat([below, torch.zeros_like(centers), above], 2)


def as_unstretched(found: Tensor) -> Tensor:
    """Undo ``stretched``; beyond both ends a slope remains, so that nothing gets stuck there."""
    inside = found.clamp(0, 1)
    return torch.sin(np.pi / 2 * inside) ** 2 + 0.05 * (found - inside)


def network(n_in: int) -> torch.nn.Sequential:
    return torch.nn.Sequential(
        torch.nn.Linear(n_in, WIDTH),
        torch.nn.SiLU(),
        torch.nn.Linear(WIDTH, WIDTH),
        torch.nn.SiLU(),
        torch.nn.Linear(WIDTH, N_OUTPUTS),
    )


Fitted = tuple[torch.nn.Sequential, np.ndarray, np.ndarray]


def train(rows: Rows, seed: int) -> Fitted:
    """Fit one network; clean tasks come twice, once with that fact told."""
    torch.manual_seed(seed)
    clean = rows.clean
    inputs = np.column_stack([rows.inputs, np.zeros(len(clean))])
    told = np.column_stack([rows.inputs, np.ones(len(clean))])[clean]

    def twice(values: np.ndarray) -> np.ndarray:
        return np.concatenate([values, values[clean]])

    mean, scale = inputs.mean(0), inputs.std(0) + 1e-6
    mean[-1], scale[-1] = 0.5, 0.5
    x = torch.tensor((np.concatenate([inputs, told]) - mean) / scale, dtype=torch.float32)
    targets = np.column_stack([rows.alpha, rows.beta])
    y, members, weights = (
        torch.tensor(twice(values), dtype=torch.float32)
        for values in (targets, rows.members, group_weights(rows))
    )
    levels = torch.tensor(QUANTILES)
    model = network(x.shape[1])
    rule = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2)
    size = 256
    steps = EPOCHS * (len(x) // size + 1)
    plan = torch.optim.lr_scheduler.OneCycleLR(rule, 6e-3, total_steps=steps)
    blur = torch.full((x.shape[1],), NOISE)
    blur[-1] = 0.0
    for _ in range(steps):
        chosen = torch.randint(len(x), (size,))
        # Noise on the inputs keeps the network from telling datasets apart by small digits.
        asked = x[chosen] + blur * torch.randn(size, x.shape[1])
        found = as_unstretched(quantiles_of(model(asked), members[chosen]))
        gap = y[chosen][:, :, None] - found
        loss = torch.maximum(levels * gap, (levels - 1) * gap).mean(2)
        both = loss[:, 0] + BETA_SHARE * loss[:, 1]
        total = (weights[chosen] * both).mean()
        rule.zero_grad()
        total.backward()  # type: ignore[no-untyped-call]
        rule.step()
        plan.step()
    return model.eval(), mean, scale


def ask(fitted: list[Fitted], rows: Rows, told: bool) -> np.ndarray:
    """Quantiles of alpha and beta on the stretched scale, of shape (n, 2, quantiles)."""
    asked = np.column_stack([rows.inputs, np.full(len(rows.alpha), float(told))])
    total = []
    for model, mean, scale in fitted:
        with torch.no_grad():
            x = torch.tensor((asked - mean) / scale, dtype=torch.float32)
            total.append(decoded(model(x).numpy().astype(float), rows.members))
    return np.asarray(np.mean(total, axis=0))


def leave_out(rows: Rows, seeds: int) -> np.ndarray:
    """Quantiles for tasks of datasets that were left out, labels known to be right."""
    names = np.unique(rows.group)
    order = stream("folds").permutation(names[~np.isin(names, list(MADE_WEIGHTS))])
    fold = dict(zip(order.tolist(), np.arange(len(order)) % FOLDS, strict=True))
    part = np.array([fold.get(name, -1) for name in rows.group.tolist()])
    found = np.full((len(part), 2, len(QUANTILES)), np.nan)
    for number in range(FOLDS):
        kept = rows.take(part != number)
        fitted = [train(kept, seed) for seed in range(seeds)]
        found[part == number] = ask(fitted, rows.take(part == number), True)
    return found


def judged(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Which tasks count, and how much: datasets the same."""
    real = ~np.isin(rows.group, list(MADE_WEIGHTS))
    mask = real & rows.clean & (rows.frequency >= LEAST_FREQUENCY)
    names, place, counts = np.unique(rows.group[mask], return_inverse=True, return_counts=True)
    return mask, 1 / counts[place] / len(names)


def calibration(rows: Rows, found: np.ndarray) -> dict[str, list[float]]:
    """By how much quantiles are drawn apart so that 95% of the left-out tasks are inside.

    One factor per number of labels, from the tasks whose number is near.
    """
    mask, weights = judged(rows)
    alphas, truth = found[mask, 0], stretched(rows.alpha[mask])
    middle = alphas[:, MIDDLE]
    below, above = middle - alphas[:, 0], alphas[:, -1] - middle
    needed = np.where(truth < middle, (middle - truth) / below, (truth - middle) / above)
    log_labeled = np.log(rows.sizes[mask, 0])
    factors = []
    for knot in KNOTS:
        near = weights * np.exp(-0.5 * ((log_labeled - np.log(knot)) / 0.5) ** 2)
        order = np.argsort(needed, kind="stable")
        reached = np.cumsum(near[order]) / near.sum()
        factors.append(round(float(needed[order][np.searchsorted(reached, LEVEL)]), 3))
    return {"log_labeled": [round(float(np.log(knot)), 4) for knot in KNOTS], "factor": factors}


def report(name: str, rows: Rows, quantiles: np.ndarray) -> None:
    """Print errors on left-out datasets, beside those of members and of the combination before."""
    mask, weights = judged(rows)
    truth, members = rows.alpha[mask], unstretched(rows.members[mask])
    # The combination before has learned from these datasets: it looks better than it is.
    former = np.array([weigh_scores(inputs, labels_known=True)[0] for inputs in rows.former[mask]])
    asked: dict[str, np.ndarray] = {name: quantiles[mask], "auto-1 (has seen them)": former}
    asked |= {key: members[:, number, None] for number, key in enumerate(MEMBERS)}
    frequency = rows.frequency[mask]
    for title, values in asked.items():
        error = np.abs(values[:, values.shape[1] // 2] - truth)
        line = f"{title}: error {np.average(error, weights=weights):.4f}"
        for low, high in ((0.04, 0.08), (0.08, 0.15), (0.15, 0.25), (0.25, 0.4), (0.4, 1.0)):
            part = (frequency >= low) & (frequency < high)
            if part.any():
                line += f" {np.average(error[part], weights=weights[part]):.3f}"
        if values.shape[1] > 1:
            inside = (values[:, 0] <= truth) & (truth <= values[:, -1])
            width = values[:, -1] - values[:, 0]
            line += f", coverage {np.average(inside, weights=weights):.3f}"
            line += f", width {np.average(width, weights=weights):.3f}"
        print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--members", type=int, default=6)
    parser.add_argument("--left-out-members", type=int, default=2)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    rows = rows_of_views(load_rows())
    found = leave_out(rows, chosen.left_out_members)
    by_size = calibration(rows, found)
    print(f"{len(rows.alpha)} tasks, {rows.inputs.shape[1]} inputs, {by_size}", flush=True)
    report("left out, as trained", rows, unstretched(found[:, 0]))
    told = [
        near_members(
            unstretched(calibrated(found[line, 0], float(rows.sizes[line, 0]), by_size)),
            unstretched(rows.all_members[line]),
            SLACK[True],
        )
        for line in range(len(found))
    ]
    report("left out, as answered", rows, np.array(told))
    fitted = [train(rows, seed) for seed in range(chosen.members)]
    _, mean, scale = fitted[0]
    layers = [[layer for layer in model if hasattr(layer, "weight")] for model, *_ in fitted]
    weights, biases = [], []
    for parts in zip(*layers, strict=True):
        weights.append(np.stack([p.weight.detach().numpy().T for p in parts]))
        biases.append(np.stack([p.bias.detach().numpy() for p in parts]))
    groups = sorted(set(rows.group.tolist()))
    meta = {"tasks": len(rows.alpha), "groups": groups, "calibration": by_size, "epochs": EPOCHS}
    save_network(chosen.out, weights, biases, mean, scale, "silu", meta)


if __name__ == "__main__":
    main()
