"""Fold a window's evidence into its standing; write a flip where its state or waiver changes, and what follows."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q

from alerting.inhibition.selectors import decide_again
from alerting.models import Flip, Notice, Standing, Waiver
from alerting.notices.messages import Message, judgeable_message, unknown
from alerting.notices.policy import Audience, Event, audience_of_unknown
from alerting.notices.services import tell
from alerting.state import BROKEN, TROUBLED, State, WaiverKind
from alerting.verdicts.evidence import RunEvidence, due_at, of_the_past, verdict_of
from alerting.verdicts.sustain import Verdict, next_check
from assay.config import config
from assay.database.statements import update_each
from assay.models import Category, Dataset, DataTest, Scope, Severity
from assay.time.windows import Window, partition_name
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import compares_profiles
from execution_engine.models import Ask, Measurement, Scan
from execution_engine.outcome import TRANSIENT, Outcome, Reason
from execution_engine.services import expires_at, is_expired, release_window, take_release_back, watch_window


class StandingBatch:
    """Rows to be written together: of standings without trouble, which ask nothing of others."""

    def __init__(self) -> None:
        self.standings: list[Standing] = []
        self.fields: list[str] = []
        self.flips: list[Flip] = []

    def write(self) -> None:
        """Write them now."""
        update_each(self.standings, self.fields)
        Flip.objects.bulk_create(self.flips)


def refold(
    standing: Standing, test: DataTest, evidence: RunEvidence, now: datetime, batch: StandingBatch | None = None
) -> None:
    """Bring a standing up to what its evidence says at ``now``; written at once, or with the batch if it is calm.

    A standing of an older revision stays until a run of the newest has held or broken: an error changes nothing.
    Beyond retention nothing is judged any more.
    """
    if is_expired(test.dataset, standing.window, now):
        withdraw(standing, test, now)
        return
    if standing.revision_id != test.revision_id:
        if standing.state in (State.PASS, *BROKEN) and not evidence.judged:
            _cover_older_verdict(standing, test, now)
            return
        standing.streak_at = None
    verdict = verdict_of(standing, test, evidence, now)
    waiver = waiver_of(standing, test, verdict, evidence)
    end_held_waivers(test, standing, verdict, evidence)
    if waiver is not None and verdict.state is State.UNKNOWN:
        # Nobody checks what is waived, so that silence says nothing.
        verdict = replace(verdict, state=State.WARN, since=verdict.t0)
    _write(standing, test, verdict, waiver, evidence, now, batch)


def _cover_older_verdict(standing: Standing, test: DataTest, now: datetime) -> None:
    """What a user has said since covers the word of an older revision too."""
    if standing.waiver_id is not None or standing.last_outcome != Outcome.BROKEN:
        return
    waiver = waiver_over(standing, test, measured_at=now, excess=standing.excess)
    if waiver is None:
        return
    ages = [at for at in (standing.next_age_at, waiver.ends_at) if at is not None]
    was_watched = standing.state in TROUBLED
    _change(standing, waiver_id=waiver.pk, attempt=0, next_check_at=None, next_age_at=min(ages, default=None))
    new_flip(standing, standing.state, now).save(force_insert=True)
    watch_closely(standing, test, was=was_watched, now=now)


def withdraw(standing: Standing, test: DataTest, now: datetime) -> None:
    """Leave a window in trouble or waived UNTESTED: its data is not kept, or its test is retired."""
    if standing.state in TROUBLED or standing.waiver_id is not None:
        _take_back(standing, test, State.UNTESTED, now, next_age_at=None)


def put_off(standing: Standing, test: DataTest, due_at: datetime, now: datetime) -> None:
    """Take back what was said of a window that, by the newest revision, is not due before ``due_at``."""
    _take_back(standing, test, State.PENDING, now, revision_id=test.revision_id, due_at=due_at, next_age_at=due_at)


def _take_back(standing: Standing, test: DataTest, state: State, now: datetime, **more: Any) -> None:
    old, was_watched = standing.state, standing.state in TROUBLED and standing.waiver_id is None
    nothing = {"broken_since": None, "streak_at": None, "last_outcome": "", "error_reason": "", "waiver_id": None}
    _change(standing, **{"state": state.value, "since": now, "attempt": 0, "next_check_at": None, **nothing, **more})
    new_flip(standing, old, now).save(force_insert=True)
    decide_again(standing, test, was=old, now=now)
    watch_closely(standing, test, was=was_watched, now=now)
    note_known_again(standing, test, was=old, now=now)


def _change(standing: Standing, **changes: Any) -> None:
    Standing.objects.filter(pk=standing.pk).update(**changes)
    for name, value in changes.items():
        setattr(standing, name, value)


def _write(
    standing: Standing,
    test: DataTest,
    verdict: Verdict,
    waiver: Waiver | None,
    evidence: RunEvidence,
    now: datetime,
    batch: StandingBatch | None,
) -> None:
    old, was_waived, was_watched = standing.state, standing.waiver_id is not None, asks_for_looks(standing)
    newest = evidence.newest
    has_moved = test.scope == Scope.TABLE and newest is not None and newest.window != standing.window
    changes = _changes(standing, test, verdict, waiver, evidence, now)
    if newest is not None and has_moved:
        changes |= {"window_start": newest.window_start, "window_end": newest.window_end}
    for name, value in changes.items():
        setattr(standing, name, value)
    if was_watched or was_waived or waiver or asks_for_looks(standing):
        batch = None
    if batch is None:
        Standing.objects.filter(pk=standing.pk).update(**changes)
    else:
        batch.standings.append(standing)
        fields = [name.removesuffix("_id") for name in changes]
        batch.fields = [*dict.fromkeys([*fields, "attempt", "next_check_at"])]
    has_changed = (old, was_waived) != (standing.state, standing.waiver_id is not None)
    if has_changed or (has_moved and standing.state == State.FAIL):
        if batch is None:
            new_flip(standing, old, now).save(force_insert=True)
        else:
            batch.flips.append(new_flip(standing, old, now))
    decide_again(standing, test, was=old, now=now)
    watch_closely(standing, test, was=was_watched, now=now)
    if waiver is not None or was_waived:
        note_released(standing, test, waiver)
    if has_changed:
        note_unknown(standing, test, was=old, now=now)
        note_known_again(standing, test, was=old, now=now)


def _changes(
    standing: Standing, test: DataTest, verdict: Verdict, waiver: Waiver | None, evidence: RunEvidence, now: datetime
) -> dict[str, Any]:
    newest = evidence.newest
    instants = [verdict.next_change_at, waiver.ends_at if waiver else None]
    if verdict.state in TROUBLED:
        instants.append(expires_at(test.dataset, standing.window))
    return {
        "revision_id": test.revision_id,
        "state": verdict.state.value,
        "since": verdict.since or (standing.since if verdict.state == standing.state else now),
        "window_start": standing.window_start,
        "window_end": standing.window_end,
        "due_at": due_at(test, standing.window, evidence.runs) or standing.due_at,
        "broken_since": verdict.t0,
        "streak_at": standing.streak_at,
        "last_run_id": newest.pk if newest else None,
        "last_outcome": verdict.outcome.value if verdict.outcome else "",
        "error_reason": verdict.reason.value if verdict.reason else "",
        "value": verdict.value,
        "excess": verdict.excess,
        "sentence": evidence.sentence(evidence.run(verdict.run_id)),
        "waiver_id": waiver.pk if waiver else None,
        "next_age_at": min((at for at in instants if at is not None and at > now), default=None),
        **check_terms(standing, test, verdict, waived=waiver is not None, now=now),
    }


def new_flip(standing: Standing, old: str, now: datetime) -> Flip:
    """A row for the incident manager: the state or the waiver has changed.

    Nearly all are a first verdict that opens nothing: there is nothing to handle.
    """
    is_harmless = old == State.PENDING and standing.state != State.FAIL and standing.waiver_id is None
    return Flip(
        standing=standing,
        data_test_id=standing.data_test_id,
        revision_id=standing.revision_id,
        run_id=standing.last_run_id,
        window_start=standing.window_start,
        window_end=standing.window_end,
        old=old,
        new=standing.state,
        waived=standing.waiver_id is not None,
        at=now,
        handled_at=now if is_harmless else None,
    )


# Which waiver covers what a standing says, and when one has served.


def waiver_of(standing: Standing, test: DataTest, verdict: Verdict, evidence: RunEvidence) -> Waiver | None:
    """The waiver that covers the latest result, if that is broken."""
    if verdict.outcome is not Outcome.BROKEN or verdict.measured_at is None:
        return None
    return waiver_over(standing, test, measured_at=verdict.measured_at, excess=verdict.excess, held_at=evidence.held_at)


def waiver_over(
    standing: Standing, test: DataTest, *, measured_at: datetime, excess: float | None, held_at: datetime | None = None
) -> Waiver | None:
    """The waiver of the newest revision that covers a broken result of the standing's window: its own before others.

    There may be thousands of a test, one for each window that was accepted; of other windows only those that reach on.
    """
    rows = Waiver.objects.filter(data_test=test, revision=test.revision).order_by("pk")
    is_whole, is_late = test.scope == Scope.TABLE, test.category == Category.FRESHNESS
    own = rows.filter(window_start=standing.window_start, window_end=standing.window_end)
    for candidates in (rows,) if is_whole else (own, rows.filter(ends_at__isnull=False)):
        for row in candidates:
            window = row.window if is_whole else standing.window  # the window of a whole table moves
            if covers(row, window, measured_at=measured_at, excess=excess, held_at=held_at, is_late=is_late):
                return row
    return None


def covers(
    waiver: Waiver,
    window: Window,
    *,
    measured_at: datetime,
    excess: float | None,
    held_at: datetime | None = None,
    is_late: bool = False,
) -> bool:
    """Whether a broken result of a window opens nothing; a held run ends the waiver of its own window.

    What is late is later at each look, and no worse for it; where neither value has a distance to its bound, they are
    alike.
    """
    is_forced = waiver.kind == WaiverKind.FORCED
    is_no_worse = excess == waiver.excess
    if excess is not None and waiver.excess is not None:
        is_no_worse = excess <= waiver.excess
    if window != waiver.window:
        reaches = is_forced and waiver.ends_at is not None and measured_at < waiver.ends_at
        return reaches and window.start > waiver.window_start and is_no_worse
    return (held_at is None or held_at <= waiver.starts_at) and (is_forced or is_late or is_no_worse)


def end_held_waivers(test: DataTest, standing: Standing, verdict: Verdict, evidence: RunEvidence) -> None:
    """Mark the end of a window's own waiver once the window has held."""
    if standing.waiver_id is None or verdict.outcome is not Outcome.HELD:
        return
    own = Waiver.objects.filter(pk=standing.waiver_id, ends_at__isnull=True, starts_at__lt=evidence.held_at)
    own.update(ended_at=verdict.measured_at)


