"""Every registered prior estimator goes through the same checks."""

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from recoup._core.registry import registered
from recoup.priors import BBE, PriorTags
from recoup.priors.base import Finding, ScorePriorEstimator
from recoup.testing import check_prior_estimator, prior_estimator_checks

CHECKS = {check.__name__: check for check in prior_estimator_checks()}


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("key", registered("priors"))
def test_registered_estimators(key, check):
    CHECKS[check](registered("priors")[key](n_draws=3))


def test_keys_are_those_of_the_tags():
    for key, cls in registered("priors").items():
        assert cls.tags.key == key


@dataclass(kw_only=True, eq=False, repr=False)
class Faulty(ScorePriorEstimator):
    """Breaks the promise that its parameter names."""

    tags: ClassVar[PriorTags] = PriorTags(
        key="faulty", reads="scores", assumes="nothing", cost="1", source="nowhere"
    )
    fault: str = "none"

    def _solve(self, table, rng):
        if self.fault == "not finite":
            return Finding(np.nan)
        if self.fault == "no seed":
            return Finding(np.random.default_rng().uniform(0.2, 0.4))
        if self.fault == "loud":
            return Finding(0.3, warnings=("two\nlines",))
        return Finding(0.3)

    def fit_scores(self, s, scores=None):
        if self.fault == "modifies":
            scores = np.asarray(scores)
            scores[0] = 0.5
        if self.fault == "order" and scores is not None:
            super().fit_scores(s, scores)
            object.__setattr__(self.estimate_, "alpha", float(np.asarray(scores)[0]))
            return self
        if self.fault == "accepts" and scores is not None:
            scores = np.nan_to_num(scores)
        if self.fault == "parameters":
            self.confidence = 0.95 + 0.0
        return super().fit_scores(s, scores)


@pytest.mark.parametrize(
    ("fault", "check", "message"),
    [
        ("not finite", "check_estimate", "gives alpha=nan"),
        ("no seed", "check_same_seed_same_answer", "another alpha the second time"),
        ("loud", "check_result_can_be_shown", "warns"),
        ("order", "check_row_order_does_not_matter", "depends on the order of rows"),
        ("accepts", "check_bad_input_is_refused", "accepts a missing score"),
        ("parameters", "check_clone_and_parameters", "changes 'confidence' in fit"),
        ("modifies", "check_input_is_not_modified", "writes to its input"),
    ],
)
def test_broken_promises_are_noticed(fault, check, message):
    faulty = Faulty(fault=fault, n_draws=3)
    with pytest.raises(AssertionError, match=message):
        CHECKS[check](faulty)
    with pytest.raises(AssertionError):
        check_prior_estimator(faulty)


def test_a_sound_estimator_passes():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_prior_estimator(Faulty(n_draws=3))
        check_prior_estimator(BBE(n_draws=3, gamma=0.02))
