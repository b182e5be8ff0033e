"""From the checked parts of a catalog file to the profile they describe."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from assay.catalog.profile import (
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
    Selector,
    ServedTable,
    SlaProfile,
    TemplateProfile,
)
from assay.catalog.storages import FILES

from .cross_checks import YamlParts
from .parts import BusinessMetricPart, ColumnPart, DatasetPart, ReplicaPart, TemplatePart


def to_profile(parts: YamlParts, folder_of: Callable[[int], Path]) -> CatalogProfile:
    """The catalog; relative folders of data are taken from where the file of the dataset's number lies."""
    place = parts.places.get
    return CatalogProfile(
        datasets=tuple(
            replace(_dataset(part, folder_of(number)), place=place(("datasets", number), ""))
            for number, part in parts.datasets.items()
        ),
        lineage=tuple(
            LineageProfile(**part.model_dump(), place=place(("lineage", number), ""))
            for number, part in parts.lineage.items()
        ),
        custom=tuple(
            CustomProfile(
                dataset=part.dataset,
                name=part.name,
                assertion=part.assertion.strip(),
                severity=part.severity,
                catch_up=part.catch_up,
                schedule=part.schedule or ("partition" if parts.partitioned.get(part.dataset.lower()) else "weekly"),
                sustain=part.sustain,
                category=part.category,
                place=place(("tests", number, "assertion"), ""),
            )
            for number, part in parts.tests.items()
        ),
        templates=tuple(
            replace(_template(part), place=place(("templates", number, "assertion"), ""))
            for number, part in parts.templates.items()
        ),
        bindings=tuple(
            BindingProfile(**dict(part), place=place(("bindings", number), ""))
            for number, part in parts.bindings.items()
        ),
        business_metrics=tuple(
            replace(business_metric(part), place=place(("business_metrics", number, "expression"), ""))
            for number, part in parts.business_metrics.items()
        ),
    )


def _dataset(part: DatasetPart, folder: Path) -> DatasetProfile:
    namespace, _, name = part.name.rpartition(".")
    return DatasetProfile(
        namespace=namespace,
        name=name,
        description=part.description,
        owner=part.owner,
        team=part.team,
        tier=part.tier,
        columns=tuple(_column(name, said) for name, said in part.columns.items()),
        primary_key=tuple(part.primary_key),
        partition=PartitionProfile(**part.partition.model_dump()) if part.partition else None,
        replicas=tuple(_replica(replica, folder) for replica in part.replicas),
        slas=SlaProfile(**part.slas.model_dump()),
        sustain=part.sustain,
        grace=part.grace,
        severity=part.severity,
        catch_up=part.catch_up,
        allow_empty=part.allow_empty,
        novelty=part.novelty,
        inferred_schema=part.inferred_schema,
        retention=part.retention,
        gate_on=part.gate_on,
        unknown_policy=part.unknown_policy,
        readers=tuple(part.readers),
        tags=tuple(part.tags),
    )


def business_metric(part: BusinessMetricPart) -> DatasetProfile:
    """What is written of a business metric; its home and its partitions are not known yet."""
    namespace, _, name = part.name.rpartition(".")
    return DatasetProfile(
        namespace=namespace,
        name=name,
        description=part.description,
        owner=part.owner,
        team=part.team,
        tier=part.tier,
        replicas=(),
        slas=SlaProfile(freshness=part.freshness),
        sustain=part.sustain,
        grace=part.grace,
        severity=part.severity,
        catch_up=part.catch_up,
        gate_on=part.gate_on,
        unknown_policy=part.unknown_policy,
        readers=tuple(part.readers),
        tags=tuple(part.tags),
        business_metric=BusinessMetricDefinition(
            expression=part.expression.strip(),
            canonical="",
            sources=tuple(part.sources),
            dimensions=tuple(part.dimensions),
            served=tuple(ServedTable(**each.model_dump()) for each in part.served),
            band=dict(part.band),
            tolerance=part.tolerance,
        ),
    )


def _template(part: TemplatePart) -> TemplateProfile:
    selector, columns = part.selector, part.selector.columns
    return TemplateProfile(
        name=part.name,
        assertion=part.assertion.strip(),
        selector=Selector(
            tiers=tuple(selector.tiers),
            tags=tuple(selector.tags),
            names=tuple(selector.names),
            excluded=tuple(selector.excluded),
            columns=ColumnSelector(names=tuple(columns.names), kinds=tuple(columns.kinds)) if columns else None,
        ),
        parameters=part.parameters,
        overrides=part.overrides,
        severity=part.severity,
        schedule=part.schedule,
        sustain=part.sustain,
        catch_up=part.catch_up,
        category=part.category,
    )


def _column(name: str, said: str | ColumnPart) -> Column:
    if isinstance(said, str):
        return Column(name=name, type=said)
    return Column(name=name, type=said.type, sensitive=said.sensitive)


def _replica(part: ReplicaPart, folder: Path) -> ReplicaProfile:
    location = part.location
    if part.storage in FILES and "://" not in location and not location.startswith("env:"):
        location = str((folder / location).resolve())
    return ReplicaProfile(datacenter=part.datacenter, storage=part.storage, location=location, options=part.options)
