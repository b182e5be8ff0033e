"""Properties ``assay.…`` of a table, by which its owners say in their own catalog what Assay should know (pure)."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from assay.catalog.profile import SLAS, PartitionProfile
from assay.catalog.yaml.parts import DatasetPart, PartitionPart, SlaPart

PREFIX = "assay."
_SLACK = re.compile(r"#.+|[CDGUW][A-Z0-9]{8,20}")
NAMES = (
    *("owner", "team", "channels", "tier", "description", "primary_key", "tags", "sustain", "grace"),
    *("severity", "catch_up", "retention", "allow_empty", "novelty", "inferred_schema"),
)
NESTED = frozenset({"channels", "partition"})  # of which each key is a property of its own
LISTS = frozenset({"primary_key", "tags"})  # which may be one text, with commas
OTHER_NAMES = {"unique": "primary_key"}  # as Spark hides the values of properties that have "key" in their names
_FIELDS = {name: DatasetPart.model_fields[name] for name in NAMES} | {name: SlaPart.model_fields[name] for name in SLAS}
_ADAPTERS: dict[str, TypeAdapter[Any]] = {
    **{name: TypeAdapter(field.rebuild_annotation()) for name, field in _FIELDS.items()},
    "partition": TypeAdapter(PartitionPart),
}


def fields_of(properties: Mapping[str, Any], place: str) -> tuple[dict[str, Any], list[str]]:
    """The fields of a telling that properties say, and a sentence for each that says nothing usable.

    ``assay.tier: 1``, or the same nested, ``assay: {tier: 1}``; values may be texts. Others are left alone.
    """
    values: dict[str, Any] = {}
    for name, value in _flat(properties):
        part, _, key = OTHER_NAMES.get(name, name).partition(".")
        if key and isinstance(values.setdefault(part, {}), dict):
            values[part][key] = value
        else:
            values[part] = value
    fields: dict[str, Any] = {}
    notes: list[str] = []
    for name, value in values.items():
        if name not in _ADAPTERS:
            notes.append(f"{place}: {PREFIX}{name} is no property here; there are {', '.join(sorted(_ADAPTERS))}")
            continue
        if name in LISTS and isinstance(value, str):
            value = [item.strip() for item in value.split(",") if item.strip()]
        try:
            read = _ADAPTERS[name].validate_python(value)
        except ValidationError as error:
            wrong = error.errors()[0]
            path = ".".join(map(str, (name, *wrong["loc"])))
            notes.append(f"{place}: {PREFIX}{path} is {wrong['input']!r:.60}: {wrong['msg']}; it is left out")
            continue
        is_partition = isinstance(read, PartitionPart)
        fields[name] = (
            PartitionProfile(**dict(read)) if is_partition else tuple(read) if isinstance(read, list) else read
        )
    return fields, notes


def _flat(properties: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The properties of ours without their prefix, a nested one by its path."""
    for name, value in properties.items():
        if name == PREFIX.rstrip(".") and isinstance(value, Mapping):
            for inner, part in value.items():
                if inner in NESTED and isinstance(part, Mapping):
                    yield from ((f"{inner}.{key}", text) for key, text in part.items())
                else:
                    yield str(inner), part
        elif isinstance(name, str) and name.startswith(PREFIX):
            yield name.removeprefix(PREFIX), value


def slack_of(text: str) -> str:
    """A channel of Slack as Assay writes it, from its name with or without ``#``, or its id."""
    return text if _SLACK.fullmatch(text) else f"#{text}"


def tag_of(text: str) -> str:
    """A tag as Assay writes them, from one of another source: lower case, and a dash for what no tag may hold."""
    letters = [
        letter if letter.isascii() and (letter.isalnum() or letter in "_.:-") else "-" for letter in text.lower()
    ]
    return "".join(letters).lstrip("_.:-")[:40]
