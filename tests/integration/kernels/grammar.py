"""Conditions that a number draws, over the columns of a drawn table: most of them of the closed language."""

import random
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from math import isfinite
from typing import Any

from execution_engine.engines.column_types import column as quoted
from execution_engine.engines.column_types import literal

from .tables import ROW, TEXTS, Drawn

COMPARES = ("=", "<>", "!=", "<", "<=", ">", ">=")
LENGTHS = ("char_length", "length")
BY_EACH_OTHER = ("exact", "double", "text", "day", "instant", "local", "truth")  # families whose columns are compared
WHOLE = ("0", "1", "-1", "3", "127", "128", "-129", "32768", "2147483647", "2147483648", "-2147483649")
WIDE = ("9223372036854775807", "-9223372036854775808", "9223372036854775808", "99999999999999999999", "1" + "0" * 37)
POINTS = ("0.0", "-0.0", "0.1", ".5", "1.", "1.50", "-0.000000000000000001", "0.30000000000000004", "16777217.0")
LONG = tuple(f"{sign}{digits}" for sign in ("", "-") for digits in ("1." + "0" * 31 + "1", "0." + "9" * 32))
POWERS = ("0e0", "-0E0", "1e0", "1E-3", "1e-7", "5e-324", "-5e-324", "1e308", "9.223372036854775807E18", "2e-400")
ATOMS = (
    "a",
    "b",
    "A",
    "é",
    " ",
    "1",
    "🦉",
    "東",
    "\\",
    "'",
    ".",
    "\\.",
    "\\\\",
    "\\d",
    "\\D",
    "\\w",
    "\\W",
    "\\s",
    "\\S",
)
CLASSES = ("[ab]", "[^a]", "[a-z]", "[^a-z0-9]", "[\\d_]", "[\\s%_-]", "[é東]", "[^\\w]", "[A-Za-z0-9._%+-]", "[🦉-🦋]")
LOOKS = (
    "^-?[0-9]+$",
    "^-?[0-9]+[.][0-9]+$",
    "^[0-9-]{10}$",
    "[.]0",
    "0$",
    ":",
    "E",
    "^(true|false)$",
)  # of values as texts
COUNTS = ("*", "+", "?", "{1,2}", "{2}", "{0}", "{1,}", "*?", "+?", "??")
FEW_TIMES = ("?", "{1,2}", "{2}", "{0}", "??")
SPARKS = ("(?i)a", "a(?=b)", "\\bA", "a*+", "[[a]]", "\\p{L}", "(a)\\1", "\\Qa\\E", "\\R", "x{2,1}")  # Spark's alone


def condition(draw: random.Random, drawn: Drawn, depth: int = 3) -> str:
    """One condition over the columns, nested at most so deep."""
    choice = draw.random()
    if depth == 0 or choice < 0.5:
        return simple(draw, drawn)
    inner = condition(draw, drawn, depth - 1)
    if choice < 0.6:
        return f"not ({inner})"
    if choice < 0.63:
        return f"case when {inner} then 1 end is {draw.choice(['', 'not '])}null"
    other = condition(draw, drawn, depth - 1)
    return f"({inner} {draw.choice(['and', 'or'])} {other})"


def simple(draw: random.Random, drawn: Drawn) -> str:
    """A condition on one column, or on two."""
    if draw.random() < 0.01:
        return draw.choice(["true", "false", "not true"])
    name = draw.choice([*drawn.kinds, ROW])
    family = drawn.kinds[name].family if name in drawn.kinds else "exact"
    column, choice = quoted(name), draw.random()
    if choice < 0.1:
        return draw.choice([f"{column} is null", f"{column} is not null", f"isnull({column})", f"not {column} is null"])
    if choice < 0.2 and family in BY_EACH_OTHER:
        return _of_two(draw, drawn, column, family)
    if choice < 0.5 and family in _OF_FAMILIES:
        return _OF_FAMILIES[family](draw, drawn, name)
    if choice > 0.96:
        return _written(draw, drawn, column, name)
    return _with_literals(draw, column, lambda: value(draw, drawn, name))


def _written(draw: random.Random, drawn: Drawn, column: str, name: str) -> str:
    """A condition on what a column's values are as texts: that of one of them, or how all of them look."""
    text, held = f"cast({column} as string)", draw.choice(drawn.values.get(name) or [None])
    if draw.random() < 0.6:
        return f"{text} {draw.choice(COMPARES)} {literal(draw.choice([str(held), *TEXTS]))}"
    return f"{text} rlike {literal(draw.choice(LOOKS))}"


def _with_literals(draw: random.Random, column: str, drawn_value: Callable[[], str]) -> str:
    match draw.randint(0, 9):
        case 0 | 1 | 2 | 3:
            return f"{column} {draw.choice(COMPARES)} {drawn_value()}"
        case 4:
            return f"{drawn_value()} {draw.choice(COMPARES)} {column}"
        case 5 | 6:
            return f"{column} {draw.choice(['', 'not '])}between {drawn_value()} and {drawn_value()}"
        case 7:
            met = f"{column} is {draw.choice(['', 'not '])}null or {column} {draw.choice(COMPARES)} {drawn_value()}"
            return f"case when {met} then {column} end {draw.choice(COMPARES)} {drawn_value()}"
    among = ", ".join(drawn_value() for _ in range(draw.randint(1, 4)))
    return f"{column} {draw.choice(['', 'not '])}in ({among})"


def _of_two(draw: random.Random, drawn: Drawn, column: str, family: str) -> str:
    families = ("exact", "double") if family in ("exact", "double") else (family,)
    return f"{column} {draw.choice(COMPARES)} {quoted(draw.choice(drawn.of(*families) or [ROW]))}"


