"""The report, as text and in a real browser."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import recoup
from recoup.cli import app
from recoup.exceptions import InvalidInputError
from recoup.report import Report, summarize
from recoup.report.render import write_file

HOSTILE = "<img src=x onerror=alert(1)>"
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


@pytest.fixture(scope="module")
def evaluation():
    example = recoup.load_example()
    scores = example.scores["score_boosting"]
    return recoup.evaluate(example.s, scores, alpha=example.alpha, threshold="f1", n_boot=200)


def simulated(n=600, n_labeled=100, shift=1.0, **options):
    rng = np.random.default_rng(0)
    s = (np.arange(n) < n_labeled).astype(int)
    return recoup.evaluate(s, rng.normal(shift * s), **({"alpha": 0.1, "n_boot": 100} | options))


def test_summary_is_ready_for_json(evaluation):
    summary = summarize(evaluation, truth={"roc_auc": 0.96})
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert {"sentences", "settings", "groups", "points", "notes"} <= set(summary)


def test_sentences_say_the_numbers(evaluation):
    text = " ".join(summarize(evaluation)["sentences"])
    assert "521 rows are labeled positive and 4,080 are unlabeled." in text
    assert "about 1,292 of the unlabeled rows are positive" in text
    recall, precision = evaluation["recall"], evaluation["precision"]
    for item in (recall, precision):
        numbers = (100 * value for value in (item.recovered, item.lower, item.upper))
        assert f"about {next(numbers):.0f}" in text
        assert "({:.0f} to {:.0f})".format(*numbers) in text
    assert f"would have said {100 * precision.pu:.0f}." in text


def test_sentences_for_ranges_noisy_labels_and_known_negatives():
    rng = np.random.default_rng(0)
    s = np.repeat([1, 0, -1], [100, 400, 50])
    result = recoup.evaluate(s, rng.normal(s == 1), alpha=(0.1, 0.2), beta=0.9, n_boot=50)
    text = " ".join(summarize(result)["sentences"])
    assert "100 rows are labeled positive (90% of them rightly)" in text
    assert "50 are known negatives" in text
    assert "With alpha 0.1 to 0.2, 40 to 80 of the unlabeled rows are positive." in text


def test_sentences_when_nothing_is_flagged_and_nothing_was_shuffled():
    text = " ".join(summarize(simulated(threshold=100.0, n_boot=0))["sentences"])
    assert "At threshold 100 the model flags no row." in text
    assert "chance" not in text
    assert "nan" not in text


@pytest.mark.parametrize("scheme", ["single-sample", "case-control"])
def test_missing_precision_is_no_proof_that_nothing_is_flagged(scheme):
    result = simulated(threshold=0.0, scheme=scheme)
    object.__setattr__(result.metrics["precision"], "recovered", np.nan)
    text = " ".join(summarize(result)["sentences"])
    assert "flags no" not in text
    assert "of 100 positives the model finds" in text
    assert "cannot be recovered there" in text
    assert "nan" not in text


def test_only_unlabeled_rows_are_judged_in_case_control():
    s = np.repeat([1, 0], [100, 400])
    scores = np.where(s == 1, 2.0, np.random.default_rng(0).random(500))
    result = recoup.evaluate(s, scores, alpha=0.0, scheme="case-control", threshold=1.5, n_boot=0)
    text = " ".join(summarize(result)["sentences"])
    assert "At threshold 1.5 the model flags no unlabeled row." in text


@pytest.mark.parametrize("n_boot", [0, 100])
def test_sentences_with_propensities(n_boot):
    rng = np.random.default_rng(0)
    positive = rng.random(3000) < 0.4
    propensity = np.where(rng.random(3000) < 0.5, 0.3, 0.6)
    s = (positive & (rng.random(3000) < propensity)).astype(int)
    result = recoup.evaluate(s, rng.normal(2.0 * positive), propensity=propensity, n_boot=n_boot)
    summary = summarize(result)
    hidden = np.sum(s / propensity) - s.sum()
    told = " ".join(summary["sentences"])
    assert f"The propensities imply alpha {hidden / np.sum(s == 0):.4g}" in told
    assert f"about {hidden:,.0f} of the unlabeled rows are positive" in told
    assert summary["settings"]["The numbers are about"] == "all rows (single-sample)"
    page = Report(result, "Title").to_html()
    assert "random sample of all" not in page
    assert "if the propensities are right, the interval" in page
    assert "unlabeled rows alone" not in page


def test_sentences_never_round_up_to_certainty():
    result = simulated(shift=0.0)
    auc = result.metrics["roc_auc"]
    object.__setattr__(auc, "recovered", 0.9993)
    text = " ".join(summarize(result)["sentences"])
    assert "more than 99 times in 100" in text


def test_points_hold_the_used_threshold(evaluation):
    points = summarize(evaluation)["points"]
    used = [point for point in points if point["used"]]
    assert [point["threshold"] for point in used] == [evaluation.threshold]
    assert used[0]["precision"]["recovered"] == pytest.approx(evaluation["precision"].recovered)
    queues = [point["queue"] for point in points]
    assert queues == sorted(queues)


def test_the_same_evaluation_gives_the_same_page(evaluation):
    pages = {Report(evaluation, "Title").to_html() for _ in range(2)}
    assert len(pages) == 1


def test_page_names_nothing_outside_itself(evaluation):
    page = Report(evaluation, "Title", truth={"roc_auc": 0.96}, command="recoup demo").to_html()
    links = re.findall(r'(?:src|href|url)\s*[=(]\s*["\']?([^"\')\s>]+)', page)
    assert all(link.startswith(("#", "data:")) for link in links)
    assert "<script" not in page
    assert "@import" not in page
    names = set(re.findall(r'\bid="([^"]+)"', page))
    assert len(names) == len(re.findall(r'\bid="', page))
    assert {link[1:] for link in links if link.startswith("#")} <= names


def test_page_without_truth_has_no_such_column(evaluation):
    assert ">Truth<" not in Report(evaluation, "Title").to_html()
    assert ">Truth<" in Report(evaluation, "Title", truth={"roc_auc": 0.96}).to_html()


def test_page_of_an_evaluation_without_intervals():
    page = Report(simulated(n_boot=0), "Title").to_html()
    assert ">nan" not in page
    assert "None" not in page


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"alpha": 0.1}, "alpha=0.1, beta=1.0, scheme='single-sample'"),
        ({"alpha": (0.05, 0.2), "scheme": "case-control"}, "alpha=(0.05, 0.2)"),
        ({"alpha": "draws"}, "alpha=draws, beta=1.0"),
        ({"alpha": "draws", "beta": "beta_draws"}, "alpha=draws, beta=beta_draws"),
        ({"alpha": "estimate"}, "alpha=estimate, beta=0.95"),
        ({"alpha": 0.1, "sample_weight": "sample_weight"}, "sample_weight=sample_weight"),
        ({"propensity": "propensity"}, "evaluate(s, scores, propensity=propensity, threshold"),
    ],
)
def test_the_call_on_the_page_gives_the_same_numbers(given, shown):
    rng = np.random.default_rng(0)
    s = (np.arange(600) < 100).astype(int)
    names = {
        "recoup": recoup,
        "s": s,
        "scores": rng.normal(s),
        "draws": rng.uniform(0.05, 0.2, 50),
        "beta_draws": rng.uniform(0.9, 1.0, 50),
        "estimate": SimpleNamespace(alpha=0.1, beta=0.95, interval=(0.05, 0.3)),
        "sample_weight": rng.uniform(0.5, 2.0, 600),
        "propensity": rng.uniform(0.3, 0.9, 600),
    }
    arguments = {
        key: names.get(value, value) if isinstance(value, str) else value
        for key, value in given.items()
    }
    result = recoup.evaluate(s, names["scores"], threshold=0.5, n_boot=50, **arguments)
    page = html.unescape(Report(result, "Title").to_html())
    call = re.search("<pre><code>(.*?)</code></pre>", page).group(1)
    assert shown in call
    assert eval(call, names).to_dict() == result.to_dict()
    used = ["s", "scores", *(value for value in given.values() if value in list(names))]
    assert f"Here {', '.join(used[:-1])} and {used[-1]} must be the same" in page
    assert "the default, random_state=0, unless another was given" in page


def test_a_command_needs_no_more_words(evaluation):
    page = Report(evaluation, "Title", command="recoup demo").to_html()
    assert "<pre><code>recoup demo</code></pre>" in page
    assert "random_state" not in page


def test_hostile_names_are_escaped(evaluation):
    page = Report(evaluation, HOSTILE, command=HOSTILE).to_html()
    assert HOSTILE not in page
    assert page.count("&lt;img src=x onerror=alert(1)&gt;") == 3
    shown = Report(evaluation, HOSTILE)._repr_html_()
    assert HOSTILE not in shown


def test_files_are_whole_or_absent(tmp_path, monkeypatch, evaluation):
    target = tmp_path / "r.html"
    target.write_text("before")

    def fail(self, other):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", fail)
        with pytest.raises(InvalidInputError, match="No space left"):
            Report(evaluation, "Title").write(target)
    assert target.read_text() == "before"
    assert list(tmp_path.iterdir()) == [target]
    assert Report(evaluation, "Title").write(target) == target
    assert target.read_text().startswith("<!DOCTYPE html>")


def test_files_get_the_usual_permissions(tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("")
    assert write_file(tmp_path / "file", b"").stat().st_mode == plain.stat().st_mode


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Run Chromium on a page; get its standard output and what the page asked for."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next((path for path in map(shutil.which, names) if path), None)
    if found is None:
        pytest.fail("The report is tested in a real browser: install chromium (make system).")

    def run(page, *flags):
        folder = tmp_path_factory.mktemp("browser")
        log = folder / "net.json"
        done = subprocess.run(
            [
                *(found, *FLAGS, f"--user-data-dir={folder}", f"--log-net-log={log}"),
                # Port 9 answers nobody: what is asked for is written down and goes nowhere.
                *("--proxy-server=http://127.0.0.1:9", *flags, page.as_uri()),
            ],
            capture_output=True,
            timeout=60,
            check=True,
        )
        return done.stdout.decode(), asked_by_page(json.loads(log.read_text()))

    return run


def asked_by_page(log):
    """What a page asked the network for, without the browser's own errands."""
    start = log["constants"]["logEventTypes"]["URL_REQUEST_START_JOB"]
    asked = [event.get("params", {}) for event in log["events"] if event["type"] == start]
    return [
        request["url"]
        for request in asked
        if "url" in request and request.get("initiator") != "not an origin"
    ]


