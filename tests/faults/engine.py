"""The engine of the workers: values of a sound table, unless a file says that it is spoilt; each reading is noted."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.service.stub import StubEngine
from execution_engine.engines.protocol import MeasurementRequest, Part, ScanReport, Table
from tests.faults.failpoints import come_by, in_work

VALUES = {"row_count": 100_000.0, "completeness": 1.0, "mean": 12.5}
SPOILT = {"mean": 500.0}


@dataclass(kw_only=True)
class WatchedEngine(StubEngine):
    """``home`` holds a file in ``spoilt/`` for each table that is, and gets the ids of what is read in ``reads``."""

    home: Path
    pace: float = 0.0  # seconds that each scan takes

    def scan(self, table: Table, part: Part, requests: Sequence[MeasurementRequest]) -> ScanReport:
        """What the table has at this moment."""
        self._note([item.key for item in requests])
        come_by(self.home, in_work("scan"))
        time.sleep(self.pace)
        is_spoilt = (self.home / "spoilt" / table.name).exists()
        return StubEngine(defaults=VALUES | SPOILT if is_spoilt else VALUES).scan(table, part, requests)

    def _note(self, keys: Sequence[str]) -> None:
        line = f"{os.getpid()} {' '.join(keys)}\n"
        file = os.open(self.home / "reads", os.O_APPEND | os.O_CREAT | os.O_WRONLY)
        try:
            os.write(file, line.encode())
        finally:
            os.close(file)
