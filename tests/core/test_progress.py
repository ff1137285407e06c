"""One line that says how far a job is: after a while, on a terminal, and never a second one."""

import time

import joblib
import pytest
from rich.progress import Progress as Bar

from commands import ramp, run, write_csv
from recoup._core import progress
from recoup._core.progress import PROGRESS_SHOWN, SILENT, print_above, progress_bar


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_OF_SILENCE", 0.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture
def started(monkeypatch):
    """The bars that were started."""
    bars = []
    start = Bar.start
    monkeypatch.setattr(Bar, "start", lambda self: (bars.append(self), start(self)))
    return bars


def work(total, message, asked=None, parts=2, pause=0.05):
    with progress_bar(total, message, asked) as advance:
        for _ in range(parts):
            time.sleep(pause)
            advance()


def test_a_line_says_how_many_parts_are_done_and_when_the_rest_will_be(terminal, capsys):
    work(4, "Counting", parts=3, pause=0.2)
    out, err = capsys.readouterr()
    assert out == ""
    assert "Counting" in err
    assert "3 of 4, about 0 s left" in err


def test_parts_of_a_job_of_unknown_length_are_told_on_its_line(terminal, started, capsys):
    with progress_bar(None, "Training a model"):
        time.sleep(0.2)
        work(7, "Epochs", parts=2, pause=0.2)
        time.sleep(0.2)
    err = capsys.readouterr().err
    assert len(started) == 1
    assert err.index("Training a model") < err.index("Epochs") < err.rindex("Training a model")
    assert "1 of 7" in err
    assert "of 7" not in err[err.rindex("Training a model") :]


def test_parts_of_parts_are_not_told(terminal, started, capsys):
    with progress_bar(5, "Folds") as advance:
        work(7, "Epochs", asked=True, pause=0.2)
        advance()
    err = capsys.readouterr().err
    assert len(started) == 1
    assert "Folds" in err
    assert "Epochs" not in err


def test_a_line_of_its_own_follows_one_that_has_ended(terminal, started):
    with pytest.raises(ZeroDivisionError), progress_bar(2, "First"):
        raise ZeroDivisionError
    work(2, "Second")
    assert len(started) == 2


def test_whoever_asks_for_silence_gets_it(terminal, started, capsys):
    before = PROGRESS_SHOWN.set(True)
    work(2, "Counting")
    PROGRESS_SHOWN.reset(before)
    work(2, "Counting", asked=False)
    assert (started, capsys.readouterr().err) == ([], "")


def line_of_a_worker():
    with progress_bar(3, "Counting", True) as line:
        return line is SILENT or line.bar is None


def test_workers_of_a_pool_show_nothing():
    assert joblib.Parallel(n_jobs=2)(joblib.delayed(line_of_a_worker)() for _ in range(2)) == [
        *(True, True),
    ]


def test_other_words_are_printed_above_the_line(terminal, capsys):
    with progress_bar(3, "Counting"):
        time.sleep(0.2)
        print_above("By the way")
        time.sleep(0.2)
    err = capsys.readouterr().err
    assert err.index("By the way") < err.rindex("Counting")
    print_above("Alone")
    assert capsys.readouterr().err == "Alone\n"


@pytest.mark.parametrize("quiet", [False, True])
def test_fit_tells_epochs_and_folds_but_not_beside_json(
    quiet, terminal, started, tmp_path, monkeypatch
):
    told = []
    reset = Bar.reset

    def noted(self, task, **facts):
        told.append((facts.get("description"), facts.get("total")))
        reset(self, task, **facts)

    monkeypatch.setattr(Bar, "reset", noted)
    s, x = ramp(100)
    rows = write_csv(tmp_path / "rows.csv", s=s, x=x)
    options = ["--label", "s", "--alpha", "0.3", "--learner", "nnpu", "--set", "epochs=3"]
    options += ["--out", tmp_path / "model", "--scores", tmp_path / "scores.csv"]
    found = run("fit", rows, *options, *(["--json"] if quiet else []))
    assert found.exit_code == 0, found.output
    # One line while it trains, with what is scored in it, and one while it measures the quality.
    lines = [] if quiet else ["Training nnpu on rows.csv", "Measuring nnpu on held-out rows"]
    assert [bar.tasks[0].description for bar in started] == lines
    expected = {("Training nnpu", 3), ("Scoring rows with NNPU", 5)}
    assert expected <= {*told} if not quiet else not told
    assert (found.stderr == "") == quiet
