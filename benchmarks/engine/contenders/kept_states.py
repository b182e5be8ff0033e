"""States of metrics kept in files between runs, and what several of them tell together."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from execution_engine.engines.protocol import ScanReport
from execution_engine.engines.spark_sql import expressions
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states import State, from_bytes, merged

from .ours import numbers


@dataclass(frozen=True, kw_only=True)
class StateFolder:
    """A file for each metric of each part of a table."""

    folder: Path

    def keep(self, part: str, report: ScanReport) -> None:
        """Writes what a scan of the part left behind; RuntimeError where something could not be measured."""
        numbers(report)
        place = self.folder / part
        place.mkdir(parents=True, exist_ok=True)
        for key, found in report.measured.items():
            (place / _file_name(key)).write_bytes(found.state or b"")

    def values(self, specs: Mapping[str, MetricSpec], parts: Iterable[str]) -> dict[str, float | None]:
        """Each metric over the union of the parts."""
        places = [self.folder / part for part in parts]
        return {
            key: _value(spec, [from_bytes(spec, (place / _file_name(key)).read_bytes()) for place in places])
            for key, spec in specs.items()
        }


def _value(spec: MetricSpec, states: Sequence[State]) -> float | None:
    metric = METRICS[spec.name]
    if metric.statistics is not None and metric.value is not None:
        # how two merge does not depend on the types of their columns
        statistics = dict(metric.statistics(spec, expressions({})))
        return metric.value(spec, merged(statistics, states).statistics or {})
    assert metric.from_summaries is not None
    return metric.from_summaries(spec, tuple(each.summary for each in merged(None, states).groupings))


def _file_name(key: str) -> str:
    return key.replace(" ", "_").replace(",", "")
