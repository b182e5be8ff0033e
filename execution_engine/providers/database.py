"""The tables of a database, as its own catalog (``information_schema``) describes them to SQLAlchemy."""

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Inspector, inspect, text
from sqlalchemy.engine.reflection import ObjectKind
from sqlalchemy.exc import SQLAlchemyError

from assay.catalog.locations import LocationClaim, UnableToUseLocation, find, rules_of
from assay.catalog.profile import Column, LineageProfile, ReplicaProfile
from assay.catalog.providers.entries import ALL, check_keys, datacenter
from assay.catalog.providers.places import TableSteps, name_tables
from assay.catalog.tellings import SourceTelling, TableTelling, UnableToReadSource
from assay.config import config
from execution_engine.engines.protocol import Table
from execution_engine.engines.sql.engine import OUR_TABLES, open_database
from execution_engine.engines.sql.failures import NO_RIGHT, failure_of
from execution_engine.engines.sql.source import UnableToOpenSource, type_name
from execution_engine.outcome import Reason

KEYS = {"location": True, "schemas": False, "views": False, "lineage": False, "dataset": False}
SYSTEM = ("information_schema", "pg_*", "mysql", "performance_schema", "sys")  # schemas of servers themselves
SECONDS = 120.0
SHOWN = 5  # names in a sentence
# the parts of a partitioned table of PostgreSQL, which are no tables of their own; what a user may read no column of
_CLASSES = "select n.nspname, c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace where "
PARTS = f"{_CLASSES} c.relispartition"
CLOSED = f"""{_CLASSES} c.relkind in ('r', 'p', 'v', 'm', 'f') and not (
    has_schema_privilege(n.oid, 'usage') and has_any_column_privilege(c.oid, 'select'))"""
UNDESCRIBED = "the database cannot describe it"


def read(entry: Mapping[str, Any], most: int = ALL) -> SourceTelling:
    """The tables of the schemas that the entry names, or of all but the server's own; raises UnableToReadSource.

    ``views`` adds views, and ``lineage`` an edge for each foreign key.
    """
    check_keys(entry, KEYS)
    location = str(entry["location"])
    claim = LocationClaim(storage="sql", location=location, options={}, is_trusted=True)
    label = location if claim.variable is not None else ""
    table = Table(name=str(entry.get("name", "the database")), storage="sql", location="", location_label=label)
    database: Engine | None = None
    try:
        place = find(claim, rules_of(config()), os.environ)
        table = Table(name=table.name, storage="sql", location=place.location, location_label=label)
        database = open_database(table, SECONDS)
        with database.connect() as connection:
            return _read(entry, connection, database, most)
    except UnableToUseLocation as error:
        raise UnableToReadSource(str(error)) from None
    except UnableToOpenSource as error:
        raise UnableToReadSource(error.failure.detail) from None
    except SQLAlchemyError as error:
        raise UnableToReadSource(failure_of(error, table).detail) from None
    finally:
        if database is not None:
            database.dispose()


def _read(entry: Mapping[str, Any], connection: Connection, database: Engine, most: int) -> SourceTelling:
    inspector = inspect(connection)
    kind = ObjectKind.ANY if entry.get("views") else ObjectKind.TABLE
    parts, closed = _named_by(connection, PARTS), _named_by(connection, CLOSED)
    described: dict[TableSteps, dict[str, Any]] = {}
    unread: dict[TableSteps, str] = {}  # why
    for schema in _schemas(entry, inspector, database):
        if len(described.keys() - unread.keys()) >= most:
            break
        of_schema, faults = _describe(inspector, schema, kind, database)
        if set(OUR_TABLES) <= {steps.table for steps in of_schema}:
            raise UnableToReadSource("it is Assay's own database: name another location")
        described |= of_schema
        unread |= {steps: NO_RIGHT for steps in of_schema if (steps.schema, steps.table) in closed} | faults
    whole = [steps for steps in {**described, **unread} if (steps.schema, steps.table) not in parts]
    names, notes = name_tables(entry, whole)
    unread_names = {steps: ".".join(names.pop(steps)) for steps in unread if steps in names}
    notes += _sentences({steps: unread[steps] for steps in unread_names})
    if not set(whole) - set(unread):
        hint = "; ".join(notes) or "name others with schemas:"
        raise UnableToReadSource(f"it has no table in the schemas that are read: {hint}")
    tables: dict[TableSteps, TableTelling] = {}
    for steps, (namespace, name) in names.items():
        options = {"table": steps.table}
        if _names_schemas(database, steps.schema):
            options["schema"] = steps.schema
        replica = ReplicaProfile(
            datacenter=datacenter(entry), storage="sql", location=str(entry["location"]), options=options
        )
        fields = {key: value for key, value in described[steps].items() if key != "references"}
        tables[steps] = TableTelling(namespace=namespace, name=name, replicas=(replica,), **fields)
    lineage = tuple(
        LineageProfile(upstream=tables[referred].full_name, downstream=table.full_name)
        for steps, table in tables.items()
        for referred in (described[steps]["references"] if entry.get("lineage") else ())
        if referred in tables and referred != steps
    )
    return SourceTelling(
        tables=tuple(tables.values()),
        lineage=lineage,
        notes=tuple(notes),
        unread=tuple(unread_names.values()),
    )


