"""``keys_found(keys)``: how many distinct keys of this side the other side has too (UDQ's consistency test).

Its inputs are a digest of the keys of each side and, where these differ, a ``bloom_filter(keys)`` of the other side,
which sends one to eight bytes a key, of the buckets that differ only.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from execution_engine.metrics.definition import (
    LAKE,
    ArgumentType,
    At,
    Dimension,
    Input,
    Keys,
    MetricDefinition,
    MetricKind,
    MetricPhrase,
    Signature,
    text_noop,
)
from execution_engine.metrics.keys.filter_shape import ERROR_RATES, Format
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


def settle(states: Mapping[str, bytes], key: bytes | None) -> tuple[float, dict[str, Any]] | None:
    """The keys of both sides where their digests are equal; None where they are not, or are not there.

    The digests themselves are compared, checked and with their signatures where there is a key, not what was noted of
    them; one that is refused is left to the engine, which says why.
    """
    # with it numpy, which many a command does not need
    from execution_engine.metrics.keys.digest import OTHER, OWN, KeyDigest
    from execution_engine.metrics.keys.envelope import UnableToReadKeys

    if OWN not in states or OTHER not in states:
        return None
    try:
        own, other = (KeyDigest.from_bytes(states[name], key) for name in (OWN, OTHER))
    except UnableToReadKeys:
        return None
    return settled(own.keys) if own.fingerprint == other.fingerprint else None


def settled(keys: int) -> tuple[float, dict[str, Any]]:
    """Of sides whose digests are equal: every key is on both."""
    return float(keys), {"settled": "equal digests", "missing": 0, "lost": []}


KEY_DIGEST = MetricDefinition(
    formula="|V|; its state: of each of 4,096 buckets of V by hash the count, exclusive or and sum of hashes",
    source="datafold/data-diff (checksums by segment)",
    meaning="how many different keys there are, with a print of them",
    phrase=MetricPhrase(noun=text_noop("the number of different %(columns)s")),
    dimension=Dimension.CONSISTENCY,
    signature=Signature(name="key_digest", min_columns=1, max_columns=None),
    kind=MetricKind.COMPOUND,
    taken_by={LAKE: "execution_engine.engines.spark.keys.engine:take_digest"},
    counts=Keys.ALL,
    both_sides=True,
)
BLOOM_FILTER = MetricDefinition(
    formula="|V|; its state holds the hashes of V, or a Bloom filter of them",
    source="UDQ (build_bloom_filter); Bloom 1970; Kirsch and Mitzenmacher 2006",
    meaning="how many different keys there are, with a filter of them",
    phrase=MetricPhrase(noun=text_noop("the number of different %(columns)s")),
    dimension=Dimension.CONSISTENCY,
    signature=Signature(name="bloom_filter", min_columns=1, max_columns=None, options=OPTIONS),
    kind=MetricKind.COMPOUND,
    problem=problem,
    taken_by={LAKE: "execution_engine.engines.spark.keys.engine:build_filter"},
    counts=Keys.ALL,
    settle=settle,
)
DIGESTS = tuple(
    Input(spec=lambda call, of: replace(call, name=KEY_DIGEST.name, options=()), at=at) for at in (At.HERE, At.THERE)
)
KEYS_FOUND = MetricDefinition(
    formula="|V| - m / (1 - p), of V the m keys that are not in the other side's filter of error rate p",
    source="UDQ (use_bloom_filter)",
    meaning="how many different keys the other datacenter has too",
    phrase=MetricPhrase(noun=text_noop("the number of different %(columns)s that the other datacenter has")),
    dimension=Dimension.CONSISTENCY,
    signature=Signature(name="keys_found", min_columns=1, max_columns=None, options=OPTIONS, needs_datacenter=True),
    kind=MetricKind.COMPOUND,
    inputs=(*DIGESTS, Input(spec=lambda call, of: replace(call, name=BLOOM_FILTER.name), at=At.THERE, inputs=DIGESTS)),
    settle=settle,
    problem=problem,
    taken_by={LAKE: "execution_engine.engines.spark.keys.engine:probe_filter"},
)
