"""Judge the runs that have been evaluated, and the windows that time alone or silence has changed."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from django.db.models import Q

from alerting.emissions import note_judged
from alerting.models import Standing, Waiver
from alerting.state import TROUBLED, WaiverKind, WaiverScope, waiver_end
from alerting.verdicts.evidence import RunEvidence, due_at, evaluated, evidence, evidence_of, seen, window_key
from alerting.verdicts.sustain import SeenRun, first_run, streak_fails
from assay.database.statements import rows_of
from assay.models import DataTest, Scope
from assay.queue.claims import finish, finish_all
from assay.time.windows import Window
from execution_engine.models import Run, RunReason
from execution_engine.outcome import Outcome
from execution_engine.selectors import period
from execution_engine.services import request_run

from .refold import StandingBatch, engine_answers, refold

Place = tuple[DataTest, Window]


def judge_runs(runs: Sequence[Run], now: datetime) -> None:
    """Bring the standings of the runs' windows up to date; a backtest enters none."""
    tests = _live_tests({run.data_test_id for run in runs})
    entering = [run for run in runs if run.data_test_id in tests and run.reason != RunReason.BACKTEST]
    newest = [run for run in entering if run.revision_id == tests[run.data_test_id].revision_id]
    for run in entering:
        test = tests[run.data_test_id]
        if run not in newest and test.revision is not None:  # whoever asked for it: a newer revision overtook it
            occasion = f"r{test.revision.number}"
            request_run(data_test=test, window=run.window, reason=RunReason.REVISION, occasion=occasion, now=now)
    judge_windows([(tests[run.data_test_id], run.window) for run in newest], now)
    if answered := {tests[run.data_test_id] for run in newest if run.outcome != Outcome.ERROR}:
        engine_answers(answered, now)
    for run in runs:
        run.judged_at = now
    finish_all(runs, "judged_at")
    note_judged(entering, now)


def judge_windows(places: Iterable[Place], now: datetime) -> dict[Place, Standing]:
    """The standings of windows after all that is known of them, without those of which nothing counts yet.

    Those near them follow whose streak changed with them.
    """
    by_key = {(test.pk, window_key(test, window)): (test, window) for test, window in places}
    # locked before the results are read: else a worker that waits here would write over what has come in meanwhile
    standings = _lock(by_key.values())
    evidences = _evidence(by_key.values())
    fresh = {place: results.runs for place, results in evidences.items() if place not in standings and results.runs}
    created = _create({place: due_at(*place, runs) for place, runs in fresh.items()}, now)
    raced = [place for place, row in created.items() if row.last_run_id is not None]  # another worker was first
    evidences |= _evidence(raced)
    standings |= created
    standings = {place: standings[place] for place in by_key.values() if place in standings}
    batch = StandingBatch()
    for place, standing in standings.items():
        refold(standing, place[0], evidences[place], now, batch)
    batch.write()
    troubled = troubled_tests(standings)
    for (test, _), standing in standings.items():
        if test.pk in troubled:
            for neighbour in restreak(standing, test):
                refold(neighbour, test, evidence_of(test, neighbour.window), now)
    return standings


def _evidence(places: Collection[Place]) -> dict[Place, RunEvidence]:
    runs: dict[Place, list[Run]] = defaultdict(list)
    by_window: dict[Window, dict[int, DataTest]] = defaultdict(dict)
    for test, window in places:
        if test.scope == Scope.PARTITION:
            by_window[window][test.pk] = test
    for window, tests in by_window.items():
        rows = evaluated(*tests.values()).filter(window_start=window.start, window_end=window.end)
        for run in rows.order_by("pk"):
            runs[tests[run.data_test_id], window].append(run)
    return {
        (test, window): evidence_of(test, window) if test.scope == Scope.TABLE else evidence(runs[test, window])
        for test, window in places
    }


def locked_standings(due: Mapping[Place, datetime | None], now: datetime) -> dict[Place, Standing]:
    """The standing of each window, locked until the transaction ends; a new one is PENDING, and due then or now."""
    standings = _lock(due)
    return standings | _create({place: at for place, at in due.items() if place not in standings}, now)


def _create(due: Mapping[Place, datetime | None], now: datetime) -> dict[Place, Standing]:
    """The same of windows that have no standing; another worker may be first, and its row is taken."""
    new = [
        Standing(
            data_test=test,
            window_key=window_key(test, window),
            window_start=window.start,
            window_end=window.end,
            revision=test.revision,
            since=now,
            due_at=instant or now,
        )
        for (test, window), instant in due.items()
    ]
    Standing.objects.bulk_create(new, ignore_conflicts=True)
    return _lock(due)


def _lock(places: Iterable[Place]) -> dict[Place, Standing]:
    rows = Standing.objects.select_for_update().select_related("waiver")
    by_key: dict[str, dict[int, Place]] = defaultdict(dict)
    for test, window in places:
        by_key[window_key(test, window)][test.pk] = (test, window)
    return {
        tests[row.data_test_id]: row
        for key, tests in by_key.items()
        for row in rows.filter(data_test__in=tests, window_key=key).order_by("pk")
    }


def troubled_tests(places: Collection[Place]) -> set[int]:
    """The tests, by id, with a broken window as near as a streak reaches."""
    if not places:
        return set()
    reach = max(2 * (test.revision.sustain + period(test)) for test, _ in places if test.revision)
    near = (min(window.start for _, window in places) - reach, max(window.start for _, window in places) + reach)
    rows = Standing.objects.filter(data_test__in={test.pk for test, _ in places}, window_start__range=near)
    rows = rows.filter(Q(last_outcome=Outcome.BROKEN.value) | Q(streak_at__isnull=False))
    return set(rows.values_list("data_test", flat=True))


