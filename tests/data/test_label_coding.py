"""Labels in any coding: read where there is one way, else refused with the values found."""

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from recoup.data import as_pu_labels
from recoup.data.label_coding import read_label_column
from recoup.exceptions import InvalidInputError

CODINGS = {
    "numbers": ([1, 0, 0], {}, [1, 0, 0]),
    "floats": ([1.0, 0.0, -1.0], {}, [1, 0, -1]),
    "booleans": ([True, False, False], {}, [1, 0, 0]),
    "booleans and gaps": ([True, None, None], {}, [1, 0, 0]),
    "gaps are unlabeled": ([1.0, np.nan, np.nan], {}, [1, 0, 0]),
    "gaps beside negatives": ([1.0, np.nan, -1.0], {}, [1, 0, -1]),
    "one and minus one": ([1, -1, -1], {}, [1, 0, 0]),
    "yes and no": (["Yes", "no", " no "], {}, [1, 0, 0]),
    "yes and nothing": (["yes", "", None], {}, [1, 0, 0]),
    "words": (["positive", "unlabeled", "negative"], {}, [1, 0, -1]),
    "two words": (["positive", "negative", "negative"], {}, [1, 0, 0]),
    "told": (["fraud", "ok", None], {"positive": "fraud"}, [1, 0, 0]),
    "told, any case": (["Fraud", "OK", None], {"positive": "fraud"}, [1, 0, 0]),
    "told twice": (["a", "b", "c"], {"positive": ["a", "b"]}, [1, 1, 0]),
    "told a number": ([2, 3, 3], {"positive": "2.0"}, [1, 0, 0]),
    "told negatives": ([1, 0, None], {"negative": "0"}, [1, -1, 0]),
    "told both": (["f", "ok", "?"], {"positive": "f", "negative": ["ok"]}, [1, -1, 0]),
}


@pytest.mark.parametrize(("values", "told", "expected"), CODINGS.values(), ids=CODINGS.keys())
@pytest.mark.parametrize("make", [list, pd.Series, pa.array, lambda v: np.array(v, object)])
def test_codings(values, told, expected, make):
    if make is pa.array:
        values = [None if value != value else value for value in values]
    assert as_pu_labels(make(values), **told).tolist() == expected


REFUSED = {
    "three words": (["yes", "no", "maybe"], {}, "'maybe' in 1 of 3 rows"),
    "two unknown words": (["fraud", "ok"], {}, "fraud (1 rows), ok (1 rows)"),
    "zero and gaps": ([1, 0, None], {}, "--negative 0"),
    "no and gaps": (["yes", "no", None], {}, "beside no value, which is in 1 of 3 rows"),
    "other numbers": ([1, 2, 2], {}, "2 in 2 of 3 rows"),
    "no positive": ([0, 0], {}, "no labeled positive row"),
    "nothing at all": ([None, None], {}, "no labeled positive row"),
    "no unlabeled": ([1, 1], {}, "no unlabeled row"),
    "not there": (["a", "b"], {"positive": "c"}, "no row with the positive label 'c'"),
    "nearly there": (["fraud", "ok"], {"positive": "fruad"}, "Did you mean 'fraud'?"),
    "both": (["a", "b"], {"positive": "a", "negative": "a"}, "'a' as both"),
    "dates": ([datetime.date(2024, 1, 1)] * 2, {}, "holds dates"),
    "lists": ([[1], [0]], {}, "holds neither numbers nor text"),
    "no rows": ([], {}, "needs rows"),
}


@pytest.mark.parametrize(("values", "told", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_could_mean_two_things_is_refused(values, told, message):
    with pytest.raises(InvalidInputError) as caught:
        as_pu_labels(values, caller="fit", **told)
    assert message in str(caught.value)
    assert str(caught.value).startswith("fit ")
    assert len(str(caught.value)) < 700


def test_what_was_read_is_said():
    coding = read_label_column(["yes", None, None], "fit")[1]
    assert coding.text == "yes: labeled positive (1 rows); an empty cell: unlabeled (2 rows)"
    many = [f"word {k}" for k in range(40)]
    coding = read_label_column([*many, "word 3"], "fit", "word 3")[1]
    assert coding.text.startswith("word 3: labeled positive (2 rows); word 0, word 1")
    assert coding.text.endswith("and 33 others: unlabeled (39 rows)")
