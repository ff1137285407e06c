"""Write summaries as pages."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import recoup
from recoup._core.prior import Prior
from recoup._core.text import (
    show_count,
    show_digits,
    show_number,
    show_p,
    show_percent,
    show_range,
    show_share,
    show_share_range,
)
from recoup.evaluation import Evaluation
from recoup.evaluation.comparison import Comparison
from recoup.evaluation.next_step import PLANNED
from recoup.evaluation.possible import saying
from recoup.evaluation.promises import Promise
from recoup.plot.evaluation import ALPHA_METRICS, THRESHOLD_METRICS
from recoup.report.page.crowded import (
    FEW_MODELS,
    MANY_TABLES_BYTES,
    MOST_PAIRS,
    crowded,
    read_by_script,
)
from recoup.report.page.markdown import as_markdown
from recoup.report.page.models import summarize_comparison
from recoup.report.page.payload import TABLES_BYTES, as_island, page_data
from recoup.report.page.phrases import LEVELS, LIGHTS, LIMITS, PHRASES, RULES
from recoup.report.page.promised import promise_card
from recoup.report.page.script import COMPUTING, formulas_script, is_fixed
from recoup.report.page.summarize import summarize
from recoup.report.written import WrittenPage
from recoup.selection.how_labeled import BIASED_ODDS, LabelsAre, check_labels_are

ROOM = Path(__file__).parents[1]
SCRIPTS = (
    *("shared/words.js", "shared/charts.js"),
    *(f"page/{name}" for name in COMPUTING),
    *("page/verdict.js", "page/checked.js", "page/pictures.js", "page/sorting.js"),
    *("page/wins.js", "page/page.js"),
)
# What a reader sees of a name, and what appears when the pointer rests on it.
NAME_SHOWN, NAME_IN_TITLE = 60, 1000
COMMAND_SHOWN = 4000
FIGURES = {
    "roc": (
        "ROC curve",
        "Positives found against false alarms. The dashed line takes every unlabeled row as "
        "negative.",
    ),
    "pr": (
        "Precision and recall",
        "The more positives the model is asked to find, the more false alarms it raises.",
    ),
    "lift": (
        "Positives found by rows looked at",
        "How many positives are found when rows are looked at from the highest score down.",
    ),
    "threshold": (
        "From strict to lax thresholds",
        "Lower thresholds find more positives and flag more rows in vain.",
    ),
    "alpha": (
        "If alpha were different",
        "How the numbers would change if more or fewer unlabeled rows were positive.",
    ),
    "scores": (
        "Scores",
        "How the scores of labeled and unlabeled rows are spread, and what that says of positives "
        "and negatives.",
    ),
    "calibration": (
        "Calibration",
        "Whether a score of 0.8 means that 8 of 10 such rows are positive.",
    ),
    "prior": ("What alpha was read from", "The curve that the estimator looks at."),
    "members": ("Do the estimators agree?", "What each method found for alpha."),
}


@dataclass(frozen=True)
class Report(WrittenPage):
    """One evaluation, or a comparison of several models, as a single HTML file.

    The page carries the counts of rows per score and computes every number again when its reader
    moves alpha, beta or the threshold. It loads nothing, and needs no network.

    Parameters
    ----------
    evaluation : Evaluation or Comparison
        What :func:`recoup.evaluate` or :func:`recoup.compare` returned.
    title : str
        Heading of the page.
    truth : mapping of str to float, optional
        True values by metric key, shown beside the recovered ones of a single evaluation.
    command : str, optional
        The command that made the evaluation; by default the page shows the Python call.
    plan_command : str, optional
        The command that chooses rows to check by hand; by default the page shows the Python call.
    labels_are : {"random", "biased", "unknown"}, optional
        How labels came about, as for :func:`recoup.evaluate`. By default what was said there.
    promise : Promise, optional
        What :meth:`recoup.evaluation.Evaluation.certify` returned, to be shown as the threshold to
        work with.
    """

    evaluation: Evaluation | Comparison
    title: str
    truth: Mapping[str, float] | None = None
    command: str | None = None
    plan_command: str | None = None
    labels_are: LabelsAre | None = None
    promise: Promise | None = None

    def __post_init__(self) -> None:
        """Let the evaluation say of the labels what the report was told."""
        if self.labels_are is not None:
            word = check_labels_are(self.labels_are, "Report")
            object.__setattr__(self, "evaluation", _saying(self.evaluation, word))

    def to_html(self) -> str:
        """Return the page as text. The same evaluation gives the same page.

        Returns
        -------
        str
        """
        result, versus = self.evaluation, None
        if isinstance(result, Comparison):
            models, versus = result.evaluations, summarize_comparison(result, shorten, MOST_PAIRS)
        else:
            models = {"": result}
        # A page of several models offers no audit.
        summaries = [self._summary(one, offer=versus is None) for one in models.values()]
        shown = [shorten(name) for name in models]
        chosen = 0 if versus is None else versus["ranking"][0]
        call, about_call = _python_call(self.evaluation)
        if self.command:
            call, about_call = shorten(self.command, COMMAND_SHOWN), ""
        room = TABLES_BYTES if len(models) <= FEW_MODELS else MANY_TABLES_BYTES
        data = page_data(models, room)
        specs = data["models"][chosen]["specs"]
        figures = _figures(data["models"])
        data["models"] = crowded(data["models"])
        data["page"] = {
            "chosen": chosen,
            "phrases": PHRASES,
            "lights": LIGHTS,
            "levels": LEVELS,
            "limits": LIMITS,
            "rules": [vars(rule) for rule in RULES],
            "names": shown,
            "name_in_title": NAME_IN_TITLE,
            "most_odds": BIASED_ODDS,
            "summaries": read_by_script(summaries),
            "comparison": versus,
            "shown": {"alpha": ALPHA_METRICS, "threshold": THRESHOLD_METRICS},
        }
        scripts = {name: (ROOM / name).read_text("utf-8") for name in SCRIPTS}
        # Formulas of the metrics stand before the script that works with them first.
        scripts[f"page/{COMPUTING[0]}"] = formulas_script() + scripts[f"page/{COMPUTING[0]}"]
        page: str = (
            environment()
            .get_template("page/report.html.j2")
            .render(
                title=self.title,
                summary=summaries[chosen],
                metrics=_metric_rows(summaries, chosen),
                names=list(zip(models, shown, strict=True)),
                versus=versus,
                chosen=chosen,
                data=data,
                figures=figures,
                specs=specs,
                fixed={key for one in models.values() for key in one if is_fixed(key)},
                has_truth=bool(self.truth),
                call=call,
                about_call=about_call,
                promise=None if self.promise is None else promise_card(self.promise),
                plan_command=self.plan_command and shorten(self.plan_command, COMMAND_SHOWN),
                version=recoup.__version__,
                scripts=scripts,
                hashes=[script_hash(text) for text in scripts.values()],
                island=as_island(data),
            )
        )
        return page

    def _summary(self, evaluation: Evaluation, offer: bool = True) -> dict[str, Any]:
        summary = summarize(evaluation, truth=self.truth, offer=offer)
        step = summary["next_step"]
        if self.plan_command and step["code"] in PLANNED:
            step["command"] = self.plan_command
        return summary

    def to_dict(self) -> dict[str, Any]:
        """Return all that the page says as plain values, ready for JSON.

        Returns
        -------
        dict
            ``title``, ``models`` (each with ``name`` and ``summary``, see
            :func:`recoup.report.summarize`), ``comparison`` or None, ``promise`` or None, ``call``
            and ``made_with``.
        """
        result, versus = self.evaluation, None
        if isinstance(result, Comparison):
            models, versus = result.evaluations, summarize_comparison(result)
        else:
            models = {"": result}
        summaries = {name: self._summary(one) for name, one in models.items()}
        if self.plan_command:
            for summary in summaries.values():
                if summary["audit"]["offer"]:
                    summary["audit"]["offer"]["call"] = self.plan_command
        return {
            "title": self.title,
            "models": [
                {"name": str(name), "summary": summary} for name, summary in summaries.items()
            ],
            "comparison": versus,
            "promise": None if self.promise is None else promise_card(self.promise),
            "call": self.command or _python_call(result)[0],
            "made_with": f"Made with recoup {recoup.__version__}.",
        }

    def to_markdown(self) -> str:
        """Return the words and tables of the page as Markdown.

        Returns
        -------
        str
        """
        return as_markdown(self.to_dict())


def _saying(result: Evaluation | Comparison, word: LabelsAre) -> Evaluation | Comparison:
    """Return the same result with another word for how labels came about."""
    if isinstance(result, Evaluation):
        return saying(result, word)
    said = {name: saying(one, word) for name, one in result.evaluations.items()}
    return replace(result, evaluations=said)


@cache
def environment() -> Any:
    """Return what reads the templates, with the ways to write numbers and names."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(ROOM),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "value": show_number,
        "range": show_range,
        "count": show_count,
        "p_value": show_p,
        "digits": show_digits,
        "percent": show_percent,
        "share": show_share,
        "share_range": show_share_range,
        "shorten": shorten,
        "in_title": lambda text: shorten(text, NAME_IN_TITLE),
    }
    return made


