"""Hashes of values as Spark and its sketches make them, for many rows at once.

What a hash is of, and what hashes are gathered into, is told outside: of keys in ``key_tasks``, of sketches in
``partials``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .language import UnableToTell
from .values import LONG_DIGITS, Family, Flags, Numbers, Values, places_of, texts_of

# Spark's ``xxhash64`` of columns, for many rows at once: XXH64 with seed 42, each column's hash the seed of the next.
#
# Source: Yann Collet's specification of XXH64, and what Spark hands it: whole numbers up to 32 bits and dates as four
# bytes, longer ones, instants and decimals of 18 digits as eight, longer decimals as Java writes their digits, floats
# by their bits, texts by their UTF-8. A null leaves the hash as it is.

Words = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]
SEED = 42
AT_ONCE = 1 << 15  # rows: what is on its way stays in the cache of a core
MOST_BYTES = 4096  # of a text: blocks of longer ones would be hashed for too few rows at once
_P1, _P2, _P3, _P4, _P5 = map(
    np.uint64,
    (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5),
)
_LANES = 32  # bytes that are hashed in four lanes
_NAN = {4: 0x7FC00000, 8: 0x7FF8000000000000}
_INT_DIGITS = 10  # of Spark's int


def key_hashes(columns: Sequence[Values]) -> npt.NDArray[np.int64]:
    """The hash of each row's key as ``Expressions.hash_of`` writes it: of several columns with which are null."""
    words = hashes(columns)
    if len(columns) > 1:
        for column in columns:
            null = np.zeros(len(words), dtype=np.uint64) if column.null is None else column.null.astype(np.uint64)
            _in_slices(_hash_ints, words, null)
    return words.view(np.int64)


