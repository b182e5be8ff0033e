"""Whole scans, each by the kernels and by Spark alone: values, states and reasons of failures."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from pyspark.sql import SparkSession

from execution_engine.engines.gathering import Plan, StatisticRequest, measured_of, plan
from execution_engine.engines.native.local_scan import pieces_of, report_of_small_part, stored_columns
from execution_engine.engines.native.measure import Native, drafted, native_of
from execution_engine.engines.native.reading import Piece
from execution_engine.engines.native.task import from_bytes, load_results, loads_to_bytes
from execution_engine.engines.protocol import SMALL_BYTES, WHOLE, Measured, MeasurementRequest, Table
from execution_engine.engines.spark.kernels import taken_natively, why_not_here
from execution_engine.engines.spark.measures.gather import gather
from execution_engine.engines.spark.scan import measure_shared
from execution_engine.engines.spark.sources import SparkSource, open_source
from execution_engine.engines.spec_check import sifted
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.statistics import Gather, Statistic
from tests.integration.engines.alike import SUM, alike
from tests.integration.storages import DELTA, FOLDER, ORC, TABLE, as_orc, in_catalog, plain, stored

from .suites import suite
from .tables import Drawn, write_drawn

MOST_KEYS = 12
BY_TASKS, BY_PLATFORM = 0.05, 0.3  # of the scans: by tasks of Spark's, and as small files are read without Spark
Magnitudes = Mapping[str, Mapping[str, float]]  # by the key of a measurement, for ``alike``


@dataclass
class Scans:
    """What became of scans; ``differing``: where the kernels say another thing than Spark, in words."""

    ends: Counter[str] = field(default_factory=Counter)
    metrics: Counter[str] = field(default_factory=Counter)  # whose values both have read
    declined: Counter[str] = field(default_factory=Counter)
    differing: list[str] = field(default_factory=list)

    def add(self, other: "Scans") -> None:
        """Takes those of other tables."""
        self.ends += other.ends
        self.metrics += other.metrics
        self.declined += other.declined
        self.differing += other.differing


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A drawn table; its footers tell no more than its rows, so that the rest is read.

    ``plain``: the same rows in a folder, which Spark reads by itself.
    """

    table: Table
    source: SparkSource
    plain: SparkSource

    def sound(self, wanted: Sequence[MeasurementRequest]) -> list[MeasurementRequest]:
        """What can be asked of it; the rest is refused before anything is read."""
        return sifted(wanted, self.source.columns, self.source.kinds, self.source.name)[0]

    def by_spark(self, wanted: Sequence[MeasurementRequest]) -> Mapping[str, Measured]:
        """All in as few queries as can be; those that fail are halved, so that nothing is asked that is its alone."""
        return measure_shared(self.plain, wanted, native=False).measured


def opened(session: SparkSession, table: Table) -> Opened:
    """A table of files."""
    source = open_source(session, table, WHOLE)
    footers = replace(source.footers, columns={}) if source.footers else None
    by_kernels = replace(source, footers=footers)
    is_plain = plain(table) == table
    return Opened(
        table=table,
        source=by_kernels,
        plain=by_kernels if is_plain else open_source(session, plain(table), WHOLE),
    )


def in_folder(folder: Path, key: str | None = None) -> Table:
    """The table whose files lie in the folder."""
    return Table(name="drawn", storage="parquet", location=str(folder), partition_column=key)


def scanned(session: SparkSession, seed: int, count: int, storage: str = FOLDER) -> Scans:
    """``count`` scans of the table that ``seed`` draws, laid into a storage, asked of both."""
    draw = random.Random(seed)
    with TemporaryDirectory() as folder:
        drawn = write_drawn(draw, Path(folder), draw)
        if storage == TABLE:
            with in_catalog(session, in_folder(Path(folder))) as table:
                return asked_of_both(session, table, draw, drawn, count, f"seed {seed}")
        if storage == ORC:
            with TemporaryDirectory() as place:
                table = as_orc(session, in_folder(Path(folder)), Path(place) / "orc", by_spark=seed % 2 == 1)
                return asked_of_both(session, table, draw, drawn, count, f"seed {seed}")
        table = stored(in_folder(Path(folder), key_of(random.Random(seed), drawn, storage)), storage)
        return asked_of_both(session, table, draw, drawn, count, f"seed {seed}")


def key_of(draw: random.Random, drawn: Drawn, storage: str) -> str | None:
    """A column by whose values a lake may be cut; of Delta an empty text is null, and deltalake cuts no decimals."""
    fitting = [
        name
        for name in drawn.of("exact", "text", "day", "truth")
        if len(set(drawn.values[name])) <= MOST_KEYS and "" not in drawn.values[name]
        if not {".", "`"} & set(name)
        if storage != DELTA or not pa.types.is_decimal(drawn.kinds[name].arrow)
    ]
    return draw.choice([None, *fitting])


def asked_of_both(
    session: SparkSession, table: Table, draw: random.Random, drawn: Drawn, count: int, said: str
) -> Scans:
    """``count`` scans of a table, of what is drawn; ``said`` stands before what differs."""
    it, found = opened(session, table), Scans()
    if (why := why_not_here(it.source)) is not None:
        found.declined[why.why] += count
        return found
    suites = [it.sound(requests_of(suite(draw, drawn))) for _ in range(count)]
    ours = [_by_kernels(draw, it, wanted, found) for wanted in suites]
    both = {item.key: item for told, wanted in zip(ours, suites, strict=True) for item in wanted if item.key in told}
    theirs, magnitudes = it.by_spark(list(both.values())), magnitudes_of(it.plain, list(both.values()))
    for told, wanted in zip(ours, suites, strict=True):
        _compare(found, wanted, told, theirs, magnitudes)
    if it.plain is not it.source:
        _compare_by_spark(it, [item for wanted in suites for item in wanted], found)
    found.differing = [f"{said}: {each}" for each in found.differing]
    return found