# When a window in trouble is checked: set when its trouble begins, moved on by each check.


def is_checked(state: State, reason: Reason | None) -> bool:
    """Whether a window is run again by itself: while it is broken, or could not be read just now."""
    return state in BROKEN or reason in TRANSIENT


def check_terms(standing: Standing, test: DataTest, verdict: Verdict, *, waived: bool, now: datetime) -> dict[str, Any]:
    """What changes of a standing's check schedule with a verdict: it begins anew with each new t0."""
    if waived or not is_checked(verdict.state, verdict.reason):
        return {"attempt": 0, "next_check_at": None}
    if standing.next_check_at is not None and verdict.t0 == standing.broken_since:
        return {}
    t0 = verdict.t0 or now
    return {"attempt": 0, "next_check_at": after_check(standing, test, attempt=0, t0=t0, now=now)}


def after_check(
    standing: Standing, test: DataTest, *, attempt: int, t0: datetime, now: datetime, cost: timedelta = timedelta(0)
) -> datetime:
    """When to check next after check number ``attempt`` at ``now``."""
    assert test.revision is not None
    key = (test.dataset.full_name, test.name, standing.window_key)
    return next_check(attempt, after=now, t0=t0, sustain=test.revision.sustain, key=key, cost=cost)


def last_cost(standing: Standing) -> timedelta:
    """How long the scans of a standing's newest run took."""
    scans = Scan.objects.filter(measurements__asks__run=standing.last_run_id).distinct()
    return timedelta(seconds=sum(scans.values_list("seconds", flat=True)))


