"""Profiles in Spark: each task profiles the rows that it reads, and what they leave is merged."""

from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa
from pyspark import cloudpickle

import execution_engine.profiles
from execution_engine.engines.arrow.profiles import measured_profile
from execution_engine.engines.columns.spark_sql import column
from execution_engine.engines.protocol import Measured, Wanted
from execution_engine.engines.spark.jobs import action
from execution_engine.engines.spark.keys.key_sql import spread_rows_of
from execution_engine.engines.spark.sources.source import SparkSource
from execution_engine.metrics.columns import path_of
from execution_engine.metrics.definitions.profile import profiled, start_of
from execution_engine.metrics.spec import MetricSpec
from execution_engine.profiles.gather import gathered_profile
from execution_engine.profiles.profile import Profile, merged_profiles
from execution_engine.profiles.stored import from_bytes, to_bytes

PART = "profile binary"
NESTED = ("struct", "array", "map", "variant", "interval", "geo")  # whose values are counted, and not looked at

# Workers need numpy, pyarrow and xxhash, but not this package.
cloudpickle.register_pickle_by_value(execution_engine.profiles)


def take_profile(source: SparkSource, item: Wanted) -> Measured:
    """The number of rows, and the profile of their columns as state; one job."""
    start = start_of(item.spec)
    if source.rows == 0:
        return measured_profile(Profile(rows=0, start=start))
    where = None if item.spec.where is None else source.write.condition(item.spec.where)
    written = _written(source, item.spec)
    selected = [f"{sql} as c{at}" for at, sql in enumerate(written.values())]  # no dots: Spark takes them for fields
    rows = spread_rows_of(source, where).selectExpr(*(selected or ["true as c"]))
    task = partial(_profiled, names=list(written), start=start)
    parts = action(rows.mapInArrow(task, PART).collect, rows=source.rows)
    profiles = [from_bytes(bytes(part["profile"])) for part in parts]
    return measured_profile(merged_profiles(profiles) if profiles else Profile(rows=0, start=start))


def _written(source: SparkSource, spec: MetricSpec) -> dict[str, str]:
    """The columns by name as SQL; of nested ones only whether there is a value."""
    whole = [path_of(name)[0] for name in source.columns if len(path_of(name)) == 1]
    types = {name.lower(): type_ for name, type_ in source.columns.items()}
    names = list(spec.columns) or [name for name in source.columns if path_of(name)[0] in profiled(spec, whole)]
    paths = {name: path_of(name) for name in names if spec.columns or len(path_of(name)) == 1}
    return {".".join(path): _as_told(column(name), types[name.lower()]) for name, path in paths.items()}


def _as_told(sql: str, type_: str) -> str:
    return f"case when {sql} is not null then array(true) end" if type_.startswith(NESTED) else sql


def _profiled(batches: Iterator[pa.RecordBatch], names: Sequence[str], start: float | None) -> Iterator[pa.RecordBatch]:
    """What one task leaves."""
    named = (batch.select(range(len(names))).rename_columns(names) for batch in batches)
    profile = gathered_profile(named, start)
    yield pa.RecordBatch.from_pydict({"profile": pa.array([to_bytes(profile)], pa.binary())})
