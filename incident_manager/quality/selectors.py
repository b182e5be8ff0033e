"""Read what the answer on a range of a dataset rests on, in a few statements however long the range is."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F, Q, QuerySet
from django.db.models import Window as Over
from django.db.models.functions import Lag, Lead

from alerting.models import Standing, WaiverKind
from alerting.selectors import spoilt_place
from alerting.standing import State
from assay.catalog.selectors import slas
from assay.config import config
from assay.models import Dataset, DataTest, Origin, Scope, Severity
from assay.windows import Partitioning, Window
from execution_engine.models import Run, RunReason
from execution_engine.outcome import Outcome, Reason
from execution_engine.schedules import PARTITION
from execution_engine.sources import kept_from
from incident_manager.intervals import Intervals, subtract, union
from incident_manager.models import Report, ReportState, SpoiltWindow
from incident_manager.pruning.rules import terms
from incident_manager.quality.facts import Calendar, Check, Claim, Facts, LiveTest, Spoilt
from incident_manager.quality.overdue import overdue
from test_generator.standard import UNPARTITIONED

SAID = ("data_test_id", "window_start", "window_end", "state", "last_outcome", "error_reason", "due_at")
WAIVED = ("waiver__kind", "waiver__reason")


@dataclass(frozen=True, kw_only=True)
class Known:
    """The facts on a range of a dataset, and the rows of what is wrong with it, for those who show them."""

    facts: Facts
    spoilt: tuple[SpoiltWindow, ...]
    claims: tuple[SpoiltWindow, ...]  # of reports that nobody has confirmed


def known_of(dataset: Dataset, window: Window, *, home: str, now: datetime) -> Known:
    """What is known of a range, of all copies of it."""
    calendar = calendar_of(dataset, now)
    live = DataTest.objects.filter(dataset=dataset, retired_at__isnull=True, revision__isnull=False)
    rows = list(live.select_related("revision").order_by("name"))
    tests = [live_test(row, dataset, home) for row in rows]
    checks, held = _standings(tests, window, now) if tests else ([], {})
    spoilt, claims = _known_wrong(dataset, window)
    late = {row.pk: _overdue(row, calendar, now) for row in rows}
    waiting, incomplete = _pending(tests, window, checks, held)
    facts = Facts(
        dataset=dataset.full_name,
        tests=tests,
        checks=checks,
        held=held,
        spoilt=[spoilt_fact(row) for row in spoilt],
        claims=[claim(row) for row in claims],
        waiting={id_: union([*windows, *waiting.get(id_, ())]) for id_, windows in late.items()},
        incomplete=incomplete,
        calendar=calendar,
    )
    return Known(facts=facts, spoilt=tuple(spoilt), claims=tuple(claims))


def _overdue(row: DataTest, calendar: Calendar | None, now: datetime) -> Intervals:
    starts, ends = row.next_window_start, row.next_window_end
    window = Window(start=starts, end=ends) if starts and ends else None
    due_to = calendar.due_to if calendar else None
    return overdue(next_due_at=row.next_due_at, next_window=window, due_to=due_to, now=now)


def calendar_of(dataset: Dataset, now: datetime) -> Calendar | None:
    """What of a dataset's time is kept, due and over at ``now``; None where it has no partitions."""
    partitioning = dataset.partitioning
    if partitioning is None:
        return None
    results = terms(now, run_days=config().run_retention, state_days=0).results  # what is older was at rest
    kept = [at for at in (kept_from(dataset, now), results and partitioning.at(results).start) if at]
    return Calendar(
        kept_from=max(kept, default=None),
        due_to=partitioning.at(now - slas(dataset).freshness).start,
        ended_to=partitioning.at(now).start,
    )


def live_test(row: DataTest, dataset: Dataset, home: str) -> LiveTest:
    """A test of ``dataset`` as the rules know it."""
    assert row.revision is not None
    partitioning = dataset.partitioning
    is_of_each = row.scope == Scope.PARTITION and row.revision.schedule == PARTITION
    return LiveTest(
        id=row.pk,
        name=row.name,
        category=row.category,
        hard=row.revision.severity == Severity.HARD,
        datacenter=spoilt_place(row, home) or None,
        whole_table=row.scope == Scope.TABLE,
        judges_from=partitioning.at(row.created_at).start if partitioning and is_of_each else None,
        **(_declaration(partitioning, row.judges_from) if partitioning and row.judges_from else {}),
        scheduled_to=row.next_window_start,
        judges_rows=judges_rows(row.name, row.origin),
    )


def judges_rows(name: str, origin: str) -> bool:
    """Whether a test judges the rows of its windows, and not only those that lie in none."""
    return origin != Origin.GENERATED or name != UNPARTITIONED


def _declaration(partitioning: Partitioning, instant: datetime) -> dict[str, datetime]:
    """Where the partitions end that were over when columns were declared, and where those begin that owe them."""
    begun = partitioning.at(instant)
    return {"undeclared_to": begun.start, "declared_from": begun.start if begun.start == instant else begun.end}


def check_of(test: LiveTest, row: tuple[Any, ...], now: datetime) -> Check:
    """A standing, given as the columns SAID and WAIVED."""
    _, start, end, state, outcome, error, due_at, kind, reason = row
    return Check(
        test=test,
        window=Window(start=start, end=end),
        state=State(state),
        outcome=Outcome(outcome) if outcome else None,
        error=Reason(error) if error else None,
        is_due=due_at <= now,
        waived=reason if kind == WaiverKind.FORCED else None,
        accepted=reason if kind == WaiverKind.ACCEPTED else None,
    )


