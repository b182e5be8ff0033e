"""From what a scan asks for to a program and its pieces, and from what their tasks found to what was asked (pure)."""

from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import lru_cache

import numpy as np
import pyarrow as pa

from execution_engine.engines.gathering import (
    AskedGroups,
    AskedStatistic,
    Bins,
    FoundGroups,
    Keyed,
    bins_between,
    of_bins,
    of_values,
)
from execution_engine.engines.protocol import Measured, Wanted
from execution_engine.metrics.definitions.uniqueness import bins_of
from execution_engine.metrics.expressions import Expressions, path_of
from execution_engine.metrics.states.frequencies import (
    Counts,
    Frequencies,
    counts_of_clauses,
    counts_of_tallies,
    merged,
)
from execution_engine.metrics.states.group_values import MAX_GROUPS
from execution_engine.metrics.states.states import merge
from execution_engine.metrics.states.statistics import ROWS, Gather, Statistic, Value, over_nothing
from execution_engine.read_by import Kind, Left

from .compiled import compiled
from .evaluation import Batch
from .group_results import groups_found
from .grouped import REDUCTIONS, Binned, Gathering, Grouped
from .nodes import Column, Hashed, IsNull, Node, Not, UnableToTell, When
from .partials import GATHERS, Counted, Gathered, Keys, Part, Partials, key_sets
from .reading import Piece, Stored
from .task import Gleaned, Program, of_parts
from .values import Values, values_of

TASK_ROWS = 250_000  # more are cut into several tasks, as far as there are row groups
MOST_ROWS = 1_000_000  # of a table whose rows one task keeps, as for an exact quantile
MOST_SENT = 1_000_000  # groups of all tasks, each of which sends its own: some hundred bytes each
MOST_KEYED = 20_000_000  # rows of a table whose keys are counted by groups: 24 bytes are sent for each at most
BESIDE = Left(kind=Kind.BESIDE, why="it shares a job with what is Spark's")


class UnableToGroup(UnableToTell):
    """The kernels gather it of all rows together, and not of each group."""


@dataclass(frozen=True, kw_only=True)
class Draft:
    """What is native of what a scan asks for, and why the rest is not."""

    program: Program
    asked: tuple[AskedStatistic, ...]  # in the order of the program's
    keyed: tuple[Keyed, ...]
    left: Mapping[AskedStatistic | Keyed, Left]


def drafted(
    columns: Mapping[str, Stored], asked: Sequence[AskedStatistic], keyed: Sequence[Keyed], *, alone: bool = False
) -> Draft:
    """The draft over files with these plain columns, by their names in lower case.

    ``alone``: one task reads all rows, and they are few enough to be kept: else nothing is asked that does not merge.
    """
    return _drafted(tuple(columns.items()), tuple(asked), tuple(keyed), alone)


@lru_cache(maxsize=64)  # many tables and windows are alike
def _drafted(
    columns: tuple[tuple[str, Stored], ...], asked: tuple[AskedStatistic, ...], keyed: tuple[Keyed, ...], alone: bool
) -> Draft:
    stored = dict(columns)
    left: dict[AskedStatistic | Keyed, Left] = {}
    gathered: dict[AskedStatistic, Gathered] = {}
    counted: dict[Keyed, Counted] = {}
    for one in asked:
        with _told_by_spark(left, one):
            if not one.statistic.merges and not alone:
                raise UnableToTell("exact quantiles of large tables are Spark's")
            gathered[one] = _gathered_of(one)
    for each in keyed:
        with _told_by_spark(left, each):
            counted[each] = _counted_of(each)
    unable = _unable(tuple(gathered.values()), tuple(counted.values()), stored)
    tried: list[AskedStatistic | Keyed] = [*gathered, *counted]
    left |= {one: Left(kind=Kind.COLUMN, why=unable[at]) for at, one in enumerate(tried) if at in unable}
    gathered = {one: native for one, native in gathered.items() if one not in left}
    counted = {each: native for each, native in counted.items() if each not in left}
    alike: dict[object, list[AskedStatistic]] = defaultdict(list)  # these share the values that they take
    for one, native in gathered.items():
        alike[native.of, native.where].append(one)
    gathered = {one: gathered[one] for some in alike.values() for one in some}
    natives: list[Gathered | Counted] = [*gathered.values(), *counted.values()]
    names = {name for native in natives for name in _columns_of(native)}
    program = Program(
        asked=tuple(gathered.values()),
        counted=tuple(counted.values()),
        columns={name: each for name, each in columns if name in names},
    )
    return Draft(program=program, asked=tuple(gathered), keyed=tuple(counted), left=left)


