"""What an expression without columns comes to, by its text and the clock: a value, or two around it (pure)."""

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import cached_property
from operator import add, mul, sub

from sqlglot import exp

from assay.time.durations import add_months
from assay.time.windows import Granularity, Partitioning, Window

Value = str | int | date | datetime  # times have no zone: they are those of the clocks where a query runs
MOST_DIGITS = 30
PLAIN = re.compile(r"(?:%[YmdHMS]|[^%A-Za-z]|T)*")  # forms that mean the same everywhere
DATED = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T].*)?", re.ASCII)
MONTHS = {"MONTH": 1, "MON": 1, "MM": 1, "QUARTER": 3, "YEAR": 12, "YYYY": 12}
DAYS = {"DAY": 1, "DD": 1, "WEEK": 7}
SECONDS = {"HOUR": 3600, "MINUTE": 60, "SECOND": 1}


def as_date(value: Value) -> date | None:
    """The day of a value, None where it is no time."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, str):
        time = as_time(value)
        return time.date() if time else None
    return value if isinstance(value, date) else None


def as_time(value: Value) -> datetime | None:
    """The time of a value, None where it is none or one of another zone."""
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    if isinstance(value, str) and DATED.fullmatch(value):
        try:
            instant = datetime.fromisoformat(value)
        except ValueError:
            return None
        return instant if instant.tzinfo is None else None
    return None


def as_text(value: Value) -> str | None:
    """The value as a text, as all engines write it; None for times, which they write in several ways."""
    return None if isinstance(value, datetime) else str(value)


def as_number(value: Value) -> int | None:
    """The whole number of a value, None where it is none."""
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() and len(value) <= MOST_DIGITS else None
    return value if isinstance(value, int) else None


def parsed(value: Value, form: str) -> datetime | None:
    """The time that a text says in a form of Python's; raises ValueError for another text."""
    if not isinstance(value, str) or not PLAIN.fullmatch(form):
        return None
    instant = datetime.strptime(value, form)
    return instant if instant.strftime(form) == value else None


def shifted(value: Value, number: int, unit: str) -> Value | None:
    """A date or time so many units later; raises ValueError far from our years."""
    if unit in MONTHS:
        moved = add_months(_time(value), number * MONTHS[unit])
        return moved if isinstance(value, datetime) else moved.date()
    if unit in DAYS and isinstance(value, date):
        return value + timedelta(days=number * DAYS[unit])
    return _time(value) + timedelta(seconds=number * SECONDS[unit]) if unit in SECONDS else None


def _time(value: Value) -> datetime:
    instant = as_time(value)
    if instant is None:
        raise ValueError
    return instant


