"""``value()`` of a business metric: what its expression comes to, and whether it is known and its sources complete."""

from dataclasses import replace
from typing import Any

from assay.time.windows import Window
from execution_engine.metrics.definition import (
    SERVICE,
    ArgumentType,
    At,
    Described,
    Dimension,
    Input,
    Kind,
    MetricDefinition,
    Signature,
    ValueType,
)
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Failure, Reason

from .freshness import of_supply

OF = "of"  # the expression, which the catalogue gives


def _held_to(spec: MetricSpec, of: Described, partition: Window | None) -> MetricSpec | Failure:
    """With the expression of the business metric that it is asked of."""
    if not of.expression:
        detail = f"{of.name} is no business metric, so {spec.name}() says nothing of it: take another metric."
        return Failure(reason=Reason.INVALID, detail=detail)
    return replace(spec, options=((OF, of.expression),))


def _of_business_metric(
    name: str, input_: Input, function: str, returns: ValueType = ValueType.NUMBER, **fields: Any
) -> MetricDefinition:
    return MetricDefinition(
        signature=Signature(name=name, options={OF: ArgumentType.TEXT}, returns=returns, takes_where=False),
        kind=Kind.DERIVED,
        source="UDQ: tests of the metric platform",
        problem=lambda spec: (
            f"{OF}= is filled in from the catalog: leave it out" if spec.option(OF) is not None else None
        ),
        inputs=(input_,),
        taken_by={SERVICE: f"execution_engine.freshness.derive:{function}"},
        held_to=_held_to,
        **fields,
    )


VALUE = _of_business_metric(
    "value",
    Input(spec=lambda call, of: call, at=At.OPERANDS),
    "derive_value",
    formula="the value of the business metric's expression; where that is NULL there is no data",
    meaning="what the business metric is",
    dimension=Dimension.ACCURACY,
    tells_values=True,
)
HAS_VALUE = _of_business_metric(
    "has_value",
    Input(spec=lambda call, of: MetricSpec(name=VALUE.name, options=((OF, of.expression),))),
    "derive_has_value",
    formula="1 if value() is known, 0 if there is no data",
    meaning="1 if the business metric has a value, else 0",
    dimension=Dimension.COMPLETENESS,
    judges_no_data=True,
)
SOURCES_FRESHNESS = _of_business_metric(
    "sources_freshness",
    Input(spec=of_supply, at=At.SOURCES),
    "derive_sources_freshness",
    ValueType.DURATION,
    formula="the largest freshness() of the business metric's sources: 0 once all are complete, in seconds",
    meaning="0 once all sources of the business metric are complete, else the time since the window's end",
    dimension=Dimension.TIMELINESS,
    waits_for_sla=True,
)
ALL = (VALUE, HAS_VALUE, SOURCES_FRESHNESS)
NAMES = frozenset(metric.name for metric in ALL)  # what may be asked of a business metric, and of nothing else
