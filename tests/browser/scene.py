"""A small company on one morning: a late feed, what it holds back, a broken custom test, and much that is well."""

from dataclasses import dataclass
from datetime import timedelta

from assay import clock
from assay.models import Category, Dataset, DataTest, Origin, Scope, Severity
from assay.time.windows import Window
from execution_engine.models import Heartbeat, TableCommit
from execution_engine.outcome import Outcome
from incident_manager.models import Entry, Incident
from test_generator.models import Gap
from tests.factories import (
    DAY,
    HOUR,
    NOW,
    DatasetFactory,
    DataTestFactory,
    IncidentFactory,
    LineageEdgeFactory,
    NoticeFactory,
    RunFactory,
    SpoiltWindowFactory,
    StandingFactory,
    day,
)

LAST = day("2026-03-09")
DAYS = [Window(start=LAST.start - n * DAY, end=LAST.end - n * DAY) for n in reversed(range(27))]


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What a test of the pages looks for."""

    fares: Dataset
    incident: Incident


def set_scene() -> Scene:
    """Write the scene and stop the clock in it."""
    clock.simulate(NOW)
    trips, fares, daily = _table("raw", "trips", 0), _table("mart", "trip_fares", 1), _table("mart", "city_daily", 2)
    riders, drivers = _table("raw", "riders", 2), _table("raw", "drivers", 4)
    for upstream, downstream, one_to_one in (
        (trips, fares, True),
        (riders, fares, False),
        (fares, daily, False),
        (drivers, daily, False),
    ):
        LineageEdgeFactory.create(upstream=upstream, downstream=downstream, one_to_one=one_to_one)
    for dataset in (trips, riders, drivers, daily):
        _history(_test(dataset, Category.FRESHNESS, "freshness(complete=0.999) < 4h"), [0.0] * 27)
        _history(_test(dataset, Category.DUPLICATES, "1 - distinct_count(id) / row_count() <= 0.001"), [0.0] * 27)
    Gap.objects.create(dataset=drivers, category=Category.CONSISTENCY, reason="it has one replica", since=NOW)
    late = [0.0] * 26 + [12 * 3600.0]
    _history(_test(fares, Category.FRESHNESS, "freshness(complete=0.999) < 4h"), late)
    shares = [0.9995 + 0.0004 * (n % 3 - 1) for n in range(26)]
    ratio = "row_count() / row_count(dataset='raw.trips') between 0.999 and 1.001"
    complete = _test(fares, Category.COMPLETENESS, ratio)
    _history(complete, [*shares[:17], 0.9962, *shares[18:], 0.9431])
    _consistency(fares)
    _history(_test(fares, Category.CUSTOM, "completeness(fare) >= 98 %"), [0.995] * 20 + [0.97] + [0.995] * 6)
    commit_daily(trips, late_at=NOW + HOUR)
    commit_daily(fares, late_at=NOW - HOUR)
    return Scene(fares=fares, incident=_incident(fares, complete))


def commit_daily(dataset: Dataset, **signs: object) -> None:
    """A commit on each of the last 28 days, and a heartbeat with a last load that is half of the usual."""
    half = {
        "value": 512_345.0,
        "low": 1e6,
        "high": 1.1e6,
        "unit": "rows",
        "per": "day",
        "start": LAST.start.isoformat(),
    }
    usual = {"datacenter": "sea", "last_commit_at": NOW - DAY, "volume": half, "is_unusual": True}
    Heartbeat.objects.create(dataset=dataset, next_look_at=NOW, **{**usual, **signs})
    TableCommit.objects.bulk_create(
        TableCommit(dataset=dataset, at=NOW - n * DAY, rows_added=1_000_000 + n * 1000) for n in range(1, 28)
    )


def _table(namespace: str, name: str, tier: int) -> Dataset:
    texts = {
        "trip_fares": "One row per finished trip with what the rider paid.",
        "trips": "Every trip, as the app wrote it.",
    }
    return DatasetFactory.create(
        namespace=namespace,
        name=name,
        tier=tier,
        description=texts.get(name, ""),
        datacenters=("sea", "phx") if name == "trip_fares" else ("sea",),
    )


def _test(dataset: Dataset, category: Category, assertion: str) -> DataTest:
    is_custom = category == Category.CUSTOM
    return DataTestFactory.create(
        dataset=dataset,
        name="fare is filled" if is_custom else category.value,
        category=category,
        assertion=assertion,
        origin=Origin.USER if is_custom else Origin.GENERATED,
        severity=Severity.SOFT if is_custom else Severity.HARD,
    )


HOLDS = {
    Category.FRESHNESS: lambda value: value < 4 * 3600,
    Category.COMPLETENESS: lambda value: 0.999 <= value <= 1.001,
    Category.DUPLICATES: lambda value: value <= 0.001,
    Category.CONSISTENCY: lambda value: value >= 0.999,
    Category.CUSTOM: lambda value: value >= 0.98,
}


def _history(test: DataTest, values: list[float]) -> None:
    for window, value in zip(DAYS, values, strict=True):
        holds = HOLDS[Category(test.category)](value)
        is_newest = window == LAST
        sentence = f"{test.category} is {value:g}, {'within' if holds else 'beyond'} its bound"
        outcome = Outcome.HELD if holds else Outcome.BROKEN
        run = RunFactory.create(data_test=test, window=window, outcome=outcome, value=value, sentence=sentence)
        if not holds and is_newest:
            run.findings = {"lost_keys": ["48213", "48217", "48302"]}
            run.save()
        StandingFactory.create(
            data_test=test,
            window=window,
            state="PASS" if holds else "FAIL" if is_newest else "PASS",
            last_outcome=outcome,
            last_run=run,
            value=value,
            sentence=sentence,
        )


def _consistency(fares: Dataset) -> None:
    test = DataTestFactory.create(
        dataset=fares,
        name="consistency-count:sea>phx:whole",
        category=Category.CONSISTENCY,
        assertion="least(row_count(), row_count(datacenter='phx')) / row_count() >= 0.999",
        scope=Scope.TABLE,
        spoils="phx",
        origin=Origin.GENERATED,
        schedule="weekly",
    )
    whole = Window(start=DAYS[0].start, end=LAST.end)
    StandingFactory.create(
        data_test=test,
        window=whole,
        window_key="table",
        state="WARN",
        value=0.9975,
        sentence="the share of rows that phx has is 0.9975, below 0.999",
    )


def _incident(fares: Dataset, complete: DataTest) -> Incident:
    cause = IncidentFactory.create(dataset=fares, category=Category.FRESHNESS)
    SpoiltWindowFactory.create(incident=cause, data_test=fares.data_tests.get(name="freshness"), datacenter="sea")
    incident = IncidentFactory.create(dataset=fares, category=Category.COMPLETENESS, detected_at=NOW - 3 * HOUR)
    SpoiltWindowFactory.create(incident=incident, data_test=complete, datacenter="sea")
    assert incident.alert is not None
    incident.alert.cause = cause.alert
    incident.alert.save()
    Entry.objects.create(incident=incident, at=NOW - 2 * HOUR, actor="assay", event="inhibited", text="by freshness")
    Entry.objects.create(
        incident=incident,
        at=NOW - timedelta(minutes=50),
        actor="ada",
        event="annotated",
        text="The loader ran out of disk.",
    )
    NoticeFactory.create(alert=incident.alert, sent_at=None, suppressed="inhibited by its cause")
    NoticeFactory.create(alert=incident.alert, channel="log")
    healed = {
        "resolved_at": NOW - 9 * DAY,
        "resolution": "auto",
        "open_key": None,
        "detected_at": NOW - 9 * DAY - 5 * HOUR,
    }
    old = IncidentFactory.create(
        dataset=fares, category=Category.COMPLETENESS, root_cause="Feed restarted twice.", **healed
    )
    SpoiltWindowFactory.create(incident=old, data_test=complete, window=DAYS[17], healed_at=NOW - 9 * DAY, how="auto")
    return incident
