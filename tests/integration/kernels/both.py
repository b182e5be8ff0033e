"""Each condition on each row, as Spark answers it and as the kernels do: met, not met, or NULL."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import SparkSession

from execution_engine.engines.native.compiled import compiled
from execution_engine.engines.native.evaluation import Batch, Met
from execution_engine.engines.native.measure import names_in
from execution_engine.engines.native.nodes import Column, Node, UnableToTell
from execution_engine.engines.native.reading import Stored, batches
from execution_engine.engines.native.values import Values, values_of
from execution_engine.engines.protocol import WHOLE, Table
from execution_engine.engines.spark.failures import SPARK_ERRORS
from execution_engine.engines.spark.measures.native import pieces_of, stored_columns, why_not_here
from execution_engine.engines.spark.sources.source import SparkSource, open_source
from execution_engine.guard import UnableToAllow, read_condition

from .grammar import condition
from .tables import ROW, write_drawn

Truths = npt.NDArray[np.int8]  # of each row in turn: 1 met, 0 not met, -1 NULL
NULL = -1


@dataclass
class Tally:
    """What became of conditions; ``differing``: where the kernels say another thing, in words."""

    ends: Counter[str] = field(default_factory=Counter)
    truths: Counter[int] = field(default_factory=Counter)
    declined: Counter[str] = field(default_factory=Counter)
    differing: list[str] = field(default_factory=list)

    def add(self, other: "Tally") -> None:
        """Takes those of other tables."""
        self.ends += other.ends
        self.truths += other.truths
        self.declined += other.declined
        self.differing += other.differing


def judged(session: SparkSession, seed: int, count: int) -> Tally:
    """``count`` conditions over the table that ``seed`` draws, asked of both."""
    draw, tally = Random(seed), Tally()
    with TemporaryDirectory() as folder:
        drawn = write_drawn(draw, Path(folder))
        texts = list(dict.fromkeys(condition(draw, drawn) for _ in range(count)))
        source = open_source(session, Table(name="drawn", storage="parquet", location=folder), WHOLE)
        allowed = _allowed(texts, tally)
        ours = by_kernels(source, allowed, tally)
        theirs = by_spark(source, list(ours))
    tally.ends["asked"] += len(texts)
    tally.ends["native"] += len(ours)
    for sql, found in ours.items():
        expected = theirs[sql]
        if isinstance(expected, str) or not np.array_equal(found, expected):
            tally.differing.append(f"seed {seed}: {sql}: {found} here, {expected} by Spark")
        tally.truths.update(found.tolist())
    return tally


def _allowed(texts: Sequence[str], tally: Tally) -> list[str]:
    """As the guard writes them anew, without those that it refuses."""
    found = []
    for text in texts:
        try:
            found.append(read_condition(text).sql)
        except UnableToAllow:
            tally.ends["refused by the guard"] += 1
    return list(dict.fromkeys(found))


def by_kernels(source: SparkSource, conditions: Sequence[str], tally: Tally) -> dict[str, Truths]:
    """The truths of those conditions that the kernels answer; why they leave the others is counted."""
    if (why := why_not_here(source)) is not None:
        tally.declined[why] += len(conditions)
        return {}
    columns = stored_columns(source)
    nodes = _fitting(conditions, columns, tally)
    names = {name for node in nodes.values() for name in names_in(node)}
    read = {name: stored for name, stored in columns.items() if name in {*names, ROW}}
    found: dict[str, list[Truths]] = {sql: [] for sql in nodes}
    rows = [np.empty(0, np.int64)]
    try:
        for piece, _ in pieces_of(source):
            for batch in batches(piece, read):
                rows.append(batch.values(Column(name=ROW)).whole)
                _add(batch, nodes, found, tally)
    except UnableToTell as error:  # a file holds a column otherwise
        tally.declined[str(error)] += len(found)
        return {}
    order = np.argsort(np.concatenate(rows))
    return {sql: np.concatenate(truths)[order] for sql, truths in found.items() if truths}


def _fitting(conditions: Sequence[str], columns: Mapping[str, Stored], tally: Tally) -> dict[str, Node]:
    """The nodes of those that are of the closed language and fit the types, as ``measure`` finds out."""

    def empty(name: str) -> Values:
        if name not in columns:
            raise UnableToTell("it is no plain column of the files")
        return values_of(pa.array([], columns[name].arrow), columns[name].spark)

    nodes = {}
    for sql in conditions:
        try:
            nodes[sql] = compiled(sql)
            Batch(rows=0, columns=empty).met(nodes[sql])
        except UnableToTell as error:
            nodes.pop(sql, None)
            tally.declined[str(error)] += 1
    return nodes


def _add(batch: Batch, nodes: Mapping[str, Node], found: dict[str, list[Truths]], tally: Tally) -> None:
    for sql in list(found):
        try:
            found[sql].append(_truths(batch.met(nodes[sql])))
        except UnableToTell as error:
            tally.declined[str(error)] += 1
            del found[sql]


def _truths(met: Met) -> Truths:
    truths = met.yes.astype(np.int8)
    if met.null is not None:
        assert not np.any(met.yes & met.null)
        truths[met.null] = NULL
    return truths


def by_spark(source: SparkSource, conditions: Sequence[str]) -> dict[str, Truths | str]:
    """The truths of all in one query; of one that Spark refuses, why."""
    if not conditions:
        return {}
    try:
        asked = [f"({sql}) as c{at}" for at, sql in enumerate(conditions)]
        table = source.frame.selectExpr(f"`{ROW}`", *asked).toArrow()
    except SPARK_ERRORS as error:
        if len(conditions) == 1:
            return {conditions[0]: f"{type(error).__name__}: {str(error)[:200]}"}
        half = len(conditions) // 2
        return by_spark(source, conditions[:half]) | by_spark(source, conditions[half:])
    order = np.argsort(table.column(0).to_numpy())
    return {
        sql: table.column(at + 1).cast(pa.int8()).fill_null(NULL).to_numpy()[order] for at, sql in enumerate(conditions)
    }
