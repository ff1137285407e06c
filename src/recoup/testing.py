"""What prior estimators and learners must do: checks for recoup's own and for other packages'."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup.exceptions import InvalidInputError, LearnerWarning, RecoupWarning
from recoup.learners import LearnerTags
from recoup.priors import PriorEstimate, PriorTags

__all__ = ["check_learner", "check_prior_estimator", "learner_checks", "prior_estimator_checks"]

N_LABELED, N_UNLABELED, ALPHA = 150, 800, 0.3
MAX_MESSAGE = 1000

# Checks of scikit-learn that do not suit PU learners, and why.
FOREIGN_CHECKS = {
    "check_classifier_data_not_an_array": "has labels other than 1, 0 and -1",
    "check_classifiers_classes": "has words for labels",
    "check_classifiers_train": "wants unlabeled rows to be called negative",
    "check_estimators_dtypes": "has labels other than 1, 0 and -1",
    "check_estimators_nan_inf": "has ten rows without any order, in which two-step finds nothing",
    "check_fit2d_1feature": "has labels other than 1, 0 and -1",
    "check_fit_score_takes_y": "wants the labels to be called y; here they are s",
    "check_n_features_in_after_fitting": "passes the labels to score as y, as not all do",
}
FOREIGN_CHECKS |= {
    f"check_sample_{name}": "has labels other than 1, 0 and -1"
    for name in (
        "weights_pandas_series",
        "weights_not_an_array",
        "weights_shape",
        "weights_not_overwritten",
        "weight_equivalence_on_dense_data",
        "weight_equivalence_on_sparse_data",
    )
}
# And those that compare to seven digits, which single precision has not.
INEXACT_CHECKS = {
    "check_methods_sample_order_invariance": "compares to seven digits",
    "check_methods_subset_invariance": "compares to seven digits",
}


def check_prior_estimator(estimator: Any) -> None:
    """Check that a prior estimator keeps the promises that the rest of recoup relies on.

    Parameters
    ----------
    estimator : PriorEstimator
        Not fitted; it is cloned for every check. Few draws (``n_draws=5``) save time.

    Raises
    ------
    AssertionError
        At the first promise that is broken, which the message names.

    Examples
    --------
    >>> from recoup.priors import BBE
    >>> check_prior_estimator(BBE(n_draws=5))
    """
    for check in prior_estimator_checks():
        check(estimator)


def prior_estimator_checks() -> Iterator[Callable[[Any], None]]:
    """Return the checks one by one, for a test that is run once for each.

    Yields
    ------
    callable
        Takes an estimator that is not fitted; raises AssertionError if it breaks a promise.
    """
    yield from (
        check_tags,
        check_clone_and_parameters,
        check_estimate,
        check_same_seed_same_answer,
        check_row_order_does_not_matter,
        check_input_is_not_modified,
        check_labels_of_any_kind,
        check_bad_input_is_refused,
        check_result_can_be_shown,
    )


def check_tags(estimator: Any) -> None:
    """Require a class that says what it reads, assumes and costs, and where it comes from."""
    tags: Any = getattr(type(estimator), "tags", None)
    _require(isinstance(tags, PriorTags), estimator, "has no tags of type PriorTags")
    for name in ("key", "assumes", "cost", "source"):
        text = getattr(tags, name)
        _require(isinstance(text, str) and text != "", estimator, f"has no {name} in its tags")
    _require(tags.key == tags.key.lower(), estimator, "has a key that is not in lower case")
    _require(tags.reads in ("scores", "features"), estimator, f"reads {tags.reads!r}")


def check_clone_and_parameters(estimator: Any) -> None:
    """Require parameters that survive clone and set_params, and that fit leaves alone."""
    from sklearn.base import clone

    copy = clone(estimator)
    before = estimator.get_params(deep=False)
    after = copy.get_params(deep=False)
    _require(before.keys() == after.keys(), estimator, "has other parameters after clone")
    for name in ("interval", "n_draws", "confidence", "random_state", "transform"):
        _require(name in before, estimator, f"lacks the parameter {name!r}")
    copy.set_params(confidence=0.5)
    _require(copy.get_params()["confidence"] == 0.5, estimator, "ignores set_params")
    fitted = _prepared(estimator)
    given = fitted.get_params(deep=False)
    fitted.fit_scores(*_problem())
    for name, value in given.items():
        _require(getattr(fitted, name) is value, estimator, f"changes {name!r} in fit")
    _require(not hasattr(clone(fitted), "estimate_"), estimator, "stays fitted after clone")


def check_estimate(estimator: Any) -> None:
    """Require a share with an interval around it, in the form that evaluate takes."""
    found = _fitted(estimator).estimate_
    n_draws = estimator.get_params()["n_draws"]
    _require(isinstance(found, PriorEstimate), estimator, "does not give a PriorEstimate")
    for name in ("alpha", "beta"):
        value = getattr(found, name)
        _require(isinstance(value, float) and 0 <= value <= 1, estimator, f"gives {name}={value!r}")
    _require(found.method == type(estimator).tags.key, estimator, "names another method")
    _require(
        (found.n_labeled, found.n_unlabeled) == (N_LABELED, N_UNLABELED),
        estimator,
        f"counts {found.n_labeled} + {found.n_unlabeled} rows of {N_LABELED} + {N_UNLABELED}",
    )
    if estimator.get_params()["interval"] is not None:
        _require(found.interval is not None, estimator, "gives no interval")
        low, high = found.interval
        _require(0 <= low <= found.alpha <= high <= 1, estimator, f"gives {low} to {high}")
        draws = np.asarray(found.draws)
        _require(len(draws) == n_draws, estimator, f"gives {len(draws)} draws of {n_draws}")
        _require(bool(np.isfinite(draws).all()), estimator, "gives draws that are not finite")
        pairs = draws.reshape(len(draws), -1)
        beta = pairs[:, 1] if pairs.shape[1] > 1 else np.full(len(pairs), found.beta)
        ordered = (pairs[:, 0] >= 0) & (pairs[:, 0] < beta) & (beta <= 1)
        _require(bool(ordered.all()), estimator, "gives draws outside 0 <= alpha < beta <= 1")
    without = _fitted(estimator, interval=None).estimate_
    _require(without.interval is None, estimator, "gives an interval that was not asked for")
    _require(
        math.isclose(without.alpha, found.alpha, abs_tol=1e-12),
        estimator,
        f"finds {without.alpha} without and {found.alpha} with an interval",
    )


def check_same_seed_same_answer(estimator: Any) -> None:
    """Require the same numbers from the same rows and the same seed."""
    first, second = (_fitted(estimator).estimate_ for _ in range(2))
    _require(first.alpha == second.alpha, estimator, "finds another alpha the second time")
    _require(first.interval == second.interval, estimator, "gives another interval the second time")


def check_row_order_does_not_matter(estimator: Any) -> None:
    """Require that scores are counted: the order of their rows says nothing."""
    if type(estimator).tags.reads != "scores":
        return
    s, scores = _problem()
    order = np.random.default_rng(1).permutation(len(s))
    plain = _fitted(estimator).estimate_
    shuffled = _prepared(estimator).fit_scores(s[order], scores[order]).estimate_
    _require(plain.alpha == shuffled.alpha, estimator, "depends on the order of rows")


def check_input_is_not_modified(estimator: Any) -> None:
    """Require that arrays stay as they were, also those that cannot be written to."""
    s, scores = _problem()
    kept = s.copy(), scores.copy()
    _prepared(estimator).fit_scores(s, scores)
    for array, copy in zip((s, scores), kept, strict=True):
        _require(np.array_equal(array, copy), estimator, "writes to its input")
        array.flags.writeable = False
    _prepared(estimator).fit_scores(s, scores)


def check_labels_of_any_kind(estimator: Any) -> None:
    """Take lists, booleans and floats for labels as well; leave known negatives out."""
    s, scores = _problem()
    expected = _fitted(estimator, interval=None).estimate_.alpha
    more = np.append(s, np.full(10, -1)), np.append(scores, np.linspace(0.1, 0.9, 10))
    for labels, values in (
        (s.tolist(), scores.tolist()),
        (s == 1, scores),
        (s * 1.0, scores),
        more,
    ):
        found = _prepared(estimator, interval=None).fit_scores(labels, values).estimate_.alpha
        _require(found == expected, estimator, "finds another alpha for the same labels")


def check_bad_input_is_refused(estimator: Any) -> None:
    """Require an InvalidInputError of one line for what cannot work."""
    s, scores = _problem()
    missing = scores.copy()
    missing[7] = np.nan
    strange = s.copy()
    strange[7] = 2
    cases: dict[str, tuple[Any, Any, dict[str, Any]]] = {
        "too few rows": (s[::100], scores[::100], {}),
        "constant scores": (s, np.full(len(s), 0.5), {}),
        "a missing score": (s, missing, {}),
        "no labeled rows": (np.zeros(len(s), int), scores, {}),
        "no unlabeled rows": (np.ones(len(s), int), scores, {}),
        "a label 2": (strange, scores, {}),
        "fewer scores than labels": (s, scores[:-1], {}),
        "no scores": (s, None, {}),
        "an unknown interval": (s, scores, {"interval": "guess"}),
        "confidence 95": (s, scores, {"confidence": 95.0}),
        "a seed that is none": (s, scores, {"random_state": "seed"}),
    }
    for case, (labels, values, changes) in cases.items():
        try:
            _prepared(estimator, **changes).fit_scores(labels, values)
        except InvalidInputError as error:
            message = str(error)
            short = "\n" not in message and 0 < len(message) <= MAX_MESSAGE
            _require(short, estimator, f"answers {case} with a long message: {message[:200]}")
        except Exception as error:
            _require(False, estimator, f"answers {case} with {type(error).__name__}: {error}")
        else:
            _require(False, estimator, f"accepts {case}")


def check_result_can_be_shown(estimator: Any) -> None:
    """Turn the result into JSON, a line of text and a picture."""
    found = _fitted(estimator).estimate_
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    for name in ("alpha", "interval", "beta", "method", "members", "warnings"):
        _require(name in plain, estimator, f"lacks {name!r} in to_dict()")
    _require("\n" not in repr(found), estimator, "has a repr of several lines")
    for warning in found.warnings:
        _require("\n" not in warning and warning.endswith("."), estimator, f"warns: {warning!r}")
    if found.curve is not None:
        for name, line in found.curve.lines.items():
            _require(
                len(line) == len(found.curve.x), estimator, f"draws {name!r} of another length"
            )
    from matplotlib.figure import Figure

    figure = Figure()
    found.plot(ax=figure.subplots())
    figure.canvas.draw()


def check_learner(learner: Any) -> None:
    """Check that a PU learner keeps the promises that the rest of recoup relies on.

    Parameters
    ----------
    learner : PULearner
        Not fitted; it is cloned for every check, and gets a number for alpha if it has that
        parameter. Settings that make it fast save time, but it must still learn.

    Raises
    ------
    AssertionError
        At the first promise that is broken, which the message names.

    Examples
    --------
    >>> from recoup.learners import PUAUL
    >>> check_learner(PUAUL(n_basis=30, n_folds=2))
    """
    for check in learner_checks():
        check(learner)


def learner_checks() -> Iterator[Callable[[Any], None]]:
    """Return the checks one by one, for a test that is run once for each.

    Yields
    ------
    callable
        Takes a learner that is not fitted; raises AssertionError if it breaks a promise.
    """
    yield from (
        check_learner_tags,
        check_learner_clone_and_parameters,
        check_learner_ranks_positives_first,
        check_learner_decides,
        check_learner_same_seed_same_scores,
        check_learner_input_is_not_modified,
        check_learner_labels_of_any_kind,
        check_learner_weights,
        check_learner_known_negatives,
        check_learner_knows_alpha,
        check_learner_refuses_bad_input,
        check_learner_sees_no_truth,
        check_learner_as_scikit_learn_does,
    )


def check_learner_tags(learner: Any) -> None:
    """Require a class that says what it needs, assumes and costs, and where it comes from."""
    tags: Any = getattr(type(learner), "tags", None)
    _require(isinstance(tags, LearnerTags), learner, "has no tags of type LearnerTags")
    for name in ("key", "family", "cost", "source"):
        text = getattr(tags, name)
        _require(isinstance(text, str) and text != "", learner, f"has no {name} in its tags")
    _require(tags.key == tags.key.lower(), learner, "has a key that is not in lower case")
    _require(len(tags.schemes) > 0, learner, "has no schemes in its tags")
    known = {"single-sample", "case-control"}
    _require(known.issuperset(tags.schemes), learner, f"has the schemes {tags.schemes}")
    if tags.needs_alpha:
        _require("alpha" in learner.get_params(), learner, "needs alpha but has no such parameter")


def check_learner_clone_and_parameters(learner: Any) -> None:
    """Require parameters that survive clone and set_params, and that fit leaves alone."""
    from sklearn.base import clone

    _require("random_state" in learner.get_params(), learner, "lacks the parameter 'random_state'")
    before, after = learner.get_params(deep=False), clone(learner).get_params(deep=False)
    _require(before.keys() == after.keys(), learner, "has other parameters after clone")
    fitted = _learner(learner)
    given = fitted.get_params(deep=False)
    X, s, y = _rows()
    same = fitted.fit(X, s, **_truth(learner, y)) is fitted
    _require(same, learner, "does not return itself from fit")
    for name, value in given.items():
        _require(getattr(fitted, name) is value, learner, f"changes {name!r} in fit")
    _require(not hasattr(clone(fitted), "classes_"), learner, "stays fitted after clone")


def check_learner_ranks_positives_first(learner: Any) -> None:
    """Require scores of new rows that find hidden positives; only the check knows the truth."""
    from recoup.metrics import aul

    X, s, y = _rows(seed=1)
    fitted = _fitted_learner(learner)
    scores = fitted.decision_function(X)
    _require(np.shape(scores) == (len(X),), learner, f"gives scores of shape {np.shape(scores)}")
    _require(bool(np.isfinite(scores).all()), learner, "gives scores that are not finite")
    hidden, negative = scores[(s == 0) & (y == 1)], scores[y == 0]
    area = float(np.mean(hidden[:, None] > negative))
    _require(area > 0.85, learner, f"ranks hidden positives with AUC {area:.3f} where 0.98 can be")
    _require(
        math.isclose(fitted.score(X, s), aul(s, scores), abs_tol=1e-12),
        learner,
        "has a score that is not the area under the lift curve",
    )


def check_learner_decides(learner: Any) -> None:
    """Require two classes, told apart at the zero of the decision function."""
    X, _, y = _rows(seed=1)
    fitted = _fitted_learner(learner)
    _require(np.array_equal(fitted.classes_, [0, 1]), learner, f"has classes {fitted.classes_}")
    _require(fitted.n_features_in_ == X.shape[1], learner, "miscounts the features")
    scores, predicted = fitted.decision_function(X), fitted.predict(X)
    _require(
        np.array_equal(predicted, (scores > 0).astype(int)),
        learner,
        "predicts other than the sign of its decision function",
    )
    share = float(np.mean(predicted == y))
    _require(share > 0.75, learner, f"has accuracy {share:.3f} where 0.93 can be")
    if hasattr(fitted, "predict_proba"):
        chances = fitted.predict_proba(X)
        sound = chances.shape == (len(X), 2) and bool((chances >= 0).all())
        sound = sound and np.allclose(chances.sum(axis=1), 1)
        _require(sound, learner, "gives probabilities that are none")
        rising = np.diff(chances[np.argsort(scores), 1])
        _require(bool((rising >= -1e-12).all()), learner, "ranks by probability otherwise")


def check_learner_same_seed_same_scores(learner: Any) -> None:
    """Require the same numbers from the same rows and the same seed."""
    X, _, _ = _rows(seed=1)
    first, second = (_fitted_learner(learner).decision_function(X) for _ in range(2))
    _require(np.array_equal(first, second), learner, "gives other scores the second time")


def check_learner_input_is_not_modified(learner: Any) -> None:
    """Require that arrays stay as they were, also those that cannot be written to."""
    X, s, y = _rows()
    rows, labels = X.copy(), s.copy()
    _learner(learner).fit(X, s, **_truth(learner, y)).decision_function(X)
    untouched = np.array_equal(X, rows) and np.array_equal(s, labels)
    _require(untouched, learner, "writes to its input")
    X.flags.writeable = s.flags.writeable = False
    _learner(learner).fit(X, s, **_truth(learner, y)).decision_function(X)


def check_learner_labels_of_any_kind(learner: Any) -> None:
    """Take lists, booleans and floats for labels as well."""
    X, s, y = _rows()
    expected = _fitted_learner(learner).decision_function(X)
    truth = _truth(learner, y)
    for labels, rows in ((s.tolist(), X.tolist()), (s == 1, X), (s * 1.0, X)):
        found = _learner(learner).fit(rows, labels, **truth).decision_function(X)
        _require(np.array_equal(found, expected), learner, "gives other scores for the same labels")


def check_learner_weights(learner: Any) -> None:
    """Require that weights count rows, or one line that says that the learner takes none.

    A row that counts nothing is left out, and equal weights change nothing. Where two groups of
    rows disagree about a feature, the group that counts more decides.
    """
    X, s, y = _rows()
    if not type(learner).tags.takes_weight:
        try:
            weights = np.arange(1.0, 1 + len(s))
            _learner(learner).fit(X, s, sample_weight=weights, **_truth(learner, y))
        except InvalidInputError as error:
            clear = "sample_weight" in str(error) and "\n" not in str(error)
            _require(clear, learner, f"answers weights with: {error}")
        except TypeError:
            return  # of learners whose own fit has no such argument
        else:
            _require(False, learner, "takes weights without saying so in its tags")
        return
    some = np.arange(len(s)) % 8 != 0
    found = _learner(learner).fit(X, s, sample_weight=3.0 * some, **_truth(learner, y))
    without = _learner(learner).fit(X[some], y=s[some], **_truth(learner, y[some]))
    same = np.array_equal(found.decision_function(X), without.decision_function(X))
    _require(same, learner, "counts rows of weight zero, or minds a factor of all weights")

    group = np.arange(len(s)) % 2 == 0
    X[:, 1] += np.where(group == (y == 1), 1.5, -1.5)
    other = np.random.default_rng(1).normal(size=(300, 3)) * [0.0, 1.0, 1.0]
    found_along = []
    for favored in (group, ~group):
        weights = np.where(favored, 8.0, 1.0)
        fitted = _learner(learner).fit(X, s, sample_weight=weights, **_truth(learner, y))
        scores = fitted.decision_function(other)
        found_along.append(float(np.corrcoef(scores, other[:, 1])[0, 1]))
    first, second = found_along
    _require(first > 0.2 > -0.2 > second, learner, "hardly minds what rows count")


def check_learner_known_negatives(learner: Any) -> None:
    """Require that known negatives are learned from, or left out with a warning.

    Here they are rows that look positive, but for a feature that says nothing about the others.
    """
    X, s, y = _rows()
    rng = np.random.default_rng(2)
    negatives = rng.normal([1.5, 0.0, 4.0], size=(100, 3))
    rows, labels = np.vstack([X, negatives]), np.append(s, np.full(100, -1))
    truth = _truth(learner, np.append(y, np.zeros(100, int)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = _learner(learner).fit(rows, labels, **truth)
    warned = [each.message for each in caught if isinstance(each.message, LearnerWarning)]
    unused = [each for each in warned if each.code == "negatives-unused"]
    if type(learner).tags.uses_negatives:
        _require(not unused, learner, "says that it leaves known negatives out")
        other = rng.normal([1.5, 0.0, 0.0], size=(200, 3))
        like, unlike = (found.decision_function(other + np.array([0, 0, z])) for z in (4, -4))
        share = float(np.mean(like < unlike))
        _require(share > 0.7, learner, f"scores {share:.0%} of rows lower if like known negatives")
        return
    told = len(unused) == 1 and "100" in str(unused[0])
    _require(told, learner, "leaves negatives out in silence")
    plain = _fitted_learner(learner)
    same = np.array_equal(found.decision_function(X), plain.decision_function(X))
    _require(same, learner, "gives other scores with known negatives, which it leaves out")


def check_learner_knows_alpha(learner: Any) -> None:
    """Take a number or a prior estimate for alpha, and keep what it was in alpha_ and prior_."""
    if "alpha" not in learner.get_params():
        return
    X, s, _ = _rows()
    number = _fitted_learner(learner)
    _require(number.alpha_ == ALPHA, learner, f"makes {number.alpha_!r} of alpha={ALPHA}")
    _require(number.prior_ is None, learner, "has a prior estimate where a number was given")
    given = PriorEstimate(alpha=ALPHA, method="given")
    estimated = _learner(learner).set_params(alpha=given).fit(X, s)
    _require(estimated.alpha_ == ALPHA, learner, "takes another alpha than that of an estimate")
    _require(estimated.prior_ is given, learner, "does not keep the estimate in prior_")
    same = np.array_equal(estimated.decision_function(X), number.decision_function(X))
    _require(same, learner, "gives other scores for an estimate than for its alpha")
    found = _learner(learner).set_params(alpha="elkan-noto").fit(X, s)
    asked = found.prior_ is not None and found.prior_.method == "elkan-noto"
    _require(asked and found.alpha_ == found.prior_.alpha, learner, "does not estimate alpha")


def check_learner_refuses_bad_input(learner: Any) -> None:
    """Require a ValueError for what cannot work, and one line from those that are recoup's own."""
    X, s, y = _rows()
    gap = X.copy()
    gap[7, 0] = np.nan
    strange = s.copy()
    strange[7] = 2
    cases: dict[str, tuple[Any, Any, dict[str, Any]]] = {
        "a missing value": (gap, s, {}),
        "no labels": (X, None, {}),
        "no labeled rows": (X, np.zeros(len(s), int), {}),
        "no unlabeled rows": (X, np.ones(len(s), int), {}),
        "a label 2": (X, strange, {}),
        "fewer rows than labels": (X[:-1], s, {}),
    }
    if "alpha" in learner.get_params():
        beyond = PriorEstimate(alpha=ALPHA, beta=0.8, method="given")
        for alpha in (30, 1.0, -0.1, math.nan, "guess", (0.1, 0.2), beyond):
            cases[f"alpha={alpha!r}"] = (X, s, {"alpha": alpha})
        if type(learner).tags.needs_alpha:
            cases["alpha=None"] = (X, s, {"alpha": None})
    if _takes_gaps(learner):
        del cases["a missing value"]
    truth = _truth(learner, y)
    for case, (rows, labels, changes) in cases.items():
        try:
            _learner(learner).set_params(**changes).fit(rows, labels, **truth)
        except InvalidInputError as error:
            message = str(error)
            short = "\n" not in message and 0 < len(message) <= MAX_MESSAGE
            _require(short, learner, f"answers {case} with a long message: {message[:200]}")
        except ValueError as error:
            own = case != "a missing value"  # which scikit-learn words
            _require(not own, learner, f"answers {case} with {type(error).__name__}: {error}")
        except Exception as error:
            _require(False, learner, f"answers {case} with {type(error).__name__}: {error}")
        else:
            _require(False, learner, f"accepts {case}")


