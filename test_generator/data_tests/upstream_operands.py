"""Whether an assertion may measure what it names: data that is there, partitions that align, readers who may see it."""

from collections.abc import Callable

from assay.catalog.profile import DatasetProfile
from assay.catalog.selectors import upstream_keys
from execution_engine.disclosure.rules import Privacy, objection, others_of, privacy_of
from execution_engine.language.operands import operands
from execution_engine.language.tree import Assertion, History, Metric
from execution_engine.metrics.definitions.value import NAMES as OF_BUSINESS_METRIC

from .alignment import aligned

ProfileNamed = Callable[[str], DatasetProfile | None]


def unmeasurable(tree: Assertion, home: DatasetProfile, profile_named: ProfileNamed) -> str | None:
    """The sentence that says which operand asks a business metric for rows, or a table for its value, if any does."""
    for metric in _metrics(tree):
        of = profile_named(metric.dataset) if metric.dataset else home
        read = [(name, profile_named(name)) for name in others_of(metric.spec, None, home.full_name)]
        if computed := [name for name, other in read if other and other.business_metric]:
            return f"{metric.text:.200} reads rows of {computed[0]}, a business metric, which has none"
        if of is None or (of.business_metric is not None) is (metric.spec.name in OF_BUSINESS_METRIC):
            continue
        if of.business_metric is None:
            known = ", ".join(sorted(OF_BUSINESS_METRIC))
            return f"{of.full_name} is no business metric, and only one has {known}: take another metric"
        sources = ", ".join(of.business_metric.sources)
        return (
            f"{metric.text:.200} reads rows, and {of.full_name} is a business metric, which has none: "
            f"take value(), or write the test of a source ({sources})"
        )
    return None


def misaligned(tree: Assertion, home: DatasetProfile, profile_named: ProfileNamed) -> str | None:
    """The sentence that says which operand's partitions do not align, if any do not."""
    for name in sorted({metric.dataset for metric in _metrics(tree) if metric.dataset}):
        other = profile_named(name)
        if home.partition is None or other is None:
            continue
        if other.partition is None or not aligned(home.partition.partitioning, other.partition.partitioning):
            return f"partitions do not align: those of {name} do not tile those of {home.full_name}"
    return None


def undisclosed(tree: Assertion, home: DatasetProfile, profile_named: ProfileNamed) -> str | None:
    """The sentence that says what the assertion would tell that it must not, if anything."""

    def privacy_named(name: str) -> Privacy | None:
        other = profile_named(name)
        return privacy_of(other) if other else None

    own = privacy_of(home, upstreams=upstream_keys(home.full_name))
    found = (objection(own, metric.spec, metric.dataset, privacy_named) for metric in _metrics(tree))
    return next((why for why in found if why), None)


def _metrics(tree: Assertion) -> list[Metric]:
    return [operand.metric if isinstance(operand, History) else operand for operand in operands(tree)]
