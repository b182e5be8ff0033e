"""A scan of small local files that is answered in this process: no Spark, and so no Java, need be started for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from time import monotonic
from urllib.parse import urlsplit

from pyarrow import ArrowException

from execution_engine.engines.columns.spark_sql import expressions
from execution_engine.engines.columns.spec_check import kinds_of, sifted
from execution_engine.engines.files.footer_statistics import FooterStatistics, footer_statistics, told
from execution_engine.engines.files.footers import read_columns, shown_columns
from execution_engine.engines.files.listing import Listing, UnableToListFiles, list_part
from execution_engine.engines.gathering.assembly import Plan, measured_of, plan
from execution_engine.engines.gathering.selects import AskedStatistic, Keyed
from execution_engine.engines.limits import SMALL_BYTES
from execution_engine.engines.native.measure import MOST_ROWS, drafted, found_of
from execution_engine.engines.native.task import glean
from execution_engine.engines.protocol import WHOLE, Measured, Part, ScanReport, Table, Wanted
from execution_engine.metrics.definition import SHARED
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.frequencies import Frequencies
from execution_engine.metrics.states.statistics import Value
from execution_engine.read_by import ReadBy

from .pieces import pieces_of, stored_columns

Found = tuple[Mapping[AskedStatistic, Value], Mapping[Keyed, Frequencies]]


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
    except (UnableToListFiles, ArrowException, OSError):
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
    alike = tuple(item.spec for item in wanted), tuple(columns.items())
    prepared = _prepared(*alike, "")
    if prepared.refused:
        prepared = _prepared(*alike, table.name)
    planned = prepared.planned
    if planned is None:
        return None
    footers = footer_statistics(listing)
    found: dict[AskedStatistic, Value] = told(footers, prepared.asked)
    keys = {keyed: Frequencies() for keyed in prepared.keyed} if footers and footers.rows == 0 else {}
    left = [one for one in prepared.asked if one not in found], [one for one in prepared.keyed if one not in keys]
    read_by = ReadBy(footers=len(found) + len(keys), kernels=len(left[0]) + len(left[1]))
    if any(left):
        if footers is None or listing.size >= most_bytes or footers.rows > MOST_ROWS:
            return None
        gleaned = _gleaned(listing, footers, columns, *left)
        if gleaned is None:
            return None
        found, keys = {**found, **gleaned[0]}, {**keys, **gleaned[1]}
    measured = {
        item.key: prepared.refused.get(at) or measured_of(_twin(at, spec, item.keep_state), planned, found, keys)
        for at, (item, spec) in enumerate(zip(wanted, prepared.specs, strict=True))
    }
    return measured, read_by


@dataclass(frozen=True, kw_only=True)
class _Prepared:
    """What is asked over columns, by the places of the metrics; no plan where some of it is Spark's to answer."""

    specs: tuple[MetricSpec, ...]
    refused: Mapping[int, Measured]
    planned: Plan | None = None
    asked: Sequence[AskedStatistic] = ()
    keyed: Sequence[Keyed] = ()


@lru_cache(maxsize=64)  # many tables and windows are alike; ``name`` is in what is said of those that are refused
def _prepared(specs: tuple[MetricSpec, ...], columns: tuple[tuple[str, str], ...], name: str) -> _Prepared:
    types = dict(columns)
    twins = [_twin(at, spec) for at, spec in enumerate(specs)]
    sound, failed = sifted(twins, types, kinds_of(types), name)
    settled = {item.key: item.spec for item in sound}
    meant = tuple(settled.get(twin.key, twin.spec) for twin in twins)
    refused = {int(key): failure for key, failure in failed.items()}
    if any(item.spec.by or METRICS[item.spec.name].kind not in SHARED for item in sound):
        return _Prepared(specs=meant, refused=refused)
    planned = plan(sound, expressions(types))
    return _Prepared(specs=meant, refused=refused, planned=planned, asked=planned.asked, keyed=planned.keyed)


def _twin(at: int, spec: MetricSpec, keep_state: bool = False) -> Wanted:
    """A metric, wanted by its place."""
    return Wanted(key=str(at), spec=spec, keep_state=keep_state)


def _gleaned(
    listing: Listing,
    footers: FooterStatistics,
    columns: Mapping[str, str],
    asked: Sequence[AskedStatistic],
    keyed: Sequence[Keyed],
) -> Found | None:
    """What one task of the kernels finds in all rows; None where these leave anything to Spark."""
    draft = drafted(stored_columns(listing, columns), asked, keyed, alone=True)
    if draft.left:
        return None
    pieces = [piece for piece, _ in pieces_of(listing, footers)]
    read = [replace(piece, footer=listing.footer) if piece.path == listing.newest.path else piece for piece in pieces]
    gleaned = glean(draft.program, read)
    found, counted, left = found_of(draft, [gleaned])
    return None if left else (found, counted)