def requests_of(specs: Sequence[MetricSpec]) -> list[MeasurementRequest]:
    """The metrics, with their states, by their texts."""
    return [MeasurementRequest(key=spec.text, spec=spec, keep_state=True) for spec in specs]


def _by_kernels(
    draw: random.Random, it: Opened, wanted: Sequence[MeasurementRequest], found: Scans
) -> dict[str, Measured]:
    """What they measure of one scan, in one of the ways in which scans ask them; why they leave the rest is counted."""
    chance = draw.random()
    if chance < BY_PLATFORM:
        report = report_of_small_part(it.table, WHOLE, wanted, SMALL_BYTES)
        if report is not None and report.read_by.kernels:
            found.ends["scans as of small files"] += 1
            return dict(report.measured)
    planned = plan(wanted, it.source.write)
    if chance > 1 - BY_TASKS:
        found.ends["scans by tasks of Spark"] += 1
        native = taken_natively(it.source, planned.statistic_requests, planned.keyed)
    else:
        native = gathered_here(it.source, planned, apart=draw.random() < 0.5)
    found.declined.update(left.why for left in native.left.values())
    return measured_natively(wanted, planned, native)


def gathered_here(source: SparkSource, planned: Plan, *, apart: bool) -> Native:
    """What tasks of the kernels find, in this process: one, or one for each row group if ``apart``."""
    assert source.listing is not None
    assert source.footers is not None
    pieces = [piece for piece, _ in pieces_of(source.listing, source.footers)]
    cut = [[each] for piece in pieces for each in _groups(piece)] if apart else [pieces]
    draft = drafted(
        stored_columns(source.listing, source.columns), planned.statistic_requests, planned.keyed, alone=len(cut) == 1
    )
    sent = loads_to_bytes(draft.program, [[(0, some)] for some in cut])
    return native_of(draft, (), [from_bytes(blob) for at in range(len(cut)) for _, blob in load_results(sent, at)])


def _groups(piece: Piece) -> list[Piece]:
    return [replace(piece, groups=(group,)) for group in piece.groups]


def measured_natively(wanted: Sequence[MeasurementRequest], planned: Plan, native: Native) -> dict[str, Measured]:
    """The measurements of which nothing is left to Spark."""
    told, counted = set(native.statistics), set(native.counted)
    return {
        item.key: measured_of(item, planned, native.statistics, native.counted)
        for item in wanted
        if told.issuperset(planned.statistics.get(item.key, {}).values())
        and counted.issuperset(planned.groupings.get(item.key, ()))
    }


def magnitudes_of(source: SparkSource, wanted: Sequence[MeasurementRequest]) -> Magnitudes:
    """Of each sum or mean of floats, what the magnitudes of its numbers add up to, as Spark says."""
    planned = plan(wanted, source.write)
    sums = {
        item.key: StatisticRequest(
            statistic=Statistic(gather=Gather.SUM, of=(f"abs({one.statistic.of[0]})",)), where=one.where
        )
        for item in wanted
        if (one := planned.statistics.get(item.key, {}).get(SUM)) and _is_of_floats(source, item)
    }
    found = gather(source, list(sums.values()))
    numbers = {key: float(number) for key, one in sums.items() if isinstance(number := found[one], float)}
    return {item.key: {item.spec.columns[0].lower(): numbers[item.key]} for item in wanted if item.key in numbers}


def _is_of_floats(source: SparkSource, item: MeasurementRequest) -> bool:
    return source.write.type_of(item.spec.columns[0]) in ("float", "double")


def _compare_by_spark(it: Opened, wanted: Sequence[MeasurementRequest], found: Scans) -> None:
    """What Spark measures of the rows of a lake or store, against what it does of the folder."""
    items = {
        item.key: item for item in wanted if item.spec.name != "approx_quantile"
    }  # which the order of rows decides
    magnitudes, theirs = magnitudes_of(it.plain, list(items.values())), it.by_spark(list(items.values()))
    for key, here in measure_shared(it.source, list(items.values()), native=False).measured.items():
        found.ends["values of Spark in both places"] += 1
        reasons = [measured.failure and measured.failure.reason for measured in (here, theirs[key])]
        if reasons[0] != reasons[1] or (  # details of failures hold numbers of Spark's plans
            reasons[0] is None and not alike(items[key].spec, here, theirs[key], magnitudes.get(key, {}))
        ):
            found.differing.append(f"{key}: {here} by Spark there, {theirs[key]} in a folder")


def _compare(
    found: Scans,
    wanted: Sequence[MeasurementRequest],
    ours: Mapping[str, Measured],
    theirs: Mapping[str, Measured],
    magnitudes: Magnitudes,
) -> None:
    found.ends["scans"] += 1
    found.ends["scans of which both read a value"] += bool(ours)
    found.ends["values left to Spark"] += len(wanted) - len(ours)
    for item in wanted:
        if item.key in ours:
            found.metrics[item.spec.name] += 1
            if not alike(item.spec, ours[item.key], theirs[item.key], magnitudes.get(item.key, {})):
                found.differing.append(f"{item.spec.text}: {ours[item.key]} here, {theirs[item.key]} by Spark")
