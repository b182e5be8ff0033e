"""Rows that have had their time go, and no verdict, answer or score changes with them."""

import os
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from alerting.models import Alert, Flip, Notice, Standing
from alerting.tasks import judge
from assay import clock
from assay.config import config
from assay.models import DataChange, Dataset, DataTest, Round, Scope, Tallied
from assay.queue.claims import claim, totals
from assay.queue.flow import stage
from assay.time.windows import Window
from execution_engine.models import Ask, Measurement, PartState, Run, Scan, Watch
from execution_engine.parts.state_store import UnableToLoadState, load_state, store_state
from incident_manager import retention
from incident_manager.models import LookUp, SpoiltWindow
from incident_manager.retention import HistoryReach, keeping, prune, reaches, read_kept
from incident_manager.scores.metric_reporter import scores
from tests.factories import (
    DAY,
    HOUR,
    NOW,
    DatasetFactory,
    DataTestFactory,
    IncidentFactory,
    NoticeFactory,
    RunFactory,
    SpoiltWindowFactory,
    StandingFactory,
    day,
)
from tests.integration.engines.stored import store
from tests.integration.incident_manager.old_rows import OLD, YOUNG, judged, measured
from tests.integration.rows import waiver

pytestmark = pytest.mark.usefixtures("a_week")

SECOND = timedelta(seconds=1)
WEEK_AGO = NOW - 7 * DAY
WINDOW = {"window_start": OLD.start, "window_end": OLD.end}
NOTHING_SEEN = {"states": 0, "whole_profiles": 0, "profiles": 0}


def windows_of(model: Any) -> list[datetime]:
    return list(model.objects.order_by("window_start").values_list("window_start", flat=True))


def test_a_window_that_has_long_held_goes_with_all_that_is_known_of_it(custom: DataTest) -> None:
    judged(custom, OLD), judged(custom, YOUNG)
    assert prune() == 1
    assert [windows_of(model) for model in (Standing, Run, Measurement)] == [[YOUNG.start]] * 3
    assert Ask.objects.count() == 1
    assert totals()[Tallied.PRUNED] == {"standings": 1.0, "runs": 1.0, "measurements": 1.0}


def test_a_window_with_a_flip_that_nobody_has_handled_stays(custom: DataTest) -> None:
    assert custom.revision is not None
    run = judged(custom, OLD)
    flip = Flip.objects.create(
        standing=Standing.objects.get(), data_test=custom, revision=custom.revision, run=run, window_start=OLD.start,
        window_end=OLD.end, old="WARN", new="PASS", at=OLD.end,
    )  # fmt: skip
    prune()
    assert Standing.objects.count() == 1
    Flip.objects.filter(pk=flip.pk).update(handled_at=NOW)
    clock.simulate(NOW + DAY)
    prune()
    assert (Standing.objects.count(), Flip.objects.count(), Run.objects.count()) == (0, 0, 0)


def test_a_window_that_was_pruned_and_runs_again_is_judged_again(custom: DataTest) -> None:
    judged(custom, OLD), prune()
    RunFactory.create(data_test=custom, window=OLD, requested_at=NOW, judged_at=None, outcome="broken")
    judge()
    assert Standing.objects.get().state == "WARN"


def test_measurements_that_a_test_looks_back_to_stay(custom: DataTest) -> None:
    looking = DataTestFactory.create(dataset=custom.dataset, assertion="mean(max(fare), last=28) > 0")
    near, far = day("2026-02-10"), day("2026-01-10")
    for window in (near, far):
        judged(custom, window), judged(looking, window)
    prune()
    assert Run.objects.count() == 0
    assert windows_of(Measurement) == [near.start, near.start]


def test_what_tells_how_many_rows_a_day_usually_has_stays_for_some_weeks(custom: DataTest) -> None:
    for window in (day("2026-02-10"), day("2026-01-01")):
        measured(custom.dataset, window, metric="row_count")
        measured(custom.dataset, window, metric="max")
    prune()
    assert list(Measurement.objects.values_list("spec_text", "window_start")) == [
        ("row_count(fare)", day("2026-02-10").start)
    ]


def test_what_a_kept_measurement_builds_on_stays(custom: DataTest) -> None:
    part = measured(custom.dataset, OLD, metric="sample", state=b"keys")
    user = measured(custom.dataset, YOUNG)
    user.inputs.add(part)
    prune()
    kept = Measurement.objects.get(pk=part.pk)
    assert bytes(kept.state or b"") == b"keys"  # probed again by the next check
    user.delete()
    clock.simulate(NOW + DAY)
    prune()
    assert Measurement.objects.count() == 0


def test_a_state_goes_before_its_value_and_is_taken_for_no_other(custom: DataTest) -> None:
    row = measured(custom.dataset, day("2026-03-05"), state=b"large", state_path="ab/x", state_length=5)
    waited_for = measured(custom.dataset, day("2026-03-05"), state=b"wanted")
    waiting = measured(custom.dataset, day("2026-03-05"), measured_at=None)
    waiting.inputs.add(waited_for)
    prune()
    row.refresh_from_db()
    waited_for.refresh_from_db()
    assert (row.value, row.state, row.state_path, row.fingerprint) == (1.0, None, "", "")
    assert waited_for.state is not None


