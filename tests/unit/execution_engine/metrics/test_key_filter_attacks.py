"""Filters that were damaged or forged on their way from another datacenter."""

import json
import os
import random
import resource
import subprocess
import sys
from functools import cache
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution_engine.metrics.keys.bits import no_bits, places_of_hashes, set_bits
from execution_engine.metrics.keys.envelope import MAX_BYTES, UnableToReadKeys
from execution_engine.metrics.keys.filter import KeyFilter, filter_of_parts
from execution_engine.metrics.keys.filter_shape import Format, shape_for
from tests.unit.execution_engine.metrics.key_files import FORMATS, a_filter, facts_of, forged, hashes

MUTATIONS = 10_000 if os.environ.get("ASSAY_FUZZ") == "full" else 300
HONEST = {format_: a_filter(format_).to_bytes() for format_ in FORMATS}
FALSE_CLAIMS: list[dict[str, Any]] = [
    {"capacity": 2**40},
    {"capacity": -1},
    {"capacity": True},
    {"capacity": "many"},
    {"capacity": 1e300},
    {"error_rate": float("nan")},
    {"error_rate": float("inf")},
    {"error_rate": -0.5},
    {"error_rate": 0.5},
    {"error_rate": None},
    {"keys": 801},
    {"keys": -1},
    {"keys": 10**30},
    {"rows": -1},
    {"columns": 7},
    {"columns": []},
    {"columns": [None]},
    {"format": "pickle"},
    {"format": ["xxhash"]},
    {"kind": "key_digest"},
    {"buckets": "zz"},
    {"buckets": "\u0663" * 1024},
]


def bloom_body(format_: Format, fill: bytes) -> bytes:
    """A body as long as the honest one, every byte of its bits the same."""
    body = a_filter(format_).body
    header = 0 if format_ is Format.HASHES else 40
    return body[:header] + fill * (len(body) - header)


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("claim", FALSE_CLAIMS, ids=str)
def test_a_false_claim_is_refused(format_: Format, claim: dict[str, Any]) -> None:
    state = forged(HONEST[format_], claim)
    if format_ is not Format.HASHES and claim == {"keys": 801}:
        return  # one key more sets as many bits, within chance; signatures are for that
    with pytest.raises(UnableToReadKeys):
        KeyFilter.from_bytes(state)


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("fill", [b"\xff", b"\x00", b"\x55"])
def test_bits_that_its_keys_do_not_set_are_refused(format_: Format, fill: bytes) -> None:
    with pytest.raises(UnableToReadKeys):
        KeyFilter.from_bytes(forged(HONEST[format_], body=bloom_body(format_, fill)))


@pytest.mark.parametrize("format_", [Format.XXHASH, Format.PYBLOOM])
@pytest.mark.parametrize("claimed", [10_000, 19_000, 21_000, 30_000])
def test_bits_of_more_or_fewer_keys_than_are_claimed_are_refused(format_: Format, claimed: int) -> None:
    """Too many bits would hide losses, too few would make up some."""
    honest = filter_of(20_000, capacity=40_000, format_=format_)
    assert KeyFilter.from_bytes(honest.to_bytes()).keys == 20_000
    with pytest.raises(UnableToReadKeys, match=f"bits of a slice are set, which {claimed} keys do not do"):
        KeyFilter.from_bytes(with_keys(honest, claimed).to_bytes())


@pytest.mark.parametrize("bits", [0, 4])
def test_a_slice_has_a_bit_of_some_key_and_no_more_bits_than_keys(bits: int) -> None:
    """Of few keys the share of bits says nothing."""
    honest = filter_of(3, capacity=800, format_=Format.XXHASH)
    body = bytearray(honest.body)
    slice_bytes = honest.shape.bits_per_slice // 8
    body[40 : 40 + slice_bytes] = bytes([2**bits - 1]) + bytes(slice_bytes - 1)
    with pytest.raises(UnableToReadKeys, match="bits of a slice are set, which 3 keys do not do"):
        KeyFilter.from_bytes(forged(honest.to_bytes(), body=bytes(body)))


def filter_of(keys: int, *, capacity: int, format_: Format) -> KeyFilter:
    shape = shape_for(capacity, format_=format_)
    bits = no_bits(shape.slices, shape.bits_per_slice)
    set_bits(bits, places_of_hashes(hashes(keys)))
    return filter_of_parts(shape, ("id",), [(bits, keys)], keys=keys)


def with_keys(honest: KeyFilter, keys: int) -> KeyFilter:
    """The same bits under another number of keys, in every header."""
    return filter_of_parts(honest.shape, honest.columns, [(honest.bits, max(keys, honest.rows))], keys=keys)


