"""Read what the answer on ranges of datasets rests on, in a few statements however long and many the ranges are."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from django.db import connection
from django.db.models import BooleanField, Case, ExpressionWrapper, F, Field, Q, QuerySet, TextField, Value, When
from django.db.models import Window as Over
from django.db.models.functions import Lag, Lead

from alerting.models import Standing
from alerting.state import State, WaiverKind
from alerting.verdicts.evidence import place_of
from assay.access import may_show
from assay.catalog.selectors import by_names, definition_of, home, owned, slas
from assay.clock import instant_of
from assay.config import config
from assay.database.statements import PreparedValues
from assay.models import ChangeKind, DataChange, Dataset, DataTest, Origin, Scope, Severity
from assay.time.windows import Partitioning, Window
from execution_engine.models import Run, RunReason
from execution_engine.outcome import Outcome, Reason
from execution_engine.planning.catalog_sources import kept_from
from execution_engine.planning.schedules import PARTITION
from incident_manager.intervals import Intervals, clip, subtract, union
from incident_manager.models import ReportState, SpoiltWindow
from incident_manager.retention.rules import terms
from test_generator.generation.standard import UNPARTITIONED

from .rules import Calendar, ClaimFact, Facts, KnownTest, SourceFacts, SpoiltFact, StandingFact, overdue

# Facts from rows of the database: rows that say the same of a test's windows become one fact.

TESTED = (
    *("pk", "dataset_id", "name", "category", "scope", "origin", "datacenter", "spoils", "created_at", "judges_from"),
    *("revision__severity", "revision__schedule", "next_due_at", "next_window_start", "next_window_end"),
)
STANDING = (
    *("data_test_id", "start", "end"),
    *("state", "last_outcome", "error_reason", "cause", "is_due", "waiver__kind", "waiver__reason"),
)
SPOILT = (
    *("dataset_id", "start", "end", "incident__report__state", "partitions"),
    *("incident_id", "incident__category", "severity", "datacenter", "data_test_id", "whole_table"),
    "incident__report",
)
LIVE = Q(retired_at__isnull=True, revision__isnull=False)  # of tests
OF_EACH_PARTITION = Q(scope=Scope.PARTITION, revision__schedule=PARTITION)  # they judge every partition
JUDGES_NO_ROWS = Q(origin=Origin.GENERATED, name=UNPARTITIONED)  # they judge only rows that lie in no window


@dataclass(frozen=True, kw_only=True)
class WrongFacts:
    """What is wrong with one dataset: what is spoilt, and what is claimed by reports that nobody has confirmed."""

    spoilt: list[SpoiltFact] = field(default_factory=list)
    claims: list[ClaimFact] = field(default_factory=list)


def is_of_each_partition(row: Mapping[str, Any]) -> bool:
    """Whether the test of a row (TESTED) judges every partition."""
    return bool(row["scope"] == Scope.PARTITION and row["revision__schedule"] == PARTITION)


def live_test(row: Mapping[str, Any], home: str, **judged: datetime | None) -> KnownTest:
    """The test of a row (TESTED), with where it judges."""
    return KnownTest(
        id=row["pk"],
        name=row["name"],
        category=row["category"],
        hard=row["revision__severity"] == Severity.HARD,
        datacenter=place_of(row["datacenter"], row["spoils"], home) or None,
        whole_table=row["scope"] == Scope.TABLE,
        scheduled_to=row["next_window_start"],
        judges_rows=judges_rows(row["name"], row["origin"]),
        **judged,
    )


def judges_rows(name: str, origin: str) -> bool:
    """Whether a test judges the rows of its windows, and not only those that lie in none."""
    return origin != Origin.GENERATED or name != UNPARTITIONED


def next_window(row: Mapping[str, Any]) -> Window | None:
    """The window that the schedule of a row's test (TESTED) comes to next."""
    start, end = row["next_window_start"], row["next_window_end"]
    return Window(start=start, end=end) if start and end else None


def plain_instants() -> dict[str, Any]:
    """The ends of a window as the database holds them, for ``instant_of``.

    Django looks for the zone of each instant; of tens of thousands of rows that is most of what reading them takes.
    """
    return {
        "start": ExpressionWrapper(F("window_start"), output_field=Field()),
        "end": ExpressionWrapper(F("window_end"), output_field=Field()),
    }


