"""The site: built strictly, whole, and without anything from other hosts."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import pytest
import typer

from recoup.cli import app

ROOT = Path(__file__).resolve().parents[2]
# What a browser fetches by itself when it shows a page.
FETCHED = {
    "script": "src",
    "link": "href",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "object": "data",
    "embed": "src",
    "video": "src",
    "audio": "src",
}
ROOMS = {
    "recoup.metrics": "metrics",
    "recoup.priors": "priors",
    "recoup.scores": "scores",
    "recoup.data": "data",
    "recoup.learners": "learners",
    "recoup.plot": "plot",
    "recoup.report": "plot",
    "recoup.testing": "testing",
    "recoup.evaluation": "evaluate",
    "recoup.monitoring": "monitor",
    "recoup.selection": "selection",
}


class Page(HTMLParser):
    """The links, anchors and fetched addresses of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag in FETCHED and FETCHED[tag] in values:
            self.fetched.append(values[FETCHED[tag]])
        if "srcset" in values:
            self.fetched += [part.split()[0] for part in values["srcset"].split(",")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs") / "site"
    # Not --quiet: it hides warnings from --strict too.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(folder)]
    quiet = {"NO_MKDOCS_2_WARNING": "1", "OMP_NUM_THREADS": "1"}
    built = subprocess.run(
        command, cwd=ROOT, env=os.environ | quiet, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, (built.stdout + built.stderr)[-2000:]
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def test_pages_fetch_nothing_from_other_hosts(site, pages):
    assert len(pages) > 25
    outside = [
        f"{path.relative_to(site)}: {address}"
        for path, page in pages.items()
        for address in page.fetched
        if urlsplit(address).scheme not in ("", "data") or address.startswith("//")
    ]
    assert not outside
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//|@import", sheet.read_text()), sheet


def test_links_and_anchors_lead_somewhere(site, pages):
    broken = []
    for path, page in pages.items():
        if path.name == "404.html":
            continue  # its links start at the root of a server
        for link in page.links + page.fetched:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            found = target.is_file()
            if found and parts.fragment and target in pages:
                found = unquote(parts.fragment) in pages[target].anchors
            if not found:
                broken.append(f"{path.relative_to(site)}: {link}")
    assert not broken


def test_the_leaderboard_of_committed_runs_is_part_of_the_site(site):
    table = (site / "leaderboard" / "runs.csv").read_text()
    assert "pubench" in table
    assert (site / "leaderboard" / "index.html").stat().st_size > 100_000


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_is_in_the_reference(pages, site, room):
    anchors = pages[site / "api" / f"{ROOMS[room]}.html"].anchors
    module = importlib.import_module(room)
    public = {name: getattr(module, name) for name in module.__all__}
    documented = {
        name: {f"recoup.{name}", f"{room}.{name}", f"{value.__module__}.{name}"} & anchors
        for name, value in public.items()
        if not isinstance(value, ModuleType)
    }
    assert all(documented.values()), [name for name, found in documented.items() if not found]


def test_docstrings_leave_no_markup_behind(site):
    for path in (site / "api").glob("*.html"):
        text = re.sub(r"<[^>]+>", "", path.read_text())
        assert not re.findall(r":(?:math|func|class|meth|mod):|\.\. math::", text), path.name
    assert 'aria-label="\\kappa_1"' in (site / "api" / "priors.html").read_text()


def commands(command, name: str) -> Iterator[tuple[str, object]]:
    inner = getattr(command, "commands", None)
    if not inner:
        yield name, command
        return
    for key, one in inner.items():
        yield from commands(one, f"{name} {key}")


def test_every_option_is_in_the_reference_of_the_command_line(site):
    html = (site / "cli.html").read_text()
    text = re.sub(r"<[^>]+>", "", html)
    found = dict(commands(typer.main.get_command(app), "recoup"))
    assert "recoup evaluate" in found
    for name, command in found.items():
        section = text[text.index(f"\n{name}") :] if f"\n{name}" in text else ""
        assert f'id="{name.replace(" ", "-")}"' in html, name
        for parameter in command.params:
            if parameter.param_type_name == "option" and not getattr(parameter, "hidden", False):
                assert any(option in section for option in parameter.opts), (name, parameter.name)


@pytest.mark.parametrize("start", ["index.html", "api/priors.html"])
def test_pages_are_searched_without_a_server(site, browser, start):
    problems = []
    page = browser.new_page()
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on(
        "request",
        lambda request: request.url.startswith("file:") or problems.append(request.url),
    )
    page.goto((site / start).as_uri())
    page.locator(".md-search__input").click()
    page.keyboard.type("propensity")
    first = page.locator(".md-search-result__link").first
    first.wait_for(state="visible")
    assert "matching documents" in page.locator(".md-search-result__meta").inner_text()
    first.click()
    page.wait_for_load_state()
    assert "propensity" in page.locator("article").inner_text().lower()
    assert page.url.startswith(site.as_uri())
    page.close()
    assert problems == []
