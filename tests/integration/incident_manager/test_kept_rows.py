"""What a pass over the tables goes by: which windows keep all that is known of them, and how far histories reach."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from alerting.models import Standing, Waiver
from alerting.state import WaiverKind
from assay.config import config
from assay.models import DataTest, Pruning, Scope
from assay.time.windows import Window
from execution_engine.models import Run
from incident_manager.models import SpoiltWindow
from incident_manager.retention import HistoryReach, keeping, prune, reaches, read_kept
from tests.factories import (
    DAY,
    HOUR,
    NOW,
    DatasetFactory,
    DataTestFactory,
    IncidentFactory,
    RunFactory,
    SpoiltWindowFactory,
    StandingFactory,
    day,
)
from tests.integration.incident_manager.old_rows import OLD, YOUNG, measured

SECOND = timedelta(seconds=1)
WEEK_AGO = NOW - 7 * DAY


def waiver(test: DataTest, window: Window) -> Waiver:
    assert test.revision is not None
    return Waiver.objects.create(
        data_test=test,
        revision=test.revision,
        kind=WaiverKind.FORCED,
        window_start=window.start,
        window_end=window.end,
        reason="twins",
        author="ada",
        starts_at=NOW,
    )


@pytest.mark.usefixtures("a_week")
def test_the_windows_in_trouble_waived_or_spoilt_are_kept_with_what_their_streak_reaches() -> None:
    daily = DataTestFactory.create()
    hourly = DataTestFactory.create(dataset=DatasetFactory.create(granularity="hour"), sustain=4 * HOUR)
    table = DataTestFactory.create(dataset=daily.dataset, scope=Scope.TABLE)
    days = [day(f"2026-02-{n:02d}") for n in range(1, 10)]
    for window, state in zip(days, ("WARN", "FAIL", "UNKNOWN", "PASS", "PENDING", "LEARNING"), strict=False):
        StandingFactory.create(data_test=daily, window=window, state=state)
    StandingFactory.create(data_test=daily, window=days[6], waiver=waiver(daily, days[6]))
    incident = IncidentFactory.create(dataset=daily.dataset)
    SpoiltWindowFactory.create(incident=incident, data_test=daily, window=days[7])
    SpoiltWindowFactory.create(incident=incident, data_test=daily, window=days[8], healed_at=NOW)
    SpoiltWindowFactory.create(incident=incident, data_test=None, window=days[8])
    hour = Window(start=OLD.start, end=OLD.start + HOUR)
    StandingFactory.create(data_test=hourly, window=hour, state="FAIL")
    StandingFactory.create(data_test=table, window=OLD, state="FAIL")
    StandingFactory.create(data_test=DataTestFactory.create(scope=Scope.TABLE), window=OLD)
    found = read_kept()
    assert {pk: set(windows) for pk, windows in found.tests.items()} == {
        daily.pk: {*days[:3], days[6], days[7]},
        hourly.pk: {Window(start=hour.start - 10 * HOUR, end=hour.end + 10 * HOUR)},
    }
    assert set(found.tables) == {table.pk}
    assert {pk: set(windows) for pk, windows in found.datasets.items()} == {
        daily.dataset_id: {*days[:3], days[6], days[7]},
        hourly.dataset_id: {hour},
    }
    limits = keeping(NOW)
    assert (limits.now, limits.terms.results, limits.terms.states) == (NOW, WEEK_AGO, NOW - 2 * DAY)
    assert limits.kept == found


@pytest.mark.usefixtures("a_week")
def test_histories_reach_as_far_back_as_a_live_test_asks_or_as_tells_what_is_usual() -> None:
    trips = DatasetFactory.create()
    monthly = DatasetFactory.create(granularity="month")
    whole = DatasetFactory.create(partition_column="")
    for days in (28, 7):
        DataTestFactory.create(dataset=trips, assertion=f"mean(max(fare), last={days}) > 0")
    DataTestFactory.create(dataset=trips, assertion="mean(min(fare), last=28) > 0", retired_at=NOW)
    DataTestFactory.create(dataset=trips, assertion="max(fare) > 0")
    DataTestFactory.create(dataset=trips, assertion="mean(row_count(), last=3) > 0")
    found = reaches(NOW)
    assert {name for pk, name in found if pk == trips.pk} == {"row_count", "time_to_complete", "max"}
    assert not [pk for pk, _ in found if pk == whole.pk]
    ask = found[trips.pk, "max"]
    assert (ask.history, ask.usual) == (29 * DAY, timedelta(0))
    rows = found[trips.pk, "row_count"]
    assert (rows.history, rows.usual.days % 7) == (4 * DAY, 0)
    assert found[trips.pk, "time_to_complete"] == HistoryReach(usual=15 * DAY)
    assert found[monthly.pk, "row_count"].usual > rows.usual
    assert keeping(NOW).reaches() == found


def stands(test: DataTest, **more: Any) -> Standing:
    given = {"window": OLD, **more}
    row: Standing = StandingFactory.create(data_test=test, **given)
    return row


@pytest.mark.usefixtures("a_week")
@pytest.mark.parametrize(
    ("more", "goes"),
    [
        ({}, True),
        ({"since": WEEK_AGO - SECOND}, True),
        ({"since": WEEK_AGO}, False),
        ({"due_at": WEEK_AGO - SECOND}, True),
        ({"due_at": WEEK_AGO}, False),
        ({"window": Window(start=OLD.start, end=WEEK_AGO - SECOND)}, True),
        ({"window": Window(start=OLD.start, end=WEEK_AGO)}, False),
        ({"next_check_at": NOW}, False),
        ({"next_age_at": NOW}, False),
        ({"state": "WARN"}, False),
        ({"state": "LEARNING"}, True),
        ({"state": "UNTESTED"}, True),
    ],
)
def test_a_standing_at_rest_goes_once_all_of_it_has_had_its_time(
    custom: DataTest, more: dict[str, Any], goes: bool
) -> None:
    early = {"since": OLD.end, "due_at": OLD.end}
    row = stands(custom, **{**early, **more})
    prune()
    assert Standing.objects.filter(pk=row.pk).exists() is not goes


@pytest.mark.usefixtures("a_week")
@pytest.mark.parametrize(("judged_at", "goes"), [(WEEK_AGO - SECOND, True), (WEEK_AGO, False), (None, False)])
def test_a_standing_stays_as_long_as_its_newest_run(custom: DataTest, judged_at: datetime | None, goes: bool) -> None:
    run = RunFactory.create(data_test=custom, window=OLD, judged_at=judged_at)
    row = stands(custom, last_run=run)
    prune()
    assert Standing.objects.filter(pk=row.pk).exists() is not goes
    assert Run.objects.exists() is not goes


@pytest.mark.usefixtures("a_week")
def test_beside_a_window_in_trouble_its_streak_keeps_the_windows_of_the_same_test() -> None:
    test = DataTestFactory.create(dataset=DatasetFactory.create(granularity="hour"), sustain=4 * HOUR)
    hours = {n: Window(start=OLD.start + n * HOUR, end=OLD.start + (n + 1) * HOUR) for n in (-1, 0, 10, 20, 21)}
    rows = {n: stands(test, window=window, state="FAIL" if n == 10 else "PASS") for n, window in hours.items()}
    other = stands(DataTestFactory.create(dataset=test.dataset), window=hours[0])
    prune()
    left = {n for n, row in rows.items() if Standing.objects.filter(pk=row.pk).exists()}
    assert left == {0, 10, 20}
    assert not Standing.objects.filter(pk=other.pk).exists()


@pytest.mark.usefixtures("a_week")
@pytest.mark.parametrize(
    ("more", "stays"),
    [
        ({}, False),
        ({"last_outcome": "broken"}, True),
        ({"error_reason": "timeout"}, True),
        ({"state": "UNKNOWN"}, True),
    ],
)
def test_of_a_whole_table_that_last_held_the_runs_before_go(
    custom: DataTest, more: dict[str, Any], stays: bool
) -> None:
    table = DataTestFactory.create(dataset=custom.dataset, scope=Scope.TABLE)
    before = RunFactory.create(data_test=table, window=OLD)
    newest = RunFactory.create(data_test=table, window=OLD)
    stands(table, window_key="table", last_run=newest, **more)
    prune()
    assert Run.objects.filter(pk=newest.pk).exists()
    assert Run.objects.filter(pk=before.pk).exists() is stays
    assert Standing.objects.exists()


@pytest.mark.usefixtures("a_week")
def test_runs_stay_with_the_standing_of_their_own_window(custom: DataTest) -> None:
    stands(custom, state="FAIL", last_outcome="broken")
    longer = Window(start=OLD.start, end=OLD.end + HOUR)
    runs = {
        "own": RunFactory.create(data_test=custom, window=OLD),
        "longer": RunFactory.create(data_test=custom, window=longer),
        "other window": RunFactory.create(data_test=custom, window=day("2026-01-11")),
        "other test": RunFactory.create(data_test=DataTestFactory.create(), window=OLD),
        "young": RunFactory.create(data_test=custom, window=day("2026-01-12"), judged_at=WEEK_AGO),
        "old": RunFactory.create(data_test=custom, window=day("2026-01-12"), judged_at=WEEK_AGO - SECOND),
    }
    prune()
    left = {name for name, run in runs.items() if Run.objects.filter(pk=run.pk).exists()}
    assert left == {"own", "young"}


@pytest.mark.usefixtures("a_week")
def test_measurements_of_a_bad_window_and_of_runs_that_stay_are_kept(custom: DataTest) -> None:
    stands(custom, state="FAIL", last_outcome="broken")
    run = RunFactory.create(data_test=custom, window=day("2026-01-12"), judged_at=NOW)
    other = DatasetFactory.create()
    rows = {
        "bad": measured(custom.dataset, OLD),
        "asked": measured(custom.dataset, day("2026-01-12"), run=run),
        "idle": measured(custom.dataset, day("2026-01-13")),
        "other table": measured(other, OLD),
        "young": measured(custom.dataset, day("2026-01-13"), measured_at=WEEK_AGO),
        "unmeasured": measured(custom.dataset, day("2026-01-13"), measured_at=None),
        "yesterday": measured(custom.dataset, YOUNG),
    }
    prune()
    left = {name for name, row in rows.items() if type(row).objects.filter(pk=row.pk).exists()}
    assert left == {"bad", "asked", "young", "unmeasured", "yesterday"}
    assert Pruning.objects.get().removed["measurements"] == 2


@pytest.mark.usefixtures("a_week")
def test_results_that_are_kept_for_ever_keep_their_states_for_as_long_as_was_said(
    custom: DataTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config(), "run_retention", 0)
    row = measured(custom.dataset, OLD, state=b"large")
    at_limit = measured(custom.dataset, OLD, state=b"large", requested_at=NOW - 2 * DAY)
    stands(custom)
    prune()
    row.refresh_from_db()
    at_limit.refresh_from_db()
    assert (row.state, row.value, at_limit.state is not None) == (None, 1.0, True)
    assert Standing.objects.exists()
    assert not SpoiltWindow.objects.exists()
