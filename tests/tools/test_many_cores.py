"""What is finished stays finished, and any beginning of a mixed list has a part of each."""

import numpy as np
import pytest

from tools.studies import learner_guard, packed_tables, tables
from tools.studies.many_cores import Piece, finished, spread, work_through


def doubled(number):
    return [{"twice": 2 * number}]


def refused(number):
    raise ValueError(f"not {number}")


def pieces_of(count, work=doubled):
    return [Piece(f"piece {number}", work, (number,)) for number in range(count)]


class TestWorkThrough:
    @pytest.mark.parametrize("jobs", [1, 2])
    def test_does_what_is_missing_and_goes_on(self, tmp_path, jobs):
        path = tmp_path / "found.jsonl"
        assert work_through(pieces_of(2), path, jobs=jobs) == 2
        assert work_through(pieces_of(5), path, jobs=jobs) == 3
        assert finished(path) == {f"piece {n}": [{"twice": 2 * n}] for n in range(5)}

    def test_a_line_that_was_cut_short_is_done_again(self, tmp_path):
        path = tmp_path / "found.jsonl"
        work_through(pieces_of(2), path)
        path.write_text(path.read_text()[:-9])
        assert list(finished(path)) == ["piece 0"]
        assert work_through(pieces_of(2), path) == 1
        assert list(finished(path)) == ["piece 0", "piece 1"]

    def test_nothing_is_begun_after_the_limit(self, tmp_path):
        assert work_through(pieces_of(3), tmp_path / "found.jsonl", limit=-1.0) == 0

    def test_a_piece_that_fails_ends_no_other_and_is_tried_again(self, tmp_path, capsys):
        path = tmp_path / "found.jsonl"
        both = [*pieces_of(1, refused), Piece("good", doubled, (3,))]
        assert work_through(both, path) == 1
        assert list(finished(path)) == ["good"]
        assert "piece 0 failed: ValueError: not 0" in capsys.readouterr().out


def test_a_group_with_haste_is_finished_first():
    slow, fast = pieces_of(10), pieces_of(10, refused)
    mixed = spread((1.0, slow), (2.0, fast))
    assert len(mixed) == 20
    assert sum(piece.work is refused for piece in mixed[:15]) == 10
    assert [piece for piece in mixed if piece.work is doubled] == slow


class TestPackedTables:
    def test_have_a_column_for_each_level_and_scale_numbers_alone(self, tmp_path, capsys):
        packed_tables.pack(("breast_cancer", "mushroom"), tmp_path / "tables.npz")
        table = packed_tables.read_table("mushroom", tmp_path / "tables.npz")
        assert set(np.unique(table.X)) == {0, 1}
        cancer = packed_tables.read_table("breast_cancer", tmp_path / "tables.npz")
        train, test = np.arange(300), np.arange(300, 569)
        first, second = cancer.rows(train, test)
        assert first.mean(axis=0) == pytest.approx(np.zeros(30), abs=1e-9)
        assert first.std(axis=0) == pytest.approx(np.ones(30))
        by_hand = (cancer.X[test, 0] - cancer.X[train, 0].mean()) / cancer.X[train, 0].std()
        assert second[:, 0] == pytest.approx(by_hand, rel=1e-4)

    def test_rare_levels_share_a_column(self):
        values = np.repeat([f"level {n}" for n in range(40)], np.arange(40, 0, -1))
        found = packed_tables.levels_of(values)
        assert found.shape[1] == packed_tables.MOST_LEVELS + 1
        assert (found.sum(axis=1) == 1).all()
        assert found[:, -1].sum() == sum(range(1, 11))

    def test_numbers_stay_what_they_are(self):
        assert packed_tables.small(np.array([[0.0, 255.0]])).dtype == np.uint8
        assert packed_tables.small(np.array([[-1.0, 300.0]])).dtype == np.int16
        assert packed_tables.small(np.array([[0.5]])).dtype == np.float32


