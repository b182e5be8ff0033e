"""A small company of hourly tables, all due five minutes after the hour, whose owners are told within minutes."""

from datetime import timedelta

from assay.catalog.profile import (
    CatalogProfile,
    CustomProfile,
    DatasetProfile,
    PartitionProfile,
    ReplicaProfile,
    SlaProfile,
)
from assay.catalog.tiers import CatchUp
from assay.time.windows import Granularity

DATACENTER = "sea"
OWNERS = 3  # few, so that what they are told goes out together
DUE_AFTER, GRACE = timedelta(minutes=5), timedelta(minutes=1)
ASSERTIONS = ("mean(fare) between 5 and 50", "completeness(rider) >= 99 %", "row_count() between 1000 and 2000000")
TESTS_EACH = len(ASSERTIONS) + 1  # with the freshness that is written for each table


def table_name(number: int) -> str:
    """The full name of a table."""
    return f"lake.table_{number:04}"


def company(tables: int, *, tests: int = len(ASSERTIONS), catch_up: CatchUp = "all") -> CatalogProfile:
    """So many tables with so many tests of their owners each."""
    names = [table_name(number) for number in range(tables)]
    return CatalogProfile(
        datasets=tuple(_dataset(name, number, catch_up) for number, name in enumerate(names)),
        custom=tuple(
            CustomProfile(dataset=name, name=f"check-{number}", assertion=ASSERTIONS[number % len(ASSERTIONS)])
            for name in names
            for number in range(tests)
        ),
    )


def _dataset(name: str, number: int, catch_up: CatchUp) -> DatasetProfile:
    namespace, _, short = name.partition(".")
    return DatasetProfile(
        namespace=namespace,
        name=short,
        owner=f"owner-{number % OWNERS}",
        tier=number % 6,
        replicas=(ReplicaProfile(datacenter=DATACENTER, storage="parquet", location=f"/nowhere/{short}"),),
        partition=PartitionProfile(column="datestr", granularity=Granularity.HOUR),
        slas=SlaProfile(freshness=DUE_AFTER),
        sustain=timedelta(),
        grace=GRACE,
        catch_up=catch_up,
    )
