"""An engine for tests of the child that hosts it: it runs what a guard would refuse."""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from functools import cached_property

import pandas as pd
from pyspark.sql import SparkSession

from execution_engine.engines.protocol import Measured, MeasurementRequest, Part, ScanReport, SparkOptions, Table, Unit
from execution_engine.engines.spark.failures import SPARK_ERRORS, failure_of
from execution_engine.engines.spark.session import start_session, use_java
from execution_engine.metrics.spec import MetricSpec

HOSTED = f"{__name__}:RawSpark"
NOWHERE = Table(name="nowhere", storage="parquet", location="/nowhere")


def raw(text: str) -> MeasurementRequest:
    """Runs ``text``: SQL as it is, or one of the words below."""
    return MeasurementRequest(key=text, spec=MetricSpec(name="query", arguments=(text,)))


class RawSpark:
    """SQL as it is, and Python in the driver and in Spark's workers."""

    def __init__(self, options: SparkOptions) -> None:
        self._options = options

    @cached_property
    def session(self) -> SparkSession:
        use_java()
        session = start_session(self._options)
        session.sql("select 42").collect()  # the first query takes seconds, which are no part of a test's deadline
        return session

    def close(self) -> None:
        self.session.stop()

    def scan(self, table: Table, part: Part, requests: Sequence[MeasurementRequest]) -> ScanReport:
        measured = {item.key: self._run(str(item.spec.arguments[0])) for item in requests}
        return ScanReport(measured=measured, spark_jobs=0, seconds=0, fingerprint=None)

    def scan_all(self, units: Sequence[Unit]) -> tuple[ScanReport, ...]:
        return tuple(self.scan(unit.table, unit.part, unit.requests) for unit in units)

    def _run(self, text: str) -> Measured:
        word, _, number = text.partition(" ")
        try:
            if word == "sleep":
                time.sleep(float(number))
            elif word == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            elif word == "allocate":
                return Measured(value=float(len(_allocate(int(number)))))
            elif word == "worker":
                return Measured(value=float(self._sleep_in_a_worker(float(number))))
            else:
                return Measured(value=float(self.session.sql(text).collect()[0][0]))
        except SPARK_ERRORS as error:
            return Measured(failure=failure_of(error, "raw"))
        return Measured(value=0.0)

    def _sleep_in_a_worker(self, seconds: float) -> int:
        def sleep(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
            for frame in frames:
                time.sleep(seconds)
                yield frame

        return self.session.range(2).mapInPandas(sleep, "id bigint").count()


def _allocate(size: int) -> list[bytes]:
    held = []
    for _ in range(size // 2**26):
        held.append(b"x" * 2**26)
        time.sleep(0.05)
    return held