@pytest.fixture(scope="module")
def cancer(tmp_path_factory):
    path = tmp_path_factory.mktemp("packed") / "tables.npz"
    packed_tables.pack(("breast_cancer",), path)
    return str(path)


class TestTables:
    def test_any_beginning_has_all_tables_and_conditions(self):
        first = tables.cells()[: 4 * len(tables.TABLES)]
        for name, levels in (
            ("table", tables.TABLES),
            ("prevalence", tables.PREVALENCES),
            ("frequency", tables.FREQUENCIES),
            ("mechanism", tables.MECHANISMS),
            ("alpha", tables.ALPHAS),
        ):
            assert {getattr(cell, name) for cell in first} == set(levels)

    def test_methods_by_turns_are_all_as_frequent(self):
        rounds = 2 * len(tables.BY_TURNS) // tables.A_TURN
        taken = [method for n in range(rounds) for method in tables.turns_of(n)]
        assert {taken.count(method) for method in tables.BY_TURNS} == {2}

    def test_every_method_can_be_asked_for(self, cancer):
        task = tables.make_task(
            tables.Cell("breast_cancer", None, 0.3, "random", "known", 0), cancer
        )
        known = tables.answers(task, task.alpha, 0)
        assert set(known) == {*tables.EVERY, *tables.BY_TURNS, *tables.SLOW}

    def test_a_cell_has_the_classes_that_it_says(self, cancer):
        cell = tables.Cell("breast_cancer", 0.3, 0.3, "random", "known", 0)
        task = tables.make_task(cell, cancer)
        assert task.pi == pytest.approx(0.3, abs=0.03)
        assert task.y_test.mean() == pytest.approx(0.3, abs=0.03)
        assert (task.y[task.s == 1] == 1).all()
        (row,) = tables.run_cell(cell, ("pu-aul",), cancer)
        assert row["auc"] > 0.9
        assert row["told"] == pytest.approx(task.alpha)

    def test_too_few_labels_make_no_cell(self, cancer):
        cell = tables.Cell("breast_cancer", None, 0.02, "random", "known", 0)
        assert tables.run_cell(cell, tables.EVERY, cancer) == []

    def test_the_protocol_of_puicl_ranks_unlabeled_rows(self, cancer):
        rows = tables.run_puicl("breast_cancer", "240, 60 + 15", 1, cancer)
        assert {row["method"] for row in rows} >= {"auto-pu", "puet", "boosting"}
        # There are 212 malignant rows, which are the positive ones in even runs: of all kinds of
        # rows there are fewer.
        rows = tables.run_puicl("breast_cancer", "240, 60 + 15", 0, cancer)
        assert rows[0]["n_labeled"] == 169
        assert rows[0]["true_alpha"] == pytest.approx(0.8, abs=0.02)


class TestLearnerGuard:
    def test_a_fit_is_judged_by_rows_it_has_not_seen(self, cancer):
        (row,) = learner_guard.run_one("breast_cancer", 0.3, 1, "pu-aul", cancer)
        assert row["auc"] > 0.9
        assert row["warned"] is False
        assert 0.1 < row["called"] < 0.5

    def test_training_and_test_rows_have_the_share_of_positives(self, cancer):
        table = packed_tables.read_table("breast_cancer", cancer)
        rows = learner_guard.rows_of(table, 0.6, "breast_cancer", 1)
        assert rows["y_test"].mean() == pytest.approx(0.6, abs=0.02)
        share = rows["alpha"] * (rows["s"] == 0).sum() + rows["s"].sum()
        assert share / len(rows["s"]) == pytest.approx(0.6, abs=0.02)

    def test_what_a_learner_refuses_is_kept(self, cancer):
        (row,) = learner_guard.run_one("breast_cancer", 0.02, 1, "pu-auc, wrong", cancer)
        assert "pu-auc" in row["error"]
