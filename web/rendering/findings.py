"""What a run found: its groups in rows, and what moved in a batch, each statistic with a small plot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from django.utils.safestring import SafeString

from execution_engine.exact import from_json
from execution_engine.language.evaluate import label

from .charts import small_chart

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


_MOST = 60  # of the past that are drawn
NO_PLOT = SafeString("")


@dataclass(frozen=True, kw_only=True)
class MovedStatistic:
    """One statistic in words, and its plot: its past, what is usual, and now as a mark."""

    text: str
    plot: SafeString = NO_PLOT
    column: str = ""


def moved(findings: Sequence[Mapping[str, Any]]) -> list[MovedStatistic]:
    """Of what novelty found, the largest first."""
    statistics = []
    for cause in (cause for finding in findings for cause in finding.get("causes", ())):
        past, value, plot = [float(value) for _, value in cause.get("past", ())][-_MOST:], cause["value"], NO_PLOT
        low, high = cause.get("low"), cause.get("high")
        if len(past) >= 2 and isinstance(value, int | float):
            is_now = [False] * len(past) + [True]
            plot = small_chart([*past, value], is_now, title=cause["text"], usual=(low, high))
        statistics.append(MovedStatistic(text=cause["text"], column=str(cause.get("column") or ""), plot=plot))
    return statistics
