"""``schema_match('a bigint, b string')``: 1 where every column is there with its type, else 0; others do no harm."""

import re
from collections.abc import Mapping
from typing import Any

from execution_engine.metrics.columns import named, parts_of, path_of
from execution_engine.metrics.definition import LAKE, Kind, MetricDefinition
from execution_engine.metrics.dimensions import Dimension
from execution_engine.metrics.signature import ArgumentType, Signature
from execution_engine.metrics.spec import MetricSpec

_SPACE = re.compile(r"\s+")
_PLAIN_FIELD = re.compile(r"`([a-z_][a-z0-9_]*)`(?=:)")
_NAMED = re.compile(r"((?:`(?:[^`]|``)+`|[^\s`])+)\s+(.*)", re.DOTALL)
_ALIASES = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint", "real": "float"}


def _problem(spec: MetricSpec) -> str | None:
    said = wanted_columns(str(spec.arguments[0]))
    if said and all(name and type_ for name, type_ in said):
        return None
    return "a schema is written as 'name type, name type', such as 'trip_id bigint, `order id` string'"


def wanted_columns(text: str) -> list[tuple[str, str]]:
    """The columns and types of a text like ``a bigint, b decimal(10, 2)``, in its order."""
    return [_column(part.strip()) for part in parts_of(f"{text},")] if text.strip() else []


def compare(wanted: list[tuple[str, str]], found: Mapping[str, str]) -> dict[str, Any]:
    """What of the wanted is missing, what is of another type, and which columns were not asked for."""
    types = {name.lower(): canonical(type_) for name, type_ in found.items()}
    names = {name.lower() for name, _ in wanted}
    return {
        "missing": [name for name, _ in wanted if name.lower() not in types],
        "other": {
            name: types[name.lower()]
            for name, type_ in wanted
            if name.lower() in types and types[name.lower()] != canonical(type_)
        },
        "extra": [name for name in found if name.lower() not in names and len(path_of(name)) == 1],
    }


def canonical(type_: str) -> str:
    """The type as Spark writes it."""
    text = _PLAIN_FIELD.sub(r"\1", _SPACE.sub("", type_.lower()))
    return _ALIASES.get(text, text)


def _column(part: str) -> tuple[str, str]:
    found = _NAMED.fullmatch(part)
    return (named(found[1]), found[2].strip()) if found else (part, "")


SCHEMA_MATCH = MetricDefinition(
    signature=Signature(name="schema_match", arguments=(ArgumentType.TEXT,), takes_where=False),
    kind=Kind.COMPOUND,
    formula="1 if every column named is there with the type named, else 0",
    source="Deequ's DataSynchronization and Griffin's schema conformance; Spark's names of types",
    meaning="1 if the named columns are there with these types, else 0",
    dimension=Dimension.VALIDITY,
    problem=_problem,
    taken_by={LAKE: "execution_engine.engines.spark.sources.schema_metrics:match_schema"},
    tells_types=True,
)
