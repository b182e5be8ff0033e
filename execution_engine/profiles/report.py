"""A profile in words and figures, as one JSON object: what the command, the page and people read (pure)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from html import escape
from math import isfinite
from typing import Any

import numpy as np

from .lints import has_secrets, lints_of
from .profile import ColumnProfile, TableProfile, ValueKind

SHARES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
BINS = 24
MOST_VALUES = 10
MOST_SHAPES = 5
HIDDEN = "(hidden)"  # in place of the values of a column that holds secrets
KEY_SHARE = 0.95  # of the rows, that occur once by a sample of them: from here on a column may be a key


def described(profile: TableProfile) -> dict[str, Any]:
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
    present, numbers, texts = column.present, column.numbers, column.texts
    hides = has_secrets(column)
    described: dict[str, Any] = {
        "type": column.type,
        "kind": column.kind.value,
        "nulls": column.nulls,
        "complete": _share(present, column.rows),
        "distinct": round(column.distinct),
        "distinct_is_exact": not column.values.cut,
        "unique_share": _share(column.single, present),
        "may_be_key": may_be_key(column),
        "values": [
            {"value": HIDDEN if hides else json_value(text, column), "count": count, "share": _share(count, present)}
            for text, count in column.values.frequent(MOST_VALUES)
        ],
        "lints": lints_of(column),
    }
    if numbers is not None and column.kind in (ValueKind.NUMBER, ValueKind.TIME):
        described["numbers"] = {
            "zeros": numbers.zeros,
            "negatives": numbers.negatives,
            "whole": numbers.wholes,
            "nan": numbers.nans,
            "infinite": numbers.infinities,
        }
        if numbers.finite:
            quantiles = zip(SHARES, numbers.points.quantiles(np.array(SHARES)).tolist(), strict=True)
            described["numbers"] |= {
                "min": json_value(numbers.low, column),
                "max": json_value(numbers.high, column),
                "mean": json_value(numbers.mean, column),
                "deviation": numbers.deviation,
                "quantiles": {f"{share:g}": json_value(value, column) for share, value in quantiles},
                "histogram": histogram(column),
            }
    if texts is not None:
        lengths = texts.lengths
        described["texts"] = {
            "shortest": round(lengths.low) if lengths.finite else None,
            "longest": round(lengths.high) if lengths.finite else None,
            "mean_length": lengths.mean if lengths.finite else None,
            "shapes": [
                {"shape": shape, "count": count, "share": _share(count, present)}
                for shape, count in texts.shapes.frequent(MOST_SHAPES)
            ],
            "peculiarity": texts.peculiarity,
        }
    return described


def _from_1970(column: ColumnProfile, start: float | None) -> ColumnProfile:
    """The same with dates and timestamps counted from 1970, where they are counted from the start of their window."""
    if not start or column.kind is not ValueKind.TIME or not column.type.startswith(("date", "timestamp")):
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
    if column.rows < 2 or column.nulls or column.kind in (ValueKind.NESTED, ValueKind.MIXED):
        return False
    if not column.values.cut:
        return column.values.most == 1
    return column.values.most <= 1 and column.single >= KEY_SHARE * column.present


def histogram(column: ColumnProfile) -> list[dict[str, Any]]:
    """The shares of rows in bins of one width, from the lowest number to the highest; one bin of a constant.

    Where all are whole numbers, each bin holds as many of them.
    """
    numbers = column.numbers
    if numbers is None or not numbers.finite:
        return []
    if numbers.low == numbers.high:
        return [{"low": json_value(numbers.low, column), "high": json_value(numbers.high, column), "share": 1.0}]
    if column.kind is ValueKind.NUMBER and numbers.wholes == numbers.finite and numbers.high - numbers.low < 2**53:
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
        {"low": json_value(float(low), column), "high": json_value(float(high), column), "share": float(share)}
        for low, high, share in zip(lows, highs, shares, strict=True)
    ]


def bars(column: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The bars of a described column's histogram, the highest one high; none where there are fewer than two.

    ``height`` and ``top`` are texts of numbers from 0 to 1, ``said`` is the share of the rows in words.
    """
    bins = column.get("numbers", {}).get("histogram", [])
    most = max((bin_["share"] for bin_ in bins), default=0.0)
    if len(bins) < 2 or not most:
        return []
    return [
        {**bin_, "height": f"{(height := bin_['share'] / most):.4f}", "top": f"{1 - height:.4f}",
         "said": percent(bin_["share"])}
        for bin_ in bins
    ]  # fmt: skip


