"""What a run found, in forms for people: tables, its groups in rows, and what moved in a batch."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from django.utils.safestring import SafeString

from assay.charts.ticks import Unit, value_text
from execution_engine.exact import from_json
from execution_engine.language.evaluate import label
from execution_engine.metrics.definition import NOTE

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


MOST_ROWS = 20  # of a table
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")


@dataclass(frozen=True, kw_only=True)
class FindingTable:
    """One thing that a run found: a sentence, or rows under their columns (none where each row names its value).

    ``more`` are as many rows as are not listed.
    """

    title: str
    text: str = ""
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    more: int = 0


def tables_of(findings: Mapping[str, Any], titles: Mapping[str, str]) -> list[FindingTable]:
    """A form for each finding; ``titles`` are the words for those that are named by an operand of the assertion.

    Notes are part of the sentence of a result, and are left out.
    """
    tables: list[FindingTable] = []
    for name, finding in findings.items():
        tables += _tables(titles.get(name) or name.replace("_", " "), finding)
    return tables


def _tables(title: str, finding: Any) -> list[FindingTable]:
    """Of a mapping one table of its plain values, and one more for each that is not plain."""
    match finding:
        case {"said": text}:
            return [FindingTable(title=title, text=str(text))]
        case Mapping():
            plain = {name: value for name, value in finding.items() if name != NOTE and not _is_nested(value)}
            rows: list[Sequence[str]] = [(str(name).replace("_", " "), _text(value)) for name, value in plain.items()]
            tables = [_table(title, rows)] if rows else []
            for name, value in finding.items():
                if _is_nested(value):
                    tables += _tables(f"{title}: {str(name).replace('_', ' ')}", value)
            return tables
        case [Mapping(), *_]:
            columns = list(dict.fromkeys(str(name) for row in finding if isinstance(row, Mapping) for name in row))
            rows = [[_text(row.get(name)) for name in columns] for row in finding if isinstance(row, Mapping)]
            return [_table(title, rows, [name.replace("_", " ") for name in columns])]
        case [list(), *_]:
            return [_table(title, [[_text(part) for part in row] for row in finding if isinstance(row, list)])]
        case list():
            return [FindingTable(title=title, text=_text(finding))] if finding else []
    return [FindingTable(title=title, text=_text(finding))]


def _is_nested(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and any(isinstance(i, Mapping | list) for i in value))


def _table(title: str, rows: Sequence[Sequence[str]], columns: Sequence[str] = ()) -> FindingTable:
    return FindingTable(title=title, columns=columns, rows=rows[:MOST_ROWS], more=max(0, len(rows) - MOST_ROWS))


def _text(value: Any) -> str:
    """A value as people write it: no brackets and no quotes of a program."""
    match value:
        case None:
            return "unknown"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return value_text(value, Unit.NUMBER)
        case list():
            text = ", ".join(map(_text, value[:MOST_ROWS]))
            return f"{text} … ({len(value)} in all)" if len(value) > MOST_ROWS else text
        case Mapping():
            return ", ".join(f"{str(name).replace('_', ' ')} {_text(item)}" for name, item in value.items())
    text = str(value)
    return text[:16].replace("T", " ") if _INSTANT.match(text) else text


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
