"""What a task gathers of the keys of its rows: their hashes, the bits of a Bloom filter, or some of their texts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from execution_engine.engines.native.evaluation import Batch, unpacked
from execution_engine.engines.native.hashing import Words, bytes_of, hashes
from execution_engine.engines.native.nodes import Column, Node, UnableToTell
from execution_engine.engines.native.values import (
    Doubles,
    Family,
    Flags,
    Numbers,
    Values,
    array_of,
    as_string,
    as_texts,
    is_valid_text,
    texts_of,
    without_zeros,
)
from execution_engine.metrics.keys.bits import are_among, bits_of_keys, in_buckets

# Values of keys as Spark writes them, keys as one text, and the hash of a key.
#
# What is written here is what ``spark.keys.key_sql`` and ``columns.spark_sql.key`` have Spark write.

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


_SAMPLE = 4096  # hashes: of keys that come ten times each in a task of 250,000 rows a few hundred pairs


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Whose keys: the values of these columns, on the rows that meet the condition."""

    columns: tuple[str, ...]
    where: Node | None = None

    def values(self, batch: Batch) -> list[Values]:
        """Of all rows of the batch."""
        return [batch.values(Column(name=name)) for name in self.columns]

    def kept(self, batch: Batch, words: Words) -> Words:
        """Of the words, one a row, those of the rows that count."""
        return words if self.where is None else words.compress(batch.met(self.where).yes)


@dataclass(frozen=True, kw_only=True)
class Distinct:
    """The hashes of the keys in some buckets, None for all, as bytes; and of how many rows they are.

    Each is there at least once, and just once where a sample shows that keys are repeated: else to sort is in vain.
    """

    buckets: tuple[int, ...] | None = None

    def gather(self, rows: Rows, batches: Iterable[Batch]) -> tuple[bytes, int]:
        """Of all batches together."""
        found = [self.of(rows, batch) for batch in batches]
        every = np.concatenate(found) if found else np.empty(0, dtype=np.uint64)
        return (distinct(every) if _repeat(every) else every).tobytes(), len(every)

    def of(self, rows: Rows, batch: Batch) -> Words:
        """The hashes of one batch, as often as they come."""
        found = rows.kept(batch, key_hashes(rows.values(batch)))
        return found if self.buckets is None else in_buckets(found, self.buckets)


@dataclass(frozen=True, kw_only=True)
class Filled:
    """The bits of a Bloom filter of the hashes, laid end to end; and of how many rows these are."""

    slices: int
    bits_per_slice: int
    buckets: tuple[int, ...] | None = None

    def gather(self, rows: Rows, batches: Iterable[Batch]) -> tuple[bytes, int]:
        """Of all batches together."""
        hashed = Distinct(buckets=self.buckets)
        return bits_of_keys((hashed.of(rows, batch) for batch in batches), self.slices, self.bits_per_slice)


Ranked = dict[bytes, int]  # the text of a key → its hash, as Spark orders it


@dataclass(frozen=True, kw_only=True)
class Lowest:
    """The texts of the ``size`` keys whose texts have the lowest hashes, with these."""

    size: int

    def gather(self, rows: Rows, batches: Iterable[Batch]) -> Ranked:
        """Of all batches together."""
        found: Ranked = {}
        limit = np.iinfo(np.int64).max
        for batch in batches:
            texts, ranks = _ranked(rows, batch)
            counting = rows.kept(batch, ranks)
            limit = min(limit, _limit(counting[counting <= limit], self.size))
            found |= _some(texts, ranks, _met(rows, batch, ranks <= limit))
            if len(found) > 2 * self.size:
                found = lowest(found, self.size)
        return lowest(found, self.size)