def found_of(
    draft: Draft, gleaned: Sequence[Gleaned]
) -> tuple[dict[AskedStatistic, Value], dict[Keyed, Frequencies], dict[AskedStatistic | Keyed, Left]]:
    """The statistics and the frequencies, and why some have turned out to be Spark's to answer."""
    if failed := next((each.failed for each in gleaned if each.failed), ""):
        return {}, {}, dict.fromkeys((*draft.asked, *draft.keyed), Left(kind=Kind.FAILED, why=failed))
    unable = {at: why for each in gleaned for at, why in each.unable.items()}
    every: list[AskedStatistic | Keyed] = [*draft.asked, *draft.keyed]
    told = {
        one: _merged(one, [value for each in gleaned for value in each.told.get(at, ())])
        for at, one in enumerate(draft.asked)
        if at not in unable
    }
    counted: dict[Keyed, Frequencies] = {}
    for number, clauses in enumerate(key_sets(draft.program.counted).values()):
        found = _frequencies([each.keys[number] for each in gleaned if number in each.keys], len(clauses))
        for places, frequencies in zip(clauses.values(), found, strict=True):
            counted |= {draft.keyed[at]: frequencies for at in places if at + len(draft.asked) not in unable}
    return told, counted, {every[at]: Left(kind=Kind.ROWS, why=why) for at, why in unable.items()}


@dataclass(frozen=True, kw_only=True)
class GroupsDraft:
    """What is native of what is asked of some groups, and why the rest is not."""

    grouped: Grouped
    columns: Mapping[str, Stored]
    asked: tuple[AskedStatistic, ...]  # in the order of those of ``grouped``
    keyed: tuple[Keyed, ...]
    left: Mapping[AskedStatistic | Keyed, Left]


