"""From the checked parts of a catalog file to the profile they describe."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

from assay.catalog.profile import (
    COLUMN,
    FILES,
    BindingProfile,
    BusinessMetricDefinition,
    CatalogProfile,
    Column,
    ColumnSelector,
    CustomProfile,
    DatasetProfile,
    LineageProfile,
    PartitionProfile,
    ReplicaProfile,
    RowsTarget,
    Selector,
    ServedTable,
    SlaProfile,
    TemplateProfile,
    placeholders,
)
from assay.time.stored_times import Holds

from .parts import (
    BindingPart,
    BusinessMetricPart,
    CustomPart,
    DatasetPart,
    LineagePart,
    TemplatePart,
    YamlPart,
)
from .yaml_text import Path as YamlPath

Finding = tuple[YamlPath, str]


@dataclass(frozen=True, kw_only=True)
class YamlParts:
    """The parts that are right in themselves, by their number over all files, and every dataset's name that is written.

    ``places``: where parts and their assertions stand, ``file:line``. ``elsewhere``: the datasets of other sources, by
    name in lower case, and whether they are partitioned.
    """

    datasets: Mapping[int, DatasetPart]
    lineage: Mapping[int, LineagePart]
    tests: Mapping[int, CustomPart]
    names: Sequence[str]
    templates: Mapping[int, TemplatePart] = field(default_factory=dict)
    bindings: Mapping[int, BindingPart] = field(default_factory=dict)
    business_metrics: Mapping[int, BusinessMetricPart] = field(default_factory=dict)
    places: Mapping[tuple[str | int, ...], str] = field(default_factory=dict)
    elsewhere: Mapping[str, bool] = field(default_factory=dict)

    @cached_property
    def partitioned(self) -> dict[str, bool]:
        """Whether each dataset that is known is partitioned, by name in lower case."""
        tables = {dataset.name.lower(): dataset.partition is not None for dataset in self.datasets.values()}
        return {**self.elsewhere, **tables, **{metric.name.lower(): True for metric in self.business_metrics.values()}}

    @cached_property
    def dataset_keys(self) -> frozenset[str]:
        """The datasets that are written here or are another source's, by name in lower case."""
        return frozenset({name.lower() for name in self.names} | self.elsewhere.keys())

    def place(self, section: str, number: int) -> str:
        """Where a part stands, for people."""
        return self.places.get((section, number), f"{section}[{number}]")


def cross_check(parts: YamlParts) -> Iterator[Finding]:
    """Everything that is wrong between parts: where, and a sentence that says how to mend it."""
    yield from _datasets(parts)
    yield from _lineage(parts)
    yield from _custom(parts)
    yield from _templates(parts)
    yield from _bindings(parts)
    yield from _business_metrics(parts)


def _datasets(parts: YamlParts) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for number, dataset in parts.datasets.items():
        if (earlier := first.setdefault(dataset.name.lower(), number)) != number:
            place, name = parts.place("datasets", earlier), parts.datasets[earlier].name
            how = "again" if name == dataset.name else f"beside {name!r}, and names are one without regard to case"
            sentence = f"found {dataset.name!r} {how}, first at {place}: keep one of the two."
            yield ("datasets", number, "name"), sentence
        datacenters = [replica.datacenter for replica in dataset.replicas]
        for index, datacenter in enumerate(datacenters):
            if datacenter in datacenters[:index]:
                sentence = f"found a second replica in {datacenter!r}: a datacenter holds one replica."
                yield ("datasets", number, "replicas", index, "datacenter"), sentence
        holds = dataset.partition.holds if dataset.partition else Holds.KEY
        for (
            replica
        ) in dataset.replicas:  # only databases are asked for ranges of time; the lake has partitions with keys
            if holds is not Holds.KEY and replica.storage != "sql":
                yield (
                    ("datasets", number, "partition", "holds"),
                    f"found {holds.value!r}, but the replica in {replica.datacenter!r} is stored as "
                    f"{replica.storage}, and only a sql table is cut by ranges of time: name the column, or Hive "
                    "folder, that holds the partition's key, or tell of the copy as a dataset of its own.",
                )
        key = dataset.partition.column if dataset.partition else None  # may be a folder's name, and no declared column
        for index, column in enumerate(dataset.primary_key if dataset.columns else ()):
            if column not in dataset.columns and column != key:
                sentence = _unknown("column", column, list(dataset.columns), "columns")
                yield ("datasets", number, "primary_key", index), sentence


def relative_locations(part: DatasetPart) -> list[tuple[str, str]]:
    """The replicas of a dataset that no file tells of whose location needs one, each with its place."""
    return [
        ("replicas", f"{replica.location!r} must be absolute")
        for replica in part.replicas
        if replica.storage in FILES and not replica.location.startswith(("/", "env:")) and "://" not in replica.location
    ]


