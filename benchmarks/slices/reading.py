"""What it costs to look for a slice in files, and what each scan would cost that kept the cells beforehand.

``python -m benchmarks.slices.reading``: 15 windows of a million rows and 12 columns, in parquet. CPU is of this
process and all below it: Spark, its Python workers and Java.
"""

import argparse
import tempfile
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from execution_engine.attribution import Measure
from execution_engine.engines.protocol import Engine, Limits, MeasurementRequest, Part, SparkOptions, Table
from execution_engine.engines.registry import engine_for
from execution_engine.metrics.spec import MetricSpec
from execution_engine.slices.reading import explain_part
from execution_engine.slices.rules import Subject

from ..engine.meter import metered

VALUES = (3, 5, 8, 12, 20, 40, 50, 5000)  # of the columns of texts
NUMBERS = 4
DAYS = 15
ROWS = MetricSpec(name="row_count")


def day(rows: int, seed: int, *, is_broken: bool) -> pa.Table:
    """A day's rows; in a broken one most of a value of ``s2`` are gone."""
    rng = np.random.default_rng(seed)
    columns = {
        f"s{at}": pa.array([f"value {value}" for value in range(count)]).take(pa.array(rng.integers(0, count, rows)))
        for at, count in enumerate(VALUES)
    }
    for at in range(NUMBERS):
        columns[f"n{at}"] = pa.array(rng.normal(10, 3, rows), mask=rng.random(rows) < 0.02)
    table = pa.table(columns)
    if not is_broken:
        return table
    return table.filter(pa.array((np.array(table["s2"]) != "value 1") | (rng.random(rows) > 0.6)))


def cells_of_a_scan(engine: Engine, table: Table, part: Part) -> tuple[int, float]:
    """The bytes of the groups of all singles and pairs of columns with few values, and the CPU seconds they take."""
    few = [f"s{at}" for at, count in enumerate(VALUES) if count <= 50]
    sets = [*((name,) for name in few), *combinations(few, 2)]
    requests = [
        MeasurementRequest(key=str(at), spec=MetricSpec(name="row_count", by=by), keep_state=True)
        for at, by in enumerate(sets)
    ]
    report, cost = metered(lambda: engine.scan(table, part, requests))
    return sum(len(result.state or b"") for result in report.measured.values()), cost.cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        keys = [f"2026-01-{number:02d}" for number in range(1, DAYS + 1)]
        for number, key in enumerate(keys):
            place = Path(folder) / f"ds={key}"
            place.mkdir()
            pq.write_table(day(rows, number, is_broken=key == keys[-1]), place / "part-0.parquet")
        engine = engine_for("parquet", SparkOptions(), Limits())
        table = Table(name="t", storage="parquet", location=folder, partition_column="ds")
        *past, part = (Part(keys=(key,)) for key in keys)
        engine.scan(table, part, [MeasurementRequest(key="warm", spec=MetricSpec(name="row_count", by=("s0",)))])
        for name, subject in {
            "rows": Subject(measure=Measure.ROWS, spec=ROWS),
            "share": Subject(measure=Measure.SHARE, spec=MetricSpec(name="completeness", columns=("n0",))),
            "mean": Subject(measure=Measure.MEAN, spec=MetricSpec(name="mean", columns=("n0",))),
        }.items():
            explanation, cost = metered(lambda subject=subject: explain_part(engine, table, part, past, subject))  # type: ignore[misc]
            print(f"{name}: {cost.cpu:.1f} s of CPU, {cost.wall:.1f} s; {explanation.sentence}")
        size, seconds = cells_of_a_scan(engine, table, part)
        print(f"kept by each scan instead, singles and pairs of rows alone: {seconds:.2f} s of CPU, {size:,} bytes")
        engine.close()


if __name__ == "__main__":
    main()
