"""The texts of a column: lengths, shapes, and which letters follow which."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .values import Floats, Ints, Numbers, ValueCounts, merged_numbers, merged_values

# The letters of texts, as classes of bytes: how often which follows which, shapes, and the index of peculiarity.

CLASSES = 64
MOST_LETTERS = 256  # bytes of each text whose pairs are counted
SHAPE_LENGTH = 32  # bytes of each text that make its shape
END, DIGIT, SPACE, BEYOND_ASCII = 0, 53, 54, 61
_MARKS = ("-_", ".,;:!?", "/\\|", "@#&%$+*=", "()[]{}<>\"'`~^")  # classes 55 to 59; all else in ASCII is 60

_FEW = 30_000  # trigrams

Bytes = npt.NDArray[np.uint8]


def _tables() -> tuple[Bytes, Bytes]:
    """Of each byte its class, and how it stands in a shape."""
    classes, shapes = np.full(256, 60, np.uint8), np.arange(256, dtype=np.uint8)
    for first, last, numbers in (("a", "z", range(1, 27)), ("A", "Z", range(27, 53)), ("0", "9", [DIGIT])):
        span = slice(ord(first), ord(last) + 1)
        classes[span], shapes[span] = numbers, ord("9" if first == "0" else first)
    classes[[ord(" "), ord("\t"), ord("\n"), ord("\r")]] = SPACE
    for number, marks in enumerate(_MARKS, start=55):
        classes[[ord(mark) for mark in marks]] = number
    classes[0x80:0xC0], classes[0xC0:0xE0], classes[0xE0:] = 61, 62, 63  # within, and first of two, three or four bytes
    shapes[0x80:] = ord("~")
    return classes, shapes


_CLASS_OF, _SHAPE_OF = _tables()

# What people call groups of classes; each letter of a text is in one of them.
GROUPS = {
    "lower case letters": range(1, 27),
    "upper case letters": range(27, 53),
    "digits": range(DIGIT, DIGIT + 1),
    "spaces": range(SPACE, SPACE + 1),
    "marks": range(55, BEYOND_ASCII),
    "letters beyond ASCII": range(BEYOND_ASCII, CLASSES),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Letters:
    """``pairs[64 · a + b]``: how often class b follows class a, ends of texts being a class; and the peculiarity."""

    pairs: Ints
    peculiarity: float


def letters_of(texts: pa.LargeBinaryArray, counts: Ints) -> Letters:
    """Of different texts, without nulls, and how many rows have each."""
    offsets, content = _content(pc.binary_slice(texts, 0, MOST_LETTERS))
    lengths = np.diff(offsets)
    stream = np.zeros(len(content) + len(lengths) + 1, np.int64)  # an end before, between and behind all texts
    stream[np.arange(len(content)) + np.repeat(np.arange(1, len(lengths) + 1), lengths)] = _CLASS_OF[content]
    codes = stream[:-1] * CLASSES + stream[1:]
    weights = np.repeat(counts, lengths + 1)
    pairs: Floats = np.bincount(codes, weights, CLASSES * CLASSES).astype(np.float64)
    return Letters(pairs=pairs.astype(np.int64), peculiarity=_peculiarity(stream, codes, weights, pairs))


def _peculiarity(stream: Ints, codes: Ints, weights: Ints, pairs: Floats) -> float:
    """The largest of all words: the root of the mean of (½ (log n(xy) + log n(yz)) − log n(xyz))² over its trigrams."""
    is_end = (stream == END) | (stream == SPACE)
    inside = ~(is_end[:-2] | is_end[1:-1] | is_end[2:])
    first, second = codes[:-1][inside], codes[1:][inside]
    if not len(first):
        return 0.0
    places = first * CLASSES + second % CLASSES
    if len(places) < _FEW:  # numbered, rather than counted in a quarter of a million cells
        places = np.unique(places, return_inverse=True)[1]
    often = np.bincount(places, weights[:-1][inside])[places]
    squares = (0.5 * np.log(pairs[first] * pairs[second]) - np.log(often)) ** 2
    words = np.cumsum(is_end)[1:-1][inside]
    of_word = np.bincount(words)
    means = np.bincount(words, squares)[of_word > 0] / of_word[of_word > 0]
    return float(np.sqrt(means.max()))


def shapes_of(texts: pa.LargeBinaryArray, counts: Ints) -> tuple[list[bytes], Ints]:
    """The different shapes of different texts, such as ``A99999`` of N14228, and how many rows have each."""
    offsets, content = _content(pc.binary_slice(texts, 0, SHAPE_LENGTH))
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(_SHAPE_OF[content])]
    shapes = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(offsets) - 1, buffers).dictionary_encode()
    rows = np.bincount(shapes.indices.to_numpy(), counts, len(shapes.dictionary))
    return shapes.dictionary.to_pylist(), rows.astype(np.int64)


def _content(texts: pa.LargeBinaryArray) -> tuple[Ints, Bytes]:
    """Where each text begins and ends, from 0 on, and the bytes of all."""
    _, places, content = texts.buffers()
    offsets = np.frombuffer(places, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    if content is None:
        return offsets - offsets[0], np.empty(0, np.uint8)
    return offsets - offsets[0], np.frombuffer(content, np.uint8)[offsets[0] : offsets[-1]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Texts:
    """Of rows that are not null. ``peculiarity`` of merged parts is the largest of theirs, each by its own letters."""

    lengths: Numbers = field(default_factory=Numbers)  # in characters; of binary values in bytes
    shapes: ValueCounts = field(default_factory=ValueCounts)
    pairs: Ints = field(default_factory=lambda: np.zeros(CLASSES * CLASSES, np.int64))
    peculiarity: float = 0.0


def merged_texts(parts: Sequence[Texts], points: int, shapes: int) -> Texts:
    """Of the union of disjoint parts."""
    return Texts(
        lengths=merged_numbers([part.lengths for part in parts], points),
        shapes=merged_values([part.shapes for part in parts], shapes),
        pairs=np.sum([part.pairs for part in parts], axis=0),
        peculiarity=max(part.peculiarity for part in parts),
    )
