"""When two measurements are the same but for the last digits of floats, which were added up in another order.

Only a sum, a mean, a deviation and a correlation of doubles may differ, by ``NEAR`` of the sum of the magnitudes that
were added up. All else, and every state but for these numbers in it, is the same byte for byte: NaN is NaN, and -0.0 is
not 0.0.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from math import hypot, isnan, nan, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow.types import is_floating

from execution_engine.engines.protocol import Measured
from execution_engine.metrics.expressions import written
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.states import from_bytes

NEAR = 1e-9  # of the sum of the magnitudes of what was added up
LEAST = 2.0**-1022  # doubles below it have lost digits
SUM = "sum"  # a statistic by this name


def magnitudes_in(location: str) -> dict[str, float]:
    """The sum of the magnitudes of each column of floats in all files of a folder, by its name in lower case."""
    found: dict[str, float] = {}
    for path in Path(location).rglob("*"):
        with suppress(pa.ArrowException, OSError), np.errstate(over="ignore"):  # a folder, or no parquet
            table = pq.ParquetFile(path).read()
            for name, column in _floats(table):
                sum_ = float(np.nansum(np.abs(column.cast(pa.float64()).to_numpy())))
                found[name.lower()] = found.get(name.lower(), 0.0) + sum_
    return found


def _floats(table: pa.Table) -> Iterator[tuple[str, pa.ChunkedArray]]:
    """The columns of floats, and such fields of structs, as assertions write them."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        inner = column.type if pa.types.is_struct(column.type) else ()
        fields = [(written(name, part.name), pc.struct_field(column, [part.name])) for part in inner]
        yield from ((path, array) for path, array in [(written(name), column), *fields] if is_floating(array.type))


def alike(spec: MetricSpec, one: Measured, other: Measured, magnitudes: Mapping[str, float]) -> bool:
    """The same but for the last digits of floats; of a sum of floats ``magnitudes`` tell what digits these are."""
    size = magnitudes.get(spec.columns[0].lower(), 0.0) if spec.columns else 0.0
    if one.detail != other.detail or one.failure != other.failure:
        return False
    if one.state == other.state and _is_same(one.value, other.value):
        return True
    first, second = _statistics(spec, one), _statistics(spec, other)
    if one.state != other.state and not _are_alike(first, second, size):
        return False
    return _is_same(one.value, other.value) or _is_near_value(spec, one, other, first, size)


def _statistics(spec: MetricSpec, measured: Measured) -> dict[str, Any]:
    return dict(from_bytes(spec, measured.state).statistics or {}) if measured.state else {}


def _are_alike(first: Mapping[str, Any], second: Mapping[str, Any], size: float) -> bool:
    """Statistics of states that are not the same bytes."""
    return bool(first) and first.keys() == second.keys() and all(_near(n, first[n], second[n], size) for n in first)


def _near(name: str, one: Any, other: Any, size: float) -> bool:
    if _is_same(one, other):
        return True
    if name == SUM and isinstance(one, float) and isinstance(other, float):
        return _within(one, other, NEAR * size)
    if not isinstance(one, tuple) or not isinstance(other, tuple) or len(one) != len(other) or one[0] != other[0]:
        return False
    slacks = _slacks(one)
    return all(_within(a, b, slack) for a, b, slack in zip(one[1:], other[1:], slacks, strict=True))


def _slacks(moments: tuple[float, ...]) -> tuple[float, ...]:
    """How far each of the moments, or of the moments of pairs, but their count may be off."""
    count = moments[0]
    if len(moments) == 3:
        size = _size(*moments)
        return NEAR * size, NEAR * count * size * size
    x, y = _size(count, moments[1], moments[3]), _size(count, moments[2], moments[4])
    return NEAR * x, NEAR * y, NEAR * count * x * x, NEAR * count * y * y, NEAR * count * x * y


def _size(count: float, mean: float, off: float) -> float:
    """How large numbers are, given their mean and the sum of their squared deviations: their root mean square."""
    return hypot(mean, sqrt(off / count))


def _within(one: float, other: float, slack: float) -> bool:
    return one == other or (isnan(one) and isnan(other)) or abs(one - other) <= slack + LEAST


def _is_same(one: Any, other: Any) -> bool:
    """To the last bit, and of one type; one NaN is as good as another."""
    return type(one) is type(other) and repr(one) == repr(other)


def _is_near_value(spec: MetricSpec, one: Measured, other: Measured, state: Mapping[str, Any], size: float) -> bool:
    if not isinstance(one.value, float) or not isinstance(other.value, float):
        return False
    match spec.name:
        case "sum":
            return _within(one.value, other.value, NEAR * size)
        case "mean":
            return _within(one.value, other.value, NEAR * size / max(1, state.get("count", 1)))
        case "stddev" if state:
            count, mean, off = next(iter(state.values()))
            return abs(one.value**2 - other.value**2) <= NEAR * _size(count, mean, off) ** 2
        case "correlation" if state:
            return _within(one.value, other.value, _of_correlation(next(iter(state.values()))))
    return False


def _of_correlation(pairs: tuple[float, ...]) -> float:
    """How far it may be off, given how far what it is computed from may be: to the first order."""
    *_, xx, yy, _xy = pairs
    *_, x_off, y_off, xy_off = _slacks(pairs)
    return xy_off / sqrt(xx * yy) + (x_off / xx + y_off / yy) / 2 if xx > 0 and yy > 0 else nan
