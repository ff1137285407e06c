"""recoup audit: from a file to rows to check, and back."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from recoup import audit, load_example
from recoup.cli import app

SCORED = ("--score", "p", "--label", "flagged", "--id", "id")


def run(*args):
    return CliRunner().invoke(app, ["audit", *map(str, args)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The example as a file, and a first round that was filled in by a spreadsheet."""
    found = tmp_path_factory.mktemp("audit")
    example = load_example()
    ids = [f"m{place}" for place in range(len(example.s))]
    pd.DataFrame({"id": ids, "p": example.scores["score_boosting"], "flagged": example.s}).to_csv(
        found / "scores.csv", index=False
    )
    planned = run("plan", found / "scores.csv", *SCORED, "--budget", 80, "--out", found / "a.csv")
    assert planned.exit_code == 0, planned.output
    fill(found / "a.csv")
    return found


def fill(path):
    truth = load_example().y_true
    rows = pd.read_csv(path)
    rows["answer"] = ["Yes" if truth[int(one[1:])] else "no" for one in rows["id"]]
    rows["by"] = "Ann"
    rows = rows.sample(frac=1, random_state=0)
    rows.to_csv(path, index=False, sep=";", encoding="utf-8-sig", lineterminator="\r\n")


def test_two_rounds_and_a_page(folder):
    scored = folder / "scores.csv"
    more = run("next", scored, folder / "a.csv", *SCORED, "--out", folder / "b.csv")
    assert more.exit_code == 0, more.output
    fill(folder / "b.csv")
    checked = (folder / "a.csv", folder / "b.csv")
    page = folder / "page.html"
    found = run("evaluate", scored, *checked, *SCORED, "--json", "--report", page)
    assert found.exit_code == 0, found.output
    audit = json.loads(found.stdout)["audit"]
    example = load_example()
    assert audit["n_checked"] == 80
    alpha = audit["alpha"]
    assert alpha["lower"] <= example.y_true[example.s == 0].mean() <= alpha["upper"]
    assert "Checked by hand" in page.read_text()
    shown = run("evaluate", scored, *checked, *SCORED)
    assert "From labels" in shown.output
    assert "80 rows checked" in shown.output
    late = run("evaluate", scored, folder / "b.csv", *SCORED)
    assert late.exit_code == 2
    assert "first round first" in late.output


def changed_plan(folder):
    facts = json.loads((folder / "a.plan.json").read_text())
    return json.dumps(facts | {"seed": 7})


@pytest.mark.parametrize(
    ("rows", "facts", "words"),
    [
        (lambda text: text.replace(";Yes", ";maybe"), None, "'maybe'"),
        (lambda text: "\n".join(text.splitlines()[:-3]) + "\n", None, "every row of the plan"),
        (lambda text: text + text.splitlines()[-1] + "\n", None, "every row once"),
        (lambda text: text.replace("m", "x"), None, "ids of the plan"),
        (lambda text: text, changed_plan, "was changed"),
        (lambda text: text, lambda folder: "{", "is no plan"),
        (lambda text: text, lambda folder: "", "is no plan"),
    ],
)
def test_files_that_were_changed_are_refused_in_one_line(folder, tmp_path, rows, facts, words):
    text = (folder / "a.csv").read_text(encoding="utf-8-sig")
    (tmp_path / "a.csv").write_text(rows(text))
    beside = (folder / "a.plan.json").read_text() if facts is None else facts(folder)
    (tmp_path / "a.plan.json").write_text(beside)
    page = tmp_path / "page.html"
    found = run("evaluate", folder / "scores.csv", tmp_path / "a.csv", *SCORED, "--report", page)
    assert found.exit_code == 2
    assert words in found.output
    assert len(found.output.strip().splitlines()) == 1
    assert not page.exists()


def test_a_plan_of_another_file_is_refused(folder, tmp_path):
    rows = pd.read_csv(folder / "scores.csv")
    rows["p"] = np.roll(rows["p"], 1)
    rows.to_csv(tmp_path / "other.csv", index=False)
    found = run("evaluate", tmp_path / "other.csv", folder / "a.csv", *SCORED)
    assert found.exit_code == 2
    assert "another file" in found.output


