"""Elasticsearch, by its index templates: each is a table, cut by days or the like where its indices are dated."""

from collections.abc import Iterable, Mapping
from typing import Any

from assay.catalog.partitions import KEY_FORMATS, partition_of
from assay.catalog.profile import Column
from assay.catalog.tellings import SourceTelling, TableTelling, UnableToReadSource

from . import places
from .documents import documented, mapping, mappings, read_document, text_at
from .entries import ALL, bearer, check_keys, time_zone
from .places import TableSteps, name_tables, replica_of
from .properties import fields_of

KEYS = places.KEYS | {"url": True, "token": False}
SCHEMA = "elasticsearch"  # what stands for ``{schema}``
FORMATS = (*KEY_FORMATS, *((cut, text.replace("-", ".")) for cut, text in KEY_FORMATS if "-" in text))
TYPES = {
    **dict.fromkeys(("keyword", "text", "wildcard", "constant_keyword", "match_only_text", "ip", "version"), "string"),
    **{"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint", "unsigned_long": "decimal(20,0)"},
    **{"double": "double", "float": "float", "half_float": "float", "scaled_float": "double", "boolean": "boolean"},
    **{"date": "timestamp", "date_nanos": "timestamp", "binary": "binary"},
}


def read(entry: Mapping[str, Any], most: int = ALL) -> SourceTelling:  # its documents name all at once
    """What the templates of a cluster say; ``token`` refers to an API key. Raises UnableToReadSource."""
    check_keys(entry, KEYS)
    url, headers = str(entry["url"]).rstrip("/"), bearer(entry, scheme="ApiKey")
    return parse(
        entry,
        read_document(f"{url}/_index_template", headers),
        read_document(f"{url}/_component_template", headers, is_optional=True),
        read_document(f"{url}/_resolve/index/*", headers, is_optional=True),
    )


@documented
def parse(entry: Mapping[str, Any], templates: Any, components: Any = None, indices: Any = None) -> SourceTelling:
    """What the answers say; raises UnableToReadSource. Templates of Elasticsearch's own are none of ours."""
    listed = mappings(mapping(templates, "_index_template").get("index_templates"), "index_templates")
    parts = _components(components)
    names_of_indices = _indices(indices)
    by_steps: dict[TableSteps, Mapping[str, Any]] = {}
    for item in listed:
        name = text_at(item, "name", "an index template")
        template = mapping(item.get("index_template"), f"index_template {name}")
        if not name.startswith(".") and not (template.get("_meta") or {}).get("managed"):
            by_steps[TableSteps(schema=SCHEMA, table=name)] = template
    if not by_steps:
        raise UnableToReadSource("it names no index template but its own: see that its key may read them")
    names, notes = name_tables(entry, by_steps)
    read = [_table(entry, steps, by_steps[steps], name, parts, names_of_indices) for steps, name in names.items()]
    return SourceTelling(
        tables=tuple(table for table, _ in read), notes=(*notes, *(note for _, own in read for note in own))
    )


def _components(components: Any) -> dict[str, Mapping[str, Any]]:
    if components is None:
        return {}
    listed = mappings(mapping(components, "_component_template").get("component_templates"), "component_templates")
    return {
        text_at(item, "name", "a component template"): mapping(item.get("component_template"), "a component template")
        for item in listed
    }


def _indices(indices: Any) -> list[str]:
    if indices is None:
        return []
    listed = mappings(mapping(indices, "_resolve/index").get("indices"), "indices of _resolve/index")
    return [text_at(item, "name", "an index") for item in listed]


def _table(
    entry: Mapping[str, Any],
    steps: TableSteps,
    template: Mapping[str, Any],
    name: tuple[str, str],
    parts: Mapping[str, Mapping[str, Any]],
    indices: Iterable[str],
) -> tuple[TableTelling, list[str]]:
    layers = [parts[part] for part in template.get("composed_of") or () if part in parts] + [template]
    properties: dict[str, Any] = {}
    meta: dict[str, Any] = {}
    for layer in layers:  # a later one goes before the earlier ones
        mapped = mapping((layer.get("template") or {}).get("mappings") or {}, f"mappings of {steps.table}")
        properties |= mapping(mapped.get("properties") or {}, f"properties of {steps.table}")
        meta |= {**(mapped.get("_meta") or {}), **(layer.get("_meta") or {})}
    if template.get("data_stream") is not None:
        properties = {"@timestamp": {"type": "date"}, **properties}
    columns = {column: _type(field) for column, field in properties.items() if field.get("type") != "alias"}
    own, notes = fields_of({**_cut(entry, template, columns, indices), **meta}, ".".join(name))
    replica = replica_of(entry, steps)
    fields: dict[str, Any] = {
        "owner": meta.get("owner") if isinstance(meta.get("owner"), str) else None,
        "description": meta.get("description") if isinstance(meta.get("description"), str) else None,
        "columns": tuple(Column(name=column, type=type_) for column, type_ in columns.items()) or None,
        "replicas": (replica,) if replica else None,
    }
    return TableTelling(namespace=name[0], name=name[1], **{**fields, **own}), notes


def _cut(
    entry: Mapping[str, Any], template: Mapping[str, Any], columns: Mapping[str, str], indices: Iterable[str]
) -> dict[str, str]:
    """The partition as properties: of dated indices, by the one time that their rows have; none of others."""
    times = [column for column, type_ in columns.items() if type_ == "timestamp"]
    times = ["@timestamp"] if "@timestamp" in times else times
    starts = [str(pattern).removesuffix("*") for pattern in template.get("index_patterns") or ()]
    keys = [index[len(start) :] for index in indices for start in starts if index.startswith(start) and index != start]
    partition = partition_of(times[0], sorted(set(keys)), formats=FORMATS) if len(times) == 1 else None
    if partition is None:
        return {}
    values = {"column": partition.column, "granularity": partition.granularity.value, "time_zone": time_zone(entry)}
    if partition.key_format:
        values["key_format"] = partition.key_format
    return {f"assay.partition.{key}": value for key, value in values.items()}


def _type(field: Mapping[str, Any]) -> str:
    """Spark's type of a field; empty for what has none there."""
    if "properties" in field:
        inner = [(name, _type(part)) for name, part in field["properties"].items()]
        if not all(type_ for _, type_ in inner):
            return ""
        struct = f"struct<{','.join(f'`{name}`:{type_}' for name, type_ in inner)}>"
        return f"array<{struct}>" if field.get("type") == "nested" else struct
    return TYPES.get(str(field.get("type")), "")
