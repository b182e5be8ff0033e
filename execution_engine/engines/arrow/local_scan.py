"""A scan of small local files that is answered in this process: by their footers, and by the kernels as one task."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
from pyarrow import ArrowException

from execution_engine.engines.columns.column_types import expressions
from execution_engine.engines.columns.spec_check import kinds_of, sifted
from execution_engine.engines.files.footers import (
    FooterStatistics,
    columns_told,
    footer_statistics,
    is_full,
    read_columns,
    shown_columns,
    spark_type_of,
    told,
)
from execution_engine.engines.files.listing import Listing, UnableToListFiles, list_part
from execution_engine.engines.gathering import (
    NOTHING,
    AskedStatistic,
    Bins,
    FoundGroups,
    Keyed,
    Plan,
    PlannedGroups,
    measured_by,
    measured_of,
    of_no_rows,
    plan,
    planned_groups,
)
from execution_engine.engines.native.keys.gathering import (
    Distinct,
    Lowest,
    Named,
    Take,
    among_texts,
    lowest_of,
    texts_in,
    there_of,
)
from execution_engine.engines.native.keys.measures import (
    OF_KEYS,
    Missed,
    Pulled,
    counted_by_filters,
    filter_of_pulled,
    missed_of_pulled,
    pulled_of,
    shape_of,
)
from execution_engine.engines.native.keys.task import key_program, parts_of, tell
from execution_engine.engines.native.measure import (
    MOST_ROWS,
    binning,
    bins_of_ends,
    drafted,
    drafted_groups,
    ends_asked,
    found_of,
    found_of_groups,
    in_bins,
    of_groups,
    values_asked,
    with_groups,
)
from execution_engine.engines.native.nodes import UnableToTell
from execution_engine.engines.native.reading import Piece, Stored
from execution_engine.engines.native.task import Gleaned, Program, glean
from execution_engine.engines.native.values import family_of
from execution_engine.engines.protocol import SMALL_BYTES, WHOLE, Measured, Part, ScanReport, Table, Wanted
from execution_engine.metrics.definition import SHARED
from execution_engine.metrics.definitions.uniqueness import HISTOGRAM, bins_of
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

# What the kernels are given to read of a part: its plain columns, and its files by their row groups.


def stored_columns(listing: Listing, columns: Mapping[str, str]) -> dict[str, Stored]:
    """The plain columns, as they are stored in the newest file, and those that the names of folders hold.

    ``columns``: as assertions write them → Spark's type.
    """
    found = dict(_plain_columns(listing.schema, tuple(columns.items())))
    return found | {name.lower(): Stored(spark="string", arrow=pa.string()) for name in listing.folder_columns}


@lru_cache(maxsize=64)  # many tables and windows are alike
def _plain_columns(schema: pa.Schema, columns: tuple[tuple[str, str], ...]) -> Mapping[str, Stored]:
    found: dict[str, Stored] = {}
    names = Counter(name.lower() for name in schema.names)
    types = {name.lower(): type_ for name, type_ in columns}
    for name, type_ in zip(schema.names, schema.types, strict=True):
        spark = spark_type_of(type_)
        if spark is None or family_of(spark) is None or types.get(written(name).lower()) != spark:
            continue
        if names[name.lower()] == 1 and "." not in name:
            found[name.lower()] = Stored(spark=spark, arrow=type_)
    return found


def pieces_of(listing: Listing, footers: FooterStatistics) -> Iterator[tuple[Piece, Sequence[int]]]:
    """Each file with the row groups that have rows, and how many."""
    for file in listing.files:
        rows = footers.groups[file.path]
        folders = {name.lower(): value for name, value in listing.folder_values(file).items()}
        groups = tuple(at for at, count in enumerate(rows) if count)
        piece = Piece(path=file.path, groups=groups, size=file.size, mtime_ns=file.mtime_ns, folders=folders)
        yield piece, [rows[at] for at in groups]


# What the kernels tell of the rows of small files, as one task in this process: all that is asked, or nothing.


@dataclass(frozen=True, kw_only=True)
class Beside:
    """The measurements of a scan that are not made of statistics and groupings of all its rows."""

    grouped: Sequence[PlannedGroups] = ()
    histograms: Sequence[Wanted] = ()
    write: Expressions = PLAIN_EXPRESSIONS

    def __len__(self) -> int:
        return sum(len(each.items) for each in self.grouped) + len(self.histograms)

    def of_no_rows(self) -> dict[str, Measured]:
        """What they are where there are no rows, by their keys."""
        none = [of_no_rows(each.asked) for each in self.grouped]
        return _measured_by(self.grouped, none) | {item.key: NOTHING for item in self.histograms}


@dataclass(frozen=True, kw_only=True)
class Found:
    """What is known of all rows, and by their keys the measurements ``Beside``."""

    told: Mapping[AskedStatistic, Value]
    counted: Mapping[Keyed, Frequencies] = field(default_factory=dict)
    measured: Mapping[str, Measured] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Rows:
    """The rows of a table: its name, files and columns, as assertions write them → Spark's type."""

    name: str
    listing: Listing
    footers: FooterStatistics
    columns: Mapping[str, str]

    def are_few(self, most_bytes: int) -> bool:
        """Whether they may be read here: fewer bytes than these, and no more rows than one task keeps."""
        return not self.footers.rows or (self.listing.size < most_bytes and self.footers.rows <= MOST_ROWS)

    @cached_property
    def stored(self) -> dict[str, Stored]:
        """The plain columns."""
        return stored_columns(self.listing, self.columns)

    def glean(self, program: Program) -> list[Gleaned]:
        """What one task finds in all of them; nothing is read for a program that asks for nothing."""
        asks = program.asked or program.counted or program.grouped or program.binned
        return [glean(program, self.pieces)] if asks else [Gleaned()]

    @cached_property
    def pieces(self) -> list[Piece]:
        """All row groups of all files."""
        newest = self.listing.newest.path
        pieces = [piece for piece, _ in pieces_of(self.listing, self.footers)]
        return [replace(piece, footer=self.listing.footer) if piece.path == newest else piece for piece in pieces]