def check_learner_sees_no_truth(learner: Any) -> None:
    """Require that true classes are asked for by name, and by declared references alone."""
    import inspect

    X, s, _ = _rows()
    asked = "y_true" in inspect.signature(learner.fit).parameters
    declared = type(learner).tags.requires_true_labels
    _require(asked == declared, learner, "takes y_true without saying so in its tags")
    if declared:
        try:
            _learner(learner).fit(X, s)
        except InvalidInputError as error:
            _require("y_true" in str(error), learner, f"lacks y_true and says: {error}")
        else:
            _require(False, learner, "does without the y_true that its tags require")


def check_learner_as_scikit_learn_does(learner: Any) -> None:
    """Run scikit-learn's own checks, but for those that no PU learner can pass."""
    from unittest import SkipTest

    from sklearn.utils.estimator_checks import estimator_checks_generator

    if type(learner).tags.requires_true_labels:
        return
    foreign = FOREIGN_CHECKS | (INEXACT_CHECKS if type(learner).tags.backend == "torch" else {})
    with warnings.catch_warnings():
        # Its rows are few and have no order, which some learners remark on.
        warnings.simplefilter("ignore", RecoupWarning)
        # Unlike check_estimator, this leaves out the foreign ones: fits that nobody looks at.
        for estimator, check in estimator_checks_generator(
            _learner(learner), expected_failed_checks=foreign, mark="skip"
        ):
            with suppress(SkipTest):
                check(estimator)


