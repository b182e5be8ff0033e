"""From what a scan asks for to a program and its pieces, and from what their tasks found to what was asked (pure)."""

from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial, reduce
from typing import Any

import numpy as np

from execution_engine.engines.gathering import (
    Bins,
    GroupResults,
    GroupsRequest,
    Keyed,
    StatisticRequest,
    bins_between,
    condition_of,
    in_order,
    of_bins,
    of_values,
)
from execution_engine.engines.protocol import Measured, MeasurementRequest
from execution_engine.metrics.definitions.uniqueness import bins_of
from execution_engine.metrics.expressions import Expressions, path_of
from execution_engine.metrics.states.frequencies import (
    Frequencies,
    counts_of_clauses,
    counts_of_tallies,
    merged,
)
from execution_engine.metrics.states.group_values import MAX_GROUPS
from execution_engine.metrics.states.states import merge
from execution_engine.metrics.states.statistics import ROWS, Gather, Statistic, Summary, Value, over_nothing
from execution_engine.read_by import FallbackKind, Left

from . import grouped as by_groups
from .grouped import REDUCTIONS, Binned, Gathering, Grouped, GroupKey, Tally, of_tallies, spread
from .key_tasks import KeyRows, Take
from .language import ColumnNode, Hashed, IsNull, Negation, Node, UnableToTell, When, compiled, names_in
from .partials import GATHERS, Counted, Gathered, Keys, Partials, key_sets
from .reading import Piece, Stored, empty_batch
from .task import Program, TaskResult, of_parts
from .values import Flags, Numbers

TASK_ROWS = 250_000  # more are cut into several tasks, as far as there are row groups
MOST_ROWS = 1_000_000  # of a table whose rows one task keeps, as for an exact quantile
MOST_SENT = 1_000_000  # groups of all tasks, each of which sends its own: some hundred bytes each
MOST_KEYED = 20_000_000  # rows of a table whose keys are counted by groups: 24 bytes are sent for each at most
FAILED = Left(kind=FallbackKind.FAILED, why="a task of the kernels failed")
BESIDE = Left(kind=FallbackKind.BESIDE, why="it shares a job with what is Spark's")

Request = StatisticRequest | Keyed


@dataclass(frozen=True, kw_only=True)
class Draft:
    """What is native of what is asked of all rows or of groups, in the program's order, and why the rest is not."""

    program: Program
    requests: tuple[StatisticRequest, ...]
    keyed: tuple[Keyed, ...]
    left: Mapping[Request, Left]


def drafted(
    columns: Mapping[str, Stored], requests: Sequence[StatisticRequest], keyed: Sequence[Keyed], *, alone: bool = False
) -> Draft:
    """The draft over files with these plain columns, by their names in lower case.

    ``alone``: one task reads all rows, and they are few enough to be kept: else nothing is asked that does not merge.
    """
    return _drafted(tuple(columns.items()), tuple(requests), tuple(keyed), alone)


@lru_cache(maxsize=64)  # many tables and windows are alike
def _drafted(
    columns: tuple[tuple[str, Stored], ...],
    requests: tuple[StatisticRequest, ...],
    keyed: tuple[Keyed, ...],
    alone: bool,
) -> Draft:
    gathered, counted, left = _translated(requests, keyed, alone=alone)
    partials = Partials(statistics=tuple(gathered.values()), counted=tuple(counted.values()))
    partials.add(empty_batch(dict(columns)))
    _leave_misfits(left, gathered, counted, partials.unable)
    alike: dict[object, list[StatisticRequest]] = defaultdict(list)  # these share the values that they take
    for request, native in gathered.items():
        alike[native.of, native.where].append(request)
    ordered = tuple(request for alike_requests in alike.values() for request in alike_requests)
    natives = tuple(gathered[request] for request in ordered), tuple(counted.values())
    names = _names_of(*natives)
    stored = {name: column for name, column in columns if name in names}
    program = Program(statistics=natives[0], counted=natives[1], columns=stored)
    return Draft(program=program, requests=ordered, keyed=tuple(counted), left=left)


