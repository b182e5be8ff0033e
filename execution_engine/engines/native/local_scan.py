"""A scan of small local files that is answered in this process: by their footers, and by the kernels as one task.

No Spark, and so no Java, need be started for it. It is all that is asked for, or nothing.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from time import monotonic
from typing import Any

import pyarrow as pa
from pyarrow import ArrowException
from pyarrow.fs import FileInfo, FileSystem

from assay.catalog.profile import PARQUET
from assay.stores import is_store
from execution_engine.engines.column_types import expressions
from execution_engine.engines.files.footers import (
    MOST_FOOTERS,
    FooterStatistics,
    assertion_columns,
    columns_told,
    footer_statistics,
    footer_values,
    group_rows,
    is_full,
    read_columns,
    spark_type_of,
)
from execution_engine.engines.files.listing import Listing, UnableToListFiles, list_part, read_footer
from execution_engine.engines.files.snapshot import LiveFile
from execution_engine.engines.files.stores import is_read_here
from execution_engine.engines.gathering import (
    NOTHING,
    Keyed,
    Plan,
    PlannedGroups,
    StatisticRequest,
    measured_by,
    measured_of,
    of_no_rows,
    plan,
    planned_groups,
)
from execution_engine.engines.protocol import SMALL_BYTES, WHOLE, Measured, MeasurementRequest, Part, ScanReport, Table
from execution_engine.engines.spec_check import kinds_of, sifted
from execution_engine.metrics.definition import SHARED
from execution_engine.metrics.definitions.uniqueness import HISTOGRAM
from execution_engine.metrics.expressions import PLAIN_EXPRESSIONS, Expressions, written
from execution_engine.metrics.keys.bits import Hashes
from execution_engine.metrics.keys.digest import Buckets, KeyDigest, digest_of_hashes
from execution_engine.metrics.keys.filter import KeyFilter
from execution_engine.metrics.keys.filter_shape import Format
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.frequencies import Frequencies
from execution_engine.metrics.states.statistics import Value
from execution_engine.read_by import Left, ReadBy, together

from . import key_metrics, key_tasks, measure
from .key_tasks import Take
from .language import LiteralKind, UnableToTell
from .pruning import Bounds, BoundsOf, may_count
from .reading import INSTANT, REPLACED, WHOLE_FILE, Piece, Stored, instants_of_spark, outcomes_in_folders
from .task import Program, TaskResult, glean
from .values import family_of

# What the kernels are given to read of a part: its plain columns, and its files by their row groups.


def stored_columns(listing: Listing, columns: Mapping[str, str]) -> dict[str, Stored]:
    """The plain columns, as they are stored in the newest file, and those that the names of folders hold.

    Fields of structs, as ``a.b``, are among them where the names in files tell where they lie: not in a snapshot, whose
    ids tell it. ``columns``: as assertions write them → Spark's type.
    """
    is_folder = listing.snapshot is None and listing.entry is None and not listing.is_orc
    instants = instants_of_spark(listing.footer) if is_folder else frozenset()
    plain = dict(_plain_columns(listing.schema, instants, tuple(columns.items()), is_folder))
    return plain | {name.lower(): Stored(spark="string", arrow=pa.string()) for name in listing.folder_columns}


@lru_cache(maxsize=64)  # many tables and windows are alike
def _plain_columns(
    schema: pa.Schema, instants: frozenset[str], columns: tuple[tuple[str, str], ...], with_inner: bool
) -> Mapping[str, Stored]:
    types = {name.lower(): type_ for name, type_ in columns}
    of_spark = {(name.lower(),) for name in instants}
    return {
        ".".join(path): Stored(spark=spark, arrow=INSTANT if is_instant else type_)
        for path, type_ in _fields_by_path(list(schema), with_inner)
        if (spark := spark_type_of(type_, is_instant := path in of_spark)) is not None
        if family_of(spark) is not None and types.get(".".join(map(written, path)).lower()) == spark
    }


def _fields_by_path(fields: Sequence[pa.Field], with_inner: bool) -> Iterator[tuple[tuple[str, ...], pa.DataType]]:
    """The fields with a name of their own, and those inside of structs, by their names in lower case.

    Where a name has a point ``a.b`` is no sure path, so that no struct beside it is looked into.
    """
    names = Counter(column.name.lower() for column in fields)
    with_inner = with_inner and not any("." in name for name in names)
    for column in fields:
        name = column.name.lower()
        if names[name] > 1 or "." in name:
            continue
        yield (name,), column.type
        if with_inner and pa.types.is_struct(column.type):
            for path, type_ in _fields_by_path(list(column.type), with_inner):
                yield (name, *path), type_


LARGE = 64 * 1024 * 1024  # bytes of a file of a snapshot whose row groups tasks should share


def pieces_of(listing: Listing, footers: FooterStatistics) -> Iterator[tuple[Piece, Sequence[int]]]:
    """Each file with the row groups that have rows, and how many; small files of a snapshot whole, and not opened."""
    store = listing.root.open_store()
    for file in listing.files:
        rows = listing.snapshot.files[file.path].rows if listing.snapshot else None
        if rows is not None and (file.size < LARGE or len(listing.files) > MOST_FOOTERS):
            yield piece_of(listing, file, WHOLE_FILE, store), [rows]
            continue
        counts = footers.groups[file.path] if file.path in footers.groups else group_rows(listing.root, file)
        groups = tuple(at for at, count in enumerate(counts) if count)
        yield piece_of(listing, file, groups, store), [counts[at] for at in groups]


def piece_of(listing: Listing, file: FileInfo, groups: tuple[int, ...], store: FileSystem | None) -> Piece:
    """Some row groups of one of the files, which lie in this store if in any."""
    deleted = listing.deleted_in(file)
    return Piece(
        path=listing.root.place(file.path),
        filesystem=store,
        prefix=listing.root.prefix,
        groups=groups,
        size=file.size,
        mtime_ns=file.mtime_ns,
        folders={name.lower(): value for name, value in listing.folder_values(file).items()},
        columns=listing.snapshot.columns if listing.snapshot else None,
        deleted=deleted if len(deleted) else None,
        is_checked_later=listing.is_checked_at_once,
        is_orc=listing.is_orc,
    )


def pieces_that_count(listing: Listing, program: Program, pieces: Sequence[Piece]) -> list[Piece]:
    """Those in which a row may count, by the log of the table and by the names of folders."""
    conditions = program.conditions
    if not conditions:
        return list(pieces)
    live = listing.snapshot.files if listing.snapshot else {}
    return [
        piece
        for piece in pieces
        if may_count(
            conditions,
            _bounds_in_log(live.get(piece.path.removeprefix(listing.root.prefix)), program.columns),
            outcomes_in_folders(piece, program.columns),
        )
    ]


_KINDS = {"date": LiteralKind.DATE, "timestamp": LiteralKind.TIMESTAMP}


def _bounds_in_log(file: LiveFile | None, columns: Mapping[str, Stored]) -> BoundsOf:
    """Of the columns of a file, of which some rows may be deleted."""

    def bounds_of(name: str) -> Bounds | None:
        if file is None or file.rows is None or name not in file.nulls or name not in columns:
            return None
        low, high = file.times.get(name) or (file.least.get(name), file.greatest.get(name))
        kind = _KINDS.get(columns[name].spark, LiteralKind.EXACT)
        return Bounds(rows=file.rows, nulls=file.nulls[name], low=low, high=high, kind=kind)

    return bounds_of


@dataclass(frozen=True, kw_only=True)
class TableRows:
    """The rows of a table: its name, files and columns, as assertions write them → Spark's type."""

    name: str
    listing: Listing
    footers: FooterStatistics
    columns: Mapping[str, str]

    def are_few(self, most_bytes: int) -> bool:
        """Whether they may be read here: fewer bytes than these, and no more rows than one task keeps."""
        return not self.footers.rows or (self.listing.size < most_bytes and self.footers.rows <= measure.MOST_ROWS)

    @cached_property
    def stored(self) -> dict[str, Stored]:
        """The plain columns."""
        return stored_columns(self.listing, self.columns)

    def glean(self, program: Program) -> list[TaskResult]:
        """What one task finds in all of them; nothing is read for a program that asks for nothing."""
        if not any((program.statistics, program.counted, program.grouped, program.binned, program.take)):
            return [TaskResult()]
        result = glean(program, pieces_that_count(self.listing, program, self.pieces))
        return [result if self.listing.is_unchanged() else TaskResult(failed=REPLACED)]

    @cached_property
    def pieces(self) -> list[Piece]:
        """All row groups of all files."""
        pieces = [piece for piece, _ in pieces_of(self.listing, self.footers)]
        if self.listing.snapshot or not self.listing.root.is_local:
            return pieces
        footers = (read_footer(self.listing.root, file) for file in self.listing.files)
        return [replace(piece, footer=footer) for piece, footer in zip(pieces, footers, strict=True)]


