"""One column, or an expression, over the rows of a batch: arrays that compare, sort and add up as in Spark."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .language import UnableToTell

Flags = npt.NDArray[np.bool_]
Numbers = npt.NDArray[Any]
Doubles = npt.NDArray[np.float64]
LONG_DIGITS = 18  # of a decimal that fits into 64 bits
MOST_DIGITS = 38  # of Spark's decimals
EXACT_DOUBLES = 2**53  # whole numbers up to here are doubles
_EXACT_TENS = 22  # powers of ten up to here are doubles
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}


class Family(StrEnum):
    """What values are; only those of one family compare, or exact ones with doubles."""

    TRUTH = "truth"
    EXACT = "exact"  # whole numbers and decimals
    DOUBLE = "double"
    TEXT = "text"
    BYTES = "bytes"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIMESTAMP_NTZ = "timestamp_ntz"


_FAMILIES = {
    "boolean": Family.TRUTH,
    "float": Family.DOUBLE,
    "double": Family.DOUBLE,
    "string": Family.TEXT,
    "binary": Family.BYTES,
    "date": Family.DATE,
    "timestamp": Family.TIMESTAMP,
    "timestamp_ntz": Family.TIMESTAMP_NTZ,
    **dict.fromkeys(_DIGITS, Family.EXACT),
}


def family_of(type_: str) -> Family | None:
    """Of values of a type of Spark's; None of one that is Spark's alone to read."""
    return Family.EXACT if type_.startswith("decimal(") else _FAMILIES.get(type_)


@dataclass(frozen=True, kw_only=True, eq=False)
class Values:
    """One value for each row of a batch.

    ``numbers``: truths, doubles, days, microseconds, or whole numbers that are multiples of 10 to the power of
    ``-scale``, with ``digits`` in all: Python's own where 64 bits are too short. Of texts and bytes there are none but
    the ``array``. Under a null they mean nothing. ``null``: the rows without a value; None where there are none.
    """

    family: Family
    array: pa.Array
    numbers: Numbers | None = None
    null: Flags | None = None
    digits: int = 0
    scale: int = 0
    is_decimal: bool = False

    @property
    def whole(self) -> Numbers:
        """The numbers; UnableToTell of texts."""
        if self.numbers is None:
            raise UnableToTell(f"{self.family} is no number")
        return self.numbers

    def doubles(self) -> Doubles:
        """The numbers as doubles, each the nearest; UnableToTell of what is no number."""
        if self.family is Family.DOUBLE:
            return self.whole
        if self.family is not Family.EXACT:
            raise UnableToTell(f"{self.family} is no number")
        numbers = self.whole
        if self.scale == 0:
            return numbers.astype(np.float64)
        if numbers.dtype != object and self.scale <= _EXACT_TENS and not np.any(np.abs(numbers) > EXACT_DOUBLES):
            return numbers / np.float64(10**self.scale)  # of two doubles that are exact, the nearest to their quotient
        unit = 10**self.scale  # a quotient of Python's whole numbers is the nearest double
        return np.array([number / unit for number in numbers.tolist()], dtype=np.float64)

    def exact(self, number: int) -> int | Decimal:
        """One of the numbers, or a sum of them, as Spark returns it."""
        return Decimal(f"{number}E{-self.scale}") if self.is_decimal else number

    def as_doubles(self) -> "Values":
        """The same as doubles."""
        return replace(self, family=Family.DOUBLE, numbers=self.doubles(), digits=0, scale=0, is_decimal=False)


def values_of(array: pa.Array, type_: str) -> Values:
    """A column of a batch as Spark reads it with this type; a text's array may be a dictionary."""
    family = family_of(type_)
    if family is None:
        raise UnableToTell(f"{type_} is Spark's to read")
    null, digits, scale, is_decimal = nulls_of(array), 0, 0, False
    match family:
        case Family.TEXT | Family.BYTES:
            if pa.types.is_dictionary(array.type) and array.dictionary.null_count:
                raise UnableToTell("there is a null among its texts")
            return Values(family=family, array=array, null=null)
        case Family.TRUTH:
            numbers: Numbers = _truths(array)
        case Family.DOUBLE:
            numbers = _plain(array, pa.float64())
        case Family.DATE:
            numbers = _plain(array, pa.int32())
        case Family.TIMESTAMP | Family.TIMESTAMP_NTZ:
            if array.type.unit not in ("us", "ms"):
                raise UnableToTell(f"{array.type} is Spark's to read")
            try:
                instants = array.view(pa.int64()) if array.type.unit == "us" else array.cast(pa.timestamp("us"))
                numbers = _plain(instants, pa.int64())
            except pa.ArrowInvalid as error:  # milliseconds may be too long ago
                raise UnableToTell("instants of more than 64 bits of microseconds are Spark's to read") from error
        case _ if pa.types.is_decimal(array.type):
            if not pa.types.is_decimal128(array.type):
                raise UnableToTell(f"{array.type} is Spark's to read")
            digits, scale, is_decimal = array.type.precision, array.type.scale, True
            words = np.frombuffer(array.buffers()[1] if len(array) else b"", "<i8").reshape(-1, 2)
            words = words[array.offset :][: len(array)]  # the low half first, which holds up to 18 digits alone
            numbers = np.ascontiguousarray(words[:, 0])
            if digits > LONG_DIGITS:
                numbers = words[:, 1].astype(object) * 2**64 + numbers.view(np.uint64).astype(object)
        case _ if pa.types.is_uint64(array.type):  # 20 digits of a decimal, as Spark takes 64 bits without a sign
            numbers, digits, is_decimal = _plain(array, pa.uint64()).astype(object), 20, True
        case _:
            numbers, digits = _plain(array, pa.int64()), _DIGITS[type_]
    return Values(
        family=family, array=array, numbers=numbers, null=null, digits=digits, scale=scale, is_decimal=is_decimal
    )


