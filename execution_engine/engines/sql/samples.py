"""Samples of keys, drawn by the database: the keys of lowest hash, where each draw hashes in its own way."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from sqlalchemy import ColumnElement, literal_column

from execution_engine.engines.protocol import Measured, Wanted
from execution_engine.metrics.definition import NOTE
from execution_engine.metrics.definitions.sample import DEFAULT_SIZE, MAX_SIZE, Sample, bottom_keys, hash_of
from execution_engine.metrics.keys.key_text import Key, as_text
from execution_engine.metrics.signature import ColumnKind

from .source import SqlSource
from .time_column import MYSQL

RANK = "assay_rank"  # a function that each connection to SQLite is given
ROWS_AT_A_TIME = 10_000
MORE = 1.5  # times as many keys as are wanted are likely in the share of ranks that is looked at first


def take_sample(source: SqlSource, item: Wanted) -> Measured:
    """A sample of the keys as state; the value is its size, and at most so many rows are fetched.

    A database that is not known to have a hash sends all its keys, and the note of the measurement says so.
    """
    size = min(max(int(item.spec.option("n", DEFAULT_SIZE) or 0), 1), MAX_SIZE)
    rank = rank_of(source, item.spec.columns, draw_of(item))
    if rank is None:
        return _picked_here(source, item, size)
    return _measured(item, tuple(dict.fromkeys(_drawn(source, item, rank, size))))


def _drawn(source: SqlSource, item: Wanted, rank: str, size: int) -> list[Key]:
    """The distinct keys of lowest rank. Only as low a share of all ranks is sorted as likely holds enough of them."""
    rows = source.connection.execute(source.select(["count(*)"], item.spec.where)).scalar_one()
    found, low, high = list[Key](), 0.0, min(1.0, MORE * size / max(rows, 1))
    while True:
        found += _between(source, item, rank, low, high, size - len(found))
        if len(found) >= size or high >= 1:
            return found
        low, high = high, min(1.0, high * max(2.0, MORE * size / max(len(found), 1)))


def _between(source: SqlSource, item: Wanted, rank: str, low: float, high: float, size: int) -> list[Key]:
    """The keys whose rank is in a share of all ranks: so many at most, the lowest first.

    The rank is selected beside a key, so that two keys that a collation takes for one stay two.
    """
    names = [source.quote(name) for name in item.spec.columns]
    ranked = source.select([*names, rank], item.spec.where).distinct()
    hash_: ColumnElement[Any] = literal_column(rank)
    if low > 0:
        ranked = ranked.where(hash_ >= _edge(source, low))
    if high < 1:
        ranked = ranked.where(hash_ < _edge(source, high))
    rows = source.connection.execute(ranked.order_by(literal_column(f"m{len(names)}")).limit(size))
    return [tuple(map(as_text, row[:-1])) for row in rows]


def _edge(source: SqlSource, share: float) -> bytes | str:
    """Where the lowest share of all ranks ends."""
    first = int(share * 2**32).to_bytes(4)
    return first if source.connection.dialect.name == "sqlite" else first.hex()


def draw_of(item: Wanted) -> str:
    """What makes the hashes of one measurement other ones than those of the next, in letters and digits."""
    return blake2b(item.key.encode(), digest_size=8).hexdigest()


def rank_of(source: SqlSource, columns: Sequence[str], draw: str) -> str | None:
    """SQL for the hash of a key in a draw, the same in every session; None where no such function is known."""
    dialect, names = source.connection.dialect.name, [source.quote(name) for name in columns]
    if dialect == "sqlite":
        return f"{RANK}('{draw}', {', '.join(names)})"
    if dialect not in MYSQL:
        return None
    kinds = {name.lower(): kind for name, kind in source.columns.items()}
    texts = [
        f"cast({name} as char)" if kinds.get(column.lower()) is ColumnKind.NUMERIC else f"hex({name})"
        for name, column in zip(names, columns, strict=True)
    ]  # in hexadecimal, as a text has other bytes in another session's character set
    whole = ", ".join(f"coalesce({text}, '-')" for text in texts)
    return f"md5(concat_ws(',', '{draw}', {whole}))"


def rank(*values: Any) -> bytes:
    """The hash of a draw and a key, in SQLite."""
    return hash_of(tuple(map(as_text, values)))


def _picked_here(source: SqlSource, item: Wanted, size: int) -> Measured:
    names = [source.quote(name) for name in item.spec.columns]
    rows = source.select(names, item.spec.where)
    streamed = source.connection.execute(rows, execution_options={"yield_per": ROWS_AT_A_TIME})
    keys = bottom_keys((tuple(as_text(value) for value in row) for row in streamed), size, draw_of(item))
    note = f"all keys were fetched for the sample, as {source.connection.dialect.name} is not known to have a hash"
    return _measured(item, keys, {NOTE: note})


def _measured(item: Wanted, keys: tuple[tuple[str | None, ...], ...], detail: dict[str, Any] | None = None) -> Measured:
    state = Sample(columns=item.spec.columns, keys=keys).to_bytes()
    return Measured(value=float(len(keys)), state=state, detail=detail or {})
