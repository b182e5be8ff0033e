"""OpenMetadata, by its REST as it is documented: tables with their columns, owners, tags, constraints and lineage."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from assay.catalog.column_types import is_column_type
from assay.catalog.profile import Column, LineageProfile, PartitionProfile
from assay.catalog.tellings import SourceTelling, TableTelling, UnableToReadSource
from assay.time.windows import Granularity

from . import places
from .documents import documented, mapping, mappings, read_document, read_pages, text_at
from .entries import ALL, bearer, check_keys, time_zone
from .places import TableSteps, name_tables, replica_of
from .properties import tag_of
from .reading import read_each

KEYS = places.KEYS | {"url": True, "token": False, "service": False, "lineage": False}
FIELDS = "columns,owners,tags,tableConstraints,tablePartition"
PAGE = "100"
SENSITIVE = "PII.Sensitive"
TIER = "Tier.Tier"  # before its number, 1 to 5
KINDS = ("user", "team")  # of owners
VIEWS = frozenset({"View", "SecureView"})
GRANULARITIES = {cut.value.upper(): cut for cut in Granularity}


def read(entry: Mapping[str, Any], most: int = ALL) -> SourceTelling:
    """The tables of a server, or of one ``service``; with ``lineage`` what flows into each. UnableToReadSource."""
    check_keys(entry, KEYS)
    url, headers = f"{str(entry['url']).rstrip('/')}/api/v1", bearer(entry)
    totals: list[object] = []

    def next_page(page: Mapping[str, Any]) -> object:
        paging = mapping(page.get("paging"), "paging")
        totals.append(paging.get("total"))
        return paging.get("after")

    tables = read_pages(
        f"{url}/tables",
        headers,
        {"limit": PAGE, "fields": FIELDS},
        items="data",
        cursor="after",
        next_page=next_page,
        most=most,
    )
    if isinstance(totals[-1], int) and len(tables) < min(totals[-1], most):
        raise UnableToReadSource(f"{url}/tables gives {len(tables)} of {totals[-1]} tables: read it again later")

    def read_lineage(name: str) -> Any:
        place = f"{url}/lineage/table/name/{quote(name, safe='')}?upstreamDepth=1&downstreamDepth=0"
        return read_document(place, headers)

    def read_owner(owner: tuple[str, str]) -> Any:
        return read_document(f"{url}/{owner[0]}s/name/{quote(owner[1], safe='')}", headers, is_optional=True)

    chosen = [table for table in tables if entry.get("service") in (None, "", _steps(table)[0])]
    names = [text_at(table, "fullyQualifiedName", "a table") for table in chosen] if entry.get("lineage") else []
    lineage = dict(zip(names, read_each(read_lineage, names, "lineage"), strict=True))
    owners = list(dict.fromkeys(owner for table in chosen for owner in _owners(table)))
    people = dict(zip(owners, read_each(read_owner, owners, "owners"), strict=True))
    return parse(entry, tables, lineage, people)


@documented
def parse(
    entry: Mapping[str, Any],
    tables: object,
    lineage: Mapping[str, Any],
    people: Mapping[tuple[str, str], Any] | None = None,
) -> SourceTelling:
    """What the tables of all pages say, what flows into each, by its name, and what is said of each owner.

    Raises UnableToReadSource.
    """
    by_steps: dict[TableSteps, Mapping[str, Any]] = {}
    services = entry.get("service")
    for table in mappings(tables, "tables"):
        service, steps = _steps(table)
        if table.get("tableType") not in VIEWS and services in (None, "", service):
            by_steps[steps] = table
    if not by_steps:
        raise UnableToReadSource("it names no table: see that its token may read tables, and correct service")
    names, notes = name_tables(entry, by_steps)
    by_name = {str(by_steps[steps]["fullyQualifiedName"]): ".".join(name) for steps, name in names.items()}
    edges = [
        LineageProfile(upstream=by_name[upstream], downstream=by_name[own])
        for own, answer in lineage.items()
        for upstream in _upstreams(answer, own)
        if own in by_name and upstream in by_name and upstream != own
    ]
    return SourceTelling(
        tables=tuple(_table(entry, steps, by_steps[steps], name, people or {}) for steps, name in names.items()),
        lineage=tuple(dict.fromkeys(edges)),
        notes=tuple(notes),
    )


def _steps(table: Mapping[str, Any]) -> tuple[str, TableSteps]:
    """The service of a table, and the steps of its name: what it says of each, or else its full name."""
    whole, name = text_at(table, "fullyQualifiedName", "a table"), text_at(table, "name", "a table")
    by_whole = whole.split(".") if whole.count(".") == 3 else ["", "", "", ""]
    service, database, schema = (
        str((table.get(part) or {}).get("name") or step)
        for part, step in zip(("service", "database", "databaseSchema"), by_whole, strict=False)
    )
    return service, TableSteps(database=database, schema=schema, table=name)


def _table(
    entry: Mapping[str, Any],
    steps: TableSteps,
    table: Mapping[str, Any],
    name: tuple[str, str],
    people: Mapping[tuple[str, str], Any],
) -> TableTelling:
    columns, owners = mappings(table.get("columns") or [], f"columns of {steps}"), _owners(table)
    mails = [str(mail) for owner in owners if (mail := (people.get(owner) or {}).get("email"))]
    tags = _tags(table)
    tiers = [int(tag.removeprefix(TIER)) for tag in tags if tag.startswith(TIER) and tag[len(TIER) :].isdecimal()]
    replica = replica_of(entry, steps)
    return TableTelling(
        namespace=name[0],
        name=name[1],
        owner=next((owner for _, owner in owners), None),
        team=next((owner for kind, owner in owners if kind == "team"), None),
        channels={"email": mails[0]} if mails else None,
        tier=tiers[0] if tiers and 0 <= tiers[0] <= 5 else None,
        description=table.get("description") or None,
        columns=tuple(_column(column, steps) for column in columns) or None,
        primary_key=_primary_key(table, columns),
        partition=_partition(table, time_zone(entry)),
        replicas=(replica,) if replica else None,
        tags=tuple(filter(None, (tag_of(tag) for tag in tags if not tag.startswith(TIER)))) or None,
    )


def _owners(table: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The kind and the name of each owner, people before teams."""
    listed = table.get("owners") or ([table["owner"]] if table.get("owner") else [])
    owners = mappings(listed, f"owners of {table.get('fullyQualifiedName')}")
    return [(kind, str(owner.get("name"))) for kind in KINDS for owner in owners if owner.get("type") == kind]


