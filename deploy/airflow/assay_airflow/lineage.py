"""What OpenLineage is told of a task; nothing here is called unless Airflow's OpenLineage provider is installed."""

from collections.abc import Iterable
from typing import Any


def lineage(*, inputs: Iterable[str] = (), outputs: Iterable[str] = ()) -> Any:
    """An ``OperatorLineage`` of datasets by their full names, named as Assay reads them from events."""
    from airflow.providers.openlineage.extractors import OperatorLineage
    from openlineage.client.event_v2 import Dataset

    def named(full_name: str) -> Any:
        namespace, _, name = full_name.rpartition(".")
        return Dataset(namespace=namespace or "assay", name=name)

    return OperatorLineage(
        inputs=[named(name) for name in dict.fromkeys(inputs)], outputs=[named(name) for name in dict.fromkeys(outputs)]
    )