def truncated(value: Value, unit: str) -> Value | None:
    """The start of the period that holds a value."""
    wall = _time(value)
    if unit in SECONDS:
        midnight = datetime(wall.year, wall.month, wall.day)
        return midnight + (wall - midnight) // timedelta(seconds=SECONDS[unit]) * timedelta(seconds=SECONDS[unit])
    wall = wall.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "WEEK":
        wall -= timedelta(days=wall.weekday())
    elif unit in MONTHS:
        wall = wall.replace(day=1, month=(wall.month - 1) // MONTHS[unit] * MONTHS[unit] + 1)
    elif unit not in DAYS:
        return None
    return wall if isinstance(value, datetime) else wall.date()


def last_day(value: Value) -> date:
    """The last day of a value's month."""
    return (add_months(_time(value).replace(day=1), 1) - timedelta(days=1)).date()


IN_ORDER = re.compile(r"%Y(?:%m(?:%d(?:%H(?:%M(?:%S)?)?)?)?|%j(?:%H)?)?|%G%V")
ASIDE = re.compile(r"[^%A-Za-z]|(?<!%)[A-Za-z]")  # what stands between the parts of a format
ODD = re.compile(r"%[^A-Za-z]")  # %-d and its like
DIGIT = re.compile(r"\d", re.ASCII)


def is_ordered(form: str) -> bool:
    """Whether a later time is written as a later text: from the year on, each part in digits of one length."""
    whole = form.replace("%F", "%Y-%m-%d")
    return not ODD.search(whole) and IN_ORDER.fullmatch(ASIDE.sub("", whole)) is not None


@dataclass(frozen=True, kw_only=True)
class KeyOrder:
    """The keys of the partitions of a stretch of time, in their order."""

    partitioning: Partitioning
    whole: Window
    keys_by_number: dict[int, str] = field(default_factory=dict)

    @cached_property
    def is_text(self) -> bool:
        """Whether keys sort by time as texts."""
        return is_ordered(self.partitioning.key_format)

    @cached_property
    def is_number(self) -> bool:
        """Whether they do as numbers too."""
        return self.is_text and self._key(0).isdigit()

    def is_like(self, text: str) -> bool:
        """Whether a text differs from keys in digits alone, which all collations sort alike."""
        key = self._key(0)
        length = min(len(text), len(key))
        return self.is_text and DIGIT.sub("0", text[:length]) == DIGIT.sub("0", key[:length])

    def first(self, is_past: Callable[[str], bool]) -> Window | None:
        """The first partition whose key is past some point; None where none is."""
        place = bisect_left(range(self._count), True, key=lambda number: is_past(self._key(number)))
        return None if place == self._count else self._at(place)

    @cached_property
    def _step(self) -> timedelta:
        return timedelta(hours=1) if self.partitioning.granularity is Granularity.HOUR else timedelta(days=1)

    @cached_property
    def _count(self) -> int:
        return -((self.whole.start - self.whole.end) // self._step)

    def _at(self, number: int) -> Window:
        last = self.whole.end - datetime.resolution
        return self.partitioning.at(min(self.whole.start + number * self._step, last))

    def _key(self, number: int) -> str:
        if number not in self.keys_by_number:
            self.keys_by_number[number] = self.partitioning.key(self._at(number))
        return self.keys_by_number[number]


DAY, HOUR = timedelta(days=1), timedelta(hours=1)
NOW = ("now", "sysdate", "getdate", "localtimestamp", "current_timestamp")
CLOCKS = (exp.CurrentTimestamp, exp.CurrentDatetime, exp.Localtimestamp, exp.Localtime, exp.UtcTimestamp)
TODAY = ("curdate", "current_date", "utc_date")
TO_DATE = (exp.TsOrDsToDate, exp.Date, exp.FromISO8601Date)
TO_TIME = (exp.TsOrDsToTimestamp, exp.TimeStrToTime, exp.Timestamp, exp.FromISO8601Timestamp)
PARSED = (exp.StrToDate, exp.StrToTime, exp.ParseDatetime)
ADDED = (exp.DateAdd, exp.TimestampAdd, exp.DatetimeAdd)
SUBTRACTED = (exp.DateSub, exp.TimestampSub, exp.DatetimeSub)
ARITHMETIC: dict[type[exp.Expr], Callable[[int, int], int]] = {exp.Add: add, exp.Sub: sub, exp.Mul: mul}
TIMES = {exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPNTZ, exp.DType.TIMESTAMPLTZ, exp.DType.DATETIME}
CASTS: Sequence[tuple[Collection[exp.DType], Callable[[Value], Value | None]]] = (
    ((exp.DType.DATE, exp.DType.DATE32), as_date),
    (TIMES, as_time),
    (exp.DataType.TEXT_TYPES, as_text),
    (exp.DataType.INTEGER_TYPES, as_number),
)
LETTERS = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}  # of Java's patterns


@dataclass(frozen=True, kw_only=True)
class Constant:
    """The least and the greatest value that an expression may have; they are of one type."""

    low: Value
    high: Value

    def map_ends(self, change: Callable[[Value], Value | None]) -> "Constant | None":
        """What both ends become by a change that keeps their order; None where it fails."""
        try:
            low, high = change(self.low), change(self.high)
        except (ValueError, OverflowError):
            return None
        return None if low is None or high is None else Constant(low=low, high=high)


def exactly(value: Value) -> Constant:
    """A value that is known."""
    return Constant(low=value, high=value)


@dataclass(frozen=True, kw_only=True)
class Folding:
    """How expressions are folded: in which dialect, and what time it is where the data lies (a naive local time).

    The clocks of the engine may show another day than those of the data: today is yesterday to tomorrow.
    """

    dialect: str
    local_now: datetime

    def fold(self, node: exp.Expr) -> Constant | None:
        """What an expression comes to; None where that is not known."""
        node = node.unnest()
        if isinstance(node, exp.Literal):
            literal = exactly(node.name)
            return literal if node.is_string else literal.map_ends(as_number)
        if isinstance(node, exp.Neg):
            inner = self.fold(node.this)
            return exactly(-inner.low) if inner and isinstance(inner.low, int) else None
        if isinstance(node, exp.CurrentDate | exp.UtcDate) or _is_called(node, TODAY):
            today = self.local_now.date()
            return Constant(low=today - DAY, high=today + DAY)
        if isinstance(node, CLOCKS) or _is_called(node, NOW):
            return Constant(low=self.local_now - DAY, high=self.local_now + DAY)
        return self._converted(node) or self._moved(node) or self._written(node)

    def _converted(self, node: exp.Expr) -> Constant | None:
        """Casts, and the functions that do the same."""
        if isinstance(node, exp.Cast):
            to, inner = node.to.this, self.fold(node.this)
            change = next((change for types, change in CASTS if to in types), None)
            is_cut = change is as_text and bool(node.to.expressions)  # to so many letters
            return inner.map_ends(change) if inner and change and not is_cut else None
        if isinstance(node, TO_DATE + TO_TIME + PARSED) and set(argument_names(node)) <= {"this", "format", "safe"}:
            form, inner = node.args.get("format"), self.fold(node.this)
            if inner and form is not None:
                written = form.name.replace("strict", "") if isinstance(form, exp.Literal) else "%"
                inner = inner.map_ends(lambda value: parsed(value, written))
            as_what = as_date if isinstance(node, (*TO_DATE, exp.StrToDate)) else as_time
            return inner and inner.map_ends(as_what)
        if isinstance(node, exp.AtTimeZone):
            return _wider((inner := self.fold(node.this)) and inner.map_ends(as_time), DAY)
        if _is_called(node, ("make_date",)) and len(node.expressions) == 3:
            parts = map(self.fold, node.expressions)
            numbers = [part.low for part in parts if part and isinstance(part.low, int)]
            return exactly(0).map_ends(lambda _: date(*numbers)) if len(numbers) == 3 else None
        return None

    def _moved(self, node: exp.Expr) -> Constant | None:
        """Arithmetic of dates, times and numbers."""
        if isinstance(node, exp.TsOrDsAdd):  # Spark's, which gives a date whatever it takes
            day = (inner := self.fold(node.this)) and inner.map_ends(as_date)
            return self._shifted(day, node.expression, node.args.get("unit"), 1)
        if isinstance(node, ADDED + SUBTRACTED):
            sign = 1 if isinstance(node, ADDED) else -1
            return self._shifted(self._dated(node.this), node.expression, node.args.get("unit"), sign)
        if isinstance(node, exp.AddMonths):
            return self._shifted(self._dated(node.this), node.expression, exp.var("MONTH"), 1)
        if _is_called(node, ("adddate", "subdate")) and len(node.expressions) == 2:
            sign = 1 if node.name.lower() == "adddate" else -1
            return self._plus(self._dated(node.expressions[0]), node.expressions[1], sign)
        if isinstance(node, exp.Add | exp.Sub | exp.Mul):
            return self._sum(node)
        if isinstance(node, exp.TimestampTrunc | exp.DateTrunc):
            inner, unit = self._dated(node.this), _unit(node.args.get("unit"))
            return inner and inner.map_ends(lambda value: truncated(value, unit))
        if isinstance(node, exp.LastDay) and set(argument_names(node)) == {"this"}:
            return (inner := self._dated(node.this)) and inner.map_ends(last_day)
        return None

    def _sum(self, node: exp.Binary) -> Constant | None:
        left, right = node.left.unnest(), node.right.unnest()
        sign = -1 if isinstance(node, exp.Sub) else 1
        if isinstance(right, exp.Interval) and not isinstance(node, exp.Mul):
            return self._plus(self._dated(left), right, sign)
        if isinstance(left, exp.Interval) and isinstance(node, exp.Add):
            return self._plus(self._dated(right), left, 1)
        first, other = self.fold(left), self.fold(right)
        if first is None or other is None:
            return None
        if (
            isinstance(first.low, int)
            and isinstance(other.low, int)
            and first.low == first.high
            and other.low == other.high
        ):
            total = ARITHMETIC[type(node)](first.low, other.low)
            return exactly(total) if abs(total) < 10**MOST_DIGITS else None
        if self.dialect == "spark" and type(first.low) is date and not isinstance(node, exp.Mul):
            return self._plus(first, right, sign)
        return None

    def _plus(self, start: Constant | None, length: exp.Expr, sign: int) -> Constant | None:
        """A time moved by an interval, or by so many days."""
        if isinstance(length, exp.Interval):
            return self._shifted(start, length.this, length.args.get("unit"), sign) if length.this else None
        return self._shifted(start, length, exp.var("DAY"), sign)

    def _shifted(self, start: Constant | None, amount: exp.Expr, unit: exp.Expr | None, sign: int) -> Constant | None:
        many = self.fold(amount)
        if start is None or many is None or many.low != many.high:
            return None
        try:
            number = sign * int(many.low)  # type: ignore[arg-type]  # a date raises TypeError
            result = start.map_ends(lambda value: shifted(value, number, _unit(unit)))
        except (TypeError, ValueError):
            return None
        return _wider(result, HOUR) if result and number and _unit(unit) in SECONDS else result  # clocks may be changed

    def _dated(self, node: exp.Expr) -> Constant | None:
        """A date or time, as functions of dates take it: a text is one too."""
        inner = self.fold(node)
        if inner and isinstance(inner.low, str):
            return inner.map_ends(as_time if len(inner.low) > len("2026-01-01") else as_date)
        return inner if inner and isinstance(inner.low, date) else None

    def _written(self, node: exp.Expr) -> Constant | None:
        """Texts made of texts and of times."""
        if isinstance(node, exp.TimeToStr) and isinstance(node.args.get("format"), exp.Literal):
            return self._formatted(node.this, node.args["format"].name.replace("strict", ""))
        if _is_called(node, ("format_datetime",)) and len(node.expressions) == 2:
            pattern = re.split("(yyyy|MM|dd|HH|mm|ss)", node.expressions[1].name)
            if not any(letter.isalpha() for part in pattern for letter in part if part not in LETTERS):
                return self._formatted(node.expressions[0], "".join(LETTERS.get(part, part) for part in pattern))
        if isinstance(node, exp.Concat | exp.DPipe):
            parts = [self.fold(piece) for piece in (node.expressions or node.flatten())]
            texts = [part.low for part in parts if part and part.low == part.high and isinstance(part.low, str)]
            return exactly("".join(texts)) if texts and len(texts) == len(parts) else None
        return None

    def _formatted(self, node: exp.Expr, form: str) -> Constant | None:
        inner = self._dated(node) if PLAIN.fullmatch(form) else None
        if inner is None or (inner.low != inner.high and not is_ordered(form)):
            return None
        return inner.map_ends(lambda value: as_time(value).strftime(form))  # type: ignore[union-attr]


def _wider(constant: Constant | None, by: timedelta) -> Constant | None:
    """Both ends moved apart."""
    if constant is None or not isinstance(constant.low, date) or not isinstance(constant.high, date):
        return None
    try:
        return Constant(low=constant.low - by, high=constant.high + by)
    except OverflowError:  # at the ends of the calendar
        return None


def argument_names(node: exp.Expr) -> list[str]:
    """The names of the arguments that say something."""
    return [name for name, value in node.args.items() if value not in (None, False, [])]


def _is_called(node: exp.Expr, names: tuple[str, ...]) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.lower() in names


def _unit(unit: exp.Expr | None) -> str:
    name = unit.name.upper() if isinstance(unit, exp.Var | exp.Literal) else ""
    return name.removesuffix("S") if name.removesuffix("S") in {*MONTHS, *DAYS, *SECONDS} else name
