"""A small company: its shop's database outside the lake, and trips in two datacenters, as files."""

import json
import os
import subprocess
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from django.test import Client
from sqlalchemy import create_engine, text

from assay.queue.drain import advance
from tests.e2e.processes import assay
from tests.e2e.set_ups import SetUp
from tests.integration.alerting.receivers import Received

HOME, COPY = "dca", "phx"
CATALOG = """
datasets:
  - name: ops.orders
    owner: ola@example.com
    tier: 3
    columns: {{trip_id: bigint, datestr: string}}
    primary_key: [trip_id]
    partition: {{column: datestr, granularity: day}}
    slas: {{freshness: 2h}}
    replicas:
      - {{datacenter: dca, storage: sql, location: "env:ASSAY_LOCATION_ORDERS", options: {{table: orders}}}}
  - name: raw.trips
    owner: rob@example.com
    tier: 3
    columns: {{trip_id: bigint, fare: double, datestr: string}}
    primary_key: [trip_id]
    partition: {{column: datestr, granularity: day}}
    slas: {{freshness: 2h}}
    replicas:
      - {{datacenter: dca, storage: parquet, location: {lake}/dca/raw.trips}}
  - name: lake.trips
    owner: ann@example.com
    tier: 1
    columns: {{trip_id: bigint, fare: double, datestr: string}}
    primary_key: [trip_id]
    partition: {{column: datestr, granularity: day}}
    slas: {{freshness: 2h}}
    replicas:
      - {{datacenter: dca, storage: parquet, location: {lake}/dca/lake.trips}}
      - {{datacenter: phx, storage: parquet, location: {lake}/phx/lake.trips}}
lineage:
  - {{upstream: ops.orders, downstream: raw.trips, sampled: true}}
  - {{upstream: raw.trips, downstream: lake.trips, one_to_one: true}}
"""


def at(instant: str) -> datetime:
    """The instant that ``2026-03-09 06:00`` says, in UTC."""
    return datetime.fromisoformat(instant).replace(tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Company:
    """What happens in the company, and what its people ask Assay."""

    folder: Path
    set_up: SetUp
    environment: dict[str, str]
    receiver: Received
    client: Client

    def open(self) -> None:
        """The empty tables, and the catalog that tells of them."""
        lake = self.folder / "lake"
        for place, table in ((HOME, "raw.trips"), (HOME, "lake.trips"), (COPY, "lake.trips")):
            (lake / place / table).mkdir(parents=True)
        self._sql("create table orders (trip_id bigint primary key, datestr varchar(10) not null)")
        catalog = self.folder / "catalog.yaml"
        catalog.write_text(CATALOG.format(lake=lake))
        assert self.assay("sync", str(catalog)) == 0

    def until(self, instant: str) -> None:
        """Let time pass."""
        advance(at(instant), settle=self.set_up.settle)

    def take_orders(self, day: str, ids: Collection[int]) -> None:
        """The shop's own rows of a day."""
        self._sql(f"insert into orders values {', '.join(f'({key}, {day!r})' for key in ids)}")

    def write(self, place: str, table: str, day: str, ids: Collection[int]) -> None:
        """Replace a day's file in one step, so that no reader sees half of it."""
        folder = self.folder / "lake" / place / table / f"datestr={day}"
        folder.mkdir(exist_ok=True)
        rows = pa.table({"trip_id": pa.array(ids, pa.int64()), "fare": pa.array([2.5] * len(ids), pa.float64())})
        pq.write_table(rows, folder / "_unfinished.parquet")
        os.replace(folder / "_unfinished.parquet", folder / "part-0.parquet")

    def land(self, day: str, ids: Collection[int]) -> None:
        """A day lands everywhere."""
        self.take_orders(day, ids)
        self.write(HOME, "raw.trips", day, ids)
        self.copy(day, ids)

    def copy(self, day: str, ids: Collection[int]) -> None:
        """The lake's pipeline writes a day in both datacenters, and tells nobody."""
        for place in (HOME, COPY):
            self.write(place, "lake.trips", day, ids)

    def assay(self, *arguments: str) -> int:
        """The exit code of a command."""
        return self._command(*arguments).returncode

    def answer(self, *arguments: str) -> Any:
        """What a command prints as JSON."""
        return json.loads(self._command(*arguments, "--json").stdout)

    def get(self, path: str, **query: str) -> Any:
        """The API's answer."""
        answer = self.client.get(f"/api/v1/{path}", query)
        assert answer.status_code == 200, answer.content
        return answer.json()

    def post(self, path: str, body: Any) -> Any:
        """The API's answer to what somebody tells it."""
        answer = self.client.post(f"/api/v1/{path}", body, content_type="application/json")
        assert answer.status_code == 201, answer.content
        return answer.json()

    def _command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([assay(), *arguments], env=self.environment, capture_output=True, text=True)

    def _sql(self, statement: str) -> None:
        database = create_engine(self.environment["ASSAY_LOCATION_ORDERS"])
        with database.begin() as connection:
            connection.execute(text(statement))
        database.dispose()
