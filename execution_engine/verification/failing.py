"""The rows behind what failed: a sample, with what each row breaks."""

from collections.abc import Sequence

from execution_engine.engines.protocol import FailingRows
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import MetricSpec

from .results import VerificationResult


def broken_metrics(result: VerificationResult) -> tuple[MetricSpec, ...]:
    """The metrics of the constraints that failed, as far as single rows break them; those of groups as a whole."""
    specs = (ask.spec for each in result.failed for ask in each.asks if ask.dataset in (None, result.table))
    return tuple(dict.fromkeys(spec for spec in specs if not spec.by and METRICS[spec.name].is_of_rows))


def columns_and_rows(found: FailingRows) -> Sequence[dict[str, object]]:
    """Each row as a JSON object: its values by column, and what it breaks."""
    return [
        {"row": dict(zip(found.columns, each.values, strict=True)), "breaks": list(each.breaks)} for each in found.rows
    ]