def hashes(columns: Sequence[Values]) -> Words:
    """``xxhash64`` of the columns, one for each row; UnableToTell where a column is Spark's to hash."""
    words = np.full(len(columns[0].array), SEED, dtype=np.uint64)
    for column in columns:
        before = words.copy() if column.null is not None else None
        match column.family:
            case Family.TEXT | Family.BYTES:
                _hash_texts(column.array, words)
            case Family.EXACT if column.is_decimal and column.digits > LONG_DIGITS:
                # as ``BigInteger.toByteArray``: the fewest bytes that hold number and sign, the high ones first
                numbers = column.whole.tolist()
                lengths = ((number if number >= 0 else ~number).bit_length() // 8 + 1 for number in numbers)
                parts = zip(numbers, lengths, strict=True)
                content = [number.to_bytes(length, "big", signed=True) for number, length in parts]
                _hash_texts(texts_of(content, pa.binary()), words)
            case Family.DOUBLE if pa.types.is_float32(column.array.type):
                singles = _bits(column.whole.astype(np.float32), np.uint32)
                _in_slices(_hash_ints, words, singles.astype(np.uint64))
            case Family.DOUBLE if pa.types.is_float64(column.array.type):
                _in_slices(_hash_longs, words, _bits(column.whole, np.uint64))
            case Family.DOUBLE:
                raise UnableToTell(f"{column.array.type} is Spark's to hash")
            case Family.EXACT | Family.DATE | Family.TRUTH if not column.is_decimal and column.digits <= _INT_DIGITS:
                _in_slices(_hash_ints, words, column.whole.astype(np.int32).view(np.uint32).astype(np.uint64))
            case _:
                _in_slices(_hash_longs, words, column.whole.view(np.uint64))
        if before is not None:
            assert column.null is not None
            np.copyto(words, before, where=column.null)
    return words


def _bits(numbers: npt.NDArray[Any], type_: Any) -> npt.NDArray[Any]:
    """-0.0 is 0.0, and NaN one value."""
    bits: npt.NDArray[Any] = (numbers + numbers.dtype.type(0.0)).view(type_)
    bits[np.isnan(numbers)] = _NAN[numbers.dtype.itemsize]
    return bits


def _in_slices(mix: Callable[[Words, Words], None], words: Words, values: Words) -> None:
    with np.errstate(over="ignore"):
        for at in range(0, len(words), AT_ONCE):
            mix(words[at : at + AT_ONCE], values[at : at + AT_ONCE])


def _hash_longs(words: Words, values: Words) -> None:
    """Eight bytes, each into the hash that is its seed."""
    words += _P5
    words += np.uint64(8)
    _mix_long(words, values)
    _finish(words)


def _hash_ints(words: Words, values: Words) -> None:
    """Four bytes; ``values`` without a sign."""
    words += _P5
    words += np.uint64(4)
    _mix_int(words, values)
    _finish(words)


def _mix_long(words: Words, values: Words) -> None:
    mixed = values * _P2
    rotate(mixed, 31)
    mixed *= _P1
    words ^= mixed
    rotate(words, 27)
    words *= _P1
    words += _P4


def _mix_int(words: Words, values: Words) -> None:
    words ^= values * _P1
    rotate(words, 23)
    words *= _P2
    words += _P3


def _mix_byte(words: Words, values: Words) -> None:
    words ^= values * _P5
    rotate(words, 11)
    words *= _P1


def rotate(words: Words, bits: int) -> None:
    """Turns each word to the left by so many bits, in place."""
    high = words >> np.uint64(64 - bits)
    words <<= np.uint64(bits)
    words |= high


def _finish(words: Words) -> None:
    for bits, prime in ((33, _P2), (29, _P3), (32, None)):
        words ^= words >> np.uint64(bits)
        if prime is not None:
            words *= prime


def _hash_texts(array: pa.Array, words: Words) -> None:
    """Of a dictionary each text once, where all rows still have the seed."""
    if pa.types.is_dictionary(array.type):
        if len(words) and (words == SEED).all():
            texts = np.full(len(array.dictionary), SEED, dtype=np.uint64)
            _hash_texts(array.dictionary, texts)
            words[:] = texts[places_of(array)] if len(texts) else SEED
            return
        array = array.dictionary_decode()
    data, offsets = bytes_of(array)
    with np.errstate(over="ignore"):
        for at in range(0, len(array), AT_ONCE):
            bounds = offsets[at : at + AT_ONCE + 1].astype(np.int64)
            _hash_bytes(data, bounds[:-1], np.diff(bounds), words[at : at + AT_ONCE])


def _hash_bytes(data: Bytes, starts: Places, lengths: Places, words: Words) -> None:
    """The shortest first, so that those with another block are always the last of them."""
    order = np.argsort(lengths, kind="stable")
    starts, lengths, mixed = starts[order], lengths[order], words[order]
    at = starts.copy()
    first = int(np.searchsorted(lengths, _LANES))
    if first < len(lengths):
        mixed[first:] = _in_lanes(data, at[first:], lengths[first:], mixed[first:])
    mixed[:first] += _P5
    mixed += lengths.astype(np.uint64)
    rest = starts + lengths - at  # up to three words of eight bytes, one of four, and up to three bytes
    for mix, size, type_ in ((_mix_long, 8, np.uint64), (_mix_int, 4, np.uint32), (_mix_byte, 1, np.uint8)):
        values = unaligned(data, type_)
        while len(rows := np.flatnonzero(rest >= size)):
            part = mixed[rows]
            mix(part, values[at[rows]].astype(np.uint64))
            mixed[rows] = part
            at[rows] += size
            rest[rows] -= size
    _finish(mixed)
    words[order] = mixed


def _in_lanes(data: Bytes, at: Places, lengths: Places, seeds: Words) -> Words:
    """Blocks of 32 bytes in four lanes; ``at`` moves behind them."""
    values = unaligned(data, np.uint64)
    lanes = [seeds + _P1 + _P2, seeds + _P2, seeds.copy(), seeds - _P1]
    blocks = lengths // _LANES
    for block in range(int(blocks[-1])):
        has = int(np.searchsorted(blocks, block + 1))
        for number, lane in enumerate(lanes):
            part = lane[has:]
            part += values[at[has:] + 8 * number] * _P2
            rotate(part, 31)
            part *= _P1
        at[has:] += _LANES
    mixed = np.zeros_like(seeds)
    for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True):
        turned = lane.copy()
        rotate(turned, bits)
        mixed += turned
    for lane in lanes:
        lane *= _P2
        rotate(lane, 31)
        lane *= _P1
        mixed ^= lane
        mixed *= _P1
        mixed += _P4
    return mixed


