"""What is kept and shown of a search for slices: JSON of 20 kB at most, always with the same fields (pure)."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from execution_engine.metrics.definitions.row_count import ALL_ROWS
from execution_engine.metrics.expressions import written
from execution_engine.metrics.spec import MetricSpec

if TYPE_CHECKING:
    from execution_engine.attribution import Explanation

MOST_LISTED = 60  # columns that were not searched, and
MOST_LETTERS = 80  # of their names
MOST_SAME = 3  # other names of the same rows
PAST_OF_TEST = 28  # windows


class SearchStatus(StrEnum):
    """What came of a search."""

    WAITING = "waiting"
    SLICES = "slices"
    NONE = "none"  # no slice explains it
    NOT_SEARCHED = "not searched"
    HIDDEN = "hidden"  # what it names must not be told any more


def without_slices(
    status: SearchStatus, sentence: str, *, left_out: Mapping[str, str] | None = None, **fields: Any
) -> dict[str, Any]:
    """A result that names no slice; ``fields`` are those that are known all the same."""
    columns = list((left_out or {}).items())
    return {
        "status": status.value,
        "sentence": sentence,
        "metric": "",
        "expected": None,
        "seen": None,
        "past_windows": 0,
        "slices": [],
        "columns_searched": [],
        "columns_left_out": [{"column": name[:MOST_LETTERS], "reason": why} for name, why in columns[:MOST_LISTED]],
        "more_left_out": max(0, len(columns) - MOST_LISTED),
        **fields,
    }


def not_searched(reason: str, left_out: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The result where nothing was searched, for a reason such as "its files are gone"."""
    return without_slices(SearchStatus.NOT_SEARCHED, f"Not looked into: {reason}.", left_out=left_out)


def as_json(explanation: "Explanation", spec: MetricSpec) -> dict[str, Any]:
    """The explanation of what ``spec`` measures, and for each slice a test that watches it by its columns."""
    from execution_engine.attribution import name_of  # with it scipy, for which no page should wait

    slices = [
        {
            "name": row.name,
            "where": row.where,
            "values": dict(row.values),
            "columns": list(dict.fromkeys([*row.values, *(name for values in row.same_rows for name in values)])),
            "expected": row.expected,
            "seen": row.seen,
            "factor": row.factor,
            "share_of_rows": row.share_of_rows,
            "share_of_change": row.share_of_change,
            "is_new": row.is_new,
            "same_rows": [name_of(values) for values in row.same_rows[:MOST_SAME]],
            "line": list(row.line),
            "rest_line": list(row.rest_line),
            "assertion": watching(ALL_ROWS if explanation.is_mix else spec, list(row.values)),
        }
        for row in explanation.slices
    ]
    return without_slices(
        SearchStatus.SLICES if slices else SearchStatus.NONE,
        explanation.sentence,
        left_out=explanation.columns_left_out,
        metric=spec.text,
        expected=explanation.expected,
        seen=explanation.seen,
        past_windows=explanation.past_days,
        slices=slices,
        columns_searched=list(explanation.columns_searched),
    )


def watching(spec: MetricSpec, columns: Sequence[str]) -> str:
    """An assertion that holds each value of the columns to its own past."""
    return f"anomaly({spec.call}, last={PAST_OF_TEST}) <= 1 by {', '.join(map(written, columns))}"
