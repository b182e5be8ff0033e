"""The forty checks of the trips as data: what to measure, the same by hand, and between which values it holds."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import exp, inf

from benchmarks.data.pools import CITIES, DATE, DRIVERS, STATUSES, USERS
from execution_engine.metrics.spec import Literal, MetricSpec

EMAIL = r"^[a-z0-9._]+@[a-z0-9]+(\.[a-z0-9]+)+$"
CITY = "^city_[0-9]{3}$"
IN_STATUSES = f"status in ({', '.join(repr(status) for status in STATUSES)})"
COMPLETENESS = {
    "trip_id": 1.0,
    "user_id": 0.99,
    "driver_id": 1.0,
    "city": 1.0,
    "status": 1.0,
    "fare": 1.0,
    "tip": 0.6,
    "distance_km": 1.0,
    "started_at": 1.0,
    "ended_at": 1.0,
    "email": 1.0,
    "datestr": 1.0,
}
NUMBERS: Mapping[
    str, Mapping[str, tuple[float, float]]
] = {  # by function: from and to; wide enough for any number of rows from 1,000 on
    "fare": {"min": (2.5, 5), "max": (110, 122.5), "mean": (57, 68), "stddev": (31, 38)},
    "tip": {"min": (0, 1), "max": (24, 25), "mean": (11, 14), "stddev": (6, 8)},
    "distance_km": {"min": (0.1, 1), "max": (59, 60), "mean": (27, 33), "stddev": (16, 18.5)},
}
CONDITIONS = {
    "status is known": IN_STATUSES,
    "datestr is the day": f"datestr in ('{DATE}')",
    "trip_id is not negative": "trip_id >= 0",
    "driver_id is not negative": "driver_id >= 0",
    "fare is in range": "fare between 0 and 1000",
    "tip is missing or in range": "tip is null or tip between 0 and 100",
    "distance_km is in range": "distance_km between 0 and 500",
    "trips start before they end": "started_at < ended_at",
}
PATTERNS = {"email": EMAIL, "city": CITY}
DISTINCT = {"user_id": USERS, "city": CITIES, "driver_id": DRIVERS}
UNIQUE = (("trip_id",), ("user_id", "started_at"))
ONLY = "{only}"
SQL_FUNCTION = {"mean": "avg", "stddev": "stddev_pop"}


@dataclass(frozen=True, kw_only=True)
class Check:
    """A metric that has to lie in [low, high]; ``sql`` gives its value by hand, empty where that takes a grouping.

    ``{only}`` in it, behind each aggregate, is where a filter goes.
    """

    name: str
    spec: MetricSpec
    low: float
    high: float = inf
    sql: str = ""

    @property
    def by_hand(self) -> str:
        """The SQL, over the rows that meet the metric's ``where``."""
        where = self.spec.where
        return self.sql.replace(ONLY, f" filter (where {where})" if where else "")

    def holds(self, value: float | None) -> bool:
        """Whether the check is met; a NULL meets none."""
        return value is not None and self.low <= value <= self.high


def suite(rows: int) -> tuple[Check, ...]:
    """The forty, for a sound table of so many rows, on which all of them hold."""
    count = Check(name="row_count", spec=MetricSpec(name="row_count"), low=rows, high=rows, sql=f"count(*){ONLY}")
    return (count, *_completeness(), *_numbers(), *_conditions(), *_patterns(), *_distinct(rows), *_unique())


def failures(checks: tuple[Check, ...], values: Mapping[str, float | None]) -> frozenset[str]:
    """The names of the checks that do not hold."""
    return frozenset(check.name for check in checks if not check.holds(values[check.name]))


def _completeness() -> Iterator[Check]:
    for column, low in COMPLETENESS.items():
        spec = MetricSpec(name="completeness", columns=(column,))
        yield Check(name=f"{column} is there", spec=spec, low=low, sql=f"count({column}){ONLY} / count(*){ONLY}")


def _numbers() -> Iterator[Check]:
    for column, functions in NUMBERS.items():
        for function, (low, high) in functions.items():
            spec = MetricSpec(name=function, columns=(column,))
            sql = f"{SQL_FUNCTION.get(function, function)}({column}){ONLY}"
            yield Check(name=f"{function} of {column}", spec=spec, low=low, high=high, sql=sql)


def _conditions() -> Iterator[Check]:
    for name, condition in CONDITIONS.items():
        spec = MetricSpec(name="compliance", arguments=(condition,))
        yield Check(name=name, spec=spec, low=1, sql=_share(condition))


def _patterns() -> Iterator[Check]:
    for column, pattern in PATTERNS.items():
        arguments: tuple[Literal, ...] = (pattern,)
        spec = MetricSpec(name="pattern_match", columns=(column,), arguments=arguments)
        yield Check(name=f"{column} has its pattern", spec=spec, low=1, sql=_share(f"{column} rlike r'{pattern}'"))


def _distinct(rows: int) -> Iterator[Check]:
    for column, pool in DISTINCT.items():
        expected = pool * (1 - exp(-rows / pool))  # of a pool from which so many are drawn
        spec = MetricSpec(name="approx_count_distinct", columns=(column,))
        sql = f"approx_count_distinct({column}){ONLY}"
        yield Check(name=f"variety of {column}", spec=spec, low=0.8 * expected, high=1.2 * expected, sql=sql)


def _unique() -> Iterator[Check]:
    for columns in UNIQUE:
        spec = MetricSpec(name="uniqueness", columns=columns)
        yield Check(name=f"{', '.join(columns)} is unique", spec=spec, low=1)


def _share(condition: str) -> str:
    return f"count_if({condition}){ONLY} / count(*){ONLY}"
