"""What signatures and docstrings say of a public name, section by section."""

import ast
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import FunctionType
from typing import Any, Self, get_args

from execution_engine.anomalies.strategies import Interval, Strategy
from execution_engine.exact import Number
from execution_engine.verification import MetricsRepository
from execution_engine.verification.checks.constrained import Constrained, Said
from execution_engine.verification.constraints.constraints import Bound, Expected, Scalar
from execution_engine.verification.constraints.histogram import HoldsOfHistogram

Parameter = inspect.Parameter
PROTOCOLS: Sequence[type] = (Strategy, MetricsRepository)  # a method of theirs is told once, for all that have it
ALIASES = {"Expected": Expected, "HoldsOfHistogram": HoldsOfHistogram, "Scalar": Scalar, "Interval": Interval}
WIDTH = 110
_SECTION = re.compile(r"(Parameters|Fields|Values|Errors|Example|Shared parameters|Shared errors):(.*)")
_ENTRY = re.compile(r"(\w+(?: or \w+)*): (.*)")


@dataclass(frozen=True, kw_only=True)
class Documented:
    """One public name: how it is called, and what its docstring says."""

    name: str
    signature: str
    wanted: frozenset[str] = frozenset()  # the parameters, fields or values that must be told
    is_called: bool = True  # else it has no errors and needs no example
    text: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    errors: Sequence[str] = ()
    example: str = ""

    @property
    def missing(self) -> list[str]:
        """What the docstring leaves untold, or tells of what is not there."""
        untold = [f"no text on {name}" for name in sorted(self.wanted - set(self.parameters))]
        stale = [f"there is no {name}" for name in sorted(set(self.parameters) - self.wanted)]
        empty = [] if self.text else ["no docstring"]
        if self.is_called:
            empty += [f"no {what}" for what, said in (("errors", self.errors), ("example", self.example)) if not said]
        return untold + stale + empty


def sections(docstring: str | None) -> dict[str, str]:
    """The text of each section by its head, without indentation; what stands under none is under an empty head."""
    found: dict[str, list[str]] = {"": []}
    head = ""
    for line in inspect.cleandoc(docstring or "").splitlines():
        start = _SECTION.fullmatch(line)
        if start:
            head, line = start[1], start[2].strip()
        elif line and not line.startswith(" "):
            head = ""
        found.setdefault(head, []).append(line)
    return {name: inspect.cleandoc("\n".join(["", *lines])).strip() for name, lines in found.items()}


def entries(text: str) -> dict[str, str]:
    """``name: what it is`` in each line; a line that is indented goes on with the one before."""
    joined = re.sub(r"\n +", " ", text)
    return {match[1]: match[2] for line in joined.splitlines() if (match := _ENTRY.fullmatch(line))}


def of_function(name: str, function: Callable[..., Any], owner: type | None = None) -> Documented:
    """A function or a method; what its class, or a protocol, says of the parameters of all counts too."""
    said, shared = sections(function.__doc__), _shared(function.__name__, owner)
    parameters = list(_parameters(function))
    told = shared["Shared parameters"] | entries(said.get("Parameters", ""))
    own = {key: text for key, text in told.items() if key in {each.name for each in parameters}}
    stale = {key: text for key, text in entries(said.get("Parameters", "")).items() if key not in own}
    returns = inspect.signature(function).return_annotation
    return Documented(
        name=name,
        signature=_call(name.split(".")[-1], parameters, owner, returns),
        wanted=frozenset(each.name for each in parameters),
        text=said[""],
        parameters={each.name: own[each.name] for each in parameters if each.name in own} | stale,
        errors=_errors(said, {key: text for key, text in shared["Shared errors"].items() if key in own}),
        example=said.get("Example", ""),
    )


