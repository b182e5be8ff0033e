"""The rows as queues: which are pending, free and claimed, what a claim and its end write, and many workers at once."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest
import structlog
from django.db import IntegrityError, OperationalError, connection, connections
from django.db.models import F, Q
from django.test.utils import CaptureQueriesContext
from structlog.contextvars import merge_contextvars
from structlog.testing import LogCapture, capture_logs

from assay import clock
from assay.config import config
from assay.models import Dataset, Tallied, Tally
from assay.queue import claims as queue
from assay.queue.claims import (
    LEASE,
    LONGEST_LEASE,
    UnableToFinish,
    claim,
    claims,
    extend,
    finish,
    finish_all,
    in_transaction,
    leased,
    log_ids,
    pending,
    tally,
    unleased,
    work,
    work_together,
)
from assay.queue.drain import backlogs
from assay.queue.flow import STAGES, Stage, stage
from execution_engine.models import Run, Scan
from tests.factories import DAY, HOUR, NOW, DatasetFactory, RunFactory, StandingFactory

pytestmark = pytest.mark.django_db

RECONCILE, PLAN = stage("reconcile"), stage("plan")
SECOND, INSTANT, TEN_MINUTES = timedelta(seconds=1), timedelta(microseconds=1), timedelta(minutes=10)
THERE = datetime(2030, 1, 1, tzinfo=NOW.tzinfo)  # by the database's clock


@pytest.fixture(autouse=True)
def clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The platform's clock and the database's are far apart."""
    clock.simulate(NOW)
    monkeypatch.setattr(clock, "database_now", lambda: THERE)


def due(count: int, at: datetime = NOW, **more: Any) -> list[Dataset]:
    """Datasets that wait to be reconciled."""
    made: list[Dataset] = DatasetFactory.create_batch(count, reconcile_at=at, **more)
    return made


def run_stage(**more: Any) -> Stage:
    return Stage(**{"name": "s", "table": "execution_engine.Run", "task": "t", **more})


@pytest.mark.parametrize(
    ("pending_where", "now", "slots"),
    [
        ({}, NOW, "all: none: ready: due now: due later: planned"),
        ({"after": "ready_at"}, NOW, "all: ready"),
        ({"marker": "planned_at"}, NOW, "none: ready: due now: due later"),
        ({"due": "late_at"}, NOW, "all: due now: planned"),
        ({"due": "late_at"}, None, "all: due now: due later: planned"),
        ({"due": "late_at", "marker": "planned_at"}, NOW, "due now"),
        ({"after": "ready_at", "due": "late_at"}, NOW, "all"),
    ],
    ids=str,
)
def test_a_row_is_pending_by_what_is_set_and_what_has_come(
    pending_where: dict[str, str], now: datetime | None, slots: str
) -> None:
    nothing = {"ready_at": None, "planned_at": None}
    for slot, late_at, more in (
        ("all", NOW - DAY, {"ready_at": NOW, "planned_at": NOW}),
        ("none", None, nothing),
        ("ready", None, {**nothing, "ready_at": NOW}),
        ("due now", NOW, nothing),
        ("due later", NOW + SECOND, nothing),
        ("planned", NOW, {**nothing, "planned_at": NOW}),
    ):
        RunFactory.create(slot=slot, **more)
        Run.objects.filter(slot=slot).update(late_at=late_at)
    found = pending(run_stage(**pending_where), now)
    assert set(found.values_list("slot", flat=True)) == set(slots.split(": "))
    assert [row.slot for row in pending(run_stage(**pending_where), now, slot="due now")] == (
        ["due now"] if "due now" in slots else []
    )


def test_a_lease_holds_to_its_last_instant_and_no_longer_than_any_can_be() -> None:
    assert timedelta(seconds=config().lease_seconds) == LEASE
    assert max(2 * LEASE, timedelta(minutes=30)) == LONGEST_LEASE
    for name, until in {
        "none": None,
        "over": THERE - INSTANT,
        "at its end": THERE,
        "longest": THERE + LONGEST_LEASE,
        "of a clock set back": THERE + LONGEST_LEASE + INSTANT,
    }.items():
        DatasetFactory.create(name=name, lease_until=until)
    held = {"at its end", "longest"}
    assert set(Dataset.objects.filter(leased(THERE)).values_list("name", flat=True)) == held
    assert set(Dataset.objects.exclude(name__in=held)) == set(Dataset.objects.filter(unleased(THERE)))


