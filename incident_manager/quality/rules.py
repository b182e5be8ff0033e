"""May this data be used? What is known of a range of a dataset, and why (pure). Nothing else decides that.

A range is answered by intervals, made of the rows that exist: however long it is, its partitions are never counted out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from alerting.state import BROKEN, State
from assay.time.windows import Window
from execution_engine.outcome import ABNORMAL, Outcome
from execution_engine.outcome import Reason as Error
from incident_manager.intervals import Intervals, before, clip, since, subtract, union

# What the answer on a dataset rests on: its tests and where they stand, what is spoilt, what users claim (pure).


@dataclass(frozen=True, kw_only=True)
class DataTestFact:
    """A live test; ``datacenter`` is where its finding lies, None for home's tests, which concern every copy."""

    id: int
    name: str
    category: str
    hard: bool
    datacenter: str | None = None
    whole_table: bool = False
    judges_from: datetime | None = None  # each partition from here on is judged; None: its windows follow no rule
    undeclared_to: datetime | None = None  # partitions up to here ended before its columns were declared
    declared_from: datetime | None = None  # partitions from here on are held to its columns
    scheduled_to: datetime | None = None  # no run was requested from here on; None: nothing asks for runs
    judges_rows: bool = True  # of the window that it runs over; False: only those that lie in no partition


@dataclass(frozen=True, kw_only=True)
class StandingFact:
    """How a test stands on some windows, the oldest first, where that is more than a plain PASS: alike on all."""

    test: DataTestFact
    windows: Sequence[Window]
    state: State
    outcome: Outcome | None = None  # the latest that held or broke
    error: Error | None = None  # of a run after it
    cause: str = ""  # what is wrong with the test itself, in words
    is_due: bool = True
    waived: str | None = None  # the reason the user gave
    accepted: str | None = None


@dataclass(frozen=True, kw_only=True)
class SpoiltFact:
    """Windows that are spoilt alike by an incident, unhealed, the oldest first.

    A test of the whole table has one, and may name the parts of it that are bad.
    """

    incident_id: int
    category: str
    hard: bool
    windows: Sequence[Window]
    parts: Sequence[Window] = ()
    datacenter: str | None = None
    test_id: int | None = None
    whole_table: bool = False
    report_id: int | None = None  # of a confirmed report

    @property
    def bad(self) -> Sequence[Window]:
        """What of them is bad."""
        return self.parts or self.windows


@dataclass(frozen=True, kw_only=True)
class ClaimFact:
    """A user's report that nobody has confirmed or rejected yet."""

    report_id: int
    window: Window
    datacenter: str | None = None
    category: str = ""


@dataclass(frozen=True, kw_only=True)
class Calendar:
    """The instants that part a dataset's time: what is kept, what is due, what has ended. None: it has no partitions.

    Each is the start of a partition, so that no partition lies on both sides.
    """

    retention_start: datetime | None = None
    due_to: datetime
    ended_to: datetime


@dataclass(frozen=True, kw_only=True)
class Facts:
    """All that is known of one dataset over what was asked."""

    dataset: str
    is_known: bool = True  # the catalog has it
    tests: Sequence[DataTestFact] = ()
    checks: Sequence[StandingFact] = ()
    held: Mapping[int, Intervals] = field(default_factory=dict)  # where each test passes, by its id
    spoilt: Sequence[SpoiltFact] = ()
    claims: Sequence[ClaimFact] = ()
    waiting: Mapping[int, Intervals] = field(default_factory=dict)  # due, not judged; a run may be requested
    incomplete: Mapping[int, Intervals] = field(default_factory=dict)  # found incomplete before they were due
    calendar: Calendar | None = None
    sources: Sequence["SourceFacts"] = ()  # of a business metric


@dataclass(frozen=True, kw_only=True)
class SourceFacts:
    """What is known of a source of a business metric; ``is_shown``: whoever may see the metric may see that too."""

    facts: Facts
    datacenter: str  # its home
    is_shown: bool = True


def overlapping(facts: Facts, window: Window) -> Facts:
    """The facts as they would have been read for one window alone, of those that were read for more."""
    checks = ((check, [part for part in check.windows if part.overlaps(window)]) for check in facts.checks)
    spoilt = ((fact, [own for own in fact.windows if own.overlaps(window)]) for fact in facts.spoilt)
    return replace(
        facts,
        checks=[replace(check, windows=windows) for check, windows in checks if windows],
        spoilt=[replace(fact, windows=windows) for fact, windows in spoilt if windows],
        claims=[claim for claim in facts.claims if claim.window.overlaps(window)],
    )


