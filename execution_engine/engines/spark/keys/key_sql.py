"""Keys as SQL: one hash, one text and one digest, the same in two datacenters whatever types hold the values there."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256, sha384
from struct import pack
from typing import Any

from pyspark.sql import DataFrame

from execution_engine.engines.column_types import column, length_prefixed
from execution_engine.engines.native import measure
from execution_engine.engines.native.key_tasks import Take
from execution_engine.engines.native.measure import FAILED, key_program, parts_of, tasks
from execution_engine.engines.spark.kernels import OFF, glean_in_tasks, pieces_in, stored_in, why_not_here
from execution_engine.engines.spark.sources import SparkSource
from execution_engine.metrics.keys.bits import BUCKETS, SHIFT
from execution_engine.metrics.keys.digest import Buckets
from execution_engine.metrics.keys.filter_shape import FilterShape
from execution_engine.metrics.keys.key_text import NULL
from execution_engine.read_by import Left

HASH, TEXT, DIGEST = "h", "k", "d"
EXACT_DOUBLES = 2**53  # below it every whole number is a double


def rows_of(source: SparkSource, where: str | None) -> DataFrame:
    """The rows that meet the condition."""
    return _meeting(source.frame, where)


def spread_rows_of(source: SparkSource, where: str | None) -> DataFrame:
    """The same, of files that are small but hold many rows read by all cores: hashing costs more than reading."""
    if source.spread is None or not source.small or (source.rows or 0) <= measure.TASK_ROWS:
        return rows_of(source, where)
    return _meeting(source.spread(), where)


def _meeting(frame: DataFrame, where: str | None) -> DataFrame:
    return frame if where is None else frame.where(f"(\n{where}\n)")


def hashes(source: SparkSource, columns: Sequence[str], where: str | None, buckets: Buckets | None = None) -> DataFrame:
    """One column, the hash of each row's key; with buckets only of the keys in them."""
    frame = spread_rows_of(source, where).selectExpr(f"{hash_of(quoted(columns))} as {HASH}")
    return frame if buckets is None else frame.where(in_buckets(HASH, buckets))


def digests(
    source: SparkSource, columns: Sequence[str], where: str | None, shape: FilterShape, buckets: Buckets | None
) -> DataFrame:
    """Two columns, the hash of each row's key and the digest that pybloom_live takes its bits from."""
    rows = spread_rows_of(source, where)
    key_hash = f"{hash_of(quoted(columns))} as {HASH}"
    frame = rows.selectExpr(key_hash, f"{digest_of(shape, quoted(columns))} as {DIGEST}")
    return frame if buckets is None else frame.where(in_buckets(HASH, buckets))


def hash_of(expressions: Sequence[str]) -> str:
    """The 64-bit hash of a key: xxhash64 takes the length of each text in, and whether it is null beside it."""
    return f"xxhash64({', '.join(f'{canonical(expression)}, isnull({expression})' for expression in expressions)})"


def text_of(expressions: Sequence[str]) -> str:
    """The key as one text that ``keys.decode`` reads: each value behind its length."""
    return length_prefixed([canonical(expression) for expression in expressions])


def digest_of(shape: FilterShape, expressions: Sequence[str]) -> str:
    """The SHA-2, in hexadecimal, of pybloom_live's salt and the key's text: in bytes, as joining strings costs more."""
    algorithm = _algorithm(shape)
    salt, parts = f"X'{algorithm(pack('I', 0)).hexdigest()}', ", []
    for expression in expressions:  # the bytes of the text behind its length, as ``length_prefixed`` writes it
        text = canonical(expression)
        length = f"cast(cast(char_length({text}) as string) as binary)"
        whole = f"concat({salt}{length}, X'3A', cast({text} as binary))"
        parts.append(f"coalesce({whole}, concat({salt}cast('{NULL}' as binary)))")
        salt = ""
    return f"sha2(concat({', '.join(parts)}), {algorithm().digest_size * 8})"


def quoted(columns: Sequence[str]) -> list[str]:
    """The columns as expressions."""
    return [column(name) for name in columns]


def digest_bytes(shape: FilterShape) -> int:
    """The length of a digest."""
    return int(_algorithm(shape)().digest_size)


def in_buckets(hash_: str, buckets: Buckets) -> str:
    """The condition that a hash is in one of the buckets."""
    if len(buckets.numbers) == BUCKETS:
        return "true"
    numbers = ", ".join(map(str, buckets.numbers)) or "null"
    return f"shiftrightunsigned({hash_}, {int(SHIFT)}) in ({numbers})"


def canonical(expression: str) -> str:
    """A value as text: numbers alike in int, bigint, decimal and double, timestamps in UTC, bytes in hexadecimal.

    Spark knows every typeof before it runs, so that of the CASE one branch is left.
    """
    text = f"cast({expression} as string)"
    number = f"try_cast({text} as double)"
    whole = f"{number} % 1 = 0 and abs({number}) < {EXACT_DOUBLES}"
    return (
        f"case when typeof({expression}) in ('float', 'double') "
        f"then case when {whole} then cast(cast({number} as bigint) as string) else {text} end "
        f"when typeof({expression}) like 'decimal%' and typeof({expression}) not like '%,0)' "
        f"then rtrim('.', rtrim('0', {text})) "
        f"when typeof({expression}) = 'binary' then hex(cast({text} as binary)) "
        f"else {text} end"
    )


def _algorithm(shape: FilterShape) -> Callable[..., Any]:
    """pybloom_live's choice: 7 or 10 words of 32 bits."""
    return sha256 if shape.slices * 4 <= sha256().digest_size else sha384


# Keys by the kernels: what the tasks of one job gather of them, or why Spark must read them.


@dataclass(frozen=True, kw_only=True)
class KeysOf:
    """The key of each row that meets the condition; with buckets only of the keys in them."""

    source: SparkSource
    columns: Sequence[str]
    where: str | None = None
    buckets: Buckets | None = None

    @property
    def numbers(self) -> tuple[int, ...] | None:
        """Of the buckets; None for all."""
        return None if self.buckets is None else self.buckets.numbers


def gathered(keys: KeysOf, take: Take, most: int | None = None) -> list[Any] | None:
    """What each task found, of at most so many, and nothing of no rows.

    None where Spark must read, for a reason that the source then holds.
    """
    source = keys.source
    if source.rows == 0:
        return []
    condition = None if keys.where is None else source.write.condition(keys.where)
    program = _why_all(source) or key_program(keys.columns, condition, take, stored_in(source))
    results: list[Any] | Left
    if isinstance(program, Left):
        results = program
    else:
        pieces = tasks(pieces_in(source), source.rows or 0, most)
        of_tasks = glean_in_tasks(source, program, pieces)
        results = parts_of(of_tasks) if of_tasks else FAILED
    if isinstance(results, Left):
        leave(source, results)
        return None
    source.reading.kernels = True
    return results


def leave(source: SparkSource, why: Left) -> None:
    """Notes why Spark must read, unless there is a reason for all of the source, or another one was noted before."""
    source.reading.left = source.reading.left or _why_all(source) or why


def _why_all(source: SparkSource) -> Left | None:
    return why_not_here(source) if source.reading.native else OFF
