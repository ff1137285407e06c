"""Plans are read strictly, and expand into all combinations."""

import subprocess
import sys

import pytest

from recoup.bench import Plan, read_plan, shipped_plans
from recoup.bench.plan import bytes_of, seconds_of
from recoup.data import tasks
from recoup.exceptions import InvalidInputError

SHIPPED = (
    *("honest-conventional", "honest-label-ratio", "honest-selection-bias"),
    *("pubench-conventional", "pubench-label-ratio", "pubench-selection-bias"),
    *("smoke", "tabular"),
)
SEEDS = (2, 25, 42, 52, 99, 103, 250, 666, 777, 2026)


@pytest.fixture
def read(tmp_path):
    def read_text(text):
        path = tmp_path / "mine.yaml"
        path.write_text(text)
        return read_plan(path)

    return read_text


def test_a_grid_and_overrides_become_learners(read):
    plan = read("""
datasets: iris
learners:
  - naive
  - key: nnpu
    params: {epochs: 5}
    grid: {learning_rate: [1e-3, 0.01], batch_size: [16, 32]}
seeds: [1, 2]
protocols: [honest, oracle]
""")
    jobs = plan.jobs()
    assert plan.name == "mine"
    assert len(jobs) == (1 + 4) * 2 * 2
    assert len({job.run for job in jobs}) == len(jobs)
    assert {job.learner for job in jobs} == {
        "naive",
        "nnpu (batch_size=16, epochs=5, learning_rate=0.001)",
        "nnpu (batch_size=32, epochs=5, learning_rate=0.001)",
        "nnpu (batch_size=16, epochs=5, learning_rate=0.01)",
        "nnpu (batch_size=32, epochs=5, learning_rate=0.01)",
    }
    assert repr(plan) == "Plan(20 runs: 1 dataset, 5 learners, 2 seeds, 2 protocols)"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{dataset: [iris], learners: [naive]}", "no key 'dataset'. Did you mean 'datasets'?"),
        (
            "{datasets: [iris], learners: [{key: naive, grids: {}}]}",
            "no key 'grids' under learners. Did you mean 'grid'?",
        ),
        (
            "{datasets: [iris], learners: [naive], limits: {tme: 3s}}",
            "no key 'tme' under limits. Did you mean 'time'?",
        ),
        ("{datasets: [iris]}", "needs the key 'learners'"),
        ("{datasets: [], learners: [naive]}", "cannot use datasets"),
        ("{datasets: [iriss], learners: [naive]}", "Did you mean 'iris'"),
        ("{datasets: [iris/setosa], learners: [naive]}", "Did you mean 'setosa-vs-rest'?"),
        ("{datasets: [iris], learners: [nnpuu]}", "Did you mean 'nnpu'?"),
        (
            "{datasets: [iris], learners: [{key: nnpu, params: {epoch: 3}}]}",
            "sets 'epoch', which nnpu does not have. Did you mean 'epochs'?",
        ),
        (
            "{datasets: [iris], learners: [{key: nnpu, params: {random_state: 3}}]}",
            "cannot set 'random_state' of nnpu: every run sets it",
        ),
        (
            "{datasets: [iris], learners: [{key: nnpu, params: {epochs: 3}, grid: {epochs: [1]}}]}",
            "gives 'epochs' of nnpu under params and under grid",
        ),
        ("{datasets: [iris], learners: [{key: nnpu, grid: {epochs: []}}]}", "needs values"),
        ("{datasets: [iris], learners: [{key: nnpu, grid: {epochs: 3}}]}", "a valid list"),
        ("{datasets: [iris], learners: [{key: nnpu, params: {epochs: .nan}}]}", "Got nan"),
        (
            "{datasets: [iris], learners: [{key: nnpu, params: {epochs: 2020-01-01}}]}",
            "as numbers, words or lists",
        ),
        ("{datasets: [iris], learners: [naive], mechanisms: [s5]}", "knows no mechanism 's5'"),
        ("{datasets: [iris], learners: [naive], schemes: [both]}", "cannot use schemes.0"),
        ("{datasets: [iris], learners: [naive], label_frequencies: [0]}", "greater than 0"),
        ("{datasets: [iris], learners: [naive], noise: [1]}", "less than 1"),
        ("{datasets: [iris], learners: [naive], seeds: [one]}", "valid integer"),
        (
            "{datasets: [iris], learners: [naive], protocols: [best]}",
            "'honest', 'oracle' or 'pubench'",
        ),
        ("{datasets: [iris], learners: [naive], alpha: magic}", "magic"),
        ("{datasets: [iris], learners: [naive], alpha: relesed}", "Did you mean 'released'"),
        ("{datasets: [iris], learners: [naive], limits: {time: soon}}", "a span of time"),
        ("{datasets: [iris], learners: [naive], limits: {memory: 3XB}}", "an amount of memory"),
        ("datasets: [iris]\nlearners: [naive]\nlearners: [nnpu]", "'learners' comes twice"),
        ("{datasets: [iris], learners: [naive], name: ../away}", "cannot use name"),
        ("{datasets: [iris], learners: [naive], seeds: [99999999999999999999]}", "seeds.0"),
        (
            "{datasets: [iris], learners: [{key: elkan-noto, params: {mode: reweigth}}]}",
            "A plan with elkan-noto",
        ),
        ("{datasets: [iris], learners: [{key: nnpu, params: {alpha: bogus}}]}", "bogus"),
        ("{datasets: [iris], learners: [{key: nnpu, grid: {epochs: [5, -1]}}]}", "-1"),
        ("about: 2024-99-99", "month must be in 1..12"),
        ("[" * 2000, "nested too deeply"),
        ("datasets: [iris", "is no YAML in line 1"),
        ("- iris", "Got list"),
        ("", "Got NoneType"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(read, text, said):
    with pytest.raises(InvalidInputError) as caught:
        read(text)
    message = str(caught.value)
    assert said in message
    assert "mine.yaml" in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("stem", "name"),
    [
        ("my plan (2)", "my plan -2-"),
        ("(x)", "x-"),
        ("\u00e9t\u00e9", "\u00e9t\u00e9"),
        ("((", "plan"),
    ],
)
def test_a_file_may_be_called_as_it_likes(tmp_path, stem, name):
    path = tmp_path / f"{stem}.yaml"
    path.write_text("{datasets: [iris], learners: [naive]}")
    assert read_plan(path).name == name


