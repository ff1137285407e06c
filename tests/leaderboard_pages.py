"""A made-up benchmark for the tests of the leaderboard, and ways to read its pages."""

import csv
import hashlib
import io
import json
import statistics
from pathlib import Path

import numpy as np

from recoup.metrics.spec import benched_specs

METRICS = [spec.key for spec in benched_specs()]
EVIL = "<script>alert(1)</script>"
IMAGE = "<img src=x onerror=alert(1)>"
FORMULA = "=HYPERLINK(1)"
DASH = "\N{EN DASH}"
FAMILIES = {
    "nnpu": "risk",
    "upu": "risk",
    "p3mix (mode=c)": "disambiguation",
    EVIL: "classical",
    FORMULA: "generative",
    "pn": "reference",
}
DATASETS = ("mnist", "spambase", IMAGE)
CELLS = (("scar", 0.1), ("scar", 0.5), ("scar", 0.02), ("s2", 0.1), ("s2", 0.5))
SEEDS = (2, 25, 42)
VIEWS = (
    *("results", "board", "ranks", "ratio", "bias", "radar", "cost", "recovered", "run"),
    "missing",
)
CONVENTIONAL = {"mechanism": "scar", "label_frequency": 0.1, "protocol": "honest"}


def make_row(rng, **definition):
    """Draw the results of one run."""
    text = json.dumps(definition, sort_keys=True)
    learner = definition["learner"]
    row = {
        "run": hashlib.sha256(text.encode()).hexdigest()[:16],
        "scheme": "case-control",
        "noise": 0.0,
        **definition,
        "key": learner.split(" ")[0],
        "params": {"mode": "c"} if "mode=c" in learner else {},
        "family": FAMILIES.get(learner, "risk"),
        "status": "done",
        "reason": None,
    }
    level = 0.7 + 0.03 * list(FAMILIES).index(learner) if learner in FAMILIES else 0.8
    level += 0.05 * np.log10(definition["label_frequency"]) - 0.02 * (row["mechanism"] == "s2")
    row |= {key: float(np.clip(level + 0.01 * rng.normal(), 0, 1)) for key in METRICS}
    # Stores of earlier versions have no recovered AUL.
    recovered = [key for key in METRICS if key != "aul"]
    row |= {f"recovered_{key}": row[key] + float(0.02 * rng.normal()) for key in recovered}
    return row | {
        "alpha_true": 0.4,
        "alpha_used": 0.4,
        "alpha_estimate": 0.4 + float(0.05 * rng.normal()),
        "seconds": float(rng.uniform(1, 200)),
        "seconds_per_epoch": 0.25,
        "epochs": 4,
        "best_epoch": 3,
        "peak_memory": int(rng.integers(10**8, 10**9)),
        "peak_gpu_memory": None,
        **{"n_labeled": 100, "n_unlabeled": 4900, "n_test": 1000},
        "device": "cpu",
        "finished": "2026-03-01T10:00:00+00:00",
    }


def lose(row, status, reason):
    """Take the results from a run."""
    kept = {"seed", "label_frequency", "noise", "n_labeled", "n_unlabeled", "n_test"}
    for name, value in row.items():
        if isinstance(value, int | float) and name not in kept:
            row[name] = None
    row |= {"status": status, "reason": reason}


def make_rows():
    """Draw the runs of six learners on three datasets; some failed or were skipped."""
    rng = np.random.default_rng(1)
    found = [
        make_row(
            rng,
            dataset=dataset,
            mechanism=mechanism,
            label_frequency=frequency,
            learner=learner,
            seed=seed,
            protocol=protocol,
        )
        for mechanism, frequency in CELLS
        for protocol in (("honest", "oracle") if frequency == 0.1 else ("honest",))
        for dataset in DATASETS
        for learner in FAMILIES
        for seed in SEEDS
    ]
    for row in found:
        if row["learner"] == FORMULA and row["dataset"] == IMAGE:
            lose(row, "failed", f"MemoryError: {IMAGE} needs 9 GB")
        if row["learner"] == "upu" and row["dataset"] == "spambase" and row["seed"] == 2:
            lose(row, "skipped", "upu is not for spambase")
    return found


def details(run):
    """Make up what a store knows of a run besides its row."""
    rng = np.random.default_rng(int(run, 16) % 2**32)
    names = ("test_positive", "test_negative", "train_labeled", "train_hidden", "train_negative")
    return {
        "definition": {"dataset": IMAGE, "learner": {"key": EVIL, "params": {}}},
        "versions": {"format": 1},
        "hardware": {"cpu": "small"},
        "seeds": {"fit": 3},
        "curves": [
            {"epoch": epoch, "loss": 3.0 / epoch, "criterion": 0.5 + 0.1 * epoch}
            for epoch in range(1, 5)
        ],
        "distributions": {
            "edges": [-2.0, -1.0, 0.0, 1.0, 2.0],
            **{name: rng.integers(1, 50, 4).tolist() for name in names},
            "propensity": [None, 0.1, 0.2, 0.3],
            "estimated": [None, 0.2, 0.2, 0.4],
            "chance_edges": [0.0, 0.5, 1.0],
            "chance_labeled": [3, 7],
            "chance_hidden": [6, 2],
        },
    }


def settled(page):
    page.wait_for_selector("html[data-state=ready]")
    return page


def go(page, view, query=""):
    """Show another view of an open page, with other filters."""
    page.evaluate(
        "async (hash) => { if (location.hash === hash) return; const changed = new Promise("
        "(ready) => addEventListener('hashchange', ready, {once: true}));"
        "location.hash = hash; await changed; }",
        f"#view={view}{query}",
    )
    return settled(page)


def choose(page, name, value):
    page.select_option(f"#filter-{name}", value)
    return settled(page)


def table_of(page, name):
    """Read a table as lists of cell texts."""
    return page.evaluate(
        "(id) => [...document.querySelectorAll(`#${id} tbody tr`)]"
        ".map((row) => [...row.cells].map((cell) => cell.textContent))",
        name,
    )


def heads_of(page, name):
    return page.locator(f"#{name} thead th").all_text_contents()


def download(page, button):
    with page.expect_download() as found:
        button.click()
    return found.value.suggested_filename, Path(found.value.path()).read_text("utf-8")


def csv_of(page, button):
    return list(csv.DictReader(io.StringIO(download(page, button)[1])))


def figure_csv(page, place=0):
    return csv_of(page, page.locator("figure .tool", has_text="CSV").nth(place))


def matching(rows, **chosen):
    return [
        row for row in rows if all(str(row[name]) == str(value) for name, value in chosen.items())
    ]


def summary(rows, metric):
    """Return mean, standard deviation and number of the finished runs."""
    values = [row[metric] for row in rows if row["status"] == "done"]
    std = statistics.stdev(values) if len(values) > 1 else float("nan")
    return statistics.fmean(values), std, len(values)


def shown(mean, std):
    return f"{100 * mean:.2f} \N{PLUS-MINUS SIGN} {100 * std:.2f}"


def board_rows(rows):
    return matching(rows, mechanism="scar", label_frequency=0.1, protocol="honest")
