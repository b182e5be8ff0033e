"""Of which dimension of quality a test tells. Pure."""

from execution_engine.metrics.dimensions import Dimension
from execution_engine.metrics.registry import METRICS

from .operands import operands
from .tree import History, Node

# the categories that are of one dimension, whatever their tests ask for
OF_CATEGORY = {
    "freshness": Dimension.TIMELINESS,
    "completeness": Dimension.COMPLETENESS,
    "duplicates": Dimension.UNIQUENESS,
    "consistency": Dimension.CONSISTENCY,
    "schema": Dimension.VALIDITY,
    "anomaly": Dimension.ACCURACY,
    "novelty": Dimension.ACCURACY,
}


def dimension_of(category: str, tree: Node) -> Dimension:
    """The one of its category; where that has tests of all kinds, the one of the first metric that it asks for.

    What shares are divided by decides only where nothing else is asked for. What compares datacenters is of
    consistency.
    """
    if category in OF_CATEGORY:
        return OF_CATEGORY[category]
    asked = [operand.metric if isinstance(operand, History) else operand for operand in operands(tree)]
    if any(metric.datacenter for metric in asked):
        return Dimension.CONSISTENCY
    found = [METRICS[metric.spec.name] for metric in asked if metric.spec.name in METRICS]
    telling = sorted(found, key=lambda metric: metric.divides_shares)  # keeps the order of those that are alike
    return telling[0].dimension if telling else Dimension.ACCURACY
