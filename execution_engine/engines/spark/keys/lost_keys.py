"""The keys behind a few hashes, for people to read."""

from execution_engine.engines.native.keys.gathering import Named, texts_in
from execution_engine.engines.spark.jobs import action
from execution_engine.metrics.keys.bits import Hashes

from .key_sql import HASH, TEXT, hash_of, quoted, spread_rows_of, text_of
from .native import KeysOf, gathered


def texts_of(keys: KeysOf, hashes: Hashes) -> list[str]:
    """The texts of the keys that have one of these hashes, in order, by another look at the rows."""
    parts = gathered(keys, Named(hashes=tuple(sorted(hashes.tolist()))))
    if parts is not None:
        return texts_in(parts)
    wanted = ", ".join(map(str, hashes.view("i8").tolist()))
    key = f"{hash_of(quoted(keys.columns))} as {HASH}", f"{text_of(quoted(keys.columns))} as {TEXT}"
    rows = spread_rows_of(keys.source, keys.where).selectExpr(*key).where(f"{HASH} in ({wanted})").select(TEXT)
    return sorted(row[TEXT] for row in action(rows.distinct().collect, rows=keys.source.rows))
