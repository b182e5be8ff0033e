"""HyperLogLog sketches of Apache DataSketches, of 4,096 buckets, in one form for the same values.

A sketch that saw its values in their order may be estimated by that order; two tasks, or a file cut otherwise, would
then tell two numbers of the same values. So that equal data give equal bytes, a sketch is kept as what it knows alone:
the coupons of few values, sorted, or the greatest value of each bucket, marked as out of order.

Source: the serialized forms of DataSketches' HLL (preamble, modes LIST, SET and HLL_8), and its rules for coupons.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from struct import pack, unpack_from

import numpy as np
import numpy.typing as npt

LOG2_BUCKETS = 12  # 4 kB; standard error 1.04 / sqrt(4096) = 1.6 %
BUCKETS = 1 << LOG2_BUCKETS
MOST_COUPONS = 384  # three quarters of the largest hash set: with one more the buckets take over
Coupons = npt.NDArray[np.uint32]  # a value (number of leading zeros, and one) above an address of 26 bits
Registers = npt.NDArray[np.uint8]

_ADDRESS_BITS = 26
_LIST, _SET, _HLL = 0, 1, 2
_HLL_8 = 2 << 2
_SERIAL_VERSION, _FAMILY = 1, 7
_EMPTY, _COMPACT, _OUT_OF_ORDER = 4, 8, 16
_FULL_LIST = 8  # coupons, of which a list becomes a set
_LIST_LOG2, _LEAST_SET_LOG2 = 3, 5
_LATE = 32  # values from here on are added up apart from the others


@dataclass(frozen=True, kw_only=True, eq=False)
class HllState:
    """What a sketch knows: the coupons of few values, sorted, or by bucket the greatest value."""

    coupons: Coupons | None = None
    registers: Registers | None = None

    def to_bytes(self) -> bytes:
        """The serialized sketch; of buckets with the sums of 2 to the minus value, which are exact."""
        if self.registers is not None:
            weights, late = np.ldexp(1.0, -self.registers.astype(np.int64)), self.registers >= _LATE
            flags = _OUT_OF_ORDER | _COMPACT  # how the values came is not known
            head = pack("<8B", 10, _SERIAL_VERSION, _FAMILY, LOG2_BUCKETS, 0, flags, 0, _HLL | _HLL_8)
            head += pack("<3d", 0.0, float(weights[~late].sum()), float(weights[late].sum()))
            head += pack("<2i", int(np.count_nonzero(self.registers == 0)), 0)
            return head + self.registers.tobytes()
        assert self.coupons is not None
        count = len(self.coupons)
        if count < _FULL_LIST:
            flags = _COMPACT | (0 if count else _EMPTY)
            head = pack("<8B", 2, _SERIAL_VERSION, _FAMILY, LOG2_BUCKETS, _LIST_LOG2, flags, count, _LIST | _HLL_8)
        else:
            log2 = _LEAST_SET_LOG2
            while 4 * count > 3 << log2:
                log2 += 1
            head = pack("<8B", 3, _SERIAL_VERSION, _FAMILY, LOG2_BUCKETS, log2, _COMPACT, 0, _SET | _HLL_8)
            head += pack("<i", count)
        return head + self.coupons.astype("<u4").tobytes()


def state_of(coupons: Coupons) -> HllState:
    """Of the coupons of values, in any order and as often as they came."""
    codes = _codes_of(coupons)
    if np.count_nonzero(codes) <= MOST_COUPONS and len(distinct := np.unique(coupons)) <= MOST_COUPONS:
        return HllState(coupons=distinct)
    return HllState(registers=_greatest(codes))


def merged(states: Sequence[HllState]) -> HllState:
    """The state of the union."""
    coupons = [state.coupons for state in states if state.coupons is not None]
    registers = [state.registers for state in states if state.registers is not None]
    if not registers:
        return state_of(np.concatenate(coupons))
    return HllState(registers=np.maximum.reduce([*registers, *(_greatest(_codes_of(part)) for part in coupons)]))


def from_bytes(sketch: bytes) -> HllState:
    """The state in a serialized sketch of DataSketches, in whatever order its values came; ValueError for others."""
    preamble, version, family, log2, _, flags, count, mode = unpack_from("<8B", sketch)
    if (version, family, log2) != (_SERIAL_VERSION, _FAMILY, LOG2_BUCKETS):
        raise ValueError(f"the sketch is no HyperLogLog of {BUCKETS} buckets: measure the part again")
    if flags & _EMPTY:
        return HllState(coupons=np.empty(0, np.uint32))
    if mode & 3 == _HLL:
        if mode & 12 != _HLL_8:
            raise ValueError("the sketch packs its buckets otherwise than in bytes: measure the part again")
        return HllState(registers=np.frombuffer(sketch, np.uint8, BUCKETS, 4 * preamble).copy())
    held = (
        np.frombuffer(sketch, np.uint32, offset=4 * preamble) if len(sketch) > 4 * preamble else np.empty(0, np.uint32)
    )
    if mode & 3 == _LIST:
        held = held[:count]
    return HllState(coupons=np.sort(held[held != 0]))


def canonical(sketch: bytes) -> bytes:
    """The same sketch in its one form."""
    return from_bytes(sketch).to_bytes()


def _greatest(codes: npt.NDArray[np.bool_]) -> Registers:
    """By bucket the greatest value that is there; 0 where there is none."""
    of_bucket = codes.reshape(BUCKETS, 64)
    greatest = 63 - np.argmax(of_bucket[:, ::-1], axis=1)
    return np.where(of_bucket.any(axis=1), greatest, 0).astype(np.uint8)


def _codes_of(coupons: Coupons) -> npt.NDArray[np.bool_]:
    """By bucket and value, whether it came."""
    codes = np.zeros(BUCKETS << 6, dtype=np.bool_)
    codes[((coupons & (BUCKETS - 1)) << 6) | (coupons >> _ADDRESS_BITS)] = True
    return codes
