"""``sample(keys, n=1000)``: keys drawn upstream by the order of their hash; a database draws others each time.
``sample_size`` and ``sample_found`` tell how many there are and how many of them arrived downstream."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import blake2b
from heapq import nsmallest

from execution_engine.metrics.definition import (
    DATABASE,
    LAKE,
    SERVICE,
    ArgumentType,
    At,
    Dimension,
    Input,
    MetricDefinition,
    MetricKind,
    MetricPhrase,
    Signature,
    text_noop,
)
from execution_engine.metrics.expressions import written
from execution_engine.metrics.keys.key_text import Key, encode
from execution_engine.metrics.spec import MetricSpec

VERSION = 1
DEFAULT_SIZE = 1000
MAX_SIZE = 100_000
MAX_BYTES = 64 * 1024 * 1024


class UnableToReadSample(ValueError):
    """The bytes are no sample."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Distinct keys of a dataset."""

    columns: tuple[str, ...]
    keys: tuple[Key, ...]

    def to_bytes(self) -> bytes:
        """JSON lines: a header, then one key a line."""
        header = {"assay_sample": VERSION, "columns": self.columns, "size": len(self.keys)}
        lines = [header, *(list(key) for key in self.keys)]
        return "\n".join(json.dumps(line, ensure_ascii=False) for line in lines).encode()

    @classmethod
    def from_bytes(cls, state: bytes) -> "Sample":
        """The sample that ``to_bytes`` wrote; UnableToReadSample for anything else."""
        if len(state) > MAX_BYTES:
            raise UnableToReadSample(f"the sample has {len(state)} bytes, more than {MAX_BYTES}")
        try:
            header, *keys = [json.loads(line) for line in state.decode().split("\n")]
            columns = tuple(str(column) for column in header["columns"])
            complete = header["assay_sample"] == VERSION and header["size"] == len(keys)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise UnableToReadSample(f"the bytes are no sample: {error}") from error
        are_keys = all(
            isinstance(key, list) and len(key) == len(columns) and all(v is None or isinstance(v, str) for v in key)
            for key in keys
        )
        if not complete or not are_keys:
            raise UnableToReadSample(f"the sample is cut, damaged or not of version {VERSION}; take it again")
        return cls(columns=columns, keys=tuple(map(tuple, keys)))


def bottom_keys(keys: Iterable[Key], size: int, draw: str) -> tuple[Key, ...]:
    """The ``size`` keys of lowest hash in a draw, each once: every key is as likely, however many copies it has."""
    lowest: dict[bytes, Key] = {}
    limit = b"\xff" * 9
    for key in keys:
        rank = hash_of((draw, *key))
        if rank < limit:
            lowest[rank] = key
        if len(lowest) > 2 * size:
            lowest = {rank: lowest[rank] for rank in nsmallest(size, lowest)}
            limit = max(lowest)
    return tuple(lowest[rank] for rank in nsmallest(size, lowest))


def hash_of(key: Key) -> bytes:
    """The eight bytes by which keys are ordered here."""
    return blake2b(encode(key).encode(), digest_size=8).digest()


SAMPLE = MetricDefinition(
    signature=Signature(name="sample", min_columns=1, max_columns=None, options={"n": ArgumentType.NUMBER}),
    kind=MetricKind.COMPOUND,
    tells_values=True,
    formula="the n distinct keys of lowest hash",
    source="UDQ: completeness of sampled upstreams",
    meaning="a sample of the keys",
    phrase=MetricPhrase(noun=text_noop("the number of drawn keys")),
    dimension=Dimension.COMPLETENESS,
    taken_by={
        LAKE: "execution_engine.engines.spark.keys.engine:take_sample",
        DATABASE: "execution_engine.engines.sql.engine:take_sample",
    },
    of_primary_key=True,
    stays_while_missed=True,
)
OF_UPSTREAM = Input(
    spec=lambda call, upstream: MetricSpec(name=SAMPLE.name, columns=tuple(map(written, upstream.primary_key))),
    at=At.UPSTREAM,
)


SAMPLE_SIZE = MetricDefinition(
    signature=Signature(name="sample_size", arguments=(ArgumentType.DATASET,), takes_where=False),
    kind=MetricKind.DERIVED,
    tells_values=True,
    formula="keys in the sample",
    source="UDQ: completeness of sampled upstreams",
    meaning="how many keys the sample has",
    phrase=MetricPhrase(noun=text_noop("the number of drawn keys")),
    dimension=Dimension.COMPLETENESS,
    inputs=(OF_UPSTREAM,),
    taken_by={SERVICE: "execution_engine.freshness.derive:first_input"},
    of_primary_key=True,
)
SAMPLE_FOUND = MetricDefinition(
    signature=Signature(name="sample_found", arguments=(ArgumentType.DATASET,), takes_where=False),
    kind=MetricKind.COMPOUND,
    tells_values=True,
    formula="keys of the sample that are among the rows",
    source="UDQ: completeness of sampled upstreams",
    meaning="how many keys of the sample are here",
    phrase=MetricPhrase(noun=text_noop("the number of drawn keys that are here")),
    dimension=Dimension.COMPLETENESS,
    inputs=(OF_UPSTREAM,),
    taken_by={LAKE: "execution_engine.engines.spark.keys.engine:find_sample"},
    of_primary_key=True,
    # with the columns in which its keys are looked up, where these have other names than upstream
    held_to=lambda spec, of, _: (
        spec
        if of.key_upstream(str(spec.arguments[0])) == of.primary_key
        else replace(spec, columns=tuple(map(written, of.primary_key)))
    ),
)
