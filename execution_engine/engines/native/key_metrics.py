"""Metrics of keys, whoever reads these: each step of a comparison is taken only where the one before differs (pure).

Their formats are in ``metrics.keys``; readers are ``local_scan`` and, of any rows, ``spark.keys``.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Protocol

import numpy as np

from execution_engine.engines.protocol import Measured, MeasurementRequest, failed
from execution_engine.engines.spec_check import check_columns
from execution_engine.metrics.definition import Keys
from execution_engine.metrics.definitions.bloom import BLOOM_FILTER, KEY_DIGEST, KEYS_FOUND, settled
from execution_engine.metrics.definitions.sample import (
    DEFAULT_SIZE,
    MAX_SIZE,
    SAMPLE,
    SAMPLE_FOUND,
    Sample,
    UnableToReadSample,
)
from execution_engine.metrics.keys.bits import Hashes
from execution_engine.metrics.keys.digest import Buckets, KeyDigest, compared
from execution_engine.metrics.keys.envelope import UnableToReadKeys
from execution_engine.metrics.keys.filter import KeyFilter, filter_of_hashes
from execution_engine.metrics.keys.filter_shape import (
    DEFAULT_ERROR_RATE,
    EXACT_KEYS,
    FilterShape,
    Format,
    Loss,
    UnableToShape,
    shape_for,
)
from execution_engine.metrics.keys.key_text import UnableToReadKey, decode, encode
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Reason

from .key_tasks import distinct

NAMED_KEYS = 20  # lost keys that a measurement names

NamedKey = dict[str, str | None]


@dataclass(frozen=True, kw_only=True)
class Pulled:
    """The sorted distinct hashes of some keys, and of how many rows they are."""

    hashes: Hashes
    rows: int


@dataclass(frozen=True, kw_only=True)
class MissedKeys:
    """Of so many distinct keys, how many a filter lacks, and the lowest of their hashes."""

    keys: int
    missed: int
    lowest: Hashes


class KeyReader(Protocol):
    """Reads the keys of the rows of one table: those of a metric's columns, on the rows that meet its condition."""

    @property
    def name(self) -> str:
        """The table's."""

    @property
    def columns(self) -> Collection[str]:
        """The table's."""

    def row_count(self) -> int:
        """All rows of the table."""

    def digest(self, item: MeasurementRequest) -> KeyDigest:
        """Of the distinct keys."""

    def built(
        self, item: MeasurementRequest, *, keys: int, counted: bool = False, buckets: Buckets | None = None
    ) -> KeyFilter:
        """The filter of so many keys at most, or just so many if they were counted; UnableToShape if too large."""

    def missed(self, item: MeasurementRequest, shipped: KeyFilter, own_keys: int | None) -> MissedKeys:
        """What the filter lacks of the keys in its buckets; ``own_keys``: how many these are, where it is known."""

    def texts(self, item: MeasurementRequest, hashes: Hashes) -> list[str]:
        """The texts of the keys that have one of these hashes, in order."""

    def lowest(self, item: MeasurementRequest, size: int) -> list[str]:
        """The texts of the keys whose texts have the lowest hashes, these first."""

    def there(self, columns: Sequence[str], texts: Sequence[str]) -> set[str]:
        """Which of the texts are those of keys of these columns."""


def take_digest(reader: KeyReader, item: MeasurementRequest) -> Measured:
    """The digest of the distinct keys as state; the value is their number, exactly."""
    taken = reader.digest(item)
    detail = {"rows": taken.rows, "keys": taken.keys, "fingerprint": taken.fingerprint}
    return Measured(value=float(taken.keys), state=taken.to_bytes(item.state_key), detail=detail)


Take = Callable[[KeyReader, MeasurementRequest], Measured]


