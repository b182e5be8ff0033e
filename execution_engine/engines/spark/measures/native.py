"""What the kernels find of a scan's statistics and groupings, in one job of Spark's."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import SparkSession

from execution_engine.engines.arrow.local_scan import pieces_of, stored_columns
from execution_engine.engines.files.footers import told
from execution_engine.engines.gathering import AskedGroups, AskedStatistic, Bins, FoundGroups, Keyed, kernels_pay
from execution_engine.engines.native.measure import (
    BESIDE,
    MOST_ROWS,
    TASK_ROWS,
    Draft,
    GroupsDraft,
    Wide,
    binning,
    bins_of_ends,
    drafted,
    drafted_groups,
    ends_asked,
    ends_of,
    found_of,
    found_of_groups,
    in_bins,
    of_groups,
    tasks,
    with_groups,
)
from execution_engine.engines.native.reading import Piece
from execution_engine.engines.native.task import Gleaned, Load, Program, from_bytes, gleaned_of, loads_to_bytes
from execution_engine.engines.protocol import Measured, Wanted
from execution_engine.engines.spark.failures import OF_ALL, SPARK_ERRORS, failure_of
from execution_engine.engines.spark.kernels import FAILED, blobs_of, why_not_here
from execution_engine.engines.spark.sources import SparkSource
from execution_engine.metrics.definitions.uniqueness import bins_of
from execution_engine.metrics.states.frequencies import Frequencies
from execution_engine.metrics.states.statistics import Value
from execution_engine.read_by import Kind, Left

DEARER = Left(kind=Kind.BESIDE, why="Spark reads the rows anyway, and gathers it along for less")


@dataclass(frozen=True, kw_only=True)
class NativeGroups:
    """What the kernels found of some groups, and why the rest is Spark's."""

    found: FoundGroups = field(default_factory=FoundGroups)
    left: Mapping[AskedStatistic | Keyed, Left] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Native:
    """What the kernels found, and why the rest is Spark's."""

    told: Mapping[AskedStatistic, Value] = field(default_factory=dict)
    counted: Mapping[Keyed, Frequencies] = field(default_factory=dict)
    left: Mapping[AskedStatistic | Keyed, Left] = field(default_factory=dict)
    groups: Sequence[NativeGroups] = ()  # in the order that they were asked for


def taken_natively(
    source: SparkSource,
    asked: Sequence[AskedStatistic],
    keyed: Sequence[Keyed],
    groups: Sequence[AskedGroups] = (),
    *,
    needed: Collection[AskedStatistic] = (),
) -> Native:
    """What the footers do not tell, gathered by the kernels as far as these can and it pays, in one job.

    ``needed``: without these another job of the kernels is Spark's to do, and costs more there.
    """
    if (why := why_not_here(source)) is not None:
        return left_to_spark(asked, keyed, groups, why)
    assert source.listing is not None
    assert source.footers is not None
    footers, rows = told(source.footers, asked), source.footers.rows
    cut = tasks(list(pieces_of(source.listing, source.footers)), rows, 1 if source.small else None)
    columns = stored_columns(source.listing, source.columns)
    alone = len(cut) == 1 and rows <= MOST_ROWS
    draft = drafted(columns, [one for one in asked if one not in footers], keyed, alone=alone)
    of_groups = [drafted_groups(columns, each, rows=rows, tasks=len(cut)) for each in groups]
    program = with_groups(draft.program, of_groups)
    runs_anyway = bool(program.grouped) or any(one in needed for one in draft.asked)
    if not runs_anyway and not kernels_pay(
        draft.asked, draft.keyed, draft.left, rows=rows, tasks=len(cut), together=source.small
    ):
        left: dict[AskedStatistic | Keyed, Left] = dict.fromkeys((*draft.asked, *draft.keyed), DEARER)
        return Native(left={**left, **draft.left}, groups=[NativeGroups(left=each.left) for each in of_groups])
    if not program.asked and not program.counted and not program.grouped:
        return Native(left=draft.left, groups=[NativeGroups(left=each.left) for each in of_groups])
    try:
        gleaned = run(source.session, program, [[(0, some)] for some in cut], rows=source.rows)[0]
    except SPARK_ERRORS as error:
        if failure_of(error, source.name).reason in OF_ALL:
            raise
        gleaned = [Gleaned(failed=FAILED.why)]
    return replace(of_draft(draft, gleaned), groups=list(_of_groups(of_groups, gleaned)))


def left_to_spark(
    asked: Sequence[AskedStatistic], keyed: Sequence[Keyed], groups: Sequence[AskedGroups], why: Left
) -> Native:
    """Nothing is native, for one reason."""
    return Native(
        left=dict.fromkeys((*asked, *keyed), why),
        groups=[NativeGroups(left=dict.fromkeys((*each.asked, *each.keyed), why)) for each in groups],
    )


def _of_groups(groups: Sequence[GroupsDraft], gleaned: Sequence[Gleaned]) -> Iterator[NativeGroups]:
    at = 0
    for each in groups:
        if not each.asked and not each.keyed:
            yield NativeGroups(left=each.left)
            continue
        found, left = found_of_groups(each, gleaned, at)
        yield NativeGroups(found=found, left={**each.left, **left})
        at += 1


