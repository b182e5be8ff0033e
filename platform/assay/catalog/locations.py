"""Where data may lie: what a location may say, what the operator allows, and what is Assay's own and never data.

A location is judged when it is written, and again each time when it is read: settings, links and names of hosts change.
No sentence here holds what ``env:NAME`` stands for.
"""

import os
import re
import socket
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from assay.config import LOCATION_PREFIX, Config
from assay.iceberg_catalogs import CATALOGS, split_name

from .profile import check_options

if TYPE_CHECKING:
    from sqlalchemy.engine import URL


PREFIX = "env:"
PUSHED = "push"  # the source of what a request told, who is not the operator
SCHEMES = frozenset(["file", "s3", "s3a", "s3n", "gs", "gcs", "hdfs", "viewfs", "abfs", "abfss"])
MYSQL = frozenset({"mysql", "mariadb"})
MYSQL_DRIVERS = frozenset({"mysqldb", "pymysql", "mysqlconnector"})  # those that can be told to send no files
_NEVER_IN_A_QUERY = re.compile(r"(allow_)?local_infile|read_default_(file|group)|init_command|plugin_dir", re.I)
_S3 = {"s3a": "s3", "s3n": "s3"}
_NAME_OF_TABLE = re.compile(r"(\w[\w-]*|`[^`/\\:]+`)(\.(\w[\w-]*|`[^`/\\:]+`)){0,3}")
_STEP_OF_TABLE = re.compile(r"`([^`]*)`|([^.`]+)")
TABLES = "table://"  # what the root of catalog tables begins with
_SPACE = re.compile(r"[\x00-\x1f\x7f\\]")


class UnableToUseLocation(ValueError):
    """Data may not be read at this place; the sentence says why, and how to mend it."""

    is_away = False  # whether the same place may be used later


@dataclass(frozen=True, kw_only=True)
class LocationRules:
    """What the operator allows, and what is Assay's own. Without roots, catalog files may name any place."""

    roots: tuple[str, ...] = ()
    variables: frozenset[str] = frozenset()
    own_paths: tuple[str, ...] = ()  # real paths
    own_database: str = ""


@dataclass(frozen=True, kw_only=True)
class LocationClaim:
    """A location as told, and who told it: a catalog file of the operator's, or a request (not ``is_trusted``)."""

    storage: str
    location: str
    options: Mapping[str, str]
    is_trusted: bool

    @property
    def variable(self) -> str | None:
        """The environment variable that it names."""
        return self.location.removeprefix(PREFIX) if self.location.startswith(PREFIX) else None


@dataclass(frozen=True, kw_only=True)
class ReadableLocation:
    """Where to read, and the folders to which links or the log of a table may lead: to anywhere where that is empty."""

    location: str
    within: tuple[str, ...] = ()


def rules_of(config: Config) -> LocationRules:
    """The rules that the settings make."""
    return LocationRules(
        roots=tuple(config.allowed_roots),
        variables=frozenset(config.location_variables),
        own_paths=tuple(os.path.realpath(path) for path in config.own_paths),
        own_database=config.database,
    )


def check(place: LocationClaim, rules: LocationRules) -> None:
    """Raise UnableToUseLocation if this may not be written; what a variable stands for is seen when it is read."""
    try:
        check_options(place.storage, place.options)
    except ValueError as error:
        raise UnableToUseLocation(str(error)) from None
    if (name := place.variable) is None:
        _find(place, place.location, rules)
        return
    is_named_so = place.is_trusted and name.startswith(LOCATION_PREFIX) and name != f"{LOCATION_PREFIX}VARIABLES"
    if name not in rules.variables and not is_named_so:
        other = f"or name it {LOCATION_PREFIX}… " if place.is_trusted else ""
        raise UnableToUseLocation(
            f"{place.location} names a variable that the operator does not allow: list it in ASSAY_LOCATION_VARIABLES "
            f"{other}where the web app and the workers run"
        )


def find(place: LocationClaim, rules: LocationRules, environ: Mapping[str, str]) -> ReadableLocation:
    """Where to read, ``env:NAME`` replaced; raises UnableToUseLocation."""
    check(place, rules)
    if place.variable is None:
        return _find(place, place.location, rules)
    if place.variable not in environ:
        raise UnableToUseLocation(
            f"the catalog says {place.location!r}, but {place.variable} is not set: set it where the worker runs"
        )
    return _find(place, environ[place.variable], rules)