def _column(column: Mapping[str, Any], steps: TableSteps) -> Column:
    type_ = str(column.get("dataTypeDisplay") or column.get("dataType") or "").lower()
    return Column(
        name=text_at(column, "name", f"a column of {steps}"),
        type=type_ if is_column_type(type_) else "",
        sensitive=SENSITIVE in _tags(column),
    )


def _tags(item: Mapping[str, Any]) -> list[str]:
    return [str(tag.get("tagFQN")) for tag in item.get("tags") or () if isinstance(tag, Mapping) and tag.get("tagFQN")]


def _primary_key(table: Mapping[str, Any], columns: list[Mapping[str, Any]]) -> tuple[str, ...] | None:
    for constraint in table.get("tableConstraints") or ():
        if isinstance(constraint, Mapping) and constraint.get("constraintType") == "PRIMARY_KEY":
            return tuple(map(str, constraint.get("columns") or ())) or None
    return tuple(str(column["name"]) for column in columns if column.get("constraint") == "PRIMARY_KEY") or None


def _partition(table: Mapping[str, Any], zone: str) -> PartitionProfile | None:
    """The first column that cuts the table by an interval of time."""
    for column in (table.get("tablePartition") or {}).get("columns") or ():
        granularity = GRANULARITIES.get(str(column.get("interval")).upper())
        if granularity and column.get("intervalType") == "TIME-UNIT" and column.get("columnName"):
            return PartitionProfile(column=str(column["columnName"]), granularity=granularity, time_zone=zone)
    return None


def _upstreams(answer: Any, name: str) -> list[str]:
    """The full names of the tables of which edges lead to a table."""
    if answer is None:
        return []
    lineage = mapping(answer, f"the lineage of {name}")
    nodes = [mapping(lineage.get("entity"), f"the entity of {name}"), *mappings(lineage.get("nodes") or [], "nodes")]
    by_id = {str(node.get("id")): str(node.get("fullyQualifiedName")) for node in nodes}
    edges = mappings(lineage.get("upstreamEdges") or [], f"upstreamEdges of {name}")
    return [by_id[key] for edge in edges if (key := _id(edge.get("fromEntity"))) in by_id]


def _id(end: object) -> str:
    """The id of an end of an edge, which is written as itself or in an object."""
    return str(end.get("id")) if isinstance(end, Mapping) else str(end)
