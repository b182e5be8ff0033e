"""A profile in words and figures, as one JSON object: what the command, the page and people read (pure)."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from math import isfinite
from typing import Any

import numpy as np

from .column import ColumnKind, ColumnProfile
from .lints import SECRETS, lints_of
from .profile import Profile

SHARES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
BINS = 24
MOST_VALUES = 10
MOST_SHAPES = 5
HIDDEN = "(hidden)"  # in place of the values of a column that holds secrets
KEY_SHARE = 0.95  # of the rows, that occur once by a sample of them: from here on a column may be a key


def described(profile: Profile) -> dict[str, Any]:
    """``rows`` and ``columns`` in the order of the table; every share is from 0 to 1, of a column without rows None.

    Counts in columns are of the ``profiled_rows``: of a large table these are a sample.
    """
    return {
        "rows": profile.all_rows,
        "profiled_rows": profile.rows,
        "columns": [
            {"name": name, **_column(_from_1970(column, profile.start))} for name, column in profile.columns.items()
        ],
    }


def _column(column: ColumnProfile) -> dict[str, Any]:
    present = column.present
    lints = lints_of(column)
    is_secret = any(lint["name"] == SECRETS for lint in lints)
    told: dict[str, Any] = {
        "type": column.type,
        "kind": column.kind.value,
        "nulls": column.nulls,
        "complete": _share(present, column.rows),
        "distinct": round(column.distinct),
        "distinct_is_exact": not column.values.cut,
        "unique_share": _share(column.single, present),
        "may_be_key": may_be_key(column),
        "values": [
            {"value": HIDDEN if is_secret else shown(label, column), "count": count, "share": _share(count, present)}
            for label, count in column.values.frequent(MOST_VALUES)
        ],
        "lints": lints,
    }
    if column.numbers is not None and column.kind in (ColumnKind.NUMBER, ColumnKind.TIME):
        told["numbers"] = _numbers(column)
    if column.texts is not None:
        told["texts"] = _texts(column)
    return told


def _from_1970(column: ColumnProfile, start: float | None) -> ColumnProfile:
    """The same with dates and timestamps counted from 1970, where they are counted from the start of their window."""
    if not start or column.kind is not ColumnKind.TIME or not column.type.startswith(("date", "timestamp")):
        return column
    labels = np.array([None if label is None else label + start for label in column.values.labels], np.object_)
    numbers = column.numbers
    if numbers is not None and numbers.finite:
        points = replace(numbers.points, numbers=numbers.points.numbers + start)
        moments = {name: getattr(numbers, name) + start for name in ("low", "high", "mean")}
        numbers = replace(numbers, points=points, **moments)
    return replace(column, values=replace(column.values, labels=labels), numbers=numbers)


def may_be_key(column: ColumnProfile) -> bool:
    """Whether every row has a value, and no two the same, as far as the profile can tell; of one row nobody knows."""
    if column.rows < 2 or column.nulls or column.kind in (ColumnKind.NESTED, ColumnKind.MIXED):
        return False
    if not column.values.cut:
        return column.values.most == 1
    return column.values.most <= 1 and column.single >= KEY_SHARE * column.present


def _numbers(column: ColumnProfile) -> dict[str, Any]:
    numbers = column.numbers
    assert numbers is not None
    told: dict[str, Any] = {
        "zeros": numbers.zeros,
        "negatives": numbers.negatives,
        "whole": numbers.wholes,
        "nan": numbers.nans,
        "infinite": numbers.infinities,
    }
    if not numbers.finite:
        return told
    quantiles = numbers.points.quantiles(np.array(SHARES)).tolist()
    return told | {
        "min": shown(numbers.low, column),
        "max": shown(numbers.high, column),
        "mean": shown(numbers.mean, column),
        "deviation": numbers.deviation,
        "quantiles": {f"{share:g}": shown(value, column) for share, value in zip(SHARES, quantiles, strict=True)},
        "histogram": histogram(column),
    }


def histogram(column: ColumnProfile) -> list[dict[str, Any]]:
    """The shares of rows in bins of one width, from the lowest number to the highest; one bin of a constant.

    Where all are whole numbers, each bin holds as many of them.
    """
    numbers = column.numbers
    if numbers is None or not numbers.finite:
        return []
    if numbers.low == numbers.high:
        return [{"low": shown(numbers.low, column), "high": shown(numbers.high, column), "share": 1.0}]
    if column.kind is ColumnKind.NUMBER and numbers.wholes == numbers.finite and numbers.high - numbers.low < 2**53:
        width = np.ceil((numbers.high - numbers.low + 1) / BINS)
        lows = np.arange(numbers.low, numbers.high + 1, width)
        highs = lows + width - 1
        before = numbers.points.share_up_to(lows, included=False)
    else:
        ends = numbers.low / BINS * np.arange(BINS, -1, -1) + numbers.high / BINS * np.arange(BINS + 1)
        ends[[0, -1]] = numbers.low, numbers.high  # which dividing by the number of bins may move
        lows, highs = ends[:-1], ends[1:]
        before = np.concatenate([[0.0], numbers.points.share_up_to(ends[1:-1])])
    shares = np.diff(np.append(before, 1.0)).clip(0.0)
    return [
        {"low": shown(float(low), column), "high": shown(float(high), column), "share": float(share)}
        for low, high, share in zip(lows, highs, shares, strict=True)
    ]


def bars(column: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The bars of a described column's histogram, the highest one high; none where there are fewer than two.

    ``height`` and ``top`` are texts of numbers from 0 to 1, ``said`` is the share of the rows in words.
    """
    bins = column.get("numbers", {}).get("histogram", [])
    most = max((each["share"] for each in bins), default=0.0)
    if len(bins) < 2 or not most:
        return []
    return [
        {**each, "height": f"{(height := each['share'] / most):.4f}", "top": f"{1 - height:.4f}",
         "said": percent(each["share"])}
        for each in bins
    ]  # fmt: skip


