"""Profiles gathered from Arrow: one pass over the columns of a batch, then work for its different values alone."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as of

from .profile import WORKING, ColumnProfile, TableProfile, ValueKind, merged_profiles
from .texts import Texts, letters_of, shapes_of
from .values import (
    DistinctSample,
    Floats,
    Ints,
    Keys,
    Labels,
    ValueCounts,
    added_up,
    counted,
    gathered_numbers,
    joined_keys,
    keys_of_numbers,
    keys_of_texts,
    sampled,
)

TOGETHER = 1 << 19  # rows, or
MOST_BYTES = 1 << 28  # bytes, that are profiled at once
MOST_TEXTS = 1 << 15  # different texts whose letters are counted
LABEL_LENGTH = 64  # characters of a value that are kept

_SECONDS: Mapping[str, float] = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}


def gathered_profile(
    batches: Iterable[pa.RecordBatch | pa.Table], start: float | None = None, threads: int = 1
) -> TableProfile:
    """The profile of all rows of the record batches, or tables; columns are shared out among ``threads``.

    ``start``: seconds since 1970 from which dates and timestamps are counted, such as the start of the batch's window:
    then the days of a week are alike.
    """
    parts: list[TableProfile] = []
    waiting: list[pa.Table] = []
    rows = size = 0
    for batch in batches:
        table = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
        waiting.append(table)
        rows, size = rows + table.num_rows, size + table.nbytes
        if rows >= TOGETHER or size >= MOST_BYTES:
            parts.append(_profiled(waiting, start, threads))
            waiting, rows, size = [], 0, 0
    if waiting:
        parts.append(_profiled(waiting, start, threads))
    return parts[0] if len(parts) == 1 else merged_profiles(parts)


def column_profile(values: pa.Array | pa.ChunkedArray, start: float | None = None) -> ColumnProfile:
    """The profile of one column."""
    return read_column(values, start).profile


@dataclass(frozen=True, kw_only=True, eq=False)
class ReadColumn:
    """The profile of one column, and the key of the value in each row; 0 where it is null, or nested."""

    profile: ColumnProfile
    keys: Keys


def profile_of(columns: Mapping[str, ReadColumn], rows: int, start: float | None) -> TableProfile:
    """The profile of rows whose columns were read one by one."""
    joined = np.zeros(rows, np.uint64)
    for name, column in columns.items():
        joined += joined_keys(column.keys, name)
    profiles = {name: column.profile for name, column in columns.items()}
    return TableProfile(rows=rows, columns=profiles, sample=sampled(joined, WORKING.rows), start=start)


def read_column(values: pa.Array | pa.ChunkedArray, start: float | None = None) -> ReadColumn:
    """One column, with what makes it part of whole rows."""
    type_name = str(values.type)
    # one array, without dictionary, extension, run ends or views
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
        values = values.cast(pa.large_string())
    if values.type == pa.binary_view():
        values = values.cast(pa.large_binary())
    kind = kind_of(values.type)
    keys = np.zeros(len(values), np.uint64)
    plain = ColumnProfile(type=type_name, kind=kind, rows=len(values), nulls=values.null_count)
    if kind in (ValueKind.NESTED, ValueKind.NOTHING):
        return ReadColumn(profile=plain, keys=keys)
    there = values.drop_null()
    if kind in (ValueKind.TEXT, ValueKind.BYTES):
        fields, own = _of_texts(there)
    else:
        every = _exact(there, kind, start)
        exact, often = np.unique(every, return_counts=True)
        counts = often.astype(np.int64)
        label_values = exact.astype(np.bool_) if kind is ValueKind.TRUTH else exact
        most, sample = _values_and_sample(keys_of_numbers(exact), counts, lambda at: label_values[at].tolist())
        numbers = gathered_numbers(exact.astype(np.float64), counts, WORKING.points)
        fields, own = {"values": most, "sample": sample, "numbers": numbers}, keys_of_numbers(every)
    keys[values.is_valid().to_numpy(zero_copy_only=False) if plain.nulls else slice(None)] = own
    return ReadColumn(profile=replace(plain, **fields), keys=keys)


def kind_of(type_: pa.DataType) -> ValueKind:
    """What values of a type of Arrow's are to a profile."""
    kinds: tuple[tuple[ValueKind, bool], ...] = (
        (ValueKind.NOTHING, of.is_null(type_)),
        (ValueKind.TRUTH, of.is_boolean(type_)),
        (ValueKind.NUMBER, of.is_integer(type_) or of.is_floating(type_) or of.is_decimal(type_)),
        (ValueKind.TIME, of.is_temporal(type_) and not of.is_interval(type_)),
        (ValueKind.TEXT, of.is_string(type_) or of.is_large_string(type_)),
        (ValueKind.BYTES, of.is_binary(type_) or of.is_large_binary(type_) or of.is_fixed_size_binary(type_)),
    )
    return next((kind for kind, holds in kinds if holds), ValueKind.NESTED)