def bytes_of(array: pa.Array) -> tuple[Bytes, npt.NDArray[Any]]:
    """The bytes of all texts, and where each begins and the last ends; UnableToTell where one is very long."""
    wide = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    if not wide and not (pa.types.is_string(array.type) or pa.types.is_binary(array.type)):
        raise UnableToTell(f"{array.type} is Spark's to hash")
    _, ends, content = array.buffers()
    if not len(array):
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    offsets = np.frombuffer(ends, np.int64 if wide else np.int32)[array.offset : array.offset + len(array) + 1]
    if int(np.diff(offsets).max()) > MOST_BYTES:
        raise UnableToTell("texts of thousands of bytes are Spark's to hash")
    return np.frombuffer(content, np.uint8) if content is not None and content.size else np.empty(0, np.uint8), offsets


def unaligned(data: Bytes, type_: Any) -> npt.NDArray[Any]:
    """The words that begin at each byte."""
    size = np.dtype(type_).itemsize
    if len(data) < size:
        return np.empty(0, type_)
    view: npt.NDArray[Any] = np.ndarray((len(data) - size + 1,), type_, data.data, strides=(1,))
    return view


# The coupons of values in a HyperLogLog sketch of Apache DataSketches, for many rows at once.
#
# Source: DataSketches' ``HllSketch.update``: MurmurHash3_x64_128 with seed 9001, of a whole number as eight bytes and
# of a text by its UTF-8, an empty one left out; an address of 26 bits from the first half, and above it one more than
# the leading zeros of the second, 62 at most.

COUPON_SEED = np.uint64(9001)
_C1, _C2 = np.uint64(0x87C37B91114253D5), np.uint64(0x4CF5AD432745937F)
_F1, _F2 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
_N1, _N2 = np.uint64(0x52DCE729), np.uint64(0x38495AB5)
_ADDRESS_BITS = 26
_MOST_ZEROS = 62
_BLOCK, _WORD = 16, 8
_OF_BYTES = np.array([(1 << 8 * count) - 1 for count in range(_WORD + 1)], np.uint64)  # the low bytes of a word

Coupons = npt.NDArray[np.uint32]


@dataclass(frozen=True, kw_only=True, eq=False)
class OfColumn:
    """The coupons of a column, one an index: of its rows, or of its dictionary, in which ``places`` are those of rows.

    ``filled``: which of them count, as the empty text has no coupon; None for all.
    """

    coupons: Coupons
    filled: Flags | None = None
    places: Numbers | None = None


def coupons_of(column: Values, flags: Flags | None, of_all: dict[int, OfColumn]) -> Coupons:
    """Of the values that are there on the rows that count, as often as they come; of a dictionary's texts once each.

    Spark hands whole numbers of 32 and 64 bits, and texts, to the sketch as they are, and of others their hash.
    ``of_all``: those of columns that were asked before, under whatever condition, by their identity: each is hashed
    once.
    """
    if id(column) not in of_all and column.family is Family.TEXT:
        of_all[id(column)] = _coupons_of_texts(column.array)
    elif id(column) not in of_all:
        is_plain = column.family is Family.EXACT and not column.is_decimal and column.digits >= _INT_DIGITS
        words = column.whole.view(np.uint64) if is_plain else hashes([column])
        coupons = np.empty(len(words), dtype=np.uint32)
        with np.errstate(over="ignore"):
            for at in range(0, len(words), AT_ONCE):
                first = np.full(len(words[at : at + AT_ONCE]), COUPON_SEED)
                _mix_first(first, words[at : at + AT_ONCE])
                coupons[at : at + AT_ONCE] = _finished(first, np.full_like(first, COUPON_SEED), np.uint64(8))
        of_all[id(column)] = OfColumn(coupons=coupons)
    column_coupons, rows = of_all[id(column)], flags
    if column.null is not None:
        rows = ~column.null if flags is None else flags & ~column.null
    if column_coupons.places is not None:
        used = np.zeros(len(column_coupons.coupons), dtype=np.bool_)
        used[column_coupons.places if rows is None else column_coupons.places.compress(rows)] = True
        rows = used
    if column_coupons.filled is not None:
        rows = column_coupons.filled if rows is None else column_coupons.filled & rows
    return column_coupons.coupons if rows is None else column_coupons.coupons.compress(rows)


