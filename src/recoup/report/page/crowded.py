"""What a page of many models leaves out, so that it opens as quickly as one of few."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

# A page of more models keeps pictures to this many steps of height, and what is alike only once.
FEW_MODELS = 8
STEPS = 65_534
# How large the tables of many models together may be, in bytes.
MANY_TABLES_BYTES = 400_000
# Of more pairs than so many models have, those with the best model are shown.
MOST_PAIRS = FEW_MODELS * (FEW_MODELS - 1) // 2
# What the page's script reads of each model's words; the rest is written for the first one alone.
READ = (
    *("verdict", "audit", "points", "cases", "sentences", "notes", "digest", "settings"),
    "next_step",
)


def crowded(models: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Pack what only pictures show into whole steps, and leave out specs that are the first one's.

    Parameters
    ----------
    models : list of dict
        ``models`` of :func:`recoup.report.page.payload.page_data`.

    Returns
    -------
    list of dict
        The same where there are few.
    """
    if len(models) <= FEW_MODELS:
        return models
    first = models[0]["specs"]
    return [
        model
        | {
            "bands": _in_steps(model["bands"]),
            "bounds": _in_steps(model["bounds"]),
            "specs": model["specs"] if place == 0 or model["specs"] != first else None,
        }
        for place, model in enumerate(models)
    ]


def read_by_script(summaries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Keep of the models' words what the page's script reads when another model is chosen."""
    return [{name: one[name] for name in READ} for one in summaries]


def _in_steps(curves: dict[str, dict[str, Any]] | None) -> dict[str, dict[str, Any]] | None:
    if curves is None:
        return None
    return {
        name: {
            key: _packed(values) if isinstance(values, list) else values
            for key, values in one.items()
        }
        for name, one in curves.items()
    }


def _packed(values: list[float | None]) -> dict[str, Any]:
    """Write shares as whole steps; the step after the last stands for a missing one."""
    shares = np.array([np.nan if value is None else value for value in values], float)
    steps = np.where(np.isnan(shares), STEPS + 1, np.round(np.clip(shares, 0.0, 1.0) * STEPS))
    data = base64.b64encode(steps.astype("<u2").tobytes()).decode("ascii")
    return {"type": "Uint16Array", "data": data, "steps": STEPS}
