"""Which partitions of a table a query reads: from the conditions around each use, inside and outside (pure).

A column of keys may be a text, a number or a date: a comparison that these would decide differently leaves what any of
them leaves.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import MAXYEAR, UTC, date, datetime

from sqlglot import exp

from assay.time.durations import EARLIEST, LATEST
from assay.time.stored_times import TICKS, StoredTimes
from assay.time.windows import Granularity, Partitioning, UnableToPartition, Window
from incident_manager.intervals import Intervals, clip, union

from .constants import DAY, TIMES, Constant, Folding, KeyOrder, Value, argument_names, as_time, exactly
from .tables import Name, SelectLevel, SelectSource, TableUse

LOOSE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?(?!\d)", re.ASCII)
DATED = ("%Y%m%d", "%Y-%m", "%F")  # and all that begin with %Y-%m-%d: keys that are read as dates


@dataclass(frozen=True, kw_only=True)
class KeyRanges:
    """The partitions of a stretch of time, by their keys."""

    order: KeyOrder

    def passing(self, operator: str, constant: Constant) -> Intervals | None:
        """The partitions whose rows may pass ``column operator constant``; None where that is not known."""
        if operator == "like":
            return self._like(constant)
        if operator == "=":
            return self._equal(constant)
        is_upward = operator in (">", ">=")
        edge = self._start(operator, constant.low) if is_upward else self._end(operator, constant.high)
        if edge is None:
            return None
        whole = self.order.whole
        return stretch(max(whole.start, edge), whole.end) if is_upward else stretch(whole.start, min(whole.end, edge))

    def _equal(self, constant: Constant) -> Intervals | None:
        if constant.low == constant.high and (window := self._window(constant.low)):
            return (window,)
        low, high = constant.low, constant.high
        if isinstance(low, str) and low == high:  # no key, so that it equals one as a date or not at all
            low = high = as_time(low) or low
        if not isinstance(low, date) and low == high:
            return None
        start, end = self._start(">=", low), self._end("<=", high)
        return None if start is None or end is None else stretch(start, end)

    def _like(self, constant: Constant) -> Intervals | None:
        if not isinstance(constant.low, str) or constant.low != constant.high or "\\" in constant.low:
            return None
        prefix = constant.low.replace("_", "%").split("%")[0]
        if not prefix or not self.order.is_like(prefix):
            return None
        start = self.order.first(lambda key: key >= prefix)
        end = self.order.first(lambda key: key[: len(prefix)] > prefix)
        return stretch(start.start, end.start if end else self.order.whole.end) if start else ()

    def _start(self, operator: str, value: Value) -> datetime | None:
        """The first instant of what may lie above a value."""
        if isinstance(value, date):
            if not self._is_dated:
                return None
            start, end = self._holding(value)
            return end if operator == ">" and self._is_exact(value) else start
        whole = self.order.whole
        if window := self._window(value):
            if not self.order.is_text:
                return None
            return window.end if operator == ">" else window.start
        edges = [partition.start if partition else whole.end for partition in self._firsts(value)]
        if edges and isinstance(value, str) and (loose_date := _loose_date(value)):
            edges.append(self._holding(loose_date)[0])
        return min(edges, default=None)

    def _end(self, operator: str, value: Value) -> datetime | None:
        """The instant where that ends which may lie below a value."""
        if isinstance(value, date):
            if not self._is_dated:
                return None
            start, end = self._holding(value)
            if operator == "<" and self._is_exact(value):
                return start
            if operator == "<=" and not isinstance(value, datetime):  # hours of the day, where they are read as dates
                return max(end, self._holding(_wall(value) + DAY - datetime.resolution)[1])
            return end
        if window := self._window(value):
            if not self.order.is_text:
                return None
            return window.end if operator == "<=" else window.start
        return max((self._below(partition, operator, value) for partition in self._firsts(value)), default=None)

    def _below(self, partition: Window | None, operator: str, value: Value) -> datetime:
        """Where that ends which lies below the first key above a value; as a date that key may be the value itself."""
        if partition is None:
            return self.order.whole.end
        key = self.order.partitioning.key(partition)
        is_same = str(int(key)) == str(value) if isinstance(value, int) else key.startswith(str(value))
        return partition.end if operator == "<=" and is_same else partition.start

    def _firsts(self, value: str | int) -> Iterable[Window | None]:
        """The first keys that are not below a value: as texts, and as numbers."""
        if isinstance(value, str):
            if not self.order.is_like(value):
                return
            yield self.order.first(lambda key: key >= value)
        if self.order.is_number and (isinstance(value, int) or value.isdigit()):
            number = int(value)
            yield self.order.first(lambda key: int(key) >= number)

    @property
    def _is_dated(self) -> bool:
        form = self.order.partitioning.key_format
        return self.order.is_text and (form.startswith("%Y-%m-%d") or form in DATED)

    def _is_exact(self, value: date) -> bool:
        """Whether the value is that of a key, read as a date."""
        return self.order.partitioning.granularity is Granularity.DAY and _wall(value).time() == datetime.min.time()

    def _holding(self, value: date) -> tuple[datetime, datetime]:
        """The ends of the partitions that may hold a local time: the clocks may have shown it twice."""
        partitioning = self.order.partitioning
        wall = min(max(_wall(value), EARLIEST.replace(tzinfo=None)), LATEST.replace(tzinfo=None))
        instants = [wall.replace(tzinfo=partitioning.zone, fold=fold).astimezone(UTC) for fold in (0, 1)]
        windows = [partitioning.at(instant) for instant in instants]
        return min(window.start for window in windows), max(window.end for window in windows)

    def _window(self, key: Value) -> Window | None:
        """The partition of which a value is the key."""
        if isinstance(key, date) or (isinstance(key, int) and not self.order.is_number):
            return None
        try:
            return self.order.partitioning.window(str(key))
        except UnableToPartition:
            return None


def stretch(start: datetime, end: datetime) -> Intervals:
    """What lies between two instants."""
    return (Window(start=start, end=end),) if start < end else ()


def _loose_date(text: str) -> date | None:
    """The date that an engine may see in a text: what is missing is 1."""
    match = LOOSE.match(text)
    try:
        return date(int(match[1]), int(match[2] or 1), int(match[3] or 1)) if match else None
    except ValueError:
        return None


def _wall(value: date) -> datetime:
    return value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)


Ends = tuple[datetime, datetime]


@dataclass(frozen=True, kw_only=True)
class TimeRanges:
    """A stretch of time, by what is stored for it; times are compared as those of the zone in which they are stored."""

    times: StoredTimes
    whole: Window

    def passing(self, operator: str, constant: Constant, *, as_date: bool = False) -> Intervals | None:
        """The time whose rows may pass ``column operator constant``, or that of the column's date; None: not known."""
        if as_date:
            return self._of_dates(operator, constant)
        low, high = self._instants(constant.low), self._instants(constant.high)
        if low is None or high is None:
            return None
        if operator == "=" and constant.low == constant.high:
            return union(self.times.partitioning.at(instant) for instant in low)
        return self._between(operator, low[0], high[1])

    def _between(self, operator: str, first: datetime, last: datetime) -> Intervals | None:
        start, end = self.whole.start, self.whole.end
        if operator in (">", ">=", "="):
            start = max(start, first)
        if operator in ("<", "<=", "="):
            end = min(end, last if operator == "<" else last + datetime.resolution)
        return None if operator == "like" else stretch(start, end)

    def _of_dates(self, operator: str, constant: Constant) -> Intervals | None:
        """The same for a column whose time of day is cut off."""
        low, high = as_time(constant.low), as_time(constant.high)
        if low is None or high is None or self.times.holds in TICKS or operator == "like":
            return None
        is_day = low.time() == high.time() == datetime.min.time()
        first = _wall(low.date()) + (DAY if operator == ">" and is_day else 0 * DAY)
        last = _wall(high.date()) + (0 * DAY if operator == "<" and is_day else DAY)
        starts, ends = self._instants(first), self._instants(last)
        if starts is None or ends is None:
            return None
        if operator == "=":
            return stretch(max(self.whole.start, starts[0]), min(self.whole.end, ends[1]))
        return self._between({">": ">=", "<=": "<"}.get(operator, operator), starts[0], ends[1])

    def _instants(self, value: Value) -> Ends | None:
        """The first and the last instant that a value may be."""
        if isinstance(value, int):
            return self.times.instants(str(value)) if self.times.holds in TICKS else None
        if isinstance(value, date):
            return None if self.times.holds in TICKS else self.times.instants(value.isoformat())
        return self.times.instants(value)