def test_a_goal_that_is_none(folder, tmp_path):
    out = tmp_path / "x.csv"
    found = run("plan", folder / "scores.csv", *SCORED, "--goal", "precision", "--out", out)
    assert found.exit_code == 2
    assert "METRIC=HALFWIDTH" in found.output
    assert not out.exists()


def truth_of(ids):
    truth = load_example().y_true
    return [int(truth[int(str(one).strip("'m"))]) for one in ids]


@pytest.fixture(scope="module")
def answered(folder):
    """What the first round says, as it was filled in."""
    found = run("evaluate", folder / "scores.csv", folder / "a.csv", "--json")
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)["audit"]


def utf16(frame):
    return frame.to_csv(index=False, sep="\t").encode("utf-16")


def ansi(frame):
    return frame.assign(by="Zoé").to_csv(index=False, sep=";").encode("cp1252")


def quoted_cells(frame):
    text = frame.assign(why='said "no", then\nyes').to_csv(index=False, quoting=1)
    return ("sep=,\n" + text).replace("\n", "\r\n").encode()


def short_rows(frame):
    return "\n".join(["id;answer;;", *(f"{i};{a}" for i, a in frame.values)]).encode()


def parquet(frame):
    with io.BytesIO() as buffer:
        frame.assign(answer=frame["answer"].astype("Float64")).to_parquet(buffer)
        return buffer.getvalue()


SHEETS = {
    "tabs and UTF-16, as Unicode text": ("a.txt", utf16),
    "an old code page": ("a.csv", ansi),
    "quotes, line breaks in cells and a line sep=": ("a.csv", quoted_cells),
    "rows that end early": ("a.csv", short_rows),
    "Parquet": ("a.parquet", parquet),
}


@pytest.mark.parametrize(("name", "write"), SHEETS.values(), ids=SHEETS.keys())
def test_answers_as_spreadsheets_write_them(name, write, folder, answered, tmp_path):
    rows = pd.read_csv(folder / "a.csv", sep=";", encoding="utf-8-sig")[["id", "answer"]]
    rows["answer"] = (rows["answer"] == "Yes").astype(int)
    (tmp_path / name).write_bytes(write(rows))
    (tmp_path / "a.plan.json").write_text((folder / "a.plan.json").read_text())
    found = run("evaluate", folder / "scores.csv", tmp_path / name, "--json")
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["audit"] == answered


def test_columns_of_the_checked_file_may_be_named_as_in_the_data(folder, answered, tmp_path):
    rows = pd.read_csv(folder / "scores.csv").rename(columns={"id": "mail"})
    rows.to_parquet(tmp_path / "scores.parquet")
    scored = tmp_path / "scores.parquet"
    names = ("--score", "p", "--label", "flagged", "--id", "mail")
    out = tmp_path / "a.parquet"
    made = run("plan", scored, *names, "--budget", 80, "--out", out, "--json")
    assert made.exit_code == 0, made.output
    sheet = pd.read_parquet(out).rename(columns={"id": "mail"})
    assert json.loads(made.stdout)["ids"] == sheet["mail"].tolist()
    sheet["is_spam"] = truth_of(sheet["mail"])
    sheet.drop(columns="answer").to_parquet(out)
    found = run("evaluate", scored, out, "--truth", "is_spam", "--json")
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["audit"] == answered