def percent(share: float | None) -> str:
    """A share for people: never rounded up to 100 %."""
    if share is None:
        return "–"
    return "100 %" if share == 1 else f"{min(share, 0.9999) * 100:.2f} %"


def _texts(column: ColumnProfile) -> dict[str, Any]:
    texts = column.texts
    assert texts is not None
    lengths = texts.lengths
    return {
        "shortest": round(lengths.low) if lengths.finite else None,
        "longest": round(lengths.high) if lengths.finite else None,
        "mean_length": lengths.mean if lengths.finite else None,
        "shapes": [
            {"shape": shape, "count": count, "share": _share(count, column.present)}
            for shape, count in texts.shapes.frequent(MOST_SHAPES)
        ],
        "peculiarity": texts.peculiarity,
    }


def shown(value: Any, column: ColumnProfile) -> Any:
    """A value as JSON and people take it: times in ISO 8601, what is no finite number as a text."""
    if column.kind is ColumnKind.TIME and isinstance(value, int | float):
        return _time(float(value), column.type)
    if isinstance(value, float):
        if not isfinite(value):
            return str(value)
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value


def _time(seconds: float, type_: str) -> str:
    if type_.startswith("time"):  # timestamps and times of day
        if not type_.startswith("timestamp"):
            minutes, rest = divmod(seconds, 60)
            return f"{int(minutes // 60):02d}:{int(minutes % 60):02d}:{rest:06.3f}".removesuffix(".000")
    elif type_.startswith("duration"):
        return f"{seconds:g} s"
    try:
        instant = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return f"{seconds:.0f} s since 1970"
    return instant.date().isoformat() if type_.startswith("date") else instant.isoformat().removesuffix("+00:00")


def _share(part: float, whole: int) -> float | None:
    return min(1.0, part / whole) if whole else None
