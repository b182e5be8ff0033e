"""What the catalog knows of a dataset."""

from dataclasses import replace
from typing import cast

from assay.catalog.profile import (
    Column,
    DatasetProfile,
    GateOn,
    PartitionProfile,
    ReplicaProfile,
    SlaProfile,
    Storage,
    Targets,
    UnknownPolicy,
)
from assay.models import Dataset, LineageEdge, Replica
from assay.tiers import CatchUp, Severity
from assay.windows import Granularity


def profile_of(dataset: Dataset) -> DatasetProfile:
    """The dataset's metadata as its provider told it."""
    return replace(
        _metadata_of(dataset),
        replicas=tuple(
            ReplicaProfile(
                datacenter=replica.datacenter,
                storage=cast(Storage, replica.storage),
                location=replica.location,
                options=replica.options,
            )
            for replica in dataset.replicas.all()
        ),
    )


def slas(dataset: Dataset) -> Targets:
    """The SLAs and policies in force for ``dataset``: its own where metadata gives them, else its tier's."""
    return _metadata_of(dataset).targets


def _metadata_of(dataset: Dataset) -> DatasetProfile:
    return DatasetProfile(
        namespace=dataset.namespace,
        name=dataset.name,
        owner=dataset.owner,
        tier=dataset.tier,
        replicas=(),
        description=dataset.description,
        team=dataset.team,
        columns=tuple(Column(**column) for column in dataset.columns),
        primary_key=tuple(dataset.primary_key),
        partition=_partition_of(dataset),
        slas=SlaProfile(
            freshness=dataset.freshness_sla,
            completeness=dataset.completeness_sla,
            duplicates=dataset.duplicates_sla,
            consistency=dataset.consistency_sla,
        ),
        sustain=dataset.sustain,
        grace=dataset.grace,
        severity=cast(Severity | None, dataset.severity or None),
        catch_up=cast(CatchUp | None, dataset.catch_up or None),
        allow_empty=dataset.allow_empty,
        retention=dataset.retention,
        gate_on=cast(GateOn, dataset.gate_on),
        unknown_policy=cast(UnknownPolicy | None, dataset.unknown_policy or None),
    )


def _partition_of(dataset: Dataset) -> PartitionProfile | None:
    if not dataset.partition_column:
        return None
    return PartitionProfile(
        column=dataset.partition_column,
        granularity=Granularity(dataset.granularity),
        time_zone=dataset.time_zone,
        key_format=dataset.key_format,
        first=dataset.first_partition or None,
    )


def by_name(full_name: str) -> Dataset | None:
    """The dataset called ``namespace.name``, if the catalog has it."""
    return Dataset.objects.filter(full_name=full_name).prefetch_related("replicas").first()


def home(dataset: Dataset) -> Replica:
    """The replica that all tests run at."""
    return dataset.replicas.all()[0]


def replica(dataset: Dataset, datacenter: str) -> Replica | None:
    """The dataset's replica in one datacenter, if there is one."""
    return next((replica for replica in dataset.replicas.all() if replica.datacenter == datacenter), None)


def upstream_edges(dataset: Dataset) -> list[LineageEdge]:
    """The edges into a dataset, with their upstreams, by name."""
    return list(dataset.upstream_edges.select_related("upstream").order_by("upstream__full_name"))


def downstreams(dataset: Dataset) -> list[Dataset]:
    """The datasets directly fed by this one, by name."""
    return list(Dataset.objects.filter(upstream_edges__upstream=dataset).order_by("full_name"))


def upstream_map() -> dict[int, tuple[int, ...]]:
    """Every dataset's direct upstreams, by id: the whole lineage in one query."""
    found: dict[int, tuple[int, ...]] = {}
    for downstream, upstream in LineageEdge.objects.values_list("downstream_id", "upstream_id"):
        found[downstream] = (*found.get(downstream, ()), upstream)
    return found
