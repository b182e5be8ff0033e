"""``build_bloom_filter(key…)`` and ``use_bloom_filter(filter, key…)`` in SQL, as UDQ has them.

A filter is a string. Handed to a function as a column it would be copied beside every row, so a use of one is given a
function of its own that holds the filter: the filter must be a literal or a subquery, which is worked out first. Keys
are hashed by Spark; only hashes reach Python, in every worker. A subquery that does nothing but build is built by all
workers; among other aggregates each group is built by one worker in bounded memory.
"""

import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import sqlglot
from pybloom_live import BloomFilter
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql.pandas.functions import arrow_udf
from sqlglot import exp

from execution_engine.guard.sql_tree import Plain
from execution_engine.metrics.keys.bits import Hashes, are_among, are_in, places_of_hashes
from execution_engine.metrics.keys.envelope import UnableToReadKeys
from execution_engine.metrics.keys.filter import KeyFilter, filter_of_hashes, filter_of_parts
from execution_engine.metrics.keys.filter_shape import HELD, Format, largest_shape, shape_for

from . import workers
from .engine import PULLED_ROWS, fill
from .key_sql import HASH, hash_of
from .workers import filler, hashes_in, sealed_filter

BUILD, USE = "build_bloom_filter", "use_bloom_filter"
# Workers need numpy and pyarrow, but not this package.
_MODULES = [f"execution_engine.metrics.keys.{name}" for name in ("bits", "envelope", "filter_shape")]
for _module in (workers, *map(import_module, _MODULES), sys.modules[__name__]):
    cloudpickle.register_pickle_by_value(_module)

KEYS = ("key",)  # the columns of such a filter, which knows no names


@contextmanager
def filters_in(session: SparkSession, sql: str, key: bytes | None = None) -> Iterator[str]:
    """The SQL with both functions in terms of ones that exist while inside; UnableToReadKeys for a filter refused.

    Read and written by the guard's dialect, as the SQL has passed the guard already: nothing else in it may change.
    """
    tree = sqlglot.parse_one(sql, dialect=Plain)
    made = _Functions(session, key)
    try:
        yield made.expanded(tree) if _calls(tree, BUILD, USE) else sql
    finally:
        made.drop()


