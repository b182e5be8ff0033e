"""Object stores, as the operator names them once in ``ASSAY_STORES``: pure but for the files that the setting names."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .references import HOW, REFERENCE, parse_entries, read_secret

SCHEMES = {"s3": "s3", "s3a": "s3", "s3n": "s3", "gs": "gs", "gcs": "gs", "abfss": "abfss", "abfs": "abfss"}
SECRETS = ("access_key", "secret_key", "session_token", "proxy")  # which the setting only refers to
_OF_ALL = ("endpoint", "read_only")
FIELDS_OF = {
    "s3": frozenset(
        (*_OF_ALL, "region", "access_key", "secret_key", "session_token", "path_style", "proxy", "anonymous")
    ),
    "gs": frozenset((*_OF_ALL, "anonymous")),
    "abfss": frozenset((*_OF_ALL, "secret_key")),
}


@dataclass(frozen=True, kw_only=True)
class Store:
    """What serves the locations that begin with ``prefix``; secrets are references: ``env:NAME`` or ``file:/PATH``.

    Without keys it is opened with what the machine has: AWS_… variables, a profile, the role of the instance.
    """

    prefix: str
    endpoint: str = ""
    region: str = ""
    access_key: str = ""
    secret_key: str = ""
    session_token: str = ""
    path_style: bool = True  # of an endpoint of its own; Amazon's has the bucket in the name of the host
    proxy: str = ""
    anonymous: bool = False
    read_only: bool = False  # Assay writes nothing there, whatever its keys may do

    @property
    def scheme(self) -> str:
        """One of ``FIELDS_OF``."""
        return SCHEMES[self.prefix.split("://", 1)[0]]

    @property
    def place(self) -> str:
        """What messages call it."""
        return f"the store {self.prefix}" + (f" at {self.endpoint}" if self.endpoint else "")

    def secret(self, name: str) -> str:
        """The value behind a reference, or a plain proxy; empty where the store has none. Raises UnableToReadSecret."""
        text = str(getattr(self, name))
        is_plain = name == "proxy" and not REFERENCE.fullmatch(text)
        return text if is_plain else read_secret(text, f"{self.place} takes its {name}")


def is_store(location: str) -> bool:
    """Whether the location is one of an object store."""
    return "://" in location and location.partition("://")[0] in SCHEMES


def store_of(location: str, stores: Sequence[Store]) -> Store | None:
    """The store with the longest prefix that holds the location; None where none does."""
    place = _normal(location)
    holders = [store for store in stores if _holds(_normal(store.prefix), place)]
    return max(holders, key=lambda store: len(_normal(store.prefix)), default=None)


def read_only_fault(location: str, stores: Sequence[Store]) -> str:
    """Why nothing may be written at a location, where its store is read-only; else empty."""
    if not is_store(location) or (store := store_of(location, stores)) is None or not store.read_only:
        return ""
    return (
        f"{store.place} is read_only in ASSAY_STORES, so nothing is written to {location}: name a place in another "
        "store, or give this one read_only: false"
    )


def _holds(prefix: str, place: str) -> bool:
    return place == prefix or place.startswith(prefix if prefix.endswith("/") else f"{prefix}/")


def _normal(location: str) -> str:
    scheme, _, rest = location.partition("://")
    return f"{SCHEMES.get(scheme, scheme)}://{rest.rstrip('/')}"


def environment_of(stores: Sequence[Store], environment: Mapping[str, str]) -> dict[str, str]:
    """The variables by which another process opens the same stores: the setting, what it refers to, the machine's keys.

    ``environment`` is that of this process; where no store takes the machine's keys, the other does not see them.
    """
    if not stores:
        return {}
    references = [str(getattr(store, name)) for store in stores for name in SECRETS]
    names = {reference.removeprefix("env:") for reference in references if reference.startswith("env:")}
    schemes = {store.scheme for store in stores if not (store.access_key or store.secret_key or store.anonymous)}
    starts = tuple(_MACHINE[scheme] for scheme in schemes)
    names |= {name for name in environment if name.startswith(starts)} if starts else set()
    profiles = _PROFILES if "s3" in schemes else {}
    home = environment.get("HOME", "")
    return (
        {name: str(Path(home, file)) for name, file in profiles.items() if Path(home, file).is_file()}
        | {name: environment[name] for name in names if name in environment}
        | {"ASSAY_STORES": stores_as_json(stores)}
    )


_MACHINE = {"s3": "AWS_", "gs": "GOOGLE_", "abfss": "AZURE_"}
_PROFILES = {"AWS_SHARED_CREDENTIALS_FILE": ".aws/credentials", "AWS_CONFIG_FILE": ".aws/config"}


def parse_stores(text: str) -> tuple[Store, ...]:
    """The stores of a JSON list, or of a YAML file that the text names; ValueError says what is wrong and where."""
    if not text.strip():
        return ()
    entries = parse_entries(text)
    if not isinstance(entries, list):
        raise ValueError(f'write a list of stores: [{{"prefix": "s3://lake", …}}], not {type(entries).__name__}')
    stores = tuple(_store(number, entry) for number, entry in enumerate(entries, 1))
    prefixes = [_normal(store.prefix) for store in stores]
    if doubled := next((prefix for prefix in prefixes if prefixes.count(prefix) > 1), None):
        raise ValueError(f"two stores have the prefix {doubled}: keep one of them")
    return stores


def stores_as_json(stores: Sequence[Store]) -> str:
    """What ``parse_stores`` reads back, for the processes that Assay starts; it holds no secret."""
    return json.dumps([{k: v for k, v in asdict(store).items() if v != _DEFAULTS.get(k)} for store in stores])


_DEFAULTS: Mapping[str, Any] = {field.name: field.default for field in fields(Store)}


def _store(number: int, entry: object) -> Store:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("prefix"), str):
        raise ValueError(f"store {number} has no prefix: write prefix: s3://BUCKET")
    prefix = entry["prefix"]
    if faults := list(_faults(prefix, entry)):
        raise ValueError(f"store {number} ({prefix}): {'; '.join(faults)}")
    return Store(**{str(name): value for name, value in entry.items()})


def _faults(prefix: str, entry: Mapping[str, Any]) -> Iterator[str]:
    scheme = SCHEMES.get(prefix.partition("://")[0]) if "://" in prefix else None
    if scheme is None or re.search(r"[?#@\s]" if scheme != "abfss" else r"[?#\s]", prefix):
        yield f"its prefix is no URL of a store: begin with one of {', '.join(f'{name}://' for name in SCHEMES)}"
        return
    for name in entry.keys() - {"prefix"} - FIELDS_OF[scheme]:
        close = get_close_matches(str(name), FIELDS_OF[scheme], 1)
        yield f"{scheme}:// takes no {name}" + (
            f"; did you mean {close[0]}?" if close else f": it takes {', '.join(sorted(FIELDS_OF[scheme]))}"
        )
    for name, default in _DEFAULTS.items():
        if name in entry and name != "prefix" and not isinstance(entry[name], type(default)):
            yield f"{name} is no {'text' if isinstance(default, str) else 'true or false'}"
        elif name in SECRETS and entry.get(name) and not REFERENCE.fullmatch(entry[name]):
            is_plain = name == "proxy" and _is_address(entry[name])
            if not is_plain:
                yield f"{name} is no reference: {HOW}"
    if entry.get("endpoint") and not _is_address(entry["endpoint"]):
        yield "endpoint is no address: write http://HOST:PORT or https://HOST, without a user or a path"
    if scheme == "s3" and bool(entry.get("access_key")) != bool(entry.get("secret_key")):
        yield "give access_key and secret_key both, or neither"


def _is_address(text: object) -> bool:
    try:
        parts = urlsplit(str(text))
        _ = parts.port  # raises where it is no number
    except ValueError:
        return False
    has_more = parts.username or parts.path.strip("/") or parts.query
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not has_more
