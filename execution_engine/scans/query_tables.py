"""Which tables a metric reads beside its own, a user's query above all, resolved in the catalog."""

from assay.catalog.locations import UnableToUseLocation
from assay.catalog.selectors import by_names, home, replica
from assay.models import Dataset
from execution_engine.disclosure.queries import tables_of
from execution_engine.disclosure.rules import full_name_of
from execution_engine.engines.protocol import Table
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.signature import ArgumentType
from execution_engine.metrics.spec import MetricSpec
from execution_engine.storage import table_of


def tables_read(metric: MetricSpec, dataset: Dataset, datacenter: str) -> dict[str, Table]:
    """The tables that the metric names and the catalog has, in the same datacenter where they have a replica there.

    A name without a namespace has the dataset's. Names that are not found are left out; the engine refuses them.
    """
    names = names_read(metric)
    if not names:
        return {}
    meant = {name: full_name_of(name, dataset.full_name) for name in names}
    found = by_names(meant.values())
    return {name: table for name, full in meant.items() if full in found and (table := _table(found[full], datacenter))}


def names_read(metric: MetricSpec) -> list[str]:
    """The names in a query, or the dataset that a metric compares with; not of one that builds on others' states."""
    definition = METRICS[metric.name]
    if queries := definition.signature.texts(ArgumentType.QUERY, metric.arguments):
        return [name for query in queries for name in sorted(set(tables_of(query)))]
    return [] if definition.inputs else definition.signature.texts(ArgumentType.DATASET, metric.arguments)


def reads_others(metric: MetricSpec) -> bool:
    """Whether what is measured may hang on more than the metric's own table; a query's always may."""
    return ArgumentType.QUERY in METRICS[metric.name].signature.arguments or bool(names_read(metric))


def _table(dataset: Dataset, datacenter: str) -> Table | None:
    if not dataset.replicas.all() or dataset.business_metric is not None:
        return None
    try:
        return table_of(dataset, replica(dataset, datacenter) or home(dataset))
    except UnableToUseLocation:
        return None
