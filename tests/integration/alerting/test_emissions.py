"""OpenLineage out: what a stock client's models and our own reader make of the events that a receiver gets."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from openlineage.client.event_v2 import InputDataset, Job, Run, RunEvent, RunState
from openlineage.client.facet_v2 import (
    data_quality_assertions_dataset,
    data_quality_metrics_input_dataset,
    nominal_time_run,
    test_run,
)
from openlineage.client.serde import Serde

from alerting import emissions
from alerting.emissions import emit_due
from alerting.models import Emission
from alerting.services import judge_runs
from assay import clock
from assay.catalog.openlineage import read_event
from assay.config import config
from assay.models import Dataset, DataTest
from execution_engine.metrics.spec import MetricSpec
from execution_engine.models import Run as OurRun
from tests.factories import NOW, DatasetFactory, DataTestFactory, RunFactory, day
from tests.integration.alerting.receivers import Received, webhook
from tests.integration.rows import measurement

pytestmark = pytest.mark.django_db
MONDAY = day("2026-03-09")
FACETS = {
    "dataQualityAssertions": data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet,
    "dataQualityMetrics": data_quality_metrics_input_dataset.DataQualityMetricsInputDatasetFacet,
    "test": test_run.TestRunFacet,
    "nominalTime": nominal_time_run.NominalTimeRunFacet,
}
INSIDE = {
    "assertions": data_quality_assertions_dataset.Assertion,
    "tests": test_run.TestExecution,
    "columnMetrics": data_quality_metrics_input_dataset.ColumnMetrics,
}
VERSIONS = {
    "dataQualityAssertions": "1-1-0/DataQualityAssertionsDatasetFacet",
    "dataQualityMetrics": "1-0-3/DataQualityMetricsInputDatasetFacet",
    "test": "1-0-1/TestRunFacet",
}


@pytest.fixture(autouse=True)
def _fresh_configuration() -> Iterator[None]:
    """What a test sets in the environment is read, and forgotten after."""
    clock.simulate(NOW)
    config.cache_clear()
    yield
    config.cache_clear()


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Received]:
    """A receiver that takes what it gets; a test may change its answers."""
    with webhook(201) as received:
        listen(monkeypatch, received.url)
        yield received


def listen(monkeypatch: pytest.MonkeyPatch, url: str, key: str = "") -> None:
    """Send events there."""
    monkeypatch.setenv("ASSAY_OPENLINEAGE_URL", url)
    monkeypatch.setenv("ASSAY_OPENLINEAGE_KEY", key)
    config.cache_clear()


def judged(test: DataTest, **given: Any) -> OurRun:
    """A run of a test over Monday that is judged now."""
    run: OurRun = RunFactory.create(**{"data_test": test, "window": MONDAY, "judged_at": None, **given})
    judge_runs([run], NOW)
    return run


def asked(run: OurRun, spec: MetricSpec, value: float) -> None:
    """A measurement that the run asked for."""
    measurement(run.data_test.dataset, MONDAY, spec=spec, run=run, measured_at=NOW, value=value)


def parsed(body: bytes) -> RunEvent:
    """The event as objects of the stock client, whose attributes refuse what their schemas do not know."""
    said = json.loads(body)
    schema = said.pop("schemaURL")
    assert schema.startswith("https://openlineage.io/spec/2-")
    (dataset,) = said["inputs"]
    inputs = [InputDataset(dataset["namespace"], dataset["name"], inputFacets=facets(dataset["inputFacets"]))]
    return RunEvent(
        eventType=RunState[said["eventType"]],
        eventTime=said["eventTime"],
        run=Run(said["run"]["runId"], facets(said["run"]["facets"])),
        job=Job(said["job"]["namespace"], said["job"]["name"]),
        producer=said["producer"],
        inputs=inputs,
        outputs=said["outputs"],
    )


def run_facets(event: RunEvent) -> dict[str, Any]:
    """The facets of its run."""
    return dict(event.run.facets or {})


def facets(found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Each facet as its class; its schema is the version that we say we send."""
    made = {}
    for name, members in found.items():
        assert VERSIONS.get(name, "") in members["_schemaURL"]
        inner = {key: inside(key, value) for key, value in members.items() if not key.startswith("_")}
        made[name] = FACETS[name](**inner)
    return made


