"""PU-Bench's page and the advice for users: written whole, and from whatever there is."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from made_up_runs import made_up_row, made_up_rows, shift, spread_out
from papers import reproduce
from papers.__main__ import app
from papers.experiment import experiment
from papers.pubench.advice import honest_rows, situation
from papers.pubench.claims import findings
from papers.pubench.published import CIFAR, DATASETS, SPAM
from papers.pubench.scores import main as write_scores
from papers.pubench.study import BIASED, FEW, LABEL_RATIOS, MANY
from papers.pubench.which_learner import main as write_advice
from papers.pubench.which_learner import page as advice_page
from recoup.bench import Job, Store
from recoup.bench.exported import export
from recoup.bench.measure import distributions
from recoup.exceptions import InvalidInputError


def one_distribution(**more):
    rng = np.random.default_rng(0)
    s, classes = np.repeat([1, 0], [50, 150]), np.repeat([1, 0], 100)
    scores, propensity = rng.normal(size=200), np.full(200, 0.1)
    return distributions(scores, classes, scores, s, classes, propensity, **more)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A folder with results, some of them missing, and what follows from them."""
    folder = tmp_path_factory.mktemp("pubench")
    level = spread_out(["vpu"])
    rows = [
        *made_up_rows(level),
        *made_up_rows(
            level, ratios=[c for c in LABEL_RATIOS if c != 0.1], datasets=(CIFAR,), seeds=(2,)
        ),
        *made_up_rows(level, mechanisms=BIASED, ratios=(FEW, MANY), datasets=(CIFAR,), seeds=(2,)),
        *made_up_rows(
            level,
            protocol="honest",
            scheme="single-sample",
            alpha="own",
            datasets=(*DATASETS, "mushroom"),
        ),
        made_up_row("lbe", dataset="mushroom", seed=2, status="failed", reason="no luck"),
    ]
    rows = [{**row, "run": f"{place:016x}"} for place, row in enumerate(rows)]
    export(rows, folder / "results.parquet")
    chances = np.random.default_rng(0).random(200)
    kept = {
        "lbe": one_distribution(estimated=chances),
        "pan": one_distribution(discriminator=chances),
    }
    (folder / "distributions.json").write_text(json.dumps(kept))
    return folder


def test_the_page_is_written_whole(results):
    result = CliRunner().invoke(app, ["pubench", "--out", str(results)])
    assert result.exit_code == 0, result.stdout
    page = (results / "index.md").read_text()
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", page)
    assert len(pictures) == 7
    assert all((results / name).stat().st_size > 5000 for name in pictures)
    for words in ("Table 1: accuracy", "Table D.6", "no luck", "recoup bench run", "3 seeds"):
        assert words in page
    kept = json.loads((results / "verdicts.json").read_text())
    assert len(kept["claims"]) == len(findings())
    assert kept["size"] == "full"


def test_a_page_can_go_to_another_folder(results, tmp_path):
    small, copy = tmp_path / "small", tmp_path / "copy"
    small.mkdir()
    export([made_up_row("nnpu", dataset=SPAM, seed=2, accuracy=0.8)], small / "results.parquet")
    (small / "distributions.json").write_bytes((results / "distributions.json").read_bytes())
    given = ["pubench", "--from", str(small / "results.parquet"), "--out", str(copy)]
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 0, result.stdout
    # Scores of single runs are looked for beside the results.
    assert (copy / "figure_12_failures.png").is_file()
    assert (copy / "results.parquet").is_file()


def test_a_page_without_results_says_how_to_make_them(tmp_path):
    with pytest.raises(InvalidInputError, match="recoup bench export"):
        reproduce("pubench", out=tmp_path)


def test_a_page_with_hardly_any_run(tmp_path):
    export([made_up_row("nnpu", dataset=SPAM, seed=2, accuracy=0.8)], tmp_path / "results.parquet")
    found_ = reproduce("pubench", out=tmp_path)
    assert found_.n_runs == 1
    assert "No results yet on" in found_.path.read_text()
    export([], tmp_path / "results.parquet")
    assert reproduce("pubench", out=tmp_path).n_runs == 0


