"""Trees as JSON objects: ``{"node": …, "parameters": {…}, "children": […]}``; places stay with the text."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from decimal import Decimal
from typing import Any

from execution_engine import exact
from execution_engine.metrics.spec import MetricSpec, quoted

from .tree import (
    FIELDS_BELOW,
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
    fields_of,
    fold,
    postorder,
)

Json = dict[str, Any]
MAX_NODES = 1000


class UnableToReadTree(ValueError):
    """JSON that is no tree of an assertion."""


def to_json(tree: Node) -> Json:
    """A JSON object that ``from_json`` reads back to an equal tree."""

    def as_json(node: Node, below: Sequence[Json]) -> Json:
        match node:
            case Number(value=number):
                parameters: Json = {"value": exact.to_json(number)}
            case Metric():
                parameters = _metric_as_json(node)
            case History():
                parameters = {"function": node.function.value, "last": node.last, "min": node.min}
                parameters |= {} if node.every is None else {"every": node.every}
                parameters |= {"options": dict(node.options)} if node.options else {}
                parameters["metric"] = _metric_as_json(node.metric)
            case _:
                parameters = {
                    field.name: list(value) if isinstance(value := getattr(node, field.name), tuple) else value
                    for field in fields(node)
                    if field.compare and field.name not in FIELDS_BELOW.get(type(node), ())
                }
        return {"node": type(node).__name__.lower(), "parameters": parameters, "children": list(below)}

    return fold(tree, as_json)


def _metric_as_json(metric: Metric) -> Json:
    target = {"dataset": metric.dataset, "datacenter": metric.datacenter, "ago": metric.ago}
    return {"spec": metric.spec.to_json(), **target}


def from_json(data: Json) -> Assertion:
    """The tree that ``to_json`` wrote; raises UnableToReadTree for JSON of another shape."""
    try:
        objects: list[Json] = []  # without recursion, as a hostile object may be nested deep
        stack = [data]
        while stack:
            if len(objects) > MAX_NODES:
                raise ValueError(f"more than {MAX_NODES} nodes")
            objects.append(stack.pop())
            stack.extend(objects[-1]["children"])
        nodes: list[Any] = []
        for item in reversed(objects):  # each after those below it
            first = len(nodes) - len(item["children"])
            below = nodes[first:]
            del nodes[first:]
            kind, parameters = _KINDS[item["node"]], item["parameters"]
            own_fields = _PARAMETERS[kind](parameters) if kind in _PARAMETERS else {}
            nodes.append(kind(**own_fields, **fields_of(kind, below)))
        (tree,) = nodes
        if not isinstance(tree.condition if isinstance(tree, By) else tree, Condition):
            raise TypeError(f"{type(tree).__name__} is no condition")
        if any(isinstance(node, By) for node in postorder(tree)[:-1]):
            raise TypeError("groups stand at the root only")
        return tree  # type: ignore[no-any-return]
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise UnableToReadTree(f"this JSON is no assertion ({error!r}): parse the test's text again") from None


_KINDS: Mapping[str, type[Any]] = {
    kind.__name__.lower(): kind for kind in (Number, Percentage, Duration, Text, Metric, History, *FIELDS_BELOW)
}
_PARAMETERS: Mapping[type[Any], Callable[[Json], Json]] = {
    Number: lambda data: {
        "value": exact.number_of(Decimal(value) if isinstance(value := data["value"], str) else float(value))
    },
    Percentage: lambda data: {"percent": float(data["percent"])},
    Duration: lambda data: {"seconds": float(data["seconds"])},
    Text: lambda data: {"value": data["value"]},
    Metric: lambda data: {
        "spec": MetricSpec.from_json(data["spec"]),
        **{name: data[name] for name in ("dataset", "datacenter", "ago")},
    },
    History: lambda data: {
        "function": HistoryFunction(data["function"]),
        "metric": Metric(**_PARAMETERS[Metric](data["metric"])),
        "last": data["last"],
        "min": data["min"],
        "every": data.get("every"),
        "options": tuple(sorted(data.get("options", {}).items())),
    },
    Call: lambda data: {"function": Function(data["function"])},
    Arithmetic: lambda data: {"operator": Operator(data["operator"])},
    Comparison: lambda data: {"comparator": Comparator(data["comparator"])},
    Between: lambda data: {"negated": data["negated"]},
    By: lambda data: {
        "columns": tuple(map(str, data["columns"])),
        "percent": None if data["percent"] is None else float(data["percent"]),
    },
}


# A tree written as an assertion again, with no more parentheses than it needs; ``parse`` reads an equal tree.

UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))

# How tightly a node binds; a node in a place that needs a tighter one is put into parentheses.
OR, AND, NOT, PREDICATE, SUM, PRODUCT, SIGNED, ATOM = range(8)

Piece = tuple[str, int]  # what a node is written as, and how tightly it binds


def to_text(tree: Node) -> str:
    """The assertion, or the part of one, that ``tree`` stands for, in its canonical writing."""

    def write(node: Node, below: Sequence[Piece]) -> Piece:
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
                level = SUM if operator in (Operator.ADD, Operator.SUBTRACT) else PRODUCT
                return f"{_at(below[0], level)} {operator} {_at(below[1], level + 1)}", level
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
            case By(columns=columns, percent=share):
                groups = "" if share is None else f" for {number_text(share)} % of groups"
                return f"{below[0][0]} by {', '.join(columns)}{groups}", OR

    return fold(tree, write)[0]


def number_text(value: exact.Number) -> str:
    """A number as the language writes it: 0.99, 1000000; the shortest text that reads back equal."""
    if not isinstance(value, float):
        return f"{exact.decimal_of(value):f}"
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


def _at(piece: Piece, level: int) -> str:
    text, bound = piece
    return text if bound >= level else f"({text})"
