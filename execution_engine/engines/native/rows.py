"""The rows that break metrics, found and written by the kernels: a row group that its footer clears is not read."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from assay.stores import is_store
from execution_engine.engines.column_types import expressions
from execution_engine.engines.files.footers import assertion_columns, read_columns, unreadable
from execution_engine.engines.files.listing import Listing, UnableToListFiles, list_part, read_footer
from execution_engine.engines.files.stores import is_read_here
from execution_engine.engines.protocol import Part, RowsRequest, Table, WrittenRows, none_written
from execution_engine.engines.row_files import Flags, RowsFile, bad_rows, broken_texts, refuse_columns
from execution_engine.engines.row_rules import RowRule, row_rules
from execution_engine.engines.spec_check import kinds_of
from execution_engine.metrics.expressions import Expressions
from execution_engine.metrics.keys.bits import Hashes, are_among

from .evaluation import RowBatch
from .hashing import key_hashes
from .language import ColumnNode, Node, UnableToTell, compiled, names_in
from .local_scan import stored_columns
from .partials import keyless
from .pruning import Bounds, bounds_of_chunk, outcomes
from .reading import (
    LEAST_ROWS,
    MOST_BYTES,
    ROWS,
    Piece,
    Stored,
    UnableToReadPiece,
    batches,
    int96_columns,
    open_piece,
    unable_to_read,
)

MOST_KEYED_ROWS = 50_000_000  # whose keys are held at once, in 400 MB
MARKS = 1 << 22


def write_without_spark(table: Table, part: Part, request: RowsRequest) -> WrittenRows | None:
    """Write the rows of local parquet files; None where anything in it is Spark's to answer or to refuse."""
    if table.storage != "parquet" or not is_read_here(table.location):
        return None
    try:
        listing = list_part(table, part)
        if not listing.files or listing.filtered:
            return None
        return _write_rows(table, listing, request)
    except UnableToListFiles as error:
        return none_written(request.specs, error.failure) if is_store(table.location) else None
    except (UnableToTell, UnableToReadPiece, pa.ArrowException):
        return None