def test_a_claim_leases_its_rows_by_the_databases_clock_and_no_other() -> None:
    first, second, third = due(3)
    later = due(1, NOW + SECOND)
    claimed = claim(RECONCILE, now=NOW, limit=2, lease=TEN_MINUTES)
    assert [(row.pk, row.lease_until, row.epoch, row.attempts) for row in claimed] == [
        (first.pk, THERE + TEN_MINUTES, 1, 1),
        (second.pk, THERE + TEN_MINUTES, 1, 1),
    ]
    left = Dataset.objects.filter(pk__in=[third.pk, later[0].pk])
    assert set(left.values_list("lease_until", "epoch", "attempts")) == {(None, 0, 0)}
    assert [row.lease_until for row in claim(RECONCILE, now=NOW, limit=9)] == [THERE + LEASE]
    assert claim(RECONCILE, now=NOW, limit=9) == []


def test_the_longest_due_are_claimed_first_and_of_runs_the_most_critical() -> None:
    (late,), (early,) = due(1), due(1, NOW - HOUR)
    assert [row.pk for row in claim(RECONCILE, now=NOW, limit=9)] == [early.pk, late.pk]
    waiting = {"planned_at": None, "turn": 2}
    second = RunFactory.create(**waiting, due_at=NOW - HOUR)
    third = RunFactory.create(**waiting, due_at=NOW)
    first = RunFactory.create(**{**waiting, "turn": 0}, due_at=NOW)
    assert [row.pk for row in claim(PLAN, now=NOW, limit=9)] == [first.pk, second.pk, third.pk]


def test_only_those_are_claimed_that_may_be() -> None:
    mine, _, other = due(1, owner="ada"), due(1, owner="bob"), due(1, owner="eve", team="rides")
    assert claim(RECONCILE, now=NOW, limit=9, may=Q(owner="ada")) == mine
    assert claim(RECONCILE, now=NOW, limit=9, team="rides") == other
    assert len(list(claims(RECONCILE, now=NOW, limit=9, may=Q(owner="eve")))) == 0
    assert [len(rows) for rows in claims(RECONCILE, now=NOW, limit=9, owner="bob")] == [1]


@pytest.mark.parametrize(
    ("limit", "part", "sizes"), [(25, 10, [10, 10, 5]), (25, None, [25]), (99, 20, [20, 10]), (5, 10, [5]), (0, 10, [])]
)
def test_rows_are_claimed_part_after_part_up_to_the_limit(limit: int, part: int | None, sizes: list[int]) -> None:
    due(30)
    assert [len(rows) for rows in claims(RECONCILE, now=NOW, limit=limit, part=part)] == sizes


def words(asked: CaptureQueriesContext) -> list[str]:
    """The first word of each statement but those that ask a server for its time."""
    return [sql["sql"].split()[0] for sql in asked if "UTC_TIMESTAMP" not in sql["sql"]]


@pytest.mark.parametrize("attempts", [0, 1])
def test_rows_are_read_once_and_leased_in_one_statement(attempts: int) -> None:
    made = due(3)
    Dataset.objects.filter(pk=made[1].pk).update(attempts=attempts, reconcile_at=NOW - 9 * HOUR)
    with CaptureQueriesContext(connection) as asked:
        rows = claim(RECONCILE, now=NOW, limit=99, also={"owner": "eve"})
    assert words(asked) == ["SAVEPOINT", "SELECT", "UPDATE", "RELEASE"]
    assert [row.pk for row in rows] == [made[1].pk] if attempts else [made[1].pk, made[0].pk, made[2].pk]
    for row in rows:
        kept = Dataset.objects.get(pk=row.pk)
        assert (row.lease_until, row.epoch, row.attempts) == (kept.lease_until, kept.epoch, kept.attempts)
        assert (row.owner, kept.owner, row.epoch, row.attempts) == ("eve", "eve", 1, attempts + 1)
        assert (row.columns, row.reconcile_at) == (kept.columns, kept.reconcile_at)


def test_a_row_that_gives_itself_back_is_worked_again_by_the_same_task() -> None:
    due(1)
    seen = []
    for (row,) in claims(RECONCILE, now=NOW, limit=3):
        seen.append(row.epoch)
        finish(row)
    assert seen == [1, 2, 3]


