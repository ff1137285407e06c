"""monitor: from frames and files to weeks, as of any moment."""

import json
import pickle

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import recoup
from monitoring.payments import START, THRESHOLD, made_up, truth
from recoup import monitor
from recoup.exceptions import InvalidInputError
from recoup.monitoring.monitor import SIGNIFICANT

NAMES = {"score": "p", "label": "chargeback", "time": "paid_at"}
GIVEN = {"labeled_at": "reported_at", "label_frequency": (0.55, 0.65), "threshold": THRESHOLD}


@pytest.fixture(scope="module")
def world():
    return made_up()


@pytest.fixture(scope="module")
def found(world):
    return monitor(world.frame, **NAMES, **GIVEN, now=world.end)


def same(one, other):
    assert one.periods == other.periods
    for key in one:
        for end in ("value", "lower", "upper"):
            np.testing.assert_allclose(getattr(one[key], end), getattr(other[key], end), rtol=1e-9)
    assert one.evidence == pytest.approx(other.evidence)


def test_every_week_is_near_the_truth(world, found):
    assert found.periods[0] == str(START.date())
    assert len(found.periods) == world.weeks
    for key, true in truth(world).items():
        values = found[key]
        assert np.sqrt(np.mean((values.value - true) ** 2)) < {"pi": 0.012}.get(key, 0.05)
        assert np.mean((values.lower <= true) & (true <= values.upper)) >= 0.9
        assert ((values.lower <= values.value) & (values.value <= values.upper)).all()
    # The latest weeks have few labels, which naive counting takes for few positives.
    assert found.arrived[-1] < 0.3
    assert found["precision"].value[-1] > 2 * (found.n_labeled / found.n_flagged)[-1]


def test_latest_weeks_are_less_sure(found):
    width = found["recall"].upper - found["recall"].lower
    assert width[-3:].mean() > 1.1 * width[10:20].mean()


def test_frames_files_and_orders_say_the_same(world, found, tmp_path):
    frame = world.frame
    csv, parquet, lines = (tmp_path / f"rows.{kind}" for kind in ("csv", "parquet", "jsonl"))
    frame.to_csv(csv, index=False, date_format="%Y-%m-%dT%H:%M:%S.%f")
    frame.to_parquet(parquet)
    shuffled = frame.sample(frac=1, random_state=0)
    sources = [pl.from_pandas(frame), pl.from_pandas(frame).lazy(), pa.Table.from_pandas(frame)]
    for source in (*sources, shuffled, parquet, str(parquet)):
        same(monitor(source, **NAMES, **GIVEN, now=world.end), found)
    text = frame.assign(
        paid_at=frame["paid_at"].dt.strftime("%Y-%m-%dT%H:%M:%S"),
        reported_at=frame["reported_at"].dt.strftime("%Y-%m-%dT%H:%M:%S"),
    )
    text.to_csv(csv, index=False)
    text.to_json(lines, orient="records", lines=True)
    by_second = monitor(csv, **NAMES, **GIVEN, now=world.end)
    same(monitor(lines, **NAMES, **GIVEN, now=world.end), by_second)
    np.testing.assert_allclose(by_second["recall"].value, found["recall"].value, atol=0.003)


def test_an_earlier_moment_knows_what_was_known_then(world):
    then = START + pd.Timedelta(7 * 25 + 3, "D")
    frame = world.frame[world.frame["paid_at"] <= then].copy()
    late = ~(frame["reported_at"] <= then)
    frame.loc[late, "chargeback"] = 0
    frame.loc[late, "reported_at"] = pd.NaT
    back = monitor(world.frame, **NAMES, **GIVEN, now=then)
    same(back, monitor(frame, **NAMES, **GIVEN, now=then))
    assert len(back.periods) == 26
    assert back.now == "2026-07-02T00:00:00"


def test_numbers_and_dates_alone_are_times_too(world):
    frame = world.frame.assign(paid_at=world.day, reported_at=world.day + world.taken)
    numbers = monitor(frame, **NAMES, **GIVEN, every=7, now=280)
    assert numbers.periods[:2] == ("0", "7")
    dates = world.frame.assign(
        paid_at=world.frame["paid_at"].dt.date, reported_at=world.frame["reported_at"].dt.date
    )
    days = monitor(dates, **NAMES, **GIVEN, now=world.end.date())
    for other in (numbers, days):
        np.testing.assert_allclose(
            other["recall"].value, monitor(world.frame, **NAMES, **GIVEN)["recall"].value, atol=0.01
        )


