from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pybloom_live import BloomFilter

from execution_engine.engines.protocol import WHOLE, Measured, MeasurementRequest, Part, Table
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.spark.keys import engine as keys_engine
from execution_engine.metrics.definitions.sample import Sample
from execution_engine.metrics.keys.digest import KeyDigest
from execution_engine.metrics.keys.filter import KeyFilter
from execution_engine.metrics.keys.key_text import Key, encode
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Reason
from tests.integration.engines.trips import DAY, failed, measure, measure_one, metric, parquet, write, write_trips
from tests.integration.storages import stored

KEY = ("a", "b")
HERE: list[Key] = [("x|y", "z"), ("x", "y|z"), (None, "z"), ("z", None), ("", ""), ("1:a", "é"), ("'\\", "\n")]
MANY: list[Key] = [(f"k{at}", str(at % 7)) for at in range(3000)]
FORMATS = ("hashes", "xxhash", "pybloom")


def table_of(root: Path, keys: list[Key], files: int = 1) -> Table:
    for at in range(files):
        columns = [list(column) for column in zip(*keys[at::files], strict=True)]
        rows = pa.table({name: pa.array(values, pa.string()) for name, values in zip(KEY, columns, strict=True)})
        write(root / f"datestr={DAY}", rows, f"part-{at}.parquet")
    return parquet(root)


def spec_of(name: str, format_: str | None = None, columns: tuple[str, ...] = KEY) -> MetricSpec:
    return replace(metric(name, *columns), options=() if format_ is None else (("format", format_),))


def built(engine: SparkEngine, table: Table, format_: str | None = None) -> Measured:
    return measure(engine, table, spec_of("bloom_filter", format_))[0]


def probe(engine: SparkEngine, table: Table, state: bytes, **given: Any) -> Measured:
    spec = given.pop("spec", metric("keys_found", *KEY))
    return measure_one(
        engine, table, MeasurementRequest(key="found", spec=spec, inputs={"bloom_filter": state}, **given)
    )


