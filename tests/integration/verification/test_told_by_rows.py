"""What is answered from the rows of small files without Spark is what Spark answers, but for last digits of floats."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from execution_engine.engines.files.footers import footer_statistics
from execution_engine.engines.files.listing import list_part
from execution_engine.engines.native import measure as measuring
from execution_engine.engines.native.local_scan import pieces_of, report_without_spark, stored_columns
from execution_engine.engines.native.reading import batches
from execution_engine.engines.protocol import WHOLE, Measured, MeasurementRequest, Table
from execution_engine.engines.spark import sources
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.spark.failures import is_connect
from execution_engine.metrics.spec import MetricSpec
from tests.integration.engines.alike import alike, magnitudes_in
from tests.integration.engines.drawn_files import DOUBLES
from tests.integration.engines.many_types import frame_of, random_rows, write
from tests.integration.engines.metric_cases import EXACT
from tests.integration.engines.references import differences
from tests.integration.engines.trips import metric
from tests.integration.storages import plain, stored, without_places
from tests.integration.verification.shapes_of_files import (
    NAMES,
    SHAPES,
    SPECS,
    damaged,
    nothing,
    one_file,
)
from tests.integration.verification.without_java import verify_without_java

pytestmark = pytest.mark.timeout(900)  # many questions, each asked of Spark too

OF_ONE = ("distinct_count", "uniqueness", "distinctness", "unique_value_ratio", "entropy", "most_frequent_share")
CONDITIONS = (
    *("id > 1", "id >= -4 and id <> 2", "not id = 3 or city is null", "id in (1, 3)", "id not in (1, 2.5)"),
    *("id between 1 and 2.5", "2 < id", "id = small", "id < 9223372036854775808", "small * 1e0 <= 1", "id in (1, 2e0)"),
    *("fare > 0", "fare >= 1.5", "fare = fare", "isnan(fare)", "not isnan(fare) and fare < 1e2", "fare < id"),
    *("share > 0.1", "share >= 0.1", "share = 0.2", "share < 16777217", "share in (0.1, 0.4)", "share < fare"),
    *(
        "price > 1",
        "price >= 1.1",
        "price < 9.990000001",
        "price in (1.1, -3.05)",
        "price = long_price",
        "price < fare",
    ),
    *("long_price > 1", "long_price < 12345678901234567890123.55", "huge >= 18446744073709551615", "huge > 0.5"),
    *(
        "city = 'rome'",
        "city <> ''",
        "city in ('rome', '東京')",
        "city > 'r'",
        "city < kind",
        "kind = 'a'",
        "'a' = kind",
    ),
    *(
        "flag",
        "not flag",
        "flag = true",
        "flag in (true, false)",
        "flag is not null and flag <> false",
        "true",
        "1 = 1",
    ),
    *("day > date '0001-01-01'", "day in (date '2026-03-10')", "day <= cast('9999-12-31' as date)", "day = day"),
    *("at >= timestamp '2026-03-10 12:30:15.123456'", "at < timestamp '2026-03-10 12:30:15.2'", "local is null"),
    *("unsigned > 2147483648", "nothing is null", "nothing > 1", "char_length(city) = 2", "cast(id as string) = '-4'"),
    *("`order id` = 3", "`back``tick` > 1", "UPPER = upper", "(((id)) = ((1)))", "null is null", "city = 'o\\'c'"),
)
CLAUSE = "id > 0 and (city is null or flag)"
MORE = (
    *(metric(name, column) for name in OF_ONE for column in NAMES),
    *(metric("compliance", arguments=(text,)) for text in CONDITIONS),
    *(metric(name, column) for name in ("min_length", "max_length") for column in ("city", "kind")),
    *(metric(name, column) for name in ("non_negative", "positive") for column in ("id", "fare", "share", "price")),
    *(metric("in_range", column, arguments=(-3.05, 7)) for column in ("id", "small", "fare", "share", "price", "huge")),
    *(metric("quantile", column, arguments=(0.3,)) for column in ("id", "share", "price", "long_price", "nothing")),
    *(metric("less_than", *pair) for pair in (("id", "small"), ("fare", "id"), ("city", "kind"), ("at", "at"))),
    *(metric("correlation", *pair) for pair in (("id", "small"), ("fare", "id"), ("price", "share"), ("id", "id"))),
    *(metric("ratio_of", column, arguments=("1",)) for column in ("id", "city", "flag", "huge")),
    *(metric("ratio_of", "flag", arguments=(text,)) for text in ("true", "false")),
    metric("ratio_of", "day", arguments=("2026-03-10",)),
    metric("ratio_of", "at", arguments=("2026-03-10 12:30:15.123456",)),
    *(metric("consistent_type", column) for column in ("city", "kind", "id", "unsigned", "flag", "day", "at", "price")),
    *(metric("pattern_match", "city", arguments=(pattern,)) for pattern in ("^r", "email", "integer", "[^r]$")),
    metric("mutual_information", "kind", "flag"),
    metric("satisfies_if", arguments=("id > 0", "city = 'rome'")),
    *(metric(name, "kind", "day", "fare") for name in ("distinct_count", "count_distinct", "uniqueness")),
    MetricSpec(name="uniqueness", columns=("kind", "price"), options=(("nulls", "keep"),)),
    *(metric(name, "price", where=CLAUSE) for name in ("sum", "mean", "stddev", "min", "count_distinct", "uniqueness")),
    *(metric(name, "share", where="id > 99") for name in ("sum", "mean", "stddev", "max", "distinct_count")),
)
OF_EVERY_SHAPE = (
    *(metric("distinct_count", name) for name in NAMES),
    *(metric(each, name) for each in ("sum", "stddev", "max") for name in ("id", "small", "unsigned", "fare", "price")),
    *(metric("mean", name) for name in ("share", "huge", "long_price", "nothing")),
    *(
        metric("compliance", arguments=(text,))
        for text in ("city > 'r' or flag", "at = at", "fare > 0", "kind in ('a')")
    ),
    metric("uniqueness", "kind", "day", "fare"),
    metric("quantile", "share", arguments=(0.3,)),
)
AT_ONCE = 70  # of one scan: what Spark takes for a select grows faster than the select
LEFT_TO_SPARK = (
    metric("consistent_type", "share"),
    metric("approx_quantile", "fare", arguments=(0.5,)),
    metric("histogram", "fare"),
    MetricSpec(name="histogram", columns=("city",), options=(("bins", 2),)),
    metric("key_digest", "fare"),
    metric("sample", "id", "share"),
    MetricSpec(name="bloom_filter", columns=("city",), options=(("format", "pybloom"),)),
    metric("age", "at", arguments=("timestamp '2026-03-11 00:00:00'",)),
    metric("completeness", "address.zip"),
    metric("distinct_count", "tags"),
    metric("distinct_count", "fine"),
    MetricSpec(name="mean", columns=("id",), by=("fare",)),
    MetricSpec(name="approx_count_distinct", columns=("id",), by=("city",)),
    *(
        metric("compliance", arguments=(text,))
        for text in ("city ilike 'r%'", "id + 1 > 2", "id % 2 = 0", "upper(city) = 'ROME'", "city > 1", "id <=> 1")
    ),
    metric("compliance", arguments=("case when id > 1 then true else false end",)),
    metric("compliance", arguments=("day > '2026-03-10'",)),
    metric("compliance", arguments=("local > timestamp '2026-03-10 00:00:00'",)),
    metric("compliance", arguments=("price * 2 > 1",)),
)


@pytest.fixture
def of_rows(spark_engine: SparkEngine, monkeypatch: pytest.MonkeyPatch) -> SparkEngine:
    """Spark that must read the rows by its own aggregates, whatever the footers say."""
    monkeypatch.setattr(sources, "footer_statistics", lambda listing: None)
    monkeypatch.setattr(spark_engine, "_options", replace(spark_engine._options, native=False))
    return spark_engine


def told(table: Table, spec: MetricSpec, *, keep_state: bool = False) -> Measured | None:
    report = report_without_spark(table, [MeasurementRequest(key="one", spec=spec, keep_state=keep_state)])
    return None if report is None else report.measured["one"]


def in_folder(folder: Path) -> Table:
    return stored(Table(name="rides", storage="parquet", location=str(folder)))


def compared(engine: SparkEngine, table: Table, specs: Sequence[MetricSpec]) -> tuple[int, list[str]]:
    """How many are told here, and which of them otherwise than by Spark's own aggregates, state included."""
    told_here = {spec.text: each for spec in specs if (each := told(table, spec, keep_state=True)) is not None}
    here = without_places(told_here)
    wanted = [
        MeasurementRequest(key=spec.text, spec=spec, keep_state=True)
        for spec in dict.fromkeys(specs)
        if spec.text in here
    ]
    there: dict[str, Measured] = {}
    magnitudes = magnitudes_in(plain(table).location)
    for at in range(0, len(wanted), AT_ONCE):
        there |= without_places(engine.scan(plain(table), WHOLE, wanted[at : at + AT_ONCE]).measured)
    return len(here), [
        f"{item.key}: {here[item.key]} and {there[item.key]}"
        for item in wanted
        if not alike(item.spec, here[item.key], there[item.key], magnitudes)
    ]