# What is asked, and its answer.


def report_without_spark(
    table: Table, requests: Sequence[MeasurementRequest], *, most_bytes: int = SMALL_BYTES
) -> ScanReport | None:
    """The report of a whole table, as Spark would give it; None where anything asked for is Spark's to answer.

    By the footers of parquet files, and by their rows where the files have less than ``most_bytes``. What cannot be
    listed or read is None too: the engine says what is wrong with it. Only what is wrong with a store is said here.
    """
    return _report(table, WHOLE, requests, most_bytes, is_small=False)


def report_of_small_part(
    table: Table, part: Part, requests: Sequence[MeasurementRequest], most_bytes: int
) -> ScanReport | None:
    """The same of a part; None of one whose files have ``most_bytes`` or more, whatever their footers tell."""
    return _report(table, part, requests, most_bytes, is_small=True)


def _report(
    table: Table, part: Part, requests: Sequence[MeasurementRequest], most_bytes: int, *, is_small: bool
) -> ScanReport | None:
    started = monotonic()
    if table.storage not in PARQUET or not is_read_here(table.location):
        return None
    try:
        listing = list_part(table, part)
        has_files = bool(listing.files or listing.snapshot)
        if not has_files or listing.filtered or (is_small and listing.size >= most_bytes):
            return None
        answer = _measured(table, listing, requests, most_bytes)
    except UnableToListFiles as error:
        if not is_store(table.location):
            return None
        failure = Measured(failure=error.failure)
        measured = {item.key: failure for item in requests}
        return ScanReport(measured=measured, spark_jobs=0, seconds=monotonic() - started, fingerprint=None)
    except (UnableToTell, ArrowException, OSError):
        return None
    if answer is None:
        return None
    measured, read_by = answer
    return ScanReport(
        measured=measured,
        spark_jobs=0,
        seconds=monotonic() - started,
        fingerprint=listing.fingerprint,
        read_by=read_by,
    )


