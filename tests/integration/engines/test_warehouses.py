"""Trino and BigQuery without a server: what they would be sent is SQL of theirs, as sqlglot reads it."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlglot
from google.api_core import exceptions
from google.cloud.bigquery.dbapi import DatabaseError
from sqlalchemy import make_url, types
from sqlalchemy.engine.result import IteratorResult, SimpleResultMetaData
from sqlalchemy.exc import DBAPIError
from sqlglot import exp
from trino.exceptions import TrinoQueryError, TrinoUserError

from assay.time.stored_times import Holds, StoredTimes
from assay.time.windows import Granularity, Partitioning, Window
from deploy.local.programs import free_port
from execution_engine.engines.protocol import MeasurementRequest, Part, Table
from execution_engine.engines.sql.engine import SqlEngine, measure
from execution_engine.engines.sql.failing import failing_rows
from execution_engine.engines.sql.failures import failure_of
from execution_engine.engines.sql.source import SqlSource, keys_present, source_of
from execution_engine.guard import UnableToAllow, read_condition
from execution_engine.guard.warehouses import ALLOWED, WAREHOUSES
from execution_engine.metrics.definition import DATABASE, MetricKind
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import Literal, MetricSpec
from execution_engine.outcome import Failure, Reason

GOOGLE: Any = exceptions
TYPES: dict[str, types.TypeEngine[Any]] = {
    "trip_id": types.BigInteger(),
    "city": types.String(),
    "fare": types.Double(),
    "price": types.Numeric(10, 2),
    "day": types.Date(),
    "Order Id": types.String(),
}


class Recorder:
    """A connection that writes down what it is sent, as text, and answers each statement with one row of ones."""

    def __init__(self, name: str) -> None:
        dialect: Any = make_url(f"{name}://lake").get_dialect()
        self.dialect, self.texts = dialect(dbapi=dialect.import_dbapi()), list[str]()

    def execute(self, statement: Any, **_: object) -> IteratorResult[Any]:
        columns = [str(at) for at in range(len(statement.selected_columns))]
        text = str(statement.compile(dialect=self.dialect, compile_kwargs={"literal_binds": True}))
        self.texts.append(text % () if "format" in self.dialect.paramstyle else text)  # as the driver does
        return IteratorResult(SimpleResultMetaData(columns), iter([(1,) * len(columns)]))


@pytest.fixture(params=sorted(WAREHOUSES))
def connection(request: pytest.FixtureRequest) -> Recorder:
    return Recorder(str(request.param))


def trips(connection: Recorder, part: Part, **options: Any) -> SqlSource:
    table = Table(name="raw.trips", storage="sql", location="", options={"table": "trips", "schema": "lake"}, **options)
    source: Any = source_of(connection, table, part, TYPES)  # type: ignore[arg-type]
    return source  # type: ignore[no-any-return]


def every_portable_metric() -> Iterator[MetricSpec]:
    """A call of each that a database is asked for, over all rows and over some."""
    columns = {2: ("fare", "price"), 1: ("fare",), 0: ()}
    texts = {"compliance": ("price > 1.5",), "satisfies_if": ("trip_id > 1", "city like 'r%'")}
    for name, definition in METRICS.items():
        if definition.portable and (definition.kind is MetricKind.AGGREGATE or DATABASE in definition.taken_by):
            if name == "schema_drift":
                continue  # it sends nothing of its own
            arguments: tuple[Literal, ...] = texts.get(name) or tuple(1 for _ in definition.signature.arguments)
            named = columns[definition.signature.min_columns]
            for where in (None, "`order id` <> 'it\\'s \\\\ 5 %' and fare >= 0.5"):
                yield MetricSpec(name=name, columns=named, arguments=arguments, where=where)


def read(text: str, dialect: str) -> exp.Select:
    """The one SELECT of a text, which reads our table alone and calls no function that the dialect has not."""
    (tree,) = sqlglot.parse(text, dialect=dialect)
    assert isinstance(tree, exp.Select), text
    assert sqlglot.parse_one(tree.sql(dialect), dialect=dialect).sql(dialect) == tree.sql(dialect)
    names = {place.name for place in tree.find_all(exp.Table)}
    assert {name.lower() for name in names} == {"trips"}, text
    assert [call.sql() for call in tree.find_all(exp.Anonymous)] == [], text
    return tree


PARTS = (
    Part(keys=("2026-11-01", "__HIVE_DEFAULT_PARTITION__")),
    Part(range=Window(start=datetime(2026, 11, 1, tzinfo=UTC), end=datetime(2026, 11, 2, tzinfo=UTC))),
    Part(),
)
BY_DAY = StoredTimes(partitioning=Partitioning(granularity=Granularity.DAY), holds=Holds.TIME)


@pytest.mark.parametrize("part", PARTS)
def test_every_statement_of_a_scan_is_one_select_of_the_dialect(connection: Recorder, part: Part) -> None:
    source = trips(connection, part, partition_column="day", stored_times=BY_DAY)
    requests = [MeasurementRequest(key=spec.text, spec=spec) for spec in every_portable_metric()]
    measured = measure(source, requests)
    assert {key: item.failure for key, item in measured.items() if item.failure} == {}
    trees = [read(text, connection.dialect.name) for text in connection.texts]
    assert len(trees) < len(requests)  # as all aggregates are one
    assert all(tree.find(exp.Where) for tree in trees) or part == Part()


def test_the_statements_for_keys_and_for_rows_that_break_are_selects_too(connection: Recorder) -> None:
    source = trips(connection, Part(), partition_column="day")
    keys_present(connection, source.table, TYPES)  # type: ignore[arg-type]
    rules = [spec for spec in every_portable_metric() if METRICS[spec.name].is_of_rows]
    assert failing_rows(source, rules, 10).failures == {}
    trees = [read(text, connection.dialect.name) for text in connection.texts]
    assert [bool(tree.args.get("limit")) for tree in trees] == [False, True]


def test_names_are_written_as_the_warehouse_stores_them(connection: Recorder) -> None:
    quote = trips(connection, Part()).quote
    names = {"trino": ('"trip_id"', '"Order Id"'), "bigquery": ("`trip_id`", "`Order Id`")}
    assert (quote("Trip_ID"), quote("order id")) == names[connection.dialect.name]


SAME = (
    "trip_id > 1 and not price <= 2.5",
    "city like 'r%' or city <> 'it\\'s \\\\ 5 %'",
    "city in ('a', 'ß') or `order id` is null",
    "day >= date '2026-01-01'",
    "trip_id <=> 1 or trip_id is distinct from 2",
    "trip_id % 2 = 0 and abs(trip_id - 3 + 1 * 2) = -(-1)",
    "substring(city, 1, 2) = 'ro' and startswith(city, 'r') and length(city) < 5",
    "case when trip_id = 1 then price else 0 end > 1 and if(trip_id > 1, true, false)",
    "coalesce(trip_id, 0) between 1 and 2 or nullif(trip_id, 0) = 1",
)
REFUSED = {
    "trip_id / 2 = 1": "/",
    "trip_id div 2 = 1": "div",
    "lower(city) = 'a'": "lower",
    "trim(city) = 'a'": "trim",
    "city rlike '^a'": "rlike",
    "city || 'x' = 'ax'": "||",
    "price > 1e3": "number 1e3",
    "cast(trip_id as string) = '1'": "cast to string",
    "cast(city as date) = day": "cast to date",
    "greatest(trip_id, 1) = 1": "greatest",
    "day = current_date()": "current_date",
    "city like 'a\\\\_'": "like of what is no text, or with a backslash",
    "substring(city, -2) = 'me'": "substring",
    "(trip_id > 1) is true": "is boolean",
    "city.x = 1": "field of a struct",
    "xxhash64(city) = 1": "xxhash64",
}


def plain(text: str, dialect: str) -> exp.Expr:
    """A condition as Spark has it, with names of no case and the word that each dialect has for an expression."""
    tree = sqlglot.parse_one(sqlglot.transpile(text, read=dialect, write="spark")[0], dialect="spark")
    for name in tree.find_all(exp.Identifier):
        name.set("quoted", False)
        name.set("this", name.name.lower())
    return tree


@pytest.mark.parametrize("condition", SAME)
def test_a_condition_says_in_the_dialect_what_it_says_in_spark(connection: Recorder, condition: str) -> None:
    dialect = connection.dialect.name
    names = dict.fromkeys(TYPES, "varchar")
    sql = read_condition(condition).into(dialect, names)
    if dialect == "bigquery":  # where a decimal number is a text that is cast
        sql = sql.replace("CAST('2.5' AS BIGNUMERIC)", "2.5")
    assert plain(sql, dialect) == plain(condition, "spark")


def test_a_nan_is_greater_than_any_number_as_in_spark() -> None:
    sql = {name: read_condition("fare > 1").into(name, {"fare": "double"}) for name in WAREHOUSES}
    assert sql == {
        "trino": 'IF(IS_NAN("fare"), CAST(\'Infinity\' AS DOUBLE), CAST("fare" AS DOUBLE)) > 1',
        "bigquery": "IF(is_nan(`fare`), CAST('inf' AS FLOAT64), `fare`) > 1",
    }


@pytest.mark.parametrize(("condition", "word"), REFUSED.items())
def test_what_means_something_else_there_is_refused_by_name(connection: Recorder, condition: str, word: str) -> None:
    title = WAREHOUSES[connection.dialect.name].title
    with pytest.raises(UnableToAllow) as refused:
        read_condition(condition).into(connection.dialect.name, dict.fromkeys(TYPES, "varchar"))
    assert f"{title} has no {word}" in str(refused.value)


def test_every_expression_that_is_allowed_is_tried_here() -> None:
    nodes = {type(node).__name__ for text in SAME for node in sqlglot.parse_one(text, dialect="spark").walk()}
    assert ALLOWED - nodes == {"TryCast"}  # as Spark's parser calls what is written CAST


@pytest.mark.parametrize(
    ("name", "error", "reason", "text"),
    [
        ("trino", TrinoUserError({"errorName": "TABLE_NOT_FOUND", "message": "x"}), Reason.UNREADABLE, "no such table"),
        ("trino", TrinoUserError({"errorName": "PERMISSION_DENIED"}), Reason.UNREADABLE, "may not read"),
        ("trino", TrinoQueryError({"errorName": "EXCEEDED_TIME_LIMIT"}), Reason.TIMEOUT, "deadline"),
        ("bigquery", DatabaseError(GOOGLE.NotFound("x")), Reason.UNREADABLE, "no such table"),
        ("bigquery", DatabaseError(GOOGLE.Forbidden("x")), Reason.UNREADABLE, "may not read"),
        ("bigquery", DatabaseError(GOOGLE.ServiceUnavailable("x")), Reason.ENGINE_UNREACHABLE, "is gone"),
    ],
)
def test_what_a_driver_raises_becomes_a_sentence(name: str, error: Exception, reason: Reason, text: str) -> None:
    table = Table(name="raw.trips", storage="sql", location="", options={"table": "trips"})
    failure = failure_of(DBAPIError("select", {}, error), table)
    assert (failure.reason, text in failure.detail) == (reason, True), failure


def first_failure(url: str) -> Failure:
    """Of a scan."""
    table = Table(name="raw.trips", storage="sql", location=url, options={"table": "trips"})
    report = SqlEngine().scan(table, Part(), [MeasurementRequest(key="n", spec=MetricSpec(name="row_count"))])
    failure = report.measured["n"].failure
    assert failure is not None
    return failure


def test_a_missing_driver_is_named_by_its_extra() -> None:
    assert "pip install 'assay[postgres]'" in first_failure("postgresql+pg8000://host/lake").detail


def test_credentials_that_are_not_there_are_told_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/none")
    assert "see to URL and credentials" in first_failure("bigquery://project/lake").detail


def test_a_trino_that_is_away_is_said_to_be_so() -> None:
    failure = first_failure(f"trino://me@127.0.0.1:{free_port()}/lake/shop")
    assert (failure.reason, failure.transient) == (Reason.ENGINE_UNREACHABLE, True)
