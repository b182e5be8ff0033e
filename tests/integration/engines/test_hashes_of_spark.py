"""The hashes of rows are those that Spark gives."""

from itertools import combinations
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from execution_engine.engines.column_types import expressions
from execution_engine.engines.native.hashing import hashes, key_hashes
from execution_engine.engines.spark.engine import SparkEngine
from tests.integration.engines.many_values import TYPES, column_of, table_of

ROWS = 3000
VIEW = "many_values"
TRIPLES = [("long", "name", "double"), ("city", "sum", "truth"), ("raw", "city", "at"), ("said", "name", "price")]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("values") / "part-0.parquet"
    pq.write_table(table_of(ROWS, seed=41), path)
    return path


@pytest.fixture(scope="module")
def session(spark_engine: SparkEngine, path: Path) -> SparkSession:
    spark_engine.session.read.parquet(str(path)).createOrReplaceTempView(VIEW)
    return spark_engine.session


def by_spark(session: SparkSession, written: list[str]) -> list[list[int]]:
    """The hashes of each row, one list for each expression."""
    rows = session.sql(f"select {', '.join(written)} from {VIEW} order by row").collect()
    return [list(column) for column in zip(*rows, strict=True)]


def hashed(columns: list[pa.Array]) -> list[int]:
    found: list[int] = hashes([column_of(column) for column in columns]).view("int64").tolist()
    return found


def read(path: Path, *dictionaries: str) -> dict[str, pa.Array]:
    table = pq.read_table(path, read_dictionary=dictionaries)
    return {name: table[name].combine_chunks() for name in table.column_names}


def test_a_column_of_each_type_has_the_hashes_of_spark(session: SparkSession, path: Path) -> None:
    columns = read(path)
    expected = by_spark(session, [f"xxhash64({name})" for name in TYPES])
    assert {name: hashed([columns[name]]) for name in TYPES} == dict(zip(TYPES, expected, strict=True))


def test_two_columns_have_them_and_as_keys_too(session: SparkSession, path: Path) -> None:
    columns, pairs, write = read(path), list(combinations(TYPES, 2)), expressions({})
    plain = by_spark(session, [f"xxhash64({', '.join(pair)})" for pair in pairs])
    keys = by_spark(session, [write.hash_of(pair) for pair in pairs])
    for pair, expected, of_keys in zip(pairs, plain, keys, strict=True):
        both = [columns[name] for name in pair]
        assert hashed(both) == expected, pair
        assert key_hashes([column_of(column) for column in both]).tolist() == of_keys, pair


def test_three_columns_have_them_and_as_dictionaries_too(session: SparkSession, path: Path) -> None:
    plain, encoded = read(path), read(path, "city", "name", "said", "raw")
    assert pa.types.is_dictionary(encoded["city"].type)
    expected = by_spark(session, [f"xxhash64({', '.join(triple)})" for triple in TRIPLES])
    for triple, found in zip(TRIPLES, expected, strict=True):
        assert hashed([plain[name] for name in triple]) == found, triple
        assert hashed([encoded[name] for name in triple]) == found, triple
