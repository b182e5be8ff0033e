"""What is PostgreSQL's own: its names, types and sessions, and what it refuses. Metrics: ``test_sql_engine``."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, create_engine, event, make_url, text
from sqlalchemy.exc import SQLAlchemyError

from assay.command_line.cli import run as assay
from deploy.local.programs import free_port
from execution_engine.engines.protocol import Table
from execution_engine.engines.sql.engine import SqlEngine
from execution_engine.engines.sql.failures import failure_of
from execution_engine.metrics.definitions.schema import declared_text
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Failure, Reason
from tests.integration.engines.trips import measure, metric
from tests.servers import PostgreSQL

SETTING_UP = """
create schema "Web Shop";
create table "Web Shop"."Orders" ("OrderId" bigint, "unit price" numeric(10, 2), "select" text, is_paid boolean);
insert into "Web Shop"."Orders" values (1, 1.50, 'a', true), (2, 2.50, '', false), (3, null, null, null);
create table guests
    (id uuid, first text collate "en-x-icu", last varchar(9) collate "en-x-icu", seen timestamptz, spent numeric(8, 2));
insert into guests (first, last) values ('a', 'B'), ('B', 'a'), ('B', null);
create table readings (celsius real, ohms double precision);
insert into readings values (1.1, 1), ('NaN', -1), (2.2, 'NaN'), (null, null);
create view sleepy as select 1 as id from pg_sleep(20);
create table ledger (id int);
create function book() returns int language sql volatile as 'insert into ledger values (1) returning id';
create view booking as select book() as id;
create role reader login;
create role stranger login;
create role leaver nologin;
create database closed;
revoke connect on database closed from public;
revoke all on schema public from stranger
"""


@pytest.fixture(scope="module")
def url(postgresql_server: PostgreSQL) -> Iterator[str]:
    server = create_engine(postgresql_server.url, isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        connection.execute(text("create database shop"))
    url = make_url(postgresql_server.url).set(drivername="postgresql", database="shop")
    shop = create_engine(url.set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT")
    with shop.connect() as connection:
        run(connection, SETTING_UP)
    shop.dispose()
    yield str(url)
    with server.connect() as connection:
        run(connection, "drop database shop with (force); drop database closed; drop role reader; drop role stranger")
    server.dispose()


def run(connection: Connection, statements: str) -> None:
    for statement in statements.split(";"):
        connection.execute(text(statement))


@pytest.fixture
def engine() -> Iterator[SqlEngine]:
    sql = SqlEngine(deadline_seconds=1)
    yield sql
    sql.close()


def table(url: str, name: str, **options: str) -> Table:
    return Table(name=f"shop.{name}", storage="sql", location=url, options={"table": name, **options})


def failure(engine: SqlEngine, of: Table) -> Failure:
    (measured,) = measure(engine, of, metric("row_count"), keys=None)
    assert measured.failure is not None, measured
    return measured.failure


def test_names_of_schemas_tables_and_columns_may_hold_capitals_and_blanks(engine: SqlEngine, url: str) -> None:
    specs = [
        metric("max", "OrderId"),
        metric("sum", "`unit price`"),
        metric("completeness", "select"),
        metric("row_count", where="`unit price` > 1.5 and `select` = ''"),
        metric("count_distinct", "select"),
    ]
    measured = measure(engine, table(url, "Orders", schema="Web Shop"), *specs, keys=None)
    assert [one.failure for one in measured] == [None] * len(specs)
    assert [one.value for one in measured] == pytest.approx([3, 4, 2 / 3, 1, 2])


def test_a_boolean_is_no_number(engine: SqlEngine, url: str) -> None:
    orders = table(url, "Orders", schema="Web Shop")
    mean, complete = measure(engine, orders, metric("mean", "is_paid"), metric("completeness", "is_paid"), keys=None)
    assert mean.failure is not None
    assert mean.failure.reason is Reason.INVALID
    assert complete.value == pytest.approx(2 / 3)


def test_a_statement_that_fails_leaves_the_others_alone(engine: SqlEngine, url: str) -> None:
    wrong = metric("compliance", arguments=("orderid / 0 = 1",))
    specs = [metric("max", "orderid"), wrong, metric("min", "orderid"), metric("count_distinct", "orderid")]
    most, failed, *after = measure(engine, table(url, "Orders", schema="Web Shop"), *specs, keys=None)
    assert failed.failure is not None
    assert "DivisionByZero 22012" in failed.failure.detail
    assert (most.value, *(one.value for one in after)) == (3, 1, 3)


def test_all_aggregates_of_a_scan_are_one_statement(engine: SqlEngine, url: str) -> None:
    orders, statements = table(url, "Orders", schema="Web Shop"), list[str]()
    event.listen(
        engine._database(orders), "before_cursor_execute", lambda *of_statement: statements.append(of_statement[2])
    )
    names = ("row_count", "completeness", "min", "max", "mean", "sum", "positive")
    measure(engine, orders, *(metric(name, *(["OrderId"] if name != "row_count" else [])) for name in names), keys=None)
    assert sum('FROM "Web Shop"."Orders"' in statement for statement in statements) == 1


def test_a_nan_is_neither_positive_nor_within_and_no_least_value(engine: SqlEngine, url: str) -> None:
    specs = [metric("positive", name) for name in ("celsius", "ohms")] + [metric("min", "ohms"), metric("sum", "ohms")]
    celsius, ohms, least, total = measure(engine, table(url, "readings"), *specs, keys=None)
    assert (celsius.value, ohms.value) == (0.75, 0.5)
    reasons = [one.failure.reason for one in (least, total) if one.failure]
    assert reasons == [Reason.NOT_FINITE, Reason.NOT_FINITE]


def test_texts_are_compared_by_their_bytes_whatever_the_collation(engine: SqlEngine, url: str) -> None:
    (share,) = measure(engine, table(url, "guests"), metric("less_than", "first", "last"), keys=None)
    assert share.value == 0.5


def test_the_types_of_columns_are_those_that_the_catalog_declares(engine: SqlEngine, url: str) -> None:
    declared = {"id": "uuid", "first": "text", "last": "varchar(9)", "seen": "timestamp", "spent": "decimal(8,2)"}
    texts = [declared_text(types.items()) for types in (declared, declared | {"last": "varchar(20)"})]
    specs = [MetricSpec(name="schema_drift", options=(("declared", text),)) for text in texts]
    assert [one.value for one in measure(engine, table(url, "guests"), *specs, keys=None)] == [0, 1]


def test_numbers_of_four_bytes_are_added_as_doubles(engine: SqlEngine, url: str) -> None:
    (total,) = measure(engine, table(url, "readings"), metric("sum", "celsius", where="celsius < 9"), keys=None)
    assert total.value == pytest.approx(3.3, rel=1e-7)


def test_a_query_that_outlasts_the_deadline_is_stopped_and_the_next_one_answered(engine: SqlEngine, url: str) -> None:
    late = failure(engine, table(url, "sleepy"))
    assert (late.reason, "ASSAY_SCAN_DEADLINE_SECONDS" in late.detail) == (Reason.TIMEOUT, True)
    (after,) = measure(engine, table(url, "readings"), metric("row_count"), keys=None)
    assert after.value == 4


def test_a_view_that_writes_is_not_let_to(engine: SqlEngine, url: str) -> None:
    (measured,) = measure(engine, table(url, "booking"), metric("sum", "id"), keys=None)
    assert measured.failure is not None
    assert "ReadOnlySqlTransaction 25006" in measured.failure.detail
    (rows,) = measure(engine, table(url, "ledger"), metric("row_count"), keys=None)
    assert rows.value == 0


@pytest.mark.parametrize(
    ("user", "database", "name", "reason", "says"),
    [
        ("nobody_at_all", "shop", "readings", Reason.UNREADABLE, "the server refuses the user or the password"),
        ("leaver", "shop", "readings", Reason.UNREADABLE, "the server refuses the user or the password"),
        ("reader", "no_such_database", "readings", Reason.UNREADABLE, "the server has no such database"),
        ("reader", "closed", "readings", Reason.UNREADABLE, "the server does not let this user into the database"),
        ("reader", "shop", "readings", Reason.UNREADABLE, "the user may not read the table"),
        ("reader", "shop", "no_such_table", Reason.UNREADABLE, "there is no table no_such_table"),
    ],
)
def test_what_the_server_refuses_is_told_apart_and_no_password_is_shown(
    engine: SqlEngine, url: str, user: str, database: str, name: str, reason: Reason, says: str
) -> None:
    place = make_url(url).set(username=user, password="hush", database=database)
    found = failure(engine, table(place.render_as_string(hide_password=False), name))
    assert (found.reason, found.transient) == (reason, False)
    assert says in found.detail
    assert "hush" not in found.detail


def test_a_table_in_a_database_is_verified_by_a_url_that_a_variable_holds(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHOP_URL", make_url(url).set(password="hush").render_as_string(hide_password=False))
    checks = tmp_path / "checks.yaml"
    checks.write_text("checks:\n- row_count() = 3\n- is_complete: is_paid\n- compliance(\"`select` < 'B'\") = 1\n")
    options = ("--checks", str(checks), "--json", "-o", "schema=Web Shop")
    assert assay(["verify", "env:SHOP_URL", *options, "-o", "table=Orders"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert [row["status"] for row in answer["constraints"]] == ["success", "failure", "failure"]
    assert assay(["verify", "env:SHOP_URL", *options]) == 3
    assert "name one by --option table=NAME" in capsys.readouterr().err
    assert assay(["verify", "env:NOT_SET", *options, "-o", "table=Orders"]) == 3
    assert "NOT_SET is not set" in capsys.readouterr().err
    monkeypatch.setenv("SHOP_URL", f"postgresql://reader:hush@127.0.0.1:{free_port()}/shop")
    assert assay(["verify", "env:SHOP_URL", *options, "-o", "table=Orders"]) == 3
    said = capsys.readouterr()
    assert "Orders at env:SHOP_URL: no server answers there" in said.out
    assert "hush" not in said.out + said.err


def test_a_server_that_stops_is_transient(url: str) -> None:
    engine = SqlEngine()
    readings = table(url, "readings")
    with engine._database(readings).connect() as connection:
        own = connection.execute(text("select pg_backend_pid()")).scalar_one()
    other = create_engine(make_url(url).set(drivername="postgresql+psycopg"))
    with engine._database(readings).connect() as connection, other.connect() as killer:
        assert connection.execute(text("select pg_backend_pid()")).scalar_one() == own
        killer.execute(text(f"select pg_terminate_backend({own})"))
        with pytest.raises(SQLAlchemyError) as raised:
            connection.execute(text("select 1"))
    lost = failure_of(raised.value, readings)
    assert (lost.transient, "the server is gone" in lost.detail) == (True, True)
    (rows,) = measure(engine, readings, metric("row_count"), keys=None)
    assert rows.value == 4
    other.dispose()
    engine.close()
