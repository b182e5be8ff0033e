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

from .nodes import UnableToTell

Flags = npt.NDArray[np.bool_]
Numbers = npt.NDArray[Any]
Doubles = npt.NDArray[np.float64]
LONG_DIGITS = 18  # of a decimal that fits into 64 bits
MOST_DIGITS = 38  # of Spark's decimals
_TEXT = pa.string()
_EXACT_DOUBLES = 2**53  # whole numbers up to here are doubles
_EXACT_TENS = 22  # powers of ten up to here are doubles
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
_UNSIGNED_DIGITS = 20  # of the decimal that Spark takes 64 bits without a sign for


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
        is_long = numbers.dtype == object
        if not is_long and self.scale <= _EXACT_TENS and not np.any(np.abs(numbers) > _EXACT_DOUBLES):
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
    null = nulls_of(array)
    match family:
        case Family.TEXT | Family.BYTES:
            if pa.types.is_dictionary(array.type) and array.dictionary.null_count:
                raise UnableToTell("there is a null among its texts")
            return Values(family=family, array=array, null=null)
        case Family.TRUTH:
            return Values(family=family, array=array, numbers=_truths(array), null=null)
        case Family.DOUBLE:
            return Values(family=family, array=array, numbers=_plain(array, pa.float64()), null=null)
        case Family.DATE:
            return Values(family=family, array=array, numbers=_plain(array, pa.int32()), null=null)
        case Family.TIMESTAMP | Family.TIMESTAMP_NTZ:
            return Values(family=family, array=array, numbers=_microseconds(array), null=null)
    if pa.types.is_decimal(array.type):
        return _decimals(array, null)
    if pa.types.is_uint64(array.type):
        numbers = _plain(array, pa.uint64()).astype(object)
        return Values(family=family, array=array, numbers=numbers, null=null, digits=_UNSIGNED_DIGITS, is_decimal=True)
    return Values(family=family, array=array, numbers=_plain(array, pa.int64()), null=null, digits=_DIGITS[type_])


def nulls_of(array: pa.Array) -> Flags | None:
    """The rows without a value; None where there are none."""
    if not array.null_count:
        return None
    if pa.types.is_null(array.type) or array.null_count == len(array):
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


def _microseconds(array: pa.Array) -> Numbers:
    """Milliseconds may be too long ago for 64 bits of microseconds: Spark must say what they are."""
    if array.type.unit == "us":
        return _plain(array.view(pa.int64()), pa.int64())
    if array.type.unit != "ms":
        raise UnableToTell(f"{array.type} is Spark's to read")
    try:
        return _plain(array.cast(pa.timestamp("us")), pa.int64())
    except pa.ArrowInvalid as error:
        raise UnableToTell("instants of more than 64 bits of microseconds are Spark's to read") from error


def _decimals(array: pa.Array, null: Flags | None) -> Values:
    """Without their point: of 128 bits, the low half first, which holds up to 18 digits alone."""
    if not pa.types.is_decimal128(array.type):
        raise UnableToTell(f"{array.type} is Spark's to read")
    buffer = array.buffers()[1] if len(array) else b""
    words = np.frombuffer(buffer, "<i8").reshape(-1, 2)[array.offset :][: len(array)]
    numbers: Numbers = np.ascontiguousarray(words[:, 0])
    if array.type.precision > LONG_DIGITS:
        numbers = words[:, 1].astype(object) * 2**64 + numbers.view(np.uint64).astype(object)
    return Values(
        family=Family.EXACT,
        array=array,
        numbers=numbers,
        null=null,
        digits=array.type.precision,
        scale=array.type.scale,
        is_decimal=True,
    )


def texts_of(texts: Sequence[str] | Sequence[bytes], type_: pa.DataType = _TEXT) -> pa.Array:
    """An array of them; Arrow's own way from Python's objects, and ``pa.scalar``, would import all of pandas."""
    content = [text.encode() if isinstance(text, str) else text for text in texts]
    ends = np.array([0, *accumulate(map(len, content))], dtype=np.int32)
    return pa.Array.from_buffers(type_, len(content), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(content))])


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
    if not pa.types.is_dictionary(array.type):
        return _of_plain_texts(array, function, *arguments)
    found = _of_plain_texts(array.dictionary, function, *arguments)
    if not len(found):  # there are nulls alone
        return np.zeros(len(array), dtype=found.dtype)
    return found[places_of(array)]


def places_of(array: pa.Array) -> Numbers:
    """Where each row's text is in the dictionary; 0 for a null."""
    places = array.indices.fill_null(0) if array.null_count else array.indices
    return _plain(places, places.type).astype(np.int64)


def _of_plain_texts(texts: pa.Array, function: Any, *arguments: Any) -> Numbers:
    found = function(texts, *arguments)
    return _truths(found) if pa.types.is_boolean(found.type) else _plain(found, pa.int64())


# Values as Spark casts them to texts (ANSI mode, UTC), which is how keys and groups are told apart.

_PLAIN_SCALE = 6  # of a decimal that Java writes without an exponent, however small it is
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # of the years 1 to 9999, from 1970
_DAY = 86_400_000_000  # microseconds


def as_string(given: Values) -> Values:
    """As Spark casts a column to texts; UnableToTell of what is its own to write, and of other expressions."""
    match given.family:
        case Family.TEXT:
            return given
        case Family.TRUTH | Family.EXACT if given.array is not None:
            _check_plain(given)
            return as_texts(given.array.cast(pa.string()), given.null)
        case Family.DATE:
            days = _within(given, _FIRST_DAY, _LAST_DAY)
            return as_texts(array_of(days, pa.date32()).cast(pa.string()), given.null)
        case Family.TIMESTAMP | Family.TIMESTAMP_NTZ:
            instants = _within(given, _FIRST_DAY * _DAY, (_LAST_DAY + 1) * _DAY - 1)
            return as_texts(without_zeros(array_of(instants, pa.timestamp("us")).cast(pa.string())), given.null)
    raise UnableToTell(f"{given.family} is written as a text by Spark")


def as_texts(array: pa.Array, null: Flags | None) -> Values:
    """The texts of rows, of which some are null."""
    return Values(family=Family.TEXT, array=array, null=null)


def _check_plain(given: Values) -> None:
    """Where a small number has many places behind its point, Java may write it with an exponent."""
    if given.scale <= _PLAIN_SCALE:
        return
    small = np.abs(given.whole) < 10 ** (given.scale - _PLAIN_SCALE)
    if (small if given.null is None else small & ~given.null).any():
        raise UnableToTell("a small decimal may be written with an exponent")


def _within(given: Values, first: int, last: int) -> Numbers:
    """The numbers, 0 for a null; UnableToTell of years that are not written in four digits."""
    numbers = given.whole if given.null is None else np.where(given.null, given.whole.dtype.type(0), given.whole)
    if len(numbers) and (int(numbers.min()) < first or int(numbers.max()) > last):
        raise UnableToTell("years before 1 or after 9999 are written by Spark")
    return numbers


def without_zeros(texts: pa.Array) -> pa.Array:
    """Each has a point, behind which zeros at the end are cut, and the point with them."""
    return pc.ascii_rtrim(pc.ascii_rtrim(texts, "0"), ".")


def array_of(numbers: Numbers, type_: pa.DataType) -> pa.Array:
    """The numbers as an array without nulls, of a type as wide as theirs."""
    return pa.Array.from_buffers(type_, len(numbers), [None, pa.py_buffer(np.ascontiguousarray(numbers))])
