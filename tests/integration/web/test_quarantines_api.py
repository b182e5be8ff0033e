"""Quarantined metrics are listed and lifted through the API, and named by the doctor."""

from datetime import timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from execution_engine.metrics.spec import MetricSpec
from execution_engine.models import Run, Suspect
from execution_engine.outcome import Outcome, Reason
from tests.factories import NOW, DataTestFactory, RunFactory, day
from web.doctor import quarantined

pytestmark = pytest.mark.django_db
SPEC = MetricSpec(name="row_count", where="city like '%a%a%c'")


@pytest.fixture
def suspect() -> Suspect:
    """A metric of Monday's trips that hung three times."""
    test = DataTestFactory.create(dataset__name="trips")
    ended = {"outcome": Outcome.ERROR, "error_reason": Reason.QUARANTINED, "evaluated_at": NOW + timedelta(minutes=1)}
    run = RunFactory.create(data_test=test, **ended)
    at: dict[str, Any] = {"window_start": run.window_start, "window_end": run.window_end, "datacenter": "sea"}
    at |= dict.fromkeys(("first_at", "last_at", "quarantined_at"), NOW)
    of: dict[str, Any] = {"spec_hash": "0" * 32, "spec_text": SPEC.text, "ends": 3, "reason": Reason.TIMEOUT}
    return Suspect.objects.create(dataset=test.dataset, **at, **of)


def test_what_is_quarantined_is_listed_with_its_reason(api: APIClient, suspect: Suspect) -> None:
    (row,) = api.get("/api/v1/quarantines", {"dataset": "raw.trips"}).json()["results"]
    assert (row["metric"], row["reason"], row["ends"]) == (SPEC.text, "timeout", 3)


def test_lifting_one_requests_the_runs_that_it_kept_from_measuring(api: APIClient, suspect: Suspect) -> None:
    (run,) = api.post(f"/api/v1/quarantines/{suspect.pk}/lift").json()["runs"]
    assert Run.objects.get(pk=run).window == day("2026-03-09")
    assert api.get(f"/api/v1/quarantines/{suspect.pk}").status_code == 404


def test_the_doctor_names_what_is_quarantined_and_how_to_lift_it(suspect: Suspect) -> None:
    finding = quarantined()
    assert f"{suspect.pk}: {SPEC.text} of raw.trips (timeout)" in finding.found
    assert "/lift" in finding.mend


def test_the_doctor_is_content_where_nothing_is_quarantined() -> None:
    assert quarantined().is_well
