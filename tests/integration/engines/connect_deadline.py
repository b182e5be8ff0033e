"""``python connect_deadline.py ROOT PORT``: a scan by Connect that passes its deadline, and the one behind it."""

import sys
import time
from pathlib import Path

import pyarrow as pa

from execution_engine.engines.protocol import WHOLE, Limits, MeasurementRequest, SparkOptions
from execution_engine.engines.registry import engine_for
from execution_engine.engines.spark.engine import SparkEngine
from tests.integration.engines.connect_client import start, stop
from tests.integration.engines.trips import measure_one, metric, parquet, write

DEADLINE = 6  # the server is warm; what passes it keeps all cores busy until then
JOINED = "select count(*) from t a join t b on a.half = b.half where a.id < b.id + 7"
LARGEST = MeasurementRequest(key="n", spec=metric("max", "id"))


def main(root: str, port: str) -> None:
    table = parquet(Path(root))
    write(
        Path(root) / "datestr=2013-01-01",
        pa.table({"id": list(range(400_000)), "half": [id_ % 2 for id_ in range(400_000)]}),
    )
    server = start(port)
    options = SparkOptions(remote=f"sc://127.0.0.1:{port}")
    warming = SparkEngine(options)  # without a deadline, as the first query of a server takes its time
    measure_one(warming, table, LARGEST)
    engine = engine_for("parquet", options, Limits(deadline_seconds=DEADLINE))
    started = time.monotonic()
    slow = MeasurementRequest(key="q", spec=metric("query", arguments=(JOINED,)), tables={"t": table})
    late = engine.scan(table, WHOLE, [slow]).measured["q"]
    print(late.failure and late.failure.reason, time.monotonic() - started < DEADLINE + 10)
    print(measure_one(engine, table, LARGEST).value, flush=True)
    stop(server, port)


if __name__ == "__main__":
    main(*sys.argv[1:])
