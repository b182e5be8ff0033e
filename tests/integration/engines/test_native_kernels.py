"""The kernels and Spark's own reading measure the same, and leave the same states behind."""

import os
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

from execution_engine.engines.native.local_scan import pieces_of
from execution_engine.engines.native.measure import Native
from execution_engine.engines.protocol import WHOLE, Measured, MeasurementRequest, Table, Unit
from execution_engine.engines.spark import kernels, scan
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.spark.kernels import taken_natively
from execution_engine.engines.spark.measures import gather
from execution_engine.metrics.spec import MetricSpec
from execution_engine.read_by import FallbackKind
from tests.integration.engines.alike import alike, magnitudes_in
from tests.integration.engines.drawn_files import columns, metrics, write_drawn
from tests.integration.engines.trips import metric
from tests.integration.storages import plain, stored, without_places
from tests.integration.verification.shapes_of_files import SHAPES, SPECS

pytestmark = pytest.mark.usefixtures("kernels_always_pay")

EXAMPLES = int(os.environ.get("ASSAY_NATIVE_EXAMPLES", "25"))  # of tables; each is asked some forty metrics
AT_ONCE = 40
MORE = (
    *(metric("pattern_match", "city", arguments=(pattern,)) for pattern in ("^r", "email", "integer", "[^r]$", "o.e")),
    *(
        metric("compliance", arguments=(text,))
        for text in ("city like 'r%'", "city like '_o%e'", "city not like '東_'", "kind rlike 'a|b'", "id < share")
    ),
    *(metric(name, "city", where="id > 0 and (fare > 1 or flag)") for name in ("uniqueness", "approx_count_distinct")),
    metric("correlation", "id", "fare"),
    metric("uniqueness", "city", "kind", "day"),
)


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> list[Native]:
    """What the kernels found, scan by scan; footers tell nothing, so that rows are read."""
    found: list[Native] = []

    def watched(*asked: Any, **needed: Any) -> Native:
        found.append(taken_natively(*asked, **needed))
        return found[-1]

    monkeypatch.setattr(scan, "taken_natively", watched)
    monkeypatch.setattr(kernels, "footer_values", lambda footers, asked: {})
    monkeypatch.setattr(gather, "footer_values", lambda footers, asked: {})
    return found


def both(engine: SparkEngine, table: Table, specs: Sequence[MetricSpec]) -> list[str]:
    """Where the two differ, by the texts of the metrics."""
    differing, magnitudes = [], magnitudes_in(plain(table).location)
    for at in range(0, len(specs), AT_ONCE):
        wanted = [MeasurementRequest(key=spec.text, spec=spec, keep_state=True) for spec in specs[at : at + AT_ONCE]]
        here, there = (_scanned(engine, table, wanted, native) for native in (True, False))
        differing += [
            f"{item.spec.text}: {here[item.key]} and {there[item.key]}"
            for item in wanted
            if not alike(item.spec, here[item.key], there[item.key], magnitudes)
        ]
    return differing


def _scanned(
    engine: SparkEngine, table: Table, wanted: Sequence[MeasurementRequest], native: bool
) -> dict[str, Measured]:
    options = engine._options
    engine._options = replace(options, native=native)
    try:
        return without_places(engine.scan(table if native else plain(table), WHOLE, wanted).measured)
    finally:
        engine._options = options


def in_folder(folder: Path) -> Table:
    return stored(Table(name="rides", storage="parquet", location=str(folder)))


@pytest.mark.timeout(900)
@given(data=st.data())
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_any_files_are_measured_alike_under_any_conditions(
    spark_engine: SparkEngine, left: list[Native], data: st.DataObject
) -> None:
    drawn = data.draw(columns())
    with TemporaryDirectory() as folder:
        write_drawn(data, drawn, Path(folder))
        assert both(spark_engine, in_folder(Path(folder)), metrics(data, drawn, AT_ONCE)) == []


@pytest.mark.timeout(900)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_files_of_every_shape_are_measured_alike(
    shape: Callable[[Path], None], spark_engine: SparkEngine, left: list[Native], tmp_path: Path
) -> None:
    shape(tmp_path)
    assert both(spark_engine, in_folder(tmp_path), list(dict.fromkeys((*SPECS, *MORE)))) == []


