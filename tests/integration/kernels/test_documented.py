"""Spark, the kernels and Spark's documentation agree on the documentation's own examples."""

import re
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from execution_engine.engines.protocol import WHOLE, Table
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.spark.sources.source import open_source

from .both import by_spark
from .by_kernels import Tally, Truths, by_kernels, pieces_in
from .documented import CASES, Case
from .tables import ROW

SAID = {1: True, 0: False, -1: None}
ROWS = max(len(case.a) for case in CASES)


def condition(at: int, case: Case) -> str:
    """Over columns of its own, as all cases are asked at once; what stands in quotes stays."""
    parts = case.sql.split("'")
    return "'".join(part if odd % 2 else re.sub(r"\b([ab])\b", rf"\1_{at}", part) for odd, part in enumerate(parts))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file with the columns of every case."""
    folder, columns = tmp_path_factory.mktemp("documented"), {ROW: pa.array(range(ROWS))}
    for at, case in enumerate(CASES):
        for name, values in (("a", case.a), ("b", case.b)):
            if values:
                columns[f"{name}_{at}"] = pa.array([*values, *[None] * (ROWS - len(values))])
    pq.write_table(pa.table(columns), folder / "a.parquet")
    return folder


def told(answers: Mapping[str, Truths | str]) -> dict[str, list[bool | None] | str]:
    """What was answered on the rows of each case."""
    found: dict[str, list[bool | None] | str] = {}
    for at, case in enumerate(CASES):
        truths = answers.get(condition(at, case), "no answer")
        shown = truths if isinstance(truths, str) else [SAID[int(one)] for one in truths[: len(case.says)]]
        found[f"{at}: {case.sql}"] = shown
    return found


def test_spark_answers_as_its_documentation_says(spark_engine: SparkEngine, folder: Path) -> None:
    source = open_source(spark_engine.session, Table(name="documented", storage="parquet", location=str(folder)), WHOLE)
    answers = by_spark(source, [condition(at, case) for at, case in enumerate(CASES)])
    assert told(answers) == {f"{at}: {case.sql}": list(case.says) for at, case in enumerate(CASES)}


def test_the_kernels_answer_as_its_documentation_says_or_leave_it(folder: Path) -> None:
    answers = by_kernels(*pieces_in(folder), [condition(at, case) for at, case in enumerate(CASES)], Tally())
    assert told(answers) == {
        f"{at}: {case.sql}": list(case.says) if case.native else "no answer" for at, case in enumerate(CASES)
    }