def test_an_unknown_plan_names_the_nearest(tmp_path):
    with pytest.raises(InvalidInputError, match="Did you mean 'smoke'"):
        read_plan("smok")
    with pytest.raises(InvalidInputError, match="neither a file"):
        read_plan(tmp_path / "none.yaml")


def test_plans_that_come_with_recoup():
    plans = {name: read_plan(name) for name in shipped_plans()}
    assert tuple(plans) == SHIPPED
    assert all(plan.about for plan in plans.values())
    for name in SHIPPED[3:6]:
        assert plans[name].seeds == SEEDS
        assert len(plans[name].datasets) == 8
        assert plans[name].protocols == ("pubench",)
        assert plans[name].schemes == ("case-control-overlap",)
        assert plans[name].alpha == "released"
        # 18 methods, of which two are modes of one, and PN.
        assert len({job.learner for job in plans[name].jobs()}) == 19
    for name in SHIPPED[:3]:
        # None of the seeds that settings were chosen with.
        assert plans[name].seeds == SEEDS[5:]
        assert len(plans[name].datasets) == 9
        assert plans[name].protocols == ("honest", "oracle")
        assert plans[name].alpha == "own"
    for kind in ("pubench", "honest"):
        conventional = plans[f"{kind}-conventional"]
        assert (conventional.mechanisms, conventional.label_frequencies) == (("scar",), (0.1,))
        ratio = plans[f"{kind}-label-ratio"].label_frequencies
        assert ratio == (0.01, 0.03, 0.05, 0.07, 0.09, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
        bias = plans[f"{kind}-selection-bias"]
        assert bias.mechanisms == ("scar", "s2", "s3", "s4")
        assert bias.label_frequencies == (0.05, 0.5)
    smoke = plans["smoke"]
    assert len(smoke.seeds) == 3
    assert len(smoke.mechanisms) == 2
    assert len(smoke.protocols) == 2


def test_plans_are_read_without_the_packages_of_their_learners():
    """A plain install has neither torch nor numba; only running a plan needs them."""
    code = """
import sys
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "numba"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())
from recoup.bench.plan import read_plan, shipped_plans
print(sum(len(read_plan(name).jobs()) for name in shipped_plans()) > 1000)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "True\n"


def test_smoke_needs_no_files():
    from recoup.data import list_datasets

    available = {row.name: row.available for row in list_datasets()}
    assert {available[name] for name in read_plan("smoke").datasets} == {"bundled"}


def test_an_estimated_alpha_shows_in_the_name_of_those_that_use_it():
    plan = Plan(
        datasets=["iris"], learners=["nnpu", "naive", "weighted", "vpu", "pu-auc"], alpha="estimate"
    )
    assert [job.learner for job in plan.jobs()] == [
        "nnpu (alpha=estimate)",
        "naive",
        "weighted (alpha=estimate)",
        "vpu",
        "pu-auc (alpha=estimate)",
    ]


def test_the_first_task_is_what_a_name_alone_stands_for():
    first, second = (one.name for one in tasks("iris")[:2])
    plan = Plan(datasets=["iris", f"iris/{first}", f"iris/{second}"], learners=["naive"])
    assert plan.datasets == ("iris", f"iris/{second}")


def test_two_names_of_a_mechanism_are_one_run():
    plan = Plan(datasets=["iris"], learners=["naive"], mechanisms=["scar", "s1"])
    assert len(plan.jobs()) == 1


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("1.5m", 90), ("2h", 7200), (3, 3)])
def test_spans_of_time(text, seconds):
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "h", "-3s", "3w", "0", "nan", True, "1..2m"])
def test_no_spans_of_time(text):
    with pytest.raises(InvalidInputError, match="Needs a span of time"):
        seconds_of(text)


def test_amounts_of_memory():
    assert [bytes_of(text) for text in ("500MB", "2 GB", "2gib", 7)] == [500e6, 2e9, 2**31, 7]


def test_merge_keys_of_yaml_take_over_what_is_not_said_again(read):
    text = """
        datasets: [iris]
        learners:
          - &one {key: nnpu, params: &settings {epochs: 3, batch_size: 64}}
          - {<<: *one, params: {<<: *settings, epochs: 4}}
          - {<<: [*one], preset: null}
    """
    first, second, third = read(text).learners
    assert second.params == {"epochs": 4, "batch_size": 64}
    assert first == third
    with pytest.raises(InvalidInputError, match="the key 'key' comes twice"):
        read("{datasets: [iris], learners: [{<<: {seed: 1}, key: nnpu, key: upu}]}")


@pytest.mark.parametrize(
    "levels",
    [
        [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)],
        [f"a{n}: &a{n} {{k{n}: 1, <<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 9)],
        ["a1: &a1 [*a1]"],
    ],
    ids=["lists", "merges", "itself"],
)
def test_aliases_of_aliases_end_in_one_line(levels, read):
    text = "\n".join(["a0: &a0 {x: 1}", *levels, "datasets: [iris]", "learners: [naive]"])
    with pytest.raises(InvalidInputError, match="aliases") as caught:
        read(text)
    assert "\n" not in str(caught.value)


def test_a_plan_that_multiplies_beyond_reason_is_refused_at_once(tmp_path):
    names = ("epochs", "batch_size", "patience", "labeled_batch", "least_steps")
    grid = {name: list(range(1, 10)) for name in names}
    with pytest.raises(ValueError, match=r"10,000 combinations .* Got 59,049 of nnpu"):
        Plan(datasets=["iris"], learners=[{"key": "nnpu", "grid": grid}])
    many = {"label_frequencies": [n / 100 for n in range(1, 101)], "seeds": list(range(10_001))}
    with pytest.raises(ValueError, match=r"1,000,000 runs at most. Got 1,000,100"):
        Plan(datasets=["iris"], learners=["naive"], **many)
