"""What the platform asks of an engine: data in, data out; where the data lies is the engine's own business."""

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from hashlib import blake2s
from typing import Any, Protocol

from assay.time.stored_times import StoredTimes
from assay.time.windows import Window
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Failure, Reason
from execution_engine.read_by import NO_VALUES, ReadBy
from execution_engine.vitals.commits import Commit


@dataclass(frozen=True, kw_only=True)
class Table:
    """Where the data of one dataset lies in one datacenter.

    ``storage`` is one of ``FILES`` (``location``: path or URL of a folder or file), ``table`` (a table of Spark's
    catalog) or ``sql`` (a SQLAlchemy URL, the table's name in ``options['table']``, its schema in
    ``options['schema']``). ``location_label`` is what messages call the location where that is a secret. Links among
    its files, and the log of its files, may lead into the folders ``within`` (real ones, or URLs in a store), to
    anywhere where that is empty, and never into ``never``.
    """

    name: str
    storage: str
    location: str
    options: Mapping[str, str] = field(default_factory=dict)
    partition_column: str | None = None
    stored_times: StoredTimes | None = None  # where the partition column holds times, and a part is a range of them
    columns: Mapping[str, str] = field(default_factory=dict)
    location_label: str = ""
    within: tuple[str, ...] = ()
    never: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """Where it lies, for messages."""
        return self.location_label or self.location

    def redact_error(self, error: object) -> str:
        """An error in words that do not tell a secret location."""
        return type(error).__name__ if self.location_label else str(error)


NO_FILES = blake2s(digest_size=16).hexdigest()  # the fingerprint of a part of files that has none
HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"  # the key of rows whose partition key is null, as Hive and Spark write it


@dataclass(frozen=True, kw_only=True)
class Part:
    """What a window covers of a table: the partitions with these keys, or the rows whose time lies in ``range``.

    The range is half-open, in UTC; a database is asked for one where the table's ``stored_times`` say how. With neither
    keys nor a range the part is the whole table, with both it is the rows of either.
    """

    keys: tuple[str, ...] | None = None
    range: Window | None = None


WHOLE = Part()


@dataclass(frozen=True, kw_only=True)
class MeasurementRequest:
    """One measurement asked of a scan."""

    key: str
    spec: MetricSpec
    inputs: Mapping[str, bytes] = field(default_factory=dict)  # states it builds on, by the metric that left them
    tables: Mapping[str, Table] = field(default_factory=dict)  # what a query may read, by the name it uses
    keep_state: bool = False  # whether the state that merges with those of other parts is wanted too
    state_key: bytes | None = field(default=None, repr=False)  # signs and checks the states that travel


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What one measurement gave; ``value=None`` without a failure is SQL's NULL."""

    value: float | int | Decimal | None = None  # execution_engine.exact: no float where that would lose digits
    state: bytes | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    failure: Failure | None = None


