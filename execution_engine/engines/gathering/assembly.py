"""From metrics to what must be gathered for them, and from what was gathered to their values (pure)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import isfinite
from typing import Any

from execution_engine.engines.protocol import Measured, Wanted, failed
from execution_engine.exact import Number, number_of
from execution_engine.metrics.definition import Kind
from execution_engine.metrics.expressions import Expressions
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.frequencies import Frequencies
from execution_engine.metrics.states.states import State
from execution_engine.metrics.states.summary import Summary
from execution_engine.outcome import Failure, Reason

from .selects import AskedStatistic, Keyed


@dataclass(frozen=True, kw_only=True)
class Plan:
    """By the key of each measurement, the statistics it needs by their names, or its groupings."""

    statistics: Mapping[str, Mapping[str, AskedStatistic]]
    groupings: Mapping[str, tuple[Keyed, ...]]

    @property
    def asked(self) -> list[AskedStatistic]:
        """Every statistic once."""
        return list(dict.fromkeys(one for named in self.statistics.values() for one in named.values()))

    @property
    def keyed(self) -> list[Keyed]:
        """Every grouping once."""
        return list(dict.fromkeys(one for some in self.groupings.values() for one in some))


def plan(wanted: Sequence[Wanted], write: Expressions) -> Plan:
    """What to gather for aggregates, sketches and groupings."""
    statistics: dict[str, Mapping[str, AskedStatistic]] = {}
    groupings: dict[str, tuple[Keyed, ...]] = {}
    for item in wanted:
        definition, where = METRICS[item.spec.name], item.spec.where
        condition = None if where is None else write.condition(where)
        if definition.groupings is not None:
            keys = definition.groupings(item.spec)
            groupings[item.key] = tuple(Keyed(grouping=each, where=condition) for each in keys)
        elif definition.statistics is not None:
            named = definition.statistics(item.spec, write)
            statistics[item.key] = {
                name: AskedStatistic(statistic=each, where=condition) for name, each in named.items()
            }
    return Plan(statistics=statistics, groupings=groupings)


def measured_of(
    item: Wanted,
    planned: Plan,
    gathered: Mapping[AskedStatistic, Any],
    frequencies: Mapping[Keyed, Frequencies | Summary | Failure],
) -> Measured:
    """One measurement from what was gathered; a failure of anything it needs is its own."""
    if item.key in planned.statistics:
        named = {name: gathered[one] for name, one in planned.statistics[item.key].items()}
        failure = next((value for value in named.values() if isinstance(value, Failure)), None)
        return Measured(failure=failure) if failure else from_state(item.spec, State(statistics=named), item.keep_state)
    found = [frequencies[keyed] for keyed in planned.groupings[item.key]]
    failure = next((each for each in found if isinstance(each, Failure)), None)
    return Measured(failure=failure) if failure else _from_found(item, found)


def from_state(spec: MetricSpec, state: State, keep_state: bool = False) -> Measured:
    """The value that a state gives, with what there is to tell of it."""
    definition = METRICS[spec.name]
    kept = state.to_bytes(spec) if keep_state and definition.merges(spec) else None
    if definition.from_summaries is not None:
        return replace(from_summaries(spec, tuple(each.summary for each in state.groupings)), state=kept)
    assert definition.value is not None
    assert state.statistics is not None
    detail = definition.detail(spec, state.statistics) if definition.detail else {}
    return _number(spec, definition.value(spec, state.statistics), kept, detail)


def from_summaries(spec: MetricSpec, summaries: tuple[Summary, ...]) -> Measured:
    """The value of a metric of groupings, from what is known of each."""
    definition = METRICS[spec.name]
    assert definition.from_summaries is not None
    detail = definition.detail_of_keys(spec, summaries) if definition.detail_of_keys else {}
    return _number(spec, definition.from_summaries(spec, summaries), None, detail)


def _from_found(item: Wanted, found: Sequence[Any]) -> Measured:
    """Without a state where only summaries are known: there were too many keys to keep."""
    if all(isinstance(each, Frequencies) for each in found):
        return from_state(item.spec, State(groupings=tuple(found)), item.keep_state)
    return from_summaries(item.spec, tuple(each.summary if isinstance(each, Frequencies) else each for each in found))


def _number(spec: MetricSpec, value: Number | None, state: bytes | None, detail: Any = None) -> Measured:
    number = measured_number(value, spec.text)
    if state is None and not detail:
        return number
    return Measured(value=number.value, failure=number.failure, state=state, detail=detail or {})


def measured_number(value: Any, what: str) -> Measured:
    """The number as a measurement. NaN and infinity are failures: no database stores them and no bound fits them."""
    if value is None:
        return Measured()
    if not isinstance(value, int | float | Decimal):
        kind = type(value).__name__  # and not what it is: that is somebody's data
        return failed(Reason.QUERY_FAILED, f"{what} gave a {kind}, not a number; measure or cast to a number")
    if not isfinite(value):
        return failed(Reason.NOT_FINITE, f"{what} is {value}; leave such values out with where=")
    return Measured(value=number_of(value))


def of_no_data(item: Wanted) -> Measured:
    """Why no engine measures it: others compute it, or know the keys of partitions."""
    kind = METRICS[item.spec.name].kind
    if kind is Kind.LAYOUT:
        mend = "register the table in the catalog with its partition key, and test it there"
        return failed(Reason.INVALID, f"{item.spec.text} needs the format of the partitions' keys: {mend}")
    if kind is Kind.DERIVED:
        return failed(Reason.INVALID, f"{item.spec.text} is derived from other measurements; ask for those")
    return failed(Reason.INVALID, f"nothing measures {item.spec.text} here: its definition names no function for it")
