"""What somebody sends who wishes us ill, or whose program is broken: an answer in the 400s, and nothing done."""

import io
import json
import logging
from typing import Any

import pytest
import structlog
from rest_framework.test import APIClient

from assay.edge.logs import configure_logs
from assay.models import DataChange, Dataset
from incident_manager.models import Entry, Report
from tests.factories import DatasetFactory, IncidentFactory
from tests.integration.web.test_problems import MEMBERS

REPORTS = "/api/v1/reports"
REPORT = {"dataset": "raw.trips", "window": "2026-03-09T00:00Z/2026-03-10T00:00Z", "description": "doubled"}
XXE = b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'


@pytest.fixture(autouse=True)
def trips(db: None) -> Dataset:
    return DatasetFactory.create(name="trips")


def send(api: APIClient, body: bytes, content_type: str = "application/json", address: str = REPORTS) -> Any:
    return api.generic("POST", address, body, content_type=content_type)  # type: ignore[arg-type]


def report(**changes: Any) -> bytes:
    return json.dumps({**REPORT, **changes}).encode()


def test_an_honest_body_is_taken(api: APIClient) -> None:
    assert send(api, report(description="doppelt 🚕")).status_code == 201
    assert Report.objects.get().description == "doppelt 🚕"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"[" * 10_000 + b"]" * 10_000, "deep"),
        (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "deep"),
        (b"[" * 100 + b"]" * 100, "deep"),
        (b'{"wait": NaN}', "NaN"),
        (b'{"wait": -Infinity}', "Infinity"),
        (b'{"wait": 1e999}', "beyond"),
        (b'{"wait": ' + b"9" * 5000 + b"}", "digits"),
        (b'{"dataset": "raw.trips", "dataset": "raw.other"}', "twice"),
        (report(description="a\0b"), "NUL"),
        (b'{"description": "\\ud83d"}', "half"),
        (b'{"\\ud83d": 1}', "half"),
        (b'{"description": "\xed\xa0\x80"}', "JSON"),
        (b"\xff\xfe{\x00}\x00", "JSON"),
        (b"{'description': 1}", "JSON"),
        (b"", "required"),
        (b"null", "No data"),
        (b"[]", "dictionary"),
        (b'"text"', "dictionary"),
        (XXE, "JSON"),
        (report(id={"$gt": 0}), "not known"),
        (report(dataset={"$gt": ""}), "string"),
        (report(dataset=["raw.trips"]), "string"),
        (report(dataset="r" * 10_000), "no dataset"),
        (report(dataset="raw.trips' or 1=1 --"), "no dataset"),
        (report(description="x" * 10_001), "10000"),
        (report(window="9999-99-99/9999-99-99"), "window"),
        (report(datacenter="s" * 10_000), "60"),
        (report(reporter="admin", state="confirmed"), "not known"),
    ],
)
def test_a_body_that_is_wrong_is_told_what_is_wrong(api: APIClient, body: bytes, why: str) -> None:
    answer = send(api, body)
    assert answer.status_code == 400
    assert any(word in json.dumps(answer.json(), ensure_ascii=False) for word in why.split("|"))
    assert not Report.objects.exists()


@pytest.mark.parametrize(
    "content_type",
    [
        *("application/xml", "text/xml", "text/plain", "application/x-www-form-urlencoded"),
        *("multipart/form-data; boundary=x", "application/x-python-serialize"),
        *("application/json; charset=utf-7", "application/json; charset=bz2_codec"),
    ],
)
def test_a_body_in_another_format_is_not_read(api: APIClient, content_type: str) -> None:
    assert send(api, XXE, content_type).status_code == 415


def test_half_a_million_names_cost_no_more_than_reading_them(api: APIClient) -> None:
    names = ",".join(f'"{n}":0' for n in range(400_000))
    assert send(api, f'{{{names},"399999":1}}'.encode()).status_code == 400


@pytest.mark.parametrize(
    "query",
    [
        *("ordering=password", "limit=1e9", "limit=-1", "limit=0x10", "offset=-1", "offset=one", "start=9999-99-99"),
        *("dataset=raw.trips%00", "dataset=%ED%A0%80", "dataset[$gt]=", "open=perhaps", "tier=9", "tier=1e1"),
        *("owner=%00", "owner__password__startswith=a", "owner=" + "a" * 9999),
    ],
)
def test_a_query_that_is_wrong_is_told_so(api: APIClient, query: str) -> None:
    answer = api.get(f"/api/v1/incidents?{query}")
    assert (answer.status_code, set(answer.json())) == (400, MEMBERS)


