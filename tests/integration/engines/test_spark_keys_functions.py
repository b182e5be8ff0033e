"""``build_bloom_filter`` and ``use_bloom_filter`` in SQL."""

import subprocess
import sys
from base64 import b64decode
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pybloom_live import BloomFilter
from pyspark import cloudpickle
from pyspark.sql import SparkSession

from execution_engine.engines.protocol import MeasurementRequest, Table
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.spark.keys import sql_functions
from execution_engine.engines.spark.keys.sql_functions import filters_in
from execution_engine.metrics.keys.envelope import UnableToReadKeys
from execution_engine.metrics.keys.filter import KeyFilter
from execution_engine.outcome import Reason
from tests.integration.engines.trips import measure_one, metric, write
from tests.integration.storages import stored

BUILT = "(select build_bloom_filter(id, city) from keys_there)"


@pytest.fixture
def session(spark_engine: SparkEngine, tmp_path: Path) -> SparkSession:
    """Two views: here ids 0 to 999, there as int instead of bigint and without every hundredth."""
    session = spark_engine.session
    for name, ids, type_ in (("here", range(1000), pa.int64()), ("there", range(1000), pa.int32())):
        kept = [at for at in ids if name == "here" or at % 100]
        cities = [None if at % 7 == 0 else f"city {at % 5}" for at in kept]
        write(tmp_path / name, pa.table({"id": pa.array(kept, type_), "city": cities}))
        session.read.parquet(str(tmp_path / name)).createOrReplaceTempView(f"keys_{name}")
    return session


def number(session: SparkSession, sql: str) -> object:
    with filters_in(session, sql) as expanded:
        return session.sql(expanded).collect()[0][0]


def test_a_filter_built_in_a_subquery_tells_the_keys_that_are_lost(session: SparkSession) -> None:
    assert number(session, f"select count_if(not use_bloom_filter({BUILT}, id, city)) from keys_here") == 10


def test_a_filter_may_come_from_a_with_clause_or_from_a_string(session: SparkSession) -> None:
    built = str(number(session, BUILT[1:-1]))
    uses = "use_bloom_filter((select f from filters), id, city)", f"use_bloom_filter('{built}', id, city)"
    with_ = "with filters as (select build_bloom_filter(id, city) as f from keys_there where id > 200) "
    assert number(session, with_ + f"select count_if({uses[0]}) from keys_here") == 799 - 8 + 1
    assert number(session, f"select count_if({uses[1]}) from keys_here") == 990


def test_too_many_keys_to_pull_are_filled_by_the_workers(
    session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql_functions, "PULLED_ROWS", 0)
    assert number(session, f"select count_if(not use_bloom_filter({BUILT}, id, city)) from keys_here") == 10


def test_each_group_builds_a_filter_of_its_own(session: SparkSession) -> None:
    each = "select id % 2 as odd, build_bloom_filter(id) as f from keys_there group by id % 2"
    odd = f"(select f from ({each}) where odd = 1)"
    assert number(session, f"select count_if(use_bloom_filter({odd}, id)) from keys_here") == 500


WORKER = """
import pickle, sys
sys.modules.update(dict.fromkeys(("execution_engine", "pybloom_live", "bitarray", "xxhash")))  # importing them fails
import pyarrow as pa
print(pickle.load(sys.stdin.buffer)(iter([pa.array([1, 2]), pa.array([2, -3])])))
"""


def test_a_worker_builds_a_filter_without_assay_and_pybloom_live() -> None:
    task = cloudpickle.dumps(sql_functions._build(BloomFilter.FILE_FMT))
    built = subprocess.run([sys.executable, "-c", WORKER], input=task, capture_output=True, check=True).stdout.decode()
    assert KeyFilter.from_bytes(b64decode(built)).hashes.view(np.int64).tolist() == [1, 2, -3]


def test_nothing_is_left_of_the_functions_afterwards(session: SparkSession) -> None:
    before = session.sql("show user functions").count()
    number(session, f"select count_if(use_bloom_filter({BUILT}, id, city)) from keys_here")
    assert session.sql("show user functions").count() == before


@pytest.mark.parametrize("given", ["city", "'AAAA'", "'not base64!'", "(select city from keys_here)"])
def test_a_filter_that_is_none_is_refused(session: SparkSession, given: str) -> None:
    with pytest.raises(UnableToReadKeys):
        number(session, f"select count_if(use_bloom_filter({given}, id)) from keys_here")


def test_an_unsigned_filter_is_refused_where_there_is_a_key(session: SparkSession) -> None:
    built = str(number(session, BUILT[1:-1]))
    sql = f"select count_if(use_bloom_filter('{built}', id, city)) from keys_here"
    with pytest.raises(UnableToReadKeys, match="signature"), filters_in(session, sql, b"secret"):
        pass


def test_a_user_s_query_may_compare_two_tables(spark_engine: SparkEngine, tmp_path: Path) -> None:
    for name, ids in (("here", range(1000)), ("there", range(3, 1000))):
        write(tmp_path / name, pa.table({"id": list(ids)}))
    tables = {
        name: stored(Table(name=name, storage="parquet", location=str(tmp_path / name))) for name in ("here", "there")
    }
    text = "select count_if(not use_bloom_filter((select build_bloom_filter(id) from there), id)) from here"
    item = MeasurementRequest(key="lost", spec=metric("query", arguments=(text,)), tables=tables)
    found = measure_one(spark_engine, tables["here"], item, keys=None)
    assert (found.value, found.failure) == (3, None)


def test_a_query_whose_filter_is_none_is_invalid(spark_engine: SparkEngine, tmp_path: Path) -> None:
    write(tmp_path / "here", pa.table({"id": [1, 2]}))
    table = stored(Table(name="here", storage="parquet", location=str(tmp_path / "here")))
    spec = metric("query", arguments=("select count_if(use_bloom_filter('no filter', id)) from here",))
    found = measure_one(
        spark_engine, table, MeasurementRequest(key="lost", spec=spec, tables={"here": table}), keys=None
    )
    assert found.failure is not None
    assert found.failure.reason is Reason.INVALID
    assert "use_bloom_filter was refused" in found.failure.detail
