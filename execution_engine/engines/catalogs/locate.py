"""Where the metadata of a table in a catalog of Iceberg lies now; all else is read from there, as of any such table."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from time import monotonic
from typing import TYPE_CHECKING, Any

from assay.catalog.locations import UnableToUseLocation
from assay.config import config
from assay.iceberg_catalogs import CATALOGS, KINDS, Catalog, split_name
from assay.references import REFERENCE, UnableToReadSecret
from execution_engine.engines.files.iceberg import METADATA
from execution_engine.engines.files.stores import REQUEST_SECONDS
from execution_engine.engines.protocol import Table
from execution_engine.outcome import Failure, Reason

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog as PyIcebergCatalog

AWAY_SECONDS = 30.0  # for which a catalog that is away is not asked again
_EXTRAS = {"hive": "thrift", "glue": "boto3"}  # what pyiceberg needs beside itself
_TABLES = "iceberg_tables"  # in the database of a SQL catalog


class UnableToAskCatalog(UnableToUseLocation):
    """A catalog names no place of a table, and the sentence says why; ``is_away``: it may do so later."""

    def __init__(self, detail: str, reason: Reason = Reason.UNREADABLE) -> None:
        self.is_away = Failure(reason=reason).transient
        super().__init__(detail)


def metadata_location(location: str) -> str:
    """The path or URL of the current metadata file of a table ``iceberg://CATALOG/namespace.table``.

    Raises UnableToAskCatalog.
    """
    catalog, table = _named(location)
    if "." not in table:
        raise UnableToAskCatalog(f"{location} names no table: write {CATALOGS}{catalog.name}/namespace.table")
    with _asking(catalog, table):
        metadata = _location_in_database(catalog, table) if catalog.type == "sql" else _location_in(catalog, table)
    return _checked(catalog, table, metadata)


def metadata_locations(location: str) -> dict[str, str]:
    """The same of all tables of a catalog in a database, by name, in one query; empty for catalogs of other types."""
    catalog, namespace = _named(location)
    if catalog.type != "sql":
        return {}
    with _asking(catalog, namespace):
        rows = [row for row in _rows(catalog) if row.get("iceberg_type") != "VIEW"]
    places = {f"{row['table_namespace']}.{row['table_name']}": str(row["metadata_location"]) for row in rows}
    return {name: _checked(catalog, name, place) for name, place in places.items()}


def _checked(catalog: Catalog, table: str, metadata: str) -> str:
    metadata = re.sub("^file:/(?!/)", "/", metadata)  # as Hadoop writes it
    if not METADATA.fullmatch(metadata.rpartition("/")[2]):
        raise UnableToAskCatalog(f"{catalog.place} says of {table} that it lies at {metadata!r:.200}, no metadata file")
    return metadata


def tables_of(location: str) -> list[str]:
    """The tables of a catalog, or of the namespace that a location names and of those in it; UnableToAskCatalog."""
    catalog, namespace = _named(location)
    with _asking(catalog, namespace):
        names = sorted(_tables_in_database(catalog) if catalog.type == "sql" else _tables_in(catalog, namespace))
    return [name for name in names if not namespace or name.startswith(f"{namespace}.")]


def fault_of_catalog(catalog: Catalog) -> str:
    """What is wrong with a catalog, found by asking for its namespaces; empty where it answers."""
    try:
        with _asking(catalog, ""):
            if catalog.type == "sql":
                _rows(catalog)
            else:
                _open(catalog).list_namespaces()
    except UnableToAskCatalog as error:
        return str(error)
    return ""


def _named(location: str) -> tuple[Catalog, str]:
    try:
        name, table = split_name(location)
    except ValueError as error:
        raise UnableToAskCatalog(str(error)) from None
    catalogs = {catalog.name: catalog for catalog in config().iceberg_catalogs}
    if name not in catalogs:
        names = f"it names {', '.join(catalogs)}" if catalogs else "it names none"
        raise UnableToAskCatalog(f"no catalog of ASSAY_CATALOGS is called {name}: {names}")
    return catalogs[name], table


# A catalog in a database: rows that are read in a session that only reads.


def _location_in_database(catalog: Catalog, table: str) -> str:
    namespace, _, name = table.rpartition(".")
    rows = _rows(catalog, table_namespace=namespace, table_name=name)
    if not rows:
        raise _missing(catalog, table)
    if rows[0].get("iceberg_type") == "VIEW":
        raise _view(catalog, table)
    return str(rows[0]["metadata_location"])


def _tables_in_database(catalog: Catalog) -> Iterator[str]:
    for row in _rows(catalog):
        if row.get("iceberg_type") != "VIEW":
            yield f"{row['table_namespace']}.{row['table_name']}"


def _rows(catalog: Catalog, **values: str) -> list[dict[str, Any]]:
    from sqlalchemy import column, select, table, text

    from execution_engine.engines.sql.engine import open_database

    database = open_database(_as_table(catalog), REQUEST_SECONDS)
    try:
        conditions = {"catalog_name": catalog.catalog or catalog.name} | values
        query = select(text("*")).select_from(table(_TABLES))
        for name, value in conditions.items():
            query = query.where(column(name) == value)
        with database.connect() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]
    finally:
        database.dispose()


def _as_table(catalog: Catalog) -> Table:
    """The database as errors and connections know it, by the name that messages give it."""
    is_secret = REFERENCE.fullmatch(catalog.uri) is not None
    name = f"the catalog {catalog.name}" if is_secret else catalog.place  # which tells the uri
    label = catalog.uri if is_secret else ""
    return Table(name=name, storage="sql", location=catalog.value("uri"), location_label=label)


# The other catalogs, by pyiceberg. Of those that keep the place alone, pyiceberg would read the file at once, with what
# keys it finds: it is given a reader that opens nothing, and tells the place.


def _location_in(catalog: Catalog, table: str) -> str:
    from pyiceberg.exceptions import NoSuchTableError, RESTError

    from .clients import MetadataPlace

    opened = _open(catalog)
    try:
        return opened.load_table(table).metadata_location or ""
    except MetadataPlace as place:
        return place.location
    except NoSuchTableError:
        if catalog.type == "rest":
            with suppress(RESTError, NotImplementedError):  # of a server that knows no views
                if opened.view_exists(table):
                    raise _view(catalog, table) from None
        raise


def _tables_in(catalog: Catalog, namespace: str) -> Iterator[str]:
    opened = _open(catalog)
    for below in opened.list_namespaces(namespace or ()):
        yield from _tables_in(catalog, ".".join(below))
    for identifier in opened.list_tables(namespace) if namespace else ():
        yield ".".join(identifier)


def _open(catalog: Catalog) -> "PyIcebergCatalog":
    values = {field: catalog.value(field) for field in sorted(KINDS[catalog.type])}
    return _opened(catalog, tuple(values.items()), os.getpid())


# Connections are kept, within a process; other secrets, as where they were replaced, open another.
@lru_cache(maxsize=32)
def _opened(catalog: Catalog, items: tuple[tuple[str, str], ...], _process: int) -> "PyIcebergCatalog":
    from . import clients  # with it pyiceberg

    return clients.open_catalog(catalog, dict(items))


# What is wrong with a catalog, as a sentence.

_away: dict[Catalog, tuple[float, str]] = {}  # until when it is not asked, and why


@contextmanager
def _asking(catalog: Catalog, table: str) -> Iterator[None]:
    """Errors of a catalog become UnableToAskCatalog; one that is away is not asked again for a while."""
    until, why = _away.get(catalog, (0.0, ""))
    if monotonic() < until:
        raise UnableToAskCatalog(why, Reason.STORE_UNREACHABLE)
    try:
        yield
    except UnableToUseLocation:
        raise
    except UnableToReadSecret as error:
        raise UnableToAskCatalog(str(error)) from None
    except Exception as error:
        failure = _failure_of(catalog, table, error)
        if failure.is_away:
            _away[catalog] = monotonic() + AWAY_SECONDS, str(failure)
        raise failure from error


def _missing(catalog: Catalog, table: str) -> UnableToAskCatalog:
    what = f"no table {table}" if "." in table else f"no namespace {table}"
    return UnableToAskCatalog(f"{catalog.place} has {what}: `assay init {CATALOGS}{catalog.name}` lists its tables")


def _view(catalog: Catalog, table: str) -> UnableToAskCatalog:
    return UnableToAskCatalog(
        f"{table} of {catalog.place} is a view, whose query only Spark runs: register the catalog in Spark, and write "
        "storage: table"
    )


def _failure_of(catalog: Catalog, table: str, error: Exception) -> UnableToAskCatalog:
    from sqlalchemy.exc import SQLAlchemyError

    from execution_engine.engines.sql.failures import failure_of
    from execution_engine.engines.sql.source import UnableToOpenSource

    if isinstance(error, SQLAlchemyError | UnableToOpenSource):
        if _TABLES in str(getattr(error, "orig", "")):
            return UnableToAskCatalog(
                f"{catalog.place} is a database in which {_TABLES} is not there, or may not be read: correct its uri "
                "in ASSAY_CATALOGS"
            )
        failure = error.failure if isinstance(error, UnableToOpenSource) else failure_of(error, _as_table(catalog))
        mend = "see that it runs and is reached from here, and that its uri is right in ASSAY_CATALOGS"
        return UnableToAskCatalog(f"{failure.detail}: {mend}", failure.reason)
    if isinstance(error, ModuleNotFoundError):
        extra = _EXTRAS.get(catalog.type, error.name or "")
        return UnableToAskCatalog(f"{catalog.place} needs the package {extra}: pip install {extra}")
    kinds = {type_.__name__ for type_ in type(error).__mro__} | {_code(error)}
    for names, sentence, reason in _SENTENCES:
        if kinds & names:
            if not sentence:
                return _missing(catalog, table)
            text = sentence.format(place=catalog.place, table=table or "its tables", error=_first_line(error))
            return UnableToAskCatalog(text, reason)
    return UnableToAskCatalog(
        f"{catalog.place} gives no answer that is understood ({_first_line(error)}): correct it in ASSAY_CATALOGS"
    )


_AWAY = (
    "{place} does not answer ({error}): see that it runs and is reached from here, and that its address is right in "
    "ASSAY_CATALOGS; it is tried again"
)
_KEYS = "{place} refuses its credential ({error}): correct what credential, token or keys refer to in ASSAY_CATALOGS"
_DENIED = (
    "{place} does not let its credential read {table} ({error}): let it read the table, or name another credential in "
    "ASSAY_CATALOGS"
)
_KIND = "{place} has {table} as a table of another kind ({error}): write its folder as the location, with its storage"
# By the classes of errors, of the catalogs and of the libraries beneath, or the codes of Amazon's; the first that fits
_SENTENCES: Sequence[tuple[frozenset[str], str, Reason]] = (
    (frozenset({"NoSuchIcebergTableError", "NoSuchPropertyException"}), _KIND, Reason.UNREADABLE),
    (frozenset({"NoSuchTableError", "NoSuchNamespaceError", "NoSuchIdentifierError"}), "", Reason.UNREADABLE),
    (
        frozenset({"UnauthorizedError", "OAuthError", "AuthorizationExpiredError", "NoCredentialsError"})
        | {"UnrecognizedClientException", "InvalidSignatureException", "ExpiredTokenException"},
        _KEYS,
        Reason.UNREADABLE,
    ),
    (frozenset({"ForbiddenError", "AccessDeniedException"}), _DENIED, Reason.UNREADABLE),
    (
        frozenset({"ServerError", "ServiceUnavailableError", "TooManyRequestsError", "ThrottlingException"})
        | {"OSError", "TTransportException", "HTTPClientError"},
        _AWAY,
        Reason.STORE_UNREACHABLE,
    ),
)


def _code(error: Exception) -> str:
    """The code of an error of Amazon's; empty of any other."""
    response = getattr(error, "response", None)
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, dict) else ""


def _first_line(error: Exception) -> str:
    if match := re.search(r"\[Errno -?\d+\] ([\w ]+)", str(error)):  # within what libraries wrap around it
        return match[1]
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__
