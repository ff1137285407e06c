"""Claims are shown in full and counted by their causes."""

import json

from papers import Claim, Effect
from papers.claims import (
    cause_table,
    claim_table,
    claims_in_full,
    from_dict,
    to_dict,
    verdict_counts,
    verdict_sentence,
)


def claim(verdict="holds", cause="", effect=None, **changes):
    common = {"text": "It is so.", "setting": "here", "rule": "It must.", "published": "1"}
    return Claim(**{**common, "ours": "2", **changes}, effect=effect, verdict=verdict, cause=cause)


def test_claims_survive_json():
    for one in (claim(), claim("does not hold", "noise", Effect(1.5, 1.0, 2.0, "times"))):
        assert from_dict(json.loads(json.dumps(to_dict(one)))) == one


def test_verdicts_are_counted_in_one_order():
    counts = verdict_counts([claim("cannot be told"), claim(), claim()])
    assert list(counts.items()) == [
        ("holds", 2),
        ("holds in the paper's setting", 0),
        ("does not hold", 0),
        ("cannot be told", 1),
    ]


def test_causes_are_counted_once_over_papers():
    some = [claim(), claim("does not hold", "noise"), claim("does not hold", "noise")]
    other = [claim("holds in the paper's setting", "noise"), claim("cannot be told", "silence")]
    table = cause_table({"A": some, "B": other})
    assert "| noise | A, B | 3 | 0 | 1 | 2 | 0 |" in table
    assert "| silence | B | 1 | 0 | 0 | 0 | 1 |" in table
    assert "| noise | 2 | 0 | 0 | 2 | 0 |" in cause_table({"A": some})
    assert cause_table({"A": [claim()]}) == ""


def test_sentence_counts_claims_and_causes():
    some = [claim("does not hold", "noise"), claim("holds in the paper's setting", "noise")]
    assert verdict_sentence(some) == (
        "0 of 2 claims hold, 1 holds in the paper's setting alone, 1 does not hold. The 2 that are "
        "limited or fail have 1 cause."
    )
    assert verdict_sentence([claim(), claim()]) == "2 of 2 claims hold."


def test_a_claim_in_full_says_all():
    one = claim("does not hold", "noise", Effect(1.5, 1.0, 2.0, "times"), reason="It is\nloud.")
    text = claims_in_full([claim(), one])
    assert "**2. It is so.**" in text
    assert "- Effect (95% interval): 1.5 (1.0 to 2.0) times\n- **does not hold** (noise)." in text
    assert text.endswith("It is loud.")
    # Without an effect the line is left out.
    assert text.count("- Effect") == 1
    assert "| It is so. | here | 1.5 (1.0 to 2.0) times | does not hold | noise |" in (
        claim_table([one])
    )


def test_what_is_the_effect_itself_is_written_once():
    effect = Effect(1.5, 1.0, 2.0, "times")
    once = claims_in_full([claim(effect=effect, ours="1.5 (1.0 to\n2.0) times")])
    assert once.count("1.5 (1.0 to 2.0) times") == 1
    assert "- Ours:" not in once
    assert "- Ours: 1.5 times" in claims_in_full([claim(effect=effect, ours="1.5 times")])