def drafted_groups(
    columns: Mapping[str, Stored], group_request: GroupsRequest, *, rows: int = 0, tasks: int = 1
) -> Draft:
    """The draft over files with these plain columns, by their names in lower case, and so many rows and tasks."""
    gathered, counted, left = _translated(group_request.requests, group_request.keyed, gathers=REDUCTIONS, rows=rows)
    grouped = Grouped(
        by=tuple(map(path_name, group_request.by)),
        statistics=tuple(gathered.values()),
        counted=tuple(counted.values()),
        most=MAX_GROUPS,
        sent=max(MOST_SENT // tasks, 1),
    )
    gathering = Gathering(grouped)
    gathering.add(empty_batch(columns))
    failed, unable = gathering.so_far.failed, gathering.so_far.unable
    tried = range(len(gathered) + len(counted))
    _leave_misfits(left, gathered, counted, dict.fromkeys(tried, failed) if failed else unable)
    if group_request.together and any(request in left for request in group_request.requests):
        left = {**dict.fromkeys(group_request.requests, BESIDE), **left}
        gathered = {}
    grouped = replace(grouped, statistics=tuple(gathered.values()), counted=tuple(counted.values()))
    names = {*grouped.by, *_names_of(grouped.statistics, grouped.counted)} if gathered or counted else set()
    stored = {name: column for name, column in columns.items() if name in names}
    program = Program(statistics=(), counted=(), columns=stored, grouped=(grouped,))
    return Draft(program=program, requests=tuple(gathered), keyed=tuple(counted), left=left)


def with_groups(program: Program, groups: Sequence[Draft]) -> Program:
    """The program that gathers these groups too, as far as any of them is native."""
    if not groups:
        return program
    columns = {name: stored for draft in groups for name, stored in draft.program.columns.items()}
    grouped = tuple(draft.program.grouped[0] for draft in groups if draft.requests or draft.keyed)
    return replace(program, columns={**program.columns, **columns}, grouped=grouped)


def _translated(
    requests: Sequence[StatisticRequest],
    keyed: Sequence[Keyed],
    *,
    gathers: Container[str] = GATHERS,
    alone: bool = True,
    rows: int = 0,
) -> tuple[dict[StatisticRequest, Gathered], dict[Keyed, Counted], dict[Request, Left]]:
    """What is of the closed language, and why the rest is Spark's."""
    left: dict[Request, Left] = {}
    gathered: dict[StatisticRequest, Gathered] = {}
    counted: dict[Keyed, Counted] = {}
    for request in requests:
        with _leaving(left, request):
            statistic, gather = request.statistic, request.statistic.gather.value
            if not statistic.merges and not alone:
                raise UnableToTell("exact quantiles of large tables are Spark's")
            if gather not in GATHERS:
                raise UnableToTell(f"{gather} is Spark's to gather")
            if gather not in gathers:
                raise UnableToTell(f"{gather} of each group is Spark's to gather")
            of = tuple(map(compiled, statistic.of))
            if statistic.gather is Gather.HLL:
                of = tuple(map(_column_of, of))
            where = None if request.where is None else compiled(request.where)
            gathered[request] = Gathered(gather=gather, of=of, where=where, argument=statistic.argument)
    for key_request in keyed:
        with _leaving(left, key_request):
            if rows > MOST_KEYED:
                raise UnableToTell("keys of so many rows are Spark's to count by groups")
            grouping = key_request.grouping
            columns, present = (tuple(map(path_name, names)) for names in (grouping.columns, grouping.present))
            where = None if key_request.where is None else compiled(key_request.where)
            counted[key_request] = Counted(columns=columns, present=present, partial=grouping.partial, where=where)
    return gathered, counted, left


def _leave_misfits(
    left: dict[Request, Left],
    gathered: dict[StatisticRequest, Gathered],
    counted: dict[Keyed, Counted],
    unable: Mapping[int, str],
) -> None:
    """Takes out what does not fit the types of the columns, by its place among both: as was found out of no rows."""
    every: list[Request] = [*gathered, *counted]
    for at, why in unable.items():
        request = every[at]
        left[request] = Left(kind=FallbackKind.COLUMN, why=why)
        if isinstance(request, Keyed):
            del counted[request]
        else:
            del gathered[request]


@contextmanager
def _leaving(left: dict[Request, Left], request: Request) -> Iterator[None]:
    try:
        yield
    except UnableToTell as error:
        left[request] = Left(kind=FallbackKind.UNKNOWN, why=str(error))


def _column_of(node: Node) -> ColumnNode:
    """The column that a sketch takes as it is, or by its hash: the kernels know which of its type."""
    if isinstance(node, When) and isinstance(node.then, Hashed) and node.met == Negation(of=IsNull(of=node.then.of)):
        node = node.then.of
    if not isinstance(node, ColumnNode):
        raise UnableToTell("a sketch of anything but a column is Spark's")
    return node


def _names_of(gathered: Sequence[Gathered], counted: Sequence[Counted]) -> set[str]:
    natives: list[Gathered | Counted] = [*gathered, *counted]
    nodes = [node for statistic in gathered for node in statistic.of] + [
        native.where for native in natives if native.where
    ]
    names = {name for grouping in counted for name in (*grouping.columns, *grouping.present)}
    return names | {name for node in nodes for name in names_in(node)}


def path_name(name: str) -> str:
    """A column, or a field of a struct as ``a.b``, in lower case."""
    return ".".join(path_of(name)).lower()


def key_program(
    columns: Sequence[str], condition: str | None, take: Take, plain: Mapping[str, Stored]
) -> Program | Left:
    """What tasks are to do for keys, tried on no rows; or why it is Spark's.

    ``condition``: in SQL. ``plain``: the columns of the files, by their names in lower case.
    """
    try:
        where = None if condition is None else compiled(condition)
        rows = KeyRows(columns=tuple(map(path_name, columns)), where=where)
    except UnableToTell as error:
        return Left(kind=FallbackKind.UNKNOWN, why=str(error))
    names = {*rows.columns, *(names_in(where) if where else ())}
    stored = {name: column for name, column in plain.items() if name in names}
    try:
        take.gather(rows, [empty_batch(stored)])
    except UnableToTell as error:
        return Left(kind=FallbackKind.COLUMN, why=str(error))
    return Program(statistics=(), counted=(), columns=stored, take=take, rows=rows)


# What tasks found.


def parts_of(results: Sequence[TaskResult]) -> list[Any] | Left:
    """What each task took of keys; or why it is Spark's."""
    if failed := next((result.failed for result in results if result.failed), ""):
        return Left(kind=FallbackKind.FAILED, why=failed)
    if unable := next((why for result in results for why in result.unable.values()), ""):
        return Left(kind=FallbackKind.ROWS, why=unable)
    return [result.taken for result in results]


@dataclass(frozen=True, kw_only=True)
class NativeGroups:
    """What the kernels found of some groups, and why the rest is Spark's."""

    results: GroupResults = field(default_factory=GroupResults)
    left: Mapping[Request, Left] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Native:
    """What the kernels found, and why the rest is Spark's."""

    statistics: Mapping[StatisticRequest, Value] = field(default_factory=dict)
    counted: Mapping[Keyed, Frequencies] = field(default_factory=dict)
    left: Mapping[Request, Left] = field(default_factory=dict)
    groups: Sequence[NativeGroups] = ()  # in the order that they were asked for


def native_of(draft: Draft, groups: Sequence[Draft], results: Sequence[TaskResult]) -> Native:
    """What the tasks of one unit found of ``with_groups``."""
    statistics, counted, left = merged_results(draft, results)
    places = iter(range(len(groups)))
    of_groups = []
    for group in groups:
        group_results, more = (
            merged_group_results(group, results, next(places))
            if group.requests or group.keyed
            else (GroupResults(), {})
        )
        of_groups.append(NativeGroups(results=group_results, left={**group.left, **more}))
    return Native(statistics=statistics, counted=counted, left={**draft.left, **left}, groups=of_groups)


def merged_results(
    draft: Draft, results: Sequence[TaskResult]
) -> tuple[dict[StatisticRequest, Value], dict[Keyed, Frequencies], dict[Request, Left]]:
    """The statistics and the frequencies, and why some have turned out to be Spark's to answer."""
    if failed := next((result.failed for result in results if result.failed), ""):
        return {}, {}, dict.fromkeys((*draft.requests, *draft.keyed), Left(kind=FallbackKind.FAILED, why=failed))
    unable = {at: why for result in results for at, why in result.unable.items()}
    statistics = {}
    for at, request in enumerate(draft.requests):
        if at not in unable:
            values = [value for result in results for value in result.values_by_place.get(at, ())]
            statistics[request] = merge(request.statistic, values) if values else over_nothing(request.statistic)
    counted: dict[Keyed, Frequencies] = {}
    for number, clauses in enumerate(key_sets(draft.program.counted).values()):
        clause_frequencies = _frequencies(
            [result.keys[number] for result in results if number in result.keys], len(clauses)
        )
        for places, frequencies in zip(clauses.values(), clause_frequencies, strict=True):
            counted |= {draft.keyed[at]: frequencies for at in places if at + len(draft.requests) not in unable}
    return statistics, counted, _left_by_rows((*draft.requests, *draft.keyed), unable)


def _left_by_rows(every: Sequence[Request], unable: Mapping[int, str]) -> dict[Request, Left]:
    return {every[at]: Left(kind=FallbackKind.ROWS, why=why) for at, why in unable.items()}


def _frequencies(keys: Sequence[Keys], clauses: int) -> list[Frequencies]:
    """For each clause, of one set of keys: of the rows, and of the few keys that were tallied."""
    if not keys:
        return [Frequencies()] * clauses
    parts = [of_parts(parts) for parts in zip(*keys, strict=True)]
    of_rows, of_few = (
        [Frequencies(whole=whole, with_nulls=with_nulls) for whole, with_nulls in zip(*both, strict=True)]
        for both in (
            [counts_of_clauses(hashes, marks, clauses) for hashes, marks, _, _ in parts],
            [counts_of_tallies(few, times) for _, _, few, times in parts],
        )
    )
    return [merged(both) for both in zip(of_rows, of_few, strict=True)]


def merged_group_results(
    draft: Draft, results: Sequence[TaskResult], at: int
) -> tuple[GroupResults, dict[Request, Left]]:
    """What the tasks found of the program's groups of this number, and why some have turned out to be Spark's."""
    every: list[Request] = [*draft.requests, *draft.keyed]
    if failed := next((result.failed for result in results if result.failed), ""):
        return GroupResults(), dict.fromkeys(every, Left(kind=FallbackKind.FAILED, why=failed))
    tasks_ = [result.groups[at] for result in results]
    if failed := next((task.failed for task in tasks_ if task.failed), ""):
        return GroupResults(), _left_by_rows(every, dict.fromkeys(range(len(every)), failed))
    numbers: dict[GroupKey, int] = {}  # of each group, in the order of the keys, which is that of states
    places = [np.array([numbers.setdefault(key, len(numbers)) for key in task.keys], dtype=np.int64) for task in tasks_]
    (grouped,) = draft.program.grouped
    if len(numbers) > grouped.most or any(task.too_many for task in tasks_):
        return GroupResults(too_many=True), {}
    keys = list(numbers)
    order = in_order(keys)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    placed = [(task, rank[own]) for task, own in zip(tasks_, places, strict=True) if task.keys]
    unable = {at: why for task in tasks_ for at, why in task.unable.items()}
    statistics, counted = {}, {}
    for at, request in enumerate(draft.requests):
        if at not in unable:
            gather = grouped.statistics[at].gather
            task_parts = [spread(task.parts[at], own, len(numbers)) for task, own in placed]
            scale = next((task.scales[at] for task, _ in placed if at in task.scales), None)
            with np.errstate(all="ignore"):  # sums of what is infinite are NaN, and no warning
                parts = reduce(partial(by_groups.merged, gather), task_parts) if task_parts else ()
            statistics[request] = by_groups.values(gather, parts, scale) if task_parts else []
    for at, key_request in enumerate(draft.keyed):
        if len(draft.requests) + at not in unable:
            tallies = []
            for task, own in placed:
                hashes, marks, times = task.tallies[at]
                tallies.append((hashes, 2 * own[marks >> 1] + (marks & 1), times))  # the groups at other places
            counted[key_request] = _summaries(tallies, len(numbers))
    merged_groups = GroupResults(keys=[keys[at] for at in order], statistics=statistics, counted=counted)
    return merged_groups, _left_by_rows(every, unable)


def _summaries(tallies: Sequence[Tally], groups: int) -> list[Summary]:
    """Of each group what ``Frequencies.summary`` is of all rows."""
    if not tallies:
        return [Summary()] * groups
    _, marks, times = of_tallies(tallies)
    places, has_null = marks >> 1, (marks & 1).astype(np.bool_)

    def summed(flags: Flags, weights: Numbers | None = None) -> Numbers:
        return np.bincount(places.compress(flags), None if weights is None else weights.compress(flags), groups)

    whole, most = ~has_null, np.zeros(groups, dtype=np.int64)
    np.maximum.at(most, places.compress(whole), times.compress(whole))
    columns = {
        "rows": summed(whole, times).astype(np.int64),
        "distinct": summed(whole),
        "single": summed(whole & (times == 1)),
        "most": most,
        "weighted_logs": summed(whole, times * np.log(times)),
        "distinct_with_nulls": summed(has_null),
        "rows_with_nulls": summed(has_null, times).astype(np.int64),
    }
    lines = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [Summary(**dict(zip(columns, line, strict=True))) for line in lines]


def tasks(pieces: Sequence[tuple[Piece, Sequence[int]]], rows: int, most: int | None = None) -> list[list[Piece]]:
    """The row groups of files, given the rows of each group, cut into tasks of about as many rows."""
    count = max(1, min(-(-rows // TASK_ROWS), most or rows))
    bound, held = rows / count, 0
    cut: list[list[Piece]] = [[]]
    for piece, counts in pieces:
        run: list[int] = []
        for group, size in zip(piece.groups, counts, strict=True):
            if held and held + size / 2 > bound * len(cut) and (run or cut[-1]):
                if run:
                    cut[-1].append(replace(piece, groups=tuple(run), footer=None))
                cut.append([])
                run = []
            run.append(group)
            held += size
        if run:
            cut[-1].append(replace(piece, groups=tuple(run), footer=None))
    return [task for task in cut if task]


# Histograms by the kernels: those of values as groups of rows, those of bins once their ends are known.
#
# The ends of bins must be known before anything is counted in them; where the footers tell them, a job is saved.

TOO_MANY = Left(kind=FallbackKind.ROWS, why=f"there are more than {MAX_GROUPS:,} values")

Wide = Sequence[tuple[MeasurementRequest, Bins]]  # histograms whose numbers are to be counted in these bins


def values_asked(requests: Sequence[MeasurementRequest], write: Expressions) -> list[GroupsRequest]:
    """How often each value comes, of those histograms that count values."""
    return [
        GroupsRequest(
            by=item.spec.columns, requests=(StatisticRequest(statistic=ROWS, where=condition_of(item.spec, write)),)
        )
        for item in requests
        if bins_of(item.spec) is None
    ]


def ends_asked(requests: Sequence[MeasurementRequest], write: Expressions) -> list[StatisticRequest]:
    """The least and the greatest number, of those histograms that count in bins."""
    return [request for item in requests if bins_of(item.spec) is not None for request in ends_of(item, write)]


def ends_of(item: MeasurementRequest, write: Expressions) -> tuple[StatisticRequest, StatisticRequest]:
    """The least and the greatest number of one, as doubles; the footers may know them of the column."""
    (column,) = item.spec.columns
    of, where = (write.number(column),), condition_of(item.spec, write)
    low, high = (
        StatisticRequest(statistic=Statistic(gather=gather, of=of, column=column), where=where)
        for gather in (Gather.MIN, Gather.MAX)
    )
    return low, high


def of_groups(results: GroupResults) -> Measured | Left:
    """A histogram of values, given what was found of ``values_asked``."""
    if results.too_many:
        return TOO_MANY
    (counts,) = results.statistics.values()
    texts = (text for (text,) in results.keys)
    return of_values({text: count for text, count in zip(texts, counts, strict=True) if count})


def bins_of_ends(
    item: MeasurementRequest, write: Expressions, name: str, ends: Mapping[StatisticRequest, Value]
) -> Bins | Measured:
    """The bins of one that counts in them, or the measurement where there are none; ``name``: of the table."""
    least, greatest = (None if ends[request] is None else float(ends[request]) for request in ends_of(item, write))
    return bins_between(item, name, least, greatest, bins_of(item.spec) or 1)


def binning(wide: Wide, write: Expressions, stored: Mapping[str, Stored]) -> Program:
    """Counts what lies in the bins of all of them."""
    binned = []
    for item, bins in wide:
        (column,) = item.spec.columns
        where = condition_of(item.spec, write)
        node = None if where is None else compiled(where)
        of = compiled(write.number(column))
        binned.append(Binned(of=of, where=node, low=bins.low, width=bins.width, bins=bins.count))
    names = {
        name for histogram in binned for node in (histogram.of, histogram.where) if node for name in names_in(node)
    }
    columns = {name: column for name, column in stored.items() if name in names}
    return Program(statistics=(), counted=(), columns=columns, binned=tuple(binned))


def in_bins(wide: Wide, results: Sequence[TaskResult]) -> dict[str, Measured]:
    """The histograms by their keys, from what the tasks of ``binning`` found; nothing if one of them failed."""
    if any(result.failed for result in results):
        return {}
    measured = {}
    for at, (item, bins) in enumerate(wide):
        *counts, nulls = np.sum([result.bins[at] for result in results], axis=0).tolist()
        measured[item.key] = of_bins(bins, {**dict(enumerate(counts)), None: nulls})
    return measured


def measured_histograms(
    requests: Sequence[MeasurementRequest],
    write: Expressions,
    name: str,
    ends: Mapping[StatisticRequest, Value],
    native: Native,
    groups: Sequence[NativeGroups],
    glean_bins: Callable[[Wide], Sequence[TaskResult]],
) -> tuple[dict[str, Measured], dict[str, Left]]:
    """The histograms by their keys, and why the others are Spark's; ``groups`` were asked for by ``values_asked``.

    ``glean_bins``: what tasks of ``binning`` find; nothing if they failed.
    """
    values = iter(groups)
    outcomes: dict[str, Measured | Bins | Left] = {}
    for item in requests:
        if bins_of(item.spec) is None:
            group = next(values)
            outcomes[item.key] = next(iter(group.left.values()), None) or of_groups(group.results)
        else:
            low, high = ends_of(item, write)
            outcomes[item.key] = native.left.get(low) or native.left.get(high) or bins_of_ends(item, write, name, ends)
    wide = [(item, bins) for item in requests if isinstance(bins := outcomes[item.key], Bins)]
    counted = in_bins(wide, results) if wide and (results := glean_bins(wide)) else {}
    measured = {key: outcome for key, outcome in outcomes.items() if isinstance(outcome, Measured)} | counted
    left = {key: outcome for key, outcome in outcomes.items() if isinstance(outcome, Left)}
    return measured, left | {item.key: FAILED for item, _ in wide if item.key not in counted}