def nulls_of(array: pa.Array) -> Flags | None:
    """The rows without a value; None where there are none."""
    if not array.null_count:
        return None
    if array.null_count == len(array):
        return np.ones(len(array), dtype=np.bool_)
    return ~_flags(array.buffers()[0], array)


def _flags(bitmap: pa.Buffer, array: pa.Array) -> Flags:
    """Arrow keeps a bit for each row, the lowest of a byte first."""
    bits = np.unpackbits(np.frombuffer(bitmap, np.uint8), count=array.offset + len(array), bitorder="little")
    return bits[array.offset :].view(np.bool_)


def _truths(array: pa.Array) -> Flags:
    """The values, and anything under the nulls; a cast of Arrow's to bytes costs five times as much."""
    return _flags(array.buffers()[1], array) if len(array) else np.empty(0, np.bool_)


def _plain(array: pa.Array, type_: pa.DataType) -> Numbers:
    """The values, and anything under the nulls; Arrow's own ways to numpy, and to a scalar, import all of pandas."""
    cast = array if array.type == type_ else array.cast(type_)
    if not len(cast):
        return np.empty(0, type_.to_pandas_dtype())
    return np.frombuffer(cast.buffers()[1], type_.to_pandas_dtype())[cast.offset :][: len(cast)]


def array_of(numbers: Numbers, type_: pa.DataType) -> pa.Array:
    """The numbers as an array without nulls, of a type as wide as theirs."""
    return pa.Array.from_buffers(type_, len(numbers), [None, pa.py_buffer(np.ascontiguousarray(numbers))])


# Texts.


def texts_of(texts: Sequence[str] | Sequence[bytes], type_: pa.DataType | None = None) -> pa.Array:
    """An array of them; Arrow's own way from Python's objects, and ``pa.scalar``, would import all of pandas."""
    content = [text.encode() if isinstance(text, str) else text for text in texts]
    ends = np.array([0, *accumulate(map(len, content))], dtype=np.int32)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(content))]
    return pa.Array.from_buffers(type_ or pa.string(), len(content), buffers)


def unpacked(array: pa.Array) -> pa.Array:
    """Without a dictionary."""
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def is_valid_text(array: pa.Array) -> bool:
    """Whether all of its bytes are UTF-8: of others Spark's functions make their own."""
    texts = array.dictionary if pa.types.is_dictionary(array.type) else array
    try:
        texts.cast(pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:
        return False
    return True


def of_texts(array: pa.Array, function: Any, *arguments: Any) -> Numbers:
    """What a function of Arrow's gives for each text, of a dictionary's texts once; anything under the nulls."""
    is_packed = pa.types.is_dictionary(array.type)
    results = function(array.dictionary if is_packed else array, *arguments)
    numbers = _truths(results) if pa.types.is_boolean(results.type) else _plain(results, pa.int64())
    if not is_packed:
        return numbers
    return numbers[places_of(array)] if len(numbers) else np.zeros(len(array), dtype=numbers.dtype)


def places_of(array: pa.Array) -> Numbers:
    """Where each row's text is in the dictionary; 0 for a null."""
    places = array.indices.fill_null(0) if array.null_count else array.indices
    return _plain(places, places.type).astype(np.int64)


# Values as Spark casts them to texts (ANSI mode, UTC), which is how keys and groups are told apart.

_PLAIN_SCALE = 6  # of a decimal that Java writes without an exponent, however small it is
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # of the years 1 to 9999, from 1970
_DAY = 86_400_000_000  # microseconds


def as_string(values: Values) -> Values:
    """As Spark casts a column to texts; UnableToTell of what is its own to write, and of other expressions."""
    match values.family:
        case Family.TEXT:
            return values
        case Family.TRUTH | Family.EXACT if values.array is not None:
            if values.scale > _PLAIN_SCALE:
                small = np.abs(values.whole) < 10 ** (values.scale - _PLAIN_SCALE)
                if (small if values.null is None else small & ~values.null).any():
                    raise UnableToTell("a small decimal may be written with an exponent")
            return as_texts(values.array.cast(pa.string()), values.null)
        case Family.DATE:
            days = array_of(_within_years(values, _FIRST_DAY, _LAST_DAY), pa.date32())
            return as_texts(days.cast(pa.string()), values.null)
        case Family.TIMESTAMP | Family.TIMESTAMP_NTZ:
            instants = _within_years(values, _FIRST_DAY * _DAY, (_LAST_DAY + 1) * _DAY - 1)
            return as_texts(without_zeros(array_of(instants, pa.timestamp("us")).cast(pa.string())), values.null)
    raise UnableToTell(f"{values.family} is written as a text by Spark")


def as_texts(array: pa.Array, null: Flags | None) -> Values:
    """The texts of rows, of which some are null."""
    return Values(family=Family.TEXT, array=array, null=null)


def _within_years(values: Values, first: int, last: int) -> Numbers:
    """The numbers, 0 for a null; UnableToTell of years that are not written in four digits."""
    numbers = values.whole if values.null is None else np.where(values.null, values.whole.dtype.type(0), values.whole)
    if len(numbers) and (int(numbers.min()) < first or int(numbers.max()) > last):
        raise UnableToTell("years before 1 or after 9999 are written by Spark")
    return numbers


def without_zeros(texts: pa.Array) -> pa.Array:
    """Each has a point, behind which zeros at the end are cut, and the point with them."""
    return pc.ascii_rtrim(pc.ascii_rtrim(texts, "0"), ".")
