"""Starting Spark: classic by a master URL, or Connect by a remote URL, with the same settings."""

import logging
import os
import socket
import sys
import warnings
from pathlib import Path
from urllib.parse import urlsplit

from pyspark.sql import SparkSession
from pyspark.sql.connect.client.retries import DefaultPolicy

from execution_engine.engines.limits import bytes_of

from .options import SparkOptions as SparkOptions

CONNECT_PORT = 15002  # Spark's default
CONNECT_SECONDS = 5
MAX_RETRIES = 2
LOGGING = Path(__file__).with_name("log4j2.properties")

SAFE = {  # user SQL reaches neither the JVM, the shell, files nor the environment
    "spark.sql.restrictedMode.enabled": "true",
    "spark.reflect.allowList": "(?!)",
    "spark.sql.runSQLOnFiles": "false",
    "spark.sql.variable.substitute": "false",
    "spark.sql.scripting.enabled": "false",
    "spark.udt.allowCreatingUDTFromString": "false",
    "spark.sql.ansi.enabled": "true",
    "spark.redaction.regex": "(?i)secret|passw|pwd|token|credential|(access|account|api)[._]?key",
    "spark.sql.redaction.options.regex": "(?i)url|secret|password|token|credential|key",
}
QUICK = {  # many small queries: no jobs but the query's own, no re-planning between its stages
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    "spark.sql.ui.retainedExecutions": "20",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.scheduler.mode": "FAIR",
    "spark.log.level": "ERROR",
}
CONSISTENT = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.legacy.parquet.nanosAsLong": "true",
}
LOCAL = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def start_session(options: SparkOptions) -> SparkSession:
    """A session with our settings; pyspark's errors if the master or the server cannot be reached."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else the workers take whatever python3 is on the PATH
    if options.is_local:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)  # it prints what we return as a failure
    if not options.is_local and options.remote:
        _check_reachable(options.remote)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a server refuses settings that only its own start can make
        session = _builder(options).getOrCreate()
    if options.remote:
        _retry_briefly(session)
    return session


def _check_reachable(remote: str) -> None:
    """ConnectionError if nobody listens; the client itself would go on trying for ten minutes."""
    address = urlsplit(remote.split(";", 1)[0])
    try:
        socket.create_connection(
            (address.hostname or "localhost", address.port or CONNECT_PORT), CONNECT_SECONDS
        ).close()
    except OSError as error:
        raise ConnectionError(f"no Spark Connect server answers at {address.netloc}: {error}") from error


def _retry_briefly(session: SparkSession) -> None:
    """A lost server is told within seconds; when to try again is not for the client to say."""
    session.client.set_retry_policies([DefaultPolicy(max_retries=MAX_RETRIES, max_backoff=2000)])


def _builder(options: SparkOptions) -> SparkSession.Builder:
    builder: SparkSession.Builder = SparkSession.builder
    builder = builder.remote(options.remote) if options.remote else builder.master(options.master)
    for name, value in settings_of(options).items():
        builder = builder.config(name, value)
    return builder.appName("assay")


def settings_of(options: SparkOptions) -> dict[str, str]:
    """All settings that a session is started with."""
    ours = {**SAFE, **QUICK, **CONSISTENT, **(LOCAL if options.is_local else {}), **_bounds(options)}
    return {**ours, **_java_options(options), **options.conf}


def _bounds(options: SparkOptions) -> dict[str, str]:
    """Of memory: a result may take half of what there is."""
    if not options.memory:
        return {}
    half = bytes_of(options.memory) // 2
    return {"spark.driver.memory": options.memory, "spark.driver.maxResultSize": f"{half}b"}


def _java_options(options: SparkOptions) -> dict[str, str]:
    quiet = f"-Dlog4j2.configurationFile={LOGGING.as_uri()}" if options.is_local or options.java_options else ""
    given = " ".join(part for part in (quiet, options.java_options) if part)
    return {"spark.driver.extraJavaOptions": given} if given else {}