def test_rows_tell_what_spark_tells(of_rows: SparkEngine, tmp_path: Path) -> None:
    one_file(tmp_path)
    count, differing = compared(of_rows, in_folder(tmp_path), (*SPECS, *MORE))
    assert differing == []
    assert count > 380


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_rows_tell_what_spark_tells_however_files_are_written(
    shape: Callable[[Path], None], of_rows: SparkEngine, tmp_path: Path
) -> None:
    shape(tmp_path)
    count, differing = compared(of_rows, in_folder(tmp_path), OF_EVERY_SHAPE)
    assert differing == []
    assert count > (-1 if shape in (nothing, damaged) else 40)


GENERATED: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "id": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "small": (pa.int16(), st.integers(-3, 3)),
    "x": (pa.float64(), DOUBLES),
    "y": (pa.float64(), st.floats(-1e6, 1e6)),
    "single": (pa.float32(), st.floats(-1e6, 1e6, width=32)),
    "price": (pa.decimal128(12, 2), st.decimals(-(10**9), 10**9, places=2)),
    "long": (pa.decimal128(30, 6), st.decimals(-(10**23), 10**23, places=6)),
    "name": (pa.string(), st.text(max_size=3)),
    "kind": (pa.string(), st.sampled_from(["a", "b", "", "a ", "A"])),
    "flag": (pa.bool_(), st.booleans()),
    "day": (pa.date32(), st.dates()),
    "at": (pa.timestamp("us", tz="UTC"), st.datetimes()),
}
OF_GENERATED = (
    *(metric(each, name) for name in GENERATED for each in ("completeness", "distinct_count", "uniqueness")),
    *(
        metric(each, name)
        for name in ("id", "small", "x", "y", "single", "price", "long")
        for each in ("min", "max", "sum", "mean", "stddev", "non_negative", "positive")
    ),
    *(metric("quantile", name, arguments=(0.4,)) for name in ("id", "y", "single", "price", "long")),
    *(metric("in_range", name, arguments=(-1, 1.5)) for name in ("id", "small", "x", "single", "price", "long")),
    *(metric("correlation", *pair) for pair in (("y", "small"), ("id", "y"), ("price", "y"), ("x", "y"))),
    *(metric("less_than", *pair) for pair in (("x", "y"), ("small", "y"), ("single", "x"), ("name", "kind"))),
    *(metric(each, "name") for each in ("min_length", "max_length", "entropy", "most_frequent_share")),
    *(metric(each, "kind", "x", "flag") for each in ("distinct_count", "count_distinct", "uniqueness")),
    *(metric(each, "y", where="small > 0 and not flag") for each in ("mean", "stddev", "min", "uniqueness")),
    *(
        metric("compliance", arguments=(text,))
        for text in (
            *("kind in ('a', 'b')", "kind not in ('a') or flag", "id > 0 and x < 1.5", "name < kind", "single >= 0.1"),
            *("day >= date '2000-02-29'", "at < timestamp '2000-01-01 00:00:00.5'", "price = long or price <= 0.01"),
            *("not (x > y and flag)", "isnan(x) or isnan(single)", "y between -0.5 and 1e3", "id in (0, 1.5)"),
        )
    ),
)


