"""What a run that is asked for says of itself, and which runs may not be: by its reason, window, test and dataset."""

from datetime import datetime, timedelta

import pytest

from assay.config import config
from assay.models import Dataset, DataTest, Scope
from assay.time.windows import Window
from execution_engine import services
from execution_engine.models import Run, RunReason
from execution_engine.planning.catalog_sources import expires_at, is_expired
from execution_engine.planning.schedules import BEGINNING, Schedule, Slot, jitter_of
from execution_engine.runs.request import is_judged, is_undeclared, request_scheduled, schedule_of
from tests.factories import DAY, HOUR, NOW, DatasetFactory, DataTestFactory, day

pytestmark = pytest.mark.django_db

SECOND = timedelta(seconds=1)
MONDAY, SUNDAY = day("2026-03-09"), day("2026-03-08")
QUARTER = timedelta(minutes=15)


def request(data_test: DataTest, reason: RunReason = RunReason.CHECK, due_at: datetime | None = None) -> Run:
    run = services.request_run(data_test=data_test, window=MONDAY, reason=reason, occasion="o", now=NOW, due_at=due_at)
    assert run
    return Run.objects.get(pk=run.pk)


@pytest.mark.parametrize(
    ("reason", "category", "accept_from", "late_at"),
    [
        (RunReason.SCHEDULE, "custom", NOW + HOUR, NOW + HOUR + QUARTER),
        (RunReason.BACKTEST, "custom", None, None),
        (RunReason.REVISION, "custom", None, None),
        (RunReason.REVISION, "freshness", NOW + HOUR, None),  # an old look says nothing
        (RunReason.CHECK, "custom", NOW, None),
        (RunReason.MANUAL, "custom", NOW, None),
        (RunReason.TRIGGER, "freshness", NOW, None),
    ],
)
def test_a_reason_says_from_when_on_a_measurement_counts(
    reason: RunReason, category: str, accept_from: datetime | None, late_at: datetime | None
) -> None:
    data_test = DataTestFactory.create(dataset__tier=3, category=category)
    run = request(data_test, reason, NOW + HOUR)
    assert (run.accept_from, run.late_at) == (accept_from, late_at)
    assert (run.reason, run.turn, run.revision, run.window) == (reason, 3, data_test.revision, MONDAY)
    assert (run.data_test, run.requested_at, run.due_at) == (data_test, NOW, NOW + HOUR)
    assert run.slot == f"{data_test.pk}:{MONDAY.text}:{reason.value}:o"


def test_a_run_is_due_when_it_is_asked_for() -> None:
    assert request(DataTestFactory.create()).due_at == NOW


def test_a_test_that_has_no_revision_yet_is_not_run() -> None:
    data_test = DataTestFactory.create()
    data_test.revision = None
    assert (
        services.request_run(data_test=data_test, window=MONDAY, reason=RunReason.CHECK, occasion="o", now=NOW) is None
    )


def test_a_partition_that_began_before_its_columns_were_declared_is_not_judged() -> None:
    late = DataTestFactory.create(judges_from=MONDAY.start + SECOND)
    just = DataTestFactory.create(judges_from=MONDAY.start)
    whole = DataTestFactory.create(judges_from=MONDAY.start + SECOND, scope=Scope.TABLE)
    plain = DataTestFactory.create(judges_from=None)
    assert [is_undeclared(test, MONDAY) for test in (late, just, whole, plain)] == [True, False, False, False]
    assert [is_judged(test, MONDAY, NOW) for test in (late, just, whole, plain)] == [False, True, True, True]


def test_a_window_is_beyond_retention_once_the_oldest_day_that_is_kept_has_begun_at_its_end() -> None:
    dataset = DatasetFactory.create(retention=2 * DAY)
    kept_until = SUNDAY.start + 3 * DAY  # on Wednesday two days before it is Monday
    assert not is_expired(dataset, SUNDAY, kept_until - SECOND)
    assert is_expired(dataset, SUNDAY, kept_until)
    assert not is_judged(DataTestFactory.create(dataset=dataset), SUNDAY, kept_until)
    assert not is_expired(DatasetFactory.create(), SUNDAY, NOW + 9000 * DAY)
    assert not is_expired(DatasetFactory.create(retention=DAY, partition_column=""), SUNDAY, NOW + 9000 * DAY)