def percent(share: float | None) -> str:
    """A share for people: never rounded up to 100 %."""
    if share is None:
        return "–"
    return "100 %" if share == 1 else f"{min(share, 0.9999) * 100:.2f} %"


def json_value(value: Any, column: ColumnProfile) -> Any:
    """A value as JSON and people take it: times in ISO 8601, what is no finite number as a text."""
    if column.kind is ValueKind.TIME and isinstance(value, int | float):
        if column.type.startswith("duration"):
            return f"{float(value):g} s"
        if column.type.startswith("time") and not column.type.startswith("timestamp"):  # of day
            minutes, rest = divmod(float(value), 60)
            return f"{int(minutes // 60):02d}:{int(minutes % 60):02d}:{rest:06.3f}".removesuffix(".000")
        try:
            instant = datetime.fromtimestamp(value, UTC)
        except (OverflowError, OSError, ValueError):
            return f"{value:.0f} s since 1970"
        is_date = column.type.startswith("date")
        return instant.date().isoformat() if is_date else instant.isoformat().removesuffix("+00:00")
    if isinstance(value, float):
        if not isfinite(value):
            return str(value)
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value


def _share(part: float, whole: int) -> float | None:
    return min(1.0, part / whole) if whole else None


# A described profile as a line for each column: what the command prints, and ``print`` shows (pure).

HEAD = ("column", "type", "complete", "different", "usual", "range")
MOST_LETTERS = 60  # of a cell of text


def line_of(column: Mapping[str, Any]) -> tuple[str, str, str, str, str, str]:
    """What stands under each word of ``HEAD``."""
    different = f"{'' if column['distinct_is_exact'] else '≈ '}{column['distinct']:,}"
    usual = (str(entry["value"])[:20] for entry in column["values"][:3] if (entry["share"] or 0) >= 0.01)
    name, type_, complete = column["name"], column["type"], percent(column["complete"])
    return name, type_, complete, different, ", ".join(usual), range_of(column)


def text_of(name: str, described: Mapping[str, Any]) -> str:
    """What ``described`` tells of a profile: the rows, a line for each column, then what looks odd."""
    cells = [
        [_printable(cell if len(cell) <= MOST_LETTERS else cell[: MOST_LETTERS - 1] + "…") for cell in line]
        for line in [HEAD, *map(line_of, described["columns"])]
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in cells]
    return "\n".join([f"{name}: {described['rows']:,} rows", *lines, *map(_printable, odd(described))])


def odd(described: Mapping[str, Any]) -> list[str]:
    """What looks odd, a line each."""
    return [
        f"  {column['name']}: {lint['name']} ({percent(lint['share'])}): {lint['said']}"
        for column in described["columns"]
        for lint in column["lints"]
    ]


def range_of(column: Mapping[str, Any]) -> str:
    """The lowest, the middle and the highest number or time, or how long texts are and their most frequent shape."""
    numbers, texts = column.get("numbers"), column.get("texts")
    if numbers and "min" in numbers:
        return f"{short(numbers['min'])} … {short(numbers['quantiles']['0.5'])} … {short(numbers['max'])}"
    if texts and texts["longest"] is not None:
        shape = texts["shapes"][0]["shape"] if texts["shapes"] else ""
        return f"{texts['shortest']} to {texts['longest']} characters, {shape}"
    return ""


def usual_of(column: Mapping[str, Any]) -> str:
    """Where nine of ten numbers or times lie, or how long texts are; empty where neither is known."""
    numbers, texts = column.get("numbers", {}), column.get("texts", {})
    if "quantiles" in numbers:
        low, high = (_brief(numbers["quantiles"][share]) for share in ("0.05", "0.95"))
        day, _, time = high.partition(" ")
        return low if low == high else f"{low} to {time if time and low.startswith(day) else high}"
    if texts.get("longest") is None:
        return ""
    shortest, longest = texts["shortest"], texts["longest"]
    return f"{longest} characters" if shortest == longest else f"{shortest} to {longest} characters"


def short(value: Any) -> str:
    """A number to six digits; anything else as it is."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _brief(value: Any) -> str:
    """A number to four digits, a time to the minute."""
    if isinstance(value, int | float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return str(value)[:16].replace("T", " ")


def _printable(text: str) -> str:
    """On one line, whatever values have in them."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