def standing_rows(standings: QuerySet[Standing], now: datetime) -> QuerySet[Standing, tuple[Any, ...]]:
    """What ``checks_of`` reads of standings; the oldest first."""
    is_due = ExpressionWrapper(Q(due_at__lte=now), output_field=BooleanField())
    invalid = When(error_reason=Reason.INVALID.value, then=F("last_run__sentence"))
    cause = Case(invalid, default=Value(""), output_field=TextField())  # what has to be mended in the test itself
    read = standings.annotate(is_due=is_due, cause=cause, **plain_instants())
    return read.order_by("window_start", "pk").values_list(*STANDING)


def checks_of(tests: Mapping[int, KnownTest], rows: Iterable[Sequence[Any]]) -> list[StandingFact]:
    """How these tests stand by rows of ``standing_rows``, one check for all windows on which a test stands alike."""
    alike: dict[tuple[Any, ...], list[Window]] = defaultdict(list)
    for test, start, end, *said in rows:
        if test in tests:
            alike[test, *said].append(Window(start=instant_of(start), end=instant_of(end)))
    return [_check(tests[test], windows, *said) for (test, *said), windows in alike.items()]


def _check(
    test: KnownTest,
    windows: list[Window],
    state: str,
    outcome: str,
    error: str,
    cause: str | None,
    is_due: bool,
    kind: str,
    reason: str,
) -> StandingFact:
    return StandingFact(
        test=test,
        windows=windows,
        state=State(state),
        outcome=Outcome(outcome) if outcome else None,
        error=Reason(error) if error else None,
        cause=cause or "",
        is_due=bool(is_due),
        waived=reason if kind == WaiverKind.FORCED else None,
        accepted=reason if kind == WaiverKind.ACCEPTED else None,
    )


def of_each_dataset(
    checks: Iterable[StandingFact], tests: Mapping[int, Iterable[KnownTest]]
) -> Mapping[int, list[StandingFact]]:
    """The checks by dataset, given the tests by dataset."""
    dataset_of = {test.id: id_ for id_, own in tests.items() for test in own}
    found: dict[int, list[StandingFact]] = {id_: [] for id_ in tests}
    for check in checks:
        found[dataset_of[check.test.id]].append(check)
    return found


def spoilt_rows(unhealed: QuerySet[SpoiltWindow]) -> QuerySet[SpoiltWindow, tuple[Any, ...]]:
    """What ``wrong_with`` reads of unhealed windows; the oldest first."""
    return unhealed.annotate(**plain_instants()).order_by("window_start", "pk").values_list(*SPOILT)


def wrong_with(rows: Iterable[Sequence[Any]]) -> defaultdict[int, WrongFacts]:
    """What unhealed windows say of each dataset, by rows of ``spoilt_rows``."""
    alike: dict[tuple[Any, ...], list[Window]] = defaultdict(list)
    found = defaultdict[int, WrongFacts](WrongFacts)
    for dataset, start, end, state, partitions, *said in rows:
        window = Window(start=instant_of(start), end=instant_of(end))
        if state == ReportState.OPEN:
            found[dataset].claims.append(_claim(window, *said))
        else:
            alike[dataset, tuple("/".join(pair) for pair in partitions), *said].append(window)
    for (dataset, parts, *said), windows in alike.items():
        found[dataset].spoilt.append(_spoilt(windows, [Window.parse(part) for part in parts], *said))
    return found


def _claim(
    window: Window, incident: int, category: str, severity: str, datacenter: str, test: int, whole: bool, report: int
) -> ClaimFact:
    return ClaimFact(report_id=report, window=window, datacenter=datacenter or None, category=category)


def _spoilt(
    windows: list[Window],
    parts: list[Window],
    incident: int,
    category: str,
    severity: str,
    datacenter: str,
    test: int | None,
    whole_table: bool,
    report: int | None,
) -> SpoiltFact:
    return SpoiltFact(
        incident_id=incident,
        category=category,
        hard=severity == Severity.HARD,
        windows=windows,
        parts=parts,
        datacenter=datacenter or None,
        test_id=test,
        whole_table=whole_table,
        report_id=report,
    )


# What is known of a business metric with what is known of the datasets that it is computed from.

FactsOf = Callable[[Iterable[Dataset]], Mapping[int, Facts]]  # by the ids of datasets


