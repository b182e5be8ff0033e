"""A scan of small local files that is answered in this process: no Spark, and so no Java, need be started for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from time import monotonic
from urllib.parse import urlsplit

from pyarrow import ArrowException

from execution_engine.engines.columns.spark_sql import expressions
from execution_engine.engines.columns.spec_check import kinds_of, sifted
from execution_engine.engines.files.footer_statistics import columns_told, footer_statistics, is_full, told
from execution_engine.engines.files.footers import read_columns, shown_columns
from execution_engine.engines.files.listing import Listing, UnableToListFiles, list_part
from execution_engine.engines.gathering.assembly import Plan, measured_of, plan
from execution_engine.engines.gathering.groups import planned_groups
from execution_engine.engines.gathering.selects import AskedStatistic, Keyed
from execution_engine.engines.limits import SMALL_BYTES
from execution_engine.engines.native.keys.measures import OF_KEYS, counted_by_filters
from execution_engine.engines.native.measure import drafted
from execution_engine.engines.native.nodes import UnableToTell
from execution_engine.engines.protocol import WHOLE, Measured, Part, ScanReport, Table, Wanted
from execution_engine.metrics.definition import SHARED
from execution_engine.metrics.definitions.histogram import HISTOGRAM
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.frequencies import Frequencies
from execution_engine.read_by import ReadBy, together

from .keys import measured_alone
from .rows import Beside, Found, Rows, found_in


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