def test_what_is_finished_is_written_and_free_again_and_nothing_else() -> None:
    due(2)
    row, other = claim(RECONCILE, now=NOW, limit=2)
    finish(row, reconcile_at=None, description="done")
    assert (row.reconcile_at, row.description) == (None, "done")
    columns = ("reconcile_at", "description", "lease_until", "attempts", "epoch")
    found = {pk: values for pk, *values in Dataset.objects.values_list("pk", *columns)}
    assert found == {row.pk: [None, "done", None, 0, 1], other.pk: [NOW, "", THERE + LEASE, 1, 1]}


def test_a_lost_lease_is_told_by_its_row_and_changes_nothing() -> None:
    due(1)
    (row,) = claim(RECONCILE, now=NOW, limit=1)
    Dataset.objects.update(epoch=2)
    with pytest.raises(UnableToFinish, match=f"^Dataset {row.pk}: claimed again since epoch 1$"):
        finish(row, description="late")
    assert row.description == ""
    assert Dataset.objects.get().lease_until == THERE + LEASE


def test_rows_that_are_finished_together_are_written_as_they_are() -> None:
    due(3)
    *rows, lost = claim(RECONCILE, now=NOW, limit=3)
    for row in (*rows, lost):
        row.reconcile_at, row.description, row.owner = None, f"row {row.pk}", "not named"
    finish_all(rows, "reconcile_at", "description")
    assert {(row.lease_until, row.attempts) for row in rows} == {(None, 0)}
    columns = ("reconcile_at", "description", "owner", "lease_until", "attempts")
    found = Dataset.objects.exclude(pk=lost.pk).values_list(*columns)
    assert set(found) == {(None, f"row {row.pk}", "ada", None, 0) for row in rows}
    Dataset.objects.filter(pk=lost.pk).update(epoch=9)
    with pytest.raises(UnableToFinish, match=r"^1 of 1 rows were claimed again since$"):
        finish_all([lost], "reconcile_at")
    finish_all([], "reconcile_at")


def test_a_heartbeat_lengthens_the_lease_of_its_own_row() -> None:
    due(2)
    row, other = claim(RECONCILE, now=NOW, limit=2, lease=SECOND)
    assert extend(row)
    assert extend(other, HOUR)
    assert dict(Dataset.objects.values_list("pk", "lease_until")) == {row.pk: THERE + LEASE, other.pk: THERE + HOUR}
    Dataset.objects.filter(pk=row.pk).update(epoch=2)
    assert not extend(row, DAY)
    assert Dataset.objects.get(pk=row.pk).lease_until == THERE + LEASE


def end(rows: list[Dataset]) -> None:
    for row in rows:
        row.reconcile_at = None
    finish_all(rows, "reconcile_at")


@pytest.mark.parametrize(("limit", "left"), [({}, 0), ({"limit": 55}, 5)])
def test_rows_are_worked_one_by_one_at_the_instant_of_now(limit: dict[str, int], left: int) -> None:
    due(60)
    due(1, owner="eve")
    instants: set[datetime] = set()
    leased_at_once: set[int] = set()

    def handle(row: Dataset, now: datetime) -> None:
        instants.add(now)
        leased_at_once.add(Dataset.objects.filter(attempts=1).count())
        finish(row, reconcile_at=None)

    assert work("reconcile", handle, **limit, owner="ada") == 60 - left  # type: ignore[arg-type]
    assert (instants, max(leased_at_once)) == ({NOW}, 50)
    assert Dataset.objects.exclude(owner="eve").filter(reconcile_at__isnull=False).count() == left


@pytest.mark.parametrize(("limit", "parts"), [({}, [50, 50, 50, 50]), ({"limit": 60}, [50, 10])])
def test_rows_are_worked_together_part_by_part(limit: dict[str, int], parts: list[int]) -> None:
    due(60 if limit else 203)
    due(1, owner="eve")
    seen: list[int] = []

    def handle(rows: list[Dataset], now: datetime) -> None:
        assert now == NOW
        seen.append(len(rows))
        end(rows)

    assert work_together("reconcile", handle, **limit, owner="ada") == sum(parts)  # type: ignore[arg-type]
    assert seen == parts


