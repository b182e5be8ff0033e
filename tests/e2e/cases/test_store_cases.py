"""A table in an object store that is away, whose keys expire, or whose objects are replaced while they are read."""

import http.client
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import S3FileSystem

from assay.catalog.profile import ReplicaProfile
from assay.config import config
from execution_engine import storage
from execution_engine.engines.child.engine import ChildEngine
from execution_engine.outcome import Reason
from tests.e2e.cases.people import told
from tests.e2e.scenario import Scenario, custom, dataset, incidents, runs, state
from tests.integration.engines.stored import SECRET, settings, store, stores

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(300)]

MONDAY, VOLUME = "2026-03-09", "raw.trips/volume"
ENOUGH = custom("raw.trips", "volume", "sum(fare) >= 1000")
ERROR = '<?xml version="1.0"?><Error><Code>{}</Code><Message>No.</Message></Error>'


@dataclass
class Front:
    """Stands before a store: it passes on what is asked, or answers ``trouble`` instead, a status and S3's code."""

    store: str
    trouble: tuple[int, str] | None = None
    on_reads: list[Callable[[], None]] = field(
        default_factory=list
    )  # one for each that reads bytes of objects, last first

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        """Pass the request on, or refuse it."""
        if self.trouble is not None:
            status, code = self.trouble
            _send(request, status, {"Content-Type": "application/xml"}, ERROR.format(code).encode())
            return
        if request.command == "GET" and request.path.split("?")[0].endswith(".parquet") and self.on_reads:
            self.on_reads.pop()()
        connection = http.client.HTTPConnection(urlsplit(self.store).netloc, timeout=30)
        connection.request(request.command, request.path, headers=dict(request.headers))
        answer = connection.getresponse()
        headers = {name: value for name, value in answer.getheaders() if name.lower() not in ("connection", "date")}
        _send(request, answer.status, headers, answer.read())
        connection.close()


def _send(request: BaseHTTPRequestHandler, status: int, headers: dict[str, str], body: bytes) -> None:
    request.send_response(status)
    length = headers.pop("Content-Length", str(len(body)))
    for name, value in {**headers, "Content-Length": length}.items():
        request.send_header(name, value)
    request.end_headers()
    if request.command != "HEAD":
        request.wfile.write(body)


@dataclass(frozen=True, kw_only=True)
class Company:
    """A scenario whose trips lie in a store, and what stands before it."""

    scenario: Scenario
    owner: S3FileSystem
    front: Front

    def write(self, rows: int, fare: float = 10.0) -> None:
        """Replace the trips of Monday, in two objects."""
        for part, ids in enumerate((range(rows // 2), range(rows // 2, rows))):
            trips = pa.table({"id": pa.array(ids, pa.int64()), "fare": [fare] * len(ids)})
            pq.write_table(trips, f"lake/trips/datestr={MONDAY}/part-{part}.parquet", filesystem=self.owner)


@pytest.fixture
def company(scenario: Scenario, tmp_path: Path) -> Iterator[Company]:
    """Spark in a child reads the store through the front, with keys from files."""
    (tmp_path / "key").write_text("k")
    with store() as owner:
        front = Front(store=config().object_stores[0].endpoint)
        handler = type("Handler", (BaseHTTPRequestHandler,), _methods(front))
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.daemon_threads = True
        Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        named = stores(f"http://127.0.0.1:{server.server_port}", access_key=f"file:{tmp_path / 'key'}")
        engine = ChildEngine()
        with settings(ASSAY_STORES=named, LAKE_SECRET=SECRET), storage.using(engine):
            place = ReplicaProfile(datacenter="sea", storage="parquet", location="s3://lake/trips")
            scenario.catalog(dataset("raw.trips", replicas=(place,), novelty=False), custom=[ENOUGH])
            yield Company(scenario=scenario, owner=owner, front=front)
        engine.close()
        server.shutdown()


def _methods(front: Front) -> dict[str, object]:
    def answer(request: BaseHTTPRequestHandler) -> None:
        front.answer(request)

    return {"do_GET": answer, "do_HEAD": answer, "protocol_version": "HTTP/1.1", "log_message": lambda *_: None}


def test_a_store_that_is_away_is_tried_again_and_opens_no_incident(company: Company) -> None:
    company.write(100)
    company.scenario.until("2026-03-10 05:59")
    company.front.trouble = (503, "SlowDown")
    company.scenario.until("2026-03-10 06:01")
    (away,) = runs(VOLUME, MONDAY)
    assert (away.outcome, away.error_reason, away.transient) == ("error", Reason.STORE_UNREACHABLE.value, True)
    assert (state(VOLUME, MONDAY), incidents()) == ("PENDING", [])
    company.front.trouble = None
    company.scenario.until("2026-03-10 06:30")
    assert (state(VOLUME, MONDAY), runs(VOLUME, MONDAY)[-1].outcome) == ("PASS", "held")
    company.scenario.until("2026-03-10 12:00")
    assert (incidents(), told("unknown")) == ([], [])


def test_keys_that_expire_between_two_checks_neither_heal_an_incident_nor_keep_it_from_healing(
    company: Company,
) -> None:
    company.write(20)
    company.scenario.until("2026-03-10 10:30")
    (incident,) = incidents("raw.trips")
    assert (state(VOLUME, MONDAY), incident.resolved_at) == ("FAIL", None)
    company.front.trouble = (400, "ExpiredToken")
    company.write(100)
    company.scenario.until("2026-03-10 11:30")
    incident.refresh_from_db()
    assert (state(VOLUME, MONDAY), incident.resolved_at) == ("FAIL", None)
    company.front.trouble = None
    company.scenario.until("2026-03-10 12:30")
    incident.refresh_from_db()
    assert (state(VOLUME, MONDAY), incident.resolved_at is not None) == ("PASS", True)


def test_objects_that_are_replaced_while_they_are_read_give_the_value_of_no_mixture(company: Company) -> None:
    company.write(20)
    company.scenario.until("2026-03-10 05:59")
    # after both footers, and footer and rows of the first object in a task of Spark
    company.front.on_reads = [lambda: company.write(20, fare=99.0), *[lambda: None] * 4]
    company.scenario.until("2026-03-10 06:30")
    assert company.front.on_reads == []
    seen = runs(VOLUME, MONDAY)
    assert {run.value for run in seen if run.outcome != "error"} <= {200, 1980}
    assert (seen[-1].value, state(VOLUME, MONDAY), incidents()) == (1980, "PASS", [])
