"""What one task gathers of keys: their texts and hashes as Spark writes them, their Bloom filters and samples.

Jobs of Spark's that run this are in ``spark.keys``; the states that are made of hashes are in ``metrics.keys``. What is
written here is what ``spark.keys.key_sql`` and ``engines.column_types.key`` have Spark write.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from execution_engine.metrics.keys.bits import are_among, bits_of_keys, in_buckets

from .evaluation import RowBatch
from .hashing import Words, bytes_of, hashes
from .language import ColumnNode, Node, UnableToTell
from .values import (
    EXACT_DOUBLES,
    Doubles,
    Family,
    Numbers,
    Values,
    array_of,
    as_string,
    as_texts,
    is_valid_text,
    texts_of,
    unpacked,
    without_zeros,
)

_EXACT_FLOATS = 2**24  # below it every whole number is a float, and is written as it is
_DIGITS = np.frombuffer("".join(f"{byte:02X}" for byte in range(256)).encode(), np.uint16)  # two letters of each byte
_NULL, _BEHIND, _NOTHING = "-", ":", ""
_SAMPLE = 4096  # hashes: of keys that come ten times each in a task of 250,000 rows a few hundred pairs


def key_hashes(columns: Sequence[Values]) -> Words:
    """The hash of each row's key: of the canonical text of each value, and of whether it is null."""
    mixed: list[Values] = []
    for column in columns:
        text = canonical(column)
        null = np.zeros(len(text.array), dtype=np.bool_) if text.null is None else text.null
        mixed += [text, Values(family=Family.TRUTH, array=text.array, numbers=null)]
    return hashes(mixed)


def canonical(values: Values) -> Values:
    """As texts that are the same whatever type holds the value; UnableToTell where they are Spark's to write."""
    match values.family:
        case Family.DOUBLE:
            numbers: Doubles = values.whole if values.null is None else np.where(values.null, 0.0, values.whole)
            bound = _EXACT_FLOATS if pa.types.is_float32(values.array.type) else EXACT_DOUBLES
            if not ((np.abs(numbers) < bound) & (numbers == np.floor(numbers))).all():
                raise UnableToTell("doubles that are no whole numbers are written by Spark")  # in Java's shortest text
            return as_texts(array_of(numbers.astype(np.int64), pa.int64()).cast(pa.string()), values.null)
        case Family.BYTES:  # in hexadecimal
            data, offsets = bytes_of(unpacked(values.array))
            first, last = int(offsets[0]), int(offsets[-1])
            ends = (offsets.astype(np.int64) - first) * 2
            buffers = [None, pa.py_buffer(ends), pa.py_buffer(_DIGITS[data[first:last]])]
            return as_texts(pa.Array.from_buffers(pa.large_binary(), len(values.array), buffers), values.null)
        case Family.EXACT if values.scale:
            return as_texts(without_zeros(as_string(values).array), values.null)
    return as_string(values)


def joined(texts: Sequence[Values]) -> pa.Array:
    """The texts of each row as one that ``key_text.decode`` reads; UnableToTell of texts that are no UTF-8."""
    parts = []
    for text in texts:
        if not is_valid_text(text.array):
            raise UnableToTell("the length of a text that is no UTF-8 is Spark's to tell")
        array = unpacked(text.array)
        array = array if array.type == pa.string() else array.cast(pa.string())
        part = pc.binary_join_element_wise(pc.utf8_length(array).cast(pa.string()), array, texts_of([_BEHIND])[0])
        if text.null is not None:
            bits = pa.py_buffer(np.packbits(text.null, bitorder="little"))
            nulls = pa.Array.from_buffers(pa.bool_(), len(text.null), [None, bits])
            part = pc.if_else(nulls, texts_of([_NULL])[0], part)
        parts.append(part)
    return parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, texts_of([_NOTHING])[0])


@dataclass(frozen=True, kw_only=True)
class KeyRows:
    """Whose keys: the values of these columns, on the rows that meet the condition."""

    columns: tuple[str, ...]
    where: Node | None = None

    def values(self, batch: RowBatch) -> list[Values]:
        """Of all rows of the batch."""
        return [batch.values(ColumnNode(name=name)) for name in self.columns]

    def counting_words(self, batch: RowBatch, words: Words) -> Words:
        """Of the words, one a row, those of the rows that count."""
        return words if self.where is None else words.compress(batch.met(self.where).yes)

    def ranked(self, batch: RowBatch) -> tuple[pa.Array, Numbers]:
        """The text of each row's key, and its rank."""
        texts = joined([as_string(column) for column in self.values(batch)])
        return texts, ranks_of(texts)

    def ranks_by_text(self, batch: RowBatch, texts: pa.Array, ranks: Numbers, flags: Numbers) -> "Ranked":
        """Of the rows that count and are flagged."""
        at = np.flatnonzero(flags if self.where is None else flags & batch.met(self.where).yes)
        places = pa.Array.from_buffers(pa.int64(), len(at), [None, pa.py_buffer(at)])
        return dict(zip(texts.take(places).cast(pa.binary()).to_pylist(), ranks[at].tolist(), strict=True))


