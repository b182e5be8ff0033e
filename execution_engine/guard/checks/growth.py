"""Calls that make much out of little: their size must be written down, and small."""

from collections.abc import Iterator
from datetime import date
from math import prod

from sqlglot import exp

from execution_engine.guard.refusal import Refusal, names

from .functions import GENERATOR, called

MAX_SEQUENCE = 10_000  # elements of all sequences of one statement, multiplied
MAX_GENERATORS = 3
MAX_DOUBLINGS = 8
_STEPWISE = frozenset({"aggregate", "reduce"})
_REPLACES = frozenset({"replace", "regexp_replace", "overlay"})
_LENGTHENS = _REPLACES | names("hex bin base64 url_encode quote to_json to_varchar sentences")
_JOINS_TEXTS = names(
    "concat concat_ws array_join array array_append array_union flatten map_concat struct named_struct"
)
_LOOPS = names(
    """
    transform filter exists forall zip_with transform_keys transform_values map_filter map_zip_with aggregate reduce
    array_join concat_ws split array_sort
    """
)
_NUMERIC = names(
    """
    abs ceil ceiling floor round bround greatest least sign signum pmod mod coalesce ifnull nvl nvl2 if case nullif sqrt
    power pow exp ln length size cardinality cast bigint int double isnull isnotnull
    """
)
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
    if refusal := _check_steps(tree) or _check_doublings(tree):
        return refusal
    generators = [call for call in tree.find_all(exp.Anonymous) if called(call) in GENERATOR]
    if len(generators) <= MAX_GENERATORS:
        return None
    what = f"it explodes more than {MAX_GENERATORS} times"
    return Refusal(what=what, mend="aggregate in between").at(generators[-1])


def _check_steps(tree: exp.Expr) -> Refusal | None:
    """The first ``aggregate`` each of whose steps may give a value that is longer by a factor than the one before."""
    for call in tree.find_all(exp.Anonymous):
        steps = [one for one in call.expressions if isinstance(one, exp.Lambda)] if called(call) in _STEPWISE else []
        for step in steps:
            if _multiplies(step.this, {one.name.lower() for one in step.expressions[:1]}):
                what = f"each step of {called(call)} may multiply the length of what it has so far"
                return Refusal(what=what, mend="use that once in each step, and add to it").at(call)
    return None


def _multiplies(body: exp.Expr, values: set[str]) -> bool:
    """Whether a value called so stands twice in a text or list, in a loop of its own, or is written out longer."""
    for node in body.walk():
        is_text = isinstance(node, exp.DPipe) or (isinstance(node, exp.Anonymous) and called(node) not in _NUMERIC)
        uses = _uses(node, values) if is_text else 0
        if uses > 1 or (uses and isinstance(node, exp.Anonymous) and called(node) in _LENGTHENS | _GROWING | _LOOPS):
            return True
    return False


def _uses(node: exp.Expr, values: set[str]) -> int:
    return sum(one.name.lower() in values for one in node.find_all(exp.Identifier))


def _check_doublings(tree: exp.Expr) -> Refusal | None:
    """The call that is one too many of those that may double the length of a value: each may be made of the last."""
    found = [node for node in tree.find_all(exp.Anonymous, exp.DPipe) if _doubles(node)]
    if len(found) <= MAX_DOUBLINGS:
        return None
    what = f"more than {MAX_DOUBLINGS} of its calls may double the length of a value"
    return Refusal(what=what, mend="name a value once in a call, and use fewer").at(found[MAX_DOUBLINGS])


def _doubles(node: exp.Expr) -> bool:
    if isinstance(node, exp.DPipe) and isinstance(node.parent, exp.DPipe):
        return False  # counted with the outermost
    name = called(node) if isinstance(node, exp.Anonymous) else "concat"
    if name in _LENGTHENS:
        return name not in _REPLACES or _is_longer(list(node.expressions))
    columns = [".".join(part.name.lower() for part in column.parts) for column in node.find_all(exp.Column)]
    return name in _JOINS_TEXTS and len(set(columns)) < len(columns)


def _is_longer(given: list[exp.Expr]) -> bool:
    """Whether what ``replace`` writes is longer than what it replaces; of a pattern, than one character."""
    if len(given) < 3:
        return False
    pattern, text = given[1], given[2]
    is_known = isinstance(text, exp.Literal) and isinstance(pattern, exp.Literal)
    return not is_known or len(text.name) > max(1, len(pattern.name) if len(given) == 3 else 1)


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
