"""Whether the partitions of the other datasets that an assertion measures align with its own."""

from assay.catalog.selectors import by_name
from assay.models import Dataset
from execution_engine.language.operands import operands
from execution_engine.language.tree import Condition, Metric
from test_generator.alignment import aligned


def misaligned(tree: Condition, dataset: Dataset) -> str | None:
    """The sentence that says which operand's partitions do not align, if any do not."""
    own = dataset.partitioning
    metrics = [operand for operand in operands(tree) if isinstance(operand, Metric)]
    for name in sorted({metric.dataset for metric in metrics if metric.dataset}):
        other = by_name(name)
        if own is None or other is None:
            continue
        if other.partitioning is None or not aligned(own, other.partitioning):
            return f"partitions do not align: those of {name} do not tile those of {dataset.full_name}"
    return None
