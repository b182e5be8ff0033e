"""What the type check of an assertion may know of a dataset, from its metadata."""

import re

from assay.catalog.profile import DatasetProfile
from execution_engine.engines.nested import with_fields
from execution_engine.language.schema import DatasetSchema
from execution_engine.metrics.signature import ColumnKind

_KINDS = (
    (
        re.compile(r"(tiny|small|big)?int(eger)?\b|long|short|byte|float|double|real|dec|numeric"),
        ColumnKind.NUMERIC,
    ),
    (re.compile(r"(var)?char|string|text"), ColumnKind.TEXT),
    (re.compile(r"date|time"), ColumnKind.TEMPORAL),
)


def column_kind(declared: str) -> ColumnKind:
    """The kind of a column of the declared type; ``ANY`` where the type tells nothing."""
    lowered = declared.lower()
    return next((kind for pattern, kind in _KINDS if pattern.match(lowered)), ColumnKind.ANY)


def schema(profile: DatasetProfile) -> DatasetSchema:
    """The schema of a dataset; its columns are unknown where its metadata names none."""
    declared = with_fields({column.name: column.type.strip() for column in profile.columns})
    columns = {name: column_kind(type_) for name, type_ in declared.items()}
    if columns and profile.partition:
        columns.setdefault(profile.partition.column, ColumnKind.ANY)
    return DatasetSchema(
        name=profile.full_name,
        columns=columns or None,
        datacenters=tuple(replica.datacenter for replica in profile.replicas),
        partitioned=profile.partition is not None,
        granularity=profile.partition.granularity if profile.partition else None,
    )
