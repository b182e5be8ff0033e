"""The Spark that the engine's tests run on: ``ASSAY_TEST_SPARK`` is local (as it is without), cluster or connect."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deploy.local.programs import free_port
from execution_engine.engines.protocol import SparkOptions
from execution_engine.engines.spark.session import use_java
from tests.integration.engines.connect_client import start, stop
from tests.integration.kernels.cluster import cluster, of_a_driver

LOCAL, CLUSTER, CONNECT = SPARKS = ("local", "cluster", "connect")
CHOSEN = os.environ.get("ASSAY_TEST_SPARK", LOCAL)
MARKER = "only_on_spark"
EXECUTOR = "1g"  # of each of the two, as much as a local Spark has for all its tasks


@contextmanager
def chosen(folder: Path) -> Iterator[SparkOptions]:
    """How to start a session of the chosen Spark, whose servers run until the body has ended."""
    if CHOSEN == CLUSTER:
        use_java()
        with cluster(folder, cores=2, memory="2g") as running:  # for a session here, and one in a child
            yield SparkOptions(master=running.master, conf=of_a_driver(folder, EXECUTOR))
    elif CHOSEN == CONNECT:
        port = str(free_port())
        server = start(port)
        try:
            yield SparkOptions(remote=f"sc://127.0.0.1:{port}")
        finally:
            stop(server, port)
    else:
        yield SparkOptions(master="local[2]")


def leave_out(items: list[pytest.Item]) -> None:
    """Skip what is of another Spark, and say so; UsageError for a Spark that is none."""
    if CHOSEN not in SPARKS:
        raise pytest.UsageError(f"ASSAY_TEST_SPARK={CHOSEN} is none of {', '.join(SPARKS)}")
    for item in items:
        mark = item.get_closest_marker(MARKER)
        if mark is not None and CHOSEN not in mark.args:
            item.add_marker(pytest.mark.skip(reason=f"only on {' and '.join(mark.args)}: {mark.kwargs['why']}"))