def with_sources(known: Mapping[int, Facts], metrics: Iterable[Dataset], facts_of: FactsOf) -> dict[int, Facts]:
    """The facts with those of the sources of each business metric; what is known of these too is not read again."""
    computed = [(metric, definition) for metric in metrics if (definition := definition_of(metric))]
    if not computed:
        return dict(known)
    rows = by_names({name for _, definition in computed for name in definition.sources})
    facts = {**known, **facts_of([row for row in rows.values() if row.pk not in known])}
    found = dict(known)
    for metric, definition in computed:
        sources = [rows[name] for name in definition.sources if name in rows and rows[name].replicas.all()]
        own = [
            SourceFacts(
                facts=facts[row.pk], datacenter=home(row).datacenter, is_shown=may_show(owned(row), owned(metric))
            )
            for row in sources
        ]
        found[metric.pk] = replace(found[metric.pk], sources=own)
    return found


NOT_PASSING = tuple(state for state in State if state is not State.PASS)  # "= PASS" has SQLite read what passes of all
FROM, TO, AT = (datetime(year, 1, 1, tzinfo=UTC) for year in (1, 9999, 9998))  # where prepared statements have instants
OVERLAPPING = {"window_start__lt": TO, "window_end__gt": FROM}
AT_ONCE = 1000  # tests whose standings one statement reads: databases bound how many values a statement has


def known_of(dataset: Dataset, window: Window, *, now: datetime) -> Facts:
    """What is known of a range, of all copies of it."""
    return known_of_all([dataset], window, now=now)[dataset.pk]


def known_of_all(datasets: Collection[Dataset], window: Window, *, now: datetime) -> Mapping[int, Facts]:
    """What is known of a range of each of these datasets, by their ids; of a business metric with its sources."""
    known = _known_alone(datasets, window, now=now)
    return with_sources(known, datasets, lambda sources: _known_alone(list(sources), window, now=now))


def _known_alone(datasets: Collection[Dataset], window: Window, *, now: datetime) -> Mapping[int, Facts]:
    if not datasets:
        return {}
    rows = _live_rows(datasets)
    calendars = {dataset.pk: calendar_of(dataset, now) for dataset in datasets}
    tests = {dataset.pk: _tests_of(dataset, rows[dataset.pk]) for dataset in datasets}
    by_id = {test.id: test for own in tests.values() for test in own}
    checks, held = _standings(by_id, window, now)
    homes = {dataset.pk: _home_of(dataset) for dataset in datasets}
    renewed = _renewed(tests, homes, held, window, now)
    held = {test: subtract(windows, renewed.get(test, ())) for test, windows in held.items()}
    by_dataset = of_each_dataset(checks, tests)
    wrong = wrong_with(_unhealed(connection.vendor, len(tests)).values(*tests, window.start, window.end))
    waiting, incomplete = _pending(by_id.values(), window, checks, held)
    late = {row["pk"]: _overdue(row, calendars[id_], now) for id_, own in rows.items() for row in own}
    waiting = {
        test: union([*windows, *waiting.get(test, ()), *renewed.get(test, ())]) for test, windows in late.items()
    }
    incomplete = {test: subtract(windows, renewed.get(test, ())) for test, windows in incomplete.items()}
    return {
        dataset.pk: Facts(
            dataset=dataset.full_name,
            tests=(own := tests[dataset.pk]),
            checks=by_dataset[dataset.pk],
            held=_of(own, held),
            spoilt=wrong[dataset.pk].spoilt,
            claims=wrong[dataset.pk].claims,
            waiting=_of(own, waiting),
            incomplete=_of(own, incomplete),
            calendar=calendars[dataset.pk],
        )
        for dataset in datasets
    }


def _live_rows(datasets: Iterable[Dataset]) -> Mapping[int, list[dict[str, Any]]]:
    """The live tests by dataset, by name."""
    ids = [dataset.pk for dataset in datasets]
    found: dict[int, list[dict[str, Any]]] = {id_: [] for id_ in ids}
    for values in _live(connection.vendor, len(ids)).values(*ids):
        row = dict(zip(TESTED, values, strict=True))
        found[row["dataset_id"]].append(row)
    return found


@lru_cache(maxsize=64)
def _live(vendor: str, many: int) -> PreparedValues:
    """The statement for the live tests of so many datasets, by name."""
    datasets = range(-many, 0)
    live = DataTest.objects.filter(dataset__in=list(datasets), retired_at__isnull=True, revision__isnull=False)
    return PreparedValues(live.order_by("name").values_list(*TESTED), *datasets)


