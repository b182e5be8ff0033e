"""Columns of every type that has a hash: nulls, extremes and random values, as parquet stores them."""

import random
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from execution_engine.engines.files.footers import spark_type_of
from execution_engine.engines.native.values import Values, values_of

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LETTERS = "abc xyz09éßØ東京🦉\0\n"
Draw = Callable[[random.Random], Any]


def _whole(bits: int, *, signed: bool = True) -> Draw:
    least, greatest = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return lambda draw: draw.choice([least, greatest, 0, 1, draw.randint(least, greatest)])


def _float(draw: random.Random) -> float:
    special = [0.0, -0.0, float("nan"), float("inf"), float("-inf"), 5e-324, 1.5]
    return draw.choice([*special, draw.gauss(0, 1e6), draw.gauss(0, 1)])


def _digits(most: int) -> Draw:
    """A decimal with two digits after the point."""
    return lambda draw: Decimal(draw.choice([1, -1]) * draw.randrange(10 ** draw.randint(1, most))).scaleb(-2)


def _text(longest: int) -> Draw:
    return lambda draw: "".join(draw.choices(LETTERS, k=draw.randint(0, longest)))


def _moment(draw: random.Random) -> datetime:
    return EPOCH + timedelta(microseconds=draw.randint(-(10**16), 10**17))


TYPES: dict[str, tuple[pa.DataType, Draw]] = {
    "truth": (pa.bool_(), lambda draw: draw.random() < 0.5),
    "tiny": (pa.int8(), _whole(8)),
    "small": (pa.int16(), _whole(16)),
    "whole": (pa.int32(), _whole(32)),
    "long": (pa.int64(), _whole(64)),
    "byte": (pa.uint8(), _whole(8, signed=False)),
    "word": (pa.uint16(), _whole(16, signed=False)),
    "count": (pa.uint32(), _whole(32, signed=False)),
    "single": (pa.float32(), _float),
    "double": (pa.float64(), _float),
    "price": (pa.decimal128(9, 2), _digits(9)),
    "sum": (pa.decimal128(18, 2), _digits(18)),
    "wide": (pa.decimal128(38, 2), _digits(38)),
    "huge": (pa.uint64(), _whole(64, signed=False)),
    "day": (pa.date32(), lambda draw: date(1, 1, 1) + timedelta(days=draw.randrange(3_650_000))),
    "at": (pa.timestamp("us", "UTC"), _moment),
    "local": (pa.timestamp("us"), lambda draw: _moment(draw).replace(tzinfo=None)),
    "name": (pa.string(), _text(40)),
    "said": (pa.large_string(), _text(120)),
    "city": (pa.string(), lambda draw: draw.choice(["", "Oslo", "Łódź", "東京"])),
    "raw": (pa.binary(), lambda draw: draw.randbytes(draw.randint(0, 300))),
}


def column_of(array: pa.Array) -> Values:
    """The array as the kernels take it."""
    return values_of(array, spark_type_of(array.type) or "")


def table_of(rows: int, *, seed: int, nulls: float = 0.1) -> pa.Table:
    """A table of ``rows`` with a column ``row`` that numbers them."""
    draw = random.Random(seed)
    columns = {
        name: pa.array([None if draw.random() < nulls else value(draw) for _ in range(rows)], type_)
        for name, (type_, value) in TYPES.items()
    }
    return pa.table({"row": pa.array(range(rows)), **columns})
