"""``freshness(complete=0.999)``: seconds from a window's end until it is complete, 0 once it is."""

from collections.abc import Callable

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

from .row_count import ALL_ROWS
from .sample import SAMPLE_FOUND, SAMPLE_SIZE

NAME = "freshness"
COMPLETE = "complete"  # the share of its upstream's rows from which on a window is complete


def of_supply(call: MetricSpec, supply: Described) -> MetricSpec:
    """What is asked of a dataset that others wait for."""
    return MetricSpec(name=NAME, options=((COMPLETE, supply.share),))


def of_sample(definition: MetricDefinition) -> Callable[[MetricSpec, Described], MetricSpec]:
    """What is asked of the keys of an upstream that is sampled."""
    return lambda call, upstream: MetricSpec(name=definition.name, arguments=(upstream.name,))


FRESHNESS = MetricDefinition(
    signature=Signature(
        name=NAME,
        options={COMPLETE: ArgumentType.NUMBER},
        returns=ValueType.DURATION,
        takes_where=False,
    ),
    kind=Kind.DERIVED,
    formula="0 once the window is complete, else the time since its end, in seconds",
    source="UDQ: freshness",
    meaning="0 once the window is complete, else the time since its end",
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