def script_hash(script: str) -> str:
    """Name a script as a Content-Security-Policy does."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")


def _metric_rows(summaries: list[dict[str, Any]], chosen: int) -> list[dict[str, Any]]:
    """All metrics that some model has, with the values of the chosen one where it has them."""
    rows: dict[str, dict[str, Any]] = {}
    for summary in [summaries[chosen], *summaries]:
        for group in summary["groups"]:
            for metric in group["metrics"]:
                own = summary is summaries[chosen]
                rows.setdefault(metric["key"], metric | {"kind": group["kind"], "hidden": not own})
    return list(rows.values())


def _figures(models: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Name the pictures that at least one model has."""
    absent = set()
    if not any(model["holds_probabilities"] for model in models):
        absent.add("calibration")
    if not any(model["prior_curve"] for model in models):
        absent.add("prior")
    if not any((model["evaluation"]["prior"] or {}).get("members") for model in models):
        absent.add("members")
    return [
        {"name": name, "title": title, "caption": caption}
        for name, (title, caption) in FIGURES.items()
        if name not in absent
    ]


def shorten(text: str, limit: int = NAME_SHOWN) -> str:
    """Show the beginning of a long text, with a sign that there is more."""
    flat = " ".join(str(text).split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1]}\N{HORIZONTAL ELLIPSIS}"


