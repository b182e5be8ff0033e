"""Measurements that their inputs settle, so that no data is read."""

from collections.abc import Mapping

from execution_engine.engines.protocol import Measured
from execution_engine.metrics.definition import OTHER_SIDE
from execution_engine.metrics.registry import METRICS
from execution_engine.models import Measurement


def settled_by(name: str, states: Mapping[str, bytes], key: bytes | None) -> Measured | None:
    """What the states of its inputs give of a metric; None where data must be read."""
    settle = METRICS[name].settle
    found = settle(states, key) if settle else None
    return None if found is None else Measured(value=found[0], detail=found[1])


def input_name(measurement: Measurement, part: Measurement) -> str:
    """What an engine knows an input by: its metric and, where it is taken of both sides, whose it is."""
    name = part.metric.name
    is_other = METRICS[name].both_sides and part.datacenter != measurement.datacenter
    return name + OTHER_SIDE if is_other else name