def instants(facts: Facts) -> Iterator[datetime]:
    """Every instant at which something of what is known begins or ends: ``judge`` says one thing of all between two."""
    intervals = [
        *(check.windows for check in facts.checks),
        *(windows for spoilt in facts.spoilt for windows in (spoilt.windows, spoilt.parts)),
        [claim.window for claim in facts.claims],
        *(own for known in (facts.held, facts.waiting, facts.incomplete) for own in known.values()),
    ]
    for windows in intervals:
        for window in windows:
            yield from (window.start, window.end)
    bounds = [(test.judges_from, test.undeclared_to, test.declared_from, test.scheduled_to) for test in facts.tests]
    if calendar := facts.calendar:
        bounds.append((calendar.retention_start, calendar.due_to, calendar.ended_to, None))
    yield from (at for bound in bounds for at in bound if at is not None)
    for source in facts.sources:
        yield from instants(source.facts)


# What of a test's partitions is due though nobody has asked for a run of it yet (pure).


def overdue(
    *, next_due_at: datetime | None, next_window: Window | None, due_to: datetime | None, now: datetime
) -> Intervals:
    """From the next window of the schedule on, once that is due, as far as the calendar, where it is known, says so.

    The schedule has the say, as it asks for the runs: it may be due a little later than the calendar (its jitter), or
    by another SLA than that of today.
    """
    if next_due_at is None or next_window is None or next_due_at > now:
        return ()
    return (Window(start=next_window.start, end=max(next_window.end, due_to or next_window.end)),)


UNREADABLE = ABNORMAL | {
    *(Error.UNREADABLE, Error.NO_PARTITION_COLUMN, Error.LEASE_LOST),
    *(Error.ENGINE_UNREACHABLE, Error.STORE_UNREACHABLE),
}
UNTESTED = "untested: the partition ended before the test existed, or is no longer kept"
UNDECLARED = "untested: the partition began before its columns were declared as they are"
NOT_JUDGED = "not judged yet"
LONGEST_CAUSE = 300  # characters, of what is wrong with a test
WITHOUT_RULES = frozenset({"novelty", "schema"})  # what a table is held to without a rule has to be learned first


class QualityStatus(StrEnum):
    """What is known of data, the worst first."""

    BAD = "bad"
    UNKNOWN = "unknown"
    REPORTED = "reported"
    UNTESTED = "untested"
    GOOD = "good"


HIDDEN = "what is wrong is told to its readers"
RANK = {status: rank for rank, status in enumerate(QualityStatus)}


class ReasonKind(StrEnum):
    """What a reason is about."""

    BROKEN = "broken"  # the latest result of a test
    SPOILT = "spoilt"  # by an incident or a confirmed report
    NOT_IN_CATALOG = "not in the catalog"
    NOT_JUDGED = "not judged"  # no verdict, or none any more
    NOT_THERE_YET = "not there yet"  # looked at before it was due, and incomplete
    CLAIMED = "claimed"  # by a report that nobody confirmed
    ACCEPTED = "accepted"
    NOT_OVER = "not over"  # the window has not ended
    UNTESTED = "untested"  # and never will be
    NO_TEST = "no test"
    LEARNING = "learning"
    WAIVED = "waived"


@dataclass(frozen=True, kw_only=True)
class AnswerReason:
    """One reason; ``status`` is what it makes of its windows, None where it only explains."""

    kind: ReasonKind
    text: str
    windows: Intervals
    status: QualityStatus | None = None
    category: str = ""
    test: str | None = None
    hard: bool = False
    whole_table: bool = False
    state: State | None = None
    incident_id: int | None = None
    report_id: int | None = None
    count: int = 0  # of the windows that it was found for, however they lie; 0: as many as ``windows``
    source: str = ""  # of a business metric: of which of its sources it tells; empty: of itself


@dataclass(frozen=True, kw_only=True)
class RangeRequest:
    """A range in one datacenter. Without a range: as things stand now; without a datacenter: of all copies."""

    window: Window | None = None
    datacenter: str | None = None


@dataclass(frozen=True, kw_only=True)
class QualityAnswer:
    """What is known of what was asked: the worst of its windows, and every reason, those that weigh most first."""

    dataset: str
    request: RangeRequest
    status: QualityStatus
    reasons: tuple[AnswerReason, ...] = ()
    holds_throughout: frozenset[str] = frozenset()  # categories of which a test of partitions passes on all of it


def worst(statuses: Iterable[QualityStatus]) -> QualityStatus:
    """The worst of many; good where there is none."""
    return min(statuses, key=RANK.__getitem__, default=QualityStatus.GOOD)