@lru_cache(maxsize=64)
def _unhealed(vendor: str, many: int) -> PreparedValues:
    """The statement for what is bad of so many datasets within a window."""
    datasets = range(-many, 0)
    rows = SpoiltWindow.objects.filter(dataset__in=list(datasets), healed_at__isnull=True, **OVERLAPPING)
    return PreparedValues(spoilt_rows(rows), *datasets, FROM, TO)


def _tests_of(dataset: Dataset, rows: Iterable[Mapping[str, Any]]) -> list[KnownTest]:
    partitioning = dataset.partitioning
    return [live_test(row, _home_of(dataset), **_judging(row, partitioning)) for row in rows]


def _home_of(dataset: Dataset) -> str:
    """Where it is at home; empty where lineage knows it by its name alone."""
    return next((replica.datacenter for replica in dataset.replicas.all()), "")


def _judging(row: Mapping[str, Any], partitioning: Partitioning | None) -> dict[str, datetime]:
    """From where on a test judges partitions, and from where on it holds them to their columns."""
    if partitioning is None:
        return {}
    judged = {"judges_from": partitioning.at(row["created_at"]).start} if is_of_each_partition(row) else {}
    return judged | (_declaration(partitioning, row["judges_from"]) if row["judges_from"] else {})


def _of(tests: Iterable[KnownTest], found: Mapping[int, Intervals]) -> dict[int, Intervals]:
    return {test.id: found[test.id] for test in tests if test.id in found}


def _overdue(row: Mapping[str, Any], calendar: Calendar | None, now: datetime) -> Intervals:
    due_to = calendar.due_to if calendar else None
    return overdue(next_due_at=row["next_due_at"], next_window=next_window(row), due_to=due_to, now=now)


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


def _declaration(partitioning: Partitioning, instant: datetime) -> dict[str, datetime]:
    """Where the partitions end that were over when columns were declared, and where those begin that owe them."""
    begun = partitioning.at(instant)
    return {"undeclared_to": begun.start, "declared_from": begun.start if begun.start == instant else begun.end}


def _standings(
    tests: Mapping[int, KnownTest], window: Window, now: datetime
) -> tuple[list[StandingFact], Mapping[int, Intervals]]:
    """What does not pass, and where each test passes, as intervals: the database counts the windows."""
    ids, checks = list(tests), list[StandingFact]()
    held: dict[int, Intervals] = {}
    for some in (ids[start : start + AT_ONCE] for start in range(0, len(ids), AT_ONCE)):
        rows = _not_passing(connection.vendor, len(some)).values(*some, window.start, window.end, now)
        checks += checks_of(tests, rows)
        held |= _islands(some, window)
    return checks, held


@lru_cache(maxsize=64)
def _not_passing(vendor: str, many: int) -> PreparedValues:
    """The statement for what does not pass of so many tests within a window, and has been tried."""
    tests = range(-many, 0)
    of_range = Standing.objects.filter(data_test__in=list(tests), **OVERLAPPING).exclude(state=State.PASS)
    tried = of_range.exclude(Q(state=State.PENDING, last_outcome="", error_reason=""))
    return PreparedValues(standing_rows(tried, AT), *tests, FROM, TO, AT)


def _islands(tests: Sequence[int], window: Window) -> Mapping[int, Intervals]:
    """The unions of the windows by test that overlap one, of which only first and last windows are read."""
    found: dict[int, list[Window]] = defaultdict(list)
    begun = None
    edges = _edges(connection.vendor, len(tests)).values(*tests, window.start, window.end)
    for test, start, end, is_last in edges:
        begun = begun or start
        if is_last:
            found[test].append(Window(start=instant_of(begun), end=instant_of(end)))
            begun = None
    return {test: union(windows) for test, windows in found.items()}


@lru_cache(maxsize=64)
def _edges(vendor: str, many: int) -> PreparedValues:
    """The statement for so many tests: to compile it takes Django longer than the database needs for its answer."""
    tests = range(-many, 0)
    passing = Standing.objects.filter(data_test__in=list(tests), **OVERLAPPING)
    beside: dict[str, Any] = {"partition_by": [F("data_test")], "order_by": [F("window_end")]}
    edges = (
        passing.exclude(state__in=NOT_PASSING)
        .annotate(ends_before=Over(Lag("window_end"), **beside), starts_after=Over(Lead("window_start"), **beside))
        .annotate(
            is_last=Case(When(starts_after=F("window_end"), then=Value(0)), default=Value(1)),
            **plain_instants(),
        )
        .filter(
            Q(ends_before=None)
            | Q(starts_after=None)
            | ~Q(ends_before=F("window_start"))
            | ~Q(starts_after=F("window_end"))
        )
        .order_by("data_test", "window_end")
    )
    return PreparedValues(edges.values_list("data_test_id", "start", "end", "is_last"), *tests, FROM, TO)


