"""Digests, filters and samples of keys are the same whether kernels, in tasks or here, read the keys or Spark does."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark import cloudpickle

from execution_engine.engines.native.local_scan import pieces_of, report_without_spark
from execution_engine.engines.protocol import WHOLE, MeasurementRequest, ScanReport, Table
from execution_engine.engines.spark import kernels as jobs
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.spark.keys import engine as keys_engine
from execution_engine.metrics.definitions.sample import Sample
from execution_engine.metrics.expressions import written
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Reason
from execution_engine.read_by import NO_VALUES, FallbackKind, ReadBy, together
from tests.integration.engines.drawn_files import columns, conditions, write_drawn
from tests.integration.engines.test_native_kernels import ALONE, in_folder
from tests.integration.engines.trips import metric
from tests.integration.storages import plain, without_places
from tests.integration.verification.shapes_of_files import NAMES, SHAPES

EXAMPLES = 15  # of tables; each is asked five metrics of some keys
OF_A_KEY: Sequence[tuple[str, dict[str, Any]]] = (
    ("key_digest", {}),
    ("bloom_filter", {"format": "hashes"}),
    ("bloom_filter", {"format": "xxhash"}),
    ("sample", {"n": 7}),
)


def of_key(*key: str, where: str | None = None) -> list[MetricSpec]:
    return [
        MetricSpec(name=name, columns=key, options=tuple(options.items()), where=where) for name, options in OF_A_KEY
    ]


def scanned(
    engine: SparkEngine, table: Table, wanted: Sequence[MeasurementRequest], *, by_kernels: bool = True
) -> ScanReport:
    options = engine._options
    engine._options = replace(options, native=by_kernels)
    try:
        report = engine.scan(table if by_kernels else plain(table), WHOLE, wanted)
        return replace(report, measured=without_places(report.measured))
    finally:
        engine._options = options


def describe_difference(table: Table, wanted: Sequence[MeasurementRequest], ours: ScanReport) -> str:
    """How the kernels in this process differ from those in Spark, asked of each by itself, and of all together."""
    alone = {item.key: report_without_spark(table, [item]) for item in wanted}
    reports = [report for report in alone.values() if report]
    by = together([report.read_by for report in reports])
    if (by.footers, by.kernels, by.left) != (ours.read_by.footers, ours.read_by.kernels, ()):
        return f"{by} and {ours.read_by}"
    whole = report_without_spark(table, wanted)
    if (whole is None) != (None in alone.values()) or (
        whole and (without_places(whole.measured), whole.read_by) != (ours.measured, by)
    ):
        return f"{whole} and {ours}"
    told = without_places({key: measured for report in reports for key, measured in report.measured.items()})
    return ", ".join(f"{key}: {each}" for key, each in told.items() if repr(each) != repr(ours.measured[key]))


def both(engine: SparkEngine, table: Table, specs: Sequence[MetricSpec], *, here_too: bool = True) -> ReadBy:
    """Who read them, once all ways have given the same values, states, details and failures."""
    wanted = [MeasurementRequest(key=f"{at} {spec.text}", spec=spec) for at, spec in enumerate(specs)]
    here, there = (scanned(engine, table, wanted, by_kernels=by_kernels) for by_kernels in (True, False))
    assert there.read_by.kernels == 0
    assert dict(here.measured) == dict(there.measured)
    assert not here_too or describe_difference(table, wanted, here) == ""
    states = {spec.name: here.measured[item.key].state for spec, item in zip(specs, wanted, strict=True)}
    more = [
        MeasurementRequest(key=name, spec=spec, inputs={source: states[source] or b""})
        for name, spec, source in (
            ("keys_found", metric("keys_found", *specs[0].columns), "bloom_filter"),
            ("sample_found", metric("sample_found", arguments=("raw.trips",)), "sample"),
        )
        if states.get(source)
    ]
    found, expected = (scanned(engine, table, more, by_kernels=by_kernels) for by_kernels in (True, False))
    assert dict(found.measured) == dict(expected.measured)
    assert not here_too or not more or describe_difference(table, more, found) == ""
    return here.read_by


@pytest.mark.timeout(900)
@given(data=st.data())
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_keys_of_any_files_are_the_same_under_any_conditions(spark_engine: SparkEngine, data: st.DataObject) -> None:
    drawn = data.draw(columns())
    with TemporaryDirectory() as folder:
        write_drawn(data, drawn, Path(folder))
        key = data.draw(st.lists(st.sampled_from(list(drawn.kinds)), min_size=1, max_size=3, unique=True), label="key")
        where = data.draw(st.none() | conditions(drawn), label="where")
        asked = of_key(*map(written, key), where=where)
        is_text = not set(key) & set(drawn.of("blob"))  # a sample writes bytes down as a text, which they may not be
        both(spark_engine, in_folder(Path(folder)), asked if is_text else asked[:-1])


@pytest.mark.timeout(900)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_keys_of_files_of_every_shape_are_the_same(
    shape: Callable[[Path], None], spark_engine: SparkEngine, tmp_path: Path
) -> None:
    shape(tmp_path)
    of_each = [metric("key_digest", name) for name in NAMES]
    samples = [metric("sample", name, "id") for name in NAMES]
    both(spark_engine, in_folder(tmp_path), [*of_each, *samples])


PLAIN = (
    ("id", pa.array([7, None, -4], pa.int64())),
    ("tiny", pa.array([7, None, -4], pa.int8())),
    ("huge", pa.array([2**64 - 1, None, 0], pa.uint64())),
    ("flag", pa.array([True, None, False])),
    ("city", pa.array(["rome", None, "東京 🦉"])),
    ("kind", pa.array(["a", None, "a"]).dictionary_encode()),
    ("price", pa.array([110, None, -30], pa.int64()).cast(pa.decimal128(19, 0)).cast(pa.decimal128(24, 2))),
    ("day", pa.array([0, None, -719_162], pa.int32()).cast(pa.date32())),
    ("at", pa.array([1, None, 1_773_052_200_000_500], pa.int64()).cast(pa.timestamp("us", "UTC"))),
    ("local", pa.array([1_000, None, -1], pa.int64()).cast(pa.timestamp("us"))),
)


@pytest.mark.parametrize(("name", "values"), PLAIN, ids=[name for name, _ in PLAIN])
def test_keys_of_plain_types_are_read_by_the_kernels(
    name: str, values: pa.Array, spark_engine: SparkEngine, tmp_path: Path
) -> None:
    for at in range(3):
        table = pa.table({name: values, "number": [at, at + 1, at + 2]})
        pq.write_table(table, tmp_path / f"{at}.parquet", row_group_size=2)
    asked = [*of_key(name), *of_key(name, "number", where="number between 1 and 3")]
    assert both(spark_engine, in_folder(tmp_path), asked) == ReadBy(kernels=len(asked))


@pytest.mark.parametrize("values", [pa.array([1.0, -0.0, None]), pa.array([b"\xff\x00", b"", None])], ids=str)
def test_hashes_of_whole_doubles_and_of_bytes_are_native_and_samples_are_left_to_spark(
    values: pa.Array, spark_engine: SparkEngine, tmp_path: Path
) -> None:
    pq.write_table(pa.table({"a": values}), tmp_path / "a.parquet")
    found = both(spark_engine, in_folder(tmp_path), of_key("a"))
    assert (found.kernels, found.left_by_kind) == (3, {FallbackKind.COLUMN: 1})


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1.0, 0.1]),
        pa.array([1.0, float("nan")]),
        pa.array([2.0**53]),
        pa.array([2.0**24], pa.float32()),
        pa.array(["x" * 5_000]),
        pa.array([10_000 * 366], pa.int32()).cast(pa.date32()),
        pa.array([-(10**17)], pa.int64()).cast(pa.timestamp("us", "UTC")),
        pa.array([1], pa.int64()).cast(pa.decimal128(19, 0)).cast(pa.decimal128(28, 9)),
        pa.array([0], pa.int64()).cast(pa.decimal128(19, 0)).cast(pa.decimal128(28, 9)),
    ],
    ids=["a fraction", "NaN", "2^53", "2^24 as float", "a long text", "year 10000", "year -1199", "scale 9", "0E-9"],
)
def test_rows_that_are_written_otherwise_leave_the_key_to_spark(
    values: pa.Array, spark_engine: SparkEngine, tmp_path: Path
) -> None:
    pq.write_table(pa.table({"a": values}), tmp_path / "a.parquet")
    found = both(spark_engine, in_folder(tmp_path), [metric("key_digest", "a")])
    expected = {} if values.type == pa.decimal128(28, 9) and values[0].as_py() else {FallbackKind.ROWS: 1}
    assert found.left_by_kind == expected


def test_filled_by_tasks_a_bloom_filter_has_the_same_bits(
    spark_engine: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PULLED_ROWS", "EXACT_KEYS"):
        monkeypatch.setattr(keys_engine, name, 0)
    pq.write_table(pa.table({"a": range(5_000)}), tmp_path / "a.parquet", row_group_size=700)
    asked = [MetricSpec(name="bloom_filter", columns=("a",), options=(("format", "xxhash"),), where="a % 2 = 1")]
    assert both(spark_engine, in_folder(tmp_path), asked, here_too=False).left_by_kind == {FallbackKind.UNKNOWN: 1}
    asked = [replace(asked[0], where="a > 1700")]
    assert both(spark_engine, in_folder(tmp_path), asked, here_too=False) == ReadBy(kernels=1)


def test_lost_keys_are_named_alike(spark_engine: SparkEngine, tmp_path: Path) -> None:
    for name, rows in (("here", range(3_000)), ("there", range(5, 3_000))):
        (tmp_path / name).mkdir()
        pq.write_table(pa.table({"a": rows, "b": [f"{at % 7}|:-é" for at in rows]}), tmp_path / name / "a.parquet")
    state = spark_engine.scan(
        in_folder(tmp_path / "there"), WHOLE, [MeasurementRequest(key="f", spec=of_key("a", "b")[1])]
    )
    shipped = MeasurementRequest(
        key="k", spec=metric("keys_found", "a", "b"), inputs={"bloom_filter": state.measured["f"].state or b""}
    )
    sampled = Sample(columns=("a", "b"), keys=(("1", "1|:-é"), ("1", "2|:-é"), (None, "1|:-é")))
    looked_for = MeasurementRequest(
        key="s", spec=metric("sample_found", arguments=("raw.trips",)), inputs={"sample": sampled.to_bytes()}
    )
    here, there = (
        scanned(spark_engine, in_folder(tmp_path / "here"), [shipped, looked_for], by_kernels=by_kernels)
        for by_kernels in (True, False)
    )
    assert here.read_by == ReadBy(kernels=2)
    assert dict(here.measured) == dict(there.measured)
    assert {key["a"] for key in here.measured["k"].detail["lost"]} == {"0", "1", "2", "3", "4"}
    assert here.measured["s"].value == 1


def compared(engine: SparkEngine, table: Table, *wanted: MeasurementRequest) -> ScanReport:
    """What the kernels in Spark tell, once those here and Spark alone have told the same."""
    here, there = (scanned(engine, table, wanted, by_kernels=by_kernels) for by_kernels in (True, False))
    assert dict(here.measured) == dict(there.measured)
    assert describe_difference(table, wanted, here) == ""
    return here


def test_sides_whose_digests_are_known_are_compared_alike(spark_engine: SparkEngine, tmp_path: Path) -> None:
    states, secret = {}, b"of both sides"
    for name, rows in (("here", range(3_000)), ("there", range(5, 3_003)), ("twin", range(3_000))):
        (tmp_path / name).mkdir()
        pq.write_table(pa.table({"a": rows}), tmp_path / name / "a.parquet")
        digest = MeasurementRequest(key="d", spec=metric("key_digest", "a"), state_key=secret)
        states[name] = compared(spark_engine, in_folder(tmp_path / name), digest).measured["d"].state or b""
    for other, missing, reading in (("there", 5, ReadBy(kernels=1)), ("twin", 0, NO_VALUES)):
        digests = {"key_digest": states[other], "key_digest@other": states["here"]}
        item = MeasurementRequest(key="f", spec=metric("bloom_filter", "a"), inputs=digests, state_key=secret)
        built = compared(spark_engine, in_folder(tmp_path / other), item)
        own = {"key_digest": states["here"], "key_digest@other": states[other]}
        inputs = own | {"bloom_filter": built.measured["f"].state or b""}
        item = MeasurementRequest(key="k", spec=metric("keys_found", "a"), inputs=inputs, state_key=secret)
        found = compared(spark_engine, in_folder(tmp_path / "here"), item)
        assert [built.read_by, found.read_by] == [reading, reading]
        assert (found.measured["k"].value, found.measured["k"].detail["missing"]) == (3_000 - missing, missing)


def test_what_cannot_be_compared_says_why_alike(spark_engine: SparkEngine, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2], "b": [1, 2]}), tmp_path / "a.parquet")
    sample = Sample(columns=("zip",), keys=(("1",),)).to_bytes()
    wanted = [
        MeasurementRequest(key="no filter", spec=metric("keys_found", "a")),
        MeasurementRequest(key="no true filter", spec=metric("keys_found", "a"), inputs={"bloom_filter": b"{}"}),
        MeasurementRequest(key="no sample", spec=metric("sample_found", arguments=("raw.trips",))),
        MeasurementRequest(
            key="other columns", spec=metric("sample_found", arguments=("raw.trips",)), inputs={"sample": sample}
        ),
        MeasurementRequest(
            key="too large", spec=replace(of_key("a")[2], options=(("format", "xxhash"), ("error_rate", 0.5)))
        ),
        MeasurementRequest(key="unknown", spec=metric("key_digest", "zip")),
    ]
    found = compared(spark_engine, in_folder(tmp_path), *wanted)
    assert found.read_by == NO_VALUES
    assert all(each.failure for each in found.measured.values())


def test_distinct_counts_follow_from_a_digest_of_the_same_keys(spark_engine: SparkEngine, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2, 2, 3], "b": ["x", None, "x", "y"]}), tmp_path / "a.parquet")
    names = ("key_digest", "distinct_count", "count_distinct", "uniqueness")
    specs = [metric(name, *columns) for name in names for columns in (("a",), ("b",), ("a", "b"))]
    wanted = [MeasurementRequest(key=spec.text, spec=spec, keep_state=True) for spec in specs]
    wanted.append(MeasurementRequest(key="rows", spec=metric("row_count")))
    here, there = (scanned(spark_engine, in_folder(tmp_path), wanted, by_kernels=each) for each in (True, False))
    assert {key: each.value for key, each in here.measured.items()} == {
        key: each.value for key, each in there.measured.items()
    }
    told = report_without_spark(in_folder(tmp_path), wanted)
    assert told is not None
    assert (told.measured, told.read_by) == (dict(here.measured), here.read_by)
    assert told.read_by == ReadBy(footers=1, kernels=6)  # three digests, and how often the keys of three occur
    by_digest = {spec.text for spec in specs if told.measured[spec.text].state is None}
    assert {metric("count_distinct", "a").text, metric("distinct_count", "a").text} <= by_digest


@pytest.mark.parametrize("other", [pa.array([1], pa.int32()), pa.array([1.0])], ids=str)
def test_files_that_hold_the_key_otherwise_are_left_to_spark(
    other: pa.Array, spark_engine: SparkEngine, tmp_path: Path
) -> None:
    pq.write_table(pa.table({"a": other}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "b.parquet")
    assert both(spark_engine, in_folder(tmp_path), [metric("key_digest", "a")]).left_by_kind == {FallbackKind.FAILED: 1}


def test_a_file_that_is_cut_off_fails_as_spark_says(spark_engine: SparkEngine, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": range(50_000)}), tmp_path / "a.parquet", use_dictionary=False)
    content = bytearray((tmp_path / "a.parquet").read_bytes())
    content[100:20_000] = bytes(19_900)
    (tmp_path / "a.parquet").write_bytes(content)
    wanted = [MeasurementRequest(key="d", spec=metric("key_digest", "a"))]
    here, there = (
        scanned(spark_engine, in_folder(tmp_path), wanted, by_kernels=by_kernels).measured["d"].failure
        for by_kernels in (True, False)
    )
    assert here == there
    assert here is not None
    assert here.reason is Reason.UNREADABLE


def test_a_file_that_is_replaced_after_it_was_listed_is_read_by_spark(
    spark_engine: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "a.parquet")

    def older(*of: Any) -> Any:
        for piece, rows in pieces_of(*of):
            yield replace(piece, mtime_ns=piece.mtime_ns - 1), rows

    monkeypatch.setattr(jobs, "pieces_of", older)
    found = both(spark_engine, in_folder(tmp_path), [metric("key_digest", "a")], here_too=False)
    assert [(left.kind, left.why) for left in found.left] == [
        (FallbackKind.FAILED, "a file was replaced while it was read")
    ]


def test_a_task_needs_nothing_but_numpy_and_pyarrow_where_it_runs(
    spark_engine: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pq.write_table(pa.table({"a": [1, 2], "b": ["x", None], "c": [b"x", None]}), tmp_path / "a.parquet")
    sent: list[bytes] = []
    task_of = jobs._task

    def kept(*arguments: Any) -> Any:
        task = task_of(*arguments)
        sent.append(cloudpickle.dumps(task))
        return task

    monkeypatch.setattr(jobs, "_task", kept)
    keys = [*of_key("a", "b", where="b like 'x%' or a in (1, 2)"), metric("key_digest", "c")]
    digests = [spec for spec in keys if spec.name == "key_digest"]
    assert both(spark_engine, in_folder(tmp_path), digests, here_too=False) == ReadBy(kernels=2)
    monkeypatch.setattr(keys_engine, "PULLED_ROWS", 0)
    monkeypatch.setattr(keys_engine, "EXACT_KEYS", 0)
    others = [spec for spec in keys if spec not in digests]
    assert both(spark_engine, in_folder(tmp_path), others, here_too=False) == ReadBy(kernels=3)
    assert len(sent) == 6  # with the look-up of the sample; that of keys is left to Spark, as there are "many"
    for at, task in enumerate(sent):
        (tmp_path / str(at)).write_bytes(task)
        done = subprocess.run(
            [sys.executable, "-I", "-c", ALONE, str(tmp_path / str(at))], capture_output=True, text=True, check=False
        )
        assert done.stdout == "1 2\n", done.stderr[-2000:]