OPERATORS: dict[type[exp.Expr], str] = {
    **{exp.EQ: "=", exp.NullSafeEQ: "="},
    **{exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<="},
}
FLIPPED = {"=": "=", ">": "<", ">=": "<=", "<": ">", "<=": ">="}
NEGATED = {">": "<=", ">=": "<", "<": ">=", "<=": ">"}
PLAIN, DATE, TEXT, NUMBER = "plain", "date", "text", "number"

IsColumn = Callable[[exp.Column, str], bool]  # given the operator too: what equals the column may sort otherwise


@dataclass(frozen=True, kw_only=True)
class Comparing:
    """How the column of one dataset is compared: with constants, by the keys or the times that it holds.

    Whatever is not understood leaves all of the time. What leaves less is never true of NULL, so that it holds of a row
    of the column's own table even where that is the side of an outer join which may be missing.
    """

    folding: Folding
    ranges: KeyRanges | TimeRanges
    folded: dict[int, Constant | None] = field(default_factory=dict)  # by the place in the text

    def left_by(self, condition: exp.Expr, is_column: IsColumn, *, negated: bool = False) -> Intervals | None:
        """What a condition leaves; None: all of it."""
        node = condition.unnest()
        if isinstance(node, exp.Not):
            return self.left_by(node.this, is_column, negated=not negated)
        if isinstance(node, exp.And | exp.Or):
            parts = (self.left_by(part, is_column, negated=negated) for part in node.flatten())
            return in_all(parts) if isinstance(node, exp.And) is not negated else _in_any(parts)
        if isinstance(node, exp.Between) and not node.args.get("symmetric"):
            ends = [self._compared(node.this, ">=", node.args["low"], is_column, negated=negated)]
            ends.append(self._compared(node.this, "<=", node.args["high"], is_column, negated=negated))
            return _in_any(ends) if negated else in_all(ends)
        if isinstance(node, exp.In) and not negated and set(argument_names(node)) == {"this", "expressions"}:
            if _form(node.this, "=", is_column) is None:
                return None
            return _in_any(self._compared(node.this, "=", value, is_column) for value in node.expressions)
        if isinstance(node, exp.Like) and not negated:
            return self._compared(node.this, "like", node.expression, is_column)
        if type(node) in OPERATORS and isinstance(node, exp.Binary):
            operator = OPERATORS[type(node)]
            intervals = self._compared(node.left, operator, node.right, is_column, negated=negated)
            if intervals is None:
                intervals = self._compared(node.right, FLIPPED[operator], node.left, is_column, negated=negated)
            if intervals is None and operator == "=" and not negated:
                intervals = self._part_equals(node.left, node.right, is_column)
            return intervals
        return None

    def _part_equals(self, part: exp.Expr, value: exp.Expr, is_column: IsColumn) -> Intervals | None:
        """What is left where the year of the column, or its first letters, are a constant."""
        whole, length = _cut(part.unnest())
        constant = self._constant(value)
        if whole is None or constant is None or _form(whole, "=", is_column) not in (PLAIN, DATE):
            return None
        if constant.low != constant.high:
            return None
        literal, passing = constant.low, self.ranges.passing
        if isinstance(literal, int) and length is None and 1 <= literal < MAXYEAR:
            first, behind = exactly(date(literal, 1, 1)), exactly(date(literal + 1, 1, 1))
            return in_all([passing(">=", first), passing("<", behind)])
        if isinstance(literal, str) and length == str(len(literal)) and not set(literal) & set("%_"):
            return passing("like", exactly(f"{literal}%"))
        return None

    def _compared(
        self, column: exp.Expr, operator: str, value: exp.Expr, is_column: IsColumn, *, negated: bool = False
    ) -> Intervals | None:
        form = _form(column, operator, is_column)
        if form is None or (negated and operator not in NEGATED):
            return None
        constant = self._constant(value)
        if constant is None or (form == NUMBER and not isinstance(constant.low, int)):
            return None
        if form == TEXT and not isinstance(constant.low, str):
            return None
        operator = NEGATED[operator] if negated else operator
        try:
            if isinstance(self.ranges, KeyRanges):
                return self.ranges.passing(operator, constant)
            return self.ranges.passing(operator, constant, as_date=form == DATE) if form in (PLAIN, DATE) else None
        except OverflowError:  # at the ends of the calendar
            return None

    def _constant(self, value: exp.Expr) -> Constant | None:
        if id(value) not in self.folded:
            self.folded[id(value)] = self.folding.fold(value)
        return self.folded[id(value)]


def in_all(parts: Iterable[Intervals | None]) -> Intervals | None:
    """What lies in each of the parts; None is all there is."""
    both: Intervals | None = None
    for part in parts:
        if part is not None and both is not None:
            few, many = sorted((both, part), key=len)
            both = union([window for stretch in few for window in clip(many, stretch)])
        elif part is not None:
            both = part
    return both


def _in_any(parts: Iterable[Intervals | None]) -> Intervals | None:
    windows: list[Window] = []
    for part in parts:
        if part is None:
            return None
        windows += part
    return union(windows)


def _form(node: exp.Expr, operator: str, is_column: IsColumn) -> str | None:
    """What is compared of the column; None for whatever is not the column itself."""
    node = node.unnest()
    if isinstance(node, exp.Column):
        return PLAIN if is_column(node, operator) else None
    if isinstance(node, exp.Cast):
        to, inner = node.to.this, DATE if node.to.this is exp.DType.DATE else PLAIN
        if to in exp.DataType.TEXT_TYPES and not node.to.expressions:
            inner = TEXT
        elif to in exp.DataType.INTEGER_TYPES:
            inner = NUMBER
        elif to is not exp.DType.DATE and to not in TIMES:
            return None
        return inner if _form(node.this, operator, is_column) == PLAIN else None
    is_day = isinstance(node, exp.TimestampTrunc) and node.unit is not None and node.unit.name.upper() == "DAY"
    if is_day or (isinstance(node, exp.TsOrDsToDate | exp.Date) and set(argument_names(node)) <= {"this", "safe"}):
        return DATE if _form(node.this, operator, is_column) == PLAIN else None
    return None


def _cut(node: exp.Expr) -> tuple[exp.Expr | None, str | None]:
    """The whole of what a year or some first letters are cut from, and how many letters; None and None: of neither."""
    if isinstance(node, exp.Year):
        return node.this, None
    if isinstance(node, exp.Extract) and node.name.upper() == "YEAR":
        return node.expression, None
    if isinstance(node, exp.Left):
        return node.this, node.expression.name
    if isinstance(node, exp.Substring) and node.args.get("length") and node.args["start"].name == "1":
        return node.this, node.args["length"].name
    return None, None


DEEPEST = 50  # queries in queries: a condition further out is not looked at


@dataclass(frozen=True, kw_only=True)
class PartitionColumn:
    """The column by which a dataset is cut, and what it holds: keys, or ``times``."""

    name: str
    partitioning: Partitioning
    times: StoredTimes | None = None


def ranges(
    uses: tuple[TableUse, ...], column: PartitionColumn, whole: Window, *, now: datetime, dialect: str = "spark"
) -> Intervals:
    """The parts of ``whole`` that uses of a dataset read: none is left out that they may read.

    Literals are those of the dataset's zone, or of the zone in which its times are stored.
    """
    here = column.times.local(now) if column.times else now.astimezone(column.partitioning.zone).replace(tzinfo=None)
    held = (
        TimeRanges(times=column.times, whole=whole)
        if column.times
        else KeyRanges(order=KeyOrder(partitioning=column.partitioning, whole=whole))
    )
    narrowing = _Narrowing(comparing=Comparing(folding=Folding(dialect=dialect, local_now=here), ranges=held))
    parts = [narrowing.of(use, column.name.lower()) for use in uses]
    return union(window for part in parts for window in ((whole,) if part is None else clip(part, whole)))


@dataclass(frozen=True, kw_only=True)
class _Narrowing:
    """What was found so far, by place and column."""

    comparing: Comparing
    intervals_by_column: dict[tuple[int, Name], Intervals | None] = field(default_factory=dict)
    bare: dict[tuple[int, Name], Intervals | None] = field(default_factory=dict)  # by conditions that name no table

    def of(self, use: TableUse, column: Name) -> Intervals | None:
        """What a use reads; None: all of it, as of one whose conditions are nested too deep to be looked through."""
        try:
            return self._read_at(use.source, column, 0) if use.source is not None else None
        except RecursionError:
            return None

    def _read_at(self, source: SelectSource, column: Name, depth: int) -> Intervals | None:
        """What is read at a place; None: all of it."""
        if not source.is_plain:
            return None
        key = (id(source), column)
        if key not in self.intervals_by_column:
            inside, outside = self._inside(source, column), self._outside(source, column, depth)
            self.intervals_by_column[key] = in_all([inside, outside])
        return self.intervals_by_column[key]

    def _inside(self, source: SelectSource, column: Name) -> Intervals | None:
        """What the conditions of the place's own select leave."""
        same = source.select.same_columns(source, column)
        parts = []
        for conjuncts in (conjuncts for conjuncts, is_open in source.held if is_open):
            key = (id(conjuncts), column)
            if key not in self.bare:
                self.bare[key] = in_all(
                    self.comparing.left_by(part, lambda node, _: not node.table and node.name.lower() == column)
                    for part in conjuncts.naming("", column)
                )
            parts.append(self.bare[key])
        alike = {(of, name) for of, name in same if name == column}  # others may be of a type that sorts otherwise
        seen = set[int]()
        for part, is_open in (conjunct for of, name in same for conjunct in source.conjuncts(of, name)):
            if id(part) not in seen:
                seen.add(id(part))

                def is_column(node: exp.Column, operator: str, is_open: bool = is_open) -> bool:
                    columns = same if operator == "=" else alike
                    return source.select.is_among(node, columns, source, column, is_open=is_open)

                parts.append(self.comparing.left_by(part, is_column))
        return in_all(parts)

    def _outside(self, source: SelectSource, column: Name, depth: int) -> Intervals | None:
        """What the queries around it leave, where each row of the place goes into rows that show its column."""
        level = source.select
        result = level.result
        if level.is_closed or result.is_closed or not result.readers or depth == DEEPEST:
            return None
        outputs = list(level.outputs(source, column))
        windows = list[Window]()
        for reader in result.readers:
            names = [_renamed(level, name, place, reader) for name, place in outputs]
            part = in_all(self._read_at(reader, name, depth + 1) for name in names if name)
            if part is None:
                return None
            windows += part
        return union(windows)


def _renamed(level: SelectLevel, name: Name, place: int | None, reader: SelectSource) -> Name | None:
    """What a column of a select is called where its rows are read; None where that is not known."""
    new_name: Name | None = name
    if not level.is_named:
        new_name = level.result.name_at(place) if place is not None else None
    for columns in (level.result.columns, reader.columns):
        if columns is not None:
            new_name = columns[place] if place is not None and place < len(columns) else None
    return new_name