@pytest.fixture(scope="module")
def hostile_report(tmp_path_factory):
    """A report made by the command line from a file with a hostile column name."""
    folder = tmp_path_factory.mktemp("hostile")
    rng = np.random.default_rng(0)
    s = (np.arange(600) < 100).astype(int)
    rows = zip(rng.normal(s), s, strict=True)
    lines = [f'"{HOSTILE}",s', *(f"{score},{label}" for score, label in rows)]
    (folder / "scores.csv").write_text("\n".join(lines))
    page = folder / "report.html"
    command = ["evaluate", str(folder / "scores.csv"), "--score", HOSTILE, "--label", "s"]
    result = CliRunner().invoke(
        app, [*command, "--alpha", "0.1", "--n-boot", "100", "--report", str(page)]
    )
    assert result.exit_code == 0, result.stderr
    return page


def test_browser_shows_the_report_and_asks_for_nothing(browser, hostile_report):
    dom, asked = browser(hostile_report, "--dump-dom")
    assert asked == []
    assert "In short" in dom
    assert "The scores allow alpha up to" in dom
    assert dom.count("<svg") == 4
    assert "How to get these numbers again" in dom


def test_browser_keeps_hostile_names_as_text(browser, hostile_report):
    dom, _ = browser(hostile_report, "--dump-dom")
    assert "<img" not in dom
    assert "&lt;img src=x onerror=alert(1)&gt; in scores.csv" in dom