def _coupons_of_texts(array: pa.Array) -> OfColumn:
    """The shortest first, so that those with another block are always the last of them."""
    is_packed = pa.types.is_dictionary(array.type)
    data, offsets = bytes_of(array.dictionary if is_packed else array)
    starts, lengths = offsets[:-1].astype(np.int64), np.diff(offsets).astype(np.int64)
    coupons = np.empty(len(starts), dtype=np.uint32)
    with np.errstate(over="ignore"):
        for at in range(0, len(starts), AT_ONCE):
            order = np.argsort(lengths[at : at + AT_ONCE], kind="stable")
            coupons[at + order] = _coupons_of_bytes(data, starts[at + order], lengths[at + order])
    return OfColumn(coupons=coupons, filled=lengths > 0, places=places_of(array) if is_packed else None)


def _coupons_of_bytes(data: Bytes, starts: Places, lengths: Places) -> Coupons:
    first, second = np.full(len(starts), COUPON_SEED), np.full(len(starts), COUPON_SEED)
    words = unaligned(data if len(data) >= _WORD else np.pad(data, (0, _WORD)), np.uint64)
    blocks = lengths // _BLOCK
    for block in range(int(blocks[-1])):
        has = int(np.searchsorted(blocks, block + 1))
        at = starts[has:] + _BLOCK * block
        first_words, other = first[has:], second[has:]
        _mix_first(first_words, words[at])
        rotate(first_words, 27)
        first_words += other
        first_words *= np.uint64(5)
        first_words += _N1
        _mix_second(other, words[at + _WORD])
        rotate(other, 31)
        other += first_words
        other *= np.uint64(5)
        other += _N2
    tails, rest = starts + _BLOCK * blocks, lengths % _BLOCK
    for mix, half, begins in ((_mix_second, second, _WORD), (_mix_first, first, 0)):
        # up to eight bytes as one word, 0 where there are none: a word of 0 mixes nothing in
        begin = np.minimum(tails + begins, len(words) - 1)  # not behind the last whole word
        beyond = ((tails + begins - begin) * 8).astype(np.uint64)
        mix(half, (words[begin] >> beyond) & _OF_BYTES[np.clip(rest - begins, 0, _WORD)])
    return _finished(first, second, lengths.astype(np.uint64))


def _mix_first(half: Words, words: Words) -> None:
    mixed = words * _C1
    rotate(mixed, 31)
    mixed *= _C2
    half ^= mixed


def _mix_second(half: Words, words: Words) -> None:
    mixed = words * _C2
    rotate(mixed, 33)
    mixed *= _C1
    half ^= mixed


def _finished(first: Words, second: Words, length: Any) -> Coupons:
    first ^= length
    second ^= length
    first += second
    second += first
    for half in (first, second):
        for prime in (_F1, _F2):
            half ^= half >> np.uint64(33)
            half *= prime
        half ^= half >> np.uint64(33)
    first += second
    second += first
    address = (first & np.uint64((1 << _ADDRESS_BITS) - 1)).astype(np.uint32)
    value = np.minimum(_leading_zeros(second), _MOST_ZEROS) + 1
    coupons: Coupons = (value.astype(np.uint32) << np.uint32(_ADDRESS_BITS)) | address
    return coupons


def _leading_zeros(words: Words) -> Places:
    """By the exponent of the high half as a double, which holds it exactly, and of the low one where that is 0."""
    high = np.frexp((words >> np.uint64(32)).astype(np.float64))[1]
    zeros: Places = 32 - high
    rows = np.flatnonzero(high == 0)
    zeros[rows] = 64 - np.frexp((words[rows] & np.uint64(0xFFFFFFFF)).astype(np.float64))[1]
    return zeros