def judge(facts: Facts, request: RangeRequest) -> QualityAnswer:
    """The answer on one dataset."""
    if not facts.is_known:
        reasons = [
            _reason(
                ReasonKind.NOT_IN_CATALOG, f"the catalog does not know {facts.dataset}", QualityStatus.UNKNOWN, request
            )
        ]
        return QualityAnswer(
            dataset=facts.dataset, request=request, status=QualityStatus.UNKNOWN, reasons=tuple(reasons)
        )
    here = concerning(facts, request)
    reasons = [*_reasons(here, request)]
    judged = _judged(here)
    if request.window is None:
        is_untested, unexplained = not judged, not judged and not reasons
    else:
        never = subtract([request.window], judged)
        left = subtract(never, [window for reason in reasons for window in reason.windows])
        is_untested, unexplained = bool(never), bool(left)
    if unexplained:
        text = "no test has judged it" if here.tests else "no live test covers this window"
        reasons.append(
            replace(
                _reason(ReasonKind.NO_TEST, text, QualityStatus.UNTESTED, request),
                windows=left if request.window else (),
            )
        )
    reasons += [reason for source in facts.sources for reason in _of_source(source, facts.dataset, request)]
    statuses = [reason.status for reason in reasons if reason.status]
    return QualityAnswer(
        dataset=facts.dataset,
        request=request,
        status=worst([*statuses, QualityStatus.UNTESTED] if is_untested else statuses),
        reasons=_together(reasons),
        holds_throughout=frozenset(
            test.category
            for test in here.tests
            if request.window and not test.whole_table and not subtract([request.window], here.held.get(test.id, ()))
        ),
    )


def concerns(request: RangeRequest, datacenter: str | None, windows: Iterable[Window]) -> bool:
    """Whether what lies in a datacenter (None: in all) over some windows is of what was asked."""
    return _is_here(request, datacenter) and _is_then(request, windows)


def _is_here(request: RangeRequest, datacenter: str | None) -> bool:
    return request.datacenter is None or datacenter in (None, request.datacenter)


def _is_then(request: RangeRequest, windows: Iterable[Window]) -> bool:
    return request.window is None or any(window.overlaps(request.window) for window in windows)


def concerning(facts: Facts, request: RangeRequest) -> Facts:
    """The facts without those of other copies and other times."""
    parts = {spoilt.test_id: spoilt.parts for spoilt in facts.spoilt if spoilt.parts}
    tests = [test for test in facts.tests if _is_here(request, test.datacenter)]
    test_ids = {test.id for test in tests}
    spoilt = [
        fact
        if fact.parts or request.window is None
        else replace(fact, windows=[window for window in fact.windows if window.overlaps(request.window)])
        for fact in facts.spoilt
        if concerns(request, fact.datacenter, fact.bad)
    ]
    checks = []
    for check in facts.checks:
        windows, bad = check.windows, parts.get(check.test.id)
        if not _is_here(request, check.test.datacenter) or (bad and not _is_then(request, bad)):
            continue
        if not bad and request.window is not None:  # of a whole table the parts that are bad decide
            windows = [window for window in windows if window.overlaps(request.window)]
        if windows:
            checks.append(replace(check, windows=windows))
    return replace(
        facts,
        tests=tests,
        checks=sorted(checks, key=lambda check: check.windows[0].start),
        held={id_: windows for id_, windows in facts.held.items() if id_ in test_ids},
        spoilt=sorted(spoilt, key=lambda spoilt: spoilt.windows[0].start),
        claims=[claim for claim in facts.claims if concerns(request, claim.datacenter, [claim.window])],
    )


def _of_source(source: SourceFacts, metric: str, request: RangeRequest) -> Iterator[AnswerReason]:
    """What is wrong with a source of a business metric, at its home."""
    answer = judge(source.facts, replace(request, datacenter=source.datacenter))
    for reason in answer.reasons:
        if reason.status not in (None, QualityStatus.UNTESTED, QualityStatus.GOOD):
            hard = reason.hard and not (reason.whole_table and reason.category in answer.holds_throughout)
            public_reason = (
                reason if source.is_shown else _reason(reason.kind, HIDDEN, reason.status or answer.status, request)
            )
            text = f"{public_reason.text}; {metric} is computed from {answer.dataset}"
            yield replace(public_reason, text=text, hard=hard, whole_table=False, source=answer.dataset)


