"""A dbt project, by what dbt writes: ``manifest.json``, and ``catalog.json`` and ``sources.json`` where they are there.

Models, sources, seeds and snapshots are tables; what lies nowhere, as an ephemeral model, is passed through by lineage.
"""

import os.path
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Any

from assay.catalog.column_types import is_column_type
from assay.catalog.partitions import first_partition
from assay.catalog.profile import ChannelName, Column, CustomProfile, LineageProfile, PartitionProfile, ReplicaProfile
from assay.catalog.sql_columns import columns_of_query, dialect_named, table_named
from assay.catalog.tellings import SourceTelling, TableTelling, UnableToReadSource
from assay.catalog.tiers import Severity
from assay.time.stored_times import Holds
from assay.time.windows import Granularity

from . import places
from .dbt_tests import UnableToTranslate, translate
from .documents import HTTP, documented, mapping, mappings, read_document
from .entries import ALL, bearer, check_keys, time_zone
from .places import TableSteps, leave_out_doubles, name_tables, replica_of
from .properties import fields_of, slack_of, tag_of

KEYS = places.KEYS | {"target": True, "project": False, "token": False}
VERSIONS = range(7, 13)  # of manifests: those of dbt 1.3 to 1.11
TABLES = frozenset({"model", "source", "seed", "snapshot"})
PERIODS = {"minute": "minutes", "hour": "hours", "day": "days"}
_FILE = re.compile(r"[^'\"()*]+?(\.(?P<suffix>parquet|csv|json))?")  # no call of a function, and no glob
_VERSION = re.compile(r"/(\w+)/v(\d+)\.json$")

Node = Mapping[str, Any]


def read(entry: Mapping[str, Any], most: int = ALL) -> SourceTelling:  # its documents name all at once
    """What a project says; ``target`` is the folder, or the address, of its documents. Raises UnableToReadSource."""
    check_keys(entry, KEYS)
    target = str(entry["target"]).rstrip("/")
    headers = bearer(entry)
    documents = {"manifest": read_document(f"{target}/manifest.json", headers)}
    for name in ("catalog", "sources"):
        documents[name] = read_document(f"{target}/{name}.json", headers, is_optional=True)
    return parse(entry, **documents)


@documented
def parse(entry: Mapping[str, Any], manifest: Any, catalog: Any = None, sources: Any = None) -> SourceTelling:
    """What the documents say; raises UnableToReadSource where one is none, or is half of one."""
    project = Project(
        entry=entry,
        nodes=_nodes(manifest),
        groups=mapping(manifest.get("groups") or {}, "groups of manifest.json"),
        exposures=mapping(manifest.get("exposures") or {}, "exposures of manifest.json"),
        adapter=str(mapping(manifest["metadata"], "metadata of manifest.json").get("adapter_type") or ""),
        stored=_stored(catalog),
        criteria=_criteria(sources),
    )
    if not project.steps:
        raise UnableToReadSource(
            "manifest.json names no table: let dbt write it again, with `dbt parse` or `dbt build`"
        )
    return project.telling()