def _refusing(take: Take) -> Take:
    @wraps(take)
    def taken(reader: KeyReader, item: MeasurementRequest) -> Measured:
        try:
            return take(reader, item)
        except KeyError as error:
            return failed(Reason.QUERY_FAILED, f"{item.spec.text} has no {error} to build on")
        except (UnableToReadKeys, UnableToShape, ValueError) as error:
            return failed(Reason.QUERY_FAILED, f"{item.spec.text} of {reader.name}: {error}")

    return taken


@_refusing
def build_filter(reader: KeyReader, item: MeasurementRequest) -> Measured:
    """A filter of the distinct keys as state; the value is their number."""
    sides = compared(item.inputs, item.spec.columns, item.state_key)
    if sides is not None and sides.equal:
        value, settled_detail = settled(sides.own.keys)
        return Measured(value=value, detail=settled_detail)
    if sides is None:
        made = reader.built(item, keys=reader.row_count())
    else:
        made = reader.built(item, keys=sides.own_keys, counted=True, buckets=sides.differing)
    detail = {
        "format": made.shape.format.value,
        "capacity": made.shape.capacity,
        "error_rate": made.shape.error_rate,
        "columns": list(item.spec.columns),
        "counted": made.counted,
        "buckets": None if made.buckets is None else len(made.buckets.numbers),
    }
    keys = made.keys if sides is None else sides.own.keys
    return Measured(value=float(keys), state=made.to_bytes(item.state_key), detail=detail)


@_refusing
def probe_filter(reader: KeyReader, item: MeasurementRequest) -> Measured:
    """How many distinct keys are in the shipped filter; the detail counts and names those that are not."""
    sides = compared(item.inputs, item.spec.columns, item.state_key)
    if sides is not None and sides.equal:
        value, settled_detail = settled(sides.own.keys)
        return Measured(value=value, detail=settled_detail)
    shipped = KeyFilter.from_bytes(item.inputs[BLOOM_FILTER.name], item.state_key)
    # a filter of other columns, or of fewer buckets than differ, would hide what is lost
    if shipped.columns != item.spec.columns:
        raise UnableToReadKeys(f"it was given a filter of {', '.join(shipped.columns)}")
    if shipped.buckets != (None if sides is None else sides.differing):
        raise UnableToReadKeys("the filter is not of the buckets in which the digests differ")
    probe = reader.missed(item, shipped, sides.own_keys if sides else None)
    loss = Loss(keys=probe.keys, missed=probe.missed, error_rate=shipped.error_rate)
    elsewhere = sides.own.keys - sides.own_keys if sides else 0  # in buckets that are equal
    few = probe.lowest[:NAMED_KEYS]
    detail = {
        "missing": loss.missed,
        "lost": named(reader.texts(item, few), item.spec.columns) if len(few) else [],
        "error_rate": loss.error_rate,
        "hidden": loss.hidden,
        "hidden_at_most": loss.hidden_at_most,
    }
    return Measured(value=float(elsewhere + loss.present_keys), detail=detail)


def take_sample(reader: KeyReader, item: MeasurementRequest) -> Measured:
    """A sample of the keys as state; the value is its size."""
    size = min(max(int(item.spec.option("n", DEFAULT_SIZE) or 0), 1), MAX_SIZE)
    try:
        sample = Sample(columns=item.spec.columns, keys=tuple(map(decode, reader.lowest(item, size))))
    except (UnableToReadKey, UnicodeDecodeError):  # of columns of bytes, which a sample writes down as texts
        detail = f"{item.spec.text}: a key in {reader.name} has bytes that are no UTF-8; sample another column, or take"
        return failed(Reason.INVALID, f"{detail} key_digest or bloom_filter of this one")
    return Measured(value=float(len(sample.keys)), state=sample.to_bytes())