# A described profile as one page of HTML that needs no other file and no script (pure).

MOST_PAGE_VALUES = 6
STYLE = """
:root { color-scheme: light dark; --line: #8884; --bar: #4a6fd8; --soft: #8881; --odd: #b4540a; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { margin-bottom: 0; } .facts { color: #777; margin-top: .2rem; }
section { border: 1px solid var(--line); border-radius: 8px; padding: .8rem 1rem; margin: 1rem 0; display: grid;
  grid-template-columns: 16rem 1fr 1fr; gap: .5rem 2rem; }
h2 { font-size: 1.05rem; margin: 0; overflow-wrap: anywhere; } h2 small { color: #777; font-weight: normal; }
dl { display: grid; grid-template-columns: auto 1fr; gap: 0 .8rem; margin: 0; } dt { color: #777; }
dd { margin: 0; overflow-wrap: anywhere; }
.odd { color: var(--odd); margin: .2rem 0; grid-column: 1 / -1; }
svg { width: 100%; height: 5rem; background: var(--soft); border-radius: 4px; } rect { fill: var(--bar); }
table { border-collapse: collapse; width: 100%; } td { padding: 0 .4rem 0 0; overflow-wrap: anywhere; }
td:last-child { text-align: right; white-space: nowrap; color: #777; }
@media (max-width: 50rem) { section { grid-template-columns: 1fr; } }
"""


def page_of(name: str, described: Mapping[str, Any]) -> str:
    """The page of what ``described`` tells of a profile; whatever the data says stands there as text."""
    columns, sections = described["columns"], []
    for column in columns:
        numbers, texts = column.get("numbers", {}), column.get("texts", {})
        about, key = "" if column["distinct_is_exact"] else "about ", " (may be a key)" if column["may_be_key"] else ""
        facts = [("missing", column["nulls"]), ("different", f"{about}{column['distinct']}{key}")]
        if numbers.get("min") is not None:
            facts += [("lowest", numbers["min"]), ("mean", short(numbers["mean"])), ("highest", numbers["max"])]
        facts += [
            (word, numbers[kind]) for kind, word in (("nan", "NaN"), ("infinite", "infinite")) if numbers.get(kind)
        ]
        if texts.get("longest") is not None:
            facts.append(("characters", f"{texts['shortest']} to {texts['longest']}"))
        title = f"<h2>{_text(column['name'])} <small>{_text(column['type'])}</small></h2>"
        fact_list = "".join(f"<dt>{fact}</dt><dd>{_text(value)}</dd>" for fact, value in facts)
        values = [(_text(entry["value"]), entry["count"]) for entry in column["values"][:MOST_PAGE_VALUES]]
        shapes = [(f"<code>{_text(shape['shape'])}</code>", shape["count"]) for shape in texts.get("shapes", [])]
        lints = [f'<p class="odd">{_text(lint["name"])}: {_text(lint["said"])}</p>' for lint in column["lints"]]
        rects = [
            f'<rect x="{place}.05" width=".9" y="{bar["top"]}" height="{bar["height"]}">'
            f"<title>{_text(bar['low'])} to {_text(bar['high'])}: {bar['said']}</title></rect>"
            for place, bar in enumerate(bars(column))
        ]
        label = _text(f"How often numbers of {column['name']} lie where, from the lowest to the highest")
        box = f'viewBox="0 0 {len(rects)} 1" preserveAspectRatio="none"'
        plot = f'<svg {box} role="img" aria-label="{label}">{"".join(rects)}</svg>' if rects else _table(shapes)
        parts = [f"{title}<dl>{fact_list}</dl>", plot, _table(values)]
        sections += ["<section>", *(f"<div>{part}</div>" for part in parts), *lints, "</section>"]
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{_text(name)}</title>\n<style>{STYLE}</style>",
            f'<h1>{_text(name)}</h1>\n<p class="facts">{described["rows"]} rows, {len(columns)} columns</p>',
            *sections,
            "</html>\n",
        ]
    )


def _table(rows: Sequence[tuple[str, int]]) -> str:
    cells = "".join(f"<tr><td>{cell}</td><td>{count}</td></tr>" for cell, count in rows)
    return f"<table>{cells}</table>" if cells else ""


def _text(value: Any) -> str:
    return escape(str(value))