def _sentences(unread: Mapping[TableSteps, str]) -> Iterator[str]:
    """Why tables are left out, a sentence for all those of a schema that have the same reason."""
    groups = defaultdict[tuple[str, str], list[str]](list)
    for steps, why in unread.items():
        groups[steps.schema, why].append(steps.table)
    for (schema, why), tables in groups.items():
        more = f" and {len(tables) - SHOWN} more" if len(tables) > SHOWN else ""
        yield f"of {schema}, {', '.join(tables[:SHOWN])}{more}: {why}; grant select, or name what is meant in except:"


def _schemas(entry: Mapping[str, Any], inspector: Inspector, database: Engine) -> list[str | None]:
    """The schemas to read; None is the one that the URL names, as SQLite's file and MariaDB's database."""
    globs = entry.get("schemas")
    if not globs and database.url.database and database.dialect.name in ("sqlite", "mysql", "mariadb"):
        return [None]
    patterns = [globs] if isinstance(globs, str) else list(globs or ["*"])
    return [
        schema
        for schema in inspector.get_schema_names()
        if any(fnmatchcase(schema, str(glob)) for glob in patterns)
        and not any(fnmatchcase(schema, system) for system in SYSTEM)
    ]


def _describe(
    inspector: Inspector, schema: str | None, kind: ObjectKind, database: Engine
) -> tuple[dict[TableSteps, dict[str, Any]], dict[TableSteps, str]]:
    """The tables of a schema, and why others cannot be described: where all at once fail, each is asked for alone."""
    names = [*inspector.get_table_names(schema), *(inspector.get_view_names(schema) if kind is ObjectKind.ANY else ())]
    faults = {_steps(database, schema, name): UNDESCRIBED for name in names}
    try:
        described = dict(_tables_of(inspector, schema, kind, database))
    except SQLAlchemyError:
        described = {}
        for name in names:
            try:
                described |= dict(_tables_of(inspector, schema, kind, database, [name]))
            except SQLAlchemyError as error:
                failure = failure_of(error, Table(name="", storage="sql", location=""))
                if failure.reason not in (Reason.UNREADABLE, Reason.QUERY_FAILED):
                    raise
                faults[_steps(database, schema, name)] = failure.detail.removeprefix(": ")
    return described, {steps: why for steps, why in faults.items() if steps not in described}


def _tables_of(
    inspector: Inspector, schema: str | None, kind: ObjectKind, database: Engine, only: list[str] | None = None
) -> Iterator[tuple[TableSteps, dict[str, Any]]]:
    """The tables of a schema, or these of them, with what the database knows of each, in a few statements for all."""
    which: Any = {"schema": schema, "kind": kind, "filter_names": only}
    keys = inspector.get_multi_pk_constraint(**which)
    comments: Mapping[Any, Any] = {}
    if database.dialect.supports_comments:
        comments = inspector.get_multi_table_comment(**which)
    references = inspector.get_multi_foreign_keys(**which)
    for key, columns in inspector.get_multi_columns(**which).items():
        names, key_of = [str(column["name"]) for column in columns], keys.get(key)
        yield (
            _steps(database, schema, key[1]),
            {
                "columns": tuple(
                    Column(name=name, type=type_name(column["type"], database.dialect) or "")
                    for name, column in zip(names, columns, strict=True)
                ),
                "primary_key": tuple(key_of["constrained_columns"] if key_of else ()) or None,
                "description": (comments.get(key) or {}).get("text") or None,
                "references": [
                    _steps(database, reference["referred_schema"] or schema, reference["referred_table"])
                    for reference in references.get(key) or ()
                ],
            },
        )


def _steps(database: Engine, schema: str | None, table: str) -> TableSteps:
    """The name of a table; a database without schemas is one itself, and a file of SQLite is called as it is named."""
    own = database.url.database or ""
    name = Path(own).stem if database.dialect.name == "sqlite" else own
    return TableSteps(database=name, schema=schema or name, table=table)


def _names_schemas(database: Engine, schema: str) -> bool:
    """Whether the schema of a table must be named beside the URL."""
    if database.dialect.name == "sqlite":
        return False
    return database.dialect.name not in ("mysql", "mariadb") or schema != database.url.database


def _named_by(connection: Connection, query: str) -> set[tuple[str, str]]:
    """The schemas and names that a query over the catalog of PostgreSQL gives; none in another database."""
    if connection.dialect.name != "postgresql":
        return set()
    return {(str(row[0]), str(row[1])) for row in connection.execute(text(query))}
