"""What of a dataset with readers is shown to others: nothing, by API or page, and no test of theirs reads it."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from alerting.models import Silence
from assay import clock
from assay.access import Role
from assay.catalog.services import record_completion
from assay.command_line.cli import run as run_command
from assay.models import Dataset
from execution_engine.models import Run
from tests.factories import DAY, NOW, DatasetFactory, DataTestFactory, IncidentFactory, ReportFactory, RunFactory, day
from tests.integration.web.people import browser, client

CATALOG = """
datasets:
  - name: hr.pay
    owner: hanna
    tier: 2
    readers: [team:hr, user:auditor]
    columns: {id: bigint, salary: {type: bigint, sensitive: true}}
    replicas: [{datacenter: sea, storage: parquet, location: /lake/pay}]
  - name: raw.trips
    owner: rita
    team: rides
    tier: 2
    columns: {id: bigint, fare: double}
    replicas: [{datacenter: sea, storage: parquet, location: /lake/trips}]
"""


@pytest.fixture
def pay(user: User) -> Dataset:
    """Pay, with a test, a run, an incident and a report."""
    dataset: Dataset = DatasetFactory.create(namespace="hr", name="pay", owner="hanna", team="hr", readers="team:hr")
    test = DataTestFactory.create(dataset=dataset, assertion="row_count() > 0")
    RunFactory.create(data_test=test, sentence="max(salary) is 987654")
    ReportFactory.create(dataset=dataset, incident=IncidentFactory.create(dataset=dataset))
    return dataset


LISTS = ("datasets", "data-tests", "runs", "incidents", "reports")
QUESTIONS = (
    "/api/v1/quality?dataset=hr.pay&from=2026-03-09T00:00Z&to=2026-03-10T00:00Z",
    "/api/v1/runs?dataset=hr.pay",
    "/api/v1/measurements?dataset=hr.pay",
    "/api/v1/lineage?dataset=hr.pay",
    "/api/v1/columns?dataset=hr.pay",
)


def count(api: APIClient, name: str) -> int:
    return int(api.get(f"/api/v1/{name}").json()["count"])


def test_who_is_no_reader_is_shown_no_row_of_a_dataset(pay: Dataset) -> None:
    vera, hugo = client("vera", Role.VIEWER), client("hugo", Role.VIEWER, "hr")
    assert {name: count(vera, name) for name in LISTS} == dict.fromkeys(LISTS, 0)
    assert {name: count(hugo, name) for name in LISTS} == dict.fromkeys(LISTS, 1)
    run = Run.objects.get()
    assert [api.get(f"/api/v1/runs/{run.pk}").status_code for api in (vera, hugo)] == [404, 200]
    for question in QUESTIONS:
        refused, told = vera.get(question), hugo.get(question)
        assert (refused.status_code, told.status_code) == (403, 200), question
        assert "987654" not in refused.content.decode()


def test_who_is_no_reader_asks_no_gate_and_no_query(pay: Dataset) -> None:
    vera = client("vera", Role.VIEWER)
    gate = vera.post("/api/v1/gate", {"datasets": ["hr.pay"], "window": "2026-03-09"}, format="json")
    query = vera.post("/api/v1/quality/query", {"sql": "select 1 from HR.Pay"}, format="json")
    report = {"dataset": "hr.pay", "window": "2026-03-09T00:00Z/2026-03-10T00:00Z", "description": "x"}
    told = vera.post("/api/v1/reports", report, format="json")
    assert (gate.status_code, query.status_code, told.status_code) == (403, 403, 403)


def test_who_is_no_reader_sees_no_page(pay: Dataset) -> None:
    vera = browser("vera")
    incident = pay.incidents.get().pk
    closed = ("/datasets/hr.pay", "/datasets/hr.pay/columns", f"/incidents/{incident}")
    assert [vera.get(address).status_code for address in closed] == [403, 403, 403]
    assert f"/incidents/{incident}" not in vera.get("/incidents").content.decode()
    assert "987654" not in vera.get("/").content.decode()


def test_who_is_no_reader_sees_no_silence_and_no_output_of_a_pipeline(pay: Dataset) -> None:
    words = {"author": "hanna", "reason": "bonuses are late"}
    Silence.objects.create(dataset=pay, starts_at=NOW, ends_at=NOW + DAY, **words)
    record_completion(dataset=pay, datacenter="sea", window=day("2026-03-09"), pipeline="payroll", now=NOW)
    shown = {}
    for name, teams in (("vera", ()), ("hugo", ("hr",))):
        api, pages = client(name, Role.VIEWER, *teams), Client()
        pages.login(username=name, password="hopper")
        outputs = api.get("/api/v1/pipelines/payroll/quality").json()["outputs"]
        shown[name] = (len(outputs), "bonuses are late" in pages.get("/silences").content.decode())
    assert shown == {"vera": (0, False), "hugo": (1, True)}


def test_the_audit_shows_who_changed_a_dataset_and_to_its_readers_alone_what(pay: Dataset) -> None:
    hana, otto = client("hana", Role.ADMIN), client("otto", Role.OPERATOR)
    hugo, incident = client("hugo", Role.OPERATOR, "hr"), pay.incidents.get()
    other = IncidentFactory.create(dataset=DatasetFactory.create(name="trips"))
    for pk, cause in ((incident.pk, "salary 987654"), (other.pk, "a full disk")):
        hana.post(f"/api/v1/incidents/{pk}/annotations", {"root_cause": cause}, format="json")
    test = pay.data_tests.get()
    hana.patch(f"/api/v1/data-tests/{test.pk}", {"assertion": "row_count() > 987654"}, format="json")
    span = {"from": "2026-03-01T00:00Z", "to": "2026-03-09T00:00Z"}
    backtest = {"dataset": "hr.pay", "assertion": "row_count() > 987654", **span}
    assert hana.post("/api/v1/backtest", backtest, format="json").status_code == 202
    told = otto.get("/api/v1/audit")
    assert ("987654" in told.content.decode(), "a full disk" in told.content.decode()) == (False, True)
    for row in told.json()["results"]:
        if row["key"] != str(other.pk) or row["kind"] != "incident":
            assert (row["before"], row["after"], row["given"]) == (None, None, {}), row["action"]
    assert "987654" in hugo.get("/api/v1/audit").content.decode()
    assert "987654" in hana.get("/api/v1/audit").content.decode()


def test_a_producer_pushes_what_it_may_not_see_and_opens_nothing(pay: Dataset) -> None:
    pia = client("pia", Role.PRODUCER)
    replica = {"datacenter": "sea", "storage": "parquet", "location": "/lake/pay"}
    told = {"owner": "hanna", "tier": 2, "replicas": [replica], "columns": {"salary": "bigint"}, "readers": []}
    told |= {"partition": {"column": "datestr", "granularity": "day"}, "owner": "pia"}
    pay.source, pay.columns = "push", [{"name": "Salary", "type": "bigint", "sensitive": True}]
    pay.save()
    assert pia.put("/api/v1/datasets/hr.pay", told, format="json").status_code == 200
    pay.refresh_from_db()
    assert (pay.readers, pay.owner) == ("team:hr", "hanna")
    assert pay.columns == [{"name": "salary", "type": "bigint", "sensitive": True}]
    done = {"outputs": [{"dataset": "hr.pay", "window": "2026-03-09"}]}
    assert pia.post("/api/v1/pipelines/pay/completed", done, format="json").status_code < 300
    assert pia.get("/api/v1/datasets/hr.pay").status_code == 404


def test_a_completion_answers_no_verdict_on_what_its_sender_may_not_read(pay: Dataset) -> None:
    pay.partition_column, pay.granularity = "datestr", "day"
    pay.save()
    DatasetFactory.create(name="trips")
    outputs = [{"dataset": name, "window": "2026-03-09"} for name in ("HR.pay", "raw.trips")]
    pia = client("pia", Role.PRODUCER)
    both = pia.post("/api/v1/pipelines/p/completed", {"outputs": outputs}, format="json")
    alone = pia.post("/api/v1/pipelines/p/completed", {"outputs": outputs[:1]}, format="json")
    assert (both.status_code, alone.status_code, pay.changes.count()) == (201, 201, 2)
    assert (len(both.json()["completions"]), alone.json()["completions"], alone.json()["judged"]) == (1, [], True)
    for answer in (both, alone):
        assert not {"hr.pay", "987654", "salary"} & set(answer.content.decode().replace('"', " ").split())
    hugo = client("hugo", Role.PRODUCER, "hr")
    answer = hugo.post("/api/v1/pipelines/p/completed", {"outputs": outputs}, format="json")
    assert len(answer.json()["completions"]) == 2


@pytest.mark.django_db(transaction=True)
def test_a_catalog_file_limits_readers_and_marks_columns(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    clock.simulate(NOW)
    (tmp_path / "catalog.yaml").write_text(CATALOG)
    assert run_command(["sync", str(tmp_path / "catalog.yaml")]) == 0, capsys.readouterr().err
    pay = Dataset.objects.get(full_name="hr.pay")
    assert pay.readers.splitlines() == ["team:hr", "user:auditor"]
    assert [column.get("sensitive", False) for column in pay.columns] == [False, True]
    wrong = CATALOG + '\ntests:\n  - {dataset: hr.pay, name: most, assertion: "max(salary) < 10"}\n'
    (tmp_path / "catalog.yaml").write_text(wrong)
    assert (run_command(["sync", str(tmp_path / "catalog.yaml")]), "sensitive" in capsys.readouterr().err) == (3, True)
