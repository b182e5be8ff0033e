"""Providers of metadata, as the operator lists them in ``ASSAY_PROVIDERS``: pure but for the file that it names."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Any

from assay.time.durations import UnableToReadCadence, next_time

from .references import parse_entries

DEFAULTS: Mapping[str, type] = {"owner": str, "tier": int, "datacenter": str, "time_zone": str}
RESERVED = (
    "push",
    "openlineage",
    "query",
    "correction",
    "default",
)  # tell of tables without a provider
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class ProviderEntry:
    """One provider: its name as a source, its kind, how often it is read, and all that its entry says to its kind."""

    name: str
    kind: str
    every: str = "1d"
    defaults: Mapping[str, Any] = field(default_factory=dict)
    entry: Mapping[str, Any] = field(default_factory=dict)


def parse_providers(text: str) -> tuple[ProviderEntry, ...]:
    """The providers of a JSON list, or of a YAML file that the text names; ValueError says what is wrong and where."""
    entries = parse_entries(text) if text.strip() else []
    if not isinstance(entries, list):
        raise ValueError(
            f'write a list of providers: [{{"name": "dbt", "kind": "dbt", …}}], not {type(entries).__name__}'
        )
    providers = tuple(_provider(number, entry) for number, entry in enumerate(entries, 1))
    names = [provider.name.lower() for provider in providers]
    if doubled := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"two providers are called {doubled}: keep one of them, or give the other another name")
    return providers


def providers_as_json(providers: Sequence[ProviderEntry]) -> str:
    """What ``parse_providers`` reads back, for the processes that Assay starts."""
    return json.dumps([dict(provider.entry) for provider in providers])


def _provider(number: int, entry: object) -> ProviderEntry:
    name = entry.get("name") if isinstance(entry, Mapping) else None
    if not isinstance(entry, Mapping) or not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(f"provider {number} has no name of letters, digits, -, _ and .: write name: dbt")
    if faults := list(_faults(entry)):
        raise ValueError(f"provider {number} ({name}): {'; '.join(faults)}")
    values = {key: entry[key] for key in ("name", "kind", "every", "defaults") if entry.get(key)}
    return ProviderEntry(**values, entry=dict(entry))


def _faults(entry: Mapping[str, Any]) -> Iterator[str]:
    if entry["name"] in RESERVED:
        yield f"{entry['name']!r} is what comes without a provider: take another name"
    if not isinstance(entry.get("kind"), str) or not entry["kind"]:
        yield "it has no kind: write kind: dbt"
    try:
        next_time(str(entry.get("every", "1d")), datetime(2000, 1, 1, tzinfo=UTC))
    except UnableToReadCadence as error:
        yield f"every: {error}"
    defaults = entry.get("defaults") or {}
    if not isinstance(defaults, Mapping):
        yield "its defaults are no mapping: write defaults: {owner: data-team, tier: 4}"
        return
    for name, value in defaults.items():
        if name not in DEFAULTS:
            near = get_close_matches(str(name), DEFAULTS)
            hint = f"did you mean {near[0]}? " if near else ""
            yield f"defaults take no {name}: {hint}known here: {', '.join(DEFAULTS)}"
        elif type(value) is not DEFAULTS[name] or value in ("", None):
            yield f"the default {name} is {value!r:.60}: write {'a tier from 0 to 5' if name == 'tier' else 'text'}"
        elif isinstance(value, int) and not 0 <= value <= 5:
            yield f"the default tier is {value}: write one from 0 to 5"
