"""A condition, of which one column's part is wanted: which stretch of time it leaves (pure).

Whatever is not understood leaves all of it. What leaves less is never true of NULL, so that it holds of a row of the
column's own table even where that is the side of an outer join which may be missing.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import MAXYEAR, date
from functools import reduce

from sqlglot import exp

from assay.time.windows import Window
from incident_manager.intervals import Intervals, clip, union

from .constants import TIMES, Constant, Folding, exactly
from .key_ranges import KeyRanges
from .time_ranges import TimeRanges

OPERATORS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NullSafeEQ: "=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
}
FLIPPED = {"=": "=", ">": "<", ">=": "<=", "<": ">", "<=": ">="}
NEGATED = {">": "<=", ">=": "<", "<": ">=", "<=": ">"}
PLAIN, DATE, TEXT, NUMBER = "plain", "date", "text", "number"

IsColumn = Callable[[exp.Column, str], bool]  # given the operator too: what equals the column may sort otherwise


@dataclass(frozen=True, kw_only=True)
class Comparing:
    """How the column of one dataset is compared: with constants, by the keys or the times that it holds."""

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
        if isinstance(node, exp.In) and not negated and set(_said(node)) == {"this", "expressions"}:
            if _form(node.this, "=", is_column) is None:
                return None
            return _in_any(self._compared(node.this, "=", each, is_column) for each in node.expressions)
        if isinstance(node, exp.Like) and not negated:
            return self._compared(node.this, "like", node.expression, is_column)
        if type(node) in OPERATORS and isinstance(node, exp.Binary):
            operator = OPERATORS[type(node)]
            found = self._compared(node.left, operator, node.right, is_column, negated=negated)
            if found is None:
                found = self._compared(node.right, FLIPPED[operator], node.left, is_column, negated=negated)
            if found is None and operator == "=" and not negated:
                found = self._part_equals(node.left, node.right, is_column)
            return found
        return None

    def _part_equals(self, part: exp.Expr, value: exp.Expr, is_column: IsColumn) -> Intervals | None:
        """What is left where the year of the column, or its first letters, are a constant."""
        whole, length = _cut(part.unnest())
        constant = self._constant(value)
        if whole is None or constant is None or _form(whole, "=", is_column) not in (PLAIN, DATE):
            return None
        if constant.low != constant.high:
            return None
        said, passing = constant.low, self.ranges.passing
        if isinstance(said, int) and length is None and 1 <= said < MAXYEAR:
            first, behind = exactly(date(said, 1, 1)), exactly(date(said + 1, 1, 1))
            return in_all([passing(">=", first), passing("<", behind)])
        if isinstance(said, str) and length == str(len(said)) and not set(said) & set("%_"):
            return passing("like", exactly(f"{said}%"))
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
    known = [part for part in parts if part is not None]
    return reduce(_in_both, known) if known else None


def _in_both(one: Intervals, other: Intervals) -> Intervals:
    few, many = sorted((one, other), key=len)
    return union(window for each in few for window in clip(many, each))


def _in_any(parts: Iterable[Intervals | None]) -> Intervals | None:
    found: list[Window] = []
    for part in parts:
        if part is None:
            return None
        found += part
    return union(found)


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
    if is_day or (isinstance(node, exp.TsOrDsToDate | exp.Date) and set(_said(node)) <= {"this", "safe"}):
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


def _said(node: exp.Expr) -> list[str]:
    return [name for name, given in node.args.items() if given not in (None, False, [])]
