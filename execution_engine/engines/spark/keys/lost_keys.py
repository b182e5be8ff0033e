"""The keys behind a few hashes, for people to read."""

from collections.abc import Sequence

from execution_engine.engines.native.keys.gathering import Named
from execution_engine.engines.protocol import Wanted
from execution_engine.engines.spark.jobs import action
from execution_engine.engines.spark.sources.source import SparkSource
from execution_engine.metrics.keys.bits import Hashes
from execution_engine.metrics.keys.key_text import decode

from .key_sql import HASH, TEXT, hash_of, quoted, spread_rows_of, text_of
from .native import KeysOf, gathered

NAMED_KEYS = 20  # lost keys that a measurement names

NamedKey = dict[str, str | None]


def named(texts: Sequence[str], columns: Sequence[str]) -> list[NamedKey]:
    """Keys by column, from their texts."""
    return [dict(zip(columns, decode(text), strict=True)) for text in texts]


def name_keys(source: SparkSource, item: Wanted, hashes: Hashes) -> list[NamedKey]:
    """The keys of the lowest of these hashes, by another look at the rows; none where there are no hashes."""
    few, columns = hashes[:NAMED_KEYS], item.spec.columns
    if not len(few):
        return []
    keys = KeysOf(source=source, columns=columns, where=item.spec.where)
    parts = gathered(keys, Named(hashes=tuple(sorted(few.tolist()))))
    if parts is not None:
        return named(sorted({text.decode() for part in parts for text in part}), columns)
    wanted = ", ".join(map(str, few.view("i8").tolist()))
    key = f"{hash_of(quoted(columns))} as {HASH}", f"{text_of(quoted(columns))} as {TEXT}"
    rows = (
        spread_rows_of(source, item.spec.where).selectExpr(*key).where(f"{HASH} in ({wanted})").select(TEXT).distinct()
    )
    found = action(rows.collect, rows=source.rows)
    return named(sorted(row[TEXT] for row in found), columns)