def _reasons(facts: Facts, request: RangeRequest) -> Iterator[AnswerReason]:
    parts = {spoilt.test_id: spoilt.parts for spoilt in facts.spoilt if spoilt.parts}
    for check in (part for fact in facts.checks for part in _by_declaration(fact)):
        if (reason := _of_check(check)) is not None:
            if bad := parts.get(check.test.id):
                yield replace(reason, windows=_clipped(bad, request))
            else:
                yield replace(reason, windows=_clipped(check.windows, request), count=len(check.windows))
    for test in facts.tests:
        if request.window is None:
            yield from _of_waiting(test, facts)
        elif facts.calendar is not None and test.judges_from is not None:
            yield from _of_gaps(test, facts, request.window)
    for spoilt in facts.spoilt:
        claimed, incident = f"report {spoilt.report_id} is confirmed", spoilt.incident_id
        yield AnswerReason(
            kind=ReasonKind.SPOILT,
            text=f"{spoilt.category} incident {incident} is open" if spoilt.report_id is None else claimed,
            windows=_clipped(spoilt.bad, request),
            status=QualityStatus.BAD,
            category=spoilt.category,
            hard=spoilt.hard,
            whole_table=spoilt.whole_table,
            incident_id=incident,
            report_id=spoilt.report_id,
            count=0 if spoilt.parts else len(spoilt.windows),
        )
    for claim in facts.claims:
        text = f"report {claim.report_id} is not confirmed yet"
        reason = _reason(ReasonKind.CLAIMED, text, QualityStatus.REPORTED, request)
        yield replace(reason, windows=_clipped([claim.window], request), report_id=claim.report_id)


def _of_check(check: StandingFact) -> AnswerReason | None:
    """What one check says; None for one that holds."""
    kind = ReasonKind.NOT_JUDGED
    status: QualityStatus | None = None
    if check.waived is not None:
        kind, text = ReasonKind.WAIVED, f"waived: {check.waived}"
    elif check.accepted is not None:
        kind, text, status = ReasonKind.ACCEPTED, f"accepted as it is: {check.accepted}", QualityStatus.REPORTED
    elif check.outcome is Outcome.BROKEN or check.state in BROKEN:
        open_yet = "" if check.state is State.FAIL else ": no incident yet"
        kind, status = ReasonKind.BROKEN, QualityStatus.BAD
        text = f"{check.test.category} is broken ({check.state.value}){open_yet}"
    elif check.state is State.UNTESTED:
        declared = check.test.declared_from
        is_undeclared = declared is not None and check.windows[0].start < declared
        kind, text = ReasonKind.UNTESTED, UNDECLARED if is_undeclared else UNTESTED
    elif check.state is State.LEARNING and check.test.category not in WITHOUT_RULES:
        kind, text = ReasonKind.LEARNING, "learning: not enough history yet"
    elif check.state in (State.PENDING, State.UNKNOWN):
        cause = f": {check.cause[:LONGEST_CAUSE] or check.error.value}" if check.error else ""
        text = f"could not be judged{cause}" if check.state is State.UNKNOWN else f"not judged yet{cause}"
        is_unknown = (check.is_due and check.test.hard) or check.error in UNREADABLE
        status = QualityStatus.UNKNOWN if is_unknown else None
    else:
        return None
    return _of_test(check.test, kind, text, status, windows=(), state=check.state)


def _by_declaration(check: StandingFact) -> Iterator[StandingFact]:
    """What never was judged, apart by whether it began before the columns were declared; else the check as it is."""
    declared = check.test.declared_from
    if check.state is not State.UNTESTED or declared is None:
        yield check
        return
    for early in (True, False):
        if windows := [window for window in check.windows if (window.start < declared) is early]:
            yield replace(check, windows=windows)