def drafted_groups(columns: Mapping[str, Stored], wanted: AskedGroups, *, rows: int = 0, tasks: int = 1) -> GroupsDraft:
    """The draft over files with these plain columns, by their names in lower case, and so many rows and tasks."""
    left: dict[AskedStatistic | Keyed, Left] = {}
    gathered: dict[AskedStatistic, Gathered] = {}
    counted: dict[Keyed, Counted] = {}
    by = tuple(path_of(name)[0].lower() for name in wanted.by)
    for one in wanted.asked:
        with _told_by_spark(left, one):
            gathered[one] = _gathered_of(one, REDUCTIONS)
    for each in wanted.keyed:
        with _told_by_spark(left, each):
            if rows > MOST_KEYED:
                raise UnableToGroup("keys of so many rows are Spark's to count by groups")
            counted[each] = _counted_of(each)
    grouped = Grouped(
        by=by,
        asked=tuple(gathered.values()),
        counted=tuple(counted.values()),
        most=MAX_GROUPS,
        sent=max(MOST_SENT // tasks, 1),
    )
    gathering = Gathering(grouped)
    gathering.add(Batch(rows=0, columns=_empty({} if any(len(path_of(name)) > 1 for name in wanted.by) else columns)))
    tried: list[AskedStatistic | Keyed] = [*gathered, *counted]
    unable = dict.fromkeys(range(len(tried)), gathering.failed) if gathering.failed else gathering.unable
    left |= {tried[at]: Left(kind=Kind.COLUMN, why=why) for at, why in unable.items()}
    if wanted.together and any(one in left for one in wanted.asked):
        left = {**dict.fromkeys(wanted.asked, BESIDE), **left}
    gathered = {one: native for one, native in gathered.items() if one not in left}
    counted = {each: native for each, native in counted.items() if each not in left}
    grouped = replace(grouped, asked=tuple(gathered.values()), counted=tuple(counted.values()))
    natives: list[Gathered | Counted] = [*gathered.values(), *counted.values()]
    names = {*by, *(name for native in natives for name in _columns_of(native))} if natives else set()
    return GroupsDraft(
        grouped=grouped,
        columns={name: stored for name, stored in columns.items() if name in names},
        asked=tuple(gathered),
        keyed=tuple(counted),
        left=left,
    )


def with_groups(program: Program, groups: Sequence[GroupsDraft]) -> Program:
    """The program that gathers these groups too, as far as any of them is native."""
    if not groups:
        return program
    columns = {name: stored for each in groups for name, stored in each.columns.items()}
    grouped = tuple(each.grouped for each in groups if each.asked or each.keyed)
    return replace(program, columns={**program.columns, **columns}, grouped=grouped)


def found_of_groups(
    draft: GroupsDraft, gleaned: Sequence[Gleaned], at: int
) -> tuple[FoundGroups, dict[AskedStatistic | Keyed, Left]]:
    """What the tasks found of the program's groups of this number, and why some have turned out to be Spark's."""
    every: list[AskedStatistic | Keyed] = [*draft.asked, *draft.keyed]
    if failed := next((each.failed for each in gleaned if each.failed), ""):
        return FoundGroups(), dict.fromkeys(every, Left(kind=Kind.FAILED, why=failed))
    found = groups_found(draft.grouped, [each.groups[at] for each in gleaned])
    unable = dict.fromkeys(range(len(every)), found.failed) if found.failed else found.unable
    native = FoundGroups(
        keys=found.keys,
        told={draft.asked[place]: values for place, values in found.told.items()},
        counted={draft.keyed[place]: summaries for place, summaries in found.counted.items()},
        too_many=found.too_many,
    )
    return native, {every[place]: Left(kind=Kind.ROWS, why=why) for place, why in unable.items()}


def tasks(pieces: Sequence[tuple[Piece, Sequence[int]]], rows: int, most: int | None = None) -> list[list[Piece]]:
    """The row groups of files, given the rows of each group, cut into tasks of about as many rows."""
    wanted = max(1, min(-(-rows // TASK_ROWS), most or rows))
    bound, held = rows / wanted, 0
    found: list[list[Piece]] = [[]]
    for piece, counts in pieces:
        run: list[int] = []
        for group, count in zip(piece.groups, counts, strict=True):
            if held and held + count / 2 > bound * len(found) and (run or found[-1]):
                _close(found[-1], piece, run)
                found.append([])
                run = []
            run.append(group)
            held += count
        _close(found[-1], piece, run)
    return [some for some in found if some]


def _close(task: list[Piece], piece: Piece, groups: list[int]) -> None:
    if groups:
        task.append(
            Piece(
                path=piece.path,
                groups=tuple(groups),
                size=piece.size,
                mtime_ns=piece.mtime_ns,
                folders=piece.folders,
            )
        )


def _gathered_of(one: AskedStatistic, known: Container[str] = GATHERS) -> Gathered:
    statistic = one.statistic
    if statistic.gather.value not in GATHERS:
        raise UnableToTell(f"{statistic.gather.value} is Spark's to gather")
    if statistic.gather.value not in known:
        raise UnableToGroup(f"{statistic.gather.value} of each group is Spark's to gather")
    of = tuple(map(compiled, statistic.of))
    return Gathered(
        gather=statistic.gather.value,
        of=tuple(map(_column_of, of)) if statistic.gather is Gather.HLL else of,
        where=None if one.where is None else compiled(one.where),
        argument=statistic.argument,
    )


def _column_of(node: Node) -> Column:
    """The column that a sketch takes as it is, or by its hash: the kernels know which of its type."""
    if isinstance(node, When) and isinstance(node.then, Hashed) and node.met == Not(of=IsNull(of=node.then.of)):
        node = node.then.of
    if not isinstance(node, Column):
        raise UnableToTell("a sketch of anything but a column is Spark's")
    return node


def _counted_of(each: Keyed) -> Counted:
    grouping = each.grouping
    return Counted(
        columns=tuple(map(_plain, grouping.columns)),
        present=tuple(map(_plain, grouping.present)),
        partial=grouping.partial,
        where=None if each.where is None else compiled(each.where),
    )


def _plain(name: str) -> str:
    path = path_of(name)
    if len(path) > 1:
        raise UnableToTell(f"{name} lies inside another column")
    return path[0].lower()


@contextmanager
def _told_by_spark(left: dict[AskedStatistic | Keyed, Left], asked: AskedStatistic | Keyed) -> Iterator[None]:
    try:
        yield
    except UnableToGroup as error:
        left[asked] = Left(kind=Kind.GROUPS, why=str(error))
    except UnableToTell as error:
        is_gathered = isinstance(asked, Keyed) or (asked.statistic.merges and asked.statistic.gather.value in GATHERS)
        left[asked] = Left(kind=Kind.EXPRESSION if is_gathered else Kind.STATISTIC, why=str(error))


def _unable(asked: Sequence[Gathered], counted: Sequence[Counted], columns: Mapping[str, Stored]) -> Mapping[int, str]:
    """What does not fit the types of the columns, and why, asked of no rows: statistics, then groupings behind them."""
    partials = Partials(asked=asked, counted=counted)
    partials.add(Batch(rows=0, columns=_empty(columns)))
    return partials.unable


def _empty(columns: Mapping[str, Stored]) -> Callable[[str], Values]:
    """The columns of no rows."""

    def empty(name: str) -> Values:
        if name not in columns:
            raise UnableToTell(f"{name} is no plain column of the files")
        return values_of(pa.nulls(0, columns[name].arrow), columns[name].spark)

    return empty


def _columns_of(native: Gathered | Counted) -> Iterator[str]:
    if isinstance(native, Counted):
        yield from (*native.columns, *native.present)
    nodes = native.of if isinstance(native, Gathered) else ()
    for node in (*nodes, *([native.where] if native.where else [])):
        yield from names_in(node)


def names_in(node: Node) -> Iterator[str]:
    """The columns that a node names."""
    if isinstance(node, Column):
        yield node.name
    for each in fields(node):
        value = getattr(node, each.name)
        if isinstance(value, Node):
            yield from names_in(value)


def _merged(one: AskedStatistic, values: Sequence[Value]) -> Value:
    return merge(one.statistic, values) if values else over_nothing(one.statistic)


def _frequencies(keys: Sequence[Keys], clauses: int) -> list[Frequencies]:
    """For each clause, of one set of keys."""
    if not keys:
        return [Frequencies()] * clauses
    rows, few = zip(*(_counts(of_parts(parts), clauses) for parts in zip(*keys, strict=True)), strict=True)
    of_rows, of_few = (
        [Frequencies(whole=whole, with_nulls=with_nulls) for whole, with_nulls in zip(*both, strict=True)]
        for both in (rows, few)
    )
    return [merged(both) for both in zip(of_rows, of_few, strict=True)]


def _counts(part: Part, clauses: int) -> tuple[list[Counts], list[Counts]]:
    """For each clause, of the rows and of the few keys that were tallied."""
    hashes, marks, few, times = part
    return counts_of_clauses(hashes, marks, clauses), counts_of_tallies(few, times)


# Histograms by the kernels: those of values as groups of rows, those of bins once their ends are known.
#
# What is asked for them, and what follows from what was found (pure); who runs the program is left to the caller.

TOO_MANY = Left(kind=Kind.ROWS, why=f"there are more than {MAX_GROUPS:,} values")

Wide = Sequence[tuple[Wanted, Bins]]  # histograms whose numbers are to be counted in these bins


def values_asked(wanted: Sequence[Wanted], write: Expressions) -> list[AskedGroups]:
    """How often each value comes, of those histograms that count values."""
    return [
        AskedGroups(by=item.spec.columns, asked=(AskedStatistic(statistic=ROWS, where=_where(item, write)),))
        for item in wanted
        if bins_of(item.spec) is None
    ]


def ends_asked(wanted: Sequence[Wanted], write: Expressions) -> list[AskedStatistic]:
    """The least and the greatest number, of those histograms that count in bins."""
    return [one for item in wanted if bins_of(item.spec) is not None for one in ends_of(item, write)]


def ends_of(item: Wanted, write: Expressions) -> tuple[AskedStatistic, AskedStatistic]:
    """The least and the greatest number of one, as doubles; the footers may know them of the column."""
    (column,) = item.spec.columns
    of, where = (write.number(column),), _where(item, write)
    low, high = (
        AskedStatistic(statistic=Statistic(gather=gather, of=of, column=column), where=where)
        for gather in (Gather.MIN, Gather.MAX)
    )
    return low, high


def of_groups(found: FoundGroups) -> Measured | Left:
    """A histogram of values, given what was found of ``values_asked``."""
    if found.too_many:
        return TOO_MANY
    (counts,) = found.told.values()
    texts = (text for (text,) in found.keys)
    return of_values({text: count for text, count in zip(texts, counts, strict=True) if count})


def bins_of_ends(item: Wanted, write: Expressions, name: str, ends: Mapping[AskedStatistic, Value]) -> Bins | Measured:
    """The bins of one that counts in them, or the measurement where there are none; ``name``: of the table."""
    least, greatest = (None if ends[one] is None else float(ends[one]) for one in ends_of(item, write))
    return bins_between(item, name, least, greatest, bins_of(item.spec) or 1)


def binning(wide: Wide, write: Expressions, stored: Mapping[str, Stored]) -> Program:
    """Counts what lies in the bins of all of them."""
    binned = tuple(_binned(item, write, bins) for item, bins in wide)
    names = {name for each in binned for node in (each.of, each.where) if node for name in names_in(node)}
    columns = {name: column for name, column in stored.items() if name in names}
    return Program(asked=(), counted=(), columns=columns, binned=binned)


def in_bins(wide: Wide, gleaned: Sequence[Gleaned]) -> dict[str, Measured]:
    """The histograms by their keys, from what the tasks of ``binning`` found; nothing if one of them failed."""
    if any(each.failed for each in gleaned):
        return {}
    measured = {}
    for at, (item, bins) in enumerate(wide):
        *counts, nulls = np.sum([each.bins[at] for each in gleaned], axis=0).tolist()
        measured[item.key] = of_bins(bins, {**dict(enumerate(counts)), None: nulls})
    return measured


def _binned(item: Wanted, write: Expressions, bins: Bins) -> Binned:
    (column,) = item.spec.columns
    where = _where(item, write)
    return Binned(
        of=compiled(write.number(column)),
        where=None if where is None else compiled(where),
        low=bins.low,
        width=bins.width,
        bins=bins.count,
    )


def _where(item: Wanted, write: Expressions) -> str | None:
    return None if item.spec.where is None else write.condition(item.spec.where)
