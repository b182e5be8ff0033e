"""Read what the answer on ranges of datasets rests on, in a few statements however long and many the ranges are."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from django.db import connection
from django.db.models import (
    BigIntegerField,
    BooleanField,
    Case,
    CharField,
    ExpressionWrapper,
    F,
    Field,
    Q,
    QuerySet,
    TextField,
    Value,
    When,
)
from django.db.models import Window as Over
from django.db.models.functions import FirstValue, Lead

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
from execution_engine.planning.catalog_sources import retention_start
from execution_engine.planning.schedules import PARTITION
from incident_manager.intervals import Intervals, clip, subtract, union
from incident_manager.models import ReportState, SpoiltWindow
from incident_manager.retention import terms
from test_generator.generation.standard import UNPARTITIONED

from .rules import Calendar, ClaimFact, DataTestFact, Facts, SourceFacts, SpoiltFact, StandingFact, overdue

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


def live_test(row: Mapping[str, Any], home: str, **judged: datetime | None) -> DataTestFact:
    """The test of a row (TESTED), with where it judges."""
    return DataTestFact(
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


def checks_of(tests: Mapping[int, DataTestFact], rows: Iterable[Sequence[Any]]) -> list[StandingFact]:
    """How these tests stand by rows of ``standing_rows``, one check for all windows on which a test stands alike."""
    alike: dict[tuple[Any, ...], list[Window]] = defaultdict(list)
    for test, start, end, *standing in rows:
        if test in tests:
            alike[test, *standing].append(Window(start=instant_of(start), end=instant_of(end)))
    return [
        StandingFact(
            test=tests[test],
            windows=windows,
            state=State(state),
            outcome=Outcome(outcome) if outcome else None,
            error=Reason(error) if error else None,
            cause=cause or "",
            is_due=bool(is_due),
            waived=reason if kind == WaiverKind.FORCED else None,
            accepted=reason if kind == WaiverKind.ACCEPTED else None,
        )
        for (test, state, outcome, error, cause, is_due, kind, reason), windows in alike.items()
    ]


def of_each_dataset(
    checks: Iterable[StandingFact], tests: Mapping[int, Iterable[DataTestFact]]
) -> Mapping[int, list[StandingFact]]:
    """The checks by dataset, given the tests by dataset."""
    dataset_of = {test.id: id_ for id_, own in tests.items() for test in own}
    checks_by_dataset: dict[int, list[StandingFact]] = {id_: [] for id_ in tests}
    for check in checks:
        checks_by_dataset[dataset_of[check.test.id]].append(check)
    return checks_by_dataset


def spoilt_rows(unhealed: QuerySet[SpoiltWindow]) -> QuerySet[SpoiltWindow, tuple[Any, ...]]:
    """What ``wrong_with`` reads of unhealed windows; the oldest first."""
    return unhealed.annotate(**plain_instants()).order_by("window_start", "pk").values_list(*SPOILT)


def wrong_with(rows: Iterable[Sequence[Any]]) -> defaultdict[int, WrongFacts]:
    """What unhealed windows say of each dataset, by rows of ``spoilt_rows``."""
    alike: dict[tuple[Any, ...], list[Window]] = defaultdict(list)
    facts_by_dataset = defaultdict[int, WrongFacts](WrongFacts)
    for dataset, start, end, state, partitions, *spoilt in rows:
        window = Window(start=instant_of(start), end=instant_of(end))
        if state != ReportState.OPEN:
            alike[dataset, tuple("/".join(pair) for pair in partitions), *spoilt].append(window)
            continue
        _, category, _, datacenter, *_, report = spoilt
        claim = ClaimFact(report_id=report, window=window, datacenter=datacenter or None, category=category)
        facts_by_dataset[dataset].claims.append(claim)
    for (dataset, parts, incident, category, severity, datacenter, test, whole_table, report), windows in alike.items():
        facts_by_dataset[dataset].spoilt.append(
            SpoiltFact(
                incident_id=incident,
                category=category,
                hard=severity == Severity.HARD,
                windows=windows,
                parts=[Window.parse(part) for part in parts],
                datacenter=datacenter or None,
                test_id=test,
                whole_table=whole_table,
                report_id=report,
            )
        )
    return facts_by_dataset


# What is known of a business metric with what is known of the datasets that it is computed from.

FactsOf = Callable[[Iterable[Dataset]], Mapping[int, Facts]]  # by the ids of datasets


def with_sources(facts_by_id: Mapping[int, Facts], metrics: Iterable[Dataset], facts_of: FactsOf) -> dict[int, Facts]:
    """The facts with those of the sources of each business metric; what is known of these too is not read again."""
    computed = [(metric, definition) for metric in metrics if (definition := definition_of(metric))]
    if not computed:
        return dict(facts_by_id)
    rows = by_names({name for _, definition in computed for name in definition.sources})
    facts = {**facts_by_id, **facts_of([row for row in rows.values() if row.pk not in facts_by_id])}
    facts_with_sources = dict(facts_by_id)
    for metric, definition in computed:
        sources = [rows[name] for name in definition.sources if name in rows and rows[name].replicas.all()]
        own = [
            SourceFacts(
                facts=facts[row.pk], datacenter=home(row).datacenter, is_shown=may_show(owned(row), owned(metric))
            )
            for row in sources
        ]
        facts_with_sources[metric.pk] = replace(facts_with_sources[metric.pk], sources=own)
    return facts_with_sources


AT_ONCE = 1000  # tests whose standings one statement reads: databases bound how many values a statement has


FROM, TO, AT = (datetime(year, 1, 1, tzinfo=UTC) for year in (1, 9999, 9998))  # where statements have instants


def _prepared(
    build: Callable[[Sequence[int], Window, datetime], QuerySet[Any, Any]],
) -> Callable[[Collection[int], Window, datetime], Iterable[Sequence[Any]]]:
    """The rows of a query set for ids, a window and now; it is compiled once for each number of ids.

    To compile it takes Django longer than the database needs for its answer.
    """

    @lru_cache(maxsize=64)
    def statement(vendor: str, many: int) -> PreparedValues:
        ids = range(-many, 0)
        return PreparedValues(build(ids, Window(start=FROM, end=TO), AT), *ids, FROM, TO, AT)

    def rows(ids: Collection[int], window: Window, now: datetime) -> Iterable[Sequence[Any]]:
        return statement(connection.vendor, len(ids)).values(*ids, window.start, window.end, now)

    return rows


def _overlapping(window: Window) -> Q:
    return Q(window_start__lt=window.end, window_end__gt=window.start)


@_prepared
def _live(datasets: Sequence[int], _: Window, __: datetime) -> QuerySet[Any, Any]:
    return DataTest.objects.filter(LIVE, dataset__in=datasets).order_by("name").values_list(*TESTED)


@_prepared
def _unhealed(datasets: Sequence[int], window: Window, _: datetime) -> QuerySet[Any, Any]:
    return spoilt_rows(SpoiltWindow.objects.filter(_overlapping(window), dataset__in=datasets, healed_at__isnull=True))


@_prepared
def _not_passing(tests: Sequence[int], window: Window, now: datetime) -> QuerySet[Any, Any]:
    """What does not pass, and has been tried."""
    of_range = Standing.objects.filter(_overlapping(window), data_test__in=tests).exclude(state=State.PASS)
    return standing_rows(of_range.exclude(state=State.PENDING, last_outcome="", error_reason=""), now)


@_prepared
def _passing(tests: Sequence[int], window: Window, _: datetime) -> QuerySet[Any, Any]:
    """Where each test passes: of what passes without a gap one row, with its end and where the next begins, if any.

    Each row has the start of the first too.
    """
    window_frame: dict[str, Any] = {"partition_by": [F("data_test")], "order_by": [F("window_end")]}
    # "= PASS" has SQLite read what passes of all tests; this has it begin with these tests
    passing = Standing.objects.filter(_overlapping(window), data_test__in=tests).exclude(~Q(state=State.PASS))
    ends = (
        passing.annotate(
            first_start=Over(FirstValue("window_start"), **window_frame),
            next_start=Over(Lead("window_start"), **window_frame),
        )
        .filter(Q(next_start=None) | ~Q(next_start=F("window_end")))
        .order_by("data_test", "window_end")
    )
    return ends.values_list("data_test_id", "first_start", "window_end", "next_start")


@_prepared
def _unstanding(tests: Sequence[int], window: Window, _: datetime) -> QuerySet[Any, Any]:
    """Runs that were requested as due, or found not due yet."""
    rows = Run.objects.filter(
        Q(reason=RunReason.SCHEDULE, judged_at__isnull=True) | Q(error_reason=Reason.NOT_DUE),
        _overlapping(window),
        data_test__in=tests,
    )
    return rows.values_list("data_test_id", "window_start", "window_end", "error_reason")


@_prepared
def _new_data(datasets: Sequence[int], window: Window, now: datetime) -> QuerySet[Any, Any]:
    """What is new: completions whose tests were not asked for yet, by dataset; what has to be judged anew, by test.

    The triggered runs are those of any test: they are few.
    """
    completions = DataChange.objects.filter(
        _overlapping(window), dataset__in=datasets, kind=ChangeKind.COMPLETED, followed_at__isnull=True
    )
    runs = Run.objects.filter(_overlapping(window), judged_at__isnull=True, reason=RunReason.TRIGGER, due_at__lte=now)
    nothing, nowhere = Value(None, output_field=BigIntegerField()), Value("", output_field=CharField())
    return completions.values_list("dataset_id", "datacenter", nothing, "window_start", "window_end").union(
        runs.values_list(nothing, nowhere, "data_test_id", "window_start", "window_end"), all=True
    )


def window_facts(dataset: Dataset, window: Window, *, now: datetime) -> Facts:
    """What is known of a range, of all copies of it."""
    return window_facts_of_all([dataset], window, now=now)[dataset.pk]


def window_facts_of_all(datasets: Collection[Dataset], window: Window, *, now: datetime) -> Mapping[int, Facts]:
    """What is known of a range of each of these datasets, by their ids; of a business metric with its sources."""
    facts = _own_facts(datasets, window, now=now)
    return with_sources(facts, datasets, lambda sources: _own_facts(list(sources), window, now=now))


def _own_facts(datasets: Collection[Dataset], window: Window, *, now: datetime) -> Mapping[int, Facts]:
    if not datasets:
        return {}
    rows: dict[int, list[dict[str, Any]]] = {dataset.pk: [] for dataset in datasets}  # live tests, by name
    for values in _live(rows, window, now):
        row = dict(zip(TESTED, values, strict=True))
        rows[row["dataset_id"]].append(row)
    calendars = {dataset.pk: calendar_of(dataset, now) for dataset in datasets}
    homes = {dataset.pk: _home_of(dataset) for dataset in datasets}
    partitionings = {dataset.pk: dataset.partitioning for dataset in datasets}
    tests = {
        id_: [live_test(row, homes[id_], **_judging(row, partitionings[id_])) for row in own]
        for id_, own in rows.items()
    }
    by_id = {test.id: test for own in tests.values() for test in own}
    checks, held = _standings(by_id, window, now)
    renewed = _renewed(tests, homes, held, window, now)
    held = {test: subtract(windows, renewed.get(test, ())) for test, windows in held.items()}
    by_dataset = of_each_dataset(checks, tests)
    wrong = wrong_with(_unhealed(tests, window, now))
    waiting, incomplete = _pending(by_id.values(), window, checks, held, now)
    late = {
        row["pk"]: overdue(
            next_due_at=row["next_due_at"],
            next_window=next_window(row),
            due_to=calendar.due_to if (calendar := calendars[id_]) else None,
            now=now,
        )
        for id_, own in rows.items()
        for row in own
    }
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


def _home_of(dataset: Dataset) -> str:
    """Where it is at home; empty where lineage knows it by its name alone."""
    return next((replica.datacenter for replica in dataset.replicas.all()), "")


_partition_at = lru_cache(maxsize=10_000)(Partitioning.at)  # the tests of a dataset often begin together


def _judging(row: Mapping[str, Any], partitioning: Partitioning | None) -> dict[str, datetime]:
    """From where on a test judges partitions, and from where on it holds them to their columns.

    Those that were over when columns were declared end where those begin that owe them, save for one that had begun.
    """
    if partitioning is None:
        return {}
    limits = {"judges_from": _partition_at(partitioning, row["created_at"]).start} if is_of_each_partition(row) else {}
    if declared_at := row["judges_from"]:
        begun = _partition_at(partitioning, declared_at)
        declared_from = begun.start if begun.start == declared_at else begun.end
        limits |= {"undeclared_to": begun.start, "declared_from": declared_from}
    return limits


def _of(tests: Iterable[DataTestFact], intervals: Mapping[int, Intervals]) -> dict[int, Intervals]:
    return {test.id: intervals[test.id] for test in tests if test.id in intervals}


def calendar_of(dataset: Dataset, now: datetime) -> Calendar | None:
    """What of a dataset's time is kept, due and over at ``now``; None where it has no partitions."""
    partitioning = dataset.partitioning
    if partitioning is None:
        return None
    results = terms(now, run_days=config().run_retention, state_days=0).results  # what is older was at rest
    starts = [at for at in (retention_start(dataset, now), results and partitioning.at(results).start) if at]
    return Calendar(
        retention_start=max(starts, default=None),
        due_to=partitioning.at(now - slas(dataset).freshness).start,
        ended_to=partitioning.at(now).start,
    )