def test_scores_of_single_runs_that_cannot_be_read_are_named(tmp_path):
    export([], tmp_path / "results.parquet")
    (tmp_path / "distributions.json").write_text("[1]")
    with pytest.raises(InvalidInputError, match=r"distributions\.json"):
        reproduce("pubench", out=tmp_path)


def test_scores_of_figure_12_are_taken_from_the_store(tmp_path):
    store = Store(tmp_path / "runs.sqlite")
    spread = one_distribution(discriminator=np.full(200, 0.5))
    usual = Job(SPAM, "case-control-overlap", "scar", 0.1, 0.0, "pan", {}, 25, "pubench")
    others = [replace(usual, seed=2), replace(usual, label_frequency=0.5, seed=1)]
    others += [replace(usual, dataset="mushroom", seed=1), replace(usual, protocol="honest")]
    with pytest.raises(InvalidInputError, match="has none"):
        write_scores([str(store.path), str(tmp_path / "scores.json")])
    with store.writing():
        for place, job in enumerate([usual, *others]):
            details = {"distributions": {**spread, "place": place}}
            store.write(job, {"status": "done", "row": {"accuracy": 0.9}, "details": details})
    write_scores([str(store.path), str(tmp_path / "scores.json")])
    kept = json.loads((tmp_path / "scores.json").read_text())
    assert list(kept) == ["pan"]
    assert kept["pan"]["place"] == 1
    assert kept["pan"]["quartiles"]["discriminator_hidden"] == [0.5, 0.5, 0.5]
    with pytest.raises(InvalidInputError, match="two names"):
        write_scores([])


def test_the_experiment_is_listed():
    assert experiment("pubench").read is not None


# Which learner when


def test_advice_names_the_first_and_those_that_cannot_be_told_from_it(results, tmp_path):
    target = tmp_path / "which-learner.md"
    write_advice([str(results / "results.parquet"), str(target)])
    text = target.read_text()
    assert "**Tables.** `vpu` ranks first" in text
    assert "On Connect-4, Mushroom, Spambase." in text
    assert "Cannot be told. There are no runs." in text
    assert "Too few runs: " in text
    assert "## What these runs cannot tell" in text
    with pytest.raises(InvalidInputError, match="two names"):
        write_advice([])


def test_advice_without_runs_says_so():
    text = advice_page([])
    assert "no honest runs yet" in text
    assert "ranks first" not in text


def test_noise_leaves_learners_tied():
    honest = {"protocol": "honest", "scheme": "single-sample", "alpha": "own"}
    noisy = situation("x", made_up_rows(shift(), noise=0.05, datasets=DATASETS[:2], **honest))
    assert len(noisy.tied) > 9
    assert not noisy.is_told
    clear = situation("x", made_up_rows(spread_out(["vpu"]), datasets=DATASETS[:2], **honest))
    assert [place.learner for place in clear.tied] == ["vpu"]
    assert clear.is_told
    assert clear.ceiling == pytest.approx(0.95, abs=0.01)
    assert situation("x", []).missing
    single = situation("x", made_up_rows(spread_out(["vpu"]), seeds=(1,), **honest))
    assert np.isnan(single.places[0].lower)


def test_a_learner_counts_once_with_its_own_alpha():
    usual = made_up_row("nnpu", dataset=SPAM, seed=2, protocol="honest", alpha="known")
    own = {**usual, "alpha": "own"}
    assert honest_rows([usual, own]) == honest_rows([own, usual]) == [own]
    assert honest_rows([{**own, "protocol": "oracle"}]) == []


def test_a_dataset_counts_once_half_of_the_learners_have_run_on_it():
    def rows(dataset, learners):
        return [made_up_row(key, dataset=dataset, seed=2, protocol="honest") for key in learners]

    whole = rows(SPAM, ("nnpu", "pusb", "vpu", "lbe"))
    assert honest_rows(whole + rows(CIFAR, ("nnpu",))) == whole
    begun = whole + rows(CIFAR, ("nnpu", "vpu"))
    assert honest_rows(begun) == begun
