"""From the arguments of a call to its operand: a metric, or with ``last=`` a function over past windows."""

from collections.abc import Sequence
from dataclasses import dataclass

from execution_engine.language.literals import argument_value
from execution_engine.language.problem import Refusal, Span
from execution_engine.language.tree import History, HistoryFunction, Literal, Metric, Negative, Text
from execution_engine.metrics.spec import MetricSpec

FOR_TEXT = ("where", "dataset", "datacenter")
FOR_HISTORY = ("last", "min")


@dataclass(frozen=True, kw_only=True)
class Column:
    """A bare name among the arguments."""

    name: str
    place: Span


@dataclass(frozen=True, kw_only=True)
class Step:
    """A duration as it is written, which ``ago=`` keeps: ``1mo`` is a calendar step, not a number of seconds."""

    text: str
    place: Span


@dataclass(frozen=True, kw_only=True)
class Keyword:
    """``name=value`` among the arguments."""

    name: str
    value: "Literal | Negative | Step"
    place: Span


Argument = Column | Keyword | Literal | Negative | Step | Metric | History


def operand(name: str, arguments: Sequence[Argument], place: Span) -> Metric | History:
    """The operand that a call says."""
    keywords = _keywords(arguments)
    positional = [argument for argument in arguments if not isinstance(argument, Keyword)]
    if "last" in keywords or any(isinstance(argument, Metric | History) for argument in positional):
        return _history(name, positional, keywords, place)
    return _metric(name, positional, keywords, place)


def _keywords(arguments: Sequence[Argument]) -> dict[str, Keyword]:
    keywords: dict[str, Keyword] = {}
    for argument in arguments:
        if isinstance(argument, Keyword):
            if argument.name in keywords:
                raise Refusal(f"{argument.name}= is given twice: keep one", argument.place)
            keywords[argument.name] = argument
        elif keywords:
            raise Refusal("this argument comes after a name=value: put it first", argument.place)
    return keywords


def _metric(name: str, positional: Sequence[Argument], keywords: dict[str, Keyword], place: Span) -> Metric:
    columns = tuple(argument.name for argument in positional if isinstance(argument, Column))
    literals = positional[len(columns) :]
    for argument in literals:
        if isinstance(argument, Column):
            raise Refusal(f"column {argument.name} comes after a literal: put columns first", argument.place)
    options = [(key, argument_value(word.value, word.place)) for key, word in keywords.items() if key not in _RESERVED]
    spec = MetricSpec(
        name=name,
        columns=columns,
        arguments=tuple(argument_value(literal, literal.place) for literal in literals),
        options=tuple(sorted(options)),
        where=_text(keywords, "where"),
    )
    return Metric(
        spec=spec,
        dataset=_text(keywords, "dataset"),
        datacenter=_text(keywords, "datacenter"),
        ago=_step(keywords.get("ago")),
        parts=_parts(positional, columns, keywords),
        place=place,
    )


def _history(name: str, positional: Sequence[Argument], keywords: dict[str, Keyword], place: Span) -> History:
    if name not in tuple(HistoryFunction):
        known = ", ".join(HistoryFunction)
        raise Refusal(f"{name} is no function over past windows: take one of {known}", place)
    if len(positional) != 1 or not isinstance(positional[0], Metric):
        raise Refusal(f"last= needs one metric call first, such as {name}(row_count(), last=7)", place)
    if "last" not in keywords:
        raise Refusal(f"{name} of a metric call is over past windows: say how many, such as last=7", place)
    for word in keywords.values():
        if word.name not in FOR_HISTORY:
            raise Refusal(f"{word.name}= is no option over past windows: give it to the metric inside", word.place)
    return History(
        function=HistoryFunction(name),
        metric=positional[0],
        last=_count(keywords["last"]),
        min=_count(keywords["min"]) if "min" in keywords else None,
        parts={word.name: word.place for word in keywords.values()},
        place=place,
    )


def _text(keywords: dict[str, Keyword], name: str) -> str | None:
    word = keywords.get(name)
    if word is None:
        return None
    if not isinstance(word.value, Text):
        raise Refusal(f"{name}= needs a text in quotes", word.place)
    return word.value.value


def _step(word: Keyword | None) -> str | None:
    if word is None:
        return None
    if not isinstance(word.value, Step):
        raise Refusal("ago= needs a step back in time, such as 7d, 4h or 1mo", word.place)
    return word.value.text


def _count(word: Keyword) -> int:
    value = None if isinstance(word.value, Step) else argument_value(word.value, word.place)
    if not isinstance(value, int):
        raise Refusal(f"{word.name}= needs a whole number of windows", word.place)
    return value


def _parts(positional: Sequence[Argument], columns: Sequence[str], keywords: dict[str, Keyword]) -> dict[str, Span]:
    places = {f"column {i}": argument.place for i, argument in enumerate(positional[: len(columns)])}
    places |= {f"argument {i}": argument.place for i, argument in enumerate(positional[len(columns) :])}
    return places | {word.name: word.place for word in keywords.values()}


_RESERVED = (*FOR_TEXT, "ago")
