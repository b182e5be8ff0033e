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
from xxhash import xxh3_128

from execution_engine.exact import Number, total
from execution_engine.metrics.spec import MetricSpec

from . import frequencies, hll
from .frequencies import Frequencies
from .statistics import KLL_SIZE, Gather, Statistic, Value

# How the statistics of two parts of a table make those of their union, without data (seed 000, section 3.2).


def merge(statistic: Statistic, values: Sequence[Value]) -> Value:
    """The statistic of the union of disjoint parts."""
    present = [value for value in values if value is not None]
    if statistic.gather is Gather.COUNT:
        return sum(present)
    if not present:
        return None
    return present[0] if len(present) == 1 else _MERGES[statistic.gather](present)


def _nan_last(value: Number) -> tuple[bool, Number]:
    """NaN is greater than any number, as in Spark's order."""
    return isnan(value), value


def _merged_moments(values: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    """By Chan, Golub and LeVeque's pairwise update, which does not cancel as sums of squares do."""
    count, mean, squares = values[0]
    for part_count, part_mean, part_squares in values[1:]:
        total_count = count + part_count
        delta = part_mean - mean
        mean = _merged_mean(mean, part_mean, part_count / total_count)
        squares += part_squares + delta * delta * count * part_count / total_count
        count = total_count
    return count, mean, squares


def _merged_comoments(values: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    count, x, y, xx, yy, xy = values[0]
    for part_count, part_x, part_y, part_xx, part_yy, part_xy in values[1:]:
        total_count = count + part_count
        dx, dy, weight, share = part_x - x, part_y - y, count * part_count / total_count, part_count / total_count
        xx, yy, xy = xx + part_xx + dx * dx * weight, yy + part_yy + dy * dy * weight, xy + part_xy + dx * dy * weight
        x, y = _merged_mean(x, part_x, share), _merged_mean(y, part_y, share)
        count = total_count
    return count, x, y, xx, yy, xy


def _merged_mean(mean: float, other: float, share: float) -> float:
    """Where either is infinite, it stays so: their difference would be no number."""
    return mean + (other - mean) * share if isfinite(other - mean) else mean + other


def merged_hll(sketches: Sequence[bytes]) -> bytes:
    """The sketch of the union."""
    return hll.merged([hll.from_bytes(sketch) for sketch in sketches]).to_bytes()


def _merged_kll(sketches: Sequence[bytes]) -> bytes:
    from datasketches import kll_doubles_sketch  # for what has quantiles alone

    union = kll_doubles_sketch(KLL_SIZE)
    for sketch in sketches:
        union.merge(kll_doubles_sketch.deserialize(sketch))
    return union.serialize()  # type: ignore[no-any-return]


_MERGES: Mapping[Gather, Callable[[Sequence[Any]], Value]] = {
    Gather.SUM: total,
    Gather.LONG_SUM: total,
    Gather.MIN: lambda values: min(values, key=_nan_last),
    Gather.MAX: lambda values: max(values, key=_nan_last),
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
class MetricState:
    """Either the statistics of an aggregate or a sketch by name, or the frequencies of each grouping."""

    statistics: dict[str, Value] | None = None
    groupings: tuple[Frequencies, ...] = ()

    def to_bytes(self, spec: MetricSpec) -> bytes:
        """The envelope."""
        blobs: list[bytes | memoryview] = []
        statistics: dict[str, Any] = {}
        for name, value in (self.statistics or {}).items():
            statistics[name] = value
            if isinstance(value, Decimal):
                statistics[name] = {"decimal": str(value)}
            elif isinstance(value, bytes):
                statistics[name] = {"blob": len(blobs)}
                blobs.append(value)
        for grouping in self.groupings:
            blobs += [np.ascontiguousarray(array, "<i8").view(np.uint8).data for array in frequencies.arrays(grouping)]
        header = json.dumps(
            {
                "metric": spec.text,
                "statistics": statistics if self.statistics is not None else None,
                "groupings": len(self.groupings),
                "lengths": [len(blob) for blob in blobs],
            }
        ).encode()
        header += b" " * (-(calcsize(_PREFIX) + len(header)) % 8)  # so that arrays of words lie on words
        return b"".join([pack(_PREFIX, MAGIC, VERSION, len(header), _checksum(header, *blobs)), header, *blobs])


def from_bytes(spec: MetricSpec, state: bytes | memoryview) -> MetricState:
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
    ends = np.cumsum([length, *header["lengths"]]).tolist()
    blobs = [content[start:end] for start, end in pairwise(ends)]
    if header["statistics"] is not None:
        statistics: dict[str, Value] = {}
        for name, value in header["statistics"].items():
            match value:
                case {"decimal": digits}:
                    statistics[name] = Decimal(digits)
                case {"blob": at}:
                    statistics[name] = bytes(blobs[at])
                case _:
                    statistics[name] = tuple(value) if isinstance(value, list) else value
        return MetricState(statistics=statistics)
    arrays = [np.frombuffer(blob, "<i8") for blob in blobs]
    return MetricState(groupings=tuple(frequencies.from_arrays(arrays[at : at + 6]) for at in range(0, len(arrays), 6)))


def merged(statistics: dict[str, Statistic] | None, states: Sequence[MetricState]) -> MetricState:
    """The state over the union of disjoint parts; ``statistics`` are the metric's, None of a grouping."""
    if statistics is None:
        columns = zip(*(state.groupings for state in states), strict=True)
        return MetricState(groupings=tuple(frequencies.merged(parts) for parts in columns))
    return MetricState(
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
