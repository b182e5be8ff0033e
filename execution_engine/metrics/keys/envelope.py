"""The envelope in which states of keys travel between datacenters: nothing in it is used before it was checked.

Laid out as magic, version, length of the header, SHA-256 of header and body, HMAC-SHA256 of all before it (zeros where
unsigned), the header as JSON, the body. What costs least is checked first, so that a forgery is refused at once.
"""

import hmac
import json
from collections.abc import Callable, Mapping
from hashlib import sha256
from struct import calcsize, pack, unpack
from typing import Any

MAGIC = b"ASSAYKEY"
VERSION = 2
MAX_BYTES = 64 * 1024 * 1024
MAX_HEADER_BYTES = 64 * 1024
MAX_COLUMNS = 64
_CLAIMS = f"<{len(MAGIC)}sBI32s"
_UNSIGNED = bytes(sha256().digest_size)
PREFIX_BYTES = calcsize(_CLAIMS) + len(_UNSIGNED)

Facts = Mapping[str, Any]


class UnableToReadKeys(ValueError):
    """The bytes are no state of keys that can be trusted."""


def seal(facts: Facts, body: bytes, key: bytes | None = None) -> bytes:
    """The envelope that ``unseal`` checks, signed where there is a key."""
    header = json.dumps(facts).encode()
    claims = pack(_CLAIMS, MAGIC, VERSION, len(header), _digest(header, body))
    return b"".join((claims, _signature(claims, header, key), header, body))


def unseal(state: bytes, kind: str, length_of: Callable[[Facts], int], key: bytes | None) -> tuple[Facts, memoryview]:
    """The header and the body; UnableToReadKeys unless every claim holds and the body is as long as the header demands.

    ``length_of`` checks the header and returns that length. Where there is a key, an unsigned envelope is refused.
    """
    if len(state) > MAX_BYTES:
        raise UnableToReadKeys(f"the state has {len(state)} bytes, more than {MAX_BYTES}")
    if len(state) < PREFIX_BYTES:
        raise UnableToReadKeys("the state is cut off")
    claims = state[: calcsize(_CLAIMS)]
    magic, version, header_bytes, digest = unpack(_CLAIMS, claims)
    if magic != MAGIC or version != VERSION or header_bytes > min(MAX_HEADER_BYTES, len(state) - PREFIX_BYTES):
        raise UnableToReadKeys(f"the bytes are no state of keys of version {VERSION}")
    view = memoryview(state)
    header, body = bytes(view[PREFIX_BYTES : PREFIX_BYTES + header_bytes]), view[PREFIX_BYTES + header_bytes :]
    signature = bytes(state[len(claims) : PREFIX_BYTES])
    if key is not None and not hmac.compare_digest(signature, _signature(claims, header, key)):
        raise UnableToReadKeys("the signature is missing or of another key; set the same ASSAY_STATE_KEY on both sides")
    try:
        facts = json.loads(header, parse_constant=_refuse)
    except (ValueError, RecursionError) as cause:
        raise UnableToReadKeys(f"the header cannot be read: {cause}") from cause
    if not isinstance(facts, dict) or facts.get("kind") != kind:
        raise UnableToReadKeys(f"the header is not that of a {kind}")
    if len(body) != length_of(facts):
        raise UnableToReadKeys(f"the body has {len(body)} bytes, not the {length_of(facts)} that its header demands")
    if _digest(header, body) != digest:
        raise UnableToReadKeys("the state is damaged, its checksum differs; build it again")
    return facts, body


def integer(facts: Facts, name: str, least: int, most: int) -> int:
    """A whole number of the header within its bounds; UnableToReadKeys for anything else."""
    value = facts.get(name)
    if type(value) is not int or not least <= value <= most:
        raise UnableToReadKeys(f"the header has {name} = {value!r:.50}, not a whole number in {least}..{most}")
    return value


def columns(facts: Facts) -> tuple[str, ...]:
    """The names of the key's columns; UnableToReadKeys for anything else."""
    names = facts.get("columns")
    if not isinstance(names, list) or not 1 <= len(names) <= MAX_COLUMNS or not all(type(n) is str for n in names):
        raise UnableToReadKeys(f"the header names no columns: {names!r:.50}")
    return tuple(names)


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _digest(header: bytes, body: bytes | memoryview) -> bytes:
    running = sha256(header)
    running.update(body)
    return running.digest()


def _signature(claims: bytes, header: bytes, key: bytes | None) -> bytes:
    return _UNSIGNED if key is None else hmac.digest(key, claims + header, "sha256")