def restreak(standing: Standing, test: DataTest) -> list[Standing]:
    """The standings around this one whose streak changed with it, each with its new ``streak_at``, not yet written."""
    assert test.revision is not None
    sustain, length = test.revision.sustain, period(test)
    if test.scope == Scope.TABLE or length >= sustain:
        return []
    distance = 2 * (sustain + length)
    span = (standing.window_start - distance, standing.window_start + distance)
    rows = Standing.objects.filter(data_test=standing.data_test_id, revision_id=standing.revision_id)
    near = list(rows.filter(window_start__range=span).select_related("waiver"))
    if not any(row.last_outcome == Outcome.BROKEN or row.streak_at for row in near):
        return []
    results: dict[Window, list[SeenRun]] = defaultdict(list)
    starts = [row.window_start for row in near]
    for run in evaluated(test).filter(window_start__range=(min(starts), max(starts))):
        results[run.window].append(seen(run))
    first_runs = (first_run(row.window, due_at=row.due_at, seen=results[row.window]) for row in near)
    failed = streak_fails(filter(None, first_runs), sustain=sustain)
    reach = sustain + length  # further away, the head of a streak may lie out of sight
    changed = []
    for row in near:
        is_near = abs(row.window_start - standing.window_start) <= reach
        if is_near and failed.get(row.window) != row.streak_at:
            row.streak_at = failed.get(row.window)
            changed.append(row)
    return changed


def adopt_run(run: Run, now: datetime) -> None:
    """Give the window of a due run that has told nothing its standing, so that its silence shows."""
    if (test := _live_tests({run.data_test_id}).get(run.data_test_id)) is not None:
        (standing,) = locked_standings({(test, run.window): run.due_at}, now).values()
        refold(standing, test, evidence_of(test, standing.window), now)
    finish(run, late_at=None)


def age_standing(standing: Standing, now: datetime) -> None:
    """Judge a window again because time alone changes it; the end of a waiver has it checked at once."""
    test = _live_tests({standing.data_test_id}).get(standing.data_test_id)
    if test is None:
        finish(standing, next_age_at=None)
        return
    row = Standing.objects.select_for_update().select_related("waiver").get(pk=standing.pk)
    row.next_age_at = None
    refold(row, test, evidence_of(test, row.window), now)
    ended = row.waiver is not None and row.waiver.ends_at is not None and row.waiver.ends_at <= now
    finish(standing, next_age_at=row.next_age_at, next_check_at=now if ended else row.next_check_at)


def _live_tests(ids: Collection[int]) -> dict[int, DataTest]:
    tests = rows_of(DataTest, ids, related=("dataset", "revision"))
    return {test.pk: test for test in tests if test.retired_at is None and test.revision is not None}


# Waivers: a user's word that what is broken opens nothing.

TO_JUDGE = Q(state__in=TROUBLED) | Q(waiver__isnull=False)


def waive(
    standings: Iterable[Standing],
    *,
    kind: WaiverKind,
    scope: WaiverScope,
    until: datetime | None = None,
    reason: str,
    author: str,
    now: datetime,
) -> list[Waiver]:
    """One waiver per standing, as bad as it is now; they are judged anew. ``until``: as the user said, None by tier."""
    rows = [row for row in standings if row.data_test.revision_id]
    waivers = Waiver.objects.bulk_create(
        Waiver(
            data_test=row.data_test,
            revision=row.data_test.revision,
            kind=kind,
            window_start=row.window_start,
            window_end=row.window_end,
            excess=row.excess,
            reason=reason,
            author=author,
            starts_at=now,
            ends_at=waiver_end(scope, made_at=now, tier=row.data_test.dataset.tier, until=until),
        )
        for row in rows
    )
    tests = {row.data_test_id: row.data_test for row in rows}
    locked = Standing.objects.select_for_update().select_related("waiver")
    for row in locked.filter(TO_JUDGE, pk__in=[row.pk for row in rows]).order_by("pk"):
        refold(row, tests[row.data_test_id], evidence_of(tests[row.data_test_id], row.window), now)
    return waivers


def judge_what_waivers_reach(tests: Iterable[DataTest], *, scope: WaiverScope, now: datetime) -> None:
    """Judge anew what else waivers of some windows of these tests explain.

    These are other broken windows of the tests, where the waivers reach on, and the whole tables of their datasets:
    what the waived windows explain of a whole table needs no waiver of its own.
    """
    live = [test for test in tests if test.revision_id]
    if scope is WaiverScope.TEST:
        for test in live:
            if test.scope != Scope.TABLE:
                refold_troubled(test, now, Q(waiver=None))
    whole = DataTest.objects.filter(scope=Scope.TABLE, retired_at__isnull=True, revision__isnull=False)
    rows = whole.select_related("dataset", "revision").order_by("pk")
    for dataset, category in sorted({(test.dataset_id, test.category) for test in live}):
        for test in rows.filter(dataset=dataset, category=category):
            refold_troubled(test, now)


def end_waivers(test: DataTest, *, now: datetime) -> None:
    """Mark the end of every waiver of an older revision: a new one ends them all."""
    Waiver.objects.filter(data_test=test, ended_at__isnull=True).exclude(revision=test.revision).update(ended_at=now)


def refold_troubled(test: DataTest, now: datetime, *which: Q) -> None:
    """Judge a test's standings that are in trouble or waived again, or only some of them."""
    rows = Standing.objects.select_for_update().select_related("waiver").filter(data_test=test)
    for row in rows.filter(TO_JUDGE, *which):
        refold(row, test, evidence_of(test, row.window), now)
