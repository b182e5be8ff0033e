"""The state of a metric over one part of a table: what merges into its value over any union of parts.

An envelope of magic, version, checksum and a JSON header, then the binary parts one after another. A state of another
version, of another metric or with a wrong checksum is refused, and its part measured again.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from math import isfinite, isnan
from struct import calcsize, error, pack, unpack_from
from typing import Any

import numpy as np
from datasketches import kll_doubles_sketch
from xxhash import xxh3_128

from execution_engine.exact import Number, total
from execution_engine.metrics.spec import MetricSpec

from . import frequencies, hll
from .frequencies import Frequencies
from .statistics import KLL_SIZE, Gather, Statistic, Value

# How the statistics of two parts of a table make those of their union, without data (seed 000, section 3.2).


def merge(statistic: Statistic, values: Sequence[Value]) -> Value:
    """The statistic of the union of disjoint parts."""
    known = [value for value in values if value is not None]
    if statistic.gather is Gather.COUNT:
        return sum(known)
    if not known:
        return None
    return known[0] if len(known) == 1 else _MERGES[statistic.gather](known)


def _least(values: Sequence[Number]) -> Number:
    """NaN is greater than any number, as in Spark's order."""
    return min(values, key=lambda value: (isnan(value), value))


def _greatest(values: Sequence[Number]) -> Number:
    return max(values, key=lambda value: (isnan(value), value))


def _merged_moments(values: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    """By Chan, Golub and LeVeque's pairwise update, which does not cancel as sums of squares do."""
    count, mean, squares = values[0]
    for other, other_mean, other_squares in values[1:]:
        total = count + other
        delta = other_mean - mean
        mean = _merged_mean(mean, other_mean, other / total)
        squares += other_squares + delta * delta * count * other / total
        count = total
    return count, mean, squares


def _merged_comoments(values: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    count, x, y, xx, yy, xy = values[0]
    for other, other_x, other_y, other_xx, other_yy, other_xy in values[1:]:
        total = count + other
        dx, dy, weight = other_x - x, other_y - y, count * other / total
        xx, yy, xy = (
            xx + other_xx + dx * dx * weight,
            yy + other_yy + dy * dy * weight,
            xy + other_xy + dx * dy * weight,
        )
        x, y = _merged_mean(x, other_x, other / total), _merged_mean(y, other_y, other / total)
        count = total
    return count, x, y, xx, yy, xy


def _merged_mean(mean: float, other: float, share: float) -> float:
    """Where either is infinite, it stays so: their difference would be no number."""
    return mean + (other - mean) * share if isfinite(other - mean) else mean + other


def merged_hll(sketches: Sequence[bytes]) -> bytes:
    """The sketch of the union."""
    return hll.merged([hll.from_bytes(sketch) for sketch in sketches]).to_bytes()


def _merged_kll(sketches: Sequence[bytes]) -> bytes:
    union = kll_doubles_sketch(KLL_SIZE)
    for sketch in sketches:
        union.merge(kll_doubles_sketch.deserialize(sketch))
    written: bytes = union.serialize()
    return written


_MERGES: Mapping[Gather, Callable[[Sequence[Any]], Value]] = {
    Gather.SUM: total,
    Gather.LONG_SUM: total,
    Gather.MIN: _least,
    Gather.MAX: _greatest,
    Gather.MOMENTS: _merged_moments,
    Gather.COMOMENTS: _merged_comoments,
    Gather.HLL: merged_hll,
    Gather.KLL: _merged_kll,
    Gather.KEYS: np.concatenate,
}


MAGIC = b"ASSAYSTA"
VERSION = 3
_PREFIX = "<8sHI16s"  # magic, version, length of the header, XXH3 of all behind


class UnableToReadState(ValueError):
    """The bytes are no state of this version and metric; the part must be measured again."""


@dataclass(frozen=True, kw_only=True, eq=False)
class State:
    """Either the statistics of an aggregate or a sketch by name, or the frequencies of each grouping."""

    statistics: dict[str, Value] | None = None
    groupings: tuple[Frequencies, ...] = ()

    def to_bytes(self, spec: MetricSpec) -> bytes:
        """The envelope."""
        blobs: list[bytes | memoryview] = []
        said = {name: _written(value, blobs) for name, value in (self.statistics or {}).items()}
        for each in self.groupings:
            blobs += [np.ascontiguousarray(array, "<i8").view(np.uint8).data for array in frequencies.arrays(each)]
        header = {
            "metric": spec.text,
            "statistics": said if self.statistics is not None else None,
            "groupings": len(self.groupings),
            "lengths": [len(blob) for blob in blobs],
        }
        told = json.dumps(header).encode()
        told += b" " * (-(calcsize(_PREFIX) + len(told)) % 8)  # so that arrays of words lie on words
        return b"".join([pack(_PREFIX, MAGIC, VERSION, len(told), _checksum(told, *blobs)), told, *blobs])


def from_bytes(spec: MetricSpec, state: bytes | memoryview) -> State:
    """The state of ``spec`` that ``to_bytes`` wrote; UnableToReadState for anything else."""
    content = memoryview(state)
    try:
        magic, version, length, digest = unpack_from(_PREFIX, content)
    except error as cause:
        raise UnableToReadState("the state is cut off; measure the part again") from cause
    if magic != MAGIC or version != VERSION:
        raise UnableToReadState(f"the state is not of version {VERSION}; measure the part again")
    content = content[calcsize(_PREFIX) :]
    if _checksum(content) != digest:
        raise UnableToReadState("the state is damaged: its checksum differs; measure the part again")
    header = json.loads(bytes(content[:length]))
    if header["metric"] != spec.text:
        raise UnableToReadState(f"the state is of {header['metric']:.200}, not of {spec.text:.200}")
    return _read(header, _split(content[length:], header["lengths"]))


def merged(statistics: dict[str, Statistic] | None, states: Sequence[State]) -> State:
    """The state over the union of disjoint parts; ``statistics`` are the metric's, None of a grouping."""
    if statistics is None:
        columns = zip(*(state.groupings for state in states), strict=True)
        return State(groupings=tuple(frequencies.merged(parts) for parts in columns))
    return State(
        statistics={
            name: merge(statistic, [(state.statistics or {})[name] for state in states])
            for name, statistic in statistics.items()
        }
    )


def _checksum(*parts: bytes | memoryview) -> bytes:
    digest = xxh3_128()
    for part in parts:
        digest.update(part)
    return digest.digest()


def _written(value: Value, blobs: list[bytes | memoryview]) -> Any:
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if not isinstance(value, bytes):
        return value
    blobs.append(value)
    return {"blob": len(blobs) - 1}


def _split(content: memoryview, lengths: Sequence[int]) -> list[memoryview]:
    ends = np.cumsum([0, *lengths]).tolist()
    return [content[start:end] for start, end in pairwise(ends)]


def _read(header: dict[str, Any], blobs: list[memoryview]) -> State:
    if header["statistics"] is not None:
        return State(statistics={name: _value(said, blobs) for name, said in header["statistics"].items()})
    arrays = [np.frombuffer(blob, "<i8") for blob in blobs]
    return State(groupings=tuple(frequencies.from_arrays(arrays[at : at + 6]) for at in range(0, len(arrays), 6)))


def _value(said: Any, blobs: list[memoryview]) -> Value:
    if isinstance(said, dict):
        return Decimal(said["decimal"]) if "decimal" in said else bytes(blobs[said["blob"]])
    return tuple(said) if isinstance(said, list) else said