def test_most_of_what_is_asked_of_plain_files_is_native(
    spark_engine: SparkEngine, left: list[Native], tmp_path: Path
) -> None:
    pq.write_table(
        pa.table({"id": [1, 2, None], "city": ["rome", "oslo", None], "fare": [1.5, None, 2.0]}), tmp_path / "a"
    )
    specs = [
        *(metric(name, "fare") for name in ("min", "max", "sum", "mean", "stddev", "completeness")),
        *(metric(name, "city") for name in ("uniqueness", "approx_count_distinct", "max_length")),
        metric("compliance", arguments=("fare > 1 and city rlike '^r'",)),
    ]
    assert both(spark_engine, in_folder(tmp_path), specs) == []
    assert left[0].left == {}


@pytest.mark.parametrize("numbers", [[0.0, -0.0, -1.5], [-0.0, 0.0, 1.5], [-0.0, None, None]])
def test_zeros_of_both_signs_are_measured_as_one(
    spark_engine: SparkEngine, left: list[Native], tmp_path: Path, numbers: list[float | None]
) -> None:
    table = pa.table({"fare": numbers, "share": pa.array(numbers, pa.float32()), "id": [1, 2, 4]})
    pq.write_table(table, tmp_path / "a.parquet")
    specs = [metric(name, column) for name in ("min", "max", "sum", "stddev") for column in ("fare", "share")]
    assert both(spark_engine, in_folder(tmp_path), [*specs, metric("correlation", "fare", "id")]) == []
    assert left[0].left == {}


def test_sums_that_are_an_infinity_in_some_order_are_sparks(
    spark_engine: SparkEngine, left: list[Native], tmp_path: Path
) -> None:
    pq.write_table(pa.table({"fare": [1.7e308] * 9 + [-1.7e308] * 9}), tmp_path / "a.parquet")
    specs = [metric(name, "fare") for name in ("sum", "mean", "stddev")]
    assert both(spark_engine, in_folder(tmp_path), specs) == []
    assert {why.kind for why in left[0].left.values()} == {FallbackKind.ROWS}


@pytest.mark.parametrize(
    ("values", "spec"),
    [
        (pa.array([b"\xff", b"a"]).cast(pa.binary()), metric("compliance", arguments=("city rlike 'a'",))),
        (pa.array(["a\n", "b"]), metric("compliance", arguments=("city rlike 'a$'",))),
        (pa.array(["x" * 5_000, "b"]), metric("uniqueness", "city")),
    ],
    ids=["no UTF-8", "a line break at the end", "a long text"],
)
def test_what_the_rows_make_uncertain_is_left_to_spark(
    spark_engine: SparkEngine, left: list[Native], tmp_path: Path, values: pa.Array, spec: MetricSpec
) -> None:
    schema = pa.schema({"city": pa.string()})
    array = pa.StringArray.from_buffers(len(values), *values.buffers()[1:]) if values.type == pa.binary() else values
    pq.write_table(pa.table([array], schema=schema), tmp_path / "a.parquet")
    assert both(spark_engine, in_folder(tmp_path), [spec, metric("completeness", "city")]) == []
    assert [why.kind for why in left[0].left.values()] == [FallbackKind.ROWS]


@pytest.mark.parametrize(
    "other",
    [
        pa.table({"id": pa.array([1], pa.int32())}),
        pa.table({"ID": [1]}),
        pa.table({"id": pa.array([1.0])}),
        pa.table({"other": [1]}),
    ],
    ids=["a narrower type", "another name", "another kind", "without the column"],
)
def test_files_that_hold_a_column_otherwise_are_measured_as_spark_measures_them(
    spark_engine: SparkEngine, left: list[Native], tmp_path: Path, other: pa.Table
) -> None:
    pq.write_table(other, tmp_path / "a.parquet")
    pq.write_table(pa.table({"id": [1, 2]}), tmp_path / "b.parquet")
    specs = [metric("sum", "id"), metric("uniqueness", "id"), metric("row_count", where="id > 1")]
    assert both(spark_engine, in_folder(tmp_path), specs) == []


