"""What SQLite says of the same rows, in SQL written apart from ours."""

import sqlite3

from tests.integration.engines.trips import COLUMNS, Row, metric

AGREED = [
    (metric("row_count"), "count(*)"),
    (metric("row_count", where="city = 'rome'"), "sum(city is 'rome')"),
    (metric("row_count", where="city = 'nowhere'"), "0"),
    (metric("completeness", "city"), "1.0 - sum(city is null) * 1.0 / count(*)"),
    (metric("completeness", "fare", where="riders = 1"), "avg(fare is not null) filter (where riders = 1)"),
    (metric("completeness", "fare", where="riders > 99"), "null"),
    (metric("compliance", arguments=("fare between 5 and 10",)), "sum(coalesce(fare >= 5 and fare <= 10, 0)) / 5.0"),
    (metric("compliance", arguments=('city in ("rome", "oslo") -- cities',)), "4 / 5.0"),
    (metric("min", "fare"), "min(fare)"),
    (metric("max", "riders"), "max(riders)"),
    (metric("mean", "riders"), "avg(riders)"),
    (metric("sum", "riders", where="city is not null"), "sum(riders) filter (where city is not null)"),
    (metric("mean", "fare", where="false"), "null"),
]
DISTINCT = [
    (metric("distinct_count", "trip_id"), "select distinct trip_id from trips"),
    (metric("distinct_count", "city"), "select city from trips group by city"),
    (metric("distinct_count", "city", "riders"), "select city, riders from trips group by 1, 2"),
    (
        metric("count_distinct", "city", "riders"),
        "select city, riders from trips where city is not null and riders is not null group by 1, 2",
    ),
    (metric("distinct_count", "city", where="fare > 5"), "select city from trips where fare > 5 group by city"),
]


def connect(database: str = ":memory:") -> sqlite3.Connection:
    connection = sqlite3.connect(database)
    connection.execute(f"create table trips ({COLUMNS[0]} integer, city text, fare real, riders integer, datestr text)")
    return connection


def load(connection: sqlite3.Connection, day: str, rows: list[Row]) -> None:
    connection.executemany("insert into trips values (?, ?, ?, ?, ?)", [(*row, day) for row in rows])
    connection.commit()


def value(connection: sqlite3.Connection, expression: str) -> float | None:
    found: float | None = connection.execute(f"select {expression} from trips").fetchone()[0]
    return found


def distinct(connection: sqlite3.Connection, query: str) -> float:
    return float(connection.execute(f"select count(*) from ({query})").fetchone()[0])