def _lineage(parts: YamlParts) -> Iterator[Finding]:
    tables = {dataset.name.lower(): dataset for dataset in parts.datasets.values()}
    seen: set[tuple[str, str]] = set()
    for index, edge in parts.lineage.items():
        for end, name in (("upstream", edge.upstream), ("downstream", edge.downstream)):
            if name.lower() not in parts.dataset_keys:
                yield ("lineage", index, end), _unknown("dataset", name, parts.names, "datasets")
        pair = (edge.upstream.lower(), edge.downstream.lower())
        if pair in seen:
            yield ("lineage", index), f"found the edge {edge.upstream} to {edge.downstream} again: keep one of the two."
        if pair[0] == pair[1]:
            yield ("lineage", index), f"found an edge from {edge.upstream} to itself: remove it."
        seen.add(pair)
        upstream, downstream = tables.get(pair[0]), tables.get(pair[1])
        for own, name in edge.keys.items():
            if downstream is not None and own not in downstream.primary_key:
                yield ("lineage", index, "keys", own), _unknown("column", own, downstream.primary_key, "primary_key")
            if upstream is not None and upstream.columns and name not in upstream.columns:
                yield ("lineage", index, "keys", own), _unknown("column", name, list(upstream.columns), "columns")


def _custom(parts: YamlParts) -> Iterator[Finding]:
    partitioned = parts.partitioned
    seen: set[tuple[str, str]] = set()
    for index, test in parts.tests.items():
        name = test.dataset.lower()
        if name not in parts.dataset_keys:
            yield ("tests", index, "dataset"), _unknown("dataset", test.dataset, parts.names, "datasets")
        if (name, test.name) in seen:
            sentence = f"found a second test {test.name!r} of {test.dataset}: give it another name."
            yield ("tests", index, "name"), sentence
        if test.schedule == "partition" and not partitioned.get(name, True):
            sentence = f"found 'partition', but {test.dataset} has no partition: write 'weekly' or a cron line."
            yield ("tests", index, "schedule"), sentence
        seen.add((name, test.name))


def _bindings(parts: YamlParts) -> Iterator[Finding]:
    first: dict[tuple[str, str, str], int] = {}
    for number, binding in parts.bindings.items():
        if binding.dataset.lower() not in parts.dataset_keys:
            yield ("bindings", number, "dataset"), _unknown("dataset", binding.dataset, parts.names, "datasets")
        key = (binding.pipeline, binding.dataset.lower(), binding.test)
        if (earlier := first.setdefault(key, number)) != number:
            sentence = f"found {binding.pipeline!r} bound to {binding.dataset}, test {binding.test!r}, again, first at "
            yield ("bindings", number), f"{sentence}{parts.place('bindings', earlier)}: keep one of the two."


def _business_metrics(parts: YamlParts) -> Iterator[Finding]:
    """A business metric has a name of its own beside datasets and others, and sources that are known."""
    tables = {dataset.name.lower(): number for number, dataset in parts.datasets.items()}
    first: dict[str, int] = {}
    for number, metric in parts.business_metrics.items():
        name, at = metric.name.lower(), ("business_metrics", number, "name")
        if name in tables:
            place = parts.place("datasets", tables[name])
            yield at, f"found {metric.name!r}, which is a dataset too, at {place}: give one of the two another name."
        if (earlier := first.setdefault(name, number)) != number:
            place = parts.place("business_metrics", earlier)
            yield at, f"found a second business metric {metric.name!r}, first at {place}: keep one of the two."
        sources = enumerate(metric.sources)
        named: list[tuple[YamlPath, str]] = [(("sources", index), source) for index, source in sources]
        named += [(("served", index, "dataset"), table.dataset) for index, table in enumerate(metric.served)]
        for path, dataset in named:
            if dataset.lower() not in parts.dataset_keys:
                yield ("business_metrics", number, *path), _unknown("dataset", dataset, parts.names, "datasets")
        for index, table in enumerate(metric.served):
            if table.dimension not in metric.dimensions:
                sentence = _unknown("dimension", table.dimension, metric.dimensions, "dimensions")
                yield ("business_metrics", number, "served", index, "dimension"), sentence


