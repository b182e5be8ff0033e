"""Which instants are near enough, and which names are one."""

from datetime import UTC, datetime, timedelta

import pytest

from assay.database.name_keys import name_key, name_keys
from assay.time.durations import EARLIEST, LATEST, UnableToTakeInstant, taken

LEAST = timedelta(microseconds=1)


def test_three_hundred_years_are_taken_with_both_their_ends() -> None:
    assert (datetime(1900, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)) == (EARLIEST, LATEST)
    assert [taken(instant) for instant in (EARLIEST, LATEST)] == [EARLIEST, LATEST]


@pytest.mark.parametrize(
    ("instant", "said"),
    [
        (datetime(1900, 1, 1, tzinfo=UTC) - LEAST, "1899-12-31T23:59:59.999999+00:00"),
        (datetime(2200, 1, 1, tzinfo=UTC) + LEAST, "2200-01-01T00:00:00.000001+00:00"),
    ],
)
def test_an_instant_beyond_them_is_refused(instant: datetime, said: str) -> None:
    with pytest.raises(UnableToTakeInstant) as refused:
        taken(instant)
    assert str(refused.value) == f"{said} lies outside of the years 1900 to 2199: name one in them."


def test_a_name_has_one_key_however_it_is_spelled_and_two_names_have_two() -> None:
    kept = "fd9a1da8c52e264eb7ca1ff138851abe"  # as databases have it: it must stay
    assert name_key("Raw.TRIPS") == name_key("raw.trips") == kept
    assert len({name_key(name) for name in ("raw.strasse", "raw.straße", "raw.trips", "")}) == 4
    assert name_keys(["b", "a", "B"]) == [name_key("b"), name_key("a"), name_key("b")]
