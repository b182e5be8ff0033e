"""What a run found: its groups in rows, and what moved in a batch, each statistic with a small plot. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isfinite
from typing import Any

from execution_engine.exact import from_json
from execution_engine.language.evaluate import label

OF_GROUPS = frozenset({"groups", "worst_groups", "groups_that_hold", "groups_not_judged"})  # names of findings
NULL = "null"
BAR_WIDTH = 100.0  # of a bar, in units of its drawing


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A value beside its bound, each as a length from 0 to ``BAR_WIDTH``."""

    length: float
    bound: float | None


@dataclass(frozen=True, kw_only=True)
class GroupRow:
    """One group: its key, one value for each column, and what was found; ``status`` is held, broken or unknown.

    ``value`` and ``bound`` are known where the assertion compares one figure; ``said`` does not repeat the key.
    """

    key: Sequence[str]
    status: str
    said: str
    value: float | None = None
    bound: float | None = None
    bar: Bar | None = None


@dataclass(frozen=True, kw_only=True)
class GroupSummary:
    """Those that are told, the broken ones first, the furthest from their bound before the others; and the counts."""

    columns: Sequence[str]
    rows: Sequence[GroupRow]
    held: int
    broken: int
    not_judged: int

    @property
    def has_values(self) -> bool:
        """Whether any of them has one figure that was compared."""
        return any(row.value is not None for row in self.rows)

    @property
    def total(self) -> int:
        """How many groups there are."""
        return self.held + self.broken + self.not_judged

    @property
    def more(self) -> int:
        """How many groups are only counted."""
        return self.total - len(self.rows)


def groups_of(findings: Mapping[str, Any]) -> GroupSummary | None:
    """From the findings of a run; None where it was not judged by groups."""
    counts = findings.get("groups")
    if not isinstance(counts, Mapping):
        return None
    groups = [
        (status, group)
        for status, name in (("broken", "worst_groups"), ("unknown", "groups_not_judged"), ("held", "groups_that_hold"))
        for group in findings.get(name, ())
    ]
    figures = [(_number(group.get("value")), _number(group.get("bound"))) for _, group in groups]
    numbers = [number for pair in figures for number in pair if number is not None]
    most = max(numbers) if numbers and min(numbers) >= 0 else 0.0  # bars to one scale
    rows = []
    for (status, group), (value, bound) in zip(groups, figures, strict=True):
        key, bar = group["group"], None
        if most > 0 and value is not None:
            end = None if bound is None else round(bound / most * BAR_WIDTH, 1)
            bar = Bar(length=round(value / most * BAR_WIDTH, 1), bound=end)
        row = GroupRow(
            key=[NULL if part is None else str(part) for part in key.values()],
            status=status,
            said=group["said"].removeprefix(f"{label(list(key), tuple(key.values()))}: "),
            value=value,
            bound=bound,
            bar=bar,
        )
        rows.append(row)
    return GroupSummary(
        columns=list(groups[0][1]["group"]) if groups else [],
        rows=rows,
        **{name: counts[name] for name in ("held", "broken", "not_judged")},
    )


def _number(stored: Any) -> float | None:
    number = None if stored is None else from_json(stored)
    return None if number is None or not isfinite(number) else float(number)


WIDTH, HEIGHT = 280.0, 44.0
_MARGIN = 4.0

Point = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class SmallPlot:
    """``lines`` are the points of polylines, one for each run of known values; ``band`` an upper edge and a height."""

    lines: Sequence[str]
    marks: Sequence[Point]
    band: Point | None = None


def small_plot(
    values: Sequence[float | None], marked: Sequence[bool], *, usual: tuple[float, float] | None = None
) -> SmallPlot | None:
    """Of values at even steps, None where one is not known; None where fewer than two are known."""
    numbers = [value for value in values if value is not None]
    if len(numbers) < 2:
        return None
    low, high = min(numbers), max(numbers)
    step = (WIDTH - 2 * _MARGIN) / (len(values) - 1)

    def at(number: float) -> float:
        height = (number - low) / (high - low) if high > low else 0.5  # what never changes is a line in the middle
        return round(HEIGHT - _MARGIN - height * (HEIGHT - 2 * _MARGIN), 1)

    points = [
        None if value is None else (round(_MARGIN + place * step, 1), at(value)) for place, value in enumerate(values)
    ]
    runs = [[point for point in group if point] for is_known, group in groupby(points, bool) if is_known]
    band = None
    if usual is not None:
        top, bottom = at(min(usual[1], high)), at(max(usual[0], low))
        band = (top, max(bottom - top, 1.0))
    return SmallPlot(
        lines=[" ".join(f"{x},{y}" for x, y in run) for run in runs],
        marks=[point for point, is_marked in zip(points, marked, strict=True) if point and is_marked],
        band=band,
    )


_MOST = 60  # of the past that are drawn


@dataclass(frozen=True, kw_only=True)
class MovedStatistic:
    """One statistic in words, and its plot: its past, what is usual, and now as a mark."""

    text: str
    plot: SmallPlot | None = None
    column: str = ""


def moved(findings: Sequence[Mapping[str, Any]]) -> list[MovedStatistic]:
    """Of what novelty found, the largest first."""
    statistics = []
    for cause in (cause for finding in findings for cause in finding.get("causes", ())):
        past, value, plot = [float(value) for _, value in cause.get("past", ())][-_MOST:], cause["value"], None
        low, high = cause.get("low"), cause.get("high")
        usual = None if low is None or high is None else (low, high)
        if len(past) >= 2 and isinstance(value, int | float):
            plot = small_plot([*past, value], [False] * len(past) + [True], usual=usual)
        statistics.append(MovedStatistic(text=cause["text"], column=str(cause.get("column") or ""), plot=plot))
    return statistics