def _python_call(result: Evaluation | Comparison) -> tuple[str, str]:
    """Write the call that gives the same numbers again, and what its names stand for."""
    given: dict[str, str] = {}
    named, more = ["threshold", "confidence", "n_boot"], {}
    if result.labels_are != "unknown":
        named.append("labels_are")
    if isinstance(result, Comparison):
        evaluation, function = next(iter(result.evaluations.values())), "compare"
        given["metric"] = repr(result.metric)
        named.remove("threshold")
        more = result.at.argument
    else:
        evaluation, function = result, "evaluate"
    if evaluation.given.by_propensity:
        given["propensity"] = "propensity"
    else:
        given |= _prior_arguments(evaluation.prior) | {"scheme": repr(evaluation.scheme)}
        # An estimate brings the beta that it found.
        if not evaluation.given.labels_checked or given.get("alpha") == "estimate":
            given.pop("beta", None)
    # Only weighted rows are counted in floating point.
    if evaluation.given.counts.labeled.dtype.kind == "f":
        given["sample_weight"] = "sample_weight"
    rows = ["s", "scores"]
    if evaluation.given.crossfitted is not None and function == "evaluate":
        rows = ["crossfitted"]
    elif evaluation.given.scored != "once":
        named.append("scored")
    *names, last = [*rows, *(value for value in given.values() if value.isidentifier())]
    given |= {name: _written(value) for name, value in more.items()}
    for name in named:
        source = evaluation.given if name == "scored" else evaluation
        given[name] = _written(getattr(source, name))
    arguments = ", ".join(f"{name}={value}" for name, value in given.items())
    return (
        f"recoup.{function}({', '.join(rows)}, {arguments})",
        f"Here {', '.join(names)}{' and ' if names else ''}{last} must be the same as for this "
        f"page. The random seed was the default, random_state=0, unless another was given.",
    )


def _written(value: Any) -> str:
    """Write an argument as Python reads it, numbers without an exponent."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_written, value))})"
    if isinstance(value, float) and math.isfinite(value):
        return np.format_float_positional(value, trim="0")
    return repr(value)


def _prior_arguments(prior: Prior) -> dict[str, str]:
    """Write alpha and beta, by name where they were more than a few numbers."""
    if prior.asked is not None:
        return {"alpha": _written(prior.asked[0]), "beta": _written(prior.asked[1])}
    if prior.estimate is not None:
        return {"alpha": "estimate"}
    numbers = {"alpha": _written(prior.alpha), "beta": _written(prior.beta)}
    centers = prior.alpha, prior.beta
    named = numbers
    if prior.alpha_draws is not None:
        named = numbers | {"alpha": "draws"}
        centers = float(np.median(prior.alpha_draws)), prior.beta
        if prior.beta_draws is not None:
            named["beta"] = "beta_draws"
            centers = centers[0], float(np.median(prior.beta_draws))
    elif prior.interval is not None:
        named = numbers | {"alpha": _written(prior.interval)}
        centers = sum(prior.interval) / 2, prior.beta
    # Only a prior estimate has a value of its own beside its draws or its interval.
    return named if centers == (prior.alpha, prior.beta) else numbers | {"alpha": "estimate"}
