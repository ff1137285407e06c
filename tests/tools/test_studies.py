"""Problems of the studies."""

import numpy as np

from recoup.data import load, tasks
from recoup.priors import Auto
from recoup.priors.biased_labels import read, with_labels
from tools.studies import biased_labels, prior_tasks


def test_a_task_and_its_dataset_are_packed_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(prior_tasks, "FOLDER", tmp_path)
    task = tasks("iris")[0].name
    for kind, classes in ((task, 2), (None, 3)):
        prior_tasks.pack("iris", kind)
        assert len(np.unique(prior_tasks.features("iris", kind)[1])) == classes
    assert len(np.unique(prior_tasks.features("iris", task)[1])) == 2


def test_every_part_of_biased_labels_is_fair():
    todo = biased_labels.tasks()
    assert len(todo) == len(set(todo)) == 240
    names = list(biased_labels.STUDY)
    for start in range(0, len(todo), len(names)):
        part = todo[start : start + len(names)]
        assert [name for name, *_ in part] == names
        assert len({tuple(cell) for _, *cell in part}) == len(names)


def test_what_was_read_before_gives_the_same_answer():
    data = load("breast_cancer")
    rng = np.random.default_rng(0)
    y = np.asarray(data.y_true)
    X, s = np.asarray(data.X, float), ((y == 1) & (rng.random(len(y)) < 0.3)).astype(int)
    plain = Auto(beta=1.0, transform="logistic", labels_are="random").fit(X, s).estimate_
    fresh = with_labels(plain, X, s, np.random.default_rng(3))
    readings = read(X, s, np.random.default_rng(3))
    again = with_labels(plain, X, s, np.random.default_rng(5), readings=readings)
    assert (fresh.alpha, fresh.interval, fresh.labels.text) == (
        again.alpha,
        again.interval,
        again.labels.text,
    )
