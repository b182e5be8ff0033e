"""Facts from rows of the database: rows that say the same of a test's windows become one fact."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import BooleanField, Case, ExpressionWrapper, F, Field, Q, QuerySet, TextField, Value, When

from alerting.models import Standing
from alerting.state import State, WaiverKind
from alerting.verdicts.selectors import place_of
from assay.clock import instant_of
from assay.models import Origin, Scope, Severity
from assay.time.windows import Window
from execution_engine.outcome import Outcome, Reason
from execution_engine.planning.schedules import PARTITION
from incident_manager.models import ReportState, SpoiltWindow
from test_generator.generation.standard import UNPARTITIONED

from .facts import ClaimFact, KnownTest, SpoiltFact, StandingFact

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
