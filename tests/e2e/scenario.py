"""A company and its lake in memory, over which the whole loop runs, with time that a test moves on."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2s
from typing import Any

from django.db import connection

from alerting.models import Notice, Standing
from assay import clock
from assay.catalog.profile import (
    CatalogProfile,
    Column,
    CustomProfile,
    DatasetProfile,
    LineageProfile,
    PartitionProfile,
    ReplicaProfile,
)
from assay.catalog.services import record_completion
from assay.models import DataChange, Dataset, DataTest
from assay.queue.claims import table as rows_of
from assay.queue.drain import advance
from assay.queue.flow import STAGES
from assay.time.windows import Granularity, Window
from execution_engine.engines.protocol import Part, Table
from execution_engine.models import Run
from incident_manager.gate.rules import GateAnswer
from incident_manager.models import Incident, SpoiltWindow
from incident_manager.services import gate
from test_generator.services import sync
from tests.fakes import FakeEngine, Row, rows


def at(text: str) -> datetime:
    """The instant that ``2026-03-09 06:00`` says, in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def dataset(
    name: str,
    *datacenters: str,
    granularity: Granularity = Granularity.DAY,
    time_zone: str = "UTC",
    first: str | None = None,
    **metadata: Any,
) -> DatasetProfile:
    """A daily table of tier 2, at home in ``sea`` or the first of ``datacenters``; ``raw.trips`` says its namespace.

    Tier 2: hard tests, fresh 6 h after the day, sustain 4 h, grace 60 min.
    """
    namespace, _, short = name.rpartition(".")
    places = datacenters or ("sea",)
    defaults: dict[str, Any] = {
        "owner": short,
        "tier": 2,
        "primary_key": ("id",),
        "columns": (Column(name="id", type="bigint"), Column(name="fare", type="double")),
        "partition": PartitionProfile(column="datestr", granularity=granularity, time_zone=time_zone, first=first),
        "replicas": tuple(
            ReplicaProfile(datacenter=place, storage="parquet", location=f"/{place}/{name}") for place in places
        ),
    }
    return DatasetProfile(namespace=namespace, name=short, **{**defaults, **metadata})


def flow(upstream: str, downstream: str, *, one_to_one: bool = True) -> LineageProfile:
    """An edge of the lineage."""
    return LineageProfile(upstream=upstream, downstream=downstream, one_to_one=one_to_one)


def custom(dataset: str, name: str, assertion: str, **more: Any) -> CustomProfile:
    """A user's own test."""
    return CustomProfile(dataset=dataset, name=name, assertion=assertion, **more)