def _find(place: LocationClaim, location: str, rules: LocationRules) -> ReadableLocation:
    if _SPACE.search(location):
        raise UnableToUseLocation("a location may hold no control characters and no backslashes")
    if place.storage == "table":
        if not _NAME_OF_TABLE.fullmatch(location):
            raise UnableToUseLocation(f"{place.location!r} is no name of a table: write database.table")
        roots = [root.removeprefix(TABLES).strip("/") for root in rules.roots if root.startswith(TABLES)]
        database = steps_of_table(location)[:-1]
        is_allowed = any(not root or steps_of_table(f"{root}.*")[:-1] == database for root in roots)
        if _is_bound(place, rules) and not is_allowed:
            raise UnableToUseLocation(
                f"{place.location} is a table that the operator does not allow: add table://DATABASE, or table:// "
                "for all tables of the catalog, to ASSAY_ALLOWED_ROOTS, where the web app and the workers run"
            )
        return ReadableLocation(location=location)
    if location.startswith(CATALOGS):
        _check_table_of_catalog(place, location, rules)
        return ReadableLocation(location=location)
    if place.storage == "sql":
        _check_database(place, location, rules)
        return ReadableLocation(location=location)
    scheme, rest = location.split("://", 1) if "://" in location else ("file", location)
    if scheme not in SCHEMES:
        raise UnableToUseLocation(f"no file system is called {scheme}://; there are {', '.join(sorted(SCHEMES))}")
    if "://" in location and re.search(r"[?#]|^[^/]*:[^/]*@", rest):
        raise UnableToUseLocation(
            "the URL of a folder may hold no password and nothing after ? or #: "
            "name the store in ASSAY_STORES, where the workers run"
        )
    path = unquote(rest) if "://" in location else rest
    if ".." in path.split("/"):
        raise UnableToUseLocation(f"{place.location} holds '..': write where the folder lies")
    if scheme == "file":
        return ReadableLocation(location=path, within=_local(place, _folder(place, path), rules))
    if _is_bound(place, rules) and not any(_is_below(location, root) for root in rules.roots):
        raise _outside(place)
    return ReadableLocation(location=location, within=() if place.is_trusted else (_folder(place, location),))


def _folder(place: LocationClaim, path: str) -> str:
    """The folder of the table: that of an Iceberg table lies above its metadata files."""
    above, _, name = path.rpartition("/metadata/")
    return above if place.storage == "iceberg" and ".metadata.json" in name else path


def _check_table_of_catalog(place: LocationClaim, location: str, rules: LocationRules) -> None:
    """Where its catalog says that it lies is judged when the catalog is asked."""
    try:
        name, table = split_name(location)
    except ValueError as error:
        raise UnableToUseLocation(str(error)) from None
    if place.storage != "iceberg":
        raise UnableToUseLocation(f"{place.location} is a table of Iceberg: write storage: iceberg")
    if "." not in table:
        raise UnableToUseLocation(f"{place.location} names no table: write {CATALOGS}{name}/namespace.table")
    roots = [root.removeprefix(CATALOGS).strip("/") for root in rules.roots if root.startswith(CATALOGS)]
    whole = f"{name}/{table}"
    if _is_bound(place, rules) and not any(
        not root or re.match(rf"{re.escape(root)}([/.]|$)", whole) for root in roots
    ):
        raise UnableToUseLocation(
            f"{place.location} is a table that the operator does not allow: add {CATALOGS}{name}, or {CATALOGS}{name}/"
            "NAMESPACE, to ASSAY_ALLOWED_ROOTS, where the web app and the workers run"
        )


def _is_bound(place: LocationClaim, rules: LocationRules) -> bool:
    """A variable is the operator's own word; a catalog file is bound only where there are roots of its kind at all."""
    kind = TABLES if place.storage == "table" else CATALOGS if place.location.startswith(CATALOGS) else ""
    has_roots = any(next((k for k in (TABLES, CATALOGS) if root.startswith(k)), "") == kind for root in rules.roots)
    return place.variable is None and (has_roots or not place.is_trusted)