def _measured(
    table: Table, listing: Listing, requests: Sequence[MeasurementRequest], most_bytes: int
) -> tuple[dict[str, Measured], ReadBy] | None:
    columns = assertion_columns(read_columns(listing) | dict.fromkeys(listing.folder_columns, "string"))
    prepared = _prepared_for(table, requests, columns)
    if prepared.planned is None:
        return None
    whole = prepared.keys or prepared.histograms  # which ask for more of the columns than is listed
    footers = footer_statistics(listing, None if whole else columns_told(prepared.statistic_requests))
    rows = TableRows(name=table.name, listing=listing, footers=footers, columns=columns)
    if not prepared.keys:
        return _shared(rows, requests, prepared, most_bytes)
    if not rows.are_few(most_bytes):
        return None
    if rows.footers.rows:  # nor read keys in vain
        of_footers = footer_values(rows.footers, prepared.statistic_requests)
        remaining_requests = [request for request in prepared.statistic_requests if request not in of_footers]
        if measure.drafted(rows.stored, remaining_requests, prepared.keyed, alone=True).left:
            return None
    meant = [replace(item, spec=spec) for item, spec in zip(requests, prepared.specs, strict=True)]
    alone, by_kernels = measured_alone(rows, [meant[at] for at in prepared.keys], prepared.write)
    sound = [item for at, item in enumerate(meant) if at not in prepared.refused]
    alone |= key_metrics.counted_by_filters(sound, alone, lambda name: is_full(footers, name))
    rest = [item for item in requests if item.key not in alone]
    shared = _shared(rows, rest, _prepared_for(table, rest, columns), most_bytes)
    return shared and ({**alone, **shared[0]}, together([shared[1], by_kernels]))


def _shared(
    rows: TableRows, requests: Sequence[MeasurementRequest], prepared: "_Prepared", most_bytes: int
) -> tuple[dict[str, Measured], ReadBy] | None:
    """All but metrics of keys."""
    assert prepared.planned is not None
    statistics: Mapping[StatisticRequest, Value] = footer_values(rows.footers, prepared.statistic_requests)
    counted: Mapping[Keyed, Frequencies] = {}
    others: Mapping[str, Measured] = {}
    read_by = ReadBy(footers=prepared.values)
    if rows.footers.rows == 0:
        counted, others = dict.fromkeys(prepared.keyed, Frequencies()), prepared.of_no_rows()
    elif len(statistics) != prepared.values:
        if not rows.are_few(most_bytes) or (answer := _by_kernels(rows, prepared, statistics)) is None:
            return None
        read_by = ReadBy(footers=len(statistics), kernels=prepared.values - len(statistics))
        statistics, counted, others = answer
    measured = {
        item.key: prepared.refused.get(at)
        or others.get(str(at))
        or measured_of(_twin(at, spec, item.keep_state), prepared.planned, statistics, counted)
        for at, (item, spec) in enumerate(zip(requests, prepared.specs, strict=True))
    }
    return measured, read_by