def test_a_window_expires_its_retention_after_its_end() -> None:
    assert expires_at(DatasetFactory.create(retention=3 * DAY), MONDAY) == MONDAY.end + 3 * DAY
    assert expires_at(DatasetFactory.create(), MONDAY) is None
    assert expires_at(DatasetFactory.create(retention=3 * DAY, partition_column=""), MONDAY) is None


def test_many_runs_are_asked_for_at_once_but_for_those_that_may_not_be() -> None:
    dataset = DatasetFactory.create(retention=2 * DAY, tier=1)
    data_test = DataTestFactory.create(dataset=dataset)
    old = day("2026-03-06")
    wanted = [(data_test, MONDAY, NOW + HOUR), (data_test, old, NOW), (data_test, SUNDAY, NOW + 2 * HOUR)]
    for _ in range(2):  # the same once more makes none
        found = services.request_runs(wanted, reason=RunReason.BACKTEST, occasion="b", now=NOW)
        assert [run.window for run in found] == [MONDAY, SUNDAY]
    assert [(run.slot, run.due_at, run.requested_at, run.turn) for run in Run.objects.order_by("due_at")] == [
        (f"{data_test.pk}:{MONDAY.text}:backtest:b", NOW + HOUR, NOW, 1),
        (f"{data_test.pk}:{SUNDAY.text}:backtest:b", NOW + 2 * HOUR, NOW, 1),
    ]
    assert set(Run.objects.values_list("reason", "late_at", "accept_from")) == {("backtest", None, None)}


def slot(window: Window, due_at: datetime) -> Slot:
    return Slot(window=window, due_at=due_at)


def test_of_what_is_scheduled_the_newest_is_current_and_the_rest_is_made_up_for() -> None:
    kept = DataTestFactory.create(dataset=DatasetFactory.create(retention=2 * DAY, tier=2))
    none, other = DataTestFactory.create(dataset__tier=0), DataTestFactory.create(dataset__tier=0)
    slots = [slot(day("2026-03-06"), NOW - 3 * DAY), slot(SUNDAY, NOW - DAY), slot(MONDAY, NOW + HOUR)]
    for _ in range(2):
        request_scheduled([(kept, slots), (none, []), (other, slots[1:2])], NOW)
    assert [(run.data_test, run.window, run.turn, run.due_at, run.late_at) for run in Run.objects.order_by("pk")] == [
        (kept, SUNDAY, 2 + 6, NOW - DAY, NOW + QUARTER),
        (kept, MONDAY, 2, NOW + HOUR, NOW + HOUR + QUARTER),
        (other, SUNDAY, 0, NOW - DAY, NOW + QUARTER),
    ]
    run = Run.objects.get(window_start=MONDAY.start)
    assert run.slot == f"{kept.pk}:{MONDAY.text}:schedule:{(NOW + HOUR).isoformat()}"
    assert (run.reason, run.requested_at, run.accept_from) == ("schedule", NOW, NOW + HOUR)


def schedule(data_test: DataTest, now: datetime = NOW) -> Schedule:
    assert data_test.revision
    return schedule_of(data_test, data_test.revision, now)


def test_a_schedule_has_what_its_dataset_its_test_and_its_revision_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config(), "broker_url", "memory://")
    dataset = DatasetFactory.create(freshness_sla=5 * HOUR, time_zone="Europe/Berlin", catch_up="latest")
    data_test = DataTestFactory.create(dataset=dataset, schedule="0 6 * * *", catch_up="none", judges_from=NOW - DAY)
    assert schedule(data_test) == Schedule(
        line="0 6 * * *",
        whole_table=False,
        partitioning=dataset.partitioning,
        time_zone="Europe/Berlin",
        freshness=5 * HOUR,
        catch_up="none",
        jitter=jitter_of(dataset.full_name, timedelta(seconds=60)),
        retention_start=None,
        judges_from=NOW - DAY,
    )
    assert schedule(data_test).jitter > timedelta(0)


RATIO = "row_count() / row_count(dataset='raw.events') = 1"
HISTORY = "row_count() > mean(row_count(dataset='raw.events'), last=3)"