@pytest.mark.parametrize("query", ["limit=1000000000", f"offset={10**30}", "owner=%F0%9F%9A%95"])
def test_a_query_that_is_only_odd_is_answered(api: APIClient, query: str) -> None:
    assert api.get(f"/api/v1/incidents?{query}").status_code == 200


@pytest.mark.parametrize(
    "address",
    [
        *("incidents/99999999999999999999", f"incidents/{'9' * 5000}", "incidents/-1", "incidents/1%00"),
        *("incidents/%D9%A1", "datasets/raw.trips%00", "datasets/..%2f..%2fetc%2fpasswd"),
        *(f"datasets/{'a' * 10_000}", "datasets/%ED%A0%80", "datasets/🚕"),
    ],
)
def test_what_is_not_there_is_not_found(api: APIClient, address: str) -> None:
    assert api.get(f"/api/v1/{address}").status_code == 404


@pytest.mark.parametrize("name", ["a" * 10_000, "a%00b", "%ED%A0%80", "🚕", "a%0D%0AX-Evil: 1", "' or 1=1 --"])
def test_a_pipeline_of_any_name_breaks_nothing(api: APIClient, name: str) -> None:
    body = {"outputs": [{"dataset": "raw.trips", "window": "2026-03-09"}]}
    assert api.post(f"/api/v1/pipelines/{name}/completed", body, format="json").status_code < 500
    assert api.get(f"/api/v1/pipelines/{name}/quality").status_code < 500


@pytest.mark.parametrize("name", ["j" * 10_000, "🚕", "${env:HOME}"])
def test_an_event_of_a_job_of_any_name_is_heard(api: APIClient, name: str) -> None:
    event = {
        "eventType": "COMPLETE",
        "eventTime": "2026-03-10T01:00:00Z",
        "run": {
            "runId": "0195812e-64c8-7a90-8b1e-3f1b7a3c2d10",
            "facets": {"nominalTime": {"nominalStartTime": "2026-03-09T00:00:00Z"}},
        },
        "job": {"namespace": "etl", "name": name},
        "inputs": [],
        "outputs": [{"namespace": "raw", "name": "trips"}],
        "producer": "https://example.com/etl",
    }
    answer = api.post("/api/v1/lineage", event, format="json")
    assert (answer.status_code, answer.json()["completions"]) == (201, 1)
    assert DataChange.objects.get().pipeline == f"etl.{name}"[:200]


def test_a_forged_address_in_a_header_reaches_no_header_of_ours(api: APIClient) -> None:
    answer = api.get("/api/v1/incidents", headers={"X-Request-Id": "a\r\nX-Evil: 1", "Host": "evil.example.com"})
    assert ("X-Evil" in answer.headers, api.get("/", headers={"Host": "evil.example.com"}).status_code) == (False, 400)


def test_who_writes_a_line_break_does_not_write_a_line_of_the_log(api: APIClient) -> None:
    incident = IncidentFactory.create()
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    configure_logs(level="INFO", as_json=False)
    root = logging.getLogger()
    handler.setFormatter(root.handlers[0].formatter)
    root.addHandler(handler)
    try:
        structlog.get_logger("assay.test").info("incident", text="a\n2026-03-09 [info] all is well")
        api.post(f"/api/v1/incidents/{incident.pk}/annotations", {"text": "b\nINFO ok"}, format="json")
    finally:
        root.removeHandler(handler)
    lines = stream.getvalue().splitlines()
    assert lines
    assert not any(line.startswith(("INFO ok", "2026-03-09")) for line in lines)


def test_what_was_annotated_is_answered_as_it_was_sent(api: APIClient) -> None:
    text = "<script>alert(1)</script>"
    answer = api.post(f"/api/v1/incidents/{IncidentFactory.create().pk}/annotations", {"text": text}, format="json")
    assert (Entry.objects.filter(text=text).exists(), answer.headers["Content-Type"]) == (True, "application/json")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    "address", ["/api/", "/api/v2/datasets", "/api/v1/nowhere", "/api/v1/incidents/one", "/api/v1/a%0Ab"]
)
def test_an_address_that_is_none_is_answered_in_the_apis_own_way(api: APIClient, address: str) -> None:
    for answer in (api.get(address), api.delete(address)):
        assert (answer.status_code, set(answer.json())) == (404, MEMBERS)
    assert APIClient().get(address).status_code == 401
