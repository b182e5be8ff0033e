"""Trees as JSON objects: ``{"node": …, "parameters": {…}, "children": […]}``; places stay with the text."""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from execution_engine import exact
from execution_engine.exact import Number as Exact
from execution_engine.exact import decimal_of
from execution_engine.metrics.spec import MetricSpec, quoted

from .tree import (
    And,
    Arithmetic,
    Assertion,
    Between,
    By,
    Call,
    Comparator,
    Comparison,
    Condition,
    Duration,
    Function,
    History,
    HistoryFunction,
    Metric,
    Negative,
    Node,
    Not,
    Number,
    Operator,
    Or,
    Percentage,
    Text,
    fold,
    postorder,
)

Json = dict[str, Any]
MAX_NODES = 1000


class UnableToReadTree(ValueError):
    """JSON that is no tree of an assertion."""


def to_json(tree: Node) -> Json:
    """A JSON object that ``from_json`` reads back to an equal tree."""
    return fold(tree, lambda node, below: _object(node, list(below)))


def from_json(data: Json) -> Assertion:
    """The tree that ``to_json`` wrote; raises UnableToReadTree for JSON of another shape."""
    try:
        tree = _built(_flat(data))
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise UnableToReadTree(f"this JSON is no assertion ({error!r}): parse the test's text again") from None
    return tree


def _object(node: Node, below: list[Json]) -> Json:
    return {"node": type(node).__name__.lower(), "parameters": _parameters(node), "children": below}


def _parameters(node: Node) -> Json:
    match node:
        case Number(value=number):
            return {"value": exact.to_json(number)}
        case Text(value=value):
            return {"value": value}
        case Percentage(percent=percent):
            return {"percent": percent}
        case Duration(seconds=seconds):
            return {"seconds": seconds}
        case Arithmetic(operator=operator):
            return {"operator": operator.value}
        case Call(function=function):
            return {"function": function.value}
        case Comparison(comparator=comparator):
            return {"comparator": comparator.value}
        case Between(negated=negated):
            return {"negated": negated}
        case Metric():
            return _metric_json(node)
        case History():
            every = {} if node.every is None else {"every": node.every}
            options = {"options": dict(node.options)} if node.options else {}
            counts = {"last": node.last, "min": node.min}
            return {"function": node.function.value, **counts, **every, **options, "metric": _metric_json(node.metric)}
        case By(columns=columns, percent=percent):
            return {"columns": list(columns), "percent": percent}
    return {}


def _metric_json(metric: Metric) -> Json:
    target = {"dataset": metric.dataset, "datacenter": metric.datacenter, "ago": metric.ago}
    return {"spec": metric.spec.to_json(), **target}


def _metric(data: Json) -> Metric:
    spec = MetricSpec.from_json(data["spec"])
    return Metric(spec=spec, dataset=data["dataset"], datacenter=data["datacenter"], ago=data["ago"])


def _history(data: Json) -> History:
    function = HistoryFunction(data["function"])
    metric, every = _metric(data["metric"]), data.get("every")
    options = tuple(sorted(data.get("options", {}).items()))
    return History(function=function, metric=metric, last=data["last"], min=data["min"], every=every, options=options)


def _by(data: Json, condition: Any) -> By:
    percent = None if data["percent"] is None else float(data["percent"])
    return By(condition=condition, columns=tuple(str(column) for column in data["columns"]), percent=percent)


_MAKERS: Mapping[str, Callable[[Json, Sequence[Any]], Node]] = {
    "number": lambda data, below: Number(value=_number(data["value"])),
    "percentage": lambda data, below: Percentage(percent=float(data["percent"])),
    "duration": lambda data, below: Duration(seconds=float(data["seconds"])),
    "text": lambda data, below: Text(value=data["value"]),
    "metric": lambda data, below: _metric(data),
    "history": lambda data, below: _history(data),
    "negative": lambda data, below: Negative(value=_only(below)),
    "call": lambda data, below: Call(function=Function(data["function"]), arguments=tuple(below)),
    "arithmetic": lambda data, below: _arithmetic(Operator(data["operator"]), *below),
    "comparison": lambda data, below: _comparison(Comparator(data["comparator"]), *below),
    "between": lambda data, below: _between(data["negated"], *below),
    "not": lambda data, below: Not(term=_only(below)),
    "and": lambda data, below: And(terms=tuple(below)),
    "or": lambda data, below: Or(terms=tuple(below)),
    "by": lambda data, below: _by(data, _only(below)),
}


def _number(said: Any) -> exact.Number:
    return exact.number_of(Decimal(said) if isinstance(said, str) else float(said))


def _only(below: Sequence[Any]) -> Any:
    (one,) = below
    return one


def _arithmetic(operator: Operator, left: Any, right: Any) -> Arithmetic:
    return Arithmetic(operator=operator, left=left, right=right)


def _comparison(comparator: Comparator, left: Any, right: Any) -> Comparison:
    return Comparison(comparator=comparator, left=left, right=right)


def _between(negated: bool, value: Any, low: Any, high: Any) -> Between:
    return Between(value=value, low=low, high=high, negated=negated)