def value(draw: random.Random, drawn: Drawn, name: str) -> str:
    """A literal: mostly of the column's family, and there one of its own values or one beside it."""
    family = drawn.kinds[name].family if name in drawn.kinds else "exact"
    if draw.random() < 0.02:
        family = draw.choice(sorted(_LITERALS))
    held = drawn.values.get(name) or [None]
    return _LITERALS[family](draw, draw.choice(held))


def _number(draw: random.Random, held: Any) -> str:
    if held is None or isinstance(held, str | bytes | datetime) or draw.random() < 0.4:
        return draw.choice(draw.choice([WHOLE, WIDE, POINTS, LONG, POWERS]))
    if isinstance(held, float):
        return repr(held) if isfinite(held) and draw.random() < 0.7 else draw.choice(POWERS)
    try:
        exact = Decimal(held)
    except (TypeError, ValueError):
        return draw.choice(WHOLE)
    beside = exact + draw.choice([Decimal(0), Decimal(0), Decimal(1), Decimal(-1), Decimal("0.5"), Decimal("0.001")])
    return f"{beside:f}{draw.choice(['', '', '', 'e0', 'E0'])}"


def _of_text(draw: random.Random, held: Any) -> str:
    text = held if isinstance(held, str) and draw.random() < 0.6 else draw.choice(TEXTS)
    return literal(text + draw.choice(["", "", "", " ", "a"]))


def _of_day(draw: random.Random, held: Any) -> str:
    days = ["2000-02-29", "0001-01-01", "9999-12-31", "1582-10-10", "1970-01-01", "1990-01-10"]
    return (
        f"date '{held.isoformat()[:10] if hasattr(held, 'isoformat') and draw.random() < 0.6 else draw.choice(days)}'"
    )


def _of_instant(draw: random.Random, held: Any) -> str:
    at = ["2000-01-01 00:00:00", "1969-12-31 23:59:59.999999", "1970-01-01T00:00:00", "0001-01-01 00:00:00"]
    if isinstance(held, datetime) and draw.random() < 0.6 and 1 < held.year < 9999:
        moved = held.replace(tzinfo=None) + timedelta(microseconds=draw.choice([0, 0, 1, -1]))
        return f"timestamp '{moved.isoformat(sep=' ', timespec='microseconds')}'"
    return f"timestamp '{draw.choice(at)}'"


def _of_clock(draw: random.Random, held: Any) -> str:
    type_ = draw.choice(["timestamp_ntz", "timestamp_ntz", "timestamp"])
    return f"{type_}{_of_instant(draw, held).removeprefix('timestamp')}"


def _of_truth(draw: random.Random, held: Any) -> str:
    return draw.choice(["true", "false"])


_LITERALS: Mapping[str, Callable[[random.Random, Any], str]] = {
    "exact": _number,
    "double": _number,
    "text": _of_text,
    "day": _of_day,
    "instant": _of_instant,
    "local": _of_clock,
    "truth": _of_truth,
    "bytes": _of_text,
}


def _on_double(draw: random.Random, drawn: Drawn, name: str) -> str:
    return draw.choice([f"isnan({quoted(name)})", f"not isnan({quoted(name)})", _as_double(draw, drawn, name)])


def _as_double(draw: random.Random, drawn: Drawn, name: str) -> str:
    """As metrics write a number that they take as a double."""
    return f"{quoted(name)} * 1e0 {draw.choice(COMPARES)} {value(draw, drawn, name)}"


def _on_text(draw: random.Random, drawn: Drawn, name: str) -> str:
    column, negated = quoted(name), draw.choice(["", "", "not "])
    held = [each for each in drawn.values.get(name, ()) if isinstance(each, str)] or ["a"]
    match draw.randint(0, 3):
        case 0:
            length = draw.choice(["0", "1", "2", "3", "1.5", "40"])
            return f"{draw.choice(LENGTHS)}({column}) {draw.choice(COMPARES)} {length}"
        case 1:
            return f"{column} {negated}like {literal(_like(draw, draw.choice(held)))}"
    return f"{column} {negated}rlike {literal(_regex(draw))}"


def _like(draw: random.Random, text: str) -> str:
    """A text of the column, some of its signs exchanged for wildcards."""
    signs = [
        draw.choice(["%", "_", sign]) if draw.random() < 0.3 else f"\\{sign}" if sign in "%_\\" else sign
        for sign in text
    ]
    return draw.choice(["", "", "%"]) + "".join(signs) + draw.choice(["", "", "%", "_", "\\%"])


def _regex(draw: random.Random, depth: int = 2) -> str:
    if draw.random() < 0.03:
        return draw.choice(SPARKS)
    parts = "".join(_part(draw, depth) for _ in range(draw.randint(1, 3)))
    first, last = draw.choice(["", "", "", "^", "\\A"]), draw.choice(["", "", "", "$", "\\z"])
    return f"{first}{parts}{last}"


def _part(draw: random.Random, depth: int) -> str:
    choice = draw.random()
    counts: tuple[str, ...] = COUNTS
    if depth and choice < 0.2:
        inner = "|".join(_regex(draw, depth - 1) for _ in range(draw.randint(1, 2)))
        part = f"{draw.choice(['(', '(?:'])}{inner})"
        if re.search(r"[*+}]|[^(]\?", inner):  # Java may look for the end of a count of counts for days
            counts = FEW_TIMES
    else:
        part = draw.choice(CLASSES) if choice < 0.5 else draw.choice(ATOMS)
    return part + (draw.choice(counts) if draw.random() < 0.3 else "")


_OF_FAMILIES: Mapping[str, Callable[[random.Random, Drawn, str], str]] = {
    "double": _on_double,
    "exact": _as_double,
    "text": _on_text,
    "truth": lambda draw, drawn, name: draw.choice([quoted(name), f"not {quoted(name)}"]),
}
