"""An engine that reads nothing and answers from a table, so that what is measured is the service around it."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from execution_engine.engines.files.commits import read_commits
from execution_engine.engines.files.listing import read_fingerprints_by_key, read_written_at
from execution_engine.engines.protocol import (
    CommitLog,
    FailingRows,
    Measured,
    MeasurementRequest,
    Part,
    RowsRequest,
    ScanReport,
    Table,
    Unit,
    WrittenRows,
    none_failing,
    none_written,
)
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Failure, Reason

Place = tuple[str, str, str]  # table, partition key, text of the metric; an empty key is any partition
NOTHING = Failure(reason=Reason.INVALID, detail="the stub engine has no rows")


@dataclass(kw_only=True)
class StubEngine:
    """Values and failures by place, failing those a default by metric; each scan takes ``delay`` seconds."""

    values: Mapping[Place, float] = field(default_factory=dict)
    failures: Mapping[Place, Failure] = field(default_factory=dict)
    defaults: Mapping[str, float] = field(default_factory=dict)  # by the text of the metric, or its name
    delay: float = 0.0
    name: str = "stub"

    def scan(self, table: Table, part: Part, requests: Sequence[MeasurementRequest]) -> ScanReport:
        """What the table of values says."""
        if self.delay:
            time.sleep(self.delay)
        key = part.keys[0] if part.keys else ""
        measured = {item.key: self._measured(table.name, key, item.spec) for item in requests}
        return ScanReport(measured=measured, spark_jobs=0, seconds=self.delay, fingerprint=None)

    def scan_all(self, units: Sequence[Unit]) -> tuple[ScanReport, ...]:
        """One after the other."""
        return tuple(self.scan(unit.table, unit.part, unit.requests) for unit in units)

    def failing_rows(self, table: Table, part: Part, specs: Sequence[MetricSpec], limit: int) -> FailingRows:
        """There are none."""
        return none_failing(specs, NOTHING)

    def write_rows(self, table: Table, part: Part, request: RowsRequest) -> WrittenRows:
        """There are none."""
        return none_written(request.specs, NOTHING)

    def fingerprint(self, table: Table, part: Part) -> str | None:
        """Unknown, so that every run measures anew."""
        return None

    def fingerprints(self, table: Table, parts: Sequence[Part]) -> tuple[str | None, ...]:
        """Unknown too."""
        return (None,) * len(parts)

    def fingerprints_by_key(self, table: Table, part: Part) -> Mapping[str, str] | None:
        """Of the partitions that have folders of their own."""
        return read_fingerprints_by_key(table, part)

    def written_at(self, table: Table, part: Part) -> datetime | None:
        """By the modification times of the files."""
        return read_written_at(table, part)

    def commits(self, table: Table, mark: str, now: datetime) -> CommitLog:
        """By the modification times of the files."""
        return read_commits(table, mark, now)

    def partitions(self, table: Table) -> tuple[str, ...] | None:
        """None by name, so that no row lies outside of them."""
        return ()

    def close(self) -> None:
        """Nothing is held."""

    def _measured(self, table: str, key: str, spec: MetricSpec) -> Measured:
        places = ((table, key, spec.text), (table, "", spec.text))
        if failure := next((self.failures[place] for place in places if place in self.failures), None):
            return Measured(failure=failure)
        found = next((self.values[place] for place in places if place in self.values), None)
        if found is None:
            found = self.defaults.get(spec.text, self.defaults.get(spec.name))
        return Measured(value=found) if found is not None else Measured(failure=NOTHING)