def _of_gaps(test: DataTestFact, facts: Facts, span: Window) -> Iterator[AnswerReason]:
    """What is known of the windows of a test that have no standing: by the calendar, however many they are."""
    calendar, own = facts.calendar, _standing_on(test, facts)
    assert calendar is not None
    assert test.judges_from is not None
    gaps = subtract([span], [*facts.held.get(test.id, ()), *own])
    begins = max(test.judges_from, calendar.retention_start or test.judges_from)
    future = since(gaps, calendar.ended_to)
    ended = since(before(gaps, calendar.ended_to), begins)
    undeclared: Intervals = ()
    if test.undeclared_to and test.declared_from:  # a partition between, which had begun, owes nobody its columns
        undeclared, ended = before(ended, test.undeclared_to), since(ended, test.declared_from)
    incomplete = [window for stretch in facts.incomplete.get(test.id, ()) for window in clip(ended, stretch)]
    silent = subtract(ended, incomplete)
    skipped: Intervals = ()
    if test.scheduled_to is not None:  # what is due before it has a run that is pending, or was left out
        past = before(before(silent, calendar.due_to), test.scheduled_to)
        skipped = subtract(past, facts.waiting.get(test.id, ()))
        silent = subtract(silent, skipped)
    due = _due(test, facts, silent)
    groups: list[tuple[ReasonKind, str, QualityStatus | None, Intervals]] = [
        (ReasonKind.UNTESTED, UNTESTED, None, union([*before(gaps, begins), *skipped])),
        (ReasonKind.UNTESTED, UNDECLARED, None, undeclared),
        (ReasonKind.NOT_JUDGED, NOT_JUDGED, QualityStatus.UNKNOWN if test.hard else None, due),
        (ReasonKind.NOT_JUDGED, NOT_JUDGED, None, subtract(silent, due)),
        (ReasonKind.NOT_THERE_YET, "not there yet", None, union(incomplete)),
        (ReasonKind.NOT_OVER, "not over yet", None, future),
    ]
    for kind, text, status, windows in groups:
        if windows:
            yield _of_test(test, kind, text, status, windows=windows)


def _of_waiting(test: DataTestFact, facts: Facts) -> Iterator[AnswerReason]:
    """What is due now and has no standing; of what nothing asks runs of, all since the newest that passes."""
    own = _standing_on(test, facts)
    held = facts.held.get(test.id, ())
    candidates = facts.waiting.get(test.id, ())
    if test.scheduled_to is None and test.judges_from is not None and facts.calendar is not None:
        begins = max(
            [test.judges_from, facts.calendar.retention_start or test.judges_from, *(window.end for window in held)]
        )
        candidates = (Window(start=begins, end=facts.calendar.ended_to),) if begins < facts.calendar.ended_to else ()
    late = _due(test, facts, subtract(candidates, [*held, *own]))
    if late:
        yield _of_test(
            test, ReasonKind.NOT_JUDGED, NOT_JUDGED, QualityStatus.UNKNOWN if test.hard else None, windows=late
        )


def _standing_on(test: DataTestFact, facts: Facts) -> list[Window]:
    """The windows on which the test has a standing that is no plain PASS."""
    return [window for check in facts.checks if check.test.id == test.id for window in check.windows]


def _due(test: DataTestFact, facts: Facts, silent: Intervals) -> Intervals:
    """What is due of windows that nobody has judged: by the test's schedule, or by the calendar where it has none."""
    if test.scheduled_to is not None or facts.calendar is None:
        return tuple(window for stretch in facts.waiting.get(test.id, ()) for window in clip(silent, stretch))
    return before(silent, facts.calendar.due_to)


def _of_test(
    test: DataTestFact,
    kind: ReasonKind,
    text: str,
    status: QualityStatus | None,
    *,
    windows: Intervals,
    state: State | None = None,
) -> AnswerReason:
    return AnswerReason(
        kind=kind,
        text=text,
        windows=windows,
        status=status,
        category=test.category,
        test=test.name,
        hard=test.hard,
        whole_table=test.whole_table,
        state=state,
    )


def _reason(kind: ReasonKind, text: str, status: QualityStatus, request: RangeRequest) -> AnswerReason:
    return AnswerReason(kind=kind, text=text, status=status, windows=(request.window,) if request.window else ())


def _judged(facts: Facts) -> Intervals:
    """Where some test has said something of the data: it passes, it broke, or a user has judged its result.

    That no row lies outside the partitions says nothing of those inside.
    """
    judging = {test.id for test in facts.tests if test.judges_rows}
    checks = [check for check in facts.checks if check.test.id in judging]
    windows = [
        window for check in checks if check.outcome or check.waived or check.accepted for window in check.windows
    ]
    return union([*windows, *(window for id_ in judging for window in facts.held.get(id_, ()))])


def _clipped(windows: Sequence[Window], request: RangeRequest) -> Intervals:
    return union(windows) if request.window is None else clip(windows, request.window)


def _together(reasons: Iterable[AnswerReason]) -> tuple[AnswerReason, ...]:
    """Reasons that differ by their windows alone as one; those that weigh most first."""
    groups: dict[AnswerReason, list[AnswerReason]] = {}
    for reason in reasons:
        groups.setdefault(replace(reason, windows=(), count=0), []).append(reason)
    merged = [
        replace(
            alike,
            windows=union(window for reason in own for window in reason.windows),
            count=sum(reason.count or len(reason.windows) for reason in own),
        )
        for alike, own in groups.items()
    ]
    return tuple(sorted(merged, key=lambda reason: RANK[reason.status] if reason.status else len(RANK)))
