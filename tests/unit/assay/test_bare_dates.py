"""Ends of a range: an instant, or a bare date, which is midnight where the data is."""

from datetime import UTC, datetime

import pytest

from assay.time.windows import parse_end, place_end


@pytest.mark.parametrize(
    ("text", "time_zone", "expected"),
    [
        ("2026-03-09", "UTC", datetime(2026, 3, 9, tzinfo=UTC)),
        ("2026-03-09", "Europe/Berlin", datetime(2026, 3, 8, 23, tzinfo=UTC)),
        ("2026-07-09", "Europe/Berlin", datetime(2026, 7, 8, 22, tzinfo=UTC)),
        ("2026-03-09", "America/New_York", datetime(2026, 3, 9, 4, tzinfo=UTC)),
        ("2026-09-06", "America/Santiago", datetime(2026, 9, 6, 4, tzinfo=UTC)),  # that midnight is left out
        ("2026-03-09T00:00", "Europe/Berlin", datetime(2026, 3, 9, tzinfo=UTC)),
        ("2026-03-09T00:00:00+01:00", "UTC", datetime(2026, 3, 8, 23, tzinfo=UTC)),
    ],
)
def test_a_bare_date_is_midnight_in_the_zone_and_an_instant_stays(
    text: str, time_zone: str, expected: datetime
) -> None:
    assert place_end(parse_end(text), time_zone) == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [("9 March", "Invalid"), ("2026-02-30", "day"), ("1802-01-01", "1900"), ("2026-03-09T99:00", "hour")],
)
def test_what_is_no_end_of_a_range_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        place_end(parse_end(text))
