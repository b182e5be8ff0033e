"""Profiles gathered from Arrow: one pass over the columns of a batch, then work for its different values alone."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as of

from .column import WORKING, ColumnKind, ColumnProfile
from .distinct import DistinctSample
from .hashing import Floats, Ints, Keys, added_up, keys_of_numbers, keys_of_texts
from .letters import letters_of, shapes_of
from .numbers import gathered_numbers
from .profile import Profile, merged_profiles
from .texts import Texts
from .values import Labels, ValueCounts, counted

TOGETHER = 1 << 19  # rows, or
MOST_BYTES = 1 << 28  # bytes, that are profiled at once
LABEL_LENGTH = 64  # characters of a value that are kept

_SECONDS: Mapping[str, float] = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}


def gathered_profile(batches: Iterable[pa.RecordBatch], start: float | None = None) -> Profile:
    """The profile of all rows of the record batches (or tables).

    ``start``: seconds since 1970 from which dates and timestamps are counted, such as the start of the batch's window:
    then the days of a week are alike.
    """
    parts: list[Profile] = []
    waiting: list[pa.Table] = []
    rows = size = 0
    for batch in batches:
        table = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
        waiting.append(table)
        rows, size = rows + table.num_rows, size + table.nbytes
        if rows >= TOGETHER or size >= MOST_BYTES:
            parts.append(_profiled(waiting, start))
            waiting, rows, size = [], 0, 0
    if waiting:
        parts.append(_profiled(waiting, start))
    return merged_profiles(parts) if len(parts) != 1 else parts[0]


def column_profile(values: pa.Array | pa.ChunkedArray, start: float | None = None) -> ColumnProfile:
    """The profile of one column."""
    said = str(values.type)
    values = _plain(values)
    kind = kind_of(values.type)
    plain = ColumnProfile(type=said, kind=kind, rows=len(values), nulls=values.null_count)
    if kind in (ColumnKind.NESTED, ColumnKind.NOTHING):
        return plain
    pairs = _counted(values.drop_null())
    different, counts = pairs.field(0), pairs.field(1).to_numpy(zero_copy_only=False).astype(np.int64)
    if kind in (ColumnKind.TEXT, ColumnKind.BYTES):
        found = _of_texts(different, counts)
    else:
        found = _of_numbers(_as_numbers(different, kind, start), counts)
    return ColumnProfile(type=said, kind=kind, rows=len(values), nulls=values.null_count, **found)


def kind_of(type_: pa.DataType) -> ColumnKind:
    """What values of a type of Arrow's are to a profile."""
    if of.is_null(type_):
        return ColumnKind.NOTHING
    if of.is_boolean(type_):
        return ColumnKind.TRUTH
    if of.is_integer(type_) or of.is_floating(type_) or of.is_decimal(type_):
        return ColumnKind.NUMBER
    if of.is_temporal(type_) and not of.is_interval(type_):
        return ColumnKind.TIME
    if of.is_string(type_) or of.is_large_string(type_):
        return ColumnKind.TEXT
    if of.is_binary(type_) or of.is_large_binary(type_) or of.is_fixed_size_binary(type_):
        return ColumnKind.BYTES
    return ColumnKind.NESTED


def _profiled(tables: list[pa.Table], start: float | None) -> Profile:
    """Of tables that may differ in their columns, or have two of one name, of which the second is ``name (2)``."""
    if len({table.schema for table in map(_named, tables)}) > 1:
        return merged_profiles([_profiled([table], start) for table in tables])
    table = pa.concat_tables(map(_named, tables))
    columns = {name: column_profile(table.column(at), start) for at, name in enumerate(table.column_names)}
    return Profile(rows=table.num_rows, columns=columns, start=start)


def _named(table: pa.Table) -> pa.Table:
    names: list[str] = []
    for name in table.column_names:
        again = names.count(name)
        names.append(name if not again else f"{name} ({again + 1})")
    return table.rename_columns(names).replace_schema_metadata(None) if names else table


