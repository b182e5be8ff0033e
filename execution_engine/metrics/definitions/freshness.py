"""What is derived of a window: ``freshness(complete=0.999)``, seconds from its end until it is complete, 0 once it is;
``value()`` of a business metric, and whether it is known and its sources complete."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from execution_engine.metrics.definition import (
    SERVICE,
    ArgumentType,
    At,
    DatasetFacts,
    Dimension,
    Input,
    MetricDefinition,
    MetricKind,
    MetricPhrase,
    Signature,
    ValueType,
    text_noop,
)
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Failure, Reason

from .row_count import ALL_ROWS
from .sample import SAMPLE_FOUND, SAMPLE_SIZE

NAME = "freshness"
COMPLETE = "complete"  # the share of its upstream's rows from which on a window is complete


def of_supply(call: MetricSpec, supply: DatasetFacts) -> MetricSpec:
    """What is asked of a dataset that others wait for."""
    return MetricSpec(name=NAME, options=((COMPLETE, supply.share),))


def of_sample(definition: MetricDefinition) -> Callable[[MetricSpec, DatasetFacts], MetricSpec]:
    """What is asked of the keys of an upstream that is sampled."""
    return lambda call, upstream: MetricSpec(name=definition.name, arguments=(upstream.name,))


FRESHNESS = MetricDefinition(
    signature=Signature(
        name=NAME, options={COMPLETE: ArgumentType.NUMBER}, returns=ValueType.DURATION, takes_where=False
    ),
    kind=MetricKind.DERIVED,
    formula="0 once the window is complete, else the time since its end, in seconds",
    source="UDQ: freshness",
    meaning="0 once the window is complete, else the time since its end",
    phrase=MetricPhrase(noun=text_noop("the time since its end while it is not complete")),
    dimension=Dimension.TIMELINESS,
    taken_by={SERVICE: "execution_engine.freshness.derive:derive_freshness"},
    inputs=(
        Input(spec=lambda call, of: ALL_ROWS),
        Input(spec=lambda call, of: ALL_ROWS, at=At.SUPPLIES),
        Input(spec=of_supply, at=At.SUPPLIES),
        Input(spec=of_sample(SAMPLE_FOUND), at=At.SAMPLED),
        Input(spec=of_sample(SAMPLE_SIZE), at=At.SAMPLED),
    ),
    spared=frozenset({SAMPLE_FOUND.name, SAMPLE_SIZE.name}),
    waits_for_sla=True,
)


# Of business metrics: what the expression comes to.

OF = "of"  # the expression, which the catalogue gives


def _of_business_metric(
    name: str, input_: Input, function: str, returns: ValueType = ValueType.NUMBER, **fields: Any
) -> MetricDefinition:
    return MetricDefinition(
        signature=Signature(name=name, options={OF: ArgumentType.TEXT}, returns=returns, takes_where=False),
        kind=MetricKind.DERIVED,
        source="UDQ: tests of the metric platform",
        problem=lambda spec: (
            f"{OF}= is filled in from the catalog: leave it out" if spec.option(OF) is not None else None
        ),
        inputs=(input_,),
        taken_by={SERVICE: f"execution_engine.freshness.derive:{function}"},
        held_to=lambda spec, of, _: (
            replace(spec, options=((OF, of.expression),))
            if of.expression
            else Failure(
                reason=Reason.INVALID,
                detail=f"{of.name} is no business metric, so {spec.name}() says nothing of it: take another metric.",
            )
        ),
        **fields,
    )


VALUE = _of_business_metric(
    "value",
    Input(spec=lambda call, of: call, at=At.OPERANDS),
    "derive_value",
    formula="the value of the business metric's expression; where that is NULL there is no data",
    meaning="what the business metric is",
    phrase=MetricPhrase(noun=text_noop("the value of the business metric")),
    dimension=Dimension.ACCURACY,
    tells_values=True,
)
HAS_VALUE = _of_business_metric(
    "has_value",
    Input(spec=lambda call, of: MetricSpec(name=VALUE.name, options=((OF, of.expression),))),
    "derive_has_value",
    formula="1 if value() is known, 0 if there is no data",
    meaning="1 if the business metric has a value, else 0",
    phrase=MetricPhrase(
        noun=text_noop("the number of values of the business metric"),
        fault=(text_noop("The business metric had no value"), text_noop("The business metric has no value")),
    ),
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
    phrase=MetricPhrase(noun=text_noop("the time since its end while a source is not complete")),
    dimension=Dimension.TIMELINESS,
    waits_for_sla=True,
)
ALL = (VALUE, HAS_VALUE, SOURCES_FRESHNESS)
NAMES = frozenset(metric.name for metric in ALL)  # what may be asked of a business metric, and of nothing else
