"""Numbers, names and sentences of the pages against Python's, in a real browser."""

import json
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest

from recoup._core.text import (
    show_digits,
    show_number,
    show_p,
    show_percent,
    show_range,
    show_share,
    show_share_range,
)
from recoup.report.groups import render as groups
from recoup.report.leaderboard import site
from recoup.report.page import render
from recoup.report.page.phrases import LIMITS, PHRASES
from recoup.report.page.render import ROOM, shorten
from recoup.report.page.verdict import headline, of_ten
from recoup.report.weeks import page as weeks

WAYS = {
    "Words.number": show_number,
    "Words.signed": lambda value: show_number(value, "+.3f"),
    "Words.pValue": show_p,
    "Words.whole": lambda value: show_number(value, ",.0f"),
    "(value) => Words.fixed(value, 1)": lambda value: format(value, ".1f"),
    "(value) => Words.digits(value, 2)": lambda value: show_digits(value, 2),
    "(value) => Words.digits(value)": show_digits,
    "(value) => Words.digits(value, 5)": lambda value: show_digits(value, 5),
    "Words.share": show_share,
}


@pytest.fixture(scope="module")
def page(open_page_once, tmp_path_factory):
    """A page with nothing but the script."""
    path = tmp_path_factory.mktemp("words") / "words.html"
    script = (ROOM / "shared/words.js").read_text("utf-8")
    path.write_text(f"<!DOCTYPE html><meta charset=utf-8><script>{script}</script>", "utf-8")
    return open_page_once(path)


def many_numbers():
    """Everyday numbers, exact halves, sizes where the way of writing changes, and extremes."""
    rng = np.random.default_rng(0)
    edges = [
        0.0005,
        0.001,
        0.0095,
        0.995,
        0.9995,
        0.00995,
        0.01,
        9.995,
        999.5,
        999.9995,
        1000,
        1e5,
        1e6,
        1e14,
    ]
    beside = [np.nextafter(edge, toward) for edge in edges for toward in (0, np.inf)]
    values = np.concatenate(
        [
            np.arange(-400, 401) / 16,
            np.arange(2001) / 2000,
            np.arange(-50, 51) + 0.5,
            np.arange(1, 2000, 2) / 1024,
            rng.normal(size=1000),
            rng.normal(size=2000) * 10.0 ** rng.integers(-12, 13, size=2000),
            [*edges, *beside, 2.3e-308, 1e-300, 123456.5, 1e15 / 7],
        ]
    )
    return [float(value) for value in values]


@pytest.mark.parametrize("way", WAYS)
def test_numbers_are_written_as_python_writes_them(page, way):
    values = many_numbers()
    written = page.evaluate(f"(values) => values.map((value) => ({way})(value))", values)
    expected = [WAYS[way](value) for value in values]
    wrong = [item for item in zip(values, written, expected, strict=True) if item[1] != item[2]]
    assert wrong == []


def test_a_zero_has_no_sign(page):
    assert page.evaluate("[Words.number(-0), Words.digits(-0), Words.signed(-0)]") == [
        show_number(-0.0),
        show_digits(-0.0),
        show_number(-0.0, "+.3f"),
    ]
    assert show_number(-0.0) == "0.000"


def test_what_is_missing_or_endless_is_written_alike(page):
    absent = page.evaluate(
        "[null, undefined, NaN].map((it) => [it, it, it, it].map((value, i) =>"
        "[Words.number, Words.signed, Words.pValue, Words.share][i](value)))"
    )
    assert absent == [[show_number(None), show_number(None), show_p(None), show_share(None)]] * 3
    endless = page.evaluate("[Infinity, -Infinity].map((value) => Words.number(value))")
    assert endless == [show_number(np.inf), show_number(-np.inf)]


def test_ranges_and_levels_are_written_alike(page):
    ends = [(0.1, 0.25), (None, 0.5), (0.5, None), (None, None), (-0.125, 12345.5), (1e-5, 1.0)]
    pairs = [[low, high] for low, high in ends]
    assert page.evaluate("(all) => all.map((ends) => Words.range(...ends))", pairs) == [
        show_range(*pair) for pair in ends
    ]
    shares = page.evaluate("(all) => all.map((ends) => Words.range(...ends, Words.share))", pairs)
    assert shares == [show_share_range(*pair) for pair in ends]
    levels = [0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.1 + 0.2]
    assert page.evaluate("(all) => all.map((one) => Words.percent(one))", levels) == [
        show_percent(level) for level in levels
    ]


def test_names_are_shortened_alike(page):
    names = ["short", "two  words\n and more", "x" * 61, "\N{GRINNING FACE}" * 70, " " * 80, ""]
    found = page.evaluate("(names) => names.map((name) => Words.shorten(name, 60))", names)
    assert found == [shorten(name, 60) for name in names]


def test_shares_are_counted_out_of_ten_alike(page):
    shares = [
        0.0,
        1e-9,
        0.00079,
        0.0016,
        0.03,
        0.049,
        0.05,
        0.25,
        0.349999,
        0.35,
        0.5,
        0.949,
        0.95,
        1 - 1e-9,
        1.0,
    ]
    found = page.evaluate(
        """([shares, phrases, limits]) => shares.map((recovered) => {
            const item = { recovered, lower: null, upper: null, pu: 0.5 };
            return Words.headline({ recall: item, precision: item }, 1, phrases, limits);
        })""",
        [shares, PHRASES, LIMITS],
    )
    for share, sentences in zip(shares, found, strict=True):
        shown = PHRASES["found"].format(count=of_ten(share), share=show_share(share))
        assert sentences[0] == shown
        item = SimpleNamespace(recovered=share, lower=math.nan, upper=math.nan, pu=0.5)
        assert sentences == headline({"recall": item, "precision": item}, 1)


@pytest.mark.parametrize("phrase", PHRASES)
def test_sentences_stand_in_python_alone(phrase):
    fixed = max(re.split(r"\{\w+\}", PHRASES[phrase]), key=len).strip()
    files = [*ROOM.rglob("*.js"), *ROOM.rglob("*.j2")]
    repeated = [path.name for path in files if fixed in path.read_text("utf-8")]
    assert len(fixed.split()) < 3 or repeated == []


@pytest.mark.parametrize(("room", "module"), [("page", render), ("leaderboard", site)])
def test_scripts_are_checked_in_the_order_they_are_loaded_in(room, module):
    lines = (ROOM / room / "tsconfig.json").read_text().splitlines()
    config = json.loads("".join(line for line in lines if not line.strip().startswith("//")))
    checked = [(ROOM / room / name).resolve() for name in config["files"]]
    assert checked == [(ROOM / name).resolve() for name in module.SCRIPTS]


def test_every_script_belongs_to_a_page():
    assert {path.relative_to(ROOM).as_posix() for path in ROOM.rglob("*.js")} == {
        *render.SCRIPTS,
        *site.SCRIPTS,
        *groups.SCRIPTS,
        *weeks.SCRIPTS,
    }