def test_a_file_that_is_cut_off_fails_as_spark_says(
    spark_engine: SparkEngine, left: list[Native], tmp_path: Path
) -> None:
    pq.write_table(pa.table({"id": list(range(50_000))}), tmp_path / "a.parquet")
    content = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(content[: len(content) // 2])
    assert both(spark_engine, in_folder(tmp_path), [metric("sum", "id")]) == []


def test_pages_that_are_damaged_fail_as_spark_says(
    spark_engine: SparkEngine, left: list[Native], tmp_path: Path
) -> None:
    pq.write_table(pa.table({"id": list(range(50_000))}), tmp_path / "a.parquet", use_dictionary=False)
    content = bytearray((tmp_path / "a.parquet").read_bytes())
    content[100:20_000] = bytes(19_900)
    (tmp_path / "a.parquet").write_bytes(content)
    assert both(spark_engine, in_folder(tmp_path), [metric("sum", "id")]) == []
    assert [why.why for why in left[0].left.values()] == ["a file cannot be read"]  # and not where it lies


def test_a_file_that_is_replaced_after_it_was_listed_is_read_by_spark(
    spark_engine: SparkEngine, left: list[Native], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pq.write_table(pa.table({"id": [1, 2]}), tmp_path / "a.parquet")

    def older(*of: Any) -> Any:
        for piece, rows in pieces_of(*of):
            yield replace(piece, mtime_ns=piece.mtime_ns - 1), rows

    monkeypatch.setattr(kernels, "pieces_of", older)
    wanted = [MeasurementRequest(key="sum", spec=metric("sum", "id"))]
    assert spark_engine.scan(in_folder(tmp_path), WHOLE, wanted).measured["sum"].value == 3
    (why,) = left[0].left.values()
    assert (why.kind, why.why) == (FallbackKind.FAILED, "a file was replaced while it was read")


def test_small_tables_that_share_a_job_are_measured_as_each_alone(spark_engine: SparkEngine, tmp_path: Path) -> None:
    specs = (metric("mean", "id"), metric("uniqueness", "id", "city"), metric("approx_count_distinct", "city"))
    units = []
    for at in range(30):
        (tmp_path / str(at)).mkdir()
        rows = {"id": list(range(at)), "city": [f"city {n % 7}" for n in range(at)]}
        schema = pa.schema({"id": pa.int64(), "city": pa.string()})
        pq.write_table(pa.table(rows, schema=schema), tmp_path / str(at) / "a.parquet")
        wanted = tuple(MeasurementRequest(key=spec.text, spec=spec, keep_state=True) for spec in specs)
        units.append(Unit(table=in_folder(tmp_path / str(at)), part=WHOLE, requests=wanted))
    together = spark_engine.scan_all(units)
    assert sum(report.spark_jobs for report in together) <= 1
    for unit, report in zip(units, together, strict=True):
        alone = _scanned(spark_engine, unit.table, unit.requests, native=False)
        assert [
            item.key for item in unit.requests if not alike(item.spec, alone[item.key], report.measured[item.key], {})
        ] == []


ALONE = """
import pickle, sys

class Blocked:
    def find_spec(self, name, *rest):
        if name.split(".")[0] in ("execution_engine", "assay", "sqlglot", "xxhash", "datasketches", "pandas"):
            raise ImportError(name)

sys.meta_path.insert(0, Blocked())
import pyarrow as pa
task = pickle.load(open(sys.argv[1], "rb"))
(batch,) = task(iter([pa.RecordBatch.from_pydict({"id": [0]})]))
print(batch.num_rows, batch.num_columns)
"""


def test_a_task_needs_nothing_but_numpy_and_pyarrow_where_it_runs(
    spark_engine: SparkEngine, left: list[Native], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pq.write_table(pa.table({"id": [1, 2, None], "city": ["rome", "oslo", None]}), tmp_path / "a.parquet")
    sent: list[bytes] = []
    task_of = kernels._task

    def kept(*arguments: Any) -> Any:
        task = task_of(*arguments)
        sent.append(cloudpickle.dumps(task))
        return task

    monkeypatch.setattr(kernels, "_task", kept)
    specs = [
        *(metric(name, "id") for name in ("mean", "stddev", "uniqueness", "approx_count_distinct")),
        *(metric(name, "city") for name in ("approx_count_distinct", "uniqueness")),
        metric("compliance", arguments=("city rlike '^r' and id > 0",)),
        *(replace(metric(name, "id"), by=("city",)) for name in ("mean", "min", "uniqueness")),
        metric("histogram", "city"),
    ]
    assert both(spark_engine, in_folder(tmp_path), specs) == []
    assert [left[0].left, *(found.left for found in left[0].groups)] == [{}] * 3
    (tmp_path / "task").write_bytes(sent[0])
    done = subprocess.run(
        [sys.executable, "-I", "-c", ALONE, str(tmp_path / "task")], capture_output=True, text=True, check=False
    )
    assert done.stdout == "1 2\n", done.stderr[-2000:]