def _write_rows(table: Table, listing: Listing, request: RowsRequest) -> WrittenRows:
    columns = assertion_columns(read_columns(listing) | dict.fromkeys(listing.folder_columns, "string"))
    write = expressions(columns)
    rules, failures = row_rules(request.specs, columns, kinds_of(columns), table.name, write)
    if failures:
        return WrittenRows(failures=failures)
    if refusal := refuse_columns(table.name, [*listing.schema.names, *listing.folder_columns], request):
        return refusal
    marking = _Marking(listing=listing, rules=tuple(rules), write=write, columns=columns)
    bad, good = RowsFile(request.bad), RowsFile(request.good) if request.good else None
    is_cut = False
    with ExitStack() as files:
        for file in filter(None, (bad, good)):
            files.enter_context(file)
        for rows, flags in marking.rows_with_flags(with_good=good is not None):
            is_bad = np.logical_or.reduce(flags) if flags else np.zeros(rows.num_rows, dtype=np.bool_)
            if good is not None:
                good.add(rows.filter(pa.array(~is_bad)))
            room = None if request.limit is None else request.limit - bad.rows
            chosen = np.flatnonzero(is_bad)[:room]
            is_cut = room is not None and int(is_bad.sum()) > room
            broken = broken_texts([flag[chosen] for flag in flags], [rule.text for rule in rules])
            bad.add(bad_rows(rows.take(pa.array(chosen)), broken, request, listing.fingerprint))
            if is_cut:
                break
    return WrittenRows(
        bad=bad.rows, good=good.rows if good else 0, is_cut=is_cut, by="kernels", fingerprint=listing.fingerprint
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _KeysOfGroup:
    """The hash of each row's key, and which rows count."""

    hashes: Hashes
    counts: Flags


@dataclass(frozen=True, kw_only=True)
class _Marking:
    """Which rows of files break which rules; UnableToTell where a rule is Spark's to answer."""

    listing: Listing
    rules: Sequence[RowRule]
    write: Expressions
    columns: Mapping[str, str]

    def rows_with_flags(self, *, with_good: bool) -> Iterator[tuple[pa.Table, list[Flags]]]:
        """Yield rows with the flags of each rule, first no rows at all; without good rows only the bad ones."""
        names = {name for node in self.nodes if node for name in names_in(node)}
        names |= {column.name for key in self.keys for column in key}
        if int96_columns(self.listing.footer):
            raise UnableToTell("times of 96 bits are Spark's to write")
        stored = stored_columns(self.listing, self.columns)
        if missing := sorted(names - stored.keys()):
            raise UnableToTell(f"{missing[0]} is no plain column of the files")
        needed = {name: stored[name] for name in names}
        yield self.schema.empty_table(), [np.zeros(0, dtype=np.bool_) for _ in self.rules]
        pieces = list(self._pieces())
        hashed = self._keys_of_groups(pieces, needed)
        repeated = [
            _repeated_in([keys[at].hashes[keys[at].counts] for keys in hashed.values() if at in keys])
            for at in range(len(self.rules))
        ]
        for piece in pieces:
            for group in piece.groups:
                keys = hashed.get((piece.path, group), {})
                flags = self._flags(replace(piece, groups=(group,)), needed, keys, repeated)
                if with_good or any(flag.any() for flag in flags):
                    yield from self._rows(piece, group, flags, with_good=with_good)

    @cached_property
    def nodes(self) -> list[Node | None]:
        return [compiled(rule.condition) if rule.condition else None for rule in self.rules]

    @cached_property
    def keys(self) -> list[tuple[ColumnNode, ...]]:
        """The columns whose values are the key of each rule; none where it has a condition."""
        keys = []
        for rule in self.rules:
            names = rule.repeated.grouping.columns if rule.repeated else ()
            nodes = tuple(compiled(self.write.column(name)) for name in names)
            keys.append(tuple(node for node in nodes if isinstance(node, ColumnNode)))
        return keys

    @cached_property
    def schema(self) -> pa.Schema:
        """That of the newest file, with the columns that folders name."""
        schema = self.listing.schema.remove_metadata()
        for name in self.listing.folder_columns:
            schema = schema.append(pa.field(name, pa.string()))
        return schema

    def _pieces(self) -> Iterator[Piece]:
        store = self.listing.root.open_store()
        for file in self.listing.files:
            try:
                footer = read_footer(self.listing.root, file)
            except (pa.ArrowException, OSError) as error:
                raise unreadable(self.listing.root, file, error) from error
            folders = {name.lower(): value for name, value in self.listing.folder_values(file).items()}
            groups = tuple(at for at in range(footer.num_row_groups) if footer.row_group(at).num_rows)
            yield Piece(
                path=self.listing.root.place(file.path),
                filesystem=store,
                prefix=self.listing.root.prefix,
                groups=groups,
                size=file.size,
                mtime_ns=file.mtime_ns,
                folders=folders,
                footer=footer,
            )

    def _keys_of_groups(
        self, pieces: Sequence[Piece], needed: Mapping[str, Stored]
    ) -> dict[tuple[str, int], dict[int, _KeysOfGroup]]:
        """The keys of every row group by file and number, for each rule of repeated keys; one pass over all keys."""
        keyed = [at for at, key in enumerate(self.keys) if key]
        rows = sum(piece.footer.num_rows for piece in pieces if piece.footer)
        if keyed and rows * len(keyed) > MOST_KEYED_ROWS:
            raise UnableToTell("so many keys are Spark's to count")
        names = {column.name for key in self.keys for column in key} | self._where_names
        own = {name: needed[name] for name in names}
        hashed: dict[tuple[str, int], dict[int, _KeysOfGroup]] = {}
        for piece in pieces if keyed else ():
            for group in piece.groups:
                rows_of_group = batches(replace(piece, groups=(group,)), own)
                of_batches = [{at: self._keys_of(at, batch) for at in keyed} for batch in rows_of_group]
                hashed[piece.path, group] = {
                    at: _KeysOfGroup(
                        hashes=np.concatenate([keys[at].hashes for keys in of_batches]),
                        counts=np.concatenate([keys[at].counts for keys in of_batches]),
                    )
                    for at in keyed
                }
        return hashed

    @cached_property
    def _where_names(self) -> set[str]:
        wheres = (rule.where for rule in self.rules if rule.repeated and rule.where)
        return {name for where in wheres for name in names_in(compiled(where))}

    def _keys_of(self, at: int, batch: RowBatch) -> _KeysOfGroup:
        """The hash of each row's key, and which rows count."""
        rule, values = self.rules[at], [batch.values(node) for node in self.keys[at]]
        assert rule.repeated is not None
        counts = np.ones(batch.rows, dtype=np.bool_)
        if rule.where:
            counts = batch.met(compiled(rule.where)).yes.copy()
        null = None if rule.nulls else keyless(values, rule.repeated.grouping.partial)
        return _KeysOfGroup(
            hashes=key_hashes(values).view(np.uint64), counts=counts if null is None else counts & ~null
        )

    def _flags(
        self,
        piece: Piece,
        needed: Mapping[str, Stored],
        keys: Mapping[int, _KeysOfGroup],
        repeated: Sequence[Hashes],
    ) -> list[Flags]:
        """Which rows of one row group break each rule."""
        assert piece.footer is not None
        group = piece.footer.row_group(piece.groups[0])
        bounds = _bounds(group)
        flags = [np.zeros(group.num_rows, dtype=np.bool_) for _ in self.rules]
        for at, own in keys.items():
            if len(repeated[at]):
                flags[at] = own.counts & _flag_repeated(own.hashes, repeated[at])
        nodes = {at: node for at, node in enumerate(self.nodes) if node and True in outcomes(node, bounds.get)}
        names = {name for node in nodes.values() for name in names_in(node)}
        start = 0
        for batch in batches(piece, {name: needed[name] for name in names}) if nodes else ():
            for at, node in nodes.items():
                flags[at][start : start + batch.rows] = batch.met(node).yes
            start += batch.rows
        return flags

    def _rows(
        self, piece: Piece, group: int, flags: Sequence[Flags], *, with_good: bool
    ) -> Iterator[tuple[pa.Table, list[Flags]]]:
        """The whole rows of one row group, in batches; without good rows only the bad ones."""
        assert piece.footer is not None
        metadata = piece.footer.row_group(group)
        row_bytes = metadata.total_byte_size / max(metadata.num_rows, 1)
        size = min(ROWS, max(LEAST_ROWS, int(MOST_BYTES / max(row_bytes, 1))))
        start = 0
        for batch in _batches_of_group(piece, group, size):
            own = [flag[start : start + batch.num_rows] for flag in flags]
            start += batch.num_rows
            if not with_good:
                chosen = np.flatnonzero(np.logical_or.reduce(own))
                if not len(chosen):
                    continue
                batch, own = batch.take(pa.array(chosen)), [flag[chosen] for flag in own]
            yield self._fit_columns(batch, piece), own

    def _fit_columns(self, batch: pa.RecordBatch, piece: Piece) -> pa.Table:
        """The rows in the columns of the newest file: one that their file has not is null."""
        own = {name.lower(): at for at, name in enumerate(batch.schema.names)}
        columns = []
        for column in self.schema:
            name = column.name.lower()
            if name in piece.folders:
                columns.append(pa.repeat(pa.scalar(piece.folders[name], pa.string()), batch.num_rows))
            elif name in own:
                columns.append(batch.column(own[name]).cast(column.type))
            else:
                columns.append(pa.nulls(batch.num_rows, column.type))
        return pa.table(columns, schema=self.schema)


def _batches_of_group(piece: Piece, group: int, size: int) -> Iterator[pa.RecordBatch]:
    try:
        with (
            open_piece(piece) as (opened, footer),
            pq.ParquetFile(opened, metadata=footer, pre_buffer=piece.is_in_store) as parquet,
        ):
            yield from parquet.iter_batches(size, [group], use_threads=False)
    except OSError as error:
        raise unable_to_read(piece, error) from error


def _repeated_in(parts: Sequence[Hashes]) -> Hashes:
    if not parts:
        return np.zeros(0, dtype=np.uint64)
    ordered = np.sort(np.concatenate(parts))
    return np.unique(ordered[1:][ordered[1:] == ordered[:-1]])


def _flag_repeated(hashes: Hashes, ordered: Hashes) -> Flags:
    marks = np.zeros(MARKS, dtype=np.bool_)  # most hashes are none of them, which is seen without a search
    marks[(ordered & (MARKS - 1)).view(np.int64)] = True
    flags: Flags = marks[(hashes & (MARKS - 1)).view(np.int64)]
    candidates = np.flatnonzero(flags)
    flags[candidates] = are_among(ordered, hashes[candidates])
    return flags


def _bounds(group: pq.RowGroupMetaData) -> dict[str, Bounds]:
    """What the footer of a row group tells of its plain columns."""
    columns = (group.column(at) for at in range(group.num_columns))
    bounds = {
        column.path_in_schema.lower(): bounds_of_chunk(column, group.num_rows)
        for column in columns
        if "." not in column.path_in_schema
    }
    return {name: column_bounds for name, column_bounds in bounds.items() if column_bounds is not None}