def found_in(rows: Rows, asked: Sequence[AskedStatistic], keyed: Sequence[Keyed], beside: Beside) -> Found | None:
    """What the kernels find; None where these leave anything to Spark."""
    of_footers = told(rows.footers, ends := ends_asked(beside.histograms, beside.write))
    more = [one for one in dict.fromkeys(ends) if one not in of_footers and one not in asked]
    draft = drafted(rows.stored, [*asked, *more], keyed, alone=True)
    by = [*(each.asked for each in beside.grouped), *values_asked(beside.histograms, beside.write)]
    groups = [drafted_groups(rows.stored, each, rows=rows.footers.rows) for each in by]
    if draft.left or any(each.left for each in groups):
        return None
    gleaned = rows.glean(with_groups(draft.program, groups))
    found, counted, left = found_of(draft, gleaned)
    of_groups = [found_of_groups(each, gleaned, at) for at, each in enumerate(groups)]
    if left or any(left_of_groups for _, left_of_groups in of_groups):
        return None
    every = [groups_found for groups_found, _ in of_groups]
    histograms = _histograms(rows, beside, {**of_footers, **found}, every[len(beside.grouped) :])
    if histograms is None:
        return None
    measured = _measured_by(beside.grouped, every[: len(beside.grouped)]) | histograms
    return Found(told=found, counted=counted, measured=measured)


def _measured_by(grouped: Sequence[PlannedGroups], found: Sequence[FoundGroups]) -> dict[str, Measured]:
    """The measurements by columns, from the groups of each."""
    return {
        item.key: measured_by(item, each.planned, groups)
        for each, groups in zip(grouped, found, strict=True)
        for item in each.items
    }


def _histograms(
    rows: Rows, beside: Beside, ends: Mapping[AskedStatistic, Value], values: Sequence[FoundGroups]
) -> dict[str, Measured] | None:
    """From the ends of their bins and the counts of their values; what lies in bins takes another look at the rows."""
    rest, write = iter(values), beside.write
    found = {
        item.key: of_groups(next(rest)) if bins_of(item.spec) is None else bins_of_ends(item, write, rows.name, ends)
        for item in beside.histograms
    }
    wide = [(item, bins) for item in beside.histograms if isinstance(bins := found[item.key], Bins)]
    counted = in_bins(wide, rows.glean(binning(wide, write, rows.stored)))
    measured = {**{key: each for key, each in found.items() if isinstance(each, Measured)}, **counted}
    return measured if len(measured) == len(found) else None


# Keys of small files, read by the kernels in this process, as one task; what these cannot tell is Spark's.


def measured_alone(rows: Rows, wanted: Sequence[Wanted], write: Expressions) -> tuple[dict[str, Measured], ReadBy]:
    """The metrics of keys, by their keys, and who read them; UnableToTell where one is Spark's."""
    readers = {item.key: KeysHere(rows=rows, write=write) for item in wanted}
    measured = {item.key: OF_KEYS[item.spec.name](readers[item.key], item) for item in wanted}
    if rows.footers.rows == 0:
        return measured, ReadBy(footers=len(wanted))
    return measured, ReadBy(kernels=sum(bool(reader.taken) for reader in readers.values()))