class _Functions:
    """The functions made for one query."""

    def __init__(self, session: SparkSession, key: bytes | None) -> None:
        self._session, self._key = session, key
        self._names: list[str] = []
        self._hashes: dict[str, str] = {}  # by the name that stands for them: sqlglot must not rewrite them

    def expanded(self, tree: exp.Expr) -> str:
        """The tree as SQL, every call in it replaced; the innermost filters first."""
        for call in reversed(_calls(tree, USE)):
            if len(call.expressions) < 2:
                raise UnableToReadKeys(f"{USE} takes a filter and the key's columns")
            filter_, *keys = call.expressions
            key_filter = self._filter(filter_, tree)
            call.replace(self._call(_use(key_filter), "boolean", keys))
        for call in _calls(tree, BUILD):
            call.replace(self._call(_build(BloomFilter.FILE_FMT), "string", call.expressions))
        return self._sql(tree)

    def drop(self) -> None:
        """The functions are gone."""
        for name in self._names:
            self._session.sql(f"drop temporary function if exists {name}")

    def _call(self, function: Callable[..., Any], returns: str, keys: Sequence[exp.Expr]) -> exp.Expr:
        name = f"assay_{uuid4().hex}"
        self._session.udf.register(name, arrow_udf(function, returns))  # type: ignore[call-overload]  # by its hints
        self._names.append(name)
        return exp.Anonymous(this=name, expressions=[self._hash(keys)])

    def _hash(self, keys: Sequence[exp.Expr]) -> exp.Expr:
        name = f"assay_{uuid4().hex}"
        self._hashes[name] = hash_of([f"({self._sql(key)})" for key in keys])
        return exp.column(name)

    def _sql(self, tree: exp.Expr) -> str:
        sql = tree.sql(dialect=Plain, comments=False)
        for name, text in self._hashes.items():
            sql = sql.replace(name, text)
        return sql

    def _filter(self, argument: exp.Expr, tree: exp.Expr) -> KeyFilter:
        if isinstance(argument, exp.Literal) and argument.is_string:
            return _read(argument.this, self._key)
        if not isinstance(argument, exp.Subquery) or not isinstance(argument.this, exp.Select):
            raise UnableToReadKeys(f"the filter of {USE} must be a string or a subquery: ({argument.sql(Plain):.80})")
        query = argument.this.copy()
        if tree.args.get("with_") is not None and query.args.get("with_") is None:
            query.set("with_", tree.args["with_"].copy())
        clauses, selects = {name for name, value in query.args.items() if value}, query.selects
        is_plain = clauses <= {"expressions", "from_", "where", "joins", "with_", "kind"} and len(selects) == 1
        if is_plain and _is_call(selects[0].unalias(), BUILD):  # it does nothing but build: all workers do
            keys = selects[0].unalias().expressions
            hashed = query.select(exp.alias_(self._hash(keys), HASH), append=False)
            frame = self._session.sql(self._sql(hashed))
            row_count = frame.count()
            if row_count <= PULLED_ROWS:
                hashes = np.unique(_hashes(frame.toArrow().column(0)))
                shape = shape_for(len(hashes)) if len(hashes) <= HELD else largest_shape()
                return filter_of_hashes(shape, KEYS, hashes, row_count)
            shape = shape_for(min(row_count, largest_shape().capacity), format_=Format.XXHASH)
            task = filler(shape.slices, shape.bits_per_slice, hashes_in, places_of_hashes)
            return filter_of_parts(shape, KEYS, fill(frame, task, shape, row_count))
        is_ours = bool(_calls(query, BUILD))
        rows = self._session.sql(self.expanded(query)).limit(2).collect()
        if len(rows) != 1 or len(rows[0]) != 1 or not isinstance(rows[0][0], str):
            raise UnableToReadKeys(f"the subquery of {USE} must give one filter: {query.sql(Plain):.80}")
        return _read(rows[0][0], None if is_ours else self._key)


def _read(text: str, key: bytes | None) -> KeyFilter:
    try:
        key_filter = KeyFilter.from_bytes(b64decode(text, validate=True), key)
    except ValueError as error:
        raise UnableToReadKeys(f"the filter of {USE} was refused: {error}") from error
    if key_filter.shape.format is Format.PYBLOOM:
        raise UnableToReadKeys(f"{USE} takes no filter of the format pybloom; build one by {BUILD}")
    return key_filter


def _build(head_format: bytes) -> Callable[[Iterator[pa.Array]], str]:
    def build(batches: Iterator[pa.Array]) -> str:
        return b64encode(sealed_filter(map(_hashes, batches), KEYS, head_format)).decode()

    return build


def _use(key_filter: KeyFilter) -> Callable[[pa.Array], pa.Array]:
    is_exact = key_filter.shape.format is Format.HASHES
    content: Any = key_filter.hashes if is_exact else key_filter.bits  # all that workers need of the filter

    def use(batch: pa.Array) -> pa.Array:
        hashes = _hashes(batch)
        return pa.array(are_among(content, hashes) if is_exact else are_in(content, places_of_hashes(hashes)))

    return use


def _hashes(batch: pa.Array | pa.ChunkedArray) -> Hashes:
    hashes: Hashes = batch.to_numpy(zero_copy_only=False).view(np.uint64)
    return hashes


def _calls(tree: exp.Expr, *names: str) -> list[exp.Anonymous]:
    return [node for node in tree.find_all(exp.Anonymous) if _is_call(node, *names)]


def _is_call(node: exp.Expr, *names: str) -> bool:
    return isinstance(node, exp.Anonymous) and str(node.this).lower() in names