@dataclass(frozen=True, kw_only=True)
class Distinct:
    """The hashes of the keys in some buckets, None for all, as bytes; and of how many rows they are.

    Each is there at least once, and just once where a sample shows that keys are repeated: else to sort is in vain.
    """

    buckets: tuple[int, ...] | None = None

    def gather(self, rows: KeyRows, batches: Iterable[RowBatch]) -> tuple[bytes, int]:
        """Of all batches together."""
        every = np.concatenate([np.empty(0, dtype=np.uint64), *(self.of(rows, batch) for batch in batches)])
        sample = every[:: max(1, len(every) // _SAMPLE)]
        repeat = len(every) <= _SAMPLE or len(distinct(sample)) < len(sample)
        return (distinct(every) if repeat else every).tobytes(), len(every)

    def of(self, rows: KeyRows, batch: RowBatch) -> Words:
        """The hashes of one batch, as often as they come."""
        words = rows.counting_words(batch, key_hashes(rows.values(batch)))
        return words if self.buckets is None else in_buckets(words, self.buckets)


@dataclass(frozen=True, kw_only=True)
class Filled:
    """The bits of a Bloom filter of the hashes, laid end to end; and of how many rows these are."""

    slices: int
    bits_per_slice: int
    buckets: tuple[int, ...] | None = None

    def gather(self, rows: KeyRows, batches: Iterable[RowBatch]) -> tuple[bytes, int]:
        """Of all batches together."""
        hashed = Distinct(buckets=self.buckets)
        return bits_of_keys((hashed.of(rows, batch) for batch in batches), self.slices, self.bits_per_slice)


Ranked = dict[bytes, int]  # the text of a key → its hash, as Spark orders it


@dataclass(frozen=True, kw_only=True)
class Lowest:
    """The texts of the ``size`` keys whose texts have the lowest hashes, with these."""

    size: int

    def gather(self, rows: KeyRows, batches: Iterable[RowBatch]) -> Ranked:
        """Of all batches together."""
        ranked: Ranked = {}
        limit = int(np.iinfo(np.int64).max)
        for batch in batches:
            texts, ranks = rows.ranked(batch)
            counting = rows.counting_words(batch, ranks)
            candidates = distinct(counting[counting <= limit])
            if len(candidates) >= self.size:
                limit = min(limit, int(candidates[self.size - 1]))
            ranked |= rows.ranks_by_text(batch, texts, ranks, ranks <= limit)
            if len(ranked) > 2 * self.size:
                ranked = lowest(ranked, self.size)
        return lowest(ranked, self.size)


@dataclass(frozen=True, kw_only=True)
class Among:
    """Of these sorted hashes of texts of keys those that are there, with the texts that have them."""

    hashes: tuple[int, ...]

    def gather(self, rows: KeyRows, batches: Iterable[RowBatch]) -> Ranked:
        """Of all batches together."""
        ranked: Ranked = {}
        sorted_hashes = np.array(self.hashes, dtype=np.uint64)
        for batch in batches:
            texts, ranks = rows.ranked(batch)
            ranked |= rows.ranks_by_text(batch, texts, ranks, are_among(sorted_hashes, ranks.view(np.uint64)))
        return ranked


@dataclass(frozen=True, kw_only=True)
class Named:
    """Of these sorted hashes of keys those that are there, with the canonical texts of the keys that have them."""

    hashes: tuple[int, ...]

    def gather(self, rows: KeyRows, batches: Iterable[RowBatch]) -> Ranked:
        """Of all batches together."""
        ranked: Ranked = {}
        sorted_hashes = np.array(self.hashes, dtype=np.uint64)
        for batch in batches:
            values = rows.values(batch)
            words = key_hashes(values)
            if (flags := are_among(sorted_hashes, rows.counting_words(batch, words))).any():
                texts, flags = joined([canonical(column) for column in values]), are_among(sorted_hashes, words)
                ranked |= rows.ranks_by_text(batch, texts, words.view(np.int64), flags)
        return ranked


Take = Distinct | Filled | Lowest | Among | Named


def texts_in(parts: Sequence[Ranked]) -> list[str]:
    """All texts that tasks found, in order."""
    return sorted({text.decode() for part in parts for text in part})


def lowest_of(parts: Sequence[Ranked], size: int) -> list[str]:
    """The texts of lowest hash, these first, of what tasks found of the ``Lowest``."""
    return [text.decode() for text in lowest({text: rank for part in parts for text, rank in part.items()}, size)]


def among_texts(texts: Sequence[str]) -> Among:
    """Looks these texts up; UnableToTell where one is very long."""
    return Among(hashes=tuple(sorted({*ranks_of(texts_of(texts)).view(np.uint64).tolist()})))


def there_of(parts: Sequence[Ranked], texts: Sequence[str]) -> set[str]:
    """Which of the texts there are, of what tasks found ``among_texts``."""
    return set(texts_in(parts)).intersection(texts)


def distinct(words: Words) -> Words:
    """In order, and each once."""
    ordered = np.sort(words)
    first = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered if first.all() else ordered.compress(first)


def ranks_of(texts: pa.Array) -> Numbers:
    """Spark's hash of each text, as it orders them."""
    return hashes([Values(family=Family.TEXT, array=texts)]).view(np.int64)


def lowest(ranked: Ranked, size: int) -> Ranked:
    """The lowest in order; of two texts with one hash first the one that Spark sorts before."""
    return dict(sorted(ranked.items(), key=lambda entry: (entry[1], entry[0]))[:size])