@dataclass(frozen=True, kw_only=True)
class KeysHere:
    """The keys of a few rows, as ``native.keys.measures.KeyReader`` has them; UnableToTell where they are Spark's."""

    rows: Rows
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

    def digest(self, item: Wanted) -> KeyDigest:
        pulled = self._pulled(item)
        return digest_of_hashes(item.spec.columns, pulled.hashes, pulled.rows)

    def built(self, item: Wanted, *, keys: int, counted: bool = False, buckets: Buckets | None = None) -> KeyFilter:
        shape = shape_of(item.spec, keys)
        _check_ours(shape.format)
        return filter_of_pulled(item.spec.columns, shape, self._pulled(item, buckets), buckets)

    def missed(self, item: Wanted, shipped: KeyFilter, own_keys: int | None) -> Missed:
        _check_ours(shipped.shape.format)
        return missed_of_pulled(shipped, self._pulled(item, shipped.buckets).hashes)

    def texts(self, item: Wanted, hashes: Hashes) -> list[str]:
        return texts_in(self._gathered(item, Named(hashes=tuple(sorted(hashes.tolist())))))

    def lowest(self, item: Wanted, size: int) -> list[str]:
        return lowest_of(self._gathered(item, Lowest(size=size)), size)

    def there(self, columns: Sequence[str], texts: Sequence[str]) -> set[str]:
        return there_of(self._of_columns(columns, None, among_texts(texts)), texts)

    def _pulled(self, item: Wanted, buckets: Buckets | None = None) -> Pulled:
        return pulled_of(self._gathered(item, Distinct(buckets=None if buckets is None else buckets.numbers)))

    def _gathered(self, item: Wanted, take: Take) -> list[Any]:
        return self._of_columns(item.spec.columns, item.spec.where, take)

    def _of_columns(self, columns: Sequence[str], where: str | None, take: Take) -> list[Any]:
        """What one task found, as a list; nothing of no rows."""
        if not self.rows.footers.rows:
            return []
        condition = None if where is None else self.write.condition(where)
        program = key_program(columns, condition, take, self.rows.stored)
        found = program if isinstance(program, Left) else parts_of([tell(program, self.rows.pieces)])
        if isinstance(found, Left):
            raise UnableToTell(found.why)
        self.taken.append(take)
        return found


def _check_ours(format_: Format) -> None:
    if format_ is Format.PYBLOOM:
        raise UnableToTell("pybloom_live's digests are Spark's to make")


# A scan of small local files that is answered in this process: no Spark, and so no Java, need be started for it.


def told_without_spark(table: Table, wanted: Sequence[Wanted], *, most_bytes: int = SMALL_BYTES) -> ScanReport | None:
    """The report of a whole table, as Spark would give it; None where anything asked for is Spark's to answer.

    By the footers of parquet files, and by their rows where the files have less than ``most_bytes``. What cannot be
    listed or read is None too: the engine says what is wrong with it. So is what does not lie on this machine: a store
    that hangs is left after a time by the engine alone.
    """
    started = monotonic()
    listing = _listed(table, WHOLE)
    return _report(table, listing, wanted, most_bytes, started) if listing else None


def told_of_small(table: Table, part: Part, wanted: Sequence[Wanted], most_bytes: int) -> ScanReport | None:
    """The same of a part; None of one whose files have ``most_bytes`` or more, whatever their footers tell."""
    started = monotonic()
    listing = _listed(table, part)
    is_small = listing is not None and listing.size < most_bytes
    return _report(table, listing, wanted, most_bytes, started) if listing and is_small else None


def _listed(table: Table, part: Part) -> Listing | None:
    """The whole files of this machine that hold the part; None where it is anything else."""
    if table.storage != "parquet" or urlsplit(table.location).scheme not in ("", "file"):
        return None
    try:
        listing = list_part(table, part)
    except (UnableToListFiles, OSError):
        return None
    return listing if listing.files and not listing.filtered else None


def _report(
    table: Table, listing: Listing, wanted: Sequence[Wanted], most_bytes: int, started: float
) -> ScanReport | None:
    try:
        found = _measured(table, listing, wanted, most_bytes)
    except (UnableToListFiles, UnableToTell, ArrowException, OSError):
        return None
    if found is None:
        return None
    measured, read_by = found
    return ScanReport(
        measured=measured,
        spark_jobs=0,
        seconds=monotonic() - started,
        fingerprint=listing.fingerprint,
        read_by=read_by,
    )