def _templates(parts: YamlParts) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for number, template in parts.templates.items():
        if (earlier := first.setdefault(template.name.lower(), number)) != number:
            sentence = f"found a second template {template.name!r}, first at {parts.place('templates', earlier)}: "
            yield ("templates", number, "name"), f"{sentence}give it another name."
        for dataset, parameters in template.overrides.items():
            if dataset.lower() not in parts.dataset_keys:
                yield ("templates", number, "overrides", dataset), _unknown("dataset", dataset, parts.names, "datasets")
            for name in parameters.keys() - template.parameters.keys():
                sentence = _unknown("parameter", name, template.parameters, "parameters")
                yield ("templates", number, "overrides", dataset, name), sentence
        # every name between braces means something, and everything that is declared is used
        at, own, used = ("templates", number), template.parameters, placeholders(template.assertion)
        if COLUMN in own:
            sentence = f"found {COLUMN!r}, which stands for each selected column: take another name."
            yield (*at, "parameters", COLUMN), sentence
        for name in used:
            if name != COLUMN and name not in own:
                yield (*at, "assertion"), _unknown("parameter", f"{{{name}}}", own, "parameters")
        for name in own:
            if name not in used:
                sentence = f"found {name!r}, and the assertion has no {{{name}}}: use it, or remove it."
                yield (*at, "parameters", name), sentence
        if COLUMN in used and template.selector.columns is None:
            sentence = (
                "found {column}, and the selector selects no columns: add columns: {names: ['*']} or kinds to it."
            )
            yield (*at, "assertion"), sentence
        if COLUMN not in used and template.selector.columns is not None:
            sentence = "found columns, and the assertion has no {column}: write it where the name of a column belongs."
            yield (*at, "selector", "columns"), sentence


def _unknown(kind: str, name: str, names: Sequence[str] | Mapping[str, str], section: str) -> str:
    near = get_close_matches(name, list(names), n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"add it under {section}, or correct the name."
    return f"found {name!r}, a {kind} that {section} does not name: {hint}"


def to_profile(parts: YamlParts, folder_of: Callable[[int], Path]) -> CatalogProfile:
    """The catalog; relative folders of data are taken from where the file of the dataset's number lies."""

    def place(*path: str | int) -> str:
        return parts.places.get(path, "")

    return CatalogProfile(
        datasets=tuple(
            _dataset(part, folder_of(number), place("datasets", number)) for number, part in parts.datasets.items()
        ),
        lineage=tuple(
            LineageProfile(**_values(part), place=place("lineage", number)) for number, part in parts.lineage.items()
        ),
        custom=tuple(
            CustomProfile(
                **{
                    **dict(part),
                    "assertion": part.assertion.strip(),
                    "schedule": part.schedule
                    or ("partition" if parts.partitioned.get(part.dataset.lower()) else "weekly"),
                    "keep_rows": part.keep_rows and RowsTarget(**dict(part.keep_rows)),
                },
                place=place("tests", number, "assertion"),
            )
            for number, part in parts.tests.items()
        ),
        templates=tuple(
            TemplateProfile(
                **{
                    **_values(part),
                    "assertion": part.assertion.strip(),
                    "keep_rows": part.keep_rows and RowsTarget(**dict(part.keep_rows)),
                    "selector": Selector(
                        **{**_values(selector), "columns": columns and ColumnSelector(**_values(columns))}
                    ),
                },
                place=place("templates", number, "assertion"),
            )
            for number, part in parts.templates.items()
            for selector, columns in ((part.selector, part.selector.columns),)
        ),
        bindings=tuple(
            BindingProfile(**dict(part), place=place("bindings", number)) for number, part in parts.bindings.items()
        ),
        business_metrics=tuple(
            business_metric(part, place("business_metrics", number, "expression"))
            for number, part in parts.business_metrics.items()
        ),
    )


def _values(part: YamlPart) -> dict[str, Any]:
    """The fields of a part under the names that profiles have for them too; their lists are tuples."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in part}


def _dataset(part: DatasetPart, folder: Path, place: str) -> DatasetProfile:
    values = _values(part)
    values["namespace"], _, values["name"] = part.name.rpartition(".")
    values["columns"] = tuple(
        Column(name=name, **({"type": column} if isinstance(column, str) else dict(column)))
        for name, column in part.columns.items()
    )
    replicas = []
    for replica in part.replicas:
        location = replica.location
        if replica.storage in FILES and "://" not in location and not location.startswith("env:"):
            location = str((folder / location).resolve())
        replicas.append(ReplicaProfile(**{**dict(replica), "location": location}))
    values["replicas"] = tuple(replicas)
    values["partition"] = PartitionProfile(**dict(part.partition)) if part.partition else None
    return DatasetProfile(**{**values, "slas": SlaProfile(**dict(part.slas))}, place=place)


def business_metric(part: BusinessMetricPart, place: str = "") -> DatasetProfile:
    """What is written of a business metric; its home and its partitions are not known yet."""
    values = _values(part)
    values["namespace"], _, values["name"] = part.name.rpartition(".")
    definition = {name: values.pop(name) for name in ("sources", "dimensions", "band", "tolerance")}
    definition["expression"] = values.pop("expression").strip()
    definition["served"] = tuple(ServedTable(**dict(table)) for table in values.pop("served"))
    values["business_metric"] = BusinessMetricDefinition(**definition, canonical="")
    values["slas"] = SlaProfile(freshness=values.pop("freshness"))
    return DatasetProfile(**values, replicas=(), place=place)