def of_class(cls: type) -> Documented:
    """A class by itself: its fields, or the values of an enumeration."""
    said = sections(cls.__doc__)
    is_plain = issubclass(cls, BaseException) or bool(getattr(cls, "_is_protocol", False))
    parameters = [] if is_plain or issubclass(cls, Enum) else list(_parameters(cls))
    values = list(cls.__members__) if issubclass(cls, Enum) else [each.name for each in parameters]
    return Documented(
        name=cls.__name__,
        signature=_call(cls.__name__, parameters, cls) if parameters else f"class {cls.__name__}",
        wanted=frozenset(values),
        text=said[""],
        parameters=entries("\n".join(said.get(head, "") for head in ("Parameters", "Fields", "Values"))),
        errors=_errors(said, {}) or (("none",) if is_plain else ()),
        example=said.get("Example", ""),
    )


def of_property(name: str, of: property) -> Documented:
    """What a property gives."""
    said = sections(of.__doc__)
    kind = _type(inspect.signature(of.fget).return_annotation) if of.fget else ""
    example = said.get("Example", "")
    return Documented(name=name, signature=f"{name}: {kind}", is_called=False, text=said[""], example=example)


def of_constant(name: str, value: object, module: object) -> Documented:
    """A name of a module, with the text that stands below it."""
    body = ast.parse(inspect.getsource(module)).body  # type: ignore[arg-type]
    assigned = [isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name for node in body]
    match body[assigned.index(True) + 1]:
        case ast.Expr(value=ast.Constant(value=str() as text)):
            said = sections(text)
        case _:
            said = sections(None)
    kind = type(value).__name__
    return Documented(
        name=name, signature=f"{name}: {kind}", text=said[""], errors=("none",), example=said.get("Example", "")
    )


def members(cls: type) -> Iterator[Documented]:
    """The public methods and properties of a class and of those it is made of, as they are written."""
    for base in cls.__mro__:
        if not base.__module__.startswith("execution_engine"):
            continue
        for name, value in vars(base).items():
            if isinstance(value, property) and not name.startswith("_"):
                yield of_property(f"{cls.__name__}.{name}", value)
            elif (not name.startswith("_") or name == "__call__") and isinstance(value, FunctionType | classmethod):
                yield of_function(f"{cls.__name__}.{name}", getattr(cls, name), base)


def _shared(method: str, owner: type | None) -> dict[str, dict[str, str]]:
    """What the owner and its bases, the nearest first, or else a protocol, say of the parameters of all."""
    found: dict[str, dict[str, str]] = {"Shared parameters": {}, "Shared errors": {}}
    for base in reversed(owner.__mro__ if owner else ()):
        for head, told in found.items():
            told.update(entries(sections(base.__dict__.get("__doc__")).get(head, "")))
    for protocol in PROTOCOLS:
        names = {name for name in vars(protocol) if not name.startswith("_")}
        if owner and method in names and names <= set(dir(owner)):
            said = sections(getattr(protocol, method).__doc__)
            found["Shared parameters"] |= entries(said.get("Parameters", ""))
            found["Shared errors"] |= {"earlier": said["Errors"]} if "earlier" in said.get("Parameters", "") else {}
    return found


def _errors(said: Mapping[str, str], shared: Mapping[str, str]) -> tuple[str, ...]:
    own = entries(said.get("Errors", ""))
    told = [f"`{name.replace(' or ', '` or `')}`: {text}" for name, text in own.items()]
    plain = [said["Errors"]] if said.get("Errors") and not own else []
    return (*told, *plain, *shared.values())


def _parameters(called: Callable[..., Any]) -> Iterator[Parameter]:
    """Those that a user writes; ``**said: Unpack[Said]`` as the two that it stands for."""
    bounded = inspect.signature(Constrained.bounded).parameters
    for name, parameter in inspect.signature(called).parameters.items():
        if get_args(parameter.annotation) == (Said,):
            yield from (bounded[each] for each in sorted(Said.__annotations__, reverse=True))
        elif name != "self":
            yield parameter


def _call(name: str, parameters: Sequence[Parameter], owner: type | None, returns: object = None) -> str:
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
    text = text.replace(inspect.formatannotation(Number), "Number")
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
