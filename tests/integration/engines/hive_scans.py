"""Run by tests in a process of its own, as Derby serves one Java: SQL in a Spark with a Hive metastore, then scans.

Takes the settings, the statements and the units, and gives the reports of each unit by kernels and by Spark alone, as
pickles on its standard input and output.
"""

import pickle
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

from execution_engine.engines.protocol import ScanReport, SparkOptions, Unit
from execution_engine.engines.spark.engine import SparkEngine

HIVE = {
    "spark.sql.catalogImplementation": "hive",
    "spark.hadoop.hive.exec.dynamic.partition.mode": "nonstrict",
    "spark.ui.enabled": "false",
}


def conf_in(folder: Path) -> dict[str, str]:
    """The settings of a Spark whose metastore and warehouse lie in a folder."""
    place = f"jdbc:derby:;databaseName={folder}/metastore;create=true"
    warehouse = {"spark.sql.warehouse.dir": f"file:{folder}/warehouse"}
    return {**HIVE, **warehouse, "spark.hadoop.javax.jdo.option.ConnectionURL": place}


def scans(
    conf: dict[str, str], statements: Sequence[str], units: Sequence[Unit]
) -> list[tuple[ScanReport, ScanReport]]:
    engine, alone = SparkEngine(SparkOptions(conf=conf)), SparkEngine(SparkOptions(conf=conf, native=False))
    for statement in statements:
        engine.session.sql(statement)
    both = ([reader.scan(unit.table, unit.part, unit.requests) for reader in (engine, alone)] for unit in units)
    return [(by_kernels, by_spark) for by_kernels, by_spark in both]


if __name__ == "__main__":
    with redirect_stdout(sys.stderr):
        reports = scans(*pickle.load(sys.stdin.buffer))
    sys.stdout.buffer.write(pickle.dumps(reports))