@dataclass(frozen=True, kw_only=True)
class Project:
    """What dbt knows of a project: its nodes and sources by their ids, and what the database has of them."""

    entry: Mapping[str, Any]
    nodes: Mapping[str, Node]
    groups: Mapping[str, Node]
    exposures: Mapping[str, Node]
    adapter: str
    stored: Mapping[str, Node]
    criteria: Mapping[str, Node]

    @cached_property
    def steps(self) -> dict[str, TableSteps]:
        """The tables that lie somewhere, by their ids."""
        tables = {key: _steps(node) for key, node in self.nodes.items() if node.get("resource_type") in TABLES}
        return {key: steps for key, steps in tables.items() if self._lies_somewhere(self.nodes[key], steps)}

    @cached_property
    def names(self) -> dict[str, tuple[str, str]]:
        """The namespace and name of the dataset of each table that the entry selects."""
        return self._named[0]

    @cached_property
    def _named(self) -> tuple[dict[str, tuple[str, str]], list[str]]:
        """The names by ids, and what cannot be named; ``meta: {assay: mart.sales}`` is a name of one's own."""
        names, notes = name_tables(
            self.entry, dict.fromkeys(self.steps[key] for key in self.steps if not self._own(key))
        )
        named: dict[str, tuple[str, str]] = {}
        for key, steps in self.steps.items():
            if own := self._own(key):
                own_names, own_notes = name_tables({**self.entry, "dataset": own}, [steps])
                if steps in own_names:
                    named[key] = own_names[steps]
                notes += own_notes
            elif steps in names:
                named[key] = names[steps]
        return named, notes

    def _own(self, key: str) -> str:
        own = self._meta(key).get("assay")
        return own if isinstance(own, str) else ""

    def _meta(self, key: str) -> dict[str, Any]:
        node = self.nodes[key]
        return {**_dict(node.get("source_meta")), **_dict(node.get("meta")), **_dict(_config(node, "meta"))}

    def telling(self) -> SourceTelling:
        """All that is known of the project."""
        read = {key: self._table(key) for key in self.names}
        tables, doubled = leave_out_doubles((self.steps[key], table) for key, (table, _) in read.items())
        custom, of_tests = self._custom({key: table.primary_key or () for key, (table, _) in read.items()})
        of_tables = [note for _, notes_of_table in read.values() for note in notes_of_table]
        return SourceTelling(
            tables=tables,
            lineage=tuple(dict.fromkeys(self._lineage())),
            custom=tuple(custom),
            notes=(*self._named[1], *of_tables, *doubled, *of_tests),
        )

    def _lies_somewhere(self, node: Node, steps: TableSteps) -> bool:
        """A view lies in a database alone, and an ephemeral model nowhere."""
        materialized = _config(node, "materialized")
        if materialized != "view":
            return bool(materialized != "ephemeral")
        replica = replica_of(self.entry, steps)
        return replica is not None and replica.storage in ("sql", "table")

    def _table(self, key: str) -> tuple[TableTelling, list[str]]:
        node = self.nodes[key]
        namespace, name = self.names[key]
        meta = self._meta(key)
        properties, notes = fields_of(meta, f"{namespace}.{name}")
        group = self.groups.get(f"group.{node.get('package_name')}.{node.get('group') or _config(node, 'group')}", {})
        replica = self._replica(key)
        tags = [*(node.get("tags") or ()), *self._exposures.get(key, ())]
        fields: dict[str, Any] = {
            "owner": _owner(meta.get("owner")) or _owner(group.get("owner")),
            "team": group.get("name"),
            "channels": _channels(meta.get("owner"), group.get("owner")) or None,
            "description": node.get("description") or None,
            "columns": self.columns[key] or None,
            "primary_key": self._primary_key(key) or None,
            "partition": self._partition(key),
            "freshness": self._freshness(key),
            "replicas": (replica,) if replica else None,
            "tags": tuple(dict.fromkeys(filter(None, (tag_of(str(tag)) for tag in tags)))) or None,
        }
        return TableTelling(namespace=namespace, name=name, **{**fields, **properties}), notes

    def _replica(self, key: str) -> ReplicaProfile | None:
        """Where a table lies: of a file of dbt-duckdb its node may say it, of all others the entry."""
        node, steps = self.nodes[key], self.steps[key]
        if node.get("resource_type") == "source":
            own = _config(node, "external_location") or _dict(node.get("meta")).get("external_location")
        else:
            own = _config(node, "location") if _config(node, "materialized") == "external" else None
        if isinstance(own, str) and (match := _FILE.fullmatch(own)):
            storage = match["suffix"] or _config(node, "format") or "parquet"
            names = {"name": str(node.get("name")), "identifier": steps.table, "schema": steps.schema}
            place = re.sub(r"\{(\w+)\}", lambda step: names.get(step[1], step[0]), own)
            target = str(self.entry["target"])
            root = str(self.entry.get("project") or ("" if target.startswith(HTTP) else os.path.dirname(target)))
            if "://" not in place and root:
                place = os.path.abspath(os.path.join(root, place))
            return replica_of({**self.entry, "location": place, "storage": storage}, steps)
        return replica_of(self.entry, steps)

    def _partition(self, key: str) -> PartitionProfile | None:
        """By what adapters call ``partition_by``: an object of BigQuery, or names of columns."""
        node, zone = self.nodes[key], time_zone(self.entry)
        types = {column.name.lower(): column.type for column in self.columns[key]}
        cut = _config(node, "partition_by") or _dict(_config(node, "options")).get("partition_by")
        if isinstance(cut, Mapping):
            granularity, type_ = str(cut.get("granularity") or "day"), str(cut.get("data_type") or "date").lower()
            if granularity in set(Granularity) and cut.get("field"):
                holds = Holds.KEY if type_ == "date" else Holds.TIME
                return PartitionProfile(column=str(cut["field"]), granularity=Granularity(granularity), holds=holds)
            return None
        names = [cut] if isinstance(cut, str) else cut if isinstance(cut, list) else []
        return first_partition({str(name): types.get(str(name).lower(), "") for name in names}, {}, time_zone=zone)

    @cached_property
    def columns(self) -> dict[str, tuple[Column, ...]]:
        """The columns of each table that are known."""
        return {key: self._columns(key) for key in self.steps}

    def _columns(self, key: str) -> tuple[Column, ...]:
        """The columns as the database has them; without ``catalog.json``, those of a contract, which names all.

        Columns that are marked as sensitive are named in any case.
        """
        documented = {name.lower(): _dict(column) for name, column in _dict(self.nodes[key].get("columns")).items()}
        marked = {name for name, column in documented.items() if _is_sensitive(column)}
        stored = _dict(_dict(self.stored.get(key)).get("columns")).values()
        ordered = sorted(
            (column for column in stored if isinstance(column, Mapping)), key=lambda c: c.get("index") or 0
        )
        pairs = [(str(column.get("name")), str(column.get("type") or "")) for column in ordered]
        if not pairs:
            is_whole = bool(_dict(self.nodes[key].get("contract")).get("enforced"))
            pairs = [
                (str(column.get("name")), str(column.get("data_type") or ""))
                for name, column in documented.items()
                if is_whole or name in marked
            ]
        return tuple(
            Column(name=name, type=type_ if is_column_type(type_) else "", sensitive=name.lower() in marked)
            for name, type_ in pairs
        )

    def _primary_key(self, key: str) -> tuple[str, ...]:
        """The columns of a constraint, or else the first column that dbt tests to be unique and not null."""
        node = self.nodes[key]
        columns = {str(name): _dict(column) for name, column in _dict(node.get("columns")).items()}
        for constraint in node.get("constraints") or ():
            if constraint.get("type") == "primary_key":
                return tuple(map(str, constraint.get("columns") or ()))
        keys = tuple(
            name
            for name, column in columns.items()
            if any(constraint.get("type") == "primary_key" for constraint in column.get("constraints") or ())
        )
        if keys:
            return keys
        tested: dict[str, set[str]] = {}
        for test in self._tests.get(key, ()):
            if not _config(test, "where") and str(_config(test, "severity") or "error").lower() == "error":
                kind = str(_dict(test.get("test_metadata")).get("name"))
                tested.setdefault(_column(test), set()).add(kind)
        by_tests = next(((name,) for name, kinds in tested.items() if name and {"unique", "not_null"} <= kinds), ())
        return by_tests or self._merge_key(key)

    def _merge_key(self, key: str) -> tuple[str, ...]:
        """The columns by which dbt itself finds the row that it writes anew, so that none is there twice."""
        node = self.nodes[key]
        if node.get("resource_type") == "snapshot":
            return (str(_dict(_config(node, "snapshot_meta_column_names")).get("dbt_scd_id") or "dbt_scd_id"),)
        unique = _config(node, "unique_key") if _config(node, "materialized") == "incremental" else None
        names = [unique] if isinstance(unique, str) else unique if isinstance(unique, list) else []
        columns = {column.name.lower() for column in self.columns[key]}
        return tuple(names) if all(str(name).lower() in columns for name in names) else ()

    def _freshness(self, key: str) -> timedelta | None:
        """How old a source's newest rows may be before dbt calls that an error, or else warns."""
        node = self.nodes[key]
        for criteria in (node.get("freshness"), self.criteria.get(key)):
            for level in ("error_after", "warn_after"):
                length = _dict(_dict(criteria).get(level))
                count, period = length.get("count"), PERIODS.get(str(length.get("period")))
                if isinstance(count, int) and count > 0 and period:
                    return timedelta(**{period: count})
        return None

    @cached_property
    def _exposures(self) -> dict[str, list[str]]:
        """The tags of each table, for the exposures that read it."""
        tags: dict[str, list[str]] = {}
        for exposure in self.exposures.values():
            for key in _parents(exposure):
                tags.setdefault(key, []).append(f"exposure:{exposure.get('name')}")
        return tags

    @cached_property
    def _tests(self) -> dict[str, list[Node]]:
        """The generic tests of each table, those of sources too, to which no node is attached."""
        tests: dict[str, list[Node]] = {}
        for node in self.nodes.values():
            metadata = _dict(node.get("test_metadata"))
            if node.get("resource_type") != "test" or not metadata:
                continue
            of_model = re.findall(r"'([^']*)'", str(_dict(metadata.get("kwargs")).get("model")))
            parents = [key for key in _parents(node) if self.nodes.get(key, {}).get("name") in of_model]
            if key := node.get("attached_node") or next(iter(parents), None):
                tests.setdefault(key, []).append(node)
        return tests

    def _custom(self, keys: Mapping[str, Sequence[str]]) -> tuple[list[CustomProfile], list[str]]:
        """dbt's own generic tests in our language, and a sentence for each that has no equal there."""
        custom, notes = [], []
        for key, primary_key in keys.items():
            types = {column.name.lower(): column.type for column in self.columns[key]}
            for test in self._tests.get(key, ()):
                kind, column = _dict(test["test_metadata"]).get("name"), _column(test)
                if kind == "unique" and list(primary_key) == [column]:
                    continue  # the standard test of duplicates
                dataset, name = ".".join(self.names[key]), _test_name(test)
                try:
                    assertion = translate(
                        test, adapter=self.adapter, types=types, dataset_of=self._dataset_of(test, key)
                    )
                except UnableToTranslate as error:
                    notes.append(f"{dataset}: the dbt test {test.get('name')} is not taken: {error}")
                    continue
                is_error = str(_config(test, "severity") or "error").lower() == "error"
                severity: Severity = "hard" if is_error else "soft"
                custom.append(
                    CustomProfile(dataset=dataset, name=name, assertion=assertion, severity=severity, schedule="")
                )
        return custom, notes

    def _dataset_of(self, test: Node, key: str) -> str:
        """The dataset beside its own that a test reads; empty where there is none."""
        others = [parent for parent in _parents(test) if parent != key] or [key]
        return ".".join(self.names.get(others[0], ()))

    def _lineage(self) -> Iterator[LineageProfile]:
        dialect, nodes = dialect_named(self.adapter), self.nodes.items()
        relations = {key: table_named(str(node.get("relation_name") or ""), dialect) for key, node in nodes}
        tables = {relations[key]: [column.name for column in self.columns[key]] for key in self.steps}
        views = {relations[key]: _sql(node) for key, node in nodes if key not in self.steps and _sql(node)}
        for key in self.names:
            columns = columns_of_query(_sql(self.nodes[key]), dialect, tables, views)
            for upstream in self._upstreams(key):
                if upstream != key and upstream in self.names:
                    yield LineageProfile(
                        upstream=".".join(self.names[upstream]),
                        downstream=".".join(self.names[key]),
                        columns=columns.get(relations[upstream], {}),
                    )

    def _upstreams(self, key: str) -> list[str]:
        """The tables that a table is made from, through all that lies nowhere."""
        found: dict[str, None] = {}
        waiting, seen = _parents(self.nodes[key]), set()
        while waiting:
            parent = waiting.pop(0)
            if parent in seen:
                continue
            seen.add(parent)
            if parent in self.steps:
                found[parent] = None
            else:
                waiting += _parents(self.nodes.get(parent, {}))
        return list(found)


