"""Entries of ``ASSAY_PROVIDERS``, as the modules of all kinds read them: their keys, defaults and secrets."""

import sys
from collections.abc import Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

from assay.catalog.tellings import UnableToReadSource
from assay.references import REFERENCE, UnableToReadSecret, read_secret

COMMON = ("name", "kind", "every", "defaults", "names", "except")  # which entries of every kind have
DATACENTER, TIME_ZONE = "local", "UTC"
ALL = sys.maxsize  # tables


def check_keys(entry: Mapping[str, Any], keys: Mapping[str, bool]) -> None:
    """Raise UnableToReadSource for a key that a kind does not take, and for a required (True) one that is missing."""
    known = sorted({*keys, *COMMON})
    for name in entry:
        if name not in known:
            near = get_close_matches(str(name), known)
            hint = f"did you mean {near[0]}? " if near else ""
            raise UnableToReadSource(f"its entry takes no {name}: {hint}known here: {', '.join(known)}")
    for name, is_required in keys.items():
        if is_required and not entry.get(name):
            raise UnableToReadSource(f"its entry has no {name}: add it in ASSAY_PROVIDERS")


def is_selected(entry: Mapping[str, Any], full_name: str) -> bool:
    """Whether a dataset fits a glob of ``names``, where there are any, and none of ``except``; case does not matter."""
    names, excluded = (_globs(entry, key) for key in ("names", "except"))
    key = full_name.lower()
    is_named = not names or any(fnmatchcase(key, glob) for glob in names)
    return is_named and not any(fnmatchcase(key, glob) for glob in excluded)


def _globs(entry: Mapping[str, Any], key: str) -> list[str]:
    globs = entry.get(key) or []
    return [str(glob).lower() for glob in ([globs] if isinstance(globs, str) else globs)]


def datacenter(entry: Mapping[str, Any]) -> str:
    """Where the tables lie, by the defaults of the entry."""
    return str((entry.get("defaults") or {}).get("datacenter") or DATACENTER)


def time_zone(entry: Mapping[str, Any]) -> str:
    """In which zone days begin, by the defaults of the entry."""
    return str((entry.get("defaults") or {}).get("time_zone") or TIME_ZONE)


def bearer(entry: Mapping[str, Any], key: str = "token", scheme: str = "Bearer") -> dict[str, str]:
    """The header of a token that an entry refers to; none where it names none. Raises UnableToReadSource."""
    secret = secret_of(entry, key)
    return {"Authorization": f"{scheme} {secret}"} if secret else {}


def secret_of(entry: Mapping[str, Any], key: str) -> str:
    """What the reference of an entry leads to; empty where it has none. Raises UnableToReadSource."""
    reference = entry.get(key, "")
    if not reference:
        return ""
    if not isinstance(reference, str) or not REFERENCE.fullmatch(reference):
        raise UnableToReadSource(f"{key} is no reference: write env:NAME or file:/PATH")
    try:
        return read_secret(reference, f"{entry.get('name', 'the provider')} takes its {key}")
    except UnableToReadSecret as error:
        raise UnableToReadSource(str(error)) from None