@given(data=st.data())
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_rows_tell_what_spark_tells(of_rows: SparkEngine, data: st.DataObject) -> None:
    columns = {name: (type_, st.none() | values) for name, (type_, values) in GENERATED.items()}
    with TemporaryDirectory() as folder:
        for at in range(data.draw(st.integers(1, 3), label="files")):
            count = data.draw(st.integers(0, 30), label="rows")
            drawn = {
                name: pa.array(data.draw(st.lists(values, min_size=count, max_size=count), label=name), type_)
                for name, (type_, values) in columns.items()
            }
            size = data.draw(st.integers(1, 31), label="rows of a group")
            pq.write_table(pa.table(drawn), Path(folder) / f"{at}.parquet", row_group_size=size)
        count, differing = compared(of_rows, in_folder(Path(folder)), OF_GENERATED)
    assert differing == []
    assert count > 60


def test_many_rows_are_told_alike(of_rows: SparkEngine, tmp_path: Path) -> None:
    """A file of several pieces, and files of several sizes."""
    random = np.random.default_rng(7)
    specs = [metric(each, name) for each in ("sum", "mean", "stddev", "min", "uniqueness") for name in ("x", "y")]
    specs += [metric("correlation", "x", "y"), metric("mean", "x", where="y > 0"), metric("stddev", "x", where="y > 0")]
    specs += [metric("quantile", "x", arguments=(0.3,)), metric("approx_count_distinct", "y")]
    shapes = {"one": [400_000], "several": [1_000, 90_000, 20_000, 5]}
    for shape, counts in shapes.items():
        (tmp_path / shape).mkdir()
        for at, count in enumerate(counts):
            table = pa.table({"x": random.normal(1e3, 1e6, count), "y": random.uniform(-1, 1, count)})
            pq.write_table(table, tmp_path / shape / f"{at}.parquet", row_group_size=20_000)
        assert compared(of_rows, in_folder(tmp_path / shape), specs) == (len(specs), [])


