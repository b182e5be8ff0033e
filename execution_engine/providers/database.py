"""The tables of a database, as its own catalog (``information_schema``) describes them to SQLAlchemy."""

import os
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Inspector, inspect, text
from sqlalchemy.engine.reflection import ObjectKind
from sqlalchemy.exc import SQLAlchemyError

from assay.catalog.locations import LocationClaim, UnableToUseLocation, find, rules_of
from assay.catalog.profile import Column, LineageProfile, ReplicaProfile
from assay.catalog.providers.entries import check_keys, datacenter
from assay.catalog.providers.places import TableSteps, name_tables
from assay.catalog.tellings import SourceTelling, TableTelling, UnableToReadSource
from assay.config import config
from execution_engine.engines.protocol import Table
from execution_engine.engines.sql.engine import OUR_TABLES, open_database
from execution_engine.engines.sql.failures import failure_of
from execution_engine.engines.sql.source import UnableToOpenSource, type_name

KEYS = {"location": True, "schemas": False, "views": False, "lineage": False, "dataset": False}
SYSTEM = ("information_schema", "pg_*", "mysql", "performance_schema", "sys")  # schemas of servers themselves
SECONDS = 120.0
# the parts of a partitioned table of PostgreSQL, which are no tables of their own
PARTS = (
    "select n.nspname, c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relispartition"
)


def read(entry: Mapping[str, Any]) -> SourceTelling:
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
            return _read(entry, connection, database)
    except UnableToUseLocation as error:
        raise UnableToReadSource(str(error)) from None
    except UnableToOpenSource as error:
        raise UnableToReadSource(error.failure.detail) from None
    except SQLAlchemyError as error:
        raise UnableToReadSource(failure_of(error, table).detail) from None
    finally:
        if database is not None:
            database.dispose()


def _read(entry: Mapping[str, Any], connection: Connection, database: Engine) -> SourceTelling:
    inspector = inspect(connection)
    kind = ObjectKind.ANY if entry.get("views") else ObjectKind.TABLE
    parts = _parts(connection)
    described: dict[TableSteps, dict[str, Any]] = {}
    for schema in _schemas(entry, inspector, database):
        of_schema = dict(_tables_of(inspector, schema, kind, database))
        if set(OUR_TABLES) <= {steps.table for steps in of_schema}:
            raise UnableToReadSource("it is Assay's own database: name another location")
        described |= {steps: fields for steps, fields in of_schema.items() if (steps.schema, steps.table) not in parts}
    names, notes = name_tables(entry, described)
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
    if not described:
        raise UnableToReadSource("it has no table in the schemas that are read: name others with schemas:")
    lineage = tuple(
        LineageProfile(upstream=tables[referred].full_name, downstream=table.full_name)
        for steps, table in tables.items()
        for referred in (described[steps]["references"] if entry.get("lineage") else ())
        if referred in tables and referred != steps
    )
    return SourceTelling(tables=tuple(tables.values()), lineage=lineage, notes=tuple(notes))


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


def _tables_of(
    inspector: Inspector, schema: str | None, kind: ObjectKind, database: Engine
) -> Iterator[tuple[TableSteps, dict[str, Any]]]:
    """The tables of a schema, each with what the database knows of it, in a few statements for all."""
    keys = inspector.get_multi_pk_constraint(schema=schema, kind=kind)
    comments: Mapping[Any, Any] = {}
    if database.dialect.supports_comments:
        comments = inspector.get_multi_table_comment(schema=schema, kind=kind)
    references = inspector.get_multi_foreign_keys(schema=schema, kind=kind)
    for key, columns in inspector.get_multi_columns(schema=schema, kind=kind).items():
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


def _parts(connection: Connection) -> set[tuple[str, str]]:
    if connection.dialect.name != "postgresql":
        return set()
    return {(str(row[0]), str(row[1])) for row in connection.execute(text(PARTS))}
