"""From the checked parts of a catalog file to the profile they describe."""

from pathlib import Path

from assay.catalog.profile import (
    CatalogProfile,
    Column,
    CustomProfile,
    DatasetProfile,
    LineageProfile,
    PartitionProfile,
    ReplicaProfile,
    SlaProfile,
)
from assay.catalog.yaml_checks import Parts
from assay.catalog.yaml_schema import CustomPart, DatasetPart, ReplicaPart


def to_profile(parts: Parts, folder: Path) -> CatalogProfile:
    """The catalog; relative folders of data are taken from ``folder``, where the file lies."""
    partitioned = {dataset.name for dataset in parts.datasets.values() if dataset.partition}
    return CatalogProfile(
        datasets=tuple(_dataset(part, folder) for part in parts.datasets.values()),
        lineage=tuple(LineageProfile(**part.model_dump()) for part in parts.lineage.values()),
        custom=tuple(_custom(part, part.dataset in partitioned) for part in parts.tests.values()),
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
        columns=tuple(Column(name=name, type=type_) for name, type_ in part.columns.items()),
        primary_key=tuple(part.primary_key),
        partition=PartitionProfile(**part.partition.model_dump()) if part.partition else None,
        replicas=tuple(_replica(replica, folder) for replica in part.replicas),
        slas=SlaProfile(**part.slas.model_dump()),
        sustain=part.sustain,
        grace=part.grace,
        severity=part.severity,
        catch_up=part.catch_up,
        allow_empty=part.allow_empty,
        retention=part.retention,
        gate_on=part.gate_on,
        unknown_policy=part.unknown_policy,
    )


def _replica(part: ReplicaPart, folder: Path) -> ReplicaProfile:
    location = part.location
    if part.storage == "parquet" and "://" not in location and not location.startswith("env:"):
        location = str((folder / location).resolve())
    return ReplicaProfile(datacenter=part.datacenter, storage=part.storage, location=location, options=part.options)


def _custom(part: CustomPart, partitioned: bool) -> CustomProfile:
    return CustomProfile(
        dataset=part.dataset,
        name=part.name,
        assertion=part.assertion.strip(),
        severity=part.severity,
        catch_up=part.catch_up,
        schedule=part.schedule or ("partition" if partitioned else "weekly"),
        sustain=part.sustain,
        category=part.category,
    )