def _flat(data: Json) -> list[Json]:
    """Every object, each after those below it; raises ValueError for more than an assertion can have."""
    order: list[Json] = []
    stack = [data]
    while stack:
        if len(order) > MAX_NODES:
            raise ValueError(f"more than {MAX_NODES} nodes")
        order.append(stack.pop())
        stack.extend(order[-1]["children"])
    return order[::-1]


def _built(objects: Sequence[Json]) -> Assertion:
    made: list[Any] = []
    for data in objects:
        first = len(made) - len(data["children"])
        below = made[first:]
        del made[first:]
        made.append(_MAKERS[data["node"]](data["parameters"], below))
    tree = _only(made)
    if not isinstance(tree.condition if isinstance(tree, By) else tree, Condition):
        raise TypeError(f"{type(tree).__name__} is no condition")
    if any(isinstance(node, By) for node in postorder(tree)[:-1]):
        raise TypeError("groups stand at the root only")
    return tree  # type: ignore[no-any-return]


# A tree written as an assertion again, with no more parentheses than it needs; ``parse`` reads an equal tree.

UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))

# How tightly a node binds; a node in a place that needs a tighter one is put into parentheses.
OR, AND, NOT, PREDICATE, SUM, PRODUCT, SIGNED, ATOM = range(8)
_LEVELS = {Operator.ADD: SUM, Operator.SUBTRACT: SUM, Operator.MULTIPLY: PRODUCT, Operator.DIVIDE: PRODUCT}

Piece = tuple[str, int]  # what a node is written as, and how tightly it binds


def to_text(tree: Node) -> str:
    """The assertion, or the part of one, that ``tree`` stands for, in its canonical writing."""
    return fold(tree, _write)[0]


def number_text(value: Exact) -> str:
    """A number as the language writes it: 0.99, 1000000; the shortest text that reads back equal."""
    if not isinstance(value, float):
        return f"{decimal_of(value):f}"
    return str(int(value)) if value.is_integer() and abs(value) < 1e16 else repr(value)


def duration_text(seconds: float) -> str:
    """Seconds in the largest unit that keeps them whole: 4h, 90m, 0.5s."""
    if seconds.is_integer():
        unit, size = next((unit, size) for unit, size in UNITS if seconds % size == 0)
        return f"{int(seconds) // size}{unit}"
    return f"{Decimal(repr(seconds)):f}s"


MOST_DIGITS = 40  # of a number that is shown whole: a quotient has more


def number_shown(value: Decimal | None, bound: Decimal | None = None) -> str:
    """A number in six digits; in all where six would make it look like its bound, or where no float holds it."""
    if value is None:
        return "NULL"
    if value == value.to_integral_value() and abs(value) < 10**15:
        return str(int(value))
    few = len(value.as_tuple().digits) <= MOST_DIGITS
    if abs(value) >= 10**6 and few and not isinstance(exact.number_of(value), float):
        return f"{value:f}"
    short = f"{value:.6g}" if abs(value) < 10**6 else f"{value:.0f}"
    if bound is None or value == bound or float(short) != float(bound):
        return short
    return f"{value:f}" if few else repr(float(value))


def length_shown(value: Decimal | None) -> str:
    """Seconds in their two largest units: ``5h 12m``."""
    if value is None:
        return "NULL"
    left, parts = round(abs(value)), []
    for unit, size in UNITS:
        count, left = divmod(left, size)
        parts += [f"{count}{unit}"] if count else []
    return ("-" if value < 0 else "") + (" ".join(parts[:2]) or "0s")


def _write(node: Node, below: Sequence[Piece]) -> Piece:
    match node:
        case Number(value=value):
            return number_text(value), ATOM
        case Percentage(percent=percent):
            return f"{number_text(percent)} %", ATOM
        case Duration(seconds=seconds):
            return duration_text(seconds), ATOM
        case Text(value=text):
            return quoted(text), ATOM
        case Metric() | History():
            return node.call, ATOM
        case Call(function=function):
            return f"{function}({', '.join(text for text, _ in below)})", ATOM
        case Negative():
            return f"-{_at(below[0], SIGNED)}", SIGNED
        case Arithmetic(operator=operator):
            level = _LEVELS[operator]
            return f"{_at(below[0], level)} {operator} {_at(below[1], level + 1)}", level
    return _write_condition(node, below)


def _write_condition(node: Node, below: Sequence[Piece]) -> Piece:
    match node:
        case Comparison(comparator=comparator):
            return f"{below[0][0]} {comparator} {below[1][0]}", PREDICATE
        case Between(negated=negated):
            return f"{below[0][0]} {'not ' * negated}between {below[1][0]} and {below[2][0]}", PREDICATE
        case Not():
            return f"not {_at(below[0], NOT)}", NOT
        case And():
            return " and ".join(_at(piece, NOT) for piece in below), AND
        case Or():
            return " or ".join(_at(piece, AND) for piece in below), OR
        case By(columns=columns, percent=percent):
            share = "" if percent is None else f" for {number_text(percent)} % of groups"
            return f"{below[0][0]} by {', '.join(columns)}{share}", OR
    raise TypeError(f"{type(node).__name__} is no node of an assertion")


def _at(piece: Piece, level: int) -> str:
    text, own = piece
    return text if own >= level else f"({text})"
