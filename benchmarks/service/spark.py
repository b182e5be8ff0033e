"""``python -m benchmarks.service.spark MINUTES``: runs an hour with real Spark, on a thousand small tables."""

import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from rich.console import Console

from assay.catalog.profile import CatalogProfile, Column, CustomProfile, DatasetProfile, ReplicaProfile
from benchmarks.data.small import ROWS, TABLES, small_tables
from benchmarks.data.small_schemas import COUNTRIES, SCHEMAS, STATES
from deploy.local.fleet import FleetSize

from .catalog import DATACENTER
from .figures import Figures
from .fleet import cpu_seconds, measured_service
from .hours import begin, live, used
from .throughput import lines_of, told

SIZE = FleetSize(workers=1, concurrency=1, datacenters=(DATACENTER,))
EVERY_HOUR = "0 * * * *"
KNOWN = {"state": STATES, "country": COUNTRIES}
TYPES = {"id": "bigint", "key": "bigint", "amount": "double"}


def main(minutes: float, tables: int = TABLES) -> None:
    """Measure, and keep the figures."""
    console, folder = Console(stderr=True), small_tables()
    with measured_service("spark", SIZE, {"ASSAY_SPARK_MASTER": "local[2]"}) as service:
        begin(lambda now: _sync(folder, tables, now))
        before = cpu_seconds(service)
        lived = live(minutes, timedelta(), lambda hour: console.print(told(hour)))
        costs = used(service, before, cpu_seconds(service), sum(hour.runs for hour in lived))
        heading = f"Real Spark, {tables:,} tables of {ROWS:,} rows in parquet, 5 checks each"
        Figures(name="spark", heading=heading, lines=[*lines_of(lived), *costs]).write()


def catalog(folder: Path, tables: int) -> CatalogProfile:
    """The small tables, tested every hour as a whole."""
    places = sorted(folder.iterdir())[:tables]
    return CatalogProfile(
        datasets=tuple(_dataset(place) for place in places),
        custom=tuple(check for place in places for check in _checks(place.name)),
    )


def _dataset(place: Path) -> DatasetProfile:
    columns = SCHEMAS[_schema(place.name)]
    return DatasetProfile(
        namespace="small",
        name=_name(place.name),
        owner="owner@example.com",
        tier=3,
        replicas=(ReplicaProfile(datacenter=DATACENTER, storage="parquet", location=str(place)),),
        columns=tuple(Column(name=name, type=TYPES.get(kind, "string")) for name, kind in columns.items()),
    )


def _checks(folder: str) -> Iterator[CustomProfile]:
    columns = {kind: name for name, kind in SCHEMAS[_schema(folder)].items()}
    known = next(kind for kind in KNOWN if kind in columns)
    listed = ", ".join(f"'{value}'" for value in KNOWN[known])
    for number, assertion in enumerate(
        (
            f"row_count() = {ROWS}",
            f"completeness({columns['key']}) >= 98 %",
            f"mean({columns['amount']}) between 450 and 550",
            f"stddev({columns['amount']}) between 250 and 320",
            f'compliance("{columns[known]} in ({listed})") = 1',
        )
    ):
        yield CustomProfile(
            dataset=f"small.{_name(folder)}", name=f"check-{number}", assertion=assertion, schedule=EVERY_HOUR
        )


def _schema(folder: str) -> str:
    return folder.rpartition("-")[0]


def _name(folder: str) -> str:
    return folder.replace("-", "_")


def _sync(folder: Path, tables: int, now: datetime) -> None:
    from test_generator.services import sync

    sync(catalog(folder, tables), source="bench", now=now)


if __name__ == "__main__":
    main(float(sys.argv[1]), *map(int, sys.argv[2:]))
