"""A test of trips, and a short retention for what goes and what stays."""

from pathlib import Path

import pytest

from assay import clock
from assay.config import config
from assay.models import DataTest, Round
from tests.factories import NOW, DatasetFactory, DataTestFactory


@pytest.fixture
def a_week(db: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Results are kept for seven days, states for two."""
    monkeypatch.setattr(config(), "run_retention", 7)
    monkeypatch.setattr(config(), "state_retention", 2)
    monkeypatch.setattr(config(), "state_store", str(tmp_path))
    clock.simulate(NOW)
    Round.objects.create(name="prune", due_at=NOW)


@pytest.fixture
def fares(db: None) -> DataTest:
    """A test of each partition of trips: ada's of the team trips, at home in sea."""
    trips = DatasetFactory.create(name="trips", datacenters=("sea", "phx"))
    row: DataTest = DataTestFactory.create(dataset=trips, name="fares")
    return row


@pytest.fixture
def custom() -> DataTest:
    return DataTestFactory.create()
