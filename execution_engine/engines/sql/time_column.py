"""A column of times that a table is cut by: the bare column against bound values, so that its index serves."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from sqlalchemy import ColumnElement, and_, column, literal, not_
from sqlalchemy.types import TIMESTAMP, Date, DateTime, Integer, Numeric, TypeEngine

from assay.time.partition_keys import UnableToPartition
from assay.time.stored_times import TICKS, StoredTimes
from assay.time.windows import Window
from execution_engine.engines.protocol import Table
from execution_engine.outcome import Failure, Reason

MYSQL = frozenset({"mysql", "mariadb"})

Condition = ColumnElement[bool]
Value = datetime | date | int | str


class UnableToCut(Exception):
    """The partition column is not what the catalogue says; the failure tells how to mend it."""

    def __init__(self, table: Table, detail: str, reason: Reason = Reason.UNREADABLE) -> None:
        super().__init__(detail)
        self.failure = Failure(reason=reason, detail=f"{table.name}: {detail}")


@dataclass(frozen=True, kw_only=True)
class TimeColumn:
    """The partition column of ``table`` in a database of ``dialect``, where it is a ``type_``."""

    table: Table
    stored: StoredTimes
    dialect: str
    type_: TypeEngine[Any]

    @property
    def name(self) -> str:
        """The column's name."""
        return str(self.table.partition_column)

    @property
    def _bare(self) -> ColumnElement[Any]:
        return column(self.name, self.type_ if self.dialect != "sqlite" else None)

    def within(self, window: Window) -> Condition:
        """The rows of a window; UnableToCut."""
        return and_(self.since(window.start), self.before(window.end))

    def since(self, instant: datetime) -> Condition:
        """The rows of an instant or later."""
        cut, named = self._cut(instant), self._bare
        if not isinstance(cut, str) or " " not in cut:
            return named >= literal(cut)
        with_t = cut.replace(" ", "T")
        return and_(named >= cut, not_(and_(named >= cut[:10] + "T", named < with_t)))

    def before(self, instant: datetime) -> Condition:
        """The rows before an instant."""
        cut, named = self._cut(instant), self._bare
        if not isinstance(cut, str) or " " not in cut:
            return named < literal(cut)
        with_t = cut.replace(" ", "T")
        return and_(named < with_t, not_(and_(named >= cut, named < cut[:10] + "T")))

    def instant(self, value: Any) -> datetime:
        """The first instant that a value of the column may be; ValueError for one that is no time."""
        if isinstance(value, int | float | Decimal):
            return self.stored.instant(int(value))
        if isinstance(value, str):
            value = datetime.fromisoformat(value)
        if not isinstance(value, datetime):
            value = datetime.combine(value, time())
        return self.stored.instant(value.replace(tzinfo=UTC) if self._tells_utc else value)

    def check_type(self) -> None:
        """Raise UnableToCut unless the type is one of what the column is said to hold."""
        of_numbers = self.stored.holds in TICKS
        if not isinstance(self.type_, Integer | Numeric if of_numbers else DateTime | Date):
            self._refuse(f"is a {self.type_}", "a number" if of_numbers else "a DATETIME, TIMESTAMP or DATE")

    def check_classes(self, classes: set[str]) -> None:
        """The same in SQLite, by the classes of its values, as a column holds any."""
        of_numbers = self.stored.holds in TICKS
        if wrong := sorted(classes - ({"integer", "real"} if of_numbers else {"text"}) - {"null"}):
            wanted = "numbers" if of_numbers else "texts such as 2026-01-31 23:59:59"
            self._refuse(f"holds values of class {', '.join(wrong)}", wanted)

    def _refuse(self, found: str, wanted: str) -> None:
        raise UnableToCut(
            self.table, f"its partition column {self.name} {found}, but holds: {self.stored.holds} needs {wanted}"
        )

    @property
    def _tells_utc(self) -> bool:
        """A TIMESTAMP of MySQL, or one with a time zone elsewhere, is an instant, whatever zone a client shows."""
        is_mysqls = self.dialect in MYSQL and isinstance(self.type_, TIMESTAMP)
        return is_mysqls or getattr(self.type_, "timezone", False) is True  # of datetime(6) SQLAlchemy says 6

    def _cut(self, instant: datetime) -> Value:
        """The value from which on rows are of the instant or later."""
        if self.stored.holds in TICKS:
            return self.stored.ticks(instant)
        if self._tells_utc:
            utc = instant.astimezone(UTC)
            return utc.replace(tzinfo=None) if self.dialect in MYSQL else utc
        try:
            wall = self.stored.wall(instant)
        except UnableToPartition as error:
            mend = f"store them in UTC, or cut the partitions in {self.stored.time_zone}"
            raise UnableToCut(self.table, f"of its partition column {self.name} {error}: {mend}") from None
        if self.dialect == "sqlite":
            return _as_text(wall)
        return self._day(instant, wall) if isinstance(self.type_, Date) else wall

    def _day(self, instant: datetime, wall: datetime) -> date:
        if wall.time() == time():
            return wall.date()
        raise UnableToCut(
            self.table,
            f"its partition column {self.name} is a DATE, and {instant:%Y-%m-%d %H:%M} UTC, where a partition starts "
            f"or ends, is no midnight of {self.stored.time_zone}: write the zone of its dates as stored_time_zone and "
            "as time_zone, with a granularity of day or longer",
        )


def _as_text(wall: datetime) -> str:
    """SQLite compares texts: the shortest that begins every time from here on, with seconds or without, but for a T."""
    if wall.time() == time():
        return wall.date().isoformat()
    return wall.isoformat(sep=" ", timespec="seconds" if wall.second else "minutes")
