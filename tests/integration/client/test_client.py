"""What the client asks of a real server."""

import os
import threading
import time
from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User
from openlineage.client import OpenLineageClient
from openlineage.client import event_v2 as events
from openlineage.client.facet_v2 import sql_job
from openlineage.client.transport.http import ApiKeyTokenProvider, HttpConfig, HttpTransport
from openlineage.client.uuid import generate_new_uuid
from pytest_django.live_server_helper import LiveServer

from alerting.alerts.services import downstream_of
from alerting.models import Alert
from assay.catalog.edge_rows import write_edges
from assay.catalog.profile import LineageProfile
from assay.models import AccessToken, Category, ChangeKind, DataChange, Dataset, DataTest
from assay_client import (
    AssayClient,
    AssayError,
    BadRequest,
    GateAnswer,
    NotAllowed,
    NotFound,
    Output,
    Unavailable,
)
from assay_client.answers import datetime_of
from execution_engine.models import Run, RunReason
from incident_manager.models import Incident, SpoiltWindow
from incident_manager.models import Report as ReportRow
from tests.factories import NOW, DatasetFactory, DataTestFactory, IncidentFactory, RunFactory, StandingFactory, day
from tests.integration.web.people import browser

MONDAY, TUESDAY = datetime(2026, 3, 9, tzinfo=UTC), datetime(2026, 3, 10, tzinfo=UTC)
SUNDAY = datetime(2026, 3, 8, tzinfo=UTC)


def test_a_bad_day_is_told_with_its_reasons_and_its_incident(client: AssayClient, trips: Dataset) -> None:
    Incident.objects.update(root_cause="disk full", eta=NOW)
    found = client.quality("raw.trips", MONDAY, TUESDAY)
    assert (found.dataset, found.status, found.is_good) == ("raw.trips", "bad", False)
    assert (found.start, found.end, found.datacenter) == (MONDAY, TUESDAY, "sea")
    incident = Incident.objects.get()
    assert [(each.id, each.root_cause, each.eta) for each in found.incidents] == [(incident.pk, "disk full", NOW)]
    assert incident.pk in {reason.incident for reason in found.reasons}
    assert all(reason.text in found.why for reason in found.reasons if reason.status == "bad")


def test_a_good_day_is_good_in_whatever_form_its_bounds_are_written(client: AssayClient, trips: Dataset) -> None:
    assert client.quality("RAW.trips", "2026-03-08T00:00:00Z", MONDAY, datacenter="sea").is_good


def test_a_query_is_as_good_as_its_worst_table(client: AssayClient, trips: Dataset) -> None:
    good = client.query_quality("select 1 from raw.trips where datestr = '2026-03-08'")
    bad = client.query_quality("select 1 from raw.trips join no.such using (id)", start=MONDAY, end=TUESDAY)
    assert good.is_good
    assert (bad.status, bad.unknown) == ("bad", ("no.such",))
    assert {table.dataset: table.status for table in bad.tables} == {"raw.trips": "bad", "no.such": "unknown"}


def test_the_gate_blocks_the_bad_day_and_says_why(client: AssayClient, trips: Dataset) -> None:
    blocked = client.gate("raw.trips", (MONDAY, TUESDAY), pipeline="fares")
    assert (blocked.decision, blocked.blocks, blocked.warns) == ("block", True, False)
    assert {reason.decision for reason in blocked.decisive} == {"block"}
    assert str(blocked.reasons[0]).startswith("block: raw.trips")
    assert client.gate(["raw.trips"], "2026-03-08", datacenter="sea").decision == "allow"


def test_who_waits_for_the_gate_goes_on_as_soon_as_the_data_is_mended(client: AssayClient, trips: Dataset) -> None:
    def mend() -> None:
        SpoiltWindow.objects.all().delete()
        Incident.objects.all().delete()
        StandingFactory._meta.model.objects.filter(state="FAIL").update(state="PASS", last_outcome="held")

    timer = threading.Timer(0.5, mend)
    timer.start()
    answer = client.wait_for_gate("raw.trips", "2026-03-09", timeout=20)
    timer.join()
    assert answer == GateAnswer(decision="allow", reasons=answer.reasons)


