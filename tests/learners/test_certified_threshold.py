"""CertifiedThreshold: a classifier cut where a promise is kept."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from estimator_checks import EXPECTED_FAILURES, each_check, passes_unless_expected
from recoup import Interval
from recoup._core.prior import Prior
from recoup.audit import Audit
from recoup.exceptions import InvalidInputError, LearnerWarning
from recoup.learners import CertifiedThreshold
from recoup.metrics.demands import Demand
from recoup.metrics.intervals import CROSSFITTED
from recoup.metrics.learn_then_test import ByLabels
from recoup.scores import PUStratifiedKFold, ScoreTable


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = (rng.random(4000) < 0.2).astype(int)
    X = rng.normal(size=(4000, 2)) + y[:, None] * np.array([2.5, 1.5])
    s = y * (rng.random(4000) < 0.4)
    return SimpleNamespace(X=X, y=y, s=s, alpha=float(y[s == 0].mean()))


def certified(data, **options):
    settings = {"precision": 0.7, "alpha": data.alpha, "random_state": 0} | options
    return CertifiedThreshold(LogisticRegression(), **settings)


def out_of_fold(data):
    folds = list(PUStratifiedKFold(5, random_state=0).split(data.X, data.s))
    model = LogisticRegression()
    return cross_val_predict(model, data.X, data.s, cv=folds, method="predict_proba")[:, 1]


def test_the_threshold_is_that_of_the_walk_along_out_of_fold_scores(data):
    model = certified(data).fit(data.X, data.s)
    table = ScoreTable.from_arrays(data.s, out_of_fold(data))
    judge = ByLabels(table, Prior.of(data.alpha, 1.0, "test"), "single-sample", CROSSFITTED)
    kept = judge.kept(Demand("precision", 0.7), 0.05)
    assert model.threshold_ == judge.thresholds[np.flatnonzero(kept)[-1]]
    flagged = model.predict(data.X) == 1
    assert (flagged == (model.predict_proba(data.X)[:, 1] >= model.threshold_)).all()
    assert data.y[flagged].mean() >= 0.7
    assert data.y[flagged].sum() > 0.7 * data.y.sum()
    assert set(model.p_values_) == {"precision"}
    assert 0 < model.p_values_["precision"] <= 0.05
    assert model.expected_["precision"] > 0.7


def test_all_that_is_asked_for_holds_at_once(data):
    model = certified(data, precision=0.7, recall=0.7, cost={"fp": 1, "fn": 2}).fit(data.X, data.s)
    flagged = model.predict(data.X) == 1
    assert data.y[flagged].mean() >= 0.7
    assert data.y[flagged].sum() >= 0.7 * data.y.sum()
    assert set(model.p_values_) == {"precision", "recall", "cost"}


def test_without_a_threshold_no_row_is_flagged(data):
    with pytest.warns(LearnerWarning, match="no threshold that is shown to keep") as caught:
        model = certified(data, precision=0.995).fit(data.X, data.s)
    assert caught[0].message.code == "no-threshold"
    assert model.threshold_ == np.inf
    assert model.predict(data.X).sum() == 0
    assert model.expected_ == model.p_values_ == {}


def test_an_interval_of_alpha_is_taken_at_its_worst(data):
    given = Interval(0.8 * data.alpha, data.alpha)
    surer = certified(data).fit(data.X, data.s)
    wider = certified(data, alpha=given).fit(data.X, data.s)
    assert wider.threshold_ > surer.threshold_
    assert wider.score(data.X, data.s) == pytest.approx(surer.score(data.X, data.s))


def test_alpha_is_estimated_where_asked(data):
    model = certified(data, precision=None, recall=0.8, alpha="bbe").fit(data.X, data.s)
    assert model.prior_.method == "bbe"
    assert data.y[model.predict(data.X) == 1].sum() >= 0.8 * data.y.sum()


def test_checked_rows_need_no_alpha_and_no_random_labels(data):
    rng = np.random.default_rng(1)
    biased = data.y * (rng.random(len(data.y)) < 1 / (1 + np.exp(3 - data.X[:, 0])))
    rows = np.flatnonzero(biased == 0)[:1500]
    audit = Audit.uniform(rows, data.y[rows])
    model = certified(data, alpha=None).fit(data.X, biased, audit=audit)
    flagged = model.predict(data.X) == 1
    assert data.y[flagged].mean() >= 0.7
    assert data.y[flagged].sum() > 0.5 * data.y.sum()
    assert model.prior_ is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"precision": None}, "needs something to promise"),
        ({"precision": 0}, "needs precision to be a number above 0"),
        ({"confidence": 1}, "needs confidence to be a number above 0 and below 1"),
        ({"maximise": "auc"}, "needs maximise to be a metric of one threshold"),
        ({"alpha": None}, "needs alpha"),
        ({"alpha": 1.2}, "alpha"),
        ({"scheme": "both"}, "scheme"),
    ],
)
def test_bad_settings_are_refused_before_any_fit(data, options, message):
    with pytest.raises(InvalidInputError, match=message):
        certified(data, **options).fit(data.X, data.s)


def test_an_audit_must_be_one(data):
    with pytest.raises(InvalidInputError, match="needs audit to be a"):
        certified(data).fit(data.X, data.s, audit=[1, 2])


def test_copies_behave_alike(data):
    model = certified(data).fit(data.X, data.s)
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(data.X) == model.predict(data.X)).all()
    assert clone(model).get_params()["precision"] == 0.7


CUT = "wants predict to agree with a cut at one half, which is what a promise changes"


@each_check(CertifiedThreshold(LogisticRegression(), recall=0.5, alpha=0.1, cv=2, random_state=0))
@pytest.mark.filterwarnings("ignore:CertifiedThreshold.fit found no threshold")
def test_scikit_learn_checks(estimator, check):
    passes_unless_expected(estimator, check, EXPECTED_FAILURES | {"check_classifiers_train": CUT})