def test_one_slice_of_ones_is_refused() -> None:
    body = bytearray(a_filter(Format.XXHASH, 20_000).body)
    body[40 : 40 + len(body) // 7] = b"\xff" * (len(body) // 7)
    with pytest.raises(UnableToReadKeys, match="bits of a slice"):
        KeyFilter.from_bytes(forged(a_filter(Format.XXHASH, 20_000).to_bytes(), body=bytes(body)))


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("cut", [0, 1, 44, 77, 100, -1])
def test_a_filter_cut_short_or_padded_is_refused(format_: Format, cut: int) -> None:
    body = bytes(a_filter(format_).body)[:cut]
    for state in (HONEST[format_][:cut], HONEST[format_] + b"\0", forged(HONEST[format_], body=body)):
        with pytest.raises(UnableToReadKeys):
            KeyFilter.from_bytes(state)


@pytest.mark.parametrize("format_", [Format.XXHASH, Format.PYBLOOM])
@pytest.mark.parametrize("at", [0, 8, 16, 24, 32])
def test_pybloom_s_own_header_may_claim_nothing_else(format_: Format, at: int) -> None:
    """It begins with error rate, slices, bits of a slice, capacity and keys."""
    body = bytearray(a_filter(format_).body)
    body[at : at + 8] = (2**40).to_bytes(8, "little")
    with pytest.raises(UnableToReadKeys, match="header of pybloom_live"):
        KeyFilter.from_bytes(forged(HONEST[format_], body=bytes(body)))


@pytest.mark.parametrize("version", [0, 1, 3, 255])
def test_another_version_is_refused(version: int) -> None:
    state = bytearray(HONEST[Format.XXHASH])
    state[8] = version
    with pytest.raises(UnableToReadKeys, match="version 2"):
        KeyFilter.from_bytes(bytes(state))


def test_with_a_key_only_its_own_signature_is_believed() -> None:
    made = a_filter(Format.XXHASH)
    signed = made.to_bytes(b"secret")
    for state in (made.to_bytes(), made.to_bytes(b"other"), forged(signed, facts_of(signed) | {"keys": 799})):
        with pytest.raises(UnableToReadKeys, match="ASSAY_STATE_KEY"):
            KeyFilter.from_bytes(state, b"secret")


def test_no_change_of_a_file_goes_unnoticed() -> None:
    chance = random.Random(7)
    for _ in range(MUTATIONS):
        state = bytearray(HONEST[chance.choice(FORMATS)])
        read = [*range(45), *range(77, chance.choice((400, len(state))))]  # all but the place of a signature
        state[chance.choice(read)] ^= chance.randrange(1, 256)
        with pytest.raises(UnableToReadKeys):
            KeyFilter.from_bytes(bytes(state))


def test_no_change_of_a_header_under_a_true_checksum_raises_anything_else() -> None:
    chance = random.Random(8)
    values = [0, -1, 2**63, 2**70, 1e308, 0.01, "", "x", None, True, [], {}, [[]], "xxhash", "hashes", "pybloom"]
    for _ in range(MUTATIONS):
        state = HONEST[chance.choice(FORMATS)]
        names = chance.sample(sorted(facts_of(state)), chance.randint(1, 3))
        try:
            found = KeyFilter.from_bytes(forged(state, {name: chance.choice(values) for name in names}))
        except UnableToReadKeys:
            continue
        honest = KeyFilter.from_bytes(state)
        assert (found.shape, found.body) == (honest.shape, honest.body)


@given(st.binary(max_size=200))
def test_no_bytes_give_another_error(state: bytes) -> None:
    with pytest.raises(UnableToReadKeys):
        KeyFilter.from_bytes(state)


def costly(name: str) -> bytes:
    """A file of at most 64 MB, or hardly more, that costs as much as any to refuse."""
    room = MAX_BYTES - 4096
    match name:
        case "long":
            return b"ASSAYKEY" + b"\2" + bytes(2 * MAX_BYTES)
        case "padded":
            return HONEST[Format.XXHASH] + bytes(room - len(HONEST[Format.XXHASH]))
        case "nested":
            return forged(HONEST[Format.XXHASH])[:13] + b"[" * 65_000
        case "damaged":
            state = bytearray(largest())
            state[-1] ^= 1
            return bytes(state)
        case "ones":
            return forged(largest(), body=b"\xff" * len(KeyFilter.from_bytes(largest()).body))
        case _:
            ordered = np.arange(8_000_000, dtype="<u8")
            ordered[-1] = 0
            claims = {"capacity": len(ordered), "keys": len(ordered), "rows": len(ordered)}
            return forged(HONEST[Format.HASHES], claims, ordered.tobytes())


@cache
def largest() -> bytes:
    """A filter of four million keys, which takes seconds to build."""
    return a_filter(Format.XXHASH, 4_000_000).to_bytes()


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["long", "padded", "nested", "damaged", "ones", "unordered"])
def test_refusing_costs_a_tenth_of_a_second_and_64_mb_at_most(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(costly(name))
    root = Path(__file__).parents[4]
    environment = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'platform'}"}
    command = [sys.executable, __file__, str(file)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert told["refused"]
    assert told["seconds"] < 0.1
    assert told["bytes"] < 64 * 1024 * 1024


def refuse(path: str) -> dict[str, Any]:
    """What refusing a file takes: seconds of this processor, bytes beyond the file itself.

    The quickest of seven counts: whatever else the machine does meanwhile takes its caches and its memory's bandwidth.
    """
    state = Path(path).read_bytes()
    before, seconds, told = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, [], ""
    for _ in range(7):
        started = process_time()
        try:
            KeyFilter.from_bytes(state)
        except UnableToReadKeys as error:
            told = str(error)
        seconds.append(process_time() - started)
    used = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    return {"refused": told, "seconds": min(seconds), "bytes": used}


if __name__ == "__main__":
    print(json.dumps(refuse(sys.argv[1])))
