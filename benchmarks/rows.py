"""What it costs to write the rows that broke a test: ``python -m benchmarks.rows`` (1 M rows), or with ``--full`` 10 M.

A table of six columns, 1 % of its rows bad, is scanned as a test does it, and then read once more for its bad rows, in
seconds of one core, best of three. To scan, and then to read all columns, is what no writer of rows can do without.
"""

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from execution_engine.engines.native.local_scan import report_without_spark
from execution_engine.engines.native.rows import write_without_spark
from execution_engine.engines.protocol import WHOLE, MeasurementRequest, RowsRequest, Table
from execution_engine.metrics.spec import MetricSpec

QUICK, FULL = 1_000_000, 10_000_000
FILE_ROWS = 1_000_000
RULES = {
    "completeness": MetricSpec(name="completeness", columns=("city",)),
    "range": MetricSpec(name="in_range", columns=("fare",), arguments=(0, 100)),
    "condition": MetricSpec(name="compliance", arguments=("fare <= 100 and city <> ''",)),
    "pattern": MetricSpec(name="pattern_match", columns=("code",), arguments=("^[0-9]{8}$",)),
    "uniqueness": MetricSpec(name="uniqueness", columns=("id",)),
}
ALL = "all five"


def main() -> None:
    """Print a line for each rule: the scan, the rows, and how many times the scan both together take."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="10 M rows in place of 1 M")
    rows = FULL if parser.parse_args().full else QUICK
    with tempfile.TemporaryDirectory() as place:
        table = _write_table(Path(place) / "table", rows)
        reading, _ = _best(lambda: _read(table))
        print(f"{rows:,} rows, 1 % bad; all columns are read in {reading:.2f} s")
        print("rule            scan s   rows s   rows/(scan + reading)   bad rows")
        for name, specs in {**{name: (spec,) for name, spec in RULES.items()}, ALL: tuple(RULES.values())}.items():
            scan, _ = _best(partial(_scan, table, specs))
            seconds, bad = _best(partial(_write, table, specs))
            print(f"{name:14} {scan:7.2f} {seconds:8.2f} {seconds / (scan + reading):23.2f} {bad:10,}")


def _write_table(folder: Path, rows: int) -> Table:
    folder.mkdir()
    random = np.random.default_rng(7)
    for start in range(0, rows, FILE_ROWS):
        bad = random.random(FILE_ROWS) < 0.01
        ids = np.arange(start, start + FILE_ROWS)
        ids[1:][bad[1:]] = ids[:-1][bad[1:]]
        cities = np.array(["rome", "oslo", "sea", "lima"])[random.integers(0, 4, FILE_ROWS)]
        columns = {
            "id": ids,
            "city": pa.array(cities, mask=bad),
            "fare": np.where(bad, 500.0, random.random(FILE_ROWS) * 100),
            "code": [f"{value:08d}" if sound else "?" for value, sound in zip(ids, ~bad, strict=True)],
            "note": [f"ride {value} by {value % 977}" for value in ids],
            "riders": random.integers(1, 6, FILE_ROWS),
        }
        pq.write_table(pa.table(columns), folder / f"{start:09d}.parquet", row_group_size=131_072)
    return Table(name="rides", storage="parquet", location=str(folder))


def _best(call: Callable[[], int]) -> tuple[float, int]:
    seconds, result = [], 0
    for _ in range(3):
        began = monotonic()
        result = call()
        seconds.append(monotonic() - began)
    return min(seconds), result


def _read(table: Table) -> int:
    """Read all columns of the table and keep none."""
    rows = 0
    for path in sorted(Path(table.location).iterdir()):
        with pq.ParquetFile(path) as parquet:
            rows += sum(batch.num_rows for batch in parquet.iter_batches(131_072, use_threads=False))
    return rows


def _scan(table: Table, specs: tuple[MetricSpec, ...]) -> int:
    """A scan as a test's own run asks for it, and its row count with it; file by file, as one task keeps few rows."""
    every = (MetricSpec(name="row_count"), *specs)
    requests = [MeasurementRequest(key=str(at), spec=spec) for at, spec in enumerate(every)]
    for path in sorted(Path(table.location).iterdir()):
        report = report_without_spark(replace(table, location=str(path)), requests, most_bytes=1 << 40)
        assert report is not None
    return 0


def _write(table: Table, specs: tuple[MetricSpec, ...]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        written = write_without_spark(table, WHOLE, RowsRequest(specs=specs, bad=folder, constants={"assay_run": "1"}))
        assert written is not None
        return written.bad


if __name__ == "__main__":
    main()
