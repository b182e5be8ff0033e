"""A look-up asks the database few things, however much it knows; and who asks."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from tests.factories import DatasetFactory, IncidentFactory, ReportFactory, SpoiltWindowFactory, StandingFactory, day

# the clock, the dataset, its copies and tests, what passes, what does not, what is pending or spoilt, what was
# completed anew or triggered, the incidents, the answer kept
MOST = 12
AUTHENTICATION = ("assay_accesstoken", "auth_user", "assay_member", "auth_group", "auth_permission")


@pytest.mark.parametrize("many", [0, 1, 30])
def test_a_look_up_takes_as_many_statements_however_much_is_known(api: APIClient, many: int) -> None:
    dataset = DatasetFactory.create(name="trips", datacenters=("sea", "phx"))
    for _ in range(many):
        broken = StandingFactory.create(data_test__dataset=dataset, state="FAIL", last_outcome="broken")
        StandingFactory.create(data_test=broken.data_test, window=day("2026-03-08"))
    incident = IncidentFactory.create(dataset=dataset)
    for _ in range(many):
        SpoiltWindowFactory.create(incident=incident, window=day("2026-03-09"))
        ReportFactory.create(dataset=dataset, incident=None)
    asked = {"dataset": "raw.trips", "from": "2026-03-07T12:00:00Z", "to": "2026-03-10T12:00:00Z"}
    with CaptureQueriesContext(connection) as seen:
        answer = api.get("/api/v1/quality", asked)
    assert answer.status_code == 200, answer.content
    statements = [each["sql"] for each in seen.captured_queries]
    ours = [sql for sql in statements if not any(table in sql.split("WHERE")[0] for table in AUTHENTICATION)]
    assert len(ours) <= MOST, chr(10).join(x[:150] for x in ours)
    assert answer.json()["status"] == ("bad" if many else "untested")
