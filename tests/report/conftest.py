"""Pages in a real browser, for the tests of reports."""

from contextlib import contextmanager
from pathlib import Path

import pytest

from leaderboard_pages import EVIL, details, make_rows, settled
from recoup.report.leaderboard.site import write_site

OFFLINE = ("file:", "data:", "blob:", "about:")


@pytest.fixture
def open_page(browser):
    """Open files in a browser, and fail the test if one of them misbehaved.

    ``open_page(path, width=1200, height=900, dark=False, fragment="", **context)`` returns a
    Playwright page; further options go to ``browser.new_context`` (such as
    ``java_script_enabled=False`` or ``reduced_motion="reduce"``). Errors on the console, uncaught
    errors and requests that leave the file gather in ``open_page.problems``.
    """
    with watched_pages(browser) as open_one:
        yield open_one


@pytest.fixture(scope="module")
def open_page_once(browser):
    """Open files as ``open_page`` does, for pages that all tests of a module share."""
    with watched_pages(browser) as open_one:
        yield open_one


@contextmanager
def watched_pages(browser):
    """Give a function that opens pages, and demand at the end that nothing went wrong in them."""
    contexts, problems = [], []

    def open_one(path, *, width=1200, height=900, dark=False, fragment="", **options):
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            **options,
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: said.type == "error" and problems.append(said.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "request",
            lambda request: request.url.startswith(OFFLINE) or problems.append(request.url),
        )
        page.goto(Path(path).resolve().as_uri() + fragment)
        return page

    open_one.problems = problems
    yield open_one
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture(scope="session")
def rows():
    """The runs of a made-up benchmark."""
    return make_rows()


@pytest.fixture(scope="session")
def site(rows, tmp_path_factory):
    """The leaderboard of these runs, with a hostile title."""
    return write_site(rows, details, tmp_path_factory.mktemp("site"), title=f"Board {EVIL}")


@pytest.fixture
def show(open_page, site):
    """Open a view of the leaderboard with filters, and wait until it is drawn."""

    def show_view(view, path=site, width=1200, dark=False, **chosen):
        query = "".join(f"&{name}={value}" for name, value in chosen.items())
        return settled(open_page(path, width=width, dark=dark, fragment=f"#view={view}{query}"))

    return show_view
