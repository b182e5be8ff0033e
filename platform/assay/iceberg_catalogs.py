"""Catalogs of Iceberg, as the operator names them once in ``ASSAY_CATALOGS``: pure but for the files that it names."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import Any
from urllib.parse import urlsplit

from .references import HOW, REFERENCE, parse_entries, read_secret

CATALOGS = "iceberg://"  # what the location of a catalog's table begins with
SECRETS = ("credential", "token", "access_key", "secret_key", "session_token")  # which the setting only refers to
KINDS: Mapping[str, frozenset[str]] = {
    "sql": frozenset(("uri", "catalog")),
    "rest": frozenset(("uri", "warehouse", "credential", "token", "scope", "token_uri")),
    "hive": frozenset(("uri",)),
    "glue": frozenset(("region", "endpoint", "access_key", "secret_key", "session_token")),
}
_NAME = re.compile(r"\w[\w-]*", re.ASCII)
_STEPS = re.compile(r"[^\s./\\?#]+(\.[^\s./\\?#]+)*")


@dataclass(frozen=True, kw_only=True)
class Catalog:
    """What holds the tables ``iceberg://NAME/…``; secrets are references: ``env:NAME`` or ``file:/PATH``.

    ``uri`` may be a reference too, as that of a database holds a password. ``catalog`` is what the rows of a database
    call it, and ``name`` unless it says so.
    """

    name: str
    type: str
    uri: str = ""
    catalog: str = ""
    warehouse: str = ""
    credential: str = ""
    token: str = ""
    scope: str = ""
    token_uri: str = ""
    region: str = ""
    endpoint: str = ""
    access_key: str = ""
    secret_key: str = ""
    session_token: str = ""

    @property
    def place(self) -> str:
        """What messages call it."""
        where = self.uri if "@" not in self.uri else ""
        return f"the catalog {self.name}" + (f" at {where or self.endpoint}" if where or self.endpoint else "")

    def value(self, name: str) -> str:
        """A field, or what its reference leads to; UnableToReadSecret."""
        text = str(getattr(self, name))
        return read_secret(text, f"the catalog {self.name} takes its {name}") if REFERENCE.fullmatch(text) else text


def split_name(location: str) -> tuple[str, str]:
    """The names of the catalog and of the table, or namespace, of a location that begins with ``CATALOGS``.

    The second is empty where the location names a whole catalog. Raises ValueError.
    """
    name, _, steps = location.removeprefix(CATALOGS).partition("/")
    if not _NAME.fullmatch(name) or (steps and not _STEPS.fullmatch(steps)):
        raise ValueError(f"{location!r} is no table of a catalog: write {CATALOGS}CATALOG/namespace.table")
    return name, steps


def parse_catalogs(text: str) -> tuple[Catalog, ...]:
    """The catalogs of a JSON list, or of a YAML file that the text names; ValueError says what is wrong and where."""
    entries = parse_entries(text) if text.strip() else []
    if not isinstance(entries, list):
        raise ValueError(
            f'write a list of catalogs: [{{"name": "lake", "type": "rest", …}}], not {type(entries).__name__}'
        )
    catalogs = tuple(_catalog(number, entry) for number, entry in enumerate(entries, 1))
    names = [catalog.name for catalog in catalogs]
    if doubled := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"two catalogs are called {doubled}: keep one of them")
    places = [(catalog.type, catalog.uri, catalog.warehouse, catalog.catalog) for catalog in catalogs]
    if doubled := next((name for name, place in zip(names, places, strict=True) if places.count(place) > 1), None):
        raise ValueError(f"{doubled} has two names: keep one, as what is limited under one name is limited")
    return catalogs


def catalogs_as_json(catalogs: Sequence[Catalog]) -> str:
    """What ``parse_catalogs`` reads back, for the processes that Assay starts; it holds no secret."""
    return json.dumps([{k: v for k, v in asdict(catalog).items() if v} for catalog in catalogs])


def _catalog(number: int, entry: object) -> Catalog:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str) or not _NAME.fullmatch(entry["name"]):
        raise ValueError(f"catalog {number} has no name of letters, digits, - and _: write name: lake")
    if faults := list(_faults(entry)):
        raise ValueError(f"catalog {number} ({entry['name']}): {'; '.join(faults)}")
    return Catalog(**{str(name): value for name, value in entry.items()})


def _faults(entry: Mapping[str, Any]) -> Iterator[str]:
    kind = str(entry.get("type"))
    if kind not in KINDS:
        yield f"its type is {kind!r:.60}: write one of {', '.join(KINDS)}"
        return
    for name, value in entry.items():
        if name not in KINDS[kind] | {"name", "type"}:
            close = get_close_matches(str(name), KINDS[kind], 1)
            hint = f"did you mean {close[0]}?" if close else f"it takes {', '.join(sorted(KINDS[kind]))}"
            yield f"{kind} takes no {name}; {hint}"
        elif not isinstance(value, str):
            yield f"{name} is no text"
        elif name in SECRETS and value and not REFERENCE.fullmatch(value):
            yield f"{name} is no reference: {HOW}"
    uri = entry.get("uri")
    if "uri" in KINDS[kind] and not uri:
        yield f"it has no uri: write {_EXAMPLES[kind]}"
    elif isinstance(uri, str) and _has_password(uri):
        yield "its uri holds a password: put it in a variable, and write uri: env:NAME"
    if bool(entry.get("access_key")) != bool(entry.get("secret_key")):
        yield "give access_key and secret_key both, or neither"


_EXAMPLES = {
    "sql": "uri: sqlite:////data/catalog.db, or env:NAME for postgresql://user:password@host/database",
    "rest": "uri: https://catalog.example.com",
    "hive": "uri: thrift://metastore:9083",
}


def _has_password(uri: str) -> bool:
    try:
        return bool(urlsplit(uri).password)
    except ValueError:
        return False