def _sql(node: Node) -> str:
    """The query of a model, as dbt compiles it; empty where it has not."""
    return str(node.get("compiled_code") or "")


def _steps(node: Node) -> TableSteps:
    name = node.get("identifier") or node.get("alias") or node.get("name")
    return TableSteps(database=str(node.get("database") or ""), schema=str(node.get("schema") or ""), table=str(name))


def _nodes(manifest: Any) -> dict[str, Node]:
    """The nodes and sources of a manifest of a version that is known."""
    metadata = mapping(mapping(manifest, "manifest.json").get("metadata"), "metadata of manifest.json")
    version = _version(metadata, "manifest")
    if version not in VERSIONS:
        raise UnableToReadSource(
            f"manifest.json is of version {version}, and {VERSIONS[0]} to {VERSIONS[-1]} are understood: write it with "
            "dbt 1.3 to 1.11"
        )
    nodes: dict[str, Node] = {}
    for section in ("nodes", "sources"):
        for key, node in mapping(manifest.get(section), f"{section} of manifest.json").items():
            nodes[key] = mapping(node, f"{key} of manifest.json")
    return {key: node for key, node in nodes.items() if _config(node, "enabled") is not False}


def _stored(catalog: Any) -> dict[str, Node]:
    """What the database has, by ids; a catalog that dbt could not write whole is refused."""
    if catalog is None:
        return {}
    _version(mapping(mapping(catalog, "catalog.json").get("metadata"), "metadata of catalog.json"), "catalog")
    if errors := catalog.get("errors"):
        raise UnableToReadSource(
            f"catalog.json was not written whole ({errors[0]!s:.200}): run `dbt docs generate` again"
        )
    sections = [mapping(catalog.get(section), f"{section} of catalog.json") for section in ("nodes", "sources")]
    return {key: _dict(node) for section in sections for key, node in section.items()}