def test_what_is_named_is_read_for_all_rows_at_once_and_anew_when_it_is_tried_again() -> None:
    due(3)
    known: list[list[bool]] = []

    def handle(rows: list[Dataset], now: datetime) -> None:
        known.append(["replicas" in vars(row)["_prefetched_objects_cache"] for row in rows])
        if len(rows) > 1:
            raise ValueError("not together")
        end(rows)

    assert work_together("reconcile", handle, prefetch=("replicas",)) == 3
    assert known == [[True] * 3, [True], [True], [True]]
    Dataset.objects.update(reconcile_at=NOW)

    def handle_one(row: Dataset, now: datetime) -> None:
        known.append(["replicas" in vars(row)["_prefetched_objects_cache"]])
        finish(row, reconcile_at=None)

    known.clear()
    work("reconcile", handle_one, prefetch=("replicas",))
    assert known == [[True]] * 3


def test_nothing_is_left_of_what_could_not_be_done_together() -> None:
    rows = due(3)
    order: list[list[int]] = []

    def handle(some: list[Dataset], now: datetime) -> None:
        order.append([row.pk for row in some])
        assert {row.description for row in some} == {""}
        for row in some:
            row.description = "tried"
        Dataset.objects.filter(pk__in=[row.pk for row in some]).update(name="tried" + str(some[0].pk))
        tally(Tallied.RUNS, "held")
        if len(some) > 1:
            raise ValueError("x" * 600)
        end(some)

    with capture_logs() as logs:
        assert work_together("reconcile", handle) == 3
    assert order == [[row.pk for row in rows], *([row.pk] for row in rows)]
    assert list(Tally.objects.values_list("amount", flat=True)) == [3]
    (told,) = [log for log in logs if log["event"] == "not together, so one by one"]
    assert (told["log_level"], told["rows"], told["why"][:14], len(told["why"])) == ("info", 3, "ValueError: xx", 500)


def test_a_single_row_is_handled_once_whatever_becomes_of_it() -> None:
    due(1)
    tries: list[int] = []

    def handle(rows: list[Dataset], now: datetime) -> None:
        tries.append(len(rows))
        raise UnableToFinish("another has it")

    with capture_logs() as logs:
        work_together("reconcile", handle)
    assert tries == [1]
    (lost,) = [log for log in logs if log["event"] == "lease lost"]
    assert (lost["log_level"], lost["row"], lost["why"]) == ("warning", Dataset.objects.get().pk, "another has it")


@pytest.mark.logs_a_failure
def test_what_goes_wrong_with_a_row_is_told_with_its_tries() -> None:
    (row,) = due(1)
    Dataset.objects.update(attempts=4)

    def handle(row: Dataset, now: datetime) -> None:
        raise ZeroDivisionError

    with capture_logs() as logs:
        assert work("reconcile", handle) == 1
    (failed,) = [log for log in logs if log["event"] == "stage failed"]
    assert (failed["log_level"], failed["row"], failed["attempts"]) == ("error", row.pk, 5)


def test_rows_that_were_lost_meanwhile_or_are_gone_are_told_and_left(monkeypatch: pytest.MonkeyPatch) -> None:
    lost, gone, kept = due(3)
    handled: list[int] = []

    def handle(rows: list[Dataset], now: datetime) -> None:
        if len(rows) > 1:
            raise ValueError
        handled.append(rows[0].pk)
        end(rows)

    def claimed_since(*args: Any, **more: Any) -> Iterator[list[Dataset]]:
        for rows in claims(*args, **more):
            Dataset.objects.filter(pk=lost.pk).update(epoch=2)
            Dataset.objects.filter(pk=gone.pk).delete()
            yield rows

    monkeypatch.setattr(queue, "claims", claimed_since)
    with capture_logs() as logs:
        assert work_together("reconcile", handle) == 3
    assert handled == [kept.pk]
    (told,) = [log for log in logs if log["event"] == "lease lost"]
    assert (told["stage"], told["rows"], told["log_level"]) == ("reconcile", [lost.pk, gone.pk], "warning")


@pytest.mark.parametrize("code", [1213, 1205, 1020])
def test_a_deadlock_is_tried_again_from_the_start(code: int) -> None:
    tries: list[int] = []

    def body() -> None:
        DatasetFactory.create(name=f"try {len(tries)}")
        tries.append(code)
        if len(tries) < 5:
            raise OperationalError(code, "try again")

    in_transaction(body)
    assert (len(tries), Dataset.objects.get().name) == (5, "try 4")


