"""The call to a service outside, which misses it when the scheduler is silent."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event
from typing import Any

import pytest
from structlog.testing import capture_logs

from assay.config import config
from assay.scheduler import sweep as pinging
from assay.scheduler.sweep import Pinger, ping
from tests.integration.alerting.receivers import serving


@contextmanager
def outside(status: int, called: Event, may_answer: Event | None = None) -> Iterator[str]:
    """The secret URL of a receiver."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            called.set()
            if may_answer:
                may_answer.wait(10)
            self.send_response(status)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as port:
        yield f"http://127.0.0.1:{port}/secret"


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Configures the URL."""

    def use(url: str) -> None:
        monkeypatch.setenv("ASSAY_HEARTBEAT_URL", url)
        config.cache_clear()

    yield use
    config.cache_clear()


@pytest.mark.parametrize(("status", "took"), [(200, True), (404, False)])
def test_what_the_receiver_does_not_take_is_logged_without_its_url(status: int, took: bool) -> None:
    with capture_logs() as logs, outside(status, Event()) as url:
        assert ping(url) == took
    assert [line["why"] for line in logs] == ([] if took else ["404"])
    assert "secret" not in str(logs)


def test_a_receiver_that_is_away_stops_nothing() -> None:
    with capture_logs() as logs:
        assert not ping("http://127.0.0.1:9/secret")
    (line,) = logs
    assert "ConnectionRefusedError" in line["why"]
    assert "secret" not in str(line)


def test_the_metadata_service_of_a_cloud_is_never_called() -> None:
    with capture_logs() as logs:
        assert not ping("http://169.254.169.254/secret")
    assert "leads to 169.254.169.254" in logs[0]["why"]


def test_a_slow_receiver_keeps_no_sweep_waiting_and_is_called_once_at_a_time(
    use: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    called, may_answer = Event(), Event()
    with outside(200, called, may_answer) as url:
        use(url)
        pinger = Pinger()
        pinger.call()
        assert called.wait(10)
        called.clear()
        monkeypatch.setattr(pinging, "EVERY", 0.0)
        pinger.call()
        time.sleep(0.2)
        assert not called.is_set()
        may_answer.set()
        _wait_for(pinger)
        pinger.call()
        assert called.wait(10)
        _wait_for(pinger)


def test_it_is_called_once_a_minute(use: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    called, seconds = Event(), [100.0]
    with outside(200, called) as url:
        use(url)
        pinger = Pinger()
        found = []
        for now in (100.0, 159.0, 160.0):
            seconds[0] = now
            called.clear()
            with monkeypatch.context() as patched:
                patched.setattr(time, "monotonic", lambda: seconds[0])
                pinger.call()
            _wait_for(pinger)
            found.append(called.is_set())
    assert found == [True, False, True]


def test_without_a_url_nobody_is_called() -> None:
    pinger = Pinger()
    pinger.call()
    assert pinger._calling is None


def _wait_for(pinger: Pinger) -> None:
    assert pinger._calling is not None
    pinger._calling.join(10)