def _rows(seed: int = 0) -> tuple[FloatArray, NDArray[np.int_], NDArray[np.int_]]:
    """Return features, s and true classes of two overlapping normal distributions."""
    rng = np.random.default_rng(seed)
    s = np.repeat([1, 0], [N_LABELED, N_UNLABELED])
    y = (np.arange(len(s)) < N_LABELED + ALPHA * N_UNLABELED).astype(int)
    X = rng.normal(size=(len(s), 3))
    X[:, 0] += np.where(y == 1, 1.5, -1.5)
    order = rng.permutation(len(s))
    return X[order], s[order], y[order]


def _learner(learner: Any) -> Any:
    from sklearn.base import clone

    copy = clone(learner).set_params(random_state=0)
    return copy.set_params(alpha=ALPHA) if "alpha" in copy.get_params() else copy


def _fitted_learner(learner: Any) -> Any:
    X, s, y = _rows()
    return _learner(learner).fit(X, s, **_truth(learner, y))


def _truth(learner: Any, y: NDArray[np.int_]) -> dict[str, Any]:
    """Return the true classes for a reference that needs them, and nothing for a PU learner."""
    return {"y_true": y} if type(learner).tags.requires_true_labels else {}


def _takes_gaps(learner: Any) -> bool:
    from sklearn.utils import get_tags

    return bool(get_tags(learner).input_tags.allow_nan)


def _problem() -> tuple[NDArray[np.int_], FloatArray]:
    """Return labels and distinct scores in (0, 1) of two overlapping classes, fixed for good."""
    rng = np.random.default_rng(0)
    s = np.repeat([1, 0], [N_LABELED, N_UNLABELED])
    positive = np.arange(len(s)) < N_LABELED + ALPHA * N_UNLABELED
    order = rng.permutation(len(s))
    logits = rng.normal(np.where(positive, 1.5, -1.5))
    scores: FloatArray = 1 / (1 + np.exp(-logits))
    return s[order], scores[order]


def _prepared(estimator: Any, **changes: Any) -> Any:
    from sklearn.base import clone

    return clone(estimator).set_params(**changes)


def _fitted(estimator: Any, **changes: Any) -> Any:
    return _prepared(estimator, **changes).fit_scores(*_problem())


def _require(holds: bool, estimator: Any, fault: str) -> None:
    if not holds:
        raise AssertionError(f"{type(estimator).__name__} {fault}.")
