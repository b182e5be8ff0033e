"""Keys are the same keys whatever types hold them, and whatever files hold the rows."""

from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

from execution_engine.engines.native import measure as native_measure
from execution_engine.engines.protocol import WHOLE, Measured
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.spark.keys import key_sql
from execution_engine.engines.spark.sources import open_source
from execution_engine.metrics.spec import MetricSpec
from tests.integration.engines.test_spark_keys import probe
from tests.integration.engines.trips import DAY, measure, metric, parquet, write

NOON = datetime(2026, 3, 9, 12, 30, 0, 500, tzinfo=UTC)
WHOLE_NUMBERS = [1, -7, 0, 100, None]
WHOLE_TYPES = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.decimal128(5, 2)]
TEXTS = pa.array([None if each is None else str(each) for each in WHOLE_NUMBERS])


def whole(type_: pa.DataType) -> pa.Array:
    if not pa.types.is_decimal(type_):
        return pa.array(WHOLE_NUMBERS, type_)
    return pa.array([None if each is None else Decimal(each) for each in WHOLE_NUMBERS], type_)


ALIKE: list[tuple[pa.Array, pa.Array]] = [
    *((whole(type_), TEXTS) for type_ in [*WHOLE_TYPES, pa.decimal128(20, 0)]),
    *((whole(here), whole(there)) for here, there in pairwise(WHOLE_TYPES)),
    (pa.array([20_000_000, 2**53 - 1]), pa.array([2e7, 2.0**53 - 1])),
    (pa.array([2**63 - 1]), pa.array([Decimal(2**63 - 1)], pa.decimal128(38, 4))),
    (pa.array([0]), pa.array([-0.0])),
    (pa.array([0.5, -2.25]), pa.array([0.5, -2.25], pa.float32())),
    (pa.array([0.5, -2.25]), pa.array([Decimal("0.5"), Decimal("-2.25")], pa.decimal128(9, 4))),
    (pa.array([Decimal("1.50")], pa.decimal128(9, 2)), pa.array(["1.5"])),
    (pa.array([0.5, 1e300, float("nan")]), pa.array([0.5, 1e300, float("nan")])),
    (pa.array([True, False]), pa.array(["true", "false"])),
    (pa.array([date(2026, 3, 9)]), pa.array(["2026-03-09"])),
    (pa.array([NOON], pa.timestamp("us", "UTC")), pa.array([NOON], pa.timestamp("us", "Europe/Rome"))),
    (pa.array([NOON], pa.timestamp("us", "UTC")), pa.array(["2026-03-09 12:30:00.0005"])),
    (pa.array([b"\xff\x00"]), pa.array([b"\xff\x00"], pa.large_binary())),
    (pa.array([b"\xff\x00"]), pa.array(["FF00"])),
]
UNLIKE: list[tuple[pa.Array, pa.Array]] = [
    (pa.array([date(2026, 3, 9)]), pa.array([datetime(2026, 3, 9, tzinfo=UTC)], pa.timestamp("us", "UTC"))),
    (pa.array([0.1]), pa.array([0.1], pa.float32()).cast(pa.float64())),
    (pa.array([7]), pa.array(["07"])),
    (pa.array([None], pa.string()), pa.array([""])),
]


def fingerprint(engine: SparkEngine, root: Path, values: pa.Array) -> object:
    write(root / f"datestr={DAY}", pa.table({"a": values}))
    (measured,) = measure(engine, parquet(root), metric("key_digest", "a"))
    assert measured.failure is None
    return measured.detail["fingerprint"]


@pytest.mark.parametrize(("here", "there"), ALIKE, ids=lambda array: str(array.type))
def test_values_hash_alike_whatever_types_hold_them(
    spark_engine: SparkEngine, tmp_path: Path, here: pa.Array, there: pa.Array
) -> None:
    sides = [fingerprint(spark_engine, tmp_path / name, side) for name, side in (("here", here), ("there", there))]
    assert sides[0] == sides[1]


@pytest.mark.parametrize(("here", "there"), UNLIKE, ids=lambda array: str(array.type))
def test_values_that_write_other_texts_are_other_keys(
    spark_engine: SparkEngine, tmp_path: Path, here: pa.Array, there: pa.Array
) -> None:
    sides = [fingerprint(spark_engine, tmp_path / name, side) for name, side in (("here", here), ("there", there))]
    assert sides[0] != sides[1]


@pytest.mark.parametrize("format_", ["hashes", "xxhash", "pybloom"])
def test_a_filter_of_integers_finds_the_same_numbers_as_doubles(
    spark_engine: SparkEngine, tmp_path: Path, format_: str
) -> None:
    built = built_of(spark_engine, tmp_path / "there", pa.array(range(1, 2000)), format_)
    write(tmp_path / "here" / f"datestr={DAY}", pa.table({"a": pa.array(range(2000), pa.float64())}))
    spec = metric("keys_found", "a")
    found = probe(spark_engine, parquet(tmp_path / "here"), built.state or b"", spec=spec)
    assert (found.detail["missing"], found.detail["lost"]) == (1, [{"a": "0"}])


def built_of(engine: SparkEngine, root: Path, values: pa.Array, format_: str) -> Measured:
    write(root / f"datestr={DAY}", pa.table({"a": values}))
    return measure(
        engine, parquet(root), MetricSpec(name="bloom_filter", columns=("a",), options=(("format", format_),))
    )[0]


def test_many_rows_of_small_files_are_hashed_by_every_core_to_the_same_digest(
    spark_engine: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for at in range(8):
        write(tmp_path, pa.table({"a": range(at * 500, at * 500 + 500), "odd": [at % 2] * 500}), f"part-{at}.parquet")
    table, spec = parquet(tmp_path), metric("key_digest", "a", where="odd = 1")
    (by_one,) = measure(spark_engine, table, spec, keys=None)
    monkeypatch.setattr(native_measure, "TASK_ROWS", 1000)
    (by_all,) = measure(spark_engine, table, spec, keys=None)
    hashes = key_sql.hashes(open_source(spark_engine.session, table, WHOLE), ("a",), None)
    assert hashes.selectExpr("spark_partition_id()").distinct().count() > 1
    assert by_all.detail == by_one.detail
    assert by_all.value == 2000
