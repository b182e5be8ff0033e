"""What sources tell of tables: how what several tell of one table merges, and where each field comes from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from typing import Any

from pydantic import TypeAdapter

from .profile import (
    NO_PARTITION,
    SLAS,
    BusinessMetricDefinition,
    ChannelName,
    Column,
    CustomProfile,
    DatasetProfile,
    GateOn,
    LineageProfile,
    PartitionProfile,
    ReplicaProfile,
    SlaProfile,
    UnknownPolicy,
)
from .tiers import CatchUp, Severity

# What a source tells.


@dataclass(frozen=True, kw_only=True)
class TableTelling:
    """What one source tells of one table, or business metric; None where it does not say."""

    namespace: str
    name: str
    owner: str | None = None
    team: str | None = None
    channels: Mapping[ChannelName, str] | None = None
    tier: int | None = None
    description: str | None = None
    columns: tuple[Column, ...] | None = None
    primary_key: tuple[str, ...] | None = None
    partition: PartitionProfile | None = None
    replicas: tuple[ReplicaProfile, ...] | None = None
    freshness: timedelta | None = None
    completeness: float | None = None
    duplicates: float | None = None
    consistency: float | None = None
    unpartitioned: float | None = None
    sustain: timedelta | None = None
    grace: timedelta | None = None
    severity: Severity | None = None
    catch_up: CatchUp | None = None
    allow_empty: bool | None = None
    novelty: bool | None = None
    inferred_schema: bool | None = None
    retention: timedelta | None = None
    gate_on: GateOn | None = None
    unknown_policy: UnknownPolicy | None = None
    readers: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    business_metric: BusinessMetricDefinition | None = None
    place: str = field(default="", compare=False)  # where it is told, as in DatasetProfile

    @property
    def full_name(self) -> str:
        """The name of its dataset."""
        return f"{self.namespace}.{self.name}"

    @property
    def values(self) -> dict[str, Any]:
        """What it says, by field."""
        return {name: value for name in FIELDS if (value := getattr(self, name)) is not None}


FIELDS = tuple(f.name for f in fields(TableTelling) if f.name not in ("namespace", "name", "place"))
REQUIRED = ("owner", "tier", "replicas")  # without which a table is no dataset
_JSON = TypeAdapter(TableTelling)


@dataclass(frozen=True, kw_only=True)
class SourceTelling:
    """All that one source tells."""

    tables: tuple[TableTelling, ...] = ()
    lineage: tuple[LineageProfile, ...] = ()
    custom: tuple[CustomProfile, ...] = ()
    notes: tuple[str, ...] = ()  # sentences for people, on what it says that cannot be used
    unread: tuple[str, ...] = ()  # tables that are there and cannot be read now: what was told of them stays


class UnableToReadSource(Exception):
    """A source did not answer, or with half of what it should; one sentence says what, where, and how to mend it."""


def telling_of(profile: DatasetProfile) -> TableTelling:
    """What a profile says: the fields that are not as they are where nothing is said."""
    flat = {name: getattr(profile, name) for name in FIELDS if name not in SLAS} | vars(profile.slas)
    stated = {name: value for name, value in flat.items() if value not in (None, {}, _SILENT.get(name))}
    return TableTelling(namespace=profile.namespace, name=profile.name, place=profile.place, **stated)


_SILENT = {f.name: f.default for f in fields(DatasetProfile)} | {"tier": None}


def fields_as_json(telling: TableTelling) -> dict[str, Any]:
    """What it says, by field, as a JSON object that ``fields_from_json`` reads back."""
    return _JSON.dump_python(telling, mode="json", include=set(telling.values), exclude_none=True, warnings=False)  # type: ignore[no-any-return]


def fields_from_json(namespace: str, name: str, values: Mapping[str, Any]) -> TableTelling:
    """The telling whose fields ``fields_as_json`` wrote; raises pydantic's ValidationError for others."""
    return _JSON.validate_python({"namespace": namespace, "name": name, **values})


