"""Judge the runs that have been evaluated, and the windows that time alone or silence has changed."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from django.db import connection
from django.db.models import Q

from alerting.emissions.emit import note_judged
from alerting.models import Standing
from alerting.state import State
from alerting.verdicts.evidence import Evidence, evaluated_of, evidence, evidence_of, window_key
from assay.database.statements import rows_of
from assay.models import DataTest, Scope
from assay.queue.claims import finish, finish_all
from assay.time.windows import Window
from execution_engine.models import Run, RunReason
from execution_engine.outcome import Outcome
from execution_engine.selectors import period
from execution_engine.services import request_run

from .refold import Later, create, engine_answers, is_waited_for, judge_window, locked, refold, restreak

# Judge many windows that nothing was ever found wrong with: nearly all, so in a few statements for all of them.

Place = tuple[DataTest, Window]
UNTROUBLED = (State.PENDING.value, State.PASS.value)


def judge_sound(places: Sequence[Place], now: datetime) -> list[Place]:
    """Judge the windows that have only ever held, of tests without trouble near them; those that are left.

    Their standings depend on nothing but their own runs, and nothing depends on them.
    """
    partitions = [(test, window) for test, window in places if test.scope == Scope.PARTITION]
    calm = _calm(partitions)
    quiet = [place for place in partitions if place[0].pk in calm]
    known = _lock(quiet)
    found = {place: seen for place, seen in _evidence(quiet).items() if _has_only_held(seen)}
    new = _create([place for place in found if place not in known], now)
    later = Later()
    for (test, window), standing in (known | new).items():
        if (test, window) in found and standing.state in UNTROUBLED and standing.waiver_id is None:
            refold(standing, test, found[test, window], now, later)
    later.write()
    judged = {(row.data_test_id, row.window_key) for row in later.standings}
    return [(test, window) for test, window in places if (test.pk, window_key(test, window)) not in judged]


def _calm(places: Sequence[Place]) -> set[int]:
    """The tests without a broken window as near as a streak reaches."""
    if not places:
        return set()
    reach = max(2 * (test.revision.sustain + period(test)) for test, _ in places if test.revision)
    near = (min(window.start for _, window in places) - reach, max(window.start for _, window in places) + reach)
    tests = {test.pk for test, _ in places}
    rows = Standing.objects.filter(data_test__in=tests, window_start__range=near)
    rows = rows.filter(Q(last_outcome=Outcome.BROKEN.value) | Q(streak_at__isnull=False))
    return tests - set(rows.values_list("data_test", flat=True))


def _create(places: Sequence[Place], now: datetime) -> dict[Place, Standing]:
    """New standings, PENDING, locked; without those that another worker was first to create and judge."""
    new = {
        (test, window): Standing(
            data_test=test,
            window_key=window_key(test, window),
            window_start=window.start,
            window_end=window.end,
            revision=test.revision,
            since=now,
            due_at=now,
        )
        for test, window in places
    }
    if not connection.features.has_select_for_update:  # nobody else writes before this transaction ends
        Standing.objects.bulk_create(new.values())
        return new
    Standing.objects.bulk_create(new.values(), ignore_conflicts=True)
    return {place: row for place, row in _lock(places).items() if row.state == State.PENDING}


def _lock(places: Sequence[Place]) -> dict[Place, Standing]:
    """The standings that the windows have, locked until the transaction ends."""
    found: dict[Place, Standing] = {}
    for window, tests in _by_window(places).items():
        rows = Standing.objects.select_for_update().filter(data_test__in=tests, window_key=window.text).order_by("pk")
        found |= {(tests[row.data_test_id], window): row for row in rows}
    return found


def _evidence(places: Sequence[Place]) -> Mapping[Place, Evidence]:
    runs: dict[Place, list[Run]] = defaultdict(list)
    for window, tests in _by_window(places).items():
        for run in evaluated_of(tests.values()).filter(window_start=window.start, window_end=window.end).order_by("pk"):
            runs[tests[run.data_test_id], window].append(run)
    return {place: evidence(runs[place]) for place in places}


def _by_window(places: Iterable[Place]) -> dict[Window, dict[int, DataTest]]:
    """The tests by window and id."""
    found: dict[Window, dict[int, DataTest]] = defaultdict(dict)
    for test, window in places:
        found[window][test.pk] = test
    return found


def _has_only_held(found: Evidence) -> bool:
    return bool(found.results) and all(result.outcome is Outcome.HELD for result in found.results)


def judge_runs(runs: Sequence[Run], now: datetime) -> None:
    """Bring the standings of the runs' windows up to date; a backtest enters none."""
    tests = _live_tests({run.data_test_id for run in runs})
    entering = [run for run in runs if run.data_test_id in tests and run.reason != RunReason.BACKTEST]
    newest = [run for run in entering if run.revision_id == tests[run.data_test_id].revision_id]
    for run in entering:
        if run not in newest:
            _ask_again(run, tests[run.data_test_id], now)
    windows = list(dict.fromkeys((tests[run.data_test_id], run.window) for run in newest))
    for test, window in judge_sound(windows, now):
        _judge(test, window, now)
    if newest and is_waited_for():
        for run in newest:
            engine_answers(run, tests[run.data_test_id], now)
    for run in runs:
        run.judged_at = now
    finish_all(runs, "judged_at")
    note_judged(entering, now)


def adopt_run(run: Run, now: datetime) -> None:
    """Give the window of a due run that has told nothing its standing, so that its silence shows."""
    test = _live(run.data_test_id)
    if test is not None:
        standing = locked(test, run.window) or create(test, run.window, due=run.due_at, now=now)
        refold(standing, test, evidence_of(test, standing.window), now)
    finish(run, late_at=None)


def age_standing(standing: Standing, now: datetime) -> None:
    """Judge a window again because time alone changes it; the end of a waiver has it checked at once."""
    test = _live(standing.data_test_id)
    if test is None:
        finish(standing, next_age_at=None)
        return
    row = Standing.objects.select_for_update().select_related("waiver").get(pk=standing.pk)
    row.next_age_at = None
    refold(row, test, evidence_of(test, row.window), now)
    ended = row.waiver is not None and row.waiver.ends_at is not None and row.waiver.ends_at <= now
    finish(standing, next_age_at=row.next_age_at, next_check_at=now if ended else row.next_check_at)


def _live(test_id: int) -> DataTest | None:
    return _live_tests({test_id}).get(test_id)


def _live_tests(ids: Collection[int]) -> dict[int, DataTest]:
    tests = rows_of(DataTest, ids, related=("dataset", "revision"))
    return {test.pk: test for test in tests if test.retired_at is None and test.revision is not None}


def _judge(test: DataTest, window: Window, now: datetime) -> None:
    """One window, with those near it that its streak changes."""
    standing = judge_window(test, window, now)
    if standing is not None:
        for neighbour in restreak(standing, test):
            refold(neighbour, test, evidence_of(test, neighbour.window), now)


def _ask_again(run: Run, test: DataTest, now: datetime) -> None:
    """Make up for a run that a newer revision overtook, whoever asked for it: its window is judged by that revision."""
    assert test.revision is not None
    request_run(
        data_test=test,
        window=run.window,
        reason=RunReason.REVISION,
        occasion=f"r{test.revision.number}",
        now=now,
    )