@dataclass(frozen=True, kw_only=True)
class ScanReport:
    """All measurements of one scan, by their keys; ``fingerprint`` is of the very files that were read.

    ``snapshot`` is what people call the one that was read, where the table was pinned to one.
    """

    measured: Mapping[str, Measured]
    spark_jobs: int
    seconds: float
    fingerprint: str | None
    read_by: ReadBy = NO_VALUES
    snapshot: str = ""


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One scan of several that may share their Spark jobs."""

    table: Table
    part: Part
    requests: tuple[MeasurementRequest, ...]


@dataclass(frozen=True, kw_only=True)
class FailingRow:
    """One row: its values as texts, and the texts of the metrics that it breaks."""

    values: tuple[str | None, ...]
    breaks: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class FailingRows:
    """A sample of the rows that break metrics; ``failures`` says, by their texts, why some metrics have none."""

    columns: tuple[str, ...] = ()
    rows: tuple[FailingRow, ...] = ()
    failures: Mapping[str, Failure] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CommitLog:
    """The commits of a table that are newer than a mark, the oldest first, and the mark behind them.

    ``fault`` says why there are none where the storage tells of none, or its log cannot be read; the mark is as it was.
    ``folders``: the one column that names folders of a table without partitions, and its sorted values.
    """

    commits: tuple[Commit, ...] = ()
    mark: str = ""
    fault: str = ""
    folders: tuple[str, tuple[str, ...]] | None = None


BROKEN = "assay_broken"  # the column of texts that says which metrics a row breaks
ROWS_FILE = "rows.parquet"


@dataclass(frozen=True, kw_only=True)
class RowsRequest:
    """The rows that break metrics, to be written as parquet into ``bad``, a local folder that is there and empty.

    ``good``: the same for all other rows; empty: they are not written. ``constants`` are columns of one text for all
    bad rows. Of ``hidden`` columns, casefolded, only hashes under ``hash_key`` are written, without a key nothing.
    ``row_key`` are the columns whose values become the column ``assay_key``.
    """

    specs: tuple[MetricSpec, ...]
    bad: str
    good: str = ""
    limit: int | None = None  # of bad rows; None: all
    constants: Mapping[str, str] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()
    hash_key: bytes | None = field(default=None, repr=False)
    row_key: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class WrittenRows:
    """How many rows were written; ``failures`` says, by their texts, why some metrics have none.

    ``is_cut``: there are more bad rows than the limit. ``by``: who read them, kernels or spark. ``fingerprint`` is of
    the files that were read.
    """

    bad: int = 0
    good: int = 0
    is_cut: bool = False
    by: str = ""
    fingerprint: str | None = None
    failures: Mapping[str, Failure] = field(default_factory=dict)


class Engine(Protocol):
    """Reads one kind of storage."""

    name: str

    def scan(self, table: Table, part: Part, requests: Sequence[MeasurementRequest]) -> ScanReport:
        """Every measurement wanted; what cannot be measured is a Failure beside those that can."""

    def scan_all(self, units: Sequence[Unit]) -> tuple[ScanReport, ...]:
        """The reports of several scans, in their order; those of one shape share their Spark jobs."""

    def failing_rows(self, table: Table, part: Part, specs: Sequence[MetricSpec], limit: int) -> FailingRows:
        """Up to ``limit`` rows, 1,000 at most, that break the metrics; why there are none is data too."""

    def write_rows(self, table: Table, part: Part, request: RowsRequest) -> WrittenRows:
        """Write the rows that break metrics, whole or not at all where a metric of the request has a failure."""

    def fingerprint(self, table: Table, part: Part) -> str | None:
        """Changes whenever the files of the part do, found without reading data; None where there is none."""

    def fingerprints(self, table: Table, parts: Sequence[Part]) -> tuple[str | None, ...]:
        """The fingerprint of each part, in their order, found together."""

    def fingerprints_by_key(self, table: Table, part: Part) -> Mapping[str, str] | None:
        """The fingerprint of each partition of the part, by key; None where files do not tell partitions apart."""

    def written_at(self, table: Table, part: Part) -> datetime | None:
        """When the newest file of the part was written; None where nothing says it."""

    def commits(self, table: Table, mark: str, now: datetime) -> CommitLog:
        """What was committed since the mark of an earlier log, read from metadata alone; all that is kept without one.

        A storage that only counts what was changed has one commit at ``now`` for all that came since the mark.
        """

    def partitions(self, table: Table) -> tuple[str, ...] | None:
        """The keys present, sorted, ``HIVE_NULL`` that of null; None where there are none or they cannot be read."""

    def close(self) -> None:
        """Frees what the engine holds."""


@dataclass(frozen=True, kw_only=True)
class DescribedTable:
    """What a catalog says of one of its tables; ``keys`` are some of each partition column, in their order."""

    name: str
    kind: str = ""  # VIEW, MANAGED or EXTERNAL
    owner: str = ""
    comment: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)  # name → type
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class DescribedCatalog:
    """Tables of a catalog, or only their names; with a failure neither."""

    names: tuple[tuple[str, str], ...] = ()  # of database and table
    tables: tuple[DescribedTable, ...] = ()
    failure: Failure | None = None


class CatalogEngine(Engine, Protocol):
    """An engine with a catalog of its own."""

    def list_tables(self, catalog: str) -> DescribedCatalog:
        """The names of all tables of a catalog; an empty one is the session's."""

    def describe_tables(self, names: Sequence[str]) -> DescribedCatalog:
        """What the catalog says of the tables of these names, quoted as SQL has them."""