def _measured(
    table: Table, listing: Listing, wanted: Sequence[Wanted], most_bytes: int
) -> tuple[dict[str, Measured], ReadBy] | None:
    stored = read_columns(listing) | dict.fromkeys(listing.folder_columns, "string")
    columns = shown_columns(stored)
    prepared = _prepared_for(table, wanted, columns)
    if prepared.planned is None:
        return None
    whole = prepared.keys or prepared.beside.histograms  # which ask for more of the columns than is listed
    footers = footer_statistics(listing, None if whole else columns_told(prepared.asked))
    rows = Rows(name=table.name, listing=listing, footers=footers, columns=columns) if footers else None
    if not prepared.keys:
        return _shared(rows, wanted, prepared, most_bytes)
    if rows is None or not rows.are_few(most_bytes) or _leaves_to_spark(rows, prepared):
        return None
    meant = [replace(item, spec=spec) for item, spec in zip(wanted, prepared.specs, strict=True)]
    alone, by_kernels = measured_alone(rows, [meant[at] for at in prepared.keys], prepared.beside.write)
    sound = [item for at, item in enumerate(meant) if at not in prepared.refused]
    alone |= counted_by_filters(sound, alone, lambda name: is_full(footers, name))
    rest = [item for item in wanted if item.key not in alone]
    found = _shared(rows, rest, _prepared_for(table, rest, columns), most_bytes)
    return found and ({**alone, **found[0]}, together([found[1], by_kernels]))


def _leaves_to_spark(rows: Rows, prepared: "_Prepared") -> bool:
    """Whether any statistic or grouping of all rows is Spark's, before the keys are read in vain."""
    of_footers = told(rows.footers, prepared.asked)
    asked = [one for one in prepared.asked if one not in of_footers]
    return rows.footers.rows > 0 and bool(drafted(rows.stored, asked, prepared.keyed, alone=True).left)


def _prepared_for(table: Table, wanted: Sequence[Wanted], columns: Mapping[str, str]) -> "_Prepared":
    specs = tuple(item.spec for item in wanted)
    alike = specs, tuple(spec.text for spec in specs), tuple(columns.items())
    prepared = _prepared(*alike, "")
    return _prepared(*alike, table.name) if prepared.refused else prepared


def _shared(
    rows: Rows | None, wanted: Sequence[Wanted], prepared: "_Prepared", most_bytes: int
) -> tuple[dict[str, Measured], ReadBy] | None:
    """All but metrics of keys; without ``rows`` the footers tell nothing."""
    assert prepared.planned is not None
    of_footers = told(rows.footers, prepared.asked) if rows else {}
    if rows and rows.footers.rows == 0:
        keys = {keyed: Frequencies() for keyed in prepared.keyed}
        found: Found | None = Found(told={}, counted=keys, measured=prepared.beside.of_no_rows())
        read_by = ReadBy(footers=prepared.values)
    elif len(of_footers) == prepared.values:
        found, read_by = Found(told={}), ReadBy(footers=prepared.values)
    elif rows is None or not rows.are_few(most_bytes):
        return None
    else:
        left = [one for one in prepared.asked if one not in of_footers]
        found = found_in(rows, left, prepared.keyed, prepared.beside)
        read_by = ReadBy(footers=len(of_footers), kernels=prepared.values - len(of_footers))
    if found is None:
        return None
    known = {**of_footers, **found.told}
    measured = {
        item.key: prepared.refused.get(at)
        or found.measured.get(str(at))
        or measured_of(_twin(at, spec, item.keep_state), prepared.planned, known, found.counted)
        for at, (item, spec) in enumerate(zip(wanted, prepared.specs, strict=True))
    }
    return measured, read_by


@dataclass(frozen=True, kw_only=True)
class _Prepared:
    """What is asked over columns, by the places of the metrics; no plan where some of it is Spark's to answer."""

    specs: tuple[MetricSpec, ...]
    refused: Mapping[int, Measured]
    planned: Plan | None = None  # of all rows
    asked: Sequence[AskedStatistic] = ()
    keyed: Sequence[Keyed] = ()
    beside: Beside = field(default_factory=Beside)
    keys: Sequence[int] = ()  # the places of metrics of keys, each of which is measured by itself

    @property
    def values(self) -> int:
        """How many there are but for metrics of keys, as ``read_by`` counts them."""
        return len(self.asked) + len(self.keyed) + len(self.beside)


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
    keys = [int(item.key) for item in sound if item.spec.name in OF_KEYS]
    if len(histograms) + len(shared) + len(keys) < len(sound):
        return _Prepared(specs=meant, refused=refused)
    write = expressions(types)
    beside = Beside(grouped=tuple(planned_groups(shared, write)), histograms=histograms, write=write)
    planned = plan([item for item in shared if not item.spec.by], write)
    return _Prepared(
        specs=meant,
        refused=refused,
        planned=planned,
        asked=planned.asked,
        keyed=planned.keyed,
        beside=beside,
        keys=keys,
    )


def _twin(at: int, spec: MetricSpec, keep_state: bool = False) -> Wanted:
    """A metric, wanted by its place."""
    return Wanted(key=str(at), spec=spec, keep_state=keep_state)
