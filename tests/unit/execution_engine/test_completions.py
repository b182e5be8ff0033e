"""How many rows completion events tell of."""

from datetime import UTC, datetime, timedelta

import pytest

from assay.time.windows import Window
from execution_engine.freshness.rules import CompletionEvent, rows_told

START = datetime(2026, 3, 9, tzinfo=UTC)
DAY = Window(start=START, end=START + timedelta(days=1))


def hour(number: int) -> Window:
    return Window(start=START + timedelta(hours=number), end=START + timedelta(hours=number + 1))


def told(rows: int | None, run: str = "", overwrites: bool | None = None, window: Window = DAY) -> CompletionEvent:
    return CompletionEvent(window=window, rows=rows, run=run, overwrites=overwrites)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], None),
        ([told(None)], None),
        ([told(5000)], 5000),
        ([told(0)], 0),
        ([told(60, "a"), told(40, "b")], 100),
        ([told(60, "a"), told(None, "b")], 60),
        ([told(60, "a"), told(60, "a")], 60),  # one event that came twice
        ([told(60, "a"), told(70, "a")], 70),  # a run that corrects itself
        ([told(60, "a"), told(40, "b", True)], 40),
        ([told(60, "a"), told(40, "b", True), told(5, "c")], 45),
        ([told(60, "a"), told(40, "b", True), told(60, "a")], 40),  # late news of what was overwritten
        ([told(40, "a", True), told(40, "a", True)], 40),
        ([told(60, "a"), told(None, "b", True)], None),  # replaced by nobody knows how many
        ([told(5, window=hour(0)), told(7, window=hour(1))], 12),
        ([told(5, "a", window=hour(0)), told(7, "a", window=hour(1))], 12),  # one run, two pieces
        ([told(5, window=hour(0)), told(7, window=hour(1)), told(9, "x", True, hour(1))], 14),
        ([told(700, window=Window(start=START, end=START + timedelta(days=7)))], None),  # of a week: who knows of a day
    ],
)
def test_the_rows_of_runs_add_up_until_one_overwrites_them(events: list[CompletionEvent], expected: int | None) -> None:
    assert rows_told(DAY, events, there=1.0) == expected


@pytest.mark.parametrize(
    ("there", "overwrites", "expected"),
    [
        (100.0, None, 100),  # exactly what the second run wrote: it has overwritten without saying so
        (99.0, None, 200),
        (100.0, False, 200),  # it says that it appended
    ],
)
def test_a_run_that_does_not_say_how_it_wrote_is_known_by_its_rows(
    there: float, overwrites: bool | None, expected: int
) -> None:
    events = [told(100, "first", overwrites), told(100, "again", overwrites)]
    assert rows_told(DAY, events, there=there) == expected


def test_a_piece_that_has_as_many_rows_as_the_window_has_not_replaced_it() -> None:
    assert rows_told(DAY, [told(50, "a"), told(50, "b", window=hour(1))], there=50.0) == 100
