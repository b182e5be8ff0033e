"""``python connect_store_client.py LOCATION PORT``: by whom a Connect server has a folder in a store read, as JSON."""

import json
import sys

from execution_engine.engines.protocol import WHOLE, MeasurementRequest, SparkOptions, Table
from execution_engine.engines.spark.engine import SparkEngine
from tests.integration.engines.trips import metric


def main(location: str, port: str) -> None:
    engine = SparkEngine(SparkOptions(remote=f"sc://127.0.0.1:{port}"))
    spec = metric("row_count", where="number > 0.5")
    table = Table(name="numbers", storage="parquet", location=location)
    report = engine.scan(table, WHOLE, [MeasurementRequest(key="rows", spec=spec)])
    print(json.dumps({"rows": report.measured["rows"].value, **report.read_by.to_json()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
