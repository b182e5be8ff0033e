"""Spark answers its documentation's own examples as it says there."""

from pathlib import Path

from execution_engine.engines.protocol import WHOLE, Table
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.spark.sources import open_source

from .both import by_spark
from .documented import CASES, condition, told, write_cases


def test_spark_answers_as_its_documentation_says(spark_engine: SparkEngine, tmp_path: Path) -> None:
    write_cases(tmp_path)
    table = Table(name="documented", storage="parquet", location=str(tmp_path))
    source = open_source(spark_engine.session, table, WHOLE)
    answers = by_spark(source, [condition(at, case) for at, case in enumerate(CASES)])
    assert told(answers) == {f"{at}: {case.sql}": list(case.says) for at, case in enumerate(CASES)}
