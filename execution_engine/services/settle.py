"""Measurements that their inputs settle, so that no data is read."""

from collections.abc import Sequence

from execution_engine.engines.protocol import Measured
from execution_engine.metrics.key_escalation import OTHER
from execution_engine.models import Measurement

DIGEST = "key_digest"
COMPARISONS = ("bloom_filter", "keys_found")


def settled_by(name: str, inputs: Sequence[Measurement]) -> Measured | None:
    """What a comparison of keys gives where the digests of all sides are equal; None where they are not."""
    digests = [part for part in inputs if part.metric.name == DIGEST]
    fingerprints = {str(part.detail.get("fingerprint", "")) for part in digests}
    if name not in COMPARISONS or len(fingerprints) != 1 or "" in fingerprints:
        return None
    return Measured(value=digests[0].value, detail={"settled": "equal digests", "missing": 0, "lost": []})


def input_name(measurement: Measurement, part: Measurement) -> str:
    """What an engine knows an input by: its metric and, of a digest, whose it is."""
    name = part.metric.name
    return OTHER if name == DIGEST and part.datacenter != measurement.datacenter else name