def _by_kernels(
    rows: TableRows, prepared: "_Prepared", of_footers: Mapping[StatisticRequest, Value]
) -> tuple[Mapping[StatisticRequest, Value], Mapping[Keyed, Frequencies], dict[str, Measured]] | None:
    """What is known of all rows, and the other measurements by their keys; None where anything is left to Spark."""
    write, grouped = prepared.write, prepared.grouped
    ends = measure.ends_asked(prepared.histograms, write)
    of_footers = {**of_footers, **footer_values(rows.footers, ends)}
    remaining_requests = [
        request for request in dict.fromkeys([*prepared.statistic_requests, *ends]) if request not in of_footers
    ]
    draft = measure.drafted(rows.stored, remaining_requests, prepared.keyed, alone=True)
    by = [*(group.request for group in grouped), *measure.values_asked(prepared.histograms, write)]
    groups = [measure.drafted_groups(rows.stored, group_request, rows=rows.footers.rows) for group_request in by]
    if draft.left or any(group.left for group in groups):
        return None
    native = measure.native_of(draft, groups, rows.glean(measure.with_groups(draft.program, groups)))
    if native.left or any(group.left for group in native.groups):
        return None
    statistics = {**of_footers, **native.statistics}
    histograms, left = measure.measured_histograms(
        prepared.histograms,
        write,
        rows.name,
        statistics,
        native,
        native.groups[len(grouped) :],
        lambda wide: rows.glean(measure.binning(wide, write, rows.stored)),
    )
    by_columns = {
        item.key: measured_by(item, planned_group.planned, groups_.results)
        for planned_group, groups_ in zip(grouped, native.groups, strict=False)
        for item in planned_group.items
    }
    return None if left else (statistics, native.counted, by_columns | histograms)


@dataclass(frozen=True, kw_only=True)
class _Prepared:
    """What is asked over columns, by the places of the metrics; no plan where some of it is Spark's to answer."""

    specs: tuple[MetricSpec, ...]
    refused: Mapping[int, Measured]
    planned: Plan | None = None  # of all rows
    statistic_requests: Sequence[StatisticRequest] = ()
    keyed: Sequence[Keyed] = ()
    grouped: Sequence[PlannedGroups] = ()
    histograms: Sequence[MeasurementRequest] = ()
    keys: Sequence[int] = ()  # the places of metrics of keys, each of which is measured by itself
    write: Expressions = PLAIN_EXPRESSIONS

    @property
    def values(self) -> int:
        """How many there are but for metrics of keys, as ``read_by`` counts them."""
        by_columns = sum(len(group.items) for group in self.grouped)
        return len(self.statistic_requests) + len(self.keyed) + by_columns + len(self.histograms)

    def of_no_rows(self) -> dict[str, Measured]:
        """The metrics by columns and the histograms where there are no rows, by their keys."""
        by_columns = {
            item.key: measured_by(item, group.planned, of_no_rows(group.request))
            for group in self.grouped
            for item in group.items
        }
        return by_columns | {item.key: NOTHING for item in self.histograms}


def _prepared_for(table: Table, requests: Sequence[MeasurementRequest], columns: Mapping[str, str]) -> _Prepared:
    specs = tuple(item.spec for item in requests)
    alike = specs, tuple(spec.text for spec in specs), tuple(columns.items())
    prepared = _prepared(*alike, "")
    return _prepared(*alike, table.name) if prepared.refused else prepared


@lru_cache(maxsize=64)  # many tables and windows are alike
def _prepared(
    specs: tuple[MetricSpec, ...], texts: tuple[str, ...], columns: tuple[tuple[str, str], ...], name: str
) -> _Prepared:
    """``texts``: of the specs, as 1 and 1.0 are equal, and told otherwise; ``name``: told of those that are refused."""
    types = dict(columns)
    twins = [_twin(at, spec) for at, spec in enumerate(specs)]
    sound, failed = sifted(twins, types, kinds_of(types), name)
    settled = {item.key: item.spec for item in sound}
    meant = tuple(settled.get(twin.key, twin.spec) for twin in twins)
    refused = {int(key): failure for key, failure in failed.items()}
    histograms = [item for item in sound if item.spec.name == HISTOGRAM.name]
    shared = [item for item in sound if METRICS[item.spec.name].kind in SHARED]
    keys = [int(item.key) for item in sound if item.spec.name in key_metrics.OF_KEYS]
    if len(histograms) + len(shared) + len(keys) < len(sound):
        return _Prepared(specs=meant, refused=refused)
    write = expressions(types)
    planned = plan([item for item in shared if not item.spec.by], write)
    return _Prepared(
        specs=meant,
        refused=refused,
        planned=planned,
        statistic_requests=planned.statistic_requests,
        keyed=planned.keyed,
        grouped=tuple(planned_groups(shared, write)),
        histograms=histograms,
        keys=keys,
        write=write,
    )


