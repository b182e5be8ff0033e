"""An engine over rows in memory, for tests of what the platform does with measurements."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import blake2s
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pyarrow as pa

from execution_engine.engines.column_types import measure_drift
from execution_engine.engines.files.commits import read_commits
from execution_engine.engines.files.listing import read_fingerprints_by_key, read_written_at
from execution_engine.engines.native.profiles import measured_profile
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
    failed,
    none_failing,
    none_written,
)
from execution_engine.metrics.definitions.profile import profiled, start_of
from execution_engine.metrics.definitions.sample import Sample
from execution_engine.metrics.definitions.schema import SeenColumns
from execution_engine.metrics.keys.digest import digest_of_hashes
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.group_values import GroupKey, GroupValues
from execution_engine.outcome import Failure, Reason
from execution_engine.profiles.gather import gathered_profile

Row = Mapping[str, Any]


def rows(count: int, start: int = 0) -> list[Row]:
    """So many rows with the ids from ``start`` on."""
    return [{"id": number, "fare": 10.0 + number % 5} for number in range(start, start + count)]


@dataclass
class FakeEngine:
    """Tables by location, partitions by key; it counts what it is asked, and can be told to fail."""

    name: str = "fake"
    tables: dict[str, dict[str, list[Row]]] = field(default_factory=lambda: defaultdict(dict))
    scans: list[tuple[str, tuple[str, ...] | None, tuple[str, ...]]] = field(default_factory=list)
    failures: dict[str, Failure] = field(default_factory=dict)  # foreseen, by location
    poison: dict[str, Failure] = field(default_factory=dict)  # of everything scanned together with this metric
    crashes: set[str] = field(default_factory=set)  # locations whose scan raises
    while_reading: list[Any] = field(default_factory=list)  # called once each, in the middle of a scan

    def write(self, location: str, key: str, data: list[Row]) -> None:
        """Replace one partition."""
        self.tables[location][key] = data

    def scan(self, table: Table, part: Part, requests: Sequence[MeasurementRequest]) -> ScanReport:
        self.scans.append((table.location, part.keys, tuple(sorted(item.spec.text for item in requests))))
        if table.location in self.crashes:
            raise ConnectionError(f"{table.location} is not there")
        fingerprint = self.fingerprint(table, part)
        poisons = (self.poison[item.spec.text] for item in requests if item.spec.text in self.poison)
        failure = next(poisons, self.failures.get(table.location))
        found = self._rows(table, part)
        if self.while_reading:
            self.while_reading.pop(0)()
        measured = {
            item.key: Measured(failure=failure) if failure else _measure_of(item, found, table, part)
            for item in requests
        }
        return ScanReport(measured=measured, spark_jobs=1, seconds=0.0, fingerprint=fingerprint)

    def scan_all(self, units: Sequence[Unit]) -> tuple[ScanReport, ...]:
        return tuple(self.scan(unit.table, unit.part, unit.requests) for unit in units)

    def failing_rows(self, table: Table, part: Part, specs: Sequence[MetricSpec], limit: int) -> FailingRows:
        return none_failing(specs, Failure(reason=Reason.INVALID, detail="the fake engine samples no rows"))

    def write_rows(self, table: Table, part: Part, request: RowsRequest) -> WrittenRows:
        return none_written(request.specs, Failure(reason=Reason.INVALID, detail="the fake engine writes no rows"))

    def fingerprint(self, table: Table, part: Part) -> str | None:
        if table.storage == "sql":
            return None
        return blake2s(json.dumps(self._rows(table, part)).encode(), digest_size=16).hexdigest()

    def fingerprints(self, table: Table, parts: Sequence[Part]) -> tuple[str | None, ...]:
        return tuple(self.fingerprint(table, part) for part in parts)

    def fingerprints_by_key(self, table: Table, part: Part) -> Mapping[str, str] | None:
        return read_fingerprints_by_key(table, part) if Path(table.location).exists() else {}

    def written_at(self, table: Table, part: Part) -> datetime | None:
        return read_written_at(table, part)

    def commits(self, table: Table, mark: str, now: datetime) -> CommitLog:
        return read_commits(table, mark, now)

    def partitions(self, table: Table) -> tuple[str, ...] | None:
        return tuple(sorted(self.tables[table.location]))

    def close(self) -> None:
        """Nothing is held."""

    def _rows(self, table: Table, part: Part) -> list[Row]:
        keys = self.tables[table.location] if part.keys is None else part.keys
        return [row for key in keys for row in self.tables[table.location].get(key, ())]


def _measure_of(item: MeasurementRequest, found: Sequence[Row], table: Table, part: Part) -> Measured:
    """One metric of a part of a table; its columns are those of its rows, whose types nobody knows."""
    if item.spec.name != "schema_drift":
        return measure(item, found)
    names = {name for row in found for name in row} | {table.partition_column or ""}
    places = [SeenColumns(place=" ".join(part.keys or ("the table",)), columns=dict.fromkeys(names))] if found else []
    return measure_drift(item, places, table.name)


def measure(item: MeasurementRequest, found: Sequence[Row]) -> Measured:
    """One metric over rows, told in Python."""
    if item.spec.by:
        return _by_group(item, found)
    columns = item.spec.columns
    keys = {tuple(str(row.get(column)) for column in columns) for row in found}
    match item.spec.name:
        case "row_count":
            return Measured(value=float(len(found)))
        case "distinct_count":
            return Measured(value=float(len(keys)))
        case "profile":
            table = pa.Table.from_pylist(list(map(dict, found)))
            kept = table.select(profiled(item.spec, table.column_names))
            return measured_profile(gathered_profile([kept] if found else [], start_of(item.spec)))
        case "max":
            return Measured(value=max((row[columns[0]] for row in found), default=None))
        case "count_distinct" | "approx_count_distinct":
            whole = (tuple(row.get(column) for column in columns) for row in found)
            return Measured(value=float(len({key for key in whole if None not in key})))
        case "mean":
            return Measured(value=fmean(row[columns[0]] for row in found) if found else None)
        case "sample":
            sample = Sample(columns=columns, keys=tuple(sorted(keys)[:10]))
            return Measured(value=float(len(sample.keys)), state=sample.to_bytes())
        case "sample_found":
            sample = Sample.from_bytes(item.inputs["sample"])
            present = {tuple(str(row.get(column)) for column in sample.columns) for row in found}
            return Measured(value=float(len(present & set(sample.keys))))
        case "key_digest":
            hashes = sorted(int.from_bytes(blake2s(repr(key).encode(), digest_size=8).digest()) for key in keys)
            digest = digest_of_hashes(columns, np.array(hashes, dtype=np.uint64), len(found))
            return Measured(value=float(digest.keys), state=digest.to_bytes(item.state_key))
        case "bloom_filter":
            return Measured(value=float(len(keys)), state=json.dumps(sorted(keys)).encode())
        case "keys_found":
            shipped = {tuple(key) for key in json.loads(item.inputs["bloom_filter"])}
            lost = sorted(keys - shipped)
            return Measured(value=float(len(keys & shipped)), detail={"missing": len(lost), "lost": lost[:20]})
    return failed(Reason.INVALID, f"the fake engine has no {item.spec.text}")


def _by_group(item: MeasurementRequest, found: Sequence[Row]) -> Measured:
    parts: dict[GroupKey, list[Row]] = defaultdict(list)
    for row in found:
        parts[tuple(None if row.get(name) is None else str(row[name]) for name in item.spec.by)].append(row)
    plain = replace(item, spec=replace(item.spec, by=()))
    values = GroupValues(columns=item.spec.by, groups={key: measure(plain, part).value for key, part in parts.items()})
    return Measured(value=float(len(parts)), state=values.to_bytes())
