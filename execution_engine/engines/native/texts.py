"""Values as Spark casts them to texts (ANSI mode, UTC), which is how keys and groups are told apart."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .nodes import UnableToTell
from .values import Family, Flags, Numbers, Values

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
