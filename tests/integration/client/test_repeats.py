"""Which requests are sent again, when, and which never."""

import time

import pytest

from assay_client import AssayClient, AssayError, BadRequest, Output, Unavailable
from tests.integration.client.scripted import ALLOWED, Part, Scripted

COMPLETED = ALLOWED | {"judged": False, "completions": [1]}
OUTPUT = Output("raw.trips", "2026-03-09")
REPORTED = {"id": 1, "dataset": "d", "window": "w", "state": "open"}


@pytest.fixture
def client(scripted: Scripted, monkeypatch: pytest.MonkeyPatch) -> AssayClient:
    """A client of that server, which waits next to nothing by itself."""
    monkeypatch.setattr("assay_client.transport.random.uniform", lambda *_: 0.01)
    return AssayClient(scripted.url, "secret", retries=2)


@pytest.mark.parametrize("status", [0, 429, 502, 503, 504])
def test_a_question_is_asked_again_until_it_is_answered(client: AssayClient, scripted: Scripted, status: int) -> None:
    scripted.plays(Part(status), Part(status), Part(200, ALLOWED))
    assert client.gate("raw.trips", "2026-03-09").decision == "allow"
    assert scripted.asked == ["POST /api/v1/gate Token secret"] * 3


@pytest.mark.parametrize("status", [0, 429, 503])
def test_it_is_given_up_after_as_many_tries_as_were_allowed(
    client: AssayClient, scripted: Scripted, status: int
) -> None:
    scripted.plays(Part(status, {"error": "No time.", "mend": "Wait."}))
    with pytest.raises(Unavailable):
        client.gate("raw.trips", "2026-03-09")
    assert len(scripted.asked) == 3


@pytest.mark.parametrize("status", [400, 409, 413, 500])
def test_what_would_fail_again_is_not_asked_again(client: AssayClient, scripted: Scripted, status: int) -> None:
    scripted.plays(Part(status, {"error": "No."}))
    with pytest.raises(Unavailable if status == 500 else BadRequest):
        client.gate("raw.trips", "2026-03-09")
    assert len(scripted.asked) == 1


def test_retry_after_is_waited_out(client: AssayClient, scripted: Scripted) -> None:
    scripted.plays(Part(429, headers={"Retry-After": "1"}), Part(200, ALLOWED))
    start = time.monotonic()
    client.gate("raw.trips", "2026-03-09")
    assert 1 <= time.monotonic() - start < 3


def test_a_server_that_asks_for_an_hour_is_not_waited_for(client: AssayClient, scripted: Scripted) -> None:
    scripted.plays(Part(429, {"error": "Too many."}, {"Retry-After": "3600"}), Part(200, ALLOWED))
    with pytest.raises(Unavailable, match="Too many"):
        client.gate("raw.trips", "2026-03-09")
    assert len(scripted.asked) == 1


@pytest.mark.parametrize("status", [0, 502, 503, 504])
def test_what_must_not_be_done_twice_is_not_sent_twice(client: AssayClient, scripted: Scripted, status: int) -> None:
    scripted.plays(Part(status))
    with pytest.raises(Unavailable):
        client.report("raw.trips", "a/b", "Bad.")
    with pytest.raises(Unavailable):
        client.completed("load", [OUTPUT])
    assert [line.split()[1] for line in scripted.asked] == ["/api/v1/reports", "/api/v1/pipelines/load/completed"]


def test_what_was_refused_before_it_began_is_sent_again(client: AssayClient, scripted: Scripted) -> None:
    scripted.plays(Part(429), Part(201, REPORTED))
    assert client.report("raw.trips", "a/b", "Bad.").id == 1


def test_a_completion_that_names_its_run_is_sent_again(client: AssayClient, scripted: Scripted) -> None:
    scripted.plays(Part(0), Part(503), Part(201, COMPLETED))
    assert client.completed("load", [OUTPUT], run="r1").completions == (1,)


def test_who_waits_waits_out_that_assay_is_away(
    client: AssayClient, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay_client.client.FIRST_LOOK", 0.01)
    scripted.plays(*[Part(503)] * 7, Part(200, ALLOWED))
    assert client.wait_for_gate("raw.trips", "2026-03-09", timeout=30).decision == "allow"
    scripted.plays(Part(503))
    with pytest.raises(Unavailable):
        client.wait_for_gate("raw.trips", "2026-03-09", timeout=0.05)


def test_a_redirect_is_told_and_not_followed(client: AssayClient, scripted: Scripted) -> None:
    scripted.plays(Part(301, headers={"Location": "https://assay.example.com/api/v1/gate"}))
    with pytest.raises(AssayError, match=r"leads to https://assay\.example\.com"):
        client.gate("raw.trips", "2026-03-09")
    assert len(scripted.asked) == 1


def test_a_page_that_is_no_answer_of_assay_is_an_error_of_its_own(client: AssayClient, scripted: Scripted) -> None:
    scripted.plays(Part(200, b"<html>Sign in</html>"))
    with pytest.raises(AssayError, match="no JSON"):
        client.gate("raw.trips", "2026-03-09")


@pytest.mark.parametrize("url", ["assay.example.com", "http://[", "ftp://x"])
def test_a_text_that_is_no_address_is_told_as_such(url: str) -> None:
    with pytest.raises(AssayError, match="ASSAY_URL"):
        AssayClient(url, "x").gate("raw.trips", "2026-03-09")
