"""A catalog file of what a provider tells: the YAML that one would have written by hand."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import yaml

from assay.catalog.profile import CustomProfile, LineageProfile
from assay.catalog.tellings import SourcedTelling, SourceTelling, UnableToReadSource, merge
from assay.catalog.yaml.written import SECTION, as_written, key_of
from assay.provider_entries import ProviderEntry, parse_providers

from .providers import KINDS

HEAD = "# Written by `assay init` of what the provider {name} ({kind}) tells. Correct what it could not know.\n"


@dataclass(frozen=True, kw_only=True)
class ProviderCatalog:
    """The sections of a catalog file, and sentences on what a provider tells that is not in them."""

    sections: Mapping[str, Sequence[Mapping[str, Any]]]
    left_out: tuple[str, ...] = ()

    def to_yaml(self, provider: ProviderEntry) -> str:
        """The catalog file."""
        parts = [HEAD.format(name=provider.name, kind=provider.kind), yaml.safe_dump({"source": provider.name})]
        for section, items in self.sections.items():
            if items:
                parts.append(
                    yaml.safe_dump({section: list(items)}, sort_keys=False, default_flow_style=None, width=110)
                )
        return "".join(parts)


def entry_of(words: Sequence[str], datacenter: str) -> ProviderEntry:
    """The provider of ``kind=iceberg``, ``catalog=lake`` and so on; raises ValueError."""
    entry: dict[str, Any] = {"name": "init", "defaults": {"datacenter": datacenter}}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise ValueError(f"{word!r} says nothing of a provider: write KEY=VALUE, as in kind=iceberg catalog=lake")
        entry[key] = yaml.safe_load(value)
    (provider,) = parse_providers(json.dumps([entry]))
    return provider


def read_catalog(provider: ProviderEntry, fill: Mapping[str, Any]) -> ProviderCatalog:
    """What a provider tells now, with ``fill`` for what it does not say; raises UnableToReadSource."""
    if (read := KINDS.get(provider.kind)) is None:
        raise UnableToReadSource(f"{provider.kind!r} is no kind of provider: known are {', '.join(sorted(KINDS))}")
    return catalog_of(read(provider.entry), {**fill, **provider.defaults})


def catalog_of(telling: SourceTelling, fill: Mapping[str, Any]) -> ProviderCatalog:
    """The catalog file of what a source tells (pure): tables that say where they lie, and what is between them."""
    datasets, left_out = [], list(telling.notes)
    for table in telling.tables:
        merged = merge([SourcedTelling(source="init", telling=table)], fill)
        if merged.profile is None:
            left_out.append(f"{table.full_name}: it does not say its {', '.join(merged.lacking)}")
            continue
        flat = vars(merged.profile) | vars(merged.profile.slas)
        dataset: dict[str, Any] = {"name": table.full_name}
        for field in merged.origins:
            section, _, key = key_of(field).rpartition(".")
            (dataset.setdefault(section, {}) if section else dataset)[key] = as_written(field, flat[field])
        dataset[SECTION] = dataset.pop(SECTION, {})
        datasets.append({key: value for key, value in dataset.items() if value not in ({}, [])})
    names = {dataset["name"].casefold() for dataset in datasets}
    edges = [edge for edge in telling.lineage if {edge.upstream.casefold(), edge.downstream.casefold()} <= names]
    tests = [test for test in telling.custom if test.dataset.casefold() in names]
    sections = {"datasets": datasets, "lineage": [*map(_stated, edges)], "tests": [*map(_stated, tests)]}
    return ProviderCatalog(sections=sections, left_out=tuple(left_out))


def _stated(part: LineageProfile | CustomProfile) -> dict[str, Any]:
    """The fields of an edge or a test that say more than nothing, as a catalog file has them."""
    values = {field.name: getattr(part, field.name) for field in fields(part) if field.name not in ("place", "columns")}
    defaults = {field.name: field.default for field in fields(part)}
    return {
        name: as_written(name, value) for name, value in values.items() if value not in (defaults[name], "", {}, None)
    }