def find_sample(reader: KeyReader, item: MeasurementRequest) -> Measured:
    """How many keys of the sample are among the rows; exact."""
    try:
        sample = Sample.from_bytes(item.inputs[SAMPLE.name])
    except (KeyError, UnableToReadSample) as error:
        return failed(Reason.QUERY_FAILED, f"{item.spec.text} has no sample to look for: {error}")
    columns = item.spec.columns or sample.columns  # in which the keys have other names than upstream, or the same
    unknown = check_columns(columns, tuple(reader.columns), reader.name)
    if unknown is not None:
        return Measured(failure=unknown)
    sample_keys = [encode(key) for key in sample.keys]
    there = reader.there(columns, sample_keys)
    lost = sorted(set(sample_keys) - there)
    detail = {"size": len(sample_keys), "missing": len(lost), "lost": named(lost[:NAMED_KEYS], columns)}
    return Measured(value=float(len(there)), detail=detail)


OF_KEYS: Mapping[str, Take] = {
    KEY_DIGEST.name: take_digest,
    BLOOM_FILTER.name: build_filter,
    KEYS_FOUND.name: probe_filter,
    SAMPLE.name: take_sample,
    SAMPLE_FOUND.name: find_sample,
}


def named(texts: Sequence[str], columns: Sequence[str]) -> list[NamedKey]:
    """Keys by column, from their texts."""
    return [dict(zip(columns, decode(text), strict=True)) for text in texts]


def pulled_of(parts: Sequence[tuple[bytes, int]]) -> Pulled:
    """From what tasks found of ``Distinct`` keys."""
    arrays = [np.frombuffer(part, dtype=np.uint64) for part, _ in parts]
    hashes = distinct(np.concatenate([np.empty(0, dtype=np.uint64), *arrays]))
    return Pulled(hashes=hashes, rows=sum(rows for _, rows in parts))


def shape_of(spec: MetricSpec, keys: int) -> FilterShape:
    """The shape of a filter of so many keys, by the options of the call; UnableToShape where there is none."""
    format_name, exact = spec.option("format"), spec.option("exact_keys")
    return shape_for(
        keys,
        format_=None if format_name is None else Format(str(format_name)),
        exact_keys=EXACT_KEYS if exact is None else int(exact),
        error_rate=float(spec.option("error_rate") or DEFAULT_ERROR_RATE),
    )


def filter_of_pulled(columns: Sequence[str], shape: FilterShape, pulled: Pulled, buckets: Buckets | None) -> KeyFilter:
    """The filter of keys that are all known, in the format of the shape."""
    exact = shape_for(len(pulled.hashes), format_=shape.format, error_rate=shape.error_rate)
    return filter_of_hashes(exact, columns, pulled.hashes, pulled.rows, buckets)


def missed_of_pulled(shipped: KeyFilter, own: Hashes) -> MissedKeys:
    """What a filter that is not pybloom_live's lacks of keys that are all known."""
    missing = own[~shipped.has(own)]
    return MissedKeys(keys=len(own), missed=len(missing), lowest=missing[:NAMED_KEYS])


def counted_by_filters(
    requests: Sequence[MeasurementRequest], measured: Mapping[str, Measured], is_full: Callable[[str], bool]
) -> dict[str, Measured]:
    """The distinct counts of keys that a digest was taken or a filter built of: that has counted them.

    ``is_full``: whether a column surely has no null. A digest takes a null for a value: with none, both counts are one.
    """

    def rows_of(item: MeasurementRequest) -> tuple[tuple[str, ...], str | None, tuple[str, ...]]:
        return item.spec.columns, item.spec.where, item.spec.by

    filters = {
        rows_of(item): measurement.value
        for item in requests
        if METRICS[item.spec.name].counts
        and (measurement := measured.get(item.key)) is not None
        and measurement.detail.get("counted", True)  # rather than estimated
    }

    def counts_keys(item: MeasurementRequest) -> bool:
        counts = METRICS[item.spec.name].counts
        return counts is Keys.ALL or (counts is not None and all(map(is_full, item.spec.columns)))

    return {
        item.key: Measured(value=value)
        for item in requests
        if item.key not in measured and counts_keys(item) and (value := filters.get(rows_of(item))) is not None
    }