def _plain(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """One array, without dictionary, extension, run ends or views."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.ChunkedArray):  # without chunks, or too large for one array
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if of.is_dictionary(values.type):
        values = values.dictionary_decode()
    if of.is_run_end_encoded(values.type):
        values = pc.run_end_decode(values)
    if values.type in (pa.string_view(), pa.string()):
        return values.cast(pa.large_string())
    return values.cast(pa.large_binary()) if values.type == pa.binary_view() else values


def _counted(values: pa.Array) -> pa.StructArray:
    """The different values and how many rows have each."""
    if of.is_decimal(values.type) or of.is_floating(values.type):
        values = values.cast(pa.float64(), safe=False)
    return values.value_counts()


def _as_numbers(values: pa.Array, kind: ColumnKind, start: float | None) -> tuple[Keys, Floats, Any]:
    """Keys, numbers and labels."""
    type_ = values.type
    if kind is ColumnKind.NUMBER:
        exact = values.to_numpy(zero_copy_only=False)
        if exact.dtype == np.uint64 and (exact > np.iinfo(np.int64).max).any():
            exact = exact.astype(np.float64)
        return keys_of_numbers(exact), exact.astype(np.float64), exact
    if kind is ColumnKind.TRUTH:
        truths = values.to_numpy(zero_copy_only=False).astype(np.int64)
        return keys_of_numbers(truths), truths.astype(np.float64), truths.astype(np.bool_)
    whole = values.cast(pa.int32() if of.is_date32(type_) or of.is_time32(type_) else pa.int64()).to_numpy()
    unit = 1 / 86400 if of.is_date32(type_) else 1e3 if of.is_date64(type_) else _SECONDS[type_.unit]
    seconds = whole / unit
    if start is not None and (of.is_date(type_) or of.is_timestamp(type_)):
        seconds = seconds - start
    return keys_of_numbers(seconds), seconds, seconds


def _of_numbers(read: tuple[Keys, Floats, Any], counts: Ints) -> dict[str, Any]:
    keys, numbers, exact = read
    values, sample = _values_and_sample(keys, counts, lambda at: exact[at].tolist())
    return {"values": values, "sample": sample, "numbers": gathered_numbers(numbers, counts, WORKING.points)}


def _of_texts(different: pa.Array, counts: Ints) -> dict[str, Any]:
    raw = different.cast(pa.large_binary())
    lengths = pc.binary_length(raw)
    if of.is_large_string(different.type):
        with suppress(pa.ArrowInvalid):  # of what is no UTF-8 the bytes are counted
            lengths = pc.utf8_length(different)
    keys = keys_of_texts(raw.to_pylist(), len(raw))
    values, sample = _values_and_sample(keys, counts, lambda at: _labels(raw.take(pa.array(at))))
    shapes, rows = shapes_of(raw, counts)
    letters = letters_of(raw, counts)
    texts = Texts(
        lengths=gathered_numbers(lengths.to_numpy().astype(np.float64), counts, WORKING.lengths),
        shapes=counted(keys_of_texts(shapes, len(shapes)), rows, _objects(map(_text, shapes)), WORKING.shapes),
        pairs=letters.pairs,
        peculiarity=letters.peculiarity,
    )
    return {"values": values, "sample": sample, "texts": texts}


def _values_and_sample(
    keys: Keys, counts: Ints, labels: Callable[[Ints], list[Any]]
) -> tuple[ValueCounts, DistinctSample]:
    """The most frequent values, and the sample of all; ``labels`` gives the values at some places."""
    distinct, summed, at = added_up(keys, counts)
    places = np.empty(len(distinct), np.object_)
    places[:] = at
    kept = ValueCounts(keys=distinct, counts=summed, labels=places).capped(WORKING.values)
    shown = _objects(labels(kept.labels.astype(np.int64)))
    kept = replace(kept, labels=shown)
    return kept, DistinctSample(keys=distinct, counts=summed).capped(WORKING.sample)


def _labels(raw: pa.Array) -> list[str]:
    return [_text(each) for each in pc.binary_slice(raw, 0, 4 * LABEL_LENGTH).to_pylist()]


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")[:LABEL_LENGTH]


def _objects(values: Iterable[Any]) -> Labels:
    given = list(values)
    labels = np.empty(len(given), np.object_)
    labels[:] = given
    return labels
