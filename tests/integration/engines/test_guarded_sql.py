"""What the guard writes anew means in Spark what its writer meant."""

from collections.abc import Iterator

import pytest
from pyspark.errors import ArithmeticException, ParseException
from pyspark.sql import SparkSession

from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.guard import read_condition, read_query
from execution_engine.guard.functions import AGGREGATE, GENERATOR, SCALAR
from tests.integration.engines import guarded
from tests.unit.execution_engine.guard import golden

QUERIES = [text for text in golden.queries() if "bloom" not in text]


@pytest.fixture(scope="module")
def session(spark_engine: SparkEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with guarded.views(spark_engine.session, tmp_path_factory.mktemp("guarded")):
        yield spark_engine.session


@pytest.mark.parametrize("text", QUERIES)
def test_a_query_gives_what_it_gave(session: SparkSession, text: str) -> None:
    said = session.sql(text.replace("raw.trips", "trips")).collect()
    query = read_query(text, golden.TABLES, golden.COLUMNS)
    assert session.sql(query.over(guarded.VIEWS)).collect() == said
    assert said


def test_a_condition_holds_where_it_held(session: SparkSession) -> None:
    conditions = golden.conditions()
    asked = [f"(\n{text}\n)" for text in conditions]
    run = [f"({read_condition(text, golden.COLUMNS).sql})" for text in conditions]
    rows = session.table("trips").selectExpr(*[f"{sql} as c{at}" for at, sql in enumerate(asked + run)]).collect()
    for at, text in enumerate(conditions):
        assert [row[at] for row in rows] == [row[at + len(conditions)] for row in rows], text
    assert sum(len({row[at] for row in rows}) > 1 for at in range(len(conditions))) > 50, "most tell rows apart"


def test_every_function_allowed_is_one_of_spark_s(session: SparkSession) -> None:
    known = {row[0] for row in session.sql("show functions").collect()} | {"try_cast", "timestampadd", "timestampdiff"}
    assert known >= SCALAR | AGGREGATE | GENERATOR


@pytest.mark.only_on_spark("local", "cluster", why="a client of Connect has no Java whose parser it could ask")
def test_spark_reads_all_that_the_guard_is_known_to_allow(session: SparkSession) -> None:
    parser = session._jsparkSession.sessionState().sqlParser()
    allowed = [(text, said) for text, said in golden.answers() if said.startswith("allowed: ")]
    unread = {}
    for text, said in allowed:
        sql = said.removeprefix("allowed: ")
        try:
            (parser.parseExpression if text.startswith("where ") else parser.parsePlan)(sql)
        except (ParseException, ArithmeticException) as error:
            unread[sql] = str(error)
    assert unread == {}
    assert len(allowed) > 100
