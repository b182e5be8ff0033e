"""Calls that make much out of little: their size must be written down, and small."""

from collections.abc import Iterator
from datetime import date
from math import prod

from sqlglot import exp

from execution_engine.guard.refusal import Refusal

from .functions import GENERATOR, called

MAX_SEQUENCE = 10_000  # elements of all sequences of one statement, multiplied
MAX_GENERATORS = 3
_LONGEST = {  # the argument that says how much, and the most it may say
    **dict.fromkeys(("repeat", "lpad", "rpad", "array_repeat", "array_insert"), (1, 1_000)),
    **dict.fromkeys(("round", "bround", "ceil", "ceiling", "floor", "format_number"), (1, 100)),
    "space": (0, 1_000),
}
_GROWING = frozenset({"repeat", "lpad", "rpad", "array_repeat", "space", "sequence"})
_DAYS = {"day": 1, "week": 7, "month": 28, "year": 365}


def check_growth(tree: exp.Expr) -> Refusal | None:
    """The first call whose size is computed or large, or that multiplies another's."""
    sizes = []
    for call in tree.find_all(exp.Anonymous):
        if refusal := _check_longest(call) or _check_nesting(call):
            return refusal.at(call)
        if called(call) == "sequence":
            sizes.append(size := _sequence_size(list(call.expressions)))
            if size is None or prod(filter(None, sizes)) > MAX_SEQUENCE:
                what = f"a sequence must say its ends, of numbers or dates, and have at most {MAX_SEQUENCE:,} elements"
                mend = "write literals, a step of whole days, and multiply no sequences"
                return Refusal(what=what, mend=mend).at(call)
    generators = [call for call in tree.find_all(exp.Anonymous) if called(call) in GENERATOR]
    if len(generators) <= MAX_GENERATORS:
        return None
    what = f"it explodes more than {MAX_GENERATORS} times"
    return Refusal(what=what, mend="aggregate in between").at(generators[-1])


def _check_longest(call: exp.Anonymous) -> Refusal | None:
    name, given = called(call), list(call.expressions)
    at, most = _LONGEST.get(name, (0, None))
    if most is None or at >= len(given):
        return None
    size = _whole(given[at])
    if size is not None and abs(size) <= most:
        return None
    return Refusal(what=f"{name} must say its size, at most {most:,}", mend="write a literal number")


def _check_nesting(call: exp.Anonymous) -> Refusal | None:
    if called(call) not in _GROWING:
        return None
    around = next((outer for outer in _around(call) if called(outer) in _GROWING), None)
    if around is None:
        return None
    return Refusal(what=f"{called(call)} stands inside {called(around)}", mend="one multiplies the other; use one")


def _around(call: exp.Expr) -> Iterator[exp.Anonymous]:
    outer = call.parent
    while outer is not None:
        if isinstance(outer, exp.Anonymous):
            yield outer
        outer = outer.parent


def _sequence_size(given: list[exp.Expr]) -> int | None:
    """The number of elements, rounded up; None where the text does not tell."""
    if len(given) not in (2, 3):
        return None
    start, stop = (_whole(node) if (day := _day(node)) is None else day for node in given[:2])
    step = _step(given[2]) if len(given) == 3 else 1
    if start is None or stop is None or not step:
        return None
    return abs(stop - start) // abs(step) + 1


def _step(node: exp.Expr) -> int | None:
    if isinstance(node, exp.Interval):
        days, count = _DAYS.get(node.text("unit").lower().removesuffix("s")), _digits(node.text("this"))
        return None if days is None or count is None else days * count
    return _whole(node)


def _day(node: exp.Expr) -> int | None:
    """The day that a literal date names, as a number."""
    named = node.this if isinstance(node, exp.Cast) and node.is_type("date") else None
    if isinstance(node, exp.Anonymous) and called(node) in {"to_date", "date"} and len(node.expressions) == 1:
        named = node.expressions[0]
    if not (isinstance(named, exp.Literal) and named.is_string):
        return None
    try:
        return date.fromisoformat(named.name).toordinal()
    except ValueError:
        return None


def _whole(node: exp.Expr) -> int | None:
    if isinstance(node, exp.Neg):
        inner = _whole(node.this)
        return None if inner is None else -inner
    while isinstance(node, exp.Paren | exp.Cast):
        node = node.this
    return _digits(node.name) if isinstance(node, exp.Literal) and not node.is_string else None


def _digits(text: str) -> int | None:
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
    return sign * int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 18 else None
