"""A company of 2,000 hourly tables with 9 tests each, all due at the same instant of the hour."""

from datetime import timedelta

from assay.catalog.profile import (
    CatalogProfile,
    CustomProfile,
    DatasetProfile,
    PartitionProfile,
    ReplicaProfile,
    SlaProfile,
)
from assay.time.windows import Granularity

from .stub import StubEngine

DATACENTER = "bench"
TABLES, TESTS_EACH = 2_000, 9  # Uber's count of both: 18,000 tests
ASSERTIONS = (
    "completeness(fare) >= 99 %",
    "completeness(distance) >= 99 %",
    "completeness(driver) >= 99 %",
    "completeness(rider) >= 99 %",
    "mean(fare) between 5 and 50",
    "distinct_count(city) >= 10",
    "row_count() between 1000 and 2000000",
    "max(fare) < 10000 and min(fare) >= 0",
)  # and the freshness that is written for each table makes nine
VALUES = {
    "row_count": 100_000.0,
    "completeness": 1.0,
    "mean": 12.5,
    "distinct_count": 40.0,
    "max": 420.0,
    "min": 2.5,
}
SPOILT_EVERY = 500  # one table in so many has lost a column


def catalog(*, tables: int = TABLES, freshness: timedelta, sustain: timedelta | None = None) -> CatalogProfile:
    """The tables, and their users' tests of every partition; freshness is due ``freshness`` after the hour."""
    names = [f"bench.table_{number:04}" for number in range(tables)]
    return CatalogProfile(
        datasets=tuple(_dataset(name, number, freshness, sustain) for number, name in enumerate(names)),
        custom=tuple(
            CustomProfile(dataset=name, name=f"check-{number}", assertion=assertion)
            for name in names
            for number, assertion in enumerate(ASSERTIONS)
        ),
    )


def stub(*, tables: int = TABLES, delay: float = 0.0) -> StubEngine:
    """An engine that finds all tables sound but a few."""
    spoilt = {(f"bench.table_{number:04}", "", "completeness(rider)"): 0.5 for number in range(0, tables, SPOILT_EVERY)}
    return StubEngine(values=spoilt, defaults=VALUES, delay=delay)


def _dataset(name: str, number: int, freshness: timedelta, sustain: timedelta | None) -> DatasetProfile:
    namespace, _, short = name.partition(".")
    return DatasetProfile(
        namespace=namespace,
        name=short,
        owner=f"owner-{number % 100}@example.com",
        tier=number % 6,
        replicas=(ReplicaProfile(datacenter=DATACENTER, storage="parquet", location=f"/nowhere/{short}"),),
        partition=PartitionProfile(column="datestr", granularity=Granularity.HOUR),
        slas=SlaProfile(freshness=freshness),
        sustain=sustain,
        catch_up="all",
    )
