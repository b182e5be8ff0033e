"""The coupons of values in a HyperLogLog sketch of Apache DataSketches, for many rows at once.

Source: DataSketches' ``HllSketch.update``: MurmurHash3_x64_128 with seed 9001, of a whole number as eight bytes and of
a text by its UTF-8, an empty one left out; an address of 26 bits from the first half, and above it one more than the
leading zeros of the second, 62 at most.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from execution_engine.engines.native.values import Family, Flags, Numbers, Values, places_of

from .hashes import AT_ONCE, Words, bytes_of, hashes, rotate, unaligned

SEED = np.uint64(9001)
_C1, _C2 = np.uint64(0x87C37B91114253D5), np.uint64(0x4CF5AD432745937F)
_F1, _F2 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
_N1, _N2 = np.uint64(0x52DCE729), np.uint64(0x38495AB5)
_ADDRESS_BITS = 26
_MOST_ZEROS = 62
_INTEGERS = 10  # digits: what Spark takes as they are; narrower ones it hashes first
_BLOCK, _WORD = 16, 8
_OF_BYTES = np.array([(1 << 8 * count) - 1 for count in range(_WORD + 1)], np.uint64)  # the low bytes of a word


Coupons = npt.NDArray[np.uint32]


@dataclass(frozen=True, kw_only=True, eq=False)
class OfColumn:
    """The coupons of a column, one an index: of its rows, or of its dictionary, in which ``places`` are those of rows.

    ``filled``: which of them count, as the empty text has no coupon; None for all.
    """

    found: Coupons
    filled: Flags | None = None
    places: Numbers | None = None


def coupons_of(column: Values, kept: Flags | None, of_all: dict[int, OfColumn]) -> Coupons:
    """Of the values that are there on the rows that count, as often as they come; of a dictionary's texts once each.

    Spark hands whole numbers of 32 and 64 bits, and texts, to the sketch as they are, and of others their hash.
    ``of_all``: those of columns that were asked before, under whatever condition, by their identity: each is hashed
    once.
    """
    if id(column) not in of_all:
        of_all[id(column)] = _of_texts(column.array) if column.family is Family.TEXT else _of_numbers(column)
    known, rows = of_all[id(column)], _some(column, kept)
    if known.places is not None:
        used = np.zeros(len(known.found), dtype=np.bool_)
        used[known.places if rows is None else known.places.compress(rows)] = True
        rows = used
    if known.filled is not None:
        rows = known.filled if rows is None else known.filled & rows
    return known.found if rows is None else known.found.compress(rows)


def _some(column: Values, kept: Flags | None) -> Flags | None:
    """The rows to take; None for all."""
    if column.null is None:
        return kept
    return ~column.null if kept is None else kept & ~column.null


def _of_numbers(column: Values) -> OfColumn:
    is_whole = column.family is Family.EXACT and not column.is_decimal and column.digits >= _INTEGERS
    return OfColumn(found=_of_longs(column.whole.view(np.uint64) if is_whole else hashes([column])))


def _of_longs(words: Words) -> Coupons:
    found = np.empty(len(words), dtype=np.uint32)
    with np.errstate(over="ignore"):
        for at in range(0, len(words), AT_ONCE):
            first = np.full(len(words[at : at + AT_ONCE]), SEED)
            _mix_first(first, words[at : at + AT_ONCE])
            found[at : at + AT_ONCE] = _finished(first, np.full_like(first, SEED), np.uint64(8))
    return found


def _of_texts(array: pa.Array) -> OfColumn:
    """The shortest first, so that those with another block are always the last of them."""
    is_packed = pa.types.is_dictionary(array.type)
    data, offsets = bytes_of(array.dictionary if is_packed else array)
    starts, lengths = offsets[:-1].astype(np.int64), np.diff(offsets).astype(np.int64)
    found = np.empty(len(starts), dtype=np.uint32)
    with np.errstate(over="ignore"):
        for at in range(0, len(starts), AT_ONCE):
            order = np.argsort(lengths[at : at + AT_ONCE], kind="stable")
            found[at + order] = _of_bytes(data, starts[at + order], lengths[at + order])
    return OfColumn(found=found, filled=lengths > 0, places=places_of(array) if is_packed else None)


def _of_bytes(data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> Coupons:
    first, second = np.full(len(starts), SEED), np.full(len(starts), SEED)
    words, blocks = unaligned(data, np.uint64), lengths // _BLOCK
    for block in range(int(blocks[-1])):
        has = int(np.searchsorted(blocks, block + 1))
        at = starts[has:] + _BLOCK * block
        one, other = first[has:], second[has:]
        _mix_first(one, words[at])
        rotate(one, 27)
        one += other
        one *= np.uint64(5)
        one += _N1
        _mix_second(other, words[at + _WORD])
        rotate(other, 31)
        other += one
        other *= np.uint64(5)
        other += _N2
    tails, left = starts + _BLOCK * blocks, lengths % _BLOCK
    for number, (mix, half) in enumerate(((_mix_second, second), (_mix_first, first))):
        begins = _WORD if number == 0 else 0
        mix(half, _tail(data, tails + begins, np.clip(left - begins, 0, _WORD)))
    return _finished(first, second, lengths.astype(np.uint64))


def _tail(data: npt.NDArray[np.uint8], at: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> Words:
    """Up to eight bytes as one word, 0 where there are none: a word of 0 mixes nothing in."""
    words = unaligned(data if len(data) >= _WORD else np.pad(data, (0, _WORD)), np.uint64)
    begin = np.minimum(at, len(words) - 1)  # not behind the last whole word
    beyond = ((at - begin) * 8).astype(np.uint64)
    found: Words = (words[begin] >> beyond) & _OF_BYTES[lengths]
    return found


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
        half ^= half >> np.uint64(33)
        half *= _F1
        half ^= half >> np.uint64(33)
        half *= _F2
        half ^= half >> np.uint64(33)
    first += second
    second += first
    address = (first & np.uint64((1 << _ADDRESS_BITS) - 1)).astype(np.uint32)
    value = np.minimum(_leading_zeros(second), _MOST_ZEROS) + 1
    return (value.astype(np.uint32) << np.uint32(_ADDRESS_BITS)) | address


def _leading_zeros(words: Words) -> npt.NDArray[np.int64]:
    """By the exponent of the high half as a double, which holds it exactly, and of the low one where that is 0."""
    high = np.frexp((words >> np.uint64(32)).astype(np.float64))[1]
    found = 32 - high
    rows = np.flatnonzero(high == 0)
    if len(rows):
        found[rows] = 64 - np.frexp((words[rows] & np.uint64(0xFFFFFFFF)).astype(np.float64))[1]
    return found
