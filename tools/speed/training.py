"""How much faster is an epoch of nnPU here than in the usual loop over a DataLoader?

    python -m tools.speed.training                 minutes on two cores, seconds on a GPU
    python -m tools.speed.training --rows 10000

LeNet on images of MNIST's size, batches of 256, the sigmoid loss and Adam on both sides, in one
process and in turns. The usual loop is a DataLoader without workers over rows in main memory, each
batch moved to the device, and the branch of nnPU decided in Python: once over a TensorDataset of
images and labels, which is the plainest, and once over rows of five tensors (image, label, class,
place, guess), as those of PU-Bench are. Ratios are of the fastest of some epochs of each; on a CPU
of processor time. On a GPU it is also shown how much memory the epochs take, and that steps
recorded as a graph and replayed give the same scores as plain ones, for every learner that has a
network. Set no OMP_NUM_THREADS for the figures that a user would see.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

from recoup.learners import NNPU
from recoup.learners._training.devices import usable_device
from recoup.learners._training.networks import lenet
from recoup.learners._training.places import places_of
from recoup.learners._training.stages import Epoch, Stage, TrainingRows, layout_of

BATCH, PI, SEED = 256, 0.49, 0


def images(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(SEED)
    s = (rng.random(n) < 0.05).astype(int)
    return rng.normal(size=(n, 1, 28, 28)).astype(np.float32), s


class RowByRow(Dataset[tuple[torch.Tensor, ...]]):
    """Rows as PU-Bench has them: five tensors each."""

    def __init__(self, X: np.ndarray, s: np.ndarray) -> None:
        labels = torch.as_tensor(s)
        self.parts = (
            *(torch.as_tensor(X), labels, labels.clone()),
            *(torch.arange(len(X)), torch.zeros(len(X))),
        )

    def __len__(self) -> int:
        return len(self.parts[0])

    def __getitem__(self, place: int) -> tuple[torch.Tensor, ...]:
        return tuple(part[place] for part in self.parts)


def clock(device: torch.device) -> float:
    """Read the time: of the processor where it computes, of the wall where a GPU does."""
    if device.type == "cuda":
        torch.cuda.synchronize()
        return time.perf_counter()
    return time.process_time()


def usual_epochs(
    rows: Dataset[tuple[torch.Tensor, ...]], device: torch.device, epochs: int
) -> list[float]:
    network = lenet((1, 28, 28)).to(device)
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-4, weight_decay=1e-4)
    loader = DataLoader(rows, batch_size=BATCH, shuffle=True)
    seconds = []
    for _ in range(epochs):
        started = clock(device)
        for images_of_batch, labels, *_ in loader:
            scores = network(images_of_batch.to(device)).view(-1)
            labeled = labels.to(device) == 1
            if not labeled.any():
                continue
            positive = PI * torch.sigmoid(-scores[labeled]).mean()
            negative = torch.sigmoid(scores[~labeled]).mean()
            negative = negative - PI * torch.sigmoid(scores[labeled]).mean()
            loss = positive + negative if negative.item() >= 0 else -negative
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        seconds.append(clock(device) - started)
    return seconds


def our_epochs(
    X: np.ndarray, s: np.ndarray, device: torch.device, epochs: int, record: bool
) -> list[float]:
    learner = NNPU(alpha=PI, scheme="case-control", batch_size=BATCH)
    learner.pi_, learner.shape_, learner._memory = PI, X.shape[1:], {}
    learner.center_, learner.spread_ = np.float32(0), np.float32(1)
    held = np.zeros(len(s), bool)
    rows = TrainingRows(learner._tensor(X, device), *places_of(s, held, "case-control", device))
    network: Any = lenet(X.shape[1:])
    learner.network_ = network.to(device, memory_format=layout_of(rows.X))
    epoch = Epoch(learner, Stage(learner._loss, epochs, 3e-4, 1e-4), rows)
    epoch.can_record = epoch.can_record and record
    rng = np.random.default_rng(SEED)
    seconds, peaks = [], []
    for _ in range(epochs):
        started = clock(device)
        epoch.run(rng, 1.0)
        seconds.append(clock(device) - started)
        if device.type == "cuda":
            peaks.append(torch.cuda.max_memory_allocated() / rows.X.nbytes)
    if peaks:
        most = ", ".join(f"{peak:.3f}" for peak in peaks)
        print(f"most memory so far, in sizes of the data, after each epoch: {most}")
    return seconds


def two_layers(shape: tuple[int, ...]) -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Linear(shape[0], 32), torch.nn.ReLU(), torch.nn.Linear(32, 1)
    )


def check_recording(device: torch.device) -> None:
    """Fit each learner with and without recording, and print how far their scores differ."""
    from recoup._core.registry import registered

    rng = np.random.default_rng(SEED)
    s = np.repeat([1, 0], [200, 800])
    X = rng.normal(size=(1000, 10)).astype(np.float32) + s[:, None]
    record = Epoch._record
    for key, cls in registered("learners").items():
        if cls.tags.backend != "torch" or cls.tags.requires_true_labels:
            continue
        # Without dropout, whose random numbers differ between the two.
        learner = cls(epochs=3, device=str(device), network=two_layers, random_state=SEED)
        learner.set_params(**{"alpha": 0.3} if "alpha" in learner.get_params() else {})
        found = []
        for how in (record, lambda epoch: setattr(epoch, "can_record", False)):
            with mock.patch.object(Epoch, "_record", how):
                found.append(learner.fit(X, s).decision_function(X))
        print(
            f"{key:8} recorded and plain differ by at most {np.abs(found[0] - found[1]).max():.1g}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--device", default="auto")
    asked = parser.parse_args()
    device: torch.device = usable_device(asked.device, "training_speed")
    X, s = images(asked.rows)
    print(f"{asked.rows:,} images on {device}, torch {torch.__version__}")
    tensors = TensorDataset(torch.as_tensor(X), torch.as_tensor(s))
    ways: dict[str, Callable[[], list[float]]] = {
        "loop, five tensors a row": lambda: usual_epochs(RowByRow(X, s), device, asked.epochs)
    }
    ways["loop, TensorDataset"] = lambda: usual_epochs(tensors, device, asked.epochs)
    ways["rows on the device"] = lambda: our_epochs(X, s, device, asked.epochs, record=False)
    if device.type == "cuda":
        ways["and recorded as a graph"] = lambda: our_epochs(
            X, s, device, asked.epochs, record=True
        )
    fastest = {name: min(run()) for name, run in ways.items()}
    for name, seconds in fastest.items():
        against = [f"{loop / seconds:6.1f}" for loop in list(fastest.values())[:2]]
        print(f"{name:26} {seconds:8.3f} s per epoch, faster by{' and'.join(against)}")
    if device.type == "cuda":
        check_recording(device)


if __name__ == "__main__":
    main()