def engine_answers(answered: Collection[DataTest], now: datetime) -> None:
    """After an engine's success with these tests, what it could not reach of others is due, critical tiers first."""
    places = {test.datacenter for test in answered}
    waiting = Standing.objects.filter(
        error_reason=Reason.ENGINE_UNREACHABLE.value, data_test__datacenter__in=places, next_check_at__gt=now
    )
    for standing in waiting.select_related("data_test__dataset"):
        other = standing.data_test
        if any(test.datacenter == other.datacenter and test != other for test in answered):
            soon = now + timedelta(seconds=other.dataset.tier)
            Standing.objects.filter(pk=standing.pk, next_check_at__gt=soon).update(next_check_at=soon)


# What a change asks of others: a closer watch over its data, and a word to who can mend it.

NOW_IS = {
    State.PASS: "holds again",
    State.WARN: "has a verdict again: it is broken",
    State.FAIL: "has a verdict again: it is broken",
    State.LEARNING: "is gathering history again",
    State.PENDING: "needs no verdict yet",
}


def note_released(standing: Standing, test: DataTest, waiver: Waiver | None) -> None:
    """Let what a user calls right join the past that novelty is judged by, for as long as the user says so.

    What a user accepts is bad data that stays as it is: it never joins.
    """
    assert test.revision is not None
    if not compares_profiles(from_json(test.revision.tree)):
        return
    if waiver is None:
        take_release_back(test=test, window=standing.window)
    elif waiver.kind == WaiverKind.FORCED:
        release_window(test=test, window=standing.window, until=waiver.ends_at)
    else:
        release_window(test=test, window=standing.window, until=None, is_wrong=True)


