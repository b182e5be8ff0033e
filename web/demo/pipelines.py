"""When partitions land, are spoilt and are repaired: what the company's pipelines do."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from .days import DAYS
from .demo_tables import BY_NAME, COPIED_AFTER, COPY, HOME, TABLES, DemoTable, Lake
from .faults import FAULTS, Fault, FaultKind, landing_with, late


@dataclass(frozen=True, kw_only=True)
class Writing:
    """A partition written in one datacenter; ``announced``: its pipeline tells of it."""

    at: datetime
    table: str
    day: date
    datacenter: str
    fault: Fault | None = None  # what is wrong with it
    announced: bool = True

    def write(self, lake: Lake) -> None:
        """Build it at home, or copy what home has, and write it with its fault."""
        rows = BY_NAME[self.table].build(lake, self.day) if self.datacenter == HOME else lake.read(self.table, self.day)
        lake.write(self.table, self.day, self.datacenter, spoilt(rows, self.fault) if self.fault else rows)


def lands_at(table: DemoTable, day: date) -> datetime:
    """When a partition lands at home: as usual, or as late as what it is built from makes it."""
    fault = late(table.name, day)
    if fault is not None:
        return fault.ended_at
    return table.usually_lands_at(day) + _delay(table, day)


def _delay(table: DemoTable, day: date) -> timedelta:
    if table.upstream is None:
        return timedelta()
    upstream = BY_NAME[table.upstream]
    return lands_at(upstream, day) - upstream.usually_lands_at(day)


def writings() -> list[Writing]:
    """All that is ever written, in order."""
    found = [*_landings(), *(writing for fault in FAULTS for writing in (*_spoilings(fault), *_repairs(fault)))]
    return sorted(found, key=lambda writing: writing.at)  # at one instant: in the order of the tables


def _landings() -> Iterator[Writing]:
    for day in DAYS:
        for table in TABLES:
            at, fault = lands_at(table, day), landing_with(table.name, day)
            yield Writing(at=at, table=table.name, day=day, datacenter=HOME, fault=fault)
            yield Writing(at=at + COPIED_AFTER, table=table.name, day=day, datacenter=COPY)


def _spoilings(fault: Fault) -> Iterator[Writing]:
    """What spoils a partition that had landed well; nobody tells of it."""
    if fault.kind in (FaultKind.LATE, FaultKind.WRONG_SLA) or fault.on_landing:
        return
    for place in fault.datacenters:
        # a copy of what is spoilt at home needs no spoiling of its own
        yield Writing(
            at=fault.started_at,
            table=fault.table,
            day=fault.day,
            datacenter=place,
            fault=None if place == COPY and HOME in fault.datacenters else fault,
            announced=False,
        )
    yield from _rebuilt(fault, fault.started_at, announced=False)


def _repairs(fault: Fault) -> Iterator[Writing]:
    if fault.kind in (FaultKind.LATE, FaultKind.WRONG_SLA):
        return
    for place in fault.datacenters:
        yield Writing(at=fault.ended_at, table=fault.table, day=fault.day, datacenter=place, announced=fault.announced)
    yield from _rebuilt(fault, fault.ended_at, announced=fault.announced)


def _rebuilt(fault: Fault, at: datetime, *, announced: bool) -> Iterator[Writing]:
    for table in fault.rebuilt:
        for place in (HOME, COPY):
            yield Writing(at=at, table=table, day=fault.day, datacenter=place, announced=announced)


KILOMETRES_A_MILE = 1.609344
DOUBLED_ROWS = 10
MIXED_UP_ONE_IN = 20  # pairs of neighbours, so a tenth of the rows
ONE_IN = 5  # of all rows is lost, in one datacenter or in all


def spoilt(rows: pa.Table, fault: Fault) -> pa.Table:
    """The rows as the fault leaves them."""
    return _SPOIL[fault.kind](rows)


def _in_kilometres(rows: pa.Table) -> pa.Table:
    miles = rows.column("distance")
    kilometres = pc.round(pc.multiply(miles, KILOMETRES_A_MILE)).cast(miles.type)
    return rows.set_column(rows.column_names.index("distance"), "distance", kilometres)


def _mixed_up(rows: pa.Table) -> pa.Table:
    """Neighbours that have changed their arrival delays: the column as a whole is what it was."""
    order = list(range(rows.num_rows))
    for at in range(0, rows.num_rows - 1, MIXED_UP_ONE_IN):
        order[at], order[at + 1] = at + 1, at
    return rows.set_column(rows.column_names.index("arr_delay"), "arr_delay", rows.column("arr_delay").take(order))


_SPOIL: Mapping[FaultKind, Callable[[pa.Table], pa.Table]] = {
    FaultKind.ROWS_LOST: lambda rows: rows.filter(pa.array(at % ONE_IN != 0 for at in range(rows.num_rows))),
    FaultKind.ROWS_DOUBLED: lambda rows: pa.concat_tables([rows, rows.slice(0, DOUBLED_ROWS)]),
    FaultKind.WRONG_UNIT: _in_kilometres,
    FaultKind.MIXED_UP: _mixed_up,
}
