"""What the reading of one scan gives to its writing, which imports nothing that reads data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from execution_engine.engines.protocol import Measured
from execution_engine.models import Measurement, Scan
from execution_engine.outcome import ABNORMAL
from execution_engine.read_by import NO_VALUES, ReadBy
from execution_engine.watch.services import Seen


@dataclass(frozen=True, kw_only=True)
class BegunScan:
    """A scan that has begun, with its dataset, all that it is to measure, and what was known of that before."""

    scan: Scan
    measurements: Sequence[Measurement]
    ends: Mapping[int, int] = field(default_factory=dict)  # how often metrics had ended abnormally, by measurement
    keeps_states: bool = False  # of the partitions of its dataset


@dataclass
class ScanReading:
    """What one scan found: adopted measurements, new results, and what the data looked like."""

    fingerprint: str = ""
    written_at: datetime | None = None  # when the newest file was, where it was not seen before
    watch_id: int | None = None  # of the watch that has seen it before
    adopted: dict[int, Measurement] = field(default_factory=dict)  # by the id of the measurement that reuses it
    results: dict[int, Measured] = field(default_factory=dict)
    fingerprints: dict[int, str] = field(default_factory=dict)
    spark_jobs: int = 0
    seconds: float = 0.0
    read_by: ReadBy = NO_VALUES
    error: str = ""
    alone: set[int] = field(default_factory=set)  # those that shared their end with no other
    ends: dict[int, int] = field(default_factory=dict)  # how often each had ended abnormally before

    @property
    def is_abnormal(self) -> bool:
        """Whether anything of it ended abnormally."""
        return any(result.failure and result.failure.reason in ABNORMAL for result in self.results.values())

    def seen(self, scan: Scan) -> Seen:
        """What the data of the scan, which this is of, looked like."""
        return Seen(
            dataset=scan.dataset,
            datacenter=scan.datacenter,
            window=scan.window,
            fingerprint=self.fingerprint,
            written_at=self.written_at,
            watch_id=self.watch_id,
        )
