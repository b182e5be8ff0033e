"""Whether an assertion may measure what it names: partitions that align, and data that its readers may see."""

from collections.abc import Callable

from assay.catalog.profile import DatasetProfile
from assay.catalog.selectors import upstream_keys
from execution_engine.disclosure.rules import Privacy, objection, privacy_of
from execution_engine.language.operands import operands
from execution_engine.language.tree import Assertion, History, Metric

from .alignment import aligned

ProfileNamed = Callable[[str], DatasetProfile | None]


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
