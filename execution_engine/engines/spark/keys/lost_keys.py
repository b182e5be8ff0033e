"""The keys behind a few hashes, for people to read."""

from collections.abc import Sequence

from execution_engine.engines.protocol import Wanted
from execution_engine.engines.spark.jobs import action
from execution_engine.engines.spark.sources.source import SparkSource
from execution_engine.metrics.keys.bits import Hashes
from execution_engine.metrics.keys.key_text import decode

from .key_sql import HASH, TEXT, hash_of, quoted, spread_rows_of, text_of

NAMED_KEYS = 20  # lost keys that a measurement names

NamedKey = dict[str, str | None]


def named(texts: Sequence[str], columns: Sequence[str]) -> list[NamedKey]:
    """Keys by column, from their texts."""
    return [dict(zip(columns, decode(text), strict=True)) for text in texts]


def name_keys(source: SparkSource, item: Wanted, hashes: Hashes) -> list[NamedKey]:
    """The keys of the lowest of these hashes, by another look at the rows; none where there are no hashes."""
    wanted = ", ".join(map(str, hashes[:NAMED_KEYS].view("i8").tolist()))
    if not wanted:
        return []
    columns = item.spec.columns
    key = f"{hash_of(quoted(columns))} as {HASH}", f"{text_of(quoted(columns))} as {TEXT}"
    rows = (
        spread_rows_of(source, item.spec.where).selectExpr(*key).where(f"{HASH} in ({wanted})").select(TEXT).distinct()
    )
    found = action(rows.collect, rows=source.rows)
    return named(sorted(row[TEXT] for row in found), columns)