def test_who_has_waited_long_enough_is_told_what_still_blocks(client: AssayClient, trips: Dataset) -> None:
    assert client.wait_for_gate("raw.trips", "2026-03-09", timeout=0.2).blocks


def test_a_completion_is_told_once_and_asked_for_until_its_tests_have_ended(
    client: AssayClient, trips: Dataset
) -> None:
    output = Output("raw.trips", (SUNDAY, MONDAY), rows=5, mode="overwrite", datacenter="sea")

    def judge() -> None:
        DataChange.objects.update(followed_at=NOW)
        Run.objects.filter(reason=RunReason.TRIGGER).update(judged_at=NOW)

    RunFactory.create(
        data_test=DataTest.objects.get(), window=day("2026-03-08"), reason=RunReason.TRIGGER, judged_at=None
    )
    told = client.completed("load trips", [output], run="run/1")
    timer = threading.Timer(0.5, judge)
    timer.start()
    judged = client.completed("load trips", [{"dataset": "raw.trips", "window": "2026-03-09"}], wait=20)
    timer.join()
    first = DataChange.objects.earliest("pk")
    assert (told.judged, told.completions, told.decision) == (False, (first.pk,), "allow")
    assert (first.kind, first.rows, first.run, first.pipeline) == (ChangeKind.COMPLETED, 5, "run/1", "load trips")
    assert (judged.judged, judged.decision) == (True, "block")
    assert client.completion("load trips", told.completions).judged


def test_a_report_is_told_and_answered(client: AssayClient, trips: Dataset) -> None:
    told = client.report("raw.trips", (SUNDAY, MONDAY), "Fares doubled – “twice”.", saw="values wrong")
    row = ReportRow.objects.get()
    assert (told.id, told.dataset, told.state, told.reporter) == (row.pk, "raw.trips", row.state, "grace")
    assert told.description == row.description == "Fares doubled – “twice”."
    assert told.message


