"""The files behind a frame that reads them as they are: what the kernels may read in its place."""

import os
from contextlib import suppress
from urllib.parse import unquote, urlsplit

from pyarrow.fs import LocalFileSystem
from pyspark.sql import DataFrame

from execution_engine.engines.files.listing import Listing, Root
from execution_engine.engines.spark.failures import SPARK_ERRORS
from execution_engine.engines.spark.jobs import is_connect

_RELATION = "LogicalRelation"
_PLAIN_OPTIONS = {"path", "paths", "__paths__"}
_UTC = {"UTC", "GMT", "Z", "ETC/UTC", "ETC/GMT", "+00:00"}


def files_behind(frame: DataFrame) -> Listing | None:
    """The parquet files of this machine whose rows are the frame's; None where the frame is anything else.

    None too where its session has another time zone than UTC, or tells columns apart by their case: conditions would
    mean something else there.
    """
    if is_connect(frame.sparkSession) or frame.storageLevel.useMemory or frame.storageLevel.useDisk:
        return None
    with suppress(*SPARK_ERRORS):
        if _is_plain(frame) and _is_usual(frame):
            return _listing(frame.inputFiles())
    return None


def _is_plain(frame: DataFrame) -> bool:
    """Whether it is a relation of parquet files without partitions, buckets or options."""
    plan = frame._jdf.queryExecution().analyzed()
    if plan.getClass().getSimpleName() != _RELATION or plan.isStreaming():
        return False
    relation = plan.relation()
    if relation.getClass().getSimpleName() != "HadoopFsRelation":
        return False
    keys = relation.options().keySet().mkString("\n").lower().split("\n")
    return bool(
        relation.fileFormat().getClass().getSimpleName() == "ParquetFileFormat"
        and relation.partitionSchema().isEmpty()
        and not relation.bucketSpec().isDefined()
        and _PLAIN_OPTIONS.issuperset(filter(None, keys))
    )


def _is_usual(frame: DataFrame) -> bool:
    conf = frame.sparkSession.conf
    zone, by_case = conf.get("spark.sql.session.timeZone"), conf.get("spark.sql.caseSensitive")
    return str(zone).upper() in _UTC and str(by_case).lower() == "false"


def _listing(urls: list[str]) -> Listing | None:
    paths = [unquote(urlsplit(url).path) for url in urls if urlsplit(url).scheme in ("", "file")]
    if not paths or len(paths) != len(urls):
        return None
    root = Root(filesystem=LocalFileSystem(), path=os.path.commonpath(map(os.path.dirname, paths)), prefix="file://")
    if any("=" in path[len(root.path) :] for path in paths):
        return None
    return Listing(root=root, files=tuple(root.filesystem.get_file_info(sorted(paths))))
