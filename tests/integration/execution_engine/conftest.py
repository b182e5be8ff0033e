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
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.metrics.definitions.row_count import ALL_ROWS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.models import Measurement, Run, RunReason
from execution_engine.planning.planner import hash_of
from tests import factories
from tests.fakes import FakeEngine

MONDAY = factories.day("2026-03-09")


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


@pytest.fixture
def spark(db: None, spark_engine: SparkEngine) -> Iterator[Loop]:
    """The engine's stages over real files, read by Spark."""
    clock.simulate(factories.NOW)
    with storage.using(spark_engine):
        yield Loop(lake=FakeEngine())


def measurement(dataset: Dataset, spec: MetricSpec = ALL_ROWS, *, window: Window = MONDAY, **more: Any) -> Measurement:
    """A measurement in ``sea`` that was asked for at noon and is taken when ``measured_at=`` says."""
    columns = {
        "datacenter": "sea",
        "window_start": window.start,
        "window_end": window.end,
        "spec": spec.to_json(),
        "spec_hash": hash_of(spec),
        "spec_text": spec.text,
        "requested_at": factories.NOW,
        **more,
    }
    return Measurement.objects.create(dataset=dataset, **columns)