def test_incidents_are_paged_and_told_once_even_if_others_open_meanwhile(
    client: AssayClient, trips: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay_client.client.PAGE", 2)
    for _ in range(4):
        IncidentFactory.create(dataset=trips, open_key=None, resolved_at=NOW)
    rows = list(Incident.objects.order_by("-pk").values_list("pk", flat=True))
    found = client.incidents(dataset="raw.trips")
    first = next(found)
    IncidentFactory.create(dataset=trips, open_key=None, resolved_at=NOW)
    assert [first.id, *(each.id for each in found)] == rows
    assert [each.is_open for each in client.incidents(is_open=True)] == [True]


def test_datasets_are_found_by_a_part_of_their_name(client: AssayClient, trips: Dataset) -> None:
    DatasetFactory.create(name="größe & more", datacenters=("sea", "phx"))
    (found,) = client.datasets(q="größe & m")
    assert (found.name, found.datacenters, found.granularity) == ("raw.größe & more", ("sea", "phx"), "day")
    assert [each.name for each in client.datasets()] == ["raw.größe & more", "raw.trips"]


def test_lineage_has_the_columns_of_edges_and_who_tells_of_them(client: AssayClient, trips: Dataset) -> None:
    DatasetFactory.create(name="fares")
    edge = LineageProfile(upstream="raw.trips", downstream="raw.fares", columns={"total": ["fare"], "": ["id"]})
    write_edges([edge], source="push", full=False, now=NOW)
    found = client.lineage("raw.fares")
    assert [(row.name, row.hops) for row in found.datasets] == [("raw.fares", 0), ("raw.trips", -1)]
    (shown,) = found.edges
    assert (shown.columns, shown.all_columns, shown.keys) == ({"total": ["fare"]}, ("id",), {})
    assert [(row.source, row.seen_at, row.missed_since) for row in shown.sources] == [("push", NOW, None)]


def test_sql_that_openlineages_client_sends_says_the_columns_of_edges_and_who_is_notified(
    client: AssayClient, trips: Dataset, live_server: LiveServer, token: str
) -> None:
    DatasetFactory.create(name="fares", owner="frida")
    transport = HttpTransport(HttpConfig(url=live_server.url, auth=ApiKeyTokenProvider({"apiKey": token})))
    sql = sql_job.SQLJobFacet(query="insert into lake.raw.fares (total) select sum(fare) from trips group by id")
    OpenLineageClient(transport=transport).emit(
        events.RunEvent(
            eventType=events.RunState.COMPLETE,
            eventTime=NOW.isoformat(),
            run=events.Run(runId=str(generate_new_uuid())),
            job=events.Job(namespace="airflow", name="fares", facets={"sql": sql}),
            inputs=[events.InputDataset(namespace="raw", name="trips")],
            outputs=[events.OutputDataset(namespace="raw", name="fares")],
        )
    )
    (edge,) = client.lineage("raw.fares").edges
    assert (edge.columns, edge.all_columns) == ({"total": ["fare"]}, ("id",))
    page = browser("ada").get("/datasets/raw.fares?tab=lineage").content.decode()
    assert "<code>total</code> ← <code>fare</code>" in page
    notified = {}
    for column in ("fare", "tip"):
        test = DataTestFactory.create(
            dataset=trips, category=Category.COLUMN, assertion=f"completeness({column}) > 0.9"
        )
        StandingFactory.create(data_test=test, state="FAIL", last_outcome="broken")
        alert = Alert.objects.create(dataset=trips, category=Category.COLUMN, owner="ann", opened_at=NOW)
        notified[column] = [address.recipient for address in downstream_of(alert)]
        test.delete()
    assert notified == {"fare": ["frida"], "tip": []}


def test_a_wrong_request_says_what_where_and_how_to_mend_it(client: AssayClient, trips: Dataset) -> None:
    with pytest.raises(BadRequest) as caught:
        client.gate(["raw.nope"], "2026-03-09")
    assert (caught.value.status, caught.value.where) == (400, "datasets.0")
    assert "raw.nope" in caught.value.what
    assert caught.value.mend
    assert caught.value.mend in str(caught.value)


def test_who_has_no_token_or_one_of_a_smaller_scope_is_not_allowed(
    live_server: LiveServer, token: str, trips: Dataset
) -> None:
    small = AccessToken.objects.create(User.objects.get(), scopes=["read"])[1]
    for wrong, status in (("", 401), ("x" * 40, 401), (small, 403)):
        with AssayClient(live_server.url, wrong) as client, pytest.raises(NotAllowed) as caught:
            client.gate("raw.trips", "2026-03-09")
        assert caught.value.status == status


def test_an_address_that_is_not_there_is_not_found(client: AssayClient) -> None:
    with pytest.raises(NotFound):
        client.completed("a/b", [{"dataset": "raw.trips", "window": "2026-03-09"}])


def test_the_environment_says_where_assay_is(
    live_server: LiveServer, token: str, trips: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "ASSAY_URL", f"{live_server.url}/")
    monkeypatch.setitem(os.environ, "ASSAY_TOKEN", token)
    with AssayClient() as client:
        assert client.gate("raw.trips", "2026-03-08").decision == "allow"
    monkeypatch.delitem(os.environ, "ASSAY_URL")
    with pytest.raises(AssayError, match="ASSAY_URL"):
        AssayClient()


def test_a_server_that_is_not_there_is_unavailable_after_a_few_tries() -> None:
    start = time.monotonic()
    with AssayClient("http://127.0.0.1:9", "x", retries=1) as client, pytest.raises(Unavailable, match="ASSAY_URL"):
        client.gate("raw.trips", "2026-03-08")
    assert 0.3 < time.monotonic() - start < 5


def test_an_instant_without_a_zone_is_refused_before_anything_is_asked(client: AssayClient) -> None:
    with pytest.raises(ValueError, match="no time zone"):
        client.quality("raw.trips", datetime(2026, 3, 9), TUESDAY)


def test_instants_are_read_with_z_and_with_fractions() -> None:
    assert datetime_of("2026-03-09T01:02:03.000004Z") == MONDAY.replace(hour=1, minute=2, second=3, microsecond=4)