def asks_for_looks(standing: Standing) -> bool:
    """Whether its data is to be looked at often: the window is in trouble and not waived, or its due run has erred."""
    erred = standing.state == State.PENDING and standing.error_reason != ""
    return (standing.state in TROUBLED or erred) and standing.waiver_id is None


def watch_closely(standing: Standing, test: DataTest, *, was: bool, now: datetime) -> None:
    """Watch what the test reads closely while its window asks for that, and as usual again after."""
    is_now = asks_for_looks(standing)
    if is_now == was:
        return
    read = _read_places(standing, test)
    datasets = Dataset.objects.in_bulk({dataset_id for dataset_id, _, _ in read})
    for dataset_id, datacenter, window in sorted(read, key=str):
        # another test that is in trouble may read the same data; the runs first: they are few, and SQLite would go
        # through all that is in trouble anywhere
        asks = Ask.objects.filter(
            measurement__dataset=dataset_id,
            measurement__datacenter=datacenter,
            measurement__window_start=window.start,
            measurement__window_end=window.end,
        )
        others = Standing.objects.filter(
            Q(state__in=TROUBLED) | (Q(state=State.PENDING) & ~Q(error_reason="")), waiver__isnull=True
        ).exclude(pk=standing.pk)
        if is_now or not others.filter(last_run__in=list(asks.values_list("run", flat=True).distinct())).exists():
            dataset = datasets[dataset_id]
            watch_window(dataset=dataset, datacenter=datacenter, window=window, closely=is_now, now=now)


