"""Values of a profile as a catalog file has them, and back: the shape in which people read and correct them."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import timedelta
from enum import Enum
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from assay.catalog.profile import NO_PARTITION, SLAS, Column, PartitionProfile, ReplicaProfile
from assay.time.durations import format_duration

from .parts import DatasetPart
from .profiles import YamlParts, relative_locations, to_profile
from .provider import sentence_of

SECTION = "slas"
KEYS = (  # what people call the fields of a dataset
    *(name for name in DatasetPart.model_fields if name not in ("name", SECTION)),
    *(f"{SECTION}.{name}" for name in SLAS),
)
NONE = "none"  # what a correction says of the partition of a dataset that has none
_UNSAID = {"owner": "x", "tier": 5, "replicas": [{"datacenter": "x", "storage": "table", "location": "x"}]}

Fault = tuple[str, str]  # the place of a value, and a sentence that says how to mend it


class UnableToReadValues(ValueError):
    """Values that no catalog file could have, with every fault."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("; ".join(f"{place}: {sentence}" for place, sentence in faults))
        self.faults = tuple(faults)


def key_of(field: str) -> str:
    """What people call a field of a telling, such as ``slas.freshness``."""
    return f"{SECTION}.{field}" if field in SLAS else field


def field_of(key: str) -> str:
    """The field of a telling that people call so."""
    return key.removeprefix(f"{SECTION}.")


def values_by_key(patch: Mapping[str, Any]) -> dict[str, Any]:
    """What a patch of a dataset says, by what people call each field."""
    section = patch.get(SECTION)
    nested = section if isinstance(section, Mapping) else {}
    values = {key: value for key, value in patch.items() if key != SECTION}
    return values | {f"{SECTION}.{name}": value for name, value in nested.items()}


def read_values(name: str, patch: Mapping[str, Any]) -> dict[str, Any]:
    """What a patch of a dataset says, by the fields of a telling; None where it takes a value back.

    A patch has the keys of a dataset in a catalog file; a partition may be ``NONE``. Raises UnableToReadValues.
    """
    values = values_by_key(patch)
    if patch.get("partition") == NONE:
        others = read_values(name, {key: value for key, value in patch.items() if key != "partition"})
        return {**others, "partition": NO_PARTITION}
    document: dict[str, Any] = {key: value for key, value in patch.items() if value is not None}
    if isinstance(section := patch.get(SECTION), Mapping):
        document[SECTION] = {key: value for key, value in section.items() if value is not None}
    faults = [
        (key, f"is no field that can be corrected; known here: {', '.join(KEYS)}")
        for key, value in values.items()
        if key == "name" or (value is None and key not in KEYS)
    ]
    if section is None and SECTION in patch:
        faults.append((SECTION, "write a mapping such as {freshness: null}"))
    try:
        part = DatasetPart.model_validate({**_UNSAID, **document, "name": name})
    except ValidationError as error:
        faults += [(".".join(map(str, item["loc"])), sentence_of(item, DatasetPart)) for item in error.errors()]
        raise UnableToReadValues(faults) from None
    if faults := [*faults, *relative_locations(part)]:
        raise UnableToReadValues(faults)
    parts = YamlParts(datasets={0: part}, lineage={}, tests={}, names=[name])
    (profile,) = to_profile(parts, lambda _: Path("/")).datasets
    flat = vars(profile) | vars(profile.slas)
    return {field_of(key): None if value is None else flat[field_of(key)] for key, value in values.items()}


def as_written(field: str, value: Any) -> Any:
    """The value of a field of a profile, or of a telling, as a catalog file has it, of JSON's types."""
    if value == NO_PARTITION:
        return NONE
    if field == "columns":
        return {column.name: _written_column(column) for column in value}
    return _written(value)


def _written_column(column: Column) -> Any:
    return {"type": column.type, "sensitive": True} if column.sensitive else column.type


def _written(value: Any) -> Any:
    match value:
        case timedelta():
            return format_duration(value)
        case Enum():
            return value.value
        case list() | tuple():
            return [_written(item) for item in value]
        case Mapping():
            return {name: _written(item) for name, item in value.items()}
        case PartitionProfile() | ReplicaProfile():
            stated = {field.name: (getattr(value, field.name), field.default) for field in fields(value)}
            return {name: _written(own) for name, (own, default) in stated.items() if own not in (default, {})}
    return value
