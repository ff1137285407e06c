"""Parameters that all prior estimators share are explained in each class, in the same words."""

import re

import pytest
from numpydoc.docscrape import ClassDoc

from recoup._core.registry import registered
from recoup.priors import FeaturePriorEstimator, ScorePriorEstimator

SHARED = ("transform", "interval", "n_draws", "confidence", "random_state")
# Their choices differ from those of the others, so their words do too.
OWN_WORDS = {
    ("auto", "interval"),
    ("auto", "transform"),
    ("auto-1", "interval"),
    ("km1", "interval"),
    ("km2", "interval"),
    ("pulsnar", "interval"),
    ("pulsnar", "transform"),
    ("share-net", "interval"),
}


def explained(cls):
    found = ClassDoc(cls, config={"show_class_members": False})["Parameters"]
    return {entry.name: entry for entry in found}


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize("key", registered("priors"))
def test_shared_parameters_are_explained_in_the_same_words(key, name):
    cls = registered("priors")[key]
    base = FeaturePriorEstimator
    if issubclass(cls, ScorePriorEstimator):
        base = ScorePriorEstimator
    entry, wanted = explained(cls)[name], explained(base)[name]
    # Defaults differ between classes; that they are said right is tested for all parameters.
    kind, wanted_kind = (re.sub(r", default=.*", "", text.type) for text in (entry, wanted))
    same = (kind, entry.desc) == (wanted_kind, wanted.desc)
    assert same == ((key, name) not in OWN_WORDS)
