"""A column is marked sensitive after results of it were taken: from then on nobody is shown them."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from alerting.alerts.texts import text_of
from assay.models import Dataset
from execution_engine.freshness.derive import TIME_TO_COMPLETE
from execution_engine.metrics.spec import MetricSpec
from execution_engine.models import Measurement
from incident_manager.incidents.services import note
from incident_manager.models import Incident
from tests.factories import NOW, DatasetFactory, IncidentFactory, RunFactory, SpoiltWindowFactory, StandingFactory

SECRET = 987654
SAID = f"max(salary) = {SECRET}, wanted < 1000"
COUNTED = "distinct_count(salary) = 3, wanted > 9"
KEPT = {"values": 3, "top": [f"{SECRET}"]}


def broken(assertion: str, sentence: str, value: float, detail: dict[str, Any], incident: Incident) -> None:
    """A test that broke on Monday, with all that was written of it."""
    spec = MetricSpec(name=assertion.partition("(")[0], columns=("salary",))
    of_test = {"data_test__dataset": incident.dataset, "data_test__assertion": assertion}
    result = {"sentence": sentence, "value": value, "excess": value}
    more = {"operands": {spec.text: str(value)}, "findings": {spec.text: detail}}
    run = RunFactory.create(**of_test, **result, **more, outcome="broken")
    test = run.data_test
    StandingFactory.create(data_test=test, last_run=run, state="FAIL", last_outcome="broken", **result)
    SpoiltWindowFactory.create(incident=incident, data_test=test)
    note(incident, "spoilt", now=NOW, text=f"{test.name} {run.window.text}: {sentence}")
    at = {"window_start": run.window_start, "window_end": run.window_end, "requested_at": NOW, "measured_at": NOW}
    of = {"datacenter": "sea", "spec": spec.to_json(), "spec_hash": "0" * 32, "spec_text": spec.text}
    exact = str(SECRET) if value == SECRET else ""
    Measurement.objects.create(dataset=incident.dataset, value=value, exact=exact, detail=detail, **at, **of)


@pytest.fixture
def pay(user: User) -> Dataset:
    """Pay, whose highest salary was told when nobody had said that salaries are sensitive."""
    columns = [{"name": "id", "type": "bigint"}, {"name": "salary", "type": "bigint"}]
    dataset: Dataset = DatasetFactory.create(namespace="hr", name="pay", columns=columns)
    incident = IncidentFactory.create(dataset=dataset)
    broken("max(salary) < 1000", SAID, SECRET, {}, incident)
    broken("distinct_count(salary) > 9", COUNTED, 3, KEPT, incident)
    return dataset


def mark(dataset: Dataset) -> None:
    dataset.columns = [{"name": "id", "type": "bigint"}, {"name": "salary", "type": "bigint", "sensitive": True}]
    dataset.save()


PLACES = (
    "/datasets/hr.pay?tab=tests",
    "/incidents/{incident}",
    "/api/v1/runs",
    "/api/v1/measurements",
    "/api/v1/incidents/{incident}",
)


@pytest.mark.parametrize("place", PLACES)
def test_what_was_shown_of_a_column_is_shown_no_more_once_it_is_sensitive(
    pay: Dataset, user: User, api: APIClient, place: str
) -> None:
    client = api if place.startswith("/api/") else Client()
    client.force_login(user)
    address = place.format(incident=Incident.objects.get().pk)
    assert str(SECRET) in client.get(address).content.decode()
    mark(pay)
    after = client.get(address)
    assert (after.status_code, str(SECRET) in after.content.decode()) == (200, False)


def test_of_what_counts_the_numbers_stay_and_the_values_go(pay: Dataset, api: APIClient) -> None:
    mark(pay)
    counted, most = api.get("/api/v1/runs").json()["results"]
    assert (counted["sentence"], counted["value"]) == (COUNTED, 3)
    assert counted["findings"] == {"distinct_count(salary)": {"values": 3}}
    assert (most["outcome"], most["value"], most["exact"], most["excess"]) == ("broken", None, "", None)
    assert (most["operands"], most["findings"], "sensitive now" in most["sentence"]) == ({}, {}, True)
    counted, most = api.get("/api/v1/measurements").json()["results"]
    assert (counted["value"], counted["detail"], most["value"], most["exact"]) == (3, {"values": 3}, None, "")


def test_a_notice_that_is_written_after_it_tells_no_value(pay: Dataset) -> None:
    alert = Incident.objects.get().alert
    assert alert is not None
    assert SAID in [window.value for window in text_of(alert).windows]
    mark(pay)
    said = [window.value for window in text_of(alert).windows]
    assert (COUNTED in said, SAID in said) == (True, False)


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        (TIME_TO_COMPLETE, 7200),  # of a clock, not of a column
        (MetricSpec(name="gone_since", columns=("salary",)), None),  # an earlier version measured it
    ],
)
def test_what_no_test_can_ask_for_is_shown_unless_it_is_of_a_column(
    pay: Dataset, api: APIClient, spec: MetricSpec, shown: float | None
) -> None:
    mark(pay)
    row = Measurement.objects.order_by("pk")[0]
    Measurement.objects.exclude(pk=row.pk).delete()
    row.spec, row.spec_text, row.value = spec.to_json(), spec.text, 7200
    row.save()
    (told,) = api.get("/api/v1/measurements").json()["results"]
    assert told["value"] == shown