def test_the_same_rounds_from_one_file_and_from_several_in_another_order(folder, tmp_path):
    rows = pd.read_csv(folder / "scores.csv").sample(frac=1, random_state=3)
    for part in range(3):
        rows[part::3].to_parquet(tmp_path / f"part{part}.parquet")
    sources = {"one": folder / "scores.csv", "parts": tmp_path / "part*.parquet"}
    plans, pages = {}, {}
    for name, source in sources.items():
        files = [tmp_path / f"{name}1.csv", tmp_path / f"{name}2.csv"]
        more = ("--include-labeled", 12, "--metrics", "precision,recall", "--budget", 60)
        assert run("plan", source, *SCORED, *more, "--out", files[0]).exit_code == 0
        for done, out in enumerate(files):
            if done:
                command = run("next", source, *files[:done], "--out", out, "--json")
                assert command.exit_code == 0, command.output
            sheet = pd.read_csv(out).assign(answer=lambda sheet: truth_of(sheet["id"]))
            sheet.to_csv(out, index=False)
        plans[name] = [json.loads(out.with_suffix(".plan.json").read_text()) for out in files]
        found = run("evaluate", source, *files, "--json")
        assert found.exit_code == 0, found.output
        pages[name] = json.loads(found.stdout)
    assert plans["one"] == plans["parts"]
    assert pages["one"] == pages["parts"]
    assert set(plans["one"][0]["expected"]) == {"precision", "recall"}
    assert len(plans["one"][0]["ids"]) == 30 + 12
    example = load_example()
    ids = [f"m{place}" for place in range(len(example.s))]
    made = audit.plan(
        example.s,
        example.scores["score_boosting"],
        ids=ids,
        include_labeled=12,
        metrics=("precision", "recall"),
        budget=60,
    )
    assert made.ids.tolist() == plans["one"][0]["ids"]