@pytest.fixture
def above_the_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if every table had too many rows to pull."""
    for name in ("PULLED_ROWS", "EXACT_KEYS"):
        monkeypatch.setattr(keys_engine, name, 0)


@pytest.mark.parametrize("format_", FORMATS)
def test_a_filter_finds_every_key_that_it_was_built_of(spark_engine: SparkEngine, tmp_path: Path, format_: str) -> None:
    table = table_of(tmp_path, HERE + MANY + MANY[:50], files=3)
    filter_ = built(spark_engine, table, format_)
    assert filter_.value == pytest.approx(len(HERE + MANY), rel=0.01 if format_ == "pybloom" else 0)
    found = probe(spark_engine, table, filter_.state or b"")
    assert (found.value, found.detail["missing"], found.detail["lost"]) == (len(HERE + MANY), 0, [])


@pytest.mark.parametrize("name", ["key_digest", "bloom_filter"])
def test_distinct_keys_are_counted_on_the_way(spark_engine: SparkEngine, tmp_path: Path, name: str) -> None:
    table = table_of(tmp_path, HERE + MANY + MANY[:50], files=3)
    specs = spec_of(name), metric("distinct_count", *KEY), metric("distinct_count", "b")
    first, together, other = measure(spark_engine, table, *specs)
    (alone,) = measure(spark_engine, table, metric("distinct_count", *KEY))
    assert first.value == together.value == alone.value == len(HERE + MANY)
    assert other.value == len({key[1] for key in HERE + MANY})


def test_a_filter_of_other_buckets_than_differ_is_refused(spark_engine: SparkEngine, tmp_path: Path) -> None:
    here, there = table_of(tmp_path / "here", HERE + MANY), table_of(tmp_path / "there", MANY)
    digests = [measure(spark_engine, table, spec_of("key_digest"))[0].state or b"" for table in (here, there)]
    inputs = {
        "key_digest": digests[0],
        "key_digest@other": digests[1],
        "bloom_filter": built(spark_engine, there).state or b"",
    }
    found = measure_one(
        spark_engine, here, MeasurementRequest(key="found", spec=metric("keys_found", *KEY), inputs=inputs)
    )
    assert "buckets in which the digests differ" in failed(found).detail


def test_equal_digests_need_neither_filter_nor_probe(spark_engine: SparkEngine, tmp_path: Path) -> None:
    table = table_of(tmp_path, HERE + MANY)
    state = measure(spark_engine, table, spec_of("key_digest"))[0].state or b""
    inputs = {"key_digest": state, "key_digest@other": state}
    wanted = [
        MeasurementRequest(key=name, spec=metric(name, *KEY), inputs=inputs) for name in ("bloom_filter", "keys_found")
    ]
    report = spark_engine.scan(table, Part(keys=(DAY,)), wanted)
    assert {each.value for each in report.measured.values()} == {len(HERE + MANY)}
    assert report.spark_jobs == 0


@pytest.mark.parametrize("format_", FORMATS)
def test_lost_keys_are_counted_and_named(spark_engine: SparkEngine, tmp_path: Path, format_: str) -> None:
    state = built(spark_engine, table_of(tmp_path / "there", HERE[2:] + MANY), format_).state or b""
    found = probe(spark_engine, table_of(tmp_path / "here", HERE + MANY + HERE), state)
    assert found.value == len(HERE + MANY) - 2
    assert found.detail["missing"] == 2
    assert {tuple(key.values()) for key in found.detail["lost"]} == set(HERE[:2])


@pytest.mark.usefixtures("above_the_cap")
@pytest.mark.parametrize("format_", ["xxhash", "pybloom"])
def test_above_the_cap_workers_fill_and_probe_to_the_same_end(
    spark_engine: SparkEngine, tmp_path: Path, format_: str
) -> None:
    there, here = table_of(tmp_path / "there", HERE[1:] + MANY, 3), table_of(tmp_path / "here", MANY + HERE * 2, 3)
    made = built(spark_engine, there, format_)
    assert made.detail["counted"] is False
    found = probe(spark_engine, here, made.state or b"")
    assert (found.value, found.detail["missing"]) == (len(HERE + MANY) - 1, 1)
    assert found.detail["lost"] == [{"a": "x|y", "b": "z"}]


def test_pybloom_reads_the_body(spark_engine: SparkEngine, tmp_path: Path) -> None:
    state = built(spark_engine, table_of(tmp_path, HERE + MANY), "pybloom").state or b""
    found = BloomFilter.fromfile(BytesIO(KeyFilter.from_bytes(state).body))
    assert all(encode(key) in found for key in HERE + MANY)
    assert sum(f"absent {at}" in found for at in range(10_000)) < 50


@pytest.mark.usefixtures("above_the_cap")
def test_grouped_in_spark_a_digest_is_what_numpy_makes_of_it(
    spark_engine: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = table_of(tmp_path, HERE + MANY + MANY[:50], files=3)
    grouped = measure(spark_engine, table, spec_of("key_digest"))[0]
    monkeypatch.setattr(keys_engine, "PULLED_ROWS", 10**6)
    pulled = measure(spark_engine, table, spec_of("key_digest"))[0]
    assert KeyDigest.from_bytes(grouped.state or b"").words.tolist() == (
        KeyDigest.from_bytes(pulled.state or b"").words.tolist()
    )
    assert pulled.detail["keys"] == pulled.value == len(HERE + MANY)
    assert pulled.detail["rows"] == grouped.detail["rows"] == len(HERE + MANY) + 50


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
    assert failed(found).reason is Reason.QUERY_FAILED


def test_with_a_key_a_filter_that_is_not_signed_by_it_is_refused(spark_engine: SparkEngine, tmp_path: Path) -> None:
    table = table_of(tmp_path, MANY)
    item = MeasurementRequest(key="f", spec=metric("bloom_filter", *KEY), state_key=b"secret")
    signed = measure_one(spark_engine, table, item).state or b""
    assert probe(spark_engine, table, signed, state_key=b"secret").value == len(MANY)
    refused = probe(spark_engine, table, built(spark_engine, table).state or b"", state_key=b"secret")
    assert "ASSAY_STATE_KEY" in failed(refused).detail


def test_a_filter_of_other_columns_is_refused(spark_engine: SparkEngine, tmp_path: Path) -> None:
    table = table_of(tmp_path, MANY)
    found = probe(spark_engine, table, built(spark_engine, table).state or b"", spec=metric("keys_found", "a"))
    assert "was given a filter of a, b" in failed(found).detail


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
    found = measure_one(spark_engine, downstream, MeasurementRequest(key="found", spec=spec, inputs={"sample": state}))
    assert (found.value, found.detail["missing"]) == (96, 1)
    assert found.detail["lost"] == [{"a": "x|y", "b": "z"}]


def test_a_sample_of_columns_that_are_not_here_is_an_unknown_column(spark_engine: SparkEngine, tmp_path: Path) -> None:
    state = Sample(columns=("uuid",), keys=(("1",),)).to_bytes()
    spec = metric("sample_found", arguments=("raw.trips",))
    found = measure_one(
        spark_engine, write_trips(tmp_path), MeasurementRequest(key="n", spec=spec, inputs={"sample": state})
    )
    assert failed(found).reason is Reason.UNKNOWN_COLUMN


def test_a_sample_of_bytes_that_are_no_text_says_so_or_is_one_of_texts(
    spark_engine: SparkEngine, tmp_path: Path
) -> None:
    pq.write_table(pa.table({"a": [b"\xc3\x28\xa0\xa1", b"\xff" * 12, b"text"]}), tmp_path / "a.parquet")
    table = stored(Table(name="raw.blobs", storage="parquet", location=str(tmp_path)))
    report = spark_engine.scan(table, WHOLE, [MeasurementRequest(key="n", spec=metric("sample", "a"))])
    found = report.measured["n"]
    assert failed(found).reason is Reason.INVALID
    assert "a key in raw.blobs has bytes that are no UTF-8" in failed(found).detail
