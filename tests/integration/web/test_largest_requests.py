"""Every endpoint of the API answers its largest legal request in bounded work, and refuses what is a step larger.

What it takes in seconds is measured by ``python -m benchmarks.service.largest``.
"""

from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from alerting.models import Standing
from assay import clock
from assay.access import Role
from assay.config import config
from assay.models import Dataset, DataTest, Member
from assay.time.windows import Window
from execution_engine.models import Run
from incident_manager.gate.services import MOST_MEASURED
from incident_manager.models import Incident, SpoiltWindow
from tests.factories import DAY, NOW, DatasetFactory, DataTestFactory, RunFactory
from tests.integration.web.addresses import endpoints
from tests.integration.web.estate import Estate, build
from tests.integration.web.largest import WINDOWS, Largest, largest
from tests.integration.web.matrix import API, lines

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("_quick_passwords")]
ADDRESSES = [(line.method, line.address.removeprefix("api/v1/")) for line in lines(API)]
LONGEST_ANSWER = 1_000_000  # characters
NOT_SIZED = {("POST", "api/v1/auth/login")}  # a name and a password in a header


@pytest.fixture
def estate() -> Estate:
    """A table of many windows, all of them broken and spoilt."""
    clock.simulate(NOW)
    for name in ("me", "third"):
        Member.objects.create(user=User.objects.create_user(name), role=Role.ADMIN)
    found = build("me", "third")
    test = DataTest.objects.select_related("revision").get(pk=str(found.names["test"]))
    _break(test, Incident.objects.get(pk=str(found.names["incident"])))
    for number in range(30):
        RunFactory.create(data_test=test, slot=f"{number}")
    return found


def add_tables(count: int) -> None:
    for number in range(count):
        table = DatasetFactory.create(name=f"many_{number}", first_partition="1999-01-01", source="push", owner="me")
        DataTestFactory.create(dataset=table, created_at=NOW - 20_000 * DAY)


def _break(test: DataTest, incident: Incident) -> None:
    end = NOW.replace(hour=0) - 5 * DAY
    windows = [Window(start=end - (n + 1) * DAY, end=end - n * DAY) for n in range(WINDOWS)]
    broken: Any = {"state": "FAIL", "last_outcome": "broken", "due_at": NOW - DAY, "since": NOW - DAY}
    broken |= {"data_test": test, "revision": test.revision}
    Standing.objects.bulk_create(
        Standing(window_key=window.text, window_start=window.start, window_end=window.end, **broken)
        for window in windows
    )
    spoilt: Any = {"incident": incident, "dataset": test.dataset, "data_test": test, "severity": "hard"}
    SpoiltWindow.objects.bulk_create(
        SpoiltWindow(spoilt_at=NOW - DAY, window_start=window.start, window_end=window.end, **spoilt)
        for window in windows
    )


@pytest.fixture
def client(estate: Estate) -> APIClient:
    """Mine, by a session: a token makes no tokens."""
    cache.clear()
    found = APIClient(raise_request_exception=False)
    found.force_login(User.objects.get(username="me"))
    return found


def send(client: APIClient, estate: Estate, method: str, address: str, sent: object) -> Any:
    as_json = {} if method == "GET" else {"format": "json"}
    return getattr(client, method.lower())(estate.address(f"api/v1/{address}"), sent, **as_json)


def rows() -> int:
    """How many rows there are, beside those of runs."""
    return sum(
        model._default_manager.count() for model in apps.get_models() if model is not Run and model._meta.managed
    )


def test_every_endpoint_has_a_largest_request(estate: Estate) -> None:
    known = {(method, route) for method, route in endpoints() if route.startswith("api/v1/")} - NOT_SIZED
    assert set(largest(estate)) == set(ADDRESSES)
    assert len(known) == len(ADDRESSES)  # each is held against the resolver's by the matrix of access


@pytest.mark.parametrize(("method", "address"), ADDRESSES)
def test_the_largest_request_is_bounded_work_and_a_larger_one_is_refused(
    client: APIClient, estate: Estate, method: str, address: str
) -> None:
    request: Largest = largest(estate)[method, address]()
    add_tables(request.tables)
    before, runs = rows(), Run.objects.count()
    if request.larger is not None:
        refused = send(client, estate, method, address, request.larger)
        assert (refused.status_code, bool(refused.json()["error"]), bool(refused.json()["mend"])) == (400, True, True)
        assert (rows(), Run.objects.count()) == (before, runs)
    with CaptureQueriesContext(connection) as asked:
        answer = send(client, estate, method, address, request.sent)
        content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    assert answer.status_code in (200, 201, 202, 204), content[:500]
    assert len(asked) <= request.statements
    assert rows() - before <= request.written
    assert Run.objects.count() - runs <= MOST_MEASURED
    assert len(content) <= LONGEST_ANSWER


def test_a_body_above_the_limit_is_refused(client: APIClient, estate: Estate) -> None:
    answer = send(
        client, estate, "PUT", f"datasets/{Dataset.objects.all()[0]}", {"description": "x" * config().body_bytes}
    )
    assert (answer.status_code, "ASSAY_BODY_BYTES" in answer.json()["mend"]) == (413, True)


@pytest.mark.parametrize("address", ["data-tests", "datasets", "incidents", "runs", "reports"])
def test_a_list_costs_as_many_statements_however_many_rows_it_has(
    client: APIClient, estate: Estate, address: str
) -> None:
    counts = []
    for limit in (1, 200):
        with CaptureQueriesContext(connection) as asked:
            assert send(client, estate, "GET", address, {"limit": limit}).status_code == 200
        counts.append(len(asked))
    assert counts[0] == counts[1]


@pytest.mark.parametrize("missing", ["from", "to"])
def test_a_look_up_without_a_range_says_what_is_missing(client: APIClient, estate: Estate, missing: str) -> None:
    sent = {"dataset": estate.dataset.full_name, "from": "2026-03-09", "to": "2026-03-10"}
    del sent[missing]
    answer = send(client, estate, "GET", "quality", sent)
    assert (answer.status_code, f"{missing}: is needed" in answer.json()["error"]) == (400, True)