def test_a_page_that_asks_would_be_noticed(browser, tmp_path):
    page = tmp_path / "loud.html"
    links = ["http://example.invalid/picture.png", "https://fonts.example.invalid/face.css"]
    page.write_text(f'<img src="{links[0]}"><link rel="stylesheet" href="{links[1]}">')
    _, asked = browser(page, "--dump-dom")
    assert sorted(asked) == links


def test_browser_draws_the_report(browser, hostile_report, tmp_path):
    from matplotlib.image import imread

    shares = {}
    # Chromium's numbers for a reader's preference.
    for scheme, number in (("dark", 0), ("light", 1)):
        shot = tmp_path / f"{scheme}.png"
        browser(
            hostile_report,
            f"--screenshot={shot}",
            "--window-size=1000,3000",
            f"--blink-settings=preferredColorScheme={number}",
        )
        image = imread(shot)[..., :3]
        assert image.shape[:2] == (3000, 1000)
        assert image.std() > 0.05
        shares[scheme] = image.mean()
    assert shares["dark"] < 0.3
    assert shares["light"] > 0.8


def test_report_fits_a_phone(browser, hostile_report, tmp_path):
    # Chromium's own window does not get this narrow, a frame does; and only a page from outside
    # may measure, since the report allows no script.
    frame = tmp_path / "phone.html"
    page = hostile_report.read_text().replace("&", "&amp;").replace('"', "&quot;")
    frame.write_text(
        f'<iframe id="f" srcdoc="{page}" style="width:360px;height:800px"></iframe>'
        "<script>onload = () => { const it = f.contentDocument.documentElement;"
        "document.title = `${it.scrollWidth} of ${it.clientWidth}` }</script>"
    )
    dom, _ = browser(frame, "--dump-dom")
    width, room = map(int, re.search(r"<title>(\d+) of (\d+)</title>", dom).groups())
    assert 300 < room <= 360
    assert width <= room