def _pending(
    tests: Iterable[KnownTest], window: Window, checks: Iterable[StandingFact], held: Mapping[int, Intervals]
) -> tuple[Mapping[int, Intervals], Mapping[int, Intervals]]:
    """Of windows without a standing: what was requested as due, and what was found incomplete before it was due."""
    own: dict[int, list[Window]] = defaultdict(list)
    for check in checks:
        own[check.test.id] += check.windows
    gaps = [
        test.id
        for test in tests
        if test.judges_from is not None and subtract([window], [*held.get(test.id, ()), *own[test.id]])
    ]
    if not gaps:
        return {}, {}
    rows = _ungiven(connection.vendor, len(gaps)).values(*gaps, window.start, window.end)
    waiting: dict[int, list[Window]] = defaultdict(list)
    incomplete: dict[int, list[Window]] = defaultdict(list)
    for test, start, end, error in rows:
        (incomplete if error == Reason.NOT_DUE else waiting)[test].append(Window(start=start, end=end))
    return _united(waiting), _united(incomplete)


@lru_cache(maxsize=64)
def _ungiven(vendor: str, many: int) -> PreparedValues:
    """The statement for the runs of so many tests within a window that were requested as due, or found not due yet."""
    tests = range(-many, 0)
    rows = Run.objects.filter(
        Q(reason=RunReason.SCHEDULE, judged_at__isnull=True) | Q(error_reason=Reason.NOT_DUE),
        data_test__in=list(tests),
        **OVERLAPPING,
    )
    read = rows.values_list("data_test_id", "window_start", "window_end", "error_reason")
    return PreparedValues(read, *tests, FROM, TO)


def _renewed(
    tests: Mapping[int, Iterable[KnownTest]],
    homes: Mapping[int, str],
    held: Mapping[int, Intervals],
    window: Window,
    now: datetime,
) -> Mapping[int, Intervals]:
    """By test of each partition what it passes on, and was told is new: it has not judged that data yet."""
    partition_tests = {dataset: [t for t in own if t.judges_from is not None] for dataset, own in tests.items()}
    ids = {test.id for own in partition_tests.values() for test in own}
    if not ids:
        return {}
    found: dict[int, list[Window]] = defaultdict(list)
    completed = _unfollowed(connection.vendor, len(tests)).values(*tests, window.start, window.end)
    for dataset, datacenter, start, end in completed:
        place = None if datacenter == homes[dataset] else datacenter
        for test in partition_tests[dataset]:
            if test.datacenter == place:
                found[test.id].append(Window(start=start, end=end))
    for test_id, start, end in _unjudged(connection.vendor).values(window.start, window.end, now):
        if test_id in ids:
            found[test_id].append(Window(start=start, end=end))
    return {
        test: union(part for new in windows for part in clip(held.get(test, ()), new))
        for test, windows in found.items()
    }


@lru_cache(maxsize=64)
def _unfollowed(vendor: str, many: int) -> PreparedValues:
    """The statement for the completions of so many datasets within a window whose tests were not asked for yet."""
    datasets = range(-many, 0)
    rows = DataChange.objects.filter(
        dataset__in=list(datasets), kind=ChangeKind.COMPLETED, followed_at__isnull=True, **OVERLAPPING
    )
    return PreparedValues(
        rows.values_list("dataset_id", "datacenter", "window_start", "window_end"), *datasets, FROM, TO
    )


@lru_cache(maxsize=4)
def _unjudged(vendor: str) -> PreparedValues:
    """The statement for the triggered runs within a window, of any test, that are due and not judged: they are few."""
    rows = Run.objects.filter(judged_at__isnull=True, reason=RunReason.TRIGGER, due_at__lte=AT, **OVERLAPPING)
    return PreparedValues(rows.values_list("data_test_id", "window_start", "window_end"), FROM, TO, AT)


def _united(found: Mapping[int, list[Window]]) -> dict[int, Intervals]:
    return {test: union(windows) for test, windows in found.items()}