def test_a_week_without_rows_has_no_precision(world):
    frame = world.frame[world.week != 12]
    found = monitor(frame, **NAMES, **GIVEN)
    assert found.n_rows[12] == 0
    for key in ("precision", "recall", "pi", "roc_auc"):
        assert np.isnan(found[key].value[12])
        assert np.isfinite(np.delete(found[key].value, 12)).all()
    assert json.loads(json.dumps(found.to_dict()))["periods"][12]["precision"]["value"] is None


def test_labels_without_times_count_as_complete(world):
    frame = world.frame.assign(chargeback=world.ever.astype(int))
    found = monitor(frame, **NAMES, label_frequency=0.6, threshold=THRESHOLD)
    np.testing.assert_array_equal(found.arrived, 1)
    assert np.abs(found["pi"].value - truth(world)["pi"]).mean() < 0.012


def test_rows_that_were_blocked_are_not_taken_for_negative():
    world = made_up(5, delay=0.0, blocked=2.5)
    true = truth(world)["precision"].mean()
    options = {"label_frequency": 0.6, "threshold": THRESHOLD}
    told = monitor(world.frame, **NAMES, **options, observable="allowed")
    untold = monitor(world.frame, **NAMES, **options)
    assert told["precision"].value.mean() == pytest.approx(true, abs=0.03)
    assert untold["precision"].value.mean() < true - 0.2


def test_scores_of_which_no_row_could_get_a_label_are_named():
    world = made_up(4, delay=0.0, blocked=2.5)
    frame = world.frame.assign(allowed=world.frame["p"] < 2.5)
    frame.loc[~frame["allowed"], "chargeback"] = 0
    found = monitor(frame, **NAMES, label_frequency=0.6, threshold=THRESHOLD, observable="allowed")
    (note,) = (note for note in found.notes if note.code == "never-observable")
    assert "Let a few through" in note


def test_checked_rows_settle_the_label_frequency(world):
    s, scores = world.frame["chargeback"].to_numpy(), world.frame["p"].to_numpy()
    plan = recoup.audit.plan(s, scores, threshold=THRESHOLD, budget=400, n_waves=1)
    audit = plan.answers(plan.rows, world.y[plan.rows].astype(int))
    found = monitor(
        world.frame, **NAMES, labeled_at="reported_at", threshold=THRESHOLD, audit=audit
    )
    share = found.label_frequency
    assert share.source == "audit"
    assert share.lower < 0.6 < share.upper
    assert share.upper / share.lower < 1.6
    with pytest.raises(InvalidInputError, match="audit of the rows that have happened"):
        monitor(world.frame, **NAMES, threshold=THRESHOLD, audit=audit, now="2026-06-01")


def test_without_being_told_old_rows_say_how_many_are_labeled(world):
    found = monitor(world.frame, **NAMES, labeled_at="reported_at", threshold=THRESHOLD)
    share = found.label_frequency
    assert share.source == "mature rows"
    assert share.lower < 0.6 < share.upper
    assert "label-frequency-estimated" in {note.code for note in found.notes}


def test_delays_that_depend_on_the_score_are_taken_into_account():
    world = made_up(5, weeks=30, rows=2500, delay=20.0)
    slow = np.where(world.frame["p"] >= THRESHOLD, 1.0, 3.0)
    world.taken *= slow
    told = world.ever & (world.day + world.taken <= 210)
    paid = world.frame["paid_at"]
    frame = world.frame.assign(
        chargeback=told.astype(int),
        reported_at=(paid + pd.to_timedelta(world.taken, "D")).where(told),
    )
    found = monitor(frame, **NAMES, **GIVEN, now=world.end)
    assert found.delays.score_p < SIGNIFICANT
    assert found.delays.score_trend < 0
    assert "delays-by-score" in {note.code for note in found.notes}
    late = slice(-10, -2)
    assert np.abs(found["recall"].value - truth(world)["recall"])[late].mean() < 0.08


def test_an_alarm_says_what_changed_and_since_when():
    world = made_up(6, rows=1500, change=34, shift=0.9)
    found = monitor(world.frame, **NAMES, **GIVEN)
    (alarm,) = found.alarms
    assert alarm.cause == "recall"
    assert abs(alarm.period - 34) <= 1
    assert alarm.since == found.periods[alarm.period]
    assert "smaller share of the positives" in alarm.text
    assert alarm.log_evidence > alarm.needed
    assert f"recall since {alarm.since}" in repr(found)
    assert alarm.text.split(":")[0] in found._repr_html_()
    assert found.to_dict()["alarms"][0]["cause"] == "recall"


