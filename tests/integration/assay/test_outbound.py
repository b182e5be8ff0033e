"""Calls to the outside, against real servers that do their worst."""

import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from socket import socket

import pytest

from assay.edge.destination import DestinationRules, UnableToCall, rules_for
from assay.edge.outbound import call, trust
from tests.integration.assay.raw_servers import OK, Called, encrypted, raw

SECONDS = 0.5
HERE = ["127.0.0.1"]


def in_private(url: str) -> DestinationRules:
    """Rules under which the servers of the tests may be called."""
    return rules_for(url, permits_private=True)


def post(called: Called, *addresses: str, seconds: float = SECONDS) -> int:
    """What a server answers to a post, whose name leads to these addresses."""
    url = called.url
    return call("POST", url, rules=in_private(url), body=b"{}", seconds=seconds, resolve=lambda *_: addresses or HERE)


def test_the_status_of_an_answer_comes_back() -> None:
    with raw(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 418 Teapot\r\n\r\n") as called:
        assert post(called) == 418
    head, _, body = called.requests[0].partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert (lines[0], body) == ("POST /notices HTTP/1.1", b"{}")
    assert f"host: hooks.invalid:{called.port}" in [line.lower() for line in lines]


def test_a_redirect_is_an_answer_and_leads_nowhere() -> None:
    with raw() as inward:
        target = f"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{inward.port}/\r\n\r\n"
        with raw(target.encode()) as called:
            assert post(called) == 302
    assert inward.requests == []


def test_a_name_that_leads_inward_is_never_connected_to() -> None:
    with raw() as inward:
        url = f"https://hooks.invalid:{inward.port}/"
        rules = rules_for(url, [f"hooks.invalid:{inward.port}"])
        with pytest.raises(UnableToCall, match=r"leads to 127\.0\.0\.1"):
            call("POST", url, rules=rules, resolve=lambda *_: HERE)
    assert inward.requests == []


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "0x7f.1", "0", "127.1", "[::ffff:127.0.0.1]", "localhost"])
def test_however_loopback_is_written_it_is_not_called(host: str) -> None:
    with raw() as inward:
        url = f"https://{host}:{inward.port}/"
        rules = rules_for(url, [f"{host.strip('[]')}:{inward.port}"])
        with pytest.raises(UnableToCall, match=r"leads to|no name"):
            call("GET", url, rules=rules)
    assert inward.requests == []


def test_a_name_is_resolved_once_so_that_its_owner_cannot_change_the_answer() -> None:
    answers = iter([["127.0.0.1"], ["127.0.0.2"]])
    with raw() as judged, raw(host="127.0.0.2", port=judged.port) as rebound:
        url = judged.url
        assert call("POST", url, rules=in_private(url), resolve=lambda *_: next(answers)) == 200
    assert (len(judged.requests), len(rebound.requests)) == (1, 0)
    assert next(answers) == ["127.0.0.2"]


def test_the_next_address_of_a_name_is_tried_where_the_first_is_away() -> None:
    with raw() as called:
        assert post(called, "127.0.0.3", "127.0.0.1") == 200


def drip(wire: socket) -> None:
    """A byte now and then, each well within any time-out between two."""
    for byte in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"a" * 1000:
        wire.sendall(bytes([byte]))
        time.sleep(0.05)


def silence(wire: socket) -> None:
    """Nothing at all."""
    time.sleep(5)


@pytest.mark.parametrize("answer", [drip, silence])
def test_the_deadline_is_for_the_whole_call(answer: object) -> None:
    with raw(answer) as called:  # type: ignore[arg-type]
        began = time.monotonic()
        with pytest.raises(UnableToCall, match=r"did not answer|deadline"):
            post(called)
        assert time.monotonic() - began < 2  # of half a second; the drip would take fifty


def flood(wire: socket) -> None:
    """Headers without end."""
    wire.sendall(b"HTTP/1.1 200 OK\r\n")
    for n in count():
        wire.sendall(b"X-%d: %b\r\n" % (n, b"a" * 1000))


def interim(wire: socket) -> None:
    """Answers that are none, without end."""
    while True:
        wire.sendall(b"HTTP/1.1 102 Processing\r\n\r\n" * 100)


@pytest.mark.parametrize("answer", [flood, interim, b"SSH-2.0-OpenSSH_9.2\r\n", b"", b"\x00" * 200_000])
def test_what_is_no_answer_of_http_within_64_kb_is_refused(answer: object) -> None:
    with raw(answer) as called, pytest.raises(UnableToCall):  # type: ignore[arg-type]
        post(called, seconds=10)


def three_gigabytes(wire: socket) -> None:
    """A body that nobody wants."""
    wire.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3000000000\r\n\r\n")
    for _ in range(3000):
        wire.sendall(b"a" * 1_000_000)


def test_the_body_of_an_answer_stays_unread() -> None:
    with raw(three_gigabytes) as called:
        assert post(called, seconds=10) == 200


def test_a_header_cannot_smuggle_in_another() -> None:
    with raw(OK) as called, pytest.raises(UnableToCall, match="Illegal header value"):
        call("GET", called.url, rules=in_private(called.url), headers={"Key": "a\r\nX: b"}, resolve=lambda *_: HERE)


@pytest.fixture
def _trusting(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Authorities are read anew, before and after."""
    trust.cache_clear()
    yield
    trust.cache_clear()


def get_encrypted(called: Called, host: str = "hooks.invalid") -> int:
    """What a server answers over TLS, called by this name."""
    url = f"https://{host}:{called.port}/"
    return call("GET", url, rules=in_private(url), seconds=SECONDS, resolve=lambda *_: HERE)


@pytest.mark.usefixtures("_trusting")
def test_the_certificate_is_checked_for_the_name_though_the_address_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with encrypted(tmp_path, "hooks.invalid") as (called, certificate):
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert get_encrypted(called) == 200
        with pytest.raises(UnableToCall, match="CERTIFICATE_VERIFY_FAILED"):
            get_encrypted(called, "other.invalid")
    assert len(called.requests) == 1


@pytest.mark.usefixtures("_trusting")
def test_a_certificate_of_an_unknown_authority_is_refused(tmp_path: Path) -> None:
    with encrypted(tmp_path, "hooks.invalid") as (called, _), pytest.raises(UnableToCall, match="CERTIFICATE_VERIFY"):
        get_encrypted(called)


def test_a_handshake_that_never_ends_is_given_up() -> None:
    with raw(silence) as called, pytest.raises(UnableToCall, match="did not answer"):
        get_encrypted(called)