@dataclass
class Lake(FakeEngine):
    """Partitions whose fingerprint changes whenever they are written, be it with the same rows."""

    writes: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))

    def write(self, location: str, key: str, data: list[Row]) -> None:
        """Replace one partition."""
        super().write(location, key, data)
        self.writes[location, key] += 1

    def fingerprint(self, table: Table, part: Part) -> str | None:
        """Of what was written when, as a real lake tells files by size and modification time; of a database none."""
        if table.storage == "sql":
            return None
        present = self.tables[table.location]
        keys = [key for key in (present if part.keys is None else part.keys) if key in present]
        seen = "\n".join(f"{key}\0{self.writes[table.location, key]}" for key in keys)
        return blake2s(seen.encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """What happens, in the order of telling, and what Assay makes of it."""

    lake: Lake

    def begin(self, instant: str) -> None:
        """Set the clock before anything has happened."""
        clock.simulate(at(instant))

    def catalog(
        self,
        *datasets: DatasetProfile,
        lineage: Sequence[LineageProfile] = (),
        custom: Sequence[CustomProfile] = (),
    ) -> None:
        """The catalog's provider tells, now, of all that the company has."""
        told = CatalogProfile(datasets=datasets, lineage=tuple(lineage), custom=tuple(custom))
        sync(told, source="yaml", now=clock.now())
        self.until(clock.now())

    def until(self, instant: str | datetime) -> None:
        """Let time pass; every stage works whatever falls due, and none of it may raise."""
        advance(at(instant) if isinstance(instant, str) else instant)
        assert _still_leased() == [], "a stage raised on these rows: see the log"

    def stall(self, instant: str) -> None:
        """No worker runs until ``instant``, whatever falls due."""
        clock.simulate(at(instant))

    def land(self, name: str, key: str, data: int | list[Row], *, on: str | None = None, place: str = "sea") -> None:
        """A pipeline writes a partition (so many rows, with ids from 0 on), ``on`` an instant or now."""
        if on is not None:
            self.until(on)
        self.lake.write(f"/{place}/{name}", key, rows(data) if isinstance(data, int) else data)

    def expire(self, name: str, key: str, *, place: str = "sea") -> None:
        """The table's own retention deletes a partition, now."""
        del self.lake.tables[f"/{place}/{name}"][key]

    def complete(self, name: str, key: str, *, on: str | None = None, place: str = "sea") -> DataChange:
        """A pipeline says that it has completed a partition; all that follows from it at once is done."""
        if on is not None:
            self.until(on)
        now = clock.now()
        row = Dataset.objects.get(full_name=name)
        change = record_completion(
            dataset=row, datacenter=place, window=window(name, key), pipeline=f"load_{row.name}", now=now
        )
        self.until(now)
        return change

    def ask(self, name: str, key: str, *, place: str = "sea") -> GateAnswer:
        """The gate's answer to a pipeline that is about to read a partition; what it has measured is measured."""
        row = Dataset.objects.get(full_name=name)
        answer = gate(datasets=[row], window=window(name, key), datacenter=place, pipeline="reader", now=clock.now())
        self.until(clock.now())
        return answer


def _still_leased() -> list[tuple[str, int]]:
    """The rows that somebody holds, by table, asked in one statement."""
    tables = sorted({rows_of(stage)._meta.db_table for stage in STAGES})
    with connection.cursor() as cursor:
        cursor.execute(
            " UNION ALL ".join(f"SELECT '{each}', id FROM {each} WHERE lease_until IS NOT NULL" for each in tables)
        )
        return list(cursor.fetchall())


def window(name: str, key: str) -> Window:
    """The window of a partition."""
    partitioning = Dataset.objects.get(full_name=name).partitioning
    assert partitioning is not None
    return partitioning.window(key)


def data_test(path: str) -> DataTest:
    """The test called ``raw.trips/freshness``."""
    name, _, test = path.partition("/")
    return DataTest.objects.select_related("dataset", "revision").get(dataset__full_name=name, name=test)


def standing(path: str, key: str = "") -> Standing | None:
    """Where a test stands on a partition; of a whole table without a key. None: nothing was ever said of it."""
    test = data_test(path)
    text = window(test.dataset.full_name, key).text if key else "table"
    return Standing.objects.filter(data_test=test, window_key=text).first()


def state(path: str, key: str = "") -> str:
    """The state of a test on a partition, ``UNTESTED`` where nothing was ever said of it."""
    row = standing(path, key)
    return row.state if row else "UNTESTED"


def runs(path: str, key: str, reason: str = "") -> list[Run]:
    """The evaluated runs of a test over a partition, by the time they were measured."""
    test = data_test(path)
    asked = window(test.dataset.full_name, key)
    found = Run.objects.filter(
        data_test=test, window_start=asked.start, window_end=asked.end, evaluated_at__isnull=False
    )
    return list((found.filter(reason=reason) if reason else found).order_by("measured_at", "pk"))


def incidents(name: str = "", category: str = "") -> list[Incident]:
    """The incidents of a dataset (all) and category (all), open or not, oldest first."""
    found = Incident.objects.order_by("detected_at", "pk").select_related("dataset")
    found = found.filter(dataset__full_name=name) if name else found
    return list(found.filter(category=category) if category else found)


def spoilt(name: str) -> list[tuple[str, str, str]]:
    """What is spoilt and not healed in a dataset: the test, the partition's key and the datacenter (empty: all)."""
    partitioning = Dataset.objects.get(full_name=name).partitioning
    assert partitioning is not None
    found = SpoiltWindow.objects.filter(dataset__full_name=name, healed_at__isnull=True).select_related("data_test")
    return sorted(
        (row.data_test.name if row.data_test else "", partitioning.key(row.window), row.datacenter)
        for row in found.filter(whole_table=False)
    )


def notices(event: str) -> list[tuple[str, str]]:
    """Who was told of an event, or was not and why, as (recipient, reason), in the order of telling."""
    rows = Notice.objects.filter(event=event, channel="log").order_by("pk")
    return list(rows.values_list("recipient", "suppressed"))