def inside(key: str, value: Any) -> Any:
    """What a facet holds."""
    if key == "columnMetrics":
        return {name: INSIDE[key](**each) for name, each in value.items()}
    return [INSIDE[key](**each) for each in value] if key in INSIDE else value


def test_of_a_dataset_with_readers_only_the_verdict_leaves(receiver: Received) -> None:
    pay = DatasetFactory.create(namespace="hr", name="pay", readers="team:hr")
    test = DataTestFactory.create(dataset=pay, assertion="mean(salary) < 4217", name="bound")
    run = judged(test, outcome="broken", value=987654.0, exact="987654", sentence="mean(salary) is 987654")
    asked(run, MetricSpec(name="row_count"), 314.0)
    asked(run, MetricSpec(name="mean", columns=("salary",)), 987654.0)
    assert emit_due() == 1
    (body,) = receiver.bodies
    assert [text for text in ("987654", "4217", "salary", "314") if text in body.decode()] == []
    (said,) = run_facets(parsed(body))["test"].tests
    assert (said.name, said.status, said.severity) == ("bound", "fail", "error")


@pytest.mark.parametrize(("outcome", "success", "status"), [("held", True, "pass"), ("broken", False, "fail")])
def test_a_judged_run_is_told_as_an_assertion_and_a_test(
    receiver: Received, outcome: str, success: bool, status: str
) -> None:
    test = DataTestFactory.create(dataset=DatasetFactory.create(name="trips é"), assertion="completeness(fare) > 0.5")
    run = judged(test, outcome=outcome, value=0.25, exact="0.250000000000000001", sentence="completeness(fare) is 0.25")
    asked(run, MetricSpec(name="row_count"), 120.0)
    asked(run, MetricSpec(name="max", columns=("fare",)), 9.5)
    asked(run, MetricSpec(name="distinct_count", columns=("fare",)), 7.0)
    asked(run, MetricSpec(name="row_count", where="fare > 1"), 3.0)
    assert emit_due() == 1
    event = parsed(receiver.bodies[0])
    (dataset,), (tested,) = event.inputs or [], run_facets(event)["test"].tests
    input_facets: dict[str, Any] = dict(dataset.inputFacets or {})
    (assertion,) = input_facets["dataQualityAssertions"].assertions
    assert (dataset.namespace, dataset.name, event.eventType) == ("raw", "trips é", RunState.COMPLETE)
    assert (assertion.assertion, assertion.success, assertion.column) == (test.category, success, "fare")
    assert (assertion.actual, assertion.content) == ("0.250000000000000001", "completeness(fare) > 0.5")
    assert (tested.name, tested.status, tested.severity) == (test.name, status, assertion.severity)
    metrics = input_facets["dataQualityMetrics"]
    assert (metrics.rowCount, metrics.columnMetrics["fare"].max) == (120, 9.5)
    assert metrics.columnMetrics["fare"].distinctCount == 7
    times = run_facets(event)["nominalTime"]
    assert datetime.fromisoformat(times.nominalStartTime) == MONDAY.start
    assert not Emission.objects.exists()


def test_our_own_reader_takes_the_event_and_learns_of_no_edge_and_no_completion(receiver: Received) -> None:
    judged(DataTestFactory.create(dataset=DatasetFactory.create(name="trips")))
    emit_due()
    heard = read_event(json.loads(receiver.bodies[0]))
    assert (heard.lineage, heard.completed, heard.dropped) == ((), (), ())


def test_a_run_without_a_verdict_is_a_test_that_was_skipped(receiver: Received) -> None:
    test = DataTestFactory.create(dataset=DatasetFactory.create(name="trips"))
    judged(test, outcome="error", error_reason="timeout", value=None, sentence="")
    emit_due()
    event = parsed(receiver.bodies[0])
    assert event.eventType == RunState.FAIL
    assert run_facets(event)["test"].tests[0].status == "skip"
    (dataset,) = event.inputs or []
    assert "dataQualityAssertions" not in (dataset.inputFacets or {})


