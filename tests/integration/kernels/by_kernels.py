"""Each condition on each row, as the kernels answer it: met, not met, or NULL; without Spark."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from execution_engine.engines.files.footers import spark_type_of
from execution_engine.engines.native.evaluation import Met, RowBatch
from execution_engine.engines.native.language import ColumnNode, Node, UnableToTell, compiled, names_in
from execution_engine.engines.native.reading import Piece, Stored, batches
from execution_engine.engines.native.values import Values, family_of, values_of
from execution_engine.guard import UnableToAllow, read_condition

from .grammar import condition
from .tables import ROW, write_drawn

Truths = npt.NDArray[np.int8]  # of each row in turn: 1 met, 0 not met, -1 NULL
NULL = -1


@dataclass
class Tally:
    """What became of conditions; ``differing``: where the kernels say another thing than Spark, in words."""

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


def drawn_conditions(seed: int, count: int, folder: Path, tally: Tally, *, guarded: bool = True) -> list[str]:
    """Conditions over the table that ``seed`` draws into ``folder``; ``guarded``: as the guard writes them anew."""
    draw = Random(seed)
    drawn = write_drawn(draw, folder)
    texts = list(dict.fromkeys(condition(draw, drawn) for _ in range(count)))
    tally.ends["asked"] += len(texts)
    return list(dict.fromkeys(_guarded(texts, tally))) if guarded else texts


def _guarded(texts: Sequence[str], tally: Tally) -> Iterator[str]:
    for text in texts:
        try:
            yield read_condition(text).sql
        except UnableToAllow:
            tally.ends["refused by the guard"] += 1


def pieces_in(folder: Path) -> tuple[dict[str, Stored], list[Piece]]:
    """The plain columns of the newest file, and all files whole."""
    paths = sorted(folder.glob("*.parquet"))
    columns = {
        field.name.lower(): Stored(spark=spark, arrow=field.type)
        for field in pq.read_schema(paths[-1])
        if (spark := spark_type_of(field.type)) and family_of(spark) and "." not in field.name
    }
    pieces = []
    for path in paths:
        groups, stat = range(pq.read_metadata(path).num_row_groups), path.stat()
        pieces.append(Piece(path=str(path), groups=tuple(groups), size=stat.st_size, mtime_ns=stat.st_mtime_ns))
    return columns, pieces


def by_kernels(
    columns: Mapping[str, Stored], pieces: Iterable[Piece], conditions: Sequence[str], tally: Tally
) -> dict[str, Truths]:
    """The truths of those conditions that the kernels answer; why they leave the others is counted."""
    nodes = _fitting(conditions, columns, tally)
    names = {name for node in nodes.values() for name in names_in(node)}
    read = {name: stored for name, stored in columns.items() if name in {*names, ROW}}
    found: dict[str, list[Truths]] = {sql: [] for sql in nodes}
    rows = [np.empty(0, np.int64)]
    try:
        for piece in pieces:
            for batch in batches(piece, read):
                rows.append(batch.values(ColumnNode(name=ROW)).whole)
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
            RowBatch(rows=0, columns=empty).met(nodes[sql])
        except UnableToTell as error:
            nodes.pop(sql, None)
            tally.declined[str(error)] += 1
    return nodes


def _add(batch: RowBatch, nodes: Mapping[str, Node], found: dict[str, list[Truths]], tally: Tally) -> None:
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