def test_an_answer_that_is_corrected_later_is_no_reason_to_refuse(folder, tmp_path):
    for name in ("a.csv", "a.plan.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    scored, first, second = folder / "scores.csv", tmp_path / "a.csv", tmp_path / "b.csv"
    assert run("next", scored, first, "--out", second).exit_code == 0
    fill(second)
    first.write_text(first.read_text(encoding="utf-8-sig").replace("Yes", "no", 1))
    assert run("evaluate", scored, first, second).exit_code == 0


def test_positions_of_a_file_that_was_sorted_since_are_refused(folder, tmp_path):
    rows = pd.read_csv(folder / "scores.csv").drop(columns="id")
    rows.to_csv(tmp_path / "scores.csv", index=False)
    out = tmp_path / "a.csv"
    made = run("plan", tmp_path / "scores.csv", "--score", "p", "--label", "flagged", "--out", out)
    assert made.exit_code == 0, made.output
    pd.read_csv(out).assign(answer=lambda sheet: truth_of(sheet["id"])).to_csv(out, index=False)
    assert run("evaluate", tmp_path / "scores.csv", out).exit_code == 0
    rows.sort_values("p").to_csv(tmp_path / "scores.csv", index=False)
    found = run("evaluate", tmp_path / "scores.csv", out)
    assert found.exit_code == 2
    assert "another file" in found.output


REFUSED = {
    "no file": (["plan", "none.csv", *SCORED, "--out", "x.csv"], "no such file"),
    "not a table": (["plan", "scores.csv", *SCORED, "--out", "x.pdf"], ".csv or .parquet"),
    "no folder": (["plan", "scores.csv", *SCORED, "--out", "none/x.csv"], "no folder"),
    "the scores": (["plan", "scores.csv", *SCORED, "--out", "scores.csv"], "overwrite the scores"),
    "answers": (["plan", "scores.csv", *SCORED, "--out", "a.csv"], "overwrite rows"),
    "its plan": (["next", "scores.csv", "a.csv", "--out", "a.parquet"], "overwrite rows"),
    "no column": (["plan", "scores.csv", *SCORED[:4], "--id", "Id", "--out", "x.csv"], "'Id'"),
    "ids twice": (
        [
            "plan",
            "scores.csv",
            "--score",
            "p",
            "--label",
            "flagged",
            "--id",
            "day",
            "--out",
            "x.csv",
        ],
        "name one row each",
    ),
    "several files": (["plan", "s*.csv", *SCORED[:4], "--out", "x.csv"], "column of ids"),
    "no metric": (
        ["plan", "scores.csv", *SCORED, "--metrics", "beauty", "--out", "x.csv"],
        "beauty",
    ),
    "a scheme": (["plan", "scores.csv", *SCORED, "--scheme", "odd", "--out", "x.csv"], "scheme"),
    "no answers": (["evaluate", "scores.csv", "empty.csv"], "at least two answers"),
    "no checked file": (["evaluate", "scores.csv", "none.csv"], "no plan beside it"),
    "no truth": (["evaluate", "scores.csv", "a.csv", "--truth", "fraud"], "'fraud'"),
    "the other file": (["evaluate", "s2.csv", "a.csv"], "another file"),
    "twice": (["evaluate", "scores.csv", "a.csv", "a.csv"], "first round first"),
}


@pytest.fixture(scope="module")
def trouble(folder, tmp_path_factory):
    """A folder of files with which something is wrong."""
    found = tmp_path_factory.mktemp("trouble")
    for name in ("a.csv", "a.plan.json"):
        (found / name).write_bytes((folder / name).read_bytes())
    rows = pd.read_csv(folder / "scores.csv").assign(day=1)
    rows.to_csv(found / "scores.csv", index=False)
    rows[:-1].to_csv(found / "s2.csv", index=False)
    sheet = pd.read_csv(folder / "a.csv", sep=";", encoding="utf-8-sig").assign(answer="")
    sheet.to_csv(found / "empty.csv", index=False)
    (found / "empty.plan.json").write_bytes((folder / "a.plan.json").read_bytes())
    return found


@pytest.mark.parametrize(("words", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_work_is_said_in_one_line_and_leaves_nothing(words, said, trouble, monkeypatch):
    monkeypatch.chdir(trouble)
    before = {path: path.read_bytes() for path in trouble.iterdir()}
    found = run(*words)
    assert found.exit_code == 2, found.output
    assert found.stdout == ""
    assert said in found.stderr
    assert len(found.stderr.strip().splitlines()) == 1
    assert {path: path.read_bytes() for path in trouble.iterdir()} == before


def test_ids_that_a_spreadsheet_would_take_for_formulas(tmp_path):
    example = load_example()
    ids = [f"=m{place}" for place in range(len(example.s))]
    columns = {"id": ids, "p": example.scores["score_boosting"], "flagged": example.s}
    pd.DataFrame(columns).to_parquet(tmp_path / "scores.parquet")
    out = tmp_path / "a.csv"
    assert run("plan", tmp_path / "scores.parquet", *SCORED, "--out", out).exit_code == 0
    sheet = pd.read_csv(out)
    assert sheet["id"].str.startswith("'=m").all()
    sheet["answer"] = truth_of(sheet["id"].str.removeprefix("'="))
    sheet.to_csv(out, index=False)
    assert run("evaluate", tmp_path / "scores.parquet", out).exit_code == 0
    sheet.assign(id=sheet["id"].str.removeprefix("'")).to_csv(out, index=False)
    assert run("evaluate", tmp_path / "scores.parquet", out).exit_code == 0


def test_a_report_names_the_command_that_makes_it_again(folder, tmp_path):
    page = tmp_path / "page.html"
    found = run("evaluate", folder / "scores.csv", folder / "a.csv", "--report", page)
    assert found.exit_code == 0, found.output
    command = f"recoup audit evaluate {folder / 'scores.csv'} {folder / 'a.csv'} --label flagged"
    assert command in page.read_text()


def test_a_promise_by_checked_rows(folder):
    given = ("evaluate", folder / "scores.csv", folder / "a.csv", *SCORED)
    found = run(*given, "--promise", "recall=0.3", "--queue", 2500, "--json")
    assert found.exit_code == 0, found.output
    promise, top = (json.loads(found.stdout)[key] for key in ("promise", "top"))
    assert promise["rests_on"] == "audit"
    assert promise["code"] == "kept"
    assert promise["queue"] <= 2500
    example = load_example()
    flagged = example.scores["score_boosting"] >= promise["threshold"]
    assert example.y_true[flagged].sum() >= 0.3 * example.y_true.sum()
    assert (top["k"], top["above"] < 2500) == (2500, True)
    shown = " ".join(run(*given, "--promise", "precision=0.999").stdout.split())
    assert "No threshold: precision of at least 0.999 cannot be promised at 95%." in shown
    assert "audit.next" in shown