@pytest.mark.parametrize(
    ("error", "count"),
    [
        (OperationalError(1213, "deadlock"), 5),
        (OperationalError(1062, "something else"), 1),
        (OperationalError(), 1),
        (IntegrityError(1213, "no deadlock"), 1),
        (ValueError(1213), 1),
    ],
    ids=repr,
)
def test_what_is_no_deadlock_or_goes_on_for_ever_is_told(error: Exception, count: int) -> None:
    tries: list[int] = []

    def body() -> None:
        tries.append(1)
        raise error

    with pytest.raises(type(error)) as raised:
        in_transaction(body)
    assert (raised.value is error, len(tries)) == (True, count)


@pytest.fixture
def lines() -> Iterator[list[Any]]:
    """What is logged."""
    capture, kept = LogCapture(), structlog.get_config()
    structlog.configure(processors=[merge_contextvars, capture], cache_logger_on_first_use=False)
    yield capture.entries
    structlog.configure(**kept)


def test_what_a_stage_logs_bears_its_name_and_the_id_of_the_row_and_nothing_after_it(lines: list[Any]) -> None:
    clock.simulate(NOW)
    row = DatasetFactory.create(reconcile_at=NOW)
    log = structlog.get_logger()

    def handle(row: Dataset, now: datetime) -> None:
        log.info("seen")
        finish(row, reconcile_at=None)

    work("reconcile", handle)
    log.info("over")
    seen, over = lines
    assert (seen["stage"], seen["dataset"]) == ("reconcile", row.pk)
    assert over.keys() == {"event", "log_level"}


def test_a_run_is_found_by_its_own_id_and_a_flip_by_that_of_its_run() -> None:
    run = RunFactory.create()
    standing = StandingFactory.create()
    flip = standing.flips.model(pk=3, run=run, standing=standing)
    assert log_ids("judge", run) == {"stage": "judge", "run": run.pk}
    assert log_ids("handle", flip) == {"stage": "handle", "run": run.pk, "flip": 3}
    assert log_ids("scan", Scan(pk=4)) == {"stage": "scan", "scan": 4}


def claim_all(_: int) -> list[int]:
    """Claim until nothing is free; the ids."""
    claimed: list[int] = []
    try:
        while rows := claim(RECONCILE, now=NOW, limit=5):
            claimed += [row.pk for row in rows]
        return claimed
    finally:
        connections.close_all()


@pytest.mark.django_db(transaction=True)
def test_many_workers_share_the_rows_and_claim_each_once() -> None:
    due(60)
    with ThreadPoolExecutor(4) as pool:
        shares = list(pool.map(claim_all, range(4)))
    claimed = [key for share in shares for key in share]
    assert sorted(claimed) == sorted(Dataset.objects.values_list("pk", flat=True))


@pytest.mark.parametrize("leap", [timedelta(hours=1), timedelta(days=1), timedelta(days=365)], ids=str)
def test_a_lease_given_before_the_databases_clock_was_set_back_is_over(leap: timedelta) -> None:
    due(1)
    claim(RECONCILE, now=NOW, limit=1)
    assert not claim(RECONCILE, now=NOW, limit=1)
    Dataset.objects.update(lease_until=F("lease_until") + leap)  # as a clock gave it that has gone back since
    assert backlogs(NOW)[STAGES.index(RECONCILE)].oldest_due_at == NOW
    (row,) = claim(RECONCILE, now=NOW, limit=1)
    assert row.lease_until <= clock.database_now() + LONGEST_LEASE


@pytest.mark.logs_a_failure
def test_a_row_that_raises_waits_for_its_lease_and_holds_up_no_other() -> None:
    bad, _ = due(2)

    def handle(row: Dataset, now: datetime) -> None:
        if row.pk == bad.pk:
            raise ZeroDivisionError
        finish(row, reconcile_at=None)

    assert work("reconcile", handle) == 2
    assert work("reconcile", handle) == 0
    left = Dataset.objects.get(reconcile_at__isnull=False)
    assert (left.pk, left.attempts, left.lease_until is not None) == (bad.pk, 1, True)


