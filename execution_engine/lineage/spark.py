"""The lineage job on Spark: ``python -m execution_engine.lineage.spark FOLDER`` counts the parts of a graph's bits.

The folder holds ``graph.npz`` before, and ``reach.npz`` after. Each task has the edges, and the bits of one part.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import SparkSession

from assay.config import config
from execution_engine.engines.protocol import SparkOptions
from execution_engine.engines.spark.session import start_session, use_java

from . import reach
from .reach import Graph, Ints, Question, Reach

cloudpickle.register_pickle_by_value(reach)  # the Pythons of a cluster lack the project

ROUNDS = 4  # tasks for each core, as some parts take longer than others


def count_on_spark(session: SparkSession, question: Question) -> dict[int, Ints]:
    """As ``count_parts`` of all parts; each task adds up its own."""
    parts = question.parts
    cores = int(session.conf.get("spark.sql.leafNodeDefaultParallelism", None) or os.cpu_count() or 1)
    tasks = min(len(parts), ROUNDS * cores)

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        own_parts = [parts[at] for batch in batches for at in batch.column("id").to_pylist()]
        for members, counts in reach.count_parts(question, own_parts).items():
            yield pa.RecordBatch.from_pydict({"members": [members], "counts": [counts.tobytes()]})

    counts: dict[int, Ints] = {}
    frame = session.range(0, len(parts), 1, max(1, tasks)).mapInArrow(work, "members long, counts binary")
    for row in frame.toLocalIterator():
        counts[row.members] = counts.get(row.members, 0) + np.frombuffer(row.counts, np.int32)
    return counts


def trace_on_spark(graph: Graph) -> Reach:
    """As ``reach_of``, by the Spark that the settings name."""
    settings = config()
    if not settings.spark_remote:
        use_java()
    options = SparkOptions(
        master=settings.spark_master,
        remote=settings.spark_remote or None,
        conf=settings.spark_settings,
        memory=settings.spark_memory,
    )
    session = start_session(options)
    try:
        down, up = reach.questions(graph)
        return reach.reach_of(graph, down, up, count_on_spark(session, down), count_on_spark(session, up))
    finally:
        session.stop()


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    with np.load(folder / "graph.npz") as arrays:
        result = trace_on_spark(Graph(**arrays))
    np.savez(folder / "reach.npz", by_tier=result.by_tier, roots=result.roots, depths=result.depths)
