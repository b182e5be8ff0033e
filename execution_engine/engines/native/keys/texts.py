"""Values of keys as Spark writes them, keys as one text, and the hash of a key.

What is written here is what ``spark.keys.key_sql`` and ``columns.spark_sql.key`` have Spark write.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from execution_engine.engines.native.evaluation import unpacked
from execution_engine.engines.native.hashing.hashes import Words, bytes_of, hashes
from execution_engine.engines.native.nodes import UnableToTell
from execution_engine.engines.native.texts import array_of, as_string, as_texts, without_zeros
from execution_engine.engines.native.values import Doubles, Family, Flags, Values, is_valid_text, texts_of

_EXACT_DOUBLES, _EXACT_FLOATS = 2**53, 2**24  # below these every whole number is one, and is written as it is
_DIGITS = np.frombuffer("".join(f"{byte:02X}" for byte in range(256)).encode(), np.uint16)  # two letters of each byte
_NULL, _BEHIND, _NOTHING = "-", ":", ""


def key_hashes(columns: Sequence[Values]) -> Words:
    """The hash of each row's key: of the canonical text of each value, and of whether it is null."""
    mixed: list[Values] = []
    for column in columns:
        text = canonical(column)
        null = np.zeros(len(text.array), dtype=np.bool_) if text.null is None else text.null
        mixed += [text, Values(family=Family.TRUTH, array=text.array, numbers=null)]
    return hashes(mixed)


def canonical(given: Values) -> Values:
    """As texts that are the same whatever type holds the value; UnableToTell where they are Spark's to write."""
    match given.family:
        case Family.DOUBLE:
            return as_texts(_whole(given), given.null)
        case Family.BYTES:
            return as_texts(_in_hexadecimal(unpacked(given.array)), given.null)
        case Family.EXACT if given.scale:
            return as_texts(without_zeros(as_string(given).array), given.null)
    return as_string(given)


def joined(texts: Sequence[Values]) -> pa.Array:
    """The texts of each row as one that ``key_text.decode`` reads; UnableToTell of texts that are no UTF-8."""
    nothing, behind = texts_of([_NOTHING])[0], texts_of([_BEHIND])[0]
    parts = [_behind_length(text, behind) for text in texts]
    return parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, nothing)


def _behind_length(text: Values, behind: pa.Scalar) -> pa.Array:
    if not is_valid_text(text.array):
        raise UnableToTell("the length of a text that is no UTF-8 is Spark's to tell")
    array = unpacked(text.array)
    array = array if array.type == pa.string() else array.cast(pa.string())
    one = pc.binary_join_element_wise(pc.utf8_length(array).cast(pa.string()), array, behind)
    return one if text.null is None else pc.if_else(_flags(text.null), texts_of([_NULL])[0], one)


def _whole(given: Values) -> pa.Array:
    """Doubles as whole numbers: of any others Java knows the shortest text."""
    numbers: Doubles = given.whole if given.null is None else np.where(given.null, 0.0, given.whole)
    bound = _EXACT_FLOATS if pa.types.is_float32(given.array.type) else _EXACT_DOUBLES
    if not ((np.abs(numbers) < bound) & (numbers == np.floor(numbers))).all():
        raise UnableToTell("doubles that are no whole numbers are written by Spark")
    return array_of(numbers.astype(np.int64), pa.int64()).cast(pa.string())


def _in_hexadecimal(array: pa.Array) -> pa.Array:
    data, offsets = bytes_of(array)
    first, last = int(offsets[0]), int(offsets[-1])
    ends = (offsets.astype(np.int64) - first) * 2
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(_DIGITS[data[first:last]])]
    return pa.Array.from_buffers(pa.large_binary(), len(array), buffers)


def _flags(flags: Flags) -> pa.Array:
    bits: npt.NDArray[np.uint8] = np.packbits(flags, bitorder="little")
    return pa.Array.from_buffers(pa.bool_(), len(flags), [None, pa.py_buffer(bits)])
