"""What mkdocstrings needs to read docstrings with reStructuredText roles and formulas.

Cross-references become links where their target is documented. Formulas become inline SVG, drawn by
matplotlib, so that pages need no script and no font.
"""

from __future__ import annotations

import inspect
import re
from functools import cache
from html import escape
from importlib import import_module
from textwrap import dedent
from typing import Any

import griffe

# matplotlib knows these by another name only.
SYNONYMS = (
    (re.compile(r"\\(le|ge)(?![A-Za-z])"), r"\\\1q"),
    (re.compile(r"\\[Bb]ig+([(\[])"), r"\\left\1"),
    (re.compile(r"\\[Bb]ig+([)\]])"), r"\\right\1"),
)
ROLE = re.compile(r":(?:func|class|meth|mod|attr|exc|data|obj):`~?([^`]+)`")
INLINE_FORMULA = re.compile(r":math:`([^`]+)`")
FORMULA_BLOCK = re.compile(r"^( *)\.\. math::[ \n](.*(?:\n(?:\1 +\S.*|[ \t]*(?=\n\1 +\S)))*)", re.M)
# Several parameters above one description; griffe would give all of them the first one's default.
SECTION = re.compile(r"^(?:Parameters|Attributes)\n-+\n(?:.*\n?)*?(?=^\S.*\n-{3,}$|\Z)", re.M)
SHARED = re.compile(
    r"^(?P<names>\w+(?:, \w+)+)(?P<kind> : .*)?\n(?P<text>(?:[ ]+\S.*(?:\n|\Z)|\n(?=[ ]))+)", re.M
)
EMS_PER_POINT = 0.07
METRIC_MAKERS = ("point_metric(", "area_metric(", "proper_metric(")


class RstDocstrings(griffe.Extension):
    """Rewrite every docstring to Markdown before it is parsed."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of one object."""
        if isinstance(obj, griffe.Function) and any(
            str(decorator.value).startswith(METRIC_MAKERS) for decorator in obj.decorators
        ):
            show_public_metric(obj)
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value, obj)


def show_public_metric(made: griffe.Function) -> None:
    """Give a metric the signature and the words of the function of rows that its formula makes."""
    public = getattr(import_module(made.module.path), made.name)
    kinds = {kind.name.lower(): kind for kind in griffe.ParameterKind}
    made.parameters = griffe.Parameters(
        *(
            griffe.Parameter(
                one.name,
                annotation=None if one.annotation is one.empty else str(one.annotation),
                kind=kinds[one.kind.name.lower()],
                default=None if one.default is one.empty else repr(one.default),
            )
            for one in inspect.signature(public).parameters.values()
        )
    )
    made.returns = "float"
    if made.docstring is not None:
        made.docstring.value = inspect.getdoc(public) or ""


def as_markdown(text: str, owner: griffe.Object | None = None) -> str:
    """Turn roles into links and formulas into pictures.

    Parameters
    ----------
    text : str
        A docstring.
    owner : griffe.Object, optional
        Where names without a dot are looked up.

    Returns
    -------
    str

    Examples
    --------
    >>> as_markdown("See :func:`recoup.evaluate`.")
    'See <autoref identifier="recoup.evaluate" optional><code>recoup.evaluate</code></autoref>.'
    """

    def link(match: re.Match[str]) -> str:
        name = match[1]
        target = name
        if owner is not None and not name.startswith("recoup."):
            target = resolved(owner, name)
        return (
            f'<autoref identifier="{escape(target)}" optional><code>{escape(name)}</code></autoref>'
        )

    def block(match: re.Match[str]) -> str:
        picture = formula(" ".join(dedent(match[2]).split()))
        return f'\n{match[1]}<p class="formula">{picture}</p>\n'

    def apart(match: re.Match[str]) -> str:
        below = match["text"].rstrip("\n")
        names = match["names"].split(", ")
        return "\n".join(f"{name}{match['kind'] or ''}\n{below}" for name in names) + "\n"

    text = SECTION.sub(lambda section: SHARED.sub(apart, section[0]), text)
    text = FORMULA_BLOCK.sub(block, text)
    text = INLINE_FORMULA.sub(lambda match: formula(" ".join(match[1].split())), text)
    return ROLE.sub(link, text)


def resolved(owner: griffe.Object, name: str) -> str:
    """Return the full path of a name, as its neighbours see it."""
    scope: griffe.Object | griffe.Alias | None = owner
    while scope is not None:
        if name in scope.members:
            return f"{scope.path}.{name}"
        scope = scope.parent
    return name


@cache
def formula(tex: str) -> str:
    """Draw a formula as inline SVG in the color and size of the text around it.

    Parameters
    ----------
    tex : str
        Without dollar signs, in the part of TeX that matplotlib knows.

    Returns
    -------
    str
        One ``svg`` element whose label is the formula as it was written; what matplotlib cannot
        draw stays as it was written.
    """
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    known = tex
    for pattern, name in SYNONYMS:
        known = pattern.sub(name, known)
    try:
        path = TextPath((0, 0), f"${known}$", prop=FontProperties(size=16, math_fontfamily="cm"))
    except ValueError:
        return f"<code>{escape(tex)}</code>"
    low, high = path.get_extents().get_points()
    left, bottom = low - 0.5
    width, height = high - low + 1
    steps = []
    for points, code in path.iter_segments(curves=True, simplify=False):
        letter = {1: "M", 2: "L", 3: "Q", 4: "C", 79: "Z"}[int(code)]
        pairs = points.reshape(-1, 2) if letter != "Z" else []
        steps.append(
            letter + " ".join(f"{x - left:.1f},{bottom + height - y:.1f}" for x, y in pairs)
        )
    return (
        f'<svg class="formula" role="img" aria-label="{escape(tex)}" '
        f'viewBox="0 0 {width:.1f} {height:.1f}" '
        f'style="width:{width * EMS_PER_POINT:.2f}em;height:{height * EMS_PER_POINT:.2f}em;'
        f'vertical-align:{bottom * EMS_PER_POINT:.2f}em">'
        f'<path fill="currentColor" d="{"".join(steps)}"/></svg>'
    )
