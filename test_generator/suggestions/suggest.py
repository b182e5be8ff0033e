"""Suggestions for a table: fitted on the first of its windows, and held against the others (pure)."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, floor
from typing import Any

import pyarrow as pa
import yaml

from execution_engine.anomalies.forecasts import Adaptive
from execution_engine.language.parse import UnableToParse, parse
from execution_engine.language.tree import Metric, operands
from execution_engine.metrics.definition import ArgumentType, MetricKind
from execution_engine.metrics.registry import METRICS
from execution_engine.profiles.profile import ColumnProfile, TableProfile, ValueKind, merged_profiles

from .dependencies import Key, of_dependencies, of_inclusions, of_keys, together
from .rules import Candidate, candidates, moves_one_way, usual_range

FITTED = 0.8  # of the windows; the others try what was fitted
ABSENT = ColumnProfile(type="null", kind=ValueKind.NOTHING, rows=0, nulls=0)
LONGEST_NAME = 120  # of a test, with room for a number
UNIQUE = "UniqueIfApproximatelyUnique"
CATEGORIES = {"Key": "duplicates", UNIQUE: "duplicates", "UsualRowCount": "anomaly"}
WATCHED_FROM = 10  # windows, from which on the number of rows has a past to be an anomaly of
WATCHED_BY = 60  # the windows before


@dataclass(frozen=True, kw_only=True)
class SuggestedWindow:
    """One window of the past: its profile, and its rows where keys are to be looked for.

    ``unique``: the columns that tell all its rows apart, each alone; None where the profile must do.
    """

    key: str
    profile: TableProfile
    rows: pa.Table | None = None
    unique: frozenset[str] | None = None


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """An assertion that the past leads to; ``held`` of ``tried`` windows, which it was not fitted on, meet it."""

    rule: str
    columns: tuple[str, ...]
    assertion: str
    why: str
    fitted: int
    held: int
    tried: int
    cost: str

    @property
    def held_share(self) -> float | None:
        """Of the windows that tried it; None where there were none."""
        return self.held / self.tried if self.tried else None

    @property
    def is_sound(self) -> bool:
        """Whether it held on every window that tried it, and some did."""
        return 0 < self.tried == self.held

    @property
    def category(self) -> str:
        """The category of a test of it."""
        return CATEGORIES.get(self.rule, "column")

    @property
    def name(self) -> str:
        """A name for a test of it, as catalog files take it."""
        rule = "-".join(re.findall("[A-Z][a-z]+", self.rule)).lower()
        columns = (" ".join(column.replace("/", "-").split())[:60] for column in self.columns)
        return "-".join((rule, *columns))[:LONGEST_NAME].strip()


def suggestions(
    windows: Sequence[SuggestedWindow], keys: Sequence[Key] = (), *, has_past: bool = True
) -> list[Suggestion]:
    """What the windows, the oldest first, suggest: by column in the order of the table, then of all rows together.

    ``keys``: of other datasets, which columns may refer to. ``has_past``: whether whoever judges the next window knows
    the values of those before it. Of one window alone there is nothing to try it on. What a window breaks that it was
    fitted on is no suggestion.
    """
    if not windows:
        return []
    fitted = max(1, min(ceil(FITTED * len(windows)), len(windows) - 1))
    first = windows[:fitted]
    offers: list[tuple[Candidate, tuple[str, ...], int]] = []  # with how many of the other windows meet it

    def offer(candidate: Candidate, columns: tuple[str, ...], holds: Callable[[SuggestedWindow], bool]) -> None:
        if can_be_written(candidate.assertion) and all(map(holds, first)):
            offers.append((candidate, columns, sum(map(holds, windows[fitted:]))))

    for name in dict.fromkeys(name for window in first for name in window.profile.columns):
        for candidate in candidates(name, [window.profile.columns.get(name, ABSENT) for window in first]):
            offer(candidate, (name,), partial(_column_holds, candidate, name))
    tables = [window.rows for window in first if window.rows is not None]
    if tables and len(tables) == len(first):
        rows = together(tables)
        profiles = merged_profiles([replace(window.profile, start=None) for window in first]).columns
        is_alone = any(candidate.rule == UNIQUE for candidate, _, _ in offers)  # a key: it makes none with others
        of_rows = [
            *([] if is_alone else of_keys(rows)),
            *of_dependencies(rows, [table.num_rows for table in tables]),
            *of_inclusions(rows, profiles, keys),
        ]
        for candidate in of_rows:
            offer(candidate, candidate.columns, partial(_rows_hold, candidate))
    if (of_counts := _row_count(windows, fitted, has_past=has_past)) is not None:
        offers.append((of_counts[0], (), of_counts[1]))
    return [
        Suggestion(
            rule=candidate.rule,
            columns=columns,
            assertion=candidate.assertion,
            why=candidate.why,
            fitted=fitted,
            held=held,
            tried=len(windows) - fitted,
            cost=cost_of(candidate.assertion),
        )
        for candidate, columns, held in offers
    ]


def _column_holds(candidate: Candidate, name: str, window: SuggestedWindow) -> bool:
    if candidate.rule == UNIQUE and window.unique is not None and window.profile.all_rows > 1:
        return name in window.unique
    return candidate.holds(window.profile.columns.get(name, ABSENT))


def _rows_hold(candidate: Candidate, window: SuggestedWindow) -> bool:
    """Not where a column is not there, or the rows are not known."""
    rows = window.rows
    return rows is not None and set(candidate.columns) <= set(rows.column_names) and candidate.holds(rows)


def _row_count(windows: Sequence[SuggestedWindow], fitted: int, *, has_past: bool) -> tuple[Candidate, int] | None:
    """The number of rows, watched by its own past; where nobody keeps that, within bounds. With how many others held.

    None where the windows are too few, or say nothing.
    """
    counts = [float(window.profile.all_rows) for window in windows]
    if fitted < WATCHED_FROM:
        return None
    if has_past:
        assertion = f"anomaly(row_count(), last={WATCHED_BY}) <= 1"
        ranges = [Adaptive().expected(counts[max(0, at - WATCHED_BY) : at]) for at in range(fitted, len(counts))]
    else:
        usual = usual_range(counts[:fitted])
        if usual is None or moves_one_way(counts[:fitted]):
            return None
        low, high = max(0, floor(usual[0])), ceil(usual[1])
        assertion = f"row_count() between {low} and {high}"
        ranges = [(low, high)] * (len(counts) - fitted)
    why = f"windows had {min(counts):,.0f} to {max(counts):,.0f} rows"
    held = sum(low <= count <= high for count, (low, high) in zip(counts[fitted:], ranges, strict=True))
    return Candidate("UsualRowCount", assertion, why, lambda _: True), held


def can_be_written(assertion: str) -> bool:
    """Whether the language takes it: values may be too long, or hold characters that nobody sees."""
    try:
        parse(assertion)
    except UnableToParse:
        return False
    return True


def cost_of(assertion: str) -> str:
    """What measuring it costs a scan, in words."""
    metrics = [operand if isinstance(operand, Metric) else operand.metric for operand in operands(parse(assertion))]
    definitions = [METRICS[metric.spec.name] for metric in metrics]
    if any(ArgumentType.DATASET in definition.signature.arguments for definition in definitions):
        return "reads the other dataset"
    return (
        "counts keys"
        if any(definition.kind is MetricKind.GROUPING for definition in definitions)
        else "shares the one pass"
    )


# Suggestions as text: for JSON, and ready for catalog files, for files of checks and for Python (pure).

WIDTH = 110


def as_json(suggestion: Suggestion, dataset: str | None) -> dict[str, Any]:
    """All that is known of it, with its texts; of files where ``dataset`` is None."""
    texts = {"python": as_python(suggestion), "yaml": as_yaml([suggestion], dataset)}
    fields = ("rule", "columns", "assertion", "why", "fitted", "held", "tried", "held_share", "cost")
    return {name: getattr(suggestion, name) for name in fields} | {"columns": list(suggestion.columns)} | texts


def as_python(suggestion: Suggestion) -> str:
    """What the verification API says of it."""
    return f"Check().holds({suggestion.assertion!r})"


def as_yaml(suggestions: Sequence[Suggestion], dataset: str | None) -> str:
    """Soft tests of a dataset for a catalog file; or, of files, what ``assay verify --checks`` reads."""
    if dataset is None:
        return yaml.safe_dump(
            {"checks": [suggestion.assertion for suggestion in suggestions]}, sort_keys=False, width=WIDTH
        )
    names: list[str] = []
    for suggestion in suggestions:
        names.append(free_name(suggestion.name, names))
    tests = [
        {
            "dataset": dataset,
            "name": name,
            "assertion": suggestion.assertion,
            "category": suggestion.category,
            "severity": "soft",
        }
        for suggestion, name in zip(suggestions, names, strict=True)
    ]
    return yaml.safe_dump({"tests": tests}, sort_keys=False, width=WIDTH)


def free_name(name: str, taken: Collection[str]) -> str:
    """The name, with a number behind it where it is taken, in whatever case."""
    keys, free, number = {taken_name.casefold() for taken_name in taken}, name, 1
    while free.casefold() in keys:
        number += 1
        free = f"{name}-{number}"
    return free


# Which suggestions are offered still: not those that somebody rejected, nor those that are tests already (pure).


@dataclass(frozen=True, kw_only=True)
class Decided:
    """A suggestion that was rejected, or made a test."""

    rule: str
    columns: tuple[str, ...]
    assertion: str


def still_offered(
    suggestions: Iterable[Suggestion], decided: Collection[Decided], asserted: Collection[str]
) -> list[Suggestion]:
    """Those of which nobody has decided: neither the same assertion, nor the same rule on the same columns.

    ``asserted``: what the dataset's live tests say. Names of columns are the same in any case.
    """
    assertions = {decision.assertion for decision in decided} | set(asserted)
    ruled = {_ruled(decision.rule, decision.columns) for decision in decided}
    return [
        suggestion
        for suggestion in suggestions
        if suggestion.assertion not in assertions and _ruled(suggestion.rule, suggestion.columns) not in ruled
    ]


def _ruled(rule: str, columns: Collection[str]) -> tuple[str, ...]:
    return (rule, *sorted(column.casefold() for column in columns))
