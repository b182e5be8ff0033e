"""A data test on an anomaly: judged by the windows before it, without those that are spoilt, and drawn."""

from datetime import timedelta

import pytest

from assay.models import Dataset, DataTest
from execution_engine import services
from execution_engine.models import Run, RunReason
from execution_engine.runs.shown_results import Veil
from tests.factories import NOW, DataTestFactory, day
from tests.fakes import rows
from tests.integration.execution_engine.conftest import Loop
from web.pages.days import history

BEFORE = [f"2026-03-{number:02d}" for number in range(1, 9)]
COUNTS = dict(zip(BEFORE, (100, 102, 98, 101, 99, 100, 103, 97), strict=True))
MONDAY = "2026-03-09"
USUAL = "anomaly(row_count(), last=8) <= 1"


def lived_through(loop: Loop, table: Dataset, assertion: str, counts: dict[str, int]) -> tuple[DataTest, list[Run]]:
    """The runs of a new test over these days, in their order."""
    data_test = DataTestFactory.create(dataset=table, assertion=assertion, category="anomaly")
    runs = []
    for key, count in counts.items():
        loop.write(table, key, rows(count))
        runs.append(loop.run(data_test, day(key)))
    return data_test, runs


def test_days_teach_until_there_are_enough_and_then_an_unusual_one_breaks(loop: Loop, trips: Dataset) -> None:
    _, runs = lived_through(loop, trips, USUAL, {**COUNTS, MONDAY: 60})
    assert [run.error_reason for run in runs] == ["warming up"] * 8 + [""]
    assert runs[-1].outcome == "broken"
    assert runs[-1].sentence.endswith("; row_count() = 60, expected 89.2488 to 111.344 after 8 windows (adaptive)")


def test_a_usual_one_holds(loop: Loop, trips: Dataset) -> None:
    _, runs = lived_through(loop, trips, USUAL, {**COUNTS, MONDAY: 101})
    assert runs[-1].outcome == "held"
    assert runs[-1].value == pytest.approx(0.08, abs=0.08)


def test_a_spoilt_window_teaches_nothing(loop: Loop, trips: Dataset) -> None:
    wild = {**COUNTS, BEFORE[3]: 900, MONDAY: 60}
    data_test, runs = lived_through(loop, trips, "anomaly(row_count(), last=8, min_values=7) <= 1", wild)
    assert runs[-1].outcome == "held"  # among values so far apart nothing is unusual
    services.exclude_window(dataset=trips, window=day(BEFORE[3]), holder="test")
    loop.at(NOW + timedelta(hours=1))
    assert loop.run(data_test, day(MONDAY), RunReason.REVISION).outcome == "broken"


def test_the_plot_draws_the_metric_with_what_was_expected_of_it(loop: Loop, trips: Dataset) -> None:
    data_test, (*_, run) = lived_through(loop, trips, USUAL.replace("<= 1", "<= 2"), {**COUNTS, MONDAY: 60})
    (finding,) = run.findings["expected"]
    middle = (finding["low"] + finding["high"]) / 2
    (result,) = history(data_test, Veil(NOW))
    assert result.value == 60
    assert result.low == pytest.approx(middle - 2 * (middle - finding["low"]))
    assert result.high == pytest.approx(middle + 2 * (finding["high"] - middle))
