"""Measurements that their inputs settle, so that no data is read."""

from collections.abc import Mapping

from execution_engine.engines.protocol import Measured
from execution_engine.metrics.keys.digest import KeyDigest
from execution_engine.metrics.keys.envelope import UnableToReadKeys
from execution_engine.metrics.keys.escalation import OTHER
from execution_engine.models import Measurement

DIGEST = "key_digest"
COMPARISONS = ("bloom_filter", "keys_found")


def settled_by(name: str, states: Mapping[str, bytes], key: bytes | None) -> Measured | None:
    """What a comparison of keys gives where the digests of both sides are equal; None where they are not.

    The digests themselves are compared, checked and with their signatures where there is a key, not what was noted of
    them; one that is refused is left to the engine, which says why.
    """
    if name not in COMPARISONS or DIGEST not in states or OTHER not in states:
        return None
    try:
        own, other = (KeyDigest.from_bytes(states[each], key) for each in (DIGEST, OTHER))
    except UnableToReadKeys:
        return None
    if own.fingerprint != other.fingerprint:
        return None
    return Measured(value=float(own.keys), detail={"settled": "equal digests", "missing": 0, "lost": []})


def input_name(measurement: Measurement, part: Measurement) -> str:
    """What an engine knows an input by: its metric and, of a digest, whose it is."""
    name = part.metric.name
    return OTHER if name == DIGEST and part.datacenter != measurement.datacenter else name