def _local(place: LocationClaim, path: str, rules: LocationRules) -> tuple[str, ...]:
    """The real folders of a local path; UnableToUseLocation where it is ours, or outside the roots."""
    if not os.path.isabs(path):
        raise UnableToUseLocation(f"{place.location} must be absolute: begin with / or a scheme such as s3://")
    real = os.path.realpath(path)
    # reading all of a folder would come upon what is ours in it, but for names with a dot
    inside = [own[len(real) :].split("/") for own in rules.own_paths if _is_inside(own, real)]
    if is_own(real, rules.own_paths) or any(not any(n.startswith((".", "_")) for n in names) for names in inside):
        raise UnableToUseLocation(f"{place.location} is or holds what is Assay's own, and no data: name another")
    roots = tuple(os.path.realpath(root) for root in rules.roots if root.startswith("/"))
    if _is_bound(place, rules) and not any(_is_inside(real, root) for root in roots):
        raise _outside(place)
    return (real, *roots)


def is_own(real: str, own_paths: tuple[str, ...]) -> bool:
    """Whether a real path is one of Assay's own, or lies in one."""
    return any(_is_inside(real, own) for own in own_paths)


def _check_database(place: LocationClaim, location: str, rules: LocationRules) -> None:
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(location)
    except (ArgumentError, ValueError):
        raise UnableToUseLocation(
            f"{place.location if place.variable else 'a sql location'} is no database URL: "
            "write dialect://user@host/name, or env:NAME"
        ) from None
    # drivers take files to read and commands to run from what stands after the question mark
    if wrong := sorted(key for key in url.query if place.variable is None or _NEVER_IN_A_QUERY.fullmatch(key)):
        raise UnableToUseLocation(f"a database URL may not hold {', '.join(wrong)} after the question mark")
    if url.password and place.variable is None:
        raise UnableToUseLocation("the location holds a password: put the URL in a variable and write env:NAME")
    backend, driver = url.get_backend_name(), url.drivername.partition("+")[2]
    if backend in MYSQL and driver not in MYSQL_DRIVERS | {""}:
        raise UnableToUseLocation(f"mysql+{driver} is not known to send no files: write mysql+mysqldb")
    if backend == "sqlite":
        path = os.path.abspath(url.database or "")
        if ".." in (url.database or "").split("/"):
            raise UnableToUseLocation(f"{place.location} holds '..': write where the file lies")
        _local(place, path, rules)
        is_ours = any(_is_same_file(path, own) for own in rules.own_paths)
    else:
        if _is_bound(place, rules) and not any(_is_server(url, root) for root in rules.roots):
            raise _outside(place)
        is_ours = _is_own_database(url, place.options.get("schema", ""), rules.own_database)
    if is_ours:
        raise UnableToUseLocation(f"{place.location} is Assay's own database: name another")


def steps_of_table(location: str) -> tuple[str, ...]:
    """The parts of the name of a catalog table in lower case, without the name of Spark's own catalog."""
    steps = tuple((quoted or bare).casefold() for quoted, bare in _STEP_OF_TABLE.findall(location))
    steps = steps[1:] if len(steps) > 2 and steps[0] == "spark_catalog" else steps
    return steps if len(steps) > 1 else ("default", *steps)


def _outside(place: LocationClaim) -> UnableToUseLocation:
    return UnableToUseLocation(
        f"{place.location} lies outside what the operator allows: add its folder or URL to ASSAY_ALLOWED_ROOTS, "
        "where the web app and the workers run"
    )


def _is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _is_below(location: str, root: str) -> bool:
    """Whether a URL lies below the URL of a root; the three names of S3 are one."""
    url, above = urlsplit(location), urlsplit(root)
    if _S3.get(url.scheme, url.scheme) != _S3.get(above.scheme, above.scheme) or url.netloc != above.netloc:
        return False
    return _is_inside(unquote(url.path).rstrip("/"), unquote(above.path).rstrip("/"))


def _is_server(url: "URL", root: str) -> bool:
    """Whether a database is the root's: what the root leaves open may be anything."""
    if "://" not in root:
        return False
    from sqlalchemy.engine import make_url

    allowed = make_url(root)
    return (
        _family(url) == _family(allowed)
        and (url.host or "").casefold() == (allowed.host or "").casefold()
        and allowed.port in (None, url.port)
        and (not allowed.database or allowed.database == url.database)
    )


