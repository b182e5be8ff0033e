"""From the arguments of a call to its operand: a metric, or a function of one over past windows; and from ``by …``."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from execution_engine.language.problem import ParseRefusal, Span
from execution_engine.language.tree import (
    ONE_VALUE,
    PROFILE,
    WITH_OPTIONS,
    By,
    History,
    HistoryFunction,
    Literal,
    Metric,
    Negative,
    Number,
    Percentage,
    Text,
)
from execution_engine.metrics.spec import MetricSpec
from execution_engine.novelty.terms import LAST_BATCHES

from .literals import argument_value

FOR_TEXT = ("where", "dataset", "datacenter")
FOR_HISTORY = ("last", "every", "min")
OF_PROFILE = ("without",)  # options of the metric that novelty compares


@dataclass(frozen=True, kw_only=True)
class BareName:
    """A bare name among the arguments."""

    name: str
    place: Span


@dataclass(frozen=True, kw_only=True)
class WrittenStep:
    """A duration as it is written, as ``ago=`` and ``every=`` keep it: ``1mo`` is a calendar step, not seconds."""

    text: str
    place: Span


@dataclass(frozen=True, kw_only=True)
class Keyword:
    """``name=value`` among the arguments."""

    name: str
    value: "Literal | Negative | WrittenStep"
    place: Span


Argument = BareName | Keyword | Literal | Negative | WrittenStep | Metric | History


def operand(name: str, arguments: Sequence[Argument], place: Span) -> Metric | History:
    """The operand that a call says."""
    keywords = _keywords(arguments)
    positional: Sequence[Argument] = [argument for argument in arguments if not isinstance(argument, Keyword)]
    if name == HistoryFunction.NOVELTY:
        positional, keywords = _of_profiles(positional, keywords, place)
    if "last" in keywords or any(isinstance(argument, Metric | History) for argument in positional):
        return _history(name, positional, keywords, place)
    return _metric(name, positional, keywords, place)


def _of_profiles(
    positional: Sequence[Argument], keywords: dict[str, Keyword], place: Span
) -> tuple[Sequence[Argument], dict[str, Keyword]]:
    """``novelty(fare, where="…")`` in full: ``novelty(profile(fare, where="…"), last=90)``."""
    last = Keyword(name="last", value=Number(value=float(LAST_BATCHES), place=place), place=place)
    if not any(isinstance(argument, Metric | History) for argument in positional):
        inside = {key: word for key, word in keywords.items() if key in (*_RESERVED, *OF_PROFILE)}
        keywords = {key: word for key, word in keywords.items() if key not in inside}
        positional = [_metric(PROFILE, positional, inside, place)]
    return positional, {"last": last, **keywords}


def by(parts: Sequence[Any], place: Span) -> By:
    """The groups of an assertion: its condition, then columns, then perhaps a percentage."""
    columns = [part for part in parts if isinstance(part, BareName)]
    share = parts[-1] if isinstance(parts[-1], Percentage) else None
    places = {f"column {i}": column.place for i, column in enumerate(columns)}
    return By(
        condition=parts[0],
        columns=tuple(column.name for column in columns),
        percent=None if share is None else share.percent,
        parts=places if share is None else {**places, "percent": share.place},
        place=place,
    )


def _keywords(arguments: Sequence[Argument]) -> dict[str, Keyword]:
    keywords: dict[str, Keyword] = {}
    for argument in arguments:
        if isinstance(argument, Keyword):
            if argument.name in keywords:
                raise ParseRefusal(f"{argument.name}= is given twice: keep one", argument.place)
            keywords[argument.name] = argument
        elif keywords:
            raise ParseRefusal("this argument comes after a name=value: put it first", argument.place)
    return keywords


def _metric(name: str, positional: Sequence[Argument], keywords: dict[str, Keyword], place: Span) -> Metric:
    columns = tuple(argument.name for argument in positional if isinstance(argument, BareName))
    literals = positional[len(columns) :]
    for argument in literals:
        if isinstance(argument, BareName):
            raise ParseRefusal(f"column {argument.name} comes after a literal: put columns first", argument.place)
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
        raise ParseRefusal(f"{name} is no function over past windows: take one of {known}", place)
    function = HistoryFunction(name)
    _check_history(function, keywords)
    if function is HistoryFunction.LAG:
        metric, last = _lag(positional, place)
    else:
        metric, last = _past(name, positional, keywords, place)
    return History(
        function=function,
        metric=metric,
        last=_count(last),
        min=_count(keywords["min"]) if "min" in keywords else None,
        every=_step(keywords.get("every")),
        options=tuple(
            (key, argument_value(word.value, word.place))
            for key, word in sorted(keywords.items())
            if key not in FOR_HISTORY
        ),
        parts={word.name: word.place for word in (*keywords.values(), last)},
        place=place,
    )


def _check_history(function: HistoryFunction, keywords: dict[str, Keyword]) -> None:
    for word in keywords.values():
        if word.name not in FOR_HISTORY and not _is_of_function(function, word):
            raise ParseRefusal(f"{word.name}= is no option over past windows: give it to the metric inside", word.place)
        if word.name == "min" and function in ONE_VALUE:
            raise ParseRefusal(f"{function} needs one window only: leave min= out", word.place)
        if word.name == "last" and function is HistoryFunction.LAG:
            raise ParseRefusal("lag says how many windows before without a name: write lag(row_count(), 7)", word.place)


def _is_of_function(function: HistoryFunction, word: Keyword) -> bool:
    """Whether it may be an option of the function itself; which ones there are is for the type check to say."""
    return function in WITH_OPTIONS and word.name not in _RESERVED


def _past(
    name: str, positional: Sequence[Argument], keywords: dict[str, Keyword], place: Span
) -> tuple[Metric, Keyword]:
    if len(positional) != 1 or not isinstance(positional[0], Metric):
        raise ParseRefusal(f"last= needs one metric call first, such as {name}(row_count(), last=7)", place)
    if "last" not in keywords:
        raise ParseRefusal(f"{name} of a metric call is over past windows: say how many, such as last=7", place)
    return positional[0], keywords["last"]


def _lag(positional: Sequence[Argument], place: Span) -> tuple[Metric, Keyword]:
    if len(positional) == 2:
        metric, count = positional
        if isinstance(metric, Metric) and not isinstance(count, BareName | Keyword | WrittenStep | Metric | History):
            return metric, Keyword(name="last", value=count, place=count.place)
    raise ParseRefusal("lag needs a metric call and how many windows before, such as lag(row_count(), 7)", place)


def _text(keywords: dict[str, Keyword], name: str) -> str | None:
    word = keywords.get(name)
    if word is None:
        return None
    if not isinstance(word.value, Text):
        raise ParseRefusal(f"{name}= needs a text in quotes", word.place)
    return word.value.value


def _step(word: Keyword | None) -> str | None:
    if word is None:
        return None
    if not isinstance(word.value, WrittenStep):
        raise ParseRefusal(f"{word.name}= needs a step back in time, such as 7d, 4h or 1mo", word.place)
    return word.value.text


def _count(word: Keyword) -> int:
    value = None if isinstance(word.value, WrittenStep) else argument_value(word.value, word.place)
    if not isinstance(value, int):
        raise ParseRefusal(f"{word.name}= needs a whole number of windows", word.place)
    return value


def _parts(positional: Sequence[Argument], columns: Sequence[str], keywords: dict[str, Keyword]) -> dict[str, Span]:
    places = {f"column {i}": argument.place for i, argument in enumerate(positional[: len(columns)])}
    places |= {f"argument {i}": argument.place for i, argument in enumerate(positional[len(columns) :])}
    return places | {word.name: word.place for word in keywords.values()}


_RESERVED = (*FOR_TEXT, "ago")