def spoilt_fact(row: SpoiltWindow) -> Spoilt:
    """A spoilt window as the rules know it; of a report, if its incident is a user's."""
    report = report_of(row)
    return Spoilt(
        incident_id=row.incident_id,
        category=row.incident.category,
        hard=row.severity == Severity.HARD,
        window=row.window,
        parts=tuple(Window.parse("/".join(pair)) for pair in row.partitions),
        datacenter=row.datacenter or None,
        test_id=row.data_test_id,
        whole_table=row.whole_table,
        report_id=report.pk if report else None,
    )


def claim(row: SpoiltWindow) -> Claim:
    """What an open report calls bad as the rules know it."""
    return Claim(
        report_id=row.incident.report.pk,
        window=row.window,
        datacenter=row.datacenter or None,
        category=row.incident.category,
    )


def report_of(row: SpoiltWindow) -> Report | None:
    """The report whose incident spoilt it; None where a test did."""
    return getattr(row.incident, "report", None)


def split_claims(rows: Iterable[SpoiltWindow]) -> tuple[list[SpoiltWindow], list[SpoiltWindow]]:
    """Unhealed spoilt windows without those of open reports, and these: nobody has confirmed them."""
    spoilt: list[SpoiltWindow] = []
    claims: list[SpoiltWindow] = []
    for row in rows:
        report = report_of(row)
        is_claim = report is not None and report.state == ReportState.OPEN
        (claims if is_claim else spoilt).append(row)
    return spoilt, claims


def _known_wrong(dataset: Dataset, window: Window) -> tuple[list[SpoiltWindow], list[SpoiltWindow]]:
    """What is spoilt and what is claimed over a range, in one statement."""
    rows = SpoiltWindow.objects.filter(
        dataset=dataset, healed_at__isnull=True, window_start__lt=window.end, window_end__gt=window.start
    )
    return split_claims(rows.select_related("incident__report", "data_test").order_by("window_start", "pk"))


def _standings(tests: Iterable[LiveTest], window: Window, now: datetime) -> tuple[list[Check], Mapping[int, Intervals]]:
    """What does not pass, one by one, and where each test passes, as intervals: the database counts the windows."""
    by_id = {test.id: test for test in tests}
    of_range = Standing.objects.filter(
        data_test__in=list(by_id), window_start__lt=window.end, window_end__gt=window.start
    )
    nothing_yet = Q(state=State.PENDING, last_outcome="", error_reason="")
    others = of_range.exclude(state=State.PASS).exclude(nothing_yet).order_by("window_start", "pk")
    checks = [check_of(by_id[row[0]], row, now) for row in others.values_list(*SAID, *WAIVED)]
    return checks, _islands(of_range.filter(state=State.PASS))


def _islands(rows: QuerySet[Standing]) -> Mapping[int, Intervals]:
    """The unions of the windows by test, of which only first and last windows are read."""
    beside: dict[str, Any] = {"partition_by": [F("data_test")], "order_by": [F("window_start")]}
    edges = (
        rows.annotate(ends_before=Over(Lag("window_end"), **beside), starts_after=Over(Lead("window_start"), **beside))
        .filter(
            Q(ends_before=None)
            | Q(starts_after=None)
            | ~Q(ends_before=F("window_start"))
            | ~Q(starts_after=F("window_end"))
        )
        .order_by("data_test", "window_start")
    )
    found: dict[int, list[Window]] = defaultdict(list)
    begun = None
    for test, start, end, previous, following in edges.values_list(
        "data_test_id", "window_start", "window_end", "ends_before", "starts_after"
    ):
        begun = start if begun is None or previous != start else begun
        if following != end:
            found[test].append(Window(start=begun, end=end))
            begun = None
    return {test: union(windows) for test, windows in found.items()}


def _pending(
    tests: Iterable[LiveTest], window: Window, checks: Iterable[Check], held: Mapping[int, Intervals]
) -> tuple[Mapping[int, Intervals], Mapping[int, Intervals]]:
    """Of windows without a standing: what was requested as due, and what was found incomplete before it was due."""
    own: dict[int, list[Window]] = defaultdict(list)
    for check in checks:
        own[check.test.id].append(check.window)
    gaps = [
        test.id
        for test in tests
        if test.judges_from is not None and subtract([window], [*held.get(test.id, ()), *own[test.id]])
    ]
    if not gaps:
        return {}, {}
    rows = Run.objects.filter(
        Q(reason=RunReason.SCHEDULE, judged_at__isnull=True) | Q(error_reason=Reason.NOT_DUE),
        data_test__in=gaps,
        window_start__lt=window.end,
        window_end__gt=window.start,
    )
    waiting: dict[int, list[Window]] = defaultdict(list)
    incomplete: dict[int, list[Window]] = defaultdict(list)
    for test, start, end, error in rows.values_list("data_test_id", "window_start", "window_end", "error_reason"):
        (incomplete if error == Reason.NOT_DUE else waiting)[test].append(Window(start=start, end=end))
    return _united(waiting), _united(incomplete)


def _united(found: Mapping[int, list[Window]]) -> dict[int, Intervals]:
    return {test: union(windows) for test, windows in found.items()}
