"""Inclusion dependencies: columns whose values all occur in a key of another dataset, as foreign keys do (pure).

What the smallest keys of both columns' values say is a candidate; each is confirmed in all rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from execution_engine.profiles.column import ColumnKind, ColumnProfile
from execution_engine.profiles.distinct import DistinctSample
from execution_engine.profiles.gather import column_profile
from execution_engine.profiles.report import may_be_key

LEAST_SHARE = 0.999  # of the rows, whose value is there
DOUBTFUL = 0.05  # of the sampled rows, which may miss theirs: what is confirmed is looked at more closely
FEWEST_VALUES = 3  # different ones, of a column whose name does not agree


@dataclass(frozen=True, kw_only=True)
class Key:
    """A column of another dataset that tells its rows apart, and all of its values."""

    dataset: str
    column: str
    profile: ColumnProfile
    values: pa.Array


@dataclass(frozen=True, kw_only=True)
class Inclusion:
    """``share`` of the rows that have a value in ``column`` have one that is in ``key``."""

    column: str
    key: Key
    share: float


def keys_of(dataset: str, rows: pa.Table) -> list[Key]:
    """The columns that others may refer to: texts or whole numbers, there in every row and different in each."""
    found = []
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        profile = column_profile(column) if _may_refer(column.type) else None
        if profile is not None and profile.rows > 1 and may_be_key(profile):
            values = pc.unique(_plain(column))
            if len(values) == profile.rows:
                found.append(Key(dataset=dataset, column=name, profile=profile, values=values))
    return found


def inclusions(rows: pa.Table, profiles: Mapping[str, ColumnProfile], keys: Sequence[Key]) -> Iterator[Inclusion]:
    """Which columns refer to which keys, for 99.9 % of their rows at least; by columns, in the order of the table.

    Small whole numbers are in any column of numbers, so of numbers, and of fewer than three texts, the names must agree
    too: ``customer_id`` with ``id`` of customers, or with ``customer_id``.
    """
    for name, profile in profiles.items():
        if name not in rows.column_names or not _may_refer(rows.schema.field(name).type) or not profile.present:
            continue
        for key in keys:
            is_candidate = _may_be_meant(name, profile, key) and may_be_included(profile.sample, key.profile.sample)
            if is_candidate and (share := share_included(rows.column(name), key.values)) >= LEAST_SHARE:
                yield Inclusion(column=name, key=key, share=share)


def may_be_included(sample: DistinctSample, of_key: DistinctSample) -> bool:
    """Whether nearly all sampled values of a column are in a key, as far as the key's own sample knows."""
    known = np.ones(len(sample.keys), np.bool_) if not of_key.is_cut else sample.keys <= of_key.keys[-1]
    missing = ~np.isin(sample.keys[known], of_key.keys)
    rows = sample.counts[known]
    return float(rows[missing].sum()) <= DOUBTFUL * float(rows.sum())


def share_included(column: pa.ChunkedArray, values: pa.Array) -> float:
    """The share of the rows with a value whose value is one of ``values``; 1 of no rows."""
    there = _plain(column).drop_null()
    return pc.mean(pc.is_in(there, value_set=values)).as_py() if len(there) else 1.0


def _may_be_meant(name: str, profile: ColumnProfile, key: Key) -> bool:
    if profile.kind is not key.profile.kind:
        return False
    is_telling = profile.kind is ColumnKind.TEXT and profile.distinct >= FEWEST_VALUES
    return is_telling or _agree(name, key)


def _agree(name: str, key: Key) -> bool:
    """``customer_id`` and ``id`` of customers, or ``customer_id`` anywhere; not ``id`` and ``id``."""
    own, column = _bare(name), _bare(key.column)
    dataset = _bare(key.dataset.rpartition(".")[2]).removesuffix("s")
    return (own == column and own != "id") or (bool(dataset) and own.startswith(dataset) and own.endswith(column))


def _bare(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def _may_refer(type_: pa.DataType) -> bool:
    type_ = type_.value_type if pa.types.is_dictionary(type_) else type_
    is_text = pa.types.is_string(type_) or pa.types.is_large_string(type_)
    return bool(is_text or (pa.types.is_integer(type_) and type_ != pa.uint64()))


def _plain(column: pa.ChunkedArray) -> pa.Array:
    """Texts or whole numbers in one type each."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    whole = column.cast(pa.int64() if pa.types.is_integer(column.type) else pa.large_string()).combine_chunks()
    return (
        whole
        if isinstance(whole, pa.Array)
        else pa.concat_arrays(whole.chunks)
        if whole.num_chunks
        else pa.array([], whole.type)
    )