def _profiled(tables: list[pa.Table], start: float | None, threads: int) -> TableProfile:
    """Of tables that may differ in their columns, or have two of one name, of which the second is ``name (2)``."""
    if len({table.schema for table in map(_named, tables)}) > 1:
        return merged_profiles([_profiled([table], start, threads) for table in tables])
    table = pa.concat_tables(map(_named, tables))
    read = partial(read_column, start=start)
    with ThreadPoolExecutor(threads) as pool:
        columns = pool.map(read, table.columns) if threads > 1 else map(read, table.columns)
        return profile_of(dict(zip(table.column_names, columns, strict=True)), table.num_rows, start)


def _named(table: pa.Table) -> pa.Table:
    names: list[str] = []
    for name in table.column_names:
        again = names.count(name)
        names.append(name if not again else f"{name} ({again + 1})")
    return table.rename_columns(names).replace_schema_metadata(None) if names else table


def _exact(values: pa.Array, kind: ValueKind, start: float | None) -> npt.NDArray[Any]:
    type_ = values.type
    if kind is ValueKind.NUMBER:
        if of.is_decimal(type_) or of.is_floating(type_):
            values = values.cast(pa.float64(), safe=False)
        numbers: npt.NDArray[Any] = values.to_numpy(zero_copy_only=False)
        is_large = numbers.dtype == np.uint64 and (numbers > np.iinfo(np.int64).max).any()
        return numbers.astype(np.float64 if is_large or numbers.dtype == np.float64 else np.int64, copy=False)
    if kind is ValueKind.TRUTH:
        truths: Ints = values.cast(pa.int8()).to_numpy().astype(np.int64)
        return truths
    whole = values.cast(pa.int32() if of.is_date32(type_) or of.is_time32(type_) else pa.int64()).to_numpy()
    unit = 1 / 86400 if of.is_date32(type_) else 1e3 if of.is_date64(type_) else _SECONDS[type_.unit]
    seconds: Floats = whole / unit
    return seconds if start is None or not (of.is_date(type_) or of.is_timestamp(type_)) else seconds - start


def _of_texts(there: pa.Array) -> tuple[dict[str, Any], Keys]:
    encoded = there.dictionary_encode()
    different, places = encoded.dictionary, encoded.indices.to_numpy()
    counts = np.bincount(places, minlength=len(different))
    raw = different.cast(pa.large_binary())
    lengths = pc.binary_length(raw)
    if of.is_large_string(different.type):
        with suppress(pa.ArrowInvalid):  # of what is no UTF-8 the bytes are counted
            lengths = pc.utf8_length(different)
    keys = keys_of_texts(raw.to_pylist(), len(raw))

    def labels(at: Ints) -> list[str]:
        return [_text(text) for text in pc.binary_slice(raw.take(pa.array(at)), 0, 4 * LABEL_LENGTH).to_pylist()]

    values, sample = _values_and_sample(keys, counts, labels)
    shapes, rows = shapes_of(raw, counts)
    most = slice(None) if len(keys) <= MOST_TEXTS else np.argpartition(keys, MOST_TEXTS)[:MOST_TEXTS]  # smallest keys
    letters = letters_of(raw if len(keys) <= MOST_TEXTS else raw.take(pa.array(most)), counts[most])
    texts = Texts(
        lengths=gathered_numbers(lengths.to_numpy().astype(np.float64), counts, WORKING.lengths),
        shapes=counted(keys_of_texts(shapes, len(shapes)), rows, _objects(map(_text, shapes)), WORKING.shapes),
        pairs=letters.pairs,
        peculiarity=letters.peculiarity,
    )
    return {"values": values, "sample": sample, "texts": texts}, keys[places]


def _values_and_sample(
    keys: Keys, counts: Ints, labels: Callable[[Ints], list[Any]]
) -> tuple[ValueCounts, DistinctSample]:
    """The most frequent values, and the sample of all; ``labels`` gives the values at some places."""
    distinct, summed, at = added_up(keys, counts)
    places = np.empty(len(distinct), np.object_)
    places[:] = at
    frequent_values = ValueCounts(keys=distinct, counts=summed, labels=places).capped(WORKING.values)
    frequent_values = replace(frequent_values, labels=_objects(labels(frequent_values.labels.astype(np.int64))))
    return frequent_values, DistinctSample(keys=distinct, counts=summed).capped(WORKING.sample)


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")[:LABEL_LENGTH]


def _objects(values: Iterable[Any]) -> Labels:
    items = list(values)
    labels = np.empty(len(items), np.object_)
    labels[:] = items
    return labels
