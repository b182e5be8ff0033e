"""Datasets to write tests for."""

from typing import Any

from assay.catalog.profile import Column, DatasetProfile, PartitionProfile, ReplicaProfile, Storage
from assay.time.windows import Granularity


def days(time_zone: str = "America/New_York", granularity: Granularity = Granularity.DAY) -> PartitionProfile:
    return PartitionProfile(column="datestr", granularity=granularity, time_zone=time_zone)


def replica(datacenter: str, storage: Storage = "parquet") -> ReplicaProfile:
    return ReplicaProfile(datacenter=datacenter, storage=storage, location=f"/{datacenter}")


def dataset(full_name: str = "mart.trips", **changes: Any) -> DatasetProfile:
    """A daily dataset of tier 1 with a primary key, in one datacenter."""
    namespace, _, name = full_name.rpartition(".")
    defaults: dict[str, Any] = {
        "namespace": namespace,
        "name": name,
        "owner": "ann",
        "tier": 1,
        "columns": (Column(name="trip_id", type="bigint"), Column(name="datestr", type="string")),
        "primary_key": ("trip_id",),
        "partition": days(),
        "replicas": (replica("sea"),),
    }
    return DatasetProfile(**{**defaults, **changes})
