"""What the type check of an assertion may know of a dataset, from its metadata."""

from assay.catalog.profile import DatasetProfile
from execution_engine.engines.nested import with_fields
from execution_engine.language.checking.schema import DatasetSchema
from execution_engine.metrics.columns import written
from execution_engine.metrics.signature import ColumnKind, column_kind


def schema(profile: DatasetProfile) -> DatasetSchema:
    """The schema of a dataset; its columns are unknown where its metadata names none."""
    declared = with_fields({column.name: column.type.strip() for column in profile.columns})
    columns = {name: column_kind(type_) for name, type_ in declared.items()}
    if columns and profile.partition:
        columns.setdefault(written(profile.partition.column), ColumnKind.ANY)
    return DatasetSchema(
        name=profile.full_name,
        columns=columns or None,
        datacenters=tuple(replica.datacenter for replica in profile.replicas),
        partitioned=profile.partition is not None,
        granularity=profile.partition.granularity if profile.partition else None,
    )
