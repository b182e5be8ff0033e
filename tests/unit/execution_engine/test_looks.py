from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution_engine.watch import next_look

NOW = datetime(2026, 3, 10, 12, 3, tzinfo=UTC)


@pytest.mark.parametrize(
    ("age", "closely", "expected"),
    [
        (timedelta(days=1), True, "03-10 12:05"),
        (timedelta(days=1), False, "03-10 13:00"),
        (timedelta(days=34), False, "03-10 13:00"),
        (timedelta(days=36), False, "03-11 00:00"),
        (timedelta(days=36), True, "03-10 12:05"),
    ],
)
def test_how_often_a_window_is_looked_at(age: timedelta, closely: bool, expected: str) -> None:
    assert f"{next_look(window_end=NOW - age, closely=closely, now=NOW):%m-%d %H:%M}" == expected


@given(st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)), st.booleans())
def test_the_next_look_is_always_later(now: datetime, closely: bool) -> None:
    assert now < next_look(window_end=now, closely=closely, now=now) <= now + timedelta(hours=1)
