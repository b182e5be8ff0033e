"""Conditions on rows in PostgreSQL: the same rows as in Spark meet them, or they are refused, or they fail."""

import math
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from sqlalchemy import create_engine, text

from execution_engine.engines.protocol import Engine, Table
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.sql.engine import SqlEngine
from execution_engine.exact import Number
from tests.integration.engines.trips import measure, metric, write
from tests.servers import PostgreSQL

SCHEMA = pa.schema(
    [
        ("bit", pa.int64()),  # 2 ** row: the sum tells which rows meet a condition
        ("city", pa.string()),
        ("code", pa.string()),
        ("n", pa.int32()),
        ("m", pa.int64()),
        ("price", pa.decimal128(10, 2)),
        ("ratio", pa.float64()),
        ("small", pa.float32()),
        ("flag", pa.bool_()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("local", pa.timestamp("us")),
        ("Order Id", pa.string()),
    ]
)
TYPES = (
    'bit bigint, city text collate "en-x-icu", code varchar(20), n int, m bigint, price numeric(10, 2), '
    "ratio double precision, small real, flag boolean, day date, at timestamptz, local timestamp, "
    '"Order Id" text'
)
NAN, INFINITE = math.nan, math.inf
D, T = date, datetime
ROWS: list[tuple[Any, ...]] = [
    ("Rome", "a1", 1, 2, Decimal("1.50"), 0.1, 0.1, True, D(2026, 1, 31), T(2026, 1, 31, 23, 30), "x"),
    ("rome", "b", 2, 3, Decimal("2.50"), 2.5, 2.5, False, D(2026, 3, 1), T(2026, 3, 1), "X"),
    ("ÄRGER", "", -3, 2, Decimal("-0.01"), -2.5, -1.5, None, D(2024, 2, 29), T(1969, 12, 31, 23, 59, 59), ""),
    ("ärger", "10", 3, -2, Decimal("0.00"), 0.0, 0.0, True, D(1969, 12, 31), T(2026, 6, 1, 12), "a%b"),
    ("Zürich\n", "2", 7, 7, Decimal("3.00"), NAN, NAN, False, D(2026, 12, 31), T(2026, 12, 31), "a_b"),
    ("ß", " a ", 0, 1, Decimal("9.99"), INFINITE, INFINITE, True, D(2026, 1, 1), T(2026, 1, 1), "a\\b"),
    (None, None, None, None, None, None, None, None, None, None, None),
    ("x.y", "a\nb", 10, 4, Decimal("1.10"), 1.1, 1.1, False, D(2025, 7, 4), T(2025, 7, 4, 5, 6, 7), "it's"),
    ("_", "B", 5, 2, Decimal("0.30"), 0.3, 3.0, True, D(2025, 1, 1), T(2025, 1, 1, 0, 0, 1), "日本"),
    ("b", "Ab1", -7, 2, Decimal("2.675"[:4]), 2.675, 4.5, None, D(2000, 2, 29), T(2000, 2, 29, 13), "-"),
]

SAME = [  # each is measured in both
    "city < 'b'", "city >= 'Z' and city <> 'a'", "city between 'A' and 'Z'", "code < city", "`order id` > 'a'",
    "greatest(city, code) = 'b'", "city in ('Rome', 'ß')", "city not in ('Rome', null)", "lower(city) = 'ärger'",
    "upper(city) = 'SS'", "lower(city) < code", "city ilike 'R%' or city ilike 'Ä%'", "city like '%o_e'",
    "`order id` like 'a\\\\%b'", "`order id` like 'a!_b' escape '!'", "`order id` like '%\\\\\\\\%'",
    "`order id` = 'it\\'s' or `order id` = 'a\\\\b'", "`order id` = ''", "length(city) > 3", "length(code) = 3",
    "trim(code) = 'a'", "concat(city, code) = 'romeb'", "city || code > 'b'", "concat(city, null) is null",
    "substring(city, 2, 2) = 'om'", "left(city, 1) = 'R' or right(code, 1) = '1'", "replace(city, 'o', 'u') = 'rume'",
    "startswith(city, 'r')", "contains(city, '.')", "instr(city, 'e') > 0", "locate('m', city) = 3",
    "city rlike '^[a-z]+$'", "city rlike 'h$'", "city rlike '^.$'", "code rlike '^a.b$'", "code rlike '\\\\bb'",
    "code rlike '^\\\\d+$'", "code rlike '(?i)^ab?\\\\d{1,2}$'", "city rlike '\\\\w\\\\.\\\\w'", "city rlike '^\\\\W'",
    "`order id` rlike '[%_\\\\\\\\]'", "code rlike '^$'", "code rlike '^\\\\s'", "city rlike 'ü|ä'",
    "n / m > 0.5", "n / 2 = 1.5", "n / 10 = 0.3", "price / 3 = 0.5", "price / m > 0.75", "ratio / 2 = 1.25",
    "n <> 0 and 3 / n > 1", "n div m = 1", "n div 2 = -1", "n % 3 = -1", "mod(n, m) = 0", "m % 2 = 0",
    "n * 2.5 > 4", "n + price = 2.5", "ratio = 0.1", "small = 0.1", "ratio = 1e-1", "price = 1e-1", "ratio > 1e300",
    "price * 1.1 = 1.65", "ratio + 0.2 = 0.3", "ratio + 1e-1 = 0.2", "price + 0.2 = 0.5", "abs(n) = 3", "-n = 3",
    "ratio = small", "ratio < small", "isnan(ratio)", "not isnan(small)", "ratio > 1", "ratio <> ratio",
    "greatest(n, m) = 3", "least(ratio, small) = 1.1", "greatest(ratio, 1) > 100",
    "round(ratio, 0) = 3 and not isnan(ratio)", "round(price) = 3", "round(price, 1) = 1.1", "round(n, 0) = 3",
    "floor(price) = -1", "ceil(price) = 2", "cast(price as int) = 2", "cast(price as bigint) = 0",
    "cast(n as string) = '10'", "cast(price as string) = '1.50'", "cast(flag as string) = 'true'",
    "cast(day as string) > '2026'", "cast(n as double) / 2 = 1.5", "cast(price as decimal(10, 1)) = 1.1",
    "cast(price as decimal) = 3", "cast('7' as int) = n", "cast(n as boolean)", "cast(at as date) = day",
    "flag", "not flag", "flag = true", "flag is not true", "flag <=> null", "flag is null or not flag",
    "n > 2 or flag", "not (n > 2 and flag)", "n <=> m", "n is distinct from m", "nullif(n, 3) is null",
    "coalesce(n, m, 0) = 0", "nvl(code, city) = 'b'", "if(n > 2, code, city) = '10'", "case when flag then n end = 1",
    "case n when 1 then 'one' when 2 then 'two' else code end > 'o'", "n = null", "n in (1, null)",
    "day = '2026-01-31'", "day >= date '2026-01-31'", "at >= timestamp '2026-01-01 00:00:00'", "at = local",
    "local < '2026-01-31'", "at < day", "day > at", "local >= date '2026-03-01'", "at < current_timestamp()",
    "day < current_date()", "at > timestamp '2026-03-01 00:00:00' - interval 1 month",
    "day + interval 1 month = '2026-02-28'",
    "at - interval 3 hours < timestamp '2026-01-01 00:00:00'", "date_add(day, 1) = '2026-02-01'",
    "date_sub(day, 1) = '2026-02-28'", "datediff(day, date '2026-01-01') between 0 and 60", "datediff(at, local) = 0",
    "year(day) = 2026", "month(at) = 1", "day(local) = 31", "quarter(day) = 4", "hour(at) = 23", "minute(local) = 30",
    "extract(year from at) = 1969", "date_trunc('month', at) = timestamp '2026-01-01 00:00:00'",
    "date_trunc('week', local) < '2025-01-01'", "to_date(at) = day", "n & 1 = 1", "n | 1 = 3", "n ^ 1 = 3",
    "flag = 'true'", "n = 1.0", "price = '1.5'", "ratio = 'NaN'", "n between '1' and '3'", "-n % 3 = 0", "n - -3 > 0",
    "coalesce(city, 'x') < 'b'", "concat(city, 'x') < 'b'", "trim(lower(city)) = 'rome'",
    "upper(lower(city)) = 'ROME'", "concat(lower(city), upper(code)) = 'romeB'", "cast(n as string) < '2'",
    "trim(both 'R' from city) = 'ome'", "ltrim(code) = 'a '", "code rlike '(a|b)+1$'", "code rlike '^(?!a)'",
    "code rlike '^[^a]$'", "city rlike '(?i)ÄRGER'", "city rlike 'Zürich$'", "city rlike 'h\\\\s$'",
    "instr(city, '') > 0", "substring(city, 2, 0) = ''", "round(-n / 2) = -1", "round(price, -1) = 10",
    "ratio < 10 and round(ratio, 2) = 2.68", "n / 0.5 > 2", "price / 0.3 = 5", "small < 9 and cast(small as int) = 4",
    "cast(price * 2 as int) = 3", "date_add(day, -1) = '2026-01-30'", "date_trunc('quarter', day) = '2026-01-01'",
    "at = '2026-02-01 00:30:00+01:00'", "local - at < interval 1 hour", "(n > 1) = flag", "price in (1.5, 2.5)",
    "small in (2.5)", "cast(at as timestamp_ntz) = local", "cast(small as double) = 0.1", "n = 3L", "ratio = 0.1f",
    "code like ' _ '",
    "N > 2 and CITY is not null and `Order Id` is not null",
]  # fmt: skip
FAIL_IN_BOTH = ["n / 0 = 1", "cast(city as int) = 1", "n % 0 = 1", "n + 2147483647 > 0", "cast(code as date) = day"]
REFUSED = {  # and the word by which
    "try_cast(city as int) = 1": "try_cast", "cast(ratio as string) = '1'": "cast of double to string",
    "cast(at as string) = ''": "cast of timestamptz to string", "city rlike '\\\\p{L}'": "pattern with",
    "city rlike 'a++'": "pattern with", "city rlike '(?<x>a)'": "pattern with", "city rlike '[a&&b]'": "pattern with",
    "substring(city, -2) = 'me'": "substring", "left(city, n) = 'R'": "left", "initcap(city) = 'Rome'": "initcap",
    "dayofweek(day) = 1": "dayofweek", "extract(dow from day) = 1": "extract of dow", "soundex(city) = 'x'": "soundex",
    "split(city, ',')[0] = 'a'": "bracket", "levenshtein(city, 'a') = 1": "levenshtein", "pmod(n, 3) = 1": "pmod",
    "cast(city as boolean)": "cast to boolean", "floor(price, 1) = 1": "floor", "concat(city, n) = 'a'": "concat",
    "hex(n) = '1'": "hex", "city.x = 1": "field of a struct",
}  # fmt: skip


@pytest.fixture(scope="module")
def postgresql(postgresql_server: PostgreSQL) -> Table:
    database = create_engine(postgresql_server.url)
    names = [f"c{at}" for at in range(len(SCHEMA))]
    with database.begin() as connection:
        connection.execute(text("drop table if exists stays"))
        connection.execute(text(f"create table stays ({TYPES})"))
        values = [dict(zip(names, row, strict=True)) for row in rows()]
        connection.execute(text(f"insert into stays values ({', '.join(':' + name for name in names)})"), values)
    database.dispose()
    return Table(name="app.stays", storage="sql", location=postgresql_server.url, options={"table": "stays"})


@pytest.fixture(scope="module")
def parquet(tmp_path_factory: pytest.TempPathFactory) -> Table:
    folder = tmp_path_factory.mktemp("stays")
    table = pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows()], SCHEMA)
    write(folder, table)
    return Table(name="lake.stays", storage="parquet", location=str(folder))