def none_failing(specs: Sequence[MetricSpec], failure: Failure) -> FailingRows:
    """No rows can be told, for one reason."""
    return FailingRows(failures={spec.text: failure for spec in specs})


def none_written(specs: Sequence[MetricSpec], failure: Failure) -> WrittenRows:
    """No rows can be written, for one reason."""
    return WrittenRows(failures={spec.text: failure for spec in specs})


def failed(reason: Reason, detail: str) -> Measured:
    """A measurement that could not be taken."""
    return Measured(failure=Failure(reason=reason, detail=detail))


# What a scan may take, of time and of memory.

SMALL_BYTES = 32 * 1024 * 1024  # of files: Spark reads them in one task, as two stages cost more than they save
_SIZE = re.compile(r"([1-9]\d*)([mg])", re.IGNORECASE)
_BYTES = {"m": 1024**2, "g": 1024**3}


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The bounds of every scan, and of the process that makes it."""

    deadline_seconds: float = 600
    memory: str = "2g"  # of Java's heap, and as much again for Python on top of what it starts with
    scans_per_child: int = 1000  # then a fresh one takes over, so that nothing that leaks grows for ever
    variables: tuple[str, ...] = ()  # of the environment, that the child may see beyond what Spark needs
    isolated: bool = True  # in a process that can be killed; false: in this one, for tests of the engine itself
    shows_log: bool = False  # whether what Spark and its Java print is let through to our standard error


@dataclass(frozen=True, kw_only=True)
class SparkOptions:
    """Where Spark runs: ``remote`` (Connect) if given, else ``master``; ``conf`` is added to our settings.

    ``memory`` (``2g``) bounds Java's heap, and by it what a query may return; ``java_options`` go to the driver's Java.
    ``native``: whether tasks read parquet files themselves, where that surely gives what Spark's own reading gives.
    ``in_process_bytes``: parts of local files with fewer bytes are read by the process of the session, without a job.
    """

    master: str = "local[2]"
    remote: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict, hash=False)
    memory: str = ""
    java_options: str = ""
    native: bool = True
    in_process_bytes: int = 0

    @property
    def is_local(self) -> bool:
        """Whether the JVM is started here."""
        return (self.remote or self.master).startswith("local")

    @property
    def most_bytes_here(self) -> int:
        """Of a part that the session's own process reads: with Connect none, as nobody could kill that process."""
        return self.in_process_bytes if self.native and not self.remote else 0


def bytes_of(size: str) -> int:
    """``512m`` or ``2g`` in bytes; ValueError for anything else."""
    match = _SIZE.fullmatch(size)
    if match is None:
        raise ValueError(f"{size!r} is no amount of memory; write 512m or 2g")
    return int(match[1]) * _BYTES[match[2].lower()]


# What is done about a call that does not end: wait for its deadline, cancel it, and in the end do without it.

CANCEL_SECONDS = 5.0  # to stop by its own means


class TooLate(Exception):
    """The call went on although it was cancelled."""


@dataclass(frozen=True, kw_only=True)
class CallAnswer:
    """What a call gave; ``is_late``: it was cancelled at its deadline, and this is what it had by then."""

    result: Any
    is_late: bool = False


def wait_for(answer: Future[Any], deadline_seconds: float, cancel: Callable[[], None]) -> CallAnswer:
    """The call's answer or its exception; TooLate where it has none soon after it was cancelled at its deadline."""
    if is_done(answer, deadline_seconds):
        return CallAnswer(result=answer.result())
    cancel()
    if is_done(answer, CANCEL_SECONDS):
        return CallAnswer(result=answer.result(), is_late=True)
    raise TooLate


def is_done(future: Future[Any], seconds: float) -> bool:
    """Whether it is answered by then; its exception is for who asks for its result."""
    try:
        future.exception(seconds)
    except TimeoutError:
        return False
    return True


def too_late(deadline_seconds: float) -> Failure:
    """What a measurement is told that passed its deadline."""
    detail = (
        f"it was stopped at its deadline of {deadline_seconds:g} s; make it cheaper (a narrower where, fewer keys), "
        "or raise ASSAY_SCAN_DEADLINE_SECONDS"
    )
    return Failure(reason=Reason.TIMEOUT, detail=detail)