def _criteria(sources: Any) -> dict[str, Node]:
    """What ``dbt source freshness`` has asked of each source, by ids."""
    if sources is None:
        return {}
    _version(mapping(mapping(sources, "sources.json").get("metadata"), "metadata of sources.json"), "sources")
    results = mappings(sources.get("results"), "results of sources.json")
    return {str(result.get("unique_id")): _dict(result.get("criteria")) for result in results}


def _version(metadata: Mapping[str, Any], kind: str) -> int:
    match = _VERSION.search(str(metadata.get("dbt_schema_version")))
    if not match or match[1] != kind:
        raise UnableToReadSource(f"{kind}.json is no {kind} of dbt: name the folder that dbt writes, `target`")
    return int(match[2])


def _parents(node: Node) -> list[str]:
    return [str(key) for key in _dict(node.get("depends_on")).get("nodes") or ()]


def _config(node: Node, name: str) -> Any:
    return _dict(node.get("config")).get(name)


def _dict(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _owner(owner: object) -> str | None:
    """A person's address, or else name, from a text, the first of a list, or an owner as dbt writes it."""
    if isinstance(owner, list):
        owner = owner[0] if owner else None
    if isinstance(owner, Mapping):
        addresses = owner.get("email")
        owner = (addresses[0] if isinstance(addresses, list) and addresses else addresses) or owner.get("name")
    return owner if isinstance(owner, str) and owner else None


def _channels(*owners: object) -> dict[ChannelName, str]:
    """Where the first owner that is named is told: in Slack, or, where a name is no address, by that of the next."""
    names = [name for owner in owners if (name := _owner(owner))]
    slack = next((_dict(owner).get("slack") for owner in owners if _owner(owner)), None)
    channels: dict[ChannelName, str] = {}
    if isinstance(slack, str) and slack:
        channels["slack"] = slack_of(slack)
    if names and "@" not in names[0] and (addresses := [name for name in names if "@" in name]):
        channels["email"] = addresses[0]
    return channels


def _column(test: Node) -> str:
    """The column that a generic test is of, whether it stands below the column or below its table."""
    arguments = _dict(_dict(test.get("test_metadata")).get("kwargs"))
    return str(test.get("column_name") or arguments.get("column_name") or "")


def _is_sensitive(column: Node) -> bool:
    meta = {**_dict(column.get("meta")), **_dict(_config(column, "meta"))}
    return meta.get("sensitive") is True or _dict(meta.get("assay")).get("sensitive") is True


LONGEST_NAME = 128


def _test_name(test: Node) -> str:
    name = str(test.get("name"))
    return name if len(name) <= LONGEST_NAME else str(test.get("alias") or name[:LONGEST_NAME])