def rows() -> list[tuple[Any, ...]]:
    """With the number of each row as a bit, and its time as an instant and as the reading of a clock."""
    return [(2**at, *row[:9], row[9] and row[9].replace(tzinfo=UTC), row[9], row[10]) for at, row in enumerate(ROWS)]


@pytest.fixture(scope="module")
def engine() -> Iterator[SqlEngine]:
    sql = SqlEngine()
    yield sql
    sql.close()


def met(engine: Engine, table: Table, conditions: list[str]) -> list[list[Number | str | None]]:
    """Of each condition, which rows meet it and which meet its contrary, as sums of bits; or why it fails."""
    specs = [metric("sum", "bit", where=where) for each in conditions for where in (each, f"not ({each})")]
    measured = measure(engine, table, *specs, keys=None)
    told = [f"{one.failure} of {table.storage}" if one.failure else one.value for one in measured]
    return [told[at : at + 2] for at in range(0, len(told), 2)]


def test_the_same_rows_meet_a_condition_as_in_spark(
    engine: SqlEngine, postgresql: Table, spark_engine: SparkEngine, parquet: Table
) -> None:
    here, there = met(engine, postgresql, SAME), met(spark_engine, parquet, SAME)
    wrong = {text: (one, other) for text, one, other in zip(SAME, here, there, strict=True) if one != other}
    assert not wrong, "\n".join(f"{text}: {pair}" for text, pair in wrong.items())


def test_what_fails_in_spark_fails(
    engine: SqlEngine, postgresql: Table, spark_engine: SparkEngine, parquet: Table
) -> None:
    for table, reader in ((postgresql, engine), (parquet, spark_engine)):
        values = dict(zip(FAIL_IN_BOTH, met(reader, table, FAIL_IN_BOTH), strict=True))
        assert all(isinstance(value, str) for pair in values.values() for value in pair), values


@pytest.mark.parametrize(("condition", "word"), REFUSED.items())
def test_what_would_mean_something_else_is_refused_by_name(
    engine: SqlEngine, postgresql: Table, condition: str, word: str
) -> None:
    ((one, _),) = met(engine, postgresql, [condition])
    assert f"PostgreSQL has no {word}" in str(one)
