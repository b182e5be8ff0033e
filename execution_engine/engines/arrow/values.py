"""Values of one column or expression over all rows, as arrays that compare, sort and group as Spark does."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from execution_engine.engines.gathering.keyed_rows import Flags as Flags
from execution_engine.exact import Number

Numbers = npt.NDArray[Any]
MOST_DIGITS = 38  # of Spark's decimals
_SIGN = np.int64(2**63 - 1)


class UnableToTell(Exception):
    """What is asked is not surely the same by Arrow as by Spark; Spark must answer it."""


class ArrowKind(StrEnum):
    """What values are; only those of one kind compare, or exact ones with doubles."""

    TRUTH = "truth"
    EXACT = "exact"  # whole numbers and decimals
    DOUBLE = "double"
    TEXT = "text"
    BYTES = "bytes"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIMESTAMP_NTZ = "timestamp_ntz"


@dataclass(frozen=True, kw_only=True, eq=False)
class Values:
    """One value for each row, or one for all of them.

    ``numbers`` are truths, floats, days, microseconds, places in ``dictionary``, or multiples of 10 to the power of
    ``-scale`` with ``digits`` in all: int64, or Python's own where these are too short. Under a null they mean nothing.
    """

    kind: ArrowKind
    numbers: Numbers
    null: Flags
    digits: int = 0
    scale: int = 0
    is_decimal: bool = False
    dictionary: pa.Array | tuple[str, ...] = ()

    @property
    def texts(self) -> Sequence[Any]:
        """The different texts; UnableToTell where one is no text."""
        try:
            return self.dictionary if isinstance(self.dictionary, tuple) else self.dictionary.to_pylist()
        except UnicodeDecodeError:
            raise UnableToTell("a text is no UTF-8") from None

    def doubles(self) -> npt.NDArray[np.float64]:
        """The numbers as doubles, each the nearest; UnableToTell of what is no number."""
        if self.kind is ArrowKind.DOUBLE:
            return self.numbers
        if self.kind is not ArrowKind.EXACT:
            raise UnableToTell(f"{self.kind} is no number")
        if self.scale == 0:
            return self.numbers.astype(np.float64)
        unit = 10**self.scale  # a quotient of Python's whole numbers is the nearest double
        return np.array([number / unit for number in self.numbers.tolist()], dtype=np.float64)

    def exact(self, number: int) -> Number:
        """One of the numbers, or a sum of them, as Spark returns it."""
        return Decimal(f"{number}E{-self.scale}") if self.is_decimal else number

    def ordered(self) -> Numbers:
        """Whole numbers that are alike, less and greater as the values are, within the column.

        Of texts they are in no order. -0.0 is 0.0, and NaN one value, the greatest.
        """
        return in_order(self.numbers) if self.kind is ArrowKind.DOUBLE else self.numbers


def in_order(doubles: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Whole numbers in Spark's order of doubles."""
    bits = np.where(np.isnan(doubles), np.nan, doubles + 0.0).view(np.int64)
    ordered: npt.NDArray[np.int64] = np.where(bits < 0, bits ^ _SIGN, bits)
    return ordered


def together(first: Values, second: Values) -> tuple[Numbers, Numbers]:
    """Whole numbers of both that compare as the values do; UnableToTell where Spark would have to cast."""
    if ArrowKind.DOUBLE in (first.kind, second.kind):
        return in_order(first.doubles()), in_order(second.doubles())
    if first.kind is not second.kind:
        raise UnableToTell(f"{first.kind} is not compared with {second.kind}")
    if first.kind is ArrowKind.EXACT:
        return _of_one_scale(first, second)
    if first.kind in (ArrowKind.TEXT, ArrowKind.BYTES):
        texts = first.texts, second.texts
        rank = {text: at for at, text in enumerate(sorted({*texts[0], *texts[1]}))}
        return _ranks(first, texts[0], rank), _ranks(second, texts[1], rank)
    return first.numbers, second.numbers


def _ranks(values: Values, texts: Sequence[Any], rank: Mapping[Any, int]) -> Numbers:
    ranks: Numbers = np.array([rank[text] for text in texts], dtype=np.int64)[values.numbers]
    return ranks


def _of_one_scale(first: Values, second: Values) -> tuple[Numbers, Numbers]:
    """Exactly, where Spark has a decimal wide enough for both."""
    scale = max(first.scale, second.scale)
    if scale and max(first.digits - first.scale, second.digits - second.scale) + scale > MOST_DIGITS:
        raise UnableToTell("no decimal of Spark's holds both")
    return _scaled(first, scale), _scaled(second, scale)


def _scaled(values: Values, scale: int) -> Numbers:
    if scale == values.scale:
        return values.numbers
    numbers: Numbers = values.numbers.astype(object) * 10 ** (scale - values.scale)
    return numbers