def test_the_result_can_be_taken_away(found):
    frame = found.to_frame()
    assert list(frame["period"]) == list(found.periods)
    assert {"pi", "precision_lower", "recall_upper", "roc_auc", "arrived"} <= set(frame)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["periods"][3]["recall"]["value"] == found["recall"].value[3]
    assert plain["delays"]["n_labels"] == found.delays.n_labels
    last = found.at("last")["precision"]
    assert last == found.at(found.periods[-1])["precision"]
    assert "precision" in repr(last)
    assert list(found) == ["pi", "precision", "recall", "roc_auc"]
    assert len(found) == 4
    assert "week by week" in found._repr_html_().lower()
    same(pickle.loads(pickle.dumps(found)), found)
    with pytest.raises(InvalidInputError, match="Did you mean 'recall'"):
        found["recal"]
    with pytest.raises(InvalidInputError, match="has 40 periods"):
        found.at("2020-01-01")


def test_a_metric_is_drawn_with_its_band(found):
    mpl.use("Agg")
    display = found.plot("recall")
    np.testing.assert_array_equal(display.line_.get_ydata(), found["recall"].value)
    assert display.ax_.get_ylabel() == "Recall"


def test_missing_and_early_labels_are_left_out_of_delays_and_named(world):
    frame = world.frame.copy()
    labeled = np.flatnonzero(world.told)
    frame.loc[labeled[:5], "reported_at"] = pd.NaT
    frame.loc[labeled[5:8], "reported_at"] = START - pd.Timedelta(1, "D")
    found = monitor(frame, **NAMES, **GIVEN)
    assert found.delays.n_labels == len(labeled) - 8
    assert found.n_labeled.sum() == len(labeled)
    said = [note for note in found.notes if note.code == "times-odd"]
    assert ["5 of" in said[0], "before their 'paid_at'" in said[1]] == [True, True]


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"time": "paid"}, "no column 'paid'.*Did you mean 'paid_at'"),
        ({"p": "high"}, {}, "numbers in the column 'p'"),
        ({"p": np.nan}, {}, "every score to be a finite number"),
        ({"chargeback": 0}, {}, "labeled and unlabeled rows. Got no labeled positive"),
        ({"paid_at": pd.NaT}, {}, "the time of every row"),
        ({"reported_at": pd.NaT}, {}, "labeled rows have no time in 'reported_at'"),
        ({"reported_at": START - pd.Timedelta(9, "D")}, {}, "before their 'paid_at'"),
        ({"reported_at": 5.0}, {}, "times of one kind"),
        ({"allowed": "yes"}, {"observable": "allowed"}, "say true or false of every row"),
        ({}, {"now": "2020-01-01"}, "rows that have happened by now"),
        ({}, {"now": "2026-01-05T01:00:00"}, "unlabeled rows by 2026-01-05T01:00:00. Got 0"),
        ({}, {"every": "h"}, "a period such as"),
        ({}, {"label_frequency": 1.2}, "label_frequency to be a number above 0 and at most 1"),
        ({}, {"label_frequency": (0.5, "x")}, "label_frequency"),
        ({}, {"label_frequency": 0.5, "audit": object()}, "label_frequency or audit, not both"),
        ({}, {"confidence": 1.0}, "confidence to be a number"),
        ({}, {"threshold": None}, "monitor needs a threshold"),
        ({}, {"threshold": float("nan")}, "threshold to be a number"),
        ({}, {"label_frequency": None, "now": "2026-01-20"}, "Pass label_frequency"),
    ],
)
def test_what_cannot_work_is_explained(world, change, options, message):
    frame = world.frame.assign(**change)
    with pytest.raises(InvalidInputError, match=message):
        monitor(frame, **{**NAMES, **GIVEN, **options})


def test_zones_in_one_column_alone_are_refused(world):
    frame = world.frame.assign(paid_at=world.frame["paid_at"].dt.tz_localize("UTC"))
    with pytest.raises(InvalidInputError, match="time zones in both columns or in none"):
        monitor(frame, **NAMES, **GIVEN)


def test_weeks_go_by_the_clock_on_the_spot(world):
    both = {
        name: world.frame[name].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
        for name in ("paid_at", "reported_at")
    }
    found = monitor(world.frame.assign(**both), **NAMES, **GIVEN)
    local = both["paid_at"].dt.tz_localize(None).dt.to_period("W-SUN")
    np.testing.assert_array_equal(found.n_rows, local.value_counts().sort_index().to_numpy())


def test_arrays_are_no_frame():
    with pytest.raises(InvalidInputError, match="a data frame that narwhals knows"):
        monitor(np.zeros((3, 3)), **NAMES)