def _read_places(standing: Standing, test: DataTest) -> set[tuple[int, str, Window]]:
    """What its newest run read; of a business metric, which has no files, what its sources read, however far."""
    rows = Measurement.objects.filter(asks__run=standing.last_run_id)
    if test.dataset.business_metric is None:
        places = rows.values_list("dataset_id", "datacenter", "window_start", "window_end").distinct()
        read_places = {(dataset, place, Window(start=start, end=end)) for dataset, place, start, end in places}
        return read_places or {(test.dataset_id, test.datacenter, standing.window)}
    read_places = set()
    while keys := list(rows.values_list("pk", flat=True)):
        rows = Measurement.objects.filter(users__in=keys).select_related("dataset").defer("state").distinct()
        read_places |= {
            (row.dataset_id, row.datacenter, row.window) for row in rows if row.dataset.business_metric is None
        }
    return read_places


def note_unknown(standing: Standing, test: DataTest, *, was: str, now: datetime) -> None:
    """Tell of a window that could not be judged: on-call of what passes, the owner of what the test is at fault for."""
    if standing.state != State.UNKNOWN or was == State.UNKNOWN or standing.waiver_id is not None:
        return
    reason = Reason(standing.error_reason) if standing.error_reason else None
    # of a business metric those tests say that there is no data which judge its value
    category = Category.FRESHNESS if test.dataset.business_metric is None else Category.METRIC
    freshness_broken = Standing.objects.filter(
        data_test__dataset=test.dataset_id,
        data_test__category=category,
        state__in=BROKEN,
        window_start__lt=standing.window_end,
        window_end__gt=standing.window_start,
    ).exists()
    audience = audience_of_unknown(reason, freshness_broken=freshness_broken)
    if audience is Audience.NOBODY or of_the_past([standing]):
        return
    run = standing.last_run  # what held or broke before the newest run is no cause
    cause = run.sentence if run is not None and run.outcome == Outcome.ERROR else ""
    text = unknown(
        dataset=test.dataset.full_name,
        test=test.name,
        partition=_partition(standing, test),
        since=standing.since,
        reason=cause or (reason.value if reason else "no result yet"),
    )
    recipient = test.dataset.owner if audience is Audience.OWNER else config().on_call
    key = f"standing:{standing.pk}:{standing.since:%Y%m%dT%H%M%S}"
    _tell(Event.UNKNOWN, text, standing, test, recipient, key, now, is_owner=audience is Audience.OWNER)


def note_known_again(standing: Standing, test: DataTest, *, was: str, now: datetime) -> None:
    """Tell people once that a window can be judged again, if they were told that it could not."""
    if was != State.UNKNOWN or standing.state == State.UNKNOWN:
        return
    keys = {"key__gte": f"standing:{standing.pk}:", "key__lt": f"standing:{standing.pk};"}  # SQLite scans for prefixes
    notices = Notice.objects.filter(event=Event.UNKNOWN, **keys, suppressed="")
    last = notices.order_by("-pk").values_list("key", "recipient").first()
    if last is None:
        return
    text = judgeable_message(
        dataset=test.dataset.full_name,
        test=test.name,
        partition=_partition(standing, test),
        at=now,
        now_is=NOW_IS.get(State(standing.state), "needs no verdict any more"),
    )
    key, recipient = last[0].partition(f":{Event.UNKNOWN}:")[0], last[1]
    is_owner = recipient == test.dataset.owner
    _tell(Event.KNOWN_AGAIN, text, standing, test, recipient, key, now, is_owner=is_owner)


def _partition(standing: Standing, test: DataTest) -> str:
    return partition_name(standing.window, test.dataset.partitioning, whole_table=test.scope == Scope.TABLE)


def _tell(
    event: Event,
    text: Message,
    standing: Standing,
    test: DataTest,
    recipient: str,
    key: str,
    now: datetime,
    *,
    is_owner: bool,
) -> None:
    tell(
        event=event,
        recipient=recipient,
        dataset=test.dataset if is_owner else None,
        is_soft=is_owner and standing.revision.severity == Severity.SOFT,
        tier=test.dataset.tier,
        subject=text.title,
        body=text.body,
        facts={"dataset": test.dataset.full_name, "test": test.name, "window": standing.window.text},
        key=key,
        now=now,
    )