def taken_together(
    session: SparkSession, sources: Mapping[int, SparkSource], asked: Sequence[AskedStatistic], keyed: Sequence[Keyed]
) -> dict[int, Native]:
    """The same asked of several sources of one shape, by their numbers, in one job; of none where any of it is Spark's.

    Raises what Spark does.
    """
    every: list[AskedStatistic | Keyed] = [*asked, *keyed]
    if found := [why for source in sources.values() if source.rows != 0 and (why := why_not_here(source))]:
        return dict.fromkeys(sources, Native(left=dict.fromkeys(every, found[0])))
    first = next(iter(sources.values()))
    assert first.listing is not None
    draft = drafted(stored_columns(first.listing, first.columns), asked, keyed)
    if draft.left:
        return dict.fromkeys(sources, Native(left={**dict.fromkeys(every, BESIDE), **draft.left}))
    rows = sum(source.rows or 0 for source in sources.values())
    wanted = max(1, min(len(sources), -(-rows // TASK_ROWS)))
    loads: list[list[tuple[int, Sequence[Piece]]]] = [[] for _ in range(wanted)]
    held = 0
    for number, source in sources.items():
        assert source.listing is not None
        assert source.footers is not None
        pieces = [piece for piece, _ in pieces_of(source.listing, source.footers)]
        loads[min(held * wanted // max(rows, 1), wanted - 1)].append((number, pieces))
        held += source.rows or 0
    gleaned = run(session, draft.program, [load for load in loads if load], rows=rows)
    return {number: of_draft(draft, gleaned.get(number, ())) for number in sources}


def run(
    session: SparkSession, program: Program, loads: Sequence[Load], *, rows: int | None
) -> dict[int, list[Gleaned]]:
    """What the tasks of one job found, by the numbers of the units; raises what Spark does."""
    found: dict[int, list[Gleaned]] = {}
    for number, blob in blobs_of(session, gleaned_of, loads_to_bytes(program, loads), len(loads), rows=rows):
        found.setdefault(number, []).append(from_bytes(blob))
    return found


def of_draft(draft: Draft, gleaned: Sequence[Gleaned]) -> Native:
    """What the tasks of one unit found."""
    found, counted, left = found_of(draft, gleaned)
    return Native(told=found, counted=counted, left={**draft.left, **left})


# Histograms by the kernels: those of values beside what else they gather, those of bins in one job more for all.
#
# The ends of bins must be known before anything is counted in them; where the footers tell them, the first job is
# saved.


@dataclass(frozen=True, kw_only=True)
class Histograms:
    """What the kernels measured of the histograms of a scan, by key, and why the others are Spark's."""

    measured: Mapping[str, Measured] = field(default_factory=dict)
    left: Mapping[str, Left] = field(default_factory=dict)


def taken_by_kernels(
    source: SparkSource, wanted: Sequence[Wanted], native: Native, groups: Sequence[NativeGroups]
) -> Histograms:
    """What they measured, given what they found of the ends, and of the ``groups`` that were asked for values."""
    ends, rest = {**native.told, **told(source.footers, ends_asked(wanted, source.write))}, iter(groups)
    found = {
        item.key: _of_values(next(rest)) if bins_of(item.spec) is None else _of_ends(source, item, native, ends)
        for item in wanted
    }
    wide = [(item, bins) for item in wanted if isinstance(bins := found[item.key], Bins)]
    counted = _in_bins(source, wide)
    return Histograms(
        measured={**{key: each for key, each in found.items() if isinstance(each, Measured)}, **counted},
        left={
            **{key: each for key, each in found.items() if isinstance(each, Left)},
            **{item.key: FAILED for item, _ in wide if item.key not in counted},
        },
    )


def _of_values(found: NativeGroups) -> Measured | Bins | Left:
    return next(iter(found.left.values()), None) or of_groups(found.found)


def _of_ends(
    source: SparkSource, item: Wanted, native: Native, ends: Mapping[AskedStatistic, Value]
) -> Measured | Bins | Left:
    low, high = ends_of(item, source.write)
    return native.left.get(low) or native.left.get(high) or bins_of_ends(item, source.write, source.name, ends)


def _in_bins(source: SparkSource, wide: Wide) -> dict[str, Measured]:
    """What lies in the bins of each, in one job; nothing if that fails."""
    if not wide:
        return {}
    assert source.listing is not None
    assert source.footers is not None
    program = binning(wide, source.write, stored_columns(source.listing, source.columns))
    cut = tasks(list(pieces_of(source.listing, source.footers)), source.footers.rows, 1 if source.small else None)
    try:
        gleaned = run(source.session, program, [[(0, some)] for some in cut], rows=source.rows)[0]
    except SPARK_ERRORS as error:
        if failure_of(error, source.name).reason in OF_ALL:
            raise
        return {}
    return in_bins(wide, gleaned)
