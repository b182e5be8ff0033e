"""A described profile as a line for each column: what the command prints, and ``print`` shows (pure)."""

from collections.abc import Mapping
from typing import Any

from .report import percent

HEAD = ("column", "type", "complete", "different", "usual", "range")
MOST_LETTERS = 60  # of a cell of text


def line_of(column: Mapping[str, Any]) -> tuple[str, str, str, str, str, str]:
    """What stands under each word of ``HEAD``."""
    return (
        column["name"],
        column["type"],
        percent(column["complete"]),
        _distinct(column),
        _usual(column),
        range_of(column),
    )


def text_of(name: str, told: Mapping[str, Any]) -> str:
    """What ``described`` tells of a profile: the rows, a line for each column, then what looks odd."""
    lines = [HEAD, *map(line_of, told["columns"])]
    cells = [[_cut(cell) for cell in line] for line in lines]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    shown = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in cells]
    return "\n".join([f"{name}: {told['rows']:,} rows", *shown, *map(_printable, odd(told))])


def odd(told: Mapping[str, Any]) -> list[str]:
    """What looks odd, a line each."""
    return [
        f"  {column['name']}: {lint['name']} ({percent(lint['share'])}): {lint['said']}"
        for column in told["columns"]
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


def _distinct(column: Mapping[str, Any]) -> str:
    return f"{'' if column['distinct_is_exact'] else '≈ '}{column['distinct']:,}"


def _usual(column: Mapping[str, Any]) -> str:
    return ", ".join(str(each["value"])[:20] for each in column["values"][:3] if (each["share"] or 0) >= 0.01)


def _cut(cell: str) -> str:
    return _printable(cell if len(cell) <= MOST_LETTERS else cell[: MOST_LETTERS - 1] + "…")


def _printable(text: str) -> str:
    """On one line, whatever values have in them."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