def _twin(at: int, spec: MetricSpec, keep_state: bool = False) -> MeasurementRequest:
    """A metric, wanted by its place."""
    return MeasurementRequest(key=str(at), spec=spec, keep_state=keep_state)


# Keys of small files, as one task; what the kernels cannot tell is Spark's.


def measured_alone(
    rows: TableRows, requests: Sequence[MeasurementRequest], write: Expressions
) -> tuple[dict[str, Measured], ReadBy]:
    """The metrics of keys, by their keys, and who read them; UnableToTell where one is Spark's."""
    readers = {item.key: KeysHere(rows=rows, write=write) for item in requests}
    measured = {item.key: key_metrics.OF_KEYS[item.spec.name](readers[item.key], item) for item in requests}
    if rows.footers.rows == 0:
        return measured, ReadBy(footers=len(requests))
    return measured, ReadBy(kernels=sum(bool(reader.taken) for reader in readers.values()))


@dataclass(frozen=True, kw_only=True)
class KeysHere:
    """The keys of a few rows, as ``key_metrics.KeyReader`` has them; UnableToTell where they are Spark's."""

    rows: TableRows
    write: Expressions
    taken: list[Take] = field(default_factory=list)  # what was read of the rows

    @property
    def name(self) -> str:
        return self.rows.name

    @property
    def columns(self) -> Collection[str]:
        return self.rows.columns

    def row_count(self) -> int:
        return self.rows.footers.rows

    def digest(self, item: MeasurementRequest) -> KeyDigest:
        pulled = self._pulled(item)
        return digest_of_hashes(item.spec.columns, pulled.hashes, pulled.rows)

    def built(
        self, item: MeasurementRequest, *, keys: int, counted: bool = False, buckets: Buckets | None = None
    ) -> KeyFilter:
        shape = key_metrics.shape_of(item.spec, keys)
        _check_ours(shape.format)
        return key_metrics.filter_of_pulled(item.spec.columns, shape, self._pulled(item, buckets), buckets)

    def missed(self, item: MeasurementRequest, shipped: KeyFilter, own_keys: int | None) -> key_metrics.MissedKeys:
        _check_ours(shipped.shape.format)
        return key_metrics.missed_of_pulled(shipped, self._pulled(item, shipped.buckets).hashes)

    def texts(self, item: MeasurementRequest, hashes: Hashes) -> list[str]:
        named = key_tasks.Named(hashes=tuple(sorted(hashes.tolist())))
        return key_tasks.texts_in(self._gathered(item.spec.columns, item.spec.where, named))

    def lowest(self, item: MeasurementRequest, size: int) -> list[str]:
        return key_tasks.lowest_of(
            self._gathered(item.spec.columns, item.spec.where, key_tasks.Lowest(size=size)), size
        )

    def there(self, columns: Sequence[str], texts: Sequence[str]) -> set[str]:
        return key_tasks.there_of(self._gathered(columns, None, key_tasks.among_texts(texts)), texts)

    def _pulled(self, item: MeasurementRequest, buckets: Buckets | None = None) -> key_metrics.Pulled:
        take = key_tasks.Distinct(buckets=None if buckets is None else buckets.numbers)
        return key_metrics.pulled_of(self._gathered(item.spec.columns, item.spec.where, take))

    def _gathered(self, columns: Sequence[str], where: str | None, take: Take) -> list[Any]:
        """What one task found, as a list; nothing of no rows."""
        if not self.rows.footers.rows:
            return []
        condition = None if where is None else self.write.condition(where)
        program = measure.key_program(columns, condition, take, self.rows.stored)
        parts = program if isinstance(program, Left) else measure.parts_of(self.rows.glean(program))
        if isinstance(parts, Left):
            raise UnableToTell(parts.why)
        self.taken.append(take)
        return parts


def _check_ours(format_: Format) -> None:
    if format_ is Format.PYBLOOM:
        raise UnableToTell("pybloom_live's digests are Spark's to make")
