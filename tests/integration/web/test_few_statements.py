"""A look-up asks the database four things, however much it knows; and who asks."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from assay import clock
from tests.factories import NOW, DatasetFactory, IncidentFactory, ReportFactory, SpoiltWindowFactory, day

MOST = 4
AUTHENTICATION = ("assay_accesstoken", "auth_user", "assay_member", "auth_group", "auth_permission")


@pytest.mark.parametrize("many", [0, 1, 30])
def test_a_look_up_takes_four_statements(api: APIClient, many: int) -> None:
    dataset = DatasetFactory.create(name="trips", datacenters=("sea", "phx"))
    incident = IncidentFactory.create(dataset=dataset)
    for _ in range(many):
        SpoiltWindowFactory.create(incident=incident, window=day("2026-03-09"))
        ReportFactory.create(dataset=dataset, incident=None)
    clock.simulate(NOW)
    asked = {"dataset": "raw.trips", "from": (NOW - timedelta(days=3)).isoformat(), "to": NOW.isoformat()}
    with CaptureQueriesContext(connection) as seen:
        answer = api.get("/api/v1/quality", asked)
    assert answer.status_code == 200, answer.content
    statements = [each["sql"] for each in seen.captured_queries]
    ours = [sql for sql in statements if not any(table in sql.split("WHERE")[0] for table in AUTHENTICATION)]
    assert len(ours) <= MOST, ours
    assert answer.json()["status"] == ("bad" if many else "good")
