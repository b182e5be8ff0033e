"""Runs until the data is right, for checks, changed data, gates and look-ups: which tests, over which windows, when."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from structlog.testing import capture_logs

from alerting.models import Flip, Standing
from alerting.verdicts.sustain import next_check
from assay import clock
from assay.catalog.services import record_completion
from assay.models import Category, ChangeKind, DataChange, Dataset, DataTest, Scope
from assay.time.windows import Window
from execution_engine.models import Measurement, Run, Scan
from incident_manager import tasks
from incident_manager.gate.services import LARGER, gate_of, newest_first, policy_of
from incident_manager.models import LookUp
from incident_manager.reruns import check_standing, follow_change
from incident_manager.services import ToRead, gate, look_up, report, unjudged
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
from tests.integration.rows import measurement, waiver
from tests.integration.story import advance, due, new_test, scheduled, settle, start

pytestmark = pytest.mark.django_db

SATURDAY, SUNDAY, MONDAY, TUESDAY = (day(f"2026-03-{n:02d}") for n in (7, 8, 9, 10))
MINUTE = timedelta(minutes=1)
WEEKEND = Window(start=SATURDAY.start, end=SUNDAY.end)
SECOND = timedelta(seconds=1)


def checks(test: DataTest) -> list[datetime]:
    """When checks of a test were requested."""
    return list(test.runs.filter(reason="check", planned_at=None).order_by("pk").values_list("requested_at", flat=True))


def test_a_broken_window_is_checked_by_back_off_and_once_at_the_end_of_its_sustain_period() -> None:
    test = new_test(sustain=HOUR)
    start(due(MONDAY))
    scheduled(test, MONDAY, "broken")
    advance(due(MONDAY) + 2 * HOUR)
    minutes = [(at - due(MONDAY)) / MINUTE for at in checks(test)]
    assert minutes[:3] == pytest.approx([5, 15, 35], rel=0.11)
    assert 60 in minutes


def triggers(test: DataTest) -> list[datetime]:
    """When triggered runs of a test are due."""
    return list(test.runs.filter(reason="trigger", planned_at=None).order_by("pk").values_list("due_at", flat=True))


def test_a_completed_partition_is_tested_before_it_is_due() -> None:
    test = new_test(category=Category.COMPLETENESS)
    elsewhere = new_test(dataset=test.dataset, datacenter="phx")
    start(MONDAY.end + HOUR)
    record_completion(dataset=test.dataset, datacenter="sea", window=MONDAY, pipeline="load", now=MONDAY.end + HOUR)
    settle()
    assert (triggers(test), triggers(elsewhere)) == ([MONDAY.end + HOUR], [])


@pytest.fixture
def trips() -> Dataset:
    """At home in sea, with a copy in phx."""
    row: Dataset = DatasetFactory.create(name="trips", datacenters=("sea", "phx"))
    return row


def a_test(dataset: Dataset, **more: Any) -> DataTest:
    row: DataTest = DataTestFactory.create(dataset=dataset, **more)
    return row


def change(dataset: Dataset, window: Window = MONDAY, **more: Any) -> DataChange:
    given = {"datacenter": "sea", "kind": ChangeKind.REWRITTEN, "at": NOW, **more}
    return DataChange.objects.create(dataset=dataset, window_start=window.start, window_end=window.end, **given)


def has_read(test: DataTest, window: Window = MONDAY, over: Window | None = None, **more: Any) -> Measurement:
    """A test has read a window, over another one if that is named."""
    run = RunFactory.create(data_test=test, window=over or window)
    return measurement(more.pop("dataset", test.dataset), window, run=run, **{"requested_at": NOW - DAY, **more})


def windows_to_rerun() -> set[tuple[int, Window]]:
    """The tests and windows that were asked to run again."""
    rows = Run.objects.filter(evaluated_at=None, reason="trigger", slot__contains=":change:")
    return {(row.data_test_id, row.window) for row in rows}


def test_what_has_read_changed_data_runs_again_over_the_windows_that_it_had(trips: Dataset) -> None:
    reader, weekly, below = a_test(trips), a_test(trips), a_test(DatasetFactory.create())
    week = Window(start=MONDAY.end - 7 * DAY, end=MONDAY.end)
    has_read(reader)
    has_read(weekly, over=week)
    has_read(below, dataset=trips)
    has_read(a_test(trips), SUNDAY)
    has_read(a_test(trips), datacenter="phx")
    has_read(a_test(trips, retired_at=NOW))
    unrevised = a_test(trips)
    has_read(unrevised)
    DataTest.objects.filter(pk=unrevised.pk).update(revision=None)
    a_test(trips)
    row = change(trips)
    follow_change(row, NOW + HOUR)
    assert windows_to_rerun() == {(reader.pk, MONDAY), (weekly.pk, week), (below.pk, MONDAY)}
    run = Run.objects.get(data_test=reader, evaluated_at=None)
    assert run.slot == f"{reader.pk}:{MONDAY.text}:trigger:change:{row.pk}"
    assert (run.requested_at, run.due_at) == (NOW + HOUR, NOW + HOUR)
    row.refresh_from_db()
    assert (row.followed_at, row.followed_until) == (NOW + HOUR, None)


def test_where_a_longer_window_looks_different_its_partitions_say_which_of_them_it_is(trips: Dataset) -> None:
    inside, same, around = a_test(trips), a_test(trips), a_test(trips)
    longer = Window(start=SATURDAY.start, end=MONDAY.end)
    has_read(inside, SUNDAY)
    has_read(same, WEEKEND)
    has_read(around, longer)
    follow_change(change(trips, WEEKEND), NOW)
    assert windows_to_rerun() == {(same.pk, WEEKEND), (around.pk, longer)}
    follow_change(change(trips, WEEKEND, kind=ChangeKind.RESOLVED), NOW + DAY)
    assert (inside.pk, SUNDAY) in windows_to_rerun()


@pytest.mark.parametrize(
    ("state", "error", "runs"),
    [
        ("WARN", "", True),
        ("FAIL", "", True),
        ("UNKNOWN", "", True),
        ("PENDING", "timeout", True),
        ("PENDING", "", False),
        ("PASS", "timeout", False),
        ("LEARNING", "", False),
    ],
)
def test_a_whole_table_runs_again_over_the_window_it_has_moved_to_while_it_is_not_settled(
    trips: Dataset, state: str, error: str, runs: bool
) -> None:
    table = a_test(trips, scope=Scope.TABLE)
    has_read(table)
    moved = Window(start=SATURDAY.start, end=TUESDAY.end)
    StandingFactory.create(data_test=table, window=moved, window_key="table", state=state, error_reason=error)
    StandingFactory.create(data_test=a_test(trips), state="FAIL")
    follow_change(change(trips), NOW)
    assert windows_to_rerun() == ({(table.pk, moved)} if runs else set())


def test_a_completion_runs_all_tests_that_it_lets_judge(trips: Dataset) -> None:
    own = a_test(trips)
    a_test(trips, scope=Scope.TABLE)
    a_test(trips, retired_at=NOW)
    a_test(trips, schedule="weekly")
    a_test(trips, datacenter="phx")
    a_test(trips, spoils="phx")
    a_test(DatasetFactory.create())
    follow_change(change(trips, WEEKEND, kind=ChangeKind.COMPLETED), NOW)
    assert windows_to_rerun() == {(own.pk, SATURDAY), (own.pk, SUNDAY)}


def test_the_completion_of_a_copy_runs_what_runs_there_or_looks_at_it(trips: Dataset) -> None:
    a_test(trips)
    there, looks = a_test(trips, datacenter="phx"), a_test(trips, spoils="phx")
    back = a_test(trips, datacenter="phx", spoils="sea")
    a_test(trips, datacenter="dca", spoils="dca")
    follow_change(change(trips, datacenter="phx", kind=ChangeKind.COMPLETED), NOW)
    assert windows_to_rerun() == {(test.pk, MONDAY) for test in (there, looks, back)}


def test_a_piece_of_a_partition_that_is_completed_lets_nothing_judge(trips: Dataset) -> None:
    own, reader = a_test(trips), a_test(trips)
    half = Window(start=MONDAY.start, end=MONDAY.start + 12 * HOUR)
    has_read(reader)
    follow_change(change(trips, half, kind=ChangeKind.COMPLETED), NOW)
    assert windows_to_rerun() == {(reader.pk, MONDAY)}
    assert own.pk != reader.pk
    whole = a_test(DatasetFactory.create(partition_column=""))
    follow_change(change(whole.dataset, half, kind=ChangeKind.COMPLETED), NOW)
    assert len(windows_to_rerun()) == 1


def test_a_long_window_is_followed_piece_by_piece_within_what_is_kept(trips: Dataset) -> None:
    own = a_test(trips)
    long = Window(start=MONDAY.end - 100 * DAY, end=MONDAY.end)
    row = change(trips, long, kind=ChangeKind.COMPLETED)
    follow_change(row, NOW)
    row.refresh_from_db()
    assert (row.followed_at, row.followed_until) == (None, long.start + 80 * DAY)
    assert len(windows_to_rerun()) == 80
    follow_change(row, NOW + HOUR)
    row.refresh_from_db()
    assert (row.followed_at, row.followed_until) == (NOW + HOUR, long.start + 80 * DAY)
    assert len(windows_to_rerun()) == 100
    Run.objects.all().delete()
    Dataset.objects.filter(pk=trips.pk).update(retention=3 * DAY, first_partition="2026-03-09")
    follow_change(DataChange.objects.get(pk=change(trips, long, kind=ChangeKind.COMPLETED).pk), NOW)
    assert windows_to_rerun() == {(own.pk, MONDAY)}
    gone = change(trips, day("2026-01-01"), kind=ChangeKind.COMPLETED)
    follow_change(DataChange.objects.get(pk=gone.pk), NOW + 2 * HOUR)
    gone.refresh_from_db()
    assert (gone.followed_at, len(windows_to_rerun())) == (NOW + 2 * HOUR, 1)


@pytest.mark.parametrize(
    ("earlier", "due_at"),
    [
        ([], NOW),
        ([{"planned_at": None, "slot": "gate"}], None),
        ([{"planned_at": None, "slot": ":change:", "due_at": NOW - DAY}], None),
        ([{"slot": ":change:", "due_at": NOW - 14 * MINUTE}], NOW + MINUTE),
        ([{"slot": "z:change:", "due_at": NOW - 14 * MINUTE}, {"slot": "a:change:", "due_at": NOW - 10 * MINUTE}],
         NOW + 5 * MINUTE),
        ([{"slot": "a:change:", "due_at": NOW - 10 * MINUTE}, {"slot": "b:change:", "due_at": NOW - 14 * MINUTE}],
         NOW + 5 * MINUTE),
        ([{"slot": ":change:", "due_at": NOW - 15 * MINUTE}], NOW),
        ([{"slot": "gate", "due_at": NOW - 14 * MINUTE}], NOW),
        ([{"slot": ":change:", "due_at": NOW, "reason": "check", "planned_at": None}], NOW),
        ([{"slot": ":change:", "due_at": NOW, "data_test": None, "planned_at": None}], NOW),
        ([{"slot": ":change:", "due_at": NOW, "window": SUNDAY, "planned_at": None}], NOW),
        ([{"slot": ":change:", "due_at": NOW, "window": Window(start=MONDAY.start, end=TUESDAY.end)}], NOW),
    ],
)  # fmt: skip
def test_a_window_runs_for_changes_once_in_a_quarter_of_an_hour_and_what_waits_serves_them_all(
    trips: Dataset, earlier: list[dict[str, Any]], due_at: datetime | None
) -> None:
    reader = a_test(trips)
    has_read(reader)
    for given in earlier:
        test = reader if "data_test" not in given else a_test(trips)
        RunFactory.create(**{"reason": "trigger", "requested_at": NOW - DAY, **given, "data_test": test})
    row = change(trips)
    follow_change(row, NOW)
    new = Run.objects.filter(slot__endswith=f":change:{row.pk}")
    assert list(new.values_list("due_at", flat=True)) == ([] if due_at is None else [due_at])


def requested() -> list[tuple[int, Window]]:
    return [(run.data_test_id, run.window) for run in Run.objects.filter(slot__contains=":gate:").order_by("pk")]


def test_a_gate_has_what_nobody_has_judged_measured_once_in_five_minutes(trips: Dataset) -> None:
    test = a_test(trips)
    a_test(trips, scope=Scope.TABLE)
    at = NOW + 8 * MINUTE + 30 * SECOND
    with capture_logs() as logs:
        answer = gate(datasets=[trips], window=WEEKEND, pipeline="load", now=at)
    assert requested() == [(test.pk, SUNDAY), (test.pk, SATURDAY)]
    run = Run.objects.get(window_start=SUNDAY.start)
    assert (run.reason, run.requested_at, run.due_at) == ("trigger", at, at)
    assert run.slot == f"{test.pk}:{SUNDAY.text}:trigger:gate:20260310T1205"
    gate(datasets=[trips], window=WEEKEND, now=NOW + 9 * MINUTE)
    assert len(requested()) == 2
    gate(datasets=[trips], window=WEEKEND, now=NOW + 10 * MINUTE)
    assert len(requested()) == 4
    (entry,) = [each for each in logs if each["event"] == "gate"]
    assert entry["asked"] == [f"raw.trips {WEEKEND.text}"]
    assert (entry["pipeline"], entry["decision"]) == ("load", answer.decision.value)


@pytest.mark.parametrize(
    ("state", "outcome", "is_measured"),
    [
        ("PENDING", "", True),
        ("PENDING", "broken", True),
        ("UNKNOWN", "", False),
        ("WARN", "broken", False),
        ("PASS", "held", False),
        ("LEARNING", "", False),
    ],
)
def test_what_has_a_word_or_checks_of_its_own_is_not_measured_for_a_gate(
    trips: Dataset, state: str, outcome: str, is_measured: bool
) -> None:
    test = a_test(trips)
    run = RunFactory.create(data_test=test, outcome=outcome or "error", error_reason="" if outcome else "timeout")
    StandingFactory.create(data_test=test, state=state, last_outcome=outcome, last_run=run, due_at=NOW + HOUR)
    gate(datasets=[trips], window=MONDAY, now=NOW)
    assert requested() == ([(test.pk, MONDAY)] if is_measured else [])


def test_a_gate_measures_the_newest_windows_of_a_request_that_asks_for_too_many(
    trips: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("incident_manager.gate.services.MOST_MEASURED", 3)
    stops = DatasetFactory.create(name="stops")
    first, second = a_test(trips), a_test(stops)
    answer = gate(datasets=[trips, stops], window=WEEKEND, now=NOW)
    assert requested() == [(first.pk, SUNDAY), (first.pk, SATURDAY), (second.pk, SUNDAY)]
    (larger,) = [reason for reason in answer.reasons if reason.text == LARGER]
    assert (larger.dataset, larger.windows, larger.decision.value) == ("raw.stops", (WEEKEND,), "allow")
    Run.objects.all().delete()
    exact = gate(datasets=[trips, stops], window=SUNDAY, now=NOW)
    assert LARGER not in {reason.text for reason in exact.reasons}


def test_each_dataset_is_asked_over_its_own_window_in_its_own_datacenter(trips: Dataset) -> None:
    stops = DatasetFactory.create(name="stops")
    a_test(trips), a_test(stops)
    SpoiltWindowFactory.create(incident=IncidentFactory.create(dataset=trips), datacenter="phx", window=MONDAY)
    decisions = {
        (place, window.text): gate_of(
            [ToRead(dataset=trips, window=window, datacenter=place), ToRead(dataset=stops, window=MONDAY)], now=NOW
        )
        for place, window in (("phx", MONDAY), ("", MONDAY), ("phx", SUNDAY))
    }
    spoilt = {asked: {reason.incident_id for reason in answer.reasons} != {None} for asked, answer in decisions.items()}
    assert spoilt == {("phx", MONDAY.text): True, ("", MONDAY.text): False, ("phx", SUNDAY.text): False}


@pytest.mark.parametrize(
    ("given", "fail_closed", "only_incidents"),
    [({"tier": 0}, True, False), ({"tier": 5}, False, False), ({"tier": 5, "gate_on": "incident"}, False, True)],
)
def test_a_dataset_says_how_strict_its_gate_is(given: dict[str, Any], fail_closed: bool, only_incidents: bool) -> None:
    policy = policy_of(DatasetFactory.create(**given))
    assert (policy.fail_closed, policy.only_incidents) == (fail_closed, only_incidents)


def test_partitions_come_newest_first(trips: Dataset) -> None:
    assert trips.partitioning is not None
    part = Window(start=SUNDAY.start + HOUR, end=MONDAY.start + HOUR)
    assert list(newest_first(trips.partitioning, (SATURDAY, part))) == [MONDAY, SUNDAY, SATURDAY]


def test_a_look_up_is_kept_as_it_was_answered(trips: Dataset) -> None:
    incident = IncidentFactory.create(dataset=trips)
    for window in (SATURDAY, MONDAY):
        SpoiltWindowFactory.create(incident=incident, datacenter="phx", window=window)
    claim = report(dataset=trips, window=SUNDAY, reporter="eve", description="bad", now=NOW)
    longer = Window(start=SATURDAY.start, end=MONDAY.end)
    query = uuid4()
    answer = look_up(dataset=trips, window=longer, datacenter="phx", now=NOW, query=query)
    assert (answer.dataset, answer.window, answer.datacenter, answer.query) == (trips, longer, "phx", query)
    assert (answer.incidents, answer.reports, len(answer.spoilt)) == ((incident,), (claim.pk,), 1)
    assert answer.failed
    row = LookUp.objects.get()
    assert (row.query, row.dataset, row.datacenter, row.window) == (query, trips, "phx", longer)
    assert (row.at, row.failed, row.incidents) == (NOW, True, [incident.pk])
    at_home = look_up(dataset=trips, window=longer, now=NOW, record=False)
    assert (at_home.datacenter, at_home.failed, at_home.incidents) == ("sea", False, ())
    assert (at_home.query != query, LookUp.objects.count()) == (True, 1)
    assert look_up(dataset=trips, window=TUESDAY, now=NOW).reports == ()


def troubled(test: DataTest, **more: Any) -> Standing:
    given = {"state": "FAIL", "last_outcome": "broken", "next_check_at": NOW, "attempt": 2, **more}
    row: Standing = StandingFactory.create(data_test=test, **given)
    return row


def check_of(row: Standing) -> tuple[datetime | None, int, str]:
    row.refresh_from_db()
    return row.next_check_at, row.attempt, row.state


def test_a_check_asks_for_a_run_and_names_the_instant_of_the_next(trips: Dataset) -> None:
    test = a_test(trips, name="fares")
    row = troubled(test, broken_since=NOW - 10 * HOUR)
    check_standing(row, NOW + SECOND)
    run = Run.objects.get()
    assert (run.data_test, run.window, run.reason) == (test, MONDAY, "check")
    assert (run.requested_at, run.due_at) == (NOW + SECOND, NOW + SECOND)
    assert run.slot == f"{test.pk}:{MONDAY.text}:check:2:20260310T120000.000000"
    key = ("raw.trips", "fares", MONDAY.text)
    then = next_check(3, after=NOW + SECOND, t0=NOW - 10 * HOUR, sustain=4 * HOUR, key=key)
    assert check_of(row) == (then, 3, "FAIL")


def test_without_a_broken_result_checks_count_from_when_the_window_was_due(trips: Dataset) -> None:
    row = troubled(a_test(trips), state="PENDING", last_outcome="", error_reason="timeout", due_at=NOW - 15 * DAY)
    check_standing(row, NOW)
    next_check_at = check_of(row)[0]
    assert next_check_at is not None
    assert next_check_at - NOW > 20 * HOUR  # for a fortnight nobody has mended it


@pytest.mark.parametrize(("scope", "waits"), [(Scope.TABLE, True), (Scope.PARTITION, False)])
def test_only_whole_tables_are_checked_less_often_for_what_a_check_costs(
    trips: Dataset, scope: Scope, waits: bool
) -> None:
    test = a_test(trips, scope=scope)
    read = has_read(test)
    read.scan = Scan.objects.create(
        dataset=trips, datacenter="sea", created_at=NOW, seconds=7200, window_start=MONDAY.start, window_end=MONDAY.end
    )
    read.save()
    row = troubled(test, last_run=Run.objects.get(), broken_since=NOW - 10 * HOUR)
    check_standing(row, NOW)
    next_check_at = check_of(row)[0]
    assert next_check_at is not None
    assert (next_check_at == NOW + 8 * HOUR) is waits


@pytest.mark.parametrize(
    ("more", "ends_at", "is_checked"),
    [
        ({"state": "PASS"}, "none", False),
        ({"state": "UNKNOWN", "error_reason": "timeout"}, "none", True),
        ({"state": "UNKNOWN", "error_reason": "query failed"}, "none", False),
        ({"state": "UNKNOWN"}, "none", False),
        ({}, None, False),
        ({}, NOW + SECOND, False),
        ({}, NOW, True),
    ],
)
def test_what_is_right_waived_or_needs_a_person_is_checked_no_more(
    trips: Dataset, more: dict[str, Any], ends_at: Any, is_checked: bool
) -> None:
    test = a_test(trips)
    row = troubled(test, waiver=None if ends_at == "none" else waiver(test, ends_at=ends_at), **more)
    check_standing(row, NOW)
    assert Run.objects.exists() is is_checked
    next_check_at, attempt, _ = check_of(row)
    assert (next_check_at is not None, attempt) == ((True, 3) if is_checked else (False, 0))


def test_what_a_test_of_a_partition_once_said_of_many_as_one_is_withdrawn(trips: Dataset) -> None:
    row = troubled(a_test(trips), window=WEEKEND)
    check_standing(row, NOW)
    assert (check_of(row), Run.objects.exists()) == ((None, 0, "UNTESTED"), False)


def test_a_window_that_is_kept_no_more_is_left_untested() -> None:
    test = a_test(DatasetFactory.create(retention=5 * DAY))
    row = troubled(test, window=day("2026-02-01"), next_age_at=NOW + DAY)
    check_standing(row, NOW)
    assert check_of(row) == (None, 0, "UNTESTED")
    assert row.next_age_at is None
    assert [flip.at for flip in Flip.objects.all()] == [NOW]


def test_a_completion_that_is_not_judged_says_what_it_waits_for(trips: Dataset) -> None:
    a_test(trips, name="enough")
    row = change(trips, kind=ChangeKind.COMPLETED)
    assert unjudged([row], now=NOW) == [f"raw.trips {MONDAY.text}: no worker has asked for its tests yet"]
    follow_change(row, NOW)
    assert unjudged([row], now=NOW) == [f"raw.trips/enough {MONDAY.text}: no worker has planned its run yet"]
    Run.objects.update(planned_at=NOW)
    assert unjudged([row], now=NOW) == [f"raw.trips/enough {MONDAY.text}: its data in sea is not read yet"]
    assert unjudged([row], now=NOW - SECOND) == []  # what is due later nobody waits for


def days(count: int) -> Window:
    """The last so many days that have ended."""
    end = NOW.replace(hour=0)
    return Window(start=end - count * DAY, end=end)


def completed(dataset: Dataset, window: Window) -> DataChange:
    clock.simulate(NOW)
    return record_completion(dataset=dataset, datacenter="sea", window=window, pipeline="nightly", now=NOW)


def starts() -> list[datetime]:
    return sorted(Run.objects.values_list("window_start", flat=True))


@pytest.fixture
def tested() -> Dataset:
    """A daily table with one test."""
    test = DataTestFactory.create(dataset=DatasetFactory.create(name="trips"))
    return test.dataset


def test_a_long_change_is_followed_to_its_end_in_few_statements(tested: Dataset) -> None:
    window = days(1000)
    change = completed(tested, window)
    with CaptureQueriesContext(connection) as asked:
        tasks.follow()
    change.refresh_from_db()
    assert starts() == [window.start + number * DAY for number in range(1000)]
    assert change.followed_at == NOW
    assert len(asked) < 300


def test_only_partitions_that_can_be_there_are_tested() -> None:
    young = DatasetFactory.create(name="young", first_partition="2026-02-01")
    short = DatasetFactory.create(name="short", retention=timedelta(days=10))
    for dataset in (young, short):
        completed(DataTestFactory.create(dataset=dataset).dataset, days(3000))
    tasks.follow()
    of = {name: Run.objects.filter(data_test__dataset__name=name) for name in ("young", "short")}
    assert (of["young"].count(), of["short"].count()) == (37, 10)


@pytest.mark.parametrize(("start", "end"), [(1900, 2100), (1, 9999), (1, 3), (9990, 9999)])
def test_a_change_from_before_that_rule_ends_and_holds_nobody_up(tested: Dataset, start: int, end: int) -> None:
    tested.retention = timedelta(days=30)
    tested.save()
    window = Window(start=datetime(start, 1, 1, tzinfo=UTC), end=datetime(end, 12, 31, tzinfo=UTC))
    clock.simulate(NOW)
    change = DataChange.objects.create(
        dataset=tested, datacenter="sea", kind="completed", window_start=window.start, window_end=window.end, at=NOW
    )
    with CaptureQueriesContext(connection) as asked:
        for _ in range(100):
            tasks.follow()
    change.refresh_from_db()
    assert change.followed_at is not None
    assert len(asked) < 20_000
    assert all(first >= NOW - timedelta(days=31) for first in starts())
