"""Profiles in Spark: each task profiles the rows that it reads, and what they leave is merged.

Of a large table a sample of rows is profiled: Spark draws it as it reads, and Python sees no other row.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark import cloudpickle

import execution_engine.profiles
from execution_engine.engines.column_types import column
from execution_engine.engines.gathering import condition_of
from execution_engine.engines.native.profiles import measured_profile
from execution_engine.engines.protocol import Measured, MeasurementRequest
from execution_engine.engines.spark.failures import action
from execution_engine.engines.spark.keys.key_sql import spread_rows_of
from execution_engine.engines.spark.sources import SparkSource
from execution_engine.metrics.definitions.profile import profiled, start_of
from execution_engine.metrics.expressions import path_of
from execution_engine.profiles.gather import gathered_profile
from execution_engine.profiles.profile import TableProfile, merged_profiles
from execution_engine.profiles.stored import from_bytes, to_bytes

PART = "profile binary"
SAMPLED_ROWS = 1 << 19  # of a table that has more; a share is then known to about 0.07 %
NESTED = ("struct", "array", "map", "variant", "interval", "geo")  # whose values are counted, and not looked at

# Workers need numpy, pyarrow and xxhash, but not this package.
cloudpickle.register_pickle_by_value(execution_engine.profiles)


def take_profile(source: SparkSource, item: MeasurementRequest) -> Measured:
    """The number of rows, and the profile of their columns as state; one job."""
    start = start_of(item.spec)
    if source.rows == 0:
        return measured_profile(TableProfile(rows=0, start=start))
    where = condition_of(item.spec, source.write)
    whole = [path_of(name)[0] for name in source.columns if len(path_of(name)) == 1]
    types = {name.lower(): type_ for name, type_ in source.columns.items()}
    names = list(item.spec.columns) or [
        name for name in source.columns if len(path_of(name)) == 1 and path_of(name)[0] in profiled(item.spec, whole)
    ]
    written = {}  # as SQL; of nested ones only whether there is a value
    for name in names:
        sql, is_nested = column(name), types[name.lower()].startswith(NESTED)
        has_value = f"case when {sql} is not null then array(true) end"
        written[".".join(path_of(name))] = has_value if is_nested else sql
    selected = [f"{sql} as c{at}" for at, sql in enumerate(written.values())]  # no dots: Spark takes them for fields
    is_large = where is None and source.rows is not None and source.rows > SAMPLED_ROWS
    drawn_from = source.rows if is_large else None  # whose rows are sampled
    if drawn_from is not None:
        # true of about such a share of the rows, whatever is in them, and of the same rows in each scan of the same
        # files: every n-th row would be a bad sample of rows that come in turns, a block one of rows in order
        bound = round((2 * SAMPLED_ROWS / drawn_from - 1) * 2**63)
        where = f"xxhash64(monotonically_increasing_id()) < {bound}L"
    rows = spread_rows_of(source, where).selectExpr(*(selected or ["true as c"]))
    parts = action(rows.mapInArrow(_task(list(written), start), PART).collect, rows=source.rows)
    profiles = [from_bytes(bytes(part["profile"])) for part in parts]
    profile = merged_profiles(profiles) if profiles else TableProfile(rows=0, start=start)
    return measured_profile(replace(profile, drawn_from=drawn_from))


def _task(names: Sequence[str], start: float | None) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What one task does; made here, as workers would import a function of this module by its name."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        named = (batch.select(range(len(names))).rename_columns(names) for batch in batches)
        profile = gathered_profile(named, start)
        yield pa.RecordBatch.from_pydict({"profile": pa.array([to_bytes(profile)], pa.binary())})

    return work
