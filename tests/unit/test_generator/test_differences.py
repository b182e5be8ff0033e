"""What a plan says of two pictures of the catalog."""

import pytest

from assay.catalog.services import removal_fault
from test_generator.sync import Difference, Fields, differences

TRIPS = ("dataset", "raw.trips")


@pytest.mark.parametrize(
    ("before", "after", "sign", "fields"),
    [
        (None, {"tier": "1", "team": ""}, "+", {"tier": ("", "1")}),
        ({"tier": "1"}, {"tier": "2"}, "~", {"tier": ("1", "2")}),
        ({"tier": "1", "team": "rides"}, {"tier": "1"}, "~", {"team": ("rides", "")}),
        ({"tier": "1"}, None, "-", {}),
    ],
)
def test_what_comes_changes_and_goes_has_a_sign_and_its_fields(
    before: Fields | None, after: Fields | None, sign: str, fields: dict[str, tuple[str, str]]
) -> None:
    old, new = ({} if each is None else {TRIPS: each} for each in (before, after))
    assert list(differences(old, new)) == [Difference(sign=sign, kind="dataset", name="raw.trips", fields=fields)]  # type: ignore[arg-type]


def test_what_stays_as_it_is_is_not_told() -> None:
    assert not list(differences({TRIPS: {"tier": "1"}}, {TRIPS: {"tier": "1"}}))


@pytest.mark.parametrize(
    ("gone", "known", "is_refused"),
    [(5, 5, False), (6, 60, False), (6, 59, True), (6, 6, True), (10, 100, False), (11, 100, True), (0, 0, False)],
)
def test_more_than_five_and_more_than_a_tenth_are_too_many(gone: int, known: int, is_refused: bool) -> None:
    assert bool(removal_fault([f"raw.t{number}" for number in range(gone)], known)) is is_refused
