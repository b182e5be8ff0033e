"""When a client tries again, and how it reads errors of both shapes."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_client import AssayError, BadRequest, NotAllowed, NotFound, Unavailable
from assay_client.transport import Patience, error_of, retry_after

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


@given(retries=st.integers(0, 500), failures=st.integers(1, 1000))
def test_pauses_double_up_to_the_longest_and_end_with_the_retries(retries: int, failures: int) -> None:
    pause = Patience(retries=retries, first=0.5, longest=60).before_next(failures, None)
    assert pause == (None if failures > retries else min(60.0, 0.5 * 2 ** (failures - 1)))


@pytest.mark.parametrize(("asked", "pause"), [(0.0, 0.0), (7.0, 7.0), (60.0, 60.0), (61.0, None)])
def test_what_the_server_asks_for_goes_before_our_own_pauses(asked: float, pause: float | None) -> None:
    assert Patience(longest=60).before_next(3, asked) == pause


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("120", 120.0),
        (" 5 ", 5.0),
        ("Tue, 10 Mar 2026 12:00:30 GMT", 30.0),
        ("Tue, 10 Mar 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        ("-3", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_is_seconds_or_a_date(text: str | None, seconds: float | None) -> None:
    assert retry_after(text, NOON) == seconds


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, BadRequest),
        (401, NotAllowed),
        (403, NotAllowed),
        (404, NotFound),
        (409, BadRequest),
        (429, Unavailable),
        (500, Unavailable),
        (503, Unavailable),
    ],
)
def test_a_status_says_which_kind_of_error_it_is(status: int, kind: type[AssayError]) -> None:
    assert type(error_of(status, None, "http://x")) is kind


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"error": "No such day.", "where": "window", "mend": "Name another."}, ("No such day.", "window")),
        ({"title": "Wrong", "detail": "No such day.", "where": "window", "status": 400}, ("No such day.", "window")),
        ({"title": "Wrong"}, ("Wrong", "")),
        (["x"], ("http://x answers 400.", "")),
        (None, ("http://x answers 400.", "")),
    ],
)
def test_errors_are_read_in_assays_own_shape_and_as_problems(body: object, told: tuple[str, str]) -> None:
    error = error_of(400, body, "http://x")
    assert (error.what, error.where) == told
    assert str(error).startswith(told[0])