def test_files_of_the_state_store_go_when_no_row_names_them(custom: DataTest) -> None:
    named, orphan, fresh = (store_state(config().states, text)[0] for text in (b"named", b"orphan", b"fresh"))
    measured(custom.dataset, YOUNG, state_path=named)
    for stored in (named, orphan):
        os.utime(Path(config().states, stored), (time.time() - 2 * 86400,) * 2)
    prune()
    assert [Path(config().states, each).exists() for each in (named, orphan, fresh)] == [True, False, True]


def test_states_in_a_store_are_read_back_and_go_when_no_row_names_them(
    custom: DataTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store():
        monkeypatch.setattr(config(), "state_store", "s3://lake/states")
        named, orphan = (store_state("s3://lake/states", text) for text in (b"named", b"orphan"))
        measured(custom.dataset, YOUNG, state_path=named[0])
        prune()
        assert load_state("s3://lake/states", orphan[0], 6, orphan[1]) == b"orphan"  # it may be of an open transaction
        monkeypatch.setattr(retention, "UNTOUCHED", -60.0)
        clock.simulate(NOW + DAY)
        prune()
        assert load_state("s3://lake/states", named[0], 5, named[1]) == b"named"
        with pytest.raises(UnableToLoadState, match="cannot be read"):
            load_state("s3://lake/states", orphan[0], 6, orphan[1])


def test_scores_of_a_range_that_is_kept_stay_as_they_were(custom: DataTest) -> None:
    incident = IncidentFactory.create(
        dataset=custom.dataset, detected_at=NOW - 5 * DAY, resolved_at=NOW - 4 * DAY, resolution="auto", open_key=None
    )
    SpoiltWindowFactory.create(incident=incident, data_test=custom, window=YOUNG, healed_at=NOW)
    judged(custom, OLD), judged(custom, YOUNG)
    look_up(custom.dataset, NOW - DAY, failed=True, incidents=[incident.pk])
    look_up(custom.dataset, OLD.end, failed=False)
    before = scores(start=NOW - 7 * DAY, end=NOW, now=NOW)
    prune()
    assert LookUp.objects.count() == 1
    assert scores(start=NOW - 7 * DAY, end=NOW, now=NOW) == before


def look_up(dataset: Dataset, at: datetime, *, failed: bool, incidents: list[int] | None = None) -> None:
    LookUp.objects.create(
        query=uuid4(), dataset=dataset, at=at, failed=failed, incidents=incidents or [], window_start=OLD.start,
        window_end=OLD.end,
    )  # fmt: skip


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
    assert limits.exemptions == found


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


@pytest.mark.parametrize(("judged_at", "goes"), [(WEEK_AGO - SECOND, True), (WEEK_AGO, False), (None, False)])
def test_a_standing_stays_as_long_as_its_newest_run(custom: DataTest, judged_at: datetime | None, goes: bool) -> None:
    run = RunFactory.create(data_test=custom, window=OLD, judged_at=judged_at)
    row = stands(custom, last_run=run)
    prune()
    assert Standing.objects.filter(pk=row.pk).exists() is not goes
    assert Run.objects.exists() is not goes


def test_beside_a_window_in_trouble_its_streak_keeps_the_windows_of_the_same_test() -> None:
    test = DataTestFactory.create(dataset=DatasetFactory.create(granularity="hour"), sustain=4 * HOUR)
    hours = {n: Window(start=OLD.start + n * HOUR, end=OLD.start + (n + 1) * HOUR) for n in (-1, 0, 10, 20, 21)}
    rows = {n: stands(test, window=window, state="FAIL" if n == 10 else "PASS") for n, window in hours.items()}
    other = stands(DataTestFactory.create(dataset=test.dataset), window=hours[0])
    prune()
    left = {n for n, row in rows.items() if Standing.objects.filter(pk=row.pk).exists()}
    assert left == {0, 10, 20}
    assert not Standing.objects.filter(pk=other.pk).exists()


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
    assert Round.objects.get().state["removed"]["measurements"] == 2


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


def pruned(model: Any, *rows: Any) -> list[bool]:
    """Whether each of these rows is gone after a pass."""
    assert prune() == 1
    left = set(model.objects.values_list("pk", flat=True))
    return [row.pk not in left for row in rows]


def scan(dataset: Dataset, **more: Any) -> Scan:
    given = {"created_at": OLD.end, "ended_at": OLD.end, **WINDOW, **more}
    return Scan.objects.create(dataset=dataset, datacenter="sea", **given)


def change(dataset: Dataset, window: Window = OLD, followed_at: datetime | None = OLD.end) -> DataChange:
    return DataChange.objects.create(
        dataset=dataset,
        datacenter="sea",
        kind="rewritten",
        at=OLD.end,
        followed_at=followed_at,
        window_start=window.start,
        window_end=window.end,
    )


def test_notices_of_ended_alerts_go_and_those_of_open_ones_and_unsent_ones_stay(custom: DataTest) -> None:
    ended, still = (IncidentFactory.create(dataset=DatasetFactory.create(), detected_at=OLD.end) for _ in range(2))
    Alert.objects.filter(incident=ended).update(closed_at=OLD.end, open_key=None)
    of_ended, of_open = (NoticeFactory.create(alert=each.alert, settled_at=OLD.end) for each in (ended, still))
    of_none, unsent = NoticeFactory.create(settled_at=OLD.end), NoticeFactory.create(settled_at=None, due_at=OLD.end)
    assert pruned(Notice, of_ended, of_open, of_none, unsent) == [True, False, True, False]


def test_scans_go_but_for_those_of_measurements_and_those_that_have_not_ended(custom: DataTest) -> None:
    asked, idle, open_ = scan(custom.dataset), scan(custom.dataset), scan(custom.dataset, ended_at=None)
    measured(custom.dataset, YOUNG, scan=asked)
    assert pruned(Scan, asked, idle, open_) == [False, True, False]


def test_changes_go_but_for_those_of_bad_windows_and_those_that_nobody_has_followed(custom: DataTest) -> None:
    bad = DataTestFactory.create()
    StandingFactory.create(data_test=bad, window=OLD, state="FAIL")
    rows = [
        change(custom.dataset),
        change(bad.dataset),
        change(custom.dataset, followed_at=None),
        change(custom.dataset, window=YOUNG),
        change(bad.dataset, window=Window(start=OLD.start - 9 * DAY, end=OLD.start - 8 * DAY)),
    ]
    assert pruned(DataChange, *rows) == [True, False, False, False, True]


def test_watches_go_but_for_those_of_bad_windows_and_those_that_are_watched_closely(custom: DataTest) -> None:
    bad = DataTestFactory.create()
    StandingFactory.create(data_test=bad, window=OLD, state="WARN")
    rows = [
        Watch.objects.create(dataset=custom.dataset, datacenter="sea", **WINDOW),
        Watch.objects.create(dataset=custom.dataset, datacenter="phx", closely=True, **WINDOW),
        Watch.objects.create(dataset=bad.dataset, datacenter="sea", **WINDOW),
    ]
    assert pruned(Watch, *rows) == [True, False, False]


def test_states_go_with_their_partition_and_with_the_last_test_that_reads_them(custom: DataTest) -> None:
    table = DataTestFactory.create(scope=Scope.TABLE, dataset=DatasetFactory.create(retention=30 * DAY)).dataset
    whole = DataTestFactory.create(scope=Scope.TABLE, dataset=DatasetFactory.create(partition_column="")).dataset

    def part(dataset: Dataset, key: str, kept_at: datetime = OLD.end) -> PartState:
        return PartState.objects.create(
            dataset=dataset, datacenter="sea", spec_hash="h", key=key, fingerprint="f", kept_at=kept_at, state=b"s"
        )

    rows = {
        "of a partition that is kept": (part(table, "2026-03-01"), False),
        "of a partition that is kept no more": (part(table, "2026-01-10"), True),
        "of a key that no partition has now": (part(table, "2026-01-10-07"), True),
        "of all partitions": (part(table, ""), False),
        "of a table without partitions": (part(whole, "all"), False),
        "of a table without such a test": (part(custom.dataset, "2026-03-01"), True),
        "of yesterday": (part(custom.dataset, "2026-03-02", kept_at=NOW - DAY), False),
    }
    gone = pruned(PartState, *(row for row, _ in rows.values()))
    assert dict(zip(rows, gone, strict=True)) == {name: expected for name, (_, expected) in rows.items()}


def test_the_next_pass_comes_a_day_later(custom: DataTest) -> None:
    prune()
    assert prune() == 0
    row = Round.objects.get()
    assert (row.due_at, row.state["table"], row.state["cursors"]) == (NOW + DAY, "", NOTHING_SEEN)


def test_a_state_is_looked_at_once(custom: DataTest) -> None:
    row = measured(custom.dataset, day("2026-03-05"), state=b"large")
    prune()
    assert Round.objects.get().state["cursors"] == {**NOTHING_SEEN, "states": row.pk}


def test_a_pass_goes_on_where_the_time_was_up(custom: DataTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("incident_manager.retention.CHUNK", 3)
    monkeypatch.setattr("incident_manager.retention.AT_A_TIME", 0.02)
    for number in range(30):
        judged(custom, Window(start=OLD.start - number * DAY, end=OLD.end - number * DAY))
    turns = 0
    while prune():
        turns += 1
    assert (turns > 1, Run.objects.count(), Standing.objects.count()) == (True, 0, 0)
    assert Round.objects.get().state["removed"]["runs"] == 30


def test_a_pass_whose_lease_was_lost_is_another_workers(custom: DataTest, monkeypatch: pytest.MonkeyPatch) -> None:
    judged(custom, OLD)
    monkeypatch.setattr("incident_manager.retention.extend", lambda row: False)
    prune()
    assert Round.objects.get().due_at == NOW  # not finished: the other will


def test_a_lease_keeps_two_workers_from_one_pass() -> None:
    assert len(claim(stage("prune"), now=NOW, limit=1)) == 1
    assert prune() == 0