@pytest.mark.logs_a_failure
def test_a_poison_row_holds_up_none_of_those_that_are_worked_with_it() -> None:
    bad, *_ = due(3)

    def handle(rows: list[Dataset], now: datetime) -> None:
        end(rows)
        if bad in rows:
            raise ZeroDivisionError

    assert work_together("reconcile", handle) == 3
    left = Dataset.objects.get(reconcile_at__isnull=False)
    assert (left.pk, left.attempts, left.lease_until is not None) == (bad.pk, 1, True)


def test_nothing_is_finished_together_under_a_lease_that_was_lost() -> None:
    due(2)
    rows = claim(RECONCILE, now=NOW, limit=5)
    Dataset.objects.filter(pk=rows[0].pk).update(epoch=9)
    for row in rows:
        row.reconcile_at = None
    with pytest.raises(UnableToFinish, match="1 of 2"):
        finish_all(rows, "reconcile_at")


def test_rows_that_another_has_claimed_since_are_not_worked_one_by_one_either(monkeypatch: pytest.MonkeyPatch) -> None:
    lost, *kept = due(3)
    seen: list[list[int]] = []

    def outlived(*args: Any, **kwargs: Any) -> Iterator[list[Dataset]]:
        for rows in claims(*args, **kwargs):  # the lease of one runs out, and another worker claims it
            Dataset.objects.filter(pk=lost.pk).update(epoch=F("epoch") + 1)
            yield rows

    def handle(rows: list[Dataset], now: datetime) -> None:
        seen.append([row.pk for row in rows])
        for row in rows:
            row.reconcile_at, row.description = None, "the late one was here"
        finish_all(rows, "reconcile_at", "description")

    monkeypatch.setattr(queue, "claims", outlived)
    assert work_together("reconcile", handle) == 3
    assert seen[1:] == [[row.pk] for row in kept]
    lost.refresh_from_db()
    assert (lost.reconcile_at, lost.description) == (NOW, "")
    assert not Dataset.objects.exclude(pk=lost.pk).filter(reconcile_at__isnull=False).exists()


def test_only_rows_that_were_tried_as_often_are_claimed_together() -> None:
    first, bad, last = due(3)
    Dataset.objects.filter(pk=bad.pk).update(attempts=1)
    claimed = [[row.pk for row in claim(RECONCILE, now=NOW, limit=5)] for _ in range(2)]
    assert claimed == [[first.pk, last.pk], [bad.pk]]


def test_the_more_often_rows_were_tried_in_vain_the_fewer_are_claimed_together() -> None:
    due(60)
    claimed = []
    for _ in range(4):
        claimed.append(len(claim(RECONCILE, now=NOW, limit=60)))
        Dataset.objects.update(lease_until=None, attempts=len(claimed))
    assert claimed == [60, 7, 1, 1]


def test_a_poison_never_takes_the_same_neighbour_with_it_three_times() -> None:
    bad, *_ = due(60)
    for _ in range(3):  # the worker dies of the first part that it takes
        assert bad in claim(RECONCILE, now=NOW, limit=60)
        Dataset.objects.update(lease_until=None)
    tried = Counter(Dataset.objects.values_list("attempts", flat=True))
    assert tried == {3: 1, 2: 6, 1: 53}


def test_what_dead_workers_have_left_takes_one_task_and_each_row_a_lease_of_its_own() -> None:
    due(30)
    Dataset.objects.update(attempts=2)
    leased: list[int] = []

    def handle(rows: list[Dataset], now: datetime) -> None:
        leased.append(Dataset.objects.filter(lease_until__isnull=False).count())
        end(rows)

    assert work_together("reconcile", handle, limit=20) == 20
    assert leased == [1] * 20
    assert work_together("reconcile", handle) == 10


def test_a_try_after_a_deadlock_begins_with_the_row_as_it_was_claimed() -> None:
    DatasetFactory.create(reconcile_at=NOW, owner="ada")
    seen: list[str] = []

    def handle(rows: list[Dataset], now: datetime) -> None:
        seen.append(rows[0].owner)
        rows[0].owner = "moved on"
        if len(seen) == 1:
            raise OperationalError(1213, "Deadlock found when trying to get lock")
        end(rows)

    assert work_together("reconcile", handle) == 1
    assert seen == ["ada", "ada"]