def test_the_kernels_tell_the_same_here_as_in_a_task_of_spark(spark_engine: SparkEngine, tmp_path: Path) -> None:
    """Small files are one task there, so that floats are added up in the same order."""
    random = np.random.default_rng(3)
    for at in range(3):
        count = 40_000 + at
        table = pa.table({"x": random.normal(1e3, 1e6, count), "kind": random.choice(["a", "b", "c"], count)})
        pq.write_table(table, tmp_path / f"{at}.parquet", row_group_size=7_000)
    specs = [metric(each, "x") for each in ("sum", "mean", "stddev", "uniqueness", "approx_count_distinct", "max")]
    specs += [metric("quantile", "x", arguments=(0.3,)), metric("mean", "x", where="kind = 'a'")]
    wanted = [MeasurementRequest(key=spec.text, spec=spec, keep_state=True) for spec in specs]
    here = report_without_spark(in_folder(tmp_path), wanted)
    there = spark_engine.scan(in_folder(tmp_path), WHOLE, wanted)
    assert (here.measured if here else None) == there.measured
    assert is_connect(spark_engine.session) or there.spark_jobs == 1


def test_rows_tell_what_numpy_and_pandas_say_of_them(tmp_path: Path) -> None:
    parts = {"random": random_rows(700), "one": random_rows(1, 3)}
    write(tmp_path, parts)
    for key, found in parts.items():
        table = in_folder(tmp_path / f"part={key}")
        measured = {each: one for each in EXACT if (one := told(table, each.spec)) is not None}
        assert differences(list(measured), list(measured.values()), frame_of(found)) == []
        assert len(measured) > 100


