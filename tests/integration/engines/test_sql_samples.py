"""Samples that a database draws: how many rows it sends, which keys they are, and that all are as likely."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import md5
from random import Random
from typing import Any
from uuid import UUID

import pytest
from scipy import stats
from sqlalchemy import create_engine, make_url, text

from execution_engine.engines.protocol import WHOLE, Measured, MeasurementRequest, Table
from execution_engine.engines.sql import dialects
from execution_engine.engines.sql.engine import SqlEngine, draw_of
from execution_engine.metrics.definition import NOTE
from execution_engine.metrics.definitions.sample import Sample, bottom_keys
from execution_engine.metrics.spec import MetricSpec
from tests.servers import MariaDB, PostgreSQL

ORDERS, SIZE = 20_000, 1_000
BESIDE = 20  # rows that tell of the table, its columns and their number
TYPES = (
    "order_id bigint, line int, code varchar(20), token binary(16), paid_at timestamp null, paid_on date, "
    "total decimal(9)"
)
CODES = ["a", "A", "ä", "Ä", "a ", "b", "ß", "ss", "日本"]


@pytest.fixture(scope="module")
def urls(
    mariadb_server: MariaDB, postgresql_server: PostgreSQL, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    server = create_engine(mariadb_server.url)
    with server.begin() as connection:
        connection.execute(text("create database till character set utf8mb4 collate utf8mb4_general_ci"))
    yield {
        "sqlite": f"sqlite:///{tmp_path_factory.mktemp('till')}/till.db",
        "mariadb": str(make_url(mariadb_server.url).set(database="till")),
        "postgresql": postgresql_server.url,
    }
    with server.begin() as connection:
        connection.execute(text("drop database till"))
    server.dispose()


@pytest.fixture(params=["sqlite", "mariadb", "postgresql"])
def url(request: pytest.FixtureRequest, urls: dict[str, str]) -> str:
    return urls[str(request.param)]


@pytest.fixture
def engine() -> Iterator[SqlEngine]:
    sql = SqlEngine()
    yield sql
    sql.close()


def fill(url: str, rows: Sequence[dict[str, Any]]) -> Table:
    """A table of these rows alone; columns that they lack are null."""
    names = [part.split()[0] for part in TYPES.split(", ")]
    database = create_engine(url, connect_args={"charset": "utf8mb4"} if url.startswith("mysql") else {})
    types = TYPES.replace("binary(16)", "bytea") if url.startswith("postgresql") else TYPES
    with database.begin() as connection:
        connection.execute(text("drop table if exists orders"))
        connection.execute(text(f"create table orders ({types})"))
        values = [dict.fromkeys(names) | row for row in rows]
        connection.execute(text(f"insert into orders values ({', '.join(':' + name for name in names)})"), values)
    database.dispose()
    return Table(name="app.orders", storage="sql", location=url, options={"table": "orders"})


def take(
    engine: SqlEngine, table: Table, *columns: str, n: int = SIZE, where: str | None = None, key: str = "n"
) -> Measured:
    spec = MetricSpec(name="sample", columns=columns, options=(("n", n),), where=where)
    taken = engine.scan(table, WHOLE, [MeasurementRequest(key=key, spec=spec)]).measured[key]
    assert taken.failure is None, taken.failure
    return taken


def keys(taken: Measured) -> list[tuple[str | None, ...]]:
    found = list(Sample.from_bytes(taken.state or b"").keys)
    assert taken.value == len(found) == len(set(found))
    return found


def rows_sent(url: str) -> int:
    """All rows that the server has sent to anybody so far."""
    database = create_engine(url)
    with database.connect() as connection:
        _, count = connection.execute(text("show global status like 'Rows_sent'")).one()
    database.dispose()
    return int(count)


def test_no_more_rows_than_the_sample_has_leave_the_database(engine: SqlEngine, urls: dict[str, str]) -> None:
    table = fill(urls["mariadb"], [{"order_id": at} for at in range(ORDERS)])
    take(engine, table, "order_id", n=1)  # opens the connection
    before = rows_sent(urls["mariadb"])
    assert len(keys(take(engine, table, "order_id"))) == SIZE
    assert rows_sent(urls["mariadb"]) - before <= SIZE + BESIDE


def test_mariadb_draws_the_keys_whose_md5_is_lowest(engine: SqlEngine, urls: dict[str, str]) -> None:
    table = fill(urls["mariadb"], [{"order_id": at} for at in range(ORDERS)])
    draw = draw_of(MeasurementRequest(key="n", spec=MetricSpec(name="sample")))
    lowest = sorted((str(at) for at in range(ORDERS)), key=lambda key: md5(f"{draw},{key}".encode()).hexdigest())[:SIZE]
    assert [key for (key,) in keys(take(engine, table, "order_id"))] == lowest


def test_sqlite_draws_the_keys_that_would_be_picked_here(engine: SqlEngine, urls: dict[str, str]) -> None:
    table = fill(urls["sqlite"], [{"order_id": at, "code": CODES[at % 9]} for at in range(ORDERS)])
    draw = draw_of(MeasurementRequest(key="n", spec=MetricSpec(name="sample")))
    expected = bottom_keys(((str(at), CODES[at % 9]) for at in range(ORDERS)), SIZE, draw)
    assert tuple(keys(take(engine, table, "order_id", "code"))) == expected


def test_each_measurement_draws_other_keys_of_the_same_data(engine: SqlEngine, url: str) -> None:
    table = fill(url, [{"order_id": at} for at in range(ORDERS)])
    first, second = (set(keys(take(engine, table, "order_id", key=key))) for key in ("1", "2"))
    assert first != second


def test_the_same_data_gives_the_same_sample_in_whatever_order_and_character_set(
    engine: SqlEngine, urls: dict[str, str]
) -> None:
    rows = [{"order_id": at, "code": f"{CODES[at % 9]}{at}"} for at in range(3000)]
    table = fill(urls["mariadb"], rows)
    first = keys(take(engine, table, "code", "order_id", n=100))
    Random(1).shuffle(rows)
    again = replace(fill(urls["mariadb"], rows), location=urls["mariadb"] + "?charset=latin1")
    database = create_engine(again.location)
    with database.connect() as connection:
        set_ = connection.execute(text("select @@character_set_connection")).scalar_one()
    database.dispose()
    assert set_ == "latin1"
    second = keys(take(engine, again, "code", "order_id", n=100))
    assert [key[1] for key in second] == [key[1] for key in first]


def test_every_key_is_as_likely_as_any_other_however_often_it_is_there(engine: SqlEngine, url: str) -> None:
    copies = [1 + at % 10 for at in range(ORDERS)]
    rows = [{"order_id": at, "line": line} for at in range(ORDERS) for line in range(copies[at])]
    drawn = [int(key[0] or 0) for key in keys(take(engine, fill(url, rows), "order_id"))]
    assert stats.kstest(drawn, stats.uniform(0, ORDERS).cdf).pvalue > 0.01
    of_each = [sum(copies[at] == times for at in drawn) for times in range(1, 11)]
    assert stats.chisquare(of_each).pvalue > 0.01


def test_keys_that_a_collation_takes_for_one_are_drawn_each(engine: SqlEngine, url: str) -> None:
    table = fill(url, [{"code": code} for code in CODES * 2])
    assert {key[0] for key in keys(take(engine, table, "code"))} == set(CODES)


@pytest.mark.parametrize("column", ["token", "paid_at", "paid_on", "total"])
def test_keys_of_every_type_are_drawn_uniformly(engine: SqlEngine, url: str, column: str) -> None:
    numbers = Random(7)
    values: dict[str, list[Any]] = {
        "token": [UUID(int=numbers.getrandbits(128)).bytes for _ in range(400)],
        "paid_at": [f"2026-{1 + at % 12:02}-{1 + at % 28:02} 12:00:{at % 60:02}" for at in range(400)],
        "paid_on": [f"{1990 + at // 28}-03-{1 + at % 28:02}" for at in range(400)],
        "total": [at * 25 for at in range(400)],
    }
    distinct = sorted(set(values[column]))
    table = fill(url, [{column: value} for value in values[column]])
    everything, some = keys(take(engine, table, column)), keys(take(engine, table, column, n=100))
    assert len(everything) == len(distinct)
    assert some == everything[:100]


def test_a_null_in_a_key_is_a_value(engine: SqlEngine, url: str) -> None:
    table = fill(url, [{"order_id": 1, "line": None}, {"order_id": None, "line": 1}, {"order_id": 1, "line": 1}] * 2)
    assert set(keys(take(engine, table, "order_id", "line"))) == {("1", None), (None, "1"), ("1", "1")}


def test_only_rows_that_meet_the_condition_are_drawn(engine: SqlEngine, url: str) -> None:
    table = fill(url, [{"order_id": at, "line": at % 2} for at in range(100)])
    drawn = keys(take(engine, table, "order_id", where="line = 1"))
    assert sorted(int(key[0] or 0) for key in drawn) == [*range(1, 100, 2)]


def test_a_database_that_is_not_known_to_hash_sends_its_keys_and_the_measurement_says_so(
    engine: SqlEngine, urls: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    no_hash = replace(dialects.DIALECTS["mysql"], rank="")  # as no other database can be run here
    monkeypatch.setattr(dialects, "DIALECTS", {"mysql": no_hash})
    table = fill(urls["mariadb"], [{"order_id": at} for at in range(2000)])
    taken = take(engine, table, "order_id", n=50)
    draw = draw_of(MeasurementRequest(key="n", spec=MetricSpec(name="sample")))
    assert tuple(keys(taken)) == bottom_keys(((str(at),) for at in range(2000)), 50, draw)
    assert taken.detail[NOTE].startswith("all keys were fetched for the sample")
