"""What signatures and docstrings say of a public name."""

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from types import FunctionType
from typing import Any, Self, get_args

from execution_engine.anomalies.strategies import Interval
from execution_engine.exact import Number
from execution_engine.verification import Check
from execution_engine.verification.check import Options, Scalar
from execution_engine.verification.constraints import Bound, Expected, Holds

Parameter = inspect.Parameter
ALIASES = {"Expected": Expected, "Holds": Holds, "Scalar": Scalar, "Interval": Interval, "Number": Number}
WIDTH = 110


@dataclass(frozen=True, kw_only=True)
class Documented:
    """One public name: how it is called, and what its docstring says."""

    name: str
    signature: str
    text: str
    parameters: frozenset[str] = frozenset()
    is_called: bool = True  # else it needs no example


def of_function(name: str, function: Callable[..., Any]) -> Documented:
    """A function or a method."""
    parameters = list(_parameters(function))
    returns = inspect.signature(function).return_annotation
    return Documented(
        name=name,
        signature=_call(name.split(".")[-1], parameters, returns),
        text=inspect.getdoc(function) or "",
        parameters=frozenset(each.name for each in parameters),
    )


def of_class(cls: type) -> Documented:
    """A class by itself, with the values of an enumeration."""
    text = inspect.cleandoc(cls.__doc__ or "")
    if issubclass(cls, Enum):
        values = ", ".join(f'`{each.name}` (`"{each.value}"`)' for each in cls)
        return Documented(name=cls.__name__, signature=f"class {cls.__name__}", text=f"{text}\n\nValues: {values}.")
    is_plain = issubclass(cls, BaseException) or bool(getattr(cls, "_is_protocol", False))
    parameters = [] if is_plain else list(_parameters(cls))
    signature = _call(cls.__name__, parameters) if parameters else f"class {cls.__name__}"
    return Documented(name=cls.__name__, signature=signature, text=text)


def members(cls: type) -> Iterator[Documented]:
    """The public methods and properties of a class and of those it is made of, as they are written."""
    names: set[str] = set()
    for base in cls.__mro__:
        if not base.__module__.startswith("execution_engine"):
            continue
        for name, value in vars(base).items():
            if name in names or (name.startswith("_") and name != "__call__"):
                continue
            names.add(name)
            if isinstance(value, property) and value.fget is not None and value.__doc__:
                kind = _type(inspect.signature(value.fget).return_annotation)
                text = inspect.cleandoc(value.__doc__)
                yield Documented(name=f"{cls.__name__}.{name}", signature=f"{name}: {kind}", text=text, is_called=False)
            elif isinstance(value, FunctionType | classmethod):
                yield of_function(f"{cls.__name__}.{name}", getattr(cls, name))


def _parameters(called: Callable[..., Any]) -> Iterator[Parameter]:
    """Those that a user writes; ``**options: Unpack[Options]`` as the two that it stands for."""
    bounded = inspect.signature(Check.bounded).parameters
    for name, parameter in inspect.signature(called).parameters.items():
        if get_args(parameter.annotation) == (Options,):
            yield from (bounded[each] for each in sorted(Options.__annotations__, reverse=True))
        elif name != "self":
            yield parameter


def _call(name: str, parameters: Sequence[Parameter], returns: object = None) -> str:
    written: list[str] = []
    for each in parameters:
        if each.kind is Parameter.KEYWORD_ONLY and not any(part.startswith("*") for part in written):
            written.append("*")
        stars = "**" if each.kind is Parameter.VAR_KEYWORD else "*" if each.kind is Parameter.VAR_POSITIONAL else ""
        default = "" if each.default is Parameter.empty else f" = {_default(each.default)}"
        written.append(f"{stars}{each.name}: {_type(each.annotation)}{default}")
    of = "Check" if returns is Self else _type(returns) if returns is not None else ""
    tail = f" -> {of}" if of else ""
    line = f"{name}({', '.join(written)}){tail}"
    return line if len(line) <= WIDTH else f"{name}(\n    " + ",\n    ".join(written) + f",\n){tail}"


def _type(annotation: object) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    for name, alias in ALIASES.items():
        text = text.replace(inspect.formatannotation(alias), name)
    text = re.sub(r"\b(?:[a-z_]\w*\.)+(?=\w)", "", text)
    return re.sub(r"'([^']* \| [^']*)'", r"\1", text).replace("'", '"')


def _default(value: object) -> str:
    match value:
        case Bound():
            return value.text.removeprefix("= ")
        case Enum():
            return f"{type(value).__name__}.{value.name}"
        case str():
            return f'"{value}"'
    return "{}" if repr(value) == "<factory>" else repr(value)