@pytest.mark.parametrize("spec", LEFT_TO_SPARK, ids=lambda spec: spec.text)
def test_what_might_mean_something_else_is_left_to_spark_with_all_that_is_asked_beside_it(
    spec: MetricSpec, tmp_path: Path
) -> None:
    one_file(tmp_path)
    known = MeasurementRequest(key="known", spec=metric("mean", "id"))
    assert report_without_spark(in_folder(tmp_path), [known]) is not None
    assert report_without_spark(in_folder(tmp_path), [known, MeasurementRequest(key="one", spec=spec)]) is None


@pytest.mark.parametrize(
    "spec",
    [
        metric("mean", "id"),
        MetricSpec(name="mean", columns=("id",), by=("city",)),
        metric("histogram", "city"),
        metric("key_digest", "id"),
    ],
    ids=lambda spec: spec.text,
)
def test_what_is_too_large_is_left_to_spark(spec: MetricSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one_file(tmp_path)
    wanted = [MeasurementRequest(key="one", spec=spec)]
    size = (tmp_path / "a.parquet").stat().st_size
    assert report_without_spark(in_folder(tmp_path), wanted, most_bytes=size + 1) is not None
    assert report_without_spark(in_folder(tmp_path), wanted, most_bytes=size) is None
    monkeypatch.setattr(measuring, "MOST_ROWS", 3)
    assert report_without_spark(in_folder(tmp_path), wanted) is None


@pytest.mark.parametrize(
    ("length", "different"), [(500_000, 2), (4_000, 250)], ids=["two very long texts", "some long texts"]
)
def test_texts_that_are_packed_stay_packed(tmp_path: Path, length: int, different: int) -> None:
    """Unpacked they would be 50 GB, and 400 MB."""
    text = pa.array([f"{at:04}".ljust(length, "x") for at in range(different)])
    packed = pa.DictionaryArray.from_arrays(pa.array(np.arange(100_000) % different, pa.int32()), text)
    pq.write_table(pa.table({"text": packed}), tmp_path / "a.parquet")
    table = in_folder(tmp_path)
    longest = told(table, metric("max_length", "text"))
    assert (longest.value if longest else None) == length
    listing = list_part(table, WHOLE)
    footers = footer_statistics(listing)
    assert footers is not None
    ((piece, _),) = pieces_of(listing, footers)
    (batch,) = batches(piece, stored_columns(listing, {"text": "string"}))
    assert batch.columns("text").array.nbytes < 10_000_000


@pytest.mark.parametrize(
    "other",
    [
        pa.table({"id": pa.array([1], pa.int32())}),
        pa.table([[1], [2]], names=["id", "ID"]),
    ],
    ids=["of another type", "twice"],
)
def test_a_column_that_files_hold_otherwise_is_left_to_spark(tmp_path: Path, other: pa.Table) -> None:
    pq.write_table(other, tmp_path / "a.parquet")
    pq.write_table(pa.table({"id": [1, 2]}), tmp_path / "b.parquet")
    assert told(in_folder(tmp_path), metric("sum", "id")) is None


def test_assay_verify_starts_no_java_for_a_small_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one_file(tmp_path)
    checks = (
        "checks:\n  - row_count() = 4\n  - mean(price) > 2\n  - {is_unique: id}\n  - max_length(city) = 4\n"
        "  - {is_contained_in: {city: [rome, '', 東京]}}\n  - {is_non_negative: share}\n"
        '  - completeness(city, where="id > 1 and flag is null") = 0\n'
    )
    verify_without_java(tmp_path, checks, monkeypatch)
    printed = capsys.readouterr()
    assert "7 success; 0 Spark jobs" in printed.out
    assert printed.err == ""
