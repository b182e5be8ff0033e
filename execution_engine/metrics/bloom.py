"""``bloom_filter(keys)`` built in one datacenter, ``keys_found(keys)`` probed in another: UDQ's consistency by a Bloom
filter, which sends about two bytes a key."""

from .definition import Kind, MetricDefinition
from .signature import Signature

BLOOM_FILTER = MetricDefinition(
    signature=Signature(name="bloom_filter", min_columns=1, max_columns=None),
    kind=Kind.COMPOUND,
    portable=False,
)
KEYS_FOUND = MetricDefinition(
    signature=Signature(name="keys_found", min_columns=1, max_columns=None, needs_datacenter=True),
    kind=Kind.COMPOUND,
    inputs=("bloom_filter",),
    portable=False,
)