@dataclass(frozen=True, kw_only=True)
class Among:
    """Of these sorted hashes of texts of keys those that are there, with the texts that have them."""

    hashes: tuple[int, ...]

    def gather(self, rows: Rows, batches: Iterable[Batch]) -> Ranked:
        """Of all batches together."""
        found: Ranked = {}
        known = np.array(self.hashes, dtype=np.uint64)
        for batch in batches:
            texts, ranks = _ranked(rows, batch)
            found |= _some(texts, ranks, _met(rows, batch, are_among(known, ranks.view(np.uint64))))
        return found


@dataclass(frozen=True, kw_only=True)
class Named:
    """Of these sorted hashes of keys those that are there, with the canonical texts of the keys that have them."""

    hashes: tuple[int, ...]

    def gather(self, rows: Rows, batches: Iterable[Batch]) -> Ranked:
        """Of all batches together."""
        found: Ranked = {}
        known = np.array(self.hashes, dtype=np.uint64)
        for batch in batches:
            values = rows.values(batch)
            here = key_hashes(values)
            at = _met(rows, batch, are_among(known, here))
            if len(at):
                texts = joined([canonical(column) for column in values])
                found |= _some(texts, here.view(np.int64), at)
        return found


Take = Distinct | Filled | Lowest | Among | Named


def texts_in(parts: Sequence[Ranked]) -> list[str]:
    """All texts that tasks found, in order."""
    return sorted({text.decode() for part in parts for text in part})


def lowest_of(parts: Sequence[Ranked], size: int) -> list[str]:
    """The texts of lowest hash, these first, of what tasks found of the ``Lowest``."""
    return [text.decode() for text in lowest({text: rank for part in parts for text, rank in part.items()}, size)]


def among_texts(wanted: Sequence[str]) -> Among:
    """Looks these texts up; UnableToTell where one is very long."""
    return Among(hashes=tuple(sorted({*ranks_of(texts_of(wanted)).view(np.uint64).tolist()})))


def there_of(parts: Sequence[Ranked], wanted: Sequence[str]) -> set[str]:
    """Which of the texts there are, of what tasks found ``among_texts``."""
    return set(texts_in(parts)).intersection(wanted)


def _repeat(words: Words) -> bool:
    """Whether a sample of some of them has one twice, or there are few."""
    some = words[:: max(1, len(words) // _SAMPLE)]
    return len(words) <= _SAMPLE or len(distinct(some)) < len(some)


def distinct(words: Words) -> Words:
    """In order, and each once."""
    found = np.sort(words)
    first = np.ones(len(found), dtype=np.bool_)
    np.not_equal(found[1:], found[:-1], out=first[1:])
    return found if first.all() else found.compress(first)


def ranks_of(texts: pa.Array) -> Numbers:
    """Spark's hash of each text, as it orders them."""
    return hashes([Values(family=Family.TEXT, array=texts)]).view(np.int64)


def lowest(found: Ranked, size: int) -> Ranked:
    """The lowest in order; of two texts with one hash first the one that Spark sorts before."""
    return dict(sorted(found.items(), key=lambda each: (each[1], each[0]))[:size])


def _ranked(rows: Rows, batch: Batch) -> tuple[pa.Array, Numbers]:
    texts = joined([as_string(column) for column in rows.values(batch)])
    return texts, ranks_of(texts)


def _limit(ranks: Numbers, size: int) -> int:
    """The highest of the ``size`` lowest; of fewer any."""
    found = distinct(ranks)
    return int(found[size - 1]) if len(found) >= size else int(np.iinfo(np.int64).max)


def _met(rows: Rows, batch: Batch, wanted: Numbers) -> Numbers:
    """The places of the rows that count and are wanted."""
    return np.flatnonzero(wanted if rows.where is None else wanted & batch.met(rows.where).yes)


def _some(texts: pa.Array, ranks: Numbers, at: Numbers) -> Ranked:
    places = pa.Array.from_buffers(pa.int64(), len(at), [None, pa.py_buffer(at)])
    return dict(zip(texts.take(places).cast(pa.binary()).to_pylist(), ranks[at].tolist(), strict=True))
