"""What every prior estimator must do: checks for recoup's own and for those of other packages."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._checks import FloatArray
from recoup.exceptions import InvalidInputError
from recoup.priors import PriorEstimate, PriorTags

__all__ = ["check_prior_estimator", "prior_estimator_checks"]

N_LABELED, N_UNLABELED, ALPHA = 150, 800, 0.3
MAX_MESSAGE = 1000


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
    """Return the checks one by one, for a test that is run once for each."""
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
