"""``python cluster_client.py ROOT MASTER``: scans on a cluster whose Pythons lack the project, and says what it saw.

Each line is JSON: what kernels and Spark differ in, then for each ``scanning`` what a scan of slow tasks gave.
"""

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from execution_engine.engines.native import measure
from execution_engine.engines.protocol import WHOLE, MeasurementRequest, SparkOptions
from execution_engine.engines.spark import kernels, scan
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.spark.measures import gather
from execution_engine.engines.spark.session import use_java
from tests.integration.engines.test_native_kernels import MORE, both, in_folder
from tests.integration.engines.trips import metric
from tests.integration.kernels.cluster import of_a_driver
from tests.integration.verification.shapes_of_files import SPECS, many_groups

FILES, ROWS, SECONDS = 4, 20_000, 1.0
ASKED = (
    *(metric(name, "id") for name in ("sum", "mean", "uniqueness", "approx_count_distinct")),
    *(metric(name, "city") for name in ("completeness", "uniqueness", "approx_count_distinct")),
    metric("compliance", arguments=("city rlike '^c[0-4]' and id > 10",)),
)
_taken, _task, _tasks = kernels.taken_natively, kernels._task, measure.tasks
_scan, _gather, _kernels, _measure = (vars(module) for module in (scan, gather, kernels, measure))
left: list[list[str]] = []


def started(root: Path, master: str) -> SparkEngine:
    """Spark with executors of one core, whose Pythons have little but numpy and pyarrow."""
    use_java()
    conf = {"spark.driver.memory": "512m", **of_a_driver(root, "512m", "xxhash")}
    return SparkEngine(SparkOptions(master=master, conf=conf))


def watch() -> None:
    """Footers tell nothing, the kernels take all that they can, and what they leave is kept."""

    def watched(*asked: Any, **needed: Any) -> measure.Native:
        found = _taken(*asked, **needed)
        left.append(sorted(each.why for each in found.left.values()))
        return found

    _kernels["comes_along"] = lambda *_: False
    _scan["taken_natively"] = watched
    _kernels["footer_values"] = _gather["footer_values"] = lambda footers, asked: {}


def slow(folder: Path) -> None:
    """A task for each file, which leaves a sign that it has begun, and takes its time."""

    def slowly(*arguments: Any) -> Any:
        work = _task(*arguments)

        def late(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            (folder / str(time.time_ns())).touch()
            time.sleep(SECONDS)
            yield from work(batches)

        return late

    _measure["TASK_ROWS"] = ROWS
    _kernels["tasks"] = lambda pieces, rows, most: _tasks(pieces, rows)
    _kernels["_task"] = slowly


def write_slow(folder: Path) -> None:
    """Files of which each is a task."""
    folder.mkdir()
    for at in range(FILES):
        numbers = range(at * ROWS, (at + 1) * ROWS)
        cities = [None if number % 7 == 0 else f"c{number % 1000}" for number in numbers]
        pq.write_table(pa.table({"id": pa.array(numbers), "city": cities}), folder / f"{at}.parquet")


def main(root: Path, master: str) -> None:
    watch()
    engine = started(root, master)
    (root / "groups").mkdir()
    many_groups(root / "groups")
    print(json.dumps(both(engine, in_folder(root / "groups"), [*SPECS[::3], *MORE])), flush=True)
    write_slow(root / "slow")
    wanted = [MeasurementRequest(key=spec.text, spec=spec) for spec in ASKED]
    for lost in ("nothing", "executor", "worker"):
        (root / lost).mkdir()
        slow(root / lost)
        print(f"scanning {lost}", flush=True)
        left.clear()
        measured = engine.scan(in_folder(root / "slow"), WHOLE, wanted).measured
        told = {key: found.value if found.failure is None else str(found.failure) for key, found in measured.items()}
        print(json.dumps({"told": told, "left": left}), flush=True)
    engine.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