def since_of(
    values: Mapping[str, Any], stored: Mapping[str, Any], since: Mapping[str, str], *, now: str
) -> dict[str, str]:
    """Since when a source says each of its ``values`` as it does, where it said ``stored`` before."""
    return {name: since.get(name, now) if stored.get(name) == value else now for name, value in values.items()}


# Who goes before whom.

CORRECTION = "correction"  # the source of what people correct
OPENLINEAGE = "openlineage"  # that of events
QUERY = "query"  # that of queries, which name tables and say no more of them
DEFAULT = "default"  # the origin of what a provider's entry gives where no source says it


def precedence(source: str, providers: Sequence[str]) -> int:
    """The place of a source among all: the field of the lowest counts.

    A person's correction comes first, then catalog files and pushes, of which one alone may tell of a dataset, then the
    providers as the operator lists them, then events, then queries.
    """
    if source == CORRECTION:
        return 0
    if source in (OPENLINEAGE, QUERY):
        return 2 + len(providers) + (source == QUERY)
    return 2 + providers.index(source) if source in providers else 1


# What it comes to.


@dataclass(frozen=True, kw_only=True)
class SourcedTelling:
    """What a source tells of one table, and since when it says each field so, as ISO instants."""

    source: str
    telling: TableTelling
    since: Mapping[str, str] = field(default_factory=dict)


Origins = dict[str, tuple[str, str]]  # field → its source, and since when that says so


@dataclass(frozen=True, kw_only=True)
class Merged:
    """What several sources come to: a dataset's profile, or None with the fields that it still lacks."""

    profile: DatasetProfile | None
    origins: Origins
    lacking: tuple[str, ...] = ()


def merge(tellings: Sequence[SourcedTelling], defaults: Mapping[str, Any] | None = None) -> Merged:
    """Each field as the first source has it that says it; ``tellings`` are of one table, in order of precedence.

    ``defaults`` fill in what none says. Channels are those of the owner whom the same source names. A column that any
    source marks as sensitive is sensitive.
    """
    values: dict[str, Any] = {}
    origins: Origins = {}
    for sourced in tellings:
        for name, value in sourced.telling.values.items():
            if name not in values and not (name == "channels" and _names_another_owner(sourced.telling, values)):
                values[name] = value
                origins[name] = sourced.source, sourced.since.get(name, "")
    for name, value in (defaults or {}).items():
        if name in FIELDS and name not in values:
            values[name] = value
            origins[name] = DEFAULT, ""
    lacking = tuple(name for name in REQUIRED if values.get(name) in (None, "", ()))
    if lacking:
        return Merged(profile=None, origins=origins, lacking=lacking)
    first = tellings[0].telling
    if values.get("partition") == NO_PARTITION:
        values["partition"] = None
    values["columns"] = _marked(values.get("columns", ()), [sourced.telling for sourced in tellings])
    slas = SlaProfile(**{name: values.pop(name) for name in SLAS if name in values})
    profile = DatasetProfile(namespace=first.namespace, name=first.name, place=first.place, slas=slas, **values)
    return Merged(profile=profile, origins=origins)


def _names_another_owner(telling: TableTelling, values: Mapping[str, Any]) -> bool:
    """Whether a telling's channels are those of another owner than a source before it names."""
    return telling.owner not in (None, values.get("owner", telling.owner))


def _marked(columns: tuple[Column, ...], tellings: Sequence[TableTelling]) -> tuple[Column, ...]:
    """The columns, sensitive where any telling marks one of that name; one that is only marked is added."""
    marked = {c.name.casefold(): c for telling in tellings for c in telling.columns or () if c.sensitive}
    names = {column.name.casefold() for column in columns}
    listed = tuple(replace(column, sensitive=column.name.casefold() in marked) for column in columns)
    return (*listed, *(column for name, column in marked.items() if name not in names))
