"""What would have explained an incident of a backtest: a trouble of the time whose rows were enough."""

from datetime import timedelta

import pytest

from alerting.inhibition.sizes import Size
from assay.models import Category, Dataset
from assay.time.windows import Window
from incident_manager.backtests.rules import BacktestIncident, BacktestTerms
from incident_manager.backtests.services import Causes
from tests.factories import (
    DAY,
    HOUR,
    NOW,
    DatasetFactory,
    DataTestFactory,
    IncidentFactory,
    LineageEdgeFactory,
    RunFactory,
    SpoiltWindowFactory,
    day,
)

pytestmark = pytest.mark.django_db

MONDAY = day("2026-03-09")
TERMS = BacktestTerms(sustain=4 * HOUR, period=DAY, grace=timedelta())


@pytest.fixture
def trips() -> Dataset:
    """A table below one of which 2 % of the rows are there twice on Monday."""
    above, below = DatasetFactory.create(), DatasetFactory.create(name="trips")
    LineageEdgeFactory.create(upstream=above, downstream=below)
    test = DataTestFactory.create(
        dataset=above, category=Category.DUPLICATES, assertion="1 - distinct_count(id) / row_count() <= 0.01"
    )
    counts = {"distinct_count(id)": 98, "row_count()": 100}
    RunFactory.create(data_test=test, window=MONDAY, outcome="broken", operands=counts)
    incident = IncidentFactory.create(dataset=above, category=Category.DUPLICATES, detected_at=NOW)
    SpoiltWindowFactory.create(incident=incident, data_test=test, window=MONDAY)
    dataset: Dataset = below
    return dataset


@pytest.mark.parametrize(("size", "cause"), [(Size(moved=0.01), "duplicates"), (Size(moved=0.37), ""), (None, "")])
def test_duplicates_of_the_time_would_have_explained_only_what_they_can_move(
    trips: Dataset, size: Size | None, cause: str
) -> None:
    causes = Causes(trips, Category.CUSTOM, TERMS, sizes={MONDAY: size} if size else {})
    incident = BacktestIncident(episodes=(Window(start=NOW, end=NOW + DAY),), windows=(MONDAY,))
    muted = causes(incident, NOW + HOUR)
    assert (muted.cause.partition(" ")[0] if muted else "") == cause