def _standings(
    tests: Mapping[int, DataTestFact], window: Window, now: datetime
) -> tuple[list[StandingFact], Mapping[int, Intervals]]:
    """What does not pass and has been tried, and where each test passes, as intervals that the database joins."""
    ids, checks = list(tests), list[StandingFact]()
    windows_by_test: dict[int, list[Window]] = defaultdict(list)
    for start in range(0, len(ids), AT_ONCE):
        batch, begun = ids[start : start + AT_ONCE], None
        checks += checks_of(tests, _not_passing(batch, window, now))
        for test, first_start, end, next_start in _passing(batch, window, now):
            windows_by_test[test].append(Window(start=begun or first_start, end=end))
            begun = next_start
    return checks, _united(windows_by_test)


def _pending(
    tests: Iterable[DataTestFact],
    window: Window,
    checks: Iterable[StandingFact],
    held: Mapping[int, Intervals],
    now: datetime,
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
    waiting: dict[int, list[Window]] = defaultdict(list)
    incomplete: dict[int, list[Window]] = defaultdict(list)
    for test, start, end, error in _unstanding(gaps, window, now):
        (incomplete if error == Reason.NOT_DUE else waiting)[test].append(Window(start=start, end=end))
    return _united(waiting), _united(incomplete)


def _renewed(
    tests: Mapping[int, Iterable[DataTestFact]],
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
    windows_by_test: dict[int, list[Window]] = defaultdict(list)
    for dataset, datacenter, test_id, start, end in _new_data(tests, window, now):
        place = None if datacenter == homes.get(dataset) else datacenter
        renewed = [test.id for test in partition_tests.get(dataset, ()) if test.datacenter == place]
        for id_ in renewed if test_id is None else ids & {test_id}:
            windows_by_test[id_].append(Window(start=start, end=end))
    return {
        test: union(part for new in windows for part in clip(held.get(test, ()), new))
        for test, windows in windows_by_test.items()
    }


def _united(windows_by_test: Mapping[int, list[Window]]) -> dict[int, Intervals]:
    return {test: union(windows) for test, windows in windows_by_test.items()}