def test_the_same_run_is_told_under_the_same_id_whenever_it_is_told(receiver: Received) -> None:
    run = judged(DataTestFactory.create(dataset=DatasetFactory.create(name="trips")))
    emit_due()
    Emission.objects.create(run=run, due_at=NOW)
    emit_due()
    first, second = (json.loads(body) for body in receiver.bodies)
    assert first == second
    assert UUID(first["run"]["runId"])
    assert Serde.to_dict(parsed(receiver.bodies[0]))["run"]["runId"] == first["run"]["runId"]


def test_nobody_listens_so_nothing_is_kept() -> None:
    judged(DataTestFactory.create(dataset=DatasetFactory.create(name="trips")))
    assert not Emission.objects.exists()


def test_backtests_are_told_to_nobody(receiver: Received) -> None:
    judged(DataTestFactory.create(dataset=DatasetFactory.create(name="trips")), reason="backtest")
    assert not Emission.objects.exists()


@pytest.mark.parametrize("answer", [500, 503, 429])
def test_a_receiver_that_is_busy_is_asked_once_and_again_later(receiver: Received, answer: int) -> None:
    receiver.answers[:] = [answer, 201]
    for n in range(3):
        judged(DataTestFactory.create(dataset=DatasetFactory.create(name=f"trips{n}")))
    assert emit_due() == 3
    assert len(receiver.bodies) == 1
    rows = list(Emission.objects.all())
    assert {(row.failures, row.due_at) for row in rows} == {(1, NOW + timedelta(minutes=1))}
    assert str(answer) in rows[0].error
    assert emit_due() == 0
    clock.simulate(NOW + timedelta(minutes=1))
    assert emit_due() == 3
    assert not Emission.objects.exists()
    assert len({json.loads(body)["run"]["runId"] for body in receiver.bodies}) == 3


def test_a_receiver_that_is_away_is_asked_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    listen(monkeypatch, "http://127.0.0.1:9/api/v1/lineage")
    judged(DataTestFactory.create(dataset=DatasetFactory.create(name="trips")))
    emit_due()
    assert Emission.objects.get().failures == 1


@pytest.mark.logs_a_failure
def test_an_event_that_is_refused_is_not_sent_again(receiver: Received) -> None:
    receiver.answers[:] = [422, 201]
    for n in range(2):
        judged(DataTestFactory.create(dataset=DatasetFactory.create(name=f"trips{n}")))
    emit_due()
    assert (len(receiver.bodies), Emission.objects.count()) == (2, 0)


@pytest.mark.logs_a_failure
def test_an_event_that_nobody_takes_is_given_up(receiver: Received, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emissions, "MOST_FAILURES", 2)
    receiver.answers[:] = [500]
    judged(DataTestFactory.create(dataset=DatasetFactory.create(name="trips")))
    emit_due()
    clock.simulate(NOW + timedelta(minutes=1))
    emit_due()
    assert not Emission.objects.exists()


def test_the_key_is_sent_to_the_receiver_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with webhook(307, 201) as received:
        listen(monkeypatch, received.url, key="s3cret")
        judged(DataTestFactory.create(dataset=DatasetFactory.create(name="trips")))
        emit_due()
        assert received.headers[0]["Authorization"] == "Bearer s3cret"
        assert len(received.bodies) == 1  # a redirect is not followed


def test_values_of_sensitive_columns_leave_in_no_event(receiver: Received) -> None:
    columns = [{"name": "fare", "type": "double", "sensitive": True}]
    dataset: Dataset = DatasetFactory.create(name="trips", columns=columns)
    run = judged(
        DataTestFactory.create(dataset=dataset, assertion="max(fare) < 5"), value=987654.0, sentence="max is 987654"
    )
    asked(run, MetricSpec(name="max", columns=("fare",)), 987654.0)
    emit_due()
    assert "987654" not in receiver.bodies[0].decode()
    assert run_facets(parsed(receiver.bodies[0]))["test"].tests[0].status == "pass"