@pytest.mark.parametrize(
    ("assertion", "own", "other", "kept_from"),
    [
        ("row_count() = 1", {}, {"first_partition": "2026-02-01"}, BEGINNING),
        ("row_count() = 1", {"first_partition": "2026-02-01"}, {"retention": DAY}, day("2026-02-01").start),
        ("row_count() = 1", {"first_partition": "2026-02-01", "retention": 9 * DAY}, {}, day("2026-03-01").start),
        ("row_count() = 1", {"first_partition": "2026-03-05", "retention": 9 * DAY}, {}, day("2026-03-05").start),
        ("row_count() = 1", {"first_partition": "no day"}, {}, BEGINNING),
        ("row_count() = 1", {"first_partition": "2026-02-01", "partition_column": ""}, {}, BEGINNING),
        (RATIO, {"first_partition": "2026-02-01"}, {"first_partition": "2026-02-03"}, day("2026-02-03").start),
        (RATIO, {"first_partition": "2026-02-03"}, {"first_partition": "2026-02-01"}, day("2026-02-03").start),
        (HISTORY, {"first_partition": "2026-02-01"}, {"retention": 9 * DAY}, day("2026-03-01").start),
    ],
)
def test_a_test_of_the_whole_table_reads_what_every_dataset_in_it_keeps(
    assertion: str, own: dict[str, object], other: dict[str, object], kept_from: datetime
) -> None:
    DatasetFactory.create(name="events", **other)
    DatasetFactory.create(first_partition="2026-03-08")  # of which nobody speaks
    dataset = DatasetFactory.create(**own)
    whole = DataTestFactory.create(dataset=dataset, assertion=assertion, scope=Scope.TABLE, schedule="weekly")
    found = schedule(whole)
    assert (found.whole_table, found.retention_start) == (True, kept_from)
    part = DataTestFactory.create(dataset=dataset, assertion=assertion)
    assert schedule(part).retention_start is None


def test_what_a_whole_table_keeps_is_told_as_of_now() -> None:
    dataset = DatasetFactory.create(retention=9 * DAY, freshness_sla=6 * HOUR)
    whole = DataTestFactory.create(dataset=dataset, scope=Scope.TABLE, schedule="weekly")
    assert services.whole_window(whole, NOW) == Window(start=day("2026-03-01").start, end=MONDAY.end)
    assert services.whole_window(whole, NOW + DAY) == Window(start=day("2026-03-02").start, end=MONDAY.end + DAY)
    whole.revision = None
    assert services.whole_window(whole, NOW) is None


@pytest.mark.parametrize("missing", ["next_window_start", "next_window_end"])
def test_a_test_without_a_window_begins_with_the_one_of_now(missing: str) -> None:
    later = day("2026-03-12")
    stands = {"next_window_start": later.start, "next_window_end": later.end}
    data_test = DataTestFactory.create(dataset__freshness_sla=6 * HOUR, **stands)
    assert data_test.revision
    assert services.first_cursor(data_test, data_test.revision, NOW) == slot(later, later.end + 6 * HOUR)
    setattr(data_test, missing, None)
    today = day("2026-03-10")
    assert services.first_cursor(data_test, data_test.revision, NOW) == slot(today, today.end + 6 * HOUR)


def due(dataset: Dataset, window: Window, **more: object) -> DataTest:
    at = {"next_due_at": window.end + 6 * HOUR, "next_window_start": window.start, "next_window_end": window.end}
    return DataTestFactory.create(dataset=dataset, **{**at, **more})


def test_cursors_move_on_and_count_what_they_skip() -> None:
    dataset = DatasetFactory.create(freshness_sla=6 * HOUR)
    all_, latest = due(dataset, SUNDAY, skipped_slots=4), due(dataset, SUNDAY, catch_up="latest", skipped_slots=4)
    retired, bare = due(dataset, SUNDAY, retired_at=NOW), due(dataset, SUNDAY)
    DataTest.objects.filter(pk=bare.pk).update(revision=None)
    bare.revision = None
    services.schedule_tests([all_, latest, retired, bare], NOW)
    columns = ("next_due_at", "next_window_start", "next_window_end", "skipped_slots")
    found = {pk: stands for pk, *stands in DataTest.objects.values_list("pk", *columns)}
    today = day("2026-03-10")
    next_ = [today.end + 6 * HOUR, today.start, today.end]
    assert found == {
        all_.pk: [*next_, 4],
        latest.pk: [*next_, 5],
        retired.pk: [None, None, None, 0],
        bare.pk: [None, None, None, 0],
    }
    assert set(Run.objects.values_list("data_test", "window_start", "requested_at")) == {
        (all_.pk, SUNDAY.start, NOW),
        (all_.pk, MONDAY.start, NOW),
        (latest.pk, MONDAY.start, NOW),
    }
