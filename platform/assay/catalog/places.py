"""The place that a location names, whatever its spelling, and whether two places share data.

Where two spellings cannot be told apart for sure, they count as one place: limits hold for too much, not too little.
"""

import os
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from .locations import MYSQL, PREFIX, is_same_machine, steps_of_table

_SYSTEMS = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfss": "abfs"}  # schemes that name the same store
_ANY = ""  # a step, or a host, that may be any
_DEEPEST_ESCAPE = 5


@dataclass(frozen=True, kw_only=True)
class Place:
    """A folder, file or table, as steps from the root of a system, without regard to case."""

    system: str
    host: str = _ANY
    steps: tuple[str, ...] = ()
    path: str = ""  # the real path of a local folder, in its own case


def place_of(storage: str, location: str, options: Mapping[str, str], environ: Mapping[str, str]) -> Place:
    """The place that a replica reads; a variable that is not set here is a place of its own."""
    if location.startswith(PREFIX):
        name = location.removeprefix(PREFIX)
        if name not in environ:
            return Place(system="env", steps=(name,))
        location = environ[name]
    if storage == "table":
        return Place(system="table", steps=steps_of_table(location))
    return _table_of_database(location, options) if storage == "sql" else _folder(location)


def overlap(one: Place, other: Place) -> bool:
    """Whether one place is the other, or lies above or below it."""
    if one.system != other.system:
        return _is_in_warehouse(one, other) or _is_in_warehouse(other, one)
    if one.system == "table":
        return _share_a_table(one.steps, other.steps) or _share_a_table(other.steps, one.steps)
    agree = all(a == b or _ANY in (a, b) for a, b in zip(one.steps, other.steps, strict=False))
    return agree and _is_same_host(one, other)


def _share_a_table(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether the names agree where they meet: ``hr.pay``, ``prod.hr.pay`` and Iceberg's ``hr.pay.files`` do."""
    meetings = (list(zip(one[start:], other, strict=False)) for start in range(len(one)))
    return any(len(pairs) > 1 and all(a == b for a, b in pairs) for pairs in meetings)


def _is_in_warehouse(table: Place, folder: Place) -> bool:
    """Whether a folder is one where Hive keeps a catalog table, ``hr.db/pay``, or holds it, or lies in it."""
    if table.system != "table":
        return False
    tables = set(zip(table.steps, table.steps[1:], strict=False))
    return any(
        step == f"{database}.db" and folder.steps[at + 1 : at + 2] in ((), (name,))
        for at, step in enumerate(folder.steps)
        for database, name in tables
    )


def _is_same_host(one: Place, other: Place) -> bool:
    if one.host == other.host or _ANY in (one.host, other.host):
        return True
    return one.system.startswith("sql ") and is_same_machine(one.host, other.host)


def _folder(location: str) -> Place:
    scheme, rest = location.split("://", 1) if "://" in location else ("file", location)
    if scheme == "file":
        real = os.path.realpath(unquote(rest) if "://" in location else rest)
        return Place(system="file", steps=_steps(real), path=real)
    for _ in range(_DEEPEST_ESCAPE):
        rest = unquote(rest)
    authority, _, path = rest.partition("/")
    system, steps = _SYSTEMS.get(scheme, scheme), _steps(path)
    if system == "abfs":  # container@account, and the account may be left out
        container, _, account = authority.partition("@")
        return Place(system=system, host=_plain(container), steps=(_plain(account.partition(".")[0]), *steps))
    return Place(system=system, host=_host(authority), steps=steps)


def _table_of_database(location: str, options: Mapping[str, str]) -> Place:
    from sqlalchemy.engine import make_url  # large, and wanted only where there are databases

    url = make_url(location)
    backend, table = url.get_backend_name(), _plain(options.get("table", ""))
    family = "mysql" if backend in MYSQL else backend
    if family == "sqlite":
        return Place(system="sql sqlite", steps=(_file(os.path.realpath(url.database or "")), table))
    database, schema = _plain(url.database or ""), _plain(options.get("schema", ""))
    names = (schema or database,) if family == "mysql" else (database, schema)
    return Place(system=f"sql {family}", host=_host(url.host or "localhost"), steps=(*names, table))


def _file(path: str) -> str:
    """A file by what it is, so that hard links to it are the same; by its path where it is not there."""
    try:
        found = os.stat(path)
    except OSError:
        return path
    return f"{found.st_dev}:{found.st_ino}"


def _host(authority: str) -> str:
    """The name of a host without a user and a port."""
    try:
        return (urlsplit(f"//{authority}").hostname or _ANY).rstrip(".")
    except ValueError:
        return _plain(authority)


def _steps(path: str) -> tuple[str, ...]:
    return tuple(_plain(step) for step in path.split("/") if step not in ("", "."))


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()
