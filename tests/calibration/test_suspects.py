import csv

import numpy as np
import pytest

from calibration.known_chances import ALPHA, hidden, rows
from recoup import calibrate, suspects
from recoup.audit import Audit
from recoup.exceptions import InvalidInputError


@pytest.fixture(scope="module")
def data():
    return rows(n=3000)


@pytest.fixture(scope="module")
def calibration(data):
    s, x, _ = data
    return calibrate(s, x, alpha=ALPHA)


def test_the_highest_unlabeled_rows_are_listed(data, calibration):
    s, x, y = data
    found = suspects(s, x, top=300, alpha=ALPHA)
    assert len(found) == 300
    assert (s[found.rows] == 0).all()
    assert (np.diff(found.scores) <= 0).all()
    assert found.scores[-1] >= np.sort(x[s == 0])[-300]
    assert np.array_equal(found.probability, calibration.transform(found.scores, among="unlabeled"))
    assert (found.lower <= found.probability).all()
    assert (found.probability <= found.upper).all()
    # As many are positive as is said.
    low, high = found.expected_range
    assert low <= y[found.rows].sum() <= high
    assert found.expected == pytest.approx(hidden(found.scores).sum(), rel=0.05)
    assert suspects(s, x, top=300, calibration=calibration).to_dict() == found.to_dict()
    assert len(suspects(s, x, top=10**6, calibration=calibration)) == (s == 0).sum()


def test_reasons_count_rows_around(calibration):
    # 200 rows with scores 0 to 199; the labels are those from 100 to 139.
    scores = np.arange(200.0)
    s = ((scores >= 100) & (scores < 140)).astype(int)
    found = suspects(s, scores, top=200, calibration=calibration)
    at = dict(zip(found.scores, zip(found.above, found.near_labeled, strict=True), strict=True))
    assert found.n_near == 100
    assert at[199.0] == (199 / 200, 40)
    assert at[0.0] == (0.0, 0)
    assert at[60.0] == (60 / 200, 10)  # rows 10.5 to 110.5
    assert found.reasons[0] == (
        "scores above 99.5% of all rows; 40 of the 100 rows nearest in score are labeled"
    )


def test_of_equal_scores_none_is_nearer(calibration):
    s = np.repeat([1, 0, 0, 1], [50, 150, 100, 100])
    scores = np.repeat([1.0, 1.0, 0.0, 0.0], [50, 150, 100, 100])
    for order in (np.arange(400), np.arange(400)[::-1]):
        found = suspects(s[order], scores[order], top=1, calibration=calibration)
        assert found.near_labeled.tolist() == [25]


def test_groups_have_a_list_each(data, calibration):
    s, x, _ = data
    country = np.array(["fi", "se", None], object)[np.arange(len(s)) % 3]
    found = suspects(s, x, top=7, calibration=calibration, groups=country)
    assert len(found) == 21
    for one in ("fi", "se", None):
        inside = np.array([group is one or group == one for group in country]) & (s == 0)
        mine = np.array([group is one or group == one for group in found.groups])
        assert np.array_equal(found.scores[mine], np.sort(x[inside])[::-1][:7])
    assert (np.diff(found.scores) <= 0).all()


def test_rows_with_an_answer_are_no_longer_listed(data):
    s, x, y = data
    first = suspects(s, x, top=20, alpha=ALPHA).rows
    rest = np.setdiff1d(np.flatnonzero(s == 0), first)
    drawn = np.concatenate([first[:10], rest[::40]])
    truth = [None if row == first[0] else float(y[row]) for row in drawn]
    audit = Audit.drawn(drawn, truth, np.repeat([1.0, 1 / 40], [10, len(rest[::40])]))
    found = suspects(s, x, top=20, alpha=ALPHA, audit=audit)
    assert first[0] in found.rows  # nobody could tell
    assert not set(first[1:10]) & set(found.rows)
    assert set(first[10:]) <= set(found.rows)


def test_names_are_safe_in_spreadsheets(data, calibration, tmp_path):
    s, x, _ = data
    ids = np.array([f"=cmd({row})" if row % 2 else f'a,"{row}"\n' for row in range(len(s))], object)
    groups = np.array(["@sum", "+1", "plain"], object)[np.arange(len(s)) % 3]
    found = suspects(s, x, top=4, calibration=calibration, ids=ids, groups=groups)
    path = found.to_csv(tmp_path / "suspects.csv")
    with path.open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == len(found) == 12
    for line, name, group, chance in zip(
        lines, found.ids, found.groups, found.probability, strict=True
    ):
        assert line["id"] == (f"'{name}" if name.startswith("=") else name)
        assert line["group"] == (group if group == "plain" else f"'{group}")
        assert float(line["probability"]) == pytest.approx(chance, rel=1e-3)
    assert list(lines[0])[:4] == ["rank", "id", "group", "probability"]
    hostile = ids.copy()
    hostile[:] = "<script>alert(1)</script>"
    page = suspects(s, x, top=2, calibration=calibration, ids=hostile)._repr_html_()
    assert "<script>" not in page


def test_what_cannot_be_listed_is_refused(data, calibration):
    s, x, _ = data
    with pytest.raises(InvalidInputError, match="suspects needs top"):
        suspects(s, x, top=0, alpha=ALPHA)
    with pytest.raises(InvalidInputError, match="one of ids for each row"):
        suspects(s, x, calibration=calibration, ids=[1, 2])
    with pytest.raises(InvalidInputError, match="calibration to be a Calibration"):
        suspects(s, x, calibration="calibration.json")
    with pytest.raises(InvalidInputError, match="Drop one"):
        suspects(s, x, calibration=calibration, alpha=0.2)


def test_no_row_left_is_said(calibration):
    found = suspects([1, -1], [0.5, 0.2], calibration=calibration)
    assert len(found) == 0
    assert found.sentence() == "No unlabeled row is left to list."
    assert repr(found) == "Suspects(0 of 0 unlabeled rows)"
    assert found.to_frame().empty
