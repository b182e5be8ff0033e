"""``keys_found(keys)``: how many distinct keys of this side the other side has too (UDQ's consistency test).

Its inputs are a digest of the keys of each side and, where these differ, a ``bloom_filter(keys)`` of the other side,
which sends one to eight bytes a key, of the buckets that differ only.
"""

from execution_engine.metrics.definition import Kind, MetricDefinition
from execution_engine.metrics.keys.filter_shape import ERROR_RATES, Format
from execution_engine.metrics.signature import ArgumentType, Signature
from execution_engine.metrics.spec import MetricSpec

OPTIONS = {
    "format": ArgumentType.TEXT,  # hashes, xxhash or pybloom; else by size
    "exact_keys": ArgumentType.NUMBER,  # so many keys are shipped as hashes rather than as a Bloom filter
    "error_rate": ArgumentType.NUMBER,  # of a Bloom filter: 0.01 or 0.001
}


def problem(spec: MetricSpec) -> str | None:
    """What is wrong with the options of a call."""
    format_, rate = spec.option("format"), spec.option("error_rate")
    if format_ is not None and format_ not in list(Format):
        return f"format is {format_!r}, not one of {', '.join(Format)}"
    if rate is not None and rate not in ERROR_RATES:
        return f"error_rate is {rate!r}, not one of {', '.join(map(str, ERROR_RATES))}"
    return None


KEY_DIGEST = MetricDefinition(
    formula="|V|; its state: of each of 4,096 buckets of V by hash the count, exclusive or and sum of hashes",
    source="datafold/data-diff (checksums by segment)",
    signature=Signature(name="key_digest", min_columns=1, max_columns=None),
    kind=Kind.COMPOUND,
    portable=False,
)
BLOOM_FILTER = MetricDefinition(
    formula="|V|; its state holds the hashes of V, or a Bloom filter of them",
    source="UDQ (build_bloom_filter); Bloom 1970; Kirsch and Mitzenmacher 2006",
    signature=Signature(name="bloom_filter", min_columns=1, max_columns=None, options=OPTIONS),
    kind=Kind.COMPOUND,
    problem=problem,
    portable=False,
)
KEYS_FOUND = MetricDefinition(
    formula="|V| - m / (1 - p), of V the m keys that are not in the other side's filter of error rate p",
    source="UDQ (use_bloom_filter)",
    signature=Signature(name="keys_found", min_columns=1, max_columns=None, options=OPTIONS, needs_datacenter=True),
    kind=Kind.COMPOUND,
    inputs=("key_digest", "bloom_filter"),
    problem=problem,
    portable=False,
)
