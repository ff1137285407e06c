"""Write summaries as pages."""

from __future__ import annotations

import io
import os
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import recoup
from recoup._checks import brief
from recoup._optional import require
from recoup._prior import Prior
from recoup.evaluation import Evaluation
from recoup.exceptions import InvalidInputError
from recoup.plot.curves import percent
from recoup.plot.evaluation import EvaluationDisplay
from recoup.report.summarize import summarize

TEMPLATES = Path(__file__).with_name("templates")
CAPTIONS = {
    "roc": "The dashed line takes every unlabeled row as negative; the blue one is what the model "
    "really does. The band shows how sure that is.",
    "pr": "The more positives the model is asked to find, the more false alarms it raises.",
    "threshold": "Lower thresholds find more positives and flag more rows in vain.",
    "alpha": "How the numbers would change if more or fewer unlabeled rows were positive.",
    "prior": "What the share of positives among the unlabeled rows was read off.",
}
# Stands for "the color of the text around" until the page is made, so that pictures follow light
# and dark.
INK = "#010203"


@dataclass(frozen=True)
class Report:
    """One evaluation as a single HTML file.

    Parameters
    ----------
    evaluation : Evaluation
        What :func:`recoup.evaluate` returned.
    title : str
        Heading of the page.
    truth : mapping of str to float, optional
        True values by metric key, shown beside the recovered ones.
    command : str, optional
        The command that made the evaluation; by default the page shows the Python call.
    """

    evaluation: Evaluation
    title: str
    truth: Mapping[str, float] | None = None
    command: str | None = None

    def to_html(self) -> str:
        """Return the page as text. The same evaluation gives the same page."""
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
        from markupsafe import Markup

        environment = Environment(
            loader=FileSystemLoader(TEMPLATES),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters |= {"value": format_value, "range": format_range, "percent": percent}
        figures = [
            {"svg": Markup(svg), "caption": CAPTIONS[name]} for name, svg in self._figures().items()
        ]
        call, about_call = _python_call(self.evaluation)
        if self.command:
            call, about_call = self.command, ""
        page: str = environment.get_template("report.html.j2").render(
            title=self.title,
            summary=summarize(self.evaluation, truth=self.truth),
            figures=figures,
            has_truth=bool(self.truth),
            call=call,
            about_call=about_call,
            version=recoup.__version__,
        )
        return page

    def write(self, path: str | Path) -> Path:
        """Write the page to a file, whole or not at all.

        Parameters
        ----------
        path : str or Path
            Where to. An existing file is replaced.

        Returns
        -------
        Path
        """
        return write_file(path, self.to_html().encode("utf-8", "xmlcharrefreplace"))

    def _repr_html_(self) -> str:
        from html import escape

        page = escape(self.to_html(), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:40em;border:0"></iframe>'

    def _figures(self) -> dict[str, str]:
        """Draw each panel as SVG that takes its colors and width from the page."""
        matplotlib = require("matplotlib", purpose="Report", install="matplotlib")
        from matplotlib.figure import Figure

        named = ("text", "axes.label", "axes.title", "xtick", "ytick")
        colors = {f"{name}.color" if "." not in name else f"{name}color": INK for name in named}
        settings = colors | {
            "axes.edgecolor": INK,
            "svg.fonttype": "path",
            "svg.hashsalt": "recoup",
            "font.size": 11,
        }
        panels: dict[str, Callable[[Any], Any]] = {
            **EvaluationDisplay.from_evaluation(self.evaluation).panels
        }
        estimate = self.evaluation.prior_estimate
        if estimate is not None:
            panels["prior"] = estimate.plot
        drawn = {}
        with matplotlib.rc_context(settings):
            for name, draw in panels.items():
                figure = Figure(figsize=(4.9, 5.0), layout="constrained")
                draw(figure.subplots())
                page = io.StringIO()
                figure.savefig(page, format="svg", transparent=True, metadata={"Date": None})
                drawn[name] = _inline_svg(page.getvalue(), name)
        return drawn


def format_value(value: float | None) -> str:
    """Write a metric; a dash where there is none."""
    return "\N{EN DASH}" if value is None or value != value else f"{value:.3f}"


def format_range(low: float | None, high: float | None) -> str:
    """Write an interval; a dash where there is none."""
    if format_value(low) == format_value(high) == format_value(None):
        return format_value(None)
    return f"{format_value(low)} to {format_value(high)}"


def check_writable(path: str | Path) -> Path:
    """Refuse a path that cannot become a file, before any work is done for it."""
    target = Path(path)
    name = brief(str(target), 200)
    if not target.parent.is_dir():
        raise InvalidInputError(
            f"Cannot write {name}: there is no folder {brief(str(target.parent), 200)}. "
            f"Create it first."
        )
    if target.exists() and not target.is_file():
        raise InvalidInputError(f"Cannot write {name}: it is not a file. Choose another name.")
    if not os.access(target.parent, os.W_OK):
        raise InvalidInputError(
            f"Cannot write {name}: its folder is read-only. Choose another folder."
        )
    return target


def write_file(path: str | Path, content: bytes) -> Path:
    """Write a file whole or not at all, by renaming a finished one into place."""
    target = check_writable(path)
    # A link stays a link: what it points to is replaced.
    final = target.resolve()
    try:
        draft = final.with_name(f".{secrets.token_hex(8)}.tmp")
        try:
            with draft.open("xb") as stream:
                stream.write(content)
            draft.replace(final)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise InvalidInputError(
            f"Cannot write {brief(str(target), 200)}: {error.strerror or error}."
        ) from error
    return target


def _inline_svg(svg: str, name: str) -> str:
    """Cut the file header off, make names unique on the page, and follow the page's colors."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'href="#', f'href="#{name}-', svg)
    svg = svg.replace("url(#", f"url(#{name}-").replace(INK, "currentColor")
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    return svg.replace("<svg", '<svg role="img" aria-hidden="true"', 1).strip()


def _python_call(evaluation: Evaluation) -> tuple[str, str]:
    """Write the call that gives the same numbers again, and what its names stand for."""
    given: dict[str, str] = {}
    if evaluation.given.by_propensity:
        given["propensity"] = "propensity"
    else:
        given |= _prior_arguments(evaluation.prior) | {"scheme": repr(evaluation.scheme)}
    # Only weighted rows are counted in floating point.
    if evaluation.given.counts.labeled.dtype.kind == "f":
        given["sample_weight"] = "sample_weight"
    *names, last = ["s", "scores", *(value for value in given.values() if value.isidentifier())]
    for name in ("threshold", "confidence", "n_boot"):
        given[name] = repr(getattr(evaluation, name))
    arguments = ", ".join(f"{name}={value}" for name, value in given.items())
    return (
        f"recoup.evaluate(s, scores, {arguments})",
        f"Here {', '.join(names)} and {last} must be the same as for this page. The random seed "
        f"was the default, random_state=0, unless another was given.",
    )


def _prior_arguments(prior: Prior) -> dict[str, str]:
    """Write alpha and beta, by name where they were more than a few numbers."""
    if prior.asked is not None:
        return {"alpha": repr(prior.asked[0]), "beta": repr(prior.asked[1])}
    if prior.estimate is not None:
        return {"alpha": "estimate"}
    numbers = {"alpha": repr(prior.alpha), "beta": repr(prior.beta)}
    centers = prior.alpha, prior.beta
    named = numbers
    if prior.alpha_draws is not None:
        named = numbers | {"alpha": "draws"}
        centers = float(np.median(prior.alpha_draws)), prior.beta
        if prior.beta_draws is not None:
            named["beta"] = "beta_draws"
            centers = centers[0], float(np.median(prior.beta_draws))
    elif prior.interval is not None:
        named = numbers | {"alpha": repr(prior.interval)}
        centers = sum(prior.interval) / 2, prior.beta
    # Only a prior estimate has a value of its own beside its draws or its interval.
    return named if centers == (prior.alpha, prior.beta) else numbers | {"alpha": "estimate"}
