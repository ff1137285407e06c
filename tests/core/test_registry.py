"""Classes are found by the tags they carry."""

from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import ClassVar

import pytest

from recoup._core import registry as _registry
from recoup._core.registry import make, registered
from recoup.exceptions import InvalidInputError
from recoup.priors import BBE, PriorTags
from recoup.priors.base import Finding, ScorePriorEstimator


@dataclass(kw_only=True, eq=False, repr=False)
class Elsewhere(ScorePriorEstimator):
    tags: ClassVar[PriorTags] = PriorTags(
        key="elsewhere", reads="scores", assumes="nothing", cost="1", source="another package"
    )

    def _solve(self, table, rng):
        return Finding(0.25)


@pytest.fixture
def with_plugins(monkeypatch):
    """Let entry points be found as if a package with them were installed."""

    def install(**points):
        found = [
            EntryPoint(name, f"{__name__}:{target}", "recoup.priors")
            for name, target in points.items()
        ]
        monkeypatch.setattr(_registry, "entry_points", lambda group: found)
        monkeypatch.setattr(EntryPoint, "load", lambda point: globals()[point.attr])
        registered.cache_clear()

    yield install
    monkeypatch.undo()
    registered.cache_clear()


def test_every_public_class_with_tags_is_found_once_and_in_order():
    known = registered("priors")
    assert list(known) == sorted(known)
    assert known["bbe"] is BBE
    assert len(set(known.values())) == len(known)
    for cls in known.values():
        assert "tags" in vars(cls)
        assert not cls.__module__.rpartition(".")[2].startswith("_")


def test_make_builds_with_parameters():
    built = make("priors", "bbe", "estimate", gamma=0.02)
    assert isinstance(built, BBE)
    assert built.gamma == 0.02


@pytest.mark.parametrize("key", ["bbee", "BBE", "", None, 3, ["bbe"]])
def test_an_unknown_key_is_refused_in_one_line(key):
    with pytest.raises(InvalidInputError, match="estimate knows no") as refused:
        make("priors", key, "estimate")
    message = str(refused.value)
    assert "\n" not in message
    assert "Choose one of: alphamax" in message


def test_a_near_key_is_suggested():
    with pytest.raises(InvalidInputError, match="Did you mean 'roc-slope'"):
        make("priors", "roc_slope", "estimate")


def test_classes_of_other_packages_join(with_plugins):
    with_plugins(elsewhere="Elsewhere")
    assert registered("priors")["elsewhere"] is Elsewhere
    from recoup.priors import estimate

    s, scores = [1] * 30 + [0] * 70, range(100)
    assert estimate(s, list(scores), method="elsewhere").alpha == 0.25


def test_other_packages_cannot_replace_what_is_there(with_plugins):
    with_plugins(bbe="Elsewhere")
    assert registered("priors")["bbe"] is BBE
