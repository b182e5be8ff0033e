"""A lake in memory, and a company that keeps its tables there."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest

from assay import clock
from assay.models import Dataset, DataTest
from assay.time.windows import Window
from execution_engine import services, storage, tasks
from execution_engine.models import Run, RunReason
from tests import factories
from tests.fakes import FakeEngine


@dataclass(frozen=True, kw_only=True)
class Loop:
    """The engine's own stages over a lake in memory."""

    lake: FakeEngine

    def at(self, instant: datetime) -> None:
        """Set the clock."""
        clock.simulate(instant)

    def drain(self) -> None:
        """Work the engine's stages until nothing is pending."""
        while tasks.schedule() + tasks.plan() + tasks.scan() + tasks.evaluate():
            pass

    def write(self, dataset: Dataset, key: str, data: list[Any], datacenter: str = "sea") -> None:
        """Replace a partition of a dataset in one datacenter."""
        self.lake.write(f"/lake/{datacenter}/{dataset.name}", key, data)

    def request(
        self, data_test: DataTest, window: Window, reason: RunReason = RunReason.MANUAL, occasion: str = "1"
    ) -> Run:
        """A run asked for now."""
        run = services.request_run(
            data_test=data_test, window=window, reason=reason, occasion=occasion, now=clock.now()
        )
        assert run is not None
        return run

    def run(
        self, data_test: DataTest, window: Window, reason: RunReason = RunReason.MANUAL, occasion: str = "1"
    ) -> Run:
        """A run asked for now, and evaluated."""
        run = self.request(data_test, window, reason, occasion)
        self.drain()
        run.refresh_from_db()
        return run


@pytest.fixture
def loop(db: None) -> Iterator[Loop]:
    """The engine's stages, with the clock at the noon that all factories write around."""
    lake = FakeEngine()
    clock.simulate(factories.NOW)
    with storage.using(lake):
        yield Loop(lake=lake)


@pytest.fixture
def trips(loop: Loop) -> Dataset:
    """A daily table of tier 2, fresh six hours after the day."""
    return factories.DatasetFactory.create(name="trips", freshness_sla=timedelta(hours=6))
