"""DataHub, by its OpenAPI (version 3) as it is documented: datasets, and the aspects that say what is needed here."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from assay.catalog.column_types import is_column_type
from assay.catalog.profile import ChannelName, Column, LineageProfile
from assay.catalog.tellings import SourceTelling, TableTelling, UnableToReadSource

from . import places
from .documents import documented, mapping, mappings, read_document, read_pages, text_at
from .entries import ALL, bearer, check_keys
from .places import TableSteps, name_tables, replica_of
from .properties import fields_of, slack_of, tag_of
from .reading import read_each

KEYS = places.KEYS | {"url": True, "token": False, "platform": False, "env": False}
ASPECTS = (
    *("schemaMetadata", "datasetProperties", "editableDatasetProperties", "ownership", "globalTags"),
    *("upstreamLineage", "status", "subTypes"),
)
PERSON_ASPECTS = ("corpUserEditableInfo", "corpUserInfo", "corpGroupEditableInfo", "corpGroupInfo")
USER, GROUP = "urn:li:corpuser:", "urn:li:corpGroup:"
PAGE = "100"
SENSITIVE = frozenset({"pii", "sensitive"})  # tags of columns
_URN = re.compile(r"urn:li:dataset:\(urn:li:dataPlatform:([^,]+),(.+),(\w+)\)")
_OF_PATH = re.compile(r"\[[^\]]*\]\.?")  # of a path of a field: version and types


def read(entry: Mapping[str, Any], most: int = ALL) -> SourceTelling:
    """The datasets of a server, or of one ``platform`` and ``env``, or ``most`` of them; UnableToReadSource."""
    check_keys(entry, KEYS)
    url, headers, aspects = (
        f"{str(entry['url']).rstrip('/')}/openapi/v3/entity",
        bearer(entry),
        "&aspects=".join(ASPECTS),
    )
    entities = read_pages(
        f"{url}/dataset?aspects={aspects}",
        headers,
        {"systemMetadata": "false", "count": PAGE},
        items="entities",
        cursor="scrollId",
        next_page=lambda page: page.get("scrollId"),
        most=most,
    )

    def read_owner(urn: str) -> Any:
        return read_document(f"{url}/{_kind(urn)}/{quote(urn, safe='')}", headers, is_optional=True)

    owners = list(dict.fromkeys(urn for entity in entities for urn in _owners(entity)))
    return parse(entry, entities, dict(zip(owners, read_each(read_owner, owners, "owners"), strict=True)))


@documented
def parse(entry: Mapping[str, Any], entities: object, people: Mapping[str, Any] | None = None) -> SourceTelling:
    """What the entities of all pages say, and what is said of each owner, by its urn; raises UnableToReadSource.

    What was removed there is not told.
    """
    steps_by_urn: dict[str, TableSteps] = {}
    by_steps: dict[TableSteps, Mapping[str, Any]] = {}
    for entity in mappings(entities, "entities"):
        urn = text_at(entity, "urn", "an entity")
        steps = _steps(entry, urn)
        if steps is not None and not _aspect(entity, "status").get("removed") and not _is_view(entity):
            steps_by_urn[urn] = steps
            by_steps.setdefault(steps, entity)
    if not by_steps:
        raise UnableToReadSource("it names no dataset: see that its token may read them, and correct platform and env")
    names, notes = name_tables(entry, by_steps)
    read = [_table(entry, steps, by_steps[steps], name, people or {}) for steps, name in names.items()]
    full_names = {urn: ".".join(names[steps]) for urn, steps in steps_by_urn.items() if steps in names}
    edges = [
        LineageProfile(upstream=full_names[upstream], downstream=full_names[urn])
        for steps in names
        for urn in (text_at(by_steps[steps], "urn", "an entity"),)
        for upstream in _upstreams(by_steps[steps])
        if upstream in full_names and upstream != urn
    ]
    return SourceTelling(
        tables=tuple(table for table, _ in read),
        lineage=tuple(dict.fromkeys(edges)),
        notes=(*notes, *(note for _, own in read for note in own)),
    )


def _steps(entry: Mapping[str, Any], urn: str) -> TableSteps | None:
    """The steps of the name of a dataset; None where it is none that the entry asks for."""
    match = _URN.fullmatch(urn)
    if match is None:
        return None
    platform, name, env = match.groups()
    if entry.get("platform") not in (None, "", platform) or entry.get("env") not in (None, "", env):
        return None
    *database, schema, table = ["", *name.split(".")] if "." not in name else name.split(".")
    return TableSteps(database=".".join(database), schema=schema or platform, table=table)


def _aspect(entity: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """What an aspect of an entity says; an empty one where it has none."""
    aspect = entity.get(name)
    if aspect is None:
        return {}
    whole = mapping(aspect, f"{name} of {entity.get('urn')}")
    return mapping(whole.get("value"), f"the value of {name} of {entity.get('urn')}")


def _is_view(entity: Mapping[str, Any]) -> bool:
    return "View" in (_aspect(entity, "subTypes").get("typeNames") or ())


def _table(
    entry: Mapping[str, Any],
    steps: TableSteps,
    entity: Mapping[str, Any],
    name: tuple[str, str],
    people: Mapping[str, Any],
) -> tuple[TableTelling, list[str]]:
    schema, properties = _aspect(entity, "schemaMetadata"), _aspect(entity, "datasetProperties")
    listed = mappings(schema.get("fields") or [], f"fields of {steps}")
    columns = [column for field in listed if (column := _column(field, steps)) is not None]
    keys = [_plain(str(path)) for path in schema.get("primaryKeys") or ()]
    description = _aspect(entity, "editableDatasetProperties").get("description") or properties.get("description")
    tags = [tag_of(_short(tag.get("tag"))) for tag in _listed(_aspect(entity, "globalTags"), "tags")]
    replica = replica_of(entry, steps)
    own, notes = fields_of(mapping(properties.get("customProperties") or {}, "customProperties"), ".".join(name))
    owners = _owners(entity)
    fields: dict[str, Any] = {
        "owner": next(map(_short, owners), None),
        "team": next((_short(urn) for urn in owners if urn.startswith(GROUP)), None),
        "channels": _channels(people[owners[0]]) or None if owners and people.get(owners[0]) else None,
        "description": description or None,
        "columns": tuple(columns) or None,
        "primary_key": tuple(keys) or None,
        "replicas": (replica,) if replica else None,
        "tags": tuple(filter(None, tags)) or None,
    }
    return TableTelling(namespace=name[0], name=name[1], **{**fields, **own}), notes


def _owners(entity: Mapping[str, Any]) -> list[str]:
    """The urns of the people and, behind them, the groups that own a dataset; those of its data or its upkeep first."""
    owners = _listed(_aspect(entity, "ownership"), "owners")
    first = ("DATAOWNER", "TECHNICAL_OWNER", "BUSINESS_OWNER")
    owners.sort(key=lambda owner: first.index(owner["type"]) if owner.get("type") in first else len(first))
    urns = [str(owner.get("owner")) for owner in owners]
    return [urn for kind in (USER, GROUP) for urn in urns if urn.startswith(kind)]


def _kind(urn: str) -> str:
    return "corpuser" if urn.startswith(USER) else "corpgroup"


def _channels(owner: Mapping[str, Any]) -> dict[ChannelName, str]:
    """Where an owner is told: by mail, and a group in its channel of Slack. What was edited there comes first."""
    aspects = [_aspect(owner, name) for name in PERSON_ASPECTS]
    mails, slacks = ([str(aspect[key]) for aspect in aspects if aspect.get(key)] for key in ("email", "slack"))
    channels: dict[ChannelName, str] = {"email": mails[0]} if mails else {}
    if slacks and str(owner.get("urn")).startswith(GROUP):
        channels["slack"] = slack_of(slacks[0])
    return channels


def _column(field: Mapping[str, Any], steps: TableSteps) -> Column | None:
    """A column; None of a field within one."""
    name = _plain(text_at(field, "fieldPath", f"a field of {steps}"))
    if "." in name:
        return None
    type_ = str(field.get("nativeDataType") or "")
    tags = {_short(tag.get("tag")).lower() for tag in _listed(field.get("globalTags") or {}, "tags")}
    return Column(name=name, type=type_ if is_column_type(type_) else "", sensitive=bool(tags & SENSITIVE))


def _upstreams(entity: Mapping[str, Any]) -> list[str]:
    return [str(edge.get("dataset")) for edge in _listed(_aspect(entity, "upstreamLineage"), "upstreams")]


def _listed(aspect: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    return mappings(aspect.get(key) or [], key)


def _plain(path: str) -> str:
    """A path without its version and types: ``[version=2.0].[type=struct].[type=string].city`` is ``city``."""
    return _OF_PATH.sub("", path)


def _short(urn: object) -> str:
    return str(urn).split(":", 3)[-1]
