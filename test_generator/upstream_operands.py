"""Whether the partitions of the other datasets that an assertion measures align with its own."""

from assay.catalog.selectors import by_name
from assay.models import Dataset
from execution_engine.language.operands import operands
from execution_engine.language.tree import Assertion, History
from test_generator.alignment import aligned


def misaligned(tree: Assertion, dataset: Dataset) -> str | None:
    """The sentence that says which operand's partitions do not align, if any do not."""
    own = dataset.partitioning
    metrics = [operand.metric if isinstance(operand, History) else operand for operand in operands(tree)]
    for name in sorted({metric.dataset for metric in metrics if metric.dataset}):
        other = by_name(name)
        if own is None or other is None:
            continue
        if other.partitioning is None or not aligned(own, other.partitioning):
            return f"partitions do not align: those of {name} do not tile those of {dataset.full_name}"
    return None
