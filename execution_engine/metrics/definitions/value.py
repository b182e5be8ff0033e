"""``value()`` of a business metric: what its expression comes to, and whether it is known and its sources complete."""

from dataclasses import replace

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


def _value_of(call: MetricSpec, of: Described) -> MetricSpec:
    return MetricSpec(name=VALUE.name, options=((OF, of.expression),))


def _problem(spec: MetricSpec) -> str | None:
    return f"{OF}= is filled in from the catalog: leave it out" if spec.option(OF) is not None else None


SOURCE = "UDQ: tests of the metric platform"
VALUE = MetricDefinition(
    signature=Signature(name="value", options={OF: ArgumentType.TEXT}, takes_where=False),
    kind=Kind.DERIVED,
    formula="the value of the business metric's expression; where that is NULL there is no data",
    source=SOURCE,
    meaning="what the business metric is",
    dimension=Dimension.ACCURACY,
    problem=_problem,
    inputs=(Input(spec=lambda call, of: call, at=At.OPERANDS),),
    taken_by={SERVICE: "execution_engine.freshness.derive:derive_value"},
    tells_values=True,
    held_to=_held_to,
)
HAS_VALUE = MetricDefinition(
    signature=Signature(name="has_value", options={OF: ArgumentType.TEXT}, takes_where=False),
    kind=Kind.DERIVED,
    formula="1 if value() is known, 0 if there is no data",
    source=SOURCE,
    meaning="1 if the business metric has a value, else 0",
    dimension=Dimension.COMPLETENESS,
    problem=_problem,
    inputs=(Input(spec=_value_of),),
    taken_by={SERVICE: "execution_engine.freshness.derive:derive_has_value"},
    held_to=_held_to,
    judges_no_data=True,
)
SOURCES_FRESHNESS = MetricDefinition(
    signature=Signature(
        name="sources_freshness", options={OF: ArgumentType.TEXT}, returns=ValueType.DURATION, takes_where=False
    ),
    kind=Kind.DERIVED,
    formula="the largest freshness() of the business metric's sources: 0 once all are complete, in seconds",
    source=SOURCE,
    meaning="0 once all sources of the business metric are complete, else the time since the window's end",
    dimension=Dimension.TIMELINESS,
    problem=_problem,
    inputs=(Input(spec=of_supply, at=At.SOURCES),),
    taken_by={SERVICE: "execution_engine.freshness.derive:derive_sources_freshness"},
    held_to=_held_to,
    waits_for_sla=True,
)
ALL = (VALUE, HAS_VALUE, SOURCES_FRESHNESS)
NAMES = frozenset(metric.name for metric in ALL)  # what may be asked of a business metric, and of nothing else
