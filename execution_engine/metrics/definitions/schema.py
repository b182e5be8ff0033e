"""Metrics of columns and their types: whether they are those that were promised or declared."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.catalog.column_types import ALL, SELECTIONS, in_force
from assay.time.windows import Window
from execution_engine.metrics.definition import (
    DATABASE,
    LAKE,
    NOTE,
    ArgumentType,
    DatasetFacts,
    Dimension,
    MetricDefinition,
    MetricKind,
    MetricPhrase,
    Signature,
    text_noop,
)
from execution_engine.metrics.expressions import named, parts_of, path_of
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Failure, Reason

# ``schema_match('a bigint, b string')``: 1 where every column is there with its type, else 0; others do no harm.

_SPACE = re.compile(r"\s+")
_PLAIN_FIELD = re.compile(r"`([a-z_][a-z0-9_]*)`(?=:)")
_NAMED = re.compile(r"((?:`(?:[^`]|``)+`|[^\s`])+)\s+(.*)", re.DOTALL)
_ALIASES = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint", "real": "float"}


def parse_columns(text: str) -> list[tuple[str, str]]:
    """The columns and types of a text like ``a bigint, b decimal(10, 2)``, in its order."""
    parts = [part.strip() for part in parts_of(f"{text},")] if text.strip() else []
    matches = [(part, _NAMED.fullmatch(part)) for part in parts]
    return [(named(match[1]), match[2].strip()) if match else (part, "") for part, match in matches]


def compare(promised: list[tuple[str, str]], present: Mapping[str, str]) -> dict[str, Any]:
    """What of the wanted is missing, what is of another type, and which columns were not asked for."""
    types = {name.lower(): canonical(type_) for name, type_ in present.items()}
    names = {name.lower() for name, _ in promised}
    return {
        "missing": [name for name, _ in promised if name.lower() not in types],
        "other": {
            name: types[name.lower()]
            for name, type_ in promised
            if types.get(name.lower(), canonical(type_)) != canonical(type_)
        },
        "extra": [name for name in present if name.lower() not in names and len(path_of(name)) == 1],
    }


def canonical(type_: str) -> str:
    """The type as Spark writes it."""
    text = _PLAIN_FIELD.sub(r"\1", _SPACE.sub("", type_.lower()))
    return _ALIASES.get(text, text)


SCHEMA_MATCH = MetricDefinition(
    signature=Signature(name="schema_match", arguments=(ArgumentType.TEXT,), takes_where=False),
    kind=MetricKind.COMPOUND,
    formula="1 if every column named is there with the type named, else 0",
    source="Deequ's DataSynchronization and Griffin's schema conformance; Spark's names of types",
    meaning="1 if the named columns are there with these types, else 0",
    phrase=MetricPhrase(
        noun=text_noop("the match of the columns"),
        fault=(
            text_noop("The columns were not those, or not of those types, that %(test)s names"),
            text_noop("The columns are not those, or not of those types, that %(test)s names"),
        ),
    ),
    dimension=Dimension.VALIDITY,
    problem=lambda spec: (
        None
        if (columns := parse_columns(str(spec.arguments[0]))) and all(name and type_ for name, type_ in columns)
        else "a schema is written as 'name type, name type', such as 'trip_id bigint, `order id` string'"
    ),
    taken_by={LAKE: "execution_engine.engines.spark.sources:match_schema"},
    tells_types=True,
)


# ``schema_drift()``: how many of the columns that the catalogue declares are gone, or of another type.

OF = "of"
DECLARED = "declared"
MOST_NAMED = 20  # columns in a sentence
MOST_TYPE = 80  # characters of a type in a sentence

Holds = Callable[[str, str], bool]


@dataclass(frozen=True, kw_only=True)
class SeenColumns:
    """The columns of one place, such as a file, with their types; None where the place tells a name alone."""

    place: str
    columns: Mapping[str, str | None]


@dataclass(frozen=True, kw_only=True)
class Drift:
    """A declared column that is gone (``present_type`` is None) or of another type, and the places where."""

    column: str
    declared: str
    present_type: str | None
    places: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """Which column, what was declared, what was found, where."""
        more = f" and {len(self.places) - 1} more" if len(self.places) > 1 else ""
        type_ = f"{self.declared:.{MOST_TYPE}}" or "without a type"
        change = "is gone" if self.present_type is None else f"is {self.present_type:.{MOST_TYPE}}"
        return f"column {self.column}, declared {type_}, {change} in {self.places[0]}{more}"


def drifts(declared: Iterable[tuple[str, str]], seen: Sequence[SeenColumns], holds: Holds) -> list[Drift]:
    """What differs of the declared columns (name and type), each by the first way in which it does.

    Gone weighs more than changed: a reader fails there at once.
    """
    places = [(place.place, {name.lower(): type_ for name, type_ in place.columns.items()}) for place in seen]
    results: list[Drift] = []
    for name, type_ in declared:
        if gone := [place for place, columns in places if name.lower() not in columns]:
            results.append(Drift(column=name, declared=type_, present_type=None, places=tuple(gone)))
            continue
        types = [(place, columns[name.lower()]) for place, columns in places]
        changed = [(place, present) for place, present in types if present is not None and not holds(type_, present)]
        if changed:
            changed_places = tuple(place for place, _ in changed)
            results.append(Drift(column=name, declared=type_, present_type=changed[0][1], places=changed_places))
    return results


def detail_of(results: Sequence[Drift]) -> dict[str, Any]:
    """What a measurement tells beside how many there are."""
    if not results:
        return {}
    more = [f"{len(results) - MOST_NAMED} more columns"] if len(results) > MOST_NAMED else []
    return {
        "gone": [drift.column for drift in results if drift.present_type is None],
        "changed": {drift.column: drift.present_type for drift in results if drift.present_type is not None},
        NOTE: "; ".join([*(drift.sentence for drift in results[:MOST_NAMED]), *more]),
    }


def declared_text(columns: Iterable[tuple[str, str]]) -> str:
    """The columns (name and type) as the option ``declared`` takes them, whatever is in a name or a type: JSON."""
    return json.dumps([[name, type_] for name, type_ in columns], ensure_ascii=False)


def declared_of(spec: MetricSpec) -> list[tuple[str, str]] | None:
    """The columns that a call is held to, by name and type; None where it leaves them to the catalogue."""
    if (option := spec.option(DECLARED)) is None:
        return None
    text = str(option)
    return [(name, type_) for name, type_ in json.loads(text)] if text.startswith("[[") else parse_columns(text)


def _held_to(spec: MetricSpec, of: DatasetFacts, partition: Window | None) -> MetricSpec | Failure:
    """With the columns that a dataset is held to, in a partition only those declared before it began."""
    if spec.option(DECLARED) is not None:
        return spec
    options = dict(spec.options)
    which = str(options.pop(OF, ALL))
    columns = in_force(of.declared, which, begins=partition.start if partition else None)
    if not columns:
        if partition is not None and in_force(of.declared, which):
            detail = f"{partition.text} began before the columns of {of.name} were declared as they are"
            return Failure(reason=Reason.NOT_DUE, detail=detail)
        group = "" if which == ALL else f" of its {which}"
        return Failure(reason=Reason.INVALID, detail=f"{of.name} declares no columns{group}: add them to its metadata.")
    options[DECLARED] = declared_text((column.name, column.type) for column in columns)
    return replace(spec, options=tuple(sorted(options.items())))


def _declaration_problem(spec: MetricSpec) -> str | None:
    if (of := spec.option(OF, ALL)) not in SELECTIONS:
        return f"{OF}= is one of {', '.join(SELECTIONS)}, not {of}"
    declared = declared_of(spec)
    if declared is None or (declared and all(name for name, _ in declared)):
        return None
    return f"{DECLARED}= is written as 'name type, name type', such as 'trip_id bigint, city string'"


SCHEMA_DRIFT = MetricDefinition(
    signature=Signature(
        name="schema_drift", options={OF: ArgumentType.TEXT, DECLARED: ArgumentType.TEXT}, takes_where=False
    ),
    kind=MetricKind.COMPOUND,
    formula="how many of the declared columns are gone or of a type that has no room for the declared one",
    source="DataWorks' and Soda's schema checks; Iceberg's rules of what a type may be widened to",
    meaning="how many declared columns are gone or of another type",
    phrase=MetricPhrase(noun=text_noop("the number of declared columns that are gone or of another type")),
    dimension=Dimension.VALIDITY,
    problem=_declaration_problem,
    taken_by={
        LAKE: "execution_engine.engines.spark.sources:find_drift",
        DATABASE: "execution_engine.engines.sql.engine:find_drift",
    },
    tells_types=True,
    held_to=_held_to,
    zero_if_empty=True,
)
