from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pytest
from pybloom_live import BloomFilter

from execution_engine.engines.protocol import Measured, Table, Wanted
from execution_engine.engines.spark import SparkEngine
from execution_engine.metrics.key_filter import KeyFilter
from execution_engine.metrics.keys import Key, encode
from execution_engine.metrics.sample import Sample
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Reason
from tests.integration.engines.trips import DAY, measure, measure_one, metric, parquet, write, write_trips

KEY = ("a", "b")
HERE: list[Key] = [("x|y", "z"), ("x", "y|z"), (None, "z"), ("z", None), ("", ""), ("1:a", "é"), ("'\\", "\n")]
MANY: list[Key] = [(f"k{at}", str(at % 7)) for at in range(3000)]


def table_of(root: Path, keys: list[Key], files: int = 1) -> Table:
    for at in range(files):
        columns = [list(column) for column in zip(*keys[at::files], strict=True)]
        rows = pa.table({name: pa.array(values, pa.string()) for name, values in zip(KEY, columns, strict=True)})
        write(root / f"datestr={DAY}", rows, f"part-{at}.parquet")
    return parquet(root)


def built(engine: SparkEngine, table: Table) -> Measured:
    (measured,) = measure(engine, table, metric("bloom_filter", *KEY))
    return measured


def probe(engine: SparkEngine, table: Table, state: bytes, spec: MetricSpec | None = None) -> Measured:
    spec = spec or metric("keys_found", *KEY)
    return measure_one(engine, table, Wanted(key="found", spec=spec, inputs={"bloom_filter": state}))


def test_a_filter_finds_every_key_that_it_was_built_of(spark_engine: SparkEngine, tmp_path: Path) -> None:
    table = table_of(tmp_path, HERE + MANY + MANY[:50], files=3)
    filter_ = built(spark_engine, table)
    assert filter_.value == len(HERE + MANY)
    found = probe(spark_engine, table, filter_.state or b"")
    assert (found.value, found.detail["missing"], found.detail["lost"]) == (len(HERE + MANY), 0, [])


def test_a_filter_counts_the_distinct_keys_on_the_way(spark_engine: SparkEngine, tmp_path: Path) -> None:
    table = table_of(tmp_path, HERE + MANY + MANY[:50], files=3)
    specs = metric("bloom_filter", *KEY), metric("distinct_count", *KEY), metric("distinct_count", "b")
    filter_, together, other = measure(spark_engine, table, *specs)
    (alone,) = measure(spark_engine, table, metric("distinct_count", *KEY))
    assert filter_.value == together.value == alone.value == len(HERE + MANY)
    assert other.value == len({key[1] for key in HERE + MANY})


def test_pybloom_reads_the_body(spark_engine: SparkEngine, tmp_path: Path) -> None:
    state = built(spark_engine, table_of(tmp_path, HERE + MANY)).state or b""
    found = BloomFilter.fromfile(BytesIO(KeyFilter.from_bytes(state).body))
    assert all(encode(key) in found for key in HERE + MANY)
    assert sum(f"absent {at}" in found for at in range(10_000)) < 50  # 10 expected of 0.1 %


def test_lost_keys_are_counted_and_named(spark_engine: SparkEngine, tmp_path: Path) -> None:
    state = built(spark_engine, table_of(tmp_path / "there", HERE[2:] + MANY)).state or b""
    found = probe(spark_engine, table_of(tmp_path / "here", HERE + MANY), state)
    assert found.value == len(HERE + MANY) - 2
    assert found.detail["missing"] == 2
    assert {tuple(key.values()) for key in found.detail["lost"]} == set(HERE[:2])


def test_an_empty_side_is_no_error(spark_engine: SparkEngine, tmp_path: Path) -> None:
    empty = built(spark_engine, parquet_of_nothing(tmp_path / "there"))
    assert (empty.value, empty.failure) == (0, None)
    found = probe(spark_engine, table_of(tmp_path / "here", MANY), empty.state or b"")
    assert (found.value, found.detail["missing"], len(found.detail["lost"])) == (0, 3000, 20)


def parquet_of_nothing(root: Path) -> Table:
    write(root / "datestr=2012-12-31", pa.table({"a": ["x"], "b": ["y"]}))
    return parquet(root)


@pytest.mark.parametrize("spoil", [lambda state: b"", lambda state: state[:-1], lambda state: b"\0" + state[1:]])
def test_a_filter_that_is_not_ours_is_refused(spark_engine: SparkEngine, tmp_path: Path, spoil) -> None:  # type: ignore[no-untyped-def]
    table = table_of(tmp_path, MANY)
    found = probe(spark_engine, table, spoil(built(spark_engine, table).state))
    assert found.failure is not None
    assert found.failure.reason is Reason.QUERY_FAILED


def test_a_filter_of_other_columns_is_refused(spark_engine: SparkEngine, tmp_path: Path) -> None:
    table = table_of(tmp_path, MANY)
    found = probe(spark_engine, table, built(spark_engine, table).state or b"", metric("keys_found", "a"))
    assert found.failure is not None
    assert "was given a filter of a, b" in found.failure.detail


def test_a_sample_is_the_same_however_the_files_are_cut(spark_engine: SparkEngine, tmp_path: Path) -> None:
    spec = MetricSpec(name="sample", columns=KEY, options=(("n", 100),))
    tables = table_of(tmp_path / "one", HERE + MANY), table_of(tmp_path / "many", HERE + MANY * 2, files=4)
    one, many = (measure(spark_engine, table, spec)[0] for table in tables)
    assert one.state == many.state
    assert one.value == 100


def test_sampled_keys_are_looked_up_exactly(spark_engine: SparkEngine, tmp_path: Path) -> None:
    state = Sample(columns=KEY, keys=tuple(HERE + MANY[:90])).to_bytes()
    downstream = table_of(tmp_path, HERE[1:] + MANY[:90] + MANY[500:])
    spec = metric("sample_found", arguments=("raw.trips",))
    found = measure_one(spark_engine, downstream, Wanted(key="found", spec=spec, inputs={"sample": state}))
    assert (found.value, found.detail["missing"]) == (96, 1)
    assert found.detail["lost"] == [{"a": "x|y", "b": "z"}]
    size = metric("sample_size", arguments=("raw.trips",))
    assert measure_one(spark_engine, downstream, Wanted(key="n", spec=size, inputs={"sample": state})).value == 97


def test_a_sample_of_columns_that_are_not_here_is_an_unknown_column(spark_engine: SparkEngine, tmp_path: Path) -> None:
    state = Sample(columns=("uuid",), keys=(("1",),)).to_bytes()
    spec = metric("sample_found", arguments=("raw.trips",))
    found = measure_one(spark_engine, write_trips(tmp_path), Wanted(key="n", spec=spec, inputs={"sample": state}))
    assert found.failure is not None
    assert found.failure.reason is Reason.UNKNOWN_COLUMN
