"""Business metrics as they are told: what their expressions may hold, and what follows from their sources.

Their tests are in ``generation``; how a value is computed is in ``execution_engine.freshness``.
"""

from dataclasses import replace

from assay.catalog.profile import (
    COMPUTED,
    BusinessMetricDefinition,
    CatalogProfile,
    DatasetProfile,
    LineageProfile,
    ReplicaProfile,
)
from assay.database.name_keys import name_key
from assay.time.stored_times import Holds
from assay.time.windows import aligned
from execution_engine.disclosure import others_of
from execution_engine.language.business_metric import histories_of, metrics_of, with_datasets
from execution_engine.language.checking import UnableToCheck, check
from execution_engine.language.parse import UnableToParse, parse_expression
from execution_engine.language.serialise import to_text
from execution_engine.language.tree import AssertionProblem, Expression
from execution_engine.metrics.expressions import written
from execution_engine.metrics.registry import SIGNATURES

from .data_tests import ProfileNamed, disclosed_by, fault_of, schema

# A business metric completed: its expression checked against its sources, its home and partitions taken from them.

NO_PAST = (
    "an expression is of one window: leave the past out, and write it in a test, such as anomaly(value(), last=60)"
)


class UnableToDefine(ValueError):
    """A business metric that cannot be computed; the message says what is wrong, where, and how to mend it."""


def completed(profile: DatasetProfile, profile_named: ProfileNamed) -> DatasetProfile:
    """The business metric with all that follows from its sources; raises UnableToDefine."""
    definition = profile.business_metric
    assert definition is not None
    sources = [_source(name, profile_named) for name in definition.sources]
    first, keys = sources[0], {name_key(source.full_name) for source in sources}
    assert first.partition
    for other in sources[1:]:
        if other.partition is None or not aligned(first.partition.partitioning, other.partition.partitioning):
            raise UnableToDefine(
                f"the partitions of {other.full_name} do not tile those of {first.full_name}, which is its first "
                "source: take a source whose partitions do, or put the source with the longer partitions first"
            )
    text = definition.expression
    try:
        tree = parse_expression(text)
        if past := histories_of(tree):
            raise UnableToCheck([AssertionProblem(message=NO_PAST, place=past[0].place)], text)
        check(
            tree,
            home=schema(first),
            schema_of=lambda name: schema(other) if (other := profile_named(name)) else None,
            signatures=SIGNATURES,
            source=text,
            fault_of=fault_of,
        )
    except UnableToParse as error:
        raise UnableToDefine(str(error)) from None
    except UnableToCheck as error:
        raise UnableToDefine(str(error).replace("the assertion", "the expression")) from None
    for metric in metrics_of(tree):
        for name in others_of(metric.spec, metric.dataset):
            if name_key(name) not in keys:
                raise UnableToDefine(f"its expression names {name}, and its sources do not: add it under sources")
    canonical = with_datasets(tree, first.full_name)
    _check_dimensions(definition, canonical, profile_named)
    if why := disclosed_by(metrics_of(canonical), profile, profile_named, frozenset(keys)):
        raise UnableToDefine(why)
    return replace(
        profile,
        partition=replace(first.partition, holds=Holds.KEY, stored_time_zone="UTC"),
        replicas=(ReplicaProfile(datacenter=first.replicas[0].datacenter, storage=COMPUTED, location=""),),
        retention=min((source.retention for source in sources if source.retention), default=None),
        business_metric=replace(
            definition, canonical=to_text(canonical), sources=tuple(source.full_name for source in sources)
        ),
    )


def with_business_metrics(profile: CatalogProfile, profile_named: ProfileNamed) -> tuple[CatalogProfile, list[str]]:
    """The catalog with its business metrics among the datasets and the lineage, and a sentence for each fault."""
    metrics, faults = [], []
    for metric in profile.business_metrics:
        try:
            metrics.append(completed(metric, profile_named))
        except UnableToDefine as fault:
            place = f"{metric.place}: " if metric.place else ""
            faults.append(f"{place}business metric {metric.full_name}: {fault}")
    edges = (
        LineageProfile(upstream=source, downstream=metric.full_name, place=metric.place)
        for metric in metrics
        if metric.business_metric
        for source in metric.business_metric.sources
    )
    datasets, lineage = (*profile.datasets, *metrics), (*profile.lineage, *edges)
    return replace(profile, datasets=datasets, lineage=lineage, business_metrics=()), faults


def _source(name: str, profile_named: ProfileNamed) -> DatasetProfile:
    source = profile_named(name)
    if source is None:
        raise UnableToDefine(f"there is no dataset {name!r}, which it names as a source: tell of it first")
    if source.business_metric is not None:
        raise UnableToDefine(f"{name} is a business metric itself: name the datasets that it is computed from")
    if source.partition is None or not source.replicas:
        lacks = "partitions" if source.partition is None else "replica"
        raise UnableToDefine(f"its source {name} has no {lacks}, so there is no window to compute it of: add them")
    return source


def _check_dimensions(definition: BusinessMetricDefinition, tree: Expression, profile_named: ProfileNamed) -> None:
    """Each dimension is a column of something that it is computed from, and what serves it has its columns."""
    sources = tuple(dict.fromkeys(metric.dataset for metric in metrics_of(tree) if metric.dataset))
    columns = [(sources, dimension) for dimension in definition.dimensions]
    columns += [((table.dataset,), name) for table in definition.served for name in (table.column, table.dimension)]
    for names, column in columns:
        profiles = [profile for name in names if (profile := profile_named(name))]
        if not profiles:
            raise UnableToDefine(f"there is no dataset {names[0]!r}, which it is served by: tell of it first")
        if all(profile.columns and schema(profile).kind_of(written(column)) is None for profile in profiles):
            raise UnableToDefine(f"{' or '.join(names)} has no column {column!r}: correct the name, or leave it out")
