"""Spark as an expert sets it up on this machine, the same for all who bring no session of their own."""

import os
import sys

from pyspark.sql import SparkSession

MEMORY = {"spark.driver.memory": "4g"}
STATIC = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR", **MEMORY}
SQL = {
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",  # a folder's date stays text, as elsewhere
}


def expert_session() -> SparkSession:
    """A session with Spark's own defaults but for eight shuffle partitions; beside another's, in the same JVM."""
    running = SparkSession.getActiveSession()
    if running is None:
        os.environ["PYSPARK_PYTHON"] = sys.executable
        return _started()
    session = running.newSession()
    session.conf.set("spark.sql.adaptive.enabled", "true")
    for name, value in SQL.items():
        session.conf.set(name, value)
    return session


def _started() -> SparkSession:
    builder: SparkSession.Builder = SparkSession.builder
    builder = builder.master("local[2]").appName("benchmark")
    for name, value in {**STATIC, **SQL}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
