"""A page of many models: pairs with the best one, curves in steps, what is alike only once."""

import base64
import json

import numpy as np
import pytest

from recoup import compare
from recoup.report import Report
from recoup.report.page.crowded import FEW_MODELS, MOST_PAIRS, crowded
from recoup.report.page.models import summarize_comparison
from recoup.report.page.payload import page_data


@pytest.fixture(scope="module")
def comparison():
    rng = np.random.default_rng(0)
    y = rng.random(1500) < 0.3
    s = (y & (rng.random(1500) < 0.4)).astype(int)
    models = {
        f"model {place}": rng.normal(y * (0.5 + place / 4)) for place in range(FEW_MODELS + 1)
    }
    return compare(s, models, alpha=0.2, n_boot=0)


def test_pairs_with_the_best_model_are_kept(comparison):
    whole, few = summarize_comparison(comparison), summarize_comparison(comparison, str, MOST_PAIRS)
    best = whole["ranking"][0]
    kept = [one for one in whole["differences"] if best in (one["first"], one["second"])]
    assert few["differences"] == kept
    assert len({(one["first"], one["second"]) for one in kept}) == FEW_MODELS
    assert (whole["left_out"], few["leader"]) == ("", whole["leader"])
    assert few["left_out"].startswith(
        f"Of 36 pairs of models those with the best one, model {best}"
    )
    # The correction is still that for all pairs, and is said to be.
    assert all("after correction for 36 comparisons" in text for text in few["sentences"][:8])
    assert set(few["sentences"]) < set(whole["sentences"])
    page = Report(comparison, "Nine").to_html()
    assert few["left_out"] in page
    assert page.count('.adjusted">') == len(kept)
    assert Report(comparison, "Nine").to_dict()["comparison"]["differences"] == whole["differences"]


def test_curves_in_steps_are_those_of_the_evaluation(comparison):
    models = page_data(comparison.evaluations)["models"]
    packed = crowded(models)
    assert crowded(models[:FEW_MODELS]) == models[:FEW_MODELS]
    assert [one["specs"] is None for one in packed] == [False, *[True] * FEW_MODELS]
    for plain, one in zip(models, packed, strict=True):
        for part in ("bands", "bounds"):
            for name, curves in plain[part].items():
                for key, values in curves.items():
                    if not isinstance(values, list):
                        assert one[part][name][key] == values
                        continue
                    found = one[part][name][key]
                    steps = np.frombuffer(base64.b64decode(found["data"]), "<u2").astype(float)
                    shares = np.where(steps > found["steps"], np.nan, steps / found["steps"])
                    expected = [np.nan if value is None else value for value in values]
                    np.testing.assert_allclose(shares, np.clip(expected, 0, 1), atol=1e-5)
    assert len(json.dumps(packed)) < 0.75 * len(json.dumps(models))


def test_another_model_is_shown(comparison, open_page, tmp_path):
    path = tmp_path / "nine.html"
    Report(comparison, "Nine").write(path)
    page = open_page(path)
    place = next(place for place in range(FEW_MODELS) if place != page.evaluate("0"))
    page.select_option("#model", str(place))
    evaluation = comparison.evaluations[f"model {place}"]
    assert evaluation.next_step.text in page.inner_text("#next-step")
    assert page.locator("#figure-roc svg path").count() > 2