def _is_own_database(url: "URL", schema: str, own: str) -> bool:
    """By names first, so that hosts are looked up only where the answer hangs on them."""
    from sqlalchemy.engine import make_url

    ours = make_url(own)
    names = {name.casefold() for name in (url.database, schema) if name}
    if ours.get_backend_name() == "sqlite" or _family(url) != _family(ours):
        return False
    if (ours.database or "").casefold() not in names:
        return False
    hosts = url.host or "localhost", ours.host or "localhost"
    usual = {"mysql": 3306, "postgresql": 5432}.get(_family(url))
    is_same_port = "localhost" in hosts or (url.port or usual) == (ours.port or usual)  # a socket has no port
    return is_same_port and is_same_machine(*hosts)


def _family(url: "URL") -> str:
    backend = url.get_backend_name()
    return "mysql" if backend in MYSQL else backend


def _is_same_file(path: str, own: str) -> bool:
    """Two names of one file are the same, by a hard link too."""
    try:
        return Path(path).samefile(own)
    except OSError:
        return False


def is_same_machine(host: str, other: str) -> bool:
    """Whether both have an address in common, or both are this machine; a name that has none is nobody's."""
    ours, theirs = _addresses(host), _addresses(other)
    return bool(ours & theirs) or (any(map(_is_here, ours)) and any(map(_is_here, theirs)))


def _addresses(host: str) -> set[str]:
    try:
        return {str(entry[4][0]) for entry in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError):
        return set()


def _is_here(address: str) -> bool:
    """Only an address of this machine can be listened at."""
    if ip_address(address).is_loopback or ip_address(address).is_unspecified:
        return True
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True


# The place that a location names, whatever its spelling, and whether two places share data.
#
# Where two spellings cannot be told apart for sure, they count as one place: limits hold for too much, not too
# little.

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
    if storage == "sql":
        from sqlalchemy.engine import make_url  # large, and wanted only where there are databases

        url = make_url(location)
        family, table = _family(url), _plain(options.get("table", ""))
        if family == "sqlite":
            path = os.path.realpath(url.database or "")
            try:  # a file by what it is, so that hard links to it are the same; by its path where it is not there
                status = os.stat(path)
                path = f"{status.st_dev}:{status.st_ino}"
            except OSError:
                pass
            return Place(system="sql sqlite", steps=(path, table))
        database, schema = _plain(url.database or ""), _plain(options.get("schema", ""))
        names = (schema or database,) if family == "mysql" else (database, schema)
        return Place(system=f"sql {family}", host=_host(url.host or "localhost"), steps=(*names, table))
    if location.startswith(CATALOGS):
        name, _, table = location.removeprefix(CATALOGS).partition("/")
        return Place(system=CATALOGS, host=name, steps=tuple(map(_plain, table.split("."))))
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


def overlap(place: Place, other: Place) -> bool:
    """Whether one place is the other, or lies above or below it."""
    if place.system != other.system:
        return _is_in_warehouse(place, other) or _is_in_warehouse(other, place)
    if place.system == "table":
        return _share_table(place.steps, other.steps) or _share_table(other.steps, place.steps)
    if not all(a == b or _ANY in (a, b) for a, b in zip(place.steps, other.steps, strict=False)):
        return False
    if place.host == other.host or _ANY in (place.host, other.host):
        return True
    return place.system.startswith("sql ") and is_same_machine(place.host, other.host)


def _share_table(steps: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Whether the names agree where they meet: ``hr.pay``, ``prod.hr.pay`` and Iceberg's ``hr.pay.files`` do."""
    meetings = (list(zip(steps[start:], others, strict=False)) for start in range(len(steps)))
    return any(len(pairs) > 1 and all(a == b for a, b in pairs) for pairs in meetings)


def _is_in_warehouse(table: Place, folder: Place) -> bool:
    """Whether a folder is one where catalogs keep a table, or holds it, or lies in it.

    That is ``hr.db/pay`` of Hive's, and of Iceberg's also ``hr/pay``.
    """
    if table.system not in ("table", CATALOGS):
        return False
    tables = set(zip(table.steps, table.steps[1:], strict=False))
    return any(
        (step == f"{database}.db" and folder.steps[at + 1 : at + 2] in ((), (name,)))
        or (table.system == CATALOGS and folder.steps[at : at + 2] == (database, name))
        for at, step in enumerate(folder.steps)
        for database, name in tables
    )


def _host(authority: str) -> str:
    try:
        return (urlsplit(f"//{authority}").hostname or _ANY).rstrip(".")
    except ValueError:
        return _plain(authority)


def _steps(path: str) -> tuple[str, ...]:
    return tuple(_plain(step) for step in path.split("/") if step not in ("", "."))


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()
